"""The extended nu-SVC of one data set as nu varies, and the weights known for it.

A weight found for one nu has a value h_nu(w) at every other one, by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.rounding import OUTWARD
from tightmargin.formulations.data.arrays import Array, digest
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.nu.nu_svc import loss_weights
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, reduced_hulls, support_value
from tightmargin.solvers.nu.nu_range import NuRange, nu_bar_bounds, nu_range

Subject = tuple[str, str, str, str, float]

SAME_DIRECTION = 1e-9


def subject_of(data: TrainingData, caps: Array, intercept: str, nu: float) -> Subject:
    """What proofs of one extended nu-SVC speak of."""
    return "extended_nu_svc", data.sha256, digest(caps), intercept, nu


@dataclass(eq=False)
class NuFamily:
    """All problems that differ in nu alone.

    data, class_balance, intercept: of the problems.
    caps (n,): weights of the loss.
    bar (float or None, float): proven bounds of nu_bar.
    """

    data: TrainingData
    class_balance: ArrayLike | str
    intercept: str
    caps: Array = field(init=False)
    range: NuRange = field(init=False)
    bar: tuple[float | None, float] = field(init=False)

    def __post_init__(self) -> None:
        self.caps = loss_weights(self.data, self.class_balance)
        self.range = nu_range(self.data, class_balance=self.class_balance, intercept=self.intercept)
        self.bar = nu_bar_bounds(
            self.data, class_balance=self.class_balance, intercept=self.intercept
        )

    def subject(self, nu: float) -> Subject:
        """What proofs at nu speak of."""
        return subject_of(self.data, self.caps, self.intercept, nu)

    def hulls(self, nu: float) -> ReducedHulls:
        """The reduced hulls at nu."""
        return reduced_hulls(
            self.data, nu=nu, class_balance=self.class_balance, intercept=self.intercept
        )


@dataclass(eq=False)
class KnownWeights:
    """Weights (k,) of norm 1, no two the same, and their values at any nu."""

    family: NuFamily
    weights: list[Array] = field(default_factory=list)

    def keep(self, weight: Array) -> None:
        """Add a weight (k,) of any length but 0, unless its direction is known."""
        unit = np.asarray(weight, dtype=np.float64) / np.linalg.norm(weight)
        if all(float(np.abs(unit - other).max()) > SAME_DIRECTION for other in self.weights):
            self.weights.append(unit)

    def best(self, nu: float) -> tuple[Array, float]:
        """The weight with the least h at nu, and that value.

        Raises ValueError: no weight is known.
        """
        values = self._values(nu)
        place = int(values.argmin())
        return self.weights[place], float(values[place])

    def starts(self, nu: float, most: int) -> list[Array]:
        """The best weights at nu, best first."""
        if not self.weights:
            return []
        order = np.argsort(self._values(nu), kind="stable")[:most]
        return [self.weights[place] for place in order]

    def _values(self, nu: float) -> Array:
        hulls = self.family.hulls(nu)
        return np.array([support_value(hulls, weight) for weight in self.weights])


# --- a proven bound at nu_bar, which is known only up to two numbers that enclose it -------------


def measured_points(data: TrainingData | GramData, intercept: str) -> Array:
    """The points (n, k) that h is measured by: centred with a free intercept, else as w meets them.

    A penalised intercept has a column of ones.
    """
    points = augmented(data, intercept if intercept == "penalised" else "none")
    return points - points.mean(axis=0) if intercept == "free" else points


def radius_of(points: Array) -> float:
    """Length of the longest of the points (n, k), rounded up."""
    return OUTWARD * float(np.linalg.norm(points, axis=1).max())


def bound_past_nu_bar(nu: float, least: float, radius: float) -> float:
    """Lower bound of h on the unit sphere at a nu near nu_bar.

    h is at least 0 up to a proven lower bound `least` of nu_bar, and falls no faster beyond it than
    by rho, which is at most the radius of the points.
    """
    return -OUTWARD * max(nu - least, 0.0) * radius
