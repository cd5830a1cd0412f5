"""Until when a solve may work at its proof: the time limit and a little more.

The solver gets the whole limit. What it leaves is checked all the same, and steps of a proof that
may take long are not begun once the time is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

GRACE, SHARE = 1.0, 0.1  # seconds, or of the limit where that is more

_END: ContextVar[float] = ContextVar("end of the proof", default=math.inf)


@contextmanager
def ends_within(time_limit: float | None) -> Iterator[None]:
    """Set the end for whatever the block proves; of two blocks the earlier end counts."""
    now = time.perf_counter()
    own = math.inf if time_limit is None else now + time_limit + max(GRACE, SHARE * time_limit)
    token = _END.set(min(_END.get(), own))
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left() -> float | None:
    """Seconds that are left, none below 0; None where there is no limit."""
    end = _END.get()
    return None if math.isinf(end) else max(end - time.perf_counter(), 0.0)


def is_over() -> bool:
    """Whether nothing that takes long should be begun."""
    return seconds_left() == 0.0
