"""Signed points and side rows in the coordinates of the search, and norms that multipliers prove.

A hyperplane v keeps point i when <a_i, v> >= 1, with a_i = y_i (x_i, column), and one that gives
it up has <a_i, v> <= 1. The column is 1 for a penalised intercept and absent without one. A free
intercept gets a column of size COLUMN, so that b costs (b / COLUMN)^2 while the search looks for
multipliers; what they prove is evaluated for a b that costs nothing (`certified_norm2`). A side row
<g, (w, b)> <= h is one row more, <-g, v> >= -h, that every hyperplane keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of

# --- What a hyperplane has to meet besides its objective: rows of w and b, decided points, counts


class Count(NamedTuple):
    """At most so many of some points are paid for."""

    points: Mask
    most: int


@dataclass(frozen=True, eq=False)
class SideRows:
    """Restrictions of a 0-1 problem; z_i = 1 where point i is paid for.

    weights, of_b, most (m, d) (m,) (m,): rows <weights_k, w> + of_b_k b <= most_k.
    kept, paid (n,): points with z_i = 0, and with z_i = 1 whether they are violated or not.
    counts, tuple of Count.
    moved (n,): sizes of the terms of each margin that a fixed w_j or b makes constant: a model has
        them on its right side, rounded.
    constant: what of the objective is decided: a gap is a share of the rest.
    """

    weights: Array
    of_b: Array
    most: Array
    kept: Mask
    paid: Mask
    counts: tuple[Count, ...]
    moved: Array
    constant: float = 0.0

    @staticmethod
    def nothing(n: int, d: int) -> SideRows:
        """Of a problem as it is."""
        nobody = np.zeros(n, dtype=bool)
        none = np.zeros(0)
        return SideRows(np.zeros((0, d)), none, none, nobody, nobody, (), np.zeros(n))

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not (self.most.size or self.counts or self.kept.any() or self.paid.any())

    def admits(self, w: Array, b: float, tolerance: float) -> bool:
        """Whether a hyperplane meets the rows, in proportion to coefficients, w and the margin."""
        longest = float(np.abs(w).max(initial=0.0))
        terms = np.abs(self.weights).sum(axis=1) * longest + np.abs(self.most)
        terms = terms + np.abs(self.of_b) * max(abs(b), 1.0)
        left = self.weights @ w + self.of_b * b - self.most
        return bool((left <= tolerance * terms).all())

    def allows(self, given_up: Mask) -> bool:
        """Whether the decided points and the counts allow these points to be paid for."""
        if (given_up & self.kept).any():
            return False
        return all(int((given_up & count.points).sum()) <= count.most for count in self.counts)


EPS = float(np.finfo(np.float64).eps)
LARGEST = 5000  # points; their Gram matrix takes 200 MB
COLUMN = 1e2  # larger ones leave no digits to tell dependent members from others
LEAST = 1e-100  # stands for a length of 0
ROUNDING = 1e-14  # relative, of sums over a small working set: about 90 times the unit roundoff


@dataclass(frozen=True, eq=False)
class SignedPoints:
    """The n points of one 0-1 problem and its m side rows, in units of the points' size.

    The points are centred when the intercept is free.

    rows (n + m, k): a_i.
    counted (n + m, k or k - 1): the part of a_i that counts in the norm.
    gram (n + m, n + m): <a_i, a_j>.
    right (n + m,): what <a_i, v> must reach: 1 for a point, where no `shift` was moved over.
    pull (n + m,): coefficient of b: the label of a point.
    reach, doubt (n + m,): sizes of what a_i and its right side were summed from, for rounding
        errors.
    n: points; the rows behind them are side rows.
    loose (n + m,): points that are paid for whether they are violated or not: their margin is not
        bounded.
    counts: how many points may be violated.
    centre, shift (d,): what was subtracted from the points, and from b.
    scale: what was divided by: norm2 of the data is norm2 here over its square.
    intercept: "penalised", "free" or "none".
    """

    rows: Array
    counted: Array
    gram: Array
    right: Array
    pull: Array
    reach: Array
    doubt: Array
    n: int
    loose: Mask
    counts: tuple[Count, ...]
    centre: Array
    shift: float
    scale: float
    intercept: str

    @property
    def largest(self) -> int:
        """Largest size of a working set, with the point that is about to enter."""
        return self.rows.shape[1] + 2


def signed_points(
    data: TrainingData, *, intercept: str, side: SideRows | None = None, shift: float = 0.0
) -> SignedPoints:
    """Coordinates of the search for one problem.

    side: what a hyperplane has to meet besides.
    shift: a free intercept is searched near <centre, w> + b = shift.
    Raises ValueError: more than 5000 points, a bad intercept, a shift of one that is not free.
    """
    one_of("intercept", intercept, INTERCEPTS)
    if shift and intercept != "free":
        raise ValueError(f"a shift belongs to intercept=free, not {intercept}")
    if data.n > LARGEST:
        raise ValueError(
            f"the conflict search holds the inner products of all points and takes at most "
            f"{LARGEST}, got {data.n}: leave the model to a solver, such as SCIP"
        )
    if side is None:
        side = SideRows.nothing(data.n, data.d)
    free = intercept == "free"
    centre = data.X.mean(axis=0) if free else np.zeros(data.d)
    X = data.X - centre
    scale = float(np.sqrt((X * X).sum(axis=1).mean())) or 1.0
    offset = float(np.linalg.norm(centre)) / scale
    weights = side.weights - side.of_b[:, None] * centre
    unit = _units(weights / scale, side.of_b, side.most)
    signed = np.vstack([data.y[:, None] * X, -unit[:, None] * weights]) / scale
    pull = np.r_[data.y, -unit * side.of_b]
    column = (COLUMN if free else 1.0 / scale) * pull[:, None]
    rows = signed if intercept == "none" else np.hstack([signed, column])
    counted = signed if free else rows
    sizes = unit * (np.linalg.norm(side.weights, axis=1) / scale + np.abs(side.of_b) * offset)
    reach = np.linalg.norm(counted, axis=1) + np.r_[np.full(data.n, offset), sizes]
    right = np.r_[np.ones(data.n), -unit * side.most]
    doubt = np.abs(right) + np.r_[side.moved, np.zeros(len(unit))] + np.abs(pull * shift)
    return SignedPoints(
        rows, counted, rows @ rows.T, right - pull * shift, pull, reach, doubt, data.n,
        np.r_[side.paid, np.zeros(len(unit), dtype=bool)], side.counts, centre, shift, scale,
        intercept,
    )  # fmt: skip


def _units(weights: Array, of_b: Array, most: Array) -> Array:
    """Powers of two that bring the numbers of each side row near 1."""
    sizes = np.column_stack([np.abs(weights), np.abs(of_b), np.abs(most)]).max(axis=1)
    return np.asarray(2.0 ** -np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))


def certified_norm2(
    points: SignedPoints, members: Index, alpha: Array, sense: Array | float = 1.0
) -> Array:
    """Lower bounds on norm2 of every hyperplane that meets the rows of all members of a set.

    A member of sense +1 has <a_i, v> >= r_i, one of sense -1 has <a_i, v> <= r_i. With multipliers
    of these signs, s = sum_i alpha_i a_i (without the column of a free intercept, for which
    sum_i alpha_i pull_i = 0) and A = sum_i alpha_i r_i: A <= sum_i alpha_i <a_i, v> = <s, v>, so
    ||v||^2 >= A^2 / ||s||^2 where A > 0, whatever alpha is. With a free intercept the multipliers
    that pull more are first scaled down. What rounding leaves of their sum is balanced by numbers
    that differ from them by a few units of roundoff, and those are what A and s are evaluated for:
    their difference is part of what is given away.

    members, array (..., m) of int.
    alpha: 0 where a place is empty; numbers of the other sign count as 0.
    sense, array (..., m) of +1 and -1, or one of them.
    Returns: in the units of the data, rounded downwards.
    """
    alpha = signed(alpha, sense)
    if points.intercept == "free":
        pulled = alpha * points.pull[members]
        up = np.maximum(pulled, 0.0).sum(axis=-1)
        down = np.maximum(-pulled, 0.0).sum(axis=-1)
        common = np.minimum(up, down)
        share = np.where(
            pulled > 0,
            _ratio(common, up)[..., None],
            np.where(pulled < 0, _ratio(common, down)[..., None], 1.0),
        )
        alpha = alpha * share
    size = np.abs(alpha)
    rounding = unit_of_doubt(points, members.shape[-1])
    total = (alpha * points.right[members]).sum(axis=-1)
    s = np.einsum("...m,...mk->...k", alpha, points.counted[members])
    slack = rounding * (size * points.reach[members]).sum(axis=-1)
    length = np.sqrt((s * s).sum(axis=-1)) + slack
    certain = total - rounding * (size * points.doubt[members]).sum(axis=-1)
    # An empty or one-sided set proves 0. A set that nothing keeps has a length of about `slack`,
    # and of exactly 0 for a point at 0 without an intercept.
    bound = np.maximum(certain, 0.0) / np.maximum(length, LEAST) / points.scale
    return bound * bound * (1 - 16 * EPS)


def unit_of_doubt(points: SignedPoints, largest: int) -> float:
    """What a sum over a working set of so many members may be off, as a share of its terms."""
    return max(ROUNDING, 2 * EPS * (largest + points.rows.shape[1]))


def signed(alpha: Array, sense: Array | float) -> Array:
    """The multipliers, 0 where their sign is not that of `sense`."""
    return np.where(alpha * sense > 0, alpha, 0.0)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)
