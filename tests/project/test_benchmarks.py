"""Benchmarks at toy size: their routes solve the same problems, and their pages say the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest

from benchmarks import (
    claim,
    conic_forms,
    conic_translation,
    cut_loop,
    cut_loop_routes,
    dual_loop,
    fitted_estimators,
    nu_lp,
    nu_lp_memory,
    nu_lp_routes,
    zero_one,
)
from benchmarks.classical_concave import PROBLEMS
from benchmarks.concave import INSTANCES
from benchmarks.measuring import quiet
from benchmarks.report import OURS, quoted
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import WAYS, page, quote, summary
from tests.support.cbf_reader import read

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _nothing_printed() -> Iterator[None]:
    with quiet():
        yield


def written(page: str) -> str:
    return (ROOT / "benchmarks" / page).read_text(encoding="utf-8")


# --- the routes of a benchmark lead to the same problem ------------------------------------------


def test_every_route_to_the_nu_lp_has_its_optimum() -> None:
    X, y, w_ref = nu_lp_routes.instance(40, 3)
    optima = {}
    for name, route in nu_lp_routes.ROUTES.items():
        found = route(X, y, w_ref)
        if isinstance(found, highspy.Highs):
            found.run()
            optima[name] = found.getInfo().objective_function_value
        else:
            optima[name] = found[0].solve(cp.HIGHS)
    assert len(optima) > 2
    assert list(optima.values()) == pytest.approx([optima[OURS]] * len(optima), abs=1e-8)


def test_every_route_through_the_cut_loop_has_its_optima() -> None:
    X, y, cuts = cut_loop_routes.instance(30, 3, 5)
    loops, optima = cut_loop_routes.ROUTES | dual_loop.ROUTES, []
    for route in loops.values():
        (first, w), step = route(X, y)
        optima.append([first])
        for g, side in cuts:
            assert g @ w > side, "a cut removes the point before it"
            optimum, w = step(g, side)
            optima[-1].append(optimum)
            assert g @ w <= side + 1e-7
    np.testing.assert_allclose(optima, [optima[0]] * len(loops), atol=1e-8)


def test_every_form_of_the_sdp_and_every_route_to_it_has_its_optimum(tmp_path: Path) -> None:
    X, y = conic_translation.instance(15, 2)
    problem, _ = conic_translation.cvxpy(X, y)
    expected = pytest.approx(problem.solve(cp.SCS, eps=1e-9), rel=1e-6)
    for name, route in conic_forms.ROUTES.items():
        sign = -1 if name == conic_forms.DUAL else 1
        assert sign * route(X, y).objective == expected, name
    with conic_translation.fusion_model(X, y) as fusion:
        fusion.writeTask(str(tmp_path / "model.cbf"))
    assert read(tmp_path / "model.cbf").solved().objective == expected


def test_a_benchmark_runs() -> None:
    (one,) = nu_lp.measure(30, 2, 2)
    assert [line.route for line in one.lines] == [*nu_lp_routes.ROUTES]
    assert all(number > 0 for line in one.lines for number in line.numbers)
    assert one.title in one.markdown()


# --- tables and pages ----------------------------------------------------------------------------


def test_the_pages_hold_every_route_every_instance_and_every_data_set() -> None:
    found = quoted(written("RESULTS.md"))
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert quoted(guide) == found, "run make bench"
    for route in {**nu_lp.ASKED, **nu_lp_memory.ASKED, **cut_loop.ASKED}:
        assert route == OURS or f"| {route} |" in found, f"{route}: run make bench"
    _, classical = written("CONCAVE.md").split("Problems of Floudas & Pardalos")
    assert all(f"| {problem.optimum:g} |" in classical for problem in PROBLEMS)
    assert {i.dimension for i in INSTANCES} == {2, 3, 4, 5, 6, 7, 8, 10}
    fits = written("FITTED_ESTIMATORS.md")
    assert all(fits.count(f"| {name} |") == 2 for name in fitted_estimators.DATA)
    assert f"| {' | '.join(['data', 'n', 'd', *fitted_estimators.NAMES])} |" in fits


def test_kept_runs_contradict_nobody_and_the_page_and_the_guide_show_them(
    data_folder: Path,
) -> None:
    runs, table = kept(STORE, 0.0), zero_one.published(data_folder / "hard_margin_loss")
    assert not missing(runs, WAYS)
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert quote(text, summary(runs, table)) == text
    body = page(runs, table, claim.kept_or_measured()).rpartition("\n\n")[0]
    assert PAGE.read_text(encoding="utf-8").startswith(body), "all but the machine"
    for (instance, C, way), run in runs.items():
        assert run.lower_bound <= runs[instance, C, "numpy"].objective * (1 + 1e-9), way
        if (instance, C) in table:
            known = table[instance, C]
            assert run.lower_bound <= known.upper * (1 + 1e-7)
            assert run.objective >= known.lower * (1 - 1e-7)
