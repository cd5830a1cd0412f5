"""Products of z_i and 1 - z_i with the rows of the strengthened SDP: reformulation-linearisation.

z_i and 1 - z_i are nonnegative, so every row of the 0-1 problem may be multiplied by either
(Sherali & Adams, SIAM Journal on Discrete Mathematics 3, 1990). The new terms get variables,
for points i != j that are undecided,

    Y_i = z_i w~      Z_ij = z_i z_j = Z_ji      P_ij = z_i p_j
    t_i = z_i norm2   k_i = (1 - z_i) norm2

and v_j = 1 - y_j <w~, x~_j> = p_j - q_j gives z_i v_j = z_i - y_j <Y_i, x~_j> and
Q_ij = z_i q_j = P_ij - z_i v_j, written out below: with variables for Q solves were slower.

Products of z_i and 1 - z_i with the norm row and the cutoff row of the strengthened SDP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.common.hyperplane import augmented, augmented_weight
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, equal_rows, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds

PRODUCTS = ("none", "linear", "norm", "cutoff")
Terms = list[tuple[Any, Any]]


def add_products(
    m: pyo.ConcreteModel,
    data: TrainingData,
    bounds: SlackBounds,
    *,
    penalty: float,
    intercept: str,
    products: str,
    room: float,
) -> None:
    """Rows of the products, each kind together with those before it.

    linear   of z_i and of 1 - z_i with 0 <= p_j <= U_j z_j, 0 <= q_j <= L_j (1 - z_j),
             0 <= z_j <= 1 and v_j = p_j - q_j:

                 z_i v_i = p_i
                 P_ij <= U_j Z_ij                      p_j - P_ij <= U_j (z_j - Z_ij)
                 Q_ij <= L_j (z_i - Z_ij)              q_j - Q_ij <= L_j (1 - z_i - z_j + Z_ij)
                 0 <= P_ij <= p_j                      0 <= Q_ij <= q_j
                 0 <= Z_ij <= z_i                      Z_ij >= z_i + z_j - 1

             with l_j <= v_j <= u_j of a decided point, with |w_k| <= sqrt(norm2),
             b_low <= b <= b_high, and of 1 - z_i with sum_S z >= 1 for the i of S.

    norm     with norm2 = <D, W>, which needs cones:

                 t_i + k_i = <D, W>          t_i <= norm2 z_i      k_i <= norm2 (1 - z_i)
                 ||D Y_i||^2 <= t_i z_i      ||D (w~ - Y_i)||^2 <= k_i (1 - z_i)

    cutoff   with <D, W> + penalty sum z <= cutoff, in long rows that cost much from n = 60 on:

                 t_i + penalty (z_i + sum_j Z_ij)        <= cutoff z_i
                 k_i + penalty sum_j (z_j - Z_ij)        <= cutoff (1 - z_i)

    room: least width U_j, L_j of a side, as for the rows that are multiplied.
    """
    at = np.asarray(list(m.O), dtype=np.intp)
    if not at.size:
        return
    signed = data.y[:, None] * augmented(data, intercept)
    _add_variables(m, signed.shape[1])
    here = PointPairs(m, signed, at, at, np.arange(len(at)))
    m.own = equal_rows(m.O, [here.product(1.0), here.z(1.0), (-1.0, m.p)], 0.0)
    if len(at) > 1:
        _add_pairs(m, bounds, signed, at, room)
    _add_decided(m, bounds, signed, at)
    _add_boxes(m, data, bounds, at, intercept)
    if bounds.conflicts and len(at) > 1:
        _add_conflicts(m, bounds, at)
    if products != "linear":
        add_norm(m, data, bounds, at, intercept)
    if products == "cutoff":
        add_cutoff(m, bounds, at, data.prices(penalty))


def _add_variables(m: pyo.ConcreteModel, width: int) -> None:
    m.K = pyo.RangeSet(0, width - 1)
    m.Y = ArrayVar(m.O * m.K)
    points = list(m.O)
    m.IJ = pyo.Set(initialize=[(i, j) for i in points for j in points if i != j], dimen=2)
    m.H = pyo.Set(initialize=[(i, j) for i in points for j in points if i < j], dimen=2)
    m.Z, m.P = (ArrayVar(index, lower=0.0) for index in (m.H, m.IJ))


def _add_pairs(
    m: pyo.ConcreteModel, bounds: SlackBounds, signed: Array, at: Index, room: float
) -> None:
    k = len(at)
    i, j = (side[~np.eye(k, dtype=bool)] for side in np.indices((k, k)))
    pairs = PointPairs(m, signed, at[i], at[j], i)
    far = rounded_sides(np.maximum(bounds.upper[at[j]], room))
    near = rounded_sides(np.maximum(-bounds.lower[at[j]], room))

    def both(factor: Any) -> tuple[Any, Any]:
        return picked(pair_number(i, j, k), len(m.Z), factor), m.Z

    def of_second(factor: float, variable: Any) -> tuple[Any, Any]:
        return picked(j, k, factor), variable

    def rows(terms: Terms, **sides: Any) -> AffineRows:
        return AffineRows(m.IJ, terms, **sides)

    p, less_p = (1.0, m.P), (-1.0, m.P)
    q: Terms = [p, pairs.product(-1.0)]  # Q_ij = P_ij - z_i v_j, up to its z_i
    less_q: Terms = [less_p, pairs.product(1.0)]
    m.paid_both = rows([p, both(-far)], upper=0.0)
    m.paid_first = rows([*q, pairs.z(-1 - near), both(near)], upper=0.0)
    m.paid_second = rows(
        [of_second(1.0, m.p), less_p, (picked(at[j], len(signed), -far), m.z), both(far)],
        upper=0.0,
    )
    m.paid_neither = rows(
        [of_second(1.0, m.q), *less_q, pairs.z(1 + near, near), both(-near)], upper=near
    )
    m.part_of_p = rows([p, of_second(-1.0, m.p)], upper=0.0)
    m.part_of_q = rows([*q, pairs.z(-1.0), of_second(-1.0, m.q)], upper=0.0)
    m.no_less = rows([*q, pairs.z(-1.0)], lower=0.0)
    m.part_of_z = rows([both(1.0), pairs.z(-1.0)], upper=0.0)
    low, high = np.triu_indices(k, 1)
    ends = picked(at[low], len(signed), 1.0) + picked(at[high], len(signed), 1.0)
    m.cover = AffineRows(m.H, [(ends, m.z), (-1.0, m.Z)], upper=1.0)


def _add_decided(m: pyo.ConcreteModel, bounds: SlackBounds, signed: Array, at: Index) -> None:
    decided = np.flatnonzero(bounds.kept | bounds.violated)
    if not decided.size:
        return
    m.IF = m.O * m.F
    i, j = (side.ravel() for side in np.meshgrid(np.arange(len(at)), decided, indexing="ij"))
    pairs = PointPairs(m, signed, at[i], j, i)
    low, high = bounds.lower[j], bounds.upper[j]
    m.within_high = AffineRows(m.IF, [pairs.product(1.0), pairs.z(1 - high)], upper=0.0)
    m.within_low = AffineRows(m.IF, [pairs.product(1.0), pairs.z(1 - low)], lower=0.0)
    rest = [*pairs.slope(1.0), pairs.product(-1.0)]
    m.without_high = AffineRows(m.IF, [*rest, pairs.z(high - 1)], upper=high - 1)
    m.without_low = AffineRows(m.IF, [*rest, pairs.z(low - 1)], lower=low - 1)


def _add_boxes(
    m: pyo.ConcreteModel, data: TrainingData, bounds: SlackBounds, at: Index, intercept: str
) -> None:
    width, radius = len(m.K), np.sqrt(bounds.norm2) * (1 + 1e-12)
    low, high = np.full(width, -radius), np.full(width, radius)
    if intercept != "none":
        low[-1], high[-1] = bounds.intercept
    low, high = np.tile(low, len(at)), np.tile(high, len(at))
    points = np.repeat(at, width)
    m.OK = m.O * m.K
    weight: Terms = [(np.tile(np.eye(width), (len(at), 1))[:, : data.d], m.w)]
    if intercept != "none":
        weight.append((np.tile(np.eye(width)[-1], len(at)), m.b))

    def z(factor: Array) -> tuple[Any, Any]:
        return picked(points, data.n, factor), m.z

    m.box_high = AffineRows(m.OK, [(1.0, m.Y), z(-high)], upper=0.0)
    m.box_low = AffineRows(m.OK, [(1.0, m.Y), z(-low)], lower=0.0)
    m.rest_high = AffineRows(m.OK, [*weight, (-1.0, m.Y), z(high)], upper=high)
    m.rest_low = AffineRows(m.OK, [*weight, (-1.0, m.Y), z(low)], lower=low)


def _add_conflicts(m: pyo.ConcreteModel, bounds: SlackBounds, at: Index) -> None:
    """(1 - z_i) (sum_S z - 1) >= 0 for i in S: the others of S alone pay where i is kept."""
    place = {int(point): k for k, point in enumerate(at)}
    rows = []
    for points in bounds.conflicts:
        if bounds.violated[list(points)].any():
            continue
        left = [place[i] for i in points if i in place]
        rows += [(i, [j for j in left if j != i]) for i in left]
    if not rows:
        return
    m.E = pyo.RangeSet(0, len(rows) - 1)
    r = np.repeat(np.arange(len(rows)), [len(others) for _, others in rows])
    first = np.array([i for i, others in rows for _ in others], dtype=np.intp)
    others = np.array([j for _, group in rows for j in group], dtype=np.intp)
    ones = np.ones(len(r))
    n, shape = len(bounds.lower), (len(rows), len(m.Z))
    z = sp.csr_matrix((ones, (r, at[others])), (len(rows), n))
    z = z + picked(at[[i for i, _ in rows]], n, 1.0)
    both = sp.csr_matrix((ones, (r, pair_number(first, others, len(at)))), shape)
    m.conflict_kept = AffineRows(m.E, [(z, m.z), (-both, m.Z)], lower=1.0)


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


def add_cutoff(m: pyo.ConcreteModel, bounds: SlackBounds, at: Index, prices: Array) -> None:
    """Rows of the cutoff at prices (n,); what points that are violated for sure cost is off it."""
    k, n = len(at), len(bounds.lower)
    left = bounds.cutoff - float(prices[bounds.violated].sum())
    i, j = (side[~np.eye(k, dtype=bool)] for side in np.indices((k, k)))
    both = sp.csr_matrix((prices[at[j]], (i, pair_number(i, j, k))), (k, len(m.Z)))
    others = sp.csr_matrix((prices[at[j]], (i, at[j])), (k, n))
    m.spent_paid = AffineRows(
        m.O, [(1.0, m.t), (both, m.Z), (picked(at, n, prices[at] - left), m.z)], upper=0.0
    )
    m.spent_kept = AffineRows(
        m.O,
        [(1.0, m.k), (others + picked(at, n, left), m.z), (-both, m.Z)],
        upper=np.full(k, left),
    )


# --- coefficients of products of variables --------------------------------------------------------


def rounded_sides(sizes: Array) -> Array:
    """The sizes rounded up to numbers whose sum with 1 is a double.

    A conflict makes rows equations that hold together only where 1 + L_j is not rounded.
    """
    exponents = np.frexp(sizes)[1]
    grid = np.exp2(np.clip(exponents - 50, -40, None))
    return np.ceil(sizes / grid) * grid


def picked(columns: Index, width: int, factor: Any) -> sp.csr_matrix:
    """Row r holds factor_r in one column, (N, width)."""
    values = np.broadcast_to(np.asarray(factor, dtype=float), columns.shape)
    return sp.csr_matrix((values, columns, np.arange(len(columns) + 1)), (len(columns), width))


def pair_number(i: Index, j: Index, count: int) -> Index:
    """Position of {i, j} among the unordered pairs of `count` elements, row by row."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * count - low * (low + 1) // 2 + high - low - 1


@dataclass(frozen=True, eq=False)
class PointPairs:
    """Ordered pairs (i, j) of points, i undecided, as matrices that pick their variables.

    first, second (N,): the points i and j.
    own (N,): position of i among the undecided points.
    """

    m: pyo.ConcreteModel
    signed: Array  # rows y_j x~_j
    first: Index
    second: Index
    own: Index

    def z(self, of_first: Any, of_second: Any = None) -> tuple[Any, Any]:
        """of_first z_i + of_second z_j."""
        n = len(self.signed)
        found = picked(self.first, n, of_first)
        return (found if of_second is None else found + picked(self.second, n, of_second)), self.m.z

    def product(self, factor: float) -> tuple[Any, Any]:
        """factor (z_i v_j - z_i)."""
        width = self.signed.shape[1]
        columns = self.own[:, None] * width + np.arange(width)
        entries = sp.csr_matrix(
            (
                (-factor * self.signed[self.second]).ravel(),
                columns.ravel(),
                np.arange(0, columns.size + 1, width),
            ),
            shape=(len(self.own), len(self.m.Y)),
        )
        return entries, self.m.Y

    def slope(self, factor: float) -> Terms:
        """factor (v_j - 1)."""
        rows = -factor * self.signed[self.second]
        d = len(self.m.w)
        terms: Terms = [(rows[:, :d], self.m.w)]
        return [*terms, (rows[:, d], self.m.b)] if rows.shape[1] > d else terms
