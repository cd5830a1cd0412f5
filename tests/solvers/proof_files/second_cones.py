"""The second decision on cones of directions: every pair of thresholds of every box is asked.

A box is [low, high] of whole multiples of 2^-40. A pair of thresholds is closed by its square and
what is paid, or by one of the conflicts that it gives no point of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.solvers.proof_files.second_checker import (
    ZERO,
    File,
    Number,
    ask,
    keys,
    many,
    place,
    product,
    read,
)

EDGE = 1 << 40


@dataclass
class Signed:
    """Where its decision is 0 a point has a'w + sign b >= 1; else its price is paid."""

    a: list[Number]
    sign: int
    price: Number


@dataclass
class Conflict:
    """Points, what keeping them all costs, and what giving one of them up costs."""

    points: set[int]
    square: Number
    price: Number


class Directed:
    """What a file says of cones, the rest of it being read."""

    def __init__(self, document: File, entry: Any, lower: Number) -> None:
        keys(entry, "columns units centre intercept points bits conflicts")
        self.document, self.lower, n = document, lower, document.n
        self.columns = [place(j, n) for j in many(entry["columns"])]
        self.b = None if entry["intercept"] is None else place(entry["intercept"], n)
        k = len(self.columns)
        ask(k and len(set(self.columns)) == k and self.b not in self.columns, "columns")
        self.units = [read(value) for value in many(entry["units"])]
        self.centre = [read(value) for value in many(entry["centre"])]
        ask(len(self.units) == len(self.centre) == k, "units")
        ask(all(unit.sign() > 0 for unit in self.units), "a unit")
        ask(self.b is not None or all(c.sign() == 0 for c in self.centre), "a centre")
        self.squares = self.sum_of_squares()
        self.points = self.signed(many(entry["points"]))
        self.at_zero()
        self.conflicts = [self.conflict(part) for part in many(entry["conflicts"])]
        self.spread_out(entry["bits"])

    def sum_of_squares(self) -> list[Number]:
        Q = self.document.objective[0]
        for i in range(len(Q)):
            for j in range(i):
                ask(Q[i, j] is ZERO, "a product of two columns")
            ask((Q[i, i] is not ZERO) == (i in self.columns), "squares of other columns")
        squares = [Q[j, j] for j in self.columns]
        ask(all(square.sign() > 0 for square in squares), "a square")
        return squares

    def signed(self, entries: list[Any]) -> list[Signed]:
        prices = dict(enumerate(self.document.objective[1]))
        found = []
        for part in entries:
            ask(isinstance(part, list) and len(part) in (2, 3), "a point")
            z = place(part[1], self.document.n)
            ask(z in self.document.integer and z not in (*self.columns, self.b), "a decision")
            floor = self.document.low[z]
            ask(floor is not None and floor.sign() >= 0, "a decision below 0")
            line, side = self.row(part[0]) if len(part) == 2 else self.curved(part, z)
            ask(side is not None and side.sign() > 0, "a side")
            for j, value in enumerate(line):
                mine = j in self.columns or j in (self.b, z)
                ask(mine or value is ZERO or value.sign() == 0, "another column")
            sign = 0
            if self.b is not None:
                sign = line[self.b].sign()
                ask(sign and (line[self.b] * sign - side).sign() == 0, "its intercept")
            price = prices.pop(z, ZERO)
            ask(price.sign() >= 0, "a price below 0")
            found.append(Signed([line[j] / side for j in self.columns], sign, price))
        ask(all(value.sign() == 0 for value in prices.values()), "other prices")
        return found

    def row(self, k: Any) -> tuple[Any, Any]:
        row = place(k, len(self.document.A))
        return self.document.A[row], self.document.sides[row][0]

    def curved(self, part: list[Any], z: int) -> tuple[Any, Any]:
        """What is left of a quadratic row where z is 0, turned to its lower side."""
        sign, (Q, a, c), end = self.document.sided(part[0], part[2])
        others = [i for i in range(len(Q)) if i != z]
        ask(all(Q[i, j] is ZERO or Q[i, j].sign() == 0 for i in others for j in others), "curved")
        return -sign * a, sign * (c - end)

    def classes(self) -> list[list[int]]:
        signs = (0,) if self.b is None else (1, -1)
        return [[i for i, p in enumerate(self.points) if p.sign == sign] for sign in signs]

    def at_zero(self) -> None:
        """With w = 0 all are given up, or those that one b does not serve."""
        for own in self.classes():
            paid = sum((self.points[i].price for i in own), ZERO)
            ask((paid - self.lower).sign() >= 0, "a class is cheap")

    def conflict(self, part: Any) -> Conflict:
        keys(part, "points multipliers")
        own = [place(i, len(self.points)) for i in many(part["points"])]
        alpha = [read(value) for value in many(part["multipliers"])]
        ask(own and len(alpha) == len(own) == len(set(own)), "a conflict")
        ask(all(a.sign() > 0 for a in alpha), "a multiplier")
        weight = {
            sign: sum((a for i, a in zip(own, alpha, strict=True)
                       if self.points[i].sign == sign), ZERO)
            for sign in (1, -1, 0)
        }  # fmt: skip
        if self.b is not None:
            ask(weight[1].sign() and weight[-1].sign(), "a conflict of one class")
            # Each side times the weight of the other one: both are as heavy then.
            alpha = [a * weight[-self.points[i].sign] for i, a in zip(own, alpha, strict=True)]
        reach = sum(alpha, ZERO)
        length = ZERO
        for j, c in enumerate(self.squares):
            along = sum((a * self.points[i].a[j] for i, a in zip(own, alpha, strict=True)), ZERO)
            length = length + along * along / c
        ask(length.sign() > 0, "a conflict without length")
        cheapest = min((self.points[i].price for i in own), key=lambda price: price.low)
        return Conflict(set(own), reach * reach / length, cheapest)

    def spread_out(self, bits: Any) -> None:
        """Every face, halved as the bits say: a queue of boxes reads them level by level."""
        ask(isinstance(bits, str) and set(bits) <= {"0", "1"}, "bits")
        k, boxes = len(self.columns), []
        for j in range(k):
            for side in (-EDGE, EDGE):
                boxes.append([(side, side) if i == j else (-EDGE, EDGE) for i in range(k)])
        for done, bit in enumerate(bits):
            ask(done < len(boxes), "bits without a box")
            box = boxes[done]
            if bit == "0":
                self.leaf(box)
                continue
            edges = [high - low for low, high in box]
            j = max(range(k), key=lambda i: (edges[i], -i))
            ask(edges[j] > 2, "a box too small")
            low, high = box[j]
            middle = (low + high) // 2
            for part in ((low, middle), (middle, high)):
                boxes.append([part if i == j else ends for i, ends in enumerate(box)])
        ask(len(bits) == len(boxes), "boxes without a bit")

    def leaf(self, box: list[tuple[int, int]]) -> None:
        least = [0 if low <= 0 <= high else min(abs(low), abs(high)) for low, high in box]
        m = sum(
            (c * Number.ratio(v * v, EDGE * EDGE) / (unit * unit)
             for c, v, unit in zip(self.squares, least, self.units, strict=True) if v), ZERO
        )  # fmt: skip
        U = [self.farthest(point, box) for point in self.points]
        groups = self.classes()
        for g, above in self.thresholds(U, groups[0]):
            others = self.thresholds(U, groups[1]) if len(groups) > 1 else [(None, set())]
            for h, beside in others:
                width = g if h is None else g + h
                given_up = above | beside
                paid = sum((self.points[i].price for i in given_up), ZERO)
                if width.sign() <= 0 or (paid - self.lower).sign() >= 0:
                    continue
                # t >= reach / width, and t^2 m + paid
                reach = 1 if h is None else 2
                square = m * Number.ratio(reach * reach, 1) / (width * width)
                cost = square + paid
                ask((cost - self.lower).sign() >= 0 or self.by_conflict(given_up, cost, paid),
                    "a cheap box")  # fmt: skip

    def by_conflict(self, given_up: set[int], cost: Number, paid: Number) -> bool:
        return any(
            not conflict.points & given_up
            and (cost + conflict.price - self.lower).sign() >= 0
            and (paid + conflict.square - self.lower).sign() >= 0
            for conflict in self.conflicts
        )

    def farthest(self, point: Signed, box: list[tuple[int, int]]) -> Number:
        """The largest a'r, with the points moved by the centre; each coordinate at an end."""
        moved = [
            (a - c * point.sign) / unit
            for a, c, unit in zip(point.a, self.centre, self.units, strict=True)
        ]
        ends = [
            Number.ratio(high if value.sign() > 0 else low, EDGE)
            for value, (low, high) in zip(moved, box, strict=True)
        ]
        return product(moved, ends)

    def thresholds(self, U: list[Number], own: list[int]) -> list[tuple[Number, set[int]]]:
        """Each point as the nearest that is kept, and those that are nearer."""
        return [(U[k], {i for i in own if (U[i] - U[k]).sign() < 0}) for k in own]
