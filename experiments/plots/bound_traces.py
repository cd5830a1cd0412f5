"""How bound and best point of a search came together, read from what every search leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightmargin.cuts.bound_tightening.result import Tightened
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.search.result import SearchResult
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch


@dataclass(frozen=True, eq=False)
class BoundTrace:
    """States of one run, in the order of time.

    Attributes
    ----------
    name : str
    seconds : array (k,)
    lower, upper : array (k,)
        Lower bound and objective of the best point so far; nan where there was none.
    cuts : array (k,) or None
        How many cuts there were; None where the run counts none.
    proven : bool
        Whether `lower` is our own proof; else it is what a solver says.
    proven_bound : float or None
        What our own proof reached in the end, of a run whose `lower` is a claim.
    """

    name: str
    seconds: Array
    lower: Array
    upper: Array
    cuts: Array | None = None
    proven: bool = True
    proven_bound: float | None = None


def bound_trace(source: Any, name: str = "") -> BoundTrace:
    """Rows of (time, lower bound, best objective, cuts) of a finished or stopped run.

    Parameters
    ----------
    source : CuttingPlaneResult, SearchResult, ConflictSearch, Tightened or SolveResult
        Of the last its trace in the certificate's facts: our searches write one, and so do SCIP
        and the tangent method.
    name : str
        For the legend; by default what ran.

    Raises
    ------
    ValueError
        A result without a trace.
    TypeError
        Anything else; what a run of it does note, if it notes something.
    """
    for kind, read in READERS.items():
        if isinstance(source, kind):
            found = read(source)
            return replace(found, name=name) if name else found
    known = ", ".join(kind.__name__ for kind in READERS)
    raise TypeError(
        f"{type(source).__name__} has no trace of bounds over time; these have: {known}"
    )


def _cutting_planes(source: CuttingPlaneResult) -> BoundTrace:
    rows = source.trace
    cuts = np.array([row.concavity + row.facial for row in rows], dtype=float)
    found = _stacked("cutting planes", ((r.seconds, r.lower, r.upper) for r in rows), source)
    last = _stacked("", [(source.seconds, source.bound, source.best.objective)], source)
    return _joined(found, last, np.append(cuts, len(source.cuts)))


def _search(source: SearchResult) -> BoundTrace:
    rows = ((row.seconds, row.lower, row.upper) for row in source.trace)
    return _stacked(source.engine.replace("_", " "), rows, source)


def _conflicts(source: ConflictSearch) -> BoundTrace:
    rows = ((row.seconds, row.bound, row.objective) for row in source.trace)
    return _stacked("conflict search", rows, source)


def _tightened(source: Tightened) -> BoundTrace:
    """A round's bound comes from the set at its start; the last is of the set at the end."""
    rows = [(row.seconds, row.bound, source.objective) for row in source.trace]
    rows.append((source.seconds, source.bound, source.objective))
    return _stacked("bound tightening", rows, source)


def _solved(source: SolveResult) -> BoundTrace:
    facts = source.certificate.facts
    name = source.formulation or "this model"
    if not facts.get("trace"):
        raise ValueError(f"the result of {name} by {source.solver} holds no trace of its bound")
    rows = [tuple(_number(value) for value in row) for row in facts["trace"]]
    ours = "engine" in facts
    engine = str(facts["engine"]) if ours else source.solver
    found = _stacked(engine.replace("_", " ").replace("-", " "), rows, source)
    return replace(found, proven=ours, proven_bound=None if ours else source.bound)


READERS: dict[type, Callable[[Any], BoundTrace]] = {
    CuttingPlaneResult: _cutting_planes,
    SearchResult: _search,
    ConflictSearch: _conflicts,
    Tightened: _tightened,
    SolveResult: _solved,
}


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _stacked(name: str, rows: Iterable[Sequence[float]], source: Any) -> BoundTrace:
    table = np.array(list(rows), dtype=float).reshape(-1, 3)
    if not len(table):
        raise ValueError(f"{type(source).__name__} ended before it noted a bound")
    table[:, 1:][~np.isfinite(table[:, 1:])] = np.nan
    return BoundTrace(name, *table.T)


def _joined(first: BoundTrace, last: BoundTrace, cuts: Array) -> BoundTrace:
    seconds, lower, upper = (
        np.concatenate([getattr(first, part), getattr(last, part)])
        for part in ("seconds", "lower", "upper")
    )
    return BoundTrace(first.name, seconds, lower, upper, cuts)
