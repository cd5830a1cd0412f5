"""How every formulation follows a change of its data: one statement for each catalogue entry.

With u_i = y_i (<w, x_i> + b), a change of the points is undone by a change of (w, b) that keeps
all u_i, or multiplies them by one number. What that does to the norm and to the prices is the
relation. Changes that are the same for all entries are in changes.py; here stand the powers of c
for X -> c X and the factors for points that are there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.inside.formulations import SlackBounds
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, TrainingData, str], dict[str, Any]]

ALL, UNPRICED, PRICED = ("free", "penalised", "none"), ("free", "none"), ("penalised", "none")


@dataclass(frozen=True)
class Family:
    """The relations of one entry.

    Attributes
    ----------
    draw : callable(rng, data, mode) -> dict
        Hyperparameters.
    kind : str
        Of the points, see tests.references.reference_solutions.points.
    optimum : int
        For X -> c X: power of c by which it is multiplied.
    scaled : mapping
        For X -> c X: powers of c by which hyperparameters are multiplied.
    twice : mapping
        For points that are all there twice: factors of hyperparameters.
    cruz : float
        Factor of the optimum then in the scale of Perez-Cruz et al.
    doubled : float
        Factor of the optimum then in any other.
    intercepts : tuple
    least : str
        "hyperplane": the objective does not fall when b is priced or left out. "prices": the same
        for all but a free intercept, which has a bound of its own. Empty: neither is known.
    dual : bool
        The optimum is minus that of a minimisation.
    dependent : bool
        Whether features that are affinely dependent are taken.
    axes : bool
        Whether the optimum depends on the axes: features may not be turned, nor one be split.
    sizes : tuple of int
        Numbers of points.
    certified : bool
        Whether every result is CERTIFIED; (w, b) of the others is on a sphere.
    """

    draw: Draw
    optimum: int
    scaled: Mapping[str, int] = field(default_factory=dict)
    twice: Mapping[str, float] = field(default_factory=dict)
    cruz: float = 2.0
    doubled: float = 1.0
    kind: str = "overlapping"
    intercepts: tuple[str, ...] = ALL
    least: str = "hyperplane"
    dual: bool = False
    dependent: bool = True
    axes: bool = False
    sizes: tuple[int, ...] = (6, 8)
    certified: bool = True


# --- hyperparameters -----------------------------------------------------------------------------


def uniform(more: dict[str, Any] | None = None, **ends: tuple[float, float]) -> Draw:
    """Words that are given, and numbers between two ends."""
    return lambda rng, data, mode: (
        {word: float(rng.uniform(*pair)) for word, pair in ends.items()} | (more or {})
    )


nothing = uniform()
ridge = uniform(ridge=(0.02, 0.3))
price_of_norm = uniform(price=(0.02, 0.3))
squared_hinge = uniform({"loss": "squared_hinge"}, price=(0.02, 0.3))
ridge_and_pi = uniform(ridge=(0.02, 0.3), pi=(0.2, 0.8))
capacity = uniform(norm_bound=(0.1, 1.5))  # below the largest norm that matters, and above
price = uniform(penalty=(0.3, 2))
price_and_derived = uniform({"big_m": "derived"}, penalty=(0.3, 2))
cost_and_derived = uniform({"big_m": "derived"}, C=(0.1, 1))


def row(more: dict[str, Any] | None = None, **ends: tuple[float, float]) -> Draw:
    """Predictors of one row, whose norms are all the length of w."""
    drawn = uniform(more, ridge=(0.02, 0.3), **ends)
    return lambda rng, data, mode: drawn(rng, data, mode) | {"shape": f"1x{data.d}"}


def cost(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    pair = (float(rng.uniform(0.5, 2)), float(rng.uniform(0.5, 2)))
    return {"C": float(rng.uniform(0.1, 3)), "class_weight": None if rng.random() < 0.5 else pair}


def price_of_power(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    return {"penalty": float(rng.uniform(0.1, 3)), "exponent": float(rng.choice([1.5, 2, 2.5]))}


def _nu(rng: np.random.Generator, data: TrainingData, mode: str, above: bool) -> dict[str, Any]:
    balance = "uniform" if rng.random() < 0.5 else "balanced"
    found = nu_range(data, class_balance=balance, intercept=mode)
    low, high = (found.nu_bar, found.nu_max) if above else (0.0, found.nu_bar)
    return {"nu": low + float(rng.uniform(0.4, 0.9)) * (high - low), "class_balance": balance}


def nu_above(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Above nu_min, also for a free intercept: nu_max is 1 without one."""
    return _nu(rng, data, mode, above=True)


def extended_above(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    return _nu(rng, data, mode, above=True) | _scale(rng)


def extended_below(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Below nu_bar of a free intercept, which is the least of the three."""
    return _nu(rng, data, "free", above=False) | _scale(rng)


def _scale(rng: np.random.Generator) -> dict[str, Any]:
    return {"scale": "takeda" if rng.random() < 0.5 else "perez_cruz"}


def extended_any(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    return (
        extended_above(rng, data, mode) if rng.random() < 0.3 else extended_below(rng, data, mode)
    )


def robust(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """A point given up, and nu where b has an end."""
    return {"nu": float(rng.uniform(0.6, 0.8)), "mu": f"1/{data.n}"}


def least_risk(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    found = extended_any(rng, data, mode)
    return {"beta": 1 - found["nu"], "class_balance": found["class_balance"]}


def reference(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Near the difference of the means, where the linear program is solvable on both sides."""
    means = data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0)
    w_ref = means / np.linalg.norm(means) + 0.1 * rng.standard_normal(data.d)
    if mode == "penalised":
        w_ref = np.append(w_ref, 0.0)
    return extended_below(rng, data, mode) | {"w_ref": w_ref}


def hull_cap(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """That of the nu-SVC above nu_min, where the reduced hulls are disjoint."""
    found = nu_range(data, intercept=mode)
    nu = found.nu_min + float(rng.uniform(0.4, 0.9)) * (found.nu_max - found.nu_min)
    return {"hull_bound": 2 / (nu * data.n)}


def price_and_big_m(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Large enough that z <= 1 holds at the optimum, where the hinge reading is the relaxation."""
    return price(rng, data, mode) | {"big_m": rng.uniform(30, 60, data.n)}


def cost_and_big_m(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Large enough that no violation is above its M at the optimum."""
    return {"C": float(rng.uniform(0.1, 1)), "big_m": rng.uniform(30, 60, data.n)}


def cost_and_near_m(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Small enough that the l1 norm pays for a w other than 0."""
    return {"C": float(rng.uniform(3, 6)), "big_m": rng.uniform(4, 6, data.n)}


def price_and_strengthening(
    rng: np.random.Generator, data: TrainingData, mode: str
) -> dict[str, Any]:
    """Numbers whose quadratic term is convex, also with a 1 and a longer column."""
    points = np.hstack([data.X, np.ones((data.n, 1))])
    gamma = rng.uniform(0.2, 1, data.n)
    largest = float(np.linalg.eigvalsh(points.T @ (gamma[:, None] * points))[-1])
    return price(rng, data, mode) | {"strengthening": 0.45 * gamma / largest}


def price_and_limits(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """Bounds of the violations that nobody proved: they state a problem all the same."""
    lower, upper = -rng.uniform(4, 8, data.n), rng.uniform(4, 8, data.n)
    limit = float(rng.uniform(2, 4))
    norm2 = float(rng.uniform(1, 4))
    stated = SlackBounds(lower, upper, norm2, (-limit, limit), 30.0, "stated by a test")
    return price(rng, data, mode) | {"slack_bounds": stated}


def price_and_few_limits(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    """The same without products of pairs, whose choice depends on how many points are near."""
    return price_and_limits(rng, data, mode) | {"partners": "none"}


def price_and_bound(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    return price(rng, data, mode) | _bound_on_b(rng, mode)


def budget_and_bound(rng: np.random.Generator, data: TrainingData, mode: str) -> dict[str, Any]:
    return {"budget": float(rng.uniform(0.03, 0.08))} | _bound_on_b(rng, mode)


def _bound_on_b(rng: np.random.Generator, mode: str) -> dict[str, Any]:
    return {"intercept_bound": float(rng.uniform(2, 4)) if mode == "free" else None}


# --- the table -----------------------------------------------------------------------------------

# Scaling: where b is unpriced, (w / c, b) has the same u_i in c X as (w, b) in X. Machines whose
# margin is 1 keep u_i; those whose margin is a variable (rho) may also multiply all u_i. Where b is
# priced its square and ||w||^2 change differently: no relation is known, and none is tested.
# Twice: each sum over the points doubles; a mean does not.
FAMILIES: dict[str, Family] = {
    # ||w||^2 / 2 with u_i >= 1: w / c has 1 / c^2 of it.
    "hard_margin_svc": Family(nothing, -2, kind="separable"),
    # Minus the optimum of hard_margin_svc.
    "hard_margin_svc_dual": Family(nothing, -2, kind="separable", dual=True),
    # ||w|| <= 1: w stays, and u_i, b and rho grow by c.
    "max_margin_svc": Family(nothing, 1, kind="separable"),
    # ||w||^2 / 2 + C sum xi: the norm falls by c^2, xi stays, so C falls by c^2.
    "c_svc": Family(cost, -2, {"C": -2}, {"C": 0.5}),
    # Minus the optimum of c_svc.
    "c_svc_dual": Family(cost, -2, {"C": -2}, {"C": 0.5}, dual=True),
    # ridge ||w||^2 + mean xi: the mean stays when ridge grows by c^2.
    "soft_margin_svc": Family(ridge, 0, {"ridge": 2}),
    # ||v||^2 / (4 ridge) - sum alpha with the same alpha <= 1 / n. Twice: half of alpha each.
    "soft_margin_svc_dual": Family(ridge, 0, {"ridge": 2}, dual=True),
    # The same with weights of the classes.
    "weighted_svc": Family(ridge_and_pi, 0, {"ridge": 2}),
    # The same in v = F'alpha.
    "kernel_soft_margin_svc": Family(ridge, 0, {"ridge": 2}),
    # price ||w||^2 + the mean of squared hinges: as soft_margin_svc.
    "regularised_svc": Family(squared_hinge, 0, {"price": 2}),
    # The same with log(1 + exp(-u)).
    "deviance_svc": Family(price_of_norm, 0, {"price": 2}),
    # ||w||^2 + penalty sum xi^exponent: as c_svc.
    "hinge_power_svc": Family(price_of_power, -2, {"penalty": -2}, {"penalty": 0.5}),
    # ||w||^2 / 2 - nu rho + sum c_i xi: c w has u_i, rho and xi times c^2, like its norm.
    "nu_svc": Family(nu_above, 2),
    # ||v||^2 / 2 = ||sum alpha_i y_i x_i||^2 / 2 with the same alpha.
    "nu_svc_dual": Family(nu_above, 2, dual=True),
    # -nu rho + sum c_i xi is linear in u_i, and w stays on its sphere.
    # With b on the sphere too no order of the three modes is known.
    "extended_nu_svc": Family(extended_any, 1, least="", dependent=False, certified=False),
    # The same in the ball, which is larger without b.
    "extended_nu_svc_ball": Family(extended_above, 1, dependent=False),
    # Minus that, ||v|| with v = sum alpha_i y_i x_i.
    "extended_nu_svc_dual": Family(extended_above, 1, dual=True),
    # The same outside the ball.
    "extended_nu_svc_reverse": Family(
        extended_below, 1, least="", dependent=False,
        certified=False
    ),
    # The same without the worst points, in the ball. Where w = 0 is best no gap is relative.
    "extended_robust_svc": Family(robust, 1, kind="separable"),
    # risk <= 1: w / c has the same risk, and -||w||^2 falls by c^2; twice the risk halves w.
    "extended_nu_svc_polar": Family(
        extended_below, -2, cruz=0.25, least="", dependent=False,
        certified=False
    ),
    # <w_ref, w> = 1 keeps w; with 0 for b in w_ref a price on b changes nothing.
    "extended_nu_svc_linearised": Family(reference, 1, dependent=False),
    # u = t w_ref on the segment's end: u is a sum of points, so t grows by c.
    "extended_nu_svc_linearised_dual": Family(reference, 1, dual=True, dependent=False),
    # The optimum of extended_nu_svc over nu = 1 - beta.
    "min_cvar": Family(least_risk, 1, least="", dependent=False, certified=False),
    # sum xi in the ball ||w|| <= H: (w / c, b) has the same u_i, so H falls by c.
    "rsvm": Family(capacity, 0, {"norm_bound": -1}, doubled=2.0),
    # The same without a ball.
    "rsvm_relaxed": Family(nothing, 0, doubled=2.0),
    # The same in v = F'(y o beta).
    "rsvm_kernel_relaxed": Family(nothing, 0, doubled=2.0),
    # H ||v|| - sum alpha with the same alpha: v grows by c, H falls by it.
    "rsvm_dual": Family(capacity, 0, {"norm_bound": -1}, doubled=2.0, dual=True),
    # t stays, and gamma grows by c^2.
    "rsvm_dual_perspective": Family(capacity, 0, {"norm_bound": -1}, doubled=2.0, dual=True),
    # ||v||^2 / 2, half the squared distance of the hulls; a point that is there twice may weigh
    # twice as much.
    "reduced_hull_svc": Family(hull_cap, 2, twice={"hull_bound": 0.5}, dual=True),
    # ||w||^2 + penalty #violations: (w / c, b) violates the same points. The derived M is made of
    # products ||w|| ||x||, and of no price.
    "zero_one_big_m": Family(price_and_derived, -2, {"penalty": -2}, {"penalty": 0.5}, sizes=(6,)),
    # z_i = xi_i / M_i instead of the count.
    "zero_one_relaxed": Family(price_and_big_m, -2, {"penalty": -2}, {"penalty": 0.5}),
    # The same without z_i <= 1.
    "zero_one_hinge": Family(price_and_big_m, -2, {"penalty": -2}, {"penalty": 0.5}),
    # The problem of zero_one_big_m.
    **dict.fromkeys(
        ("zero_one_bilinear", "zero_one_kernel", "zero_one_disjunctive"),
        Family(price, -2, {"penalty": -2}, {"penalty": 0.5}, sizes=(6,)),
    ),
    # ||w||^2 / 2 + C sum min(2, xi_i), as c_svc.
    "ramp_big_m": Family(cost_and_derived, -2, {"C": -2}, {"C": 0.5}, sizes=(6,)),
    # 2 xi_i / M_i instead of the capped loss.
    "ramp_relaxed": Family(cost_and_big_m, -2, {"C": -2}, {"C": 0.5}),
    # ||w||_1 + C sum min(2, xi_i): linear in c.
    "ramp_l1_big_m": Family(cost_and_derived, -1, {"C": -1}, {"C": 0.5}, sizes=(6,), axes=True),
    "ramp_l1_relaxed": Family(cost_and_near_m, -1, {"C": -1}, {"C": 0.5}, axes=True),
    # The box of (w, b) has sides that go with 1 / c, and axes.
    "zero_one_disjunctive_relaxed": Family(
        price, -2, {"penalty": -2}, {"penalty": 0.5}, sizes=(6,), least="prices", axes=True
    ),
    # Loss 2 sqrt(penalty gamma) v - gamma v^2 of v = 1 - u: falls by c^2 with both prices.
    "conic_fixed": Family(
        price_and_strengthening, -2, {"penalty": -2, "strengthening": -2}, {"penalty": 0.5,
        "strengthening": 0.5}, intercepts=PRICED, least="prices"
    ),
    # tr W + penalty sum z with z_i = v_i^2 / T_i: W / c^2 keeps T_i, and so z_i; W_bb stays.
    "conic_sdp": Family(price_and_bound, -2, {"penalty": -2}, {"penalty": 0.5}, least="prices"),
    # Equal in value to conic_sdp.
    "conic_sdp_literal": Family(
        price_and_bound, -2, {"penalty": -2}, {"penalty": 0.5}, least="prices"
    ),
    # V_ij is of v_i v_j, without a unit, as T_i is.
    "conic_sdp_rank_one": Family(
        price_and_bound, -2, {"penalty": -2}, {"penalty": 0.5}, least="prices", sizes=(6,)
    ),
    # Equal in value to conic_sdp.
    "conic_sdp_eliminated": Family(
        price_and_bound, -2, {"penalty": -2}, {"penalty": 0.5}, least="prices"
    ),
    # The same with bounds: v_i keeps its own, and the norm follows.
    "conic_sdp_strengthened": Family(
        price_and_limits, -2, {"penalty": -2, "slack_bounds": -2}, {"penalty": 0.5},
        least="prices"
    ),
    # The same for every product with z_i, where the cutoff does not bind.
    "conic_sdp_lift": Family(
        price_and_few_limits, -2, {"penalty": -2, "slack_bounds": -2}, {"penalty": 0.5},
        least="prices"
    ),
    # sum xi + ridge / 2 ||B||^2: the sum stays when ridge grows by c^2. ridge / 2 >= 0.01.
    "matrix_svc_full": Family(row(), 0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0),
    "matrix_svc_bilinear": Family(row({"rank": 1}), 0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0),
    "matrix_svc_projection": Family(row({"rank": 1}), 0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0),
    # tau ||B||_* besides, which stays when tau grows by c.
    "matrix_svc_nuclear": Family(
        row(tau=(0.1, 0.5)), 0, {"ridge": 2, "tau": 1}, {"ridge": 2.0, "tau": 2.0},
        doubled=2.0
    ),
    # tr W with sum z_i <= budget n.
    "conic_sdp_budget": Family(budget_and_bound, -2, least="prices"),
    # Minus the optimum of conic_sdp.
    "conic_sdp_dual": Family(
        price_and_bound, -2, {"penalty": -2}, {"penalty": 0.5}, least="prices", dual=True
    ),
}  # fmt: skip
