"""Rational points of spheres."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array


def on_sphere(weight: Array, square: Fraction) -> list[Fraction] | None:
    """A rational point of a sphere next to a direction; None where none is known.

    The mirror image of a rational point of the sphere, in a plane through 0 that takes it near.
    """
    pole = _rational_point(weight, square)
    if pole is None:
        return None
    target = weight / np.linalg.norm(weight) * math.sqrt(square)
    normal = [a - Fraction(b) for a, b in zip(pole, target.tolist(), strict=True)]
    along = sum((a * b for a, b in zip(normal, pole, strict=True)), Fraction(0))
    factor = 2 * along / sum((a * a for a in normal), Fraction(0))
    return [a - factor * b for a, b in zip(pole, normal, strict=True)]


def _rational_point(weight: Array, square: Fraction) -> list[Fraction] | None:
    """A point of a sphere that is far from a direction, with one entry or two of the same size."""
    for count in (1, 2):
        part = square / count
        entry = Fraction(math.isqrt(part.numerator), math.isqrt(part.denominator))
        if entry**2 == part and count <= len(weight):
            largest = np.argsort(-np.abs(weight), kind="stable")[:count].tolist()
            return [
                (-entry if weight[j] > 0 else entry) if j in largest else Fraction(0)
                for j in range(len(weight))
            ]
    return None
