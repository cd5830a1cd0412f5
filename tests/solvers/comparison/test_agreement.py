"""One table of all solvers: five models against witnesses from elsewhere, and solvers that lie."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import compare_solvers
from tests.inside.solvers import COLUMNS, SOLVERS, Agreement, Model, SolverRun, scip, scs
from tests.inside.solvers import solver_runs as answering
from tests.references import reference_solutions as ref
from tests.support.command_line import run, write_csv
from tightmargin.solvers import Certificate, Claim, SolveResult, Status, Verdict

NU_BELOW, NU, PENALTY, BIG_M, N = 0.3, 0.75, 1.3, 25.0, 10
DATA = ref.points("overlapping", 1, n=N)
UNIFORM = np.full(N, 1 / N)


# Class, parameters, and the optimum as other programs find it.
FIVE: dict[str, tuple[str, dict[str, Any], Callable[[], float]]] = {
    "extended_nu_svc_linearised": (
        "LP", {"nu": NU_BELOW, "w_ref": (1.0, 0.0)},
        lambda: ref.nu_risk_linearised(DATA, "free", NU_BELOW, UNIFORM, np.array([1.0, 0.0])).value,
    ),
    "nu_svc": ("QP", {"nu": NU}, lambda: ref.nu_machine(DATA, "free", NU, UNIFORM).value),
    "rsvm": ("SOCP", {"norm_bound": 0.7}, lambda: ref.least_loss(DATA, "free", 0.7).value),
    "zero_one_big_m": (
        "MIQP", {"big_m": "derived"}, lambda: ref.zero_one_optimum(DATA, "penalised", PENALTY),
    ),
    "conic_sdp": ("SDP", {}, lambda: ref.theorem_2(DATA, "penalised", penalty=PENALTY).value),
}  # fmt: skip


def takers(problem_class: str) -> list[str]:
    return [n for n, s in SOLVERS.items() if s.installed and problem_class in s.classes]


@pytest.fixture(scope="module")
def table() -> Agreement:
    """The five models with everything that is installed, in one call."""
    return tm.compare(
        DATA,
        [(name, words) for name, (_, words, _) in FIVE.items()],
        parameters={"penalty": PENALTY},
        solvers="all",
    )


@pytest.mark.parametrize("name", FIVE)
def test_all_solvers_find_the_optimum_of_the_witness(table: Agreement, name: str) -> None:
    problem_class, _, optimum = FIVE[name]
    rows = [row for row in table.rows if row.model.label.partition(":")[0] == name]
    assert [row.solver for row in rows] == takers(problem_class)
    expected = optimum()
    answered = [row for row in rows if row.result is not None]
    assert {row.solver for row in rows if SOLVERS[row.solver].free} <= {r.solver for r in answered}
    for row in rows:
        assert row.model.problem_class == problem_class
        if row.result is None:
            assert (row.refusal, row.solver) == ("no licence", "mosek")
            continue
        slack = (row.tolerance + 1e-7) * max(1.0, abs(expected))  # 1e-7 is of the witness
        assert row.objective == pytest.approx(expected, abs=slack), row
        assert table.agrees(row) is (True if len(answered) > 1 else None)
        if row.result.bound is not None:
            assert row.result.bound <= expected + 1e-6 * max(1.0, abs(expected))
        assert abs(table.difference(row)) <= row.tolerance + 1e-6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("agreement") / "points.csv", DATA).parent


def words(folder: Path, *names: str) -> list[Any]:
    rows = [f"{name}:{WRITTEN[name]}" for name in names]
    price = [] if set(names) <= {"nu_svc"} else ["--set", f"penalty={PENALTY}"]
    return ["compare", *rows, "--data", folder / "points.csv", *price]


WRITTEN = {"nu_svc": f"nu={NU}", "zero_one_big_m": "big_m=derived"}


def test_the_command_prints_models_with_all_solvers(folder: Path) -> None:
    names = ("nu_svc", "zero_one_big_m")
    files = ["--csv", folder / "table.csv", "--latex", folder / "table.tex"]
    printed = run(*words(folder, *names), "--solver", "all", *files, "--json")
    assert (printed.code, printed.stderr) == (0, "")
    assert printed.json["disagreements"] == []
    rows = printed.json["rows"]
    assert len(rows) == sum(len(takers(FIVE[name][0])) for name in names)
    with (folder / "table.csv").open() as stream:
        of_file = list(csv.DictReader(stream))
    assert tuple(of_file[0]) == COLUMNS
    assert r"zero\_one\_big\_m" in (folder / "table.tex").read_text()
    for row, other in zip(rows, of_file, strict=True):
        assert other["agrees"] == {True: "yes", False: "NO", None: "-"}[row["agrees"]]
        if row["objective"] is not None:
            assert row["agrees"] is True
            assert float(other["objective"]) == row["objective"], "full precision"


def rows_of(name: str, *solvers: str) -> tuple[Agreement, dict[str, SolverRun]]:
    asked = [(name, FIVE[name][1])]
    found = tm.compare(DATA, asked, parameters={"penalty": PENALTY}, solvers=solvers)
    return found, {row.solver: row for row in found.rows}


def test_refusals_are_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name, change in {
        "mosek": {"unlicensed": lambda: "it ended yesterday"},
        "scs": {"limits": lambda form: f"{form.n} variables, and it takes 2"},
        "piqp": {"package": "no_such_package"},
    }.items():
        monkeypatch.setitem(SOLVERS, name, replace(SOLVERS[name], **change))
    found, rows = rows_of("nu_svc", "highs", "clarabel", "mosek", "scs", "piqp")
    for name, refusal, sentence in (
        ("mosek", "no licence", "it ended yesterday"),
        ("scs", "above its size limit", "takes 2; try clarabel"),
        ("piqp", "not installed", "pip install piqp"),
    ):
        assert (rows[name].status, rows[name].refusal) == ("refused", refusal)
        assert sentence in rows[name].sentence
        assert found.agrees(rows[name]) is None
    assert found.agrees(rows["highs"]) is found.agrees(rows["clarabel"]) is True
    assert found.disagreements() == []
    assert list(tmp_path.iterdir()) == []
    _, rows = rows_of("conic_sdp", "highs", "clarabel")
    assert rows["highs"].refusal == "does not take the class"


def test_an_error_of_one_solver_is_a_row_and_a_complaint(monkeypatch: Any, folder: Path) -> None:
    def broken(*arguments: Any) -> Claim:
        raise RuntimeError("the library\nwas built for another machine")

    monkeypatch.setattr(scs, "run", broken)
    found, rows = rows_of("nu_svc", "highs", "clarabel", "scs")
    assert (rows["scs"].status, rows["scs"].refusal) == ("error", "failed: RuntimeError")
    assert [found.agrees(row) for row in found.rows] == [True, True, False]
    answer = run(*words(folder, "nu_svc"), "--solver", "highs,clarabel,scs")
    assert answer.code == 1
    (line,) = answer.stderr.splitlines()
    assert "the library was built for another machine" in line


def test_a_package_that_cannot_be_imported_is_a_row(monkeypatch: Any, tmp_path: Any) -> None:
    (tmp_path / "half_a_solver.py").write_text("raise ImportError('no libhalf.so')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(SOLVERS, "scs", replace(SOLVERS["scs"], package="half_a_solver",
                                                distribution="pyomo"))  # fmt: skip
    found, rows = rows_of("nu_svc", "clarabel", "scs")
    assert rows["scs"].refusal == "cannot be imported"
    assert found.disagreements() == [
        "nu_svc:nu=0.75: scs cannot be imported: ImportError: no libhalf.so"
    ]


def zero_point(claim: Claim) -> Claim:
    """w = b = rho = xi = 0: feasible for nu_svc, and not optimal for this nu."""
    return replace(claim, x=np.zeros_like(claim.x), status=Status.OPTIMAL, bound=0.0)


def infeasible(claim: Claim) -> Claim:
    return Claim(Status.INFEASIBLE, message="there is no point")


@pytest.mark.parametrize(("module", "change"), [(scs, zero_point), (scip, infeasible)])
def test_a_lying_solver_is_shown_as_no(
    module: Any, change: Callable[[Claim], Claim], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    assert FIVE["nu_svc"][2]() < -1e-3, "so that the zero point is no optimum"
    honest, liar = module.run, module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, "run", lambda *arguments: change(honest(*arguments)))
    names = ["highs", "clarabel", liar]
    found, rows = rows_of("nu_svc", *names)
    assert [found.agrees(rows[name]) for name in names] == [True, True, False]
    (line,) = found.disagreements()
    assert line.startswith(f"nu_svc:nu={NU}: {liar} ")
    answer = run(*words(folder, "nu_svc"), "--solver", ",".join(names))
    assert answer.code == 1
    assert line in answer.stderr
    (row,) = [x for x in answer.stdout.splitlines() if re.match(rf"nu_svc:\S+ +QP +{liar} ", x)]
    assert " NO " in row


QP, UP = Model("m", "QP", 1), Model("m", "MIQP", -1)


def answer(solver: str, objective: float | None, **facts: Any) -> SolverRun:
    """A row; proven with no gap unless told otherwise."""
    verdict, gap = facts.get("verdict", Verdict.CERTIFIED), facts.get("gap", 0.0)
    result = SolveResult(
        facts.get("status", Status.OPTIMAL), objective, objective, {}, {},
        Certificate(verdict, gap=gap, reason="why"), solver, seconds=1.0,
        time_limit=facts.get("time_limit"),
    )  # fmt: skip
    return SolverRun(facts.get("model", QP), solver, "1", result)


def agreement(*rows: SolverRun) -> list[bool | None]:
    found = Agreement(rows)
    return [found.agrees(row) for row in rows]


LATE = {"status": Status.FEASIBLE, "verdict": Verdict.NOT_CERTIFIED, "time_limit": 1.0}
CLAIMED = {"verdict": Verdict.SOLVER_BOUND, "gap": None}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((answer("highs", 2.0),), [None]),
        ((answer("highs", 2.0), answer("scs", 3.0, model=Model("m", "QP", 1))), [None, None]),
        ((answer("highs", 2.0), answer("scs", 2.0 + 1e-5)), [True, True]),
        ((answer("highs", 2.0), answer("highs", 2.0 + 1e-5)), [True, False]),
        ((answer("highs", 2.0), answer("scs", 2.0 - 1e-4)), [True, False]),
        # What the reference leaves open is granted to the others.
        ((answer("scs", 2.0, gap=3e-4), answer("highs", 2.0005, gap=1e-3)), [True, True]),
        ((answer("scs", 2.0, gap=3e-4), answer("highs", 2.001, gap=1e-3)), [True, False]),
        # The better proven value is the reference, whoever comes first.
        ((answer("scs", 2.1, gap=1e-6), answer("highs", 2.0, gap=0.0)), [False, True]),
        # A claim is measured by what is proven, and by the best claim where nothing is.
        ((answer("scip", 1.0, **CLAIMED), answer("gurobi", 2.0)), [False, True]),
        ((answer("scip", 1.0, **CLAIMED), answer("gurobi", 2.0, **CLAIMED)), [True, False]),
        # Stopped by the clock: worse says nothing, better is a contradiction.
        ((answer("highs", 2.0), answer("scip", 3.0, **LATE)), [True, None]),
        ((answer("highs", 2.0), answer("scip", 1.0, **LATE)), [True, False]),
        ((answer("highs", 2.0), answer("scip", None, **LATE)), [True, None]),
        # More is better when maximising.
        (
            (answer("gurobi", 2.0, model=UP, **CLAIMED), answer("scip", 3.0, model=UP, **CLAIMED),
             answer("mosek", 1.0, model=UP, **LATE)),
            [False, True, None],
        ),
        # No point, no clock.
        ((answer("highs", 2.0), answer("scs", None, **LATE | {"time_limit": None})), [True, False]),
    ],
)  # fmt: skip
def test_who_agrees(rows: tuple[SolverRun, ...], expected: list[bool | None]) -> None:
    assert agreement(*rows) == expected


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED), True),
        ((Status.INFEASIBLE, Status.UNBOUNDED), False),
        ((Status.INFEASIBLE, Status.LIMIT_NO_SOLUTION), None),
    ],
)
def test_models_without_optimum(statuses: tuple[Status, ...], expected: bool | None) -> None:
    rows = [
        answer(name, None, status=status, verdict=Verdict.NOT_CERTIFIED)
        for name, status in zip(("highs", "scip"), statuses, strict=True)
    ]
    assert agreement(*rows) == [expected, expected]
    assert (Agreement(tuple(rows)).unproven() == []) == (expected is not None)


def test_all_say_infeasible_is_3_and_they_agree(folder: Path) -> None:
    assert not ref.is_separable(DATA, "free")
    asked = ["compare", "hard_margin_svc", "--data", folder / "points.csv"]
    printed = run(*asked, "--solver", "highs,clarabel,scip", "--json")
    assert printed.code == 3
    assert [row["agrees"] for row in printed.json["rows"]] == [True] * 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["conic_sdp", "--solver", "highs, cplex"], "unknown solver 'cplex'"),
        (["conic_sdp", "--solver", "all", "--plot", "x.png"], "--plot draws gaps"),
        (["--solver", "all"], "name the formulations"),
        (["nu_svc:nu=0.5,normalise=zscore", "--solver", "all"], "with --set"),
    ],
)
def test_bad_questions_are_2_with_one_line(asked: list[str], message: str, folder: Path) -> None:
    refused = run("compare", *asked, "--data", folder / "points.csv")
    assert refused.code == 2
    assert message in refused.complaint


def test_an_interrupt_keeps_the_finished_rows(folder: Path, monkeypatch: Any) -> None:
    honest = answering.solve

    def second_time(model: Any, solver: str, **limits: Any) -> SolveResult:
        if solver == "clarabel":
            raise KeyboardInterrupt
        return honest(model, solver, **limits)

    monkeypatch.setattr(answering, "solve", second_time)
    stopped = run(*words(folder, "nu_svc"), "--solver", "highs,clarabel,scip", "--json")
    assert stopped.code == 130
    assert [row["solver"] for row in stopped.json["rows"]] == ["highs"]
    assert "1 rows are finished" in stopped.stderr


def test_exit_code_4_when_the_clock_stopped_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    late = answer("scip", 3.0, **LATE)
    assert compare_solvers.judge(Agreement((answer("highs", 2.0), late))) == 4
    assert compare_solvers.judge(Agreement((answer("highs", 2.0), answer("scip", 2.0)))) == 0
