"""solve --proof, prove and check: a proof from the command line to a referee."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.inside.solvers import DERIVED, checker, checksum, zero_one_enumeration
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv

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
    optimum = zero_one_enumeration(POINTS, penalty=1.0, intercept="penalised").objective
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
    answer = run("certify", saved, "--absolute-gap", 2 * open_gap, "--json")
    assert answer.json["certificate"]["absolute_gap"] == 2 * open_gap
    answer = run("prove", saved, proof)
    assert answer.code == 2
    assert "certify it with --absolute-gap" in answer.complaint
    answer = run("prove", saved, proof, "--absolute-gap", 2 * open_gap)
    assert answer.code == 5
    assert "only by the absolute gap of" in answer.stdout
    assert run("check", proof).code == 5
    # An allowance that nothing rests on is nobody's concern.
    run("solve", "c_svc", "--data", data, "--set", "C=0.7", "--absolute-gap", "7", "--out", saved)
    for words in ((), ("--absolute-gap", "7")):
        answer = run("certify", saved, *words)
        assert answer.code == 0
        assert answer.stdout.endswith("CERTIFIED\n")
