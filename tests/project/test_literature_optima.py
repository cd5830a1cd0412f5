"""Optima of the literature: the synthetic instances of Brooks with published bounds.

min 1/2 ||w||^2 + C #violations with a free intercept: penalty = 2 C and twice the objective.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.inside.experiments import load
from tests.inside.solvers import zero_one_enumeration, zero_one_incumbent
from tests.support.covering import FULL
from tightmargin.formulations import zero_one_relaxed
from tightmargin.solvers import build, solve

SMALL = [f"n60d{d}ATj{j}" for d in (2, 5, 10) for j in range(5)]


@pytest.fixture
def published(data_folder: Path) -> dict[str, tuple[float, float]]:
    """Best published bounds at C = 1, by instance."""
    with (data_folder / "hard_margin_loss" / "published_bounds.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if float(row["C"]) == 1]
    return {
        row["instance"]: (
            max(float(row["baseline_lower"]), float(row["benders_lower"])),
            min(float(row["baseline_upper"]), float(row["benders_upper"])),
        )
        for row in rows
    }


@pytest.mark.parametrize("name", SMALL if FULL else SMALL[::5])
def test_bound_published_optimum_incumbent(
    name: str, data_folder: Path, published: dict[str, tuple[float, float]]
) -> None:
    data = load(str(data_folder / "hard_margin_loss" / name))
    assert (data.n, data.d) == (60, int(name.partition("d")[2].partition("A")[0]))
    lower, upper = published[name]
    if data.d == 2:
        found = zero_one_enumeration(data, penalty=2.0, intercept="free")
        assert found.objective / 2 == pytest.approx(upper, rel=1e-6)
        assert found.bound <= found.objective
    sdp = solve(build("conic_sdp", data, penalty=2.0, intercept="free", intercept_bound="derived"))
    assert sdp.certificate.unproven == ""
    incumbent = zero_one_incumbent(data, penalty=2.0, intercept="free")
    relaxed = solve(
        zero_one_relaxed(
            data, penalty=2.0, big_m="derived", intercept="free",
            incumbent=(incumbent.w, incumbent.b),
        )
    )  # fmt: skip
    # With |b| bounded only by its derived value the SDP is worth next to nothing, and still valid.
    assert sdp.bound is not None
    assert sdp.bound / 2 <= upper * (1 + 1e-6)
    assert relaxed.bound is not None
    assert 0 < relaxed.bound / 2 <= upper * (1 + 1e-6)
    assert incumbent.objective / 2 >= lower * (1 - 1e-6)
