"""Rows 13 to 19 and 25 to 28: solvers that are missing, stopped, lost, wrong, or asked for more.

tests/solvers/execution has every solver and every kind of limit. Instances found by seed are kept
with their data in instances/.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside import solvers as inner
from tests.inside.solvers import backends_registry as registry
from tests.references.brute_force import zero_one_optima
from tests.references.reference_solutions import points
from tests.support import command_line
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tests.support.long_runs import MODELS, finish, press, start, wait_for, with_a_point
from tests.support.lying_solver import SUBJECTS, telling
from tightmargin import solvers as room
from tightmargin.formulations import psd

# --- row 13: no solver ----------------------------------------------------------------------------

POINTS = points("overlapping", 1, n=10)
ABLE = [name for name, solver in inner.SOLVERS.items() if "QP" in solver.classes]


def test_row_13_without_solvers_each_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Imports are blocked one after the other; auto does without, until none is left."""
    model = tm.c_svc(POINTS, C=1.0)
    for k, solver in enumerate(ABLE):
        monkeypatch.setitem(sys.modules, inner.SOLVERS[solver].package, None)
        with pytest.raises(room.SolverNotInstalledError) as refusal:
            tm.solve(model, solver)
        command = f"{solver} is not installed (pip install {inner.SOLVERS[solver].distribution})"
        sentence = str(refusal.value)
        assert sentence.startswith(command)
        others = set(sentence.partition("installed solvers for QP: ")[2].split(", "))
        left = [inner.SOLVERS[name] for name in ABLE[k + 1 :]]
        here = {info.name for info in left if info.installed and not info.unlicensed()}
        assert others <= (here or {"none"})
        if here:
            assert tm.solve(model).solver in here
    with pytest.raises(
        room.SolverNotInstalledError, match="no installed solver takes QP"
    ) as refusal:
        tm.solve(model)
    free = {inner.SOLVERS[name].distribution for name in ABLE if inner.SOLVERS[name].free}
    assert set(str(refusal.value).partition("install ")[2].split(" or ")) == free


# --- row 14: no licence, and a model beyond one ---------------------------------------------------


def test_row_14_a_missing_licence_says_how_to_keep_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No licence for MOSEK, whatever this machine has; nothing is left in the temporary folder."""
    file, folder = write_csv(tmp_path / "points.csv", POINTS), tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    info = replace(inner.SOLVERS["mosek"], unlicensed=lambda: "A license cannot be located")
    monkeypatch.setitem(inner.SOLVERS, "mosek", info)
    with pytest.raises(room.LicenceError, match="cannot be located") as refusal:
        tm.solve(tm.c_svc(POINTS, C=1.0), "mosek")
    sentence = str(refusal.value)
    assert "tm.export(model, 'c_svc.ptf')" in sentence
    free = {name for name in ABLE if inner.SOLVERS[name].installed and inner.SOLVERS[name].free}
    assert set(sentence.partition("without one are ")[2].split(", ")) == free
    answer = run("solve", "c_svc", "--data", file, "--set", "C=1", "--solver", "mosek")
    assert (answer.code, answer.complaint) == (2, f"tightmargin: {sentence}")
    assert list(folder.iterdir()) == []


def quadratic(n: int) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(0, 1))
    m.objective = pyo.Objective(expr=sum((m.x[k] - 0.5) ** 2 for k in range(n)))
    return m


def test_row_14_a_size_limit_is_told_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 variables pass, 201 do not: what the wheel's licence takes in quadratic models."""
    if not inner.SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    monkeypatch.setattr(registry, "gurobi_is_restricted", lambda: True)
    assert tm.solve(quadratic(200), "gurobi").objective == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(room.SizeLimitError) as refusal:
        tm.solve(quadratic(201), "gurobi")
    sentence = str(refusal.value)
    assert "gurobi: the model has 201 variables, and its restricted licence takes 200" in sentence
    others = sentence.partition("; try ")[2].split(", ")
    assert others[0] == "clarabel"
    assert "gurobi" not in others
    assert set(others) <= set(ABLE)


# --- row 15: a time limit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "name"),
    [("highs", "milp"), ("scip", "miqp"), ("gurobi", "miqp")][: 3 if FULL else 1],
)
def test_row_15_incumbent_and_both_bounds_are_kept(solver: str, name: str) -> None:
    if not inner.SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    model = MODELS[name]()
    result = with_a_point(
        lambda seconds: tm.solve(model, solver, time_limit=seconds),
        lambda found: found.objective is not None,
    )
    assert result.status is room.Status.FEASIBLE
    assert result.certificate.verdict is room.Verdict.SOLVER_BOUND
    claim = result.certificate.solver_bound
    assert result.bound <= result.objective
    assert claim < result.objective * (1 - 1e-3), "it was stopped, not finished"
    form = inner.standard_form(model)
    x = inner.point_with(model, form, form.point(), result.values)
    assert inner.primal_residual(form, x)[0] <= 1e-6
    assert result.objective == pytest.approx(form.objective.at(x), rel=1e-9)
    assert result.time_limit in (1, 5, 25)


# --- row 18: Ctrl-C from outside leaves a result with incumbent and bound -------------------------

# A row of the log that shows an incumbent and a gap.
MARKERS = {
    ("highs", "milp"): r"%\s+\S+\s+\d+\s+\d+\.\d+%",
    ("scip", "miqp"): r"\|\s*[\d.]+e[+-]\d+ \|\s*[\d.]+e[+-]\d+ \|\s*[\d.]+%",
    ("gurobi", "miqp"): r"\s\d+\.\d%\s",
}
SCRIPT = """
import json, sys
import tightmargin as tm
from tests.support.long_runs import MODELS
solver, name, out = sys.argv[1:]
result = tm.solve(MODELS[name](), solver, log=True)
result.save(out)
print(json.dumps({"status": str(result.status), "verdict": str(result.certificate.verdict)}))
"""


@pytest.mark.slow("a solver is interrupted in the middle of a search")
@pytest.mark.parametrize(("solver", "name"), list(MARKERS)[:: 1 if FULL else 3])
def test_row_18_a_press_in_the_search_keeps_what_there_is(
    solver: str, name: str, tmp_path: object
) -> None:
    if not inner.SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    out = f"{tmp_path}/r.json"
    process = start(solver, name, out, script=SCRIPT)
    wait_for(MARKERS[solver, name], process.stdout)
    press(process)
    code, stdout, stderr = finish(process)
    assert code == 0, stderr
    assert json.loads(stdout.splitlines()[-1])["status"] == "interrupted"
    kept = room.SolveResult.load(out)
    claim = kept.certificate.solver_bound
    assert kept.values
    assert claim < kept.objective
    assert kept.bound is None or kept.bound <= kept.objective
    assert "interrupt" in kept.message.lower()


# --- row 16: an early end -------------------------------------------------------------------------

EARLY = {"max_iter": 4}


def test_row_16_an_early_end_is_inaccurate_and_has_no_gap() -> None:
    data = points("overlapping", 2, n=10)
    result = tm.solve(tm.conic_sdp_dual(data, penalty=1.0), "clarabel", options=EARLY)
    assert result.status is room.Status.INACCURATE
    assert result.certificate.verdict is room.Verdict.NOT_CERTIFIED
    assert result.certificate.reason
    if result.bound is not None:
        truth = tm.solve(tm.conic_sdp_dual(data, penalty=1.0)).objective
        assert result.bound <= truth + 1e-6, "what was proven on the way still holds"
    exact = tm.solve(tm.build("zero_one_big_m", data, penalty=1.0, big_m="derived"))
    words: dict[str, Any] = {"exact": exact, "parameters": {"penalty": 1.0}, "solver": "clarabel"}
    good, bad = (
        tm.compare(data, ["conic_sdp"], **words, **how) for how in ({}, {"options": EARLY})
    )
    assert good.relative_gap(good.rows[0]) is not None
    assert bad.rows[0].status is room.Status.INACCURATE
    assert bad.rows[0].bound is None
    assert bad.absolute_gap(bad.rows[0]) is None
    frame = bad.to_frame()
    row = frame.loc[frame["formulation"] == "conic_sdp"].iloc[0]
    assert "NOT_CERTIFIED" in row["certificate"]
    assert np.isnan(row["relative gap"])


# --- row 17: what has no least point: tests/faults/test_estimator_rows.py has the proofs --------


def _rewarded_intercept() -> pyo.ConcreteModel:
    m = tm.hard_margin_svc(points("separable", 1, n=8))
    m.margin.deactivate()
    m.objective.expr = m.objective.expr + m.b
    return m


def test_row_17_highs_is_not_believed_where_it_calls_an_endless_model_optimal() -> None:
    """Of this quadratic program it says so at a point where a variable is 1e7."""
    form = inner.standard_form(_rewarded_intercept())
    claim = inner.highs.run(form, inner.classify(form), inner.Limits())
    assert claim.status is room.Status.OPTIMAL, "the fault is gone"
    result = tm.solve(_rewarded_intercept(), "highs")
    assert result.status in (room.Status.INACCURATE, room.Status.UNBOUNDED)
    assert result.bound is None
    if result.status is room.Status.INACCURATE:
        assert result.certificate.verdict is room.Verdict.NOT_CERTIFIED
        assert "stationarity of b" in result.certificate.reason


# --- row 19: a worker that is lost ----------------------------------------------------------------


def kill_when_it_is_there(mark: Path) -> None:
    """SIGKILL, which nobody can refuse: what the system sends when memory runs out."""
    for _ in range(6000):
        if mark.exists() and mark.read_text():
            os.kill(int(mark.read_text()), signal.SIGKILL)
            return
        time.sleep(0.05)
    raise AssertionError("the child never came to its solver")


def test_fault_19_a_killed_or_hanging_worker_is_named_and_the_others_finish(tmp_path: Path) -> None:
    """Three solves side by side: killed from outside, hanging, and an honest one."""
    mark = tmp_path / "pid"

    def isolated(lie: str, deadline: float, mark: Path | None = None) -> room.SolveResult:
        model = SUBJECTS["QP"].build()
        return room.solve_isolated(model, "liar", deadline=deadline, setup=telling(lie, "QP", mark))

    with ThreadPoolExecutor(4) as pool:
        killed = pool.submit(isolated, "hangs", 600.0, mark)
        hung = pool.submit(isolated, "hangs", 2.0)
        honest = pool.submit(isolated, "nothing_but_the_truth", 600.0)
        pool.submit(kill_when_it_is_there, mark).result()
        found = [future.result() for future in (killed, hung, honest)]
    killed_by = (
        "the process was killed by signal 9 (SIGKILL), by somebody or by the system when memory "
        "ran out; "
    )
    late = "no answer within the deadline of 2 s: the process was ended; "
    statuses = (room.Status.ERROR, room.Status.LIMIT_NO_SOLUTION)
    for result, status, words in zip(found[:2], statuses, (killed_by, late), strict=True):
        assert result.status is status
        assert result.certificate.verdict is room.Verdict.NOT_CERTIFIED
        assert result.message.startswith(f"{words}solvers that take such models are clarabel, ")
        assert result.objective is None
    reference = tm.solve(SUBJECTS["QP"].build(), "clarabel")
    assert found[2].certificate.verdict is room.Verdict.CERTIFIED
    assert found[2].objective == pytest.approx(reference.objective, rel=1e-8)


# --- row 25: a local optimum ----------------------------------------------------------------------

INSTANCES = Path(__file__).parent / "instances"
KEPT = json.loads((INSTANCES / "local_optima.json").read_text())
Q, C = np.array(KEPT["Q"]), np.array(KEPT["c"])
POLYGON = np.vstack([KEPT["A"], np.eye(2), -np.eye(2)])
SIDES = np.r_[KEPT["r"], np.full(4, KEPT["box"])]


def model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-KEPT["box"], KEPT["box"]))
    m.rows = pyo.ConstraintList()
    for row, side in zip(KEPT["A"], KEPT["r"], strict=True):
        m.rows.add(row[0] * m.x[0] + row[1] * m.x[1] <= side)
    m.objective = pyo.Objective(
        expr=sum(Q[i, j].item() * m.x[i] * m.x[j] for i in range(2) for j in range(2))
        + sum(C[j].item() * m.x[j] for j in range(2))
    )
    return m


def vertices() -> list[tuple[float, list[float]]]:
    """By value: the optimum of a concave function, and two worse local optima."""
    assert np.linalg.eigvalsh(Q)[-1] < 0
    found = []
    for pair in itertools.combinations(range(len(SIDES)), 2):
        if abs(np.linalg.det(POLYGON[list(pair)])) > 1e-9:
            x = np.linalg.solve(POLYGON[list(pair)], SIDES[list(pair)])
            if (POLYGON @ x <= SIDES + 1e-9).all():
                found.append((float(x @ Q @ x + C @ x), x.tolist()))
    return sorted(found)


@pytest.mark.parametrize("told", [None, -40.0, "its own value"])
def test_row_25_a_local_optimum_that_is_called_optimal_is_not_believed(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCIP's run is replaced by one that stops there: without a bound, with a true one far below,
    which COPT and Xpress leave the caller to notice, and with its value as the bound, a consistent
    lie that stays a claim under the solver's name.
    """
    (optimum, _), (value, at) = vertices()[:2]
    assert value > optimum + 1
    bound = value if told == "its own value" else told

    def run(form: inner.StandardForm, limits: inner.Limits) -> room.Claim:
        return room.Claim(room.Status.OPTIMAL, x=np.array(at), bound=bound, message="optimal")

    monkeypatch.setattr(inner.attempts.scip, "run", run)
    result = tm.solve(model(), "scip")
    assert result.certificate.verdict is not room.Verdict.CERTIFIED
    assert result.objective == pytest.approx(value)
    assert result.bound is None or result.bound <= optimum
    if told == "its own value":
        assert result.certificate.solver_bound == pytest.approx(value)
        return
    assert result.status is room.Status.FEASIBLE
    assert result.certificate.verdict is room.Verdict.NOT_CERTIFIED
    assert told is not None or "says optimal" in result.certificate.reason


# --- row 26: an incumbent below the optimum -------------------------------------------------------

BELOW = json.loads((INSTANCES / "superoptimal.json").read_text())
SEPARATED = tm.TrainingData(BELOW["X"], BELOW["y"])
OPTIMUM = 6.0  # of w = (1, 1), b = -2, which separates the points with margin 1
PENALTY = BELOW["penalty"]


@pytest.mark.parametrize(("solver", "big_m"), [("scip", 1000.0), ("gurobi", "derived")])
def test_row_26_the_objective_is_that_of_a_point_that_is_feasible(
    solver: str, big_m: object
) -> None:
    """The hyperplane is stretched until kept points are kept, and the violations are counted."""
    if not inner.SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    assert (SEPARATED.y * (SEPARATED.X @ [1.0, 1.0] - 2.0)).min() == 1.0
    assert zero_one_optima(SEPARATED, [PENALTY], BELOW["intercept"])[0] == pytest.approx(
        6.0, rel=1e-8
    )
    result = tm.solve(tm.zero_one_big_m(SEPARATED, penalty=PENALTY, big_m=big_m), solver)
    w, b = result.values["w"], float(result.values["b"])
    assert (SEPARATED.y * (SEPARATED.X @ w + b)).min() >= 1.0
    assert result.objective == pytest.approx(float(w @ w) + b * b, rel=1e-15)
    assert result.objective >= OPTIMUM * (1 - 1e-15)
    assert result.objective == pytest.approx(OPTIMUM, rel=1e-6)
    assert result.certificate.verdict is room.Verdict.CERTIFIED
    assert result.bound <= OPTIMUM * (1 + 1e-12)
    assert result.absolute_gap >= -1e-12


# --- row 27: multipliers --------------------------------------------------------------------------

STEP = 1e-2


def program(kind: str, sense: int) -> pyo.ConcreteModel:
    """Every kind of row at work: >=, <=, an equation and a range.

    A quadratic objective, or a ball that is met with a cost that pulls outwards.
    """
    m = pyo.ConcreteModel()
    x = m.x = pyo.Var(range(4))
    m.p = pyo.Param(range(4), initialize=[3.0, 2.0, 1.0, 4.0], mutable=True)
    m.low = pyo.Constraint(expr=x[0] + x[1] >= m.p[0])
    m.high = pyo.Constraint(expr=x[1] - x[0] <= m.p[1])
    m.equal = pyo.Constraint(expr=x[2] + 0.5 * x[0] == m.p[2])
    m.range = pyo.Constraint(expr=pyo.inequality(-9.0, x[3] - x[2], m.p[3]))
    squares = sum(x[k] ** 2 for k in x)
    cost = {
        "LP": 3 * x[0] + 2 * x[1] + x[2] - 0.25 * x[3],
        "QP": squares + 3 * x[0] + 2 * x[1] - 20 * x[3],
        "SOCP": x[0] + 4 * x[1] - 2 * x[3],
    }[kind]
    if kind == "SOCP":
        m.ball = pyo.Constraint(expr=squares <= 30)
    m.goal = pyo.Objective(expr=sense * cost, sense=pyo.minimize if sense == 1 else pyo.maximize)
    return m


def matrix(kind: str, sense: int) -> pyo.ConcreteModel:
    """min t with [[t, 1], [1, s]] semidefinite and s <= p: t = 1 / p."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, None))
    m.p = pyo.Param(range(1), initialize=[2.0], mutable=True)
    psd(m, "matrix", [[m.x[0]], [1.0, m.x[1]]])
    m.high = pyo.Constraint(expr=m.x[1] <= m.p[0])
    m.goal = pyo.Objective(expr=sense * m.x[0], sense=pyo.minimize if sense == 1 else pyo.maximize)
    return m


Model = Callable[[str, int], pyo.ConcreteModel]
KINDS_OF_ROWS = ("low", "high", "equal", "range")
SLOPED: dict[str, tuple[Model, tuple[str, ...]]] = dict.fromkeys(
    ("LP", "QP", "SOCP"), (program, KINDS_OF_ROWS)
) | {"SDP": (matrix, ("high",))}
GIVES = {
    kind: [
        name
        for name in ("highs", "clarabel", "gurobi", "scs", "piqp")
        if kind in inner.SOLVERS[name].classes
        and inner.SOLVERS[name].installed
        and (kind, name) != ("SOCP", "gurobi")
    ]
    for kind in SLOPED
}


def slope(kind: str, k: int, sense: int) -> float:
    """Difference of the optima at two right-hand sides, over their distance."""
    values = []
    for sign in (1, -1):
        model = SLOPED[kind][0](kind, sense)
        model.p[k].set_value(pyo.value(model.p[k]) + sign * STEP)
        result = tm.solve(model, "clarabel")
        assert result.objective is not None
        values.append(result.objective)
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("sense", [1, -1], ids=["minimise", "maximise"])
@pytest.mark.parametrize("kind", SLOPED)
def test_row_27_multipliers_are_slopes_of_the_optimum(kind: str, sense: int) -> None:
    """Every solver that gives some, by turns for the least and the largest value."""
    build, names = SLOPED[kind]
    slopes = [slope(kind, k, sense) for k in range(len(names))]
    assert sum(abs(each) > 0.01 for each in slopes) >= len(names) - 1, "signs of idle rows are none"
    for k, solver in enumerate(GIVES[kind]):
        if FULL or (sense == 1) == (k % 2 == 0):
            result = tm.solve(build(kind, sense), solver)
            assert result.certificate.verdict is room.Verdict.CERTIFIED
            found = [float(result.duals[name]) for name in names]
            assert found == pytest.approx(slopes, rel=2e-3, abs=2e-3), solver


@pytest.mark.parametrize(("solver", "kind"), [("scip", "LP"), ("gurobi", "SOCP")])
def test_row_27_who_gives_none_is_named_with_who_does(solver: str, kind: str) -> None:
    if not inner.SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    result = tm.solve(SLOPED[kind][0](kind, 1), solver)
    assert dict(result.duals) == {}
    reason = result.certificate.facts["no_duals"]
    assert reason.startswith("no multipliers: ")
    assert f"{solver} returns none for {kind} models; clarabel does" in reason
    other = tm.solve(SLOPED[kind][0](kind, 1), "clarabel")
    assert other.duals
    assert "no_duals" not in other.certificate.facts


# --- row 28: a run that is repeated ---------------------------------------------------------------

DATA = points("overlapping", 6, n=10)
RUNS = {
    "highs": ("c_svc", "C=1"),
    "clarabel": ("conic_sdp", "penalty=1"),
    "scip": ("zero_one_big_m", "penalty=1", "big_m=derived"),
    "gurobi": ("zero_one_big_m", "penalty=1", "big_m=derived"),
    "scs": ("conic_sdp", "penalty=1"),
    "piqp": ("c_svc", "C=1"),
}


def words(solver: str, file: Path, out: Path) -> tuple[str | Path, ...]:
    name, *settings = RUNS[solver]
    threads = () if solver == "piqp" else ("--threads", "1")
    seed = ("--seed", "7") if solver in ("scip", "gurobi", "highs") else ()
    return (
        "solve", name, "--data", file, "--set", *settings, "--solver", solver, *threads, *seed,
        "--out", out, "--json",
    )  # fmt: skip


def without_clock(written: str) -> str:
    """A document less what a clock writes, and the checksum over it."""
    document = json.loads(written)
    document.pop("sha256", None)
    document.pop("seconds")
    for row in document["certificate"]["facts"].get("trace", ()):
        assert row.pop(0) >= 0, "a row of a trace begins with its seconds"
    text = json.dumps(document, indent=1)
    assert '"sha256"' in text, "that of the data stays"
    return text


@pytest.mark.parametrize("solver", RUNS if FULL else ("clarabel", "scip", "piqp"))
def test_row_28_a_second_run_writes_the_same_bytes_and_the_record_is_complete(
    solver: str, tmp_path: Path
) -> None:
    if not inner.SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    file = write_csv(tmp_path / "points.csv", DATA)
    outs = [tmp_path / f"{k}.json" for k in range(2)]
    answers = [run(*words(solver, file, out)) for out in outs]
    assert without_clock(outs[0].read_text()) == without_clock(outs[1].read_text())
    assert without_clock(answers[0].stdout) == without_clock(answers[1].stdout)
    document: dict[str, Any] = json.loads(outs[0].read_bytes())
    said, digest = document["solver"], hashlib.sha256()
    assert document["schema"] == inner.SCHEMA
    assert document["formulation"] == RUNS[solver][0]
    assert said["name"] == solver
    assert version(inner.SOLVERS[solver].distribution) in said["version"]
    assert said["threads"] == (None if solver == "piqp" else 1)
    assert said["seed"] == (7 if solver in ("scip", "gurobi", "highs") else None)
    for package in ("pyomo", "numpy", "scipy"):
        assert document["versions"][package] == version(package)
    assert document["versions"]["tightmargin"] == tm.__version__
    for array in (DATA.X, DATA.y):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    assert document["data"]["sha256"] == digest.hexdigest()
    assert document["data"]["spec"] == str(file)


def test_row_28_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "points.csv", DATA)
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    assert run(*words("scip", file, here)).code == 0
    begun = command_line.start(*words("scip", file, there), cwd=tmp_path)
    assert command_line.finish(begun).code == 0
    assert without_clock(here.read_text()) == without_clock(there.read_text())


def test_row_28_the_digest_sees_every_change_and_not_the_layout_in_memory() -> None:
    X, y = np.array(DATA.X), np.array(DATA.y)
    moved, swapped = X.copy(), y.copy()
    moved[3, 1] = np.nextafter(X[3, 1], 9.0)
    swapped[[0, -1]] = y[[-1, 0]]
    for other in ((moved, y), (X, swapped), (X[::-1], y[::-1])):
        assert tm.TrainingData(*other).sha256 != DATA.sha256
    assert tm.TrainingData(np.asfortranarray(X), y.astype(int)).sha256 == DATA.sha256
