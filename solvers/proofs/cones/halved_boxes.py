"""Boxes that cover the boundary of a cube: its faces, halved as a line of bits says.

The 2 k faces come in the order of their coordinates, the lower one first. A bit says of each box,
level by level, whether it is halved (1) or a leaf (0); a box is halved at the middle of its longest
edge, the first of them where there are several, and its lower half comes first. So the leaves
cover all faces by the way they are made, and there is nothing to check but that the bits are enough
and none is left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index

SHORTEST = 2.0**-40  # edges are whole multiples of it, so that all ends and centres are exact
Bits = NDArray[np.bool_]


def faces(k: int) -> tuple[Array, Array]:
    """Centres and half widths (2 k, k) of the faces of [-1, 1]^k."""
    which = np.repeat(np.arange(k), 2)
    centre, half = np.zeros((2 * k, k)), np.ones((2 * k, k))
    centre[np.arange(2 * k), which] = np.tile([-1.0, 1.0], k)
    half[np.arange(2 * k), which] = 0.0
    return centre, half


def halves(centre: Array, half: Array) -> tuple[Array, Array]:
    """Both halves (2 B, k) of each box, one behind the other."""
    each, edge = np.arange(len(half)), half.argmax(axis=1)
    short = half.copy()
    short[each, edge] /= 2
    below, above = centre.copy(), centre.copy()
    below[each, edge] -= short[each, edge]
    above[each, edge] += short[each, edge]
    return _interleaved(below, above), np.repeat(short, 2, axis=0)


def leaves(k: int, bits: Bits) -> Iterator[tuple[Array, Array]]:
    """Centres and half widths of the leaves, level by level.

    Raises
    ------
    ValueError
        The bits are too few or too many, or halve a box that has no edge to be halved.
    """
    centre, half = faces(k)
    start = 0
    while len(centre):
        split = bits[start : start + len(centre)]
        if len(split) < len(centre):
            raise ValueError("the boxes do not cover every direction: bits are missing")
        start += len(split)
        if (half[split].max(axis=1, initial=0.0) <= SHORTEST).any():
            raise ValueError("a box is halved that has no edge to be halved")
        yield centre[~split], half[~split]
        centre, half = halves(centre[split], half[split])
    if start != len(bits):
        raise ValueError("bits are left behind the last box")


def bits_of(k: int, first_half: Index) -> Bits:
    """The bits of a tree: nodes 0 to 2 k - 1 are the faces.

    Parameters
    ----------
    first_half : array (N,) of int
        Number of the lower half of a node, the upper one's is the next; -1 for a leaf.
    """
    level, found = np.arange(2 * k), []
    while len(level):
        lower = first_half[level]
        found.append(lower >= 0)
        lower = lower[lower >= 0]
        level = _interleaved(lower, lower + 1)
    return np.concatenate(found)


def _interleaved(first: NDArray, second: NDArray) -> NDArray:
    return np.stack([first, second], axis=1).reshape(2 * len(first), *first.shape[1:])
