"""Mixed-integer quadratic programs through linear ones: squares replaced by tangents from below.

    min  a'x + sum_j q_j x_j^2     rows, bounds and integrality of x,   q >= 0

Every tangent t_j >= 2 p x_j - p^2 lies below x_j^2, so that

    min  a'x + sum_j q_j t_j      with the same rows and some tangents

is a mixed-integer linear program whose proven bound is one of the quadratic program. Each round
solves it, fixes the integers of its point and solves the convex rest, which gives a feasible point,
and adds the tangents at both points. At the optimum x* of the rest, its tangents make the linear
program with these integers fixed as expensive as the quadratic one: x* satisfies the optimality
conditions of both. So no choice of integers comes back below the incumbent, and the rounds are
finitely many. Duran & Grossmann, Math. Programming 36 (1986), outer approximation.

It is quick when the rows are tight (a derived big-M): with M = 1000 the linear relaxations say
nothing, and HiGHS, whose bound this is, takes very long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.base import refuse_huge_bounds
from tightmargin.solvers.backends.highs import STATUS
from tightmargin.solvers.backends.options import set_highs_options
from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.certificates.multiplier_search import ABOVE
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.interrupts import supervised
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.quiet_highs import quiet_highs
from tightmargin.solvers.execution.trace import Progress
from tightmargin.solvers.proofs.implied_limits import limits_of_variables
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.standard_form import StandardForm

FIRST_TANGENTS = 17  # a column, equally spaced over what a known point leaves of it
GAP = 1e-6  # of max(1, |objective|), at which the rounds end
SHARE = 0.2  # of the present gap, to which a round is solved: early tangents need no proof
NARROW = 1e-9  # tolerances of HiGHS, whose defaults let big-M rows and tangents slip
SHORTEST = 0.05  # seconds below which no further round is begun


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
            if self.interrupted or left <= SHORTEST:
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
            time_limit=max(left, SHORTEST) if np.isfinite(left) else None,
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
