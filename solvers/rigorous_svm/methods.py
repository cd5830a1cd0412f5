"""Models of the rigorous SVM solved by our own methods, certified like the results of solvers.

A method ends in (w, b) and alpha, from which come a point of the model and multipliers of its rows:

    rsvm        (w, b, xi)       margin: alpha,             norm: (||r||, r),  r = -F'(y o alpha)
    rsvm_dual   (alpha, v, t)    weight: -w, balance: -b,   length: (H, w) up to the sign of w

The multipliers of cones and bounds are what stationarity leaves. They prove the bound on the model
itself, here and again from a saved file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.rigorous_svm.equivalence import OPTIMAL, equivalence, loss_at_most
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import AUTO, Finding, Method, register_method
from tightmargin.solvers.rigorous_svm.path import (
    INTERRUPTED,
    LIMIT,
    METHODS,
    TIME_LIMIT,
    RsvmRow,
    solve_rsvm,
)
from tightmargin.solvers.rigorous_svm.point import PROOF, RsvmPoint

PRIMAL = "rsvm"
SEARCHED = (PRIMAL, "rsvm_dual", "rsvm_dual_perspective")
STATUS = {
    "proven": Status.OPTIMAL,
    "interrupted": Status.INTERRUPTED,
    "time_limit": Status.FEASIBLE,
    "open": Status.FEASIBLE,
}


def _by(method: str) -> Callable[[Origin, Limits], Finding]:
    def run(origin: Origin, limits: Limits) -> Finding:
        row = solve_rsvm(
            origin.data,
            norm_bound=origin.parameters["norm_bound"],
            method=method,
            time_limit=limits.time_limit,
        )
        primal = origin.entry == PRIMAL
        return Finding(
            _values(origin, row.point),
            STATUS[_stop(row)],
            row.method,
            bound=_bound(origin, row, primal=primal),
            multipliers=_multipliers(origin.entry, row.point),
            facts=_facts(origin, row),
            message=_message(row),
        )

    return run


def _bound(origin: Origin, row: RsvmRow, *, primal: bool) -> Lemma:
    """Weak duality at the point's multipliers; of a dual model minus the loss of the hyperplane."""
    point, data = row.point, origin.data
    if not primal:
        longest = row.norm_bound * (1 + 4 * np.finfo(float).eps * (data.d + 2))
        inside = {"||w|| <= H, to a rounding that is counted": np.linalg.norm(point.w) <= longest}
        return Lemma(-loss_at_most(data, point.w, point.b), PROOF, inside)
    boxed = bool((point.alpha >= 0).all() and (point.alpha <= 1).all())
    words = PROOF if point.below is None else point.below.words
    return Lemma(point.bound, words, {"alpha lies in [0, 1]": boxed})


def _multipliers(entry: str, point: RsvmPoint) -> dict[str, Any]:
    if entry == PRIMAL:
        return {"margin": point.alpha}
    return {"weight": -point.w, "balance": -point.b}


def _refuses(origin: Origin) -> str:
    intercept = origin.parameters["intercept"]
    if intercept == "free":
        return ""
    return f"it takes the free intercept of the paper alone, not {intercept!r}"


def _stop(row: RsvmRow) -> str:
    """Why a method ended, in a word of all searches."""
    if row.point.settled:
        return "proven"
    words = {INTERRUPTED: "interrupted", TIME_LIMIT: "time_limit"}
    return next((words[said] for said in words if row.stop.startswith(said)), "open")


def _message(row: RsvmRow) -> str:
    return (
        f"{row.stop}; a solution of rsvm_relaxed is returned" if row.method == LIMIT else row.stop
    )


def _values(origin: Origin, point: RsvmPoint) -> dict[str, Array]:
    """The variables of a model; those of the other entries are not in it and stay unused."""
    data, H = origin.data, point.norm_bound
    scores = data.y * (data.factor @ point.w + point.b)
    t = point.length if origin.entry == "rsvm_dual" else point.length * H
    return {
        "w": point.w,
        "b": np.asarray(point.b),
        "xi": np.maximum(0.0, 1 - scores),
        "alpha": point.alpha,
        "v": data.factor.T @ (data.y * point.alpha),
        "t": np.asarray(t),
        "gamma": np.asarray(point.gamma),
    }


def _facts(origin: Origin, row: RsvmRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stop": _stop(row),
        "steps": row.steps,
        "gamma": row.point.gamma,
        "capacity_price": row.point.length,
        "intercepts": list(row.b_interval),
    }
    if row.point.gap <= OPTIMAL * max(1.0, row.point.objective):
        same = equivalence(origin.data, row.norm_bound, row.point.alpha)
        found["equivalence"] = same.to_json()
    return found


def _chosen(origin: Origin) -> str:
    """Measured: 3 to 16 times faster than the best conic form of the model on its own."""
    return "it knows the problem and proves its point, faster than a conic solver"


TITLES = {
    AUTO: "chooses by the size of the data",
    "segments": "Newton steps over segments of the path",
    "decomposition": "the decomposition of the paper, equations (19) to (21)",
    "interior": "an interior point method of ours on the dual in the features",
    "socp": "the model as a second-order cone program, and what its point leaves",
}
for _name in METHODS:
    register_method(
        Method(
            _name,
            SEARCHED,
            _by(_name),
            TITLES[_name],
            refuses=_refuses,
            automatic=_chosen if _name == AUTO else lambda origin: "",
        )
    )
