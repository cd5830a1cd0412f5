"""Matrix SVM: the chain full <= projection <= exact <= alternating, checks, shapes, ranks."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import bounded_objective, checked_shape, spread_norm
from tests.inside.solvers import projection_value
from tests.references import matrix
from tests.references.matrix import matrix_points
from tests.references.reference_solutions import INTERCEPTS
from tests.support.certified import certified, checked
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult

RIDGE, SQUARE = 0.5, (3, 3)
DATA = matrix_points(2)  # 14 predictors 3 x 3 with the signs of a matrix of rank 1, and noise
SMALL = matrix_points(1, n=10, shape=(2, 3))
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def value(name: str, data: tm.TrainingData = DATA, **words: Any) -> float:
    objective = certified(CATALOGUE[name].build(data, ridge=RIDGE, **words)).objective
    assert objective is not None
    return objective


@functools.cache
def exact(rank: int) -> SolveResult:
    return certified(
        tm.build("matrix_svc_bilinear", DATA, ridge=RIDGE, shape=SQUARE, rank=rank), "scip"
    )


# --- each model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_without_a_bound_on_the_rank_it_is_the_c_svc_at_one_over_ridge(mode: str) -> None:
    full = certified(tm.matrix_svc_full(DATA, ridge=RIDGE, shape=SQUARE, intercept=mode))
    plain = certified(tm.c_svc(DATA, C=1 / RIDGE, intercept=mode))
    assert full.objective == pytest.approx(RIDGE * plain.objective, rel=1e-7)
    assert full.values["w"] == pytest.approx(plain.values["w"], abs=1e-4)


@pytest.mark.parametrize(("mode", "rank"), [("free", 2), ("penalised", 1), ("none", 2)])
def test_the_projection_is_that_of_another_modelling_layer(mode: str, rank: int) -> None:
    data = matrix_points(11) if rank == 2 else DATA
    found = value("matrix_svc_projection", data, shape=SQUARE, rank=rank, intercept=mode)
    theirs = matrix.projection(data, SQUARE, mode, RIDGE, rank)
    assert found == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_nuclear_norm_is_that_of_another_modelling_layer(mode: str) -> None:
    found = certified(
        tm.matrix_svc_nuclear(SMALL, ridge=RIDGE, shape="2x3", tau=0.8, intercept=mode)
    )
    theirs = matrix.nuclear(SMALL, (2, 3), mode, RIDGE, 0.8)
    assert found.objective == pytest.approx(theirs, rel=1e-6)
    sizes = np.linalg.svd(found.values["w"].reshape(2, 3), compute_uv=False)
    assert found.certificate.facts["nuclear_norm"] == pytest.approx(sizes.sum())


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_exact_optimum_is_that_of_every_direction_of_the_plane(mode: str) -> None:
    model = tm.matrix_svc_bilinear(SMALL, ridge=RIDGE, shape="2x3", rank=1, intercept=mode)
    best = matrix.rank_one_on_circle(SMALL, 3, mode, RIDGE)
    assert certified(model, "scip").objective == pytest.approx(best, rel=2e-6)


# --- checks --------------------------------------------------------------------------------------


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
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60 if FULL else 25)
def test_no_other_shares_make_the_spread_norm_smaller(
    values: list[float], rank: int, seed: int
) -> None:
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
    rng = np.random.default_rng(seed)
    for _ in range(20):
        other = rng.random(len(sizes))
        other = np.minimum(1.0, other * rank / other.sum())
        assert found <= (sizes**2 / other).sum() * (1 + 1e-9) + 1e-12
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


# --- ranges, prices, refusals --------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_ranges_keep_every_point_that_is_no_worse_than_the_known_one(mode: str) -> None:
    """Also after ridge was set in place: they are functions of it."""
    known = tm.search.matrix_alternating(
        SMALL, ridge=RIDGE, shape="2x3", rank=1, intercept=mode, starts=1
    )
    model = tm.matrix_svc_bilinear(
        SMALL, ridge=RIDGE, shape="2x3", rank=1, intercept=mode, incumbent=(known.w, known.b)
    )
    for ridge in (RIDGE, 0.02, 8.0):
        model.ridge.set_value(ridge)
        at_known = bounded_objective(SMALL, known.w, known.b, ridge, (2, 3), mode)
        better = tm.search.matrix_alternating(
            SMALL, ridge=ridge, shape="2x3", rank=1, intercept=mode, starts=1
        )
        assert better.objective <= at_known + 1e-9
        assert all(
            v.lb <= x <= v.ub for v, x in zip(model.w.values(), better.w.tolist(), strict=True)
        )
        length = np.linalg.norm(better.w)
        assert length <= model.V[0, 0].ub
        assert model.V[0, 0].ub == pytest.approx(np.sqrt(2 * at_known / ridge), rel=1e-6)
        if mode != "none":
            assert abs(better.b) <= model.b.ub


def test_every_way_to_write_a_shape_is_taken() -> None:
    for shape in ("3x4", " 3 X 4 ", (3, 4), [3, 4], np.array([3, 4])):
        assert checked_shape(shape, 12) == (3, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shape 3x4 has 12 entries, but the points have 9"):
        checked_shape("3x4", 9)


def test_facts_of_the_projection_hold_the_trace_and_the_rounded_point() -> None:
    found = certified(tm.matrix_svc_projection(DATA, ridge=RIDGE, shape=SQUARE, rank=2))
    facts, w = found.certificate.facts, found.values["w"]
    assert facts["trace_P"] == pytest.approx(np.trace(found.values["P"]), rel=1e-9)
    assert facts["trace_P"] <= 2 + 1e-9
    assert facts["singular_values"] == pytest.approx(np.linalg.svd(w.reshape(3, 3))[1])
    left, sizes, right = np.linalg.svd(w.reshape(3, 3))
    B = (left[:, :2] * sizes[:2]) @ right[:2]
    scores = DATA.X @ B.ravel()
    losses = [np.maximum(0, 1 - DATA.y * (scores + b)).sum() for b in DATA.y - scores]
    assert facts["rounded_objective"] == pytest.approx(
        min(losses) + RIDGE / 2 * (B**2).sum(), rel=1e-9
    )


def test_a_known_point_of_too_large_a_rank_is_cut_down_before_it_is_believed() -> None:
    full = certified(tm.matrix_svc_full(DATA, ridge=RIDGE, shape="3x3"))
    w, b = full.values["w"], float(full.values["b"])
    model = tm.matrix_svc_bilinear(DATA, ridge=RIDGE, shape="3x3", rank=1, incumbent=(w, b))
    left, sizes, right = np.linalg.svd(w.reshape(3, 3))
    B = (sizes[0] * np.outer(left[:, 0], right[0])).ravel()
    assert [v.value for v in model.w.values()] == pytest.approx(B, abs=1e-9)
    scores = DATA.X @ B
    losses = [np.maximum(0, 1 - DATA.y * (scores + at)).sum() for at in DATA.y - scores]
    reach = np.sqrt(2 * min(losses) / RIDGE + B @ B)
    assert model.V[0, 0].ub == pytest.approx(reach, rel=1e-6)
    assert RIDGE / 2 * reach**2 >= exact(1).objective
