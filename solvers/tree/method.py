"""Branch and bound as a method of solve(), and as the proof behind a solver's claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.attempts import Outcome, standing
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.certify.certify import certify, certify_point
from tightmargin.solvers.certify.no_optimum import no_optimum, without_optimum
from tightmargin.solvers.engines import scip
from tightmargin.solvers.engines.registry import SOLVERS, unknown_option
from tightmargin.solvers.engines.running import CALL, SHORTEST, Limits, StopReason
from tightmargin.solvers.errors import RefusedError, SolverNotInstalledError
from tightmargin.solvers.kernel.statement import Infeasible
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.registry import BRANCH_AND_BOUND, DIRECT, first_point
from tightmargin.solvers.result import MODEL_FACTS
from tightmargin.solvers.tree.search import PATIENCE, Answer, TreeSearch, tree_search

OPTIONS = ("node_limit",)
# Of a solver that is asked for a point: the numbers that its nodes may take, so that fewer are
# for larger models, and so many nodes at most. Three seconds of SCIP at 40 points.
FOR_A_POINT, MOST_NODES, LEAST_NODES = 2_000_000, 5_000, 20
SHARE_FOR_A_POINT = 0.2  # of a time limit
# Columns of a model that is proven without being asked: each box is a convex solve.
SIZE_LIMIT = 5_000


def refusal(case: Case) -> str:
    """Why a model is none for branch and bound; empty when it is one."""
    kind = case.classification
    if kind.has_integers:
        return ""
    if kind.convex:
        return "it has no integer variables: a convex solver proves its optimum"
    return kind.reason


def is_worth_a_proof(case: Case, found: Certified, claim: Claim) -> bool:
    """Whether nothing but a solver's word stands behind a result that a tree might prove."""
    settled = found.certificate.verdict is Verdict.CERTIFIED
    settled = settled or claim.status is Status.INTERRUPTED
    # What the written model proves says nothing of the problem while its M is not established.
    doubtful = bool(found.certificate.unproven)
    possible = SOLVERS["clarabel"].installed and case.form.n <= SIZE_LIMIT
    return possible and not (refusal(case) or settled or doubtful)


def budget(time_limit: float | None, spent: float, prove: float | bool | None) -> float | None:
    """Seconds that the proof of a claim may take; 0 for none, None where nobody limits it.

    time_limit: of the whole solve.
    spent: seconds that everything took up to now.
    prove: as in solve().
    """
    if prove is False:
        return 0.0
    asked = math.inf if prove is None or prove is True else float(prove)
    left = math.inf if time_limit is None else time_limit - spent
    least = min(asked, left)
    return None if math.isinf(least) else max(0.0, least)


def relaxation_size(form: StandardForm) -> int:
    """Numbers that one relaxation of a model is worth, as engines/running.py counts them."""
    return CALL + int(form.A.nnz + form.objective.Q.nnz + 2 * form.n + len(form.rows))


def nodes_for_a_point(form: StandardForm) -> int:
    """Nodes of a solver's search that is to find a point."""
    return max(LEAST_NODES, min(MOST_NODES, FOR_A_POINT // relaxation_size(form)))


def share_for_a_point(time_limit: float | None) -> float | None:
    """Seconds of such a search, where there is a limit."""
    return None if time_limit is None else SHARE_FOR_A_POINT * time_limit


def by_tree(case: Case) -> Outcome:
    """Search a model; where the first boxes are not enough, SCIP is asked for a point.

    Raises SolverNotInstalledError: Clarabel, which solves the relaxations, is missing.
    Raises ValueError: a model that is none for it, an unknown option, or a node limit that is none.
    """
    refused = refusal(case)
    if refused:
        raise ValueError(
            f"method {BRANCH_AND_BOUND} does not take this model: {refused}; take {DIRECT}"
        )
    for name in case.limits.options:
        if name not in OPTIONS:
            raise unknown_option(f"method {BRANCH_AND_BOUND}", name, OPTIONS)
    if not SOLVERS["clarabel"].installed:
        raise SolverNotInstalledError(
            f"method {BRANCH_AND_BOUND} solves its relaxations with clarabel, which is not "
            f"installed (pip install {SOLVERS['clarabel'].distribution})"
        )
    nodes = case.limits.options.get("node_limit")
    if nodes is not None and (type(nodes) is not int or nodes < 1):
        raise ValueError(f"node_limit must be a whole number of at least 1, got {nodes!r}")
    limit = case.limits.time_limit
    seconds = share_for_a_point(limit)

    def helper() -> Answer:
        limits = replace(
            case.limits, time_limit=seconds, options={}, log=False,
            nodes=nodes_for_a_point(case.form),
        )  # fmt: skip
        try:
            return Answer(scip.run(case.form, limits).x)
        except RefusedError:  # of numbers that SCIP would lose, and the search does not
            return Answer(None)

    began = time.perf_counter()
    asked = helper if SOLVERS["scip"].installed else None
    start = first_point(case.model, case.form)
    search = tree_search(
        without_options(case, limit), start, node_limit=nodes, helper=asked,
        within=math.inf if seconds is None else seconds,
    )  # fmt: skip
    return judged_search(case, search, None, time.perf_counter() - began)


def with_tree(case: Case, outcome: Outcome, seconds: float | None) -> Outcome:
    """The outcome of a solver with a proof, or with a better interval, within a time limit."""
    began = time.perf_counter()
    search = tree_search(without_options(case, seconds), start_of(outcome))
    took = time.perf_counter() - began
    found = judged_search(case, search, outcome, took)
    return replace(found, how=outcome.how, seconds=outcome.seconds + took)


def without_options(case: Case, seconds: float | None) -> Case:
    """The same case with another limit, and nothing that is meant for a solver."""
    return replace(case, limits=replace(case.limits, time_limit=seconds, options={}))


def start_of(outcome: Outcome) -> Array | None:
    """The point of an outcome, as it was made exact or as the solver left it."""
    return outcome.claim.x if outcome.found.x is None else outcome.found.x


def judged_search(case: Case, search: TreeSearch, before: Outcome | None, took: float) -> Outcome:
    """What a search has found, as a result; what a solver said before stays where that is more."""
    claim = Claim(Status.LIMIT_NO_SOLUTION)
    if before is not None:
        claim = replace(before.claim, x=start_of(before), duals=None)
    claim = _claim(case, claim, search, before)
    endless = no_optimum(case) if search.falls else None
    if isinstance(search.bound, Infeasible):
        found = without_optimum(case, search.bound)
    elif endless is not None:
        found = endless
    elif claim.x is None:
        found = certify(case, claim)
    else:
        found = certify_point(case, claim, closing=False)
    known = {} if before is None else before.found.certificate.facts
    facts = {
        **{name: fact for name, fact in known.items() if name not in MODEL_FACTS},
        **found.certificate.facts,
        "engine": BRANCH_AND_BOUND,
        "nodes": search.nodes,
        "stop": str(search.stop),
    }
    found = replace(found, certificate=replace(found.certificate, facts=facts), searched=True)
    words = _words(found, search, took)
    said = claim.message if before is not None else ""
    message = "; ".join(part for part in (said, words) if part)
    if before is not None and standing(found) < standing(before.found):
        return replace(before, claim=replace(before.claim, message=message), seconds=took)
    return Outcome(replace(claim, message=message), found, "", took)


def _claim(case: Case, claim: Claim, search: TreeSearch, before: Outcome | None) -> Claim:
    """What the search says, with the solver's own bound beside it."""
    point, x = search.point, claim.x
    if point is not None and point.x is not None:
        worse = x is not None and case.form.objective.varying(x) < point.varying
        x = x if worse and before is not None and before.found.objective is not None else point.x
    stopped = search.stop is StopReason.INTERRUPTED
    status = Status.INTERRUPTED if stopped else Status.FEASIBLE
    status = claim.status if before is not None else status
    if x is None and search.stop is StopReason.PROVEN:
        status = Status.INFEASIBLE
    elif x is None:
        # Without any bound there may be no least value, and that has proofs of its own.
        nothing = search.bound is None and not stopped
        status = Status.INFEASIBLE_OR_UNBOUNDED if nothing else Status.LIMIT_NO_SOLUTION
    bound = search.bound if not isinstance(search.bound, Infeasible) else None
    trace = search.trace or claim.trace
    return replace(claim, status=status, x=x, point=point, proof=bound, trace=trace)


def _words(found: Certified, search: TreeSearch, took: float) -> str:
    """What became of the proof."""
    work = f"{search.nodes} nodes in {took:.1f} s"
    if found.certificate.verdict.closed:
        return f"proven here by branch and bound, {work}"
    ended = str(search.stop).replace("_", " ")
    proves = "nothing" if search.bound is None else "the bound that is given"
    return f"branch and bound ended ({ended}) after {work}, and proves {proves}"


# --- A proof that is tried before a solver is asked, for edited models of the catalogue ----------


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

    ask(limits) -> Outcome: runs the solver.
    prove: as in solve(): seconds of the whole search, the solver's not counted.
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
