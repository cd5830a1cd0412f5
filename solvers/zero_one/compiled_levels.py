"""The costs of cells in a band again, cell by cell for a compiler: the doubles of kernel/cones.py.

Each pair of thresholds is one rounded sum and each number of points one quotient and two products,
as there, and what is compared is the same: so bounds are equal to the last bit. The kernel, which
proves the cover in the end, uses its own.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.kernel.cones import DOWN, Cells, ProvenConflict
from tightmargin.solvers.zero_one.compiled import compiled, loaded_only

REACH = 2.0 * DOWN


def cheapest_levels(
    cells: Cells,
    ends: tuple[Array, Array],
    nearest: tuple[Array, Array],
    levels: int,
    conflict: ProvenConflict | None,
) -> Array:
    """What `cheapest_levels` of the kernel says."""
    price = cells.problem.price
    assert price is not None
    near = [np.ascontiguousarray(part[:, 0]) for part in nearest]
    first, second = (np.ascontiguousarray(part) for part in ends)
    square, dearer = (0.0, 0.0) if conflict is None else (conflict.square, conflict.price)
    m, low, high = (np.ascontiguousarray(part) for part in (cells.m, cells.low, cells.high))
    with loaded_only():
        return _cheapest(
            first, second, near[0], near[1], levels, m, low, high, float(price),
            conflict is not None, float(square), float(dearer),
        )  # fmt: skip


def compile_levels() -> None:
    """Compile `cheapest_levels`, which takes seconds, unless numba keeps it."""
    one, row = np.zeros(1), np.zeros((1, 1))
    _cheapest(row, row, one, one, 0, one, one, one, 1.0, False, 0.0, 0.0)


@compiled
def _widen(widths: Array, first: Array, second: Array) -> None:
    """Raise each width k to the largest first_a + second_b with a + b = k."""
    count = len(widths)
    for a in range(min(len(first), count)):
        end = first[a]
        for b in range(min(len(second), count - a)):
            width = end + second[b]
            widths[a + b] = width if width > widths[a + b] else widths[a + b]


@compiled
def _cost(width: float, m: float, low: float, high: float, lost: float) -> float:
    """`Cells.costs` of one width."""
    if width <= 0:
        return np.inf
    t = REACH / width
    if t > high:
        return np.inf
    t = max(t, low)
    return m * t * t + lost if t < np.inf else np.inf


@compiled
def _cheapest(
    first: Array,
    second: Array,
    near_first: Array,
    near_second: Array,
    levels: int,
    m: Array,
    low: Array,
    high: Array,
    price: float,
    known: bool,
    square: float,
    dearer: float,
) -> Array:
    """Of the pairs of thresholds, `whole` are those that keep all points of the conflict."""
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    found = np.full(len(first), np.inf)
    whole, apart = np.empty(count), np.empty(count)
    for i in range(len(first)):
        whole[:] = -np.inf
        apart[:] = -np.inf
        p, q = 0, 0
        if known:
            p = min(count, np.searchsorted(first[i], near_first[i], side="right"))
            q = min(count, np.searchsorted(second[i], near_second[i], side="right"))
        # Loops over slices from 0 on are what the compiler makes vectors of.
        _widen(whole, first[i, :p], second[i, :q])
        _widen(apart[q:], first[i, :p], second[i, q:])
        _widen(apart[p:], first[i, p:], second[i])
        for k in range(count):
            lost = price * k
            if lost >= found[i]:
                break
            cost = _cost(apart[k], m[i], low[i], high[i], lost)
            if known:
                own = _cost(whole[k], m[i], low[i], high[i], lost)
                cost = min(cost, own + dearer, max(own, lost + square))
            found[i] = min(found[i], cost)
    return found
