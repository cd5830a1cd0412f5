"""The lift of a known hyperplane: exactly feasible where the bounds admit it, and nowhere else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.formulations import CHECKS_ROOM as ROOM
from tests.inside.formulations import (
    Lift,
    RationalPoint,
    lift_of,
    lift_points,
    stated_bounds,
    strengthened_points,
)
from tests.inside.solvers import FeasiblePoint, proven_point, standard_form, zero_one_enumeration
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.formulations import TrainingData, conic_sdp_lift, conic_sdp_strengthened

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
