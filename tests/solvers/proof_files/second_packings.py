"""The second decision on packings of conflicts: every leaf is asked for all ways out of it.

The hyperplanes of a leaf are sorted by the first conflict whose points they all keep.
"""

from __future__ import annotations

from typing import Any

from tests.solvers.proof_files.second_checker import (
    ZERO,
    File,
    Number,
    ask,
    keys,
    many,
    place,
    read,
)
from tests.solvers.proof_files.second_cones import Directed

Alpha = dict[int, Number]
ONE = Number.ratio(1, 1)


class Packed(Directed):
    """What a file says of packings."""

    def __init__(self, document: File, entry: Any, lower: Number) -> None:
        keys(entry, "columns intercept points conflicts nodes", "parts")
        self.document, self.lower, n = document, lower, document.n
        self.columns = [place(j, n) for j in many(entry["columns"])]
        self.b = None if entry["intercept"] is None else place(entry["intercept"], n)
        ask(self.columns and len({*self.columns}) == len(self.columns), "columns")
        ask(self.b not in self.columns, "a priced intercept")
        self.squares, self.slacks, self.free = self.sum_of_squares(), None, None
        ask(all(square.sign() > 0 for square in self.squares), "a square of 0")
        self.points = self.signed(many(entry["points"]))
        self.prices = [point.price for point in self.points]
        if "parts" not in entry:
            self.tree(entry)
            return
        ask(not many(entry["conflicts"]) and not many(entry["nodes"]), "a tree beside parts")
        self.together(many(entry["parts"]))

    def together(self, parts: list[Any]) -> None:
        """Each part pays for its own points alone, their prices as often as there are parts."""
        ask(parts, "no parts")
        times, whole, prices = Number.ratio(len(parts), 1), self.lower, self.prices
        left, total = set(range(len(prices))), ZERO
        for part in parts:
            keys(part, "points lower conflicts nodes")
            own = [place(i, len(prices)) for i in many(part["points"])]
            for i in own:
                ask(i in left, "a point in two parts")
                left.remove(i)
            self.prices = [p * times if i in own else ZERO for i, p in enumerate(prices)]
            self.lower = read(part["lower"])
            self.tree(part)
            total = total + self.lower
        ask((total - whole * times).sign() >= 0, "less than the lower end")

    def tree(self, entry: Any) -> None:
        self.conflicts = [self.multipliers(part) for part in many(entry["conflicts"])]
        self.squares_of = [self.square(alpha) for alpha in self.conflicts]
        self.nodes = iter(many(entry["nodes"]))
        self.node({}, 0)
        ask(next(self.nodes, None) is None, "nodes are left")

    def multipliers(self, part: Any) -> Alpha:
        found: Alpha = {}
        for pair in many(part):
            ask(isinstance(pair, list) and len(pair) == 2, "no pair")
            i = place(pair[0], len(self.points))
            ask(i not in found, "a point twice in a conflict")
            found[i] = read(pair[1])
        return found

    def square(self, alpha: Alpha) -> Number | None:
        """What its rows cost; None for more than anything."""
        share = dict.fromkeys(alpha, ONE)
        if self.b is not None:
            pulls = {i: a * self.points[i].sign for i, a in alpha.items()}
            forth = sum((p for p in pulls.values() if p.sign() > 0), ZERO)
            back = sum((-p for p in pulls.values() if p.sign() < 0), ZERO)
            if forth.sign() == 0 or back.sign() == 0:
                return ZERO
            share = {i: ONE / forth if p.sign() > 0 else ONE / back for i, p in pulls.items()}
        reach = sum((a * share[i] for i, a in alpha.items()), ZERO)
        if reach.sign() <= 0:
            return ZERO
        length = ZERO
        for j, c in enumerate(self.squares):
            along = sum((a * share[i] * self.points[i].a[j] for i, a in alpha.items()), ZERO)
            length = length + along * along / c
        return None if length.sign() == 0 else reach * reach / length

    def node(self, decided: dict[int, bool], depth: int) -> None:
        """The next node, whose decided points are kept (True) or given up."""
        ask(depth <= len(self.points), "deep")
        entry = next(self.nodes, None)
        if isinstance(entry, list):
            self.leaf(entry, decided)
            return
        i = place(entry, len(self.points))
        ask(i not in decided, "decided twice")
        for kept in (True, False):
            self.node(decided | {i: kept}, depth + 1)

    def leaf(self, chain: list[Any], decided: dict[int, bool]) -> None:
        spent = [self.prices[i] for i, kept in decided.items() if not kept]
        seen: set[int] = set()
        for entry in chain:
            k = place(entry, len(self.conflicts))
            signs = {i: a.sign() for i, a in self.conflicts[k].items()}
            asked = {i for i, sign in signs.items() if sign > 0}
            ask(all(decided.get(i) is False for i, s in signs.items() if s < 0), "not given up")
            ask(all(decided.get(i, True) for i in asked), "given up")
            open_points = asked - decided.keys()
            ask(not open_points & seen, "a point in two conflicts")
            square = self.squares_of[k]
            if square is not None:
                ask((sum(spent, square) - self.lower).sign() >= 0, "a cheap conflict")
            if not open_points:
                return
            seen |= open_points
            spent.append(min((self.prices[i] for i in open_points), key=lambda p: p.low))
        ask((sum(spent, ZERO) - self.lower).sign() >= 0, "a cheap leaf")
