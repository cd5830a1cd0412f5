"""Rows of the level-1 lift that hold at every weight: lift.py has the mathematics."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.conic.lift_rows import Affine, Lift, Terms, chosen, squared, violation
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.affine_rows import AffineRows

# Room above the cutoff for its rows: at the optimum itself nothing but one point would be left.
CUTOFF_ROOM = 1e-4


def add_products(m: pyo.ConcreteModel, lift: Lift) -> None:
    """Norm, bounds of the intercept, cutoff, decided points and conflicts at every weight."""
    bounds, zero = lift.bounds, np.zeros(lift.signed.shape[1])
    _add_weighted(m, lift, "norm", -lift.trace, zero, bounds.norm2)
    low, high = bounds.intercept
    follows = lift.intercept == "penalised" and min(-low, high) ** 2 >= bounds.norm2
    if lift.intercept != "none" and not follows:
        corner, last = np.zeros(len(lift.trace)), zero.copy()
        corner[-1] = last[-1] = 1.0
        _add_weighted(m, lift, "offset", -corner, (low + high) * last, -low * high)
    _add_spent(m, lift)
    decided = np.flatnonzero(bounds.kept | bounds.violated)
    if decided.size:
        _add_chords(m, lift, decided)
    if lift.conflicts:
        _add_conflicts(m, lift)


def _add_weighted(
    m: pyo.ConcreteModel,
    lift: Lift,
    name: str,
    outer: Array,
    linear: Array,
    constant: float,
    more: tuple[Terms, Terms, Terms] = ([], [], []),
) -> None:
    """Rows  function + more >= 0  at the weights z_i, 1 - z_i and 1, with the terms for each.

    The last is the sum of the other two, and is there only where they are not.
    """
    n = len(lift.open)
    one = Affine(outer[None], linear[None], np.array([constant]))
    if not n:
        m.add_component(name, AffineRows(m.ONE, [*one.whole(m), *more[2]], lower=-constant))
        return
    each = Affine(*(np.repeat(part, n, axis=0) for part in (one.outer, one.linear, one.constant)))
    own = np.arange(n)
    rows = AffineRows(m.O, [*each.share(m, lift, own), *more[0]], lower=0.0)
    rest = AffineRows(m.O, [*each.rest(m, lift, own), *more[1]], lower=-constant)
    m.add_component(name, rows)
    m.add_component(f"rest_{name}", rest)


def _add_spent(m: pyo.ConcreteModel, lift: Lift) -> None:
    """cutoff - norm2 - penalty sum_j z_j, where z_j for each weight are outcomes of pairs.

    A pair (i, j) stands in the row of i with the price of j, and in that of j with the price of i.
    """
    n, prices = len(lift.open), lift.data.prices(lift.penalty)
    own = prices[lift.open]
    first, second = lift.pairs
    at = np.arange(len(first))
    of_first, of_second = (
        sp.csr_matrix((-own[other], (who, at)), shape=(n, len(at)))
        for who, other in ((first, second), (second, first))
    )
    both = [
        (of_first + of_second, m.z11),
        (sp.diags_array(-own) @ chosen(lift.open, lift.data.n), m.z),
    ]
    other = [(of_first, m.z01), (of_second, m.z10)]
    every = np.zeros((1, lift.data.n))
    every[0, lift.open] = -own
    left = lift.bounds.cutoff * (1 + CUTOFF_ROOM) - float(prices[lift.bounds.violated].sum())
    zero = np.zeros(lift.signed.shape[1])
    _add_weighted(m, lift, "spent", -lift.trace, zero, left, (both, other, [(every, m.z)]))


def _add_chords(m: pyo.ConcreteModel, lift: Lift, decided: Index) -> None:
    """(v_j - l_j)(u_j - v_j) >= 0 of decided points at every weight."""
    low, high = lift.bounds.lower[decided], lift.bounds.upper[decided]
    v, v2 = violation(lift, decided), squared(lift, decided)
    linear = (low + high)[:, None] * v.linear - v2.linear
    one = Affine(-v2.outer, linear, low + high - low * high - 1.0)
    n = len(lift.open)
    if not n:
        m.F = pyo.Set(initialize=decided.tolist())
        m.chord = AffineRows(m.F, one.whole(m), lower=-one.constant)
        return
    names = [(i, j) for i in lift.open.tolist() for j in decided.tolist()]
    m.OF = pyo.Set(initialize=names, dimen=2)
    at = np.repeat(np.arange(n), len(decided))
    each = Affine(np.tile(one.outer, (n, 1)), np.tile(linear, (n, 1)), np.tile(one.constant, n))
    m.chord = AffineRows(m.OF, each.share(m, lift, at), lower=0.0)
    m.rest_chord = AffineRows(m.OF, each.rest(m, lift, at), lower=-each.constant)


def _add_conflicts(m: pyo.ConcreteModel, lift: Lift) -> None:
    """Conflicts at every weight: sum_S z_j z_i >= z_i and sum_S z_j (1 - z_i) >= 1 - z_i.

    The first says nothing where i is in S, and add_cells says the second where S is i and one
    more. Together they say sum_S z_j >= 1.
    """
    n = len(lift.open)
    position = {point: k for k, point in enumerate(lift.open.tolist())}
    sets = [np.array([position[point] for point in points]) for points in lift.conflicts]
    outside = [np.setdiff1d(np.arange(n), members) for members in sets]
    rest = [np.arange(n) if len(s) > 2 else o for s, o in zip(sets, outside, strict=True)]
    for name, weights in (("conflict", outside), ("rest_conflict", rest)):
        keys = [(k, i) for k, who in enumerate(weights) for i in lift.open[who].tolist()]
        index = pyo.Set(initialize=keys, dimen=2)
        m.add_component(f"{name}_set", index)
        at = np.concatenate(weights)
        parts = [np.meshgrid(who, s, indexing="ij") for who, s in zip(weights, sets, strict=True)]
        starts = np.cumsum([0, *map(len, weights)])
        row = np.concatenate([
            np.repeat(np.arange(len(who)) + start, len(s))
            for who, s, start in zip(weights, sets, starts[:-1], strict=True)
        ])  # fmt: skip
        i, j = (np.concatenate([part[side].ravel() for part in parts]) for side in (0, 1))
        z = chosen(lift.open[at], lift.data.n)
        if name == "conflict":
            m.conflict = AffineRows(index, [(_summed(row, i, j, n, len(at)), m.z11), (-z, m.z)],
                                    lower=0.0)  # fmt: skip
        else:
            before, after = i < j, i > j  # i kept and j violated: z01 or z10 of their pair
            terms = [
                (_summed(row[which], i[which], j[which], n, len(at)), cell)
                for which, cell in ((before, m.z01), (after, m.z10))
            ]
            m.rest_conflict = AffineRows(index, [*terms, (z, m.z)], lower=1.0)


def _summed(row: Index, i: Index, j: Index, n: int, count: int) -> sp.csr_matrix:
    """Ones at the pairs (i, j) of each row, (count, n (n - 1) / 2)."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    pair = low * (2 * n - low - 1) // 2 + high - low - 1
    shape = (count, n * (n - 1) // 2)
    return sp.csr_matrix((np.ones(len(row)), (row, pair)), shape=shape)
