"""What rooms of experiments/ need alike."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no folder of real data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIGHTMARGIN_DATA", raising=False)
    return tmp_path
