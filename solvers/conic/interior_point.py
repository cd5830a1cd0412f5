"""A conic SDP by an interior-point solver, handed back as a factor and as multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound
from tightmargin.formulations.conic.sdp import conic_sdp_budget
from tightmargin.formulations.conic.sdp_dual import conic_sdp_dual
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.solvers.conic.low_rank import LowRank, from_lifted
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.result import SolveResult


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """What a solver found.

    Attributes
    ----------
    F : array (1 + r, k) or None
    said : str
        Solver and status.
    proof : StrengtheningBound or None
        At a penalty: the bound of the multipliers that were found.
    bound, penalty : float or None
        With a budget: the proven bound and the penalty that proves it.
    """

    F: Array | None
    said: str
    proof: StrengtheningBound | None = None
    bound: float | None = None
    penalty: float | None = None


def by_penalty(
    data: TrainingData | GramData,
    problem: LowRank,
    penalty: float,
    intercept: str,
    solver: str,
    time_limit: float | None,
) -> ConicSolution:
    """The SDP at a penalty through its dual, with the bound of the multipliers in closed form."""
    result = _solved(conic_sdp_dual(data, penalty=penalty, intercept=intercept), solver, time_limit)
    said = f"{result.solver}: {result.status}"
    F, proof = None, None
    if result.values:
        alpha = np.maximum(result.values["alpha"], 0.0)
        proof = problem.bound(
            np.maximum(result.values["gamma"], alpha**2 / penalty), alpha, penalty
        )
    outer = result.duals.get("outer")
    if outer is not None and outer[-1, -1] > 0:
        lifted = outer / outer[-1, -1]
        F = from_lifted(lifted[:-1, -1], lifted[:-1, :-1])
    return ConicSolution(F, said, proof)


def by_budget(
    data: TrainingData | GramData,
    budget: float,
    intercept: str,
    solver: str,
    time_limit: float | None,
) -> ConicSolution:
    """The SDP with a budget itself, with the bound of its certificate."""
    result = _solved(conic_sdp_budget(data, budget=budget, intercept=intercept), solver, time_limit)
    said = f"{result.solver}: {result.status}"
    F = None
    if result.values:
        w, W = result.values["w"], result.values["W"]
        weight = np.append(w, result.values["b"]) if "b" in result.values else w
        F = from_lifted(weight, symmetric(W) if W.ndim == 1 else W)
    bound = result.bound  # proven, whatever the verdict is
    penalty = result.certificate.facts.get("penalty")
    return ConicSolution(F, said, bound=bound, penalty=penalty)


def _solved(model: object, solver: str, time_limit: float | None) -> SolveResult:
    result = solve(model, solver, time_limit=time_limit)
    if result.status is Status.INTERRUPTED:  # a solver that keeps Ctrl-C to itself
        raise KeyboardInterrupt
    return result
