"""Hyperplanes that touch the margin at a given set of points, many sets at a time.

For a set A of points the hyperplane of least norm with y_i (<w, x_i> + b) = 1 on A. With an
intercept that is penalised or absent this is the point of least norm on linear equations with rows
(x_i, 1) or x_i. With a free intercept, b is eliminated by a reference point a of A:
<w, x_i - x_a> = y_i - y_a. Either way the equations are orthonormalised one point at a time, so
that all sets with a common beginning share the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.zero_one.loss import EPS


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct labelled points in the coordinates the equations live in, label +1 first.

    Attributes
    ----------
    rows : array (m, D)
        x_i; with a 1 appended for a penalised intercept; minus `centre` for a free one.
    y, weight : array (m,)
        Labels, and what all copies of a point in the data weigh.
    original : array (m,) of int
        A row of the data that holds this point.
    centre : array (d,)
        What was subtracted.
    radius : float
        Largest row norm; with a free intercept, a bound on the distance of two points.
    """

    rows: Array
    y: Array
    weight: Array
    original: Index
    centre: Array
    radius: float
    intercept: str

    @property
    def n_pos(self) -> int:
        """Number of distinct points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def largest(self) -> int:
        """Largest size of an independent set."""
        return self.rows.shape[1] + (1 if self.intercept == "free" else 0)

    def hyperplane(self, v: Array, member: int) -> tuple[Array, float]:
        """(w, b) in the coordinates of the data; `member` is a point of the active set."""
        if self.intercept == "none":
            return v, 0.0
        if self.intercept == "penalised":
            return v[:-1], float(v[-1])
        return v, float(self.y[member] - self.rows[member] @ v - self.centre @ v)


@dataclass(frozen=True, eq=False)
class ActiveSets:
    """P active sets of one size s, as k = s linear equations (k = s - 1 with a free intercept).

    Attributes
    ----------
    members : array (P, s) of int
        Rows of `Points`; the first one is the reference of a free intercept.
    basis : array (P, k, D)
        Orthonormal rows that span the equations.
    inverse : array (P, k, k)
        Inverse of the triangular L in equations = L basis.
    coefficients : array (P, k)
        beta in v = sum of beta_k equation_k.
    v : array (P, D)
        Least-norm solution.
    norm2, spread : array (P,)
        ||v||^2, and the squared Frobenius norm of `inverse`: between 1 and k times
        1 / sigma_min(equations)^2.
    """

    members: Index
    basis: Array
    inverse: Array
    coefficients: Array
    v: Array
    norm2: Array
    spread: Array

    def take(self, chosen: Mask | Index) -> ActiveSets:
        """Some of the sets."""
        return ActiveSets(
            self.members[chosen],
            self.basis[chosen],
            self.inverse[chosen],
            self.coefficients[chosen],
            self.v[chosen],
            self.norm2[chosen],
            self.spread[chosen],
        )


def distinct_points(data: TrainingData, intercept: str) -> Points:
    """Merge repeated points and choose the coordinates that suit the intercept."""
    one_of("intercept", intercept, INTERCEPTS)
    labelled = np.column_stack([-data.y, data.X + 0.0])  # + 0.0 turns -0.0 into 0.0
    _, original, place = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(place.reshape(-1), weights=data.multiplicity).astype(np.float64)
    rows, y = data.X[original], data.y[original]
    centre = np.zeros(data.d)
    if intercept == "penalised":
        rows = np.column_stack([rows, np.ones(len(y))])
    elif intercept == "free":
        centre = rows.mean(axis=0)
        rows = rows - centre
    radius = float(np.linalg.norm(rows, axis=1).max()) * (2.0 if intercept == "free" else 1.0)
    return Points(rows, y, weight, original, centre, radius, intercept)


def without_equations(points: Points, reference: Index) -> ActiveSets:
    """Sets to start from: one point each with a free intercept, otherwise one empty set."""
    dimension = points.rows.shape[1]
    members = reference[:, None] if points.intercept == "free" else np.zeros((1, 0), dtype=np.intp)
    count = len(members)
    return ActiveSets(
        members,
        np.zeros((count, 0, dimension)),
        np.zeros((count, 0, 0)),
        np.zeros((count, 0)),
        np.zeros((count, dimension)),
        np.zeros(count),
        np.zeros(count),
    )


@np.errstate(over="ignore", invalid="ignore")
def extend(points: Points, sets: ActiveSets, parent: Index, point: Index) -> ActiveSets:
    """Sets parent[k] with point[k] added: one Gram-Schmidt step, repeated once for accuracy.

    A dependent point gets a tiny pivot, hence a huge `spread`; its numbers mean nothing.
    """
    row, target = points.rows[point], points.y[point]
    if points.intercept == "free":
        first = sets.members[parent, 0]
        row, target = row - points.rows[first], target - points.y[first]
    basis, inverse = sets.basis[parent], sets.inverse[parent]
    along = np.einsum("pkd,pd->pk", basis, row)
    across = row - np.einsum("pk,pkd->pd", along, basis)
    again = np.einsum("pkd,pd->pk", basis, across)
    across -= np.einsum("pk,pkd->pd", again, basis)
    along += again
    pivot = np.sqrt(np.einsum("pd,pd->p", across, across))
    pivot = np.maximum(pivot, EPS * points.radius)
    unit = across / pivot[:, None]
    step = (target - np.einsum("pd,pd->p", row, sets.v[parent])) / pivot
    size = basis.shape[1]
    last = np.empty((len(parent), size + 1))
    last[:, :size] = -np.einsum("pk,pkl->pl", along, inverse)
    last[:, size] = 1.0
    last /= pivot[:, None]
    coefficients = step[:, None] * last
    coefficients[:, :size] += sets.coefficients[parent]
    grown = np.zeros((len(parent), size + 1, size + 1))
    grown[:, :size, :size] = inverse
    grown[:, size, :] = last
    return ActiveSets(
        np.column_stack([sets.members[parent], point]),
        np.concatenate([basis, unit[:, None, :]], axis=1),
        grown,
        coefficients,
        sets.v[parent] + step[:, None] * unit,
        sets.norm2[parent] + step**2,
        sets.spread[parent] + np.einsum("pk,pk->p", last, last),
    )


def from_members(points: Points, members: Index) -> ActiveSets:
    """Sets with the given members (P, s), s >= 1."""
    each = np.arange(len(members), dtype=np.intp)
    if points.intercept == "free":
        sets, start = without_equations(points, members[:, 0]), 1
    else:
        sets = without_equations(points, members[:0, 0]).take(np.zeros_like(each))
        start = 0
    for column in range(start, members.shape[1]):
        sets = extend(points, sets, each, members[:, column])
    return sets


def set_margins(points: Points, sets: ActiveSets) -> Array:
    """y_i (<w, x_i> + b) of every distinct point for every set, (P, m)."""
    scores = sets.v @ points.rows.T
    if points.intercept == "free":
        first = sets.members[:, 0]
        offset = points.y[first] - np.einsum("pd,pd->p", points.rows[first], sets.v)
        scores += offset[:, None]
    return np.multiply(scores, points.y, out=scores)


def multipliers(points: Points, sets: ActiveSets) -> Array:
    """alpha of the members, (P, s): w = sum alpha_i y_i x_i, and sum alpha_i y_i = 0 if b is free.

    Non-negative exactly if v is the point of least norm2 with margins >= 1 on the set.
    """
    beta = sets.coefficients
    if points.intercept == "free":
        beta = np.column_stack([-beta.sum(axis=1), beta])
    return beta * points.y[sets.members]


@dataclass(frozen=True)
class RationalPoint:
    """The point of one active set without rounding."""

    alpha: list[Fraction]
    norm2: Fraction
    w: list[Fraction]
    b: Fraction

    def rounded(self) -> tuple[Array, float]:
        """(w, b) as floats; OverflowError if they have none."""
        return np.array([float(x) for x in self.w]), float(self.b)


class RationalPoints:
    """Solves active sets exactly; floats are integers times a power of two, so integers suffice.

    Parameters
    ----------
    data : TrainingData
        Members of a set are rows of its X.
    intercept : str
        free, penalised or none.
    """

    def __init__(self, data: TrainingData, intercept: str) -> None:
        ratios = [[float(x).as_integer_ratio() for x in row] for row in data.X]
        self.scale = max(denominator for row in ratios for _, denominator in row)
        self.rows = [[p * (self.scale // q) for p, q in row] for row in ratios]
        if intercept == "penalised":
            self.rows = [[*row, self.scale] for row in self.rows]
        self.labels = [int(label) for label in data.y]
        self.intercept = intercept

    def solve(self, members: Index) -> RationalPoint | None:
        """Point of one set; None if its equations are dependent."""
        rows = [self.rows[i] for i in members]
        labels = [self.labels[i] for i in members]
        free = self.intercept == "free"
        equations, target = rows, labels
        if free:
            equations = [[a - c for a, c in zip(row, rows[0], strict=True)] for row in rows[1:]]
            target = [label - labels[0] for label in labels[1:]]
        beta = _solve_gram(equations, target)
        if beta is None:
            return None
        columns = zip(*equations, strict=True)
        v = [self.scale * _dot(beta, column) for column in columns]
        norm2 = self.scale**2 * _dot(beta, target)
        b = Fraction(0)
        if free:
            b = labels[0] - _dot(v, rows[0]) / self.scale
            beta = [-sum(beta, Fraction(0)), *beta]
        elif self.intercept == "penalised":
            b = v.pop()
        alpha = [self.scale**2 * c * label for c, label in zip(beta, labels, strict=True)]
        return RationalPoint(alpha, norm2, v, b)


def _dot(fractions: list[Fraction], integers: Iterable[int]) -> Fraction:
    return sum((f * k for f, k in zip(fractions, integers, strict=True)), Fraction(0))


def _solve_gram(rows: list[list[int]], target: list[int]) -> list[Fraction] | None:
    """Solution of rows rows' beta = target; None if the rows are dependent.

    Elimination in integers (Bareiss), without pivoting: the leading minors of a Gram matrix are
    positive as long as the rows are independent.
    """
    size, previous = len(rows), 1
    table = [[sum(map(mul, p, q)) for q in rows] + [t] for p, t in zip(rows, target, strict=True)]
    for k in range(size):
        pivot = table[k][k]
        if pivot == 0:
            return None
        for i in range(k + 1, size):
            factor = table[i][k]
            table[i] = [
                (pivot * a - factor * c) // previous
                for a, c in zip(table[i], table[k], strict=True)
            ]
        previous = pivot
    beta = [Fraction(0)] * size
    for k in reversed(range(size)):
        known = _dot(beta[k + 1 :], table[k][k + 1 : size])
        beta[k] = (table[k][size] - known) / table[k][k]
    return beta
