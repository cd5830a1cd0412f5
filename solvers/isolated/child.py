"""The child's side of an isolated solve, and how models and results travel.

The child is an interpreter of its own and no process of multiprocessing, whose spawn runs a script
without a guard once more and fails, is refused to the workers of a pool, and leaves a process that
tracks resources.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, lru_cache
from threading import Thread
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.gdp import Disjunct

from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.result import SolveResult

Snapshot = Mapping[str, "list[Any] | NDArray[np.float64]"]

ALIVE = 1.0  # seconds between two looks at whether the parent is still there


@dataclass(frozen=True, eq=False)
class Request:
    """What the child is asked to do.

    Attributes
    ----------
    settings : mapping
        Arguments of solve() besides the model.
    setup : callable() or None
    memory_limit : int or None
        Bytes beyond those in use when the request has been read.
    registering : tuple of str
        Modules to import, so that methods are known there that are known here.
    """

    model: pyo.ConcreteModel
    settings: Mapping[str, Any]
    setup: Callable[[], None] | None = None
    memory_limit: int | None = None
    registering: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """What came of it: a result, or an error to be raised again.

    Attributes
    ----------
    values : mapping
        What the variables of the model hold after the solve.
    """

    result: SolveResult | None = None
    error: BaseException | None = None
    values: Snapshot = field(default_factory=dict)


class _Pickler(cloudpickle.Pickler):
    """Takes a cached function of a script by value, as it does one that is not cached."""

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, _lru_cache_wrapper) and (
            item.__module__ == "__main__" or "<locals>" in item.__qualname__
        ):
            return _cached, (item.__wrapped__, item.cache_parameters())
        return super().reducer_override(item)


def _cached(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Callable[..., Any]:
    return lru_cache(**parameters)(function)


def packed(item: Request | Answer) -> bytes:
    """What travels as bytes, with the functions and classes that another process cannot import."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(item)
    return buffer.getvalue()


def unpacked(sent: bytes) -> Answer | None:
    """The answer of a child; None when it died before it had sent all of one."""
    try:
        return pickle.loads(sent)
    except (EOFError, pickle.UnpicklingError):
        return None


def snapshot(model: pyo.ConcreteModel) -> Snapshot:
    """Values of all variables, those of disjuncts too, by the name of their component."""
    return {
        component.name: component.arrays().values
        if isinstance(component, ArrayVar)
        else [v.value for v in component.values()]
        for component in _variables(model)
    }


def load_snapshot(model: pyo.ConcreteModel, values: Snapshot) -> None:
    """Set the variables of a model to those of its copy; what is not set there stays."""
    for component in _variables(model):
        numbers = values.get(component.name)
        if numbers is None:
            continue
        if isinstance(component, ArrayVar):
            component.load(np.asarray(numbers))
            continue
        for v, number in zip(component.values(), numbers, strict=True):
            if number is not None:
                v.set_value(number, skip_validation=True)


def _variables(model: pyo.ConcreteModel) -> list[Any]:
    # Anything but a model is for solve() to refuse.
    if not isinstance(model, pyo.Block):
        return []
    return list(model.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)))


def main() -> None:
    """Read a request from standard input, solve, and write the answer to standard output."""
    log, parent = int(sys.argv[1]), int(sys.argv[2])
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    way_back = os.dup(1)
    os.dup2(log, 1)
    os.close(log)
    sent = _sendable(_answer(sys.stdin.buffer.read()))
    sys.stdout.flush()
    sys.stderr.flush()
    with open(way_back, "wb") as stream:
        stream.write(sent)
    # At once: neither a thread nor a library may hold up or spoil what is done.
    os._exit(0)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(ALIVE)
    os._exit(1)


def _answer(sent: bytes) -> Answer:
    try:
        request: Request = pickle.loads(sent)
    except Exception as error:  # whatever the model refers to is not to be found here
        return Answer(error=_told(error))
    try:
        for module in request.registering:
            importlib.import_module(module)
        if request.setup is not None:
            request.setup()
        with _limited_memory(request.memory_limit):
            result = solve(request.model, **request.settings)
    except MemoryError as error:
        return Answer(error=_told(error))
    except (Exception, KeyboardInterrupt) as error:
        return Answer(error=_told(error), values=snapshot(request.model))
    return Answer(result, values=snapshot(request.model))


def _told(error: BaseException) -> BaseException:
    """The error with its traceback, which would not travel."""
    error.add_note("".join(traceback.format_exception(error)).rstrip())
    return error


@contextmanager
def _limited_memory(extra: int | None) -> Iterator[None]:
    """Let this process take so many bytes of address space more than it has."""
    if extra is None:
        yield
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as stream:
        pages = int(stream.read().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(extra), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _sendable(answer: Answer) -> bytes:
    """The answer as bytes; an error that does not travel is replaced by one with its words."""
    try:
        sent = packed(answer)
        pickle.loads(sent)
    except Exception as problem:
        error = answer.error
        if error is None:
            raise
        stand_in = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            stand_in.add_note(note)
        stand_in.add_note(f"(the error itself does not travel: {problem})")
        return packed(Answer(error=stand_in, values=answer.values))
    return sent
