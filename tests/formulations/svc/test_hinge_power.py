"""(1) of Cepeda, Gomez & Han 2024 for exponents from 1 on, against power cones and enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import ONE, power_cones, power_values
from tests.references import losses
from tests.references.reference_solutions import points
from tightmargin.solvers import Verdict

DATA = points("overlapping", 1, n=10, d=3)
WEIGHTED = tm.TrainingData(DATA.X, DATA.y, sample_weight=[2, 1, 3, 1, 2, 3, 1, 0.5, 1, 2])
PENALTY = 0.7
EXPONENTS = ["4/3", 1.5, "33/10", 7]


@pytest.mark.parametrize(
    ("exponent", "mode"),
    list(zip([1, 2, *EXPONENTS], ("free", "penalised", "none") * 2, strict=True)),
)
def test_optimum_is_that_of_power_cones(exponent: Any, mode: str) -> None:
    found = tm.solve(
        tm.hinge_power_svc(WEIGHTED, penalty=PENALTY, exponent=exponent, intercept=mode)
    )
    expected = losses.hinge_power(WEIGHTED, mode, PENALTY, float(Fraction(exponent)))
    assert found.objective == pytest.approx(expected, rel=1e-7)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "paper"
    assert found.problem_class == ("QP" if exponent in (1, 2) else "SOCP")


def test_exponent_1_is_the_usual_machine() -> None:
    ours = tm.solve(tm.hinge_power_svc(DATA, penalty=1.4, exponent=1, intercept="free"))
    assert ours.objective == pytest.approx(2 * tm.solve(tm.c_svc(DATA, C=0.7)).objective, rel=1e-8)


@pytest.mark.parametrize("exponent", ["3/2", "4/3", "5", "64/63", "16", "33/10", "61/7"])
def test_values_meet_every_cone_in_rational_arithmetic_and_no_smaller_power_does(
    exponent: str,
) -> None:
    e = Fraction(exponent)
    x = np.concatenate([[0.0, 5e-324, 1e-300, 1e-60, 1.0], np.geomspace(1e-9, 1e9, 19)])
    found = power_values(x, e) | {"x": x, ONE: np.ones_like(x)}
    for cone in power_cones(e):
        sides = zip(found[cone.inner], found[cone.left], found[cone.right], strict=True)
        assert all(Fraction(v) ** 2 <= Fraction(s) * Fraction(r) for v, s, r in sides)
    usual = slice(4, None)
    assert found["t"][usual] == pytest.approx(x[usual] ** float(e), rel=1e-11)
    least = {"x": x[usual], ONE: np.ones(20), "t": x[usual] ** float(e) * (1 - 1e-6)}
    *means, last = power_cones(e)
    for cone in means:
        least[cone.inner] = np.sqrt(least[cone.left] * least[cone.right])
    assert (least["x"] ** 2 > least[last.left] * least[last.right]).all()
