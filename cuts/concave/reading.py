"""A model read as the minimisation of a concave quadratic function over linear rows.

    min   a'x - sum_j p_0j (v_j'x)^2
    s.t.  row_lower <= A x <= row_upper,   lower <= x <= upper
          b_k'x + sum_j p_kj (v_j'x)^2 + const_k >= 0        reverse convex rows, if there are any

with as few directions v_j as the ranks of the matrices ask for: the coordinates where a matrix is
diagonal, its eigenvectors otherwise. The directions are numbers that nobody has to trust: the
kernel bounds what they leave of the matrices (solvers/proofs/cover/squares.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cover.squares import Directions
from tightmargin.solvers.standard_form.standard_form import StandardForm

INDEFINITE = 1e-9  # of the largest eigenvalue: how far the other sign is noise
NOTHING = 1e-13  # of the largest eigenvalue: directions that are left to the bound on the rest
LARGEST_SUPPORT = 500  # columns in squares, of which a dense matrix is made


@dataclass(frozen=True, eq=False)
class ConcaveProgram:
    """A model in the terms of the module's docstring.

    Attributes
    ----------
    form : StandardForm
    directions : Directions
        v_j, p_kj and the reverse convex rows.
    linear : array (1 + K, n)
        a and b_k.
    constants : array (K,)
    """

    form: StandardForm
    directions: Directions
    linear: Array
    constants: Array

    @property
    def is_lrcp(self) -> bool:
        """Whether the objective is linear and one row is reverse convex."""
        return len(self.constants) == 1 and not self.directions.weights[0].any()

    def value(self, x: Array) -> float:
        """Objective without its constant."""
        return self.form.objective.varying(x)

    def gradient(self, x: Array) -> Array:
        """Gradient of the objective."""
        goal = self.form.objective
        return np.asarray(2 * (goal.Q @ x) + goal.a)

    def reverse(self, x: Array) -> Array:
        """Values (K,) of the reverse convex rows, at least 0 where they hold."""
        z = self.directions.vectors.T @ x
        return self.linear[1:] @ x + self.directions.weights[1:] @ (z * z) + self.constants

    def reverse_size(self, x: Array) -> Array:
        """Sums (K,) of the sizes of their terms."""
        z = self.directions.vectors.T @ x
        terms = np.abs(self.linear[1:]) @ np.abs(x) + self.directions.weights[1:] @ (z * z)
        return np.asarray(terms + np.abs(self.constants))

    def reverse_gradient(self, x: Array) -> Array:
        """Gradients (K, n) of the reverse convex rows."""
        V = self.directions.vectors
        return np.asarray(self.linear[1:] + 2 * (self.directions.weights[1:] * (V.T @ x)) @ V.T)


def read_concave(form: StandardForm) -> ConcaveProgram:
    """Read a model.

    Raises
    ------
    ValueError
        An integer column, a semidefinite or nonlinear row, a quadratic row that is not reverse
        convex, an objective that is not concave, or nothing concave at all; it is named.
    """
    _refuse_other_parts(form)
    parts = [-form.objective.Q]
    linear, constants, rows = [form.objective.a], [], []
    for number, row in enumerate(form.quadratic):
        body, name = row.body, row.data.name
        if np.isfinite(row.lower) and np.isfinite(row.upper):
            raise ValueError(f"row {name} has two sides: a reverse convex row has one")
        sign = 1 if np.isfinite(row.lower) else -1
        places = body.index[body.i], body.index[body.j]
        parts.append(sp.csr_matrix((sign * body.v, places), shape=(form.n, form.n)))
        line = np.zeros(form.n)
        line[body.index] = sign * body.a
        linear.append(line)
        side = row.lower if sign == 1 else row.upper
        constants.append(sign * (body.constant - side))
        rows.append((number, sign))
    names = ["the objective", *(f"row {row.data.name}" for row in form.quadratic)]
    kinds = ["not concave", *("not reverse convex" for _ in form.quadratic)]
    found = [_directions(Q, *words) for Q, *words in zip(parts, names, kinds, strict=True)]
    if not any(V.shape[1] for V, _ in found):
        raise ValueError("neither the objective nor a row is concave: the model is linear")
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


def _directions(Q: sp.csr_matrix, name: str, kind: str) -> tuple[Array, Array]:
    """Directions (n, r) and weights (r,) of a matrix that should be semidefinite."""
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
    if (weights < -INDEFINITE * largest).any():
        raise ValueError(f"{name} is {kind}: one of its eigenvalues has the other sign")
    kept = weights > NOTHING * largest
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
