"""Moves of a few numbers that solve equations: rational ones, or each within a proven radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import dyadic, scaled, solve_exactly
from tightmargin.solvers.proofs.exact_sums.enclosed_solution import enclosed_solution

# Equations that are solved in whole numbers; beyond that in floating point, up to those that take a
# few tenths of a second.
FREE_LIMIT, ENCLOSED_LIMIT = 24, 1000
# Moves of another size lose more than their last places.
TINY, HUGE = Fraction(2) ** -900, Fraction(2) ** 900


@dataclass(frozen=True, eq=False)
class Step:
    """Moves by number of the mover, each within its radius of one that solves the equations.

    Attributes
    ----------
    moves : dict
    radius : array
        0 where the moves are a solution themselves.
    """

    moves: dict[int, Fraction]
    radius: Array

    def floats(self) -> Array | None:
        """The moves to the nearest floats; None where one is too small or large to be near."""
        if any(delta and not TINY <= abs(delta) <= HUGE for delta in self.moves.values()):
            return None
        return np.array([float(delta) for delta in self.moves.values()])


def step_of(
    block: Array,
    weights: Array,
    numbers: NDArray[np.intp],
    right: Sequence[Fraction],
    spread: Array | None = None,
) -> Step | None:
    """Steps of the movers with the largest weights that solve the equations; None without any.

    Parameters
    ----------
    block : array (movers, equations)
        Coefficients, doubles as they stand.
    weights : array (movers,)
        0 stands for one like the largest, and for a mover whose step is to be known exactly.
    numbers : array (movers,)
        What the movers are called.
    right : sequence of Fraction (equations,)
    spread : array (equations,), optional
        How far the right side may be off: the step is then enclosed, as it is where there are more
        equations than whole numbers solve quickly.
    """
    chosen = independent_movers(block, weights)
    rank = len(chosen)
    if not rank:
        return None
    places = [int(numbers[k]) for k in chosen]
    if spread is not None or len(right) > FREE_LIMIT:
        off = np.zeros(len(right)) if spread is None else spread
        enclosed = rank == len(right) and (weights[chosen] > 0).all()
        near = enclosed_solution(block[chosen].T, right, off) if enclosed else None
        if near is None:
            return None
        middle, radius = near
        return Step(dict(zip(places, map(Fraction, middle.tolist()), strict=True)), radius)
    exact = rational_moves(block[chosen], right)
    return None if exact is None else Step(dict(zip(places, exact, strict=True)), np.zeros(rank))


def independent_movers(block: Array, weights: Array, *, level: bool = False) -> NDArray[np.intp]:
    """Places of as many movers as are independent, those of large weights first.

    Parameters
    ----------
    block, weights : arrays (movers, equations), (movers,)
        As for `step_of`.
    level : bool
        Whether equations count alike, whatever the size of their coefficients.
    """
    if not len(block):
        return np.zeros(0, dtype=np.intp)
    weighted = block * np.where(weights > 0, weights, 1.0)[:, None]
    straight, bent = (
        np.abs(weighted[part]).max(initial=0.0) for part in (weights > 0, weights == 0)
    )
    if bent > 0:
        weighted[weights == 0] *= (straight or 1.0) / bent
    if level:
        weighted /= np.maximum(np.abs(weighted).max(axis=0, initial=0.0), 1e-300)
    r, pivots = qr(weighted.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    return np.asarray(pivots[:rank], dtype=np.intp)


def rational_moves(movers: Array, right: Sequence[Fraction]) -> list[Fraction] | None:
    """Moves of independent movers (rank, equations) that solve the equations; None without any."""
    rank = len(movers)
    exact = dyadic(movers.T.ravel())
    lines = [exact.integers[k * rank : (k + 1) * rank] for k in range(len(right))]
    found = solve_exactly(lines, right)
    if found is None:
        return None
    unit = scaled(1, -exact.exponent)
    return [delta * unit for delta in found]
