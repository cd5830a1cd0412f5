"""What is refused, and the word that names it: one row a path of code.

Rows: the call, the exception, and what the message says, in parts with two dots between them.
"""

from __future__ import annotations

import functools
import math
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct

import tightmargin as tm
from tests.inside.experiments import sgd_study, simplex_figure
from tests.inside.formulations import ArrayVar, dot
from tests.inside.solvers import (
    SEAL,
    SOLVERS,
    Columns,
    FeasiblePoint,
    InexactError,
    Infeasible,
    LowerBound,
    PackingProblem,
    SideRows,
    classify,
    cones_run,
    conflict_search_search,
    conic_form,
    dyadic,
    empty_too,
    expressions_read,
    judged,
    log_between,
    minorised,
    of_the_model,
    packings_signed_points,
    point_by_formula,
    rainbow_cells,
    rsvm_at_limit,
    sgd_rate,
    simplex_grid,
    solvers_named,
    standard_form,
    zero_one_incumbent,
)
from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tests.solvers.files.test_formats import CBF, LP, MPS
from tightmargin.formulations import extended_robust_svc, psd
from tightmargin.solvers import (
    DomainError,
    LiveLP,
    NumberError,
    ProblemClassError,
    SolverNotInstalledError,
    solve_isolated,
)

Row = tuple[Callable[[], Any], type[Exception], str]
DATA, SEPARABLE = points("overlapping", 1, n=10), points("separable", 1, n=10)
CLASSES, MATRICES = class_points(1), matrix_points(2, n=10, shape=(2, 2))
MATRIX = tm.TrainingData(np.random.default_rng(0).normal(size=(8, 6)), [1, -1] * 4)
ORIGIN = tm.TrainingData([[0.0], [1.0], [2.0], [0.0]], [1, 1, -1, -1])
NAN, INF = math.nan, math.inf
NO_NUMBERS = (NAN, INF, -INF)
FREE, POSITIVE = (None, None), (0, None)


# --- models --------------------------------------------------------------------------------------


def model(
    goal: Callable[[Any], Any] = lambda m: m.x + 2 * m.y,
    *,
    x: Any = (0, 1),
    y: Any = (0, 1),
    kind: Any = pyo.Reals,
    at: float | None = None,
    **rows: Callable[[Any], Any],
) -> pyo.ConcreteModel:
    """Two variables, of which x may be of a kind and fixed, and a Param p, which is the same."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=x, within=kind), pyo.Var(bounds=y)
    m.p = pyo.Param(mutable=True, within=pyo.Any)
    if at is not None:
        m.x.fix(at, skip_validation=True)
        m.p.set_value(at)
    for name, row in rows.items():
        m.add_component(name, pyo.Constraint(expr=row(m)))
    m.goal = pyo.Objective(expr=goal(m))
    return m


def with_more(built: Any, edit: Callable[[Any], Any]) -> Any:
    """The model with an edit: a row, or what the edit does itself."""
    row = edit(built)
    if row is not None:
        built.more = pyo.Constraint(expr=row)
    return built


def c_svc(edit: Callable[[Any], Any] = lambda m: None) -> Any:
    return with_more(tm.c_svc(DATA, C=1.0), edit)


def conic_sdp(edit: Callable[[Any], Any] = lambda m: None) -> Any:
    return with_more(tm.conic_sdp(DATA, penalty=1.3), edit)


def truncated() -> Any:
    return tm.build("multiclass_truncated", CLASSES, ridge=0.05, truncation=-0.5, big_m="derived")


ZERO_ONE = functools.partial(tm.zero_one_big_m, DATA, penalty=1.0, big_m="derived")
BILINEAR = functools.partial(tm.matrix_svc_bilinear, MATRIX, ridge=0.5, shape="2x3", rank=1)


def matrix(sides: Any = None, entry: Any = lambda m: m.x, **more: Any) -> pyo.ConcreteModel:
    """[x 1; 1 x] semidefinite."""
    m = model(x=(-4, 4), **more)
    psd(m, "matrix", [[entry(m)], [1.0, m.x]])
    if sides is not None:
        m.matrix.set_value((sides[0], m.matrix.body, sides[1]))
    return m


def beside_an_integer(m: Any) -> Any:
    m.k = pyo.Var(within=pyo.Binary)
    return m.k >= m.z[0]


# --- calls ---------------------------------------------------------------------------------------


def rows(
    call: Callable[..., object],
    *given: Any,
    cases: list[tuple[dict[str, Any], str]],
    error: type[Exception] = ValueError,
    **words: Any,
) -> list[Row]:
    """The call with its good words, each time with some that are none."""
    return [(functools.partial(call, *given, **words | bad), error, said) for bad, said in cases]


def changed(build: Callable[..., Any], edit: Any = lambda m: None) -> Callable[..., object]:
    """solve() of a model that was edited."""
    return lambda **how: tm.solve(with_more(build(), edit), **how)


def read(suffix: str, text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"model{suffix}")
        file.write_text(text)
        return tm.read_model(file)


def export(build: Callable[[], Any], suffix: str) -> Any:
    """Of which no file is left; another format may hold the model."""
    if suffix in (".cbf", ".ptf"):
        pytest.importorskip("mosek")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            tm.export(build(), folder / f"model{suffix}")
        finally:
            assert not list(folder.iterdir())
            if build in (section_name, one_name):
                tm.export(build(), folder / "model.mps")


def started(start: Any) -> None:
    """A bad start leaves the model alone."""
    built = c_svc()
    try:
        tm.solve(built, warm_start=start)
    finally:
        assert all(v.value is None for v in built.component_data_objects(pyo.Var))


# --- statements of the kernel --------------------------------------------------------------------


def bound(varying: float, subject: Any = "model") -> LowerBound:
    return LowerBound(subject=subject, words="", seal=SEAL, varying=varying)


def at_tolerance(tolerance: float, subject: str = "model") -> Any:
    point = FeasiblePoint(subject=subject, words="", seal=SEAL, varying=1.0, x=np.zeros(1))
    return judged(point, bound(1.0), tolerance=tolerance)


def at_formula(error: float = 0.0, **words: Any) -> Any:
    return point_by_formula("x", 0.0, error, "for a test", **words)


def packing(penalty: float, weights: Any = None) -> PackingProblem:
    data = tm.TrainingData(DATA.X, DATA.y, sample_weight=weights)
    return PackingProblem(data, penalty, "free", SideRows.nothing(data.n, data.d))


def of_another_model(how: Callable[[Any, Any], Any], statement: Any) -> Any:
    def proof() -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(bounds=(-2, 2))
        m.goal = pyo.Objective(expr=pyo.log(pyo.exp(m.x) + pyo.exp(-m.x)))
        return minorised(standard_form(m), [(0, [1.0, 0.0])])

    return how(proof(), statement(proof().form))


KERNEL: list[Row] = [
    (lambda: LowerBound(subject="model", words="", seal=None, varying=1.0), TypeError,
     "LowerBound is made by"),
    (lambda: Infeasible(subject="model", words="", seal="SEAL"), TypeError, "Infeasible is made"),
    *((lambda v=v: bound(v), ValueError, "says nothing") for v in NO_NUMBERS),
    *((lambda v=v: at_tolerance(v), ValueError, "tolerance: a verdict allows 0 to 1e-06")
      for v in (1.1e-6, -1e-9, NAN)),
    (lambda: at_tolerance(0.0, "edited"), ValueError, "different models"),
    *((lambda v=v: at_formula(v), ValueError, "bounds nothing") for v in (-1.0, NAN)),
    *((lambda w=words: at_formula(**w), ValueError, "for a test")
      for words in ({"eps": -1.0, "worst": "norm"}, {"eps": 1e-10}, {"worst": "norm"})),
    *((lambda v=v: packing(v), ValueError, "one positive price") for v in (0.0, INF, NAN)),
    (lambda: packing(1.0, np.linspace(0.5, 2.0, DATA.n)), ValueError, "one positive price"),
    (lambda: log_between(Fraction(0)), ValueError, "is no number"),
    (lambda: of_another_model(of_the_model, lambda form: bound(0.0, form)), ValueError,
     "another model"),
    (lambda: of_another_model(
        empty_too, lambda form: Infeasible(subject=form, words="", seal=SEAL)
    ), ValueError, "another model"),
    *((lambda v=v: dyadic(np.array([1.0, v])), ValueError, "only finite numbers")
      for v in NO_NUMBERS),
]  # fmt: skip


# --- what is read --------------------------------------------------------------------------------


def loose(m: Any) -> None:
    m.alone = Disjunct()
    m.alone.row = pyo.Constraint(expr=m.w[0] <= 0)


def dearer(m: Any, term: Any) -> None:
    m.objective.set_value(m.objective.expr + term)


def nan_in(write: Callable[[Any], Any]) -> Any:
    m = pyo.ConcreteModel()
    m.x, m.s = ArrayVar(pyo.RangeSet(0, 3)), pyo.Var()
    m.p = pyo.Param(initialize=NAN, mutable=True, within=pyo.Any)
    return expressions_read(write(m), Columns(m), "row 7")


def nan_beside_a_norm(m: Any) -> Any:
    m.price = pyo.Param(mutable=True, initialize=1.0, within=pyo.Any)
    m.s = pyo.Constraint(expr=m.price * m.w[1] + abs(m.w[0]) <= 3)
    m.price.set_value(NAN)


def array_with_gaps() -> Any:
    m = pyo.ConcreteModel()
    m.x = ArrayVar(pyo.RangeSet(0, 2), lower=0.0)
    m.x[1].domain = pyo.Set(initialize=[0, 2, 5])
    return m.x.arrays()


def without_a_cone() -> Any:
    form = standard_form(model(row=lambda m: m.x * m.y <= 1))
    return conic_form(form, classify(form))


def at_scale(entry: str, word: str, **words: Any) -> list[Row]:
    """Hyperparameters and data that overflow."""
    huge = tm.TrainingData(DATA.X * 1e250, DATA.y)
    return [
        (lambda: tm.build(entry, DATA, **{word: 1e300}, **words), ValueError, "must be at most 1e"),
        (lambda: tm.solve(tm.build(entry, huge, **{word: 1.0}, **words)), ValueError, "overflow"),
    ]


NOT_THERE: list[tuple[Callable[[Any], Any], float]] = [
    (lambda m: pyo.log(m.x), -1.0), (lambda m: pyo.log(m.p) * m.y, -1.0),
    (lambda m: m.x**0.5, -1.0), (lambda m: m.p**0.5 * abs(m.y), -1.0),
    (lambda m: 1 / m.x, 0.0), (lambda m: pyo.exp(m.p) * abs(m.y), 1e3),
    (lambda m: abs(pyo.log(m.x) + m.y), -1.0), (lambda m: pyo.sqrt(m.p), -1.0),
    (lambda m: pyo.sqrt(pyo.log(m.x) * m.y**2), -1.0),
]  # fmt: skip
WITHOUT_A_VALUE: list[Callable[[Any], Any]] = [
    lambda m: m.x + m.p >= 1, lambda m: m.x >= m.p, lambda m: m.p * m.x**2 <= 1,
    lambda m: m.x**m.p <= 1,
]  # fmt: skip
VALUE = "Param p has no value: set it before solving"
READ: list[Row] = [
    (lambda: tm.solve(c_svc(lambda m: m.add_component("one", pyo.SOSConstraint(var=m.w, sos=1)))),
     ValueError, "SOSConstraint cannot be read here; write a set"),
    (lambda: tm.solve(c_svc(loose)), ValueError, "alone stands in no Disjunction"),
    (lambda: tm.solve(c_svc(lambda m: m.add_component("other", pyo.Objective(expr=m.b)))),
     ValueError, "2 objectives are active"),
    (lambda: tm.solve(c_svc(lambda m: 1e151 * m.w[0] <= 1)), NumberError, "in row more"),
    (lambda: tm.solve(c_svc(lambda m: 1e300 * m.w[0] ** 2 <= 1)), NumberError, "overflow: scale"),
    (lambda: tm.solve(c_svc(lambda m: dearer(m, 1e151 * m.w[0] ** 2))), NumberError, "objective"),
    *at_scale("c_svc", "C"), *at_scale("rsvm", "norm_bound"), *at_scale("conic_sdp", "penalty"),
    *at_scale("zero_one_big_m", "penalty", big_m=5.0),
    *((lambda write=write, at=at: tm.solve(model(write, x=FREE, at=at)), NumberError,
       "no finite real number") for write, at in NOT_THERE[::2]),
    *((lambda write=write, at=at: tm.solve(
        model(x=FREE, row=lambda m: write(m) + m.y <= 3, at=at)
    ), NumberError, "no finite real number") for write, at in NOT_THERE[1::2]),
    (lambda: tm.solve(model(lambda m: m.p * m.x)), NumberError, VALUE),
    *((lambda row=row: tm.solve(model(row=row)), NumberError, VALUE) for row in WITHOUT_A_VALUE),
    (lambda: nan_in(lambda m: m.p * m.s), NumberError, "row 7: coefficient of s is nan"),
    (lambda: nan_in(lambda m: m.p * m.s * m.x[0]), NumberError, "coefficient of"),
    (lambda: nan_in(lambda m: m.s + m.p), NumberError, "constant term is nan"),
    (lambda: nan_in(lambda m: m.p * dot(1.0, m.x)), NumberError, "row 7"),
    (lambda: tm.solve(model(lambda m: (1e-170 * m.y) * (1e-170 * m.y))), NumberError,
     "objective goal .. too small for a double"),
    *((lambda kind=kind, v=v: tm.solve(model(kind=kind, x=FREE, at=v)), NumberError,
       f"x is fixed at {v}")
      for kind, v in ((pyo.Binary, 2), (pyo.NonNegativeReals, -1.0), (pyo.Integers, 2.5))),
    (lambda: tm.solve(model(x=FREE, kind=pyo.Reals - pyo.NonNegativeReals | pyo.RangeSet(3, 4, 0))),
     DomainError, "domain of x"),
    (lambda: standard_form(model(x=FREE, kind=pyo.Set(initialize=[1, 4]))), DomainError,
     "domain of x"),
    (array_with_gaps, ValueError, "domain of x[1]"),
    (lambda: standard_form(model(c=lambda m: 0.1 * m.y + 0.2 * m.y >= m.x)), InexactError,
     "row c: the coefficient of y is made of numbers"),
    *((lambda sides=sides: standard_form(matrix(sides)), ValueError,
       "must read smallest_eigenvalue >= 0") for sides in ((1, None), (None, 0), (0, 2))),
    (lambda: standard_form(matrix(entry=lambda m: m.x * m.y)), ValueError, "must be affine"),
    (lambda: psd(pyo.ConcreteModel(), "m", [[1.0, 0.0], [0.0, 1.0]]), ValueError, "needs i + 1"),
    *((lambda who=who: tm.solve(conic_sdp(beside_an_integer), who), ProblemClassError,
       "row outer beside the integer") for who in ("clarabel", "scip")),
    (lambda: tm.solve(matrix(out=lambda m: m.x**2 >= 2)), ProblemClassError,
     "semidefinite row matrix"),
    (lambda: tm.solve(matrix(kind=pyo.Integers), "clarabel"), ProblemClassError, "matrix"),
    (without_a_cone, ValueError, "no conic form: row is not convex"),
    # absolute values: one part that is not convex refuses the whole row
    (lambda: tm.solve(c_svc(lambda m: abs(m.w[0]) >= 0.5)), ProblemClassError,
     "row more: abs(w[0]) is bounded from below, which is not convex: say with a binary"),
    (lambda: tm.solve(c_svc(lambda m: (0.1, abs(m.w[0]), 0.5))), ProblemClassError, "below"),
    (lambda: tm.solve(c_svc(lambda m: dearer(m, -abs(m.w[0])))), ProblemClassError,
     "objective objective: abs(w[0]) is rewarded"),
    (lambda: tm.solve(c_svc(lambda m: abs(abs(m.w[0]) - 1) <= 1)), ProblemClassError, "not linear"),
    (lambda: tm.solve(c_svc(lambda m: abs(m.w[0]) - abs(m.w[1]) <= 0)), ProblemClassError,
     "row more: abs(w[1]) is bounded from below"),
    (lambda: tm.solve(c_svc(nan_beside_a_norm)), NumberError, "row s: coefficient of w[1] is nan"),
]  # fmt: skip


# --- families ------------------------------------------------------------------------------------


@functools.cache
def probabilities(classes: int) -> Any:
    if classes == 2:
        return tm.paths.class_probabilities(DATA, ridge=0.05, grid=4)
    data = CLASSES if classes == 3 else class_points(3, n=12, K=4)
    return tm.paths.direct_probabilities(data, ridge=0.1, grid=classes, machine="hinge")


CONFLICTS, MATRIX_SEARCH = {"method": "conflict-search"}, {"method": "matrix-search"}
FAMILIES: list[Row] = [
    # --- 0-1 loss and ramp loss
    *rows(tm.search.cone_search, DATA, penalty=1.0, intercept="free", cases=[
        ({"penalty": -1.0}, "penalty"), ({"gap": 0.0}, "gap"), ({"time_limit": 0.0}, "time_limit"),
        ({"cell_limit": -1}, "cell_limit"), ({"intercept": "fre"}, "intercept"),
    ]),
    *rows(tm.search.cone_search, tm.TrainingData(DATA.X * 1e100, DATA.y), penalty=1.0,
          intercept="free", cases=[({}, "rescale")]),
    *rows(tm.search.conflict_search, DATA, penalty=1.0, intercept="free", cases=[
        ({"penalty": 0.0}, "penalty"), ({"gap": 0.0}, "gap"), ({"time_limit": -1.0}, "time_limit"),
        ({"intercept": "loose"}, "intercept"), ({"workers": 0}, "workers"),
        ({"workers": 2, "step_limit": 10}, "step_limit"),
        ({"workers": 2, "scheduler": "tcp://nowhere:1"}, "scheduler"),
    ]),
    *rows(zero_one_incumbent, DATA, penalty=1.0, intercept="free",
          cases=[({"penalty": 0.0}, "penalty"), ({"intercept": "any"}, "intercept")]),
    *rows(tm.search.least_errors, DATA, cases=[({"margin": 0.0}, "margin")]),
    *rows(changed(ZERO_ONE), **CONFLICTS, cases=[
        ({"options": {"workers": 0}}, "workers must be 1 or more"),
        ({"options": {"scheduler": 8786}}, "scheduler must be an address"),
        ({"options": {"scheduler": "tcp://HOST:1", "workers": 2}}, "with a scheduler all of its"),
        ({"options": {"starts": 3}}, "starts"), ({"solver": "scip"}, "needs no solver"),
    ]),
    *rows(changed(ZERO_ONE, lambda m: m.margin[0].deactivate()), cases=[(CONFLICTS, "this edit")]),
    *[row for size in (1e120, 1e-120)
      for row in rows(changed(ZERO_ONE, lambda m, size=size: size * m.w[0] <= size),
                      cases=[(CONFLICTS, "beyond 1e+100 or within 1e-100")])],
    *rows(changed(functools.partial(ZERO_ONE, slack_bounds="derived"), lambda m: m.w[0].setlb(3.0)),
          cases=[(CONFLICTS, "slack_bounds")]),
    # --- rigorous SVM
    *rows(tm.search.decomposition, DATA, norm_bound=1.0, cases=[
        ({"norm_bound": 0.0}, "norm_bound must be a positive"),
        ({"working_set": 3}, "working_set must be even and at most n = 10, got 3"),
        ({"working_set": 0}, "working_set must be a whole number of at least 1"),
        ({"start": np.zeros(9)}, "start must be an array (10,), got shape (9,)"),
        ({"start": "cold"}, "start must be an array (10,)"),
        ({"start": np.full(10, 1.1)}, "start must lie in [0, 1], got 1.1 at position 0"),
        ({"start": np.full(10, NAN)}, "start must lie in"),
        ({"tolerance": 0.0}, "tolerance must be"), ({"tolerance": 2.0}, "must lie in (0, 1]"),
        ({"steps": 0}, "steps must be a whole"), ({"time_limit": -1.0}, "time_limit must be"),
    ]),
    *rows(tm.search.solve_rsvm, DATA, norm_bound=1.0, cases=[
        *[({"norm_bound": bad}, "norm_bound must") for bad in (0.0, NAN, "2")],
        ({"method": "segment"}, "method must be one of auto"),
        ({"start": [0.5]}, "start must have shape (10,)"), ({"start": ["a", "b"]}, "start must be"),
        ({"start": [1.5] * 10}, "start must lie in [0, 1], got 1.5 at position 0"),
    ]),
    *rows(tm.paths.rsvm_path, DATA, norm_bounds=[1.0], cases=[
        ({"norm_bounds": []}, "is empty"), ({"norm_bounds": [1.0, -1.0]}, "norm_bound must"),
        ({"time_limit": 0.0}, "time_limit must be a positive"),
    ]),
    *rows(tm.theory.norm_limit, DATA, cases=[({"time_limit": 0}, "time_limit")]),
    *rows(rsvm_at_limit, DATA, 1.0, replace(tm.theory.norm_limit(DATA), value=NAN),
          cases=[({}, "no value")]),
    *rows(changed(lambda: tm.rsvm(DATA, norm_bound=0.7), lambda m: m.w[0].fix(0.0)),
          cases=[({"method": "segments"}, "rsvm_dual_perspective as it was built")]),
    *rows(changed(lambda: tm.rsvm(DATA, norm_bound=1.0, intercept="penalised")),
          cases=[({"method": "segments"}, "take direct")]),
    # --- conic estimator
    *rows(tm.paths.conic_path, ORIGIN, cases=[
        ({"penalties": [1.0, 0.0]}, "must be a positive"), ({"penalties": []}, "is empty"),
        ({"budgets": [0.2, 0]}, "hard-margin"), ({"budgets": [1.5]}, "budget must lie in (0, 1]"),
        ({"budgets": [-0.1]}, "must be a"), ({"penalties": [1], "budgets": [0.2]}, "not both"),
        ({"penalties": [1.0], "intercept": "free"}, "conic_sdp_dual with intercept_bound"),
        ({"penalties": [1.0], "time_limit": -1.0}, "time_limit"),
        ({"penalties": [1.0], "solver": "clarable"}, "did you mean clarabel"),
        ({"budgets": [0.5], "intercept": "none"}, "2 of 4 points are 0"),
        *[({"penalties": [1.0], "tolerance": bad}, "tolerance must lie above 0")
          for bad in (0.0, 1e-3)],
    ]),
    *rows(tm.paths.penalty_grid, DATA, cases=[
        ({"count": 1}, "count must be a whole"), ({"intercept": "free"}, "needs intercept"),
        ({"budgets": (0.1, 0.5)}, "must fall"), ({"budgets": (0.5, 0.0)}, "hard-margin"),
    ]),
    # --- matrices of bounded rank
    *rows(tm.search.matrix_alternating, MATRIX, ridge=0.5, shape="2x3", rank=1, cases=[
        ({"starts": 0}, "starts must be a whole"), ({"rank": 3}, "a whole number from 1 to 2"),
        ({"shape": "3x3"}, "has 9 entries"), ({"ridge": 0}, "ridge must be a positive"),
        ({"time_limit": 0}, "time_limit must be"), ({"intercept": "all"}, "must be one of"),
    ]),
    *rows(tm.search.matrix_search, MATRIX, ridge=0.5, cases=[
        ({"shape": "2x3", "rank": 2}, "rank 2 of a matrix 2x3 is not searched"),
        ({"shape": "6x1", "rank": 1}, "of a matrix 6x1"),
    ]),
    *rows(changed(BILINEAR, lambda m: m.w[0].fix(0.0)), cases=[(MATRIX_SEARCH, "as it was built")]),
    *rows(changed(functools.partial(BILINEAR, rank=2)), cases=[(MATRIX_SEARCH, "it takes rank 1")]),
    # --- truncated loss of several classes
    *rows(tm.search.truncated_search, CLASSES, ridge=0.1, truncation=-0.5, cases=[
        ({"gap": -1.0}, "gap"), ({"node_limit": -5}, "node_limit"), ({"time_limit": -1.0}, "time"),
    ]),
    *rows(tm.search.truncated_dca, CLASSES, ridge=0.1, truncation=-0.5, cases=[
        ({"ridge": 0.0}, "ridge"), ({"truncation": 0.1}, "truncation"), ({"seed": -1}, "seed"),
        ({"class_weight": [1.0, 0.0, 1.0]}, "class_weight"), ({"intercept": "some"}, "intercept"),
        ({"class_weight": [1.0, 1.0]}, "class_weight"), ({"starts": 0}, "starts"),
        ({"time_limit": 0.0}, "time_limit"),
    ]),
    *rows(tm.search.truncated_dca, tm.MulticlassData(np.zeros((6, 1600)), [0, 1, 2] * 2),
          ridge=0.1, truncation=0.0, cases=[({}, "data: 3 classes in 1600 dimensions")]),
    # --- extended nu-SVC and the robust one
    *rows(tm.search.extended_nu_local, DATA, nu=0.1, cases=[
        ({"update": "newton"}, "update"), ({"starts": 0}, "at least 1"), ({"starts": []}, "empty"),
        ({"starts": [[0.0, 0.0]]}, "not all 0"), ({"starts": [[1.0]]}, "2 finite numbers"),
        ({"nu": tm.theory.nu_range(DATA).nu_bar}, "at nu_bar"),
        ({"nu": 1.05 * tm.theory.nu_range(DATA).nu_bar}, "extended_nu_svc_ball"),
    ]),
    *rows(tm.search.extended_nu_local, SEPARABLE, nu=0.2, cases=[({}, "are separable")]),
    *rows(tm.search.extended_nu_local, tm.TrainingData(np.hstack([DATA.X, DATA.X]), DATA.y), nu=0.1,
          cases=[({}, "affinely dependent")]),
    *[row for call in (extended_robust_svc, tm.search.robust_dca)
      for row in rows(call, DATA, nu=0.6, mu=0.2, cases=[
        ({"mu": 0.25}, "mu must be a whole number of points"), ({"mu": 0.6}, "mu must be below nu"),
        ({"nu": 1.5}, "nu must lie in"), ({"mu": -0.1}, "mu must be a positive"),
        ({"nu": 0.9, "intercept": "free"}, "the risk has no end along b"),
    ])],
    *rows(tm.search.robust_dca, DATA, nu=0.6, mu=0.2, cases=[
        ({"starts": 0}, "starts must be a whole"), ({"seed": "a"}, "seed must be a whole number"),
        ({"time_limit": 0.0}, "time_limit must be"), ({"mu": "one"}, "a number or a fraction"),
        ({"mu": "1/0"}, "mu must be a number"), ({"mu": 0.25}, '2.5 points: write mu="2/10"'),
    ]),
    # --- class probabilities
    *rows(tm.paths.class_probabilities, DATA, ridge=0.05, grid=3, cases=[
        ({"ridge": 0}, "ridge"), ({"grid": 0}, "grid"), ({"grid": []}, "grid"),
        ({"grid": [0.5, 1.0]}, "pi must lie strictly"), ({"grid": "0.5"}, "grid"),
        ({"intercept": "some"}, "intercept"), ({"method": "sgd"}, "method"),
        ({"time_limit": 0}, "time"), ({"method": "libsvm", "intercept": "none"}, "free intercept"),
    ]),
    *rows(tm.paths.direct_probabilities, CLASSES, ridge=0.1, grid=4, cases=[
        ({"grid": 2}, "a whole number of at least 3"), ({"grid": 1000}, "for 3 classes has"),
        ({"machine": "exactly"}, "machine must be one of"), ({"time_limit": -1.0}, "time_limit"),
        ({"machine": "hinge", "truncation": -0.5}, "truncation belongs to"),
        ({"truncation": -0.7}, "truncation must lie in [-0.5, 0] for 3 classes"),
        ({"ridge": -1.0}, "ridge"), ({"intercept": "some"}, "intercept"),
    ]),
    *rows(rainbow_cells, simplex_grid(3, 4), np.zeros((1, 15), dtype=np.int64),
          cases=[({}, "has weight 0 at grid point")]),
    # --- gradient descent
    *[row for call in (functools.partial(tm.search.sgd, seed=0), sgd_rate)
      for row in rows(call, DATA, ridge=0.05, steps=5, cases=[
        ({"ridge": 0.0}, "ridge must be a positive"), ({"rule": "prnted"}, "did you mean printed"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ])],
    *rows(tm.search.sgd, DATA, ridge=0.05, steps=5, seed=0, cases=[
        ({"seed": -1}, "seed must be"), ({"average": "half"}, "average must be one of all, last"),
        ({"time_limit": 0}, "time_limit must be"),
    ]),
    *rows(changed(lambda: tm.soft_margin_svc(DATA, ridge=0.1, intercept="none")), method="sgd",
          cases=[({"options": {"steps": -2}}, "steps must be"), ({"seed": -2}, "seed must be")]),
    *rows(changed(lambda: tm.soft_margin_svc(DATA, ridge=0.1)),
          cases=[({"method": "sgd"}, "build with intercept=none, not 'free'")]),
    *rows(sgd_study, DATA, ridge=0.05, steps=10, cases=[({"seeds": []}, "at least one")]),
    *rows(tm.search.sgd, [[1.0]], ridge=0.1, steps=5, seed=0, error=TypeError,
          cases=[({}, "sgd takes TrainingData or GramData")]),
    *rows(tm.paths.direct_probabilities, [[1.0]], ridge=0.1, grid=3, error=TypeError,
          cases=[({}, "takes MulticlassData")]),
    *rows(tm.search.truncated_dca, [[1.0]], ridge=0.1, truncation=0.0, error=TypeError,
          cases=[({}, "takes MulticlassData, got list")]),
    # --- results that are read, and a figure
    (lambda: probabilities(2).probabilities(np.zeros((3, 5))), ValueError, "shape"),
    (lambda: probabilities(2).probabilities([[NAN, 0.0]]), ValueError, "nan"),
    (lambda: probabilities(2).read(np.zeros((3, 3))), ValueError, "shape"),
    (lambda: probabilities(2).read(np.full((1, 4), INF)), ValueError, "finite"),
    (lambda: probabilities(3).probabilities(np.zeros((4, 3))), ValueError, "shape (m, 2)"),
    (lambda: probabilities(3).probabilities(np.full((1, 2), NAN)), ValueError, "X holds nan"),
    (lambda: simplex_figure(probabilities(3), [0.0, 0.0], [0.5, 0.5]), ValueError,
     "three positive numbers"),
    (lambda: simplex_figure(probabilities(4), np.zeros(2)), ValueError, "4 classes is no triangle"),
]  # fmt: skip


# --- files ---------------------------------------------------------------------------------------

SDPA = "1\n1\n{}\n1.0\n{}"
UNREADABLE = [
    (".gms", "", "must end in .lp, .mps"),
    (".lp", "x + y >= 1", "begins with minimize"),
    (".lp", "min x\nst\n x >= \nend", "'its end' where a number belongs"),
    (".lp", "min x\nsos\n s1: x:1", "section 'sos'"),
    (".lp", "min x\nst\n c: x + [ x^3 ] >= 1\nend", "'3' where '2' belongs"),
    (".lp", "min x\nst\n c: x >= 1\nbounds\n x <= -1\nend", "no lower bound"),
    (".lp", "min x\nst\n i: z = 1 -> x <= 5\nbinary\n z\nend", "'-' behind the side"),
    (".lp", "min x\nst\n c: x + y - >= 5\nend", "'>=' where a term belongs"),
    (".lp", "min 2 x y\nst\n c: x >= 1\nend", "'y' where a sign belongs"),
    (".lp", "min x\nst\n c: x + y >= 1e30\nend", "row c .. between inf"),
    (".lp", LP + "binary\n y\n", "'binary' after its end"),
    (".lp", "max x\nmin y\nend", "a second minimise"),
    (".lp", "min x\nst\n c: x >= 1\ngenerals\n x >= 3\nend", "'>=' where the name"),
    (".lp", "min x\nst\n c: x >= 1\nbinary\n x\nbounds\n x <= 5\nend", "state bounds before"),
    (".lp", "min x\nst\n c: inf x >= 1\nend", "'inf', a number"),
    (".lp", "min x\nst\n 4 >= x\n - y >= 2\nend", "may be two rows"),
    (".lp", "min [ x^2 y^2 ] / 2\nend", "'y' where a sign belongs"),
    (".mps", MPS.replace("ENDATA\n", ""), "no ENDATA"),
    (".mps", MPS.replace("R gain 7", "gain 7"), "two sets of RHS, one without a name and R"),
    (".mps", MPS.replace("x(1) y 1.5", "x(1) y 1.5\n y x(1) 1.5"), "y, x(1) twice"),
    (".mps", MPS.replace("QUADOBJ", "QMATRIX"), "both triangles are stated alike"),
    (".mps", MPS.replace("QUADOBJ", "QCMATRIX idle"), "idle, which is no row with a side"),
    (".mps", MPS.replace("x(1) second 1", "k gain 1"), "k of the MPS file is inside of INTORG"),
    (".mps", MPS.replace("gain 7", "gain 1e-400"), "1e-400, which is 0 in doubles"),
    (".mps", MPS.replace("x(1) gain 2", "x(1) gain nan"), "objective has nan"),
    (".mps", MPS.replace("BV B u", "SC B u 3"), "'SC'"),
    (".mps", MPS.replace(" y gain", " y loss"), "no row 'loss'"),
    (".mps", MPS.replace(" LO B k -2\n", ""), "k is an integer without bounds"),
    (".mps", MPS.replace("BOUNDS", "INDICATORS"), "'INDICATORS'"),
    (".cbf", CBF.replace("Q 3", "EXP 3"), "cone EXP"),
    (".cbf", CBF.replace("OBJACOORD\n3", "OBJACOORD\n4"), "3 lines and says 4"),
    (".cbf", CBF.replace("PSDCON", "POWCONES"), "POWCONES"),
    (".cbf", CBF.replace("Q 3", "Q 2"), "not the size"),
    (".cbf", CBF.replace("5 0 1 0 0.5", "6 0 1 0 0.5"), "outside of its own sizes"),
    (".cbf", CBF.replace("5 0 1 0 0.5", "-1 0 1 0 0.5"), "the negative place -1"),
    (".cbf", CBF.replace("0 1 0 0.5\nOBJA", "0 2 0 0.5\nOBJA"), "the place 2 outside"),
    (".cbf", CBF.replace("2 0.5\nOBJB", "3 0.5\nOBJB"), "the place 3 outside"),
    (".cbf", CBF.replace("1 1.0\n2 0.5", "0 1.0\n2 0.5"), "entry 0 twice"),
    (".cbf", CBF.replace("1 2 1.0\n2 0", "0 1 1.0\n2 0"), "entry 0 1 twice"),
    (".cbf", CBF.replace("0 1 1 0.75", "0 0 1 0.75"), "entry 0 1 0 twice"),
    (".cbf", CBF.replace("MIN", "MINIMIZE"), "OBJSENSE of the CBF file is one word"),
    (".cbf", CBF.replace("VER\n1", "VER\n5"), "VER of the CBF file is one word"),
    (".cbf", CBF.replace("-3.0", "-3_0"), "'-3_0' where a number"),
    (".cbf", CBF.replace("L+ 1", "L+ 1 1"), "the line 'L+ 1 1'"),
    (".cbf", CBF + "OBJBCOORD\n2.0\n", "OBJBCOORD twice"),
    (".dat-s", SDPA.format("-2", "1 1 1 2 1.0\n"), "outside its sizes"),
    (".dat-s", SDPA.format("2", "1 1 1 2 1.0\n1 1 2 1 1.0\n"), "1 1 2 1 twice"),
    (".dat-s", SDPA.format("2", "1 1 1 2.0 1.0\n"), "'2.0' where an integer"),
    (".dat-s", SDPA.format("2.5", ""), "lines of four integers"),
    (".dat-s", SDPA.format("2", "1 1 1 3 1.0\n"), "outside its sizes"),
    (".task", "no task", "mosek does not read"),
]


def section_name() -> Any:
    """A line of such a name alone begins a section, and the column would be no integer."""
    m = model()
    m.st = pyo.Var(within=pyo.Binary)
    m.goal.expr += m.st
    return m


def one_name() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(["a b", "a_b"], bounds=(0, 1))
    m.goal = pyo.Objective(expr=m.x["a b"] - 2 * m.x["a_b"])
    return m


def cancelling(m: Any) -> Any:
    """1e16 x + x - 1e16 x, which is x."""
    return 1e16 * m.x + m.x - 1e16 * m.x


def one_row(coefficient: float, side: float, bound: float = 1.0, cost: float = 1.0) -> Any:
    return model(
        lambda m: -cost * (m.x + m.y), x=(0, bound), y=(0, bound),
        row=lambda m: coefficient * (m.x + m.y) <= side,
    )  # fmt: skip


def lost_block() -> Any:
    m = one_row(1.0, 1.5)
    psd(m, "block", [[m.x + 1], [1e-13 * m.y, m.y + 1]])
    return m


FILES: list[Row] = [
    *((lambda s=suffix, t=text: read(s, t), ValueError, said) for suffix, text, said in UNREADABLE),
    (lambda: tm.read_model("absent.lp"), FileNotFoundError, "there is no file"),
    (lambda: export(conic_sdp, ".lp"), ValueError, "ptf, task, cbf"),
    (lambda: export(c_svc, ".gms"), ValueError, "must end in .lp, .mps, .nl"),
    (lambda: export(section_name, ".lp"), ValueError, "st is an integer whose name begins a sec"),
    (lambda: export(one_name, ".lp"), ValueError, "have one name in a lp file: rename one, or"),
    (lambda: export(lambda: model(x=(0, 1e20)), ".mps"), ValueError, "the bound 1e .. for none"),
    (lambda: export(lambda: model(row=lambda m: 2 * m.x >= -1e25), ".lp"), ValueError,
     "the side -1e .. for none"),
    (lambda: export(lambda: model(row=lambda m: cancelling(m) + m.y**2 <= 3), ".lp"), ValueError,
     "row has terms that cancel, .. or write mps"),
    (lambda: export(lambda: model(cancelling), ".lp"), ValueError, "goal has terms that cancel"),
    # by MOSEK
    *((lambda n=numbers: export(lambda: one_row(*n), ".cbf"), NumberError, said)
      for numbers, said in (
          ((1e-12, 1e-12), "drop or reject .. 1e-12 of x in"),
          ((1e14, 1e17), "upper side 1e+17 of .. as infinite"),
          ((1.0, 1.0, 2e16), "upper bound 2e+16 of x as infinite"),
          ((1.0, 1.5, 1.0, 1e18), "mosek refuses the model: .. 1.0e+18 .. 'x'"),
      )),
    (lambda: export(lost_block, ".cbf"), NumberError, "took 2 of 2 .. and 2 of 3 of the cones"),
    (lambda: export(lambda: tm.zero_one_bilinear(DATA, penalty=1.3), ".ptf"), ProblemClassError,
     "mosek cannot take NONCONVEX models .. scip"),
    (lambda: export(lambda: conic_sdp(beside_an_integer), ".ptf"), ProblemClassError, "outer"),
    (lambda: export(lambda: with_more(model(at=0.0), lambda m: m.y.fix(0.0)), ".ptf"),
     ProblemClassError, "mosek needs a variable that is not fixed"),
]  # fmt: skip


# --- what is asked -------------------------------------------------------------------------------


def abstract() -> pyo.AbstractModel:
    """Without a common point, were it constructed."""
    m = pyo.AbstractModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(rule=lambda m: m.x >= 2)
    return m


OTHERS = {"str": "c_svc", "TrainingData": DATA, "an abstract model": abstract(), "int": 3}
VERBS: dict[str, Callable[[Any], Any]] = {
    "solve": tm.solve, "explain_infeasible": tm.explain_infeasible, "show": tm.show,
    "rederive": tm.rederive, "export": lambda what: tm.export(what, "model.lp"), "diff": tm.diff,
}  # fmt: skip


def searched(build: Any = ZERO_ONE, **options: Any) -> Any:
    return tm.solve(build(), method="branch-and-bound", options=options)


def locked(m: Any) -> Any:
    """A rule that holds what does not travel."""
    lock = threading.Lock()
    m.more = pyo.Constraint(rule=lambda m: m.b >= float(lock.locked()))


def wrong_nu() -> Any:
    built = tm.nu_svc(tm.TrainingData([[0.0], [1.0], [2.0], [3.0]], [-1, 1, 1, 1]), nu=0.5)
    built.nu = 0.75
    return built


def far(where: str) -> Any:
    return model(
        lambda m: m.y**2 - m.x, x=(0, 1e25 if where == "bound" else None),
        row=lambda m: m.x + m.y <= (1e25 if where == "side" else 3.0),
    )  # fmt: skip


def live(**how: Any) -> Any:
    return LiveLP(tm.extended_nu_svc_linearised(DATA, nu=0.1, w_ref="mean_difference"), **how)


def exponential(goal: Any = lambda m: m.x**2 + m.y, **how: Any) -> Any:
    return tm.solve(model(goal, **{"x": FREE, "y": FREE} | how), "clarabel")


def compared(row: str, exact: str, words: dict[str, Any], own: dict[str, Any]) -> Any:
    return tm.compare(MATRICES, [(row, words | own)], exact=exact, parameters=words)  # type: ignore[arg-type]


ASKED: list[Row] = [
    *((lambda verb=verb, other=other: VERBS[verb](OTHERS[other]), TypeError,
       f"{verb}() takes a Pyomo ConcreteModel .. got {other}")
      for verb, other in zip(VERBS, cycle(OTHERS))),
    (lambda: tm.diff(c_svc(), "c_svc"), TypeError, "for `edited`, got str"),  # type: ignore[arg-type]
    (lambda: tm.explain_infeasible(c_svc()), ValueError, "has a feasible point"),
    *((lambda v=v: tm.show(c_svc(), rows=v), ValueError, "rows must be a whole number")
      for v in (-1, 1.5, True)),
    (lambda: tm.same_model(model(), 3), TypeError, "`second`, got int"),
    (lambda: tm.same_model(None, model()), TypeError, "`first`, got NoneType"),
    (lambda: tm.same_model(model(), model(), tolerance=-1), ValueError, "a number from 0 to 1"),
    (lambda: tm.same_model(model(), model(curve=lambda m: pyo.exp(m.x) <= 2)), ValueError, "curve"),
    # solvers, methods, limits
    (lambda: searched(c_svc), ValueError, "no integer variables"),
    (lambda: searched(no_such=1), ValueError, "has no option 'no_such'"),
    *((lambda v=v: searched(node_limit=v), ValueError, "node_limit must be a whole")
      for v in (0, 1.5, True, "many")),
    *((lambda v=v: tm.solve(c_svc(), prove=v), ValueError, "prove must be")
      for v in (-1.0, 0, INF, "x")),
    *((lambda s=solver, w=words: tm.solve(c_svc(), s, **w), ValueError, said)
      for solver, words, said in (
          ("auto", {"absolute_gap": -1.0}, "absolute_gap"), ("scpi", {}, "scpi"),
          ("auto", {"method": "brnch"}, "brnch"), ("auto", {"time_limit": 0}, "must be positive"),
          ("clarabel", {"second_solver": "scpi"}, "did you mean scip"),
          ("clarabel", {"second_solver": "clarabel"}, "is the first solver"),
          ("clarabel", {"second_solver": "auto"}, "name a solver"),
          ("auto", {"method": "alternating"}, "c_svc has no method 'altern"),
      )),
    (lambda: tm.solve(tm.max_margin_svc(DATA), "clarabel", second_solver="highs"),
     ProblemClassError, "highs cannot take SOCP"),
    (lambda: tm.solve(conic_sdp(), "highs"), ProblemClassError, "cannot take SDP .. clarabel"),
    (lambda: tm.solve(truncated(), "clarabel"), ProblemClassError, "cannot take MIQP .. scip"),
    (lambda: tm.solve(model(lambda m: m.x**2 + m.x * m.y + m.y**2, kind=pyo.Integers), "highs"),
     ProblemClassError, "highs cannot take this MIQP model: its objective has products .. scip"),
    (lambda: tm.solve(tm.c_svc(tm.TrainingData([[1e-10], [-2e-10]], [1, -1]), C=1.0), "highs"),
     NumberError, "highs would silently drop .. w[0] in row margin[0]"),
    *((lambda s=solver, w=where: tm.solve(far(w), s), NumberError, f"upper {where} 1e+25 of")
      for solver, where in zip(("highs", "clarabel", "scip", "scs", "gurobi", "piqp"),
                               cycle(("bound", "side"))) if SOLVERS[solver].installed),
    (lambda: tm.nu_svc(wrong_nu().origin.data, nu=0.6), ValueError, "(0, 0.5] .. unbounded"),
    (lambda: tm.solve(wrong_nu()), ValueError, "nu must lie in (0, 0.5]"),
    *rows(changed(BILINEAR), method="alternating",
          cases=[({"options": {"starts": 0}}, "starts"), ({"seed": -1}, "seed")]),
    # starts
    (lambda: started([1.0]), TypeError, "a result of solve .. or arrays .. got list"),
    *((lambda start=start: started(start), ValueError, said) for start, said in (
        ({"w": [NAN, 0.0]}, "w[0] must be a finite number"), ({"b": None}, "b must be a finite"),
        ({"w": "abc"}, "w must be an array of numbers, got str"),
        ({1: [2.0]}, "the model has no variable 1"), ({"v": 1.0}, "no variable 'v'"),
        ({"b": 1.0, "w": [1.0]}, "w has 2 elements, got 1"),
    )),
    (lambda: tm.solve(tm.c_svc_dual(DATA, C=1.0), warm_start={"alpah": 1.0}), ValueError,
     "no variable 'alpah'; did you mean alpha"),
    # the exponential cone
    (lambda: exponential(row=lambda m: pyo.exp(m.x) >= 2), ProblemClassError,
     "row is not convex by the exponential cone; installed solvers that can: scip"),
    (lambda: exponential(lambda m: pyo.exp(pyo.exp(m.x)) - m.x), ProblemClassError, "goal is not"),
    (lambda: exponential(lambda m: pyo.sin(m.x), x=(0, 1)), ProblemClassError,
     "goal is not quadratic; installed solvers that can: scip"),
    *((lambda s=solver: tm.solve(model(lambda m: pyo.exp(m.x)), s), ProblemClassError,
       f"{solver} cannot take .. : clarabel, scip")
      for solver in ("highs", "scs", "piqp") if SOLVERS[solver].installed),
    (lambda: exponential(lambda m: pyo.exp(m.y), x=(1, 5), kind=pyo.Integers,
                         more=lambda m: m.y >= 0.5 * m.x), ProblemClassError,
     "no integers beside it; installed .. : scip"),
    # live linear programs
    (lambda: LiveLP(c_svc()), ProblemClassError, "must be an LP and this model is of class QP"),
    (lambda: live(form="both"), ValueError, "one of auto, primal, dual, got 'both'"),
    (lambda: live(options={"presolv": "off"}).resolve(), ValueError, "did you mean presolve"),
    (lambda: live(options={"time_limit": "fast"}).resolve(), ValueError, "cannot take 'fast'"),
    (lambda: live().resolve(time_limit=0), ValueError, "time_limit must be positive"),
    (lambda: LiveLP(model(small=lambda m: m.x + 1e-12 * m.y <= 1)), NumberError,
     "1e-12 of y in row small"),
    (lambda: LiveLP(model(x=POSITIVE, y=POSITIVE, d=lambda m: 0.1 * (m.x + 3 * m.y) >= 0.7)),
     NumberError, "row d has a coefficient that no double is"),
    # in another process, before one is started
    *((lambda w=word, v=value: solve_isolated(c_svc(), **{w: v}), ValueError,
       f"{word} must be a positive number")
      for word, value in (("grace", 0), ("deadline", -1.0), ("memory_limit", NAN), ("grace", INF),
                          ("deadline", True), ("memory_limit", "1"))),
    (lambda: solve_isolated(c_svc(), time_limit=0), ValueError, "time_limit must be pos"),
    (lambda: solve_isolated(c_svc(), treads=2), TypeError, "unexpected keyword argument 'treads'"),
    (lambda: solve_isolated(c_svc(locked), "highs"), ValueError,
     "does not travel to another process: .. _thread.lock"),
    # comparisons, where some rows would bound another problem than the exact one
    *rows(solvers_named, cases=[
        ({"names": names}, said) for names, said in (
            ("highs,auto", "auto is no solver beside"), ("highs,highs", "highs is named twice"),
            ("highs,higs", "did you mean highs"), ((), "name at least one solver"),
        )
    ]),
    *rows(tm.compare, DATA, ["conic_sdp"], cases=[
        ({"solver": "highs", "solvers": "all"}, "either solver"),
        ({"solver": "highs,scip"}, "several solvers are asked with solvers="),
        ({"solvers": "all", "include_uncertified": True}, "include_uncertified is about gaps"),
    ]),
    (lambda: tm.compare(DATA, ["conic_sdp"], exact=tm.solve(c_svc()), solvers="all"), ValueError,
     "cannot be solved again"),
    *rows(tm.compare, tm.GramData(DATA.X @ DATA.X.T, DATA.y), [("c_svc", {"C": 1.0})],
          cases=[({"solvers": "all"}, "c_svc reads TrainingData, not GramData")]),
    *((lambda own=own: compared("matrix_svc_projection", "matrix_svc_bilinear",
                                {"ridge": 0.5, "shape": "2x2", "rank": 1}, own),
       ValueError, "it would bound another problem") for own in ({"rank": 2}, {"shape": "1x4"})),
    (lambda: compared("rsvm_dual", "rsvm", {"norm_bound": 1.0}, {"norm_bound": 0.2}), ValueError,
     "rsvm_dual has norm_bound=0.2 and rsvm"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "said"), [*KERNEL, *READ, *FAMILIES, *FILES, *ASKED])
def test_it_is_refused_by_name(
    call: Callable[[], Any], error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: Any, **more: Any) -> Any:
        raise AssertionError("a process was started")

    monkeypatch.setattr("tightmargin.solvers.isolated.subprocess.Popen", never)
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert all(part in message for part in said.split(" .. ")), message
    assert "\n" not in message


def test_without_a_package_or_room_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"penalty": 1.0, "intercept": "free"}
    for module, search in (
        (cones_run, tm.search.cone_search),
        (conflict_search_search, tm.search.conflict_search),
    ):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
        with pytest.raises(ValueError, match="numba"):
            search(DATA, **words, compiled=True)
    monkeypatch.setattr(packings_signed_points, "LARGEST", 9)
    with pytest.raises(ValueError, match="at most 9, got 10"):
        tm.search.conflict_search(DATA, **words)
    for name, info in SOLVERS.items():
        if "SDP" in info.classes:
            monkeypatch.setitem(SOLVERS, name, replace(info, package="no_such_package"))
    with pytest.raises(SolverNotInstalledError, match=r"no installed solver takes SDP.*clarabel"):
        tm.compare(DATA, [("conic_sdp", {})], parameters={"penalty": 1.0}, solvers="all")
