"""Front door: what a notebook needs.

>>> import tightmargin as tm
>>> data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
>>> tm.solve(tm.hard_margin_svc(data)).certificate.verdict.value
'CERTIFIED'
"""

from typing import TYPE_CHECKING, Any

from tightmargin.cuts.bound_tightening.tighten import tighten
from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.methods import solve_by_search
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.experiments.estimators.certification import UncertifiedError, UncertifiedWarning
from tightmargin.experiments.estimators.fitted import fit
from tightmargin.experiments.saved_results.machines import read_fitted
from tightmargin.experiments.statistics.structural_risk import risk_table
from tightmargin.experiments.statistics.vc_bound import vc_bound
from tightmargin.formulations import CATALOGUE, GramData, MulticlassData, TrainingData
from tightmargin.formulations.conic.eliminated import conic_sdp_eliminated
from tightmargin.formulations.conic.lift import conic_sdp_lift
from tightmargin.formulations.conic.sdp import (
    conic_fixed,
    conic_sdp,
    conic_sdp_budget,
    conic_sdp_literal,
)
from tightmargin.formulations.conic.sdp_dual import conic_sdp_dual
from tightmargin.formulations.conic.strengthened import conic_sdp_strengthened
from tightmargin.formulations.matrix.bilinear import matrix_svc_bilinear
from tightmargin.formulations.matrix.convex_models import (
    matrix_svc_full,
    matrix_svc_nuclear,
    matrix_svc_projection,
)
from tightmargin.formulations.multiclass.fisher_consistency import (
    admissible_truncation,
    is_consistent,
)
from tightmargin.formulations.multiclass.hinge import multiclass_hinge
from tightmargin.formulations.multiclass.truncated_hinge import (
    multiclass_truncated,
    multiclass_truncated_relaxed,
)
from tightmargin.formulations.nu.extended import (
    extended_nu_svc,
    extended_nu_svc_ball,
    extended_nu_svc_polar,
    extended_nu_svc_reverse,
)
from tightmargin.formulations.nu.extended_linearised import (
    extended_nu_svc_linearised,
    extended_nu_svc_linearised_dual,
)
from tightmargin.formulations.nu.feature_rank import orthonormal_reduction
from tightmargin.formulations.nu.min_cvar import min_cvar
from tightmargin.formulations.nu.nu_svc import nu_svc, nu_svc_dual
from tightmargin.formulations.nu.reduced_hull import reduced_hull_svc
from tightmargin.formulations.rigorous_svm.dual import rsvm_dual, rsvm_dual_perspective
from tightmargin.formulations.rigorous_svm.equivalence import equivalence
from tightmargin.formulations.rigorous_svm.kernel import rsvm_kernel_relaxed
from tightmargin.formulations.rigorous_svm.primal import rsvm, rsvm_relaxed
from tightmargin.formulations.svc.c_svc import c_svc, c_svc_dual
from tightmargin.formulations.svc.hard_margin import hard_margin_svc, max_margin_svc
from tightmargin.formulations.svc.hard_margin_dual import hard_margin_svc_dual
from tightmargin.formulations.svc.soft_margin import (
    kernel_soft_margin_svc,
    soft_margin_svc,
    weighted_svc,
)
from tightmargin.formulations.svc.soft_margin_dual import soft_margin_svc_dual
from tightmargin.formulations.zero_one.big_m_models import (
    zero_one_big_m,
    zero_one_hinge,
    zero_one_relaxed,
)
from tightmargin.formulations.zero_one.logic_models import zero_one_bilinear, zero_one_disjunctive
from tightmargin.formulations.zero_one.ramp import ramp_big_m, ramp_relaxed
from tightmargin.solvers.comparison.compare import compare
from tightmargin.solvers.conic.path import conic_path, penalty_grid
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.isolated.parent import solve_isolated
from tightmargin.solvers.matrix.alternating import matrix_alternating
from tightmargin.solvers.matrix.branch_and_bound import matrix_search
from tightmargin.solvers.matrix.methods import solve_by_matrix_search
from tightmargin.solvers.model_building import build
from tightmargin.solvers.multiclass.branch_and_bound import truncated_search
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.dca_gap import certified_gap
from tightmargin.solvers.multiclass.methods import solve_by_truncated_search
from tightmargin.solvers.nu.local_search import extended_nu_local
from tightmargin.solvers.nu.nu_range import nu_range
from tightmargin.solvers.probability.binary import class_probabilities
from tightmargin.solvers.probability.multiclass import direct_probabilities
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.rigorous_svm.decomposition.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.methods import solve_by_rsvm
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import h_limit
from tightmargin.solvers.rigorous_svm.path.path import rsvm_path, solve_rsvm
from tightmargin.solvers.soft_margin.methods import solve_by_sgd
from tightmargin.solvers.soft_margin.sgd import sgd
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search
from tightmargin.solvers.zero_one.methods import solve_by_conflicts

if TYPE_CHECKING:
    from tightmargin.experiments.estimators.classifier import FormulationClassifier

__version__ = "0.1.0"

catalogue = CATALOGUE


def __getattr__(name: str) -> Any:
    """Load what is built on scikit-learn when it is asked for: it takes half a second."""
    if name == "FormulationClassifier":
        from tightmargin.experiments.estimators.classifier import FormulationClassifier

        return FormulationClassifier
    raise AttributeError(f"module 'tightmargin' has no attribute {name!r}")


__all__ = [
    "FormulationClassifier",
    "GramData",
    "MulticlassData",
    "SolveResult",
    "TrainingData",
    "UncertifiedError",
    "UncertifiedWarning",
    "admissible_truncation",
    "branch_and_cut",
    "build",
    "c_svc",
    "c_svc_dual",
    "catalogue",
    "certified_gap",
    "class_probabilities",
    "compare",
    "conflict_search",
    "conic_fixed",
    "conic_path",
    "conic_sdp",
    "conic_sdp_budget",
    "conic_sdp_dual",
    "conic_sdp_eliminated",
    "conic_sdp_lift",
    "conic_sdp_literal",
    "conic_sdp_strengthened",
    "cutting_plane",
    "decomposition",
    "direct_probabilities",
    "equivalence",
    "extended_nu_local",
    "extended_nu_path",
    "extended_nu_svc",
    "extended_nu_svc_ball",
    "extended_nu_svc_linearised",
    "extended_nu_svc_linearised_dual",
    "extended_nu_svc_polar",
    "extended_nu_svc_reverse",
    "fit",
    "h_limit",
    "hard_margin_svc",
    "hard_margin_svc_dual",
    "hull_search",
    "is_consistent",
    "kernel_soft_margin_svc",
    "matrix_alternating",
    "matrix_search",
    "matrix_svc_bilinear",
    "matrix_svc_full",
    "matrix_svc_nuclear",
    "matrix_svc_projection",
    "max_margin_svc",
    "min_cvar",
    "multiclass_hinge",
    "multiclass_truncated",
    "multiclass_truncated_relaxed",
    "nu_range",
    "nu_svc",
    "nu_svc_dual",
    "orthonormal_reduction",
    "penalty_grid",
    "ramp_big_m",
    "ramp_relaxed",
    "read_fitted",
    "reduced_hull_svc",
    "risk_table",
    "rsvm",
    "rsvm_dual",
    "rsvm_dual_perspective",
    "rsvm_kernel_relaxed",
    "rsvm_path",
    "rsvm_relaxed",
    "sgd",
    "soft_margin_svc",
    "soft_margin_svc_dual",
    "solve",
    "solve_by_conflicts",
    "solve_by_matrix_search",
    "solve_by_rsvm",
    "solve_by_search",
    "solve_by_sgd",
    "solve_by_truncated_search",
    "solve_isolated",
    "solve_rsvm",
    "tighten",
    "truncated_dca",
    "truncated_search",
    "vc_bound",
    "weighted_svc",
    "zero_one_big_m",
    "zero_one_bilinear",
    "zero_one_disjunctive",
    "zero_one_hinge",
    "zero_one_relaxed",
]

if __name__ == "__main__":  # python -m tightmargin
    from tightmargin.experiments.cli.app import main

    main()
