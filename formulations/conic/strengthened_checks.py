"""Points of the strengthened SDP re-evaluated, and whether its bounds may be believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import signed_scores
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.formulations.zero_one.slack_bounds_argument import (
    stated_bounds,
)
from tightmargin.formulations.zero_one.slack_bounds_checks import AT_CUTOFF, why_doubtful


def check_strengthened(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (w, b, W, z); the bound is that of the multipliers, which the solve checks."""
    p, data = origin.parameters, origin.data
    penalty, intercept = p["penalty"], p["intercept"]
    bounds = stated_bounds(
        data, p["slack_bounds"], p["incumbent"], p["conflicts"], penalty, intercept
    )
    W = symmetric(values["W"]) if values["W"].ndim == 1 else values["W"]
    u, w, b = signed_scores(data, values)
    counted = np.diag(W)[:-1] if intercept == "free" else np.diag(W)
    objective = float(counted.sum()) + penalty * float(values["z"].sum())
    weight = w if intercept == "none" else np.append(w, b)
    eigenvalues = np.linalg.eigvalsh(W - np.outer(weight, weight))
    facts: dict[str, Any] = {
        "errors": int((u <= 0).sum()),
        "rank_of_lift": int((eigenvalues > 1e-6 * max(1.0, float(np.trace(W)))).sum()),
        "cutoff": bounds.cutoff,
        "kept": int(bounds.kept.sum()),
        "violated": int(bounds.violated.sum()),
        "conflicts": len(bounds.conflicts),
    }
    if objective >= bounds.cutoff * (1 - AT_CUTOFF):
        facts["at_cutoff"] = (
            f"the relaxation reaches the known objective {bounds.cutoff:.9g}: it is optimal"
        )
    return PaperCheck(
        objective, unproven=why_doubtful(origin, values, bounds, objective), facts=facts
    )
