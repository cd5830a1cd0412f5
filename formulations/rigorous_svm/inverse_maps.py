"""From a solution of c_svc, nu_svc or reduced_hull_svc to the H of the rigorous SVM it solves.

Where a whole stretch of H has the multipliers of a nu or a D, the largest of them is returned, and
`Equivalence.norm_bounds` holds the stretch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.rigorous_svm.checks import NO_NAME
from tightmargin.formulations.rigorous_svm.equivalence import (
    OUTSIDE,
    Equivalence,
    equivalence,
    levels,
    within_box,
)


@unweighted
def from_c_svc(data: TrainingData | GramData, C: float, alpha: ArrayLike) -> Equivalence:
    """Read H = ||w|| and the rest from a solution of c_svc.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    C : float
        Of that solution.
    alpha : array (n,)
        Multipliers of its margin rows, in [0, C]: w = F'(y o alpha).

    Raises
    ------
    ValueError
        A bad C; bad multipliers; or w = 0, which is the solution at no H.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.c_svc_dual(data, C=0.1))
    >>> same = tm.theory.from_c_svc(data, 0.1, found.values["alpha"])
    >>> round(same.C, 6)
    0.1
    """
    C = positive("C", C)
    alpha = within_box("alpha", data, alpha, C)
    return equivalence(data, _norm(data, alpha), alpha / C)


@unweighted
def from_nu_svc(data: TrainingData | GramData, nu: float, alpha: ArrayLike) -> Equivalence:
    """Read H = ||w|| / rho and the rest from a solution of nu_svc with uniform weights.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    nu : float
        Of that solution.
    alpha : array (n,)
        Multipliers of its margin rows, in [0, 1 / n], with sum nu.

    Raises
    ------
    ValueError
        A bad nu; bad multipliers; w = 0 or rho = 0, where no H has this solution.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.75))
    >>> same = tm.theory.from_nu_svc(data, 0.75, found.values["alpha"])
    >>> round(same.nu, 6)
    0.75
    """
    nu = positive("nu", nu)
    return _from_level(data, _with_sum(data, alpha, 1 / data.n, nu))


@unweighted
def from_reduced_hulls(
    data: TrainingData | GramData, hull_bound: float, alpha: ArrayLike
) -> Equivalence:
    """Read H = ||v|| / level and the rest from a solution of reduced_hull_svc.

    The level is that of nu_svc with nu = 2 / (n D), on the scale of v. From D = 1 on, where the
    bound cuts nothing off, H = 2 / ||v||, the reciprocal of the hard margin.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    hull_bound : float
        D of that solution.
    alpha : array (n,)
        Weights in [0, D] with sum 1 in each class.

    Raises
    ------
    ValueError
        A bad D; bad multipliers; v = 0 or level 0, where no H has this solution.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.75))
    >>> same = tm.theory.from_reduced_hulls(data, 2 / 9, found.values["alpha"] / 0.375)
    >>> round(same.nu, 6)  # nu = 2 / (n D)
    0.75
    """
    return _from_level(data, _with_sum(data, alpha, positive("hull_bound", hull_bound), 2.0))


def _from_level(data: TrainingData | GramData, alpha: Array) -> Equivalence:
    """Equivalence at the largest H with these multipliers in [0, 1]."""
    norm = _norm(data, alpha)
    scores = data.factor @ (data.factor.T @ (data.y * alpha))
    low, _ = levels(scores, data.y, alpha)
    if low <= NO_NAME * norm**2:
        raise ValueError("rho = 0: no norm_bound of the rigorous SVM has this solution")
    return equivalence(data, norm / low, alpha)


def _with_sum(data: TrainingData | GramData, alpha: ArrayLike, cap: float, mass: float) -> Array:
    """Multipliers on the scale [0, 1], after checking that their sum was the given one."""
    found = within_box("alpha", data, alpha, cap)
    if abs(float(found.sum()) - mass) > OUTSIDE * mass:
        raise ValueError(f"alpha must have the sum {mass:g}, got {found.sum():.6g}")
    return found / cap


def _norm(data: TrainingData | GramData, alpha: Array) -> float:
    """||F'(y o alpha)||, refused where it is rounding."""
    norm = float(np.linalg.norm(data.factor.T @ (data.y * alpha)))
    reach = np.sqrt(squared_lengths(data.factor).max(initial=0.0))
    if norm <= NO_NAME * float(reach) * float(alpha.sum()):
        raise ValueError("w = 0: no norm_bound of the rigorous SVM has this solution")
    return norm
