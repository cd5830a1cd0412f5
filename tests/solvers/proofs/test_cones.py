"""What the kernel makes of covers by cones of directions: forged ones prove nothing too much."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    READ,
    ConeCover,
    ConeProblem,
    Conflict,
    Count,
    ProofError,
    SideRows,
    cell_bounds,
    check,
    cone_problem,
    faces,
    leaves,
    plain,
    zero_one_enumeration,
)
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import cover_cover_lemma as cover_lemma
from tests.inside.solvers import cover_cover_value as cover_value
from tests.solvers.proof_files import second_checker
from tightmargin.solvers import cone_search

DATA = tm.data.outlier_data("clustered", n=16, d=3, sigma=0.5, seed=4)
PENALTY, DEAR = 0.8, 20.0


def problem_of(intercept: str) -> ConeProblem:
    return cone_problem(DATA.X, DATA.y, np.full(DATA.n, PENALTY), intercept=intercept)


def random_boxes(k: int, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    centre, half = faces(k)
    which = rng.integers(len(centre), size=count)
    centre, half = centre[which], half[which] * 2.0 ** -rng.integers(0, 6, size=(count, 1))
    free = half > 0
    offset = rng.integers(-31, 32, size=centre.shape) / 32 * (1 - half)
    return np.where(free, np.round(offset * 64) / 64 * (half < 1), centre), half


@pytest.mark.parametrize("ramp", [False, True])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_no_hyperplane_of_a_cell_is_below_its_bound(intercept: str, ramp: bool) -> None:
    rng = np.random.default_rng(1)
    problem = cone_problem(
        DATA.X, DATA.y, np.full(DATA.n, PENALTY), intercept=intercept, ramp=ramp,
        square=0.5 if ramp else 1.0,
    )  # fmt: skip
    centre, half = random_boxes(problem.k, rng, 60)
    half = np.minimum(half, 1 - np.abs(centre)) * (half > 0)
    bounds = cell_bounds(problem, centre, half)
    for c, h, bound in zip(centre, half, bounds, strict=True):
        r = c + h * rng.uniform(-1, 1, size=(200, problem.k))
        v = 2.0 ** rng.uniform(-3, 4, size=(200, 1)) * r / problem.units
        w, b = v[:, :3], np.zeros((200, 1))
        if intercept != "none":
            b = v[:, 3:4] if problem.k == 4 else rng.normal(size=(200, 1)) * 3
        if intercept == "free":
            b = b - (w @ problem.centre)[:, None]
        u = DATA.y * (w @ DATA.X.T + b)
        norm2 = (w * w).sum(axis=1) + (b[:, 0] ** 2 if intercept == "penalised" else 0.0)
        loss = np.clip(1 - u, 0, 2) if ramp else (u < 1).astype(float)
        values = (0.5 if ramp else 1.0) * norm2 + PENALTY * loss.sum(axis=1)
        assert values.min() >= bound * (1 - 1e-12)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_a_dear_point_hides_no_cheap_one(intercept: str) -> None:
    # w = 1, b = 0 gives up the point of price 3 alone, where 3 + 1e16 is no double.
    X, y = np.array([[-1.0], [1.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    problem = cone_problem(X, y, np.array([3.0, 1e16, 1e16]), intercept=intercept)
    assert cover_value(problem, ConeCover(np.zeros(2 * problem.k, dtype=bool))) <= 1 + 3
    data = tm.TrainingData(X, y, sample_weight=[1.0, 1e16, 1e16])
    found = cone_search(data, penalty=1.0, intercept=intercept, cell_limit=20_000)
    assert str(found.stop) == "proven"
    assert found.bound <= 2 <= found.objective * (1 + 1e-12)
    assert found.objective == pytest.approx(2)


def test_a_count_of_a_point_without_a_price_is_of_no_other() -> None:
    X, y = np.array([[1.0], [2.0], [-1.0], [0.5]]), np.array([1.0, 1.0, -1.0, -1.0])
    one = Count(np.array([True, False, False, False]), 0)
    sides = replace(SideRows.nothing(4, 1), counts=(one,))
    prices = np.array([0.0, 1.0, 1.0, 1.0])
    problem = cone_problem(X, y, prices, intercept="none", sides=sides)
    # w = 1 keeps the counted point, and gives up the last one.
    assert cover_value(problem, ConeCover(np.zeros(2, dtype=bool))) <= 1 + 1


def test_leaves_cover_the_faces_once() -> None:
    found = cone_search(DATA, penalty=PENALTY, intercept="none")
    volume = sum(float(np.prod(np.where(h > 0, h, 1), axis=1).sum())
                 for _, h in leaves(3, found.cover.bits))  # fmt: skip
    assert volume == pytest.approx(6.0, abs=1e-12)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_forged_covers_prove_nothing_too_much(intercept: str) -> None:
    exact = zero_one_enumeration(DATA, penalty=PENALTY, intercept=intercept).objective
    found = cone_search(DATA, penalty=PENALTY, intercept=intercept)
    problem, bits = problem_of(intercept), found.cover.bits
    assert cover_value(problem, found.cover) == pytest.approx(exact, rel=2e-6)
    rng = np.random.default_rng(0)
    ceiling = 10 * exact
    assert cover_value(problem, found.cover, ceiling) <= exact
    for _ in range(60):
        forged = bits.copy()
        kind = int(rng.integers(3))
        if kind == 0:  # a box that is halved is said to be a leaf, or the other way round
            forged[rng.integers(len(bits))] ^= True
        elif kind == 1:
            forged = forged[: rng.integers(len(bits))]
        else:
            forged = np.append(forged, rng.random(3) < 0.5)
        known = [k for k in found.cover.known if isinstance(k, Conflict)]
        forced = tuple(replace(k, alpha=k.alpha * rng.uniform(0.1, 10, len(k.alpha)))
                       for k in known)  # fmt: skip
        lemma = cover_lemma(problem, ConeCover(forged, forced), ceiling)
        assert lemma is None or lemma.value <= exact
    whole = np.zeros(2 * problem.k, dtype=bool)
    assert cover_value(problem, ConeCover(whole), ceiling) < exact


def test_what_is_no_conflict_is_refused() -> None:
    problem, bits = problem_of("free"), np.zeros(6, dtype=bool)
    rows = np.zeros(0)
    for points, alpha in (
        ([0, 0], [1.0, 1.0]), ([0, 99], [1.0, 1.0]), ([-1, 3], [1.0, 1.0]),
        ([0, 9], [1.0, -1.0]), ([0, 9], [1.0, np.nan]), ([0, 9], [1.0]),
    ):  # fmt: skip
        bad = Conflict(np.array(points), np.array(alpha), rows)
        with pytest.raises(ValueError, match="other points, or other multipliers"):
            cover_value(problem, ConeCover(bits, (bad,)))
        assert cover_lemma(problem, ConeCover(bits, (bad,)), 1e9) is None


# --- proof files ---------------------------------------------------------------------------------


FILES = [(name, "zero_one_big_m") for name in ("free", "penalised", "none")]
FILES += [("free", "zero_one_bilinear"), ("none", "zero_one_bilinear")]


@pytest.fixture(scope="module", params=FILES, ids="-".join)
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of a model whose optimum enumeration knows."""
    path = tmp_path_factory.mktemp("cones") / "proof.json"
    data = tm.data.outlier_data("none", n=16, d=2, sigma=0.5, seed=2)
    intercept, entry = request.param
    words = {"big_m": "derived"} if entry == "zero_one_big_m" else {}
    model = getattr(tm, entry)(data, penalty=DEAR, intercept=intercept, **words)
    found = tm.solve(model, method="cone-search", proof=str(path))
    assert str(path) in found.message, plain(found.message)
    exact = zero_one_enumeration(data, penalty=DEAR, intercept=intercept).objective
    return read(str(Path(path))), exact


def test_the_checker_proves_the_file_again(document: Any) -> None:
    proof = check(document[0])
    assert second_checker.decides(document[0])
    assert proof.kind == "optimum"
    assert float(proof.lower) <= document[1] <= float(proof.upper) * (1 + 1e-12)


def changed(found: Any, rng: np.random.Generator) -> Any:
    """A copy of a document with something of its cones, or its claim, made up."""
    forged = copy.deepcopy(found)
    part, kind = forged["directed"], int(rng.integers(9))
    if kind == 0:
        place = int(rng.integers(len(part["bits"])))
        flipped = "1" if part["bits"][place] == "0" else "0"
        part["bits"] = part["bits"][:place] + flipped + part["bits"][place + 1 :]
    elif kind == 1:
        part["bits"] = part["bits"][: -int(rng.integers(1, 9))]
    elif kind == 2:
        part["points"][int(rng.integers(len(part["points"])))] = part["points"][0]
    elif kind == 3:
        del part["points"][int(rng.integers(len(part["points"])))]
    elif kind == 4:
        part["units"][0] = "-0x1.0000000000000p+0"
    elif kind == 5:
        forged["claim"] |= {"lower": (2.0 * float.fromhex(forged["claim"]["lower"])).hex()}
        forged["claim"] |= {"kind": "bounds"}
        del forged["claim"]["upper"], forged["point"]
    elif kind == 6:
        multipliers = part["conflicts"][0]["multipliers"]
        multipliers[0] = (-float.fromhex(multipliers[0])).hex()
    elif kind == 7:
        points = part["conflicts"][0]["points"]
        points[0] = (points[0] + 1) % len(part["points"])
    else:
        part["columns"] = part["columns"][:-1]
    return forged


def test_forged_files_are_refused_unless_they_are_true(document: Any) -> None:
    found, exact = document
    rng, refused = np.random.default_rng(0), 0
    for k in range(60):
        forged = changed(found, rng)
        try:
            proof = check(forged)
        except ProofError:
            refused += 1
            assert k % 3 or not second_checker.decides(forged)
            continue
        assert k % 3 or second_checker.decides(forged)
        assert proof.lower is not None
        assert float(proof.lower) <= exact * (1 + 1e-12)
    assert refused >= 30
    assert math.isfinite(exact)


def test_a_quadratic_row_keeps_a_point_only_by_products_with_its_decision(document: Any) -> None:
    found, _ = document
    if not found["model"]["quadratic"]:
        return
    for change in ("another product", "another side", "no side", "another decision", "two sides"):
        forged = copy.deepcopy(found)
        point = forged["directed"]["points"][0]
        row = forged["model"]["quadratic"][point[0]]
        if change == "another product":
            row["products"].append([1, 0, "0x1.0000000000000p-20"])
        elif change == "another side":
            point[2] = "lower"
        elif change == "no side":
            row["upper"] = None
        elif change == "another decision":
            point[1] = forged["directed"]["points"][1][1]
        else:
            point.append("upper")
        assert not second_checker.decides(forged), change
        with pytest.raises(ProofError):
            check(forged)


@pytest.mark.parametrize("missed", [1e-4, 0.1, 0.2, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_what_rounding_takes_from_a_margin_is_taken_from_the_bound(
    intercept: str, missed: float
) -> None:
    """One negative at 0 and two positives at 1 whose rows may say w + b >= 1 - missed only.

    The positives are in the middle, so that they are 0 once they are centred.
    """
    X, y = np.array([[0.0], [1.0], [1.0]]), np.array([-1.0, 1.0, 1.0])
    kept = slice(None) if intercept == "free" else slice(1, None)
    X, y = X[kept], y[kept]
    nothing = SideRows.nothing(len(y), 1)
    moved = np.where(y > 0, missed / READ, 0.0)
    problem = cone_problem(
        X, y, np.full(len(y), 1e3), intercept=intercept, sides=replace(nothing, moved=moved)
    )
    both = np.zeros((2, 1))
    found = cell_bounds(problem, np.array([[-1.0], [1.0]]), both).min()
    needed = max(0.0, (2.0 if intercept == "free" else 1.0) - missed) ** 2
    assert found <= needed * (1 + 1e-12)
    if missed < 1e-3:
        assert found >= needed * (1 - 1e-2)
