"""Losses of Table 1 in Lee 2020 with three regularisers, against cvxpy, sklearn, closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.linear_model import LogisticRegression

import tightmargin as tm
from tests.inside.formulations import LOSSES, REGULARISERS, gram_data
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


def test_deviance_is_logistic_regression() -> None:
    found = tm.solve(tm.deviance_svc(DATA, price=0.05))
    fitted = LogisticRegression(C=1 / (2 * 0.05 * DATA.n), tol=1e-12, max_iter=100_000)
    fitted.fit(DATA.X, DATA.y)
    assert found.values["w"] == pytest.approx(fitted.coef_[0], abs=1e-4)
    assert found.values["b"] == pytest.approx(fitted.intercept_[0], abs=1e-4)


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
