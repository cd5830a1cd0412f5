"""MOSEK through Fusion: the exported file is the same problem, and a solution finds its way back.

Files are read by tests/support/cbf_reader.py, which shares no code with the writer, and solved by
Clarabel. There is no licence here, so solving is tested with Clarabel in the place of MOSEK's
optimizer: it reads MOSEK's own task, stores its solution there, and MOSEK itself confirms that
signs and order of the multipliers are those of its interface.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.cases import CONVEX
from tests.conformance.problems import PROBLEMS
from tests.inside.solvers import Limits, choice, classify, standard_form
from tests.inside.solvers import backends_registry as registry
from tests.inside.solvers import mosek as fusion
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support import cbf_reader
from tightmargin.solvers import LicenceError, SolverNotInstalledError, Status, Verdict

mosek = pytest.importorskip("mosek", reason="mosek is not installed")
mosek_fusion = pytest.importorskip("mosek.fusion", reason="mosek is not installed")

FEW = points("overlapping", 2, n=7)
DATA, PENALTY = points("overlapping", 1, n=10), 1.3
BY_NAME = {problem.name: problem for problem in PROBLEMS}
SOLVABLE = [
    p.name
    for p in PROBLEMS
    if p.solvable
    and p.problem_class in CONVEX
    and p.name not in ("lp_constant_objective", "lp_without_objective")  # no duals to compare
]


def near(expected: float, tolerance: float = 1e-6) -> Any:
    """Equal relative to the size of the expected number, absolutely below 1."""
    return pytest.approx(expected, rel=tolerance, abs=tolerance)


def small_lp() -> pyo.ConcreteModel:
    return BY_NAME["lp_maximised"].build()


def text_of(model: pyo.ConcreteModel, folder: Path) -> str:
    return fusion.export_conic(model, folder / "model.cbf").read_text(encoding="utf-8")


def test_rows_and_columns_keep_their_names(tmp_path: Path) -> None:
    text = fusion.export_conic(tm.conic_sdp(DATA, penalty=PENALTY), tmp_path / "m.ptf").read_text()
    assert "Task conic_sdp" in text
    for name in ("'hinge[3]'", "'lifted[9]'", "'inside[3]' [RQUAD(3)]", "outer [SVECPSD(10)]"):
        assert name in text, name
    rows = text[text.index("'inside[3]'") : text.index("'inside[4]'")].split("+ ")
    assert [row.split("\n")[0] for row in rows[1:]] == ["0.5 'z[3]'", "'T[3]'", "'p[3]'"]
    text = fusion.export_conic(tm.c_svc(DATA, C=0.7), tmp_path / "q.ptf").read_text()
    assert "'margin[3]' [1;+inf]" in text
    assert "objective_epigraph [RQUAD(4)]" in text
    m = BY_NAME["socp_norm"].build()
    (objective,) = m.component_data_objects(pyo.Objective)
    m.objective_epigraph = pyo.Var(bounds=(0, 1))
    objective.expr += m.objective_epigraph**2
    text = fusion.export_conic(m, tmp_path / "n.ptf").read_text()
    assert " [QUAD(3)]" in text
    assert "objective_epigraph_ [RQUAD(3)]" in text


def test_cones_of_two_rows_are_written(tmp_path: Path) -> None:
    """|x| <= 2, |y| <= t, s t >= 0 and t <= 3: the largest x + y - s is 5."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.s, m.t = pyo.Var(within=pyo.NonNegativeReals), pyo.Var(bounds=(0, 3))
    m.ball = pyo.Constraint(expr=m.x**2 <= 4)
    m.norm = pyo.Constraint(expr=m.y**2 <= m.t**2)
    m.product = pyo.Constraint(expr=m.s * m.t >= 0)
    m.o = pyo.Objective(expr=m.x + m.y - m.s, sense=pyo.maximize)
    program = cbf_reader.parse(text_of(m, tmp_path))
    assert [c.kind for c in program.cones if c.kind.startswith("Q")] == ["Q", "Q", "Q"]
    assert program.solved().objective == near(5.0)


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in .ptf, .task, .cbf, .jtask, got 'm.lp'"):
        fusion.export_conic(small_lp(), tmp_path / "m.lp")
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        fusion.export_conic(small_lp(), tmp_path / "nowhere" / "m.ptf")
    assert not any(tmp_path.iterdir())


def set_licence(monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    """What the probe says of a licence, whatever this machine has."""
    info = replace(registry.SOLVERS["mosek"], unlicensed=lambda: problem)
    monkeypatch.setitem(registry.SOLVERS, "mosek", info)


@pytest.fixture
def licensed(monkeypatch: pytest.MonkeyPatch) -> None:
    set_licence(monkeypatch, "")


def test_auto_never_picks_mosek_without_a_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    set_licence(monkeypatch, "A license cannot be located")
    assert tm.solve(small_lp()).solver == "highs"
    assert "mosek" not in choice.capable(registry.LP)
    found = registry.importlib.util.find_spec
    monkeypatch.setattr(
        registry.importlib.util, "find_spec", lambda name: found(name) if name == "mosek" else None
    )
    with pytest.raises(SolverNotInstalledError, match="no installed solver takes LP"):
        tm.solve(small_lp())


def test_a_licence_lost_between_probe_and_solve_is_the_same_refusal(
    licensed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solve(model: Any) -> None:
        raise mosek_fusion.OptimizeError("rescode.err_license_expired(1001): License expired.")

    monkeypatch.setattr(mosek_fusion.Model, "solve", solve)
    with pytest.raises(LicenceError, match=r"finds no licence \(License expired\); .*clarabel"):
        tm.solve(tm.c_svc(DATA, C=0.7), "mosek")


# --- solutions come back -------------------------------------------------------------------------


def linear_parts(task: Any) -> Iterator[tuple[str, list[int], cbf_reader.Cone]]:
    """Bounds of variables, then of rows, numbered through: "fx", "lo" and "up" ones."""
    n, m = task.getnumvar(), task.getnumcon()
    i, j, v = task.getatrip()
    body = sp.vstack([sp.identity(n), sp.coo_matrix((v, (i, j)), shape=(m, n))], format="csr")
    bounds = [task.getvarbound(k) for k in range(n)] + [task.getconbound(k) for k in range(m)]
    for word, kind, keys, side in (
        ("fx", "L=", ("fx",), 1), ("lo", "L+", ("lo", "ra"), 1), ("up", "L-", ("up", "ra"), 2),
    ):  # fmt: skip
        at = [k for k, bound in enumerate(bounds) if repr(bound[0]) in keys]
        if at:
            sides = -np.array([bounds[k][side] for k in at])
            yield word, at, cbf_reader.Cone(kind, body[at], sides)


def conic_parts(task: Any) -> Iterator[tuple[list[int], cbf_reader.Cone]]:
    """Affine conic constraints; where each of their rows stands in the cone."""
    if not task.getnumacc():
        return
    shape = (task.getaccntot(), task.getnumvar())
    i, j, v = task.getaccftrip()
    body, side = sp.csr_matrix((v, (i, j)), shape=shape), np.array(task.getaccgvector())
    start = 0
    for k in range(task.getnumacc()):
        size = task.getaccn(k)
        rows = range(start, start + size)
        start += size
        kind = repr(task.getdomaintype(task.getaccdomain(k)))
        if kind == "svec_psd_cone":  # column by column there, row by row here
            order = round((np.sqrt(8 * size + 1) - 1) / 2)
            pairs = [(r, c) for c in range(order) for r in range(c, order)]
            place = [r * (r + 1) // 2 + c for r, c in pairs]
        else:
            place = list(range(size))
        name = {"quadratic_cone": "Q", "rquadratic_cone": "QR", "svec_psd_cone": "PSD"}[kind]
        source = [rows[place.index(p)] for p in range(size)]
        yield place, cbf_reader.Cone(name, body[source], side[source])


def program_of(task: Any) -> cbf_reader.Program:
    """What a task asks for: its linear parts, then its conic ones."""
    assert repr(task.getobjsense()) == "minimize"
    cones = [cone for *_, cone in linear_parts(task)] + [cone for _, cone in conic_parts(task)]
    integer = [j for j in range(task.getnumvar()) if repr(task.getvartype(j)) == "type_int"]
    return cbf_reader.Program(False, np.array(task.getc()), task.getcfix(), cones, integer)


def clarabel_instead(model: Any) -> None:
    """Take the place of Model.solve: read the task, store Clarabel's solution in it."""
    task = model.getTask()
    linear, conic = list(linear_parts(task)), list(conic_parts(task))
    found = program_of(task).solved()
    n, m = task.getnumvar(), task.getnumcon()
    low, high = np.zeros(n + m), np.zeros(n + m)
    for (word, at, _), dual in zip(linear, found.duals, strict=False):
        if word != "up":
            low[at] += np.maximum(dual, 0.0)
        if word != "lo":
            high[at] += np.maximum(-dual, 0.0)
    doty = [dual[place] for (place, _), dual in zip(conic, found.duals[len(linear) :], strict=True)]
    i, j, v = task.getatrip()
    activity = sp.coo_matrix((v, (i, j)), shape=(m, n)) @ found.x
    unknown = mosek.stakey.unk
    task.putsolutionnew(
        mosek.soltype.itr, [unknown] * m, [unknown] * n, [], activity, found.x, (low - high)[n:],
        low[n:], high[n:], low[:n], high[:n], np.zeros(n), np.concatenate([*doty, np.zeros(0)]),
    )  # fmt: skip
    # As MOSEK computes them: objectives of the point and of the multipliers, and all violations.
    numbers = list(task.getsolutioninfonew(mosek.soltype.itr))
    primal, dual = numbers.pop(0), numbers.pop(7)
    assert primal == near(dual, 1e-5)
    assert max(numbers) < 1e-6


@pytest.mark.parametrize("name", SOLVABLE)
def test_a_model_goes_out_and_its_solution_and_multipliers_come_back(
    name: str, licensed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mosek_fusion.Model, "solve", clarabel_instead)
    problem, model = BY_NAME[name], BY_NAME[name].build()
    program = cbf_reader.parse(text_of(model, tmp_path))
    assert program.maximise == (standard_form(model).sense == pyo.maximize)
    assert program.solved().objective == near(problem.answer)
    result = tm.solve(model, "mosek")
    assert result.solver == "mosek"
    assert result.objective == near(problem.answer)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    # As given, before any repair: a wrong sign or order would leave a residual of the data's size.
    assert result.certificate.dual_residual < 1e-2
    assert result.certificate.complementarity < 1e-6
    assert result.certificate.solver_bound == near(problem.answer, 1e-5)
    for row, multiplier in problem.duals.items():
        assert float(result.duals[row]) == pytest.approx(multiplier, abs=1e-5), row


@pytest.mark.parametrize(
    ("solution", "problem", "expected"),
    [
        ("optimal", "prim_and_dual_feas", Status.OPTIMAL),
        ("unknown", "unknown", Status.INACCURATE),
        ("prim_infeas_cer", "prim_infeas", Status.INFEASIBLE),
        ("dual_infeas_cer", "dual_infeas", Status.INFEASIBLE_OR_UNBOUNDED),
        ("unknown", "prim_infeas_or_unbounded", Status.INFEASIBLE_OR_UNBOUNDED),
    ],
)
def test_the_words_of_mosek_become_a_status(
    solution: str, problem: str, expected: Status, licensed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mosek_fusion.Model, "solve", clarabel_instead)
    monkeypatch.setattr(mosek.Task, "getsolsta", lambda task, kind: getattr(mosek.solsta, solution))
    monkeypatch.setattr(mosek.Task, "getprosta", lambda task, kind: getattr(mosek.prosta, problem))
    form = standard_form(tm.c_svc(DATA, C=0.7))
    claim = fusion.run(form, classify(form), Limits())
    assert claim.status is expected
    assert (claim.x is None) == (expected not in (Status.OPTIMAL, Status.INACCURATE))
    assert solution in claim.message


@pytest.mark.parametrize(
    ("solution", "slack", "expected"),
    [("integer_optimal", 0.0, Status.OPTIMAL), ("prim_feas", 0.5, Status.FEASIBLE)],
)
@pytest.mark.usefixtures("no_search_of_ours")
def test_an_integer_solution_comes_back_with_its_bound(
    solution: str, slack: float, expected: Status, licensed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values of the binaries are tried in the place of branch and bound."""

    def solve(model: Any) -> None:
        task = model.getTask()
        program, n, m = program_of(task), task.getnumvar(), task.getnumcon()
        tried = [
            program.solved(dict(zip(program.integer, z, strict=True)))
            for z in itertools.product((0.0, 1.0), repeat=len(program.integer))
        ]
        best = min(tried, key=lambda found: found.objective)
        unknown, zero = mosek.stakey.unk, np.zeros
        task.putsolution(
            mosek.soltype.itg, [unknown] * m, [unknown] * n, [], zero(m), best.x, zero(m), zero(m),
            zero(m), zero(n), zero(n), zero(n),
        )  # fmt: skip
        bounds.append(best.objective - slack)

    bounds: list[float] = []
    monkeypatch.setattr(mosek_fusion.Model, "solve", solve)
    monkeypatch.setattr(mosek.Task, "getsolsta", lambda task, kind: getattr(mosek.solsta, solution))
    monkeypatch.setattr(mosek.Task, "getdouinf", lambda task, item: bounds[-1])
    result = tm.solve(tm.zero_one_big_m(FEW, penalty=PENALTY, big_m="derived"), "mosek")
    optimum = reference_solutions.zero_one_optimum(FEW, "penalised", PENALTY)
    assert result.objective == near(optimum)
    assert result.status is expected
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert result.certificate.solver_bound == near(optimum - slack)
    assert result.duals == {}


def test_limits_and_options_reach_mosek(licensed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def solve(model: Any) -> None:
        task = model.getTask()
        seen["time"] = task.getdouparam(mosek.dparam.optimizer_max_time)
        seen["threads"] = task.getintparam(mosek.iparam.num_threads)
        seen["seed"] = task.getintparam(mosek.iparam.mio_seed)
        seen["gap"] = task.getdouparam(mosek.dparam.intpnt_co_tol_rel_gap)
        clarabel_instead(model)

    monkeypatch.setattr(mosek_fusion.Model, "solve", solve)
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # reading the model takes no time
    options = {"intpntCoTolRelGap": 1e-7}
    model = tm.c_svc(DATA, C=0.7)
    tm.solve(model, "mosek", time_limit=7, threads=1, seed=5, options=options)
    assert seen == {"time": 7.0, "threads": 1, "seed": 5, "gap": 1e-7}
