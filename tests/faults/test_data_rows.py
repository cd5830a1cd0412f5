"""Rows 1 to 4 and 29: what is no number, label or table is refused by name, before a build.

And rows of the estimator, which reads arrays of its own.

tests/project/test_refusals.py goes on from here to coefficients, sides and bounds of edited models,
tests/experiments/data/test_specs.py to labels of files, where --positive names the positive one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.cases import NUMBERS, OF_CLASSES, WORDS, modes, valid
from tests.inside.formulations import least_errors
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tests.support.covering import FULL, covering
from tightmargin.formulations import CATALOGUE, MulticlassData, TrainingData
from tightmargin.solvers import NumberError, Status, build

# --- row 1: no number that is none ----------------------------------------------------------------

DATA = points("overlapping", 0, n=8)
BAD = (math.nan, math.inf, -math.inf)
TYPES = (float, np.float64, np.float32, np.array, str)
POSITIVE = {
    "C", "ridge", "pi", "nu", "penalty", "big_m", "budget", "intercept_bound", "norm_bound",
    "hull_bound", "rank", "tau", "price",
}  # fmt: skip


def as_taken(name: str, data: TrainingData) -> TrainingData | MulticlassData:
    """The points as an entry takes them: for several classes, the two there are."""
    return MulticlassData(data.X, (data.y > 0).astype(int)) if name in OF_CLASSES else data


def arrays(data: TrainingData, intercept: str) -> dict[str, Any]:
    """A valid array for every hyperparameter that takes one; of `incumbent`, both parts."""
    width = data.d + (intercept == "penalised")
    return {
        "big_m": np.full(data.n, 50.0),
        "strengthening": np.full(data.n, 1e-3),
        "class_balance": np.full(data.n, 1 / data.n),
        "class_weight": np.array([1.0, 2.0]),
        "w_ref": np.arange(1.0, width + 1),
        "groups": np.arange(data.d, dtype=float),
        "incumbent": np.append(np.ones(data.d), 0.0 if intercept == "none" else 0.3),
    }


def as_argument(name: str, word: str, value: Any) -> Any:
    """An array as the builder takes it: pairs of the incumbent, groups of points."""
    if (name, word) == ("conic_sdp_rank_one", "groups") and isinstance(value, np.ndarray):
        return [[int(i) if np.isfinite(i) else i for i in value]]
    if word != "incumbent":
        return value
    if name in OF_CLASSES:
        both = np.outer([1.0, -1.0], value)
        return both[:, :-1], both[:, -1]
    return value[:-1], value[-1]


@pytest.mark.parametrize("name", CATALOGUE)
def test_row_01_no_builder_takes_a_non_finite_argument(name: str) -> None:
    """Nor one that is no number, or not positive; and no array with one bad cell."""
    data, turn = as_taken(name, DATA), itertools.count(len(name))
    for mode in modes(name)[: 3 if FULL else 1]:
        good, whole = valid(name, mode), arrays(DATA, mode)
        CATALOGUE[name].build(data, **good)
        for word in CATALOGUE[name].parameters:
            k = next(turn)
            bad: list[Any] = [TYPES[k % 5](BAD[k % 3])]
            if word in POSITIVE & set(good):
                bad += [0.0, -1.0, "one", [1.0] if word == "intercept_bound" else None]
            if word in whole:
                CATALOGUE[name].build(data, **good | {word: as_argument(name, word, whole[word])})
                array = whole[word].copy()
                array[k % len(array)] = BAD[k % 3]
                bad.append(as_argument(name, word, array if k % 2 else array.tolist()))
            for value in bad:
                with pytest.raises(ValueError, match=word):
                    CATALOGUE[name].build(data, **(good | {word: value}))


def test_row_01_every_hyperparameter_of_the_catalogue_is_spoiled() -> None:
    words = {word for entry in CATALOGUE.values() for word in entry.parameters}
    assert words == set(NUMBERS) | set(WORDS) | set(arrays(DATA, "free"))


@pytest.mark.parametrize(
    ("which", "bad", "at", "as_type"),
    covering(["X", "y", "gram"], BAD, [(0, 1), (7, 0)], [np.float64, np.float32, object]),
)
def test_row_01_a_bad_cell_of_the_data_is_named(
    which: str, bad: float, at: tuple[int, int], as_type: Any
) -> None:
    X, y, gram = np.array(DATA.X), np.array(DATA.y), DATA.X @ DATA.X.T
    if which == "y":
        y[at[0]] = bad
        place = rf"y holds {bad} in row {at[0]} \(1 such cells\)"
    else:
        (X if which == "X" else gram)[at] = bad
        place = rf"{which} holds {bad} in row {at[0]}, column {at[1]} \(1 such cells\)"
    make = tm.GramData if which == "gram" else tm.TrainingData
    with pytest.raises(ValueError, match=place):
        make((gram if which == "gram" else X).astype(as_type), y.astype(as_type))


def test_row_01_a_param_spoiled_after_the_build_reaches_no_solver() -> None:
    """Every mutable Param, the arrays among them: its own domain refuses, or solve() does."""
    tried: set[str] = set()
    for name, entry in CATALOGUE.items():
        model = entry.build(as_taken(name, DATA), **valid(name, modes(name)[0]))
        for word in entry.parameters:
            found = model.find_component(word)
            if not isinstance(found, pyo.Param):
                continue
            cell = next(iter(found.values()))
            before = cell.value
            for bad in (*BAD, *((-1.0, 0.0) if word in POSITIVE else ())):
                with pytest.raises((ValueError, NumberError), match=rf"{word}|{bad}"):
                    _set_and_solve(cell, bad, model)
            cell.set_value(before)
            tried.add(word)
    assert {"C", "nu", "beta", "w_ref", "big_m", "penalty", "intercept_bound", "pi"} <= tried


def _set_and_solve(cell: Any, bad: float, model: Any) -> None:
    cell.set_value(bad)
    tm.solve(model)


# --- row 2: labels --------------------------------------------------------------------------------

LINE = np.array([[0.0], [1.0], [2.0], [3.0]])
PAIRS = pd.Series([(1, 2), (0, 5), (1, 2), (1, 2)]).to_numpy()  # numpy would make a table of them


@pytest.mark.parametrize(
    ("y", "asked", "positive", "negative"),
    [
        ([0, 1, 0, 1], None, 1, 0),
        (["no", "yes", "no", "yes"], "no", "no", "yes"),
        (np.array([b"a", b"b", b"a", b"b"]), None, b"b", b"a"),
        (pd.Categorical(["a", "b", "a", "b"]), None, "b", "a"),
        (PAIRS, None, (1, 2), (0, 5)),
    ],
)
def test_row_02_two_kinds_of_labels_are_signs(
    y: Any, asked: Any, positive: Any, negative: Any
) -> None:
    signs = [1.0 if label == positive else -1.0 for label in y]
    for make, shape in ((tm.TrainingData, LINE), (tm.GramData, np.eye(4))):
        data = make(shape, y, positive=asked)
        assert data.y.tolist() == signs
        assert data.classes == (negative, positive)
        assert [type(label) for label in data.classes] == [type(negative), type(positive)]
        assert data.sha256 == make(shape, signs).sha256
        assert f"of {positive}" in repr(data)


NO_LABELS: list[tuple[Any, dict[str, Any], str]] = [
    ([1, -1, 0, 1], {}, "3 kinds of labels, -1, 0, 1: MulticlassData takes them"),
    (["a", "b", "c", "a"], {"positive": "a"}, "for one against the rest"),
    (["a"] * 4, {}, "one kind of label, 'a'"),
    (["a", "b", "a", "a"], {"positive": "c"}, "positive is 'c', and y"),
    ([1j, 2j, 1j, 1j], {}, "y must hold labels of two kinds.*complex"),
    (np.array(["a", 1, 1, 1], dtype=object), {}, "mixes.*number, str"),
    (["a", None, "b", "b"], {}, "y is missing in row 1"),
    (np.array([[1], [2, 3], [1], [1]], dtype=object), {}, "holds list, which is no label"),
    (["a", "b", "a", "a"], {"classes": ("c", "d")}, "classes name the labels -1"),
    ([1, -1, 1, 1], {"classes": ("c",)}, "classes must be two different names"),
    ([1, -1, 1, 1], {"classes": "ab"}, "classes must be two different names"),
]


@pytest.mark.parametrize(("y", "words", "sentence"), NO_LABELS)
def test_row_02_other_labels_are_refused(y: Any, words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        tm.TrainingData(LINE, y, **words)


def test_row_02_objects_without_an_order_ask_for_the_positive_one() -> None:
    class Kind:
        def __repr__(self) -> str:
            return "kind"

    ill, well = Kind(), Kind()
    y = np.array([ill, well, ill, ill], dtype=object)
    with pytest.raises(ValueError, match="kind, kind have no order: say which is"):
        tm.TrainingData(LINE, y)
    data = tm.TrainingData(LINE, y, positive=ill)
    assert data.classes == (well, ill)
    assert data.y.tolist() == [1, -1, 1, 1]


# --- row 3: one class alone -----------------------------------------------------------------------


def test_row_03_one_class_is_refused_with_its_label(tmp_path: Path) -> None:
    for label, word in ((1, r"\+1"), (-1, "-1")):
        sentence = rf"both labels -1 and \+1 must occur, got only: {word}"
        with pytest.raises(ValueError, match=sentence):
            tm.TrainingData(np.zeros((3, 2)), np.full(3, label))
        with pytest.raises(ValueError, match=sentence):
            tm.GramData(np.eye(3), np.full(3, label))
    file = tmp_path / "points.csv"
    file.write_text("a,y\n0,1\n1,1\n2,1\n", encoding="utf-8")
    for spec in (f"{file}", f"{file},n=2,seed=0"):
        answer = run("solve", "nu_svc", "--data", spec, "--set", "nu=0.5")
        assert answer.code == 2
        assert "label" in answer.complaint


# --- row 4: equal points with opposite labels -----------------------------------------------------

# Three places: two positive and one negative at 0, one of each at 2, one positive at 3.
PLACES = np.array([[0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
PLACED = np.array([1, 1, -1, 1, -1, 1])
CONTRADICTIONS = tm.TrainingData(PLACES, PLACED)


def fewest_wrong(data: tm.TrainingData) -> int:
    """Every way to give each place a label, by brute force; on coordinates, not on bytes."""
    places = sorted({tuple(row) for row in data.X.tolist()})
    home = [places.index(tuple(row)) for row in data.X.tolist()]
    return min(
        sum(labels[p] != y for p, y in zip(home, data.y.tolist(), strict=True))
        for labels in itertools.product((-1.0, 1.0), repeat=len(places))
    )


def test_row_04_the_least_number_of_errors_is_that_of_brute_force() -> None:
    for seed in range(120 if FULL else 30):
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, -0.0, 0.0, 1.0], (int(rng.integers(2, 9)), 2))
        y = rng.choice([-1, 1], len(X))
        y[:2] = 1, -1
        data = tm.TrainingData(X, y)
        assert least_errors(data) == fewest_wrong(data)
        gram = tm.GramData(data.X @ data.X.T, y)
        assert least_errors(gram) >= least_errors(data), "the kernel can only merge places"


@pytest.mark.parametrize("name", ["zero_one_relaxed", "min_cvar", "max_margin_svc"])
def test_row_04_every_result_says_how_many_errors_cannot_be_avoided(name: str) -> None:
    settings_ = valid(name, "free") | ({"beta": 0.9} if name == "min_cvar" else {})
    # The CVaR is 0 here: what is proven of it, on a sphere that has no doubles, is within 1e-11.
    result = tm.solve(build(name, CONTRADICTIONS, **settings_), absolute_gap=1e-11)
    facts = result.certificate.facts
    assert result.status is Status.OPTIMAL
    assert facts["least_errors"] == 2
    assert "every classifier makes at least 2 errors" in result.message
    assert facts.get("errors", 2) >= 2
    assert ("not separable" in facts.get("degenerate", "")) == (name == "max_margin_svc")
    clean = tm.solve(tm.c_svc(tm.TrainingData(PLACES[[0, 4]], [1, -1]), C=1.0))
    assert "least_errors" not in clean.certificate.facts
    assert "classifier makes" not in clean.message


# --- row 29: what people keep points in -----------------------------------------------------------

# Halves and quarters: exact in every format that follows.
X = np.array([[0.5, -1.0], [1.25, 0.0], [2.0, 2.5], [-3.0, 1.0], [0.0, 0.75], [1.0, -2.0]])
Y = np.array([1, -1, 1, -1, 1, -1])

CONVERTED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "lists": lambda: (X.tolist(), Y.tolist()),
    "float32": lambda: (X.astype(np.float32), Y.astype(np.float32)),
    "array": lambda: (X.copy(), Y),
    "columns first": lambda: (np.array(X, order="F"), Y),
    "data frame": lambda: (pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)),
    "frame of mixed types": lambda: (
        pd.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1]}),
        pd.Series(Y).astype("Int64"),
    ),
    "nullable frame": lambda: (pd.DataFrame(X).astype("Float64"), pd.Series(Y).astype("object")),
    "sparse frame": lambda: (pd.DataFrame(X).astype(pd.SparseDtype("float", 0.0)), Y),
    "nothing masked": lambda: (np.ma.array(X, mask=False, copy=True), np.ma.array(Y, mask=False)),
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_row_29_is_converted_to_the_same_numbers(kind: str) -> None:
    points, labels = CONVERTED[kind]()
    data = tm.TrainingData(points, labels)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert not data.X.flags.writeable
    assert data.sha256 == tm.TrainingData(X, Y).sha256
    if isinstance(points, np.ndarray):  # the data are a copy
        points[0, 0] = 99.0
        assert data.X[0, 0] == 0.5


MASKED = np.ma.array(X, mask=X > 2)
REFUSED: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "no rows": (lambda: (np.empty((0, 2)), []), r"n, d >= 1, got \(0, 2\)"),
    "one dimension": (lambda: (X[:, 0], Y), r"n, d >= 1, got \(6,\)"),
    "ragged": (lambda: ([[1.0, 2.0], [1.0]], [1, -1]), "X must hold real numbers"),
    "complex": (lambda: (X + 1j, Y), "X must hold real numbers"),
    "words": (
        lambda: (pd.DataFrame({"a": list("abcdef"), "b": X[:, 0]}), Y),
        "X must hold real numbers: 'a' in row 0, column 0",
    ),
    "missing cell": (
        lambda: (pd.DataFrame(X).astype("Float64").mask(X > 2), Y),
        "X must hold real numbers: <NA> in row 2, column 1",
    ),
    "masked label": (lambda: (X, np.ma.array(Y, mask=np.arange(6) == 2)), "y is masked in row 2"),
    "masked cell": (lambda: (MASKED, Y), "X holds nan in row 2, column 1"),
    "dates": (lambda: (np.array(pd.date_range("2020", periods=6))[:, None], Y), "dates or times"),
    "too large": (lambda: (X.astype(np.longdouble) * np.longdouble("1e4000"), Y), "X holds -?inf"),
    "one bool y": (lambda: (X, Y > 2), "one kind of label, False: two must occur"),
    "no y": (lambda: (X, None), r"y must have shape \(6,\)"),
    "missing y": (
        lambda: (X, pd.Series([1, -1, None, 1, -1, 1]).astype("Int64")), "y holds nan in row 2"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_row_29_is_refused_in_one_line(kind: str) -> None:
    make, words = REFUSED[kind]
    points, labels = make()
    with pytest.raises(ValueError, match=words) as refusal:
        tm.TrainingData(points, labels)
    if kind != "ragged":
        assert "\n" not in str(refusal.value)


# --- the same rows for the estimator, which reads arrays of its own -------------------------------

Machine = tm.FormulationClassifier
PLAIN = Machine(C=1.0).fit(X, Y)
FORTY = points("overlapping", 5, n=40)


def test_row_02_three_labels_are_refused_by_what_reads_two() -> None:
    three = [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match=r"Only binary .*=c_svc reads two classes and y holds 3"):
        Machine(C=1.0).fit(X, three)
    machine = Machine("multiclass_hinge", ridge=0.1).fit(X, list("abcabc"))
    assert set(machine.predict(X)) <= set("abc")
    assert machine.decision_function(X).shape == (6, 3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Machine(C=1.0).fit(X, [0.5, 1.5, 2.5, 0.5, 1.5, 2.5])


def test_row_07_nu_outside_its_range_is_refused_with_both_ends() -> None:
    data = FORTY
    found = tm.theory.nu_range(data)
    few = data.y.copy()
    few[np.flatnonzero(few > 0)[4:]] = -1
    for name in ("nu_svc", "nu_svc_dual", "extended_nu_svc_ball"):
        with pytest.raises(ValueError, match=rf"nu = 0.01 .*nu_\w+ = {found.nu_min:.6g}, nu_max"):
            Machine(name, nu=0.01).fit(data.X, data.y)
        with pytest.raises(ValueError, match=r"nu = 0.9 is above the range .*nu_max = 0.2\)"):
            Machine(name, nu=0.9).fit(data.X, few)
    bad: list[dict[str, Any]] = [{"nu": np.nan}, {"class_balance": "even"}, {"intercept": "fixed"}]
    for words in bad:
        with pytest.raises(ValueError, match=f"{next(iter(words))} must be"):
            Machine("nu_svc", **{"nu": 0.5} | words).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("hard_margin_svc", {}, r"infeasible \(CERTIFIED\), exact rational Farkas bound"),
        ("hard_margin_svc_dual", {}, r"unbounded \(CERTIFIED\), a ray that no row ever stops"),
        ("max_margin_svc", {}, "gives no machine: the classes are not separable"),
        ("reduced_hull_svc", {"hull_bound": 0.9}, "gives no machine: the hulls meet"),
    ],
)
def test_row_17_a_problem_without_an_optimum_is_refused_with_its_proof(
    name: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Machine(name, **settings).fit(FORTY.X, FORTY.y)


def test_row_11_a_kernel_matrix_that_is_none_is_refused() -> None:
    for matrix, words in ((-np.eye(6), "smallest eigenvalue"), (X, "kernel matrix")):
        with pytest.raises(ValueError, match=words):
            Machine("c_svc_dual", C=1.0, kernel="precomputed").fit(matrix, Y)
    with pytest.raises(ValueError, match=r"needs k\(x, x\) of every new point"):
        Machine("c_svc_dual", C=1.0, kernel="precomputed", normalise="centred").fit(np.eye(6), Y)


@pytest.mark.parametrize("kind", ["lists", "data frame", "sparse frame"])
def test_row_29_what_people_keep_points_in_gives_the_same_machine(kind: str) -> None:
    found, labels = CONVERTED[kind]()
    machine = Machine(C=1.0).fit(found, labels)
    np.testing.assert_array_equal(machine.coef_, PLAIN.coef_)
    np.testing.assert_array_equal(machine.decision_function(found), PLAIN.decision_function(X))
    assert machine.predict(found).tolist() == PLAIN.predict(X).tolist()
    # Points that come sparse are kept so, and their digest is of what is stored.
    kept = sp.csr_array(X) if kind == "sparse frame" else X
    assert machine.result_.data["sha256"] == tm.TrainingData(kept, Y).sha256
    assert hasattr(machine, "feature_names_in_") == (kind == "data frame")
    if kind == "data frame":
        assert machine.feature_names_in_.tolist() == ["a", "b"]


def test_row_29_masks_dates_and_labels_of_two_kinds_are_refused_by_name() -> None:
    frame = pd.DataFrame({"a": pd.date_range("2020", periods=6), "b": X[:, 0]})
    found: Any
    for found, words in (
        (np.ma.array(X, mask=X > 2), "X is masked in row 2"),
        (frame, "dates or times"),
    ):
        for call in (Machine(C=1.0).fit, lambda found, _: PLAIN.predict(found)):
            with pytest.raises(ValueError, match=words):
                call(found, Y)
    for kind in ("no rows", "ragged", "complex", "words", "missing cell", "no y"):
        with pytest.raises((ValueError, TypeError)):
            Machine(C=1.0).fit(*REFUSED[kind][0]())
    for labels, words in (
        (np.array(["a", 1, "b", "a", "b", "a"], dtype=object), "y mixes or holds int, str"),
        (np.ma.array(Y, mask=np.arange(6) == 2), "y is masked in row 2"),
        (np.array(["a", None, "b", "a", "b", "a"], dtype=object), "y is missing in row 1"),
    ):
        with pytest.raises(ValueError, match=words):
            Machine(C=1.0).fit(X, labels)


def test_row_30_words_are_checked_before_anything_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.inside.experiments import fitting

    for name in ("solve", "build"):
        monkeypatch.setattr(fitting, name, lambda *_, **__: pytest.fail("it was solved"))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"formulation": "c_scv"}, "no formulation is called 'c_scv'; did you mean c_svc"),
        ({"formulation": None}, "formulation must be the name of one, got None"),
        ({}, "formulation=c_svc needs C: nothing is chosen for you"),
        ({"C": 1.0, "nu": 0.5}, r"formulation=c_svc takes no nu \(it takes C, class_weight, int"),
        ({"C": 1.0, "kernel": "rbf", "width": 1.0}, "c_svc reads points, .* or take one of c_svc_"),
        ({"C": 1.0, "method": "local"}, "c_svc has no method 'local'; it has auto, direct"),
        ({"formulation": "multiclass_hinge", "ridge": 0.1, "kernel": "rbf", "width": 1.0},
         "formulations of several classes read points"),
        ({"formulation": "zero_one_big_m", "penalty": 1.0, "big_m": "tightened", "nu": 0.5},
         "zero_one_big_m takes no nu"),
        ({"formulation": "extended_nu_svc", "nu": 0.1, "method": "hull", "solver": "scip"},
         "method hull needs no solver"),
    ]  # fmt: skip
    for words, message in cases:
        with pytest.raises(ValueError, match=message):
            Machine(**words).fit(X, Y)
