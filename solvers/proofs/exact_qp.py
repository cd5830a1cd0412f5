"""An exact lower bound for a convex quadratic program, in rational arithmetic.

For any point x^, multipliers y of rows  low <= A x <= high  (y_i > 0 only with a finite low_i,
y_i < 0 only with a finite high_i) and c with Q - diag(c) semidefinite, every feasible x has

    x'Q x + a'x >= -x^'Q x^ + sum_i y_i side_i + sum_j least of r_j x_j + c_j (x_j - x^_j)^2,

r = 2 Q x^ + a - A'y, each least taken over the limits of x_j. It is the inequality of
weak_duality.py without a rounding: beside a large constant, which squares leave behind, roundings
of its size are more than the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import scipy.sparse as sp

from tightmargin.solvers.exact_arithmetic import rounded_down, shortened_down
from tightmargin.solvers.proofs.statement import SEAL, LowerBound, relaxed
from tightmargin.solvers.proofs.subject import Subject

METHOD = "weak duality in rational arithmetic"
ENTRY_LIMIT = 200_000  # so many products take a second
Numbers = Mapping[int, Fraction]


def exact_qp_bound(subject: Subject, x: Numbers, y: Numbers) -> LowerBound | None:
    """The bound of the module's docstring; None where these numbers prove none.

    Parameters
    ----------
    x, y : mappings
        Rational numbers by column, and by row of the linear rows; 0 where there is none.
    """
    form, kind = subject.form, subject.classification
    if form.nonlinear or form.quadratic or form.psd or not kind.relaxes_to_convex:
        return None
    if form.A.nnz + form.objective.Q.nnz > ENTRY_LIMIT or kind.curvature is None:
        return None
    rest = {j: Fraction(a) for j, a in enumerate(form.objective.a.tolist())}
    total = Fraction(0)
    for j, twice in _products(form.P.tocsr(), x).items():
        rest[j] += twice
        total -= x.get(j, Fraction(0)) * twice / 2
    for i, price in y.items():
        side = _end(form.row_lower[i] if price > 0 else form.row_upper[i])
        if price and side is None:
            return None
        total += price * (side or 0)
    for j, of_rows in _products(form.A.T.tocsr(), y).items():
        rest[j] -= of_rows
    limits = zip(form.lower.tolist(), form.upper.tolist(), kind.curvature.tolist(), strict=True)
    for j, (low, high, bend) in enumerate(limits):
        least = _least(rest[j], Fraction(bend), x.get(j, Fraction(0)), _end(low), _end(high))
        if least is None:
            return None
        total += least
    number = shortened_down(total)
    words = METHOD + relaxed(form)
    varying = rounded_down(number)
    if not math.isfinite(varying):
        return None
    return LowerBound(subject=form, words=words, seal=SEAL, varying=varying, number=number)


def _products(matrix: sp.csr_matrix, x: Numbers) -> dict[int, Fraction]:
    """A matrix times a vector, by line; lines without an entry are left out."""
    starts, columns, entries = matrix.indptr, matrix.indices.tolist(), matrix.data.tolist()
    found = {}
    for line, (start, end) in enumerate(pairwise(starts.tolist())):
        terms = (Fraction(entries[k]) * x[columns[k]] for k in range(start, end) if columns[k] in x)
        if end > start:
            found[line] = sum(terms, Fraction(0))
    return found


def _end(value: float) -> Fraction | None:
    return Fraction(value) if math.isfinite(value) else None


def _least(
    r: Fraction, bend: Fraction, at: Fraction, low: Fraction | None, high: Fraction | None
) -> Fraction | None:
    """Least of r x + bend (x - at)^2 between two limits; None where it falls without end."""
    if bend > 0:
        x = at - r / (2 * bend)
        x = x if low is None else max(x, low)
        x = x if high is None else min(x, high)
        return r * x + bend * (x - at) ** 2
    if bend < 0:
        if low is None or high is None:
            return None
        return min(r * x + bend * (x - at) ** 2 for x in (low, high))
    end = low if r > 0 else high
    return Fraction(0) if not r else None if end is None else r * end
