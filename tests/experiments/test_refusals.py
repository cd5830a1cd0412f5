"""What experiments/ refuses, by call and by command: the error and the word that must be in it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    RiskBound,
    clopper_pearson,
    deviation,
    draw_boundary,
    draw_bounds,
    draw_losses,
    draw_regions,
    draw_timings,
    encoded,
    hard_margin_bound,
    label_flip_data,
    load,
    load_classes,
    new_figure,
    outlier_data,
    outlier_samples,
    performance_profile,
    picture,
    plane_run,
    probability_runs,
    risk_bound,
    risk_table,
    run_study,
    shared_legend,
    soft_margin_bound,
    table3_notes,
    task_text,
    theorem_3,
    theorem_4,
    theorem_5,
    timing,
    vc_bound,
)
from tests.inside.experiments import losses as loss_plot
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.cuts import cutting_plane
from tightmargin.solvers import nu_range

NAN, INF = math.nan, math.inf
DATA = points("overlapping", 1, n=10)
EIGHT = points("overlapping", 0, n=8, d=3)
Row = tuple[Callable[[], Any], type[Exception], str]


def changed(call: Callable[..., Any], right: dict[str, Any], **wrong: Any) -> Callable[[], Any]:
    """A call whose arguments are right but for some."""
    return partial(call, **(right | wrong))


# --- files ---------------------------------------------------------------------------------------

FILES: list[tuple[str, str, str]] = [
    ("bad.csv", "x,y\n", "a header line and at least one row are needed"),
    ("bad.csv", "x,y\n1,1\n,-1\n", "row 2 (line 3), column 'x' is empty: fill it"),
    ("bad.csv", "x,y\n\n1,1\n\n?,-1\n", "row 2 (line 5), column 'x' is ?: fill it"),
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
    ("bad.libsvm", "1 1:2 1:3\n-1 1:1\n", "this is no libsvm file"),
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

NONE, FLIP = "synthetic:none,n=9,d=1", "synthetic:flip,n=9,d=1"
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
    ("d.libsvm,label=y", ValueError, "unknown option 'label': allowed are class_weight"),
    ("mien.npz", FileNotFoundError, "no file mien.npz"),
    ("f.npz", FileNotFoundError, "no file f.npz: did you mean d.npz?"),
    ("folder", ValueError, "this is a folder: name a file in it"),
    ("sklaern:iris", ValueError, "unknown source 'sklaern': did you mean 'sklearn'"),
    ("", ValueError, "name a source: a file, sklearn:NAME, uci:NAME or"),
    ("breast_cancer", ValueError, "no such file: did you mean sklearn:breast_cancer"),
    ("uci:sonnar", ValueError, "unknown data set 'sonnar': did you mean 'sonar'"),
    ("uci:german_credit", FileNotFoundError, "no copy on OpenML: put german_credit_numeric.csv"),
    ("sklearn:irsi", ValueError, "unknown data set of scikit-learn 'irsi': did you mean 'iris'"),
    ("sklearn:iris", ValueError, "there are 3 classes"),
    ("sklearn:breast_cancer,positive=bening", ValueError, "'bening': did you mean 'benign'"),
    ("synthetic:clusterd,n=9,d=1,sigma=1", ValueError, "synthetic data 'clusterd': did you mean"),
    (NONE, ValueError, "option sigma is missing: write sigma=..."),
    (f"{NONE},tau=0.1", ValueError, "unknown option 'tau': allowed are d, features, n, sample"),
    (f"{NONE},sigma=wide", ValueError, "option sigma must be a number, got 'wide'"),
    ("synthetic:none,n=9,d=x,sigma=1", ValueError, "option d must be a whole number, got 'x'"),
    (f"{NONE},sigma=-1", ValueError, "sigma must be a positive number, got -1.0"),
]


@pytest.fixture
def forty(here: Path) -> Path:
    """40 rows with three columns, 13 of them positive, and a file of the libsvm kind."""
    X = np.arange(120.0).reshape(40, 3)
    np.savez("d.npz", X=X, y=np.where(np.arange(40) % 3 == 1, 1, -1))
    (here / "d.libsvm").write_text("1 1:2\n-1 1:3\n")
    (here / "folder").mkdir()
    return here


@pytest.mark.parametrize(("spec", "error", "said"), SPECS)
def test_bad_specs_are_refused(forty: Path, spec: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=re.escape(said)):
        load(spec)


GAUSSIANS = "synthetic:gaussians,n=40,d=2"
CLASSES: list[tuple[str, str]] = [
    (f"{GAUSSIANS},sigma=1", "option classes is missing"),
    (f"{GAUSSIANS},sigma=1,classes=1", "classes must be a whole number of at least 2"),
    (f"{GAUSSIANS},sigma=0,classes=3", "sigma must be a positive number"),
    ("synthetic:gaussians,n=2,d=2,sigma=1,classes=3", "seed=0 draws no point of class"),
    ("synthetic:clustered,n=30,d=2,sigma=0.2,positive=1", "unknown option 'positive'"),
    ("d.npz,positive=1", "positive=1 makes two classes of all: leave"),
    ("half.csv", "column 'y' holds the label 1.5: classes are whole numbers or"),
    ("one.csv", "at least two classes must occur"),
    ("hole.csv", "row 2 (line 3), column 'y' is empty"),
    ("one.csv,n=2,stratify", "option stratify needs at least two classes"),
]


@pytest.mark.parametrize(("spec", "said"), CLASSES)
def test_bad_classes_are_refused(forty: Path, spec: str, said: str) -> None:
    for name, label in (("half", "1.5"), ("inf", "inf"), ("one", "1"), ("hole", "")):
        (forty / f"{name}.csv").write_text(f"x,y\n3,1\n4,{label}\n5,1\n")
    with pytest.raises(ValueError, match=re.escape(said)):
        load_classes(spec)


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


def under(call: Callable[..., RiskBound], b: float = B, **words: float) -> Callable[[], Any]:
    """A theorem on ten points, whose conditions hold but for what is given."""
    return lambda: call(DATA, W, b, **(WIDE | words))


NUMBERS: list[tuple[Callable[[], Any], str]] = [
    (changed(drawn, GOOD, n=0), "n must be a whole number of at least 1, got 0"),
    (changed(drawn, GOOD, n=True), "n must be a whole number of at least 1, got True"),
    (changed(drawn, GOOD, seed=-1), "seed must be a whole number of at least 0, got -1"),
    (changed(drawn, GOOD, sigma=0.0), "sigma must be a positive number, got 0.0"),
    (changed(drawn, GOOD, sigma=NAN), "sigma must be a positive number, got nan"),
    (lambda: outlier_data("cluster", **GOOD), "did you mean 'clustered'"),
    (lambda: outlier_data("xyz", **GOOD), "kind 'xyz' is not known: choose one of"),
    (lambda: label_flip_data(n=20, d=2, tau=0.6, seed=0), "tau must be between 0 and 0.5"),
    (lambda: label_flip_data(n=20, d=2, tau=NAN, seed=0), "tau must be between 0 and 0.5"),
    (
        lambda: outlier_samples("none", 50, 2, 0.2, 0, percent=5, test_points=10),
        "percent must be 10",
    ),
    (
        lambda: outlier_samples("clustered", 50, 2, 0.2, 0, percent=0, test_points=10),
        "got 0",
    ),
    (changed(vc_bound, VC, risk=-0.1), "risk must be a finite number of at least 0"),
    (changed(vc_bound, VC, h=0.5), "h must be at least 1"),
    (changed(vc_bound, VC, n=0), "n must be a positive"),
    (changed(vc_bound, VC, n=2.5), "n must be a whole number"),
    (changed(vc_bound, VC, eta=1.0), "eta must lie strictly between 0 and 1"),
    (changed(vc_bound, VC, form="vapnick"), "did you mean vapnik"),
    (lambda: risk_table(EIGHT, []), "rows is empty"),
    (
        lambda: risk_table(EIGHT, tm.paths.rsvm_path(DATA, [0.5]).rows),
        "rows: w has 2 entries, and the data 3 features",
    ),
    (changed(deviation, G, level=0.0), "must be finite and not 0"),
    (changed(deviation, G, c=0.0), "c must be a positive finite number"),
    (changed(deviation, G, radius=-1.0), "radius must be a positive finite number"),
    (changed(deviation, G, delta=1.0), "delta must lie between 0 and 1"),
    (changed(deviation, G, level=1e3, delta=0.9, c=0.01), "radicand"),
    (under(theorem_3, nu=BAR), "Theorem 3 needs nu > nu_bar"),
    (under(theorem_3, nu=0.45), "Theorem 3 needs a negative CVaR, got 0"),
    (under(theorem_3, nu=1.01), "nu must lie in (0, 1]"),
    (under(theorem_4, nu=0.95), "Theorem 4 needs nu <= nu_bar"),
    (under(theorem_4, nu=0.1), "Theorem 4 needs a negative value at risk, got "),
    (under(theorem_5, nu=0.95), "Theorem 5 needs nu <= nu_bar"),
    (under(theorem_5, nu=0.4), "Theorem 5 needs a positive value at risk, got -"),
    (under(theorem_5, nu=0.1, radius=2.0), "radius = 2 bounds no distribution"),
    (under(theorem_5, 8.0, nu=0.1), "exceeds the radius 5"),
    (under(theorem_5, INF, nu=0.1), "w and b must be finite"),
    (lambda: risk_bound(DATA, [0.0, 0.0], 0.0, nu=0.1, **WIDE), "w not 0"),
    (lambda: risk_bound(DATA, [1.0], 0.0, nu=0.1, **WIDE), "w must have shape (2,)"),
    (changed(hard_margin_bound, HARD, m=0), "m must be"),
    (changed(hard_margin_bound, HARD, margin=0), "margin"),
    (changed(hard_margin_bound, HARD, margin=2.0), "exceeds radius"),
    (changed(hard_margin_bound, HARD, radius=INF), "radius"),
    (changed(hard_margin_bound, HARD, delta=1), "delta"),
    (changed(hard_margin_bound, HARD, intercept="penalised"), "intercept"),
    (changed(soft_margin_bound, SOFT, ridge=0), "ridge"),
    (changed(soft_margin_bound, SOFT, radius=-1), "radius"),
    (changed(soft_margin_bound, SOFT, norm=-1), "norm"),
    (changed(soft_margin_bound, SOFT, comparison=NAN), "comparison"),
    (changed(soft_margin_bound, SOFT, form="book"), "form"),
    (lambda: clopper_pearson(3, 2), "wrong must lie between 0 and n = 2"),
    (lambda: clopper_pearson(-1, 2), "wrong must lie"),
    (lambda: clopper_pearson(1, 2, 1.0), "confidence must lie between 0 and 1"),
    (lambda: probability_runs.expected_hinge(0.0, 0.0), "spread"),
    (lambda: table3_notes.crossing({0.1: 1.0, 0.2: 2.0}), "never change"),
]


POINTS = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0], [-1.0, 0.5], [-2.0, 1.0], [0.0, 2.0]])
LABELS = np.array([1, 1, 1, -1, -1, -1])
LINE = {"points": POINTS, "labels": LABELS, "score": lambda places: places @ [2.0, -1.0]}
REGIONS = {
    "points": POINTS,
    "labels": np.array([0, 1, 2, 0, 1, 2]),
    "classify": lambda p: (p[:, 0] > 0) * 1.0,
}
HINGE = {"losses": {"hinge": loss_plot.hinge()}}


def on_axes(draw: Callable[..., Any], right: dict[str, Any], **wrong: Any) -> Callable[[], Any]:
    """A drawing whose words are right but for some."""
    return lambda: draw(new_figure(COLUMN, 3.0).subplots(), *(right | wrong).values())


def named(draw: Callable[..., Any], right: dict[str, Any], **words: Any) -> Callable[[], Any]:
    return lambda: draw(new_figure(COLUMN, 3.0).subplots(), *right.values(), **words)


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
    (on_axes(draw_boundary, LINE, points=POINTS[:, :1]), ValueError, "must be an array (n, 2)"),
    (on_axes(draw_boundary, LINE, labels=LABELS[:3]), ValueError, "labels must be an array (6,)"),
    (on_axes(draw_boundary, LINE, labels=LABELS + 1), ValueError, "labels must be -1 and +1"),
    (on_axes(draw_boundary, LINE, score=lambda p: p), ValueError, "score must return an array"),
    (on_axes(draw_boundary, LINE, score=lambda p: p[:, 0] * NAN), ValueError, "return finite"),
    (named(draw_boundary, LINE, margin=NAN), ValueError, "margin must be a finite number"),
    (named(draw_boundary, LINE, support=np.arange(6)), ValueError, "support must be an array of"),
    (named(draw_regions, REGIONS, names=("a", "b")), ValueError, "must hold 3 words, got 2"),
    (on_axes(draw_regions, REGIONS, labels=[8, 0, 0, 0, 0, 0]), ValueError, "9 classes are more"),
    (on_axes(draw_regions, REGIONS, labels=[0.5] * 6), ValueError, "whole numbers from 0"),
    (lambda: shared_legend(new_figure()), ValueError, "nothing in this figure has a label"),
    (on_axes(draw_losses, HINGE, losses={}), ValueError, "draw 1 to"),
    (named(draw_losses, HINGE, over=(1.0, 1.0)), ValueError, "over must be a range"),
    (named(draw_losses, HINGE, jumps={"ramp": 1.0}), ValueError, "jumps names ramp"),
    (named(draw_losses, HINGE, jumps={"hinge": 5.0}), ValueError, "jumps names hinge at 5.0"),
    (
        on_axes(draw_losses, HINGE, losses={"log": lambda u: u * NAN}), ValueError,
        "log must return 801 finite",
    ),
    (lambda: performance_profile({}), ValueError, "at least one solver"),
    (lambda: performance_profile({"a": [1.0], "b": [1.0, 2.0]}), ValueError, "got [1, 2]"),
    (lambda: performance_profile({"a": [0.0]}), ValueError, "costs of a must be above 0"),
    (lambda: timing([], None), ValueError, "at least one run"),
    (lambda: timing([None], None), ValueError, "limit must say how long"),
    (named(draw_timings, {"times": {"QP": {}}}), ValueError, "at least one group"),
    (named(draw_timings, {"times": {}}), ValueError, "1 to 7 methods"),
    (named(draw_bounds, {"traces": []}), ValueError, f"1 to {len(LOOKS)} traces"),
    (polygon(row(lambda m: m.x[0] + m.x[1] == 1)), ValueError, "no inside"),
    (polygon(row(lambda m: m.x[0] + m.x[1] >= 9)), ValueError, "empty"),
    (polygon(lambda m: m.x[0].setub(None)), ValueError, "no end"),
    (polygon(third), ValueError, "3 variables"),
    (polygon(row(lambda m: m.x[0] ** 2 + m.x[1] ** 2 >= 1)), ValueError, "row row is quadratic"),
    (lambda: tm.plots.polygon_cuts([[0.0, 1.0]]), TypeError, "takes a Pyomo ConcreteModel"),  # type: ignore[arg-type]
    (cut_in("projected", 3), ValueError, "3 entries"),
    (cut_in("lifted", 2), ValueError, "space=projected"),
    (lambda: tm.plots.catalogue_figure(columns=0), ValueError, "columns must be at least 1, got 0"),
    (lambda: picture(DATA), TypeError, "TrainingData has no picture; these have: Comparison"),
    (machine_plot(), ValueError, "plot(data=...)"),
    (machine_plot(data=EIGHT), ValueError, "features"),
    (machine_plot(colour=1), TypeError, "SolveResult has no word 'colour', it takes data, title"),
    (machine_plot(titel=""), TypeError, "did you mean title"),
    (machine_plot(data="x"), TypeError, "data must be TrainingData or MulticlassData, got str"),
    (machine_plot(title=3), TypeError, "title must be a string, got int"),
    (lambda: tm.fit("c_svc", DATA, C=1.0).plot(), TypeError, "plot() of Fitted needs data="),
    (lambda: tm.catalogue.plot(x=1), TypeError, "Catalogue has no word 'x', it takes title"),
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
    (lambda: encoded([1 + 2j]), TypeError, "the result[0] is a builtins.complex"),
    *((lambda task=task: task_text(task), TypeError, "must be a tuple of words and numbers")
      for task in (["sonar"], "sonar", (["sonar"],), ({},), (NAN,), (1j,))),
]  # fmt: skip


CALLS = [*((call, ValueError, said) for call, said in NUMBERS), *PICTURES, *STUDIES]


@pytest.mark.parametrize(("call", "error", "said"), CALLS)
def test_what_does_not_fit_is_named(
    call: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=re.escape(said)):
        call()


# --- commands ------------------------------------------------------------------------------------

ON = ["--data", "points.csv"]
THREE = ["--data", "synthetic:clustered,n=20,d=3,sigma=0.5,seed=0"]
IRIS = ["--data", "sklearn:iris"]
C_SVC = ["solve", "c_svc", "--set", "C=1"]
HINGES = ["solve", "multiclass_hinge", *IRIS, "--set", "ridge=0.1"]
TRUNCATED = ["--set", "ridge=0.02", "truncation=-0.5"]
COMMANDS: list[tuple[list[str], str]] = [
    ([*C_SVC, *ON, "--workers", "2"], "has no option 'workers'"),
    ([*C_SVC, *ON, "--option", "max_iter=2"], "max_iter: whose option is it? Name a solver"),
    ([*C_SVC, *ON, "--solver", "clarabel", "--option", "max_itr=2"], "did you mean max_iter"),
    ([*C_SVC, *ON, "--solver", "clarabel", "--option", "max_iter=many"], "cannot take 'many'"),
    ([*C_SVC, *ON, "--solver", "highs", "--option", "a=1", "--option", "a=2"], "a is set twice"),
    ([*C_SVC, *ON, "--start", "missing.json"], "there is no file missing.json"),
    ([*C_SVC, *ON, "--start", "points.csv"], "is not a readable result"),
    ([*C_SVC, *ON, "--proof", "nowhere/proof.json"], "there is no folder nowhere"),
    ([*C_SVC, *ON, "--proof", "proof.txt"], "must end in .json or .json.gz"),
    ([*C_SVC, *THREE, "--plot", "m.bmp"], ".png or .pdf or .svg"),
    ([*C_SVC, *THREE, "--plot", "m.png"], "this data has 3"),
    (["solve", "multiclass_hinge", "--data", "eight.csv", "--set", "ridge=0.1", "--plot", "m.png"],
     "8 classes are more than the 7 that have a mark"),
    (["compare", "c_svc", "--set", "C=1", *ON, "--profile", "p.png"], "is about several solvers"),
    (["compare", "c_svc", "--set", "C=1", *ON, "--solver", "all", "--profile", "p.bmp"],
     ".png or .pdf or .svg"),
    ([*HINGES, "kernel=rbf", "width=1"], "not a kernel matrix; add kpca=full"),
    ([*HINGES, "width=1"], "width belongs to a kernel"),
    ([*HINGES, "normalise=z"], "normalise 'z' is not known"),
    ([*HINGES, "--positive", "setosa"], "makes two classes of all"),
    ([*HINGES, "class_weight=1,2"], "class_weight"),
    ([*HINGES, "--method", "dca"], "multiclass_hinge has no method 'dca'"),
    ([*C_SVC, *IRIS], "taken by multiclass_hinge"),
    (["solve", "multiclass_truncated", *IRIS, *TRUNCATED, "big_m=tightened"], "big_m"),
    (["path", "multiclass_hinge", *IRIS, "--set", "ridge=0.1,1"], "multiclass_hinge has no path"),
    (["compare", "multiclass_hinge", "c_svc", *IRIS, "--set", "ridge=1", "C=1", "--solver", "all"],
     "points of several classes and c_svc points of two classes: they have no data in common"),
    (["compare", "multiclass_hinge", "--exact", "multiclass_truncated", *IRIS, *TRUNCATED],
     "multiclass_hinge is not known to bound multiclass_truncated"),
    (["check", "none.json"], "there is no such file"),
    (["check", "none.json", "--copy-checker", "nowhere"], "there is no folder"),
    (["reproduce", "bi-vap"], "bi-vapnik-table2"),
    (["reproduce", "bi-vapnik-table2", "--backend", "ray"], "choose loky or dask"),
    (["reproduce", "bi-vapnik-table2", "--backend", "dask"], "needs a scheduler"),
    (["reproduce", "bi-vapnik-table2", "--scheduler", "tcp://a:1"], "add --backend dask"),
    (["reproduce", "bi-vapnik-table2", "--jobs", "0"], "--jobs"),
    (["reproduce", "bi-vapnik-table2", "--out", "points.csv"], "--out points.csv"),
    (["reproduce", "bi-vapnik-table2"], "mnist_subset.npz"),
    (["reproduce", "bi-vapnik-figure1"], "mnist_784"),
    (["reproduce", "cepeda-gomez-han-table3", "--quick"], "immunotherapy.csv"),
    (["reproduce", "perez-cruz-table3"], "liver_disorders.csv"),
    (["reproduce", "takeda-sugiyama-theorems"], "liver_disorders.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), COMMANDS)
def test_commands_are_refused_in_one_line_before_anything_is_solved(
    here: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    write_csv(here / "points.csv", DATA)
    rows = [f"{k % 8},{k // 8},{k % 8}" for k in range(16)]
    (here / "eight.csv").write_text("\n".join(["a,b,y", *rows]) + "\n", encoding="utf-8")
    answer = run(*words)
    assert answer.code == 2
    assert said in answer.complaint
    assert {path.suffix for path in here.rglob("*.*")} <= {".csv", ".sqlite"}
