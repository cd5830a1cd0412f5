"""Commands with several classes, proofs, options and starts."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.inside.experiments import load_classes, tables
from tests.inside.experiments import solve as solving
from tests.inside.solvers import DERIVED, checker, checksum
from tests.references import reference_solutions
from tests.references.active_sets import zero_one_by_sets
from tests.references.reference_solutions import points
from tests.support.command_line import Answer, run, write_csv
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, solve

DATA = points("overlapping", 1, n=10)
C_SVC = ("solve", "c_svc", "--set", "C=1", "--data")
ZERO_ONE = ("solve", "zero_one_big_m", "--set", "penalty=1", "big_m=50", "--data")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("options") / "points.csv", DATA)


# --- options and starts --------------------------------------------------------------------------


def test_options_go_to_the_solver_or_the_method_that_is_named(file: Path) -> None:
    words = ("--solver", "clarabel", "--option", "max_iter=2", "--option", "verbose=false")
    answer = run(*C_SVC, file, *words, "--json")
    assert answer.code == 1
    assert answer.json["solver"]["options"] == {"max_iter": 2, "verbose": False}
    assert "2 iterations" in answer.json["message"]
    words = ("solve", "soft_margin_svc", "--set", "ridge=0.1", "intercept=none")
    answer = run(*words, "--data", file, "--method", "sgd", "--option", "steps=50", "--json")
    assert answer.json["solver"]["options"]["steps"] == 50


def test_a_saved_result_is_a_start(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "result.json"
    assert run(*ZERO_ONE, file, "--out", saved).code == 0
    seen: list[Any] = []

    def watched(model: Any, *words: Any, **limits: Any) -> SolveResult:
        seen.append(limits["warm_start"])
        return solve(model, *words, **limits)

    monkeypatch.setattr(solving, "solve", watched)
    again = run(*ZERO_ONE, file, "--start", saved, "--solver", "scip", "--json")
    assert again.code == 0
    assert "no effect" not in again.json["message"]
    assert isinstance(seen[0], SolveResult)
    assert set(seen[0].values) == {"w", "b", "z"}
    told = run(*C_SVC, file, "--start", saved, "--json").json["message"]
    assert "the warm start had no effect" in told
    other = run("solve", "c_svc_dual", "--set", "C=1", "--data", file, "--start", saved)
    assert (other.code, "has no variable of the result's" in other.complaint) == (2, True)


# --- the shell and the screen --------------------------------------------------------------------


def test_a_screen_of_80_columns_holds_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {line.split()[0]: line for line in run("list").stdout.splitlines() if line.strip()}
    for name, entry in CATALOGUE.items():
        assert all(word in wide[name] for word in (str(entry.problem_class), entry.source))
    monkeypatch.setattr(tables, "PIPE_WIDTH", 80)
    text = run("list").stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for name, entry in CATALOGUE.items():
        assert any(line.split()[:2] == [name, str(entry.problem_class)] for line in lines)


def test_memory_that_ran_out_is_one_sentence(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    def greedy(*_: Any, **__: Any) -> SolveResult:
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(solving, "solve", greedy)
    answer = run(*C_SVC, file)
    assert answer.code == 1
    assert answer.complaint.startswith("tightmargin: memory ran out: ")


@pytest.mark.parametrize("entry", ["c_svc", "zero_one_big_m", "conic_sdp", "hard_margin_svc"])
def test_numbers_whose_squares_overflow_are_one_sentence(entry: str, tmp_path: Path) -> None:
    huge = tmp_path / "huge.csv"
    huge.write_text("a,b,y\n1e300,1,1\n-1e300,2,-1\n3e299,1,1\n0,4e299,-1\n")
    words = {"c_svc": ["C=1"], "zero_one_big_m": ["penalty=1", "big_m=9"]}
    own = words.get(entry, ["penalty=1"] if entry == "conic_sdp" else ["intercept=free"])
    answer = run("solve", entry, "--data", huge, "--set", *own)
    assert answer.code == 2
    assert answer.complaint.endswith("add --set normalise=zscore, or take other units")
    scaled = run("solve", entry, "--data", huge, "--set", *own, "normalise=zscore")
    assert (scaled.code, scaled.stderr) == (0, "")


POINTS = reference_solutions.points("overlapping", 3, n=10)
EXPECTED = reference_solutions.hinge(POINTS, "free", 0.5, 0.7).value


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "points.csv", POINTS)


def test_a_proof_reaches_a_referee(tmp_path: Path, data: Path) -> None:
    proof, folder = tmp_path / "c_svc.json.gz", tmp_path / "referee"
    folder.mkdir()
    solved = run("solve", "c_svc", "--data", data, "--set", "C=0.7", "--proof", proof)
    assert (solved.code, solved.stderr) == (0, "")
    answer = run("check", proof, "--copy-checker", folder)
    assert answer.code == 0
    assert answer.stdout.splitlines()[-1].endswith("CERTIFIED")
    command = [sys.executable, "-I", "-S", str(folder / "checker.py"), str(proof)]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (alone.returncode, alone.stdout) == (0, answer.stdout)
    lower, upper = (float(line.split()[-1]) for line in answer.stdout.splitlines()[1:3])
    assert lower <= EXPECTED + 1e-8
    assert upper >= EXPECTED - 1e-8


def test_what_cannot_be_proven_is_said(tmp_path: Path, data: Path) -> None:
    proof = tmp_path / "zero_one.json"
    words = ("--data", data, "--set", "penalty=1", "big_m=derived")
    answer = run("solve", "zero_one_big_m", *words, "--prove", "0", "--proof", proof)
    assert answer.code == 0
    assert "no proof file was written" in answer.stderr
    assert not proof.exists()


def test_the_result_of_a_search_is_proven_again(tmp_path: Path, data: Path) -> None:
    """Over cones of directions, whose boxes the file holds; enumeration knows the optimum."""
    saved, proof = tmp_path / "zero_one.json", tmp_path / "zero_one.proof.json.gz"
    words = ("--data", data, "--set", "penalty=1", "big_m=derived")
    solved = run("solve", "zero_one_big_m", *words, "--out", saved, "--json").json
    assert "cones of directions" in json.dumps(solved)
    optimum = zero_one_by_sets(POINTS, penalty=1.0, intercept="penalised").objective
    answer = run("prove", saved, proof, "--json").json
    assert answer["claim"] == "optimum"
    assert run("check", proof, "--json").json["proven"] == answer["proven"]
    lower, upper = (float(line.split()[-1]) for line in answer["proven"][1:3])
    assert lower <= optimum * (1 + 1e-9)
    assert upper >= optimum * (1 - 1e-9)
    assert upper - lower <= 1e-6 * upper
    short = run("prove", saved, tmp_path / "short.json", "--time-limit", "-1")
    assert short.code == 2
    assert "time_limit" in short.complaint


def test_no_other_checker_is_overwritten_an_altered_file_fails_and_limits_decide_nothing(
    tmp_path: Path, data: Path
) -> None:
    proof = tmp_path / "c_svc.json"
    run("solve", "c_svc", "--data", data, "--set", "C=0.7", "--proof", proof)
    copy = tmp_path / "checker.py"
    for _ in range(2):  # the same file may be asked for again
        assert run("check", proof, "--copy-checker", tmp_path).code == 0
    copy.write_text("print('mine')")
    answer = run("check", proof, "--copy-checker", tmp_path)
    assert answer.code == 2
    assert "checker.py is another file; --force overwrites it" in answer.complaint
    assert copy.read_text() == "print('mine')"
    assert run("check", proof, "--copy-checker", tmp_path, "--force").code == 0
    assert copy.read_text() == Path(checker.__file__).read_text()
    answer = run("check", proof, "--size-limit", "100")
    assert (answer.code, answer.stdout) == (4, "")
    assert "not decided, the file holds more than 100 bytes" in answer.stderr
    assert "time_limit must be positive" in run("check", proof, "--time-limit", "0").complaint
    document = json.loads(proof.read_text())
    document["claim"]["lower"] = document["claim"]["upper"]
    proof.write_text(json.dumps(document))
    answer = run("check", proof)
    assert answer.code == 1
    assert "less than `lower` is proven" in answer.complaint


def test_each_command_names_the_one_that_takes_a_file(tmp_path: Path, data: Path) -> None:
    saved, proof, packed = (tmp_path / name for name in ("fit.json", "p.json", "p.json.gz"))
    rows, words = tmp_path / "rows.json", ("--data", data, "--set", "C=0.7")
    run("solve", "c_svc", *words, "--out", saved, "--proof", proof)
    run("prove", saved, packed)
    run("path", "rsvm", "--data", data, "--out", rows)
    bare = tmp_path / "bare.json"
    bare.write_text("[1, 2]")
    for file, said in (
        (proof, "it is a proof file, which `tightmargin check` decides"),
        (packed, "it is packed, as proof files are, which `tightmargin check` decides"),
        (data, "it is no JSON; a result is what `tightmargin solve --out FILE.json`"),
        (rows, "it is what `tightmargin path` wrote; a result is what `tightmargin solve"),
        (bare, "it holds no result; a result is what `tightmargin solve --out"),
    ):
        for command in (("certify", file), ("prove", file, tmp_path / "new.json")):
            answer = run(*command)
            assert answer.code == 2
            assert said in answer.complaint
    answer = run("check", saved)
    assert answer.code == 2
    assert "is a saved result and no proof file: `tightmargin certify " in answer.complaint


def test_an_allowance_is_the_callers(tmp_path: Path, data: Path) -> None:
    """Half of the saved multipliers prove a part of the bound: what is open has to be allowed."""
    saved, proof = tmp_path / "fit.json", tmp_path / "proof.json"
    run("solve", "c_svc", "--data", data, "--set", "C=0.7", "--out", saved)
    document = json.loads(saved.read_text())
    duals = np.asarray(document["duals"]["margin"]) / 2
    document["duals"]["margin"] = duals.tolist()
    w = POINTS.X.T @ (POINTS.y * duals)
    bound = float(np.round(duals.sum() - w @ w / 2, 6)) - 1e-6  # of the dual, which they are within
    assert 0 < bound < EXPECTED
    document["bound"] = document["certificate"]["bound"] = bound
    document["certificate"]["gap"] = (document["objective"] - bound) / document["objective"]
    document["certificate"]["facts"] |= {"absolute_gap": 1e9}
    for name in ("sha256", *DERIVED):
        del document[name]
    document["sha256"] = checksum(document)
    saved.write_text(json.dumps(document))
    open_gap = document["objective"] - bound
    answer = run("certify", saved)
    assert answer.code == 1
    assert "certify it with --absolute-gap 1000000000.0" in answer.stderr
    assert run("certify", saved, "--absolute-gap", open_gap / 2).code == 1
    answer = run("certify", saved, "--absolute-gap", 2 * open_gap)
    assert answer.code == 5
    assert f"CERTIFIED (by an absolute gap of {2 * open_gap:g} that the caller" in answer.stdout
    assert "certify it with --absolute-gap" in run("prove", saved, proof).complaint
    answer = run("prove", saved, proof, "--absolute-gap", 2 * open_gap)
    assert answer.code == 5
    assert "only by the absolute gap of" in answer.stdout
    assert run("check", proof).code == 5
    # An allowance that nothing rests on is nobody's concern.
    run("solve", "c_svc", "--data", data, "--set", "C=0.7", "--absolute-gap", "7", "--out", saved)
    assert run("certify", saved, "--absolute-gap", "7").code == 0


IRIS = "sklearn:iris"
C, PENALISED = 0.8, "intercept=penalised"


def solve_classes(
    *words: str | Path, data: str | Path = IRIS, name: str = "multiclass_hinge"
) -> Answer:
    settings = [word for word in words if isinstance(word, str) and "=" in word]
    rest = [word for word in words if word not in settings]
    return run("solve", name, "--data", data, "--set", *settings, *rest)


def table(answer: Answer) -> tuple[list[str], np.ndarray]:
    """Labels and decision values of a printed prediction."""
    assert answer.code == 0, answer.stderr
    head, *rows = csv.reader(io.StringIO(answer.stdout))
    assert head[0] == "label"
    assert all(name.startswith("decision_value") for name in head[1:])
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classes")


@pytest.fixture(scope="module")
def fit(folder: Path) -> Path:
    """Iris, in z-scores, with the constant column in the norm as in LinearSVC."""
    out = folder / "fit.json"
    ridge = f"ridge={1 / (2 * C * 150)!r}"
    answer = solve_classes(ridge, PENALISED, "normalise=zscore", "--out", out)
    assert (answer.code, answer.stderr) == (0, "")
    assert f"{IRIS}: 150 points, 4 features, 3 classes" in answer.stdout
    assert all(f"B {name}" in answer.stdout for name in load_iris().target_names)
    return out


def test_errors_are_counted_against_names_and_a_new_class_is_one(fit: Path, folder: Path) -> None:
    answer = run("predict", fit, "--data", IRIS, "--json").json
    truth = load_iris().target_names[load_iris().target]
    assert answer["errors"] == (np.array(answer["labels"]) != truth).sum() > 0
    assert answer["classes"] == list(load_iris().target_names)
    header, file = ",".join(load_iris().feature_names), folder / "new.csv"
    for y, errors in (("setosa", 0), ("rugosa", 1)):
        file.write_text(f"{header},y\n5.1,3.5,1.4,0.2,{y}\n")
        assert run("predict", fit, "--data", file, "--json").json["errors"] == errors


def test_two_classes_are_the_soft_margin_with_half_the_ridge(folder: Path) -> None:
    spec, several, two = "sklearn:breast_cancer,n=40,stratify", "k.json", "b.json"
    words = ["normalise=zscore", "ridge=0.2", "--out", folder / several]
    assert solve_classes(*words, data=spec).code == 0
    words = ["normalise=zscore", "ridge=0.1", "--out", folder / two]
    assert solve_classes(*words, data=spec, name="soft_margin_svc").code == 0
    names, values = table(run("predict", folder / several, "--data", spec))
    _, signed = table(run("predict", folder / two, "--data", spec))
    assert load_classes(spec).classes == ("benign", "malignant")
    np.testing.assert_allclose(values[:, 1] - values[:, 0], signed[:, 0], atol=1e-4)
    assert (np.array(names) == "malignant").tolist() == (signed[:, 0] > 0).tolist()


def test_data_or_names_that_changed_are_refused(fit: Path, folder: Path) -> None:
    bunch = load_iris()
    other = np.where(np.arange(150) == 149, 0, bunch.target)
    np.savez(folder / "other.npz", X=bunch.data, y=bunch.target_names[other])
    answer = run("certify", fit, "--data", folder / "other.npz")
    assert answer.code == 2
    assert "was saved for other data" in answer.complaint
    result, renamed = SolveResult.load(fit), folder / "renamed.json"
    names = ["versicolor", "setosa", "virginica"]
    replace(result, data=dict(result.data) | {"classes": names}).save(renamed)
    answer = run("certify", renamed)
    assert answer.code == 2
    assert "names the classes versicolor, setosa, virginica" in answer.complaint
