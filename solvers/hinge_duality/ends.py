"""The two ends of a problem as proofs: what a machine costs at most, what every machine costs.

Losses, norms and sums arrive with their roundings counted; what is left, a handful of numbers, is
put together in rational arithmetic and rounded outwards.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
)
from tightmargin.formulations.common.rounded_sums import most_hinge, summed_up
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.hinge_duality.exact_multipliers import ExactMultipliers
from tightmargin.solvers.hinge_duality.problem import NU, SQUARED, PricedProblem
from tightmargin.solvers.proofs.lemma import by_lemma, point_by_formula
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound

FORMULA = "slacks from their formula"
DUALITY = "weak duality at multipliers whose sums are exact"
NOTHING_NEGATIVE = "norms and losses are not negative"


def objective_end(
    problem: PricedProblem, scores: Array, errors: Array, squares: float, b: float
) -> FeasiblePoint | None:
    """The objective rounded up; None where it is beyond doubles.

    Parameters
    ----------
    scores, errors : arrays (n,)
        f(x_i), and how far each may be off.
    squares : float
        A number that ||w||^2 does not exceed.
    b : float
        The intercept.
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

    Parameters
    ----------
    multipliers : ExactMultipliers
    squares : float
        A number that ||sum_i a_i y_i phi(x_i)||^2 does not exceed, the constant column left out.
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
