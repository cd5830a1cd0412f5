"""What the readers, the kernel, the transformations and the tree search refuse, and by which word.

Rows: the call, the exception, and what the message says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct
from pyomo.mpec import Complementarity, complements

import tightmargin as tm
from tests.inside.formulations import ArrayVar, dot
from tests.inside.solvers import (
    SEAL,
    Columns,
    FeasiblePoint,
    InexactError,
    Infeasible,
    LowerBound,
    PackingProblem,
    SideRows,
    classify,
    conic_form,
    dyadic,
    empty_too,
    expressions_read,
    judged,
    log_between,
    minorised,
    of_the_model,
    point_by_formula,
    standard_form,
)
from tightmargin.formulations import psd
from tightmargin.solvers import DomainError, NumberError, ProblemClassError

Row = tuple[Callable[[], Any], type[Exception], str]
DATA = tm.data.outlier_data("clustered", n=10, d=2, sigma=0.4, seed=1)


# --- statements of the kernel --------------------------------------------------------------------


def bound(varying: float, subject: Any = "model") -> LowerBound:
    return LowerBound(subject=subject, words="", seal=SEAL, varying=varying)


def point(subject: Any = "model") -> FeasiblePoint:
    return FeasiblePoint(subject=subject, words="", seal=SEAL, varying=1.0, x=np.zeros(1))


def at_tolerance(tolerance: float) -> Any:
    return judged(point(), bound(1.0), tolerance=tolerance)


def at_formula(error: float = 0.0, **words: Any) -> Any:
    return point_by_formula("x", 0.0, error, "for a test", **words)


def packing(penalty: float, *, weighted: bool = False) -> PackingProblem:
    weights = np.linspace(0.5, 2.0, DATA.n) if weighted else None
    data = tm.TrainingData(DATA.X, DATA.y, sample_weight=weights)
    return PackingProblem(data, penalty, "free", SideRows.nothing(data.n, data.d))


def of_another_model(how: Callable[[Any, Any], Any], statement: Any) -> Any:
    def proof() -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(bounds=(-2, 2))
        m.goal = pyo.Objective(expr=pyo.log(pyo.exp(m.x) + pyo.exp(-m.x)))
        return minorised(standard_form(m), [(0, [1.0, 0.0])])

    return how(proof(), statement(proof().form))


NO_NUMBERS = (math.nan, math.inf, -math.inf)
KERNEL: list[Row] = [
    (lambda: LowerBound(subject="model", words="", seal=None, varying=1.0), TypeError,
     "LowerBound is made by"),
    (lambda: Infeasible(subject="model", words="", seal="SEAL"), TypeError, "Infeasible is made"),
    *((lambda v=v: bound(v), ValueError, "says nothing") for v in NO_NUMBERS),
    *((lambda v=v: at_tolerance(v), ValueError, "tolerance: a verdict allows 0 to 1e-06")
      for v in (1.1e-6, 1.0, -1e-9, math.nan, math.inf)),
    (lambda: judged(point("edited"), bound(1.0, "built")), ValueError, "different models"),
    *((lambda v=v: at_formula(v), ValueError, "bounds nothing") for v in (-1.0, math.nan)),
    (lambda: at_formula(eps=-1.0, worst="norm"), ValueError, "for a test"),
    (lambda: at_formula(eps=1e-10), ValueError, "for a test"),
    (lambda: at_formula(worst="norm"), ValueError, "for a test"),
    *((lambda v=v: packing(v), ValueError, "one positive price")
      for v in (0.0, -1.0, math.inf, math.nan)),
    (lambda: packing(1.0, weighted=True), ValueError, "one positive price"),
    *((lambda v=v: log_between(v), ValueError, "is no number")
      for v in (Fraction(0), Fraction(-1, 3))),
    (lambda: of_another_model(of_the_model, lambda form: bound(0.0, form)), ValueError,
     "another model"),
    (lambda: of_another_model(
        empty_too, lambda form: Infeasible(subject=form, words="", seal=SEAL)
    ), ValueError, "another model"),
    *((lambda v=v: dyadic(np.array([1.0, v])), ValueError, "only finite numbers")
      for v in NO_NUMBERS),
]  # fmt: skip


# --- what is read --------------------------------------------------------------------------------


def edited(edit: Callable[[Any], Any], entry: str = "c_svc", **words: Any) -> pyo.ConcreteModel:
    model = tm.build(entry, DATA, **words or {"C": 1.0})
    row = edit(model)
    if row is not None:
        model.r = pyo.Constraint(expr=row)
    return model


def sos(m: Any) -> None:
    m.one = pyo.SOSConstraint(var=m.w, sos=1)


def complementary(m: Any) -> None:
    m.either = Complementarity(expr=complements(m.w[0] >= 0, m.xi[0] >= 0))


def loose(m: Any) -> None:
    m.alone = Disjunct()
    m.alone.row = pyo.Constraint(expr=m.w[0] <= 0)


def dearer(m: Any, term: Any) -> None:
    m.objective.set_value(m.objective.expr + term)


def plane(goal: Callable[[Any], Any], fixed: float = 1.0, **bounds: Any) -> pyo.ConcreteModel:
    """x is fixed, and p is the same number; y is between -5 and 5."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(2, 3))
    m.x.fix(fixed)
    m.p = pyo.Param(initialize=fixed, mutable=True)
    m.goal = pyo.Objective(expr=goal(m))
    return m


def in_a_row(write: Callable[[Any], Any], fixed: float) -> pyo.ConcreteModel:
    m = plane(lambda m: m.y**2, fixed)
    m.row = pyo.Constraint(expr=write(m) + m.y <= 3)
    return m


def nan_in(write: Callable[[Any], Any]) -> Any:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 3)
    m.x, m.s = ArrayVar(m.I), pyo.Var()
    m.p = pyo.Param(initialize=math.nan, mutable=True, within=pyo.Any)
    return expressions_read(write(m), Columns(m), "row 7")


def held(domain: Any, value: float) -> Any:
    m = pyo.ConcreteModel()
    m.z, m.y = pyo.Var(within=domain), pyo.Var(bounds=(0, 1))
    m.z.fix(value, skip_validation=True)
    m.c, m.o = pyo.Constraint(expr=m.y >= m.z), pyo.Objective(expr=m.y)
    return tm.solve(m)


def within(domain: Any) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.split = pyo.Var(within=domain)
    m.o = pyo.Objective(expr=m.split**2)
    return m


def array_with_gaps() -> Any:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 2)
    m.x = ArrayVar(m.I, lower=0.0)
    m.x[1].domain = pyo.Set(initialize=[0, 2, 5])
    return m.x.arrays()


def inexact() -> Any:
    m = plane(lambda m: m.y)
    m.c = pyo.Constraint(expr=0.1 * m.y + 0.2 * m.y >= m.z)
    return standard_form(m)


def live() -> Any:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.d = pyo.Constraint(expr=0.1 * (m.x + 3 * m.y) >= 0.7)
    m.o = pyo.Objective(expr=m.x + 2 * m.y)
    return tm.LiveLP(m)


def matrix(sides: Any = None, entry: Any = None, within: Any = pyo.Reals) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(within=within, bounds=(-4, 4)), pyo.Var()
    psd(m, "matrix", [[m.x if entry is None else entry(m)], [1.0, m.x]])
    if sides is not None:
        m.matrix.set_value((sides[0], m.matrix.body, sides[1]))
    m.o = pyo.Objective(expr=m.x)
    return m


def beside_a_reverse_row() -> pyo.ConcreteModel:
    m = matrix()
    m.out = pyo.Constraint(expr=m.x**2 >= 2)
    return m


def beside_an_integer() -> pyo.ConcreteModel:
    m = tm.conic_sdp(DATA, penalty=1.0)
    m.k = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=m.k >= m.z[0])
    return m


def without_a_cone() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 4))
    m.row = pyo.Constraint(expr=m.x[0] * m.x[1] <= 1)
    m.o = pyo.Objective(expr=m.x[0])
    form = standard_form(m)
    return conic_form(form, classify(form))


def two_objectives() -> Any:
    m = plane(lambda m: m.y)
    m.other = pyo.Objective(expr=m.z)
    return tm.solve(m)


def at_scale(entry: str, word: str, **words: Any) -> list[Row]:
    """Hyperparameters and data that overflow."""
    huge = tm.TrainingData(DATA.X * 1e250, DATA.y)
    return [
        (lambda: tm.build(entry, DATA, **{word: 1e300}, **words), ValueError, "must be at most 1e"),
        (lambda: tm.solve(tm.build(entry, huge, **{word: 1.0}, **words)), ValueError, "overflow"),
    ]


NOT_THERE: list[tuple[Callable[[Any], Any], float]] = [
    (lambda m: pyo.log(m.x), -1.0),
    (lambda m: pyo.log(m.p) * m.y, -1.0),
    (lambda m: pyo.sqrt(m.x), -1.0),
    (lambda m: m.x**0.5, -1.0),
    (lambda m: m.p**0.5 * abs(m.y), -1.0),
    (lambda m: abs(pyo.log(m.x) + m.y), -1.0),
    (lambda m: pyo.sqrt(pyo.log(m.x) * m.y**2), -1.0),
    (lambda m: 1 / m.x, 0.0),
    (lambda m: pyo.exp(m.x), 1e3),
    (lambda m: pyo.exp(m.p) * abs(m.y), 1e3),
]
READ: list[Row] = [
    (lambda: tm.solve(edited(sos)), ValueError, "SOSConstraint cannot be read here; write a set"),
    (lambda: tm.solve(edited(complementary)), ValueError, "Complementarity cannot be read here"),
    (lambda: tm.solve(edited(loose)), ValueError, "alone stands in no Disjunction"),
    (lambda: tm.solve(edited(lambda m: 1e151 * m.w[0] <= 1)), NumberError, "in row r"),
    (lambda: tm.solve(edited(lambda m: 1e300 * m.w[0] ** 2 <= 1)), NumberError, "overflow: scale"),
    (lambda: tm.solve(edited(lambda m: dearer(m, 1e300 * m.w[0]))), NumberError, "objective"),
    (lambda: tm.solve(edited(lambda m: dearer(m, 1e151 * m.w[0] ** 2))), NumberError, "overflow"),
    *at_scale("c_svc", "C"), *at_scale("rsvm", "norm_bound"), *at_scale("conic_sdp", "penalty"),
    *at_scale("zero_one_big_m", "penalty", big_m=5.0),
    *((lambda write=write, x=x: tm.solve(plane(write, x)), NumberError, "no finite real number")
      for write, x in NOT_THERE[::2]),
    *((lambda write=write, x=x: tm.solve(in_a_row(write, x)), NumberError, "no finite real number")
      for write, x in NOT_THERE[1::2]),
    (lambda: nan_in(lambda m: m.p * m.s), NumberError, "row 7: coefficient of s is nan"),
    (lambda: nan_in(lambda m: m.p * m.s * m.x[0]), NumberError, "coefficient of"),
    (lambda: nan_in(lambda m: m.s + m.p), NumberError, "constant term is nan"),
    (lambda: nan_in(lambda m: m.p * dot(1.0, m.x)), NumberError, "row 7"),
    (lambda: tm.solve(plane(lambda m: 1e-200 * (1e-200 * (1e300 * (1e200 * m.z**2))))),
     NumberError, "too small for a double"),
    (lambda: tm.solve(plane(lambda m: (1e-170 * m.z) * (1e-170 * m.z))), NumberError,
     "objective goal"),
    *((lambda domain=domain, v=v: held(domain, v), NumberError, f"z is fixed at {v}")
      for domain, v in ((pyo.Binary, 0.5), (pyo.Binary, 2), (pyo.NonNegativeReals, -1.0),
                        (pyo.Integers, 2.5))),
    (lambda: tm.solve(within(pyo.Reals - pyo.NonNegativeReals | pyo.RangeSet(3, 4, 0))),
     DomainError, "domain of split"),
    (lambda: standard_form(within(pyo.Set(initialize=[1, 4]))), DomainError, "domain of split"),
    (array_with_gaps, ValueError, "domain of x[1]"),
    (inexact, InexactError, "row c: the coefficient of y is made of numbers"),
    *((lambda sides=sides: standard_form(matrix(sides)), ValueError,
       "must read smallest_eigenvalue >= 0") for sides in ((1, None), (None, 0), (0, 2))),
    (lambda: standard_form(matrix(entry=lambda m: m.x * m.y)), ValueError, "must be affine"),
    (lambda: psd(pyo.ConcreteModel(), "m", [[1.0, 0.0], [0.0, 1.0]]), ValueError, "needs i + 1"),
    *((lambda who=who: tm.solve(beside_an_integer(), who), ProblemClassError,
       "row outer beside the integer") for who in ("clarabel", "scip", "highs")),
    *((lambda who=who: tm.solve(beside_a_reverse_row(), who), ProblemClassError,
       "semidefinite row matrix") for who in ("auto", "scip", "clarabel")),
    (lambda: tm.solve(matrix(within=pyo.Integers), "clarabel"), ProblemClassError, "matrix"),
    (live, NumberError, "row d has a coefficient that no double is"),
    (without_a_cone, ValueError, "no conic form: row is not convex"),
    (two_objectives, ValueError, "2 objectives are active"),
]  # fmt: skip


# --- absolute values -----------------------------------------------------------------------------


def absolute(edit: Callable[[Any], Any], **how: Any) -> Any:
    return tm.solve(edited(edit), **how)


def nan_beside_a_norm(m: Any) -> Any:
    m.price = pyo.Param(mutable=True, initialize=1.0, within=pyo.Any)
    m.s = pyo.Constraint(expr=m.price * m.w[1] + abs(m.w[0]) <= 3)
    m.price.set_value(math.nan)


NORMS: list[Row] = [
    (lambda: absolute(lambda m: abs(m.w[0]) >= 0.5), ProblemClassError,
     "row r: abs(w[0]) is bounded from below, which is not convex: say with a binary"),
    (lambda: absolute(lambda m: abs(m.w[0]) >= 0.5, solver="scip"), ProblemClassError, "below"),
    (lambda: absolute(lambda m: abs(m.w[0]) == 0.5, method="direct"), ProblemClassError, "below"),
    (lambda: absolute(lambda m: (0.1, abs(m.w[0]), 0.5)), ProblemClassError, "below"),
    (lambda: absolute(lambda m: dearer(m, -abs(m.w[0]))), ProblemClassError,
     "objective objective: abs(w[0]) is rewarded"),
    (lambda: absolute(lambda m: abs(m.w[0] * m.w[1]) <= 1), ProblemClassError, "not linear"),
    (lambda: absolute(lambda m: abs(abs(m.w[0]) - 1) <= 1), ProblemClassError, "not linear"),
    # One part that is not convex refuses the whole row.
    (lambda: absolute(lambda m: abs(m.w[0]) - abs(m.w[1]) <= 0), ProblemClassError,
     "row r: abs(w[1]) is bounded from below"),
    (lambda: absolute(nan_beside_a_norm), NumberError, "row s: coefficient of w[1] is nan"),
]  # fmt: skip


# --- what is asked of a solve --------------------------------------------------------------------


def searched(entry: str = "zero_one_big_m", options: Any = None, **words: Any) -> Any:
    words = words or {"penalty": 1.0, "big_m": 60.0}
    return tm.solve(tm.build(entry, DATA, **words), method="branch-and-bound", options=options)


def solved(solver: str = "auto", **how: Any) -> Any:
    return tm.solve(tm.c_svc(DATA, C=1.0), solver, **how)


ASKED: list[Row] = [
    (lambda: searched("c_svc", C=1.0), ValueError, "no integer variables"),
    (lambda: searched(options={"no_such": 1}), ValueError, "has no option 'no_such'"),
    *((lambda v=v: searched(options={"node_limit": v}), ValueError, "node_limit must be a whole")
      for v in (0, -3, 1.5, True, "many")),
    *((lambda v=v: solved(prove=v), ValueError, "prove must be") for v in (-1.0, 0, math.inf, "x")),
    (lambda: solved(absolute_gap=-1.0), ValueError, "absolute_gap"),
    (lambda: solved("scpi"), ValueError, "scpi"),
    (lambda: solved(method="brnch"), ValueError, "brnch"),
    (lambda: solved("clarabel", second_solver="scpi"), ValueError, "did you mean scip"),
    (lambda: solved("clarabel", second_solver="clarabel"), ValueError, "is the first solver"),
    (lambda: solved("clarabel", second_solver="auto"), ValueError, "name a solver"),
    (lambda: tm.solve(tm.max_margin_svc(DATA), "clarabel", second_solver="highs"),
     ProblemClassError, "highs cannot take SOCP"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "word"), [*KERNEL, *READ, *NORMS, *ASKED])
def test_it_is_refused_by_name(call: Callable[[], Any], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=re.escape(word)):
        call()
