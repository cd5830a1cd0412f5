"""The real data of these reproductions, and extended nu-SVCs trained on them, each value proven."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.reproduce.framework.printed import printed
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData

_PRINT = printed("takeda_sugiyama")

PAPER: str = _PRINT["paper"]
NU_MAX_BALANCED: str = _PRINT["nu_max_balanced"]

NO_NUMBERS = (
    "the paper names no data set and prints no measured number: its figures are sketches, and what "
    "is checked here are its definitions and statements, on data of our choice"
)


@dataclass(frozen=True)
class Source:
    """Points that a machine is trained on, every feature with mean 0 and deviation 1.

    words: how tables and pictures call it.
    """

    spec: str
    words: str


SOURCES = {
    "wdbc": Source("sklearn:breast_cancer,features=0+1+4", "breast cancer"),
    "liver": Source("uci:liver_disorders", "liver disorders"),
}
NOTES = (
    "breast cancer: all 569 points, mean radius, texture and smoothness; with more of the features "
    "of this set, which nearly determine one another, the least CVaR below nu_bar is next to 0 and "
    "says little",
    "every feature is scaled to mean 0 and deviation 1 on all points: distances are in deviations",
)
LIVER_NOTE = (
    "liver disorders: the label is the column selector, which was made to split the rows for one "
    "study; it is hard to predict, so that nearly all nu lie below nu_bar"
)


def source_notes(names: Iterable[str]) -> tuple[str, ...]:
    """What is to be known about the data that were taken."""
    return (*NOTES, *((LIVER_NOTE,) if "liver" in names else ()))


def points(name: str) -> TrainingData:
    """Training points of a source.

    Raises FileNotFoundError, ConnectionError: they are not here; the message says how to get them.
    """
    return normalise(load(SOURCES[name].spec), "zscore")[0]


def trained(data: TrainingData, nus: Iterable[float]) -> ExtendedNuPath:
    """The extended nu-SVC for every nu.

    Raises KeyboardInterrupt: Ctrl-C came: what is not finished is to be run again.
    """
    path = extended_nu_path(data, nus)
    if path.interrupted:
        raise KeyboardInterrupt
    return path


def relative_gap(row: PathRow) -> float:
    """Gap between a value and its proven bound, over the value."""
    return row.gap / abs(row.objective) if row.objective else row.gap
