"""The 0-1 optimum by trying every active set (tests only).

Given the points that an optimum keeps, it has least norm2 with margins >= 1 there; by Caratheodory
it is the point of least norm with u_i = y_i (<w, x_i> + b) = 1 on at most k independent points, k
the number of coordinates of (w, b), both classes among them where b is free, or it has w = 0. Each
of these points is an upper bound, and one of them is the optimum.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.inside.formulations import margins, trivial_points
from tightmargin.formulations import TrainingData

AT_ONCE = 20_000
TOUCHES, STRETCH = 1e-9, 1e-12  # of the margin; the latter so that what touches is kept


@dataclass(frozen=True, eq=False)
class Optimum:
    """(w, b), its objective, and the points with u_i >= 1."""

    objective: float
    w: NDArray[np.float64]
    b: float
    kept: NDArray[np.bool_]


def zero_one_by_sets(data: TrainingData, *, penalty: float, intercept: str) -> Optimum:
    """The optimum over all active sets."""
    words = {"penalty": penalty, "intercept": intercept}
    start = trivial_points(data, **words)[0]
    best = start.objective, start.w, float(start.b)
    labelled = np.unique(np.column_stack([data.y, data.X + 0.0]), axis=0)
    y, free, shift = labelled[:, 0], intercept == "free", np.zeros(data.d)
    rows = labelled[:, 1:]
    if free:  # the norm of b is no part of the objective: centred, its column asks for little
        shift = rows.mean(axis=0)
    rows = y[:, None] * np.column_stack([rows - shift, np.full(len(y), float(intercept != "none"))])
    original = np.column_stack([data.X - shift, np.full(data.n, float(intercept != "none"))])
    mass = data.multiplicity
    for size in range(1, data.d + (intercept != "none") + 1):
        sets = itertools.combinations(range(len(y)), size)
        while len(members := np.array(list(itertools.islice(sets, AT_ONCE)), dtype=int)):
            if free:
                members = members[np.abs(y[members].sum(axis=1)) < size]
            v = _least_norm(rows[members], free) if len(members) else np.zeros((0, data.d + 1))
            u = data.y * (v @ original.T)
            norm2 = (v[:, : data.d] ** 2).sum(axis=1) + (intercept == "penalised") * v[:, -1] ** 2
            low = norm2 + penalty * ((u < 1 - TOUCHES) @ mass)
            if len(low) and low.min() < best[0]:
                k = int(low.argmin())
                w = v[k, :-1] * (1 + STRETCH)
                best = float(low[k]), w, float(v[k, -1]) * (1 + STRETCH) - float(w @ shift)
    return Optimum(*best, margins(data, best[1], best[2]) >= 1)


def _least_norm(rows: NDArray[np.float64], free: bool) -> NDArray[np.float64]:
    """v of least norm with rows v = 1, the last entry not counted where it is free."""
    ones = np.ones(rows.shape[:2])
    if not free:
        return np.asarray(np.einsum("pij,pj->pi", np.linalg.pinv(rows), ones))
    first = rows[:, :1]
    # b = (1 - <first, w>) / label: what is left speaks of w alone.
    ratio = rows[:, :, -1:] / first[:, :, -1:]
    reduced = (rows - ratio * first)[:, 1:, :-1]
    w = np.einsum("pij,pj->pi", np.linalg.pinv(reduced), (ones - ratio[:, :, 0])[:, 1:])
    b = (1 - np.einsum("pj,pj->p", first[:, 0, :-1], w)) / first[:, 0, -1]
    return np.column_stack([w, b])
