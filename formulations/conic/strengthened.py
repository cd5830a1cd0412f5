"""The SDP relaxation of the 0-1 loss together with what is known of some optimum.

Cepeda, Gomez & Han 2024, Theorem 2 (21), split at the margin and bounded on both sides. With
SlackBounds (slack_bounds.py) l_i <= v_i <= u_i of the violations v_i = 1 - y_i <w~, x~_i>, the
lifted point satisfies rows that the unbounded relaxation lacks; the notation is that of sdp.py.

z_i and 1 - z_i are nonnegative, so every row of the 0-1 problem may be multiplied by either
(Sherali & Adams, SIAM Journal on Discrete Mathematics 3, 1990). The new terms get variables,
for points i != j that are undecided,

    Y_i = z_i w~      Z_ij = z_i z_j = Z_ji      P_ij = z_i p_j
    t_i = z_i norm2   k_i = (1 - z_i) norm2

and v_j = 1 - y_j <w~, x~_j> = p_j - q_j gives z_i v_j = z_i - y_j <Y_i, x~_j> and
Q_ij = z_i q_j = P_ij - z_i v_j, written out below: with variables for Q solves were slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    two_class_formulation,
)
from tightmargin.formulations.conic.checks import ROOM, check_strengthened
from tightmargin.formulations.conic.sdp import lifted_norm
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import (
    AffineRows,
    dot,
    equal_rows,
    rows_by_index,
    shared,
    total,
)
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import (
    RotatedCones,
    complement,
    lower_pairs,
    outer_products,
    psd,
)
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.formulations.zero_one.conflicts import Conflicts
from tightmargin.formulations.zero_one.slack_bounds import Hyperplane, SlackBounds, stated_bounds

# --- Products of z_i and 1 - z_i with the rows of the strengthened SDP: reformulation-linearisation

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
    _add_decided_products(m, bounds, signed, at)
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


def _add_decided_products(
    m: pyo.ConcreteModel, bounds: SlackBounds, signed: Array, at: Index
) -> None:
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


# --- The SDP relaxation of the 0-1 loss together with what is known of some optimum --------------


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), with secant, norm and conflict rows",
    relaxes="zero_one_big_m",
    check=check_strengthened,
    takes=(TrainingData,),
)
def conic_sdp_strengthened(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    slack_bounds: SlackBounds | Mapping[str, Any] | str = "derived",
    incumbent: Hyperplane | None = None,
    conflicts: Conflicts | str = "none",
    products: str = "none",
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with bounds on the violations, the norm and the intercept.

        min   <D, W> + penalty sum_i z_i                  D = I (features only if b is free)

    subject to the rows of `strengthened_model`. All of them hold at some optimum of the 0-1
    problem, with z_i = 1 where v_i > 0, p_i = (v_i)_+, q_i = (v_i)_-, s_i = p_i^2, r_i = q_i^2,
    W = w~ w~', so the value is a lower bound, and never below that of conic_sdp with the bound
    on b. It is at most the known objective `cutoff`: a value that reaches the cutoff proves it
    optimal.

    Parameters
    ----------
    slack_bounds : SlackBounds, mapping of its fields, or "derived"
        "derived" takes the closed forms of slack_bounds.py from `incumbent`. Bounds that are
        tighter are trusted for the proof they carry unless a known point speaks against them;
        a mapping, say from a file, is nobody's proof.
    incumbent : (w, b), optional
        A known hyperplane; the best one with w = 0 otherwise.
    conflicts : "none", "pairs" or tuple of tuples of int
        Rows sum_S z_i >= 1: those of the bounds, and with "pairs" those of
        zero_one/conflicts.py, or
        given ones. Disjoint conflicts also lower the norm row by the penalty each.
    products : "none", "linear", "norm" or "cutoff"
        Products of z_i and 1 - z_i with the bounds and conflicts, with the norm as well, and with
        the cutoff: see `add_products`. They cost a second at n = 40 and half a minute at n = 100.

    The penalty is no Param: the bounds are derived from it, so a new one needs a new model. Names
    here -> in the paper: penalty -> lambda.
    """
    cost = positive("penalty", penalty)
    bounds = stated_bounds(data, slack_bounds, incumbent, conflicts, cost, intercept)
    m = strengthened_model(data, bounds, penalty=cost, intercept=intercept, products=products)
    m.objective = pyo.Objective(
        expr=total(lifted_norm(m, intercept), cost * dot(data.multiplicity, m.z))
    )
    return m


def strengthened_model(
    data: TrainingData,
    bounds: SlackBounds,
    *,
    penalty: float,
    intercept: str,
    products: str = "none",
    below_cutoff: bool = False,
) -> pyo.ConcreteModel:
    """Rows of conic_sdp_strengthened, for any objective.

    Let L_i = -l_i, U_i = u_i for the undecided points (set O), l_i <= 0 < u_i, and T_i as in
    sdp.py.

        outer        [[W, w~], [w~', 1]] is semidefinite
        split[i]     p_i - q_i + u_i = 1,                     p_i, q_i >= 0       i in O
        lifted[i]    T_i = s_i + r_i,                         s_i, r_i >= 0
        inside[i]    p_i^2 <= s_i z_i,                        0 <= z_i <= 1
        outside[i]   q_i^2 <= r_i (1 - z_i)
        far[i]       s_i <= U_i p_i          near[i]   r_i <= L_i q_i
        paid[i]      p_i <= U_i z_i          unpaid[i] q_i <= L_i (1 - z_i)
        decided[i]   l_i <= v_i <= u_i,      z_i = 1 where l_i > 0, z_i = 0 where u_i <= 0
        chord[i]     T_i <= (l_i + u_i) v_i - l_i u_i                       i not in O
        norm_row     <D, W> <= norm2
        offset_row   W_bb <= (b_low + b_high) b - b_low b_high
        conflict[S]  sum_S z_i >= 1
        cutoff_row   <D, W> + penalty sum_i z_i <= cutoff       (below_cutoff only)

    Products of two inequalities of the 0-1 problem each: (v - l)(u - v) >= 0 on one side of 0 is
    `far` or `near`, both sides of it `chord`.

    penalty: for the cutoff row and for products.
    below_cutoff: whether only points no worse than bounds.cutoff are wanted, as in bound
        tightening.
    """
    one_of("products", products, PRODUCTS)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    weight = augmented_weight(m)
    m.L = pyo.Set(initialize=lower_pairs(len(weight)), dimen=2)
    m.W = ArrayVar(m.L)
    rows = [[m.W[j, k] for k in range(j + 1)] for j in range(len(weight))]
    psd(m, "outer", [*rows, [*weight, 1.0]])
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_undecided(m, data, bounds)
    _add_decided(m, data, bounds)
    m.norm_row = pyo.Constraint(expr=lifted_norm(m, intercept) <= bounds.norm2)
    if intercept != "none":
        low, high = bounds.intercept
        corner = m.W[data.d, data.d]
        m.offset_row = pyo.Constraint(expr=corner - (low + high) * m.b <= -low * high)
    if bounds.conflicts:
        m.C = pyo.RangeSet(0, len(bounds.conflicts) - 1)
        m.conflict = AffineRows(m.C, [(membership(bounds.conflicts, data.n), m.z)], lower=1.0)
    if below_cutoff:
        spent = total(lifted_norm(m, intercept), dot(prices_below(penalty, data.multiplicity), m.z))
        m.cutoff_row = pyo.Constraint(expr=spent <= bounds.cutoff)
    if products != "none":
        add_products(
            m, data, bounds, penalty=penalty, intercept=intercept, products=products, room=ROOM
        )
    return m


def prices_below(penalty: float, multiplicity: Any) -> Any:
    """What the points pay as doubles, none above penalty times its weight: a row stays valid."""
    products = penalty * np.asarray(multiplicity, dtype=np.float64)
    return np.where(np.asarray(multiplicity) == 1, penalty, np.nextafter(products, 0.0))


def membership(conflicts: Conflicts, n: int) -> sp.csr_matrix:
    """Row k has ones at the points of conflict k, (number of conflicts, n)."""
    rows = np.repeat(np.arange(len(conflicts)), [len(points) for points in conflicts])
    columns = np.concatenate([np.asarray(points, dtype=np.int64) for points in conflicts])
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(conflicts), n))


def _score(m: pyo.ConcreteModel, data: TrainingData, at: Index, factor: Any) -> list[Any]:
    """Terms of factor_i u_i for the rows of some points."""
    scale = factor * data.y[at]
    terms: list[Any] = [((scale, data.X[at]), m.w)]
    return [*terms, (scale, m.b)] if m.find_component("b") is not None else terms


def _lift(m: pyo.ConcreteModel, data: TrainingData, at: Index) -> list[Any]:
    """Terms of <x~_i x~_i', W> for the rows of some points."""
    mode = "free" if m.find_component("b") is not None else "none"
    return [(shared(outer_products(augmented(data, mode)[at])), m.W)]


def _add_undecided(m: pyo.ConcreteModel, data: TrainingData, bounds: SlackBounds) -> None:
    at = np.flatnonzero(~(bounds.kept | bounds.violated))
    m.O = pyo.Set(initialize=at.tolist())
    far, near = np.maximum(bounds.upper[at], ROOM), np.maximum(-bounds.lower[at], ROOM)
    own = sp.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), data.n))
    m.p, m.q, m.s, m.r = (ArrayVar(m.O, lower=0.0) for _ in range(4))
    u = _score(m, data, at, 1.0)
    m.split = equal_rows(m.O, [*u, (1.0, m.p), (-1.0, m.q)], 1.0)
    squares = [*_lift(m, data, at), *_score(m, data, at, -2.0)]
    m.lifted = equal_rows(m.O, [*squares, (-1.0, m.s), (-1.0, m.r)], -1.0)
    m.inside = RotatedCones(m.O, m.p, m.s, m.z)
    m.outside = RotatedCones(m.O, m.q, m.r, complement(m.z))
    m.far = AffineRows(m.O, [(far, m.p), (-1.0, m.s)], lower=0.0)
    m.near = AffineRows(m.O, [(near, m.q), (-1.0, m.r)], lower=0.0)
    m.paid = AffineRows(m.O, [((far, own), m.z), (-1.0, m.p)], lower=0.0)
    m.unpaid = AffineRows(m.O, [((near, own), m.z), (1.0, m.q)], upper=near)


def _add_decided(m: pyo.ConcreteModel, data: TrainingData, bounds: SlackBounds) -> None:
    at = np.flatnonzero(bounds.kept | bounds.violated)
    if not at.size:
        return
    m.F = pyo.Set(initialize=at.tolist())
    for i in at.tolist():
        m.z[i].fix(1.0 if bounds.violated[i] else 0.0)
    low, high = bounds.lower[at], bounds.upper[at]
    m.decided = AffineRows(m.F, _score(m, data, at, 1.0), lower=1 - high, upper=1 - low)
    # T_i + (l + u - 2) u_i - ..., with T_i = <x~ x~', W> - 2 u_i + 1 and v_i = 1 - u_i.
    terms = [*_lift(m, data, at), *_score(m, data, at, low + high - 2)]
    m.chord = AffineRows(m.F, terms, upper=low + high - low * high - 1)
