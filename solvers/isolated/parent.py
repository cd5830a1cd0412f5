"""The same solve in a process of its own: a solver that hangs or crashes takes nothing with it.

The model goes to a fresh interpreter and the result comes back through a pipe, pickled: both ends
are ours and no file is written. The child leads a process group of its own, so that Ctrl-C reaches
it once, from here, and so that whatever it starts ends with it.
"""

from __future__ import annotations

import inspect
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.solvers.backends.preference import ORDER
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.interrupts import Finished, supervised
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.isolated.child import Answer, Request, load_snapshot, packed, unpacked
from tightmargin.solvers.methods import registering_modules
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.records import describe
from tightmargin.solvers.result import Certificate, SolveResult
from tightmargin.solvers.versions import versions

GRACE = 60.0
# From the polite signal to the one that cannot be refused.
PATIENCE = 1.0

_CHILD = "from tightmargin.solvers.isolated.child import main; main()"


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
    asked = {"solver": solver, "time_limit": time_limit, **settings}
    inspect.signature(solve).bind(model, **asked)
    limit = checked_limits(time_limit).time_limit
    _positive("grace", grace)
    if deadline is not None:
        _positive("deadline", deadline)
    elif limit is not None:
        deadline = limit + grace
    if memory_limit is not None:
        _positive("memory_limit", memory_limit)
        if sys.platform != "linux":
            raise ValueError("memory_limit is kept on Linux only: leave it out")
    try:
        request = packed(Request(model, asked, setup, memory_limit, registering_modules()))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ValueError(f"the model does not travel to another process: {error}") from error
    started = time.perf_counter()
    child = _Child(request, deadline, grace)
    finished = child.run()
    answer = finished.value
    if answer is None:
        if child.code == -signal.SIGINT and finished.interrupted:
            raise KeyboardInterrupt
        status, told = child.verdict(memory_limit)
    elif isinstance(answer.error, MemoryError) and memory_limit is not None:
        status = Status.ERROR
        told = f"the solve asked for more than memory_limit={memory_limit} bytes"
    else:
        load_snapshot(model, answer.values)
        if answer.result is not None:
            return answer.result
        assert answer.error is not None
        raise answer.error
    return _without_answer(model, asked, time.perf_counter() - started, status, told)


def _positive(argument: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"{argument} must be a positive number, got {value!r}")


class _Child:
    """A process that solves one model.

    Attributes
    ----------
    why : str
        "deadline" or "grace" when it was ended from here.
    code : int
        Its exit code, negative for the signal that ended it.
    """

    def __init__(self, request: bytes, deadline: float | None, grace: float) -> None:
        self.request, self.deadline, self.grace = request, deadline, grace
        self.pressed_at: float | None = None
        self.why, self.code = "", 0
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
            told = f"no answer within the deadline of {self.deadline:g} s: the process was ended"
            return Status.LIMIT_NO_SOLUTION, told
        if self.why == "grace":
            told = f"interrupted, and no answer within {self.grace:g} s: the process was ended"
            return Status.INTERRUPTED, told
        if self.code >= 0:
            told = f"the process ended with exit code {self.code} and without a result"
            return Status.ERROR, told
        try:
            name = f"signal {-self.code} ({signal.Signals(-self.code).name})"
        except ValueError:  # a real-time signal has no name
            name = f"signal {-self.code}"
        told = f"the process was killed by {name}"
        if self.code == -signal.SIGKILL:
            told += ", by somebody or by the system when memory ran out"
        elif memory_limit is not None:
            told += f"; a solver that is refused memory may end so, and memory_limit={memory_limit}"
        return Status.ERROR, told


def _without_answer(
    model: pyo.ConcreteModel,
    asked: dict[str, Any],
    seconds: float,
    status: Status,
    told: str,
) -> SolveResult:
    """Result of a child that had none: nothing is known but how it ended."""
    solver, kept = str(asked["solver"]), {"options", "threads", "seed", "time_limit"}
    others = _others(model, solver)
    told += f"; solvers that take such models are {', '.join(others)}" if others else ""
    return SolveResult(
        status=status,
        objective=None,
        bound=None,
        values={},
        duals={},
        certificate=Certificate(Verdict.NOT_CERTIFIED, told),
        solver=solver,
        version=SOLVERS[solver].version if solver in SOLVERS else "",
        seconds=seconds,
        message=told,
        problem_class=_class_of(model),
        versions=versions(),
        **{name: value for name, value in asked.items() if name in kept and value is not None},
        **describe(model),
    )


def _class_of(model: pyo.ConcreteModel) -> str:
    """Class by the catalogue: reading the model may be what the child died of."""
    origin = getattr(model, "origin", None)
    return str(CATALOGUE[origin.entry].problem_class) if isinstance(origin, Origin) else ""


def _others(model: pyo.ConcreteModel, solver: str) -> list[str]:
    """Free solvers of the same class that are installed here."""
    known = _class_of(model)
    names = [name for kind, order in ORDER.items() if kind == known for name in order]
    return [n for n in names if n != solver and SOLVERS[n].free and SOLVERS[n].installed]
