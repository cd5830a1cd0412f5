"""One digest of the code that a result depends on, so that results of other code are never read.

It is made of every file of the packages, of the file that the function of a study stands in, of
the versions of what computes, and of the values that a function inside another one has taken with
it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType
from typing import Any

from joblib import hash as hashed

ROOT = Path(__file__).parents[2]  # the folder of formulations, solvers, cuts and experiments
COMPUTING = (
    "numpy", "scipy", "pyomo", "scikit-learn", "highspy", "clarabel", "mosek", "pyscipopt", "scs",
    "piqp", "gurobipy",
)  # fmt: skip


def code_digest(work: Callable[..., Any]) -> str:
    """Digest of all that a stored result is known by besides its study, its task and its data.

    Raises ValueError: the function stands in no file, or has taken something with it that has no
        digest; a file was edited after this process had loaded it.
    """
    if not isinstance(work, FunctionType):
        return sources_digest(work)
    file, taken = _file(work), ""
    if file is None:
        raise ValueError(
            f"{work.__qualname__} stands in no file, so that it cannot be told whether it has "
            "changed since results were stored: put it into a file that is imported"
        )
    if _is_inside(work):
        try:
            taken = _taken(work)
        except Exception as error:  # whatever a value raises that cannot be taken apart
            raise ValueError(
                f"{work.__qualname__} uses something of the function around it of which it cannot "
                f"be told whether it has changed since results were stored: {error}"
            ) from error
    return digest(sources_digest(work), data_digest([file]), taken)


def sources_digest(work: Callable[..., Any]) -> str:
    """The part of it that every process must have which runs the function.

    A function of a script, or one inside another, is sent as it is; of others the file counts.

    Raises ValueError: a file was edited after this process had loaded it.
    """
    refuse_edited(work)
    sent = work.__module__ == "__main__" or _is_inside(work)
    file = None if sent else _file(work)
    ours = sorted(map(Path, _LOADED))
    names = [path.relative_to(ROOT).as_posix() for path in ours]
    return digest(*names, data_digest(ours if file is None else [*ours, file]), *versions())


def refuse_edited(work: Callable[..., Any]) -> None:
    """Refuse to run a function that is loaded as its files no longer say.

    Raises ValueError: naming the files that were edited after this process had loaded them.
    """
    now = _package_files()
    edited = [path for path in now.keys() | _LOADED.keys() if now.get(path) != _LOADED.get(path)]
    file = _file(work)
    if file is not None:
        spec, said = sys.modules[str(work.__module__)].__spec__, data_digest([file])
        first, before = _OTHERS.setdefault(file, (spec, said))
        if first is not spec:  # the module was loaded anew
            _OTHERS[file] = (spec, said)
        elif before != said:
            edited.append(str(file))
    if edited:
        names = ", ".join(sorted(edited)[:5])
        raise ValueError(
            f"{names}: edited after this Python had loaded it, so that it cannot be told which "
            "code makes a result: start Python again, in a notebook restart its kernel"
        )


def data_digest(files: Iterable[Path]) -> str:
    """Digest of the contents of some files."""
    return digest(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in files))


def digest(*texts: str) -> str:
    """SHA-256 of some texts, which cannot run into each other."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def versions() -> tuple[str, ...]:
    """Python and the packages that compute, with their versions."""
    found = [f"python {platform.python_version()}"]
    for name in COMPUTING:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not here")
    return tuple(found)


def _package_files() -> dict[str, tuple[int, int]]:
    """Files of the packages, with when they were written and how long they are."""
    found = {}
    for folder, _, names in os.walk(ROOT, followlinks=True):
        for name in names:
            if name.endswith((".py", ".toml", ".csv")):
                path = os.path.join(folder, name)
                status = os.stat(path)
                found[path] = (status.st_mtime_ns, status.st_size)
    return found


# What runs is what files said when this process began, and of others when it first used them.
_LOADED = _package_files()
_OTHERS: dict[Path, tuple[Any, str]] = {}


def _is_inside(work: Callable[..., Any]) -> bool:
    """Whether a function is made by another one, so that it is not only what its file says."""
    return "<" in work.__qualname__


def _taken(work: FunctionType) -> str:
    """Digest of what a function has taken with it; functions among it by their code and its own."""
    parts = []
    for value in [*(c.cell_contents for c in work.__closure__ or ()), *(work.__defaults__ or ())]:
        if isinstance(value, FunctionType) and value is not work:
            code = value.__code__
            parts += [
                value.__qualname__,
                str(code.co_firstlineno),
                code.co_code.hex(),
                _taken(value),
            ]
        elif value is not work:
            parts.append(str(hashed(value)))
    return digest(*parts, str(hashed(work.__kwdefaults__)))


def _file(work: Callable[..., Any]) -> Path | None:
    """The file that a function stands in; None in a notebook, and for what Python has built in."""
    file = getattr(sys.modules.get(str(work.__module__)), "__file__", None)
    return None if file is None or not Path(file).is_file() else Path(file)
