"""How models are solved and how far the answer can be trusted."""

from tightmargin.solvers.attempts.attempts import register_solver
from tightmargin.solvers.backends.pyomo_plugins import register
from tightmargin.solvers.backends.registry import SolverInfo
from tightmargin.solvers.comparison.compare import compare
from tightmargin.solvers.conic.path import conic_path, penalty_grid
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.differences.diff import diff
from tightmargin.solvers.edits.differences.model_difference import ModelDifference
from tightmargin.solvers.edits.rederiving.rederived import rederive
from tightmargin.solvers.errors import (
    DomainError,
    LicenceError,
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.explaining.explain import Infeasibility, explain_infeasible
from tightmargin.solvers.files.exporting import export
from tightmargin.solvers.files.reading import read_model
from tightmargin.solvers.files.same_model import SameModel, same_model
from tightmargin.solvers.isolated.parent import solve_isolated
from tightmargin.solvers.matrix.alternating import matrix_alternating
from tightmargin.solvers.matrix.branch_and_bound import matrix_search
from tightmargin.solvers.methods import Finding, Method, methods, register_method
from tightmargin.solvers.model_building import build
from tightmargin.solvers.multiclass.branch_and_bound import truncated_search
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.dca_gap import certified_gap
from tightmargin.solvers.nu.local_search import extended_nu_local
from tightmargin.solvers.nu.nu_range import nu_range
from tightmargin.solvers.nu.robust_dca import robust_dca
from tightmargin.solvers.persistent.live_lp import LiveLP
from tightmargin.solvers.probability.binary import class_probabilities
from tightmargin.solvers.probability.multiclass import direct_probabilities
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import Certificate, SolveResult
from tightmargin.solvers.rigorous_svm.decomposition.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import norm_limit
from tightmargin.solvers.rigorous_svm.path.path import rsvm_path, solve_rsvm
from tightmargin.solvers.showing.show import show
from tightmargin.solvers.soft_margin.sgd import sgd
from tightmargin.solvers.zero_one.cones.least_errors import least_errors
from tightmargin.solvers.zero_one.cones.search import cone_search, ramp_cone_search
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search

# isort: off
# Each of these registers what its family knows; generic code asks solvers.methods.
from tightmargin.solvers.conic import methods as _conic  # noqa: F401
from tightmargin.solvers.matrix import methods as _matrix  # noqa: F401
from tightmargin.solvers.multiclass import methods as _multiclass  # noqa: F401
from tightmargin.solvers.nu import methods as _nu  # noqa: F401
from tightmargin.solvers.rigorous_svm import methods as _rigorous_svm  # noqa: F401
from tightmargin.solvers.soft_margin import methods as _soft_margin  # noqa: F401
from tightmargin.solvers.soft_margin import newton as _newton  # noqa: F401
from tightmargin.solvers.zero_one import methods as _zero_one  # noqa: F401
from tightmargin.solvers.zero_one import proof_documents as _zero_one_files  # noqa: F401
# isort: on

__all__ = [
    "Certificate",
    "Claim",
    "DomainError",
    "Finding",
    "Infeasibility",
    "LicenceError",
    "LiveLP",
    "Method",
    "ModelDifference",
    "NumberError",
    "ProblemClassError",
    "RefusedError",
    "SameModel",
    "SizeLimitError",
    "SolveResult",
    "SolverInfo",
    "SolverNotInstalledError",
    "Status",
    "Verdict",
    "build",
    "certified_gap",
    "class_probabilities",
    "compare",
    "cone_search",
    "conflict_search",
    "conic_path",
    "decomposition",
    "diff",
    "direct_probabilities",
    "explain_infeasible",
    "export",
    "extended_nu_local",
    "least_errors",
    "matrix_alternating",
    "matrix_search",
    "methods",
    "norm_limit",
    "nu_range",
    "penalty_grid",
    "ramp_cone_search",
    "read_model",
    "rederive",
    "register_method",
    "register_solver",
    "robust_dca",
    "rsvm_path",
    "same_model",
    "sgd",
    "show",
    "solve",
    "solve_isolated",
    "solve_rsvm",
    "truncated_dca",
    "truncated_search",
]

register()
