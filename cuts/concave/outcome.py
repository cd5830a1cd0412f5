"""What a search over a concave program found, judged by the kernel like a solver's claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from tightmargin.cuts.concave.box_search import BoxSearch, Found
from tightmargin.cuts.concave.cut_loop.cutting_plane import CutLoop
from tightmargin.cuts.concave.in_scale import (
    unscaled_cover,
    unscaled_cuts,
    worthwhile_scaling,
)
from tightmargin.cuts.concave.inner_hull import enumerate_image, proving_search, seconds_left
from tightmargin.cuts.concave.points.incumbent import Incumbent
from tightmargin.cuts.concave.reading import ConcaveProgram, read_concave
from tightmargin.cuts.concave.root_box import RootBox, root_box
from tightmargin.cuts.proofs import BoxCover, CutSequence, cover_bound, cuts_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.solvers.attempts import Outcome
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.certify.certify import certify, certify_point
from tightmargin.solvers.certify.no_optimum import no_optimum, without_optimum
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import FeasiblePoint, Infeasible, LowerBound
from tightmargin.solvers.model.claim import Claim, Status, times
from tightmargin.solvers.model.scaling import Scaling

BRANCH_AND_CUT, CUTTING_PLANE, INNER_HULL = "branch-and-cut", "cutting-plane", "inner-hull"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method hands over to be judged.

    x (n,).
    point: the same, proven feasible.
    work: what was done, in words.
    trace: rows of (seconds, bound, incumbent).
    """

    x: Array | None
    point: FeasiblePoint | None
    proof: BoxCover | CutSequence | None
    stop: StopReason
    engine: str
    work: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    trace: tuple[Any, ...] = ()


Search = Callable[[Limits, ConcaveProgram, RootBox], Answer]


def outcome_of(case: Case, search: Search) -> Outcome:
    """Run a search on a model that is read here, and judge what it found."""
    began = time.perf_counter()
    scale = worthwhile_scaling(case.form)
    program = read_concave(case.form if scale is None else scale.form)
    given = case.limits.time_limit
    end = math.inf if given is None else began + given
    root = closed_root(program, seed=case.limits.seed or 0, end=end)
    found: Certified | None = None
    claim = Claim(Status.LIMIT_NO_SOLUTION)
    if root.empty or not root.is_bounded:
        found = no_optimum(case, infeasible_too=root.empty, unbounded_too=not root.empty)
        claim = replace(claim, message=_without_box(root, found))
    if found is None and not root.is_bounded:
        # A reverse convex row may need a direction without a limit, and the objective does not.
        if root.empty or ((root.endless or root.falls) and program.convex.all()):
            claim = replace(claim, status=Status.INFEASIBLE_OR_UNBOUNDED)
        return Outcome(claim, certify(case, claim), "", time.perf_counter() - began)
    if found is not None:
        return Outcome(claim, found, "", time.perf_counter() - began)
    limits = replace(case.limits, time_limit=seconds_left(end))
    if scale is not None:
        limits = replace(limits, absolute_gap=limits.absolute_gap / scale.objective)
    answer = search(limits, program, root)
    claim, found = judged_answer(case, answer if scale is None else unscaled(answer, scale))
    seconds = time.perf_counter() - began
    closed = found.certificate.verdict.closed
    ended = found.certificate.facts["stop"].replace("_", " ")
    words = f"proven here by {answer.engine}" if closed else f"{answer.engine} ended ({ended})"
    message = f"{words}, {answer.work} in {seconds:.1f} s"
    return Outcome(replace(claim, message=message), found, "", seconds)


def unscaled(answer: Answer, scale: Scaling) -> Answer:
    """What an answer about a scaled model says of the original one."""
    x, point = answer.x, answer.point
    if x is not None:
        x = scale.columns * x
    if point is not None and x is not None:
        units = scale.columns.tolist()
        exact = {j: Fraction(units[j]) * number for j, number in point.rational.items()}
        point = proven_point(scale.original, x, exact)
    proof = answer.proof
    if isinstance(proof, BoxCover):
        proof = unscaled_cover(proof, scale)
    elif proof is not None:
        proof = unscaled_cuts(proof, scale)
    return replace(
        answer, x=x, point=point, proof=proof, trace=times(scale.objective, answer.trace)
    )


def closed_root(program: ConcaveProgram, *, seed: int, end: float = math.inf) -> RootBox:
    """The root box; of a linear objective, where rows leave it open, below a known point.

    Points are looked for until `end` (of time.perf_counter).
    """
    root = root_box(program)
    if root.is_closed or root.empty or not program.is_linear:
        return root
    best = Incumbent(program, root, seed=seed)
    best.seek(end)
    return root_box(program, best.value, best.x) if best.is_known else root


def judged_answer(case: Case, answer: Answer) -> tuple[Claim, Certified]:
    """The answer as a claim, and what of it stands."""
    stopped = answer.stop is StopReason.INTERRUPTED
    status = Status.INTERRUPTED if stopped else Status.FEASIBLE
    if answer.x is None:
        status = Status.INTERRUPTED if stopped else Status.LIMIT_NO_SOLUTION
    proven = _proven(case, answer.proof)
    if answer.stop is StopReason.PROVEN and proven is None:
        answer = replace(answer, stop=StopReason.NUMERICAL)
    bound = proven if isinstance(proven, LowerBound) else None
    claim = Claim(
        status, answer.x, point=answer.point, proof=bound, trace=answer.trace, searched=True
    )
    if isinstance(proven, Infeasible):
        found = without_optimum(case, proven)
    elif answer.x is None:
        found = certify(case, claim)
    else:
        found = certify_point(case, claim, closing=False)
    facts = {
        **found.certificate.facts, "engine": answer.engine, "stop": str(answer.stop), **answer.facts
    }  # fmt: skip
    return claim, replace(found, certificate=replace(found.certificate, facts=facts))


def _proven(case: Case, proof: BoxCover | CutSequence | None) -> LowerBound | Infeasible | None:
    """What the kernel makes of a proof."""
    if isinstance(proof, BoxCover):
        return cover_bound(case.form, proof)
    return None if proof is None else cuts_bound(case.form, proof)


def _without_box(root: RootBox, found: Certified | None) -> str:
    if found is None:
        return "something that the objective depends on has no limit, and nothing is proven"
    return (
        "the rows have no point in common"
        if root.empty
        else "something that the objective depends on has no limit"
    )


def by_boxes(limits: Limits, program: ConcaveProgram, root: RootBox) -> Answer:
    """Branch and cut over boxes."""
    search = BoxSearch(
        program, root, absolute_gap=limits.absolute_gap, seed=limits.seed or 0, start=root.known
    )
    found = search.run(time_limit=limits.time_limit, node_limit=limits.options.get("node_limit"))
    return answer_of_boxes(program, root, found)


def answer_of_boxes(program: ConcaveProgram, root: RootBox, found: Found) -> Answer:
    """A finished search over boxes."""
    cover = found.cover.cover(program.directions, root, len(program.form.rows))
    facts = {"nodes": found.nodes, "linear_programs": found.solves}
    return Answer(
        found.x, found.point, cover, found.stop, BRANCH_AND_CUT, f"{found.nodes} nodes", facts,
        found.progress.rows,
    )  # fmt: skip


def by_cuts(limits: Limits, program: ConcaveProgram, root: RootBox) -> Answer:
    """Concavity cuts until nothing is left."""
    literal = limits.options.get("strategy") == "literal"
    loop = CutLoop(
        program, root, absolute_gap=limits.absolute_gap, seed=limits.seed or 0, literal=literal
    )
    stop = loop.run(time_limit=limits.time_limit, cut_limit=limits.options.get("cut_limit"))
    proof = loop.proof() if stop is StopReason.PROVEN else None
    best = loop.best
    facts: dict[str, Any] = {"cuts": len(loop.cuts), "linear_programs": loop.rows.solves}
    if literal:
        facts["cuts_until_no_face"] = loop.cuts_until_no_face
        facts["faces"] = [asdict(face) for face in loop.faces]
    return Answer(
        best.x if best.is_known else None, best.point, proof, stop, CUTTING_PLANE,
        count_text(len(loop.cuts), "cut"), facts,
    )  # fmt: skip


def by_hull(limits: Limits, program: ConcaveProgram, root: RootBox) -> Answer:
    """Vertices by Qhull, and branch and cut from the best of them."""
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
