"""Trees that are worked by hand are accepted, and what is forged in them is rejected."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker, tree_documents
from tests.solvers.proof_files.documents import Document
from tests.solvers.proof_files.rewritten_models import enumerated
from tests.solvers.proof_files.test_checker import changed, rejected, run


def accepted(document: Document) -> checker.Proof:
    assert second_checker.decides(document)
    return checker.check(document)


def without(document: Document, *place: Any) -> Document:
    found = copy.deepcopy(document)
    part: Any = found
    for key in place[:-1]:
        part = part[key]
    del part[place[-1]]
    return found


@pytest.mark.parametrize("build", tree_documents.BY_HAND, ids=lambda build: build.__name__)
def test_what_is_worked_by_hand_is_proven(build: Callable[[], Document]) -> None:
    assert accepted(build()).kind == build()["claim"]["kind"]


@pytest.mark.parametrize(
    "build",
    [b for b in tree_documents.BY_HAND if "lower" in b()["claim"]],
    ids=lambda build: build.__name__,
)
def test_no_more_than_the_minimum_is_ever_proven(build: Callable[[], Document]) -> None:
    document, little = build(), Fraction(1, 10**30)
    for end, sign in (("lower", 1), ("upper", -1)):
        value = checker.number(document["claim"][end], "") + sign * little
        rejected(changed(document, "claim", end, to=f"{value.numerator}/{value.denominator}"))
    above = Fraction(document["claim"]["lower"]) + little
    bounds = {"kind": "bounds", "lower": f"{above.numerator}/{above.denominator}"}
    rejected(document | {"claim": bounds, "cutoff": "1000"})


@pytest.mark.parametrize(
    "build",
    [tree_documents.split, tree_documents.parity, tree_documents.free_integer],
    ids=lambda build: build.__name__,
)
def test_the_documents_say_what_enumeration_finds(build: Callable[[], Document]) -> None:
    least, off = enumerated(build()["model"])
    assert off == 0
    assert least == (None if build()["claim"]["kind"] == "infeasible" else accepted(build()).lower)


@pytest.mark.parametrize("build", tree_documents.BY_HAND[:3], ids=lambda build: build.__name__)
def test_without_integrality_it_proves_nothing(build: Callable[[], Document]) -> None:
    rejected(changed(build(), "model", "integer", to=[]))


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([[0, 1], 0], "not complete"),
        ([[0, 1], 0, 1, 1], "has no box"),
        ([], "not complete"),
        ([0], "no limit where one is needed"),
        ([1], "less than `lower`"),
        ([[0, 1], 1, 0], "less than `lower`"),
        ([[0, 0], 0, 1], "less than `lower`"),
        ([[0, 2], 0, 1], "a point is not excluded"),
        ([[0, 1], None, 1], "no such index"),
        ([[0, 1], 0, None], "no such index"),
        ([[0, 1], 0, 2], "no such index"),
        ([[0, 1], 0, True], "no such index"),
        ([[0, 1], 0, 1.0], "no such index"),
        ([[0, 1.0], 0, 1], "no whole number"),
        ([[0, True], 0, 1], "no whole number"),
        ([[0, "1"], 0, 1], "no whole number"),
        ([[0, 1, 1], 0, 1], "has not 2 entries"),
        ([[1, 1], 0, 1], "no such index"),
        ([[0]], "has not 2 entries"),
        ({"0": 0}, "is no list"),
    ],
)
def test_a_tree_that_leaves_points_out_is_none(nodes: Any, why: str) -> None:
    assert why in rejected(changed(tree_documents.split(), "tree", "nodes", to=nodes))


def test_more_branches_than_are_needed_do_no_harm() -> None:
    nodes = [[0, 5], [0, 1], [0, 0], 0, 0, [0, 7], 1, None, [0, 3], None, [0, 5], None, 1]
    assert accepted(changed(tree_documents.split(), "tree", "nodes", to=nodes)).lower == 2


def test_a_branch_on_a_continuous_column_is_none() -> None:
    document = tree_documents.below_cutoff()
    nodes = [[1, 0], 0, [0, 0], 0, [0, 1], 1, None]
    assert "no integer" in rejected(changed(document, "tree", "nodes", to=nodes))


def test_certificates_that_change_places_close_nothing() -> None:
    for build in (tree_documents.split, tree_documents.parity, tree_documents.below_cutoff):
        entries = build()["tree"]["certificates"]
        rejected(changed(build(), "tree", "certificates", to=entries[::-1]))


def test_no_point_is_left_out_by_a_cutoff_of_an_infeasible_model() -> None:
    assert "cutoff" in rejected(tree_documents.parity() | {"cutoff": "0"})


def test_what_holds_below_a_cutoff_needs_it() -> None:
    document = tree_documents.below_cutoff()
    assert "claims more of column 0" in rejected(document | {"cutoff": "6"})
    assert "claims more of column 0" in rejected(document | {"cutoff": "301/100"})
    assert "`lower` exceeds the cutoff" in rejected(document | {"cutoff": "199/100"})
    assert accepted(document | {"cutoff": "2"})
    assert accepted(without(document, "cutoff"))
    alone = without(document, "cutoff") | {"claim": {"kind": "bounds", "lower": "2"}}
    assert "the upper end is not there" in rejected(alone)
    row = changed(tree_documents.switched(), "claim", to={"kind": "bounds", "lower": "1"})
    assert "the cutoff is not there" in rejected(row)
    assert "step 0 is not proven" in rejected(tree_documents.switched() | {"cutoff": "11/10"})


def test_a_row_is_proven_at_both_ends() -> None:
    document = tree_documents.switched()
    entries = document["steps"][0]["certificates"]
    for other in (entries[::-1], entries[:1], entries[:1] * 2, entries[1:] * 2, []):
        rejected(changed(document, "steps", 0, "certificates", to=other))
    tight = changed(document, "steps", 0, "row", "upper", to="-10000001/10000000")
    assert "step 0 is not proven" in rejected(tight)
    both = without(
        changed(document, "steps", 0, "certificates", to=entries[:1]), "steps", 0, "column"
    )
    assert "step 0 is not proven" in rejected(both)


@pytest.mark.parametrize(
    ("place", "value"),
    [(("upper", 0), "2"), (("upper", 0), None), (("lower", 0), "-1"), (("integer",), [])],
)
def test_a_row_is_switched_by_binary_columns_alone(place: tuple[Any, ...], value: Any) -> None:
    document = changed(tree_documents.switched(), "model", *place, to=value)
    assert "is not binary" in rejected(document)


def test_a_derived_row_has_one_certificate_and_the_next_number() -> None:
    document = tree_documents.derived()
    entry = document["steps"][0]["certificates"][0]
    assert "has not 1 entries" in rejected(
        changed(document, "steps", 0, "certificates", to=[entry, entry])
    )
    itself = {"rows": [[2, "-1"]]}
    assert "no such index" in rejected(changed(document, "steps", 0, "certificates", to=[itself]))
    assert "no such index" in rejected(changed(document, "bound", "rows", 0, 0, to=3))
    other_side = changed(document, "bound", "rows", 0, 1, to="1/3")
    assert "no side" in rejected(other_side)


def test_prices_of_continuous_columns_round_nothing() -> None:
    """With 1/1000 s in the objective every value is possible; 3/2 is all that the bound proves."""
    document = tree_documents.rounded()
    assert accepted(document).lower == 2
    model = document["model"]
    model |= {"variables": ["x", "s"], "lower": ["0", "0"], "upper": [None, None]}
    model["objective"]["linear"].append([1, "1/1000"])
    document["point"].append("0")
    assert "less than `lower`" in rejected(document)
    model["integer"] = [0, 1]
    assert "less than `lower`" in rejected(document), "multiples of 1/1000 of which 3/2 is one"
    model["objective"] = document["model"]["objective"] | {"linear": [[0, "1"]]}
    model["objective"]["products"] = [[1, 1, "1"]]
    assert "less than `lower`" in rejected(document)


def test_a_limit_between_whole_numbers_is_the_next_one() -> None:
    document = tree_documents.split()
    del document["tree"]
    document["model"]["lower"] = ["3/2"]
    document |= {"bound": {"objective": "1"}}
    assert accepted(document).lower == 2
    steps = [{"certificate": {"rows": [[0, "1"]]}, "columns": [[0, "2", "3/2"]]}]
    by_step = changed(document, "model", "lower", to=["0"]) | {"steps": steps}
    assert accepted(by_step).lower == 2
    assert "claims more" in rejected(changed(by_step, "steps", 0, "columns", 0, 2, to="2"))


def test_limits_that_cross_close_every_box() -> None:
    document = tree_documents.parity()
    document["model"]["lower"][0] = "1/2"
    document["model"]["upper"][0] = "2/3"
    assert accepted(changed(document, "tree", "nodes", to=[None]))
    document["model"]["upper"][0] = "1"
    assert "no such index" in rejected(changed(document, "tree", "nodes", to=[None]))


def test_a_tree_stands_in_the_place_of_a_bound() -> None:
    document = tree_documents.split() | {"bound": {"objective": "1"}}
    assert "a bound beside the tree" in rejected(document)


def test_two_rows_may_be_linearised_at_two_points_alone() -> None:
    document = tree_documents.two_points()
    flat = [{"of": [k, "upper"], "least": []} for k in (0, 1)]
    assert accepted(document | {"curvature": flat})
    one = changed(document, "bound", "quadratic", 0, 3, to=[[0, "2"]])
    assert "no limit where one is needed" in rejected(one | {"curvature": flat})
    assert rejected(changed(document, "bound", "quadratic", 0, to=[0, "upper", "1", [], []]))
    touching = changed(document, "model", "quadratic", 1, "upper", to="4")
    touching["curvature"] = flat
    assert "a point is not excluded" in rejected(touching)


def test_it_runs_alone(tmp_path: Path) -> None:
    file = tmp_path / "proof.json.gz"
    file.write_bytes(gzip.compress(json.dumps(tree_documents.below_cutoff()).encode()))
    told = run(tmp_path, file)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        "model: 2 columns (1 integer), 1 linear, 0 quadratic and 0 semidefinite rows",
        "PROVEN: the minimum is at least 2.0",
        "PROVEN: the minimum is at most 2.0",
        "gap: 0.0, which is 0.0 of 2.0: CERTIFIED",
    ]
    forged = tree_documents.below_cutoff() | {"cutoff": "4"}
    file.write_bytes(gzip.compress(json.dumps(forged).encode()))
    assert run(tmp_path, file).stdout.startswith("REJECTED: step 0 claims more of column 0")
