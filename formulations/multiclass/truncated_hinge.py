"""Truncated hinge loss of several classes: its M, the exact mixed-integer program, a relaxation."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.multiclass.fisher_consistency import is_consistent
from tightmargin.formulations.multiclass.hinge import (
    add_classes,
    class_costs,
    class_facts,
    classes_and_intercepts,
    lead_terms,
    multiclass_formulation,
    norm_of_classes,
    of_its_point,
    smallest_leads,
    squared_classes,
)
from tightmargin.formulations.parameters import (
    INTERCEPTS,
    add_parameter,
    one_of,
    positive,
)
from tightmargin.formulations.zero_one.big_m import OUTWARD, BigM, below_proven, big_m_param
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.formulations.zero_one.ramp import cheapest_parts

# --- Big-M values of the truncated hinge loss of several classes, proven to keep an optimum ------

NOTHING = np.zeros(1)
OBJECTIVE_ROUNDING = 1 + 1e-9  # a known objective was rounded, and its class may cost as much


def cap_of(truncation: float) -> float:
    """1 - s, what the truncated hinge loss min([1 - u]_+, 1 - s) pays at most.

    Raises ValueError: s is no finite number, or positive: the loss would then charge a point inside
        its margin.
    """
    if isinstance(truncation, str | bytes | bool | np.bool_ | complex) or not np.isscalar(
        truncation
    ):
        raise ValueError(f"truncation must be a number, got {truncation!r}")
    s = float(truncation)  # type: ignore[arg-type]
    if not math.isfinite(s) or s > 0:
        raise ValueError(f"truncation must be a finite number of at most 0, got {truncation!r}")
    return 1 - s


def derive_multiclass_big_m(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    upper_bound: float | None = None,
) -> BigM:
    """M_i for  min ridge N + sum_i c_i (xi_i + t z_i),  N = sum_k ||B_k||^2,  t = 1 - s.

    Rows f_{y_i} - f_k + xi_i + M_i z_i >= 1 with 0 <= xi_i <= t; u_i is the smallest lead of point
    i, and c_i its cost. Without the rows it costs c_i min([1 - u_i]_+, t): take z_i = 1 and xi_i =
    0 where u_i < s, and z_i = 0 elsewhere. So M_i must reach 1 - u_i where u_i < s alone. Each such
    point pays c_i t, so ridge N <= UB - c_i t there; and ||B_a - B_k||^2 <= 2 N for two classes.
    Let r_i = sqrt(2 (UB - c_i t) / ridge).

    penalised, none: |f_a - f_k| <= r_i ||(x_i, 1)|| by Cauchy-Schwarz (||x_i|| without an
        intercept), hence M_i = 1 + r_i ||(x_i, 1)|| keeps every point no worse than UB.

    free: the objective says nothing about b. At an optimum call the points with u_i >= s kept. If
        none is kept, B = 0 with b = 0 has u_i = 0 >= s at all of them and costs no more: an
        optimum that needs no z. Otherwise, as long as some class a has no kept point, raise b_a
        until a point of a reaches u_i = s, and call it kept, or until min(1, u_j) is about to fall
        at a kept point j of another class y. Up to there no loss rises: those of kept points do
        not, and the others are at the cap already. This is an optimum again, in which each class
        has either a kept point, or a kept point j of another class y with
        f_y(x_j) - f_a(x_j) = min(1, u_j); what is raised later changes neither. Let u_i < s.
        A kept point j in the class a of i: f_a - f_k >= s at x_j for every class k, so
        f_a - f_k >= s - r_i ||x_i - x_j|| at x_i, and 1 - u_i <= t + r_i R_i.
        Otherwise f_a - f_k at x_j is at least u_j - min(1, u_j) >= 0 for k other than y, and
        -min(1, u_j) >= -1 for k = y, so 1 - u_i <= 2 + q_i D_i, where the whole class has paid:
        q_i = sqrt(2 (UB - t sum over the class of c) / ridge). When UB is below what the class
        pays, this does not happen.
        R_i and D_i are the distances from x_i to the farthest point of its own and of the other
        classes. M_i is the larger of the two.

    truncation: s <= 0.
    upper_bound: objective of any known point; the best with B = 0 is used if it is better, and when
        nothing is given.
    Returns: values (n,), rounded upwards.
    Raises ValueError: a bad hyperparameter, or an upper bound that no point can have (negative,
        NaN).
    """
    price, cap = positive("ridge", ridge), cap_of(truncation)
    one_of("intercept", intercept, INTERCEPTS)
    costs = class_costs(data, class_weight)
    known = trivial_truncated(data, costs, cap, intercept)
    if upper_bound is not None:
        stated = float(upper_bound)
        if math.isnan(stated) or stated < 0:
            raise ValueError(
                "upper_bound must be the objective of a known point, so at least 0; got "
                f"{upper_bound}"
            )
        known = min(known, stated)
    values = big_m_paid(data, costs, cap, price, intercept, known)[0]
    values.setflags(write=False)
    return BigM(values, _reason(values, known, cap, intercept), known)


def big_m_paid(
    data: MulticlassData,
    costs: Array,
    cap: float,
    ridge: float,
    intercept: str,
    known: float,
    paid: Array = NOTHING,
    nearest: Array | float = np.inf,
) -> Array:
    """M_i of `derive_multiclass_big_m` (B, n) when more is known of the optimum, in B ways.

    known: UB.
    paid (B,): loss that points which are given up pay whatever M_i is, point i not among them.
    nearest (B, n): distance to some point of the own class that is known to be kept; infinite
        without one. Then 1 - u_i <= t + r_i nearest_i in every mode of the intercept.
    """
    known = known * OBJECTIVE_ROUNDING
    radius = _radius(known, costs * cap + paid[:, None], ridge)
    with np.errstate(invalid="ignore"):  # 0 times an infinite distance
        beside = np.where(np.isinf(nearest), np.inf, cap + radius * nearest)
    if intercept != "free":
        squares = np.einsum("ij,ij->i", data.X, data.X) + (intercept == "penalised")
        values: Array = np.minimum(1 + radius * np.sqrt(squares), beside) * OUTWARD
        return values
    own, others = class_reaches(data)
    values = np.minimum(cap + radius * own, beside)
    of_class = cap * np.bincount(data.y, weights=costs)[data.y]
    possible = (of_class <= known) & np.isinf(nearest)
    # What is paid beside the class is not known to be other points than its own.
    given_up = 2 + _radius(known, np.maximum(of_class, paid[:, None]), ridge) * others
    return np.where(possible, np.maximum(values, given_up), values) * OUTWARD


def big_m_everywhere(
    data: MulticlassData, costs: Array, cap: float, ridge: float, intercept: str, value: float
) -> Array:
    """M_i that every point of objective at most `value` satisfies; infinite where none is proven.

    With a free intercept that is where a class costs more than `value` when it is given up: some
    point j of it then has z_j = 0, hence u_j >= s, and 1 - u_i <= t + r_i R_i.
    """
    values = big_m_paid(data, costs, cap, ridge, intercept, value)[0]
    if intercept != "free":
        return values
    of_class = cap * np.bincount(data.y, weights=costs)[data.y]
    return np.where(of_class > value * OBJECTIVE_ROUNDING, values, np.inf)


def trivial_truncated(data: MulticlassData, costs: Array, cap: float, intercept: str) -> float:
    """Best objective with B = 0 and b = 0, or with a free b in favour of one class by 1."""
    total = float(costs.sum())
    if intercept != "free":
        return total
    of_class = np.sort(np.bincount(data.y, weights=costs))
    return min(total, min(2.0, cap) * float(of_class[:-1].sum()))


@lru_cache(maxsize=4)
def class_reaches(data: MulticlassData) -> tuple[Array, Array]:
    """Distance (n,) from each point to the farthest of its own class, and of the other classes."""
    own, others = np.zeros(data.n), np.zeros(data.n)
    step = max(1, 2**22 // data.n)
    for start in range(0, data.n, step):
        rows = slice(start, start + step)
        distance = cdist(data.X[rows], data.X)
        same = data.y[rows, None] == data.y
        own[rows] = np.where(same, distance, 0.0).max(axis=1)
        others[rows] = np.where(same, 0.0, distance).max(axis=1)
    own.setflags(write=False)
    others.setflags(write=False)
    return own, others


def _radius(known: float, paid: Array, ridge: float) -> Array:
    """sqrt(2 max(known - paid, 0) / ridge), with the rounding error of the difference added."""
    rounded: Array = np.maximum(known - paid, 0.0) + 4 * EPS * (known + np.abs(paid))
    return np.sqrt(2 * rounded / ridge)


def _reason(values: Array, known: float, cap: float, intercept: str) -> str:
    start = (
        f"where z_i = 1, c_i {cap:.9g} is paid and ||B_a - B_k|| <= r_i = "
        f"sqrt(2 ({known:.9g} - c_i {cap:.9g}) / ridge)"
    )
    if intercept == "free":
        rest = (
            f"a kept point of the same class gives 1 - u_i <= {cap:.9g} + r_i R_i; a class without "
            "one has paid for all its points, and its intercept can be raised until 1 - u_i <= 2 + "
            "q_i D_i"
        )
    else:
        row = "||(x_i, 1)||" if intercept == "penalised" else "||x_i||"
        rest = f"so 1 - u_i <= 1 + r_i {row} by Cauchy-Schwarz"
    return f"{start}; {rest}: largest M {values.max():.9g}"


# --- Points of the truncated hinge loss of several classes re-evaluated from (B, b), and their M

Machine = tuple[ArrayLike, ArrayLike]


def truncated_objective(
    data: MulticlassData,
    B: ArrayLike,
    b: ArrayLike,
    *,
    ridge: float,
    truncation: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> float:
    """ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} min([1 - u_i]_+, 1 - s) of scores (B, b).

    Lee 2020, section 4. B (K, d) and b (K,) are taken as they are, u_i is the smallest lead.
    """
    loss = np.minimum(np.maximum(0.0, 1 - smallest_leads(data, B, b)), cap_of(truncation))
    norm = norm_of_classes(np.asarray(B, dtype=float), np.asarray(b, dtype=float), intercept)
    return ridge * norm + float(class_costs(data, class_weight) @ loss)


def checked_machine(name: str, value: Any, data: MulticlassData) -> tuple[Array, Array]:
    """Numbers B (K, d) and b (K,) of known scores, all of them finite.

    Raises ValueError: naming the argument: no pair, other shapes, or numbers that are not finite.
    """
    K, d = data.n_classes, data.d
    try:
        rows, offsets = value
        B, b = np.asarray(rows, dtype=float), np.asarray(offsets, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be (B, b), got {value!r}") from None
    if B.shape != (K, d) or b.shape != (K,):
        raise ValueError(
            f"{name} must be (B, b) of shapes ({K}, {d}) and ({K},), got {B.shape} and {b.shape}"
        )
    if not (np.isfinite(B).all() and np.isfinite(b).all()):
        raise ValueError(f"{name}: B and b must be finite")
    return B, b


def _words(origin: Origin) -> dict[str, Any]:
    names = ("ridge", "truncation", "class_weight", "intercept")
    return {name: origin.parameters[name] for name in names}


def known_truncated_objective(
    data: MulticlassData, incumbent: Machine | None, words: dict[str, Any]
) -> float | None:
    if incumbent is None:
        return None
    return truncated_objective(data, *checked_machine("incumbent", incumbent, data), **words)


def _why_unproven(origin: Origin, objective: float) -> str:
    """Why M may cut optima off, or an empty string; `objective` is that of some scores."""
    words = _words(origin)
    stated = known_truncated_objective(origin.data, origin.parameters["incumbent"], words)
    known = objective if stated is None else min(objective, stated)
    needed = derive_multiclass_big_m(origin.data, **words, upper_bound=known).values
    return below_proven(origin.parameters["big_m"], needed)


def _point(origin: Origin, values: Values) -> tuple[Array, Array, Array, dict[str, Any]]:
    """B, b and the leads after both are made to sum to zero, and what to tell a reader."""
    data, truncation = origin.data, origin.parameters["truncation"]
    B, b = classes_and_intercepts(origin, values, {})
    u = smallest_leads(data, B, b)
    facts = class_facts(data, u) | {"outliers": int((u < truncation).sum())}
    if not is_consistent("hinge", truncation, data.n_classes):
        facts["fisher_consistency"] = (
            f"not Fisher consistent: the truncation {truncation:g} is below -1/(K - 1) = "
            f"{-1 / (data.n_classes - 1):g}"
        )
    return B, b, u, facts


def _classes(origin: Origin, B: Array, b: Array) -> dict[str, Array]:
    return {"B": B} | ({} if origin.parameters["intercept"] == "none" else {"b": b})


def check_truncated(origin: Origin, values: Values) -> PaperCheck:
    """Recompute the objective from (B, b), and test M against the value proven from it."""
    B, b, u, facts = _point(origin, values)
    loss = np.maximum(0.0, 1 - u)
    z = loss > cap_of(origin.parameters["truncation"])
    objective = truncated_objective(origin.data, B, b, **_words(origin))
    # An M that is too small leaves something to the slack even at z_i = 1.
    left = np.maximum(0.0, loss - np.asarray(origin.parameters["big_m"], dtype=float))
    xi = np.where(z, left, loss)
    repaired = {"xi": xi, "z": z.astype(float), "v": loss} | _classes(origin, B, b)
    flag = _why_unproven(origin, objective)
    return PaperCheck(objective, repaired=repaired, unproven=flag, facts=facts)


def check_truncated_relaxed(origin: Origin, values: Values) -> PaperCheck:
    """Objective with the cheapest xi and z that (B, b) allows."""
    data, words = origin.data, _words(origin)
    B, b, u, facts = _point(origin, values)
    cap = cap_of(words["truncation"])
    given = np.broadcast_to(np.asarray(origin.parameters["big_m"], dtype=float), (data.n,))
    v = np.maximum(0.0, 1 - u)
    xi, z = cheapest_parts(v, given, cap)
    costs = class_costs(data, words["class_weight"])
    norm = norm_of_classes(B, b, words["intercept"])
    return PaperCheck(
        words["ridge"] * norm + float(costs @ (xi + cap * z)),
        violation=max(0.0, float(z.max()) - 1),
        repaired={"xi": xi, "z": np.minimum(z, 1.0), "v": v} | _classes(origin, B, b),
        unproven=_why_unproven(origin, truncated_objective(data, B, b, **words)),
        facts=facts,
    )


# --- Truncated hinge loss of several classes, exact as a mixed-integer program, and relaxed ------


@multiclass_formulation(
    ProblemClass.MIQP,
    "Lee 2020, sec. 4.1, as a mixed-integer program",
    paper_class="nonconvex",
    check=check_truncated,
)
def multiclass_truncated(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    incumbent: Machine | None = None,
) -> pyo.ConcreteModel:
    """Truncated hinge loss min([1 - u_i]_+, 1 - s) of several classes, exact.

        min   ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} (xi_i + (1 - s) z_i)
        s.t.  margin[i,k]   f_{y_i}(x_i) - f_k(x_i) + v_i >= 1     for every class k but y_i
              covered[i]    xi_i + M_i z_i >= v_i >= 0
              centred[j]    sum_k B_kj = 0
              balanced      sum_k b_k = 0,   0 <= xi_i <= 1 - s,   z_i in {0, 1}

    v_i is the violation, written once for all classes. u_i is the smallest of the leads
    f_{y_i}(x_i) - f_k(x_i). z_i = 1 pays 1 - s and leaves xi_i at 0; z_i = 0 pays the hinge loss,
    which xi_i <= 1 - s allows where u_i >= s. The rest is as in multiclass_hinge. With
    -1/(K - 1) <= s <= 0 the loss is Fisher consistent; below it the model holds as well, and its
    result says so. Names here -> in the paper: truncation -> s, class_weight -> pi,
    ridge -> lambda.

    Parameters
    ----------
    truncation : float
        s <= 0.
    big_m : number, array (n,) or "derived"
        "derived" uses the values proven in derive_multiclass_big_m. Values not
        proven valid make results upper bounds only.
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.
    incumbent : (B, b), optional
        Known scores, for "derived"; a closed-form point otherwise.
    """
    m = _without_z(data, ridge, truncation, big_m, class_weight, intercept, incumbent)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    _add_rows(m, data, truncation, class_weight, intercept)
    return m


@multiclass_formulation(
    ProblemClass.QP,
    "Lee 2020, sec. 4.1, as a mixed-integer program, relaxed",
    relaxes="multiclass_truncated",
    check=check_truncated_relaxed,
)
def multiclass_truncated_relaxed(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    incumbent: Machine | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of multiclass_truncated: 0 <= z_i <= 1.

        min   ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} (xi_i + (1 - s) z_i)
        s.t.  margin[i,k]   f_{y_i}(x_i) - f_k(x_i) + v_i >= 1     for every class k but y_i
              covered[i]    xi_i + M_i z_i >= v_i >= 0
              centred[j]    sum_k B_kj = 0
              balanced      sum_k b_k = 0,   0 <= xi_i <= 1 - s,   0 <= z_i <= 1

    With M_i >= 1 - s this is multiclass_hinge with the loss of point i multiplied by
    (1 - s) / M_i, as long as no violation is above its M_i. A lower bound only when M is valid;
    its value tends to 0 as M grows. Parameters as for multiclass_truncated.
    """
    m = _without_z(data, ridge, truncation, big_m, class_weight, intercept, incumbent)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_rows(m, data, truncation, class_weight, intercept)
    return m


def _without_z(
    data: MulticlassData,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight,
    intercept: str,
    incumbent: Machine | None,
) -> pyo.ConcreteModel:
    words: dict[str, Any] = {
        "ridge": positive("ridge", ridge),
        "truncation": truncation,
        "class_weight": class_weight,
        "intercept": intercept,
    }
    cap = cap_of(truncation)
    class_costs(data, class_weight)
    m = pyo.ConcreteModel()
    add_classes(m, data, intercept)
    add_parameter(m, "ridge", words["ridge"])
    known = known_truncated_objective(data, incumbent, words)
    big_m_param(m, data.n, big_m, lambda: derive_multiclass_big_m(data, **words, upper_bound=known))
    m.xi = ArrayVar(m.I, lower=0.0, upper=cap)
    return m


def _add_rows(
    m: pyo.ConcreteModel,
    data: MulticlassData,
    truncation: float,
    class_weight: ClassWeight,
    intercept: str,
) -> None:
    m.v = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.Q, [*lead_terms(m, data), (of_its_point(data), m.v)], lower=1.0)
    m.covered = AffineRows(m.I, [(1.0, m.xi), (m.big_m, m.z), (-1.0, m.v)], lower=0.0)
    costs = class_costs(data, class_weight)
    loss = dot(costs, m.xi) + cap_of(truncation) * dot(costs, m.z)
    m.objective = pyo.Objective(expr=m.ridge * squared_classes(m, intercept) + loss)
