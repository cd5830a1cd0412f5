"""Multipliers that are proven to lie in the dual cone."""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm, triangle_scale, unpack
from tightmargin.solvers.canonical_form.curvature import proven_at_least


def in_dual_cone(conic: ConicForm, z: Array) -> Array | None:
    """Multipliers that are proven to lie in the dual cone, near those given; None if none are."""
    z = z.copy()
    widths: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(z[block.rows], 0.0)
            case "soc":
                widths.setdefault(block.size, []).append(block.start)
            case "psd":
                found = _definite(z[block.rows])
                if found is None:
                    return None
                z[block.rows] = found
    for width, starts in widths.items():
        places = np.array(starts)[:, None] + np.arange(width)
        parts = z[places]
        top = np.abs(parts[:, 1:]).max(axis=1, initial=0.0)
        unit = np.where(top > 0, top, 1.0)  # no square over- or underflows
        norm = unit * np.sqrt(((parts[:, 1:] / unit[:, None]) ** 2).sum(axis=1))
        z[places[:, 0]] = np.maximum(parts[:, 0], norm * (1 + (width + 8) * 2 * UNIT))
    return z


def _definite(part: Array) -> Array | None:
    """Entries of a matrix that is proven semidefinite, a little more on the diagonal if need be.

    It is looked at with its diagonal near 1: a matrix of 1, 1e8 and 1e16 would drown in its
    rounding, and more of the same everywhere costs what the largest unknowns are worth.
    """
    Z = unpack(part)
    k = len(Z)
    if not Z.any():
        return part
    own = np.diag(Z)
    largest = float(own.max())
    if not largest > 0:
        return None
    exponents = np.frexp(np.maximum(own, largest * 1e-100))[1]
    factors = np.ldexp(1.0, -(exponents // 2))  # of two: nothing is rounded
    try:
        balanced = float(np.linalg.eigvalsh(Z * np.outer(factors, factors))[0])
        smallest = float(np.linalg.eigvalsh(Z)[0])
    except LinAlgError:
        return None
    rounding = (k + 4) * k * UNIT
    for more in (0.0, 8.0, 64.0):
        if balanced >= -more * rounding:
            found = _lifted(part, Z, own + 4 * more * rounding / factors**2, factors)
            if found is not None:
                return found
    size = float(np.abs(Z).max())
    for more in (0.0, 8.0, 64.0):
        shift = more * rounding * size + max(0.0, -smallest) * (1 + 1e-6 * bool(more))
        found = _lifted(part, Z, own + shift, factors)
        if found is not None:
            return found
    return None


def _lifted(part: Array, Z: Array, diagonal: Array, factors: Array) -> Array | None:
    """The entries with another diagonal; None where these are not proven semidefinite."""
    Z = Z.copy()
    np.fill_diagonal(Z, diagonal)
    if not proven_at_least(Z * np.outer(factors, factors), 0.0):
        return None
    lifted = part.copy()
    lifted[triangle_scale(len(Z)) == 1.0] = diagonal
    return lifted
