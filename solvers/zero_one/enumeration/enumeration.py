"""Exact optimum of the 0-1 loss problem in few dimensions, by enumeration of active sets.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

where # counts a point as often as it weighs.

Which sets are enough. Let S be the points that an optimum keeps. Then (w, b) has least norm2
under u_i = y_i (<w, x_i> + b) >= 1 on S, a convex problem: there are multipliers alpha >= 0 that
vanish where u_i > 1.

none, penalised: with rows r_i = y_i x_i (or y_i (x_i, 1)) and v = w (or (w, b)) stationarity says
    v = sum alpha_i r_i. By Caratheodory v is a positive combination of linearly independent ones
    among the rows with u_i = 1: a set A of at most d (or d + 1) rows, and v is the only point in
    their span with <r_i, v> = 1 on A.

free: stationarity in w and in b says w = sum alpha_i y_i x_i and 0 = sum alpha_i y_i, that is,
    (w, 0) = sum alpha_i y_i (x_i, 1) in d + 1 dimensions. Caratheodory leaves a set A of at most
    d + 1 points with alpha > 0 and linearly independent (x_i, 1), that is, affinely independent
    points; d are not enough (d = 1: two points that face each other). sum alpha_i y_i = 0 puts
    both classes into A. On A, <w, x_i> + b = y_i where w = sum beta_i x_i, sum beta_i = 0,
    beta = y alpha: the bordered system [G 1; 1' 0] (beta, b) = (y, 0) with G_ij = <x_i, x_j>. It
    has one solution, for G beta + b 1 = 0 and 1'beta = 0 give ||sum beta_i x_i||^2 = 0, so beta = 0
    by affine independence, and b = 0. If S lacks a class, w = 0 with b = +-1 is optimal.

So an optimum is the point v_A of an independent set A with positive multipliers, or has w = 0.
||v_A|| grows with A, so a set that costs more than the best known objective is dropped with all
its supersets.

Nearly dependent sets. Let sigma be the least singular value of the equations of A, alpha >= 0 the
multipliers of v_A; sum alpha = ||v_A||^2 =: rho (with a free intercept, read w for v). Moving
alpha along the singular direction until an entry vanishes gives alpha' on a smaller set A' and a
point v' with ||v' - v_A|| <= sqrt(|A|) rho sigma =: delta. By weak duality the least norm2 under
u_i >= 1 on A' is at least 2 <v', v_A> - ||v'||^2 >= rho - delta^2; it is at most rho since A' is
part of A; by strong convexity its minimiser is within delta of v_A. That minimiser is again the
point of a subset of A' with positive multipliers, costs no more than v_A, and its margins differ by
at most delta times the largest row norm (the diameter of the data with a free intercept, where b
moves with an active point of each class). So A can be skipped, with its supersets, if this loss,
added up over at most |A| rounds, is below half the tolerance on margins: its subsets are enumerated
too. Exactly dependent sets are never needed. What is neither safely skipped nor accurate in
floating point, and might still matter, is solved again in rational arithmetic.

Bounds. For the lower bound a point counts as violated if u_i < 1 - tolerance; the tolerance covers
skipped sets and the rounding of v_A (ROUNDING times machine precision times condition number). For
the objective, points within the tolerance are kept by stretching (w, b), and violations are then
counted strictly. The two differ by the stretching: relatively 1e-8, more only when the margins of
the data themselves cannot be computed to 1e-9 (features offset by a million spreads).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import overload

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.formulations.zero_one.loss import EPS, margins
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.zero_one.enumeration.active_sets import distinct_points, without_equations
from tightmargin.solvers.zero_one.enumeration.depth_first_search import (
    BestPoint,
    SetSearch,
    trivial_start,
)


@dataclass(frozen=True, eq=False)
class EnumerationResult:
    """The optimum of a 0-1 loss problem, enclosed.

    Attributes
    ----------
    objective : float
        Objective of (w, b), violations counted strictly.
    bound : float
        No point has a smaller objective.
    w, b : array (d,), float
        The best point.
    kept : array (n,) of bool
        Points whose margin is at least 1.
    n_sets : int
        Number of active sets the enumeration covers.
    """

    objective: float
    bound: float
    w: Array
    b: float
    kept: Mask
    n_sets: int


def count_sets(n: int, d: int, intercept: str, n_pos: int | None = None) -> int:
    """Number of active sets of n points in d dimensions.

    Parameters
    ----------
    n_pos : int, optional
        Size of one class. Sets of one class are not needed with a free intercept; without n_pos
        the count is that of the worst class sizes.
    """
    one_of("intercept", intercept, INTERCEPTS)
    largest = d if intercept == "none" else d + 1
    if intercept != "free":
        return sum(comb(n, size) for size in range(1, largest + 1))
    first = n // 2 if n_pos is None else n_pos
    return sum(
        comb(n, size) - comb(first, size) - comb(n - first, size) for size in range(2, largest + 1)
    )


@overload
def zero_one_enumeration(
    data: TrainingData, *, penalty: float, intercept: str, limit: int = ...
) -> EnumerationResult: ...


@overload
def zero_one_enumeration(
    data: TrainingData, *, penalty: Sequence[float], intercept: str, limit: int = ...
) -> list[EnumerationResult]: ...


@reads_dense_points
def zero_one_enumeration(
    data: TrainingData,
    *,
    penalty: float | Sequence[float],
    intercept: str,
    limit: int = 5_000_000,
) -> EnumerationResult | list[EnumerationResult]:
    """Exact optimum over all active sets; the module's docstring has the proof.

    Parameters
    ----------
    penalty : number or sequence of numbers
        Several penalties share one enumeration and give a list of results.
    limit : int
        Most sets to enumerate. Repeated points count once.

    Raises
    ------
    ValueError
        More sets than `limit` (saying how many), a bad penalty, an unknown intercept.
    """
    several = not np.isscalar(penalty)
    costs = [positive("penalty", cost) for cost in np.atleast_1d(np.asarray(penalty)).tolist()]
    if not costs:
        raise ValueError("penalty must hold at least one number")
    points = distinct_points(data, intercept)
    total = count_sets(len(points.y), data.d, intercept, points.n_pos)
    if total > limit:
        raise ValueError(
            f"limit = {limit:,} is below the {total:,} active sets of up to {points.largest} of "
            f"{len(points.y)} distinct points; raise limit, or use a mixed-integer solver"
        )
    search = SetSearch(data, points, [trivial_start(data, cost, intercept) for cost in costs])
    if points.radius > 0:
        with live_line("enumeration") as search.line:
            search.descend(without_equations(points, np.arange(points.n_pos, dtype=np.intp)))
            search.resolve()
    rounded = search.rounded + data.d * EPS  # of the objective of a point too, with w @ w in it
    results = [_result(best, data, total, rounded) for best in search.best]
    return results if several else results[0]


def _result(best: BestPoint, data: TrainingData, n_sets: int, rounded: float) -> EnumerationResult:
    kept = margins(data, best.w, best.b) >= 1
    # The best point may be one of no set, such as w = 0, and its objective was rounded.
    lower = min(best.lower, best.objective * (1 - rounded))
    return EnumerationResult(best.objective, lower, best.w, best.b, kept, n_sets)
