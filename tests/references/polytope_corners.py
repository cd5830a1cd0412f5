"""The extended nu-SVC's polytope P = {w : h(w) <= 1} by brute force (tests only).

Nothing here is shared with formulations/ or cuts/: h by a full sort, its corners by every set of
d + 1 tied points.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]

TIED = 1e-9


def gauss(seed: int, n: int, d: int, share: float = 0.5, shift: float = 1.0) -> TrainingData:
    """Two normal clouds whose means are `shift` apart."""
    rng = np.random.default_rng(seed)
    positive = round(n * share)
    wider = 1 + 0.5 * np.arange(d) / max(1, d - 1)
    X = np.vstack([
        rng.standard_normal((positive, d)) * wider + shift / np.sqrt(d),
        rng.standard_normal((n - positive, d)),
    ])  # fmt: skip
    return TrainingData(X, np.where(np.arange(n) < positive, 1.0, -1.0))


def levels(data: TrainingData, nu: float, caps: Array, weights: Array) -> Array:
    """h at each row of weights (m, d), b being free: nu / 2 of the lowest of each class."""
    total = np.zeros(len(weights))
    for side in (1.0, -1.0):
        own = data.y == side
        scores = side * (weights @ data.X[own].T)
        order = np.argsort(scores, axis=1)
        scores, given = np.take_along_axis(scores, order, axis=1), caps[own][order]
        before = np.cumsum(given, axis=1) - given
        shares = np.clip(nu / 2 - before, 0.0, given)
        total -= (shares * scores).sum(axis=1)
    return total


def corners(data: TrainingData, nu: float, caps: Array) -> Array:
    """All corners (m, d) of P: directions pinned by d + 1 ties that share what mass is left."""
    d, found = data.d, []
    groups = [np.flatnonzero(data.y == side) for side in (1.0, -1.0)]
    for first in range(d + 2):
        for left in itertools.combinations(groups[0], first):
            rows = data.X[list(left[1:])] - data.X[left[0]] if left else np.zeros((0, d))
            for right in itertools.combinations(groups[1], d + 1 - first):
                more = data.X[list(right[1:])] - data.X[right[0]] if right else np.zeros((0, d))
                found.append(np.vstack([rows, more])[: d - 1])
                if len(rows) + len(more) != d - 1:
                    found.pop()
    _, size, right_vectors = np.linalg.svd(np.array(found))
    pinned = size[:, -1] > 1e-10 if d > 1 else np.ones(len(found), dtype=bool)
    directions = right_vectors[pinned, -1, :]
    both = np.vstack([directions, -directions])
    both = both[_is_corner(data, nu, caps, both)]
    both = both / levels(data, nu, caps, both)[:, None]
    kept = np.unique(np.round(both, 10), axis=0, return_index=True)[1]
    return both[kept]


def _is_corner(data: TrainingData, nu: float, caps: Array, weights: Array) -> Array:
    """Whether the points tied at the last used score of each class leave one direction only."""
    answer = np.zeros(len(weights), dtype=bool)
    for k, w in enumerate(weights):
        rows = [np.zeros((0, data.d))]
        for side in (1.0, -1.0):
            own = np.flatnonzero(data.y == side)
            scores = side * (data.X[own] @ w)
            order = np.argsort(scores)
            last = scores[order][int(np.searchsorted(np.cumsum(caps[own][order]), nu / 2 - 1e-12))]
            tied = own[np.abs(scores - last) <= TIED * np.abs(scores).max()]
            below = own[scores < last - TIED * np.abs(scores).max()]
            left = nu / 2 - caps[below].sum()
            if 1e-12 < left < caps[tied].sum() - 1e-12:
                rows.append(data.X[tied[1:]] - data.X[tied[0]])
        answer[k] = np.linalg.matrix_rank(np.vstack(rows), tol=1e-9) == data.d - 1
    return answer
