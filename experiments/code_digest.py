"""Digests of the code that a result depends on, so that results of other code are never read."""

from __future__ import annotations

import ast
import dataclasses
import dis
import hashlib
import json
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("formulations", "solvers", "cuts", "experiments")
PACKAGES = (
    "numpy", "scipy", "pyomo", "scikit-learn", "highspy", "clarabel", "mosek", "pyscipopt", "scs",
    "piqp", "gurobipy",
)  # fmt: skip


def code_digest(work: Callable[..., Any]) -> str:
    """Digest of a function and of all that it may call.

    All of formulations, solvers and cuts count. Of experiments only what the module of the function
    imports, directly or not, counts for a function of ours: a changed picture of one paper is no
    change of another paper's runs. For a function of somebody else all of it counts, and the file
    it stands in; in a notebook, which is no file, the function and what it calls by name.

    Raises
    ------
    ValueError
        The function uses an object that has no digest, naming it.
    """
    own = "" if _is_ours(work) else _own(work)
    return _digest(sources_digest(work), _enclosed(work), own)


def sources_digest(work: Callable[..., Any]) -> str:
    """Digest of what a function may call of our sources and of the packages they stand on.

    It is the same in every process that has the same of both, whatever stands in the function.
    """
    files = [path for room in ROOMS[:3] for path in _files(room)]
    files += _imported(str(work.__module__)) if _is_ours(work) else _files("experiments")
    return _digest(_files_digest(tuple(files)), *versions())


def _is_ours(work: Callable[..., Any]) -> bool:
    return str(work.__module__).partition(".")[0] in ROOMS


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


@cache
def _files(room: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / room).rglob("*.py")))


@cache
def _files_digest(files: tuple[Path, ...]) -> str:
    texts = []
    for path in sorted(set(files)):
        texts += [path.relative_to(ROOT).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
    return _digest(*texts)


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


# --- what a module of ours imports ---------------------------------------------------------------


@cache
def _imported(module: str) -> tuple[Path, ...]:
    """Files of experiments that a module is made of, itself among them."""
    waiting, found = [module], dict[str, Path]()
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if name in found or path is None:
            continue
        found[name] = path
        waiting += _named_by(path)
        waiting += [name.rpartition(".")[0]]
    return tuple(found.values())


def _path(module: str) -> Path | None:
    if module.partition(".")[0] != "experiments":
        return None
    base = ROOT.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _named_by(path: Path) -> list[str]:
    """Modules that a file imports anywhere in it, and names that may be modules."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


# --- a function of somebody else -----------------------------------------------------------------


def _own(work: Callable[..., Any]) -> str:
    """Digest of the file it stands in, else of what it says and calls."""
    module = sys.modules.get(str(work.__module__))
    file = getattr(module, "__file__", None)
    if file is not None and Path(file).is_file():
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return _of(work, str(work.__qualname__), set())


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
    """A module by its name; one that is not installed by its file as well."""
    file = getattr(module, "__file__", None)
    if module is None or file is None or Path(file).resolve().is_relative_to(ROOT):
        return str(getattr(module, "__name__", ""))  # ours is in the digest as a whole
    if any(Path(file).is_relative_to(folder) for folder in sysconfig.get_paths().values()):
        return module.__name__
    return _digest(module.__name__, hashlib.sha256(Path(file).read_bytes()).hexdigest())


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
        for name in sorted(_names(work.__code__))
        if name in work.__globals__
    ]
    cells = [_of(cell.cell_contents, work.__qualname__, seen) for cell in work.__closure__ or ()]
    defaults = _of([work.__defaults__, work.__kwdefaults__], work.__qualname__, seen)
    return _digest(*_says(work.__code__), *used, *cells, defaults)


def _names(code: CodeType) -> set[str]:
    """Names that it takes from outside itself."""
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    own = {word.argval for word in dis.get_instructions(code) if word.opname == "LOAD_GLOBAL"}
    return own.union(*inner)


def _says(code: CodeType) -> Sequence[str]:
    """What a function does, wherever it stands: its instructions, names and constants."""
    found = [code.co_code.hex(), *code.co_names, *code.co_varnames]
    for const in code.co_consts:
        found += _says(const) if isinstance(const, CodeType) else [_constant(const)]
    return found


def _constant(value: Any) -> str:
    # The order in which a set shows itself changes from process to process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
