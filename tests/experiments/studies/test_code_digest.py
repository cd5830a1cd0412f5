"""What a stored result depends on: nothing stale is read, and nothing else is run again."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inside.experiments import StudyError, run_study, sources_digest
from tests.inside.experiments import TaskStep as Step
from tests.inside.experiments import code_digest_code_digest as code_digest
from tests.inside.experiments import studies_code_digest as module
from tightmargin.formulations import c_svc

THEIRS = "from their_helpers import helped\ndef work(n):\n    return helped(n)\n"
FILES = {
    "formulations/svc/soft_margin.py": "def build(n):\n    return n\n",
    "solvers/engines/highs.py": "x = 1\n",
    "cuts/loop.py": "x = 1\n",
    "experiments/plots/pictures.py": '"""Words."""\n',
    "experiments/reproduce/lee/prints.toml": "x = 1\n",
}


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages of a few lines, which lie behind links as they do in a checkout."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    root = tmp_path / "tightmargin"
    root.mkdir()
    for room in ("formulations", "solvers", "cuts", "experiments"):
        (root / room).symlink_to(tmp_path / room)
    monkeypatch.setattr(module, "ROOT", root)
    load_anew(monkeypatch)
    return tmp_path


def load_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a Python does that starts now."""
    monkeypatch.setattr(module, "_LOADED", module._package_files())


@pytest.fixture
def somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A study in a file, beside a file that it imports."""
    (tmp_path / "their_study.py").write_text(THEIRS)
    (tmp_path / "their_helpers.py").write_text("def helped(n):\n    return n\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("their_study").work
    for name in ("their_study", "their_helpers"):
        sys.modules.pop(name, None)


def reloaded() -> Any:
    importlib.reload(sys.modules["their_helpers"])
    return importlib.reload(sys.modules["their_study"]).work


def edited(path: Path) -> None:
    """One word more, in a file that Python compiles again: its time of writing is another."""
    path.write_text(f"{path.read_text()}# a word\n")
    later = path.stat().st_mtime + 2.0
    os.utime(path, (later, later))


# --- other code ----------------------------------------------------------------------------------


def test_an_edit_of_any_file_of_the_packages_is_other_code(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = code_digest(c_svc)
    for file in FILES:
        text = (ours / file).read_text()
        edited(ours / file)
        load_anew(monkeypatch)
        assert code_digest(c_svc) != before, file
        (ours / file).write_text(text)
        load_anew(monkeypatch)
        assert code_digest(c_svc) == before, "undone, and as it was"
    (ours / "experiments" / "noise.sqlite").write_bytes(b"x")  # what a study writes is no code
    load_anew(monkeypatch)
    assert code_digest(c_svc) == before


def test_another_version_of_a_dependency_is_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before, version = code_digest(c_svc), module.version
    for changed in module.COMPUTING:
        other = {changed: "0.0.0"}
        monkeypatch.setattr(module, "version", lambda k, other=other: other.get(k) or version(k))
        assert code_digest(c_svc) != before, changed
    monkeypatch.setattr(module, "version", version)
    monkeypatch.setattr(module.platform, "python_version", lambda: "3.99.0")
    assert code_digest(c_svc) != before


def test_code_beside_the_file_of_the_function_counts_where_it_is_named(
    somebody: Any, tmp_path: Path
) -> None:
    helpers, values = tmp_path / "their_helpers.py", []
    for sign in ("", "-"):
        helpers.write_text(f"def helped(n):\n    return {sign}n\n")
        edited(helpers)
        study = run_study(reloaded(), [(1,)], name="n", store=tmp_path / "s", reads=[helpers])
        values.append(study.values[1,])
    assert values == [1, -1]


# --- edits while something runs ------------------------------------------------------------------


def test_a_file_edited_after_it_was_loaded_is_refused_until_it_is_loaded_anew(
    somebody: Any, tmp_path: Path
) -> None:
    store, path = tmp_path / "s.sqlite", tmp_path / "their_study.py"
    assert run_study(somebody, [(1,)], name="n", store=store).values == {(1,): 1}
    path.write_text(THEIRS.replace("helped(n)", "-helped(n)"))
    with pytest.raises(ValueError, match=r"their_study\.py: edited after this Python had loaded"):
        run_study(somebody, [(1,), (2,)], name="n", store=store)
    edited(path)
    assert run_study(reloaded(), [(1,)], name="n", store=store).values == {(1,): -1}


def test_a_formulation_edited_after_it_was_loaded_is_refused(ours: Path, tmp_path: Path) -> None:
    sources = sources_digest(c_svc)
    edited(ours / "formulations" / "svc" / "soft_margin.py")
    with pytest.raises(ValueError, match=r"soft_margin\.py: edited after this Python had loaded"):
        run_study(c_svc, [(1,)], name="n", store=tmp_path / "s.sqlite")
    outcome = Step(c_svc, (1,), 0, sources)()
    assert re.match(r"RuntimeError: process \d+ on .*soft_margin\.py: edited after", outcome.error)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_edit_ends_a_running_study_which_goes_on_when_it_is_undone(
    jobs: int, somebody: Any, tmp_path: Path
) -> None:
    store, path = tmp_path / "s.sqlite", tmp_path / "their_study.py"

    def edit(said: str) -> None:
        if said.startswith("2 of"):
            path.write_text(THEIRS.replace("helped(n)", "-helped(n)"))

    tasks = [(number,) for number in range(5)]
    with pytest.raises(StudyError, match=r"their_study\.py: edited after .* before is kept"):
        run_study(somebody, tasks, name="n", store=store, progress=edit, jobs=jobs)
    path.write_text(THEIRS)
    told: list[str] = []
    study = run_study(somebody, tasks, name="n", store=store, report=told.append)
    assert told == ["2 of 5 tasks were finished before"]
    assert list(study.complete().values()) == [0, 1, 2, 3, 4]
