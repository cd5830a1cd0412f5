"""Bounds of the cheap rungs of the ladder on rows of the table."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.bks.instances import Instance
from benchmarks.bks.rows import HOME, Key
from tightmargin.experiments.gap_study.ladder import whole_ladder
from tightmargin.experiments.gap_study.rungs import GapEffort, Outcomes, Problem
from tightmargin.formulations.catalogue import entry_named
from tightmargin.solvers.registry import build
from tightmargin.solvers.solve import solve

STORE = HOME / "rungs.jsonl"
# Label of the ladder, and the head of its column. The conic relaxations with a fixed strengthening
# prove nothing without a price on b.
COLUMNS = {
    "big-M, derived M": "big-M",
    "SDP": "SDP",
    "SDP, secant and norm": "strengthened",
    "+ larger conflicts": "conflicts",
    "SDP, tightened bounds": "tightened",
}


@dataclass(frozen=True)
class RungRow:
    """What one rung proves of one row.

    Attributes
    ----------
    instance, C, rung : str, float, str
    bound : float or None
        Proven by our own computation; None where nothing is, or the rung is left out.
    seconds : float
        With all that the rung needs computed.
    limit : float
        Seconds allowed to each solve and to the tightening.
    remark, date : str
    """

    instance: str
    C: float
    rung: str
    bound: float | None
    seconds: float
    limit: float
    remark: str
    date: str

    @property
    def key(self) -> Key:
        """Instance and C."""
        return self.instance, self.C


def bounded(instance: Instance, C: float, limit: float) -> Iterator[RungRow]:
    """All rungs of a row, one after the other.

    Raises
    ------
    FileNotFoundError
        The points are not at hand.
    """
    data = instance.data()
    common = {"penalty": 2.0 * C, "intercept": "free"}
    effort = GapEffort(tighten_time=limit)
    outcomes = Outcomes(Problem(data, 2.0 * C, "free", effort, lambda text: None))
    for rung in whole_ladder(common):
        if rung.label not in COLUMNS:
            continue
        bound, seconds, remark = None, 0.0, rung.why_skipped(data)
        if not remark:
            found, seconds = outcomes.parameters(rung)
            known = entry_named(rung.formulation).parameters
            shared = {word: value for word, value in common.items() if word in known}
            began = time.perf_counter()
            model = build(rung.formulation, data, **shared, **rung.parameters, **found)
            result = solve(model, time_limit=limit)
            seconds += time.perf_counter() - began
            bound = None if result.bound is None else max(result.bound / 2, 0.0)
            remark = result.certificate.unproven
            if remark:
                bound = None
        today = date.today().isoformat()
        yield RungRow(instance.name, C, rung.label, bound, round(seconds, 3), limit, remark, today)


def kept(store: Path = STORE) -> list[RungRow]:
    """All lines of a store."""
    if not store.exists():
        return []
    return [RungRow(**json.loads(line)) for line in store.read_text("utf-8").splitlines()]
