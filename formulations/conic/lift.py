"""Level-1 lift of the 0-1 loss: everything known of an optimum, times z_i and times 1 - z_i.

The lift is that of Lovasz & Schrijver (Cones of matrices and set-functions and 0-1 optimization,
SIAM Journal on Optimization 1, 1991), with the convex rows of strengthened.py in the place
of linear ones (Stubbs & Mehrotra, A branch-and-cut method for 0-1 mixed convex programming,
Mathematical Programming 86, 1999).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass, formulation
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented_weight,
    weight_and_intercept,
)
from tightmargin.formulations.conic.checks import check_strengthened
from tightmargin.formulations.conic.lift_products import add_products
from tightmargin.formulations.conic.lift_rows import (
    Lift,
    add_cells,
    add_crossed,
    add_single,
    lift_of,
)
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.semidefinite import lower_pairs, psd
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.conflicts import Conflicts
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds
from tightmargin.formulations.zero_one.slack_bounds_argument import stated_bounds

ROW_LIMIT = 150_000


@formulation(
    ProblemClass.SDP,
    "Lovasz & Schrijver 1991 on Cepeda, Gomez & Han 2024, Theorem 2 (21)",
    relaxes="zero_one_big_m",
    check=check_strengthened,
    classifier=weight_and_intercept,
    weighted=True,
)
def conic_sdp_lift(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    slack_bounds: SlackBounds | Mapping[str, Any] | str = "derived",
    incumbent: Hyperplane | None = None,
    conflicts: Conflicts | str = "none",
    partners: int | str = "all",
) -> pyo.ConcreteModel:
    """Level-1 lift of the 0-1 loss: a moment matrix for every violated point, for small n.

        min   <D, W> + penalty sum_i z_i                  D = I (features only if b is free)
        s.t.  the rows below, for every undecided point i

    Take an optimum (w~, z) that satisfies the slack bounds l_j <= v_j <= u_j, and for a weight h
    the matrix M(h) = h (w~, 1)(w~, 1)'. The variables are

        M(1) = [[W, w~], [w~', 1]],    M(z_i) = [[V_i, Y_i], [Y_i', z_i]],
        M(1 - z_i) = M(1) - M(z_i)

    and the rows (undecided points are the set O; U_j = u_j > 0 >= l_j = -L_j there)

        violated_i, kept_i   M(z_i) and M(1 - z_i) are semidefinite
        norm, rest_norm      <D, M(h)> <= norm2 h
        offset, rest_offset  M_bb(h) <= (b_low + b_high) M_b1(h) - b_low b_high h
        spent, rest_spent    <D, M(h)> + penalty sum_j z_j h <= cutoff h
        conflict, ...        sum_S z_j h >= h for every conflict S
        chord, rest_chord    T_j(h) <= (l_j + u_j) v_j(h) - l_j u_j h for decided points j

    at h = z_i and h = 1 - z_i. Here v_j(h) = h v_j and T_j(h) = h v_j^2 are linear in M(h), and
    z_i z_j is the variable z11[i, j] of the four outcomes of a pair (z10 = z_i (1 - z_j), ...).
    Every undecided j has, at h = 1, and for its partners i at h = z_i and h = 1 - z_i too,

        U_j p - L_j q = v_j(h),    U_j^2 s + L_j^2 r = T_j(h),
        p^2 <= s h z_j,    s <= p,    q^2 <= r h (1 - z_j),    r <= q,    s, r >= 0

    where p = h z_j v_j / U_j, s = h z_j (v_j / U_j)^2, and q, r likewise with 1 - z_j, -v_j, L_j;
    those of h = z_i and of h = 1 - z_i add up to those of h = 1, and at h = z_j the moments p, s
    are all of v_j(h) and T_j(h). p <= z_j h and the products of the box of w with z_i follow.

    All of this holds at the optimum, so the value is a lower bound on its objective and at most
    the cutoff. But for two rooms that keep an inside, it is never below conic_sdp_strengthened at
    the same bounds, its products included when all are partners: U_j and L_j are at least a
    hundredth of each other, and `spent` has 1.0001 times the cutoff.

    In the model V_i and Y_i are in units of the largest weights (the root of norm2, and the bound
    of a free b). first_p1[i, j] is the moment p of i where z_j = 1, second_p0[i, j] that of j
    where z_i = 0, and so on.

    Parameters
    ----------
    slack_bounds, incumbent, conflicts
        As for conic_sdp_strengthened. Two points that conflict have no outcome z00.
    partners : "all", "none" or whole number
        Which pairs get the last block: with a number, each point with that many nearest points
        of either label. Their violations v_i and v_j, or v_i and 2 - v_j, say nearly the same, and
        without products the relaxation may treat them as if they were independent. Distances are
        those of the data, so this choice alone depends on the units of the features.

    Raises
    ------
    ValueError
        More than 150,000 rows, saying how many (n = 71 undecided points in 3 dimensions with
        all partners): limit the partners or tighten the bounds.

    The penalty is no Param: the bounds are derived from it, so a new one needs a new model. Names
    here -> in the paper: penalty -> lambda.
    """
    cost = positive("penalty", penalty)
    bounds = stated_bounds(data, slack_bounds, incumbent, conflicts, cost, intercept)
    lift = lift_of(data, bounds, cost, intercept, partners)
    _refuse_large(lift)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    _add_matrices(m, lift)
    add_single(m, lift)
    add_cells(m, lift)
    add_crossed(m, lift)
    add_products(m, lift)
    counted = range(lift.signed.shape[1] - (intercept == "free"))
    norm = pyo.quicksum(m.W[j, j] for j in counted)
    m.objective = pyo.Objective(expr=total(norm, cost * dot(data.multiplicity, m.z)))
    return m


def lift_rows(n: int, decided: int, pairs: int, conflicts: int, order: int) -> int:
    """Rows of the conic form, at most: fewer when b needs no rows, or two points conflict.

    Parameters
    ----------
    n, decided : int
        Undecided and decided points.
    pairs : int
        Pairs with cross products.
    conflicts : int
    order : int
        Order of the moment matrices: d + 2, or d + 1 without an intercept.
    """
    weights = 2 * n or 1
    each = order * (order + 1) // 2 + 3 + decided + conflicts
    return weights * each + 8 * n + 7 * n * (n - 1) // 2 + 52 * pairs


def _refuse_large(lift: Lift) -> None:
    n = len(lift.open)
    rows = lift_rows(
        n,
        lift.data.n - n,
        len(lift.crossed[0]),
        len(lift.conflicts),
        lift.signed.shape[1] + 1,
    )
    if rows > ROW_LIMIT:
        raise ValueError(
            f"conic_sdp_lift would have {rows:,} rows, more than {ROW_LIMIT:,}: give partners a "
            f"number below {n - 1}, or slack_bounds that decide more of the {n} undecided points"
        )


def _add_matrices(m: pyo.ConcreteModel, lift: Lift) -> None:
    """Moment matrices; M(1) is the sum of two semidefinite ones as soon as a point is undecided."""
    at, k = lift.open.tolist(), lift.signed.shape[1]
    weight = augmented_weight(m)
    m.O = pyo.Set(initialize=at)
    m.ONE = pyo.RangeSet(0, 0)
    m.L = pyo.Set(initialize=lower_pairs(k), dimen=2)
    m.OC = pyo.Set(initialize=[(i, c) for i in at for c in range(k)], dimen=2)
    m.OL = pyo.Set(initialize=[(i, *pair) for i in at for pair in lower_pairs(k)], dimen=3)
    m.W, m.Y, m.V = ArrayVar(m.L), ArrayVar(m.OC), ArrayVar(m.OL)
    m.z = ArrayVar(m.I)  # from 0 to 1 by the corners of the matrices
    for i in np.flatnonzero(lift.bounds.kept | lift.bounds.violated).tolist():
        m.z[i].fix(1.0 if lift.bounds.violated[i] else 0.0)
    if not at:
        whole = [[m.W[j, c] for c in range(j + 1)] for j in range(k)]
        psd(m, "outer", [*whole, [*weight, 1.0]])
    size = lift.units.tolist()
    scaled = [[m.W[j, c] / (size[j] * size[c]) for c in range(j + 1)] for j in range(k)]
    start = [x / unit for x, unit in zip(weight, size, strict=True)]
    for i in at:
        mine = [[m.V[i, j, c] for c in range(j + 1)] for j in range(k)]
        last = [m.Y[i, c] for c in range(k)]
        psd(m, f"violated_{i}", [*mine, [*last, m.z[i]]])
        rest = [
            [a - b for a, b in zip(*rows, strict=True)] for rows in zip(scaled, mine, strict=True)
        ]
        end = [a - b for a, b in zip(start, last, strict=True)]
        psd(m, f"kept_{i}", [*rest, [*end, 1 - m.z[i]]])
