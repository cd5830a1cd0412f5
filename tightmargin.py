"""Front door: what a notebook needs.

>>> import tightmargin as tm
>>> data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
>>> tm.solve(tm.hard_margin_svc(data)).certificate.verdict.value
'CERTIFIED'
"""

from typing import TYPE_CHECKING, Any

from cuts.bound_tightening import tighten
from cuts.branch_and_cut import branch_and_cut
from cuts.extended_nu_path import extended_nu_path
from cuts.hull import hull_search
from cuts.outer_loop import cutting_plane
from cuts.searched import solve_by_search
from experiments.estimator_verdict import UncertifiedError, UncertifiedWarning
from experiments.fitted import fit
from experiments.saved_machines import read_fitted
from formulations import CATALOGUE, GramData, MulticlassData, TrainingData
from formulations.c_svc import c_svc, c_svc_dual
from formulations.conic import conic_fixed, conic_sdp, conic_sdp_budget, conic_sdp_literal
from formulations.conic_dual import conic_sdp_dual
from formulations.conic_eliminated import conic_sdp_eliminated
from formulations.conic_lift import conic_sdp_lift
from formulations.conic_strengthened import conic_sdp_strengthened
from formulations.cvar import min_cvar
from formulations.extended_nu_linearised import (
    extended_nu_svc_linearised,
    extended_nu_svc_linearised_dual,
)
from formulations.extended_nu_svc import (
    extended_nu_svc,
    extended_nu_svc_ball,
    extended_nu_svc_polar,
    extended_nu_svc_reverse,
)
from formulations.feature_rank import orthonormal_reduction
from formulations.fisher_consistency import admissible_truncation, is_consistent
from formulations.margin_dual import hard_margin_svc_dual
from formulations.margin_svc import hard_margin_svc, max_margin_svc
from formulations.matrix_bilinear import matrix_svc_bilinear
from formulations.matrix_svc import matrix_svc_full, matrix_svc_nuclear, matrix_svc_projection
from formulations.multiclass import multiclass_hinge
from formulations.multiclass_truncated import multiclass_truncated, multiclass_truncated_relaxed
from formulations.nu_svc import nu_svc, nu_svc_dual
from formulations.ramp import ramp_big_m, ramp_relaxed
from formulations.reduced_hull import reduced_hull_svc
from formulations.rsvm import rsvm, rsvm_relaxed
from formulations.rsvm_dual import rsvm_dual, rsvm_dual_perspective
from formulations.rsvm_kernel import rsvm_kernel_relaxed
from formulations.rsvm_maps import equivalence
from formulations.soft_margin import kernel_soft_margin_svc, soft_margin_svc, weighted_svc
from formulations.soft_margin_dual import soft_margin_svc_dual
from formulations.vc_bound import vc_bound
from formulations.zero_one import zero_one_big_m, zero_one_hinge, zero_one_relaxed
from formulations.zero_one_logic import zero_one_bilinear, zero_one_disjunctive
from solvers.algorithms.class_probabilities import class_probabilities
from solvers.algorithms.conflict_search.search import conflict_search
from solvers.algorithms.conic_path import conic_path, penalty_grid
from solvers.algorithms.decomposition import decomposition
from solvers.algorithms.direct_probabilities import direct_probabilities
from solvers.algorithms.extended_nu_local import extended_nu_local
from solvers.algorithms.h_limit import h_limit
from solvers.algorithms.matrix_alternating import matrix_alternating
from solvers.algorithms.matrix_search import matrix_search
from solvers.algorithms.prepare import build
from solvers.algorithms.ranges import nu_range
from solvers.algorithms.risk_minimisation import risk_table
from solvers.algorithms.rsvm_path import rsvm_path, solve_rsvm
from solvers.algorithms.sgd import sgd
from solvers.algorithms.truncated_dca import truncated_dca
from solvers.algorithms.truncated_gap import certified_gap
from solvers.algorithms.truncated_search import truncated_search
from solvers.compare import compare
from solvers.isolated import solve_isolated
from solvers.matrix_searched import solve_by_matrix_search
from solvers.multiclass_searched import solve_by_truncated_search
from solvers.result import SolveResult
from solvers.rsvm_searched import solve_by_rsvm
from solvers.sgd_searched import solve_by_sgd
from solvers.solve import solve
from solvers.zero_one_searched import solve_by_conflicts

if TYPE_CHECKING:
    from experiments.estimators import FormulationClassifier

__version__ = "0.1.0"

catalogue = CATALOGUE


def __getattr__(name: str) -> Any:
    """Load what is built on scikit-learn when it is asked for: it takes half a second."""
    if name == "FormulationClassifier":
        from experiments.estimators import FormulationClassifier

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
    from experiments.cli import main

    main()
