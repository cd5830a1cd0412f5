"""Row 8: a bound on the hyperplane that holds the optimum back is flagged in the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tightmargin as tm
from formulations.big_m import derive_intercept_bound
from tests.brute_force import zero_one_optima
from tests.command_line import run, write_csv
from tests.witness import points

DATA = points("overlapping", 0, n=8)
FREE = tm.solve(tm.c_svc(DATA, C=1.0))


@pytest.mark.parametrize(
    ("build", "price", "bound"),
    [
        (tm.conic_sdp, {"penalty": 1.0}, 2.0),
        (tm.conic_sdp, {"penalty": 1.0}, 9.0),
        (tm.conic_sdp_dual, {"penalty": 1.0}, 2.0),
        (tm.conic_sdp_literal, {"penalty": 1.0}, 2.0),
        (tm.conic_sdp_budget, {"budget": 0.05}, 0.5),
        (tm.conic_sdp_budget, {"budget": 0.05}, 2.0),
    ],
)
def test_row_08_an_active_intercept_bound_is_flagged(
    build: Callable[..., Any], price: dict[str, float], bound: float
) -> None:
    """W_bb costs nothing, so it goes as far as it may, and the value is that of the bound."""
    model = build(DATA, **price, intercept="free", intercept_bound=bound)
    result = tm.solve(model)
    assert result.certificate.facts["active_bounds"] == ["intercept_bound"]
    assert "intercept_bound: a bound is active" in result.message
    model.intercept_bound.set_value(1.5 * bound)
    assert abs(tm.solve(model).objective) < abs(result.objective) - 1e-3, "it depends on it"


def test_row_08_an_unproven_intercept_bound_is_no_bound() -> None:
    """One below the proven value cuts off; the table leaves the row out."""
    needed = derive_intercept_bound(DATA, penalty=1.0)
    table = tm.compare(
        DATA,
        [("conic_sdp", {"intercept_bound": size}) for size in (0.5 * needed, 1.001 * needed)],
        parameters={"penalty": 1.0, "big_m": "derived", "intercept": "free"},
    )
    small, enough = table.rows
    assert small.bound is None
    assert "below the proven value" in small.remark
    assert enough.bound is not None
    assert enough.bound <= zero_one_optima(DATA, [1.0], "free")[0] + 1e-6


def test_row_08_a_bound_so_wide_that_the_budget_is_never_spent_is_not_active() -> None:
    """The relaxation is then worth nothing: its optimum is 0."""
    model = tm.conic_sdp_budget(DATA, budget=0.25, intercept="free", intercept_bound=9.0)
    result = tm.solve(model)
    assert result.objective == pytest.approx(0.0, abs=1e-6)
    assert "active_bounds" not in result.certificate.facts


def test_row_08_without_a_free_intercept_there_is_nothing_to_flag() -> None:
    result = tm.solve(tm.conic_sdp(DATA, penalty=1.0, intercept="penalised"))
    assert "active_bounds" not in result.certificate.facts
    assert "a bound is active" not in result.message


@pytest.mark.parametrize("where", ["b", "w[0]"])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_row_08_a_box_put_on_the_hyperplane_is_flagged_when_active(where: str, end: str) -> None:
    """The box the other way round, and one out of reach, are not."""
    best = float(FREE.values["b"] if where == "b" else FREE.values["w"][0])
    for room, active in ((-0.2, True), (0.2, False)):
        model = tm.c_svc(DATA, C=1.0)
        x = model.find_component(where)
        if end == "upper":
            x.setub(best + room)
        else:
            x.setlb(best - room)
        result = tm.solve(model)
        assert (where in result.certificate.facts.get("active_bounds", [])) == active
        assert (result.objective > FREE.objective + 1e-6) == active
        assert (f"{where}: a bound is active" in result.message) == active


def test_row_08_bounds_that_the_builder_proves_are_not_flagged() -> None:
    """Keeping both points costs w = 1, which is the bound sqrt(2 penalty) of giving up on both."""
    model = tm.zero_one_bilinear(
        tm.TrainingData([[1.0], [-1.0]], [1, -1]), penalty=0.5, intercept="none"
    )
    for z in model.z.values():
        z.fix(0)
    result = tm.solve(model)
    assert result.values["w"][0] == pytest.approx(1.0, abs=1e-6)
    assert model.w[0].ub == pytest.approx(1.0)
    assert "active_bounds" not in result.certificate.facts
    model.w[0].setub(1.0)
    assert tm.solve(model).certificate.facts["active_bounds"] == ["w[0]"], "one of the user's is"


def test_row_08_the_command_line_prints_it(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "points.csv", DATA)
    words = ("--set", "penalty=1", "intercept=free", "intercept_bound=3", "--json")
    answer = run("solve", "conic_sdp", "--data", file, *words)
    assert answer.json["certificate"]["facts"]["active_bounds"] == ["intercept_bound"]
