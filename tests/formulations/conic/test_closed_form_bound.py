"""Closed-form bounds against truths by construction: what is wrong never proves too much.

Truths come from exact rational arithmetic on the data as stored, from two points whose optimum is
a formula, and from values of feasible points: no bound may exceed one.
"""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.inside.formulations import (
    augmented,
    budget_bound,
    least_eigenvalue,
    least_kept_norm,
    strengthening_bound,
)
from tests.inside.solvers import (
    _dual_at_least,
    conic_methods,
    projection_value,
    proven_bounds,
    rsvm_point,
)
from tests.support.covering import FULL, covering
from tightmargin.formulations import CATALOGUE, Origin, TrainingData

Array = np.ndarray

SCALES = [1e-5, 1e-2, 1.0, 1e2, 1e5]


def some_points(seed: int, n: int, d: int, scale: float) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return TrainingData(scale * X, y)


@functools.cache
def norms_of_kept_sets(seed: int, scale: float, mode: str) -> list[tuple[int, float]]:
    """Size and least norm2 of every set of kept points, in rational arithmetic."""
    data = some_points(seed, 5, 2, scale)
    sets = [kept for k in range(1, 6) for kept in itertools.combinations(range(5), k)]
    return [(0, 0.0), *((len(kept), least_kept_norm(data, kept, mode)) for kept in sets)]


def eliminated(rows: list[list[Fraction]], k: int) -> bool:
    """Gaussian elimination in place, without pivoting; whether the first k pivots are positive."""
    for j in range(k):
        if rows[j][j] <= 0:
            return False
        for other in range(j + 1, len(rows)):
            factor = rows[other][j] / rows[j][j]
            rows[other] = [p - factor * q for p, q in zip(rows[other], rows[j], strict=True)]
    return True


def exact_dual_value(
    points: Array, y: Array, gamma: Array, alpha: Array, beta: float, bound_on_b: float | None
) -> Fraction:
    """The value of conic/closed_form_bound.py in rational arithmetic, at a definite Q.

    2 sum alpha - sum gamma - c'Q^-1 c falls out of the last row of the elimination.
    """
    k = points.shape[1]
    x = [[Fraction(float(v)) for v in row] for row in points]
    g, a = ([Fraction(float(v)) for v in part] for part in (gamma, alpha))
    label = [int(v) for v in y]
    D = [Fraction(1)] * k
    if bound_on_b is not None:
        D[-1] = Fraction(beta)
    c = [sum((g[i] - a[i]) * label[i] * x[i][j] for i in range(len(x))) for j in range(k)]
    rows = [
        [(D[j] if j == m else Fraction(0)) - sum(g[i] * x[i][j] * x[i][m] for i in range(len(x)))
         for m in range(k)] + [c[j]]
        for j in range(k)
    ]  # fmt: skip
    rows.append([*c, Fraction(0)])
    assert eliminated(rows, k)
    price = Fraction(0) if bound_on_b is None else Fraction(bound_on_b) ** 2 * Fraction(beta)
    return 2 * sum(a) - sum(g) + rows[k][k] - price


# --- the strengthening bound ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "scale", "seed"), covering(["penalised", "none", "free"], SCALES, range(4))
)
def test_the_bound_is_that_of_rational_arithmetic(seed: int, scale: float, mode: str) -> None:
    """At any unit, and no more than 1e-9 of its terms below it."""
    data, penalty = some_points(seed, 6, 2, scale), 0.7 / scale**2
    limit = 3.0 if mode == "free" else None
    columns = augmented(data, mode)
    priced = columns[:, :-1] if mode == "free" else columns
    rng = np.random.default_rng(seed)
    share = rng.uniform(size=data.n)
    gamma = 0.6 * share / np.linalg.eigvalsh(priced.T @ (share[:, None] * priced))[-1]
    alpha = np.sqrt(penalty * gamma) * rng.uniform(0.5, 1.0, size=data.n)
    found = strengthening_bound(columns, data.y, gamma, alpha, penalty=penalty, bound_on_b=limit)
    pairs = zip(found.alpha.tolist(), found.gamma.tolist(), strict=True)
    for a, g in pairs:  # every hypothesis
        assert a >= 0
        assert g >= 0
        assert Fraction(a) ** 2 <= Fraction(penalty) * Fraction(g)
    exact = exact_dual_value(columns, data.y, found.gamma, found.alpha, found.beta, limit)
    assert Fraction(found.value) <= exact
    terms = 2 * found.alpha.sum() + found.gamma.sum() + (9 * found.beta if limit else 0.0)
    assert float(exact) - found.value <= 1e-9 * terms


# Signs, sizes and numbers that are none: whatever comes, the bound stays below the optimum.
WILD = st.one_of(
    st.floats(-1e3, 1e3), st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e20, -1e20, 1e150, 1e308, 1e-308, 5e-324, np.nan, np.inf]),
)  # fmt: skip


@given(
    seed=st.integers(0, 3), scale=st.sampled_from(SCALES),
    mode=st.sampled_from(["penalised", "none", "free"]),
    gamma=arrays(float, 5, elements=WILD), alpha=arrays(float, 5, elements=WILD),
    exponent=st.floats(-4, 4),
)  # fmt: skip
@settings(max_examples=120 if FULL else 40, deadline=None)
def test_no_multipliers_prove_too_much(
    seed: int, scale: float, mode: str, gamma: Array, alpha: Array, exponent: float
) -> None:
    data = some_points(seed, 5, 2, scale)
    penalty = 10.0**exponent / scale**2
    limit = None
    if mode == "free":  # any number that some optimum keeps
        limit = 1 + float(np.linalg.norm(data.X, axis=1).max()) * np.sqrt(5 * penalty)
    kept = norms_of_kept_sets(seed, scale, mode)
    truth = min(norm2 + penalty * (5 - size) for size, norm2 in kept)  # the 0-1 optimum
    with np.errstate(over="ignore"):
        other_units = gamma / scale**2
    for g, a in ((gamma, alpha), (np.abs(gamma), np.abs(alpha)), (other_units, alpha)):
        found = strengthening_bound(
            augmented(data, mode), data.y, g, a, penalty=penalty, bound_on_b=limit
        )
        if found is not None:
            assert np.isfinite(found.value)
            assert found.value <= truth * (1 + 1e-9)


def test_what_proves_nothing_gives_no_bound() -> None:
    """One hypothesis at a time; beside them the same numbers give a bound."""
    data = some_points(0, 5, 2, 1.0)
    columns, ones = augmented(data, "penalised"), np.ones(5)
    gamma, alpha = 0.01 * ones, 0.05 * ones
    assert strengthening_bound(columns, data.y, gamma, alpha, penalty=1.0) is not None
    for wrong in (-gamma, np.nan * ones, np.inf * ones, 1e200 * ones, gamma[:4], gamma[:, None]):
        assert strengthening_bound(columns, data.y, wrong, alpha, penalty=1.0) is None
        assert strengthening_bound(columns, data.y, gamma, wrong, penalty=1.0) is None
    for price in (0.0, -1.0, np.nan, np.inf):
        assert strengthening_bound(columns, data.y, gamma, alpha, penalty=price) is None
    for labels in (2 * data.y, 0 * data.y, np.nan * data.y, data.y[:4]):
        assert strengthening_bound(columns, labels, gamma, alpha, penalty=1.0) is None
    for limit in (-1.0, np.nan, np.inf):
        words = {"penalty": 1.0, "bound_on_b": limit}
        assert strengthening_bound(columns, data.y, gamma, alpha, **words) is None
    spoiled = columns.copy()
    spoiled[2, 0] = np.nan
    assert strengthening_bound(spoiled, data.y, gamma, alpha, penalty=1.0) is None


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_the_budget_bound_is_below_a_point_that_keeps_the_budget(share: float) -> None:
    """The hard-margin machine spends nothing: two points at distance 2 t have ||w|| = 1 / t."""
    given = ([0.5, 0.5], [0.0, 0.0], [1e9, 1e9], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0])
    for t in SCALES if FULL else SCALES[::4]:
        data = TrainingData([[t], [-t]], [1, -1])
        for ratio in given:
            found = budget_bound(data.X, data.y, np.array(ratio), 2 * share)
            assert found is None or found[0] <= 1 / t**2 * (1 + 1e-12)
        for spend in (0.0, -1.0, np.nan, np.inf):
            assert budget_bound(data.X, data.y, np.full(2, 0.5), spend) is None


# --- a proven eigenvalue -------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), least=st.floats(-1e-3, 1.0))
@settings(max_examples=150 if FULL else 50, deadline=None)
def test_a_least_eigenvalue_is_never_too_large(seed: int, k: int, least: float) -> None:
    """A - s I for the number s has positive pivots in rational arithmetic."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(k, k)))
    A = turn @ np.diag(np.r_[least, rng.uniform(1, 2, size=k - 1)]) @ turn.T
    A = np.tril(A) + np.tril(A, -1).T
    found = least_eigenvalue(A, 0.0)
    assert found is None or found > 0
    if least >= 1e-10:
        assert found >= least / 3
    if found is None:
        return
    rows = [[Fraction(v) for v in row] for row in A.tolist()]
    for j in range(k):
        rows[j][j] -= Fraction(found)
    assert eliminated(rows, k)


def test_no_eigenvalue_is_proven_beyond_the_error_of_the_matrix() -> None:
    assert least_eigenvalue(np.eye(3), 0.6) is None
    assert least_eigenvalue(np.eye(3), 0.1) == pytest.approx(0.4, abs=0.01)
    for error in (-1.0, np.nan, np.inf):
        assert least_eigenvalue(np.eye(3), error) is None
    assert least_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0) is None
    assert least_eigenvalue(np.full((2, 2), np.nan), 0.0) is None


# --- hinge machines ------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 5), scale=st.sampled_from(SCALES),
    alpha=arrays(float, 6, elements=WILD), exponent=st.floats(-3, 3),
)  # fmt: skip
@settings(max_examples=120 if FULL else 40, deadline=None)
def test_weak_duality_of_hinge_machines_holds_for_any_multipliers(
    seed: int, scale: float, alpha: Array, exponent: float
) -> None:
    """At w = 0 the machines have values that are counts of points."""
    data = some_points(seed, 6, 2, scale)
    fewer = min(data.n_pos, data.n_neg)
    C = 10.0**exponent / scale**2
    rows = data.y[:, None] * np.column_stack([data.X, np.ones(6)])
    with np.errstate(all="ignore"):
        reach = 1 + np.linalg.norm(data.X, axis=1).max() * np.sqrt(4 * C * fewer)
        bounds = proven_bounds(
            rows, np.array([1.0, 1.0, 0.0]), np.full((1, 6), C), alpha[None], float(reach)
        )
    assert np.isnan(bounds[0]) or bounds[0] <= 2 * C * fewer * (1 + 1e-12)
    point = rsvm_point(data, 10.0**exponent / scale, np.nan_to_num(alpha))
    assert point.bound <= 2 * fewer * (1 + 1e-12)
    assert point.bound <= point.objective * (1 + 1e-9)
    losses = np.maximum(0, 1 - data.y * (data.X @ point.w + point.b))
    assert point.objective == pytest.approx(losses.sum(), rel=1e-9, abs=1e-9)
    inside = np.clip(np.nan_to_num(alpha), 0, 1 / 6)
    assert _dual_at_least(data, 10.0**exponent, inside) <= 1.0  # w = 0 loses 1


def test_a_matrix_bound_needs_multipliers_that_are_numbers() -> None:
    data = some_points(2, 6, 4, 1.0)
    for mode, scale in itertools.product(("free", "penalised", "none"), SCALES):
        moved = TrainingData(scale * data.X, data.y)
        words = {"ridge": 0.3, "shape": (2, 2), "rank": 1, "intercept": mode}
        origin = Origin("matrix_svc_bilinear", moved, words)
        fewer = min(data.n_pos, data.n_neg)
        # w = 0, and b = 1 or -1 where it costs nothing; else every point loses 1.
        value = 2 * fewer if mode == "free" else data.n
        for alpha in (np.full(6, 1e9), np.ones(6), -np.ones(6), np.arange(6.0), np.zeros(6)):
            assert projection_value(origin, alpha) <= value * (1 + 1e-12)
        for alpha in (np.full(6, np.nan), np.full(6, np.inf), np.ones(5)):
            assert projection_value(origin, alpha) == -np.inf


def test_every_entry_with_a_strengthening_is_one_of_the_0_1_loss() -> None:
    """gamma says nothing of other problems, whatever a file claims."""
    data = some_points(0, 5, 2, 1.0)
    for name, words in (("c_svc", {"C": 1.0}), ("ramp_big_m", {"C": 1.0})):
        assert name in CATALOGUE
        origin = Origin(name, data, words | {"penalty": 1.0, "intercept": "free"})
        assert conic_methods.bound_of_strengthening(origin, np.full(5, 0.01)) is None
