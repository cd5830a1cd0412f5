"""What the checker accepts is worked by hand, and what is forged it rejects."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import math
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import documents, second_checker
from tests.solvers.proof_files.documents import Document, hand_model, proof, row

SOURCE = Path(checker.__file__)


def rejected(document: Any) -> str:
    """Why a document is rejected, by both checkers."""
    assert not second_checker.decides(document)
    with pytest.raises(checker.ProofError) as caught:
        checker.check(document)
    return str(caught.value)


def changed(document: Document, *place: Any, to: Any) -> Document:
    found = copy.deepcopy(document)
    part: Any = found
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = to
    return found


@pytest.mark.parametrize("build", documents.BY_HAND, ids=lambda build: build.__name__)
def test_what_is_worked_by_hand_is_proven(build: Callable[[], Document]) -> None:
    assert checker.check(build()).kind == build()["claim"]["kind"]
    assert second_checker.decides(build())


@pytest.mark.parametrize(
    "build",
    [b for b in documents.BY_HAND if b()["claim"]["kind"] == "optimum"],
    ids=lambda build: build.__name__,
)
def test_no_more_than_the_minimum_is_ever_proven(build: Callable[[], Document]) -> None:
    document = build()
    little = f"1/{10**30}"
    for end, sign in (("lower", "+"), ("upper", "-")):
        value = checker.number(document["claim"][end], "")
        other = value + checker.number(little, "") * (1 if sign == "+" else -1)
        text = f"{other.numerator}/{other.denominator}"
        assert rejected(changed(document, "claim", end, to=text))


def test_sides_that_touch_do_not_cross() -> None:
    for build, part in ((documents.crossing, "rows"), (documents.bent_crossing, "quadratic")):
        document = build()
        assert "not excluded" in rejected(changed(document, "model", part, 0, "lower", to="1"))


def test_multipliers_of_another_model_prove_nothing() -> None:
    document = documents.lp() | {"bound": documents.lp_rational()["bound"]}
    assert "no limit where one is needed" in rejected(document)
    document["model"]["upper"] = ["9", "9"]
    assert "less than `lower`" in rejected(document)


def test_a_point_off_by_the_last_place_is_none() -> None:
    just_below = math.nextafter(1.0, 0.0).hex()
    assert "misses row 0" in rejected(changed(documents.lp(), "point", 0, to=just_below))
    outside = changed(documents.disc(), "point", 0, to=math.nextafter(1.0, 2.0).hex())
    assert "misses quadratic row 0" in rejected(outside)
    short = changed(documents.sdp(), "point", 0, to=math.nextafter(2.0, 0.0).hex())
    assert "psd row 0 at the point" in rejected(short)


def test_a_hidden_negative_curvature_is_found() -> None:
    """(x + y)^2 - 1e-9 x^2 falls without end along (1, -1)."""
    goal = {"products": [[0, 0, (1 - 1e-9).hex()], [1, 0, "2"], [1, 1, "1"]]}
    bound = {"objective": "1"}
    document = proof(hand_model(2, objective=goal), "0", "0", ["0", "0"], bound=bound)
    assert "the curvature of objective is not semidefinite" in rejected(document)
    # Claimed openly it costs what it may, and needs limits for that.
    bends = [{"of": "objective", "least": [[0, "-1/1000000"]]}]
    assert "no limit" in rejected(document | {"curvature": bends})
    model = hand_model(2, objective=goal, lower=["-1", None], upper=["2", None])
    claim = {"kind": "bounds", "lower": "-4/1000000"}
    open_claim = document | {"model": model, "curvature": bends, "claim": claim}
    assert checker.check(open_claim)
    assert second_checker.decides(open_claim)
    assert rejected(changed(open_claim, "claim", "lower", to="-3999/1000000000"))


def test_the_wrong_root_of_a_cone_is_none() -> None:
    """Below 0, t^2 >= 25 says that t <= -5."""
    free = changed(documents.norm(), "model", "lower", 2, to=None)
    assert "no limit where one is needed" in rejected(free)
    below = changed(free, "model", "upper", 2, to="0") | {"claim": {"kind": "bounds", "lower": "5"}}
    assert "no limit where one is needed" in rejected(below)
    a_little = changed(documents.norm(), "model", "lower", 2, to="-1/1000000000")
    assert "a factor may be negative" in rejected(a_little)


def test_the_sign_of_a_root_may_follow_from_a_row() -> None:
    free = changed(documents.norm(), "model", "lower", 2, to=None)
    with_row = changed(free, "model", "rows", to=[row("0", None, [2, "1"])])
    assert rejected(with_row)
    signs = [{"rows": [[0, "1"]]}, {"rows": [[0, "1"]]}]
    proven = changed(with_row, "cones", 0, "signs", to=signs)
    assert checker.check(proven)
    assert second_checker.decides(proven)


def test_a_cone_multiplier_outside_of_the_dual_cone_is_none() -> None:
    more = changed(documents.norm(), "bound", "cones", 0, "direction", 0, 1, to="601/1000")
    assert "outside of the dual cone" in rejected(more)
    negative = changed(documents.product(), "bound", "cones", 0, "alpha", to="-1")
    negative["bound"]["cones"][0]["beta"] = "-4"
    assert "outside of the dual cone" in rejected(negative)


def test_a_multiplier_that_is_barely_indefinite_is_none() -> None:
    less = math.nextafter(1.0, 0.0).hex()
    document = changed(documents.sdp(), "bound", "psd", 0, "matrix", 0, 2, to=less)
    assert "is not semidefinite" in rejected(document)


@pytest.mark.parametrize(("step", "way"), [(0, 1), (1, 1)])
def test_a_limit_too_tight_by_one_place_is_rejected(step: int, way: int) -> None:
    document = documents.by_step()
    exact = document["steps"][step]["columns"][0][2]
    nearest = float(checker.number(exact, ""))
    outside = math.nextafter(nearest, -math.inf)
    assert checker.check(
        changed(document, "steps", step, "columns", 0, 2, to=outside.hex())
        | {"claim": {"kind": "bounds", "lower": "33/100"}}
    )
    inside = math.nextafter(nearest, math.inf)
    tight = changed(document, "steps", step, "columns", 0, 2, to=inside.hex())
    assert f"step {step} claims more of column {step}" in rejected(tight)


def test_a_step_uses_limits_that_are_there_already() -> None:
    document = documents.by_step()
    document["model"]["upper"][0] = None
    assert "step 1 claims more" in rejected(document), "y >= 1 - x asks for a limit of x"


def test_a_limit_from_the_objective_needs_the_upper_end() -> None:
    """x^2 <= 4 at all points that cost at most 4."""
    goal = {"products": [[0, 0, "1"]]}
    curvature = [{"of": "objective", "least": [[0, "1"]]}]
    steps = [{"certificate": {"objective": "1/4"}, "columns": [[0, "1", "-2"], [0, "-1", "2"]]}]
    document = proof(hand_model(1, objective=goal), "0", "4", ["2"], curvature=curvature)
    document |= {"steps": steps, "bound": {"objective": "1"}}
    document["claim"]["kind"] = "bounds"
    assert checker.check(document)
    assert rejected(changed(document, "steps", 0, "columns", 0, 2, to="-1999/1000"))
    assert "upper end" in rejected(changed(document, "claim", to={"kind": "bounds", "lower": "0"}))


def test_a_model_without_columns_has_its_constant() -> None:
    document = proof(hand_model(0), "0", "0", [], bound={"objective": "1"})
    assert checker.check(document).closed()
    assert second_checker.decides(document)
    assert rejected(changed(document, "claim", "lower", to=f"1/{10**40}"))
    assert rejected(document | {"point": ["0"]})


def test_a_row_of_zeros() -> None:
    document = documents.farkas() | {"bound": {"rows": [[0, "1"]]}}
    document["model"] = hand_model(1, rows=[row("1", None)])
    assert checker.check(document).kind == "infeasible"
    assert second_checker.decides(document)
    assert rejected(changed(document, "model", "rows", 0, "lower", to="0"))


def test_limits_that_cross_leave_no_point() -> None:
    document = documents.farkas() | {"bound": {}}
    document["model"] = hand_model(1, lower=["1"], upper=[math.nextafter(1.0, 0.0).hex()])
    assert checker.check(document).kind == "infeasible"
    assert second_checker.decides(document)
    assert rejected(changed(document, "model", "upper", 0, to="1"))


def test_a_ray_that_a_row_stops_is_none() -> None:
    assert "leaves quadratic row 0" in rejected(changed(documents.ray(), "ray", 0, to="1/1000"))
    assert "does not fall" in rejected(changed(documents.ray(), "ray", 1, to="0"))
    assert "misses quadratic row 0" in rejected(changed(documents.ray(), "point", 0, to="1"))


def test_integer_columns_hold_whole_numbers() -> None:
    document = documents.qp()
    document["model"]["integer"] = [1]
    assert "not whole in columns [1]" in rejected(document)


def test_an_open_gap_is_no_optimum() -> None:
    document = changed(documents.lp(), "claim", "lower", to=(1 - 1.1e-6).hex())
    assert "gap is not closed" in rejected(document)
    assert checker.check(changed(document, "claim", "absolute_gap", to="1/100000"))
    assert checker.check(changed(document, "claim", "kind", to="bounds"))
    assert checker.check(changed(document, "claim", "lower", to=(1 - 0.9e-6).hex()))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("point", 0), "nan"),
        (("point", 0), "inf"),
        (("point", 0), 1.0),
        (("point", 0), None),
        (("point", 0), "0x1p+99999"),
        (("point", 0), "0x1.0p-5000"),
        (("point", 0), "0x1.00000000000000001p+0"),
        (("point", 0), "1/0"),
        (("point", 0), "1" * 100_000),
        (("point",), ["1"]),
        (("point",), {"0": "1"}),
        (("model", "rows", 0, "linear", 0, 0), True),
        (("model", "rows", 0, "linear", 0, 0), -1),
        (("model", "rows", 0, "linear", 0, 0), 2),
        (("model", "rows", 0, "linear", 0, 0), 1),
        (("model", "rows", 0), []),
        (("model", "lower"), ["0"]),
        (("model", "objective", "products"), [[0, 1, "1"]]),
        (("model", "extra"), 1),
        (("bound", "rows", 0, 1), "-1"),
        (("bound", "objective"), "0"),
        (("bound", "objective"), "1/2"),
        (("bound", "objective"), "-1"),
        (("curvature",), []),
        (("claim", "kind"), "unbounded"),
        (("claim", "kind"), ["optimum"]),
        (("claim",), {"kind": "bounds"}),
        (("schema",), "tightmargin-proof/2"),
    ],
)
def test_what_is_malformed_is_rejected(place: tuple[Any, ...], value: Any) -> None:
    assert rejected(changed(documents.lp(), *place, to=value))


def test_squares_prove_what_they_sum_to() -> None:
    """2 (x + y)^2 + 1e-20 x^2 is its square and a diagonal; with a minus it is not."""
    least = [[0, "-1/3"], [1, "-1/3"]]
    goal = {"products": [[0, 0, "2"], [1, 0, "4"], [1, 1, "2"]]}
    bends = {"of": "objective", "least": least, "squares": [["2", [[0, "1"], [1, "1"]]]]}
    document = proof(
        hand_model(2, objective=goal, lower=["0", "0"], upper=["1", "1"]), "-1", "0", ["0", "0"],
        curvature=[bends], bound={"objective": "1"},
    )  # fmt: skip
    document["claim"]["kind"] = "bounds"
    assert checker.check(document)
    assert second_checker.decides(document)
    more = changed(document, "curvature", 0, "squares", 0, 0, to="3")
    assert "is not semidefinite" in rejected(more)
    assert "negative weight" in rejected(changed(more, "curvature", 0, "squares", 0, 0, to="-2"))


def test_a_large_matrix_needs_squares() -> None:
    k = checker.LARGEST_ORDER + 1
    ones = [[i, j, "1" if i == j else "2"] for i in range(k) for j in range(i + 1)]
    goal = {"products": ones}
    document = proof(hand_model(k, objective=goal), "0", "0", ["0"] * k, bound={"objective": "1"})
    with pytest.raises(checker.ProofError, match="lacks squares"):
        checker.check(document)
    square = [["1", [[j, "1"] for j in range(k)]]]
    assert checker.check(changed(document, "curvature", 0, "squares", to=square))


# --- alone ---------------------------------------------------------------------------------------


def run(folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """The checker by itself, where no package is."""
    shutil.copy(SOURCE, folder / "checker.py")
    command = [sys.executable, "-I", "-S", str(folder / "checker.py"), str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_it_runs_alone(tmp_path: Path) -> None:
    file = tmp_path / "proof.json.gz"
    file.write_bytes(gzip.compress(json.dumps(documents.qp()).encode()))
    told = run(tmp_path, file)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        "model: 2 columns, 1 linear, 0 quadratic and 0 semidefinite rows",
        "PROVEN: the minimum is at least 0.5",
        "PROVEN: the minimum is at most 0.5",
        "gap: 0.0, which is 0.0 of 0.5: CERTIFIED",
    ]


def damaged_files() -> dict[str, bytes]:
    whole = json.dumps(documents.lp()).encode()
    packed = gzip.compress(whole)
    return {
        "empty.json": b"",
        "truncated.json": whole[:-20],
        "truncated.json.gz": packed[:-12],
        "flipped.json.gz": packed[:40] + bytes([packed[40] ^ 255]) + packed[41:],
        "not_packed.json.gz": whole,
        "not_text.json": bytes(range(256)),
        "deep.json": b"[" * 200_000,
        "list.json": b"[1, 2]",
        "twice.json": whole.replace(b'"claim"', b'"claim": {}, "claim"', 1),
        "nan.json": whole.replace(b'"1"', b"NaN", 1),
        "long.json": whole.replace(b'"1"', b"1" * 5000, 1),
    }


@pytest.mark.parametrize("name", damaged_files())
def test_a_damaged_file_ends_in_one_line(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(damaged_files()[name])
    told = run(tmp_path, file)
    assert told.returncode == 1
    assert told.stderr == ""
    assert told.stdout.startswith("REJECTED: ")
    assert told.stdout.count("\n") == 1


def test_what_is_beyond_a_limit_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * 100_000 + json.dumps(documents.lp()).encode()))
    assert checker.main([str(file)]) == 0
    assert checker.main([str(file), "--size-limit", "50000"]) == checker.LIMIT_REACHED
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "UNDECIDED: the file holds more than 50000 bytes (--size-limit)"
    never = threading.Event()
    monkeypatch.setattr(checker, "check", lambda document: never.wait(30))
    assert checker.main([str(file), "--time-limit", "0.01"]) == checker.LIMIT_REACHED
    never.set()
    assert "UNDECIDED: it takes longer than 0.01 seconds (--time-limit)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limit", "document", "why"),
    [
        ("LARGEST_DENOMINATOR", documents.lp_rational() | {"point": [f"3/{7**40}", "2/7"]}, "bits"),
        ("LONGEST_NUMBER", documents.lp_rational() | {"point": ["1" * 100, "2"]}, "100 characters"),
    ],
)
def test_numbers_that_explode_are_undecided(
    limit: str, document: Document, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, limit, 64)
    with pytest.raises(checker.LimitError, match=why):
        checker.check(document)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["none.json"], ["none.json", "--time-limit=0"]])
def test_bad_words_are_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        checker.main(words)
    assert caught.value.code == 2
    assert "usage: checker.py" in capsys.readouterr().err


def test_help_holds_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        checker.main(["--help"])
    assert caught.value.code == 0
    told = capsys.readouterr().out
    for word in ("usage: checker.py", "FORMAT", "--time-limit SECONDS", "--size-limit BYTES"):
        assert word in told


# Every text that Python's int, float or Fraction would take, and FORMAT does not, and a few more.
NO_NUMBERS = (
    "", "-", " 1", "1 ", "1\n", "+1", "--1", "1_0", "01", "-01", "-0", "-0x0", "1.0", "1e3", "0b1",
    "0o7", "0X1", "0xA", "0x", "0x1_0", "1/", "/1", "1/0", "1/-1", "1/+1", "1 /1", "1/2/3", "1/01",
    "\u0663", "\uff13", "\u00b2", "1/\u0663", "0x\uff11", "nan", "inf", "-inf", "0x1p0",
    "0x1.0p0", "0x1.0000000000000P+0", " 0x1.0000000000000p+0", "+0x1.0000000000000p+0",
    "0x1.0000000000000p+00", "0x1.0000000000000p+\u0660", "9" * 4301,
)  # fmt: skip
NUMBERS = {
    "0": 0, "-7": -7, "10/4": Fraction(5, 2), "-0x1f/0x02": Fraction(-31, 2), "0x00": 0,
    "0x1.8000000000000p+1": 3, "-0x0.0p+0": 0, "9" * 4300: 10**4300 - 1,
}  # fmt: skip


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_the_format_does_not_say_is_no_number(text: str) -> None:
    assert "no" in rejected(changed(documents.lp(), "claim", "absolute_gap", to=text))


@pytest.mark.parametrize("text", NUMBERS)
def test_what_the_format_says_is_a_number(text: str) -> None:
    assert checker.number(text, "") == NUMBERS[text]
    value = second_checker.read(text)
    whole = Fraction(NUMBERS[text])
    assert (value - second_checker.Number.ratio(whole.numerator, whole.denominator)).sign() == 0


def test_an_allowance_is_printed_where_the_verdict_rests_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """x + y >= 1 with the point (4, 4): only an allowance of 7 makes an optimum of it."""
    goal, bound = {"linear": [[0, "1"], [1, "1"]]}, {"objective": "1", "rows": [[0, "1"]]}
    model = hand_model(2, objective=goal, rows=[row("1", None, [0, "1"], [1, "1"])])
    far = proof(model, "1", "8", ["4", "4"], bound=bound)
    assert "the gap is not closed" in rejected(far)
    file = tmp_path / "far.json"
    for kind, allowed, code, said in (
        ("optimum", "7", checker.BY_ALLOWANCE, "CERTIFIED only by the absolute gap of 7.0 that"),
        ("bounds", "7", checker.BY_ALLOWANCE, "CERTIFIED only by the absolute gap of 7.0 that"),
        ("bounds", "6", 0, "not closed"),
    ):
        claim = {"kind": kind, "lower": "1", "upper": "8", "absolute_gap": allowed}
        assert second_checker.decides(far | {"claim": claim})
        file.write_text(json.dumps(far | {"claim": claim}))
        assert checker.main([str(file)]) == code
        assert said in capsys.readouterr().out.splitlines()[-1]
    # What is closed without it is CERTIFIED without a word of it.
    near = documents.qp()
    near["claim"]["absolute_gap"] = "7"
    file.write_text(json.dumps(near))
    assert checker.main([str(file)]) == 0
    assert capsys.readouterr().out.endswith(": CERTIFIED\n")
    negative = changed(near, "claim", "absolute_gap", to="-1")
    assert "negative" in rejected(negative)


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(SOURCE.read_text("utf-8"))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [str(node.module)]
        )
    }
    known = {
        "__future__", "argparse", "copy", "fractions", "functools", "gzip", "json", "math",
        "operator", "re", "sys", "threading", "typing",
    }  # fmt: skip
    assert names == known
    called = {node.func.id for node in ast.walk(tree)
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    assert not called & {"eval", "exec", "compile", "__import__"}
