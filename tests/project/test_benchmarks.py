"""Benchmarks at toy size: their routes solve the same problems, and their pages say the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest

import tightmargin as tm
from benchmarks import (
    branch_and_cut,
    certificates,
    conic_forms,
    conic_path,
    conic_translation,
    cut_loop,
    cut_loop_routes,
    dual_loop,
    extended_nu,
    fitted_estimators,
    nu_lp,
    nu_lp_memory,
    nu_lp_routes,
    rsvm,
    sparse_points,
)
from benchmarks.classical_concave import PROBLEMS
from benchmarks.concave import INSTANCES, Instance, measured
from benchmarks.measuring import quiet
from benchmarks.report import OURS, Table, quoted
from tests.support.cbf_reader import read
from tests.support.covering import FULL

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


def test_every_other_route_of_the_certificates_has_their_optimum() -> None:
    X, y = certificates.instance(40, 3)
    for kind in certificates.CLASSES:
        if kind.others:
            found = certificates.ours(kind.build, kind.solver)(X, y).objective
            assert kind.others[certificates.CVXPY](X, y) == pytest.approx(found, rel=1e-4)
    for name, bare in (
        ("QP", certificates.bare_qp(X, y).obj_val),
        ("SOCP", certificates.bare_socp(X, y).obj_val),
        ("LP", sum(certificates.bare_lp(X, y).col_value[4:])),
    ):
        assert bare == pytest.approx(certificates.in_cvxpy(name)(X, y), rel=1e-4)


def test_every_route_of_sparse_points_has_the_same_problem() -> None:
    X, y = sparse_points.instance(40, 3)
    bare = sparse_points.PROOFS[sparse_points.BARE](X, y)
    np.testing.assert_allclose(bare.w, sparse_points.proven(X, y).values["w"], atol=1e-6)
    by_hand = sparse_points.by_highspy(X, y)
    by_hand.run()
    least = tm.solve(tm.rsvm_relaxed(tm.TrainingData(X, y))).objective
    assert by_hand.getInfo().objective_function_value == pytest.approx(least, abs=1e-7)


def test_all_routes_to_the_extended_nu_svc_solve_it() -> None:
    data = branch_and_cut.clouds(30, 3)
    nu = extended_nu.middle(data)
    for route in (extended_nu.by_branch_and_cut, extended_nu.by_hull, branch_and_cut.by_scip):
        assert route(data, nu, "uniform", 20.0) <= extended_nu.TOLERANCE
    scip = tm.solve(tm.extended_nu_svc(data, nu=nu), "scip")
    assert tm.cuts.hull_search(data, nu=nu).objective == pytest.approx(scip.objective, rel=1e-6)


@pytest.mark.parametrize("dense", [False, True])
def test_every_route_to_a_concave_program_finds_the_same_optimum(dense: bool) -> None:
    toy = Instance(2, 8, dense)
    runs = [measured(toy, how, 20.0) for how in ("branch-and-cut", "cutting-plane", "scip")]
    assert all(run is not None and run.finished for run in runs)
    ends = [run.objective for run in runs if run is not None]
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-5)


# --- each benchmark runs -------------------------------------------------------------------------

RUNS: dict[str, tuple[Callable[[], list[Table]], list[list[str]]]] = {
    "nu_lp": (lambda: nu_lp.measure(30, 2, 2), [[*nu_lp_routes.ROUTES]]),
    "cut_loop": (lambda: cut_loop.measure(20, 2, 4, 2, 2), [[*cut_loop_routes.ROUTES]]),
    "dual_loop": (lambda: dual_loop.measure(20, 2, 4, 2), [[*dual_loop.ROUTES]] * 2),
    "conic_forms": (lambda: conic_forms.measure(15, 2, 2), [[*conic_forms.ROUTES]]),
    "conic_translation": (
        lambda: conic_translation.measure(15, 2, 2), [[*conic_translation.ROUTES]],
    ),
    "conic_path": (lambda: conic_path.measure(20, 2, 4, 2), [[*conic_path.ROUTES]]),
    "rsvm": (
        lambda: rsvm.measure(30, 2, 2),
        [[OURS, rsvm.SEGMENTS, rsvm.DECOMPOSITION, rsvm.LIBSVM, rsvm.SOCP.format(count=2)],
         [OURS, rsvm.DECOMPOSITION, rsvm.ONE_BY_ONE]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS if FULL else ["nu_lp", "dual_loop"])
def test_a_benchmark_runs(name: str) -> None:
    measure, routes = RUNS[name]
    tables = measure()
    assert [[line.route for line in one.lines] for one in tables] == routes
    for one in tables:
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
