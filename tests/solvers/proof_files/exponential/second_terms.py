"""exp and log for the second checker, by the correctly rounded functions of decimal arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import numpy as np

from tests.solvers.proof_files.second_checker import (
    BITS,
    PRIMES,
    ZERO,
    Number,
    ask,
    dot,
    keys,
    many,
    number,
    place,
    read,
    spread,
)

DIGITS = 400
LARGEST = 4096  # exponent; BITS are fewer than it has
WITH = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
WIDE = Decimal(10) ** (20 - DIGITS)
ONE = number(1)


def between(low: Decimal, high: Decimal) -> Number:
    """An interval a little wider, of a number that is not told from others by residues."""
    wide = [WITH.multiply(end, WITH.add(1, way * WIDE)) for end in (low, high) for way in (-1, 1)]
    scaled = [WITH.multiply(end, Decimal(2) ** BITS) for end in (min(wide), max(wide))]
    ends = int(scaled[0]) - 1, int(scaled[1]) + 1
    return Number(*ends, tuple(ends[0] % p or 1 for p in PRIMES))


def by(function: Callable[[Decimal], Decimal], x: Number) -> Number:
    ends = (WITH.divide(Decimal(end), Decimal(2) ** BITS) for end in (x.low, x.high))
    # A quotient is off by a unit of its last place, and exp of a large one by more.
    low, high = (
        WITH.add(end, way * abs(end) * WIDE) for end, way in zip(ends, (-1, 1), strict=True)
    )
    return between(function(low), function(high))


def exp(x: Number) -> Number:
    if x.high < -(LARGEST << BITS):
        return Number(0, 1, tuple(1 for _ in PRIMES))  # above 0, and less than the last bit
    ask(abs(x.high) < LARGEST << BITS, "exp of a number that large")
    return ONE if x.low == x.high == 0 else by(WITH.exp, x)


def log(x: Number) -> Number:
    ask(x.low > 0, "log of a number that is not positive")
    return ZERO if x.low == x.high == ONE.low else by(WITH.ln, x)


class Term:
    """A column that is no smaller than a function of others."""

    def __init__(self, entry: Any, n: int) -> None:
        keys(entry, "function column parts")
        self.kind, self.column = entry["function"], place(entry["column"], n)
        ask(self.kind in ("exp", "log", "entropy", "sum"), "no function")
        pairs = many(entry["parts"])
        ask(all(isinstance(part, list) and len(part) == 2 for part in pairs), "parts")
        self.c = [read(c) for c, _ in pairs]
        self.lines = [spread(line, n) for _, line in pairs]
        ask(self.c and all(c.sign() > 0 for c in self.c), "a factor")
        if self.kind != "sum":
            ask(len(self.c) == 1 and (self.c[0] - 1).sign() == 0, "a factor of one part")

    def value(self, x: np.ndarray) -> Number:
        p = [dot(line, x) for line in self.lines]
        if self.kind == "exp":
            return exp(p[0])
        if self.kind == "log":
            return -log(p[0])
        if self.kind == "entropy":
            return p[0] * log(p[0])
        top = max(p, key=lambda each: each.low)
        return top + log(sum((c * exp(e - top) for c, e in zip(self.c, p, strict=True)), ZERO))

    def rise(self, d: np.ndarray) -> Number:
        p = [dot(line, d) for line in self.lines]
        if self.kind == "sum":
            return max(p, key=lambda each: each.low)
        allowed = {"exp": (-1, 0), "log": (0, 1), "entropy": (0,)}[self.kind]
        ask(p[0].sign() in allowed, "a term ends the ray")
        return ZERO

    def tangent(self, s: list[Number], n: int) -> tuple[np.ndarray, Number]:
        """A row, and the most that is below it."""
        if not s:
            ask(self.kind in ("log", "entropy"), "no slopes")
            return self.lines[0], ZERO
        ask(len(s) == len(self.c), "slopes")
        row = np.full(n, ZERO, dtype=object)
        row[self.column] = ONE
        for part, line in zip(s, self.lines, strict=True):
            row = row + line * (part if self.kind == "log" else -part)
        if self.kind == "entropy":
            return row, -exp(s[0] - 1)
        ask(all(part.sign() >= 0 for part in s), "a negative slope")
        if self.kind == "log":
            return row, 1 + log(s[0])
        if self.kind == "sum":
            ask((sum(s, ZERO) - 1).sign() == 0, "shares")
        most = s[0] if self.kind == "exp" else ZERO
        for part, c in zip(s, self.c, strict=True):
            most = most - part * log(part / c) if part.sign() else most
        return row, most


def terms(entries: Any, n: int) -> tuple[Term, ...]:
    return tuple(Term(entry, n) for entry in many(entries))
