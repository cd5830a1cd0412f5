"""What experiments/ refuses, by call and by command: the error and the word that must be in it."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

import tightmargin as tm
from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    GapEffort,
    RiskBound,
    choose,
    classifier,
    clopper_pearson,
    cross_validate,
    cross_validate_folds,
    deviation,
    draw_boundary,
    draw_bounds,
    draw_losses,
    draw_regions,
    draw_timings,
    encoded,
    fits,
    hard_margin_bound,
    label_flip_data,
    load,
    load_classes,
    loss_grids,
    new_figure,
    outlier_data,
    outlier_samples,
    performance_profile,
    picture,
    plane_run,
    probability_runs,
    rigorous_svm,
    risk_bound,
    risk_table,
    run_study,
    shared_legend,
    soft_margin_bound,
    synthetic_samples,
    table3_notes,
    task_text,
    theorem_3,
    theorem_4,
    theorem_5,
    timing,
    vc_bound,
)
from tests.inside.experiments import losses as loss_plot
from tests.inside.experiments import study as gap_study
from tests.inside.solvers import rigorous_svm_methods
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.cuts import cutting_plane
from tightmargin.solvers import nu_range

NAN, INF = math.nan, math.inf
DATA = points("overlapping", 1, n=10)
EIGHT = points("overlapping", 0, n=8, d=3)
UNEVEN = points("unbalanced", 1, n=23)
IRIS = tm.MulticlassData(*load_iris(return_X_y=True))
Machine = tm.FormulationClassifier
Row = tuple[Callable[[], Any], type[BaseException], str]


def refused(call: Callable[..., Any], word: str, *given: Any, **words: Any) -> Row:
    return partial(call, *given, **words), ValueError, word


def changed(call: Callable[..., Any], right: dict[str, Any], word: str, **wrong: Any) -> Row:
    """A call whose arguments are right but for some."""
    return partial(call, **(right | wrong)), ValueError, word


# --- files ---------------------------------------------------------------------------------------

FILES: list[tuple[str, str, str]] = [
    ("bad.csv", "x,y\n", "a header line and at least one row are needed"),
    ("bad.csv", "x,y\n1,1\n,-1\n", "row 2 (line 3), column 'x' is empty: fill it"),
    ("bad.csv", "x,y\n1,1\n2,\n", "row 2 (line 3), column 'y' is empty: fill it"),
    ("bad.csv", "x,y\n1,1\ninf,-1\n", "row 2 (line 3), column 'x' holds inf: features must be"),
    ("bad.csv", "x,y\n1,1\nred,-1\n", "row 2 (line 3), column 'x' holds 'red': features must be"),
    ("bad.csv", "x,y\n1,1\n2,-1,3\n", "row 2 (line 3) has 3 cells, the header has 2"),
    ("bad.csv", "x,x,y\n1,2,1\n", "the header names column 'x' twice"),
    ("bad.csv", "y\n1\n-1\n", "there is no column besides the labels 'y'"),
    ("bad.csv", 'x,y\n"1,1\n', "this is no csv file: unexpected end of data"),
    ("bad.csv", "x,y\n1,1\n2,1\n", "both labels -1 and +1 must occur, got only: +1"),
    ("bad.csv", "x,y\n1,0\n2,1\n", "column 'y' holds the labels 0, 1"),
    ("bad.csv", "sort,x\nred,1\n", "names no label column 'y': name it with --label"),
    ("bad.npz", "no archive", "this is no npz archive: write one with"),
    ("bad.libsvm", "one 1:2\n", "this is no libsvm file"),
    ("bad.libsvm", "1 1000000000000:1\n-1 2:1\n", "an index is too large"),
    ("bad.libsvm", "1 1:2\n-1 1:1_000\n", "line 2 holds '1:1_000'"),
    ("bad.libsvm", "1 1:2\n-1 1:1 2:nan\n", "X holds nan in row 1, column 1"),
    ("bad", "", "begins ''"),
    ("bad", "1 2 3\n4 5 6\n", "and no Brooks text"),
    ("bad", "2 1\n1 1_0\n-1 3\n", "row 1 (line 2), column 1 holds '1_0'"),
    ("bad", "2 1\n1 5\n", "2 points with 1 features are announced, 1 lines follow"),
    ("bad", "2\n1\n1 5\n\n-1 5 6\n", "row 2 (line 5) has 3 numbers, not 2: a label and 1 features"),
    ("bad", "2 1\n1 5\n-1 x\n", "row 2 (line 3), column 1 holds 'x': it must be a finite number"),
    ("bad", "2 1\n3 5\n4 6\n", "the first column holds the labels 3, 4: say which one is +1"),
]


@pytest.mark.parametrize(("name", "text", "said"), FILES)
def test_bad_files_name_the_place(here: Path, name: str, text: str, said: str) -> None:
    (here / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{re.escape(name)}: .*{re.escape(said)}"):
        load(name)


ARCHIVES: list[tuple[dict[str, Any], str, str]] = [
    ({"A": np.ones((2, 1)), "y": [1, -1]}, "", "the archive holds no array 'X', it holds A, y"),
    ({"X": np.array([[1, None]], dtype=object), "y": [1]}, "", "Object arrays cannot be loaded"),
    ({"X": np.ones((3, 2)), "y": [1, -1]}, "", "got (3, 2) and (2,)"),
    ({"X": [[1, 2], [3, NAN]], "y": [1, -1]}, ",features=0", "X holds nan in row 1, column 1"),
    ({"X": [["a"], ["b"]], "y": [1, -1]}, "", "X must hold real numbers"),
    ({"X": [[1.0], [2.0]], "y": ["a", "b"]}, "", "array 'y' holds the labels a, b: say which one"),
    ({"X": np.arange(9.0)[:, None], "y": [1] + [-1] * 8}, ",n=2", "are all labelled -1: add strat"),
    ({"X": [[1.0], [2.0]], "y": [1, 1]}, ",n=2,stratify", "stratify needs both labels"),
]


@pytest.mark.parametrize(("arrays", "options", "said"), ARCHIVES)
def test_bad_archives_are_refused(
    here: Path, arrays: dict[str, Any], options: str, said: str
) -> None:
    np.savez("bad.npz", **arrays)
    with pytest.raises(ValueError, match=re.escape(said)):
        load(f"bad.npz{options}")


def test_a_damaged_archive_is_refused(here: Path) -> None:
    np.savez_compressed("damaged.npz", X=np.arange(4000.0)[:, None], y=np.resize([1, -1], 4000))
    content = bytearray((here / "damaged.npz").read_bytes())
    content[200:260] = bytes(60)
    (here / "damaged.npz").write_bytes(content)
    with pytest.raises(ValueError, match="the archive is damaged"):
        load("damaged.npz")


# --- specs ---------------------------------------------------------------------------------------

NONE = "synthetic:none,n=9,d=1"
SPECS: list[tuple[str, type[Exception], str]] = [
    ("d.npz,n=41", ValueError, "option n must lie between 2 and the 40 rows, got 41"),
    ("d.npz,n=ten", ValueError, "option n must be a whole number, got 'ten'"),
    ("d.npz,n", ValueError, "option n needs a value: write n=..."),
    ("d.npz,n=5,n=6", ValueError, "option n is given twice"),
    ("d.npz,n=5,", ValueError, "an option is empty: write source,option=value"),
    ("d.npz,n=5,stratify=yes", ValueError, "option stratify takes no value"),
    ("d.npz,stratify", ValueError, "option stratify says how rows are drawn: add n=..."),
    ("d.npz,features=0+3", ValueError, "asks for column 3: the columns are 0 to 2"),
    ("d.npz,features=1+1", ValueError, "option features names a column twice: 1+1"),
    ("d.npz,features=a", ValueError, "must be column numbers joined by +, got 'a'"),
    ("d.npz,startify,n=5", ValueError, "unknown option 'startify': did you mean 'stratify'?"),
    ("d.npz,sigma=1", ValueError, "unknown option 'sigma': allowed are class_weight, features"),
    ("f.npz", FileNotFoundError, "no file f.npz: did you mean d.npz?"),
    ("folder", ValueError, "this is a folder: name a file in it"),
    ("sklaern:iris", ValueError, "unknown source 'sklaern': did you mean 'sklearn'"),
    ("", ValueError, "name a source: a file, sklearn:NAME, uci:NAME or"),
    ("breast_cancer", ValueError, "no such file: did you mean sklearn:breast_cancer"),
    ("uci:sonnar", ValueError, "unknown data set 'sonnar': did you mean 'sonar'"),
    ("uci:german_credit", FileNotFoundError, "no copy on OpenML: put german_credit_numeric.csv"),
    ("sklearn:irsi", ValueError, "unknown data set of scikit-learn 'irsi': did you mean 'iris'"),
    ("sklearn:breast_cancer,positive=bening", ValueError, "'bening': did you mean 'benign'"),
    ("synthetic:clusterd,n=9,d=1,sigma=1", ValueError, "synthetic data 'clusterd': did you mean"),
    (NONE, ValueError, "option sigma is missing: write sigma=..."),
    (f"{NONE},tau=0.1", ValueError, "unknown option 'tau': allowed are d, features, n, sample"),
    (f"{NONE},sigma=wide", ValueError, "option sigma must be a number, got 'wide'"),
]


GAUSSIANS = "synthetic:gaussians,n=40,d=2"
OF_CLASSES = [
    (f"{GAUSSIANS},sigma=1", "option classes is missing"),
    (f"{GAUSSIANS},sigma=1,classes=1", "classes must be a whole number of at least 2"),
    (f"{GAUSSIANS},sigma=0,classes=3", "sigma must be a positive number"),
    ("synthetic:gaussians,n=2,d=2,sigma=1,classes=3", "seed=0 draws no point of class"),
    ("d.npz,positive=1", "positive=1 makes two classes of all: leave"),
    ("half.csv", "column 'y' holds the label 1.5: classes are whole numbers or"),
    ("one.csv", "at least two classes must occur"),
    ("hole.csv", "row 2 (line 3), column 'y' is empty"),
    ("one.csv,n=2,stratify", "option stratify needs at least two classes"),
]


@pytest.fixture
def forty(here: Path) -> Path:
    """40 rows with three columns, 13 of them positive, and tables of three rows."""
    np.savez("d.npz", X=np.arange(120.0).reshape(40, 3), y=np.resize([-1, 1, -1], 40))
    for name, label in (("half", "1.5"), ("one", "1"), ("hole", "")):
        (here / f"{name}.csv").write_text(f"x,y\n3,1\n4,{label}\n5,1\n")
    (here / "folder").mkdir()
    return here


@pytest.mark.usefixtures("forty")
@pytest.mark.parametrize(
    ("read", "spec", "error", "said"),
    [*((load, *row) for row in SPECS), *((load_classes, s, ValueError, w) for s, w in OF_CLASSES)],
)
def test_bad_specs_are_refused(
    read: Callable[[str], Any], spec: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=re.escape(said)):
        read(spec)


# --- calls ---------------------------------------------------------------------------------------

drawn = partial(outlier_data, "none")
GOOD = {"n": 20, "d": 2, "sigma": 0.2, "seed": 0}
VC = {"risk": 0.1, "h": 3.0, "n": 10}
G = {"level": -0.5, "m": 100, "radius": 1.0, "c": 1.0, "delta": 0.05}
BAR = nu_range(DATA).nu_bar  # 0.408
WIDE = {"nu_bar": BAR, "radius": 5.0, "c": 1.0, "delta": 0.05}
W, B = np.array([1.2, -0.7]), 0.3
HARD = {"m": 10, "margin": 0.5, "radius": 1.0, "delta": 0.1, "intercept": "none"}
SOFT = {"m": 10, "ridge": 0.5, "radius": 1.0, "norm": 1.0, "comparison": 0.1, "form": "printed"}


def under(call: Callable[..., RiskBound], word: str, b: float = B, **words: float) -> Row:
    """A theorem on ten points, whose conditions hold but for what is given."""
    return partial(call, DATA, W, b, **(WIDE | words)), ValueError, word


NUMBERS = [
    refused(load, "in the spec but", "sklearn:iris,positive=setosa", positive="virginica"),
    changed(drawn, GOOD, "n must be a whole number of at least 1, got 0", n=0),
    changed(drawn, GOOD, "seed must be a whole number of at least 0, got -1", seed=-1),
    changed(drawn, GOOD, "sigma must be a positive number, got 0.0", sigma=0.0),
    refused(outlier_data, "did you mean 'clustered'", "cluster", **GOOD),
    refused(label_flip_data, "tau must be between 0 and 0.5", n=20, d=2, tau=0.6, seed=0),
    refused(outlier_samples, "percent must be 10", "none", 9, 2, 0.2, 0, percent=5, test_points=9),
    changed(vc_bound, VC, "risk must be a finite number of at least 0", risk=-0.1),
    changed(vc_bound, VC, "h must be at least 1", h=0.5),
    changed(vc_bound, VC, "n must be a positive", n=0),
    changed(vc_bound, VC, "n must be a whole number", n=2.5),
    changed(vc_bound, VC, "eta must lie strictly between 0 and 1", eta=1.0),
    changed(vc_bound, VC, "did you mean vapnik", form="vapnick"),
    refused(risk_table, "rows is empty", EIGHT, []),
    (
        lambda: risk_table(EIGHT, tm.paths.rsvm_path(DATA, [0.5]).rows),
        ValueError,
        "and the data 3 fea",
    ),
    changed(deviation, G, "must be finite and not 0", level=0.0),
    changed(deviation, G, "c must be a positive finite number", c=0.0),
    changed(deviation, G, "radius must be a positive finite number", radius=-1.0),
    changed(deviation, G, "delta must lie between 0 and 1", delta=1.0),
    changed(deviation, G, "radicand", level=1e3, delta=0.9, c=0.01),
    under(theorem_3, "Theorem 3 needs nu > nu_bar", nu=BAR),
    under(theorem_3, "Theorem 3 needs a negative CVaR, got 0", nu=0.45),
    under(theorem_3, "nu must lie in (0, 1]", nu=1.01),
    under(theorem_4, "Theorem 4 needs nu <= nu_bar", nu=0.95),
    under(theorem_4, "Theorem 4 needs a negative value at risk, got ", nu=0.1),
    under(theorem_5, "Theorem 5 needs nu <= nu_bar", nu=0.95),
    under(theorem_5, "Theorem 5 needs a positive value at risk, got -", nu=0.4),
    under(theorem_5, "radius = 2 bounds no distribution", nu=0.1, radius=2.0),
    under(theorem_5, "exceeds the radius 5", 8.0, nu=0.1),
    under(theorem_5, "w and b must be finite", INF, nu=0.1),
    refused(risk_bound, "w not 0", DATA, [0.0, 0.0], 0.0, nu=0.1, **WIDE),
    refused(risk_bound, "w must have shape (2,)", DATA, [1.0], 0.0, nu=0.1, **WIDE),
    changed(hard_margin_bound, HARD, "m must be", m=0),
    changed(hard_margin_bound, HARD, "m must be a whole number", m=2.5),
    changed(hard_margin_bound, HARD, "margin", margin=0),
    changed(hard_margin_bound, HARD, "exceeds radius", margin=2.0),
    changed(hard_margin_bound, HARD, "radius", radius=INF),
    changed(hard_margin_bound, HARD, "delta", delta=1),
    changed(hard_margin_bound, HARD, "intercept", intercept="penalised"),
    changed(soft_margin_bound, SOFT, "ridge", ridge=0),
    changed(soft_margin_bound, SOFT, "radius", radius=-1),
    changed(soft_margin_bound, SOFT, "norm", norm=-1),
    changed(soft_margin_bound, SOFT, "comparison", comparison=NAN),
    changed(soft_margin_bound, SOFT, "form", form="book"),
    refused(clopper_pearson, "wrong must lie between 0 and n = 2", 3, 2),
    refused(clopper_pearson, "confidence must lie between 0 and 1", 1, 2, 1.0),
    refused(probability_runs.expected_hinge, "spread", 0.0, 0.0),
    refused(table3_notes.crossing, "never change", {0.1: 1.0, 0.2: 2.0}),
]


POINTS = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0], [-1.0, 0.5], [-2.0, 1.0], [0.0, 2.0]])
SIGNS = np.array([1, 1, 1, -1, -1, -1])
LINE = {"points": POINTS, "labels": SIGNS, "score": lambda places: places @ [2.0, -1.0]}
REGIONS = {
    "points": POINTS,
    "labels": np.array([0, 1, 2, 0, 1, 2]),
    "classify": lambda p: (p[:, 0] > 0) * 1.0,
}
HINGE_LINE = {"losses": {"hinge": loss_plot.hinge()}}


def drawn_with(draw: Callable[..., Any], right: dict[str, Any], word: str, **words: Any) -> Row:
    """A drawing whose words are right but for some, given in order or by name."""
    given = (right | {name: words.pop(name) for name in right if name in words}).values()
    return lambda: draw(new_figure(COLUMN, 3.0).subplots(), *given, **words), ValueError, word


def machine_plot(**words: Any) -> Callable[[], Any]:
    return lambda: tm.solve(tm.c_svc(DATA, C=1.0)).plot(**words)


def polygon(change: Callable[[Any], Any]) -> Callable[[], Any]:
    """Cuts of a square with a change of its model."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-1, 2))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) - model.x[1] ** 2)
    change(model)
    return lambda: tm.plots.polygon_cuts(model)


def row(write: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda model: setattr(model, "row", pyo.Constraint(expr=write(model)))


def third(model: Any) -> None:
    model.y = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(expr=model.y <= model.x[0])


def cut_in(space: str, d: int) -> Callable[[], Any]:
    data = points("overlapping", 1, n=12, d=d)
    nu = nu_range(data).nu_bar / 2
    return lambda: plane_run(cutting_plane(data, nu=nu, space=space, round_limit=1))


PICTURES: list[Row] = [
    drawn_with(draw_boundary, LINE, "must be an array (n, 2)", points=POINTS[:, :1]),
    drawn_with(draw_boundary, LINE, "labels must be an array (6,)", labels=SIGNS[:3]),
    drawn_with(draw_boundary, LINE, "points must be finite", points=POINTS * NAN),
    drawn_with(draw_boundary, LINE, "labels must be -1 and +1", labels=SIGNS + 1),
    drawn_with(draw_boundary, LINE, "score must return an array", score=lambda p: p),
    drawn_with(draw_boundary, LINE, "return finite", score=lambda p: p[:, 0] * NAN),
    drawn_with(draw_boundary, LINE, "margin must be a finite number", margin=NAN),
    drawn_with(draw_boundary, LINE, "support must be an array of", support=np.arange(6)),
    drawn_with(draw_regions, REGIONS, "must hold 3 words, got 2", names=("a", "b")),
    drawn_with(draw_regions, REGIONS, "9 classes are more", labels=[8, 0, 0, 0, 0, 0]),
    drawn_with(draw_regions, REGIONS, "whole numbers from 0", labels=[0.5] * 6),
    refused(shared_legend, "nothing in this figure has a label", new_figure()),
    drawn_with(draw_losses, HINGE_LINE, "draw 1 to", losses={}),
    drawn_with(draw_losses, HINGE_LINE, "over must be a range", over=(1.0, 1.0)),
    drawn_with(draw_losses, HINGE_LINE, "jumps names ramp", jumps={"ramp": 1.0}),
    drawn_with(draw_losses, HINGE_LINE, "801 finite", losses={"log": lambda u: u * NAN}),
    refused(performance_profile, "at least one solver", {}),
    refused(performance_profile, "got [1, 2]", {"a": [1.0], "b": [1.0, 2.0]}),
    refused(performance_profile, "costs of a must be above 0", {"a": [0.0]}),
    refused(timing, "at least one run", [], None),
    refused(timing, "seconds must be above 0", [0.0], None),
    refused(timing, "limit must say how long", [None], None),
    drawn_with(draw_timings, {"times": {"QP": {}}}, "at least one group"),
    drawn_with(draw_timings, {"times": {}}, "1 to 7 methods"),
    drawn_with(draw_bounds, {"traces": []}, f"1 to {len(LOOKS)} traces"),
    (polygon(row(lambda m: m.x[0] + m.x[1] == 1)), ValueError, "no inside"),
    (polygon(lambda m: m.x[0].setub(None)), ValueError, "no end"),
    (polygon(third), ValueError, "3 variables"),
    (polygon(row(lambda m: m.x[0] ** 2 + m.x[1] ** 2 >= 1)), ValueError, "row row is quadratic"),
    (lambda: tm.plots.polygon_cuts([[0.0, 1.0]]), TypeError, "takes a Pyomo ConcreteModel"),  # type: ignore[arg-type]
    (cut_in("projected", 3), ValueError, "3 entries"),
    (cut_in("lifted", 2), ValueError, "space=projected"),
    refused(tm.plots.catalogue_figure, "columns must be at least 1, got 0", columns=0),
    (lambda: picture(DATA), TypeError, "TrainingData has no picture; these have: Comparison"),
    (machine_plot(), ValueError, "plot(data=...)"),
    (machine_plot(data=EIGHT), ValueError, "features"),
    (machine_plot(colour=1), TypeError, "SolveResult has no word 'colour', it takes data, title"),
    (machine_plot(data="x"), TypeError, "data must be TrainingData or MulticlassData, got str"),
    (machine_plot(title=3), TypeError, "title must be a string, got int"),
    (lambda: tm.fit("c_svc", DATA, C=1.0).plot(), TypeError, "plot() of Fitted needs data="),
]  # fmt: skip


def never(number: int) -> int:
    raise AssertionError("nothing may start")


def study(tasks: list[Any] | None = None, work: Any = never, **words: Any) -> Callable[[], Any]:
    return lambda: run_study(work, [(1,)] if tasks is None else tasks, name="n", **words)


AT = "tcp://a:1"
STUDIES: list[Row] = [
    (study(backend="ray"), ValueError, "backend 'ray' is not known: choose loky or dask"),
    (study(jobs=0), ValueError, "jobs must be 1 or more, got 0"),
    (study(backend="dask"), ValueError, "the backend dask needs a scheduler, such as --scheduler"),
    (study(scheduler=AT), ValueError, "a scheduler is for the backend dask"),
    (study(backend="dask", scheduler=AT, jobs=2), ValueError, "jobs is for the backend loky"),
    (study([(1, "a"), (2,), (1, "a")]), ValueError, "the task (1, 'a') is asked for twice"),
    (study([()], work=partial(never, 1)), TypeError, "work must be a function"),
    (lambda: encoded((1, 2)), TypeError, "the result is a builtins.tuple"),
    (lambda: encoded({"a": [1.0, {2, 3}]}), TypeError, "the result['a'][1] is a builtins.set"),
    (lambda: encoded({"a": {3: 1}}), TypeError, "the result['a'] has the key 3"),
    (lambda: task_text((NAN,)), TypeError, "must be a tuple of words and numbers"),
]  # fmt: skip


# --- fitted machines of scikit-learn -------------------------------------------------------------

RNG = np.random.default_rng(4)
N = 30
X = RNG.standard_normal((N, 4))
LABELS = np.where(X @ [1.0, 0.4, 2.0, 0.3] + RNG.standard_normal(N) > 0.3, "yes", "no")
THREE = np.where(X[:, 3] > 0.8, "c", LABELS)
WEIGHTS = RNG.integers(1, 4, N).astype(float)
GRAM = X @ X.T


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
    of_fit(SGDClassifier(loss="log_loss"), "loss='log_loss'"),
    of_fit(SVC(kernel="sigmoid"), "no inner product"),
    of_fit(SVC(kernel=rbf_kernel), "a function as its"),
    of_fit(SVC(kernel="precomputed", max_iter=50), "not positive semidefinite", points=-GRAM),
    of_fit(SVC(kernel="precomputed", max_iter=50), "not symmetric", points=np.triu(GRAM)),
    of_fit(SVC(), "reads another copy", intercept_=np.array([3.0])),
    of_other("fitted on 4", points=X[:, :3], made=LinearSVC),
    of_other("NaN", points=np.where(X > 2, np.nan, X), made=LinearSVC),
    of_other("fitted on 30", points=X[:25], labels=LABELS[:25]),
    of_other("is not the support vector", points=X + 1),
    of_other("30 points and y", labels=LABELS[:25]),
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


MACHINES = [
    fitting("class_weight names the class 7; the classes are", C=1.0, class_weight={7: 1.0}),
    fitting("did you mean balanced", C=1.0, class_weight="balance"),
    fitting("shape", formulation="matrix_svc_projection", ridge=0.5, shape=(3, 2), rank=1),
    fitting("uncertified must be one of warn, raise, ignore", C=1.0, uncertified="never"),
    fitting("needs mu", formulation="extended_robust_svc", nu=0.7),
    fitting("probability_grid belongs to formulation=weighted_svc", C=1.0, probability_grid=9),
    fit("the result holds no point: its status is infeasible", "hard_margin_svc"),
    fit("c_svc has no hyperparameter 'D'", "c_svc", D=1.0),
    fit("normalise 'z' is not known", "c_svc", C=1.0, normalise="z"),
    fit("c_svc takes TrainingData, got MulticlassData", "c_svc", IRIS, TypeError, C=1.0),
    new_points(np.ones((2, 3)), "the new points have 3 features, the training points 2"),
    new_points([[1.0, np.nan]], "X holds nan in row 0, column 1"),
    (lambda: tm.fit("weighted_svc", DATA, ridge=0.1, pi=0.5).probabilities(DATA.X), ValueError,
     "weighted_svc estimates no probabilities: take class_pro"),
]  # fmt: skip

# --- validation and effort -----------------------------------------------------------------------

VALIDATION = [
    refused(choose, "no fit of the grid is certified", [None, None], "first"),
    refused(choose, "did you mean first", [1, 2], "frist"),
    refused(fits, "did you mean conic", "conik", DATA, [0.1]),
    refused(fits, "beta must lie in (0, 1), got 1", "hinge", DATA, [0.5, 1.0]),
    refused(fits, "kappa must lie in (0, 1], got 0", "conic", DATA, [0.0, 0.5]),
    refused(fits, "grid must be a list of values of beta", "hinge", DATA, []),
    refused(fits, "intercept=penalised or none", "conic", DATA, [0.5], intercept="free"),
    refused(synthetic_samples, "only synthetic data has samples", "sklearn:breast_cancer"),
    refused(synthetic_samples, "leave sample out", "synthetic:none,n=20,d=2,sigma=1,sample=1"),
    (lambda: cross_validate("hinge", synthetic_samples(f"{NONE},sigma=1", test_points=10),
                            preprocessing={"kernel": "rbf", "width": 1.0}),
     ValueError, "not a kernel matrix"),
    refused(cross_validate_folds, "folds", "hinge", UNEVEN, folds=1, grid=2),
    refused(cross_validate_folds, "folds", "hinge", UNEVEN, folds=5, grid=2),
    refused(GapEffort, "tighten_time must be a positive finite number", tighten_time=0),
]  # fmt: skip


CALLS = [*NUMBERS, *PICTURES, *STUDIES, *CERTIFYING, *MACHINES, *VALIDATION]


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
@pytest.mark.parametrize(("call", "error", "said"), CALLS)
def test_what_does_not_fit_is_named(
    call: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=re.escape(said)):
        call()


@pytest.mark.parametrize("grid", [0, [], [0.5, 1.0], "19", [[0.5]]])
def test_a_bad_grid_of_probabilities_is_refused_before_a_solve(
    grid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier, "machine_of", lambda *_, **__: pytest.fail("it was solved"))
    with pytest.raises(ValueError, match=r"^probability_grid: "):
        Machine("weighted_svc", ridge=0.05, pi=0.5, probability_grid=grid).fit(DATA.X, DATA.y)


# --- commands: one line on standard error, and 2 -------------------------------------------------

# What the words have in common, and what is wrong with each.
OF_DATA: dict[str, list[tuple[str, str]]] = {
    "path extended_nu_svc --set": [
        ("intercept=free", "the list of nu"),
        ("nu=0.3,high", "'high'"),
        ("nu=0.3 scale=perez_cruz", "leave scale out"),
        ("nu=0.3 --method local", "branch-and-cut"),
        ("nu=0.3 C=1", "has no hyperparameter 'C'"),
        ("nu=0.3 kernel=rbf width=1", "kpca=full"),
        ("nu=0.3 --time-limit -1", "time_limit"),
        ("nu=0.3 --out t.pkl", ".json"),
    ],
    "path": [
        ("c_svc --set nu=0.3", "only extended_nu_svc has a path"),
        ("extended_nu_svm --set nu=0.3", "did you mean"),
        ("conic_sdp_budget --set budget=0.5,0", "hard-margin problem"),
        ("conic_sdp --set penalty=1,-1", "penalty must be a positive"),
        ("conic_sdp --set penalty=1 intercept=free", "intercept_bound value by"),
        ("conic_sdp --set penalty=1 intercept_bound=2", "leave intercept_bound"),
        ("conic_sdp --set penalty=1 --method hull", "no choice of methods"),
    ],
    "path rsvm --set": [
        ("norm_bound=1 capacity=0.1", "not both"),
        ("norm_bound=1,0", "norm_bound must be a positive"),
        ("norm_bound=1 intercept=none", "leave intercept out"),
        ("norm_bound=1 --method hull", "method must be one of"),
        ("norm_bound=1 vc_form=vapnick", "did you mean vapnik"),
        ("norm_bound=1 eta=1", "eta must lie strictly between"),
    ],
    "path weighted_svc --set": [
        ("pi=0.5", "weighted_svc needs ridge"),
        ("ridge=0", "ridge"),
        ("ridge=1 pi=0.5 grid=3", "give pi or grid, not both"),
        ("ridge=1 pi=0.5,1", "strictly between 0 and 1"),
        ("ridge=1 grid=0", "at least one value"),
        ("ridge=1 grid=some", "grid must be"),
        ("ridge=1 intercept=maybe", "intercept"),
        ("ridge=1 --method socp", "method"),
        ("ridge=1 intercept=none --method libsvm", "free intercept only"),
    ],
    "solve": [
        ("rsvm --set norm_bound=1 --method newton", "no method 'newton'; it"),
        ("rsvm", "needs norm_bound"),
        ("c_scv --set C=1", "did you mean c_svc"),
        ("nu_svc --set nu=0.5 class_balanc=uniform", "did you mean class_balance"),
        ("c_svc_dual --set C=1 kernel=precomputed", "kernel matrix"),
        ("c_svc --set =1", "key=value"),
        ("c_svc --set C=much", "C must be a number"),
        ("rsvm --set norm_bound=1 intercept=penalised --method segments", "take direct"),
        ("rsvm --set norm_bound=1 --method segments --solver scs", "belong to method=direct"),
        ("rsvm --set norm_bound=1 kernel=rbf width=1", "or take one of rsvm_dual, rsvm_dual_p"),
    ],
    "solve c_svc --set C=1": [
        ("normalize=zscore", "did you mean normalise"),
        ("C=2", "set twice"),
        ("kernel=rbf width=1", "c_svc_dual"),
        ("--solver cplex", "highs, clarabel, scip"),
        ("--time-limit -1", "time_limit must be positive"),
        ("--out no/such/folder/fit.json", "no folder"),
        ("--label z", "label"),
        ("--sead 1", "--seed"),
        ("--threads 0", "threads"),
        ("--option max_iter=2", "max_iter: whose option is it? Name a solver"),
        ("--solver clarabel --option max_itr=2", "did you mean max_iter"),
        ("--solver clarabel --option max_iter=many", "cannot take 'many'"),
        ("--solver highs --option a=1 --option a=2", "a is set twice"),
        ("--start points.csv", "is not a readable result"),
        ("--proof nowhere/proof.json", "there is no folder nowhere"),
        ("--proof proof.txt", "must end in .json or .json.gz"),
        ("--plot m.bmp", ".png or .pdf or .svg"),
    ],
    "compare --set penalty=1.3 big_m=derived": [
        ("conic_sdp:penalty=2", "another problem"),
        ("c_svc:C=1", "not known to bound zero_one_big_m"),
        ("conic_sdp:penlty=2", "did you mean penalty"),
        ("conic_sdp:normalise=zscore", "give normalise with --set"),
        ("conic_spd", "did you mean conic_sdp"),
        ("", "--ladder"),
        ("conic_sdp_strengthened --set kernel=rbf width=1", "not a kernel matrix"),
        ("conic_sdp --set strengtening=equal", "nothing here has"),
        ("conic_sdp --csv table.xlsx", ".csv"),
        ("zero_one_relaxed:big_m=9 conic_sdp --solver highs", "highs cannot take SDP models; in"),
    ],
    "compare": [
        ("conic_sdp:penalty=1", "has no penalty; give it to all with --set penalty=1"),
        ("c_svc --set C=1 --profile p.png", "is about several solvers"),
    ],
}
OF_OTHER_DATA: dict[str, list[tuple[str, str]]] = {
    "cross-validate --data synthetic:none,n=20,d=2,sigma=1": [
        ("hinj", "did you mean hinge"),
        ("hinge --tie best", "tie must be one of first, middle, last"),
        ("hinge --set C=1", "chooses the hyperparameter itself"),
        ("hinge --csv grid.txt", ".csv"),
    ],
    "solve --data sklearn:iris --set": [
        ("ridge=0.1 kernel=rbf width=1 multiclass_hinge", "not a kernel matrix; add kpca=full"),
        ("ridge=0.1 width=1 multiclass_hinge", "width belongs to a kernel"),
        ("ridge=0.1 class_weight=1,2 multiclass_hinge", "class_weight"),
        ("C=1 c_svc", "taken by multiclass_hinge"),
        ("ridge=0.02 truncation=-0.5 big_m=tightened multiclass_truncated", "big_m"),
    ],
    "compare": [
        ("conic_sdp", "--data"),
        ("multiclass_hinge c_svc --data sklearn:iris --set ridge=1 C=1 --solver all",
         "of two classes: they have no data in common"),
    ],
    "": [
        ("lits", "Did you mean 'list'"),
        ("show conic_spd", "did you mean conic_sdp"),
        ("solve c_svc", "--data"),
        ("certify no_such.json", "no_such.json"),
        ("predict no_such.json --data no_such.csv", "no_such.json"),
        ("solve multiclass_hinge --set ridge=1 --plot m.png --data sklearn:digits,features=2+3",
         "10 classes are more than the 7"),
        ("check none.json", "there is no such file"),
        ("check none.json --copy-checker nowhere", "there is no folder"),
    ],
    "reproduce": [
        ("bi-vap", "bi-vapnik-table2"),
        ("bi-vapnik-table2", "mnist_subset.npz"),
        ("bi-vapnik-figure1", "mnist_784"),
        ("cepeda-gomez-han-table3 --quick", "immunotherapy.csv"),
        ("bi-vapnik-table2 --backend dask", "needs a scheduler"),
        ("bi-vapnik-table2 --jobs 0", "--jobs"),
        ("bi-vapnik-table2 --out points.csv", "--out points.csv"),
        ("perez-cruz-table3", "liver_disorders.csv"),
    ],
}  # fmt: skip
LINES = [(f"{start} {words} --data points.csv", said) for start, each in OF_DATA.items()
         for words, said in each]  # fmt: skip
LINES += [(f"{start} {words}", said) for start, each in OF_OTHER_DATA.items()
          for words, said in each]  # fmt: skip


@pytest.mark.usefixtures("no_solve")
@pytest.mark.parametrize(("line", "said"), LINES)
def test_a_command_is_refused_in_one_line_before_anything_is_solved(
    line: str, said: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    write_csv(here / "points.csv", DATA)
    answer = run(*settings_apart(line.split()))
    assert answer.code == 2
    assert said in answer.complaint
    assert {path.suffix for path in here.rglob("*.*")} <= {".csv", ".sqlite"}


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
