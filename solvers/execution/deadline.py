"""Until when a solve may work at its proof: the time limit and a little more.

The solver gets the whole limit. What it leaves is checked all the same, and steps of a proof that
may take long are not begun once the time is over. Every solver that is called meanwhile, for a
proof or for a point, is stopped by the same end. What it cannot be stopped in is one call of a
library; a result that is late names it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from tightmargin.solvers.execution.limits import SHORTEST, Limits

GRACE, SHARE = 1.0, 0.1  # seconds, or of the limit where that is more
DERIVING = 0.25  # of what is left of a limit, for a point that a model is derived from


def clock() -> float:
    """Seconds on the clock that all limits are kept by."""
    return time.perf_counter()


@dataclass(eq=False)
class Deadline:
    """The ends of a piece of work.

    Attributes
    ----------
    limit : float
        When the time limit is over, on `clock`.
    end : float
        When the proof is: a little later.
    passed : list of str
        Calls that were begun before the end and ended after it.
    """

    limit: float = math.inf
    end: float = math.inf
    passed: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """By how much the limit was passed, and in what; empty where it was kept."""
        now = clock()
        if not now > self.end:
            return ""
        what = " and ".join(dict.fromkeys(self.passed)) or "one step of the proof"
        return f"the time limit was passed by {now - self.limit:.1f} s: {what} cannot be stopped"


_NONE = Deadline()
_DEADLINE: ContextVar[Deadline] = ContextVar("deadline")


@contextmanager
def ends_within(time_limit: float | None) -> Iterator[Deadline]:
    """Set the ends for whatever the block does; of two blocks the earlier end counts."""
    outer, now = _DEADLINE.get(_NONE), clock()
    own = Deadline(outer.limit, outer.end)
    if time_limit is not None:
        own.limit = min(outer.limit, now + time_limit)
        own.end = min(outer.end, now + time_limit + max(GRACE, SHARE * time_limit))
    token = _DEADLINE.set(own)
    try:
        yield own
    finally:
        _DEADLINE.reset(token)
        if math.isfinite(outer.end) and clock() > outer.end:
            outer.passed += own.passed


@contextmanager
def uninterrupted(name: str) -> Iterator[None]:
    """A call that nothing stops: a deadline that passes meanwhile remembers its name."""
    deadline = _DEADLINE.get(_NONE)
    before = clock() < deadline.end
    try:
        yield
    finally:
        if before and clock() > deadline.end:
            deadline.passed.append(name)


def limit_left() -> float | None:
    """Seconds of the time limit that are left, none below 0; None where there is no limit."""
    return _left(_DEADLINE.get(_NONE).limit)


def deriving_time() -> float | None:
    """Seconds that a heuristic may take before a model is built; None where there is no limit."""
    left = limit_left()
    return None if left is None else max(DERIVING * left, SHORTEST)


def seconds_left() -> float | None:
    """Seconds that are left for the proof, none below 0; None where there is no limit."""
    return _left(_DEADLINE.get(_NONE).end)


def _left(end: float) -> float | None:
    return None if math.isinf(end) else max(end - clock(), 0.0)


def is_over() -> bool:
    """Whether nothing that takes long should be begun."""
    return seconds_left() == 0.0


def within_deadline(limits: Limits) -> Limits:
    """Limits of a solver's call, which ends with the proof at the latest."""
    return _shortened(limits, seconds_left())


def within_limit(limits: Limits) -> Limits:
    """Limits of a solve, which shares the time limit of what it is a part of."""
    return _shortened(limits, limit_left())


def _shortened(limits: Limits, left: float | None) -> Limits:
    own = math.inf if limits.time_limit is None else limits.time_limit
    if left is None or own <= max(left, SHORTEST):
        return limits
    return replace(limits, time_limit=max(left, SHORTEST))
