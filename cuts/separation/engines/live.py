"""A live linear program, solved again from its last basis until nothing is separated."""

from __future__ import annotations

import time

import numpy as np

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.solvers.engines.running import SHORTEST, CtrlC, Limits, StopReason
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.live_lp import LiveLP, LiveResult
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import classify

NARROW = 1e-9
TOLERANCES = {"primal_feasibility_tolerance": NARROW, "dual_feasibility_tolerance": NARROW}


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise for a model that is no linear program."""
    kind = classify(asking.base).problem_class
    if kind is not ProblemClass.LP:
        raise ProblemClassError(
            f"engine live is for linear programs, and this model is of class {kind}: take "
            "engine=branch-and-bound, scip, gurobi or highs"
        )


def run(asking: Asking, limits: Limits, fractional: bool) -> Ended:
    """Resolve, ask, add rows; the point of the last solve is the only one that can be accepted."""
    began, ctrl_c, columns = time.perf_counter(), CtrlC(), asking.base.columns
    options = TOLERANCES | dict(limits.options)
    live = LiveLP(asking.model, seed=limits.seed, options=options, log=limits.log)
    answer: LiveResult | None = None
    with ctrl_c.listening():
        while True:
            left = limits.without(time.perf_counter() - began).time_limit
            if ctrl_c.asked:
                return _ended(asking, answer, StopReason.INTERRUPTED, Status.INTERRUPTED)
            if left is not None and left <= SHORTEST:
                return _ended(asking, answer, StopReason.TIME_LIMIT, Status.LIMIT_NO_SOLUTION)
            found = live.resolve(left)
            if found.status is not Status.OPTIMAL or found.x is None or found.objective is None:
                return _unfinished(asking, answer, found)
            answer = found
            try:
                rows = asking.at(found.x, asking.base.sense * found.objective)
            except HaltError:
                return _ended(asking, answer, asking.halt_reason(), Status.LIMIT_NO_SOLUTION)
            if not rows:
                return _ended(asking, answer, StopReason.PROVEN, Status.OPTIMAL, answer.x)
            for row in rows:
                terms = zip(row.index.tolist(), row.numbers.tolist(), strict=True)
                live.add_cut(
                    {columns.name(j): number for j, number in terms},
                    lower=row.lower if np.isfinite(row.lower) else None,
                    upper=row.upper if np.isfinite(row.upper) else None,
                    name=row.name,
                )


def _unfinished(asking: Asking, before: LiveResult | None, found: LiveResult) -> Ended:
    """A solve without an optimum: no point is left, there is no least value, or it was stopped."""
    if found.status is Status.INFEASIBLE:
        return _ended(asking, None, StopReason.PROVEN, Status.INFEASIBLE)
    if found.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
        words = (
            "the rows so far leave the objective without a bound, so that there is no point to ask "
            "about: give the variables bounds"
        )
        return Ended(StopReason.NUMERICAL, Status.INFEASIBLE_OR_UNBOUNDED, words)
    stop = StopReason.NUMERICAL
    if found.status is Status.INTERRUPTED:
        stop = StopReason.INTERRUPTED
    elif "ime limit" in found.message:
        stop = StopReason.TIME_LIMIT
    status = Status.INTERRUPTED if stop is StopReason.INTERRUPTED else Status.LIMIT_NO_SOLUTION
    return _ended(asking, before, stop, status, words=found.message)


def _ended(
    asking: Asking,
    answer: LiveResult | None,
    stop: StopReason,
    status: Status,
    x: object = None,
    words: str = "",
) -> Ended:
    """The last answer with its multipliers, 0 for rows that it was solved without."""
    if answer is None or answer.multipliers is None or answer.objective is None:
        return Ended(stop, status, words)
    form, y = asking.form, answer.multipliers
    rows = np.concatenate([y, np.zeros(len(form.row_lower) - len(y))])
    duals = Multipliers(rows, form.objective.a - form.A.T @ rows, {})
    point = answer.x if x is not None else None
    claimed = asking.base.sense * answer.objective
    return Ended(stop, status, words, point, claimed, duals)
