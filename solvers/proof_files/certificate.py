"""From a solver's multipliers to the certificate of a proof file.

Whatever the multipliers are, what is made of them lies in the dual cones exactly, so that all that
can be lost is tightness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm, multipliers, unpack
from tightmargin.solvers.proof_files.checker import Derivation, ProofError
from tightmargin.solvers.proof_files.checker import semidefinite as prove_semidefinite
from tightmargin.solvers.proof_files.curvature_proof import squares_of
from tightmargin.solvers.proof_files.model_document import Number, text, triangle, vector
from tightmargin.solvers.proof_files.row_readings import RowReading
from tightmargin.solvers.standard_form.standard_form import StandardForm

Cone = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of one certificate.

    Attributes
    ----------
    objective : number
        mu.
    at : mapping
        x^.
    rows : mapping
        y, positive at a lower side.
    quadratic : mapping
        nu by number of the row.
    cones, psd : list of documents
    points : mapping of mappings
        x^ of the quadratic rows that have one of their own.
    """

    objective: Number = 0.0
    at: dict[int, Number] = field(default_factory=dict)
    rows: dict[int, Number] = field(default_factory=dict)
    quadratic: dict[int, Number] = field(default_factory=dict)
    cones: list[Cone] = field(default_factory=list)
    psd: list[dict[str, Any]] = field(default_factory=list)
    points: dict[int, dict[int, Number]] = field(default_factory=dict)

    def document(self, readings: Sequence[RowReading]) -> dict[str, Any]:
        """The certificate as the file has it."""
        found: dict[str, Any] = {}
        if self.objective:
            found["objective"] = text(self.objective)
        bent = [
            [k, readings[k].side, text(nu), *([vector(self.points[k])] if k in self.points else [])]
            for k, nu in self.quadratic.items()
            if nu
        ]
        if self.objective or bent:
            found["at"] = vector(self.at)
        parts = {"rows": vector(self.rows), "quadratic": bent, "cones": self.cones, "psd": self.psd}
        return found | {name: part for name, part in parts.items() if part}

    def moved(self, rows: dict[int, Fraction], at: dict[int, Fraction]) -> Numbers:
        """With multipliers of rows and entries of x^ changed by some amounts."""
        return replace(
            self,
            rows=self.rows | {i: Fraction(self.rows.get(i, 0.0)) + d for i, d in rows.items()},
            at=self.at | {j: Fraction(self.at.get(j, 0.0)) + d for j, d in at.items()},
        )


def numbers_of(
    form: StandardForm,
    conic: ConicForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    x: Array,
    z: Array,
    mu: float = 1.0,
) -> Numbers:
    """The certificate that multipliers of the conic form, and mu of the objective, amount to."""
    z = z.copy()
    for block in conic.blocks_of("nonneg"):
        z[block.rows] = np.maximum(z[block.rows], 0.0)
    y = multipliers(conic, z, len(form.rows)).rows
    rows: dict[int, Number] = {i: v for i, v in enumerate(y.tolist()) if v}
    nu: dict[int, Number] = {}
    cones: list[Cone] = []
    order = cone_order(readings)
    for k, block in enumerate(conic.blocks_of("soc")):
        part, reading = z[block.rows], readings[k]
        if reading.curvature is None:
            found = _cone(conic, block.rows, part, reading, derivation, order[k])
            if found is not None:
                cones.append(found)
        elif reading.radius is not None:
            nu[k] = max(float(part[0]), 0.0) / (2 * reading.radius)
        else:
            nu[k] = max(float(part[0] + part[1]), 0.0)
    psd = [
        found
        for k, block in enumerate(conic.blocks_of("psd"))
        if (found := _matrix(k, unpack(z[block.rows]))) is not None
    ]
    at: dict[int, Number] = dict(enumerate(x.tolist()))
    return Numbers(mu, at, rows, nu, cones, psd)


def cone_order(readings: Sequence[RowReading]) -> dict[int, int]:
    """Number among the cones of the file, by number of the row."""
    cones = [reading.row for reading in readings if reading.factors is not None]
    return {row: k for k, row in enumerate(cones)}


def _cone(
    conic: ConicForm,
    rows: slice,
    part: Array,
    reading: RowReading,
    derivation: Derivation,
    number: int,
) -> Cone | None:
    """Multipliers of a cone in the terms of its two factors."""
    if reading.norm:
        alpha, beta = part[0] / (2 * reading.scale), part[0] * reading.scale / 2
        below = slice(rows.start + 1, rows.stop)
        weights = part[1:]
    else:
        alpha, beta = (part[0] + part[1]) / reading.scale, (part[0] - part[1]) * reading.scale
        below = slice(rows.start + 2, rows.stop)
        weights = part[2:]
    alpha, beta = max(float(alpha), 0.0), max(float(beta), 0.0)
    if alpha == 0.0 and beta == 0.0:
        return None
    n, matrix = derivation.model.n, derivation.cones[number][1]
    # s = b - A x, so that the weights act on -A x + b.
    target = np.append(-(conic.A[below].T @ weights), conic.b[below] @ weights)
    v = _direction(matrix, -target)
    square = _square(matrix, v)
    room = 4 * Fraction(alpha) * Fraction(beta)
    if square > room:
        shrink = math.sqrt(float(room / square)) * (1 - 8 * UNIT)
        v = {j: shrink * value for j, value in v.items()}
        if _square(matrix, v) > room:
            v = {}
    return {
        "cone": number,
        "alpha": text(alpha),
        "beta": text(beta),
        "direction": vector(v),
    } | _shift(derivation, number, n)


def _direction(matrix: dict[tuple[int, int], Fraction], target: Array) -> dict[int, float]:
    """v with M v near a target."""
    places = sorted({i for pair in matrix for i in pair})
    at = {j: k for k, j in enumerate(places)}
    M = np.zeros((len(places), len(places)))
    for (i, j), value in matrix.items():
        M[at[i], at[j]] = M[at[j], at[i]] = float(value)
    goal = target[places]
    if np.count_nonzero(M) == np.count_nonzero(np.diag(M)):
        v = goal / np.where(np.diag(M) > 0, np.diag(M), 1.0)
    else:
        v = np.asarray(np.linalg.lstsq(M, goal, rcond=None)[0], dtype=np.float64)
    return {j: float(value) for j, value in zip(places, v, strict=True) if value}


def _square(matrix: dict[tuple[int, int], Fraction], v: dict[int, float]) -> Fraction:
    """v'Mv exactly."""
    exact = {j: Fraction(value) for j, value in v.items()}
    total = Fraction(0)
    for (i, j), value in matrix.items():
        if i in exact and j in exact:
            total += (1 if i == j else 2) * value * exact[i] * exact[j]
    return total


def _shift(derivation: Derivation, number: int, n: int) -> dict[str, str]:
    """The shift that pays for the lift of a cone; none where it is not lifted."""
    lift, most = derivation.cones[number][2], Fraction(0)
    for j, e in lift.items():
        low, high = (Fraction(1),) * 2 if j == n else derivation.limits(j)
        if low is None or high is None:
            raise ProofError(f"cone {number} is lifted in a column without limits")
        most += e * max(low * low, high * high)
    if not most:
        return {}
    # The root of a number below the doubles is no double, and no less of one is needed.
    root = math.sqrt(float(most)) if float(most) > 1e-280 else 1e-140
    return {"shift": text(root * (1 + 8 * UNIT))}


def _matrix(k: int, Z: Array) -> dict[str, Any] | None:
    """A multiplier that the checker sees to be semidefinite, a little more on the diagonal."""
    if not Z.any():
        return None
    order, size = len(Z), float(np.abs(Z).max())
    try:
        smallest = float(np.linalg.eigvalsh(Z)[0])
    except LinAlgError:
        return None
    for more in (0.0, 8.0, 64.0, 512.0):
        shift = more * (order + 4) * order * UNIT * size + max(0.0, -smallest) * (
            1 + 1e-6 * bool(more)
        )
        lifted = Z + shift * np.eye(order)
        entries = {
            (i, j): value for i, line in enumerate(lifted.tolist())
            for j, value in enumerate(line[: i + 1]) if value
        }  # fmt: skip
        exact = {place: Fraction(value) for place, value in entries.items()}
        try:
            squares = squares_of(lifted)
            prove_semidefinite(exact, squares, order, "multiplier")
        except (ProofError, LinAlgError):
            continue
        found = {"row": k, "matrix": triangle(exact)}
        return found | ({"squares": squares} if squares else {})
    return None
