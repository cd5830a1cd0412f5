"""Stochastic gradient descent on soft-margin models, which never ends at their optimum.

The averaged iterate is a point of the model and the draws make multipliers of its margin rows, so
that a result holds a proven gap; it is certified where that closes, which takes more steps than
anybody waits for. On points it is Algorithm 3 of Lee 2020, on a kernel matrix Algorithm 4.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.methods import Finding, Method, register_method
from tightmargin.solvers.soft_margin.sgd import Sgd, sgd
from tightmargin.solvers.soft_margin.sgd_rate import checked_steps, sgd_rate

SGD = "sgd"
DESCENDED = ("soft_margin_svc", "kernel_soft_margin_svc")
STEPS = 100_000  # a second or less
PROOF = "weak duality at multipliers in [0, 1/n] made of the draws, recomputed from the data"


def _by_descent(origin: Origin, limits: Limits) -> Finding:
    steps = limits.options.get("steps", STEPS)
    checked_steps(steps)
    ridge = origin.parameters["ridge"]
    run = sgd(
        origin.data, ridge=ridge, steps=steps, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    rate = sgd_rate(origin.data, ridge=ridge, steps=run.steps) if run.steps else None
    return Finding(
        _values(origin, run.coefficients),
        Status.INTERRUPTED if run.stop is StopReason.INTERRUPTED else Status.FEASIBLE,
        SGD,
        bound=Lemma(run.bound, PROOF, {"alpha lies in [0, 1/n]": _in_box(run.alpha)}),
        multipliers={"margin": run.alpha},
        bound_values=_values(origin, origin.data.y * run.alpha / (2 * ridge)),
        facts={
            "stop": run.stop,
            "steps": run.steps,
            "descent": [[point.steps, point.objective, point.bound] for point in run.trace],
            "expected_gap": rate,
        },
        message=_message(run),
        options={"steps": steps},
    )


def _in_box(alpha: Array) -> bool:
    return bool((alpha >= 0).all() and (alpha <= 1 / len(alpha)).all())


def _values(origin: Origin, coefficients: Array) -> dict[str, Array]:
    """The variables of a model; those of the other entry are not in it and stay unused."""
    data = origin.data
    w = data.factor.T @ coefficients
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w))
    return {"w": w, "xi": losses, "alpha": coefficients, "v": w}


def _message(run: Sgd) -> str:
    ended = "" if run.stop is StopReason.FINISHED else f"{run.stop.replace('_', ' ')}: "
    return f"{ended}{run.steps:,} steps of stochastic gradient descent"


def _refuses(origin: Origin) -> str:
    intercept = origin.parameters["intercept"]
    if intercept == "none":
        return ""
    return f"it has no intercept, as in its paper: build with intercept=none, not {intercept!r}"


register_method(
    Method(
        SGD,
        DESCENDED,
        _by_descent,
        "stochastic gradient descent on the soft margin without intercept",
        options=("steps",),
        draws=True,
        refuses=_refuses,
    )
)
