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
    number,
    place,
    product,
    read,
)
from tests.solvers.proofs.second_slopes import Capped, Slopes

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
    price: Number | None


class Directed:
    """What a file says of cones, the rest of it being read."""

    def __init__(self, document: File, entry: Any, lower: Number) -> None:
        optional = "beside slacks caps"
        keys(entry, "columns units centre intercept points bits conflicts", optional)
        self.document, self.lower, n = document, lower, document.n
        self.columns = [place(j, n) for j in many(entry["columns"])]
        self.b = None if entry["intercept"] is None else place(entry["intercept"], n)
        k = len(self.columns)
        ask(k and len(set(self.columns)) == k and self.b not in self.columns, "columns")
        self.units = [read(value) for value in many(entry["units"])]
        self.centre = [read(value) for value in many(entry["centre"])]
        ask(len(self.units) == len(self.centre) == k, "units")
        ask(all(unit.sign() > 0 for unit in self.units), "a unit")
        self.squares = self.sum_of_squares()
        free = [j for j in range(k) if self.squares[j].sign() == 0]
        ask(len(free) + (self.b is not None) <= 1, "columns without a square")
        self.free = free[0] if free else None
        unmoved = range(k) if self.b is None and self.free is None else free
        ask(all(self.centre[j].sign() == 0 for j in unmoved), "a centre")
        self.slacks = entry.get("slacks")
        ask(self.slacks is None or self.b is None, "slacks in a band")
        self.points = self.signed(many(entry["points"]))
        self.beside = [self.one_side(part) for part in many(entry.get("beside"))]
        ask(any(s.sign() < 0 for _, s in self.beside) or self.at_zero(), "a class is cheap")
        self.conflicts = [self.conflict(part) for part in many(entry["conflicts"])]
        ask(self.slacks is not None or not many(entry.get("caps")), "caps without slacks")
        self.caps = [self.cap(part) for part in many(entry.get("caps"))]
        self.spread_out(entry["bits"])

    def sum_of_squares(self) -> list[Number]:
        Q = self.document.objective[0]
        for i in range(len(Q)):
            for j in range(i):
                ask(Q[i, j] is ZERO, "a product of two columns")
            ask(Q[i, i] is ZERO or i in self.columns, "squares of other columns")
        squares = [Q[j, j] for j in self.columns]
        ask(all(square.sign() >= 0 for square in squares), "a square")
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
            price = prices.pop(z, ZERO)
            if self.slacks is not None:
                price, line = self.slope(len(found), z, price, line, side, prices)
            for j, value in enumerate(line):
                mine = j in self.columns or j in (self.b, z)
                ask(mine or value is ZERO or value.sign() == 0, "another column")
            sign = 0
            if self.b is not None:
                sign = line[self.b].sign()
                ask(sign and (line[self.b] * sign - side).sign() == 0, "its intercept")
            ask(price.sign() >= 0, "a price below 0")
            found.append(Signed([line[j] / side for j in self.columns], sign, price))
        ask(all(value.sign() == 0 for value in prices.values()), "other prices")
        return found

    def slope(
        self, i: int, z: int, cap: Number, line: Any, side: Any, prices: dict[int, Number]
    ) -> tuple[Number, Any]:
        """What a unit of the margin costs, and the row without its slack."""
        ask(isinstance(self.slacks, list) and i < len(self.slacks), "a slack is missing")
        xi = place(self.slacks[i], self.document.n)
        ask(xi not in (*self.columns, self.b, z), "a slack")
        floor = self.document.low[xi]
        ask(floor is not None and floor.sign() >= 0 and line[xi].sign() > 0, "a slack below 0")
        price = prices.pop(xi, ZERO) * side / line[xi]
        ask((price + price - cap).sign() == 0, "a cap elsewhere")
        line = line.copy()
        line[xi] = ZERO
        return price, line

    def one_side(self, part: Any) -> tuple[list[Number], Number]:
        """g'w <= s."""
        ask(isinstance(part, list) and len(part) == 3 and part[2] in ("lower", "upper"), "beside")
        document, upper = self.document, part[2] == "upper"
        if part[0] == "row":
            k = place(part[1], len(document.A))
            line, end = document.A[k], document.sides[k][1 if upper else 0]
        else:
            ask(part[0] == "column", "beside")
            j = place(part[1], document.n)
            line = [Number.ratio(int(i == j), 1) if i == j else ZERO for i in range(document.n)]
            end = (document.high if upper else document.low)[j]
        ask(end is not None, "no such side")
        for j, value in enumerate(line):
            ask(j in self.columns or value is ZERO or value.sign() == 0, "another column")
        g = [line[j] for j in self.columns]
        return (g, end) if upper else ([-value for value in g], -end)

    def row(self, k: Any) -> tuple[Any, Any]:
        row = place(k, len(self.document.A))
        least, most = self.document.sides[row][:2]
        if least is None and most is not None:
            return -self.document.A[row], -most
        return self.document.A[row], least

    def curved(self, part: list[Any], z: int) -> tuple[Any, Any]:
        """What is left of a quadratic row where z is 0, turned to its lower side."""
        sign, (Q, a, c), end = self.document.sided(part[0], part[2])
        others = [i for i in range(len(Q)) if i != z]
        ask(all(Q[i, j] is ZERO or Q[i, j].sign() == 0 for i in others for j in others), "curved")
        return -sign * a, sign * (c - end)

    def classes(self) -> list[list[int]]:
        signs = (0,) if self.b is None else (1, -1)
        return [[i for i, p in enumerate(self.points) if p.sign == sign] for sign in signs]

    def at_zero(self) -> bool:
        """With w = 0 all are given up, or those that one b does not serve."""
        return all((self.paid(own) - self.lower).sign() >= 0 for own in self.classes())

    def paid(self, own: Any) -> Number:
        return sum((self.points[i].price for i in own), ZERO)

    def joined(self, part: Any, most: bool) -> tuple[list[int], Number, list[Number]]:
        """Points, the sum of the multipliers less what rows take, and the vector that they make."""
        own = [place(i, len(self.points)) for i in many(part["points"])]
        alpha = [read(value) for value in many(part["multipliers"])]
        ask(len(alpha) == len(own) == len(set(own)), "a conflict")
        ask(all(a.sign() > 0 for a in alpha), "a multiplier")
        if most:
            ends = [self.points[i].price for i in own]
            alpha = [p if (a - p).sign() > 0 else a for a, p in zip(alpha, ends, strict=True)]
        parts = [(a, self.points[i].a, number(1), number(self.points[i].sign))
                 for a, i in zip(alpha, own, strict=True)]  # fmt: skip
        seen = set()
        for pair in many(part.get("rows")):
            g, s = self.beside[place(pair[0], len(self.beside))]
            ask(len(pair) == 2 and pair[0] not in seen and read(pair[1]).sign() >= 0, "a row")
            seen.add(pair[0])
            parts.append((read(pair[1]), [-value for value in g], -s, ZERO))
        pulls = [a * (line[self.free] if self.free is not None else sign)
                 for a, line, _, sign in parts]  # fmt: skip
        heavy = {way: sum((p * way for p in pulls if p.sign() == way), ZERO) for way in (1, -1)}
        less = heavy[1] if (heavy[1] - heavy[-1]).sign() < 0 else heavy[-1]
        factors = [less / heavy[p.sign()] if p.sign() else number(1) for p in pulls]
        parts = [(a * f, line, s, sign)
                 for (a, line, s, sign), f in zip(parts, factors, strict=True)]  # fmt: skip
        reach = sum((a * s for a, _, s, _ in parts), ZERO)
        along = [sum((a * part[j] for a, part, *_ in parts), ZERO)
                 for j in range(len(self.columns))]  # fmt: skip
        return own, reach, along

    def conflict(self, part: Any) -> Conflict:
        keys(part, "points multipliers", "rows")
        own, reach, along = self.joined(part, False)
        length = sum(
            (v * v / c for v, c in zip(along, self.squares, strict=True) if c.sign()), ZERO
        )
        ask(reach.sign() > 0 and length.sign() > 0, "a conflict without length")
        prices = (self.points[i].price for i in own)
        cheapest = min(prices, key=lambda price: price.low, default=None)
        return Conflict(set(own), reach * reach / length, cheapest)

    def cap(self, part: Any) -> Capped:
        keys(part, "points multipliers capped", "rows")
        own, reach, along = self.joined(part, True)
        capped = [place(i, len(self.points)) for i in many(part["capped"])]
        ask(len({*own, *capped}) == len(own) + len(capped), "capped twice")
        curve = sum(
            (v * v / (4 * c) for v, c in zip(along, self.squares, strict=True) if c.sign()), ZERO
        )
        return Capped(set(capped), reach - curve + 2 * self.paid(capped))

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
        left = self.factors(box)
        if left is None:
            return
        U = [self.farthest(point.a, point.sign, box) for point in self.points]
        if self.slacks is not None:
            L = [-self.farthest([-value for value in point.a], -point.sign, box)
                 for point in self.points]  # fmt: skip
            prices = [point.price for point in self.points]
            Slopes(prices, self.caps, self.lower, U, L, m).closed(*left)
            return
        low, high = left
        groups, square = self.classes(), m * low * low
        for conflict in self.conflicts:  # of rows alone, which every hyperplane meets
            if not conflict.points and (conflict.square - square).sign() > 0:
                square = conflict.square
        ask(all((self.paid(own) + square - self.lower).sign() >= 0 for own in groups), "a class")
        for g, above in self.thresholds(U, groups[0]):
            others = self.thresholds(U, groups[1]) if len(groups) > 1 else [(None, set())]
            for h, beside in others:
                width = g if h is None else g + h
                given_up = above | beside
                paid = self.paid(given_up)
                if width.sign() <= 0 or (paid - self.lower).sign() >= 0:
                    continue
                # t >= reach / width, and t^2 m + paid
                t = number(1 if h is None else 2) / width
                if high is not None and (t - high).sign() > 0:
                    continue
                t = low if (t - low).sign() < 0 else t
                cost = t * t * m + paid
                ask((cost - self.lower).sign() >= 0 or self.by_conflict(given_up, cost, paid),
                    "a cheap box")  # fmt: skip

    def factors(self, box: list[tuple[int, int]]) -> tuple[Number, Number | None] | None:
        """Ends of the t with t g'r <= s for some r of the box, row by row."""
        low, high = ZERO, None
        for g, s in self.beside:
            nearest = -self.farthest([-value for value in g], 0, box)
            if s.sign() < 0:
                if nearest.sign() >= 0:
                    return None
                end = s / nearest
                low = end if (end - low).sign() > 0 else low
            elif nearest.sign() > 0:
                end = s / nearest
                high = end if high is None or (end - high).sign() < 0 else high
        empty = high is not None and ((low - high).sign() > 0 or not high.sign())
        return None if empty else (low, high)

    def by_conflict(self, given_up: set[int], cost: Number, paid: Number) -> bool:
        return any(
            not conflict.points & given_up
            and (conflict.price is None or (cost + conflict.price - self.lower).sign() >= 0)
            and (paid + conflict.square - self.lower).sign() >= 0
            for conflict in self.conflicts
        )

    def farthest(self, a: list[Number], sign: int, box: list[tuple[int, int]]) -> Number:
        """The largest a'r, with the points moved by the centre; each coordinate at an end."""
        pull = number(sign) if self.free is None else a[self.free]
        moved = [
            (value - c * pull) / unit
            for value, c, unit in zip(a, self.centre, self.units, strict=True)
        ]
        ends = [
            Number.ratio(high if value.sign() > 0 else low, EDGE)
            for value, (low, high) in zip(moved, box, strict=True)
        ]
        return product(moved, ends)

    def thresholds(self, U: list[Number], own: list[int]) -> list[tuple[Number, set[int]]]:
        """Each point as the nearest that is kept, and those that are nearer."""
        return [(U[k], {i for i in own if (U[i] - U[k]).sign() < 0}) for k in own]
