"""The same solve in a process of its own: a solver that hangs or crashes takes nothing with it.

The model goes to a fresh interpreter and the result comes back through a pipe, pickled: both ends
are ours and no file is written. The child leads a process group of its own, so that Ctrl-C reaches
it once, from here, and so that whatever it starts ends with it.
"""

from __future__ import annotations

import importlib
import inspect
import io
import math
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, lru_cache
from threading import Thread
from typing import Any

import cloudpickle
import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.gdp import Disjunct

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.solvers.engines.registry import ORDER, SOLVERS
from tightmargin.solvers.engines.running import Finished, checked_limits, supervised
from tightmargin.solvers.findings import describe
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import registering_modules
from tightmargin.solvers.result import Certificate, SolveResult, versions
from tightmargin.solvers.solve import solve

# --- The child's side of an isolated solve, and how models and results travel --------------------
# No process of multiprocessing: spawn runs a script without a guard once more, is refused to the
# workers of a pool, and leaves a process that tracks resources.

Snapshot = Mapping[str, "list[Any] | NDArray[np.float64]"]

ALIVE = 1.0  # seconds between two looks at whether the parent is still there


@dataclass(frozen=True, eq=False)
class Request:
    """What the child is to do."""

    model: pyo.ConcreteModel
    settings: Mapping[str, Any]  # arguments of solve() besides the model
    setup: Callable[[], None] | None = None
    memory_limit: int | None = None  # bytes beyond those in use when the request has been read
    registering: tuple[str, ...] = ()  # modules that register methods when they are imported


@dataclass(frozen=True, eq=False)
class Answer:
    """A result or an error to be raised again, and the values of the variables after the solve."""

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
    except Exception as error:  # something that the model refers to is missing here
        return Answer(error=_with_traceback(error))
    try:
        for module in request.registering:
            importlib.import_module(module)
        if request.setup is not None:
            request.setup()
        with _limited_memory(request.memory_limit):
            result = solve(request.model, **request.settings)
    except MemoryError as error:
        return Answer(error=_with_traceback(error))
    except (Exception, KeyboardInterrupt) as error:
        return Answer(error=_with_traceback(error), values=snapshot(request.model))
    return Answer(result, values=snapshot(request.model))


def _with_traceback(error: BaseException) -> BaseException:
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


GRACE = 60.0
# From the polite signal to the one that cannot be refused.
PATIENCE = 1.0

_CHILD = "from tightmargin.solvers.isolated import main; main()"


def solve_isolated(
    model: pyo.ConcreteModel,
    solver: str = "auto",
    *,
    time_limit: float | None = None,
    grace: float = GRACE,
    deadline: float | None = None,
    memory_limit: int | None = None,
    setup: Callable[[], None] | None = None,
    **settings: Any,
) -> SolveResult:
    """Solve and certify a model in a child process, which can be ended whatever it does.

    Ctrl-C reaches the child, and what its solver has found comes back; a child that does not
    answer within `grace` seconds of it is ended, at the second Ctrl-C at once.

    Parameters
    ----------
    model, solver, time_limit, **settings
        As in solve(). The functions that built the model need not be importable: they travel with
        it, and so does what they refer to.
    grace : float
        Seconds beyond the time limit: for the start of the child, about one, and the certificate.
    deadline : float, optional
        Seconds after which the child is ended; time_limit + grace by default, never without either.
    memory_limit : int, optional
        Bytes that the child may take beyond what it holds when the model has arrived.
    setup : callable(), optional
        Called in the child before the solve, such as to register a solver of your own with Pyomo.

    Returns
    -------
    SolveResult
        That of solve(), its values loaded into `model`. Status LIMIT_NO_SOLUTION when the child was
        ended at the deadline, and ERROR when it died or ran out of memory; the message names the
        signal or exit code, and what to try.

    Raises
    ------
    ValueError
        A deadline, grace or memory_limit that is no positive number, or a model that does not
        travel, such as one whose rules refer to a lock.
    Exception
        What solve() raises, as itself.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.solve_isolated(tm.c_svc(data, C=1.0), time_limit=60.0).certificate.verdict.value
    'CERTIFIED'
    """
    settings |= {"solver": solver, "time_limit": time_limit}
    inspect.signature(solve).bind(model, **settings)
    limit = checked_limits(time_limit).time_limit
    _positive("grace", grace)
    _positive("deadline", 1.0 if deadline is None else deadline)
    _positive("memory_limit", 1 if memory_limit is None else memory_limit)
    if deadline is None and limit is not None:
        deadline = limit + grace
    if memory_limit is not None and sys.platform != "linux":
        raise ValueError("memory_limit is kept on Linux only: leave it out")
    try:
        request = packed(Request(model, settings, setup, memory_limit, registering_modules()))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ValueError(f"the model does not travel to another process: {error}") from error
    started = time.perf_counter()
    child = _Child(request, deadline, grace)
    finished = child.run()
    answer = finished.value
    if answer is None:
        if child.code == -signal.SIGINT and finished.interrupted:
            raise KeyboardInterrupt
        status, message = child.verdict(memory_limit)
    elif isinstance(answer.error, MemoryError) and memory_limit is not None:
        status = Status.ERROR
        message = f"the solve asked for more than memory_limit={memory_limit} bytes"
    else:
        load_snapshot(model, answer.values)
        if answer.result is not None:
            return answer.result
        assert answer.error is not None
        raise answer.error

    # Without an answer: reading the model may be what the child died of, so that its class is that
    # of the catalogue.
    origin = getattr(model, "origin", None)
    known = str(CATALOGUE[origin.entry].problem_class) if isinstance(origin, Origin) else ""
    names = [name for kind, order in ORDER.items() if kind == known for name in order]
    others = [n for n in names if n != solver and SOLVERS[n].free and SOLVERS[n].installed]
    if others:
        message += f"; solvers that take such models are {', '.join(others)}"
    kept = {"options", "threads", "seed", "time_limit"}
    return SolveResult(
        status=status,
        objective=None,
        bound=None,
        values={},
        duals={},
        certificate=Certificate(Verdict.NOT_CERTIFIED, message),
        solver=solver,
        version=SOLVERS[solver].version if solver in SOLVERS else "",
        seconds=time.perf_counter() - started,
        message=message,
        problem_class=known,
        versions=versions(),
        **{name: value for name, value in settings.items() if name in kept and value is not None},
        **describe(model),
    )


def _positive(argument: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"{argument} must be a positive number, got {value!r}")


class _Child:
    """A process that solves one model."""

    def __init__(self, request: bytes, deadline: float | None, grace: float) -> None:
        self.request, self.deadline, self.grace = request, deadline, grace
        self.pressed_at: float | None = None
        self.why = ""  # "deadline" or "grace" when it was ended from here
        self.code = 0  # its exit code, negative for the signal that ended it
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> Finished[Answer | None]:
        """Start it and wait; Ctrl-C is passed on."""
        try:
            return supervised(self._work, self._pass_on)
        except BaseException:
            self._signal(signal.SIGKILL)
            raise

    def _work(self) -> Answer | None:
        sys.stdout.flush()
        # Its standard output is the way back, so where the log goes is handed over by itself.
        log = os.dup(1)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CHILD, str(log), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(log,),
                process_group=0,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)},
            )
        finally:
            os.close(log)
        self.process = process
        try:
            sent, _ = process.communicate(self.request, self.deadline)
        except subprocess.TimeoutExpired:
            self.why = self.why or "deadline"
            self._end()
            sent, _ = process.communicate()
        self.code = process.returncode
        return unpacked(sent)

    def _pass_on(self) -> None:
        """Ctrl-C, handed to the child once; called again while it goes on."""
        if self.process is None:
            return  # it is about to start, and this is called again
        if self.pressed_at is None:
            self.pressed_at = time.monotonic()
            self._signal(signal.SIGINT)
        elif time.monotonic() - self.pressed_at > self.grace and not self.why:
            self.why = "grace"
            self._signal(signal.SIGKILL)

    def _end(self) -> None:
        self._signal(signal.SIGTERM)
        assert self.process is not None
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """To the child and all it has started."""
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def verdict(self, memory_limit: int | None) -> tuple[Status, str]:
        """Status and sentence for a child that ended without an answer."""
        if self.why == "deadline":
            message = f"no answer within the deadline of {self.deadline:g} s: the process was ended"
            return Status.LIMIT_NO_SOLUTION, message
        if self.why == "grace":
            message = f"interrupted, and no answer within {self.grace:g} s: the process was ended"
            return Status.INTERRUPTED, message
        if self.code >= 0:
            message = f"the process ended with exit code {self.code} and without a result"
            return Status.ERROR, message
        try:
            name = f"signal {-self.code} ({signal.Signals(-self.code).name})"
        except ValueError:  # a real-time signal has no name
            name = f"signal {-self.code}"
        message = f"the process was killed by {name}"
        if self.code == -signal.SIGKILL:
            message += ", by somebody or by the system when memory ran out"
        elif memory_limit is not None:
            message += f"; refused memory may be why, and memory_limit={memory_limit}"
        return Status.ERROR, message
