"""Scaled models themselves: powers of two, the same for all units, and an exact way back."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.solvers import (
    Limits,
    StandardForm,
    badly_scaled,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    highs,
    primal_residual,
    scaling,
    standard_form,
    unpack,
)
from tests.metamorphic.certified import drawn
from tests.metamorphic.changes import Trial, scaled_by
from tests.metamorphic.families import FAMILIES
from tests.support.bounds import scaled_bound
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE

ONE_OF_A_CLASS = [
    "extended_nu_svc_linearised", "c_svc", "max_margin_svc", "conic_fixed", "conic_sdp",
    "conic_sdp_dual", "zero_one_big_m",
]  # fmt: skip


def form_of(trial: Trial) -> StandardForm:
    model = CATALOGUE[trial.name].build(trial.data, **trial.parameters, intercept=trial.mode)
    return standard_form(model)


def numbers(form: StandardForm) -> NDArray[np.float64]:
    """All numbers of a model in the order in which they stand."""
    parts = [form.matrix.data, form.objective.Q.data, form.objective.a, form.row_lower,
             form.row_upper, form.lower, form.upper]  # fmt: skip
    for row in form.quadratic:
        parts += [row.body.v, row.body.a, np.array([row.body.constant, row.lower, row.upper])]
    for psd in form.psd:
        parts += [psd.F.data, psd.g]
    return np.concatenate(parts)


def test_factors_are_powers_of_two_and_integers_keep_theirs() -> None:
    for name in ONE_OF_A_CLASS:
        form = form_of(drawn(name, 3, "none"))
        found = scaling(form)
        one = np.array([found.objective])
        for factors in (found.columns, found.rows, found.quadratic, *found.psd, one):
            assert (np.log2(factors) % 1 == 0).all()
        assert (found.columns[form.integer] == 1).all()


@pytest.mark.parametrize(("name", "unit"), in_turn(ONE_OF_A_CLASS, [2.0**-24, 2.0**24]))
def test_data_in_other_units_are_the_same_model_once_scaled(name: str, unit: float) -> None:
    """Up to the rounding of factors to powers of two, some of which meet in a number."""
    trial = drawn(name, 3, "none")
    there = scaled_by(trial, unit).after
    near, far = numbers(scaling(form_of(trial)).form), numbers(scaling(form_of(there)).form)
    assert near.shape == far.shape
    known = np.isfinite(near) & (near != 0)
    np.testing.assert_array_equal(far[~known], near[~known])
    ratio = far[known] / near[known]
    np.testing.assert_allclose(np.log2(ratio), 0, atol=4.01)
    sizes = np.abs(far[known])
    assert sizes.min(initial=1.0) > 1e-4
    assert sizes.max(initial=1.0) < 1e4


@pytest.mark.parametrize("name", ONE_OF_A_CLASS)
@settings(max_examples=3 if FULL else 1)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_point_keeps_its_objective_and_its_feasibility(name: str, seed: int) -> None:
    trial = drawn(name, seed, "none")
    form = form_of(scaled_by(trial, 2.0**20).after)
    found = scaling(form)
    rng = np.random.default_rng(seed)
    x = found.columns * rng.standard_normal(form.n)
    inside = x / found.columns
    assert found.objective * found.form.objective.at(inside) == pytest.approx(
        form.objective.at(x), rel=1e-12
    )
    np.testing.assert_array_equal(found.form.A @ inside, found.rows * (form.A @ x))
    for row, own, factor in zip(form.quadratic, found.form.quadratic, found.quadratic, strict=True):
        assert own.body.at(inside) == pytest.approx(factor * row.body.at(x), rel=1e-12)
    for psd, own_psd in zip(form.psd, found.form.psd, strict=True):
        before = np.linalg.eigvalsh(_matrix(psd.F @ x + psd.g))
        after = np.linalg.eigvalsh(_matrix(own_psd.F @ inside + own_psd.g))
        # Of an eigenvalue of 0 the roundings choose the sign.
        decided = abs(before[0]) > 1e-12 * np.abs(before).max()
        assert not decided or (before[0] >= 0) == (after[0] >= 0)


def _matrix(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    k = int(np.sqrt(2 * len(entries)))
    matrix = np.zeros((k, k))
    matrix[np.tril_indices(k)] = entries
    return matrix + np.tril(matrix, -1).T


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
    form = form_of(scaled_by(drawn(name, 4, "none"), unit).after)
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


@pytest.mark.parametrize(("name", "unit"), [
    *in_turn(CONIC, [1e-6, 1e3, 1e6]), *in_turn(CONIC[:3], [1e6, 1e-6])
])  # fmt: skip
def test_what_multipliers_lose_on_the_way_is_found_again(name: str, unit: float) -> None:
    """There and back they prove nearly the same, also where f is 1e24 times g or g times f."""
    form = form_of(scaled_by(drawn(name, 4, "none"), unit).after)
    scaled = scaling(form).conic(conic_form(form, classify(form)))
    claim = clarabel.run_conic(scaled.conic, len(form.rows), Limits(options=clarabel.CLOSER))
    assert claim.x is not None
    assert claim.duals is not None
    z = conic_multipliers(scaled.conic, claim.duals)
    back = scaled.scaled_multipliers(scaled.multipliers(z))
    first, second = (scaled_bound(form, scaled, claim.x, number) for number in (z, back))
    assert first is not None
    assert second == pytest.approx(first, rel=1e-7)


@pytest.mark.parametrize(("name", "unit"), in_turn(CONIC, [1e-7, 1.0, 1e7]))
def test_a_bound_in_numbers_near_1_is_a_bound(name: str, unit: float) -> None:
    """Not above the optimum, whatever multipliers it starts from."""
    trial = scaled_by(drawn(name, 4, "none"), unit).after
    form = form_of(trial)
    conic = conic_form(form, classify(form))
    scaled = scaling(form).conic(conic)
    claim = clarabel.run_conic(scaled.conic, len(form.rows), Limits(options=clarabel.CLOSER))
    assert claim.x is not None
    assert claim.duals is not None
    optimum = float(form.objective.at(scaled.point(claim.x)))
    rng = np.random.default_rng(0)
    z = conic_multipliers(scaled.conic, claim.duals)
    for disturbance in (0.0, 1e-6, 1e-2):
        moved = z * (1 + disturbance * rng.random(len(z)))
        found = scaled_bound(form, scaled, claim.x, moved)
        if found is not None:
            assert found <= optimum + 1e-7 * abs(optimum)
        assert found is not None or disturbance > 0


def test_claims_come_back_with_points_multipliers_and_bounds_of_the_model() -> None:
    form = form_of(scaled_by(drawn("extended_nu_svc_linearised", 4, "free"), 1e6).after)
    found = scaling(form)
    there = highs.run(found.form, classify(form), Limits())
    here = found.claim(there)
    plain = highs.run(form, classify(form), Limits())
    assert here.objective == pytest.approx(plain.objective, rel=1e-9)
    assert here.x is not None
    assert plain.x is not None
    assert form.objective.at(here.x) == pytest.approx(here.objective, rel=1e-12)
    assert primal_residual(form, here.x)[0] < 1e-9
    assert here.duals is not None
    # Reduced costs c - A'y of the model itself, from the multipliers that came back.
    reduced = form.objective.a - form.A.T @ here.duals.rows
    size = np.abs(form.objective.a) + abs(form.A).T @ np.abs(here.duals.rows)
    assert (np.abs(reduced - here.duals.bounds) <= 1e-12 * size).all()
    value = (
        form.row_lower[np.isfinite(form.row_lower)] @ here.duals.rows[np.isfinite(form.row_lower)]
    )
    assert value == pytest.approx(here.objective, rel=1e-9)


def test_only_numbers_that_differ_by_four_powers_of_ten_are_scaled_at_once() -> None:
    trial = drawn("c_svc", 3, "none")
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


def test_every_class_of_the_catalogue_that_is_scaled_is_looked_at_here() -> None:
    classes = {CATALOGUE[name].problem_class for name in ONE_OF_A_CLASS}
    assert classes >= {"LP", "QP", "SOCP", "SDP", "MIQP"}
    assert set(ONE_OF_A_CLASS) <= set(FAMILIES)
