"""Edits of 0-1 models that our searches take: rows of w and b, decided points, counts.

A point that is violated pays, and one that pays need not be violated. So z_i = 0 says that the
point is kept, z_i = 1 that it is paid for, and at most k of some z that no more of these points
are violated. What else is said of z, a lower count or a row of z and w, is none of the search's.

Beside the ramp loss rows of w and b are taken alone: there a point with z_i = 0 may still pay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.edits.edit import Added
from tightmargin.solvers.kernel.signed_points import Count, SideRows

ONLY_ADDED = "the edit adds rows of w and b, decided points and upper counts, and is no more"
LARGEST = 1e100  # of numbers whose products are neither 0 nor infinity
_ELEMENT = re.compile(r"(w|z)\[(\d+)\]")


def side_rows(origin: Origin, added: Sequence[Added]) -> SideRows | str:
    """What an edit adds to a 0-1 model, or why our searches do not take it.

    origin: of zero_one_big_m, zero_one_bilinear or ramp_big_m, with the present hyperparameters.
    added: all that the edit does; numbers are taken as they are.
    """
    if origin.parameters.get("slack_bounds") is not None:
        return "slack_bounds hold at some optimum of the unedited problem"
    read = _Read(origin.data.n, origin.data.d, "C" in origin.parameters)
    for part in added:
        why = read.take(part)
        if why:
            return why
    return read.side_rows(origin)


@dataclass(eq=False)
class _Read:
    """Rows so far."""

    n: int
    d: int
    ramp: bool
    rows: list[tuple[Array, float, float]] = field(default_factory=list)
    least: dict[int, int] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)
    counts: list[Count] = field(default_factory=list)
    ends: dict[str, list[float]] = field(default_factory=dict)

    def take(self, part: Added) -> str:
        """Read one statement; why it cannot be taken, or an empty string."""
        assert part.statement is not None
        kind, *rest = part.statement
        if kind == "integer":
            return f"{part.name} was made an integer"
        if kind in ("lower", "upper"):
            name, end = rest
            low, high = (end, np.inf) if kind == "lower" else (-np.inf, end)
            return self._bound(name, low, high)
        terms, products, low, high = rest
        if products:
            return f"row {part.name} is quadratic"
        return self._row(part.name, dict(terms), low, high)

    def _bound(self, name: str, low: float, high: float) -> str:
        if name.startswith("z[") and not self.ramp:
            i = self._place(name)
            assert i is not None
            self.least[i] = max(self.least.get(i, 0), math.ceil(low) if low > -np.inf else 0)
            self.most[i] = min(self.most.get(i, 1), math.floor(high) if high < np.inf else 1)
            crossed = self.least[i] > self.most[i]
            return f"{name} has no value" if crossed else ""
        self.ends.setdefault(name, []).append(low if low > -np.inf else high)
        return self._row(name, {name: 1.0}, low, high)

    def _row(self, label: str, terms: dict[str, float], low: float, high: float) -> str:
        places = {name: self._place(name) for name in terms}
        of_z = [name for name in terms if self.ramp and name.startswith("z[")]
        unknown = [name for name in terms if name != "b" and places[name] is None] + of_z
        if unknown:
            return f"{unknown[0]} is none of {'w and b' if self.ramp else 'w, b and z'}"
        sizes = [abs(number) for number in (*terms.values(), low, high) if number]
        if any(LARGEST < size < np.inf or size < 1 / LARGEST for size in sizes):
            return f"row {label} has a number beyond {LARGEST:g} or within {1 / LARGEST:g}"
        decided = [name for name in terms if name.startswith("z[")]
        if decided and len(decided) < len(terms):
            return f"row {label} has z beside w or b"
        if decided:
            return self._count(label, {places[name]: terms[name] for name in decided}, low, high)
        row = np.zeros(self.d + 1)
        for name, number in terms.items():
            row[self.d if name == "b" else places[name]] = number
        self.rows.append((row, low, high))
        return ""

    def _count(self, label: str, terms: dict[Any, float], low: float, high: float) -> str:
        number = next(iter(terms.values()))
        if any(other != number for other in terms.values()):
            return f"row {label} weighs the points differently"
        if number < 0:
            number, low, high = -number, -high, -low
        if low > 0:
            return f"row {label} asks for violated points"
        if high < np.inf:
            points = np.zeros(self.n, dtype=bool)
            points[list(terms)] = True
            most = math.floor(Fraction(high) / Fraction(number))
            if most < 0:
                return f"row {label} allows less than nothing"
            self.counts.append(Count(points, most))
        return ""

    def _place(self, name: str) -> int | None:
        found = _ELEMENT.fullmatch(name)
        return None if found is None else int(found[2])

    def side_rows(self, origin: Origin) -> SideRows:
        """All of them, each side of a row by itself."""
        halves = [(row, high) for row, _, high in self.rows if high < np.inf]
        halves += [(-row, -low) for row, low, _ in self.rows if low > -np.inf]
        both = np.array([row for row, _ in halves]).reshape(-1, self.d + 1)
        kept, paid = np.zeros(self.n, dtype=bool), np.zeros(self.n, dtype=bool)
        kept[[i for i, most in self.most.items() if most < 1]] = True
        paid[[i for i, least in self.least.items() if least > 0]] = True
        return SideRows(
            both[:, : self.d],
            both[:, self.d],
            np.array([most for _, most in halves], dtype=float),
            kept,
            paid,
            tuple(self.counts),
            self._moved(origin),
            self._constant(origin, int(paid.sum())),
        )

    @property
    def _fixed(self) -> list[tuple[int | None, float]]:
        """Variables with two equal ends, which may be fixed: place of w_j, or None of b."""
        ends = [(name, set(ends)) for name, ends in self.ends.items() if len(ends) > 1]
        return [(self._place(name), min(found)) for name, found in ends if len(found) == 1]

    def _constant(self, origin: Origin, paid: int) -> float:
        priced = origin.parameters["intercept"] == "penalised"
        squares = [value**2 for place, value in self._fixed if place is not None or priced]
        if self.ramp:
            return sum(squares) / 2
        return sum(squares) + float(origin.parameters["penalty"]) * paid

    def _moved(self, origin: Origin) -> Array:
        """Fixed variables are constants of every margin row."""
        moved, X = np.zeros(self.n), origin.data.points.X
        for place, value in self._fixed:
            moved += abs(value) * (1.0 if place is None else np.abs(X[:, place]))
        return moved
