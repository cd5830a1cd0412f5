"""Rational points of spheres, and of models that hold a norm.

A row sum_j w_j^2 = s has hardly ever a solution in doubles, and where s or s / 2 is a square a
rational one next to any direction.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.standard_form import StandardForm


def norm_held(form: StandardForm, x: Array) -> dict[int, Fraction] | None:
    """Columns of the one row q sum_j x_j^2 = s of a form, moved onto it from a point (n,).

    None where there is no such row, or more than one, or no rational point is known.
    """
    held = [row for row in form.quadratic if row.lower == row.upper]
    if len(held) != 1:
        return None
    body, factor = held[0].body, Fraction(held[0].body.v[0])
    squares = len(body.v) == len(body.index) and (body.i == body.j).all()
    if not squares or body.a.any() or (body.v != body.v[0]).any() or not x[body.index].any():
        return None
    square = (Fraction(held[0].lower) - Fraction(body.constant)) / factor
    found = on_sphere(x[body.index], square) if square > 0 else None
    return None if found is None else dict(zip(body.index.tolist(), found, strict=True))


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
