"""The proof file of a 0-1 result by packings of conflicts; the format is in checker.py.

A file speaks of the model as it stands in it, and there a point that is given up has
a_i'w + s_i b < 1: every (w, b) keeps it or does not, z_i >= 1 pays for it where it does not, and
no bound needs the argument by which the search asks for the same row.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.solvers.certificates.case import GAP_TOLERANCE, Case
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proof_files.checker import Model, Packings
from tightmargin.solvers.proof_files.model_document import NotProvenError, begun
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.file_parts import (
    ZERO_ONE,
    columns_of,
    hyperplane_of,
    origin_of,
    point_rows,
    with_claim,
)
from tightmargin.solvers.zero_one.packings.recorded_tree import RecordedTree, packings, recorded

LONGEST = 200_000  # splits and leaves, which take the checker some minutes
MULTIPLIERS = 8_000_000  # which take up 200 MB, near the most that the checker reads
POINTS, NUMBERS = 1000, 5_000_000  # of the data
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
        reaches within them is proven.

    Raises
    ------
    NotProvenError
        No bound above 0 is proven, the file would be too long, or the result holds no point.
    """
    tree = _grown(case, result, seconds)
    found = packings(tree.written)
    nodes, multipliers = len(found.nodes), sum(map(len, found.conflicts))
    if nodes > LONGEST or multipliers > MULTIPLIERS:
        raise NotProvenError(
            f"the conflict search has {nodes:,} nodes with {multipliers:,} multipliers, and a file "
            f"holds {LONGEST:,} with {MULTIPLIERS:,}"
        )
    columns, b = columns_of(case)
    document = begun(case.form)
    document["packed"] = {
        "columns": columns,
        "intercept": b,
        "points": point_rows(case, origin_of(case)),
        "conflicts": [[[i, str(a)] for i, a in conflict] for conflict in found.conflicts],
        "nodes": found.nodes,
    }
    proof = Packings(Model(document["model"]), document["packed"])
    least = min(value for _, value in proof.leaves(Fraction(tree.objective)))
    if least <= 0:
        raise NotProvenError(f"the conflict search proves no bound in {tree.nodes:,} nodes")
    return with_claim(document, case, result, Fraction(rounded_down(least)))


def _grown(case: Case, result: SolveResult, seconds: float | None) -> RecordedTree:
    """The tree below the result's hyperplane, or that of the result's bound if it proves more.

    What is closed at a bound takes fewer nodes than what is closed at the objective.
    """
    known = None if result.certificate.verdict.closed else result.bound
    left = np.inf if seconds is None else seconds
    if known is None or known <= 0:
        return _below(case, result, np.inf, left)
    tree = _below(case, result, np.inf, left / 2)
    if tree.bound >= known:
        return tree
    other = _below(case, result, known / (1 - GAP), left / 2)
    return other if other.bound > tree.bound else tree


def _below(case: Case, result: SolveResult, cutoff: float, seconds: float) -> RecordedTree:
    origin, end = origin_of(case), time.monotonic() + seconds
    return recorded(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=hyperplane_of(result),
        gap=GAP,
        cutoff=cutoff,
        go_on=lambda tree: time.monotonic() < end and tree.size <= LONGEST,
    )
