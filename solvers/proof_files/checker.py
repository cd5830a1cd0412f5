"""Decides a proof file in exact arithmetic: python checker.py FILE. Nothing but Python is needed.

Leaves with 0 where all that the file claims is proven, with 1 where it is not, with 2 where there
is no such file, with 4 where a limit of the checker was reached before that was decided, and with 5
where the gap is closed by the allowance that the file claims, and by nothing else.

FORMAT  JSON (gzip where the name ends in .gz), schema "tightmargin-proof/1". A number is a string:
a double as float.hex writes it, or "p/q" or "p" in whole numbers, decimal (up to 4,300 digits) or
after 0x, in the digits 0 to 9 and a to f alone, with - before p if it is negative. A vector is a
list of [index, number], zeros left out; a limit or side may be null, for none. The checker reads
numbers of at most 65,536 characters, and if not told otherwise 268,435,456 bytes, once unpacked.

    model    minimise f(x) = x'Qx + a'x + constant over the columns x_0, x_1, ...
        variables   their names              lower, upper   their limits
        integer     columns that must be whole numbers
        objective   {constant, linear: vector, products: [[i, j, c], ...]}: c x_i x_j, i >= j
        rows        [{name, lower, upper, linear}]
        quadratic   [{name, lower, upper, constant, linear, products}]
        psd         [{name, order, entries: [[i, j, constant, vector], ...]}], i >= j: the matrix
                    with these affine entries is semidefinite
        terms       [{function, column, parts: [[c, vector], ...]}], or missing: x_column is at
                    least exp(p), -log(p), p log(p) or log(sum_i c_i exp(p_i)), for the functions
                    "exp", "log", "entropy" and "sum", p_i being linear; p > 0 under a logarithm
    claim    {kind, lower, upper, absolute_gap}: every feasible x has f(x) - constant >= lower, and
             `point` is feasible with f(point) - constant <= upper. kind "optimum" says besides
             that upper - lower is at most absolute_gap, or 1e-6 min(max(|a|, |b|), max(|a - k|,
             |b - k|)), with a = lower + constant, b = upper + constant and k = f(x) at the x_j
             whose limits are equal, the others being 0; "bounds" may leave one of the two out;
             "infeasible" and "unbounded" have neither.
    point    [number, ...], and for "unbounded" a ray of as many numbers
    curvature  [{of, least, squares}]: Q - diag(least) is semidefinite, where of is "objective" or
             [k, "upper"] or [k, "lower"]: quadratic row k, negated for its lower side
    cones    [{row, side, factors: [{constant, linear}, {...}], signs, lift, squares}], see below
    cutoff   U, at least `lower`; it is `upper` where it is missing. What follows may leave out the
             points that cost more, f(x) - constant > U; "infeasible" has no U and leaves out none
    steps    [{certificate, columns: [[j, g, value], ...]}]: limits of columns, in order; or
             {row: {upper, linear}, certificates, column}: a row that joins those of the model, with
             the next number. It has one certificate, with g = -linear; or for a binary column j,
             with no other limits than 0 and 1, two: where x_j = 0, and where x_j = 1; or
             {tangents: [[k, constant, [s_i, ...]], ...]}: rows that join them too, see below
    bound    the certificate of `lower`, or that there is no feasible point; or in its place
    tree     {certificates, nodes}: the first node is the box of all limits, [j, k] splits a box at
             an integer column into x_j <= k, which the next nodes are about until it is closed, and
             x_j >= k + 1, and a number k closes it by certificates[k]: mu > 0 and at least mu lower
             is proven in the box, or mu = 0 and more than 0. A box with no point may say null
    directions  {row, certificates, simplices, normals, inside, beyond}: in their place, see below
    directed  {columns, units, centre, intercept, points, bits, conflicts, beside, slacks, caps}: in
             their place, by cones of directions, see below
    packed   {columns, intercept, points, conflicts, nodes, parts}: in their place, by packings of
             conflicts, see below

Limits of integer columns count as rounded inwards. If f has no products, and prices of integer
columns alone, all its values are whole multiples of one number, and what a certificate proves
counts as rounded up to the next of them.

A certificate {objective: mu, at: x^, rows: y, quadratic: [[k, side, nu]], cones, psd} proves that

    mu (f(x) - constant) + g'x >= const + sum_j least of r_j x_j + c_j (x_j - x^_j)^2,

each least taken over the limits of x_j, at all feasible x, for the g of a step (g x_j), or 0. What
is on the right, as a polynomial, is the left side less terms that no feasible point makes negative:

    y_i (a_i'x - side)      lower side for y_i > 0, upper side for y_i < 0
    nu (side - q_k(x))      nu >= 0, upper side; nu (q_k(x) - side) for the lower one
    q(x) - q(x^) - q'(x^)(x - x^) - sum_j least_j (x_j - x^_j)^2
                            for f and all q_k that occur, with the curvature that is proven of
                            them; [k, side, nu, x^] has a point x^ of its own
    alpha (F + s) + beta (G + s) - (Mv)'(x, 1)
                            {cone, alpha, beta, shift: s, direction: v}. A row less its side is
                            (x, 1)'(M - diag(lift))(x, 1) - F G with affine F, G >= 0 (by the limits
                            or by the two certificates in `signs`), M is semidefinite, 4 alpha beta
                            >= v'Mv, and s^2 is at least what the lift amounts to within the limits:
                            Cauchy and Schwarz. The constant 1 has the index after the last column.
    <Z, matrix>             {row, matrix: [[i, j, z], ...], squares}, Z semidefinite

A tangent of term k is the row x_column - sum_i s_i p_i >= constant, + s p for a logarithm, which is
weak duality of the exponential cone: the constant is at most s - s log(s) for exp, s >= 0; at most
1 + log(s) for -log, s > 0; at most -exp(s - 1) for the entropy; and at most -sum_i s_i log(s_i /
c_i) for a sum, s >= 0 and sum_i s_i = 1. Without any s it is p >= 0, of a logarithm or an entropy.
exp and log are enclosed by series in whole numbers whose remainders are bounded.

A matrix is proven semidefinite if, less sum_k weight_k l_k l_k' (squares: [[weight, vector], ...]),
each of its connected blocks is diagonally dominant, or has no negative pivot in elimination.
A step may use f(x) - constant <= U (mu > 0): points that cost more need no bound.

Directions prove a bound over the columns w of quadratic row `row`, sum_j c_j w_j^2 >= s > 0.
Certificate i leaves r_w = mu u_i open, and proves f(x) - constant >= k_i + u_i'w. The corners u_i
of each simplex, as many as w has entries, are not below a plane, p'u_i >= 1, so that its points are
at least 1 / |p| long. If every ray from 0 meets a simplex, that along w does at some t w, and
f(x) - constant >= min k_i + t w'w >= min k_i + |w| / max |p|. Every ray does, as each set of all
corners of a simplex but one is in an even number of simplices, and the ray through z = sum_i
inside_i u_i, in the first simplex, is in no other, which is an odd number: let q = `beyond` have
q'u_i <= 1 for all corners; where p'z < q'z a simplex is off the ray, else a share of z is negative.
With row "objective", f(x) = -sum_j c_j w_j^2, and mu = 0: then 0 >= min k_i + |w| / max |p|.

Cones of directions prove a bound for f(x) - constant = sum_j c_j w_j^2 + sum_i p_i z_i with c > 0,
p >= 0 and whole z_i >= 0, over the columns w. Points are [row, z], for its lower side or else its
upper one, or [k, z, side] of quadratic row k whose products all have z: where z_i = 0 the row says
a_i'w >= 1, or a_i'w + s_i b >= 1 with s_i = 1 or -1 of a free intercept b; then a_i less s_i
`centre` will do as well. With r = w units / t, t > 0, on the boundary of a cube, let U_i be the
most that (a_i / units)'r is in a box, and m the least of sum_j c_j (r_j / units_j)^2. If the points
that are kept (z_i = 0) have U_i >= g, then t >= 1 / g; with an intercept, if those with s = 1 have
U_i >= g and the others U_i >= h, then t >= 2 / (g + h); the other points are paid for. The 2 k
faces are halved as `bits` say, level by level: 1 halves a box at the middle of its longest edge,
the first of them, lower half first, and 0 is a leaf. A conflict {points, multipliers} has alpha >
0, made as heavy for both s by scaling one side down: keeping its points costs N = (sum alpha)^2 /
sum_j (sum_i alpha_i a_ij)^2 / c_j. Where g and h give up none of them, they are kept whole, or a
point more is paid for.

One of the columns may cost nothing, c = 0, as an intercept among them does; `centre` is then moved
by its entries. `beside` has rows and limits ["row" or "column", k, side] of these columns alone: in
a box g'w <= s leaves the t with t min g'r <= s, so that m t^2 is at least that of the least t, and
points that ask for a larger t than the largest are not kept. Conflicts may have multipliers lambda
>= 0 of them, `rows`: they add -lambda g to the sum of alpha a, and -lambda s to the sum of alpha;
what pulls the column that costs nothing one way is scaled down until both ways are alike.

With `slacks`, a column xi_i >= 0 a point, z_i = 0 says a_i'w + e xi_i >= 1. With p_i the price of
xi_i over e, z_i must cost 2 p_i, and what a point costs is at least p_i l(a_i'w), l(u) = min(2,
max(0, 1 - u)), at least p_i l(t U_i) in a box: parabolas in t, between the 1 / |U_i|. Where they
are below `lower`, caps {points, multipliers, capped, rows} say more. With alpha_i <= p_i (larger
ones count as p_i), and none of a capped point, every w costs V = sum alpha - sum lambda s - sum_j
(sum_i alpha_i a_ij - sum lambda g_j)^2 / (4 c_j) + 2 sum of p over `capped` if these alone pay 2 p
whatever they are, and others without a cap. The loss is less than that by at most p_i max(0, -1 - t
L_i), L_i the least of (a_i / units)'r in the box, and by p_i (2 - l(t U_i)) for a capped point.

Packings of conflicts prove a bound for the same f and points. A number i in `nodes` splits at point
i: the next nodes are about the (w, b) that keep it, a_i'w + s_i b >= 1, until that half is closed,
then come those that do not; they pay p_i. A conflict is a vector of multipliers alpha: alpha_i > 0
of points to be kept, and < 0 of points that are given up in the node, with a_i'w + s_i b < 1. With
an intercept, those with alpha_i s_i > 0 and the others are made as heavy by scaling each side. If
sum alpha > 0, to keep its points costs N = (sum alpha)^2 / sum_j (sum_i alpha_i a_ij)^2 / c_j, and
0 otherwise. A list of conflicts closes a node: no two of them share a point that the node does not
keep, so that the first one that is kept whole costs N beside a point of each one before it. With k
parts {points, lower, conflicts, nodes} in the place of one tree, each proves that `lower` of its
own of sum_j c_j w_j^2 + k sum p_i over its points, no two parts having a point in common, where all
other points cost nothing; the mean of these is proven of f.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import threading
from copy import copy
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, isqrt, lcm
from operator import mul
from typing import Any

#!/usr/bin/env python3


SCHEMA = "tightmargin-proof/1"
LARGEST_FILE, LONGEST_NUMBER = 1 << 28, 1 << 16  # bytes once unpacked, characters
LONGEST_TIME = 3600.0  # seconds
LIMIT_REACHED, BY_ALLOWANCE = 4, 5  # exit codes
WHOLE = re.compile("0|[1-9][0-9]{0,4299}|0x[0-9a-f]+")
LARGEST_ORDER, LARGEST_DENOMINATOR = 200, 1 << 20  # of an elimination; bits
CLOSED = Fraction(1, 10**6)
GRID = 1 << 1200  # terms with large denominators are rounded down to whole multiples of 1 / GRID
FINE = 1 << 64  # costs of conflicts are rounded down to whole multiples of less than 1 / FINE
ZERO = Fraction(0)
Vector = dict[int, Fraction]
Triangle = dict[tuple[int, int], Fraction]
End = Fraction | None
Rows = dict[int, dict[int, int]]  # entries of a lower triangle
Sided = tuple["Quadratic", int, Fraction]  # body, sign and side of a quadratic row
Box = dict[int, tuple[Any, Any]]  # whole limits of integer columns, or None


class ProofError(Exception):
    """Something that the file says is not proven."""


class LimitError(ProofError):
    """The checker stopped before it was decided."""


def need(condition: object, why: str) -> None:
    """Stop unless a condition holds."""
    if not condition:
        raise ProofError(why)


def need_room(condition: object, why: str) -> None:
    """Stop unless a limit of the checker is kept."""
    if not condition:
        raise LimitError(why)


# --- reading what nobody vouches for -------------------------------------------------------------


def fields(entry: Any, words: str, where: str) -> list[Any]:
    """The values of an object that has exactly these keys; those after "|" may be missing."""
    need(type(entry) is dict, f"{where} is no object")
    required, _, optional = (part.split() for part in words.partition("|"))
    missing = [key for key in required if key not in entry]
    unknown = [key for key in entry if key not in required and key not in optional]
    need(not missing and not unknown, f"{where}: missing {missing}, unknown {unknown}"[:200])
    return [entry.get(key) for key in (*required, *optional)]


def listed(entry: Any, where: str, length: int | None = None) -> list[Any]:
    """A list, empty where it is missing; of a length, where one is asked for."""
    need(entry is None or type(entry) is list, f"{where} is no list")
    need(length is None or len(entry or ()) == length, f"{where} has not {length} entries")
    return entry or []


def index(entry: Any, size: int, where: str) -> int:
    """A whole number from 0 to size - 1."""
    need(type(entry) is int and 0 <= entry < size, f"{where}: no such index")
    return int(entry)


def number(text: Any, where: str) -> Fraction:
    """The exact value of a number."""
    need(type(text) is str, f"{where}: that is no number")
    need_room(len(text) <= LONGEST_NUMBER, f"{where}: a number has {len(text)} characters")
    try:
        if "p" in text:
            double = float.fromhex(text)
            need(double.hex() == text, f"{where}: no double as float.hex writes it")
            return Fraction(double)
        above, slash, below = text.removeprefix("-").partition("/")
        for part in (above, below) if slash else (above,):
            need(WHOLE.fullmatch(part), f"{where}: that is no number")
        value = Fraction(int(above, 0), int(below, 0) if slash else 1)
        need(value or text[0] != "-", f"{where}: that is no number")
        return -value if text[0] == "-" else value
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ProofError(f"{where}: that is no number") from None


def limit(entry: Any, where: str) -> End:
    """A number, or None for none."""
    return None if entry is None else number(entry, where)


def vector(entry: Any, size: int, where: str) -> Vector:
    """Numbers by index."""
    found: Vector = {}
    for pair in listed(entry, where):
        j, value = listed(pair, where, 2)
        need(index(j, size, where) not in found, f"{where} has an index twice")
        found[j] = number(value, where)
    return found


def triangle(entry: Any, size: int, where: str) -> Triangle:
    """Numbers by (i, j) with i >= j."""
    found: Triangle = {}
    for part in listed(entry, where):
        i, j, value = listed(part, where, 3)
        place = index(i, size, where), index(j, size, where)
        need(i >= j and place not in found, f"{where} has an entry above the diagonal or twice")
        found[place] = number(value, where)
    return found


# --- exact arithmetic ----------------------------------------------------------------------------


def whole(numbers: list[Fraction]) -> tuple[list[int], int]:
    """Rational numbers as whole numbers over one denominator."""
    common = 1
    for value in numbers:
        if common % value.denominator:
            common = lcm(common, value.denominator)
            size = common.bit_length()
            need_room(size <= LARGEST_DENOMINATOR, f"a common denominator has {size} bits")
    return [value.numerator * (common // value.denominator) for value in numbers], common


def whole_vectors(vectors: list[Vector]) -> tuple[list[dict[int, int]], int]:
    """Vectors of rational numbers as whole numbers over one denominator."""
    flat, unit = whole([value for x in vectors for value in x.values()])
    numbers = iter(flat)
    return [{j: next(numbers) for j in x} for x in vectors], unit


class Point:
    """Coordinates by column, as whole numbers over one denominator."""

    def __init__(self, x: Vector) -> None:
        (self.at,), self.unit = whole_vectors([x])


class Quadratic:
    """x'Qx + a'x + constant, in whole numbers over one denominator."""

    def __init__(self, constant: Fraction, linear: Vector, products: Triangle) -> None:
        self.columns, self.pairs = list(linear), list(products)
        values, self.unit = whole([constant, *linear.values(), *products.values()])
        first = 1 + len(linear)
        self.constant, self.linear, self.products = values[0], values[1:first], values[first:]

    def bent(self, x: dict[int, int]) -> tuple[int, dict[int, int]]:
        """x'Qx, and 2 Q x by column."""
        total, slope = 0, dict.fromkeys(x, 0)
        for (i, j), c in zip(self.pairs, self.products, strict=True):
            a, b = x.get(i, 0), x.get(j, 0)
            if a:
                total += c * a * b
                slope[j] = slope.get(j, 0) + c * a
            if b:
                slope[i] = slope.get(i, 0) + c * b
        return total, slope

    def straight(self, x: dict[int, int]) -> int:
        """a'x."""
        return sum(a * x.get(j, 0) for j, a in zip(self.columns, self.linear, strict=True))

    def value(self, x: Point) -> Fraction:
        """At a point."""
        total = (self.constant * x.unit + self.straight(x.at)) * x.unit + self.bent(x.at)[0]
        return Fraction(total, self.unit * x.unit**2)

    def along(self, x: Point, d: dict[int, int]) -> tuple[int, int]:
        """Multiples of the coefficients of t^2 and t along x + t d."""
        bend, slope = self.bent(d)
        change = sum(value * x.at.get(j, 0) for j, value in slope.items())
        return bend, self.straight(d) * x.unit + change

    def matrix(self, sign: int) -> Triangle:
        """Lower triangle of sign Q."""
        scale = [Fraction(sign, self.unit * (1 if i == j else 2)) for i, j in self.pairs]
        return {at: s * c for at, s, c in zip(self.pairs, scale, self.products, strict=True)}


def least(r: Fraction, c: Fraction, at: Fraction, low: End, high: End) -> End:
    """Least of r x + c (x - at)^2 from low to high; None where there is none."""
    if c > 0:
        x = at - r / (2 * c)
        x = low if low is not None and x < low else x
        x = high if high is not None and x > high else x
        value = r * x + c * (x - at) ** 2
        return Fraction(value.numerator * GRID // value.denominator, GRID)
    if c < 0:
        if low is None or high is None:
            return None
        return min(r * x + c * (x - at) ** 2 for x in (low, high))
    end = low if r > 0 else high
    return ZERO if r == 0 else None if end is None else r * end


def without_squares(lower: Triangle, squares: Any, size: int, where: str) -> Rows:
    """A multiple of a matrix less its squares, row by row up to the diagonal."""
    pairs = [listed(part, where, 2) for part in listed(squares, where)]
    weights, of_weights = whole([number(weight, where) for weight, _ in pairs])
    need(min(weights, default=0) >= 0, f"{where}: a square has a negative weight")
    vectors, unit = whole_vectors([vector(entries, size, where) for _, entries in pairs])
    values, of_values = whole(list(lower.values()))
    rest: Rows = {}
    for (i, j), value in zip(lower, values, strict=True):
        rest.setdefault(i, {})[j] = value * of_weights * unit**2
    left: dict[int, list[int]] = {}  # row i of the matrix of all vectors, up to its last entry
    right: dict[int, list[int]] = {}  # the same times the weights
    for k, entries in enumerate(vectors):
        for i, value in entries.items():
            for rows, entry in ((left, value), (right, value * weights[k])):
                line = rows.setdefault(i, [])
                line += [0] * (k - len(line)) + [entry]
    support = sorted(left)
    for place, i in enumerate(support):
        row = rest.setdefault(i, {})
        for j in support[: place + 1]:
            if product := sum(map(mul, left[i], right[j])):
                row[j] = row.get(j, 0) - product * of_values
    return rest


def semidefinite(lower: Triangle, squares: Any, size: int, where: str) -> None:
    """Stop unless a matrix, given by its lower triangle, is proven semidefinite."""
    rest = without_squares(lower, squares, size, where)
    for block in blocks(rest):
        beside = dict.fromkeys(block, 0)
        for i in block:
            for j, value in rest.get(i, {}).items():
                if i != j and value:
                    beside[i] += abs(value)
                    beside[j] += abs(value)
        if all(rest.get(i, {}).get(i, 0) >= beside[i] for i in block):
            continue
        order = len(block)
        need_room(order <= LARGEST_ORDER, f"{where}: a block of order {order} lacks squares")
        full = [[rest.get(max(i, j), {}).get(min(i, j), 0) for j in block] for i in block]
        need(no_negative_pivot(full), f"{where} is not semidefinite")


def blocks(rows: Rows) -> list[list[int]]:
    """Indices that entries off the diagonal connect."""
    root: dict[int, int] = {}

    def find(i: int) -> int:
        while root.setdefault(i, i) != i:
            root[i] = i = root[root[i]]
        return i

    for i, line in rows.items():
        for j, value in line.items():
            if value:
                root[find(i)] = find(j)
    found: dict[int, list[int]] = {}
    for i in list(root):
        found.setdefault(find(i), []).append(i)
    return list(found.values())


def no_negative_pivot(matrix: list[list[int]]) -> bool:
    """Elimination of a symmetric matrix in whole numbers; every division is exact (Bareiss)."""
    previous = 1
    while matrix:
        pivot, *head = matrix[0]
        if pivot < 0 or (pivot == 0 and any(head)):
            return False
        below, matrix = matrix[1:], []
        for first, *line in below:
            row = [(pivot * a - first * b) // previous for a, b in zip(line, head, strict=True)]
            matrix.append(row if pivot else line)
        previous = pivot or previous
    return True


# --- the model -----------------------------------------------------------------------------------


class Model:
    """The model of a file, exactly."""

    def __init__(self, entry: Any) -> None:
        keys = "variables lower upper integer objective rows quadratic psd"
        names, lower, upper, integer, goal, rows, bent, psd = fields(entry, keys, "model")
        self.n = n = len(listed(names, "variables"))
        self.lower = [limit(v, f"lower limit {j}") for j, v in enumerate(listed(lower, "lower", n))]
        self.upper = [limit(v, f"upper limit {j}") for j, v in enumerate(listed(upper, "upper", n))]
        self.integer = {index(j, n, "integer") for j in listed(integer, "integer")}
        constant, a, q = fields(goal, "constant linear products", "objective")
        self.constant = number(constant, "objective")
        self.objective = Quadratic(ZERO, vector(a, n, "objective"), triangle(q, n, "objective"))
        self.sides, linear = list[tuple[End, End]](), list[Vector]()
        for k, row in enumerate(listed(rows, "rows")):
            _, low, high, a = fields(row, "name lower upper linear", f"row {k}")
            self.sides.append((limit(low, f"row {k}"), limit(high, f"row {k}")))
            linear.append(vector(a, n, f"row {k}"))
        self.rows, self.unit = whole_vectors(linear)
        self.quadratic: list[tuple[Quadratic, End, End]] = []
        for k, row in enumerate(listed(bent, "quadratic")):
            where = f"quadratic row {k}"
            _, low, high, c, a, q = fields(row, "name lower upper constant linear products", where)
            body = Quadratic(number(c, where), vector(a, n, where), triangle(q, n, where))
            self.quadratic.append((body, limit(low, where), limit(high, where)))
        self.psd: list[tuple[int, dict[tuple[int, int], tuple[Fraction, Vector]]]] = []
        for k, row in enumerate(listed(psd, "psd")):
            where = f"psd row {k}"
            _, order, entries = fields(row, "name order entries", where)
            parts = [listed(part, where, 4) for part in listed(entries, where)]
            places = triangle([part[:3] for part in parts], index(order, 1 << 20, where), where)
            lines = [vector(part[3], n, where) for part in parts]
            affine = dict(zip(places, zip(places.values(), lines, strict=True), strict=True))
            self.psd.append((order, affine))

    @cached_property
    def whole_constant(self) -> Fraction:
        """The constant of f once columns with equal limits are put in."""
        x = dict.fromkeys(range(self.n), ZERO)
        for j, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if low is None or high is None:
                continue
            ends = (ceil(low), floor(high)) if j in self.integer else (low, high)
            x[j] = Fraction(ends[0]) if ends[0] == ends[1] else ZERO
        return self.constant + self.objective.value(Point(x))

    def measure(self, lower: Fraction, upper: Fraction) -> Fraction:
        """What the gap between two values of f - constant is a share of."""
        ends = lower + self.constant, upper + self.constant
        return min(max(abs(end - k) for end in ends) for k in (ZERO, self.whole_constant))

    def sided(self, k: Any, side: Any, where: str) -> Sided:
        """Body, sign and side of a quadratic row: sign (body - side) <= 0."""
        body, low, high = self.quadratic[index(k, len(self.quadratic), where)]
        end = high if side == "upper" else low if side == "lower" else None
        if end is None:
            raise ProofError(f"{where}: quadratic row {k} has no such side")
        return body, 1 if side == "upper" else -1, end

    def values(self, x: list[Fraction], start: Point | None) -> Any:
        """Name, value and sides of everything at x; its changes along x where there is a start."""
        point = Point(dict(enumerate(x)))
        for j, ends in enumerate(zip(self.lower, self.upper, strict=True)):
            yield f"column {j}", x[j], ends
        for k, (row, ends) in enumerate(zip(self.rows, self.sides, strict=True)):
            total = sum(a * point.at[j] for j, a in row.items())
            yield f"row {k}", Fraction(total, self.unit * point.unit), ends
        for k, (body, low, high) in enumerate(self.quadratic):
            for value in body.along(start, point.at) if start else (body.value(point),):
                yield f"quadratic row {k}", value, (low, high)
        for k, (order, entries) in enumerate(self.psd):
            lower = {
                place: sum((a * x[j] for j, a in linear.items()), ZERO if start else constant)
                for place, (constant, linear) in entries.items()
            }
            semidefinite(lower, None, order, f"psd row {k} at the {'ray' if start else 'point'}")

    def feasible(self, x: list[Fraction]) -> Point:
        """Stop unless a point meets everything."""
        for name, value, (low, high) in self.values(x, None):
            inside = (low is None or low <= value) and (high is None or value <= high)
            need(inside, f"the point misses {name}")
        broken = [j for j in self.integer if x[j].denominator != 1]
        need(not broken, f"the point is not whole in columns {broken}")
        return Point(dict(enumerate(x)))

    def recedes(self, point: Point, ray: list[Fraction]) -> None:
        """Stop unless from a feasible point on the objective falls along a ray without end."""
        for name, change, (low, high) in self.values(ray, point):
            stays = (change <= 0 or high is None) and (change >= 0 or low is None)
            need(stays, f"the ray leaves {name}")
        bend, slope = self.objective.along(point, Point(dict(enumerate(ray))).at)
        need(bend < 0 or (bend == 0 and slope < 0), "the objective does not fall along the ray")


# --- exp and log ---------------------------------------------------------------------------------

BITS = 256  # of the fractions that series are summed in
FINE, LARGEST_EXPONENT = 1 << BITS, 1 << 12


def exp_ends(x: Fraction) -> tuple[Fraction, Fraction]:
    """Numbers below and above exp(x) = exp(x / 2^k)^(2^k), by a series for 0 <= x / 2^k <= 1."""
    if x < 0:
        low, high = exp_ends(min(-x, Fraction(LARGEST_EXPONENT)))
        return (ZERO if -x > LARGEST_EXPONENT else 1 / high), 1 / low
    need(x <= LARGEST_EXPONENT, "exp of so large a number is not taken")
    k = ceil(x).bit_length()
    ends = list[Fraction]()
    for way in (1, -1):  # rounded down, and up
        share, total, term, at = way * floor(way * x * FINE / 2**k), FINE, FINE, 0
        while term > 1:
            at += 1
            term = way * (way * term * share // (at << BITS))
            total += term
        total += 0 if way > 0 else term  # each later term is at most half of the one before it
        for _ in range(k):
            total = way * (way * total * total >> BITS)
        ends.append(Fraction(total, FINE))
    return ends[0], ends[1]


def artanh_ends(z: Fraction) -> tuple[int, int]:
    """Numbers below and above 2 artanh(z) = 2 sum z^k / k over odd k, times FINE; 0 <= z <= 1/3."""
    ends = []
    for way in (1, -1):
        power, total, k = way * floor(way * z * FINE), 0, 1
        square = way * (way * power * power >> BITS)
        while power > 1:
            total += way * (way * power // k)
            power, k = way * (way * power * square >> BITS), k + 2
        # Each later power is at most half of the one before it.
        ends.append(2 * total if way > 0 else 2 * (total + 2 * power))
    return ends[0], ends[1]


LOG_2 = artanh_ends(Fraction(1, 3))


def log_ends(y: Fraction) -> tuple[Fraction, Fraction]:
    """Numbers below and above log(y) = e log(2) + 2 artanh((m - 1) / (m + 1)), y = 2^e m."""
    need(y > 0, "a logarithm of a number that is not positive")
    e = y.numerator.bit_length() - y.denominator.bit_length()
    e -= y < Fraction(2) ** e
    m = y / Fraction(2) ** e
    parts = zip(sorted(e * end for end in LOG_2), artanh_ends((m - 1) / (m + 1)), strict=True)
    low, high = (Fraction(a + b, FINE) for a, b in parts)
    return low, high


class Term:
    """A column that is at least exp(p), -log(p), p log(p) or log(sum_i c_i exp(p_i))."""

    def __init__(self, entry: Any, n: int, where: str) -> None:
        self.kind, column, parts = fields(entry, "function column parts", where)
        need(self.kind in ("exp", "log", "entropy", "sum"), f"{where}: no such function")
        self.column, self.c, self.p = index(column, n, where), list[Fraction](), list[Vector]()
        for part in listed(parts, where):
            c, linear = listed(part, where, 2)
            self.c.append(number(c, where))
            self.p.append(vector(linear, n, where))
        one = self.kind == "sum" or self.c == [1]
        need(self.c and min(self.c) > 0 and one, f"{where}: its parts are not those of a term")

    def at(self, x: list[Fraction]) -> list[Fraction]:
        """Its p_i at a point."""
        return [sum((a * x[j] for j, a in line.items()), ZERO) for line in self.p]

    def above(self, x: list[Fraction]) -> Fraction:
        """A number that it does not exceed at a point."""
        p, *others = self.at(x)
        if self.kind == "exp":
            return exp_ends(p)[1]
        if self.kind == "log":
            return -log_ends(p)[0]
        if self.kind == "entropy":
            return p * log_ends(p)[1]
        top = max(p, *others) if others else p
        pairs = zip(self.c, (p, *others), strict=True)
        return top + log_ends(sum((c * exp_ends(q - top)[1] for c, q in pairs), ZERO))[1]

    def slope(self, d: list[Fraction], where: str) -> Fraction:
        """What it rises by along a ray at last."""
        p = self.at(d)
        stays = {"exp": p[0] <= 0, "log": p[0] >= 0, "entropy": p[0] == 0, "sum": True}[self.kind]
        need(stays, f"the ray leaves {where}")
        return max(p) if self.kind == "sum" else ZERO

    def tangent(self, s: list[Fraction], constant: Fraction, where: str) -> Vector:
        """The row of a tangent."""
        if not s:
            need(self.kind in ("log", "entropy") and constant <= 0, f"{where}: no such tangent")
            return self.p[0]
        need(len(s) == len(self.p), f"{where} has not as many slopes as parts")
        if self.kind == "entropy":
            most = -exp_ends(s[0] - 1)[1]
        elif self.kind == "log":
            need(s[0] > 0, f"{where}: a slope that is none")
            most = 1 + log_ends(s[0])[0]
        else:
            of_sum = self.kind == "sum"
            need(min(s) >= 0 and sum(s) == (1 if of_sum else s[0]), f"{where}: slopes of nothing")
            most = ZERO if of_sum else s[0]
            for part, c in zip(s, self.c, strict=True):
                most -= part * log_ends(part / c)[1] if part else 0
        need(constant <= most, f"{where} claims more than it proves")
        row = {self.column: Fraction(1)}
        for part, line in zip(s, self.p, strict=True):
            for j, a in line.items():
                row[j] = row.get(j, ZERO) + (part if self.kind == "log" else -part) * a
        return row


class ModelWithTerms(Model):
    """A model of which some columns are at least exp and log of others."""

    def __init__(self, entry: Any) -> None:
        need(type(entry) is dict, "model is no object")
        parts = enumerate(listed(entry.get("terms"), "terms"))
        super().__init__({key: part for key, part in entry.items() if key != "terms"})
        self.terms = [Term(part, self.n, f"term {k}") for k, part in parts]

    def values(self, x: list[Fraction], start: Point | None) -> Any:
        """Besides, how far each column is above its term, or rises above it along x at last."""
        yield from super().values(x, start)
        for k, term in enumerate(self.terms):
            value = term.slope(x, f"term {k}") if start else term.above(x)
            yield f"term {k}", x[term.column] - value, (ZERO, None)


# --- what is proven of it ------------------------------------------------------------------------


class Certificate:
    """const + sum_j least of r_j x_j + c_j (x_j - x^_j)^2, of one certificate of a file."""

    def __init__(self, known: Derivation, entry: Any, where: str) -> None:
        parts = fields(entry, "| objective at rows quadratic cones psd", where)
        mu, at, rows, bent, cones, psd = parts
        self.known, self.model, self.where = known, known.model, where
        self.mu = number("0" if mu is None else mu, where)
        self.const, self.c, self.r = ZERO, dict[int, Fraction](), dict[int, Fraction]()
        self.added: list[tuple[Any, Any]] = []
        self.at = vector(at, self.model.n, where)
        self.x = Point(self.at)
        if self.mu:
            self.linearise("objective", (self.model.objective, 1, ZERO), self.mu, self.x)
        self.use_rows(vector(rows, len(self.model.rows), where))
        for part in listed(bent, where):
            k, side, nu, *own = listed(part, where)
            x = Point(vector(own.pop(), self.model.n, where)) if own else self.x
            need(not own, f"{where}: more than a row, a side, a multiplier and a point")
            self.linearise((k, side), self.model.sided(k, side, where), number(nu, where), x)
        for part in listed(cones, where):
            self.use_cone(part, f"{where}, a cone")
        for part in listed(psd, where):
            self.use_matrix(part, f"{where}, a psd row")

    def add(self, terms: Any, factor: Fraction | int) -> None:
        """Terms of r by column, times a factor."""
        self.added.append((terms, factor))

    def linearise(self, key: Any, row: Sided, factor: Fraction, x: Point) -> None:
        """sign (q(x) - side) by its linearisation and its curvature, times a factor >= 0."""
        body, sign, side = row
        need(factor >= 0, f"{self.where}: a negative multiplier of {key}")
        need(key in self.known.curvature, f"{self.where}: no curvature of {key} is proven")
        (bend, slope), unit = body.bent(x.at), x.unit
        scale = Fraction(sign, body.unit) * factor
        self.const += scale * (body.constant - Fraction(bend, unit**2) - side * body.unit)
        self.add(zip(body.columns, body.linear, strict=True), scale)
        self.add(slope.items(), scale / unit)
        for j, value in self.known.curvature[key].items():
            self.c[j] = self.c.get(j, ZERO) + factor * value
            if x is not self.x:  # the square is around another point than x^
                near, far = self.at.get(j, ZERO), Fraction(x.at.get(j, 0), unit)
                self.add([(j, 2 * (near - far))], factor * value)
                self.const += factor * value * (far**2 - near**2)

    def use_rows(self, multipliers: Vector) -> None:
        """Less y_i (a_i'x - side)."""
        (whole_numbers,), unit = whole_vectors([multipliers])
        total: dict[int, int] = {}
        for i, y in whole_numbers.items():
            side = self.model.sides[i][0 if y > 0 else 1]
            need(side is not None or not y, f"{self.where}: row {i} has no side on that side")
            self.const += Fraction(y, unit) * (side or 0)
            for j, coefficient in self.model.rows[i].items():
                total[j] = total.get(j, 0) - y * coefficient
        self.add(total.items(), Fraction(1, unit * self.model.unit))

    def use_cone(self, part: Any, where: str) -> None:
        """Less alpha (F + s) + beta (G + s) - (Mv)'(x, 1)."""
        k, a, b, direction, shift = fields(part, "cone alpha beta direction | shift", where)
        factors, matrix, lift = self.known.cones[index(k, len(self.known.cones), where)]
        alpha, beta, n = number(a, where), number(b, where), self.model.n
        v, image = vector(direction, n + 1, where), dict[int, Fraction]()
        for (i, j), value in matrix.items():
            image[i] = image.get(i, ZERO) + value * v.get(j, 0)
            if i != j:
                image[j] = image.get(j, ZERO) + value * v.get(i, 0)
        square = sum((value * image.get(i, 0) for i, value in v.items()), ZERO)
        need(min(alpha, beta, 4 * alpha * beta - square) >= 0, f"{where}: outside of the dual cone")
        s, most = number("0" if shift is None else shift, where), ZERO
        for j, e in lift.items():
            low, high = (ZERO, Fraction(1)) if j == n else self.known.limits(j)
            if low is None or high is None:
                raise ProofError(f"{where}: column {j} lacks limits")
            most += e * max(low**2, high**2)
        need(s >= 0 and s**2 >= most, f"{where}: the shift is less than the lift")
        self.const += image.pop(n, ZERO) - (alpha + beta) * s
        for weight, (constant, linear) in zip((alpha, beta), factors, strict=True):
            self.const -= weight * constant
            self.add(linear.items(), -weight)
        self.add(image.items(), 1)

    def use_matrix(self, part: Any, where: str) -> None:
        """Less <Z, matrix>."""
        k, entries, squares = fields(part, "row matrix | squares", where)
        order, affine = self.model.psd[index(k, len(self.model.psd), where)]
        z = triangle(entries, order, where)
        semidefinite(z, squares, order, where)
        for (i, j), value in z.items():
            constant, linear = affine.get((i, j), (ZERO, {}))
            weight = value if i == j else 2 * value
            self.const -= weight * constant
            self.add(linear.items(), -weight)

    def term(self, j: int, goal: Fraction = ZERO) -> End:
        """The least term of column j, or None."""
        bend, at = self.c.get(j, ZERO), self.at.get(j, ZERO)
        return least(self.r.get(j, ZERO) + goal, bend, at, *self.known.limits(j))

    @cached_property
    def value(self) -> tuple[Fraction, dict[int, End], set[int]]:
        """The constant with all finite terms, the terms, and the columns without a finite one."""
        factors, unit = whole([factor for _, factor in self.added])
        sums: dict[int, Any] = {}
        for (terms_of_r, _), factor in zip(self.added, factors, strict=True):
            for j, value in terms_of_r:
                sums[j] = sums.get(j, 0) + value * factor
        self.r = {j: Fraction(value, unit) for j, value in sums.items() if value}
        terms = {j: self.term(j) for j in self.r.keys() | self.c.keys()}
        finite, unit = whole([self.const, *(term for term in terms.values() if term is not None)])
        total = Fraction(sum(finite), unit)
        return total, terms, {j for j, term in terms.items() if term is None}

    def proven(self, goal: Vector | None = None) -> Fraction:
        """The bound, with a linear goal added first."""
        self.add((goal or {}).items(), 1)
        total, _, endless = self.value
        need(not endless, f"{self.where}: no limit where one is needed, {sorted(endless)[:5]}")
        return total

    def limit(self, j: int, g: Fraction) -> End:
        """What x_j is at least (g > 0) or at most (g < 0); None where that is not known."""
        total, terms, endless = self.value
        new = self.term(j, g)
        if new is None or g == 0 or not endless <= {j}:
            return None
        return (total - self.mu * (self.known.cutoff or 0) - (terms.get(j) or 0) + new) / g


class Derivation:
    """What is known of the columns, of curvature and of cones, from part to part of a file."""

    def __init__(self, model: Model, cutoff: End) -> None:
        self.model, self.cutoff = model, cutoff
        self.low, self.high = list(model.lower), list(model.upper)
        self.curvature: dict[Any, Vector] = {}
        self.cones: list[tuple[list[tuple[Fraction, Vector]], Triangle, Vector]] = []

    def limits(self, j: int) -> tuple[End, End]:
        """The limits of a column that are proven so far."""
        return self.low[j], self.high[j]

    def curve(self, part: Any, where: str) -> None:
        """How much the objective or a row bends."""
        of, entries, squares = fields(part, "of least | squares", where)
        key, sign, body = of, 1, self.model.objective
        if of != "objective":
            k, side = listed(of, where, 2)
            (body, sign, _), key = self.model.sided(k, side, where), (k, side)
        least_of = vector(entries, self.model.n, where)
        lower = body.matrix(sign)
        for j, value in least_of.items():
            lower[j, j] = lower.get((j, j), ZERO) - value
        semidefinite(lower, squares, self.model.n, f"the curvature of {of}")
        self.curvature[key] = least_of

    def cone(self, part: Any, where: str) -> None:
        """A row as sum of squares less its lift <= F G: the factors, M and the lift."""
        words, n = "row side factors | signs lift squares", self.model.n
        k, side, factors, signs, added, squares = fields(part, words, where)
        body, sign, end = self.model.sided(k, side, where)
        lower, affine = body.matrix(sign), []

        def add(i: int, j: int, value: Fraction) -> None:
            place = max(i, j), min(i, j)
            lower[place] = lower.get(place, ZERO) + (value if i == j else value / 2)

        proofs = [None, None] if signs is None else listed(signs, where, 2)
        for factor, proof in zip(listed(factors, where, 2), proofs, strict=True):
            shift, slope = fields(factor, "constant linear", where)
            constant, linear = number(shift, where), vector(slope, n, where)
            positive = Certificate(self, {} if proof is None else proof, where)
            proven = positive.mu == 0 and positive.proven(linear) + constant >= 0
            need(proven, f"{where}: a factor may be negative")
            affine.append((constant, linear))
        for j, a in zip([*body.columns, n], [*body.linear, body.constant], strict=True):
            add(n, j, Fraction(sign * a, body.unit))
        add(n, n, -sign * end)
        first, second = ({n: constant} | linear for constant, linear in affine)
        for i, left in first.items():
            for j, right in second.items():
                add(i, j, left * right)
        lift = vector(added, n + 1, where)
        need(min(lift.values(), default=0) >= 0, f"{where}: a negative lift")
        for j, e in lift.items():
            add(j, j, e)
        lower = {place: value for place, value in lower.items() if value}
        semidefinite(lower, squares, n + 1, where)
        self.cones.append((affine, lower, lift))

    def step(self, part: Any, where: str) -> None:
        """New limits of columns, all from the limits before the step."""
        entry, columns = fields(part, "certificate columns", where)
        used, found = Certificate(self, entry, where), []
        need(not used.mu or self.cutoff is not None, f"{where}: the upper end is not there")
        for column in listed(columns, where):
            j, text, claimed = listed(column, where, 3)
            g, value = number(text, where), number(claimed, where)
            proven = used.limit(index(j, self.model.n, where), g)
            if proven is None or (value > proven if g > 0 else value < proven):
                raise ProofError(f"{where} claims more of column {j} than it proves")
            found.append((j, g > 0, value))
        for j, is_lower, value in found:
            old = self.low[j] if is_lower else self.high[j]
            if old is None or (value > old if is_lower else value < old):
                (self.low if is_lower else self.high)[j] = value


# --- trees ---------------------------------------------------------------------------------------


class Shared:
    """A certificate in many boxes: what straight integer columns add is in whole numbers."""

    def __init__(self, used: Certificate) -> None:
        self.used, (self.total, self.terms, self.endless) = used, used.value
        straight = [j for j in self.terms if j in used.model.integer and not used.c.get(j)]
        (self.slopes,), self.unit = whole_vectors([{j: used.r.get(j, ZERO) for j in straight}])
        ends = {j: used.known.limits(j)[0 if r > 0 else 1] for j, r in self.slopes.items()}
        self.old = {j: int(end or 0) * self.slopes[j] for j, end in ends.items()}

    def within(self, box: Box) -> End:
        """The bound in a box: only the terms of its columns are added up again."""
        total, change = self.total, 0
        for j in box.keys() & self.terms.keys():
            if j in self.slopes:
                r = self.slopes[j]
                end = box[j][0 if r > 0 else 1] if r else 0
                if end is None:
                    return None
                change += r * end - self.old[j]
            else:
                new = self.used.term(j)
                if new is None:
                    return None
                total += new - (self.terms[j] or 0)
        return total + Fraction(change, self.unit) if self.endless <= box.keys() else None


class Tree(Derivation):
    """The same with whole numbers, derived rows, and boxes that split at whole numbers."""

    def __init__(self, model: Model, cutoff: End) -> None:
        super().__init__(copy(model), cutoff)
        self.given = model
        self.terms = model.terms if isinstance(model, ModelWithTerms) else []
        self.model.rows, self.model.sides = list(model.rows), list(model.sides)
        self.box: Box = {}
        self.round()

    def round(self) -> None:
        """Limits of integer columns, inwards."""
        for j in self.model.integer:
            low, high = self.low[j], self.high[j]
            self.low[j] = None if low is None else Fraction(ceil(low))
            self.high[j] = None if high is None else Fraction(floor(high))

    def crossed(self, box: Box) -> bool:
        """Whether limits leave no point: those of a box, or for none those of columns and rows."""
        ends = list(box.values())
        if not box:
            ends = [*zip(self.low, self.high, strict=True), *self.model.sides]
            ends += [(low, high) for _, low, high in self.model.quadratic]
        return any(low is not None and high is not None and low > high for low, high in ends)

    def limits(self, j: int) -> tuple[End, End]:
        """The limits of a column in the present box."""
        return self.box[j] if j in self.box else (self.low[j], self.high[j])

    def step(self, part: Any, where: str) -> None:
        """New limits of columns, or new rows."""
        if type(part) is dict and "row" in part:
            self.join(part, where)
        elif type(part) is dict and "tangents" in part:
            self.touch(part, where)
        else:
            super().step(part, where)
            self.round()

    def join(self, part: Any, where: str) -> None:
        """A row that all points have, or those with x_j = 0 and those with x_j = 1 alike."""
        row, entries, column = fields(part, "row certificates | column", where)
        text, linear = fields(row, "upper linear", where)
        side, a, boxes = number(text, where), vector(linear, self.model.n, where), [Box()]
        if column is not None:
            low, high = self.limits(index(column, self.model.n, where))
            inside = low is not None and high is not None and low >= 0 and high <= 1
            need(inside and column in self.model.integer, f"{where}: {column} is not binary")
            boxes = [{column: (end, end)} for end in (0, 1)]
        for box, entry in zip(boxes, listed(entries, where, len(boxes)), strict=True):
            self.box = box
            used = Certificate(self, entry, where)
            need(not used.mu or self.cutoff is not None, f"{where}: the cutoff is not there")
            least_of = used.proven({j: -value for j, value in a.items()})
            need(side >= used.mu * (self.cutoff or 0) - least_of, f"{where} is not proven")
        self.box = {}
        self.append(a, side)

    def touch(self, part: Any, where: str) -> None:
        """Tangents of terms."""
        rows, sides = list[Vector](), list[tuple[End, End]]()
        (entries,) = fields(part, "tangents", where)
        for place, entry in enumerate(listed(entries, where)):
            k, constant, slopes = listed(entry, where, 3)
            term, side = self.terms[index(k, len(self.terms), where)], number(constant, where)
            s = [number(value, where) for value in listed(slopes, where)]
            rows.append(term.tangent(s, side, f"{where}, tangent {place}"))
            sides.append((side, None))
        self.extend(rows, sides)

    def append(self, a: Vector, side: Fraction) -> None:
        """A row a'x <= side that is proven."""
        self.extend([a], [(None, side)])

    def extend(self, new: list[Vector], sides: list[tuple[End, End]]) -> None:
        """Rows that are proven."""
        added, unit = whole_vectors(new)
        common = lcm(unit, self.model.unit)
        need(common.bit_length() <= LARGEST_DENOMINATOR, "the denominators are too large")
        rows = [(row, common // self.model.unit) for row in self.model.rows]
        self.model.rows = [
            {j: value * factor for j, value in row.items()} if factor > 1 else row
            for row, factor in [*rows, *((row, common // unit) for row in added)]
        ]
        self.model.unit = common
        self.model.sides += sides

    def spacing(self) -> Fraction | None:
        """What every value of the objective is a whole multiple of."""
        goal = self.model.objective
        priced = {j: a for j, a in zip(goal.columns, goal.linear, strict=True) if a}
        if any(goal.products) or not priced or not priced.keys() <= self.model.integer:
            return None
        return Fraction(gcd(*priced.values()), goal.unit)

    def leaves(self, entry: Any) -> Any:
        """Name, mu and bound of each leaf, None for an endless one; not of boxes without points."""
        certificates, nodes = fields(entry, "certificates nodes", "tree")
        known: dict[int, Shared] = {}
        boxes, crossed = [Box()], self.crossed({})
        for place, node in enumerate(listed(nodes, "nodes")):
            where, self.box = f"node {place}", {}
            need(boxes, f"{where} has no box")
            box = boxes.pop()
            if type(node) is list:
                j, at = listed(node, where, 2)
                need(index(j, self.model.n, where) in self.model.integer, f"{where}: no integer")
                need(type(at) is int, f"{where}: no whole number")
                low, high = box.get(j) or (v if v is None else int(v) for v in self.limits(j))
                below = low, at if high is None else min(at, high)
                above = at + 1 if low is None else max(at + 1, low), high
                boxes += [box | {j: above}, box | {j: below}]
            elif not (crossed or self.crossed(box)):
                k = index(node, len(listed(certificates, "certificates")), where)
                if k not in known:
                    known[k] = Shared(Certificate(self, certificates[k], f"certificate {k}"))
                self.box = box
                yield where, known[k].used.mu, known[k].within(box)
        need(not boxes, "the tree is not complete")

    def closed(self, bound: Any, tree: Any, lower: End) -> None:
        """Stop unless no leaf has a point that costs less than `lower`, or any at all for None."""
        need(bound is None or tree is None, "there is a bound beside the tree")
        root = {"certificates": [{} if bound is None else bound], "nodes": [0]}
        within = self.cutoff is None or (lower is not None and lower <= self.cutoff)
        need(within, "`lower` exceeds the cutoff")
        step, before = self.spacing(), None
        if lower is not None and step is not None:
            before = (ceil(lower / step) - 1) * step  # what costs more costs at least `lower`
        for where, mu, found in self.leaves(root if tree is None else tree):
            need(found is not None, f"no limit where one is needed at {where}")
            if lower is None or mu == 0:
                need(mu == 0 and found > 0, f"a point is not excluded at {where}")
            elif before is None or found <= mu * before:
                need(found >= mu * lower, f"less than `lower` is proven at {where}")


# --- directions ----------------------------------------------------------------------------------


def shares(corners: list[list[int]], z: list[int]) -> list[Fraction] | None:
    """Shares of the corners in z; None where the corners are dependent."""
    lines = [[Fraction(value) for value in line] for line in zip(*corners, z, strict=True)]
    for k in range(len(lines)):
        at = next((i for i in range(k, len(lines)) if lines[i][k]), None)
        if at is None:
            return None
        lines[k], lines[at] = lines[at], lines[k]
        lines[k] = [value / lines[k][k] for value in lines[k]]
        for i, line in enumerate(lines):
            if i != k and line[k]:
                lines[i] = [a - line[k] * b for a, b in zip(line, lines[k], strict=True)]
    return [line[-1] for line in lines]


def inner(a: list[int], b: list[int]) -> int:
    """a'b."""
    return sum(map(mul, a, b))


class Directions:
    """Corners with f(x) - constant >= k_i + u_i'w, and simplices that every ray from 0 meets."""

    def __init__(self, known: Tree, row: Any) -> None:
        self.known, self.of_objective = known, row == "objective"
        body, side = known.model.objective, ZERO
        if not self.of_objective:
            body, _, side = known.model.sided(row, "lower", "directions")
        squares = body.matrix(-1 if self.of_objective else 1)
        straight = not any(body.linear) and all(i == j for i, j in squares)
        need(squares and straight and min(squares.values()) > 0, "no row of squares")
        self.columns, self.weight = sorted(j for j, _ in squares), max(squares.values())
        self.length2 = (side - Fraction(body.constant, body.unit)) / self.weight
        self.const, self.normal2 = ZERO, ZERO
        self.corners, self.unit = list[list[int]](), 1

    def read(self, certificates: Any) -> None:
        """u_i, in whole numbers over one denominator, and the least k_i, or 0."""
        found: list[Fraction] = []
        for i, part in enumerate(listed(certificates, "certificates")):
            where, used = f"corner {i}", Certificate(self.known, part, f"corner {i}")
            need((used.mu > 0) != self.of_objective, f"{where}: it bounds something else")
            total, terms, endless = used.value
            bent = any(used.c.get(j) for j in self.columns)
            need(endless <= {*self.columns} and not bent, f"{where}: no limit where one is needed")
            const = total - sum((terms.get(j) or ZERO for j in self.columns), ZERO)
            self.const = min(self.const, const / (used.mu or 1))
            found += [used.r.get(j, ZERO) / (used.mu or 1) for j in self.columns]
        flat, self.unit = whole(found)
        k = len(self.columns)
        self.corners = [flat[at : at + k] for at in range(0, len(flat), k)]

    def plane(self, entry: Any, where: str) -> tuple[list[int], int]:
        """A vector over w in whole numbers, and its denominator."""
        return whole([number(v, where) for v in listed(entry, where, len(self.columns))])

    def enclose(self, simplices: Any, normals: Any, inside: Any, beyond: Any) -> None:
        """Stop unless every ray meets a simplex."""
        k, odd, z = len(self.columns), set[tuple[int, ...]](), list[int]()
        weights, _ = self.plane(inside, "inside")
        q, of_q = self.plane(beyond, "beyond")
        parts = listed(simplices, "simplices")
        need(parts and min(weights) > 0, "no point inside of the first simplex")
        need(max(inner(u, q) for u in self.corners) <= of_q * self.unit, "a corner is `beyond`")
        planes = listed(normals, "normals", len(parts))
        for f, (part, normal) in enumerate(zip(parts, planes, strict=True)):
            where = f"simplex {f}"
            own = sorted({index(i, len(self.corners), where) for i in listed(part, where)})
            need(len(own) == k == len(part), f"{where} has not {k} corners")
            for left_out in own:
                odd ^= {tuple(i for i in own if i != left_out)}
            corners, (p, unit) = [self.corners[i] for i in part], self.plane(normal, where)
            need(min(inner(u, p) for u in corners) >= unit * self.unit, f"{where} is too near")
            self.normal2 = max(self.normal2, Fraction(inner(p, p), unit**2))
            z = z or [inner(weights, list(line)) for line in zip(*corners, strict=True)]
            if f == 0 or inner(p, z) * of_q >= inner(q, z) * unit:
                found = shares(corners, z)
                apart = found is not None and (f == 0 or min(found) < 0)
                need(apart, f"{where} is flat, or meets the ray through the first one")
        need(not odd, "a ridge belongs to an odd number of simplices")

    def closed(self, lower: End) -> None:
        """Stop unless `lower` is proven."""
        if lower is None:
            raise ProofError("directions prove a `lower`, and there is none")
        if self.known.cutoff is not None and lower > self.known.cutoff:
            raise ProofError("directions prove a `lower` of at most the cutoff")
        if self.of_objective:
            enough = lower <= -self.weight * self.const**2 * self.normal2
        else:
            need(self.length2 > 0, "no row keeps w from 0")
            height = lower - self.const
            enough = height <= 0 or height**2 * self.normal2 <= self.length2
        need(enough, "less than `lower` is proven")


def covered(known: Tree, entry: Any) -> Directions:
    """The directions of a file."""
    words = "row certificates simplices normals inside beyond"
    row, corners, *surface = fields(entry, words, "directions")
    found = Directions(known, row)
    found.read(corners)
    found.enclose(*surface)
    return found


# --- cones ---------------------------------------------------------------------------------------


class Cones:
    """A loss over cones of directions, and boxes that hold every direction."""

    def __init__(self, model: Model, entry: Any) -> None:
        words = "columns units centre intercept points bits conflicts | slacks beside caps"
        found = fields(entry, words, "cones")
        columns, units, centre, b, points, self.bits, conflicts, slacks, beside, caps = found
        goal, self.lower, self.intercept = model.objective, ZERO, b
        self.columns = [index(j, model.n, "cones") for j in listed(columns, "columns")]
        k = len(self.columns)
        self.place = {j: at for at, j in enumerate(self.columns)}
        need(b is None or index(b, model.n, "cones") not in self.place, "the intercept is priced")
        squares = goal.matrix(1)
        apart = len(self.place) == k > 0 and squares.keys() <= {(j, j) for j in self.columns}
        need(apart and min(squares.values(), default=0) >= 0, "the squares are not the columns'")
        self.square = [squares.get((j, j), ZERO) for j in self.columns]
        self.free = [at for at, c in enumerate(self.square) if not c]
        need(len(self.free) + (b is not None) <= 1, "more than one column costs nothing")
        self.units = [number(v, "units") for v in listed(units, "units", k)]
        self.centre = [number(v, "centre") for v in listed(centre, "centre", k)]
        need(min(self.units) > 0, "a unit is not positive")
        need(b is not None or self.free or not any(self.centre), "a centre without an intercept")
        need(not any(self.centre[j] for j in self.free), "the intercept has a centre")
        prices = {j: Fraction(a, goal.unit) for j, a in zip(goal.columns, goal.linear, strict=True)}
        self.rows, self.signs, self.prices = (
            list[list[Fraction]](),
            list[Fraction](),
            list[Fraction](),
        )
        own = listed(points, "points")
        self.slacks = None if slacks is None else listed(slacks, "slacks", len(own))
        need(slacks is None or b is None, "slacks beside an intercept that is no column")
        for place, part in enumerate(own):
            self.read(model, part, prices, f"point {place}")
        need(not any(prices.values()), "something else is priced, or a point is there twice")
        self.beside = [self.side(model, part) for part in listed(beside, "beside")]
        need(caps is None or self.slacks is not None, "caps without slacks")
        self.conflicts = [self.conflict(part) for part in listed(conflicts, "conflicts")]
        self.by_rows = max((N for own, N, _ in self.conflicts if not own), default=ZERO)
        self.caps = [self.capped(part) for part in listed(caps, "caps")]
        lines = [*zip(self.rows, self.signs, strict=True), *((g, ZERO) for g, _ in self.beside)]
        moved = [
            [(a - (row[self.free[0]] if self.free else s) * c) / u
             for a, c, u in zip(row, self.centre, self.units, strict=True)]
            for row, s in lines
        ]  # fmt: skip
        flat, self.unit = whole([value for row in moved for value in row])
        cut = [flat[at : at + k] for at in range(0, len(flat), k)]
        self.flat, self.lines = cut[: len(own)], cut[len(own) :]
        self.sizes = [[abs(value) for value in row] for row in cut]
        self.m, self.of_m = whole([c / u**2 for c, u in zip(self.square, self.units, strict=True)])
        self.whole_prices, self.of_prices = whole(self.prices)

    def read(self, model: Model, part: Any, prices: Vector, where: str) -> None:
        """A point and what it costs, which is taken out of the prices."""
        i, z, *curved = listed(part, where)
        low = model.lower[index(z, model.n, where)]
        if curved:
            body, way, end = model.sided(i, curved[0], where)
            need(len(curved) == 1 and all(z in pair for pair in body.pairs), f"{where}: products")
            row = {j: Fraction(-way * a, body.unit)
                   for j, a in zip(body.columns, body.linear, strict=True)}  # fmt: skip
            side: End = way * (Fraction(body.constant, body.unit) - end)
        else:
            line = model.rows[index(i, len(model.rows), where)]
            side, high = model.sides[i]
            way = -1 if side is None else 1
            row = {j: Fraction(way * a, model.unit) for j, a in line.items()}
            side = -high if side is None and high is not None else side
        if side is None or side <= 0:
            raise ProofError(f"{where}: the row has no positive lower side")
        need(z in model.integer and low is not None and low >= 0, f"{where}: z may be between")
        need(z not in self.place and z != self.intercept, f"{where}: another column")
        price = prices.pop(z, ZERO)
        if self.slacks is not None:
            price = self.slope(model, self.slacks[len(self.rows)], row, side, price, prices, where)
        known = {j for j, a in row.items() if a} <= {*self.columns, self.intercept, z}
        need(known, f"{where}: another column")
        self.rows.append([row.get(j, ZERO) / side for j in self.columns])
        sign = ZERO if self.intercept is None else row.get(self.intercept, ZERO) / side
        need(abs(sign) == (self.intercept is not None), f"{where}: another intercept")
        self.signs.append(sign)
        self.prices.append(price)
        need(price >= 0, f"{where}: a negative price")

    def slope(
        self, model: Model, xi: Any, row: Vector, side: Fraction, cap: Fraction, prices: Vector,
        where: str,
    ) -> Fraction:  # fmt: skip
        """What a unit of a margin costs by a slack, which is taken out of its row."""
        low = model.lower[index(xi, model.n, where)]
        need(low is not None and low >= 0, f"{where}: a negative slack")
        need(xi not in self.place and xi != self.intercept, f"{where}: another column")
        unit = row.pop(xi, ZERO) / side
        need(unit > 0, f"{where}: a slack of no use")
        price = prices.pop(xi, ZERO) / unit
        need(cap == 2 * price, f"{where}: z costs something else than a loss of 2")
        return price

    def side(self, model: Model, part: Any) -> tuple[list[Fraction], Fraction]:
        """g and s of a row g'w <= s, or of a limit."""
        kind, i, which = listed(part, "beside", 3)
        need(kind in ("row", "column") and which in ("lower", "upper"), "beside: no such side")
        if kind == "row":
            line = model.rows[index(i, len(model.rows), "beside")]
            row, ends = {j: Fraction(a, model.unit) for j, a in line.items() if a}, model.sides[i]
        else:
            row = {index(i, model.n, "beside"): Fraction(1)}
            ends = model.lower[i], model.upper[i]
        way, end = (1, ends[1]) if which == "upper" else (-1, ends[0])
        need(row.keys() <= self.place.keys(), "beside: another column")
        if end is None:
            raise ProofError("beside: no such side")
        return [way * row.get(j, ZERO) for j in self.columns], way * end

    def combined(self, words: str, part: Any, most: list[Fraction] | None) -> Any:
        """Points, multipliers, their sum less what rows allow, the vector they make, the rest."""
        points, multipliers, *rest, rows = fields(part, words, "a conflict")
        own = [index(i, len(self.rows), "a conflict") for i in listed(points, "a conflict")]
        alpha = [number(v, "a conflict") for v in listed(multipliers, "a conflict", len(own))]
        need(min(alpha, default=1) > 0 and len({*own}) == len(own), "a conflict of no multipliers")
        alpha = [a if most is None else min(a, most[i]) for i, a in zip(own, alpha, strict=True)]
        of_rows = vector(rows, len(self.beside), "a conflict")
        need(min(of_rows.values(), default=0) >= 0, "a conflict of no multipliers")
        terms = [
            (a, self.rows[i], self.signs[i], Fraction(1)) for i, a in zip(own, alpha, strict=True)
        ]
        terms += [(-a, self.beside[k][0], ZERO, self.beside[k][1]) for k, a in of_rows.items()]
        pull = [a * (row[self.free[0]] if self.free else s) for a, row, s, _ in terms]
        up, down = sum((p for p in pull if p > 0), ZERO), -sum((p for p in pull if p < 0), ZERO)
        terms = [(a * min(up, down) / (up if p > 0 else down) if p else a, row, s, end)
                 for p, (a, row, s, end) in zip(pull, terms, strict=True)]  # fmt: skip
        total = sum((a * end for a, _, _, end in terms), ZERO)
        along = [
            sum((a * row[j] for a, row, _, _ in terms), ZERO) for j in range(len(self.columns))
        ]
        return own, total, [(s**2 / c) for s, c in zip(along, self.square, strict=True) if c], rest

    def conflict(self, part: Any) -> tuple[list[int], Fraction, Fraction | None]:
        """Points, what keeping all of them costs, and the least price of one."""
        own, total, squares, _ = self.combined("points multipliers | rows", part, None)
        need(total > 0 and sum(squares) > 0, "a conflict of no length")
        return own, total**2 / sum(squares), min((self.prices[i] for i in own), default=None)

    def capped(self, part: Any) -> tuple[set[int], Fraction]:
        """Points, and what every hyperplane costs if the loss of these alone is capped."""
        words = "points multipliers capped | rows"
        own, total, squares, (capped,) = self.combined(words, part, self.prices)
        chosen = [index(i, len(self.rows), "caps") for i in listed(capped, "caps")]
        need(len({*own, *chosen}) == len(own) + len(chosen), "caps: a point twice")
        paid = 2 * sum((self.prices[i] for i in chosen), ZERO)
        return {*chosen}, total - sum(squares) / 4 + paid

    def closed(self, lower: End) -> None:
        """Stop unless `lower` is proven of w = 0 and of all directions."""
        if lower is None:
            raise ProofError("directions prove a `lower`, and there is none")
        self.lower = lower
        sides = [[i for i, s in enumerate(self.signs) if s == sign] for sign in (1, -1, 0)]
        groups = sides[2:] if self.intercept is None else sides[:2]
        self.given_up = min(sum((self.prices[i] for i in group), ZERO) for group in groups)
        away = any(s < 0 for _, s in self.beside)
        need(away or self.given_up >= self.lower, "w = 0 costs less than `lower`")
        k, bits, start = len(self.columns), self.bits, 0
        need(type(bits) is str and not bits.strip("01"), "the bits are no bits")
        level = [([s << 40 if i == j else 0 for i in range(k)],
                  [0 if i == j else 1 << 40 for i in range(k)])
                 for j in range(k) for s in (-1, 1)]  # fmt: skip
        while level:
            need(len(bits) >= start + len(level), "bits are missing")
            halved = []
            for place, (centre, half) in enumerate(level, start):
                if bits[place] == "0":
                    self.leaf(centre, half, groups, f"box {place}")
                    continue
                edge = half.index(max(half))
                need(half[edge] > 1, f"box {place} is too small to be halved")
                short = [h // 2 if j == edge else h for j, h in enumerate(half)]
                for s in (-1, 1):
                    at = [c + s * short[j] if j == edge else c for j, c in enumerate(centre)]
                    halved.append((at, short))
            start, level = start + len(level), halved
        need(start == len(bits), "bits are left")

    def leaf(self, centre: list[int], half: list[int], groups: list[list[int]], where: str) -> None:
        """Stop unless `lower` is proven in the cone of a box."""
        least = [max(abs(c) - h, 0) for c, h in zip(centre, half, strict=True)]
        # A factor t is counted in 1 / (2^40 unit), so that t U is its whole numbers' product.
        m = sum(c * v * v for c, v in zip(self.m, least, strict=True)) * self.unit**2
        ends = self.factors(centre, half)
        if ends is None:
            return
        at = [inner(a, centre) for a in self.flat]
        wide = [inner(b, half) for b in self.sizes[: len(at)]]
        U = [c + h for c, h in zip(at, wide, strict=True)]
        if self.slacks is None:
            proven = self.thresholds_cost(U, m, ends, groups)
        else:
            left = self.cheap_factors(U, m, ends)
            L = [c - h for c, h in zip(at, wide, strict=True)]
            proven = left is None or any(self.by_caps(U, L, left, *caps) for caps in self.caps)
        need(proven, f"less than `lower` is proven in {where}")

    def factors(self, centre: list[int], half: list[int]) -> tuple[Fraction, End] | None:
        """The ends of the factors that the rows beside leave, or None where there are none."""
        low, high = ZERO, limit(None, "")
        sizes = self.sizes[len(self.flat) :]
        for line, size, (_, s) in zip(self.lines, sizes, self.beside, strict=True):
            least = inner(line, centre) - inner(size, half)
            if s < 0:
                if least >= 0:
                    return None
                low = max(low, s / least)
            elif least > 0:
                high = s / least if high is None else min(high, s / least)
        return None if high is not None and (low > high or not high) else (low, high)

    def thresholds_cost(
        self, U: list[int], m: int, ends: tuple[Fraction, End], groups: list[list[int]]
    ) -> bool:
        """Whether whatever is kept in a box costs `lower`, and a class that is given up whole."""
        low, high = ends
        square = max(m * low * low / self.of_m, self.by_rows)
        if self.given_up + square < self.lower:
            return False
        reach = 1 if self.intercept is None else 2
        near = [[min((U[i] for i in own if i in group), default=None) for group in map(set, groups)]
                for own, _, _ in self.conflicts]  # fmt: skip
        # Prices are whole multiples of 1 / of_prices, what is left of `lower` one of 1 / unit.
        over = self.lower.denominator
        unit, asked = self.of_prices * over, self.lower.numerator * self.of_prices
        by_square, far = floor(square * unit), ceil((self.lower - square) * self.of_prices)
        known = [(at, floor(kept * unit), None if price is None else int(price * unit))
                 for at, (_, kept, price) in zip(near, self.conflicts, strict=True)]  # fmt: skip
        first, *rest = [self.thresholds(U, group, far) for group in groups]

        def costs(width: int, left: int) -> bool:
            """Whether the square costs at least what is left, at so wide a margin."""
            return left <= by_square or m * reach**2 * unit >= left * self.of_m * width * width

        for g, paid in first:
            for h, more in rest[0] if rest else [(0, 0)]:
                left, width = asked - (paid + more) * over, g + h
                if left <= by_square:
                    break
                if width <= 0 or (high is not None and reach > high * width):
                    continue
                if costs(width, left):
                    continue
                if not any(
                    all(v is None or e <= v for e, v in zip((g, h), at, strict=False))
                    and left <= kept
                    and (price is None or costs(width, left - price))
                    for at, kept, price in known
                ):
                    return False
        return True

    def thresholds(self, U: list[int], group: list[int], most: int) -> list[tuple[int, int]]:
        """What the points of a group are kept from on, and the prices of those below."""
        found, paid = [], 0
        for i in sorted(group, key=U.__getitem__):
            if paid >= most:
                break
            found.append((U[i], paid))
            paid += self.whole_prices[i]
        return found

    def cheap_factors(
        self, U: list[int], m: int, ends: tuple[Fraction, End]
    ) -> tuple[Fraction, End] | None:
        """An interval of the factors at which less than `lower` is proven, or None."""
        low, high = ends
        prices, over = self.whole_prices, self.lower.denominator
        asked = self.lower.numerator * self.of_prices
        curve = m * self.of_prices * over
        turns = sorted((i for i in range(len(U)) if U[i] and prices[i]), key=lambda i: -abs(U[i]))
        flat, slope = sum(prices), sum(p * u for p, u in zip(prices, U, strict=True))
        start, found = ZERO, list[tuple[Fraction, End]]()
        for i in [*turns, None]:
            end = None if i is None else Fraction(1, abs(U[i]))
            # curve t^2 - fall t + rest is a positive multiple of the proven cost less `lower`.
            fall, rest = slope * self.of_m * over, (flat * over - asked) * self.of_m
            part = below_zero(curve, fall, rest, max(start, low), lesser(end, high))
            found += [] if part is None else [part]
            if i is not None:
                start, slope = Fraction(1, abs(U[i])), slope - prices[i] * U[i]
                flat += prices[i] if U[i] < 0 else -prices[i]
        if not found:
            return None
        far = [end for _, end in found if end is not None]
        return min(begin for begin, _ in found), max(far) if len(far) == len(found) else None

    def by_caps(
        self,
        U: list[int],
        L: list[int],
        ends: tuple[Fraction, End],
        capped: set[int],
        value: Fraction,
    ) -> bool:
        """Whether caps prove `lower` at the factors of an interval."""
        end = ends[0] if ends[1] is None else ends[1]
        unit = 1 << max(0, 80 + end.denominator.bit_length() - end.numerator.bit_length())
        low, high, lost = floor(ends[0] * unit), ceil(end * unit), 0
        for i, p in enumerate(self.whole_prices):
            endless = ends[1] is None and (U[i] > 0 if i in capped else L[i] < 0)
            if endless and i not in capped:
                return False
            if endless:
                lost += 2 * p * unit
            elif i in capped:
                lost += p * min(max(unit + (high if U[i] > 0 else low) * U[i], 0), 2 * unit)
            elif L[i] < 0:
                lost += p * max(0, -unit - high * L[i])
        return value - self.lower >= Fraction(lost, unit * self.of_prices)


def lesser(a: End, b: End) -> End:
    """The lesser of two ends, of which None is none."""
    return b if a is None else a if b is None else min(a, b)


def below_zero(a: int, b: int, c: int, low: Fraction, high: End) -> tuple[Fraction, End] | None:
    """An interval of the t from low to high with a t^2 - b t + c < 0, or None; a >= 0."""
    if high is not None and low > high:
        return None
    if not a:
        ends = (low,) if high is None else (low, high)
        rises = high is not None or b <= 0
        return None if rises and all(c >= b * t for t in ends) else (low, high)
    inside = b * b - 4 * a * c
    if inside <= 0:
        return None
    root = isqrt(inside) + 1
    begin, end = Fraction(b - root, 2 * a), Fraction(b + root, 2 * a)
    low, last = max(low, begin), end if high is None else min(end, high)
    return None if low > last else (low, last)


# --- packings ------------------------------------------------------------------------------------


Conflict = tuple[list[int], int, int, int]  # points, those to be kept and given up as bits, cost


class Packings(Cones):
    """A loss over trees of points that are kept or given up; conflicts close their leaves.

    Columns and points are read as those of cones, of which nothing else is used.
    """

    def __init__(self, model: Model, entry: Any) -> None:
        words = "columns intercept points conflicts nodes | parts"
        columns, b, points, conflicts, nodes, parts = fields(entry, words, "packings")
        k = len(listed(columns, "columns"))
        own = {"columns": columns, "intercept": b, "points": points, "bits": "", "conflicts": []}
        super().__init__(model, own | {"units": ["1"] * k, "centre": ["0"] * k})
        need(not self.free, "a column costs nothing")
        flat, self.unit = whole([value for row in self.rows for value in row])
        self.flat = [flat[at : at + k] for at in range(0, len(flat), k)]
        self.weights, self.of_weights = whole([1 / c for c in self.square])
        self.trees, self.shares = list[Any](), list[Fraction]()
        if parts is None:
            self.trees.append((self.prices, listed(conflicts, "conflicts"), listed(nodes, "nodes")))
            return
        need(parts and not conflicts and not nodes, "parts are beside another tree, or none")
        self.split(listed(parts, "parts"))

    def split(self, parts: list[Any]) -> None:
        """A tree for each part, in which its points cost more and all others nothing."""
        seen = set[int]()
        for k, part in enumerate(parts):
            words, where = "points lower conflicts nodes", f"part {k}"
            points, lower, conflicts, nodes = fields(part, words, where)
            own = [index(i, len(self.prices), where) for i in listed(points, where)]
            need(len({*own} - seen) == len(own), f"{where}: a point is in two parts")
            seen |= {*own}
            prices = [len(parts) * p if i in own else ZERO for i, p in enumerate(self.prices)]
            self.trees.append((prices, listed(conflicts, where), listed(nodes, where)))
            self.shares.append(number(lower, where))

    def cost(self, part: Any, most: int, scale: int, where: str) -> Conflict:
        """Its points, and what meeting their rows costs, times `scale`: at most `most`."""
        entries = vector(part, len(self.rows), where)
        (alpha,), _ = whole_vectors([entries])
        above, below = (sum(1 << i for i, a in alpha.items() if a * s > 0) for s in (1, -1))
        if self.intercept is not None:
            pull = {i: a * int(self.signs[i]) for i, a in alpha.items()}
            up = sum(v for v in pull.values() if v > 0)
            down = up - sum(pull.values())
            alpha = {i: a * (down if pull[i] > 0 else up) for i, a in alpha.items()}
        total, length2 = sum(alpha.values()), 0
        lines = [self.flat[i] for i in alpha]
        if total > 0:
            for e, line in zip(self.weights, zip(*lines, strict=True), strict=True):
                length2 += e * sum(map(mul, alpha.values(), line)) ** 2
            reach = (total * self.unit) ** 2 * self.of_weights * scale
            most = most if reach >= most * length2 else reach // length2
        return list(alpha), above, below, most if total > 0 else 0

    def leaves(self, most: Fraction, tree: int = 0) -> Any:
        """Name and bound of each leaf, `most` where it is more; rounded down but for `most`."""
        prices, conflicts, nodes = self.trees[tree]
        (top, _, *self.costs), scale = whole([most, Fraction(1, FINE), *prices])
        top = max(top, 0)
        known = [self.cost(part, top, scale, f"conflict {k}")
                 for k, part in enumerate(conflicts)]  # fmt: skip
        open_nodes = [(0, 0, 0)]  # points that are kept and given up, as bits, and their prices
        for place, node in enumerate(nodes):
            where = f"node {place}"
            need(open_nodes, f"{where} belongs to nothing")
            kept, gone, paid = open_nodes.pop()
            if type(node) is list:
                chain = [known[index(k, len(known), where)] for k in node]
                yield where, Fraction(self.bound(chain, kept, gone, paid, top, where), scale)
                continue
            bit = 1 << index(node, len(self.costs), where)
            need(not (kept | gone) & bit, f"{where}: point {node} is decided")
            open_nodes += [(kept, gone | bit, paid + self.costs[node]), (kept | bit, gone, paid)]
        need(not open_nodes, "the tree of kept points is not complete")

    def bound(
        self, chain: list[Conflict], kept: int, gone: int, paid: int, most: int, where: str
    ) -> int:
        """The least cost of what the node keeps and gives up: some conflict is the first kept."""
        used = 0
        for points, above, below, cost in chain:
            need(not below & ~gone, f"{where}: a row of a point that is not given up there")
            need(not above & gone, f"{where}: a conflict of a point that is given up")
            free = above & ~kept
            need(not free & used, f"{where}: a point in two conflicts")
            most = min(most, paid + cost)
            if not free:
                return most
            used |= free
            paid += min(self.costs[i] for i in points if free >> i & 1)
        return min(most, paid)

    def closed(self, lower: End) -> None:
        """Stop unless `lower` is proven in all leaves, or by parts together."""
        if lower is None:
            raise ProofError("conflicts prove a `lower`, and there is none")
        shares = self.shares or [lower]
        need(sum(shares) >= lower * len(shares), "the parts prove less than `lower` together")
        for k, least in enumerate(shares):
            for where, found in self.leaves(least, k):
                need(found >= least, f"less than `lower` is proven at {where}")


def one_way(
    known: Tree, others: tuple[Any, Any], directions: Any, directed: Any, packed: Any
) -> Directions | Cones | Packings | None:
    """What a file proves `lower` by in the place of others, if it does."""
    given = sum(entry is not None for entry in (directions, directed, packed))
    alone = given == 1 and others == (None, None)
    need(alone or not given, "there are two proofs of the bound")
    if directions is not None:
        return covered(known, directions)
    if directed is not None:
        return Cones(known.given, directed)
    return None if packed is None else Packings(known.given, packed)


# --- the claim -----------------------------------------------------------------------------------


class Proof:
    """A proof file, checked from its first part to its last."""

    def __init__(self, document: Any) -> None:
        words = "schema model claim | point ray cutoff about"
        words += " curvature cones steps bound tree directions directed packed"
        found = fields(document, words, "the file")
        schema, model, claim, point, ray, below, _, curvature, cones, steps = found[:10]
        bound, tree, directions, directed, packed = found[10:]
        need(schema == SCHEMA, f"the schema is not {SCHEMA!r}")
        self.model = ModelWithTerms(model)
        self.kind, low, high, allowed = fields(claim, "kind | lower upper absolute_gap", "claim")
        self.lower, self.upper = limit(low, "lower"), limit(high, "upper")
        self.allowed = number("0" if allowed is None else allowed, "absolute_gap")
        need(self.allowed >= 0, "absolute_gap is negative")
        given = (self.lower is not None) + (self.upper is not None)
        counts = {"optimum": (2,), "bounds": (1, 2), "infeasible": (0,), "unbounded": (0,)}
        need(given in counts.get(str(self.kind), ()), "the claim is of no known kind")
        if self.kind == "unbounded" or self.upper is not None:
            n = self.model.n
            x = self.model.feasible([number(v, "the point") for v in listed(point, "point", n)])
            if self.kind == "unbounded":
                self.model.recedes(x, [number(v, "the ray") for v in listed(ray, "ray", n)])
                return
            cost = self.model.objective.value(x)
            need(self.upper is not None and cost <= self.upper, "the point costs more than `upper`")
        if self.kind == "infeasible" or self.lower is not None:
            cutoff = self.upper if below is None else number(below, "cutoff")
            known = Tree(self.model, cutoff)
            parts = ((curvature, known.curve), (cones, known.cone), (steps, known.step))
            for entries, use in parts:
                for k, part in enumerate(listed(entries, use.__name__)):
                    use(part, f"{use.__name__} {k}")
            way = one_way(known, (bound, tree), directions, directed, packed)
            if way is None:
                known.closed(bound, tree, self.lower)
            else:
                way.closed(self.lower)
        need(self.kind != "optimum" or self.closed(), "the gap is not closed")

    def gap(self) -> tuple[Fraction, Fraction]:
        """upper - lower, and what it is measured against."""
        upper, lower = self.upper or ZERO, self.lower or ZERO
        return upper - lower, self.model.measure(lower, upper)

    def closed(self) -> bool:
        """Whether the gap is what CERTIFIED allows, or what the file asks to be allowed."""
        return self.gap()[0] <= max(CLOSED * self.gap()[1], self.allowed)

    @property
    def by_allowance(self) -> bool:
        """Whether the claim rests on what the file asks to be allowed."""
        gap, unit = self.gap()
        return None not in (self.lower, self.upper) and CLOSED * unit < gap <= self.allowed


# --- the door ------------------------------------------------------------------------------------


def shown(value: Fraction) -> str:
    """A number for people."""
    try:
        return repr(float(value))
    except OverflowError:
        return "a number beyond all doubles"


def told(proof: Proof) -> list[str]:
    """What is proven, for people."""
    model, (gap, unit) = proof.model, proof.gap()
    integer = f" ({len(model.integer)} integer)" if model.integer else ""
    linear, quadratic = len(model.rows), len(model.quadratic)
    sizes = f"{model.n} columns{integer}, {linear} linear, {quadratic} quadratic and "
    lines = [f"model: {sizes}{len(model.psd)} semidefinite rows"]
    if proof.kind in ("infeasible", "unbounded"):
        said = {"infeasible": "has no feasible point", "unbounded": "has no least value"}
        return [*lines, f"PROVEN: the model {said[proof.kind]} (CERTIFIED)"]
    for end, side in ((proof.lower, "at least"), (proof.upper, "at most")):
        if end is not None:
            lines.append(f"PROVEN: the minimum is {side} {shown(end + model.constant)}")
    if proof.lower is not None and proof.upper is not None:
        verdict = "CERTIFIED" if proof.closed() else "not closed"
        if proof.by_allowance:
            verdict += f" only by the absolute gap of {shown(proof.allowed)} that the file allows"
        share = shown(gap / unit if unit else ZERO)
        lines.append(f"gap: {shown(gap)}, which is {share} of {shown(unit)}: {verdict}")
    return lines


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which no key stands twice."""
    found = dict(pairs)
    need(len(found) == len(pairs), "a key stands twice in one object")
    return found


def read(path: str, largest: int = LARGEST_FILE) -> Any:
    """The document in a file."""
    with gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb") as file:
        content = file.read(largest + 1)
    need_room(len(content) <= largest, f"the file holds more than {largest} bytes (--size-limit)")
    return json.loads(content, object_pairs_hook=unique)


def check(document: Any) -> Proof:
    """The proof that a document holds.

    Raises
    ------
    ProofError
        Something in it is not proven.
    """
    try:
        return Proof(document)
    except MemoryError:
        raise LimitError("memory ran out") from None
    except (RecursionError, OverflowError, TypeError, ValueError) as error:
        raise ProofError(f"it cannot be read: {type(error).__name__}: {error}"[:300]) from None


def check_file(path: str, seconds: float = LONGEST_TIME, largest: int = LARGEST_FILE) -> Proof:
    """The proof that a file holds, within limits of time and size.

    Raises
    ------
    ProofError
        Something in it is not proven; a LimitError where a limit was reached before.
    """
    ends = list[Any]()

    def run() -> None:
        try:
            ends.append(check(read(path, largest)))
        except BaseException as error:  # raised again below
            ends.append(error)

    worker = threading.Thread(target=run, daemon=True)  # it ends with the program
    worker.start()
    worker.join(seconds)
    if not ends:
        raise LimitError(f"it takes longer than {seconds:g} seconds (--time-limit)")
    if isinstance(ends[0], BaseException):
        raise ends[0]
    proof: Proof = ends[0]
    return proof


def main(arguments: list[str]) -> int:
    """Check one file; 0 where everything is proven."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("checker.py", description=__doc__, formatter_class=plain)
    parser.add_argument("file", metavar="FILE", help="a proof file, .json or .json.gz")
    add = parser.add_argument
    said = f"of the file once unpacked; {LARGEST_FILE} by default"
    add("--size-limit", type=int, default=LARGEST_FILE, metavar="BYTES", help=said)
    said = f"until it is given up; {LONGEST_TIME:g} by default"
    add("--time-limit", type=float, default=LONGEST_TIME, metavar="SECONDS", help=said)
    asked = parser.parse_args(arguments)
    if not (0 < asked.time_limit <= threading.TIMEOUT_MAX and asked.size_limit > 0):
        parser.error("--time-limit and --size-limit are positive numbers")
    try:
        proof = check_file(asked.file, asked.time_limit, asked.size_limit)
    except FileNotFoundError:
        parser.error(f"{asked.file}: there is no such file")
    except Exception as error:  # whatever a damaged file may cause ends in one line
        undecided = isinstance(error, LimitError)
        said = "" if isinstance(error, ProofError) else f"cannot be read: {type(error).__name__}: "
        line = f"{'UNDECIDED' if undecided else 'REJECTED'}: {said}{error}"
        print(line[:300].replace("\n", " "))
        return LIMIT_REACHED if undecided else 1
    print("\n".join(told(proof)))
    return BY_ALLOWANCE if proof.by_allowance else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
