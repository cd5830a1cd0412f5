"""Models whose truth is known by construction, at the places where claims were false once.

A claim is false when a bound is beyond the optimum, when CERTIFIED stands beside another value than
the optimum, or when a number of the result is none. To prove less is no mistake here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    SEAL,
    Case,
    Certified,
    LowerBound,
    Subject,
    _joined,
    near_point,
    standard_form,
)
from tests.support.covering import FULL, covering
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict

RELATIVE = 1e-5  # points may miss rows by 1e-6 of their size


def refuse_false(result: SolveResult, truth: float | None, sense: int = 1) -> None:
    """Assert that no claim of a result contradicts an optimum (None: no point; -inf: none)."""
    certified = result.certificate.verdict is Verdict.CERTIFIED
    for number in (result.objective, result.bound):
        assert number is None or math.isfinite(number)
    if truth is None:
        assert not (certified and result.objective is not None)
        return
    if math.isinf(truth):
        assert result.bound is None
        assert not (certified and result.status == "optimal")
        return
    wide = RELATIVE * abs(truth)
    if result.bound is not None:
        assert sense * (result.bound - truth) <= wide
    if certified:
        assert result.objective is not None
        assert abs(result.objective - truth) <= wide


def model_of(build: Callable[[Any], Any], **variables: Any) -> pyo.ConcreteModel:
    """Model with some variables and the objective that `build` makes of them."""
    m = pyo.ConcreteModel()
    for name, variable in variables.items():
        setattr(m, name, variable)
    m.objective = pyo.Objective(expr=build(m))
    return m


GAPS = {
    "a set": ([0, 2, 5], pyo.Set(initialize=[0, 2, 5])),
    "halves": ([-2.5, -0.5, 8.5, 9.5], pyo.Set(initialize=[-2.5, -0.5, 8.5, 9.5])),
    "steps of 3 from -2": ([-2, 1, 4, 7], pyo.RangeSet(-2, 7, 3)),
    "halves that are not whole": ([0.5, 1.5, 2.5], pyo.RangeSet(0.5, 2.5, 1)),
}


TARGETS = (-9.0, 1.2, 3.4, 6.0, 20.0)
AIMED = [(name, TARGETS[(k + j) % 5]) for k, name in enumerate(GAPS) for j in (0, 2)]


@pytest.mark.parametrize(("name", "target"), covering(GAPS, TARGETS) if FULL else AIMED)
def test_a_domain_with_gaps_keeps_its_gaps(name: str, target: float) -> None:
    values, domain = GAPS[name]
    m = model_of(lambda m: (m.x - target) ** 2, x=pyo.Var(within=domain))
    result = tm.solve(m)
    refuse_false(result, min((v - target) ** 2 for v in values))
    assert float(result.values["x"]) in values
    assert m.x.value in values
    least = [0.0, 0.625, 1.5][TARGETS.index(target) % 3]  # beside bounds and linear objectives
    m = model_of(lambda m: 2 * m.x, x=pyo.Var(within=domain, bounds=(least, None)))
    refuse_false(tm.solve(m), 2 * min(v for v in values if v >= least))


def chain(count: int, factor: float) -> pyo.ConcreteModel:
    """Minimum of (x - 1)^2 + c_0 with c_0 >= -1 through 2 `count` rows: -1."""
    m = pyo.ConcreteModel()
    m.x, m.c, m.d = pyo.Var(), pyo.Var(range(count + 1)), pyo.Var(range(count))
    m.up = pyo.Constraint(range(count), rule=lambda m, k: factor * m.c[k] == m.c[k + 1])
    m.link = pyo.Constraint(expr=m.c[count] + m.d[0] >= 0)
    m.down = pyo.Constraint(range(count - 1), rule=lambda m, k: m.d[k] <= factor * m.d[k + 1])
    m.top = pyo.Constraint(expr=m.d[count - 1] <= factor)
    m.objective = pyo.Objective(expr=(m.x - 1) ** 2 + m.c[0])
    return m


CHAINS = [(2, 2.0), (8, 10.0), (8, 100.0), (12, 64.0)]
WHO = ("auto", "scip", "scs")
LINKS = [("auto", CHAINS[1]), ("auto", CHAINS[3]), ("scip", CHAINS[2]), ("scs", CHAINS[0])]


@pytest.mark.parametrize(("solver", "link"), covering(WHO, CHAINS) if FULL else LINKS)
def test_a_residual_on_a_variable_without_a_limit_is_no_rounding(
    solver: str, link: tuple[int, float]
) -> None:
    refuse_false(tm.solve(chain(*link), solver), -1.0)


@pytest.mark.parametrize(
    ("slope", "far"), [(1e-3, 1e9), (1e-7, 1e3), (1e-12, 0.0), (1e-300, 1e3), (1e-300, 0.0)]
)
def test_the_smallest_slope_has_no_bound(slope: float, far: float) -> None:
    m = model_of(lambda m: (m.x - far) ** 2 + slope * m.y, x=pyo.Var(), y=pyo.Var())
    refuse_false(tm.solve(m), -math.inf)


def bent(price: float, bend: float, reach: float, epigraph: bool) -> pyo.ConcreteModel:
    """price (u + v)^2 + (u - 1)^2 - bend w^2 with |w| <= reach: least -bend reach^2."""
    m = pyo.ConcreteModel()
    m.u, m.v, m.w, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(-reach, reach)), pyo.Var()
    body = price * (m.u + m.v) ** 2 + (m.u - 1) ** 2 - bend * m.w**2
    if epigraph:
        m.row = pyo.Constraint(expr=m.t >= body)
    m.objective = pyo.Objective(expr=m.t if epigraph else body)
    return m


@pytest.mark.parametrize(
    ("price", "bend", "epigraph"), covering([1e2, 1e6], [1e-12, 1e-8], [False, True])
)
def test_nearly_convex_is_not_convex(price: float, bend: float, epigraph: bool) -> None:
    model = bent(price, bend, 1e6, epigraph)
    refuse_false(tm.solve(model, time_limit=1), -bend * 1e12)


@pytest.mark.parametrize("short", [0.0, 0.9e-12])
def test_a_cone_is_cut_at_its_own_constant(short: float) -> None:
    """S t >= x^2 - c with x >= 1e-6: the least of 1e6 (s + t) is 2e6 sqrt(1e-12 - c)."""
    m = pyo.ConcreteModel()
    m.s, m.t = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.x = pyo.Var(bounds=(1e-6, 1))
    m.row = pyo.Constraint(expr=m.s * m.t >= m.x**2 - short)
    m.objective = pyo.Objective(expr=1e6 * (m.s + m.t))
    refuse_false(tm.solve(m, time_limit=10), 2e6 * math.sqrt(1e-12 - short))


@pytest.mark.parametrize("below", [0.0, -1e-13, -1e-6])
def test_a_factor_that_may_be_negative_makes_no_cone(below: float) -> None:
    """With t < 0 allowed, x^2 <= s t has points that no cone has: s <= 0 then, and s is wanted."""
    m = pyo.ConcreteModel()
    m.s, m.t = pyo.Var(bounds=(-1.0, None)), pyo.Var(bounds=(below, 1.0))
    m.x = pyo.Var(bounds=(0.0, None))
    m.row = pyo.Constraint(expr=m.x**2 <= m.s * m.t)
    m.objective = pyo.Objective(expr=m.s)
    # At t = 0 and x = 0 every s will do.
    refuse_false(tm.solve(m, time_limit=10), -1.0)


def thin_cone(start: float) -> pyo.ConcreteModel:
    """X <= z and z^2 + y^2 <= x^2 leave y = 0 alone, beside terms of any size."""
    m = pyo.ConcreteModel()
    m.x, m.z = pyo.Var(bounds=(start, start + 1)), pyo.Var(bounds=(start, start + 1))
    m.y = pyo.Var(bounds=(-1, 1))
    m.order = pyo.Constraint(expr=m.x <= m.z)
    m.cone = pyo.Constraint(expr=m.z**2 + m.y**2 <= m.x**2)
    m.objective = pyo.Objective(expr=m.y)
    return m


@pytest.mark.parametrize(("solver", "start"), [("auto", 1.0), ("auto", 1e6), ("scip", 1e3)])
def test_a_cone_without_inner_points_far_from_0(solver: str, start: float) -> None:
    refuse_false(tm.solve(thin_cone(start), solver, time_limit=10), 0.0)


@pytest.mark.parametrize(("start", "step", "odd"), [(0, 2, 3), (10**4, 6, 5), (10**7, 2, 1)])
def test_integers_do_not_meet_between_whole_numbers(start: int, step: int, odd: int) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.Integers, bounds=(start, start + 50))
    m.y = pyo.Var(within=pyo.Integers, bounds=(0, 2 * start + 100))
    m.row = pyo.Constraint(expr=2e-7 * step * m.x - 2e-7 * step * m.y == 2e-7 * odd)
    m.objective = pyo.Objective(expr=m.x)
    refuse_false(tm.solve(m, time_limit=10), None)


def test_integer_rows_are_evaluated_exactly() -> None:
    """0.1 + 0.2 > 0.3 in the numbers that the doubles are, and the certificate names the row."""
    m = pyo.ConcreteModel()
    m.z = pyo.Var(range(2), within=pyo.Binary)
    m.row = pyo.Constraint(expr=0.1 * m.z[0] + 0.2 * m.z[1] <= 0.3)
    m.objective = pyo.Objective(expr=-m.z[0] - m.z[1])
    result = tm.solve(m)
    refuse_false(result, -1.0)
    if result.objective == pytest.approx(-2):
        assert result.certificate.verdict is Verdict.WITHIN_TOLERANCE
        assert "row row is missed by 1.39e-16" in result.certificate.reason


CURVES = {
    "cube": (lambda x: x**3, (-2.0, 2.0), -8.0),
    "exp": (pyo.exp, (1.0, 3.0), math.e),
    "log": (pyo.log, (0.5, 2.0), math.log(0.5)),
    "quotient": (lambda x: 1 / (x + 9), (0.0, 1.0), 0.1),
}


TURNED = [(name, (1, -1)[k % 2]) for k, name in enumerate(CURVES)]


@pytest.mark.parametrize(("name", "sense"), covering(CURVES, (1, -1)) if FULL else TURNED)
def test_an_objective_beyond_degree_two_is_its_value(name: str, sense: int) -> None:
    curve, box, truth = CURVES[name]
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=box)
    m.objective = pyo.Objective(
        expr=sense * curve(m.x), sense=pyo.minimize if sense == 1 else pyo.maximize
    )
    result = tm.solve(m, time_limit=10)
    assert result.objective == pytest.approx(sense * truth, abs=1e-4)
    assert result.objective == pytest.approx(sense * pyo.value(curve(float(result.values["x"]))))
    if name == "exp":  # from below, where it is convex
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert sense * result.bound <= truth
        return
    assert result.bound is None, "no bound of ours holds beyond degree two"
    assert result.certificate.verdict is not Verdict.CERTIFIED


def test_a_second_opinion_makes_no_optimum_of_a_point_beside_terms_that_cancel() -> None:
    """The better of two bounds closes the gap to y = -1, and y = 0 is the only point there is."""
    m = thin_cone(1e6)
    form = standard_form(m)
    case = Case(m, Subject(form))
    values = {"x": 1e6, "z": 1e6, "y": -1.0}
    point = np.array([values[form.columns.name(k)] for k in range(form.n)])
    upper = near_point(form, point)
    assert upper.eps == pytest.approx(1), "y^2 is all that the cone is missed by"
    kept, other = (
        Certified(
            Status.INACCURATE, point, -1.0, Certificate(Verdict.NOT_CERTIFIED, bound=bound),
            point=upper,
            lower=LowerBound(subject=form, words="", seal=SEAL, varying=bound),
        )
        for bound in (-9.0, -1.0)
    )  # fmt: skip
    joined = _joined(case, kept, kept, other)
    assert joined.certificate.bound == -1.0
    assert joined.certificate.verdict is Verdict.NOT_CERTIFIED
