"""Sections 1.1, 1.3 and 1.4 of the review put to the test: hard margins, support, duality."""

from __future__ import annotations

from itertools import product

import numpy as np

from tightmargin.experiments.reproduce.lee.statements.statements import (
    SAME,
    Finding,
    finding,
    optimum,
    same,
)
from tightmargin.experiments.statistics.sample_complexity import hard_margin_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.svc.hard_margin import (
    hard_margin_svc,
    hard_margin_svc_dual,
    max_margin_svc,
)
from tightmargin.solvers.solve import solve

SMALL = 1e-9  # of numbers of size 1 that only rounding moves away from 0
ON_MARGIN = 1e-4


def separable(seed: int, n: int = 24, d: int = 3) -> TrainingData:
    """Normal points more than 0.2 away from a hyperplane through 0, labelled by their side."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * n, d))
    normal = rng.standard_normal(d)
    score = X @ normal / np.linalg.norm(normal)
    kept = np.flatnonzero(np.abs(score) > 0.2)[:n]
    return TrainingData(X[kept], np.sign(score[kept]))


def hard_margin_findings() -> list[Finding]:
    """Lemmas 1, 2 and 4, Theorem 1.3, the dual of (3)."""
    data = separable(3)
    free, half_square = optimum(hard_margin_svc(data))
    widest, negative = optimum(max_margin_svc(data))
    plain, least = optimum(hard_margin_svc(data, intercept="none"))
    wide = separable(4, n=12, d=20)  # fewer points than features: their span is not everything
    lifted, _ = optimum(hard_margin_svc(wide, intercept="none"))
    dual, negative_dual = optimum(hard_margin_svc_dual(data, intercept="none"))
    margin, width = 1 / float(np.sqrt(2 * half_square)), -negative
    w, value = lifted.values["w"], -negative_dual
    off = away_from_span(w, wide.X[np.abs(np.abs(wide.X @ w) - 1) < ON_MARGIN])
    squared = 2 * least
    return [
        _distance(),
        finding("hard", stated=width, ours=margin, holds=same(width, margin),
                results=(free, widest)),
        finding("support", stated=0.0, ours=off, holds=off < 1e-5, results=(lifted,)),
        finding("strong", stated=value, ours=least, holds=same(value, least),
                results=(plain, dual)),
        finding("dual", stated=value, ours=squared, holds=same(value, squared),
                corrected=2 * value, corrected_holds=same(2 * value, squared),
                results=(plain, dual)),
        _weak_duality(),
        _dimension(),
    ]  # fmt: skip


def away_from_span(w: Array, points: Array) -> float:
    """Relative distance of w (d,) from the span of points (k, d)."""
    if not len(points):
        return 1.0
    coefficients = np.linalg.lstsq(points.T, w, rcond=None)[0]
    return float(np.linalg.norm(w - points.T @ coefficients) / np.linalg.norm(w))


def _distance() -> Finding:
    """The shortest way to the hyperplane by least squares, whatever Lemma 1 says of it."""
    rng = np.random.default_rng(0)
    X, w, b = rng.standard_normal((50, 4)), rng.standard_normal(4), 0.7
    w /= np.linalg.norm(w)
    # Of all v with <w, x + v> + b = 0 least squares takes the shortest.
    steps = [np.linalg.lstsq(w[None, :], [-(x @ w + b)], rcond=None)[0] for x in X]
    away = float(np.abs(np.linalg.norm(steps, axis=1) - np.abs(X @ w + b)).max())
    return finding("distance", stated=0.0, ours=away, holds=away < SMALL)


def _weak_duality() -> Finding:
    tables = np.random.default_rng(1).standard_normal((200, 5, 7))
    difference = tables.max(axis=2).min(axis=1) - tables.min(axis=1).max(axis=1)
    least = float(difference.min())
    return finding("weak", stated=0.0, ours=least, holds=least >= 0)


def _dimension(d: int = 3) -> Finding:
    """0, e_1, ..., e_d take all labels; of any d + 2 points two parts cannot be told apart."""
    corners = np.vstack([np.zeros(d), np.eye(d)])
    shattered = all(
        # w_j = s_j - s_0 and b = s_0 give corner j the score s_j.
        (np.sign(corners @ (np.array(s[1:]) - s[0]) + s[0]) == s).all()
        for s in product((-1.0, 1.0), repeat=d + 1)
    )
    rng = np.random.default_rng(2)
    met = all(radon_gap(rng.standard_normal((d + 2, d))) < SMALL for _ in range(50))
    return finding(
        "dimension", stated=d + 1, ours=float(d + 1 if shattered and met else np.nan),
        holds=shattered and met,
    )  # fmt: skip


def radon_gap(points: Array) -> float:
    """Distance between a convex combination of some points (d + 2, d) and one of the others.

    c with sum c = 0 and sum c_i x_i = 0 exists for d + 2 points; its positive part and its
    negative part are the two combinations, and no hyperplane tells them apart if they meet.
    """
    rows = np.vstack([points.T, np.ones(len(points))])
    c = np.linalg.svd(rows)[2][-1]
    up, down = np.maximum(c, 0), np.maximum(-c, 0)
    return float(np.linalg.norm(up @ points / up.sum() - down @ points / down.sum()))


def margin_bound_findings() -> list[Finding]:
    """Definition 1 and Theorem 1.1, on K atoms e_j with a label each, equally likely.

    With w* = sum s_j e_j / sqrt(K) the margin is 1 / sqrt(K), and every norm is 1. The hard margin
    is w = sum of s_j e_j over the atoms that were drawn, so that its error is the share of the
    others, about exp(-m / K): as printed rho may be any number up to 1, the margin itself. With
    many atoms the bound so read is below that share, and the bound as meant is still below 1.
    """
    K, m, delta = 100, 500, 0.5
    said = hard_margin_bound(m, margin=K**-0.5, radius=1.0, delta=delta)
    rng = np.random.default_rng(0)
    labels, drawn = rng.choice([-1.0, 1.0], K), rng.integers(K, size=m)
    found = solve(
        hard_margin_svc(TrainingData(np.eye(K)[drawn], labels[drawn]), intercept="none"), "clarabel"
    )
    error = float((labels * found.values["w"] <= SAME).mean())
    many, often = 100_000, 450_000
    unseen, margin = 1 - len(np.unique(rng.integers(many, size=often))) / many, many**-0.5
    printed = hard_margin_bound(often, margin=margin, radius=margin, delta=delta).bound
    meant = hard_margin_bound(often, margin=margin, radius=1.0, delta=delta).bound
    return [
        finding("hard bound", stated=said.bound, ours=error, holds=error <= said.bound,
                results=(found,)),
        finding("radius", stated=printed, ours=unseen, holds=unseen <= printed, corrected=meant,
                corrected_holds=unseen <= meant),
    ]  # fmt: skip
