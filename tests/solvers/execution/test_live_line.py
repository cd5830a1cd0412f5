"""The line that a long search shows: its numbers, who shows it, and that it goes away."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from select import select

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import execution_interrupts as interrupts
from tests.inside.solvers import execution_live_line as module
from tests.inside.solvers import hidden, shown_by, telling
from tests.inside.solvers import live_line_live_line as live_line
from tests.references.multiclass import class_points

POINTS = outlier_data("clustered", n=20, d=3, sigma=0.4, seed=1)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is shown, from the first moment on and however quick the processor is."""
    monkeypatch.setattr(module, "AFTER", 0.0)
    monkeypatch.setattr(module, "EVERY", 0.0)
    monkeypatch.setattr(interrupts, "POLL", 0.001)
    found: list[str] = []
    with shown_by(found.append):
        yield found


def edited() -> pyo.ConcreteModel:
    model = tm.zero_one_big_m(POINTS, penalty=1.0, big_m=60.0)
    model.edit = pyo.Constraint(expr=model.w[0] <= 0.3)
    return model


def derived() -> pyo.ConcreteModel:
    data = outlier_data("clustered", n=40, d=3, sigma=0.4, seed=1)
    return tm.build("zero_one_big_m", data, penalty=1.0, big_m="derived")


SEARCHES: dict[str, tuple[str, Callable[[], object]]] = {
    "branch and bound": ("nodes", lambda: tm.solve(edited(), method="branch-and-bound")),
    "conflict search": ("nodes", lambda: tm.solve(derived(), method="conflict-search")),
    "cone search": ("cells", lambda: tm.solve(derived(), method="cone-search")),
    "scip": ("bound", lambda: tm.solve(edited(), "scip", prove=False)),
    "clarabel": ("steps", lambda: tm.solve(
        tm.conic_sdp(outlier_data("clustered", n=60, d=20, sigma=0.4, seed=1), penalty=1.0),
        "clarabel")),
    "branch and bound over given-up points": ("nodes", lambda: tm.solve(tm.build(
        "multiclass_truncated", class_points(4, n=12), ridge=0.1, truncation=-0.5,
        big_m="derived"), method="truncated-search")),
    "branch and bound over directions": ("cells", lambda: tm.solve(tm.build(
        "matrix_svc_bilinear", outlier_data("clustered", n=10, d=4, sigma=0.4, seed=1), ridge=0.1,
        shape=(2, 2), rank=1), method="matrix-search")),
    "conic path": ("2 of 2 to go", lambda: tm.paths.conic_path(POINTS, penalties=[0.5, 1.0])),
    "class probabilities": ("to go", lambda: tm.paths.class_probabilities(
        POINTS, ridge=0.1, grid=3)),
    "study sizes": ("2 of 2 runs done", lambda: tm.studies.run_study(
        abs, [(1,), (2,)], name="sizes")),
    "local search": ("of 3 starts", lambda: tm.search.extended_nu_local(POINTS, nu=0.3, starts=3)),
    "alternating search": ("of 2 starts", lambda: tm.search.matrix_alternating(
        outlier_data("clustered", n=10, d=4, sigma=0.5, seed=1), ridge=0.5, shape=(2, 2), rank=1,
        starts=2)),
    "d.c. searches": ("to go", lambda: tm.search.truncated_dca(
        class_points(4, n=12), ridge=0.1, truncation=-0.5, starts=2)),
    "highs with tangents": ("linear programs", lambda: tm.solve(
        edited(), "highs", prove=False)),
    "branch and cut": ("open", lambda: tm.solve(
        tm.extended_nu_svc(outlier_data("clustered", n=40, d=5, sigma=0.4, seed=1), nu=0.3),
        method="branch-and-cut", time_limit=10.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_tells_how_far_it_has_come(lines: list[str], name: str) -> None:
    word, run = SEARCHES[name]
    run()
    own = [line for line in lines if line.startswith(f"{name}: ")]
    assert any(word in line for line in own), lines[:5]
    assert all(re.search(r", \d+ s$|: \d+ s$", line) for line in own)
    for line in own:
        known = re.search(r"bound (\S+), best (\S+), gap (\S+) %", line)
        if known is not None:
            low, high, gap = map(float, known.groups())
            size = max(abs(low), abs(high), 1e-300)
            assert abs(gap - 100 * abs(high - low) / size) <= 0.01 * gap + 0.1
    assert module._lines == []


def test_only_the_innermost_search_is_due_and_none_in_another_thread(lines: list[str]) -> None:
    with live_line("outer") as outer:
        with live_line("inner") as inner:
            assert inner.is_due
            assert not outer.is_due
            inner.show(0.0, 0.0)
        assert outer.is_due
        outer.show(None, 2.0, "3 nodes")
    assert lines == ["inner: bound 0, best 0, gap 0 %, 0 s", "outer: best 2, 3 nodes, 0 s"]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(module._is_silent).result()


def test_nothing_is_shown_where_the_variable_says_so(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for switch, shown in (("0", []), ("1", ["path: 1 of 2, 0 s"])):
        monkeypatch.setenv(module.SWITCH, switch)
        with telling("path") as say:
            say("1 of 2")
        assert lines == shown
    with hidden(), telling("path") as say:
        say("2 of 2")
    assert len(lines) == 1


def test_a_progress_of_the_callers_takes_the_place_of_the_line(lines: list[str]) -> None:
    told: list[str] = []
    tm.paths.rsvm_path(POINTS, [0.2, 0.4], progress=told.append)
    assert [text.partition(",")[2] for text in told] == [" 2 of 2 to go", " 1 of 2 to go"]
    assert not any(line.startswith("path of") for line in lines)


def test_workers_of_a_study_show_nothing(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parent_process", object)
    with live_line("search") as line:
        assert not line.is_due


def test_a_line_is_shown_on_a_terminal_and_not_on_a_stream_with_the_descriptor_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stream is that of a notebook, whose server was started from a terminal."""
    ours, theirs = pty.openpty()

    class Stream:
        def __init__(self, *, terminal: bool) -> None:
            self.terminal = terminal

        def fileno(self) -> int:
            return theirs

        def isatty(self) -> bool:
            return self.terminal

    monkeypatch.setattr(module, "AFTER", 0.0)
    try:
        for terminal in (False, True):
            monkeypatch.setattr(sys, "stderr", Stream(terminal=terminal))
            assert module.terminal() == (theirs if terminal else None)
            with module.standard_error_at(None):
                assert module.terminal() is None
        for kind in ("dumb", "xterm"):  # the first cannot take a line back
            monkeypatch.setenv("TERM", kind)
            with live_line("search") as line:
                line.show(1.0, 2.0, "3 nodes")
                assert bool(module._shown) == (kind == "xterm")
        assert not module._shown
        seen, wanted = b"", b"search: bound 1, best 2, gap 50 %, 3 nodes"
        while wanted not in seen and select([ours], [], [], 30)[0]:
            seen += os.read(ours, 65536)
        assert wanted in seen
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_line_is_cut_where_the_terminal_ends_and_brackets_stay() -> None:
    text = module._one_line("row margin[red] " + 100 * "x", 40)
    assert str(text).startswith("row margin[red] xxx")
    assert len(str(text)) == 37
    assert "\n" not in str(text)


def test_nothing_is_shown_in_the_first_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    with live_line("search") as line:
        for later, due in ((0.0, False), (1.9, False), (2.1, True)):
            now[0] = 100.0 + later
            assert line.is_due is due
        with shown_by(lambda text: None):
            line.show()
        assert not line.is_due
        now[0] += 0.3
        assert line.is_due
