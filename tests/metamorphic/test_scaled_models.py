"""Scaled models themselves: powers of two, the same for all units, and an exact way back."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    Limits,
    StandardForm,
    badly_scaled,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    scaling,
    standard_form,
    unpack,
)
from tests.metamorphic.changes import Trial, drawn, scaled_by
from tests.support.bounds import scaled_bound
from tests.support.covering import in_turn
from tightmargin.formulations import CATALOGUE

ONE_OF_A_CLASS = [
    "extended_nu_svc_linearised", "c_svc", "max_margin_svc", "conic_fixed", "conic_sdp",
    "conic_sdp_dual", "zero_one_big_m",
]  # fmt: skip


def form_of(trial: Trial) -> StandardForm:
    model = CATALOGUE[trial.name].build(trial.data, **trial.parameters, intercept=trial.mode)
    return standard_form(model)


def test_factors_are_powers_of_two_and_integers_keep_theirs() -> None:
    for name in ONE_OF_A_CLASS:
        form = form_of(drawn(name, "none"))
        found = scaling(form)
        one = np.array([found.objective])
        for factors in (found.columns, found.rows, found.quadratic, *found.psd, one):
            assert (np.log2(factors) % 1 == 0).all()
        assert (found.columns[form.integer] == 1).all()


# A cone h^2 <= f g keeps the multipliers of f and g as their sum and difference.
APART = ["conic_sdp_dual"]
CONIC = [name for name in ONE_OF_A_CLASS if name != "zero_one_big_m"]


@pytest.mark.parametrize(
    ("name", "unit"), in_turn([name for name in CONIC if name not in APART], [1e-6, 1e6])
)
def test_multipliers_of_the_scaled_cones_are_multipliers_of_the_cones(
    name: str, unit: float
) -> None:
    """In the dual cone, with the same A'z and b'z: checked without our repair of multipliers."""
    form = form_of(scaled_by(drawn(name, "none"), unit).after)
    conic = conic_form(form, classify(form))
    scaled = scaling(form).conic(conic)
    claim = clarabel.run_conic(scaled.conic, len(form.rows), Limits())
    assert claim.duals is not None
    z = conic_multipliers(scaled.conic, claim.duals)
    own = scaled.multipliers(z)
    size = scaled.objective * (abs(scaled.conic.A).T @ np.abs(z)) / scaled.columns
    difference = conic.A.T @ own - scaled.objective * (scaled.conic.A.T @ z) / scaled.columns
    assert (np.abs(difference) <= 1e-12 * size.max() / scaled.columns * scaled.columns.max()).all()
    side = scaled.objective * float(scaled.conic.b @ z)
    assert float(conic.b @ own) == pytest.approx(side, rel=1e-9, abs=1e-12 * scaled.objective)
    for block in conic.blocks:
        part = own[block.rows]
        if block.kind == "soc":
            assert part[0] >= np.linalg.norm(part[1:]) * (1 - 1e-12)
        if block.kind == "psd":
            assert np.linalg.eigvalsh(unpack(part))[0] >= -1e-12 * np.abs(part).max()


@pytest.mark.parametrize(("name", "unit"), in_turn(CONIC, [1e-7, 1.0, 1e7]))
def test_a_bound_in_numbers_near_1_is_a_bound(name: str, unit: float) -> None:
    """Not above the optimum, whatever multipliers it starts from."""
    form = form_of(scaled_by(drawn(name, "none"), unit).after)
    scaled = scaling(form).conic(conic_form(form, classify(form)))
    claim = clarabel.run_conic(scaled.conic, len(form.rows), Limits(options=clarabel.CLOSER))
    assert claim.x is not None
    assert claim.duals is not None
    optimum = float(form.objective.at(scaled.point(claim.x)))
    rng = np.random.default_rng(0)
    z = conic_multipliers(scaled.conic, claim.duals)
    for disturbance in (0.0, 1e-6, 1e-2):
        moved = z * (1 + disturbance * rng.random(len(z)))
        found = scaled_bound(form, scaled, claim.x, moved)
        assert found is not None or disturbance > 0
        assert found is None or found <= optimum + 1e-7 * abs(optimum)


def test_only_numbers_that_differ_by_four_powers_of_ten_are_scaled_at_once() -> None:
    trial = drawn("c_svc", "none")
    assert not badly_scaled(form_of(trial))
    assert badly_scaled(form_of(scaled_by(trial, 1e3).after))
    assert badly_scaled(form_of(scaled_by(trial, 1e-3).after))


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_a_foreign_model_in_small_numbers_keeps_its_sign(sense: int) -> None:
    import tightmargin as tm

    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-3e-9, 5e-9))
    m.y = pyo.Var(bounds=(0, 4e6))
    m.row = pyo.Constraint(expr=1e6 * m.x + 1e-6 * m.y <= 3e-3)
    m.objective = pyo.Objective(expr=2e9 * m.x + 1e-6 * m.y, sense=sense)
    result = tm.solve(m, "highs")
    # A unit of the row brings 2000 through x and 1 through y: all of it goes to x = 3e-9 and y = 0;
    # the least value is at x = -3e-9 and y = 0.
    expected = 6.0 if sense == pyo.maximize else -6.0
    assert result.objective == pytest.approx(expected, rel=1e-9)
    assert result.certificate.verdict == "CERTIFIED"
