"""Upper ends of rows and batch machines, beside the same formulas in fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import (
    Array,
    Lemma,
    most_hinge,
    most_squares,
    origin_now,
    score_errors,
    summed_up,
)
from tests.inside.solvers import by_lemma, hinge_block, judged, point_by_formula, rsvm_point
from tests.soundness.exact import dot, fractions
from tests.support.covering import FULL
from tightmargin.cuts import extended_nu_path
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import Verdict, class_probabilities, conic_path

SCALES = (1e-6, 1.0, 1e6)
ZERO, ONE = Fraction(), Fraction(1)
CLOSE = Fraction(1, 10**11)  # of the terms: an upper end that is far off proves nothing


def samples(
    seeds: int, many: int | None = None, n: int = 14, d: int = 3
) -> Iterator[tuple[TrainingData, float]]:
    """Overlapping points in three units, around 0 and a hundred times their size away from it."""
    for seed in range(many if many and FULL else seeds):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        X = rng.normal(size=(n, d)) + 0.7 * y[:, None] + (100.0 if seed % 3 == 2 else 0.0)
        for scale in SCALES if FULL else (SCALES[seed % 3], SCALES[(seed + 1) % 3]):
            yield TrainingData(X * scale, y), scale


def hinges(data: TrainingData, w: Array, b: float, shrunk: Fraction = ONE) -> list[Fraction]:
    """Losses of a hyperplane, w drawn in by a factor."""
    weight, level = [shrunk * a for a in fractions(w)], Fraction(float(b))
    return [
        max(ZERO, ONE - int(sign) * (dot(fractions(x), weight) + level))
        for sign, x in zip(data.y.tolist(), data.X, strict=True)
    ]


def square(numbers: Array) -> Fraction:
    exact = fractions(np.ravel(numbers))
    return dot(exact, exact)


def terms(data: TrainingData, w: Array, b: float) -> Fraction:
    """Sizes of all that is added up in a score: what rounding is relative to."""
    sizes = np.abs(data.X) @ np.abs(w) + abs(b) + 1
    return sum(fractions(sizes), ZERO)


def is_above(upper: float, exact: Fraction, size: Fraction) -> bool:
    """Whether an end is no smaller than what it is of, and not much larger."""
    return exact <= Fraction(upper) <= exact + CLOSE * size


@pytest.mark.parametrize("scale", SCALES)
def test_sums_are_never_below_the_true_ones(scale: float) -> None:
    for seed in range(60 if FULL else 10):
        rng = np.random.default_rng(seed)
        n, d = 9, 5
        data = TrainingData(rng.normal(size=(n, d)) * scale, np.where(np.arange(n) % 2, 1.0, -1.0))
        X, w, b = data.y[:, None] * data.X, rng.normal(size=d) / scale, float(rng.normal())
        scores, errors = X @ w + data.y * b, score_errors(X, w, b)
        losses = hinges(data, w, b)
        for s, e, x, y in zip(scores, errors, X, data.y.tolist(), strict=True):
            true = dot(fractions(x), fractions(w)) + int(y) * Fraction(b)
            assert abs(Fraction(s) - true) <= Fraction(e)
        most = most_hinge(scores, errors)
        assert all(is_above(m, x, 100 * (1 + x)) for m, x in zip(most, losses, strict=True))
        costs = rng.uniform(size=n)
        total = dot(fractions(costs), losses)
        assert is_above(summed_up(costs, most), total, 100 * (1 + total))
        assert is_above(most_squares(w), square(w), square(w))
    assert most_squares(np.zeros(4)) == summed_up(np.ones(2), np.zeros(2)) == 0.0
    assert most_hinge(np.array([2.0, 3.0]), np.full(2, 1e-12)).tolist() == [0.0, 0.0]
    # A score of 1 to rounding may lose something.
    assert most_hinge(np.ones(1), np.full(1, 1e-16))[0] >= 1e-16


def test_the_loss_of_the_rigorous_svm_is_at_most_its_upper_end() -> None:
    """A w beyond its ball by a rounding is drawn in to q w."""
    inside = drawn = 0
    for data, scale in samples(6, 9):
        rng = np.random.default_rng(data.n)
        for H in (0.3 / scale, 0.7 / scale, 2.0 / scale):
            for alpha in (np.full(data.n, 0.5), rng.uniform(size=data.n)):
                point = rsvm_point(data, H, alpha)
                over = square(point.w) / Fraction(H) ** 2
                inside, drawn = inside + (over <= 1), drawn + 1
                if over > 1 and data.X[0].min() > 10 * scale:  # there it is drawn in around others
                    continue
                q = min(ONE, 2 - over)  # below 1 / sqrt(over), and above it by nothing that counts
                loss = sum(hinges(data, point.w, point.b, q), ZERO)
                assert loss <= Fraction(point.upper) * (1 + Fraction(1, 10**14) * (over > 1))
                assert over > 1 or is_above(point.upper, loss, terms(data, point.w, point.b))
    assert drawn / 3 <= inside < drawn


@pytest.mark.parametrize("mode", ["free", "penalised", "none"])
def test_hinge_machines_and_weighted_machines(mode: str) -> None:
    def judged(row: Any, square_costs: Fraction, costs: list[Fraction]) -> None:
        w = np.append(row.w, row.b) if mode == "penalised" else row.w
        value = square_costs * square(w) + dot(costs, hinges(data, row.w, row.b))
        size = square_costs * square(w) + max(costs) * terms(data, row.w, row.b)
        assert Fraction(row.bound) <= value
        assert is_above(row.upper, value, size)

    for data, scale in samples(3, 6):
        C = 0.4 / scale**2
        for machine in hinge_block(data, np.array([C, 10 * C]), mode):
            judged(machine, Fraction(1, 2), [Fraction(machine.C)] * data.n)
        ridge = 0.05 * scale**2
        for row in class_probabilities(data, ridge=ridge, grid=3, intercept=mode).rows:
            pi = Fraction(row.pi)
            judged(row, Fraction(ridge), [(1 - pi if y > 0 else pi) / data.n for y in data.y])


def spent(data: TrainingData, F: Array) -> Fraction:
    """Sum of v^2 / (v^2 + h) over v > 0, at points with a 1."""
    total, rows = ZERO, [fractions(row) for row in F]
    for sign, x in zip(data.y.tolist(), data.X, strict=True):
        s = [int(sign) * a for a in [*fractions(x), ONE]]
        v, *lifted = [dot(row, s) for row in rows]
        v = 1 - v
        if v > 0:
            total += v * v / (v * v + sum((a * a for a in lifted), ZERO))
    return total


def test_conic_rows() -> None:
    for data, scale in samples(3, 4, n=8, d=2):
        size = 100 * scale if data.X.min() > 10 * scale else scale
        for row in conic_path(data, penalties=[0.3 / size**2, 30 / size**2]).rows:
            value = square(row.factor) + Fraction(row.penalty) * spent(data, row.factor)
            assert Fraction(row.bound) <= value <= Fraction(row.upper)
            if row.verdict is Verdict.CERTIFIED:
                assert Fraction(row.upper) - value <= Fraction(1, 10**6) * value


def risk(data: TrainingData, nu: float, w: Array) -> Fraction:
    """-(the least mass of nu / 2 in each class of the scores): h(w), weights 1 / n as doubles."""
    total, cap = ZERO, Fraction(1 / data.n)
    whole, rest = divmod(Fraction(nu) / 2, cap)
    for sign in (1, -1):
        scores = sorted(sign * dot(fractions(x), fractions(w)) for x in data.X[data.y == sign])
        assert whole < len(scores)
        total -= cap * sum(scores[:whole]) + rest * scores[whole]
    return total


def test_rows_of_the_extended_nu_path() -> None:
    for data, _ in samples(2, 6, n=8, d=2):
        for row in extended_nu_path(data, [0.9, 0.35, 0.15]).rows:
            value, length = risk(data, row.nu, row.w), square(row.w)
            upper = Fraction(row.upper)
            # upper >= h / ||w||, without the root.
            assert upper * abs(upper) * length >= value * abs(value)
            radius = Fraction(float(np.abs(data.X - data.X.mean(axis=0)).max()))
            assert abs(upper - Fraction(row.objective)) <= 100 * CLOSE * radius
            if row.verdict is Verdict.CERTIFIED:
                assert row.upper - row.bound <= 1e-6 * max(abs(row.upper), abs(row.bound))


@pytest.mark.parametrize("mode", ["free", "penalised", "none"])
def test_the_product_of_two_factors_costs_at_most_its_upper_end(mode: str) -> None:
    ridge, (m, n, rank) = 0.3, (2, 3, 1)
    for data, scale in samples(3, 6, d=m * n):
        rng = np.random.default_rng(data.n)
        model = tm.matrix_svc_bilinear(
            data, ridge=ridge, shape=(m, n), rank=rank, intercept=mode,
            incumbent=(np.full(m * n, -1e4 / scale), 0.0),
        )  # fmt: skip
        values = {"w": np.zeros(m * n), "b": np.array(0.1), "U": rng.normal(size=(m, rank))}
        values["V"] = rng.normal(size=(n, rank)) * 1e-3 / scale
        origin = origin_now(model)
        found = CATALOGUE[origin.entry].check(origin, values)
        assert found.error is not None
        U, V = (np.reshape(found.repaired[name], (-1, rank)) for name in ("U", "V"))
        product = [dot(fractions(u), fractions(v)) for u in U for v in V]
        b = Fraction(float(found.repaired["b"])) if mode != "none" else ZERO
        scores = [
            int(s) * (dot(fractions(x), product) + b) for s, x in zip(data.y, data.X, strict=True)
        ]
        loss = sum((max(ZERO, ONE - score) for score in scores), ZERO)
        norm = dot(product, product) + (b * b if mode == "penalised" else ZERO)
        exact = loss + Fraction(ridge) / 2 * norm
        assert exact <= Fraction(found.objective) + Fraction(found.error) <= exact * (1 + CLOSE)


def test_a_point_that_misses_a_row_is_within_tolerance_at_best() -> None:
    below = by_lemma("x", Lemma(0.0, "losses are not negative", {"they are": True}))
    for eps, expected in (
        (0.0, Verdict.CERTIFIED),
        (1e-10, Verdict.WITHIN_TOLERANCE),
        (1e-8, Verdict.NOT_CERTIFIED),
    ):
        worst = "norm" if eps else ""
        point = point_by_formula("x", 0.0, 0.0, "for a test", eps=eps, worst=worst)
        assert judged(point, below).verdict is expected
    assert math.isinf(point_by_formula("x", 1.0, math.inf, "for a test").varying)
    assert point_by_formula("x", 1.0, 2.0**-60, "for a test").varying > 1.0
