"""A conic form with numbers near 1, and the way there and back for points and multipliers.

All factors are powers of two, so that the scaled form is the form, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import Block, ConicForm

LOST = 1e-6
EXPONENT = 300.0  # further than this no factor goes


@dataclass(frozen=True, eq=False)
class Factors:
    """What numbers of a model are multiplied with, all powers of two.

    Attributes
    ----------
    columns : array (n,)
        C of x = C x'.
    rows : array (m,)
        Of the linear rows of the model.
    psd : tuple of arrays
        S of each semidefinite row S (.) S.
    objective : float
        What the objective is divided by.
    """

    columns: Array
    rows: Array
    psd: tuple[Array, ...]
    objective: float

    @property
    def are_powers(self) -> bool:
        """Whether they are, so that scaling rounds nothing."""
        found = np.concatenate([self.columns, self.rows, *self.psd, [self.objective]])
        ordinary = np.isfinite(found) & (found > 0)
        return bool((ordinary & (np.frexp(found)[0] == 0.5)).all())


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


def scaled_conic(conic: ConicForm, by: Factors) -> ScaledConic:
    """Scale a conic form; each second-order cone gets factors of its own."""
    c, r, objective = by.columns, by.rows, by.objective
    by_columns = sp.diags(c)
    heads = _heads(conic)
    split, joined = _mixing(conic, heads, 0.5), _mixing(conic, heads, 1.0)
    A, b = (split @ conic.A @ by_columns).tocsr(), split @ conic.b
    factors_of_rows = np.concatenate([
        r[conic.equal], r[conic.low], r[conic.high],
        1 / c[conic.low_bound], 1 / c[conic.high_bound], np.ones(_in_cones(conic)),
    ])  # fmt: skip
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
    """Rows of the cones with the factors of each.

    Factors u and v of f and g bring their numbers near 1, and sqrt(u v) is that of the rest. Where
    there is nothing in one of them, all rows of a cone get one factor.
    """
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


def _find_lost(z: Array) -> None:
    """Set z_f or z_g of one cone (z_f, z_g, z_h), in place, where the other one drowned it."""
    square = float(z[2:] @ z[2:])
    if abs(z[0]) < LOST * abs(z[1]):
        z[0] = square / z[1]
    elif abs(z[1]) < LOST * abs(z[0]):
        z[1] = square / z[0]


def _in_cones(conic: ConicForm) -> int:
    return sum(block.size for block in conic.blocks if block.kind in ("soc", "psd"))
