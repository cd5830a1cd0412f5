"""Hinge machines on many points of many features by Newton steps that factorise nothing.

    entry            ridge     price of point i
    c_svc            1/2       C s_i
    soft_margin_svc  ridge     c_i, the share of the point in the mean
    weighted_svc     ridge     (1 - pi) c_i or pi c_i

An entry is ridge (||w||^2 [+ b^2]) + sum_i c_i xi_i, so that with prices c_i / (2 ridge) it is
2 ridge times the problem of `proximal_newton`, and its multipliers are 2 ridge times those.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.common.hyperplane import mean_weights, point_weights
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import has_sparse_points
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.hinge.newton import HingePoint, proximal_newton
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import Finding, Method, register_method

NEWTON = "newton"
ENTRIES = ("c_svc", "soft_margin_svc", "weighted_svc")
MANY = 1000  # points and features: solvers are as fast on fewer
HEAVY = 1000.0  # price times squared length: beyond it a solver ends sooner, or this never


def _prices(origin: Origin) -> tuple[float, Array]:
    """Ridge and the cost of a slack of each point (n,)."""
    data, given = origin.data, origin.parameters
    if origin.entry == "c_svc":
        return 0.5, float(given["C"]) * point_weights(data, given["class_weight"])
    shares = np.broadcast_to(mean_weights(data), data.n)
    if origin.entry == "weighted_svc":
        pi = float(given["pi"])
        shares = np.where(data.y > 0, 1 - pi, pi) * shares
    return float(given["ridge"]), shares


def _by_newton(origin: Origin, limits: Limits) -> Finding:
    data, intercept = origin.data, origin.parameters["intercept"]
    ridge, costs = _prices(origin)
    found = proximal_newton(data.factor, data.y, costs / (2 * ridge), intercept, limits.time_limit)
    b = {} if intercept == "none" else {"b": np.asarray(found.b)}
    scores = data.y * (data.factor @ found.w + (found.b if b else 0.0))
    return Finding(
        {"w": found.w, "xi": np.maximum(0.0, 1 - scores)} | b,
        _status(found),
        NEWTON,
        multipliers={"margin": np.minimum(2 * ridge * found.alpha, costs)},
        facts={"stop": found.stop, "steps": found.steps},
        message=f"{found.steps} Newton steps, {found.stop.replace('_', ' ')}",
    )


def _status(found: HingePoint) -> Status:
    if found.stop is StopReason.INTERRUPTED:
        return Status.INTERRUPTED
    return Status.OPTIMAL if found.stop is StopReason.CONVERGED else Status.FEASIBLE


def _chosen(origin: Origin) -> str:
    """Measured at 20,000 x 20,000 with 20 numbers a point: 3 s, where factors would fill 3 GB."""
    data = origin.data
    if not has_sparse_points(data) or min(data.n, data.d) < MANY:
        return ""
    ridge, costs = _prices(origin)
    if float((costs * squared_lengths(data.X)).mean()) > HEAVY * 2 * ridge:
        return ""
    return "it factorises no matrix of many sparse points, whose pattern would fill in"


register_method(
    Method(
        NEWTON,
        ENTRIES,
        _by_newton,
        "Newton steps by conjugate gradients on the dual's proximal point method",
        automatic=_chosen,
        keeps_sparse=True,
        weighted=True,
    )
)
