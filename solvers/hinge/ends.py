"""The two ends of a problem as proofs: what a machine costs at most, what every machine costs.

Losses, norms and sums arrive with their roundings counted; what is left, a handful of numbers, is
put together in rational arithmetic and rounded outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import balanced_alpha, with_total
from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
    most_hinge,
    most_squares,
    summed_up,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.exact import rounded_down, rounded_up, scaled
from tightmargin.solvers.hinge.newton import rebuilt_multipliers
from tightmargin.solvers.hinge.problem import NU, SQUARED, KernelValues, PointRows, PricedProblem
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Verdict, judged

# --- Multipliers that meet their box and their sums exactly: whole numbers times one power of two
# The grid is 2^-51 of their sum. Sums of whole numbers below 2^53 are exact in whatever order, so
# that sum y_i a_i = 0 is a statement about integers, and each a_i is a double.


BITS = 51
FAR = 900  # exponents beyond which powers of two are no normal doubles

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ExactMultipliers:
    """Multipliers (n,) with their sums, which no rounding has touched.

    alpha (n,).
    total, balance: sum a_i and sum y_i a_i.
    """

    alpha: Array
    total: Fraction
    balance: Fraction

    def hypotheses(self, problem: PricedProblem) -> dict[str, bool]:
        """What weak duality asks of them, looked at again."""
        inside = (self.alpha >= 0) & (self.alpha <= problem.caps)
        found = {"every multiplier is between 0 and its price": bool(inside.all())}
        if problem.intercept == "free":
            found["sum y_i a_i = 0 in whole numbers"] = self.balance == 0
        if problem.loss == NU:
            found["sum a_i >= N in whole numbers"] = self.total >= problem.total
        return found


def exact_multipliers(problem: PricedProblem, alpha: Array) -> ExactMultipliers | None:
    """Exact multipliers near given ones; None where the box, or doubles, have no room for them."""
    y, caps = problem.y, problem.caps
    given = np.clip(np.where(np.isfinite(alpha), alpha, 0.0), 0.0, caps)
    groups = [y > 0, y < 0] if problem.intercept == "free" else [np.ones(len(y), dtype=bool)]
    if problem.loss == NU:
        share = float(problem.total) / len(groups)
        for group in groups:
            given[group] = with_total(given[group], caps[group], share)
    elif problem.intercept == "free":
        given = balanced_alpha(given, y, caps, problem.intercept)
    size = float(given.sum())
    if not np.isfinite(size):
        return None
    power = BITS - int(np.frexp(size)[1]) if size > 0 else 0
    if abs(power) > FAR:
        return None
    whole = np.rint(np.ldexp(given, power)).astype(np.int64)
    room = np.floor(np.ldexp(np.minimum(caps, 2 * size), power)).astype(np.int64)
    whole = np.minimum(whole, room)
    sums = [int(whole[group].sum()) for group in groups]
    targets = sums
    if problem.loss == NU:
        least = problem.total / len(groups) * (Fraction(2) ** power)
        targets = [-(-least.numerator // least.denominator)] * len(groups)
    elif problem.intercept == "free":
        targets = [min(sums)] * 2
    for group, have, target in zip(groups, sums, targets, strict=True):
        moved = _summing_to(whole[group], room[group], have, target)
        if moved is None:
            return None
        whole[group] = moved
    balance = int((np.where(y > 0, 1, -1) * whole).sum())
    exact = np.ldexp(whole.astype(np.float64), -power)
    return ExactMultipliers(exact, scaled(int(whole.sum()), -power), scaled(balance, -power))


def _summing_to(whole: Whole, room: Whole, have: int, target: int) -> Whole | None:
    """Whole numbers between 0 and their room that sum to the target, the roomiest moved first."""
    less = have > target
    free, wanted = (whole, have - target) if less else (room - whole, target - have)
    moves = np.zeros_like(whole)
    for k in np.argsort(-free, kind="stable") if wanted else ():
        moves[k] = min(int(free[k]), wanted)
        wanted -= int(moves[k])
        if not wanted:
            break
    if wanted:
        return None
    return whole - moves if less else whole + moves


FORMULA = "slacks from their formula"
DUALITY = "weak duality at multipliers whose sums are exact"
NOTHING_NEGATIVE = "norms and losses are not negative"


def objective_end(
    problem: PricedProblem, scores: Array, errors: Array, squares: float, b: float
) -> FeasiblePoint | None:
    """The objective rounded up; None where it is beyond doubles.

    scores, errors (n,): f(x_i), and how far each may be off.
    squares: a number that ||w||^2 does not exceed.
    b: the intercept.
    """
    if not (finite(scores, errors) and math.isfinite(squares) and math.isfinite(b)):
        return None
    losses = most_hinge(problem.y * scores, errors)
    if problem.loss == SQUARED:
        losses = losses * losses * (1 + 4 * ROUNDOFF) + UNDERFLOW * (losses > 0)
    loss = summed_up(problem.prices, losses)
    if not math.isfinite(loss):
        return None
    norm = Fraction(squares)
    if problem.intercept == "penalised":
        norm += (Fraction(b) / Fraction(problem.column)) ** 2
    if problem.loss == NU:
        value = _best_multiple(norm, problem.total - Fraction(loss))
    else:
        value = problem.ridge * norm / 2 + Fraction(loss)
    most = rounded_up(problem.scale * value)
    return point_by_formula(problem, most, 0.0, FORMULA) if math.isfinite(most) else None


def _best_multiple(norm: Fraction, slope: Fraction) -> Fraction:
    """Least t^2/2 norm - t slope over t >= 0: a nu machine (t w, t b) at the level rho = t."""
    if slope <= 0 or norm == 0:
        return Fraction(0)
    return -slope * slope / (2 * norm)


def bound_end(
    problem: PricedProblem, multipliers: ExactMultipliers, squares: float
) -> LowerBound | None:
    """The dual value rounded down; None where it is beyond doubles.

    squares: a number that ||sum_i a_i y_i phi(x_i)||^2 does not exceed, the constant column left
        out.
    """
    curved = _curved(problem, multipliers.alpha)
    if not (math.isfinite(squares) and math.isfinite(curved)):
        return None
    norm = Fraction(squares)
    if problem.intercept == "penalised":
        norm += (Fraction(problem.column) * multipliers.balance) ** 2
    value = -norm / (2 * problem.ridge) - Fraction(curved)
    if problem.loss != NU:
        value += multipliers.total
    lemma = Lemma(rounded_down(problem.scale * value), DUALITY, multipliers.hypotheses(problem))
    return by_lemma(problem, lemma)


def _curved(problem: PricedProblem, alpha: Array) -> float:
    """A number that sum a_i^2 / (4 s_i) does not exceed; 0 of the plain hinge."""
    if problem.loss != SQUARED or not alpha.any():
        return 0.0
    used = alpha > 0
    terms = alpha[used] / problem.prices[used] * alpha[used]
    count = len(terms)
    return OUTWARD * count * UNDERFLOW + float(terms.sum()) / 4 * (1 + OUTWARD * growth(count + 8))


def trivial_bound(problem: PricedProblem) -> LowerBound | None:
    """0, which no sum of norms and losses is below; None of nu, whose rho is paid for."""
    hypotheses = {
        "prices are at least 0": bool((problem.prices >= 0).all()),
        "the ridge and the scale are above 0": problem.ridge > 0 and problem.scale > 0,
        "no level rho is in the objective": problem.loss != NU,
    }
    return by_lemma(problem, Lemma(0.0, NOTHING_NEGATIVE, hypotheses))


def finite(*arrays: Array) -> bool:
    """Whether all numbers are."""
    return all(bool(np.isfinite(numbers).all()) for numbers in arrays)


# --- Both ends of a problem from the numbers that a fitted machine holds, whatever they are -------


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
