"""Optima that others have published or proven, by every search of the 0-1 loss."""

from __future__ import annotations

from pathlib import Path

import pytest

import tightmargin as tm
from tests.inside.experiments import load
from tests.inside.solvers import (
    ramp_enumeration,
    zero_one_incumbent,
)
from tightmargin.solvers import cone_search

GAP = 1e-6


def test_the_clustered_instance_of_another_solver() -> None:
    """39.981219: optimum and bound of Gurobi 13.0.3 on Cepeda, Gomez & Han's instance."""
    data = tm.data.outlier_data("clustered", n=100, d=3, sigma=0.5, seed=7)
    point = zero_one_incumbent(data, penalty=1.0, intercept="penalised")
    assert point.objective == pytest.approx(39.981219, abs=1e-6)
    found = cone_search(data, penalty=1.0, intercept="penalised")
    assert found.objective == pytest.approx(39.981219, rel=GAP)
    assert found.bound == pytest.approx(39.981219, rel=2 * GAP)


def test_the_ramp_loss_of_the_design_notes(data_folder: Path) -> None:
    """n60d2ATj0 at C = 1 is 20.733906, by Gurobi in 57,900 nodes."""
    data = load(str(data_folder / "hard_margin_loss" / "n60d2ATj0"))
    found = ramp_enumeration(data, C=1.0, intercept="free")
    assert found.objective == pytest.approx(20.733906, abs=5e-7)
    assert found.bound == pytest.approx(20.733906, abs=5e-7)
