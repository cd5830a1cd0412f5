"""The mutation run tells a killed mutant from one that survives, and from its own mistakes."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = "def larger(a, b):\n    return a if a > b else b\n\n\ndef unused(a):\n    return a + 1\n"
TESTS = """from product import larger

def test_larger():
    assert larger(2, 1) == 2

def test_that_fails_anywhere():
    assert larger(2, 1) == 3
"""


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / ".ci" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def place(mutants: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("copy") / "checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "mutants.py", folder / ".ci")
    (folder / "product.py").write_text(PRODUCT)
    (folder / "test_product.py").write_text(TESTS)
    opened = mutants.Place(folder)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("name", "end"), [("larger", "killed: test_product.py::test_larger"), ("unused", "survived")]
)
def test_a_mutant_is_killed_by_a_test_that_passes_without_it(
    mutants: ModuleType, place: Any, monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    """A test that fails without the mutant as well, in front of the other, kills nothing."""
    monkeypatch.setattr(mutants, "ROOT", place.folder)
    found = mutants.mutants_of(place.folder / "product.py")
    kind, line = ("branch", 2) if name == "larger" else ("arithmetic", 6)
    (mutant,) = [one for one in found[line] if one["kind"] == kind]
    tests = {"test_product.py::test_that_fails_anywhere": 0.0, "test_product.py::test_larger": 0.1}
    assert mutants.outcome(place, mutant, tests) == end
    assert (place.folder / "product.py").read_text() == PRODUCT


def test_a_run_that_breaks_says_so(mutants: ModuleType, tmp_path: Path) -> None:
    asked = json.dumps({"tests": None, "one": 1, "all": 30})
    ended = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "mutants.py"), "serve"],
        input=asked, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert "TypeError" in json.loads(ended.stdout)["broken"]
