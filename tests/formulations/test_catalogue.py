"""Registering a formulation of one's own: the class as a word, and words that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tightmargin.formulations import CATALOGUE

pytestmark = pytest.mark.usefixtures("catalogue_as_it_was")


def shortest(least: float, module: str) -> Callable[..., pyo.ConcreteModel]:
    def mine(data: tm.TrainingData) -> pyo.ConcreteModel:
        """The least number that is at least a number."""
        m = pyo.ConcreteModel()
        m.x = pyo.Var(bounds=(least, None))
        m.objective = pyo.Objective(expr=m.x)
        return m

    mine.__module__ = module
    return mine


def test_the_name_of_another_module_is_taken_only_when_told() -> None:
    data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
    tm.formulation("LP", "here")(shortest(1.0, "a_library"))
    with pytest.raises(ValueError, match=r"mine is registered by a_library .* replace=True"):
        tm.formulation("LP", "here")(shortest(2.0, "__main__"))
    assert tm.solve(tm.build("mine", data)).objective == 1.0
    tm.formulation("LP", "here", replace=True)(shortest(2.0, "__main__"))
    assert tm.solve(tm.build("mine", data)).objective == 2.0


@pytest.mark.parametrize("replace", [False, True])
def test_a_name_that_methods_know_is_never_taken(replace: bool) -> None:
    """The conflict search would certify the 0-1 problem's optimum of whatever has its name."""
    known = CATALOGUE["zero_one_big_m"]

    def zero_one_big_m(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
        return tm.c_svc(data, C=penalty)

    with pytest.raises(ValueError, match="zero_one_big_m is a formulation of tightmargin"):
        tm.formulation("QP", "here", replace=replace)(zero_one_big_m)
    assert CATALOGUE["zero_one_big_m"] is known


def mine(data: tm.TrainingData, *, C: float) -> pyo.ConcreteModel:
    return tm.c_svc(data, C=C)


def without_return(data: tm.TrainingData, *, C: float) -> Any:
    tm.c_svc(data, C=C)


DATA = tm.TrainingData([[0.0], [1.0]], [-1, 1])


@pytest.mark.parametrize(
    ("call", "error", "holds"),
    [
        (
            lambda: tm.formulation("QP", "here", relaxes="zero_one_big")(mine), ValueError,
            "relaxes of mine: no formulation is called 'zero_one_big'; did you mean zero_one_big_m",
        ),
        (
            lambda: tm.formulation("QP", "here", dual_of="csvc")(mine), ValueError,
            "dual_of of mine: no formulation is called 'csvc'; did you mean c_svc",
        ),
        (
            lambda: tm.formulation("QP", "here")(without_return)(DATA, C=1.0), TypeError,
            "without_return returned NoneType: it must return its ConcreteModel, as by `return m`",
        ),
        (lambda: tm.formulation("QPP", "here"), ValueError, "problem_class.*did you mean QP"),
        (lambda: tm.formulation("qp", "here"), ValueError, "problem_class.*one of LP, QP"),
        (lambda: tm.formulation(3, "here"), ValueError, "problem_class.*got 3"),
        (lambda: tm.catalogue["c_scv"], KeyError, "no formulation is called 'c_scv'; did you mean"),
        (
            lambda: tm.compare(DATA, "c_svc", parameters={"C": 1.0}), ValueError,
            "c_svc relaxes nothing in the catalogue.*exact=, or by relaxes=",
        ),
    ],
)  # fmt: skip
def test_what_is_written_wrong_is_refused_where_it_is_written(
    call: Callable[[], object], error: type[Exception], holds: str
) -> None:
    with pytest.raises(error, match=holds):
        call()
    assert "mine" not in CATALOGUE
    assert CATALOGUE.get("c_scv") is None
