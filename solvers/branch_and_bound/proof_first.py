"""A proof that is tried before a solver is asked, for edited models of the catalogue."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.attempts.attempts import Outcome, standing
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.branch_and_bound.method import (
    SIZE_LIMIT,
    budget,
    is_worth_a_proof,
    judged_search,
    nodes_for_a_point,
    refusal,
    share_for_a_point,
    start_of,
    without_options,
)
from tightmargin.solvers.branch_and_bound.result import Answer
from tightmargin.solvers.branch_and_bound.search import PATIENCE, tree_search
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.starts import first_point
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import SHORTEST, Limits
from tightmargin.solvers.proofs.verdict import Verdict

Ask = Callable[[Limits], Outcome]

# Work of the search between a short run of the solver and a whole one: seven seconds.
BEFORE_THE_WHOLE = 3_500_000
UNFINISHED = (Status.FEASIBLE, Status.LIMIT_NO_SOLUTION)


def goes_first(case: Case) -> bool:
    """Whether a proof is tried before a solver is asked: edited models of the catalogue.

    They are mostly proven in less time than a solver takes for its claim.
    """
    edited = case.origin is None and isinstance(getattr(case.model, "origin", None), Origin)
    possible = SOLVERS["clarabel"].installed and case.form.n <= SIZE_LIMIT
    plain = not (case.limits.log or case.limits.options)
    return edited and possible and plain and not refusal(case)


def proof_first(case: Case, ask: Ask, prove: float | bool | None) -> tuple[Outcome, Outcome | None]:
    """Search, and ask a solver where that takes long; also what the solver said if it was asked.

    The solver is asked twice: for a point, within some nodes, and where the search still goes on
    some work later without a limit of its own, or for half of what is left of one.

    Parameters
    ----------
    ask : callable(limits) -> Outcome
        Runs the solver.
    prove : float, bool or None
        As in solve(): seconds of the whole search, the solver's not counted.
    """
    asking = _Asking(case, ask, prove)
    search = tree_search(
        without_options(case, case.limits.time_limit),
        first_point(case.model, case.form),
        helper=asking.answer,
        patience=PATIENCE,
        within=asking.moment,
    )
    before = asking.said if asking.is_done else None
    if before is not None and before.found.certificate.verdict is Verdict.CERTIFIED:
        outcome = before
    else:
        outcome = judged_search(case, search, before, asking.searched())
    stopped = outcome.claim.status is Status.INTERRUPTED
    if not (before is not None or stopped or outcome.found.certificate.verdict.closed):
        before = ask(case.limits.without(asking.passed()))
        if standing(before.found) >= standing(outcome.found):
            outcome = before
    return replace(outcome, seconds=asking.passed()), before


class _Asking:
    """What the solver was asked for, and what it said last."""

    def __init__(self, case: Case, ask: Ask, prove: float | bool | None) -> None:
        self.case, self.ask, self.prove = case, ask, prove
        self.limit = case.limits.time_limit
        numbered = prove is not None and not isinstance(prove, bool)
        self.most = float(prove or 0) if numbered else math.inf
        share = share_for_a_point(self.limit)
        self.moment = min(self.most, math.inf if share is None else share)
        self.said: Outcome | None = None
        self.is_done = False
        self._began, self._solving = time.perf_counter(), 0.0

    def passed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    def searched(self) -> float:
        """Those of them that were not the solver's."""
        return self.passed() - self._solving

    def answer(self) -> Answer:
        """A point of a short run first, and of a long one later."""
        longer = self.most - self.searched()
        left = None if self.limit is None else max(SHORTEST, self.limit - self.passed())
        if self.said is None and longer > 0:
            moment = self.moment if left is None else min(self.moment, left)
            said = self._run(
                None if math.isinf(moment) else moment, nodes_for_a_point(self.case.form)
            )
            if said.claim.status in UNFINISHED:
                within = None if math.isinf(longer) else longer
                return Answer(start_of(said), again=BEFORE_THE_WHOLE, within=within)
        else:
            said = self._run(None if left is None else left / 2)
        self.is_done = True
        if not is_worth_a_proof(self.case, said.found, said.claim):
            return Answer(None, ends=True)
        asked = self.prove if math.isinf(self.most) else self.most - self.searched()
        return Answer(start_of(said), budget(self.limit, self.passed(), asked))

    def _run(self, seconds: float | None, nodes: int | None = None) -> Outcome:
        began = time.perf_counter()
        self.said = self.ask(replace(self.case.limits, time_limit=seconds, nodes=nodes))
        self._solving += time.perf_counter() - began
        return self.said
