"""What the searches, paths and machines of single families refuse, and the word that names it."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import sgd_study, simplex_figure
from tests.inside.solvers import (
    SOLVERS,
    cones_run,
    conflict_search_search,
    count_sets,
    is_searchable,
    packings_signed_points,
    rainbow_cells,
    ramp_enumeration,
    rsvm_at_limit,
    sgd_rate,
    simplex_grid,
    solvers_named,
    zero_one_enumeration,
    zero_one_incumbent,
)
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tightmargin.formulations import extended_robust_svc
from tightmargin.solvers import SolverNotInstalledError, solve

DATA = points("overlapping", 1, n=10)
SEPARABLE = points("separable", 1, n=10)
MATRIX = tm.TrainingData(np.random.default_rng(0).normal(size=(8, 6)), [1, -1] * 4)
CLASSES = class_points(1, n=9)
ORIGIN = tm.TrainingData([[0.0], [1.0], [2.0], [0.0]], [1, 1, -1, -1])
NAN, INF = math.nan, math.inf

Row = tuple[Callable[..., object], tuple[Any, ...], dict[str, Any], str]


def rows(
    call: Callable[..., object], *given: Any, cases: list[tuple[dict[str, Any], str]], **words: Any
) -> list[Row]:
    """The call with its good words, each time with some that are none."""
    return [(call, given, words | bad, named) for bad, named in cases]


def with_model(build: Callable[..., Any], *given: Any, **words: Any) -> Callable[..., object]:
    """solve() of the model that is built."""
    return lambda **how: solve(build(*given, **words), **how)


ZERO_ONE = functools.partial(tm.zero_one_big_m, DATA, penalty=1.0, big_m="derived")
NO_B = functools.partial(tm.soft_margin_svc, DATA, ridge=0.1, intercept="none")
BILINEAR = functools.partial(tm.matrix_svc_bilinear, MATRIX, ridge=0.5, shape="2x3", rank=1)


def changed(build: Callable[..., Any], edit: Callable[[Any], object]) -> Callable[..., object]:
    """solve() of a model that was edited."""

    def solved(**how: Any) -> object:
        model = build()
        edit(model)
        return solve(model, **how)

    return solved


def beside(size: float) -> Callable[[Any], object]:
    return lambda m: m.add_component("edit", pyo.Constraint(expr=size * m.w[0] <= size))


CONFLICTS, MATRICES = {"method": "conflict-search"}, {"method": "matrix-search"}
REFUSED = [
    # --- 0-1 loss and ramp loss
    *rows(tm.search.cone_search, DATA, penalty=1.0, intercept="free", cases=[
        ({"penalty": -1.0}, "penalty"), ({"gap": 0.0}, "gap"), ({"time_limit": 0.0}, "time_limit"),
        ({"cell_limit": -1}, "cell_limit"), ({"intercept": "fre"}, "intercept"),
    ]),
    *rows(tm.search.cone_search, tm.TrainingData(DATA.X * 1e100, DATA.y), penalty=1.0,
          intercept="free", cases=[({}, "rescale")]),
    *rows(tm.search.conflict_search, DATA, penalty=1.0, intercept="free", cases=[
        ({"penalty": 0.0}, "penalty"), ({"gap": 0.0}, "gap"), ({"time_limit": -1.0}, "time_limit"),
        ({"intercept": "loose"}, "intercept"), ({"workers": 0}, "workers"),
        ({"workers": 2, "step_limit": 10}, "step_limit"),
        ({"workers": 2, "scheduler": "tcp://nowhere:1"}, "scheduler"),
    ]),
    *rows(zero_one_enumeration, DATA, penalty=1.0, intercept="free", cases=[
        ({"penalty": [1.0, -1.0]}, "penalty must be a positive"),
        ({"penalty": []}, "penalty must hold at least one number"),
        ({"intercept": "some"}, "intercept"),
    ]),
    *rows(count_sets, 5, 2, cases=[({"intercept": "some"}, "intercept must be one of")]),
    *rows(zero_one_incumbent, DATA, penalty=1.0, intercept="free",
          cases=[({"penalty": 0.0}, "penalty"), ({"intercept": "any"}, "intercept")]),
    *rows(ramp_enumeration, points("overlapping", 7, n=8), C=0.7, intercept="free", cases=[
        ({"limit": 5}, "limit = 5 is below the 56 sets of 3 of 8"),
        ({"C": 0.0}, "C must be a positive"),
    ]),
    *rows(tm.search.least_errors, DATA, cases=[({"margin": 0.0}, "margin")]),
    *rows(with_model(ZERO_ONE), **CONFLICTS, cases=[
        ({"options": {"workers": 0}}, "workers must be 1 or more"),
        ({"options": {"scheduler": 8786}}, "scheduler must be an address"),
        ({"options": {"scheduler": "tcp://HOST:1", "workers": 2}}, "with a scheduler all of its"),
        ({"options": {"starts": 3}}, "starts"),
        ({"solver": "scip"}, "conflict-search needs no solver"),
    ]),
    *rows(with_model(tm.c_svc, DATA, C=1.0), cases=[
        (CONFLICTS, "c_svc has no method 'conflict-search'"),
    ]),
    *rows(with_model(pyo.ConcreteModel), cases=[(CONFLICTS, "as it was built")]),
    *rows(changed(ZERO_ONE, lambda m: m.margin[0].deactivate()), cases=[(CONFLICTS, "this edit")]),
    *rows(changed(ZERO_ONE, beside(1e120)), cases=[(CONFLICTS, "beyond 1e+100 or within 1e-100")]),
    *rows(changed(ZERO_ONE, beside(1e-120)), cases=[(CONFLICTS, "beyond 1e+100 or within 1e-100")]),
    *rows(changed(functools.partial(ZERO_ONE, slack_bounds="derived"), lambda m: m.w[0].setlb(3.0)),
          cases=[(CONFLICTS, "slack_bounds")]),
    # --- rigorous SVM
    *rows(tm.search.decomposition, DATA, norm_bound=1.0, cases=[
        ({"norm_bound": 0.0}, "norm_bound must be a positive"),
        ({"working_set": 3}, "working_set must be even and at most n = 10, got 3"),
        ({"working_set": 0}, "working_set must be a whole number of at least 1"),
        ({"working_set": 12}, "even and at"),
        ({"start": np.zeros(9)}, "start must be an array (10,), got shape (9,)"),
        ({"start": "cold"}, "start must be an array (10,)"),
        ({"start": np.full(10, 1.1)}, "start must lie in [0, 1], got 1.1 at position 0"),
        ({"start": np.full(10, NAN)}, "start must lie in"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"tolerance": 2.0}, "tolerance must lie in (0, 1]"),
        ({"steps": 0}, "steps must be a whole"), ({"time_limit": -1.0}, "time_limit must be"),
    ]),
    *rows(tm.search.solve_rsvm, DATA, norm_bound=1.0, cases=[
        *[({"norm_bound": bad}, "norm_bound must") for bad in (0.0, NAN, "2")],
        ({"method": "segment"}, "method must be one of auto"),
        ({"start": [0.5]}, "start must have shape (10,)"), ({"start": ["a", "b"]}, "start must be"),
        ({"start": [1.5] * 10}, "start must lie in [0, 1], got 1.5 at position 0"),
    ]),
    *rows(tm.paths.rsvm_path, DATA, norm_bounds=[1.0], cases=[
        ({"norm_bounds": []}, "norm_bounds is empty"),
        ({"norm_bounds": [1.0, -1.0]}, "norm_bound must"),
        ({"time_limit": 0.0}, "time_limit must be a positive"),
    ]),
    *rows(tm.theory.norm_limit, DATA, cases=[({"time_limit": 0}, "time_limit")]),
    *rows(rsvm_at_limit, DATA, 1.0, replace(tm.theory.norm_limit(DATA), value=NAN),
          cases=[({}, "no value")]),
    *rows(changed(lambda: tm.rsvm(DATA, norm_bound=0.7), lambda m: m.w[0].fix(0.0)), cases=[
        ({"method": "segments"}, "rsvm_dual_perspective as it was built"),
    ]),
    *rows(with_model(tm.rsvm, DATA, norm_bound=1.0, intercept="penalised"),
          cases=[({"method": "segments"}, "take direct")]),
    # --- conic estimator
    *rows(tm.paths.conic_path, ORIGIN, cases=[
        ({"penalties": [1.0, 0.0]}, "penalty must be a positive"),
        ({"penalties": []}, "penalties is empty"),
        ({"budgets": []}, "budgets is empty"), ({"budgets": [0.2, 0]}, "hard-margin problem"),
        ({"budgets": [1.5]}, "budget must lie in (0, 1]"),
        ({"budgets": [-0.1]}, "budget must be a"),
        ({"penalties": [1.0], "budgets": [0.2]}, "not both"),
        ({"penalties": [1.0], "intercept": "free"}, "conic_sdp_dual with intercept_bound"),
        ({"penalties": [1.0], "time_limit": -1.0}, "time_limit"),
        ({"penalties": [1.0], "solver": "clarable"}, "did you mean clarabel"),
        ({"budgets": [0.5], "intercept": "none"}, "2 of 4 points are 0"),
        *[({"penalties": [1.0], "tolerance": bad}, "tolerance must lie above 0")
          for bad in (0.0, 1e-3)],
    ]),
    *rows(tm.paths.penalty_grid, DATA, cases=[
        ({"count": 1}, "count must be a whole number"),
        ({"intercept": "free"}, "needs intercept=penalised"),
        ({"budgets": (0.1, 0.5)}, "must fall"),
        ({"budgets": (0.5, 0.0)}, "hard-margin"),
    ]),
    # --- matrices of bounded rank
    *rows(tm.search.matrix_alternating, MATRIX, ridge=0.5, shape="2x3", rank=1, cases=[
        ({"starts": 0}, "starts must be a whole number of at least 1, got 0"),
        ({"rank": 3}, "rank must be a whole number from 1 to 2"),
        ({"shape": "3x3"}, "has 9 entries"),
        ({"ridge": 0}, "ridge must be a positive finite number"),
        ({"time_limit": 0}, "time_limit must be a positive finite number"),
        ({"intercept": "none at all"}, "intercept must be one of"),
    ]),
    *rows(tm.search.matrix_search, MATRIX, ridge=0.5, cases=[
        ({"shape": shape, "rank": rank}, f"rank {rank} of a matrix {shape} is not searched")
        for shape, rank in (("2x3", 2), ("6x1", 1))
    ]),
    *rows(changed(BILINEAR, lambda m: m.w[0].fix(0.0)), cases=[(MATRICES, "as it was built")]),
    *rows(with_model(BILINEAR, rank=2), cases=[(MATRICES, "it takes rank 1")]),
    # --- truncated loss of several classes
    *rows(tm.search.truncated_search, CLASSES, ridge=0.1, truncation=-0.5, cases=[
        ({"gap": -1.0}, "gap"), ({"node_limit": -5}, "node_limit"),
        ({"time_limit": -1.0}, "time_limit"),
    ]),
    *rows(tm.search.truncated_dca, CLASSES, ridge=0.1, truncation=-0.5, cases=[
        ({"ridge": 0.0}, "ridge"), ({"truncation": 0.1}, "truncation"),
        ({"intercept": "some"}, "intercept"),
        ({"class_weight": [1.0, 0.0, 1.0]}, "class_weight"),
        ({"class_weight": [1.0, 1.0]}, "class_weight"),
        ({"starts": 0}, "starts"), ({"seed": -1}, "seed"), ({"time_limit": 0.0}, "time_limit"),
    ]),
    *rows(tm.search.truncated_dca, tm.MulticlassData(np.zeros((6, 1600)), [0, 1, 2] * 2),
          ridge=0.1, truncation=0.0, cases=[({}, "data: 3 classes in 1600 dimensions")]),
    # --- extended nu-SVC and the robust one
    *rows(tm.search.extended_nu_local, DATA, nu=0.1, cases=[
        ({"update": "newton"}, "update"), ({"starts": 0}, "at least 1"),
        ({"starts": []}, "is empty"),
        ({"starts": [[0.0, 0.0]]}, "not all 0"), ({"starts": [[1.0]]}, "2 finite numbers"),
        ({"nu": tm.theory.nu_range(DATA).nu_bar}, "at nu_bar"),
        ({"nu": 1.05 * tm.theory.nu_range(DATA).nu_bar}, "extended_nu_svc_ball"),
    ]),
    *rows(tm.search.extended_nu_local, SEPARABLE, nu=0.2,
          cases=[({}, "the classes are separable")]),
    *rows(tm.search.extended_nu_local, tm.TrainingData(np.hstack([DATA.X, DATA.X]), DATA.y), nu=0.1,
          cases=[({}, "affinely dependent")]),
    *[row for call in (extended_robust_svc, tm.search.robust_dca)
      for row in rows(call, DATA, nu=0.6, mu=0.2, cases=[
        ({"mu": 0.25}, "mu must be a whole number of points"), ({"mu": 0.6}, "mu must be below nu"),
        ({"nu": 1.5}, "nu must lie in"), ({"mu": -0.1}, "mu must be a positive"),
        ({"nu": 0.9, "intercept": "free"}, "the risk has no end along b"),
    ])],
    *rows(tm.search.robust_dca, DATA, nu=0.6, mu=0.2, cases=[
        ({"starts": 0}, "starts must be a whole number"),
        ({"seed": "a"}, "seed must be a whole number"),
        ({"time_limit": 0.0}, "time_limit must be positive"),
        ({"mu": "one"}, "mu must be a number or a fraction"),
        ({"mu": "1/0"}, "mu must be a number or a"),
        ({"mu": 0.25}, 'which is 2.5 points: write mu="2/10"'),
    ]),
    # --- class probabilities
    *rows(tm.paths.class_probabilities, DATA, ridge=0.05, grid=3, cases=[
        ({"ridge": 0}, "ridge"), ({"grid": 0}, "grid"), ({"grid": []}, "grid"),
        ({"grid": [0.5, 1.0]}, "pi must lie strictly"), ({"grid": "0.5"}, "grid"),
        ({"intercept": "some"}, "intercept"), ({"method": "sgd"}, "method"),
        ({"time_limit": 0}, "time_limit"),
        ({"method": "libsvm", "intercept": "none"}, "free intercept only"),
    ]),
    *rows(tm.paths.direct_probabilities, CLASSES, ridge=0.1, grid=4, cases=[
        ({"grid": 2}, "grid must be a whole number of at least 3"),
        ({"grid": 1000}, "grid=1000 for 3 classes has"),
        ({"machine": "exactly"}, "machine must be one of"),
        ({"machine": "hinge", "truncation": -0.5}, "truncation belongs to"),
        ({"truncation": -0.7}, "truncation must lie in [-0.5, 0] for 3 classes"),
        ({"ridge": -1.0}, "ridge"), ({"intercept": "some"}, "intercept"),
        ({"time_limit": -1.0}, "time_limit"),
    ]),
    *rows(rainbow_cells, simplex_grid(3, 4), np.zeros((1, 15), dtype=np.int64),
          cases=[({}, "has weight 0 at grid point")]),
    # --- gradient descent
    *[row for call in (functools.partial(tm.search.sgd, seed=0), sgd_rate)
      for row in rows(call, DATA, ridge=0.05, steps=5, cases=[
        ({"ridge": 0.0}, "ridge must be a positive"), ({"rule": "prnted"}, "did you mean printed"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ])],
    *rows(tm.search.sgd, DATA, ridge=0.05, steps=5, seed=0, cases=[
        ({"seed": -1}, "seed must be a whole number"),
        ({"average": "half"}, "average must be one of all, last"),
        ({"time_limit": 0}, "time_limit must be"),
    ]),
    *rows(with_model(NO_B), method="sgd", cases=[
        ({"options": {"steps": -2}}, "steps must be"), ({"seed": -2}, "seed must be"),
    ]),
    *rows(with_model(tm.soft_margin_svc, DATA, ridge=0.1), cases=[
        ({"method": "sgd"}, "build with intercept=none, not 'free'"),
    ]),
    *rows(sgd_study, DATA, ridge=0.05, steps=10, cases=[({"seeds": []}, "at least one")]),
    # --- comparisons
    *rows(solvers_named, cases=[
        ({"names": names}, said) for names, said in (
            ("highs,auto", "auto is no solver beside"), ("all,highs", "all is no solver"),
            ("highs,highs", "highs is named twice"), ("highs,higs", "did you mean highs"),
            ((), "name at least one solver"),
        )
    ]),
    *rows(tm.compare, DATA, ["conic_sdp"], cases=[
        ({"solver": "highs", "solvers": "all"}, "either solver"),
        ({"solver": "highs,scip"}, "several solvers are asked with solvers="),
        ({"solvers": "all", "include_uncertified": True}, "include_uncertified is about gaps"),
    ]),
    *rows(tm.compare, tm.GramData(DATA.X @ DATA.X.T, DATA.y), [("c_svc", {"C": 1.0})],
          cases=[({"solvers": "all"}, "c_svc reads TrainingData, not GramData")]),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[3]}")
def test_what_is_wrong_is_named(row: Row) -> None:
    call, given, words, named = row
    with pytest.raises(ValueError, match=re.escape(named)):
        call(*given, **words)


def test_other_data_are_refused() -> None:
    words = {"ridge": 0.1, "truncation": 0.0, "steps": 5, "seed": 0, "grid": 3}
    for call, used, named in (
        (tm.search.sgd, ("ridge", "steps", "seed"), "sgd takes TrainingData or GramData"),
        (tm.search.truncated_dca, ("ridge", "truncation"), "takes MulticlassData, got list"),
        (tm.paths.direct_probabilities, ("ridge", "grid"), "takes MulticlassData"),
    ):
        with pytest.raises(TypeError, match=named):
            call([[1.0]], **{name: words[name] for name in used})


def test_points_of_another_shape_are_refused() -> None:
    two = tm.paths.class_probabilities(DATA, ridge=0.05, grid=4)
    three = tm.paths.direct_probabilities(CLASSES, ridge=0.1, grid=3, machine="hinge")
    four = tm.paths.direct_probabilities(
        class_points(3, n=12, K=4), ridge=0.1, grid=4, machine="hinge"
    )
    for call, given, named in (
        (two.probabilities, np.zeros((3, 5)), "shape"),
        (two.probabilities, [[NAN, 0.0]], "nan"),
        (two.read, np.zeros((3, 3)), "shape"),
        (two.read, np.full((1, 4), INF), "finite"),
        (three.probabilities, np.zeros((4, 3)), "X must have shape (m, 2)"),
        (three.probabilities, np.full((1, 2), NAN), "X holds nan"),
        (lambda p: simplex_figure(three, [0.0, 0.0], p), [0.5, 0.5], "three positive numbers"),
        (lambda x: simplex_figure(four, x), np.zeros(2), "4 classes is no triangle"),
    ):
        with pytest.raises(ValueError, match=re.escape(named)):
            call(given)
    assert not is_searchable((3, 3), 3)


def test_without_numba_or_room_a_search_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"penalty": 1.0, "intercept": "free"}
    for module, search in (
        (cones_run, tm.search.cone_search),
        (conflict_search_search, tm.search.conflict_search),
    ):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
        with pytest.raises(ValueError, match="numba"):
            search(DATA, **words, compiled=True)
    monkeypatch.setattr(packings_signed_points, "LARGEST", 9)
    with pytest.raises(ValueError, match="at most 9, got 10"):
        tm.search.conflict_search(DATA, **words)


def test_a_result_and_a_class_that_nobody_takes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ValueError, match="cannot be solved again"):
        tm.compare(DATA, ["conic_sdp"], exact=tm.solve(tm.c_svc(DATA, C=1.0)), solvers="all")
    for name, info in SOLVERS.items():
        if "SDP" in info.classes:
            monkeypatch.setitem(SOLVERS, name, replace(info, package="no_such_package"))
    with pytest.raises(SolverNotInstalledError, match=r"no installed solver takes SDP.*clarabel"):
        tm.compare(DATA, [("conic_sdp", {})], parameters={"penalty": 1.0}, solvers="all")
