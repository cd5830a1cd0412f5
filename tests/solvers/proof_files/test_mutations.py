"""Of 1,000 proof files with one thing changed, none is accepted with a false claim.

Where the model is as it was, its minimum is known by hand. Where the model was changed, another
solve decides: the changed model is written in Pyomo again, and what is claimed of it must not
contradict what is found there.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.solvers.proof_files import second_checker, tiny_models
from tests.solvers.proof_files.mutations import holder, is_number, mutated, places
from tests.solvers.proof_files.tiny_models import INFEASIBLE, OPTIMA, UNBOUNDED
from tightmargin.formulations.modeling.semidefinite import psd
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.proof_files import checker
from tightmargin.solvers.result import Status

COUNT = 1000
# Of max(1, |minimum|): how far a solve of the changed model may be off.
MARGIN = 1e-5


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, dict[str, Any]]:
    """A real proof file of each tiny model."""
    folder: Path = tmp_path_factory.mktemp("proofs")
    found = {}
    for build in OPTIMA:
        path = folder / f"{build.__name__}.json"
        result = solve(build(), proof=path)
        assert path.exists(), result.message
        found[build] = checker.read(str(path))
    return found


def accepted(document: Any) -> checker.Proof | None:
    try:
        return checker.check(document)
    except checker.ProofError:
        return None


def test_no_mutation_is_accepted_with_a_false_claim(files: Mapping[Any, dict[str, Any]]) -> None:
    tally: Counter[str] = Counter()
    dice = random.Random(20)
    builders = list(OPTIMA)
    for k in range(COUNT):
        build = builders[k % len(builders)]
        document, place = files[build], ""
        while document == files[build]:
            document, place = mutated(files[build], dice)
        proof = accepted(document)
        if proof is None:
            tally["rejected"] += 1
            continue
        assert second_checker.decides(document), (k, build.__name__, place)
        if document["model"] == files[build]["model"]:
            tally["another proof of a true claim"] += 1
            assert holds(proof, OPTIMA[build]), (k, build.__name__, place)
        elif is_solvable(document["model"]):
            tally["a true claim on another model"] += 1
            assert holds_of_another(proof, document), (k, build.__name__, place)
        else:
            tally["numbers that no solver takes"] += 1
    assert sum(tally.values()) == COUNT
    assert tally["rejected"] > 500, tally
    assert tally["another proof of a true claim"] > 20, tally
    assert tally["a true claim on another model"] > 20, tally


def test_the_second_checker_rejects_what_the_first_one_does(
    files: Mapping[Any, dict[str, Any]],
) -> None:
    dice = random.Random(4)
    for k in range(150):
        build = list(OPTIMA)[k % len(OPTIMA)]
        document, place = mutated(files[build], dice)
        told = accepted(document) is not None
        assert second_checker.decides(document) == told, (k, build.__name__, place)


def holds(proof: checker.Proof, minimum: Fraction | str) -> bool:
    """Whether a claim is true of a model whose minimum is known exactly."""
    if minimum in (INFEASIBLE, UNBOUNDED):
        below = proof.kind == "bounds" and minimum == INFEASIBLE and proof.upper is None
        above = proof.kind == "bounds" and minimum == UNBOUNDED and proof.lower is None
        return below or above or proof.kind == minimum
    assert isinstance(minimum, Fraction)
    low, high = proof.lower, proof.upper
    constant = proof.model.constant
    right = low is None or low + constant <= minimum
    return (
        proof.kind in ("optimum", "bounds")
        and right
        and (high is None or high + constant >= minimum)
    )


def is_solvable(written: Mapping[str, Any]) -> bool:
    """Whether the numbers of a model are of a size that solvers can be asked about."""
    texts = [holder(written, at)[at[-1]] for at in places(written, str)]
    numbers = [abs(float.fromhex(text)) for text in texts if is_number(text) and "p" in text]
    return all(number == 0 or 1e-6 <= number <= 1e6 for number in numbers)


def holds_of_another(proof: checker.Proof, document: Mapping[str, Any]) -> bool:
    """Whether a claim agrees with another solve of the changed model."""
    result = solve(rebuilt(document["model"]), time_limit=20)
    if proof.kind == "infeasible":
        return result.status is Status.INFEASIBLE
    if proof.kind == "unbounded":
        return result.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
    if proof.lower is not None and proof.upper is None and result.status is Status.INFEASIBLE:
        return True
    assert result.objective is not None, result.message
    allowed = MARGIN * max(1.0, abs(result.objective))
    constant = proof.model.constant
    low = -math.inf if proof.lower is None else float(proof.lower + constant)
    high = math.inf if proof.upper is None else float(proof.upper + constant)
    return low <= result.objective + allowed and high >= result.objective - allowed


def rebuilt(written: Mapping[str, Any]) -> pyo.ConcreteModel:
    """The model of a document in Pyomo, read by nothing of the project's."""

    def value(text: str) -> float:
        if "p" in text:
            return float.fromhex(text)
        above, _, below = text.partition("/")
        return int(above, 0) / int(below or "1", 0)

    def end(text: str | None) -> float | None:
        return None if text is None else value(text)

    def polynomial(part: Mapping[str, Any]) -> Any:
        total = sum(value(c) * m.x[j] for j, c in part["linear"])
        total = total + sum(value(c) * m.x[i] * m.x[j] for i, j, c in part.get("products", ()))
        return total + value(part.get("constant", "0"))

    m = pyo.ConcreteModel()
    n = len(written["variables"])
    ends = list(zip(map(end, written["lower"]), map(end, written["upper"]), strict=True))
    m.x = pyo.Var(range(n), bounds=lambda _, j: ends[j])
    m.goal = pyo.Objective(expr=polynomial(written["objective"]) + 0 * m.x[0])
    m.rows = pyo.ConstraintList()
    for row in [*written["rows"], *written["quadratic"]]:
        body = polynomial(row)
        low, high = end(row["lower"]), end(row["upper"])
        if isinstance(body, int | float):
            assert low is None or low <= body, "a row that is false"
            assert high is None or body <= high, "a row that is false"
        elif low is not None or high is not None:
            m.rows.add((low, body, high))
    for k, row in enumerate(written["psd"]):
        lines: list[list[Any]] = [[0.0] * (i + 1) for i in range(row["order"])]
        for i, j, constant, linear in row["entries"]:
            lines[i][j] = value(constant) + sum(value(c) * m.x[at] for at, c in linear)
        psd(m, f"psd_{k}", lines)
    return m


def test_the_tiny_models_are_written_again_as_they_were(
    files: Mapping[Any, dict[str, Any]],
) -> None:
    for build in (tiny_models.qp_connected, tiny_models.product, tiny_models.matrix):
        result = solve(rebuilt(files[build]["model"]))
        assert result.objective == pytest.approx(float(OPTIMA[build]), abs=1e-6)
