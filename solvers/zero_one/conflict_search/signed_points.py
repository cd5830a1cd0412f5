"""Signed points in the coordinates of the search, and norms that multipliers prove.

A hyperplane v keeps point i when <a_i, v> >= 1, with a_i = y_i (x_i, column). The column is 1 for
a penalised intercept and absent without one. A free intercept gets a column of size COLUMN, so
that b costs (b / COLUMN)^2 while the search looks for multipliers; what they prove is evaluated
for a b that costs nothing (`certified_norm2`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.intercept_bound import derive_intercept_bound
from tightmargin.formulations.zero_one.loss import EPS

Index = NDArray[np.intp]

LARGEST = 5000  # points; their Gram matrix takes 200 MB
COLUMN = 1e3
LEAST = 1e-100  # stands for a length of 0
ROUNDING = 1e-14  # relative, of sums over a working set: about 40 times the unit roundoff


@dataclass(frozen=True, eq=False)
class SignedPoints:
    """The points of one 0-1 problem, centred when the intercept is free, in units of their size.

    Attributes
    ----------
    rows : array (n, k)
        a_i.
    counted : array (n, k or k - 1)
        The part of a_i that counts in the norm.
    gram : array (n, n)
        <a_i, a_j>.
    y : array (n,)
        Labels.
    reach : array (n,)
        Size of a_i before centring, for rounding errors.
    centre : array (d,)
        What was subtracted.
    scale : float
        What was divided by: norm2 of the data is norm2 here over its square.
    intercept : str
        "penalised", "free" or "none".
    intercept_limit : float
        A bound on |b| at some optimum, with a free intercept.
    """

    rows: Array
    counted: Array
    gram: Array
    y: Array
    reach: Array
    centre: Array
    scale: float
    intercept: str
    intercept_limit: float

    @property
    def largest(self) -> int:
        """Largest size of a working set, with the point that is about to enter."""
        return self.rows.shape[1] + 2


def signed_points(data: TrainingData, *, penalty: float, intercept: str) -> SignedPoints:
    """Coordinates of the search for one problem.

    Raises
    ------
    ValueError
        More than 5000 points.
    """
    if data.n > LARGEST:
        raise ValueError(
            f"the conflict search holds the inner products of all points and takes at most "
            f"{LARGEST}, got {data.n}: solve zero_one_big_m with SCIP instead"
        )
    free = intercept == "free"
    centre = data.X.mean(axis=0) if free else np.zeros(data.d)
    X = data.X - centre
    scale = float(np.sqrt((X * X).sum(axis=1).mean())) or 1.0
    signed = data.y[:, None] * X / scale
    column = data.y[:, None] * (COLUMN if free else 1.0 / scale)
    rows = signed if intercept == "none" else np.hstack([signed, column])
    counted = signed if free else rows
    offset = float(np.linalg.norm(centre)) / scale
    limit = 0.0
    if free:
        limit = derive_intercept_bound(data, penalty=penalty)
    return SignedPoints(
        rows, counted, rows @ rows.T, data.y, np.linalg.norm(counted, axis=1) + offset,
        centre, scale, intercept, limit,
    )  # fmt: skip


def certified_norm2(points: SignedPoints, members: Index, alpha: Array) -> Array:
    """Lower bounds on norm2 of every hyperplane that keeps all members of a set.

    With multipliers alpha >= 0, s = sum_i alpha_i a_i (without the column of a free intercept,
    for which sum_i alpha_i y_i = 0) and A = sum_i alpha_i:
    A <= sum_i alpha_i <a_i, v> = <s, v>, so ||v||^2 >= A^2 / ||s||^2, whatever alpha is. With a
    free intercept the multipliers of the heavier class are first scaled down.

    Parameters
    ----------
    members : array (..., m) of int
    alpha : array (..., m)
        0 where a place is empty; negative numbers count as 0.

    Returns
    -------
    array (...,)
        In the units of the data, rounded downwards.
    """
    alpha = np.maximum(alpha, 0.0)
    if points.intercept == "free":
        positive = points.y[members] > 0
        heavy = np.where(positive, alpha, 0.0).sum(axis=-1)
        light = alpha.sum(axis=-1) - heavy
        common = np.minimum(heavy, light)
        share = np.where(
            positive,
            _ratio(common, heavy)[..., None],
            _ratio(common, light)[..., None],
        )
        alpha = alpha * share
    total = alpha.sum(axis=-1)
    s = np.einsum("...m,...mk->...k", alpha, points.counted[members])
    slack = ROUNDING * (alpha * points.reach[members]).sum(axis=-1)
    length = np.sqrt((s * s).sum(axis=-1)) + slack
    certain = total * (1 - ROUNDING * (1 + points.intercept_limit))
    # An empty or one-sided set proves 0. A set that nothing keeps has a length of about `slack`,
    # and of exactly 0 for a point at 0 without an intercept.
    bound = np.maximum(certain, 0.0) / np.maximum(length, LEAST) / points.scale
    return bound * bound * (1 - 16 * EPS)


def hyperplane(points: SignedPoints, members: Index) -> tuple[Array, float] | None:
    """The hyperplane of least norm with margin 1 at all members, in the coordinates of the data.

    None when the members are empty, or of one class with a free intercept.
    """
    if not members.size:
        return None
    y = points.y[members]
    if points.intercept != "free":
        v = _least_solution(points.rows[members], np.ones(len(members)))
        if points.intercept == "none":
            return v / points.scale, 0.0
        return v[:-1] / points.scale, float(v[-1]) / points.scale
    if abs(y.sum()) == len(y):
        return None
    X = y[:, None] * points.counted[members]
    v = _least_solution(X[1:] - X[0], y[1:] - y[0])
    w = v / points.scale
    return w, float(y[0] - X[0] @ v - points.centre @ w)


def _least_solution(A: Array, right: Array) -> Array:
    return np.asarray(np.linalg.lstsq(A, right, rcond=1e-12)[0], dtype=np.float64)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)
