"""Bounds from given points and multipliers, as certificates prove them."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tests.inside import solvers as inner

Array = NDArray[np.float64]


def best_bound(
    form: inner.StandardForm, x: Array, z: Array, known: float | None = None
) -> tuple[float | None, str]:
    """The best bound that multipliers z of the conic form prove, and why there is none."""
    value = form.objective.varying(x) if known is None else known
    found, reason = inner.searched_bound(
        inner.Case(pyo.ConcreteModel(), inner.Subject(form)), x, z, value
    )
    return number(found, form), reason


def lp_bound(form: inner.StandardForm, y: Array) -> float | None:
    """The exact rational bound of a linear program, its constant included."""
    return number(inner.exact_lp_bound(inner.Subject(form), y), form)


def number(bound: inner.LowerBound | None, form: inner.StandardForm) -> float | None:
    """The bound with the constant of the objective."""
    return None if bound is None else bound.value(form.objective.constant)


def scaled_bound(
    form: inner.StandardForm, scaled: inner.ScaledConic, x: Array, z: Array
) -> float | None:
    """The bound that multipliers of the scaled conic form prove, in units of the model."""
    subject, known = inner.Subject(form), form.objective.varying(scaled.point(x))
    better = inner.repaired(scaled.conic, x, z)
    found = [
        inner.proven_bound(
            subject, point, duals, known + 1e-3 * abs(known), factors=inner.scaling(form)
        )
        for point, duals in ((x, z), (better.x, better.z))
    ]
    values = [number(bound, form) for bound in found]
    return max((value for value in values if value is not None), default=None)
