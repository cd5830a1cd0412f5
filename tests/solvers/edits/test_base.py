"""A builder that changes a model of the catalogue: what M rests on is not lost under its name."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.support.edited_models import CLOSE

DATA = tm.data.outlier_data("clustered", n=30, d=2, sigma=0.3, seed=1)
STEEPNESS = 20.0  # steeper than any point as good as the one that M is derived from


pytestmark = pytest.mark.usefixtures("catalogue_as_it_was")


def steep_zero_one(
    data: tm.TrainingData, *, big_m: Any, steepness: float = STEEPNESS
) -> pyo.ConcreteModel:
    """0-1 loss at unit penalty with w_0 at least so large."""
    m = tm.zero_one_big_m(data, penalty=1.0, big_m=big_m)
    m.steep = pyo.Constraint(expr=m.w[0] >= steepness)
    return m


@pytest.fixture(scope="module")
def truth() -> float:
    """What SCIP finds with an M that is large enough for anything here."""
    model = steep_zero_one(DATA, big_m=2000.0)
    return float(tm.solve(model, "scip", prove=False, options=CLOSE).objective)


def test_a_derived_m_is_derived_for_the_problem_of_the_builder(truth: float) -> None:
    """As written the model has no point at all: its M is that of the problem without the row."""
    model = tm.formulation("MIQP", "here")(steep_zero_one)(DATA, big_m="derived")
    found = tm.solve(model)
    low, high = found.interval
    assert found.certificate.verdict.value == "CERTIFIED"
    assert low <= truth * (1 + 1e-6)
    assert high == pytest.approx(truth, rel=1e-6)
    assert model.origin.entry == "steep_zero_one"
    assert found.formulation == "steep_zero_one"
    assert found.parameters == {"big_m": pytest.approx(list(model.big_m.extract_values().values())),
                                "steepness": STEEPNESS}  # fmt: skip


def test_an_m_of_ones_own_that_is_too_small_is_named(truth: float) -> None:
    build = tm.formulation("MIQP", "here")(steep_zero_one)
    found = tm.solve(build(DATA, big_m=20.0, steepness=3.0))
    assert "rows margin: big_m is stated and not proven" in found.certificate.unproven
    enough = tm.solve(build(DATA, big_m=2000.0, steepness=3.0), time_limit=20)
    assert enough.certificate.unproven == ""
    assert truth > enough.objective


def test_m_can_be_set_under_the_name_of_the_builder(truth: float) -> None:
    model = tm.formulation("MIQP", "here")(steep_zero_one)(DATA, big_m="derived")
    before = max(model.big_m.extract_values().values())
    assert tm.rederive(model).values.max() > before
    assert model.origin.entry == "steep_zero_one"
    assert tm.solve(model).objective == pytest.approx(truth, rel=1e-6)


def test_a_model_is_again_its_builders_after_a_refusal() -> None:
    model = tm.formulation("MIQP", "here")(steep_zero_one)(DATA, big_m="derived")
    with pytest.raises(ValueError, match="no option"):
        tm.solve(model, "scip", options={"no/such/option": 1})
    assert model.origin.entry == "steep_zero_one"
