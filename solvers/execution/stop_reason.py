"""Why anything ended that searches, iterates or follows a path: one word for each reason."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a search, a heuristic or a path ended.

    PROVEN says that the gap is closed, FINISHED that everything asked for was done, and CONVERGED
    that an iteration met its own test; STALLED and NUMERICAL that rounding left no way on. The
    others are limits, and what came before them is kept.
    """

    PROVEN = "proven"
    FINISHED = "finished"
    CONVERGED = "converged"
    STALLED = "stalled"
    NUMERICAL = "numerical"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time_limit"
    STEP_LIMIT = "step_limit"
    NODE_LIMIT = "node_limit"
    MEMORY_LIMIT = "memory_limit"
    CELL_LIMIT = "cell_limit"
    ROUND_LIMIT = "round_limit"
