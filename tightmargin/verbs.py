"""The verbs of the front door; importing them registers every method, those of cuts included."""

from tightmargin.cuts import separate, tighten
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.estimators.certification import UncertifiedError, UncertifiedWarning
from tightmargin.experiments.estimators.certifying import certify_fitted
from tightmargin.experiments.estimators.fitted import fit
from tightmargin.experiments.estimators.proven_fit import ProvenFit
from tightmargin.experiments.gap_study.comparing import compare
from tightmargin.experiments.saved_results.machines import read_fitted
from tightmargin.experiments.saved_results.training_data import certify
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import (
    LiveLP,
    SolveResult,
    build,
    diff,
    explain_infeasible,
    export,
    read_model,
    rederive,
    same_model,
    show,
    solve,
    solve_isolated,
)

catalogue = CATALOGUE

__all__ = [
    "LiveLP",
    "ProvenFit",
    "SolveResult",
    "UncertifiedError",
    "UncertifiedWarning",
    "build",
    "catalogue",
    "certify",
    "certify_fitted",
    "compare",
    "diff",
    "explain_infeasible",
    "export",
    "fit",
    "load",
    "read_fitted",
    "read_model",
    "rederive",
    "same_model",
    "separate",
    "show",
    "solve",
    "solve_isolated",
    "tighten",
]
