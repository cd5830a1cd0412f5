"""What a stored result depends on: nothing stale is read, and nothing is run again for a word."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tightmargin.experiments.studies import code_digest as module
from tightmargin.experiments.studies import code_graph, code_watch
from tightmargin.experiments.studies.code_digest import code_digest
from tightmargin.experiments.studies.code_graph import reached
from tightmargin.experiments.studies.runner import StudyError, run_study
from tightmargin.experiments.studies.task import Step

STUDY = '''"""A paper's table."""
from tightmargin.experiments.data.readers import read, write
from experiments.pictures import draw
from tightmargin.formulations.svc.c_svc import build
LIMIT, SIDE = 3, "left"
TITLE = "a picture"
@reproduction("table")
def run(effort):
    return draw(work, TITLE)
def work(n):
    """Errors."""
    from experiments.late import last
    return read(n, LIMIT) + build(n) + last(n)
'''
FILES = {
    "formulations/svc/c_svc.py": "def build(n):\n    return n\n",
    "formulations/other.py": "x = 1\n",
    "solvers/backends/highs.py": "x = 1\n",
    "cuts/loop.py": "x = 1\n",
    "experiments/__init__.py": "",
    "experiments/studies/study.py": STUDY,
    "experiments/data/readers.py": "from experiments import folds\nKINDS = {}\n"
    "def kind(f):\n    KINDS[f.__name__] = f\n    return f\n"
    "@kind\ndef csv(n):\n    return n\n"
    "def read(n, limit):\n    return KINDS['csv'](n) + folds.count\n"
    "def write(n):\n    return 1\n",
    "experiments/validation/folds.py": "count = 5\n",
    "experiments/late.py": "def last(n):\n    return 0\n",
    "experiments/pictures.py": "def draw(*a):\n    return 1\n",
    "experiments/unused.py": "x = 1\n",
}


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tightmargin of a few lines."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(code_graph, "ROOT", tmp_path)
    return tmp_path


def work(n: int) -> int:
    return n


@pytest.fixture
def digest(ours: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    monkeypatch.setattr(work, "__module__", "tightmargin.experiments.studies.study")
    importlib.import_module(
        "tightmargin.experiments.studies.study"
    )  # one of that name; only the text counts here
    return lambda: module.sources_digest(work)


EDITS = [
    ("formulations/svc/c_svc.py", "return n", "return -n"),
    ("formulations/other.py", "1", "2"),
    ("solvers/backends/highs.py", "1", "2"),
    ("cuts/loop.py", "1", "2"),
    ("experiments/studies/study.py", "3, ", "4, "),
    ("experiments/studies/study.py", "build(n) +", "build(n) -"),
    ("experiments/data/readers.py", "+ folds", "- folds"),
    ("experiments/data/readers.py", "def csv(n):\n    return n", "def csv(n):\n    return -n"),
    ("experiments/validation/folds.py", "5", "6"),
    ("experiments/late.py", "0", "1"),
]
NO_EDITS = [
    ("experiments/studies/study.py", "Errors.", "Errors of each."),
    ("experiments/studies/study.py", "LIMIT, SIDE", "# how many\n\nLIMIT, SIDE"),
    ("experiments/studies/study.py", "a picture", "a better picture"),
    ("experiments/studies/study.py", "draw(work, TITLE)", "draw(TITLE, work)"),
    ("experiments/data/readers.py", "return 1", "return 2"),
    ("experiments/pictures.py", "return 1", "return 2"),
    ("experiments/unused.py", "1", "2"),
    ("formulations/svc/c_svc.py", "def build", '"""A formulation."""\n\n\ndef build'),
]


@pytest.mark.parametrize(("file", "old", "new"), EDITS)
def test_an_edit_of_what_a_run_reaches_is_other_code(
    file: str, old: str, new: str, ours: Path, digest: Callable[[], str]
) -> None:
    before = digest()
    text = (ours / file).read_text()
    assert old in text
    (ours / file).write_text(text.replace(old, new))
    assert digest() != before
    (ours / file).write_text(text)
    assert digest() == before


@pytest.mark.parametrize(("file", "old", "new"), NO_EDITS)
def test_words_pictures_and_other_tables_throw_nothing_away(
    file: str, old: str, new: str, ours: Path, digest: Callable[[], str]
) -> None:
    before = digest()
    text = (ours / file).read_text()
    assert old in text
    (ours / file).write_text(text.replace(old, new))
    assert digest() == before


def test_versions_of_the_solvers_are_part_of_it(
    digest: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    monkeypatch.setattr(module, "versions", lambda: ("python 0",))
    assert digest() != before


def test_no_run_of_a_paper_reaches_a_picture_or_the_runner() -> None:
    starts = {
        "bi_vapnik.table2": "half", "perez_cruz.figure2": "three_panels",
        "takeda_sugiyama.theorems": "bounds", "cepeda_gomez_han.replications": "outlier_run",
    }  # fmt: skip
    for name, start in starts.items():
        found = reached([(f"tightmargin.experiments.reproduce.{name}", start)])
        assert len(found[f"tightmargin.experiments.reproduce.{name}"]) > 1
        drawn = [module for module in found if "plot" in module or module.endswith("runner")]
        assert drawn == [], name


# --- a file of somebody else ---------------------------------------------------------------------


@pytest.fixture
def somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A study in a file, beside files that it imports."""
    (tmp_path / "their_study.py").write_text(
        "from their_helpers import helped\nfrom tightmargin.experiments.validation.folds import *\n"
        "def work(n):\n    import their_late\n    return helped(n)\n"
    )
    (tmp_path / "their_helpers.py").write_text("def helped(n):\n    return n\n")
    (tmp_path / "their_late.py").write_text("x = 1\n")
    (tmp_path / "their_plots.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("their_study").work
    for name in ("their_study", "their_helpers", "their_late"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("file", "other"),
    [("their_study", True), ("their_helpers", True), ("their_late", True), ("their_plots", False)],
)
def test_files_that_a_study_imports_are_part_of_it(
    file: str, other: bool, somebody: Any, tmp_path: Path
) -> None:
    before = code_digest(somebody)
    path = tmp_path / f"{file}.py"
    path.write_text(f"# a word\n{path.read_text()}")
    assert code_digest(somebody) == before
    path.write_text(f"{path.read_text()}\ny = 2\n")
    assert (code_digest(somebody) != before) is other


def test_a_notebook_takes_files_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.experiments.studies.test_runner import of_notebook

    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "their_helpers.py").write_text("x = 1\n")
    cells = (
        "import their_helpers\ndef work(n): return their_helpers.x",
        "def work(n):\n    import their_helpers\n    return their_helpers.x",
    )
    for number, cell in enumerate(cells):
        before = code_digest(of_notebook(cell))
        (tmp_path / "their_helpers.py").write_text(f"x = {number + 2}\n")
        assert code_digest(of_notebook(cell)) != before
    sys.modules.pop("their_helpers", None)


def test_what_a_try_guards_is_part_of_what_a_notebook_says() -> None:
    from tests.experiments.studies.test_runner import of_notebook

    text = "def work(f, g):\n    try:\n        f()\n{}    except ValueError:\n        return 1\n{}"
    inside = text.format("        return g()\n", "")
    outside = text.format("", "    else:\n        return g()\n")
    first, second = of_notebook(inside), of_notebook(outside)
    assert first.__code__.co_code == second.__code__.co_code, "or this tests nothing"
    assert code_digest(first) != code_digest(second)


# --- edits while something runs ------------------------------------------------------------------


def test_a_file_edited_after_it_was_loaded_is_refused_until_it_is_loaded_anew(
    somebody: Any, tmp_path: Path
) -> None:
    store, path = tmp_path / "s.sqlite", tmp_path / "their_helpers.py"
    assert run_study(somebody, [(1,)], name="n", store=store).values == {(1,): 1}
    path.write_text("def helped(n):\n    return -n\n")
    with pytest.raises(ValueError, match=r"their_helpers\.py was edited after this Python"):
        run_study(somebody, [(1,), (2,)], name="n", store=store)
    path.touch()
    importlib.reload(sys.modules["their_helpers"])
    again = importlib.reload(sys.modules["their_study"]).work
    assert run_study(again, [(1,)], name="n", store=store).values == {(1,): -1}


def test_processes_that_have_loaded_other_code_are_not_used_again(
    somebody: Any, tmp_path: Path
) -> None:
    store, path = tmp_path / "s.sqlite", tmp_path / "their_helpers.py"
    tasks = [(1,), (2,)]
    found = run_study(somebody, tasks, name="n", store=store, jobs=2).complete()
    assert list(found.values()) == [1, 2]
    path.write_text("def helped(n):\n    return -n\n")
    importlib.reload(sys.modules["their_helpers"])
    again = importlib.reload(sys.modules["their_study"]).work
    found = run_study(again, tasks, name="n", store=store, jobs=2).complete()
    assert list(found.values()) == [-1, -2]


def test_a_formulation_edited_after_it_was_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(code_watch.__file__).parents[1] / "formulations" / "c_svc.py"
    monkeypatch.setitem(code_watch._BEGUN, path, (0, 0))
    with pytest.raises(ValueError, match=r"c_svc\.py was edited after this Python had loaded it"):
        run_study(work, [(1,)], name="n", store=tmp_path / "s.sqlite")
    outcome = Step(work, (1,), 0, place="dask", sources="as the process that asks has them")()
    assert re.match(r"RuntimeError: the worker on .*c_svc\.py was edited after", outcome.error)


def test_an_edit_ends_a_running_study_and_a_comment_does_not(somebody: Any, tmp_path: Path) -> None:
    store, path = tmp_path / "s.sqlite", tmp_path / "their_helpers.py"
    text = path.read_text()

    def edit(said: str) -> None:
        if said.startswith("1 of"):
            path.write_text(f"# a word\n{text}")
        if said.startswith("2 of"):
            path.write_text("def helped(n):\n    return -n\n")

    tasks = [(number,) for number in range(5)]
    with pytest.raises(StudyError, match=r"their_helpers\.py: edited while the study ran"):
        run_study(somebody, tasks, name="n", store=store, say=edit)
    path.write_text(text)
    told: list[str] = []
    study = run_study(somebody, tasks, name="n", store=store, tell=told.append)
    assert told == ["2 of 5 tasks were finished before"]
    assert list(study.complete().values()) == [0, 1, 2, 3, 4]
