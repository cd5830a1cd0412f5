"""Proof files of models with exp and log: closed forms, forgeries, and a second checker."""

from __future__ import annotations

import copy
import random
import subprocess
import sys
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from pyomo.environ import exp, log

import tightmargin as tm
from tests.conformance.exponential_problems import INFEASIBLE, OPTIMA, UNBOUNDED, Build, two
from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker
from tests.solvers.proof_files.documents import hand_model, proof
from tests.solvers.proof_files.mutations import mutated
from tightmargin.solvers import Verdict

SOURCE = Path(checker.__file__)


def written(build: Build, path: Path, verdict: Verdict = Verdict.CERTIFIED) -> dict[str, Any]:
    result = tm.solve(build(), proof=path)
    assert result.certificate.verdict is verdict, result
    assert path.exists(), result.message
    document = checker.read(str(path))
    assert second_checker.decides(document)
    return document


@pytest.mark.parametrize("name", OPTIMA)
def test_an_optimum_lies_between_what_the_file_proves(tmp_path: Path, name: str) -> None:
    build, optimum = OPTIMA[name]
    found = checker.check(written(build, tmp_path / "proof.json"))
    assert found.kind == "optimum"
    assert found.lower is not None
    assert found.upper is not None
    low, high = float(found.lower + found.model.constant), float(found.upper + found.model.constant)
    assert low <= optimum + 4e-16
    assert optimum <= high + 4e-16
    assert high - low <= 1e-6 * max(1.0, abs(optimum))


@pytest.mark.parametrize("name", INFEASIBLE)
def test_a_model_without_a_point_is_proven_to_have_none(tmp_path: Path, name: str) -> None:
    document = written(INFEASIBLE[name], tmp_path / "proof.json.gz")
    assert checker.check(document).kind == "infeasible"


@pytest.mark.parametrize("name", UNBOUNDED)
def test_a_model_without_a_least_value_is_proven_to_have_none(tmp_path: Path, name: str) -> None:
    assert checker.check(written(UNBOUNDED[name], tmp_path / "proof.json")).kind == "unbounded"


@pytest.mark.parametrize(
    ("build", "status"),
    [
        # exp(y) > 0 is never proven from multipliers to exclude exp(y) <= 0, nor a ray for log.
        (two(goal=lambda m: exp(m.x), a=lambda m: exp(m.y) <= 0), None),
        (two(gain=lambda m: log(m.x)), None),
        # Barely feasible ones: the other side of the models above.
        (
            two(goal=lambda m: m.x, a=lambda m: exp(m.x) <= m.y, b=lambda m: m.y <= m.x + 1.01),
            "optimal",
        ),
        (two(goal=lambda m: m.y**2, a=lambda m: m.x * log(m.x) <= -0.36), "optimal"),
    ],
)  # fmt: skip
def test_what_is_not_so_is_not_certified(build: Build, status: str | None) -> None:
    result = tm.solve(build())
    if status is None:
        assert result.certificate.verdict is not Verdict.CERTIFIED
    else:
        assert result.status == status


@pytest.mark.parametrize("regulariser", ["ridge", "l1", "group"])
def test_the_deviance_has_files_that_the_lone_checker_accepts(
    tmp_path: Path, regulariser: str
) -> None:
    data = tm.data.outlier_data("clustered", n=10, d=3, sigma=0.5, seed=1)
    groups = {"groups": [0, 0, 1]} if regulariser == "group" else {}
    model = tm.deviance_svc(data, price=0.02, regulariser=regulariser, **groups)
    path = tmp_path / "proof.json"
    written(lambda: model, path)
    told = subprocess.run(
        [sys.executable, "-I", str(SOURCE), str(path)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout
    assert "CERTIFIED" in told.stdout


def test_integers_beside_exp_have_no_file(tmp_path: Path) -> None:
    model = OPTIMA["square"][0]()
    model.y.domain = pyo.Integers
    model.y.setlb(0)
    model.y.setub(3)
    result = tm.solve(model, time_limit=20, proof=tmp_path / "proof.json")
    assert result.certificate.verdict is not Verdict.CERTIFIED
    assert "files of models with exp and log are for continuous variables" in result.message
    assert not (tmp_path / "proof.json").exists()


def by_hand() -> dict[str, Any]:
    """exp(x) - x: with the slope 1 the tangent is t - x >= 1, and at (0, 1) both are met."""
    term = {"function": "exp", "column": 1, "parts": [["1", [[0, "1"]]]]}
    model = hand_model(2, objective={"linear": [[0, "-1"], [1, "1"]]}, terms=[term])
    steps = [{"tangents": [[0, "1", ["1"]]]}]
    bound = {"objective": "1", "rows": [[0, "1"]]}
    return proof(model, "1", "1", ["0", "1"], steps=steps, bound=bound)


def test_what_is_worked_by_hand_is_proven() -> None:
    assert checker.check(by_hand()).kind == "optimum"
    assert second_checker.decides(by_hand())
    for place, value, word in (
        (("steps", 0, "tangents", 0, 2, 0), "2", "claims more than it proves"),
        (("steps", 0, "tangents", 0, 2), [], "no such tangent"),
        (("steps", 0, "tangents", 0, 0), 1, "no such index"),
        (("model", "terms", 0, "parts", 0, 0), "2", "its parts are not those of a term"),
        (("model", "terms", 0, "function"), "log", "is not positive"),
        (("point", 1), f"{10**60 - 1}/{10**60}", "misses term 0"),
    ):
        document = by_hand()
        part: Any = document
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        assert word in rejected(document)


# --- forgeries -----------------------------------------------------------------------------------


def rejected(document: dict[str, Any]) -> str:
    assert not second_checker.decides(document)
    with pytest.raises(checker.ProofError) as caught:
        checker.check(document)
    return str(caught.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("proofs")
    builds = {name: build for name, (build, _) in OPTIMA.items()}
    builds |= {f"infeasible {name}": build for name, build in INFEASIBLE.items()}
    builds |= {f"unbounded {name}": build for name, build in UNBOUNDED.items()}
    return {name: written(build, folder / f"{name}.json") for name, build in builds.items()}


def shifted(text: str, by: Fraction) -> str:
    return str(checker.number(text, "") + by)


def test_forged_parts_are_rejected(files: dict[str, dict[str, Any]]) -> None:
    little = Fraction(1, 10**30)
    for name in OPTIMA:
        document = copy.deepcopy(files[name])
        for tangent in document["steps"][0]["tangents"]:
            if tangent[2]:  # as much as it proves, and a little more
                tangent[1] = shifted(tangent[1], Fraction(1, 10**9))
        assert "claims more than it proves" in rejected(document)
        document = copy.deepcopy(files[name])
        column = document["model"]["terms"][0]["column"]
        document["point"][column] = shifted(document["point"][column], -Fraction(1, 10**6))
        assert "the point misses" in rejected(document)
        for end, way in (("lower", 1), ("upper", -1)):
            document = copy.deepcopy(files[name])
            by = way * Fraction(1, 10**5)
            document["claim"][end] = shifted(document["claim"][end], by)
            assert rejected(document)
    document = copy.deepcopy(files["unbounded exp"])
    document["ray"] = [str(-checker.number(v, "")) for v in document["ray"]]
    assert "the ray leaves" in rejected(document)
    document = copy.deepcopy(files["sum"])
    document["model"]["terms"][0]["function"] = "cosine"
    assert "no such function" in rejected(document)
    document = copy.deepcopy(files["sum"])
    shares = next(s for _, _, s in document["steps"][0]["tangents"] if "0x0.0p+0" not in s)
    shares[0] = shifted(shares[0], little)
    assert "slopes of nothing" in rejected(document)


def test_no_mutation_is_accepted_with_a_false_claim(files: dict[str, dict[str, Any]]) -> None:
    """Both checkers say the same of each, and of the model as it was no more than is true."""
    dice, tally = random.Random(23), Counter[str]()
    names = list(files)
    for k in range(240):
        name = names[k % len(names)]
        document, place = mutated(files[name], dice)
        try:
            found = checker.check(document)
        except checker.ProofError:
            told = False
        else:
            told = True
        assert second_checker.decides(document) == told, (name, place)
        if not told or document["model"] != files[name]["model"]:
            tally["rejected" if not told else "another model"] += 1
            continue
        tally["accepted"] += 1
        if name not in OPTIMA:
            assert found.kind == name.split()[0], (name, place)
            continue
        optimum, constant = OPTIMA[name][1], found.model.constant
        assert found.lower is None or float(found.lower + constant) <= optimum + 4e-16, place
        assert found.upper is None or float(found.upper + constant) >= optimum - 4e-16, place
    assert tally["rejected"] > 120, tally
    assert tally["accepted"] > 5, tally


# --- the series of the checker -------------------------------------------------------------------


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def test_exp_and_log_lie_between_their_ends() -> None:
    """Against decimal arithmetic, whose exp and ln are correctly rounded."""
    dice = random.Random(1)
    numbers = [Fraction(dice.choice((-1, 1)) * 10 ** dice.uniform(-25, 2.8)) for _ in range(200)]
    numbers += [Fraction(k, 7) for k in range(-30, 30)] + [Fraction(3000), Fraction(-3000)]
    with localcontext() as context:
        context.prec = 100
        slack = Decimal(10) ** -90
        for x in numbers:
            low, high = checker.exp_ends(x)
            truth = decimal(x).exp()
            assert decimal(low) <= truth * (1 + slack)
            assert truth <= decimal(high) * (1 + slack)
            assert high - low <= high / 2**200
            y = abs(x) or Fraction(1)
            low, high = checker.log_ends(y)
            truth = decimal(y).ln()
            assert decimal(low) - slack <= truth <= decimal(high) + slack
            assert high - low <= Fraction(1, 2**220)
    assert checker.exp_ends(Fraction(0)) == (1, 1)
    assert checker.log_ends(Fraction(1)) == (0, 0)
    low, high = checker.exp_ends(Fraction(-(10**6)))
    assert low == 0 < high < Fraction(1, 10**1000)
    for bad in (lambda: checker.log_ends(Fraction(0)), lambda: checker.exp_ends(Fraction(10**6))):
        with pytest.raises(checker.ProofError):
            bad()
