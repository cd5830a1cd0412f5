"""The search behind h_limit: least loss first, then the least norm among its hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows
from tightmargin.solvers.rigorous_svm.norm_limit.multiplier_range import refined
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import (
    LEAST,
    FacePoint,
    least_on_face,
    sides,
)
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import Proofs
from tightmargin.solvers.rigorous_svm.norm_limit.starts import (
    Clock,
    Start,
    face_start,
    hard_start,
    least_loss_start,
)

LP_FEATURES = 100  # up to here the linear program is cheaper than a try by libsvm
END = 1e-6  # how far from -1 and 1 a QP leaves an intercept that belongs there
TOUCHED = (1e-6, 1e-4, 1e-8)  # of the largest multiplier: guesses of what a touched row is


@dataclass(frozen=True, eq=False)
class Found:
    """What a search knows at its end.

    Attributes
    ----------
    start : Start or None
        The first hyperplane of least loss, or the nearest to one.
    alpha : array (n,)
        Multipliers of (10); zeros where there are none yet, and for separable data.
    separable : bool
        Proven when True.
    point : FacePoint or None
        Hyperplane of least norm; None when the time was up first.
    """

    start: Start | None
    alpha: Array
    separable: bool
    point: FacePoint | None


def search(rows: Rows, proofs: Proofs, clock: Clock) -> Found:
    """Least loss, separable or not, least norm; each as far as the time allows."""
    n, d = rows.points.shape
    none = np.zeros(n)
    first: Start | None = None
    if d > LP_FEATURES:
        first = hard_start(rows.points, rows.y)
        if _separates(rows, proofs, first):
            return Found(first, none, True, _least(rows, none, first, True, clock))
    start = least_loss_start(rows, clock)
    if start is None:
        return Found(first, none, False, None)
    separable = _separates(rows, proofs, start)
    alpha = none if separable else refined(rows.points, rows.y, start.alpha)
    return Found(start, alpha, separable, _least(rows, alpha, start, False, clock))


def _separates(rows: Rows, proofs: Proofs, start: Start) -> bool:
    return proofs.least_margin(*rows.weights(start.v, start.c)) > 0


def _least(rows: Rows, alpha: Array, start: Start, hard: bool, clock: Clock) -> FacePoint | None:
    """The least point of the face: by the active rows of libsvm when `hard`, else of a QP."""
    side = sides(alpha)
    if hard:
        for share in TOUCHED:
            guess = start.alpha > share * float(start.alpha.max(initial=0.0))
            found = least_on_face(rows.points, rows.y, side, guess, start.c)
            if found is not None:
                return found
    size = max(1.0, float(np.linalg.norm(start.v)))
    again = face_start(rows.points, rows.y, side, size, clock)
    if again is None:
        return None
    if float(np.linalg.norm(again.v)) < LEAST:
        again = replace(again, v=0 * again.v, c=_without_direction(again.c), alpha=0 * alpha)
    for share in TOUCHED:
        guess = np.abs(again.alpha) > share * float(np.abs(again.alpha).max(initial=0.0))
        found = least_on_face(rows.points, rows.y, side, guess, again.c)
        if found is not None:
            return found
    mu = np.where(side * again.alpha < 0, 0.0, again.alpha)
    return FacePoint(again.v, again.c, mu, np.zeros(len(alpha), dtype=bool), True)


def _without_direction(c: float) -> float:
    """Intercept of w = 0: the ends of the best ones are -1 and 1, met to rounding only."""
    inside = max(-1.0, min(1.0, c))
    return float(np.sign(c)) if 1 - abs(inside) < END else inside
