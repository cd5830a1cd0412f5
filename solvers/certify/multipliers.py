"""Multipliers near given ones that prove more, tried in turn; the kernel judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from scipy.sparse.linalg import splu

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.cones import symmetric
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.points import costless_point
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS, needs_gigabytes
from tightmargin.solvers.engines.running import Limits, is_over, seconds_left
from tightmargin.solvers.kernel.bound import multiplier_room, prepared, proven_bound
from tightmargin.solvers.kernel.exact_bounds import exact_lp_bound
from tightmargin.solvers.kernel.limits import Reach, Subject
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.systems import FREE_LIMIT
from tightmargin.solvers.model.claim import Claim
from tightmargin.solvers.model.conic import (
    ConicForm,
    Multipliers,
    conic_multipliers,
    pack,
    triangle_scale,
    unpack,
)
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.names import named_duals, named_values
from tightmargin.solvers.model.polynomial import LocalQuadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.plain_json import plain

# --- Multipliers moved a little towards the middle of all that are stationary in a few columns ---
# At a degenerate optimum too few multipliers of a solver have room on both sides to make a
# residual vanish exactly. A point z_c that has room everywhere and is stationary in those columns
# gives it to all of them: (1 - theta) z + theta z_c costs theta of the distance between two
# bounds, and leaves every multiplier theta of the room that z_c has. z_c is the analytic centre
#     minimise -sum_i log(z_i - low_i) + log(high_i - z_i)    s.t.  A_F'z = t.


CENTRE_STEPS = 40
NEAR = 1e-9
AWAY = 1e-5


def dual_centre(A: Array, target: Array, low: Array, high: Array, size: float) -> Array | None:
    """Analytic centre of {z: A z = target, low < z < high}; None where none is found.

    A (f, m).
    target (f,).
    low, high (m,): a side that is infinite is taken to be `size` beyond the other one.
    size: natural size of the multipliers, positive.
    """
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - size)
    high = np.where(np.isfinite(high), high, low + 2 * size)
    movable = high > low
    if not movable.any():
        return None
    z = (low + high) / 2
    for _ in range(CENTRE_STEPS):
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            down, up = 1 / (z - low), 1 / (high - z)
            gradient = np.where(movable, up - down, 0.0)
            inverse = np.where(movable, 1 / (up * up + down * down), 0.0)
        if not (np.isfinite(gradient).all() and np.isfinite(inverse).all()):
            return None  # driven into a side: nothing is inside
        miss = A @ z - target
        normal = (A * inverse) @ A.T
        try:
            price = np.linalg.lstsq(normal, miss - A @ (inverse * gradient), rcond=None)[0]
        except LinAlgError:
            return None
        step = -inverse * (gradient + A.T @ price)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                step > 0, (high - z) / step, np.where(step < 0, (low - z) / step, np.inf)
            )
        length = min(1.0, 0.9 * float(room[movable].min()))
        z = z + length * step
        if not np.isfinite(z).all():
            return None
        if length == 1.0 and float(np.abs(step[movable] * (up + down)[movable]).max()) < 0.1:
            break
    terms = np.abs(A) @ np.abs(z) + np.abs(target)
    inside = (z > low) & (z < high)
    met = np.abs(A @ z - target) <= NEAR * terms
    return z if bool(inside[movable].all()) and bool(met.all()) else None


def with_room(
    conic: ConicForm, residual: Array, z: Array, columns: Index, reach: Reach, share: float
) -> Array | None:
    """Multipliers moved by a share towards the centre of those stationary in some columns.

    residual (n,): P x + q + A'z, to rounding.
    columns: those in which no rounding may be left.
    """
    linear = sum(map(len, (conic.equal, conic.low, conic.high)))
    below, above = np.isfinite(reach.low[columns]), np.isfinite(reach.high[columns])
    slope = residual[columns]
    size = np.abs(conic.q[columns]) + abs(conic.A[:, columns]).T @ np.abs(z)
    # A column with one limit and a slope that leads away from it keeps that sign by itself.
    safe = np.where(below, slope, -slope) > AWAY * size
    several = np.diff(conic.A.indptr)[columns] > 1
    one_sided = below | above
    kept = np.where(one_sided, several & ~safe, True)
    chosen = columns[kept]
    if not linear or not len(chosen) or len(chosen) > FREE_LIMIT:
        return None
    low, high = (side[:linear] for side in multiplier_room(conic, reach))
    if (low > high).any():
        return None
    block = conic.A[:linear][:, chosen].toarray().T
    target = block @ z[:linear] - residual[chosen]
    # Beside a limit the slope need not vanish: it is a multiplier of the limit, with room too.
    slopes = np.flatnonzero(one_sided[kept])
    owned = np.zeros((len(chosen), len(slopes)))
    owned[slopes, np.arange(len(slopes))] = np.where(below[kept][slopes], -1.0, 1.0)
    block = np.hstack([block, owned])
    low = np.concatenate([low, np.zeros(len(slopes))])
    high = np.concatenate([high, np.full(len(slopes), np.inf)])
    largest = max(float(np.abs(z[:linear]).max(initial=0.0)), 1e-300)
    centre = dual_centre(block, target, low, high, largest)
    if centre is None:
        return None
    moved = z.copy()
    moved[:linear] += share * (centre[:linear] - z[:linear])
    return moved


# --- Equations of the matrix A'S A + C behind a repair, without S where that is large ------------
# A model over n points has a row for each of them, in which the few columns of its hyperplane
# stand beside a slack of the row's own. In A'S A the slacks alone are a matrix that is diagonal,
# or nearly so; a factorisation that orders rows by itself takes a hundred times as long as to
# eliminate them first and to solve what is left, a small dense system.
# On a semidefinite block S maps V to R V R, R the root of a matrix of order k. As a matrix it has
# k^4 / 4 entries, so that it is only applied. What it adds to A'S A stands in the columns of A
# that the block holds; they are full columns too. Where they are too many for a dense matrix, or
# that takes too long to compute, conjugate gradients need products with S alone.


DENSE_LIMIT = 5000
FULL_SHARE = 0.2  # of the rows: from so many entries on a column counts as full
FULL_LIMIT = 500  # of such columns
SHIFT = 1e-13
PRODUCTS = 2e10  # of doubles: what semidefinite blocks may take to be written out
CG_STEPS, ENOUGH = 200, 1e-10  # of conjugate gradients, and what they leave of the right side
CHUNK = 2**22  # doubles of a block's columns at a time


@dataclass(frozen=True, eq=False)
class Root:
    """V -> R V R on the rows of a semidefinite block.

    matrix (k, k): R, symmetric and semidefinite.
    """

    rows: slice
    matrix: Array

    def times(self, v: Array) -> Array:
        """Product with the entries of a matrix."""
        return pack(self.matrix @ unpack(v) @ self.matrix)

    def diagonal(self) -> Array:
        """Diagonal of the map."""
        own = np.diag(self.matrix)
        i, j = np.tril_indices(len(own))
        return np.asarray(own[i] * own[j] + self.matrix[i, j] ** 2) / np.where(i == j, 2.0, 1.0)

    def gram(self, A: sp.csc_matrix) -> Array:
        """A'S A for the columns of A (rows, n)."""
        k, n = len(self.matrix), A.shape[1]
        i, j = np.tril_indices(k)
        used = np.unique(A.indices)
        lines, scale = A[used].T.tocsr(), triangle_scale(k)[used]
        found = np.empty((n, n))
        width = max(1, CHUNK // max(len(used), 1))
        for start in range(0, n, width):
            chunk = range(start, min(start + width, n))
            images = np.empty((len(used), len(chunk)))
            for place, column in enumerate(chunk):
                entries = slice(A.indptr[column], A.indptr[column + 1])
                row, number = A.indices[entries], A.data[entries]
                inside = np.unique(np.r_[i[row], j[row]])
                a, b = np.searchsorted(inside, i[row]), np.searchsorted(inside, j[row])
                own = np.zeros((len(inside), len(inside)))
                own[a, b] = own[b, a] = number / np.where(a == b, 1.0, np.sqrt(2.0))
                half = self.matrix[:, inside]
                images[:, place] = ((half @ own) @ half.T)[i[used], j[used]] * scale
            found[:, start : start + len(chunk)] = lines @ images
        return found

    def work(self, A: sp.csc_matrix) -> float:
        """Products of doubles that `gram` takes, or somewhat more."""
        k = len(self.matrix)
        return float((np.minimum(2 * np.diff(A.indptr), k) * float(k * k)).sum())


@dataclass(frozen=True, eq=False)
class NormalMatrix:
    """A'S A + C, not computed.

    A (m, n).
    scaled (m, m): S, symmetric and semidefinite; 0 in the rows of `roots`.
    curvature (n, n): C.
    roots: S on semidefinite blocks.
    """

    A: sp.csc_matrix
    scaled: sp.csr_matrix
    curvature: sp.csc_matrix
    roots: Sequence[Root] = ()

    @cached_property
    def in_matrices(self) -> NDArray[np.bool_]:
        """Which columns semidefinite blocks hold."""
        found = np.zeros(self.A.shape[1], dtype=bool)
        for root in self.roots:
            found |= np.diff(self.A[root.rows].indptr) > 0
        return found

    @cached_property
    def full(self) -> NDArray[np.bool_]:
        """Which columns of A are full, or held by semidefinite blocks."""
        count = np.diff(self.A.indptr)
        found = count > max(FULL_SHARE * self.A.shape[0], 1.0)
        few = 0 < found.sum() <= FULL_LIMIT
        return (found | self.in_matrices) if few else self.in_matrices

    @property
    def is_large(self) -> bool:
        """Whether semidefinite blocks are too large to be written out."""
        if self.in_matrices.sum() > DENSE_LIMIT:
            return True
        return sum(root.work(self.A[root.rows]) for root in self.roots) > PRODUCTS

    def scaled_times(self, v: Array) -> Array:
        """S v."""
        product = np.asarray(self.scaled @ v)
        for root in self.roots:
            product[root.rows] = root.times(v[root.rows])
        return product

    def times(self, v: Array) -> Array:
        """Product with a vector."""
        product = self.A.T @ self.scaled_times(self.A @ v)
        return np.asarray(product + self.curvature @ v if self.curvature.nnz else product)

    def sparse(self) -> sp.csc_matrix:
        """The matrix itself, where there are no semidefinite blocks."""
        product = (self.A.T @ (self.scaled @ self.A)).tocsc()
        return product + self.curvature if self.curvature.nnz else product

    def near_diagonal(self) -> Array:
        """Diagonal of the matrix, the entries of a semidefinite block taken one by one."""
        S = self.scaled.diagonal()
        for root in self.roots:
            S[root.rows] = root.diagonal()
        squares = sp.csc_matrix((self.A.data**2, self.A.indices, self.A.indptr), self.A.shape)
        return np.asarray(squares.T @ S + self.curvature.diagonal())


def solved(normal: NormalMatrix, target: Array) -> Array:
    """Solve a semidefinite, badly scaled system: diagonal scaling, a tiny shift, refinement.

    By conjugate gradients a large one, as far as a count of steps and the deadline allow.
    """
    if normal.is_large:
        return _by_gradients(normal, target)
    whole: _Parts | sp.csc_matrix = _split(normal) if normal.full.any() else normal.sparse()
    diagonal = whole.diagonal()
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:  # multipliers that are all zero: nothing can be moved
        return np.zeros(len(target))
    scale = 1 / np.sqrt(np.maximum(diagonal, 1e-30 * largest))
    right = scale * target
    apply_inverse: Callable[[Array], Array]
    if isinstance(whole, _Parts):
        apply_inverse = whole.inverse(scale)

        def times(v: Array) -> Array:
            return np.asarray(scale * normal.times(scale * v))
    else:
        balanced = (sp.diags(scale) @ whole @ sp.diags(scale)).tocsc()
        apply_inverse = _factorised(balanced + SHIFT * sp.identity(len(scale), format="csc"))

        def times(v: Array) -> Array:
            return np.asarray(balanced @ v)

    solution = apply_inverse(right)
    for _ in range(3):
        solution = solution + apply_inverse(right - times(solution))
    return np.asarray(scale * solution)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The matrix by full columns, which come last, and the others.

    full (n,).
    corner: of the others among themselves.
    border: of the others beside the full ones.
    core: of the full ones among themselves.
    """

    full: NDArray[np.bool_]
    corner: sp.csc_matrix
    border: Array
    core: Array

    def diagonal(self) -> Array:
        """Diagonal of the whole matrix."""
        found = np.zeros(len(self.full))
        found[~self.full], found[self.full] = self.corner.diagonal(), np.diag(self.core)
        return found

    def inverse(self, scale: Array) -> Callable[[Array], Array]:
        """Multiply with the inverse of the matrix between two scales, its diagonal shifted."""
        outer, inner = scale[~self.full], scale[self.full]
        by_outer = sp.diags(outer)
        corner = (by_outer @ self.corner @ by_outer).tocsc()
        apply_corner = _factorised(corner + SHIFT * sp.identity(len(outer), format="csc"))
        border = outer[:, None] * self.border * inner
        eliminated = apply_corner(border) if len(outer) else border
        core = self.core * np.outer(inner, inner) + SHIFT * np.eye(len(inner))
        apply_core = _dense(core - border.T @ eliminated)

        def apply(right: Array) -> Array:
            found = np.empty(len(right))
            first = apply_corner(right[~self.full]) if len(outer) else right[~self.full]
            rest = right[self.full] - border.T @ first
            found[self.full] = apply_core(rest)
            found[~self.full] = first - eliminated @ found[self.full]
            return found

        return apply


def _split(normal: NormalMatrix) -> _Parts:
    full, C = normal.full, normal.curvature
    plain = np.ones(normal.A.shape[0], dtype=bool)
    for root in normal.roots:
        plain[root.rows] = False
    A, S = normal.A, normal.scaled
    if normal.roots:
        A, S = A[plain], S[plain][:, plain]
    dense, others = A[:, full].toarray(), A[:, ~full]
    scaled = S @ dense
    corner = (others.T @ (S @ others)).tocsc()
    border, core = others.T @ scaled, np.asarray(dense.T @ scaled)
    place = np.cumsum(full) - 1
    for root in normal.roots:
        block = normal.A[root.rows]
        held = np.flatnonzero(np.diff(block.indptr))
        core[np.ix_(place[held], place[held])] += root.gram(block[:, held])
    if C.nnz:
        corner = (corner + C[~full][:, ~full]).tocsc()
        border = border + C[~full][:, full].toarray()
        core = core + C[full][:, full].toarray()
    return _Parts(full, corner, np.asarray(border), np.asarray(core))


def _by_gradients(normal: NormalMatrix, target: Array) -> Array:
    """The system by conjugate gradients, scaled by its diagonal."""
    diagonal = normal.near_diagonal()
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:
        return np.zeros(len(target))
    inverse = 1 / np.maximum(diagonal, 1e-30 * largest)
    solution, left = np.zeros(len(target)), target.copy()
    along = inverse * left
    size = float(left @ along)
    least, best = size, solution
    for _ in range(CG_STEPS):
        if is_over() or not size > 0 or least <= ENOUGH**2 * float(target @ (inverse * target)):
            break
        image = normal.times(along)
        bend = float(along @ image)
        if not bend > 0:
            break
        length = size / bend
        solution, left = solution + length * along, left - length * image
        steepest = inverse * left
        size, before = float(left @ steepest), size
        along = steepest + size / before * along
        if size < least:
            least, best = size, solution
    return best


def _dense(matrix: Array) -> Callable[[Array], Array]:
    """Multiply with the inverse of a matrix that is definite but for rounding."""
    if len(matrix) > FULL_LIMIT:
        try:
            factor = cho_factor(matrix, check_finite=False)
        except LinAlgError:  # indefinite by rounding: LU below does not mind
            pass
        else:
            return lambda right: cho_solve(factor, right, check_finite=False)
    factors = lu_factor(matrix, check_finite=False)
    return lambda right: lu_solve(factors, right, check_finite=False)


def _factorised(matrix: sp.csc_matrix) -> Callable[[Array], Array]:
    n = matrix.shape[0]
    diagonal = matrix.diagonal()
    if matrix.nnz == np.count_nonzero(diagonal):
        return lambda right: (right.T / diagonal).T
    if n <= DENSE_LIMIT and matrix.nnz > 0.1 * n * n:
        try:
            factor = cho_factor(matrix.toarray(), overwrite_a=True, check_finite=False)
        except LinAlgError:  # indefinite by rounding: LU below does not mind
            return splu(matrix).solve
        return lambda right: cho_solve(factor, right, check_finite=False)
    # The default ordering is for unsymmetric matrices and fills up to ten times as much.
    symmetric = splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options={"SymmetricMode": True}
    )
    return symmetric.solve


# --- Approximate multipliers repaired until stationarity holds as nearly as doubles allow --------
# A bound (kernel/bound.py) charges every entry of r = P x^ + q + A'z with the limits of its
# variable, so that little is left of it where a solver's z has a residual of about its tolerance.
# So z is moved within its cone, in the affine scaling of an interior-point method (entries near
# the boundary move least), and x^ along P, until the residual is at rounding level.


ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Repaired:
    """A point and multipliers near the given ones, and how far those were off.

    x, z: as nearly stationary as double precision allows, when `reason` is empty.
    residual: stationarity of the multipliers as given, relative to the objective's size.
    reason: where stationarity could not be reached.
    """

    x: Array
    z: Array
    residual: float
    reason: str = ""


def repaired(
    conic: ConicForm, x: Array, z: Array, names: Callable[[], Sequence[str]] | None = None
) -> Repaired:
    """Make a point and multipliers stationary; whatever comes out, a bound is proven elsewhere.

    names: gives the names of the columns, which a failure alone asks for.
    """
    scale = 1.0 + float(np.abs(conic.q).max(initial=0.0))
    given = conic.P @ x + conic.q + conic.A.T @ z
    residual = float(np.abs(given).max(initial=0.0)) / scale
    x_hat, z = x.copy(), into_cone(conic, z)
    for _ in range(ROUNDS):
        z = _absorb_in_bounds(conic, x_hat, z)
        r = conic.P @ x_hat + conic.q + conic.A.T @ z
        allowed = _rounding(conic, x_hat, z)
        if (np.abs(r) <= allowed).all():
            return Repaired(x_hat, z, residual)
        if is_over():
            break
        x_step, z_step = _correction(conic, z, -r)
        x_hat = x_hat + x_step
        z = into_cone(conic, z + z_step)
    worst = int(np.argmax(np.abs(r) - allowed))
    name = names()[worst] if names else f"column {worst}"
    reason = f"stationarity of {name} stays at {r[worst]:.2e} after repair"
    return Repaired(x_hat, z, residual, reason)


def _rounding(conic: ConicForm, x: Array, z: Array) -> Array:
    """Size of the rounding error in evaluating the residual, column by column."""
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + conic.sizes.T @ np.abs(z)
    return 4e-15 * (size + float(size.max(initial=1e-300)))


def into_cone(conic: ConicForm, z: Array) -> Array:
    """Nearest point of the dual cone, a hair inside for second-order and semidefinite blocks."""
    z = z.copy()
    cones: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(z[block.rows], 0.0)
            case "soc":
                cones.setdefault(block.size, []).append(block.start)
            case "psd":
                z[block.rows] = _into_psd(z[block.rows])
    for width, starts in cones.items():
        places = np.array(starts)[:, None] + np.arange(width)
        z[places] = _into_socs(z[places])
    return z


def _into_socs(parts: Array) -> Array:
    """Points of second-order cones near the rows of an array (m, k)."""
    norm = np.linalg.norm(parts[:, 1:], axis=1)
    floor = norm * (1 + 4e-16)
    found = parts.copy()
    found[:, 0] = np.maximum(parts[:, 0], floor)
    found[(parts[:, 0] < floor) & (parts[:, 0] <= -norm)] = 0.0
    return found


def _into_psd(part: Array) -> Array:
    values, vectors = np.linalg.eigh(unpack(part))
    floor = 1e-15 * len(values) * max(float(values[-1]), 0.0)
    if values[0] >= floor:
        return part
    return pack((vectors * np.maximum(values, 2 * floor)) @ vectors.T)


def _absorb_in_bounds(conic: ConicForm, x: Array, z: Array) -> Array:
    """Let the multiplier of a column's own bound take what is left of its stationarity."""
    z = z.copy()
    first = sum(len(part) for part in (conic.equal, conic.low, conic.high))
    low = first + np.arange(len(conic.low_bound))
    high = first + len(conic.low_bound) + np.arange(len(conic.high_bound))
    r = conic.P @ x + conic.q + conic.A.T @ z
    # A bound row is -x <= -l (coefficient -1) or x <= u (coefficient +1).
    for rows, columns, sign in ((low, conic.low_bound, -1.0), (high, conic.high_bound, 1.0)):
        updated = np.maximum(0.0, z[rows] - sign * r[columns])
        r[columns] += sign * (updated - z[rows])
        z[rows] = updated
    return z


def _correction(conic: ConicForm, z: Array, target: Array) -> tuple[Array, Array]:
    """Steps (dx, dz) with P dx + A'dz = target, least in the scaling of z."""
    size = float(np.abs(conic.P.data).max(initial=0.0))
    curvature = conic.P @ conic.P / size if size else conic.P
    scaled, roots = _scaling(conic, z)
    normal = NormalMatrix(conic.A, scaled, curvature.tocsc(), roots)
    multiplier = solved(normal, target)
    x_step = np.zeros(len(target))
    if size:
        x_step = (conic.P @ multiplier) / size
    return x_step, normal.scaled_times(conic.A @ multiplier)


def _scaling(conic: ConicForm, z: Array) -> tuple[sp.csr_matrix, list[Root]]:
    """Quadratic representation of the square root of z: positive definite inside the cone.

    On semidefinite blocks by the roots alone: as a matrix it has k^4 / 4 entries.
    """
    size = max(1.0, float(np.abs(z).max(initial=0.0)))
    diagonal = np.zeros(len(z))
    entries: list[tuple[Array, Index, Index]] = []
    cones: dict[int, list[int]] = {}
    roots: list[Root] = []
    for block in conic.blocks:
        match block.kind:
            case "zero":
                diagonal[block.rows] = size
            case "nonneg":
                diagonal[block.rows] = z[block.rows]
            case "soc":
                cones.setdefault(block.size, []).append(block.start)
            case "psd":
                roots.append(Root(block.rows, _root(z[block.rows])))
    for width, starts in cones.items():
        first = np.array(starts)
        parts = z[first[:, None] + np.arange(width)]
        entries.append(_placed(_soc_scalings(parts), first))
    everywhere = np.arange(len(z))
    values, rows, columns = (
        np.concatenate(part)
        for part in zip((diagonal, everywhere, everywhere), *entries, strict=True)
    )
    return sp.csr_matrix((values, (rows, columns)), shape=(len(z), len(z))), roots


def _placed(blocks: Array, starts: Index) -> tuple[Array, Index, Index]:
    """Entries of square blocks (m, k, k) whose first rows are `starts` (m,)."""
    inside = np.arange(blocks.shape[1])
    rows = np.broadcast_to((starts[:, None] + inside)[:, :, None], blocks.shape)
    columns = np.broadcast_to((starts[:, None] + inside)[:, None, :], blocks.shape)
    return blocks.ravel(), rows.ravel(), columns.ravel()


def _soc_scalings(z: Array) -> Array:
    """2 w w' - det(w) J with w the Jordan square root of each row of z (m, k)."""
    root = np.sqrt(np.maximum(z[:, 0] ** 2 - (z[:, 1:] ** 2).sum(axis=1), 0.0))
    first = np.sqrt(np.maximum((z[:, 0] + root) / 2, 1e-300))
    w = np.column_stack([first, z[:, 1:] / (2 * first[:, None])])
    reflection = np.diag(np.r_[1.0, -np.ones(z.shape[1] - 1)])
    return 2 * w[:, :, None] * w[:, None, :] - root[:, None, None] * reflection


def _root(z: Array) -> Array:
    """Square root of a semidefinite matrix."""
    values, vectors = np.linalg.eigh(unpack(z))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


# --- Optima of 0, where no gap is small enough: the point and the bound are 0, or nothing is
#     proven
# A gap is measured against the larger of objective and bound, and beside 0 no rounding is small.
# But such an optimum often is 0 exactly: a sum of terms that are never negative, at a point where
# each is 0; or multipliers that are stationary with nothing left, such as a point that two hulls
# share. So simple points near the solver's are tried in exact arithmetic, and the bound without
# cones and with the stationarity of every column that has no bound of its own solved in rational
# numbers.


# Rounding a point to these fractions of 1 finds what it is near, if that is simple.
_GRIDS = (1.0, 2.0, 2.0**10, 2.0**20)
# Entries that are read for each of many candidates, and for the few that solve the equations.
TERM_LIMIT, LARGEST = 200_000, 10_000_000
# Of the natural size of the objective: there a bound of exactly 0 is tried.
NEARLY_ZERO = 1e-6


def is_nearly_zero(case: Case, bound: float) -> bool:
    """Whether a bound is below 0 by so little that the optimum may be 0."""
    # The natural size of an objective takes a while, and counts for at most 1.
    near_one = bound < 0 and abs(bound) <= NEARLY_ZERO * max(1.0, abs(bound))
    return near_one and abs(bound) <= NEARLY_ZERO * case.scale(bound)


def zero_bound(subject: Subject, z: Array, cutoff: float) -> LowerBound | None:
    """A bound of 0 or more without the constant of the objective; None where none is found.

    z (m,): multipliers of the conic form.
    cutoff: of the points that matter, without the constant of the objective.
    """
    straight = z.copy()
    for block in subject.conic.blocks:
        if block.kind in ("soc", "psd"):
            straight[block.rows] = 0.0
    origin = np.zeros(subject.form.n)
    for limit, multipliers in ((None, straight), (max(cutoff, 0.0), np.zeros(len(z)))):
        found = proven_bound(subject, origin, multipliers, limit, tangent=True)
        if found is not None and found.varying >= 0:
            return found
    return None


def _optimum_of_0(
    case: Case, x: Array, z: Array, known: float, bound: LowerBound | None
) -> LowerBound | None:
    """The bound of 0 where the optimum is: no repair closes what rounding leaves beside it."""
    if bound is None or not is_nearly_zero(case, bound.varying):
        return None
    if abs(known) > NEARLY_ZERO * case.scale(known) or zero_point(case.form, x) is None:
        return None
    return zero_bound(case.subject, z, known)


def zero_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """An exactly feasible point of objective 0, constant left out; None if none is near."""
    terms = form.objective.Q.nnz + form.matrix.nnz
    if form.nonlinear or terms > LARGEST:
        return None
    for candidate in _candidates(form, x) if terms <= TERM_LIMIT else ():
        if form.objective.varying(candidate) == 0:
            found = proven_point(form, candidate)
            if found is not None and found.varying <= 0:
                return found
    return costless_point(form, x)


def _candidates(form: StandardForm, x: Array) -> Iterator[Array]:
    yield np.clip(np.zeros(form.n), form.lower, form.upper)
    for grid in _GRIDS:
        yield np.clip(np.round(x * grid) / grid, form.lower, form.upper)


# Of the known value: a hundredth of what a verdict asks for; and three hundredths, at which nothing
# dearer than a repair is tried.
TIGHT, ENOUGH = 1e-8, 3e-8
SHRUNK = 1e-8
# Of a known value: points that cost so much more count too, so that a bound above it shows.
ABOVE = 1e-3
FULL_PRICE = 1e-6  # of the price of a slack
EarlyBound = Callable[[], tuple[LowerBound | None, bool]]

# How far multipliers go towards the middle of the stationary ones, where they lack room.
SHARES = (1e-10, 1e-8, 1e-6)


def searched_bound(
    case: Case, x: Array, z: Array, known: float, early: EarlyBound | None = None
) -> tuple[LowerBound | None, str]:
    """Best bound from given multipliers, repaired if need be, and why there is none.

    x (n,): point at which a quadratic objective is linearised.
    z (m,): of the rows of `case.conic`.
    known: objective at a point, without the constant: where points cost more, none is excluded.
    early() -> (LowerBound or None, bool): a bound of the family's, asked for before multipliers are
        repaired, and whether it closes the gap: then nothing is repaired.
    """
    subject, conic = case.subject, case.conic
    cutoff = known + abs(known) * ABOVE
    best = proven_bound(subject, x, z, None)
    if is_tight(known, best):
        return _not_below_zero(case, best, z, cutoff), ""
    family, closed = (None, False) if early is None else early()
    best = larger(best, family)
    if closed or is_tight(known, best):
        return best, ""
    if is_over():
        return best, "the time is over" if best is None else ""
    zero = _optimum_of_0(case, x, z, known, best)
    if zero is not None:
        return zero, ""
    better = repaired(conic, x, z, case.form.columns.names)
    best = larger(best, proven_bound(subject, better.x, better.z, None))
    if is_tight(known, best, ENOUGH):
        return _not_below_zero(case, best, better.z, cutoff), ""
    # What rows and objective imply for the variables takes longer to find than a bound itself.
    for point in ((x, z), (better.x, better.z)):
        if not (is_over() or is_tight(known, best, ENOUGH)):
            best = larger(best, _below_cutoff(subject, *point, cutoff))
    # Where nothing of their own worth is lost, it is the point that is not optimal.
    worth = max(_worth(conic, x, z), _worth(conic, better.x, better.z))
    enough = is_over() or is_tight(known, best, ENOUGH) or is_tight(worth, best, ENOUGH)
    if not enough:
        best = larger(best, _in_scaled_numbers(case, x, z, cutoff))
    if not (enough or is_tight(known, best, ENOUGH)):
        # Where costs are positive, a little less of everything leaves them a little of themselves.
        less = 1 - SHRUNK
        best = larger(best, _tried(subject, less * better.x, less * better.z, cutoff))
    best = _not_below_zero(case, best, better.z, cutoff)
    reason = better.reason or _without_limits(case)
    return best, "" if best is not None else reason


def _in_scaled_numbers(case: Case, x: Array, z: Array, cutoff: float) -> LowerBound | None:
    """The bound of multipliers that are repaired in numbers near 1, where rounding loses less."""
    scaled = case.factors.conic(case.conic)
    near = repaired(scaled.conic, scaled.scaled_point(x), scaled.scaled_multipliers(z))
    found = proven_bound(case.subject, near.x, near.z, cutoff, factors=case.factors)
    if found is None:  # cones that are not whole have no scaled form
        back = scaled.point(near.x), scaled.multipliers(near.z)
        found = _tried(case.subject, *back, cutoff)
    return found


def _without_limits(case: Case) -> str:
    """Why there is no bound, with the limits to write where a variable has neither cost nor limits.

    Of an intercept, say: however small what is left of its multipliers is, nothing bounds it.
    """
    form, curvature = case.form, case.classification.curvature
    endless = ~(np.isfinite(form.lower) | np.isfinite(form.upper)) & (form.objective.a == 0)
    if curvature is not None:
        endless &= curvature <= 0
    words = "what is left of stationarity acts on a variable without a limit"
    if not endless.any():
        return words
    name = form.columns.name(int(np.flatnonzero(endless)[0]))
    return f"{words}: {name} needs a row -B <= {name} <= B that keeps an optimum, or a price"


def _not_below_zero(
    case: Case, bound: LowerBound | None, z: Array, cutoff: float
) -> LowerBound | None:
    """The bound, or 0 where it is below that by no more than a rounding and 0 is proven."""
    if bound is not None and not is_nearly_zero(case, bound.varying):
        return bound
    return larger(bound, zero_bound(case.subject, z, cutoff))


def _worth(conic: ConicForm, x: Array, z: Array) -> float:
    """The bound of a point and multipliers that leave nothing of stationarity."""
    return -float(x @ (conic.P @ x)) / 2 - float(conic.b @ z)


def is_tight(known: float, bound: LowerBound | None, share: float = TIGHT) -> bool:
    """Whether nothing is to be gained from another bound."""
    if bound is None:
        return False
    return known - bound.varying <= share * max(abs(known), abs(bound.varying))


def larger(a: LowerBound | None, b: LowerBound | None) -> LowerBound | None:
    """The better one of two bounds of one subject; the first where they agree."""
    if a is None or b is None:
        return a or b
    return b if b.end > a.end else a


def _tried(subject: Subject, x: Array, z: Array, cutoff: float) -> LowerBound | None:
    """The better one of the bounds for all points and for those below the cutoff."""
    alone = proven_bound(subject, x, z, None)
    return larger(alone, _below_cutoff(subject, x, z, cutoff))


def _below_cutoff(subject: Subject, x: Array, z: Array, cutoff: float) -> LowerBound | None:
    """The bound of the first multipliers that prove one: as given, or near by."""
    found = proven_bound(subject, x, z, cutoff)
    others = _alternatives(subject, x, z, cutoff) if found is None else ()
    for other in others:
        found = proven_bound(subject, x, other, cutoff)
        if found is not None:
            break
    return found


def _alternatives(subject: Subject, x: Array, z: Array, cutoff: float) -> Iterator[Array]:
    """Multipliers that may leave nothing on a variable without a limit."""
    reach, curvature = subject.reach(cutoff), subject.classification.curvature
    if curvature is None or reach.empty or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return
    ready = prepared(subject.conic, z, reach)
    if ready is None:
        return
    conic, z = ready
    full = _at_full_price(conic, reach.high, z)
    if full is not None:
        yield _with_own_bounds(subject.conic, full)
    endless = ~(np.isfinite(reach.low) & np.isfinite(reach.high)) & (curvature <= 0)
    idle = endless & (conic.q == 0) & (np.diff(conic.P.indptr) == 0)
    rows = np.unique(conic.A[:, np.flatnonzero(idle)].indices)
    rows = rows[rows < len(conic.equal)]
    if z[rows].any():
        # Variables that cost nothing and are free, as in v = F'alpha: their rows prove nothing.
        without = z.copy()
        without[rows] = 0.0
        yield _with_own_bounds(subject.conic, without)
    residual = conic.P @ x + conic.q + conic.A.T @ z
    for share in SHARES:
        moved = with_room(conic, residual, z, np.flatnonzero(endless), reach, share)
        if moved is None:
            return
        yield _with_own_bounds(subject.conic, moved)


def _at_full_price(conic: ConicForm, high: Array, z: Array) -> Array | None:
    """Multipliers that leave nothing on slacks without a limit of which they left next to nothing.

    Where each point is a margin error, as in a nu-SVC at nu_max, no others are stationary. None
    where there is no such slack: a column in one row alone.
    """
    A = conic.A.tocsc()
    alone = (np.diff(A.indptr) == 1) & (np.diff(conic.P.indptr) == 0) & np.isinf(high)
    columns = np.flatnonzero(alone & (conic.q != 0))
    entries = A.indptr[columns]
    rows, price = A.indices[entries], -conic.q[columns] / A.data[entries]
    near = np.abs(z[rows] - price) <= FULL_PRICE * np.abs(price)
    if not near.any():
        return None
    moved = z.copy()
    moved[rows[near]] = price[near]
    return moved


def _with_own_bounds(conic: ConicForm, z: Array) -> Array:
    """Multipliers of the whole form, 0 for the rows that are bounds of single columns."""
    first = sum(map(len, (conic.equal, conic.low, conic.high)))
    lost = len(conic.low_bound) + len(conic.high_bound)
    return np.concatenate([z[:first], np.zeros(lost), z[first:]])


# --- The conditions of Karush, Kuhn and Tucker at a point and multipliers, each as one number ----
#     stationarity      P x + q + A'z = 0, column by column, relative to the terms of the column
#     dual cone         z >= 0 at inequalities, in the dual cone at cones, relative to the largest
#     complementarity   s'z = 0 for the slacks s = b - A x, relative to the objective's scale
#     curvature         P, and the Hessian of every quadratic row, positive semidefinite
# They describe what the solver returned. The verdict does not rest on them: it rests on
# feasibility and on the bound that repaired multipliers prove.


# Of the largest terms of a column: where nothing acts on a column, its residual is no news.
IDLE = 1e-3
# Eigenvalues of a matrix of this order take some 0.1 s; beyond it a Cholesky factor would do, and
# classify has decided convexity already.
EIGENVALUE_LIMIT = 600


def conditions(
    form: StandardForm, conic: ConicForm, duals: Multipliers, x: Array, scale: float
) -> dict[str, float]:
    """Residuals of the conditions, under the names of `solvers/result.py`.

    What overflows, at a point of 1e170 that a solver ran off to, is no number and is left out.

    form, conic: the model, and its conic form (of its continuous relaxation where it is integer).
    duals: as the solver gave them.
    x (n,): the point they belong to.
    scale: what complementarity is relative to, if it is not 0.
    """
    z = conic_multipliers(conic, duals)
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            "stationarity": stationarity(conic, x, z),
            "dual_cone_violation": dual_cone_violation(form, duals),
            "complementarity": abs(float((conic.b - conic.A @ x) @ z)) / (scale or 1.0),
        } | dict(_dual_eigenvalues(form, duals))
    return {name: value for name, value in found.items() if np.isfinite(value)}


def stationarity(conic: ConicForm, x: Array, z: Array) -> float:
    """Largest entry of P x + q + A'z, relative to the terms that make up its column."""
    left = np.abs(conic.P @ x + conic.q + conic.A.T @ z)
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + conic.sizes.T @ np.abs(z)
    floor = max(IDLE * float(size.max(initial=0.0)), 1e-300)
    return float((left / np.maximum(size, floor)).max(initial=0.0))


def dual_cone_violation(form: StandardForm, duals: Multipliers) -> float:
    """How far multipliers are outside their cones, relative to the largest of them.

    Linear rows count by what they add to a column, so that a row in other units counts the same.
    """
    parts = [
        *_outside(duals.rows * form.largest, form.row_lower, form.row_upper),
        *_outside(duals.bounds, form.lower, form.upper),
        *_outside_cones(form, duals),
    ]
    size = max((float(s) for _, s in parts), default=0.0)
    size = max(size, float(np.abs(form.objective.a).max(initial=0.0)), 1e-300)
    return max((float(v) for v, _ in parts), default=0.0) / size


def _outside(y: Array, lower: Array, upper: Array) -> Iterator[tuple[float, float]]:
    """Wrong-signed part of multipliers of two-sided rows, and their size."""
    wrong = np.where(np.isfinite(upper), 0.0, np.maximum(-y, 0.0))
    wrong = np.maximum(wrong, np.where(np.isfinite(lower), 0.0, np.maximum(y, 0.0)))
    yield float(wrong.max(initial=0.0)), float(np.abs(y).max(initial=0.0))


def _outside_cones(form: StandardForm, duals: Multipliers) -> Iterator[tuple[float, float]]:
    for row in form.quadratic:
        z = duals.cones.get(id(row.data))
        if z is not None:
            yield max(0.0, float(np.linalg.norm(z[1:]) - z[0])), float(np.linalg.norm(z))
    for psd in form.psd:
        Z = duals.cones.get(id(psd.data))
        if Z is not None:
            yield max(0.0, -_smallest_eigenvalue(Z)), float(np.linalg.norm(Z))


def _dual_eigenvalues(form: StandardForm, duals: Multipliers) -> Iterator[tuple[str, float]]:
    found = [duals.cones[id(row.data)] for row in form.psd if id(row.data) in duals.cones]
    if found:
        yield "dual_matrix_eigenvalue", min(map(_smallest_eigenvalue, found))


def matrix_facts(form: StandardForm, x: Array) -> dict[str, float]:
    """Smallest eigenvalue over the semidefinite rows at a point; empty without such rows."""
    found = [_smallest_eigenvalue(symmetric(row.F @ x + row.g)) for row in form.psd]
    return {"matrix_eigenvalue": min(found)} if found else {}


def curvature_facts(form: StandardForm, classification: Classification) -> dict[str, Any]:
    """Smallest eigenvalues of the Hessians; rows read as cones have none that counts."""
    found: dict[str, Any] = {}
    if form.objective.Q.nnz:
        smallest = _curvature(form.P)
        if smallest is not None:
            found["objective_curvature"] = smallest
    if form.quadratic:
        curvatures = list(_row_curvatures(form))
        found["row_curvature"] = min((c for c in curvatures if c >= 0), default=None)
        readings = zip(curvatures, classification.readings, strict=True)
        found["cone_rows"] = sum(c < 0 and r.cone is not None for c, r in readings)
    return found


def _curvature(P: sp.spmatrix) -> float | None:
    """Smallest eigenvalue of a Hessian over the columns that occur; None when that is too large."""
    diagonal = P.diagonal()
    if np.count_nonzero(P.data) == np.count_nonzero(diagonal):
        return float(diagonal[diagonal != 0].min(initial=np.inf))
    support = np.unique(P.nonzero()[0])
    if len(support) > EIGENVALUE_LIMIT:
        return None
    return _smallest_eigenvalue(P.tocsr()[support][:, support].toarray())


def _row_curvatures(form: StandardForm) -> Iterator[float]:
    """Of every quadratic row; a thousand rows of one family are computed once."""
    known: dict[tuple[object, ...], float] = {}
    for row in form.quadratic:
        sign = 1.0 if np.isfinite(row.upper) else -1.0
        key = (sign, *(part.tobytes() for part in (row.body.i, row.body.j, row.body.v)))
        if key not in known:
            known[key] = _row_curvature(row.body.shifted(sign, 0.0))
        yield known[key]


def _row_curvature(body: LocalQuadratic) -> float:
    """Smallest eigenvalue of a row's Hessian over the columns that occur in it quadratically."""
    k = len(body.index)
    hessian = sp.coo_matrix((2 * body.v, (body.i, body.j)), shape=(k, k)).toarray()
    support = np.unique(body.i)
    values = np.linalg.eigvalsh(hessian[np.ix_(support, support)])
    noise = 1e-11 * float(np.abs(values).max())
    return 0.0 if abs(values[0]) <= noise else float(values[0])


def _smallest_eigenvalue(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


# --- Our own lower bound on a model, from whatever multipliers there are -------------------------


# Entries of a linear program up to which an exact bound takes a few thousandths of a second; beyond
# that it takes two or three times as long as one that is the same to so much of the known value.
FEW_ENTRIES, LAST_DIGITS = 3_000, 1e-13

# Fact under which multipliers of others are kept, so that the bound can be proven again.
BOUND_DUALS = "bound_duals"
BOUND_POINT = "bound_point"  # of a quadratic program, whose weak duality is taken at a point


@dataclass(frozen=True)
class Bound:
    """Best proven bound so far.

    residuals: of the KKT conditions at the multipliers it comes from, as they were given.
    reason: why there is no bound.
    origin: said behind the words of the proof: whose multipliers they were.
    facts: with which it can be proven again.
    x (n,): the point that came with the multipliers where they are not those of the claim.
    written: the best one whose evidence a file can hold.
    """

    proof: LowerBound | None = None
    residuals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    origin: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    x: Array | None = None
    written: LowerBound | None = None

    @property
    def method(self) -> str:
        """How it is proven; empty without a bound."""
        return "" if self.proof is None else self.proof.words + self.origin

    @property
    def varying(self) -> float | None:
        """Its number without the constant of the objective."""
        return None if self.proof is None else self.proof.varying

    def value(self, constant: float) -> float | None:
        """Its number with the constant of the objective, rounded down."""
        return None if self.proof is None else self.proof.value(constant)

    def better(self, proof: LowerBound | None, facts: Mapping[str, Any] | None = None) -> Bound:
        """The larger of this bound and another one."""
        if proof is None:
            return self
        written = larger(self.written, None if proof.evidence is None else proof)
        if self.proof is not None and self.proof.end >= proof.end:
            return replace(self, written=written)
        return replace(self, proof=proof, reason="", origin="", facts=facts or {}, written=written)


def model_bound(case: Case, claim: Claim, early: EarlyBound | None = None) -> Bound:
    """Bound of the model itself, of its convex relaxation when some variables are integer.

    early() -> (LowerBound or None, bool): as for `searched_bound`; not asked where the solver has
        no multipliers.
    """
    form, classification = case.form, case.classification
    if not classification.relaxes_to_convex:
        return Bound(reason=f"no convex relaxation: {classification.reason}")
    x = np.zeros(form.n) if claim.x is None else claim.x
    if claim.duals is not None:
        return _from_multipliers(case, x, claim.duals, Bound(), early)
    # The solver has none; anybody's multipliers will do, because they are checked here.
    other = of_clarabel(case)
    if isinstance(other, str):
        return Bound(reason=f"no multipliers: {other}")
    x, duals = other
    facts: dict[str, Any] = {BOUND_DUALS: plain(named_duals(form, duals))}
    if form.is_quadratic:
        facts |= {BOUND_POINT: plain(named_values(case.model, form, x))}
    return _from_multipliers(case, x, duals, Bound(origin=" from clarabel", facts=facts, x=x))


def of_clarabel(case: Case, *, closer: bool = False) -> tuple[Array, Multipliers] | str:
    """Its point and multipliers, or why there are none.

    closer: in numbers near 1 and to smaller tolerances, whatever the numbers of the model are.
    """
    if not SOLVERS["clarabel"].installed:
        return "the solver gives none, and clarabel is missing"
    if is_over():
        return "the solver gives none, and the time is over"
    if needs_gigabytes(case.form):
        return "the solver gives none, and clarabel would need gigabytes"
    alone = Limits(seconds_left(), case.limits.threads)
    factors = case.factors if closer else case.scaling
    if factors is None:
        other = clarabel.run_conic(case.conic, len(case.form.rows), alone)
    else:
        other = clarabel.run_scaled(case.form, case.classification, alone, factors)
    if other.duals is None or other.x is None:
        return other.message
    return other.x, other.duals


def _from_multipliers(
    case: Case, x: Array, duals: Multipliers, found: Bound, early: EarlyBound | None = None
) -> Bound:
    """The bound at a point and multipliers, with what is already known of them."""
    form = case.form
    z = conic_multipliers(case.conic, duals)
    if not np.isfinite(z).all():
        return Bound(reason="the multipliers hold nan or infinity")
    known = form.objective.varying(x)
    if not np.isfinite(known):
        return Bound(reason=f"the objective is {known} at the point")
    residuals = conditions(form, case.conic, duals, x, abs(known))
    proof, reason = None, ""
    if not form.is_quadratic and not form.psd:
        proof = _linear_bound(case, x, z, known, duals.rows)
        if proof is not None and is_nearly_zero(case, proof.varying):
            proof = larger(proof, zero_bound(case.subject, z, max(known, 0.0)))
    if proof is None:
        proof, reason = searched_bound(case, x, z, known, early)
    written = None if proof is None or proof.evidence is None else proof
    return replace(found, proof=proof, residuals=residuals, reason=reason, written=written)


def _linear_bound(case: Case, x: Array, z: Array, known: float, y: Array) -> LowerBound | None:
    """The bound of a linear program: to the last digits of a large one, exact of any other."""
    form = case.form
    if form.columnwise.nnz > FEW_ENTRIES:
        near = proven_bound(case.subject, x, z, None)
        if near is not None and known - near.varying <= LAST_DIGITS * abs(known):
            return near
    return exact_lp_bound(case.subject, y)
