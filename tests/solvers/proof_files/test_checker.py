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
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import documents as hand
from tests.solvers.proof_files import second_checker
from tests.solvers.proof_files.documents import Document, bent_row, hand_model, proof, row
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


def as_bounds(found: Document) -> Document:
    return changed(found, "claim", "kind", to="bounds")


# --- what is worked by hand ----------------------------------------------------------------------


@pytest.mark.parametrize("build", hand.BY_HAND, ids=lambda build: build.__name__)
def test_what_is_worked_by_hand_is_proven_and_not_a_little_more(
    build: Callable[[], Document],
) -> None:
    document = build()
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


def hidden(**model: Any) -> Document:
    """(x + y)^2 - 1e-9 x^2 falls without end along (1, -1)."""
    goal = {"products": [[0, 0, (1 - 1e-9).hex()], [1, 0, "2"], [1, 1, "1"]]}
    given = hand_model(2, objective=goal, **model)
    return proof(given, "0", "0", ["0", "0"], bound={"objective": "1"})


def hidden_in_a_box() -> Document:
    """Claimed openly the curvature costs what it may, and needs limits for that."""
    bends = {"curvature": [{"of": "objective", "least": [[0, "-1/1000000"]]}]}
    return hidden(lower=["-1", None], upper=["2", None]) | bends | bounds("-4/1000000")


def cheap() -> Document:
    """x^2 <= 4 at all points that cost at most 4."""
    goal = {"products": [[0, 0, "1"]]}
    curvature = [{"of": "objective", "least": [[0, "1"]]}]
    steps = [{"certificate": {"objective": "1/4"}, "columns": [[0, "1", "-2"], [0, "-1", "2"]]}]
    document = proof(hand_model(1, objective=goal), "0", "4", ["2"], curvature=curvature)
    document |= {"steps": steps, "bound": {"objective": "1"}}
    return as_bounds(document)


def no_columns() -> Document:
    return proof(hand_model(0), "0", "0", [], bound={"objective": "1"})


def row_of_zeros() -> Document:
    return hand.nowhere(hand_model(1, rows=[row("1", None)]), bound={"rows": [[0, "1"]]})


def limits_that_cross() -> Document:
    return hand.nowhere(hand_model(1, lower=["1"], upper=[JUST_BELOW_1]), bound={})


def squares() -> Document:
    """2 (x + y)^2 + 1e-20 x^2 is its square and a diagonal; with a minus it is not."""
    goal = {"products": [[0, 0, "2"], [1, 0, "4"], [1, 1, "2"]]}
    bends = {"of": "objective", "least": [[0, "-1/3"], [1, "-1/3"]]}
    model = hand_model(2, objective=goal, lower=["0", "0"], upper=["1", "1"])
    document = proof(
        model, "-1", "0", ["0", "0"], bound={"objective": "1"},
        curvature=[bends | {"squares": [["2", [[0, "1"], [1, "1"]]]]}],
    )  # fmt: skip
    return as_bounds(document)


def far() -> Document:
    """x + y >= 1 with the point (4, 4): only an allowance of 7 makes an optimum of it."""
    goal = {"linear": [[0, "1"], [1, "1"]]}
    model = hand_model(2, objective=goal, rows=[row("1", None, [0, "1"], [1, "1"])])
    return proof(model, "1", "8", ["4", "4"], bound={"objective": "1", "rows": [[0, "1"]]})


def without_a_tree() -> Document:
    """x >= 3/2 of an integer is x >= 2."""
    found = edited(hand.split(), {"tree": GONE, "model.lower": ["3/2"]})
    return found | {"bound": {"objective": "1"}}


def whole_by_step() -> Document:
    steps = [{"certificate": {"rows": [[0, "1"]]}, "columns": [[0, "2", "3/2"]]}]
    return changed(without_a_tree(), "model", "lower", to=["0"]) | {"steps": steps}


def priced() -> Document:
    """With 1/1000 s in the objective every value is possible; 3/2 is all that the bound proves."""
    found = edited(
        hand.rounded(), {"point": ["2", "0"], "model.objective.linear": [[0, "1"], [1, "1/1000"]]}
    )
    found["model"] |= {"variables": ["x", "s"], "lower": ["0", "0"], "upper": [None, None]}
    return found


def halves() -> Document:
    """1/2 <= 2 (x + y) ... with limits between which x is no whole number: every box is closed."""
    return edited(
        hand.parity(), {"model.lower.0": "1/2", "model.upper.0": "2/3", "tree.nodes": [None]}
    )


def flat_points() -> Document:
    """The discs as if their rows were flat: only the points at which they touch prove it."""
    return hand.two_points() | {"curvature": [{"of": [k, "upper"], "least": []} for k in (0, 1)]}


def least_at_an_end() -> Document:
    """- x^2 on -1 <= x <= 2, around 1: 1 - 2 x - (x - 1)^2, and - 4 at 2."""
    bends = [{"of": "objective", "least": [[0, "-1"]]}]
    goal = {"products": [[0, 0, "-1"]]}
    model = hand_model(1, lower=["-1"], upper=["2"], objective=goal)
    bound = {"objective": "1", "at": [[0, "1"]]}
    return proof(model, "-4", "-4", ["2"], bound=bound, curvature=bends)


def form(*products: list[Any]) -> Document:
    """A form of two columns between - 1 and 1 whose least value is said to be 0."""
    given = hand_model(2, lower=["-1", "-1"], upper=["1", "1"], objective={"products": [*products]})
    return proof(given, "0", "0", ["0", "0"], bound={"objective": "1"})


def falling() -> Document:
    """- t with x between 0 and 1 and t >= 0, from the origin."""
    rows = [row("0", "1", [0, "1"]), row("0", None, [1, "1"])]
    model = hand_model(2, rows=rows, objective={"linear": [[1, "-1"]]})
    return hand.ray() | {"model": model}


def lifted() -> Document:
    """t with y >= 3 and y^2 <= t^2 + x^2 / 100: t + 1/10 >= y where x is between - 1 and 1."""
    bent = bent_row("0", [], [[0, 0, "-1/100"], [1, 1, "1"], [2, 2, "-1"]])
    goal = {"linear": [[2, "1"]]}
    model = hand_model(
        3, lower=["-1", "3", "0"], upper=["1", None, None], quadratic=[bent], objective=goal
    )
    t = {"constant": "0", "linear": [[2, "1"]]}
    cone = {"row": 0, "side": "upper", "factors": [t, t], "lift": [[0, "1/100"]]}
    half = {"cone": 0, "alpha": "1/2", "beta": "1/2", "direction": [[1, "1"]], "shift": "1/10"}
    bound = {"objective": "1", "cones": [half]}
    return as_bounds(proof(model, "29/10", "3", ["1", "3", "3"], cones=[cone], bound=bound))


def weaker_steps() -> Document:
    """x - y with x >= 1/3 and y <= 1/2 by steps, behind which others prove less."""
    rows = [row("1", None, [0, "3"]), row(None, "1", [1, "2"])]
    goal = {"linear": [[0, "1"], [1, "-1"]]}
    model = hand_model(2, lower=["0", None], upper=[None, "9"], rows=rows, objective=goal)
    steps = [
        {"certificate": {"rows": [[k, y]]}, "columns": [[k, g, end]]}
        for k, y, g, end in (
            (0, "1", "3", "1/3"), (1, "-1/4", "-1/2", "1/2"),
            (0, "1", "3", "-5"), (1, "-1", "-2", "7"),
        )
    ]  # fmt: skip
    return proof(model, "-1/6", "-1/6", ["1/3", "1/2"], steps=steps, bound={"objective": "1"})


def bent_integer() -> Document:
    """x^2 - 3 x, which is (x - 3/2)^2 - 9/4: - 2 in both boxes."""
    goal = {"linear": [[0, "-3"]], "products": [[0, 0, "1"]]}
    model = hand_model(1, lower=["0"], upper=["3"], integer=[0], objective=goal)
    bends = [{"of": "objective", "least": [[0, "1"]]}]
    leaf = {"objective": "1", "at": [[0, "3/2"]]}
    tree = {"certificates": [leaf], "nodes": [[0, 1], 0, 0]}
    return proof(model, "-2", "-2", ["1"], tree=tree, curvature=bends)


def switched_at_0() -> Document:
    """5 z + w over w >= - 10 z and w >= - 1: a point that costs 0 or less has w >= 0."""
    return edited(hand.switched(), {
        "model.rows.0.lower": "0", "model.lower.1": "-1", "steps.0.row.upper": "0",
        "claim.lower": "0", "claim.upper": "0", "point": ["0", "0"],
    })  # fmt: skip


def derived_in_parts() -> Document:
    """The rows of `derived` in thirds and the new one in halves, and a bound by all three."""
    rows = [row("2/3", None, [0, a], [1, b]) for a, b in (("1/3", "2/3"), ("2/3", "1/3"))]
    new = {"upper": "-2/3", "linear": [[0, "-1/2"], [1, "-1/2"]]}
    halves = [[0, "1/2"], [1, "1/2"]]
    found = edited(hand.derived(), {"model.rows": rows, "model.lower": [None, None]})
    steps = [{"row": new, "certificates": [{"rows": halves}]}]
    return found | {"steps": steps, "bound": {"objective": "1", "rows": [*halves, [2, "-1"]]}}


WITH_ROW = {"model.lower.2": None, "model.rows": [row("0", None, [2, "1"])]}
BY_ROW = {"cones.0.signs": [{"rows": [[0, "1"]]}, {"rows": [[0, "1"]]}]}
BENDS = hidden_in_a_box()["curvature"]
FIRST, SECOND = hand.switched()["steps"][0]["certificates"]
DERIVED = hand.derived()["steps"][0]["certificates"][0]


def skew(first: str, second: str, *direction: list[Any]) -> Document:
    """t^2 >= x^2 + x y + y^2 >= (x + y / 2)^2 where one of x and y is 3 at least, the other 0."""
    return edited(hand.norm(), {
        "model.quadratic.0.products": [[0, 0, "1"], [1, 0, "1"], [1, 1, "1"], [2, 2, "-1"]],
        "model.lower": [first, second, "0"], "point": [first, second, "3"],
        "claim.lower": "3", "claim.upper": "3", "bound.cones.0.direction": [*direction],
    })  # fmt: skip


def negative() -> Document:
    """0 over x^2 <= 4, which times - 1 would be 4 at least."""
    model = hand_model(1, quadratic=[bent_row("4", [], [[0, 0, "1"]])])
    bends = [{"of": "objective", "least": []}, {"of": [0, "upper"], "least": []}]
    bound = {"objective": "1", "quadratic": [[0, "upper", "-1"]]}
    return proof(model, "4", "4", ["0"], curvature=bends, bound=bound)


def from_above() -> Document:
    """x >= 0 with x = 5: what costs 5 at most is no reason for x >= 5."""
    model = hand_model(1, lower=["0"], objective={"linear": [[0, "1"]]})
    steps = [{"certificate": {"objective": "-1"}, "columns": [[0, "1", "5"]]}]
    return proof(model, "5", "5", ["5"], steps=steps, bound={"objective": "1"})


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
CASES: list[tuple[Callable[[], Document], dict[str, Any], str | None]] = [
    # sides that touch do not cross
    (hand.crossing, {"model.rows.0.lower": "1"}, "not excluded"),
    (hand.bent_crossing, {"model.quadratic.0.lower": "1"}, "not excluded"),
    # multipliers of another model
    (hand.lp, {"bound": hand.lp_rational()["bound"]}, LIMIT),
    (hand.lp, {"bound": hand.lp_rational()["bound"], "model.upper": ["9", "9"]}, LESS),
    # a point off by the last place
    (hand.lp, {"point.0": JUST_BELOW_1}, "misses row 0"),
    (hand.disc, {"point.0": JUST_ABOVE_1}, "misses quadratic row 0"),
    (hand.sdp, {"point.0": math.nextafter(2.0, 0.0).hex()}, "psd row 0 at the point"),
    # a hidden negative curvature
    (hidden, {}, "the curvature of objective is not semidefinite"),
    (hidden, {"curvature": BENDS}, "no limit"),
    (hidden_in_a_box, {}, None),
    (hidden_in_a_box, {"claim.lower": "-3999/1000000000"}, ""),
    # below 0, t^2 >= 25 says that t <= -5; the sign of t may follow from a row
    (hand.norm, {"model.lower.2": None}, LIMIT),
    (hand.norm, {"model.lower.2": None, "model.upper.2": "0", **bounds("5")}, LIMIT),
    (hand.norm, {"model.lower.2": "-1/1000000000"}, "a factor may be negative"),
    (hand.norm, WITH_ROW, ""),
    (hand.norm, WITH_ROW | BY_ROW, None),
    # multipliers outside of the dual cone
    (hand.norm, {"bound.cones.0.direction.0.1": "601/1000"}, "outside of the dual cone"),
    (hand.product, {"bound.cones.0.alpha": "-1", "bound.cones.0.beta": "-4"}, "outside of"),
    (hand.sdp, {"bound.psd.0.matrix.0.2": JUST_BELOW_1}, "is not semidefinite"),
    # y >= 1 - x asks for a limit of x, which is there already
    (hand.by_step, {"model.upper.0": None}, "step 1 claims more"),
    (hand.by_step, {"steps.0.columns.0.2": NEXT_TO_A_THIRD}, "step 0 claims more of column 0"),
    (hand.by_step, {"steps.0.columns.0.2": (1 / 3).hex(), **bounds("33/100")}, None),
    (hand.by_step, {"steps.1.columns.0.2": 5e-324.hex()}, "step 1 claims more of column 1"),
    # a limit from the objective needs the upper end
    (cheap, {}, None),
    (cheap, {"steps.0.columns.0.2": "-1999/1000"}, ""),
    (cheap, bounds("0"), "upper end"),
    # no columns, rows of zeros, limits that cross
    (no_columns, {}, None),
    (no_columns, {"claim.lower": f"1/{10**40}"}, ""),
    (no_columns, {"point": ["0"]}, ""),
    (row_of_zeros, {}, None),
    (row_of_zeros, {"model.rows.0.lower": "0"}, ""),
    (limits_that_cross, {}, None),
    (limits_that_cross, {"model.upper.0": "1"}, ""),
    # a ray that a row stops, or along which nothing falls, or that begins nowhere
    (hand.ray, {"ray.0": "1/1000"}, "leaves quadratic row 0"),
    (hand.ray, {"ray.1": "0"}, "does not fall"),
    (hand.ray, {"point.0": "1"}, "misses quadratic row 0"),
    (hand.qp, {"model.integer": [1]}, "not whole in columns [1]"),
    # an open gap
    (hand.lp, {"claim.lower": (1 - 1.1e-6).hex()}, "gap is not closed"),
    (hand.lp, {"claim.lower": (1 - 1.1e-6).hex(), "claim.absolute_gap": "1/100000"}, None),
    (hand.lp, {"claim.lower": (1 - 1.1e-6).hex(), "claim.kind": "bounds"}, None),
    (hand.lp, {"claim.lower": (1 - 0.9e-6).hex()}, None),
    (far, {}, "the gap is not closed"),
    (far, {"claim.absolute_gap": "-7"}, "negative"),
    # squares prove what they sum to
    (squares, {}, None),
    (squares, {"curvature.0.squares.0.0": "3"}, "is not semidefinite"),
    (squares, {"curvature.0.squares.0.0": "-2"}, "negative weight"),
    # --- trees: points that no box holds, and nodes that are none
    (hand.split, {"model.integer": []}, ""),
    (hand.rounded, {"model.integer": []}, ""),
    (hand.parity, {"model.integer": []}, ""),
    (hand.split, {"tree.nodes": [[0, 1], 0]}, "not complete"),
    (hand.split, {"tree.nodes": [[0, 1], 0, 1, 1]}, "has no box"),
    (hand.split, {"tree.nodes": []}, "not complete"),
    (hand.split, {"tree.nodes": [0]}, LIMIT),
    (hand.split, {"tree.nodes": [1]}, LESS),
    (hand.split, {"tree.nodes": [[0, 1], 1, 0]}, LESS),
    (hand.split, {"tree.nodes": [[0, 0], 0, 1]}, LESS),
    (hand.split, {"tree.nodes": [[0, 2], 0, 1]}, "a point is not excluded"),
    (hand.split, {"tree.nodes": [[0, 1], None, 1]}, INDEX),
    (hand.split, {"tree.nodes": [[0, 1], 0, 2]}, INDEX),
    (hand.split, {"tree.nodes": [[0, 1], 0, True]}, INDEX),
    (hand.split, {"tree.nodes": [[0, 1], 0, 1.0]}, INDEX),
    (hand.split, {"tree.nodes": [[0, 1.0], 0, 1]}, "no whole number"),
    (hand.split, {"tree.nodes": [[0, True], 0, 1]}, "no whole number"),
    (hand.split, {"tree.nodes": [[0, 1, 1], 0, 1]}, "has not 2 entries"),
    (hand.split, {"tree.nodes": [[1, 1], 0, 1]}, INDEX),
    (hand.split, {"tree.nodes": {"0": 0}}, "is no list"),
    # more branches than are needed do no harm, but on a continuous column
    (hand.split, {"tree.nodes": [[0, 5], [0, 1], [0, 0], 0, 0, [0, 7], 1, None, [0, 3], None,
                                 [0, 5], None, 1]}, None),
    (hand.below_cutoff, {"tree.nodes": [[1, 0], 0, [0, 0], 0, [0, 1], 1, None]}, "no integer"),
    # certificates that change places
    *((build, {"tree.certificates": build()["tree"]["certificates"][::-1]}, "")
      for build in (hand.split, hand.parity, hand.below_cutoff)),
    # what holds below a cutoff alone
    (hand.parity, {"cutoff": "0"}, "cutoff"),
    (hand.below_cutoff, {"cutoff": "301/100"}, "claims more of column 0"),
    (hand.below_cutoff, {"cutoff": "199/100"}, "`lower` exceeds the cutoff"),
    (hand.below_cutoff, {"cutoff": "2"}, None),
    (hand.below_cutoff, {"cutoff": GONE}, None),
    (hand.below_cutoff, {"cutoff": GONE, **bounds("2")}, "the upper end is not there"),
    (hand.switched, bounds("1"), "the cutoff is not there"),
    (hand.switched, {"cutoff": "11/10"}, "step 0 is not proven"),
    # a row is proven at both ends of a binary column
    *((hand.switched, {"steps.0.certificates": other}, "")
      for other in ([SECOND, FIRST], [FIRST], [FIRST, FIRST], [])),
    (hand.switched, {"steps.0.row.upper": "-10000001/10000000"}, "step 0 is not proven"),
    (hand.switched, {"steps.0.certificates": [FIRST], "steps.0.column": GONE}, "is not proven"),
    (hand.switched, {"model.upper.0": "2"}, "is not binary"),
    (hand.switched, {"model.lower.0": "-1"}, "is not binary"),
    (hand.switched, {"model.integer": []}, "is not binary"),
    # a derived row has one certificate and the next number
    (hand.derived, {"steps.0.certificates": [DERIVED, DERIVED]}, "has not 1 entries"),
    (hand.derived, {"steps.0.certificates": [{"rows": [[2, "-1"]]}]}, INDEX),
    (hand.derived, {"bound.rows.0.0": 3}, INDEX),
    (hand.derived, {"bound.rows.0.1": "1/3"}, "no side"),
    # whole numbers: prices of continuous columns round nothing, nor do multiples of 1/1000 ...
    (priced, {}, LESS),
    (priced, {"model.integer": [0, 1]}, LESS),
    (priced, {"model.integer": [0, 1], "model.objective.linear": [[0, "1"]],
              "model.objective.products": [[1, 1, "1"]]}, LESS),
    # ... and a limit between whole numbers is the next one
    (without_a_tree, {}, None),
    (whole_by_step, {}, None),
    (whole_by_step, {"steps.0.columns.0.2": "2"}, "claims more"),
    (halves, {}, None),
    (halves, {"model.upper.0": "1"}, INDEX),
    (hand.split, {"bound": {"objective": "1"}}, "a bound beside the tree"),
    # two rows may be linearised at two points alone
    (flat_points, {}, None),
    (flat_points, {"bound.quadratic.0.3": [[0, "2"]]}, LIMIT),
    (hand.two_points, {"bound.quadratic.0": [0, "upper", "1", [], []]}, ""),
    (flat_points, {"model.quadratic.1.upper": "4"}, "a point is not excluded"),
    # the least value of a term that bends down is at an end
    (least_at_an_end, {}, None),
    (least_at_an_end, bounds("-399999999/100000000"), LESS),
    (least_at_an_end, {"model.lower": ["-5/2"]}, LESS),
    # a pivot of 0 is one only above zeros
    (lambda: form([0, 0, "1"], [1, 0, "4"], [1, 1, "4"]), {}, None),
    (lambda: form([0, 0, "1"], [1, 0, "4"], [1, 1, "399/100"]), {}, "is not semidefinite"),
    (lambda: form([1, 0, "1"]), {}, "is not semidefinite"),
    (lambda: form([0, 0, "1"], [1, 0, "1"]), {}, "is not semidefinite"),
    # a ray may stay at sides, and leaves none
    (falling, {}, None),
    (falling, {"ray.0": "1"}, "leaves row 0"),
    (falling, {"model.rows.1.upper": "9"}, "leaves row 1"),
    (falling, {"ray.1": "-1"}, "leaves row 1"),
    # cones: what a direction says of other columns is nothing; two factors; lifts and their shifts
    (hand.norm, {"bound.cones.0.direction": [[0, "3/5"], [1, "4/5"], [2, "5"]]}, None),
    (hand.norm, {"bound.cones.0.direction": [[0, "3/5"], [1, "801/1000"], [2, "5"]]}, "outside of"),
    *((hand.norm, {"cones.0.factors": hand.norm()["cones"][0]["factors"][:1] * count},
       "has not 2 entries") for count in (1, 3)),
    (lifted, {}, None),
    (lifted, {"claim.lower": "291/100"}, LESS),
    (lifted, {"bound.cones.0.shift": "99/1000"}, "less than the lift"),
    (lifted, {"bound.cones.0.shift": "-1/10"}, "less than the lift"),
    (lifted, {"model.upper.0": "11/10"}, "less than the lift"),
    (lifted, {"model.lower.0": "-11/10"}, "less than the lift"),
    (lifted, {"model.lower.0": None}, "lacks limits"),
    (lifted, {"cones.0.lift": [[0, "1/101"]]}, "is not semidefinite"),
    (lifted, {"cones.0.lift": [[0, "1/100"], [1, "-1/100"]]}, "a negative lift"),
    (lifted, IN_CONSTANT, None),
    (lifted, IN_CONSTANT | {"cones.0.lift": [[4, "1/100"]]}, INDEX),
    (lifted, IN_CONSTANT | {"bound.cones.0.shift": "99/1000"}, "less than the lift"),
    # of two limits the stronger one stays
    (weaker_steps, {}, None),
    (weaker_steps, bounds("-1/7"), LESS),
    (weaker_steps, {"steps": weaker_steps()["steps"][1:]}, LESS),
    (weaker_steps, {"steps": weaker_steps()["steps"][::2]}, LESS),
    # integers that bend, a cutoff of 0, and rows of several denominators
    (bent_integer, {}, None),
    (bent_integer, {"tree.nodes": [0]}, LESS),
    (switched_at_0, {}, None),
    (switched_at_0, {"model.lower.1": "-11/10"}, "step 0 is not proven"),
    (switched_at_0, {"steps.0.row.upper": "-1/1000"}, "step 0 is not proven"),
    (derived_in_parts, {}, None),
    (derived_in_parts, {"steps.0.row.upper": "-67/100"}, "step 0 is not proven"),
    (hand.split, {"model.lower": ["1"], "model.upper": ["5"]}, None),
    (hand.free_integer, {"model.objective.linear": [[0, "-2"]], **bounds("0")}, LESS),
    # multipliers of less than 0, entries that a part does not have, sides of cones
    (negative, {}, "a negative multiplier of (0, 'upper')"),
    (from_above, {}, "a negative multiplier of objective"),
    (lambda: skew("3", "0", [0, "1"]), {}, None),
    (lambda: skew("0", "3", [1, "1"]), {}, None),
    (lambda: skew("3", "0", [0, "1"], [1, "1/1000"]), {}, "outside of the dual cone"),
    (hand.norm, {"model.quadratic.0.upper": "1/100"}, "is not semidefinite"),
    (squares, {"curvature.0.squares": [["3", [[0, "1"], [1, "1"]]], ["-1", [[0, "1"], [1, "1"]]]]},
     "negative weight"),
    (lambda: form([0, 0, "1"], [1, 1, "1"]),
     {"curvature.0.squares": [["1/2", [[0, "1"], [1, "1"]]]]}, None),
    # lower sides of rows that bend, and points of their own
    (hand.disc, FROM_BELOW, None),
    (hand.disc, FROM_BELOW | {"model.quadratic.0.lower": "-201/100"}, LESS),
    (hand.disc, FROM_BELOW | {"bound.quadratic.0.1": "upper"}, ""),
    (hand.two_points, {"model.quadratic.1.upper": "349/100"}, None),
    (hand.two_points, {"model.quadratic.1.upper": "7/2"}, "not excluded"),
    # tangents of exp, and the terms of which they are
    (hand.exponential, {"steps.0.tangents.0.2.0": "2"}, "claims more than it proves"),
    (hand.exponential, {"steps.0.tangents.0.2": []}, "no such tangent"),
    (hand.exponential, {"steps.0.tangents.0.0": 1}, INDEX),
    (hand.exponential, {"model.terms.0.parts.0.0": "2"}, "its parts are not those of a term"),
    (hand.exponential, {"model.terms.0.function": "log"}, "is not positive"),
    (hand.exponential, {"model.terms.0.function": "cosine"}, "no such function"),
    (hand.exponential, {"point.1": f"{10**60 - 1}/{10**60}"}, "misses term 0"),
    # one way to the bound
    *((hand.lp, ways, "two proofs") for ways in (
        {"directions": {}}, {"directed": {}}, {"packed": {}},
        {"bound": GONE, "directed": {}, "packed": {}})),
    (hand.split, {"directed": {}}, "two proofs"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "changes", "why"), CASES)
def test_what_is_forged_is_rejected_and_its_neighbour_is_not(
    build: Callable[[], Document], changes: dict[str, Any], why: str | None
) -> None:
    document = edited(build(), changes)
    if why is None:
        assert accepted(document) is not None
    else:
        assert why in rejected(document)


def test_a_large_matrix_needs_squares() -> None:
    k = checker.LARGEST_ORDER + 1
    ones = [[i, j, "1" if i == j else "2"] for i in range(k) for j in range(i + 1)]
    goal = {"products": ones}
    document = proof(hand_model(k, objective=goal), "0", "0", ["0"] * k, bound={"objective": "1"})
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
        assert rejected(edited(hand.lp(), {place: value})), value


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
                checker.check(changed(hand.lp_rational(), "point", 0, to=number))


# --- alone, and from the command line ------------------------------------------------------------


def test_it_runs_alone(tmp_path: Path) -> None:
    """Where no package is: of an optimum, of a tree, and of a forged one."""
    shutil.copy(checker.__file__, tmp_path / "checker.py")
    file = tmp_path / "proof.json.gz"
    command = [sys.executable, "-I", "-S", str(tmp_path / "checker.py"), str(file)]
    for document, model, value in (
        (hand.qp(), "2 columns, 1 linear", 0.5),
        (hand.below_cutoff(), "2 columns (1 integer), 1 linear", 2.0),
        (hand.below_cutoff() | {"cutoff": "4"}, "", None),
    ):
        file.write_bytes(gzip.compress(json.dumps(document).encode()))
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (told.returncode, told.stderr) == (int(value is None), "")
        if value is None:
            assert told.stdout.startswith("REJECTED: step 0 claims more of column 0")
            continue
        assert told.stdout.splitlines() == [
            f"model: {model}, 0 quadratic and 0 semidefinite rows",
            f"PROVEN: the minimum is at least {value}",
            f"PROVEN: the minimum is at most {value}",
            f"gap: 0.0, which is 0.0 of {value}: CERTIFIED",
        ]


def test_a_damaged_file_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.dumps(hand.lp()).encode()
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
    file.write_bytes(gzip.compress(b" " * 100_000 + json.dumps(hand.lp()).encode()))
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
    ("build", "claim", "code", "said"),
    [
        (far, {"absolute_gap": "7"}, checker.BY_ALLOWANCE, "only by the absolute gap of 7.0 that"),
        (far, {"absolute_gap": "7", "kind": "bounds"}, checker.BY_ALLOWANCE, "CERTIFIED only by"),
        (far, {"absolute_gap": "6", "kind": "bounds"}, 0, "not closed"),
        (hand.qp, {"absolute_gap": "7"}, 0, ": CERTIFIED\n"),
        # an end alone is printed alone
        (lambda: edited(hand.lp(), bounds("1")), {}, 0, "the minimum is at least 1.0\n"),
        (lambda: edited(hand.lp(), {"claim": {"kind": "bounds", "upper": "1"}}), {}, 0,
         "the minimum is at most 1.0\n"),
    ],
)  # fmt: skip
def test_an_allowance_is_printed_where_the_verdict_rests_on_it(
    build: Callable[[], Document], claim: dict[str, str], code: int, said: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    document = build()
    document["claim"] |= claim
    assert second_checker.decides(document)
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(document))
    assert checker.main([str(file)]) == code
    assert said in capsys.readouterr().out
