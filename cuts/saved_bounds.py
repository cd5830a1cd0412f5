"""The bound of a saved search proven again from the data.

Up to four dimensions by the hull engine, which needs no solver; beyond by branch and cut, which
needs highspy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.methods import NU_BAR, lemma_of
from tightmargin.cuts.model_directions import (
    lower_at_nu_bar,
    search_arguments,
    side_of,
)
from tightmargin.cuts.search.run import has_highspy
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.extended_checks import weight_of
from tightmargin.solvers.engines.running import StopReason

TOLERANCE = 5e-8  # far below what a saved search may itself have left open
HULL_UP_TO = 4  # dimensions
ROUNDS, NODES = 1_000, 20_000  # of a search once more: some minutes


def search_again(origin: Origin, values: Mapping[str, Array]) -> tuple[Lemma | None, str]:
    """Bound of a saved result proven by a search once more, and why there is none.

    Within so many rounds or nodes, whatever the file says of its own search.

    values: saved; their w is where the search starts.
    Raises KeyboardInterrupt: Ctrl-C while it searches.
    """
    data, problem = origin.data.points, search_arguments(origin)
    if side_of(origin) >= 0:
        return _nu_bar_again(origin)
    weight = weight_of(origin, values)
    if len(weight) > HULL_UP_TO and not has_highspy():
        why = f"beyond {HULL_UP_TO} dimensions that takes branch and cut, which needs highspy"
        return None, why
    common: dict[str, Any] = problem | {
        "start": weight if np.isfinite(weight).all() and weight.any() else None,
        "tolerance": TOLERANCE,
        "absolute": 0.0,
    }
    small = len(weight) <= HULL_UP_TO
    if small:
        found = hull_search(data, round_limit=ROUNDS, **common)
    else:
        found = branch_and_cut(data, node_limit=NODES, **common)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    why = "" if found.proven else f"the search ended early: {found.message}"
    return lemma_of(origin, found.bound, found.proof), why


def _nu_bar_again(origin: Origin) -> tuple[Lemma | None, str]:
    """At nu_bar as when it was saved; above it the check of the formulation has its own bound."""
    if side_of(origin) > 0:
        return None, "above nu_bar the bound is that of the nearest points of two reduced hulls"
    if not has_highspy():
        return None, "at nu_bar that takes a linear program, which needs highspy"
    lower = lower_at_nu_bar(origin)
    if lower is None:
        return None, "nu_bar could not be bounded from below"
    return lemma_of(origin, lower, NU_BAR), ""
