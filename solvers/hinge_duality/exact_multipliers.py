"""Multipliers that meet their box and their sums exactly: whole numbers times one power of two.

The grid is 2^-51 of their sum. Sums of whole numbers below 2^53 are exact in whatever order, so
that sum y_i a_i = 0 is a statement about integers, and each a_i is a double.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.multipliers import balanced_alpha, with_total
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import scaled
from tightmargin.solvers.hinge_duality.problem import NU, PricedProblem

BITS = 51
FAR = 900  # exponents beyond which powers of two are no normal doubles

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ExactMultipliers:
    """Multipliers (n,) with their sums, which no rounding has touched.

    Attributes
    ----------
    alpha : array (n,)
    total, balance : Fraction
        sum a_i and sum y_i a_i.
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
