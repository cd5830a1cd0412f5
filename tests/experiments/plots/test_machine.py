"""Pictures of fitted machines and of whole paths, and the options of solve that draw."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.inside.experiments import (
    clusters,
    conic_path_figure,
    fit,
    machine_figure,
    rsvm_path_figure,
    rsvm_report,
)
from tests.support.command_line import run, write_csv
from tests.support.figure_checks import faults_of, lines_of, series
from tightmargin.formulations import MulticlassData, TrainingData
from tightmargin.solvers import conic_path, rsvm_path

DATA = clusters(0, 30)
LONG = "c_svc on " + ",".join(f"option{k}=value{k}" for k in range(12))
NU_BELOW = 0.2  # of nu_bar = 0.42 and above: rho is negative


def test_the_level_of_an_extended_nu_svc_below_nu_bar_is_negative() -> None:
    machine = fit("extended_nu_svc", DATA, nu=NU_BELOW)
    rho = float(machine.result.values["rho"])
    assert rho < 0
    (axes,) = machine_figure(machine, DATA).axes
    levels = sorted(lines_of(axes))
    assert levels == pytest.approx([rho, 0.0, -rho])
    ringed = series(axes)["support vector"].get_xydata()
    margins = DATA.y * machine.decision_values(DATA.X)
    assert len(ringed) == np.sum(margins <= rho + 1e-6)
    assert len(ringed) >= NU_BELOW * DATA.n, "nu is a lower bound of their share"


def test_a_score_that_is_the_same_everywhere_is_named() -> None:
    data = TrainingData([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]], [1, 1, -1, -1])
    (axes,) = machine_figure(fit("c_svc", data, C=1.0), data, "title").axes
    assert axes.get_title().startswith("title\nno boundary: the score is ")
    assert lines_of(axes) == {}
    assert faults_of(axes.figure) == []


def test_several_classes_get_regions_with_their_names() -> None:
    iris = load_iris()
    data = MulticlassData(iris.data[:, 2:], iris.target, classes=tuple(iris.target_names))
    machine = fit("multiclass_hinge", data, ridge=0.01)
    figure = machine_figure(machine, data, "iris")
    (axes,) = figure.axes
    assert {"setosa", "versicolor", "virginica"} <= set(series(axes))
    (filled,) = [drawn for drawn in axes.collections if drawn.filled]
    setosa = filled.get_paths()[0]
    assert setosa.contains_points(data.X[iris.target == 0]).all()
    assert not setosa.contains_points(data.X[iris.target != 0]).any()
    assert faults_of(figure) == []


def test_names_are_drawn_as_they_are_spelt() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 5, axis=0) + rng.normal(size=(15, 2))
    names = ("$x^$", "_left", "cost in $")
    data = MulticlassData(points, np.repeat([0, 1, 2], 5), classes=names)
    machine = fit("multiclass_hinge", data, ridge=0.1)
    figure = machine_figure(machine, data, "multiclass_hinge on $a$b^_$/points.csv")
    figure.savefig(io.BytesIO())
    assert not figure.axes[0].title.get_parse_math()
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == [r"\$x^\$", "class _left", r"cost in \$"]


# --- the command ----------------------------------------------------------------------------------


def test_solve_draws_the_machine_and_how_its_bound_rose(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "points.csv", clusters(1, 10))
    machine, bounds = tmp_path / "machine.svg", tmp_path / "bounds.png"
    words = ["--set", "penalty=1", "--set", "big_m=derived", "--method", "conflict-search"]
    files = ["--plot", str(machine), "--plot-bounds", str(bounds)]
    answer = run("solve", "zero_one_big_m", "--data", str(data), *words, *files)
    assert answer.code == 0
    assert machine.read_bytes().startswith(b"<?xml")
    assert bounds.read_bytes().startswith(b"\x89PNG")


def test_a_solve_without_a_trace_says_so_after_its_result(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "points.csv", DATA)
    file = tmp_path / "b.png"
    words = ["--data", str(data), "--set", "C=1", "--plot-bounds", str(file)]
    answer = run("solve", "c_svc", *words)
    assert answer.code == 2
    assert "CERTIFIED" in answer.stdout
    assert "the result of c_svc by clarabel holds no trace of its bound" in answer.stderr
    assert not file.exists()


# --- every other picture is readable --------------------------------------------------------------


def test_one_value_of_a_conic_path_is_seen_with_its_bound_and_errors() -> None:
    path = conic_path(DATA, penalties=(1.0,))
    figure = conic_path_figure(path)
    for axes in figure.axes:
        assert all(line.get_marker() not in ("None", "") for line in axes.lines)
    (row,) = path.rows
    low, high = figure.axes[0].get_ylim()
    assert low == 0
    assert row.objective < high < 2 * row.objective
    assert faults_of(figure) == []
    assert faults_of(conic_path_figure(conic_path(DATA, budgets=(0.1, 0.4)), LONG)) == []
    report = rsvm_report(rsvm_path(DATA, (0.01, 1.0, 2.0)), 0.05, "vapnik")
    assert faults_of(rsvm_path_figure(report, LONG)) == []
