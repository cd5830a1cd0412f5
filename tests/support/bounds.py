"""Bounds from given points and multipliers, as certificates prove them."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.dual_repair import repaired
from tightmargin.solvers.certificates.model_bound import multiplier_bound
from tightmargin.solvers.certificates.safe_bound import Reach, limits_of_variables
from tightmargin.solvers.certificates.weak_duality import proven_bound
from tightmargin.solvers.standard_form.standard_form import StandardForm
from tightmargin.solvers.transformations.scaling import ScaledConic

Array = NDArray[np.float64]


def best_bound(
    form: StandardForm, x: Array, z: Array, known: float | None = None
) -> tuple[float | None, str]:
    """The best bound that multipliers z of the conic form prove, and why there is none."""
    case = Case(pyo.ConcreteModel(), form, classify(form))
    value, reason = multiplier_bound(
        case, x, z, form.objective.varying(x) if known is None else known
    )
    return (None if value is None else value + form.objective.constant), reason


def plain_bound(form: StandardForm, x: Array, z: Array, known: float) -> float | None:
    """The bound of the multipliers as they are, without any repair."""
    kind = classify(form)
    case = Case(pyo.ConcreteModel(), form, kind)
    assert kind.curvature is not None
    value = proven_bound(
        case.conic, x, z,
        reach=limits_of_variables(form, kind, known), curvature=kind.curvature,
        readings=kind.readings,
    )  # fmt: skip
    return None if value is None else value + form.objective.constant


def scaled_bound(form: StandardForm, scaled: ScaledConic, x: Array, z: Array) -> float | None:
    """The bound that multipliers of the scaled conic form prove, in its units."""
    kind = classify(form)
    assert kind.curvature is not None
    known = form.objective.varying(scaled.point(x))
    reach = limits_of_variables(form, kind, known + 1e-3 * abs(known))
    c, size = scaled.columns, scaled.objective
    near = Reach(reach.low / c, reach.high / c, reach.cutoff / size)
    better = repaired(scaled.conic, x, z)
    found = [
        proven_bound(
            scaled.conic, point, duals, reach=near, curvature=kind.curvature * c * c / size
        )
        for point, duals in ((x, z), (better.x, better.z))
    ]
    values = [value + scaled.conic.offset for value in found if value is not None]
    return max(values, default=None)
