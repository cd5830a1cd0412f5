"""Weights as data keep them, what is made of them, and who refuses them in one sentence."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import tightmargin as tm
from tests.cases import valid
from tests.inside.formulations import centred_gram, gram_data, legend, unweighted
from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker
from tests.support.command_line import run
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import SolveResult, Verdict, methods

X = np.array([[0, 4], [3, 1], [2, -2], [-2, 2], [1, -3], [4, 2], [-4, 0]]) / 2
Y = np.array([1, 1, -1, -1, -1, 1, -1])
WORDS = np.where(Y > 0, "well", "ill")
S = np.array([2.0, 1.0, 0.5, 0.0, 2.0, 3.0, 0.25])
PLAIN, WEIGHTED = tm.TrainingData(X, Y), tm.TrainingData(X, Y, sample_weight=S)
SEVERAL = tm.MulticlassData(X, [0, 1, 2, 0, 1, 2, 0], sample_weight=S)
RBF: dict[str, Any] = {"kernel": "rbf", "width": 1.0}
SENTENCE = "does not take weighted points"


def points(**words: Any) -> tm.TrainingData:
    return tm.TrainingData(X, Y, **({"sample_weight": S} | words))


# --- data and what is made of it ------------------------------------------------------------------


def test_points_without_weight_are_left_out() -> None:
    data, kept = WEIGHTED, S > 0
    assert data.n == 6
    assert data.X.tolist() == X[kept].tolist()
    assert data.y.tolist() == Y[kept].tolist()
    assert data.weights is not None
    assert data.weights.tolist() == S[kept].tolist()
    assert (data.total_weight, data.masses) == (8.75, (2.75, 6.0))
    with pytest.raises(ValueError, match="read-only"):
        data.weights[0] = 1.0
    gram = tm.GramData(X @ X.T, Y, sample_weight=S)
    assert gram.gram.shape == (6, 6)
    assert np.allclose(gram.gram, data.X @ data.X.T)
    several = tm.MulticlassData(X, [0, 1, 2, 1, 0, 1, 2], sample_weight=S)
    assert several.n == 6
    assert several.masses.tolist() == [4.0, 4.0, 0.75]
    assert gram.points.total_weight == several.total_weight == 8.75


def test_weights_of_classes_multiply_those_of_points() -> None:
    """As a hyperparameter the same words say the same of C-SVC."""
    balanced = [8.75 / (2 * 2.75), 8.75 / (2 * 6)]
    for words, expected in (
        ({1: 3.0}, [1.0, 3.0]), ({"1": 3.0}, [1.0, 3.0]), ([0.5, 3.0], [0.5, 3.0]),
        ("balanced", balanced),
    ):  # fmt: skip
        factors = np.where(Y > 0, expected[1], expected[0])
        data = points(class_weight=words)
        assert np.allclose(data.weights, (S * factors)[S > 0], rtol=1e-15)
        as_data = tm.solve(tm.c_svc(data, C=0.6)).objective
        as_word = tm.solve(tm.c_svc(WEIGHTED, C=0.6, class_weight=words)).objective
        assert as_data == pytest.approx(as_word, rel=1e-7)
    assert points(sample_weight=np.ones(7)).weights is None
    assert points(sample_weight=np.ones(7)).sha256 == PLAIN.sha256
    assert points(sample_weight=np.full(7, 2.0)).sha256 != PLAIN.sha256


def test_copies_keep_weights_and_names() -> None:
    data = tm.TrainingData(X, WORDS, sample_weight=S, positive="ill", spec="mine")
    for copy in (dataclasses.replace(data, X=data.X + 1), pickle.loads(pickle.dumps(data))):
        assert copy.classes == ("well", "ill")
        assert copy.weights is not None
        assert copy.weights.tolist() == S[S > 0].tolist()
        assert copy.y.tolist() == data.y.tolist()
    clone = tm.c_svc(data, C=1.0).clone()
    assert clone.origin.data is data
    shown = repr(data)
    assert "mine: 6 points, 2 features, weighted" in shown
    assert "from 0.25 to 3, in all 8.75" in shown
    assert "weighted (each counts as often as it weighs, n = 8.75)" in str(tm.show(clone))


@pytest.mark.parametrize("name", ["c_svc", "soft_margin_svc", "zero_one_big_m"])
def test_a_proof_file_of_a_weighted_model_is_checked_alone(tmp_path: Path, name: str) -> None:
    words: dict[str, Any] = {
        "c_svc": {"C": 0.7},
        "soft_margin_svc": {"ridge": 0.1},
        "zero_one_big_m": {"penalty": 0.4, "big_m": "derived"},
    }[name]
    path = tmp_path / "proof.json"
    result = tm.solve(tm.build(name, WEIGHTED, **words), proof=path)
    assert result.certificate.verdict is Verdict.CERTIFIED
    document = checker.read(str(path))
    proof = checker.check(document)
    assert proof.lower is not None
    assert float(proof.lower + proof.model.constant) <= result.objective * (1 + 1e-9)
    if name != "zero_one_big_m":
        assert second_checker.decides(document)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_duals_are_told_for_all_points_given(kernel: str | None) -> None:
    words = {"kernel": kernel, "width": 0.5} if kernel else {}
    machine = tm.FormulationClassifier("c_svc_dual", C=0.6, **words).fit(
        sp.csr_matrix(X), Y, sample_weight=S
    )
    theirs = SVC(kernel=kernel or "linear", C=0.6, gamma=0.5, tol=1e-10).fit(X, Y, sample_weight=S)
    assert machine.dual_coef_.shape == (1, 7)
    assert machine.dual_coef_[0, 3] == 0
    # Theirs are places among the points that weigh something.
    assert machine.support_.tolist() == sorted(np.flatnonzero(S)[theirs.support_].tolist())
    assert np.allclose(machine.decision_function(X), theirs.decision_function(X), atol=2e-3)
    ends = tm.certify_fitted(theirs, X, Y, sample_weight=S).parts[0]
    assert ends.attained is not None
    assert ends.below is not None
    most = -machine.result_.objective  # the dual minimises minus the optimum
    assert ends.below.varying <= most * (1 + 1e-6)
    assert most <= ends.attained.varying * (1 + 1e-6)


# --- names and weights that come with files and data frames ---------------------------------------

ROWS = [(0, 1, 1, "ill"), (1, 0, 2, "ill"), (3, 2, 1, "well"), (4, 1, 3, "well"), (2, 3, 1, "ill"),
        (5, 2, 0, "well"), (2.5, 2.5, 2, "well")]  # fmt: skip
TABLE = pd.DataFrame(ROWS, columns=["age", "income", "copies", "y"])
NAMES = ("age", "income")


def by_hand(**words: Any) -> tm.TrainingData:
    return tm.TrainingData(TABLE[list(NAMES)], TABLE["y"], positive="ill", **words)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    TABLE.to_csv(path, index=False)
    return path


def test_names_of_columns_are_kept_and_no_part_of_the_digest() -> None:
    data = by_hand()
    assert data.feature_names == NAMES
    plain = tm.TrainingData(TABLE[list(NAMES)].to_numpy(), TABLE["y"], positive="ill")
    assert plain.feature_names == ()
    assert plain.sha256 == data.sha256
    several = tm.MulticlassData(TABLE[list(NAMES)], [0, 1, 2, 0, 1, 2, 0])
    assert several.feature_names == NAMES
    assert "features" in repr(data)
    assert dataclasses.replace(data, X=data.X + 1).feature_names == NAMES
    assert tm.TrainingData([[0.0], [1.0]], [-1, 1], feature_names=["a"]).feature_names == ("a",)
    numbered = TABLE[["age", "income"]].set_axis([0, 1], axis=1)
    assert tm.TrainingData(numbered, TABLE["y"]).feature_names == ()


def test_results_pictures_and_models_say_the_names(tmp_path: Path) -> None:
    data = by_hand()
    machine = tm.fit("c_svc", data, C=1.0, normalise="zscore")
    machine.result.save(tmp_path / "machine.json")
    assert SolveResult.load(tmp_path / "machine.json").data["feature_names"] == list(NAMES)
    axes = tm.plots.machine_figure(machine, data).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == NAMES
    model = tm.c_svc(data, C=1.0)
    assert "w[0] of age, w[1] of income" in str(tm.show(model))
    assert tm.solve(model).data["feature_names"] == list(NAMES)
    assert legend([str(k) for k in range(9)]).endswith("w[5] of 5 and 3 more")


def test_other_coordinates_have_no_names() -> None:
    """Components of a kernel are none of the columns, of one class or of several."""
    words: dict[str, Any] = {"kernel": "rbf", "width": 1.0}
    tm.fit("c_svc_dual", by_hand(), C=1.0, **words)
    several = tm.MulticlassData(TABLE[list(NAMES)], [0, 1, 2, 0, 1, 2, 0])
    machine = tm.fit("multiclass_hinge", several, ridge=0.1, kpca="full", **words)
    assert machine.labels(several.X).shape == (7,)


def test_a_file_holds_weights_and_names(file: Path, tmp_path: Path) -> None:
    data = tm.load(f"{file},weight=copies,class_weight=ill:2+-1:0.5", positive="ill")
    assert data.feature_names == NAMES
    assert data.sha256 == by_hand(sample_weight=TABLE["copies"], class_weight=[0.5, 2.0]).sha256
    balanced = tm.load(f"{file},weight=copies,class_weight=balanced", positive="ill")
    assert balanced.masses == pytest.approx((5.0, 5.0))
    archive = tmp_path / "points.npz"
    np.savez(
        archive, X=TABLE[list(NAMES)], y=np.where(TABLE["y"] == "ill", 1, -1), s=TABLE["copies"]
    )
    again = tm.load(f"{archive},weight=s,class_weight=1:2+-1:0.5")
    assert again.sha256 == data.sha256
    several = tm.data.load_classes(f"{file},weight=copies,class_weight=well:3")
    assert several.masses.tolist() == [4.0, 18.0]
    drawn = tm.load(f"{file},weight=copies,n=5,seed=1,features=1", positive="ill")
    assert drawn.feature_names == ("income",)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("weight=copes", "weight=copes: the header names no such one: did you mean 'copies'"),
        ("weight=y", "that is the column of labels"),
        ("label=copies,weight=y", "weights must be numbers"),
        ("weight=copies,class_weight=ill", "class_weight is balanced or A:1.B:2"),
        ("class_weight=ill:1+ill:2", "names ill twice"),
        ("class_weight=sick:1", "names the class 'sick'; the classes are -1, .1"),
        ("class_weight=ill:-1", "class_weight must be positive"),
    ],
)
def test_bad_options_of_weights_are_refused(file: Path, options: str, sentence: str) -> None:
    positive = "1" if options.startswith("label") else "ill"
    with pytest.raises(ValueError, match=sentence):
        tm.load(f"{file},{options}", positive=positive)


def test_the_command_line_takes_weights_and_records_them(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    words = ["--weight-column", "copies", "--class-weight", "ill=2,-1=1", "--positive", "ill"]
    answer = run("solve", "c_svc", "--data", file, *words, "--set", "C=1", "--out", out)
    assert answer.code == 0, answer.stderr
    expected = tm.solve(
        tm.c_svc(by_hand(sample_weight=TABLE["copies"], class_weight=[1, 2]), C=1.0)
    )
    saved = SolveResult.load(out)
    assert saved.objective == pytest.approx(expected.objective, rel=1e-6)
    assert saved.data["total_weight"] == 14.0
    assert saved.data["feature_names"] == list(NAMES)
    certified = run("certify", out)
    assert certified.code == 0, certified.stderr
    assert "CERTIFIED" in certified.stdout
    bad = run("solve", "c_svc", "--data", file, "--class-weight", "ill", "--set", "C=1")
    assert bad.code == 2
    assert "--class-weight A=1,B=2" in bad.stderr


# --- refusals -------------------------------------------------------------------------------------

# Functions of data that count every point as often as it weighs, or look at places alone.
AWARE = {
    "branch_and_cut", "cone_search", "cutting_plane", "extended_nu_local", "extended_nu_path",
    "gram_data", "hull_search", "nu_levels", "nu_range", "orthonormal_reduction",
    "ramp_cone_search", "tighten",
}  # fmt: skip


def functions_of_data() -> Iterator[tuple[str, Callable[..., Any]]]:
    for space in (tm.search, tm.paths, tm.theory, tm.cuts, tm.data):
        for name in space.__all__:
            thing = getattr(space, name)
            if inspect.isfunction(thing):
                first = next(iter(inspect.signature(thing).parameters.values()), None)
                if first is not None and first.name == "data":
                    yield name, thing


READERS = dict(functions_of_data())


def test_functions_of_data_refuse_weights_before_anything_else() -> None:
    for name in set(READERS) - AWARE - {"fit_kernel_pca"}:
        function = READERS[name]
        data = SEVERAL if "Multiclass" in str(inspect.signature(function)) else WEIGHTED
        with pytest.raises(ValueError, match=f"{name} {SENTENCE}"):
            function(data)
        with pytest.raises(ValueError, match=f"{name} {SENTENCE}"):
            function(data=data)


def test_every_formulation_takes_weights_but_the_one_that_counts_points() -> None:
    without = [name for name, entry in CATALOGUE.items() if not entry.weighted]
    assert without == ["extended_robust_svc"]
    with pytest.raises(ValueError, match="extended_robust_svc does not take weighted points"):
        tm.extended_robust_svc(WEIGHTED, nu=0.5, mu=0.0)


def test_only_functions_of_data_can_be_made_to_refuse() -> None:
    def of_bounds(bounds: Any, data: tm.TrainingData) -> None:
        """Data is not what it is asked about first."""

    with pytest.raises(TypeError, match="first argument bounds, not data"):
        unweighted(of_bounds)


OWN = [
    (name, method.name)
    for method in methods()
    if not method.weighted
    for name in method.entries
    if CATALOGUE[name].weighted
]


def test_methods_refuse_weights_and_auto_never_takes_them() -> None:
    for name, method in OWN:
        data: Any = SEVERAL if tm.MulticlassData in CATALOGUE[name].takes else WEIGHTED
        chosen = valid(name, "none" if method == "sgd" else "free")
        chosen.pop("slack_bounds", None)
        model = tm.build(name, data, **chosen)
        if method == "auto":
            assert "auto left it to a method" not in tm.solve(model).message
            continue
        with pytest.raises(ValueError, match=f"{method} {SENTENCE}"):
            tm.solve(model, method=method)


@pytest.mark.usefixtures("catalogue_as_it_was")
def test_a_users_formulation_sees_no_weights_unless_it_says_so() -> None:
    @tm.formulation(ProblemClass.QP, "nobody")
    def mine(data: tm.TrainingData, *, C: float) -> Any:
        """Read every point once."""
        return tm.c_svc(data, C=C)

    with pytest.raises(ValueError, match=f"mine {SENTENCE}"):
        mine(WEIGHTED, C=1.0)
    assert mine(points(sample_weight=np.ones(7)), C=1.0).name == "mine"


def classifier(name: str, rows: Any, sample_weight: Any, **words: Any) -> Any:
    return tm.FormulationClassifier(name, C=1.0, **words).fit(rows, Y, sample_weight=sample_weight)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: points(sample_weight=-S), "at least 0, got -2.0 in row 0"),
    (lambda: points(sample_weight=S * np.nan), "got nan in row 0"),
    (lambda: points(sample_weight=0 * S), "sample_weight is zero everywhere"),
    (lambda: points(sample_weight=Y > 0), "0 at every point of -1: no point"),
    (lambda: points(sample_weight=S[:3]), r"sample_weight must have shape \(7,\), got \(3,\)"),
    (lambda: points(sample_weight=WORDS), "sample_weight must be 7 numbers"),
    (lambda: points(sample_weight=S * 5e307), "beyond double precision"),
    (lambda: points(class_weight={1: 1e-300}, sample_weight=S * 1e-100), "beyond double"),
    (lambda: points(class_weight={2: 1.0}), "names the class 2; the classes are -1, .1"),
    (lambda: points(class_weight="balance"), "got 'balance'; did you mean balanced"),
    (lambda: points(class_weight={1: 0.0}), "class_weight must be positive"),
    (lambda: points(class_weight=2.0), "class_weight must be two numbers"),
    (lambda: points(feature_names=["a"]), "feature_names"),
    (lambda: points(feature_names=["a", "a"]), "feature_names"),
    (lambda: points(feature_names=["a", 1]), "feature_names"),
    (lambda: points(feature_names="ab"), "feature_names"),
    (lambda: tm.fit("c_svc", WEIGHTED, C=1.0, sample_weight=np.ones(6)),
     "sample_weight: the points are weighted already"),
    (lambda: tm.fit("c_svc", PLAIN, C=1.0, sample_weight=np.ones(6)),
     r"sample_weight must have shape \(7,\)"),
    (lambda: classifier("c_svc_dual", X @ X.T, S, kernel="precomputed"),
     "kernel=precomputed leave points of weight 0 out"),
    (lambda: classifier("c_svc", X, Y > 0), "y holds 1 class"),
    (lambda: tm.nu_svc(WEIGHTED, nu=0.5, class_balance=np.full(6, 1 / 6)),
     "class_balance: the points are weighted already"),
    (lambda: gram_data(WEIGHTED, **RBF, normalise="centred"), SENTENCE),
    (lambda: centred_gram(gram_data(WEIGHTED, **RBF)), SENTENCE),
    (lambda: tm.data.fit_kernel_pca(WEIGHTED, **RBF, keep="full"), f"kernel PCA {SENTENCE}"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_bad_weights_and_names_are_refused(call: Callable[[], Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        call()
