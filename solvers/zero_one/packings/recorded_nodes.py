"""What proves the bounds of a batch of nodes: the conflicts that were found, with multipliers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.packings.evidence import KEPT, PACKING, REST, Evidence

Conflict: TypeAlias = tuple[tuple[int, int], ...]

UNIT = 2.0**40  # of the largest multiplier: norms are off by a share of some 1e-9 at most


@dataclass(eq=False)
class NodeRecord:
    """Of one node.

    Attributes
    ----------
    given_up : list of (point, conflict)
        Points that cannot be kept, in order, and what keeping each with the kept ones costs.
    packing : list of conflicts
        Disjoint in the points that are not kept.
    rest : conflict or None
        What keeping all points costs that the packing leaves.
    kept : conflict
        Of the points that are kept.
    """

    given_up: list[tuple[int, Conflict]] = field(default_factory=list)
    packing: list[Conflict] = field(default_factory=list)
    rest: Conflict | None = None
    kept: Conflict = ()


def records_of(found: Evidence) -> list[NodeRecord]:
    """The conflicts of each node."""
    records, some = [NodeRecord() for _ in found.settled], found.conflicts
    for k in np.argsort(some.kind, kind="stable").tolist():
        record, conflict = records[some.node[k]], conflict_of(some.members[k], some.alpha[k])
        if some.kind[k] == PACKING:
            record.packing.append(conflict)
        elif some.kind[k] == REST:
            record.rest = conflict
        elif some.kind[k] == KEPT:
            record.kept = conflict
        else:
            record.given_up.append((int(some.point[k]), conflict))
    return records


def conflict_of(members: Index, alpha: Array) -> Conflict:
    """Points with their multipliers as whole numbers, as conflicts are the same in any unit.

    Parameters
    ----------
    members : array (m,) of int
    alpha : array (m,)
        Negative for points that are given up; 0 says nothing.
    """
    largest = float(np.abs(alpha).max(initial=0.0))
    if largest == 0.0:
        return ()
    numbers = np.rint(alpha * (UNIT / largest)).astype(np.int64)
    pairs = zip(members.tolist(), numbers.tolist(), strict=True)
    return tuple(sorted((i, a) for i, a in pairs if a))
