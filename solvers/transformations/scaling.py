"""Models whose numbers differ in size by many powers of ten, rewritten with numbers near 1.

    x = C x',   rows times R,   second-order cones times one factor,   semidefinite rows S (.) S,
    objective divided by F

The factors are those of least_squares_scaling.py, the method of Curtis & Reid with the
objective and the sides as a further row and column: data in other units give other factors, and up
to a factor of two the same scaled model. Scaling towards rows and columns whose largest entry is 1
(Ruiz's method) would not do that: rows (1e-8 w, b, rho) are content with 1e-8.

All factors are powers of two, so that the scaled model is the model, exactly, and a bound or a
point of the one is a bound or a point of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm, Multipliers
from tightmargin.solvers.canonical_form.scaled_conic import (
    Factors,
    ScaledConic,
    nearest_powers,
    scaled_conic,
)
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.trace import times
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm
from tightmargin.solvers.transformations.least_squares_scaling import fitted

# Largest number over smallest one from which on a model is scaled before it is solved. A mean over
# 1e5 points has costs of 1e-5, and its least-squares problem takes a while.
SPREAD, SPREAD_OF_LARGE, LARGE = 1e4, 1e9, 300_000


@dataclass(frozen=True, eq=False)
class Scaling:
    """Factors of a model, all powers of two.

    Attributes
    ----------
    original : StandardForm
    columns : array (n,)
        C; 1 for integer columns.
    rows : array (m,)
        R of the linear rows.
    quadratic : array (k,)
        Factors of the quadratic rows.
    psd : tuple of arrays
        S of each semidefinite row.
    objective : float
        F, the natural size of the objective.
    """

    original: StandardForm
    columns: Array
    rows: Array
    quadratic: Array
    psd: tuple[Array, ...]
    objective: float

    @cached_property
    def form(self) -> StandardForm:
        """The scaled model; names of rows and columns are those of the original."""
        form, c, r = self.original, self.columns, self.rows
        by_columns = sp.diags(c)
        matrix = (sp.diags(r) @ form.matrix @ by_columns).asformat(form.matrix.format)
        goal = form.objective
        scaled_goal = Quadratic(
            (by_columns @ goal.Q @ by_columns / self.objective).tocsr(),
            c * goal.a / self.objective,
            goal.constant / self.objective,
        )
        pairs = zip(form.quadratic, self.quadratic.tolist(), strict=True)
        semidefinite = zip(form.psd, self.psd, strict=True)
        return replace(
            form,
            lower=form.lower / c,
            upper=form.upper / c,
            objective=scaled_goal,
            matrix=matrix,
            row_lower=r * form.row_lower,
            row_upper=r * form.row_upper,
            quadratic=tuple(_quadratic_row(row, c, factor) for row, factor in pairs),
            psd=tuple(_psd_row(row, c, factors) for row, factors in semidefinite),
        )

    def claim(self, scaled: Claim) -> Claim:
        """What a claim about the scaled model says of the original one."""
        size, duals = self.objective, scaled.duals
        if duals is not None:
            # d objective / d side, and both were scaled.
            duals = Multipliers(
                size * self.rows * duals.rows, size * duals.bounds / self.columns, duals.cones
            )
        return replace(
            scaled,
            x=None if scaled.x is None else self.columns * scaled.x,
            duals=duals,
            bound=None if scaled.bound is None else size * scaled.bound,
            objective=None if scaled.objective is None else size * scaled.objective,
            trace=times(size, scaled.trace),
            message=f"{scaled.message}, after scaling",
        )

    @property
    def factors(self) -> Factors:
        """Those that a conic form is scaled with."""
        return Factors(self.columns, self.rows, self.psd, self.objective)

    def conic(self, conic: ConicForm) -> ScaledConic:
        """Scale the conic form of the original: each second-order cone by itself."""
        return scaled_conic(conic, self.factors)


def scaling(form: StandardForm, held: NDArray[np.bool_] | None = None) -> Scaling:
    """Factors that bring the numbers of a model near 1, columns that are held left as they are."""
    n, m, k = form.n, len(form.rows), len(form.quadratic)
    orders = [row.order for row in form.psd]
    logs = fitted(form, held) / np.log(2.0)
    half = -float(logs[-1])  # log2 of sqrt(F): the last unknown is log(1 / sqrt(F))
    cuts = np.cumsum([n, m, k, *orders])
    columns, rows, quadratic, *psd = np.split(logs[:-1], cuts[:-1])
    return Scaling(
        form,
        np.where(form.integer, 1.0, nearest_powers(columns + half)),
        nearest_powers(rows - half),
        nearest_powers(quadratic - 2 * half),
        tuple(nearest_powers(part - half / 2) for part in psd),
        float(nearest_powers(np.array([2 * half]))[0]),
    )


def badly_scaled(form: StandardForm) -> bool:
    """Whether the numbers of a model differ so much in size that it is scaled at the first try."""
    large = form.matrix.nnz > LARGE
    numbers = [
        _matrix_sizes(form, large), form.objective.a, form.objective.Q.data,
        form.row_lower, form.row_upper, form.lower, form.upper,
        *(row.body.v for row in form.quadratic), *(row.body.a for row in form.quadratic),
    ]  # fmt: skip
    for row in form.psd:
        numbers += [abs(row.F).max(axis=0).toarray().ravel(), row.g]
    low, high = np.inf, 0.0
    for part in numbers:
        sizes = np.abs(part[np.isfinite(part) & (part != 0)])
        low, high = min(low, sizes.min(initial=np.inf)), max(high, sizes.max(initial=0.0))
    return bool(high > (SPREAD_OF_LARGE if large else SPREAD) * low)


def _matrix_sizes(form: StandardForm, large: bool) -> Array:
    """Largest coefficient of each column; of all of them together when there are many."""
    A = form.matrix
    if large:
        return np.array([A.data.max(), A.data.min()])
    return abs(without_rounding(A)).max(axis=0).toarray().ravel() if A.nnz else np.zeros(0)


def _quadratic_row(row: QuadraticRow, columns: Array, factor: float) -> QuadraticRow:
    body, c = row.body, columns[row.body.index]
    scaled = LocalQuadratic(
        body.index,
        body.i,
        body.j,
        factor * body.v * c[body.i] * c[body.j],
        factor * body.a * c,
        factor * body.constant,
    )
    return QuadraticRow(scaled, factor * row.lower, factor * row.upper, row.data)


def _psd_row(row: PsdRow, columns: Array, factors: Array) -> PsdRow:
    i, j = np.tril_indices(len(factors))
    both = factors[i] * factors[j]
    return PsdRow((sp.diags(both) @ row.F @ sp.diags(columns)).tocsr(), both * row.g, row.data)
