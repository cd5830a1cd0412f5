"""Losses of Table 1 in Lee 2020 with three regularisers, and powers of the hinge, by cvxpy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import (
    LOSSES,
    ONE,
    REGULARISERS,
    gram_data,
    power_cones,
    power_values,
)
from tests.references import losses
from tests.references.reference_solutions import points
from tests.support.covering import covering
from tightmargin.solvers import Verdict

DATA = points("overlapping", 1, n=10, d=3)
WEIGHTED = tm.TrainingData(DATA.X, DATA.y, sample_weight=[2, 1, 3, 1, 2, 3, 1, 0.5, 1, 2])
PRICE, BEND, GROUPS = 0.07, 0.4, ("first", 2, "first")
CLASSES = {"ridge": "QP", "l1": "QP", "group": "SOCP"}


def built(loss: str, regulariser: str, mode: str, data: Any = WEIGHTED) -> pyo.ConcreteModel:
    groups = GROUPS if regulariser == "group" else None
    words: dict[str, Any] = {"price": PRICE, "regulariser": regulariser, "groups": groups}
    if loss == "deviance":
        return tm.deviance_svc(data, intercept=mode, **words)
    return tm.regularised_svc(data, loss=loss, bend=BEND, intercept=mode, **words)


@pytest.mark.parametrize(
    ("loss", "regulariser", "mode"),
    covering((*LOSSES, "deviance"), REGULARISERS, ["free", "penalised", "none"]),
)
def test_optimum_is_that_of_the_witness(loss: str, regulariser: str, mode: str) -> None:
    found = tm.solve(built(loss, regulariser, mode))
    expected = losses.regularised(
        WEIGHTED, mode, loss, PRICE, regulariser, bend=BEND, groups=GROUPS
    )
    assert found.objective == pytest.approx(expected, rel=1e-7)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "paper"
    kind = "EXP" if loss == "deviance" else CLASSES[regulariser]
    assert found.problem_class == ("LP" if (loss, regulariser) == ("hinge", "l1") else kind)


@pytest.mark.parametrize("loss", ["huberised", "deviance"])
def test_a_kernel_matrix_is_its_points(loss: str) -> None:
    kernel = gram_data(DATA, kernel="linear")
    words: dict[str, Any] = {"price": PRICE}
    build: Any = tm.deviance_svc if loss == "deviance" else tm.regularised_svc
    words |= {} if loss == "deviance" else {"loss": loss}
    ours, points_alone = tm.solve(build(kernel, **words)), tm.solve(build(DATA, **words))
    assert ours.certificate.verdict is Verdict.CERTIFIED
    assert ours.objective == pytest.approx(points_alone.objective, rel=1e-6)


def separable(seed: int) -> tm.TrainingData:
    """Points that the first feature separates, so that small prices ask for large scores."""
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(26, 4)), np.where(np.arange(26) % 2, 1, -1)
    X[:, 0] = y * (1 + r.random(26))
    return tm.TrainingData(X, y)


@pytest.mark.parametrize(
    ("regulariser", "exponent", "seed"), covering(["l1", "group"], [-20, 0, 20], [0, 1])
)
def test_a_size_that_grows_with_the_weights_is_proven_in_any_unit(
    seed: int, exponent: int, regulariser: str
) -> None:
    """In s X the weights are w / s: a size falls by s. The optimum is some thousandths."""
    s, groups = 2.0**exponent, [0, 1, 0, 1] if regulariser == "group" else None
    data, words = separable(seed), {"regulariser": regulariser, "groups": groups}
    moved = tm.TrainingData(data.X * s, data.y)
    scaled = tm.solve(tm.deviance_svc(moved, price=0.0014 * s, **words))
    expected = losses.regularised(
        data, "free", "deviance", 0.0014, regulariser, bend=BEND, groups=[0, 1, 0, 1]
    )
    assert scaled.certificate.verdict is Verdict.CERTIFIED
    assert scaled.objective == pytest.approx(expected, rel=1e-5)


# --- powers of the hinge loss: Cepeda, Gomez & Han 2024, (1) -------------------------------------

PENALTY = 0.7


@pytest.mark.parametrize(
    ("exponent", "mode"),
    list(zip([1, 2, "4/3", 1.5, "33/10", 7], ("free", "penalised", "none") * 2, strict=True)),
)
def test_the_optimum_of_a_power_is_that_of_power_cones(exponent: Any, mode: str) -> None:
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
