"""What Cepeda, Gomez & Han 2024 misprint or leave unsaid; a model built on it fails here.

The second numerator of (14) is in test_equivalences.py, the variances of the generator are in
test_generators.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import conic_loss, hull_loss, zero_one_objective

PENALTY = 1.3


def test_the_value_of_proposition_1_keeps_its_gamma() -> None:
    """The proof prints -v^2 for the last term: 1/4 here, where the least cost over z is 7/16."""
    v, gamma, penalty = 0.5, 0.25, 1.0
    z = np.linspace(1e-6, 1 - 1e-6, 200_001)
    least = float(np.min(penalty * z + gamma * v**2 / z - gamma * v**2))
    printed = 2 * np.sqrt(penalty * gamma) * v - v**2
    assert least == pytest.approx(7 / 16, abs=1e-9)
    assert printed == 0.25
    assert float(conic_loss(v, gamma, penalty)) == pytest.approx(least, abs=1e-9)


def test_the_ends_of_z_are_limits() -> None:
    """z = 0 keeps the point, u >= 1; z = 1 violates it, u <= 1: (5b), which nobody needs."""
    v = np.array([-0.5, 0.0, 0.5])
    np.testing.assert_array_equal(np.isfinite(hull_loss(v, 0.0, 1.0)), [True, True, False])
    np.testing.assert_array_equal(np.isfinite(hull_loss(v, 1.0, 1.0)), [False, True, True])
    np.testing.assert_array_equal(hull_loss(0.0, [0.0, 0.3, 1.0], 2.0), np.zeros(3))


# --- which points z counts -----------------------------------------------------------------------

# One feature and no intercept; the margins of w = 1 are 1/2 (inside), 1 (on it) and 3.
LINE = tm.TrainingData([[0.5], [1.0], [-3.0]], [1, 1, -1])


def held(model: pyo.ConcreteModel, z: tuple[int, int, int]) -> bool:
    """Whether w = 1 with these z is a point of a model."""
    model.w[0].set_value(1.0)
    for variable, number in zip(model.z.values(), z, strict=True):
        variable.set_value(number)
    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        low, body, high = row.to_bounded_expression(evaluate_bounds=True)
        value = pyo.value(body)
        if (low is not None and value < low - 1e-12) or (high is not None and value > high + 1e-12):
            return False
    return True


@pytest.mark.parametrize("both", [False, True])
def test_z_counts_points_inside_the_margin_and_may_count_those_on_it(both: bool) -> None:
    """The paper speaks of misclassified points, u < 0; its rows say u < 1."""
    models: list[Any] = [
        tm.zero_one_big_m(LINE, penalty=PENALTY, big_m=9.0, intercept="none"),
        tm.zero_one_bilinear(LINE, penalty=PENALTY, intercept="none", both_sides=both),
    ]
    for model in models:
        assert held(model, (1, 0, 0))
        assert held(model, (1, 1, 0))
        assert not held(model, (0, 0, 0))
    # Only (5b) forbids z = 1 beyond the margin, where it costs and gains nothing.
    assert held(models[1], (1, 0, 1)) is not both
    objective = zero_one_objective(LINE, [1.0], 0.0, penalty=PENALTY, intercept="none")
    assert objective == 1 + PENALTY
