"""The extended nu-SVC over several nu as plain values, in the scale of the paper, with its proof.

The paper has ||w||^2 = 2 and n times the objective, so that rho is sqrt(2) times that of unit norm
and lambda is minus half the objective.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.experiments.reproduce.framework.comparison import Cell, Row
from tightmargin.formulations.common.margin_levels import HOLDS, margin_facts
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.nu.local_search import extended_nu_local

SCALE = math.sqrt(2)  # the norm of w in the paper
SAME = 1e-6  # relative: a local solution that is no further above the optimum is that optimum

Plain = dict[str, Any]


def solved(data: TrainingData, nus: Sequence[float], *, local: bool = False) -> Plain:
    """Solve for every nu, each to its proven optimum.

    nus: in (0, nu_max].
    local: also run the paper's own search (Table 2: damped by 9/10) below nu_bar. It begins at the
        nu-SVC for the nu halfway between nu_bar and nu_max, as section 5 advises.
    Returns: nu_bar, its proven bounds, nu_max, n, and "rows" in the order of nus, see `_plain`; of
        plain values only.
    Raises KeyboardInterrupt: Ctrl-C came before the last nu.
    """
    path = extended_nu_path(data, nus)
    if path.interrupted:
        raise KeyboardInterrupt
    found = {row.nu: row for row in path.rows}
    start = _start(data, path) if local else None
    low, high = path.nu_bar_bounds
    return {
        "n": data.n,
        "nu_bar": float(path.range.nu_bar),
        "nu_bar_bounds": [None if low is None else float(low), float(high)],
        "nu_max": float(path.range.nu_max),
        "rows": [_plain(data, found[nu], start) for nu in nus],
    }


def _start(data: TrainingData, path: ExtendedNuPath) -> list[Any]:
    between = (path.range.nu_bar + path.range.nu_max) / 2
    return [extended_nu_path(data, [between]).rows[0].w]


def _plain(data: TrainingData, row: PathRow, start: list[Any] | None) -> Plain:
    """One nu.

    rho, lambda, w, b in the scale of the paper; SVs, errors and wrong are shares of the points with
    a multiplier, below the margin rho, and on the wrong side; vectors the numbers of the first.
    """
    u = data.y * (data.X @ row.w + row.b)
    facts = margin_facts(u, row.rho, np.full(data.n, 1 / data.n), row.nu, free=True)
    found: Plain = {
        "nu": row.nu,
        "rho": SCALE * row.rho,
        "lambda": row.norm_multiplier,
        "SVs": row.support_share,
        "errors": float(facts["margin_error_share"]),
        "wrong": row.errors / data.n,
        "vectors": np.flatnonzero(row.alpha > 0).tolist(),
        "slack": float(np.maximum(0.0, row.rho - u).sum() * SCALE),
        "side": row.side,
        # The sign of lambda is known where both ends of [lower bound, value] have one sign.
        "sign": 1 if row.objective < 0 else -1 if row.bound > 0 else 0,
        "nu_property": facts["nu_property"] == HOLDS,
        "gap": row.gap / abs(row.objective) if row.objective else None,
        "verdict": str(row.verdict),
        "w": (SCALE * row.w).tolist(),
        "b": SCALE * row.b,
    }
    if start is not None and row.side < 0:
        search = extended_nu_local(data, nu=row.nu, update="damped", starts=start)
        (solution,) = search.solutions
        found |= {
            "local rho": SCALE * search.rho,
            "local lambda": -data.n * search.objective / SCALE,
            "local excess": search.objective / row.objective - 1,
            "local steps": solution.iterations if solution.converged else 0,
        }
    return found


def row_of(key: tuple[str], cells: Mapping[str, Cell], runs: Sequence[Plain]) -> Row:
    """The row of several runs with what proves it."""
    proofs = [run["verdict"] for run in runs]
    return Row.of_runs(key, cells, [run["gap"] for run in runs], proofs)
