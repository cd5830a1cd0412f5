"""Nodes of the search as bytes, since there may be a million of them."""

from __future__ import annotations

import numpy as np

from tightmargin.solvers.zero_one.conflict_search.dual_active_set import refreshed
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Nodes
from tightmargin.solvers.zero_one.conflict_search.signed_points import SignedPoints


def packed_node(nodes: Nodes, k: int) -> bytes:
    """Kept and violated points of one node as bits, then the members of its working set."""
    count = nodes.sets.count[k]
    parts = (
        np.packbits(nodes.kept[k]), np.packbits(nodes.violated[k]),
        nodes.sets.members[k, :count].astype(np.uint16).view(np.uint8),
    )  # fmt: skip
    return np.concatenate(parts).tobytes()


def unpacked_nodes(points: SignedPoints, records: list[bytes]) -> Nodes:
    """Nodes again from their bytes, with the multipliers of their working sets."""
    n = len(points.right)
    width = -(-n // 8)
    bits = np.array([np.frombuffer(r, np.uint8, 2 * width) for r in records])
    kept = np.unpackbits(bits[:, :width], axis=1, count=n).astype(bool)
    violated = np.unpackbits(bits[:, width:], axis=1, count=n).astype(bool)
    members = np.zeros((len(records), points.largest), np.intp)
    count = np.zeros(len(records), np.intp)
    for k, record in enumerate(records):
        own = np.frombuffer(record, np.uint16, offset=2 * width)
        members[k, : len(own)], count[k] = own, len(own)
    short = np.take_along_axis(violated & ~points.loose, members, axis=1)
    sense = np.where(short, -1.0, 1.0)
    return Nodes(kept, violated, refreshed(points, members, count, sense))
