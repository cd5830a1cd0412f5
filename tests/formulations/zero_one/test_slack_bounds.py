"""Slack bounds keep an optimum, and the big-M model takes them over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import (
    SlackBounds,
    closed_slack_bounds,
    zero_one_objective,
)
from tests.inside.solvers import zero_one_enumeration, zero_one_incumbent
from tests.references.reference_solutions import INTERCEPTS
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData, zero_one_hinge
from tightmargin.solvers import solve


def overlapping(n: int, d: int, seed: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


def admits_an_optimum(
    bounds: SlackBounds, data: TrainingData, penalty: float, intercept: str
) -> bool:
    """Whether the enumerated optimum, or one with w = 0 that ties with it, is admitted."""
    found = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
    points = [(found.w, found.b)]
    if intercept == "free":
        points += [(np.zeros(data.d), b) for b in (-1.0, 1.0)]
    return any(
        bounds.admits(data, w, b, intercept)
        for w, b in points
        if _value(data, w, b, penalty, intercept) <= found.objective * (1 + 1e-9)
    )


def _value(data: TrainingData, w: np.ndarray, b: float, penalty: float, intercept: str) -> float:
    return zero_one_objective(data, w, b, penalty=penalty, intercept=intercept)


@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([-1, 1])),
        min_size=3,
        max_size=7,
    ).filter(lambda rows: len({row[2] for row in rows}) == 2),
    penalty=st.sampled_from([0.05, 1.0, 40.0]),
    intercept=st.sampled_from(INTERCEPTS),
    use=st.booleans(),
)
@settings(max_examples=60)
def test_closed_bounds_keep_an_optimum(
    rows: list[tuple[int, int, int]], penalty: float, intercept: str, use: bool
) -> None:
    table = np.array(rows, dtype=float)
    data = TrainingData(table[:, :2], table[:, 2])
    found = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
    incumbent = (found.w, found.b) if use else None
    bounds = closed_slack_bounds(data, penalty=penalty, intercept=intercept, incumbent=incumbent)
    assert admits_an_optimum(bounds, data, penalty, intercept)


def test_admits_looks_at_every_statement() -> None:
    data = overlapping(6, 2, 0)
    w, b = np.array([0.3, -0.2]), 0.4
    v = 1 - data.y * (data.X @ w + b)
    assert (v > 0).all()
    tight = SlackBounds(v - 1e-9, v + 1e-9, float(w @ w) + 1e-9, (0.39, 0.41), 1.0, "", ((0, 1),))
    assert tight.admits(data, w, b, "free")
    for change in (
        {"lower": v + 1e-6}, {"upper": v - 1e-6}, {"norm2": 0.1}, {"intercept": (-1.0, 0.3)},
    ):  # fmt: skip
        assert not replace(tight, **change).admits(data, w, b, "free")  # type: ignore[arg-type]
    far = -100 * data.y @ data.X  # keeps nobody or everybody; both points are kept by some scale
    kept = data.y * (data.X @ far) >= 1
    if kept[:2].all():
        assert not replace(tight, conflicts=((0, 1),)).admits(data, far, 0.0, "free")


# --- in the big-M models -------------------------------------------------------------------------

DATA = overlapping(22, 2, 2)


def test_tightened_is_a_word_of_the_command_line(tmp_path: Path) -> None:
    data, file = write_csv(tmp_path / "points.csv", DATA), tmp_path / "r.json"
    words = ["zero_one_big_m", "--data", str(data), "--set", "penalty=1", "big_m=tightened"]
    done = run("solve", *words, "--out", str(file), "--json")
    assert done.code == 0, done.stderr
    exact = zero_one_enumeration(DATA, penalty=1.0, intercept="penalised").objective
    assert done.json["objective"] == pytest.approx(exact, rel=1e-6)
    assert done.json["parameters"]["slack_bounds"]["proof"]
    assert run("certify", str(file)).code == 0
    refused = run("solve", "ramp_big_m", *words[1:3], "--set", "C=1", "big_m=tightened")
    assert refused.code == 2
    assert "takes no tightened bounds" in refused.stderr


def hinge_with(bounds: SlackBounds) -> str:
    """What the certificate says against the M of some slack bounds."""
    found = zero_one_incumbent(DATA, penalty=1.0, intercept="penalised")
    model = zero_one_hinge(
        DATA, penalty=1.0, big_m="derived", incumbent=(found.w, found.b), slack_bounds=bounds
    )
    return solve(model).certificate.unproven


def test_slack_bounds_without_a_proof_or_with_a_false_one_are_upper_bounds_only() -> None:
    bounds = closed_slack_bounds(DATA, penalty=1.0, intercept="penalised")
    assert hinge_with(bounds) == ""
    forged = replace(bounds, upper=np.minimum(bounds.upper, 0.5), proof="")
    assert "no proof" in hinge_with(forged)
    forged = replace(bounds, upper=np.full(22, -0.1), lower=np.full(22, -50.0), proof="trust me")
    assert "leave out a known point" in hinge_with(forged)
