"""Ways to solve one model with one solver, tried in turn until a result is certified."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import splu

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.certify.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.certify.certify import certify, with_contradictions
from tightmargin.solvers.certify.multipliers import ABOVE, larger, of_clarabel
from tightmargin.solvers.engines import (
    clarabel,
    exponential_cones,
    highs,
    mosek,
    piqp,
    pyomo_interface,
    scip,
    scs,
)
from tightmargin.solvers.engines.choice import ChosenSolver, choose
from tightmargin.solvers.engines.highs import STATUS, quiet_highs
from tightmargin.solvers.engines.registry import (
    SOLVERS,
    TAKE_STARTS,
    SolverInfo,
    refuse_huge_bounds,
    set_highs_options,
)
from tightmargin.solvers.engines.running import SHORTEST, Limits, supervised
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.exact_bounds import ENTRY_LIMIT, exact_qp_bound
from tightmargin.solvers.kernel.limits import limits_of_variables
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.systems import independent_movers, rational_moves
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Claim, Progress, Status
from tightmargin.solvers.model.conic import Multipliers, unpack
from tightmargin.solvers.model.conic import triangle_scale as scale_of
from tightmargin.solvers.model.convexity import Classification, classify
from tightmargin.solvers.model.dual import HIGHS_OPTIONS, DualForm, dual_form, worthwhile
from tightmargin.solvers.model.names import flat
from tightmargin.solvers.model.reader import PsdRow, StandardForm
from tightmargin.solvers.model.residuals import coefficient_outside, without_rounding
from tightmargin.solvers.result import SolveResult

# --- Mixed-integer quadratic programs through linear ones: squares replaced by tangents from below
#     min  a'x + sum_j q_j x_j^2     rows, bounds and integrality of x,   q >= 0
# Every tangent t_j >= 2 p x_j - p^2 lies below x_j^2, so that
#     min  a'x + sum_j q_j t_j      with the same rows and some tangents
# is a mixed-integer linear program whose proven bound is one of the quadratic program. Each round
# solves it, fixes the integers of its point and solves the convex rest, which gives a feasible
# point, and adds the tangents at both points. At the optimum x* of the rest, its tangents make the
# linear program with these integers fixed as expensive as the quadratic one: x* satisfies the
# optimality conditions of both. So no choice of integers comes back below the incumbent, and the
# rounds are finitely many. Duran & Grossmann, Math. Programming 36 (1986), outer approximation.
# It is quick when the rows are tight (a derived big-M): with M = 1000 the linear relaxations say
# nothing, and HiGHS, whose bound this is, takes very long.


FIRST_TANGENTS = 17  # a column, equally spaced over what a known point leaves of it
GAP = 1e-6  # of max(1, |objective|), at which the rounds end
SHARE = 0.2  # of the present gap, to which a round is solved: early tangents need no proof
NARROW = 1e-9  # tolerances of HiGHS, whose defaults let big-M rows and tangents slip
SHORTEST_ROUND = 0.05  # seconds below which no further round is begun


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a model with integers, linear rows and a convex sum of squares in the objective.

    Returns
    -------
    Claim
        Of HiGHS: the bound is that of its branch and bound. A time limit and Ctrl-C keep the
        incumbent, the bound and the trace of the rounds.
    """
    refuse_huge_bounds("highs", form)
    return _Rounds(form, classification, limits).claim()


@dataclass(eq=False)
class _Rounds:
    form: StandardForm
    classification: Classification
    limits: Limits
    best: Array | None = None
    known: float = np.inf
    bound: float = -np.inf
    interrupted: bool = False
    log: str = ""
    count: int = 0
    share: float = SHARE
    touched: dict[int, list[float]] = field(default_factory=dict)
    version: str = ""
    progress: Progress = field(default_factory=Progress)
    began: float = field(default_factory=time.perf_counter)

    @property
    def squared(self) -> NDArray[np.intp]:
        """Columns with a square in the objective."""
        return np.flatnonzero(self.form.objective.Q.diagonal())

    def claim(self) -> Claim:
        """Rounds until the gap is closed or something ends them."""
        relaxed = self._convex(integers=None)
        self._try(self.form.point())
        if relaxed is not None:
            self._try(relaxed)
            self._try(np.where(self.form.integer, np.ceil(relaxed - 1e-6), relaxed))
        h = self._linear_program(relaxed)
        status, words = Status.OPTIMAL, "optimal"
        while not self._closed():
            left = self._left()
            if self.interrupted or left <= SHORTEST_ROUND:
                status, words = Status.FEASIBLE, "Time limit reached"
                break
            outcome, x = self._solve(h, left)
            self.count += 1
            if outcome is Status.INFEASIBLE:
                self.bound = self.known  # there is no other point that is no worse
                status = Status.OPTIMAL if self.best is not None else Status.INFEASIBLE
                words = str(status)
                break
            if x is None:
                status, words = _stopped(outcome), f"HiGHS ended with {outcome}"
                if outcome in (Status.FEASIBLE, Status.INTERRUPTED):
                    words = "Time limit reached"
                break
            seen = self._try(x)
            new = sum(self._tangents_at(h, at[self.squared]) for at in (x, seen) if at is not None)
            self.progress.add(self.bound, self.known)
            if not new and outcome is Status.OPTIMAL and not self._closed():
                if self.share == 0.0:
                    status, words = Status.FEASIBLE, "no tangent is left to add"
                    break
                self.share = 0.0
        return self._told(status, words)

    def _told(self, status: Status, words: str) -> Claim:
        if self.interrupted:
            status, words = Status.INTERRUPTED, "interrupted"
        if self.best is None and status is Status.FEASIBLE:
            status = Status.LIMIT_NO_SOLUTION
        self.progress.add(self.bound, self.known)
        bound = min(self.bound, self.known)
        return Claim(
            status,
            x=self.best,
            bound=bound if np.isfinite(bound) else None,
            message=f"{words}; {self.count} linear programs with tangents of the squares",
            version=self.version,
            objective=self.known if self.best is not None else None,
            log=self.log,
            trace=self.progress.rows,
        )

    def _closed(self) -> bool:
        gap = self.known - self.bound
        return self.best is not None and gap <= GAP * max(1.0, abs(self.known))

    def _left(self) -> float:
        limit = self.limits.time_limit
        return np.inf if limit is None else limit - (time.perf_counter() - self.began)

    def state(self) -> tuple[float, float, str]:
        """How far the rounds have come."""
        sense = self.form.sense
        return sense * self.bound, sense * self.known, f"{self.count} linear programs"

    # --- points ------------------------------------------------------------------------------

    def _convex(self, integers: Array | None) -> Array | None:
        """Optimum with the integers fixed at a point, or relaxed; None when there is none."""
        form = self.form
        low, high = form.lower, form.upper
        if integers is not None:
            whole = np.round(integers)
            low, high = (np.where(form.integer, whole, end) for end in (low, high))
        held = replace(form, lower=low, upper=high, integer=np.zeros(form.n, dtype=bool))
        left = self._left()
        asked = Limits(
            time_limit=max(left, SHORTEST_ROUND) if np.isfinite(left) else None,
            threads=self.limits.threads,
        )
        found = clarabel.run(held, classify(held), asked)
        self.interrupted |= found.status is Status.INTERRUPTED
        if found.x is None or found.status is not Status.OPTIMAL:
            return None
        return np.clip(found.x, low, high)

    def _try(self, point: Array) -> Array | None:
        """The best point with the integers of another one, kept when it beats the incumbent."""
        form = self.form
        whole = np.round(point[form.integer])
        inside = (form.lower[form.integer] <= whole) & (whole <= form.upper[form.integer])
        if not (np.isfinite(whole).all() and inside.all()):
            return None
        x = self._convex(point)
        if x is not None and form.objective.at(x) < self.known:
            self.best, self.known = x, form.objective.at(x)
            self.progress.add(self.bound, self.known)
        return x

    # --- the linear program ------------------------------------------------------------------

    def _linear_program(self, relaxed: Array | None) -> Any:
        """HiGHS with the rows, a column t_j for every square, and the first tangents."""
        form, squared = self.form, self.squared
        q = form.objective.Q.diagonal()[squared]
        cutoff = self.known - form.objective.constant
        found = limits_of_variables(form, self.classification, cutoff + ABOVE * abs(cutoff))
        low, high, reach = found.low, found.high, found.size()
        h = quiet_highs()
        settings: dict[str, Any] = {
            "output_flag": self.limits.log,
            "mip_feasibility_tolerance": NARROW,
            "primal_feasibility_tolerance": NARROW,
        }
        if self.limits.threads is not None:
            settings["threads"] = int(self.limits.threads)
        if self.limits.seed is not None:
            settings["random_seed"] = int(self.limits.seed)
        set_highs_options(h, settings | dict(self.limits.options))
        h.HandleUserInterrupt = True
        A = sp.hstack([without_rounding(form.matrix), sp.csr_matrix((len(form.rows), len(q)))])
        A = sp.csr_matrix(A)
        zero = np.zeros(len(q))
        h.passModel(
            form.n + len(q), A.shape[0], A.nnz, 2, 1, form.objective.constant,
            np.concatenate([form.objective.a, q]), np.concatenate([low, zero]),
            np.concatenate([high, np.full(len(q), np.inf)]), form.row_lower, form.row_upper,
            A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data,
            np.concatenate([form.integer, np.zeros(len(q), dtype=bool)]).astype(np.int32),
        )  # fmt: skip
        self.version = h.version()
        size = 1.0 if relaxed is None else 2 * float(np.abs(relaxed[squared]).max()) + 1e-3
        ends = np.where(np.isfinite(reach[squared]), reach[squared], size)
        grid = [share * ends for share in np.linspace(-1, 1, FIRST_TANGENTS)]
        known = [x[squared] for x in (relaxed, self.best) if x is not None]
        for p in [*grid, *known]:
            self._tangents_at(h, p)
        return h

    def _tangents_at(self, h: Any, p: Array) -> int:
        """Rows t_j - 2 p_j x_j >= -p_j^2, and how many of them are new."""
        count = 0
        for k, (column, at) in enumerate(zip(self.squared.tolist(), p.tolist(), strict=True)):
            there = self.touched.setdefault(k, [0.0])  # t_j >= 0 is the tangent at 0
            if min(abs(at - other) for other in there) <= NARROW * max(1.0, abs(at)):
                continue
            there.append(at)
            index = np.array([column, self.form.n + k], dtype=np.int32)
            h.addRow(-at * at, np.inf, 2, index, np.array([-2.0 * at, 1.0]))
            count += 1
        return count

    def _solve(self, h: Any, left: float) -> tuple[Status, Array | None]:
        """One linear program to a share of the present gap; its bound counts in any case."""
        import highspy

        gap = self.known - self.bound
        relative = self.share * gap / max(1.0, abs(self.known)) if np.isfinite(gap) else 1e-2
        h.setOptionValue("mip_rel_gap", float(np.clip(relative, GAP / 10, 0.1)))
        # HiGHS counts the time of all its runs.
        h.setOptionValue("time_limit", float(h.getRunTime() + left))
        if self.best is not None:
            start = highspy.HighsSolution()
            start.col_value = [*self.best.tolist(), *(self.best[self.squared] ** 2).tolist()]
            h.setSolution(start)

        def work() -> None:
            h.run()
            h.resetGlobalScheduler(True)

        finished = supervised(
            work, h.cancelSolve, log=self.limits.log, name="highs with tangents", state=self.state
        )
        self.log += finished.log
        self.interrupted |= finished.interrupted
        status = STATUS.get(h.getModelStatus().name, Status.ERROR)
        info = h.getInfo()
        if np.isfinite(info.mip_dual_bound) and status is not Status.INFEASIBLE:
            self.bound = max(self.bound, float(info.mip_dual_bound))
        if info.primal_solution_status != 2:
            return status, None
        return status, np.array(h.getSolution().col_value)[: self.form.n]


def _stopped(outcome: Status) -> Status:
    """Status of a search whose linear program ended without a point."""
    ended = (Status.FEASIBLE, Status.INACCURATE, Status.INTERRUPTED)
    return Status.FEASIBLE if outcome in ended else Status.ERROR


# --- A solver's point of a convex quadratic program made as good as exact arithmetic makes it ----
# Squares that are expanded leave a constant behind, and beside it a solver's tolerances are more
# than the optimum. Which rows and bounds hold with equality is taken from the solver; the
# equations of the optimum on them,
#     2 Q x + a - A'y = 0 on the free columns,      A x = side on the active rows,
# are solved in floating point, with residuals in rational numbers, until nothing is left of these
# (iterative refinement, Wilkinson, Rounding Errors in Algebraic Processes, 1963). Where a
# multiplier has the wrong sign or a row is violated, the active set changes and the equations are
# solved again. The kernel judges the result.


DENSE, LARGEST = 400, 5_000  # equations that are solved by singular values, and at all
CHANGES, ROUNDS = 30, 5  # of what is active; of the refinement
SINGULAR = 1e-13
FREE_LIMIT = 150  # equations of that many unknowns take some seconds
DENOMINATOR = 10**12  # of coordinates that are taken for short fractions
ZERO = Fraction(0)
REFINED_WORDS = (
    "its active rows and bounds were kept, and their equations solved in exact arithmetic"
)

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
    said = "; ".join(part for part in (claim.message, REFINED_WORDS) if part)
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
        chosen = independent_movers(block, weights)
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


DUALISED = {"highs": (ProblemClass.LP,), "clarabel": (ProblemClass.LP, ProblemClass.QP),
            "piqp": (ProblemClass.QP,)}  # fmt: skip
SCALED = ("highs", "clarabel", "scip", "piqp")


@dataclass(frozen=True, eq=False)
class Attempt:
    """One way to run the solver.

    Attributes
    ----------
    run : callable(limits) -> Claim
    how : str
        To be added to the solver's name, such as "in dual form".
    certain : bool
        Whether a claim that there is no optimum ends the search.
    """

    run: Callable[[Limits], Claim]
    how: str = ""
    certain: bool = True


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best of the attempts: the solver's claim, what of it is certified, and how it was got.

    The seconds are those of all runs of the solver, without our own computation between them.
    """

    claim: Claim
    found: Certified
    how: str
    seconds: float


_REGISTERED: dict[str, Callable[[StandardForm, Classification, Limits], Claim]] = {}


def register_solver(
    info: SolverInfo, run: Callable[[StandardForm, Classification, Limits], Claim]
) -> None:
    """Offer a solver of your own under a name for solver=; "auto" never takes it.

    Parameters
    ----------
    info : SolverInfo
        What it is called, where its package is, which classes it takes and within which numbers.
    run : callable(form, classification, limits) -> Claim
        Hands the arrays over and reports what the solver said: no judgement. See solvers/engines.

    Raises
    ------
    ValueError
        A solver of this name is known.
    """
    if info.name in SOLVERS:
        raise ValueError(f"solver {info.name!r} cannot be registered: the name is taken")
    SOLVERS[info.name] = info
    _REGISTERED[info.name] = run


def run_attempts(choice: ChosenSolver, case: Case, *, automatic: bool) -> Outcome:
    """Run the attempts until one is certified; the best one counts.

    Parameters
    ----------
    automatic : bool
        Whether the way is ours to choose: a solver named by the user gets the model as it is.
    """
    started = time.perf_counter()
    running = 0.0
    best: Outcome | None = None
    for attempt in _attempts(choice, case, automatic=automatic):
        limits = case.limits
        if best is not None:
            left = _remaining(limits, time.perf_counter() - started)
            if left is None:
                break
            limits = left
        begun = time.perf_counter()
        size = 1.0 if case.scaling is None else case.scaling.objective
        claim = with_contradictions(case.form, attempt.run(limits), size)
        running += time.perf_counter() - begun
        found = certify(case, claim)
        if best is None or _is_better(found, best.found):
            best = Outcome(claim, found, attempt.how, 0.0)
        if _is_settled(found, claim, attempt):
            break
    assert best is not None
    return replace(_with_refinement(case, best), seconds=running)


def _with_refinement(case: Case, best: Outcome) -> Outcome:
    """The outcome, or a certified one from the same active rows in exact arithmetic.

    Only beside a constant are a solver's tolerances more than the optimum; elsewhere what it does
    wrong is not hidden.
    """
    unproven = best.found.certificate.verdict is not Verdict.CERTIFIED
    if not (unproven and case.has_constant) or best.claim.status is Status.INTERRUPTED:
        return best
    claim = refined(case, best.claim)
    if claim is None:
        return best
    found = certify(case, claim)
    closed = found.certificate.verdict.closed and _is_better(found, best.found)
    return replace(best, claim=claim, found=found) if closed else best


def _attempts(choice: ChosenSolver, case: Case, *, automatic: bool) -> list[Attempt]:
    name, form, classification = choice.info.name, case.form, case.classification
    unsure = name == "highs" and not form.integer.any() and "presolve" not in case.limits.options
    # Clarabel calls some bounded models unbounded whose rows alone differ much in size.
    plain = Attempt(
        lambda limits: _run(name, case.model, form, classification, limits),
        certain=not unsure and name != "clarabel",
    )
    found = [plain]
    if automatic and classification.problem_class in DUALISED.get(name, ()):
        how = worthwhile(form)
        dual = dual_form(form) if how else None
        if dual is not None:
            found.insert(0, Attempt(_through(dual, name, classification), how, certain=False))
    if unsure:
        found.append(Attempt(_without_presolve(form, classification), "without presolve"))
    if name == "clarabel" and form.nonlinear:
        closer = clarabel.CLOSER
        found.append(
            Attempt(lambda limits: exponential_cones.run(form, limits, closer), "more closely")
        )
    if name in SCALED and not form.nonlinear:
        scaled = Attempt(_near_one(case, name), "in scaled numbers", certain=False)
        if case.scaling is not None:
            found.insert(found.index(plain), scaled)
        elif name == "clarabel" or (name == "highs" and not form.integer.any()):
            found.append(scaled)  # tolerances are absolute, and may be more than the whole optimum
    if name == "scs":
        found.append(
            Attempt(lambda limits: scs.run_closer(form, classification, limits), "more closely")
        )
    return found


def _near_one(case: Case, name: str) -> Callable[[Limits], Claim]:
    """The model in numbers near 1, see scaling.py."""

    def run(limits: Limits) -> Claim:
        refuse_huge_bounds(name, case.form)  # as without scaling, under which they look harmless
        if name == "clarabel":
            known = () if case.scaling is None else (case.scaling,)
            return clarabel.run_scaled(case.form, case.classification, limits, *known)
        factors = case.factors
        lost = coefficient_outside(factors.form, *SOLVERS[name].coefficients)
        if lost:
            return Claim(Status.ERROR, message=f"scaling would lose {lost}")
        return factors.claim(_run(name, case.model, factors.form, case.classification, limits))

    return run


def _through(
    dual: DualForm, name: str, classification: Classification
) -> Callable[[Limits], Claim]:
    options: Mapping[str, Any] = HIGHS_OPTIONS if name == "highs" else {}

    def run(limits: Limits) -> Claim:
        ours = replace(limits, options={**options, **limits.options})
        back_end = {"highs": highs.run, "clarabel": clarabel.run, "piqp": piqp.run}[name]
        return dual.recovered(back_end(dual.form, classification, ours))

    return run


def _without_presolve(
    form: StandardForm, classification: Classification
) -> Callable[[Limits], Claim]:
    # The presolve of HiGHS 1.15.1 calls some unbounded programs infeasible.
    def run(limits: Limits) -> Claim:
        ours = replace(limits, options={"presolve": "off", **limits.options})
        return highs.run(form, classification, ours)

    return run


def _run(
    name: str,
    model: pyo.ConcreteModel,
    form: StandardForm,
    classification: Classification,
    limits: Limits,
) -> Claim:
    match name:
        case "highs" if form.integer.any() and form.objective.Q.nnz:
            return run(form, classification, limits)
        case "highs":
            return highs.run(form, classification, limits)
        case "clarabel" if form.nonlinear:
            return exponential_cones.run(form, limits)
        case "clarabel":
            return clarabel.run(form, classification, limits)
        case "scs":
            return scs.run(form, classification, limits)
        case "piqp":
            return piqp.run(form, classification, limits)
        case "mosek":
            return mosek.run(form, classification, limits)
        case "scip" if not form.nonlinear:
            return scip.run(form, limits)
    if name in _REGISTERED:
        return _REGISTERED[name](form, classification, limits)
    return pyomo_interface.run(name, model, form, limits)


def _remaining(limits: Limits, spent: float) -> Limits | None:
    """Limits with the time that is left; None when there is none."""
    if limits.time_limit is None:
        return limits
    left = limits.time_limit - spent
    return replace(limits, time_limit=left) if left > SHORTEST else None


def _is_settled(found: Certified, claim: Claim, attempt: Attempt) -> bool:
    stopped = claim.status is Status.INTERRUPTED or "interrupted" in claim.message
    if stopped or found.certificate.verdict is not Verdict.NOT_CERTIFIED:
        return True
    # A claim that was refuted (status error) settles nothing.
    return found.x is None and attempt.certain and found.status is not Status.ERROR


def _is_better(found: Certified, best: Certified) -> bool:
    """Whether a later result replaces an earlier one; one without a point is replaced at a tie."""
    own, other = standing(found), standing(best)
    return own > other or (own == other and best.x is None)


def standing(found: Certified) -> tuple[int, bool, float]:
    """Order of results: by verdict, feasible, then by the proven gap."""
    certificate = found.certificate
    gap = np.inf if certificate.gap is None else certificate.gap
    rank = -list(Verdict).index(certificate.verdict)
    return rank, found.objective is not None, -gap


# --- A second solver asked about the same model: what it claims, held against the first ----------
# Two claims are no proof: agreement is recorded and changes no verdict. What can change one is a
# better point, a better bound of our own from the second solver's multipliers, or a contradiction,
# which is named and leaves neither claim standing.


_NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def second_choice(
    name: str,
    first: ChosenSolver | None,
    classification: Classification,
    form: StandardForm,
    *,
    timed: bool,
) -> ChosenSolver:
    """Look the second solver up and check that it can take the model, before anything is solved.

    Parameters
    ----------
    first : ChosenSolver, optional
        Where one was named.

    Raises
    ------
    ValueError
        "auto", an unknown name, or the first solver again.
    ProblemClassError, SizeLimitError, NumberError, SolverNotInstalledError
        As for the first solver.
    """
    if name == "auto":
        raise ValueError("second_solver: name a solver; auto is for the first one")
    found = choose(name, classification.problem_class, form, timed=timed)
    if first is not None and found.info.name == first.info.name:
        raise ValueError(
            f"second_solver: {name} is the first solver already; name another one for a second "
            "opinion"
        )
    return found


def with_second_opinion(
    first: ChosenSolver, second: ChosenSolver, case: Case, outcome: Outcome
) -> Outcome:
    """The outcome of the first solver after the second one was heard.

    The facts of the certificate say what the second one claims (result.py). A better
    point is kept, the better of two proven bounds too.
    """
    # Option names are the first solver's own.
    case = replace(case, limits=replace(case.limits, options={}))
    other = run_attempts(second, case, automatic=False)
    found = other.found
    said = _contradiction(first.info, second.info, case, outcome, other)
    facts = _facts(second, case, other) | {"second_agrees": not said}
    kept = other if _replaces(case, found, outcome.found) else outcome
    final = _joined(case, kept.found, outcome.found, found)
    if said and final.certificate.verdict is not Verdict.CERTIFIED:
        refused = replace(final.certificate, verdict=Verdict.NOT_CERTIFIED, reason=said)
        status = Status.INACCURATE if final.status is Status.OPTIMAL else final.status
        final = replace(final, status=status, certificate=refused)
    words = said or f"{second.info.name} agrees"
    if kept is other:
        words += f"; the point is that of {second.info.name}"
    certificate = replace(
        final.certificate,
        facts={**final.certificate.facts, **facts},
        solver_bound=outcome.claim.bound,
    )
    claim = replace(
        kept.claim,
        bound=outcome.claim.bound,
        message=f"{outcome.claim.message}; {words}",
        version=outcome.claim.version,
        log=outcome.claim.log,
    )
    return Outcome(claim, replace(final, certificate=certificate), outcome.how, outcome.seconds)


def beside_ours(second: ChosenSolver, case: Case, result: SolveResult) -> SolveResult:
    """What a method of ours found, with what a solver claims of the same model."""
    limits = replace(case.limits.without(result.seconds), options={})
    other = run_attempts(second, replace(case, limits=limits), automatic=False)
    said, facts = _against_ours(second.info, case, result, other), _facts(second, case, other)
    certificate = result.certificate
    status = result.status
    if said and not certificate.verdict.closed:
        certificate = replace(certificate, verdict=Verdict.NOT_CERTIFIED, reason=said)
        status = Status.INACCURATE if status is Status.OPTIMAL else status
    facts = {**certificate.facts, **facts, "second_agrees": not said}
    return replace(
        result,
        status=status,
        certificate=replace(certificate, facts=facts),
        message=f"{result.message}; {said or f'{second.info.name} agrees'}",
    )


def _against_ours(info: SolverInfo, case: Case, result: SolveResult, other: Outcome) -> str:
    """What of a solver's claim cannot be true beside a point and a bound of ours."""
    sign, name, found = case.form.sense, info.name, other.found
    if result.objective is not None and other.claim.status in _NO_OPTIMUM:
        return f"{name} says {other.claim.status}, and there is a feasible point"
    if found.objective is not None and result.status is Status.INFEASIBLE:
        return f"{name} has a point of {sign * found.objective:.9g}, and the model has none"
    kind, bound = case.classification.problem_class, other.claim.bound
    if result.objective is not None and bound is not None:
        value = sign * result.objective
        if bound > value + info.tolerance_for(kind) * case.scale(value):
            return (
                f"{name} claims the bound {sign * bound:.9g}, and a feasible point has "
                f"{result.objective:.9g}"
            )
    if found.objective is not None and result.bound is not None:
        below = sign * result.bound - info.tolerance_for(kind) * case.scale(found.objective)
        if found.objective < below:
            return (
                f"{name} ends at {sign * found.objective:.9g}, and {result.bound:.9g} is a proven "
                "bound"
            )
    return ""


def _facts(second: ChosenSolver, case: Case, other: Outcome) -> dict[str, Any]:
    """What the second solver claims, under the names of result.py."""
    found, sign = other.found, case.form.sense
    return {
        "second_solver": second.info.name,
        "second_version": other.claim.version or second.info.version,
        "second_status": str(found.status),
        "second_objective": None if found.objective is None else sign * found.objective,
        "second_bound": None if other.claim.bound is None else sign * other.claim.bound,
    }


def _replaces(case: Case, new: Certified, old: Certified) -> bool:
    """Whether the second point is kept: certified, or better by more than noise."""
    if old.certificate.verdict is Verdict.CERTIFIED or new.objective is None:
        return False
    if old.objective is None or new.certificate.verdict is Verdict.CERTIFIED:
        return True
    noise = GAP_TOLERANCE * gap.unit(new.objective, old.objective, case.constants[1])
    return new.objective < old.objective - noise


def _joined(case: Case, kept: Certified, one: Certified, other: Certified) -> Certified:
    """The point that is kept with the better of both proven bounds."""
    if kept.objective is None or kept.certificate.verdict is Verdict.CERTIFIED:
        return kept
    lower = larger(one.lower, other.lower)
    if lower is None or lower is kept.lower:
        return kept
    better = one if lower is one.lower else other
    judgement = case.judged(kept.point, lower)
    certificate = replace(
        kept.certificate, bound=better.certificate.bound,
        bound_method=better.certificate.bound_method, gap=judgement.gap,
    )  # fmt: skip
    if judgement.verdict is Verdict.NOT_CERTIFIED:
        return replace(kept, lower=lower, certificate=certificate)
    certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
    return replace(kept, status=Status.OPTIMAL, lower=lower, certificate=certificate)


def _contradiction(
    first: SolverInfo, second: SolverInfo, case: Case, one: Outcome, other: Outcome
) -> str:
    """What of the two claims cannot both be true; an empty string when nothing is."""
    f, g = one.found.objective, other.found.objective
    pairs = ((first, one, other, g), (second, other, one, f))
    for solver, claims, opposite, value in pairs:
        if claims.claim.status in _NO_OPTIMUM and opposite.found.objective is not None:
            return f"{solver.name} says {claims.claim.status}, and there is a feasible point"
        if value is None:
            continue
        allowed = solver.tolerance_for(case.classification.problem_class) * case.scale(value)
        bound = claims.claim.bound
        if bound is not None and bound > value + allowed:
            shown = (case.form.sense * bound, case.form.sense * value)
            return (
                f"{solver.name} claims the bound {shown[0]:.9g}, and a feasible point has "
                f"{shown[1]:.9g}"
            )
    if f is None or g is None or not _both_optimal(one, other):
        return ""
    kind = case.classification.problem_class
    allowed = (first.tolerance_for(kind) + second.tolerance_for(kind)) * case.scale(min(f, g))
    if abs(f - g) <= allowed:
        return ""
    shown = (case.form.sense * f, case.form.sense * g)
    return f"{first.name} ends at {shown[0]:.9g} and {second.name} at {shown[1]:.9g}"


def _both_optimal(one: Outcome, other: Outcome) -> bool:
    return all(outcome.claim.status is Status.OPTIMAL for outcome in (one, other))


# --- Models that have no variable left, all being fixed: a constant, if their rows hold ----------
# Solvers end in errors there, or say nothing. What a claim here is worth is decided as for theirs.


NO_VARIABLE_WORDS = "no variable is left, so that no solver was asked"


def by_its_constants(case: Case) -> Outcome:
    """What there is to say of a model without variables."""
    claim = _claim(case.form)
    return Outcome(claim, certify(case, claim), "", 0.0)


def _claim(form: StandardForm) -> Claim:
    """The only point there is, or the row that it misses."""
    none = np.zeros(0)
    cones = {id(row.data): _against(row) for row in form.psd}
    missed = (form.row_lower > 0) | (form.row_upper < 0)
    rows = (form.row_lower > 0).astype(np.float64) - (form.row_upper < 0)
    if missed.any() or any(z.any() for z in cones.values()):
        names = [form.rows[int(k)].name for k in np.flatnonzero(missed)[:1]]
        names += [row.data.name for row in form.psd if cones[id(row.data)].any()]
        words = f"{NO_VARIABLE_WORDS}: row {names[0]} does not hold"
        return Claim(Status.INFEASIBLE, message=words, farkas=Multipliers(rows, none, cones))
    nothing = Multipliers(np.zeros(len(rows)), none, {key: 0 * z for key, z in cones.items()})
    return Claim(Status.OPTIMAL, x=none, duals=nothing, message=NO_VARIABLE_WORDS)


def _against(row: PsdRow) -> np.ndarray:
    """v v' for a direction v in which a constant matrix is negative; 0 where there is none."""
    matrix = unpack(row.g * scale_of(row.order))
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return np.zeros_like(matrix)
    return np.outer(vectors[:, 0], vectors[:, 0])


# --- Warm starts: what of a result a model takes, and which solver looks at it -------------------


def start_values(
    model: pyo.ConcreteModel, start: Mapping[str, ArrayLike] | SolveResult | None
) -> Mapping[str, ArrayLike]:
    """Arrays by variable name; of a result those that fit variables of the model.

    Raises
    ------
    TypeError
        Neither a mapping nor a result.
    ValueError
        A result none of whose variables the model has.
    """
    if start is None or isinstance(start, Mapping):
        return start or {}
    if not isinstance(start, SolveResult):
        raise TypeError(
            "warm_start must be a result of solve() or arrays by variable name, "
            f"got {type(start).__name__}"
        )
    found = {}
    for name, array in start.values.items():
        component = model.find_component(name)
        is_variable = component is not None and component.ctype is pyo.Var
        if is_variable and len(flat(component, array)) == len(component):
            found[name] = array
    if not found:
        held = ", ".join(start.values) or "none"
        raise ValueError(f"warm_start: the model has no variable of the result's ({held})")
    return found


def told_of_start(result: SolveResult, form: StandardForm, method: str = "") -> SolveResult:
    """The result, with a sentence where nobody has looked at the warm start.

    Parameters
    ----------
    method : str
        Of ours, where one has found the result: they start by themselves.
    """
    whole, name = bool(form.integer.any()), result.solver
    if not method and (name not in SOLVERS or (whole and name in TAKE_STARTS)):
        return result
    if method:
        why = f"method {method} takes none"
    else:
        why = f"{name} takes none" if whole else "solvers take one of integer variables only"
    said = f"the warm start had no effect: {why}"
    return replace(result, message=f"{result.message}; {said}" if result.message else said)
