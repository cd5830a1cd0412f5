"""What holds at every point that matters to a tree: rows, limits, curvature, and its matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.cone_recognition import Reading
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.proofs.implied_limits import Reach

Matrix = Any  # sparse or dense

DENSE = 250_000  # entries of a matrix that is small


@dataclass(frozen=True, eq=False)
class Rows:
    """What holds at every point that matters: rows, limits, and the curvature of the objective.

    Attributes
    ----------
    conic : ConicForm
        Without rows for bounds of single columns; derived rows at the end, as nonneg rows.
    low, high : arrays (n,)
        Limits of the columns, whole numbers where a column is integer.
    curvature : array (n,)
        c of the module's docstring.
    readings : tuple of Reading
        Of the second-order cones, in order.
    integer : array (n,) of bool
        The only columns in which boxes differ.
    """

    conic: ConicForm
    low: Array
    high: Array
    curvature: Array
    readings: tuple[Reading, ...]
    integer: NDArray[np.bool_]

    @cached_property
    def whole(self) -> Index:
        """Numbers of the integer columns."""
        return np.flatnonzero(self.integer)

    @cached_property
    def continuous(self) -> Index:
        """Numbers of the others."""
        return np.flatnonzero(~self.integer)

    @cached_property
    def has_slacks(self) -> bool:
        """Whether a column with one limit has one entry, whose multiplier has a sign to keep."""
        ends = np.isfinite(self.low) != np.isfinite(self.high)
        return bool((ends & (np.diff(self.conic.A.indptr) == 1)).any())

    @property
    def reach(self) -> Reach:
        """The limits."""
        return Reach(self.low, self.high, math.inf)

    @cached_property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """P, A', and their absolute values; small ones dense, which is quicker there."""
        P, A = self.conic.P.tocsr(), self.conic.A.T.tocsr()
        if A.shape[0] * (A.shape[0] + A.shape[1]) <= DENSE:
            P, A = P.toarray(), A.toarray()
        return P, A, abs(P), abs(A)

    @cached_property
    def bounded(self) -> bool:
        """Whether every continuous column has limits, and no curvature is negative."""
        ends = np.isfinite(self.low) & np.isfinite(self.high)
        return bool(ends[self.continuous].all() and (self.curvature >= 0).all())

    @cached_property
    def lines(self) -> sp.csr_matrix:
        """A of the form, row by row."""
        return self.conic.A.tocsr()

    @cached_property
    def longest(self) -> int:
        """Entries of the longest column of P."""
        return int(np.diff(self.conic.P.indptr).max(initial=0))

    @cached_property
    def counts(self) -> Array:
        """How many entries of P and A' each column has."""
        return np.asarray(np.diff(self.conic.P.indptr) + np.diff(self.conic.A.indptr))
