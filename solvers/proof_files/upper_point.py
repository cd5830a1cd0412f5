"""The coordinates of an exactly feasible point as rational numbers."""

from __future__ import annotations

from fractions import Fraction

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.standard_form import StandardForm


def upper_point(
    form: StandardForm, classification: Classification, x: Array
) -> list[Fraction] | None:
    """The point that a verdict rests on, found again near x (n,); None where none is found.

    None too for a point that is only known to lie between two others.
    """
    found = exact_point(form, classification, x, Limits())
    if found is None or found.x is None or found.between:
        return None
    return [found.rational.get(j, Fraction(value)) for j, value in enumerate(found.x.tolist())]
