"""Lee 2020, run: its statements with their verdicts, the tables and pictures of its machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.svm import SVC

from tests.inside.experiments import (
    BINARY,
    FAILS,
    HOLDS,
    LINEAR,
    MATRIX,
    MISPRINT,
    NOT_CHECKABLE,
    Finding,
    Report,
    Statement,
    chosen,
    finding,
    linear,
    matrix,
    matrix_runs,
    multiclass,
    multiclass_runs,
    probabilities,
    probability_runs,
    save,
    sgd,
    sgd_runs,
    soft_margin,
    statement_claim,
    statement_table,
    verdict_of,
)
from tests.inside.experiments import PUBLISHED_CLASSES as CLASSES
from tests.inside.experiments import RegistryEffort as Effort
from tests.inside.experiments import report_to_json as to_json
from tests.inside.solvers import simplex_grid
from tightmargin.solvers import Verdict, truncated_search

# --- statements -----------------------------------------------------------------------------------


def test_a_verdict_that_the_list_does_not_have_is_named() -> None:
    listed = (
        Statement("a", "sec 1", "", HOLDS), Statement("b", "sec 1", "", MISPRINT),
        Statement("", "sec 1", "", NOT_CHECKABLE),
    )  # fmt: skip
    fine = [
        finding("a", stated=1, ours=1, holds=True),
        finding("b", stated=1, ours=2, holds=False, corrected=2, corrected_holds=True),
    ]
    claim = statement_claim(listed, fine)
    assert claim.holds
    assert "of 3 statements 1 hold, 1 are misprints" in claim.text
    broken = [fine[0] | {"holds": False}, fine[1]]
    assert "a is FAILS, not holds" in statement_claim(listed, broken).text
    assert not statement_claim(listed, broken).holds
    assert "b is missing, not misprint" in statement_claim(listed, fine[:1]).text
    rows = statement_table("t", "", listed, broken).rows
    assert [row.words[-1] for row in rows] == [FAILS, MISPRINT, NOT_CHECKABLE]
    assert rows[2].verdict is None


CHECKS: dict[str, tuple[tuple[Statement, ...], list[Callable[[], list[Finding]]]]] = {
    "linear": (LINEAR, [
        linear.hard_margin_findings, linear.margin_bound_findings,
        soft_margin.soft_margin_findings, soft_margin.generalisation_findings,
        soft_margin.kernel_findings, sgd_runs.printed_findings,
    ]),
    "binary": (BINARY, [
        probability_runs.sign_findings, probability_runs.border_findings,
        lambda: probability_runs.limit_findings(probability_runs.SIGMA),
    ]),
    "classes": (CLASSES, [
        multiclass_runs.consistency_findings, multiclass_runs.two_class_findings,
    ]),
    "matrix": (MATRIX, [matrix_runs.population_findings, matrix_runs.matrix_findings]),
}  # fmt: skip


@pytest.mark.slow("all statements of the review, each with its own models")
@pytest.mark.parametrize("part", CHECKS)
def test_every_statement_gets_the_verdict_that_is_listed(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soft_margin, "SAMPLES", 4)
    listed, checks = CHECKS[part]
    found = [one for check in checks for one in check()]
    assert all(set(one["proofs"]) <= {"CERTIFIED"} for one in found)
    verdicts = {one["key"]: verdict_of(one) for one in found}
    wanted = {one.key: one.verdict for one in listed if one.shown}
    wanted.pop("average", None)  # it needs the walks
    assert verdicts == wanted
    for one in found:
        # A corrected formula gives our number.
        if one["corrected"] is not None and one["key"] in ("dual", "half", "kernel", "rule"):
            assert one["corrected"] == pytest.approx(one["ours"], rel=1e-5)
            assert one["stated"] != pytest.approx(one["ours"], rel=0.01)
    json.dumps(found, allow_nan=False)
    if part == "linear":
        by_key = {one["key"]: one for one in found}
        radius = by_key["radius"]
        assert radius["stated"] < radius["ours"] < radius["corrected"] < 1
        # A point is not drawn in 450000 times from 100000 with a chance of about exp(-4.5).
        assert radius["ours"] == pytest.approx(np.exp(-4.5), rel=0.1)
        assert by_key["hard bound"]["ours"] == pytest.approx(np.exp(-5), abs=0.03), "500 from 100"


def test_parts_of_statements_by_hand() -> None:
    X = np.random.default_rng(0).standard_normal((6, 2))
    features = soft_margin.quadratic_features(X)
    np.testing.assert_allclose(features @ features.T, (X @ X.T + 1) ** 2)
    cross = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert linear.radon_gap(cross) < 1e-12
    away = linear.away_from_span(np.array([1.0, 1.0]), np.array([[1.0, 0.0]]))
    assert away == pytest.approx(np.sqrt(0.5))
    # For pi = j/20 and p = 1/2 the least loss is 2 min((1 - pi) / 2, pi / 2).
    for pi, least in ((0.0, 0.0), (0.05, 0.05), (0.7, 0.3)):
        assert probability_runs.least_loss(pi) == pytest.approx(least)
    # Ideal labels never have weight zero.
    grid, p = simplex_grid(3, 5), np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]])
    labels = probability_runs.ideal_labels(grid.weights, p)
    for row, chances in zip(labels, p, strict=True):
        for weight, label in zip(grid.weights, row, strict=True):
            assert weight[label] > 0
            assert weight[label] * chances[label] == (weight * chances).max()


def test_the_printed_kernel_problem_has_the_value_of_scikit_learn() -> None:
    """ridge ||w||^2 + 1/2 sum xi is 2 ridge times 1/2 ||w||^2 + C sum xi with C = 1 / (4 ridge)."""
    data, ridge = soft_margin.overlapping(5, n=30, d=2), soft_margin.RIDGE
    gram = (data.X @ data.X.T + 1) ** 2
    machine = SVC(C=1 / (4 * ridge), kernel="precomputed", tol=1e-8).fit(gram, data.y)
    signed = np.zeros(data.n)
    signed[machine.support_] = machine.dual_coef_[0]
    losses = np.maximum(0, 1 - data.y * machine.decision_function(gram))
    value = ridge * float(signed @ gram @ signed) + float(losses.sum()) / 2
    found = {one["key"]: one["ours" if one["key"] == "semidefinite" else "stated"]
             for one in soft_margin.kernel_findings()}  # fmt: skip
    assert found["kernel"] == pytest.approx(value, rel=1e-6)
    near = np.exp(-0.7 * ((data.X[:, None] - data.X) ** 2).sum(axis=2))
    assert found["semidefinite"] == pytest.approx(np.linalg.eigvalsh(near).min(), rel=1e-6)


def test_the_expected_hinge_loss_is_its_integral() -> None:
    for mean, spread in ((0.3, 1.2), (1.0, 0.5), (3.0, 2.0)):
        area = quad(lambda u: max(0.0, 1 - u) * norm.pdf(u, mean, spread), mean - 12 * spread, 1)[0]  # noqa: B023
        assert probability_runs.expected_hinge(mean, spread) == pytest.approx(area, rel=1e-7)


def test_walks_are_put_together_whatever_their_order() -> None:
    tasks = [(sgd_runs.OPTIMUM, sgd_runs.NORMAL)]
    tasks += [(sgd_runs.WALK, sgd_runs.NORMAL, rule, 3000, seed) for rule in ("printed", "update")
              for seed in range(3)]  # fmt: skip
    results = [sgd_runs.work(*task) for task in tasks]
    (one, other), (same, _) = sgd.walks(results), sgd.walks(results[::-1])
    assert (one.rule, other.rule) == ("printed", "update")
    np.testing.assert_array_equal(one.gaps, same.gaps)
    assert one.gaps.shape == (3, len(one.steps))
    values = np.array([result["objective"] for result in results[1:4]])
    np.testing.assert_allclose(one.gaps, values - results[0]["bound"])
    assert all(claim.holds for claim in sgd._claims([one, other]))
    assert verdict_of(sgd.average_finding([one])) == HOLDS
    last = list(sgd._rows(one))[-1]
    assert last.verdict is Verdict.CERTIFIED
    assert last.cells["mean gap"].ours == pytest.approx(one.gaps[:, -1].mean())
    # A run below the optimum, a gap above its bound, and a gap that grows are seen.
    assert not sgd._claims([replace(one, gaps=one.gaps - 1)])[2].holds
    assert not sgd._claims([replace(one, proven_gaps=one.gaps / 2)])[2].holds
    within, falls, _ = sgd._claims([replace(one, rates=one.gaps.mean(axis=0) * 0.9)])
    assert not within.holds
    assert falls.holds
    assert not sgd._claims([replace(one, gaps=one.gaps[:, ::-1])])[1].holds
    slow = sgd.average_finding([replace(one, rates=one.rates * 1e-9)])
    assert verdict_of(slow) == FAILS


def test_errors_are_means_over_seeds_and_claims_see_what_is_wrong() -> None:
    def two(n: int, seed: int, mean: float) -> dict[str, Any]:
        errors = {"mean": mean, "largest": 0.2, "turned": 0.0}
        return {"task": ["two", n, seed], "errors": {"80": errors}, "verdict": "CERTIFIED",
                "gap": 1e-9}  # fmt: skip

    limit = {"task": ["limit"], "errors": {"80": {"mean": 0.03, "largest": 0.1, "turned": 0.0}}}
    results = [two(100, 0, 0.05), two(100, 1, 0.07), two(400, 0, 0.034), limit]
    rows = probabilities.error_rows(results)
    assert [row.cells["mean error"].ours for row in rows] == pytest.approx([0.06, 0.034, 0.03])
    assert [row.verdict for row in rows] == [Verdict.CERTIFIED, Verdict.CERTIFIED, None]
    assert all(claim.holds for claim in probabilities._claims(rows, results))
    worse = [two(100, 0, 0.05), two(400, 0, 0.049), limit]
    falls, near, *_ = probabilities._claims(probabilities.error_rows(worse), worse)
    assert not falls.holds
    assert not near.holds
    open_row = probabilities.error_rows([two(100, 0, 0.05) | {"verdict": "NOT_CERTIFIED"}])[0]
    assert open_row.verdict is Verdict.NOT_CERTIFIED
    assert not probabilities._claims([], [{"odd": False}])[-1].holds
    runs = [{"task": ["three", "truncated", n, 4, 0], "converged": n < 90} for n in (60, 90, 90)]
    (note,) = probabilities._unconverged(runs)
    assert note.startswith("in 2 of 3 truncated runs, with n = 90, ")
    assert probabilities._unconverged(runs[:1]) == ()


# --- classes and matrices -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classes() -> dict[str, Any]:
    return multiclass_runs.work(multiclass_runs.FIT, 16, 2, 0)


def test_the_optimum_of_the_classes_is_proven_without_the_local_search(
    classes: dict[str, Any],
) -> None:
    data = multiclass_runs.sample(16, 2, 0)
    other = truncated_search(data, ridge=multiclass_runs.RIDGE, truncation=-0.5)
    assert classes["exact"] == pytest.approx(other.objective, rel=2e-6)
    assert multiclass.fit_row(classes).verdict is Verdict.CERTIFIED
    assert all(claim.holds for claim in multiclass._claims([classes])[:2])
    # Points that stray are four times as far out as the mean of the class after theirs.
    mean = np.exp(2j * np.pi * (data.y[:2] + 1) / 3)
    np.testing.assert_allclose(data.X[:2], 4 * np.column_stack([mean.real, mean.imag]), atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "number"),
    [({"bound": 9.0}, 0), ({"several": 0.01}, 0), ({"local": 0.01}, 0),
     ({"hinge_truncated": 0.01}, 0), ({"proven": False}, 1), ({"errors": [1.0, 2.0, 0.5]}, 2)],
)  # fmt: skip
def test_claims_about_classes_see_what_is_wrong(
    classes: dict[str, Any], changed: dict[str, Any], number: int
) -> None:
    assert not multiclass._claims([classes | changed])[number].holds


@pytest.fixture(scope="module")
def matrices() -> dict[str, Any]:
    return matrix_runs.work(matrix_runs.FIT, 2, 3, 1, 10, 0)


def test_bounds_on_a_matrix_are_in_order_and_its_optimum_has_the_rank(
    matrices: dict[str, Any],
) -> None:
    assert matrix.in_order(matrices)
    assert matrix.fit_row(matrices).verdict is Verdict.CERTIFIED
    sizes = np.linalg.svd(np.array(matrices["machines"]["exact"]), compute_uv=False)
    assert sizes[1] < 1e-9 * sizes[0]
    data, truth = matrix_runs.sample(2, 3, 10, 0)
    assert np.linalg.matrix_rank(truth) == 1
    # Directions u of B = u v' in the plane, each with its own machine: an optimum by brute force.
    from tests.references.matrix import rank_one_on_circle

    brute = rank_one_on_circle(data, 3, "free", matrix_runs.RIDGE, angles=24)
    assert matrices["exact"] == pytest.approx(brute, rel=2e-5)
    for axes in matrix.matrices_figure([matrices]).axes[1:]:
        drawn = [float(text.get_text()) for text in axes.texts]
        assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=0.02), "divided by its norm"


def test_claims_about_matrices_see_what_is_wrong(matrices: dict[str, Any]) -> None:
    too_high = {"bound": 99.0, "value": 99.0}
    for change in (
        {"exact": 1e-3}, {"alternating": 1e-3}, {"bound": 99.0},
        {"projection": matrices["projection"] | too_high}, {"full": matrices["full"] | too_high},
    ):  # fmt: skip
        assert not matrix.in_order(matrices | change), change
        assert not matrix._claims([matrices | change])[0].holds
    assert not matrix._claims([matrices | {"proven": False}])[1].holds
    assert not matrix._claims([matrices | {"ranks": {"exact": 2}}])[1].holds
    assert matrix.fit_row(matrices | {"proven": False}).verdict is Verdict.NOT_CERTIFIED
    # A relaxation that is tight in most samples is no mere bound.
    loose = matrix._claims([matrices])[2]
    assert loose.holds
    assert "tight in 0 of 1 samples" in loose.text
    solved = matrices | {"projection": matrices["projection"] | {"bound": matrices["exact"]}}
    assert not matrix._claims([solved])[2].holds
    assert matrix._claims([matrices, matrices, solved])[2].holds
    # A priced norm is above the optimum only if that is proven.
    priced = {"value": 99.0, "bound": matrices["exact"] - 1e-3}
    assert not matrix._claims([matrices | {"nuclear": priced}])[3].holds
    assert matrix._claims([matrices | {"nuclear": priced | {"bound": 98.0}}])[3].holds


# --- as reports -----------------------------------------------------------------------------------


def small(name: str, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The reproduction with as little as shows that all its parts fit together."""
    less: dict[str, list[tuple[Any, str, Any]]] = {
        "lee-sgd": [
            (sgd, "DATA", (sgd_runs.NORMAL, sgd_runs.KERNEL)), (sgd, "QUICK_SEEDS", 2),
            (sgd, "QUICK_STEPS", 2000), (sgd_runs, "_hard", list), (sgd_runs, "_soft", list),
            (sgd_runs, "printed_findings", list),
        ],
        "lee-probabilities": [
            (probabilities, "QUICK_SIZES", (60,)), (probabilities, "QUICK_SEEDS", 1),
            (probabilities, "QUICK_DIRECT", (("hinge", 60, 6), ("truncated", 40, 4))),
            (probabilities, "DIRECT_SEEDS", 1), (probabilities, "SHOWN_TASK", ("shown", 40, 5, 0)),
            (probability_runs, "sign_findings", list),
        ],
        "lee-multiclass": [(multiclass, "QUICK_CASES", ((16, 2),)), (multiclass, "QUICK_SEEDS", 1),
                           (multiclass_runs, "consistency_findings", list)],
        "lee-matrix": [(matrix, "QUICK_CASES", ((2, 3, 1, 10),)), (matrix, "QUICK_SEEDS", 1),
                       (matrix_runs, "matrix_findings", list)],
    }  # fmt: skip
    for module, word, value in less[name]:
        monkeypatch.setattr(module, word, value)
    (one,) = chosen(name)
    return one.run(Effort(quick=True))


@pytest.mark.slow("a whole reproduction of each of four, though a small one")
@pytest.mark.parametrize(
    ("name", "panels", "rows"),
    [("lee-sgd", 2, 9), ("lee-probabilities", 3, 14), ("lee-multiclass", 3, 1),
     ("lee-matrix", 5, 1)],
)  # fmt: skip
def test_a_small_run_fits_together(
    name: str, panels: int, rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = small(name, monkeypatch)
    assert report.figure is not None
    assert len(report.figure.axes) == panels
    numbers, said = report.tables
    assert len(numbers.rows) == rows
    assert said.rows
    assert not [line for table in report.tables for line in table.complaints()]
    # What was left out of the checks is missed.
    assert not report.claims[-1].holds
    assert "missing" in report.claims[-1].text
    written = save(report, tmp_path)
    assert {Path(file).suffix for file in written} == {".csv", ".tex", ".png"}
    json.dumps(to_json(report, written, 1.0), allow_nan=False)
