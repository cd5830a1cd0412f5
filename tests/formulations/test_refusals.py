"""What builders and formulas refuse, and the word that says what is wrong.

NaN and infinity in each argument are in tests/faults/test_fault_01_non_finite.py, misspelt words in
tests/faults/test_fault_30_typos.py, nu outside its range in tests/faults/test_fault_07_nu_range.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.formulations import (
    centred_gram,
    checked_shape,
    closed_slack_bounds,
    confused_weights,
    cross_gram,
    derive_big_m,
    derive_intercept_bound,
    derive_multiclass_big_m,
    derive_ramp_big_m,
    fit_gram_normaliser,
    fit_kernel_pca,
    fit_normaliser,
    from_c_svc,
    from_nu_svc,
    from_reduced_hulls,
    gram_data,
    kernel_matrix,
    normalise,
    reduced_hulls,
    zero_one_objective,
)
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE, admissible_truncation, equivalence, is_consistent

DATA, UNBALANCED = points("overlapping", 0, n=8), points("unbalanced", 1, n=14)  # 4 of 14
FOUR, MATRICES = class_points(0, n=24, K=4), points("overlapping", 0, n=40, d=9)
LINE = tm.TrainingData([[1.0], [2.0], [-1.0], [-2.0]], [1, 1, -1, -1])
CLOSED = closed_slack_bounds(DATA, penalty=1.0, intercept="penalised")
GRAM = tm.GramData(DATA.X @ DATA.X.T, DATA.y)
SHORT, WRONG = ([1.0], 0.0), "intercept must be one of"
BELOW = {"nu": 0.3, "w_ref": "mean_difference"}
PRICED = {"penalty": 1.0}
CLASSES = {"ridge": 0.1, "truncation": -0.3, "big_m": "derived"}
MATRIX = {"ridge": 0.5, "shape": "3x3", "rank": 1}
W_REF = "w_ref must be mean_difference or 2 numbers"

Rows = list[tuple[dict[str, Any], str]]
# A builder, its data, words that it takes, and changes of them that it does not.
BUILDERS: list[tuple[Callable[..., Any], Any, dict[str, Any], Rows]] = [
    (tm.zero_one_disjunctive_relaxed, DATA, PRICED, [
        ({"norm": "inside"}, "norm must be"),
        ({"intercept": "fre"}, WRONG),
    ]),
    (tm.zero_one_bilinear, DATA, PRICED, [
        ({"incumbent": SHORT}, "incumbent must be (w, b) with w of shape (2,)"),
        ({"incumbent": ([1.0, np.nan], 0.0)}, "incumbent: w and b must be finite"),
        ({"incumbent": ([1.0, 1.0], 2.0), "intercept": "none"}, "intercept=none means b = 0"),
    ]),
    *((build, DATA, {"C": 1.0, "big_m": "derived"}, [
        ({"C": 0.0}, "C must be"),
        ({"big_m": "tight"}, "big_m must be a number"),
        ({"big_m": [1.0]}, "big_m"),
        ({"incumbent": SHORT}, "incumbent"),
    ]) for build in (tm.ramp_l1_big_m, tm.ramp_l1_relaxed)),
    *((build, DATA, BELOW | {"nu": 0.2}, [
        ({"w_ref": "mean"}, "w_ref must be one of mean_difference"),
        ({"w_ref": [1.0]}, W_REF),
        ({"w_ref": None}, W_REF),
        ({"w_ref": [0.0, 0.0]}, "w_ref must be finite and not 0"),
        ({"w_ref": [1.0, 2.0], "intercept": "penalised"}, "3 numbers"),
    ]) for build in (tm.extended_nu_svc_linearised, tm.extended_nu_svc_linearised_dual)),
    (tm.extended_nu_svc, DATA, {"nu": 0.3}, [
        ({"scale": "vapnik"}, "scale must be one of takeda, perez_cruz"),
        ({"nu": 1.5}, "nu must lie in"),
    ]),
    (reduced_hulls, UNBALANCED, {"nu": 0.3}, [
        ({"nu": 0.6}, "nu_max"),
        ({"nu": 1.1, "class_balance": "balanced"}, "twice the smaller class weight"),
        ({"class_balance": np.ones(14)}, "class_balance: the weights sum to 14, not 1"),
        ({"class_balance": np.r_[0.0, np.full(13, 1 / 13)]}, "class_balance must be positive"),
        ({"class_balance": [0.2, 0.3, 0.5]}, "(14,), got shape (3,)"),
        ({"class_balance": 0.3}, "class_balance must be uniform, balanced or 14"),
    ]),
    (tm.reduced_hull_svc, UNBALANCED, {"hull_bound": 0.25}, [
        ({"hull_bound": 0.24}, "hull_bound must be at least 1 / min(n_pos, n_neg) = 0.25 with 4"),
        ({"hull_bound": 0.14, "intercept": "none"}, "at least 2 / n = 0.142857"),
        *(({"hull_bound": bad}, "hull_bound must be a") for bad in ("None", 0.0, -1.0, True)),
    ]),
    (tm.multiclass_hinge, FOUR, {"ridge": 0.1}, [
        ({"class_weight": 2.0}, "class_weight must be 4 numbers"),
        ({"class_weight": (1.0, 2.0, 0.0, 1.0)}, "class_weight"),
    ]),
    (tm.multiclass_truncated, FOUR, CLASSES, [
        ({"truncation": 0.3}, "truncation must be a finite number of at most 0"),
        ({"truncation": "low"}, "truncation must be a number"),
        ({"incumbent": (np.ones((4, 2)), np.ones(3))}, "(4, 2) and (4,)"),
        ({"incumbent": (np.full((4, 2), np.nan), np.ones(4))}, "incumbent: B and b must be finite"),
    ]),
    *((build, MATRICES, MATRIX, [
        *(({"rank": bad}, "rank must be a whole number from 1 to 3") for bad in (0, 4, 1.0, True)),
        *(({"shape": bad}, "shape must be rows x columns") for bad in (
            "3", "0x9", "-3x-3", "3.0x3", (3,), (3.0, 3), (True, 9), 9, None, ("3", "3"),
        )),
    ]) for build in (tm.matrix_svc_bilinear, tm.matrix_svc_projection)),
    (tm.conic_hull, DATA, PRICED, [
        ({"quadratic": np.eye(2)}, "quadratic must be 3 x 3"),
        ({"quadratic": "wide"}, "quadratic must hold real numbers"),
        ({"quadratic": 1e-320 * np.eye(3)}, "in another unit"),
        ({"quadratic": 1e200 * np.eye(3)}, "in another unit"),
        ({"quadratic": np.diag([1.0, 1.0, 0.0])}, "positive definite"),
        ({"quadratic": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"point": 8}, "point must be a whole number from 0 to 7"),
        ({"intercept": "free"}, "intercept must be one of penalised, none"),
    ]),
    (tm.conic_sdp_strengthened, DATA, PRICED, [
        ({"slack_bounds": "derive"}, "did you mean derived"),
        ({"slack_bounds": 3.0}, "slack_bounds must be SlackBounds"),
        ({"slack_bounds": {"upper": [1.0]}}, "slack_bounds needs lower, norm2, intercept, cutoff"),
        ({"slack_bounds": {"uper": [1.0]}}, "has no field 'uper'; did you mean upper"),
        ({"slack_bounds": replace(CLOSED, upper=np.ones(3))}, "upper must be 8 finite numbers"),
        ({"slack_bounds": replace(CLOSED, upper=CLOSED.lower - 1)}, "point 0 has lower"),
        ({"slack_bounds": replace(CLOSED, intercept=(1.0, -1.0))}, "two ends of intercept"),
        ({"slack_bounds": replace(CLOSED, norm2=-1.0)}, "must not be negative"),
        ({"slack_bounds": replace(CLOSED, cutoff=np.inf)}, "must be finite"),
        ({"conflicts": "pair"}, "conflicts must be none, pairs"),
        ({"conflicts": ((0, 8),)}, "points from 0 to 7, got (0, 8)"),
        ({"conflicts": ((),)}, "each needs points"),
        ({"products": "quadratic"}, "products must be one of none, linear, norm, cutoff"),
    ]),
    (tm.rank_one_hull, LINE, PRICED | {"coefficients": [1.0] * 4}, [
        ({"coefficients": [0.0] * 4}, "coefficients are all 0"),
        ({"coefficients": [1.0] * 3}, "coefficients must be 4 finite numbers"),
        ({"target": np.inf}, "target must be a finite number"),
    ]),
    (tm.conic_sdp_rank_one, DATA, PRICED, [
        *(({"partners": bad}, "partners must be all, none or a whole number")
          for bad in (0, 2.5, True, "some", None)),
        ({"groups": "pairs"}, "groups must be tuples of points"),
        ({"groups": [(1,)]}, "two or more different points"),
        ({"groups": [(0, 1.5)]}, "two or more different points"),
        ({"groups": [(0, 99)]}, "points from 0 to 7"),
        ({"sides": "kept"}, "sides must be"),
        ({"intercept": "free"}, "intercept_bound"),
    ]),
    *((build, DATA, PRICED, [
        ({"intercept": "free"}, "needs intercept_bound, a number or 'derived'"),
        ({"intercept": "free", "intercept_bound": -1.0}, "intercept_bound must be a positive"),
        ({"intercept_bound": 1.0}, "intercept_bound belongs to intercept=free"),
    ]) for build in (
        tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated, tm.conic_sdp_dual,
    )),
    (tm.conic_sdp_budget, DATA, {"budget": 0.2}, [
        *(({"budget": bad}, "budget must ") for bad in (-0.1, 1.1, "half", True)),
        ({"budget": 0.0}, "hard-margin problem, infeasible where"),
    ]),
    (tm.conic_fixed, DATA, PRICED | {"strengthening": "scaled"}, [
        ({"strengthening": np.full(8, 9.0)}, "eigenvalue -"),
        ({"strengthening": -1e-9 * np.eye(8)[7]}, "not negative, got -1e-09 at position 7"),
        ({"strengthening": "best"}, "equal, inverse_norm, scaled or numbers, got 'best'"),
        ({"strengthening": [0.1] * 3}, "an array (8,), got shape (3,)"),
        ({"intercept": "free"}, "needs intercept=penalised or none"),
    ]),
    (tm.hinge_power_svc, DATA, PRICED | {"exponent": 1.5}, [
        ({"exponent": 0.5}, "below 1 the power is not convex"),
        *(({"exponent": bad}, "a number from 1 to 16") for bad in (0, "1/0", True, 17)),
        ({"exponent": 1.37}, "a numerator of at most 64, got 137/100"),
    ]),
    (tm.regularised_svc, points("overlapping", 0, n=8, d=3), {"loss": "hinge", "price": 1.0}, [
        ({"loss": "hinges"}, "did you mean hinge"),
        ({"regulariser": "l2"}, "regulariser must be one of"),
        ({"bend": -1.0}, "bend must be a positive"),
        ({"regulariser": "group"}, "group needs groups: 3 labels"),
        *(({"groups": bad}, "groups must be 3 labels") for bad in (
            [1, 1], [1, math.nan, 2], "aab", [[1], [2], [1]],
        )),
    ]),
    (fit_kernel_pca, DATA, {"keep": "full", "kernel": "rbf", "width": 0.4}, [
        ({"keep": 8}, "keep = 8 components: the kernel has 7"),
        ({"keep": 1.0}, "keep = 1.0 is neither"),
        ({"keep": -0.1}, "keep = -0.1 is neither"),
        *(({"keep": bad}, "keep must be full") for bad in (True, "all", math.nan)),
        *(({"tolerance": bad}, "tolerance must be a number") for bad in (1.0, -1e-9, "small")),
        ({"kernel": None}, "needs kernel for points"),
        ({"width": None}, "kernel rbf needs width"),
    ]),
    *((call, DATA, {"kernel": "rbf", "width": 1.0}, [
        ({"width": None}, "kernel rbf needs width"),
        ({"degree": 2}, "kernel rbf takes no degree"),
        ({"width": 0.0}, "width must be positive, got 0.0"),
        ({"kernel": "poly", "width": None, "degree": 2}, "kernel poly needs coef0"),
        *(({"kernel": "poly", "width": None, "coef0": 1.0, "degree": bad}, "degree must be a whole")
          for bad in (0, 1.5)),
        ({"kernel": "poly", "width": None, "coef0": -1.0, "degree": 2}, "coef0 must not be neg"),
        ({"kernel": "linear"}, "kernel linear takes no width"),
        ({"kernel": "rbg"}, "kernel 'rbg' is not known: did you mean 'rbf'"),
        ({"kernel": "precomputed", "width": None}, "pass your matrix as GramData(gram, y)"),
        ({"normalise": "centered"}, "normalise 'centered' is not known: did you mean"),
    ]) for call in (gram_data, lambda data, **words: cross_gram(data, data.X, **words))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("build", "data", "words", "word"),
    [(build, data, good | bad, word) for build, data, good, rows in BUILDERS for bad, word in rows],
)
def test_a_bad_argument_is_refused_by_name(
    build: Callable[..., Any], data: Any, words: dict[str, Any], word: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(word)):
        build(data, **words)


@pytest.mark.parametrize("k", range(len(BUILDERS)))
def test_the_words_beside_it_are_taken(k: int) -> None:
    build, data, good, _ = BUILDERS[k]
    build(data, **good)


SAME = tm.TrainingData([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, -1, -1])
WEIGHTED = tm.TrainingData([[0.0], [1.0]], [1, -1], sample_weight=[1.0, 2.0])
NOTHING = tm.GramData(np.zeros((4, 4)), [1, 1, -1, -1])
X, SIX = np.arange(12.0).reshape(6, 2), [0, 1, 2, 1, 0, 1]
CORNERS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
FITTED = fit_gram_normaliser(CORNERS @ CORNERS.T)
ROWS = np.array([[1.0, 1.0], [0.0, 0.0]]) @ CORNERS.T
TWICE = sp.coo_array((np.full(2, 1.7e308), ([1, 1], [0, 0])), (2, 1))


def spoilt(value: float) -> Any:
    bad = sp.lil_array(np.eye(4))
    bad[2, 3] = value
    return bad


def mine(data: tm.TrainingData, *, C: float) -> pyo.ConcreteModel:
    return tm.c_svc(data, C=C)


def without_return(data: tm.TrainingData, *, C: float) -> Any:
    tm.c_svc(data, C=C)


CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    # the 0-1 loss
    (lambda: closed_slack_bounds(DATA, penalty=1.0, intercept="free", slack=-1.0), ValueError,
     "slack must be"),
    (lambda: derive_big_m(DATA, penalty=1.0, intercept="free", upper_bound=-1.0), ValueError,
     "upper_bound must be the objective of a known point"),
    (lambda: derive_ramp_big_m(DATA, C=1.0, intercept="free", upper_bound=math.nan), ValueError,
     "upper_bound must be the objective of a known point"),
    (lambda: derive_intercept_bound(DATA, penalty=1.0, upper_bound=-1.0), ValueError,
     "upper_bound must be the objective of a known point"),
    (lambda: objective([1.0, 2.0]), ValueError, "w must have shape (1,), got (2,)"),
    (lambda: objective([math.nan]), ValueError, "w and b must be finite"),
    (lambda: objective([1.0], 0.5), ValueError, "intercept=none means b = 0, got b = 0.5"),
    (lambda: objective([1.0], penalty=0.0), ValueError, "penalty must be a positive"),
    (lambda: objective([1.0], intercept="maybe"), ValueError, WRONG),
    (lambda: tm.zero_one_big_m(NOTHING, penalty=1.0, big_m=3.0), ValueError, "gram is 0"),
    # nu
    (lambda: tm.extended_nu_svc_linearised(SAME, nu=0.2, w_ref="mean_difference"), ValueError,
     "w_ref: the class means coincide"),
    (lambda: tm.theory.nu_levels(LINE, [0.1, 0.1]), ValueError, "must be 4 finite numbers"),
    (lambda: tm.theory.nu_levels(LINE, [0.3, 0.0, 0.3, 0.0]), ValueError, "alpha[0] = 0.3 is out"),
    (lambda: tm.theory.nu_levels(LINE, [0.2, 0.0, 0.1, 0.0]), ValueError, "equal and positive"),
    (lambda: tm.theory.nu_levels((np.eye(2), [1, -1]), [0.5, 0.5]), TypeError, "got tuple"),
    (lambda: tm.theory.orthonormal_reduction(DATA, intercept="penalised"), ValueError,
     "append a column of ones"),
    (lambda: tm.theory.orthonormal_reduction(tm.TrainingData(np.ones((2, 2)), [1, -1])), ValueError,
     "all points coincide"),
    # several classes
    (lambda: derive_multiclass_big_m(FOUR, ridge=0.1, truncation=-0.5, class_weight=None,
                                     upper_bound=-1.0), ValueError, "upper_bound"),
    (lambda: admissible_truncation("squared", 3), ValueError, "loss must be one of"),
    (lambda: admissible_truncation("hinge", 1), ValueError, "n_classes must be"),
    (lambda: is_consistent("hinge", 0.1, 3), ValueError, "truncation must be"),
    (lambda: confused_weights("hinge", -0.5, 3), ValueError, "is consistent for 3 classes"),
    (lambda: tm.multiclass_truncated(DATA, **CLASSES), TypeError,
     "takes MulticlassData, got TrainingData"),
    (lambda: tm.c_svc(FOUR, C=1.0), TypeError, "got MulticlassData"),
    # the rigorous SVM
    (lambda: tm.rsvm(GRAM, norm_bound=1.0), TypeError, "takes TrainingData, got GramData"),
    (lambda: tm.rsvm_relaxed(GRAM), TypeError, "takes TrainingData, got GramData"),
    (lambda: equivalence(LINE, 0.0, np.ones(4)), ValueError, "norm_bound must be a positive"),
    (lambda: equivalence(LINE, 1.0, np.ones(3)), ValueError, "alpha must hold 4 finite numbers"),
    (lambda: equivalence(LINE, 1.0, [1, 1, 1, 1.1]), ValueError, "lie in [0, 1], got 1 to 1.1"),
    (lambda: from_c_svc(LINE, -1.0, np.ones(4)), ValueError, "C must be a positive"),
    (lambda: from_c_svc(LINE, 0.5, np.ones(4)), ValueError, "alpha must lie in [0, 0.5]"),
    (lambda: from_nu_svc(LINE, 0.5, np.ones(4)), ValueError, "alpha must lie in [0, 0.25]"),
    (lambda: from_nu_svc(LINE, 0.4, np.full(4, 0.25)), ValueError, "have the sum 0.4, got 1"),
    (lambda: from_reduced_hulls(LINE, "none", np.ones(4)), ValueError, "hull_bound must be a num"),
    # matrices
    (lambda: checked_shape("3x4", 9), ValueError, "shape 3x4 has 12 entries, but"),
    # conic relaxations
    (lambda: tm.conic_hull(tm.TrainingData([[0.0], [1.0]], [1, -1]), penalty=1.0, intercept="none"),
     ValueError, "point is 0"),
    (lambda: tm.conic_hull(WEIGHTED, penalty=1.0), ValueError, "does not take weighted points"),
    (lambda: tm.rank_one_hull(WEIGHTED, penalty=1.0, coefficients=[1.0, 1.0]), ValueError,
     "rank_one_hull"),
    (lambda: tm.conic_hull(FOUR, penalty=1.0), TypeError,
     "data must be TrainingData, got MulticlassData"),
    (lambda: tm.conic_sdp(DATA.X, penalty=1.0), TypeError,
     "conic_sdp takes TrainingData or GramData, got ndarray"),
    (lambda: tm.conic_sdp_rank_one(points("overlapping", 0, n=250), penalty=1.0), ValueError,
     "give partners a small number"),
    *((lambda build=build: build(NOTHING, penalty=1.0), ValueError, "all points lie in one place")
      for build in (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)),
    # kernels
    (lambda: tm.deviance_svc(GRAM, price=1.0, regulariser="l1"), ValueError, "take ridge"),
    (lambda: kernel_matrix("linear", DATA.X, np.ones((2, 3))), ValueError, "B must have shape (m"),
    (lambda: cross_gram(DATA, np.ones((2, 3)), kernel="linear"), ValueError, "X must have shape ("),
    (lambda: gram_data(DATA.X, kernel="linear"), TypeError, "gram_data takes TrainingData, got nd"),
    (lambda: kernel_matrix("poly", [[1e200]], [[1e200]], degree=3, coef0=0.0), ValueError,
     "kernel poly overflows: scale the points"),
    (lambda: kernel_matrix("linear", *[np.zeros((20_000, 1))] * 2), ValueError,
     "20000 x 20000 needs 3,200,000,000 bytes"),
    (lambda: fit_kernel_pca(DATA.X, keep="full", kernel="linear"), TypeError, "got ndarray"),
    (lambda: fit_kernel_pca(GRAM, keep="full", width=1.0), ValueError, "takes no width"),
    (lambda: fit_kernel_pca(GRAM, keep=1).apply(DATA.X), ValueError, "X must have shape (m, 8)"),
    (lambda: fit_kernel_pca(tm.TrainingData(np.full((2, 2), 3.7), [1, -1]), keep="full",
                            kernel="rbf", width=1.0), ValueError, "all points coincide"),
    (lambda: fit_kernel_pca(DATA, keep=2, kernel="linear").expansion([1.0, 2.0, 3.0]), ValueError,
     "w must have shape (2,), got (3,)"),
    (lambda: FITTED.apply_cross(ROWS, [2.0, 0.0]), ValueError, "row 1 of X is the mean of the tr"),
    (lambda: FITTED.apply_cross(ROWS[:1], [0.9]), ValueError, "k(x, x) of row 0 of X is too small"),
    (lambda: FITTED.apply_cross(ROWS, [2.0]), ValueError, "X has 2 rows and k"),
    (lambda: FITTED.apply_cross(ROWS[:, :3], [2.0, 1.0]), ValueError, "X must have shape (m, 4)"),
    (lambda: centred_gram(NOTHING), ValueError, "is the mean"),
    (lambda: FITTED.means.__setitem__(0, 1.0), ValueError, "read-only"),
    # data
    (lambda: tm.MulticlassData(X, SIX[:5]), ValueError, "y must have shape (6,)"),
    (lambda: tm.MulticlassData(X, [0, 1, 2, 1, 0, 1.5]), ValueError, "y holds 1.5 in row 5"),
    (lambda: tm.MulticlassData(X, [0] * 6), ValueError, "two classes must occur, got only [0]"),
    (lambda: tm.MulticlassData(X, ["a", "b", None, *"aaa"]), ValueError, "y is missing in row 2"),
    (lambda: tm.MulticlassData(X[0], SIX), ValueError, "X must have shape"),
    (lambda: tm.MulticlassData(X / [1.0, 0.0], SIX), ValueError, "in row 0, column 1"),
    (lambda: tm.MulticlassData(X, SIX, classes=("a", "b", "b")), ValueError, "3 different names"),
    (lambda: tm.TrainingData(spoilt(np.inf), [1, -1, 1, -1]), ValueError,
     "X holds inf in row 2, column 3 (1 such cells)"),
    (lambda: tm.TrainingData(TWICE, [1, -1]), ValueError, "X holds inf in row 1, column 0"),
    (lambda: tm.TrainingData(sp.csr_array((0, 3)), []), ValueError, "n, d >= 1"),
    (lambda: tm.TrainingData(sp.coo_array(np.ones(3)), [1, -1, 1]), ValueError, "got (3,)"),
    (lambda: tm.TrainingData(sp.csr_array(1j * np.eye(2)), [1, -1]), ValueError, "complex128"),
    (lambda: tm.TrainingData(sp.csr_array(np.eye(2)), [1, -1, 1]), ValueError, "shape (2,)"),
    (lambda: fit_normaliser("unit", sp.csr_array((2, 2))).apply(sp.csr_array((2, 2))), ValueError,
     "row 0 of X is zero and has no direction"),
    (lambda: fit_normaliser("zscore", DATA.X).apply(np.ones((2, 3))), ValueError,
     "X must have shape (m, 2) with m >= 1, got (2, 3)"),
    (lambda: normalise(GRAM, "unit"), TypeError, "normalise takes TrainingData, got GramData"),
    # the catalogue
    (lambda: tm.formulation("QP", "here", relaxes="zero_one_big")(mine), ValueError,
     "relaxes of mine: no formulation is called 'zero_one_big'; did you mean zero_one_big_m"),
    (lambda: tm.formulation("QP", "here", dual_of="csvc")(mine), ValueError,
     "dual_of of mine: no formulation is called 'csvc'; did you mean c_svc"),
    (lambda: tm.formulation("QP", "here")(without_return)(DATA, C=1.0), TypeError,
     "without_return returned NoneType: it must return its ConcreteModel, as by `return m`"),
    (lambda: tm.formulation("QPP", "here"), ValueError, "did you mean QP"),
    (lambda: tm.formulation("qp", "here"), ValueError, "one of LP, QP"),
    (lambda: tm.formulation(3, "here"), ValueError, "got 3"),
    (lambda: tm.catalogue["conic_sdp_lift"], KeyError, "take conic_sdp_strengthened"),
    (lambda: tm.build("conic_sdp_lift", DATA), ValueError, "take conic_sdp_strengthened"),
    (lambda: tm.conic_sdp_lift, AttributeError, "take conic_sdp_strengthened"),
    (lambda: tm.catalogue["c_scv"], KeyError, "no formulation is called 'c_scv'; did you mean"),
    (lambda: tm.compare(DATA, "c_svc", parameters={"C": 1.0}), ValueError,
     "c_svc relaxes nothing in the catalogue"),
]  # fmt: skip


def objective(w: Any, b: float = 0.0, penalty: float = 1.0, intercept: str = "none") -> float:
    return zero_one_objective(LINE, w, b, penalty=penalty, intercept=intercept)


@pytest.mark.usefixtures("catalogue_as_it_was")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of a division by zero that is refused
@pytest.mark.parametrize(("call", "error", "word"), CALLS)
def test_a_bad_call_is_refused_by_name(
    call: Callable[[], Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=re.escape(word)):
        call()
    assert not {"mine", "c_scv"} & set(CATALOGUE)


# --- a formulation of one's own -------------------------------------------------------------------


def shortest(least: float, module: str) -> Callable[..., pyo.ConcreteModel]:
    def mine(data: tm.TrainingData) -> pyo.ConcreteModel:
        """The least number that is at least a number."""
        m = pyo.ConcreteModel()
        m.x = pyo.Var(bounds=(least, None))
        m.objective = pyo.Objective(expr=m.x)
        return m

    mine.__module__ = module
    return mine


@pytest.mark.usefixtures("catalogue_as_it_was")
def test_the_name_of_another_module_is_taken_only_when_told() -> None:
    data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
    tm.formulation("LP", "here")(shortest(1.0, "a_library"))
    with pytest.raises(ValueError, match=r"mine is registered by a_library .* replace=True"):
        tm.formulation("LP", "here")(shortest(2.0, "__main__"))
    assert tm.solve(tm.build("mine", data)).objective == 1.0
    tm.formulation("LP", "here", replace=True)(shortest(2.0, "__main__"))
    assert tm.solve(tm.build("mine", data)).objective == 2.0


@pytest.mark.usefixtures("catalogue_as_it_was")
@pytest.mark.parametrize("replace", [False, True])
def test_a_name_that_methods_know_is_never_taken(replace: bool) -> None:
    """The conflict search would certify the 0-1 problem's optimum of whatever has its name."""
    known = CATALOGUE["zero_one_big_m"]

    def zero_one_big_m(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
        return tm.c_svc(data, C=penalty)

    with pytest.raises(ValueError, match="zero_one_big_m is a formulation of tightmargin"):
        tm.formulation("QP", "here", replace=replace)(zero_one_big_m)
    assert CATALOGUE["zero_one_big_m"] is known
