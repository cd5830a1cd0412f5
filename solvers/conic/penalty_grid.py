"""Penalties of a conic path, and the problem that all its points share."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.budget import budget_share
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.conic.budget_search import point_of_spend, refuse_unreachable
from tightmargin.solvers.conic.low_rank import LowRank

MODES = ("penalised", "none")


def penalty_grid(
    data: TrainingData | GramData,
    count: int = 100,
    *,
    intercept: str = "penalised",
    budgets: tuple[float, float] = (0.5, 0.01),
) -> Array:
    """Geometric grid (count,) of penalties from the one that spends 0.5 n to the one for 0.01 n.

    Raises
    ------
    ValueError
        count below 2, budgets outside (0, 1), rising or out of reach, or a free intercept.
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
