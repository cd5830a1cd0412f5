"""Row 30: a misspelt name is an error with the nearest right one, wherever it is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.faults.settings import modes, valid
from tests.inside.formulations import HyperparameterError, nearest
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.formulations import CATALOGUE

DATA = points("overlapping", 0, n=8)


@st.composite
def misspelt(draw: st.DrawFn, word: str) -> str:
    """One letter left out, doubled, exchanged with the next, or in the other case."""
    k = draw(st.integers(0, len(word) - 1))
    how = draw(st.sampled_from(["out", "double", "swap", "case"]))
    rest = word[k + 1 :]
    wrong = {
        "out": word[:k] + rest,
        "double": word[: k + 1] + word[k] + rest,
        "swap": word[:k] + rest[:1] + word[k] + rest[1:],
        "case": word[:k] + word[k].swapcase() + rest,
    }[how]
    return wrong or word + "x"


@given(data=st.data(), name=st.sampled_from(sorted(CATALOGUE)))
@settings(max_examples=150)
def test_row_30_a_builder_names_the_keyword_that_was_meant(data: st.DataObject, name: str) -> None:
    known = list(CATALOGUE[name].parameters)
    word = data.draw(st.sampled_from([each for each in known if len(each) > 3] or known))
    wrong = data.draw(misspelt(word))
    if wrong in known or wrong == next(iter(inspect.signature(CATALOGUE[name].build).parameters)):
        return
    chosen = valid(name, modes(name)[0])
    value = chosen.pop(word, 1.0)
    for call in (CATALOGUE[name].build, lambda d, **rest: tm.build(name, d, **rest)):
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


@given(data=st.data(), solver=st.sampled_from(sorted(SOLVERS)))
@settings(max_examples=60)
def test_row_30_a_solver_is_named(data: st.DataObject, solver: str) -> None:
    wrong = data.draw(misspelt(solver))
    if wrong in (*SOLVERS, "auto"):
        return
    with pytest.raises(ValueError, match=rf"unknown solver '{wrong}'; choose auto") as refusal:
        tm.solve(tm.c_svc(DATA, C=1.0), wrong)
    assert f"; did you mean {nearest(wrong, SOLVERS)[0]}?" in str(refusal.value)


OPTIONS = {
    "highs": ("time_limt", "time_limit"), "clarabel": ("max_itr", "max_iter"),
    "scip": ("limits/tim", "limits/time"), "gurobi": ("TimeLimt", "TimeLimit"),
    "scs": ("max_iter", "max_iters"), "piqp": ("max_itr", "max_iter"),
}  # fmt: skip


@pytest.mark.parametrize("solver", OPTIONS)
def test_row_30_an_option_of_a_solver_is_named(solver: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    wrong, right = OPTIONS[solver]
    with pytest.raises(
        ValueError, match=rf"{solver} has no option '{wrong}'; did you mean {right}"
    ):
        tm.solve(tm.c_svc(DATA, C=1.0), solver, options={wrong: 1})


WORDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "intercept": ("c_svc", {"C": 1.0, "intercept": "Free"}, "free"),
    "class_balance": ("nu_svc", {"nu": 0.4, "class_balance": "balancd"}, "balanced"),
    "scale": ("extended_nu_svc", {"nu": 0.4, "scale": "perez"}, "perez_cruz"),
    "transformation": ("zero_one_disjunctive", {"penalty": 1.0, "transformation": "Hul"}, "hull"),
    "w_ref": ("extended_nu_svc_linearised", {"nu": 0.4, "w_ref": "mean"}, "mean_difference"),
    "strengthening": ("conic_fixed", {"penalty": 1.0, "strengthening": "scald"}, "scaled"),
    "big_m": ("zero_one_big_m", {"penalty": 1.0, "big_m": "derivd"}, "derived"),
}


@pytest.mark.parametrize("word", WORDS)
def test_row_30_a_word_is_refused_with_the_ones_there_are(word: str) -> None:
    name, chosen, right = WORDS[word]
    with pytest.raises(ValueError, match=word) as refusal:
        CATALOGUE[name].build(DATA, **chosen)
    assert right in str(refusal.value)


def test_row_30_a_flag_takes_true_or_false_alone() -> None:
    for wrong in ("no", "false", 0, 1, None):
        with pytest.raises(ValueError, match="both_sides must be True or False"):
            tm.zero_one_bilinear(DATA, penalty=1.0, both_sides=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("solve", "c_scv", "--data", "FILE"), ("'c_scv'", "did you mean c_svc?")),
        (("solve", "c_svc", "--data", "FILE", "--set", "c=1"), ("'c'", "did you mean C?")),
        (
            ("solve", "c_svc", "--data", "FILE", "--set", "C=1", "normalize=zscore"),
            ("'normalize'", "did you mean normalise?"),
        ),
        (
            ("solve", "c_svc", "--data", "FILE", "--set", "C=1", "--solver", "HiGS"),
            ("'HiGS'", "did you mean highs?"),
        ),
        (
            ("solve", "c_svc", "--data", "FILE", "--set", "C=1", "--solvr", "highs"),
            ("--solvr", "--solver"),
        ),
        (("slove", "c_svc", "--data", "FILE"), ("'slove'", "'solve'")),
        (
            ("solve", "c_svc", "--data", "sklearn:breast_cancr", "--set", "C=1"),
            ("'breast_cancr'", "did you mean 'breast_cancer'?"),
        ),
        (
            ("solve", "c_svc", "--data", "synthetic:clustered,n=9,sgma=2", "--set", "C=1"),
            ("'sgma'", "did you mean 'sigma'?"),
        ),
        (("show", "conic_spd"), ("'conic_spd'", "did you mean conic_sdp")),
        (
            ("compare", "conic_sdp:penalt=1", "--data", "FILE"),
            ("'penalt'", "did you mean penalty?"),
        ),
    ],
)
def test_row_30_the_command_line_answers_in_one_line(
    words: tuple[str, ...], parts: tuple[str, ...], tmp_path: Path
) -> None:
    file = write_csv(tmp_path / "points.csv", DATA)
    answer = run(*(file if word == "FILE" else word for word in words))
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
