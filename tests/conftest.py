"""Small data sets by seed, the folder of real data, and the Hypothesis profiles of all files."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.references.reference_solutions import points
from tests.support.command_line import write_csv
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, TrainingData

# Two cores are shared with the other test processes: a slow example is no failure. The suite says
# the same of the same code each time; `explore` looks for examples that nobody has tried.
settings.register_profile("house", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, derandomize=False)
settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """No search for circles while tests are collected, which keeps all that it makes.

    It took a quarter of that time; what is there then is left out of later searches as well.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


LONG = 5.0  # seconds; what takes longer is marked `slow` with a reason


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `make test-full` alone runs; a test that is named outright runs."""
    named = any("::" in argument for argument in config.args)
    out = [] if FULL or named else [item for item in items if item.get_closest_marker("full")]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.stash[LEFT_OUT] = sorted({reason_of(item, "full") for item in out})
        if hasattr(config, "workeroutput"):
            config.workeroutput["left_out"] = config.stash[LEFT_OUT]
    for item in items:  # reasons travel with the reports from the process of the test
        if item.get_closest_marker("slow"):
            item.user_properties.append(("slow", reason_of(item, "slow")))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest -n has left out: every worker the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


LEFT_OUT = pytest.StashKey[list[str]]()


def reason_of(item: pytest.Item, name: str) -> str:
    """The test function and the reason of its marker."""
    marker = item.get_closest_marker(name)
    assert marker is not None
    assert marker.args, f"{item.nodeid} is marked {name} without a reason"
    return f"{item.nodeid.partition('[')[0]}: {marker.args[0]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what takes long, what does so without a reason, and what is left out."""
    reasons, unlisted = set(), {}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        reason = dict(report.user_properties).get("slow")
        if reason is not None:
            reasons.add(str(reason))
        elif report.duration > LONG:
            unlisted[f"{report.nodeid} {report.when}"] = report.duration
    left_out = terminalreporter.config.stash.get(LEFT_OUT, [])
    for title, lines in (
        (f"may take more than {LONG:g} s", sorted(reasons)),
        (f"took more than {LONG:g} s and say no reason", [
            f"{name}: {seconds:.1f} s" for name, seconds in sorted(unlisted.items())
        ]),
        ("run in make test-full alone", left_out),
    ):  # fmt: skip
        if lines:
            terminalreporter.section(f"{len(lines)} {title}")
            for line in lines:
                terminalreporter.line(line)


@pytest.fixture
def catalogue_as_it_was() -> Iterator[None]:
    """Formulations that a test registers are gone after it."""
    known = dict(CATALOGUE)
    yield
    CATALOGUE.clear()
    CATALOGUE.update(known)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Python's own handler of Ctrl-C, for the tests and for every process they start.

    A suite in the background (nohup, `make test &`) is started with the signal ignored, which
    children inherit; tests that press Ctrl-C would test nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def overlapping() -> Callable[[int], TrainingData]:
    """seed -> 14 points in the plane that no line separates."""
    return lambda seed: points("overlapping", seed)


def folder_of_real_data() -> Path:
    """The folder, or a skip; a failure where TIGHTMARGIN_REQUIRE_DATA says it must be there."""
    named = os.environ.get("TIGHTMARGIN_DATA", "").strip()
    if named and Path(named).is_dir():
        return Path(named)
    missing = "TIGHTMARGIN_DATA names no folder of real data"
    if os.environ.get("TIGHTMARGIN_REQUIRE_DATA", "").strip():
        pytest.fail(f"{missing}, and TIGHTMARGIN_REQUIRE_DATA is set")
    pytest.skip(missing)


@pytest.fixture
def data_folder() -> Path:
    return folder_of_real_data()


@pytest.fixture
def no_search_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a solver says of a 0-1 or a ramp loss stays its word: no search, no tree."""
    methods = "tightmargin.solvers.zero_one.methods"
    monkeypatch.setattr(f"{methods}.POINT_LIMIT_OF_TREE", 0)
    monkeypatch.setattr(f"{methods}.POINT_LIMIT_OF_CONFLICTS", 0)
    monkeypatch.setattr(f"{methods}.bound_by_cones", lambda *given, **words: None)


@pytest.fixture(scope="module")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The points of a module, as a file."""
    return write_csv(tmp_path_factory.mktemp("data") / "train.csv", request.module.DATA)
