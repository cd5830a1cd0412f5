"""The SPEC grammar, file readers and named data sets, real ones where they are present."""

import csv
import gzip
import hashlib
import json
import re
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.inside.experiments import (
    data_folder,
    load,
    load_classes,
)
from tests.support.covering import covering

reuse_folder = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path.name


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


def write_csv(X, y):
    with Path("data.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["y", *(f"x{j}" for j in range(X.shape[1]))])
        writer.writerows([int(label), *row] for label, row in zip(y, X.tolist(), strict=True))


def write_npz(X, y):
    np.savez("data.npz", X=X, y=y.astype(np.int8))


def write_libsvm(X, y, name="data.libsvm"):
    """Indices from 1, zeros left out, numbers in full precision."""
    rows = [
        " ".join([str(int(s)), *(f"{j}:{v!r}" for j, v in enumerate(row, start=1) if v)])
        for s, row in zip(y, X.tolist(), strict=True)
    ]
    write(Path(name), "\n".join([*rows, ""]))


def write_brooks(X, y, between=" "):
    lines = zip(y, X.tolist(), strict=True)
    rows = [" ".join([str(int(label)), *map(repr, row)]) for label, row in lines]
    write(Path("data"), "\n".join([f"{len(X)}{between}{X.shape[1]}", *rows, ""]))


@reuse_folder
@given(points=labelled_points(), between=st.sampled_from(" \n"))
def test_what_was_written_with_full_precision_comes_back(here, points, between):
    X, y = points
    # libsvm forgets trailing zero columns: a last column of ones keeps the width.
    X = np.column_stack([X, np.ones(len(X))])
    write_csv(X, y)
    write_npz(X, y)
    write_libsvm(X, y)
    write_brooks(X, y, between)
    for name in ("data.csv", "data.npz", "data.libsvm", "data"):
        assert_same(load(name), X, y, name)


def test_files_are_read_as_spreadsheets_write_them(here):
    text = '\ufeffy ,"a b",c\r\n +1,1, 2.5\r\n\r\n"-1.0","-3",1e-2\r\n'
    (here / "sheet.csv").write_bytes(text.encode())
    assert_same(load("sheet.csv"), [[1, 2.5], [-3, 0.01]], [1, -1], "sheet.csv")


# Labels


def test_one_class_against_the_others_and_a_named_label_column(here):
    write(here / "sorts.csv", "sort,x\nred,1\ngreen,2\nblue,3\n")
    assert load("sorts.csv", label="sort", positive="green").y.tolist() == [-1, 1, -1]
    assert load("sorts.csv,label=sort,positive=blue").y.tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match=r"holds no label 'gren': did you mean 'green'\? it holds"):
        load("sorts.csv", label="sort", positive="gren")
    with pytest.raises(ValueError, match="no label column 'sorts': did you mean 'sort'"):
        load("sorts.csv", label="sorts")


def test_labels_of_arrays(here):
    X = np.arange(3.0)[:, None]
    np.savez(
        "words.npz", X=X, y=np.array(["a", "b", "b"]), z=np.array([b"u", b"u", b"v"]), w=[1.5, 2, 2]
    )
    assert load("words.npz", positive="b").y.tolist() == [-1, 1, 1]
    assert load("words.npz,label=z", positive="v").y.tolist() == [-1, -1, 1]
    assert load("words.npz", label="w", positive="1.5").y.tolist() == [1, -1, -1]
    write(here / "two.libsvm", "1 1:0.5\n2 1:1.5\n")
    assert load("two.libsvm", positive="2").y.tolist() == [-1, 1]
    write(here / "two", "2 1\n1 0.5\n2 1.5\n")
    assert load("two", positive="2").y.tolist() == [-1, 1]


# Subsets


@pytest.fixture
def sorts(here):
    """40 rows, 13 of them positive; column 0 counts the rows."""
    X = np.column_stack([np.arange(40), np.arange(40) ** 2, -np.arange(40)])
    y = np.where(np.arange(40) % 3 == 1, 1, -1)
    np.savez("sorts.npz", X=X, y=y)
    return X, y


@given(n=st.integers(20, 40), seed=st.integers(0, 2**32))
@reuse_folder
def test_subsets_keep_order_and_rows_and_stratified_ones_the_shares(sorts, n, seed):
    X, y = sorts
    data = load(f"sorts.npz,seed={seed},n={n}")
    rows = data.X[:, 0].astype(int)
    assert (np.diff(rows) > 0).all()
    assert_same(data, X[rows], y[rows], f"sorts.npz,seed={seed},n={n}")
    assert set(rows) == set(np.random.default_rng(seed).choice(40, n, replace=False).tolist())
    n -= 18
    data = load(f"sorts.npz,n={n},stratify,seed={seed}")
    rows = data.X[:, 0].astype(int)
    assert data.n == n
    assert (np.diff(rows) > 0).all()
    assert_same(data, X[rows], y[rows], f"sorts.npz,n={n},stratify,seed={seed}")
    assert abs(data.n_pos - n * 13 / 40) <= 0.5 or (data.n_pos == 1 and n * 13 / 40 < 0.5)


def test_each_class_keeps_a_row_seeds_repeat_and_features_have_the_order_given(sorts):
    X, y = sorts
    np.savez("rare.npz", X=np.arange(100.0)[:, None], y=[1] + [-1] * 99)
    assert load("rare.npz,n=2,stratify").n_pos == 1
    np.savez("common.npz", X=np.arange(100.0)[:, None], y=[-1] + [1] * 99)
    assert load("common.npz,n=2,stratify").n_neg == 1
    drawn = [load(f"sorts.npz,n=20,stratify,seed={s}").sha256 for s in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1] == load("sorts.npz,n=20,stratify").sha256
    assert len(set(drawn)) == 4
    assert_same(load("sorts.npz,features=2+0"), X[:, [2, 0]], y, "sorts.npz,features=2+0")
    assert load("sorts.npz,features=1,n=7,stratify").X.shape == (7, 1)


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


@pytest.mark.parametrize(
    ("name", "text"),
    covering(["heart_scale", "a1a.t", "x.svm", "x.data"], [
        "1 1:0.5 3:2\n-1 2:1\n1\n",
        "# one, two\n\n1\n-1 2:1\n1 1:0.5 3:2 # 3\n",
        "a,b,c,y\n.5,0,2,1\n0,1,0,-1\n0,0,0,1\n",
        "3\n3\n1 .5 0 2\n-1 0 1 0\n1 0 0 0\n",
    ]),
)  # fmt: skip
def test_a_file_of_another_name_is_known_by_what_it_holds(here, name, text):
    write(here / name, text)
    data = load(name)
    points = {tuple(point): sign for point, sign in zip(data.X.tolist(), data.y, strict=True)}
    assert points == {(0.5, 0, 2): 1, (0, 1, 0): -1, (0, 0, 0): 1}


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
    # Another label column: the usual class means nothing there.
    write(folder / "immunotherapy.csv", "sex,age,result\n1,20,1\n2,30,0\n")
    with pytest.raises(ValueError, match="column 'sex' holds the labels 1, 2: say which one is"):
        load("uci:immunotherapy,label=sex")


def test_real_sets_have_their_published_sizes(data_folder):
    for name, counts in (
        ("adult_a4a", (1188, 3593, 123)), ("german_credit", (700, 300, 24)),
        ("immunotherapy", (71, 19, 7)), ("ionosphere", (225, 126, 34)),
        ("liver_disorders", (145, 200, 6)), ("sonar", (111, 97, 60)),
    ):  # fmt: skip
        data = load(f"uci:{name}")
        assert (data.n_pos, data.n_neg, data.d) == counts, name


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
        for place in (f"{number}/{name}.arff", f"{number}"):  # the latter of older scikit-learns
            self.put(f"data/v1/download/{place}", arff)


@pytest.fixture
def openml(here, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(here / "cache"))

    def offline(*_args, **_kwargs):
        raise URLError("the tests have no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    return OpenmlCache(here / "cache")


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
