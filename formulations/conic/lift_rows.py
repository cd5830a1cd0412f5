"""Rows of the level-1 lift, as arrays: lift.py has the mathematics.

A row is an affine function of a weighted moment matrix, that is, of h (w~ w~', w~, 1) for a weight
h = 1, z_i or 1 - z_i: coefficients of its three parts, and which i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, equal_rows
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.rotated_cones import RotatedCones
from tightmargin.formulations.modeling.semidefinite import outer_products
from tightmargin.formulations.zero_one.conflicts import Conflicts
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds
from tightmargin.formulations.zero_one.slack_bounds_argument import LEAST

Terms = list[tuple[Any, Any]]

# A side narrower than this share of the other one is widened to it, which is as true: a moment of
# the size of 1e-6 would be left to rounding, and a cone needs an inside.
SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Lift:
    """Points, pairs and bounds that the rows are made of.

    Attributes
    ----------
    conflicts : tuple of tuples of int
        Of undecided points only, two or more each.
    crossed : tuple of two arrays
        Pairs that get cross products, as positions among the undecided points, first < second.
    """

    data: TrainingData
    bounds: SlackBounds
    penalty: float
    intercept: str
    conflicts: Conflicts
    crossed: tuple[Index, Index]

    @cached_property
    def open(self) -> Index:
        """Undecided points: those with a binary z_i."""
        return np.flatnonzero(~(self.bounds.kept | self.bounds.violated))

    @cached_property
    def signed(self) -> Array:
        """y_i x~_i for every point, (n, k)."""
        return self.data.y[:, None] * augmented(self.data, self.intercept)

    @cached_property
    def outer(self) -> Array:
        """x~_i x~_i' over the lower triangle for every point, (n, k (k + 1) / 2)."""
        return outer_products(self.signed)

    @cached_property
    def units(self) -> Array:
        """Sizes of the weights, (k,): those in the norm at most its root, a free b at most its own.

        Moments at the weight z_i are counted in them, which leaves numbers up to 1. Powers of two:
        at z_i = 1 a moment is that of the whole, with no rounding between the two.
        """
        size = np.full(self.signed.shape[1], float(np.sqrt(self.bounds.norm2)) or 1.0)
        if self.intercept == "free":
            size[-1] = max(-self.bounds.intercept[0], self.bounds.intercept[1]) or 1.0
        return np.exp2(np.ceil(np.log2(size)))

    @cached_property
    def unit_products(self) -> Array:
        """Units of the entries of a lower triangle."""
        i, j = np.tril_indices(len(self.units))
        return self.units[i] * self.units[j]

    @cached_property
    def trace(self) -> Array:
        """<D, .> over the lower triangle."""
        k = self.signed.shape[1]
        i, j = np.tril_indices(k)
        free = self.intercept == "free"
        return np.where((i == j) & ~(free & (i == k - 1)), 1.0, 0.0)

    @cached_property
    def pairs(self) -> tuple[Index, Index]:
        """All pairs of undecided points, by position, first < second."""
        first, second = np.triu_indices(len(self.open), 1)
        return first, second

    @cached_property
    def clash(self) -> Mask:
        """Which pairs cannot both be kept."""
        return self.clashes(*self.pairs)

    def clashes(self, first: Index, second: Index) -> Mask:
        """Which of some pairs are a conflict of two."""
        size = self.data.n
        points = [sorted(each) for each in self.conflicts if len(each) == 2]
        known = [i * size + j for i, j in points]
        return np.isin(self.open[first] * size + self.open[second], known)

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """U_i and L_i of the undecided points, the smaller at least a share of the larger."""
        upper, lower = self.bounds.upper[self.open], self.bounds.lower[self.open]
        return np.maximum(upper, -SHARE * lower), np.maximum(-lower, SHARE * upper)


def lift_of(
    data: TrainingData,
    bounds: SlackBounds,
    penalty: float,
    intercept: str,
    partners: int | str = "none",
) -> Lift:
    """Points, pairs and bounds of the rows; `partners` as in lift.py."""
    bounds = _settled(bounds)
    undecided = np.flatnonzero(~(bounds.kept | bounds.violated))
    crossed = partner_pairs(data.X[undecided], partners)
    return Lift(data, bounds, penalty, intercept, bounds.conflicts, crossed)


def _settled(bounds: SlackBounds) -> SlackBounds:
    """Bounds whose conflicts are of two or more undecided points."""
    lower = bounds.lower.copy()
    left = [tuple(i for i in points if not bounds.kept[i]) for points in bounds.conflicts]
    for points, given in zip(left, bounds.conflicts, strict=True):
        if not points:
            raise ValueError(f"slack_bounds: all points of the conflict {given} are kept for sure")
        if len(points) == 1:
            lower[points[0]] = max(lower[points[0]], LEAST)
    open_sets = tuple(points for points in left if not (lower[list(points)] > 0).any())
    return replace(bounds, lower=lower, conflicts=open_sets)


def partner_pairs(X: Array, partners: int | str) -> tuple[Index, Index]:
    """Pairs of points that are partners, first < second: all, none, or some nearest of each."""
    words = ("all", "none")
    whole = isinstance(partners, int | np.integer) and not isinstance(partners, bool)
    if not (partners in words if isinstance(partners, str) else whole and partners >= 1):
        raise ValueError(
            f"partners must be all, none or a whole number of at least 1, got {partners!r}"
        )
    first, second = np.triu_indices(len(X), 1)
    if partners == "all":
        return first, second
    near = np.zeros((len(X), len(X)), dtype=bool)
    if not isinstance(partners, str):
        distance = cdist(X, X)
        np.fill_diagonal(distance, -1.0)  # oneself first, also among points in one place
        nearest = np.argsort(distance, axis=1, kind="stable")[:, 1 : partners + 1]
        np.put_along_axis(near, nearest, True, axis=1)
    keep = (near | near.T)[first, second]
    return first[keep], second[keep]


@dataclass(frozen=True, eq=False)
class Affine:
    """Affine functions <outer, w~ w~'> + <linear, w~> + constant, one a row.

    Attributes
    ----------
    outer : array (m, k (k + 1) / 2)
    linear : array (m, k)
    constant : array (m,)
    """

    outer: Array
    linear: Array
    constant: Array

    def whole(self, m: pyo.ConcreteModel) -> Terms:
        """Terms at the weight 1; the constant is not among them."""
        d = len(m.J)
        terms: Terms = [(self.outer, m.W), (self.linear[:, :d], m.w)]
        return [*terms, (self.linear[:, d], m.b)] if self.linear.shape[1] > d else terms

    def share(self, m: pyo.ConcreteModel, lift: Lift, at: Index, sign: float = 1.0) -> Terms:
        """Terms at the weight sign * z_i, i being the undecided point number `at` of each row."""
        size = len(lift.open)
        return [
            (sign * in_block(self.outer * lift.unit_products, at, size), m.V),
            (sign * in_block(self.linear * lift.units, at, size), m.Y),
            (sign * in_block(self.constant[:, None], lift.open[at], lift.data.n), m.z),
        ]

    def rest(self, m: pyo.ConcreteModel, lift: Lift, at: Index) -> Terms:
        """Terms at the weight 1 - z_i; the constant is not among them."""
        return [*self.whole(m), *self.share(m, lift, at, -1.0)]


def in_block(values: Array, at: Index, size: int) -> sp.csr_matrix:
    """Row r holds values[r] (m, k) in block at[r] of `size` blocks of k columns."""
    count, k = values.shape
    columns = at[:, None] * k + np.arange(k)
    ends = np.arange(count + 1) * k
    return sp.csr_matrix((values.ravel(), columns.ravel(), ends), shape=(count, size * k))


def chosen(at: Index, size: int) -> sp.csr_matrix:
    """Row r picks element at[r] of `size`."""
    return in_block(np.ones((len(at), 1)), at, size)


def violation(lift: Lift, points: Index) -> Affine:
    """v_j = 1 - <y_j x~_j, w~>."""
    signed = lift.signed[points]
    return Affine(np.zeros((len(points), lift.outer.shape[1])), -signed, np.ones(len(points)))


def squared(lift: Lift, points: Index) -> Affine:
    """v_j^2."""
    signed = lift.signed[points]
    return Affine(lift.outer[points], -2 * signed, np.ones(len(points)))


def add_single(m: pyo.ConcreteModel, lift: Lift) -> None:
    """First and second moments of every undecided point on its two sides, in units of U and L."""
    size = len(lift.open)
    own, (far, near) = np.arange(size), lift.sides
    m.p, m.q = (ArrayVar(m.O) for _ in range(2))  # nonnegative by the rows far and near
    m.s, m.r = (ArrayVar(m.O, lower=0.0) for _ in range(2))
    v, v2 = violation(lift, lift.open), squared(lift, lift.open)
    m.beyond = equal_rows(m.O, [*v.share(m, lift, own), (-far, m.p)], 0.0)
    m.split = equal_rows(m.O, [*v.whole(m), (-far, m.p), (near, m.q)], -1.0)
    m.beyond2 = equal_rows(m.O, [*v2.share(m, lift, own), (-(far**2), m.s)], 0.0)
    m.lifted = equal_rows(m.O, [*v2.whole(m), (-(far**2), m.s), (-(near**2), m.r)], -1.0)
    m.far = AffineRows(m.O, [(1.0, m.p), (-1.0, m.s)], lower=0.0)
    m.near = AffineRows(m.O, [(1.0, m.q), (-1.0, m.r)], lower=0.0)


def add_cells(m: pyo.ConcreteModel, lift: Lift) -> None:
    """Share of each pair's four outcomes: z11 both violated, z10 the first alone, z01, z00."""
    first, second = lift.pairs
    keep = np.flatnonzero(~lift.clash)
    m.P = pyo.Set(initialize=_names(lift, first, second), dimen=2)
    m.PK = pyo.Set(initialize=_names(lift, first[keep], second[keep]), dimen=2)
    m.z11, m.z10, m.z01 = (ArrayVar(m.P, lower=0.0) for _ in range(3))
    m.z00 = ArrayVar(m.PK, lower=0.0)
    both = [(1.0, m.z11), (1.0, m.z10), (1.0, m.z01)]
    of_first, of_second = (-chosen(lift.open[at], lift.data.n) for at in lift.pairs)
    m.first = equal_rows(m.P, [*both[:2], (of_first, m.z)], 0.0)
    m.second = equal_rows(m.P, [both[0], both[2], (of_second, m.z)], 0.0)
    neither = chosen(keep, len(first)).T.tocsr()
    m.cells = equal_rows(m.P, [*both, (neither, m.z00)], 1.0)


def _names(lift: Lift, first: Index, second: Index) -> list[tuple[int, int]]:
    return list(zip(lift.open[first].tolist(), lift.open[second].tolist(), strict=True))


def add_crossed(m: pyo.ConcreteModel, lift: Lift) -> None:
    """Moments of each point of a pair in the four outcomes of the pair."""
    first, second = lift.crossed
    clash = lift.clashes(first, second)
    m.X = pyo.Set(initialize=_names(lift, first, second), dimen=2)
    m.XK = pyo.Set(initialize=_names(lift, first[~clash], second[~clash]), dimen=2)
    cells = {"11": m.z11, "10": m.z10, "01": m.z01, "00": m.z00}
    _add_moments(m, lift, "first", first, second, clash, cells)
    turned = {word[::-1]: cell for word, cell in cells.items()}
    _add_moments(m, lift, "second", second, first, clash, turned)


def _add_moments(
    m: pyo.ConcreteModel,
    lift: Lift,
    name: str,
    own: Index,
    other: Index,
    clash: Mask,
    cells: dict[str, ArrayVar],
) -> None:
    """p, s where the own point is violated, q, r where it is kept; 1 or 0: the other one's z."""

    def add(word: str, component: Any) -> Any:
        m.add_component(f"{name}_{word}", component)
        return component

    far, near = (side[own] for side in lift.sides)
    index = {"p1": m.X, "p0": m.X, "q1": m.X, "q0": m.XK}
    index |= {"s1": m.X, "s0": m.X, "r1": m.X, "r0": m.XK}
    x = {word: ArrayVar(at, lower=0.0 if word[0] in "sr" else None) for word, at in index.items()}
    for word, variable in x.items():
        add(word, variable)
    # Where the two cannot both be kept, that outcome has no variables.
    spread = chosen(np.flatnonzero(~clash), len(own)).T.tocsr()
    of_own = chosen(own, len(lift.open))
    for word, whole in (("p", m.p), ("q", m.q), ("s", m.s), ("r", m.r)):
        rest = (spread if x[word + "0"].index_set() is m.XK else 1.0, x[word + "0"])
        add(f"sum_{word}", equal_rows(m.X, [(1.0, x[word + "1"]), rest, (-of_own, whole)], 0.0))
    v, v2 = (moment(lift, lift.open[own]).share(m, lift, other) for moment in (violation, squared))
    add("moment", equal_rows(m.X, [*v, (-far, x["p1"]), (near, x["q1"])], 0.0))
    add("moment2", equal_rows(m.X, [*v2, (-(far**2), x["s1"]), (-(near**2), x["r1"])], 0.0))
    for one, two, side in (("p", "s", "1"), ("q", "r", "0")):
        for z in "10":
            at, low, high = x[one + z].index_set(), x[one + z], x[two + z]
            add(f"chord_{one}{z}", AffineRows(at, [(1.0, low), (-1.0, high)], lower=0.0))
            add(f"cone_{one}{z}", RotatedCones(at, low, high, cells[side + z]))
