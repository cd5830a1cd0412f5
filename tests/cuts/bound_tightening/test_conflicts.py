"""Conflicts: their closed forms, and that no point as good as the cutoff is against one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.cuts import conflicts, separated
from tests.inside.experiments import outlier_data
from tests.inside.formulations import (
    SlackBounds,
    closed_slack_bounds,
    least_kept_norm,
    pair_norms,
    proven_norm,
    single_norms,
)
from tests.inside.formulations import conflicts as proof
from tests.inside.solvers import zero_one_enumeration
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.references.strengthened_sdp import rows_of
from tests.support.covering import FULL, covering
from tightmargin.cuts import with_conflicts
from tightmargin.formulations import TrainingData, conic_sdp_strengthened
from tightmargin.solvers import solve

PENALTY = 1.3
LARGEST = Fraction(np.finfo(float).max)


def exact_pair(data: TrainingData, i: int, j: int, mode: str) -> Fraction | None:
    """rho by its printed formula in fractions; None for infinity."""
    columns = [[*map(Fraction, row.tolist())] for row in data.X]
    if mode == "penalised":
        columns = [[*row, Fraction(1)] for row in columns]
    if mode == "free":
        if data.y[i] == data.y[j]:
            return Fraction(0)
        apart = sum(((a - b) ** 2 for a, b in zip(columns[i], columns[j], strict=True)), Fraction())
        return None if apart == 0 else 4 / apart
    sign = int(data.y[i] * data.y[j])
    gi = sum((a * a for a in columns[i]), Fraction())
    gj = sum((a * a for a in columns[j]), Fraction())
    g = sign * sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), Fraction())
    if g >= min(gi, gj):
        return None if min(gi, gj) == 0 else 1 / min(gi, gj)
    area = gi * gj - g * g
    return None if area == 0 else (gi + gj - 2 * g) / area


# --- pairs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_norms_of_pairs_are_those_of_least_norm_problems(mode: str) -> None:
    data = points("overlapping", 3, n=12, d=3)
    rows, free = rows_of(data, mode), mode == "free"
    found, alone = pair_norms(data, mode), single_norms(data, mode)
    for i, j in itertools.combinations(range(12), 2):
        expected = reference_solutions.least_norm(rows[[i, j]], free)
        assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert found[j, i] == pytest.approx(found[i, j], rel=1e-8)
    for i in range(12):
        assert alone[i] == pytest.approx(
            reference_solutions.least_norm(rows[[i]], free), rel=1e-6, abs=1e-9
        )


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
    found = pair_norms(data, mode)
    for i, j in itertools.permutations(range(3), 2):
        exact = exact_pair(data, i, j, mode)
        for value in (
            found[i, j],
            proven_norm(data, (i, j), [0.3, 0.7], mode),
            least_kept_norm(data, (i, j), mode),
        ):
            assert exact is None or exact > LARGEST or Fraction(float(value)) <= exact


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_proven_norms_of_larger_sets_are_the_hard_margin_optimum(mode: str) -> None:
    data = points("separable", 2, n=12, d=3)
    rows = rows_of(data, mode)
    rng = np.random.default_rng(0)
    for size in (3, 5, 8):
        chosen = rng.choice(12, size, replace=False).tolist()
        expected = reference_solutions.least_norm(rows[chosen], mode == "free")
        found = least_kept_norm(data, chosen, mode)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-9)
        assert found <= expected * (1 + 1e-9)
        for _ in range(20):
            assert proven_norm(data, chosen, rng.uniform(-1, 1, size), mode) <= expected + 1e-9


# --- validity ------------------------------------------------------------------------------------


def closed(data: TrainingData, mode: str, penalty: float = PENALTY) -> SlackBounds:
    best = zero_one_enumeration(data, penalty=penalty, intercept=mode)
    assert best.w is not None
    assert best.b is not None
    return closed_slack_bounds(data, penalty=penalty, intercept=mode, incumbent=(best.w, best.b))


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
            conflicts, "hard_margin_weights", lambda data, at, mode: rng.uniform(-0.5, 1, len(at))
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


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_separated_conflicts_are_violated_minimal_and_raise_the_bound(mode: str) -> None:
    data = outlier_data("clustered", n=24, d=2, sigma=0.5, seed=3)
    bounds = closed(data, mode, 1.0)
    words: dict[str, Any] = {"penalty": 1.0, "intercept": mode}
    before = solve(conic_sdp_strengthened(data, slack_bounds=bounds, **words))
    z = before.values["z"]
    found = separated(bounds, data, z, **words)
    assert found
    rows = rows_of(data, mode)
    left = bounds.cutoff - int(bounds.violated.sum())
    for each in found:
        group = list(each.points)
        assert z[group].sum() < 1
        assert each.norm2 > left
        assert reference_solutions.least_norm(rows[group], mode == "free") >= each.norm2 * (
            1 - 1e-7
        )
        for point in group:
            rest = [i for i in group if i != point]
            assert reference_solutions.least_norm(rows[rest], mode == "free") <= left * (1 + 1e-4)
    grown = with_conflicts(bounds, data, z=z, **words)
    assert {each.points for each in found} & set(grown.conflicts)
    after = solve(conic_sdp_strengthened(data, slack_bounds=grown, **words))
    assert after.objective > before.objective + 1e-3


def test_multipliers_of_a_free_intercept_are_balanced_exactly() -> None:
    """Without the balance sum alpha_i y_i = 0 the quotient would promise too much."""
    data = TrainingData([[10.0], [12.0]], [1, -1])
    assert proof.proven_norm(data, (0, 1), [1.0, 0.5], "free") == pytest.approx(1.0)
    assert proof.proven_norm(data, (0, 1), [1.0, 0.0], "free") == 0.0
