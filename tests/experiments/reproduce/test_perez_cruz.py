"""The experiments of Perez-Cruz et al. 2003: the print, stand-ins and data, our runs beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.svm import SVC, NuSVC

from tests.inside.experiments import (
    Cell,
    clusters,
    figure4,
    print_laws,
    section6_error,
    solved,
    table3_notes,
)
from tests.inside.experiments import RegistryEffort as Effort
from tests.inside.experiments import perez_cruz_figure2 as figure2
from tests.inside.experiments import perez_cruz_figure3 as figure3
from tests.inside.experiments import perez_cruz_published as published
from tests.inside.experiments import perez_cruz_samples as samples
from tests.inside.experiments import perez_cruz_sharp_dual as sharp
from tests.inside.experiments import perez_cruz_table1 as table1
from tests.inside.experiments import perez_cruz_table3 as table3
from tests.inside.experiments import sharp_dual_sharp_dual as sharp_dual
from tests.inside.formulations import gram_data
from tests.support.command_line import Answer, run
from tightmargin.formulations import GramData
from tightmargin.solvers import Verdict

SQRT2 = math.sqrt(2)

# --- the print -----------------------------------------------------------------------------------


def test_laws_that_a_slip_of_the_pen_breaks() -> None:
    shares = [row[name] for row in published.table1().values() for name in published.SHARES]
    assert table1.points_behind(shares)[:2] == [28, 56]
    assert table1.points_behind([*shares, "0.01"], 60) == []
    # 2 lambda = n nu rho with -0.54 and -1.79: n = 60.3 in the middle.
    hard = published.figure3()["0.01"]
    assert print_laws.sizes_without_slack("0.01", hard["rho"], hard["lambda"]) == [60, 61]
    assert print_laws.broken_tangents(published.figure3(), 60) == []
    assert table3_notes.crossing({0.3: 1.0, 0.1: -1.0, 0.5: 2.0}) == pytest.approx(0.2)
    rows = deepcopy(published.figure3())
    rows["0.51"]["lambda"] = "4.60"
    assert print_laws.broken_tangents(rows, 60)
    liver = deepcopy(published.table3())
    assert print_laws.above_its_slack(liver, 276) == ["0.01"]
    liver["0.01"]["lambda"] = "-1.55"
    assert print_laws.above_its_slack(liver, 276) == []
    assert print_laws.broken_tangents(liver, 276) == []


# --- the distribution of section 6 ---------------------------------------------------------------


def test_the_error_of_the_bayes_rule_is_the_printed_one() -> None:
    exact = section6_error.bayes_error()
    assert Cell(exact, published.BAYES).equal
    on_grid = section6_error.error_of(section6_error.bayes_score(section6_error.grid()))
    assert on_grid == pytest.approx(exact, abs=1e-4)
    data = clusters(7, 400_000)
    wrong = np.mean(data.y * section6_error.bayes_score(data.X) <= 0)
    assert exact == pytest.approx(wrong, abs=4 * math.sqrt(0.2 * 0.8 / data.n))


@pytest.mark.parametrize(
    ("w", "level"),
    [((1.0, 1.0), 0.0), ((1.0, 0.0), 1.01), ((0.0, -3.0), 2.5), ((-1.0, 5.0), 1.01)],
)
def test_the_error_of_a_line_is_known(w: tuple[float, float], level: float) -> None:
    """<w, x> is normal, of deviation ||w||: the signs of all its means and tails are known."""
    scores, length = section6_error.grid() @ np.array(w) - level, math.hypot(*w)
    missed = np.mean([norm.cdf((level - 2 * part) / length) for part in w])
    expected = (missed + norm.sf(level / length)) / 2
    assert section6_error.error_of(scores) == pytest.approx(expected, abs=1e-4)


# --- one sample ----------------------------------------------------------------------------------

# CVaR by nu of the sample of seed 0, computed by others with facets of the hull, SCIP and Gurobi.
CVAR = {0.95: -0.8333, 0.69: -0.3751, 0.51: -0.1119, 0.33: 0.0964, 0.01: 0.611391}


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    return solved.solved(clusters(0, 60), [*CVAR, 0.25], local=True)


def test_lambda_is_that_of_known_optima(first: dict[str, Any]) -> None:
    assert first["nu_bar"] == pytest.approx(0.420123, abs=1e-6)
    low, high = first["nu_bar_bounds"]
    assert low - 1e-9 <= first["nu_bar"] <= high + 1e-9
    for row, (nu, cvar) in zip(first["rows"], CVAR.items(), strict=False):
        assert row["verdict"] == Verdict.CERTIFIED
        assert row["lambda"] == pytest.approx(-60 * nu * cvar / SQRT2, abs=60 * nu * 1e-4)
        assert row["sign"] == row["side"] == (1 if cvar < 0 else -1)
    assert first["rows"][-1]["rho"] == pytest.approx(0.170, abs=5e-4)


SAMPLES = 5


@pytest.fixture(scope="module")
def five() -> list[dict[str, Any]]:
    """The first samples of Figure 3."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figure3, "BLOCK", SAMPLES)
        return figure3.block(0)


@pytest.mark.slow("five samples of Figure 3, with the paper's own search beside ours")
def test_the_papers_own_search_ends_above_the_proven_optimum_at_times(
    five: list[dict[str, Any]],
) -> None:
    """It is a local search; none ends below what is proven."""
    excess = [row["local excess"] for one in five for row in one["rows"] if row["side"] < 0]
    assert min(excess) >= -1e-6
    assert max(excess) > solved.SAME
    for one in five:
        for row in one["rows"]:
            if row["side"] < 0:
                assert row["local lambda"] <= row["lambda"] + 1e-6
                assert 50 < row["local steps"] < 1000, "a tenth of the way each time"
            else:
                assert "local lambda" not in row


def test_ctrl_c_leaves_no_half_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    data = clusters(0, 60)
    whole = solved.extended_nu_path(data, [0.6, 0.5])
    for cut in (
        replace(whole, rows=whole.rows[:1], not_reached=(0.5,)),
        replace(whole, rows=(whole.rows[0], replace(whole.rows[1], stop="interrupted"))),
    ):
        monkeypatch.setattr(solved, "extended_nu_path", lambda *_, cut=cut: cut)
        with pytest.raises(KeyboardInterrupt):
            solved.solved(data, [0.6, 0.5])


# --- Table 1 and Figure 2 ------------------------------------------------------------------------


def test_table_1_of_a_sample_is_that_of_another_solver() -> None:
    data = samples.circles_and_disks(3)
    rows = table1.one_sample(3)
    gram = np.exp(-((data.X[:, None] - data.X[None]) ** 2).sum(axis=2))
    for row in (rows[1], rows[4], rows[7]):
        other = NuSVC(nu=row["nu"], kernel="precomputed", tol=1e-9).fit(gram, data.y)
        a = other.dual_coef_[0]
        square = a @ gram[np.ix_(other.support_, other.support_)] @ a
        assert row[published.MARGIN] == pytest.approx(1 / math.sqrt(square), rel=1e-5)
        assert row["verdict"] == Verdict.CERTIFIED
        scores = gram @ np.array(row["a"]) + row["b"]
        assert scores == pytest.approx(row["rho"] * other.decision_function(gram), abs=1e-6)
        below = data.y * scores < row["rho"] - 1e-6 * np.abs(scores).max()
        assert row["errors"] == pytest.approx(np.mean(below))


@pytest.fixture
def reproduce(tmp_path: Path) -> Callable[[str], Answer]:
    return lambda name: run("reproduce", f"perez-cruz-{name}", "--quick", "--out", tmp_path)


@pytest.mark.slow("a sample of each, by the searches of the paper, with its picture")
def test_the_quick_table_1_and_figure_2_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "QUICK", 1)
    monkeypatch.setattr(figure2, "QUICK", 1)
    for name in ("table1", "figure2"):
        words = ("--quick", "--json", "--out", tmp_path)
        answer = run("reproduce", f"perez-cruz-{name}", *words)
        assert (answer.code, answer.stderr) == (0, "")
        (report,) = answer.json["reports"]
        assert len(report["claims"]) == 4
        assert {row["verdict"] for row in report["tables"][0]["rows"]} == {"CERTIFIED"}
        assert (tmp_path / f"perez-cruz-{name}.png").stat().st_size > 10_000


def test_a_print_that_breaks_the_nu_property_is_told(
    reproduce: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = deepcopy(published.table1())
    wrong["0.3"]["errors"] = "0.32"
    monkeypatch.setattr(table1, "table1", lambda: wrong)
    monkeypatch.setattr(table1, "figure1", lambda sample: None)
    monkeypatch.setattr(table1, "QUICK", 1)
    answer = reproduce("table1")
    assert answer.code == 1
    assert "does not hold: in the print errors <= nu <= SVs in every row" in answer.stderr


def test_the_panels_of_figure_2_are_machines_of_others() -> None:
    ((separable, near),) = figure2.seeds(1)
    found = figure2.three_panels(separable, near)
    far, data = samples.two_clouds(separable, samples.FAR), samples.two_clouds(near, samples.NEAR)
    hard = SVC(kernel="linear", C=1e6, tol=1e-8).fit(far.X, far.y)
    assert found["a"]["rho"] == pytest.approx(SQRT2 / np.linalg.norm(hard.coef_), rel=1e-5)
    assert set(found["a"]["vectors"]) == set(hard.support_)
    soft = NuSVC(nu=found["b"]["nu"], kernel="linear", tol=1e-9).fit(data.X, data.y)
    assert set(found["b"]["vectors"]) == set(soft.support_)
    assert found["c"]["slack"] == 0
    margin = data.y * (data.X @ np.array(found["c"]["w"]) + found["c"]["b"])
    assert found["c"]["rho"] == pytest.approx(margin.min())


def test_samples_for_figures_2_and_4_are_those_that_the_text_allows() -> None:
    for separable, near in figure2.seeds(3):
        far = samples.two_clouds(separable, samples.FAR)
        assert SVC(kernel="linear", C=1e6).fit(far.X, far.y).score(far.X, far.y) == 1
        assert 14 < 60 * figure2.nu_range(samples.two_clouds(near, samples.NEAR)).nu_bar < 17
    found = figure4.seeds(2)
    assert found == sorted(set(found))
    assert all(0.51 < figure4.nu_range(clusters(seed, 60)).nu_bar < 0.69 for seed in found)


# --- multipliers of nu-SVC to rounding ------------------------------------------------------------


def kernel_of(seed: int) -> GramData:
    return gram_data(samples.circles_and_disks(seed), kernel="rbf", width=samples.WIDTH)


@pytest.mark.parametrize("nu", [0.1, 0.8])
def test_a_start_with_a_solvers_errors_leads_to_the_one_solution(nu: float) -> None:
    kernel, rng = kernel_of(3), np.random.default_rng(0)
    Q, cap = kernel.gram * np.outer(kernel.y, kernel.y), 1 / kernel.n
    machine = NuSVC(nu=nu, kernel="precomputed", tol=1e-10).fit(kernel.gram, kernel.y)
    libsvm = np.zeros(kernel.n)
    libsvm[machine.support_] = np.abs(machine.dual_coef_[0])
    libsvm *= nu / libsvm.sum()
    known = sharp_dual(kernel.gram, kernel.y, cap, nu, libsvm)
    assert known == pytest.approx(libsvm, abs=1e-5)
    assert known.sum() == pytest.approx(nu)
    assert known @ kernel.y == pytest.approx(0, abs=1e-12)
    assert known.min() == 0
    assert known.max() <= cap
    for sign in (1.0, -1.0):
        own, slope = kernel.y == sign, Q @ known
        assert slope[own & (known > 0)].max() <= slope[own & (known < cap)].min() + 1e-12
    for noise in (1e-6, 1e-4, 1e-2):
        start = np.clip(libsvm + noise * cap * rng.standard_normal(kernel.n), 0, cap)
        assert sharp_dual(kernel.gram, kernel.y, cap, nu, start) == pytest.approx(known, abs=1e-10)


def test_without_moves_a_wrong_split_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharp, "MOVES", 1)
    kernel = kernel_of(3)
    with pytest.raises(RuntimeError, match=r"nu = 0\.5 are not found to rounding"):
        sharp_dual(kernel.gram, kernel.y, 1 / kernel.n, 0.5, np.zeros(kernel.n))


# --- Figures 3 and 4 -----------------------------------------------------------------------------


def test_a_range_that_does_not_hold_the_print_is_told(
    five: list[dict[str, Any]],
    reproduce: Callable[[str], Answer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five samples do not reach as far as the paper's; everything else holds for them."""
    monkeypatch.setattr(figure3, "block", lambda start: deepcopy(five))
    monkeypatch.setattr(figure3, "QUICK", SAMPLES)
    answer = reproduce("figure3")
    assert answer.code == 1
    (line,) = answer.stderr.splitlines()
    assert "the 8 printed numbers lie within the range of our 5 samples, but for" in line
    assert answer.stdout.count("holds:") == 7


# --- Table 3 and Figure 5 ------------------------------------------------------------------------


def as_printed(seed: int, fold: int) -> dict[str, Any]:
    """A part of the liver data whose numbers are the paper's, but for lambda at nu = 0.01."""
    print_ = {float(nu): row for nu, row in published.table3().items()}
    rows = []
    local = {"local rho": 0.0, "local lambda": 0.0, "local excess": 0.0}
    for nu in table3.NUS:
        near = print_[min(print_, key=lambda known: abs(known - nu))]
        side = 1 if nu > 0.75 else -1
        rows.append({
            "nu": nu, "rho": float(near["rho"]), "SVs": float(near["fSVs"]), "wrong": 0.3,
            "lambda": -1.55 if nu == 0.01 else float(near["lambda"]), "side": side, "sign": side,
            "test": 0.325 if side > 0 else 0.293, "nu_property": True, "gap": 1e-7,
            "verdict": "CERTIFIED",
        } | (local if side < 0 else {}))  # fmt: skip
    return {"seed": seed, "n": 276, "nu_bar": 0.7175, "rows": rows}  # fmt: skip


def liver(patched: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]) -> None:
    """Give the quick Table 3 changed parts for its runs."""

    def part(seed: int, fold: int) -> dict[str, Any]:
        found = as_printed(seed, fold)
        change(found)
        return found

    patched.setattr(table3, "liver", lambda: None)
    patched.setattr(table3, "files_of", lambda specs: [])
    patched.setattr(table3, "one_split", part)


def test_table_3_as_printed_agrees(
    reproduce: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    liver(monkeypatch, lambda part: None)
    answer = reproduce("table3")
    assert (answer.code, answer.stderr) == (0, "")
    assert "goes with no optimum" in answer.stdout
    assert "not known why" in answer.stdout
    assert "0 of 27 judged numbers" in answer.stdout  # 30 less two fSVs and one lambda
    assert "0 of 2 judged numbers" in answer.stdout


def changed(nu: float, **values: Any) -> Callable[[dict[str, Any]], None]:
    def change(part: dict[str, Any]) -> None:
        (row,) = [row for row in part["rows"] if row["nu"] == nu]
        row.update(values)

    return change


@pytest.mark.parametrize(("change", "complaint"), [
    (changed(0.41, rho=0.25), "nu 0.41, rho: paper 0.15, ours 0.2500, and 0.05 is allowed"),
    (changed(0.16, SVs=0.2), "nu 0.16, fSVs: paper .167, ours 0.20000, and 0.012 is allowed"),
    (changed(0.76, test=0.28), "nu 0.76, test: paper 0.325, ours 0.28000, and 0.035 is allowed"),
    (changed(0.31, verdict="NOT_CERTIFIED"), "nu 0.31: NOT_CERTIFIED"),
    (changed(0.71, sign=0), "does not hold: lambda > 0 above nu_bar"),
    (changed(0.71, **{"lambda": 0.1}), "does not hold: the mean of lambda has the printed sign"),
    (changed(0.31, rho=-0.01), "does not hold: the mean of rho is negative up to nu = 0.26"),
    (changed(0.21, nu_property=False), "does not hold: errors <= nu <= SVs in all 85 runs"),
])  # fmt: skip
def test_what_disagrees_in_table_3_is_told(
    change: Callable[[dict[str, Any]], None], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    liver(monkeypatch, change)
    monkeypatch.setattr(table3, "figure5", lambda *_: None)
    complaints = table3.run(Effort(quick=True)).complaints
    assert any(complaint.removeprefix("does not hold: ") in line for line in complaints)
