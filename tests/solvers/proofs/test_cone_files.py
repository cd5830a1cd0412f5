"""Rows of w and b beside cones of directions: ramp models, and proof files of either loss."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import zero_one_enumeration
from tests.references.brute_force import zero_one_beside
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL, covering
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

Sides = tuple[np.ndarray, np.ndarray, np.ndarray]  # G, low, high over (w, b), or over w
INTERCEPTS = ("free", "penalised", "none")
KINDS = ("row", "range", "equation", "limit", "of b", "nothing")
C = 0.8


def points(seed: int, n: int = 5, d: int = 2) -> TrainingData:
    """Few points, copied or on a grid for some seeds."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
    if seed % 4 == 1:
        X = np.round(X)
    if seed % 4 == 2:
        X[-2] = X[0]
    return TrainingData(X, y)


def edited(model: pyo.ConcreteModel, kind: str, intercept: str) -> Sides:
    """Write a statement of w and b into a model; the same as arrays."""
    k = 2 + (intercept != "none")
    row = np.array([1.0, -0.5, 0.0])[:k]
    low, high = -np.inf, np.inf
    if kind == "row":
        low = 1.1
        model.beside = pyo.Constraint(expr=model.w[0] - 0.5 * model.w[1] >= low)
    elif kind == "range":
        low, high = -0.6, 0.2
        model.beside = pyo.Constraint(expr=(low, model.w[0] - 0.5 * model.w[1], high))
    elif kind == "equation":
        low = high = 0.25
        model.beside = pyo.Constraint(expr=model.w[0] - 0.5 * model.w[1] == high)
    elif kind == "limit":
        row, high = np.array([1.0, 0.0, 0.0])[:k], 0.3
        model.w[0].setub(high)
    elif kind == "of b":
        row, low = np.array([1.0, 0.0, 1.0])[:k], 0.7
        of_b = 0 if intercept == "none" else model.b
        model.beside = pyo.Constraint(expr=model.w[0] + of_b >= low)
    else:
        return np.zeros((0, k)), np.zeros(0), np.zeros(0)
    return row[None], np.array([low]), np.array([high])


def ramp_beside(data: TrainingData, intercept: str, sides: Sides) -> float:
    """The least over all sets of capped points, each a quadratic program of cvxpy."""
    import cvxpy as cp

    k = data.d + (intercept != "none")
    A = data.y[:, None] * np.column_stack([data.X, np.ones(data.n)])[:, :k]
    G, low, high = sides
    v, price = cp.Variable(k), cp.Parameter(data.n, nonneg=True)
    squares = v if intercept == "penalised" else v[: data.d]
    rows = [G[low > -np.inf] @ v >= low[low > -np.inf], G[high < np.inf] @ v <= high[high < np.inf]]
    loss = price @ cp.pos(1 - A @ v)
    kept = [row for row in rows if row.size]
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


BESIDE = covering(KINDS[:-1], INTERCEPTS) if FULL else [
    ("row", "free"), ("range", "penalised"), ("equation", "none"), ("limit", "free"),
    ("of b", "penalised"), ("of b", "free"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "intercept"), BESIDE)
def test_the_ramp_loss_beside_rows_is_that_of_all_sets_of_caps(kind: str, intercept: str) -> None:
    data = points(3 * KINDS.index(kind) + INTERCEPTS.index(intercept))
    model = built("ramp_big_m", data, intercept)
    exact = ramp_beside(data, intercept, edited(model, kind, intercept))
    found = tm.solve(model, method="cone-search")
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(exact, rel=1e-5)
    assert found.certificate.bound <= exact * (1 + 1e-6)


def test_fixed_columns_stay_fixed_and_auto_takes_cones_for_edited_ramp_models() -> None:
    data = points(0)
    model = tm.ramp_big_m(data, C=C, big_m="derived", intercept="free")
    model.w[1].fix(-0.4)
    sides = np.array([[0.0, 1.0, 0.0]]), np.array([-0.4]), np.array([-0.4])
    found = tm.solve(model)
    assert found.certificate.facts["engine"] == "cone-search"
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(ramp_beside(data, "free", sides), rel=1e-5)


# --- proof files ---------------------------------------------------------------------------------

FILES = [  # entry, intercept, kind of edit, seed of the points
    ("ramp_big_m", "free", "of b", 4),
    ("ramp_big_m", "none", "limit", 12),
    ("zero_one_big_m", "free", "of b", 16),
    ("zero_one_big_m", "penalised", "limit", 24),
    ("zero_one_bilinear", "none", "range", 28),
    ("zero_one_big_m", "penalised", "nothing", 0),
    ("zero_one_bilinear", "free", "nothing", 0),
]
if FULL:
    FILES += [
        ("ramp_big_m", "penalised", "row", 8),
        ("ramp_big_m", "free", "nothing", 0),
        ("zero_one_big_m", "free", "row", 20),
        ("zero_one_big_m", "free", "nothing", 0),
        ("zero_one_big_m", "none", "nothing", 0),
        ("zero_one_bilinear", "none", "nothing", 0),
    ]
DEAR = 20.0  # a price at which conflicts are there


@pytest.fixture(scope="module", params=FILES, ids=lambda p: "-".join(p[:3]))
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of a model, and its optimum by brute force."""
    entry, intercept, kind, seed = request.param
    data, penalty = points(seed, n=3 if entry == "ramp_big_m" else 4), C
    if kind == "nothing" and entry != "ramp_big_m":
        data, penalty = tm.data.outlier_data("none", n=12, d=2, sigma=0.5, seed=2), DEAR
    model = built(entry, data, intercept, penalty)
    sides = edited(model, kind, intercept)
    path = tmp_path_factory.mktemp("cones") / "proof.json"
    found = tm.solve(model, method="cone-search", proof=str(path))
    if entry == "ramp_big_m":
        exact = ramp_beside(data, intercept, sides) * (1 + 1e-7)
    elif kind == "nothing":
        exact = zero_one_enumeration(data, penalty=penalty, intercept=intercept).objective
    else:
        exact = zero_one_beside(data, penalty, intercept, sides, lambda z: True)
    assert "the proof is in" in found.message, found.message
    return read(str(path)), exact * (1 + 1e-9), kind


def lower_of(proof: Any) -> float:
    return float(proof.lower + proof.model.constant)


def test_both_checkers_prove_the_file(document: Any) -> None:
    found, exact, kind = document
    proof = accepted(found)
    assert proof.kind == "optimum"
    assert lower_of(proof) <= exact <= float(proof.upper + proof.model.constant) * (1 + 1e-6)
    assert bool(found["directed"].get("beside")) == (kind != "nothing")


Change = Callable[[Any, Any, np.random.Generator], None]


def raised(text: str, factor: float) -> str:
    return (factor * float.fromhex(text)).hex()


def lower(found: Any, part: Any, rng: np.random.Generator) -> None:
    found["claim"] = {"kind": "bounds", "lower": raised(found["claim"]["lower"], 1.01)}
    del found["point"]


def bits(found: Any, part: Any, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(part["bits"])))
    flipped = "1" if part["bits"][place] == "0" else "0"
    part["bits"] = part["bits"][:place] + flipped + part["bits"][place + 1 :]


def fewer_bits(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["bits"] = part["bits"][: -int(rng.integers(1, 9))]


def a_point_twice(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["points"][1] = part["points"][0]


def a_point_less(found: Any, part: Any, rng: np.random.Generator) -> None:
    del part["points"][int(rng.integers(len(part["points"])))]


def negative_unit(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["units"][0] = "-0x1.0000000000000p+0"


def a_column_less(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["columns"] = part["columns"][:-1]


def multipliers(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in [*part["conflicts"], *part.get("caps", ())]:
        known["multipliers"] = [raised(a, float(rng.uniform(0.2, 5))) for a in known["multipliers"]]


def negative_multiplier(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in part["conflicts"][:1]:
        known["multipliers"][0] = raised(known["multipliers"][0], -1.0)


def another_point(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in part["conflicts"][:1]:
        known["points"][0] = (known["points"][0] + 1) % len(part["points"])


def negative_row(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in [*part["conflicts"], *part.get("caps", ())]:
        known["rows"] = [[0, "-1"]]


def other_side(found: Any, part: Any, rng: np.random.Generator) -> None:
    side = part["beside"][0]
    side[2] = {"upper": "lower", "lower": "upper"}[side[2]]


def another_row(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["beside"][0][1] = part["beside"][0][1] - 1


def a_wider_model(found: Any, part: Any, rng: np.random.Generator) -> None:
    """The row is left to a model that does not have it."""
    kind, k, side = part["beside"][0]
    own = found["model"]
    ends = own["rows"][k] if kind == "row" else own[side]
    ends[side if kind == "row" else k] = None


def more_caps(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["caps"][0]["capped"] = list(range(len(part["points"])))


def twice_capped(found: Any, part: Any, rng: np.random.Generator) -> None:
    caps = part["caps"][0]
    caps["capped"] = [*caps["capped"], *caps["points"][:1], *caps["capped"][:1]]


def shared_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["slacks"][0] = part["slacks"][1]


def no_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["slacks"] = part["slacks"][:-1]


def loose_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    found["model"]["lower"][part["slacks"][0]] = "-1"


def cheap_cap(found: Any, part: Any, rng: np.random.Generator) -> None:
    z = part["points"][0][1]
    for pair in found["model"]["objective"]["linear"]:
        pair[1] = raised(pair[1], 0.5) if pair[0] == z else pair[1]


def in_a_band(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["intercept"] = part["columns"].pop()


# Of any file, of those with rows beside, and of those with slacks.
ALWAYS: tuple[Change, ...] = (
    lower, bits, bits, bits, fewer_bits, a_point_twice, a_point_less, negative_unit, a_column_less,
    multipliers, negative_multiplier, another_point, negative_row,
)  # fmt: skip
ROWS_BESIDE: tuple[Change, ...] = (other_side, another_row, a_wider_model)
SLACKS: tuple[Change, ...] = (
    more_caps, twice_capped, shared_slack, no_slack, loose_slack, cheap_cap, in_a_band,
)  # fmt: skip
# A range has both sides; what is true proves no more than there is.
MAY_BE_TRUE = (bits, multipliers, more_caps, other_side, another_point)


def test_forged_files_are_refused_unless_they_are_true(document: Any) -> None:
    found, exact, kind = document
    changes = ALWAYS * (4 if FULL else 1)
    changes += ROWS_BESIDE if kind != "nothing" else ()
    changes += SLACKS if found["directed"].get("caps") else ()
    for seed, change in enumerate(changes):
        forged = copy.deepcopy(found)
        change(forged, forged["directed"], np.random.default_rng(seed))
        if forged == found:  # it has no conflict to be changed
            continue
        proof = accepted(forged)
        assert proof is None or change in MAY_BE_TRUE, change.__name__
        assert proof is None or lower_of(proof) <= exact, change.__name__


def test_a_quadratic_row_keeps_a_point_only_by_products_with_its_decision(document: Any) -> None:
    found, _, _ = document
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
        refused(forged, ".")
