"""Row 20: a result file cut short or altered gives one clear error, never half a result.

tests/solvers/test_result_files.py cuts at every byte and looks at what saving leaves behind.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tests.support.long_runs import data


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of 1001 points, so that slacks and multipliers lie in a file beside it."""
    folder = tmp_path_factory.mktemp("saved")
    file = write_csv(folder / "points.csv", data(1001, 2))
    out = folder / "fit.json"
    done = run("solve", "c_svc", "--data", file, "--set", "C=1", "--out", out)
    assert done.code == 0, done.stderr
    assert out.with_suffix(".npz").exists()
    return out


def one_line_of(command: str, *words: object) -> str:
    answer = run(command, *words)  # type: ignore[arg-type]
    assert answer.code == 2
    return answer.complaint


@pytest.mark.parametrize("part", ["json", "npz"])
def test_row_20_cut_anywhere_it_is_refused_in_one_line(
    saved: Path, part: str, tmp_path: Path
) -> None:
    for k, share in enumerate((0.0, 0.1, 0.5, 0.97) if not FULL else np.linspace(0, 0.999, 40)):
        for suffix in (".json", ".npz"):
            content = saved.with_suffix(suffix).read_bytes()
            kept = content[: int(share * len(content))] if suffix == f".{part}" else content
            (tmp_path / "fit.json").with_suffix(suffix).write_bytes(kept)
        words = ("predict", tmp_path / "fit.json", "--data", saved.parent / "points.csv")
        complaint = one_line_of(*(words if k % 2 else ("certify", tmp_path / "fit.json")))
        assert "fit.json is not a readable result" in complaint


def test_row_20_a_flipped_bit_is_refused_or_means_the_same(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "fit.npz").write_bytes(saved.with_suffix(".npz").read_bytes())
    whole, rng = tm.SolveResult.load(saved).to_json(), np.random.default_rng(0)
    for _ in range(300 if FULL else 40):
        content = bytearray(saved.read_bytes())
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        (tmp_path / "fit.json").write_bytes(bytes(content))
        try:
            found = tm.SolveResult.load(tmp_path / "fit.json")
        except ValueError as error:
            assert "fit.json is not a readable result" in str(error)  # noqa: PT017
        else:
            assert found.to_json() == whole


def test_row_20_a_missing_companion_is_named_and_the_whole_pair_is_certified(
    saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "fit.json").write_bytes(saved.read_bytes())
    assert "fit.npz" in one_line_of("certify", tmp_path / "fit.json")
    assert run("certify", saved, "--json").code == 0
    assert json.loads(saved.read_text(encoding="utf-8"))["arrays"]["file"] == "fit.npz"
