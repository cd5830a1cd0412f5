"""What a gap is measured against, so that a verdict does not depend on the units of the data.

A gap of 1e-6 says nothing about an optimum of 1e-10, which is what points written in units a
hundred thousand times larger give; so the usual max(1, |f|) will not do. A gap relative to |f|
alone would not do either: an optimum may be 0 (the extended nu-SVC at nu_bar, w = 0 below nu_min),
where no arithmetic in double precision reaches it. The 1 must be a quantity in the units of the
objective that the data determine. It is the one that scales all coefficients towards 1:

    minimise over column scales D, row scales E and the size of the objective F the sum of squares
    of log|E A D|, log|D P D|, log|D q|, log|E b|, log|bounds / D|, ..., for x = sqrt(F) D x'

the least-squares scaling of Curtis & Reid (On the automatic scaling of matrices for Gaussian
elimination, IMA Journal of Applied Mathematics 10, 1972), with the objective and the sides as a
further row and column. Writing the data in other units moves its solution along and nothing else.

The scale is min(max(1, |f|), max(|f|, F)): never larger than max(1, |f|), so that nothing is
accepted that an absolute 1e-6, or 1e-6 of a large objective, would refuse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Logarithms of the size of equal entries: unknowns that occur, with their signs, and the number.
Equations = tuple[list[tuple[Index, float]], Array]

ROUNDS = 300


def objective_scale(objective: float, unit: float) -> float:
    """What a gap is relative to, given the objective and its unit (see `objective_unit`)."""
    return min(max(1.0, abs(objective)), max(abs(objective), unit))


def objective_unit(form: StandardForm) -> float:
    """Natural size F of the objective of a model, from the size of its coefficients alone.

    Scaling columns, rows or the objective of the model scales it exactly like the objective; where
    the data leave a unit open (a cone with its apex at 0 and nothing else) it stays near 1.
    """
    return math.exp(min(max(-2 * float(fitted(form)[-1]), -700.0), 700.0))


def fitted(form: StandardForm, held: NDArray[np.bool_] | None = None) -> Array:
    """Logarithms of D, of E by kind of row (linear, quadratic, semidefinite), of 1 / sqrt(F).

    Parameters
    ----------
    form : StandardForm
    held : array (n,) of bool, optional
        Columns that keep their unit, x = x': there D is 1 / sqrt(F).
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
    right_hand = np.concatenate(right)
    if held is None or not held.any():
        return lsqr(system, right_hand, atol=1e-10, btol=1e-10, iter_lim=ROUNDS)[0]
    same = np.arange(unknowns)
    same[:n][held] = unknowns - 1
    merged = system @ sp.csr_matrix((np.ones(unknowns), (np.arange(unknowns), same)))
    return lsqr(merged, right_hand, atol=1e-10, btol=1e-10, iter_lim=ROUNDS)[0][same]


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
