"""Big-M values and bounds on a free intercept that are proven to keep an optimum.

A row  y_i (<w, x_i> + b) >= 1 - M_i z_i  is harmless at z_i = 1 when M_i >= 1 - u_i there, with
u_i = y_i (<w, x_i> + b). All proofs below bound 1 - u_i at points no worse than a known one, whose
objective is UB; they differ by what the objective says about b. R_i = max ||x_k - x_i|| over the
points k of the class of i is the reach of point i. A violation of i costs the price of its weight
s_i, and giving up a class that of all its weights; s_i = 1 is written below.

A given M below these values may still be valid, but nobody has shown it: results are then upper
bounds only.

Bounds on a free intercept that keep an optimum, derived or stated.

A lifted model with a free intercept needs one, or its relaxation is worth nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import (
    INTERCEPTS,
    add_parameter,
    one_of,
    per_point,
    positive,
)
from tightmargin.formulations.zero_one.loss import EPS, trivial_points
from tightmargin.printing import Printed

# --- Big-M values that are proven to keep an optimum ---------------------------------------------

CHUNK_DISTANCES = 2**22  # 32 MiB of distances at a time, whatever n is


OUTWARD = 1 + 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class BigM(Printed):
    """Values of M with the reason why they keep an optimum.

    Attributes
    ----------
    values : array (n,)
        M_i, rounded upwards.
    proof : str
        The argument in one sentence, with its numbers.
    upper_bound : float
        Objective of the known point the argument starts from.
    model : str
        Fingerprint of the edited model that they were derived for (`tm.rederive`); else empty.
    """

    values: Array
    proof: str
    upper_bound: float
    model: str = ""


def big_m_param(
    m: pyo.ConcreteModel, n: int, big_m: ArrayLike | str, derived: Callable[[], BigM]
) -> None:
    """Param big_m over the points; derived values keep their proof as `m.big_m_proof`."""
    if isinstance(big_m, str):
        if big_m != "derived":
            raise ValueError(f'big_m must be a number, an array (n,) or "derived", got {big_m!r}')
        m.big_m_proof = derived()
        numbers = m.big_m_proof.values
    else:
        numbers = per_point("big_m", big_m, n)
    m.big_m = pyo.Param(
        m.I, initialize=dict(enumerate(numbers.tolist())), mutable=True, within=pyo.PositiveReals
    )


def below_proven(big_m: ArrayLike, needed: Array) -> str:
    """Where an M is below its proven value, or an empty string."""
    given = np.broadcast_to(np.asarray(big_m, dtype=float), needed.shape)
    if np.any(given < needed * (1 - 1e-9)):
        worst = int(np.argmax(needed - given))
        return f"M[{worst}] = {given[worst]:.6g} is below the proven value {needed[worst]:.6g}"
    return ""


def derive_big_m(
    data: TrainingData, *, penalty: float, intercept: str, upper_bound: float | None = None
) -> BigM:
    """M_i for  min norm2 + penalty sum z_i,  u_i >= 1 - M_i z_i,  z binary.

    Let a point be no worse than UB and violate i. One violation is paid, so norm2 <= UB - penalty.

    penalised, none: |u_i| <= ||(x_i, 1)|| sqrt(norm2) by Cauchy-Schwarz (||x_i|| without an
        intercept), hence  M_i = 1 + ||(x_i, 1)|| sqrt(UB - penalty)  keeps every such point.

    free: the objective says nothing about b, but one optimum is kept by
        M_i = max(2, R_i sqrt(UB - penalty)).
        Suppose the optimum keeps no point of some class. It pays for all of them, and w = 0 with b
        the label of the other class pays for no one else: this is an optimum too, and there
        1 - u_i = 2 for every violated i. Otherwise each class has a kept point; let k be the one
        in the class of i. From u_k >= 1: y_i b >= 1 - y_i <w, x_k>, so
        1 - u_i <= y_i <w, x_k - x_i> <= ||w|| R_i.
        The formula for a penalised intercept is too small here and cuts optima off.

    When UB < penalty no such point violates anything, and the square root is taken of 0.

    Parameters
    ----------
    upper_bound : float, optional
        Objective of any known point; the best closed-form point (w = 0) is used if it is better,
        and when nothing is given.

    Raises
    ------
    ValueError
        Bad penalty or intercept, or an upper bound that no point can have (negative, NaN).
    """
    cost = positive("penalty", penalty)
    trivial = trivial_points(data, penalty=cost, intercept=intercept)[0].objective
    return big_m_below(data, cost, intercept, best_known(trivial, upper_bound))


def big_m_below(data: TrainingData, cost: float, intercept: str, known: float) -> BigM:
    """M_i of `derive_big_m` for a stated objective that some point is known to reach."""
    radius = _root(known, data.prices(cost))
    values = _within(data, intercept, radius)
    if intercept == "free":
        reason = (
            f"with one violation paid ||w|| <= sqrt({known:.9g} - {_least(cost, data)}) = "
            f"{radius.max():.9g}; if a "
            "class has no kept point, w = 0 is optimal with 1 - u_i <= 2, otherwise a kept point "
            f"x_k of the same class gives 1 - u_i <= ||w|| ||x_k - x_i||: largest M "
            f"{values.max():.9g}"
        )
    else:
        what, row = _symbols(intercept)
        reason = (
            f"with one violation paid {what} <= sqrt({known:.9g} - {_least(cost, data)}) = "
            f"{radius.max():.9g}, so 1 - u_i <= 1 + {row} {radius.max():.9g} by Cauchy-Schwarz: "
            f"largest M {values.max():.9g}"
        )
    return _outward(values, reason, known)


def big_m_within(data: TrainingData, intercept: str, norm2: float) -> Array:
    """M_i of the same argument where norm2 is at most a number, whatever is paid (n,)."""
    return _within(data, intercept, np.sqrt(norm2) * OUTWARD) * OUTWARD


def _within(data: TrainingData, intercept: str, radius: float | Array) -> Array:
    """M_i where the norm is at most the radius when i is violated."""
    if intercept == "free":
        return np.maximum(2.0, same_class_reach(data) * radius)
    return 1.0 + _row_norms(data, intercept) * radius


def big_m_everywhere(data: TrainingData, cost: float, intercept: str, value: float) -> Array:
    """M_i that every point of objective at most `value` satisfies; infinite where none is proven.

    With a price on b, or without b, these are the values of `big_m_below`. With a free one they
    are where the class of i cannot be given up altogether, value < penalty * (its points): then
    some point k of it is kept at each of these points, and 1 - u_i <= ||w|| ||x_k - x_i||.
    """
    values = big_m_below(data, cost, intercept, value).values
    return where_one_is_kept(data, values, intercept, value, cost)


def ramp_big_m_everywhere(data: TrainingData, cost: float, intercept: str, value: float) -> Array:
    """The same for the ramp loss, where a point that is given up pays 2 C."""
    values = ramp_big_m_below(data, cost, intercept, value).values
    return where_one_is_kept(data, values, intercept, value, 2 * cost)


def where_one_is_kept(
    data: TrainingData, values: Array, intercept: str, value: float, paid: float
) -> Array:
    """M_i, infinite with a free intercept where the class of i may be given up for `paid` each."""
    if intercept != "free":
        return values
    negative, positive_mass = data.masses
    of_class = np.where(data.y > 0, positive_mass, negative) * paid
    return np.where(value * OUTWARD < of_class, values, np.inf)


def derive_ramp_big_m(
    data: TrainingData, *, C: float, intercept: str, upper_bound: float | None = None
) -> BigM:
    """M_i for the ramp loss,  min 1/2 norm2 + C (sum xi_i + 2 sum z_i),  0 <= xi_i <= 2.

    Rows u_i >= 1 - xi_i - M_i z_i. Without the row, point i costs C min(2, max(0, 1 - u_i)): take
    z_i = 1, xi_i = 0 if 1 - u_i > 2 and z_i = 0, xi_i = max(0, 1 - u_i) otherwise. So M_i must
    reach 1 - u_i only where z_i = 1, and each of these pays 2 C: norm2 <= 2 (UB - 2 C).

    penalised, none: M_i = 1 + ||(x_i, 1)|| sqrt(2 (UB - 2 C)) by Cauchy-Schwarz (||x_i|| without
        an intercept).

    free: M_i = 2 + R_i sqrt(2 (UB - 2 C)) keeps one optimum.
        If all points of a class have z_i = 1, each pays 2 C, and w = 0 with b the label of the
        other class pays the same for them (u_i = -1, xi_i = 2, z_i = 0) and nothing else: it is an
        optimum without any z. Otherwise the class of i has a point k with z_k = 0, so
        u_k >= -1 and y_i b >= -1 - y_i <w, x_k>; hence
        1 - u_i <= 2 + y_i <w, x_k - x_i> <= 2 + ||w|| R_i.

    Parameters
    ----------
    upper_bound : float, optional
        Objective of any known point, in this normalisation (with 1/2).

    Raises
    ------
    ValueError
        Bad C or intercept, or an upper bound that no point can have.
    """
    cost = positive("C", C)
    known = best_known(_trivial_ramp(data, cost, intercept), upper_bound)
    return ramp_big_m_below(data, cost, intercept, known)


def ramp_big_m_below(data: TrainingData, cost: float, intercept: str, known: float) -> BigM:
    """M_i of `derive_ramp_big_m` for a stated objective that some point is known to reach."""
    radius = _root(2 * known, 4 * cost * data.multiplicity)
    if intercept == "free":
        values = 2.0 + same_class_reach(data) * radius
        reason = (
            f"where z_i = 1, 2 C is paid and ||w|| <= sqrt(2 ({known:.9g} - "
            f"{_least(2 * cost, data)})) = {radius.max():.9g}; if a class has z_i = 1 throughout, "
            "w = 0 with xi_i = 2 is optimal without any z, otherwise a point x_k of the same class "
            "with z_k = 0 gives "
            f"1 - u_i <= 2 + ||w|| ||x_k - x_i||: largest M {values.max():.9g}"
        )
    else:
        values = 1.0 + _row_norms(data, intercept) * radius
        what, row = _symbols(intercept)
        reason = (
            f"where z_i = 1, 2 C is paid and {what} <= sqrt(2 ({known:.9g} - "
            f"{_least(2 * cost, data)})) = {radius.max():.9g}, so 1 - u_i <= 1 + {row} "
            f"{radius.max():.9g} by Cauchy-Schwarz: largest M "
            f"{values.max():.9g}"
        )
    return _outward(values, reason, known)


def _row_norms(data: TrainingData, intercept: str) -> Array:
    squares = np.einsum("ij,ij->i", data.factor, data.factor)
    return np.sqrt(squares + 1.0) if intercept == "penalised" else np.sqrt(squares)


def _symbols(intercept: str) -> tuple[str, str]:
    return ("||(w, b)||", "||(x_i, 1)||") if intercept == "penalised" else ("||w||", "||x_i||")


def _trivial_ramp(data: TrainingData, C: float, intercept: str) -> float:
    """Best ramp objective with w = 0.

    For b = +-t with the label of the larger class and 0 <= t <= 1 the majority loses 1 - t each
    and the minority 1 + t: t^2 / 2 + C n - C |n_pos - n_neg| t, least at t = min(1, C |...|), and
    added up here without a difference.
    Without a price on b this is t = 1, and without an intercept t = 0.
    """
    one_of("intercept", intercept, INTERCEPTS)
    minority, majority = sorted(data.masses)
    if intercept == "free":
        return 2 * C * minority
    t = min(1.0, C * (majority - minority)) if intercept == "penalised" else 0.0
    return t * t / 2 + C * (majority * (1 - t) + minority * (1 + t))


def best_known(trivial: float, upper_bound: float | None) -> float:
    """The lower of the objective of a closed-form point and that of another known point, if any.

    Raises
    ------
    ValueError
        An upper bound that no point can have (negative, NaN).
    """
    if upper_bound is None:
        return trivial
    known = float(upper_bound)
    if math.isnan(known) or known < 0:
        raise ValueError(
            f"upper_bound must be the objective of a known point, so at least 0; got {upper_bound}"
        )
    return min(trivial, known)


def _least(cost: float, data: TrainingData) -> str:
    """What the lightest point pays at least."""
    return f"{cost * float(data.multiplicity.min()):.9g}"


def _root(known: float, paid: Array) -> Array:
    """sqrt(max(known - paid, 0)) (n,), with the rounding error of the difference added to it."""
    return np.sqrt(np.maximum(known - paid, 0.0) + 4 * EPS * known)


def _outward(values: Array, reason: str, known: float) -> BigM:
    values = values * OUTWARD
    values.setflags(write=False)
    return BigM(values, reason, known)


@lru_cache(maxsize=4)
def same_class_reach(data: TrainingData, metric: str = "euclidean") -> Array:
    """Distance from each point to the farthest point of its own class, (n,).

    O(n^2) time and O(n) memory; 0 for the only point of a class. `metric` is a word of scipy's.
    """
    reach = np.zeros(data.n)
    for label in (-1.0, 1.0):
        rows = np.flatnonzero(data.y == label)
        points = data.factor[rows]
        for part in _slices(len(rows)):
            reach[rows[part]] = cdist(points[part], points, metric).max(axis=1)
    reach.setflags(write=False)
    return reach


def _slices(count: int) -> Iterator[slice]:
    step = max(1, CHUNK_DISTANCES // count)
    for start in range(0, count, step):
        yield slice(start, start + step)


# --- Bounds on a free intercept that keep an optimum, derived or stated --------------------------


def derive_intercept_bound(
    data: TrainingData, *, penalty: float, upper_bound: float | None = None
) -> float:
    """B such that some optimum of the 0-1 problem with a free intercept has |b| <= B.

    B = max(1, sqrt(UB) max_i ||x_i|| - 1). If a class has no kept point, w = 0 with b = +-1 is an
    optimum (see `big_m.derive_big_m`). Otherwise let i and k be kept points labelled +1 and -1:
    b >= 1 - <w, x_i> >= 1 - ||w|| max ||x|| and b <= -1 - <w, x_k> <= ||w|| max ||x|| - 1, where
    ||w||^2 <= UB.
    """
    cost = positive("penalty", penalty)
    trivial = trivial_points(data, penalty=cost, intercept="free")[0].objective
    return intercept_bound_below(data, best_known(trivial, upper_bound))


def intercept_bound_below(data: TrainingData, known: float) -> float:
    """B of `derive_intercept_bound` for a stated objective that some point is known to reach."""
    farthest = float(np.linalg.norm(data.factor, axis=1).max())
    return max(1.0, math.sqrt(known) * farthest * OUTWARD - 1.0) * OUTWARD


def intercept_bound_value(
    data: TrainingData | GramData,
    penalty: float | None,
    intercept: str,
    bound: float | str | None,
) -> float | None:
    """Number B with |b| <= B at some optimum; None when the intercept is not free.

    Raises
    ------
    ValueError
        Free intercept without a bound, a bound where none belongs, or "derived" without a
        penalty to derive it from.
    """
    if intercept != "free":
        if bound is not None:
            raise ValueError(f"intercept_bound belongs to intercept=free, not {intercept}")
        return None
    if bound is None:
        raise ValueError(
            "a free intercept needs intercept_bound, a number or 'derived': W_bb costs nothing, "
            "so without a bound on |b| every T_i grows at no price and the SDP value is 0"
        )
    if isinstance(bound, str):
        if bound != "derived" or penalty is None:
            allowed = "a number" if penalty is None else "a number or 'derived'"
            raise ValueError(f"intercept_bound must be {allowed} here, got {bound!r}")
        return derive_intercept_bound(data.points, penalty=penalty)
    return positive("intercept_bound", bound)


def add_intercept_bound(
    m: pyo.ConcreteModel,
    data: TrainingData | GramData,
    intercept: str,
    bound: float | str | None,
) -> None:
    """Row  intercept_row: W_bb <= intercept_bound^2  when the intercept is free."""
    penalty = pyo.value(m.penalty) if m.find_component("penalty") is not None else None
    value = intercept_bound_value(data, penalty, intercept, bound)
    if value is not None:
        add_parameter(m, "intercept_bound", value)
        m.intercept_row = pyo.Constraint(expr=m.W[data.d, data.d] <= m.intercept_bound**2)
