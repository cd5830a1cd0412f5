"""What the problems are: one builder per published equation. Nothing here solves anything."""

import sys
from importlib import import_module

# isort: off
# In the order of the catalogue: importing a builder registers it.
from tightmargin.formulations.svc.hard_margin import (
    hard_margin_svc,
    max_margin_svc,
    hard_margin_svc_dual,
)
from tightmargin.formulations.svc.soft_margin import (
    c_svc,
    c_svc_dual,
    soft_margin_svc,
    weighted_svc,
    kernel_soft_margin_svc,
    soft_margin_svc_dual,
)
from tightmargin.formulations.svc.regularised import (
    hinge_power_svc,
    regularised_svc,
    deviance_svc,
)
from tightmargin.formulations.nu.nu_svc import (
    nu_svc,
    nu_svc_dual,
)
from tightmargin.formulations.nu.reduced_hull import reduced_hull_svc
from tightmargin.formulations.nu.extended import (
    extended_nu_svc,
    extended_nu_svc_ball,
    extended_nu_svc_reverse,
    extended_nu_svc_polar,
    extended_nu_svc_dual,
    extended_nu_svc_linearised,
    extended_nu_svc_linearised_dual,
    min_cvar,
)
from tightmargin.formulations.rigorous_svm.rsvm import (
    rsvm,
    rsvm_relaxed,
    rsvm_kernel_relaxed,
    rsvm_dual,
    rsvm_dual_perspective,
)
from tightmargin.formulations.zero_one.big_m_models import (
    zero_one_big_m,
    zero_one_relaxed,
    zero_one_hinge,
)
from tightmargin.formulations.zero_one.without_big_m import (
    zero_one_kernel,
    zero_one_bilinear,
    zero_one_disjunctive,
    zero_one_disjunctive_relaxed,
)
from tightmargin.formulations.zero_one.ramp import (
    ramp_big_m,
    ramp_relaxed,
    ramp_l1_big_m,
    ramp_l1_relaxed,
)
from tightmargin.formulations.conic.sdp import (
    conic_fixed,
    conic_sdp,
    conic_sdp_literal,
    conic_sdp_budget,
    conic_sdp_eliminated,
    conic_sdp_dual,
)
from tightmargin.formulations.conic.strengthened import conic_sdp_strengthened
from tightmargin.formulations.conic.rank_one import conic_sdp_rank_one
from tightmargin.formulations.multiclass.hinge import multiclass_hinge
from tightmargin.formulations.multiclass.truncated_hinge import (
    multiclass_truncated,
    multiclass_truncated_relaxed,
)
from tightmargin.formulations.matrix.matrix_svc import (
    matrix_svc_bilinear,
    matrix_svc_full,
    matrix_svc_projection,
    matrix_svc_nuclear,
)
from tightmargin.formulations.matrix.several_classes import (
    multiclass_matrix_projection,
    multiclass_matrix_nuclear,
)

# isort: on
from tightmargin.formulations import builder_docstrings
from tightmargin.formulations.catalogue import (
    CATALOGUE,
    Entry,
    Origin,
    PaperCheck,
    ProblemClass,
    formulation,
)
from tightmargin.formulations.conic.rank_one import rank_one_hull
from tightmargin.formulations.conic.strengthening import conic_hull
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.cones import psd
from tightmargin.formulations.multiclass.fisher_consistency import (
    admissible_truncation,
    is_consistent,
)
from tightmargin.formulations.nu.extended_robust import extended_robust_svc
from tightmargin.formulations.nu.feature_rank import orthonormal_reduction
from tightmargin.formulations.rigorous_svm.equivalence import equivalence

# Modules by their former names, which pickles of models, results and builders hold.
FORMER_MODULES = {
    "catalogue": "problem_class paper_check",
    "conic.rank_one": "conic.rank_one.sdp",
    "conic.sdp": "conic.sdp_dual",
    "conic.strengthened": "conic.rlt",
    "data.kernels": "data.kernel_centring",
    "matrix.matrix_svc": "matrix.convex_models matrix.bilinear",
    "modeling.affine_rows": "modeling.lazy_constraints modeling.linear_sums modeling.row_terms",
    "modeling.cones": "modeling.rotated_cones modeling.semidefinite",
    "nu.extended": "nu.extended_dual nu.extended_linearised nu.min_cvar",
    "nu.nu_svc": "nu.levels",
    "nu.reduced_hull": "nu.support_function",
    "rigorous_svm.rsvm": "rigorous_svm.primal rigorous_svm.dual",
    "svc.regularised": "svc.hinge_power",
    "svc.soft_margin": "svc.c_svc",
    "zero_one.ramp": "zero_one.ramp_l1",
    "zero_one.without_big_m": (
        "zero_one.logic_models zero_one.kernel_model zero_one.disjunctive_hull"
    ),
}
for _name, _former in FORMER_MODULES.items():
    for _word in _former.split():
        sys.modules[f"{__name__}.{_word}"] = import_module(f"{__name__}.{_name}")

for _entry in CATALOGUE.values():
    builder_docstrings.complete(_entry, CATALOGUE)

__all__ = [
    "CATALOGUE",
    "Entry",
    "GramData",
    "MulticlassData",
    "Origin",
    "PaperCheck",
    "ProblemClass",
    "TrainingData",
    "admissible_truncation",
    "c_svc",
    "c_svc_dual",
    "conic_fixed",
    "conic_hull",
    "conic_sdp",
    "conic_sdp_budget",
    "conic_sdp_dual",
    "conic_sdp_eliminated",
    "conic_sdp_literal",
    "conic_sdp_rank_one",
    "conic_sdp_strengthened",
    "deviance_svc",
    "equivalence",
    "extended_nu_svc",
    "extended_nu_svc_ball",
    "extended_nu_svc_dual",
    "extended_nu_svc_linearised",
    "extended_nu_svc_linearised_dual",
    "extended_nu_svc_polar",
    "extended_nu_svc_reverse",
    "extended_robust_svc",
    "formulation",
    "hard_margin_svc",
    "hard_margin_svc_dual",
    "hinge_power_svc",
    "is_consistent",
    "kernel_soft_margin_svc",
    "matrix_svc_bilinear",
    "matrix_svc_full",
    "matrix_svc_nuclear",
    "matrix_svc_projection",
    "max_margin_svc",
    "min_cvar",
    "multiclass_hinge",
    "multiclass_matrix_nuclear",
    "multiclass_matrix_projection",
    "multiclass_truncated",
    "multiclass_truncated_relaxed",
    "nu_svc",
    "nu_svc_dual",
    "orthonormal_reduction",
    "psd",
    "ramp_big_m",
    "ramp_l1_big_m",
    "ramp_l1_relaxed",
    "ramp_relaxed",
    "rank_one_hull",
    "reduced_hull_svc",
    "regularised_svc",
    "rsvm",
    "rsvm_dual",
    "rsvm_dual_perspective",
    "rsvm_kernel_relaxed",
    "rsvm_relaxed",
    "soft_margin_svc",
    "soft_margin_svc_dual",
    "weighted_svc",
    "zero_one_big_m",
    "zero_one_bilinear",
    "zero_one_disjunctive",
    "zero_one_disjunctive_relaxed",
    "zero_one_hinge",
    "zero_one_kernel",
    "zero_one_relaxed",
]
