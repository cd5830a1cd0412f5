"""Row 21: nothing that is read can run code. There is no pickle in any file of ours.

tests/solvers/test_result_files.py forges companions whose checksums agree.
"""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import ROOT, run

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
Y = np.array([1, -1, 1])


class Payload:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def archive(**members: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **members)
    return out.getvalue()


def objects(mark: Path) -> np.ndarray:
    array = np.empty(1, dtype=object)
    array[0] = Payload(mark)
    return array


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


def test_row_21_the_payload_works_on_those_who_unpickle(mark: Path) -> None:
    """Without this the other tests could not fail."""
    pickle.loads(pickle.dumps(Payload(mark)))
    assert mark.exists()
    mark.unlink()
    np.load(io.BytesIO(archive(X=objects(mark))), allow_pickle=True)["X"]
    assert mark.exists()


@pytest.mark.parametrize("kind", ["pickle", "archive of objects", "npy of objects"])
def test_row_21_a_result_that_is_a_pickle_is_refused(kind: str, mark: Path, tmp_path: Path) -> None:
    file, npy = tmp_path / "fit.json", io.BytesIO()
    np.save(npy, objects(mark), allow_pickle=True)
    file.write_bytes(
        {
            "pickle": pickle.dumps(Payload(mark)),
            "archive of objects": archive(values=objects(mark)),
            "npy of objects": npy.getvalue(),
        }[kind]
    )
    for words in (("certify", file), ("predict", file, "--data", file)):
        answer = run(*words)
        assert answer.code == 2
        assert "not a readable result" in answer.complaint
    with pytest.raises(ValueError, match="not a readable result"):
        tm.SolveResult.load(file)
    assert not mark.exists()


def test_row_21_data_that_could_run_code_are_refused(mark: Path, tmp_path: Path) -> None:
    payload = pickle.dumps(Payload(mark))
    bad = {
        "x.npz": archive(X=objects(mark), y=Y), "y.npz": archive(X=X, y=objects(mark)),
        "points.npz": payload, "points.csv": payload, "points.libsvm": payload, "points": payload,
    }  # fmt: skip
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        answer = run("solve", "c_svc", "--data", tmp_path / name, "--set", "C=1")
        assert answer.code == 2, name
        assert name in answer.complaint
    assert not mark.exists()


# A child process of ours gets its model over a pipe that nobody else writes to, never from a file.
OVER_A_PIPE = {"solvers/isolated/parent.py", "solvers/isolated/child.py"}
UNSAFE = re.compile(
    r"^ *(import|from) (pickle|dill|shelve|marshal|cloudpickle)\b|joblib\.load|read_pickle"
    r"|allow_pickle=True|(?<![\w.])(eval|exec)\(",
    re.MULTILINE,
)


@pytest.mark.parametrize("folder", ["formulations", "solvers", "cuts", "experiments"])
def test_row_21_no_module_reads_a_file_that_can_run_code(folder: str) -> None:
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in (ROOT / folder).rglob("*.py")}
    assert len(texts) > 10
    found = {name for name, text in texts.items() if UNSAFE.search(text)}
    assert found <= OVER_A_PIPE
