"""What a gap is relative to: a quantity in units of the objective, at most max(1, |f|)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.solvers import (
    LocalQuadratic,
    PsdRow,
    Quadratic,
    QuadraticRow,
    StandardForm,
    is_tiny,
    objective_scale,
    objective_unit,
    standard_form,
)
from tests.references import reference_solutions
from tests.support.covering import FULL
from tests.support.documented_models import form_of
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import Certificate, Verdict

DATA = reference_solutions.points("overlapping", 5, n=12)


def test_the_unit_is_the_optimum_of_one_row_the_depth_of_a_parabola_and_1_of_nothing() -> None:
    """Min q x with a x >= b is q b / a; p x^2 / 2 - q x is -q^2 / (2 p) at its lowest."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.row = pyo.Constraint(expr=20.0 * m.x >= 5.0)
    m.objective = pyo.Objective(expr=3e-7 * m.x)
    assert objective_unit(standard_form(m)) == pytest.approx(3e-7 * 5.0 / 20.0, rel=1e-8)
    m.row.deactivate()
    m.objective.set_value(0.5 * 4e-6 * m.x**2 - 3e-4 * m.x)
    assert objective_unit(standard_form(m)) == pytest.approx((3e-4) ** 2 / 4e-6, rel=1e-8)
    m.objective.set_value(0.0)
    assert objective_unit(standard_form(m)) == 1.0


def test_the_scale_is_the_unit_at_least_the_objective_and_at_most_the_usual_one() -> None:
    for objective, unit, scale in ((1e9, 1e12, 1e9), (0.1, 1e9, 1.0), (0.1, 1e-9, 0.1),
                                   (0.1, 0.5, 0.5), (-5.0, 1e-300, 5.0)):  # fmt: skip
        assert objective_scale(objective, unit) == scale


def in_other_units(form: StandardForm, D: Any, E: Any, goal: float) -> StandardForm:
    """The same model for x' = x / D, rows times E and the objective times `goal`."""
    columns, rows = sp.diags(D), sp.diags(E)

    def scaled(body: LocalQuadratic, by: float) -> LocalQuadratic:
        d = D[body.index]
        return replace(body, v=by * body.v * d[body.i] * d[body.j], a=by * body.a * d,
                       constant=by * body.constant)  # fmt: skip

    return replace(
        form,
        lower=form.lower / D,
        upper=form.upper / D,
        objective=Quadratic(
            (goal * (columns @ form.objective.Q @ columns)).tocsr(),
            goal * D * form.objective.a,
            0.0,
        ),
        matrix=(rows @ form.matrix @ columns).tocsr(),
        row_lower=E * form.row_lower,
        row_upper=E * form.row_upper,
        quadratic=tuple(
            QuadraticRow(scaled(row.body, 4.0), 4.0 * row.lower, 4.0 * row.upper, row.data)
            for row in form.quadratic
        ),
        psd=tuple(PsdRow((row.F @ columns).tocsr(), row.g, row.data) for row in form.psd),
    )


SOME = (
    "c_svc", "conic_sdp", "conic_fixed", "nu_svc_dual", "rsvm", "zero_one_big_m", "max_margin_svc",
    "extended_nu_svc",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(CATALOGUE) if FULL else SOME)
def test_units_move_the_unit_and_nothing_else(name: str) -> None:
    """Columns, rows and the objective of every entry in random units."""
    form, rng = form_of(name), np.random.default_rng(len(name))
    if form.goal is not None:
        return  # an objective with exp or log has no coefficients to be measured by
    D, E = (2.0 ** rng.integers(-8, 9, size=k) for k in (form.n, len(form.rows)))
    there = objective_unit(in_other_units(form, D, E, 2.0**-13))
    assert there == pytest.approx(objective_unit(form) * 2.0**-13, rel=1e-5)


def test_a_small_optimum_is_certified_in_its_own_units_and_one_of_zero_where_it_is_zero() -> None:
    c = 2.0**13
    result = tm.solve(tm.c_svc(TrainingData(c * DATA.X, DATA.y), C=0.7 / c**2))
    assert 0 < result.objective < 1e-6
    assert result.certificate.verdict is Verdict.CERTIFIED
    scale = result.certificate.facts["unit"]
    assert result.objective <= scale < 10 * result.objective
    assert result.absolute_gap <= 1e-6 * scale
    assert result.relative_gap is not None, "3e-8 is small, and it is no 0"
    small = Certificate(Verdict.CERTIFIED, facts={"unit": 1e-12})
    assert is_tiny(1e-7, Certificate(Verdict.CERTIFIED))
    assert [is_tiny(number, small) for number in (1e-13, 1e-19, 0.0)] == [False, True, True]
    # Below nu_bar w = 0 is optimal: point and bound are 0 without any rounding.
    result = tm.solve(tm.extended_nu_svc_ball(DATA, nu=0.5 * tm.theory.nu_range(DATA).nu_bar))
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate.reason
    assert result.objective == result.bound == 0.0
    assert result.relative_gap is None


def test_beside_an_optimum_of_zero_a_gap_is_closed_by_the_callers_word_alone() -> None:
    """At nu_bar, itself rounded, the optimum is some 1e-17: nothing relative to it can be shown."""
    nu = tm.theory.nu_range(DATA).nu_bar
    plain = tm.solve(tm.extended_nu_svc_ball(DATA, nu=nu))
    assert plain.certificate.verdict is Verdict.NOT_CERTIFIED
    assert plain.bound - 1e-15 <= 0.0 <= plain.objective + 1e-7
    asked = tm.solve(tm.extended_nu_svc_ball(DATA, nu=nu), absolute_gap=1e-7)
    assert asked.certificate.verdict is Verdict.CERTIFIED, asked.certificate.reason
    assert asked.objective == pytest.approx(0.0, abs=1e-7)
    assert asked.certificate.facts["absolute_gap"] == 1e-7
