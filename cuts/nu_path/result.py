"""What Algorithm 11 found for a descending list of nu."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from numpy.typing import ArrayLike

from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.printing import Drawn
from tightmargin.solvers.nu.nu_range import NuRange
from tightmargin.solvers.searches import PathResult

ROUNDING = 1e-15  # of both ends: more than the formula of a chord loses


@dataclass(frozen=True, eq=False, repr=False)
class ExtendedNuPath(PathResult[PathRow], Drawn):
    """Rows by falling nu, and where the problem changes its nature.

    Attributes
    ----------
    rows : tuple of PathRow
    range : NuRange
        nu_bar, nu_max and the end of the constant zone.
    nu_bar_bounds : (float or None, float)
        Proven.
    data, class_balance, intercept
        Of the problem.
    searches : int
        How many nu took the engine.
    not_reached : tuple of float
        The nu that Ctrl-C came before; empty else.
    """

    rows: tuple[PathRow, ...]
    range: NuRange
    nu_bar_bounds: tuple[float | None, float]
    data: TrainingData
    class_balance: ArrayLike | str
    intercept: str
    searches: int
    not_reached: tuple[float, ...]

    parameter = "nu"

    @property
    def anchors(self) -> tuple[tuple[float, float], ...]:
        """Rising pairs (nu, proven lower bound of Phi) that chords join; (0, 0) is the first."""
        return anchors_of((row.anchor for row in self.rows), self.nu_bar_bounds[0])

    @property
    def weights(self) -> tuple[Array, ...]:
        """The weights (k,) of all rows, of norm 1."""
        return tuple(row.unit_weight(self.intercept) for row in self.rows)


# --- what the concavity of Phi in nu gives: chords, and the nu to search first --------------------


def anchors_of(
    bounds: Iterable[tuple[float, float]], bar: float | None
) -> tuple[tuple[float, float], ...]:
    """(nu, lower bound of Phi) by rising nu: 0 at 0 and at a proven lower bound of nu_bar.

    Parameters
    ----------
    bounds : iterable of (float, float)
        nu with proven lower bounds of Phi; those that are not finite are left out.
    bar : float or None
        A proven lower bound of nu_bar.
    """
    found = {0.0: 0.0}
    if bar is not None and bar > 0:
        found[bar] = 0.0
    for nu, lower in bounds:
        if math.isfinite(lower):
            found[nu] = max(lower, found.get(nu, -math.inf))
    return tuple(sorted(found.items()))


def chord(anchors: Sequence[tuple[float, float]], nu: float) -> float:
    """Proven lower bound of Phi at nu: the highest chord over it; -inf beyond the last anchor."""
    best = -math.inf
    for left, low in anchors:
        for right, high in anchors:
            if left == nu:
                best = max(best, low)
            elif left < nu <= right:
                share = (nu - left) / (right - left)
                value = (1 - share) * low + share * high
                best = max(best, value - ROUNDING * (abs(low) + abs(high)))
    return best


def ends_first(nus: Sequence[float], caps: Array, y: Array, intercept: str) -> list[float]:
    """Falling nu, but of those between two multiples of the caps the outer two first.

    Parameters
    ----------
    nus : sequence of float
        Falling.
    caps, y : array (n,)
        Weights of the loss, and labels.
    """
    sides = [y > 0, y < 0] if intercept == "free" else [y != 0]
    steps = [caps[side] * len(sides) for side in sides]
    if any(step.min() != step.max() for step in steps):
        return list(nus)

    def piece(nu: float) -> tuple[int, ...]:
        return tuple(math.ceil(nu / float(step[0]) - 1e-9) for step in steps)

    order: list[float] = []
    for _, group in groupby(nus, key=piece):
        inside = list(group)
        order += [inside[0], *([inside[-1]] if len(inside) > 1 else []), *inside[1:-1]]
    return order
