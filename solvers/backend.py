"""What a back end is given and what it returns: claims, to be checked by certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.conic_form import Multipliers
from solvers.result import Status

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Limits and switches common to all solvers; None leaves the solver's own default."""

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    log: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


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
    """

    status: Status
    x: Array | None = None
    duals: Multipliers | None = None
    bound: float | None = None
    message: str = ""
    log: str = ""
    version: str = ""
