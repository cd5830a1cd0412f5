"""Whether the code that runs is the code that files say, so that nothing is stored as another's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from tightmargin.experiments.studies import code_graph
from tightmargin.experiments.studies.code_digest import code_digest, code_files
from tightmargin.experiments.studies.code_graph import text_digest
from tightmargin.experiments.studies.study import StudyError

State = dict[Path, tuple[int, int]]


def _state(files: Iterable[Path]) -> State:
    """When files were written last, and how long they are."""
    return {path: _stat(path) for path in files}


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)


# What our files were when this process began to load them.
_BEGUN = _state(
    path for room in code_graph.ROOMS for path in (code_graph.ROOT / room).rglob("*.py")
)
# What files of somebody else were when they were first run from, by module as it was loaded.
_LOADED: dict[str, tuple[ModuleSpec, str]] = {}


def refuse_edited(work: Callable[..., Any]) -> None:
    """Refuse to run a function that is loaded as its files no longer say.

    Raises
    ------
    ValueError
        A file that it may call was edited after this process loaded it, naming the file.
    """
    for path in code_files(work):
        if _BEGUN.get(path, now := _stat(path)) != now or _reread(path):
            raise ValueError(
                f"{path} was edited after this Python had loaded it, so that it cannot be told "
                "which code makes a result: start Python again, in a notebook restart its kernel"
            )


def _reread(path: Path) -> bool:
    """Whether a file of somebody else is not what it was when a module of it was first run."""
    if path in _BEGUN:
        return False
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if getattr(module, "__file__", None) != str(path) or spec is None:
            continue
        now = text_digest(path)
        loaded, before = _LOADED.get(name, (None, now))
        if loaded is spec and before != now:
            return True
        _LOADED[name] = (spec, now)  # a module that is loaded anew has another specification
    return False


class Watch:
    """The code of a study, looked at again before every result is stored.

    Attributes
    ----------
    code : str
        Its digest when the study began.
    """

    def __init__(self, work: Callable[..., Any]) -> None:
        refuse_edited(work)
        self._work = work
        self._state = _state(code_files(work))
        self.code = code_digest(work)

    def refuse_edited(self) -> None:
        """End the study where its code was edited: processes that begin now would run another.

        Raises
        ------
        StudyError
            Naming the files.
        """
        now = _state(self._state)
        if now == self._state:
            return
        if code_digest(self._work) != self.code:
            names = ", ".join(path.name for path in now if now[path] != self._state[path])
            raise StudyError(
                f"{names}: edited while the study ran, which ends here; what is finished is kept. "
                "With the edit undone the same command goes on where it was, else it runs all "
                "again by the new code"
            )
        self._state = now
