"""Quadratic rows of few columns each, all of them evaluated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, UNDERFLOW
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.exact_sums.double_sums import (
    double_sums,
    in_range,
    roundings,
    two_product,
)
from tightmargin.solvers.standard_form.quadratic import QuadraticRow


@dataclass(frozen=True, eq=False)
class Stack:
    """Quadratic rows one below the other.

    Attributes
    ----------
    columns : array
        Of all rows, row by row; `i` and `j` are positions in it.
    squares, lines : arrays
        Rows that the entries of `v` and of `a` belong to.
    """

    columns: NDArray[np.int64]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    v: Array
    a: Array
    constant: Array
    lower: Array
    upper: Array
    squares: NDArray[np.int64]
    lines: NDArray[np.int64]

    @property
    def count(self) -> NDArray[np.int64]:
        """Terms of each row without its constant."""
        height = len(self.constant)
        return np.bincount(self.squares, minlength=height) + np.bincount(
            self.lines, minlength=height
        )


@lru_cache(maxsize=2)
def known_stack(rows: tuple[QuadraticRow, ...]) -> Stack:
    """`stacked` of the rows of a model, which are looked at for one candidate after another."""
    return stacked(rows)


def stacked(rows: Sequence[QuadraticRow]) -> Stack:
    """Rows one below the other, at least one."""
    bodies = [row.body for row in rows]
    squares = np.array([len(body.v) for body in bodies])
    lines = np.array([len(body.a) for body in bodies])
    first = np.repeat(np.cumsum(lines) - lines, squares)
    v, a, i, j = (np.concatenate([getattr(body, name) for body in bodies]) for name in "vaij")
    constant = np.array([body.constant for body in bodies])
    sides = (np.array([getattr(row, side) for row in rows]) for side in ("lower", "upper"))
    columns = np.concatenate([body.index for body in bodies])
    owners = (np.repeat(np.arange(len(rows)), counts) for counts in (squares, lines))
    return Stack(columns, first + i, first + j, v, a, constant, *sides, *owners)


def hold_clearly(stack: Stack, x: Array) -> NDArray[np.bool_]:
    """Which quadratic rows hold by more than their rounding."""
    y, v, height = x[stack.columns], stack.v, len(stack.constant)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = (v * (y[stack.i] * y[stack.j]), stack.a * y)
        value, size = stack.constant.copy(), np.abs(stack.constant)
        for owner, part in zip((stack.squares, stack.lines), terms, strict=True):
            value = value + np.bincount(owner, part, height)
            size = size + np.bincount(owner, np.abs(part), height)
        lost = stack.count * (1 + np.abs(v).max(initial=0.0)) * UNDERFLOW
        radius = roundings(stack.count + 10) * size * OUTWARD + lost
        holds: NDArray[np.bool_] = (value - radius >= stack.lower) & (value + radius <= stack.upper)
    return holds


def sums_outside(stack: Stack, x: Array, rest: Array) -> tuple[Array, NDArray[np.bool_]]:
    """By how much rows are missed, rounded up, and which of them that is decided for.

    A product of three doubles is a sum of four: (p + e) y_j, where v y_i = p + e.

    Parameters
    ----------
    rest : array (n,)
        What coordinates lack that are no doubles, to the nearest double.
    """
    y, height = x[stack.columns], len(stack.constant)
    yi, yj = y[stack.i], y[stack.j]
    with np.errstate(over="ignore", invalid="ignore"):
        half, small_half = two_product(stack.v, yi)
        large, small = two_product(half, yj), two_product(small_half, yj)
        line = two_product(stack.a, y)
        unsafe_squares = ~in_range(stack.v, yi, half) | ~in_range(half, yj, large[0])
        unsafe_squares |= ~in_range(small_half, yj, small[0])
        unsafe = np.bincount(stack.squares, unsafe_squares, height)
        unsafe += np.bincount(stack.lines, ~in_range(stack.a, y, line[0]), height)
        owner = np.concatenate([stack.squares, stack.squares, stack.lines, np.arange(height)])
        terms = np.concatenate([large[0], small[0], line[0], stack.constant])
        lost = np.concatenate([large[1], small[1], line[1], np.zeros(height)])
        order = np.argsort(owner, kind="stable")
        indptr = np.searchsorted(owner[order], np.arange(height + 1))
        sums = double_sums(terms[order], lost[order], indptr)
        short = rest[stack.columns]
        if short.any():
            ri, rj = short[stack.i], short[stack.j]
            more = half * rj, (stack.v * ri) * (yj + rj), stack.a * short
            sizes = np.where((ri != 0) | (rj != 0), np.abs(large[0]), 0.0)
            lines = np.where(short != 0, np.abs(line[0]), 0.0)
            owner = np.concatenate([stack.squares, stack.squares, stack.lines])
            # An underflow of v r_i is multiplied with the other coordinate.
            least = UNDERFLOW * (1 + float(np.abs(y).max()))
            sums = sums.plus(
                owner, np.concatenate(more), np.concatenate([sizes, 0 * sizes, lines]), least
            )
        found, decided = sums.outside(stack.lower, stack.upper)
    return found, decided & (unsafe == 0)
