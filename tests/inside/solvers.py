"""What tests need from inside solvers/: names by module, new=old where two are alike."""

from importlib import import_module

from tests.inside import names_of

_NAMES = {
    "cuts.conical.simplicial": (
        "HalvedOrthants orthants tail_difference simplicial_cover_lemma=cover_lemma "
        "simplicial_cover_value=cover_value simplicial_halves=halves"
    ),
    "cuts.proofs": (
        "COLUMN CUT BoxCover BoxMultipliers ConcavityCut CutSequence Directions FacialCut "
        "LinearLimit Side SquareLimit cover_bound cuts_bound proven_limits squares_of"
    ),
    "experiments.gap_study": "compare=comparing solver_runs=comparing",
    "experiments.gap_study.comparing": "COLUMNS NOT_SOLVED Agreement Model SolverRun solvers_named",
    "experiments.gap_study.gap_table": "GapTableBound=Bound",
    "experiments.validation": "cost_grid",
    "experiments.validation.cost_grid": "block_size hinge_block",
    "solvers": (
        "attempts doctor outer_approximation=attempts hull_cuts=disjunctive "
        "model_methods_registry=findings highs_handle=live_lp"
    ),
    "solvers.attempts": "_joined",
    "solvers.certify": "certify_point=certify normal_matrix=multipliers",
    "solvers.certify.case": "Case Certified",
    "solvers.certify.certify": "certify with_contradictions",
    "solvers.certify.multipliers": (
        "ModelBoundBound=Bound NormalMatrix Root dual_centre repaired searched_bound solved"
    ),
    "solvers.certify.no_optimum": "feasible_point infeasibility_proof",
    "solvers.certify.rays": "ray_proof unboundedness_proof",
    "solvers.certify.points": "CHEAP_ENOUGH costless_point exact_point",
    "solvers.conic": "conic_low_rank=low_rank conic_methods=methods conic_path_rows=path",
    "solvers.conic.path": "ConicRows",
    "solvers.disjunctive": "transformed",
    "solvers.doctor": "TRIALS attempt examine",
    "solvers.edits.decided": "ModelDifferenceAnswer=Answer",
    "solvers.edits.diff": "Effect",
    "solvers.edits.edit": "unedited_origin",
    "solvers.edits.rederive": "completed switched_rows",
    "solvers.edits.show": "expression_node of_text relation_node",
    "solvers.engines": (
        "choice=registry clarabel highs mosek piqp pyomo_interface scip scs quiet_highs=highs "
        "backends_registry=registry deadline=running execution_interrupts=running "
        "execution_live_line=running"
    ),
    "solvers.engines.clarabel": "PANIC",
    "solvers.engines.registry": (
        "ORDER PIQP_SIZE QP SIMPLEX_SIZE SOLVERS UNSUPPORTED choose gurobi_is_restricted"
    ),
    "solvers.engines.running": (
        "SHORTEST Finished Limits StopReason ends_within hidden is_over limit_left reported "
        "seconds_left shown_by silenced supervised telling uninterrupted within_deadline "
        "within_limit without_lines live_line_live_line=live_line"
    ),
    "solvers.engines.scip": "NOISE TIGHTENED",
    "solvers.exact": (
        "dot_integers dyadic is_semidefinite rounded_down rounded_up solve_exactly "
        "exact_arithmetic_scaled=scaled"
    ),
    "solvers.findings": "describe",
    "solvers.hinge.batch": "Machines hinge_machines proven_bounds",
    "solvers.hinge.batch_multiclass": (
        "hinge_multipliers multiclass_space_machine_space=machine_space"
    ),
    "solvers.hinge.ends": "bound_end exact_multipliers objective_end",
    "solvers.hinge.problem": (
        "HINGE LEAST LOST NU RELATIVE SQUARED KernelValues PointRows PricedProblem exp_of_negative "
        "proven_shift"
    ),
    "solvers.isolated": "ChildAnswer=Answer load_snapshot snapshot unpacked child_packed=packed",
    "solvers.kernel": "cover=conflicts rays=points packings_signed_points=signed_points",
    "solvers.kernel.bound": "SparseMultipliers minorant proven_bound proven_empty",
    "solvers.kernel.cones": (
        "READ Caps ConeCover ConeProblem Conflict cell_bounds cone_problem leaves "
        "cover_cover_lemma=cover_lemma cover_cover_value=cover_value conflict_proven=proven"
    ),
    "solvers.kernel.conflicts": (
        "COVERED NOBODY PACKING REST SHARED WORDS Conflicts Evidence OpenNode PackingCover "
        "PackingProblem Remainder packed_bounds"
    ),
    "solvers.kernel.exact_bounds": "elastic_form exact_lp_bound exact_qp_bound",
    "solvers.kernel.exponential": (
        "constant_below empty_too exp_between log_between minorised of_the_model "
        "proven_exponential_point proven_exponential_ray value_above"
    ),
    "solvers.kernel.limits": "Subject limits_of_variables",
    "solvers.kernel.points": (
        "Coordinates crossing_point exact_dots linear_excess near_point point_of proven_point "
        "proven_unbounded quadratic_excess"
    ),
    "solvers.kernel.signed_points": (
        "Count SideRows certified_norm2 signed_points_signed_points=signed_points"
    ),
    "solvers.kernel.statement": (
        "SEAL FeasiblePoint Infeasible LowerBound Unbounded by_lemma closes point_by_formula unit "
        "StatementProof=Proof"
    ),
    "solvers.kernel.systems": (
        "MOST_LIMBS double_sums enclosed_solution exact_products stacked sums_outside two_products"
    ),
    "solvers.kernel.tree": (
        "Branch DerivedLimit DerivedRow Leaf Step SwitchedRow TreeProof first_rows holds joined "
        "most tree_bound"
    ),
    "solvers.kernel.verdict": "judged judged_without_optimum weakest",
    "solvers.live_lp": "LiveResult LpSolution settled",
    "solvers.matrix": (
        "alternating matrix_closing_bounds=methods matrix_methods=methods direction_cells=search"
    ),
    "solvers.matrix.alternating": "MatrixStart fixed_columns",
    "solvers.matrix.methods": "projection_value",
    "solvers.matrix.search": "CellProblem",
    "solvers.model": "trace=claim sparse_assembly=reader indicator_constraints=rewrites",
    "solvers.model.claim": "Progress",
    "solvers.model.columns": "Columns Label",
    "solvers.model.conic": "ConicForm Multipliers conic_form conic_multipliers pack unpack",
    "solvers.model.convexity": "Classification Shape classify complete_squares curvature",
    "solvers.model.dual": "HIGHS_OPTIONS dual_form dual_size worthwhile",
    "solvers.model.exponential": "ENTROPY EXP LOG SUM Part Term exponential_form",
    "solvers.model.expressions": "expressions_read=read",
    "solvers.model.names": "multipliers_by_name named_ray named_values point_with",
    "solvers.model.polynomial": "LocalQuadratic Polynomial Quadratic QuadraticRow lost_at",
    "solvers.model.reader": "InexactError PsdRow StandardForm standard_form",
    "solvers.model.residuals": "badly_scaled own_residual primal_residual",
    "solvers.model.restated": "representable",
    "solvers.model.rewrites": "is_disjunctive without_norms without_quotients",
    "solvers.model.scaling": ("Factors ScaledConic objective_scale objective_unit scaling"),
    "solvers.multiclass": "dca multiclass_methods=methods branch_and_bound=search",
    "solvers.multiclass.dca": "DcaBatch",
    "solvers.multiclass.search": "hinge_bounds",
    "solvers.nu": "local_search nu_range robust_dca=local_search",
    "solvers.nu.local_search": "LocalSearch",
    "solvers.nu.nu_range": "nu_bar_bounds remark small_loss",
    "solvers.searches": "PathResult TracePoint",
    "solvers.plain_json": "checksum plain",
    "solvers.probability": "multiclass weighted_machines",
    "solvers.probability.binary": "ClassProbabilities SignReading",
    "solvers.probability.multiclass": (
        "SimplexGrid border_weights probabilities_at probability_intervals rainbow_cells "
        "simplex_grid"
    ),
    "solvers.probability.weighted_machines": "WEIGHTED_MACHINES_METHODS=METHODS",
    "solvers.proof_files": "checker write",
    "solvers.proof_files.checker": "CheckerProof=Proof ProofError check checker_read=read",
    "solvers.proof_files.write": "Absence NotProvenError write_document FileEvidence=Evidence",
    "solvers.registry": "automatic_method",
    "solvers.result": "DERIVED FACTS INLINE_LIMIT SCHEMA is_tiny",
    "solvers.result_proof": "evidence_of_search=searched write_proof",
    "solvers.rigorous_svm": (
        "decomposition_run=decomposition iterate=decomposition kernel_rows=decomposition "
        "rigorous_svm_methods=methods norm_limit_search=norm_limit path_path_rows=path "
        "single_bound=path libsvm_fits=segments"
    ),
    "solvers.rigorous_svm.decomposition": (
        "Decomposition Iterate even_start go_to_start pair_step subproblem working_set"
    ),
    "solvers.rigorous_svm.methods": "METHODS_SEARCHED=SEARCHED",
    "solvers.rigorous_svm.norm_limit": (
        "ExactHyperplane NormLimit Proofs Rows centred_rows exact_hyperplane least_on_face "
        "rsvm_at_limit sides"
    ),
    "solvers.rigorous_svm.path": "PATH_METHODS=METHODS PointFound RsvmRow RsvmRows",
    "solvers.rigorous_svm.point": "RsvmPoint rsvm_point",
    "solvers.rigorous_svm.segments": "by_fits",
    "solvers.hinge": "soft_margin_sgd=sgd",
    "solvers.hinge.sgd": "RULES Walk _dual_at_least sgd_rate",
    "solvers.solve": "ASKED_ONCE",
    "solvers.tables": "Framed",
    "solvers.tree": "method proof_first=method branch_and_bound_search=search",
    "solvers.tree.node": "node_scaling",
    "solvers.tree.search": "SEARCH_SEARCHED=SEARCHED TreeSearch _Search tree_search",
    "solvers.zero_one": (
        "nodes=compiled cones_run=cones "
        "conflict_search_parts=conflicts tree=conflicts conflict_search_search=conflicts "
        "loans=conflicts packings_document=files "
        "zero_one_closing_bounds=methods zero_one_methods=methods probing=node_bounds "
        "incumbents=planes"
    ),
    "solvers.zero_one.conflicts": "ConflictSearch Tree",
    "solvers.zero_one.heuristic": "zero_one_incumbent",
    "solvers.zero_one.methods": "conflict_lemma",
    "solvers.zero_one.node_bounds": (
        "Bounded Nodes bounded empty_sets grow kept_gram probed_norm2 refreshed "
        "node_bounds_packed=packed"
    ),
    "solvers.zero_one.planes": "hyperplane",
}

__getattr__ = names_of(_NAMES)

dispatch = import_module("tightmargin.solvers.solve")  # the function hides it
