"""The level-1 lift: valid at true optima, equal to another hand's, between SDP and optimum."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.experiments import outlier_data
from tests.inside.formulations import CHECKS_ROOM as ROOM
from tests.inside.formulations import (
    Lift,
    RationalPoint,
    closed_slack_bounds,
    lift,
    lift_of,
    lift_points,
    margins,
    stated_bounds,
    strengthened_points,
)
from tests.inside.formulations import lift_lift_rows as lift_rows
from tests.inside.solvers import FeasiblePoint, proven_point, standard_form, zero_one_enumeration
from tests.references.level_one_lift import lift_value
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.formulations import TrainingData, conic_sdp_lift, conic_sdp_strengthened
from tightmargin.solvers import solve

# --- the value -----------------------------------------------------------------------------------


def nearest_pairs(data: TrainingData, at: list[int], k: int) -> set[tuple[int, int]]:
    """Pairs of a point and one of the k points nearest to it."""
    found = set()
    for i in at:
        others = sorted((float(((data.X[i] - data.X[j]) ** 2).sum()), j) for j in at if j != i)
        found |= {(min(i, j), max(i, j)) for _, j in others[:k]}
    return found


@pytest.mark.parametrize(
    ("mode", "seed", "penalty", "conflicts", "decided"),
    [
        ("penalised", 1, 4.0, ((0, 5), (1, 2, 4)), False),
        ("free", 5, 1.0, (), True),
        ("none", 3, 2.0, ((0, 4),), True),
    ],
)
def test_the_value_is_that_of_another_hand(
    mode: str, seed: int, penalty: float, conflicts: tuple[tuple[int, ...], ...], decided: bool
) -> None:
    """Conflicts and decided points need not be true here: both hands are told the same."""
    data = points("overlapping", seed, n=6)
    best = zero_one_enumeration(data, penalty=penalty, intercept=mode)
    bounds = closed_slack_bounds(data, penalty=penalty, intercept=mode, slack=0.3)
    v = 1 - margins(data, best.w, best.b)
    if decided:
        lower, upper = bounds.lower.copy(), bounds.upper.copy()
        lower[np.argmax(v)], upper[np.argmin(v)] = 0.1 * v.max(), 0.0
        bounds = replace(bounds, lower=lower, upper=upper)
    bounds = replace(bounds, conflicts=conflicts)
    told = stated_bounds(data, bounds, None, "none", penalty, mode)
    undecided = np.flatnonzero((told.lower <= 0) & (told.upper > 0)).tolist()
    assert len(undecided) == (4 if decided else 6)
    crossed = nearest_pairs(data, undecided, 1)
    assert len(crossed) < len(undecided) * (len(undecided) - 1) // 2
    result = solve(
        conic_sdp_lift(data, penalty=penalty, intercept=mode, slack_bounds=bounds, partners=1)
    )
    expected = lift_value(data, mode, penalty, told, crossed)
    assert result.bound == pytest.approx(expected, rel=2e-6)
    loose = lift_value(data, mode, penalty, told, ())
    assert loose < expected - 1e-3  # the products are felt


@functools.cache
def instance(seed: int, mode: str, penalty: float) -> tuple[TrainingData, Any, float]:
    data = outlier_data("clustered", n=12, d=2, sigma=0.5, seed=seed)
    best = zero_one_enumeration(data, penalty=penalty, intercept=mode)
    return data, (best.w, best.b), best.objective


def test_decided_points_leave_an_ordinary_program() -> None:
    """With every point decided right, what is left is the hard-margin machine of the kept ones."""
    data, known, optimum = instance(3, "penalised", 2.0)
    closed = closed_slack_bounds(data, penalty=2.0, intercept="penalised", incumbent=known)
    violated = margins(data, *known) < 1 - 1e-9
    bounds = replace(
        closed,
        lower=np.where(violated, 1e-9, closed.lower),
        upper=np.where(violated, closed.upper, 0.0),
    )
    model = conic_sdp_lift(data, penalty=2.0, slack_bounds=bounds, incumbent=known)
    result = solve(model)
    assert result.bound == pytest.approx(optimum, rel=1e-6)
    assert len(list(model.V.values())) == 0


# --- size and bad input --------------------------------------------------------------------------


def test_too_many_rows_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    data = points("overlapping", 4, n=8)
    monkeypatch.setattr(lift, "ROW_LIMIT", lift_rows(8, 0, 28, 0, 4))
    conic_sdp_lift(data, penalty=1.0)
    monkeypatch.setattr(lift, "ROW_LIMIT", lift_rows(8, 0, 28, 0, 4) - 1)
    rows = f"{lift_rows(8, 0, 28, 0, 4):,}"
    with pytest.raises(ValueError, match=f"would have {rows} rows, more than .* partners"):
        conic_sdp_lift(data, penalty=1.0)
    conic_sdp_lift(data, penalty=1.0, partners=2)


# --- the lift of a known hyperplane ---------------------------------------------------------------

PENALTY = 1.3


def proven(model: pyo.ConcreteModel, point: RationalPoint) -> FeasiblePoint | None:
    """What the kernel says of a point of which every coordinate must be given."""
    form = standard_form(model)
    exact: dict[int, Fraction] = {}
    for name, numbers in point.items():
        component = model.find_component(name)
        if component is not None:
            columns, _ = form.columns.of(component)
            pairs = zip(columns.tolist(), numbers, strict=True)
            exact |= {column: number for column, number in pairs if column >= 0}
    assert sorted(exact) == list(range(form.n))
    return proven_point(form, np.full(form.n, 1e9), exact)


def best(data: TrainingData, mode: str) -> tuple[np.ndarray, float, float]:
    found = zero_one_enumeration(data, penalty=PENALTY, intercept=mode)
    assert found.w is not None
    assert found.b is not None
    return found.w, found.b, float(found.objective)


@pytest.mark.parametrize(
    ("seed", "kind", "mode"),
    [(1, "overlapping", "free"), (2, "overlapping", "penalised"), (1, "separable", "none")],
)
def test_the_lift_of_an_optimum_is_a_point_of_its_objective(
    seed: int, kind: str, mode: str
) -> None:
    """Cutoff and norm have room for a rounding, and no row may be missed by one."""
    data = points(kind, seed, n=8)
    w, b, value = best(data, mode)
    words: dict[str, Any] = {"penalty": PENALTY, "intercept": mode, "incumbent": (w, b)}
    bounds = stated_bounds(data, "derived", (w, b), "pairs", PENALTY, mode)
    none = np.zeros(0, dtype=np.int64)
    plain = Lift(data, bounds, PENALTY, mode, (), (none, none))
    tries: list[tuple[pyo.ConcreteModel, Any]] = [
        (
            conic_sdp_strengthened(data, **words, conflicts="pairs", products=products),
            strengthened_points(plain, w, b, room=ROOM),
        )
        for products in ("none", "linear", "cutoff")
    ]
    for partners in (1, "all"):
        lift = lift_of(data, bounds, PENALTY, mode, partners)
        model = conic_sdp_lift(data, **words, conflicts="pairs", partners=partners)
        tries.append((model, lift_points(lift, w, b)))
    for model, candidates in tries:
        found = next(filter(None, (proven(model, point) for point in candidates)), None)
        assert found.exact
        constant = standard_form(model).objective.constant
        assert found.value(constant) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_a_hyperplane_that_the_bounds_exclude_has_no_lift(mode: str) -> None:
    data = points("overlapping", 1, n=8)
    w, b, _ = best(data, mode)
    bounds = stated_bounds(data, "derived", (w, b), "none", PENALTY, mode)
    length = 2 * np.sqrt(bounds.norm2) / np.linalg.norm(w)
    model = conic_sdp_lift(data, penalty=PENALTY, intercept=mode, incumbent=(w, b))
    lift = lift_of(data, bounds, PENALTY, mode, "all")
    assert all(proven(model, point) is None for point in lift_points(lift, length * w, length * b))
