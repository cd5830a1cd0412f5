"""The parts of a fitted machine under the names that scikit-learn gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.estimators.distinct_points import DistinctPoints
from tightmargin.experiments.estimators.fitted import Fitted
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import GramData

PARTS = ("coef_", "intercept_", "dual_coef_", "support_")
SUPPORT = 1e-5  # of the largest: what interior points leave on a multiplier of 0 is below
PARALLEL = 1e-9  # relative: w from multipliers and w itself


def parts_of(machine: Fitted, prepared: Prepared) -> dict[str, Any]:
    """Some of `PARTS`: coef_ without a kernel, dual_coef_ and support_ where there is one.

    With w = sum_i c_i f_i, c is dual_coef_ and support_ are the points whose c_i is not 0. A dual
    without a kernel has all four.
    """
    w, b = machine.hyperplane
    weights, offsets = np.atleast_2d(w), np.atleast_1d(np.asarray(b, dtype=np.float64))
    if isinstance(prepared.data, MulticlassData) and len(weights) == 2:
        weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
    found: dict[str, Any] = {"intercept_": offsets}
    if "kernel" not in machine.result.normalisation:
        found["coef_"] = weights
    coefficients = None
    if not isinstance(prepared.data, MulticlassData) and prepared.components is None:
        coefficients = _expansion(machine, prepared, weights[0])
    if coefficients is not None:
        largest = np.abs(coefficients).max()
        found["dual_coef_"] = coefficients[None, :]
        found["support_"] = np.flatnonzero(np.abs(coefficients) > SUPPORT * largest)
    return found


def among_all(parts: dict[str, Any], points: DistinctPoints) -> dict[str, Any]:
    """The parts for all training points; equal ones share a coefficient by their weights."""
    if "dual_coef_" not in parts:
        return parts
    share, group = points.share, points.group
    support = np.isin(group, parts["support_"]) & (share > 0)
    return parts | {
        "dual_coef_": parts["dual_coef_"][:, group] * share,
        "support_": np.flatnonzero(support),
    }


def _expansion(machine: Fitted, prepared: Prepared, w: Array) -> Array | None:
    """Coefficients c (n,) with w = F'c: of the multipliers where w is along them.

    None on points whose formulation has no multipliers among its variables. On a kernel matrix
    the columns of F are orthogonal, and c = F w / ||column||^2 is the shortest.
    """
    data = prepared.data
    alpha = machine.result.values.get("alpha")
    if alpha is not None and np.shape(alpha) == (data.n,):
        for signed in (data.y * alpha, np.asarray(alpha)):
            along = data.factor.T @ signed
            square = float(along @ along)
            scale = float(w @ along) / square if square > 0 else 0.0
            if np.linalg.norm(scale * along - w) <= PARALLEL * np.linalg.norm(w):
                return scale * signed
    if not isinstance(data, GramData):
        return None
    return data.factor @ (w / (data.factor**2).sum(axis=0))
