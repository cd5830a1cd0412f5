"""The limits and switches of a solve, checked before anything starts."""

from __future__ import annotations

import atexit
import codecs
import ctypes
import io
import math
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from multiprocessing import parent_process
from numbers import Integral, Real
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, get_ident, main_thread
from typing import Any, Generic, Protocol, TextIO, TypeAlias, TypeVar

from tightmargin.printing import Printed
from tightmargin.solvers.model.claim import Claim, Status

# --- One line on a terminal while something takes long --------------------------------------------


Say: TypeAlias = Callable[[str], None]

AFTER, EVERY = 2.0, 0.25  # seconds before the line appears, and between two states of it

_screens: list[Callable[[str], None]] = []  # functions that show it in place of the terminal
_taken: list[int | None] = []  # where standard error leads while its descriptor is taken
_lines: list[LiveLine] = []  # open ones; the innermost one is shown
_shown: list[Any] = []  # the status of rich, while there is one
_hidden: list[str] = []  # blocks that show nothing
SWITCH = "TIGHTMARGIN_LIVE"  # an environment variable that is 0 hides every line


@contextmanager
def _entered(entries: list[Any], entry: Any) -> Iterator[None]:
    entries.append(entry)
    try:
        yield
    finally:
        entries.remove(entry)


def shown_by(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Hand every line to a function for as long as the block runs, terminal or not."""
    return _entered(_screens, show)


def standard_error_at(descriptor: int | None) -> AbstractContextManager[None]:
    """Say where standard error leads while its own descriptor is taken; None if to no terminal."""
    return _entered(_taken, descriptor)


@contextmanager
def live_line(name: str, *, quiet: bool = False) -> Iterator[LiveLine]:
    """A line for one search; what is quiet shows nothing, as beside a solver's own log."""
    line = LiveLine(name, quiet=quiet)
    try:
        with _entered(_lines, line):
            yield line
    finally:
        if _shown and not _lines:
            status = _shown.pop()
            status.stop()
            status.console.file.close()


def hidden(*, unless: bool = False) -> AbstractContextManager[None]:
    """Show no line as long as the block runs."""
    return nullcontext() if unless else _entered(_hidden, SWITCH)


@contextmanager
def telling(name: str, progress: Callable[[str], None] | None = None) -> Iterator[Say]:
    """Pass messages of a long run to `progress`, or to a line on the screen without one."""
    with live_line(name) as line:

        def say(text: str) -> None:
            if progress is not None:
                progress(text)
            elif line.is_due:
                line.show(more=text)

        yield say


class LiveLine:
    """What is known of one search, shown on standard error if that is a terminal.

    Only the main thread shows anything, and of searches within a search the innermost one.
    """

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name, self._quiet = name, quiet or bool(_hidden) or _is_silent()
        self._began = time.perf_counter()
        self._next = self._began + AFTER

    @property
    def is_due(self) -> bool:
        """Whether it is time to show a state: two seconds have passed, and a moment since."""
        return not self._quiet and time.perf_counter() >= self._next and _lines[-1:] == [self]

    def show(self, bound: float | None = None, best: float | None = None, more: str = "") -> None:
        """Show the present state; numbers that are not finite count as none."""
        now = time.perf_counter()
        self._next = now + EVERY
        parts = [part for part in (*_numbers(bound, best), more) if part]
        text = ", ".join([*parts, f"{now - self._began:.0f} s"])
        _show(f"{self._name}: {text}")


def _is_silent() -> bool:
    """Whether nobody may show anything: another thread, a worker of a study, the variable."""
    elsewhere = current_thread() is not main_thread() or parent_process() is not None
    return elsewhere or os.environ.get(SWITCH, "").strip() == "0"


def _numbers(bound: float | None, best: float | None) -> Iterator[str]:
    low, high = _finite(bound), _finite(best)
    if low is not None:
        yield f"bound {low:.6g}"
    if high is not None:
        yield f"best {high:.6g}"
    if low is not None and high is not None:
        size = max(abs(low), abs(high))
        yield f"gap {100 * abs(high - low) / size:.3g} %" if size else "gap 0 %"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e20 else None


def _show(text: str) -> None:
    if _screens:
        _screens[-1](text)
    elif _shown:
        _shown[-1].update(_one_line(text, _shown[-1].console.width))
    else:
        descriptor = terminal()
        if descriptor is not None:
            from rich.console import Console

            # A descriptor of its own: that of standard error may be taken while the line is shown.
            console = Console(file=open(os.dup(descriptor), "w"))  # noqa: SIM115
            if console.is_interactive:  # a dumb terminal cannot take a line back
                status = console.status(_one_line(text, console.width))
                status.start()
                _shown.append(status)
            else:
                console.file.close()


def _one_line(text: str, width: int) -> Any:
    """The text beside the spinner, cut where the line ends; brackets in names are no markup."""
    from rich.text import Text

    room = max(width - 3, 1)
    return Text(text if len(text) <= room else f"{text[: room - 1]}…")


def terminal() -> int | None:
    """The descriptor of standard error where that is a terminal.

    The stream of a notebook has a descriptor too, of the terminal that the server runs in.
    """
    if _taken:
        return _taken[-1]
    try:
        if sys.stderr is None or not sys.stderr.isatty():
            return None
        descriptor = sys.stderr.fileno()
    except (AttributeError, ValueError, OSError):  # a stream of a test's, or one that is closed
        return None
    return descriptor if os.isatty(descriptor) else None


SHORTEST = 1e-3  # seconds: less is not worth starting for
_LARGEST = 2**31 - 1  # solvers keep threads and seeds in 32 bits, and wrap or refuse the rest


def checked_limits(
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    log: bool = False,
    options: Mapping[str, Any] | None = None,
    absolute_gap: float = 0.0,
) -> Limits:
    """Limits as plain numbers.

    Where no threads are asked for, the environment variable TIGHTMARGIN_THREADS says how many; a
    study that runs one task a core sets it to 1.

    Raises ValueError: a number that no solver can follow, naming the argument.
    """
    if time_limit is not None:
        number = float(time_limit) if _is(time_limit, Real) else math.nan
        if not 0 < number < math.inf:
            raise ValueError(
                f"time_limit must be positive and finite, in seconds, got {time_limit!r}"
            )
        time_limit = number
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must map the solver's own option names to values: {options!r}")
    for name in options or {}:
        if not isinstance(name, str):
            raise ValueError(f"options: a name is a string, got {name!r}")
    gap = float(absolute_gap) if _is(absolute_gap, Real) else math.nan
    if not 0 <= gap < math.inf:
        raise ValueError(f"absolute_gap must be at least 0 and finite, got {absolute_gap!r}")
    threads = default_threads() if threads is None else _whole("threads", threads, 1)
    return Limits(time_limit, threads, _whole("seed", seed, 0), log, dict(options or {}), gap)


def _whole(argument: str, value: int | None, least: int) -> int | None:
    if value is None:
        return None
    if not _is(value, Integral) or not least <= value <= _LARGEST:
        raise ValueError(
            f"{argument} must be a whole number from {least} to {_LARGEST}, got {value!r}"
        )
    return int(value)


def _is(value: Any, kind: type) -> bool:
    """Whether a value is a number of a kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def refuse_bad_budget(prove: float | bool | None) -> None:
    """Raise ValueError for a `prove=` that is no number of seconds, True or False."""
    if prove is None or isinstance(prove, bool):
        return
    if not isinstance(prove, Real) or not 0 < float(prove) < math.inf:
        raise ValueError(
            f"prove must be True, False, or a positive finite number of seconds, got {prove!r}"
        )


@dataclass(frozen=True, repr=False)
class Limits(Printed):
    """Limits and switches common to all solvers; None leaves the solver's own default.

    `absolute_gap` is for certificates, not for the solver: a proven gap of so much is closed too.
    `nodes` ends a run of our own that asks a solver for a point: a count, the same on any machine.
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    log: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    absolute_gap: float = 0.0
    nodes: int | None = None

    def without(self, spent: float) -> Limits:
        """The same with some seconds less, and a moment at least."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - spent, SHORTEST))


def default_threads() -> int | None:
    """Threads of a solve that names none: TIGHTMARGIN_THREADS, or the solver's own choice."""
    text = os.environ.get("TIGHTMARGIN_THREADS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= _LARGEST:
        raise ValueError(f"TIGHTMARGIN_THREADS must be a whole number from 1 on, got {text!r}")
    return int(text)


# --- Until when a solve may work at its proof: the time limit and a little more ------------------
# The solver gets the whole limit; long steps of a proof are not begun once it is over, and solvers
# that a proof calls stop at the same end. A library's call that no limit stops is named.


GRACE, SHARE = 1.0, 0.1  # seconds, or of the limit where that is more
DERIVING = 0.25  # of what is left of a limit, for a point that a model is derived from


def clock() -> float:
    """Seconds on the clock of all limits."""
    return time.perf_counter()


@dataclass(eq=False)
class Deadline:
    """The ends of a piece of work, on `clock`."""

    limit: float = math.inf  # of the time limit
    end: float = math.inf  # of the proof, a little later
    passed: list[str] = field(default_factory=list)  # calls begun before the end, ended after it

    @property
    def words(self) -> str:
        """By how much the limit was passed, and in what; empty where it was kept."""
        now = clock()
        if not now > self.end:
            return ""
        what = " and ".join(dict.fromkeys(self.passed)) or "one step of the proof"
        return f"the time limit was passed by {now - self.limit:.1f} s: {what} cannot be stopped"


_NONE = Deadline()
_DEADLINE: ContextVar[Deadline] = ContextVar("deadline")


@contextmanager
def ends_within(time_limit: float | None) -> Iterator[Deadline]:
    """Set the ends for whatever the block does; of two blocks the earlier end counts."""
    outer, now = _DEADLINE.get(_NONE), clock()
    own = Deadline(outer.limit, outer.end)
    if time_limit is not None:
        own.limit = min(outer.limit, now + time_limit)
        own.end = min(outer.end, now + time_limit + max(GRACE, SHARE * time_limit))
    token = _DEADLINE.set(own)
    try:
        yield own
    finally:
        _DEADLINE.reset(token)
        if math.isfinite(outer.end) and clock() > outer.end:
            outer.passed += own.passed


@contextmanager
def uninterrupted(name: str) -> Iterator[None]:
    """A call that nothing stops: a deadline that passes meanwhile remembers its name."""
    deadline = _DEADLINE.get(_NONE)
    before = clock() < deadline.end
    try:
        yield
    finally:
        if before and clock() > deadline.end:
            deadline.passed.append(name)


def limit_left() -> float | None:
    """Seconds of the time limit that are left, none below 0; None where there is no limit."""
    return _left(_DEADLINE.get(_NONE).limit)


def deriving_time() -> float | None:
    """Seconds that a heuristic may take before a model is built; None where there is no limit."""
    left = limit_left()
    return None if left is None else max(DERIVING * left, SHORTEST)


def seconds_left() -> float | None:
    """Seconds that are left for the proof, none below 0; None where there is no limit."""
    return _left(_DEADLINE.get(_NONE).end)


def _left(end: float) -> float | None:
    return None if math.isinf(end) else max(end - clock(), 0.0)


def is_over() -> bool:
    """Whether nothing that takes long should be begun."""
    return seconds_left() == 0.0


def within_deadline(limits: Limits) -> Limits:
    """Limits of a solver's call, which ends with the proof at the latest."""
    return _shortened(limits, seconds_left())


def within_limit(limits: Limits) -> Limits:
    """Limits of a solve, which shares the time limit of what it is a part of."""
    return _shortened(limits, limit_left())


def _shortened(limits: Limits, left: float | None) -> Limits:
    own = math.inf if limits.time_limit is None else limits.time_limit
    if left is None or own <= max(left, SHORTEST):
        return limits
    return replace(limits, time_limit=max(left, SHORTEST))


# --- What a solver prints, from C code too: passed on to sys.stdout, or dropped ------------------


@contextmanager
def transcript(wanted: bool) -> Iterator[Callable[[], str]]:
    """Keep what is printed; the yielded function passes on what is new and returns all so far.

    A file takes it: a pipe would fill up while a solver holds the interpreter, and then stop it.
    Standard output belongs to the process: outside of the main thread nothing is kept.
    """
    if not wanted or current_thread() is not main_thread():
        yield lambda: ""
        return
    with tempfile.TemporaryFile() as kept, _standard_output_at(kept.fileno()) as descriptor:
        outside = sys.stdout
        with suppress(io.UnsupportedOperation, AttributeError):
            if outside.fileno() == 1:  # it would write into the file too
                outside = open(descriptor, "w", buffering=1, closefd=False)  # noqa: SIM115
        text: list[str] = []
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        at = 0

        def pass_on() -> str:
            nonlocal at
            inside.flush()
            _flush_c()
            new = os.pread(kept.fileno(), os.fstat(kept.fileno()).st_size - at, at)
            at += len(new)
            if new:
                text.append(decode(new))
                outside.write(text[-1])
                outside.flush()
            return "".join(text)

        inside = open(os.dup(1), "w", buffering=1)  # noqa: SIM115
        try:
            with redirect_stdout(inside):
                yield pass_on
        finally:
            pass_on()
            inside.close()


def _flush_c() -> None:
    ctypes.CDLL(None).fflush(None)


@contextmanager
def _standard_output_at(target: int) -> Iterator[int]:
    """Lead descriptor 1 elsewhere while the block runs; yields a copy of the one before."""
    sys.stdout.flush()
    _flush_c()
    before = os.dup(1)
    os.dup2(target, 1)
    try:
        yield before
    finally:
        _flush_c()
        os.dup2(before, 1)
        os.close(before)


@contextmanager
def silenced() -> Iterator[None]:
    """Drop what this thread writes to sys.stdout, as a solver does whatever its switches say."""
    if sys.stdout is None:
        yield
        return
    with _changing:
        stream = sys.stdout
        if not isinstance(stream, _Filtered):
            stream = sys.stdout = _Filtered(sys.stdout)
        stream.silent.add(get_ident())
    try:
        yield
    finally:
        with _changing:
            stream.silent.remove(get_ident())
            if not stream.silent and sys.stdout is stream:
                sys.stdout = stream.outside


class _Filtered:
    """A stream without what some threads write."""

    def __init__(self, outside: TextIO) -> None:
        self.outside = outside
        self.silent: set[int] = set()

    def write(self, text: str) -> int:
        return len(text) if get_ident() in self.silent else self.outside.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outside, name)


_changing = Lock()


_BANNER = Lock()


@contextmanager
def dropped() -> Iterator[None]:
    """Drop what C code writes to standard output: a banner that no option suppresses."""
    with _BANNER, open(os.devnull, "wb") as nowhere, _standard_output_at(nowhere.fileno()):
        yield


# --- A solve that Ctrl-C stops without losing its incumbent --------------------------------------
# The solver runs in a thread of its own, with the interpreter released. The first Ctrl-C asks it
# to stop, and its result is returned; the second raises KeyboardInterrupt. Threads are used again:
# SCIP numbers every thread that called its automatic differentiation, and crashes beyond a few.


T = TypeVar("T")

POLL = 0.05  # seconds between two looks at Ctrl-C and at the log

State = tuple[float | None, float | None, str]  # bound, best, what else there is to say
Jobs = SimpleQueue[tuple[Callable[[], Any], Future[Any]]]

_idle: list[Jobs] = []  # of threads that wait for work
_abandoned: list[Future[Any]] = []

os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of the threads


@dataclass(frozen=True)
class Finished(Generic[T]):
    """What a supervised call returned, whether Ctrl-C was pressed, and the log if wanted."""

    value: T
    interrupted: bool = False
    log: str = ""


def reported(claim: Claim, finished: Finished[Any]) -> Claim:
    """The claim of a supervised solve, with its log and what Ctrl-C did to it."""
    claim = replace(claim, log=finished.log)
    if not finished.interrupted:
        return claim
    stopped = (Status.FEASIBLE, Status.INACCURATE, Status.LIMIT_NO_SOLUTION, Status.ERROR)
    status = Status.INTERRUPTED if claim.status in stopped else claim.status
    word = "" if "interrupt" in claim.message.lower() else "interrupted, "
    return replace(claim, status=status, message=word + claim.message)


def supervised(
    work: Callable[[], T],
    stop: Callable[[], None] | None = None,
    *,
    log: bool = False,
    name: str = "",
    state: Callable[[], State] | None = None,
) -> Finished[T]:
    """Run a solver so that Ctrl-C can stop it and its log is seen while it grows.

    work() -> T: the solve. One that holds the interpreter is neither stopped nor shown before its
        end.
    stop(): asks `work` to return soon; called again and again from another thread until it does.
        Without it the first Ctrl-C is remembered, and reported when `work` has returned.
    log: pass on what is printed to sys.stdout as it comes, and keep it.
    name: what is shown to be working on a terminal, after two seconds; nothing by default.
    state() -> (bound, best, words): how far it has come; called in this thread, while the work goes
        on in another.
    Raises KeyboardInterrupt: at the second Ctrl-C; the solver is left to itself.
    """
    quiet, presses = log or not name, list[int]()
    with (
        on_ctrl_c(lambda: presses.append(1)),
        transcript(log) as printed,
        live_line(name, quiet=quiet) as line,
        uninterrupted(name or "a library's call"),
    ):
        outcome = _begin(work)
        while wait([outcome], POLL).not_done:
            if len(presses) > 1:
                _abandoned.append(outcome)
                raise KeyboardInterrupt
            if presses and stop is not None:
                stop()
            printed()
            if line.is_due:
                line.show(*(state() if state is not None else ()))
        return Finished(outcome.result(), bool(presses), printed())


def _begin(work: Callable[[], T]) -> Future[T]:
    """Start the work on an idle thread, or on a new one."""
    outcome: Future[T] = Future()
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        Thread(target=_serve, args=(jobs,), daemon=True).start()
    jobs.put((work, outcome))
    return outcome


def _serve(jobs: Jobs) -> None:
    while True:
        work, outcome = jobs.get()
        try:
            value = work()
        except BaseException as error:
            _idle.append(jobs)
            outcome.set_exception(error)
        else:
            _idle.append(jobs)
            outcome.set_result(value)
        # Nothing of a finished solve stays alive here while the thread waits.
        work = outcome = value = None  # type: ignore[assignment]


@contextmanager
def on_ctrl_c(heard: Callable[[], None]) -> Iterator[None]:
    """Call `heard` at each Ctrl-C while the block runs.

    Nothing is changed outside of the main thread, or where Ctrl-C is ignored.
    """
    previous = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or previous in (None, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: heard())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@atexit.register
def _leave() -> None:
    """End the process at once while an abandoned solver runs: unwinding its thread would abort."""
    if not all(outcome.done() for outcome in _abandoned):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


# --- Lines of a solver's own that no switch of its log keeps off standard error, left out --------


PATIENCE = 1.0  # seconds for what is left in the pipe; a process started meanwhile may hold it


@contextmanager
def without_lines(pattern: str) -> Iterator[None]:
    """Leave lines that match a pattern out of standard error while the block runs.

    The block must release the interpreter while it writes. Only the main thread does this:
    standard error belongs to the whole process.
    """
    if current_thread() is not main_thread():
        yield
        return
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        outside = os.dup(2)
    except OSError:  # a process without standard error
        yield
        return
    shown_at = None if terminal() is None else outside
    reading, writing = os.pipe()
    passing = Thread(
        target=_pass_on, args=(reading, outside, re.compile(pattern.encode())), daemon=True
    )
    passing.start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        with standard_error_at(shown_at):
            yield
    finally:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(outside, 2)
        passing.join(PATIENCE)


def _pass_on(reading: int, outside: int, pattern: re.Pattern[bytes]) -> None:
    with open(reading, "rb") as lines, open(outside, "wb", buffering=0) as kept:
        for line in lines:
            if not pattern.match(line):
                kept.write(line)


# --- Ctrl-C in loops of ours ---------------------------------------------------------------------


class CtrlC:
    """Whether a stop was asked for: the first Ctrl-C sets `asked`, the second interrupts."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear Ctrl-C while the block runs."""
        with on_ctrl_c(self._heard):
            yield

    def _heard(self) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


# --- Work that a stage of a search may take: counted, so that no clock decides when it ends ------
# A relaxation counts the numbers that its solver reads in every step, and a little for the call. A
# million of them take about two seconds, with what is proven between the relaxations.


CALL = 100  # numbers that a call is worth, however small the relaxation
STAGE = 3_000_000  # numbers for a stage of bound tightening: a minute of larger relaxations
MEMORY = 2**29  # numbers that a search keeps at most: 4 GB

NODE = 200  # numbers that a node takes in memory beside its arrays


@dataclass
class WorkCount:
    """The work that is done so far."""

    done: int = 0

    def add(self, size: int) -> None:
        """Count a relaxation of so many numbers."""
        self.done += CALL + size


# --- Why anything ended that searches, iterates or follows a path: one word for each reason ------


class StopReason(StrEnum):
    """Why a search, a heuristic or a path ended.

    PROVEN says that the gap is closed, FINISHED that everything asked for was done, and CONVERGED
    that an iteration met its own test; STALLED and NUMERICAL that rounding left no way on. The
    others are limits, and what came before them is kept.
    """

    PROVEN = "proven"
    FINISHED = "finished"
    CONVERGED = "converged"
    STALLED = "stalled"
    NUMERICAL = "numerical"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time_limit"
    STEP_LIMIT = "step_limit"
    NODE_LIMIT = "node_limit"
    MEMORY_LIMIT = "memory_limit"
    CELL_LIMIT = "cell_limit"
    ROUND_LIMIT = "round_limit"


class Search(Protocol):
    """A branch and bound as `drive` takes it; what it has found stays with it however it ends."""

    def begin(self) -> None:
        """Bound the whole."""

    @property
    def is_open(self) -> bool:
        """Whether a part is left that may hold a better point."""

    def limit(self) -> StopReason | None:
        """The limit that is met, if one is."""

    def standing(self) -> tuple[float, float, str]:
        """Bound, objective of the incumbent, and how much was done in words."""

    def step(self) -> None:
        """Split the weakest parts and bound theirs."""


def drive(name: str, search: Search) -> StopReason:
    """Steps of a search until nothing is open, a limit is met or Ctrl-C comes: why it ended."""
    try:
        with live_line(name) as line:
            search.begin()
            while True:
                if line.is_due:
                    line.show(*search.standing())
                if not search.is_open:
                    return StopReason.PROVEN
                stop = search.limit()
                if stop is not None:
                    return stop
                search.step()
    except KeyboardInterrupt:
        return StopReason.INTERRUPTED
