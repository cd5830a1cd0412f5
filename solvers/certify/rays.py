"""A proof of our own that a model is unbounded below: a point, and a ray that no row ever stops.

The ray is checked in exact rational arithmetic (solvers/kernel/points.py), whatever found it, so
that a solver which calls a bounded model unbounded gets no proof. A ray alone proves nothing:
without a feasible point the model may be infeasible. The point is feasible exactly where a rounded
one is, and otherwise to the tolerance of every other certificate; the words say which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.cones import lower_pairs, order
from tightmargin.solvers.certify.points import equations_of
from tightmargin.solvers.engines import clarabel, highs, scip
from tightmargin.solvers.engines.registry import ORDER, SOLVERS
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact import dyadic, scaled, solve_exactly
from tightmargin.solvers.kernel.points import as_floats, near_point, proven_point, proven_unbounded
from tightmargin.solvers.kernel.statement import FeasiblePoint, Unbounded
from tightmargin.solvers.model.claim import Claim
from tightmargin.solvers.model.columns import Columns, Labels, Listed
from tightmargin.solvers.model.conic import Block, ConicForm, pack, triangle_scale
from tightmargin.solvers.model.convexity import Classification, Shape, classify
from tightmargin.solvers.model.polynomial import LocalQuadratic, Quadratic
from tightmargin.solvers.model.reader import StandardForm

# --- The recession cone of a model: the directions that its rows never stop ----------------------
# The rows of a model, with their finite sides moved to zero, leave a cone of directions:
#     A_i d >= 0, <= 0 or = 0 as row i has sides, and d_j likewise by the bounds of column j,
#     Q d = 0 where the objective is convex,
#     Q_k d = 0 and a_k'd <= 0 in a convex quadratic row,
#     A_k d in the cone of a row that is a second-order cone, and F d semidefinite.
# this file looks for directions of the cone in floating point, this file moves them onto
# the rows they touch in rational arithmetic.


ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class Recession:
    """Linear rows, bounds and cones of the directions; every finite side is zero.

    unit (n,): powers of two: the direction is unit * d, so that columns of any size count alike and
        the rows stay exact.
    R (m, n): rows over d, to be met exactly.
    low, high (m,): 0 or infinite.
    lower, upper (n,): the same for the columns.
    cones (k, n): "soc": the first row is at least the norm of the others. "psd": the row-wise lower
        triangle of a semidefinite matrix.
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
    unit = powers(sizes(sp.vstack([everything, *(A for _, A in cones)], format="csr"), 0))
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


def sizes(matrix: sp.csr_matrix, axis: int) -> Array:
    """Largest absolute entry of every column (axis 0) or row (axis 1); 0 where there is none."""
    if not matrix.shape[axis]:
        return np.zeros(matrix.shape[1 - axis])
    return np.asarray(abs(matrix).max(axis=axis).todense()).ravel()


def powers(numbers: Array) -> Array:
    """Powers of two that bring numbers to size 1."""
    known = np.where((numbers > 0) & np.isfinite(numbers), numbers, 1.0)
    return np.exp2(-np.round(np.log2(known)))


# --- From a direction in floating point to whole numbers that may be a ray, in rational arithmetic
# A direction is rounded, its slacks are made as long as their rows need, and it is moved onto the
# rows that it touches.


UNKNOWN_LIMIT = 150
# Denominators of rounded directions: coarse ones first, because they meet equations of whole
# numbers that the exact number does not.
GRIDS = (1, 2**4, 2**12, 2**24)


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


# --- Candidates for a ray of a model, in floating point: by a linear program, or inside the cones
# `steepest` replaces the cones of a recession cone by polyhedra inside them (a sum of absolute
# values instead of a norm, diagonally dominant matrices), so that a vertex of a linear program is
# a candidate; where that finds nothing, `innermost` looks for a direction in the interior of the
# cones, which rounding does not drive out.


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

    cost (n,): over the columns of the model, not over d.
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
    heights = [rest.shape[0] for _, rest in polyhedra]
    total = sum(heights)
    rows = sp.diags(powers(sizes(cone.R, 1))) @ cone.R
    blocks = [sp.hstack([rows, sp.csr_matrix((m, total))])]
    starts = np.cumsum([0, *heights])
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
    rows = sp.diags(powers(sizes(cone.R, 1))) @ cone.R
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


TOLERANCE = 1e-6  # of a first point that is not exact: its miss goes into the words
# An equation of whole numbers that has no solution keeps branch and bound busy for good.
NODES = 5_000  # of a search for some point where a model is not convex
NONZERO_LIMIT = 4_000_000
DENSE_LIMIT = 2000

# Rounding a point to these fractions of 1 often makes it exactly feasible.
_GRIDS = (1.0, 2.0**10, 2.0**30)
# Steps along the ray that may leave every row behind, in multiples of its largest entry.
_STEPS = (1.0, 2.0**7, 2.0**14)


def unboundedness_proof(form: StandardForm, limits: Limits) -> Unbounded | None:
    """Look for a ray and a point that prove a model unbounded below; None when nothing does.

    form: a minimisation, as every form is.
    limits: time, threads and seed of each of the searches.
    """
    if not _is_readable(form):
        return None
    classification = classify(form)
    cone = recession(form, classification)
    asked = Limits(time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed)
    flat = _flat_costs(form, classification)
    found = _directions(form, cone, flat, asked)
    if classification.relaxes_to_convex and not found:
        return None
    for point in _points(form, classification, asked):
        # Where the objective bends, the way down depends on where one stands.
        tried = found or _directions_at(form, cone, point, asked)
        for d in tried:
            proof = _proven(form, exact_candidates(form, cone, d), point)
            if proof is not None:
                return proof
    return None


def ray_proof(form: StandardForm, ray: Array, point: Array) -> Unbounded | None:
    """Prove it again from a ray and a point, such as those of a saved result, without any solver.

    A ray that 53 bits do not hold is first moved back onto the rows it touches.
    """
    if not _is_readable(form) or np.shape(ray) != (form.n,) or np.shape(point) != (form.n,):
        return None
    if not (np.isfinite(ray).all() and np.isfinite(point).all() and np.any(ray)):
        return None
    cone = recession(form, classify(form))
    return _proven(form, exact_candidates(form, cone, ray / cone.unit, grids=()), point)


def _is_readable(form: StandardForm) -> bool:
    entries = form.matrix.nnz + form.objective.Q.nnz
    return bool(form.n) and not form.nonlinear and entries <= NONZERO_LIMIT


def _proven(form: StandardForm, rays: Iterable[list[int]], point: Array) -> Unbounded | None:
    """The first ray with a point near the given one, or further along the ray, that proves it."""
    for ray in rays:
        if not any(ray):
            continue
        near: Unbounded | None = None
        for start, walked in _starts(form, point, as_floats(ray)):
            found = proven_point(form, start)
            if found is None and walked == 0.0:
                found = _on_equations(form, start)
            if found is None and walked == 0.0 and near is None:
                found = near_point(form, start)
            proof = None if found is None else proven_unbounded(form, found, ray)
            if proof is None:
                continue
            if proof.eps == 0.0:
                return proof
            if proof.eps <= TOLERANCE:
                near = proof
        if near is not None:
            return near
    return None


def _on_equations(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """The point with its equations solved in rational numbers, where that is feasible."""
    equations = equations_of(form, x)
    solved = None if equations is None else equations.solved(x)
    return None if solved is None else proven_point(form, *solved)


def _starts(form: StandardForm, point: Array, ray: Array) -> Iterator[tuple[Array, float]]:
    """The point within its bounds, as it is, rounded and further along the ray, with the step."""
    for step in (0.0, *_STEPS):
        moved = point + step * ray / np.abs(ray).max() if step else point
        inside = np.clip(moved, form.lower, form.upper)
        inside = np.where(form.integer, np.round(inside), inside)
        yield inside, step
        for grid in _GRIDS:
            yield np.clip(np.round(inside * grid) / grid, form.lower, form.upper), step


def _flat_costs(form: StandardForm, classification: Classification) -> list[Array]:
    """Costs of the directions along which the objective is straight."""
    if form.objective.Q.nnz and not classification.relaxes_to_convex:
        return []
    return [form.objective.a]


def _directions_at(
    form: StandardForm, cone: Recession, point: Array, limits: Limits
) -> list[Array]:
    """Down the gradient at a point, and along the most negative curvature."""
    Q = form.objective.Q
    costs = [2 * (Q @ point) + form.objective.a]
    if form.n <= DENSE_LIMIT:
        _, vectors = np.linalg.eigh(Q.toarray())
        costs += [vectors[:, 0], -vectors[:, 0]]
    return _directions(form, cone, costs, limits)


def _directions(
    form: StandardForm, cone: Recession, costs: list[Array], limits: Limits
) -> list[Array]:
    """For each cost a vertex of the directions, and one inside the cones where there are any."""
    found = []
    for cost in costs:
        found += [steepest(form, cone, cost, limits), innermost(cone, cost, limits)]
    return [d for d in found if d is not None]


def _points(form: StandardForm, classification: Classification, limits: Limits) -> Iterator[Array]:
    """The point of the bounds nearest to zero, then what solvers find without an objective."""
    yield np.clip(np.zeros(form.n), form.lower, form.upper)
    without = replace(
        form, objective=Quadratic(sp.csr_matrix((form.n, form.n)), np.zeros(form.n), 0.0)
    )
    for program in (without, replace(without, quadratic=()) if form.quadratic else None):
        # The second one: where a ray leads out of the reverse convex rows, any other point will do.
        if program is not None:
            claim = _found(program, limits)
            if claim is not None and claim.x is not None and np.isfinite(claim.x).all():
                yield claim.x


def _found(form: StandardForm, limits: Limits) -> Claim | None:
    """What the first installed solver for the class finds; None without one, or when it refuses."""
    kind = classify(form)
    if not kind.convex:
        limits = replace(limits, nodes=NODES)
    for name in ORDER[kind.problem_class]:
        if not SOLVERS[name].installed:
            continue
        try:
            match name:
                case "highs":
                    return highs.run(form, kind, limits)
                case "clarabel":
                    return clarabel.run(form, kind, limits)
                case "scip":
                    return scip.run(form, limits)
        except NumberError:
            continue  # it would lose some of the numbers; the next one may not
    return None
