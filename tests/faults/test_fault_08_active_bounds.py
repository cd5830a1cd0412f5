"""Row 8: a bound on the hyperplane that holds the optimum back is flagged in the result.

The norm bound of the rigorous SVM is meant to: there the result says when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import derive_intercept_bound
from tests.inside.solvers import rsvm_at_limit, rsvm_point
from tests.references.brute_force import zero_one_optima
from tests.references.reference_solutions import points
from tightmargin.solvers import Verdict, norm_limit

DATA = points("overlapping", 0, n=8)
FREE = tm.solve(tm.c_svc(DATA, C=1.0))


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


def test_row_08_an_unproven_intercept_bound_is_no_bound() -> None:
    """One below the proven value cuts off; the table leaves the row out."""
    needed = derive_intercept_bound(DATA, penalty=1.0)
    table = tm.compare(
        DATA,
        [("conic_sdp", {"intercept_bound": size}) for size in (0.5 * needed, 1.001 * needed)],
        parameters={"penalty": 1.0, "big_m": "derived", "intercept": "free"},
    )
    small, enough = table.rows
    assert small.bound is None
    assert "below the proven value" in small.remark
    assert enough.bound <= zero_one_optima(DATA, [1.0], "free")[0] + 1e-6


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


@pytest.mark.parametrize(("where", "end"), [("b", "lower"), ("w[0]", "upper")])
def test_row_08_a_box_put_on_the_hyperplane_is_flagged_when_active(where: str, end: str) -> None:
    """The box out of reach is not."""
    best = float(FREE.values["b"] if where == "b" else FREE.values["w"][0])
    for room, active in ((-0.2, True), (0.2, False)):
        model = tm.c_svc(DATA, C=1.0)
        x = model.find_component(where)
        if end == "upper":
            x.setub(best + room)
        else:
            x.setlb(best - room)
        result = tm.solve(model)
        assert (where in result.certificate.facts.get("active_bounds", [])) == active
        assert (result.objective > FREE.objective + 1e-6) == active
        assert (f"{where}: a bound is active" in result.message) == active


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


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, "2", True, [1.0]])
def test_row_08_a_norm_bound_that_is_no_positive_number_is_refused(bound: Any) -> None:
    for build in (tm.rsvm, tm.rsvm_dual, tm.rsvm_dual_perspective):
        with pytest.raises(ValueError, match="norm_bound"):
            build(DATA, norm_bound=bound)
    with pytest.raises(ValueError, match="norm_bound"):
        rsvm_at_limit(DATA, bound, LIMIT)


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


def test_row_08_a_norm_bound_above_the_limit_is_said_to_be_free() -> None:
    """The loss is that of no bound at all; the models say it, and so does our own point.

    At the limit itself gamma is anything in [0, g]: both ends are certified.
    """
    H = 3 * LIMIT.value
    primal = tm.solve(tm.rsvm(DATA, norm_bound=H), "clarabel")
    assert primal.objective == pytest.approx(LIMIT.least_loss, rel=1e-6)
    for build in (tm.rsvm_dual, tm.rsvm_dual_perspective):
        dual = tm.solve(build(DATA, norm_bound=H), "clarabel")
        assert dual.objective == pytest.approx(-LIMIT.least_loss, rel=1e-6)
        assert "gamma = 0" in dual.certificate.facts["degenerate"]
    point = rsvm_at_limit(DATA, H, LIMIT)
    assert (point.gamma, point.verdict) == (0.0, Verdict.CERTIFIED)
    assert LIMIT.place(H) == "above"
    for alpha, gamma in ((LIMIT.alpha, 0.0), (LIMIT.alpha_at_limit, LIMIT.gamma_range)):
        point = rsvm_point(DATA, LIMIT.value, alpha, (LIMIT.w, LIMIT.b))
        assert point.verdict is Verdict.CERTIFIED
        assert point.gamma == pytest.approx(gamma, rel=1e-9, abs=1e-12)
