"""Files that lie, each with a checksum that fits: none is confirmed with a false number."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import CASES, OVERLAPPING, SEPARABLE
from tests.experiments.saved_results.honest import BY_TREE, kept
from tests.inside.experiments import same_fact
from tests.inside.solvers import DERIVED, checksum
from tests.support.command_line import Answer, run, write_csv
from tests.support.covering import FULL

Document = dict[str, Any]

METHODS = {
    "zero_one_big_m": ("conflict-search",),
    "extended_nu_svc": ("hull", "cutting-plane"),
    "rsvm": ("interior", "decomposition"),
    "rsvm_dual": ("segments",),
}
FILES = [(name, "auto") for name in sorted(set(CASES) - set(BY_TREE))]
FILES += [(name, method) for name, methods in METHODS.items() for method in methods]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged")


def honest(name: str, method: str = "auto") -> Any:
    """A saved result, which is confirmed as it is: what is false in a change of it is known."""
    return json.loads(kept(name, method).read_text())


def certified(folder: Path, document: Document, change: Callable[[Document], Any]) -> Answer:
    """What certify says of a document after a change, with a checksum that fits."""
    forged = copy.deepcopy(document)
    for name in ("sha256", *DERIVED):
        forged.pop(name, None)
    change(forged)
    forged["sha256"] = checksum(forged)
    (folder / "forged.json").write_text(json.dumps(forged))
    return run("certify", folder / "forged.json", "--json")


def assert_refused(answer: Answer) -> None:
    assert answer.code in (1, 2)
    if answer.code == 1:
        assert answer.json["certificate"]["verdict"] == "NOT_CERTIFIED"
        assert "NOT_CERTIFIED" in answer.stderr


# --- numbers ------------------------------------------------------------------------------------


def moved(document: Document, name: str, share: float) -> float:
    """A number as far from a saved one as matters, whatever its size."""
    number = float(document[name])
    return number + share * max(abs(number), 0.01)


def other_values(document: Document, turn: int) -> list[Callable[[Document], None]]:
    """A better value stated everywhere, and in turn a worse or a wild one or a better bound."""

    def everywhere(share: float) -> Callable[[Document], None]:
        def change(forged: Document) -> None:
            value = moved(document, "objective", share)
            forged.update(objective=value, bound=value)
            forged["certificate"].update(
                bound=value, gap=0.0, solver_bound=value, verdict="CERTIFIED"
            )

        return change

    def raised_bound(forged: Document) -> None:
        value = moved(document, "objective", 0.1)
        forged["bound"] = forged["certificate"]["bound"] = value

    def one_bound(forged: Document) -> None:
        forged["bound"] = moved(document, "objective", 0.1)

    others = [everywhere(0.1), everywhere(1e9), raised_bound, one_bound]
    return [everywhere(-0.1), *(others if FULL else [others[turn % 4]])]


def refuse_other_variables(document: Document, folder: Path) -> None:
    """Any array of the point, moved as a whole; by how much is far beyond any tolerance."""
    names = list(document["values"])
    free = ["b", "value_at_risk"]
    moves = (
        lambda x: x + 1.0 + np.arange(x.size).reshape(x.shape),
        lambda x: 0 * x + 1e20,
        lambda x: 3 * x + 0.5,
    )
    for k, variable in enumerate(names[:: max(1, len(names) // (6 if FULL else 2))]):
        values = moves[k % 3](np.asarray(document["values"][variable], dtype=float))
        forged = {variable: values.tolist()}
        answer = certified(folder, document, lambda d, v=forged: d["values"].update(v))
        if answer.code == 0:  # a point as good: the intercept of the optimum is an interval
            assert variable in free, variable
            again = answer.json["numbers"]["objective"]
            assert again["recomputed"] == pytest.approx(document["objective"], rel=1e-9)
        else:
            assert_refused(answer)


def refuse_other_facts(document: Document, folder: Path) -> None:
    """Facts are computed again or named as unchecked."""
    facts = document["certificate"]["facts"]
    numbers = [word for word in facts if type(facts[word]) in (int, float)]
    for word in numbers[:: 1 if FULL else max(1, len(numbers) // 2)]:
        saved = facts[word]
        forged = {word: saved + 7}
        answer = certified(
            folder, document, lambda d, v=forged: d["certificate"]["facts"].update(v)
        )
        if answer.code == 0:
            assert word.replace("_", " ") in answer.json["unchecked"]
        else:
            assert_refused(answer)


@pytest.mark.parametrize(("name", "method"), FILES)
def test_no_number_of_an_entry_or_a_method_is_believed(
    name: str, method: str, folder: Path
) -> None:
    document, turn = honest(name, method), FILES.index((name, method))
    if method != "auto":
        assert run("certify", kept(name, method)).code == 0
    for change in other_values(document, turn):
        assert_refused(certified(folder, document, change))
    refuse_other_variables(document, folder)
    refuse_other_facts(document, folder)


@pytest.mark.parametrize("name", ["c_svc", "zero_one_big_m", "conic_sdp", "rsvm", "min_cvar"])
def test_variables_that_are_missing_or_none(name: str, folder: Path) -> None:
    document = honest(name)
    for variable in document["values"]:

        def without(forged: Document, variable: str = variable) -> None:
            del forged["values"][variable]

        def short(forged: Document, variable: str = variable) -> None:
            forged["values"][variable] = [1.0]

        for change in (without, short):
            assert_refused(certified(folder, document, change))


# --- bounds and what they rest on ---------------------------------------------------------------


def test_a_0_1_result_with_w_at_zero_and_a_huge_strengthening(folder: Path) -> None:
    """w = 0 pays for every point; the optimum is known to be less, whatever gamma is stated."""
    document = honest("zero_one_big_m", "conflict-search")
    n, penalty = CASES["zero_one_big_m"].data.n, 1.3
    assert document["objective"] < n * penalty
    for size in (1e-3, 1.0, 1e10, 1e20, 1e300, -1.0):

        def change(forged: Document, size: float = size) -> None:
            forged["values"] |= {"w": [0.0, 0.0], "b": 0.0, "z": [1.0] * n}
            forged |= {"objective": n * penalty, "bound": n * penalty, "status": "optimal"}
            forged["certificate"] |= {"bound": n * penalty, "verdict": "CERTIFIED", "gap": 0.0}
            forged["certificate"]["facts"] = {"relaxation_strengthening": [size] * n}

        answer = certified(folder, document, change)
        assert_refused(answer)
        bound = answer.json["numbers"]["bound"]["recomputed"]
        assert bound is None or bound <= document["objective"] * (1 + 1e-6)


# --- one number or word of a file ---------------------------------------------------------------

HYPERPARAMETERS = [
    ("c_svc", "C"), ("soft_margin_svc", "ridge"), ("weighted_svc", "pi"), ("nu_svc", "nu"),
    ("extended_nu_svc", "nu"), ("min_cvar", "beta"), ("rsvm", "norm_bound"),
    ("zero_one_big_m", "penalty"), ("conic_sdp", "penalty"), ("conic_sdp_budget", "budget"),
    ("reduced_hull_svc", "hull_bound"), ("multiclass_hinge", "ridge"),
    ("matrix_svc_nuclear", "tau"), ("ramp_big_m", "C"),
]  # fmt: skip
# Bounds that leave the optimum out, with words for a proof, beside an honest relaxation.
DREAMT = {
    "lower": [-1e-3] * OVERLAPPING.n, "upper": [1e-3] * OVERLAPPING.n, "norm2": 1e-3,
    "intercept": [-1e-3, 1e-3], "cutoff": 1e-3, "proof": "seen in a dream", "conflicts": [],
}  # fmt: skip


def times(factor: float) -> Callable[[Any], Any]:
    return lambda saved: factor * saved


def elsewhere(record: Any) -> Any:
    """Every number in the record of the preparation, moved."""
    if isinstance(record, dict):
        return {k: elsewhere(v) for k, v in record.items()}
    if isinstance(record, list):
        return [elsewhere(v) for v in record]
    return record * 1.1 + 0.1 if isinstance(record, float) else record


# Entry, place in its file, what is written there or becomes of what is, and a word of the refusal.
LIES: list[tuple[str, str, list[Any], str]] = [
    *((name, f"parameters.{word}", [times(0.9), times(1.05), times(-1), 1e30, "many", None], "")
      for name, word in HYPERPARAMETERS),
    ("conic_sdp_strengthened", "parameters.slack_bounds", [DREAMT], ""),
    ("conic_sdp_strengthened", "parameters.conflicts", [[[0, 1], [2, 3], [4, 5], [6, 7]]], ""),
    ("c_svc", "normalisation", [elsewhere, {}], ""),
    *(("matrix_svc_projection", f"values.P.{at}", [0.0], "") for at in ("0.1", "1.0")),
    *(("conic_sdp", f"values.W.{at}", [0.0], "") for at in ("0.1", "1.0")),
    ("zero_one_big_m", "certificate.facts.errors", [0], "the saved errors 0"),
    ("zero_one_big_m", "certificate.facts.violations", [0], "the saved violations 0"),
    *((name, place, [times(1 - 1e-6)], word) for name in ("conic_sdp", "zero_one_big_m")
      for place, word in (("objective", "objective"), ("certificate.upper", "upper end"))),
    *((name, "bound", [times(1.01)], "exceeds") for name in ("conic_sdp", "zero_one_big_m")),
    ("c_svc", "duals.margin", [[0.0] * OVERLAPPING.n], "could not be proven again"),
    ("c_svc", "certificate.gap", [0.5], ""),
    ("zero_one_big_m", "certificate.gap", [-1.0], ""),
    ("extended_nu_svc", "certificate.gap", [0.5], ""),
    ("c_svc", "certificate.primal_residual", [1e20], ""),
    ("zero_one_big_m", "certificate.primal_residual", [-1.0], ""),
    ("c_svc", "certificate.solver_bound", [1e3], "exceeds the objective"),
    ("zero_one_big_m", "certificate.solver_bound", [1e3], "exceeds the objective"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "place", "values", "word"), LIES)
def test_no_other_number_or_word_is_believed(
    name: str, place: str, values: list[Any], word: str, folder: Path
) -> None:
    document = honest(name)
    steps = [int(step) if step.isdigit() else step for step in place.split(".")]
    saved: Any = document
    for step in steps:
        saved = saved[step]
    for value in values:
        lie = value(saved) if callable(value) else value
        assert lie != saved

        def change(forged: Any, lie: Any = lie) -> None:
            for step in steps[:-1]:
                forged = forged[step]
            forged[steps[-1]] = lie

        answer = certified(folder, document, change)
        assert_refused(answer)
        assert word in answer.stderr


def test_a_verdict_or_a_status_is_not_made_of_nothing(folder: Path) -> None:
    """A point is no proof that there is none, and a solver's bound needs a number."""
    for name, status, verdict, bound in (
        ("zero_one_big_m", "optimal", "SOLVER_BOUND", None),
        *(("c_svc", status, verdict, 0.0)
          for status in ("infeasible", "unbounded")
          for verdict in ("CERTIFIED", "SOLVER_BOUND", "NOT_CERTIFIED")),
    ):  # fmt: skip

        def change(
            forged: Document, status: str = status, verdict: str = verdict, bound: Any = bound
        ) -> None:
            forged.update(status=status)
            forged["certificate"].update(verdict=verdict, solver_bound=bound)

        assert_refused(certified(folder, honest(name), change))


@pytest.mark.parametrize("name", ["zero_one_relaxed", "zero_one_hinge", "ramp_relaxed"])
def test_an_m_that_is_too_small_makes_no_relaxation(name: str, folder: Path) -> None:
    """Solved honestly with an M of 2, then stated to bound the problem of the paper."""
    points = write_csv(folder / "small.csv", OVERLAPPING)
    price = "C=0.7" if name.startswith("ramp") else "penalty=1.3"
    out = folder / f"small-{name}.json"
    run("solve", name, "--data", points, "--set", price, "big_m=2", "--out", out)
    document = json.loads(out.read_text())
    assert "below the proven value" in document["certificate"]["unproven"]
    answer = certified(
        folder, document, lambda d: d["certificate"].update(unproven="", verdict="CERTIFIED")
    )
    assert_refused(answer)


def test_an_infeasible_file_without_its_multipliers(folder: Path) -> None:
    """The truth: overlapping classes have no hard margin; the file of separable ones lies."""
    data, out = write_csv(folder / "hard.csv", OVERLAPPING), folder / "hard.json"
    assert run("solve", "hard_margin_svc", "--data", data, "--out", out).code == 3
    document = json.loads(out.read_text())
    rows = {row: np.zeros_like(np.asarray(a)).tolist() for row, a in document["duals"].items()}
    turned = {row: (-np.asarray(a)).tolist() for row, a in document["duals"].items()}
    for duals in ({}, rows, turned):
        assert_refused(certified(folder, document, lambda d, m=duals: d.update(duals=m)))
    for number in (0.0, 1.0):
        assert_refused(certified(folder, document, lambda d, v=number: d.update(objective=v)))
        assert_refused(certified(folder, document, lambda d, v=number: d.update(bound=v)))
    other = write_csv(folder / "hard.csv", SEPARABLE)
    assert run("certify", out, "--data", other).code == 2


def test_slacks_that_cancel_to_nothing_agree_and_no_others(folder: Path) -> None:
    """1 - y f(x) is 0 up to the last digits of 1 at a margin that every point meets."""
    data, out = write_csv(folder / "apart.csv", SEPARABLE), folder / "apart.json"
    assert run("solve", "c_svc", "--data", data, "--set", "C=1000", "--out", out).code == 0
    document = json.loads(out.read_text())
    assert np.abs(document["values"]["xi"]).max() < 1e-12
    for size, code in ((0.0, 0), (1e-14, 0), (1e-9, 1)):
        slacks = [size] * SEPARABLE.n
        answer = certified(folder, document, lambda d, s=slacks: d["values"].update(xi=s))
        assert answer.code == code, answer.stderr


def test_facts_agree_up_to_arithmetic_and_no_further() -> None:
    same: list[tuple[Any, Any]] = [(3, 3), (0.5, 0.5 + 1e-9), ([1.0, 0.0], [1.0, 1e-9])]
    other = [(3, 4), (0.5, 0.51), ([1.0], [1.0, 1.0]), ({"a": 1.0}, {"b": 1.0}), (True, 1),
             ("proven", "")]  # fmt: skip
    assert all(same_fact(*pair) for pair in [*same, ({"a": 1.0}, {"a": 1.0})])
    assert not any(same_fact(*pair) for pair in other)
