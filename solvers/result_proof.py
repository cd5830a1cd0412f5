"""The proof of a result as a file, grown first where the result came without a tree."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.engines.running import SHORTEST, Limits
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.kernel.tree import TreeProof
from tightmargin.solvers.model.names import point_with
from tightmargin.solvers.proof_files.checker import Proof
from tightmargin.solvers.proof_files.write import (
    NotProvenError,
    document_of,
    write_document,
    write_tree,
)
from tightmargin.solvers.result import COPY, SolveResult
from tightmargin.solvers.tree.method import budget, refusal, relaxation_size
from tightmargin.solvers.tree.search import tree_search

NO_FILE = "no proof file was written"
# Work of a tree that is grown for a file, where nobody says how long it may take: about a minute.
FOR_A_TREE, LEAST_NODES = 12_000_000, 1_000


Writer: TypeAlias = Callable[[Case, SolveResult, float | None], dict[str, Any]]


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


def write_proof(
    path: Path | str, case: Case, result: SolveResult, seconds: float | None = None
) -> Proof:
    """Write the proof of a result; that of a mixed-integer model is searched for, from its point.

    The searches of the families prove their results in a way of their own; what anybody can check
    is a tree of branch and bound, or what a family registers here. Where the time does not suffice,
    an interval is proven.

    seconds: for the search, 0 for none. Without them it ends after some nodes.
    Raises NotProvenError: nothing is proven, and the message says what is missing.
    """
    try:
        return write_document(document_of(case, result), Path(path))
    except NotProvenError:  # a tree may prove what multipliers of the relaxation do not
        ways, no_tree = _ways(case, result), bool(refusal(case))
        if seconds == 0 or (not ways and no_tree):
            raise
    left = math.inf if seconds is None else seconds
    end = time.monotonic() + left
    for k, write in enumerate(ways):
        last = no_tree and k == len(ways) - 1
        share = left if last else left / 2  # the rest is for what comes after it
        try:
            document = write(case, result, None if math.isinf(share) else share)
            return write_document(document, Path(path))
        except NotProvenError:
            if last:
                raise
        left = max(end - time.monotonic(), SHORTEST)
    timed = not math.isinf(left)
    limits = replace(case.limits, time_limit=left if timed else None, options={})
    nodes = None if timed else max(LEAST_NODES, FOR_A_TREE // relaxation_size(case.form))
    found = tree_search(replace(case, limits=limits), _values(case, result), node_limit=nodes)
    if found.bound is None:
        raise NotProvenError(
            f"branch and bound proves no bound within {found.nodes} nodes; give it more time"
        )
    return write_tree(path, case, found.point, found.proof)


def with_proof(
    path: Path | str | None,
    case: Case,
    result: SolveResult,
    tree: TreeProof | None = None,
    prove: float | bool | None = None,
) -> SolveResult:
    """The result, with its proof in a file, or with a sentence that says why there is none.

    tree: that the solve has grown.
    prove: as in solve(): seconds for a tree that has to be grown for the file.
    """
    if path is None:
        return result
    try:
        if tree is None:
            write_proof(path, case, result, _seconds(case, result, prove))
        else:
            write_tree(path, case, _point(case, result), tree)
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


def _point(case: Case, result: SolveResult) -> FeasiblePoint | None:
    """The exactly feasible point near that of a result."""
    x = _values(case, result)
    if x is None:
        return None
    return exact_point(case.form, case.classification, x, Limits())


def _values(case: Case, result: SolveResult) -> Array | None:
    if not result.values:
        return None
    return point_with(case.model, case.form, np.nan_to_num(case.form.point()), result.values)
