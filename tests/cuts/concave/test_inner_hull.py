"""Vertices by Qhull, proven by boxes; and functions of Python, which prove nothing."""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import ConcaveClaim, enumerate_image, read_concave
from tests.inside.solvers import StopReason, standard_form
from tests.references.concave_truth import least_concave
from tests.support.concave_models import (
    Polytope,
    concave_model,
    linear_model,
    lrcp_model,
    random_polytope,
    semidefinite,
)
from tightmargin.solvers import Verdict


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_best_vertex_is_found_and_proven(n: int) -> None:
    rng = np.random.default_rng([4, n])
    polytope, Q, c = random_polytope(rng, n, 9), semidefinite(rng, n, n), rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    model = concave_model(polytope, Q, c)
    hull = enumerate_image(read_concave(standard_form(model)), math.inf)
    assert hull.stop is StopReason.FINISHED
    assert hull.x is not None
    assert float(c @ hull.x - hull.x @ Q @ hull.x) == pytest.approx(truth, rel=1e-9)
    result = tm.cuts.minimise_concave(model, method="inner-hull")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "by Qhull" in result.message


def test_one_direction_among_many_variables() -> None:
    """The image is a polygon whatever the number of variables."""
    rng = np.random.default_rng(0)
    polytope, v = random_polytope(rng, 12, 6, 1.0), rng.normal(size=12)
    model = concave_model(polytope, np.outer(v, v), rng.normal(size=12))
    found = tm.cuts.minimise_concave(model, method="inner-hull")
    other = tm.cuts.minimise_concave(model)
    assert found.certificate.verdict is other.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(other.objective, rel=2e-6)


def test_a_flat_polytope_has_a_hull_too() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(4), bounds=(0, 1))
    model.sum = pyo.Constraint(expr=sum(model.x.values()) == 2)
    model.goal = pyo.Objective(expr=-sum((j + 1) * model.x[j] ** 2 for j in range(4)))
    result = tm.cuts.minimise_concave(model, method="inner-hull")
    assert result.objective == pytest.approx(-7.0)
    assert result.certificate.verdict is Verdict.CERTIFIED


def test_what_has_no_hull_is_refused() -> None:
    polytope = Polytope(np.ones((1, 9)), np.ones(1), 1.0)
    with pytest.raises(ValueError, match="9 concave directions"):
        tm.cuts.minimise_concave(
            concave_model(polytope, np.diag(np.arange(1.0, 10)), np.zeros(9)), method="inner-hull"
        )
    model = lrcp_model(polytope, np.ones(9), np.eye(9), np.zeros(9), 1.0)
    with pytest.raises(ValueError, match="a quadratic row"):
        tm.cuts.solve_lrcp(model, method="inner-hull")


# --- functions of Python -------------------------------------------------------------------------


def claimed(polytope: Polytope, **words: object) -> ConcaveClaim:
    model = linear_model(polytope)
    return tm.cuts.minimise_concave(
        model, lambda x: -float(np.exp(x).sum()), lambda x: -np.exp(x), variables=model.x, **words
    )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_function_of_python_gets_a_claim_that_names_its_assumption(n: int) -> None:
    polytope = random_polytope(np.random.default_rng(n), n, 9)
    truth = least_concave(*polytope.rows, lambda x: -float(np.exp(x).sum()))
    claim = claimed(polytope)
    assert isinstance(claim, ConcaveClaim)
    assert claim.objective == pytest.approx(truth, rel=1e-6)
    assert claim.bound is not None
    assert claim.bound <= truth + 1e-9 * abs(truth)
    assert "beyond the polytope too (unproven)" in claim.assumption
    assert claim.stop is StopReason.FINISHED
    assert not hasattr(claim, "certificate")


def test_a_function_of_some_variables_in_an_order_of_their_own() -> None:
    model = pyo.ConcreteModel()
    model.a, model.b, model.c = (pyo.Var(bounds=(0, k)) for k in (1, 2, 3))
    model.row = pyo.Constraint(expr=model.a + model.b + model.c <= 4)
    claim = tm.cuts.minimise_concave(
        model, lambda x: -float(x[0]) ** 2 - float(x[1]), lambda x: np.array([-2 * x[0], -1.0]),
        variables=[model.c, model.a],
    )  # fmt: skip
    assert claim.objective == pytest.approx(-10.0)
    assert (model.c.value, model.a.value) == pytest.approx((3.0, 1.0))


def test_what_refutes_the_assumption_is_an_error() -> None:
    model = linear_model(Polytope(np.ones((1, 2)), np.ones(1), 1.0))
    words = {"variables": model.x}
    with pytest.raises(ValueError, match="not concave between"):
        tm.cuts.minimise_concave(model, lambda x: float(x @ x), lambda x: 2 * x, **words)
    with pytest.raises(ValueError, match="gradient: the tangent"):
        tm.cuts.minimise_concave(model, lambda x: -float(x @ x), lambda x: 2 * x, **words)
    with pytest.raises(ValueError, match="the function is nan"):
        tm.cuts.minimise_concave(model, lambda x: math.nan, lambda x: x, **words)
    with pytest.raises(ValueError, match="gradient must give 2"):
        tm.cuts.minimise_concave(model, lambda x: -float(x @ x), lambda x: [1.0], **words)


def test_arguments_of_a_function_are_checked_first() -> None:
    model = linear_model(Polytope(np.ones((1, 2)), np.ones(1), 1.0))

    def f(x: np.ndarray) -> float:
        return -float(x @ x)

    with pytest.raises(TypeError, match="gradient must be a function"):
        tm.cuts.minimise_concave(model, f, variables=model.x)
    with pytest.raises(TypeError, match="objective must be a function"):
        tm.cuts.minimise_concave(model, 3, f, variables=model.x)
    with pytest.raises(ValueError, match="variables"):
        tm.cuts.minimise_concave(model, f, f)
    with pytest.raises(ValueError, match="method direct takes no function"):
        tm.cuts.minimise_concave(model, f, f, variables=model.x, method="direct")
    model.goal = pyo.Objective(expr=model.x[0])
    with pytest.raises(ValueError, match="an objective of its own"):
        tm.cuts.minimise_concave(model, f, f, variables=model.x)
    free = linear_model(Polytope(np.ones((1, 2)), np.ones(1), None))
    with pytest.raises(ValueError, match="empty, or unbounded"):
        tm.cuts.minimise_concave(free, f, lambda x: -2 * x, variables=free.x)


def test_a_hull_on_which_qhull_fails_is_left_to_the_boxes() -> None:
    """Points that end the process where they are added to a hull that is there."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(30, 5))
    A /= np.linalg.norm(A, axis=1)[:, None]
    polytope = Polytope(A, 1 + rng.random(30), 3.0)
    Q, c = semidefinite(rng, 5, 5), rng.normal(size=5)
    model = concave_model(polytope, Q, c)
    found = tm.cuts.minimise_concave(model, method="inner-hull")
    other = tm.cuts.minimise_concave(concave_model(polytope, Q, c), method="branch-and-cut")
    assert found.certificate.verdict is Verdict.CERTIFIED, found.message
    assert found.objective == pytest.approx(other.objective, rel=2e-6)
