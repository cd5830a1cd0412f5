"""The table of default fits at toy size, and that the written one is of today's data sets."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmarks.fitted_estimators import DATA, ESTIMATORS, NAMES, line, text

ROOT = Path(__file__).resolve().parents[2]


def toy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * [1.0, 1.0, 500.0]
    return X, (X[:, 0] + rng.standard_normal(40) > 0).astype(int)


def test_a_line_has_a_proven_gap_of_every_estimator() -> None:
    found = line("toy", *toy())
    assert [fit.estimator for fit in found.fits] == [name.partition(",")[0] for name in NAMES]
    assert len(found.fits) == len(ESTIMATORS)
    for fit, cell in zip(found.fits, found.cells()[3:], strict=True):
        assert fit.bound <= fit.objective
        assert cell.endswith(" *") == fit.stopped_early
        assert re.fullmatch(r"[\d.e]+ (%|times)( \*)?", cell)
    written = text([found], [found])
    assert written.count("| toy | 40 | 3 |") == 2


def test_the_written_table_has_every_data_set_twice() -> None:
    written = (ROOT / "benchmarks" / "FITTED_ESTIMATORS.md").read_text(encoding="utf-8")
    for name in DATA:
        assert written.count(f"| {name} |") == 2
    assert f"| {' | '.join(['data', 'n', 'd', *NAMES])} |" in written
