"""What estimators, paths, gap studies and validations refuse, by a word that must appear."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

import tightmargin as tm
from tests.inside.experiments import (
    GapEffort,
    choose,
    classifier,
    cross_validate,
    cross_validate_folds,
    fits,
    loss_grids,
    rigorous_svm,
    synthetic_samples,
)
from tests.inside.experiments import study as gap_study
from tests.inside.solvers import rigorous_svm_methods
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv

Row = tuple[Callable[[], Any], type[BaseException], str]
DATA = points("overlapping", 3, n=10)
RNG = np.random.default_rng(4)
N = 30
X = RNG.standard_normal((N, 4))
LABELS = np.where(X @ [1.0, 0.4, 2.0, 0.3] + RNG.standard_normal(N) > 0.3, "yes", "no")
THREE = np.where(X[:, 3] > 0.8, "c", LABELS)
WEIGHTS = RNG.integers(1, 4, N).astype(float)
GRAM = X @ X.T
Machine = tm.FormulationClassifier
IRIS = tm.MulticlassData(*load_iris(return_X_y=True))

# --- fitted machines of scikit-learn -------------------------------------------------------------


def hyperplane(w: np.ndarray, b: float) -> Any:
    return SimpleNamespace(coef_=w[None, :], intercept_=np.array([b]))


def of_fit(estimator: Any, word: str, points: Any = X, labels: Any = LABELS, **parts: Any) -> Row:
    """An estimator fitted to points and labels, with parts of it changed afterwards."""

    def call() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = estimator.fit(points, labels)
        for name, value in parts.items():
            setattr(machine, name, value)
        return tm.certify_fitted(machine, points, labels)

    return call, ValueError, word


def of_other(word: str, points: Any = X, labels: Any = LABELS, fitted: Any = LABELS, C: float = 1.0,
             made: Any = SVC, **words: Any) -> Row:  # fmt: skip
    """A machine fitted to (X, fitted) and certified beside something else."""

    def call() -> Any:
        return tm.certify_fitted(made(C=C).fit(X, fitted), points, labels, **words)

    return call, ValueError, word


def stated(machine: Any, word: str, **words: Any) -> Row:
    return partial(tm.certify_fitted, machine, X, LABELS, **words), ValueError, word


PLANE = hyperplane(np.ones(4), 0.0)
HINGE = {"loss": "hinge", "C": 1.0, "intercept": "free"}
CERTIFYING = [
    stated(SVC(), "not fitted"),
    of_fit(LinearSVC(penalty="l1"), "penalty='l1'"),
    of_fit(LinearSVC(multi_class="crammer_singer"), "crammer"),
    of_fit(SGDClassifier(loss="log_loss"), "loss='log_loss'"),
    of_fit(SGDClassifier(penalty="elasticnet"), "elasticnet"),
    of_fit(SVC(kernel="sigmoid"), "no inner product"),
    of_fit(SVC(kernel="poly", coef0=-1.0), "no inner product"),
    of_fit(SVC(kernel=rbf_kernel), "a function as its"),
    of_fit(SVC(kernel="precomputed", max_iter=50), "not positive semidefinite", points=-GRAM),
    of_fit(SVC(kernel="precomputed", max_iter=50), "not symmetric", points=np.triu(GRAM)),
    of_fit(SVC(), "reads another copy", intercept_=np.array([3.0])),
    of_other("fitted on 4", points=X[:, :3], made=LinearSVC),
    of_other("NaN", points=np.where(X > 2, np.nan, X), made=LinearSVC),
    of_other("fitted on 30", points=X[:25], labels=LABELS[:25]),
    of_other("is not the support vector", points=X + 1),
    of_other("30 points and y", labels=LABELS[:25]),
    of_other("30 points and y", labels=None),
    of_other("y holds 'c'", labels=THREE),
    of_other("y holds no 'c'", fitted=THREE),
    of_other("at least 0", sample_weight=-WEIGHTS),
    of_other("0 everywhere", sample_weight=0 * WEIGHTS),
    of_other("costs inf", C=1e100, sample_weight=1e300 * (WEIGHTS > 1)),
    of_other("shape", sample_weight=WEIGHTS[:5]),
    (lambda: tm.certify_fitted(SVC().fit(X, LABELS), X, LABELS, C=2.0), ValueError, "leave C out"),
    stated(PLANE, "state C, intercept", loss="hinge"),
    stated(PLANE, "loss must be one of", **HINGE | {"loss": "logistic"}),
    stated(hyperplane(np.ones(3), 0.0), "do not fit", **HINGE),
    stated(SimpleNamespace(), "no coef_ and intercept_"),
]

# --- machines of our own -------------------------------------------------------------------------


def fitting(word: str, error: type[BaseException] = ValueError, **words: Any) -> Row:
    return lambda: Machine(**words).fit(DATA.X, DATA.y), error, word


def fit(word: str, name: str, data: Any = DATA, error: Any = ValueError, **words: Any) -> Row:
    return partial(tm.fit, name, data, **words), error, word


def new_points(given: Any, word: str) -> Row:
    return (
        lambda: tm.fit("c_svc", DATA, C=1.0, normalise="zscore").labels(given), ValueError, word,
    )  # fmt: skip


GRIDS: list[Any] = [0, [], [0.5, 1.0], "19", 2.5, [[0.5]], ["a"]]
MACHINES = [
    fitting("class_weight names the class 7; the classes are", C=1.0, class_weight={7: 1.0}),
    fitting("did you mean balanced", C=1.0, class_weight="balance"),
    fitting("shape", formulation="matrix_svc_projection", ridge=0.5, shape=(3, 2), rank=1),
    fitting("uncertified must be one of warn, raise, ignore", C=1.0, uncertified="never"),
    fitting("needs mu", formulation="extended_robust_svc", nu=0.7),
    fitting("probability_grid belongs to formulation=weighted_svc", C=1.0, probability_grid=9),
    *(
        fitting("probability_grid: ", formulation="weighted_svc", ridge=0.05, pi=0.5,
                probability_grid=grid)
        for grid in GRIDS
    ),
    fit("the result holds no point: its status is infeasible", "hard_margin_svc"),
    fit("c_svc has no hyperparameter 'D'", "c_svc", D=1.0),
    fit("normalise 'z' is not known", "c_svc", C=1.0, normalise="z"),
    fit("c_svc takes TrainingData, got MulticlassData", "c_svc", IRIS, TypeError, C=1.0),
    new_points(np.ones((2, 3)), "the new points have 3 features, the training points 2"),
    new_points([[1.0, np.nan]], "X holds nan in row 0, column 1"),
    (
        lambda: tm.fit("weighted_svc", DATA, ridge=0.1, pi=0.5).probabilities(DATA.X), ValueError,
        "weighted_svc estimates no probabilities: take class_pro",
    ),
    (
        lambda: Machine(C=1.0).fit(DATA.X, DATA.y).predict_proba(DATA.X), AttributeError,
        "predict_proba",
    ),
]  # fmt: skip

# --- validation and effort -----------------------------------------------------------------------

FEW = points("unbalanced", 1, n=23)


def refused(call: Any, word: str, *given: Any, **words: Any) -> Row:
    return partial(call, *given, **words), ValueError, word


VALIDATION = [
    refused(choose, "no fit of the grid is certified", [None, None], "first"),
    refused(choose, "did you mean first", [1, 2], "frist"),
    refused(fits, "did you mean conic", "conik", DATA, [0.1]),
    refused(fits, "beta must lie in (0, 1), got 1", "hinge", DATA, [0.5, 1.0]),
    refused(fits, "kappa must lie in (0, 1], got 0", "conic", DATA, [0.0, 0.5]),
    refused(fits, "kappa must lie", "conic", DATA, [float("nan")]),
    refused(fits, "grid must be a list of values of beta", "hinge", DATA, []),
    refused(fits, "intercept=penalised or none", "conic", DATA, [0.5], intercept="free"),
    refused(synthetic_samples, "only synthetic data has samples", "sklearn:breast_cancer"),
    refused(synthetic_samples, "leave sample out", "synthetic:none,n=20,d=2,sigma=1,sample=1"),
    refused(synthetic_samples, "did you mean 'sigma'", "synthetic:none,n=20,d=2,sgima=1"),
    refused(
        lambda: cross_validate(
            "hinge", synthetic_samples("synthetic:none,n=20,d=2,sigma=1", test_points=10),
            preprocessing={"kernel": "rbf", "width": 1.0},
        ),
        "not a kernel matrix",
    ),
    *(
        refused(cross_validate_folds, "folds", "hinge", FEW, folds=folds, grid=2)
        for folds in (1, 5, 2.5, True)
    ),
    refused(GapEffort, "tighten_time must be a positive finite number", tighten_time=0),
    refused(GapEffort, "lift_points must be a whole number not below 0", lift_points=-1),
    refused(GapEffort, "lift_points must be a whole number", lift_points=2.5),
]  # fmt: skip

TABLE = [*CERTIFYING, *MACHINES, *VALIDATION]


@pytest.fixture
def no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before anything is solved."""

    def never(*given: Any, **words: Any) -> Any:
        pytest.fail("something was solved")

    for place, name in (
        (loss_grids, "solve"), (loss_grids, "hinge_block"), (gap_study, "compare"),
        (rigorous_svm_methods, "solve_rsvm"), (rigorous_svm, "rsvm_path"),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, never)


@pytest.mark.usefixtures("no_solve")
@pytest.mark.parametrize(("call", "error", "word"), TABLE, ids=[row[2] for row in TABLE])
def test_it_is_refused_by_name(
    call: Callable[[], Any], error: type[BaseException], word: str
) -> None:
    with pytest.raises(error, match=re.escape(word)):
        call()


@pytest.mark.parametrize("grid", GRIDS[:2])
def test_a_bad_grid_of_probabilities_is_refused_before_a_solve(
    grid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier, "machine_of", lambda *_, **__: pytest.fail("it was solved"))
    with pytest.raises(ValueError, match=r"^probability_grid: "):
        Machine("weighted_svc", ridge=0.05, pi=0.5, probability_grid=grid).fit(DATA.X, DATA.y)


# --- commands: one line on standard error, and 2 -------------------------------------------------

COMMANDS: dict[str, list[tuple[str, str]]] = {
    "path extended_nu_svc --set": [
        ("intercept=free", "the list of nu"),
        ("nu=0.3,high", "'high'"),
        ("nu=0.3,1.2", "1.2"),
        ("nu=0.3 scale=perez_cruz", "leave scale out"),
        ("nu=0.3 --method local", "branch-and-cut"),
        ("nu=0.3 C=1", "has no hyperparameter 'C'"),
        ("nu=0.3 kernel=rbf width=1", "kpca=full"),
        ("nu=0.3 --time-limit -1", "time_limit"),
        ("nu=0.3 --out t.pkl", ".json"),
        ("nu=0.3 --csv t.txt", ".csv"),
        ("nu=0.3 --plot t.doc", ".png"),
    ],
    "path": [
        ("c_svc --set nu=0.3", "only extended_nu_svc has a path"),
        ("extended_nu_svm --set nu=0.3", "did you mean"),
        ("conic_sdp_budget --set budget=0.5,0", "hard-margin problem"),
        ("conic_sdp_budget --set budget=2", "budget must lie in (0, 1]"),
        ("conic_sdp --set penalty=1,-1", "penalty must be a positive"),
        ("conic_sdp --set penalty=1,high", "'high'"),
        ("conic_sdp --set penalty=1 intercept=free", "intercept_bound value by"),
        ("conic_sdp --set penalty=1 intercept_bound=2", "leave intercept_bound"),
        ("conic_sdp --set budget=0.5", "no hyperparameter 'budget'"),
        ("conic_sdp --set penalty=1 --method hull", "no choice of methods"),
        ("conic_sdp_dual --set penalty=1", "conic_sdp over penalty"),
        ("conic_sdp --set capacity=1", "no hyperparameter 'capacity'"),
        ("rsvm_relaxed", "rsvm over norm_bound"),
    ],
    "path rsvm --set": [
        ("norm_bound=1 capacity=0.1", "not both"),
        ("norm_bound=1,0", "norm_bound must be a positive"),
        ("capacity=-1", "capacity must be a positive"),
        ("norm_bound=1 intercept=none", "leave intercept out"),
        ("norm_bound=1 --method hull", "method must be one of"),
        ("norm_bound=1 vc_form=vapnick", "did you mean vapnik"),
        ("norm_bound=1 eta=1", "eta must lie strictly between"),
        ("norm_bnd=1", "did you mean norm_bound"),
    ],
    "path weighted_svc --set": [
        ("pi=0.5", "weighted_svc needs ridge"),
        ("ridge=0", "ridge"),
        ("ridge=1 pi=0.5 grid=3", "give pi or grid, not both"),
        ("ridge=1 pi=0.5,1", "strictly between 0 and 1"),
        ("ridge=1 grid=0", "at least one value"),
        ("ridge=1 grid=some", "grid must be"),
        ("ridge=1 intercept=maybe", "intercept"),
        ("ridge=1 steps=3", "no hyperparameter 'steps'"),
        ("ridge=1 --method socp", "method"),
        ("ridge=1 intercept=none --method libsvm", "free intercept only"),
    ],
    "solve": [
        ("rsvm --set norm_bound=1 --method newton", "no method 'newton'; it"),
        ("rsvm_relaxed --method segments", "has no method 'segments'"),
        ("rsvm", "needs norm_bound"),
        ("rsvm_dual --set norm_bound=0", "norm_bound must be a positive"),
        ("rsvm --set norm_bound=big", "norm_bound must be a number"),
        (
            "rsvm --set norm_bound=1 intercept=penalised --method segments",
            "not 'penalised'; take direct",
        ),
        ("rsvm --set norm_bound=1 --method segments --solver scs", "belong to method=direct"),
        (
            "rsvm --set norm_bound=1 kernel=rbf width=1",
            "or take one of rsvm_dual, rsvm_dual_perspective",
        ),
        ("c_svc --set C=1 --method hull", "c_svc has no method 'hull'; it has auto"),
        ("min_cvar --set beta=0.8 --method hull --solver scip", "no solver"),
    ],
    "compare --set penalty=1.3 big_m=derived": [
        ("conic_sdp:penalty=2", "another problem"),
        ("zero_one_relaxed:intercept=none", "another problem"),
        ("c_svc:C=1", "not known to bound zero_one_big_m"),
        ("conic_sdp_budget:budget=0.1", "not known to bound"),
        ("conic_sdp:penlty=2", "did you mean penalty"),
        ("conic_sdp:normalise=zscore", "give normalise with --set"),
        ("conic_spd", "did you mean conic_sdp"),
        ("", "--ladder"),
        ("conic_sdp_strengthened --set kernel=rbf width=1", "not a kernel matrix"),
        ("conic_sdp --set strengtening=equal", "nothing here has"),
        ("conic_sdp --csv table.xlsx", ".csv"),
        ("conic_sdp --plot gaps.bmp", ".png or .pdf or .svg"),
        ("conic_sdp --exact zero_one_bigm", "did you mean zero_one_big_m"),
        (
            "zero_one_relaxed:big_m=1000 conic_sdp --solver highs",
            "conic_sdp: highs cannot take SDP models; installed solvers",
        ),
    ],
    "compare": [("conic_sdp:penalty=1", "has no penalty; give it to all with --set penalty=1")],
    "cross-validate": [
        ("hinj", "did you mean hinge"),
        ("hinge --tie best", "tie must be one of first, middle, last"),
        ("hinge --set C=1", "chooses the hyperparameter itself"),
        ("conic --set intercept=free", "intercept=penalised or none"),
        ("hinge --csv grid.txt", ".csv"),
        ("hinge --folds 1", "folds must be a whole number of at least 2"),
    ],
}
LINES = [(f"{start} {line}", word) for start, each in COMMANDS.items() for line, word in each]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "train.csv", DATA)


@pytest.mark.usefixtures("no_solve")
@pytest.mark.parametrize(("line", "word"), LINES)
def test_a_command_is_refused_in_one_line_before_any_solve(
    line: str, word: str, file: Path
) -> None:
    command, *words = line.split()
    of_data = "synthetic:none,n=20,d=2,sigma=1" if command == "cross-validate" else file
    answer = run(command, *settings_apart(words), "--data", of_data)
    assert answer.code == 2
    assert word in answer.complaint


def settings_apart(words: list[str]) -> list[str]:
    """What follows --set, each with a --set of its own."""
    found: list[str] = []
    setting = False
    for word in words:
        if word.startswith("--"):
            setting = word == "--set"
            found += [] if setting else [word]
        elif setting and "=" in word and ":" not in word:
            found += ["--set", word]
        else:
            found.append(word)
    return found


@pytest.mark.parametrize(
    "words", ["conic_sdp", "--ladder --set penalty=1", "--set penalty=1", "--exact c_svc:C=1"]
)
def test_rows_without_data_are_refused(words: str) -> None:
    answer = run("compare", *words.split())
    assert answer.code == 2
    assert "--data" in answer.complaint
