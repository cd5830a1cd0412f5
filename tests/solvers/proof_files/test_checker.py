"""What the checker accepts is worked by hand, and what is forged it rejects."""

from __future__ import annotations

import copy
import gzip
import json
import math
import shutil
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker
from tests.solvers.proof_files.documents import (
    BY_HAND,
    HALF,
    NORM,
    SQUARES,
    Document,
    T,
    bent,
    bent_row,
    line,
    proof,
    row,
)
from tests.solvers.proof_files.tiny_trees import enumerated
from tests.support.both_checkers import accepted

GONE = object()
LITTLE = Fraction(1, 10**30)
NEXT_TO_A_THIRD = math.nextafter(1 / 3, 1.0).hex()  # 1 / 3 itself is rounded down
JUST_BELOW_1, JUST_ABOVE_1 = (math.nextafter(1.0, way).hex() for way in (0.0, 2.0))


def rejected(document: Any) -> str:
    """Why a document is rejected, by both checkers."""
    assert not second_checker.decides(document)
    with pytest.raises(checker.ProofError) as caught:
        checker.check(document)
    return str(caught.value)


def changed(document: Document, *place: Any, to: Any) -> Document:
    """A copy with another value at a place, or with nothing there."""
    found = copy.deepcopy(document)
    part: Any = found
    for key in place[:-1]:
        part = part[key]
    if to is GONE:
        del part[place[-1]]
    else:
        part[place[-1]] = to
    return found


def edited(document: Document, changes: dict[str, Any]) -> Document:
    """Other values at places that are written with dots."""
    for place, value in changes.items():
        keys = [int(key) if key.isdigit() else key for key in place.split(".")]
        document = changed(document, *keys, to=value)
    return document


def bounds(lower: str) -> dict[str, Any]:
    return {"claim": {"kind": "bounds", "lower": lower}}


# --- what is worked by hand ----------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_worked_by_hand_is_proven_and_not_a_little_more(name: str) -> None:
    document = BY_HAND[name]
    claim = document["claim"]
    found = accepted(document)
    assert found is not None
    assert found.kind == claim["kind"]
    if "lower" in claim:
        more = {
            end: Fraction(claim[end]) + way * LITTLE for end, way in (("lower", 1), ("upper", -1))
        }
        for end, value in more.items():
            rejected(changed(document, "claim", end, to=str(value)))
        rejected(document | bounds(str(more["lower"])) | {"cutoff": "1000"})
    model = document["model"]
    if len(model["integer"]) == len(model["variables"]):
        least = "infeasible" if found.lower is None else found.lower
        assert enumerated(model) == least, "what enumeration finds"


MORE: dict[str, Document] = {
    # (x + y)^2 - 1e-9 x^2 falls without end along (1, -1).
    "hidden": proof(2, ("0", "0"), ["0", "0"],
                    products=[[0, 0, (1 - 1e-9).hex()], [1, 0, "2"], [1, 1, "1"]]),
    # x^2 <= 4 at all points that cost at most 4.
    "cheap": proof(
        1, ("0", "4"), ["2"], kind="bounds", products=SQUARES[:1],
        curvature=[bent("objective", "1")],
        steps=[{"certificate": {"objective": "1/4"}, "columns": [[0, "1", "-2"], [0, "-1", "2"]]}],
    ),
    "no_columns": proof(0, ("0", "0")),
    "row_of_zeros": proof(1, None, rows=[row("1", None, [])], bound={"rows": [[0, "1"]]}),
    "limits_that_cross": proof(1, None, lower=["1"], upper=[JUST_BELOW_1], bound={}),
    # 2 (x + y)^2 is a square and a diagonal; with a minus it is not.
    "squares": proof(
        2, ("-1", "0"), ["0", "0"], kind="bounds", lower=["0", "0"], upper=["1", "1"],
        products=[[0, 0, "2"], [1, 0, "4"], [1, 1, "2"]],
        curvature=[bent("objective", "-1/3", "-1/3") | {"squares": [["2", line("1", "1")]]}],
    ),
    # - x^2 on -1 <= x <= 2, around 1: 1 - 2 x - (x - 1)^2, and - 4 at 2.
    "least_at_an_end": proof(
        1, ("-4", "-4"), ["2"], lower=["-1"], upper=["2"], products=[[0, 0, "-1"]],
        bound={"at": line("1")}, curvature=[bent("objective", "-1")],
    ),
    # A form of two columns whose least value is said to be 0.
    "form": proof(2, ("0", "0"), ["0", "0"], lower=["-1", "-1"], upper=["1", "1"]),
    # t with y >= 3 and y^2 <= t^2 + x^2 / 100: t + 1/10 >= y where x is between - 1 and 1.
    "lifted": proof(
        3, ("29/10", "3"), ["1", "3", "3"], kind="bounds", linear=[[2, "1"]],
        lower=["-1", "3", "0"], upper=["1", None, None],
        quadratic=[bent_row("0", [], [[0, 0, "-1/100"], *NORM[1:]])],
        cones=[{"row": 0, "side": "upper", "factors": [T, T], "lift": [[0, "1/100"]]}],
        bound={"cones": [HALF | {"direction": [[1, "1"]], "shift": "1/10"}]},
    ),
    # x - y with x >= 1/3 and y <= 1/2 by steps, behind which others prove less.
    "weaker_steps": proof(
        2, ("-1/6", "-1/6"), ["1/3", "1/2"], lower=["0", None], upper=[None, "9"],
        linear=line("1", "-1"), rows=[row("1", None, line("3")), row(None, "1", [[1, "2"]])],
        steps=[{"certificate": {"rows": [[k, y]]}, "columns": [[k, g, end]]} for k, y, g, end in (
            (0, "1", "3", "1/3"), (1, "-1/4", "-1/2", "1/2"),
            (0, "1", "3", "-5"), (1, "-1", "-2", "7"))],
    ),
    # x^2 - 3 x, which is (x - 3/2)^2 - 9/4: - 2 in both boxes.
    "bent_integer": proof(
        1, ("-2", "-2"), ["1"], lower=["0"], upper=["3"], integer=[0], linear=line("-3"),
        products=SQUARES[:1], curvature=[bent("objective", "1")],
        tree={"certificates": [{"objective": "1", "at": line("3/2")}], "nodes": [[0, 1], 0, 0]},
    ),
    # 0 over x^2 <= 4, which times - 1 would be 4 at least.
    "negative": proof(
        1, ("4", "4"), ["0"], quadratic=[bent_row("4", [], SQUARES[:1])],
        curvature=[bent("objective"), bent([0, "upper"])],
        bound={"quadratic": [[0, "upper", "-1"]]},
    ),
    # x >= 0 with x = 5: what costs 5 at most is no reason for x >= 5.
    "from_above": proof(
        1, ("5", "5"), ["5"], lower=["0"], linear=line("1"),
        steps=[{"certificate": {"objective": "-1"}, "columns": [[0, "1", "5"]]}],
    ),
}  # fmt: skip
DOCUMENTS = BY_HAND | MORE

# Changes that make another document of one.
ALONE = {"bound": {"objective": "1"}}
WITH_ROW = {"model.lower.2": None, "model.rows": [row("0", None, [[2, "1"]])]}
BY_ROW = {"cones.0.signs": [{"rows": [[0, "1"]]}, {"rows": [[0, "1"]]}]}
BENDS = [bent("objective", "-1/1000000")]  # openly: it costs what it may, and needs limits for that
IN_A_BOX = {"model.lower": ["-1", None], "model.upper": ["2", None], "curvature": BENDS}
IN_A_BOX |= bounds("-4/1000000")
FAR = {"point.0": "8", "claim.upper": "8"}  # only an allowance of 7 makes an optimum of it
AT_3_2 = {"model.lower": ["3/2"], **ALONE}  # x >= 3/2 of an integer is x >= 2
STEP = {"steps": [{"certificate": {"rows": [[0, "1"]]}, "columns": [[0, "2", "3/2"]]}], **ALONE}
PRICED = {  # with 1/1000 s every value is possible; 3/2 is all that the bound proves
    "point": ["2", "0"], "model.objective.linear": line("1", "1/1000"),
    "model.variables": ["x", "s"], "model.lower": ["0", "0"], "model.upper": [None, None],
}  # fmt: skip
# Limits between which x is no whole number: every box is closed.
HALVES = {"model.lower.0": "1/2", "model.upper.0": "2/3", "tree.nodes": [None]}
# As if the rows were flat: only the points at which they touch prove it.
FLAT = {"curvature": [bent([k, "upper"]) for k in (0, 1)]}
# - t with x between 0 and 1 and t >= 0, from the origin.
FALLING = {
    "model.quadratic": [],
    "model.rows": [row("0", "1", line("1")), row("0", None, [[1, "1"]])],
}
AT_0 = {  # 5 z + w over w >= - 10 z and w >= - 1: a point that costs 0 or less has w >= 0
    "model.rows.0.lower": "0", "model.lower.1": "-1", "steps.0.row.upper": "0",
    "claim.lower": "0", "claim.upper": "0", "point": ["0", "0"],
}  # fmt: skip
IN_PARTS = {  # the rows in thirds and the new one in halves, and a bound by all three
    "model.rows": [row("2/3", None, line(*a)) for a in (("1/3", "2/3"), ("2/3", "1/3"))],
    "model.lower": [None, None],
    "steps.0.row": {"upper": "-2/3", "linear": line("-1/2", "-1/2")},
    "steps.0.certificates.0.rows": line("1/2", "1/2"),
    "bound.rows": line("1/2", "1/2", "-1"),
}
# t^2 >= x^2 + x y + y^2 >= (x + y / 2)^2 where one of x and y is 3 at least, the other 0.
SKEW = {"model.quadratic.0.products": [*NORM, [1, 0, "1"]], "claim.lower": "3", "claim.upper": "3"}
SKEW |= {"model.lower": ["3", "0", "0"], "point": ["3", "0", "3"]}
ACROSS = {"model.lower": ["0", "3", "0"], "point": ["0", "3", "3"]}
FIRST, SECOND = BY_HAND["switched"]["steps"][0]["certificates"]
DERIVED = BY_HAND["derived"]["steps"][0]["certificates"][0]
FROM_BELOW = {
    "model.quadratic.0.products": [[0, 0, "-1"], [1, 1, "-1"]],
    "model.quadratic.0.lower": "-2", "model.quadratic.0.upper": None,
    "bound.quadratic.0.1": "lower", "curvature.1.of.1": "lower",
}  # fmt: skip
IN_CONSTANT = {
    "model.quadratic.0.products": [[1, 1, "1"], [2, 2, "-1"]],
    "model.quadratic.0.constant": "-1/100",
    "cones.0.lift": [[3, "1/100"]],
}
LIMIT = "no limit where one is needed"
LESS, INDEX = "less than `lower`", "no such index"

# A document, what is changed in it, and why it is rejected: "" for any reason, None for accepted.
CASES: list[tuple[str, dict[str, Any], str | None]] = [
    # sides that touch do not cross
    ("crossing", {"model.rows.0.lower": "1"}, "not excluded"),
    ("bent_crossing", {"model.quadratic.0.lower": "1"}, "not excluded"),
    # multipliers of another model
    ("lp", {"bound": BY_HAND["lp_rational"]["bound"]}, LIMIT),
    ("lp", {"bound": BY_HAND["lp_rational"]["bound"], "model.upper": ["9", "9"]}, LESS),
    # a point off by the last place
    ("lp", {"point.0": JUST_BELOW_1}, "misses row 0"),
    ("disc", {"point.0": JUST_ABOVE_1}, "misses quadratic row 0"),
    ("sdp", {"point.0": math.nextafter(2.0, 0.0).hex()}, "psd row 0 at the point"),
    # a hidden negative curvature
    ("hidden", {}, "the curvature of objective is not semidefinite"),
    ("hidden", {"curvature": BENDS}, "no limit"),
    ("hidden", IN_A_BOX, None),
    ("hidden", IN_A_BOX | {"claim.lower": "-3999/1000000000"}, ""),
    # below 0, t^2 >= 25 says that t <= -5; the sign of t may follow from a row
    ("norm", {"model.lower.2": None}, LIMIT),
    ("norm", {"model.lower.2": None, "model.upper.2": "0", **bounds("5")}, LIMIT),
    ("norm", {"model.lower.2": "-1/1000000000"}, "a factor may be negative"),
    ("norm", WITH_ROW, ""),
    ("norm", WITH_ROW | BY_ROW, None),
    # multipliers outside of the dual cone
    ("norm", {"bound.cones.0.direction.0.1": "601/1000"}, "outside of the dual cone"),
    ("product", {"bound.cones.0.alpha": "-1", "bound.cones.0.beta": "-4"}, "outside of"),
    ("sdp", {"bound.psd.0.matrix.0.2": JUST_BELOW_1}, "is not semidefinite"),
    # y >= 1 - x asks for a limit of x, which is there already
    ("by_step", {"model.upper.0": None}, "step 1 claims more"),
    ("by_step", {"steps.0.columns.0.2": NEXT_TO_A_THIRD}, "step 0 claims more of column 0"),
    ("by_step", {"steps.0.columns.0.2": (1 / 3).hex(), **bounds("33/100")}, None),
    ("by_step", {"steps.1.columns.0.2": 5e-324.hex()}, "step 1 claims more of column 1"),
    # a limit from the objective needs the upper end
    ("cheap", {}, None),
    ("cheap", {"steps.0.columns.0.2": "-1999/1000"}, ""),
    ("cheap", bounds("0"), "upper end"),
    # no columns, rows of zeros, limits that cross
    ("no_columns", {}, None),
    ("no_columns", {"claim.lower": f"1/{10**40}"}, ""),
    ("no_columns", {"point": ["0"]}, ""),
    ("row_of_zeros", {}, None),
    ("row_of_zeros", {"model.rows.0.lower": "0"}, ""),
    ("limits_that_cross", {}, None),
    ("limits_that_cross", {"model.upper.0": "1"}, ""),
    # a ray that a row stops, or along which nothing falls, or that begins nowhere
    ("ray", {"ray.0": "1/1000"}, "leaves quadratic row 0"),
    ("ray", {"ray.1": "0"}, "does not fall"),
    ("ray", {"point.0": "1"}, "misses quadratic row 0"),
    ("qp", {"model.integer": [1]}, "not whole in columns [1]"),
    # an open gap
    ("lp", {"claim.lower": (1 - 1.1e-6).hex()}, "gap is not closed"),
    ("lp", {"claim.lower": (1 - 1.1e-6).hex(), "claim.absolute_gap": "1/100000"}, None),
    ("lp", {"claim.lower": (1 - 1.1e-6).hex(), "claim.kind": "bounds"}, None),
    ("lp", {"claim.lower": (1 - 0.9e-6).hex()}, None),
    ("lp", FAR | {"claim.absolute_gap": "-7"}, "negative"),
    # squares prove what they sum to
    ("squares", {}, None),
    ("squares", {"curvature.0.squares.0.0": "3"}, "is not semidefinite"),
    ("squares", {"curvature.0.squares.0.0": "-2"}, "negative weight"),
    # --- trees: points that no box holds, and nodes that are none
    ("split", {"model.integer": []}, ""),
    ("rounded", {"model.integer": []}, ""),
    ("parity", {"model.integer": []}, ""),
    ("split", {"tree.nodes": [[0, 1], 0]}, "not complete"),
    ("split", {"tree.nodes": [[0, 1], 0, 1, 1]}, "has no box"),
    ("split", {"tree.nodes": []}, "not complete"),
    ("split", {"tree.nodes": [0]}, LIMIT),
    ("split", {"tree.nodes": [1]}, LESS),
    ("split", {"tree.nodes": [[0, 0], 0, 1]}, LESS),
    ("split", {"tree.nodes": [[0, 2], 0, 1]}, "a point is not excluded"),
    ("split", {"tree.nodes": [[0, 1], None, 1]}, INDEX),
    ("split", {"tree.nodes": [[0, 1], 0, 2]}, INDEX),
    ("split", {"tree.nodes": [[0, 1], 0, True]}, INDEX),
    ("split", {"tree.nodes": [[0, 1], 0, 1.0]}, INDEX),
    ("split", {"tree.nodes": [[0, 1.0], 0, 1]}, "no whole number"),
    ("split", {"tree.nodes": [[0, True], 0, 1]}, "no whole number"),
    ("split", {"tree.nodes": [[0, 1, 1], 0, 1]}, "has not 2 entries"),
    ("split", {"tree.nodes": [[1, 1], 0, 1]}, INDEX),
    ("split", {"tree.nodes": {"0": 0}}, "is no list"),
    # more branches than are needed do no harm, but on a continuous column
    ("split", {"tree.nodes": [[0, 5], [0, 1], [0, 0], 0, 0, [0, 7], 1, None, [0, 3], None,
                                 [0, 5], None, 1]}, None),
    ("below_cutoff", {"tree.nodes": [[1, 0], 0, [0, 0], 0, [0, 1], 1, None]}, "no integer"),
    # certificates that change places
    *((name, {"tree.certificates": BY_HAND[name]["tree"]["certificates"][::-1]}, "")
      for name in ("split", "parity", "below_cutoff")),
    # what holds below a cutoff alone
    ("parity", {"cutoff": "0"}, "cutoff"),
    ("below_cutoff", {"cutoff": "301/100"}, "claims more of column 0"),
    ("below_cutoff", {"cutoff": "199/100"}, "`lower` exceeds the cutoff"),
    ("below_cutoff", {"cutoff": "2"}, None),
    ("below_cutoff", {"cutoff": GONE}, None),
    ("below_cutoff", {"cutoff": GONE, **bounds("2")}, "the upper end is not there"),
    ("switched", bounds("1"), "the cutoff is not there"),
    ("switched", {"cutoff": "11/10"}, "step 0 is not proven"),
    # a row is proven at both ends of a binary column
    *(("switched", {"steps.0.certificates": other}, "")
      for other in ([SECOND, FIRST], [FIRST], [FIRST, FIRST], [])),
    ("switched", {"steps.0.row.upper": "-10000001/10000000"}, "step 0 is not proven"),
    ("switched", {"steps.0.certificates": [FIRST], "steps.0.column": GONE}, "is not proven"),
    ("switched", {"model.upper.0": "2"}, "is not binary"),
    ("switched", {"model.lower.0": "-1"}, "is not binary"),
    ("switched", {"model.integer": []}, "is not binary"),
    # a derived row has one certificate and the next number
    ("derived", {"steps.0.certificates": [DERIVED, DERIVED]}, "has not 1 entries"),
    ("derived", {"steps.0.certificates": [{"rows": [[2, "-1"]]}]}, INDEX),
    ("derived", {"bound.rows.0.0": 3}, INDEX),
    ("derived", {"bound.rows.0.1": "1/3"}, "no side"),
    # whole numbers: prices of continuous columns round nothing, nor do multiples of 1/1000 ...
    ("rounded", PRICED, LESS),
    ("rounded", PRICED | {"model.integer": [0, 1]}, LESS),
    ("rounded", PRICED | {"model.integer": [0, 1], "model.objective.linear": [[0, "1"]],
              "model.objective.products": [[1, 1, "1"]]}, LESS),
    # ... and a limit between whole numbers is the next one
    ("rounded", AT_3_2, None),
    ("rounded", STEP, None),
    ("rounded", STEP | {"steps.0.columns.0.2": "2"}, "claims more"),
    ("parity", HALVES, None),
    ("parity", HALVES | {"model.upper.0": "1"}, INDEX),
    ("split", {"bound": {"objective": "1"}}, "a bound beside the tree"),
    # two rows may be linearised at two points alone
    ("two_points", FLAT, None),
    ("two_points", FLAT | {"bound.quadratic.0.3": [[0, "2"]]}, LIMIT),
    ("two_points", {"bound.quadratic.0": [0, "upper", "1", [], []]}, ""),
    ("two_points", FLAT | {"model.quadratic.1.upper": "4"}, "a point is not excluded"),
    # the least value of a term that bends down is at an end
    ("least_at_an_end", {}, None),
    ("least_at_an_end", bounds("-399999999/100000000"), LESS),
    ("least_at_an_end", {"model.lower": ["-5/2"]}, LESS),
    # a pivot of 0 is one only above zeros
    ("form", {"model.objective.products": [[0, 0, "1"], [1, 0, "4"], [1, 1, "4"]]}, None),
    ("form", {"model.objective.products": [[0, 0, "1"], [1, 0, "4"], [1, 1, "399/100"]]},
     "is not semidefinite"),
    ("form", {"model.objective.products": [[1, 0, "1"]]}, "is not semidefinite"),
    ("form", {"model.objective.products": [[0, 0, "1"], [1, 0, "1"]]}, "is not semidefinite"),
    # a ray may stay at sides, and leaves none
    ("ray", FALLING, None),
    ("ray", FALLING | {"ray.0": "1"}, "leaves row 0"),
    ("ray", FALLING | {"model.rows.1.upper": "9"}, "leaves row 1"),
    ("ray", FALLING | {"ray.1": "-1"}, "leaves row 1"),
    # cones: what a direction says of other columns is nothing; two factors; lifts and their shifts
    ("norm", {"bound.cones.0.direction": [[0, "3/5"], [1, "4/5"], [2, "5"]]}, None),
    ("norm", {"bound.cones.0.direction": [[0, "3/5"], [1, "801/1000"], [2, "5"]]}, "outside of"),
    *(("norm", {"cones.0.factors": BY_HAND["norm"]["cones"][0]["factors"][:1] * count},
       "has not 2 entries") for count in (1, 3)),
    ("lifted", {}, None),
    ("lifted", {"claim.lower": "291/100"}, LESS),
    ("lifted", {"bound.cones.0.shift": "99/1000"}, "less than the lift"),
    ("lifted", {"bound.cones.0.shift": "-1/10"}, "less than the lift"),
    ("lifted", {"model.upper.0": "11/10"}, "less than the lift"),
    ("lifted", {"model.lower.0": "-11/10"}, "less than the lift"),
    ("lifted", {"model.lower.0": None}, "lacks limits"),
    ("lifted", {"cones.0.lift": [[0, "1/101"]]}, "is not semidefinite"),
    ("lifted", {"cones.0.lift": [[0, "1/100"], [1, "-1/100"]]}, "a negative lift"),
    ("lifted", IN_CONSTANT, None),
    ("lifted", IN_CONSTANT | {"cones.0.lift": [[4, "1/100"]]}, INDEX),
    ("lifted", IN_CONSTANT | {"bound.cones.0.shift": "99/1000"}, "less than the lift"),
    # of two limits the stronger one stays
    ("weaker_steps", {}, None),
    ("weaker_steps", bounds("-1/7"), LESS),
    ("weaker_steps", {"steps": MORE["weaker_steps"]["steps"][1:]}, LESS),
    ("weaker_steps", {"steps": MORE["weaker_steps"]["steps"][::2]}, LESS),
    # integers that bend, a cutoff of 0, and rows of several denominators
    ("bent_integer", {}, None),
    ("bent_integer", {"tree.nodes": [0]}, LESS),
    ("switched", AT_0, None),
    ("switched", AT_0 | {"model.lower.1": "-11/10"}, "step 0 is not proven"),
    ("switched", AT_0 | {"steps.0.row.upper": "-1/1000"}, "step 0 is not proven"),
    ("derived", IN_PARTS, None),
    ("derived", IN_PARTS | {"steps.0.row.upper": "-67/100"}, "step 0 is not proven"),
    ("split", {"model.lower": ["1"], "model.upper": ["5"]}, None),
    ("free_integer", {"model.objective.linear": [[0, "-2"]], **bounds("0")}, LESS),
    # multipliers of less than 0, entries that a part does not have, sides of cones
    ("negative", {}, "a negative multiplier of (0, 'upper')"),
    ("from_above", {}, "a negative multiplier of objective"),
    ("norm", SKEW | {"bound.cones.0.direction": line("1")}, None),
    ("norm", SKEW | ACROSS | {"bound.cones.0.direction": [[1, "1"]]}, None),
    ("norm", SKEW | {"bound.cones.0.direction": line("1", "1/1000")}, "outside of the dual cone"),
    ("norm", {"model.quadratic.0.upper": "1/100"}, "is not semidefinite"),
    ("squares", {"curvature.0.squares": [["3", line("1", "1")], ["-1", line("1", "1")]]},
     "negative weight"),
    ("form", {"model.objective.products": SQUARES,
              "curvature.0.squares": [["1/2", line("1", "1")]]}, None),
    # lower sides of rows that bend, and points of their own
    ("disc", FROM_BELOW, None),
    ("disc", FROM_BELOW | {"model.quadratic.0.lower": "-201/100"}, LESS),
    ("disc", FROM_BELOW | {"bound.quadratic.0.1": "upper"}, ""),
    ("two_points", {"model.quadratic.1.upper": "349/100"}, None),
    ("two_points", {"model.quadratic.1.upper": "7/2"}, "not excluded"),
    # tangents of exp, and the terms of which they are
    ("exponential", {"steps.0.tangents.0.2.0": "2"}, "claims more than it proves"),
    ("exponential", {"steps.0.tangents.0.2": []}, "no such tangent"),
    ("exponential", {"steps.0.tangents.0.0": 1}, INDEX),
    ("exponential", {"model.terms.0.parts.0.0": "2"}, "its parts are not those of a term"),
    ("exponential", {"model.terms.0.function": "log"}, "is not positive"),
    ("exponential", {"model.terms.0.function": "cosine"}, "no such function"),
    ("exponential", {"point.1": f"{10**60 - 1}/{10**60}"}, "misses term 0"),
    # one way to the bound
    *(("lp", ways, "two proofs") for ways in (
        {"directions": {}}, {"directed": {}}, {"packed": {}},
        {"bound": GONE, "directed": {}, "packed": {}})),
    ("split", {"directed": {}}, "two proofs"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "why"), CASES)
def test_what_is_forged_is_rejected_and_its_neighbour_is_not(
    name: str, changes: dict[str, Any], why: str | None
) -> None:
    document = edited(DOCUMENTS[name], changes)
    if why is None:
        assert accepted(document) is not None
    else:
        assert why in rejected(document)


def test_a_large_matrix_needs_squares() -> None:
    k = checker.LARGEST_ORDER + 1
    ones = [[i, j, "1" if i == j else "2"] for i in range(k) for j in range(i + 1)]
    document = proof(k, ("0", "0"), ["0"] * k, products=ones)
    with pytest.raises(checker.ProofError, match="lacks squares"):
        checker.check(document)
    square = [["1", [[j, "1"] for j in range(k)]]]
    assert checker.check(changed(document, "curvature", 0, "squares", to=square))


# --- what is no document -------------------------------------------------------------------------

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
MALFORMED: dict[str, tuple[Any, ...]] = {
    "claim.absolute_gap": NO_NUMBERS,
    "point.0": ("nan", 1.0, None, "0x1p+99999", "0x1.0p-5000", "0x1.00000000000000001p+0", "1/0",
                "1" * 100_000),
    "point": (["1"], {"0": "1"}),
    "model.rows.0.linear.0.0": (True, -1, 2, 1),
    "model.rows.0": ([],),
    "model.lower": (["0"],),
    "model.objective.products": ([[0, 1, "1"]],),
    "model.extra": (1,),
    "bound.rows.0.1": ("-1",),
    "bound.objective": ("0", "1/2", "-1"),
    "curvature": ([],),
    "claim.kind": ("unbounded", ["optimum"]),
    "claim": ({"kind": "bounds"},),
    "schema": ("tightmargin-proof/2",),
}  # fmt: skip


@pytest.mark.parametrize("place", MALFORMED)
def test_what_is_malformed_is_rejected(place: str) -> None:
    for value in MALFORMED[place]:
        assert rejected(edited(BY_HAND["lp"], {place: value})), value


def test_what_the_format_says_is_a_number() -> None:
    for text, value in NUMBERS.items():
        assert checker.number(text, "") == value
        whole = second_checker.Number.ratio(*Fraction(value).as_integer_ratio())
        assert (second_checker.read(text) - whole).sign() == 0


def test_numbers_that_explode_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, number, why in (
        ("LARGEST_DENOMINATOR", f"3/{7**40}", "bits"),
        ("LONGEST_NUMBER", "1" * 100, "100 characters"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(checker, limit, 64)
            with pytest.raises(checker.LimitError, match=why):
                checker.check(changed(BY_HAND["lp_rational"], "point", 0, to=number))


# --- alone, and from the command line ------------------------------------------------------------


def test_it_runs_alone(tmp_path: Path) -> None:
    """Where no package is: of an optimum, and of a forged tree."""
    shutil.copy(checker.__file__, tmp_path / "checker.py")
    file = tmp_path / "proof.json.gz"
    command = [sys.executable, "-I", "-S", str(tmp_path / "checker.py"), str(file)]
    told = [
        "model: 2 columns (1 integer), 1 linear, 0 quadratic and 0 semidefinite rows",
        "PROVEN: the minimum is at least 2.0",
        "PROVEN: the minimum is at most 2.0",
        "gap: 0.0, which is 0.0 of 2.0: CERTIFIED",
    ]
    for cutoff, lines in (("3", told), ("4", ["REJECTED: step 0 claims more of column 0"])):
        document = BY_HAND["below_cutoff"] | {"cutoff": cutoff}
        file.write_bytes(gzip.compress(json.dumps(document).encode()))
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (run.returncode, run.stderr) == (int(cutoff == "4"), "")
        said = run.stdout.splitlines()
        assert len(said) == len(lines)
        assert all(one.startswith(line) for one, line in zip(said, lines, strict=True))


def test_a_damaged_file_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.dumps(BY_HAND["lp"]).encode()
    packed = gzip.compress(whole)
    for name, content in (
        ("empty.json", b""),
        ("truncated.json", whole[:-20]),
        ("truncated.json.gz", packed[:-12]),
        ("flipped.json.gz", packed[:40] + bytes([packed[40] ^ 255]) + packed[41:]),
        ("not_packed.json.gz", whole),
        ("not_text.json", bytes(range(256))),
        ("deep.json", b"[" * 200_000),
        ("list.json", b"[1, 2]"),
        ("twice.json", whole.replace(b'"claim"', b'"claim": {}, "claim"', 1)),
        ("nan.json", whole.replace(b'"1"', b"NaN", 1)),
        ("long.json", whole.replace(b'"1"', b"1" * 5000, 1)),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        assert checker.main([str(file)]) == 1, name
        out, err = capsys.readouterr()
        assert (out[:10], out.count("\n"), err) == ("REJECTED: ", 1, ""), name


def test_what_is_beyond_a_limit_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * 100_000 + json.dumps(BY_HAND["lp"]).encode()))
    assert checker.main([str(file)]) == 0
    assert checker.main([str(file), "--size-limit", "50000"]) == checker.LIMIT_REACHED
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "UNDECIDED: the file holds more than 50000 bytes (--size-limit)"
    never = threading.Event()
    monkeypatch.setattr(checker, "check", lambda document: never.wait(30))
    assert checker.main([str(file), "--time-limit", "0.01"]) == checker.LIMIT_REACHED
    never.set()
    assert "UNDECIDED: it takes longer than 0.01 seconds (--time-limit)" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["a", "b"], ["none.json"], ["none.json", "--time-limit=0"]])
def test_bad_words_are_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        checker.main(words)
    assert caught.value.code == 2
    assert "usage: checker.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "changes", "code", "said"),
    [
        ("lp", FAR | {"claim.absolute_gap": "7"}, checker.BY_ALLOWANCE,
         "only by the absolute gap of 7.0 that"),
        ("lp", FAR | {"claim.absolute_gap": "7", "claim.kind": "bounds"}, checker.BY_ALLOWANCE,
         "CERTIFIED only by"),
        ("lp", FAR | {"claim.absolute_gap": "6", "claim.kind": "bounds"}, 0, "not closed"),
        ("qp", {"claim.absolute_gap": "7"}, 0, ": CERTIFIED\n"),
        # an end alone is printed alone
        ("lp", bounds("1"), 0, "the minimum is at least 1.0\n"),
        ("lp", {"claim": {"kind": "bounds", "upper": "1"}}, 0, "the minimum is at most 1.0\n"),
    ],
)  # fmt: skip
def test_an_allowance_is_printed_where_the_verdict_rests_on_it(
    name: str, changes: dict[str, Any], code: int, said: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    document = edited(DOCUMENTS[name], changes)
    assert second_checker.decides(document)
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(document))
    assert checker.main([str(file)]) == code
    assert said in capsys.readouterr().out
