"""Row 8: a bound on the hyperplane that holds the optimum back is flagged in the result.

The norm bound of the rigorous SVM is meant to: there the result says when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tightmargin as tm
from tests.inside.solvers import rsvm_at_limit
from tests.references.reference_solutions import points
from tightmargin.solvers import norm_limit

DATA = points("overlapping", 0, n=8)


@pytest.mark.parametrize(
    ("build", "price"),
    [
        (tm.conic_sdp, {"penalty": 1.0}),
        (tm.conic_sdp_dual, {"penalty": 1.0}),
        (tm.conic_sdp_literal, {"penalty": 1.0}),
        (tm.conic_sdp_budget, {"budget": 0.05}),
    ],
)
def test_row_08_an_active_intercept_bound_is_flagged(
    build: Callable[..., Any], price: dict[str, float]
) -> None:
    """W_bb costs nothing, so it goes as far as it may, and the value is that of the bound."""
    model = build(DATA, **price, intercept="free", intercept_bound=2.0)
    result = tm.solve(model)
    assert result.certificate.facts["active_bounds"] == ["intercept_bound"]
    assert "intercept_bound: a bound is active" in result.message
    model.intercept_bound.set_value(3.0)
    assert abs(tm.solve(model).objective) < abs(result.objective) - 1e-3, "it depends on it"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (tm.conic_sdp_budget, {"budget": 0.25, "intercept": "free", "intercept_bound": 9.0}),
        (tm.conic_sdp, {"penalty": 1.0, "intercept": "penalised"}),
    ],
)
def test_row_08_a_bound_that_nobody_feels_is_not_active(build: Any, words: Any) -> None:
    """Of a budget that is never spent the relaxation is worth nothing: its optimum is 0."""
    result = tm.solve(build(DATA, **words))
    assert "active_bounds" not in result.certificate.facts
    assert "a bound is active" not in result.message
    if build is tm.conic_sdp_budget:
        assert result.objective == pytest.approx(0.0, abs=1e-6)


def test_row_08_bounds_that_the_builder_proves_are_not_flagged() -> None:
    """Keeping both points costs w = 1, which is the bound sqrt(2 penalty) of giving up on both."""
    model = tm.zero_one_bilinear(
        tm.TrainingData([[1.0], [-1.0]], [1, -1]), penalty=0.5, intercept="none"
    )
    for z in model.z.values():
        z.fix(0)
    result = tm.solve(model)
    assert result.values["w"][0] == pytest.approx(1.0, abs=1e-6)
    assert model.w[0].ub == pytest.approx(1.0)
    assert "active_bounds" not in result.certificate.facts
    model.w[0].setub(1.0)
    assert tm.solve(model).certificate.facts["active_bounds"] == ["w[0]"], "one of the user's is"


LIMIT = norm_limit(DATA)


def test_row_08_a_norm_bound_below_the_limit_is_active_and_has_a_price() -> None:
    H = 0.9 * LIMIT.value
    primal = tm.solve(tm.rsvm(DATA, norm_bound=H))
    dual = tm.solve(tm.rsvm_dual(DATA, norm_bound=H))
    assert primal.certificate.facts["norm_active"] is True
    assert "degenerate" not in dual.certificate.facts
    price = dual.certificate.facts["capacity_price"]
    assert price >= LIMIT.gamma_range * LIMIT.value * (1 - 1e-5), "E is convex in H"
    more = tm.solve(tm.rsvm(DATA, norm_bound=1.0001 * H)).objective
    assert primal.objective - more == pytest.approx(1e-4 * H * price, rel=0.05)
    with pytest.raises(ValueError, match="below the limit"):
        rsvm_at_limit(DATA, H, LIMIT)
