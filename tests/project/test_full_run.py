"""`make test-full`: a failed step fails the run, and what has passed is not run again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["suite", "soundness", "processors", "lowest"]


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module, which keeps its outcomes in a folder of the test."""
    monkeypatch.syspath_prepend(ROOT / ".ci")
    spec = importlib.util.spec_from_file_location("full", ROOT / ".ci" / "full.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "full", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(module, "code_now", lambda: "0000abc9")
    return module


def test_the_run_goes_on_where_it_was_stopped(
    full: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []
    stopped, failing = {"processors"}, {"suite"}

    def run(step: Any) -> int:
        begun.append(step.name)
        if step.name in stopped:
            raise KeyboardInterrupt
        return 2 if step.name in failing else 0

    monkeypatch.setattr(full, "run", run)
    assert full.main([]) == 130
    assert begun == NAMES[:3], "a failed step does not end the run"
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES[:3]
    assert "FAILED with 2" in lines[0]
    assert f"passed  ({full.CASES} cases of each family, seed {0xABC})" in lines[1]

    stopped.clear()
    begun.clear()
    assert full.main([]) == 1
    assert begun == ["suite", "processors", "lowest"], "what failed and what was not run"

    failing.clear()
    begun.clear()
    assert (full.main([]), begun) == (0, ["suite"])
    begun.clear()
    assert (full.main([]), begun) == (0, []), "all has passed"
    assert all("passed" in line for line in capsys.readouterr().out.splitlines()[-4:])
    for words in (["--fresh"], ["--cases=1"], ["--seed=1"]):
        begun.clear()
        assert (full.main(words), begun) == (0, NAMES)


def test_other_code_has_not_passed(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(full, "run", lambda step: begun.append(step.name) or 0)
    assert full.main([]) == 0
    monkeypatch.setattr(full, "code_now", lambda: "1111abc9")
    assert full.main([]) == 0
    assert begun == [*NAMES, *NAMES]


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
