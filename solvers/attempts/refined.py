"""A solver's point of a convex quadratic program made as good as exact arithmetic makes it.

Squares that are expanded leave a constant behind, and beside it a solver's tolerances are more than
the optimum. Which rows and bounds hold with equality is taken from the solver; the equations of the
optimum on them,

    2 Q x + a - A'y = 0 on the free columns,      A x = side on the active rows,

are solved in floating point, with residuals in rational numbers, until nothing is left of these
(iterative refinement, Wilkinson, Rounding Errors in Algebraic Processes, 1963). Where a multiplier
has the wrong sign or a row is violated, the active set changes and the equations are solved again.
The kernel judges the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.model_bound import of_clarabel
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.proofs.exact_qp import ENTRY_LIMIT, exact_qp_bound
from tightmargin.solvers.proofs.exact_sums.steps import independent_movers, rational_moves
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.standard_form.standard_form import StandardForm

DENSE, LARGEST = 400, 5_000  # equations that are solved by singular values, and at all
CHANGES, ROUNDS = 30, 5  # of what is active; of the refinement
SINGULAR = 1e-13
FREE_LIMIT = 150  # equations of that many unknowns take some seconds
DENOMINATOR = 10**12  # of coordinates that are taken for short fractions
ZERO = Fraction(0)
WORDS = "its active rows and bounds were kept, and their equations solved in exact arithmetic"

Exact = list[Fraction]


@dataclass(frozen=True, eq=False)
class _Program:
    """The arrays of a model whose rows are linear, in exact numbers where they are asked for."""

    form: StandardForm
    P: sp.csr_matrix
    A: sp.csr_matrix
    At: sp.csr_matrix

    def slopes(self, x: Exact, y: Exact) -> Exact:
        """2 Q x + a - A'y."""
        of_rows, costs = _times(self.At, y), map(Fraction, self.form.objective.a.tolist())
        return [p + a - r for p, a, r in zip(_times(self.P, x), costs, of_rows, strict=True)]


def refined(case: Case, claim: Claim) -> Claim | None:
    """The claim with a better point, better multipliers and a bound of the kernel's; None if none.

    Parameters
    ----------
    claim : Claim
        With a point near an optimum; where it has no multipliers another solver's are taken.
    """
    form, kind = case.form, case.classification
    linear = not (form.nonlinear or form.quadratic or form.psd or form.integer.any())
    if not linear or not form.objective.Q.nnz or not kind.relaxes_to_convex or claim.x is None:
        return None
    entries = form.A.nnz + form.objective.Q.nnz
    if entries > ENTRY_LIMIT or form.n + len(form.rows) > LARGEST:
        return None
    x, duals = claim.x, claim.duals
    if duals is None:
        other = of_clarabel(case)
        if isinstance(other, str):
            return None
        x, duals = other
    if not (np.isfinite(x).all() and np.isfinite(duals.rows).all()):
        return None
    program = _Program(form, form.P.tocsr(), form.A, form.A.T.tocsr())
    solved = _solved(program, np.clip(x, form.lower, form.upper), duals.rows)
    if solved is None:
        return None
    point, proof, floats = _proven(case, program, *solved)
    at = floats[0] if point is None or point.x is None else point.x
    slopes = np.array([float(r) for r in program.slopes(*solved)])
    bounds = np.where(np.isfinite(form.lower) | np.isfinite(form.upper), slopes, 0.0)
    said = "; ".join(part for part in (claim.message, WORDS) if part)
    own = None if claim.duals is None else Multipliers(floats[1], bounds, {})
    return replace(claim, x=at, duals=own, proof=proof, point=point, message=said)


def _proven(
    case: Case, program: _Program, x: Exact, y: Exact
) -> tuple[FeasiblePoint | None, LowerBound | None, tuple[Array, Array]]:
    """What the kernel makes of a solution, or of the short fractions that it is near."""
    for at, prices in ((_short(x), _short(y)), (x, y)):
        floats = np.array([float(v) for v in at]), np.array([float(v) for v in prices])
        point = None
        if at is not x:
            if any(program.slopes(at, prices)[j] for j in _inside(case.form, at)):
                continue
            point = proven_point(case.form, floats[0], dict(enumerate(at)))
            if point is None:
                continue
        proof = _bound(case, program, at, prices)
        if proof is not None or point is None:
            return point, proof, floats
    raise AssertionError("the solution itself always ends the loop")


def _inside(form: StandardForm, x: Exact) -> list[int]:
    return [j for j, v in enumerate(x) if form.lower[j] < v < form.upper[j]]


def _short(numbers: Exact) -> Exact:
    return [v.limit_denominator(DENOMINATOR) for v in numbers]


# --- the equations of the optimum ----------------------------------------------------------------


def _solved(program: _Program, x: Array, y: Array) -> tuple[Exact, Exact] | None:
    """Point and multipliers of the optimum near a given one, to hundreds of digits or so."""
    form = program.form
    at_low, at_high, low, high = _active(program, x, y)
    seen: set[bytes] = set()
    best: tuple[Exact, Exact] | None = None
    for _ in range(CHANGES):
        key = b"".join(part.tobytes() for part in (at_low, at_high, low, high))
        if key in seen:
            break
        seen.add(key)
        start = np.where(at_low, form.lower, np.where(at_high, form.upper, x))
        free, rows = np.flatnonzero(~(at_low | at_high)), np.flatnonzero(low | high)
        sides = [Fraction(s) for s in np.where(low, form.row_lower, form.row_upper)[rows].tolist()]
        prices = np.where(low | high, y, 0.0)
        found = _refined(program, start, prices, free, rows, sides)
        if found is None:
            break
        best = found
        x, y = (np.array([float(v) for v in part]) for part in found)
        slopes = np.array([float(r) for r in program.slopes(*found)])
        bodies = np.array([float(v) for v in _times(program.A, found[0])])
        equal = form.row_lower == form.row_upper
        tiny = 1e-12 * (1e-300 + np.abs(x).max(initial=0.0))
        wrong = [
            (at_low & (slopes < 0), at_low, False), (at_high & (slopes > 0), at_high, False),
            (low & ~equal & (y < 0), low, False), (high & ~equal & (y > 0), high, False),
            (~at_high & (x < form.lower - tiny), at_low, True),
            (~at_low & (x > form.upper + tiny), at_high, True),
            (~high & _beyond(form.row_lower, bodies), low, True),
            (~low & _beyond(-form.row_upper, -bodies), high, True),
        ]  # fmt: skip
        if not any(where.any() for where, _, _ in wrong):
            break
        for where, part, now in wrong:
            part[where] = now
    return best


def _beyond(side: Array, body: Array) -> NDArray[np.bool_]:
    """Where a row is missed by more than a rounding."""
    with np.errstate(invalid="ignore"):
        return np.asarray(body < side - 1e-12 * np.maximum(np.abs(side), np.abs(body)))


def _active(
    program: _Program, x: Array, y: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Bounds and row sides that hold with equality: the price says more of them than the room."""
    form = program.form
    slopes = program.P @ x + form.objective.a - program.At @ y
    prices = abs(program.P) @ np.abs(x) + np.abs(form.objective.a) + abs(program.At) @ np.abs(y)
    of_columns = np.abs(x).max(initial=0.0) or 1.0, prices.max(initial=0.0) or 1.0
    bodies = program.A @ x
    of_rows = np.abs(bodies).max(initial=0.0) or 1.0, np.abs(y).max(initial=0.0) or 1.0
    at_low = (x - form.lower) / of_columns[0] < slopes / of_columns[1]
    at_high = (form.upper - x) / of_columns[0] < -slopes / of_columns[1]
    fixed, equal = form.lower == form.upper, form.row_lower == form.row_upper
    low = (bodies - form.row_lower) / of_rows[0] < y / of_rows[1]
    high = (form.row_upper - bodies) / of_rows[0] < -y / of_rows[1]
    return at_low | fixed, at_high & ~fixed & ~at_low, low | equal, high & ~equal & ~low


def _refined(
    program: _Program, x: Array, y: Array, free: Index, rows: Index, sides: Exact
) -> tuple[Exact, Exact] | None:
    """The solution of the equations, from a start, for the free columns and the active rows."""
    if not (np.isfinite(x).all() and len(free) + len(rows)):
        return None
    block = program.A[rows][:, free]
    system = sp.bmat([[program.P[free][:, free], -block.T], [block, None]], format="csc")
    solve = _solver(system)
    at, prices = list(map(Fraction, x.tolist())), list(map(Fraction, y.tolist()))
    for _ in range(ROUNDS):
        slopes = program.slopes(at, prices)
        bodies = _times(program.A[rows], at)
        rest = [-slopes[j] for j in free.tolist()]
        rest += [side - body for side, body in zip(sides, bodies, strict=True)]
        largest = max(map(abs, rest), default=ZERO)
        if not largest:
            break
        step = solve(np.array([float(v / largest) for v in rest]))
        if step is None or not np.isfinite(step).all():
            return None
        for j, d in zip(free.tolist(), step.tolist(), strict=False):
            at[j] += largest * Fraction(d)
        for i, d in zip(rows.tolist(), step[len(free) :].tolist(), strict=True):
            prices[i] += largest * Fraction(d)
    return at, prices


def _solver(system: sp.csc_matrix) -> Callable[[Array], Array | None]:
    """Solutions of a symmetric system, of least norm where it is singular and small."""
    sizes = np.sqrt(np.abs(system).max(axis=1).toarray().ravel())
    scale = 1 / np.where(sizes > 0, sizes, 1.0)
    scaled = sp.diags(scale) @ system @ sp.diags(scale)
    if system.shape[0] <= DENSE:
        inverse = np.linalg.pinv(scaled.toarray(), rcond=SINGULAR)
        return lambda right: np.asarray(scale * (inverse @ (scale * right)))
    try:
        factors = splu(scaled.tocsc())
    except RuntimeError:  # singular
        return lambda right: None
    return lambda right: np.asarray(scale * factors.solve(scale * right))


def _times(matrix: sp.csr_matrix, x: Exact) -> Exact:
    """A matrix times a vector of rational numbers."""
    columns, entries, found = matrix.indices.tolist(), matrix.data.tolist(), []
    for start, end in pairwise(matrix.indptr.tolist()):
        terms = (Fraction(entries[k]) * x[columns[k]] for k in range(start, end))
        found.append(sum(terms, ZERO))
    return found


# --- the bound -----------------------------------------------------------------------------------


def _bound(case: Case, program: _Program, x: Exact, y: Exact) -> LowerBound | None:
    """The kernel's bound once nothing of stationarity is left on columns without a limit."""
    form = case.form
    signs = [
        v if not v or np.isfinite(form.row_lower[i] if v > 0 else form.row_upper[i]) else ZERO
        for i, v in enumerate(y)
    ]
    moved = _stationary(case, program, x, signs)
    if moved is None:
        return None
    return exact_qp_bound(case.subject, *(dict(enumerate(part)) for part in moved))


def _stationary(case: Case, program: _Program, x: Exact, y: Exact) -> tuple[Exact, Exact] | None:
    """Numbers near the given ones whose slopes are 0 where any other would cost everything."""
    form, bend = case.form, case.classification.curvature
    assert bend is not None
    first = program.slopes(x, y)
    slopes, at, prices, wrong = first, x, y, set[int]()
    equal = form.row_lower == form.row_upper
    room = np.where(equal, np.inf, np.array([abs(float(v)) for v in y]))
    scale = float(np.abs(np.array([float(v) for v in y])).max(initial=0.0)) or 1.0
    for _ in range(4):
        endless = {
            j for j, r in enumerate(slopes)
            if r and bend[j] <= 0 and not np.isfinite(form.lower[j] if r > 0 else form.upper[j])
        }  # fmt: skip
        if not endless:
            return at, prices
        wrong |= endless
        columns = sorted(wrong)
        if len(columns) > FREE_LIMIT:
            return None
        inside = np.flatnonzero(room > SINGULAR * scale)
        bent = np.flatnonzero(np.diff(program.P[:, columns].tocsr().indptr))
        block = np.vstack([
            -program.A[inside][:, columns].toarray(), program.P[bent][:, columns].toarray()
        ])  # fmt: skip
        weights = np.concatenate([np.minimum(room[inside], scale) / scale, np.zeros(len(bent))])
        chosen = independent_movers(block, weights, level=True)
        steps = None
        if len(chosen):
            steps = rational_moves(block[chosen], [-first[j] for j in columns])
        if steps is None:
            return None
        at, prices = list(x), list(y)
        for k, step in zip(chosen.tolist(), steps, strict=True):
            if k < len(inside):
                prices[int(inside[k])] += step
            else:
                at[int(bent[k - len(inside)])] += step
        slopes = program.slopes(at, prices)
    return None
