"""P(Y = 1 | x) read from the signs of machines that are weighted more and more against label +1.

Lee 2020, section 3.1; Wang, Shen & Liu, Probability estimation for large-margin classifiers,
Biometrika 95, 2008. The sign of the machine at pi estimates the sign of P(Y = 1 | x) - pi. It is
+1 at pi = 0 and -1 at pi = 1 by definition: the machines are defined strictly between (at 0 and 1
one class has no cost). With the grid 0 = pi_1 < ... < pi_{k+1} = 1

    p(x) = ( max {pi_j : sign +1} + min {pi_j : sign -1} ) / 2,

which needs no monotone signs: noise may turn one back, and then the two overlap. A value of exactly
0 is neither sign; it says p = pi, and between two regular neighbours gives it.

The review prints as criterion the j with sign_j <= sign_{j+1}. That holds wherever the sign stays
as it is and fails at the one place that is looked for, where + is followed by -; what is meant is
sign_j = +1 and sign_{j+1} = -1, and there both rules agree when only one such place exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import positive
from tightmargin.printing import Printed

Signs = NDArray[np.int8]

TIE = 1e-12  # of 1/2: sums of grid values this near it are 1/2


@dataclass(frozen=True, eq=False, repr=False)
class SignReading(Printed):
    """What the signs say at m points.

    Attributes
    ----------
    pis : array (k - 1,)
        Rising, strictly between 0 and 1.
    values : array (m, k - 1)
        Decision values of the machines.
    """

    pis: Array
    values: Array

    @property
    def signs(self) -> Signs:
        """Table (m, k + 1) over 0, pis, 1: the ends by definition, 0 where a value is 0."""
        inner = np.sign(self.values).astype(np.int8)
        ends = np.ones((len(inner), 1), dtype=np.int8)
        return np.hstack([ends, inner, -ends])

    @cached_property
    def intervals(self) -> Array:
        """(m, 2): the largest pi with sign +1 and the smallest with sign -1.

        The first is above the second where the signs are not monotone.
        """
        grid = np.concatenate([[0.0], self.pis, [1.0]])
        signs = self.signs
        highest = np.where(signs > 0, grid, 0.0).max(axis=1)
        lowest = np.where(signs < 0, grid, 1.0).min(axis=1)
        return np.column_stack([highest, lowest])

    @property
    def probabilities(self) -> Array:
        """Estimates (m,) of P(Y = 1 | x)."""
        middle: Array = self.intervals.mean(axis=1)
        return middle

    @property
    def monotone(self) -> NDArray[np.bool_]:
        """Flags (m,): no sign +1 comes after a sign -1."""
        flags: NDArray[np.bool_] = self.intervals[:, 0] < self.intervals[:, 1]
        return flags

    @property
    def labels(self) -> NDArray[np.int64]:
        """(m,): +1 where the probability is above 1/2, else -1.

        At exactly 1/2, which a grid without 1/2 says of every point between its two middle values,
        the sum of the decision values nearest to 1/2 decides; 0 gets -1.
        """
        above = self.probabilities - 0.5
        away = np.abs(self.pis - 0.5)
        nearest = self.values[:, away <= away.min() + TIE].sum(axis=1)
        side = np.where(np.abs(above) <= TIE, nearest, above)
        return np.where(side > 0, 1, -1)


def checked_grid(grid: int | Sequence[float] | Array) -> Array:
    """Values of pi strictly between 0 and 1, rising.

    Parameters
    ----------
    grid : int or sequence of float
        A number N of them, j / (N + 1) for j = 1, ..., N; or the values themselves, each of which
        is taken once.

    Raises
    ------
    ValueError
        None, not a whole number, or a value outside (0, 1).
    """
    if isinstance(grid, int | np.integer) and not isinstance(grid, bool):
        if grid < 1:
            raise ValueError(f"grid must have at least one value, got {grid!r}")
        return np.arange(1, grid + 1) / (grid + 1)
    if isinstance(grid, str) or not isinstance(grid, Sequence | np.ndarray) or np.ndim(grid) != 1:
        raise ValueError(f"grid must be a whole number, or values of pi as a list; got {grid!r}")
    found = sorted({inside(pi) for pi in grid})
    if not found:
        raise ValueError("grid is empty: name a value of pi, or how many there shall be")
    return np.array(found)


def inside(pi: float) -> float:
    """A number strictly between 0 and 1, or a ValueError."""
    if not 0 < positive("pi", pi) < 1:
        raise ValueError(f"pi must lie strictly between 0 and 1, got {pi!r}")
    return float(pi)


def checked_values(pis: Array, values: ArrayLike) -> Array:
    """Decision values (m, k - 1), or a ValueError."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != len(pis):
        raise ValueError(f"values must have shape (m, {len(pis)}), got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("values must be finite")
    return found
