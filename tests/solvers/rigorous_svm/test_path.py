"""The rigorous SVM by every method, as a path and behind a model: the same proven optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import Lemma, kernel_matrix
from tests.inside.solvers import (
    FACTS,
    PointFound,
    RsvmRow,
    by_fits,
    by_lemma,
    libsvm_fits,
    rsvm_point,
    single_bound,
)
from tests.inside.solvers import METHODS_SEARCHED as SEARCHED
from tests.inside.solvers import PATH_METHODS as METHODS
from tests.inside.solvers import path_path_rows as path_rows
from tests.inside.solvers import rigorous_svm_methods as methods
from tests.references.reference_solutions import capacity_dual, least_loss, points
from tests.support.covering import covering
from tightmargin.formulations import CATALOGUE, GramData, TrainingData
from tightmargin.solvers import Status, Verdict, norm_limit, rsvm_path, solve, solve_rsvm

XOR = TrainingData(np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), np.array([1.0, 1, -1, -1]))


def certified(row: RsvmRow) -> RsvmRow:
    assert row.verdict is Verdict.CERTIFIED, (row.method, row.point.gap, row.stop)
    assert row.point.relative_gap is None or row.point.relative_gap <= 1e-8
    return row


def kernel(kind: str, seed: int = 2, n: int = 26) -> GramData:
    data = points("overlapping", seed, n=n)
    if kind == "poly":
        gram = kernel_matrix("poly", data.X, data.X, degree=2, coef0=1.0)
    else:
        gram = kernel_matrix("rbf", data.X, data.X, width=0.7)
    if kind == "centred":
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    return GramData(gram, data.y)


# --- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "norm_bound", "method"),
    covering(["separable", "overlapping", "unbalanced"], [0.05, 0.4, 20.0], METHODS),
)
def test_every_method_has_the_optimum_of_the_cone(
    kind: str, norm_bound: float, method: str
) -> None:
    data = points(kind, 3, n=30, d=3)
    witness = least_loss(data, "free", norm_bound)
    row = certified(solve_rsvm(data, norm_bound=norm_bound, method=method))
    assert row.point.objective == pytest.approx(witness.value, rel=1e-7, abs=1e-7)
    if row.point.gamma > 1e-6:
        np.testing.assert_allclose(row.point.w, witness.w, atol=1e-4 * norm_bound)


@pytest.mark.parametrize(
    ("kind", "method"), [("rbf", "segments"), ("poly", "interior"), ("centred", "segments")]
)
def test_kernels_have_the_optimum_of_the_dual_cone_program(kind: str, method: str) -> None:
    data = kernel(kind)
    for share in (0.02, 0.4, 0.9):
        norm_bound = share * norm_limit(data).value
        row = certified(solve_rsvm(data, norm_bound=norm_bound, method=method))
        assert row.method in (method, "trivial")
        expected = capacity_dual(data.gram, data.y, norm_bound, "free")
        assert row.point.objective == pytest.approx(expected, rel=1e-6)


@st.composite
def problems(draw: Any) -> TrainingData | GramData:
    """Few points in few dimensions: with duplicates, contradictions, ties, or none of them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["normal", "grid", "copies", "contradictions", "rbf"]))
    X = rng.standard_normal((n, d))
    y = np.where(rng.random(n) < draw(st.sampled_from([0.2, 0.5])), 1.0, -1.0)
    y[:2] = 1, -1
    if kind == "grid":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    if kind == "copies":
        X = X[rng.integers(0, max(1, n // 2), n)]
    if kind == "contradictions":
        X[n // 2 : 2 * (n // 2)] = X[: n // 2]
    if kind == "rbf":
        return GramData(kernel_matrix("rbf", X, X, width=2.0), y)
    return TrainingData(X * draw(st.sampled_from([1e-3, 1.0, 1e4])), y)


@given(problems(), st.sampled_from(["interior", "segments"]))
@settings(max_examples=12)
def test_every_value_is_proven_below_at_and_above_the_limit(data: Any, method: str) -> None:
    limit = norm_limit(data)
    reach = float(np.linalg.norm(data.factor, axis=1).max())
    if limit.value * reach > 1e4:  # rounding alone is more than 1e-8 then
        return
    top = limit.value or 1 / (reach or 1.0)
    for share in (0.01, 0.5, 0.97, 1.0, 1.01, 10.0):
        row = certified(solve_rsvm(data, norm_bound=share * top, method=method))
        price = row.norm_bound * row.point.length
        if limit.value > 0 and share < 1:
            assert price > 0
            assert row.point.gamma > 0
        elif share > 1:
            assert price <= 1e-9 * data.n
            assert row.point.objective == pytest.approx(limit.least_loss, abs=1e-9 * data.n)


# --- where H is small, or too large --------------------------------------------------------------


def test_coinciding_class_means_leave_nothing_to_find() -> None:
    for bound in (1e-3, 1.0, 1e3):
        row = certified(solve_rsvm(XOR, norm_bound=bound))
        assert (row.point.objective, row.point.gamma, row.method) == (4.0, 0.0, "trivial")
        assert "class means" in row.stop
    flat = GramData(np.zeros((3, 3)), np.array([1.0, -1, -1]))
    assert certified(solve_rsvm(flat, norm_bound=1.0)).point.objective == 2.0


@pytest.mark.parametrize(
    ("kind", "method"),
    [("separable" if m in ("socp", "segments") else "overlapping", m) for m in METHODS],
)
def test_a_norm_bound_out_of_reach_has_the_limits_point(kind: str, method: str) -> None:
    data = points(kind, 2, n=24, d=2)
    limit = norm_limit(data)
    at = certified(solve_rsvm(data, norm_bound=limit.value, method=method))
    assert at.point.objective == pytest.approx(limit.least_loss, abs=1e-9)
    assert at.point.gamma <= limit.gamma_range * (1 + 1e-6)
    for share in (1.01, 50.0):
        row = certified(solve_rsvm(data, norm_bound=share * limit.value, method=method))
        assert (row.method, row.point.gamma) == ("limit", 0.0)
        assert row.stop.endswith("gamma = 0")
        assert f"the limit {limit.value:.10g}" in row.stop
        assert row.point.objective == pytest.approx(limit.least_loss, abs=1e-9)
    below = certified(solve_rsvm(data, norm_bound=0.999 * limit.value, method=method))
    assert below.method != "limit"
    assert below.point.gamma > 0


@pytest.mark.parametrize("share", [1e3, 1e15])
def test_no_norm_bound_is_too_large_for_the_limits_proof(share: float) -> None:
    """Multipliers of a rounded (10) prove nothing there, and the exact ones near them all of E0."""
    data = points("overlapping", 2, n=24, d=2)
    limit = norm_limit(data)
    row = certified(solve_rsvm(data, norm_bound=share * limit.value))
    assert row.point.objective == pytest.approx(least_loss(data, "free", 1e3 * limit.value).value)
    assert row.stop.startswith("norm_bound is above the limit")


def test_a_limit_that_is_not_proven_is_not_passed_off_as_one() -> None:
    """Classes 1e-9 apart are separable by ||w|| = 2e9; in double precision they meet."""
    y = np.where(np.arange(80) < 40, 1.0, -1.0)
    x = np.append(np.linspace(0, 1, 40), np.linspace(1 + 1e-9, 2, 40))
    row = certified(solve_rsvm(TrainingData(x[:, None], y), norm_bound=60.0))
    assert row.stop.endswith("which is computed and not proven: gamma = 0")


def test_a_program_that_fails_under_the_limit_is_told_in_the_row(monkeypatch: Any) -> None:
    def fails(*given: Any, **named: Any) -> None:
        raise RuntimeError("the linear program broke down")

    data = points("separable", 2, n=24, d=2)
    monkeypatch.setattr(path_rows, "norm_limit", fails)
    for name in ("by_interior", "by_segments", "by_decomposition", "by_socp"):
        monkeypatch.setattr(
            path_rows, name, lambda *given, **named: PointFound(None, 1, settled=True)
        )
    row = solve_rsvm(data, norm_bound=1.0)
    assert row.verdict is Verdict.NOT_CERTIFIED
    assert "the linear program broke down" in row.stop


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [points("overlapping", 7, n=40, d=3), kernel("rbf")])
def test_loss_and_nu_fall_and_the_cost_rises_along_a_path(data: Any) -> None:
    top = norm_limit(data).value
    path = rsvm_path(data, [top * share for share in (0.9, 0.02, 0.3, 0.6, 0.3)], method="segments")
    assert path.certified
    assert [round(row.norm_bound / top, 9) for row in path.rows] == [0.02, 0.3, 0.6, 0.9]
    value = [row.point.objective for row in path.rows]
    mass = [float(row.point.alpha.sum()) for row in path.rows]
    gamma = [row.point.gamma for row in path.rows]
    assert sorted(value, reverse=True) == value
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(mass))
    assert sorted(gamma, reverse=True) == gamma
    for k in range(3):  # E is convex with the slope -sqrt(S)
        step = path.rows[k + 1].norm_bound - path.rows[k].norm_bound
        fall = (value[k] - value[k + 1]) / step
        assert path.rows[k + 1].point.length <= fall * (1 + 1e-9)
        assert fall <= path.rows[k].point.length * (1 + 1e-9)


def test_a_neighbour_saves_the_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that is given, and in a path the row before."""
    data, fits = kernel("rbf", n=60), []

    def counted(*given: Any) -> libsvm_fits.Fits:
        fits.append(given)
        return by_fits(*given)

    monkeypatch.setattr(single_bound, "by_fits", counted)
    top = norm_limit(data).value
    bounds = [top * share for share in (0.4, 0.45, 0.5)]
    path = rsvm_path(data, bounds, method="segments")
    assert path.certified
    assert len(fits) == 1
    start = path.rows[0].point.alpha
    row = certified(solve_rsvm(data, norm_bound=bounds[1], method="segments", start=start))
    assert row.steps < 20
    assert len(fits) == 1


def test_ctrl_c_keeps_the_rows_of_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    data, bounds = kernel("rbf"), (2.0, 2.5, 3.0)
    calls, real = [], path_rows.by_segments

    def pressed(*given: Any, **named: Any) -> PointFound:
        calls.append(given)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(path_rows, "by_segments", pressed)
    path = rsvm_path(data, bounds, method="segments")
    assert [row.norm_bound for row in path.rows] == [2.0, 2.5]
    assert path.not_reached == (3.0,)
    assert not path.certified
    with pytest.raises(KeyboardInterrupt):
        rsvm_path(data, bounds, method="segments")


def test_segments_are_left_where_the_interior_point_is_faster(monkeypatch: Any) -> None:
    """2000 points in 101 dimensions near the limit: 40 s of fits, or a tenth of a second."""
    data = points("overlapping", 9, n=60, d=5)
    monkeypatch.setattr(path_rows, "FEATURES", 0)
    monkeypatch.setattr(path_rows, "SHARE", 0.0)
    assert certified(solve_rsvm(data, norm_bound=0.8)).method == "segments"
    monkeypatch.setattr(path_rows, "FEW", 0)
    assert certified(solve_rsvm(data, norm_bound=0.8)).method == "interior"
    assert certified(solve_rsvm(data, norm_bound=0.8, method="segments")).method == "segments"
    monkeypatch.setattr(path_rows, "WORK", {"interior": 0.0})
    assert certified(solve_rsvm(data, norm_bound=0.8)).method == "segments"


def test_an_interrupted_solver_interrupts_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    result = SimpleNamespace(status=Status.INTERRUPTED, duals={}, message="stopped")
    monkeypatch.setattr(single_bound, "solve", lambda *given, **named: result)
    row = solve_rsvm(kernel("rbf"), norm_bound=2.0, method="socp")
    assert (row.stop, row.steps) == ("interrupted", 1)


# --- the point that every method ends in ---------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(0.01, 30.0))
@settings(max_examples=30)
def test_any_multipliers_prove_a_bound_and_any_hyperplane_a_value(seed: int, bound: float) -> None:
    data = points("overlapping", seed % 7, n=12)
    rng = np.random.default_rng(seed)
    found = rsvm_point(
        data, bound, rng.uniform(-0.2, 1.2, data.n), (5 * rng.standard_normal(2), rng.normal())
    )
    value = least_loss(data, "free", bound).value
    assert found.bound <= value + 1e-7 * max(1.0, value)
    assert found.objective >= value - 1e-7 * max(1.0, value)
    assert float(found.alpha.min()) >= 0
    assert float(found.alpha.max()) <= 1
    assert abs(data.y @ found.alpha) <= 1e-12


@pytest.mark.parametrize("far", [0.0, 2.0**27])
def test_the_value_is_the_loss_in_fractions_however_far_from_0(far: float) -> None:
    """w.x and b cancel there; a loss from rounded sums was 0 with a certificate, and is not."""
    data = points("separable", 4, n=16)
    placed = TrainingData(data.X + far, data.y)
    alpha = np.full(data.n, 0.1)
    for norm_bound in (0.3, 20.0, 1e3):
        found = rsvm_point(placed, norm_bound, alpha)
        w, b = [Fraction(float(v)) for v in found.w], Fraction(found.b)
        exact = Fraction(0)
        for x, y in zip(placed.X, placed.y, strict=True):
            score = sum((v * Fraction(float(c)) for v, c in zip(w, x, strict=True)), b)
            exact += max(Fraction(0), 1 - int(y) * score)
        assert found.objective == pytest.approx(float(exact), rel=1e-12, abs=1e-11)


# --- models solved by these methods ---------------------------------------------------------------

H = 0.7
DATA = points("overlapping", 3, n=14)


def model(name: str, data: TrainingData | GramData = DATA, bound: float = H) -> pyo.ConcreteModel:
    return CATALOGUE[name].build(data, norm_bound=bound)


def sign(name: str) -> float:
    """The duals minimise minus their objective."""
    return -1.0 if name in SEARCHED[1:] else 1.0


@pytest.mark.parametrize(
    ("name", "method"), [(SEARCHED[k % len(SEARCHED)], name) for k, name in enumerate(METHODS)]
)
def test_every_method_finds_the_proven_optimum_of_every_form(name: str, method: str) -> None:
    built = model(name)
    result = solve(built, method=method, threads=1, seed=4)
    expected = sign(name) * least_loss(DATA, "free", H).value
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.CERTIFIED)
    assert result.objective == pytest.approx(expected, rel=1e-7)
    assert result.bound <= result.objective + 1e-12 * abs(expected)
    assert result.objective - result.bound <= 1e-8 * abs(expected)
    assert max(result.certificate.primal_residual, result.certificate.dual_residual) <= 1e-12
    assert (result.solver, result.threads, result.seed) == ("tightmargin", 1, 4)
    assert set(result.certificate.facts) <= set(FACTS)


@pytest.mark.parametrize(
    ("name", "data"),
    [(SEARCHED[0], DATA), (SEARCHED[1], points("separable", 3, n=14)), (SEARCHED[-1], DATA)],
)
def test_above_the_limit_the_linear_program_is_solved(name: str, data: TrainingData) -> None:
    result = solve(model(name, data, 500.0))
    expected = sign(name) * least_loss(data, "free").value
    facts = result.certificate.facts
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(expected, abs=1e-6)
    assert (facts["gamma"], facts["capacity_price"]) == (0.0, 0.0)
    assert (facts["equivalence"]["C"], facts["equivalence"]["active"]) == (None, False)
    entry = CATALOGUE[name]
    origin = entry.build(data, **result.parameters).origin
    w, b = entry.classifier(origin, result.values, result.duals)
    assert np.linalg.norm(w) < 500
    loss = np.maximum(0, 1 - data.y * (data.X @ w + b)).sum()
    assert loss == pytest.approx(abs(expected), abs=1e-6)


def test_nothing_is_believed_that_the_model_does_not_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = methods.solve_rsvm

    def boaster(data: Any, **words: Any) -> Any:
        found = honest(data, **words)
        point = found.point
        lemma = Lemma(point.objective * 1.01, "a boast", {"said": True})
        return replace(found, point=replace(point, below=by_lemma(point.attained.subject, lemma)))

    monkeypatch.setattr(methods, "solve_rsvm", boaster)
    result = solve(model("rsvm"))
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "contradicts the bound" in result.certificate.reason


@pytest.mark.parametrize(("said", "status", "stop"), [
    ("interrupted", Status.INTERRUPTED, "interrupted"),
    ("time limit: the gap is not closed", Status.FEASIBLE, "time_limit"),
    ("the gap is not closed", Status.FEASIBLE, "open"),
])  # fmt: skip
def test_what_is_stopped_keeps_its_ends(
    said: str, status: Status, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = methods.solve_rsvm

    def stopped(data: Any, **words: Any) -> Any:
        assert words["time_limit"] == 9.0
        found = honest(data, **words)
        early = rsvm_point(data, words["norm_bound"], found.point.alpha * 0.9)
        return replace(found, point=early, stop=said)

    monkeypatch.setattr(methods, "solve_rsvm", stopped)
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # reading the model takes no time
    optimum = least_loss(DATA, "free", H).value
    for name in SEARCHED:
        result = solve(model(name), time_limit=9.0)
        assert (result.status, result.certificate.facts["stop"]) == (status, stop)
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        ends = sorted(sign(name) * end for end in (result.bound, result.objective))
        assert 0 < ends[0] < optimum * (1 + 1e-8)
        assert optimum <= ends[1] * (1 + 1e-8)


@pytest.mark.parametrize(("name", "bound"), [(SEARCHED[0], H), (SEARCHED[1], 500.0)])
def test_a_method_stopped_at_its_start_says_nothing_else(name: str, bound: float) -> None:
    """What it has is the even multipliers, or 0, of which gamma = 0 was said at any H."""
    result = solve(model(name, bound=bound), time_limit=1e-9)
    facts = result.certificate.facts
    assert (result.status, facts["stop"]) == (Status.FEASIBLE, "time_limit")
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "equivalence" not in facts
    said = "gamma = 0: if alpha is optimal"
    assert facts.get("degenerate", said).startswith(said)
