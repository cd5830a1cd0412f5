"""What tests need from inside cuts/."""

from tightmargin.cuts import methods as cuts_methods
from tightmargin.cuts import saved_bounds
from tightmargin.cuts.bound_tightening import conflicts, linear_minima, rounds, tighten
from tightmargin.cuts.bound_tightening.conflicts import separated
from tightmargin.cuts.bound_tightening.deductions import (
    below_count,
    forced_by_conflicts,
    open_conflicts,
    within_ball,
)
from tightmargin.cuts.bound_tightening.linear_minima import ProvenMinimum
from tightmargin.cuts.bound_tightening.result import Tightened as ResultTightened
from tightmargin.cuts.bound_tightening.result import TighteningRound
from tightmargin.cuts.bound_tightening.tighten import Tightened as TightenTightened
from tightmargin.cuts.bound_tightening.tighten import sdp_pays, tightened_big_m
from tightmargin.cuts.concave.assumed_concave import ConcaveClaim
from tightmargin.cuts.concave.box_search import BoxSearch
from tightmargin.cuts.concave.cut_loop.cutting_plane import CutLoop
from tightmargin.cuts.concave.cut_loop.explicit_rows import ExplicitRows
from tightmargin.cuts.concave.inner_hull import enumerate_image
from tightmargin.cuts.concave.methods import BRANCH_AND_CUT
from tightmargin.cuts.concave.outcome import closed_root
from tightmargin.cuts.concave.reading import read_concave
from tightmargin.cuts.concave.root_box import root_box as root_box_root_box
from tightmargin.cuts.conical.robust_search import _problem
from tightmargin.cuts.cut.cut import Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.cuts.cut.polar_problem import PolarProblem, polar_problem
from tightmargin.cuts.cut.scaling import scaled_cut
from tightmargin.cuts.generation import concavity, facial, lifted_concavity, separation
from tightmargin.cuts.generation.remaining_faces import weight_on_a_face
from tightmargin.cuts.inner_hull import hull_search
from tightmargin.cuts.inner_hull.enclosure import enclosed_radius
from tightmargin.cuts.inner_hull.surface import Surface
from tightmargin.cuts.nu_path import nu_path
from tightmargin.cuts.nu_path.engines import METHODS, ProvingEngine, Search, search_engine
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.cuts.outer_loop import emptiness, run
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.outer_loop.run import BOX
from tightmargin.cuts.problem import cut_at, local_vertex
from tightmargin.cuts.proof_files import document
from tightmargin.cuts.relaxation.faces import FaceProgram, face_through
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import Found, LostNumbersError, Relaxation
from tightmargin.cuts.saved_bounds import search_again
from tightmargin.cuts.search.run import in_unit
from tightmargin.cuts.separators.combinatorial_benders import CombinatorialBenders
from tightmargin.cuts.separators.polar_cuts import StalledError
from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.cuts.spatial_branching import (
    active_points,
    branch_and_cut,
    node_program,
    sphere_cuts,
)
from tightmargin.cuts.spatial_branching.active_points import BAND
from tightmargin.cuts.spatial_branching.boxes import on_sphere
from tightmargin.cuts.spatial_branching.node_bound import (
    Bound,
    Multipliers,
    Rows,
    largest_entry,
    proven_bound,
)
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.cuts.spatial_branching.sphere_cuts import sphere_cut
