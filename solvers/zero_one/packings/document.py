"""The proof file of a 0-1 result by packings of conflicts; the format is in checker.py.

A file speaks of the model as it stands in it, and there a point that is given up has
a_i'w + s_i b < 1: every (w, b) keeps it or does not, z_i >= 1 pays for it where it does not, and
no bound needs the argument by which the search asks for the same row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.solvers.certificates.case import GAP_TOLERANCE, Case
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proof_files.checker import Model, Packings
from tightmargin.solvers.proof_files.model_document import NotProvenError, begun, text
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.conflict_search.parts import FEWEST
from tightmargin.solvers.zero_one.conflict_search.parts import POINTS as POINTS_OF_A_PART
from tightmargin.solvers.zero_one.file_parts import (
    ZERO_ONE,
    columns_of,
    hyperplane_of,
    origin_of,
    point_rows,
    with_claim,
)
from tightmargin.solvers.zero_one.packings.parts import Part, recorded_parts
from tightmargin.solvers.zero_one.packings.recorded_tree import RecordedTree, packings, recorded

LONGEST = 200_000  # splits and leaves, which take the checker some minutes
MULTIPLIERS = 8_000_000  # which take up 200 MB, near the most that the checker reads
POINTS, NUMBERS = 1000, 5_000_000  # of the data
OF_PARTS = 0.8  # of the time, where a result of many points is open
GAP = GAP_TOLERANCE / 2  # the other half is for rounding


def suits_a_file(origin: Origin) -> bool:
    """Whether the conflict search proves a model that one row a point states."""
    data = origin.data
    if origin.entry not in ZERO_ONE or is_weighted(data):
        return False
    return data.d > 0 and data.n <= POINTS and data.n * data.d <= NUMBERS


def packing_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The proof of a result of zero_one_big_m or zero_one_bilinear as it is built.

    Parameters
    ----------
    seconds : float or None
        For the search, which goes down once more from the result's hyperplane; the interval that it
        reaches within them is proven. Of many points whose result is open, parts have most of them.

    Raises
    ------
    NotProvenError
        No bound above 0 is proven, the file would be too long, or the result holds no point.
    """
    data, left = origin_of(case).data, np.inf if seconds is None else seconds
    parts = list[Part]()
    if not result.certificate.verdict.closed and data.n >= FEWEST * POINTS_OF_A_PART:
        end = time.monotonic() + left
        parts = _parts(case, result, OF_PARTS * left)
        left = max(end - time.monotonic(), 0.0)
    tree = _grown(case, result, left)
    if sum(part.share for part in parts) > tree.bound:
        return _in_parts(case, result, parts)
    entry = _begun(case)
    entry |= dict(zip(("conflicts", "nodes"), _numbered(tree, range(data.n)), strict=True))
    _refuse_long([entry])
    document = begun(case.form) | {"packed": entry}
    proof = Packings(Model(document["model"]), entry)
    return with_claim(document, case, result, _least(proof, 0, Fraction(tree.objective)))


def _parts(case: Case, result: SolveResult, seconds: float) -> list[Part]:
    words = _problem(case, result)
    return recorded_parts(**words, seconds=seconds, longest=LONGEST)


def _problem(case: Case, result: SolveResult) -> dict[str, Any]:
    """The problem, the hyperplane of its result, and the gap that is left open."""
    origin = origin_of(case)
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    return words | {"data": origin.data.points, "incumbent": hyperplane_of(result), "gap": GAP}


def _in_parts(case: Case, result: SolveResult, parts: list[Part]) -> dict[str, Any]:
    """The proof by trees of parts."""
    entries = [
        {"points": part.points, "lower": "0", "conflicts": conflicts, "nodes": nodes}
        for part in parts
        for conflicts, nodes in [_numbered(part.tree, part.points)]
    ]
    _refuse_long(entries)
    entry = _begun(case) | {"conflicts": [], "nodes": [], "parts": entries}
    document = begun(case.form) | {"packed": entry}
    proof = Packings(Model(document["model"]), entry)
    total = Fraction(0)
    for k, part in enumerate(parts):
        least = _least(proof, k, part.most)
        entries[k]["lower"] = text(least)
        total += least
    return with_claim(document, case, result, Fraction(rounded_down(total / len(parts))))


def _begun(case: Case) -> dict[str, Any]:
    columns, b = columns_of(case)
    points = point_rows(case, origin_of(case))
    return {"columns": columns, "intercept": b, "points": points}


def _numbered(tree: RecordedTree, places: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """The conflicts and nodes of a tree, its points by their places among all."""
    found = packings(tree.written)
    conflicts = [[[places[i], str(a)] for i, a in conflict] for conflict in found.conflicts]
    return conflicts, [places[i] if isinstance(i, int) else i for i in found.nodes]


def _refuse_long(entries: Sequence[Mapping[str, Any]]) -> None:
    nodes = sum(len(entry["nodes"]) for entry in entries)
    multipliers = sum(len(conflict) for entry in entries for conflict in entry["conflicts"])
    if nodes > LONGEST or multipliers > MULTIPLIERS:
        raise NotProvenError(
            f"the conflict search has {nodes:,} nodes with {multipliers:,} multipliers, and a file "
            f"holds {LONGEST:,} with {MULTIPLIERS:,}"
        )


def _least(proof: Packings, tree: int, most: Fraction) -> Fraction:
    """The bound of the weakest leaf of a tree, rounded down."""
    least = min(value for _, value in proof.leaves(most, tree))
    if least <= 0:
        raise NotProvenError("the conflict search proves no bound")
    return Fraction(rounded_down(least))


def _grown(case: Case, result: SolveResult, left: float) -> RecordedTree:
    """The tree below the result's hyperplane, or that of the result's bound if it proves more.

    What is closed at a bound takes fewer nodes than what is closed at the objective.
    """
    known = None if result.certificate.verdict.closed else result.bound
    if known is None or known <= 0:
        return _below(case, result, np.inf, left)
    tree = _below(case, result, np.inf, left / 2)
    if tree.bound >= known:
        return tree
    other = _below(case, result, known / (1 - GAP), left / 2)
    return other if other.bound > tree.bound else tree


def _below(case: Case, result: SolveResult, cutoff: float, seconds: float) -> RecordedTree:
    end = time.monotonic() + seconds
    return recorded(
        **_problem(case, result),
        cutoff=cutoff,
        go_on=lambda tree: time.monotonic() < end and tree.size <= LONGEST,
    )
