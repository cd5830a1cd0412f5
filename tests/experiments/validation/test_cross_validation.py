"""Cross-validation: the tie rule by hand, fits by other packages, choices recounted, ways out."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from tests.inside.experiments import (
    TIES,
    Fit,
    Samples,
    choose,
    cross_validate,
    cross_validate_folds,
    cross_validation,
    fits,
    fold_numbers,
    hinge_grid,
    loss_grids,
    mistakes,
    synthetic_samples,
)
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Status, Verdict

GRID = [0.1, 0.5, 0.9]
SPEC = "synthetic:clustered,n=60,d=2,sigma=0.3,seed=1"
SAMPLES = synthetic_samples(SPEC, test_points=2000)


@pytest.mark.parametrize(
    ("counts", "first", "middle", "last"),
    [
        ([3, 2, 5, 2, 2, 9], 1, 3, 4),
        ([4, 1, 1, 6], 1, 1, 2),
        ([7, None, 7], 0, 0, 2),
        ([0], 0, 0, 0),
        ([None, 8, None, 9], 1, 1, 1),
    ],
)
def test_the_tie_rule_by_hand(counts: list[int | None], first: int, middle: int, last: int) -> None:
    assert [choose(counts, tie) for tie in TIES] == [first, middle, last]


# --- error rates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["spread,n=20,d=3,sigma=0.5,seed=4",
                                  "none,n=40,d=3,sigma=0.4,seed=6,features=2+0"])  # fmt: skip
def test_the_exact_error_is_what_counting_finds(spec: str) -> None:
    """Of chosen columns it is the closed form of those columns."""
    samples = synthetic_samples(f"synthetic:{spec}", test_points=20_000)
    assert samples.exact is not None
    rng, d = np.random.default_rng(0), samples.test.d
    for _ in range(4):
        w, b = rng.standard_normal(d), float(rng.normal())
        error = samples.exact(w, b)
        seen = mistakes(samples.test.y, samples.test.X @ w + b) / samples.test.n
        assert abs(seen - error) < 5 * math.sqrt(error * (1 - error) / samples.test.n)
    assert samples.exact(np.zeros(d), 2.0) == 0.5
    assert samples.exact(np.zeros(d), 0.0) == 1.0, "a score of 0 takes no side"
    assert mistakes(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 0.0, 0.1, 0.1])) == 3


def test_flipped_labels_are_tested_without_flips() -> None:
    samples = synthetic_samples("synthetic:flip,n=80,d=2,tau=0.3,seed=2", test_points=500)
    assert samples.exact is None
    assert not reference_solutions.is_separable(samples.train, "free")
    assert not reference_solutions.is_separable(samples.validation, "free")
    assert reference_solutions.is_separable(samples.test, "free")


# --- the choice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hinge", "conic"])
def test_the_choice_agrees_with_a_recount(method: str) -> None:
    found = cross_validate(method, SAMPLES, grid=20, tie="last")
    counts = [
        int((SAMPLES.validation.y * (SAMPLES.validation.X @ fit.w + fit.b) <= 0).sum())
        for (fit,) in (row.fits for row in found.rows)
    ]
    assert [row.mistakes for row in found.rows] == counts
    best = [k for k, count in enumerate(counts) if count == min(counts)]
    assert found.chosen.row is found.rows[best[-1]]
    w, b = found.chosen.fit.w, found.chosen.fit.b
    assert found.chosen.test_mistakes == (SAMPLES.test.y * (SAMPLES.test.X @ w + b) <= 0).sum()
    assert found.chosen.exact_error == pytest.approx(found.chosen.test_mistakes / 2000, abs=0.03)


def spoiled(only: float) -> Any:
    """Fits whose certificate is lost at one value of the hyperparameter, and whose w at another."""
    original = loss_grids.fits

    def one(fit: Fit) -> Fit:
        if fit.hyperparameter == only:
            lost = replace(fit.certificate, verdict=Verdict.NOT_CERTIFIED, reason="the gap is 3e-5")
            return replace(fit, certificate=lost)
        if fit.hyperparameter == 0.9:
            return replace(fit, w=None, objective=None, status=Status.LIMIT_NO_SOLUTION)
        return fit

    return lambda *arguments, **settings: tuple(map(one, original(*arguments, **settings)))


def test_uncertified_fits_are_named_and_take_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cross_validate("hinge", SAMPLES, grid=GRID)
    best = whole.chosen.row.hyperparameter
    assert best == 0.5
    monkeypatch.setattr(cross_validation, "fits", spoiled(best))
    found = cross_validate("hinge", SAMPLES, grid=GRID)
    assert [row.hyperparameter for row in found.rows] == [0.1, 0.5, 0.9]
    assert [row.mistakes is None for row in found.rows] == [False, True, True]
    assert found.chosen.row.hyperparameter == 0.1
    lost, gone = found.complaints
    assert lost == "beta = 0.5: NOT_CERTIFIED: the gap is 3e-5"
    assert gone.startswith("beta = 0.9: ")
    assert "limit_no_solution" in gone
    asked = cross_validate("hinge", SAMPLES, grid=GRID, include_uncertified=True)
    assert asked.chosen.row.hyperparameter == best
    assert asked.rows[2].mistakes is None, "nothing to count with"
    assert asked.complaints == found.complaints


def test_preprocessing_is_fitted_on_the_training_points_alone() -> None:
    shifted = Samples(
        TrainingData(SAMPLES.train.X * [100, 1] + [3, 0], SAMPLES.train.y),
        TrainingData(SAMPLES.validation.X * [100, 1] + [3, 0], SAMPLES.validation.y),
        TrainingData(SAMPLES.test.X * [100, 1] + [3, 0], SAMPLES.test.y),
        SAMPLES.exact,
    )
    found = cross_validate("hinge", shifted, grid=[0.3], preprocessing={"normalise": "zscore"})
    scaler = StandardScaler().fit(shifted.train.X)
    (fit,) = fits("hinge", TrainingData(scaler.transform(shifted.train.X), shifted.train.y), [0.3])
    assert fit.w is not None
    scores = scaler.transform(shifted.validation.X) @ fit.w + fit.b
    assert found.rows[0].mistakes == mistakes(shifted.validation.y, scores)
    assert found.chosen.exact_error is None, "the closed form is that of the raw points"


def test_folds_are_even_in_both_classes() -> None:
    data = reference_solutions.points("unbalanced", 1, n=23)
    numbers = fold_numbers(data, 4, seed=3)
    for kind in (np.full(23, True), data.y > 0, data.y < 0):
        assert np.ptp(np.bincount(numbers[kind], minlength=4)) <= 1
    assert numbers.tolist() == fold_numbers(data, 4, seed=3).tolist()
    assert numbers.tolist() != fold_numbers(data, 4, seed=4).tolist()


def test_mistakes_of_all_folds_are_added_and_the_chosen_machine_is_trained_on_all() -> None:
    data = reference_solutions.points("overlapping", 5, n=30)
    found = cross_validate_folds("hinge", data, folds=3, fold_seed=2, grid=[0.2, 0.8])
    for row in found.rows:
        count = 0
        for k in range(3):
            outside = fold_numbers(data, 3, seed=2) != k
            train = TrainingData(data.X[outside], data.y[outside])
            fit = reference_solutions.hinge(
                train, "penalised", 1.0, row.hyperparameter / (1 - row.hyperparameter)
            )
            held = TrainingData(data.X[~outside], data.y[~outside])
            count += int((held.y * (held.X @ fit.w + fit.b) <= 0).sum())
        assert row.mistakes == count
    chosen = found.chosen.row.hyperparameter
    expected = reference_solutions.hinge(data, "penalised", 1.0, chosen / (1 - chosen))
    assert found.chosen.fit.w == pytest.approx(expected.w, abs=1e-4)
    assert found.validation_points == 30


# --- the command ---------------------------------------------------------------------------------


def test_the_command_prints_every_tie_rule_and_writes_the_grid(tmp_path: Path) -> None:
    words = ["cross-validate", "hinge", "--data", SPEC, "--grid", "5", "--test-points", "300"]
    answer = run(*words, "--tie", "last", "--csv", tmp_path / "grid.csv", "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    assert document["command"] == "cross-validate"
    assert list(document["choices"]) == list(TIES)
    with (tmp_path / "grid.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["beta"]) for row in rows] == pytest.approx(hinge_grid(5))
    assert [int(row["mistakes"]) for row in rows] == [row["mistakes"] for row in document["rows"]]
    counts = [int(row["mistakes"]) for row in rows]
    last = max(k for k, count in enumerate(counts) if count == min(counts))
    assert document["choices"]["last"]["beta"] == pytest.approx(hinge_grid(5)[last])
    text = run(*words, "--tie", "last").stdout
    (line,) = [line for line in text.splitlines() if "(chosen)" in line]
    assert line.startswith("last")


def test_the_command_cuts_other_data_into_folds(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", reference_solutions.points("overlapping", 2, n=20))
    words = ["cross-validate", "conic", "--data", train, "--grid", "2", "--folds", "2"]
    document = run(*words, "--set", "normalise=zscore", "--json").json
    assert document["folds"] == 2
    assert [len(row["objective"]) for row in document["rows"]] == [2, 2]
    assert document["choices"]["first"]["test_mistakes"] is None


def test_the_command_leaves_with_1_when_a_fit_is_not_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cross_validation, "fits", spoiled(0.25))
    words = ["cross-validate", "hinge", "--data", SPEC, "--grid", "3", "--test-points", "300"]
    answer = run(*words)
    assert answer.code == 1
    assert "hinge: beta = 0.25: NOT_CERTIFIED" in answer.stderr
    assert "beta = 0.25" in answer.stdout
