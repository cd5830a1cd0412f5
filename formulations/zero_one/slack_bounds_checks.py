"""Checks of the big-M models that also ask whether their slack bounds may be believed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.conic.strengthened_checks import why_doubtful
from tightmargin.formulations.zero_one.slack_bounds_argument import stated_bounds

Check = Callable[[Origin, Values], PaperCheck]


def doubted(check: Check) -> Check:
    """A check whose models may carry slack bounds: M is proven if these are."""

    @functools.wraps(check)
    def asked(origin: Origin, values: Values) -> PaperCheck:
        checked = check(origin, values)
        p, data = origin.parameters, origin.data.points
        if p.get("slack_bounds") is None:
            return checked
        bounds = stated_bounds(
            data, p["slack_bounds"], p["incumbent"], "none", p["penalty"], p["intercept"]
        )
        stated = replace(origin, data=data, parameters={**p, "conflicts": "none"})
        doubt = why_doubtful(stated, values, bounds, 0.0) or _too_small(p["big_m"], bounds.upper)
        repaired = dict(checked.repaired)
        objective = checked.objective
        if origin.entry == "zero_one_big_m":
            # A point that is paid for by its bound is paid for, wherever it lies.
            paid = np.maximum(repaired["z"], bounds.violated)
            objective += p["penalty"] * float((paid - repaired["z"]).sum())
            repaired["z"] = paid
        return replace(checked, objective=objective, repaired=repaired, unproven=doubt)

    return asked


def _too_small(big_m: np.ndarray, upper: np.ndarray) -> str:
    """Where an M is below what the slack bounds allow, or an empty string."""
    short = upper - np.broadcast_to(np.asarray(big_m, dtype=float), upper.shape)
    worst = int(np.argmax(short))
    if short[worst] > 1e-9 * max(1.0, abs(upper[worst])):
        return f"M[{worst}] is below the proven value {upper[worst]:.6g}"
    return ""
