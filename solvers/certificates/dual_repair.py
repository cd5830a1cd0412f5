"""Approximate multipliers repaired until stationarity holds as nearly as doubles allow.

A bound (proofs/weak_duality.py) charges every entry of r = P x^ + q + A'z with the limits of
its variable, so that little is left of it where a solver's z has a residual of about its tolerance.
So z is moved within its cone, in the affine scaling of an interior-point method (entries near the
boundary move least), and x^ along P, until the residual is at rounding level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import ConicForm, pack, unpack
from tightmargin.solvers.certificates.normal_matrix import NormalMatrix, Root, solved
from tightmargin.solvers.execution.deadline import is_over

ROUNDS = 12


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


def repaired(
    conic: ConicForm, x: Array, z: Array, names: Callable[[], Sequence[str]] | None = None
) -> Repaired:
    """Make a point and multipliers stationary; whatever comes out, a bound is proven elsewhere.

    Parameters
    ----------
    names : callable, optional
        Gives the names of the columns, which a failure alone asks for.
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
