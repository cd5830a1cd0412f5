"""Class probabilities from a grid of weighted machines, every machine proven.

Lee 2020, section 3.1 with (10); the rule that reads the signs is in sign_rule.py. Between
two neighbours of the grid no sign tells more: the estimate is within half a step of what the signs
of all pi would give where they are monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.solvers.execution.live_line import telling
from tightmargin.solvers.probability.binary_result import ClassProbabilities
from tightmargin.solvers.probability.sign_rule import checked_grid
from tightmargin.solvers.probability.weighted_machines import (
    LIBSVM,
    METHODS,
    Problem,
    WeightedMachine,
    machines,
)

__all__ = ["METHODS", "ClassProbabilities", "class_probabilities"]


@unweighted_unlike("weighted_svc")
@reads_dense_points
def class_probabilities(
    data: TrainingData | GramData,
    *,
    ridge: float,
    grid: int | Sequence[float] | NDArray[np.float64] = 19,
    intercept: str = "free",
    method: str = "auto",
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> ClassProbabilities:
    """Solve weighted_svc for every pi of a grid, and read probabilities from the signs.

        min  ridge ||w||^2 + (1/n) [(1 - pi) sum_{y_i = 1} xi_i + pi sum_{y_i = -1} xi_i]
        s.t. y_i (<w, f_i> + b) + xi_i >= 1,  xi_i >= 0

    Parameters
    ----------
    data : TrainingData or GramData
        f_i are the points, or the rows of the factor of the kernel matrix.
    ridge : float
        lambda; the same machine as SVC(C=1 / (2 ridge n)) with these weights of the points.
    grid : int or sequence of float
        How many values between 0 and 1, equally spaced (19 is steps of 0.05), or the values.
    intercept : str
        "free", "penalised" or "none".
    method : str
        "interior": many values at once; "libsvm": one by one, for a free intercept, for kernels
        of many points; "model": the entry, re-solved in place; "auto" takes one of the first two
        by size. Where a gap stays open "model" helps out.
    time_limit : float, optional
        Seconds for each value; libsvm has a limit on iterations only.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Returns
    -------
    ClassProbabilities
        After Ctrl-C with the values finished so far; before the first one KeyboardInterrupt goes
        on.

    Raises
    ------
    ValueError
        An argument out of range, by its name; a kernel matrix that is 0.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> fitted = tm.paths.class_probabilities(data, ridge=0.1, grid=4)
    >>> fitted.reading(data.X).signs.shape  # at 0, the four values of pi, 1
    (12, 6)
    """
    positive("ridge", ridge)
    one_of("intercept", intercept, INTERCEPTS)
    if one_of("method", method, METHODS) == LIBSVM and intercept != "free":
        raise ValueError(f"method={LIBSVM} has a free intercept only, got intercept={intercept!r}")
    limit = None if time_limit is None else positive("time_limit", time_limit)
    pis = checked_grid(grid)
    problem = Problem(data.points, float(ridge), intercept)
    found: list[WeightedMachine] = []
    try:
        with telling("class probabilities", progress) as say:
            for batch in machines(problem, pis, method, limit):
                found += batch
                say(f"pi {found[-1].pi:.4g}, {len(pis) - len(found)} of {len(pis)} to go")
    except KeyboardInterrupt:
        if not found:
            raise
    return ClassProbabilities(
        data,
        float(ridge),
        intercept,
        tuple(found),
        method,
        tuple(pis[len(found) :].tolist()),
    )
