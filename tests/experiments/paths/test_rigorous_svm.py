"""The rigorous SVM on the command line: solve, certify, predict, path, compare, and refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.inside.experiments import (
    PAPER_RATIOS,
    rsvm_path_figure,
    rsvm_report,
)
from tests.inside.formulations import gram_data, normalise
from tests.references import reference_solutions
from tests.support.command_line import Answer, run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import norm_limit, rsvm_path

DATA = reference_solutions.points("overlapping", 3, n=14)
H = 0.7
BOUNDS = (0.1, 0.7, 0.9)  # the first with all of the smaller class at 1


def least_loss(bound: float, data: TrainingData = DATA) -> float:
    return reference_solutions.least_loss(data, "free", bound).value


# --- solve, certify, predict ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(file: Path) -> dict[str, Path]:
    """A result of each form, of a kernel, and above the limit, by our own methods."""
    bound = f"norm_bound={H}"
    words = {name: [name, "--set", bound] for name in ("rsvm", "rsvm_dual")}
    words["kernel"] = ["rsvm_dual", "--set", bound, "kernel=rbf", "width=0.9"]
    words["sphere"] = ["rsvm", "--set", "norm_bound=2", "normalise=zscore_unit"]
    words["above"] = ["rsvm_dual", "--set", "norm_bound=90"]
    for case, given in words.items():
        answer = run("solve", *given, "--data", file, "--out", file.parent / f"{case}.json")
        assert answer.code == 0, answer.stderr
        assert "tightmargin" in answer.stdout
    return {case: file.parent / f"{case}.json" for case in words}


@pytest.mark.parametrize("case", ["rsvm", "rsvm_dual", "kernel", "sphere", "above"])
def test_prediction_is_the_hyperplane_of_the_optimum(
    case: str, saved: dict[str, Path], file: Path
) -> None:
    answer = run("predict", saved[case], "--data", file, "--json")
    values = np.array(answer.json["decision_values"])
    if case == "kernel":
        data = gram_data(DATA, kernel="rbf", width=0.9)
        loss = reference_solutions.capacity_dual(np.asarray(data.gram), data.y, H, "free")
    elif case in ("sphere", "above"):
        loss = least_loss(2.0, normalise(DATA, "zscore_unit")[0]) if case == "sphere" else None
        loss = least_loss(np.inf) if loss is None else loss
    else:
        expected = reference_solutions.least_loss(DATA, "free", H)
        np.testing.assert_allclose(values, DATA.X @ expected.w + expected.b, atol=2e-5)
        loss = expected.value
    assert np.maximum(0, 1 - DATA.y * values).sum() == pytest.approx(loss, rel=1e-6)


# --- path ----------------------------------------------------------------------------------------


def path(file: Path, *words: str | Path, name: str = "rsvm") -> Answer:
    return run("path", name, "--data", file, *words)


def test_every_row_is_the_optimum_with_its_proof(file: Path) -> None:
    answer = path(file, "--set", "norm_bound=0.7,0.1,0.9", "--json")
    assert (answer.code, answer.stderr) == (0, "")
    rows = answer.json["rows"]
    least = min(rows, key=lambda row: row["vc_bound"])
    assert answer.json["least_vc_bound"] == least["norm_bound"]
    assert [row["norm_bound"] for row in rows] == list(BOUNDS)
    for row in rows:
        expected = least_loss(row["norm_bound"])
        assert row["objective"] == pytest.approx(expected, rel=1e-7)
        assert row["bound"] <= expected * (1 + 1e-8)
        assert row["verdict"] == "CERTIFIED"
        assert row["relative_gap"] <= 1e-8
        assert row["capacity"] == row["norm_bound"] ** 2 / DATA.n
        w, alpha = np.array(row["w"]), np.array(row["alpha"])
        assert np.linalg.norm(w) == pytest.approx(row["norm_bound"])
        assert row["price"] == pytest.approx(-np.linalg.norm(DATA.X.T @ (DATA.y * alpha)))
        assert row["C"] == pytest.approx(row["norm_bound"] / -row["price"])
        assert (row["nu"], row["hull_bound"]) == pytest.approx((alpha.mean(), 2 / alpha.sum()))
        errors = (DATA.y * (DATA.X @ w + row["b"]) <= 0).sum()
        assert (row["errors"], row["error_rate"]) == (errors, errors / DATA.n)
        assert row["mean_hinge"] == pytest.approx(row["objective"] / DATA.n)
        assert row["support_vectors"] == row["free"] + row["at_cap"] == (alpha > 1e-9).sum()
        assert row["b_low"] <= row["b"] <= row["b_high"]
    assert [row["degenerate"] for row in rows] == [True, False, False]


def test_shares_and_the_bound_of_another_form(file: Path) -> None:
    words = ["--set", "capacity=0.01,0.02", "eta=0.1", "vc_form=printed", "--json"]
    document = path(file, *words, name="rsvm_dual").json
    assert document["formulation"] == "rsvm_dual"
    for share, row in zip((0.01, 0.02), document["rows"], strict=True):
        assert row["norm_bound"] == math.sqrt(share * DATA.n)
        radius = np.linalg.norm(DATA.X, axis=1).max()
        h = min((radius * row["norm_bound"]) ** 2, 2) + 1
        q = (h * (1 - math.log(0.1 / 28)) - math.log(0.1 / 4)) / DATA.n
        bound = row["error_rate"] + q * (1 + math.sqrt(1 + 4 * row["error_rate"] / q))
        assert row["vc_bound"] == pytest.approx(bound)


def test_without_a_list_the_paper_chooses_up_to_the_limit(file: Path) -> None:
    document = path(file, "--set", "normalise=zscore_unit", "--json").json
    limit = document["limit"]
    sphere, _ = normalise(DATA, "zscore_unit")
    assert limit["value"] == pytest.approx(norm_limit(sphere).value)
    assert least_loss(limit["value"] * 1.001, sphere) == pytest.approx(
        least_loss(np.inf, sphere), rel=1e-6
    )
    top = limit["value"] ** 2 / DATA.n
    expected = [ratio for ratio in PAPER_RATIOS if ratio < top]
    assert expected
    assert [row["capacity"] for row in document["rows"]] == pytest.approx(expected)
    large = write_csv(file.parent / "large.csv", TrainingData(DATA.X * 1e3, DATA.y))
    shares = [row["norm_bound"] ** 2 for row in path(large, "--json").json["rows"]]
    assert shares == pytest.approx(np.array(PAPER_RATIOS) * norm_limit(DATA).value ** 2 / 1e6)


def test_the_page_does_not_call_a_limit_proven_that_is_not(tmp_path: Path) -> None:
    y = np.where(np.arange(80) < 40, 1.0, -1.0)
    x = np.append(np.linspace(0, 1, 40), np.linspace(1 + 1e-9, 2, 40))
    path = write_csv(tmp_path / "touching.csv", TrainingData(x[:, None], y))
    answer = run("path", "rsvm", "--data", str(path), "--set", "norm_bound=10,60")
    limit = next(line for line in answer.stdout.splitlines() if line.startswith("H_lim"))
    assert "proven to be 38.99999926 at least; no separation found" in limit
    assert limit.endswith("is computed and not proven")


def test_the_picture_draws_loss_errors_c_and_nu() -> None:
    limit = norm_limit(DATA)
    report = rsvm_report(rsvm_path(DATA, (*BOUNDS, 90.0), limit=limit), 0.05, "vapnik")
    figure = rsvm_path_figure(report, "a title")
    losses, costs, shares = figure.axes
    drawn = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    squares = [bound**2 / DATA.n for bound in (*BOUNDS, 90.0)]
    rows = report.path.rows
    wanted = {
        "mean hinge loss E / n": (squares, [row.point.objective / DATA.n for row in rows]),
        "training errors / n": (squares, [row.errors / DATA.n for row in rows]),
        "C": (squares[:3], [maps.C for maps in report.maps[:3]]),
        "nu": (squares, [row.point.alpha.mean() for row in rows]),
    }
    for label, (x, y) in wanted.items():
        assert drawn[label].get_xdata() == pytest.approx(x)
        assert drawn[label].get_ydata() == pytest.approx(y)
    assert losses.get_title() == "a title"
    (zone,) = shares.patches
    assert zone.get_x() + zone.get_width() == pytest.approx(squares[0])
    assert costs.get_yscale() == "log"
