"""Gap tables: what may enter a gap, what is refused, what is flagged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.references import reference_solutions

SETTINGS = {"penalty": 1.0, "big_m": "derived"}


@pytest.fixture(scope="module")
def data():
    return outlier_data("clustered", n=30, d=2, sigma=0.3, seed=4)


@pytest.fixture(scope="module")
def table(data):
    rows = [
        ("zero_one_relaxed", {"big_m": 1000.0}),
        "zero_one_relaxed",
        "zero_one_hinge",
        ("zero_one_hinge", {"big_m": 1.0}),
        ("conic_fixed", {"strengthening": "scaled"}),
        "conic_sdp",
        "conic_sdp_dual",
    ]
    return tm.compare(data, rows, parameters=SETTINGS)


def test_bounds_are_ordered_and_none_exceeds_the_optimum(table):
    by_label = {row.label: row for row in table.rows}
    huge = by_label["zero_one_relaxed:big_m=1000.0"].bound
    derived = by_label["zero_one_relaxed"].bound
    hinge = by_label["zero_one_hinge"].bound
    fixed = by_label["conic_fixed:strengthening=scaled"].bound
    sdp, dual = by_label["conic_sdp"].bound, by_label["conic_sdp_dual"].bound
    assert huge < hinge <= derived + 1e-7
    assert fixed <= sdp + 1e-6
    assert dual == pytest.approx(sdp, rel=1e-6)
    assert max(huge, derived, hinge, fixed, sdp, dual) <= table.upper
    assert table.violations() == []


def test_the_usual_hinge_loss_is_no_bound(table):
    hinge = next(row for row in table.rows if row.label == "zero_one_hinge:big_m=1.0")
    assert hinge.bound is None
    assert "below the proven value" in hinge.remark
    assert table.absolute_gap(hinge) is None
    assert hinge.value > table.upper, "and on this instance it would be a wrong one"


def test_frame_and_latex_hold_every_row(table):
    frame = table.to_frame()
    assert list(frame.columns) == [
        "formulation", "value", "certified bound", "claimed bound", "absolute gap", "relative gap",
        "claimed gap", "solver", "status", "seconds", "certificate",
    ]  # fmt: skip
    assert len(frame) == len(table.rows) + 1
    latex = table.to_latex()
    assert latex.count(r"\\") == len(frame) + 1
    assert r"zero\_one\_big\_m (exact)" in latex
    two = table.to_latex(columns=["relative gap", "formulation"]).splitlines()
    assert two[2] == r"relative gap (\%) & formulation \\"
    assert two[-3].endswith(r"& zero\_one\_big\_m (exact) \\")
    with pytest.raises(ValueError, match=r"columns must be one of .* got 'gap'"):
        table.to_latex(columns=["gap"])


def test_a_bound_above_the_best_point_is_a_flag_not_a_negative_gap(table):
    wrong = replace(table.rows[1], bound=table.upper + 1)
    broken = replace(table, rows=(wrong,))
    assert "exceeds the best point" in broken.violations()[0]
    assert broken.absolute_gap(wrong) is None
    assert broken.relative_gap(wrong) is None


def test_the_exact_problem_is_what_the_first_row_relaxes(data):
    table = tm.compare(data, ["c_svc_dual"], parameters={"C": 1.0})
    assert table.exact.formulation == "c_svc"
    assert (
        tm.compare(data, ["conic_sdp"], parameters=SETTINGS).exact.formulation == "zero_one_big_m"
    )
    foreign = pyo.ConcreteModel()
    with pytest.raises(ValueError, match="exact: no row is of the catalogue"):
        tm.compare(data, [foreign])


def test_a_row_at_another_price_is_refused(data):
    exact = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"))
    with pytest.raises(ValueError, match=r"penalty=2.0 and zero_one_big_m penalty=1.0"):
        tm.compare(data, [("conic_sdp", {"penalty": 2.0})], exact=exact)
    with pytest.raises(ValueError, match=r"intercept=none and zero_one_big_m intercept=penalised"):
        tm.compare(data, [("conic_sdp", {"penalty": 1.0, "intercept": "none"})], exact=exact)


@pytest.mark.parametrize(
    ("word", "own", "wanted"),
    [
        ("class_balance", "balanced", "uniform"),
        ("class_balance", np.full(14, 1 / 14), "uniform"),
        ("scale", "perez_cruz", "takeda"),
    ],
)
def test_a_row_with_other_weights_or_scale_is_refused(word, own, wanted):
    data = reference_solutions.points("unbalanced", 3)
    common = {"nu": 0.3}
    exact = tm.solve(tm.extended_nu_svc_ball(data, **common, **{word: wanted}))
    with pytest.raises(ValueError, match=f"{word}=.*it would bound another problem"):
        tm.compare(data, [("extended_nu_svc_ball", common | {word: own})], exact=exact)


def test_rows_by_name_need_data():
    exact = tm.solve(
        tm.zero_one_big_m(tm.TrainingData([[0.0], [1.0]], [-1, 1]), penalty=1.0, big_m=10.0)
    )
    with pytest.raises(ValueError, match="compare needs data"):
        tm.compare(None, ["conic_sdp"], exact=exact, parameters=SETTINGS)
