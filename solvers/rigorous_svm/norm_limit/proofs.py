"""What is proven of the least hinge loss and of the norms that reach it, without rounding.

Points, hyperplanes and multipliers are floats, hence integers times powers of two, and every sum
here is taken in integers. Two things are mended first where rounding keeps them from being exact:
multipliers of the linear program, by proofs/exact_lp.py, and the hyperplane, by solving its active
rows again in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter

import numpy as np
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.rigorous_svm.primal import rsvm_relaxed
from tightmargin.solvers.exact_arithmetic import (
    Dyadic,
    dot_integers,
    dyadic,
    rounded_down,
    rounded_up,
    scaled,
    solve_exactly,
)
from tightmargin.solvers.proofs.exact_lp import exact_lp_value
from tightmargin.solvers.standard_form.standard_form import standard_form

DEPENDENT = 1e-9  # of rows and columns that are chosen for an exact system
DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExactHyperplane:
    """(w, b) in fractions."""

    w: tuple[Fraction, ...]
    b: Fraction

    @property
    def norm_above(self) -> float:
        """||w|| rounded up."""
        return math.hypot(*map(rounded_up, map(abs, self.w))) * (1 + 4 * DOUBLE)


def exact_hyperplane(w: Array, c: float, centre: Array) -> ExactHyperplane:
    """(w, b) with <w, x> + b = <w, x - centre> + c."""
    weights = tuple(map(Fraction, w.tolist()))
    moved = sum(
        (a * Fraction(m) for a, m in zip(weights, centre.tolist(), strict=True)), Fraction()
    )
    return ExactHyperplane(weights, Fraction(c) - moved)


class Proofs:
    """Bounds for the points as they are stored; a kernel matrix counts as its factor."""

    def __init__(self, data: TrainingData | GramData) -> None:
        self.factor, self.y = np.asarray(data.factor), data.y
        self.n, self.d = self.factor.shape

    @cached_property
    def exact(self) -> Dyadic:
        """Entries of the factor, row by row."""
        return dyadic(self.factor.ravel())

    # --- hyperplanes

    def margins(self, plane: ExactHyperplane, some: Index | None = None) -> tuple[list[int], int]:
        """u_i = y_i (<w, x_i> + b) of all points or some, as numerators over one denominator."""
        common = math.lcm(*(x.denominator for x in (*plane.w, plane.b)))
        *w, b = [x.numerator * (common // x.denominator) for x in (*plane.w, plane.b)]
        up, down, d = max(self.exact.exponent, 0), max(-self.exact.exponent, 0), self.d
        b <<= down
        members = np.arange(self.n) if some is None else some
        numerators = [
            sign * ((dot_integers(self.exact.integers[i * d : (i + 1) * d], w) << up) + b)
            for i, sign in zip(members.tolist(), self.y[members].astype(int).tolist(), strict=True)
        ]
        return numerators, common << down

    def loss(self, plane: ExactHyperplane) -> Fraction:
        """E(w, b)."""
        numerators, one = self.margins(plane)
        return Fraction(sum(one - u for u in numerators if u < one), one)

    def least_margin(self, plane: ExactHyperplane) -> Fraction:
        """The smallest u_i."""
        numerators, one = self.margins(plane)
        return Fraction(min(numerators), one)

    def on_active_rows(self, plane: ExactHyperplane, active: Mask) -> ExactHyperplane | None:
        """A hyperplane with u_i = 1 on all active rows, near one that has it to rounding.

        As few numbers of (w, b) are changed as there are independent rows. None where rounding
        hides how many there are.
        """
        members = np.flatnonzero(active)
        if not len(members):
            return None
        around = self.factor[members] - self.factor[members].mean(axis=0)
        around /= float(np.abs(around).max(initial=0.0)) or 1.0
        chosen = _independent(np.column_stack([around, np.ones(len(members))]).T)
        rows, differences = members[chosen], around[chosen[1:]] - around[chosen[0]]
        columns = np.append(_independent(differences), self.d)
        if len(columns) != len(rows):
            return None
        extended = np.column_stack([self.factor[rows], np.ones(len(rows))])
        exact = [dyadic(extended[:, j]) for j in columns]
        matrix = [[column.integers[k] for column in exact] for k in range(len(rows))]
        numerators, one = self.margins(plane, rows)
        signs = self.y[rows].astype(int).tolist()
        rest = [t * Fraction(one - u, one) for t, u in zip(signs, numerators, strict=True)]
        step = solve_exactly(matrix, rest)
        if step is None:
            return None
        moved = [*plane.w, plane.b]
        for j, x, column in zip(columns.tolist(), step, exact, strict=True):
            moved[j] += x * scaled(1, -column.exponent)
        return ExactHyperplane(tuple(moved[:-1]), moved[-1])

    # --- multipliers

    def least_loss(self, alpha: Array) -> Fraction | None:
        """Lower bound on E(w, b) over all hyperplanes, from approximate multipliers of (10).

        It is the least loss itself where alpha is a vertex. None where no exact multipliers with
        the same entries at 0 and 1 are found, or their sum is 0, which proves nothing.
        """
        form = standard_form(rsvm_relaxed(with_a_column(self.factor, self.y)))
        found = exact_lp_value(form, alpha)
        return found if found is not None and found > 0 else None

    def weak_duality(self, alpha: Array) -> tuple[Fraction, Fraction]:
        """(mass, length) with E(w, b) >= mass - ||w|| length for all hyperplanes, by (12).

        The multipliers of the heavier class are scaled down until y'alpha = 0.
        """
        support = np.flatnonzero(alpha > 0)
        weights = dyadic(np.minimum(alpha[support], 1.0))
        labels = self.y[support].astype(int).tolist()
        of = {t: sum(a for a, s in zip(weights.integers, labels, strict=True) if s == t)
              for t in (1, -1)}  # fmt: skip
        if not (of[1] and of[-1]):
            return Fraction(), Fraction()
        balanced = [t * a * of[-t] for a, t in zip(weights.integers, labels, strict=True)]
        lighter, heavier = sorted(of.values())
        unit = scaled(1, weights.exponent + self.exact.exponent) / heavier
        members = itemgetter(*support.tolist())
        residual = [
            rounded_up(
                abs(dot_integers(members(self.exact.integers[j :: self.d]), balanced) * unit)
            )
            for j in range(self.d)
        ]
        length = math.hypot(*residual) * (1 + 4 * DOUBLE)
        return scaled(2 * lighter, weights.exponent), Fraction(length)

    def loss_within(self, alpha: Array, norm: float) -> float:
        """Lower bound on E(w, b) over ||w|| <= norm."""
        mass, length = self.weak_duality(alpha)
        return max(0.0, rounded_down(mass - length * Fraction(norm)))

    def norm_below(self, alpha: Array, least_loss_above: Fraction) -> float:
        """Lower bound on ||w|| over all hyperplanes whose loss is at most a number."""
        mass, length = self.weak_duality(alpha)
        gain = mass - least_loss_above
        return rounded_down(gain / length) if gain > 0 and length > 0 else 0.0


def with_a_column(points: Array, y: Array) -> TrainingData:
    """Points as data of a model, which have at least one column."""
    return TrainingData(points if points.shape[1] else np.zeros((len(y), 1)), y)


def _independent(matrix: Array) -> Index:
    """Columns that span the others to rounding."""
    if not matrix.size:
        return np.zeros(0, dtype=np.intp)
    _, r, order = qr(matrix, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > DEPENDENT * diagonal.max(initial=0.0)).sum())
    return np.sort(order[:rank])
