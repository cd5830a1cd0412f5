"""`make test-processors`: its settings are real ones, and it goes on where it was stopped."""

from __future__ import annotations

import importlib.util
import os
import subprocess
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


ASKED = """
import numpy, threadpoolctl
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
blas = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
print(*{one["architecture"] for one in blas}, *{one["num_threads"] for one in blas})
print(*[name for name in __cpu_dispatch__ if __cpu_features__[name]])
"""


@pytest.mark.full("an interpreter for each processor")
def test_openblas_and_numpy_compute_as_they_are_told(processors: ModuleType) -> None:
    names = {"Prescott": {"Prescott", "Katmai"}}  # OpenBLAS calls its oldest kernels by both
    chosen = processors.settings()
    assert len(chosen) == len({setting.name for setting in chosen})
    for setting in chosen:
        if setting.threads > (os.cpu_count() or 1):
            continue
        said = subprocess.run(
            [sys.executable, "-W", "error", "-c", ASKED], env=os.environ | setting.variables(),
            capture_output=True, text=True, check=True, timeout=200,
        )  # fmt: skip
        core = setting.processor.core
        blas, loops = said.stdout.splitlines()
        architecture, threads = blas.split()
        assert architecture in names.get(core, {core})
        assert threads == str(setting.threads)
        assert set(loops.split()) <= set(setting.processor.loops)


def test_no_setting_needs_what_is_not_there(
    processors: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all((ROOT / path).exists() for path in processors.NOT_NUMERICAL)
    monkeypatch.setattr(processors, "has", lambda feature: feature in ("SSE3", "AVX"))
    found = {setting.processor.core for setting in processors.settings()}
    assert found == {"Prescott", "Sandybridge"}
    text = processors.table(processors.settings(), {}, "code")
    assert "skipped, this processor has no SkylakeX kernels" in text
