"""The word "tightened" for big_m and slack_bounds: bound tightening before a model is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tightmargin.cuts.bound_tightening.result import Tightened
from tightmargin.cuts.bound_tightening.tighten import sdp_pays, tighten
from tightmargin.formulations.catalogue import Entry
from tightmargin.formulations.data.multiclass_data import BuilderData, points_or_kernel
from tightmargin.formulations.data.training_data import TrainingData

TIGHTENED = "tightened"
SECONDS = 60.0


def with_tightened(
    entry: Entry,
    data: BuilderData,
    hyperparameters: Mapping[str, Any],
    *,
    seconds: float = SECONDS,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Hyperparameters with tightened bounds in place of the word.

    Quick rounds come first; rounds of the SDP follow where they pay
    (tightmargin.cuts.bound_tightening.tighten).

    Parameters
    ----------
    seconds : float
        What all rounds together may take; what is proven by then is used.

    Raises
    ------
    ValueError
        The entry takes no slack bounds, or no penalty is given.
    """
    own = dict(hyperparameters)
    if "slack_bounds" not in entry.parameters:
        raise ValueError(f"{entry.name} takes no tightened bounds: give big_m a number, or derived")
    if "penalty" not in own:
        raise ValueError(f"{entry.name} needs penalty: nothing is chosen for you")
    if own.get("big_m") == TIGHTENED:
        own["big_m"] = "derived"
    found = tightened(
        points_or_kernel(data).points,
        own["penalty"],
        own.get("intercept", entry.parameters["intercept"].default),
        seconds,
        progress,
    )
    return own | {"slack_bounds": found.bounds, "incumbent": found.incumbent}


def tightened(
    data: TrainingData,
    penalty: float,
    intercept: str,
    seconds: float,
    progress: Callable[[str], None] | None = None,
) -> Tightened:
    """Quick rounds, and rounds of the SDP in what is left of the time, where they pay."""
    words: dict[str, Any] = {"penalty": penalty, "intercept": intercept, "progress": progress}
    found = tighten(data, relaxation="qp", time_limit=seconds, **words)
    left = seconds - found.seconds
    if left <= 0 or not sdp_pays(found):
        return found
    return tighten(
        data, relaxation="sdp", bounds=found.bounds, incumbent=found.incumbent, time_limit=left,
        **words,
    )  # fmt: skip
