"""Limits of a search over cones of directions, and whether its bounds are compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.solvers.zero_one.conflict_search.result import TracePoint

COMPILED_AFTER = 4_000_000  # products of points and cells: about as long as compiling takes
COMPILING = 30.0  # seconds; a shorter time limit is not worth it

Progress = Callable[[TracePoint], None]


@dataclass(frozen=True, eq=False)
class Run:
    """Limits of one search, and who is told."""

    gap: float
    time_limit: float | None
    cell_limit: int | None
    clock: Callable[[], float]
    progress: Progress
    compiled_after: float


def checked_run(
    data: TrainingData,
    intercept: str,
    gap: float,
    time_limit: float | None,
    cell_limit: int | None,
    clock: Callable[[], float],
    progress: Progress = lambda point: None,
    compiled: bool | None = None,
) -> Run:
    """The limits, or a ValueError that names the bad one."""
    one_of("intercept", intercept, INTERCEPTS)
    positive("gap", gap)
    for name, limit in (("time_limit", time_limit), ("cell_limit", cell_limit)):
        if limit is not None:
            positive(name, limit)
    if not data.d:
        raise ValueError("the search over cones of directions needs a feature, and X has none")
    there = find_spec("numba") is not None
    if compiled and not there:
        raise ValueError('compiled=True needs the package numba: pip install "tightmargin[numba]"')
    worth = there and (time_limit is None or time_limit >= COMPILING)
    after = {True: 0.0, False: np.inf, None: COMPILED_AFTER if worth else np.inf}[compiled]
    return Run(gap, time_limit, cell_limit, clock, progress, after)
