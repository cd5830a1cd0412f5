"""What tests need from inside formulations/."""

from tightmargin.formulations.big_m_rules import big_m_rule
from tightmargin.formulations.builder_docstrings import documented
from tightmargin.formulations.catalogue import origin_now
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.intercept_recovery import (
    hinge_intercept,
    hinge_intercept_interval,
)
from tightmargin.formulations.common.least_eigenvalue import least_eigenvalue
from tightmargin.formulations.common.rounded_sums import (
    most_hinge,
    most_squares,
    score_errors,
    summed_up,
)
from tightmargin.formulations.conic.budget import budget_grid
from tightmargin.formulations.conic.checks import RationalPoint, strengthened_points
from tightmargin.formulations.conic.closed_form_bound import (
    StrengtheningBound,
    budget_bound,
    strengthening_bound,
)
from tightmargin.formulations.conic.loss import conic_loss, hull_loss, least_indicator
from tightmargin.formulations.conic.sdp_dual import primal_point
from tightmargin.formulations.conic.strengthened import ROOM as STRENGTHENED_ROOM
from tightmargin.formulations.conic.strengthened import strengthened_model
from tightmargin.formulations.conic.strengthening import strengthening_values
from tightmargin.formulations.data import arrays
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.equal_points import least_errors
from tightmargin.formulations.data.feature_names import legend
from tightmargin.formulations.data.kernel_centring import centred_gram, fit_gram_normaliser
from tightmargin.formulations.data.kernel_pca import fit_kernel_pca
from tightmargin.formulations.data.kernels import KERNELS, cross_gram, gram_data, kernel_matrix
from tightmargin.formulations.data.normalisation import (
    NORMALISERS,
    Normaliser,
    fit_normaliser,
    normalise,
)
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.sparse_points import (
    largest_in_columns,
    scaled_columns,
    scaled_rows,
    squared_distances,
    squared_lengths,
)
from tightmargin.formulations.formulas.formula import MODES, Formula, formulas, parsed
from tightmargin.formulations.formulas.latex import Latex, latex
from tightmargin.formulations.formulas.modes import at_mode
from tightmargin.formulations.formulas.plain import Html, Text
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.matrix.checks import bounded_objective
from tightmargin.formulations.matrix.shapes import checked_shape, spread_norm
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, squares
from tightmargin.formulations.modeling.affine_rows import total as affine_rows_total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.linear_sums import total as linear_sums_total
from tightmargin.formulations.modeling.power_cones import ONE, power_cones, power_values
from tightmargin.formulations.modeling.rotated_cones import RotatedCones, complement
from tightmargin.formulations.modeling.semidefinite import psd_entries
from tightmargin.formulations.multiclass.big_m import cap_of, class_reaches, derive_multiclass_big_m
from tightmargin.formulations.multiclass.fisher_consistency import confused_weights, population_risk
from tightmargin.formulations.multiclass.hinge import class_costs, smallest_leads
from tightmargin.formulations.multiclass.truncated_hinge import truncated_objective
from tightmargin.formulations.nu.extended_robust import (
    level_price,
    offset_limit,
    robust_risk,
    window,
)
from tightmargin.formulations.nu.feature_rank import dependent_features, refuse_dependent_features
from tightmargin.formulations.nu.polytope_edges import edges, is_corner, ties_at
from tightmargin.formulations.nu.reduced_hull import MEET
from tightmargin.formulations.nu.slope_bound import proven_slope
from tightmargin.formulations.nu.support_function import (
    SORT_BELOW,
    Group,
    ReducedHulls,
    lowest,
    reduced_hulls,
    support,
    support_value,
)
from tightmargin.formulations.nu.weights import loss_weights, nu_max, slack_prices
from tightmargin.formulations.parameters import INTERCEPTS, HyperparameterError, nearest
from tightmargin.formulations.reliances import rests_on_something
from tightmargin.formulations.rigorous_svm.checks import FREE, dual_classifier, hinge_sum
from tightmargin.formulations.rigorous_svm.equivalence import Equivalence
from tightmargin.formulations.rigorous_svm.inverse_maps import (
    from_c_svc,
    from_nu_svc,
    from_reduced_hulls,
)
from tightmargin.formulations.svc import hard_margin, soft_margin
from tightmargin.formulations.svc.losses import LOSSES, REGULARISERS
from tightmargin.formulations.zero_one.big_m import derive_big_m, derive_ramp_big_m
from tightmargin.formulations.zero_one.conflicts import (
    least_kept_norm,
    least_paid,
    pair_norms,
    proven_norm,
    single_norms,
)
from tightmargin.formulations.zero_one.intercept_bound import derive_intercept_bound
from tightmargin.formulations.zero_one.logic_models import TRANSFORMATIONS
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.formulations.zero_one.ramp_l1 import ramp_l1_big_m_everywhere, ramp_l1_objective
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, closed_slack_bounds
from tightmargin.formulations.zero_one.slack_bounds_argument import stated_bounds, with_rows
