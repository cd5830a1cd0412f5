"""Hinge losses: what a class weighs, and the objective recomputed from a hyperplane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import (
    norm_of,
    signed_scores,
)
from tightmargin.formulations.common.nu_property import ON_MARGIN
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import (
    per_point,
)

ClassWeight = Sequence[float] | None


def point_weights(data: TrainingData | GramData, class_weight: ClassWeight) -> Array:
    """Weight of each point (n,) from weights in label order: of label -1, then of label +1."""
    if class_weight is None:
        return np.ones(data.n)
    if np.ndim(class_weight) != 1:
        raise ValueError(
            f"class_weight must be two numbers, of label -1 and of label +1; got {class_weight!r}"
        )
    negative_weight, positive_weight = per_point("class_weight", class_weight, 2)
    return np.where(data.y > 0, positive_weight, negative_weight)


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
