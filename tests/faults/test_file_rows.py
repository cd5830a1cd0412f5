"""Rows 20, 21 and 30: a file cut short or altered, a file that could run code, and misspelt words.

tests/solvers/test_result_files.py cuts at every byte and looks at what saving leaves behind.
"""

from __future__ import annotations

import functools
import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.cases import modes, valid
from tests.inside.formulations import HyperparameterError, nearest
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tests.support.command_line import ROOT, run, write_csv
from tests.support.covering import FULL
from tests.support.long_runs import data
from tightmargin.formulations import CATALOGUE

# --- rows 20 and 21: files ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of 1001 points, so that slacks and multipliers lie in a file beside it."""
    folder = tmp_path_factory.mktemp("saved")
    file = write_csv(folder / "points.csv", data(1001, 2))
    out = folder / "fit.json"
    done = run("solve", "c_svc", "--data", file, "--set", "C=1", "--out", out)
    assert done.code == 0, done.stderr
    assert out.with_suffix(".npz").exists()
    return out


def one_line_of(command: str, *words: object) -> str:
    answer = run(command, *words)  # type: ignore[arg-type]
    assert answer.code == 2
    return answer.complaint


@pytest.mark.parametrize("part", ["json", "npz"])
def test_row_20_cut_anywhere_it_is_refused_in_one_line(
    saved: Path, part: str, tmp_path: Path
) -> None:
    for k, share in enumerate((0.0, 0.1, 0.5, 0.97) if not FULL else np.linspace(0, 0.999, 40)):
        for suffix in (".json", ".npz"):
            content = saved.with_suffix(suffix).read_bytes()
            kept = content[: int(share * len(content))] if suffix == f".{part}" else content
            (tmp_path / "fit.json").with_suffix(suffix).write_bytes(kept)
        words = ("predict", tmp_path / "fit.json", "--data", saved.parent / "points.csv")
        complaint = one_line_of(*(words if k % 2 else ("certify", tmp_path / "fit.json")))
        assert "fit.json is not a readable result" in complaint


def test_row_20_a_flipped_bit_is_refused_or_means_the_same(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "fit.npz").write_bytes(saved.with_suffix(".npz").read_bytes())
    whole, rng = tm.SolveResult.load(saved).to_json(), np.random.default_rng(0)
    for _ in range(300 if FULL else 20):
        content = bytearray(saved.read_bytes())
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        (tmp_path / "fit.json").write_bytes(bytes(content))
        try:
            found = tm.SolveResult.load(tmp_path / "fit.json")
        except ValueError as error:
            assert "fit.json is not a readable result" in str(error)  # noqa: PT017
        else:
            assert found.to_json() == whole


def test_row_20_a_missing_companion_is_named_and_the_whole_pair_is_certified(
    saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "fit.json").write_bytes(saved.read_bytes())
    assert "fit.npz" in one_line_of("certify", tmp_path / "fit.json")
    assert run("certify", saved).code == 0


# --- row 21: nothing that is read can run code ----------------------------------------------------

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


@pytest.mark.parametrize("kind", ["pickle", "archive of objects"])
def test_row_21_a_result_that_is_a_pickle_is_refused(kind: str, mark: Path, tmp_path: Path) -> None:
    """The payload works on those who unpickle: without that the test could not fail."""
    if kind == "pickle":
        content = pickle.dumps(Payload(mark))
        pickle.loads(content)
    else:
        content = archive(values=objects(mark))
        np.load(io.BytesIO(content), allow_pickle=True)["values"]
    assert mark.exists()
    mark.unlink()
    file = tmp_path / "fit.json"
    file.write_bytes(content)
    for words in (("certify", file), ("predict", file, "--data", file)):
        assert "not a readable result" in one_line_of(*words)
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
OVER_A_PIPE = {"solvers/isolated.py"}
UNSAFE = re.compile(
    r"^ *(import|from) (pickle|dill|shelve|marshal|cloudpickle)\b|joblib\.load|read_pickle"
    r"|allow_pickle=True|(?<![\w.])(eval|exec)\(",
    re.MULTILINE,
)


def test_row_21_no_module_reads_a_file_that_can_run_code() -> None:
    rooms = ("formulations", "solvers", "cuts", "experiments")
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert len(files) > 100
    found = {str(p.relative_to(ROOT)) for p in files if UNSAFE.search(p.read_text())}
    assert found <= OVER_A_PIPE


# --- row 30: words --------------------------------------------------------------------------------

DATA = points("overlapping", 0, n=8)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_row_30_a_builder_names_the_keyword_that_was_meant(name: str) -> None:
    """Two letters exchanged, or one doubled."""
    known = list(CATALOGUE[name].parameters)
    for k, word in enumerate(known if FULL else known[:2]):
        wrong = word[1::-1] + word[2:] if k % 2 and len(word) > 3 else word + word[-1]
        chosen = valid(name, modes(name)[0])
        value = chosen.pop(word, 1.0)
        for call in (CATALOGUE[name].build, functools.partial(tm.build, name)):
            with pytest.raises((TypeError, ValueError)) as refusal:
                call(DATA, **chosen, **{wrong: value})
            sentence = str(refusal.value)
            assert f"{name} has no hyperparameter {wrong!r} (it has {', '.join(known)})" in sentence
            assert sentence.endswith(f"; did you mean {nearest(wrong, known)[0]}?")
            assert word in nearest(wrong, known, 3)


def test_row_30_what_is_missing_is_named_and_nothing_is_chosen() -> None:
    calls: tuple[Any, ...] = (tm.zero_one_big_m, lambda data: tm.build("zero_one_big_m", data))
    for call in calls:
        with pytest.raises(HyperparameterError, match="zero_one_big_m needs penalty, big_m: noth"):
            call(DATA)
    with pytest.raises(TypeError, match=r"c_svc takes data alone by position: write C=\.\.\."):
        tm.c_svc(DATA, 1.0)  # type: ignore[misc]


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_row_30_a_solver_and_its_options_are_named(solver: str) -> None:
    wrong = solver[1::-1] + solver[2:]
    with pytest.raises(ValueError, match=rf"unknown solver '{wrong}'; choose auto") as refusal:
        tm.solve(tm.c_svc(DATA, C=1.0), wrong)
    assert f"; did you mean {nearest(wrong, SOLVERS)[0]}?" in str(refusal.value)
    if SOLVERS[solver].installed and solver in OPTIONS:
        option, right = OPTIONS[solver]
        words = f"{solver} has no option '{option}'; did you mean {right}"
        with pytest.raises(ValueError, match=words):
            tm.solve(tm.c_svc(DATA, C=1.0), solver, options={option: 1})


OPTIONS = {
    "highs": ("time_limt", "time_limit"), "clarabel": ("max_itr", "max_iter"),
    "scip": ("limits/tim", "limits/time"), "gurobi": ("TimeLimt", "TimeLimit"),
    "scs": ("max_iter", "max_iters"), "piqp": ("max_itr", "max_iter"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("solve c_scv --data FILE", ("'c_scv'", "did you mean c_svc?")),
        ("solve c_svc --data FILE --set c=1", ("'c'", "did you mean C?")),
        ("solve c_svc --data FILE --set C=1 --solver HiGS", ("'HiGS'", "did you mean highs?")),
        ("solve c_svc --data FILE --set C=1 --solvr highs", ("--solvr", "--solver")),
        ("slove c_svc --data FILE", ("'slove'", "'solve'")),
        ("solve c_svc --data sklearn:breast_cancr --set C=1", ("did you mean 'breast_cancer'?",)),
        ("solve c_svc --data synthetic:clustered,n=9,sgma=2 --set C=1", ("you mean 'sigma'?",)),
    ],
)
def test_row_30_the_command_line_answers_in_one_line(
    words: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    file = write_csv(tmp_path / "points.csv", DATA)
    answer = run(*(file if word == "FILE" else word for word in words.split()))
    assert answer.code == 2
    for part in parts:
        assert part in answer.complaint


def test_row_30_compare_passes_no_misspelt_hyperparameter_over() -> None:
    """One that no row knows would be left out in silence."""
    settings_ = {"penalty": 1.0, "big_m": "derived", "intercpt": "free"}
    with pytest.raises(ValueError, match=r"'intercpt'.*did you mean intercept"):
        tm.compare(DATA, ["conic_sdp"], parameters=settings_)
    with pytest.raises(ValueError, match="did you mean conic_sdp"):
        tm.compare(DATA, ["conic_spd"], parameters={"penalty": 1.0, "big_m": "derived"})
    with pytest.raises(ValueError, match="did you mean penalty"):
        tm.compare(DATA, ["conic_sdp"], parameters={"penlty": 1.0})
