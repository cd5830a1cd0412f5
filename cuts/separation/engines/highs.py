"""HiGHS, which calls nobody back: the whole model is solved again with the rows it missed."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.cuts.separation.incumbent import Accepted
from tightmargin.solvers import attempts as outer_approximation
from tightmargin.solvers.engines import highs
from tightmargin.solvers.engines.registry import choose
from tightmargin.solvers.engines.running import SHORTEST, CtrlC, Limits, StopReason
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.convexity import classify

NARROW = 1e-9
PRIMAL = "primal_feasibility_tolerance"
WHOLE = "mip_feasibility_tolerance"

End = tuple[StopReason, Status, str]


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise for a model that HiGHS does not take."""
    kind = classify(asking.base).problem_class
    choose("highs", kind, asking.base, timed=limits.time_limit is not None)


def run(asking: Asking, limits: Limits, fractional: bool) -> Ended:
    """Solve, ask, solve again; in between a refused point is mended with its integers fixed."""
    rounds = _Rounds(asking, limits)
    with rounds.ctrl_c.listening():
        end: End | None = None
        while end is None:
            end = rounds.next()
    return rounds.ended(end)


class _Rounds:
    """Solves of the model with more and more rows."""

    def __init__(self, asking: Asking, limits: Limits) -> None:
        self.asking, self.limits = asking, limits
        self.ctrl_c, self.best = CtrlC(), Accepted(asking, limits)
        self.bound, self.version, self.log = -math.inf, "", ""
        self._began = time.perf_counter()

    def ended(self, end: End) -> Ended:
        """The accepted point and the bound of the last solve."""
        claimed = min(self.bound, self.best.value)
        return Ended(
            *end, self.best.x, claimed if math.isfinite(claimed) else None, version=self.version,
            log=self.log,
        )  # fmt: skip

    def next(self) -> End | None:
        """One solve; why it was the last one, if it was."""
        left = self.limits.without(time.perf_counter() - self._began)
        if self.ctrl_c.asked:
            return StopReason.INTERRUPTED, Status.INTERRUPTED, "interrupted"
        if left.time_limit is not None and left.time_limit <= SHORTEST:
            return StopReason.TIME_LIMIT, Status.FEASIBLE, "time limit reached"
        claim = self._solved(left)
        self.version, self.log = claim.version or self.version, self.log + claim.log
        if claim.bound is not None:
            self.bound = max(self.bound, claim.bound)
        if claim.status is Status.INFEASIBLE:
            return StopReason.PROVEN, Status.INFEASIBLE, claim.message
        try:
            missed = self._asked(claim)
        except HaltError:
            return self.asking.halt_reason(), Status.FEASIBLE, ""
        if claim.status is not Status.OPTIMAL:
            return _why(claim)
        return None if missed else (StopReason.PROVEN, Status.OPTIMAL, claim.message)

    def _solved(self, limits: Limits) -> Claim:
        form, options = self.asking.form, dict(limits.options)
        if form.integer.any() and form.objective.Q.nnz:
            return outer_approximation.run(form, classify(form), limits)
        narrow = {PRIMAL: NARROW} | ({WHOLE: NARROW} if form.integer.any() else {})
        return highs.run(form, classify(form), replace(limits, options=narrow | options))

    def _asked(self, claim: Claim) -> bool:
        """Whether the point misses rows; one that misses none is kept."""
        if claim.x is None:
            return False
        if not self.asking.at(claim.x, self.bound):
            self.best.keep(claim.x)
            return False
        if self.asking.base.integer.any():
            self.best.offer(claim.x, self.bound)
        return True


def _why(claim: Claim) -> End:
    """Why a solve was not finished."""
    if claim.status is Status.INTERRUPTED:
        return StopReason.INTERRUPTED, claim.status, claim.message
    if "ime limit" in claim.message:
        return StopReason.TIME_LIMIT, claim.status, claim.message
    return StopReason.NUMERICAL, claim.status, claim.message
