"""A point of weight 3 is three points: the optimum of weighted data is that of the points repeated.

The model of the repeated points knows nothing of weights, and is solved by a solver; what is proven
of the weighted one has to lie around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.base import clone

import tightmargin as tm
from tests.cases import CASES, modes
from tests.references.reference_solutions import points
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import Verdict

X = np.array([[0, 4], [3, 1], [3, 1], [-2, 2], [1, -3], [4, 2], [-4, 0]]) / 2
Y = np.array([1, 1, -1, -1, -1, 1, -1])  # the second and the third are one place
OVERLAPPING = points("overlapping", 1, n=7)  # without such a place: extended nu is not 0
APART = X + 4 * np.outer(Y, [1, 0])
S = np.array([2, 1, 3, 1, 2, 3, 1])
THREE = np.array([0, 1, 2, 0, 1, 2, 2])
MATRICES = np.column_stack([X, X[::-1] ** 2])

OTHER_WORDS: dict[str, dict[str, Any]] = {
    "c_svc": {"class_weight": {1: 2.0}},
    "c_svc_dual": {"class_weight": "balanced"},
    "regularised_svc": {"loss": "huberised", "bend": 0.4, "regulariser": "l1"},
    "hinge_power_svc": {"penalty": 0.7, "exponent": "5/3"},
    "nu_svc": {"nu": 0.8},
    "nu_svc_dual": {"nu": 0.8, "class_balance": "balanced"},
    "reduced_hull_svc": {"hull_bound": 0.2},
    "extended_nu_svc": {"scale": "perez_cruz"},
    "extended_nu_svc_ball": {"nu": 0.9},
    "extended_nu_svc_dual": {"nu": 0.9, "scale": "perez_cruz"},
    "extended_nu_svc_polar": {"nu": 0.3, "scale": "perez_cruz"},
    "extended_nu_svc_reverse": {"nu": 0.3},
    "extended_nu_svc_linearised": {"w_ref": "mean_difference"},
    "extended_nu_svc_linearised_dual": {"w_ref": "mean_difference"},
    "zero_one_relaxed": {"big_m": "derived"},
    "zero_one_hinge": {"big_m": 5.0},
    "ramp_relaxed": {"big_m": 7.0},
    "ramp_l1_relaxed": {"big_m": 7.0},
    "conic_fixed": {"strengthening": "scaled"},
    "conic_sdp_strengthened": {"products": "cutoff"},
    "multiclass_hinge": {"class_weight": {"1": 2.0}},
    "multiclass_truncated": {"ridge": 0.2},
    "multiclass_truncated_relaxed": {"ridge": 0.2, "big_m": 8.0},
    "multiclass_matrix_nuclear": {"tau": 0.05},
    "matrix_svc_nuclear": {"tau": 0.5},
}
OF_ALL = {"penalty": 0.3}  # a point or two are given up
OF_RAMP, OF_MATRICES = {"C": 0.4}, {"ridge": 1.0}
OF_CLASSES, OF_BALLS = {"ridge": 0.1}, {"norm_bound": 0.8}


def words_for(name: str) -> dict[str, Any]:
    """The common words with what three-fold points and their matrices need."""
    words = dict(CASES[name].words)
    for start, more in (
        ("", OF_ALL), ("ramp", OF_RAMP), ("matrix", OF_MATRICES), ("multiclass", OF_CLASSES),
        ("rsvm", OF_BALLS),
    ):  # fmt: skip
        words |= {w: v for w, v in more.items() if name.startswith(start) and w in words}
    return words | OTHER_WORDS.get(name, {})


SETTINGS = {name: words_for(name) for name, case in CASES.items() if case.entry.weighted}
# What the relaxations say of derived M depends on M, and that on what one point pays.
OF_M = ("zero_one_relaxed",)
# What they know of pairs of copies is more than of one point: test_weighted_zero_one.py has them.
OF_PAIRS = ("conic_sdp_strengthened",)
# No proof without their own searches, which take unweighted points alone.
SEARCHED = ("zero_one_bilinear", "zero_one_kernel", "matrix_svc_bilinear")


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels that an entry takes."""
    if name.startswith(("extended", "min_cvar", "nu")):
        return OVERLAPPING.X, OVERLAPPING.y
    X_of = APART if name.startswith(("hard", "max_margin")) else MATRICES if "matrix" in name else X
    return X_of, THREE if name.startswith("multiclass") else Y


def data_of(name: str, weights: Any = None, times: Any = None) -> Any:
    """Data as an entry takes it, weighted or repeated."""
    rows, labels = rows_of(name)
    if times is not None:
        rows, labels = rows.repeat(times, axis=0), labels.repeat(times)
    several = tm.MulticlassData in CATALOGUE[name].takes
    kind: Any = tm.MulticlassData if several else tm.TrainingData
    return kind(rows, labels, sample_weight=weights)


def solved(name: str, data: Any, mode: str, **words: Any) -> tm.SolveResult:
    given = SETTINGS[name] | ({"big_m": 9.0} if name in OF_M else {})
    if mode == "free" and "intercept_bound" in CATALOGUE[name].parameters:
        given = given | {"intercept_bound": 4.0}
    return tm.solve(tm.build(name, data, intercept=mode, **given), **words)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (name, mode)
        for name, turn in in_turn([name for name in SETTINGS if name not in OF_PAIRS], range(3))
        for mode in [modes(name)[turn % len(modes(name))]]
    ],
)
def test_weights_are_copies(name: str, mode: str) -> None:
    expected = solved(name, data_of(name, times=S), mode).objective
    result = solved(name, data_of(name, weights=S), mode)
    assert expected is not None
    assert result.objective == pytest.approx(expected, rel=3e-6, abs=1e-9)
    if result.bound is not None:
        assert result.bound <= expected + 3e-6 * abs(expected) + 1e-9
    # An optimum of 0 has nothing that a gap could be small beside.
    if name not in SEARCHED and abs(expected) > 1e-6:
        assert result.certificate.verdict is Verdict.CERTIFIED


COMMON = [name for name in SETTINGS if name not in (*SEARCHED, *OF_PAIRS)]


@pytest.mark.parametrize("name", COMMON[:: 1 if FULL else 4])
def test_a_common_factor_of_all_weights_is_one_of_the_price(name: str) -> None:
    """Halves are whole numbers of half the price; means know no common factor at all."""
    words = dict(SETTINGS[name]) | ({"big_m": 9.0} if name in OF_M else {})
    words |= {"scale": "takeda"} if "scale" in words else {}  # the other one has n times that
    whole = tm.solve(tm.build(name, data_of(name, weights=S), intercept="penalised", **words))
    for word in ("C", "penalty"):
        if word in words:
            words[word] = 2 * words[word]
    factor = 1.0
    if name.startswith(("rsvm", "matrix")):
        factor = 0.5
        words |= {word: words[word] / 2 for word in ("ridge", "tau") if word in words}
    if "hull_bound" in words:
        words["hull_bound"] *= 2
    half = tm.solve(tm.build(name, data_of(name, weights=S / 2), intercept="penalised", **words))
    assert half.objective == pytest.approx(factor * whole.objective, rel=3e-6, abs=1e-9)


def test_paths_and_searches_of_the_nu_family() -> None:
    weighted, repeated = data_of("nu_svc", weights=S), data_of("nu_svc", times=S)
    for search in (tm.search.branch_and_cut, tm.search.hull_search, tm.search.cutting_plane):
        first, second = search(weighted, nu=0.3), search(repeated, nu=0.3)
        assert first.objective == pytest.approx(second.objective, rel=1e-6)
    local = tm.search.extended_nu_local(weighted, nu=0.3, starts=20)
    assert local.objective >= first.objective * (1 - 1e-9)
    paths = [tm.paths.extended_nu_path(data, nus=[0.85, 0.4, 0.2]) for data in (weighted, repeated)]
    for one, other in zip(*(path.rows for path in paths), strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
        assert one.norm_multiplier == pytest.approx(other.norm_multiplier, rel=1e-6)
        assert one.verdict is other.verdict is Verdict.CERTIFIED
    ranges = [tm.theory.nu_range(data) for data in (weighted, repeated)]
    assert ranges[0].nu_min == pytest.approx(ranges[1].nu_min, rel=1e-9)
    assert ranges[0].nu_max == pytest.approx(ranges[1].nu_max, rel=1e-12)


EDITS: dict[str, Any] = {
    "row": lambda m: m.add_component("below", pyo.Constraint(expr=m.w[0] <= 0.1)),
    "fixed": lambda m: m.b.fix(0.25),
    "objective": lambda m: m.objective.set_value(m.objective.expr + 0.5 * m.w[1] ** 2),
}


@pytest.mark.parametrize(
    ("name", "edit"),
    in_turn(["c_svc", "soft_margin_svc", "zero_one_big_m", "ramp_big_m"], EDITS),
)
def test_edited_models(name: str, edit: str) -> None:
    results = []
    for given in ({"weights": S}, {"times": S}):
        model = tm.build(name, data_of(name, **given), intercept="free", **SETTINGS[name])
        EDITS[edit](model)
        results.append(tm.solve(model))
    first, second = (result.objective for result in results)
    assert first is not None
    # Of models with an M that an edit outdates the bound is about the written model or none.
    certified = [result.certificate.verdict is Verdict.CERTIFIED for result in results]
    assert certified[0] or CATALOGUE[name].problem_class is not ProblemClass.QP
    if any(certified):
        assert first == pytest.approx(second, rel=1e-6)


# scikit-learn's check_sample_weight_equivalence asks for 1e-7 between decision values.

CLASSIFIERS = [
    name for name, entry in CATALOGUE.items() if entry.classifier is not None and entry.weighted
]


@pytest.mark.parametrize("name", CLASSIFIERS[:: 1 if FULL else 5])
def test_a_classifier_is_the_same_whether_points_are_weighted_or_repeated(name: str) -> None:
    """In any order of the points: equal points are one point of the model, with added weights."""
    words = dict(SETTINGS[name])
    if tm.GramData in CATALOGUE[name].takes and tm.TrainingData not in CATALOGUE[name].takes:
        words |= {"kernel": "rbf", "width": 0.5}
    X, y = rows_of(name)
    weighted, repeated = np.random.default_rng(3).permutation(7), np.repeat(np.arange(7), S)
    repeated = np.random.default_rng(4).permutation(repeated)
    machine = tm.FormulationClassifier(name, uncertified="ignore", **words)
    one = clone(machine).fit(X[weighted], y[weighted], S[weighted])
    other = clone(machine).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_array_equal(X[weighted][one.points_], X[repeated][other.points_])
    if hasattr(one, "dual_coef_"):  # of equal points the sum
        sums = [np.zeros(7), np.zeros(7)]
        np.add.at(sums[0], weighted, one.dual_coef_[0])
        np.add.at(sums[1], repeated, other.dual_coef_[0])
        np.testing.assert_allclose(*sums, atol=1e-9)
