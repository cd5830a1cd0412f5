"""Room for the conflicts of some nodes, which compiled code fills."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.packings.evidence import Conflicts
from tightmargin.solvers.zero_one.conflict_search.compiled.working_sets import WorkingSet, compiled


class Found(NamedTuple):
    """The fields of Conflicts; how many there are is an array of one number, since it changes."""

    node: Index
    kind: Index
    point: Index
    members: Index
    alpha: Array
    size: Index


@compiled
def noted(found: Found, node: int, kind: int, point: int, working: WorkingSet) -> None:
    """One conflict more."""
    at = found.size[0]
    found.node[at], found.kind[at], found.point[at] = node, kind, point
    found.members[at] = 0
    found.alpha[at] = 0.0
    for i in range(working.size[0]):
        found.members[at, i] = working.members[i]
        found.alpha[at, i] = working.alpha[i]
    found.size[0] = at + 1


def room_for(many: int, width: int) -> Found:
    """Room for so many conflicts."""
    node, kind, point = (np.zeros(many, np.intp) for _ in range(3))
    size = np.zeros(1, np.intp)
    return Found(node, kind, point, np.zeros((many, width), np.intp), np.zeros((many, width)), size)


def copied(found: Found, first: int) -> Conflicts:
    """What is there, its nodes counted from `first`."""
    used = slice(found.size[0])
    return Conflicts(
        found.node[used] + first, found.kind[used].copy(), found.point[used].copy(),
        found.members[used].copy(), found.alpha[used].copy(),
    )  # fmt: skip
