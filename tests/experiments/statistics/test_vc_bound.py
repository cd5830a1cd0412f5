"""The VC bound by hand, and what minimising it over norm bounds chooses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.inside.experiments import ERROR_RATE, MEAN_HINGE, risk_table, vc_bound
from tests.inside.experiments import VC_BOUND_FORMS as FORMS
from tests.inside.solvers import RsvmPoint, point_by_formula
from tests.support.covering import covering
from tightmargin.formulations import TrainingData

ETA = 4 * math.exp(-2)  # ln(eta/4) = -2
# Bi & Vapnik 2003, Table 2: H^2 / n and R_trn in percent, for n = 200 and n = 1000.
RATIOS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
PRINTED_RISKS = {
    200: (11.5, 9.5, 6.0, 4.5, 3.5, 3.0, 2.5, 1.5, 1.5, 0.5, 0.0, 0.0),
    1000: (10.8, 9.8, 8.1, 6.8, 5.6, 5.4, 5.2, 4.6, 4.3, 3.7, 3.2, 2.8),
}


def test_the_three_forms_by_hand() -> None:
    """n = 2 and eta = 4 exp(-2), so that eta/(2n) = exp(-2); h = 4 = 2n, so that ln(2n/h) = 0."""
    vapnik = vc_bound(0.0, 4, 2, ETA)
    assert vapnik.capacity == pytest.approx(4 * (4 * 1 + 2) / 2)
    assert vapnik.bound == pytest.approx(12.0)  # risk 0: the bound is e
    assert vc_bound(24.0, 4, 2, ETA).bound == pytest.approx(24 + 6 * (1 + 3))
    printed = vc_bound(0.0, 4, 2, ETA, "printed")
    assert printed.capacity == pytest.approx((4 * 3 + 2) / 2)
    assert printed.bound == pytest.approx(14.0)  # risk 0: the bound is 2q
    assert vc_bound(14.0, 4, 2, ETA, "printed").bound == pytest.approx(14 + 7 * (1 + 3))
    fixed = vc_bound(0.0, 4, 2, ETA, "printed_h_fixed")
    assert fixed.capacity == pytest.approx(vapnik.capacity / 4)
    assert fixed.bound == pytest.approx(6.0)
    # The logarithm itself: h = 2n / e has ln(2n/h) = 1.
    h = 2000 / math.e
    assert vc_bound(0.0, h, 1000, ETA).bound == pytest.approx(4 * (2 * h + 2) / 1000)


@pytest.mark.parametrize(("n", "form"), covering([200, 1000], FORMS))
def test_on_the_papers_digits_every_form_chooses_the_smallest_h(n: int, form: str) -> None:
    """From the printed training risks; the recommended range does not come from the bound."""
    found = [
        vc_bound(percent / 100, ratio * n + 1, n, form=form)
        for ratio, percent in zip(RATIOS, PRINTED_RISKS[n], strict=True)
    ]
    assert int(np.argmin([row.bound for row in found])) == 0
    if form == "vapnik":
        assert found[0].bound == pytest.approx({200: 1.011, 1000: 0.861}[n], abs=5e-4)
        assert [row.vacuous for row in found] == [n == 200] + [True] * 11
        assert found[-1].note == "vacuous: a risk is at most 1"
        assert (found[0].note == "") == (n == 1000)


# --- over norm bounds ----------------------------------------------------------------------------


def point(H: float, w: list[float], b: float) -> RsvmPoint:
    attained = point_by_formula("a test", 0.0, 0.0, "for a test")
    return RsvmPoint(H, np.array(w), b, np.zeros(4), 0.0, attained, None, 0.0)


def test_a_table_of_risks_by_hand() -> None:
    """Points 2, 1, 1 and -2 on a line, the third with the wrong label; R = 2 and d = 1."""
    data = TrainingData([[2.0], [1.0], [1.0], [-2.0]], [1, 1, -1, -1])
    table = risk_table(data, [point(0.25, [0.25], 0.0), point(1.0, [1.0], -1.0)], eta=0.1)
    first, second = table.rows
    # Margins .5, .25, -.25, .5 and 1, 0, 0, 3: on the hyperplane a point is an error.
    assert (first.error_rate, first.mean_hinge) == (0.25, (0.5 + 0.75 + 1.25 + 0.5) / 4)
    assert (second.error_rate, second.mean_hinge) == (0.5, 0.5)
    assert (first.h, second.h) == (1.25, 2.0)
    for row in table.rows:
        for form in FORMS:
            expected = vc_bound(row.mean_hinge, row.h, 4, 0.1, form)
            assert row.bounds[MEAN_HINGE, form] == expected
            expected = vc_bound(row.error_rate, row.h, 4, 0.1, form)
            assert row.bounds[ERROR_RATE, form] == expected
    frame = table.to_frame()
    assert frame["norm_bound_squared_over_n"].tolist() == [0.0625 / 4, 0.25]
    assert frame["vapnik_bound_of_error_rate"][1] == second.bounds[ERROR_RATE, "vapnik"].bound
    assert frame["printed_capacity"][0] == first.bounds[MEAN_HINGE, "printed"].capacity
    assert "with 0.8 at least" in table.notes[0]
    assert "vapnik, printed, printed_h_fixed" in table.notes[-1]


def test_the_least_bound_may_be_anywhere_and_differ_by_risk() -> None:
    """The error rate falls at the second H by more than its capacity costs."""
    rng = np.random.default_rng(0)
    y = np.resize([1.0, -1.0], 2000)
    data = TrainingData(
        np.column_stack([y * 0.9, np.full(2000, 0.1)]) + rng.normal(size=(2000, 2)) * 0.01, y
    )
    rows = [point(1.0, [0.0, 1.0], -0.1), point(2.0, [2.0, 0.0], 0.0), point(9.0, [9.0, 0.0], 0.0)]
    table = risk_table(data, rows)
    assert table.best == dict.fromkeys(FORMS, 1)
    assert table.best_by_hinge["vapnik"] == 1
    assert table.rows[1].bounds[ERROR_RATE, "vapnik"].vacuous is False
    assert len(table.notes) == 2
    # Of one capacity: error rates 1/4 and 1/2, mean hinge losses 3/4 and 1/2.
    data = TrainingData([[2.0], [1.0], [1.0], [-2.0]], [1, 1, -1, -1])
    table = risk_table(data, [point(1.0, [0.25], 0.0), point(1.0, [1.0], -1.0)])
    assert table.best == dict.fromkeys(FORMS, 0)
    assert table.best_by_hinge == dict.fromkeys(FORMS, 1)
