"""Derived M and slack bounds keep an optimum, by brute force, by hand and in exact arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import (
    SlackBounds,
    closed_slack_bounds,
    derive_big_m,
    derive_intercept_bound,
    derive_ramp_big_m,
    margins,
    ramp_l1_big_m_everywhere,
    ramp_l1_objective,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tests.inside.solvers import zero_one_incumbent
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import big_m_optimum, ramp_optimum, zero_one_optima
from tests.references.reference_solutions import INTERCEPTS
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL, covering
from tightmargin.formulations import TrainingData, zero_one_hinge
from tightmargin.solvers import solve


def cloud(seed: int, n: int = 6, d: int = 2) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    return TrainingData(rng.standard_normal((n, d)) + 0.4 * y[:, None], y)


# --- 0-1 loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("intercept", "penalty"), covering(INTERCEPTS, [0.3, 2.0, 30.0]))
def test_derived_values_keep_the_optimum(intercept: str, penalty: float) -> None:
    for seed in range(8 if FULL else 2):
        data = cloud(seed, d=1 + seed % 2)
        (optimum,) = zero_one_optima(data, [penalty], intercept)
        for known in (None, optimum * (1 + 1e-9)):
            derived = derive_big_m(data, penalty=penalty, intercept=intercept, upper_bound=known)
            found = big_m_optimum(data, penalty, intercept, derived.values)
            assert found == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(
    ("intercept", "norms"), [("penalised", [math.sqrt(26), math.sqrt(2)]), ("none", [5.0, 1.0])]
)
def test_formula_by_hand(intercept: str, norms: list[float]) -> None:
    data = TrainingData([[3.0, 4.0], [0.0, 1.0]], [1, -1])
    derived = derive_big_m(data, penalty=1.0, intercept=intercept, upper_bound=1.25)
    assert derived.upper_bound == 1.25
    assert derived.values == pytest.approx([1 + 0.5 * norm for norm in norms], rel=1e-11)
    assert (derived.values >= [1 + 0.5 * norm for norm in norms]).all()
    assert "sqrt(1.25 - 1) = 0.5" in derived.proof


def test_free_formula_by_hand() -> None:
    # Negatives at 0, 3, 7 (reaches 7, 4, 7), one positive; UB 1.25 leaves ||w|| <= 1/2.
    data = TrainingData([[0.0], [3.0], [7.0], [2.0]], [-1, -1, -1, 1])
    derived = derive_big_m(data, penalty=1.0, intercept="free", upper_bound=1.25)
    assert derived.upper_bound == 1.0  # all points to the majority is better
    assert derived.values == pytest.approx([2.0] * 4, rel=1e-11)
    big = TrainingData(np.vstack([data.X, [[2.0], [2.5]]]), [-1, -1, -1, 1, 1, 1])
    derived = derive_big_m(big, penalty=1.0, intercept="free", upper_bound=1.25)
    assert derived.values == pytest.approx([3.5, 2.0, 3.5, 2.0, 2.0, 2.0], rel=1e-11)


# --- ramp loss -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("intercept", "C"), covering(INTERCEPTS, [0.2, 10.0]))
def test_derived_values_keep_the_ramp_optimum(intercept: str, C: float) -> None:
    for seed in range(3 if FULL else 1):
        data = cloud(seed, n=5, d=1)
        optimum = ramp_optimum(data, C, intercept, None)
        for known in (None, optimum * (1 + 1e-9)):
            derived = derive_ramp_big_m(data, C=C, intercept=intercept, upper_bound=known)
            found = ramp_optimum(data, C, intercept, derived.values)
            assert found == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(
    ("intercept", "expected"),
    [
        ("penalised", [1 + 2 * math.sqrt(26), 1 + 2 * math.sqrt(2), 1 + 2 * math.sqrt(5)]),
        ("none", [11.0, 3.0, 5.0]),
        ("free", [2.0, 2 + 2 * math.sqrt(5), 2 + 2 * math.sqrt(5)]),
    ],
)
def test_ramp_formula_by_hand(intercept: str, expected: list[float]) -> None:
    """C = 1 and UB = 4: 2 (UB - 2 C) = 4, so ||w|| <= 2 where a point is charged in full."""
    data = TrainingData([[3.0, 4.0], [0.0, 1.0], [2.0, 0.0]], [1, -1, -1])
    # Three times, so that no point with w = 0 is better than 4.
    data = TrainingData(np.tile(data.X, (3, 1)), np.tile(data.y, 3))
    expected = expected * 3
    derived = derive_ramp_big_m(data, C=1.0, intercept=intercept, upper_bound=4.0)
    assert derived.upper_bound == 4.0
    assert derived.values == pytest.approx(expected, rel=1e-11)
    assert (derived.values >= expected).all()
    assert "sqrt(2 (4 - 2)) = 2" in derived.proof


def test_the_best_ramp_objective_at_w_0_by_hand() -> None:
    """Five against three: b = 1 pays 2 for each of the three; b = 0.6 is best at C = 0.3."""
    data = TrainingData(np.arange(8.0)[:, None], np.where(np.arange(8) < 5, 1, -1))
    for intercept, C, expected in (
        ("none", 0.3, 2.4), ("free", 0.3, 1.8), ("penalised", 0.3, 2.22), ("penalised", 2.0, 12.5),
    ):  # fmt: skip
        known = derive_ramp_big_m(data, C=C, intercept=intercept).upper_bound
        assert known == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("penalty", "shift"), [(0.3, 3.0), (2.0, 0.0), (30.0, 3.0)])
def test_a_bounded_intercept_keeps_the_optimum(penalty: float, shift: float) -> None:
    for seed in range(4 if FULL else 2):
        plain = cloud(seed, d=1)
        data = TrainingData(plain.X + shift, plain.y)
        best = zero_one_by_sets(data, penalty=penalty, intercept="free")
        known = best.objective * (1 + 1e-9)
        bound = derive_intercept_bound(data, penalty=penalty, upper_bound=known)
        assert bound >= 1  # enough for w = 0
        assert abs(best.b) <= bound or not best.w.any()


# --- the objective as the floats stand, and points without a solve --------------------------------

LINE = TrainingData([[-2.0], [-1.0], [1.0], [3.0], [4.0]], [-1, -1, -1, 1, 1])


def test_objective_counts_by_hand() -> None:
    # w = 1, b = -2: margins 4, 3, 1, 1, 2. A margin of exactly 1 is kept.
    for intercept, norm2 in (("free", 1.0), ("penalised", 5.0)):
        assert zero_one_objective(LINE, [1.0], -2.0, penalty=7.0, intercept=intercept) == norm2
    # w = 1, b = 0: margins 2, 1, -1, 3, 4.
    assert zero_one_objective(LINE, [1.0], 0.0, penalty=7.0, intercept="none") == 8.0
    below = np.nextafter(1.0, 0.0)
    pair = TrainingData([[1.0], [-1.0]], [1, -1])
    assert zero_one_objective(pair, [1.0], 0.0, penalty=1.0, intercept="none") == 1.0
    assert zero_one_objective(pair, [below], 0.0, penalty=1.0, intercept="none") > 2.9


def test_trivial_points_are_what_they_claim() -> None:
    for intercept, penalty, expected in (
        ("free", 0.1, [0.2, 0.3, 0.5]),
        ("penalised", 0.1, [0.5, 1.2, 1.3]),
        ("none", 2.0, [10.0]),
    ):
        points = trivial_points(LINE, penalty=penalty, intercept=intercept)
        assert [p.objective for p in points] == pytest.approx(expected, rel=1e-15)
        for p in points:
            assert not p.w.any()
            value = zero_one_objective(LINE, p.w, p.b, penalty=penalty, intercept=intercept)
            assert value == p.objective


@given(st.integers(0, 10**6), st.sampled_from([0.0, 3.0, 1e4]))
def test_stretched_points_are_kept_in_exact_arithmetic(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    data = TrainingData(rng.standard_normal((12, 3)) + offset, rng.permutation([-1, 1] * 6))
    w = rng.standard_normal(3)
    b = float(rng.standard_normal() - w @ data.X.mean(axis=0))
    u = margins(data, w, b)
    kept = u >= np.quantile(u[u > 1e-3], 0.3) if (u > 1e-3).any() else u > 1e-3
    stretched = scale_onto_margin(data, w, b, kept)
    if stretched is None:
        assert not kept.any()
        return
    v, c = stretched
    for i in np.flatnonzero(kept):
        pairs = zip(data.X[i].tolist(), v.tolist(), strict=True)
        score = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(c))
        assert int(data.y[i]) * score >= 1
        backwards = 0.0
        for x, y in zip(data.X[i, ::-1], v[::-1], strict=True):
            backwards += x * y
        assert data.y[i] * (backwards + c) >= 1
    # The least such stretch, up to the rounding error of a margin.
    error = 1e-14 * (1 + np.abs(data.X).max() * np.abs(v).sum())
    assert margins(data, v, c)[kept].min() <= 1 + 100 * error


def test_nothing_to_stretch() -> None:
    nobody, everybody = np.zeros(5, dtype=bool), np.ones(5, dtype=bool)
    assert scale_onto_margin(LINE, [1.0], -2.0, nobody) is None
    assert scale_onto_margin(LINE, [1.0], 0.0, everybody) is None  # the third is misclassified
    assert scale_onto_margin(LINE, [0.0], 0.0, everybody) is None


# --- the ramp loss with the l1 norm ---------------------------------------------------------------

SEEDS = range(12) if FULL else (0, 4, 8)  # each mode of the intercept with another price


def mixed(seed: int) -> tm.TrainingData:
    """Points on a small grid: copies of both labels and points at the origin among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    y = rng.permutation(np.where(np.arange(n) < 2, 1, -1))
    return tm.TrainingData(rng.integers(-2, 3, size=(n, 2)).astype(float), y)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hyperplane_violates_a_paid_point_by_more_than_m_at_its_own_objective(seed: int) -> None:
    """The statement behind M: it holds for every hyperplane, with V its objective."""
    rng = np.random.default_rng(seed)
    data, mode, C = mixed(seed), INTERCEPTS[seed % 3], 0.7
    tight = 0.0
    for _ in range(100):
        j, size = int(rng.integers(data.d)), rng.exponential(4.0)
        w, b = size * rng.laplace(size=data.d) * 0.1, float(rng.laplace())
        w[j] += rng.choice([-size, size])
        b = 0.0 if mode == "none" else b
        value = ramp_l1_objective(data, w, b, C, mode)
        big_m = ramp_l1_big_m_everywhere(data, C, mode, value)
        violation = 1 - data.y * (data.X @ w + b)
        paid = violation > 2
        assert (violation[paid] <= big_m[paid]).all()
        tight = max(tight, float((violation[paid] / big_m[paid]).max(initial=0.0)))
    if mode == "none":
        assert tight > 0.3, "values that nothing comes near would pass whatever they are"


# --- slack bounds ---------------------------------------------------------------------------------

DATA = cloud(2, n=22)


@pytest.mark.parametrize(("intercept", "penalty"), covering(INTERCEPTS, [0.05, 1.0, 40.0]))
def test_closed_slack_bounds_admit_an_optimum(intercept: str, penalty: float) -> None:
    """The enumerated one, or one with w = 0 that ties with it; points on a grid have ties."""
    words: dict[str, Any] = {"penalty": penalty, "intercept": intercept}
    for seed in range(20 if FULL else 7):
        data = mixed(seed)
        found = zero_one_by_sets(data, **words)
        optima = [(found.w, found.b)]
        if intercept == "free":
            optima += [(np.zeros(data.d), b) for b in (-1.0, 1.0)]
        known = (found.w, found.b) if seed % 2 else None
        bounds = closed_slack_bounds(data, incumbent=known, **words)
        assert any(
            bounds.admits(data, w, b, intercept)
            for w, b in optima
            if zero_one_objective(data, w, b, **words) <= found.objective * (1 + 1e-9)
        )


def test_admits_looks_at_every_statement() -> None:
    data = cloud(0)
    w, b = np.array([3.0, 2.0]), 0.4
    v = 1 - data.y * (data.X @ w + b)
    tight = SlackBounds(v - 1e-9, v + 1e-9, float(w @ w) + 1e-9, (0.39, 0.41), 1.0, "")
    assert tight.admits(data, w, b, "free")
    kept = tuple(int(i) for i in np.flatnonzero(v <= 0)[:2])
    assert len(kept) == 2
    for change in (
        {"lower": v + 1e-6}, {"upper": v - 1e-6}, {"norm2": 0.1}, {"intercept": (-1.0, 0.3)},
        {"conflicts": (kept,)},
    ):  # fmt: skip
        assert not replace(tight, **change).admits(data, w, b, "free")  # type: ignore[arg-type]


def test_tightened_is_a_word_of_the_command_line(tmp_path: Path) -> None:
    data, file = write_csv(tmp_path / "points.csv", DATA), tmp_path / "r.json"
    words = ["zero_one_big_m", "--data", str(data), "--set", "penalty=1", "big_m=tightened"]
    done = run("solve", *words, "--out", str(file), "--json")
    assert done.code == 0, done.stderr
    exact = zero_one_by_sets(DATA, penalty=1.0, intercept="penalised").objective
    assert done.json["objective"] == pytest.approx(exact, rel=1e-6)
    assert done.json["parameters"]["slack_bounds"]["proof"]
    assert run("certify", str(file)).code == 0
    refused = run("solve", "ramp_big_m", *words[1:3], "--set", "C=1", "big_m=tightened")
    assert refused.code == 2
    assert "takes no tightened bounds" in refused.stderr


def hinge_with(bounds: SlackBounds) -> str:
    """What the certificate says against the M of some slack bounds."""
    found = zero_one_incumbent(DATA, penalty=1.0, intercept="penalised")
    model = zero_one_hinge(
        DATA, penalty=1.0, big_m="derived", incumbent=(found.w, found.b), slack_bounds=bounds
    )
    return solve(model).certificate.unproven


def test_slack_bounds_without_a_proof_or_with_a_false_one_are_upper_bounds_only() -> None:
    bounds = closed_slack_bounds(DATA, penalty=1.0, intercept="penalised")
    assert hinge_with(bounds) == ""
    forged = replace(bounds, upper=np.minimum(bounds.upper, 0.5), proof="")
    assert "no proof" in hinge_with(forged)
    forged = replace(bounds, upper=np.full(22, -0.1), lower=np.full(22, -50.0), proof="trust me")
    assert "leave out a known point" in hinge_with(forged)
