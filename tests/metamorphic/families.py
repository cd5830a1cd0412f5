"""How every formulation follows a change of its data: one statement for each catalogue entry.

With u_i = y_i (<w, x_i> + b), a change of the points is undone by a change of (w, b) that keeps
all u_i, or multiplies them by one number. What that does to the norm and to the prices is the
relation. Changes that are the same for all entries are in changes.py; here stand the powers of c
for X -> c X and the factors for points that are there twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Family:
    """The relations of one entry.

    Attributes
    ----------
    optimum : int
        For X -> c X: power of c by which it is multiplied.
    scaled : mapping
        For X -> c X: powers of c by which hyperparameters are multiplied.
    twice, doubled : mapping, float
        For points that are all there twice: factors of hyperparameters, and of the optimum.
    least : str
        "hyperplane": the objective does not fall when b is priced or left out. "prices": the same
        for all but a free intercept, which has a bound of its own. Empty: neither is known.
    dual : bool
        The optimum is minus that of a minimisation.
    dependent : bool
        Whether features that are affinely dependent, or more of them, are taken.
    axes : bool
        Whether the optimum depends on the axes: features may not be turned, nor one be split.
    copies : bool
        Whether the relation of points that are there twice is known, and quickly tried.
    certified : bool
        Whether every result is CERTIFIED.
    """

    optimum: int
    scaled: Mapping[str, int] = field(default_factory=dict)
    twice: Mapping[str, float] = field(default_factory=dict)
    doubled: float = 1.0
    least: str = "hyperplane"
    dual: bool = False
    dependent: bool = True
    axes: bool = False
    copies: bool = True
    certified: bool = True


# Scaling: where b is unpriced, (w / c, b) has the same u_i in c X as (w, b) in X. Machines whose
# margin is 1 keep u_i; those whose margin is a variable (rho) may also multiply all u_i. Where b is
# priced its square and ||w||^2 change differently: no relation is known, and none is tested.
# Twice: each sum over the points doubles; a mean does not.
FAMILIES: dict[str, Family] = {
    # ||w||^2 / 2 with u_i >= 1: w / c has 1 / c^2 of it.
    "hard_margin_svc": Family(-2),
    # Minus the optimum of hard_margin_svc.
    "hard_margin_svc_dual": Family(-2, dual=True),
    # ||w|| <= 1: w stays, and u_i, b and rho grow by c.
    "max_margin_svc": Family(1),
    # ||w||^2 / 2 + C sum xi: the norm falls by c^2, xi stays, so C falls by c^2.
    "c_svc": Family(-2, {"C": -2}, {"C": 0.5}),
    # Minus the optimum of c_svc.
    "c_svc_dual": Family(-2, {"C": -2}, {"C": 0.5}, dual=True),
    # ridge ||w||^2 + mean xi: the mean stays when ridge grows by c^2.
    "soft_margin_svc": Family(0, {"ridge": 2}),
    # ||v||^2 / (4 ridge) - sum alpha with the same alpha <= 1 / n. Twice: half of alpha each.
    "soft_margin_svc_dual": Family(0, {"ridge": 2}, dual=True),
    # The same with weights of the classes.
    "weighted_svc": Family(0, {"ridge": 2}),
    # The same in v = F'alpha.
    "kernel_soft_margin_svc": Family(0, {"ridge": 2}),
    # price ||w||^2 + the mean of squared hinges: as soft_margin_svc.
    "regularised_svc": Family(0, {"price": 2}),
    # The same with log(1 + exp(-u)).
    "deviance_svc": Family(0, {"price": 2}),
    # ||w||^2 + penalty sum xi^exponent: as c_svc.
    "hinge_power_svc": Family(-2, {"penalty": -2}, {"penalty": 0.5}),
    # ||w||^2 / 2 - nu rho + sum c_i xi: c w has u_i, rho and xi times c^2, like its norm.
    "nu_svc": Family(2),
    # ||v||^2 / 2 = ||sum alpha_i y_i x_i||^2 / 2 with the same alpha.
    "nu_svc_dual": Family(2, dual=True),
    # -nu rho + sum c_i xi is linear in u_i, and w stays on its sphere.
    # With b on the sphere too no order of the three modes is known.
    "extended_nu_svc": Family(1, least="", dependent=False, certified=False),
    # The same in the ball, which is larger without b.
    "extended_nu_svc_ball": Family(1, dependent=False),
    # Minus that, ||v|| with v = sum alpha_i y_i x_i.
    "extended_nu_svc_dual": Family(1, dual=True),
    # The same outside the ball.
    "extended_nu_svc_reverse": Family(1, least="", dependent=False, certified=False, copies=False),
    # The same without the worst points, in the ball. Where w = 0 is best no gap is relative.
    "extended_robust_svc": Family(1),
    # risk <= 1: w / c has the same risk, and -||w||^2 falls by c^2; twice the risk halves w.
    "extended_nu_svc_polar": Family(-2, least="", dependent=False, certified=False, copies=False),
    # <w_ref, w> = 1 keeps w; with 0 for b in w_ref a price on b changes nothing.
    "extended_nu_svc_linearised": Family(1, dependent=False),
    # u = t w_ref on the segment's end: u is a sum of points, so t grows by c.
    "extended_nu_svc_linearised_dual": Family(1, dual=True, dependent=False),
    # The optimum of extended_nu_svc over nu = 1 - beta.
    "min_cvar": Family(1, least="", dependent=False, certified=False),
    # sum xi in the ball ||w|| <= H: (w / c, b) has the same u_i, so H falls by c.
    "rsvm": Family(0, {"norm_bound": -1}, doubled=2.0),
    # The same without a ball.
    "rsvm_relaxed": Family(0, doubled=2.0),
    # The same in v = F'(y o beta).
    "rsvm_kernel_relaxed": Family(0, doubled=2.0),
    # H ||v|| - sum alpha with the same alpha: v grows by c, H falls by it.
    "rsvm_dual": Family(0, {"norm_bound": -1}, doubled=2.0, dual=True),
    # t stays, and gamma grows by c^2.
    "rsvm_dual_perspective": Family(0, {"norm_bound": -1}, doubled=2.0, dual=True),
    # ||v||^2 / 2, half the squared distance of the hulls; a point that is there twice may weigh
    # twice as much.
    "reduced_hull_svc": Family(2, twice={"hull_bound": 0.5}, dual=True),
    # ||w||^2 + penalty #violations: (w / c, b) violates the same points. The derived M is made of
    # products ||w|| ||x||, and of no price.
    "zero_one_big_m": Family(-2, {"penalty": -2}, {"penalty": 0.5}),
    # z_i = xi_i / M_i instead of the count.
    "zero_one_relaxed": Family(-2, {"penalty": -2}, {"penalty": 0.5}),
    # The same without z_i <= 1.
    "zero_one_hinge": Family(-2, {"penalty": -2}, {"penalty": 0.5}),
    # The problem of zero_one_big_m.
    **dict.fromkeys(
        ("zero_one_bilinear", "zero_one_kernel", "zero_one_disjunctive"),
        Family(-2, {"penalty": -2}, {"penalty": 0.5}),
    ),
    # ||w||^2 / 2 + C sum min(2, xi_i), as c_svc.
    "ramp_big_m": Family(-2, {"C": -2}, {"C": 0.5}),
    # 2 xi_i / M_i instead of the capped loss.
    "ramp_relaxed": Family(-2, {"C": -2}, {"C": 0.5}),
    # ||w||_1 + C sum min(2, xi_i): linear in c.
    "ramp_l1_big_m": Family(-1, {"C": -1}, {"C": 0.5}, axes=True),
    "ramp_l1_relaxed": Family(-1, {"C": -1}, {"C": 0.5}, axes=True),
    # The box of (w, b) has sides that go with 1 / c, and axes.
    "zero_one_disjunctive_relaxed": Family(
        -2, {"penalty": -2}, {"penalty": 0.5}, least="prices", axes=True
    ),
    # Loss 2 sqrt(penalty gamma) v - gamma v^2 of v = 1 - u: falls by c^2 with both prices.
    "conic_fixed": Family(
        -2, {"penalty": -2, "strengthening": -2}, {"penalty": 0.5, "strengthening": 0.5},
        least="prices"
    ),
    # tr W + penalty sum z with z_i = v_i^2 / T_i: W / c^2 keeps T_i, and so z_i; W_bb stays.
    "conic_sdp": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices"),
    # Equal in value to conic_sdp.
    "conic_sdp_literal": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices"),
    # V_ij is of v_i v_j, without a unit, as T_i is.
    "conic_sdp_rank_one": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices"),
    # Equal in value to conic_sdp.
    "conic_sdp_eliminated": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices"),
    # The same with bounds: v_i keeps its own, and the norm follows.
    "conic_sdp_strengthened": Family(
        -2, {"penalty": -2}, {"penalty": 0.5}, least="prices", copies=False
    ),
    # The same for every product with z_i, where the cutoff does not bind.
    "conic_sdp_lift": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices", copies=False),
    # sum xi + ridge / 2 ||B||^2: the sum stays when ridge grows by c^2. ridge / 2 >= 0.01.
    "matrix_svc_full": Family(
        0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0, dependent=False, axes=True
    ),
    "matrix_svc_bilinear": Family(
        0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0, dependent=False, axes=True,
        copies=False, certified=False
    ),
    "matrix_svc_projection": Family(
        0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0, dependent=False, axes=True
    ),
    # tau ||B||_* besides, which stays when tau grows by c.
    "matrix_svc_nuclear": Family(
        0, {"ridge": 2, "tau": 1}, {"ridge": 2.0, "tau": 2.0}, doubled=2.0, dependent=False,
        axes=True
    ),
    # tr W with sum z_i <= budget n.
    "conic_sdp_budget": Family(-2, least="prices"),
    # Minus the optimum of conic_sdp.
    "conic_sdp_dual": Family(-2, {"penalty": -2}, {"penalty": 0.5}, least="prices", dual=True),
}  # fmt: skip
