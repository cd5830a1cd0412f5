"""The proof of a result as a file: from what the solve has kept, or proven again in another way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.certify import certify_point
from tightmargin.solvers.certify.multipliers import BOUND_DUALS, BOUND_POINT, model_bound
from tightmargin.solvers.certify.no_optimum import without_point
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.edits.edit import built
from tightmargin.solvers.engines.running import SHORTEST, Limits
from tightmargin.solvers.findings import evidence_of
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.tree import TreeProof
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.names import multipliers_by_name, point_with
from tightmargin.solvers.proof_files.checker import Proof
from tightmargin.solvers.proof_files.write import (
    Coordinates,
    Document,
    Evidence,
    NotProvenError,
    model_document,
    write_document,
)
from tightmargin.solvers.result import COPY, SolveResult
from tightmargin.solvers.tree.method import budget, refusal, relaxation_size
from tightmargin.solvers.tree.search import TreeSearch, tree_search

NO_FILE = "no proof file was written"
# Work of a tree that is grown for a file, where nobody says how long it may take: about a minute.
FOR_A_TREE, LEAST_NODES = 12_000_000, 1_000


Writer: TypeAlias = Callable[[Case, SolveResult, float | None], Document]


@dataclass(frozen=True)
class _Way:
    """A writer, the models that it is for, and the words of bounds that it proves."""

    write: Writer
    when: Callable[[Origin], bool]
    proves: str


_FAMILIES: dict[str, list[_Way]] = {}
_EDITED: list[Callable[[Case], Writer | None]] = []


def register_document(
    entries: Sequence[str],
    write: Writer,
    *,
    when: Callable[[Origin], bool] = lambda origin: True,
    proves: str = "",
) -> None:
    """Say how the proof of a result is written where neither multipliers nor trees prove it.

    write(case, result, seconds) -> document: in the format of checker.py, or a NotProvenError.
    when(origin) -> bool: which models of these entries; others get a tree.
    proves: part of the `bound_method` of results that this way is the first to be tried for.
        Otherwise the ways of an entry are tried in the order in which they are registered.
    """
    for entry in entries:
        _FAMILIES.setdefault(entry, []).append(_Way(write, when, proves))


def register_edited_document(writer: Callable[[Case], Writer | None]) -> None:
    """Say who writes the proof of an edited model; None for a tree."""
    _EDITED.append(writer)


def _ways(case: Case, result: SolveResult) -> list[Writer]:
    """What the family of a model has registered for it, the most promising first."""
    if case.origin is None:
        found = (writer(case) for writer in _EDITED)
        return [writer for writer in found if writer is not None]
    origin, said = case.origin, result.certificate.bound_method
    ways = [way for way in _FAMILIES.get(origin.entry, []) if way.when(origin)]
    ways.sort(key=lambda way: not (way.proves and way.proves in said))
    return [way.write for way in ways]


@dataclass(frozen=True, eq=False)
class Kept:
    """What a solve has kept of its proof, without the model, which may change or go.

    again: whether no file holds what proves the result, if anything does: another way is then
        looked for, within the seconds of the solve where it has left a gap open.
    origin: of a model as it is built, for its family's own ways.
    writers: of an edited one.
    """

    evidence: Evidence
    limits: Limits
    again: bool = False
    origin: Origin | None = None
    writers: Sequence[Writer] = ()

    def write(self, path: Path, result: SolveResult) -> Proof:
        """Check the proof and put it in place.

        Raises NotProvenError: nothing is proven in exact arithmetic.
        """
        case = Case(pyo.ConcreteModel(), Subject(self.evidence.form), None, self.limits)
        try:
            return write_document(_of_copy(self.evidence.document(), result), path)
        except NotProvenError:
            others = self.origin is not None or self.writers or not refusal(case)
            if not self.again or self.evidence.form.nonlinear or not others:
                raise
        if self.origin is not None:
            again = built(self.origin)
            documents = [model_document(form) for form in (again.form, self.evidence.form)]
            for document in documents:
                for kind in ("rows", "quadratic", "psd"):  # in any order
                    document[kind].sort(key=itemgetter("name"))
            if documents[0] != documents[1]:
                raise NotProvenError("the model is no longer what its builder writes")
            case = Case(again.model, Subject(again.form), self.origin, self.limits)
            return write_proof(path, case, result, self._seconds(result))
        start = None if self.evidence.point is None else self.evidence.point.x
        return _proven_otherwise(path, case, result, self.writers, start, self._seconds(result))

    def _seconds(self, result: SolveResult) -> float | None:
        proven = result.certificate.verdict.closed or result.status is Status.OPTIMAL
        return None if proven else max(result.seconds, SHORTEST)


def _of_copy(document: Document, result: SolveResult) -> Document:
    """The document, saying so where the model in it is not the user's but a copy of it."""
    copied = result.certificate.facts.get(COPY)
    if not copied:
        return document
    return document | {"about": f"{document['about']}; it is a copy of the model, with {copied}"}


def kept_of(result: SolveResult) -> Evidence | None:
    """The evidence of a result; None of one that was loaded."""
    found = result._evidence
    if isinstance(found, Kept):
        return found.evidence
    return found if isinstance(found, Evidence) else None


def write_proof(
    path: Path | str, case: Case, result: SolveResult, seconds: float | None = None
) -> Proof:
    """Write the proof of a result; what it has not kept is searched for, from its point.

    The searches of the families prove their results in a way of their own; what anybody can check
    is a tree of branch and bound, or what a family registers here. Where the time does not suffice,
    an interval is proven.

    seconds: for the search, 0 for none. Without them it ends after some nodes.
    Raises NotProvenError: nothing is proven, and the message says what is missing.
    """
    try:
        evidence = kept_of(result)
        if evidence is None or not evidence.proves:
            evidence = proven_again(case, result)
        return write_document(_of_copy(evidence.document(), result), Path(path))
    except NotProvenError:  # a tree may prove what multipliers of the relaxation do not
        ways = _ways(case, result)
        if seconds == 0 or (not ways and refusal(case)):
            raise
    return _proven_otherwise(Path(path), case, result, ways, point_of(case, result), seconds)


def _proven_otherwise(
    path: Path,
    case: Case,
    result: SolveResult,
    ways: Sequence[Writer],
    start: Array | None,
    seconds: float | None,
) -> Proof:
    """By the ways of the family, then by a tree that is grown from a point."""
    left, no_tree = math.inf if seconds is None else seconds, bool(refusal(case))
    end = time.monotonic() + left
    for k, write in enumerate(ways):
        last = no_tree and k == len(ways) - 1
        share = left if last else left / 2  # the rest is for what comes after it
        try:
            document = write(case, result, None if math.isinf(share) else share)
            return write_document(_of_copy(document, result), path)
        except NotProvenError:
            if last:
                raise
        left = max(end - time.monotonic(), SHORTEST)
    timed = not math.isinf(left)
    limits = replace(case.limits, time_limit=left if timed else None, options={})
    nodes = None if timed else max(LEAST_NODES, FOR_A_TREE // relaxation_size(case.form))
    found = tree_search(replace(case, limits=limits), start, node_limit=nodes)
    if found.bound is None:
        raise NotProvenError(
            f"branch and bound proves no bound within {found.nodes} nodes; give it more time"
        )
    return write_document(_of_copy(searched(case, found).document(), result), path)


def searched(case: Case, found: TreeSearch) -> Evidence:
    """What a tree search has proven."""
    point, gap = Coordinates.of(found.point), case.limits.absolute_gap
    return Evidence(case.form, case.classification, point, found.proof, absolute_gap=gap)


def proven_again(case: Case, result: SolveResult) -> Evidence:
    """What the numbers of a saved result prove of its model.

    Raises NotProvenError: it holds no point.
    """
    form, kind = case.form, case.classification
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        # Farkas multipliers are those of the least violation, whatever the sense.
        duals = multipliers_by_name(result.duals, replace(form, sense=1), kind)
        return evidence_of(form, kind, without_point(case, Claim(result.status, farkas=duals)))
    x = point_of(case, result)
    if x is None:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    if form.nonlinear or not kind.relaxes_to_convex:
        found = certify_point(case, Claim(Status.OPTIMAL, x), closing=False)
        return evidence_of(form, kind, found)
    facts = result.certificate.facts
    duals = multipliers_by_name(result.duals or facts.get(BOUND_DUALS, {}), form, kind)
    at = point_with(case.model, form, x, facts.get(BOUND_POINT, {}))
    bound = model_bound(case, Claim(Status.OPTIMAL, at, duals)).proof
    point = exact_point(form, kind, x, Limits())
    return Evidence.of(form, kind, point, bound, case.limits.absolute_gap)


def with_proof(
    path: Path | str | None, case: Case, result: SolveResult, prove: float | bool | None = None
) -> SolveResult:
    """The result with what proves it, and a sentence on its file where one is asked for.

    prove: as in solve(): seconds for what has to be proven again for the file.
    """
    found = kept_of(result)
    assert found is not None
    whole = found.proves and (case.classification.convex or isinstance(found.bound, TreeProof))
    again = not whole and result.status is not Status.UNBOUNDED
    writers = _ways(case, result) if again and case.origin is None else ()
    kept = Kept(found.alone(), case.limits, again, case.origin if again else None, writers)
    result = replace(result, _evidence=kept)
    if path is None:
        return result
    try:
        write_proof(path, case, result, _seconds(case, result, prove))
        copied = result.certificate.facts.get(COPY)
        said = f"the proof is in {path}" + (f", of a copy with {copied}" if copied else "")
    except NotProvenError as error:
        said = f"{NO_FILE}: {error}"
    return replace(result, message="; ".join(part for part in (result.message, said) if part))


def _seconds(case: Case, result: SolveResult, prove: float | bool | None) -> float | None:
    if prove is False:
        return 0.0
    left = budget(case.limits.time_limit, result.seconds, prove)
    return None if left is None else max(left, SHORTEST)


def point_of(case: Case, result: SolveResult) -> Array | None:
    """The point of a result as columns; None where it holds none."""
    if not result.values:
        return None
    return point_with(case.model, case.form, np.nan_to_num(case.form.point()), result.values)


def coordinates(case: Case, result: SolveResult) -> Coordinates | None:
    """The exactly feasible point of a result, found again where it was loaded; or None."""
    found = kept_of(result)
    if found is not None and found.point is not None:
        return found.point
    x = point_of(case, result)
    if x is None:
        return None
    return Coordinates.of(exact_point(case.form, case.classification, x, Limits()))
