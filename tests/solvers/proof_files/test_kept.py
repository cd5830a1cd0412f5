"""A result keeps its proof: save_proof writes the model that was solved, whatever became of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import CASES
from tests.conformance.exponential_problems import INFEASIBLE, UNBOUNDED
from tests.conformance.problems import PROBLEMS
from tests.inside.experiments import outlier_data
from tests.inside.solvers import checker, dispatch
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tightmargin.solvers import SolveResult, Status

Build = Callable[[], pyo.ConcreteModel]
# Multipliers, an optimum of 0, the low-rank form, a lemma of the family, cones, packings, facets,
# tangents, quadratic rows, a tree; with FULL all. Those without a file are named below.
ENTRIES = list(CASES) if FULL else [
    "c_svc", "hard_margin_svc_dual", "conic_sdp", "conic_sdp_budget", "rsvm", "zero_one_big_m",
    "zero_one_bilinear", "extended_nu_svc", "deviance_svc", "rsvm_dual", "matrix_svc_nuclear",
    "multiclass_truncated",
]  # fmt: skip
WITHOUT = ("zero_one_kernel", "matrix_svc_bilinear")  # not convex: no file says what proves them
BY_NAME = {problem.name: problem for problem in PROBLEMS}


def wrecked(model: pyo.ConcreteModel) -> None:
    """Leave nothing of a model as it was."""
    for objective in [*model.component_data_objects(pyo.Objective, active=True)]:
        objective.deactivate()
    for variable in model.component_data_objects(pyo.Var):
        variable.setlb(None)
        variable.setub(None)
        variable.fix(0.125)


def saved(result: Any, path: Path) -> checker.Proof:
    """What the file of a result proves to both checkers: an optimum inside of its interval."""
    assert result.save_proof(path) == path
    document = checker.read(str(path))
    proof = accepted(document)
    assert proof is not None
    if proof.kind == "optimum":
        least, most = getattr(result, "interval", None) or (result.bound, result.objective)
        sense = -1 if "maximised" in document["about"] else 1
        ends = [sense * (end + proof.model.constant) for end in (proof.lower, proof.upper)]
        low, high = sorted(map(float, ends))
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        assert low <= most + slack
        assert least <= high + slack
    return proof


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in WITHOUT])
def test_the_model_that_was_solved_is_written_and_not_the_live_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CASES[name].build(CASES[name].intercepts[-1])
    result = tm.solve(model, live=False)
    wrecked(model)
    assert saved(result, tmp_path / "proof.json").kind == "optimum"
    # Other processes get it along.
    other = pickle.loads(pickle.dumps(result))
    del model, result
    other.save_proof(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "proof.json").read_bytes()


NO_OPTIMUM: dict[str, Build] = {
    name: BY_NAME[name].build
    for name in (
        "milp_odd_sum", "sdp_below_its_trace", "socp_disc_and_line_apart", "lp_called_infeasible",
    )
}  # fmt: skip
NO_OPTIMUM |= {"exp infeasible": INFEASIBLE["exp"], "exp unbounded": UNBOUNDED["exp"]}


@pytest.mark.parametrize("name", NO_OPTIMUM)
def test_no_optimum_is_kept_as_well(name: str, tmp_path: Path) -> None:
    model = NO_OPTIMUM[name]()
    result = tm.solve(model)
    wrecked(model)
    other = pickle.loads(pickle.dumps(result))
    del model
    for each in (result, other):
        assert saved(each, tmp_path / "proof.json").kind == str(result.status)


def test_an_optimum_of_0_is_kept(tmp_path: Path) -> None:
    """Of a nu below the range, where w = 0 is best and no multiplier may leave a rounding."""
    data = outlier_data("clustered", n=40, d=3, sigma=0.5, seed=1)
    result = tm.solve(tm.nu_svc(data, nu=0.01))
    proof = saved(result, tmp_path / "proof.json")
    assert (result.objective, proof.lower, proof.upper) == (0, 0, 0)


def edited() -> pyo.ConcreteModel:
    """A 0-1 model with a row of w, which cones of directions take along."""
    data = outlier_data("clustered", n=14, d=2, sigma=0.5, seed=2)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    model.fair = pyo.Constraint(expr=model.w[0] + model.w[1] <= 0.3)
    return model


def fixed() -> pyo.ConcreteModel:
    """The same with a weight that is fixed: cones prove it, and a tree is grown for the file."""
    model = edited()
    model.del_component(model.fair)
    model.w[0].fix(0.3)
    return model


def counted() -> pyo.ConcreteModel:
    """A hinge loss of which one feature may be used."""
    model = tm.c_svc(outlier_data("clustered", n=10, d=2, sigma=0.5, seed=1), C=1.0)
    model.used = pyo.Var([0, 1], within=pyo.Binary)
    model.upper = pyo.Constraint([0, 1], rule=lambda m, j: m.w[j] <= 5 * m.used[j])
    model.lower = pyo.Constraint([0, 1], rule=lambda m, j: m.w[j] >= -5 * m.used[j])
    model.count = pyo.Constraint(expr=model.used[0] + model.used[1] <= 1)
    return model


@pytest.mark.parametrize("build", [edited, fixed, counted])
def test_edited_models_keep_theirs(build: Build, tmp_path: Path) -> None:
    model = build()
    result = tm.solve(model, live=False)
    wrecked(model)
    for each in (result, pickle.loads(pickle.dumps(result))):
        assert saved(each, tmp_path / "proof.json.gz").kind == "optimum"


SMALL = outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
MANY = outlier_data("clustered", n=40, d=6, sigma=0.5, seed=1)
FEW = outlier_data("clustered", n=6, d=1, sigma=0.5, seed=1)
THREE = tm.data.gaussian_class_data(n=9, d=2, classes=3, sigma=0.5, seed=0)
WORDS = {"penalty": 1.0, "intercept": "free"}
MODEL = {"penalty": 1.0, "big_m": "derived"}
FOUND: dict[str, Callable[[], Any]] = {
    "gap table": lambda: tm.compare(SMALL, ["conic_sdp"], parameters=MODEL).rows[0].result,
    "worker": lambda: tm.solve_isolated(tm.c_svc(SMALL, C=1.0)),
    "cones": lambda: tm.search.cone_search(SMALL, **WORDS),
    "ramp": lambda: tm.search.ramp_cone_search(FEW, C=1.0, intercept="penalised"),
    "conflicts": lambda: tm.search.conflict_search(SMALL, **WORDS),
    "open": lambda: tm.search.conflict_search(MANY, **WORDS, step_limit=1),
    "classes": lambda: tm.search.truncated_search(THREE, ridge=0.1, truncation=0.0),
    "robust": lambda: tm.search.robust_search(SMALL, nu=0.5, mu="1/4"),
    "facets": lambda: tm.search.hull_search(SMALL, nu=0.3),
    "cuts": lambda: tm.search.cutting_plane(SMALL, nu=0.3),
    "penalty": lambda: tm.paths.conic_path(SMALL, penalties=[2.0]).rows[0],
    "budget": lambda: tm.paths.conic_path(SMALL, budgets=[0.3]).rows[0],
    "norm": lambda: tm.search.solve_rsvm(SMALL, norm_bound=0.5),
    "nu": lambda: tm.paths.extended_nu_path(SMALL, [0.3]).rows[0],
    "share": lambda: tm.paths.class_probabilities(SMALL, ridge=0.1, grid=[0.4]).rows[0],
}


@pytest.mark.parametrize("name", FOUND)
def test_searches_rows_and_workers_have_files(name: str, tmp_path: Path) -> None:
    found = FOUND[name]()
    for each in (found, pickle.loads(pickle.dumps(found))):
        proof = saved(each, tmp_path / "proof.json")
        assert proof.kind == "optimum" or (name == "open" and proof.lower > 0)


@pytest.mark.parametrize("status", [None, Status.OPTIMAL])
def test_what_has_no_file_says_why(status: Status | None, tmp_path: Path) -> None:
    """A result that was loaded, and one of a model for which there are none."""
    path = tmp_path / "proof.json"
    if status is None:
        result = tm.solve(tm.c_svc(outlier_data("clustered", n=8, d=2, sigma=0.5, seed=1), C=1.0))
        result.save(tmp_path / "result.json")
        with pytest.raises(ValueError, match="was loaded"):
            SolveResult.load(tmp_path / "result.json").save_proof(path)
        with pytest.raises(ValueError, match="no model of the catalogue"):
            tm.search.least_errors(SMALL, margin=0.1).counting.save_proof(path)
    else:
        model = pyo.ConcreteModel()
        model.x = pyo.Var([0, 1], bounds=(-1, 1))
        model.goal = pyo.Objective(expr=model.x[0] * model.x[1])
        with pytest.raises(ValueError, match="proof files are for convex models"):
            tm.solve(model).save_proof(path)
    assert not path.exists()


def test_nothing_is_solved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tm.solve(tm.c_svc(outlier_data("clustered", n=30, d=2, sigma=0.5, seed=1), C=1.0))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(dispatch, "run_attempts", refuse)
    saved(result, tmp_path / "proof.json")
    with pytest.raises(ValueError, match="json"):
        result.save_proof(tmp_path / "proof.txt")
