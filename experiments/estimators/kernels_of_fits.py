"""The kernel of a fitted SVC or NuSVC, as what bounds kernel values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tightmargin.experiments.estimators.training_set import TrainingSet
from tightmargin.formulations.data.arrays import Index, real_array
from tightmargin.solvers.hinge.problem import KernelValues, PointRows, proven_shift

Points = PointRows | KernelValues
EVEN = 1e-10  # of the largest entry: by how much a given matrix may miss its transpose


def expansion_points(
    estimator: Any, data: TrainingSet, of_nu: bool
) -> tuple[Callable[[Index], Points], str, Callable[[Points], str]]:
    """Points of a subset with their kernel, the kernel in words, and what is to be remarked.

    Raises ValueError: a kernel that is no inner product, or is not known to be one.
    """
    kind, name = estimator.kernel, type(estimator).__name__
    if callable(kind):
        raise ValueError(
            f"{name} has a function as its kernel, whose rounding nobody bounds: fit on its matrix "
            "with kernel='precomputed'"
        )
    if kind == "linear" and not of_nu:
        return (lambda chosen: PointRows(data.X[chosen])), "", lambda _: ""
    if kind == "precomputed":
        return (lambda chosen: _given(data.X, chosen, name)), "a given matrix", _shifted
    gamma, coef0, degree = 1.0, 0.0, 1
    if kind == "poly":
        gamma, coef0, degree = float(estimator._gamma), float(estimator.coef0), estimator.degree
    elif kind == "rbf":
        gamma = float(estimator._gamma)
    if kind not in ("linear", "poly", "rbf") or gamma < 0 or coef0 < 0:
        raise ValueError(
            f"kernel={kind!r} with coef0={estimator.coef0:g} and gamma={gamma:g} is no inner "
            "product of all points: the problem is not convex and weak duality says nothing"
        )
    words = {
        "linear": "linear kernel",
        "rbf": f"exp(-{gamma:.6g} ||x - x'||^2)",
        "poly": f"({gamma:.6g} <x, x'> + {coef0:g})^{degree}",
    }[kind]
    X = real_array("X", data.X)

    def part(chosen: Index) -> Points:
        return KernelValues(X[chosen], kind, gamma, coef0, max(int(degree), 1))

    return part, words, lambda _: ""


def _given(gram: Any, chosen: Index, name: str) -> KernelValues:
    """A given matrix with the shift that makes it semidefinite by proof."""
    matrix = gram if len(chosen) == len(gram) else gram[np.ix_(chosen, chosen)]
    largest = float(np.abs(matrix).max())
    if not np.abs(matrix - matrix.T).max() <= EVEN * largest:
        raise ValueError(
            f"the kernel matrix of {name} is not symmetric: it holds no inner products"
        )
    shift = proven_shift(matrix)
    if shift is None:
        raise ValueError(
            f"the kernel matrix of {name} is not positive semidefinite, also with 1e-8 of its "
            "largest entry on the diagonal: the problem is not convex and weak duality says nothing"
        )
    return KernelValues(matrix, "precomputed", shift=shift)


def _shifted(points: Points) -> str:
    assert isinstance(points, KernelValues)
    return (
        f"of the matrix with {points.shift:.2g} added to its diagonal, which is proven semidefinite"
    )
