"""Row 30: a misspelt name is an error with the nearest right one, wherever it is written."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import tightmargin as tm
from tests.cases import modes, valid
from tests.inside.formulations import HyperparameterError, nearest
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE

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
