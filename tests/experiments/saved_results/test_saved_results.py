"""certify and predict: saved results are proven again, applied to new points, or refused."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.experiments import decision_values, outlier_data
from tests.inside.solvers import CHEAP_ENOUGH, DERIVED
from tests.references import multiclass, reference_solutions
from tests.support.command_line import Answer, run, write_csv
from tightmargin.formulations import CATALOGUE, MulticlassData, TrainingData
from tightmargin.solvers import SolveResult, Verdict

SEPARABLE = reference_solutions.points("separable", 5, n=12)
OVERLAPPING = reference_solutions.points("overlapping", 5, n=12)
CLASSES = multiclass.class_points(2, n=9)
SETTINGS = {
    "hard_margin_svc": "",
    "hard_margin_svc_dual": "",
    "max_margin_svc": "",
    "c_svc": "C=0.7",
    "c_svc_dual": "C=0.7",
    "soft_margin_svc": "ridge=0.05",
    "soft_margin_svc_dual": "ridge=0.05",
    "kernel_soft_margin_svc": "ridge=0.05",
    "weighted_svc": "ridge=0.05 pi=0.3",
    "regularised_svc": "loss=squared_hinge price=0.05",
    "deviance_svc": "price=0.05",
    "hinge_power_svc": "penalty=0.7 exponent=4/3",
    "nu_svc": "nu=0.8",
    "nu_svc_dual": "nu=0.8",
    "extended_nu_svc": "nu=0.3",
    "extended_nu_svc_reverse": "nu=0.3",
    "extended_nu_svc_polar": "nu=0.3",
    "extended_nu_svc_ball": "nu=0.8",
    "extended_nu_svc_dual": "nu=0.8",
    "extended_nu_svc_linearised": "nu=0.3 w_ref=mean_difference",
    "extended_nu_svc_linearised_dual": "nu=0.3 w_ref=mean_difference",
    "min_cvar": "beta=0.7",
    "extended_robust_svc": "nu=0.7 mu=1/12",
    "rsvm": "norm_bound=0.5",
    "rsvm_relaxed": "",
    "rsvm_kernel_relaxed": "",
    "rsvm_dual": "norm_bound=0.5",
    "rsvm_dual_perspective": "norm_bound=0.5",
    "reduced_hull_svc": "hull_bound=0.2",
    "zero_one_big_m": "penalty=1.3 big_m=derived",
    "zero_one_bilinear": "penalty=1.3",
    "zero_one_kernel": "penalty=1.3",
    "zero_one_disjunctive": "penalty=1.3",
    "zero_one_relaxed": "penalty=1.3 big_m=derived",
    "zero_one_hinge": "penalty=1.3 big_m=derived",
    "ramp_big_m": "C=0.7 big_m=derived",
    "ramp_relaxed": "C=0.7 big_m=derived",
    "ramp_l1_big_m": "C=0.7 big_m=derived",
    "ramp_l1_relaxed": "C=0.7 big_m=derived",
    "zero_one_disjunctive_relaxed": "penalty=1.3",
    "conic_fixed": "penalty=1.3 strengthening=scaled",
    "conic_sdp": "penalty=1.3",
    "conic_sdp_literal": "penalty=1.3",
    "conic_sdp_rank_one": "penalty=1.3 partners=1",
    "conic_sdp_eliminated": "penalty=1.3",
    "conic_sdp_strengthened": "penalty=1.3 conflicts=pairs",
    "conic_sdp_lift": "penalty=1.3 partners=2",
    "conic_sdp_dual": "penalty=1.3",
    "conic_sdp_budget": "budget=0.25",
    "multiclass_hinge": "ridge=0.05",
    "multiclass_truncated": "ridge=0.05 truncation=-0.5 big_m=derived",
    "multiclass_truncated_relaxed": "ridge=0.05 truncation=-0.5 big_m=derived",
    "multiclass_matrix_projection": "ridge=0.05 shape=2x1 rank=1",
    "multiclass_matrix_nuclear": "ridge=0.05 shape=2x1 tau=0.1",
    "matrix_svc_full": "ridge=0.1 shape=2x1",
    "matrix_svc_bilinear": "ridge=0.1 shape=2x1 rank=1",
    "matrix_svc_projection": "ridge=0.1 shape=2x1 rank=1",
    "matrix_svc_nuclear": "ridge=0.1 shape=2x1 tau=0.4",
}
NEEDS_SEPARABLE = ("hard_margin_svc", "hard_margin_svc_dual", "max_margin_svc")

OF_CLASSES = [name for name, entry in CATALOGUE.items() if MulticlassData in entry.takes]


def data_of(name: str) -> Any:
    """Points that an entry takes."""
    if name in OF_CLASSES:
        return CLASSES
    return SEPARABLE if name in NEEDS_SEPARABLE else OVERLAPPING


def solved(
    folder: Path, name: str, *words: str, data: TrainingData | None = None, method: str = "auto"
) -> Path:
    """Write the data, solve, and save beside it."""
    data = data or data_of(name)
    file = write_csv(folder / "train.csv", data)
    out = folder / "fit.json"
    settings = [*SETTINGS[name].split(), *words]
    given = ["--set", *settings] if settings else []
    answer = run("solve", name, "--data", file, *given, "--method", method, "--out", out)
    assert answer.code == 0, answer.stderr
    return out


def edit(file: Path, change: Any) -> None:
    """Change a saved document and write a checksum that fits, as a forger would."""
    document = json.loads(file.read_text())
    for name in ("sha256", *DERIVED):
        document.pop(name, None)
    change(document)
    text = json.dumps(document, sort_keys=True)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(document))


def predictions(answer: Answer) -> tuple[list[int], list[float]]:
    """Labels and decision values from the csv table a person gets."""
    rows = list(csv.DictReader(io.StringIO(answer.stdout)))
    return [int(r["label"]) for r in rows], [float(r["decision_value"]) for r in rows]


# --- certify -------------------------------------------------------------------------------------


def test_every_entry_has_settings() -> None:
    assert set(SETTINGS) == set(CATALOGUE)


# Proven by a tree of branch and bound alone, which only a proof file has.
BY_TREE = ("ramp_l1_big_m",)


@pytest.mark.parametrize("name", BY_TREE)
def test_a_bound_that_only_a_tree_proves_is_not_believed_from_a_saved_result(
    name: str, tmp_path: Path
) -> None:
    out = solved(tmp_path, name, "normalise=zscore")
    assert json.loads(out.read_text())["certificate"]["verdict"] == "CERTIFIED"
    answer = run("certify", out)
    assert answer.code == 1
    assert "multipliers that are not in the file" in answer.stderr


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - set(BY_TREE)))
def test_a_saved_result_is_proven_again(name: str, tmp_path: Path) -> None:
    out = solved(tmp_path, name, "normalise=zscore")
    saved = json.loads(out.read_text())
    answer = run("certify", out, "--json")
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


@pytest.mark.parametrize("name", ["c_svc", "conic_sdp", "zero_one_big_m"])
def test_certify_starts_no_solver(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = solved(tmp_path, name)

    def started(*arguments: Any) -> None:
        raise AssertionError("a solver was started")

    for module in ("clarabel", "highs", "pyomo_interface"):
        monkeypatch.setattr(f"tightmargin.solvers.backends.{module}.run", started)
    monkeypatch.setattr("tightmargin.solvers.backends.clarabel.run_conic", started)
    assert run("certify", out).code == 0


def test_certify_for_people_lists_claims(tmp_path: Path) -> None:
    text = run("certify", solved(tmp_path, "zero_one_big_m", method="direct")).stdout
    assert "enumeration" in text
    assert "the word of scip" in text
    assert text.rstrip().endswith("CERTIFIED")


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


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    out.write_text(out.read_text()[:-40])
    assert "not a readable result" in run("certify", out).complaint


FORGERIES = {
    "objective": (lambda d: d.update(objective=d["objective"] * (1 - 1e-6)), "objective"),
    "point": (lambda d: d["values"].update(w=[0.0, 0.0]), "objective"),
    "bound": (lambda d: d.update(bound=d["bound"] * 1.01), "exceeds"),
    "upper end": (
        lambda d: d["certificate"].update(upper=d["certificate"]["upper"] * (1 - 1e-6)),
        "upper end",
    ),
    "penalty": (lambda d: d["parameters"].update(penalty=1.2), "objective"),
}


@pytest.mark.parametrize("case", sorted(FORGERIES))
@pytest.mark.parametrize("name", ["conic_sdp", "zero_one_big_m"])
def test_a_forged_number_is_1(name: str, case: str, tmp_path: Path) -> None:
    """A checksum anybody can compute proves nothing: the numbers are computed again."""
    out = solved(tmp_path, name)
    change, reason = FORGERIES[case]
    edit(out, change)
    answer = run("certify", out, "--json")
    assert answer.code == 1
    assert answer.json["certificate"]["verdict"] == "NOT_CERTIFIED"
    assert reason in answer.stderr


def test_forged_multipliers_prove_nothing(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    edit(out, lambda d: d["duals"].update(margin=[0.0] * OVERLAPPING.n))
    answer = run("certify", out)
    assert answer.code == 1
    assert "could not be proven again" in answer.stderr


def test_an_infeasible_result_is_proven_again_and_predicts_nothing(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "train.csv", OVERLAPPING)
    out = tmp_path / "fit.json"
    assert run("solve", "hard_margin_svc", "--data", file, "--out", out).code == 3
    answer = run("certify", out)
    assert answer.code == 3
    problem, proven, *_ = answer.stdout.splitlines()
    assert problem.startswith("hard_margin_svc intercept=free, 12 points, 2 features")
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
    import tightmargin as tm

    model = tm.c_svc(OVERLAPPING, C=1.0)
    model.w[0].fix(0.0)
    result = tm.solve(model).with_data(sha256=OVERLAPPING.sha256)
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


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - set(OF_CLASSES)))
def test_predict_is_the_hyperplane_of_the_result(name: str, tmp_path: Path) -> None:
    """sign(<w, x> + b) by hand, after z-scores by hand, w and b from the saved file."""
    out = solved(tmp_path, name, "normalise=zscore")
    data = data_of(name)
    new = np.random.default_rng(0).normal(size=(9, 2))
    write_csv(tmp_path / "new.csv", TrainingData(new, np.where(np.arange(9) % 2, 1, -1)))
    answer = run("predict", out, "--data", tmp_path / "new.csv", "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    Z = (new - data.X.mean(axis=0)) / data.X.std(axis=0)
    trained = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    values = {k: np.array(v) for k, v in json.loads(out.read_text())["values"].items()}
    scores = np.array(document["decision_values"])
    if "w" in values:
        assert scores == pytest.approx(Z @ values["w"] + values["b"], rel=1e-12, abs=1e-12)
    elif "alpha" in values and name not in ("conic_sdp_dual", "extended_nu_svc_linearised_dual"):
        signs = 1.0 if name == "kernel_soft_margin_svc" else data.y
        w, within = trained.T @ (signs * values["alpha"]), 1e-9
        if name.startswith("rsvm_dual"):  # on the sphere, or from the solver's multipliers
            w, within = 0.5 * w / np.linalg.norm(w), 1e-6
        if name == "extended_nu_svc_dual":  # on the unit sphere
            w = w / np.linalg.norm(w)
        if name == "soft_margin_svc_dual":  # stationarity: 2 ridge w = sum alpha_i y_i x_i
            w = w / (2 * 0.05)
        offset = scores - Z @ w
        assert offset == pytest.approx(np.full(9, offset[0]), abs=within), "one b for all points"
    elif "beta" in values:
        w = trained.T @ (data.y * values["beta"])
        assert scores == pytest.approx(Z @ w + values["b"], rel=1e-9, abs=1e-9)
    assert document["labels"] == np.where(scores > 0, 1, -1).tolist()
    assert document["errors"] == int((scores * np.where(np.arange(9) % 2, 1, -1) <= 0).sum())


def test_c_svc_agrees_with_scikit_learn(tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    new = np.random.default_rng(1).normal(size=(50, 2))
    write_csv(tmp_path / "new.csv", TrainingData(new, np.where(np.arange(50) % 2, 1, -1)))
    labels, scores = predictions(run("predict", out, "--data", tmp_path / "new.csv"))
    machine = SVC(kernel="linear", C=0.7, tol=1e-10).fit(OVERLAPPING.X, OVERLAPPING.y)
    assert scores == pytest.approx(machine.decision_function(new), abs=1e-4)
    assert labels == machine.predict(new).astype(int).tolist()


@pytest.mark.parametrize("normalise", ["none", "zscore", "unit"])
@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        ("kernel=rbf width=0.8", {"kernel": "rbf", "gamma": 0.8}),
        (
            "kernel=poly degree=3 coef0=1.5",
            {"kernel": "poly", "gamma": 1.0, "degree": 3, "coef0": 1.5},
        ),
    ],
)
def test_kernels_agree_with_scikit_learn(
    kernel: str, theirs: dict[str, Any], normalise: str, tmp_path: Path
) -> None:
    out = solved(tmp_path, "c_svc_dual", *kernel.split(), f"normalise={normalise}")
    assert run("certify", out).code == 0
    new = np.random.default_rng(2).normal(size=(20, 2))
    write_csv(tmp_path / "new.csv", TrainingData(new, np.where(np.arange(20) % 2, 1, -1)))
    _, scores = predictions(run("predict", out, "--data", tmp_path / "new.csv"))

    def mapped(points: np.ndarray) -> np.ndarray:
        match normalise:
            case "zscore":
                return (points - OVERLAPPING.X.mean(axis=0)) / OVERLAPPING.X.std(axis=0)
            case "unit":
                return points / np.linalg.norm(points, axis=1, keepdims=True)
        return points

    machine = SVC(C=0.7, tol=1e-10, **theirs).fit(mapped(OVERLAPPING.X), OVERLAPPING.y)
    assert scores == pytest.approx(machine.decision_function(mapped(new)), abs=2e-4)


def test_a_precomputed_kernel_predicts_from_its_rows(tmp_path: Path) -> None:
    def gram(points: np.ndarray) -> np.ndarray:
        return (points @ OVERLAPPING.X.T + 1.0) ** 2

    np.savez(tmp_path / "train.npz", X=gram(OVERLAPPING.X), y=OVERLAPPING.y)
    out = tmp_path / "fit.json"
    words = ["--set", "C=0.7", "kernel=precomputed", "--out", out]
    assert run("solve", "c_svc_dual", "--data", tmp_path / "train.npz", *words).code == 0
    new = np.random.default_rng(3).normal(size=(6, 2))
    np.savez(tmp_path / "new.npz", X=gram(new), y=np.where(np.arange(6) % 2, 1, -1))
    _, scores = predictions(run("predict", out, "--data", tmp_path / "new.npz"))
    machine = SVC(kernel="poly", gamma=1.0, coef0=1.0, degree=2, C=0.7, tol=1e-10)
    machine.fit(OVERLAPPING.X, OVERLAPPING.y)
    assert scores == pytest.approx(machine.decision_function(new), abs=2e-4)


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,x0,x1\n1,2,3\n", "the new points have the unknown column a:"),
        ("x1\n1\n", "the new points lack the column x0:"),
        (
            "b,x1\n1,2\n",
            "lack the column x0 and have the unknown column b: "
            "the training features are x0, x1; name",
        ),
        ("x0,x1\n1,x\n", "'x'"),
        ("x0,x1\n1,inf\n", "finite"),
    ],
)
def test_bad_new_points_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    out = solved(tmp_path, "c_svc")
    (tmp_path / "new.csv").write_text(text)
    answer = run("predict", out, "--data", tmp_path / "new.csv")
    assert answer.code == 2
    assert expected in answer.complaint
