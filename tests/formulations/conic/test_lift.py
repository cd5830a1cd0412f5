"""The level-1 lift: valid at true optima, with decided points, and of a stated size."""

from __future__ import annotations

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
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.formulations import TrainingData, conic_sdp_lift, conic_sdp_strengthened
from tightmargin.solvers import solve


def test_decided_points_leave_an_ordinary_program() -> None:
    """With every point decided right, what is left is the hard-margin machine of the kept ones."""
    data = outlier_data("clustered", n=12, d=2, sigma=0.5, seed=3)
    found = zero_one_enumeration(data, penalty=2.0, intercept="penalised")
    known = (found.w, found.b)
    closed = closed_slack_bounds(data, penalty=2.0, intercept="penalised", incumbent=known)
    violated = margins(data, *known) < 1 - 1e-9
    bounds = replace(
        closed,
        lower=np.where(violated, 1e-9, closed.lower),
        upper=np.where(violated, closed.upper, 0.0),
    )
    model = conic_sdp_lift(data, penalty=2.0, slack_bounds=bounds, incumbent=known)
    result = solve(model)
    assert result.bound == pytest.approx(found.objective, rel=1e-6)
    assert len(list(model.V.values())) == 0


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
