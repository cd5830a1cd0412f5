"""The hull of a rank-one quadratic with step penalties, and the SDP with these rows of groups.

The question is that of Choi, Cepeda, Gomez & Han 2025 (arXiv 2504.16330), of which only the
abstract was at hand: statement and proof below are our own. Given h in R^n with the support S, let

    X_h = {(v, z, t) : t >= (h'v)^2, z in {0, 1}^n, v_i <= 0 where z_i = 0, v_i >= 0 where z_i = 1}

and, over the points of S, let a point be on the side of h where zeta_i = 1,

    zeta_i = z_i where h_i > 0,  1 - z_i where h_i < 0,    k = sum_S zeta_i,  l = |S| - k.

Theorem.  cl conv X_h  =  C_h  :=  {(v, z, t) : 0 <= z <= 1,

    t >= (h'v)_+^2 / min(1, k)  +  (h'v)_-^2 / min(1, l)}

with 0/0 = 0 and a/0 infinite. For S = {i} this is Theorem 1 of Cepeda, Gomez & Han 2024.

Proof. C_h is closed and convex: a square over a concave nonnegative number is convex, and falls in
that number. It holds X_h: at binary z, k = 0 says h_i v_i <= 0 on all of S, so that (h'v)_+ = 0,
and k >= 1 leaves t >= (h'v)_+^2; likewise with l. At most one of the two parts is positive.

For the rest let (v, z, t) be in C_h with 0 < z < 1; such points are dense in C_h. Let s = h'v >= 0,
the other case being that of -h, and alpha = min(1, k) > 0. There is a random binary vector of mean
z with P(some zeta_i = 1) = alpha: lay intervals of lengths zeta_i, one after another, around a
circle of length 1. Where some zeta_i = 1 let v_i = s / (alpha h_i) for one such i and 0 elsewhere,
and otherwise v = 0. That is a mean of points of X_h with h'v = s at the cost s^2 / alpha <= t. It
remains to move v along h'x = 0. For i != j in S the set X_h holds all r (e_i / h_i - e_j / h_j),
r >= 0, with t = 0, at any z with zeta_i = 1, zeta_j = 0. With weight c / r and r growing they move
v by c (e_i / h_i - e_j / h_j) while z and t stay in the limit: these are directions of cl conv
X_h, as are their negatives (exchange i and j) and +-e_i off S. They span h'x = 0.  q.e.d.

For v_i = 1 - y_i <w~, x~_i> the hull in (w~, z, t) is the same as long as the points of S are
linearly independent, so that every v_S belongs to some w~. A shift changes nothing: (h'v - c)^2
is (h'v)^2 and an affine function.

The SDP relaxation of the 0-1 loss with the rank-one rows of groups of points.

Notation of sdp.py: w~ = (w, b), v_i = 1 - u_i, and W >= w~ w~' stands for w~ w~', hence

    V_ij = <y_i y_j x~_i x~_j', W> - u_i - u_j + 1      for v_i v_j      (V_ii = T_i).

The theorem says what is valid for one square (h'v)^2: with h'V h in its place

    h'V h  >=  (h'v)_+^2 / min(1, sum of z_i over h_i > 0 and of 1 - z_i over h_i < 0)     (*)

for every h (with -h for the negative part). The 1 in the minimum is the row `outer`. Single points,
h = +-e_i, are Theorem 2 of Cepeda, Gomez & Han 2024, which is conic_sdp_literal.

All h of one group and one sign pattern at once.  Let S be a group of points, sigma in {-1, 1}^S,
zeta = sum_{sigma_i = 1} z_i + sum_{sigma_i = -1} (1 - z_i). Then (*) with this zeta holds for all
h = sigma o f, f >= 0, exactly where

    M(S, sigma) = [[zeta, -(sigma o v)'], [., sigma sigma' o V]]  over S     is copositive:

(tau, f)' M (tau, f) = tau^2 zeta - 2 tau h'v + h'V h >= 0 for all tau >= 0 says h'V h zeta >=
(h'v)_+^2. The row written is M(S, sigma) = semidefinite + entrywise nonnegative.

  It is exact for |S| <= 3: such sums are all copositive matrices up to the order 4 (Diananda 1962).
  It is valid for every S: at w~ with its V = v v' and its z either zeta >= 1, and M is
    (1, -sigma o v)(1, -sigma o v)' plus a nonnegative corner; or zeta = 0, so that sigma o v <= 0,
    and M is the semidefinite (0, sigma o v)(0, sigma o v)' plus nonnegative entries. What is valid
    at all lifted points holds at their means, because sums of such matrices are such matrices.
  Beyond three points it may say more than (*) does.

Points that no hyperplane keeps together.  Let f >= 0 sum to 1 with sum_S f_i y_i x~_i = 0, say two
equal points with two labels. Then f'v = 1 and f'V f = 1 whatever (w~, W) is, and the row of the
group, all sigma = 1, says sum_S z_i >= 1: the conflict, found without a known hyperplane.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    signed_scores,
    two_class_formulation,
)
from tightmargin.formulations.conic.checks import intercept_doubt
from tightmargin.formulations.conic.sdp import (
    Data,
    add_cones_of_both_sides,
    lifted_model,
    lifted_norm,
)
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, equal_rows
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import psd, symmetric
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive

# --- The convex hull of one rank-one quadratic whose variables have step penalties ---------------


def checked_coefficients(coefficients: ArrayLike, n: int) -> Array:
    """h as an array (n,), not 0.

    Raises ValueError: another shape, numbers that are not finite, or zeros alone.
    """
    try:
        h = np.asarray(coefficients, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"coefficients must be {n} numbers") from None
    if h.shape != (n,) or not np.isfinite(h).all():
        raise ValueError(f"coefficients must be {n} finite numbers, got shape {h.shape}")
    if not h.any():
        raise ValueError("coefficients are all 0: there is no square to relax")
    return h


def rank_one_hull(
    data: TrainingData,
    *,
    penalty: float,
    coefficients: ArrayLike,
    target: float = 1.0,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Convex hull of one square of violations with a price on each violated point.

        min   s + r - 2 target (p - q) + target^2 + penalty sum_i z_i
        s.t.  split     p - q = sum_i h_i v_i,           v_i = 1 - y_i <x~_i, w~>
              inside    p^2 <= s above,                  above <= 1,  above <= k
              outside   q^2 <= r below,                  below <= 1,  below <= l
              k = sum_{h_i > 0} z_i + sum_{h_i < 0} (1 - z_i),     l = |S| - k,     0 <= z <= 1

    It relaxes (h'v - target)^2 + penalty sum z_i over binary z with z_i = 1 where v_i > 0 and 0
    where v_i < 0, and has its optimum: the two do for every linear cost on h'v and z that is
    added, if the points with h_i != 0 are linearly independent (with their constant entry). The
    module has theorem and proof. By itself with h > 0 and target > 0 it is
    min(penalty, target^2). Weights of points are refused: h says what each counts.

    Parameters
    ----------
    data : TrainingData
    penalty : float
        Price of each z_i, positive.
    coefficients : array (n,)
        h, not 0; points with h_i = 0 are not in the square.
    target : float
        What h'v should be.
    intercept : "free", "penalised" or "none"
        There is no norm: penalised is free here.

    Raises
    ------
    ValueError
        Coefficients of another shape, not finite or all 0; a target that is not finite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> model = tm.rank_one_hull(data, penalty=0.3, coefficients=[1.0, 2.0])
    >>> round(tm.solve(model).objective, 6)
    0.3
    """
    one_of("intercept", intercept, INTERCEPTS)
    refuse_weights("rank_one_hull", data)
    h, goal = checked_coefficients(coefficients, data.n), float(target)
    if not np.isfinite(goal):
        raise ValueError(f"target must be a finite number, got {target!r}")
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.z = pyo.Var(m.I, bounds=(0, 1))
    m.p, m.q, m.s, m.r = (pyo.Var(within=pyo.NonNegativeReals) for _ in range(4))
    m.above, m.below = (pyo.Var(bounds=(0, 1)) for _ in range(2))
    moved = (h * data.y) @ np.asarray(augmented(data, intercept))
    score = pyo.quicksum(a * x for a, x in zip(moved.tolist(), augmented_weight(m), strict=True))
    m.split = pyo.Constraint(expr=m.p - m.q + score == float(h.sum()))
    k = pyo.quicksum(m.z[i] if h[i] > 0 else 1 - m.z[i] for i in np.flatnonzero(h).tolist())
    m.share_above = pyo.Constraint(expr=m.above <= k)
    m.share_below = pyo.Constraint(expr=m.below <= np.count_nonzero(h) - k)
    m.inside = pyo.Constraint(expr=m.p**2 <= m.s * m.above)
    m.outside = pyo.Constraint(expr=m.q**2 <= m.r * m.below)
    m.objective = pyo.Objective(
        expr=m.s + m.r - 2 * goal * (m.p - m.q) + goal**2 + m.penalty * pyo.quicksum(m.z.values())
    )
    return m


# --- The SDP relaxation of the 0-1 loss with the rank-one rows of groups of points ---------------

Groups = tuple[tuple[int, ...], ...]

SIDES = ("violated", "both")
ROW_LIMIT = 150_000


def check_rank_one(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (W, z); the bound is that of the multipliers, which the solve checks."""
    p, data = origin.parameters, origin.data
    W = symmetric(values["W"]) if values["W"].ndim == 1 else values["W"]
    u, w, b = signed_scores(data, values)
    counted = np.diag(W)[:-1] if p["intercept"] == "free" else np.diag(W)
    objective = float(counted.sum()) + p["penalty"] * float(data.multiplicity @ values["z"])
    weight = w if p["intercept"] == "none" else np.append(w, b)
    eigenvalues = np.linalg.eigvalsh(W - np.outer(weight, weight))
    rank = int((eigenvalues > 1e-6 * max(objective, float(np.trace(W)), 1e-300)).sum())
    facts = {"errors": int((u <= 0).sum()), "rank_of_lift": rank}
    return PaperCheck(objective, unproven=intercept_doubt(origin), facts=facts)


@two_class_formulation(
    ProblemClass.SDP,
    "rank-one convexification as asked in Choi, Cepeda, Gomez & Han 2025, derived here",
    relaxes="zero_one_big_m",
    check=check_rank_one,
)
def conic_sdp_rank_one(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
    partners: int | str = "all",
    groups: Sequence[Sequence[int]] = (),
    sides: str = "violated",
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with the rank-one rows of pairs and groups of points.

        min   <D, W> + penalty sum_i z_i                  D = I (features only if b is free)
        s.t.  split, lifted, inside, outside, outer       as in conic_sdp_literal
              product[i, j]   V_ij = <y_i y_j x~_i x~_j', W> - u_i - u_j + 1
              step_S          [[sum_S z_i, -(v + n)'], [., V - N]] over S is semidefinite
              v_i = p_i - q_i,   n, N >= 0                N symmetric without a diagonal

    with a row `step` for every pair of partners and every group S. Such a row holds

        sum_S z_i  >=  (f'v)_+^2 / f'V f      for all f >= 0 on S:

    whoever violates an average of margins must be paid by some point of S. It needs no known
    hyperplane and no M. The value is a lower bound on the 0-1 optimum, never below that of
    conic_sdp, and grows with the set of groups. The module has the proofs.

    Parameters
    ----------
    partners : "all", "none" or whole number
        Which pairs get a row: with a number, each point with that many nearest points of either
        label. Distances are those of the features, so this choice depends on their units.
    groups : sequence of tuples of points
        Further groups, of two points or more. Those of d + 2 points that no hyperplane keeps
        together, found by a Farkas argument say, give the row sum_S z_i >= 1.
    sides : "violated" or "both"
        "both" writes the rows of every sign pattern, 2^|S| a group, where 1 - z_i and -v_i stand
        for kept points: then all rank-one rows of groups up to three points hold. They were never
        seen to change the value, which is no proof that they cannot.

    Raises
    ------
    ValueError
        A free intercept without a bound; partners, groups or sides that are none; more than 150,000
        rows in the matrices of the groups, saying how many.

    Names here -> in the paper: penalty -> lambda.
    """
    one_of("sides", sides, SIDES)
    cost = positive("penalty", penalty)
    chosen = _all_groups(data, partners, groups)
    _refuse_large(chosen, sides)
    m = lifted_model(data, cost, intercept, intercept_bound)
    add_cones_of_both_sides(m, data)
    if chosen:
        _add_products(m, data, intercept, chosen)
        _add_steps(m, chosen, sides)
    m.objective = pyo.Objective(
        expr=lifted_norm(m, intercept) + m.penalty * dot(data.multiplicity, m.z)
    )
    return m


def _all_groups(data: Data, partners: int | str, groups: Sequence[Sequence[int]]) -> Groups:
    """Pairs of partners, then the groups that are not among them, each sorted and once."""
    first, second = _partner_pairs(data.factor, partners)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    refusal = f"groups must be tuples of points, got {groups!r}"
    if isinstance(groups, str):
        raise ValueError(refusal)
    try:
        listed = [*groups]
    except TypeError:
        raise ValueError(refusal) from None
    return tuple(dict.fromkeys([*pairs, *(_checked_group(group, data.n) for group in listed)]))


def _partner_pairs(X: Array, partners: int | str) -> tuple[Index, Index]:
    """Pairs of points that are partners, first < second: all, none, or some nearest of each."""
    words = ("all", "none")
    whole = isinstance(partners, int | np.integer) and not isinstance(partners, bool)
    if not (partners in words if isinstance(partners, str) else whole and partners >= 1):
        raise ValueError(
            f"partners must be all, none or a whole number of at least 1, got {partners!r}"
        )
    first, second = np.triu_indices(len(X), 1)
    if partners == "all":
        return first, second
    near = np.zeros((len(X), len(X)), dtype=bool)
    if not isinstance(partners, str):
        distance = cdist(X, X)
        np.fill_diagonal(distance, -1.0)  # oneself first, also among points in one place
        nearest = np.argsort(distance, axis=1, kind="stable")[:, 1 : partners + 1]
        np.put_along_axis(near, nearest, True, axis=1)
    keep = (near | near.T)[first, second]
    return first[keep], second[keep]


def _checked_group(group: Sequence[int], n: int) -> tuple[int, ...]:
    try:
        points = tuple(sorted(group))
    except TypeError:
        raise ValueError(f"groups must be tuples of points, got {group!r}") from None
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in points)
    if not whole or len(set(points)) < len(points) or len(points) < 2:
        raise ValueError(f"groups must hold two or more different points each, got {group!r}")
    if points[0] < 0 or points[-1] >= n:
        raise ValueError(f"groups must hold points from 0 to {n - 1}, got {group!r}")
    return tuple(int(i) for i in points)


def _refuse_large(groups: Groups, sides: str) -> None:
    rows = sum(
        (len(group) + 1) * (len(group) + 2) // 2 * (1 if sides == "violated" else 2 ** len(group))
        for group in groups
    )
    if rows > ROW_LIMIT:
        raise ValueError(
            f"conic_sdp_rank_one would have {rows:,} rows in the matrices of {len(groups):,} "
            f"groups, more than {ROW_LIMIT:,}: give partners a small number, or fewer groups"
        )


def _add_products(m: pyo.ConcreteModel, data: Data, intercept: str, groups: Groups) -> None:
    """Variables V_ij of all pairs inside the groups, i < j, and the rows that define them."""
    pairs = sorted({pair for group in groups for pair in itertools.combinations(group, 2)})
    m.P = pyo.Set(initialize=pairs, dimen=2)
    m.V = ArrayVar(m.P)
    signed = data.y[:, None] * np.asarray(augmented(data, intercept))
    first, second = (signed[list(side)] for side in zip(*pairs, strict=True))
    linear = -(first + second)
    terms = [(_symmetric_products(first, second), m.W), (linear[:, : data.d], m.w)]
    if intercept != "none":
        terms.append((linear[:, data.d], m.b))
    m.product = equal_rows(m.P, [*terms, (-1.0, m.V)], -1.0)


def _symmetric_products(first: Array, second: Array) -> Array:
    """Coefficients of <x y', W> on the lower triangle of W, for rows x and y."""
    i, j = np.tril_indices(first.shape[1])
    products = first[:, i] * second[:, j]
    return np.where(i == j, products, products + first[:, j] * second[:, i])


def _add_steps(m: pyo.ConcreteModel, groups: Groups, sides: str) -> None:
    """Matrices of the groups; `n` and `N` are what they are allowed above semidefinite ones."""
    steps = [(group, signs) for group in groups for signs in _patterns(len(group), sides)]
    m.G = pyo.RangeSet(0, len(steps) - 1)
    keys = [(k, i) for k, (group, _) in enumerate(steps) for i in group]
    m.GI = pyo.Set(initialize=keys, dimen=2)
    m.n = ArrayVar(m.GI, lower=0.0)
    pairs = [
        (k, *pair)
        for k, (group, _) in enumerate(steps)
        for pair in itertools.combinations(group, 2)
    ]
    m.GP = pyo.Set(initialize=pairs, dimen=3)
    m.N = ArrayVar(m.GP, lower=0.0)
    for k, (group, signs) in enumerate(steps):
        paid = pyo.quicksum(
            m.z[i] if sign > 0 else 1 - m.z[i] for i, sign in zip(group, signs, strict=True)
        )
        rows: list[list[object]] = [[paid]]
        for a, (i, sign) in enumerate(zip(group, signs, strict=True)):
            row: list[object] = [sign * (m.q[i] - m.p[i]) - m.n[k, i]]
            row += [sign * signs[c] * m.V[group[c], i] - m.N[k, group[c], i] for c in range(a)]
            rows.append([*row, m.s[i] + m.r[i]])
        psd(m, _name(group, signs, sides), rows)


def _patterns(size: int, sides: str) -> list[tuple[int, ...]]:
    if sides == "violated":
        return [(1,) * size]
    return list(itertools.product((1, -1), repeat=size))


def _name(group: tuple[int, ...], signs: tuple[int, ...], sides: str) -> str:
    """step_3_7, or step_3_7_vk where point 3 counts as violated and point 7 as kept."""
    letters = "" if sides == "violated" else "_" + "".join("v" if s > 0 else "k" for s in signs)
    return f"step_{'_'.join(map(str, group))}{letters}"
