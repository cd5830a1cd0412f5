"""The long runs: a failed step fails, what has passed is not run again, mutants are killed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


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


def test_a_step_has_its_exit_code_its_log_and_its_own_variables(
    full: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of the suite is that of the first step alone, and no step inherits make's words."""
    monkeypatch.setenv("TIGHTMARGIN_FULL", "1")
    monkeypatch.setenv("MAKEFLAGS", "n")
    (tmp_path / "full").mkdir()
    words = "import os; print(*[os.environ.get(n) for n in ('TIGHTMARGIN_FULL', 'MAKEFLAGS', 'A')])"
    command = [sys.executable, "-c", f"{words}; raise SystemExit(3)"]
    assert full.run(full.Step("one", command, {"A": "b"})) == 3
    assert (tmp_path / "full" / "one.log").read_text().split() == ["None", "None", "b"]
    suite, *others = full.steps(2, 5, 1, tmp_path)
    assert suite.variables == {"TIGHTMARGIN_FULL": "1"}
    assert not any("TIGHTMARGIN_FULL" in step.variables for step in others)


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


def test_a_run_that_breaks_says_so(tmp_path: Path) -> None:
    asked = json.dumps({"tests": None, "one": 1, "all": 30})
    ended = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "mutants.py"), "serve"],
        input=asked, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert "TypeError" in json.loads(ended.stdout)["broken"]
