"""A second decision on proof files, from the format alone: it shares no line with the first one.

Numbers are intervals of multiples of 2^-2400 with outward rounding, beside their residues modulo
two primes, by which an interval around 0 is told from 0 itself. Matrices are numpy arrays of such
numbers, dense; a bound is taken column by column from the whole Lagrangian, and semidefiniteness by
elimination with the largest pivot first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BITS = 2400
ONE = 1 << BITS
PRIMES = (2**61 - 1, 2**89 - 1)


class RefusedError(Exception):
    """The file is not proven."""


def ask(condition: object, why: str = "") -> None:
    if not condition:
        raise RefusedError(why)


class Number:
    """An interval, and what is known of the number modulo primes."""

    __slots__ = ("high", "low", "residues")

    def __init__(self, low: int, high: int, residues: tuple[int, ...]) -> None:
        self.low, self.high, self.residues = low, high, residues

    @classmethod
    def ratio(cls, above: int, below: int) -> Number:
        ask(below, "a division by 0")
        if below < 0:
            above, below = -above, -below
        residues = tuple(above * pow(below, -1, p) % p for p in PRIMES)
        return cls((above << BITS) // below, -((-above << BITS) // below), residues)

    def __add__(self, other: Any) -> Number:
        b = number(other)
        residues = tuple(
            (x + y) % p for x, y, p in zip(self.residues, b.residues, PRIMES, strict=True)
        )
        return Number(self.low + b.low, self.high + b.high, residues)

    def __neg__(self) -> Number:
        residues = tuple(-x % p for x, p in zip(self.residues, PRIMES, strict=True))
        return Number(-self.high, -self.low, residues)

    def __sub__(self, other: Any) -> Number:
        return self + (-number(other))

    def __rsub__(self, other: Any) -> Number:
        return number(other) - self

    def __mul__(self, other: Any) -> Number:
        b = number(other)
        ends = [x * y for x in (self.low, self.high) for y in (b.low, b.high)]
        residues = tuple(
            x * y % p for x, y, p in zip(self.residues, b.residues, PRIMES, strict=True)
        )
        return Number(min(ends) >> BITS, -(-max(ends) >> BITS), residues)

    def __truediv__(self, other: Number) -> Number:
        sign = other.sign()
        ask(sign, "a division by 0")
        low, high = sorted((abs(other.low), abs(other.high)))
        inverse = [ONE * ONE // high, -(-ONE * ONE // low)]
        residues = tuple(pow(x, -1, p) for x, p in zip(other.residues, PRIMES, strict=True))
        if sign < 0:
            inverse = [-inverse[1], -inverse[0]]
        return self * Number(*inverse, residues)

    __radd__, __rmul__ = __add__, __mul__

    def sign(self) -> int:
        if self.low > 0:
            return 1
        if self.high < 0:
            return -1
        ask(not any(self.residues), "a sign that cannot be told")
        return 0


ZERO = Number(0, 0, (0, 0))


def number(value: Any) -> Number:
    return value if isinstance(value, Number) else Number.ratio(int(value), 1)


def digits(text: str) -> int:
    """A whole number: no more than the sixteen digits is known."""
    base, body = (16, text[2:]) if text.startswith("0x") else (10, text)
    ask(body and set(body) <= set("0123456789abcdef"[:base]), "no digits")
    ask(base == 16 or (len(body) <= 4300 and (body == "0" or body[0] != "0")), "no decimals")
    return int(body, base)


def read(text: Any) -> Number:
    ask(isinstance(text, str) and len(text) <= 1 << 16, "no number")
    if "p" in text:
        try:
            ask(float.fromhex(text).hex() == text, "no double")
        except (ValueError, OverflowError) as error:
            raise RefusedError(str(error)) from None
        return Number.ratio(*float.fromhex(text).as_integer_ratio())
    minus = text[:1] == "-"
    above, *below = (digits(part) for part in text[minus:].split("/"))
    ask(len(below) <= 1 and (above or not minus), "no number")
    return Number.ratio(-above if minus else above, below[0] if below else 1)


def end(text: Any) -> Number | None:
    return None if text is None else read(text)


def keys(entry: Any, must: str, may: str = "") -> dict[str, Any]:
    ask(isinstance(entry, dict), "no object")
    ask(set(must.split()) <= set(entry) <= {*must.split(), *may.split()}, "wrong keys")
    return entry


def many(entry: Any) -> list[Any]:
    ask(entry is None or isinstance(entry, list), "no list")
    return entry or []


def place(entry: Any, size: int) -> int:
    ask(isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry < size, "no index")
    return int(entry)


def spread(entry: Any, size: int) -> np.ndarray:
    """A vector, dense."""
    found = np.full(size, ZERO, dtype=object)
    seen = set()
    for pair in many(entry):
        ask(isinstance(pair, list) and len(pair) == 2, "no pair")
        ask(place(pair[0], size) not in seen, "twice")
        seen.add(pair[0])
        found[pair[0]] = read(pair[1])
    return found


def symmetric(entry: Any, size: int, off: Callable[[Number], Number]) -> np.ndarray:
    """A symmetric matrix, dense; `off` is applied to entries off the diagonal."""
    found = np.full((size, size), ZERO, dtype=object)
    seen = set()
    for part in many(entry):
        ask(isinstance(part, list) and len(part) == 3, "no triple")
        i, j = place(part[0], size), place(part[1], size)
        ask(i >= j and (i, j) not in seen, "above the diagonal or twice")
        seen.add((i, j))
        value = read(part[2])
        found[i, j] = found[j, i] = value if i == j else off(value)
    return found


HALF = Number.ratio(1, 2)


def half(value: Number) -> Number:
    return value * HALF


def dot(a: np.ndarray, b: np.ndarray) -> Number:
    pairs = (
        (x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True) if x is not ZERO and y is not ZERO
    )
    return sum((x * y for x, y in pairs), ZERO)


def times(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    found = np.full(len(matrix), ZERO, dtype=object)
    for i, line in enumerate(matrix):
        found[i] = dot(line, x)
    return found


def clean(matrix: np.ndarray) -> np.ndarray:
    """A copy in which all zeros are the same object."""
    found = matrix.copy()
    for i, value in enumerate(found.flat):
        if value.low == value.high == 0:
            found.flat[i] = ZERO
    return found


def psd(matrix: np.ndarray, squares: Any = None) -> None:
    """Refuse a matrix that is not semidefinite."""
    M = clean(matrix)
    for part in many(squares):
        ask(isinstance(part, list) and len(part) == 2, "no square")
        weight, line = read(part[0]), spread(part[1], len(M))
        ask(weight.sign() >= 0, "a negative weight")
        at = [i for i, value in enumerate(line) if value is not ZERO]
        for i in at:
            for j in at:
                M[i, j] = M[i, j] - weight * line[i] * line[j]
    left = [i for i in range(len(M)) if any(value is not ZERO for value in M[i])]
    while left:
        k = max(left, key=lambda i: M[i, i].low)
        sign = M[k, k].sign()
        ask(sign >= 0, "a negative pivot")
        left.remove(k)
        if sign == 0:
            # The largest of all, so that nothing may be left.
            ask(all(M[i, j].sign() == 0 for i in [*left, k] for j in [*left, k]), "indefinite")
            return
        touched = [i for i in left if M[i, k] is not ZERO and M[i, k].sign() != 0]
        ratios = {i: M[i, k] / M[k, k] for i in touched}
        for i in touched:
            for j in touched:
                M[i, j] = M[i, j] - ratios[i] * M[j, k]


WAYS = ("bound", "tree", "directions", "directed", "packed")


class File:
    """A document, decided."""

    terms: tuple[Any, ...] = ()

    def __init__(self, document: Any) -> None:
        parts = "point ray cutoff curvature cones steps bound tree directions directed packed about"
        keys(document, "schema model claim", parts)
        ask(document["schema"] == "tightmargin-proof/1", "another schema")
        self.load(document["model"])
        claim = keys(document["claim"], "kind", "lower upper absolute_gap")
        kind, lower, upper = claim["kind"], end(claim.get("lower")), end(claim.get("upper"))
        allowed = end(claim.get("absolute_gap")) or ZERO
        ask(allowed.sign() >= 0, "a negative allowance")
        count = sum(side is not None for side in (lower, upper))
        ask(
            (kind == "optimum" and count == 2)
            or (kind == "bounds" and count >= 1)
            or (kind in ("infeasible", "unbounded") and count == 0),
            "a claim of no kind",
        )
        self.upper = upper
        self.cutoff = upper if document.get("cutoff") is None else read(document["cutoff"])
        if upper is not None or kind == "unbounded":
            x = self.vector(document.get("point"))
            self.must_hold(x)
            if kind == "unbounded":
                self.must_fall(x, self.vector(document.get("ray")))
                return
            assert upper is not None
            ask((upper - self.at(self.objective, x)).sign() >= 0, "the point costs more")
        if kind == "infeasible" or lower is not None:
            self.derive(document, kind, lower)
        if kind == "optimum":
            assert upper is not None
            assert lower is not None
            gap = upper - lower
            closed = all(
                any(
                    (abs_of(value + self.constant - k) * Number.ratio(1, 10**6) - gap).sign() >= 0
                    for value in (lower, upper)
                )
                for k in (ZERO, self.whole_constant)
            )
            ask(closed or (allowed - gap).sign() >= 0, "the gap is open")

    def at_fixed_columns(self) -> Number:
        """What columns with one possible value add to the objective."""
        x = np.full(self.n, ZERO, dtype=object)
        for j, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if low is None or high is None:
                continue
            if j in self.integer:
                low, high = -below(-low), below(high)
            if (low - high).sign() == 0:
                x[j] = low
        return self.at(self.objective, x)

    def load(self, m: Any) -> None:
        keys(m, "variables lower upper integer objective rows quadratic psd", "terms")
        self.n = n = len(many(m["variables"]))
        self.low = [end(v) for v in many(m["lower"])]
        self.high = [end(v) for v in many(m["upper"])]
        ask(len(self.low) == len(self.high) == n, "limits")
        self.integer = [place(j, n) for j in many(m["integer"])]
        goal = keys(m["objective"], "constant linear products")
        self.constant = read(goal["constant"])
        self.objective = self.function(goal["products"], goal["linear"], ZERO)
        self.whole_constant = self.constant + self.at_fixed_columns()
        rows = [keys(row, "name lower upper linear") for row in many(m["rows"])]
        self.A = np.full((len(rows), n), ZERO, dtype=object)
        for i, row in enumerate(rows):
            self.A[i] = spread(row["linear"], n)
        self.sides = [(end(row["lower"]), end(row["upper"])) for row in rows]
        self.quadratic = []
        for row in many(m["quadratic"]):
            keys(row, "name lower upper constant linear products")
            body = self.function(row["products"], row["linear"], read(row["constant"]))
            self.quadratic.append((body, {"lower": end(row["lower"]), "upper": end(row["upper"])}))
        self.psd = []
        for row in many(m["psd"]):
            keys(row, "name order entries")
            order = place(row["order"], 1 << 20)
            slices = np.full((n + 1, order, order), ZERO, dtype=object)
            seen = set()
            for part in many(row["entries"]):
                ask(isinstance(part, list) and len(part) == 4, "no entry")
                i, j = place(part[0], order), place(part[1], order)
                ask(i >= j and (i, j) not in seen, "above the diagonal or twice")
                seen.add((i, j))
                line = [*spread(part[3], n), read(part[2])]
                slices[:, i, j] = slices[:, j, i] = line
            self.psd.append(slices)
        if m.get("terms") is not None:
            # It reads numbers as this file does.
            from tests.solvers.proof_files.exponential.second_terms import terms

            self.terms = terms(m["terms"], n)

    def function(self, products: Any, linear: Any, constant: Number) -> tuple[Any, ...]:
        return symmetric(products, self.n, half), spread(linear, self.n), constant

    def vector(self, entry: Any) -> np.ndarray:
        ask(len(many(entry)) == self.n, "coordinates")
        return np.array([read(v) for v in many(entry)] + [None], dtype=object)[:-1]

    def at(self, function: tuple[Any, ...], x: np.ndarray) -> Number:
        Q, a, c = function
        return dot(times(Q, x) + a, x) + c

    def matrix(self, k: int, x: np.ndarray, one: int) -> np.ndarray:
        *parts, constant = self.psd[k]
        found = constant if one else np.full(constant.shape, ZERO, dtype=object)
        for part, value in zip(parts, x, strict=True):
            if any(entry is not ZERO for entry in part.ravel()):
                found = found + part * value
        return found

    def must_hold(self, x: np.ndarray) -> None:
        values = [*x, *times(self.A, x), *(self.at(body, x) for body, _ in self.quadratic)]
        ends = [*zip(self.low, self.high, strict=True), *self.sides]
        ends += [(sides["lower"], sides["upper"]) for _, sides in self.quadratic]
        for value, (low, high) in zip(values, ends, strict=True):
            ask(low is None or (value - low).sign() >= 0, "below")
            ask(high is None or (high - value).sign() >= 0, "above")
        for j in self.integer:
            whole = Number.ratio(round(x[j].low / ONE) if x[j].low else 0, 1)
            ask((x[j] - whole).sign() == 0, "not whole")
        for term in self.terms:
            ask((x[term.column] - term.value(x)).sign() >= 0, "below a term")
        for k in range(len(self.psd)):
            psd(self.matrix(k, x, 1))

    def must_fall(self, x: np.ndarray, d: np.ndarray) -> None:
        ends = [*zip(self.low, self.high, strict=True), *self.sides]
        for term in self.terms:
            ask((d[term.column] - term.rise(d)).sign() >= 0, "falls below a term")
        changes = [*d, *times(self.A, d)]
        for body, sides in self.quadratic:
            changes += self.slopes(body, x, d)
            ends += [(sides["lower"], sides["upper"])] * 2
        for change, (low, high) in zip(changes, ends, strict=True):
            ask(low is None or change.sign() >= 0, "falls out")
            ask(high is None or change.sign() <= 0, "rises out")
        for k in range(len(self.psd)):
            psd(self.matrix(k, d, 0))
        bend, slope = (value.sign() for value in self.slopes(self.objective, x, d))
        ask(bend < 0 or (bend == 0 and slope < 0), "the objective does not fall")

    def slopes(self, body: tuple[Any, ...], x: np.ndarray, d: np.ndarray) -> list[Number]:
        Q, a, _ = body
        image = times(Q, d)
        return [dot(image, d), 2 * dot(image, x) + dot(a, d)]

    def sided(self, k: Any, side: Any) -> tuple[int, tuple[Any, ...], Number]:
        body, sides = self.quadratic[place(k, len(self.quadratic))]
        ask(side in ("lower", "upper") and sides[side] is not None, "no such side")
        return (1 if side == "upper" else -1), body, sides[side]

    def derive(self, document: dict[str, Any], kind: str, lower: Number | None) -> None:
        self.bends: dict[Any, np.ndarray] = {}
        self.tighten()
        for part in many(document.get("curvature")):
            keys(part, "of least", "squares")
            of, sign, body = part["of"], 1, self.objective
            if of != "objective":
                ask(isinstance(of, list) and len(of) == 2, "curvature of nothing")
                sign, body, _ = self.sided(*of)
                of = tuple(of)
            bend = spread(part["least"], self.n)
            M = sign * body[0]
            for j, value in enumerate(bend):
                if value is not ZERO:
                    M[j, j] = M[j, j] - value
            psd(M, part.get("squares"))
            self.bends[of] = bend
        self.cones: list[tuple[Any, ...]] = []
        for part in many(document.get("cones")):
            self.cones.append(self.cone(part))
        for part in many(document.get("steps")):
            self.step(part)
        if kind == "infeasible":
            ask(self.cutoff is None, "points beyond the cutoff")
        if lower is not None and self.cutoff is not None:
            ask((self.cutoff - lower).sign() >= 0, "a lower end above the cutoff")
        self.lower_end(document, lower)

    def lower_end(self, document: dict[str, Any], lower: Number | None) -> None:
        ways = [document.get(word) for word in WAYS]
        ask(sum(way is not None for way in ways) <= 1, "two proofs of the lower end")
        bound, tree, directions, directed, packed = ways
        if directed is not None or packed is not None:
            # They read numbers as this file does.
            from tests.solvers.proof_files.second_cones import Directed
            from tests.solvers.proof_files.second_packings import Packed

            ask(lower is not None, "cones and conflicts prove a lower end")
            assert lower is not None
            if packed is None:
                Directed(self, directed, lower)
            else:
                Packed(self, packed, lower)
        elif directions is not None:
            ask(lower is not None, "directions prove a lower end")
            assert lower is not None
            self.directions(directions, lower)
        elif tree is not None:
            keys(tree, "certificates nodes")
            self.boxes(many(tree["nodes"]), many(tree["certificates"]), lower)
        else:
            self.leaf(bound or {}, lower)

    def directions(self, entry: Any, lower: Number) -> None:
        """Refuse what does not bound f wherever the squares of w add up to enough."""
        keys(entry, "row certificates simplices normals inside beyond")
        goal, side, sign = self.objective, None, -1
        if entry["row"] != "objective":
            sign, (goal, ends) = 1, self.quadratic[place(entry["row"], len(self.quadratic))]
            side = ends["lower"]
            ask(side is not None, "no lower side")
        Q, a, c = clean(sign * goal[0]), goal[1], goal[2]
        w = [j for j in range(self.n) if any(value is not ZERO for value in Q[j])]
        cross = [Q[i, j] for i in w for j in w if i != j]
        ask(w and not any(value.sign() for value in [*a, *cross]), "no sum of squares")
        ask(all(Q[j, j].sign() > 0 for j in w), "no sum of squares")
        most = max((Q[j, j] for j in w), key=lambda value: value.low)
        least, corners = ZERO, []
        for part in many(entry["certificates"]):
            mu, k, r = self.open_at(part, w)
            ask((mu.sign() > 0) == (side is not None), "the wrong side of a bound")
            scale = mu if mu.sign() else Number.ratio(1, 1)
            least = min((least, k / scale), key=lambda value: value.low)
            corners.append([value / scale for value in r])
        far = self.surface(entry, corners, len(w))
        height = lower - least
        if side is None:
            ask((-most * least * least * far - lower).sign() >= 0, "less is proven")
            return
        length = (side - c) / most
        ask(length.sign() > 0, "w may be 0")
        enough = height.sign() <= 0 or (length - height * height * far).sign() >= 0
        ask(enough, "less is proven")

    def open_at(self, entry: Any, w: list[int]) -> tuple[Number, Number, list[Number]]:
        """mu, k and r_w: the columns of w are held at 0 and at the places of 1 in turn."""
        old = [(self.low[j], self.high[j]) for j in w]
        for j in w:
            self.low[j] = self.high[j] = ZERO
        mu, k = self.bound(entry, {})
        slopes = []
        for j in w:
            values = []
            for x in (Number.ratio(1, 1), Number.ratio(-1, 1)):
                self.low[j] = self.high[j] = x
                values.append(self.bound(entry, {})[1] - k)
            self.low[j] = self.high[j] = ZERO
            ask((values[0] + values[1]).sign() == 0, "a bend in w")
            slopes.append(values[0])
        for j, (low, high) in zip(w, old, strict=True):
            self.low[j], self.high[j] = low, high
        return mu, k, slopes

    @staticmethod
    def surface(entry: Any, corners: list[list[Number]], k: int) -> Number:
        """The square of the longest normal of simplices around 0."""
        parts, normals = many(entry["simplices"]), many(entry["normals"])
        ask(parts and len(parts) == len(normals), "planes of simplices")
        inside, q = ([read(v) for v in many(entry[word])] for word in ("inside", "beyond"))
        ask(len(inside) == len(q) == k and all(v.sign() > 0 for v in inside), "a point inside")
        ask(all((1 - product(u, q)).sign() >= 0 for u in corners), "a corner beyond")
        ridges: dict[frozenset[int], int] = {}
        longest, z = ZERO, list[Number]()
        for f, (part, normal) in enumerate(zip(parts, normals, strict=True)):
            own = frozenset(place(i, len(corners)) for i in many(part))
            ask(len(own) == len(part) == k, "corners of a simplex")
            for i in own:
                ridges[own - {i}] = ridges.get(own - {i}, 0) + 1
            p, at = [read(v) for v in many(normal)], [corners[i] for i in part]
            ask(len(p) == k and all((product(u, p) - 1).sign() >= 0 for u in at), "a plane")
            longest = max((longest, product(p, p)), key=lambda value: value.low)
            if f == 0:
                z = [product(inside, [u[j] for u in at]) for j in range(k)]
                ask(cramer(at, z) is not None, "a flat simplex")
            elif (product(p, z) - product(q, z)).sign() >= 0:
                found = cramer(at, z)
                ask(found is not None and any(v.sign() < 0 for v in found), "the same ray")
        ask(all(count % 2 == 0 for count in ridges.values()), "an open surface")
        return longest

    def tighten(self) -> None:
        """Whole numbers as limits of integer columns."""
        for j in self.integer:
            if self.low[j] is not None:
                self.low[j] = -below(-self.low[j])
            if self.high[j] is not None:
                self.high[j] = below(self.high[j])

    def boxes(self, nodes: list[Any], certificates: list[Any], lower: Number | None) -> None:
        """Decide one box after the other, limits put back where a half is done."""
        left = iter(nodes)
        jobs: list[Any] = ["box"]
        while jobs:
            job = jobs.pop()
            if job != "box":
                j, self.low[j], self.high[j] = job
                continue
            node = next(left, self)
            ask(node is not self, "a box without a node")
            if not isinstance(node, list):
                if not self.is_empty():
                    self.leaf(certificates[place(node, len(certificates))], lower)
                continue
            ask(len(node) == 2, "a branch")
            j, at = place(node[0], self.n), node[1]
            ask(j in self.integer, "a branch on no integer column")
            ask(isinstance(at, int) and not isinstance(at, bool), "a branch at no whole number")
            low, high, k = self.low[j], self.high[j], Number.ratio(at, 1)
            first = k if high is None or (high - k).sign() > 0 else high
            second = k + 1 if low is None or (k + 1 - low).sign() > 0 else low
            jobs += [(j, low, high), "box", (j, second, high), "box"]
            self.high[j] = first
        ask(next(left, self) is self, "nodes of no box")

    def is_empty(self) -> bool:
        pairs = [*zip(self.low, self.high, strict=True), *self.sides]
        pairs += [(sides["lower"], sides["upper"]) for _, sides in self.quadratic]
        return any(a is not None and b is not None and (a - b).sign() > 0 for a, b in pairs)

    def leaf(self, entry: Any, lower: Number | None) -> None:
        """Refuse a box that may hold a point which costs less than the lower end."""
        if self.is_empty():
            return
        mu, value = self.bound(entry, {})
        if mu.sign() == 0:
            ask(value.sign() > 0, "a box that may have points")
            return
        ask(lower is not None, "a box with points")
        assert lower is not None
        if (value - mu * lower).sign() >= 0:
            return
        unit = self.unit()
        ask(unit is not None, "a lower bound")
        assert unit is not None
        # f / unit is a whole number above value / (mu unit): at least its floor and one more.
        least = (below(value / (mu * unit)) + 1) * unit
        ask((least - lower).sign() >= 0, "a lower bound")
        ask((mu * (least - unit) - value).sign() < 0, "a lower bound")

    def unit(self) -> Number | None:
        """The largest number of which all values of the objective are whole multiples."""
        Q, a, _ = self.objective
        priced = [j for j in range(self.n) if a[j] is not ZERO and a[j].sign()]
        flat = all(value is ZERO or not value.sign() for value in Q.ravel())
        if not (flat and priced and set(priced) <= set(self.integer)):
            return None
        found = abs_of(a[priced[0]])
        for j in priced[1:]:
            rest = abs_of(a[j])
            while rest.sign():  # Euclid
                found, rest = rest, found - below(found / rest) * rest
        return found

    def cone(self, part: Any) -> tuple[Any, ...]:
        keys(part, "row side factors", "signs lift squares")
        sign, (Q, a, c), side = self.sided(part["row"], part["side"])
        n = self.n
        M = np.full((n + 1, n + 1), ZERO, dtype=object)
        M[:n, :n] = sign * Q
        M[n, :n] = M[:n, n] = sign * a * HALF
        M[n, n] = sign * (c - side)
        signs = part.get("signs")
        ask(signs is None or (isinstance(signs, list) and len(signs) == 2), "signs")
        ask(len(many(part["factors"])) == 2, "factors")
        lines = []
        for factor, entry in zip(part["factors"], signs or [None, None], strict=True):
            keys(factor, "constant linear")
            line = np.append(spread(factor["linear"], n), read(factor["constant"]))
            goal = {j: value for j, value in enumerate(line[:n]) if value is not ZERO}
            mu, least = self.bound(entry or {}, goal)
            ask(mu.sign() == 0 and (least + line[n]).sign() >= 0, "a factor's sign")
            lines.append(line)
        outer = np.outer(*lines)
        M = M + (outer + outer.T) * HALF
        lift = spread(part.get("lift"), n + 1)
        for j, value in enumerate(lift):
            ask(value.sign() >= 0, "a negative lift")
            M[j, j] = M[j, j] + value
        M = clean(M)
        psd(M, part.get("squares"))
        return lines, M, lift

    def step(self, part: Any) -> None:
        if isinstance(part, dict) and "row" in part:
            self.row(part)
            return
        if isinstance(part, dict) and "tangents" in part:
            self.touch(part)
            return
        keys(part, "certificate columns")
        found = []
        for column in many(part["columns"]):
            ask(isinstance(column, list) and len(column) == 3, "no column")
            j, g, value = place(column[0], self.n), read(column[1]), read(column[2])
            mu, least = self.bound(part["certificate"], {j: g})
            if mu.sign():
                ask(self.cutoff is not None, "no upper end")
                least = least - mu * self.cutoff
            ask(g.sign(), "g is 0")
            ask((least - g * value).sign() >= 0, "a limit")
            found.append((j, g.sign(), value))
        keys(part["certificate"], "", "objective at rows quadratic cones psd")
        for j, way, value in found:
            side = self.low if way > 0 else self.high
            old = side[j]
            if old is None or (value - old).sign() == way:
                side[j] = value
        self.tighten()

    def row(self, part: Any) -> None:
        keys(part, "row certificates", "column")
        keys(part["row"], "upper linear")
        side, a = read(part["row"]["upper"]), spread(part["row"]["linear"], self.n)
        j, entries = part.get("column"), many(part["certificates"])
        goal = {i: -value for i, value in enumerate(a) if value is not ZERO}
        ends: list[Number | None] = [None]
        if j is not None:
            ask(place(j, self.n) in self.integer, "no binary column")
            old, ends = (self.low[j], self.high[j]), [ZERO, Number.ratio(1, 1)]
            ask(old[0] is not None and old[0].sign() >= 0, "below 0")
            ask(old[1] is not None and (1 - old[1]).sign() >= 0, "above 1")
        ask(len(entries) == len(ends), "certificates of a row")
        for value, entry in zip(ends, entries, strict=True):
            if value is not None:
                self.low[j] = self.high[j] = value
            mu, least = self.bound(entry, goal)
            if mu.sign():
                ask(self.cutoff is not None, "no cutoff")
                least = least - mu * self.cutoff
            ask((least + side).sign() >= 0, "a row")
        if j is not None:
            self.low[j], self.high[j] = old
        self.A = np.vstack([self.A, a[None, :]])
        self.sides.append((None, side))

    def touch(self, part: Any) -> None:
        keys(part, "tangents")
        lines = []
        for entry in many(part["tangents"]):
            ask(isinstance(entry, list) and len(entry) == 3, "no tangent")
            term, constant = self.terms[place(entry[0], len(self.terms))], read(entry[1])
            line, most = term.tangent([read(v) for v in many(entry[2])], self.n)
            ask((most - constant).sign() >= 0, "a tangent")
            lines.append(line)
            self.sides.append((constant, None))
        self.A = np.vstack([self.A, *(line[None, :] for line in lines)])

    def bound(self, entry: Any, goal: dict[int, Number]) -> tuple[Number, Number]:
        """mu, and the least of the Lagrangian over the limits."""
        keys(entry, "", "objective at rows quadratic cones psd")
        n, const = self.n, ZERO
        mu, point = end(entry.get("objective")) or ZERO, spread(entry.get("at"), n)
        r, bend = np.full(n, ZERO, dtype=object), np.full(n, ZERO, dtype=object)
        for j, value in goal.items():
            r[j] = r[j] + value
        curved = [(mu, "objective", 1, self.objective, ZERO, point)] if mu.sign() else []
        for part in many(entry.get("quadratic")):
            ask(isinstance(part, list) and len(part) in (3, 4), "no multiplier")
            sign, body, side = self.sided(part[0], part[1])
            at = point if len(part) == 3 else spread(part[3], n)
            curved.append((read(part[2]), (part[0], part[1]), sign, body, side, at))
        for weight, key, sign, (Q, a, c), side, at in curved:
            ask(weight.sign() >= 0 and key in self.bends, "a curve")
            image = times(Q, at)
            const = const + sign * weight * (c - side - dot(image, at))
            r = r + (2 * image + a) * (sign * weight)
            # c (x - x^)^2 = c x^2 - 2 c x^ x + c x^^2
            curve = self.bends[key] * weight
            const, r = const + dot(curve, at * at), r - 2 * (curve * at)
            bend = bend + curve
        y = spread(entry.get("rows"), len(self.A))
        for value, sides in zip(y, self.sides, strict=True):
            if value is ZERO or not value.sign():
                continue
            side = sides[0] if value.sign() > 0 else sides[1]
            ask(side is not None, "a side")
            const = const + value * side
        r = r - times(self.A.T, y)
        for part in many(entry.get("cones")):
            const, r = self.with_cone(part, const, r)
        for part in many(entry.get("psd")):
            keys(part, "row matrix", "squares")
            slices = self.psd[place(part["row"], len(self.psd))]
            Z = symmetric(part["matrix"], slices.shape[1], lambda value: value)
            psd(Z, part.get("squares"))
            products = [dot(piece, Z) for piece in slices]
            const, r = const - products[n], r - np.array([*products[:n], None], dtype=object)[:-1]
        for j in range(n):
            const = const + self.least(r[j], bend[j], self.low[j], self.high[j])
        return mu, const

    def with_cone(self, part: Any, const: Number, r: np.ndarray) -> tuple[Number, np.ndarray]:
        keys(part, "cone alpha beta direction", "shift")
        n = self.n
        (first, second), M, lift = self.cones[place(part["cone"], len(self.cones))]
        alpha, beta = read(part["alpha"]), read(part["beta"])
        v, shift = spread(part["direction"], n + 1), end(part.get("shift")) or ZERO
        image = times(M, v)
        ask(alpha.sign() >= 0 and beta.sign() >= 0 and shift.sign() >= 0, "signs of a cone")
        ask((4 * alpha * beta - dot(image, v)).sign() >= 0, "outside of the cone")
        most = lift[n]
        for j in range(n):
            if lift[j].sign():
                low, high = self.low[j], self.high[j]
                ask(low is not None and high is not None, "a lift without limits")
                far = max((low * low, high * high), key=lambda value: value.low)
                most = most + lift[j] * far
        ask((shift * shift - most).sign() >= 0, "the shift")
        whole = first * alpha + second * beta - image
        return const - whole[n] - (alpha + beta) * shift, r - whole[:n]

    @staticmethod
    def least(r: Number, c: Number, low: Any, high: Any) -> Number:
        bend = 0 if c is ZERO else c.sign()
        slope = 0 if r is ZERO else r.sign()
        if bend == 0:
            if slope == 0:
                return ZERO
            side = low if slope > 0 else high
            ask(side is not None, "no limit")
            return r * side
        values = [r * x + c * x * x for x in (low, high) if x is not None]
        if bend < 0:
            ask(len(values) == 2, "no limits")
            return min(values, key=lambda value: value.low)
        bottom = -(r / (2 * c))
        if low is not None and (bottom - low).sign() < 0:
            return values[0]
        if high is not None and (bottom - high).sign() > 0:
            return values[-1]
        return -(r * r / (4 * c))


def product(a: list[Number], b: list[Number]) -> Number:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def determinant(rows: list[list[Number]]) -> Number:
    """By the first row."""
    if not rows:
        return Number.ratio(1, 1)
    total = ZERO
    for j, value in enumerate(rows[0]):
        minor = determinant([[*row[:j], *row[j + 1 :]] for row in rows[1:]])
        total = total + (value if j % 2 == 0 else -value) * minor
    return total


def cramer(corners: list[list[Number]], z: list[Number]) -> list[Number] | None:
    """Shares of corners in z; None for dependent ones."""
    whole = determinant(corners)
    if whole.sign() == 0:
        return None
    return [
        determinant([z if i == j else u for i, u in enumerate(corners)]) / whole
        for j in range(len(corners))
    ]


def below(value: Number) -> Number:
    """The largest whole number that is not above a number."""
    k = Number.ratio(value.high >> BITS, 1)
    return k if (value - k).sign() >= 0 else k - 1


def abs_of(value: Number) -> Number:
    return value if value.sign() >= 0 else -value


def decides(document: Any) -> bool:
    """Whether a document is proven."""
    try:
        File(document)
    except (
        RefusedError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ValueError,
        OverflowError,
    ):
        return False
    return True
