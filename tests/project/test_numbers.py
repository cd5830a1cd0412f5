"""NaN, infinity, tiny and huge numbers: refused by name, or never certified wrongly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.cases import CASES, Case, every_case
from tests.inside.solvers import SOLVERS, primal_residual, standard_form
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE, GramData, TrainingData, psd
from tightmargin.solvers import NumberError, ProblemClassError, RefusedError, Verdict, solve

NAN, INF = math.nan, math.inf
TRUTH = -1.5  # of small_lp: x_0 + x_1 <= 1.5 alone matters
SOLVER_NAMES = tuple(SOLVERS)


def small_lp(a: float = 1.0, b: float = 1.0, side: float = 1.5) -> pyo.ConcreteModel:
    """min -x_0 - x_1 over three rows and the box [0, 10]^2; `a`, `b`, `side` make up the first."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.first = pyo.Constraint(expr=a * m.x[0] + b * m.x[1] <= side)
    m.second = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 8)
    m.third = pyo.Constraint(expr=3 * m.x[0] + m.x[1] <= 9)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


def box_qp() -> pyo.ConcreteModel:
    """min 1/2 (x_1^2 - x_0^2) over [-1, 1]^2: -1/2 at x = (+-1, 0), and 0 is a saddle."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.objective = pyo.Objective(expr=0.5 * (m.x[1] ** 2 - m.x[0] ** 2))
    return m


def is_honest(model: pyo.ConcreteModel, solver: str, truth: float) -> bool:
    """Refused with a reason, not certified, or right."""
    try:
        result = solve(model, solver)
    except RefusedError:
        return True
    if result.certificate.verdict is Verdict.NOT_CERTIFIED:
        return True
    return result.objective == pytest.approx(truth, abs=1e-5 * max(1.0, abs(truth)))


@pytest.mark.parametrize("solver", SOLVER_NAMES)
def test_huge_and_tiny_numbers_are_never_certified_wrongly(solver: str) -> None:
    """size * x_0 + x_1 <= 1.5 leaves x_0 <= 1.5 / size, and x_1 <= 1.5; -1e22 x_0 leaves x_0 = 1.5.

    A solver that gives up must not raise as it likes.
    """
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    for size in (1e3, 1e7, 1e10, 1e14, 2e15):
        assert is_honest(small_lp(a=size), solver, TRUTH), size
    for size in (1e-6, 1e-9, 1e-10, 1e-12):
        assert is_honest(small_lp(size, size, 1.5 * size), solver, TRUTH), size
    assert is_honest(spoilt("cost", -1e22), solver, -1.5e22)


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("size", [1e-9, 1e-12, 2e15])
def test_coefficients_a_solver_loses_are_refused_by_name(solver: str, size: float) -> None:
    with pytest.raises(NumberError) as refusal:
        solve(small_lp(size, size, 1.5 * size), solver)
    sentence = str(refusal.value)
    assert sentence.startswith(
        f"{solver} would silently drop or reject the coefficient {size:g} of"
    )
    assert "x[0] in row first" in sentence
    assert "normalise=zscore" in sentence
    assert "clarabel" in sentence


def test_auto_moves_on_to_a_solver_that_keeps_the_coefficients() -> None:
    result = solve(small_lp(1e-10, 1e-10, 1.5e-10))
    assert result.solver != "highs"
    assert result.objective == pytest.approx(TRUTH, abs=1e-5)


def test_rounding_left_by_preprocessing_is_no_reason_to_refuse() -> None:
    """1e-17 beside 1 in a row is a zero that centring did not quite reach."""
    for solver in ("highs", "clarabel", "scip"):
        assert solve(small_lp(a=1e-17, side=3.0), solver).objective == pytest.approx(-5.0, abs=1e-6)


def test_row_scaled_residual_sees_what_an_absolute_one_does_not() -> None:
    """A point that ignores a row of size 1e-10 violates it by 3.5e-10, and by 70 % of its terms."""
    size = 1e-10
    residual, where = primal_residual(
        standard_form(small_lp(size, size, 1.5 * size)), np.array([2.0, 3.0])
    )
    assert where == "row first"
    assert residual == pytest.approx(3.5 / 5.0, rel=1e-9)


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_nonconvex_objectives_are_refused_where_convexity_is_assumed(solver: str) -> None:
    with pytest.raises(ProblemClassError, match=f"{solver} cannot take NONCONVEX models"):
        solve(box_qp(), solver)
    assert solve(box_qp()).objective == pytest.approx(-0.5, abs=1e-6)
    assert solve(box_qp()).solver == "scip"


# --- every other place a number can be -----------------------------------------------------------


def spoilt(place: str, bad: float) -> pyo.ConcreteModel:
    model = small_lp()
    model.p = pyo.Param(initialize=1.0, mutable=True, within=pyo.Any)
    x = model.x
    match place:
        case "side":
            model.fourth = pyo.Constraint(expr=x[0] <= model.p)
        case "bound":
            x[0].setub(model.p)
        case "cost":
            model.objective.expr = bad * x[0] - x[1]
        case "constant":
            model.objective.expr = bad - x[1]
        case "square":
            model.fourth = pyo.Constraint(expr=bad * x[0] ** 2 + x[1] <= 1)
        case "Param":
            model.fourth = pyo.Constraint(expr=model.p * x[0] <= 1)
        case "fixed variable":
            x[0].fix(bad, skip_validation=True)
        case "semidefinite entry":
            psd(model, "matrix", [[x[0]], [bad * x[1], 1.0]])
    model.p.set_value(bad)
    return model


PLACES = {
    "cost": r"objective objective: coefficient of x\[0\]",
    "constant": "objective objective: constant term",
    "square": r"row fourth: coefficient of x\[0\] \* x\[0\]",
    "Param": r"row fourth: coefficient of x\[0\]",
    "fixed variable": "row first: constant term",
    "semidefinite entry": r"row matrix: coefficient of x\[1\]",
}


def test_numbers_that_are_none_are_refused_wherever_they_stand() -> None:
    """An upper side of +inf is no side; nan and -inf are refused, by Pyomo or by us."""
    for place, sentence in PLACES.items():
        for bad in (NAN, INF):
            with pytest.raises(NumberError, match=f"{sentence} is {bad}"):
                solve(spoilt(place, bad))
    for place in ("side", "bound"):
        for bad in (NAN, -INF):
            with pytest.raises(ValueError, match=r"x|fourth"):
                solve(spoilt(place, bad))
        assert solve(spoilt(place, INF)).objective == pytest.approx(TRUTH, abs=1e-6)


# --- builders ------------------------------------------------------------------------------------

NUMERIC = (
    "C", "ridge", "pi", "nu", "penalty", "big_m", "budget", "intercept_bound", "norm_bound",
    "hull_bound", "rank", "tau", "price",
)  # fmt: skip
ARRAYS = {"big_m": 50.0, "strengthening": 1e-3}
DATA = points("overlapping", 0, n=8)


def parameters(name: str) -> dict[str, Any]:
    """Hyperparameters of a case, with a free intercept where an intercept bound belongs."""
    case = CASES[name]
    return case.words_of("free" if "intercept_bound" in case.entry.parameters else None)


def test_no_bad_cell_of_the_points_reaches_a_builder() -> None:
    for bad, row, column in ((NAN, 0, 0), (INF, 7, 1), (-INF, 3, 0)):
        X = np.array(DATA.X)
        X[row, column] = bad
        with pytest.raises(ValueError, match=rf"X holds {bad} in row {row}, column {column}"):
            TrainingData(X, DATA.y)
        gram = DATA.X @ DATA.X.T
        gram[row, column] = bad
        with pytest.raises(ValueError, match=rf"gram holds {bad} in row {row}, column {column}"):
            GramData(gram, DATA.y)
        y = np.array(DATA.y)
        y[row] = bad
        with pytest.raises(ValueError, match=rf"y holds {bad} in row {row}"):
            TrainingData(DATA.X, y)


@pytest.mark.parametrize("group", range(0, len(CASES), 10))
def test_no_builder_takes_a_number_that_is_none_zero_or_negative(group: int) -> None:
    for name, case in list(CASES.items())[group : group + 10]:
        chosen = parameters(name)
        case.entry.build(case.data, **chosen)
        for word in set(NUMERIC) & set(chosen):
            no_number = None if word != "intercept_bound" else [1.0]
            for bad in (NAN, INF, -INF, 0.0, -1.0, "one", no_number):
                with pytest.raises(ValueError, match=word):
                    case.entry.build(case.data, **(chosen | {word: bad}))


def test_no_builder_takes_an_array_with_one_bad_entry() -> None:
    for word, bad, place in (("big_m", NAN, 0), ("big_m", -INF, 7), ("strengthening", INF, 3)):
        for name, case in CASES.items():
            if word in case.entry.parameters:
                numbers = np.full(case.data.n, ARRAYS[word])
                numbers[place % case.data.n] = bad
                with pytest.raises(ValueError, match=word):
                    case.entry.build(case.data, **(parameters(name) | {word: numbers}))
    for name in ("c_svc", "c_svc_dual"):
        with pytest.raises(ValueError, match="class_weight"):
            CATALOGUE[name].build(DATA, C=1.0, class_weight=(1.0, NAN))


# Rows are derived from it: another one needs another model, and it cannot be set in place.
REBUILT = {
    "conic_sdp_strengthened": "penalty", "conic_sdp_lift": "penalty",
    "zero_one_disjunctive_relaxed": "penalty", "extended_robust_svc": "nu",
}  # fmt: skip


@every_case
def test_no_mutable_param_carries_a_bad_number_into_a_solver(case: Case) -> None:
    """Set in place after the build: refused by the Param's own domain, or by solve()."""
    tried = 0
    for word in set(NUMERIC) & set(case.words_of()):
        model = case.build()
        found = model.find_component(word)
        if not isinstance(found, pyo.Param):
            continue
        tried += 1
        entry = found[next(iter(found))] if found.is_indexed() else found
        good = pyo.value(entry)
        for bad in (NAN, INF, -1.0, 0.0):
            with pytest.raises(ValueError):  # noqa: PT011  (Pyomo's sentence or ours)
                _set_and_solve(entry, bad, model)
            entry.set_value(good)
    if case.name in REBUILT:
        assert not hasattr(case.build(), REBUILT[case.name])
    else:
        assert tried or not set(NUMERIC) & set(case.words_of())


def _set_and_solve(entry: Any, bad: float, model: pyo.ConcreteModel) -> None:
    entry.set_value(bad)
    solve(model)
