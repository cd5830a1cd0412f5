"""Products of z_i and 1 - z_i with the norm row and the cutoff row of the strengthened SDP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import augmented_weight
from tightmargin.formulations.conic.pair_terms import Terms, pair_number, picked
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, equal_rows, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def add_norm(
    m: pyo.ConcreteModel, data: TrainingData, bounds: SlackBounds, at: Index, intercept: str
) -> None:
    """Rows t_i + k_i = <D, W> with their limits and cones, see add_products."""
    weight = augmented_weight(m)
    counted = data.d if intercept == "free" else len(weight)
    m.t, m.k = (ArrayVar(m.O, lower=0.0) for _ in range(2))
    m.Y_rest = ArrayVar(m.O * m.K)
    own = picked(at, data.n, 1.0)
    diagonal = np.tile([1.0 if j == k < counted else 0.0 for j, k in m.L], (len(at), 1))
    m.share = equal_rows(m.O, [(1.0, m.t), (1.0, m.k), (-diagonal, m.W)], 0.0)
    m.norm_paid = AffineRows(m.O, [(1.0, m.t), (-bounds.norm2 * own, m.z)], upper=0.0)
    m.norm_kept = AffineRows(
        m.O, [(1.0, m.k), (bounds.norm2 * own, m.z)], upper=np.full(len(at), bounds.norm2)
    )
    columns: Terms = [(np.tile(np.eye(len(weight)), (len(at), 1))[:, : data.d], m.w)]
    if len(weight) > data.d:
        columns.append((np.tile(np.eye(len(weight))[-1], len(at)), m.b))
    both: Terms = [(-1.0, m.Y), (-1.0, m.Y_rest)]
    m.whole = equal_rows(m.OK, [*columns, *both], 0.0)

    def size(variable: Any, i: int) -> Any:
        return pyo.quicksum(variable[i, j] ** 2 for j in range(counted))

    m.cone_paid = rows_by_index(m.O, lambda i: size(m.Y, i) <= m.t[i] * m.z[i])
    m.cone_kept = rows_by_index(m.O, lambda i: size(m.Y_rest, i) <= m.k[i] * (1 - m.z[i]))


def add_cutoff(m: pyo.ConcreteModel, bounds: SlackBounds, at: Index, penalty: float) -> None:
    """Rows of the cutoff; what points that are violated for sure cost is taken off it."""
    k, n = len(at), len(bounds.lower)
    left = bounds.cutoff - penalty * int(bounds.violated.sum())
    i, j = (side[~np.eye(k, dtype=bool)] for side in np.indices((k, k)))
    both = sp.csr_matrix((np.ones(len(i)), (i, pair_number(i, j, k))), (k, len(m.Z)))
    others = sp.csr_matrix((np.ones(len(i)), (i, at[j])), (k, n))
    own = picked(at, n, 1.0)
    m.spent_paid = AffineRows(
        m.O, [(1.0, m.t), (penalty * both, m.Z), ((penalty - left) * own, m.z)], upper=0.0
    )
    m.spent_kept = AffineRows(
        m.O,
        [(1.0, m.k), (penalty * others + left * own, m.z), (-penalty * both, m.Z)],
        upper=np.full(k, left),
    )
