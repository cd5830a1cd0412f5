"""Bounds that close a mixed-integer result by our own computation, where that is affordable."""

from __future__ import annotations

from formulations.catalogue import CATALOGUE, Origin
from formulations.data import TrainingData
from solvers.algorithms.enumeration import count_sets, zero_one_enumeration

SET_LIMIT = 2_000_000


def closed_bound(origin: Origin | None) -> tuple[float | None, str]:
    """Lower bound on the paper's problem by enumeration of active sets, and its name.

    Returns
    -------
    (None, "")
        When the entry has no such proof or it would take more than 2,000,000 sets.
    """
    if origin is None or not isinstance(origin.data, TrainingData):
        return None, ""
    if "zero_one_big_m" not in (origin.entry, CATALOGUE[origin.entry].restates):
        return None, ""
    data, parameters = origin.data, origin.parameters
    sets = count_sets(data.n, data.d, parameters["intercept"], data.n_pos)
    if sets > SET_LIMIT:
        return None, ""
    found = zero_one_enumeration(
        data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        limit=SET_LIMIT,
    )
    return found.lower_bound, f"enumeration of {sets:,} active sets"
