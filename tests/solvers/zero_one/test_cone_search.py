"""The search over cones against other ways; searches behind a model, edited or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import Lemma
from tests.inside.solvers import WORDS as CONFLICTS
from tests.inside.solvers import (
    Count,
    SideRows,
    StopReason,
    zero_one_incumbent,
)
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import zero_one_closing_bounds as closing_bounds
from tests.inside.solvers import zero_one_methods as methods
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import zero_one_optima
from tests.references.reference_solutions import points
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered, overlapping
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tests.support.edited_models import build
from tests.support.side_edits import SideEdit, side_edit
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, Status, Verdict, cone_search, conflict_search


def cloud(seed: int) -> tuple[TrainingData, float]:
    """Few points of any scale, on a grid or copied, weighted or not, and a penalty that matters."""
    rng = np.random.default_rng(seed)
    d, n, kind = int(rng.integers(1, 4)), int(rng.integers(2, 12)), int(rng.integers(4))
    X = rng.normal(size=(n, d)) if kind < 2 else rng.integers(-2, 3, size=(n, d)).astype(float)
    X = X[rng.integers(n, size=n)] if kind == 1 else X
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    X = X * 10.0 ** rng.integers(-6, 7)
    size = float(np.sqrt((X * X).mean())) or 1.0
    penalty = float(10.0 ** rng.uniform(-2, 4) / size**2)
    weights = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.4 else None
    return TrainingData(X, y, sample_weight=weights), penalty


def test_the_optimum_is_that_of_enumeration() -> None:
    for seed in range(200 if FULL else 36):
        data, penalty = cloud(seed)
        intercept = INTERCEPTS[seed % 3]
        exact = zero_one_by_sets(data, penalty=penalty, intercept=intercept)
        found = cone_search(data, penalty=penalty, intercept=intercept)
        assert found.stop is StopReason.PROVEN, seed
        assert found.bound <= exact.objective * (1 + 1e-12), seed
        assert found.bound >= exact.objective * (1 - 2e-6), seed
        assert found.objective == pytest.approx(exact.objective, rel=1e-6), seed


def test_side_rows_are_kept() -> None:
    proven = 0
    for seed in range(24 if FULL else 9):
        edit = side_edit(seed)
        optimum = edit.optimum()
        found = tm.solve(edit.model(big_m=1e4), method="cone-search")
        low = found.interval[0] if found.interval else found.bound
        assert low is None or low <= optimum * (1 + 1e-9) + 1e-9, seed
        if found.objective is not None and found.certificate.verdict.closed:
            proven += 1
            assert found.objective == pytest.approx(optimum, rel=2e-6), seed
    assert proven >= 6


def test_limits_and_ctrl_c_keep_what_is_known() -> None:
    data, told = clustered(40, 4, 1), []

    def searched(**words: Any) -> Any:
        return cone_search(data, penalty=1.0, intercept="penalised", **words)

    def interrupt(point: object) -> None:
        told.append(point)
        if len(told) == 3:
            raise KeyboardInterrupt

    short, whole = (searched(cell_limit=limit) for limit in (500, 5_000))
    assert short.stop is StopReason.CELL_LIMIT
    assert 0 < short.bound <= whole.bound <= whole.objective <= short.objective * (1 + 1e-12)
    again = searched(cell_limit=500, incumbent=(whole.w, whole.b))
    assert again.objective <= whole.objective * (1 + 1e-12)
    assert [point.bound for point in whole.trace] == sorted(point.bound for point in whole.trace)
    # Before a cell is halved, two points at a distance of 2 have their widest margin.
    two = TrainingData(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0]))
    first = cone_search(two, penalty=10.0, intercept="penalised", cell_limit=1)
    assert first.objective == pytest.approx(1, rel=1e-6)
    stopped = searched(progress=interrupt)
    assert stopped.stop is StopReason.INTERRUPTED
    assert 0 < stopped.bound <= stopped.objective


@pytest.mark.parametrize("seed", range(4 if FULL else 2))
def test_fewest_errors_and_then_the_widest_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(16) % 2 == 0, 1.0, -1.0)
    data = TrainingData(rng.normal(size=(16, 2)) + 0.6 * y[:, None], y)
    found = tm.search.least_errors(data, margin=1e-5)
    assert found.bound == found.errors == int((y * (data.X @ found.w + found.b) < 1).sum())
    # A dear error makes the fewest of them the cheapest, with the least norm.
    dear = zero_one_by_sets(data, penalty=1e7, intercept="free")
    assert found.errors == (~dear.kept).sum()
    assert found.margin == pytest.approx(1 / np.linalg.norm(dear.w), rel=1e-5)
    assert found.margin <= found.largest_margin * (1 + 1e-12)


def test_auto_takes_cones_and_leaves_the_rest_to_conflicts(monkeypatch: Any) -> None:
    data = clustered(30, 2, 1)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="free")
    found = tm.solve(model)
    assert found.certificate.facts["engine"] == "cone-search"
    assert found.certificate.verdict is Verdict.CERTIFIED
    real = methods.by_cones
    monkeypatch.setattr(methods, "by_cones", lambda *a, **b: real(*a, **b | {"cell_limit": 1}))
    later = tm.solve(model, method="cones-then-conflicts", time_limit=600)
    assert later.certificate.facts["engine"] == "conflict-search"
    assert later.objective == pytest.approx(found.objective, rel=1e-6)


def test_the_clustered_instance_of_another_solver() -> None:
    """39.981219: optimum and bound of Gurobi 13.0.3 on Cepeda, Gomez & Han's instance."""
    data = tm.data.outlier_data("clustered", n=100, d=3, sigma=0.5, seed=7)
    point = zero_one_incumbent(data, penalty=1.0, intercept="penalised")
    assert point.objective == pytest.approx(39.981219, abs=1e-6)
    found = cone_search(data, penalty=1.0, intercept="penalised")
    assert found.objective == pytest.approx(39.981219, rel=1e-6)
    assert found.bound == pytest.approx(39.981219, rel=2e-6)


DATA = overlapping(14, 2, 0)
MODEL = tm.zero_one_big_m(DATA, penalty=1.0, big_m="derived")
(BEST,) = zero_one_optima(DATA, (1.0,), "penalised")


def test_a_model_whose_m_cuts_the_optimum_off_says_so_and_goes_to_a_solver_in_tables() -> None:
    small = tm.zero_one_big_m(DATA, penalty=1.0, big_m=0.5)
    result = tm.solve(small, method="conflict-search")
    assert result.objective is None
    assert "big-M is too small" in result.message
    assert tm.solve(small).solver == "scip"
    assert tm.solve(MODEL).solver == "tightmargin"


def test_what_a_search_says_of_its_bound_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a lemma believed that lies above the objective."""
    real = methods.conflict_search
    boasts = (
        (lambda most: {"bound": most}, Verdict.CERTIFIED, ""),
        (
            lambda most: {"lemma": Lemma(most, "too much", {"it is so": True})},
            Verdict.NOT_CERTIFIED,
            "contradicts the bound",
        ),
    )
    for words, verdict, said in boasts:

        def told(*args: Any, words: Any = words, **limits: Any) -> Any:
            found = real(*args, **limits)
            return replace(found, **words(1.01 * found.objective))

        monkeypatch.setattr(methods, "conflict_search", told)
        result = tm.solve(MODEL, method="conflict-search")
        assert result.certificate.verdict is verdict
        assert said in result.certificate.reason
        assert said or result.bound <= BEST * (1 + 1e-9)


def test_a_search_closes_the_result_of_a_solver(monkeypatch: Any) -> None:
    """By cones, then by conflicts, and in part where those end early."""
    result = tm.solve(MODEL, "scip")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method.startswith("cones of directions in")
    monkeypatch.setattr(closing_bounds, "bound_by_cones", lambda *args, **words: None)
    result = tm.solve(MODEL, "scip")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method.startswith(CONFLICTS)
    monkeypatch.setattr(closing_bounds, "STEP_LIMIT", 1)
    result = tm.solve(MODEL, "scip")
    assert result.bound <= BEST * (1 + 1e-9)
    assert not result.certificate.bound_method.startswith(CONFLICTS)


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("method", ["auto", "conflict-search"])
def test_workers_and_a_scheduler_are_passed_on(method: str, edited: bool, monkeypatch: Any) -> None:
    asked, search = [], methods.conflict_search

    def heard(*args: Any, workers: int = 1, scheduler: str | None = None, **words: Any) -> Any:
        asked.append((workers, scheduler))
        return search(*args, **words)

    monkeypatch.setattr(methods, "conflict_search", heard)
    monkeypatch.setattr(methods, "suits", lambda *args: False)
    model = tm.zero_one_bilinear(DATA, penalty=1.0)
    if edited:
        model.w[0].setlb(0.1)
    address = "tcp://HOST:8786"
    for options in (None, {"workers": 3}, {"scheduler": address}):
        result = tm.solve(model, method=method, options=options)
        assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == [(1, None), (3, None), (1, address)]


SEARCH = "conflict-search"
SEEDS = range(45 if FULL else 15)
EIGHT, CLUSTERED = points("overlapping", 4, n=8), clustered(12, 2, 1)
Edit = Callable[[pyo.ConcreteModel], Any]


def side_by_side(edit: SideEdit, result: SolveResult, optimum: float) -> None:
    """A proven optimum that another computation finds too; or none where there is none."""
    if np.isinf(optimum):
        assert result.objective is None
        assert result.certificate.verdict is not Verdict.CERTIFIED
        return
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.solver == "tightmargin"
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(optimum, rel=2e-6, abs=1e-7)
    assert result.bound <= optimum * (1 + 1e-7) + 1e-9


def test_the_optimum_is_that_of_brute_force() -> None:
    """Most edits change it, and so does many a single row: one that is lost would be missed."""
    changed = lost = impossible = 0
    for seed in SEEDS:
        edit = side_edit(seed)
        optimum = edit.optimum()
        side_by_side(edit, tm.solve(edit.model(), method=SEARCH), optimum)
        impossible += np.isinf(optimum)
        bare = SideEdit(edit.data, edit.penalty, edit.intercept, ())
        changed += optimum > bare.optimum() * (1 + 1e-5)
        lost += sum(edit.optimum(without=k) < optimum * (1 - 1e-5) for k in range(len(edit.rows)))
    assert changed > len(SEEDS) / 2
    assert lost > len(SEEDS) / 3
    assert impossible >= 1


def test_a_search_without_a_point_to_start_from_raises_its_cutoff() -> None:
    data, nobody = EIGHT, np.zeros(8, dtype=bool)
    side = replace(SideRows.nothing(8, data.d), counts=(Count(~nobody, 0),), kept=nobody.copy())
    apart = TrainingData(data.X + 4.0 * data.y[:, None], data.y)
    found = conflict_search(apart, penalty=1e-4, intercept="penalised", side=side)
    none = np.full(data.d, -1.0)
    edit = SideEdit(apart, 1e-4, "penalised", (), counts=[(list(range(8)), 0)])
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(edit.optimum(), rel=2e-6)
    ends = replace(side, weights=np.array([none]), of_b=np.zeros(1), most=np.array([-1e4]))
    far = conflict_search(apart, penalty=1e-4, intercept="penalised", side=ends)
    rows = [(np.r_[none, 0.0], -np.inf, -1e4, "row")]
    assert far.objective == pytest.approx(replace(edit, rows=rows).optimum(), rel=2e-6)
    large = TrainingData(2.0**20 * apart.X, apart.y)
    ends = replace(ends, most=np.array([-1e4 / 2**20]))
    far = conflict_search(large, penalty=1e-4 / 2**40, intercept="none", side=ends)
    optimum = replace(edit, intercept="none", rows=rows).optimum()
    assert far.objective * 2.0**40 == pytest.approx(optimum, rel=2e-6)


def row(expression: Callable[[pyo.ConcreteModel], Any]) -> Edit:
    return lambda m: m.add_component("edit", pyo.Constraint(expr=expression(m)))


def test_where_there_is_no_point_the_branch_and_bound_proves_it() -> None:
    model = build("zero_one_big_m", EIGHT, penalty=0.6, big_m=500.0)
    row(lambda m: sum(m.z.values()) <= 0)(model)
    model.w.fix(0.0)
    proven = tm.solve(model)
    assert proven.status is Status.INFEASIBLE
    assert proven.certificate.verdict is Verdict.CERTIFIED


REFUSED: dict[str, tuple[Edit, str]] = {
    "lower count": (row(lambda m: sum(m.z.values()) >= 2), "asks for violated points"),
    "weights": (row(lambda m: m.z[0] + 2 * m.z[1] <= 2), "weighs the points differently"),
    "z and w": (row(lambda m: m.z[0] - m.w[0] <= 1), "has z beside w or b"),
    "short w": (row(lambda m: m.w[0] ** 2 <= 1), "is quadratic"),
    "objective": (lambda m: m.objective.set_value(m.objective.expr + m.w[0]), "objective"),
    "cheaper": (lambda m: m.objective.set_value(m.objective.expr - 0.5 * m.z[0]), "objective"),
    "a row less": (lambda m: m.margin[2].deactivate(), r"margin\[2\] is missing"),
    "z relaxed": (lambda m: setattr(m.z[1], "domain", pyo.NonNegativeReals), "wider"),
    "integer": (lambda m: setattr(m.w[0], "domain", pyo.Integers), "made an integer"),
    "new": (
        lambda m: (m.add_component("t", pyo.Var()), row(lambda m: m.w[0] <= m.t)(m)),
        "t is none of w, b and z",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_search_has_no_argument_for_goes_to_the_branch_and_bound(name: str) -> None:
    edit, words = REFUSED[name]
    model = build("zero_one_big_m", EIGHT, penalty=0.6, big_m=50.0)
    edit(model)
    with pytest.raises(ValueError, match=words):
        tm.solve(model, method=SEARCH)
    again = build("zero_one_big_m", EIGHT, penalty=0.6, big_m="derived")
    edit(again)
    result = tm.solve(again, time_limit=20)
    assert result.certificate.facts.get("engine") != SEARCH


def test_a_solver_and_a_budget_are_asked_as_before() -> None:
    model = build("zero_one_big_m", EIGHT, penalty=0.6, big_m="derived")
    row(lambda m: m.w[0] <= 0.3)(model)
    assert tm.solve(model.clone(), "scip").solver == "scip"
    assert tm.solve(model, prove=5).certificate.facts.get("engine") != SEARCH


@pytest.mark.parametrize("seed", [3002, 3028])
def test_a_proof_file_leaves_an_edited_model_to_the_search(seed: int, tmp_path: Any) -> None:
    """A column that is fixed at 0 moves no margin; where b is free a derived M may not stand."""
    edit, path = side_edit(seed), tmp_path / "proof.json"
    result = tm.solve(edit.model(), proof=path)
    side_by_side(edit, result, edit.optimum())
    proof = accepted(read(path))
    assert proof.kind == "optimum"
    assert float(proof.upper) + proof.model.constant == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "cone-search", SEARCH])
@pytest.mark.parametrize("rows", ["crossing", "small"])
def test_what_no_hyperplane_meets_is_told_and_auto_proves_it(method: str, rows: str) -> None:
    """Two rows that cross, and a count of errors that so small a w cannot have."""
    m = build("zero_one_big_m", CLUSTERED, penalty=1.0, big_m="derived", intercept="free")
    if rows == "crossing":
        m.steep = pyo.Constraint(expr=m.w[0] >= 1.0)
        m.flat = pyo.Constraint(expr=m.w[0] <= 0.5)
    else:
        m.few = pyo.Constraint(expr=sum(m.z.values()) <= 1)
        for variable in m.w.values():
            variable.setlb(-1e-3)
            variable.setub(1e-3)
    found = tm.solve(m, method=method)
    assert found.objective is None
    if method == "auto":
        assert found.status is Status.INFEASIBLE
        # The count has no point only beside M, which was derived for larger w.
        closed = Verdict.CERTIFIED if rows == "crossing" else Verdict.NOT_CERTIFIED
        assert found.certificate.verdict is closed
    else:  # M may rest on what a search believes, so that it is told and no verdict
        assert found.certificate.verdict is Verdict.NOT_CERTIFIED
        assert 'method="auto" proves' in found.message


@pytest.mark.parametrize("method", ["auto", "cone-search", SEARCH])
def test_a_large_w_is_no_reason_to_call_a_derived_m_infeasible(method: str) -> None:
    """M was derived for smaller w; the edited problem has points, and its M is raised for them."""
    m = build("zero_one_big_m", CLUSTERED, penalty=1.0, big_m="derived", intercept="free")
    m.far = pyo.Constraint(expr=m.w[0] >= 1e4)
    found = tm.solve(m, method=method, time_limit=20)
    assert found.status is not Status.INFEASIBLE, found.message
    assert found.objective is not None


def test_a_point_that_m_keeps_from_the_optimum_is_not_called_optimal() -> None:
    """No M is proven here; SCIP's optimum is that of the model, and the problem's is lower."""
    edit = side_edit(34)
    assert edit.intercept == "free"
    result = tm.solve(edit.model(), "scip")
    assert result.objective > edit.optimum() * 1.1
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert tm.solve(edit.model()).objective == pytest.approx(edit.optimum(), rel=2e-6)
