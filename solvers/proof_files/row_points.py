"""Where a convex quadratic row is linearised so that it says what multipliers of its cone say.

The cone of a row |L x|^2 <= t takes multipliers of its entries (t + 1, t - 1, 2 L x) or (r, L x);
the file takes the row itself, linearised at a point x^ with L x^ as those multipliers ask for.
That loses nothing, and multipliers of several rows need not agree on one point, as where two discs
lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.linalg import LinAlgError

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.proof_files.model_document import Number
from tightmargin.solvers.proof_files.row_readings import RowReading
from tightmargin.solvers.standard_form.standard_form import StandardForm


class RowPoints:
    """The points of the rows that are linearised, for any multipliers of the conic form."""

    def __init__(
        self, form: StandardForm, conic: ConicForm, readings: Sequence[RowReading]
    ) -> None:
        self._parts: dict[int, tuple[list[int], slice, Array]] = {}
        for reading, block in zip(readings, conic.blocks_of("soc"), strict=True):
            if reading.curvature is None:
                continue
            plain = reading.radius is not None
            below = slice(block.start + (1 if plain else 2), block.start + block.size)
            columns = form.quadratic[reading.row].body.index
            L = -conic.A[below][:, columns].toarray() / (1.0 if plain else 2.0)
            try:
                inverse = np.linalg.pinv(L)
            except LinAlgError:
                continue
            self._parts[reading.row] = columns.tolist(), below, inverse / (2.0 if plain else 1.0)

    def of(self, z: Array, multipliers: dict[int, Number]) -> dict[int, dict[int, Number]]:
        """x^ by number of the row.

        Parameters
        ----------
        z : array
            Of the conic form.
        multipliers : mapping of int to number
            Of the rows as the file uses them.
        """
        found: dict[int, dict[int, Number]] = {}
        for k, nu in multipliers.items():
            if k not in self._parts or not nu:
                continue
            columns, below, inverse = self._parts[k]
            with np.errstate(over="ignore", invalid="ignore"):
                x = -(inverse @ z[below]) / float(nu)
            if np.isfinite(x).all():
                found[k] = dict(zip(columns, x.tolist(), strict=True))
        return found
