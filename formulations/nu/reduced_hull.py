"""Nearest points of the reduced convex hulls of the two classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import augmented, two_class_formulation
from tightmargin.formulations.common.intercept_recovery import nu_margin
from tightmargin.formulations.common.multipliers import (
    add_dual_weight,
    dual_norm,
    dual_weight,
    with_total,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_distances
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive

NO_DISTANCE = 1e-4  # of the spread of the points: interior-point methods leave about this much
MEET = "the hulls meet: v = 0 up to rounding, and no hyperplane separates them"
SORTED = "distance of the hulls along v, by sorting"
ONCE = 1e-12  # D at the end of its range up to rounding leaves one point, the mean


def _groups(data: TrainingData | GramData, intercept: str) -> tuple[list[NDArray[np.bool_]], float]:
    """Points that share a sum of weights, and the sum: the classes, or all without free b."""
    if intercept == "free":
        return [data.y > 0, data.y < 0], 1.0
    return [np.ones(data.n, dtype=bool)], 2.0


def _least_bound(data: TrainingData | GramData, intercept: str) -> float:
    groups, mass = _groups(data, intercept)
    return mass / min(float(data.multiplicity[group].sum()) for group in groups)


def _checked_bound(
    data: TrainingData | GramData, hull_bound: float | str, intercept: str
) -> float | None:
    """D, or None for the plain hulls."""
    if isinstance(hull_bound, str):
        if hull_bound != "none":
            raise ValueError(f"hull_bound must be a positive number or none, got {hull_bound!r}")
        return None
    bound, least = positive("hull_bound", hull_bound), _least_bound(data, intercept)
    if not _is_reached(least, None, bound):
        counted = "1 / min(n_pos, n_neg)" if intercept == "free" else "2 / n"
        if data.weights is not None:
            counted = "the sum of alpha_i over that of the weights, of the lighter class"
        raise ValueError(
            f"hull_bound must be at least {counted} = {least:.6g} with {data.n_pos} positive and "
            f"{data.n_neg} negative points, got {hull_bound!r}: below it a reduced hull is empty "
            f"and the problem infeasible; from {_groups(data, intercept)[1]:g} on it bounds nothing"
        )
    return max(bound, least)


def _is_reached(least: float, _: Any, bound: float) -> bool:
    """Whether weights of at most D can have their sums."""
    return bool(bound >= least * (1 - ONCE))


def _caps(origin: Origin) -> Array:
    """D s_i (n,), at most the sum of alpha: above it bounds nothing."""
    data, bound = origin.data, origin.parameters["hull_bound"]
    mass = _groups(data, origin.parameters["intercept"])[1]
    if isinstance(bound, str):
        return np.full(data.n, mass)
    return np.minimum(mass, float(bound) * data.multiplicity)


def _upper(m: pyo.ConcreteModel, data: TrainingData | GramData) -> Any:
    return m.hull_bound if data.weights is None else (data.weights, m.hull_bound)


def _into_hulls(origin: Origin, alpha: Array) -> Array:
    """Nearest-by-scaling weights in [0, D] with the sums they must have."""
    groups, mass = _groups(origin.data, origin.parameters["intercept"])
    caps = _caps(origin)
    alpha = np.clip(alpha, 0.0, caps)
    for group in groups:
        alpha[group] = with_total(alpha[group], caps[group], mass)
    return alpha


def _separation(origin: Origin, v: Array) -> float:
    """Least <v, v'> over all v' of the model, less rounding: the lowest scores, filled up."""
    data, intercept, caps = origin.data, origin.parameters["intercept"], _caps(origin)
    points = augmented(data, intercept) if intercept == "penalised" else data.factor
    scores = data.y * (points @ v)
    groups, mass = _groups(data, intercept)
    least = 0.0
    for group in groups:
        order = np.argsort(scores[group], kind="stable")
        room = caps[group][order]
        shares = np.clip(mass - (np.cumsum(room) - room), 0.0, room)
        least += float(shares @ scores[group][order])
    size = float((abs(points) @ np.abs(v)).max(initial=0.0))
    return least - 8 * np.finfo(float).eps * (data.n + data.d) * size


def _spread(data: TrainingData | GramData, intercept: str) -> float:
    """Largest distance of a point from the mean; from 0 where the place of the points counts."""
    centre = data.factor.mean(axis=0) if intercept == "free" else np.zeros(data.d)
    longest = float(squared_distances(data.factor, centre).max(initial=0.0))
    return float(np.sqrt(longest + (intercept == "penalised")))


def _check(origin: Origin, values: Values) -> PaperCheck:
    """||v||^2 / 2 at weights made feasible, and a bound from the direction v.

    With m the least <v, v'> over all v' of the model, ||v'|| >= m / ||v||.
    """
    data, intercept = origin.data, origin.parameters["intercept"]
    alpha = _into_hulls(origin, np.asarray(values["alpha"], dtype=float))
    v, v_b, norm = dual_norm(origin, alpha)
    length = float(np.sqrt(norm))
    apart = _separation(origin, np.append(v, v_b) if intercept == "penalised" else v)
    facts: dict[str, Any] = {"hull_distance": length, "half_distance": length / 2}
    if apart <= 0 and length <= NO_DISTANCE * _spread(data, intercept):
        facts["degenerate"] = MEET
    else:
        w, b = _classifier(origin, {"alpha": alpha}, {})
        facts["errors"] = int((data.y * (data.factor @ w + b) <= 0).sum())
    nearest = max(apart, 0.0) / length if length > 0 else 0.0
    repaired = {"alpha": alpha, "v": v}
    if intercept == "penalised":
        repaired["v_b"] = np.array(v_b)
    return PaperCheck(
        norm / 2,
        repaired=repaired,
        bound=Lemma(
            nearest**2 / 2 * (1 - 1e-14),
            SORTED,
            {"<v, v'> >= m for all v', by sorting": bool(np.isfinite(nearest))},
        ),
        facts=facts,
    )


def _classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """Normal v; b as nu_svc has it with nu = 2 / (D n), between plain hulls the midpoint."""
    data, intercept, caps = origin.data, origin.parameters["intercept"], _caps(origin)
    v = dual_weight(origin, values)
    if intercept != "free":
        return v, float(data.y @ values["alpha"]) if intercept == "penalised" else 0.0
    scores = data.factor @ v
    if (caps >= 1).all():
        return v, -float(scores[data.y > 0].min() + scores[data.y < 0].max()) / 2
    b, _rho = nu_margin(scores, data.y, caps, 2.0)
    return v, b


@two_class_formulation(
    ProblemClass.QP,
    "Bi & Vapnik 2003, (16)",
    check=_check,
    classifier=_classifier,
    keeps_sparse=True,
)
def reduced_hull_svc(
    data: TrainingData | GramData, *, hull_bound: float | str, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Nearest points of the convex hulls of the classes, no point weighing more than hull_bound.

        min   1/2 ||v||^2
        s.t.  weight[j]   v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= D
              balance     sum_i y_i alpha_i = 0
              total       sum_i alpha_i = 2

    f_i are the rows of a factor of the kernel matrix (the points for the linear kernel); with the
    balance both class sums are 1. The direction of v is that of rsvm_dual at the H with
    D = 2 / sum_i alpha_i there, and of nu_svc with nu = 2 / (D n), whose v is nu / 2 times this
    one. Without a bound, or from D = 1 on, these are the plain hulls: of separable points half
    the distance is the hard margin Delta, and 1 / Delta the largest H that matters. Where the
    hulls meet v = 0, which says nothing about the points. A penalised intercept or none leaves the
    balance row out, as in nu_svc_dual: one hull, of the points y_i f_i, and its distance from 0.
    A point of weight s_i has the bound s_i D.
    Names here -> in the paper: hull_bound -> D, n -> l.

    Parameters
    ----------
    hull_bound : number or "none"
        D, at least 1 / min(n_pos, n_neg), or 2 / n without the balance row.

    Raises
    ------
    ValueError
        D below that, where a reduced hull is empty.
    """
    one_of("intercept", intercept, INTERCEPTS)
    bound = _checked_bound(data, hull_bound, intercept)
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, data.n - 1)
    if bound is not None:
        within = partial(_is_reached, _least_bound(data, intercept))
        m.hull_bound = pyo.Param(
            initialize=bound, mutable=True, within=pyo.PositiveReals, validate=within
        )
    m.alpha = ArrayVar(m.I, lower=0.0, upper=None if bound is None else _upper(m, data))
    norm = add_dual_weight(m, data, intercept)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == 2)
    m.objective = pyo.Objective(expr=0.5 * norm)
    return m
