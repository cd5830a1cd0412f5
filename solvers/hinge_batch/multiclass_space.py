"""Points and price of multiclass machines, in coordinates without a row for the sum of zero.

Score functions of K classes that sum to zero are f = Q A (x, 1) with an orthonormal basis Q
(K, K - 1) of that space, so that sum_k ||B_k||^2 = ||A||^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive

Labels = NDArray[np.int64]

LARGEST = 3000  # unknowns of one machine


class Space(NamedTuple):
    """Points and price of one family of machines.

    Attributes
    ----------
    X : array (n, k)
        Points with columns of largest entry 1, the constant one last if there is an intercept;
        about their mean when that is free.
    unit, shift : arrays (k,), (d,)
        What the columns were divided by, and what was subtracted before.
    y : array (n,)
        Classes 0 to K - 1.
    Q : array (K, K - 1)
        Orthonormal, with columns that sum to zero.
    price : array (k,)
        Of the square of each column of A; 0 for a free intercept.
    intercept : str
    """

    X: Array
    unit: Array
    shift: Array
    y: Labels
    Q: Array
    price: Array
    intercept: str

    def machine(self, A: Array) -> tuple[Array, Array]:
        """B (..., K, d) and b (..., K) of A (..., K - 1, k)."""
        both = self.Q @ (A / self.unit)
        if self.intercept == "none":
            return both, np.zeros(both.shape[:-1])
        B = both[..., :-1]
        return B, both[..., -1] - B @ self.shift

    def coordinates(self, B: Array, b: Array) -> Array:
        """A (..., K - 1, k) of functions that sum to zero."""
        here = (b + B @ self.shift)[..., None]
        both = B if self.intercept == "none" else np.concatenate([B, here], axis=-1)
        found: Array = self.Q.T @ both * self.unit
        return found

    def scores(self, A: Array) -> Array:
        """f_k(x_i), (..., n, K)."""
        found: Array = self.X @ np.swapaxes(A, -1, -2) @ self.Q.T
        return found

    def norm(self, A: Array) -> Array:
        """ridge sum_k ||B_k||^2, with the intercepts if they are penalised, (...)."""
        found: Array = (A * A * self.price).sum(axis=(-1, -2))
        return found


def machine_space(data: MulticlassData, ridge: float, intercept: str = "free") -> Space:
    """Scale the points and choose the basis.

    Raises
    ------
    ValueError
        A bad ridge or intercept; more than 3000 unknowns (K - 1)(d + 1).
    """
    positive("ridge", ridge)
    one_of("intercept", intercept, INTERCEPTS)
    K = data.n_classes
    unknowns = (K - 1) * (data.d + 1)
    if unknowns > LARGEST:
        raise ValueError(
            f"data: {K} classes in {data.d} dimensions have {unknowns} unknowns, and this method "
            f"takes {LARGEST}; keep fewer features"
        )
    shift = data.X.mean(axis=0) if intercept == "free" else np.zeros(data.d)
    X = data.X - shift
    if intercept != "none":
        X = np.hstack([X, np.ones((data.n, 1))])
    unit = np.abs(X).max(axis=0)
    unit[unit == 0] = 1.0
    price = ridge / unit**2
    if intercept == "free":
        price[-1] = 0.0
    return Space(X / unit, unit, shift, data.y, sum_zero_basis(K), price, intercept)


def sum_zero_basis(K: int) -> Array:
    """Orthonormal columns (K, K - 1) that sum to zero."""
    Q = np.zeros((K, K - 1))
    for j in range(K - 1):
        Q[: j + 1, j], Q[j + 1, j] = 1.0, -(j + 1.0)
        Q[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return Q


def slope_of(space: Space, weights: Array, y: Labels) -> Array:
    """Gradient in A of sum_ik weights_ik (f_{y_i} - f_k)(x_i), (B, K - 1, k)."""
    E = -weights
    own = np.broadcast_to(y, weights.shape[:-1])[..., None]
    np.put_along_axis(E, own, np.take_along_axis(E, own, -1) + weights.sum(-1)[..., None], -1)
    found: Array = np.swapaxes(E @ space.Q, -1, -2) @ space.X
    return found
