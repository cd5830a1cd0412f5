"""Bounds in rational arithmetic: the inequality of bound.py without a rounding.

For multipliers y of rows  low <= A x <= high  (y_i > 0 only with a finite low_i, y_i < 0 only with
a finite high_i) and reduced costs r = c - A'y, every feasible x of a linear program has

    c'x >= sum_i (y_i low_i or y_i high_i) + sum_j (r_j lower_j or r_j upper_j),

a number that the doubles of the program and y determine exactly (Neumaier & Shcherbina, Safe bounds
in linear and mixed-integer programming, Mathematical Programming 99, 2004). A free column needs
r_j = 0 exactly: the multipliers are moved as for any bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact import rounded_down, shortened_down
from tightmargin.solvers.kernel.bound import SparseMultipliers, exact_linear
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.model.columns import Columns, Labels
from tightmargin.solvers.model.conic import Multipliers, conic_multipliers, without_own_bounds
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm

LP_METHOD = "exact rational dual bound"
NONZERO_LIMIT = 4_000_000
FREE_LIMIT = 150  # columns without a limit


def exact_lp_bound(subject: Subject, y: Array) -> LowerBound | None:
    """Lower bound on a linear program; None when the multipliers cannot be repaired.

    y: multipliers of the linear rows, d objective / d right-hand side, approximate.
    """
    found = _rational(subject, y)
    varying = -math.inf if found is None else rounded_down(found[0])
    if found is None or not math.isfinite(varying):
        return None
    form, evidence = subject.form, SparseMultipliers.of(1.0, np.zeros(subject.form.n), found[1])
    words = LP_METHOD + relaxed(form)
    return LowerBound(subject=form, words=words, seal=SEAL, varying=varying, evidence=evidence)


def exact_lp_value(subject: Subject, y: Array) -> Fraction | None:
    """The bound itself, the constant of the objective left out."""
    found = _rational(subject, y)
    return None if found is None else found[0]


def _rational(subject: Subject, y: Array) -> tuple[Fraction, Array] | None:
    """The bound, and the multipliers of the conic form that prove it once they are moved."""
    form = subject.form
    if form.columnwise.nnz > NONZERO_LIMIT or form.objective.Q.nnz or form.quadratic or form.psd:
        return None
    if y.shape != (len(form.rows),) or not np.isfinite(y).all():
        return None
    given = conic_multipliers(subject.conic, Multipliers(y, np.zeros(form.n), {}))
    conic, z = without_own_bounds(subject.conic, given)
    found = exact_linear(conic, z, subject.bounds, FREE_LIMIT)
    return None if found is None else (found, z)


# --- An exact lower bound for a convex quadratic program, in rational arithmetic -----------------
# For any point x^, multipliers y of rows  low <= A x <= high  (y_i > 0 only with a finite low_i,
# y_i < 0 only with a finite high_i) and c with Q - diag(c) semidefinite, every feasible x has
#     x'Q x + a'x >= -x^'Q x^ + sum_i y_i side_i + sum_j least of r_j x_j + c_j (x_j - x^_j)^2,
# r = 2 Q x^ + a - A'y, each least taken over the limits of x_j. It is the inequality of
# kernel/bound.py without a rounding: beside a large constant, which squares leave behind,
# roundings of its size are more than the optimum.


QP_METHOD = "weak duality in rational arithmetic"
ENTRY_LIMIT = 200_000  # so many products take a second
Numbers = Mapping[int, Fraction]


@dataclass(frozen=True, eq=False)
class RationalMultipliers:
    """x^ by column and multipliers by linear row; 0 where there is none."""

    x: Numbers
    y: Numbers


def exact_qp_bound(subject: Subject, x: Numbers, y: Numbers) -> LowerBound | None:
    """The bound of the module's docstring; None where these numbers prove none.

    x, y: rational numbers by column, and by row of the linear rows; 0 where there is none.
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
    words = QP_METHOD + relaxed(form)
    varying = rounded_down(number)
    if not math.isfinite(varying):
        return None
    evidence = RationalMultipliers(x, y)
    return LowerBound(
        subject=form, words=words, seal=SEAL, varying=varying, number=number, evidence=evidence
    )


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


# --- Proofs that linear rows and bounds have no common point, from multipliers that anybody found
# With slacks s, t >= 0 every model has a point of
#     row_lower <= A x + s - t <= row_upper,   lower <= x <= upper,
# and the least of sum (s + t) is 0 when the rows can hold. So a positive lower bound on it, in
# exact rational arithmetic, proves that they cannot; its multipliers are a Farkas vector. A
# violation no larger than what rounding may have put into the sides proves nothing. Integrality,
# quadratic and semidefinite rows only take points away, so that the proof holds with them too.


FARKAS = "exact rational Farkas bound: rows and bounds are violated by {:.3g} or more at any point"
CROSSED = "the {} cross"
# Of the largest side: a fixed variable was moved to the sides in double precision.
ROUNDING = 1e-9


def proven_infeasible(form: StandardForm, multipliers: Array) -> Infeasible | None:
    """Check a Farkas vector over the linear rows; None when it is none."""
    crossed = _crossed(form)
    if crossed:
        return _stated(form, CROSSED.format(crossed), np.zeros(len(form.rows)))
    if not np.isfinite(multipliers).all() or not multipliers.any():
        return None
    bound = exact_lp_bound(Subject(elastic_form(form)), multipliers)
    if bound is None or bound.varying <= ROUNDING * _largest_side(form):
        return None
    return _stated(form, FARKAS.format(bound.varying), multipliers)


def _crossed(form: StandardForm) -> str:
    """The first column, or row of any kind, whose lower end is above its upper one; or nothing."""
    for low, high, what, names in (
        (form.lower, form.upper, "bounds of", form.columns),
        (form.row_lower, form.row_upper, "sides of row", form.rows),
    ):
        found = np.flatnonzero(_lies_above(low, high))
        if found.size:
            return f"{what} {names.name(int(found[0]))}"
    ends = [(row.lower, row.upper, row.data) for row in form.quadratic]
    ends += [
        (row.lb, row.ub, row)
        for row in form.nonlinear
        if row.ctype is pyo.Constraint and row.has_lb() and row.has_ub()
    ]
    curved = (row for low, high, row in ends if _lies_above(low, high))
    return next((f"sides of row {row.name}" for row in curved), "")


def _lies_above(low: Any, high: Any) -> Any:
    """Whether lower ends lie above upper ones by more than rounding may have put there."""
    size = np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
    return low > high + ROUNDING * size


def of_size_1(multipliers: Array) -> Array:
    """A Farkas vector times the power of 2 that makes its largest number 1 at most, and above 1/2.

    Whatever its size it proves the same, but a violation costs 1, and no multiplier may exceed it.
    """
    size = float(np.abs(multipliers).max(initial=0.0))
    return np.ldexp(multipliers, -math.frexp(size)[1]) if math.isfinite(size) else multipliers


def _stated(form: StandardForm, words: str, multipliers: Array) -> Infeasible:
    return Infeasible(subject=form, words=words, seal=SEAL, multipliers=multipliers)


def _largest_side(form: StandardForm) -> float:
    sides = np.abs(np.concatenate([form.row_lower, form.row_upper]))
    return float(sides[np.isfinite(sides)].max(initial=1.0))


def elastic_form(form: StandardForm) -> StandardForm:
    """The linear program that looks for the least violation of the rows."""
    m, n = len(form.rows), form.n
    up = np.flatnonzero(np.isfinite(form.row_lower))
    down = np.flatnonzero(np.isfinite(form.row_upper))
    size = len(up) + len(down)
    identity = sp.identity(m, format="csc")
    names = Labels(
        ("", form.columns, np.arange(n)), ("shortfall of ", form.rows, up),
        ("excess of ", form.rows, down),
    )  # fmt: skip
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([form.lower, np.zeros(size)]),
        upper=np.concatenate([form.upper, np.full(size, np.inf)]),
        integer=np.zeros(n + size, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + size, n + size)), np.concatenate([np.zeros(n), np.ones(size)]), 0.0
        ),
        sense=1,
        matrix=sp.hstack([form.columnwise, identity[:, up], -identity[:, down]], format="csc"),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )
