"""Reduced convex hulls: the optimum over (b, rho, xi) for a fixed w, and their nearest points.

Write z_i = y_i x_i, c_i for the weights and

    U = { -sum_i lambda_i z_i : 0 <= lambda_i <= c_i, sum_i lambda_i = nu, sum_i lambda_i y_i = 0 },

nu / 2 times the difference of the reduced convex hulls of the two classes. By linear duality

    h(w) = min { -nu rho + sum_i c_i xi_i : y_i (<w, x_i> + b) >= rho - xi_i, xi >= 0 }
         = max { <u, w> : u in U },

the support function of U: convex, positively homogeneous, piecewise linear. Each class gives the
mass nu / 2 of its lowest scores <w, z_i>, so that h costs one product and a partial sort, and the
last scores that are used give rho - b and rho + b. Divided by nu, h is the conditional value at
risk at level 1 - nu (Takeda & Sugiyama 2008, Theorem 1). Without an intercept the equation of the
classes is absent, and all points give the mass nu together; with a penalised one that holds for
the points (x_i, 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    augmented,
    complete_dual,
    dual_norm,
    errors_of,
    two_class_formulation,
    with_intercept,
    with_total,
)
from tightmargin.formulations.common.margin_levels import nu_margin, weighted_quantile
from tightmargin.formulations.common.rounding import OUTWARD, growth
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.sparse_points import squared_distances
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.nu_svc import checked_nu, loss_weights
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.printing import Printed

# --- The optimum over (b, rho, xi) for a fixed w, by sorting: no linear program ------------------

MASS_TOLERANCE = 1e-12
ALL_OF_IT = 1e-9  # relative: a mass nearer to that of the group is the whole of it
SORT_BELOW = 256


@dataclass(frozen=True, eq=False, repr=False)
class Group(Printed):
    """Points that share a mass: a class, or all points without a free intercept.

    Attributes
    ----------
    members : array (m,)
        Their numbers.
    caps : array (m,)
        What each may weigh.
    mass : float
        What they weigh together.
    equal : bool
        Whether the caps are all the same, which makes the sort quicker.
    """

    members: Index
    caps: Array
    mass: float
    equal: bool


@dataclass(frozen=True, eq=False, repr=False)
class ReducedHulls(Printed):
    """The set U: signed points, the most that each may weigh, and the masses to be given.

    Attributes
    ----------
    signed : array (n, k)
        z_i = y_i x_i; with a penalised intercept x_i has a 1 appended, k = d + 1.
    caps : array (n,)
        c_i.
    groups : tuple of Group
        The two classes with nu / 2 each when the intercept is free, else all points with nu.
    y : array (n,)
    """

    signed: Array
    caps: Array
    groups: tuple[Group, ...]
    y: Array
    nu: float

    @property
    def k(self) -> int:
        """Dimension of w (of (w, b) with a penalised intercept)."""
        return self.signed.shape[1]

    @property
    def free(self) -> bool:
        """Whether the intercept is free."""
        return len(self.groups) == 2

    @property
    def exhausted(self) -> bool:
        """Whether a group gives all its weight, as at nu_max: its level may rise at no cost."""
        return any(group.mass >= float(group.caps.sum()) * (1 - ALL_OF_IT) for group in self.groups)


@dataclass(frozen=True, eq=False)
class Support:
    """What the sort gives for one w.

    Attributes
    ----------
    value : float
        h(w) = <u, w>.
    u : array (k,)
        A point of U where the maximum is reached: a subgradient of h.
    multipliers : array (n,)
        lambda with u = -sum lambda_i z_i, the duals of the margin rows.
    """

    value: float
    u: Array
    multipliers: Array


def reduced_hulls(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> ReducedHulls:
    """The set U of a data set.

    Raises
    ------
    ValueError
        nu outside (0, nu_max], where U is empty.
    """
    nu = checked_nu(data, nu, class_balance, intercept)
    points = augmented(data, intercept) if intercept == "penalised" else data.points.X
    signed = data.y[:, None] * points
    caps = loss_weights(data, class_balance)
    parts = [data.y > 0, data.y < 0] if intercept == "free" else [data.y != 0]
    groups = []
    for part in parts:
        own = caps[part]
        equal = bool(own.min() == own.max())
        groups.append(Group(np.flatnonzero(part), own, nu / len(parts), equal))
    return ReducedHulls(signed, caps, tuple(groups), data.y, nu)


def support(hulls: ReducedHulls, w: ArrayLike) -> Support:
    """Evaluate h at w (k,), with a point of U and multipliers that reach it."""
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    multipliers = np.zeros(len(scores))
    for group in hulls.groups:
        taken, weights = lowest(scores[group.members], group)
        multipliers[group.members[taken]] = weights
    used = np.flatnonzero(multipliers)
    u = -(multipliers[used] @ hulls.signed[used])
    return Support(-float(multipliers[used] @ scores[used]), u, multipliers)


def support_value(hulls: ReducedHulls, w: ArrayLike) -> float:
    """h(w): the optimum over (b, rho, xi), positive, negative or 0."""
    return support(hulls, w).value


def lowest(scores: Array, group: Group) -> tuple[Index, Array]:
    """Points that hold the group's mass on its lowest scores, and how much of it each holds.

    By partition and not by a full sort, so that the cost grows as the number of points.

    Returns
    -------
    (array (j,), array (j,))
        Positions in `scores`, the highest used score last, and weights in (0, caps].
    """
    if group.equal:
        return _lowest_of_equal(scores, float(group.caps[0]), group.mass)
    rest = np.arange(len(scores))
    whole: list[Index] = []
    left, spare = group.mass, MASS_TOLERANCE * group.mass
    while len(rest) > SORT_BELOW:
        half = len(rest) // 2
        split = rest[np.argpartition(scores[rest], half)]
        below = float(group.caps[split[:half]].sum())
        if below >= left - spare:
            rest = split[:half]
        else:
            whole.append(split[:half])
            left -= below
            rest = split[half:]
    rest = rest[np.argsort(scores[rest])]
    filled = np.cumsum(group.caps[rest])
    last = min(int(np.searchsorted(filled, left - spare)), len(rest) - 1)
    taken = np.concatenate([*whole, rest[: last + 1]])
    weights = group.caps[taken]
    weights[-1] = min(weights[-1], left - (filled[last] - weights[-1]))
    return taken, weights


def _lowest_of_equal(scores: Array, cap: float, mass: float) -> tuple[Index, Array]:
    count = min(max(math.ceil(mass / cap * (1 - MASS_TOLERANCE)), 1), len(scores))
    taken = np.argpartition(scores, count - 1)[:count]
    weights = np.full(count, cap)
    weights[-1] = min(cap, mass - (count - 1) * cap)
    return taken, weights


def missing_mass(hulls: ReducedHulls) -> float:
    """How much of the masses the sort may leave out where they are nearly a multiple of the caps.

    In every direction or in none, since it depends on the caps alone where they are equal; where
    they are not, it is the tolerance of the sort.
    """
    total = 0.0
    for group in hulls.groups:
        if group.equal:
            weights = lowest(np.zeros(len(group.members)), group)[1]
            total += abs(group.mass - math.fsum(weights.tolist())) * OUTWARD
        else:
            total += MASS_TOLERANCE * group.mass
    return total


def support_error(hulls: ReducedHulls, w: ArrayLike) -> float:
    """A bound on |h(v) - h(w) as computed|, for v = w stretched to a length w has to rounding."""
    n, k = hulls.signed.shape
    longest = float((np.abs(hulls.signed) @ np.abs(np.asarray(w, dtype=np.float64))).max())
    return (growth(2 * n + 2 * k + 32) * hulls.nu + 2 * missing_mass(hulls)) * longest


def best_levels(hulls: ReducedHulls, w: ArrayLike) -> tuple[float, float, Array]:
    """Intercept b, level rho and slacks xi (n,) that are optimal for w (k,).

    Where a whole interval is optimal its middle is taken. Without a free intercept b is 0: with a
    penalised one it is the last entry of w.
    """
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    if hulls.free:
        b, rho = nu_margin(scores * hulls.y, hulls.y, hulls.caps, hulls.nu)
    else:
        b, rho = 0.0, weighted_quantile(scores, hulls.caps, hulls.nu)
    return b, rho, np.maximum(0.0, rho - (scores + hulls.y * b))


# --- Nearest points of the reduced convex hulls of the two classes -------------------------------

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
    repaired, norm = complete_dual(origin, alpha)
    length = float(np.sqrt(norm))
    apart = _separation(origin, np.append(repaired["v"], repaired.get("v_b", [])))
    facts: dict[str, Any] = {"hull_distance": length, "half_distance": length / 2}
    if apart <= 0 and length <= NO_DISTANCE * _spread(data, intercept):
        facts["degenerate"] = MEET
    else:
        facts["errors"] = errors_of(data, *_classifier(origin, repaired, {}))
    nearest = max(apart, 0.0) / length if length > 0 else 0.0
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
    y, caps = origin.data.y, _caps(origin)

    def best(scores: Array) -> float:
        if (caps >= 1).all():
            return -float(scores[y > 0].min() + scores[y < 0].max()) / 2
        return nu_margin(scores, y, caps, 2.0)[0]

    v, b, _norm = dual_norm(origin, values["alpha"])
    return with_intercept(origin, v, b, best)


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
