"""Rows of w and b beside cones of directions: ramp models, and proof files of either loss."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import ProofError, check
from tests.inside.solvers import checker_read as read
from tests.references.brute_force import zero_one_beside
from tests.solvers.proof_files import second_checker
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


def built(entry: str, data: TrainingData, intercept: str) -> pyo.ConcreteModel:
    words: dict[str, Any] = {"intercept": intercept}
    words |= {"C": C} if entry == "ramp_big_m" else {"penalty": C}
    words |= {} if entry == "zero_one_bilinear" else {"big_m": 100.0}
    return getattr(tm, entry)(data, **words)


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_the_ramp_loss_beside_rows_is_that_of_all_sets_of_caps(kind: str) -> None:
    for place, intercept in enumerate(INTERCEPTS):
        data = points(3 * KINDS.index(kind) + place)
        model = built("ramp_big_m", data, intercept)
        exact = ramp_beside(data, intercept, edited(model, kind, intercept))
        found = tm.solve(model, method="cone-search")
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.objective == pytest.approx(exact, rel=1e-5)
        assert found.certificate.bound <= exact * (1 + 1e-6)


def test_a_fixed_column_stays_fixed() -> None:
    data = points(0)
    model = built("ramp_big_m", data, "free")
    model.w[1].fix(-0.4)
    sides = np.array([[0.0, 1.0, 0.0]]), np.array([-0.4]), np.array([-0.4])
    found = tm.solve(model, method="cone-search")
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(ramp_beside(data, "free", sides), rel=1e-5)


def test_auto_takes_cones_for_edited_ramp_models() -> None:
    model = tm.ramp_big_m(points(0), C=C, big_m="derived", intercept="free")
    sides = edited(model, "of b", "free")
    found = tm.solve(model)
    assert found.certificate.facts["engine"] == "cone-search"
    assert found.objective == pytest.approx(ramp_beside(points(0), "free", sides), rel=1e-5)


@pytest.mark.parametrize("what", ["decided", "slack"])
def test_what_is_said_of_z_and_xi_is_none_of_the_ramp_losss_cones(what: str) -> None:
    model = built("ramp_big_m", points(0), "free")
    if what == "decided":
        model.z[0].fix(0)
    else:
        model.xi[0].setub(1.0)
    with pytest.raises(ValueError, match="is none of w and b"):
        tm.solve(model, method="cone-search")


# --- proof files ---------------------------------------------------------------------------------

FILES = [
    ("ramp_big_m", "free", "nothing"),
    ("ramp_big_m", "free", "of b"),
    ("ramp_big_m", "penalised", "row"),
    ("ramp_big_m", "none", "limit"),
    ("zero_one_big_m", "free", "of b"),
    ("zero_one_big_m", "free", "row"),
    ("zero_one_big_m", "penalised", "limit"),
    ("zero_one_bilinear", "none", "range"),
]


@pytest.fixture(scope="module", params=FILES, ids="-".join)
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of an edited model, and its optimum by brute force."""
    entry, intercept, kind = request.param
    data = points(4 * FILES.index(request.param), n=4)
    model = built(entry, data, intercept)
    sides = edited(model, kind, intercept)
    path = tmp_path_factory.mktemp("cones") / "proof.json"
    found = tm.solve(model, method="cone-search", proof=str(path))
    if entry == "ramp_big_m":
        exact = ramp_beside(data, intercept, sides) * (1 + 1e-7)
    else:
        exact = zero_one_beside(data, C, intercept, sides, lambda z: True) * (1 + 1e-9)
    assert "the proof is in" in found.message, found.message
    return read(str(Path(path))), exact, kind


def lower_of(proof: Any) -> float:
    return float(proof.lower + proof.model.constant)


def test_both_checkers_prove_the_file(document: Any) -> None:
    found, exact, kind = document
    proof = check(found)
    assert second_checker.decides(found)
    assert "directed" in found
    assert proof.kind == "optimum"
    assert lower_of(proof) <= exact
    assert bool(found["directed"].get("beside")) == (kind != "nothing")


def raised(text: str, factor: float) -> str:
    return (factor * float.fromhex(text)).hex()


def _lower(found: Any, part: Any, rng: np.random.Generator) -> None:
    found["claim"] = {"kind": "bounds", "lower": raised(found["claim"]["lower"], 1.01)}
    del found["point"]


def _bits(found: Any, part: Any, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(part["bits"])))
    part["bits"] = part["bits"][:place] + "0" + part["bits"][place + 1 :]


def _other_side(found: Any, part: Any, rng: np.random.Generator) -> None:
    side = part["beside"][0]
    side[2] = {"upper": "lower", "lower": "upper"}[side[2]]


def _another_row(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["beside"][0][1] = part["beside"][0][1] - 1


def _a_wider_model(found: Any, part: Any, rng: np.random.Generator) -> None:
    """The row is left to a model that does not have it."""
    kind, k, side = part["beside"][0]
    own = found["model"]
    ends = own["rows"][k] if kind == "row" else own[side]
    ends[side if kind == "row" else k] = None


def _multipliers(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in [*part["conflicts"], *part.get("caps", ())]:
        known["multipliers"] = [raised(a, float(rng.uniform(0.2, 5))) for a in known["multipliers"]]


def _negative_row(found: Any, part: Any, rng: np.random.Generator) -> None:
    for known in [*part["conflicts"], *part.get("caps", ())]:
        known["rows"] = [[0, "-1"]]


def _more_caps(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["caps"][0]["capped"] = list(range(len(part["points"])))


def _twice_capped(found: Any, part: Any, rng: np.random.Generator) -> None:
    caps = part["caps"][0]
    caps["capped"] = [*caps["capped"], *caps["points"][:1], *caps["capped"][:1]]


def _shared_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["slacks"][0] = part["slacks"][1]


def _no_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["slacks"] = part["slacks"][:-1]


def _loose_slack(found: Any, part: Any, rng: np.random.Generator) -> None:
    found["model"]["lower"][part["slacks"][0]] = "-1"


def _cheap_cap(found: Any, part: Any, rng: np.random.Generator) -> None:
    z = part["points"][0][1]
    for pair in found["model"]["objective"]["linear"]:
        pair[1] = raised(pair[1], 0.5) if pair[0] == z else pair[1]


def _in_a_band(found: Any, part: Any, rng: np.random.Generator) -> None:
    part["intercept"] = part["columns"].pop()


# Of any file, of those with rows beside, and of those with slacks.
ALWAYS = (_lower, _bits, _multipliers, _negative_row)
BESIDE = (_other_side, _another_row, _a_wider_model)
SLACKS = (_more_caps, _twice_capped, _shared_slack, _no_slack, _loose_slack, _cheap_cap, _in_a_band)
# A range has both sides; what is true proves no more than there is.
MAY_BE_TRUE = (_bits, _multipliers, _more_caps, _other_side)


def test_forged_files_are_refused_unless_they_are_true(document: Any) -> None:
    found, exact, kind = document
    changes: tuple[Callable[[Any, Any, np.random.Generator], None], ...] = ALWAYS
    changes += BESIDE if kind != "nothing" else ()
    changes += SLACKS if found["directed"].get("caps") else ()
    for seed, change in enumerate(changes):
        forged = copy.deepcopy(found)
        change(forged, forged["directed"], np.random.default_rng(seed))
        if forged == found:  # it has no conflict to be changed
            continue
        try:
            proof = check(forged)
        except ProofError:
            assert not second_checker.decides(forged), change.__name__
            continue
        assert change in MAY_BE_TRUE, change.__name__
        assert second_checker.decides(forged)
        assert lower_of(proof) <= exact, change.__name__
