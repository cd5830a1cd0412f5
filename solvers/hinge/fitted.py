"""Both ends of a problem from the numbers that a fitted machine holds, whatever they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tightmargin.formulations.common.rounding import OUTWARD, ROUNDOFF, most_squares
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact import rounded_up
from tightmargin.solvers.hinge.ends import (
    bound_end,
    exact_multipliers,
    objective_end,
    trivial_bound,
)
from tightmargin.solvers.hinge.newton import rebuilt_multipliers
from tightmargin.solvers.hinge.problem import KernelValues, PointRows, PricedProblem
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.verdict import Verdict, judged

Ends = tuple[FeasiblePoint | None, LowerBound | None]


def ends_of_hyperplane(problem: PricedProblem, w: Array, b: float, alpha: Array | None) -> Ends:
    """What a hyperplane costs, and a bound from multipliers: given ones, else ones rebuilt.

    problem: on PointRows, not of nu.
    w, b (d,).
    alpha (n,): multipliers that came with it; where they do not close the gap, others are sought
        too.
    """
    rows = problem.points
    assert isinstance(rows, PointRows)
    with np.errstate(all="ignore"):
        point = objective_end(problem, *rows.scores(w, b), most_squares(w), b)
        below = trivial_bound(problem)
        if alpha is not None:
            below = _better(below, _bound_on_rows(problem, rows, alpha))
        if point is not None and judged(point, below).verdict is not Verdict.CERTIFIED:
            objective = rounded_up(Fraction(point.varying) / problem.scale)
            found = rebuilt_multipliers(problem, w, b, objective)
            below = _better(below, _bound_on_rows(problem, rows, found))
    return point, below


def ends_of_expansion(problem: PricedProblem, beta: Array, b: float) -> Ends:
    """What f(x) = sum_i beta_i k(x_i, x) + b costs, and a bound from the multipliers y_i beta_i.

    problem: on KernelValues. Of nu, beta may be any multiple of the multipliers.
    beta, b (n,).
    """
    points = problem.points
    assert isinstance(points, KernelValues)
    alpha = problem.y * beta
    if problem.total:
        size = float(np.abs(beta).sum())
        alpha = alpha * (float(problem.total) / size) if size > 0 else alpha
    with np.errstate(all="ignore"):
        exact = exact_multipliers(problem, alpha)
        signed = np.zeros_like(beta) if exact is None else problem.y * exact.alpha
        sums, errors = points.sums(np.column_stack([beta, signed]))
        squares = points.squares(beta, sums[:, 0], errors[:, 0])
        scores = sums[:, 0] + b
        off = errors[:, 0] + 2 * ROUNDOFF * np.abs(scores)
        point = objective_end(problem, scores, OUTWARD * off, squares, b)
        below = trivial_bound(problem)
        if exact is not None:
            squares = points.squares(signed, sums[:, 1], errors[:, 1])
            below = _better(below, bound_end(problem, exact, squares))
    return point, below


def _bound_on_rows(problem: PricedProblem, rows: PointRows, alpha: Array) -> LowerBound | None:
    exact = exact_multipliers(problem, alpha)
    if exact is None:
        return None
    return bound_end(problem, exact, rows.squared_weight(problem.y * exact.alpha))


def _better(one: LowerBound | None, other: LowerBound | None) -> LowerBound | None:
    """The higher of two bounds of one problem."""
    found = [bound for bound in (one, other) if bound is not None]
    return max(found, key=lambda bound: bound.varying, default=None)
