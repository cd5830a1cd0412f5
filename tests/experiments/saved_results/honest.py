"""One saved result of every entry, solved on the command line once for all tests of saved files."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

from tests.cases import CASES
from tests.support.command_line import run, write_csv

# What the file keeps of an array of words is its numbers; of others the words themselves.
OTHER_WORDS: dict[str, dict[str, Any]] = {
    "hinge_power_svc": {"exponent": "4/3"},
    "extended_nu_svc_linearised": {"w_ref": "mean_difference"},
    "extended_nu_svc_linearised_dual": {"w_ref": "mean_difference"},
    "zero_one_relaxed": {"big_m": "derived"},
    "zero_one_hinge": {"big_m": "derived"},
    "ramp_l1_relaxed": {"C": 0.7, "big_m": "derived"},
    "conic_fixed": {"strengthening": "scaled"},
    "conic_sdp_rank_one": {"partners": 1},
    "extended_robust_svc": {"mu": "1/6"},
    "matrix_svc_full": {"ridge": 0.1},
}
SETTINGS = {name: case.spelled(**OTHER_WORDS.get(name, {})) for name, case in CASES.items()}
# Proven by a tree of branch and bound alone, which only a proof file has.
BY_TREE = ("ramp_l1_big_m",)


def solved(folder: Path, name: str, *words: str, data: Any = None, method: str = "auto") -> Path:
    """Write the data, solve, and save beside it."""
    file = write_csv(folder / "train.csv", CASES[name].data if data is None else data)
    out = folder / "fit.json"
    settings = [*SETTINGS[name].split(), *words]
    given = ["--set", *settings] if settings else []
    answer = run("solve", name, "--data", file, *given, "--method", method, "--out", out)
    assert answer.code == 0, answer.stderr
    return out


FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def kept(name: str, method: str = "auto") -> Path:
    """The saved result of an entry on z-scores, which nobody may write to."""
    folder = Path(FOLDER.name) / f"{name}-{method}"
    folder.mkdir(exist_ok=True)
    return solved(folder, name, "normalise=zscore", method=method)
