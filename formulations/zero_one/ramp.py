"""Ramp loss: the hinge loss capped at 2, exact as a mixed-integer program, and relaxed.

Brooks 2011 (Operations Research 59), as quoted by Cepeda, Gomez & Han 2024, section 2.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    weight_and_intercept,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import (
    add_parameter,
    finite_hyperplane,
    per_point,
    positive,
)
from tightmargin.formulations.zero_one.big_m import derive_ramp_big_m
from tightmargin.formulations.zero_one.checks import Hyperplane


def ramp_objective(data: TrainingData, w: ArrayLike, b: float, C: float, intercept: str) -> float:
    """1/2 norm + C sum min(2, hinge loss) of a hyperplane."""
    weights = np.asarray(w, dtype=float)
    loss = np.maximum(0.0, 1 - data.y * (data.X @ weights + b))
    return norm_of(weights, b, intercept) / 2 + C * float(data.multiplicity @ np.minimum(loss, 2))


def _known_objective(
    data: TrainingData, incumbent: Hyperplane | None, C: float, intercept: str
) -> float | None:
    if incumbent is None:
        return None
    return ramp_objective(data, *finite_hyperplane("incumbent", incumbent, data.d), C, intercept)


def _check(origin: Origin, values: Values) -> PaperCheck:
    """Recompute the objective from (w, b), and test M against the value proven from it."""
    u, w, b = signed_scores(origin.data, values)
    C, intercept = origin.parameters["C"], origin.parameters["intercept"]
    loss = np.maximum(0.0, 1 - u)
    z = (loss > 2).astype(float)
    objective = ramp_objective(origin.data, w, b, C, intercept)
    given = origin.parameters["big_m"]
    # An M that is too small leaves something to the slack even at z_i = 1.
    repaired = {"xi": np.where(z > 0, np.maximum(0.0, loss - given), loss), "z": z}
    facts = {"errors": int((u <= 0).sum()), "outliers": int(z.sum())}
    flag = _why_unproven(origin, objective)
    return PaperCheck(objective, repaired=repaired, unproven=flag, facts=facts)


def _why_unproven(origin: Origin, objective: float) -> str:
    """Why M may cut optima off, or an empty string; `objective` is that of some hyperplane."""
    C, intercept = origin.parameters["C"], origin.parameters["intercept"]
    stated = _known_objective(origin.data, origin.parameters["incumbent"], C, intercept)
    known = objective if stated is None else min(objective, stated)
    needed = derive_ramp_big_m(origin.data, C=C, intercept=intercept, upper_bound=known).values
    given = origin.parameters["big_m"]
    if np.any(given < needed * (1 - 1e-9)):
        worst = int(np.argmax(needed - given))
        return f"M[{worst}] = {given[worst]:.6g} is below the proven value {needed[worst]:.6g}"
    return ""


def cheapest_parts(violation: Array, big_m: Array, cap: float) -> tuple[Array, Array]:
    """Cheapest (xi, z) with xi + M z >= violation: first what is cheaper per unit, then the rest.

    A unit of the violation costs 1 through xi, which ends at the cap, and cap / M through z. What
    neither can carry, a violation above M + cap, is left to z and shows as a z above 1.
    """
    by_z = big_m >= cap
    first = np.minimum(violation, np.where(by_z, big_m, cap))
    rest = violation - first
    xi = np.where(by_z, np.minimum(rest, cap), first)
    return xi, (violation - xi) / big_m


def _check_relaxed(origin: Origin, values: Values) -> PaperCheck:
    """Objective with the cheapest xi and z that (w, b) allows."""
    u, w, b = signed_scores(origin.data, values)
    C, intercept = origin.parameters["C"], origin.parameters["intercept"]
    xi, z = cheapest_parts(np.maximum(0.0, 1 - u), np.asarray(origin.parameters["big_m"]), 2.0)
    objective = norm_of(w, b, intercept) / 2 + C * float(origin.data.multiplicity @ (xi + 2 * z))
    return PaperCheck(
        objective,
        violation=max(0.0, float(z.max()) - 1),
        repaired={"xi": xi, "z": np.minimum(z, 1.0)},
        unproven=_why_unproven(origin, ramp_objective(origin.data, w, b, C, intercept)),
        facts={"errors": int((u <= 0).sum()), "outliers": int((u < -1).sum())},
    )


@formulation(
    ProblemClass.MIQP,
    "Brooks 2011, in Cepeda, Gomez & Han 2024, sec. 2",
    paper_class="MIQP",
    check=_check,
    classifier=weight_and_intercept,
    weighted=True,
)
def ramp_big_m(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Ramp loss SVM.

        min   1/2 ||w||^2 + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i + M_i z_i >= 1
              0 <= xi_i <= 2,   z_i in {0, 1}

    Parameters
    ----------
    big_m : number, array (n,) or "derived"
        "derived" uses the values proven in big_m.derive_ramp_big_m. Values not proven valid make
        results upper bounds only.
    incumbent : (w, b), optional
        A known hyperplane, for "derived"; a closed-form point otherwise.
    """
    m = _without_z(data, C, big_m, intercept, incumbent)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    _add_rows(m, data, intercept)
    return m


@formulation(
    ProblemClass.QP,
    "Brooks 2011, in Cepeda, Gomez & Han 2024, sec. 2, relaxed",
    relaxes="ramp_big_m",
    check=_check_relaxed,
    classifier=weight_and_intercept,
    weighted=True,
)
def ramp_relaxed(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of ramp_big_m: 0 <= z_i <= 1.

        min   1/2 ||w||^2 + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i + M_i z_i >= 1
              0 <= xi_i <= 2,   0 <= z_i <= 1

    With M_i >= 2, which every derived M is, z_i carries a violation v_i = max(0, 1 - u_i) more
    cheaply than xi_i, so the loss is 2 C v_i / M_i up to v_i = M_i and 2 C + C (v_i - M_i) from
    there to v_i = M_i + 2: a hinge loss with the weights 2 C / M_i (c_svc with these costs) as
    long as no v_i is above its M_i. A lower bound only when M is valid; its value tends to 0 as M
    grows. Parameters as for ramp_big_m.
    """
    m = _without_z(data, C, big_m, intercept, incumbent)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_rows(m, data, intercept)
    return m


def _without_z(
    data: TrainingData,
    C: float,
    big_m: ArrayLike | str,
    intercept: str,
    incumbent: Hyperplane | None,
) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "C", positive("C", C))
    known = _known_objective(data, incumbent, C, intercept)
    if isinstance(big_m, str):
        if big_m != "derived":
            raise ValueError(f'big_m must be a number, an array (n,) or "derived", got {big_m!r}')
        m.big_m_proof = derive_ramp_big_m(data, C=C, intercept=intercept, upper_bound=known)
        numbers = m.big_m_proof.values
    else:
        numbers = per_point("big_m", big_m, data.n)
    m.big_m = pyo.Param(
        m.I, initialize=dict(enumerate(numbers.tolist())), mutable=True, within=pyo.PositiveReals
    )
    m.xi = ArrayVar(m.I, lower=0.0, upper=2.0)
    return m


def _add_rows(m: pyo.ConcreteModel, data: TrainingData, intercept: str) -> None:
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi), (m.big_m, m.z)], lower=1.0)
    loss = dot(data.multiplicity, m.xi) + 2 * dot(data.multiplicity, m.z)
    m.objective = pyo.Objective(expr=0.5 * squared_norm(m, intercept) + m.C * loss)
