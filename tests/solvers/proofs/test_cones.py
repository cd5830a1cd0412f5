"""Covers by cones of directions, in the kernel and in files: forged ones prove nothing too much."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    READ,
    Caps,
    ConeCover,
    ConeProblem,
    Conflict,
    Count,
    SideRows,
    cell_bounds,
    cone_problem,
    leaves,
)
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import conflict_proven as caps_proven
from tests.inside.solvers import cover_cover_lemma as cover_lemma
from tests.inside.solvers import cover_cover_value as cover_value
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import zero_one_beside
from tests.solvers.proof_files.test_checker import edited as with_changes
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import cone_search

DATA = tm.data.outlier_data("clustered", n=12, d=3, sigma=0.5, seed=4)
PENALTY = 0.8
INTERCEPTS = ("free", "penalised", "none")


def problem_of(intercept: str) -> ConeProblem:
    return cone_problem(DATA.X, DATA.y, np.full(DATA.n, PENALTY), intercept=intercept)


@pytest.mark.parametrize("intercept", INTERCEPTS)
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


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_forged_covers_prove_nothing_too_much(intercept: str) -> None:
    exact = zero_one_by_sets(DATA, penalty=PENALTY, intercept=intercept).objective
    found = cone_search(DATA, penalty=PENALTY, intercept=intercept)
    problem, bits = problem_of(intercept), found.cover.bits
    if intercept == "none":
        volume = sum(
            float(np.prod(np.where(h > 0, h, 1), axis=1).sum()) for _, h in leaves(3, bits)
        )
        assert volume == pytest.approx(6.0, abs=1e-12), "leaves cover the faces once"
    assert cover_value(problem, found.cover) == pytest.approx(exact, rel=2e-6)
    rng, ceiling = np.random.default_rng(0), 10 * exact
    assert cover_value(problem, found.cover, ceiling) <= exact
    known = [k for k in found.cover.known if isinstance(k, Conflict)]
    for turn in range(60 if FULL else 18):
        forged = bits.copy()
        if turn % 3 == 0:  # a box that is halved is said to be a leaf, or the other way round
            forged[rng.integers(len(bits))] ^= True
        elif turn % 3 == 1:
            forged = forged[: rng.integers(len(bits))]
        else:
            forged = np.append(forged, rng.random(3) < 0.5)
        forced = tuple(
            replace(k, alpha=k.alpha * rng.uniform(0.1, 10, len(k.alpha))) for k in known
        )
        lemma = cover_lemma(problem, ConeCover(forged, forced), ceiling)
        assert lemma is None or lemma.value <= exact
    assert cover_value(problem, ConeCover(np.zeros(2 * problem.k, dtype=bool)), ceiling) < exact


def test_what_is_no_conflict_is_refused() -> None:
    problem, bits = problem_of("free"), np.zeros(6, dtype=bool)
    for points, alpha in (
        ([0, 0], [1.0, 1.0]), ([0, 99], [1.0, 1.0]), ([-1, 3], [1.0, 1.0]),
        ([0, 9], [1.0, -1.0]), ([0, 9], [1.0, np.nan]), ([0, 9], [1.0]),
    ):  # fmt: skip
        bad = Conflict(np.array(points), np.array(alpha), np.zeros(0))
        with pytest.raises(ValueError, match="other points, or other multipliers"):
            cover_value(problem, ConeCover(bits, (bad,)))
        assert cover_lemma(problem, ConeCover(bits, (bad,)), 1e9) is None


def test_caps_with_multipliers_beyond_all_doubles_say_nothing() -> None:
    """w^2 / 2 + max(0, 1 - w) / 4 is least at w = 1/4, which w <= 5 allows."""
    row = {"weights": np.ones((1, 1)), "of_b": np.zeros(1), "most": np.full(1, 5.0)}
    sides, one = replace(SideRows.nothing(1, 1), **row), np.ones(1)
    problem = cone_problem(
        one[None], one, one / 4, intercept="none", ramp=True, square=0.5, sides=sides
    )
    none = np.zeros(0, dtype=np.intp)
    for of_row in (0.0, 1e300):  # of which the square is no double
        cover = ConeCover(np.zeros(2, dtype=bool), (Caps(none, np.zeros(0), of_row * one, none),))
        assert cover_value(problem, cover, 1.0) <= 7 / 32


def test_a_cell_that_holds_w_0_is_bounded_for_every_size_of_b() -> None:
    """Beyond the last margin a cell's bound does not grow: that piece counts where it is low."""
    X = np.array([np.r_[np.full(3, s), np.full(12, 1.4 * g)] for s in (0.7, 1.4, -1.4)
                  for g in (1, -1)])  # fmt: skip
    y, prices = np.sign(np.arange(6) - 1.5) * -1.0, np.array([1e3, 1e3, 1e2, 1e2, 1e2, 1e2])
    problem = cone_problem(X, y, prices, intercept="free", ramp=True, square=0.5)
    w, b = 1.0001 * np.r_[np.full(3, 2 / 6.3), np.zeros(12)], 1.0001 / 3
    cost = w @ w / 2 + prices @ np.clip(1 - y * (X @ w + b), 0, 2)
    Z, signs = ((X - problem.centre) * y[:, None])[problem.order], y[problem.order]
    a = cp.Variable(6, nonneg=True)
    rows = [a <= problem.prices, signs @ a == 0]
    cp.Problem(cp.Maximize(cp.sum(a) - cp.sum_squares(Z.T @ a) / 2), rows).solve(cp.CLARABEL)
    caps = Caps(np.arange(6), np.clip(a.value, 0, problem.prices), np.zeros(0), np.zeros(0, int))
    centre, half = np.zeros((1, 16)), np.ones((1, 16))
    centre[0, -1], half[0, -1] = 1.0, 0.0  # b = 1, and w no larger
    inside = np.r_[w, b + problem.centre @ w] * problem.units
    assert np.abs(inside).argmax() == 15
    assert inside[-1] > 0
    known = caps_proven(problem, (caps,))
    assert cell_bounds(problem, centre, half, 1e3, known)[0] <= cost


@pytest.mark.parametrize("missed", [1e-4, 0.1, 0.3, 1.0, 10.0])
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
    sides = replace(SideRows.nothing(len(y), 1), moved=np.where(y > 0, missed / READ, 0.0))
    problem = cone_problem(X, y, np.full(len(y), 1e3), intercept=intercept, sides=sides)
    found = cell_bounds(problem, np.array([[-1.0], [1.0]]), np.zeros((2, 1))).min()
    needed = max(0.0, (2.0 if intercept == "free" else 1.0) - missed) ** 2
    assert found <= needed * (1 + 1e-12)
    assert missed >= 1e-3 or found >= needed * (1 - 1e-2)


Sides = tuple[np.ndarray, np.ndarray, np.ndarray]  # G, low, high over (w, b), or over w
KINDS = {  # a row of w and b between its ends
    "row": ((1.0, -0.5, 0.0), 1.1, np.inf),
    "range": ((1.0, -0.5, 0.0), -0.6, 0.2),
    "equation": ((1.0, -0.5, 0.0), 0.25, 0.25),
    "limit": ((1.0, 0.0, 0.0), -np.inf, 0.3),
    "of b": ((1.0, 0.0, 1.0), 0.7, np.inf),
}
C = 0.8


def points(seed: int, n: int, d: int = 2) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


def edited(model: pyo.ConcreteModel, kind: str, intercept: str) -> Sides:
    """Write a statement of w and b into a model; the same as arrays."""
    k = 2 + (intercept != "none")
    if kind == "nothing":
        return np.zeros((0, k)), np.zeros(0), np.zeros(0)
    row, low, high = KINDS[kind]
    if kind == "limit":
        model.w[0].setub(high)
    else:
        columns = [model.w[0], model.w[1], 0 if intercept == "none" else model.b]
        body = sum(a * v for a, v in zip(row, columns, strict=True))
        ends = (None if low == -np.inf else low, None if high == np.inf else high)
        model.beside = pyo.Constraint(expr=(ends[0], body, ends[1]))
    return np.array([row[:k]]), np.array([low]), np.array([high])


def ramp_beside(data: TrainingData, intercept: str, sides: Sides) -> float:
    """The least over all sets of capped points, each a quadratic program of cvxpy."""
    k = data.d + (intercept != "none")
    A = data.y[:, None] * np.column_stack([data.X, np.ones(data.n)])[:, :k]
    G, low, high = sides
    v, price = cp.Variable(k), cp.Parameter(data.n, nonneg=True)
    squares = v if intercept == "penalised" else v[: data.d]
    below, above = low > -np.inf, high < np.inf
    kept = [G[below] @ v >= low[below]] if below.any() else []
    kept += [G[above] @ v <= high[above]] if above.any() else []
    loss = price @ cp.pos(1 - A @ v)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(squares) + loss), kept)
    best = np.inf
    for capped in itertools.product((False, True), repeat=data.n):
        price.value = np.where(capped, 0.0, C)
        best = min(best, float(problem.solve(solver=cp.CLARABEL)) + 2 * C * sum(capped))
    return best


def built(entry: str, data: TrainingData, intercept: str, penalty: float = C) -> pyo.ConcreteModel:
    words: dict[str, Any] = {"intercept": intercept}
    words |= {"C": C} if entry == "ramp_big_m" else {"penalty": penalty}
    words |= {} if entry == "zero_one_bilinear" else {"big_m": 100.0}
    return getattr(tm, entry)(data, **words)


FILES = [  # entry, intercept, kind of edit, seed of the points
    ("ramp_big_m", "free", "of b", 4),
    ("ramp_big_m", "free", "row", 8),
    ("ramp_big_m", "none", "equation", 12),
    ("zero_one_big_m", "free", "of b", 16),
    ("zero_one_big_m", "penalised", "limit", 24),
    ("zero_one_bilinear", "none", "range", 28),
    ("zero_one_big_m", "penalised", "nothing", 0),
    ("zero_one_bilinear", "free", "nothing", 0),
]
FILES += [("ramp_big_m", mode, "row", 8) for mode in ("penalised", "none")] if FULL else []
DEAR = 20.0  # a price at which conflicts are there


@pytest.fixture(scope="module", params=FILES, ids=lambda p: "-".join(p[:3]))
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of a model, and its optimum by brute force."""
    entry, intercept, kind, seed = request.param
    data, penalty = points(seed, n=3 if entry == "ramp_big_m" else 4), C
    if kind == "nothing":
        data, penalty = tm.data.outlier_data("none", n=12, d=2, sigma=0.5, seed=2), DEAR
    model = built(entry, data, intercept, penalty)
    sides = edited(model, kind, intercept)
    path = tmp_path_factory.mktemp("cones") / "proof.json"
    found = tm.solve(model, method="cone-search", proof=str(path))
    if entry == "ramp_big_m":
        exact = ramp_beside(data, intercept, sides) * (1 + 1e-7)
    elif kind == "nothing":
        exact = zero_one_by_sets(data, penalty=penalty, intercept=intercept).objective
    else:
        exact = zero_one_beside(data, penalty, intercept, sides, lambda z: True)
    assert "the proof is in" in found.message, found.message
    return read(str(path)), exact * (1 + 1e-9), kind


def lower_of(proof: Any) -> float:
    return float(proof.lower + proof.model.constant)


def test_a_lower_end_may_be_the_price_of_a_class_and_no_more(tmp_path: Path) -> None:
    """w = 0 gives up the negative point for 1; to keep one of each class takes |w| > 13."""
    data = tm.TrainingData([[0.0], [0.1], [-0.1], [0.05]], [1, 1, 1, -1])
    model = built("zero_one_big_m", data, "free", 1.0)
    tm.solve(model, method="cone-search", proof=tmp_path / "proof.json")
    found = read(str(tmp_path / "proof.json"))
    for lower, true in (("1", True), (f"{10**30 + 1}/{10**30}", False)):
        forged = with_changes(found, {"claim": {"kind": "bounds", "lower": lower}})
        assert (accepted(forged) is not None) == true


# Changes of a document, whose part for the cones is p, at places that are written with dots.
Changes = dict[str, Callable[[Any, Any, np.random.Generator], dict[str, Any]]]
MINUS_1 = "-0x1.0000000000000p+0"


def raised(text: str, factor: float) -> str:
    return (factor * float.fromhex(text)).hex()


def flipped(bits: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(bits)))
    return bits[:place] + ("1" if bits[place] == "0" else "0") + bits[place + 1 :]


def scaled(known: list[Any], rng: np.random.Generator) -> list[Any]:
    numbers = ([raised(a, float(rng.uniform(0.2, 5))) for a in k["multipliers"]] for k in known)
    return [k | {"multipliers": some} for k, some in zip(known, numbers, strict=True)]


def wider(found: Any, p: Any, rng: np.random.Generator) -> dict[str, Any]:
    """The row is left to a model that does not have it."""
    kind, k, side = p["beside"][0]
    return {f"model.rows.{k}.{side}" if kind == "row" else f"model.{side}.{k}": None}


def cheap_cap(found: Any, p: Any, rng: np.random.Generator) -> dict[str, Any]:
    z, line = p["points"][0][1], found["model"]["objective"]["linear"]
    halved = [[j, raised(c, 0.5) if j == z else c] for j, c in line]
    return {"model.objective.linear": halved}


ALWAYS: Changes = {
    "bits": lambda f, p, rng: {"directed.bits": flipped(p["bits"], rng)},
    "other bits": lambda f, p, rng: {"directed.bits": flipped(p["bits"], rng)},
    "fewer bits": lambda f, p, rng: {"directed.bits": p["bits"][: -int(rng.integers(1, 9))]},
    "a lower end": lambda f, p, rng: {"claim.lower": raised(f["claim"]["lower"], 1.01)},
    "a point twice": lambda f, p, rng: {"directed.points.1": p["points"][0]},
    "a point less": lambda f, p, rng: {"directed.points": p["points"][1:]},
    "a negative unit": lambda f, p, rng: {"directed.units.0": MINUS_1},
    "a column less": lambda f, p, rng: {"directed.columns": p["columns"][:-1]},
}
CONFLICTS: Changes = {
    "multipliers": lambda f, p, rng: {"directed.conflicts": scaled(p["conflicts"], rng)},
    "a negative one": lambda f, p, rng: {"directed.conflicts.0.multipliers.0": MINUS_1},
    "another point": lambda f, p, rng: {
        "directed.conflicts.0.points.0": (p["conflicts"][0]["points"][0] + 1) % len(p["points"])
    },
    "a negative row": lambda f, p, rng: {"directed.conflicts.0.rows": [[0, "-1"]]},
}
BESIDE: Changes = {
    "another side": lambda f, p, rng: {
        "directed.beside.0.2": {"upper": "lower", "lower": "upper"}[p["beside"][0][2]]
    },
    "another row": lambda f, p, rng: {"directed.beside.0.1": p["beside"][0][1] - 1},
    "a wider model": wider,
}
CAPS: Changes = {
    "multipliers": lambda f, p, rng: {"directed.caps": scaled(p["caps"], rng)},
    "a negative row": lambda f, p, rng: {"directed.caps.0.rows": [[0, "-1"]]},
    "more caps": lambda f, p, rng: {"directed.caps.0.capped": [*range(len(p["points"]))]},
    "twice capped": lambda f, p, rng: {
        "directed.caps.0.capped": (own := p["caps"][0])["capped"]
        + (own["points"] or own["capped"])[:1]
    },
    "a shared slack": lambda f, p, rng: {"directed.slacks.0": p["slacks"][1]},
    "no slack": lambda f, p, rng: {"directed.slacks": p["slacks"][:-1]},
    "a loose slack": lambda f, p, rng: {f"model.lower.{p['slacks'][0]}": "-1"},
    "a cheap cap": cheap_cap,
    "in a band": lambda f, p, rng: {
        "directed.intercept": p["columns"][-1], "directed.columns": p["columns"][:-1]
    },
}  # fmt: skip
# A quadratic row keeps a point only by products with its decision.
QUADRATIC: Changes = {
    "another product": lambda f, p, rng: {
        f"model.quadratic.{(k := p['points'][0][0])}.products": [
            *f["model"]["quadratic"][k]["products"],
            [1, 0, "0x1.0000000000000p-20"],
        ]
    },
    "no side": lambda f, p, rng: {f"model.quadratic.{p['points'][0][0]}.upper": None},
    "a point's side": lambda f, p, rng: {"directed.points.0.2": "lower"},
    "another decision": lambda f, p, rng: {"directed.points.0.1": p["points"][1][1]},
    "two sides": lambda f, p, rng: {"directed.points.0": [*p["points"][0], "upper"]},
}
# A range has both sides; what is true proves no more than there is.
MAY_BE_TRUE = (
    "bits", "other bits", "multipliers", "more caps", "another side", "another point",
)  # fmt: skip


def test_forged_files_are_refused_unless_they_are_true(document: Any) -> None:
    found, exact, kind = document
    part, honest = found["directed"], accepted(found)
    assert honest.kind == "optimum"
    assert lower_of(honest) <= exact <= float(honest.upper + honest.model.constant) * (1 + 1e-6)
    assert bool(part.get("beside")) == (kind != "nothing")
    changes = [
        *ALWAYS.items(),
        *(CONFLICTS.items() if part["conflicts"] else ()),
        *(BESIDE.items() if kind != "nothing" else ()),
        *(CAPS.items() if part.get("caps") else ()),
        *(QUADRATIC.items() if found["model"]["quadratic"] else ()),
    ]
    for seed, (name, change) in enumerate(changes * (4 if FULL else 1)):
        forged = with_changes(found, change(found, part, np.random.default_rng(seed)))
        proof = accepted(forged)
        assert proof is None or name in MAY_BE_TRUE, name
        assert proof is None or lower_of(proof) <= exact, name
