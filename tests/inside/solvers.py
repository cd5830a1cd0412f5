"""What tests need from inside solvers/."""

import sys

from tightmargin.cuts.conical.simplicial import HalvedOrthants, orthants, tail_difference
from tightmargin.cuts.conical.simplicial import cover_lemma as simplicial_cover_lemma
from tightmargin.cuts.conical.simplicial import cover_value as simplicial_cover_value
from tightmargin.cuts.conical.simplicial import halves as simplicial_halves
from tightmargin.cuts.proofs import (
    COLUMN,
    CUT,
    BoxCover,
    BoxMultipliers,
    ConcavityCut,
    CutSequence,
    Directions,
    FacialCut,
    LinearLimit,
    Side,
    SquareLimit,
    cover_bound,
    cuts_bound,
    proven_limits,
    squares_of,
)
from tightmargin.experiments.gap_study import comparing as compare
from tightmargin.experiments.gap_study import comparing as solver_runs
from tightmargin.experiments.gap_study.comparing import (
    COLUMNS,
    NOT_SOLVED,
    Agreement,
    Model,
    SolverRun,
    solvers_named,
)
from tightmargin.experiments.gap_study.gap_table import Bound as GapTableBound
from tightmargin.experiments.validation import cost_grid
from tightmargin.experiments.validation.cost_grid import block_size, hinge_block
from tightmargin.solvers import attempts, doctor
from tightmargin.solvers import attempts as outer_approximation
from tightmargin.solvers import disjunctive as hull_cuts
from tightmargin.solvers import findings as model_methods_registry
from tightmargin.solvers import live_lp as highs_handle
from tightmargin.solvers.attempts import _joined
from tightmargin.solvers.certify import certify as certify_point
from tightmargin.solvers.certify import multipliers as normal_matrix
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.certify.certify import certify, with_contradictions
from tightmargin.solvers.certify.multipliers import Bound as ModelBoundBound
from tightmargin.solvers.certify.multipliers import (
    NormalMatrix,
    Root,
    dual_centre,
    repaired,
    searched_bound,
    solved,
)
from tightmargin.solvers.certify.no_optimum import feasible_point, infeasibility_proof
from tightmargin.solvers.certify.points import CHEAP_ENOUGH, costless_point, exact_point
from tightmargin.solvers.certify.rays import ray_proof, unboundedness_proof
from tightmargin.solvers.conic import low_rank as conic_low_rank
from tightmargin.solvers.conic import methods as conic_methods
from tightmargin.solvers.conic import path as conic_path_rows
from tightmargin.solvers.conic.path import ConicRows
from tightmargin.solvers.disjunctive import is_disjunctive, transformed
from tightmargin.solvers.doctor import TRIALS, attempt, examine
from tightmargin.solvers.edits.derived import completed
from tightmargin.solvers.edits.identity import unedited_origin
from tightmargin.solvers.edits.model_difference import Answer as ModelDifferenceAnswer
from tightmargin.solvers.edits.model_difference import Effect
from tightmargin.solvers.edits.show import expression_node, of_text, relation_node
from tightmargin.solvers.edits.switched_rows import switched_rows
from tightmargin.solvers.engines import (
    choice,
    clarabel,
    highs,
    mosek,
    piqp,
    pyomo_interface,
    scip,
    scs,
)
from tightmargin.solvers.engines import highs as quiet_highs
from tightmargin.solvers.engines import registry as backends_registry
from tightmargin.solvers.engines import running as deadline
from tightmargin.solvers.engines import running as execution_interrupts
from tightmargin.solvers.engines import running as execution_live_line
from tightmargin.solvers.engines.choice import choose
from tightmargin.solvers.engines.clarabel import PANIC
from tightmargin.solvers.engines.registry import (
    ORDER,
    PIQP_SIZE,
    QP,
    SIMPLEX_SIZE,
    SOLVERS,
    UNSUPPORTED,
    gurobi_is_restricted,
)
from tightmargin.solvers.engines.running import (
    SHORTEST,
    Finished,
    Limits,
    StopReason,
    ends_within,
    hidden,
    is_over,
    limit_left,
    reported,
    seconds_left,
    shown_by,
    silenced,
    supervised,
    telling,
    uninterrupted,
    within_deadline,
    within_limit,
    without_lines,
)
from tightmargin.solvers.engines.running import live_line as live_line_live_line
from tightmargin.solvers.engines.scip import NOISE, TIGHTENED
from tightmargin.solvers.exact import (
    dot_integers,
    dyadic,
    is_semidefinite,
    rounded_down,
    rounded_up,
    solve_exactly,
)
from tightmargin.solvers.exact import scaled as exact_arithmetic_scaled
from tightmargin.solvers.findings import describe
from tightmargin.solvers.hinge.batch import Machines, hinge_machines, proven_bounds
from tightmargin.solvers.hinge.batch_multiclass import hinge_multipliers
from tightmargin.solvers.hinge.batch_multiclass import (
    machine_space as multiclass_space_machine_space,
)
from tightmargin.solvers.hinge.ends import bound_end, exact_multipliers, objective_end
from tightmargin.solvers.hinge.problem import (
    HINGE,
    LEAST,
    LOST,
    NU,
    RELATIVE,
    SQUARED,
    KernelValues,
    PointRows,
    PricedProblem,
    exp_of_negative,
    proven_shift,
)
from tightmargin.solvers.isolated import Answer as ChildAnswer
from tightmargin.solvers.isolated import load_snapshot, snapshot, unpacked
from tightmargin.solvers.isolated import packed as child_packed
from tightmargin.solvers.kernel import conflicts as cover
from tightmargin.solvers.kernel import points as rays
from tightmargin.solvers.kernel import signed_points as packings_signed_points
from tightmargin.solvers.kernel.bound import SparseMultipliers, minorant, proven_bound, proven_empty
from tightmargin.solvers.kernel.cones import (
    READ,
    Caps,
    ConeCover,
    ConeProblem,
    Conflict,
    cell_bounds,
    cone_problem,
    leaves,
)
from tightmargin.solvers.kernel.cones import cover_lemma as cover_cover_lemma
from tightmargin.solvers.kernel.cones import cover_value as cover_cover_value
from tightmargin.solvers.kernel.cones import proven as conflict_proven
from tightmargin.solvers.kernel.conflicts import (
    COVERED,
    NOBODY,
    PACKING,
    REST,
    SHARED,
    WORDS,
    Conflicts,
    Evidence,
    OpenNode,
    PackingCover,
    PackingProblem,
    Remainder,
    packed_bounds,
)
from tightmargin.solvers.kernel.exact_bounds import elastic_form, exact_lp_bound, exact_qp_bound
from tightmargin.solvers.kernel.exponential import (
    constant_below,
    empty_too,
    exp_between,
    log_between,
    minorised,
    of_the_model,
    proven_exponential_point,
    proven_exponential_ray,
    value_above,
)
from tightmargin.solvers.kernel.limits import Subject, limits_of_variables
from tightmargin.solvers.kernel.points import (
    Coordinates,
    crossing_point,
    exact_dots,
    linear_excess,
    near_point,
    point_of,
    proven_point,
    proven_unbounded,
    quadratic_excess,
)
from tightmargin.solvers.kernel.signed_points import Count, SideRows, certified_norm2
from tightmargin.solvers.kernel.signed_points import signed_points as signed_points_signed_points
from tightmargin.solvers.kernel.statement import (
    SEAL,
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Unbounded,
    by_lemma,
    closes,
    point_by_formula,
    unit,
)
from tightmargin.solvers.kernel.statement import Proof as StatementProof
from tightmargin.solvers.kernel.systems import (
    MOST_LIMBS,
    double_sums,
    enclosed_solution,
    exact_products,
    stacked,
    sums_outside,
    two_products,
)
from tightmargin.solvers.kernel.tree import (
    Branch,
    DerivedLimit,
    DerivedRow,
    Leaf,
    Step,
    SwitchedRow,
    TreeProof,
    first_rows,
    holds,
    joined,
    most,
    tree_bound,
)
from tightmargin.solvers.kernel.verdict import judged, judged_without_optimum, weakest
from tightmargin.solvers.live_lp import LiveResult, LpSolution, settled
from tightmargin.solvers.matrix import alternating
from tightmargin.solvers.matrix import methods as matrix_closing_bounds
from tightmargin.solvers.matrix import methods as matrix_methods
from tightmargin.solvers.matrix import search as direction_cells
from tightmargin.solvers.matrix.alternating import MatrixStart, fixed_columns
from tightmargin.solvers.matrix.methods import projection_value
from tightmargin.solvers.matrix.search import CellProblem
from tightmargin.solvers.model import claim as trace
from tightmargin.solvers.model import reader as sparse_assembly
from tightmargin.solvers.model import rewrites as indicator_constraints
from tightmargin.solvers.model.claim import Progress
from tightmargin.solvers.model.columns import Columns, Label
from tightmargin.solvers.model.conic import (
    ConicForm,
    Multipliers,
    conic_form,
    conic_multipliers,
    pack,
    unpack,
)
from tightmargin.solvers.model.convexity import (
    Classification,
    Shape,
    classify,
    complete_squares,
    curvature,
)
from tightmargin.solvers.model.dual import HIGHS_OPTIONS, dual_form, dual_size, worthwhile
from tightmargin.solvers.model.exponential import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    Part,
    Term,
    exponential_form,
)
from tightmargin.solvers.model.expressions import read as expressions_read
from tightmargin.solvers.model.names import multipliers_by_name, named_ray, named_values, point_with
from tightmargin.solvers.model.polynomial import (
    LocalQuadratic,
    Polynomial,
    Quadratic,
    QuadraticRow,
    lost_at,
)
from tightmargin.solvers.model.reader import InexactError, PsdRow, StandardForm, standard_form
from tightmargin.solvers.model.residuals import own_residual, primal_residual
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.model.scaling import (
    Factors,
    ScaledConic,
    badly_scaled,
    objective_scale,
    objective_unit,
    scaling,
)
from tightmargin.solvers.multiclass import dca
from tightmargin.solvers.multiclass import methods as multiclass_methods
from tightmargin.solvers.multiclass import search as branch_and_bound
from tightmargin.solvers.multiclass.dca import DcaBatch
from tightmargin.solvers.multiclass.search import hinge_bounds
from tightmargin.solvers.nu import local_search, nu_range, robust_dca
from tightmargin.solvers.nu.local_search import LocalSearch
from tightmargin.solvers.nu.nu_range import nu_bar_bounds, remark, small_loss
from tightmargin.solvers.path_result import PathResult
from tightmargin.solvers.plain_json import checksum, plain
from tightmargin.solvers.probability import multiclass, weighted_machines
from tightmargin.solvers.probability.binary import ClassProbabilities, SignReading
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
from tightmargin.solvers.proof_files.write import Absence, NotProvenError, write_document
from tightmargin.solvers.proof_files.write import Evidence as FileEvidence
from tightmargin.solvers.registry import automatic_method
from tightmargin.solvers.result import DERIVED, FACTS, INLINE_LIMIT, SCHEMA, is_tiny
from tightmargin.solvers.result_proof import searched as evidence_of_search
from tightmargin.solvers.result_proof import write_proof
from tightmargin.solvers.rigorous_svm import decomposition as decomposition_run
from tightmargin.solvers.rigorous_svm import decomposition as iterate
from tightmargin.solvers.rigorous_svm import decomposition as kernel_rows
from tightmargin.solvers.rigorous_svm import methods as rigorous_svm_methods
from tightmargin.solvers.rigorous_svm import norm_limit as norm_limit_search
from tightmargin.solvers.rigorous_svm import path as path_path_rows
from tightmargin.solvers.rigorous_svm import path as single_bound
from tightmargin.solvers.rigorous_svm import segments as libsvm_fits
from tightmargin.solvers.rigorous_svm.decomposition import (
    Decomposition,
    Iterate,
    even_start,
    go_to_start,
    pair_step,
    subproblem,
    working_set,
)
from tightmargin.solvers.rigorous_svm.methods import SEARCHED as METHODS_SEARCHED
from tightmargin.solvers.rigorous_svm.norm_limit import (
    ExactHyperplane,
    NormLimit,
    Proofs,
    Rows,
    centred_rows,
    exact_hyperplane,
    least_on_face,
    rsvm_at_limit,
    sides,
)
from tightmargin.solvers.rigorous_svm.path import METHODS as PATH_METHODS
from tightmargin.solvers.rigorous_svm.path import PointFound, RsvmRow, RsvmRows
from tightmargin.solvers.rigorous_svm.point import RsvmPoint, rsvm_point
from tightmargin.solvers.rigorous_svm.segments import by_fits
from tightmargin.solvers.soft_margin import sgd as soft_margin_sgd
from tightmargin.solvers.soft_margin.sgd import RULES, Walk, _dual_at_least, sgd_rate
from tightmargin.solvers.solve import ASKED_ONCE
from tightmargin.solvers.tables import Framed
from tightmargin.solvers.tree import method
from tightmargin.solvers.tree import method as proof_first
from tightmargin.solvers.tree import search as branch_and_bound_search
from tightmargin.solvers.tree.node import node_scaling
from tightmargin.solvers.tree.search import SEARCHED as SEARCH_SEARCHED
from tightmargin.solvers.tree.search import TreeSearch, _Search, tree_search
from tightmargin.solvers.zero_one import active_set as dual_active_set
from tightmargin.solvers.zero_one import compiled as nodes
from tightmargin.solvers.zero_one import cones as cones_run
from tightmargin.solvers.zero_one import conflict_tree as conflict_search_parts
from tightmargin.solvers.zero_one import conflict_tree as tree
from tightmargin.solvers.zero_one import conflicts as conflict_search_search
from tightmargin.solvers.zero_one import conflicts as loans
from tightmargin.solvers.zero_one import files as packings_document
from tightmargin.solvers.zero_one import files as packings_parts
from tightmargin.solvers.zero_one import methods as zero_one_closing_bounds
from tightmargin.solvers.zero_one import methods as zero_one_methods
from tightmargin.solvers.zero_one import node_bounds as probing
from tightmargin.solvers.zero_one import planes as incumbents
from tightmargin.solvers.zero_one.active_set import empty_sets, grow, kept_gram, refreshed
from tightmargin.solvers.zero_one.conflict_tree import ConflictSearch, TracePoint, Tree
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent
from tightmargin.solvers.zero_one.methods import conflict_lemma
from tightmargin.solvers.zero_one.node_bounds import Bounded, Nodes, bounded, probed_norm2
from tightmargin.solvers.zero_one.node_bounds import packed as node_bounds_packed
from tightmargin.solvers.zero_one.planes import hyperplane

dispatch = sys.modules["tightmargin.solvers.solve"]  # the face has a function of this name
