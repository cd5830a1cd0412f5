"""The 0-1 loss machine without a chosen big-M: products, disjunctions, multipliers, the hull.

Cepeda, Gomez & Han 2024, (5) and (24), and the choice of (5) as a Pyomo disjunctive program. They
carry bounds on (w, b) that an optimum satisfies, from the best hyperplane that is known, because
spatial branching and the transformations of a disjunction need them.

The hull relaxation has the norm inside the disjuncts or outside. In zero_one_disjunctive the norm
stands in the objective, and the hull of each choice sees linear rows alone. With ||w||^2 <= t in
both disjuncts of every choice, and t in the objective, the problem is the same and the hull is that
of a disjunction of convex quadratic sets. Pyomo's hull transformation states it exactly, by
perspectives without an epsilon (Gusev & Bernal Neira 2025, arXiv 2508.16093):
||p||^2 / (1 - z) <= t_p is ||p||^2 <= t_p (1 - z).

Order.  Write C_i for the hull of choice i, and let D = I (the features only with a free b).

  linear hull <= exact hull <= optimum: ||p||^2 / (1 - z) + ||q||^2 / z >= ||p + q||^2, so t >= the
    norm follows; binary z are points of both.
  exact hull without bounds on (w, b, t) <= conic_sdp (b not free): by Theorem 1 of Cepeda, Gomez &
    Han (the module of conic_hull) C_i then contains all points, 0 <= z_i <= 1, with
        t >= ||w~||^2 - g v^2 + g v_+^2 / z_i + g v_-^2 / (1 - z_i),    g = 1 / ||x~_i||^2, v = v_i.
    In conic_sdp_literal T_i is at least the two quotients, and <I, W> >= ||w~||^2 + g (T_i - v^2),
    because W - w~ w~' is semidefinite and <x~_i x~_i', .> <= ||x~_i||^2 <I, .> on such matrices.
    So t = <I, W> is in every C_i.
  with them neither is always above the other: they know a hyperplane, and the SDP does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    dual_weight,
    norm_of,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.sparse_points import scaled_rows
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, equal_rows, rows_by_index, shared
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import (
    add_parameter,
    finite_hyperplane,
    flag,
    one_of,
    positive,
)
from tightmargin.formulations.zero_one.big_m import OUTWARD
from tightmargin.formulations.zero_one.checks import (
    KEPT_TOLERANCE,
    candidates,
    check_logic,
    counted_facts,
)
from tightmargin.formulations.zero_one.loss import EPS, margins, zero_one_objective
from tightmargin.formulations.zero_one.slack_bounds import Hyperplane

# --- The 0-1 loss machine without a chosen big-M: products and disjunctions ----------------------

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


# --- The 0-1 loss machine in multipliers: Cepeda, Gomez & Han 2024, (24) -------------------------


def expansion(data: TrainingData | GramData, w: Array, b: float, intercept: str) -> Array:
    """The least alpha (n,) whose sum_i alpha_i y_i x_i is nearest to w; beside it a priced b."""
    priced = intercept == "penalised"
    points = augmented(data.points, intercept if priced else "none")
    target = np.append(w, b) if priced else w
    return data.y * np.linalg.lstsq(points.T, target, rcond=None)[0]


def _hyperplane(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w and b that alpha names; a free b is a variable of its own."""
    w = dual_weight(origin, values)
    match origin.parameters["intercept"]:
        case "penalised":
            return w, float(origin.data.y @ values["alpha"])
        case "free":
            return w, float(values["b"])
    return w, 0.0


def _stretch(data: TrainingData, alpha: Array, w: Array, b: float, kept: Mask) -> float:
    """The least factor of alpha and b at which every kept point has margin 1 in exact arithmetic.

    What summing up w, and its scores, may round is taken off first. 1 where there is no factor.
    """
    if not kept.any():
        return 1.0
    sizes = np.abs(data.factor) @ (np.abs(data.factor).T @ np.abs(alpha)) + np.abs(alpha).sum()
    rounding = 2 * (data.n + data.d + 4) * EPS * (sizes + abs(b))
    least = float((data.y * (data.factor @ w + b) - rounding)[kept].min())
    factor = (1 + 4 * EPS) / least if least > 0 else np.inf
    return factor if np.isfinite(factor) else 1.0


def _known(origin: Origin, repaired: Values) -> Iterator[Mapping[str, Sequence[Fraction]]]:
    """The point of alpha in rational numbers, whose w (and b) meet their rows exactly."""
    data = origin.data.points
    shares = [Fraction(a) * int(y) for a, y in zip(repaired["alpha"], data.y, strict=True)]
    columns = augmented(data, origin.parameters["intercept"]).T
    sums = [
        sum((s * Fraction(x) for s, x in zip(shares, row, strict=True)), Fraction(0))
        for row in columns
    ]
    found = {name: [Fraction(float(x)) for x in np.ravel(part)] for name, part in repaired.items()}
    found["w"] = sums[: data.d]
    if origin.parameters["intercept"] == "penalised":
        found["b"] = sums[data.d :]
    yield found


def _check_kernel(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of the hyperplane that alpha names, stretched until it keeps what is meant."""
    data, intercept = origin.data.points, origin.parameters["intercept"]
    alpha = np.asarray(values["alpha"], dtype=float)
    w, b = _hyperplane(origin, values, {})
    found = []
    for kept in candidates(data.y * (data.factor @ w + b), values, use_z=True):
        factor = _stretch(data, alpha, w, b, kept)
        scaled = {"alpha": alpha * factor, "w": w * factor, "b": np.array(b * factor)}
        z = (data.y * (data.factor @ scaled["w"] + b * factor) < 1).astype(float)
        cost = norm_of(scaled["w"], b * factor, intercept)
        found.append((cost + origin.parameters["penalty"] * data.mass(z > 0), scaled | {"z": z}))
    objective, repaired = min(found, key=lambda each: each[0])
    facts = counted_facts(origin, repaired["w"], float(repaired["b"]), repaired["z"])
    if intercept == "none":
        del repaired["b"]
    return PaperCheck(objective, repaired=repaired, known=_known(origin, repaired), facts=facts)


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Cepeda, Gomez & Han 2024, (24)",
    paper_class="non-convex MIQCP",
    restates="zero_one_big_m",
    check=_check_kernel,
    classifier=_hyperplane,
)
def zero_one_kernel(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM in multipliers, whose hyperplane is w = sum_j alpha_j y_j x_j.

        min   alpha' K alpha + penalty sum_i z_i,   z_i in {0, 1}      K_ij = y_i y_j k(x_i, x_j)
        s.t.  kept[i]      (1 - u_i) (1 - z_i) <= 0                    u_i = (K alpha)_i    (24b)
              violated[i]  (1 - u_i) z_i >= 0                                               (24c)
              weight[j]    w = F' (y o alpha)                          k(x_i, x_j) = <f_i, f_j>

    The rows f_i of a factor F are the points themselves for the linear kernel: alpha' K alpha is
    ||w||^2 and (K alpha)_i is y_i <f_i, w>, so that the n^2 products of (24) are not spelled out
    and a singular K stays semidefinite to the last digit. A penalised b is the weight of the
    constant column, with the row weight_b for b = sum_j y_j alpha_j, and adds 1 to every
    k(x_i, x_j); a free one is a variable beside alpha. An optimal w always is such a sum: another
    part of it would add to the norm and to no score. alpha is not unique when K is singular.

    Parameters
    ----------
    incumbent : (w, b), optional
        As for zero_one_bilinear: for bounds on w, and on b.
    """
    m = bilinear_model(data, penalty, intercept, both_sides=True, incumbent=incumbent)
    m.alpha = ArrayVar(m.I)
    signed = scaled_rows(data.y, data.factor)
    m.weight = equal_rows(m.J, [(shared(signed.T), m.alpha), (-1.0, m.w)], 0.0)
    if intercept == "penalised":
        m.weight_b = pyo.Constraint(expr=dot(data.y, m.alpha) == m.b)
    return m


# --- The hull relaxation of the disjunctive 0-1 loss, with the norm inside the disjuncts or outside

NORMS = ("disjuncts", "objective")


def _check_hull(origin: Origin, values: Values) -> PaperCheck:
    """t + penalty sum z of the solution, and by how much t is below what (w, b) and z need."""
    data, p = origin.data, origin.parameters
    u, w, b = signed_scores(data, values)
    t, z = float(values["t"]), np.asarray(values["z"], dtype=float)
    objective = t + p["penalty"] * float(data.multiplicity @ z)
    m = _bounded_hyperplane(data, p["penalty"], p["intercept"], p.get("incumbent"))
    ends = np.array([(x.lb, x.ub) for x in augmented_weight(m)])
    x = np.append(w, b)[: len(ends)]
    rows = data.y[:, None] * augmented(data, p["intercept"])
    priced = np.arange(len(ends)) < data.d + (p["intercept"] == "penalised")
    outside = np.maximum(ends[:, 0] - x, x - ends[:, 1]) / np.maximum(1, np.abs(ends).max(axis=1))
    beyond = np.maximum(-z, z - 1)
    least, short = least_size(x, np.clip(z, 0, 1), rows, ends, priced)
    if p["norm"] == "objective":
        least = norm_of(w, b, p["intercept"])
    below = (least - t) / max(1.0, least)
    unsaved = max(0.0, float(outside.max()), float(beyond.max()), short, below)
    return PaperCheck(objective, unsaved=unsaved, facts={"errors": int((u <= 0).sum())})


def least_size(x: Array, z: Array, rows: Array, ends: Array, priced: Array) -> tuple[float, float]:
    """Least t that the hull of each choice allows at (w, b) and z, and what a margin lacks.

    x = p + q with p in (1 - z_i) [l, u], q in z_i [l, u] and a_i'p >= 1 - z_i, where a_i is row i
    of `rows`. With delta = p - (1 - z_i) x,

        ||p||^2 / (1 - z_i) + ||q||^2 / z_i = ||x||^2 + ||delta||^2 / (z_i (1 - z_i)),

    over the priced coordinates; the least delta is lambda a_i cut off at the ends, with the least
    lambda >= 0 that meets the margin. The limit r^2 on t, which is as wide, is left out.

    x (k,): (w, b).
    z (n,).
    rows (n, k): y_i (x_i, 1).
    ends (k, 2): l and u.
    priced (k,): coordinates that count in the norm.
    Returns: the largest over the points of each; what is lacking is 0 where every margin can be
        met.
    """
    kept = (1 - z)[:, None]
    low = np.maximum(kept * ends[:, 0], x - z[:, None] * ends[:, 1]) - kept * x
    high = np.minimum(kept * ends[:, 1], x - z[:, None] * ends[:, 0]) - kept * x
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    at_best = np.where(rows > 0, high, low)
    wanted = 1 - z - (1 - z) * (rows @ x)
    short = max(0.0, float(np.max(wanted - (rows * at_best).sum(axis=1))))

    def part(slope: Array) -> Array:
        """The least delta of each point that is at least so far along its row."""
        moved = np.clip(slope[:, None] * rows, low, high)
        return np.where(priced, moved, np.where(slope[:, None] > 0, at_best, 0.0))

    # What costs nothing is spent first; lambda is at most where every coordinate is cut off.
    unpriced = np.where(priced, 0.0, at_best)
    lacks = (rows * unpriced).sum(axis=1) < wanted
    smallest = np.min(np.where(rows == 0, np.inf, np.abs(rows)), axis=1)
    below, above = np.zeros(len(z)), np.where(lacks, np.abs(at_best).max(axis=1) / smallest, 0.0)
    for _ in range(100):
        middle = (below + above) / 2
        enough = (rows * part(middle)).sum(axis=1) >= wanted
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    delta = np.where(priced, part(below), 0.0)
    room = z * (1 - z)
    extra = np.divide((delta**2).sum(axis=1), room, out=np.zeros(len(z)), where=room > 0)
    return float(x[priced] @ x[priced] + extra.max(initial=0.0)), short


@two_class_formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, sec. 2, as a disjunctive program with the norm inside, exact hull",
    relaxes="zero_one_big_m",
    check=_check_hull,
    takes=(TrainingData,),
)
def zero_one_disjunctive_relaxed(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    norm: str = "disjuncts",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Hull relaxation of the disjunctive 0-1 loss, with a norm that the choices see.

        min   t + penalty sum_i z_i,       l <= (w, b) <= u,  0 <= t <= r^2
        s.t.  (w, b, t, z_i) in the hull of
              keep[i]: u_i >= 1, ||w||^2 <= t, z_i = 0     or    drop[i]: ||w||^2 <= t, z_i = 1

    for every point, with the bounds of zero_one_disjunctive on (w, b). The value is a lower bound
    on the 0-1 optimum, at least that of the linear hull. The disjuncts are transformed by Pyomo's
    `gdp.hull` with `exact_hull_quadratic`; the parts of (w, b, t) are on the block that it adds.

    Parameters
    ----------
    norm : "disjuncts" or "objective"
        Where ||w||^2 <= t stands: in both disjuncts, or once outside of them.
    incumbent : (w, b), optional
        A known hyperplane; its objective is recomputed. The better it is, the tighter are the
        bounds; without one they come from w = 0.

    The penalty is no Param: the bounds are derived from it, so a new one needs a new model.
    """
    one_of("norm", norm, NORMS)
    cost = positive("penalty", penalty)
    m = _bounded_hyperplane(data, cost, intercept, incumbent)
    m.t = pyo.Var(bounds=(0.0, m.w[0].ub ** 2))
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    size = squared_norm(m, intercept)
    m.keep, m.drop = Disjunct(m.I), Disjunct(m.I)
    for i in m.I:
        m.keep[i].margin = pyo.Constraint(expr=point_score(m, data, i) >= 1)
        if norm == "disjuncts":
            m.keep[i].size = pyo.Constraint(expr=size <= m.t)
            m.drop[i].size = pyo.Constraint(expr=size <= m.t)
    if norm == "objective":
        m.size = pyo.Constraint(expr=size <= m.t)
    m.choice = Disjunction(m.I, rule=either)
    m.given_up = pyo.Constraint(
        m.I, rule={i: m.z[i] == m.drop[i].binary_indicator_var for i in m.I}
    )
    m.objective = pyo.Objective(expr=m.t + cost * dot(data.multiplicity, m.z))
    pyo.TransformationFactory("gdp.hull").apply_to(m, exact_hull_quadratic=True)
    for disjunct in (*m.keep.values(), *m.drop.values()):
        disjunct.binary_indicator_var.domain = pyo.UnitInterval
    return m


def _bounded_hyperplane(
    data: TrainingData, cost: float, intercept: str, incumbent: Hyperplane | None
) -> pyo.ConcreteModel:
    """(w, b) between bounds that are numbers, outwards: they were expressions of the penalty."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", cost)
    bound_hyperplane(m, data, intercept, incumbent)
    for x in [*m.w.values(), *([m.b] if m.find_component("b") is not None else [])]:
        low, high = float(pyo.value(x.lb)), float(pyo.value(x.ub))
        x.setlb(float(np.nextafter(low, -np.inf)))
        x.setub(float(np.nextafter(high, np.inf)))
    m.del_component(m.penalty)
    return m
