"""What multipliers leave of stationarity in a few columns: exactly, or between two near numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.exact_arithmetic import dot_integers, dyadic, scaled
from tightmargin.solvers.proofs.exact_sums.double_sums import double_sums, in_range, two_products
from tightmargin.solvers.proofs.exact_sums.exact_products import exact_products

Residuals = dict[int, tuple[Fraction, Fraction]]  # by column, between two numbers


def exact_residuals(conic: ConicForm, x: Array, z: Array, columns: Index) -> Residuals:
    """P x + q + A'z in some columns: both ends are the same."""
    total = [Fraction(number) for number in conic.q[columns].tolist()]
    for matrix, vector in ((conic.P, x), (conic.A, z)):
        lines = matrix[:, columns].T.tocsr()
        if not lines.nnz:
            continue
        found = exact_products(lines, vector)
        for k in range(len(total)):
            if found is not None:
                total[k] += scaled(found[0][k], found[1])
                continue
            span = slice(lines.indptr[k], lines.indptr[k + 1])
            a, v = dyadic(lines.data[span]), dyadic(vector[lines.indices[span]])
            product = dot_integers(a.integers, v.integers)
            total[k] += scaled(product, a.exponent + v.exponent)
    return dict(zip(columns.tolist(), zip(total, total, strict=True), strict=True))


def near_residuals(conic: ConicForm, x: Array, z: Array, columns: Index) -> Residuals | None:
    """The same in twice the precision; None where products over- or underflow."""
    lines, vector = conic.A[:, columns], z
    bent = conic.P[:, columns]
    if bent.nnz:
        lines = sp.vstack([lines, bent], format="csc")
        vector = np.concatenate([z, x])
    used = vector[lines.indices] != 0
    starts = np.concatenate([[0], np.cumsum(used)])[lines.indptr]
    numbers, entries = lines.data[used], vector[lines.indices[used]]
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_products(numbers, entries)
        sums = double_sums(products, errors, starts)
        value, radius = sums.less(-conic.q[columns])
        known = np.isfinite(value).all() and np.isfinite(radius).all()
        if not (known and in_range(numbers, entries, products).all()):
            return None
    ends = [
        (Fraction(middle) - Fraction(far), Fraction(middle) + Fraction(far))
        for middle, far in zip(value.tolist(), radius.tolist(), strict=True)
    ]
    return dict(zip(columns.tolist(), ends, strict=True))
