"""The limits and switches of a solve, checked before anything starts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

from tightmargin.printing import Printed

SHORTEST = 1e-3  # seconds: less is not worth starting for
_LARGEST = 2**31 - 1  # solvers keep threads and seeds in 32 bits, and wrap or refuse the rest


def checked_limits(
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    log: bool = False,
    options: Mapping[str, Any] | None = None,
    absolute_gap: float = 0.0,
) -> Limits:
    """Limits as plain numbers.

    Where no threads are asked for, the environment variable TIGHTMARGIN_THREADS says how many; a
    study that runs one task a core sets it to 1.

    Raises
    ------
    ValueError
        A number that no solver can follow, naming the argument.
    """
    if time_limit is not None:
        number = float(time_limit) if _is(time_limit, Real) else math.nan
        if not 0 < number < math.inf:
            raise ValueError(
                f"time_limit must be positive and finite, in seconds, got {time_limit!r}"
            )
        time_limit = number
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must map the solver's own option names to values: {options!r}")
    for name in options or {}:
        if not isinstance(name, str):
            raise ValueError(f"options: a name is a string, got {name!r}")
    gap = float(absolute_gap) if _is(absolute_gap, Real) else math.nan
    if not 0 <= gap < math.inf:
        raise ValueError(f"absolute_gap must be at least 0 and finite, got {absolute_gap!r}")
    threads = default_threads() if threads is None else _whole("threads", threads, 1)
    return Limits(time_limit, threads, _whole("seed", seed, 0), log, dict(options or {}), gap)


def _whole(argument: str, value: int | None, least: int) -> int | None:
    if value is None:
        return None
    if not _is(value, Integral) or not least <= value <= _LARGEST:
        raise ValueError(
            f"{argument} must be a whole number from {least} to {_LARGEST}, got {value!r}"
        )
    return int(value)


def _is(value: Any, kind: type) -> bool:
    """Whether a value is a number of a kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


@dataclass(frozen=True, repr=False)
class Limits(Printed):
    """Limits and switches common to all solvers; None leaves the solver's own default.

    `absolute_gap` is for certificates, not for the solver: a proven gap of so much is closed too.
    `nodes` ends a run of our own that asks a solver for a point: a count, the same on any machine.
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    log: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    absolute_gap: float = 0.0
    nodes: int | None = None

    def without(self, spent: float) -> Limits:
        """The same with some seconds less, and a moment at least."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - spent, SHORTEST))


def default_threads() -> int | None:
    """Threads of a solve that names none: TIGHTMARGIN_THREADS, or the solver's own choice.

    Raises
    ------
    ValueError
        The variable is no whole number from 1 on.
    """
    word = os.environ.get("TIGHTMARGIN_THREADS", "").strip()
    if not word:
        return None
    if not word.isdecimal() or not 1 <= int(word) < 2**31:
        raise ValueError(f"TIGHTMARGIN_THREADS must be a whole number from 1 on, got {word!r}")
    return int(word)
