"""Least difference of two tail sums of linear forms in the unit ball, by simplicial cones.

Of n rows a_i and errors f = -A z, with T_m(f) the sum of the m largest (m any number, k < m a whole
one), the problem is

    min  T_m(-A z) - T_k(-A z)  over  ||z_1..q|| <= 1,  |z_j| <= B otherwise,

a difference of two convex, positively homogeneous functions. On a cone of generators v_1..v_D,
z = sum_j t_j v_j with t >= 0, the second part is at most sum_j t_j T_k(-A v_j), and the first is at
least -<s, z> with s = A'a for any 0 <= a <= 1, sum a = m. So for any u with

    <v_j, u - s> >= T_k(-A v_j)  for all j                                                      (*)

the difference is at least -<u, z> >= -||u_1..q|| - B ||u_rest||_1 there: a and u are all that is to
be known of a cone, whoever found them. The cones are the orthants, halved: a cone whose generators
i and j are replaced in turn by 2^p v_i + 2^q v_j, in whole numbers, is covered by both.

(*) is checked with every rounding counted: all products of a leaf are bounded by |v_j| times the
column sums of |A|, of which a sum of n terms loses at most (n + D + 8) 2^-52.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_down, rounded_up

WORDS = "simplicial cones"
COVERED = "halved orthants hold every point, and each of them was bounded anew"
MOST_DIMENSIONS = 14  # 2^14 orthants
EXACT = 2**53  # whole numbers up to it are floats
UNIT = 2.0**-52
TINY = 2.0**-900  # more than what products of numbers near 1 lose where they are denormal
SPAN = 300  # of the exponents of the columns


@dataclass(frozen=True, eq=False)
class TailDifference:
    """min T_m(-A z) - T_k(-A z) over the ball of the first q coordinates, |z_j| <= B of the rest.

    rows (n, D): A, exact, of entries of at most 1 in size.
    most: m, in (k, n].
    left_out: k.
    in_ball: q, at least 1.
    box: B; whoever states the problem says why there is none better beyond.
    sums (D,): column sums of |A|, no smaller than they are.
    """

    rows: Array
    most: Fraction
    left_out: int
    in_ball: int
    box: float
    sums: Array

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.rows.shape[1])

    @property
    def error(self) -> float:
        """Of a sum of n terms, relative to that of their sizes."""
        return (sum(self.rows.shape) + 8) * UNIT


def tail_difference(
    rows: Array, most: Fraction, left_out: int, in_ball: int, box: float = 0.0
) -> TailDifference:
    """The problem, its hypotheses checked.

    Raises ValueError: entries that are not finite or above 1, shares out of order, too many
        coordinates.
    """
    n, width = rows.shape
    if not (np.isfinite(rows).all() and np.abs(rows).max(initial=0.0) <= 1):
        raise ValueError("entries above 1 in size, or no numbers")
    if not 0 <= left_out < most <= n:
        raise ValueError(f"{left_out} < {most} <= {n} does not hold")
    if not (1 <= in_ball <= width <= MOST_DIMENSIONS and box >= 0 and math.isfinite(box)):
        raise ValueError(f"{in_ball} of {width} coordinates in the ball, {box:g} for the others")
    sums = np.abs(rows).sum(axis=0) * (1 + (n + 8) * UNIT) + TINY
    return TailDifference(rows, most, left_out, in_ball, box, sums)


def largest_sum(problem: TailDifference, z: Array) -> Array:
    """T_k(-A z) (K,) for the columns of z (D, K), as computed."""
    if not problem.left_out:
        return np.zeros(z.shape[1])
    errors = -(problem.rows @ z)
    kept = len(errors) - problem.left_out
    return np.asarray(np.partition(errors, kept, axis=0)[kept:].sum(axis=0))


def support_vector(problem: TailDifference, z: Array) -> Array:
    """A'a (D,) for the best a at z, as computed: T_m(-A z) = -<s, z>."""
    order = np.argsort(problem.rows @ z, kind="stable")
    whole = math.floor(problem.most)
    s = problem.rows[order[:whole]].sum(axis=0)
    part = float(problem.most - whole)
    return np.asarray(s + part * problem.rows[order[whole]] if part else s)


@dataclass(frozen=True, eq=False, repr=False)
class HalvedOrthants(Printed):
    """A cover, and what is known of each leaf; any numbers, which are checked.

    exponents (D,): the orthants have the generators +-2^e_j along coordinate j, those with + first.
    halved (S, 3): for each cone, depth first: generators i and j and an exponent p, with 2^max(p,
        0) v_i + 2^max(-p, 0) v_j in place of i, and then of j; i = -1: a leaf.
    directions (P, D): directions at whose largest errors the a of leaves lie.
    known (K, 2): leaf and direction of the shares, in the order of the leaves.
    shares (K,): at least 0; a is their combination over the sum of a leaf's.
    bounds (L, D): u of each leaf.
    """

    exponents: NDArray[np.int64]
    halved: NDArray[np.int64]
    directions: Array
    known: NDArray[np.int64]
    shares: Array
    bounds: Array

    @property
    def cells(self) -> int:
        """Leaves."""
        return len(self.bounds)

    def _title(self) -> str:
        return f"HalvedOrthants: {count_text(self.cells, 'cone')}"


def halves(
    generators: NDArray[np.int64], i: int, j: int, power: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both halves of a cone (D, D), generators in columns, whole numbers without common factor 2.

    Raises ValueError: equal or unknown generators, or a new one whose entries are no floats.
    """
    width = len(generators)
    if not (0 <= i < width and 0 <= j < width and i != j and abs(power) < 53):
        raise ValueError(f"a cone is halved between generators {i} and {j}")
    first = [int(entry) << max(power, 0) for entry in generators[:, i]]
    second = [int(entry) << max(-power, 0) for entry in generators[:, j]]
    new = [a + b for a, b in zip(first, second, strict=True)]
    shared = math.gcd(*new)
    new = [entry // (shared & -shared) for entry in new]
    if max(map(abs, new)) > EXACT:
        raise ValueError("a cone is halved more finely than doubles can say")
    lower, upper = generators.copy(), generators.copy()
    lower[:, i] = upper[:, j] = new
    return lower, upper


def orthants(width: int) -> Iterator[NDArray[np.int64]]:
    """Generators of the 2^D orthants, in whole numbers."""
    for signs in itertools.product((1, -1), repeat=width):
        yield np.diag(np.array(signs, dtype=np.int64))


def leaves(cover: HalvedOrthants, width: int) -> Iterator[NDArray[np.int64]]:
    """Generators of the leaves in whole numbers, to be scaled by the exponents.

    Raises ValueError: the cones are no cover.
    """
    at = 0
    for root in orthants(width):
        below = [root]
        while below:
            if at == len(cover.halved):
                raise ValueError("the cones do not hold every direction: some are missing")
            i, j, power = (int(entry) for entry in cover.halved[at])
            at += 1
            cone = below.pop()
            if i < 0:
                yield cone
            else:
                below.extend(reversed(halves(cone, i, j, power)))
    if at != len(cover.halved):
        raise ValueError("there are more cones than directions")


def cover_value(problem: TailDifference, cover: HalvedOrthants) -> float:
    """A number that the problem's minimum is not below; at most 0, which z = 0 attains.

    Raises ValueError: the cones are no cover, or (*) does not hold in one of them.
    """
    width = problem.dimensions
    if cover.exponents.shape != (width,) or np.abs(cover.exponents).max() > SPAN:
        raise ValueError("the exponents of the columns do not fit")
    named = (cover.known[:, 1] >= 0).all() and (cover.known[:, 1] < len(cover.directions)).all()
    if not (np.isfinite(cover.directions).all() and cover.bounds.shape[1:] == (width,) and named):
        raise ValueError("the leaves do not fit the problem")
    scale = np.ldexp(1.0, cover.exponents)[:, None]
    normals = np.array([support_vector(problem, z) for z in cover.directions]).reshape(-1, width)
    starts = np.searchsorted(cover.known[:, 0], np.arange(cover.cells + 1))
    least = 0.0
    for leaf, cone in enumerate(leaves(cover, width)):
        if leaf == cover.cells:
            raise ValueError("a leaf has no bound")
        own = slice(starts[leaf], starts[leaf + 1])
        which, shares = cover.known[own, 1], cover.shares[own]
        real = np.asarray(cone * scale, dtype=float)
        value = leaf_value(problem, real, normals[which], shares, cover.bounds[leaf])
        least = min(least, value)
    return least


def leaf_value(
    problem: TailDifference, cone: Array, normals: Array, shares: Array, u: Array
) -> float:
    """The bound -||u_1..q|| - B ||u_rest||_1 of a cone (D, D), rounded down.

    normals, shares (K, D) (K,): `support_vector` of some directions, and a combination.
    Raises ValueError: the shares are none, or (*) does not hold with all roundings counted.
    """
    total = float(shares.sum())
    if not (len(shares) and (shares >= 0).all() and 0.5 < total < 2):
        raise ValueError("no combination of errors")
    if not (missing(problem, cone, shares @ normals / total, u, len(shares)) <= 0).all():
        raise ValueError("a cone is not bounded by what is said to bound it")
    if not u.any():
        return 0.0
    u_ball, u_rest = u[: problem.in_ball], u[problem.in_ball :]
    size = math.hypot(*u_ball) * (1 + 4 * len(u) * UNIT)
    rest = float(np.abs(u_rest).sum()) * problem.box * (1 + 4 * len(u) * UNIT)
    return -float(np.nextafter(size + rest, np.inf)) - TINY


def missing(problem: TailDifference, cone: Array, s: Array, u: Array, terms: int) -> Array:
    """What (*) lacks at most (D,) at each generator of a cone, every rounding counted.

    terms: number of normals that s is combined of.
    """
    error = problem.error + terms * UNIT
    lost = 4 * error * (np.abs(cone).T @ (np.abs(u) + 4 * problem.sums)) + TINY
    return np.asarray(largest_sum(problem, cone) - cone.T @ (u - s) + lost)


def cover_lemma(
    problem: TailDifference, cover: HalvedOrthants, unit: Fraction = Fraction(1)
) -> Lemma | None:
    """The bound of a cover as a lemma, times `unit` > 0; None where it proves nothing."""
    try:
        value = cover_value(problem, cover)
    except ValueError:
        return None
    words = f"{WORDS}, {count_text(cover.cells, 'leaf', 'leaves')}"
    return Lemma(rounded_down(Fraction(value) * unit), words, {COVERED: True})


def point_value(problem: TailDifference, z: Array) -> float:
    """T_m - T_k at a float z, rounded up."""
    s, k = support_vector(problem, z), largest_sum(problem, z[:, None])[0]
    lost = 4 * problem.error * (np.abs(z) @ (3 * problem.sums)) + TINY
    return float(rounded_up(Fraction(float(-(s @ z) - k)) + Fraction(float(lost))))
