"""Models whose numbers differ in size by many powers of ten, rewritten with numbers near 1.

    x = C x',   rows times R,   second-order cones times one factor,   semidefinite rows S (.) S,
    objective divided by F

The factors are those of Curtis & Reid with the objective and the sides as a further row and
column: data in other units give other factors, and up to a factor of two the same scaled model.
Largest entries of 1 (Ruiz's method) would not: rows (1e-8 w, b, rho) stay as they are.

All factors are powers of two: bounds and points of the scaled model are those of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.model.claim import Claim, times
from tightmargin.solvers.model.conic import Block, ConicForm, Multipliers
from tightmargin.solvers.model.polynomial import LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.model.reader import PsdRow, StandardForm
from tightmargin.solvers.model.residuals import without_rounding

# --- A conic form with numbers near 1, and the way there and back for points and multipliers -----


LOST = 1e-6
EXPONENT = 300.0  # further than this no factor goes


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors of a model, all powers of two."""

    columns: Array  # C of x = C x', 1 for integer columns
    rows: Array  # R of the linear rows
    psd: tuple[Array, ...]  # S of each semidefinite row S (.) S
    objective: float  # F, which the objective is divided by

    @property
    def are_powers(self) -> bool:
        """Whether they are, so that scaling rounds nothing."""
        factors = np.concatenate([self.columns, self.rows, *self.psd, [self.objective]])
        ordinary = np.isfinite(factors) & (factors > 0)
        return bool((ordinary & (np.frexp(factors)[0] == 0.5)).all())


@dataclass(frozen=True, eq=False)
class ScaledConic:
    """A scaled conic form, and the way there and back for points and multipliers.

    A cone (f + g, f - g, 2 h) says h^2 <= f g: f is scaled by u and g by v when h is scaled by
    sqrt(u v), which is a map of the cone onto itself. So the rows are split into f and g, scaled,
    and joined again.
    """

    conic: ConicForm
    columns: Array
    rows: Array  # factors, of f and g in place of the first two rows of a second-order cone
    split: sp.csr_matrix  # from f + g and f - g to f and g; symmetric
    joined: sp.csr_matrix  # the way back; symmetric
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
        """Inverse of `multipliers`, where cancellation lost z_f or z_g from z_f z_g = z_h^2."""
        parts = self.joined @ z
        for block in self.conic.blocks_of("soc"):
            if block.size > 1:
                cone = parts[block.rows]  # a view
                square = float(cone[2:] @ cone[2:])
                if abs(cone[0]) < LOST * abs(cone[1]):
                    cone[0] = square / cone[1]
                elif abs(cone[1]) < LOST * abs(cone[0]):
                    cone[1] = square / cone[0]
        parts = parts / self.rows / self.objective
        return self.split @ parts


def scaled_conic(conic: ConicForm, by: Factors) -> ScaledConic:
    """Scale a conic form; each second-order cone gets factors of its own."""
    c, r, objective = by.columns, by.rows, by.objective
    by_columns = sp.diags(c)
    heads = _heads(conic)
    split, joined = _mixing(conic, heads, 0.5), _mixing(conic, heads, 1.0)
    A, b = (split @ conic.A @ by_columns).tocsr(), split @ conic.b
    linear = [r[conic.equal], r[conic.low], r[conic.high]]
    linear += [1 / c[conic.low_bound], 1 / c[conic.high_bound]]
    in_cones = len(conic.b) - sum(map(len, linear))
    factors_of_rows = np.concatenate([*linear, np.ones(in_cones)])
    semidefinite = iter(by.psd)
    cones = conic.blocks_of("soc")
    if cones:
        rows, factors = _cone_factors(A, b, cones)
        factors_of_rows[rows] = factors
    for block in conic.blocks:
        if block.kind == "psd":
            factors = next(semidefinite)
            i, j = np.tril_indices(len(factors))
            factors_of_rows[block.rows] = factors[i] * factors[j]
    scaled = replace(
        conic,
        P=(by_columns @ conic.P @ by_columns / objective).tocsc(),
        q=c * conic.q / objective,
        A=(joined @ sp.diags(factors_of_rows) @ A).tocsc(),
        b=joined @ (factors_of_rows * b),
        offset=conic.offset / objective,
    )
    scaled.A.eliminate_zeros()
    return ScaledConic(scaled, c, factors_of_rows, split, joined, objective)


def nearest_powers(exponents: Array) -> Array:
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


def _cone_factors(A: sp.csr_matrix, b: Array, cones: list[Block]) -> tuple[Index, Array]:
    """Rows of the cones with their factors: u of f, v of g, sqrt(u v); one where f or g is 0."""
    starts, sizes = (
        np.array(part) for part in zip(*((c.start, c.size) for c in cones), strict=True)
    )
    owner = np.repeat(np.arange(len(cones)), sizes)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = starts[owner] + place
    sums, counts = _logs(A, b)
    totals = np.bincount(owner, sums[rows]), np.bincount(owner, counts[rows])
    second = starts + np.minimum(1, sizes - 1)
    both = (counts[starts] > 0) & (counts[second] > 0)
    f, g = (sums[at] / np.maximum(counts[at], 1) for at in (starts, second))
    alone = np.round(np.clip(-totals[0] / np.maximum(totals[1], 1), -EXPONENT, EXPONENT))
    middle = np.where(both, np.round(-(f + g) / 2), alone)
    apart = np.where(both, np.round((g - f) / 2), 0.0)
    exponents = middle[owner]
    exponents[place == 0] += apart
    exponents[place == 1] -= apart[sizes > 1]
    return rows, np.exp2(np.clip(exponents, -EXPONENT, EXPONENT))


def _logs(A: sp.csr_matrix, b: Array) -> tuple[Array, Index]:
    """Sum of the logarithms to base 2 of the numbers of each row but 0, and how many they are."""
    count = np.diff(A.indptr)
    row = np.concatenate([np.repeat(np.arange(len(b)), count), np.arange(len(b))])
    numbers = np.abs(np.concatenate([A.data, b]))
    row, numbers = row[numbers > 0], numbers[numbers > 0]
    sums = np.bincount(row, np.log2(numbers), len(b)).astype(np.float64)
    return sums, np.bincount(row, minlength=len(b)).astype(np.int64)


# --- What a gap is measured against, so that a verdict does not depend on the units of the data --
# Neither max(1, |f|) will do (optima of 1e-10 in other units) nor |f| alone (optima of 0, as of the
# extended nu-SVC at nu_bar). The 1 becomes the size F that scales all coefficients towards 1:
#     minimise over column scales D, row scales E and the size of the objective F the sum of
#     squares of log|E A D|, log|D P D|, log|D q|, log|E b|, log|bounds / D|, ..., for
#     x = sqrt(F) D x'
# the least-squares scaling of Curtis & Reid (On the automatic scaling of matrices for Gaussian
# elimination, IMA Journal of Applied Mathematics 10, 1972). The scale min(max(1, |f|), max(|f|, F))
# is never larger than max(1, |f|), and accepts nothing that 1e-6 of that refuses.


# Logarithms of the size of equal entries: unknowns that occur, with their signs, and the number.
Equations = tuple[list[tuple[Index, float]], Array]

ROUNDS = 300


def objective_scale(objective: float, unit: float) -> float:
    """What a gap is relative to, given the objective and its unit (see `objective_unit`)."""
    return min(max(1.0, abs(objective)), max(abs(objective), unit))


def objective_unit(form: StandardForm) -> float:
    """Natural size F of the objective of a model, from the size of its coefficients alone."""
    return math.exp(min(max(-2 * float(fitted(form)[-1]), -700.0), 700.0))


def fitted(form: StandardForm, held: NDArray[np.bool_] | None = None) -> Array:
    """Logarithms of D, of E by kind of row (linear, quadratic, semidefinite), of 1 / sqrt(F).

    Columns in `held` keep their unit, x = x': there D is 1 / sqrt(F).
    """
    n, m, k = form.n, len(form.rows), len(form.quadratic)
    orders = [row.order for row in form.psd]
    unknowns = n + m + k + sum(orders) + 1
    rows, columns, signs, right = [], [], [], []
    count = 0
    for terms, numbers in _equations(form, n + m + k, orders, unknowns - 1):
        here = count + np.arange(len(numbers))
        for index, sign in terms:
            rows.append(here)
            columns.append(np.broadcast_to(index, len(numbers)))
            signs.append(np.full(len(numbers), sign))
        right.append(-np.log(numbers))
        count += len(numbers)
    if not count:
        return np.zeros(unknowns)
    system = sp.csr_matrix(
        (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))),
        shape=(count, unknowns),
    )
    same = np.arange(unknowns)
    if held is not None and held.any():
        same[:n][held] = unknowns - 1
        system = system @ sp.csr_matrix((np.ones(unknowns), (np.arange(unknowns), same)))
    return lsqr(system, np.concatenate(right), atol=1e-10, btol=1e-10, iter_lim=ROUNDS)[0][same]


def _equations(form: StandardForm, first: int, orders: list[int], last: int) -> Iterator[Equations]:
    """One equation for each nonzero number; `last` is the unknown log(1 / sqrt(F))."""
    n, m = form.n, len(form.rows)
    everything = np.arange(n)
    A, P = without_rounding(form.matrix).tocoo(), form.P.tocoo()
    yield [(A.col, 1.0), (n + A.row, 1.0)], np.abs(A.data)
    yield [(P.col, 1.0), (P.row, 1.0)], np.abs(P.data)
    yield _nonzero(form.objective.a, [(everything, 1.0), (np.full(n, last), 1.0)])
    side = np.maximum(_finite(form.row_lower), _finite(form.row_upper))
    yield _nonzero(side, [(n + np.arange(m), 1.0), (np.full(m, last), 1.0)])
    bound = np.maximum(_finite(form.lower), _finite(form.upper))
    inverse = np.where(bound > 0, 1 / np.where(bound > 0, bound, 1.0), 0.0)
    yield _nonzero(inverse, [(everything, 1.0), (np.full(n, last), -1.0)])
    yield from _quadratic(form, n + m, last)
    for row, order in zip(form.psd, orders, strict=True):
        i, j = np.tril_indices(order)
        F = row.F.tocoo()
        at = [(first + i[F.row], 1.0), (first + j[F.row], 1.0)]
        yield [*at, (F.col, 1.0)], np.abs(F.data)
        yield _nonzero(row.g, [(first + i, 1.0), (first + j, 1.0), (np.full(len(i), last), 1.0)])
        first += order


def _quadratic(form: StandardForm, first: int, last: int) -> Iterator[Equations]:
    for at, row in enumerate(form.quadratic, start=first):
        body = row.body
        here = np.full(len(body.v), at)
        columns = [(body.index[body.i], 1.0), (body.index[body.j], 1.0), (here, 1.0)]
        yield columns, np.abs(body.v)
        here, scale = np.full(len(body.index), at), np.full(len(body.index), last)
        yield _nonzero(body.a, [(body.index, 1.0), (scale, 1.0), (here, 1.0)])
        side = row.upper if math.isfinite(row.upper) else row.lower
        rest = np.array([side - body.constant])
        yield _nonzero(rest, [(np.array([last]), 2.0), (np.array([at]), 1.0)])


def _finite(numbers: Array) -> Array:
    return np.where(np.isfinite(numbers), np.abs(numbers), 0.0)


def _nonzero(numbers: Array, terms: list[tuple[Index, float]]) -> Equations:
    keep = np.flatnonzero(numbers)
    return [(index[keep], sign) for index, sign in terms], np.abs(numbers[keep])


@dataclass(frozen=True, eq=False)
class Scaling(Factors):
    """Factors of a model, with those of its quadratic rows; F is the size of the objective."""

    original: StandardForm
    quadratic: Array

    @cached_property
    def form(self) -> StandardForm:
        """The scaled model; names of rows and columns are those of the original."""
        form, c, r = self.original, self.columns, self.rows
        by_columns = sp.diags(c)
        matrix = (sp.diags(r) @ form.matrix @ by_columns).asformat(form.matrix.format)
        goal, F = form.objective, self.objective
        Q = (by_columns @ goal.Q @ by_columns / F).tocsr()
        pairs = zip(form.quadratic, self.quadratic.tolist(), strict=True)
        semidefinite = zip(form.psd, self.psd, strict=True)
        return replace(
            form,
            lower=form.lower / c,
            upper=form.upper / c,
            objective=Quadratic(Q, c * goal.a / F, goal.constant / F),
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
        return scaled_conic(conic, self)


def scaling(form: StandardForm, held: NDArray[np.bool_] | None = None) -> Scaling:
    """Factors that bring the numbers of a model near 1, columns that are held left as they are."""
    n, m, k = form.n, len(form.rows), len(form.quadratic)
    orders = [row.order for row in form.psd]
    logs = fitted(form, held) / np.log(2.0)
    half = -float(logs[-1])  # log2 of sqrt(F): the last unknown is log(1 / sqrt(F))
    cuts = np.cumsum([n, m, k, *orders])
    columns, rows, quadratic, *psd = np.split(logs[:-1], cuts[:-1])
    return Scaling(
        columns=np.where(form.integer, 1.0, nearest_powers(columns + half)),
        rows=nearest_powers(rows - half),
        psd=tuple(nearest_powers(part - half / 2) for part in psd),
        objective=float(nearest_powers(np.array([2 * half]))[0]),
        original=form,
        quadratic=nearest_powers(quadratic - 2 * half),
    )


def _quadratic_row(row: QuadraticRow, columns: Array, factor: float) -> QuadraticRow:
    body, c = row.body, columns[row.body.index]
    v, a = factor * body.v * c[body.i] * c[body.j], factor * body.a * c
    scaled = LocalQuadratic(body.index, body.i, body.j, v, a, factor * body.constant)
    return QuadraticRow(scaled, factor * row.lower, factor * row.upper, row.data)


def _psd_row(row: PsdRow, columns: Array, factors: Array) -> PsdRow:
    i, j = np.tril_indices(len(factors))
    both = factors[i] * factors[j]
    return PsdRow((sp.diags(both) @ row.F @ sp.diags(columns)).tocsr(), both * row.g, row.data)
