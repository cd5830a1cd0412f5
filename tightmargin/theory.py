"""What theory says of data and hyperparameters, and what is evaluated instead of solved."""

from tightmargin.experiments.statistics.risk_bounds import theorem_3, theorem_4, theorem_5
from tightmargin.experiments.statistics.sample_complexity import (
    hard_margin_bound,
    hard_margin_points,
    norm_ball_bound,
    norm_ball_points,
    soft_margin_bound,
)
from tightmargin.experiments.statistics.structural_risk import risk_table
from tightmargin.experiments.statistics.vc_bound import vc_bound
from tightmargin.formulations import (
    admissible_truncation,
    equivalence,
    is_consistent,
    orthonormal_reduction,
)
from tightmargin.formulations.nu.nu_svc import nu_levels
from tightmargin.formulations.rigorous_svm.equivalence import (
    from_c_svc,
    from_nu_svc,
    from_reduced_hulls,
)
from tightmargin.solvers import norm_limit, nu_range

__all__ = [
    "admissible_truncation",
    "equivalence",
    "from_c_svc",
    "from_nu_svc",
    "from_reduced_hulls",
    "hard_margin_bound",
    "hard_margin_points",
    "is_consistent",
    "norm_ball_bound",
    "norm_ball_points",
    "norm_limit",
    "nu_levels",
    "nu_range",
    "orthonormal_reduction",
    "risk_table",
    "soft_margin_bound",
    "theorem_3",
    "theorem_4",
    "theorem_5",
    "vc_bound",
]
