"""Approximate multipliers repaired until stationarity holds as nearly as doubles allow.

A bound (proofs/weak_duality.py) charges every entry of r = P x^ + q + A'z with the limits of
its variable, so that little is left of it where a solver's z has a residual of about its tolerance.
So z is moved within its cone, in the affine scaling of an interior-point method (entries near the
boundary move least), and x^ along P, until the residual is at rounding level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm, pack, triangle_scale, unpack

Index = NDArray[np.int64]

ROUNDS = 12
DENSE_LIMIT = 5000


@dataclass(frozen=True, eq=False)
class Repaired:
    """A point and multipliers near the given ones, and how far those were off.

    Attributes
    ----------
    x, z : arrays
        As nearly stationary as double precision allows, when `reason` is empty.
    residual : float
        Stationarity of the multipliers as given, relative to the objective's size.
    reason : str
        Where stationarity could not be reached.
    """

    x: Array
    z: Array
    residual: float
    reason: str = ""


def repaired(conic: ConicForm, x: Array, z: Array, names: tuple[str, ...] = ()) -> Repaired:
    """Make a point and multipliers stationary; whatever comes out, a bound is proven elsewhere."""
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
        x_step, z_step = _correction(conic, z, -r)
        x_hat = x_hat + x_step
        z = into_cone(conic, z + z_step)
    worst = int(np.argmax(np.abs(r) - allowed))
    name = names[worst] if names else f"column {worst}"
    reason = f"stationarity of {name} stays at {r[worst]:.2e} after repair"
    return Repaired(x_hat, z, residual, reason)


def _rounding(conic: ConicForm, x: Array, z: Array) -> Array:
    """Size of the rounding error in evaluating the residual, column by column."""
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + abs(conic.A).T @ np.abs(z)
    return 4e-15 * (size + float(size.max(initial=1e-300)))


def into_cone(conic: ConicForm, z: Array) -> Array:
    """Nearest point of the dual cone, a hair inside for second-order and semidefinite blocks."""
    z = z.copy()
    for block in conic.blocks:
        part = z[block.rows]
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(part, 0.0)
            case "soc":
                z[block.rows] = _into_soc(part)
            case "psd":
                z[block.rows] = _into_psd(part)
    return z


def _into_soc(part: Array) -> Array:
    norm = float(np.linalg.norm(part[1:]))
    floor = norm * (1 + 4e-16)
    if part[0] >= floor:
        return part
    if part[0] <= -norm:
        return np.zeros_like(part)
    out = part.copy()
    out[0] = floor
    return out


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
    scaled = _scaling(conic, z) @ conic.A
    normal = (conic.A.T @ scaled).tocsc()
    curvature = conic.P @ conic.P / max(float(np.abs(conic.P.data).max(initial=0.0)), 1e-300)
    if conic.P.nnz:
        normal = normal + curvature
    multiplier = _solve(normal, target)
    x_step = np.zeros(len(target))
    if conic.P.nnz:
        x_step = (conic.P @ multiplier) / float(np.abs(conic.P.data).max())
    return x_step, np.asarray(scaled @ multiplier).ravel()


def _solve(normal: sp.csc_matrix, target: Array) -> Array:
    """Solve a semidefinite, badly scaled system: diagonal scaling, a tiny shift, refinement."""
    diagonal = normal.diagonal()
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:  # multipliers that are all zero: nothing can be moved
        return np.zeros(len(target))
    scale = 1 / np.sqrt(np.maximum(diagonal, 1e-30 * largest))
    balanced = (sp.diags(scale) @ normal @ sp.diags(scale)).tocsc()
    apply_inverse = _factorised(balanced + 1e-13 * sp.identity(len(scale), format="csc"))
    right = scale * target
    solution = apply_inverse(right)
    for _ in range(3):
        solution = solution + apply_inverse(right - balanced @ solution)
    return scale * solution


def _factorised(matrix: sp.csc_matrix) -> Callable[[Array], Array]:
    n = matrix.shape[0]
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


def _scaling(conic: ConicForm, z: Array) -> sp.csr_matrix:
    """Quadratic representation of the square root of z: positive definite inside the cone."""
    size = max(1.0, float(np.abs(z).max(initial=0.0)))
    diagonal = np.zeros(len(z))
    entries: list[tuple[Array, Index, Index]] = []
    cones: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "zero":
                diagonal[block.rows] = size
            case "nonneg":
                diagonal[block.rows] = z[block.rows]
            case "soc":
                cones.setdefault(block.size, []).append(block.start)
            case "psd":
                entries.append(_placed(_psd_scaling(z[block.rows])[None], np.array([block.start])))
    for width, starts in cones.items():
        first = np.array(starts)
        parts = z[first[:, None] + np.arange(width)]
        entries.append(_placed(_soc_scalings(parts), first))
    everywhere = np.arange(len(z))
    values, rows, columns = (
        np.concatenate(part)
        for part in zip((diagonal, everywhere, everywhere), *entries, strict=True)
    )
    return sp.csr_matrix((values, (rows, columns)), shape=(len(z), len(z)))


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


def _psd_scaling(z: Array) -> Array:
    """S -> Z^(1/2) S Z^(1/2) in svec coordinates."""
    values, vectors = np.linalg.eigh(unpack(z))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    k = len(root)
    i, j = np.tril_indices(k)
    products = root[np.ix_(i, i)] * root[np.ix_(j, j)] + root[np.ix_(i, j)] * root[np.ix_(j, i)]
    scale = triangle_scale(k)
    return np.asarray(products * scale[:, None] * scale[None, :] / 2)
