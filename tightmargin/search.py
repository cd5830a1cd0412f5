"""Searches and heuristics that take data; solve(model, method=...) uses them on models."""

from tightmargin.cuts import branch_and_cut, cutting_plane, hull_search, robust_search
from tightmargin.experiments.gap_study.gap_table import certified_gap
from tightmargin.solvers import (
    cone_search,
    conflict_search,
    decomposition,
    extended_nu_local,
    least_errors,
    matrix_alternating,
    matrix_search,
    ramp_cone_search,
    robust_dca,
    sgd,
    solve_rsvm,
    truncated_dca,
    truncated_search,
)

__all__ = [
    "branch_and_cut",
    "certified_gap",
    "cone_search",
    "conflict_search",
    "cutting_plane",
    "decomposition",
    "extended_nu_local",
    "hull_search",
    "least_errors",
    "matrix_alternating",
    "matrix_search",
    "ramp_cone_search",
    "robust_dca",
    "robust_search",
    "sgd",
    "solve_rsvm",
    "truncated_dca",
    "truncated_search",
]
