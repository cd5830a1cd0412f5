"""A model read as the minimisation of a concave quadratic function over linear rows.

    min   a'x - sum_j p_0j (v_j'x)^2
    s.t.  row_lower <= A x <= row_upper,   lower <= x <= upper
          b_k'x + sum_j p_kj (v_j'x)^2 + const_k >= 0        sides of quadratic rows, if any

with p_0 >= 0, p_k >= 0 for a reverse convex side, p_k <= 0 for a convex one, and both for an
equation such as ||w||^2 = 1. There are as few directions v_j as the ranks of the matrices ask for:
the coordinates where a matrix is diagonal, its eigenvectors otherwise. The directions are numbers
that nobody has to trust: the kernel bounds what they leave of the matrices
(cuts/proofs.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.cuts.proofs import Directions
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.model.reader import StandardForm

INDEFINITE = 1e-9  # of the largest eigenvalue: how far the other sign is noise
NOTHING = 1e-13  # of the largest eigenvalue: directions that are left to the bound on the rest
LARGEST_SUPPORT = 500  # columns in squares, of which a dense matrix is made


@dataclass(frozen=True, eq=False)
class ConcaveProgram:
    """A model in the terms of the module's docstring.

    directions: v_j, p_kj and the sides.
    linear (1 + K, n): a and b_k.
    constants (K,).
    """

    form: StandardForm
    directions: Directions
    linear: Array
    constants: Array

    @property
    def convex(self) -> NDArray[np.bool_]:
        """Which sides (K,) are convex, as far as their squares say."""
        return np.asarray((self.directions.weights[1:] < 0).any(axis=1))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Which sides (K,) are one of two of their row: an equation, or a row with two ends."""
        numbers = [number for number, _ in self.directions.rows]
        return np.array([numbers.count(number) == 2 for number in numbers], dtype=bool)

    @property
    def is_linear(self) -> bool:
        """Whether the objective is."""
        return not self.directions.weights[0].any()

    @property
    def is_lrcp(self) -> bool:
        """Whether the objective is linear and one side of a row is reverse convex."""
        return self.is_linear and int((~self.convex).sum()) == 1

    def value(self, x: Array) -> float:
        """Objective without its constant."""
        return self.form.objective.varying(x)

    def gradient(self, x: Array) -> Array:
        """Gradient of the objective."""
        goal = self.form.objective
        return np.asarray(2 * (goal.Q @ x) + goal.a)

    def sides(self, x: Array) -> Array:
        """Values (K,) of the sides of quadratic rows, at least 0 where they hold."""
        z = self.directions.vectors.T @ x
        return self.linear[1:] @ x + self.directions.weights[1:] @ (z * z) + self.constants

    def size_of_sides(self, x: Array) -> Array:
        """Sums (K,) of the sizes of their terms."""
        z = self.directions.vectors.T @ x
        terms = np.abs(self.linear[1:]) @ np.abs(x) + np.abs(self.directions.weights[1:]) @ (z * z)
        return np.asarray(terms + np.abs(self.constants))

    def gradients_of_sides(self, x: Array) -> Array:
        """Gradients (K, n) of the sides."""
        V = self.directions.vectors
        return np.asarray(self.linear[1:] + 2 * (self.directions.weights[1:] * (V.T @ x)) @ V.T)


def read_concave(form: StandardForm) -> ConcaveProgram:
    """Read a model.

    Raises ValueError: an integer column, a semidefinite or nonlinear row, a quadratic row that is
        neither convex nor reverse convex, an objective that is not concave, or nothing concave at
        all; it is named.
    """
    _refuse_other_parts(form)
    V, weights = _directions(-form.objective.Q, "the objective")
    if (weights < 0).any():
        raise ValueError("the objective is not concave: one of its eigenvalues has the other sign")
    found = [(V, weights)]
    linear, constants, rows = [form.objective.a], [], []
    for number, row in enumerate(form.quadratic):
        body, name = row.body, f"row {row.data.name}"
        places = body.index[body.i], body.index[body.j]
        V, weights = _directions(sp.csr_matrix((body.v, places), shape=(form.n, form.n)), name)
        if (weights < 0).any() and (weights > 0).any():
            raise ValueError(
                f"{name} is neither convex nor reverse convex: it has eigenvalues of both signs"
            )
        for sign, end in ((1, row.lower), (-1, row.upper)):
            if not np.isfinite(end):
                continue
            found.append((V, sign * weights))
            line = np.zeros(form.n)
            line[body.index] = sign * body.a
            linear.append(line)
            constants.append(sign * (body.constant - end))
            rows.append((number, sign))
    if not any((weights > 0).any() for _, weights in found):
        raise ValueError("neither the objective nor a row is concave: the model is convex")
    vectors, weights = _joined(found, form.n)
    claimed = Directions(vectors, weights, tuple(rows))
    return ConcaveProgram(form, claimed, np.array(linear), np.array(constants))


def _refuse_other_parts(form: StandardForm) -> None:
    whole = np.flatnonzero(form.integer)
    if len(whole):
        name = form.columns.name(int(whole[0]))
        raise ValueError(f"variable {name} is integer: all variables have to be continuous")
    if form.goal is not None:
        raise ValueError("the objective is beyond degree two: give it as a function, objective=")
    if form.nonlinear:
        raise ValueError(f"row {form.nonlinear[0].name} is beyond degree two")
    if form.psd:
        raise ValueError(f"row {form.psd[0].data.name} is semidefinite: rows have to be linear")


def _directions(Q: sp.csr_matrix, name: str) -> tuple[Array, Array]:
    """Directions (n, r) and weights (r,) of a symmetric matrix, what is noise left out."""
    n = Q.shape[0]
    used = np.flatnonzero(np.diff(Q.indptr))
    if len(used) > LARGEST_SUPPORT:
        raise ValueError(f"{name} has squares of {len(used)} columns, more than {LARGEST_SUPPORT}")
    matrix = Q[used][:, used].toarray()
    if not (matrix - np.diag(np.diag(matrix))).any():
        weights, own = np.diag(matrix).copy(), np.eye(len(used))
    else:
        weights, own = np.linalg.eigh(matrix)
    largest = float(np.abs(weights).max(initial=0.0))
    # The sign that the largest have; a few of the other one may be rounding.
    sign = 1.0 if float(weights.max(initial=0.0)) >= largest else -1.0
    kept = sign * weights > NOTHING * largest
    kept |= sign * weights < -INDEFINITE * largest
    vectors = np.zeros((n, int(kept.sum())))
    vectors[used] = np.where(np.abs(own[:, kept]) < NOTHING, 0.0, own[:, kept])
    return vectors, weights[kept]


def _joined(found: list[tuple[Array, Array]], n: int) -> tuple[Array, Array]:
    """All directions once, and the weights that each part gives to them."""
    columns: dict[bytes, int] = {}
    vectors: list[Array] = []
    entries: list[tuple[int, int, float]] = []
    for k, (V, weights) in enumerate(found):
        for v, weight in zip(V.T, weights, strict=True):
            place = columns.setdefault((v + 0.0).tobytes(), len(vectors))
            if place == len(vectors):
                vectors.append(v)
            entries.append((k, place, float(weight)))
    table = np.zeros((len(found), len(vectors)))
    for k, place, weight in entries:
        table[k, place] += weight
    return np.array(vectors).reshape(-1, n).T.copy(), table
