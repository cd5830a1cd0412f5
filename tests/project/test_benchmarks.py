"""Benchmarks at toy size: their routes solve the same problems, and their tables say the truth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pytest
from scipy.optimize import linprog

import tightmargin as tm
from benchmarks import (
    certificates,
    conic_forms,
    conic_path,
    conic_translation,
    cut_loop,
    cut_loop_routes,
    dual_loop,
    nu_lp,
    nu_lp_memory,
    nu_lp_routes,
    rsvm,
    sparse_points,
)
from benchmarks.measuring import MEGABYTE, in_turns, quiet, stop_before_run
from benchmarks.report import OURS, Line, Table, quoted, results, summary, with_quotation
from tests.inside.experiments import outlier_data
from tests.inside.solvers import Limits, run_conic
from tests.support.cbf_reader import read
from tightmargin.solvers import Verdict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _nothing_printed() -> Iterator[None]:
    with quiet():
        yield


# --- the routes of a benchmark lead to the same problem ------------------------------------------


def nu_lp_optimum(X: np.ndarray, y: np.ndarray, w_ref: np.ndarray, nu: float) -> float:
    """Optimum by scipy from a matrix spelled out here, in the order w, b, rho, xi."""
    n, d = X.shape
    margin = np.hstack([-y[:, None] * X, -y[:, None], np.ones((n, 1)), -np.eye(n)])
    cost = np.concatenate([np.zeros(d + 1), [-nu], np.full(n, 1 / n)])
    norm = np.concatenate([w_ref, np.zeros(n + 2)])[None]
    bounds = [(None, None)] * (d + 2) + [(0, None)] * n
    return linprog(cost, margin, np.zeros(n), norm, [1.0], bounds, method="highs-ipm").fun


@pytest.mark.parametrize("name", nu_lp_routes.ROUTES)
def test_every_route_to_the_nu_lp_has_its_optimum(name: str) -> None:
    X, y, w_ref = nu_lp_routes.instance(40, 3)
    found = nu_lp_routes.ROUTES[name](X, y, w_ref)
    if isinstance(found, highspy.Highs):
        found.run()
        optimum = found.getInfo().objective_function_value
    else:
        problem, compiled = found
        assert compiled[0]["A"].shape[0] >= 40
        optimum = problem.solve(cp.HIGHS)
    expected = nu_lp_optimum(X, y, w_ref, nu_lp_routes.NU)
    assert optimum == pytest.approx(expected, abs=1e-8)


def test_cuts_remove_the_solution_before_them() -> None:
    X, y, cuts = cut_loop_routes.instance(30, 3, 6)
    (before, w), step = cut_loop_routes.by_hand(X, y)
    for g, side in cuts:
        assert g @ w > side + 1e-4 * abs(side)
        optimum, w = step(g, side)
        assert g @ w <= side + 1e-7
        assert optimum >= before - 1e-9
        before = optimum


def cut_loop_optimum(X: np.ndarray, y: np.ndarray, cuts: list[tuple[np.ndarray, float]]) -> float:
    """Optimum by scipy with the rows of all cuts at once."""
    n, d = X.shape
    margin = np.hstack([-y[:, None] * X, -y[:, None], np.ones((n, 1)), -np.eye(n)])
    added = [np.concatenate([g, np.zeros(n + 2)]) for g, _ in cuts]
    sides = np.concatenate([np.zeros(n), [side for _, side in cuts]])
    cost = np.concatenate([np.zeros(d + 1), [-cut_loop_routes.NU], np.full(n, 1 / n)])
    bounds = [(-1, 1)] * d + [(None, None)] * 2 + [(0, None)] * n
    rows = np.vstack([margin, *added])
    return linprog(cost, rows, sides, bounds=bounds, method="highs-ipm").fun


LOOPS = cut_loop_routes.ROUTES | dual_loop.ROUTES


@pytest.mark.parametrize("name", LOOPS)
def test_every_route_through_the_cut_loop_has_its_optima(name: str) -> None:
    X, y, cuts = cut_loop_routes.instance(30, 3, 5)
    (first, _), step = LOOPS[name](X, y)
    assert first == pytest.approx(cut_loop_optimum(X, y, []), abs=1e-8)
    for k, (g, side) in enumerate(cuts):
        optimum, w = step(g, side)
        assert optimum == pytest.approx(cut_loop_optimum(X, y, cuts[: k + 1]), abs=1e-8)
        assert w.shape == (3,)
        assert g @ w <= side + 1e-7


def test_every_route_to_the_conic_program_has_its_optimum(tmp_path: Path) -> None:
    X, y = conic_translation.instance(15, 2)
    problem, _ = conic_translation.cvxpy(X, y)
    expected = problem.solve(cp.SCS, eps=1e-9)
    model = tm.conic_sdp(tm.TrainingData(X, y), penalty=conic_translation.PENALTY)
    assert tm.solve(model, "clarabel").objective == pytest.approx(expected, rel=1e-6)
    with conic_translation.fusion_model(X, y) as fusion:
        fusion.writeTask(str(tmp_path / "model.cbf"))
    by_hand = read(tmp_path / "model.cbf").solved().objective
    assert by_hand == pytest.approx(expected, rel=1e-6)


# --- each benchmark runs -------------------------------------------------------------------------


def assert_complete(tables: list[Table], routes: list[str]) -> None:
    for table in tables:
        assert [line.route for line in table.lines] == routes
        assert all(number > 0 for line in table.lines for number in line.numbers)
        assert table.title in table.markdown()


def test_nu_lp_runs() -> None:
    assert_complete(nu_lp.measure(30, 2, 2), list(nu_lp_routes.ROUTES))


@pytest.mark.slow("REASON")
def test_nu_lp_memory_runs_one_process_a_route() -> None:
    """HiGHS alone keeps 12 bytes for each of n (d + 3) coefficients."""
    n, d = 20_000, 20
    tables = nu_lp_memory.measure(n, d, asked={OURS: {}})
    assert_complete(tables, [OURS])
    assert tables[0].ours > 12 * n * (d + 3) / MEGABYTE


def test_cut_loop_runs() -> None:
    assert_complete(cut_loop.measure(20, 2, 4, 2, 2), list(cut_loop_routes.ROUTES))


def test_dual_loop_runs() -> None:
    tables = dual_loop.measure(20, 2, 4, 2)
    assert_complete(tables, list(dual_loop.ROUTES))
    assert len(tables) == 2


def test_every_form_of_the_sdp_has_its_optimum() -> None:
    X, y = conic_forms.instance(15, 2)
    problem, _ = conic_translation.cvxpy(X, y)
    expected = problem.solve(cp.SCS, eps=1e-9)
    for name, route in conic_forms.ROUTES.items():
        sign = -1 if name == conic_forms.DUAL else 1
        assert sign * route(X, y).objective == pytest.approx(expected, rel=1e-6), name


def test_conic_forms_run() -> None:
    assert_complete(conic_forms.measure(15, 2, 2), list(conic_forms.ROUTES))


def test_conic_translation_runs() -> None:
    assert_complete(conic_translation.measure(15, 2, 2), list(conic_translation.ROUTES))


def test_conic_path_runs() -> None:
    assert_complete(conic_path.measure(20, 2, 4, 2), list(conic_path.ROUTES))


def test_certificates_are_measured_beside_routes_with_their_optimum() -> None:
    X, y = certificates.instance(40, 3)
    classes = tuple(replace(kind, sizes=((40, 3, 1),)) for kind in certificates.CLASSES)
    compared = [kind for kind in classes if kind.others]
    *tables, share = certificates.measure(1, classes)
    assert_complete(tables[:1], [OURS, *compared[0].others])
    assert [[line.route for line in table.lines] for table in tables] == [
        [OURS, *kind.others] for kind in compared
    ]
    assert len(share.lines[0].numbers) == len(classes)
    assert min(share.lines[0].numbers) > 0
    for kind in compared:
        found = certificates.ours(kind.build, kind.solver)(X, y).objective
        assert kind.others[certificates.CVXPY](X, y) == pytest.approx(found, rel=1e-4)
    assert certificates.bare_qp(X, y).obj_val == pytest.approx(
        certificates.in_cvxpy("QP")(X, y), rel=1e-4
    )
    assert certificates.bare_socp(X, y).obj_val == pytest.approx(
        certificates.in_cvxpy("SOCP")(X, y), rel=1e-4
    )
    loss = sum(certificates.bare_lp(X, y).col_value[4:])
    assert loss == pytest.approx(certificates.in_cvxpy("LP")(X, y), rel=1e-4)


def test_a_path_that_differs_from_the_solver_is_no_benchmark() -> None:
    data = outlier_data("clustered", n=20, d=2, sigma=0.5, seed=7)
    path = tm.paths.conic_path(data, penalties=[1.0])
    claim = run_conic(conic_path.dual_form(data, 1.0), 0, Limits(threads=1))
    conic_path.refuse_difference(path, [claim])
    with pytest.raises(RuntimeError, match="at penalty 1 the path has"):
        conic_path.refuse_difference(path, [replace(claim, objective=claim.objective * 1.001)])
    unproven = replace(path, not_reached=(2.0,))
    with pytest.raises(RuntimeError, match="not certified"):
        conic_path.certified(unproven)


def test_every_route_of_sparse_points_has_the_same_problem() -> None:
    X, y = sparse_points.instance(40, 3)
    found = sparse_points.proven(X, y)
    bare = sparse_points.PROOFS[sparse_points.BARE](X, y)
    np.testing.assert_allclose(bare.w, found.values["w"], atol=1e-6)
    by_hand = sparse_points.by_highspy(X, y)
    by_hand.run()
    least = tm.solve(tm.rsvm_relaxed(tm.TrainingData(X, y))).objective
    assert by_hand.getInfo().objective_function_value == pytest.approx(least, abs=1e-7)


def test_rsvm_runs() -> None:
    kernel, linear = rsvm.measure(30, 2, 2)
    socp = rsvm.SOCP.format(count=2)
    assert_complete([kernel], [OURS, rsvm.SEGMENTS, rsvm.DECOMPOSITION, rsvm.LIBSVM, socp])
    assert_complete([linear], [OURS, rsvm.DECOMPOSITION, rsvm.ONE_BY_ONE])
    asked = {line.route: line.at_least for line in kernel.lines}
    assert (asked[rsvm.SEGMENTS], asked[socp]) == (2.0, 20.0)


def test_a_loss_that_differs_from_the_proven_one_is_no_benchmark() -> None:
    data = rsvm.linear_problem(30, 2)
    bound = rsvm.spread(data, 2)[0]
    loss = tm.solve(tm.rsvm(data, norm_bound=bound)).objective
    assert loss is not None
    rsvm.refuse_difference(data, [bound], [loss])
    for wrong in (loss * 1.001, float("nan")):
        with pytest.raises(RuntimeError, match="a route"):
            rsvm.refuse_difference(data, [bound], [wrong])
    with pytest.raises(RuntimeError, match="not certified"):
        rsvm.refuse_unproven([Verdict.CERTIFIED, Verdict.NOT_CERTIFIED])


# --- measuring -----------------------------------------------------------------------------------


def test_routes_take_turns_after_a_warm_up_and_slow_ones_run_less() -> None:
    calls: list[tuple[str, int]] = []

    def route(name: str) -> Any:
        return lambda size: calls.append((name, size))

    routes = {name: route(name) for name in "ab"}
    numbers = in_turns(routes, (7,), (1,), 3, at_most={"b": 1})
    assert calls == [("a", 1), ("b", 1), ("a", 7), ("b", 7), ("a", 7), ("a", 7)]
    assert {name: len(runs) for name, runs in numbers.items()} == {"a": 3, "b": 1}


def test_the_clock_of_highs_stops_before_its_run_and_highs_is_left_as_it_was() -> None:
    run = highspy.Highs.run
    with stop_before_run() as found:
        h = highspy.Highs()
        h.run()
        pytest.fail("HiGHS ran")
    assert found == [h]
    assert highspy.Highs.run is run
    with pytest.raises(RuntimeError, match="never asked"), stop_before_run():
        pass
    assert highspy.Highs.run is run


PEAK = """
import numpy as np
from benchmarks.measuring import peak_growth

def work():
    np.ones(60 * 2**20 // 8).sum()
    np.ones(30 * 2**20 // 8).sum()

print(peak_growth(work))
"""


def test_peak_memory_counts_what_was_freed_on_the_way() -> None:
    """In a process of its own: a heap that was large before does not grow."""
    answer = subprocess.run(
        [sys.executable, "-c", PEAK], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert 55 < float(answer.stdout) < 85


# --- tables --------------------------------------------------------------------------------------


def table(*lines: Line) -> Table:
    return Table("a thing", "s", (Line(OURS, (2.0, 1.0, 9.0)), *lines))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (Line("theirs", (1.0,), at_most=2.0), "at most 2 x | 2 x |"),
        (Line("theirs", (0.99,), at_most=2.0), "at most 2 x | 2.02 x, **missed** |"),
        (Line("theirs", (8.0,), at_least=4.0), "4 x faster | 4 x faster |"),
        (Line("theirs", (7.9,), at_least=4.0), "4 x faster | 3.95 x faster, **missed** |"),
    ],
)
def test_a_table_says_which_targets_were_missed(line: Line, words: str) -> None:
    """Ours has the median 2."""
    made = table(line)
    assert words in made.markdown()
    assert words in summary([made])


def test_a_route_without_a_target_is_in_the_table_and_not_in_the_summary() -> None:
    made = table(Line("curious", (6.0,)))
    assert "| curious | 6 | 1 |  | 3 x faster |" in made.markdown()
    assert "curious" not in summary([made])


def test_the_readme_takes_the_summary_over() -> None:
    text = results([table(Line("theirs", (8.0,), at_least=4.0))])
    readme = "before\n<!-- speed: begin -->\nold\n<!-- speed: end -->\nafter"
    written = with_quotation(readme, quoted(text))
    assert quoted(written) == quoted(text)
    assert written.startswith("before\n")
    assert written.endswith("\nafter")
    with pytest.raises(ValueError, match="no <!-- speed"):
        quoted("nothing here")


def test_the_guide_quotes_the_results() -> None:
    found = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert quoted(guide) == quoted(found), "run make bench"


def test_the_results_hold_every_target() -> None:
    found = quoted((ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8"))
    for route in {**nu_lp.ASKED, **nu_lp_memory.ASKED, **cut_loop.ASKED}:
        if route != OURS:
            assert f"| {route} |" in found, f"{route}: run make bench"
