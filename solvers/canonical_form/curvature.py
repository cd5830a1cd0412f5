"""How much a quadratic form bends, proven: no eigenvalue is trusted to a tolerance.

For a symmetric Q the numbers c_j found here satisfy

    Q - diag(c) is positive semidefinite,

so that x'Qx >= x^'Qx^ + 2 (Qx^)'(x - x^) + sum_j c_j (x_j - x^_j)^2 for all x and x^. Blocks of
variables that Q does not connect are decided one by one:

    one variable        c_j = Q_jj
    definite            c_j = half of the smallest eigenvalue
    singular, small     c_j = 0, by elimination in rational numbers
    singular, large     c_j slightly negative: what rounding may have left below zero, which a bound
                        has to charge for

A block whose smallest eigenvalue is below the rounding of its own entries is not convex.

Definiteness is proven by a Cholesky factorisation that ends
(formulations/common/least_eigenvalue.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.common.least_eigenvalue import least_eigenvalue
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import is_semidefinite

# Entries of a Gram matrix are rounded sums of products; their errors add up over the order.
ROUNDING = 16 * UNIT
EXACT_ORDER = 24


@dataclass(frozen=True, eq=False)
class Curvature:
    """Proven curvature of x'Qx.

    Attributes
    ----------
    least : array (n,) or None
        c of the module's docstring; None where Q is not convex.
    negative : float
        The smallest eigenvalue of the first block that is not convex, else 0.
    """

    least: Array | None
    negative: float = 0.0

    @property
    def convex(self) -> bool:
        """Whether the form is convex, up to the rounding that `least` charges for."""
        return self.least is not None


def curvature(Q: sp.csr_matrix) -> Curvature:
    """Curvature of a symmetric form; see the module's docstring."""
    n = Q.shape[0]
    diagonal = Q.diagonal()
    if Q.nnz == np.count_nonzero(diagonal):
        smallest = float(diagonal.min(initial=0.0))
        return Curvature(diagonal) if smallest >= 0 else Curvature(None, smallest)
    least = np.zeros(n)
    used = np.unique(Q.nonzero()[0])
    inside = Q[used][:, used].tocsr()
    count, owner = connected_components(inside, directed=False)
    order = np.argsort(owner, kind="stable")
    blocks = np.split(order, np.cumsum(np.bincount(owner, minlength=count))[:-1])
    for block in blocks:
        found, smallest = block_curvature(inside[block][:, block].toarray())
        if found is None:
            return Curvature(None, smallest)
        least[used[block]] = found
    return Curvature(least)


def block_curvature(B: Array) -> tuple[float | None, float]:
    """c with B - c I proven semidefinite, or None, and the smallest eigenvalue as computed."""
    k = len(B)
    if k == 1:
        value = float(B[0, 0])
        return (value if value >= 0 else None), value
    smallest = float(np.linalg.eigvalsh(B)[0])
    proven = least_eigenvalue(B, 0.0) if smallest > 0 else None
    if proven is not None:
        return proven, smallest
    if k <= EXACT_ORDER:
        lines = [[Fraction(entry) for entry in line] for line in B.tolist()]
        if is_semidefinite(lines):
            return 0.0, 0.0
    noise = ROUNDING * k * float(np.abs(B).max())
    if smallest < -noise:
        return None, smallest
    # Twice what the factorisation itself may have lost, so that it can prove what is left.
    shift = 2 * noise + 8 * (k + 2) * UNIT * float(np.abs(np.diag(B)).sum())
    return (-shift, smallest) if proven_at_least(B, -shift) else (None, smallest)


def proven_at_least(B: Array, c: float) -> bool:
    """Whether B - c I is proven definite."""
    rounding = 2 * UNIT * (float(np.abs(np.diag(B)).max()) + abs(c))
    return least_eigenvalue(B - c * np.eye(len(B)), rounding) is not None
