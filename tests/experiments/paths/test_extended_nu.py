"""The path command: its numbers against witnesses, its files, refusals and exit codes."""

from __future__ import annotations

import csv
import inspect
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.cuts import nu_path as path_module
from tests.inside.experiments import ARRAYS
from tests.inside.solvers import SCHEMA
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.formulations import TrainingData

DATA = reference_solutions.points("overlapping", 3, n=10)
N = 10
NUS = (0.9, 0.6, 0.4, 0.2, 0.1)  # nu_bar is 0.464, and the CVaR constant up to 0.2
FIVE: TrainingData = cloud(4, 30, 5)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "train.csv", DATA)


def path(file: Path, *words: str | Path, nus: tuple[float, ...] = NUS) -> Any:
    listed = ",".join(map(repr, nus))
    return run("path", "extended_nu_svc", "--data", file, "--set", f"nu={listed}", *words)


def risk(nu: float) -> float:
    caps = np.full(N, 1 / N)
    if nu > tm.theory.nu_range(DATA).nu_bar:
        return reference_solutions.nu_risk_in_ball(DATA, "free", nu, caps)
    return reference_solutions.nu_risk_on_circle(DATA, "free", nu, caps).value


@pytest.fixture(scope="module")
def documents(file: Path) -> dict[str, Any]:
    folder = file.parent
    files = ("--csv", folder / "t.csv", "--out", folder / "t.json", "--plot", folder / "t.png")
    answer = path(file, *files, "--json", nus=NUS[::-1])
    assert answer.code == 0, answer.stderr
    return {"json": answer.json, "stderr": answer.stderr, "folder": folder}


def test_every_row_is_the_global_optimum_and_proven(documents: dict[str, Any]) -> None:
    rows = documents["json"]["rows"]
    assert tuple(row["nu"] for row in rows) == NUS
    for row in rows:
        expected = risk(row["nu"])
        assert row["objective"] == pytest.approx(expected, rel=2e-6)
        assert row["cvar"] == pytest.approx(expected / row["nu"], rel=2e-6)
        assert row["bound"] <= expected + 1e-7
        assert row["verdict"] == "CERTIFIED"
        assert row["norm_multiplier"] == pytest.approx(-N * expected / 2**0.5, rel=2e-6)
        scores = DATA.y * (DATA.X @ row["w"] + row["b"])
        assert row["errors"] == (scores <= 0).sum()
        assert row["gap"] == pytest.approx(max(0.0, row["objective"] - row["bound"]))
    assert [row["side"] for row in rows] == [1, 1, -1, -1, -1]
    assert [row["constant"] for row in rows] == [False, False, False, True, True]


def test_the_document_has_its_shape(documents: dict[str, Any]) -> None:
    document = documents["json"]
    assert (document["schema"], document["command"]) == (SCHEMA, "path")
    assert document["formulation"] == "extended_nu_svc"
    assert document["parameters"] == {"class_balance": "uniform", "intercept": "free"}
    found = tm.theory.nu_range(DATA)
    assert document["range"]["nu_bar"] == pytest.approx(found.nu_bar)
    low, high = document["range"]["nu_bar_bounds"]
    assert low - 1e-12 <= found.nu_bar <= high + 1e-9
    assert document["range"]["constant_until"] == pytest.approx(2 / N)
    assert document["data"]["sha256"] == DATA.sha256
    assert (document["not_reached"], document["interrupted"]) == ([], False)
    saved = json.loads((documents["folder"] / "t.json").read_text(encoding="utf-8"))
    assert saved == document
    assert documents["stderr"] == ""


def test_the_files_hold_the_same_rows(documents: dict[str, Any]) -> None:
    with (documents["folder"] / "t.csv").open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    for written, row in zip(table, documents["json"]["rows"], strict=True):
        assert set(written) == set(row) - set(ARRAYS)
        assert float(written["objective"]) == row["objective"]
        assert written["how"] == row["how"]
    assert (documents["folder"] / "t.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_marks_nu_bar_and_the_constant_zone(file: Path) -> None:
    answer = path(file)
    assert answer.code == 0
    assert answer.stdout.count("CERTIFIED") == len(NUS)
    assert "nu_bar 0.464175, proven between 0.464175" in answer.stdout
    assert "the CVaR is the same for all nu up to 0.2" in answer.stdout
    marked = [line.split()[0] for line in answer.stdout.splitlines() if " c " in line[:10]]
    assert marked == ["0.2", "0.1"]


@pytest.mark.parametrize("method", ["branch-and-cut", "hull", "cutting-plane", "scip"])
def test_every_method_finds_the_same(method: str, file: Path) -> None:
    answer = path(file, "--method", method, "--json", nus=(0.4,))
    assert answer.json["rows"][0]["objective"] == pytest.approx(risk(0.4), rel=2e-6)
    assert answer.json["method"] == method
    # What SCIP says of its bound is no proof.
    assert answer.json["rows"][0]["verdict"] == (
        "SOLVER_BOUND" if method == "scip" else "CERTIFIED"
    )
    assert answer.code == (1 if method == "scip" else 0)


def test_a_setting_of_the_weights_and_one_nu_are_taken(file: Path) -> None:
    answer = path(file, "class_balance=balanced", "intercept=none", "--json", nus=(0.3,))
    costs = np.where(DATA.y > 0, 0.5 / DATA.n_pos, 0.5 / (N - DATA.n_pos))
    expected = reference_solutions.nu_risk_on_circle(DATA, "none", 0.3, costs).value
    assert answer.json["rows"][0]["objective"] == pytest.approx(expected, rel=1e-6)


def test_a_value_that_is_not_proven_is_1_with_a_line(tmp_path: Path) -> None:
    file, nu = write_csv(tmp_path / "five.csv", FIVE), below_nu_bar(FIVE, 0.3)
    answer = path(file, "--time-limit", "0.000001", nus=(nu,))
    assert answer.code == 1
    (line,) = answer.stderr.splitlines()
    assert "NOT_CERTIFIED" in line
    assert "time_limit" in line


@pytest.mark.parametrize(("after", "kept"), [(1, 1), (2, 2)])
def test_ctrl_c_keeps_the_rows_that_are_finished(
    after: int, kept: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits, visit = itertools.count(), path_module._Path.visit

    def interrupted(self: Any, nu: float) -> None:
        if next(visits) >= after:
            raise KeyboardInterrupt
        visit(self, nu)

    monkeypatch.setattr(path_module._Path, "visit", interrupted)
    out = tmp_path / "t.json"
    answer = path(file, "--out", out, "--json")
    assert answer.code == 130
    assert len(answer.json["rows"]) == kept
    assert len(answer.json["not_reached"]) == len(NUS) - kept
    assert answer.json["interrupted"]
    assert f"interrupted; kept {kept} rows" in answer.stderr
    assert json.loads(out.read_text(encoding="utf-8")) == answer.json


def test_ctrl_c_before_the_first_row_is_130_too(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any, nu: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(path_module._Path, "visit", interrupted)
    answer = path(file)
    assert (answer.code, answer.stdout) == (130, "")


def test_a_search_that_ctrl_c_ends_keeps_its_row(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = path_module._Path.visit

    def stopped(self: Any, nu: float) -> None:
        visit(self, nu)
        if self.rows[-1].side < 0:
            self.rows[-1] = path_module.replace(self.rows[-1], stop="interrupted")

    monkeypatch.setattr(path_module._Path, "visit", stopped)
    answer = path(file, "--json")
    assert answer.code == 130
    assert [row["nu"] for row in answer.json["rows"]] == [0.9, 0.6, 0.4]
    assert answer.json["not_reached"] == [0.2, 0.1]


REFUSED = {
    "another entry": (["c_svc", "--set", "nu=0.3"], "only extended_nu_svc has a path"),
    "no entry": (["extended_nu_svm", "--set", "nu=0.3"], "did you mean"),
    "no nu": (["extended_nu_svc", "--set", "intercept=free"], "the list of nu"),
    "a word": (["extended_nu_svc", "--set", "nu=0.3,high"], "'high'"),
    "above": (["extended_nu_svc", "--set", "nu=0.3,1.2"], "1.2"),
    "scale": (["extended_nu_svc", "--set", "nu=0.3", "scale=perez_cruz"], "leave scale out"),
    "method": (["extended_nu_svc", "--set", "nu=0.3", "--method", "local"], "branch-and-cut"),
    "key": (["extended_nu_svc", "--set", "nu=0.3", "C=1"], "has no hyperparameter 'C'"),
    "kernel": (["extended_nu_svc", "--set", "nu=0.3", "kernel=rbf", "width=1"], "kpca=full"),
    "limit": (["extended_nu_svc", "--set", "nu=0.3", "--time-limit", "-1"], "time_limit"),
    "out": (["extended_nu_svc", "--set", "nu=0.3", "--out", "t.pkl"], ".json"),
    "csv": (["extended_nu_svc", "--set", "nu=0.3", "--csv", "t.txt"], ".csv"),
    "plot": (["extended_nu_svc", "--set", "nu=0.3", "--plot", "t.doc"], ".png"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_a_path_is_refused_in_one_line(case: str, file: Path) -> None:
    words, expected = REFUSED[case]
    answer = run("path", *words, "--data", file)
    assert answer.code == 2
    assert expected in answer.complaint


def test_the_searches_are_at_the_front_door() -> None:
    for name in ("branch_and_cut", "cutting_plane", "extended_nu_local", "hull_search"):
        assert name in tm.search.__all__
        assert inspect.isfunction(getattr(tm.search, name))
    assert inspect.isfunction(tm.paths.extended_nu_path)


# --- liver disorders -----------------------------------------------------------------------------


def test_on_liver_disorders_lambda_changes_its_sign(data_folder: Path, tmp_path: Path) -> None:
    """Perez-Cruz et al., Table 3: between nu = 0.71 and 0.76, near 0.7175; nu_min 0.7190."""
    data = str(data_folder / "liver_disorders.csv")
    read = ["--data", data, "--label", "selector", "--positive", "1"]
    words = [*read, "--set", "nu=0.71,0.76", "normalise=zscore"]
    answer = run("path", "extended_nu_svc", *words, "--json")
    assert answer.code == 0, answer.stderr
    high, low = answer.json["rows"]
    assert (high["nu"], low["nu"]) == (0.76, 0.71)
    assert low["norm_multiplier"] < 0 < high["norm_multiplier"]
    assert (low["verdict"], high["verdict"]) == ("CERTIFIED", "CERTIFIED")
    share = low["norm_multiplier"] / (low["norm_multiplier"] - high["norm_multiplier"])
    assert 0.71 + 0.05 * share == pytest.approx(0.7175, abs=0.002)
    assert answer.json["range"]["nu_bar"] == pytest.approx(0.7190, abs=5e-5)
    assert answer.json["range"]["nu_max"] == pytest.approx(0.8406, abs=5e-5)
    out = tmp_path / "fit.json"
    settings = ["--set", "nu=0.71", "normalise=zscore"]
    one = run("solve", "extended_nu_svc", *read, *settings, "--out", out, "--json")
    assert one.code == 0
    assert one.json["objective"] == pytest.approx(low["objective"], rel=2e-6)
    assert one.json["certificate"]["facts"]["engine"] == "branch_and_cut"
    assert run("certify", out).code == 0
    predicted = run("predict", out, *read, "--json")
    assert predicted.code == 0
    assert predicted.json["errors"] == one.json["certificate"]["facts"]["errors"] == low["errors"]
