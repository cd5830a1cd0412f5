"""Quadratic rows as a proof file uses them: by their curvature, or as a cone of two factors.

A convex row is linearised. Any other row that is convex as a set reads  s(x) <= F(x) G(x)  with
affine F, G >= 0 and a convex quadratic s; in rational numbers nothing of that is rounded: for
k x_s x_t + a_s x_s + a_t x_t the factors are |k| x_s +- a_t and x_t + a_s / k up to sign, and for
-k t^2 they are k t and t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.proof_files.curvature_proof import curvature_of
from tightmargin.solvers.proof_files.model_document import Number, text, vector
from tightmargin.solvers.standard_form.standard_form import QuadraticRow

Affine = tuple[Number, dict[int, Number]]


@dataclass(frozen=True, eq=False)
class RowReading:
    """How a certificate uses one quadratic row.

    Attributes
    ----------
    side : str
        "upper" or "lower".
    curvature : document or None
        Of a row that is linearised.
    factors : pair of affine functions or None
        F and G of a cone.
    scale : float
        A cone of the canonical form has the factors F / scale and scale G; of -k t^2, sqrt(k).
    norm : bool
        Whether both factors are multiples of one variable.
    radius : float or None
        Of a row x'Qx <= radius^2 as the canonical form has it; None for other rows.
    """

    row: int
    side: str
    curvature: dict[str, Any] | None = None
    factors: tuple[Affine, Affine] | None = None
    scale: float = 1.0
    norm: bool = False
    radius: float | None = None

    def document(self) -> dict[str, Any]:
        """The cone as the file has it."""
        assert self.factors is not None
        factors = [
            {"constant": text(constant), "linear": vector(linear)}
            for constant, linear in self.factors
        ]
        return {"row": self.row, "side": self.side, "factors": factors}


def read_for_proof(
    k: int, row: QuadraticRow, cone: Cone, bounds: tuple[Array, Array]
) -> RowReading:
    """The way to use a row, for the cone that the canonical form reads in it."""
    high = math.isfinite(row.upper)
    sign, side = (1, "upper") if high else (-1, "lower")
    body, size = row.body, len(row.body.index)
    Q = sp.csr_matrix((sign * body.v, (body.i, body.j)), shape=(size, size))
    found = curvature_of(Q)
    if found is not None:
        least, squares = found
        at = body.index.tolist()
        part = {
            "of": [k, side],
            "least": vector(zip(at, least.tolist(), strict=True)),
            "squares": [[w, [[at[j], v] for j, v in line]] for w, line in squares],
        }
        radius = None if cone.A[0].any() else float(cone.b[0])
        return RowReading(k, side, part, radius=radius)
    lone = _product(row, sign)
    if lone is not None:
        first, second, scale = _factors(row, sign, lone, bounds)
        return RowReading(k, side, factors=(first, second), scale=scale)
    diagonal = Q.diagonal()
    j = int(np.flatnonzero(diagonal < 0)[0])
    column, bend = int(body.index[j]), -float(diagonal[j])
    positive = 1.0 if bounds[0][column] >= 0 else -1.0
    ends: tuple[Affine, Affine] = ((0.0, {column: positive * bend}), (0.0, {column: positive}))
    return RowReading(k, side, factors=ends, scale=math.sqrt(bend), norm=True)


def _product(row: QuadraticRow, sign: int) -> tuple[int, int, Fraction] | None:
    """Positions of the one product of two variables that stand in no other, and its coefficient."""
    body = row.body
    counts = np.bincount(body.i, minlength=len(body.index))
    lone = (body.i < body.j) & (counts[body.i] == 1) & (counts[body.j] == 1)
    if np.count_nonzero(lone) != 1:
        return None
    at = int(np.flatnonzero(lone)[0])
    return int(body.i[at]), int(body.j[at]), 2 * sign * Fraction(float(body.v[at]))


def _factors(
    row: QuadraticRow, sign: int, lone: tuple[int, int, Fraction], bounds: tuple[Array, Array]
) -> tuple[Affine, Affine, float]:
    """F and G, with the signs that the bounds of their columns give them."""
    s, t, k = lone
    a_s, a_t = (sign * Fraction(float(row.body.a[p])) for p in (s, t))
    columns = int(row.body.index[s]), int(row.body.index[t])
    shifts = a_t / k, a_s / k
    up, down = (
        [_reaches(float(side[c]), d, way) for c, d in zip(columns, shifts, strict=True)]
        for side, way in ((bounds[0], 1), (bounds[1], -1))
    )
    if k < 0:
        signs = (1, 1) if all(up) else (-1, -1)
    else:
        signs = (1, -1) if up[0] and down[1] else (-1, 1)
    first: Affine = (signs[0] * abs(k) * shifts[0], {columns[0]: signs[0] * abs(k)})
    second: Affine = (signs[1] * shifts[1], {columns[1]: Fraction(signs[1])})
    return first, second, math.sqrt(abs(k))


def _reaches(bound: float, shift: Fraction, way: int) -> bool:
    """Whether bound + shift is on one side of 0."""
    return math.isfinite(bound) and way * (Fraction(bound) + shift) >= 0
