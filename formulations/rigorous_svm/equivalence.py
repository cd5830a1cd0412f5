"""What a solution of the rigorous SVM is: recomputed, its hyperplane, the other machines it solves.

Whatever a solver says about slacks, cones and multipliers: the loss is recomputed from (w, b), the
dual value from alpha, and alpha names a hyperplane whose loss bounds the dual.

What a solution of the rigorous SVM is a solution of besides: C, nu, D, rho and the ridge.

Bi & Vapnik 2003, Table 1 and Propositions 2 to 4. With alpha in [0, 1]^n optimal for (12) at H and
S = ||F'(y o alpha)||^2 all of these have hyperplanes of one direction:

    c_svc              C = 1 / gamma = H / sqrt(S)       the same w
    nu_svc             nu = sum alpha / n                rho w,  rho = gamma / n
    reduced_hull_svc   D = 2 / sum alpha                 2 gamma w / sum alpha
    soft_margin_svc    ridge = 1 / (2 n C) = gamma / (2 n)   the same w

Proposition 2 prints C = sqrt(S) / H, which is gamma; Table 1 has it right.

The way back, from a solution of c_svc, nu_svc or reduced_hull_svc, is to the H of the rigorous SVM
that it solves. Where a whole stretch of H has the multipliers of a nu or a D, the largest of them
is returned, and `Equivalence.norm_bounds` holds the stretch.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import (
    balanced_alpha,
    complete_dual,
    complete_plane,
    dual_norm,
    errors_of,
    hinge_check,
    norm_of,
    weight_and_intercept,
    with_intercept,
)
from tightmargin.formulations.common.margin_levels import (
    ON_CAP,
    hinge_intercept,
    hinge_intercept_interval,
)
from tightmargin.formulations.common.rounding import OUTWARD, most_hinge, score_errors, summed_up
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.nu_svc import nu_max
from tightmargin.formulations.parameters import positive
from tightmargin.printing import Printed

# --- Points of the rigorous SVM re-evaluated from the data, primal and dual ----------------------

ON_BALL = 1e-6  # of H: as near as this the norm row is active
NO_PRICE = 1e-6  # of the loss, and of the longest v for that many multipliers: such a price is none
NEAR_END = 1e-5  # interior-point methods leave about this much at an end of [0, 1]
NO_NAME = 1e-12  # of the longest F'(y o alpha) there could be: no direction, but rounding
NEVER_NEGATIVE = "hinge losses are never negative"
LOSSES = {"every term of the objective is a hinge loss": True}
NAMED = "weak duality: minus the loss of the hyperplane that alpha names"
OPTIMAL = 1e-6  # of the loss: a gap from which on alpha says nothing of other machines
FREE = (
    "gamma = 0: if alpha is optimal, norm_bound is at or above the largest that matters, and the "
    "solution of rsvm_relaxed is optimal"
)


def hinge_sum(data: TrainingData | GramData, w: Array, b: float) -> float:
    """E(w, b) = sum_i s_i [1 - y_i (<w, f_i> + b)]_+."""
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w + b))
    return float(losses.sum() if data.weights is None else data.weights @ losses)


def loss_check(origin: Origin, values: Values) -> PaperCheck:
    """E recomputed; nothing but the slacks is repaired, because no row holds (w, b)."""
    found = hinge_check(origin, values, 0.0, origin.data.multiplicity)
    w, b = weight_and_intercept(origin, values, {})
    norm = float(np.sqrt(norm_of(w, b, origin.parameters["intercept"])))
    facts = dict(found.facts) | {"norm": norm}
    return replace(found, bound=Lemma(0.0, NEVER_NEGATIVE, LOSSES), facts=facts)


def ball_check(origin: Origin, values: Values) -> PaperCheck:
    """w drawn into the ball, then the intercept of least loss, then E."""
    radius, intercept = origin.parameters["norm_bound"], origin.parameters["intercept"]
    w, b = _into_ball(*weight_and_intercept(origin, values, {}), radius, intercept)
    if intercept == "free":
        b = _better_intercept(origin.data, w, b)
    moved = complete_plane(origin, w, b)
    found = loss_check(origin, {**values, **moved})
    active = bool(found.facts["norm"] >= radius * (1 - ON_BALL))
    return replace(
        found,
        repaired={**found.repaired, **moved},
        facts=dict(found.facts) | {"norm_active": active},
    )


def _into_ball(w: Array, b: float, radius: float, intercept: str) -> tuple[Array, float]:
    length = float(np.sqrt(norm_of(w, b, intercept)))
    if length <= radius:
        return w, b
    scale = radius / length
    return w * scale, b * scale if intercept == "penalised" else b


def _better_intercept(data: TrainingData | GramData, w: Array, b: float) -> float:
    """The intercept of least loss, unless rounding makes the given one the better."""
    best = hinge_intercept(data.factor @ w, data.y, data.multiplicity)
    return best if hinge_sum(data, w, best) <= hinge_sum(data, w, b) else b


def named_hyperplane(origin: Origin, alpha: Array) -> tuple[Array, float] | None:
    """H v / ||v|| with v = F'(y o alpha), the paper's w; None where S = 0 and it is 0 / 0."""
    data, intercept = origin.data, origin.parameters["intercept"]
    v, v_b, norm = dual_norm(origin, alpha)
    if np.sqrt(norm) <= NO_NAME * _reach(data, intercept) * data.total_weight:
        return None
    scale = origin.parameters["norm_bound"] / float(np.sqrt(norm))
    return with_intercept(
        origin, scale * v, scale * v_b,
        lambda scores: hinge_intercept(scores, data.y, data.multiplicity),
    )  # fmt: skip


def _reach(data: TrainingData | GramData, intercept: str) -> float:
    """The longest point, with the 1 of a penalised intercept."""
    reach = float(np.sqrt(squared_lengths(data.factor).max(initial=0.0)))
    return float(np.hypot(reach, 1.0)) if intercept == "penalised" else reach


def multiplier_hyperplane(origin: Origin, duals: Values) -> tuple[Array, float] | None:
    """Multipliers of `weight`, `weight_b` and `balance`, which are -w and -b; None without them.

    With right-hand sides r of `weight` and s of `balance` the value of the dual is
    max over ||w|| <= H and b of  -E(w, b) - <w, r> - b s,  so that d value / d r = -w.
    """
    data, intercept = origin.data, origin.parameters["intercept"]
    row = {"free": "balance", "penalised": "weight_b", "none": None}[intercept]
    if (data.d and "weight" not in duals) or (row is not None and row not in duals):
        return None
    w = -np.asarray(duals["weight"], dtype=float) if data.d else np.zeros(0)
    b = 0.0 if row is None else -float(duals[row])
    w, b = _into_ball(w, b, origin.parameters["norm_bound"], intercept)
    return w, _better_intercept(data, w, b) if intercept == "free" else b


def dual_classifier(origin: Origin, values: Values, duals: Values) -> tuple[Array, float]:
    """The better hyperplane of those that the multipliers and alpha name.

    Raises ValueError: S = 0, and the result holds no multipliers.
    """
    found = [
        multiplier_hyperplane(origin, duals),
        named_hyperplane(origin, np.asarray(values["alpha"], dtype=float)),
    ]
    known = [hyperplane for hyperplane in found if hyperplane is not None]
    if not known:
        raise ValueError(
            "sum_i alpha_i y_i x_i = 0 names no hyperplane, and the solver returned no "
            "multipliers, which would: solve it with clarabel, or solve rsvm"
        )
    return min(known, key=lambda hyperplane: hinge_sum(origin.data, *hyperplane))


def _feasible_alpha(origin: Origin, given: Array) -> Array:
    """The best of three: as given, with what is near an end of [0, s_i] moved there, and 0."""
    data, H = origin.data, origin.parameters["norm_bound"]
    caps = data.multiplicity
    low, high = given < NEAR_END * caps, given > (1 - NEAR_END) * caps
    near = np.where(low, 0.0, np.where(high, caps, given))
    intercept = origin.parameters["intercept"]
    balanced = [
        balanced_alpha(alpha, data.y, data.multiplicity, intercept)
        for alpha in (given, near, np.zeros(data.n))
    ]
    return min(
        balanced,
        key=lambda alpha: H * float(np.sqrt(dual_norm(origin, alpha)[2])) - float(alpha.sum()),
    )


def dual_check(origin: Origin, values: Values) -> tuple[PaperCheck, float]:
    """alpha made feasible, H sqrt(S) - sum alpha there, and sqrt(S).

    The bound is weak duality read from the other side: the model minimises minus the dual, and
    minus the loss of any hyperplane in the ball is below that.
    """
    data, H = origin.data, origin.parameters["norm_bound"]
    intercept = origin.parameters["intercept"]
    alpha = _feasible_alpha(origin, np.asarray(values["alpha"], dtype=float))
    repaired, norm = complete_dual(origin, alpha)
    length, mass = float(np.sqrt(norm)), float(alpha.sum())
    facts: dict[str, Any] = {
        "gamma": length / H,
        "capacity_price": length,
        "support_vectors": int((alpha > ON_CAP * data.multiplicity).sum()),
    }
    named = named_hyperplane(origin, alpha)
    # H alone may make H sqrt(S) small: then a little more capacity has its price.
    free = length <= NO_PRICE * _reach(data, intercept) * max(1.0, mass)
    if free and H * length <= NO_PRICE * max(1.0, mass - H * length):
        facts["degenerate"] = FREE
    elif named is not None:
        facts["errors"] = errors_of(data, *named)
    found = PaperCheck(H * length - mass, repaired=repaired, facts=facts)
    if named is not None:
        longest = H * (1 + 4 * np.finfo(float).eps * (data.d + 2))  # counted by _loss_at_most
        norm = float(np.sqrt(norm_of(*named, intercept)))
        inside = {"||w|| <= H for the hyperplane that alpha names": norm <= longest}
        found = replace(found, bound=Lemma(-loss_at_most(data, *named), NAMED, inside))
    return found, length


def loss_at_most(data: TrainingData | GramData, w: Array, b: float) -> float:
    """E(w, b), rounded up, of w drawn into its ball by as much as the norm's rounding may hide."""
    products = data.factor @ w
    errors = score_errors(data.factor, w, b)
    drawn_in = OUTWARD * 8 * np.finfo(float).eps * (data.d + 2) * (np.abs(products) + errors)
    losses = most_hinge(data.y * (products + b), errors + drawn_in)
    return summed_up(data.multiplicity, losses)


# --- What a solution of the rigorous SVM is a solution of besides: C, nu, D, rho and the ridge ---

OUTSIDE = 1e-6  # of the box: multipliers this far beyond it are those of another problem
NO_COST = (
    "gamma = 0: norm_bound is at or above the largest that matters, so that C is infinite and "
    "names no other machine; the shortest hyperplane of least loss is that of c_svc at every "
    "large C, a longer one that of none"
)
FLAT = (
    "nu, D and the direction of w are the same at every norm_bound from {:.6g} to {:.6g}: only C "
    "and the ridge tell them apart"
)
FLAT_WIDTH = 1e-6  # of the norm bound: a stretch that multipliers leave by rounding is none


@dataclass(frozen=True, repr=False)
class Equivalence(Printed):
    """Parameters of the other machines with the direction of w that the rigorous SVM has at H.

    Attributes
    ----------
    norm_bound : float
        H.
    gamma : float
        Multiplier of half the norm row ||w||^2 <= H^2, sqrt(S) / H; 0 where H is at or above the
        largest that matters. Where the w of c_svc stands still while C grows, all these C have one
        H, and gamma is that of the alpha given.
    C : float
        Of c_svc, 1 / gamma; infinite where gamma is 0.
    hull_bound : float
        D of reduced_hull_svc, 2 / sum alpha; infinite where alpha is 0.
    nu : float
        Of nu_svc, sum alpha / n.
    rho : float
        Level of nu_svc at that nu, gamma / n.
    ridge : float
        Of soft_margin_svc, ridge ||w||^2 + mean hinge: gamma / (2 n).
    half_ridge : float
        The same as (half_ridge / 2) ||w||^2 + mean hinge, as others write it: gamma / n.
    beta : float
        1 - nu, the share of the conditional value at risk that nu_svc minimises.
    price : float
        dE/dH = -gamma H = -sqrt(S), what a little more capacity changes the loss by.
    vc_dimension : float
        The estimate min(H^2, d) + 1, for points on the unit sphere; d is the rank of a kernel.
    radius : float
        R, the largest norm of a point.
    vc_dimension_in_ball : float
        R^2 H^2 + 1.
    nu_max : float
        2 min(n_pos, n_neg) / n, the largest nu there is.
    degenerate : bool
        Whether every point of the smaller class has alpha = 1. Then nu = nu_max at all smaller H.
    norm_bounds : (float, float) or None
        Between these H alpha does not change, and with it nu, D and the direction of w; None where
        gamma = 0. The paper takes nu and D to determine H, which is so where both ends are equal
        to rounding: a multiplier strictly inside its box in each class. Where `degenerate` the
        lower end is 0; such stretches occur at larger H too. Rough multipliers give H alone.
    b_interval : (float, float) or None
        All intercepts of least loss for this w; None where gamma = 0 and alpha names no w.
    """

    norm_bound: float
    gamma: float
    C: float
    hull_bound: float
    nu: float
    rho: float
    ridge: float
    half_ridge: float
    beta: float
    price: float
    vc_dimension: float
    radius: float
    vc_dimension_in_ball: float
    nu_max: float
    degenerate: bool
    norm_bounds: tuple[float, float] | None
    b_interval: tuple[float, float] | None
    _shown = ("norm_bound", "gamma", "C", "nu", "hull_bound", "ridge", "rho", "active")

    @property
    def active(self) -> bool:
        """Whether the norm row binds at every optimum: gamma > 0."""
        return self.gamma > 0

    @property
    def flat(self) -> bool:
        """Whether nu and D are those of a whole stretch of norm bounds, and C alone tells which."""
        if self.norm_bounds is None:
            return False
        low, high = self.norm_bounds
        return high - low > FLAT_WIDTH * self.norm_bound

    @property
    def notes(self) -> tuple[str, ...]:
        """What does not hold here, in sentences."""
        if self.norm_bounds is None:
            return (NO_COST,)
        return (FLAT.format(*self.norm_bounds),) if self.flat else ()

    def settings(self) -> dict[str, dict[str, float]]:
        """Hyperparameters by formulation; where gamma = 0 of rsvm alone."""
        found = {"rsvm": {"norm_bound": self.norm_bound}}
        if self.active:
            found |= {
                "c_svc": {"C": self.C},
                "nu_svc": {"nu": self.nu},
                "reduced_hull_svc": {"hull_bound": self.hull_bound},
                "soft_margin_svc": {"ridge": self.ridge},
            }
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain numbers; what is infinite is null, and the notes say why."""
        numbers = asdict(self) | {
            "active": self.active, "flat": self.flat, "notes": list(self.notes)
        }  # fmt: skip
        return {name: _finite(value) for name, value in numbers.items()}


@unweighted
def equivalence(data: TrainingData | GramData, norm_bound: float, alpha: ArrayLike) -> Equivalence:
    """Read the equivalent parameters from a solution.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H.
    alpha : array (n,)
        Optimal multipliers of the margin rows in [0, 1]. The intercept is free.

    Returns
    -------
    Equivalence

    Raises
    ------
    ValueError
        A bad norm_bound; multipliers of another shape, not finite, or outside [0, 1].

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.rsvm_dual(data, norm_bound=0.5))
    >>> same = tm.theory.equivalence(data, 0.5, found.values["alpha"])
    >>> w = tm.solve(tm.c_svc(data, C=same.C)).values["w"]
    >>> bool(abs((w**2).sum() - 0.25) < 1e-4)  # norm 0.5
    True
    """
    H = positive("norm_bound", norm_bound)
    alpha = within_box("alpha", data, alpha, 1.0)
    direction = data.factor.T @ (data.y * alpha)
    length, mass = float(np.linalg.norm(direction)), float(alpha.sum())
    radius = float(np.sqrt(squared_lengths(data.factor).max(initial=0.0)))
    if length <= NO_NAME * radius * data.n:
        length = 0.0
    gamma, nu = length / H, mass / data.n
    interval = stretch = None
    if length:
        scores = data.factor @ direction
        interval = hinge_intercept_interval(scores * (H / length), data.y, np.ones(data.n))
        stretch = _stretch(H, length, *levels(scores, data.y, alpha))
    smaller = data.y > 0 if data.n_pos <= data.n_neg else data.y < 0
    return Equivalence(
        norm_bound=H,
        gamma=gamma,
        C=H / length if length else math.inf,
        hull_bound=2 / mass if mass else math.inf,
        nu=nu,
        rho=gamma / data.n,
        ridge=gamma / (2 * data.n),
        half_ridge=gamma / data.n,
        beta=1 - nu,
        price=-length,
        vc_dimension=min(H**2, data.d) + 1,
        radius=radius,
        vc_dimension_in_ball=(radius * H) ** 2 + 1,
        nu_max=nu_max(data, "uniform"),
        degenerate=bool((alpha[smaller] >= 1 - ON_CAP).all()),
        norm_bounds=stretch,
        b_interval=interval,
    )


def levels(scores: Array, y: Array, alpha: Array) -> tuple[float, float]:
    """All rho at which multipliers in [0, 1] are optimal for the direction they make.

    With scores s_i = <v, x_i>, v = F'(y o alpha), the points at the cap have y_i (s_i + b) <= rho,
    those at 0 have >= and those between have both. In rho - b and rho + b the classes separate.

    Parameters
    ----------
    scores, y, alpha : array (n,)

    Returns
    -------
    float, float
        The lowest and the highest; infinite where every point of a class is at the cap.
    """
    low = high = 0.0
    for sign in (1.0, -1.0):
        own, multipliers = sign * scores[y == sign], alpha[y == sign]
        least = float(own[multipliers > ON_CAP].max(initial=-math.inf))
        most = float(own[multipliers < 1 - ON_CAP].min(initial=math.inf))
        if least > most:  # both are points on the margin, to rounding
            least = most = (least + most) / 2
        low, high = low + least / 2, high + most / 2
    return low, high


def _stretch(H: float, length: float, low: float, high: float) -> tuple[float, float]:
    """Norm bounds of the levels; H alone where rough multipliers leave it outside."""
    first, last = length / high, length / low if low > 0 else math.inf
    inside = first * (1 - FLAT_WIDTH) <= H <= last * (1 + FLAT_WIDTH)
    return (first, last) if inside else (H, H)


def within_box(name: str, data: TrainingData | GramData, alpha: ArrayLike, cap: float) -> Array:
    """Multipliers in the box with y'alpha = 0, after checking that they nearly were."""
    found = np.asarray(alpha, dtype=np.float64)
    if found.shape != (data.n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} must hold {data.n} finite numbers, one for each point")
    if found.min() < -OUTSIDE * cap or found.max() > cap * (1 + OUTSIDE):
        raise ValueError(
            f"{name} must lie in [0, {cap:g}], got {found.min():.6g} to {found.max():.6g}"
        )
    return balanced_alpha(found, data.y, np.full(data.n, cap), "free")


def _finite(value: Any) -> Any:
    """The value with null for what is infinite, and lists for pairs."""
    if isinstance(value, tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and math.isinf(value) else value


# --- From a solution of c_svc, nu_svc or reduced_hull_svc to the H of the rigorous SVM it solves


@unweighted
def from_c_svc(data: TrainingData | GramData, C: float, alpha: ArrayLike) -> Equivalence:
    """Read H = ||w|| and the rest from a solution of c_svc.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    C : float
        Of that solution.
    alpha : array (n,)
        Multipliers of its margin rows, in [0, C]: w = F'(y o alpha).

    Raises
    ------
    ValueError
        A bad C; bad multipliers; or w = 0, which is the solution at no H.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.c_svc_dual(data, C=0.1))
    >>> same = tm.theory.from_c_svc(data, 0.1, found.values["alpha"])
    >>> round(same.C, 6)
    0.1
    """
    C = positive("C", C)
    alpha = within_box("alpha", data, alpha, C)
    return equivalence(data, _norm(data, alpha), alpha / C)


@unweighted
def from_nu_svc(data: TrainingData | GramData, nu: float, alpha: ArrayLike) -> Equivalence:
    """Read H = ||w|| / rho and the rest from a solution of nu_svc with uniform weights.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    nu : float
        Of that solution.
    alpha : array (n,)
        Multipliers of its margin rows, in [0, 1 / n], with sum nu.

    Raises
    ------
    ValueError
        A bad nu; bad multipliers; w = 0 or rho = 0, where no H has this solution.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.75))
    >>> same = tm.theory.from_nu_svc(data, 0.75, found.values["alpha"])
    >>> round(same.nu, 6)
    0.75
    """
    nu = positive("nu", nu)
    return _from_level(data, _with_sum(data, alpha, 1 / data.n, nu))


@unweighted
def from_reduced_hulls(
    data: TrainingData | GramData, hull_bound: float, alpha: ArrayLike
) -> Equivalence:
    """Read H = ||v|| / level and the rest from a solution of reduced_hull_svc.

    The level is that of nu_svc with nu = 2 / (n D), on the scale of v. From D = 1 on, where the
    bound cuts nothing off, H = 2 / ||v||, the reciprocal of the hard margin.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels; the intercept is free.
    hull_bound : float
        D of that solution.
    alpha : array (n,)
        Weights in [0, D] with sum 1 in each class.

    Raises
    ------
    ValueError
        A bad D; bad multipliers; v = 0 or level 0, where no H has this solution.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.75))
    >>> same = tm.theory.from_reduced_hulls(data, 2 / 9, found.values["alpha"] / 0.375)
    >>> round(same.nu, 6)  # nu = 2 / (n D)
    0.75
    """
    return _from_level(data, _with_sum(data, alpha, positive("hull_bound", hull_bound), 2.0))


def _from_level(data: TrainingData | GramData, alpha: Array) -> Equivalence:
    """Equivalence at the largest H with these multipliers in [0, 1]."""
    norm = _norm(data, alpha)
    scores = data.factor @ (data.factor.T @ (data.y * alpha))
    low, _ = levels(scores, data.y, alpha)
    if low <= NO_NAME * norm**2:
        raise ValueError("rho = 0: no norm_bound of the rigorous SVM has this solution")
    return equivalence(data, norm / low, alpha)


def _with_sum(data: TrainingData | GramData, alpha: ArrayLike, cap: float, mass: float) -> Array:
    """Multipliers on the scale [0, 1], after checking that their sum was the given one."""
    found = within_box("alpha", data, alpha, cap)
    if abs(float(found.sum()) - mass) > OUTSIDE * mass:
        raise ValueError(f"alpha must have the sum {mass:g}, got {found.sum():.6g}")
    return found / cap


def _norm(data: TrainingData | GramData, alpha: Array) -> float:
    """||F'(y o alpha)||, refused where it is rounding."""
    norm = float(np.linalg.norm(data.factor.T @ (data.y * alpha)))
    reach = np.sqrt(squared_lengths(data.factor).max(initial=0.0))
    if norm <= NO_NAME * float(reach) * float(alpha.sum()):
        raise ValueError("w = 0: no norm_bound of the rigorous SVM has this solution")
    return norm
