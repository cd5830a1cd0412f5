"""Ramp loss: the hinge loss capped at 2, exact as a mixed-integer program, and relaxed.

Brooks 2011 (Operations Research 59), as quoted by Cepeda, Gomez & Han 2024, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
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
from tightmargin.formulations.zero_one.big_m import BigM, derive_ramp_big_m
from tightmargin.formulations.zero_one.checks import Hyperplane


@dataclass(frozen=True)
class RampNorm:
    """What one norm of w makes different from another beside the same loss.

    of(w, b, intercept) -> number, mapping: what (w, b) pays, and the values of the variables that
        `term` adds.
    term(model, intercept) -> expression: the same of a model, with rows of its own where it needs
        them.
    derive(data, C, intercept, upper_bound) -> BigM.
    """

    of: Callable[[Array, float, str], tuple[float, Mapping[str, Any]]]
    term: Callable[[pyo.ConcreteModel, str], Any]
    derive: Callable[..., BigM]

    def objective(
        self, data: TrainingData, w: ArrayLike, b: float, C: float, intercept: str
    ) -> float:
        """The norm + C sum min(2, hinge loss) of a hyperplane."""
        weights = np.asarray(w, dtype=float)
        loss = np.maximum(0.0, 1 - data.y * (data.X @ weights + b))
        norm, _ = self.of(weights, b, intercept)
        return norm + C * float(data.multiplicity @ np.minimum(loss, 2))

    def known(
        self, data: TrainingData, incumbent: Hyperplane | None, C: float, intercept: str
    ) -> float | None:
        """The objective of an incumbent; None without one."""
        if incumbent is None:
            return None
        return self.objective(
            data, *finite_hyperplane("incumbent", incumbent, data.d), C, intercept
        )

    def model(
        self,
        data: TrainingData,
        C: float,
        big_m: ArrayLike | str,
        intercept: str,
        incumbent: Hyperplane | None,
        *,
        relaxed: bool = False,
    ) -> pyo.ConcreteModel:
        """The mixed-integer model, or its continuous relaxation."""
        m = pyo.ConcreteModel()
        add_hyperplane(m, data, intercept)
        add_parameter(m, "C", positive("C", C))
        known = self.known(data, incumbent, C, intercept)
        if isinstance(big_m, str):
            if big_m != "derived":
                raise ValueError(
                    f'big_m must be a number, an array (n,) or "derived", got {big_m!r}'
                )
            m.big_m_proof = self.derive(data, C=C, intercept=intercept, upper_bound=known)
            numbers = m.big_m_proof.values
        else:
            numbers = per_point("big_m", big_m, data.n)
        initial = dict(enumerate(numbers.tolist()))
        m.big_m = pyo.Param(m.I, initialize=initial, mutable=True, within=pyo.PositiveReals)
        m.xi = ArrayVar(m.I, lower=0.0, upper=2.0)
        m.z = ArrayVar(m.I, lower=0.0, upper=1.0) if relaxed else ArrayVar(m.I, within=pyo.Binary)
        m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi), (m.big_m, m.z)], lower=1.0)
        loss = dot(data.multiplicity, m.xi) + 2 * dot(data.multiplicity, m.z)
        m.objective = pyo.Objective(expr=self.term(m, intercept) + m.C * loss)
        return m

    def check(self, origin: Origin, values: Values) -> PaperCheck:
        """Recompute the objective from (w, b), and test M against the value proven from it."""
        u, w, b = signed_scores(origin.data, values)
        p = origin.parameters
        loss = np.maximum(0.0, 1 - u)
        z = (loss > 2).astype(float)
        objective = self.objective(origin.data, w, b, p["C"], p["intercept"])
        # An M that is too small leaves something to the slack even at z_i = 1.
        xi = np.where(z > 0, np.maximum(0.0, loss - p["big_m"]), loss)
        return PaperCheck(
            objective,
            repaired={"xi": xi, "z": z, **self.of(w, b, p["intercept"])[1]},
            unproven=self.why_unproven(origin, objective),
            facts={"errors": int((u <= 0).sum()), "outliers": int(z.sum())},
        )

    def check_relaxed(self, origin: Origin, values: Values) -> PaperCheck:
        """Objective with the cheapest xi and z that (w, b) allows."""
        data, p = origin.data, origin.parameters
        u, w, b = signed_scores(data, values)
        xi, z = cheapest_parts(np.maximum(0.0, 1 - u), np.asarray(p["big_m"]), 2.0)
        norm, parts = self.of(w, b, p["intercept"])
        known = self.objective(data, w, b, p["C"], p["intercept"])
        return PaperCheck(
            norm + p["C"] * float(data.multiplicity @ (xi + 2 * z)),
            violation=max(0.0, float(z.max()) - 1),
            repaired={"xi": xi, "z": np.minimum(z, 1.0), **parts},
            unproven=self.why_unproven(origin, known),
            facts={"errors": int((u <= 0).sum()), "outliers": int((u < -1).sum())},
        )

    def why_unproven(self, origin: Origin, objective: float) -> str:
        """Why M may cut optima off, or an empty string; `objective` is that of some hyperplane."""
        data, p = origin.data, origin.parameters
        stated = self.known(data, p["incumbent"], p["C"], p["intercept"])
        known = objective if stated is None else min(objective, stated)
        needed = self.derive(data, C=p["C"], intercept=p["intercept"], upper_bound=known).values
        given = p["big_m"]
        if np.any(given < needed * (1 - 1e-9)):
            worst = int(np.argmax(needed - given))
            return f"M[{worst}] = {given[worst]:.6g} is below the proven value {needed[worst]:.6g}"
        return ""


def _half_norm2(w: Array, b: float, intercept: str) -> tuple[float, Mapping[str, Any]]:
    return norm_of(w, b, intercept) / 2, {}


def _half_squared_norm(m: pyo.ConcreteModel, intercept: str) -> Any:
    return 0.5 * squared_norm(m, intercept)


L2 = RampNorm(_half_norm2, _half_squared_norm, derive_ramp_big_m)


def ramp_objective(data: TrainingData, w: ArrayLike, b: float, C: float, intercept: str) -> float:
    """1/2 norm + C sum min(2, hinge loss) of a hyperplane."""
    return L2.objective(data, w, b, C, intercept)


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


@two_class_formulation(
    ProblemClass.MIQP,
    "Brooks 2011, in Cepeda, Gomez & Han 2024, sec. 2",
    paper_class="MIQP",
    check=L2.check,
    takes=(TrainingData,),
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
    return L2.model(data, C, big_m, intercept, incumbent)


@two_class_formulation(
    ProblemClass.QP,
    "Brooks 2011, in Cepeda, Gomez & Han 2024, sec. 2, relaxed",
    relaxes="ramp_big_m",
    check=L2.check_relaxed,
    takes=(TrainingData,),
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
    return L2.model(data, C, big_m, intercept, incumbent, relaxed=True)
