"""What a back end is given and what it returns: claims, to be checked by certify."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.execution.interrupts import Finished
from tightmargin.solvers.execution.trace import Row
from tightmargin.solvers.result import Status
from tightmargin.solvers.standard_form.standard_form import StandardForm

Array = NDArray[np.float64]

# Every solver here reads a bound of this size as no bound, and then calls the model unbounded.
INFINITE = 1e20


@dataclass(frozen=True)
class Limits:
    """Limits and switches common to all solvers; None leaves the solver's own default.

    `absolute_gap` is for certificates, not for the solver: a proven gap of so much is closed too.
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    log: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    absolute_gap: float = 0.0


@dataclass(frozen=True, eq=False)
class Claim:
    """What a solver says.

    Attributes
    ----------
    status : Status
    x : array or None
        Point in the order of the standard form's columns.
    duals : Multipliers or None
    bound : float or None
        The solver's own bound on the minimisation, its word only.
    message : str
        The solver's own words for its status.
    log : str
        What it printed, when that was asked for.
    objective : float or None
        What it says the objective of the minimisation is at its point; None when it does not say.
    contradictions : tuple of str
        What of all this disagrees with the rest, see contradictions.py.
    trace : tuple of (seconds, bound, incumbent)
        How the search went, of the minimisation; see progress.py.
    """

    status: Status
    x: Array | None = None
    duals: Multipliers | None = None
    bound: float | None = None
    message: str = ""
    log: str = ""
    version: str = ""
    objective: float | None = None
    contradictions: tuple[str, ...] = ()
    trace: tuple[Row, ...] = ()


def reported(claim: Claim, finished: Finished[Any]) -> Claim:
    """The claim of a supervised solve, with its log and what Ctrl-C did to it."""
    claim = replace(claim, log=finished.log)
    if not finished.interrupted:
        return claim
    stopped = (Status.FEASIBLE, Status.INACCURATE, Status.LIMIT_NO_SOLUTION, Status.ERROR)
    status = Status.INTERRUPTED if claim.status in stopped else claim.status
    word = "" if "interrupt" in claim.message.lower() else "interrupted, "
    return replace(claim, status=status, message=word + claim.message)


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


def unused(solver: str, limits: Limits, *names: str) -> str:
    """Sentence on the settings a solver does not have; empty when none of them is set."""
    asked = {name: getattr(limits, name) for name in names}
    if asked.get("threads") == default_threads():
        asked["threads"] = None  # nobody asked for it here
    missing = [name for name, value in asked.items() if value is not None]
    return f"{solver} has no {' and no '.join(missing)} to set" if missing else ""


def refuse_huge_bounds(solver: str, form: StandardForm) -> None:
    """Raise for a bound or a side of a row that the solver would read as infinite.

    Raises
    ------
    NumberError
        Naming the variable or the row.
    """
    sides = (
        ("lower bound", form.lower, form.columns), ("upper bound", form.upper, form.columns),
        ("lower side", form.row_lower, form.rows), ("upper side", form.row_upper, form.rows),
    )  # fmt: skip
    for kind, numbers, owners in sides:
        huge = np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= INFINITE))
        if huge.size:
            k = int(huge[0])
            raise NumberError(
                f"{solver} would read the {kind} {numbers[k]:g} of {owners[k].name} as infinite: "
                "leave it out (None) if there is none, or scale the model"
            )
