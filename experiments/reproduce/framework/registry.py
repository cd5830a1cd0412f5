"""All tables and figures that can be run again, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tightmargin.experiments.progress import Say
from tightmargin.experiments.reproduce.framework.report import Report
from tightmargin.formulations.parameters import did_you_mean


@dataclass(frozen=True)
class Effort:
    """How much is to be run, and how.

    Attributes
    ----------
    quick : bool
        The small part that each reproduction names.
    jobs : int
        Processes, of one thread each.
    progress : callable(str)
        Told what is being done.
    report : callable(str)
        Told what is worth a line that stays.
    study : str
        Name under which finished tasks are stored: the reproduction's.
    store : path or None
        File of finished tasks.
    backend : str
        loky or dask.
    scheduler : str or None
        Address of the scheduler of a dask cluster.
    """

    quick: bool = False
    jobs: int = 1
    progress: Say = lambda text: None
    report: Say = lambda text: None
    study: str = ""
    store: Path | None = None
    backend: str = "loky"
    scheduler: str | None = None


@dataclass(frozen=True)
class Reproduction:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        paper-table, such as bi-vapnik-table2.
    title : str
    source : str
        Where in which paper.
    quick : str
        What --quick leaves.
    run : callable(Effort) -> Report
        Refuses data that is missing before anything is solved.
    """

    name: str
    title: str
    source: str
    quick: str
    run: Callable[[Effort], Report]


_KNOWN: dict[str, Reproduction] = {}

Run = Callable[[Effort], Report]


def reproduction(name: str, title: str, *, source: str, quick: str) -> Callable[[Run], Run]:
    """Register what runs a table or figure again."""

    def register(run: Run) -> Run:
        if name in _KNOWN:
            raise ValueError(f"{name} is registered twice")
        _KNOWN[name] = Reproduction(name, title, source, quick, run)
        return run

    return register


def everything() -> list[Reproduction]:
    """All reproductions by name."""
    return [_KNOWN[name] for name in sorted(_KNOWN)]


def chosen(name: str) -> list[Reproduction]:
    """The reproduction of that name, or all whose name begins with it: bi-vapnik is the paper.

    Raises
    ------
    ValueError
        There is none; the message lists what there is.
    """
    found = [one for one in everything() if one.name == name or one.name.startswith(f"{name}-")]
    if not found:
        names = ", ".join(sorted(_KNOWN))
        raise ValueError(
            f"NAME {name!r} is not known: choose one of {names}, or a paper, such as bi-vapnik, "
            f"for all of its{did_you_mean(name, _KNOWN)}"
        )
    return found
