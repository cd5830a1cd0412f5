"""One example of every public class: what a few public calls on tiny data return, and its parts."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside import solvers as inner
from tests.inside.experiments import named
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Finding, Status, methods

NU, RIDGE, PENALTY = 0.1, 0.1, 1.0


def points(n: int = 20, d: int = 2, seed: int = 0) -> tm.TrainingData:
    """Two overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return tm.TrainingData(X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1), spec="made")


def returned() -> Iterator[Any]:
    """Results of public calls."""
    data = points()
    yield tm.data.read_points("sklearn:iris", named)
    small = points(10)
    yield from (_data_objects(data), _solved(data), _compared(small), _edited(small))
    yield _separated(points(8))
    yield from (_searches(small), _paths(data), _theory(data), _drawn_and_studied())
    yield _read_by_solvers(data)
    yield from (_tree(small), _concave())


def _concave() -> Any:
    """A claim for a function that was taken to be concave, and cuts of a polygon."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-1, 2))
    model.row = pyo.Constraint(expr=model.x[0] + model.x[1] <= 2)
    words = {"variables": model.x}
    claim = tm.cuts.minimise_concave(model, lambda x: -float(x @ x), lambda x: -2 * x, **words)
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) - model.x[1] ** 2)
    return claim, tm.plots.polygon_cuts(model)


def _data_objects(data: tm.TrainingData) -> Any:
    precomputed = tm.TrainingData(tm.data.gram_data(data, kernel="rbf", width=1.0).gram, data.y)
    centred = tm.data.prepare(precomputed, {"kernel": "precomputed", "normalise": "centred"})
    return centred, tm.data.prepare(data, {"kpca": "full", "kernel": "linear"})


def _solved(data: tm.TrainingData) -> Any:
    live = tm.LiveLP(tm.extended_nu_svc_linearised(data, nu=NU, w_ref=np.array([1.0, 0.0])))
    found = live.resolve()
    row = found.directory.cut({"w": np.ones(data.d)}, 0.0, 1.0, "cut 0")
    estimators = (
        tm.fit("c_svc", data, C=1.0),
        tm.fit(tm.paths.class_probabilities, data, ridge=RIDGE, grid=4),
    )
    proven = tm.certify_fitted(SVC(kernel="linear").fit(data.X, data.y), data.X, data.y)
    return (
        live,
        found,
        row,
        estimators,
        proven,
        tm.certify(tm.solve(tm.c_svc(data, C=1.0)), data),
        tm.catalogue,
    )


def _compared(data: tm.TrainingData) -> Any:
    words = {"penalty": PENALTY, "intercept": "penalised", "big_m": 10.0}
    rows = ["zero_one_relaxed", "conic_sdp"]
    gaps = tm.compare(data, rows, exact="zero_one_big_m", parameters=words)
    both = tm.compare(data, ["c_svc"], parameters={"C": 1.0}, solvers=["highs", "clarabel"])
    return gaps, both


def _edited(data: tm.TrainingData) -> Any:
    model = tm.zero_one_big_m(data, penalty=PENALTY, big_m="derived", intercept="penalised")
    model.cap = pyo.Constraint(expr=model.w[0] <= 0.1)
    empty = tm.rsvm(data, norm_bound=0.1)
    empty.steep = pyo.Constraint(expr=empty.w[0] >= 2)
    same = tm.same_model(model, empty)
    return tm.diff(model), tm.rederive(model), tm.show(model), tm.explain_infeasible(empty), same


def _searches(data: tm.TrainingData) -> Any:
    wide = points(10, 4)
    classes = tm.data.gaussian_class_data(n=18, d=2, classes=3, sigma=0.5, seed=0)
    truncated = {"ridge": RIDGE, "truncation": 0.0}
    found = tm.search.truncated_dca(classes, **truncated)
    exact = tm.solve(tm.multiclass_truncated(classes, big_m="derived", **truncated))
    matrix = {"ridge": RIDGE, "shape": "2x2", "rank": 1}
    bounds = tm.tighten(data, penalty=PENALTY, intercept="penalised")
    words = {"penalty": PENALTY, "intercept": "penalised"}
    return (
        tm.search.branch_and_cut(data, nu=NU),
        tm.search.cutting_plane(data, nu=NU, strategy="literal"),
        tm.search.hull_search(data, nu=NU),
        tm.search.least_errors(data, margin=1e-2),
        tm.search.robust_dca(data, nu=0.5, mu=1 / data.n, starts=2),
        tm.search.robust_search(data, nu=0.5, mu=1 / data.n),
        tm.search.ramp_cone_search(data, C=1.0, intercept="penalised"),
        tm.search.conflict_search(data, **words),
        tm.search.decomposition(data, norm_bound=0.5),
        tm.search.extended_nu_local(data, nu=NU, starts=2),
        tm.search.matrix_alternating(wide, starts=2, **matrix),
        tm.search.matrix_search(wide, **matrix),
        tm.search.sgd(data, ridge=RIDGE, steps=100, seed=0),
        tm.search.truncated_search(classes, **truncated),
        tm.search.certified_gap(found, exact),
        found,
        bounds,
        tm.cuts.with_conflicts(bounds.bounds, data, **words),
    )


def _separated(data: tm.TrainingData) -> Any:
    master = pyo.ConcreteModel()
    master.z, master.norm2 = pyo.Var(range(data.n), domain=pyo.Binary), pyo.Var(bounds=(0, None))
    master.objective = pyo.Objective(expr=master.norm2 + pyo.quicksum(master.z.values()))
    benders = tm.cuts.combinatorial_benders(data, master.z, master.norm2, intercept="free")
    loss = tm.zero_one_big_m(data, penalty=PENALTY, big_m=10.0, intercept="penalised")
    polar = tm.extended_nu_svc_polar(points(), nu=NU)
    concavity = tm.cuts.concavity(polar, known=np.array([1.0, 0.0]))
    return (
        tm.separate(master, benders),
        benders,
        tm.cuts.conflicts(loss, loss.z, cutoff=5.0),
        concavity,
    )


def _paths(data: tm.TrainingData) -> Any:
    classes = tm.data.gaussian_class_data(n=18, d=2, classes=3, sigma=0.5, seed=0)
    direct = tm.paths.direct_probabilities(classes, ridge=RIDGE, grid=3, machine="hinge")
    nu_path = tm.paths.extended_nu_path(data, [0.3, 0.1])
    return (
        tm.paths.conic_path(data, penalties=[1.0, 2.0]),
        tm.paths.rsvm_path(data, [0.5, 1.0]),
        nu_path,
        tm.paths.cvar_profile(nu_path),
        tm.paths.class_probabilities(data, ridge=RIDGE, grid=4).reading(data.X),
        direct,
        direct.reading(classes.X),
    )


def _theory(data: tm.TrainingData) -> Any:
    dual = tm.solve(tm.c_svc_dual(data, C=1.0))
    terms = {"nu": 0.8, "nu_bar": 0.5, "radius": 3.0, "c": 1.0, "delta": 0.05}
    rows = tm.paths.rsvm_path(data, [0.5, 1.0]).rows
    return (
        tm.theory.nu_levels(data, tm.solve(tm.nu_svc_dual(data, nu=0.8)).values["alpha"]),
        tm.theory.norm_limit(data),
        tm.theory.from_c_svc(data, 1.0, dual.values["alpha"]),
        tm.theory.orthonormal_reduction(data),
        tm.theory.risk_table(data, rows),
        tm.theory.theorem_3(data, [1.0, 0.0], 0.0, **terms),
        tm.theory.hard_margin_bound(100, margin=0.5, radius=1.0),
        tm.theory.norm_ball_bound(100, norm_bound=1.0, radius=1.0, comparison=0.1),
    )


def _drawn_and_studied() -> Any:
    costs = {"one": [1.0, 2.0, None], "other": [2.0, 1.0, 3.0]}
    return (
        tm.plots.performance_profile(costs),
        tm.plots.timing([1.0, 2.0]),
        tm.plots.bound_trace(tm.search.branch_and_cut(points(), nu=NU)),
        tm.studies.run_study(abs, [(0.5,), ("word",)], name="sizes"),
    )


def _read_by_solvers(data: tm.TrainingData) -> Any:
    """What a solver or a method of a user's own is given and gives."""
    model, cones = tm.c_svc(data, C=1.0), tm.conic_sdp(data, penalty=PENALTY, intercept="none")
    form, limits = inner.standard_form(cones), inner.Limits()
    claim = inner.clarabel.run(form, inner.classify(form), limits)
    values = tm.solve(model).values
    return (
        (model.origin, CATALOGUE["c_svc"].check(model.origin, values)),
        (model.margin, model.xi.arrays(), cones.inside, cones.W, form),
        (
            claim,
            limits,
            methods()[0],
            Finding(values, Status.OPTIMAL, "made"),
            inner.SOLVERS["highs"],
        ),
    )


def _tree(data: tm.TrainingData) -> Any:
    """What branch and bound finds of an edited model."""
    model = tm.zero_one_big_m(data, penalty=PENALTY, big_m=10.0, intercept="penalised")
    model.cap = pyo.Constraint(expr=model.w[0] <= 0.5)
    subject = inner.Subject(inner.standard_form(model))
    return inner.tree_search(
        inner.Case(model, subject, None, inner.Limits(time_limit=20.0, threads=1))
    )


@functools.cache
def examples() -> dict[type, Any]:
    """The first instance of each class among the results and their parts."""
    found: dict[type, Any] = {}
    seen: set[int] = set()
    kept: list[Any] = []  # what a property makes must stay, or its identity is used again
    waiting = list(returned())
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, str | bytes | np.ndarray):
            continue
        seen.add(id(thing))
        kept.append(thing)
        if type(thing).__module__.startswith("tightmargin."):
            found.setdefault(type(thing), thing)
        waiting += _parts(thing)
    return found


def _parts(thing: Any) -> list[Any]:
    if is_dataclass(thing) and not isinstance(thing, type):
        own = type(thing).__module__.startswith("tightmargin.")
        made = [getattr(thing, name) for name in ("judgement", "origin") if hasattr(thing, name)]
        return [*(getattr(thing, f.name) for f in fields(thing)), *made] if own else []
    if isinstance(thing, Mapping):
        return list(thing.values())
    return list(thing) if isinstance(thing, Collection) and not hasattr(thing, "dtype") else []
