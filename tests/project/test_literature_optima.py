"""Optima of the literature: the synthetic instances of Brooks with published bounds.

min 1/2 ||w||^2 + C #violations with a free intercept: penalty = 2 C and twice the objective.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.conftest import folder_of_real_data
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


# --- the folder of real data ---------------------------------------------------------------------


def test_without_real_data_tests_skip_unless_it_must_be_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TIGHTMARGIN_REQUIRE_DATA", raising=False)
    for missing in ("", "  ", str(tmp_path / "gone")):
        monkeypatch.setenv("TIGHTMARGIN_DATA", missing)
        with pytest.raises(pytest.skip.Exception, match="names no folder of real data"):
            folder_of_real_data()
    monkeypatch.setenv("TIGHTMARGIN_REQUIRE_DATA", "1")
    with pytest.raises(pytest.fail.Exception, match="TIGHTMARGIN_REQUIRE_DATA is set"):
        folder_of_real_data()
    monkeypatch.setenv("TIGHTMARGIN_DATA", str(tmp_path))
    assert folder_of_real_data() == tmp_path
