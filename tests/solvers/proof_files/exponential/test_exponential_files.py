"""Proof files of models with exp and log: closed forms, forgeries, and a second checker."""

from __future__ import annotations

import copy
import functools
import random
import subprocess
import sys
import tempfile
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
from tests.solvers.proof_files.documents import hand_model, proof
from tests.solvers.proof_files.test_checker import changed, rejected
from tests.solvers.proof_files.written_files import holds
from tests.support.both_checkers import accepted
from tightmargin.solvers import Verdict


def written(build: Build, path: Path) -> dict[str, Any]:
    result = tm.solve(build(), proof=path)
    assert result.certificate.verdict is Verdict.CERTIFIED, result
    assert path.exists(), result.message
    return checker.read(str(path))


@functools.cache
def exponential_files() -> dict[str, tuple[dict[str, Any], Any]]:
    """A real file of each model, and its minimum."""
    builds = {name: (build, optimum) for name, (build, optimum) in OPTIMA.items()}
    builds |= {f"infeasible {name}": (build, "infeasible") for name, build in INFEASIBLE.items()}
    builds |= {f"unbounded {name}": (build, "unbounded") for name, build in UNBOUNDED.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        return {name: (written(build, path), least) for name, (build, least) in builds.items()}


def test_a_file_proves_what_is_known() -> None:
    """The optimum in closed form, or that there is no point, or no least value."""
    for name, (document, least) in exponential_files().items():
        found = accepted(document)
        assert found is not None, name
        assert found.kind == (least if isinstance(least, str) else "optimum"), name
        assert holds(found, least, 4e-16, 4e-16), name
        if found.kind == "optimum":
            assert found.upper - found.lower <= Fraction(1, 10**6) * max(1, abs(Fraction(least)))


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
    assert accepted(written(lambda: model, path)) is not None
    if regulariser == "ridge":
        command = [sys.executable, "-I", checker.__file__, str(path)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (told.returncode, "CERTIFIED" in told.stdout) == (0, True)


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
    assert accepted(by_hand()).kind == "optimum"
    for place, value, word in (
        (("steps", 0, "tangents", 0, 2, 0), "2", "claims more than it proves"),
        (("steps", 0, "tangents", 0, 2), [], "no such tangent"),
        (("steps", 0, "tangents", 0, 0), 1, "no such index"),
        (("model", "terms", 0, "parts", 0, 0), "2", "its parts are not those of a term"),
        (("model", "terms", 0, "function"), "log", "is not positive"),
        (("point", 1), f"{10**60 - 1}/{10**60}", "misses term 0"),
    ):
        assert word in rejected(changed(by_hand(), *place, to=value))


# --- forgeries -----------------------------------------------------------------------------------


def shifted(text: str, by: Fraction) -> str:
    return str(checker.number(text, "") + by)


def test_forged_parts_are_rejected() -> None:
    files = {name: document for name, (document, _) in exponential_files().items()}
    for name in OPTIMA:
        whole = files[name]
        tight = copy.deepcopy(whole)
        for tangent in tight["steps"][0]["tangents"]:
            if tangent[2]:  # as much as it proves, and a little more
                tangent[1] = shifted(tangent[1], Fraction(1, 10**9))
        assert "claims more than it proves" in rejected(tight)
        column = whole["model"]["terms"][0]["column"]
        below = shifted(whole["point"][column], -Fraction(1, 10**6))
        assert "the point misses" in rejected(changed(whole, "point", column, to=below))
        for end, by in (("lower", Fraction(1, 10**5)), ("upper", -Fraction(1, 10**5))):
            more = shifted(whole["claim"][end], by)
            assert rejected(changed(whole, "claim", end, to=more))
    unbounded = files["unbounded exp"]
    back = [str(-checker.number(v, "")) for v in unbounded["ray"]]
    assert "the ray leaves" in rejected(unbounded | {"ray": back})
    cosine = changed(files["sum"], "model", "terms", 0, "function", to="cosine")
    assert "no such function" in rejected(cosine)
    document = copy.deepcopy(files["sum"])
    shares = next(s for _, _, s in document["steps"][0]["tangents"] if "0x0.0p+0" not in s)
    shares[0] = shifted(shares[0], Fraction(1, 10**30))
    assert "slopes of nothing" in rejected(document)


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
