"""`make test-processors`: its settings are real ones, and it goes on where it was stopped."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module that keeps its outcomes in a folder of the test."""
    spec = importlib.util.spec_from_file_location("processors", ROOT / ".ci" / "processors.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "processors", found)
    spec.loader.exec_module(found)
    monkeypatch.setattr(found, "KEPT", tmp_path)
    return found


def test_no_setting_needs_what_is_not_there(
    processors: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all((ROOT / path).exists() for path in processors.NOT_NUMERICAL)
    monkeypatch.setattr(processors, "has", lambda feature: feature in ("SSE3", "AVX"))
    found = {setting.processor.core for setting in processors.settings()}
    assert found == {"Prescott", "Sandybridge"}
    text = processors.table(processors.settings(), {}, "code")
    assert "skipped, this processor has no SkylakeX kernels" in text
