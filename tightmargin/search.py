"""Searches and heuristics that take data; solve(model, method=...) uses them on models."""

from tightmargin.cuts import branch_and_cut, cutting_plane, hull_search
from tightmargin.solvers import (
    certified_gap,
    conflict_search,
    decomposition,
    extended_nu_local,
    matrix_alternating,
    matrix_search,
    sgd,
    solve_rsvm,
    truncated_dca,
    truncated_search,
)

__all__ = [
    "branch_and_cut",
    "certified_gap",
    "conflict_search",
    "cutting_plane",
    "decomposition",
    "extended_nu_local",
    "hull_search",
    "matrix_alternating",
    "matrix_search",
    "sgd",
    "solve_rsvm",
    "truncated_dca",
    "truncated_search",
]
