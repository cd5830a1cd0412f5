"""What does not know weights refuses them in one sentence, before it starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.cases import valid
from tests.inside.formulations import centred_gram, gram_data, unweighted
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import methods

X = np.array([[0, 4], [3, 1], [2, -2], [-2, 2], [1, -3], [4, 2], [-4, 0]]) / 2
Y = np.array([1, 1, -1, -1, -1, 1, -1])
WORDS = np.where(Y > 0, "well", "ill")
S = np.array([2.0, 1.0, 0.5, 0.0, 2.0, 3.0, 0.25])
PLAIN, WEIGHTED = tm.TrainingData(X, Y), tm.TrainingData(X, Y, sample_weight=S)
SEVERAL = tm.MulticlassData(X, [0, 1, 2, 0, 1, 2, 0], sample_weight=S)
RBF: dict[str, Any] = {"kernel": "rbf", "width": 1.0}
SENTENCE = "does not take weighted points"

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


def test_a_users_formulation_sees_no_weights_unless_it_says_so() -> None:
    try:

        @tm.formulation(ProblemClass.QP, "nobody")
        def mine(data: tm.TrainingData, *, C: float) -> Any:
            """Read every point once."""
            return tm.c_svc(data, C=C)

        with pytest.raises(ValueError, match=f"mine {SENTENCE}"):
            mine(WEIGHTED, C=1.0)
        assert mine(tm.TrainingData(X, Y, sample_weight=np.ones(7)), C=1.0).name == "mine"
    finally:
        CATALOGUE.pop("mine", None)


def points(**words: Any) -> tm.TrainingData:
    return tm.TrainingData(X, Y, **({"sample_weight": S} | words))


def classifier(name: str, rows: Any, sample_weight: Any, **words: Any) -> Any:
    return tm.FormulationClassifier(name, C=1.0, **words).fit(rows, Y, sample_weight=sample_weight)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: points(sample_weight=-S), "at least 0, got -2.0 in row 0"),
    (lambda: points(sample_weight=S * np.nan), "got nan in row 0"),
    (lambda: points(sample_weight=[np.inf, *S[1:]]), "got inf in row 0"),
    (lambda: points(sample_weight=0 * S), "sample_weight is zero everywhere"),
    (lambda: points(sample_weight=Y > 0), "0 at every point of -1: no point"),
    (lambda: points(sample_weight=S[:3]), r"sample_weight must have shape \(7,\), got \(3,\)"),
    (lambda: points(sample_weight=2.0), "sample_weight must have shape"),
    (lambda: points(sample_weight=WORDS), "sample_weight must be 7 numbers"),
    (lambda: points(sample_weight=S * 5e307), "beyond double precision"),
    (lambda: points(class_weight={1: 1e-300}, sample_weight=S * 1e-100), "beyond double"),
    (lambda: points(class_weight={2: 1.0}), "names the class 2; the classes are -1, .1"),
    (lambda: points(class_weight="balance"), "got 'balance'; did you mean balanced"),
    (lambda: points(class_weight=[1.0, 2.0, 3.0]), "class_weight must be"),
    (lambda: points(class_weight={1: 0.0}), "class_weight must be positive"),
    (lambda: points(class_weight=2.0), "class_weight must be two numbers"),
    (lambda: points(feature_names=["a"]), "feature_names"),
    (lambda: points(feature_names=["a", "b", "c"]), "feature_names"),
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
