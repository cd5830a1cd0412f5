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

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker, tiny_models
from tests.solvers.proof_files.mutations import mutated
from tests.solvers.proof_files.rewritten_models import is_solvable, rebuilt
from tests.solvers.proof_files.tiny_models import INFEASIBLE, OPTIMA, UNBOUNDED
from tightmargin.solvers import Status, solve

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


def test_the_tiny_models_are_written_again_as_they_were(
    files: Mapping[Any, dict[str, Any]],
) -> None:
    for build in (tiny_models.qp_connected, tiny_models.product, tiny_models.matrix):
        result = solve(rebuilt(files[build]["model"]))
        assert result.objective == pytest.approx(float(OPTIMA[build]), abs=1e-6)
