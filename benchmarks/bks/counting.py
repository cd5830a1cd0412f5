"""Errors counted without a margin, on the real data in few dimensions."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.bks.instances import INSTANCES
from benchmarks.bks.rows import HOME
from tightmargin.solvers.zero_one.least_errors import least_errors

STORE = HOME / "errors.jsonl"
MARGIN = 1e-3  # in standard deviations: hyperplanes nearer to a point that they keep do not count
SETS = ("wdbc-2", "wdbc-3", "wdbc-5", "liver", "immunotherapy")


@dataclass(frozen=True)
class ErrorRow:
    """The least number of errors of one set.

    Attributes
    ----------
    instance : str
    n, d : int
    errors, bound : int
        Of the best hyperplane, and what is proven of every one with so large a margin.
    margin, largest : float or None
        Margin of that hyperplane, and the largest that one with so few errors can have; None where
        it is infinite, or open.
    seconds, limit : float
        The limit is for each of the two searches.
    date : str
    """

    instance: str
    n: int
    d: int
    errors: int
    bound: int
    margin: float | None
    largest: float | None
    seconds: float
    limit: float
    date: str


def counted(name: str, limit: float) -> ErrorRow:
    """Count the errors of one set.

    Raises
    ------
    FileNotFoundError
        The points are not at hand.
    """
    data = INSTANCES[name].data()
    began = time.perf_counter()
    found = least_errors(data, margin=MARGIN, intercept="free", time_limit=limit)
    seconds = round(time.perf_counter() - began, 3)
    return ErrorRow(
        name, data.n, data.d, found.errors, found.bound, _finite(found.margin),
        _finite(found.largest_margin), seconds, limit, date.today().isoformat(),
    )  # fmt: skip


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def kept(store: Path = STORE) -> list[ErrorRow]:
    """All lines of a store."""
    if not store.exists():
        return []
    return [ErrorRow(**json.loads(line)) for line in store.read_text("utf-8").splitlines()]
