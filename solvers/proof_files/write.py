"""Proof files: what is claimed of a model, written so that anybody can check it.

The format is in checker.py, which needs nothing of this project. A document is checked by the
functions of that file before it is put in place, and one that does not check is never written.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from scipy.sparse.csgraph import connected_components

from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import lower_pairs
from tightmargin.solvers.exact import rounded_down, rounded_up, shortened_up
from tightmargin.solvers.kernel.bound import SparseMultipliers, in_dual_cone, moves, within_room
from tightmargin.solvers.kernel.exact_bounds import RationalMultipliers
from tightmargin.solvers.kernel.exponential import OfTangents, Tangent, completed, completed_ray
from tightmargin.solvers.kernel.limits import Reach, Subject
from tightmargin.solvers.kernel.statement import FeasiblePoint, Infeasible, LowerBound, Unbounded
from tightmargin.solvers.kernel.tree import (
    Branch,
    DerivedLimit,
    DerivedRow,
    Step,
    SwitchedRow,
    TreeProof,
    longer,
)
from tightmargin.solvers.model.conic import (
    ConicForm,
    Multipliers,
    conic_form,
    conic_multipliers,
    multipliers,
    unpack,
    without_own_bounds,
)
from tightmargin.solvers.model.convexity import Classification, Cone, block_curvature
from tightmargin.solvers.model.exponential import ExponentialForm, Term
from tightmargin.solvers.model.polynomial import Quadratic, QuadraticRow
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.plain_json import write_atomically
from tightmargin.solvers.proof_files.checker import (
    CLOSED,
    SCHEMA,
    Certificate,
    Derivation,
    Model,
    Proof,
    ProofError,
    Tree,
    Vector,
    check,
)
from tightmargin.solvers.proof_files.checker import semidefinite as prove_semidefinite

# --- Numbers and a model as the text of a proof file; the format is in checker.py ----------------


Number = float | Fraction
Document = dict[str, Any]
NEGLIGIBLE = Fraction(1, 10**9)  # of the unit of a gap: what a double may lose of an end
DECIMAL = 200  # bits up to which people are spared hexadecimal fractions


def text(value: Number) -> str:
    """An exact number: a double as float.hex writes it, or a fraction."""
    exact = Fraction(value)
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf
    if math.isfinite(nearest) and Fraction(nearest) == exact:
        return (nearest + 0.0).hex()
    above, below = exact.numerator, exact.denominator
    if max(above.bit_length(), below.bit_length()) <= DECIMAL:
        return f"{above}/{below}"
    return f"{above:#x}/{below:#x}"


def limit(value: float) -> str | None:
    """A limit or side; None where it is infinite."""
    return text(value) if math.isfinite(value) else None


def vector(entries: Mapping[int, Number] | Iterable[tuple[int, Number]]) -> list[list[Any]]:
    """Numbers by index, without zeros."""
    pairs = entries.items() if isinstance(entries, Mapping) else entries
    return [[int(j), text(value)] for j, value in pairs if value]


def triangle(entries: Mapping[tuple[int, int], Number]) -> list[list[Any]]:
    """Numbers by (i, j) with i >= j, without zeros."""
    return [[int(i), int(j), text(value)] for (i, j), value in entries.items() if value]


def products(i: Iterable[int], j: Iterable[int], v: Iterable[float]) -> dict[tuple[int, int], Any]:
    """Coefficients of x_i x_j, i >= j, of x'Qx from the entries of both halves of Q."""
    found: dict[tuple[int, int], Fraction] = {}
    for row, column, value in zip(i, j, v, strict=True):
        place = (max(row, column), min(row, column))
        found[place] = found.get(place, Fraction(0)) + Fraction(value)
    return found


class NotProvenError(ValueError):
    """What was to be written is not proven; the message says what is missing."""


def begun(form: StandardForm) -> dict[str, Any]:
    """A document with its model and no claim yet.

    Raises NotProvenError: the model is beyond degree two.
    """
    try:
        model = model_document(form)
    except (ValueError, OverflowError) as error:
        raise NotProvenError(str(error)) from None
    sense = "minimised" if form.sense == 1 else "maximised: f is its objective times -1"
    about = f"the model is {sense}"
    if form.rounded:
        about += (
            f"; {form.rounded} has numbers that no double is or that are excluded: this model has "
            "doubles next to them, its points include those of the former, and nowhere does it "
            "cost more"
        )
    return {"schema": SCHEMA, "about": about, "model": model}


def rounded_end(model: Model, value: Fraction, way: int) -> Fraction:
    """An end of a claim, outward (1 up, -1 down): a double, or a fraction if that loses much."""
    near = way * Fraction(rounded_up(way * value))
    if abs(near - value) <= NEGLIGIBLE * model.measure(value, value):
        return near
    return way * shortened_up(way * value)


def claim_between(
    model: Model, lower: Fraction, upper: Fraction, absolute_gap: float
) -> dict[str, str]:
    """The claim that both ends make: an optimum where they are close enough, else bounds."""
    lower = rounded_end(model, min(lower, upper), -1)
    gap, allowed = upper - lower, Fraction(absolute_gap)
    closed = gap <= max(CLOSED * model.measure(lower, upper), allowed)
    claim = {"kind": "optimum" if closed else "bounds", "lower": text(lower), "upper": text(upper)}
    if allowed and closed:
        claim["absolute_gap"] = text(absolute_gap)
    return claim


def model_document(form: StandardForm) -> dict[str, Any]:
    """The model of a standard form.

    Raises ValueError: it holds a function beyond degree two.
    """
    if form.nonlinear:
        raise ValueError(f"{form.nonlinear[0].name} is not quadratic")
    A, Q = form.A, form.objective.Q.tocoo()
    starts = A.indptr.tolist()
    columns, numbers = A.indices.tolist(), [text(value) for value in A.data.tolist()]
    sides = zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True)
    rows = [
        {
            "name": form.rows.name(k),
            "lower": limit(low),
            "upper": limit(high),
            "linear": [list(pair) for pair in zip(columns[s:e], numbers[s:e], strict=True)],
        }
        for k, (s, e, (low, high)) in enumerate(zip(starts[:-1], starts[1:], sides, strict=True))
    ]
    return {
        "variables": list(form.columns.names()),
        "lower": [limit(value) for value in form.lower.tolist()],
        "upper": [limit(value) for value in form.upper.tolist()],
        "integer": [j for j, whole in enumerate(form.integer.tolist()) if whole],
        "objective": {
            "constant": text(form.objective.constant),
            "linear": vector(enumerate(form.objective.a.tolist())),
            "products": triangle(products(Q.row.tolist(), Q.col.tolist(), Q.data.tolist())),
        },
        "rows": rows,
        "quadratic": [_quadratic(row) for row in form.quadratic],
        "psd": [_semidefinite(row) for row in form.psd],
    }


def _quadratic(row: Any) -> dict[str, Any]:
    body, at = row.body, row.body.index
    pairs = products(at[body.i].tolist(), at[body.j].tolist(), body.v.tolist())
    return {
        "name": row.data.name,
        "lower": limit(row.lower),
        "upper": limit(row.upper),
        "constant": text(body.constant),
        "linear": vector(zip(at.tolist(), body.a.tolist(), strict=True)),
        "products": triangle(pairs),
    }


def _semidefinite(row: Any) -> dict[str, Any]:
    F, entries = row.F, []
    for k, (i, j) in enumerate(lower_pairs(row.order)):
        span = slice(F.indptr[k], F.indptr[k + 1])
        pairs = zip(F.indices[span].tolist(), F.data[span].tolist(), strict=True)
        entries.append([i, j, text(float(row.g[k])), vector(pairs)])
    return {"name": row.data.name, "order": row.order, "entries": entries}


# --- Proofs in a file that a symmetric matrix is semidefinite, or how much it lacks of that ------


ELIMINATED = 40  # orders up to which the checker's own elimination takes no time


def curvature_of(Q: sp.spmatrix) -> tuple[Array, list[Any]] | None:
    """Numbers c with Q - diag(c) semidefinite, and squares by which the checker sees it.

    A c is positive where the form bends for certain, 0 where that is all that can be said, and a
    rounding below 0 where Q itself may be one below a semidefinite matrix.
    """
    Q = sp.csr_matrix(Q)
    least, squares = Q.diagonal(), list[Any]()
    used = np.unique(Q.nonzero()[0])
    if not len(used):
        return least, squares
    inside = Q[used][:, used].tocsr()
    count, owner = connected_components(inside, directed=False)
    order = np.argsort(owner, kind="stable")
    for block in np.split(order, np.cumsum(np.bincount(owner, minlength=count))[:-1]):
        places = used[block]
        found = _of_block(inside[block][:, block].toarray())
        if found is None:
            return None
        least[places] = found[0]
        squares += [
            ["0x1.0000000000000p+0", vector(zip(places.tolist(), line.tolist(), strict=True))]
            for line in found[1]
        ]
    return least, squares


def _of_block(B: Array) -> tuple[Array, Array] | None:
    """c and rows l_k with B - diag(c) - sum l_k l_k' semidefinite in the checker's eyes."""
    k, none = len(B), np.zeros((0, len(B)))
    bend = block_curvature(B)[0]
    if bend is None:
        return None
    if k == 1 or (k <= ELIMINATED and bend >= 0):
        return np.full(k, bend), none
    if bend > 0:
        try:
            root = np.asarray(np.linalg.cholesky(B - 1.5 * bend * np.eye(k)).T)
            if (_dominance(B, root) >= bend).all():
                return np.full(k, bend), root
        except LinAlgError:
            pass  # the eigenvectors below show what there is
    values, vectors = np.linalg.eigh(B)
    keep = values > k * UNIT * values[-1]
    root = np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)
    return _dominance(B, root), root


def _dominance(B: Array, root: Array) -> Array:
    """c for which B - diag(c) - root'root is diagonally dominant, all roundings counted."""
    rest: Array = B - root.T @ root
    size = np.abs(B) + np.abs(root).T @ np.abs(root)
    rounding = (len(root) + 4) * 2 * UNIT * size
    beside = np.abs(rest) + rounding
    diagonal = np.diag(rest) - np.diag(rounding)
    off = beside.sum(axis=1) - np.diag(beside)
    return diagonal - off * (1 + 4 * len(B) * UNIT) - 4 * UNIT * np.abs(diagonal)


def squares_of(Z: Array) -> list[Any]:
    """Squares by which the checker sees that a definite matrix of large order is one."""
    if len(Z) <= ELIMINATED:
        return []
    root = np.linalg.cholesky(Z - 0.5 * float(np.linalg.eigvalsh(Z)[0]) * np.eye(len(Z))).T
    return [["0x1.0000000000000p+0", vector(enumerate(line.tolist()))] for line in root]


# --- Quadratic rows as a proof file uses them: by their curvature, or as a cone of two factors ---
# A convex row is linearised. Any other row that is convex as a set reads  s(x) <= F(x) G(x)  with
# affine F, G >= 0 and a convex quadratic s; in rational numbers nothing of that is rounded: for k
# x_s x_t + a_s x_s + a_t x_t the factors are |k| x_s +- a_t and x_t + a_s / k up to sign, and for
# -k t^2 they are k t and t.


Affine = tuple[Number, dict[int, Number]]


@dataclass(frozen=True, eq=False)
class RowReading:
    """How a certificate uses one quadratic row.

    side: "upper" or "lower".
    curvature: of a row that is linearised.
    factors: F and G of a cone.
    scale: a cone of the canonical form has the factors F / scale and scale G; of -k t^2, sqrt(k).
    norm: whether both factors are multiples of one variable.
    radius: of a row x'Qx <= radius^2 as the canonical form has it; None for other rows.
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


# --- From a solver's multipliers to the certificate of a proof file ------------------------------
# Whatever the multipliers are, what is made of them lies in the dual cones exactly, so that all
# that can be lost is tightness.


ConeEntry = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of one certificate.

    objective: mu.
    at: x^.
    rows: y, positive at a lower side.
    quadratic: nu by number of the row.
    cones, psd, list of documents.
    points: x^ of the quadratic rows that have one of their own.
    """

    objective: Number = 0.0
    at: dict[int, Number] = field(default_factory=dict)
    rows: dict[int, Number] = field(default_factory=dict)
    quadratic: dict[int, Number] = field(default_factory=dict)
    cones: list[ConeEntry] = field(default_factory=list)
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
    cones: list[ConeEntry] = []
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
) -> ConeEntry | None:
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


# --- Limits of columns that a proof file derives, each with the certificate of its value ---------
# A step is one more use of the lemma of checker.py, with the multipliers of one row alone: a
# linear row, the objective and the cutoff, a convex quadratic row, a diagonal entry or a minor of
# order two of a semidefinite row, or a cone. Intervals are first narrowed in doubles; of what that
# finds, the steps that are needed become part of the file, with values rounded outwards from the
# exact ones.


LIMIT_ROUNDS = 6
NARROWER_LIMIT = (
    0.5  # a limit is derived again where that leaves less than this share of the interval
)
NEARLY = 1e-9  # a whole number may be missed by so much in doubles
Side = tuple[int, bool]  # a column, and whether its lower limit is meant


@dataclass(frozen=True, eq=False)
class Event:
    """A limit found in doubles, with its certificate, its g and the columns that it rests on."""

    side: Side
    numbers: Numbers
    g: float
    rests_on: frozenset[int]


class Intervals:
    """Limits of the columns in doubles, with the events that narrowed them."""

    def __init__(self, derivation: Derivation, narrower: float) -> None:
        self.low = np.array([-math.inf if v is None else float(v) for v in derivation.low])
        self.high = np.array([math.inf if v is None else float(v) for v in derivation.high])
        self.integer, self.narrower = derivation.model.integer, narrower
        self.events: list[Event] = []

    def ends(self, j: int, a: float) -> tuple[float, float]:
        """Least and most of a x_j."""
        low, high = a * self.low[j], a * self.high[j]
        return (low, high) if a > 0 else (high, low)

    def offer(
        self, j: int, value: float, numbers: Numbers, g: float, columns: Iterable[int]
    ) -> None:
        """A new limit: lower for g > 0; kept where it is worth a step."""
        if not math.isfinite(value):
            return
        if j in self.integer:
            value = math.ceil(value - NEARLY) if g > 0 else math.floor(value + NEARLY)
        old = self.low[j] if g > 0 else self.high[j]
        width = self.high[j] - self.low[j]
        if g > 0:
            worth = not math.isfinite(old) or self.high[j] - value < self.narrower * width
            better = value > old
        else:
            worth = not math.isfinite(old) or value - self.low[j] < self.narrower * width
            better = value < old
        if not (better and worth):
            return
        (self.low if g > 0 else self.high)[j] = value
        self.events.append(Event((j, g > 0), numbers, g, frozenset(columns) - {j}))

    def by_row(
        self, terms: list[tuple[int, float]], low: float, high: float, numbers_at: Any
    ) -> None:
        """Each term is at most a side less the least of the others.

        `numbers_at(sign)` is the certificate of sign (a'x - side) >= 0.
        """
        ends = [self.ends(j, a) for j, a in terms]
        columns = [j for j, _ in terms]
        for sign, side in ((1.0, low), (-1.0, high)):
            if not math.isfinite(side):
                continue
            most = [top if sign > 0 else -bottom for bottom, top in ends]
            endless = [k for k, value in enumerate(most) if not math.isfinite(value)]
            if len(endless) > 1:
                continue
            total = sum(value for value in most if math.isfinite(value))
            for k, (j, a) in enumerate(terms):
                if endless and k not in endless:
                    continue
                rest = total - (most[k] if math.isfinite(most[k]) else 0.0)
                # sign a x_j >= sign side - rest
                self.offer(
                    j, (sign * side - rest) / (sign * a), numbers_at(sign), sign * a, columns
                )

    def by_curve(
        self, linear: dict[int, float], least: dict[int, float], room: float, numbers_at: Any
    ) -> None:
        """sum_j a_j x_j + c_j x_j^2 <= room, with certificates scaled by mu."""
        columns = sorted({*linear, *least})
        terms = {j: self._least(linear.get(j, 0.0), least.get(j, 0.0), j) for j in columns}
        endless = [j for j, value in terms.items() if not math.isfinite(value)]
        if len(endless) > 1:
            return
        total = sum(value for value in terms.values() if math.isfinite(value))
        for j in endless or columns:
            a, c = linear.get(j, 0.0), least.get(j, 0.0)
            left = room - total + (terms[j] if math.isfinite(terms[j]) else 0.0)
            if c > 0:
                square = a * a + 4 * c * left
                if square <= 0:
                    continue
                mu = 1 / math.sqrt(square)
                for g in (1.0, -1.0):
                    value = (-a - g / mu) / (2 * c)
                    self.offer(j, value, numbers_at(mu), g, columns)
            elif a and c == 0:
                self.offer(j, left / a, numbers_at(1.0), -a, columns)

    def _least(self, a: float, c: float, j: int) -> float:
        low, high = self.low[j], self.high[j]
        if c > 0:
            x = min(max(-a / (2 * c), low), high)
            return (c * x + a) * x
        straight = self.ends(j, a)[0] if a else 0.0
        size = max(abs(low), abs(high)) if c < 0 else 0.0
        return straight + (c * size * size if c < 0 else 0.0)


def derive_limits(
    form: StandardForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    wanted: set[Side],
    narrower: float = NARROWER_LIMIT,
) -> list[dict[str, Any]]:
    """Steps, already taken in the derivation, for as many of the wanted limits as can be had."""
    found = Intervals(derivation, narrower)
    for _ in range(LIMIT_ROUNDS):
        before = len(found.events)
        _by_matrices(form, found)
        _by_functions(form, readings, derivation, found)
        for i in range(len(form.rows)):
            span = slice(form.A.indptr[i], form.A.indptr[i + 1])
            terms = list(
                zip(form.A.indices[span].tolist(), form.A.data[span].tolist(), strict=True)
            )
            found.by_row(
                terms, float(form.row_lower[i]), float(form.row_upper[i]),
                lambda sign, i=i: Numbers(rows={i: sign}),
            )  # fmt: skip
        _by_cones(readings, derivation, found)
        if len(found.events) == before:
            break
    return list(_taken(readings, derivation, _needed(found.events, wanted)))


def _needed(events: list[Event], wanted: set[Side]) -> list[Event]:
    """The events that the wanted limits rest on, in order."""
    sides, kept = set(wanted), []
    for event in reversed(events):
        if event.side in sides:
            kept.append(event)
            sides.discard(event.side)  # what it was before is of interest to earlier events only
            sides |= {(j, lower) for j in event.rests_on for lower in (True, False)}
    return kept[::-1]


def _taken(
    readings: Sequence[RowReading], derivation: Derivation, events: list[Event]
) -> Iterator[dict[str, Any]]:
    """Steps with exact values, taken in the derivation as the checker takes them."""
    for event in events:
        entry = event.numbers.document(readings)
        proven = Certificate(derivation, entry, "step").limit(event.side[0], Fraction(event.g))
        if proven is None:
            continue
        value = rounded_down(proven) if event.g > 0 else rounded_up(proven)
        if not math.isfinite(value):
            continue
        step = {
            "certificate": entry,
            "columns": [[event.side[0], text(event.g), text(value)]],
        }
        derivation.step(step, "step")
        yield step


def _by_functions(
    form: StandardForm, readings: Sequence[RowReading], derivation: Derivation, found: Intervals
) -> None:
    """The objective is at most the cutoff, and convex quadratic rows are at most their sides."""
    curvature = derivation.curvature
    if derivation.cutoff is not None and "objective" in curvature:
        a = {j: v for j, v in enumerate(form.objective.a.tolist()) if v}
        least = {j: float(c) for j, c in curvature["objective"].items()}
        found.by_curve(a, least, float(derivation.cutoff), lambda mu: Numbers(mu))
    for k, reading in enumerate(readings):
        if reading.curvature is None:
            continue
        row = form.quadratic[k]
        sign, side = (1.0, row.upper) if reading.side == "upper" else (-1.0, row.lower)
        pairs = zip(row.body.index.tolist(), row.body.a.tolist(), strict=True)
        a = {j: sign * v for j, v in pairs if v}
        least = {j: float(c) for j, c in curvature[k, reading.side].items()}
        room = sign * (side - row.body.constant)
        found.by_curve(a, least, room, lambda nu, k=k: Numbers(quadratic={k: nu}))


def _by_matrices(form: StandardForm, found: Intervals) -> None:
    """Diagonal entries are at least 0, and M_ij^2 <= M_ii M_jj."""
    for k, psd in enumerate(form.psd):
        starts, pairs = psd.F.indptr.tolist(), lower_pairs(psd.order)
        columns, data = psd.F.indices.tolist(), psd.F.data.tolist()
        terms = [list(zip(columns[s:e], data[s:e], strict=True)) for s, e in pairwise(starts)]
        g, most = psd.g.tolist(), {}
        for entry, (i, j) in enumerate(pairs):
            if i == j:
                found.by_row(
                    terms[entry], -g[entry], math.inf,
                    lambda _, k=k, i=i: Numbers(psd=[_minor(k, {(i, i): 1.0})]),
                )  # fmt: skip
                tops = [found.ends(c, a)[1] for c, a in terms[entry]]
                most[i] = max(sum(tops) + g[entry], 0.0)
        for entry, (i, j) in enumerate(pairs):
            if i == j or not (0 < most[i] < math.inf and 0 < most[j] < math.inf):
                continue
            size, share = math.sqrt(most[i] * most[j]), math.sqrt(most[j] / most[i])
            outer = {
                (i, i): share / 2 * (1 + 1e-15), (j, j): 1 / share / 2 * (1 + 1e-15),
            }  # fmt: skip
            rests_on = [c for place in (i, j) for c, _ in terms[_place(place)]]
            before = len(found.events)
            found.by_row(
                terms[entry], -size - g[entry], size - g[entry],
                lambda sign, k=k, i=i, j=j, outer=outer: Numbers(
                    psd=[_minor(k, outer | {(max(i, j), min(i, j)): 0.5 * sign})]
                ),
            )  # fmt: skip
            found.events[before:] = [
                Event(e.side, e.numbers, e.g, e.rests_on | frozenset(rests_on))
                for e in found.events[before:]
            ]


def _place(i: int) -> int:
    """Of the diagonal entry i in a row-wise lower triangle."""
    return i * (i + 3) // 2


def _minor(k: int, entries: dict[tuple[int, int], float]) -> dict[str, Any]:
    return {"row": k, "matrix": triangle(entries)}


def _by_cones(readings: Sequence[RowReading], derivation: Derivation, found: Intervals) -> None:
    """M_jj x_j^2 <= F G at most, for columns that M connects to no other."""
    for number in cone_order(readings).values():
        factors, matrix, lift = derivation.cones[number]
        if lift:
            continue
        tops = [
            float(constant) + sum(found.ends(j, float(a))[1] for j, a in linear.items())
            for constant, linear in factors
        ]
        if not all(0 < top < math.inf for top in tops):
            continue
        touched = [place for pair in matrix if pair[0] != pair[1] for place in pair]
        inside = [j for _, linear in factors for j in linear]
        for (i, j), value in matrix.items():
            if i != j or i in touched or i == derivation.model.n or not value:
                continue
            size = math.sqrt(tops[0] * tops[1] / float(value))
            share = math.sqrt(float(value) * tops[1] / tops[0]) / 2 * (1 + 1e-15)
            other = math.sqrt(float(value) * tops[0] / tops[1]) / 2 * (1 + 1e-15)
            for g in (1.0, -1.0):
                part = {
                    "cone": number,
                    "alpha": text(share),
                    "beta": text(other),
                    "direction": vector({i: -g}),
                }
                found.offer(i, -g * size, Numbers(cones=[part]), g * float(value), [i, *inside])


# --- A model as a file uses it, and what evidence of the kernel proves of it in exact arithmetic --
# Values are not those of the kernel but what the same multipliers prove by the checker's own
# functions. A residual r_j costs r_j x_j, and on a column without the limit that this asks for
# nothing but r_j = 0 will do: as many multipliers of rows, and entries of x^, as there are such
# columns are moved by the exact solution of a small system, or limits are derived.
# The cone of a row |L x|^2 <= t takes multipliers of its entries (t + 1, t - 1, 2 L x) or (r, L x);
# a file takes the row itself, linearised at a point x^ with L x^ as those multipliers ask for. That
# loses nothing, and multipliers of several rows need not agree on one point, as where two discs lie
# apart.


QUICK_LIMIT, FREE_LIMIT = 24, 150  # equations of that many unknowns take some seconds
REPAIR_ROUNDS = 4
TIGHT = 1e-8  # of a gap that may be 1e-6


@dataclass(frozen=True, eq=False)
class FileRow:
    """A row a'x <= side of the kernel, and the row of the file that says it.

    sign: of its multipliers: 1 where the file has it by its lower side, -1 by its upper side.
    """

    number: int
    sign: int
    side: Fraction
    a: Vector


@dataclass
class Root:
    """The model of a file with what its steps have derived so far.

    form, conic: the model; the conic form without rows for bounds of single columns, as the kernel
        has it.
    known: the checker's own, which takes every step that is written.
    curvature, cones, steps, lists of documents.
    rows: for each row that the kernel derived; None where nothing could be written.
    """

    form: StandardForm
    conic: ConicForm
    readings: Sequence[RowReading]
    known: Tree
    curvature: list[Document]
    cones: list[Document]
    steps: list[Document] = field(default_factory=list)
    rows: list[FileRow | None] = field(default_factory=list)
    _inverses: dict[int, tuple[list[int], slice, Array] | None] = field(default_factory=dict)
    _longer: ConicForm | None = None

    @classmethod
    def of(
        cls, form: StandardForm, kind: Classification, model: Model, cutoff: Fraction | None
    ) -> Root:
        """The root of a model that is convex once integrality is dropped.

        Raises ProofError: curvature or a cone that is not proven.
        """
        bounds = form.lower, form.upper
        pairs = zip(form.quadratic, kind.readings, strict=True)
        readings = [
            read_for_proof(k, row, reading.cone, bounds)
            for k, (row, reading) in enumerate(pairs)
            if reading.cone is not None
        ]
        found = curvature_of(form.objective.Q)
        if found is None:
            raise ProofError("the objective is not proven to be convex")
        least, squares = found
        goal = {"of": "objective", "least": vector(enumerate(least.tolist())), "squares": squares}
        curvature = [goal, *(part.curvature for part in readings if part.curvature is not None)]
        known, cones = Tree(model, cutoff), list[Document]()
        for part in curvature:
            known.curve(part, "curvature")
        for reading in readings:
            if reading.factors is not None:
                cones.append(_proven_cone(known, reading.document()))
        whole = conic_form(form, kind)
        conic, _ = without_own_bounds(whole, np.zeros(len(whole.b)))
        return cls(form, conic, readings, known, curvature, cones)

    def parts(self) -> Document:
        """What a document says of the root."""
        parts = {"curvature": self.curvature, "cones": self.cones, "steps": self.steps}
        return {name: part for name, part in parts.items() if part}

    def derive(self, columns: Iterable[int], narrower: float = NARROWER_LIMIT) -> None:
        """Write limits of some columns, as far as rows, cones and the objective imply them."""
        wanted = {(j, lower) for j in columns for lower in (True, False)}
        self.steps += derive_limits(self.form, self.readings, self.known, wanted, narrower)

    def add(self, step: Step) -> None:
        """Write one step of the kernel, as far as it can be proven in exact arithmetic."""
        match step:
            case DerivedLimit():
                self._add_limit(step)
            case DerivedRow():
                self._add_row(step)
            case SwitchedRow():
                self._add_switch(step)

    def bound(
        self, multipliers: SparseMultipliers, upper: Fraction | None
    ) -> tuple[Fraction, Document] | None:
        """What multipliers prove of mu f, and their certificate; None where that is nothing.

        upper: of the objective; limits are derived where less than that is proven.
        """
        best: tuple[Fraction, Document] | None = None
        # Limits are dearer than a few equations, and cheaper than many. Beside an optimum of 0
        # nothing may be left on columns that bend, either.
        for most, everywhere in ((QUICK_LIMIT, False), (FREE_LIMIT, False), (FREE_LIMIT, True)):
            found = self._entry(multipliers, {}, most, everywhere=everywhere)
            if found is None:
                break
            value, entry, endless = found
            if value is not None and (best is None or value > best[0]):
                best = value, entry
            if best is not None and self._is_enough(best[0], multipliers.mu, upper):
                break
            if most == QUICK_LIMIT:
                self.derive(endless)
        return best

    def certificate(self, multipliers: SparseMultipliers) -> Document | None:
        """The certificate of a leaf; None where the multipliers are none."""
        found = self._entry(multipliers, {})
        return None if found is None else found[1]

    def _is_enough(self, value: Fraction, mu: float, upper: Fraction | None) -> bool:
        """Whether nothing is to be gained."""
        if not mu:
            return value > 0
        if upper is None:
            return False
        return upper - value <= Fraction(TIGHT) * self.known.model.measure(value, upper)

    def _add_limit(self, step: DerivedLimit) -> None:
        j, sign = step.column, Fraction(step.sign)
        found = self._entry(step.multipliers, {j: sign})
        if found is None:
            return
        proven = Certificate(self.known, found[1], "step").limit(j, sign)
        if proven is None:
            return
        value = rounded_down(proven) if sign > 0 else rounded_up(proven)
        now = self.known.low[j] if sign > 0 else self.known.high[j]
        if math.isfinite(value) and (now is None or sign * (Fraction(value) - now) > 0):
            made = {"certificate": found[1], "columns": [[j, text(sign), text(value)]]}
            self.known.step(made, "step")
            self.steps.append(made)

    def _add_row(self, step: DerivedRow) -> None:
        a = {j: Fraction(value) for j, value in enumerate(step.a.tolist()) if value}
        found = self._entry(step.multipliers, _negative(a))
        top = None if found is None else self._most(found[1], a)
        if found is None or top is None:
            self._append(None)
        else:
            self._join(a, Fraction(rounded_up(top)), {"certificates": [found[1]]})

    def _add_switch(self, step: SwitchedRow) -> None:
        """The row with the least coefficient of its binary column that is proven."""
        j, at, other, old = step.column, step.at, 1 - step.at, self._old(step.old)
        if old is None:
            self._append(None)
            return
        bare = {i: value for i, value in old.a.items() if i != j}
        left = old.side - old.a.get(j, Fraction(0)) * other
        self.known.box = {j: (Fraction(at), Fraction(at))}
        found = self._entry(step.multipliers, _negative(bare))
        top = None if found is None else self._most(found[1], bare)
        self.known.box = {}
        if found is None or top is None:
            self._append(old)
            return
        side = Fraction(rounded_up(left if at else top))
        own = Fraction(rounded_down(side - (top if at else left)))
        by_old: Document = {"rows": [[old.number, text(old.sign)]]}
        entries = [by_old, found[1]] if at else [found[1], by_old]
        self._join(bare | {j: own}, side, {"column": j, "certificates": entries})

    def _old(self, row: int) -> FileRow | None:
        """What the file has of a row of the kernel."""
        conic, height = self.conic, len(self.conic.b)
        if row >= height:
            return self.rows[row - height]
        line = conic.A[row].tocoo()
        a = {int(i): Fraction(float(v)) for i, v in zip(line.col, line.data, strict=True) if v}
        number = int(np.concatenate([conic.equal, conic.low, conic.high])[row])
        sign = 1 if row < len(conic.equal) + len(conic.low) else -1
        return FileRow(number, sign, Fraction(float(conic.b[row])), a)

    def _most(self, entry: Document, a: Vector) -> Fraction | None:
        """The most that a'x can be at points below the cutoff."""
        used = Certificate(self.known, entry, "step")
        used.add(_negative(a).items(), 1)
        total, _, endless = used.value
        if endless or (used.mu and self.known.cutoff is None):
            return None
        return used.mu * (self.known.cutoff or 0) - total

    def _join(self, a: Vector, side: Fraction, proof: Document) -> None:
        number = len(self.known.model.rows)
        self.known.append(a, side)
        self.steps.append({"row": {"upper": text(side), "linear": vector(a)}, **proof})
        self._append(FileRow(number, -1, side, a))

    def _append(self, row: FileRow | None) -> None:
        self.rows.append(row)
        self._longer = None

    def _entry(
        self,
        multipliers: SparseMultipliers,
        goal: Vector,
        most: int = FREE_LIMIT,
        *,
        everywhere: bool = False,
    ) -> tuple[Fraction | None, Document, list[int]] | None:
        """What multipliers prove of mu f + g'x, their certificate, and what had to be moved for it.

        Those are the columns without a finite term before multipliers were moved. None where these
        are none.

        most: so many columns they are moved for.
        everywhere: whether for every column without a limit, those that bend too.
        """
        found = self._numbers(multipliers, goal)
        if found is None:
            return None
        start, z, conic = found
        total, certificate, first = evaluated(self.readings, self.known, start, goal)
        numbers, endless, wrong = start, first, set[int]()
        if everywhere:
            conic = replace(conic, P=sp.csc_matrix(conic.P.shape))  # a moved x^ would cost as much
            wrong = {j for j in range(self.form.n) if self.known.limits(j) == (None, None)}
            endless = sorted({*first, *wrong})
        for _ in range(REPAIR_ROUNDS):
            wrong |= set(endless)
            if not endless or len(wrong) > most:
                break
            rest = {j: certificate.r.get(j, Fraction(0)) for j in sorted(wrong)}
            step = moves(conic, z, rest, self._reach(), most)
            if step is None:
                break
            numbers = self._moved(start, step)
            total, _, endless = evaluated(self.readings, self.known, numbers, goal)
        if endless:
            return None, start.document(self.readings), first
        return total, numbers.document(self.readings), first

    def _moved(self, numbers: Numbers, moves_by_row: Mapping[int, Fraction]) -> Numbers:
        """Numbers with multipliers of linear rows, and entries of x^, moved."""
        conic, height = self.conic, len(self.whole.b)
        owner = np.concatenate([conic.equal, conic.low, conic.high]).tolist()
        lower = range(len(conic.equal), len(conic.equal) + len(conic.low))
        rows, at = dict[int, Fraction](), dict[int, Fraction]()
        for i, delta in moves_by_row.items():
            if i >= height:
                at[i - height] = delta
            else:
                row = owner[i]
                rows[row] = rows.get(row, Fraction(0)) + (delta if i in lower else -delta)
        return numbers.moved(rows, at)

    def _reach(self) -> Reach:
        low = [-math.inf if v is None else float(v) for v in self.known.low]
        high = [math.inf if v is None else float(v) for v in self.known.high]
        return Reach(np.array(low), np.array(high), math.inf)

    def _numbers(
        self, multipliers: SparseMultipliers, goal: Vector
    ) -> tuple[Numbers, Array, ConicForm] | None:
        """Multipliers in the file's terms and of the kernel's rows, and these with their cost."""
        whole, height = self.whole, len(self.conic.b)
        z, x, mu = np.zeros(len(whole.b)), np.zeros(self.form.n), multipliers.mu
        z[multipliers.rows] = multipliers.z
        if mu:
            x[multipliers.columns] = multipliers.x
        inside = in_dual_cone(whole, z)
        if inside is None:
            return None
        cost = mu * whole.q
        for j, g in goal.items():
            cost[j] += float(g)
        conic = replace(whole, q=cost, P=whole.P if mu == 1 else (mu * whole.P).tocsc())
        inside = within_room(conic, inside, self._reach())
        own, derived = inside[:height], inside[height:]
        found = numbers_of(self.form, self.conic, self.readings, self.known, x, own, mu)
        rows = dict(found.rows)
        for row, value in zip(self.rows, derived.tolist(), strict=True):
            if row is not None and value > 0:
                rows[row.number] = rows.get(row.number, 0.0) + row.sign * value
        points = self._points(own, found.quadratic)
        return replace(found, rows=rows, points=points), inside, conic

    @property
    def whole(self) -> ConicForm:
        """The conic form with the derived rows at its end, as the kernel has it."""
        if not self.rows:
            return self.conic
        if self._longer is None:
            lines = np.zeros((len(self.rows), self.form.n))
            for k, row in enumerate(self.rows):
                for j, value in row.a.items() if row is not None else ():
                    lines[k, j] = float(value)
            sides = [0.0 if row is None else float(row.side) for row in self.rows]
            self._longer = longer(self.conic, list(lines), sides)
        return self._longer

    def _points(self, z: Array, multipliers: dict[int, Number]) -> dict[int, dict[int, Number]]:
        """x^ by number of the quadratic row that is linearised there.

        z: of the conic form.
        multipliers: of the rows as the file uses them.
        """
        found: dict[int, dict[int, Number]] = {}
        for k, nu in multipliers.items():
            inverse = self._inverse(k) if nu else None
            if inverse is None:
                continue
            columns, below, matrix = inverse
            with np.errstate(over="ignore", invalid="ignore"):
                x = -(matrix @ z[below]) / float(nu)
            if np.isfinite(x).all():
                found[k] = dict(zip(columns, x.tolist(), strict=True))
        return found

    def _inverse(self, k: int) -> tuple[list[int], slice, Array] | None:
        """The columns of a row, its part of the conic form, and x^ for multipliers of that."""
        if k not in self._inverses:
            reading, block = self.readings[k], self.conic.blocks_of("soc")[k]
            plain = reading.radius is not None
            below = slice(block.start + (1 if plain else 2), block.start + block.size)
            columns = self.form.quadratic[reading.row].body.index
            L = -self.conic.A[below][:, columns].toarray() / (1.0 if plain else 2.0)
            try:
                inverse = np.linalg.pinv(L) / (2.0 if plain else 1.0)
            except LinAlgError:
                self._inverses[k] = None
            else:
                self._inverses[k] = columns.tolist(), below, inverse
        return self._inverses[k]


def evaluated(
    readings: Sequence[RowReading], known: Derivation, numbers: Numbers, goal: Vector
) -> tuple[Fraction, Certificate, list[int]]:
    """The finite part of a certificate's bound, and the columns without a finite term."""
    certificate = Certificate(known, numbers.document(readings), "bound")
    certificate.add(goal.items(), 1)
    total, _, endless = certificate.value
    return total, certificate, sorted(endless)


def _proven_cone(derivation: Derivation, part: Document) -> Document:
    """The cone, lifted by what rounding may have taken from its row where it is none as it is."""
    body = derivation.model.quadratic[part["row"]][0]
    numbers = [abs(v) for v in (body.constant, *body.linear, *body.products)]
    size = float(Fraction(max(numbers), body.unit))
    n, touched = derivation.model.n, sorted({j for pair in body.pairs for j in pair})
    noise = 64 * (len(touched) + 4) * UNIT * size
    for lift in ({}, {n: noise}, dict.fromkeys([*touched, n], noise)):
        lifted = part | ({"lift": vector(lift)} if lift else {})
        try:
            derivation.cone(lifted, "cone")
        except ProofError as error:
            refused = error
        else:
            return lifted
    raise refused


def _negative(a: Vector) -> Vector:
    return {j: -value for j, value in a.items()}


# --- Proof files of models with exp and log: tangents in their place, and terms at the point -----
# What is proven of the model with tangents is true of the one with terms (kernel/exponential.py).
# So its file is that of an ordinary convex model, whose last rows become a step that the checker
# derives.


def _with_terms(document: Document, read: ExponentialForm, tangents: Sequence[Tangent]) -> Document:
    """The document of a model with tangents as one of the model with terms.

    document: of a model whose last rows are these tangents.
    """
    model = document["model"]
    rows = model["rows"][: len(model["rows"]) - len(tangents)]
    terms = [_term(term) for term in read.terms]
    about = f"{document['about']}; x_column of a term stands for it"
    found = document | {"about": about, "model": model | {"rows": rows, "terms": terms}}
    if tangents:
        entries = [[k, text(constant), [text(v) for v in s]] for k, s, constant in tangents]
        found["steps"] = [{"tangents": entries}, *document.get("steps", [])]
    return found


def _term(term: Term) -> Document:
    parts = [
        [text(part.c), vector({part.column: part.sign} if part.column >= 0 else {})]
        for part in term.parts
    ]
    return {"function": term.kind, "column": term.value, "parts": parts}


def _completed(read: ExponentialForm, point: Coordinates) -> Coordinates:
    """The point of the file's columns, from one of the model's.

    Raises NotProvenError: a logarithm has no value.
    """
    full, columns = np.zeros(read.form.n), read.columns.tolist()
    full[read.columns] = point.x
    whole = completed(read, full, {columns[j]: value for j, value in point.exact.items()})
    if whole is None:
        raise NotProvenError("exp or log has no value at the point")
    return Coordinates(whole.x, whole.exact)


# --- Proof files of mixed-integer models: the tree of a branch and bound, written so that it
#     checks
# What is claimed is what the leaves prove in exact arithmetic, by the checker's own functions: not
# what the kernel said in rounded numbers, from which it differs in the last places.


EVERY_LIMIT = 1 - 1e-3  # every limit that the kernel may have had is written


def _tree(root: Root, proof: TreeProof) -> Document:
    """Nodes from the root down, the lower half of each branch first; certificates that occur."""
    nodes: list[Any] = []
    certificates: list[Document] = []
    numbers: dict[int, int | None] = {-1: None}
    seen, stack = set[int](), [0]
    while stack:
        number = stack.pop()
        if number in seen:
            raise NotProvenError(f"node {number} stands twice in the tree")
        seen.add(number)
        node = proof.nodes[number]
        if isinstance(node, Branch):
            nodes.append([node.column, int(node.at)])
            stack += [node.above, node.below]
            continue
        if node.certificate not in numbers:
            entry = root.certificate(proof.certificates[node.certificate])
            numbers[node.certificate] = None if entry is None else len(certificates)
            certificates += [] if entry is None else [entry]
        nodes.append(numbers[node.certificate])
    return {"certificates": certificates, "nodes": nodes}


def _least(known: Tree, tree: Document) -> Fraction | None:
    """The least bound of all leaves; None where none of them has a point.

    Raises NotProvenError: a leaf without a bound.
    """
    step, least = known.spacing(), None
    for where, mu, found in known.leaves(tree):
        if found is None or (mu == 0 and found <= 0):
            raise NotProvenError(f"{where} of the tree is not closed in exact arithmetic")
        if mu == 0:
            continue
        value = found / mu
        if step is not None:
            value = math.ceil(value / step) * step
        least = value if least is None else min(least, value)
    return least


# --- What a file says, from what a solve or a search has kept of its proof ------------------------


@dataclass(frozen=True, eq=False)
class Coordinates:
    """An exactly feasible point.

    x (n,): to the nearest doubles.
    exact: coordinates that are no doubles, by column.
    """

    x: Array
    exact: Mapping[int, Fraction] = field(default_factory=dict)

    @classmethod
    def of(cls, point: FeasiblePoint | None) -> Coordinates | None:
        """Those of a proven point; None where it has none that are known."""
        if point is None or point.x is None or point.between or not point.exact:
            return None
        return cls(point.x, point.rational)

    @property
    def numbers(self) -> list[Fraction]:
        """All of them."""
        return [self.exact.get(j, Fraction(value)) for j, value in enumerate(self.x.tolist())]


@dataclass(frozen=True, eq=False)
class Absence:
    """What proves that there is no point, or with a ray that there is no least value.

    multipliers, z, tree: of an Infeasible; of an Unbounded none.
    x, ray (n,): of an Unbounded.
    """

    multipliers: Array | None = None
    z: Array | None = None
    tree: TreeProof | None = None
    x: Coordinates | None = None
    ray: Sequence[float | Fraction] | None = None

    @classmethod
    def of(cls, proof: Infeasible | Unbounded) -> Absence:
        """The same without the model."""
        if isinstance(proof, Unbounded):
            return cls(x=Coordinates(proof.x), ray=proof.ray.tolist())
        tree = proof.evidence if isinstance(proof.evidence, TreeProof) else None
        return cls(proof.multipliers, proof.z, tree)


@dataclass(frozen=True, eq=False)
class Terms:
    """A model with exp and log as a file has it, and the one that was proven in its place.

    form: with tangents, its last rows, for the terms.
    """

    read: ExponentialForm
    form: StandardForm
    tangents: Sequence[Tangent] = ()

    def alone(self) -> Terms:
        """The same without Pyomo's objects."""
        read = replace(self.read, model=pyo.ConcreteModel(), form=self.read.form.alone())
        return Terms(read, self.form.alone(), self.tangents)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is proven of a model, and by what.

    form, kind: the model that was solved.
    point: exactly feasible.
    bound: what proves the lower end: the evidence of a LowerBound.
    absence: that there is no point, or no least value.
    absolute_gap: a gap of so much is closed too.
    terms: of a model with exp and log, of whose tangents bound and absence speak.
    """

    form: StandardForm
    kind: Classification
    point: Coordinates | None = None
    bound: object = None
    absence: Absence | None = None
    absolute_gap: float = 0.0
    terms: Terms | None = None

    @classmethod
    def of(
        cls,
        form: StandardForm,
        kind: Classification,
        point: FeasiblePoint | None,
        proof: LowerBound | Infeasible | Unbounded | None,
        absolute_gap: float = 0.0,
    ) -> Evidence:
        """From what the kernel has stated of a model."""
        terms, told = None, None if proof is None else proof.evidence
        if isinstance(told, OfTangents):
            terms, proof = Terms(told.read, told.proof.form, told.proof.tangents), told.statement
        elif isinstance(told, ExponentialForm):
            terms = Terms(told, told.form)
        bound = proof.evidence if isinstance(proof, LowerBound) else None
        absence = Absence.of(proof) if isinstance(proof, Infeasible | Unbounded) else None
        return cls(form, kind, Coordinates.of(point), bound, absence, absolute_gap, terms)

    @property
    def proves(self) -> bool:
        """Whether anything is kept from which a file can be written."""
        return self.bound is not None or self.absence is not None

    def alone(self) -> Evidence:
        """The same without Pyomo's objects, so that the model may change or go."""
        terms = None if self.terms is None else self.terms.alone()
        return replace(self, form=self.form.alone(), terms=terms)

    def document(self) -> Document:
        """The proof as a file has it.

        Raises NotProvenError: the kinds of evidence that no file holds, or what is proven in exact
            arithmetic is less than a bound.
        """
        try:
            if self.terms is not None:
                return self._with_terms(self.terms)
            if self.absence is not None:
                return self._of_absence(self.absence)
            if isinstance(self.bound, TreeProof):
                return self._of_tree(self.bound)
            return self._of_multipliers()
        except ProofError as error:
            raise NotProvenError(str(error)) from None

    def write(self, path: Path, result: object) -> Proof:
        """Check the proof and put it in place.

        Raises NotProvenError: as `document`.
        """
        return write_document(self.document(), path)

    def _with_terms(self, terms: Terms) -> Document:
        """That of the model with tangents, of which the point with its terms is one, too."""
        read, form, absence = terms.read, terms.form, self.absence
        point = None if self.point is None else _completed(read, self.point)
        if absence is not None and absence.x is not None and absence.ray is not None:
            ray = completed_ray(read, np.array(absence.ray, dtype=np.float64))
            if ray is None:
                raise NotProvenError("the ray leaves a term")
            absence = Absence(x=_completed(read, absence.x), ray=ray)
        kind = Subject(form).classification
        inner = replace(self, form=form, kind=kind, point=point, absence=absence, terms=None)
        return _with_terms(inner.document(), read, terms.tangents)

    def _of_multipliers(self) -> Document:
        if self.form.nonlinear and self.form.integer.any():
            raise NotProvenError("files of models with exp and log are for continuous variables")
        if not self.kind.relaxes_to_convex:
            raise NotProvenError(f"proof files are for convex models, and {self.kind.reason}")
        bound = self.bound
        if not isinstance(bound, SparseMultipliers | RationalMultipliers):
            raise NotProvenError("no multipliers and no tree prove the bound")
        document = begun(self.form)
        model = Model(document["model"])
        upper = self._upper(model)
        root = Root.of(self.form, self.kind, model, upper)
        if isinstance(bound, SparseMultipliers):
            found = root.bound(bound, upper)
        else:
            numbers = Numbers(1.0, dict(bound.x), dict(bound.y))
            value, _, endless = evaluated(root.readings, root.known, numbers, {})
            found = None if endless else (value, numbers.document(root.readings))
        if found is None:
            raise NotProvenError(
                "no bound is proven: a residual is left on a column without a limit"
            )
        value, entry = found
        claim = self._claim(model, value, upper)
        if claim["claim"]["kind"] != "optimum":
            raise NotProvenError("the gap is not closed")
        return document | root.parts() | {"bound": entry} | claim

    def _of_tree(self, proof: TreeProof) -> Document:
        document = begun(self.form)
        model = Model(document["model"])
        cutoff = Fraction(proof.cutoff) if math.isfinite(proof.cutoff) else None
        root = Root.of(self.form, self.kind, model, cutoff)
        if cutoff is not None:
            document["cutoff"] = text(cutoff)
        root.derive(range(self.form.n), EVERY_LIMIT)
        for step in (step for steps_of_round in proof.rounds for step in steps_of_round):
            root.add(step)
        tree = _tree(root, proof)
        ends = [end for end in (_least(root.known, tree), cutoff) if end is not None]
        document |= root.parts() | {"tree": tree}
        if not ends:
            return document | {"claim": {"kind": "infeasible"}}
        return document | self._claim(model, min(ends), self._upper(model))

    def _upper(self, model: Model) -> Fraction | None:
        """The objective at the point, rounded up; None without one."""
        if self.point is None:
            return None
        return rounded_end(model, model.objective.value(model.feasible(self.point.numbers)), 1)

    def _claim(self, model: Model, lower: Fraction, upper: Fraction | None) -> Document:
        """The claim, and the point where there is one."""
        if upper is None or self.point is None:
            return {"claim": {"kind": "bounds", "lower": text(rounded_end(model, lower, -1))}}
        claim = claim_between(model, lower, upper, self.absolute_gap)
        return {"claim": claim, "point": [text(value) for value in self.point.numbers]}

    def _of_absence(self, absence: Absence) -> Document:
        if absence.tree is not None:
            return self._of_tree(absence.tree)
        document = begun(self.form)
        if absence.x is not None and absence.ray is not None:
            return document | {
                "claim": {"kind": "unbounded"},
                "point": [text(value) for value in absence.x.numbers],
                "ray": [text(value) for value in absence.ray],
            }
        n, claim = self.form.n, {"claim": {"kind": "infeasible"}}
        model, z = Model(document["model"]), absence.z
        if z is None:  # a Farkas vector over the linear rows, whatever else there is
            nothing = Quadratic(sp.csr_matrix((n, n)), np.zeros(n), 0.0)
            form = replace(self.form, objective=nothing, quadratic=(), psd=(), nonlinear=())
            whole = conic_form(form, Subject(form).classification)
            y = np.zeros(len(form.rows)) if absence.multipliers is None else absence.multipliers
            conic, z = without_own_bounds(
                whole, conic_multipliers(whole, Multipliers(y, np.zeros(n), {}))
            )
            root = Root(form, conic, [], Tree(model, None), [], [])
        else:
            root = Root.of(self.form, self.kind, model, None)
            z = without_own_bounds(conic_form(self.form, self.kind), z)[1]
            root.derive(range(n))
            if root.known.crossed({}):
                return document | claim | root.parts()
        found = root.bound(SparseMultipliers.of(0.0, np.zeros(n), z), None)
        proven = {} if found is None else {"bound": found[1]}
        return document | claim | root.parts() | proven


def write_document(document: dict[str, Any], path: Path) -> Proof:
    """Check a document as it will be read, and put it in place whole or not at all.

    Raises NotProvenError: it does not check, and the checker says why.
    """
    content = json.dumps(document, allow_nan=False).encode()
    try:
        proof = check(json.loads(content))
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    packed = gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content
    write_atomically(path, lambda file: file.write(packed))
    return proof
