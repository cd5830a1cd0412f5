"""Ties at a direction, and the edges of P = {w : h(w) <= 1} at a corner, by counting.

At w the scores of each group (a class; all points without a free intercept) split into the tail,
used in full, the ties at the last used score, and the rest. The ties share what mass is left, so
the face of U exposed by w is the product over the groups of

    { lambda on the ties : 0 <= lambda_i <= c_i, sum lambda_i = left },

of dimension |ties| - 1 each (0 when the ties are all used up). P is the polar of U: w / h(w) is a
corner of P when these dimensions sum to k - 1, and the edges of P there belong to the facets of
the product: one tie gets 0 and leaves the tail, or gets c_i and joins it for good. At most two
edges a tie, each from k - 1 equations: no tableau, no list of the vertices of the face, whose
number is exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.nu.support_function import MASS_TOLERANCE, ReducedHulls, lowest

TIE_TOLERANCE = 1e-8  # relative to the largest score
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Ties:
    """How one group stands at a direction.

    tail, tied: points used in full, and points at the last used score that share `left`; the others
        are not used. No point is tied when the mass ends exactly between two scores.
    left: mass for the ties: positive, and less than the sum of their caps.
    """

    tail: Index
    tied: Index
    left: float

    @property
    def dimension(self) -> int:
        """Dimension of the group's share of the exposed face."""
        return max(len(self.tied) - 1, 0)


def ties_at(
    hulls: ReducedHulls, w: ArrayLike, *, tolerance: float = TIE_TOLERANCE
) -> tuple[Ties, ...]:
    """Tail and ties of every group at w (k,).

    tolerance: scores within this share of the largest one count as equal.
    """
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    near = tolerance * float(np.abs(scores).max())
    found = []
    for group in hulls.groups:
        members, own = group.members, scores[group.members]
        taken, _ = lowest(own, group)
        last = own[taken[-1]]
        tail, tied = members[own < last - near], members[np.abs(own - last) <= near]
        left = group.mass - float(hulls.caps[tail].sum())
        if left >= float(hulls.caps[tied].sum()) - MASS_TOLERANCE * group.mass:
            tail, tied, left = np.concatenate([tail, tied]), tied[:0], 0.0
        found.append(Ties(tail, tied, left))
    return tuple(found)


def labels(hulls: ReducedHulls, ties: tuple[Ties, ...]) -> NDArray[np.int8]:
    """Label (n,) of every point: -1 in the tail, 0 tied, +1 not used."""
    marks = np.ones(len(hulls.caps), dtype=np.int8)
    for group in ties:
        marks[group.tail] = -1
        marks[group.tied] = 0
    return marks


def is_corner(hulls: ReducedHulls, ties: tuple[Ties, ...]) -> bool:
    """Whether the ties pin the direction: their count, in general position, makes a corner of P."""
    return sum(group.dimension for group in ties) == hulls.k - 1


def edges(hulls: ReducedHulls, w: ArrayLike, ties: tuple[Ties, ...]) -> Array | None:
    """Unit directions (m, k) of the edges of P at the corner w / h(w).

    The cone they span at the corner contains P. None where the ties do not pin a corner, or are
    not in general position (equal points, say): then the count above is not the geometry.
    """
    if not is_corner(hulls, ties):
        return None
    if hulls.k == 1:
        return -np.sign(np.asarray(w, dtype=np.float64)).reshape(1, 1)
    fixed = _differences(hulls, [group.tied for group in ties])
    tails = -sum((_weighted(hulls, group.tail) for group in ties), np.zeros(hulls.k))
    found: list[Array] = []
    for g, group in enumerate(ties):
        apart = np.vstack([rows for h, rows in enumerate(fixed) if h != g] + [fixed[g][:0]])
        elsewhere = tails + sum(
            (_shared(hulls, other) for h, other in enumerate(ties) if h != g), np.zeros(hulls.k)
        )
        for i in group.tied if len(group.tied) > 1 else ():
            others = group.tied[group.tied != i]
            room = float(hulls.caps[others].sum())
            for given in (0.0, float(hulls.caps[i])):
                if not _is_facet(group.left - given, room, given, len(others)):
                    continue
                held = hulls.caps[others] * ((group.left - given) / room)
                u = elsewhere - held @ hulls.signed[others] - given * hulls.signed[i]
                rows = np.vstack([apart, *_differences(hulls, [others]), u])
                step = _null_vector(rows)
                if step is None:
                    return None
                away = float((hulls.signed[i] - hulls.signed[others[0]]) @ step)
                if abs(away) <= RANK_TOLERANCE * float(np.abs(hulls.signed[i]).max()):
                    return None
                # A tie that gets nothing leaves the tail: its score rises against the others.
                found.append(step if (away > 0) == (given == 0.0) else -step)
    return np.array(found)


def _is_facet(rest: float, room: float, given: float, others: int) -> bool:
    """Whether the other ties can share `rest` with one dimension less than before."""
    slack = MASS_TOLERANCE * (rest + room + given)
    if given > 0:
        return rest > slack
    return rest <= room + slack if others == 1 else rest < room - slack


def _weighted(hulls: ReducedHulls, members: Index) -> Array:
    return hulls.caps[members] @ hulls.signed[members]


def _shared(hulls: ReducedHulls, group: Ties) -> Array:
    """Minus the mean of the ties, weighted by what they may hold, times their mass."""
    if len(group.tied) == 0:
        return np.zeros(hulls.k)
    caps = hulls.caps[group.tied]
    return -(caps * (group.left / float(caps.sum()))) @ hulls.signed[group.tied]


def _differences(hulls: ReducedHulls, groups: list[Index]) -> list[Array]:
    """For each group, rows that vanish on a direction that keeps its points tied."""
    return [
        hulls.signed[tied[1:]] - hulls.signed[tied[0]] if len(tied) else np.zeros((0, hulls.k))
        for tied in groups
    ]


def _null_vector(rows: Array) -> Array | None:
    """Unit vector orthogonal to k - 1 independent rows (k - 1, k)."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    if (size == 0).any():
        return None
    _, singular, right = np.linalg.svd(rows / size)
    if singular[-1] <= RANK_TOLERANCE * singular[0]:
        return None
    return right[-1]
