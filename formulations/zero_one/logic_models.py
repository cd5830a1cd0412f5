"""The 0-1 loss machine without a chosen big-M: products and disjunctions.

Cepeda, Gomez & Han 2024, (5), and the same choice as a Pyomo disjunctive program. Both carry
bounds on (w, b) that an optimum satisfies, from the best hyperplane that is known, because spatial
branching and the transformations of a disjunction need them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented_weight,
    norm_of,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import (
    add_parameter,
    finite_hyperplane,
    flag,
    one_of,
    positive,
)
from tightmargin.formulations.zero_one.big_m import OUTWARD
from tightmargin.formulations.zero_one.checks import KEPT_TOLERANCE, Hyperplane, check_logic
from tightmargin.formulations.zero_one.loss import EPS, margins, zero_one_objective

TRANSFORMATIONS = ("bigm", "hull", "mbigm", "cuttingplane", "indicator")


def _check_disjunctive(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b); a hyperplane in parts is not shrunk.

    "hull" holds (w, b) as a sum of variables of its own, which a repair of (w, b) leaves behind:
    stretching by a solver's tolerance is within that tolerance, shrinking onto the margin is not.
    """
    checked = check_logic(origin, values)
    if origin.parameters["transformation"] != "hull":
        return checked
    u, w, b = signed_scores(origin.data, values)
    if not np.all((u >= 1) | (u < 1 - KEPT_TOLERANCE)):
        return checked  # some kept point falls short by a tolerance: w was stretched
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    objective = zero_one_objective(origin.data, w, b, **words)
    return replace(checked, objective=objective, repaired={})


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Cepeda, Gomez & Han 2024, (5)",
    paper_class="non-convex MIQCP",
    restates="zero_one_big_m",
    check=check_logic,
)
def zero_one_bilinear(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    both_sides: bool = False,
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM with products instead of a big-M.

        min   ||w||^2 + penalty sum_i z_i,   z_i in {0, 1}
        s.t.  kept[i]      (1 - u_i) (1 - z_i) <= 0        u_i = y_i (<w, x_i> + b)     (5a)
              violated[i]  (1 - u_i) z_i >= 0                                           (5b)

    (5b) is redundant at the optimum; it is written only with both_sides=True.

    Parameters
    ----------
    incumbent : (w, b), optional
        A known hyperplane; its objective is recomputed. The better it is, the tighter are the
        bounds on (w, b), see below; without one they come from w = 0.
    """
    return bilinear_model(data, penalty, intercept, flag("both_sides", both_sides), incumbent)


def bilinear_model(
    data: TrainingData | GramData,
    penalty: float,
    intercept: str,
    both_sides: bool,
    incumbent: Hyperplane | None,
) -> pyo.ConcreteModel:
    """The model of zero_one_bilinear, to which another builder may add."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    bound_hyperplane(m, data, intercept, incumbent)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    slack = [1 - point_score(m, data, i) for i in m.I]
    m.kept = rows_by_index(m.I, lambda i: slack[i] * (1 - m.z[i]) <= 0)
    if both_sides:
        m.violated = rows_by_index(m.I, lambda i: slack[i] * m.z[i] >= 0)
    loss = dot(data.multiplicity, m.z)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * loss)
    return m


@two_class_formulation(
    ProblemClass.MIQP,
    "Cepeda, Gomez & Han 2024, sec. 2, as a disjunctive program",
    paper_class="GDP",
    restates="zero_one_big_m",
    check=_check_disjunctive,
    takes=(TrainingData,),
)
def zero_one_disjunctive(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    transformation: str = "bigm",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM as a choice for every point: keep it at margin 1, or pay the penalty.

        min   ||w||^2 + penalty sum_i [i dropped]
        s.t.  keep[i]: y_i (<w, x_i> + b) >= 1    or    drop[i]

    Parameters
    ----------
    transformation : "bigm", "hull", "mbigm", "cuttingplane" or "indicator"
        What solve() makes of the disjunctions; the model itself stays disjunctive. "mbigm"
        solves small problems for its constants, with HiGHS; "cuttingplane" solves convex ones,
        with ipopt, and is refused without it. "indicator" keeps the logic and needs no constant:
        SCIP and Gurobi take it.
    incumbent : (w, b), optional
        As for zero_one_bilinear.

    Continuous relaxations. With the bounds l <= (w, b) <= u of both disjuncts and a row
    <a, (w, b)> >= 1, "bigm" takes M = 1 - min <a, .> over the box, and "mbigm", which minimises
    over the other disjunct, finds the same box and the same M: equal bounds. "hull" splits
    (w, b) = p + q with p in (1 - z) box, <a, p> >= 1 - z and q in z box; minimising <a, q> over
    z box alone gives back the row of "bigm", so the bound of "hull" is at least as large, and it
    is larger in general, because p must stay in its own box. "cuttingplane" adds to "bigm" cuts
    that are valid for "hull" and lies between the two. None of them sees two points at once.
    """
    one_of("transformation", transformation, TRANSFORMATIONS)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    bound_hyperplane(m, data, intercept, incumbent)
    m.keep, m.drop = Disjunct(m.I), Disjunct(m.I)
    for i in m.I:
        m.keep[i].margin = pyo.Constraint(expr=point_score(m, data, i) >= 1)
    m.choice = Disjunction(m.I, rule=either)
    dropped = pyo.quicksum(_price(data, i) * m.drop[i].binary_indicator_var for i in m.I)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * dropped)
    return m


def _price(data: TrainingData | GramData, i: int) -> float:
    return 1 if data.weights is None else float(data.weights[i])


def either(m: pyo.ConcreteModel, i: int) -> list[Disjunct]:
    """The two disjuncts of a point."""
    return [m.keep[i], m.drop[i]]


def point_score(m: pyo.ConcreteModel, data: TrainingData | GramData, i: int) -> pyo.Expression:
    """u_i = y_i (<w, x_i> + b)."""
    return sum(a * x for a, x in zip(*_row(m, data, i), strict=True))


def _row(
    m: pyo.ConcreteModel, data: TrainingData | GramData, i: int
) -> tuple[list[float], list[pyo.Var]]:
    weight = augmented_weight(m)
    point = np.append(data.points.X[i], 1.0)[: len(weight)]
    return (data.y[i] * point).tolist(), weight


# --- bounds on (w, b) that the logic needs --------------------------------------------------------


def bound_hyperplane(
    m: pyo.ConcreteModel,
    data: TrainingData | GramData,
    intercept: str,
    incumbent: Hyperplane | None,
) -> None:
    """Bounds of w and b in a model with a mutable Param `penalty`.

    A hyperplane of norm2 N with violations of weight k costs N + penalty k at every penalty, so

        U(penalty) = least of N + penalty k  over  w = 0 and the incumbent

    is an upper bound of the optimum, an expression of the Param. An optimum has norm2 <= U =: r^2,
    so |w_j| <= r, and |b| <= r where the intercept counts in the norm. With a free one, b of one
    optimum lies between

        -max(1, r max{||x_i|| : y_i = 1} - 1)   and   max(1, r max{||x_i|| : y_i = -1} - 1):

    if a class has no kept point, w = 0 with b = +-1 is an optimum; otherwise a kept positive point
    says b >= 1 - <w, x_i> >= 1 - r ||x_i||, and a kept negative one b <= r ||x_i|| - 1.

    Raises ValueError: an incumbent that is no finite (w, b) of this dimension, or has b without an
        intercept.
    """
    radius = reduce(_least, _costs(m, data.points, intercept, incumbent)) ** 0.5 * OUTWARD
    for x in m.w.values():
        x.setlb(-radius)
        x.setub(radius)
    if intercept == "penalised":
        m.b.setlb(-radius)
        m.b.setub(radius)
    if intercept == "free":
        m.b.setlb(-_reach(radius, data.points.X[data.y > 0]))
        m.b.setub(_reach(radius, data.points.X[data.y < 0]))


def _costs(
    m: pyo.ConcreteModel,
    data: TrainingData,
    intercept: str,
    incumbent: Hyperplane | None,
) -> list[Any]:
    """Objectives of known hyperplanes as expressions of the penalty."""
    minority = min(data.masses)
    found: list[Any] = []
    if intercept != "free":
        found.append(m.penalty * data.total_weight)
    if intercept != "none":
        found.append((1.0 if intercept == "penalised" else 0.0) + m.penalty * minority)
    if incumbent is not None:
        w, b = finite_hyperplane("incumbent", incumbent, data.d)
        # Refuses b != 0 without an intercept; the number itself is of one penalty only.
        zero_one_objective(data, w, b, penalty=pyo.value(m.penalty), intercept=intercept)
        violated = data.mass(margins(data, w, b) < 1)
        found.append(norm_of(w, b, intercept) + m.penalty * violated)
    return found


def _least(a: Any, b: Any) -> Any:
    """The smaller of two expressions, never below it by rounding."""
    return (a + b - abs(a - b)) / 2 + 4 * EPS * (a + b)


def _reach(radius: Any, points: NDArray[np.float64]) -> Any:
    """max(1, radius max ||x|| - 1), as an expression."""
    far = radius * float(np.linalg.norm(points, axis=1).max())
    return (far + abs(far - 2)) / 2 * OUTWARD
