"""Ends of a problem, kernel values and shifts of matrices beside the same numbers unrounded."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import most_squares
from tests.inside.solvers import (
    HINGE,
    LEAST,
    LOST,
    NU,
    RELATIVE,
    SQUARED,
    KernelValues,
    PointRows,
    PricedProblem,
    bound_end,
    exact_multipliers,
    exp_of_negative,
    is_semidefinite,
    objective_end,
    proven_shift,
)
from tests.soundness.exact import dot, fractions
from tests.support.covering import FULL


def exact_objective(problem: PricedProblem, X: np.ndarray, w: np.ndarray, b: float) -> Fraction:
    """The objective at (w, b), of nu at its best multiple and the level of that."""
    scores = [dot(fractions(x), fractions(w)) + Fraction(b) for x in X]
    losses = [
        max(Fraction(0), 1 - int(y) * score) for y, score in zip(problem.y, scores, strict=True)
    ]
    if problem.loss == SQUARED:
        losses = [loss * loss for loss in losses]
    norm, loss = dot(fractions(w), fractions(w)), dot(fractions(problem.prices), losses)
    if problem.intercept == "penalised":
        norm += (Fraction(b) / Fraction(problem.column)) ** 2
    if problem.loss == NU:
        slope = problem.total - loss
        return Fraction(0) if slope <= 0 or not norm else -problem.scale * slope**2 / (2 * norm)
    return problem.scale * (problem.ridge * norm / 2 + loss)


def exact_dual(problem: PricedProblem, X: np.ndarray, alpha: np.ndarray) -> Fraction:
    """The dual value, after its conditions."""
    a, y = fractions(alpha), [int(label) for label in problem.y]
    for one, price in zip(a, fractions(problem.prices), strict=True):
        assert one >= 0
        assert problem.loss == SQUARED or one <= price
        assert price > 0 or one == 0
    balance = sum((label * one for label, one in zip(y, a, strict=True)), Fraction(0))
    signed = [label * one for label, one in zip(y, a, strict=True)]
    v = [dot(signed, fractions(column)) for column in X.T]
    norm = dot(v, v)
    if problem.intercept == "free":
        assert balance == 0
    if problem.intercept == "penalised":
        norm += (Fraction(problem.column) * balance) ** 2
    if problem.loss == NU:
        assert sum(a) >= problem.total
        return -problem.scale * norm / 2
    value = sum(a) - norm / (2 * problem.ridge)
    if problem.loss == SQUARED:
        priced = zip(a, fractions(problem.prices), strict=True)
        value -= sum((one * one / (4 * price) for one, price in priced if one), Fraction(0))
    return problem.scale * value


SIZES = st.sampled_from([1.0, 1e-6, 1e6, 1e12])


@settings(deadline=None, max_examples=150 if FULL else 50)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from([HINGE, SQUARED, NU]),
    intercept=st.sampled_from(["free", "penalised", "none"]),
    size=SIZES,
    spread=SIZES,
    sparse=st.booleans(),
)
def test_ends_enclose_the_exact_numbers(
    seed: int, loss: str, intercept: str, size: float, spread: float, sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 25)), int(rng.integers(1, 6))
    X = size * rng.standard_normal((n, d)) + spread * rng.integers(0, 2)
    X[rng.random((n, d)) < 0.3] = 0.0
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    prices = rng.random(n) * np.where(rng.random(n) < 0.2, spread, 1.0)
    prices[2:][rng.random(n - 2) < 0.1] = 0.0
    mass = min(prices[y > 0].sum(), prices[y < 0].sum())
    total = Fraction(0.7 * mass * (2 if intercept == "free" else 1)) if loss == NU else Fraction(0)
    problem = PricedProblem(
        PointRows(sp.csr_matrix(X) if sparse else X), y, prices, loss, intercept,
        ridge=Fraction(float(rng.random() + 0.1)) if loss != NU else Fraction(1),
        scale=Fraction(1, n), column=float(rng.choice([1.0, 0.3, 50.0])), total=total,
    )  # fmt: skip
    w = rng.standard_normal(d) / size
    b = 0.0 if intercept == "none" else float(rng.standard_normal())
    point = objective_end(problem, *problem.points.scores(w, b), most_squares(w), b)
    exact = exact_objective(problem, X, w, b)
    assert Fraction(point.varying) >= exact
    assert float(Fraction(point.varying) - exact) <= 1e-8 * max(1.0, float(abs(exact)))

    given_alpha = rng.random(n) * prices * 1.5
    multipliers = exact_multipliers(problem, given_alpha)
    signed = y * multipliers.alpha
    bound = bound_end(problem, multipliers, problem.points.squared_weight(signed))
    value = exact_dual(problem, X, multipliers.alpha)
    assert Fraction(bound.varying) <= value
    terms = np.abs(signed) @ np.abs(X)
    size_of_terms = float(problem.scale) * (float(terms @ terms) + multipliers.alpha.sum())
    assert float(value - Fraction(bound.varying)) <= 1e-9 * (size_of_terms + abs(float(value)))


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_and_weights_that_cancel_are_as_near_as_they_say(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8)) + 1e7
    w, c = rng.standard_normal(8), rng.standard_normal(40)
    w, c = w - w.mean(), c - c.mean()
    rows = PointRows(sp.csr_matrix(X) if sparse else X)
    scores, errors = rows.scores(w, 0.1)
    exact = [dot(fractions(x), fractions(w)) + Fraction(0.1) for x in X]
    off = [abs(Fraction(float(s)) - t) for s, t in zip(scores, exact, strict=True)]
    assert all(one <= Fraction(float(most)) for one, most in zip(off, errors, strict=True))
    assert max(off) > 0
    assert errors.max() < 1e-6
    v = [dot(fractions(c), fractions(column)) for column in X.T]
    most = Fraction(rows.squared_weight(c))
    assert dot(v, v) <= most <= dot(v, v) + Fraction(1e-3)
    assert most > Fraction(float(((X.T @ c) ** 2).sum()) * (1 + 1e-12)), "what cancels is counted"


def test_exponentials_are_as_near_as_they_say() -> None:
    t = np.r_[0.0, 10.0 ** np.arange(-20, 3), np.arange(1, 40) * np.log(2) / 2, 1e3, 1e300]
    with localcontext() as context:
        context.prec = 60
        for argument, value in zip((-t).tolist(), exp_of_negative(-t).tolist(), strict=True):
            true = Decimal(argument).exp() if argument > -1e4 else Decimal(0)
            allowed = Decimal(LOST) if argument < LEAST else Decimal(RELATIVE) * true
            assert abs(Decimal(value) - true) <= allowed, argument


def test_numbers_that_are_none_prove_nothing_or_are_clipped_into_the_box() -> None:
    """Scores as inf - inf leaves them, where the hyperplane and its norm are finite."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    problem = PricedProblem(PointRows(np.eye(4)), y, np.ones(4), HINGE, "free")
    for scores in ([np.nan] * 4, [np.inf, 2.0, 2.0, 2.0], [2.0, -np.inf, 2.0, 2.0]):
        for error in (0.0, np.inf, np.nan):
            with np.errstate(all="ignore"):
                found = objective_end(problem, np.array(scores), np.full(4, error), 1.0, 0.0)
            assert found is None
    for bad in (np.nan, np.inf, -1.0):
        clipped = exact_multipliers(problem, np.array([0.5, bad, 0.25, 0.5]))
        assert clipped.balance == 0
        assert all(clipped.hypotheses(problem).values())
    # nu N above what the prices of a class can carry has no dual point.
    y = np.array([1.0, -1.0, -1.0])
    problem = PricedProblem(PointRows(np.eye(3)), y, np.ones(3), NU, "free", total=Fraction(5, 2))
    assert exact_multipliers(problem, np.ones(3)) is None
    fewer = exact_multipliers(replace(problem, total=Fraction(1)), np.ones(3))
    assert not all(fewer.hypotheses(problem).values()), "they sum to 1, not to 5/2"


POINTS = np.random.default_rng(4).standard_normal((9, 3))


def true_kernel(kernel: KernelValues, x: np.ndarray, z: np.ndarray) -> Decimal:
    a, b = ([Decimal(float(number)) for number in row] for row in (x, z))
    if kernel.kind == "rbf":
        square = sum(((p - q) ** 2 for p, q in zip(a, b, strict=True)), Decimal(0))
        return (-Decimal(kernel.gamma) * square).exp()
    inner = sum((p * q for p, q in zip(a, b, strict=True)), Decimal(0))
    return (Decimal(kernel.gamma) * inner + Decimal(kernel.coef0)) ** kernel.degree


LONG = np.random.default_rng(0).standard_normal((5, 500))
PERPENDICULAR = 1e3 / 7 * np.array([[0.1, 0.3], [-0.3, 0.1], [0.7, 0.9], [-0.9, 0.7], [0.2, 0.6]])


@pytest.mark.parametrize(
    "kernel",
    [
        KernelValues(POINTS, "rbf", 0.3),
        KernelValues(POINTS + 1e6, "rbf", 1e-9),
        KernelValues(POINTS, "rbf", 80.0),
        KernelValues(POINTS + 1e6, "poly", 1e-3, 0.0, 7),
        KernelValues(LONG, "rbf", 2e-3),
        KernelValues(np.abs(LONG), "poly", 1e-3, 0.1, degree=9),
        KernelValues(PERPENDICULAR, "linear"),
    ],
)
def test_kernel_values_and_their_sums_are_as_near_as_they_say(kernel: KernelValues) -> None:
    """Columns with one coefficient too: no sum hides there what a value may be off by."""
    rng, X, n = np.random.default_rng(3), kernel.X, len(kernel.X)
    c = np.hstack([rng.standard_normal((n, 2)) * (rng.random((n, 2)) < 0.7), np.eye(n)])
    sums, errors = kernel.sums(c)
    worst = Decimal(0)
    with localcontext() as context:
        context.prec = 80
        values = [[true_kernel(kernel, x, z) for z in X] for x in X]
        for k in range(n + 2):
            weights = [Decimal(float(number)) for number in c[:, k]]
            true = [
                sum((v * p for v, p in zip(row, weights, strict=True)), Decimal(0))
                for row in values
            ]
            off = [abs(Decimal(float(s)) - t) for s, t in zip(sums[:, k], true, strict=True)]
            assert all(a <= Decimal(float(e)) for a, e in zip(off, errors[:, k], strict=True))
            worst = max(worst, *off)
            norm = sum((p * t for p, t in zip(weights, true, strict=True)), Decimal(0))
            assert Decimal(kernel.squares(c[:, k], sums[:, k], errors[:, k])) >= norm
    assert worst > 0
    assert errors.max() <= 1e-11 * (np.abs(c).sum() * float(max(map(max, values))))


def exact_matrix(gram: np.ndarray, shift: float) -> list[list[Fraction]]:
    entries = [[Fraction(float(entry)) for entry in row] for row in gram]
    size = range(len(gram))
    even = [[(entries[i][j] + entries[j][i]) / 2 for j in size] for i in size]
    for i in size:
        even[i][i] += Fraction(shift)
    return even


@pytest.mark.parametrize("seed", range(25 if FULL else 6))
def test_a_matrix_that_rounding_made_indefinite_gets_what_it_lacks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((9, (2, 1, 9)[seed % 3])) * 10.0 ** rng.integers(-3, 4, 9)[:, None]
    gram = factor @ factor.T
    shift = proven_shift(gram)
    assert is_semidefinite(exact_matrix(gram, shift))
    assert np.linalg.norm(gram) * 2.0**-53 < shift < 1e-11 * np.linalg.norm(gram)


def test_a_matrix_that_is_not_semidefinite_has_no_small_shift() -> None:
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    clearly = basis @ np.diag([-1e-3, *range(1, 8)]) @ basis.T
    assert proven_shift((clearly + clearly.T) / 2) is None
    slightly = basis @ np.diag([-1e-11, *range(1, 8)]) @ basis.T
    shift = proven_shift((slightly + slightly.T) / 2)
    assert shift > 1e-11
    assert is_semidefinite(exact_matrix((slightly + slightly.T) / 2, shift))
