"""The level-1 lift: valid at true optima, equal to another hand's, between SDP and optimum."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.experiments import outlier_data
from tests.inside.formulations import (
    SlackBounds,
    closed_slack_bounds,
    lift,
    margins,
    norm_of,
    stated_bounds,
    trivial_points,
)
from tests.inside.formulations import lift_lift_rows as lift_rows
from tests.inside.solvers import (
    primal_residual,
    standard_form,
    zero_one_enumeration,
)
from tests.references.level_one_lift import lift_value
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData, conic_sdp_lift
from tightmargin.solvers import solve

Array = NDArray[np.float64]


# --- a true optimum satisfies every row ----------------------------------------------------------


def lifted(model: pyo.ConcreteModel, w: Array, b: float) -> None:
    """Give every variable the value that its definition says at (w, b)."""
    data, given = model.origin.data, model.origin.parameters
    mode = given["intercept"]
    bounds = stated_bounds(
        data, given["slack_bounds"], given["incumbent"], "none", given["penalty"], mode
    )
    weight = w if mode == "none" else np.append(w, b)
    units = np.full(len(weight), np.sqrt(bounds.norm2))
    if mode == "free":
        units[-1] = max(-bounds.intercept[0], bounds.intercept[1])
    scaled = weight / 2 ** np.ceil(np.log2(units))
    v = 1 - margins(data, w, b)
    z = (v > 0).astype(float)
    far = np.maximum(bounds.upper, -0.01 * bounds.lower)
    near = np.maximum(-bounds.lower, 0.01 * bounds.upper)
    far, near = (np.where(side > 0, side, 1.0) for side in (far, near))  # of decided points
    p, q = np.maximum(v, 0) / far, np.maximum(-v, 0) / near
    single = {"z": z, "p": p, "q": q, "s": p**2, "r": q**2}
    whole: dict[str, Callable[..., float]] = {
        "w": lambda j: w[j],
        "b": lambda _: b,
        "W": lambda j, k: weight[j] * weight[k],
        "Y": lambda i, j: z[i] * scaled[j],
        "V": lambda i, j, k: z[i] * scaled[j] * scaled[k],
    }

    def outcome(word: str, i: int, j: int) -> float:
        """Value of z10[i, j] and its like."""
        first, second = (
            z[point] if at == "1" else 1 - z[point] for point, at in zip((i, j), word, strict=True)
        )
        return first * second

    def moment(word: str, i: int, j: int) -> float:
        """Value of first_p1[i, j], the moment p of i where j is violated, and its like."""
        role, (kind, at) = word.split("_")
        own, other = (i, j) if role == "first" else (j, i)
        return single[kind][own] * (z[other] if at == "1" else 1 - z[other])

    for variable in model.component_objects(pyo.Var):
        word = variable.name
        for index, element in variable.items():
            if element.fixed:
                assert element.value == z[index]
            elif word in single:
                element.set_value(single[word][index])
            elif word in whole:
                at = index if isinstance(index, tuple) else (index,)
                element.set_value(whole[word](*at))
            else:
                value = outcome(word[1:], *index) if word[0] == "z" else moment(word, *index)
                element.set_value(value)


@st.composite
def stated(draw: st.DrawFn) -> tuple[TrainingData, str, float, Array, float, SlackBounds]:
    """Integer points, an optimum of theirs, and statements that are true of it."""
    n, d = draw(st.integers(3, 6)), draw(st.integers(1, 2))
    entries = st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d)
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    labels[:2] = [-1, 1]
    data = TrainingData(np.array(draw(entries), float).reshape(n, d), np.array(labels, float))
    mode, penalty = draw(st.sampled_from(INTERCEPTS)), draw(st.sampled_from([0.25, 1.0, 3.0]))
    best = zero_one_enumeration(data, penalty=penalty, intercept=mode)
    w, b = best.w, best.b
    if draw(st.booleans()):
        bounds = closed_slack_bounds(data, penalty=penalty, intercept=mode, incumbent=(w, b))
        if not bounds.admits(data, w, b, mode):  # with b free another optimum may stand in
            trivial = trivial_points(data, penalty=penalty, intercept=mode)[0]
            assert trivial.objective <= best.objective * (1 + 1e-9)
            w, b = trivial.w, trivial.b
        return data, mode, penalty, w, b, bounds
    v = 1 - margins(data, w, b)
    v[np.abs(v) < 1e-9] = 0.0
    sides = st.lists(st.sampled_from([1e-6, 0.5, 2.0, 9.0]), min_size=n, max_size=n)
    lower, upper = v - np.array(draw(sides)), v + np.array(draw(sides))
    upper[(v <= 0) & np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))] = 0.0
    sets = draw(st.lists(st.sets(st.integers(0, n - 1), min_size=2), max_size=3))
    conflicts = tuple(tuple(sorted(s)) for s in sets if (v[list(s)] > 1e-6).any())
    norm2 = norm_of(w, b, mode) * (1 + 1e-9) + 1e-9
    cutoff = best.objective * (1 + 1e-9)
    span = (0.0, 0.0) if mode == "none" else (b - 1.0, b + 0.5)
    return data, mode, penalty, w, b, SlackBounds(
        np.where(v > 0, np.maximum(lower, 1e-9 * (lower > 0)), lower), upper, norm2, span,
        cutoff, "stated by a test", conflicts,
    )  # fmt: skip


@given(stated(), st.sampled_from(["all", "none", 1]))
@budget(max_examples=40 if FULL else 15)
def test_every_row_holds_at_the_lifted_optimum(
    case: tuple[TrainingData, str, float, Array, float, SlackBounds], partners: Any
) -> None:
    data, mode, penalty, w, b, bounds = case
    model = conic_sdp_lift(
        data, penalty=penalty, intercept=mode, slack_bounds=bounds, partners=partners
    )
    lifted(model, w, b)
    form = standard_form(model)
    residual, where = primal_residual(form, form.point())
    assert residual <= 1e-8, where
    v = 1 - margins(data, w, b)
    exact = norm_of(w, b, mode) + penalty * int((v > 1e-9).sum())
    assert pyo.value(model.objective) == pytest.approx(exact, abs=1e-9)


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
