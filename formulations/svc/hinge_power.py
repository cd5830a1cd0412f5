"""A power of the hinge loss: Cepeda, Gomez & Han 2024, (1), where it is convex."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.power_cones import (
    BASE,
    ONE,
    POWER,
    power_cones,
    power_values,
    rational_exponent,
)
from tightmargin.formulations.modeling.rotated_cones import RotatedCones
from tightmargin.formulations.parameters import add_parameter, positive

AS_THEY_ARE = (1, 2)  # exponents whose powers are terms of a QP


def _check(origin: Origin, values: Values) -> PaperCheck:
    words, data = origin.parameters, origin.data
    u, w, b = signed_scores(data, values)
    xi = np.maximum(0.0, 1 - u)
    exponent = rational_exponent("exponent", words["exponent"])
    parts = {} if exponent in AS_THEY_ARE else power_values(xi, exponent)
    loss = float(data.prices(words["penalty"]) @ xi ** float(exponent))
    facts = {
        "errors": int((u <= 0).sum()),
        "margin_violations": int((u < 1 - 1e-9).sum()),
    }
    objective = norm_of(w, b, words["intercept"]) + loss
    return PaperCheck(objective, repaired={"xi": xi} | parts, facts=facts)


@two_class_formulation(
    ProblemClass.SOCP, "Cepeda, Gomez & Han 2024, (1)", check=_check, keeps_sparse=True
)
def hinge_power_svc(
    data: TrainingData | GramData,
    *,
    penalty: float,
    exponent: float | str,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Norm and a power of the hinge loss, of any rational exponent from 1 on.

        min   ||w||^2 + penalty sum_i t_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i, t_i, v1_i, v2_i, ... >= 0
              mean1[i]    v1_i^2 <= a product of two of xi_i, t_i and 1; so on for v2, ...
              power[i]    xi_i^2 <= such a product, which may have means v
              reach[i]    t_i >= exponent (xi_i - 1)

    The cones say t_i >= xi_i^exponent exactly: for 3/2 they are v1_i^2 <= xi_i and
    xi_i^2 <= t_i v1_i, and modeling/power_cones.py has the others. reach follows from a tangent of
    the power; it bounds xi where only cones would, which proofs need. Exponents 1 and 2 have none
    of these: the loss is then xi_i (c_svc with C = penalty / 2, at twice its objective) or xi_i^2,
    and the model a QP.

    Exponent 0 counts violations and is zero_one_big_m. Strictly between 0 and 1 the power is
    concave: the problem is NP-hard, no cone states it and no proof here closes it, so that no
    builder has it. Names here -> in the paper: penalty -> lambda, exponent -> eta.

    Parameters
    ----------
    penalty : float
        Price of the losses, positive; a point of weight s_i counts s_i times.
    exponent : float or str
        From 1 to 16, as the fraction that it is written as: 1.3 is 13/10, and "4/3" is 4/3. The
        numerator is at most 64.

    Raises
    ------
    ValueError
        An exponent that is no such number.
    """
    fraction = rational_exponent("exponent", exponent)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    weights = np.broadcast_to(data.multiplicity, data.n)
    if fraction == 1:
        loss = dot(weights, m.xi)
    elif fraction == 2:
        numbers = weights.tolist()
        loss = pyo.quicksum(c * x**2 for c, x in zip(numbers, m.xi.values(), strict=True))
    else:
        _add_cones(m, fraction)
        loss = dot(weights, m.t)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * loss)
    return m


def _add_cones(m: pyo.ConcreteModel, exponent: Fraction) -> None:
    """Variables t, v1, v2, ... and rows power, mean1, mean2, ... over the points."""
    m.t = ArrayVar(m.I, lower=0.0)
    m.one = pyo.Param(initialize=1.0)
    sides = {BASE: m.xi, POWER: m.t, ONE: m.one}
    *means, power = power_cones(exponent)
    for cone in means:
        sides[cone.inner] = ArrayVar(m.I, lower=0.0)
        setattr(m, cone.inner, sides[cone.inner])
        row = RotatedCones(m.I, sides[cone.inner], sides[cone.left], sides[cone.right])
        setattr(m, f"mean{cone.inner[1:]}", row)
    m.power = RotatedCones(m.I, m.xi, sides[power.left], sides[power.right])
    slope = float(exponent)
    m.reach = AffineRows(m.I, [(1.0, m.t), (-slope, m.xi)], lower=-slope)
