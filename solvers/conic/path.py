"""The conic estimator for many penalties or budgets, every value with its proof.

Cepeda, Gomez & Han 2024, Theorem 2 and appendix C. A value is found in low-rank form from its
neighbour (low_rank_minimum.py), bounded from below by the closed form of the strengthening that its
point implies (conic/closed_form_bound.py), and found again by an interior-point solver where the
two are further apart than the tolerance. Large penalties on separable points end at the hard-margin
machine (hard_margin_limit.py). With V(penalty) the value of the SDP,

    V is nondecreasing      multipliers for a penalty are multipliers for every larger one
    V is concave            with the slope sum z: a larger penalty spends less
    budget kappa            its value is the largest V(penalty) - penalty kappa n

so that a budget is a penalty too: the one at which sum z = kappa n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.budget import budget_share
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.conic.budget_search import point_of_spend, refuse_unreachable
from tightmargin.solvers.conic.low_rank import LowRank
from tightmargin.solvers.conic.path_result import ConicPath, ConicRow
from tightmargin.solvers.conic.path_rows import ConicRows
from tightmargin.solvers.execution.live_line import telling
from tightmargin.solvers.proofs.gap import CLOSED

MODES = ("penalised", "none")

__all__ = ["ConicPath", "ConicRow", "conic_path", "penalty_grid"]


@unweighted_unlike("conic_sdp")
@reads_dense_points
def conic_path(
    data: TrainingData | GramData,
    *,
    penalties: Iterable[float] | None = None,
    budgets: Iterable[float] | None = None,
    intercept: str = "penalised",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    solver: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> ConicPath:
    """Solve conic_sdp for many penalties, or conic_sdp_budget for many budgets.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels.
    penalties, budgets : iterable of float
        One of the two; by default penalty_grid(data). Sorted here, one row for each number.
    intercept : "penalised" or "none"
    tolerance : float
        Relative gap up to which a value counts as proven, at most 1e-6.
    time_limit : float, optional
        Seconds for each row.
    solver : str
        For the rows that need an interior-point solver.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Raises
    ------
    ValueError
        Both or an empty list; a penalty that is not positive, a budget outside (0, 1] or out of
        reach; a free intercept, which is solved value by value; bad arguments.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.conic_path(data, penalties=[0.5, 1.0])
    >>> [row.verdict.value for row in path.rows]
    ['CERTIFIED', 'CERTIFIED']
    """
    refuse_free_intercept(intercept)
    if not 0 < tolerance <= CLOSED:
        raise ValueError(
            f"tolerance must lie above 0 and be at most {CLOSED:g}, what CERTIFIED means; "
            f"got {tolerance!r}"
        )
    if time_limit is not None:
        positive("time_limit", time_limit)
    one_of("solver", solver, ("auto", *SOLVERS))
    if penalties is not None and budgets is not None:
        raise ValueError("give penalties or budgets, not both: a budget is a penalty of its own")
    problem = low_rank_problem(data, intercept)
    if penalties is None and budgets is None:
        penalties = penalty_grid(data, intercept=intercept).tolist()
    wanted = _wanted(problem, penalties, None if budgets is None else list(budgets))
    path = ConicRows(data, problem, intercept, tolerance, time_limit, solver, budgets is not None)
    waiting = list(wanted)
    with telling("conic path", progress) as say:
        while waiting:
            say(f"{path.parameter} {waiting[0]:.4g}, {len(waiting)} of {len(wanted)} to go")
            try:
                path.visit(waiting[0])
            except KeyboardInterrupt:
                if not path.rows:
                    raise
                break
            waiting.pop(0)
    return ConicPath(tuple(path.rows), path.parameter, data, intercept, tolerance, tuple(waiting))


def _wanted(
    problem: LowRank, penalties: Iterable[float] | None, budgets: Iterable[float] | None
) -> list[float]:
    """Rising penalties, or falling budgets, checked."""
    if penalties is not None:
        found = sorted({positive("penalty", penalty) for penalty in penalties})
    else:
        found = sorted({budget_share(budget) for budget in budgets or ()}, reverse=True)
        for budget in found:
            refuse_unreachable(problem, budget * problem.n)
    if not found:
        raise ValueError(f"{'penalties' if budgets is None else 'budgets'} is empty: name one")
    return found


@unweighted_unlike("conic_sdp")
@reads_dense_points
def penalty_grid(
    data: TrainingData | GramData,
    count: int = 100,
    *,
    intercept: str = "penalised",
    budgets: tuple[float, float] = (0.5, 0.01),
) -> Array:
    """Geometric grid (count,) of penalties from the one that spends 0.5 n to the one for 0.01 n.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels.
    count : int
        How many penalties, at least 2.
    intercept : "penalised" or "none"
        As for conic_sdp.
    budgets : (float, float)
        Shares of the points that the first and the last penalty spend.

    Raises
    ------
    ValueError
        count below 2, budgets outside (0, 1), rising or out of reach, or a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> grid = tm.paths.penalty_grid(data, 5)
    >>> grid.shape, bool((grid[1:] > grid[:-1]).all())
    ((5,), True)
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 2:
        raise ValueError(f"count must be a whole number of at least 2, got {count!r}")
    refuse_free_intercept(intercept)
    first, last = (budget_share(budget) for budget in budgets)
    if not first > last:
        raise ValueError(f"budgets must fall, got {budgets!r}")
    problem = low_rank_problem(data, intercept)
    for budget in (first, last):
        refuse_unreachable(problem, budget * data.n)
    start = point_of_spend(problem, first * data.n, tolerance=1e-3)
    end = point_of_spend(problem, last * data.n, known=[start], tolerance=1e-3)
    return np.geomspace(start.penalty, end.penalty, count)


def refuse_free_intercept(intercept: str) -> None:
    """Raise ValueError for a free intercept, with what would work."""
    if intercept == "free":
        raise ValueError(
            "a conic path needs intercept=penalised or none: with a free intercept W_bb has no "
            "price, only its bound; solve conic_sdp_dual with intercept_bound value by value"
        )
    one_of("intercept", intercept, MODES)


def low_rank_problem(data: TrainingData | GramData, intercept: str) -> LowRank:
    """The low-rank form on the points with their constant entry."""
    return LowRank(data.y[:, None] * augmented(data, intercept))
