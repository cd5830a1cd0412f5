"""Perez-Cruz et al. (39)-(41): the dual in lambda beside the primal, (40), and the nu-machine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import tightmargin as tm
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points

DATA = points("overlapping", 1, n=10)
BELOW, ABOVE = 0.3, 0.6  # nu_bar is 0.408
ROOT2 = np.sqrt(2.0)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_it_reaches_minus_the_primal_in_the_papers_scale(intercept: str) -> None:
    """The primal on its ball by another method; lambda is minus half of its value, KKT (32)."""
    weights = np.full(DATA.n, 1 / DATA.n)
    known = reference_solutions.nu_risk_in_ball(DATA, intercept, ABOVE, weights)
    model = tm.extended_nu_svc_dual(DATA, nu=ABOVE, scale="perez_cruz", intercept=intercept)
    found = tm.solve(model)
    assert found.certificate.verdict.value == "CERTIFIED"
    assert found.objective == pytest.approx(-ROOT2 * DATA.n * known, rel=1e-6)
    multiplier = DATA.n * float(found.values["norm_multiplier"])
    assert multiplier == pytest.approx(-ROOT2 * DATA.n * known / 2, rel=1e-5)
    w = found.values["v"]
    norm = float(w @ w) + (float(found.values["v_b"]) ** 2 if intercept == "penalised" else 0.0)
    assert multiplier == pytest.approx(DATA.n * np.sqrt(norm / 2), rel=1e-6)  # (40)


def test_for_fixed_multipliers_lambda_is_the_root_of_40() -> None:
    """-||n v||^2 / (2 lambda) - lambda over lambda alone, by a search in one variable."""
    found = tm.solve(tm.extended_nu_svc_dual(DATA, nu=ABOVE, scale="perez_cruz"))
    v = DATA.n * found.values["v"]
    best = minimize_scalar(lambda t: v @ v / (2 * t) + t, bounds=(1e-3, 1e3), method="bounded")
    assert best.fun == pytest.approx(found.objective, rel=1e-6)
    assert best.x == pytest.approx(DATA.n * float(found.values["norm_multiplier"]), rel=1e-3)


def test_below_nu_bar_it_is_0_and_says_so() -> None:
    found = tm.solve(tm.extended_nu_svc_dual(DATA, nu=BELOW), absolute_gap=1e-8)
    assert found.certificate.verdict.value == "CERTIFIED"
    assert abs(found.objective) < 1e-8
    assert "says nothing of extended_nu_svc" in found.message
    assert found.certificate.facts["degenerate"].startswith("v = 0")
    assert tm.solve(tm.extended_nu_svc(DATA, nu=BELOW)).objective > 1e-2
    with pytest.raises(ValueError, match="says nothing of extended_nu_svc"):
        tm.FormulationClassifier("extended_nu_svc_dual", nu=BELOW).fit(DATA.X, DATA.y)
