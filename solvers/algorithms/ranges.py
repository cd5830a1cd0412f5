"""Ranges of hyperparameters that take a solve to know, reported before the main solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from formulations.catalogue import Origin
from formulations.data import GramData, TrainingData
from formulations.nu_svc import loss_weights, nu_max


@dataclass(frozen=True)
class NuRange:
    """Interval (nu_min, nu_max] in which nu-SVC is feasible and not trivial."""

    nu_min: float
    nu_max: float

    def place(self, nu: float) -> str:
        """Say where nu lies when it is outside; an empty string inside.

        Raises
        ------
        ValueError
            Above nu_max, where there is no solution.
        """
        ends = f"nu_min = {self.nu_min:.6g}, nu_max = {self.nu_max:.6g}"
        if nu > self.nu_max * (1 + 1e-12):
            raise ValueError(
                f"nu = {nu:g} is above the range ({ends}): the primal is unbounded and the dual "
                "infeasible"
            )
        if nu <= self.nu_min * (1 + 1e-9):
            return (
                f"nu = {nu:g} is at or below the range ({ends}): the only solution is w = 0; "
                "smaller nu need the extended nu-SVC"
            )
        return ""


def nu_range(
    data: TrainingData | GramData, *, class_balance: str = "uniform", intercept: str = "free"
) -> NuRange:
    """Both ends of the range of nu.

    nu_min = max{ sum l_i : 0 <= l_i <= c_i, sum l_i y_i x_i = 0, sum l_i y_i = 0 }, which is the
    least weighted mean hinge loss over all (w, b); the last equation belongs to an intercept.
    nu_max is closed form.
    """
    weights = loss_weights(data, class_balance)
    equations = data.y[:, None] * data.factor
    if intercept != "none":
        equations = np.hstack([equations, data.y[:, None]])
    answer = linprog(
        -np.ones(data.n),
        A_eq=sp.csr_matrix(equations.T),
        b_eq=np.zeros(equations.shape[1]),
        bounds=np.column_stack([np.zeros(data.n), weights]),
        method="highs",
    )
    if answer.status != 0:
        raise RuntimeError(f"the linear program for nu_min ended with: {answer.message}")
    return NuRange(max(0.0, -float(answer.fun)), nu_max(data, class_balance, intercept))


def remark(origin: Origin) -> str:
    """What solve() should say about the hyperparameters of a model before solving it."""
    if origin.entry not in ("nu_svc", "nu_svc_dual"):
        return ""
    parameters = origin.parameters
    found = nu_range(
        origin.data,
        class_balance=parameters["class_balance"],
        intercept=parameters["intercept"],
    )
    return found.place(parameters["nu"])
