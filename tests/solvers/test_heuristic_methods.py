"""Heuristics with a bound beside them: the d.c. algorithm and the alternating machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import StopReason, automatic_method, matrix_methods
from tests.inside.solvers import multiclass_methods as class_methods
from tests.references.matrix import matrix_points, projection, rank_one_on_circle
from tests.references.multiclass import class_points, truncated_by_sets
from tests.support.command_line import run, write_csv
from tightmargin.formulations import MulticlassData, matrix_svc_bilinear
from tightmargin.solvers import SolveResult, Status, Verdict, build, solve

CLASSES = class_points(1)
RIDGE, S = 0.05, -0.5
MATRICES = matrix_points(2, n=10, shape=(2, 2))
WORDS: dict[str, Any] = {"ridge": 0.5, "shape": "2x2", "rank": 1}


def truncated(data: MulticlassData = CLASSES) -> pyo.ConcreteModel:
    return build("multiclass_truncated", data, ridge=RIDGE, truncation=S, big_m="derived")


def test_a_d_c_algorithm_that_misses_has_its_gap_to_the_exact_optimum() -> None:
    data = class_points(4, n=7)
    model = build("multiclass_truncated", data, ridge=0.02, truncation=S, big_m="derived")
    result = solve(model, method="dca", options={"starts": 1})
    exact, _ = truncated_by_sets(data, "free", 0.02, 1 - S)
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.bound == pytest.approx(exact, rel=1e-5)
    assert result.objective > 1.02 * exact


def test_the_alternating_machines_end_above_the_exact_rank() -> None:
    model = matrix_svc_bilinear(MATRICES, **WORDS)
    result = solve(model, method="alternating", options={"starts": 4}, seed=1)
    exact = rank_one_on_circle(MATRICES, 2, "free", 0.5)
    assert result.status is Status.FEASIBLE
    assert exact <= result.objective * (1 + 1e-6)
    assert result.objective == pytest.approx(exact, rel=0.1)
    relaxed = projection(MATRICES, (2, 2), "free", 0.5, 1)
    assert result.bound == pytest.approx(relaxed, rel=1e-5)
    assert result.certificate.bound_method.startswith("matrix_svc_projection: weak duality")
    B = result.values["w"].reshape(2, 2)
    assert abs(np.linalg.det(B)) <= 1e-12 * np.abs(B).max() ** 2
    loss = np.maximum(0, 1 - MATRICES.y * (MATRICES.X @ B.ravel() + result.values["b"])).sum()
    assert result.objective == pytest.approx(loss + 0.25 * (B**2).sum(), rel=1e-9)
    np.testing.assert_allclose([pyo.value(v) for v in model.w.values()], B.ravel())


def test_the_bound_proves_the_optimum_where_the_relaxation_is_exact() -> None:
    """A rank that does not bind leaves the projection SDP the problem itself."""
    full = matrix_svc_bilinear(MATRICES, **(WORDS | {"rank": 2}))
    result = solve(full, method="alternating", options={"starts": 1})
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.CERTIFIED)


def test_limits_and_interruptions_keep_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    result = solve(truncated(), method="dca", options={"starts": 400}, time_limit=1e-9)
    assert result.status is Status.FEASIBLE
    assert result.certificate.facts["starts"] < 400
    asked: list[int] = []
    bilinear = matrix_svc_bilinear(MATRICES, **WORDS)
    for module, name, model, method, changes in (  # the second while a point is bounded
        (class_methods, "truncated_dca", truncated(), "dca", {"interrupted": True}),
        (class_methods, "truncated_search", truncated(), "dca",
         {"stop": StopReason.INTERRUPTED, "bound": 0.0}),
        (matrix_methods, "matrix_alternating", bilinear, "alternating",
         {"stop": StopReason.INTERRUPTED}),
    ):  # fmt: skip
        honest = getattr(module, name)

        def stopped(*args: Any, honest: Any = honest, changes: Any = changes, **words: Any) -> Any:
            return replace(honest(*args, **words), **changes)

        with monkeypatch.context() as patch:
            patch.setattr(module, name, stopped)
            patch.setattr(matrix_methods, "solve", lambda *a, **k: asked.append(1))
            found = solve(model, method=method, options={"starts": 1})
        assert (found.status, asked) == (Status.INTERRUPTED, [])
        assert found.objective is not None


def test_a_heuristic_is_never_chosen_for_the_user() -> None:
    """Nor a search where it would take long."""
    rng = np.random.default_rng(0)
    many = MulticlassData(rng.standard_normal((250, 2)), np.arange(250) % 3)
    large = build("multiclass_truncated", many, ridge=RIDGE, truncation=S, big_m="derived")
    assert automatic_method(large.origin) is None
    for model in (truncated(), matrix_svc_bilinear(MATRICES, **WORDS)):
        found = automatic_method(model.origin)
        assert found is not None
        assert found[0].name in ("truncated-search", "matrix-search")


def test_a_truncated_search_out_of_time_keeps_its_point_and_a_bound() -> None:
    rng = np.random.default_rng(0)
    data = MulticlassData(rng.standard_normal((80, 3)), np.arange(80) % 3)  # labels of chance
    model = build("multiclass_truncated", data, ridge=0.02, truncation=S, big_m="derived")
    result = solve(model, method="truncated-search", time_limit=0.2)
    assert result.status is Status.FEASIBLE
    assert result.message.startswith("time limit: the gap is")
    assert 0 < result.bound < result.objective
    relaxed = build("multiclass_truncated_relaxed", data, ridge=0.02, truncation=S, big_m=1e4)
    assert (solve(relaxed).objective or 0) <= result.objective + 1e-9


CASES = {
    "alternating": ("matrix_svc_bilinear", ("ridge=0.5", "shape=2x2", "rank=1")),
    "sgd": ("soft_margin_svc", ("ridge=0.05", "intercept=none")),
}


@pytest.mark.parametrize("method", CASES)
def test_saved_heuristics_say_what_is_proven(method: str, tmp_path: Path) -> None:
    (name, settings), out = CASES[method], tmp_path / "fit.json"
    data = write_csv(tmp_path / "matrices.csv", MATRICES)
    words = ["--method", method, "--seed", "5", "--set", *settings, "--out", out]
    answer = run("solve", name, "--data", data, *words)
    assert answer.code == 1
    assert f"{name}: NOT_CERTIFIED, the proven gap is" in answer.stderr
    assert f"engine               {method}" in answer.stdout
    result = SolveResult.load(out)
    assert (result.seed, result.certificate.facts["engine"]) == (5, method)
    again = run("certify", out, "--json")
    assert again.code == 1
    assert all(number["confirmed"] for number in again.json["numbers"].values())
    predicted = run("predict", out, "--data", data, "--json")
    assert (predicted.code, len(predicted.json["labels"])) == (0, result.data["n"])
