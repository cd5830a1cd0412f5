"""Few combinations in which all pairs meet, in the place of products."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import Any

FULL = bool(os.environ.get("TIGHTMARGIN_FULL", "").strip())  # make test-full: products


def covering(
    *axes: Iterable[Any],
    strength: int = 2,
    allowed: Callable[..., bool] = lambda *row: True,
) -> list[tuple[Any, ...]]:
    """Rows in which each `strength` values of different axes meet that meet in an allowed row.

    Each row is the one that covers most of what is left, the first of equals. All allowed rows with
    TIGHTMARGIN_FULL, which `make test-full` sets.
    """
    values = [list(axis) for axis in axes]
    rows = [
        row
        for row in product(*(range(len(axis)) for axis in values))
        if allowed(*(axis[k] for axis, k in zip(values, row, strict=True)))
    ]
    if not FULL and strength < len(values):
        rows = _chosen(rows, strength)
    return [tuple(axis[k] for axis, k in zip(values, row, strict=True)) for row in rows]


def in_turn(first: Iterable[Any], *others: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Each of the first with one of each of the others in turn; all with all in the long run."""
    if FULL:
        return list(product(first, *others))
    rest = [list(axis) for axis in others]
    return [(one, *(axis[k % len(axis)] for axis in rest)) for k, one in enumerate(first)]


def _chosen(rows: list[tuple[int, ...]], strength: int) -> list[tuple[int, ...]]:
    places = list(combinations(range(len(rows[0])), strength)) if rows else []
    met = [{(at, tuple(row[k] for k in at)) for at in places} for row in rows]
    left = set().union(*met)
    chosen = []
    while left:
        best = max(range(len(rows)), key=lambda k: len(met[k] & left))
        chosen.append(best)
        left -= met[best]
    return [rows[k] for k in sorted(chosen)]
