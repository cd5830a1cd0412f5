"""Matrix SVM: what its checks prove, its ranges, and how a shape is written."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import bounded_objective, checked_shape, spread_norm
from tests.inside.solvers import projection_value
from tests.references.matrix import matrix_points
from tests.references.reference_solutions import INTERCEPTS
from tests.support.certified import certified, checked
from tests.support.covering import FULL

RIDGE, SQUARE = 0.5, (3, 3)
DATA = matrix_points(2)  # 14 predictors 3 x 3 with the signs of a matrix of rank 1, and noise
SMALL = matrix_points(1, n=10, shape=(2, 3))
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


@pytest.mark.parametrize(("mode", "rank"), [("free", 2), ("penalised", 1), ("none", 2)])
def test_the_error_of_a_point_is_no_smaller_than_that_of_rational_numbers(
    rank: int, mode: str
) -> None:
    """The product of U and V as they stand is that of an orthonormal frame: QR in real numbers."""
    model = tm.matrix_svc_bilinear(SMALL, ridge=RIDGE, shape="2x3", rank=rank, intercept=mode)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        size = 0.3 / 10.0**seed
        values = {"U": rng.standard_normal((2, rank)), "V": size * rng.standard_normal((3, rank))}
        values |= {"w": np.zeros(6)} | ({} if mode == "none" else {"b": np.array(0.1)})
        found = checked(model, **values)
        assert found.error <= 1e-12
        U, V = (
            [[Fraction(v) for v in row] for row in found.repaired[name].reshape(-1, rank).tolist()]
            for name in ("U", "V")
        )
        w = [sum(p * q for p, q in zip(u, v, strict=True)) for u in U for v in V]
        b = Fraction(float(found.repaired.get("b", 0.0)))
        scores = [sum(Fraction(x) * e for x, e in zip(row, w, strict=True)) + b
                  for row in SMALL.X.tolist()]  # fmt: skip
        losses = [max(Fraction(0), 1 - int(y) * s) for y, s in zip(SMALL.y, scores, strict=True)]
        norm = sum(e * e for e in w) + (b * b if mode == "penalised" else 0)
        exact = sum(losses) + Fraction(RIDGE) / 2 * norm
        assert abs(exact - Fraction(found.objective)) <= Fraction(found.error)
    far = checked(model, **{**values, "V": np.full((3, rank), 1e3)})
    assert far.error is None  # out of the ranges of V


@given(
    values=st.lists(st.integers(0, 5000).map(lambda k: k / 1000), min_size=1, max_size=5),
    rank=st.integers(1, 5),
)
@settings(max_examples=60 if FULL else 25)
def test_no_other_shares_make_the_spread_norm_smaller(values: list[float], rank: int) -> None:
    """Its dual is the norm of the largest entries: both sides are met by points one can name."""
    sizes = np.sort(np.array(values))[::-1]
    rank = min(rank, len(sizes))
    found, p = spread_norm(sizes, rank)
    assert (p >= 0).all()
    assert p.max(initial=0.0) <= 1 + 1e-12
    assert p.sum() <= rank * (1 + 1e-12)
    kept = sizes > 0
    assert (p[kept] > 0).all()
    assert (sizes[kept] ** 2 / p[kept]).sum() == pytest.approx(found, rel=1e-9, abs=1e-12)
    g = np.divide(sizes, p, out=np.zeros_like(sizes), where=p > 0)
    # <sizes, g> - 1/2 (norm of the `rank` largest entries of g)^2 bounds half of it from below.
    assert 2 * (sizes @ g) - np.sort(g**2)[::-1][:rank].sum() == pytest.approx(
        found, rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(("mode", "rank"), [("free", 2), ("penalised", 1), ("none", 2)])
def test_any_multipliers_bound_the_projection_and_its_own_are_tight(rank: int, mode: str) -> None:
    model = tm.matrix_svc_projection(DATA, ridge=RIDGE, shape=SQUARE, rank=rank, intercept=mode)
    found = certified(model, "clarabel", options=TIGHT)
    proven = projection_value(model.origin, found.duals["margin"])
    assert proven == pytest.approx(found.objective, rel=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(50):
        alpha = found.duals["margin"] + 0.3 * rng.standard_normal(DATA.n)
        assert projection_value(model.origin, alpha) <= found.objective * (1 + 1e-9)


# --- ranges and shapes --------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_ranges_keep_every_point_that_is_no_worse_than_the_known_one(mode: str) -> None:
    """Also after ridge was set in place: they are functions of it."""
    words: dict[str, Any] = {"shape": "2x3", "rank": 1, "intercept": mode}
    known = tm.search.matrix_alternating(SMALL, ridge=RIDGE, starts=1, **words)
    model = tm.matrix_svc_bilinear(SMALL, ridge=RIDGE, incumbent=(known.w, known.b), **words)
    for ridge in (RIDGE, 0.02, 8.0):
        model.ridge.set_value(ridge)
        at_known = bounded_objective(SMALL, known.w, known.b, ridge, (2, 3), mode)
        better = tm.search.matrix_alternating(SMALL, ridge=ridge, starts=1, **words)
        assert better.objective <= at_known + 1e-9
        ranges = zip(model.w.values(), better.w.tolist(), strict=True)
        assert all(v.lb <= x <= v.ub for v, x in ranges)
        assert np.linalg.norm(better.w) <= model.V[0, 0].ub
        assert model.V[0, 0].ub == pytest.approx(np.sqrt(2 * at_known / ridge), rel=1e-6)
        if mode != "none":
            assert abs(better.b) <= model.b.ub


def test_every_way_to_write_a_shape_is_taken() -> None:
    for shape in ("3x4", " 3 X 4 ", (3, 4), [3, 4], np.array([3, 4])):
        assert checked_shape(shape, 12) == (3, 4)  # type: ignore[arg-type]
