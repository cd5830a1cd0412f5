"""The formulas on the documentation's paper pages are those of the built models."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.cases import CASES, OF_CLASSES, PENALTY, modes
from tests.inside.formulations import STRENGTHENED_ROOM as ROOM
from tests.inside.formulations import (
    Formula,
    closed_slack_bounds,
    formulas,
    offset_limit,
    parsed,
    stated_bounds,
)
from tests.support.formula_values import Values, bounds_of, slack_bound_names
from tightmargin.formulations import CATALOGUE

FORMULAS = formulas()
# Shown but not evaluated: a disjunction has no slack, the lift has a dozen moments a pair, and
# matrices of several classes have a row of their own for each class.
SHOWN_ONLY = {"zero_one_disjunctive", "conic_sdp_lift", "conic_sdp_rank_one",
              "ramp_l1_big_m", "ramp_l1_relaxed", "zero_one_disjunctive_relaxed",
              "multiclass_matrix_projection", "multiclass_matrix_nuclear"}  # fmt: skip
WEIGHTS, CLASS_WEIGHTS = (2.5, 0.75), (0.5, 2.0, 1.25)


def decided_bounds(data: Any, mode: str) -> Any:
    """Bounds under which some points are decided, as w = 0 with the best constant label allows."""
    bounds = closed_slack_bounds(data, penalty=PENALTY, intercept=mode)
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    if mode == "none":  # there w = 0 violates every point, by 1
        lower[0] = 0.25
    else:
        label = 1.0 if data.n_pos >= data.n_neg else -1.0
        lower[np.flatnonzero(data.y != label)[0]] = 0.25
        upper[np.flatnonzero(data.y == label)[0]] = 0.0
    return dataclasses.replace(bounds, lower=lower, upper=upper, conflicts=((2, 3), (1, 4, 5)))


@functools.cache
def model_of(name: str, mode: str) -> tuple[Any, dict[str, Any]]:
    """A small model of the entry with unequal weights where it has any, and further names."""
    case = CASES[name]
    extra: dict[str, Any] = {}
    y = case.data.y
    more: dict[str, Any] = {}
    if name in OF_CLASSES:
        more["class_weight"] = CLASS_WEIGHTS[: case.data.n_classes]
        extra["c"] = np.array(more["class_weight"])
    elif "class_weight" in case.entry.parameters:
        more["class_weight"] = WEIGHTS
        extra["s"] = np.where(y > 0, WEIGHTS[1], WEIGHTS[0])
    if "class_balance" in case.entry.parameters:
        more["class_balance"] = "balanced"
        extra["c"] = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum())
    if name == "conic_sdp_strengthened":
        bounds = decided_bounds(case.data, mode)
        more |= {"slack_bounds": bounds, "conflicts": "none"}
        stated = stated_bounds(case.data, bounds, None, "none", PENALTY, mode)
        extra |= slack_bound_names(stated, ROOM)
    parameters = case.words_of(mode, **more)
    model = case.entry.build(case.data, **parameters)
    if name == "extended_robust_svc":
        offset = offset_limit(case.data, **case.words) if mode == "free" else 0.0
        columns = [case.data.X, *([np.ones((case.data.n, 1))] if mode == "penalised" else [])]
        sizes = np.linalg.norm(np.hstack(columns), axis=1) + offset
        extra["big_m"] = sizes + sizes.max()
    if name == "conic_fixed":
        extra["gamma"] = parameters["strengthening"]
    rng = np.random.default_rng(7)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(float(rng.normal()) + 0.1, skip_validation=True)
    return model, extra


def differences(formula: Formula, mode: str) -> list[str]:
    """Where the formula and the model of its entry disagree, in words."""
    model, extra = model_of(formula.name, mode)
    values = Values(formula, model, extra)
    found = []
    free = mode == "free" and formula.minimise_free
    if (objective := values.of(formula.minimise_free if free else formula.minimise)) != (
        pytest.approx(pyo.value(model.objective), rel=1e-9, abs=1e-9)
    ):
        found.append(f"objective {objective} is {pyo.value(model.objective)}")
    rows = {row.name: row for row in formula.rows if mode in row.modes}
    components = {
        each.local_name: each
        for each in model.component_objects(pyo.Constraint, active=True)
        if len(each)
    }
    if set(rows) != set(components):
        found.append(f"rows {sorted(rows)} are {sorted(components)}")
    for name in set(rows) & set(components):
        for key, row in components[name].items():
            keys = key if isinstance(key, tuple) else (key,)
            at = dict(zip(rows[name].indices, keys if rows[name].indices else (), strict=True))
            given, ours = values.of(rows[name].text, **at), _slacks(row)
            given, ours = sorted(given), sorted(ours)
            same = len(given) == len(ours) and all(
                _same(a, b) for a, b in zip(given, ours, strict=True)
            )
            if not same:
                found.append(f"{name}[{key}] {given} is {ours}")
                break
    return found + _bound_differences(formula, values, model)


def _slacks(row: Any) -> list[tuple[str, float]]:
    body = pyo.value(row.body)
    if row.equality:
        return [("==", body - pyo.value(row.upper))]
    sides = []
    if row.lower is not None:
        sides.append((">=", body - pyo.value(row.lower)))
    if row.upper is not None:
        sides.append((">=", pyo.value(row.upper) - body))
    return sides


def _same(given: tuple[str, float], ours: tuple[str, float]) -> bool:
    """Equal slacks; an equation may be written with its sides exchanged."""
    signs = (1, -1) if given[0] == "==" else (1,)
    return given[0] == ours[0] and any(
        sign * given[1] == pytest.approx(ours[1], rel=1e-9, abs=1e-9) for sign in signs
    )


def _bound_differences(formula: Formula, values: Values, model: Any) -> list[str]:
    domain = {bounds_of(text)[0]: bounds_of(text)[1:] for text in formula.domain}
    found = []
    for variable in model.component_objects(pyo.Var, descend_into=False):
        if variable.local_name in formula.boxed:
            continue
        lower, upper, binary = domain.get(variable.local_name, (None, None, False))
        for key, entry in variable.items():
            at = {"i": key}
            stated = [None if side is None else values.of(side, **at) for side in (lower, upper)]
            ours = [entry.lb, entry.ub]
            same = all(
                (a is None) == (b is None) and (a is None or a == pytest.approx(b))
                for a, b in zip(stated, ours, strict=True)
            )
            if not same or binary != entry.is_binary():
                found.append(f"{variable.local_name}[{key}]: {stated}, {binary} is {ours}")
                break
    return found


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in sorted(set(FORMULAS) - SHOWN_ONLY) for mode in modes(name)],
)
def test_a_formula_has_the_value_the_rows_and_the_bounds_of_its_model(name: str, mode: str) -> None:
    """At random points: objective, slack of every row, bounds of every variable."""
    assert FORMULAS[name].source == CATALOGUE[name].source
    assert differences(FORMULAS[name], mode) == []


WRONG = {
    "a sign": {"rows": ["margin[i]: y[i]*(inner(w, x[i]) - b) + xi[i] >= 1"]},
    "an upper limit": {"domain": ["0 <= xi[i] <= 1"]},
    "whole numbers": {"domain": ["xi[i] in {0, 1}"]},
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_formula_is_found(what: str) -> None:
    right = FORMULAS["c_svc"]
    table: dict[str, object] = {
        "source": right.source,
        "note": "",
        "minimise": right.minimise,
        "rows": ["margin[i]: y[i]*(inner(w, x[i]) + b) + xi[i] >= 1"],
        "domain": ["xi[i] >= 0"],
    }
    assert differences(parsed("c_svc", "here", table), "free") == []
    assert differences(parsed("c_svc", "here", table | WRONG[what]), "free") != []
