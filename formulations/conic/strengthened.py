"""The SDP relaxation of the 0-1 loss together with what is known of some optimum.

Cepeda, Gomez & Han 2024, Theorem 2 (21), split at the margin and bounded on both sides. With
SlackBounds (slack_bounds.py) l_i <= v_i <= u_i of the violations v_i = 1 - y_i <w~, x~_i>, the
lifted point satisfies rows that the unbounded relaxation lacks; the notation is that of sdp.py.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from tightmargin.formulations.conic.rlt import PRODUCTS, add_products
from tightmargin.formulations.data.arrays import Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, shared, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.rotated_cones import RotatedCones, complement
from tightmargin.formulations.modeling.semidefinite import lower_pairs, outer_products, psd
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.conflicts import Conflicts
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, stated_bounds


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


def lifted_norm(m: pyo.ConcreteModel, intercept: str) -> Any:
    """<D, W>: the trace over the coordinates that count in the norm."""
    k = len(augmented_weight(m)) - (1 if intercept == "free" else 0)
    return pyo.quicksum(m.W[j, j] for j in range(k))


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
