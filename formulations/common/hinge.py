"""Hinge losses: what a class weighs, and the objective recomputed from a hyperplane."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import (
    norm_of,
    signed_scores,
)
from tightmargin.formulations.common.nu_property import ON_MARGIN
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import ClassWeight, class_factors
from tightmargin.formulations.data.training_data import GramData, TrainingData


def point_weights(data: TrainingData | GramData, class_weight: ClassWeight) -> Array:
    """Weight of each point (n,): its own times that of its class.

    class_weight: by label; of label -1, then of label +1; or total / (2 mass of the class).
    """
    order = "two numbers, of label -1 and of label +1"
    factors = class_factors(class_weight, data.classes, np.array(data.masses), order)
    of_class = np.where(data.y > 0, factors[1], factors[0])
    return of_class if data.weights is None else of_class * data.weights


def mean_weights(data: TrainingData | GramData) -> float | Array:
    """What the loss of each point counts in the mean: 1 / n, or its share (n,) of all weights."""
    return 1 / data.n if data.weights is None else data.weights / data.total_weight


def hinge_check(origin: Origin, values: Values, norm_cost: float, costs: Array) -> PaperCheck:
    """norm_cost * norm + sum of costs times hinge losses, recomputed from (w, b)."""
    u, w, b = signed_scores(origin.data, values)
    xi = np.maximum(0.0, 1 - u)
    objective = norm_cost * norm_of(w, b, origin.parameters["intercept"]) + float(costs @ xi)
    facts = {
        "errors": int((u <= 0).sum()),
        "margin_violations": int((u < 1 - 1e-9).sum()),
        "support_vectors": int((u <= 1 + ON_MARGIN * max(1.0, float(np.abs(u).max()))).sum()),
    }
    return PaperCheck(objective, repaired={"xi": xi}, facts=facts)
