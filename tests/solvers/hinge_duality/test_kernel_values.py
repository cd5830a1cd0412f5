"""Kernel values beside sixty digits, and shifts of matrices beside exact elimination."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from tests.inside.solvers import (
    LEAST,
    LOST,
    RELATIVE,
    KernelValues,
    exp_of_negative,
    is_semidefinite,
    proven_shift,
)
from tests.soundness.exact import dot, fractions
from tests.support.covering import FULL


def test_exponentials_are_as_near_as_they_say() -> None:
    rng = np.random.default_rng(0)
    t = -np.concatenate([
        np.zeros(1), 10.0 ** rng.uniform(-20, 2.8, 200), rng.uniform(0, 700, 100), [1e3, 1e300],
        np.arange(1, 40) * np.log(2) / 2,
    ])  # fmt: skip
    found = exp_of_negative(t)
    with localcontext() as context:
        context.prec = 60
        for argument, value in zip(t.tolist(), found.tolist(), strict=True):
            true = Decimal(argument).exp() if argument > -1e4 else Decimal(0)
            off = abs(Decimal(value) - true)
            allowed = Decimal(LOST) if argument < LEAST else Decimal(RELATIVE) * true
            assert off <= allowed, argument
    assert exp_of_negative(np.zeros(1))[0] == 1.0


POINTS = np.random.default_rng(4).standard_normal((9, 3))


def true_kernel(kernel: KernelValues, x: np.ndarray, z: np.ndarray) -> Decimal:
    a, b = ([Decimal(float(number)) for number in row] for row in (x, z))
    if kernel.kind == "rbf":
        square = sum(((p - q) ** 2 for p, q in zip(a, b, strict=True)), Decimal(0))
        return (-Decimal(kernel.gamma) * square).exp()
    inner = sum((p * q for p, q in zip(a, b, strict=True)), Decimal(0))
    return (Decimal(kernel.gamma) * inner + Decimal(kernel.coef0)) ** kernel.degree


@pytest.mark.parametrize(
    ("kind", "gamma", "coef0", "degree"),
    [("rbf", 0.3, 0.0, 1), ("rbf", 1e-9, 0.0, 1), ("rbf", 80.0, 0.0, 1), ("linear", 1.0, 0.0, 1),
     ("poly", 0.5, 1.0, 3), ("poly", 1e-3, 0.0, 7)],
)  # fmt: skip
def test_sums_of_kernel_values_are_as_near_as_they_say(
    kind: str, gamma: float, coef0: float, degree: int
) -> None:
    for far in (0.0, 1e6):
        sums_of_kernel_values(KernelValues(POINTS + far, kind, gamma, coef0, degree))


def sums_of_kernel_values(kernel: KernelValues) -> None:
    rng, X = np.random.default_rng(3), kernel.X
    c = rng.standard_normal((9, 2)) * (rng.random((9, 2)) < 0.7)
    sums, errors = kernel.sums(c)
    with localcontext() as context:
        context.prec = 80
        values = [[true_kernel(kernel, x, z) for z in X] for x in X]
        for k in range(2):
            weights = [Decimal(float(number)) for number in c[:, k]]
            true = [
                sum((v * p for v, p in zip(row, weights, strict=True)), Decimal(0))
                for row in values
            ]
            for j in range(9):
                assert abs(Decimal(float(sums[j, k])) - true[j]) <= Decimal(float(errors[j, k]))
            norm = sum((p * t for p, t in zip(weights, true, strict=True)), Decimal(0))
            assert Decimal(kernel.squares(c[:, k], sums[:, k], errors[:, k])) >= norm
    assert errors.max() <= 1e-11 * (np.abs(c).sum() * float(max(map(max, values))))


def exact_matrix(gram: np.ndarray, shift: float) -> list[list[Fraction]]:
    entries = [[Fraction(float(entry)) for entry in row] for row in gram]
    size = range(len(gram))
    even = [[(entries[i][j] + entries[j][i]) / 2 for j in size] for i in size]
    for i in size:
        even[i][i] += Fraction(shift)
    return even


LONG = {
    "far apart": KernelValues(np.random.default_rng(0).standard_normal((5, 500)), "rbf", 2e-3),
    "high degree": KernelValues(
        np.random.default_rng(1).random((5, 500)), "poly", 1e-3, 0.1, degree=9
    ),
    "perpendicular": KernelValues(
        1e3 / 7 * np.array([[0.1, 0.3], [-0.3, 0.1], [0.7, 0.9], [-0.9, 0.7], [0.2, 0.6]]), "linear"
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_each_kernel_value_alone_is_as_near_as_it_says(name: str) -> None:
    """One coefficient a column: no sum hides what a value may be off by."""
    kernel = LONG[name]
    sums, errors = kernel.sums(np.eye(5))
    with localcontext() as context:
        context.prec = 80
        off = [
            abs(Decimal(float(sums[j, k])) - true_kernel(kernel, kernel.X[j], kernel.X[k]))
            for j in range(5) for k in range(5)
        ]  # fmt: skip
    assert all(one <= Decimal(float(most)) for one, most in zip(off, errors.ravel(), strict=True))
    assert max(off) > 0


def test_sums_of_a_given_matrix_have_its_shift() -> None:
    rng = np.random.default_rng(1)
    factor = rng.standard_normal((7, 7))
    gram = factor @ factor.T
    gram[0, 1] += 1e-13  # read as its symmetric part
    c = rng.standard_normal((7, 1))
    sums, errors = KernelValues(gram, "precomputed", shift=0.125).sums(c)
    for j, line in enumerate(exact_matrix(gram, 0.125)):
        off = abs(Fraction(float(sums[j, 0])) - dot(line, fractions(c[:, 0])))
        assert off <= Fraction(float(errors[j, 0]))
    assert errors.max() < 1e-12


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
