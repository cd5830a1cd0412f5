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
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.trace import times
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm
from tightmargin.solvers.transformations.least_squares_scaling import fitted

# Largest number over smallest one from which on a model is scaled before it is solved. A mean over
# 1e5 points has costs of 1e-5, and its least-squares problem takes a while.
SPREAD, SPREAD_OF_LARGE, LARGE = 1e4, 1e9, 300_000
LOST = 1e-6
EXPONENT = 300.0  # further than this no factor goes


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

    def conic(self, conic: ConicForm) -> ScaledConic:
        """Scale the conic form of the original: each second-order cone by itself."""
        by_columns, c, r = sp.diags(self.columns), self.columns, self.rows
        heads = _heads(conic)
        split, joined = _mixing(conic, heads, 0.5), _mixing(conic, heads, 1.0)
        A, b = (split @ conic.A @ by_columns).tocsr(), split @ conic.b
        rows = np.concatenate([
            r[conic.equal], r[conic.low], r[conic.high],
            1 / c[conic.low_bound], 1 / c[conic.high_bound], np.ones(_in_cones(conic)),
        ])  # fmt: skip
        semidefinite = iter(self.psd)
        for block in conic.blocks:
            if block.kind == "soc":
                rows[block.rows] = _cone_factors(A[block.rows], b[block.rows])
            if block.kind == "psd":
                factors = next(semidefinite)
                i, j = np.tril_indices(len(factors))
                rows[block.rows] = factors[i] * factors[j]
        scaled = replace(
            conic,
            P=(by_columns @ conic.P @ by_columns / self.objective).tocsc(),
            q=c * conic.q / self.objective,
            A=(joined @ sp.diags(rows) @ A).tocsc(),
            b=joined @ (rows * b),
            offset=conic.offset / self.objective,
        )
        scaled.A.eliminate_zeros()
        return ScaledConic(scaled, c, rows, split, joined, self.objective)


@dataclass(frozen=True, eq=False)
class ScaledConic:
    """A scaled conic form, and the way there and back for points and multipliers.

    A cone (f + g, f - g, 2 h) says h^2 <= f g: f is scaled by u and g by v when h is scaled by
    sqrt(u v), which is a map of the cone onto itself. So the rows are split into f and g, scaled,
    and joined again.

    Attributes
    ----------
    rows : array
        Factors of the rows, of f and g in place of the first two of a second-order cone.
    split, joined : csr_matrix
        From f + g and f - g to f and g, and back; both symmetric.
    """

    conic: ConicForm
    columns: Array
    rows: Array
    split: sp.csr_matrix
    joined: sp.csr_matrix
    objective: float

    def point(self, x: Array) -> Array:
        """Point of the original form."""
        return self.columns * x

    def multipliers(self, z: Array) -> Array:
        """Multipliers of the original form."""
        return self.objective * (self.split @ (self.rows * (self.joined @ z)))

    def scaled_point(self, x: Array) -> Array:
        """Inverse of `point`."""
        return x / self.columns

    def scaled_multipliers(self, z: Array) -> Array:
        """Inverse of `multipliers`, with what the difference of near numbers has lost.

        The multipliers z_f, z_g and z_h of a cone satisfy z_f z_g = z_h^2 at an optimum, unless
        all of the cone or its multiplier is 0. Where f and g are of very different size, one of
        z_f and z_g is lost in the sum and difference of the two, and follows from the others.
        """
        parts = self.joined @ z
        for block in self.conic.blocks_of("soc"):
            if block.size > 1:
                _find_lost(parts[block.rows])
        parts = parts / self.rows / self.objective
        return self.split @ parts


def scaling(form: StandardForm) -> Scaling:
    """Factors that bring the numbers of a model near 1."""
    n, m, k = form.n, len(form.rows), len(form.quadratic)
    orders = [row.order for row in form.psd]
    logs = fitted(form) / np.log(2.0)
    half = -float(logs[-1])  # log2 of sqrt(F): the last unknown is log(1 / sqrt(F))
    cuts = np.cumsum([n, m, k, *orders])
    columns, rows, quadratic, *psd = np.split(logs[:-1], cuts[:-1])
    return Scaling(
        form,
        np.where(form.integer, 1.0, _power(columns + half)),
        _power(rows - half),
        _power(quadratic - 2 * half),
        tuple(_power(part - half / 2) for part in psd),
        float(_power(np.array([2 * half]))[0]),
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


def _power(exponents: Array) -> Array:
    """The nearest powers of two."""
    return np.exp2(np.round(np.clip(exponents, -EXPONENT, EXPONENT)))


def _heads(conic: ConicForm) -> NDArray[np.intp]:
    """First rows of the second-order cones of two rows or more."""
    starts = [block.start for block in conic.blocks if block.kind == "soc" and block.size > 1]
    return np.array(starts, dtype=np.intp)


def _mixing(conic: ConicForm, heads: NDArray[np.intp], size: float) -> sp.csr_matrix:
    """Sum and difference of the first two rows of each cone, times `size`; the other rows."""
    m = conic.A.shape[0]
    diagonal = np.ones(m)
    diagonal[heads], diagonal[heads + 1] = size, -size
    entries = np.concatenate([diagonal, np.full(2 * len(heads), size)])
    rows = np.concatenate([np.arange(m), heads, heads + 1])
    columns = np.concatenate([np.arange(m), heads + 1, heads])
    return sp.csr_matrix((entries, (rows, columns)), shape=(m, m))


def _cone_factors(A: sp.csr_matrix, b: Array) -> Array:
    """Factors u and v of f and g that bring their numbers near 1, and sqrt(u v) for the rest."""
    first, second = (_mean_log(A, b, slice(k, k + 1)) for k in (0, 1 % len(b)))
    if first is None or second is None:  # nothing in one of them: one factor for all
        everything = _mean_log(A, b, slice(None))
        return np.full(len(b), float(_power(np.array(-(everything or 0.0)))))
    middle = np.round(-(first + second) / 2)
    apart = np.round((second - first) / 2)
    factors = np.full(len(b), middle)
    factors[: min(2, len(b))] += np.array([apart, -apart])[: len(b)]
    return np.exp2(np.clip(factors, -EXPONENT, EXPONENT))


def _find_lost(z: Array) -> None:
    """Set z_f or z_g of one cone (z_f, z_g, z_h), in place, where the other one drowned it."""
    square = float(z[2:] @ z[2:])
    if abs(z[0]) < LOST * abs(z[1]):
        z[0] = square / z[1]
    elif abs(z[1]) < LOST * abs(z[0]):
        z[1] = square / z[0]


def _mean_log(A: sp.csr_matrix, b: Array, rows: slice) -> float | None:
    """Mean logarithm to base 2 of the numbers of some rows; None without any but 0."""
    numbers = np.abs(np.concatenate([A[rows].data, b[rows]]))
    numbers = numbers[numbers > 0]
    return float(np.log2(numbers).mean()) if len(numbers) else None


def _in_cones(conic: ConicForm) -> int:
    return sum(block.size for block in conic.blocks if block.kind in ("soc", "psd"))


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
