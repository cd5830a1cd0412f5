"""Rays of a model: the directions that its rows never stop, searched by a linear program.

The rows of a model, with their finite sides moved to zero, leave a cone of directions:

    A_i d >= 0, <= 0 or = 0 as row i has sides, and d_j likewise by the bounds of column j,
    Q d = 0 where the objective is convex,
    Q_k d = 0 and a_k'd <= 0 in a convex quadratic row,
    A_k d in the cone of a row that is a second-order cone, and F d semidefinite.

`steepest` replaces the last two by polyhedra inside them (a sum of absolute values instead of a
norm, diagonally dominant matrices), so that a vertex of a linear program is a candidate; where
that finds nothing, `innermost` looks for a direction in the interior of the cones, which rounding
does not drive out. Both answer in floating point: `exact_candidates` moves a direction onto the
rows it touches, in rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from formulations.cones import lower_pairs, order
from solvers import clarabel, highs
from solvers.backend import Limits
from solvers.classify import Classification, classify
from solvers.conic_form import Block, ConicForm, pack, triangle_scale
from solvers.dual.names import Labels, Listed
from solvers.errors import NumberError
from solvers.exact_arithmetic import dyadic, scaled, solve_exactly
from solvers.quadratic_rows import Shape
from solvers.quadratics import LocalQuadratic, Quadratic
from solvers.reading.columns import Columns
from solvers.standard_form import StandardForm

Array = NDArray[np.float64]
Index = NDArray[np.int64]

ZERO = 1e-7
UNKNOWN_LIMIT = 150
# Denominators of rounded directions: coarse ones first, because they meet equations of whole
# numbers that the exact number does not.
GRIDS = (1, 2**4, 2**12, 2**24)


@dataclass(frozen=True, eq=False)
class Recession:
    """Linear rows, bounds and cones of the directions; every finite side is zero.

    Attributes
    ----------
    unit : array (n,)
        Powers of two: the direction is unit * d, so that columns of any size count alike and the
        rows stay exact.
    R : csr_matrix (m, n)
        Rows over d, to be met exactly.
    low, high : arrays (m,)
        0 or infinite.
    lower, upper : arrays (n,)
        The same for the columns.
    cones : tuple of (str, csr_matrix (k, n))
        "soc": the first row is at least the norm of the others. "psd": the row-wise lower triangle
        of a semidefinite matrix.
    """

    unit: Array
    R: sp.csr_matrix
    low: Array
    high: Array
    lower: Array
    upper: Array
    cones: tuple[tuple[str, sp.csr_matrix], ...]


def recession(form: StandardForm, classification: Classification) -> Recession:
    """Directions that the convex part of a model never stops; other rows are left out."""
    low = np.where(np.isfinite(form.row_lower), 0.0, -math.inf)
    high = np.where(np.isfinite(form.row_upper), 0.0, math.inf)
    parts: list[tuple[sp.csr_matrix, Array, Array]] = [(form.A, low, high)]
    if form.objective.Q.nnz and classification.relaxes_to_convex:
        parts.append(_level(_nonempty(form.objective.Q.tocsr())))
    cones: list[tuple[str, sp.csr_matrix]] = []
    for row, reading in zip(form.quadratic, classification.readings, strict=True):
        if reading.shape is not Shape.CONVEX or reading.cone is None:
            continue
        g = row.body if np.isfinite(row.upper) else row.body.shifted(-1.0, row.lower)
        if _is_semidefinite(g):
            parts.append(_level(_spread(g.i, g.j, g.v, g.index, form.n)))
            slope = _spread(np.zeros(len(g.a), int), np.arange(len(g.a)), g.a, g.index, form.n)
            parts.append((slope, np.full(1, -math.inf), np.zeros(1)))
        else:
            cones.append(("soc", _over(reading.cone.A, reading.cone.index, form.n)))
    cones += [("psd", psd_row.F.tocsr()) for psd_row in form.psd]
    everything = sp.vstack([R for R, *_ in parts], format="csr")
    unit = _powers(_sizes(sp.vstack([everything, *(A for _, A in cones)], format="csr"), 0))
    scale = sp.diags(unit)
    return Recession(
        unit,
        (everything @ scale).tocsr(),
        np.concatenate([low for _, low, _ in parts]),
        np.concatenate([high for *_, high in parts]),
        np.where(np.isfinite(form.lower), 0.0, -math.inf),
        np.where(np.isfinite(form.upper), 0.0, math.inf),
        tuple((kind, (A @ scale).tocsr()) for kind, A in cones),
    )


def _level(rows: sp.csr_matrix) -> tuple[sp.csr_matrix, Array, Array]:
    return rows, np.zeros(rows.shape[0]), np.zeros(rows.shape[0])


def _nonempty(rows: sp.csr_matrix) -> sp.csr_matrix:
    return rows[np.flatnonzero(np.diff(rows.indptr))]


def _is_semidefinite(g: LocalQuadratic) -> bool:
    q = np.zeros((len(g.index), len(g.index)))
    q[g.i, g.j] = g.v
    values = np.linalg.eigvalsh(q)
    return bool(values[0] >= -1e-11 * np.abs(values).max())


def _spread(i: Index, j: Index, v: Array, index: Index, n: int) -> sp.csr_matrix:
    """Local rows over all columns, empty ones left out."""
    height = int(i.max()) + 1 if len(i) else 0
    return _nonempty(sp.csr_matrix((v, (i, index[j])), shape=(height, n)))


def _over(A: Array, index: Index, n: int) -> sp.csr_matrix:
    i, j = A.nonzero()
    return sp.csr_matrix((A[i, j], (i, index[j])), shape=(len(A), n))


def _polyhedra(cone: Recession) -> list[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Inside the cones: the first row is at least the sum of absolute values of the others."""
    found = []
    for kind, A in cone.cones:
        if kind == "soc":
            found.append((A[:1], A[1:]))
            continue
        k = order(A.shape[0])
        at = {pair: entry for entry, pair in enumerate(lower_pairs(k))}
        for i in range(k):
            others = [at[max(i, j), min(i, j)] for j in range(k) if j != i]
            found.append((A[[at[i, i]]], A[others]))
    return found


def steepest(form: StandardForm, cone: Recession, cost: Array, limits: Limits) -> Array | None:
    """d within the unit box along which `cost` falls most, in floating point; None if it cannot.

    Parameters
    ----------
    cost : array (n,)
        Over the columns of the model, not over d.
    """
    program = _program(form, cone, cone.unit * cost)
    asked = Limits(
        time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed,
        options={"presolve": "off"},
    )  # fmt: skip
    try:
        claim = highs.run(program, classify(program), asked)
    except NumberError:
        return None  # numbers HiGHS would lose: there is no ray then, and nothing is claimed
    if claim.x is None:
        return None
    d = np.where(np.abs(claim.x[: form.n]) <= ZERO, 0.0, claim.x[: form.n])
    return d if float(program.objective.a[: form.n] @ d) < -ZERO else None


def _program(form: StandardForm, cone: Recession, cost: Array) -> StandardForm:
    """The linear program: d in the unit box, and one absolute value for every part of a cone."""
    n, m = form.n, cone.R.shape[0]
    polyhedra = _polyhedra(cone)
    sizes = [rest.shape[0] for _, rest in polyhedra]
    total = sum(sizes)
    rows = sp.diags(_powers(_sizes(cone.R, 1))) @ cone.R
    blocks = [sp.hstack([rows, sp.csr_matrix((m, total))])]
    starts = np.cumsum([0, *sizes])
    for k, (top, rest) in enumerate(polyhedra):
        height = rest.shape[0]
        here = sp.csr_matrix(
            (np.ones(height), (np.arange(height), starts[k] + np.arange(height))),
            shape=(height, total),
        )
        total_of = sp.csr_matrix(np.ones((1, height))) @ here
        blocks += [
            sp.hstack([top, -total_of]),
            sp.hstack([rest, here]),
            sp.hstack([-rest, here]),
        ]
    matrix = sp.vstack(blocks, format="csr")
    extra = matrix.shape[0] - m
    a = np.concatenate([cost / max(float(np.abs(cost).max(initial=0.0)), 1e-300), np.zeros(total)])
    sums = Listed([str(k) for k in range(total)])
    names = Labels(("direction of ", form.columns, np.arange(n)), ("size ", sums, np.arange(total)))
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([np.maximum(cone.lower, -1.0), np.zeros(total)]),
        upper=np.concatenate([np.minimum(cone.upper, 1.0), np.full(total, 1e6)]),
        integer=np.zeros(n + total, dtype=bool),
        objective=Quadratic(sp.csr_matrix((n + total, n + total)), a, 0.0),
        sense=1,
        matrix=matrix,
        row_lower=np.concatenate([cone.low, np.zeros(extra)]),
        row_upper=np.concatenate([cone.high, np.full(extra, math.inf)]),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )


def innermost(cone: Recession, cost: Array, limits: Limits) -> Array | None:
    """d within the unit box along which `cost` falls, as far inside the cones as it can be.

    With e the unit of its cone (1 in front, the identity matrix), the largest t for which every
    A_k d - t e stays in its cone and cost'd + t <= 0. None when that is 0, or there is no cone.
    """
    if not cone.cones:
        return None
    n = cone.R.shape[1]
    rows = sp.diags(_powers(_sizes(cone.R, 1))) @ cone.R
    low, high, identity = cone.low == 0, cone.high == 0, sp.identity(n, format="csr")
    fall = cone.unit * cost
    fall = fall / max(float(np.abs(fall).max()), 1e-300)
    halfspaces = [-rows[low & ~high], rows[high & ~low], -identity, identity, sp.csr_matrix(fall)]
    box = np.concatenate([1.0 - (cone.lower == 0), 1.0 - (cone.upper == 0)])
    # Of every block: its kind, the rows, and the right-hand side; then how fast t moves inwards.
    parts = [("zero", rows[low & high]), ("nonneg", sp.vstack(halfspaces))]
    right = [np.zeros(parts[0][1].shape[0]), np.zeros(parts[1][1].shape[0])]
    right[1][-1 - 2 * n : -1] = box
    inward = [np.zeros(len(right[0])), np.zeros(len(right[1]))]
    inward[1][-1] = 1.0
    for kind, A in cone.cones:
        size = A.shape[0]
        scale = triangle_scale(order(size)) if kind == "psd" else np.ones(size)
        parts.append((kind, sp.diags(-scale) @ A))
        right.append(np.zeros(size))
        inward.append(pack(np.eye(order(size))) if kind == "psd" else np.eye(size)[0])
    starts = np.cumsum([0, *(len(side) for side in right)]).tolist()
    blocks = [
        Block(kind, start, A.shape[0])
        for (kind, A), start in zip(parts, starts[:-1], strict=True)
        if A.shape[0]
    ]
    everything = sp.vstack([A for _, A in parts])
    none = np.zeros(0, dtype=np.int64)
    conic = ConicForm(
        P=sp.csc_matrix((n + 1, n + 1)),
        q=np.r_[np.zeros(n), -1.0],
        offset=0.0,
        A=sp.hstack([everything, sp.csr_matrix(np.concatenate(inward)[:, None])], format="csc"),
        b=np.concatenate(right),
        blocks=tuple(blocks),
        equal=none, low=none, high=none, low_bound=none, high_bound=none,
    )  # fmt: skip
    claim = clarabel.run_conic(conic, 0, limits)
    if claim.x is None or claim.x[n] <= ZERO:
        return None
    return np.where(np.abs(claim.x[:n]) <= ZERO, 0.0, claim.x[:n])


def _sizes(matrix: sp.csr_matrix, axis: int) -> Array:
    if not matrix.shape[axis]:
        return np.zeros(matrix.shape[1 - axis])
    return np.asarray(abs(matrix).max(axis=axis).todense()).ravel()


def _powers(sizes: Array) -> Array:
    """Powers of two that bring numbers to size 1."""
    known = np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
    return np.exp2(-np.round(np.log2(known)))


def exact_candidates(
    form: StandardForm, cone: Recession, d: Array, grids: Sequence[int] = GRIDS
) -> Iterator[list[int]]:
    """Whole numbers in the direction of d: rounded, as it is, and moved onto the rows it touches.

    None of them is proven to be a ray: that is for exact_rays to say.
    """
    as_it_is = [Fraction(number) for number in d.tolist()]
    d = d / np.abs(d).max()
    for grid in grids:
        rounded = [Fraction(round(number * grid), grid) for number in d.tolist()]
        yield _whole(cone, _with_slacks(form, cone, rounded))
    yield _whole(cone, as_it_is)
    moved = _onto_rows(form, cone, d)
    if moved is not None:
        yield _whole(cone, _with_slacks(form, cone, moved))


def _whole(cone: Recession, d: list[Fraction]) -> list[int]:
    """Over the columns of the model, as whole numbers."""
    return whole([Fraction(u) * number for u, number in zip(cone.unit.tolist(), d, strict=True)])


def whole(direction: list[Fraction]) -> list[int]:
    """The shortest direction of whole numbers."""
    common = math.lcm(*(number.denominator for number in direction))
    numbers = [int(number * common) for number in direction]
    divisor = reduce(math.gcd, numbers, 0)
    return [number // divisor for number in numbers] if divisor else numbers


def as_floats(ray: list[int]) -> Array:
    """A ray as floats, exactly where its numbers fit in 53 bits, else to rounding."""
    largest = max(map(abs, ray), default=0)
    if largest < 2**53:
        return np.array(ray, dtype=np.float64)
    return np.array([number / largest for number in ray])


def _slacks(form: StandardForm, cone: Recession) -> dict[int, int]:
    """Slack column by its row: one that occurs there alone, and may move to lift the row."""
    columns = cone.R.tocsc()
    alone = np.diff(columns.indptr) == 1
    for row in form.quadratic:
        alone[row.body.index] = False
    for psd_row in form.psd:
        alone[psd_row.F.nonzero()[1]] = False
    alone[form.objective.Q.nonzero()[0]] = False
    found: dict[int, int] = {}
    for j in np.flatnonzero(alone).tolist():
        i, a = int(columns.indices[columns.indptr[j]]), float(columns.data[columns.indptr[j]])
        one_sided = np.isfinite(cone.low[i]) != np.isfinite(cone.high[i])
        sign = 1 if (a > 0) == bool(np.isfinite(cone.low[i])) else -1
        if one_sided and not np.isfinite((cone.upper if sign > 0 else cone.lower)[j]):
            found.setdefault(i, j)
    return found


def _with_slacks(form: StandardForm, cone: Recession, d: list[Fraction]) -> list[Fraction]:
    """The same direction with slacks as long as their rows need."""
    found = list(d)
    R = cone.R
    for i, j in _slacks(form, cone).items():
        span = slice(R.indptr[i], R.indptr[i + 1])
        entries = list(zip(R.indices[span].tolist(), R.data[span].tolist(), strict=True))
        value = sum((Fraction(a) * d[column] for column, a in entries), Fraction(0))
        short = value < 0 if np.isfinite(cone.low[i]) else value > 0
        if short:
            found[j] -= value / Fraction(dict(entries)[j])
    return found


def _onto_rows(form: StandardForm, cone: Recession, d: Array) -> list[Fraction] | None:
    """Solve the rows that d touches in fractions, for as many columns as they determine."""
    slacks = _slacks(form, cone)
    value, terms = cone.R @ d, abs(cone.R) @ np.abs(d)
    touched = np.abs(value) <= ZERO * np.where(terms > 0, terms, 1.0)
    touched[list(slacks)] = False
    rows = np.flatnonzero(touched & (terms > 0))
    moving = np.flatnonzero(d)
    if not len(rows):
        return [Fraction(number) for number in d.tolist()]
    if min(len(rows), len(moving)) > UNKNOWN_LIMIT:
        return None
    block = cone.R[rows][:, moving].toarray()
    size = np.abs(block).max(axis=1, keepdims=True)
    # Columns at the end of the unit box stay there: they are the nonbasic ones of a vertex.
    room = np.minimum(np.abs(d[moving]), 1 - np.abs(d[moving])) + 1e-9
    _, r, pivots = qr(block / size * room, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    basic = np.sort(pivots[:rank])
    _, _, places = qr((block / size)[:, basic].T, mode="economic", pivoting=True)
    kept = rows[np.sort(places[:rank])]
    found = [Fraction(number) for number in np.round(d * 2**40).tolist()]
    found = [number / 2**40 for number in found]
    lines = dyadic(cone.R[kept][:, moving[basic]].toarray().ravel())
    matrix = [lines.integers[k * rank : (k + 1) * rank] for k in range(rank)]
    unit = scaled(1, -lines.exponent)
    chosen = set(moving[basic].tolist())
    right = [-_sum_without(cone.R, i, chosen, found) * unit for i in kept.tolist()]
    solution = solve_exactly(matrix, right)
    if solution is None:
        return None
    for j, number in zip(moving[basic].tolist(), solution, strict=True):
        found[j] = number
    return found


def _sum_without(R: sp.csr_matrix, i: int, left_out: set[int], d: list[Fraction]) -> Fraction:
    span = slice(R.indptr[i], R.indptr[i + 1])
    entries = zip(R.indices[span].tolist(), R.data[span].tolist(), strict=True)
    return sum((Fraction(a) * d[j] for j, a in entries if j not in left_out), Fraction(0))
