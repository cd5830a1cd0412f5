"""The command line: every command, every exit code, one line of JSON contract after another."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin
from tests.inside.experiments import (
    emit,
    options,
    parse_row,
    parse_settings,
    parse_value,
    solve,
    spread_settings,
    stdout_to_stderr,
)
from tests.inside.solvers import SCHEMA, SOLVERS, zero_one_enumeration
from tests.references import losses, matrix, multiclass, ramp_l1, reference_solutions
from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.extended_nu import by_all_outliers
from tests.references.level_one_lift import derived_lift
from tests.references.strengthened_sdp import closed_limits, strengthened
from tests.support.command_line import ROOT, finish, run, start, write_csv
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict

SEPARABLE = reference_solutions.points("separable", 3, n=10)
OVERLAPPING = reference_solutions.points("overlapping", 3, n=10)
CLASSES = multiclass.class_points(2, n=7)
CLASS_BIG_M = 40.0

C, RIDGE, PI, NU, PENALTY, BUDGET, BIG_M = 0.7, 0.05, 0.3, 0.6, 1.3, 0.25, 25.0
H = 0.4  # below 0.55, the least norm of a w that solves rsvm_relaxed
LOW_NU = 0.25  # below nu_bar = 0.46 of the overlapping points


def uniform(data: TrainingData) -> np.ndarray:
    return np.full(data.n, 1 / data.n)


def scaled_strengthening(data: TrainingData) -> np.ndarray:
    """gamma_i proportional to 1 / ||(x_i, 1)||^2 with largest eigenvalue 1."""
    columns = np.hstack([data.X, np.ones((data.n, 1))])
    gamma = 1 / (columns**2).sum(axis=1)
    return gamma / np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1] * (1 - 1e-9)


def hinge(intercept: str, norm_cost: float, costs: Any) -> float:
    return reference_solutions.hinge(OVERLAPPING, intercept, norm_cost, costs).value


def strengthened_sdp() -> float:
    """From the optimum, which the search for an incumbent finds here."""
    known = reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY)
    limits = closed_limits(OVERLAPPING, "penalised", PENALTY, known)
    return strengthened(OVERLAPPING, "penalised", PENALTY, limits)


def least_paid() -> float:
    """The 0-1 optimum, whose hyperplane the command line finds and hands to the builder."""
    return reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY)


def lift() -> float:
    """From the optimum too."""
    known = zero_one_enumeration(OVERLAPPING, penalty=PENALTY, intercept="penalised")
    return derived_lift(OVERLAPPING, "penalised", PENALTY, (known.w, known.b))


def on_circle() -> float:
    return reference_solutions.nu_risk_on_circle(
        OVERLAPPING, "free", LOW_NU, uniform(OVERLAPPING)
    ).value


def linearised() -> float:
    costs, w_ref = uniform(OVERLAPPING), np.array([1, -0.5])
    return reference_solutions.nu_risk_linearised(OVERLAPPING, "free", LOW_NU, costs, w_ref).value


def rigorous_dual() -> float:
    return -reference_solutions.capacity_dual(GRAM, OVERLAPPING.y, H, "free")


GRAM = OVERLAPPING.X @ OVERLAPPING.X.T
WEIGHTS = np.where(OVERLAPPING.y > 0, 1 - PI, PI) / OVERLAPPING.n

# Settings, and the optimum from a model written once more in another modelling layer.
TRIALS: dict[str, tuple[str, Any]] = {
    "hard_margin_svc": ("", lambda: reference_solutions.hard_margin(SEPARABLE, "free").value),
    "hard_margin_svc_dual": ("", lambda: -reference_solutions.hard_margin(SEPARABLE, "free").value),
    "max_margin_svc": ("", lambda: reference_solutions.max_margin(SEPARABLE, "free").value),
    "c_svc": (f"C={C}", lambda: hinge("free", 0.5, C)),
    "c_svc_dual": (
        f"C={C}",
        lambda: -reference_solutions.c_dual(GRAM, OVERLAPPING.y, np.full(OVERLAPPING.n, C), "free"),
    ),
    "soft_margin_svc": (f"ridge={RIDGE}", lambda: hinge("free", RIDGE, uniform(OVERLAPPING))),
    "soft_margin_svc_dual": (
        f"ridge={RIDGE}",
        lambda: -hinge("free", RIDGE, uniform(OVERLAPPING)),
    ),
    "kernel_soft_margin_svc": (
        f"ridge={RIDGE}",
        lambda: hinge("free", RIDGE, uniform(OVERLAPPING)),
    ),
    "weighted_svc": (f"ridge={RIDGE} pi={PI}", lambda: hinge("free", RIDGE, WEIGHTS)),
    "regularised_svc": (
        f"loss=squared_hinge price={RIDGE}",
        lambda: losses.regularised(OVERLAPPING, "free", "squared_hinge", RIDGE),
    ),
    "deviance_svc": (
        f"price={RIDGE}",
        lambda: losses.regularised(OVERLAPPING, "free", "deviance", RIDGE),
    ),
    "hinge_power_svc": (
        f"penalty={PENALTY} exponent=3/2",
        lambda: losses.hinge_power(OVERLAPPING, "penalised", PENALTY, 1.5),
    ),
    "nu_svc": (
        f"nu={NU}",
        lambda: reference_solutions.nu_machine(OVERLAPPING, "free", NU, uniform(OVERLAPPING)).value,
    ),
    "nu_svc_dual": (
        f"nu={NU}",
        lambda: -reference_solutions.nu_dual(GRAM, OVERLAPPING.y, uniform(OVERLAPPING), NU, "free"),
    ),
    "extended_nu_svc": (f"nu={LOW_NU}", on_circle),
    "extended_nu_svc_reverse": (f"nu={LOW_NU}", on_circle),
    "extended_nu_svc_polar": (f"nu={LOW_NU}", lambda: -(on_circle() ** -2)),
    "extended_nu_svc_ball": (
        f"nu={NU}",
        lambda: reference_solutions.nu_risk_in_ball(OVERLAPPING, "free", NU, uniform(OVERLAPPING)),
    ),
    "extended_nu_svc_dual": (
        f"nu={NU} scale=perez_cruz",
        lambda: (
            -np.sqrt(2)
            * OVERLAPPING.n
            * reference_solutions.nu_risk_in_ball(OVERLAPPING, "free", NU, uniform(OVERLAPPING))
        ),
    ),
    "extended_nu_svc_linearised": (f"nu={LOW_NU} w_ref=1,-0.5", linearised),
    "extended_nu_svc_linearised_dual": (f"nu={LOW_NU} w_ref=1,-0.5", lambda: -linearised()),
    "min_cvar": (f"beta={1 - LOW_NU}", lambda: on_circle() / LOW_NU),
    "extended_robust_svc": (
        f"nu={NU} mu=1/{OVERLAPPING.n}",
        lambda: by_all_outliers(OVERLAPPING, NU, 1, "penalised"),
    ),
    "rsvm": (
        f"norm_bound={H}",
        lambda: reference_solutions.least_loss(OVERLAPPING, "free", H).value,
    ),
    "rsvm_relaxed": ("", lambda: reference_solutions.least_loss(OVERLAPPING, "free").value),
    "rsvm_kernel_relaxed": (
        "",
        lambda: reference_solutions.kernel_least_loss(GRAM, OVERLAPPING.y, "free"),
    ),
    "rsvm_dual": (f"norm_bound={H}", rigorous_dual),
    "rsvm_dual_perspective": (f"norm_bound={H}", rigorous_dual),
    "reduced_hull_svc": (
        f"hull_bound={1 / (NU / 2 * OVERLAPPING.n)}",
        lambda: reference_solutions.hull_distance(
            GRAM, OVERLAPPING.y, 2 / (NU * OVERLAPPING.n), "free"
        ),
    ),
    "zero_one_big_m": (
        f"penalty={PENALTY} big_m=derived",
        lambda: reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY),
    ),
    "zero_one_bilinear": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY),
    ),
    "zero_one_kernel": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY),
    ),
    "zero_one_disjunctive": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.zero_one_optimum(OVERLAPPING, "penalised", PENALTY),
    ),
    "zero_one_relaxed": (
        f"penalty={PENALTY} big_m={BIG_M}",
        lambda: (
            reference_solutions.relaxation(
                OVERLAPPING, "penalised", PENALTY, np.full(OVERLAPPING.n, BIG_M)
            ).value
        ),
    ),
    "zero_one_hinge": (
        f"penalty={PENALTY} big_m={BIG_M}",
        lambda: hinge("penalised", 1.0, PENALTY / BIG_M),
    ),
    "ramp_big_m": (
        f"C={C} big_m=derived",
        lambda: reference_solutions.ramp_optimum(OVERLAPPING, "free", C),
    ),
    "ramp_relaxed": (
        f"C={C} big_m={BIG_M}",
        lambda: reference_solutions.ramp_relaxation(OVERLAPPING, "free", C, BIG_M),
    ),
    "ramp_l1_big_m": (
        f"C={C} big_m=derived",
        lambda: ramp_l1.ramp_l1_optimum(OVERLAPPING, "free", C),
    ),
    "ramp_l1_relaxed": (
        f"C={C} big_m={BIG_M}",
        lambda: ramp_l1.ramp_l1_relaxation(OVERLAPPING, "free", C, BIG_M),
    ),
    "zero_one_disjunctive_relaxed": (
        f"penalty={PENALTY}",
        lambda: disjunctive_hull(OVERLAPPING, "penalised", PENALTY, known=least_paid()),
    ),
    "conic_fixed": (
        f"penalty={PENALTY} strengthening=scaled",
        lambda: reference_solutions.fixed_strengthening(
            OVERLAPPING, "penalised", PENALTY, scaled_strengthening(OVERLAPPING)
        ),
    ),
    "conic_sdp": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.theorem_2(OVERLAPPING, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_literal": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.theorem_2(OVERLAPPING, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_eliminated": (
        f"penalty={PENALTY}",
        lambda: reference_solutions.theorem_2(OVERLAPPING, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_strengthened": (f"penalty={PENALTY}", strengthened_sdp),
    "matrix_svc_full": (f"ridge={RIDGE} shape=2x1", lambda: hinge("free", RIDGE / 2, 1.0)),
    "matrix_svc_bilinear": (
        f"ridge={RIDGE} shape=2x1 rank=1",
        lambda: hinge("free", RIDGE / 2, 1.0),
    ),
    "matrix_svc_projection": (
        f"ridge={RIDGE} shape=2x1 rank=1",
        lambda: hinge("free", RIDGE / 2, 1.0),
    ),
    "matrix_svc_nuclear": (
        f"ridge={RIDGE} shape=1x2 tau=0.4",
        lambda: matrix.nuclear(OVERLAPPING, (1, 2), "free", RIDGE, 0.4),
    ),
    "conic_sdp_lift": (f"penalty={PENALTY} partners=none", lift),
    "conic_sdp_rank_one": (
        f"penalty={PENALTY} partners=none",
        lambda: reference_solutions.theorem_2(OVERLAPPING, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_dual": (
        f"penalty={PENALTY}",
        lambda: -reference_solutions.theorem_2(OVERLAPPING, "penalised", penalty=PENALTY).value,
    ),
    "multiclass_hinge": (
        f"ridge={RIDGE}",
        lambda: multiclass.hinge_of_classes(CLASSES, "free", RIDGE).problem.value,
    ),
    "multiclass_matrix_projection": (
        f"ridge={RIDGE} shape=1x2 rank=1",
        lambda: multiclass.matrix_machine(CLASSES, "free", RIDGE, (1, 2), rank=1),
    ),
    "multiclass_matrix_nuclear": (
        f"ridge={RIDGE} shape=1x2 tau=0.4",
        lambda: multiclass.matrix_machine(CLASSES, "free", RIDGE, (1, 2), tau=0.4),
    ),
    "multiclass_truncated": (
        f"ridge={RIDGE} truncation=-0.5 big_m=derived",
        lambda: multiclass.truncated_by_sets(CLASSES, "free", RIDGE, 1.5)[0],
    ),
    "multiclass_truncated_relaxed": (
        f"ridge={RIDGE} truncation=-0.5 big_m={CLASS_BIG_M}",
        lambda: multiclass.relaxation_of_classes(
            CLASSES, "free", RIDGE, 1.5, np.full(CLASSES.n, CLASS_BIG_M)
        ),
    ),
    "conic_sdp_budget": (
        f"budget={BUDGET}",
        lambda: reference_solutions.theorem_2(OVERLAPPING, "penalised", budget=BUDGET).value,
    ),
}
OF_CLASSES = [
    name for name, entry in CATALOGUE.items() if tightmargin.MulticlassData in entry.takes
]
NEEDS_SEPARABLE = ("hard_margin_svc", "hard_margin_svc_dual", "max_margin_svc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    write_csv(made / "separable.csv", SEPARABLE)
    write_csv(made / "overlapping.csv", OVERLAPPING)
    write_csv(made / "classes.csv", CLASSES)
    return made


@pytest.fixture
def overlapping(folder: Path) -> Path:
    return folder / "overlapping.csv"


def settings(name: str) -> list[str]:
    words = TRIALS[name][0].split()
    return ["--set", *words] if words else []


# --- list, show, solvers -------------------------------------------------------------------------


def test_list_tells_every_entry_with_its_source_and_class() -> None:
    answer = run("list", "--json")
    assert answer.code == 0
    assert list(answer.json)[:2] == ["schema", "command"]
    assert (answer.json["schema"], answer.json["command"]) == (SCHEMA, "list")
    found = {entry["name"]: entry for entry in answer.json["formulations"]}
    assert set(found) == set(CATALOGUE)
    for name, entry in CATALOGUE.items():
        assert found[name]["source"] == entry.source
        assert found[name]["problem_class"] == str(entry.problem_class)
        assert found[name]["relaxes"] == entry.relaxes
        assert found[name]["solvers"], "solved by at least one solver that is installed"
        assert {p["name"] for p in found[name]["parameters"]} == set(entry.parameters)


def test_list_for_people_has_a_line_for_every_entry() -> None:
    lines = run("list").stdout.splitlines()
    for name, entry in CATALOGUE.items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert str(entry.problem_class) in line
        assert entry.source in line


@pytest.mark.parametrize("name", ["c_svc", "conic_sdp_dual"])
def test_show_prints_mathematics_source_and_parameters(name: str) -> None:
    text = run("show", name).stdout
    assert "min " in text
    assert "s.t." in text
    assert CATALOGUE[name].source in text
    for word in CATALOGUE[name].parameters:
        assert re.search(rf"^{word}\b", text, re.MULTILINE)
    document = run("show", name, "--json").json["formulation"]
    required = {p["name"] for p in document["parameters"] if p["required"]}
    assert required == ({"C"} if name == "c_svc" else {"penalty"})
    assert "min " in document["mathematics"]


def test_version() -> None:
    assert run("--version").stdout == f"tightmargin {tightmargin.__version__}\n"


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_first_words_load_neither_pyomo_nor_numbers(word: str) -> None:
    loads = (
        "import sys; from tightmargin.experiments.cli.app import app\n"
        "try: app([sys.argv[1]])\n"
        "except SystemExit as end: assert not end.code\n"
        "print([m for m in ('pyomo', 'numpy', 'scipy', 'pandas') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", loads, word], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"


def test_the_front_door_run_as_a_module_is_the_command_line() -> None:
    """Silence with exit code 0 would look like a run."""
    done = subprocess.run(
        [sys.executable, "-m", "tightmargin", "--version"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "tightmargin")


def test_no_command_prints_the_help_as_an_error() -> None:
    answer = run()
    assert (answer.code, answer.stdout) == (2, "")
    for command in (
        "list", "show", "solvers", "solve", "compare", "export", "certify", "predict",
        "cross-validate", "reproduce",
    ):  # fmt: skip
        assert re.search(rf"^  {command} ", answer.stderr, re.MULTILINE)


def test_help_of_solve_has_the_grammar_of_data() -> None:
    text = run("solve", "--help").stdout
    for word in ("file.csv", "sklearn:NAME", "synthetic:KIND", "stratify", "features=0+3"):
        assert word in text


# --- solve ---------------------------------------------------------------------------------------


def test_every_entry_has_a_trial() -> None:
    assert set(TRIALS) == set(CATALOGUE)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_solve_gives_every_entry_a_certified_result(name: str, folder: Path) -> None:
    data: Any = SEPARABLE if name in NEEDS_SEPARABLE else OVERLAPPING
    file = folder / ("separable.csv" if data is SEPARABLE else "overlapping.csv")
    if name in OF_CLASSES:
        data, file = CLASSES, folder / "classes.csv"
    answer = run("solve", name, "--data", file, *settings(name), "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    expected = TRIALS[name][1]()
    assert document["objective"] == pytest.approx(expected, rel=2e-6, abs=2e-6)
    assert document["certificate"]["verdict"] in ("CERTIFIED", "SOLVER_BOUND")
    assert document["formulation"] == name
    assert document["problem_class"] == str(CATALOGUE[name].problem_class)
    assert document["status"] == "optimal"
    assert document["data"] == {
        "spec": str(file), "n": data.n, "d": data.d, "sha256": data.sha256,
        "feature_names": [f"x{j}" for j in range(data.d)],
    } | ({"classes": ["0", "1", "2"]} if name in OF_CLASSES else {})  # fmt: skip


def test_json_of_solve_has_the_layout_of_the_contract(overlapping: Path) -> None:
    words = ["--solver", "clarabel", "--seed", "7", "--threads", "1", "--time-limit", "60"]
    document = run(
        "solve", "c_svc", "--data", overlapping, "--set", f"C={C}", *words, "--json"
    ).json
    wanted = [
        "schema", "command", "formulation", "problem_class", "parameters", "status", "objective",
        "bound", "absolute_gap", "relative_gap", "values", "duals", "certificate", "solver",
        "seconds", "message", "data",
    ]  # fmt: skip
    assert [key for key in document if key in wanted] == wanted
    assert document["command"] == "solve"
    assert document["parameters"] == {"C": C, "class_weight": None, "intercept": "free"}
    assert len(document["values"]["w"]) == OVERLAPPING.d
    assert isinstance(document["values"]["b"], float)
    assert len(document["duals"]["margin"]) == OVERLAPPING.n
    certificate = {
        "verdict", "primal_residual", "dual_residual", "complementarity", "gap", "bound_method",
    }  # fmt: skip
    assert certificate <= set(document["certificate"])
    solver = document["solver"]
    assert {k: solver[k] for k in ("name", "seed", "threads", "time_limit", "options")} == {
        "name": "clarabel", "seed": 7, "threads": 1, "time_limit": 60.0, "options": {},
    }  # fmt: skip
    assert solver["version"] == SOLVERS["clarabel"].version
    assert document["absolute_gap"] == pytest.approx(
        document["objective"] - document["bound"], abs=1e-15
    )


def test_duals_have_the_documented_sign(overlapping: Path) -> None:
    """d objective / d right-hand side of a margin row is its multiplier, at least 0: w = sum."""
    document = run("solve", "c_svc", "--data", overlapping, "--set", f"C={C}", "--json").json
    alpha = np.array(document["duals"]["margin"])
    w = OVERLAPPING.X.T @ (OVERLAPPING.y * alpha)
    assert alpha.min() > -1e-6
    assert w == pytest.approx(document["values"]["w"], abs=1e-5)


def test_what_is_missing_or_infinite_is_null(
    overlapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    infeasible = run("solve", "hard_margin_svc", "--data", overlapping, "--json").json
    for key in ("objective", "bound", "absolute_gap", "relative_gap"):
        assert infeasible[key] is None
    assert infeasible["solver"]["time_limit"] is None
    emit("solve", {"a": np.inf, "b": -np.inf, "c": np.nan, "d": np.array([1.0, np.nan]), "e": None})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "schema": SCHEMA, "command": "solve",
        "a": None, "b": None, "c": None, "d": [1.0, None], "e": None,
    }  # fmt: skip


def test_solve_for_people_says_what_is_proven(overlapping: Path) -> None:
    text = run("solve", "c_svc", "--data", overlapping, "--set", f"C={C}").stdout
    assert re.search(r"^status +optimal", text, re.MULTILINE)
    assert re.search(r"^certificate +CERTIFIED", text, re.MULTILINE)
    assert re.search(rf"^objective +{hinge('free', 0.5, C):.5g}", text, re.MULTILINE)


def test_labels_by_name_and_value(tmp_path: Path) -> None:
    """Two points at -1 and +1: the widest margin is w = 1, b = 0, which costs 1/2."""
    (tmp_path / "words.csv").write_text("x,kind\n-1,benign\n1,malignant\n")
    words = ["solve", "hard_margin_svc", "--data", tmp_path / "words.csv", "--json"]
    document = run(*words, "--label", "kind", "--positive", "malignant").json
    assert document["objective"] == pytest.approx(0.5, abs=1e-7)
    assert document["values"]["w"] == pytest.approx([1.0], abs=1e-6)
    assert document["data"]["positive"] == "malignant"
    flipped = run(*words, "--label", "kind", "--positive", "benign").json
    assert flipped["values"]["w"] == pytest.approx([-1.0], abs=1e-6)
    assert "--positive" in run(*words, "--label", "kind").complaint


def test_class_weight_is_a_list_in_label_order(overlapping: Path) -> None:
    """Weights 1 of label -1 and 3 of label +1."""
    words = ["--set", f"C={C}", "class_weight=1,3", "--json"]
    document = run("solve", "c_svc", "--data", overlapping, *words).json
    expected = hinge("free", 0.5, C * np.where(OVERLAPPING.y > 0, 3.0, 1.0))
    assert document["objective"] == pytest.approx(expected, rel=1e-6)


def test_normalise_happens_before_the_builder(overlapping: Path) -> None:
    words = ["--set", f"C={C}", "normalise=zscore", "--json"]
    document = run("solve", "c_svc", "--data", overlapping, *words).json
    X = (OVERLAPPING.X - OVERLAPPING.X.mean(axis=0)) / OVERLAPPING.X.std(axis=0)
    expected = reference_solutions.hinge(TrainingData(X, OVERLAPPING.y), "free", 0.5, C).value
    assert document["objective"] == pytest.approx(expected, rel=1e-6)
    assert document["data"]["sha256"] == OVERLAPPING.sha256, "the data as it was loaded"
    assert document["normalisation"]["kind"] == "zscore"


def test_rbf_kernel(overlapping: Path) -> None:
    words = ["--set", f"C={C}", "kernel=rbf", "width=0.8", "--json"]
    document = run("solve", "c_svc_dual", "--data", overlapping, *words).json
    distances = ((OVERLAPPING.X[:, None] - OVERLAPPING.X[None]) ** 2).sum(axis=2)
    caps = np.full(OVERLAPPING.n, C)
    expected = -reference_solutions.c_dual(np.exp(-0.8 * distances), OVERLAPPING.y, caps, "free")
    assert document["objective"] == pytest.approx(expected, rel=1e-6)


def test_precomputed_kernel(tmp_path: Path) -> None:
    np.savez(tmp_path / "gram.npz", X=GRAM, y=OVERLAPPING.y)
    words = ["--data", tmp_path / "gram.npz", "--set", f"C={C}", "kernel=precomputed", "--json"]
    expected = -reference_solutions.c_dual(GRAM, OVERLAPPING.y, np.full(OVERLAPPING.n, C), "free")
    assert run("solve", "c_svc_dual", *words).json["objective"] == pytest.approx(expected, rel=1e-6)


# --- exit codes ----------------------------------------------------------------------------------


def test_a_result_without_certificate_is_1(overlapping: Path) -> None:
    """M = 2 forbids large violations: the optimum may be cut off, and that is said."""
    words = ["--set", "penalty=1", "big_m=2.0"]
    answer = run("solve", "zero_one_big_m", "--data", overlapping, *words, "--json")
    assert answer.code == 1
    assert answer.json["certificate"]["verdict"] == "NOT_CERTIFIED"
    assert answer.json["bound"] is None
    assert "below the proven value" in answer.stderr


def test_infeasible_is_3(overlapping: Path) -> None:
    assert not reference_solutions.is_separable(OVERLAPPING, "free")
    answer = run("solve", "hard_margin_svc", "--data", overlapping, "--json")
    assert answer.code == 3
    assert answer.json["status"] == "infeasible"
    assert "infeasible" in answer.stderr


def test_a_limit_with_an_incumbent_is_4() -> None:
    data = "synthetic:clustered,n=150,d=6,sigma=0.5"
    words = ["--set", "penalty=1", "big_m=derived", "--time-limit", "3", "--json"]
    answer = run("solve", "zero_one_big_m", "--data", data, *words)
    assert answer.code == 4
    document = answer.json
    assert document["status"] == "feasible"
    assert document["objective"] is not None
    assert document["solver"]["time_limit"] == 3.0
    assert document["certificate"]["verdict"] == "NOT_CERTIFIED"
    assert 0 < document["bound"] < document["objective"]


RESULT = SolveResult(
    Status.OPTIMAL, 1.0, 1.0, {}, {}, Certificate(Verdict.CERTIFIED), "highs"
)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "objective", "verdict", "code"),
    [
        (Status.OPTIMAL, 1.0, Verdict.CERTIFIED, 0),
        (Status.OPTIMAL, 1.0, Verdict.SOLVER_BOUND, 0),
        (Status.INACCURATE, 1.0, Verdict.NOT_CERTIFIED, 1),
        (Status.FEASIBLE, 1.0, Verdict.NOT_CERTIFIED, 1),
        (Status.ERROR, None, Verdict.NOT_CERTIFIED, 1),
        (Status.LIMIT_NO_SOLUTION, None, Verdict.NOT_CERTIFIED, 1),
        (Status.INFEASIBLE, None, Verdict.NOT_CERTIFIED, 3),
        (Status.UNBOUNDED, None, Verdict.NOT_CERTIFIED, 3),
        (Status.INFEASIBLE_OR_UNBOUNDED, None, Verdict.NOT_CERTIFIED, 3),
        (Status.FEASIBLE, 1.0, Verdict.SOLVER_BOUND, 4),
        (Status.INTERRUPTED, 1.0, Verdict.SOLVER_BOUND, 130),
    ],
)
def test_exit_codes(status: Status, objective: float | None, verdict: Verdict, code: int) -> None:
    result = replace(RESULT, status=status, objective=objective, certificate=Certificate(verdict))
    assert options.exit_code(result) == code


def test_interrupted_is_130(monkeypatch: pytest.MonkeyPatch, overlapping: Path) -> None:
    def interrupted(*args: Any, **limits: Any) -> SolveResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "solve", interrupted)
    answer = run("solve", "c_svc", "--data", overlapping, "--set", "C=1", "--json")
    assert (answer.code, answer.complaint) == (130, "tightmargin: interrupted")


ANNOUNCE_THE_SOLVER = """
import sys
from tightmargin.solvers.backends import scip
start = scip.run
def announced(*arguments):
    print("solver starts", file=sys.stderr, flush=True)
    return start(*arguments)
scip.run = announced
"""


@pytest.mark.slow("REASON")
def test_interrupting_scip_keeps_its_incumbent(tmp_path: Path) -> None:
    data = "synthetic:clustered,n=150,d=6,sigma=0.5"
    words = ["--set", "penalty=1", "big_m=derived", "--solver", "scip", "--time-limit", "60"]
    process = start(
        "solve", "zero_one_big_m", "--data", data, *words, "--json",
        cwd=tmp_path, prelude=ANNOUNCE_THE_SOLVER,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == "solver starts\n"
    time.sleep(5.0)
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    assert answer.code == 130
    assert answer.json["status"] == "interrupted"
    assert answer.json["objective"] is not None


REFUSED = {
    "formulation": (["c_scv", "--set", "C=1"], "did you mean c_svc"),
    "missing": (["c_svc"], "c_svc needs C"),
    "key": (["nu_svc", "--set", "nu=0.5", "class_balanc=uniform"], "did you mean class_balance"),
    "normalize": (["c_svc", "--set", "C=1", "normalize=zscore"], "did you mean normalise"),
    "word": (["c_svc", "--set", "C=1", "normalise=zscores"], "did you mean 'zscore'"),
    "number": (["c_svc", "--set", "C=much"], "C must be a number"),
    "negative": (["c_svc", "--set", "C=-1"], "C must be a positive finite number"),
    "nan": (["c_svc", "--set", "C=nan"], "C must be a positive finite number"),
    "no equals": (["c_svc", "--set", "C"], "key=value"),
    "twice": (["c_svc", "--set", "C=1", "--set", "C=2"], "set twice"),
    "list": (["c_svc", "--set", "C=1", "class_weight=3"], "tightmargin: "),
    "intercept": (["c_svc", "--set", "C=1", "intercept=fixed"], "free"),
    "big_m": (["zero_one_big_m", "--set", "penalty=1"], "needs big_m"),
    "derived": (["zero_one_big_m", "--set", "penalty=1", "big_m=derive"], "derived"),
    "nu": (["nu_svc", "--set", "nu=0.999999", "class_balance=balancd"], "balanced"),
    "solver": (["c_svc", "--set", "C=1", "--solver", "cplex"], "highs, clarabel, scip"),
    "class": (["conic_sdp", "--set", "penalty=1", "--solver", "highs"], "clarabel"),
    "kernel": (["c_svc", "--set", "C=1", "kernel=rbf", "width=1"], "c_svc_dual"),
    "width": (["c_svc_dual", "--set", "C=1", "kernel=rbf"], "needs width"),
    "stray": (["c_svc_dual", "--set", "C=1", "width=1"], "kernel=rbf"),
    "degree": (["c_svc_dual", "--set", "C=1", "kernel=poly", "degree=x", "coef0=1"], "degree"),
    "square": (["c_svc_dual", "--set", "C=1", "kernel=precomputed"], "kernel matrix"),
    "method": (["c_svc", "--set", "C=1", "--method", "magic"], "direct"),
    "limit": (["c_svc", "--set", "C=1", "--time-limit", "-1"], "time_limit must be positive"),
    "out": (["c_svc", "--set", "C=1", "--out", "fit.pkl"], ".json"),
    "folder": (["c_svc", "--set", "C=1", "--out", "no/such/folder/fit.json"], "no folder"),
    "label": (["c_svc", "--set", "C=1", "--label", "z"], "label"),
    "option": (["c_svc", "--set", "C=1", "--sead", "1"], "--seed"),
    "threads": (["c_svc", "--set", "C=1", "--threads", "0"], "threads"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_refused_input_is_2_with_one_line(case: str, overlapping: Path) -> None:
    words, expected = REFUSED[case]
    answer = run("solve", *words, "--data", overlapping)
    assert answer.code == 2
    assert expected in answer.complaint


def test_nu_above_its_range_is_refused_with_its_end(tmp_path: Path) -> None:
    """nu_max = 2 min(n_pos, n_neg) / n."""
    data = reference_solutions.points("unbalanced", 1)
    fewer = min(int((data.y > 0).sum()), int((data.y < 0).sum()))
    file = write_csv(tmp_path / "unbalanced.csv", data)
    answer = run("solve", "nu_svc", "--data", file, "--set", "nu=0.9")
    assert answer.code == 2
    assert f"{2 * fewer / data.n:g}" in answer.complaint


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["lits"], "Did you mean 'list'"),
        (["show", "conic_spd"], "did you mean conic_sdp"),
        (["solve", "c_svc"], "--data"),
        (["solve", "c_svc", "--data", "no_such.csv", "--set", "C=1"], "no_such.csv"),
        (["solve", "c_svc", "--data", "sklearn:breast_cancr", "--set", "C=1"], "breast_cancer"),
        (["certify", "no_such.json"], "no_such.json"),
        (["predict", "no_such.json", "--data", "no_such.csv"], "no_such.json"),
    ],
)
def test_unknown_names_are_2_with_one_line(words: list[str], expected: str) -> None:
    answer = run(*words)
    assert answer.code == 2
    assert expected in answer.complaint


def test_traceback_on_request(monkeypatch: pytest.MonkeyPatch, overlapping: Path) -> None:
    monkeypatch.setenv("TIGHTMARGIN_TRACEBACK", "1")
    answer = run("solve", "c_svc", "--data", overlapping)
    assert answer.code == 2
    assert "Traceback" in answer.stderr


# --- standard output -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip", "gurobi"])
def test_stdout_is_pure_json_while_the_solver_talks(
    solver: str, overlapping: Path, tmp_path: Path
) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    words = ["--set", f"C={C}", "--solver", solver, "--log", "--json"]
    answer = finish(start("solve", "c_svc", "--data", overlapping, *words, cwd=tmp_path))
    assert answer.code == 0, answer.stderr
    assert answer.json["objective"] == pytest.approx(hinge("free", 0.5, C), rel=1e-5)
    assert len(answer.stderr.splitlines()) > 5, "the log"


PRINTING_IN_C = """
import ctypes, os
from tightmargin.experiments.console.streams import stdout_to_stderr
with stdout_to_stderr():
    print("python")
    ctypes.CDLL(None).puts(b"buffered by the C library")
    os.write(1, b"straight to the descriptor\\n")
print("after")
"""


def test_nothing_reaches_stdout_while_a_model_is_solved() -> None:
    """In a process of its own, whose C library buffers what goes into a pipe."""
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", PRINTING_IN_C],
        env=buffered | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "after\n"
    for text in ("python", "buffered by the C library", "straight to the descriptor"):
        assert text in done.stderr


def test_stdout_comes_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="within"), stdout_to_stderr():
        raise ValueError("within")
    print("after")
    assert capfd.readouterr().out == "after\n"


# --- what a user writes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-2", -2), ("0.5", 0.5), ("1e3", 1000.0), ("true", True), ("False", False),
        ("null", None), ("derived", "derived"), ("1,2", (1, 2)), ("0.5,1e2", (0.5, 100.0)),
        ("a,b", ("a", "b")), ("3x3", "3x3"),
    ],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_rows_carry_settings_of_their_own() -> None:
    assert parse_row("conic_sdp") == ("conic_sdp", {})
    own = {"big_m": 1000, "intercept": "free"}
    assert parse_row("zero_one_relaxed:big_m=1000,intercept=free") == ("zero_one_relaxed", own)
    assert parse_row("c_svc:class_weight=1,2,C=3")[1] == {"class_weight": (1, 2), "C": 3}
    for text in ("c_svc:", "c_svc:C", "c_svc:C=1,C=2"):
        with pytest.raises(ValueError, match=r"key=value|set twice"):
            parse_row(text)


def test_settings_may_follow_one_flag() -> None:
    assert parse_settings(["C=1", "width=0.5"]) == {"C": 1, "width": 0.5}
    words = ["solve", "x", "--set", "C=1", "normalise=zscore", "--json"]
    assert spread_settings(words) == [
        "solve", "x", "--set", "C=1", "--set", "normalise=zscore", "--json",
    ]  # fmt: skip
    export = ["export", "x", "--set", "C=1", "big_m=derived", "model.lp"]
    assert spread_settings(export)[-3:] == ["--set", "big_m=derived", "model.lp"]
    rows = ["compare", "--set", "penalty=1", "zero_one_relaxed:big_m=1000"]
    assert spread_settings(rows) == rows
