"""The hyperplane of the least weighted mean hinge loss, which solves the problem at nu_bar."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData


def least_hinge(data: TrainingData, caps: Array, intercept: str) -> Array:
    """w (k,), with b where it is penalised, of min sum_i c_i max(0, 1 - y_i (<w, x_i> + b)).

    Parameters
    ----------
    caps : array (n,)
        The weights c.

    Raises
    ------
    RuntimeError
        The linear program did not end with an optimum.
    """
    rows = data.y[:, None] * augmented(data, intercept)
    d = rows.shape[1]
    answer = linprog(
        np.r_[np.zeros(d), caps],
        A_ub=np.hstack([-rows, -np.eye(data.n)]),
        b_ub=-np.ones(data.n),
        bounds=[(None, None)] * d + [(0, None)] * data.n,
        method="highs",
    )
    if answer.status != 0:
        raise RuntimeError(f"the linear program for the hinge loss ended: {answer.message}")
    return answer.x[: d if intercept == "penalised" else data.d]
