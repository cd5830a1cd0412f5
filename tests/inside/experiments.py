"""What tests need from inside experiments/: names by module, new=old where two are alike."""

from tests.inside import names_of

_NAMES = {
    "experiments.cli": "compare compare_solvers options reproduce solve",
    "experiments.cli.app": "app",
    "experiments.cli.options": "recorded",
    "experiments.cli.predict": "decision_values new_points",
    "experiments.cli.settings": "parse_row parse_value",
    "experiments.cli.solve": "explain",
    "experiments.console": "tables",
    "experiments.console.documents": "emit",
    "experiments.console.streams": "working",
    "experiments.console.tables": "show",
    "experiments.data.gaussian_classes": (
        "clusters gaussian_class_data gaussian_class_means gaussian_class_probabilities"
    ),
    "experiments.data.labels": "named",
    "experiments.data.outlier_generators": (
        "OUTLIERS label_flip_data label_flip_hyperplane outlier_data outlier_direction"
    ),
    "experiments.data.preparation": "prepare restore",
    "experiments.data.prepared": "Prepared origin_of",
    "experiments.data.specs": "data_folder load load_classes",
    "experiments.estimators": "classifier fitted fitting",
    "experiments.estimators.certification": "judge",
    "experiments.estimators.fitted": "Fitted FittedProbabilities fit",
    "experiments.estimators.proven_fit": "proven_fit_percent=percent",
    "experiments.gap_study": "ladder study",
    "experiments.gap_study.bound_order": "_stated is_weaker order_violations",
    "experiments.gap_study.ladder": "LADDER whole_ladder",
    "experiments.gap_study.rungs": "GapEffort Rung",
    "experiments.gap_study.study": "EXACT LADDER_INSTANCES RELAXATIONS GapStudy Instance",
    "experiments.gap_study.table": (
        "table_percent=percent seconds_text to_frame to_markdown table_to_json=to_json "
        "table_to_latex=to_latex"
    ),
    "experiments.paths": "rigorous_svm",
    "experiments.plots": "gaps losses",
    "experiments.plots.bounds": "BoundTrace bound_trace draw_bounds",
    "experiments.plots.cutting_planes": "cutting_planes_cut_figure=cut_figure",
    "experiments.plots.decision_boundary": "draw_boundary draw_regions",
    "experiments.plots.gaps": "gap_figure",
    "experiments.plots.losses": "draw_losses",
    "experiments.plots.machine": "machine_figure",
    "experiments.plots.paths": "conic_path_figure profile_figure rsvm_path_figure",
    "experiments.plots.performance_profile": "performance_profile times_of",
    "experiments.plots.pictures": "picture",
    "experiments.plots.plane_polygons": "plane_run",
    "experiments.plots.polygon_pictures.cuts": "PolygonCuts",
    "experiments.plots.probability_plots.binary": "probability_figure",
    "experiments.plots.probability_plots.simplex": "save_simplex simplex_figure",
    "experiments.plots.sgd": "sgd_study",
    "experiments.plots.style": "COLUMN LOOKS new_figure shared_legend",
    "experiments.plots.timings": "draw_timings timing",
    "experiments.reproduce.bi_vapnik": (
        "bi_vapnik_figure1=figure1 bi_vapnik_published=published bi_vapnik_table2=table2 "
        "bi_vapnik_table3=table3"
    ),
    "experiments.reproduce.bi_vapnik.figure1": "risk_figure",
    "experiments.reproduce.bi_vapnik.measured": "Curve Measured Rates Run as_run",
    "experiments.reproduce.bi_vapnik.proven_cost": "least_cost proven_costs",
    "experiments.reproduce.bi_vapnik.samples": "DIGITS split",
    "experiments.reproduce.bi_vapnik.table3": "misfit",
    "experiments.reproduce.cepeda_gomez_han": (
        "cepeda_gomez_han_figure1=figure1 cepeda_gomez_han_published=published replications table4 "
        "cepeda_gomez_han_samples=samples cepeda_gomez_han_table1=table1 "
        "cepeda_gomez_han_table2=table2 cepeda_gomez_han_table3=table3"
    ),
    "experiments.reproduce.cepeda_gomez_han.replications": "both_losses cells outlier_run spread",
    "experiments.reproduce.cepeda_gomez_han.samples": (
        "clustered_points noisy_split outlier_samples sum_points_away"
    ),
    "experiments.reproduce.framework": "runs",
    "experiments.reproduce.framework.comparison": (
        "Cell Column Row Table interval ours_text reaches within"
    ),
    "experiments.reproduce.framework.files": "save",
    "experiments.reproduce.framework.printed": "printed",
    "experiments.reproduce.framework.registry": "RegistryEffort=Effort reproduction",
    "experiments.reproduce.framework.report": "Report report_to_json=to_json",
    "experiments.reproduce.framework.runs": "Done run_tasks",
    "experiments.reproduce.lee": (
        "matrix matrix_runs multiclass multiclass_runs probabilities probability_runs sgd sgd_runs"
    ),
    "experiments.reproduce.lee.published": "BINARY LINEAR MATRIX PUBLISHED_CLASSES=CLASSES",
    "experiments.reproduce.lee.statements": "linear soft_margin",
    "experiments.reproduce.lee.statements.statements": (
        "FAILS HOLDS MISPRINT NOT_CHECKABLE Finding Statement finding statement_claim "
        "statement_table verdict_of"
    ),
    "experiments.reproduce.papers": "chosen everything",
    "experiments.reproduce.perez_cruz": (
        "perez_cruz_figure2=figure2 perez_cruz_figure3=figure3 figure4 print_laws section6_error "
        "solved table3_notes perez_cruz_published=published perez_cruz_samples=samples "
        "perez_cruz_sharp_dual=sharp_dual perez_cruz_table1=table1 perez_cruz_table3=table3"
    ),
    "experiments.reproduce.perez_cruz.sharp_dual": "sharp_dual_sharp_dual=sharp_dual",
    "experiments.reproduce.takeda_sugiyama": (
        "takeda_sugiyama_figure1=figure1 takeda_sugiyama_figure2=figure2 "
        "takeda_sugiyama_figure3=figure3 machines theorems"
    ),
    "experiments.reproduce.takeda_sugiyama.machines": "points",
    "experiments.reproduce.takeda_sugiyama.outer_loop_runs": "faces_left rebuilt",
    "experiments.reproduce.takeda_sugiyama.theorems": (
        "clopper_pearson largest_constant least_constant without_capacity"
    ),
    "experiments.saved_results.training_data": "certify",
    "experiments.saved_results.verification_facts": "same_fact",
    "experiments.saved_results.verification_verdict": "Verification",
    "experiments.statistics.capacity_report": "PAPER_RATIOS rsvm_report",
    "experiments.statistics.margin_errors": "conditional_value_at_risk margin_errors value_at_risk",
    "experiments.statistics.risk_bounds": (
        "RiskBound deviation risk_bound theorem_3 theorem_4 theorem_5"
    ),
    "experiments.statistics.sample_complexity": (
        "SAMPLE_COMPLEXITY_FORMS=FORMS chosen_ridge hard_margin_bound hard_margin_points "
        "norm_ball_bound norm_ball_points soft_margin_bound"
    ),
    "experiments.statistics.structural_risk": "ERROR_RATE MEAN_HINGE risk_table",
    "experiments.statistics.vc_bound": "VC_BOUND_FORMS=FORMS vc_bound",
    "experiments.studies": "studies_code_digest=code_digest runner",
    "experiments.studies.code_digest": "code_digest_code_digest=code_digest sources_digest",
    "experiments.studies.result_store": "Found Key ResultStore opened stored_frame",
    "experiments.studies.runner": "StudyError StudyProgress run_study time_text",
    "experiments.studies.task": "TaskStep=Step ctrl_c encoded task_text",
    "experiments.validation": "cross_validation loss_grids",
    "experiments.validation.cross_validation": "cross_validate cross_validate_folds fold_numbers",
    "experiments.validation.error_rates": "Samples mistakes synthetic_samples",
    "experiments.validation.loss_grids": "Fit fits hinge_grid",
    "experiments.validation.result": "TIES choose",
}

__getattr__ = names_of(_NAMES)
