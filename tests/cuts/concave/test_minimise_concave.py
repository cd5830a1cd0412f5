"""Least values of concave quadratic functions, against all vertices, and models that are none."""

from __future__ import annotations

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.concave_truth import least_concave
from tests.support.concave_models import (
    Polytope,
    concave_model,
    linear_model,
    random_polytope,
    semidefinite,
)
from tightmargin.solvers import SolveResult, Status, Verdict

Array = np.ndarray


def check(result: SolveResult, truth: float) -> None:
    """Proven, and right: the interval holds the truth, which is known to rounding."""
    certificate = result.certificate
    assert certificate.verdict is Verdict.CERTIFIED, certificate.reason
    unit = max(abs(truth), 1e-9)
    assert certificate.bound <= truth + 1e-9 * unit
    assert certificate.upper >= truth - 1e-9 * unit
    assert result.objective == pytest.approx(truth, rel=2e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("rank", ["one", "full"])
@pytest.mark.parametrize("seed", range(3))
def test_random_polytopes_against_all_vertices(n: int, rank: str, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    polytope = random_polytope(rng, n, 10)
    Q, c = semidefinite(rng, n, 1 if rank == "one" else n), rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    check(tm.cuts.minimise_concave(concave_model(polytope, Q, c)), truth)


@pytest.mark.parametrize("seed", range(3))
def test_free_variables_and_diagonal_squares(seed: int) -> None:
    """Bounded by rows alone, so that every reduced cost has to be 0 exactly."""
    rng = np.random.default_rng(seed)
    simplex = Polytope(np.vstack([rng.normal(size=(5, 3)), -np.ones(3), np.eye(3)]),
                       np.r_[np.ones(5), 4.0, 2.0, 2.0, 2.0], None)  # fmt: skip
    Q, c = np.diag(rng.random(3)), rng.normal(size=3)
    truth = least_concave(*simplex.rows, lambda x: float(c @ x - x @ Q @ x))
    check(tm.cuts.minimise_concave(concave_model(simplex, Q, c)), truth)


def test_degenerate_vertices_and_repeated_rows() -> None:
    """A cross-polytope has 2^(n-1) rows through each vertex, and here each of them twice."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    polytope = Polytope(np.vstack([signs, signs]), np.ones(32), None)
    c = np.array([0.0, 0.25, 0.0, -0.5])
    result = tm.cuts.minimise_concave(concave_model(polytope, np.eye(4), c))
    check(result, -1.5)
    assert result.values["x"] == pytest.approx([0, 0, 0, 1])


def test_equations_leave_a_flat_polytope() -> None:
    """The simplex in five variables: the least of -sum w x^2 is at the vertex of the largest w."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), bounds=(0, None))
    model.sum = pyo.Constraint(expr=sum(model.x.values()) == 1)
    weights = [1.0, 3.0, 2.0, 2.5, 0.5]
    model.goal = pyo.Objective(expr=-sum(w * model.x[j] ** 2 for j, w in enumerate(weights)))
    check(tm.cuts.minimise_concave(model), -3.0)


def test_a_single_point_is_a_polytope() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2))
    model.one = pyo.Constraint(expr=model.x[0] + model.x[1] == 1)
    model.two = pyo.Constraint(expr=model.x[0] - model.x[1] == 3)
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) - model.x[1] ** 2)
    check(tm.cuts.minimise_concave(model), -5.0)


def test_many_variables_that_the_squares_do_not_see() -> None:
    """The squares are of one direction over forty variables; the vertices are those of a cube."""
    n = 40
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(n), bounds=(0, 1))
    sums = sum((j % 5 - 1) * model.x[j] for j in range(n))
    model.goal = pyo.Objective(expr=-(sums**2) + 10 * model.x[0])
    # The sum is from -8 to 8 (1 + 2 + 3) = 48; x_0 has the factor -1, and stays 0.
    result = tm.cuts.minimise_concave(model)
    check(result, -(48.0**2))
    assert result.certificate.facts["nodes"] < 20


def epigraph_model() -> pyo.ConcreteModel:
    """min 0.7 t - x^2 with t >= 3 x and t >= -x/3 - 0.1, and a free y that nothing bounds."""
    model = pyo.ConcreteModel()
    model.x, model.t, model.y = pyo.Var(bounds=(-1, 2)), pyo.Var(), pyo.Var()
    model.steep = pyo.Constraint(expr=model.t >= 3 * model.x)
    model.flat = pyo.Constraint(expr=model.t >= -model.x / 3 - 0.1)
    model.free = pyo.Constraint(expr=model.y + model.x >= model.t / 7)
    model.goal = pyo.Objective(expr=0.7 * model.t - model.x**2)
    return model


def test_linear_variables_without_any_limit() -> None:
    """For each x the least t is on a row; -x^2 bends down, so that x is at an end or a kink."""
    kink = -0.1 / (3 + 1 / 3)
    truth = min(0.7 * max(3 * x, -x / 3 - 0.1) - x * x for x in (-1.0, kink, 2.0))
    check(tm.cuts.minimise_concave(epigraph_model()), truth)
    other = epigraph_model()
    other.goal.deactivate()
    other.falls = pyo.Objective(expr=-0.7 * other.t - other.x**2)
    result = tm.cuts.minimise_concave(other)
    assert (result.status, result.certificate.bound) == (Status.UNBOUNDED, None)


def test_a_convex_function_is_maximised() -> None:
    model = linear_model(Polytope(np.array([[1.0, 1.0]]), np.array([3.0]), 2.0))
    model.goal = pyo.Objective(
        expr=model.x[0] ** 2 + 2 * model.x[1] ** 2 + model.x[0] + 100, sense=pyo.maximize
    )
    result = tm.cuts.minimise_concave(model)
    assert result.certificate.verdict is Verdict.CERTIFIED
    # Vertices: (2, 1), (1, 2), (2, -2), (-2, 2), (-2, -2).
    assert result.objective == pytest.approx(100 + max(8, 10, 14, 10, 10), rel=1e-6)


def test_no_point_and_no_least_value_are_proven() -> None:
    empty = concave_model(Polytope(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -2.0]),
                                   None), np.eye(2), np.zeros(2))  # fmt: skip
    result = tm.cuts.minimise_concave(empty)
    assert (result.status, result.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    wedge = concave_model(Polytope(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, -3.0]]),
                                   np.zeros(3), None), np.diag([0.0, 1.0]),
                          np.array([5.0, 9.0]))  # fmt: skip
    result = tm.cuts.minimise_concave(wedge)
    assert (result.status, result.certificate.verdict) == (Status.UNBOUNDED, Verdict.CERTIFIED)


def test_auto_proves_what_a_solver_would_claim() -> None:
    rng = np.random.default_rng(3)
    polytope, Q, c = random_polytope(rng, 3, 12), semidefinite(rng, 3, 3), rng.normal(size=3)
    result = tm.solve(concave_model(polytope, Q, c))
    assert result.solver == "tightmargin"
    assert "auto left it to a method" in result.message
    check(result, least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x)))


def test_a_limit_keeps_what_is_proven() -> None:
    rng = np.random.default_rng(5)
    polytope, Q, c = random_polytope(rng, 5, 25, 1.0), np.eye(5), np.zeros(5)
    model = concave_model(polytope, Q, c)
    whole = tm.cuts.minimise_concave(model)
    few = tm.cuts.minimise_concave(model, options={"node_limit": 3})
    assert few.certificate.verdict is Verdict.NOT_CERTIFIED
    assert few.certificate.bound <= whole.certificate.upper
    assert few.certificate.upper >= whole.certificate.bound


def bad_models() -> dict[str, pyo.ConcreteModel]:
    """One for each thing that is refused, by a word of what is said."""

    def fresh() -> pyo.ConcreteModel:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(2), bounds=(0, 1))
        return model

    found = {}
    model = fresh()
    model.whole = pyo.Var(within=pyo.Integers, bounds=(0, 3))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) + model.whole)
    found["variable whole is integer"] = model
    model = fresh()
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) + 0.5 * model.x[1] ** 2)
    found["the objective is not concave"] = model
    model = fresh()
    model.goal = pyo.Objective(expr=-(model.x[0] ** 3))
    found["beyond degree two"] = model
    model = fresh()
    model.saddle = pyo.Constraint(expr=model.x[0] ** 2 - model.x[1] ** 2 <= 1)
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2))
    found["row saddle is neither convex nor reverse convex"] = model
    model = fresh()
    model.ring = pyo.Constraint(expr=(1, model.x[0] ** 2 + model.x[1] ** 2, 2))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2))
    found["row ring is not convex"] = model
    model = fresh()
    model.far = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 >= 1)
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2))
    found["row far is not convex"] = model
    model = fresh()
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1])
    found["the model is convex"] = model
    return found


@pytest.mark.parametrize("said", bad_models())
def test_other_models_are_refused_by_name(said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tm.cuts.minimise_concave(bad_models()[said])


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError):
        tm.cuts.minimise_concave("model")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.goal = pyo.Objective(expr=-(model.x**2))
    with pytest.raises(ValueError, match="node_limit"):
        tm.cuts.minimise_concave(model, options={"node_limit": 0})
    with pytest.raises(ValueError, match="node_limits"):
        tm.cuts.minimise_concave(model, options={"node_limits": 3})


def test_a_misspelt_method_names_those_of_any_model_too() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.cost = pyo.Objective(expr=-(model.x**2))
    with pytest.raises(ValueError, match="did you mean inner-hull"):
        tm.solve(model, method="inner-hul")


@pytest.mark.parametrize("method", ["branch-and-cut", "cutting-plane", "inner-hull"])
def test_columns_may_have_units_that_are_far_apart(method: str) -> None:
    # The corners of a box, in units in which some of them are nearer to one another than 1e-7.
    rng = np.random.default_rng(3)
    units = 2.0 ** np.array([-21.0, 29.0])
    Q, c = semidefinite(rng, 2, 2), rng.normal(size=2)
    corners = (np.array(x) for x in itertools.product((-2.0, 3.0), repeat=2))
    truth = min(float(c @ x - x @ Q @ x) for x in corners)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2))
    for j in range(2):
        model.x[j].setlb(-2.0 / units[j])
        model.x[j].setub(3.0 / units[j])
    x = [float(units[j]) * model.x[j] for j in range(2)]
    squares = sum(float(Q[i, j]) * x[i] * x[j] for i in range(2) for j in range(2))
    model.goal = pyo.Objective(expr=sum(float(c[j]) * x[j] for j in range(2)) - squares)
    result = tm.solve(model, method=method)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(truth, rel=2e-6)
