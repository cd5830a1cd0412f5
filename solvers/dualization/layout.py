"""What of a model stands where in its explicit dual: sizes, bounds and sides, before any matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.dualization.slack_columns import Slacks, curved, slacks
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Layout:
    """What of a model stands behind the columns of its dual, in this order, and behind its rows.

    Attributes
    ----------
    low, high : arrays
        Rows with a lower side (equations among them), and rows with an upper side.
    bends : array
        Columns with a quadratic term.
    lower, upper : arrays
        Kept columns with a finite bound that is not zero; a fixed column stands in `lower`.
    kept : array
        Columns that have a row in the dual.
    """

    low: Index
    high: Index
    bends: Index
    lower: Index
    upper: Index
    kept: Index

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the dual."""
        parts = (self.low, self.high, self.bends, self.lower, self.upper)
        return len(self.kept), sum(map(len, parts))


def dual_size(form: StandardForm) -> tuple[int, int] | None:
    """Rows and columns the explicit dual would have; None where there is no such dual."""
    if not has_dual(form):
        return None
    return layout_of(form, slacks(form, without_rounding(form.columnwise))).size


def has_dual(form: StandardForm) -> bool:
    """Whether a model is a continuous LP or QP."""
    return not (form.quadratic or form.psd or form.nonlinear or form.integer.any())


def layout_of(form: StandardForm, found: Slacks) -> Layout:
    """Places in the dual of a model with the given slack columns."""
    has_low, has_high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    kept = np.ones(form.n, dtype=bool)
    kept[found.columns] = False
    fixed = form.lower == form.upper
    return Layout(
        low=np.flatnonzero(has_low),
        high=np.flatnonzero(has_high & (form.row_lower != form.row_upper)),
        bends=curved(form),
        lower=np.flatnonzero(kept & np.isfinite(form.lower) & (form.lower != 0)),
        upper=np.flatnonzero(kept & np.isfinite(form.upper) & (form.upper != 0) & ~fixed),
        kept=np.flatnonzero(kept),
    )


@dataclass(frozen=True, eq=False)
class MultiplierBounds:
    """Bounds of the multipliers at the lower and at the upper side of rows."""

    low_from: Array
    low_to: Array
    high_from: Array
    high_to: Array


def multiplier_bounds(
    row_lower: Array, row_upper: Array, low: Array, high: Array
) -> MultiplierBounds:
    """Bounds from the sides of rows and the interval [low, high] their slack columns leave.

    A row between two sides has a multiplier at each, and the interval is cut at zero for them.
    """
    has_low, has_high = np.isfinite(row_lower), np.isfinite(row_upper)
    equal = has_low & (row_lower == row_upper)
    between = has_low & has_high & ~equal
    return MultiplierBounds(
        low_from=np.where(equal, low, np.maximum(low, 0.0)),
        low_to=np.where(between, np.maximum(high, 0.0), high),
        high_from=np.where(between, np.minimum(low, 0.0), low),
        high_to=np.minimum(high, 0.0),
    )


def dual_row_sides(c: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Sides of the dual's rows: c, and open where a bound at zero has a multiplier for nothing."""
    return np.where(lower == 0, -np.inf, c), np.where(upper == 0, np.inf, c)
