"""Class probabilities: every machine against scikit-learn, the rule by force, and documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.svm import SVC

from tests.inside.formulations import Lemma, gram_data
from tests.inside.solvers import WEIGHTED_MACHINES_METHODS as METHODS
from tests.inside.solvers import (
    ClassProbabilities,
    Machines,
    SignReading,
    hinge_machines,
    proven_bounds,
    weighted_machines,
)
from tests.references import reference_solutions
from tightmargin.formulations import GramData, TrainingData
from tightmargin.solvers import Verdict, class_probabilities

Array = NDArray[np.float64]

# No multiple of a cost of one class is one of the other: the intercept is unique.
GRID = (0.23, 0.37, 0.53, 0.81)
RIDGE = 0.05


@pytest.fixture
def data(overlapping: Callable[[int], TrainingData]) -> TrainingData:
    return overlapping(3)


def costs(data: TrainingData | GramData, pi: float) -> Array:
    return np.where(data.y > 0, 1 - pi, pi) / data.n


@pytest.mark.parametrize("method", METHODS)
def test_every_machine_is_that_of_scikit_learn(method: str, data: TrainingData) -> None:
    found = class_probabilities(data, ridge=RIDGE, grid=GRID, method=method)
    assert found.certified
    for row in found.rows:
        assert row.method == ("interior" if method == "auto" else method)
        other = SVC(C=1 / (2 * RIDGE * data.n), kernel="linear", tol=1e-6)
        other.fit(data.X, data.y, sample_weight=data.n * costs(data, row.pi))
        np.testing.assert_allclose(row.w, other.coef_[0], atol=1e-4)
        assert row.b == pytest.approx(float(other.intercept_[0]), abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_of_many_optimal_intercepts_the_middle_is_taken(method: str) -> None:
    """Two points x = y = +-1: at w = 0.1 every b in [-0.9, 0.9] costs the same."""
    data = TrainingData([[1.0], [-1.0]], [1, -1])
    found = class_probabilities(data, ridge=2.5, grid=[0.5], method=method)
    # w = sum of c_i / (2 ridge n) = (0.5 + 0.5) / 10; u = w +- b <= 1 for |b| <= 0.9.
    assert found.w[0, 0] == pytest.approx(0.1, rel=1e-6)
    assert found.b[0] == pytest.approx(0.0, abs=1e-6)
    assert found.rows[0].objective == pytest.approx(2.5 * 0.01 + 0.5 * 0.9, rel=1e-9)


@pytest.mark.parametrize("method", ["interior", "libsvm"])
def test_a_poor_end_goes_to_the_model(method: str, data: TrainingData, monkeypatch: Any) -> None:
    def poor(G: Array, price: Array, caps: Array, *_: Any) -> Machines:
        return Machines(np.ones((len(caps), G.shape[1])), nothing(G, price, caps))

    def nothing(G: Array, price: Array, caps: Array, *_: Any) -> list[Lemma]:
        return [Lemma(-np.inf, "nothing", {"nothing": True})] * len(caps)

    monkeypatch.setattr(weighted_machines, "hinge_machines", poor)
    monkeypatch.setattr(weighted_machines, "bounding_lemmas", nothing)
    found = class_probabilities(data, ridge=RIDGE, grid=GRID, method=method)
    assert found.certified
    for row in found.rows:
        expected = reference_solutions.hinge(data, "free", RIDGE, costs(data, row.pi))
        assert row.objective == pytest.approx(expected.value, rel=1e-6)


def test_multipliers_from_anywhere_never_prove_too_much(data: TrainingData) -> None:
    G = data.y[:, None] * np.hstack([data.X, np.ones((data.n, 1))])
    caps = costs(data, 0.3)[None, :] / (2 * RIDGE)
    expected = reference_solutions.hinge(data, "free", RIDGE, costs(data, 0.3)).value
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 1e3):
        for _ in range(20):
            alpha = scale * rng.standard_normal((1, data.n))
            bound = proven_bounds(G, np.array([1.0, 1.0, 0.0]), caps, alpha, 100.0)
            assert 2 * RIDGE * bound[0] <= expected * (1 + 1e-9)
    # The multipliers of a problem with larger caps have a larger dual value.
    other = SVC(C=2.0, kernel="linear").fit(data.X, data.y, sample_weight=caps[0])
    alpha = np.zeros((1, data.n))
    alpha[0, other.support_] = np.abs(other.dual_coef_[0])
    value = alpha.sum() - ((alpha @ (data.y[:, None] * data.X)) ** 2).sum() / 2
    assert 2 * RIDGE * value > expected
    bound = proven_bounds(G, np.array([1.0, 1.0, 0.0]), caps, alpha, 100.0)
    assert 2 * RIDGE * bound[0] <= expected * (1 + 1e-9)


def test_ctrl_c_keeps_the_finished_values(data: TrainingData, monkeypatch: Any) -> None:
    calls = []

    def pressed(*given: Any) -> Machines:
        calls.append(given)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return hinge_machines(*given)

    monkeypatch.setattr(weighted_machines, "WORK", 1.0)
    monkeypatch.setattr(weighted_machines, "hinge_machines", pressed)
    found = class_probabilities(data, ridge=RIDGE, grid=GRID, method="interior")
    assert found.pis.tolist() == list(GRID[:2])
    assert found.not_reached == GRID[2:]
    assert not found.certified
    assert all(row.verdict is Verdict.CERTIFIED for row in found.rows)
    with pytest.raises(KeyboardInterrupt):
        class_probabilities(data, ridge=RIDGE, grid=GRID, method="interior")


def by_force(pis: Array, values: Array) -> Iterator[tuple[float, float]]:
    """The published rule, point by point."""
    for row in values.tolist():
        table = [(0.0, 1.0), *zip(pis.tolist(), row, strict=True), (1.0, -1.0)]
        yield max(pi for pi, v in table if v > 0), min(pi for pi, v in table if v < 0)


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=4, max_size=4), min_size=1))
def test_the_rule_is_the_published_one(table: list[list[float]]) -> None:
    pis, values = np.array([0.1, 0.3, 0.6, 0.7]), np.array(table)
    read = SignReading(pis, values)
    expected = np.array(list(by_force(pis, values)))
    np.testing.assert_array_equal(read.intervals, expected)
    np.testing.assert_allclose(read.probabilities, expected.mean(axis=1))
    signs = read.signs.astype(int)
    assert (signs[:, 0] == 1).all()
    assert (signs[:, -1] == -1).all()
    regular = [row[row != 0] for row in signs]
    np.testing.assert_array_equal(read.monotone, [(np.diff(row) <= 0).all() for row in regular])
    assert (read.labels[read.probabilities > 0.5 + 1e-9] == 1).all()
    assert (read.labels[read.probabilities < 0.5 - 1e-9] == -1).all()


def written(found: ClassProbabilities) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(found.to_json(), allow_nan=False))
    return document


def test_a_document_gives_the_same_object(data: TrainingData) -> None:
    found = class_probabilities(data, ridge=RIDGE, grid=GRID, intercept="penalised")
    for again in (
        ClassProbabilities.from_document(written(found)),
        ClassProbabilities.from_document(written(found), data),
    ):
        np.testing.assert_array_equal(again.w, found.w)
        np.testing.assert_array_equal(again.b, found.b)
        np.testing.assert_array_equal(again.gaps, found.gaps)
        # What a file says is its word, whoever wrote it.
        assert set(again.verdicts) == {Verdict.SOLVER_BOUND}
        assert np.isneginf([row.bound for row in again.rows]).all()
        assert (again.ridge, again.intercept) == (RIDGE, "penalised")
        np.testing.assert_array_equal(again.labels(data.X), found.labels(data.X))
        np.testing.assert_array_equal(again.intervals(data.X), found.intervals(data.X))
    with pytest.raises(ValueError, match="training data"):
        ClassProbabilities.from_document(written(found)).training_reading()


def test_a_forged_or_foreign_document_is_refused(data: TrainingData) -> None:
    document = written(class_probabilities(data, ridge=RIDGE, grid=GRID))
    kernel = gram_data(data, kernel="rbf", width=0.9)
    of_kernel = written(class_probabilities(kernel, ridge=RIDGE, grid=GRID))
    other = TrainingData(data.X + 1, data.y)
    wide = TrainingData(np.hstack([data.X, data.X]), data.y)
    forged = document | {"rows": [row | {"b": row["b"] + 0.1} for row in document["rows"]]}
    for bad, at_hand, said in (
        (forged, data, "fitted on other data"),
        (document, other, "fitted on other data"),
        (document, wide, "4 features"),
        (document, kernel, "about points"),
        (of_kernel, None, "pass data as GramData"),
        (of_kernel, data, "pass data as GramData"),
        (document | {"formulation": "rsvm"}, None, "weighted_svc is needed"),
        (document | {"rows": []}, None, "no rows"),
        (document | {"rows": document["rows"][::-1]}, None, "rise"),
        ({k: v for k, v in document.items() if k != "parameters"}, None, "parameters"),
        (document | {"rows": [document["rows"][0] | {"pi": 1.0}]}, None, "pi must lie"),
        (document | {"rows": [document["rows"][0] | {"w": [float("nan"), 0.0]}]}, None, "finite"),
        (document | {"rows": [*document["rows"][:1], document["rows"][1] | {"w": [1.0]}]}, None,
         "same length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            ClassProbabilities.from_document(bad, at_hand)


def test_a_bound_that_a_file_states_is_no_proof(data: TrainingData) -> None:
    document = written(class_probabilities(data, ridge=RIDGE, grid=GRID))
    for row in document["rows"]:
        row |= {"bound": row["objective"], "gap": 0.0, "verdict": "CERTIFIED"}
    for at_hand in (None, data):
        again = ClassProbabilities.from_document(document, at_hand)
        assert set(again.verdicts) == {Verdict.SOLVER_BOUND}
        assert not again.certified
        assert [row.upper < np.inf for row in again.rows] == [at_hand is not None] * len(again.rows)
