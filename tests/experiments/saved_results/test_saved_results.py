"""certify and predict: saved results are proven again, applied to new points, or refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.cases import CASES, OF_CLASSES, OVERLAPPING, Case, each
from tests.experiments.saved_results.honest import BY_TREE, kept, solved
from tests.inside.experiments import decision_values, outlier_data
from tests.inside.solvers import CHEAP_ENOUGH, DERIVED
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, Verdict


def edit(file: Path, change: Any) -> None:
    """Change a saved document and write a checksum that fits, as a forger would."""
    document = json.loads(file.read_text())
    for name in ("sha256", *DERIVED):
        document.pop(name, None)
    change(document)
    text = json.dumps(document, sort_keys=True)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(document))


# --- certify -------------------------------------------------------------------------------------


def test_a_bound_that_only_a_tree_proves_is_not_believed_from_a_saved_result() -> None:
    for name in BY_TREE:
        assert json.loads(kept(name).read_text())["certificate"]["verdict"] == "CERTIFIED"
        answer = run("certify", kept(name))
        assert answer.code == 1
        assert "multipliers that are not in the file" in answer.stderr


@each(sorted(set(CASES) - set(BY_TREE)))
def test_a_saved_result_is_proven_again(case: Case, tmp_path: Path) -> None:
    saved = json.loads(kept(case.name).read_text())
    answer = run("certify", kept(case.name), "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    assert (document["schema"], document["command"]) == ("tightmargin/1", "certify")
    assert document["certificate"]["verdict"] == saved["certificate"]["verdict"]
    objective = document["numbers"]["objective"]
    assert objective["saved"] == saved["objective"]
    # The saved one is that of an exact point, which costs a little more than the formula says.
    room = CHEAP_ENOUGH * abs(saved["objective"])
    assert -1e-12 * abs(saved["objective"]) <= saved["objective"] - objective["recomputed"] <= room
    assert objective["confirmed"]
    if saved["certificate"]["verdict"] == "CERTIFIED":
        bound = document["numbers"]["bound"]
        assert bound["confirmed"]
        assert bound["recomputed"] == pytest.approx(saved["objective"], rel=2e-6, abs=2e-6)
    if case.name not in OF_CLASSES:
        predicts_its_hyperplane(case, saved, tmp_path)


def predicts_its_hyperplane(case: Case, saved: dict[str, Any], folder: Path) -> None:
    """sign(<w, x> + b) by hand, after z-scores by hand, w and b from the saved file."""
    name, data = case.name, case.data
    new = np.random.default_rng(0).normal(size=(9, data.d))
    y = np.where(np.arange(9) % 2, 1, -1)
    file = write_csv(folder / "new.csv", TrainingData(new, y))
    answer = run("predict", kept(name), "--data", file, "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    Z = (new - data.X.mean(axis=0)) / data.X.std(axis=0)
    trained = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    values = {k: np.array(v) for k, v in saved["values"].items()}
    scores = np.array(document["decision_values"])
    if "w" in values:
        assert scores == pytest.approx(Z @ values["w"] + values["b"], rel=1e-12, abs=1e-12)
    elif "alpha" in values and name not in ("conic_sdp_dual", "extended_nu_svc_linearised_dual"):
        signs = 1.0 if name == "kernel_soft_margin_svc" else data.y
        w, within = trained.T @ (signs * values["alpha"]), 1e-9
        if name.startswith("rsvm_dual"):  # on the sphere, or from the solver's multipliers
            w, within = case.words["norm_bound"] * w / np.linalg.norm(w), 1e-6
        if name == "extended_nu_svc_dual":  # on the unit sphere
            w = w / np.linalg.norm(w)
        if name == "soft_margin_svc_dual":  # stationarity: 2 ridge w = sum alpha_i y_i x_i
            w = w / (2 * case.words["ridge"])
        offset = scores - Z @ w
        assert offset == pytest.approx(np.full(9, offset[0]), abs=within), "one b for all points"
    elif "beta" in values:
        w = trained.T @ (data.y * values["beta"])
        assert scores == pytest.approx(Z @ w + values["b"], rel=1e-9, abs=1e-9)
    assert document["labels"] == np.where(scores > 0, 1, -1).tolist()
    assert document["errors"] == int((scores * y <= 0).sum())


@pytest.mark.parametrize("nu", [0.3, 0.95])  # below and above nu_bar, and 30 nu is no double
def test_a_saved_result_of_numbers_that_no_double_is_is_proven_again(
    nu: float, tmp_path: Path
) -> None:
    data, file = outlier_data("clustered", n=30, d=2, sigma=0.4, seed=1), tmp_path / "r.json"
    result = tm.solve(tm.extended_nu_svc(data, nu=nu, scale="perez_cruz", intercept="penalised"))
    result.save(file)
    assert result.certificate.verdict is Verdict.CERTIFIED
    again = tm.certify(file)
    assert again.verdict is Verdict.CERTIFIED, again


def test_certify_takes_the_data_from_elsewhere(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    (tmp_path / "train.csv").rename(tmp_path / "moved.csv")
    assert run("certify", out).code == 2
    assert run("certify", out, "--data", tmp_path / "moved.csv").code == 0


def test_other_data_is_refused(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    X = OVERLAPPING.X.copy()
    X[3, 1] = np.nextafter(X[3, 1], np.inf)
    write_csv(tmp_path / "train.csv", TrainingData(X, OVERLAPPING.y))
    answer = run("certify", out)
    assert answer.code == 2
    assert "other data" in answer.complaint


def test_an_altered_file_is_refused(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    document = json.loads(out.read_text())
    document["objective"] *= 0.999
    out.write_text(json.dumps(document))
    for command in (["certify", out], ["predict", out, "--data", tmp_path / "train.csv"]):
        answer = run(*command)
        assert answer.code == 2
        assert "altered" in answer.complaint


def test_an_infeasible_result_is_proven_again_and_predicts_nothing(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "train.csv", OVERLAPPING)
    out = tmp_path / "fit.json"
    assert run("solve", "hard_margin_svc", "--data", file, "--out", out).code == 3
    answer = run("certify", out)
    assert answer.code == 3
    problem, proven, *_ = answer.stdout.splitlines()
    assert problem.startswith("hard_margin_svc intercept=free, 8 points, 2 features")
    assert proven.startswith("infeasible proven again by exact rational Farkas bound")
    assert answer.stdout.rstrip().endswith("CERTIFIED")
    assert "no point" in run("predict", out, "--data", file).complaint


def test_a_result_with_neither_point_nor_proof_is_refused(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    edit(out, lambda d: d.update(objective=None, bound=None, status="limit_no_solution"))
    assert "no point to prove: its status is limit_no_solution" in run("certify", out).complaint
    nothing = dict.fromkeys(("gap", "upper", "bound", "solver_bound"), None) | {
        "verdict": "CERTIFIED"
    }
    edit(out, lambda d: (d.update(status="infeasible"), d["certificate"].update(nothing)))
    answer = run("certify", out)
    assert answer.code == 1
    assert "no point could not be proven again" in answer.stderr


def test_an_edited_model_cannot_be_built_again(tmp_path: Path) -> None:
    model = tm.c_svc(OVERLAPPING, C=1.0)
    model.w[0].fix(0.0)
    result = tm.solve(model)
    assert result.data["sha256"] == OVERLAPPING.sha256
    out = result.save(tmp_path / "fit.json")
    file = write_csv(tmp_path / "train.csv", OVERLAPPING)
    assert "edited" in run("certify", out, "--data", file).complaint


def test_large_arrays_travel_beside_the_file(tmp_path: Path) -> None:
    data = reference_solutions.points("overlapping", 0, n=1200)
    out = solved(tmp_path, "c_svc", data=data)
    assert (tmp_path / "fit.npz").exists()
    assert isinstance(json.loads(out.read_text())["values"]["xi"], dict)
    assert run("certify", out).code == 0
    (tmp_path / "fit.npz").unlink()
    assert "not a readable result" in run("certify", out).complaint


# --- predict -------------------------------------------------------------------------------------


def test_new_points_need_no_labels_and_no_training_data(tmp_path: Path) -> None:
    """A hyperplane is all it takes; two columns, or labels of one class, are as good."""
    out = solved(tmp_path, "c_svc", "normalise=zscore")
    (tmp_path / "train.csv").unlink()
    (tmp_path / "bare.csv").write_text("x0,x1\n0.5,-1\n2,0.25\n")
    (tmp_path / "one.csv").write_text("x0,x1,y\n0.5,-1,1\n2,0.25,1\n")
    bare = run("predict", out, "--data", tmp_path / "bare.csv", "--json").json
    one = run("predict", out, "--data", tmp_path / "one.csv", "--json").json
    assert bare["errors"] is None
    assert one["errors"] == one["labels"].count(-1)
    assert bare["decision_values"] == one["decision_values"]
    result = SolveResult.load(out)
    assert decision_values(result, np.array([[0.5, -1.0]])) == bare["decision_values"][0]


def test_bad_new_points_are_refused(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    for text, expected in (
        ("a,x0,x1\n1,2,3\n", "the new points have the unknown column a:"),
        ("x1\n1\n", "the new points lack the column x0:"),
        ("b,x1\n1,2\n", "lack the column x0 and have the unknown column b: "
         "the training features are x0, x1; name"),
        ("x0,x1\n1,x\n", "'x'"),
        ("x0,x1\n1,inf\n", "finite"),
    ):  # fmt: skip
        (tmp_path / "new.csv").write_text(text)
        answer = run("predict", out, "--data", tmp_path / "new.csv")
        assert answer.code == 2
        assert expected in answer.complaint
