"""Ramp loss: the hinge loss capped at 2, exact as a mixed-integer program, and relaxed.

Brooks 2011 (Operations Research 59), as quoted by Cepeda, Gomez & Han 2024, section 2.

Ramp loss with the l1 norm of w: a mixed-integer linear program, and its linear relaxation.

Brooks 2011 with the norm of Bradley & Mangasarian; Baldomero-Naranjo, Martinez-Merino &
Rodriguez-Chia 2020 (arXiv 2403.07736) solve both norms by tightened M. The M here are those of
big_m.py with Hoelder's inequality in the place of Cauchy-Schwarz.
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
    augmented,
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
    positive,
)
from tightmargin.formulations.svc.regularised import L1, regulariser_parts
from tightmargin.formulations.zero_one.big_m import (
    OUTWARD,
    BigM,
    below_proven,
    best_known,
    big_m_param,
    derive_ramp_big_m,
    same_class_reach,
    where_one_is_kept,
)
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.formulations.zero_one.slack_bounds import Hyperplane

# --- Ramp loss: the hinge loss capped at 2, exact as a mixed-integer program, and relaxed --------


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
        words = {"C": C, "intercept": intercept, "upper_bound": known}
        big_m_param(m, data.n, big_m, lambda: self.derive(data, **words))
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
        return below_proven(p["big_m"], needed)


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


# --- Ramp loss with the l1 norm of w: a mixed-integer linear program, and its linear relaxation


def derive_ramp_l1_big_m(
    data: TrainingData, *, C: float, intercept: str, upper_bound: float | None = None
) -> BigM:
    """M_i for the ramp loss with the l1 norm: rows u_i >= 1 - xi_i - M_i z_i, 0 <= xi_i <= 2.

    As in `derive_ramp_big_m`, M_i must reach 1 - u_i only where z_i = 1, and each of these pays
    2 C: norm <= UB - 2 C.

    penalised, none: M_i = 1 + max(|x_i|, 1) (UB - 2 C) by Hoelder's inequality, |x_i| being the
        largest entry (without the 1 if there is no intercept).

    free: M_i = 2 + R_i (UB - 2 C) keeps one optimum, R_i = max_k max_j |x_kj - x_ij| over the
        points k of the class of i. The argument is that of `derive_ramp_big_m`: w = 0 with the
        label of the other class where all points of a class have z_i = 1, and otherwise
        1 - u_i <= 2 + y_i <w, x_i' - x_i> for a point with z_k = 0.

    Raises ValueError: bad C or intercept, or an upper bound that no point can have.
    """
    cost = positive("C", C)
    known = best_known(_trivial(data, cost, intercept), upper_bound)
    values = _values(data, cost, intercept, known)
    reach = "R_i" if intercept == "free" else "the largest entry of point i"
    start = 2 if intercept == "free" else 1
    reason = (
        f"where z_i = 1, 2 C is paid and the l1 norm is at most {known:.9g} - 2 C, so "
        f"1 - u_i <= {start} + {reach} times that by Hoelder's inequality: largest M "
        f"{values.max():.9g}"
    )
    return BigM(values, reason, known)


def ramp_l1_big_m_everywhere(
    data: TrainingData, cost: float, intercept: str, value: float
) -> Array:
    """M_i that every point of objective at most `value` satisfies; infinite where none is known."""
    return where_one_is_kept(
        data, _values(data, cost, intercept, value), intercept, value, 2 * cost
    )


def ramp_l1_big_m_below(data: TrainingData, cost: float, intercept: str, known: float) -> Array:
    """M_i that keep an optimum of a stated objective."""
    return _values(data, cost, intercept, known)


def _values(data: TrainingData, cost: float, intercept: str, known: float) -> Array:
    norm = np.maximum(known - 2 * cost * data.multiplicity, 0.0) + 4 * EPS * known
    if intercept == "free":
        values = 2.0 + same_class_reach(data, "chebyshev") * norm
    else:
        values = 1.0 + np.abs(np.asarray(augmented(data, intercept))).max(axis=1) * norm
    values = values * OUTWARD
    values.setflags(write=False)
    return values


def _trivial(data: TrainingData, C: float, intercept: str) -> float:
    """Best objective with w = 0: b = 0 or b the label of the larger class, between them linear."""
    minority, majority = sorted(data.masses)
    zero = C * (minority + majority)
    if intercept == "none":
        return zero
    return min(zero, 2 * C * minority + (1.0 if intercept == "penalised" else 0.0))


def _sizes_of(w: Array, b: float, intercept: str) -> tuple[float, Mapping[str, Any]]:
    return regulariser_parts(L1, None, w, b, intercept)


def _add_sizes(m: pyo.ConcreteModel, intercept: str) -> Any:
    """Variables size_j >= |w_j| and their sum; from 0 on, so that the objective limits each."""
    m.size = pyo.Var(m.J, within=pyo.NonNegativeReals)
    m.above = AffineRows(m.J, [(1.0, m.size), (-1.0, m.w)], lower=0.0)
    m.below = AffineRows(m.J, [(1.0, m.size), (1.0, m.w)], lower=0.0)
    if intercept != "penalised":
        return dot(1.0, m.size)
    m.size_b = pyo.Var(within=pyo.NonNegativeReals)
    m.above_b = pyo.Constraint(expr=m.size_b - m.b >= 0)
    m.below_b = pyo.Constraint(expr=m.size_b + m.b >= 0)
    return dot(1.0, m.size) + m.size_b


NORM = RampNorm(_sizes_of, _add_sizes, derive_ramp_l1_big_m)


def ramp_l1_objective(
    data: TrainingData, w: ArrayLike, b: float, C: float, intercept: str
) -> float:
    """l1 norm + C sum min(2, hinge loss) of a hyperplane; |b| counts where it is penalised."""
    return NORM.objective(data, w, b, C, intercept)


@two_class_formulation(
    ProblemClass.MILP,
    "Brooks 2011 with the l1 norm, as in Baldomero-Naranjo et al. 2020",
    check=NORM.check,
    takes=(TrainingData,),
)
def ramp_l1_big_m(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Ramp loss SVM with the l1 norm.

        min   sum_j |w_j| + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin[i]           y_i (<w, x_i> + b) + xi_i + M_i z_i >= 1
              above[j], below[j]  -size_j <= w_j <= size_j,      |w_j| = size_j at the optimum
              0 <= xi_i <= 2,   z_i in {0, 1}

    A penalised b adds |b|. There is no 1/2 before the norm.

    Parameters
    ----------
    big_m : number, array (n,) or "derived"
        "derived" uses the values proven in `derive_ramp_l1_big_m`. Values not proven valid make
        results upper bounds only.
    incumbent : (w, b), optional
        A known hyperplane, for "derived"; a closed-form point otherwise.
    """
    return NORM.model(data, C, big_m, intercept, incumbent)


@two_class_formulation(
    ProblemClass.LP,
    "Brooks 2011 with the l1 norm, as in Baldomero-Naranjo et al. 2020, relaxed",
    relaxes="ramp_l1_big_m",
    check=NORM.check_relaxed,
    takes=(TrainingData,),
)
def ramp_l1_relaxed(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of ramp_l1_big_m: 0 <= z_i <= 1.

        min   sum_j |w_j| + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin, above, below as in ramp_l1_big_m
              0 <= xi_i <= 2,   0 <= z_i <= 1

    With M_i >= 2, which every derived M is, it is the l1 machine of the hinge loss with the costs
    2 C / M_i as long as no violation is above its M_i. A smaller valid M gives a larger bound.
    Parameters as for ramp_l1_big_m.
    """
    return NORM.model(data, C, big_m, intercept, incumbent, relaxed=True)
