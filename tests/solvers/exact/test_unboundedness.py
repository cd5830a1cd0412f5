"""That a model is unbounded is proven by a ray and a point in exact arithmetic, or not at all."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.solvers import (
    Case,
    Limits,
    Subject,
    Unbounded,
    certify,
    classify,
    highs,
    near_point,
    proven_point,
    proven_unbounded,
    ray_proof,
    standard_form,
    unboundedness_proof,
)
from tests.inside.solvers import rays as ray_check
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import psd
from tightmargin.solvers import Claim, LiveLP, Status, Verdict

Array = NDArray[np.float64]
INF = np.inf


def proof_of(model: pyo.ConcreteModel) -> Unbounded | None:
    """The proof, which must also stand when it is told again.

    Far along the ray the residual is no larger and the objective lower, in plain arithmetic.
    """
    form = standard_form(model)
    proof = unboundedness_proof(form, Limits())
    if proof is None:
        return None
    assert ray_proof(form, proof.ray, proof.x) is not None
    values = []
    for step in (0.0, 1.0, 1e3, 1e6):
        x = proof.x + step * proof.ray / np.abs(proof.ray).max()
        slack = 1e-6 * max(1.0, step)
        ax = form.A @ x
        assert (ax >= form.row_lower - slack).all()
        assert (ax <= form.row_upper + slack).all()
        assert (x >= form.lower).all()
        assert (x <= form.upper).all()
        for row in form.quadratic:
            size = 1e-9 * row.body.magnitude(x) + slack
            assert row.lower - size <= row.body.at(x) <= row.upper + size
        values.append(form.objective.at(x))
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]
    return proof


def linear(
    A: Any, low: Any, high: Any, c: Any, lower: float | None = 0.0, integer: bool = False
) -> pyo.ConcreteModel:
    """min c'x, low <= A x <= high, x >= lower."""
    A, m = np.atleast_2d(np.array(A, dtype=float)), pyo.ConcreteModel()
    domain = pyo.Integers if integer else pyo.Reals
    m.x = pyo.Var(range(len(c)), bounds=(lower, None), within=domain)
    m.row = pyo.ConstraintList()
    columns = np.array(list(m.x.values()))
    for line, below, above in zip(A, low, high, strict=True):
        ends = [None if np.isinf(end) else float(end) for end in (below, above)]
        if line.any():
            m.row.add((ends[0], line @ columns, ends[1]))
    m.goal = pyo.Objective(expr=np.array(c, dtype=float) @ columns)
    return m


# --- linear programs -----------------------------------------------------------------------------

# Found by hypothesis: the presolve of HiGHS 1.15.1 calls this unbounded program infeasible.
# By hand: d = (0, 0, 2, 0, 1) has A d = (0, 1, 1, 0) and c'd = -4, and x = d is feasible.
CALLED_INFEASIBLE: dict[str, Any] = {
    "A": [[1, 1, 0, 0, 0], [1, 0, 1, 0, -1], [3, 0, 0, 1, 1], [0, -1, 0.5, 0, -1]],
    "low": [-1, 1, 1, -INF],
    "high": [2, INF, INF, 1],
    "c": [2, 2, -2, 2, 0],
}


def test_an_unbounded_model_that_presolve_calls_infeasible() -> None:
    form = standard_form(linear(**CALLED_INFEASIBLE))
    raw = highs.run(form, classify(form), Limits())
    assert raw.status is Status.INFEASIBLE, "HiGHS was mended: the second run may go"
    assert tm.solve(linear(**CALLED_INFEASIBLE), "highs").status is Status.UNBOUNDED
    for kind in ("primal", "dual"):
        live = LiveLP(linear(**CALLED_INFEASIBLE), form=kind)
        assert live.resolve().status is Status.UNBOUNDED


WHOLE = st.integers(-3, 3)


@given(data=st.data(), n=st.integers(1, 4), m=st.integers(1, 4), free=st.booleans())
@settings(max_examples=120 if FULL else 25)
def test_a_proof_is_found_exactly_when_linprog_finds_a_ray(
    data: st.DataObject, n: int, m: int, free: bool
) -> None:
    """Whole numbers, so that what is unbounded or infeasible is so by far."""
    A = np.array([[data.draw(WHOLE) for _ in range(n)] for _ in range(m)], dtype=float)
    low = np.array([data.draw(WHOLE) for _ in range(m)], dtype=float)
    high = low + data.draw(st.sampled_from([0.0, 2.0, INF]))
    c = np.array([data.draw(WHOLE) for _ in range(n)], dtype=float)
    A = A[A.any(axis=1)] if A.any() else np.zeros((0, n))
    low, high = low[: len(A)], high[: len(A)]
    lower = None if free else 0.0
    finite = np.isfinite(high)
    expected = is_unbounded(np.vstack([-A, A[finite]]), np.r_[-low, high[finite]], c, lower)
    assert (proof_of(linear(A, low, high, c, lower)) is not None) == expected


def is_unbounded(A: Array, b: Array, c: Array, lower: float | None) -> bool:
    """Whether A x <= b has a point and a ray along which c falls, by two bounded programs."""
    bounds, plain = (lower, None), {"presolve": False}
    point = linprog(np.zeros(len(c)), A, b, bounds=bounds, options=plain)
    ray = linprog(c, A, np.zeros(len(b)), bounds=(-1 if lower is None else 0, 1), options=plain)
    return point.status == 0 and ray.fun < -1e-6


# Objective and rows of x >= 0 and a free y; the ray, None where there is no proof, or any.
ANY: list[int] = []
SINGLE: dict[str, tuple[Any, list[Any], list[int] | None]] = {
    "a free variable without rows": (lambda x, y: x + 3 * y, [], [0, -1]),
    "of a maximisation": (lambda x, y: -x, [], ANY),
    "its other side": (lambda x, y: x, [], None),
    "a parabola has no straight line": (lambda x, y: y, [lambda x, y: y**2 <= x], None),
    "a product": (lambda x, y: x * y, [lambda x, y: (1, x, 2)], [0, -1]),
    "a concave square": (lambda x, y: x - y**2, [lambda x, y: (1, x, 2)], ANY),
    "with two": (lambda x, y: x - y**2, [lambda x, y: (-1, y, 1)], None),
    "past a reverse convex row": (lambda x, y: x + y, [lambda x, y: x**2 + y**2 >= 100], ANY),
}


@pytest.mark.parametrize("name", SINGLE)
def test_what_falls_for_ever_is_proven(name: str) -> None:
    goal, rows, ray = SINGLE[name]
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var()
    m.rows = pyo.ConstraintList()
    for row in rows:
        m.rows.add(row(m.x, m.y))
    sign = -1 if "maximisation" in name else 1
    m.goal = pyo.Objective(expr=sign * goal(m.x, m.y), sense=sign)
    proof = proof_of(m)
    assert (proof is None) == (ray is None)
    if ray and proof is not None:
        assert proof.ray.tolist() == ray
    if "reverse" in name and proof is not None:
        assert proof.x @ proof.x >= 100


def test_whole_numbers_have_a_whole_point_and_a_whole_ray() -> None:
    """3 x - 7 y = 1 from (5, 2) along (7, 3), and 6 x - 4 y = 1 has no whole solution."""
    proof = proof_of(linear([[3, -7]], [1], [1], [-1, 0], integer=True))
    assert proof.ray.tolist() == [7, 3]
    x, y = (int(number) for number in proof.x)
    assert 3 * x - 7 * y == 1
    assert (x, y) == tuple(proof.x)
    assert proof_of(linear([[6, -4]], [1], [1], [-1, 0], integer=True)) is None


# --- a ray is not enough -------------------------------------------------------------------------


def test_a_ray_without_a_point_proves_nothing() -> None:
    """x - y >= 1 and x - y <= 1 - gap; far out along (1, 1) the gap is small beside the terms."""
    gap = 1e-3
    model = linear([[1, -1], [1, -1]], [1, -INF], [INF, 1 - gap], [-1, 0])
    assert proof_of(model) is None
    form = standard_form(model)
    assert proven_unbounded(form, near_point(form, np.zeros(2)), [1, 1]), "the ray is there"
    assert ray_proof(form, np.ones(2), np.full(2, 1e3)) is None
    assert ray_proof(form, np.ones(2), np.array([1 - gap / 2, 0.0])) is None
    assert ray_proof(form, np.ones(2), np.full(2, 1e9)) is None


def test_a_row_that_no_rational_number_meets_is_met_nearly() -> None:
    """y^2 = 2 beside a free x."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(0, None))
    m.root = pyo.Constraint(expr=m.y**2 == 2)
    m.goal = pyo.Objective(expr=-m.x)
    proof = ray_proof(standard_form(m), np.array([1.0, 0.0]), np.array([0.0, 2**0.5]))
    assert "misses a row by" in proof.words
    assert 0 < proof.eps < 1e-15


def test_a_rational_point_proves_a_ray_along_which_nothing_bends() -> None:
    """3 y = 1, y no double: y^2 is constant along x, and the slope of x y asks for y."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.third = pyo.Constraint(expr=3 * m.y == 1)
    m.goal = pyo.Objective(expr=m.y**2 - m.x)
    ray, start = np.array([1.0, 0.0]), np.array([0.0, 1 / 3])
    proof = ray_proof(standard_form(m), ray, start)
    assert proof.eps == 0
    m.goal.expr = 3 * m.x * m.y - m.x  # is 0 at every point, and falls beside the double
    form = standard_form(m)
    point = proven_point(form, start, {1: Fraction(1, 3)})
    assert point is not None
    assert proven_unbounded(form, point, [1, 0]) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("c_svc_dual", {"C": 1.0}),  # HiGHS called such a dual unbounded
        ("extended_nu_svc_ball", {"nu": 0.6}),
        ("zero_one_big_m", {"penalty": 1.3, "big_m": 20.0}),
    ],
)
def test_a_false_unbounded_gets_no_proof(name: str, words: dict[str, float]) -> None:
    assert proof_of(tm.build(name, points("overlapping", 2, n=8), **words)) is None


# --- cones ---------------------------------------------------------------------------------------


# The objective over x, y, t >= 0 and z >= 0 at a price p, below which alone it falls for ever.
CONES: dict[str, tuple[Any, Any, float]] = {
    "x <= (t + z) / 2": (lambda m, p: p * (m.t + m.z) - m.x, lambda m: m.x**2 <= m.t * m.z, 0.5),
    "a norm": (lambda m, p: p * m.t - m.x - m.y, lambda m: m.x**2 + m.y**2 <= m.t**2, 2**0.5),
    "a matrix": (lambda m, p: p * (m.t + m.z) - 2 * m.y, None, 1.0),
    "a parabola": (lambda m, p: m.x + (p - 1) * m.y, lambda m: m.x**2 <= m.y, 1.0),
}


def priced(name: str, share: float) -> pyo.ConcreteModel:
    goal, row, price = CONES[name]
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.t, m.z = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    if row is None:
        psd(m, "cone", [[m.t], [m.y, m.z]])
    else:
        m.cone = pyo.Constraint(expr=row(m))
    m.goal = pyo.Objective(expr=goal(m, share * price))
    return m


@pytest.mark.parametrize("name", CONES)
def test_a_cone_is_left_downwards_below_its_price_only(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proof_of(priced(name, 0.9)) is not None
    assert proof_of(priced(name, 1.1)) is None
    monkeypatch.setattr(ray_check, "ORDER_LIMIT", 1)
    assert (proof_of(priced(name, 0.9)) is None) == (name == "a matrix"), "beyond the limit"


@pytest.mark.parametrize(
    "claimed", [Status.UNBOUNDED, Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED]
)
def test_whatever_a_solver_calls_it_the_proof_decides(claimed: Status) -> None:
    """A ray and no point is infeasible; a ray and a point is unbounded; neither is the claim."""
    impossible = linear([[1, -1], [1, -1]], [1, -INF], [INF, 0], [-1, 0])
    endless, least = linear([[1, -1]], [1], [INF], [-1, 0]), linear([[1, 1]], [1], [INF], [1, 1])
    for model, expected in ((impossible, Status.INFEASIBLE), (endless, Status.UNBOUNDED)):
        form = standard_form(model)
        found = certify(Case(model, Subject(form)), Claim(claimed, message="so be it"))
        assert found.status is expected
        assert found.certificate.verdict is Verdict.CERTIFIED
    form = standard_form(least)
    found = certify(Case(least, Subject(form)), Claim(claimed, message="so be it"))
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED


def test_an_altered_ray_or_point_proves_nothing() -> None:
    form = standard_form(linear(**CALLED_INFEASIBLE))
    proof = unboundedness_proof(form, Limits())
    wrong_way, upwards = proof.ray.copy(), proof.ray.copy()
    wrong_way[0] = 1.0
    upwards[3] = 10.0
    for ray in (-proof.ray, wrong_way, upwards, proof.ray[:4], proof.ray * np.nan, 0 * proof.ray):
        assert ray_proof(form, ray, proof.x) is None
    assert ray_proof(form, proof.ray, -np.ones(5)) is not None, "along the ray it becomes feasible"
    assert ray_proof(form, proof.ray, np.full(5, INF)) is None
    assert ray_proof(form, proof.ray, np.array([0.0, 9.0, 0.0, 0.0, 0.0])) is None
