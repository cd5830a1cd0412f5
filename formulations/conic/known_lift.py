"""The lift of a known hyperplane, as a point of the strengthened SDP or of the level-1 lift.

Where a relaxation reaches the known objective, its optimum is the lift of that hyperplane:
W = w~ w~', z_i = 1 where v_i > 0, and every product of the two. Rows are made of doubles, x x'
among them, so the lift itself misses some by a rounding. A hyperplane a hair longer keeps the
points on its margin by a hair, and a W a hair above w~ w~' leaves T_i >= v_i^2 in any rounding; the
bounds of slack_bounds.py and slack_bounds_argument.py have that room, one of 1e-12. From there on
everything is a rational number that meets its equation exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np

from tightmargin.formulations.conic.lift_rows import Lift
from tightmargin.formulations.data.arrays import Array

Numbers = list[Fraction]
RationalPoint = dict[str, Numbers]

# By how much a hyperplane is stretched and W is raised, of their own sizes; the last is the lift.
ROOMS = (
    (2.0**-42, 2.0**-47),
    (2.0**-42, 2.0**-51),
    (2.0**-36, 2.0**-46),
    (2.0**-28, 2.0**-51),
    (0.0, 0.0),
)


@dataclass(frozen=True, eq=False)
class Raised:
    """A hyperplane with its W, and what the rows of a model say of them, in rational numbers.

    Attributes
    ----------
    weight : list of k numbers
        w~ = (w, b).
    W : list of k (k + 1) / 2 numbers
        The lower triangle.
    v, T : lists of n numbers
        v_i, and T_i with the coefficients x~_i x~_i' as they are rounded.
    z : list of n numbers
        1 where v_i > 0, or where the bounds say so.
    """

    weight: Numbers
    W: Numbers
    v: Numbers
    T: Numbers
    z: Numbers


def strengthened_points(lift: Lift, w: Array, b: float, *, room: float) -> Iterator[RationalPoint]:
    """Points of conic_sdp_strengthened at a hyperplane, products included, by variable name.

    Parameters
    ----------
    room : float
        Least width of either side of an undecided point.
    """
    at = lift.open.tolist()
    sides = np.maximum(lift.bounds.upper[at], room), np.maximum(-lift.bounds.lower[at], room)
    for raised in _raised_lifts(lift, w, b, sides):
        found = _shared(lift, raised)
        v, T, z = ([part[i] for i in at] for part in (raised.v, raised.T, raised.z))
        norm = _norm(lift, raised)
        p = [share * each for share, each in zip(z, v, strict=True)]
        found |= {"p": p, "q": [one - each for one, each in zip(p, v, strict=True)]}
        found["s"] = [share * each for share, each in zip(z, T, strict=True)]
        found["r"] = [each - one for each, one in zip(T, found["s"], strict=True)]
        found["Y"] = [share * each for share in z for each in raised.weight]
        found["Y_rest"] = [(1 - share) * each for share in z for each in raised.weight]
        found |= {"t": [share * norm for share in z], "k": [(1 - share) * norm for share in z]}
        found["Z"] = [z[i] * z[j] for i, j in combinations(range(len(at)), 2)]
        found["P"] = [z[i] * p[j] for i, j in permutations(range(len(at)), 2)]
        yield found


def lift_points(lift: Lift, w: Array, b: float) -> Iterator[RationalPoint]:
    """Points of conic_sdp_lift at a hyperplane, by variable name."""
    at = lift.open.tolist()
    far, near = (_exact(side) for side in lift.sides)
    far2, near2 = (_exact(side**2) for side in lift.sides)
    units, pairs_of_units = _exact(lift.units), _exact(lift.unit_products)
    for raised in _raised_lifts(lift, w, b, lift.sides):
        found = _shared(lift, raised)
        v, T, z = ([part[i] for i in at] for part in (raised.v, raised.T, raised.z))
        weight = [each / unit for each, unit in zip(raised.weight, units, strict=True)]
        W = [each / unit for each, unit in zip(raised.W, pairs_of_units, strict=True)]
        found["Y"] = [share * each for share in z for each in weight]
        found["V"] = [share * each for share in z for each in W]
        own = {
            "p": [a * x / side for a, x, side in zip(z, v, far, strict=True)],
            "q": [(a - 1) * x / side for a, x, side in zip(z, v, near, strict=True)],
            "s": [a * x / side for a, x, side in zip(z, T, far2, strict=True)],
            "r": [(1 - a) * x / side for a, x, side in zip(z, T, near2, strict=True)],
        }
        first, second = (side.tolist() for side in lift.pairs)
        pairs = list(zip(first, second, lift.clash.tolist(), strict=True))
        found |= own | {
            "z11": [z[i] * z[j] for i, j, _ in pairs],
            "z10": [z[i] * (1 - z[j]) for i, j, _ in pairs],
            "z01": [(1 - z[i]) * z[j] for i, j, _ in pairs],
            "z00": [(1 - z[i]) * (1 - z[j]) for i, j, clash in pairs if not clash],
        }
        first, second = (side.tolist() for side in lift.crossed)
        clashes = lift.clashes(*lift.crossed).tolist()
        for name, one, other in (("first", first, second), ("second", second, first)):
            crossed = list(zip(one, other, clashes, strict=True))
            for word, part in own.items():
                found[f"{name}_{word}1"] = [z[j] * part[i] for i, j, _ in crossed]
                found[f"{name}_{word}0"] = [
                    (1 - z[j]) * part[i] for i, j, clash in crossed if not (clash and word in "qr")
                ]
        yield found


def _raised_lifts(lift: Lift, w: Array, b: float, sides: tuple[Array, Array]) -> Iterator[Raised]:
    """The lift of a hyperplane, a little raised in several ways; the last where none has room."""
    start = w if lift.intercept == "none" else np.append(w, b)
    for stretch, rise in ROOMS:
        # Doubles: their products are taken exactly from here on.
        weight = start * (1 + stretch)
        W = np.outer(weight, weight) + np.diag(rise * lift.units**2)
        raised = _raised(lift, _exact(weight), W if rise else None)
        if not rise or _has_room(lift, raised, sides):
            yield raised


def _has_room(lift: Lift, raised: Raised, sides: tuple[Array, Array]) -> bool:
    """Whether the rows that are nearly equations hold: norm, intercept, and v_i^2 <= T_i."""
    if _norm(lift, raised) > lift.bounds.norm2:
        return False
    if lift.intercept != "none":
        low, high = (Fraction(end) for end in lift.bounds.intercept)
        if raised.W[-1] > (low + high) * raised.weight[-1] - low * high:
            return False
    far, near = (_exact(side) for side in sides)
    for i, above, below in zip(lift.open.tolist(), far, near, strict=True):
        v, T = raised.v[i], raised.T[i]
        if not v * v <= T <= (above * v if v > 0 else -below * v):
            return False
    return True


def _raised(lift: Lift, weight: Numbers, W: Array | None) -> Raised:
    """What the rows say; of w~ w~' itself where there is no other W."""
    i, j = np.tril_indices(len(weight))
    if W is None:
        entries = [weight[r] * weight[c] for r, c in zip(i.tolist(), j.tolist(), strict=True)]
    else:
        entries = _exact(W[i, j])
    v = [1 - _dot(row, weight) for row in lift.signed]
    T = [_dot(outer, entries) + 2 * each - 1 for outer, each in zip(lift.outer, v, strict=True)]
    forced = lift.bounds.violated.tolist()
    z = [Fraction(int(each > 0 or paid)) for each, paid in zip(v, forced, strict=True)]
    return Raised(weight, entries, v, T, z)


def _shared(lift: Lift, raised: Raised) -> RationalPoint:
    d = lift.data.d
    found = {"w": raised.weight[:d], "W": raised.W, "z": raised.z}
    return found | ({"b": raised.weight[d:]} if len(raised.weight) > d else {})


def _norm(lift: Lift, raised: Raised) -> Fraction:
    """<D, W>."""
    return _dot(lift.trace, raised.W)


def _exact(numbers: Array) -> Numbers:
    return [Fraction(number) for number in numbers.tolist()]


def _dot(row: Array, numbers: Numbers) -> Fraction:
    terms = (Fraction(a) * x for a, x in zip(row.tolist(), numbers, strict=True) if a)
    return sum(terms, Fraction(0))
