"""The outer loop: cuts that shrink a relaxation until its bound is the optimum."""

from tightmargin.cuts import methods as _methods  # noqa: F401  (registers the searches)
from tightmargin.cuts.bound_tightening.conflicts import with_conflicts
from tightmargin.cuts.bound_tightening.tighten import tighten
from tightmargin.cuts.concave import methods as _concave  # noqa: F401  (registers its methods)
from tightmargin.cuts.concave.solving import minimise_concave, solve_lrcp
from tightmargin.cuts.conical import methods as _conical  # noqa: F401  (registers its methods)
from tightmargin.cuts.conical.robust_search import robust_search
from tightmargin.cuts.cut.cut import Cut, InvalidCutError, load_cuts, save_cuts
from tightmargin.cuts.generation.concavity import concavity_cut
from tightmargin.cuts.generation.facial import facial_cut
from tightmargin.cuts.generation.lifted_concavity import lifted_cut
from tightmargin.cuts.generation.verification import verify_cut
from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.nu_path.cvar_profile import cvar_profile
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.separation.errors import SeparatorError
from tightmargin.cuts.separation.result import SeparationResult
from tightmargin.cuts.separation.separate import separate
from tightmargin.cuts.separators.combinatorial_benders import combinatorial_benders
from tightmargin.cuts.separators.conflicts import conflicts
from tightmargin.cuts.separators.polar_cuts import concavity, facial
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut

__all__ = [
    "Cut",
    "InvalidCutError",
    "SeparationResult",
    "SeparatorError",
    "branch_and_cut",
    "combinatorial_benders",
    "concavity",
    "concavity_cut",
    "conflicts",
    "cutting_plane",
    "cvar_profile",
    "extended_nu_path",
    "facial",
    "facial_cut",
    "hull_search",
    "lifted_cut",
    "load_cuts",
    "minimise_concave",
    "robust_search",
    "save_cuts",
    "separate",
    "solve_lrcp",
    "tighten",
    "verify_cut",
    "with_conflicts",
]
