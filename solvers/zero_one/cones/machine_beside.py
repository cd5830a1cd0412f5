"""The soft-margin machine beside rows of w and b, for good hyperplanes of the ramp loss.

    min_v  1/2 v'Pv + sum_i c_i max(0, 1 - g_i'v)   s.t.   R v <= s

An interior-point method says which points touch the margin and which rows are equations; with
those, v solves linear equations, and meets what it touches as nearly as doubles can.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array

NEAR = 1e-6  # of the margin, and of the size of a row


def machine_beside(G: Array, price: Array, costs: Array, R: Array, s: Array) -> list[Array]:
    """The machine's v (k,) as the method ends, and as the equations have it; none where none is.

    Parameters
    ----------
    G : array (n, k)
        Rows g_i.
    price : array (k,) of 0 and 1
        Diagonal of P.
    costs : array (n,)
        c_i >= 0; 0 leaves the point out.
    R, s : arrays (m, k), (m,)
    """
    unit = np.abs(G).max(axis=0, initial=0.0)
    unit[unit == 0] = 1.0
    there = costs > 0
    G, c, P = G[there] / unit, costs[there], price / unit**2
    R, s = R / unit, np.asarray(s, dtype=float)
    size = np.maximum(np.abs(R).max(axis=1, initial=0.0), np.abs(s) * (~R.any(axis=1)))
    R, s = R[size > 0] / size[size > 0, None], s[size > 0] / size[size > 0]
    v = _by_interior_point(G, P, c, R, s)
    if v is None:
        return []
    polished = _on_equations(G, P, c, R, s, v)
    return [found / unit for found in (v, polished) if np.isfinite(found).all()]


def _by_interior_point(G: Array, P: Array, c: Array, R: Array, s: Array) -> Array | None:
    import clarabel

    (n, k), m = G.shape, len(s)
    scale = float(max(P.max(initial=0.0), c.max(initial=0.0))) or 1.0
    eye = sp.identity(n)
    blocks = [[-sp.csc_matrix(G), -eye], [sp.csc_matrix((n, k)), -eye]]
    blocks.append([sp.csc_matrix(R), sp.csc_matrix((m, n))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.block_diag([sp.diags(P / scale), sp.csc_matrix((n, n))], format="csc"),
        np.r_[np.zeros(k), c / scale],
        sp.bmat(blocks, format="csc"),
        np.r_[-np.ones(n), np.zeros(n), s],
        [clarabel.NonnegativeConeT(2 * n + m)],
        settings,
    )
    found = solver.solve()
    x = np.array(found.x)
    return x[:k] if "Solved" in str(found.status) and np.isfinite(x).all() else None


def _on_equations(G: Array, P: Array, c: Array, R: Array, s: Array, v: Array) -> Array:
    """P v = sum over the slope of c_i g_i + pulls of what is touched, which is met."""
    u = G @ v
    touched, slope = np.abs(u - 1) <= NEAR, u < 1 - NEAR
    size = np.abs(R) @ np.abs(v) + np.abs(s)
    active = np.abs(R @ v - s) <= NEAR * size
    lines, right = np.vstack([G[touched], R[active]]), np.r_[np.ones(int(touched.sum())), s[active]]
    k, m = len(v), len(right)
    # One step from v, so that what the equations leave open stays where it is.
    system = np.block([[np.diag(P), lines.T], [lines, np.zeros((m, m))]])
    rest = np.r_[c[slope] @ G[slope] - P * v, right - lines @ v]
    step = np.linalg.lstsq(system, rest, rcond=None)[0]
    return np.asarray(v + step[:k])
