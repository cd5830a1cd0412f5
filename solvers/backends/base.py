"""What a back end is given and what it returns: claims, to be checked by certify."""

from __future__ import annotations

import numpy as np

from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.execution.limits import Limits, default_threads
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Every solver here reads a bound of this size as no bound, and then calls the model unbounded.
INFINITE = 1e20


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
