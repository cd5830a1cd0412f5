"""The second decision on a ramp loss in a box of directions: intervals of the factor t are halved.

Between two turns 1 / |U_i| what a point costs at least is a line of t. The least of the parabola,
or the caps at the ends of the interval, close it, or both halves are closed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tests.solvers.proof_files.second_checker import ZERO, Number, RefusedError, ask, half, number

HALVED, INTERVALS = 40, 400  # times that an interval is halved at most, and of one box


@dataclass
class Capped:
    """Points whose loss is 2 whatever they do, and what every hyperplane costs then."""

    points: set[int]
    value: Number


@dataclass
class Slopes:
    """Prices of the points, their largest and least products in the box, and its least square."""

    prices: list[Number]
    caps: list[Capped]
    lower: Number
    U: list[Number]
    L: list[Number]
    m: Number
    asked: int = 0

    def closed(self, low: Number, high: Number | None) -> None:
        """Every t: intervals between the places where a point leaves its slope."""
        turns = [number(1) / u * u.sign() for u in self.U if u.sign()]
        inside = [
            t for t in turns if (t - low).sign() > 0 and (high is None or (high - t).sign() > 0)
        ]
        ends = [low, *sorted(inside, key=lambda t: t.low)]
        ends += [self.beyond(ends[-1])] if high is None else [high]
        for begin, end in itertools.pairwise(ends):
            self.interval(begin, end, HALVED)

    def beyond(self, start: Number) -> Number:
        """A t from which on the square alone costs `lower`, or the flat losses, or caps do."""
        signs = [(p, u.sign()) for p, u in zip(self.prices, self.U, strict=True)]
        flat = sum((2 * p if sign < 0 else p for p, sign in signs if sign <= 0), ZERO)
        t = start + number(1)
        if any((caps.value - self.taken(caps, t, None) - self.lower).sign() >= 0
               for caps in self.caps if not self.grows(caps)):  # fmt: skip
            return t
        for _ in range(2000):
            if (flat - self.lower).sign() >= 0 or (self.m * t * t - self.lower).sign() >= 0:
                return t
            ask(self.m.sign() > 0, "no end of t")
            t = t + t
        raise RefusedError("no end of t")

    def interval(self, begin: Number, end: Number, deep: int) -> None:
        """Between two turns: closed by the least of its parabola, by caps, or by its halves."""
        if self.parabola(begin, end) or any(
            (caps.value - self.taken(caps, begin, end) - self.lower).sign() >= 0
            for caps in self.caps
        ):
            return
        self.asked += 1
        ask(deep and self.asked < INTERVALS, "a cheap box")
        middle = half(begin + end)
        self.interval(begin, middle, deep - 1)
        self.interval(middle, end, deep - 1)

    def parabola(self, begin: Number, end: Number) -> bool:
        """Each loss is a line there, told by its values at both ends."""
        m = self.m
        first, last = (
            sum((p * loss(t * u) for p, u in zip(self.prices, self.U, strict=True)), ZERO)
            for t in (begin, end)
        )
        width = end - begin
        if width.sign() <= 0:
            return (m * begin * begin + first - self.lower).sign() >= 0
        slope, t = (last - first) / width, begin
        if m.sign() > 0:
            turn = -slope / (2 * m)
            t = end if (turn - end).sign() > 0 else begin if (turn - begin).sign() < 0 else turn
        elif slope.sign() < 0:
            t = end
        return (m * t * t + first + slope * (t - begin) - self.lower).sign() >= 0

    def grows(self, caps: Capped) -> bool:
        return any(i not in caps.points and v.sign() < 0 for i, v in enumerate(self.L))

    def taken(self, caps: Capped, begin: Number, end: Number | None) -> Number:
        """The most by which the loss is less than that of the caps; without an end none grows."""
        found = ZERO
        for i, (p, u, least) in enumerate(zip(self.prices, self.U, self.L, strict=True)):
            if i in caps.points and end is None and u.sign() > 0:
                found = found + 2 * p
            elif i in caps.points:
                far = end if end is not None and u.sign() > 0 else begin
                found = found + p * (2 - loss(far * u))
            elif end is not None and least.sign() < 0:
                over = -1 - end * least
                found = found + (p * over if over.sign() > 0 else ZERO)
        return found


def loss(u: Number) -> Number:
    """min(2, max(0, 1 - u))."""
    missed = 1 - u
    if missed.sign() <= 0:
        return ZERO
    return number(2) if (missed - 2).sign() > 0 else missed
