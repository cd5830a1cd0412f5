"""Proof files of the extended nu family: their claims are true, and what is forged is rejected."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.cuts import document as document_of_family
from tests.inside.experiments import outlier_data
from tests.inside.formulations import reduced_hulls, support_value
from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker
from tests.solvers.proof_files.mutations import holder, is_number, other_number, places
from tests.solvers.proof_files.test_checker import changed, rejected
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import solve

Document = dict[str, Any]


def data_of(d: int, n: int = 30, seed: int = 1) -> TrainingData:
    return outlier_data("clustered", n=n, d=d, sigma=0.4, seed=seed)


def written(model: Any, folder: Path, **settings: Any) -> tuple[Any, Document]:
    file = folder / "proof.json"
    result = solve(model, proof=file, **settings)
    assert f"the proof is in {file}" in result.message, result.message
    return result, json.loads(file.read_text())


def proven(document: Document) -> tuple[float, float | None]:
    """Both ends, with the constant; both checkers agree."""
    proof = checker.check(document)
    assert second_checker.decides(document)
    assert proof.lower is not None
    upper = None if proof.upper is None else float(proof.upper + proof.model.constant)
    return float(proof.lower + proof.model.constant), upper


@pytest.mark.parametrize(("name", "own", "d"), [
    ("extended_nu_svc", {"nu": 0.2}, 2), ("min_cvar", {"beta": 0.8, "intercept": "none"}, 2),
    ("extended_nu_svc_reverse", {"nu": 0.2, "intercept": "penalised"}, 1),
    ("extended_nu_svc", {"nu": 0.2, "intercept": "penalised"}, 1),
    ("extended_nu_svc", {"nu": 0.3}, 4 if FULL else 3), ("extended_nu_svc_polar", {"nu": 0.3}, 2),
    ("extended_nu_svc_polar", {"nu": 0.3, "scale": "perez_cruz"}, 1),  # 30 times 0.3 is no double
])  # fmt: skip
def test_a_file_says_what_the_search_says_and_no_direction_is_below_it(
    name: str, own: dict[str, Any], d: int, tmp_path: Path
) -> None:
    """In two dimensions of (w, b) every direction is tried, by sorting."""
    data = data_of(d)
    result, document = written(getattr(tm, name)(data, **own), tmp_path)
    lower, upper = proven(document)
    assert document["claim"]["kind"] == "optimum"
    assert "directions" in document
    assert lower <= upper
    assert (lower, upper) == pytest.approx((result.objective,) * 2, rel=1e-6)
    mode = own.get("intercept", "free")
    if d + (mode == "penalised") != 2 or name == "extended_nu_svc_polar":
        return
    hulls = reduced_hulls(data, nu=0.2, intercept=mode)
    angles = np.linspace(0, 2 * np.pi, 1_001)
    values = [support_value(hulls, np.array([np.cos(t), np.sin(t)])) for t in angles]
    least = min(values) / (0.2 if name == "min_cvar" else 1.0)
    assert 0 < lower <= least * (1 + 1e-12)
    assert least == pytest.approx(lower, rel=1e-2)


def test_above_nu_bar_it_is_the_ball(
    tmp_path: Path,
) -> None:
    for own in ({"intercept": "none"}, {"scale": "perez_cruz", "intercept": "penalised"}):
        result, document = written(tm.extended_nu_svc(data_of(2), nu=0.95, **own), tmp_path)
        lower, upper = proven(document)
        assert document["claim"]["kind"] == "optimum"
        assert lower <= result.objective < 0
        assert upper == pytest.approx(result.objective, rel=1e-6)
        assert "directions" not in document
    # Where the sphere has no rational point, ||w||^2 = 2 in one dimension, there are bounds.
    model = tm.extended_nu_svc(data_of(1), nu=0.3, scale="perez_cruz")
    result, document = written(model, tmp_path)
    assert document["claim"]["kind"] == "bounds"
    assert proven(document) == (pytest.approx(result.objective, rel=1e-9), None)


def test_what_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "proof.json"
    wide = solve(tm.extended_nu_svc(data_of(8, n=40), nu=0.2), proof=file, time_limit=5)
    assert "too many facets" in wide.message
    edited = tm.extended_nu_svc(data_of(2), nu=0.3)
    edited.w[0].setub(0.1)
    assert "no proof file was written" in solve(edited, "scip", proof=file).message
    off_sphere = lambda w, _: [Fraction(2) for _ in w]  # noqa: E731
    monkeypatch.setattr(f"{document_of_family.__name__}.on_sphere", off_sphere)
    for nu, intercept in ((0.3, "free"), (0.95, "none")):
        result = solve(tm.extended_nu_svc(data_of(2), nu=nu, intercept=intercept), proof=file)
        assert "the point" in result.message, nu
    assert not file.exists()


def square_document() -> Document:
    """The least t with t >= +-w_0 +-w_1 on the circle is 1: corners (+-1, +-1), and four edges."""
    rows = [
        {"name": f"r{i}{j}", "lower": "0", "upper": None,
         "linear": [[0, str(-i)], [1, str(-j)], [2, "1"]]}
        for i in (1, -1) for j in (1, -1)
    ]  # fmt: skip
    norm = {"name": "norm", "lower": "1", "upper": None, "constant": "0", "linear": [],
            "products": [[0, 0, "1"], [1, 1, "1"]]}  # fmt: skip
    return {
        "schema": checker.SCHEMA,
        "model": {
            "variables": ["w0", "w1", "t"], "lower": [None] * 3, "upper": [None] * 3,
            "integer": [], "rows": rows, "quadratic": [norm], "psd": [],
            "objective": {"constant": "0", "linear": [[2, "1"]], "products": []},
        },
        "claim": {"kind": "optimum", "lower": "1", "upper": "1"},
        "point": ["1", "0", "1"],
        "curvature": [{"of": "objective", "least": []}],
        "directions": {
            "row": 0,
            "certificates": [{"objective": "1", "rows": [[k, "1"]]} for k in range(4)],
            "simplices": [[0, 1], [1, 3], [3, 2], [2, 0]],
            "normals": [["1", "0"], ["0", "-1"], ["-1", "0"], ["0", "1"]],
            "inside": ["1", "2"],
            "beyond": ["1", "0"],
        },
    }  # fmt: skip


def test_no_more_than_the_distance_of_the_edges_is_proven() -> None:
    assert proven(square_document()) == (1.0, 1.0)
    little = Fraction(1, 10**30)
    for end, sign in (("lower", 1), ("upper", -1)):
        value = 1 + sign * little
        text = f"{value.numerator}/{value.denominator}"
        rejected(changed(square_document(), "claim", end, to=text))
    farther = changed(square_document(), "model", "quadratic", 0, "lower", to="4")
    farther |= {"claim": {"kind": "optimum", "lower": "2", "upper": "2"}, "point": ["2", "0", "2"]}
    assert proven(farther) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("simplices",), [[0, 1], [1, 3], [3, 2]], "has not 3 entries"),
        (("simplices", 3), [2, 1], "too near"),
        (("simplices", 0), [0, 0], "has not 2 corners"),
        (("simplices", 0, 0), 4, "no such index"),
        (("simplices",), [], "no point inside"),
        (("normals", 1), ["0", "-9/10"], "too near"),
        (("normals", 1), ["0", "-11/10"], "less than `lower`"),
        (("normals", 1), ["0"], "has not 2 entries"),
        (("inside",), ["1", "0"], "no point inside"),
        (("inside",), ["1", "-1"], "no point inside"),
        (("beyond",), ["1", "1"], "`beyond`"),
        (("beyond",), ["1"], "has not 2 entries"),
        (("row",), 1, "no such index"),
        (("row",), "objective", "no row of squares"),
        (("certificates", 0), {"rows": [[0, "1"]]}, "bounds something else"),
        (("certificates", 0), {"objective": "1"}, "no limit where one is needed"),
        (("certificates", 0), {"objective": "1", "rows": [[0, "2"]]}, "no limit"),
        (("certificates", 0), {"objective": "1", "rows": [[0, "-1"]]}, "no side"),
    ],
)
def test_what_is_forged_in_it_is_rejected(place: Any, value: Any, why: str) -> None:
    document = changed(square_document(), "directions", *place, to=value)
    assert why in rejected(document)
    assert not second_checker.decides(document)


def test_an_open_or_a_double_surface_covers_nothing() -> None:
    twice, opened = square_document(), square_document()
    for word in ("simplices", "normals"):
        twice["directions"][word] *= 2
        del opened["directions"][word][2]
    assert "meets the ray" in rejected(twice)
    assert "odd number" in rejected(opened)


def test_w_has_to_be_kept_from_0_by_a_row_of_squares() -> None:
    norm = ("model", "quadratic", 0)
    for place, value in (
        ((*norm, "lower"), "0"), ((*norm, "lower"), None), ((*norm, "constant"), "1"),
        ((*norm, "linear"), [[0, "1"]]),
        ((*norm, "products"), [[0, 0, "1"], [1, 1, "-1"]]),
        ((*norm, "products"), [[0, 0, "1"], [1, 0, "1"], [1, 1, "1"]]),
        ((*norm, "products"), [[0, 0, "2"], [1, 1, "1"]]),
        ((*norm, "products"), [[0, 0, "1"]]),
    ):  # fmt: skip
        document = changed(square_document(), *place, to=value)
        rejected(document)
        assert not second_checker.decides(document)


def test_directions_stand_in_the_place_of_a_bound() -> None:
    assert "two proofs of the bound" in rejected(square_document() | {"bound": {"objective": "1"}})
    assert "of at most the cutoff" in rejected(square_document() | {"cutoff": "1/2"})
    only = {"kind": "bounds", "upper": "1"}
    assert checker.check(square_document() | {"claim": only}).lower is None


def mutated(document: Document, dice: random.Random) -> Document:
    """A copy in which one thing of the proof, the claim or the point is another one."""
    found = copy.deepcopy(document)
    entry = found["directions"]
    rows, way = entry["certificates"], dice.randrange(6)
    if way == 0:
        f = dice.randrange(len(entry["simplices"]))
        for word in ("simplices", "normals"):
            if dice.random() < 0.7:
                del entry[word][f]
            else:
                entry[word].append(entry[word][f])
    elif way == 1:
        part = dice.choice(entry["simplices"])
        part[dice.randrange(len(part))] = dice.randrange(len(rows) + 1)
    elif way == 2:
        a, b = (dice.randrange(len(rows)) for _ in range(2))
        rows[a], rows[b] = rows[b], rows[a]
    else:
        parts = ("claim", "point") if way == 3 else ("directions",)
        at = [p for p in places(found, str) if p[0] in parts]
        at = [p for p in at if is_number(holder(found, p)[p[-1]])]
        place = dice.choice(at)
        part, key = holder(found, place), place[-1]
        part[key] = other_number(part[key], dice, [part[key], "0x1.0000000000000p+0"])
    return found


def test_no_mutation_is_accepted_with_a_false_claim(tmp_path: Path) -> None:
    dice = random.Random(8)
    accepted = 0
    models = [
        tm.extended_nu_svc(data_of(2, n=10), nu=0.3),
        tm.extended_nu_svc_polar(data_of(2, n=10), nu=0.3),
        tm.extended_nu_svc_reverse(data_of(3, n=10), nu=0.15),
    ]
    files = [written(model, tmp_path)[1] for model in models]
    ends = [checker.check(document) for document in files]
    for k in range(500 if FULL else 100):
        document = mutated(files[k % 3], dice)
        try:
            proof = checker.check(document)
        except checker.ProofError:
            if k % 10 == 0:
                assert not second_checker.decides(document), k
            continue
        assert second_checker.decides(document), k
        accepted += document != files[k % 3]
        truth = ends[k % 3]
        assert proof.lower is None or proof.lower <= truth.upper, k
        assert proof.upper is None or proof.upper >= truth.lower, k
    assert 2 < accepted < 300
