"""Scaled models themselves: powers of two, the same for all units, and an exact way back."""

from __future__ import annotations

import numpy as np
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
