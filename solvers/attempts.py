"""Ways to solve one model with one solver, tried in turn until a result is certified."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
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
    highs,
    mosek,
    piqp,
    pyomo_interface,
    scip,
    scs,
)
from tightmargin.solvers.engines.highs import STATUS, pass_arrays, quiet_highs
from tightmargin.solvers.engines.registry import (
    SOLVERS,
    TAKE_STARTS,
    ChosenSolver,
    SolverInfo,
    choose,
    own_names,
    refuse_huge_bounds,
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
from tightmargin.solvers.model.conic import Multipliers, triangle_scale, unpack
from tightmargin.solvers.model.convexity import Classification, classify
from tightmargin.solvers.model.dual import HIGHS_OPTIONS, DualForm, dual_form, worthwhile
from tightmargin.solvers.model.names import flat
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import coefficient_outside, without_rounding
from tightmargin.solvers.result import SolveResult

# --- Mixed-integer quadratic programs through linear ones: squares replaced by tangents from below
#     min  a'x + sum_j q_j x_j^2     rows, bounds and integrality of x,   q >= 0
# Outer approximation, Duran & Grossmann, Math. Programming 36 (1986). Every tangent
# t_j >= 2 p x_j - p^2 lies below x_j^2, so the linear program with t_j for x_j^2 and some tangents
# gives a bound. A round solves it, solves the convex rest with the integers of its point fixed (a
# feasible point), and adds the tangents at both points. No integers come back below the incumbent:
# at the optimum x* of the rest both programs have the same conditions. So the rounds are finite.
# It is quick for tight rows (a derived big-M), and very slow for M = 1000.


FIRST_TANGENTS = 17  # a column, equally spaced over what a known point leaves of it
GAP = 1e-6  # of max(1, |objective|), at which the rounds end
SHARE = 0.2  # of the present gap, to which a round is solved: early tangents need no proof
NARROW = 1e-9  # tolerances of HiGHS, whose defaults let big-M rows and tangents slip
SHORTEST_ROUND = 0.05  # seconds below which no further round is begun


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a model with integers, linear rows and a convex sum of squares in the objective.

    The bound is that of HiGHS' branch and bound. A time limit and Ctrl-C keep the incumbent, the
    bound and the trace of the rounds.
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
        status, message = Status.OPTIMAL, "optimal"
        while not self._closed():
            left = self._left()
            if self.interrupted or left <= SHORTEST_ROUND:
                status, message = Status.FEASIBLE, "Time limit reached"
                break
            outcome, x = self._solve(h, left)
            self.count += 1
            if outcome is Status.INFEASIBLE:
                self.bound = self.known  # there is no other point that is no worse
                status = Status.OPTIMAL if self.best is not None else Status.INFEASIBLE
                message = str(status)
                break
            if x is None:
                status, message = Status.ERROR, f"HiGHS ended with {outcome}"
                if outcome in (Status.FEASIBLE, Status.INTERRUPTED):
                    message = "Time limit reached"
                if outcome in (Status.FEASIBLE, Status.INTERRUPTED, Status.INACCURATE):
                    status = Status.FEASIBLE
                break
            points = [at for at in (x, self._try(x)) if at is not None]
            new = sum(self._tangents_at(h, at[self.squared]) for at in points)
            self.progress.add(self.bound, self.known)
            if not new and outcome is Status.OPTIMAL and not self._closed():
                if self.share == 0.0:
                    status, message = Status.FEASIBLE, "no tangent is left to add"
                    break
                self.share = 0.0
        return self._ended(status, message)

    def _ended(self, status: Status, message: str) -> Claim:
        if self.interrupted:
            status, message = Status.INTERRUPTED, "interrupted"
        if self.best is None and status is Status.FEASIBLE:
            status = Status.LIMIT_NO_SOLUTION
        self.progress.add(self.bound, self.known)
        bound = min(self.bound, self.known)
        return Claim(
            status,
            x=self.best,
            bound=bound if np.isfinite(bound) else None,
            message=f"{message}; {self.count} linear programs with tangents of the squares",
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
            low, high = (np.where(form.integer, np.round(integers), end) for end in (low, high))
        fixed = replace(form, lower=low, upper=high, integer=np.zeros(form.n, dtype=bool))
        left = self._left()
        time_limit = max(left, SHORTEST_ROUND) if np.isfinite(left) else None
        claim = clarabel.run(fixed, classify(fixed), Limits(time_limit, self.limits.threads))
        self.interrupted |= claim.status is Status.INTERRUPTED
        if claim.x is None or claim.status is not Status.OPTIMAL:
            return None
        return np.clip(claim.x, low, high)

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
        box = limits_of_variables(form, self.classification, cutoff + ABOVE * abs(cutoff))
        reach = box.size()
        names = ("mip_feasibility_tolerance", "primal_feasibility_tolerance")
        threads = own_names(self.limits, threads="threads")
        h = quiet_highs(self.limits, **dict.fromkeys(names, NARROW), **threads)
        h.HandleUserInterrupt = True
        zero = np.zeros(len(q))
        pass_arrays(
            h,
            sp.csr_matrix(
                sp.hstack([without_rounding(form.matrix), sp.csr_matrix((len(form.rows), len(q)))])
            ),
            np.concatenate([form.objective.a, q]),
            (np.concatenate([box.low, zero]), np.concatenate([box.high, zero + np.inf])),
            (form.row_lower, form.row_upper),
            np.concatenate([form.integer, zero > 0]),
            form.objective.constant,
        )
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


# --- A solver's point of a convex quadratic program, refined in exact arithmetic -----------------
# Beside the constant of expanded squares a solver's tolerances exceed the optimum. The active rows
# and bounds come from the solver; the equations of the optimum on them,
#     2 Q x + a - A'y = 0 on the free columns,      A x = side on the active rows,
# are solved by iterative refinement with rational residuals (Wilkinson, Rounding Errors in
# Algebraic Processes, 1963). A multiplier of the wrong sign or a violated row changes the active
# set. The kernel judges the result.


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
    """The claim with a refined point, multipliers and a bound of the kernel; None if none.

    Clarabel's multipliers are taken where the claim has none.
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
    message = "; ".join(part for part in (claim.message, REFINED_WORDS) if part)
    own = None if claim.duals is None else Multipliers(floats[1], bounds, {})
    return replace(claim, x=at, duals=own, proof=proof, point=point, message=message)


def _proven(
    case: Case, program: _Program, x: Exact, y: Exact
) -> tuple[FeasiblePoint | None, LowerBound | None, tuple[Array, Array]]:
    """What the kernel makes of a solution, or of the short fractions that it is near."""
    bounds = case.form.lower.tolist(), case.form.upper.tolist()
    short = [[v.limit_denominator(DENOMINATOR) for v in numbers] for numbers in (x, y)]
    for at, prices in ((short[0], short[1]), (x, y)):
        floats = np.array([float(v) for v in at]), np.array([float(v) for v in prices])
        point = None
        if at is not x:
            slopes = zip(at, program.slopes(at, prices), *bounds, strict=True)
            if any(slope for v, slope, low, high in slopes if low < v < high):
                continue
            point = proven_point(case.form, floats[0], dict(enumerate(at)))
            if point is None:
                continue
        proof = _bound(case, program, at, prices)
        if proof is not None or point is None:
            return point, proof, floats
    raise AssertionError("the solution itself always ends the loop")


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
        solution = _refined(program, start, prices, free, rows, sides)
        if solution is None:
            break
        best = solution
        x, y = (np.array([float(v) for v in part]) for part in best)
        slopes = np.array([float(r) for r in program.slopes(*best)])
        bodies = np.array([float(v) for v in _times(program.A, best[0])])
        equal = form.row_lower == form.row_upper
        tiny = 1e-12 * (1e-300 + np.abs(x).max(initial=0.0))
        wrong = [
            (at_low & (slopes < 0), at_low, False),
            (at_high & (slopes > 0), at_high, False),
            (low & ~equal & (y < 0), low, False),
            (high & ~equal & (y > 0), high, False),
            (~at_high & (x < form.lower - tiny), at_low, True),
            (~at_low & (x > form.upper + tiny), at_high, True),
            (~high & _beyond(form.row_lower, bodies), low, True),
            (~low & _beyond(-form.row_upper, -bodies), high, True),
        ]
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
    columns, entries = matrix.indices.tolist(), matrix.data.tolist()
    return [
        sum((Fraction(entries[k]) * x[columns[k]] for k in range(start, end)), ZERO)
        for start, end in pairwise(matrix.indptr.tolist())
    ]


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
            j
            for j, r in enumerate(slopes)
            if r and bend[j] <= 0 and not np.isfinite(form.lower[j] if r > 0 else form.upper[j])
        }
        if not endless:
            return at, prices
        wrong |= endless
        columns = sorted(wrong)
        if len(columns) > FREE_LIMIT:
            return None
        inside = np.flatnonzero(room > SINGULAR * scale)
        bent = np.flatnonzero(np.diff(program.P[:, columns].tocsr().indptr))
        block = np.vstack(
            [-program.A[inside][:, columns].toarray(), program.P[bent][:, columns].toarray()]
        )
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
    """One way to run the solver."""

    run: Callable[[Limits], Claim]
    how: str = ""  # added to the solver's name, such as "in dual form"
    certain: bool = True  # whether a claim that there is no optimum ends the search


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best of the attempts: the solver's claim, what of it is certified, and how it was got."""

    claim: Claim
    found: Certified
    how: str
    seconds: float  # of all runs of the solver


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

    A solver named by the user gets the model as it is, not in dual form (`automatic` False).
    """
    started, running = time.perf_counter(), 0.0
    best: Outcome | None = None
    for attempt in _attempts(choice, case, automatic=automatic):
        limits = case.limits
        if best is not None and limits.time_limit is not None:
            left = limits.time_limit - (time.perf_counter() - started)
            if left <= SHORTEST:
                break
            limits = replace(limits, time_limit=left)
        begun = time.perf_counter()
        size = 1.0 if case.scaling is None else case.scaling.objective
        claim = with_contradictions(case.form, attempt.run(limits), size)
        running += time.perf_counter() - begun
        certified = certify(case, claim)
        verdict = certified.certificate.verdict
        if best is None or _is_better(certified, best.found):
            best = Outcome(claim, certified, attempt.how, 0.0)
        stopped = claim.status is Status.INTERRUPTED or "interrupted" in claim.message
        # A claim that was refuted (status error) settles nothing.
        refuted = certified.status is Status.ERROR
        without_point = certified.x is None and attempt.certain and not refuted
        if stopped or verdict is not Verdict.NOT_CERTIFIED or without_point:
            break
    assert best is not None

    # Exact refinement, only beside a constant, where tolerances exceed the optimum: elsewhere it
    # would hide a solver's faults.
    unproven = best.found.certificate.verdict is not Verdict.CERTIFIED
    if unproven and case.has_constant and best.claim.status is not Status.INTERRUPTED:
        better = refined(case, best.claim)
        if better is not None:
            certified = certify(case, better)
            if certified.certificate.verdict.closed and _is_better(certified, best.found):
                best = replace(best, claim=better, found=certified)
    return replace(best, seconds=running)


def _attempts(choice: ChosenSolver, case: Case, *, automatic: bool) -> list[Attempt]:
    name, form, classification = choice.info.name, case.form, case.classification
    unsure = name == "highs" and not form.integer.any() and "presolve" not in case.limits.options

    # Clarabel calls some bounded models unbounded whose rows alone differ much in size.
    certain = not unsure and name != "clarabel"
    plain = Attempt(
        lambda limits: _run(name, case.model, form, classification, limits), "", certain
    )
    attempts = [plain]
    if automatic and classification.problem_class in DUALISED.get(name, ()):
        how = worthwhile(form)
        dual = dual_form(form) if how else None
        if dual is not None:
            run = partial(_in_dual_form, dual, name, classification)
            attempts.insert(0, Attempt(run, how, certain=False))
    if unsure:  # the presolve of HiGHS 1.15.1 calls some unbounded programs infeasible
        run = partial(_with_options, highs.run, form, classification, {"presolve": "off"})
        attempts.append(Attempt(run, "without presolve"))
    if name == "clarabel" and form.nonlinear:
        run = partial(clarabel.run_exponential, form, options=clarabel.CLOSER)
        attempts.append(Attempt(run, "more closely"))
    if name == "scs":
        attempts.append(Attempt(partial(scs.run_closer, form, classification), "more closely"))
    if name in SCALED and not form.nonlinear:
        scaled = Attempt(partial(_scaled, case, name), "in scaled numbers", certain=False)
        if case.scaling is not None:
            attempts.insert(attempts.index(plain), scaled)
        elif name == "clarabel" or (name == "highs" and not form.integer.any()):
            attempts.append(scaled)  # tolerances are absolute, and may exceed the optimum
    return attempts


def _with_options(
    engine: Callable[[StandardForm, Classification, Limits], Claim], form: StandardForm,
    classification: Classification, options: Mapping[str, Any], limits: Limits,
) -> Claim:  # fmt: skip
    """Run with options of ours, which the user's override."""
    return engine(form, classification, replace(limits, options={**options, **limits.options}))


def _in_dual_form(
    dual: DualForm, name: str, classification: Classification, limits: Limits
) -> Claim:
    engine = {"highs": highs.run, "clarabel": clarabel.run, "piqp": piqp.run}[name]
    options = HIGHS_OPTIONS if name == "highs" else {}
    return dual.recovered(_with_options(engine, dual.form, classification, options, limits))


def _scaled(case: Case, name: str, limits: Limits) -> Claim:
    """The model in numbers near 1, see scaling.py."""
    refuse_huge_bounds(name, case.form)  # scaling would make them look harmless
    if name == "clarabel":
        return clarabel.run_scaled(case.form, case.classification, limits, case.scaling)
    factors = case.factors
    lost = coefficient_outside(factors.form, *SOLVERS[name].coefficients)
    if lost:
        return Claim(Status.ERROR, message=f"scaling would lose {lost}")
    return factors.claim(_run(name, case.model, factors.form, case.classification, limits))


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


def _is_better(new: Certified, best: Certified) -> bool:
    """Whether a later result replaces an earlier one; one without a point is replaced at a tie."""
    own, other = standing(new), standing(best)
    return own > other or (own == other and best.x is None)


def standing(certified: Certified) -> tuple[int, bool, float]:
    """Order of results: by verdict, feasible, then by the proven gap."""
    certificate = certified.certificate
    gap = np.inf if certificate.gap is None else certificate.gap
    rank = -list(Verdict).index(certificate.verdict)
    return rank, certified.objective is not None, -gap


# --- A second solver's opinion of the same model -------------------------------------------------
# Agreement changes no verdict; a better point, a better bound proven from the second solver's
# multipliers, or a contradiction, which is named, does.


_NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def second_choice(
    name: str,
    first: ChosenSolver | None,
    classification: Classification,
    form: StandardForm,
    *,
    timed: bool,
) -> ChosenSolver:
    """Look the second solver up and check that it can take the model, before anything is solved."""
    if name == "auto":
        raise ValueError("second_solver: name a solver; auto is for the first one")
    second = choose(name, classification.problem_class, form, timed=timed)
    if first is not None and second.info.name == first.info.name:
        raise ValueError(
            f"second_solver: {name} is the first solver already; name another one for a second "
            "opinion"
        )
    return second


def with_second_opinion(
    first: ChosenSolver, second: ChosenSolver, case: Case, outcome: Outcome
) -> Outcome:
    """The first solver's outcome with the second's claim as facts, the better point and bound."""
    # Option names are the first solver's own.
    case = replace(case, limits=replace(case.limits, options={}))
    other = run_attempts(second, case, automatic=False)
    conflict = _contradiction(first.info, second.info, case, outcome, other)
    facts = _facts(second, case, other) | {"second_agrees": not conflict}
    kept = other if _replaces(case, other.found, outcome.found) else outcome
    final = _joined(case, kept.found, outcome.found, other.found)
    if conflict and final.certificate.verdict is not Verdict.CERTIFIED:
        refused = replace(final.certificate, verdict=Verdict.NOT_CERTIFIED, reason=conflict)
        status = Status.INACCURATE if final.status is Status.OPTIMAL else final.status
        final = replace(final, status=status, certificate=refused)
    message = conflict or f"{second.info.name} agrees"
    if kept is other:
        message += f"; the point is that of {second.info.name}"
    certificate = replace(
        final.certificate,
        facts={**final.certificate.facts, **facts},
        solver_bound=outcome.claim.bound,
    )
    claim = replace(
        kept.claim,
        bound=outcome.claim.bound,
        message=f"{outcome.claim.message}; {message}",
        version=outcome.claim.version,
        log=outcome.claim.log,
    )
    return Outcome(claim, replace(final, certificate=certificate), outcome.how, outcome.seconds)


def beside_ours(second: ChosenSolver, case: Case, result: SolveResult) -> SolveResult:
    """The result of a method of ours, with what a solver claims of the same model."""
    limits = replace(case.limits.without(result.seconds), options={})
    other = run_attempts(second, replace(case, limits=limits), automatic=False)
    conflict, facts = _against_ours(second.info, case, result, other), _facts(second, case, other)
    certificate, status = result.certificate, result.status
    if conflict and not certificate.verdict.closed:
        certificate = replace(certificate, verdict=Verdict.NOT_CERTIFIED, reason=conflict)
        status = Status.INACCURATE if status is Status.OPTIMAL else status
    facts = {**certificate.facts, **facts, "second_agrees": not conflict}
    return replace(
        result,
        status=status,
        certificate=replace(certificate, facts=facts),
        message=f"{result.message}; {conflict or f'{second.info.name} agrees'}",
    )


def _refuted(solver: SolverInfo, claim: Claim, value: float | None, case: Case) -> str:
    """What of a solver's claim cannot be true beside a feasible point of this value."""
    if value is None:
        return ""
    if claim.status in _NO_OPTIMUM:
        return f"{solver.name} says {claim.status}, and there is a feasible point"
    allowed = solver.tolerance_for(case.classification.problem_class) * case.scale(value)
    if claim.bound is None or claim.bound <= value + allowed:
        return ""
    bound, value = case.form.sense * claim.bound, case.form.sense * value
    return f"{solver.name} claims the bound {bound:.9g}, and a feasible point has {value:.9g}"


def _against_ours(info: SolverInfo, case: Case, result: SolveResult, other: Outcome) -> str:
    """What of a solver's claim cannot be true beside a point and a bound of ours."""
    sign, kind = case.form.sense, case.classification.problem_class
    value = None if result.objective is None else sign * result.objective
    conflict = _refuted(info, other.claim, value, case)
    theirs = other.found.objective
    if conflict or theirs is None:
        return conflict
    if result.status is Status.INFEASIBLE:
        return f"{info.name} has a point of {sign * theirs:.9g}, and the model has none"
    allowed = info.tolerance_for(kind) * case.scale(theirs)
    if result.bound is not None and theirs < sign * result.bound - allowed:
        return f"{info.name} ends at {sign * theirs:.9g}, and {result.bound:.9g} is a proven bound"
    return ""


def _facts(second: ChosenSolver, case: Case, other: Outcome) -> dict[str, Any]:
    """What the second solver claims, under the names of result.py."""
    sign, objective, bound = case.form.sense, other.found.objective, other.claim.bound
    return {
        "second_solver": second.info.name,
        "second_version": other.claim.version or second.info.version,
        "second_status": str(other.found.status),
        "second_objective": None if objective is None else sign * objective,
        "second_bound": None if bound is None else sign * bound,
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
        kept.certificate,
        bound=better.certificate.bound,
        bound_method=better.certificate.bound_method,
        gap=judgement.gap,
    )
    if judgement.verdict is Verdict.NOT_CERTIFIED:
        return replace(kept, lower=lower, certificate=certificate)
    certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
    return replace(kept, status=Status.OPTIMAL, lower=lower, certificate=certificate)


def _contradiction(
    first: SolverInfo, second: SolverInfo, case: Case, one: Outcome, other: Outcome
) -> str:
    """What of the two claims cannot both be true; an empty string when nothing is."""
    f, g = one.found.objective, other.found.objective
    conflict = _refuted(first, one.claim, g, case) or _refuted(second, other.claim, f, case)
    optimal = one.claim.status is other.claim.status is Status.OPTIMAL
    if conflict or f is None or g is None or not optimal:
        return conflict
    kind, sign = case.classification.problem_class, case.form.sense
    allowed = (first.tolerance_for(kind) + second.tolerance_for(kind)) * case.scale(min(f, g))
    if abs(f - g) <= allowed:
        return ""
    return f"{first.name} ends at {sign * f:.9g} and {second.name} at {sign * g:.9g}"


# --- Models without a free variable: solvers end in errors there, so the claim is ours -----------


NO_VARIABLE_WORDS = "no variable is left, so that no solver was asked"


def by_its_constants(case: Case) -> Outcome:
    """The only point of a model without variables, or a row that it violates."""
    form, none = case.form, np.zeros(0)
    names, cones = [], {}
    above, below = form.row_lower > 0, form.row_upper < 0
    rows = above.astype(np.float64) - below
    names += [form.rows.name(int(k)) for k in np.flatnonzero(above | below)[:1]]
    for row in form.psd:
        values, vectors = np.linalg.eigh(unpack(row.g * triangle_scale(row.order)))
        negative = values[0] < 0  # then v v' separates for its eigenvector v
        cones[id(row.data)] = negative * np.outer(vectors[:, 0], vectors[:, 0])
        names += [row.data.name] if negative else []
    duals = Multipliers(rows, none, cones)
    claim = Claim(Status.OPTIMAL, x=none, duals=duals, message=NO_VARIABLE_WORDS)
    if names:
        message = f"{NO_VARIABLE_WORDS}: row {names[0]} does not hold"
        claim = Claim(Status.INFEASIBLE, message=message, farkas=duals)
    return Outcome(claim, certify(case, claim), "", 0.0)


# --- Warm starts: what of a result a model takes, and which solver looks at it -------------------


def start_values(
    model: pyo.ConcreteModel, start: Mapping[str, ArrayLike] | SolveResult | None
) -> Mapping[str, ArrayLike]:
    """Arrays by variable name; of a result those that fit variables of the model."""
    if start is None or isinstance(start, Mapping):
        return start or {}
    if not isinstance(start, SolveResult):
        raise TypeError(
            "warm_start must be a result of solve() or arrays by variable name, "
            f"got {type(start).__name__}"
        )
    values = {}
    for name, array in start.values.items():
        component = model.find_component(name)
        is_variable = component is not None and component.ctype is pyo.Var
        if is_variable and len(flat(component, array)) == len(component):
            values[name] = array
    if not values:
        names = ", ".join(start.values) or "none"
        raise ValueError(f"warm_start: the model has no variable of the result's ({names})")
    return values


def told_of_start(result: SolveResult, form: StandardForm, method: str = "") -> SolveResult:
    """The result, with a sentence where neither the solver nor a method of ours takes a start."""
    whole, name = bool(form.integer.any()), result.solver
    if not method and (name not in SOLVERS or (whole and name in TAKE_STARTS)):
        return result
    if method:
        why = f"method {method} takes none"
    else:
        why = f"{name} takes none" if whole else "solvers take one of integer variables only"
    note = f"the warm start had no effect: {why}"
    return replace(result, message=f"{result.message}; {note}" if result.message else note)
