"""Section 6 of Bi & Vapnik 2003: its print, the data it was made of, and our runs beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.svm import SVC

from tests.inside.experiments import (
    DIGITS,
    Curve,
    Measured,
    Rates,
    Run,
    as_run,
    least_cost,
    misfit,
    proven_costs,
    risk_figure,
    split,
)
from tests.inside.experiments import bi_vapnik_figure1 as figure1
from tests.inside.experiments import bi_vapnik_published as published
from tests.inside.experiments import bi_vapnik_table2 as table2
from tests.inside.experiments import bi_vapnik_table3 as table3
from tests.support.command_line import run
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict, rsvm_path

# --- the print -----------------------------------------------------------------------------------


def test_table_2_has_its_144_numbers_and_they_fit_each_other() -> None:
    """D nu l = 2, so that a slip of the pen in D or nu shows; two pairs of the print do not fit."""
    halves = {size: published.table2(size) for size in (200, 1000)}
    assert sum(len(row) for half in halves.values() for row in half.values()) == 144
    for size, half in halves.items():
        assert list(half) == [f"{k / 100:g}" for k in (3, 5, *range(10, 30, 5), *range(30, 90, 10))]
        columns = {name: [float(row[name]) for row in half.values()] for name in half["0.1"]}
        for name, column in columns.items():
            signs = set(np.sign(np.diff(column)))
            if name in ("C", "D"):
                assert signs == {1.0}
            if name in ("R_trn", "nu"):
                assert signs <= {-1.0, 0.0}
        counted = np.array(columns["R_trn"]) * size / 100
        assert counted == pytest.approx(counted.round(), abs=1e-9), "whole training points"
    one, other = table2.contradictions((200, 1000))
    assert one.startswith("l 1000, H^2/l 0.05:")
    assert other.startswith("l 1000, H^2/l 0.7:")
    # Copied once more, by eye, from both ends of rows.
    assert list(halves[200]["0.8"].values()) == ["94", "0", "17.5", "4.50", "5.326", "0.188"]
    assert list(halves[1000]["0.03"].values()) == ["599", "10.8", "13.8", "0.124", "0.345", "0.579"]


@pytest.mark.parametrize(
    ("name", "exchanged", "as_defined"), [("wdbc", 0.1, 0.9), ("adult", 0.3, 6)]
)
def test_the_rates_of_table_3_add_up_with_the_classes_exchanged(
    name: str, exchanged: float, as_defined: float
) -> None:
    assert sum(len(row) for row in published.table3(name).values()) == 49
    splits = table3.Splits(name, (), 0)
    assert misfit(splits, exchanged=True) < exchanged
    assert misfit(splits, exchanged=False) > as_defined


# --- the data ------------------------------------------------------------------------------------


def save_digits(folder: Path, **changed: Any) -> None:
    found = {
        "X_first1000": np.zeros((1000, 784), np.uint8), "y_first1000": np.arange(1000) % 10,
        "X_last10000": np.zeros((10000, 784), np.uint8), "y_last10000": np.zeros(10000, np.uint8),
    } | changed  # fmt: skip
    np.savez(folder / DIGITS, **{name: v for name, v in found.items() if v is not None})


def save_adult(folder: Path, negative: int, count: int) -> None:
    y = np.r_[np.ones(count), np.full(3593, negative)]
    X = np.random.default_rng(0).integers(0, 2, (len(y), 123))
    np.savez(folder / "adult_a4a.npz", X=X, y=y)


OTHERS: list[tuple[Any, str, str]] = [
    (lambda folder: None, "table2", f"a folder without {DIGITS}"),
    (lambda folder: (folder / DIGITS).write_text("x"), "table2", f"{DIGITS}: this is no npz"),
    (lambda folder: save_digits(folder, y_first1000=None), "table2", "no array 'y_first1000'"),
    (lambda folder: save_digits(folder, X_first1000=np.zeros((10, 784))), "table2",
     "must have shapes (1000, 784) and (1000,)"),
    (lambda folder: save_digits(folder, y_last10000=np.full(10000, 10)), "table2",
     "y_last10000 must hold the digits 0 to 9"),
    (lambda folder: save_adult(folder, 0, 1188), "table3-adult", "paper's data are -1 and +1"),
    (lambda folder: save_adult(folder, -1, 1187), "table3-adult",
     "has 1188 points labelled +1 and 3593 labelled -1, this one 1187 and 3593"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "name", "complaint"), OTHERS)
def test_a_folder_without_the_data_of_the_paper_is_refused(
    write: Any, name: str, complaint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIGHTMARGIN_DATA", str(tmp_path))
    write(tmp_path)
    answer = run("reproduce", f"bi-vapnik-{name}", "--out", tmp_path)
    assert answer.code == 2
    assert complaint in answer.complaint


# --- C from losses -------------------------------------------------------------------------------


MEASURED = Measured(
    0.1, 1.0, 5, Rates(1.0, 1.0, 1.0), Rates(1.0, 1.0, 1.0), 1.0, 0.1, 0.5, 1.0, 1.0, 0.0,
    Verdict.CERTIFIED, "segments",
)  # fmt: skip


def costs_of(data: TrainingData, bounds: list[float]) -> tuple[list[Any], list[float]]:
    rows = rsvm_path(data, bounds).rows
    found = [replace(MEASURED, norm_bound=row.norm_bound, objective=row.point.objective,
                     bound=row.point.bound) for row in rows]  # fmt: skip
    return found, [1 / row.point.gamma for row in rows]


def test_proven_costs_are_those_of_a_loss_that_is_known() -> None:
    """x = -1, 1 and a pair of each label at +-1/4: E = 4 + 2 (1 - H) up to H = 1."""
    x = np.array([1.0, -1.0, 0.25, -0.25, -0.25, 0.25])
    data = TrainingData(x[:, None], np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    found, _ = costs_of(data, [0.25, 0.5, 0.75])
    assert [row.objective for row in found] == pytest.approx([5.5, 5.0, 4.5])
    (first, second) = proven_costs(found, smaller=3)
    assert first == pytest.approx((0.25 / 2, 0.25 / 2), rel=1e-6)  # C = H / sqrt(S) and S = 4
    assert second == pytest.approx((0.5 / 2, 0.5 / 2), rel=1e-6)


def test_the_least_cost_is_reached() -> None:
    """Two points -1 and 1: E = 2 - 2 H, sqrt(S) = 2 and C = H / 2, which is H^2 / 2 at H = 1."""
    data = TrainingData(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]))
    _, (cost,) = costs_of(data, [0.999])
    assert cost == pytest.approx(0.999 / 2, rel=1e-9)
    assert least_cost(0.999**2 / 2, 2, 1) == pytest.approx(0.999**2 / 2, rel=1e-12)


# --- our runs beside the print -------------------------------------------------------------------


@pytest.mark.slow("both halves of the table, twenty-four machines of digits")
def test_table_2_is_the_papers(data_folder: Path, tmp_path: Path) -> None:
    """With the nine numbers that a proven optimum does not have."""
    answer = run("reproduce", "bi-vapnik-table2", "--out", tmp_path, "--json")
    assert (answer.code, answer.stderr) == (0, "")
    (table,) = answer.json["reports"][0]["tables"]
    assert (table["compared"], table["equal"]) == (144, 135)
    assert {row["verdict"] for row in table["rows"]} == {"CERTIFIED"}
    assert {
        (row["l"], row["H^2/l"], name): cell["paper"]
        for row in table["rows"]
        for name, cell in row.items()
        if isinstance(cell, dict) and not cell["equal"]
    } == {
        (200, 0.25, "R_tst"): 16.0, (200, 0.3, "R_tst"): 16.0, (200, 0.5, "N_SV"): 100,
        (200, 0.7, "N_SV"): 96, (200, 0.8, "C"): 4.5, (1000, 0.05, "D"): 0.414,
        (1000, 0.5, "D"): 0.89, (1000, 0.6, "C"): 5.19, (1000, 0.7, "nu"): 0.2,
    }  # fmt: skip


@pytest.fixture(scope="module")
def breast_cancer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("wdbc")
    answer = run("reproduce", "bi-vapnik-table3-wdbc", "--out", folder, "--json")
    assert (answer.code, answer.stderr) == (0, "")
    return answer.json["reports"][0]


def test_the_right_half_of_table_3_has_its_medians(breast_cancer: dict[str, Any]) -> None:
    """Medians of 20 other splits, computed by others, are the witness besides the print."""
    others = (0.207, 0.452, 1.25, 2.48, 3.94, 5.96, 8.30)
    (table,) = breast_cancer["tables"]
    for row, other in zip(table["rows"], others, strict=True):
        assert row["verdict"] == "CERTIFIED"
        assert row["C"]["ours"] == pytest.approx(other, rel=0.1)
        assert row["C min"] < row["C"]["ours"] < row["C max"]
        assert row["C from"] < row["C min"]
        assert row["C max"] < row["C to"]
        assert row["C"]["judged"] == (row["H^2/l"] > 0.03)
        assert not row["R_trn"]["judged"]
    first, second = breast_cancer["claims"]
    assert "2.1e-02 is none of any data with 75 points in the smaller class" in first["text"]
    assert "the exponent is a misprint" in second["text"]
    assert first["holds"]
    assert second["holds"]


def test_rates_are_shares_of_their_class() -> None:
    sample, row = split("wdbc", 0), as_run(table3.one_split("wdbc", 0)).rows[2]
    other = SVC(C=row.C, kernel="linear", tol=1e-8).fit(sample.train.X, sample.train.y)
    for data, rates in ((sample.train, row.train), (sample.test, row.test)):
        (right_minus, fp), (fn, right_plus) = confusion_matrix(data.y, other.predict(data.X))
        assert rates.false_positive == pytest.approx(100 * fp / (right_minus + fp))
        assert rates.false_negative == pytest.approx(100 * fn / (right_plus + fn))
        assert rates.errors == pytest.approx(100 * (fp + fn) / data.n)


# --- the picture ---------------------------------------------------------------------------------


def test_the_grid_ends_at_the_last_whole_h_squared_that_matters() -> None:
    assert figure1.grid(100, 90.4815) == [k / 100 for k in range(3, 91)]
    assert figure1.grid(200, 182.28) == [*(k / 100 for k in range(3, 91)), 0.91]
    assert figure1.grid(300, 324.69) == [k / 100 for k in range(3, 101)]


def a_curve(size: int, errors: list[float], losses: list[float]) -> Curve:
    rows = tuple(
        replace(
            MEASURED, ratio=0.1 * (k + 1), objective=loss, bound=loss,
            train=replace(MEASURED.train, errors=error),
            test=replace(MEASURED.test, errors=abs(0.2 - 0.1 * (k + 1))),
        )
        for k, (error, loss) in enumerate(zip(errors, losses, strict=True))
    )  # fmt: skip
    return Curve(size, 90.4, True, Run(rows, False))


@pytest.mark.parametrize(("errors", "losses", "failing"), [
    ([3.0, 2.0, 1.0], [30.0, 20.0, 10.0], []),
    ([3.0, 2.0, 3.0], [30.0, 20.0, 10.0], []),  # one training point more
    ([3.0, 1.0, 3.0], [30.0, 20.0, 10.0], ["the share of training errors"]),
    ([3.0, 2.0, 1.0], [30.0, 20.0, 20.5], ["E falls from every point"]),
])  # fmt: skip
def test_what_the_paper_says_of_the_figure_is_checked(
    errors: list[float], losses: list[float], failing: list[str]
) -> None:
    claims = figure1._claims([a_curve(100, errors, losses)])
    found = [claim.text for claim in claims if not claim.holds]
    assert len(found) == len(failing)
    assert all(text.startswith(start) for text, start in zip(found, failing, strict=True))
    curve = a_curve(100, errors, losses)
    for changed in (replace(curve, limit_squared=91.2), replace(curve, proven=False)):
        texts = " ".join(claim.text for claim in figure1._claims([changed]) if not claim.holds)
        assert "the largest H^2 that matters of the first 100 digits is" in texts


def test_both_panels_draw_every_curve() -> None:
    curves = [a_curve(n, [3.0, 2.0, n / 100], [30.0, 20.0, 10.0]) for n in figure1.FIGURE1_SIZES]
    left, right = risk_figure(curves).axes
    looks = set()
    for one, line in zip(curves, left.get_lines(), strict=True):
        assert line.get_label() == f"$\\ell$ = {one.size}"
        assert line.get_xdata() == pytest.approx([0.1, 0.2, 0.3])
        assert line.get_ydata() == pytest.approx([row.train.errors for row in one.rows])
        looks |= {(line.get_marker(), str(line._dash_pattern))}
    assert len(looks) == 5, "told apart without colour"
    tested, rings = right.get_lines()[::2], right.get_lines()[1::2]
    for line, ring in zip(tested, rings, strict=True):
        assert line.get_ydata() == pytest.approx([0.1, 0.0, 0.1])
        assert ring.get_xdata() == pytest.approx([0.2])
