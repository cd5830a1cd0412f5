"""What tests need from inside experiments/."""

from tightmargin.experiments.cli import compare, compare_solvers, options, reproduce, solve
from tightmargin.experiments.cli.app import app
from tightmargin.experiments.cli.options import recorded
from tightmargin.experiments.cli.predict import decision_values, new_points
from tightmargin.experiments.cli.settings import parse_row, parse_value
from tightmargin.experiments.cli.solve import explain
from tightmargin.experiments.console import tables
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import working
from tightmargin.experiments.console.tables import show
from tightmargin.experiments.data.gaussian_classes import (
    clusters,
    gaussian_class_data,
    gaussian_class_means,
    gaussian_class_probabilities,
)
from tightmargin.experiments.data.labels import named
from tightmargin.experiments.data.outlier_generators import (
    OUTLIERS,
    label_flip_data,
    label_flip_hyperplane,
    outlier_data,
    outlier_direction,
)
from tightmargin.experiments.data.preparation import prepare, restore
from tightmargin.experiments.data.prepared import Prepared, origin_of
from tightmargin.experiments.data.specs import data_folder, load, load_classes
from tightmargin.experiments.estimators import classifier, fitted, fitting
from tightmargin.experiments.estimators.certification import judge
from tightmargin.experiments.estimators.fitted import Fitted, FittedProbabilities, fit
from tightmargin.experiments.estimators.proven_fit import percent as proven_fit_percent
from tightmargin.experiments.gap_study import ladder, study
from tightmargin.experiments.gap_study.bound_order import _stated, is_weaker, order_violations
from tightmargin.experiments.gap_study.ladder import LADDER, whole_ladder
from tightmargin.experiments.gap_study.rungs import GapEffort, Rung
from tightmargin.experiments.gap_study.study import (
    EXACT,
    LADDER_INSTANCES,
    RELAXATIONS,
    GapStudy,
    Instance,
)
from tightmargin.experiments.gap_study.table import percent as table_percent
from tightmargin.experiments.gap_study.table import seconds_text, to_frame, to_markdown
from tightmargin.experiments.gap_study.table import to_json as table_to_json
from tightmargin.experiments.gap_study.table import to_latex as table_to_latex
from tightmargin.experiments.paths import rigorous_svm
from tightmargin.experiments.plots import gaps, losses
from tightmargin.experiments.plots.bounds import BoundTrace, bound_trace, draw_bounds
from tightmargin.experiments.plots.cutting_planes import cut_figure as cutting_planes_cut_figure
from tightmargin.experiments.plots.decision_boundary import draw_boundary, draw_regions
from tightmargin.experiments.plots.gaps import gap_figure
from tightmargin.experiments.plots.losses import draw_losses
from tightmargin.experiments.plots.machine import machine_figure
from tightmargin.experiments.plots.paths import conic_path_figure, profile_figure, rsvm_path_figure
from tightmargin.experiments.plots.performance_profile import performance_profile, times_of
from tightmargin.experiments.plots.pictures import picture
from tightmargin.experiments.plots.plane_polygons import plane_run
from tightmargin.experiments.plots.polygon_pictures.cuts import PolygonCuts
from tightmargin.experiments.plots.probability_plots.binary import probability_figure
from tightmargin.experiments.plots.probability_plots.simplex import save_simplex, simplex_figure
from tightmargin.experiments.plots.sgd import sgd_study
from tightmargin.experiments.plots.style import COLUMN, LOOKS, new_figure, shared_legend
from tightmargin.experiments.plots.timings import draw_timings, timing
from tightmargin.experiments.reproduce.bi_vapnik import figure1 as bi_vapnik_figure1
from tightmargin.experiments.reproduce.bi_vapnik import published as bi_vapnik_published
from tightmargin.experiments.reproduce.bi_vapnik import table2 as bi_vapnik_table2
from tightmargin.experiments.reproduce.bi_vapnik import table3 as bi_vapnik_table3
from tightmargin.experiments.reproduce.bi_vapnik.figure1 import risk_figure
from tightmargin.experiments.reproduce.bi_vapnik.measured import Curve, Measured, Rates, Run, as_run
from tightmargin.experiments.reproduce.bi_vapnik.proven_cost import least_cost, proven_costs
from tightmargin.experiments.reproduce.bi_vapnik.samples import DIGITS, split
from tightmargin.experiments.reproduce.bi_vapnik.table3 import misfit
from tightmargin.experiments.reproduce.cepeda_gomez_han import figure1 as cepeda_gomez_han_figure1
from tightmargin.experiments.reproduce.cepeda_gomez_han import (
    published as cepeda_gomez_han_published,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han import replications, table4
from tightmargin.experiments.reproduce.cepeda_gomez_han import samples as cepeda_gomez_han_samples
from tightmargin.experiments.reproduce.cepeda_gomez_han import table1 as cepeda_gomez_han_table1
from tightmargin.experiments.reproduce.cepeda_gomez_han import table2 as cepeda_gomez_han_table2
from tightmargin.experiments.reproduce.cepeda_gomez_han import table3 as cepeda_gomez_han_table3
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import (
    both_losses,
    cells,
    outlier_run,
    spread,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.samples import (
    clustered_points,
    noisy_split,
    outlier_samples,
    sum_points_away,
)
from tightmargin.experiments.reproduce.framework import runs
from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Column,
    Row,
    Table,
    interval,
    ours_text,
    reaches,
    within,
)
from tightmargin.experiments.reproduce.framework.files import save
from tightmargin.experiments.reproduce.framework.printed import printed
from tightmargin.experiments.reproduce.framework.registry import Effort as RegistryEffort
from tightmargin.experiments.reproduce.framework.registry import reproduction
from tightmargin.experiments.reproduce.framework.report import Report
from tightmargin.experiments.reproduce.framework.report import to_json as report_to_json
from tightmargin.experiments.reproduce.framework.runs import Done, run_tasks
from tightmargin.experiments.reproduce.lee import (
    matrix,
    matrix_runs,
    multiclass,
    multiclass_runs,
    probabilities,
    probability_runs,
    sgd,
    sgd_runs,
)
from tightmargin.experiments.reproduce.lee.published import BINARY, LINEAR, MATRIX
from tightmargin.experiments.reproduce.lee.published import CLASSES as PUBLISHED_CLASSES
from tightmargin.experiments.reproduce.lee.statements import linear, soft_margin
from tightmargin.experiments.reproduce.lee.statements.statements import (
    FAILS,
    HOLDS,
    MISPRINT,
    NOT_CHECKABLE,
    Finding,
    Statement,
    finding,
    statement_claim,
    statement_table,
    verdict_of,
)
from tightmargin.experiments.reproduce.papers import chosen, everything
from tightmargin.experiments.reproduce.perez_cruz import figure2 as perez_cruz_figure2
from tightmargin.experiments.reproduce.perez_cruz import figure3 as perez_cruz_figure3
from tightmargin.experiments.reproduce.perez_cruz import (
    figure4,
    print_laws,
    section6_error,
    solved,
    table3_notes,
)
from tightmargin.experiments.reproduce.perez_cruz import published as perez_cruz_published
from tightmargin.experiments.reproduce.perez_cruz import samples as perez_cruz_samples
from tightmargin.experiments.reproduce.perez_cruz import sharp_dual as perez_cruz_sharp_dual
from tightmargin.experiments.reproduce.perez_cruz import table1 as perez_cruz_table1
from tightmargin.experiments.reproduce.perez_cruz import table3 as perez_cruz_table3
from tightmargin.experiments.reproduce.perez_cruz.sharp_dual import (
    sharp_dual as sharp_dual_sharp_dual,
)
from tightmargin.experiments.reproduce.takeda_sugiyama import figure1 as takeda_sugiyama_figure1
from tightmargin.experiments.reproduce.takeda_sugiyama import figure2 as takeda_sugiyama_figure2
from tightmargin.experiments.reproduce.takeda_sugiyama import figure3 as takeda_sugiyama_figure3
from tightmargin.experiments.reproduce.takeda_sugiyama import machines, theorems
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import points
from tightmargin.experiments.reproduce.takeda_sugiyama.outer_loop_runs import faces_left, rebuilt
from tightmargin.experiments.reproduce.takeda_sugiyama.theorems import (
    clopper_pearson,
    largest_constant,
    least_constant,
    without_capacity,
)
from tightmargin.experiments.saved_results.training_data import certify
from tightmargin.experiments.saved_results.verification_facts import same_fact
from tightmargin.experiments.saved_results.verification_verdict import Verification
from tightmargin.experiments.statistics.capacity_report import PAPER_RATIOS, rsvm_report
from tightmargin.experiments.statistics.margin_errors import (
    conditional_value_at_risk,
    margin_errors,
    value_at_risk,
)
from tightmargin.experiments.statistics.risk_bounds import (
    RiskBound,
    deviation,
    risk_bound,
    theorem_3,
    theorem_4,
    theorem_5,
)
from tightmargin.experiments.statistics.sample_complexity import FORMS as SAMPLE_COMPLEXITY_FORMS
from tightmargin.experiments.statistics.sample_complexity import (
    chosen_ridge,
    hard_margin_bound,
    hard_margin_points,
    norm_ball_bound,
    norm_ball_points,
    soft_margin_bound,
)
from tightmargin.experiments.statistics.structural_risk import ERROR_RATE, MEAN_HINGE, risk_table
from tightmargin.experiments.statistics.vc_bound import FORMS as VC_BOUND_FORMS
from tightmargin.experiments.statistics.vc_bound import vc_bound
from tightmargin.experiments.studies import code_digest as studies_code_digest
from tightmargin.experiments.studies import runner
from tightmargin.experiments.studies.code_digest import code_digest as code_digest_code_digest
from tightmargin.experiments.studies.code_digest import sources_digest
from tightmargin.experiments.studies.result_store import (
    Found,
    Key,
    ResultStore,
    opened,
    stored_frame,
)
from tightmargin.experiments.studies.runner import StudyError, StudyProgress, run_study, time_text
from tightmargin.experiments.studies.task import Step as TaskStep
from tightmargin.experiments.studies.task import ctrl_c, encoded, task_text
from tightmargin.experiments.validation import cross_validation, loss_grids
from tightmargin.experiments.validation.cross_validation import (
    cross_validate,
    cross_validate_folds,
    fold_numbers,
)
from tightmargin.experiments.validation.error_rates import Samples, mistakes, synthetic_samples
from tightmargin.experiments.validation.loss_grids import Fit, fits, hinge_grid
from tightmargin.experiments.validation.result import TIES, choose
