"""What tests need from inside solvers/."""

from tightmargin.solvers import dispatch, doctor
from tightmargin.solvers.attempts import attempts, outer_approximation
from tightmargin.solvers.attempts.second_solver import _joined
from tightmargin.solvers.backends import (
    choice,
    clarabel,
    highs,
    mosek,
    piqp,
    pyomo_interface,
    scip,
    scs,
)
from tightmargin.solvers.backends import registry as backends_registry
from tightmargin.solvers.backends.choice import choose
from tightmargin.solvers.backends.clarabel import PANIC
from tightmargin.solvers.backends.preference import ORDER, PIQP_SIZE, SIMPLEX_SIZE
from tightmargin.solvers.backends.registry import QP, SOLVERS, UNSUPPORTED, gurobi_is_restricted
from tightmargin.solvers.backends.scip import NOISE, TIGHTENED
from tightmargin.solvers.branch_and_bound import method, proof_first
from tightmargin.solvers.branch_and_bound import search as branch_and_bound_search
from tightmargin.solvers.branch_and_bound.node_scaling import node_scaling
from tightmargin.solvers.branch_and_bound.result import TreeSearch
from tightmargin.solvers.branch_and_bound.search import SEARCHED as SEARCH_SEARCHED
from tightmargin.solvers.branch_and_bound.search import _Search, tree_search
from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.canonical_form.cone_recognition import Shape
from tightmargin.solvers.canonical_form.conic_form import (
    ConicForm,
    Multipliers,
    conic_form,
    conic_multipliers,
    pack,
    unpack,
)
from tightmargin.solvers.canonical_form.curvature import curvature
from tightmargin.solvers.canonical_form.named_values import (
    multipliers_by_name,
    named_ray,
    named_values,
    point_with,
)
from tightmargin.solvers.canonical_form.scaled_conic import Factors, ScaledConic
from tightmargin.solvers.canonical_form.squares import complete_squares
from tightmargin.solvers.certificates import certify_point, normal_matrix
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify import certify
from tightmargin.solvers.certificates.claim_consistency import with_contradictions
from tightmargin.solvers.certificates.dual_centre import dual_centre
from tightmargin.solvers.certificates.dual_repair import repaired
from tightmargin.solvers.certificates.feasible_point import feasible_point
from tightmargin.solvers.certificates.model_bound import Bound as ModelBoundBound
from tightmargin.solvers.certificates.multiplier_search import searched_bound
from tightmargin.solvers.certificates.normal_matrix import NormalMatrix, Root, solved
from tightmargin.solvers.comparison import compare, solver_runs
from tightmargin.solvers.comparison.agreement import COLUMNS, Agreement
from tightmargin.solvers.comparison.compare import NOT_SOLVED
from tightmargin.solvers.comparison.gap_table import Bound as GapTableBound
from tightmargin.solvers.comparison.solver_runs import Model, SolverRun, solvers_named
from tightmargin.solvers.conic import document as conic_document
from tightmargin.solvers.conic import low_rank_minimum, relaxation_bound
from tightmargin.solvers.conic import path_rows as conic_path_rows
from tightmargin.solvers.conic.budget_search import within_budget
from tightmargin.solvers.conic.central_path import central_point
from tightmargin.solvers.conic.low_rank import LowRank
from tightmargin.solvers.conic.path import low_rank_problem
from tightmargin.solvers.conic.path_result import (
    HARD_MARGIN,
    INTERIOR,
    LOW_RANK,
    ConicPath,
    ConicRow,
)
from tightmargin.solvers.conic.path_rows import ConicRows
from tightmargin.solvers.conic.relaxation_bound import bound_of_strengthening
from tightmargin.solvers.conic.trust_region import newton, quasi_newton
from tightmargin.solvers.disjunctive import hull_cuts
from tightmargin.solvers.disjunctive.transformation import is_disjunctive, transformed
from tightmargin.solvers.dispatch import ASKED_ONCE
from tightmargin.solvers.doctor import TRIALS, attempt, examine
from tightmargin.solvers.dualization.dual_form import dual_form
from tightmargin.solvers.dualization.layout import dual_size
from tightmargin.solvers.dualization.when import HIGHS_OPTIONS, worthwhile
from tightmargin.solvers.edits.differences.model_difference import Answer as ModelDifferenceAnswer
from tightmargin.solvers.edits.differences.model_difference import Effect
from tightmargin.solvers.edits.model_identity import unedited_origin
from tightmargin.solvers.edits.rederiving.row_reach import completed
from tightmargin.solvers.edits.rederiving.switched_rows import switched_rows
from tightmargin.solvers.exact.infeasibility import elastic_form, infeasibility_proof
from tightmargin.solvers.exact.unboundedness import ray_proof, unboundedness_proof
from tightmargin.solvers.exact_arithmetic import (
    dot_integers,
    dyadic,
    is_semidefinite,
    rounded_down,
    rounded_up,
    solve_exactly,
)
from tightmargin.solvers.exact_arithmetic import scaled as exact_arithmetic_scaled
from tightmargin.solvers.exact_points.costless import costless_point
from tightmargin.solvers.exact_points.exact_point import CHEAP_ENOUGH, exact_point
from tightmargin.solvers.execution import deadline, quiet_highs, trace
from tightmargin.solvers.execution import interrupts as execution_interrupts
from tightmargin.solvers.execution import live_line as execution_live_line
from tightmargin.solvers.execution.deadline import (
    ends_within,
    is_over,
    limit_left,
    seconds_left,
    uninterrupted,
    within_deadline,
    within_limit,
)
from tightmargin.solvers.execution.interrupts import Finished, reported, supervised
from tightmargin.solvers.execution.limits import SHORTEST, Limits
from tightmargin.solvers.execution.live_line import hidden, shown_by, telling
from tightmargin.solvers.execution.live_line import live_line as live_line_live_line
from tightmargin.solvers.execution.output_capture import silenced
from tightmargin.solvers.execution.path_result import PathResult
from tightmargin.solvers.execution.quiet_error import without_lines
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.execution.trace import Progress
from tightmargin.solvers.fact_names import FACTS
from tightmargin.solvers.hinge_batch import cost_grid
from tightmargin.solvers.hinge_batch.binary import Machines, hinge_machines, proven_bounds
from tightmargin.solvers.hinge_batch.cost_grid import block_size, hinge_block
from tightmargin.solvers.hinge_batch.multiclass import hinge_multipliers
from tightmargin.solvers.hinge_batch.multiclass_space import (
    machine_space as multiclass_space_machine_space,
)
from tightmargin.solvers.hinge_duality.ends import bound_end, objective_end
from tightmargin.solvers.hinge_duality.exact_multipliers import exact_multipliers
from tightmargin.solvers.hinge_duality.exponential import LEAST, LOST, RELATIVE, exp_of_negative
from tightmargin.solvers.hinge_duality.kernel_values import KernelValues, proven_shift
from tightmargin.solvers.hinge_duality.point_rows import PointRows
from tightmargin.solvers.hinge_duality.problem import HINGE, NU, SQUARED, PricedProblem
from tightmargin.solvers.isolated.child import Answer as ChildAnswer
from tightmargin.solvers.isolated.child import load_snapshot, snapshot, unpacked
from tightmargin.solvers.isolated.child import packed as child_packed
from tightmargin.solvers.matrix import alternating, direction_cells
from tightmargin.solvers.matrix import closing_bounds as matrix_closing_bounds
from tightmargin.solvers.matrix import methods as matrix_methods
from tightmargin.solvers.matrix.alternating import MatrixStart, fixed_columns
from tightmargin.solvers.matrix.closing_bounds import projection_value
from tightmargin.solvers.matrix.direction_cells import CellProblem
from tightmargin.solvers.methods import automatic_method
from tightmargin.solvers.model_methods import registry as model_methods_registry
from tightmargin.solvers.multiclass import branch_and_bound, dca
from tightmargin.solvers.multiclass import methods as multiclass_methods
from tightmargin.solvers.multiclass.dca import DcaBatch
from tightmargin.solvers.multiclass.node_bounds import hinge_bounds
from tightmargin.solvers.nu import local_search, nu_range, robust_dca
from tightmargin.solvers.nu.local_search import LocalSearch
from tightmargin.solvers.nu.nu_range import nu_bar_bounds, remark
from tightmargin.solvers.nu.small_loss import small_loss
from tightmargin.solvers.persistent import highs_handle
from tightmargin.solvers.persistent.primal import LpSolution, settled
from tightmargin.solvers.persistent.result import LiveResult
from tightmargin.solvers.plain_json import checksum, plain
from tightmargin.solvers.printing.tables import Framed
from tightmargin.solvers.probability import multiclass, weighted_machines
from tightmargin.solvers.probability.binary import ClassProbabilities
from tightmargin.solvers.probability.sign_rule import SignReading
from tightmargin.solvers.probability.simplex_grid import (
    SimplexGrid,
    border_weights,
    probabilities_at,
    probability_intervals,
    rainbow_cells,
    simplex_grid,
)
from tightmargin.solvers.probability.weighted_machines import METHODS as WEIGHTED_MACHINES_METHODS
from tightmargin.solvers.proof_files import checker, write
from tightmargin.solvers.proof_files.checker import Proof as CheckerProof
from tightmargin.solvers.proof_files.checker import ProofError, check
from tightmargin.solvers.proof_files.checker import read as checker_read
from tightmargin.solvers.proof_files.model_document import NotProvenError
from tightmargin.solvers.proof_files.result_proof import write_proof
from tightmargin.solvers.proof_files.write import infeasible_document, write_document, write_tree
from tightmargin.solvers.proofs import rays
from tightmargin.solvers.proofs.cones.cell_bounds import cell_bounds
from tightmargin.solvers.proofs.cones.conflict import Caps, Conflict
from tightmargin.solvers.proofs.cones.conflict import proven as conflict_proven
from tightmargin.solvers.proofs.cones.cover import ConeCover
from tightmargin.solvers.proofs.cones.cover import cover_lemma as cover_cover_lemma
from tightmargin.solvers.proofs.cones.cover import cover_value as cover_cover_value
from tightmargin.solvers.proofs.cones.halved_boxes import leaves
from tightmargin.solvers.proofs.cones.problem import READ, ConeProblem, cone_problem
from tightmargin.solvers.proofs.cones.simplicial import HalvedOrthants, orthants, tail_difference
from tightmargin.solvers.proofs.cones.simplicial import cover_lemma as simplicial_cover_lemma
from tightmargin.solvers.proofs.cones.simplicial import cover_value as simplicial_cover_value
from tightmargin.solvers.proofs.cones.simplicial import halves as simplicial_halves
from tightmargin.solvers.proofs.cover.box_cover import BoxCover, cover_bound
from tightmargin.solvers.proofs.cover.concavity_cuts import ConcavityCut, CutSequence, cuts_bound
from tightmargin.solvers.proofs.cover.facial_cuts import FacialCut
from tightmargin.solvers.proofs.cover.leaf_bounds import BoxMultipliers
from tightmargin.solvers.proofs.cover.linear_limits import LinearLimit, SquareLimit, proven_limits
from tightmargin.solvers.proofs.cover.sides import COLUMN, CUT, Side
from tightmargin.solvers.proofs.cover.squares import Directions, squares_of
from tightmargin.solvers.proofs.exact_lp import exact_lp_bound
from tightmargin.solvers.proofs.exact_qp import exact_qp_bound
from tightmargin.solvers.proofs.exact_sums.double_sums import double_sums, two_products
from tightmargin.solvers.proofs.exact_sums.enclosed_solution import enclosed_solution
from tightmargin.solvers.proofs.exact_sums.exact_products import MOST_LIMBS, exact_products
from tightmargin.solvers.proofs.exact_sums.quadratic_rows import stacked, sums_outside
from tightmargin.solvers.proofs.excess import exact_dots, linear_excess, point_of, quadratic_excess
from tightmargin.solvers.proofs.exponential.affine_minorants import (
    constant_below,
    empty_too,
    minorised,
    of_the_model,
)
from tightmargin.solvers.proofs.exponential.enclosures import exp_between, log_between
from tightmargin.solvers.proofs.exponential.points import proven_exponential_point, value_above
from tightmargin.solvers.proofs.exponential.rays import proven_exponential_ray
from tightmargin.solvers.proofs.feasible_point import near_point, proven_point
from tightmargin.solvers.proofs.gap import closes, unit
from tightmargin.solvers.proofs.implied_limits import limits_of_variables
from tightmargin.solvers.proofs.lemma import by_lemma, point_by_formula
from tightmargin.solvers.proofs.packings import cover
from tightmargin.solvers.proofs.packings import signed_points as packings_signed_points
from tightmargin.solvers.proofs.packings.cover import (
    COVERED,
    SHARED,
    WORDS,
    OpenNode,
    PackingCover,
    Remainder,
)
from tightmargin.solvers.proofs.packings.evidence import NOBODY, PACKING, REST, Conflicts, Evidence
from tightmargin.solvers.proofs.packings.node_bounds import packed_bounds
from tightmargin.solvers.proofs.packings.problem import PackingProblem
from tightmargin.solvers.proofs.packings.side_rows import Count, SideRows
from tightmargin.solvers.proofs.packings.signed_points import certified_norm2
from tightmargin.solvers.proofs.packings.signed_points import (
    signed_points as signed_points_signed_points,
)
from tightmargin.solvers.proofs.points.crossing import Coordinates, crossing_point
from tightmargin.solvers.proofs.rays import proven_unbounded
from tightmargin.solvers.proofs.statement import (
    SEAL,
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Unbounded,
)
from tightmargin.solvers.proofs.statement import Proof as StatementProof
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.tree.derived import (
    DerivedLimit,
    DerivedRow,
    Step,
    SwitchedRow,
    first_rows,
    holds,
    joined,
    most,
)
from tightmargin.solvers.proofs.tree.minorant import SparseMultipliers, minorant
from tightmargin.solvers.proofs.tree.tree import Branch, Leaf, TreeProof, tree_bound
from tightmargin.solvers.proofs.verdict import judged, judged_without_optimum, weakest
from tightmargin.solvers.proofs.weak_duality import proven_bound, proven_empty
from tightmargin.solvers.records import describe
from tightmargin.solvers.result import DERIVED, INLINE_LIMIT, SCHEMA, is_tiny
from tightmargin.solvers.rigorous_svm import methods as rigorous_svm_methods
from tightmargin.solvers.rigorous_svm.decomposition import iterate, kernel_rows
from tightmargin.solvers.rigorous_svm.decomposition import run as decomposition_run
from tightmargin.solvers.rigorous_svm.decomposition.decomposition import Decomposition
from tightmargin.solvers.rigorous_svm.decomposition.iterate import Iterate
from tightmargin.solvers.rigorous_svm.decomposition.pairs import pair_step
from tightmargin.solvers.rigorous_svm.decomposition.start import even_start, go_to_start
from tightmargin.solvers.rigorous_svm.decomposition.subproblem import subproblem, working_set
from tightmargin.solvers.rigorous_svm.methods import SEARCHED as METHODS_SEARCHED
from tightmargin.solvers.rigorous_svm.norm_limit import search as norm_limit_search
from tightmargin.solvers.rigorous_svm.norm_limit.at_limit import rsvm_at_limit
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import (
    Rows,
    centred_rows,
    least_on_face,
    sides,
)
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import (
    ExactHyperplane,
    Proofs,
    exact_hyperplane,
)
from tightmargin.solvers.rigorous_svm.path import libsvm_fits, single_bound
from tightmargin.solvers.rigorous_svm.path import path_rows as path_path_rows
from tightmargin.solvers.rigorous_svm.path.libsvm_fits import by_fits
from tightmargin.solvers.rigorous_svm.path.path import METHODS as PATH_METHODS
from tightmargin.solvers.rigorous_svm.path.path_result import RsvmRow
from tightmargin.solvers.rigorous_svm.path.path_rows import RsvmRows
from tightmargin.solvers.rigorous_svm.path.single_bound import PointFound
from tightmargin.solvers.rigorous_svm.point import RsvmPoint, rsvm_point
from tightmargin.solvers.showing.expressions import expression_node, relation_node
from tightmargin.solvers.showing.statements import of_text
from tightmargin.solvers.soft_margin import sgd as soft_margin_sgd
from tightmargin.solvers.soft_margin.sgd import _dual_at_least
from tightmargin.solvers.soft_margin.sgd_rate import RULES, sgd_rate
from tightmargin.solvers.soft_margin.sgd_steps import Walk
from tightmargin.solvers.standard_form import sparse_assembly
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    Part,
    Term,
    exponential_form,
)
from tightmargin.solvers.standard_form.expressions import read as expressions_read
from tightmargin.solvers.standard_form.inexact import InexactError
from tightmargin.solvers.standard_form.names import Label
from tightmargin.solvers.standard_form.polynomial import Polynomial
from tightmargin.solvers.standard_form.quadratic import (
    LocalQuadratic,
    Quadratic,
    QuadraticRow,
    lost_at,
)
from tightmargin.solvers.standard_form.residuals import own_residual, primal_residual
from tightmargin.solvers.standard_form.restated import representable
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm, standard_form
from tightmargin.solvers.transformations import indicator_constraints
from tightmargin.solvers.transformations.epigraphs import without_norms
from tightmargin.solvers.transformations.least_squares_scaling import (
    objective_scale,
    objective_unit,
)
from tightmargin.solvers.transformations.quotients import without_quotients
from tightmargin.solvers.transformations.scaling import badly_scaled, scaling
from tightmargin.solvers.zero_one import closing_bounds as zero_one_closing_bounds
from tightmargin.solvers.zero_one import methods as zero_one_methods
from tightmargin.solvers.zero_one.closing_bounds import conflict_lemma
from tightmargin.solvers.zero_one.cones import run as cones_run
from tightmargin.solvers.zero_one.conflict_search import (
    dual_active_set,
    incumbents,
    loans,
    probing,
    tree,
)
from tightmargin.solvers.zero_one.conflict_search import parts as conflict_search_parts
from tightmargin.solvers.zero_one.conflict_search import search as conflict_search_search
from tightmargin.solvers.zero_one.conflict_search.compiled import nodes
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import (
    empty_sets,
    grow,
    kept_gram,
    refreshed,
)
from tightmargin.solvers.zero_one.conflict_search.hyperplanes import hyperplane
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Bounded, Nodes, bounded
from tightmargin.solvers.zero_one.conflict_search.node_bounds import packed as node_bounds_packed
from tightmargin.solvers.zero_one.conflict_search.probing import probed_norm2
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch, TracePoint
from tightmargin.solvers.zero_one.conflict_search.tree import Tree
from tightmargin.solvers.zero_one.enumeration import capped_sets as enumeration_capped_sets
from tightmargin.solvers.zero_one.enumeration.active_sets import RationalPoints
from tightmargin.solvers.zero_one.enumeration.enumeration import count_sets, zero_one_enumeration
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent
from tightmargin.solvers.zero_one.enumeration.ramp_enumeration import ramp_enumeration
from tightmargin.solvers.zero_one.packings import document as packings_document
from tightmargin.solvers.zero_one.packings import parts as packings_parts
