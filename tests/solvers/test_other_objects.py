"""What is no model, no start or no word is refused by name, before any solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data

DATA = tm.TrainingData([[0.0], [1.0], [0.5], [0.7]], [-1, 1, 1, -1])


def abstract() -> pyo.AbstractModel:
    """Without a common point, were it constructed."""
    model = pyo.AbstractModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(rule=lambda m: m.x >= 2)
    return model


OTHERS = {"str": "c_svc", "TrainingData": DATA, "an abstract model": abstract(), "int": 3}
VERBS: dict[str, Callable[[Any], Any]] = {
    "solve": tm.solve,
    "explain_infeasible": tm.explain_infeasible,
    "show": tm.show,
    "rederive": tm.rederive,
    "export": lambda model: tm.export(model, "model.lp"),
    "diff": tm.diff,
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_model_is_refused_by_every_verb(verb: str, what: str) -> None:
    with pytest.raises(TypeError, match=rf"^{verb}\(\) takes a Pyomo ConcreteModel.*got {what}$"):
        VERBS[verb](OTHERS[what])


def test_the_second_model_of_a_difference_is_named() -> None:
    with pytest.raises(TypeError, match="for `edited`, got str"):
        tm.diff(tm.c_svc(DATA, C=1.0), "c_svc")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "error", "holds"),
    [
        ([1.0], TypeError, "warm_start must be a result of solve.* or arrays .*, got list"),
        ("w", TypeError, "got str"),
        ({"w": [np.nan]}, ValueError, r"w\[0\] must be a finite number"),
        ({"b": 1.0, "w": [np.inf]}, ValueError, r"w\[0\] must be a finite number"),
        ({"b": None}, ValueError, "b must be a finite number"),
        ({"xi": [0.0, 1.0, np.nan, 1.0]}, ValueError, r"xi\[2\] must be"),
        ({"w": "abc"}, ValueError, "w must be an array of numbers, got str"),
        ({"w": {0: 1.0}}, ValueError, "w must be an array of numbers, got dict"),
        ({1: [2.0]}, ValueError, "the model has no variable 1"),
        ({"b": 1.0, "w": [1.0, 2.0]}, ValueError, "w has 1 elements, got 2"),
    ],
)
def test_a_bad_start_is_named_and_leaves_the_model_alone(
    start: Any, error: type[Exception], holds: str
) -> None:
    model = tm.c_svc(DATA, C=1.0)
    with pytest.raises(error, match=holds):
        tm.solve(model, warm_start=start)
    assert all(v.value is None for v in model.component_data_objects(pyo.Var))


def test_an_own_method_says_that_a_start_had_no_effect() -> None:
    data = outlier_data("clustered", n=12, d=2, sigma=0.4, seed=1)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    best = tm.solve(model, method="conflict-search")
    told = "the warm start had no effect: method conflict-search takes none"
    assert "warm start" not in best.message
    again = tm.solve(model, method="conflict-search", warm_start=best)
    assert told in again.message
    model.held = pyo.Constraint(expr=model.w[0] >= 0.1)
    edited = tm.solve(model, method="conflict-search", warm_start=best)
    assert told in edited.message
    assert edited.solver == "tightmargin"
