"""How models are solved and how far the answer can be trusted."""

from tightmargin.solvers.attempts import register_solver
from tightmargin.solvers.conic.path import conic_path, penalty_grid
from tightmargin.solvers.edits.diff import ModelDifference, diff
from tightmargin.solvers.edits.explain import Infeasibility, explain_infeasible
from tightmargin.solvers.edits.rederive import rederive
from tightmargin.solvers.edits.show import show
from tightmargin.solvers.engines.pyomo_interface import register
from tightmargin.solvers.engines.registry import SolverInfo
from tightmargin.solvers.errors import (
    DomainError,
    LicenceError,
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.files.export import export
from tightmargin.solvers.files.readers import read_model
from tightmargin.solvers.files.same_model import SameModel, same_model
from tightmargin.solvers.hinge.sgd import sgd
from tightmargin.solvers.isolated import solve_isolated
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.live_lp import LiveLP
from tightmargin.solvers.matrix.alternating import matrix_alternating
from tightmargin.solvers.matrix.search import matrix_search
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.search import truncated_search
from tightmargin.solvers.nu.local_search import extended_nu_local, robust_dca
from tightmargin.solvers.nu.nu_range import nu_range
from tightmargin.solvers.probability.binary import class_probabilities
from tightmargin.solvers.probability.multiclass import direct_probabilities
from tightmargin.solvers.registry import Finding, Method, build, methods, register_method
from tightmargin.solvers.result import Certificate, SolveResult
from tightmargin.solvers.rigorous_svm.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.norm_limit import norm_limit
from tightmargin.solvers.rigorous_svm.path import rsvm_path, solve_rsvm
from tightmargin.solvers.solve import solve
from tightmargin.solvers.zero_one.cones import cone_search, ramp_cone_search
from tightmargin.solvers.zero_one.conflicts import conflict_search
from tightmargin.solvers.zero_one.least_errors import least_errors

# isort: off
# Each of these registers what its family knows; generic code asks solvers.methods.
from tightmargin.solvers.conic import methods as _conic  # noqa: F401
from tightmargin.solvers.matrix import methods as _matrix  # noqa: F401
from tightmargin.solvers.multiclass import methods as _multiclass  # noqa: F401
from tightmargin.solvers.nu import nu_range as _nu  # noqa: F401
from tightmargin.solvers.rigorous_svm import methods as _rigorous_svm  # noqa: F401
from tightmargin.solvers.hinge import sgd as _soft_margin  # noqa: F401
from tightmargin.solvers.hinge import methods as _newton  # noqa: F401
from tightmargin.solvers.zero_one import methods as _zero_one  # noqa: F401
from tightmargin.solvers.zero_one import files as _zero_one_files  # noqa: F401
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
    "class_probabilities",
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
