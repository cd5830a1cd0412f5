"""Powers with a rational exponent as rotated second-order cones, exactly.

For coprime p >= q >= 1 and x, t >= 0,

    x^(p/q) <= t    <=>    x^N <= t^q 1^(p - q) x^(N - p),     N = 2^k >= p,

and the right side is a product of N nonnegative factors. Two different factors s, r give way to
their geometric mean, v^2 <= s r with v >= 0, and two equal ones to themselves: N becomes N / 2, and
at N = 2 what is left is a cone of x itself. At most two means are needed for each halving.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array

BASE, POWER, ONE = "x", "t", "1"
LARGEST, LONGEST = 16, 64
EPS = float(np.finfo(float).eps)
LEAST = 1e-290  # no product of two square roots of such numbers underflows


@dataclass(frozen=True)
class Cone:
    """inner^2 <= left right: names of variables, or ONE on the right."""

    inner: str
    left: str
    right: str


def rational_exponent(name: str, value: float | str) -> Fraction:
    """An exponent as the fraction that it is written as: 1.3 is 13/10.

    Raises ValueError: no number or fraction in [1, 16], or one with a numerator above 64.
    """
    wanted = f'{name} must be a number from 1 to {LARGEST} or a fraction such as "4/3"'
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | str | np.integer | np.floating
    ):
        raise ValueError(f"{wanted}, got {value!r}")
    try:
        exponent = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{wanted}, got {value!r}") from None
    if not 1 <= exponent <= LARGEST:
        why = "; below 1 the power is not convex" if 0 < exponent < 1 else ""
        raise ValueError(f"{wanted}, got {value!r}{why}")
    if exponent.numerator > LONGEST:
        raise ValueError(
            f"{name} must be a fraction with a numerator of at most {LONGEST}, got {exponent}"
        )
    return exponent


def power_cones(exponent: Fraction) -> list[Cone]:
    """Cones that say x^exponent <= t for x, t >= 0; the names of means are v1, v2, ...

    Each mean stands in a cone before it is a side of another one.

    exponent: above 1.
    """
    p, q = exponent.numerator, exponent.denominator
    product = 1 << (p - 1).bit_length()
    counts = {POWER: q, BASE: product - p, ONE: p - q}
    cones: list[Cone] = []
    while product > 2:
        odd = [name for name, count in counts.items() if count % 2]
        counts = {name: count // 2 for name, count in counts.items()}
        for left, right in zip(odd[::2], odd[1::2], strict=True):
            mean = f"v{len(cones) + 1}"
            cones.append(Cone(mean, *_sides(left, right)))
            counts[mean] = 1
        product //= 2
    left, right = (name for name, count in counts.items() for _ in range(count))
    return [*cones, Cone(BASE, *_sides(left, right))]


def _sides(left: str, right: str) -> tuple[str, str]:
    return (right, left) if left == ONE else (left, right)


def power_values(x: Array, exponent: Fraction) -> dict[str, Array]:
    """t and the means at numbers x >= 0, with every cone met whatever the rounding.

    t is above x^exponent by more than what its own rounding and that of the means can lose.
    """
    cones, e = power_cones(exponent), float(exponent)
    found = {BASE: x, ONE: np.ones_like(x)}
    some = np.maximum(x, np.nextafter(0.0, 1.0))
    room = 1 + e * (16 * len(cones) + 2 * np.abs(np.log(some))) * EPS
    found[POWER] = np.where(x > 0, np.maximum(x**e, LEAST) * room, 0.0)
    for cone in cones[:-1]:
        means = np.sqrt(found[cone.left]) * np.sqrt(found[cone.right])
        found[cone.inner] = np.nextafter(means * (1 - 4 * EPS), 0.0)  # a subnormal loses more
    return {name: numbers for name, numbers in found.items() if name not in (BASE, ONE)}
