"""The polytope in which cuts live, P = {w : h(w) <= 1}, and its lift Q by (b, rho, xi).

h is the support function of formulations/nu/reduced_hull.py. Below nu_bar P is bounded, and a
longest w of it, scaled to length 1, solves the extended nu-SVC, whose optimum is 1 / ||w||
(Takeda & Sugiyama 2008, (10), normalised by its objective: extended_nu_svc_polar). Inside this
package a weight is w (d,), or (w, b) with a penalised intercept; points are centred where the
intercept is free, which changes nothing but b.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData, with_points
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.nu_svc import loss_weights
from tightmargin.formulations.nu.reduced_hull import (
    ReducedHulls,
    best_levels,
    reduced_hulls,
    support_value,
)
from tightmargin.printing import Printed
from tightmargin.solvers.nu.nu_range import POLAR, nu_range

ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class PolarProblem(Printed):
    """One extended nu-SVC below nu_bar.

    hulls: the set U whose polar is P, from centred points.
    shift (d,): what was subtracted from the points: the intercept of the data is b - <w, shift>.
    fingerprint: of the data, nu, weights and intercept: cuts of one problem are refused by another.
    remark: where nu lies.
    """

    data: TrainingData
    nu: float
    class_balance: ArrayLike | str
    intercept: str
    hulls: ReducedHulls
    shift: Array
    fingerprint: str
    remark: str = ""
    _shown = ("data", "nu", "class_balance", "intercept", "remark")

    def _title(self) -> str:
        return f"extended nu-SVC at nu = {self.nu:.6g}"

    def value(self, weight: ArrayLike) -> float:
        """h(w / ||w||): the objective of extended_nu_svc at the direction of a weight (k,)."""
        w = np.asarray(weight, dtype=np.float64)
        return support_value(self.hulls, w / np.linalg.norm(w))

    def onto_boundary(self, weight: ArrayLike) -> Array:
        """The weight (k,) scaled until h = 1."""
        w = np.asarray(weight, dtype=np.float64)
        return w / support_value(self.hulls, w)

    def point(self, weight: ArrayLike) -> dict[str, Array]:
        """Values of w, b, rho, xi in the coordinates of the data that are best for a weight."""
        w = np.asarray(weight, dtype=np.float64)
        b, rho, xi = best_levels(self.hulls, w)
        d = self.data.d
        values = {"w": w[:d], "rho": np.array(rho), "xi": xi}
        if self.intercept == "free":
            values["b"] = np.array(b - float(w @ self.shift))
        elif self.intercept == "penalised":
            values["b"] = np.array(w[d])
        return values

    def split(self, weight: Array) -> dict[str, Array]:
        """A row over weights (k,) by variable name."""
        if self.intercept == "penalised":
            return {"w": weight[:-1], "b": weight[-1:].reshape(())}
        return {"w": weight}

    def weight(self, values: Mapping[str, ArrayLike]) -> Array:
        """The weight (k,) in values by variable name."""
        w = np.asarray(values["w"], dtype=np.float64)
        return np.append(w, values["b"]) if self.intercept == "penalised" else w

    def weight_part(self, coefficients: Mapping[str, Array]) -> Array:
        """The part (k,) of a row by variable name that is over the weight."""
        w = coefficients["w"]
        return np.append(w, coefficients.get("b", 0.0)) if self.intercept == "penalised" else w

    def inner_data(self, unit: float) -> TrainingData:
        """The points behind `hulls`, a constant column included, divided by `unit`.

        Without weights: `hulls.caps` are what is left of them.
        """
        return TrainingData(self.hulls.signed * self.data.y[:, None] / unit, self.data.y)


def polar_problem(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> PolarProblem:
    """State the polytope of a data set.

    Raises ValueError: nu outside (0, nu_max]; nu at or above nu_bar, where P is unbounded and the
        convex extended_nu_svc_ball has the optimum; affinely dependent features.
    """
    refuse_dependent_features(data, intercept)
    data = data.points
    found = nu_range(data, class_balance=class_balance, intercept=intercept)
    hulls = reduced_hulls(data, nu=nu, class_balance=class_balance, intercept=intercept)
    remark = found.place_extended(POLAR, hulls.nu)
    shift = np.zeros(data.d)
    if intercept == "free":
        shift = centre(data.X)
        centred = with_points(data, data.X - shift)
        hulls = reduced_hulls(centred, nu=nu, class_balance=class_balance, intercept=intercept)
    mark = fingerprint(data, hulls.nu, class_balance, intercept)
    return PolarProblem(data, hulls.nu, class_balance, intercept, hulls, shift, mark, remark)


def centre(X: Array) -> Array:
    """The mean of X, or the point next to it in features in which they differ by rounding.

    What would be left of such a point no solver keeps, and beside this centre it is 0.
    """
    mean = X.mean(axis=0)
    nearest = X[np.abs(X - mean).argmin(axis=0), np.arange(X.shape[1])]
    same = np.abs(nearest - mean) <= ROUNDING * np.abs(X).max(axis=0)
    return np.where(same, nearest, mean)


def fingerprint(
    data: TrainingData | GramData, nu: float, class_balance: ArrayLike | str, intercept: str
) -> str:
    """SHA-256 of everything that P depends on."""
    told = hashlib.sha256(data.points.sha256.encode())
    told.update(np.float64(nu).tobytes())
    told.update(loss_weights(data, class_balance).tobytes())
    told.update(intercept.encode())
    return told.hexdigest()
