"""What a search over a concave program found, judged by the kernel like a solver's claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tightmargin.cuts.concave.box_search import BoxSearch, Found
from tightmargin.cuts.concave.cutting_plane import CutLoop
from tightmargin.cuts.concave.inner_hull import enumerate_image, proving_search, seconds_left
from tightmargin.cuts.concave.reading import ConcaveProgram, read_concave
from tightmargin.cuts.concave.root_box import RootBox, root_box
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.solvers.attempts.attempts import Outcome
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify import certify
from tightmargin.solvers.certificates.certify_point import certify_point
from tightmargin.solvers.certificates.no_optimum import no_optimum, without_optimum
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.proofs.cover.box_cover import cover_bound
from tightmargin.solvers.proofs.statement import FeasiblePoint, Infeasible, LowerBound
from tightmargin.solvers.result import Status

BRANCH_AND_CUT, CUTTING_PLANE, INNER_HULL = "branch-and-cut", "cutting-plane", "inner-hull"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method hands over to be judged.

    Attributes
    ----------
    x : array (n,) or None
    point : FeasiblePoint or None
        The same, proven feasible.
    bound : LowerBound, Infeasible or None
    stop : StopReason
    engine : str
    work : str
        What was done, in words.
    facts : mapping
    trace : tuple
        Rows of (seconds, bound, incumbent).
    """

    x: Array | None
    point: FeasiblePoint | None
    bound: LowerBound | Infeasible | None
    stop: StopReason
    engine: str
    work: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    trace: tuple[Any, ...] = ()


Search = Callable[[Case, ConcaveProgram, RootBox], Answer]


def outcome_of(case: Case, search: Search) -> Outcome:
    """Run a search on a model that is read here, and judge what it found."""
    began = time.perf_counter()
    program = read_concave(case.form)
    root = root_box(program)
    found: Certified | None = None
    claim = Claim(Status.LIMIT_NO_SOLUTION)
    if root.empty or not root.is_bounded:
        found = no_optimum(case, infeasible_too=root.empty, unbounded_too=not root.empty)
        claim = replace(claim, message=_without_box(root, found))
    if found is None and not root.is_bounded:
        # A reverse convex row may need a direction without a limit, and the objective does not.
        if root.empty or ((root.endless or root.falls) and not len(program.constants)):
            claim = replace(claim, status=Status.INFEASIBLE_OR_UNBOUNDED)
        return Outcome(claim, certify(case, claim), "", time.perf_counter() - began)
    if found is not None:
        return Outcome(claim, found, "", time.perf_counter() - began)
    answer = search(case, program, root)
    claim, found = judged_answer(case, answer)
    seconds = time.perf_counter() - began
    closed = found.certificate.verdict.closed
    ended = str(answer.stop).replace("_", " ")
    words = f"proven here by {answer.engine}" if closed else f"{answer.engine} ended ({ended})"
    message = f"{words}, {answer.work} in {seconds:.1f} s"
    return Outcome(replace(claim, message=message), found, "", seconds)


def judged_answer(case: Case, answer: Answer) -> tuple[Claim, Certified]:
    """The answer as a claim, and what of it stands."""
    stopped = answer.stop is StopReason.INTERRUPTED
    status = Status.INTERRUPTED if stopped else Status.FEASIBLE
    if answer.x is None:
        status = Status.INTERRUPTED if stopped else Status.LIMIT_NO_SOLUTION
    bound = answer.bound if isinstance(answer.bound, LowerBound) else None
    claim = Claim(
        status, answer.x, point=answer.point, proof=bound, trace=answer.trace, searched=True
    )
    if isinstance(answer.bound, Infeasible):
        found = without_optimum(case, answer.bound)
    elif answer.x is None:
        found = certify(case, claim)
    else:
        found = certify_point(case, claim, closing=False)
    facts = {
        **found.certificate.facts, "engine": answer.engine, "stop": str(answer.stop), **answer.facts
    }  # fmt: skip
    return claim, replace(found, certificate=replace(found.certificate, facts=facts))


def _without_box(root: RootBox, found: Certified | None) -> str:
    if found is None:
        return "something that the objective depends on has no limit, and nothing is proven"
    return (
        "the rows have no point in common"
        if root.empty
        else "something that the objective depends on has no limit"
    )


def by_boxes(case: Case, program: ConcaveProgram, root: RootBox) -> Answer:
    """Branch and cut over boxes, and what the kernel makes of its cover."""
    limits = case.limits
    search = BoxSearch(program, root, absolute_gap=limits.absolute_gap, seed=limits.seed or 0)
    found = search.run(time_limit=limits.time_limit, node_limit=limits.options.get("node_limit"))
    return answer_of_boxes(program, root, found)


def answer_of_boxes(program: ConcaveProgram, root: RootBox, found: Found) -> Answer:
    """A finished search over boxes, its point made exact and its cover checked."""
    form = program.form
    cover = found.cover.cover(program.directions, root, len(form.rows))
    bound = cover_bound(form, cover)
    facts = {"nodes": found.nodes, "linear_programs": found.solves}
    return Answer(
        found.x, found.point, bound, found.stop, BRANCH_AND_CUT, f"{found.nodes} nodes", facts,
        found.progress.rows,
    )  # fmt: skip


def by_cuts(case: Case, program: ConcaveProgram, root: RootBox) -> Answer:
    """Concavity cuts until nothing is left, and what the kernel makes of them."""
    limits = case.limits
    loop = CutLoop(program, root, absolute_gap=limits.absolute_gap, seed=limits.seed or 0)
    stop = loop.run(time_limit=limits.time_limit, cut_limit=limits.options.get("cut_limit"))
    bound = loop.proven() if stop is StopReason.PROVEN else None
    if stop is StopReason.PROVEN and bound is None:
        stop = StopReason.NUMERICAL
    best = loop.incumbents
    facts = {"cuts": len(loop.cuts), "linear_programs": loop.rows.solves}
    known = math.isfinite(best.value)
    return Answer(
        best.x if known else None, best.point, bound, stop, CUTTING_PLANE,
        count_text(len(loop.cuts), "cut"), facts,
    )  # fmt: skip


def by_hull(case: Case, program: ConcaveProgram, root: RootBox) -> Answer:
    """Vertices by Qhull, and branch and cut from the best of them."""
    limits = case.limits
    end = math.inf if limits.time_limit is None else time.perf_counter() + limits.time_limit
    hull = enumerate_image(program, end)
    search = proving_search(
        program, root, hull, absolute_gap=limits.absolute_gap, seed=limits.seed or 0
    )
    answer = answer_of_boxes(program, root, search.run(time_limit=seconds_left(end)))
    ended = str(hull.stop).replace("_", " ")
    work = (
        f"{count_text(hull.count, 'vertex', 'vertices')} by Qhull ({ended}), and {answer.work} of "
        "branch and cut for the proof"
    )
    facts = {**answer.facts, "vertices": hull.count, "enumeration": str(hull.stop)}
    return replace(answer, engine=INNER_HULL, work=work, facts=facts)
