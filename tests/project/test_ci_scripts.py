"""The long runs go on where they were stopped, and no process leaves anything behind."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.inside.experiments import run_study
from tests.inside.solvers import SOLVERS
from tests.support.long_runs import ROOT, finish, start, wait_for
from tests.support.study_tasks import marked


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script of .ci as a module."""
    monkeypatch.syspath_prepend(ROOT / ".ci")
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


# --- make test-full -------------------------------------------------------------------------------

NAMES = ["suite", "soundness", "processors", "lowest"]


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """It keeps its outcomes in a folder of the test."""
    module = script("full", monkeypatch)
    monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(module, "code_now", lambda: "0000abc9")
    return module


def test_the_run_goes_on_where_it_was_stopped(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    stopped, failing = {"processors"}, {"suite"}

    def run(step: Any) -> int:
        begun.append(step.name)
        if step.name in stopped:
            raise KeyboardInterrupt
        return 2 if step.name in failing else 0

    def again(*words: str) -> tuple[int, list[str]]:
        begun.clear()
        return full.main(list(words)), [*begun]

    monkeypatch.setattr(full, "run", run)
    assert again() == (130, NAMES[:3]), "a failed step does not end the run"
    stopped.clear()
    assert again() == (1, ["suite", "processors", "lowest"]), "what failed and what was not run"
    failing.clear()
    assert again() == (0, ["suite"])
    assert again() == (0, []), "all has passed"
    for words in ("--fresh", "--cases=1", "--seed=1"):
        assert again(words) == (0, NAMES)
    monkeypatch.setattr(full, "code_now", lambda: "1111abc9")
    assert again() == (0, NAMES), "other code has not passed"


def test_no_setting_of_processors_needs_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    processors = script("processors", monkeypatch)
    assert all((ROOT / path).exists() for path in processors.NOT_NUMERICAL)
    monkeypatch.setattr(processors, "has", lambda feature: feature in ("SSE3", "AVX"))
    found = {setting.processor.core for setting in processors.settings()}
    assert found == {"Prescott", "Sandybridge"}


# --- mutants --------------------------------------------------------------------------------------

PRODUCT = "def larger(a, b):\n    return a if a > b else b\n\n\ndef unused(a):\n    return a + 1\n"
TESTS = """from product import larger

def test_larger():
    assert larger(2, 1) == 2

def test_that_fails_anywhere():
    assert larger(2, 1) == 3
"""


def test_a_mutant_is_killed_by_a_test_that_passes_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A test that fails without the mutant as well, in front of the other, kills nothing."""
    mutants, folder = script("mutants", monkeypatch), tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "mutants.py", folder / ".ci")
    (folder / "product.py").write_text(PRODUCT)
    (folder / "test_product.py").write_text(TESTS)
    place = mutants.Place(folder)
    monkeypatch.setattr(mutants, "ROOT", folder)
    found = mutants.mutants_of(folder / "product.py")
    tests = {"test_product.py::test_that_fails_anywhere": 0.0, "test_product.py::test_larger": 0.1}
    for line, kind, end in (
        (2, "branch", "killed: test_product.py::test_larger"), (6, "arithmetic", "survived")
    ):  # fmt: skip
        (mutant,) = [one for one in found[line] if one["kind"] == kind]
        assert mutants.outcome(place, mutant, tests) == end
        assert (folder / "product.py").read_text() == PRODUCT
    place.close()


# --- solves and studies leave nothing behind ------------------------------------------------------

# Every class a solver takes, a model that it must refuse, one without a point, one that is
# unbounded, one in numbers it can hardly hold, and one that its clock ends.
SOLVES = """
import sys
import tightmargin as tm
from tightmargin.solvers.errors import RefusedError
from tests.conformance.problems import PROBLEMS
from tests.support.long_runs import MODELS
from tests.references.reference_solutions import points

given, few = points("overlapping", 1, n=10), points("overlapping", 2, n=7)
large = tm.TrainingData(given.X * 1e3, given.y)

models = [
    lambda: tm.c_svc(given, C=0.7),
    lambda: tm.c_svc(large, C=1e6),
    lambda: tm.hard_margin_svc(given),
    lambda: tm.conic_sdp(given, penalty=1.3),
    lambda: tm.zero_one_big_m(few, penalty=1.3, big_m="derived"),
    lambda: tm.hard_margin_svc_dual(given),
    MODELS["milp"],
    MODELS["sdp"],
    # SCIP asks for a tolerance here that its simplex code, with a line about it, does not take.
    *(one.build for one in PROBLEMS if one.name in ("qp_unconstrained", "qp_semidefinite")),
]
for solver in sys.argv[1:]:
    print(solver, flush=True)
    for model in models:
        try:
            tm.solve(model(), solver, time_limit=None if solver == "piqp" else 0.3)
        except (RefusedError, ValueError):
            pass
words = {"penalty": 1.0, "big_m": "derived"}
tm.compare(few, ["zero_one_relaxed"], parameters=words)
"""


@pytest.mark.slow("every solver on every class, in a process whose streams are looked at")
def test_solves_leave_no_file_and_no_line(tmp_path: Path) -> None:
    here = [solver for solver, info in SOLVERS.items() if info.installed]
    ended = subprocess.run(
        [sys.executable, "-c", SOLVES, *here, "auto"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert ended.stdout.split() == [*here, "auto"]
    assert ended.stderr == ""
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from tests.inside.experiments import run_study
from tests.support.study_tasks import marked
folder, store = sys.argv[1:]
run_study(marked, [(folder, k, 0.25) for k in range(40)], name="marks", store=store, jobs=2,
          progress=lambda text: print(text, flush=True))
"""


@pytest.mark.slow("a study that is killed, and its workers that have to see it")
def test_a_study_leaves_no_file_and_a_killed_one_no_process_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, marks = tmp_path / "temporary", tmp_path / "marks"
    folder.mkdir()
    marks.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    process = start(str(marks), str(tmp_path / "s.sqlite"), script=KILLED)
    wait_for("^3 of 40 runs done", process.stdout)
    process.kill()
    finish(process)
    assert list(folder.iterdir()) == []
    time.sleep(1.5)  # its processes look twice a second whether it is there
    begun = len(list(marks.iterdir()))
    time.sleep(1.0)
    assert len(list(marks.iterdir())) == begun
    asked = [(str(marks), number, 0.0) for number in range(3)]
    assert run_study(marked, asked, name="n", jobs=2).complete()
    assert list(folder.iterdir()) == []
