"""How every formulation follows a change of its data: one statement for each catalogue entry.

With u_i = y_i (<w, x_i> + b), a change of the points is undone by a change of (w, b) that keeps
all u_i, or multiplies them by one number. What that does to the norm and to the prices is the
relation. Changes that are the same for all entries are in changes.py; here stand the powers of c
for X -> c X and the factors for points that are there twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Family:
    """The relations of one entry.

    `least` says what an intercept that is priced or left out does. "hyperplane": the objective does
    not fall. "prices": the same for all but a free intercept, which has a bound of its own. Empty:
    neither is known.
    """

    optimum: int  # for X -> c X: the power of c by which it is multiplied
    scaled: Mapping[str, int] = field(default_factory=dict)  # the same of hyperparameters
    twice: Mapping[str, float] = field(default_factory=dict)  # their factors for points twice
    doubled: float = 1.0  # the factor of the optimum for points that are all there twice
    least: str = "hyperplane"
    dual: bool = False  # the optimum is minus that of a minimisation
    dependent: bool = True  # features may be affinely dependent, or become more
    axes: bool = False  # the optimum depends on the axes: features may not be turned or split
    copies: bool = True  # the relation of points twice is known, and quickly tried
    certified: bool = True  # every result is CERTIFIED


# Scaling: where b is unpriced, (w / c, b) has the same u_i in c X as (w, b) in X. Machines whose
# margin is 1 keep u_i; those whose margin is a variable (rho) may also multiply all u_i. Where b is
# priced its square and ||w||^2 change differently: no relation is known, and none is tested.
# Twice: each sum over the points doubles; a mean does not.

# ||w||^2 / 2 + C sum xi: the norm falls by c^2, xi stays, so C falls by c^2.
OF_C = Family(-2, {"C": -2}, {"C": 0.5})
# ridge ||w||^2 + mean xi: the mean stays when ridge grows by c^2.
OF_MEANS = Family(0, {"ridge": 2})
# The same of other losses and norms.
OF_LOSSES = Family(0, {"price": 2})
# ||w||^2 + penalty #violations: (w / c, b) violates the same points. The derived M is made of
# products ||w|| ||x||, and of no price; z_i = xi_i / M_i and z_i = v_i^2 / T_i stay as well.
COUNTED = Family(-2, {"penalty": -2}, {"penalty": 0.5})
BOUNDED = replace(COUNTED, least="prices")
# -nu rho + sum c_i xi is linear in u_i, and w stays on its sphere or in its ball. With b on the
# sphere too no order of the three modes is known.
ON_SPHERE = Family(1, least="", dependent=False, certified=False)
IN_BALL = Family(1, dependent=False)
# sum xi in the ball ||w|| <= H: (w / c, b) has the same u_i, so H falls by c.
RIGOROUS = Family(0, {"norm_bound": -1}, doubled=2.0)
# sum xi + ridge / 2 ||B||^2: the sum stays when ridge grows by c^2. ridge / 2 >= 0.01.
OF_MATRICES = Family(0, {"ridge": 2}, {"ridge": 2.0}, doubled=2.0, dependent=False, axes=True)

FAMILIES: dict[str, Family] = {
    # ||w||^2 / 2 with u_i >= 1: w / c has 1 / c^2 of it.
    "hard_margin_svc": Family(-2),
    "hard_margin_svc_dual": Family(-2, dual=True),
    # ||w|| <= 1: w stays, and u_i, b and rho grow by c.
    "max_margin_svc": Family(1),
    "c_svc": OF_C,
    "c_svc_dual": replace(OF_C, dual=True),
    "ramp_big_m": OF_C,
    "ramp_relaxed": OF_C,
    # ||w||_1 + C sum min(2, xi_i): linear in c.
    **dict.fromkeys(
        ("ramp_l1_big_m", "ramp_l1_relaxed"), Family(-1, {"C": -1}, {"C": 0.5}, axes=True)
    ),
    "soft_margin_svc": OF_MEANS,
    "weighted_svc": OF_MEANS,
    "kernel_soft_margin_svc": OF_MEANS,
    # ||v||^2 / (4 ridge) - sum alpha with the same alpha <= 1 / n. Twice: half of alpha each.
    "soft_margin_svc_dual": replace(OF_MEANS, dual=True),
    "regularised_svc": OF_LOSSES,
    "deviance_svc": OF_LOSSES,
    # ||w||^2 / 2 - nu rho + sum c_i xi: c w has u_i, rho and xi times c^2, like its norm.
    "nu_svc": Family(2),
    "nu_svc_dual": Family(2, dual=True),
    # ||v||^2 / 2, half the squared distance of the hulls; a point that is there twice may weigh
    # twice as much.
    "reduced_hull_svc": Family(2, twice={"hull_bound": 0.5}, dual=True),
    "extended_nu_svc": ON_SPHERE,
    "min_cvar": ON_SPHERE,
    "extended_nu_svc_reverse": replace(ON_SPHERE, copies=False),
    # risk <= 1: w / c has the same risk, and -||w||^2 falls by c^2; twice the risk halves w.
    "extended_nu_svc_polar": replace(ON_SPHERE, optimum=-2, copies=False),
    "extended_nu_svc_ball": IN_BALL,
    "extended_nu_svc_dual": Family(1, dual=True),
    # Without the worst points. Where w = 0 is best no gap is relative.
    "extended_robust_svc": Family(1),
    # <w_ref, w> = 1 keeps w; with 0 for b in w_ref a price on b changes nothing.
    "extended_nu_svc_linearised": IN_BALL,
    "extended_nu_svc_linearised_dual": replace(IN_BALL, dual=True),
    "rsvm": RIGOROUS,
    "rsvm_dual": replace(RIGOROUS, dual=True),
    "rsvm_dual_perspective": replace(RIGOROUS, dual=True),
    # Without a ball.
    "rsvm_relaxed": replace(RIGOROUS, scaled={}),
    "rsvm_kernel_relaxed": replace(RIGOROUS, scaled={}),
    **dict.fromkeys(
        (
            "zero_one_big_m", "zero_one_relaxed", "zero_one_hinge", "zero_one_bilinear",
            "zero_one_kernel", "zero_one_disjunctive", "hinge_power_svc",
        ),
        COUNTED,
    ),
    # The box of (w, b) has sides that go with 1 / c, and axes.
    "zero_one_disjunctive_relaxed": replace(BOUNDED, axes=True),
    # Loss 2 sqrt(penalty gamma) v - gamma v^2 of v = 1 - u: falls by c^2 with both prices.
    "conic_fixed": Family(
        -2, {"penalty": -2, "strengthening": -2}, {"penalty": 0.5, "strengthening": 0.5},
        least="prices"
    ),
    # tr W + penalty sum z: W / c^2 keeps T_i, and so z_i; W_bb stays.
    **dict.fromkeys(
        ("conic_sdp", "conic_sdp_literal", "conic_sdp_rank_one", "conic_sdp_eliminated"), BOUNDED
    ),
    "conic_sdp_dual": replace(BOUNDED, dual=True),
    # The same with bounds: v_i keeps its own, and the norm follows.
    "conic_sdp_strengthened": replace(BOUNDED, copies=False),
    # tr W with sum z_i <= budget n.
    "conic_sdp_budget": Family(-2, least="prices"),
    "matrix_svc_full": OF_MATRICES,
    "matrix_svc_projection": OF_MATRICES,
    # tau ||B||_* besides, which stays when tau grows by c.
    "matrix_svc_nuclear": replace(
        OF_MATRICES, scaled={"ridge": 2, "tau": 1}, twice={"ridge": 2.0, "tau": 2.0}
    ),
    "matrix_svc_bilinear": replace(OF_MATRICES, copies=False, certified=False),
}  # fmt: skip
