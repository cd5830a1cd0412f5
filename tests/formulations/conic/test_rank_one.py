"""Rank-one rows: the hull of one square, and the SDP with the rows of groups."""

from __future__ import annotations

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.rank_one import rank_one_sdp
from tests.references.reference_solutions import points
from tests.support.certified import proven
from tests.support.covering import FULL
from tightmargin.formulations import conic_sdp_rank_one

BOUND_ON_B = 8.0


def by_signs(h: np.ndarray, target: float, tilt: float, price: np.ndarray) -> float:
    """Least (s - target)^2 + tilt s + <price, z> over binary z and every s = h'v they allow."""
    found = []
    for z in itertools.product((0, 1), repeat=len(h)):
        terms = [a if on else -a for a, on in zip(h, z, strict=True)]  # the sign of h_i v_i
        up, down = max(terms) > 0, min(terms) < 0
        s = np.clip(target - tilt / 2, 0.0 if not down else -np.inf, np.inf if up else 0.0)
        found.append((s - target) ** 2 + tilt * s + float(price @ z))
    return min(found)


@pytest.mark.parametrize("seed", range(12 if FULL else 6))
def test_the_hull_has_the_optimum_of_the_binary_problem_for_every_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    data = tm.TrainingData(np.eye(n), np.where(np.arange(n) == seed % n, 1, -1))
    h = rng.choice([-2.0, -1.0, 1.0, 3.0], size=n)
    h[1 + seed % 3 :] = 0.0
    target, tilt = rng.normal(scale=2.0, size=2)
    price = rng.normal(size=n) + 0.2
    model = tm.rank_one_hull(data, penalty=1.0, coefficients=h, target=target, intercept="none")
    model.objective.expr += tilt * (model.p - model.q) + sum(
        (a - 1) * model.z[i] for i, a in enumerate(price.tolist())
    )
    expected = by_signs(h, float(target), float(tilt), price)
    assert tm.solve(model).objective == pytest.approx(expected, abs=2e-6 * (1 + abs(expected)))


def test_points_that_do_not_count_and_a_price_above_the_square() -> None:
    data = points("overlapping", 0, n=6)
    h = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])
    model = tm.rank_one_hull(data, penalty=9.0, coefficients=h, target=2.0)
    assert tm.solve(model).bound == pytest.approx(4.0, rel=1e-6)


# --- the SDP --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "both"), [("free", False), ("free", True), ("penalised", True), ("none", False)]
)
def test_the_value_is_that_of_the_definition(mode: str, both: bool) -> None:
    data, sides = points("overlapping", 3, n=6), "both" if both else "violated"
    triple = [(0, 2, 5), (1, 3)]
    top = BOUND_ON_B if mode == "free" else None
    expected = rank_one_sdp(data, mode, 1.5, triple, bound_on_b=top, both=both)
    model = conic_sdp_rank_one(
        data,
        penalty=1.5,
        partners="none",
        groups=triple,
        sides=sides,
        intercept=mode,
        intercept_bound=top,
    )
    if both and mode == "free":  # where Clarabel's digits end depends on the processor
        result = tm.solve(model)
        assert result.objective == pytest.approx(expected, rel=2e-5)
        assert expected * (1 - 2e-5) <= result.bound <= expected * (1 + 5e-6)
    else:
        assert proven(model).objective == pytest.approx(expected, rel=2e-6)


def test_a_group_that_no_hyperplane_keeps_together_is_paid() -> None:
    """A point inside a triangle of the other class, without an intercept bound's help."""
    X = np.array([[0.0, 3.0], [-3.0, -2.0], [3.0, -2.0], [0.0, 0.0]])
    data = tm.TrainingData(X, [1, 1, 1, -1])
    # A price so small that the SDP alone would rather buy nothing at all than pay.
    words = {"penalty": 0.001, "intercept": "free", "intercept_bound": 50.0}
    group = tm.solve(conic_sdp_rank_one(data, partners="none", groups=[(0, 1, 2, 3)], **words))
    # On some processors a row is missed by 2e-10.
    assert group.certificate.verdict.closed, group.certificate
    plain = proven(tm.conic_sdp(data, **words))
    assert plain.bound < 0.0009
    assert group.bound >= 0.001 * (1 - 1e-5)
    assert np.sum(group.values["z"]) >= 1 - 1e-5


def test_a_group_is_written_once() -> None:
    data = points("overlapping", 0, n=4)
    model = conic_sdp_rank_one(data, penalty=1.0, groups=[(1, 0), [2, 3], (np.int64(0), 1, 2)])
    names = [c.name for c in model.component_objects(pyo.Constraint) if c.name.startswith("step_")]
    pairs = [f"step_{i}_{j}" for i, j in itertools.combinations(range(4), 2)]
    assert sorted(names) == sorted([*pairs, "step_0_1_2"])
