"""Bound tightening and conflicts keep every good hyperplane, whatever the solver says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside import cuts as inner
from tests.inside import formulations as forms
from tests.inside.experiments import outlier_data
from tests.inside.solvers import StopReason
from tests.references import reference_solutions
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import big_m_optimum, signed_rows
from tests.references.reference_solutions import INTERCEPTS, points
from tests.references.strengthened_sdp import rows_of
from tests.support.covering import FULL, covering
from tightmargin.cuts import tighten, with_conflicts
from tightmargin.formulations import TrainingData

Hyperplane = tuple[np.ndarray, float]


def good_hyperplanes(
    data: TrainingData, penalty: float, intercept: str, cutoff: float
) -> list[Hyperplane]:
    """Hyperplanes with an objective of at most the cutoff: what tightening may not cut off.

    Points of least norm through one, two, ... margins, and random points around them; with a free
    intercept optima, and points that keep someone of each class.
    """
    rng = np.random.default_rng(0)
    rows, price = signed_rows(data, intercept)
    scale = np.where(price > 0, 1.0, 1e3)  # a free intercept hardly counts in the norm
    points = []
    for size in range(1, rows.shape[1] + 1):
        some = np.array(list(itertools.combinations(range(data.n), size)))
        exact = np.linalg.pinv(rows[some] * scale).sum(axis=2) * scale * (1 + 1e-9)
        points += [exact * (1 + s * rng.standard_normal(exact.shape)) for s in (0.0, 0.01, 0.1)]
    v = np.vstack(points)
    objective = (price * v**2).sum(axis=1) + penalty * (v @ rows.T < 1).sum(axis=1)
    v = v[objective <= cutoff]
    found = [(p, 0.0) if intercept == "none" else (p[:-1], float(p[-1])) for p in v]
    if intercept != "free":
        return found
    two_classes = [
        (w, b) for w, b in found if len(set(data.y[forms.margins(data, w, b) >= 1].tolist())) == 2
    ]
    best = zero_one_by_sets(data, penalty=penalty, intercept=intercept).objective
    trivial = forms.trivial_points(data, penalty=penalty, intercept=intercept)
    return two_classes + [(p.w, p.b) for p in trivial if p.objective <= best * (1 + 1e-12)]


def cut_off(data: TrainingData, bounds: forms.SlackBounds, penalty: float, intercept: str) -> int:
    """How many of the good hyperplanes the bounds cut off; there must be some to look at."""
    points = good_hyperplanes(data, penalty, intercept, bounds.cutoff * (1 - 1e-9))
    assert points
    return sum(not bounds.admits(data, w, b, intercept) for w, b in points)


def random_data(seed: int, n: int = 10, d: int = 2, offset: float = 0.0) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.6 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    return TrainingData(X + offset, y)


@pytest.mark.parametrize(
    ("intercept", "relaxation", "penalty", "seed"),
    covering(INTERCEPTS, ("both", "qp", "sdp"), (0.3, 1.0, 4.0), range(8 if FULL else 2)),
)
def test_every_hyperplane_below_the_cutoff_stays(
    intercept: str, relaxation: str, penalty: float, seed: int
) -> None:
    data = random_data(seed, 8, 2, 3.0)
    if seed % 2:  # ties, repeated points and points in line
        data = TrainingData(np.round(data.X * 2) / 2, data.y)
    words: dict[str, Any] = {"penalty": penalty, "intercept": intercept}
    found = tighten(data, **words, slack=1e-4, relaxation=relaxation, rounds=1)
    assert cut_off(data, found.bounds, penalty, intercept) == 0
    best = zero_one_by_sets(data, **words)
    assert found.bound <= best.objective * (1 + 1e-12)
    assert found.count <= int((~best.kept).sum()) or intercept == "free"


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_trusted_claim_cuts_off_what_multipliers_prove(
    intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that claims too much, and whose multipliers are noise around the true ones."""
    data = random_data(5)
    honest = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    prepared = inner.linear_minima._prepared
    monkeypatch.setattr(
        inner.linear_minima, "_prepared", lambda conic, seconds: Liar(prepared(conic, seconds))
    )
    lied_to = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    assert cut_off(data, lied_to.bounds, 1.0, intercept) == 0
    assert lied_to.bounds.upper.sum() > honest.bounds.upper.sum()
    monkeypatch.setattr(inner.ProvenMinimum, "least", trusted)
    believed = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    assert cut_off(data, believed.bounds, 1.0, intercept) > 0


class Liar:
    """Clarabel with noise on its multipliers and claims that are better than the truth."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.rng = solver, np.random.default_rng(1)

    def update(self, **changes: Any) -> None:
        self.solver.update(**changes)

    def solve(self) -> Any:
        told = self.solver.solve()
        z = np.array(told.z)
        noisy = z * self.rng.uniform(0.9, 1.3, len(z)) - 0.01 * np.abs(z).max()
        claim = told.obj_val + 0.5
        return SimpleNamespace(z=noisy, x=told.x, obj_val=claim, status=told.status)


def trusted(
    self: inner.ProvenMinimum, cost: np.ndarray, pinned: dict[int, float] | None = None
) -> float:
    """What a solver claims, taken for a bound."""
    b = self.conic.b.copy()
    for column, value in (pinned or {}).items():
        b[self.low_row[column]], b[self.high_row[column]] = -value, value
    solution = self.solution(cost, b)
    if solution is None:
        return -np.inf
    empty = "PrimalInfeasible" in str(solution.status)
    return float(solution.obj_val) if not empty else np.inf if pinned else -np.inf


@pytest.mark.parametrize("intercept", INTERCEPTS if FULL else ("free",))
def test_the_tightened_big_m_keeps_the_optimum(intercept: str) -> None:
    data = random_data(2, 9)
    found = tighten(data, penalty=1.0, intercept=intercept, rounds=1)
    big_m = inner.tightened_big_m(found.bounds)
    exact = zero_one_by_sets(data, penalty=1.0, intercept=intercept)
    assert (
        big_m.values.max()
        < forms.closed_slack_bounds(data, penalty=1.0, intercept=intercept).upper.max()
    )
    reached = big_m_optimum(data, 1.0, intercept, big_m.values)
    assert reached == pytest.approx(exact.objective, rel=1e-6)
    assert "weak-duality value of its multipliers" in big_m.proof
    too_small = big_m_optimum(data, 1.0, intercept, 0.5 * big_m.values)
    assert too_small > exact.objective * (1 + 1e-3)


def test_what_conflicts_the_count_and_the_ball_imply() -> None:
    bounds = forms.SlackBounds(
        np.array([-3.0, -3.0, 0.5, -3.0]), np.array([0.0, 4.0, 4.0, 4.0]), 9.0, (-1.0, 2.0), 10.0,
        "", conflicts=((0, 1), (2, 3), (1, 3)),
    )  # fmt: skip
    assert inner.open_conflicts(bounds) == ((1,), (1, 3))
    forced = inner.forced_by_conflicts(bounds)
    np.testing.assert_array_equal(forced.violated, [False, True, True, False])
    assert inner.open_conflicts(forced) == ()
    assert inner.below_count(bounds, 2, 2.0).norm2 == pytest.approx(6.0, rel=1e-12)
    assert inner.below_count(bounds, 0, 2.0).norm2 == 9.0
    rows = np.array([[0.1, 1.0], [0.2, -1.0], [0.3, 1.0], [9.0, 1.0]])
    inside = inner.within_ball(bounds, rows, "free", np.zeros(4))
    # v = 1 - y (w x + b) with |w| <= 3 and -1 <= b <= 2: y b ends at 2 and -1, or at 1 and -2.
    assert inside.lower == pytest.approx([-1.3, -0.6, 0.5, -3.0], rel=1e-9)
    assert inside.upper == pytest.approx([0.0, 3.6, 2.9, 4.0], rel=1e-9)
    whole = inner.within_ball(bounds, np.array([[0.3, 0.4]] * 4), "penalised", np.zeros(4))
    assert whole.upper == pytest.approx([0.0, 2.5, 2.5, 2.5], rel=1e-9)
    assert whole.lower == pytest.approx([-0.5, -0.5, 0.5, -0.5], rel=1e-9)


def test_sdp_rounds_pay_on_a_wide_gap_with_open_points() -> None:
    wide, _ = beside_start(random_data(6, 8), "free", relaxation="sdp", rounds=1)
    assert wide.gap == pytest.approx(1 - wide.bound / wide.objective, rel=1e-12)
    assert inner.sdp_pays(replace(wide, bound=0.5 * wide.objective))
    assert not inner.sdp_pays(replace(wide, bound=0.7 * wide.objective))
    decided = replace(wide.bounds, upper=np.minimum(wide.bounds.upper, 0.0))
    assert not inner.sdp_pays(replace(wide, bounds=decided, bound=0.0))


def beside_start(data: TrainingData, intercept: str, **words: Any) -> Any:
    """What tightening without conflicts found, and the closed form that it began with."""
    found = tighten(data, penalty=1.0, intercept=intercept, conflicts=False, **words)
    own = {"penalty": 1.0, "intercept": intercept, "incumbent": found.incumbent, "slack": 1e-4}
    return found, forms.closed_slack_bounds(data, **own)


def test_the_clock_and_ctrl_c_keep_what_was_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, after a round, and in a round, whose first bounds are kept."""
    data = random_data(6, 14)

    def ended(stop: StopReason, intercept: str, **more: Any) -> Any:
        found, start = beside_start(data, intercept, **more)
        assert found.stop is stop
        assert len(found.trace) == 1
        assert cut_off(data, found.bounds, 1.0, intercept) == 0
        return found, start.upper

    found, start = ended(StopReason.TIME_LIMIT, "penalised", time_limit=1e-6)
    np.testing.assert_array_equal(found.bounds.upper, start)

    def press(_: str) -> None:
        raise KeyboardInterrupt

    found, start = ended(StopReason.INTERRUPTED, "penalised", progress=press)
    assert found.bounds.upper.mean() < start.mean()
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(inner.rounds, "time", clock)
    monkeypatch.setattr(inner.tighten, "time", clock)
    found, start = ended(StopReason.TIME_LIMIT, "none", relaxation="sdp", time_limit=8.5)
    moved = found.bounds.upper < start * 0.9
    assert moved[:3].all()
    assert not moved[10:].any()
    assert found.bound > 0


@pytest.mark.parametrize("kind", ["no numbers", "breakdown", "memory"])
def test_a_failed_solve_keeps_the_old_bound(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it failed by an error that is no breakdown of the solver: that is not swallowed."""
    data = random_data(8, 12)
    prepared: list[object] = []
    panic: Any = type("PanicException", (BaseException,), {})

    def solve() -> Any:
        if kind == "no numbers":
            return SimpleNamespace(z=[np.nan], x=[np.nan], status="NumericalError")
        raise panic("Eigval error") if kind == "breakdown" else MemoryError("no room")

    def prepare(conic: Any, seconds: float | None) -> Any:
        prepared.append(conic)
        return SimpleNamespace(update=lambda **_: None, solve=solve)

    monkeypatch.setattr(inner.linear_minima, "_prepared", prepare)
    if kind == "memory":
        with pytest.raises(MemoryError, match="no room"):
            tighten(data, penalty=1.0, intercept="free")
        return
    found, start = beside_start(data, "penalised", relaxation="sdp", rounds=1)
    assert found.bounds.upper == pytest.approx(start.upper, rel=1e-10)
    assert found.bounds.lower == pytest.approx(start.lower, rel=1e-10)
    assert found.bounds.intercept == start.intercept
    assert found.bound == 0.0
    assert found.trace[-1].failed == found.trace[-1].solves > 0
    assert (len(prepared) > found.trace[-1].failed) == (kind == "breakdown")


def test_given_bounds_are_built_upon_and_are_given_room() -> None:
    data, words = random_data(6, 10), {"relaxation": "sdp", "rounds": 1}
    first, start = beside_start(data, "penalised", **words)
    known = {"bounds": first.bounds, "incumbent": first.incumbent}
    further, _ = beside_start(data, "penalised", **words, **known)
    assert (further.bounds.upper <= first.bounds.upper).all()
    assert further.bounds.upper.sum() < first.bounds.upper.sum()
    assert further.bound > first.bound
    assert cut_off(data, further.bounds, 1.0, "penalised") == 0
    start = forms.closed_slack_bounds(data, penalty=1.0, intercept="penalised")
    roomy = inner.tighten._with_room(start, start.cutoff, 1e-4)
    assert roomy.cutoff == pytest.approx(start.cutoff * (1 + 1e-4), rel=1e-12)
    assert roomy.norm2 - start.norm2 == pytest.approx(1e-4 * start.cutoff, rel=1e-9)
    assert inner.tighten._with_room(roomy, start.cutoff, 1e-4).norm2 == roomy.norm2


PENALTY = 1.3
LARGEST = Fraction(np.finfo(float).max)


def exact_pair(data: TrainingData, i: int, j: int, mode: str) -> Fraction | None:
    """rho by its printed formula in fractions; None for infinity."""
    columns = np.vectorize(Fraction, otypes=[object])(data.X)
    if mode == "free":
        if data.y[i] == data.y[j]:
            return Fraction(0)
        apart = ((columns[i] - columns[j]) ** 2).sum()
        return None if apart == 0 else 4 / apart
    gram = columns @ columns.T + (mode == "penalised")
    gi, gj, g = gram[i, i], gram[j, j], int(data.y[i] * data.y[j]) * gram[i, j]
    if g >= min(gi, gj):
        return None if min(gi, gj) == 0 else 1 / min(gi, gj)
    area = gi * gj - g * g
    return None if area == 0 else (gi + gj - 2 * g) / area


coordinate = st.one_of(
    st.floats(-4, 4),
    st.sampled_from([0.0, 1.0, -1.0, 1 + 1e-9, -1 - 1e-12, 1e-8, 1e6, -1e6 - 1e-6]),
)


@settings(max_examples=150 if FULL else 60)
@given(
    X=st.lists(st.lists(coordinate, min_size=2, max_size=2), min_size=3, max_size=3),
    mode=st.sampled_from(INTERCEPTS),
    sign=st.sampled_from([1, -1]),
)
def test_norms_of_pairs_are_never_too_large(X: list[list[float]], mode: str, sign: int) -> None:
    data = TrainingData(X, [1, sign, -sign])
    found = forms.pair_norms(data, mode)
    for i, j in itertools.permutations(range(3), 2):
        exact = exact_pair(data, i, j, mode)
        own = (
            forms.proven_norm(data, (i, j), [0.3, 0.7], mode),
            forms.least_kept_norm(data, (i, j), mode),
        )
        for value in (found[i, j], *own):
            assert exact is None or exact > LARGEST or Fraction(float(value)) <= exact


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_norms_of_sets_are_the_hard_margin_optimum(mode: str) -> None:
    data = points("separable", 2, n=12, d=3)
    rows = rows_of(data, mode)
    rng = np.random.default_rng(0)
    alone, pairs = forms.single_norms(data, mode), forms.pair_norms(data, mode)
    for size in (1, 1, 2, 2, 2, 3, 5, 8):
        chosen = rng.choice(12, size, replace=False).tolist()
        expected = reference_solutions.least_norm(rows[chosen], mode == "free")
        found = forms.least_kept_norm(data, chosen, mode)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-9)
        if size < 3:
            closed = alone[chosen[0]] if size == 1 else pairs[tuple(chosen)]
            assert closed == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert found <= expected * (1 + 1e-9)
        for _ in range(20):
            assert (
                forms.proven_norm(data, chosen, rng.uniform(-1, 1, size), mode) <= expected + 1e-9
            )


def closed(data: TrainingData, mode: str, penalty: float = PENALTY) -> forms.SlackBounds:
    best = zero_one_by_sets(data, penalty=penalty, intercept=mode)
    assert best.w is not None
    assert best.b is not None
    return forms.closed_slack_bounds(
        data, penalty=penalty, intercept=mode, incumbent=(best.w, best.b)
    )


def kept_sets(data: TrainingData, mode: str, cutoff: float, penalty: float) -> list[set[int]]:
    """Every set of points that a hyperplane no worse than the cutoff keeps, by brute force."""
    rows, n = rows_of(data, mode), data.n
    return [
        set(kept)
        for size in range(n + 1)
        for kept in itertools.combinations(range(n), size)
        if penalty * (n - size) <= cutoff
        and reference_solutions.least_norm(rows[list(kept)], mode == "free") + penalty * (n - size)
        <= cutoff * (1 + 1e-9)
    ]


@pytest.mark.parametrize(
    ("kind", "mode", "honest"),
    covering(("overlapping", "separable", "clustered"), INTERCEPTS, (True, False)),
)
def test_no_set_that_is_kept_within_the_cutoff_holds_a_conflict(
    kind: str, mode: str, honest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor with multipliers that are random numbers: conflicts come from their proof alone."""
    rng = np.random.default_rng(0)
    if kind == "clustered":
        data = outlier_data("clustered", n=11, d=1, sigma=0.8, seed=4)
    else:
        data = points(kind, 4, n=9)
    if not honest:
        monkeypatch.setattr(
            inner.conflicts,
            "hard_margin_weights",
            lambda data, at, mode: rng.uniform(-0.5, 1, len(at)),
        )
    bounds = closed(data, mode)
    for slack in (1.0, 1.3):
        start = replace(bounds, cutoff=bounds.cutoff * slack, norm2=bounds.norm2 * slack)
        z = rng.uniform(0, 0.5, data.n)
        found = with_conflicts(start, data, penalty=PENALTY, intercept=mode, z=z)
        kept = kept_sets(data, mode, start.cutoff, PENALTY)
        assert kept
        for points_kept in kept:
            for group in found.conflicts:
                assert not set(group) <= points_kept, f"{group} can be kept"
            violated = set(range(data.n)) - points_kept
            assert set(np.flatnonzero(found.violated)) <= violated
            assert len(violated) * PENALTY >= start.cutoff - found.norm2 - 1e-9
    if kind == "overlapping" and honest:
        assert found.conflicts
