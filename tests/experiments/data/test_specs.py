"""The SPEC grammar, file readers and named data sets, real ones where they are present."""

import csv
import gzip
import hashlib
import itertools
import json
import os
import re
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_iris

from tests.inside.experiments import (
    SKLEARN,
    UCI,
    data_folder,
    label_flip_data,
    load,
    load_classes,
    outlier_data,
)

reuse_folder = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture
def real():
    named = os.environ.get("TIGHTMARGIN_DATA", "")
    if not named or not Path(named).is_dir():
        pytest.skip("TIGHTMARGIN_DATA names no folder of real data")
    return Path(named)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder, and no folder of real data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIGHTMARGIN_DATA", raising=False)
    return tmp_path


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path.name


def write_libsvm(path, X, y):
    """Indices from 1, zeros left out, numbers in full precision."""
    rows = [
        " ".join([str(int(s)), *(f"{j}:{v!r}" for j, v in enumerate(row, start=1) if v)])
        for s, row in zip(y, X.tolist(), strict=True)
    ]
    return write(path, "\n".join([*rows, ""]))


@st.composite
def labelled_points(draw):
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    X = draw(arrays(np.float64, (n, d), elements=numbers))
    y = np.array([1.0, -1.0, *draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))])
    return X, y[:n]


def assert_same(data, X, y, spec):
    np.testing.assert_array_equal(data.dense_for("a test").X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.spec == spec


# Round trips: what was written with full precision comes back bit for bit


@reuse_folder
@given(points=labelled_points())
def test_csv_round_trip(here, points):
    X, y = points
    with Path("data.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["y", *(f"x{j}" for j in range(X.shape[1]))])
        writer.writerows([int(label), *row] for label, row in zip(y, X.tolist(), strict=True))
    assert_same(load("data.csv"), X, y, "data.csv")


@reuse_folder
@given(points=labelled_points())
def test_npz_round_trip(here, points):
    X, y = points
    np.savez("data.npz", X=X, y=y.astype(np.int8))
    assert_same(load("data.npz"), X, y, "data.npz")


@reuse_folder
@given(points=labelled_points())
def test_libsvm_round_trip(here, points):
    X, y = points
    # The format forgets trailing zero columns: a last column of ones keeps the width.
    X = np.column_stack([X, np.ones(len(X))])
    write_libsvm(here / "data.libsvm", X, y)
    assert_same(load("data.libsvm"), X, y, "data.libsvm")


@reuse_folder
@given(points=labelled_points(), one_line=st.booleans())
def test_brooks_round_trip(here, points, one_line):
    X, y = points
    n, d = X.shape
    rows = [
        " ".join([str(int(label)), *map(repr, row)])
        for label, row in zip(y, X.tolist(), strict=True)
    ]
    write(here / "brooks", "\n".join([f"{n}{' ' if one_line else chr(10)}{d}", *rows, ""]))
    assert_same(load("brooks"), X, y, "brooks")


def test_files_are_read_as_spreadsheets_write_them(here):
    text = '\ufeffy ,"a b",c\r\n +1,1, 2.5\r\n\r\n"-1.0","-3",1e-2\r\n'
    (here / "sheet.csv").write_bytes(text.encode())
    assert_same(load("sheet.csv"), [[1, 2.5], [-3, 0.01]], [1, -1], "sheet.csv")


def test_a_comma_may_belong_to_the_file_name(here):
    write(here / "a,b.csv", "y,x\n1,3\n-1,4\n1,5\n")
    spec = "a,b.csv,n=2,stratify"
    data = load(spec)
    assert (data.spec, data.n, data.n_pos) == (spec, 2, 1)


# Labels


def test_labels_other_than_signs_only_through_positive(here):
    write(here / "zero_one.csv", "x,y\n1,0\n2,1\n3,1\n")
    message = r"zero_one\.csv: column 'y' holds the labels 0, 1: .* --positive 1, or .*positive=1"
    with pytest.raises(ValueError, match=message):
        load("zero_one.csv")
    assert load("zero_one.csv", positive="1").y.tolist() == [-1, 1, 1]
    assert load("zero_one.csv", positive="1.0").y.tolist() == [-1, 1, 1]
    assert load("zero_one.csv,positive=0").y.tolist() == [1, -1, -1]


def test_one_class_against_the_others_and_a_named_label_column(here):
    write(here / "sorts.csv", "sort,x\nred,1\ngreen,2\nblue,3\n")
    assert load("sorts.csv", label="sort", positive="green").y.tolist() == [-1, 1, -1]
    assert load("sorts.csv,label=sort,positive=blue").y.tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match=r"holds no label 'gren': did you mean 'green'\? it holds"):
        load("sorts.csv", label="sort", positive="gren")
    with pytest.raises(
        ValueError, match=r"names no label column 'y': name it with --label.*sort, x"
    ):
        load("sorts.csv")
    with pytest.raises(ValueError, match="no label column 'sorts': did you mean 'sort'"):
        load("sorts.csv", label="sorts")


def test_signs_can_be_exchanged(here):
    write(here / "signs.csv", "x,y\n1,1\n2,-1\n3,-1\n")
    assert load("signs.csv", positive="-1").y.tolist() == [-1, 1, 1]


def test_labels_of_arrays(here):
    X = np.arange(3.0)[:, None]
    np.savez(
        "words.npz", X=X, y=np.array(["a", "b", "b"]), z=np.array([b"u", b"u", b"v"]), w=[1.5, 2, 2]
    )
    assert load("words.npz", positive="b").y.tolist() == [-1, 1, 1]
    assert load("words.npz,label=z", positive="v").y.tolist() == [-1, -1, 1]
    assert load("words.npz", label="w", positive="1.5").y.tolist() == [1, -1, -1]
    with pytest.raises(ValueError, match="array 'y' holds the labels a, b: say which one"):
        load("words.npz")
    write(here / "two.libsvm", "1 1:0.5\n2 1:1.5\n")
    assert load("two.libsvm", positive="2").y.tolist() == [-1, 1]
    write(here / "two", "2 1\n1 0.5\n2 1.5\n")
    assert load("two", positive="2").y.tolist() == [-1, 1]


def test_the_call_and_the_spec_must_agree(here):
    write(here / "d.csv", "x,y\n1,a\n2,b\n")
    assert load("d.csv,positive=a", positive="a").y.tolist() == [1, -1]
    with pytest.raises(
        ValueError, match="positive is 'a' in the spec but 'b' in the call: give one"
    ):
        load("d.csv,positive=a", positive="b")
    write(here / "plain.libsvm", "1 1:2\n-1 1:3\n")
    with pytest.raises(
        ValueError, match="unknown option 'label': allowed are class_weight, features, n, positive"
    ):
        load("plain.libsvm", label="y")


def test_one_label_only_is_refused(here):
    write(here / "d.csv", "x,y\n1,1\n2,1\n")
    with pytest.raises(
        ValueError, match=r"d\.csv: both labels -1 and \+1 must occur, got only: \+1"
    ):
        load("d.csv")
    with pytest.raises(ValueError, match="stratify needs both labels"):
        load("d.csv,n=2,stratify")


# Subsets


@pytest.fixture
def sorts(here):
    """40 rows, 13 of them positive; column 0 counts the rows."""
    X = np.column_stack([np.arange(40), np.arange(40) ** 2, -np.arange(40)])
    y = np.where(np.arange(40) % 3 == 1, 1, -1)
    np.savez("sorts.npz", X=X, y=y)
    return X, y


@given(n=st.integers(2, 40), seed=st.integers(0, 2**32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_stratified_subsets_keep_shares_order_and_rows(sorts, n, seed):
    X, y = sorts
    data = load(f"sorts.npz,n={n},stratify,seed={seed}")
    rows = data.X[:, 0].astype(int)
    assert data.n == n
    assert (np.diff(rows) > 0).all()
    assert_same(data, X[rows], y[rows], f"sorts.npz,n={n},stratify,seed={seed}")
    assert abs(data.n_pos - n * 13 / 40) <= 0.5 or (data.n_pos == 1 and n * 13 / 40 < 0.5)


@given(n=st.integers(20, 40), seed=st.integers(0, 2**32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_plain_subsets_keep_order_and_rows(sorts, n, seed):
    X, y = sorts
    data = load(f"sorts.npz,seed={seed},n={n}")
    rows = data.X[:, 0].astype(int)
    assert data.n == n
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(data.X, X[rows])
    np.testing.assert_array_equal(data.y, y[rows])
    expected = np.random.default_rng(seed).choice(40, n, replace=False)
    assert set(rows) == set(expected.tolist())


def test_each_class_keeps_a_row(here):
    np.savez("rare.npz", X=np.arange(100.0)[:, None], y=[1] + [-1] * 99)
    assert load("rare.npz,n=2,stratify").n_pos == 1
    np.savez("common.npz", X=np.arange(100.0)[:, None], y=[-1] + [1] * 99)
    assert load("common.npz,n=2,stratify").n_neg == 1


def test_seeds_draw_the_same_rows_again_and_other_seeds_others(sorts):
    drawn = [load(f"sorts.npz,n=20,stratify,seed={s}").sha256 for s in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1] == load("sorts.npz,n=20,stratify").sha256
    assert len(set(drawn)) == 4


def test_features_are_chosen_in_the_order_given(sorts):
    X, y = sorts
    assert_same(load("sorts.npz,features=2+0"), X[:, [2, 0]], y, "sorts.npz,features=2+0")
    assert load("sorts.npz,features=1,n=7,stratify").X.shape == (7, 1)


def test_subsets_work_for_every_kind_of_source(here):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.resize([1, -1, -1], 30)
    np.savez("a.npz", X=X, y=y)
    write_libsvm(here / "a.libsvm", X, y)
    rows = [[int(s), *x] for s, x in zip(y, X.tolist(), strict=True)]
    write(here / "a.csv", "\n".join(",".join(map(str, r)) for r in [["y", "p", "q", "r"], *rows]))
    write(here / "a", "\n".join(["30 3", *(" ".join(map(str, r)) for r in rows)]))
    options = ",n=10,stratify,seed=4,features=2+1"
    digests = {load(name + options).sha256 for name in ("a.npz", "a.libsvm", "a.csv", "a")}
    assert len(digests) == 1
    assert load(f"sklearn:iris,positive=setosa{options}").X.shape == (10, 2)


def test_a_sparse_file_stays_sparse_and_is_cut_before_it_is_made_dense(here):
    """Two million columns and 200 rows would need more than the dense limit of 2 GiB."""
    lines = [f"{(-1) ** k} 1:{k}.5 2000000:1" for k in range(200)]
    write(here / "wide.libsvm", "\n".join(lines))
    whole = load("wide.libsvm")
    assert sp.issparse(whole.X)
    assert (whole.n, whole.d, whole.X.nnz) == (200, 2_000_000, 400)
    with pytest.raises(ValueError, match="needs 3,200,000,000 bytes when dense"):
        load_classes("wide.libsvm")
    few = load("wide.libsvm,features=0,n=10,stratify")
    assert isinstance(few.X, np.ndarray), "no cell is empty"
    assert few.X.shape == (10, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("n=41", "option n must lie between 2 and the 40 rows, got 41"),
        ("n=1", "option n must lie between 2 and the 40 rows, got 1"),
        ("n=ten", "option n must be a whole number, got 'ten'"),
        ("n=-3", "option n must be a whole number, got '-3'"),
        ("n", "option n needs a value: write n=..."),
        ("n=", "option n needs a value: write n=..."),
        ("n=5,n=6", "option n is given twice"),
        ("n=5,", "an option is empty: write source,option=value"),
        ("n=5,seed=x", "option seed must be a whole number, got 'x'"),
        ("n=5,stratify=yes", "option stratify takes no value"),
        ("stratify", "option stratify says how rows are drawn: add n=..."),
        ("seed=1", "option seed says how rows are drawn: add n=..."),
        ("features=0+3", "option features asks for column 3: the columns are 0 to 2"),
        ("features=1+1", "option features names a column twice: 1+1"),
        ("features=a", "option features must be column numbers joined by +, got 'a'"),
        ("features=0+", "option features must be column numbers joined by +, got '0+'"),
        (
            "startify,n=5",
            "unknown option 'startify': did you mean 'stratify'? allowed are class_weight,",
        ),
        (
            "sigma=1",
            "unknown option 'sigma': allowed are class_weight, features, label, n",
        ),
        ("complete", "unknown option 'complete': allowed are"),
    ],
)
def test_options_are_refused_with_a_sentence(sorts, options, message):
    with pytest.raises(ValueError, match=re.escape(f"sorts.npz,{options}: {message}")):
        load(f"sorts.npz,{options}")


def test_a_draw_of_one_class_names_the_way_out(here):
    np.savez("rare.npz", X=np.arange(100.0)[:, None], y=[1] + [-1] * 99)
    with pytest.raises(ValueError, match="the 2 rows drawn are all labelled -1: add stratify, or"):
        load("rare.npz,n=2")


# Bad files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a header line and at least one row are needed"),
        ("x,y\n", "a header line and at least one row are needed"),
        ("x,y\n1,1\n,-1\n", "row 2 (line 3), column 'x' is empty: fill it"),
        ("x,y\n\n1,1\n\n?,-1\n", "row 2 (line 5), column 'x' is ?: fill it"),
        ("x,y\n1,1\nnan,-1\n", "row 2 (line 3), column 'x' is nan: fill it"),
        ("x,y\n1,1\n2,\n", "row 2 (line 3), column 'y' is empty: fill it"),
        ("x,y\n1,1\ninf,-1\n", "row 2 (line 3), column 'x' holds inf: features must be finite"),
        ("x,y\n1,1\nred,-1\n", "row 2 (line 3), column 'x' holds 'red': features must be numbers"),
        (
            "x,y\n1_000,1\n2,-1\n",
            "row 1 (line 2), column 'x' holds '1_000': features must be numbers",
        ),
        ("x,y\n1,1\n2,-1,3\n", "row 2 (line 3) has 3 cells, the header has 2"),
        ("x,x,y\n1,2,1\n", "the header names column 'x' twice"),
        ("y\n1\n-1\n", "there is no column besides the labels 'y'"),
        ('x,y\n"1,1\n', "this is no csv file: unexpected end of data"),
    ],
)
def test_bad_csv_files_name_the_place(here, text, message):
    write(here / "bad.csv", text)
    with pytest.raises(ValueError, match=re.escape(f"bad.csv: {message}")):
        load("bad.csv")


def test_complete_leaves_rows_with_missing_cells_out(here):
    write(here / "holes.csv", "x,y\n1,1\n,-1\n3,-1\n?,1\nNaN,1\n4,NA\n")
    assert_same(load("holes.csv,complete"), [[1], [3]], [1, -1], "holes.csv,complete")
    write(here / "nothing.csv", "x,y\n,1\n,-1\n")
    with pytest.raises(ValueError, match="no row is complete"):
        load("nothing.csv,complete")
    # Lines are still those of the file.
    write(here / "word.csv", "x,y\n,1\n1,1\nred,-1\n")
    with pytest.raises(ValueError, match=re.escape("row 2 (line 4), column 'x' holds 'red'")):
        load("word.csv,complete")


def test_bad_archives_are_refused(here):
    write(here / "text.npz", "no archive")
    with pytest.raises(ValueError, match=r"text\.npz: this is no npz archive: write one with"):
        load("text.npz")
    np.savez("names.npz", A=np.ones((2, 1)), y=[1, -1])
    with pytest.raises(ValueError, match="the archive holds no array 'X', it holds A, y"):
        load("names.npz")
    np.savez("objects.npz", X=np.array([[1, None], [2, 3]], dtype=object), y=[1, -1])
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        load("objects.npz")
    np.savez("shapes.npz", X=np.ones((3, 2)), y=[1, -1])
    with pytest.raises(ValueError, match=r"got \(3, 2\) and \(2,\)"):
        load("shapes.npz")
    np.savez("hole.npz", X=[[1.0, 2.0], [3.0, np.nan]], y=[1, -1])
    with pytest.raises(ValueError, match=r"hole\.npz,features=0: X holds nan in row 1, column 1"):
        load("hole.npz,features=0")
    np.savez("label.npz", X=[[1.0], [3.0]], y=[1.0, np.nan])
    with pytest.raises(ValueError, match="the label in row 1 is nan"):
        load("label.npz")
    np.savez("words.npz", X=[["a"], ["b"]], y=[1, -1])
    with pytest.raises(ValueError, match="X must hold real numbers"):
        load("words.npz")
    np.savez_compressed("damaged.npz", X=np.arange(4000.0)[:, None], y=np.resize([1, -1], 4000))
    content = bytearray((here / "damaged.npz").read_bytes())
    content[200:260] = bytes(60)
    (here / "damaged.npz").write_bytes(content)
    with pytest.raises(ValueError, match="the archive is damaged"):
        load("damaged.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one 1:2\n", "this is no libsvm file"),
        ("1 1000000000000:1\n-1 2:1\n", "this is no libsvm file: an index is too large"),
        ("1 1:2\n-1 1:1_000\n", "this is no libsvm file: line 2 holds '1:1_000'"),
        ("1 1:2 1:3\n-1 1:1\n", "this is no libsvm file"),
        ("1 1:2\n-1 1:1 2:nan\n", "X holds nan in row 1, column 1"),
        ("1 1:2\nnan 1:1\n", "the label in row 1 is nan"),
        ("0 1:2\n1 1:1\n", "the first column holds the labels 0, 1: say which one is +1"),
    ],
)
def test_bad_libsvm_files_are_refused(here, text, message):
    write(here / "bad.libsvm", text)
    with pytest.raises(ValueError, match=re.escape(f"bad.libsvm: {message}")):
        load("bad.libsvm")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no file of points: no csv with commas, .* begins ''"),
        ("hello\nworld\n", "this is no file of points: .* begins 'hello world'"),
        ("1 2 3\n4 5 6\n", "this is no file of points: .* and no Brooks text"),
        ("2 1\n1 1_0\n-1 3\n", r"row 1 \(line 2\), column 1 holds '1_0'"),
        ("2 1\n1 5\n", "2 points with 1 features are announced, 1 lines follow"),
        ("0 1\n", "0 points with 1 features are announced"),
        ("2\n1\n1 5\n\n-1 5 6\n", r"row 2 \(line 5\) has 3 numbers, not 2: a label and 1 features"),
        ("2 1\n1 5\n-1 x\n", r"row 2 \(line 3\), column 1 holds 'x': it must be a finite number"),
        ("2 1\n1 5\nnan 6\n", r"row 2 \(line 3\), column 0 holds 'nan'"),
        ("2 1\n3 5\n4 6\n", r"the first column holds the labels 3, 4: say which one is \+1"),
    ],
)
def test_bad_brooks_files_are_refused(here, text, message):
    write(here / "bad", text)
    with pytest.raises(ValueError, match=f"bad: {message}"):
        load("bad")


@pytest.mark.parametrize("name", ["heart_scale", "a1a.t", "x.svm", "x.data"])
@pytest.mark.parametrize(
    "text",
    [
        "1 1:0.5 3:2\n-1 2:1\n1\n",
        "# one, two\n\n1\n-1 2:1\n1 1:0.5 3:2 # 3\n",
        "a,b,c,y\n.5,0,2,1\n0,1,0,-1\n0,0,0,1\n",
        "3\n3\n1 .5 0 2\n-1 0 1 0\n1 0 0 0\n",
    ],
)
def test_a_file_of_another_name_is_known_by_what_it_holds(here, name, text):
    write(here / name, text)
    data = load(name)
    points = {tuple(point): sign for point, sign in zip(data.X.tolist(), data.y, strict=True)}
    assert points == {(0.5, 0, 2): 1, (0, 1, 0): -1, (0, 0, 0): 1}


def test_missing_files_and_unknown_sources(here):
    write(here / "mine.csv", "x,y\n1,1\n2,-1\n")
    with pytest.raises(FileNotFoundError, match=r"no file mien\.csv: did you mean mine\.csv\?"):
        load("mien.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file zzz\.npz$"):
        load("zzz.npz")
    with pytest.raises(FileNotFoundError, match=r"there is no file no/folder/a\.csv$"):
        load("no/folder/a.csv,n=3")
    with pytest.raises(FileNotFoundError, match=r"no file mine\.txt: did you mean mine\.csv\?"):
        load("mine.txt")
    with pytest.raises(ValueError, match="this is a folder: name a file in it"):
        load(str(here))
    with pytest.raises(ValueError, match="unknown source 'sklaern': did you mean 'sklearn'"):
        load("sklaern:iris")
    for nothing in ("", "sklearn", "uci:", ",n=3"):
        with pytest.raises(ValueError, match="name a source: a file, sklearn:NAME, uci:NAME or"):
            load(nothing)
    with pytest.raises(ValueError, match="no such file: did you mean sklearn:breast_cancer"):
        load("breast_cancer")
    with pytest.raises(ValueError, match="no such file: did you mean uci:sonar"):
        load("sonar,n=3")


# scikit-learn


def test_breast_cancer_is_positive_where_malignant():
    X, target = load_breast_cancer(return_X_y=True)
    spec = "sklearn:breast_cancer"
    # scikit-learn codes malignant as 0 and benign as 1: 212 and 357 of them.
    data = load(spec)
    assert_same(data, X, np.where(target == 0, 1, -1), spec)
    assert (data.n_pos, data.n_neg) == (212, 357)
    for positive in ("benign", "1"):
        np.testing.assert_array_equal(load(spec, positive=positive).y, -data.y)
    small = load(f"{spec},n=120,features=0+1,stratify,seed=0")
    # 120 * 212 / 569 = 44.7
    assert (small.n, small.d, small.n_pos) == (120, 2, 45)


def test_more_than_two_classes_need_positive():
    X, target = load_iris(return_X_y=True)
    for positive in ("virginica", "2"):
        assert_same(
            load("sklearn:iris", positive=positive), X, 2 * (target == 2) - 1, "sklearn:iris"
        )
    assert load("sklearn:digits,positive=3").n_pos == 183  # as the makers of the set count
    for name in (name for name, positive in SKLEARN.items() if positive is None):
        with pytest.raises(ValueError, match=r"there are \d+ classes, .*: say which one is \+1"):
            load(f"sklearn:{name}")


def test_unknown_sets_and_classes_of_scikit_learn():
    with pytest.raises(
        ValueError, match="unknown data set of scikit-learn 'irsi': did you mean 'iris'"
    ):
        load("sklearn:irsi")
    with pytest.raises(ValueError, match="holds no label 'bening': did you mean 'benign'"):
        load("sklearn:breast_cancer,positive=bening")


# Synthetic


def test_synthetic_specs_are_the_generators():
    spec = "synthetic:clustered,n=100,d=3,sigma=0.2,seed=0"
    expected = outlier_data("clustered", n=100, d=3, sigma=0.2, seed=0)
    assert_same(load(spec), expected.X, expected.y, spec)
    assert expected.spec == spec
    flipped = label_flip_data(n=40, d=2, tau=0.1, seed=3, sample=1)
    assert load(flipped.spec).sha256 == flipped.sha256
    again = load("synthetic:flip,features=1,d=2,n=40,tau=0.1,sample=1,seed=3")
    np.testing.assert_array_equal(again.X, flipped.X[:, [1]])
    unseeded = outlier_data("spread", n=30, d=2, sigma=0.5, seed=0)
    assert load("synthetic:spread,n=30,d=2,sigma=0.5").sha256 == unseeded.sha256


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("clusterd,n=9,d=1,sigma=1", "unknown kind of synthetic data 'clusterd': did you mean"),
        ("none,d=1,sigma=1", "option n is missing: write n=..."),
        ("none,n=9,d=1", "option sigma is missing: write sigma=..."),
        ("flip,n=9,d=1", "option tau is missing: write tau=..."),
        ("none,n=9,d=1,tau=0.1", "unknown option 'tau': allowed are d, features, n, sample"),
        ("none,n=9,d=1,sigma=wide", "option sigma must be a number, got 'wide'"),
        ("none,n=9,d=x,sigma=1", "option d must be a whole number, got 'x'"),
        ("none,n=9,d=1,sigma=-1", "sigma must be a positive number, got -1.0"),
        ("none,n=9,d=1,sigma=1,features=1", "option features asks for column 1"),
        ("none,n=1,d=1,sigma=1", "seed=0 draws only points labelled"),
        ("none,n=9,d=1,sigma=1,stratify", "unknown option 'stratify'"),
    ],
)
def test_bad_synthetic_specs(spec, message):
    with pytest.raises(ValueError, match=re.escape(f"synthetic:{spec}: {message}")):
        load(f"synthetic:{spec}")


# The folder of real data


def test_data_folder_reads_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("TIGHTMARGIN_DATA", raising=False)
    assert data_folder() is None
    monkeypatch.setenv("TIGHTMARGIN_DATA", "  ")
    assert data_folder() is None
    monkeypatch.setenv("TIGHTMARGIN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("TIGHTMARGIN_DATA", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"TIGHTMARGIN_DATA names '.*gone', which is not a"):
        data_folder()


def test_a_uci_set_is_read_from_the_folder(here, monkeypatch):
    folder = here / "real"
    folder.mkdir()
    write(folder / "sonar.csv", "a1,a2,class\n0.5,1,M\n0.25,2,R\n0.125,3,R\n")
    monkeypatch.setenv("TIGHTMARGIN_DATA", str(folder))
    assert_same(load("uci:sonar"), [[0.5, 1], [0.25, 2], [0.125, 3]], [1, -1, -1], "uci:sonar")
    assert load("uci:sonar,features=1,n=2,stratify,positive=R").X.shape == (2, 1)
    with pytest.raises(ValueError, match="unknown data set 'sonnar': did you mean 'sonar'"):
        load("uci:sonnar")
    # Another label column: the usual class means nothing there.
    write(folder / "immunotherapy.csv", "sex,age,result\n1,20,1\n2,30,0\n")
    with pytest.raises(ValueError, match="column 'sex' holds the labels 1, 2: say which one is"):
        load("uci:immunotherapy,label=sex")


def test_a_set_without_public_copy_says_what_to_do(here):
    with pytest.raises(
        FileNotFoundError, match=r"no copy on OpenML: put german_credit_numeric\.csv"
    ):
        load("uci:german_credit")


class OpenmlCache:
    """Answers of OpenML, stored where scikit-learn looks before it asks the network."""

    def __init__(self, home):
        self.root = home / "openml" / "openml.org"

    def put(self, place, content):
        path = self.root / f"{place}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content))

    def add(self, number, name, target, columns, rows, ignored=()):
        """`columns` maps names to arff types."""
        declared = [f"@attribute '{column}' {kind}" for column, kind in columns.items()]
        arff = "\n".join([f"@relation {name}", *declared, "@data", *rows, ""]).encode()
        features = [
            {
                "index": str(k), "name": column, "is_row_identifier": "false",
                "data_type": "nominal" if kind.startswith("{") else "numeric",
                "is_target": str(column == target).lower(),
                "is_ignore": str(column in ignored).lower(),
                "number_of_missing_values": "0",
            }
            for k, (column, kind) in enumerate(columns.items())
        ]  # fmt: skip
        described = {
            "id": str(number), "name": name, "version": "1", "status": "active",
            "format": "ARFF", "file_id": str(number), "description": "",
            "default_target_attribute": target, "md5_checksum": hashlib.md5(arff).hexdigest(),
            "url": f"https://www.openml.org/data/v1/download/{number}/{name}.arff",
        }  # fmt: skip
        listed = [{"did": number, "name": name, "version": 1, "status": "active"}]
        for place, answer in {
            f"list/data_name/{name}/limit/2/data_version/1": {"data": {"dataset": listed}},
            f"{number}": {"data_set_description": described},
            f"features/{number}": {"data_features": {"feature": features}},
            f"qualities/{number}": {"data_qualities": {"quality": []}},
        }.items():
            self.put(f"api/v1/json/data/{place}", json.dumps(answer).encode())
        self.put(f"data/v1/download/{number}/{name}.arff", arff)


@pytest.fixture
def openml(here, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(here / "cache"))

    def offline(*_args, **_kwargs):
        raise URLError("the tests have no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    return OpenmlCache(here / "cache")


def test_openml_delivers_what_the_folder_lacks(openml):
    """Names of columns and classes as OpenML has them: Class, Rock, Mine."""
    openml.add(
        40, "sonar", "Class",
        {"attribute_1": "REAL", "attribute_2": "REAL", "Class": "{Rock,Mine}"},
        ["0.02,0.1,Rock", "0.1,0.30000000000000004,Mine", "7,-1e-3,Mine"],
    )  # fmt: skip
    expected = [[0.02, 0.1], [0.1, 0.1 + 0.2], [7, -0.001]]
    assert_same(load("uci:sonar"), expected, [-1, 1, 1], "uci:sonar")


def test_openml_categories_become_columns_and_missing_cells_are_named(openml):
    openml.add(
        13, "breast-cancer", "Class",
        {
            "tumor-size": "{'0-4','5-9','10-14'}", "node-caps": "{'yes','no'}",
            "Class": "{'no-recurrence-events','recurrence-events'}",
        },
        [
            "'10-14','yes','recurrence-events'", "'5-9','no','no-recurrence-events'",
            "'0-4',?,'recurrence-events'", "'0-4','no','no-recurrence-events'",
        ],
    )  # fmt: skip
    with pytest.raises(ValueError, match="row 3, column 'node-caps' is empty: fill it, or leave"):
        load("uci:breast_cancer_ljubljana")
    spec = "uci:breast_cancer_ljubljana,complete"
    # tumor-size 0-4, 5-9, 10-14 in the order of their numbers; node-caps yes.
    assert_same(load(spec), [[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]], [1, -1, -1], spec)


def test_openml_marks_the_selector_of_liver_disorders(openml):
    openml.add(
        8, "liver-disorders", "drinks",
        {"mcv": "INTEGER", "drinks": "REAL", "selector": "{1,2}"},
        ["85,0.5,1", "86,0.0,2", "87,3.0,2"], ignored=["selector"],
    )  # fmt: skip
    with pytest.warns(UserWarning, match="'selector' has flag is_ignore"):
        data = load("uci:liver_disorders")
    assert_same(data, [[85, 0.5], [86, 0], [87, 3]], [1, -1, -1], "uci:liver_disorders")


def test_no_network_is_said_with_the_way_out(openml, monkeypatch):
    """scikit-learn warns and sleeps before each new try."""
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    message = r"OpenML did not deliver 'ionosphere'.*no network.*put ionosphere\.csv into a folder"
    with (
        pytest.warns(UserWarning, match="network error"),
        pytest.raises(ConnectionError, match=message),
    ):
        load("uci:ionosphere")


# Real files, against the counts their makers publish


@pytest.mark.parametrize(
    ("spec", "n_pos", "n_neg", "d"),
    [
        ("uci:adult_a4a", 1188, 3593, 123),
        ("uci:breast_cancer_irradiat", 32, 164, 36),
        ("uci:breast_cancer_ljubljana,complete", 81, 196, 38),
        ("uci:german_credit", 700, 300, 24),
        ("uci:immunotherapy", 71, 19, 7),
        ("uci:ionosphere", 225, 126, 34),
        ("uci:liver_disorders", 145, 200, 6),
        ("uci:sonar", 111, 97, 60),
    ],
)
def test_real_sets_have_their_published_sizes(real, spec, n_pos, n_neg, d):
    data = load(spec)
    assert (data.n_pos, data.n_neg, data.d) == (n_pos, n_neg, d)
    entry = UCI[spec.removeprefix("uci:").partition(",")[0]]
    assert (entry.n, entry.d) == (data.n, data.d)


def test_every_real_set_is_counted_above():
    counted = next(
        mark for mark in test_real_sets_have_their_published_sizes.pytestmark
        if mark.name == "parametrize"
    ).args[1]  # fmt: skip
    assert {row[0].removeprefix("uci:").partition(",")[0] for row in counted} == set(UCI)


def test_missing_cells_of_a_real_set_are_named(real):
    with pytest.raises(ValueError, match=r"row 146 \(line 147\), column 'node_caps' is \?"):
        load("uci:breast_cancer_ljubljana")


def test_one_hot_columns_are_those_of_the_encoded_file(real):
    """The 196 x 36 file holds the complete rows without recurrence, in the same order."""
    raw = load("uci:breast_cancer_ljubljana,complete,label=irradiat,positive=yes")
    recurred, X = raw.X[:, 0] == 1, raw.X[:, 1:]
    kept = X[~recurred]
    # No such row has 24 to 26 nodes: the encoded file lacks that column of zeros.
    encoded = load("uci:breast_cancer_irradiat")
    np.testing.assert_array_equal(kept[:, kept.any(axis=0)], encoded.X)
    np.testing.assert_array_equal(raw.y[~recurred], encoded.y)


def test_both_copies_of_a_real_set_agree(real):
    """The text file forgets the last column, which holds zeros only."""
    archive = load("uci:adult_a4a")
    text = load(str(real / "a4a.libsvm"))
    assert sp.issparse(text.X), "one cell of nine is stored"
    np.testing.assert_array_equal(text.X.toarray(), archive.X[:, : text.d])
    np.testing.assert_array_equal(text.y, archive.y)
    assert not archive.X[:, text.d :].any()


BROOKS = [(n, d, k) for n, d, k in itertools.product((60, 100, 200), (2, 5, 10), range(5))]


def test_brooks_files_have_the_size_in_their_names(real):
    assert len(BROOKS) == 45
    for n, d, k in BROOKS:
        path = real / "hard_margin_loss" / f"n{n}d{d}ATj{k}"
        data = load(str(path))
        assert (data.n, data.d) == (n, d)
        # Read once more, by numpy.
        numbers = np.loadtxt(path, skiprows=2)
        np.testing.assert_array_equal(np.column_stack([data.y, data.X]), numbers)
    assert load(f"{path},n=30,stratify,features=0+4").X.shape == (30, 2)


def test_real_csv_files_with_their_label_columns(real):
    path = str(real / "ionosphere.csv")
    with pytest.raises(ValueError, match="column 'class' holds the labels b, g: say which one"):
        load(path, label="class")
    data = load(f"{path},n=50,stratify,seed=1", label="class", positive="g")
    # 50 * 225 / 351 = 32.05
    assert (data.n, data.n_pos) == (50, 32)
    np.testing.assert_array_equal(data.X[:, 1], 0)
