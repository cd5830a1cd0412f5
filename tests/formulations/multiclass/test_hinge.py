"""Hinge and truncated hinge loss of several classes: relations, refusals, what a result says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import smallest_leads
from tests.references.multiclass import class_points, hinge_of_classes, truncated_by_sets
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Verdict

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
DATA = class_points(0, n=24, K=4)
WEIGHTS = (0.5, 2.0, 1.0, 0.25)


def scores(result: SolveResult, data: tm.MulticlassData) -> tuple[np.ndarray, np.ndarray]:
    """B and b as the classifier of the entry returns them."""
    entry = CATALOGUE[result.formulation]
    origin = entry.build(data, **result.parameters).origin
    return entry.classifier(origin, result.values, result.duals)


def hinge(data: tm.MulticlassData, **words: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Optimum, B and b, after a tight solve that is certified."""
    result = tm.solve(tm.multiclass_hinge(data, **words), "clarabel", options=TIGHT)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective is not None
    return result.objective, *scores(result, data)


# --- hinge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "weights"), [("free", WEIGHTS), ("penalised", None), ("none", WEIGHTS)]
)
def test_the_hinge_machine_is_that_of_another_modelling_layer(
    mode: str, weights: tuple[float, ...] | None
) -> None:
    costs = np.ones(4)[DATA.y] if weights is None else np.array(weights)[DATA.y]
    machine = hinge_of_classes(DATA, mode, 0.03, costs / DATA.n)
    value, B, _ = hinge(DATA, ridge=0.03, class_weight=weights, intercept=mode)
    assert value == pytest.approx(machine.problem.value, rel=1e-7)
    np.testing.assert_allclose(B, machine.B.value, atol=2e-4)


def test_classes_places_units_and_copies_change_the_machine_as_they_must() -> None:
    """Class k is called order[k]; x -> 4 Rx + shift with 16 times the ridge; every point twice."""
    order, c, s = np.array([2, 0, 3, 1]), np.cos(0.7), np.sin(0.7)
    turn, weights = np.array([[c, -s], [s, c]]), np.empty(4)
    weights[order] = WEIGHTS
    moved = np.vstack([4 * DATA.X @ turn.T + [3.0, -20.0]] * 2)
    other = tm.MulticlassData(moved, np.tile(order[DATA.y], 2))
    value, B, _ = hinge(DATA, ridge=0.05, class_weight=WEIGHTS)
    again, B_other, _ = hinge(other, ridge=0.05 * 16, class_weight=tuple(weights))
    assert again == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(4 * B_other[order], B @ turn.T, atol=1e-5)


def test_the_sum_of_zero_is_restored_and_lowers_the_norm() -> None:
    check = CATALOGUE["multiclass_hinge"].check
    origin = tm.multiclass_hinge(DATA, ridge=0.1).origin
    rng = np.random.default_rng(0)
    B, b, shift = rng.normal(size=(4, 2)), rng.normal(size=4), np.array([2.0, -1.0])
    plain = check(origin, {"B": B - B.mean(axis=0), "b": b - b.mean()})
    moved = check(origin, {"B": B + shift, "b": b + 5.0})
    assert moved.objective == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_allclose(moved.repaired["B"].sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(moved.repaired["b"].sum(), 0, atol=1e-12)
    by_hand = 0.1 * float(((B - B.mean(axis=0)) ** 2).sum())
    for x, y in zip(DATA.X, DATA.y, strict=True):
        f = B @ x + b
        by_hand += max(0.0, *(1 - f[y] + f[k] for k in range(4) if k != y)) / DATA.n
    assert plain.objective == pytest.approx(by_hand, rel=1e-12)


# --- truncated -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "truncation"), [("free", -0.5), ("free", -2.0), ("penalised", -0.5), ("none", 0.0)]
)
def test_the_truncated_optimum_is_that_of_all_sets_of_points_given_up(
    mode: str, truncation: float
) -> None:
    data, weights = class_points(2, n=6), (1.0, 0.6, 2.0)
    costs = np.array(weights)[data.y] / data.n
    value, given_up = truncated_by_sets(data, mode, 0.05, 1 - truncation, costs)
    words: dict[str, Any] = {"ridge": 0.05, "truncation": truncation, "class_weight": weights}
    model = tm.build("multiclass_truncated", data, **words, intercept=mode, big_m="derived")
    result = tm.solve(model)
    assert result.objective == pytest.approx(value, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert np.flatnonzero(result.values["z"] > 0.5).tolist() == list(given_up)


def test_facts_count_what_the_scores_do() -> None:
    result = tm.solve(tm.multiclass_hinge(DATA, ridge=0.3))
    B, b = scores(result, DATA)
    guess = (DATA.X @ B.T + b).argmax(axis=1)
    facts = result.certificate.facts
    assert facts["errors"] == int((guess != DATA.y).sum()) > 0
    by_class = [int(((guess != DATA.y) & (DATA.y == k)).sum()) for k in range(4)]
    assert facts["errors_by_class"] == by_class
    lead = smallest_leads(DATA, B, b)
    assert facts["margin_violations"] == int((lead < 1 - 1e-6).sum())
