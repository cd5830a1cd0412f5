"""Digests of the code that a result depends on, so that results of other code are never read."""

from __future__ import annotations

import dataclasses
import dis
import hashlib
import json
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tightmargin.experiments.studies import code_graph
from tightmargin.experiments.studies.code_graph import (
    OURS,
    ROOMS,
    installed,
    reached,
    source,
    text_digest,
)

PACKAGES = (
    "numpy", "scipy", "pyomo", "scikit-learn", "highspy", "clarabel", "mosek", "pyscipopt", "scs",
    "piqp", "gurobipy",
)  # fmt: skip


def code_digest(work: Callable[..., Any]) -> str:
    """Digest of a function and of all that it may call.

    All of formulations, solvers and cuts count. Of experiments what the function reaches counts,
    statement by statement: a picture, or the runs of another paper, is no part of it. For a
    function of somebody else its file counts, and every file that this imports and that is not
    installed; in a notebook, which is no file, the function and what it calls by name, and all of
    experiments. Comments and docstrings count nowhere but in notebooks.

    Raises
    ------
    ValueError
        The function uses an object that has no digest, naming it.
    """
    if _is_ours(work):
        own = sources_digest(work)
    elif _file(work) is None:
        own = _digest(sources_digest(work), _of(work, str(work.__qualname__), set()))
    else:
        own = _digest(_rooms(), _reached_digest((str(work.__module__), None)), *versions())
    return _digest(own, _enclosed(work))


def sources_digest(work: Callable[..., Any]) -> str:
    """Digest of what a function may call of our sources and of the packages they stand on.

    It is the same in every process that has the same of both, whatever stands in the function.
    """
    if not _is_ours(work):
        return _digest(_rooms(), _files_digest(_files(ROOMS[3])), *versions())
    start = (str(work.__module__), str(work.__qualname__).partition(".")[0])
    return _digest(_rooms(), _reached_digest(start), *versions())


def code_files(work: Callable[..., Any]) -> list[Path]:
    """Files of which the digest is made, without packages."""
    rooms = [path for room in ROOMS[:3] for path in _files(room)]
    if _file(work) is None:
        return rooms + _files(ROOMS[3])
    name = str(work.__qualname__).partition(".")[0] if _is_ours(work) else None
    found = map(source, reached([(str(work.__module__), name)]))
    return rooms + [path for path in found if path is not None]


def _rooms() -> str:
    """Digest of formulations, solvers and cuts."""
    return _files_digest([path for room in ROOMS[:3] for path in _files(room)])


def _reached_digest(start: tuple[str, str | None]) -> str:
    return hashlib.sha256(json.dumps(reached([start])).encode()).hexdigest()


def _is_ours(work: Callable[..., Any]) -> bool:
    return str(work.__module__).partition(".")[0] in OURS


def _file(work: Callable[..., Any]) -> Path | None:
    """The file that a function stands in; None in a notebook."""
    file = getattr(sys.modules.get(str(work.__module__)), "__file__", None)
    return None if file is None or not Path(file).is_file() else Path(file)


def data_digest(files: Iterable[Path]) -> str:
    """Digest of the contents of some files."""
    return _digest(*(hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files))


@cache
def versions() -> tuple[str, ...]:
    """Python and the packages that compute, with their versions."""
    found = [f"python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not here")
    return tuple(found)


def _files(room: str) -> list[Path]:
    return sorted((code_graph.ROOT / room).rglob("*.py"))


def _files_digest(files: Sequence[Path]) -> str:
    texts = []
    for path in files:
        texts += [path.relative_to(code_graph.ROOT).as_posix(), text_digest(path)]
    return _digest(*texts)


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


# --- a function of somebody else -----------------------------------------------------------------


def _enclosed(work: Callable[..., Any]) -> str:
    """Digest of what the function has been given besides its arguments."""
    if not isinstance(work, FunctionType):
        return ""
    cells = [_of(cell.cell_contents, work.__qualname__, set()) for cell in work.__closure__ or ()]
    defaults = [work.__defaults__, work.__kwdefaults__]
    return _digest(*cells, _of(defaults, work.__qualname__, set()))


def _of(value: Any, where: str, seen: set[int]) -> str:
    """Digest of a value that a function uses by name."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Path)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__} {value.name}"
    if isinstance(value, (tuple, list)):
        return _digest(type(value).__name__, *(_of(item, where, seen) for item in value))
    if isinstance(value, dict):
        return _digest(*(_of(item, where, seen) for pair in value.items() for item in pair))
    if isinstance(value, np.ndarray) and value.dtype != object:
        body = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return _digest(str(value.dtype), str(value.shape), body)
    if isinstance(value, ModuleType):
        return _module(value)
    if isinstance(value, FunctionType):
        return _function(value, seen)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return _digest(type(value).__qualname__, *(_of(item, where, seen) for item in fields))
    if callable(value):
        return _callable(value, where)
    raise ValueError(
        f"{where} uses a {type(value).__name__} from outside, of which it cannot be told whether "
        "it has changed since results were stored: make it inside the function, from words and "
        "numbers of the task"
    )


def _callable(value: Any, where: str) -> str:
    """A class, or a function of C: known by its name where it stands in a package."""
    module = str(getattr(value, "__module__", "") or "")
    name = getattr(value, "__qualname__", None)
    if name is None or module == "__main__":
        raise ValueError(
            f"{where} uses {value!r} of a notebook, of which it cannot be told whether it has "
            "changed since results were stored: put it into a file"
        )
    return f"{_module(sys.modules.get(module))} {module}.{name}"


def _module(module: ModuleType | None) -> str:
    """A module by its name; one that is not installed by all that its file reaches as well."""
    name, file = str(getattr(module, "__name__", "")), getattr(module, "__file__", None)
    if file is None or installed(file) or name.partition(".")[0] in ROOMS:
        return name  # ours is in the digest as a whole
    return _digest(name, _reached_digest((name, None)))


def _function(work: FunctionType, seen: set[int]) -> str:
    """A function of a package by its name, one of a notebook by what it says and calls."""
    module = sys.modules.get(work.__module__)
    if getattr(module, "__file__", None) is not None:
        return f"{_module(module)} {work.__module__}.{work.__qualname__}"
    if id(work) in seen:
        return work.__qualname__
    seen.add(id(work))
    used = [
        _of(work.__globals__[name], f"{work.__qualname__}, {name}", seen)
        for name in sorted(_taken(work.__code__, "LOAD_GLOBAL"))
        if name in work.__globals__
    ]
    used += [_reached_digest((name, None)) for name in sorted(_taken(work.__code__, "IMPORT_NAME"))]
    cells = [_of(cell.cell_contents, work.__qualname__, seen) for cell in work.__closure__ or ()]
    defaults = _of([work.__defaults__, work.__kwdefaults__], work.__qualname__, seen)
    return _digest(*_says(work.__code__), *used, *cells, defaults)


def _taken(code: CodeType, how: str) -> set[str]:
    """Names that it takes from outside itself by one instruction."""
    inner = [_taken(const, how) for const in code.co_consts if isinstance(const, CodeType)]
    own = {str(word.argval) for word in dis.get_instructions(code) if word.opname == how}
    return own.union(*inner)


def _says(code: CodeType) -> Sequence[str]:
    """What a function does, wherever it stands: instructions, what they guard, names, constants."""
    found = [code.co_code.hex(), code.co_exceptiontable.hex(), *code.co_names, *code.co_varnames]
    found += [*code.co_freevars, *code.co_cellvars, str(code.co_flags)]
    found += [str((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount))]
    for const in code.co_consts:
        found += _says(const) if isinstance(const, CodeType) else [_constant(const)]
    return found


def _constant(value: Any) -> str:
    # The order in which a set shows itself changes from process to process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
