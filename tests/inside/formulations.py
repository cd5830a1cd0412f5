"""What tests need from inside formulations/: names by module, new=old where two are alike."""

from tests.inside import names_of

_NAMES = {
    "formulations.builder_docstrings": "documented",
    "formulations.catalogue": "origin_now",
    "formulations.common.hyperplane": "augmented",
    "formulations.common.margin_levels": "hinge_intercept hinge_intercept_interval",
    "formulations.common.rounding": (
        "least_eigenvalue most_hinge most_squares score_errors summed_up"
    ),
    "formulations.conic.checks": "RationalPoint strengthened_points",
    "formulations.conic.closed_form_bound": (
        "budget_grid StrengtheningBound budget_bound strengthening_bound"
    ),
    "formulations.conic.sdp": "primal_point",
    "formulations.conic.strengthened": "STRENGTHENED_ROOM=ROOM strengthened_model",
    "formulations.conic.strengthening": "conic_loss hull_loss least_indicator strengthening_values",
    "formulations.data": "arrays",
    "formulations.data.arrays": "Array",
    "formulations.data.class_labels": "legend",
    "formulations.data.kernel_pca": "fit_kernel_pca",
    "formulations.data.kernels": (
        "centred_gram fit_gram_normaliser KERNELS cross_gram gram_data kernel_matrix"
    ),
    "formulations.data.normalisation": "NORMALISERS Normaliser fit_normaliser normalise",
    "formulations.data.point_weights": "unweighted",
    "formulations.data.sparse_points": (
        "largest_in_columns scaled_columns scaled_rows squared_distances squared_lengths"
    ),
    "formulations.data.training_data": "least_errors",
    "formulations.formulas.formula": "MODES Formula formulas parsed at_mode",
    "formulations.formulas.notation": "Html Latex Text latex",
    "formulations.lemma": "Lemma",
    "formulations.matrix.matrix_svc": "bounded_objective",
    "formulations.matrix.shapes": "checked_shape spread_norm",
    "formulations.modeling.affine_rows": "AffineRows dot equal_rows squares total",
    "formulations.modeling.array_variables": "ArrayVar",
    "formulations.modeling.cones": (
        "ONE power_cones power_values RotatedCones complement psd_entries"
    ),
    "formulations.multiclass.fisher_consistency": "confused_weights population_risk",
    "formulations.multiclass.hinge": "class_costs smallest_leads",
    "formulations.multiclass.truncated_hinge": (
        "cap_of class_reaches derive_multiclass_big_m truncated_objective"
    ),
    "formulations.nu.extended_robust": "level_price offset_limit robust_risk window",
    "formulations.nu.feature_rank": "dependent_features refuse_dependent_features",
    "formulations.nu.nu_svc": "loss_weights nu_max slack_prices",
    "formulations.nu.polytope": "edges is_corner ties_at proven_slope",
    "formulations.nu.reduced_hull": (
        "MEET SORT_BELOW Group ReducedHulls lowest reduced_hulls support support_value"
    ),
    "formulations.parameters": "INTERCEPTS HyperparameterError nearest",
    "formulations.reliances": "big_m_rule rests_on_something",
    "formulations.rigorous_svm.equivalence": (
        "FREE dual_classifier hinge_sum Equivalence from_c_svc from_nu_svc from_reduced_hulls"
    ),
    "formulations.svc": "hard_margin soft_margin",
    "formulations.svc.regularised": "LOSSES REGULARISERS",
    "formulations.zero_one.big_m": "derive_big_m derive_ramp_big_m derive_intercept_bound",
    "formulations.zero_one.conflicts": (
        "least_kept_norm least_paid pair_norms proven_norm single_norms"
    ),
    "formulations.zero_one.loss": "margins scale_onto_margin trivial_points zero_one_objective",
    "formulations.zero_one.ramp": "ramp_objective ramp_l1_big_m_everywhere ramp_l1_objective",
    "formulations.zero_one.slack_bounds": "SlackBounds closed_slack_bounds stated_bounds with_rows",
    "formulations.zero_one.without_big_m": "TRANSFORMATIONS",
}

__getattr__ = names_of(_NAMES)
