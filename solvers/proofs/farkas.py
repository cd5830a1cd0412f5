"""Proofs that linear rows and bounds have no common point, from multipliers that anybody found.

With slacks s, t >= 0 every model has a point of

    row_lower <= A x + s - t <= row_upper,   lower <= x <= upper,

and the least of sum (s + t) is 0 when the rows can hold. So a positive lower bound on it, in exact
rational arithmetic, proves that they cannot; its multipliers are a Farkas vector. A violation no
larger than what rounding may have put into the sides proves nothing. Integrality,
quadratic and semidefinite rows only take points away, so that the proof holds with them too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.exact_lp import exact_lp_bound
from tightmargin.solvers.proofs.statement import SEAL, Infeasible
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.names import Labels
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

FARKAS = "exact rational Farkas bound: rows and bounds are violated by {:.3g} or more at any point"
CROSSED = "the {} cross"
# Of the largest side: a fixed variable was moved to the sides in double precision.
ROUNDING = 1e-9


def proven_infeasible(form: StandardForm, multipliers: Array) -> Infeasible | None:
    """Check a Farkas vector over the linear rows; None when it is none."""
    crossed = _crossed(form)
    if crossed:
        return _stated(form, CROSSED.format(crossed), np.zeros(len(form.rows)))
    if not np.isfinite(multipliers).all() or not multipliers.any():
        return None
    bound = exact_lp_bound(elastic_form(form), multipliers)
    if bound is None or bound.varying <= ROUNDING * _largest_side(form):
        return None
    return _stated(form, FARKAS.format(bound.varying), multipliers)


def _crossed(form: StandardForm) -> str:
    """The first column, or row of any kind, whose lower end is above its upper one; or nothing."""
    for low, high, what, names in (
        (form.lower, form.upper, "bounds of", form.columns),
        (form.row_lower, form.row_upper, "sides of row", form.rows),
    ):
        found = np.flatnonzero(_lies_above(low, high))
        if found.size:
            return f"{what} {names.name(int(found[0]))}"
    ends = [(row.lower, row.upper, row.data) for row in form.quadratic]
    ends += [
        (row.lb, row.ub, row)
        for row in form.nonlinear
        if row.ctype is pyo.Constraint and row.has_lb() and row.has_ub()
    ]
    curved = (row for low, high, row in ends if _lies_above(low, high))
    return next((f"sides of row {row.name}" for row in curved), "")


def _lies_above(low: Any, high: Any) -> Any:
    """Whether lower ends lie above upper ones by more than rounding may have put there."""
    size = np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
    return low > high + ROUNDING * size


def of_size_1(multipliers: Array) -> Array:
    """A Farkas vector times the power of 2 that makes its largest number 1 at most, and above 1/2.

    Whatever its size it proves the same, but a violation costs 1, and no multiplier may exceed it.
    """
    size = float(np.abs(multipliers).max(initial=0.0))
    return np.ldexp(multipliers, -math.frexp(size)[1]) if math.isfinite(size) else multipliers


def _stated(form: StandardForm, words: str, multipliers: Array) -> Infeasible:
    return Infeasible(subject=form, words=words, seal=SEAL, multipliers=multipliers)


def _largest_side(form: StandardForm) -> float:
    sides = np.abs(np.concatenate([form.row_lower, form.row_upper]))
    return float(sides[np.isfinite(sides)].max(initial=1.0))


def elastic_form(form: StandardForm) -> StandardForm:
    """The linear program that looks for the least violation of the rows."""
    m, n = len(form.rows), form.n
    up = np.flatnonzero(np.isfinite(form.row_lower))
    down = np.flatnonzero(np.isfinite(form.row_upper))
    size = len(up) + len(down)
    identity = sp.identity(m, format="csc")
    names = Labels(
        ("", form.columns, np.arange(n)), ("shortfall of ", form.rows, up),
        ("excess of ", form.rows, down),
    )  # fmt: skip
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([form.lower, np.zeros(size)]),
        upper=np.concatenate([form.upper, np.full(size, np.inf)]),
        integer=np.zeros(n + size, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + size, n + size)), np.concatenate([np.zeros(n), np.ones(size)]), 0.0
        ),
        sense=1,
        matrix=sp.hstack([form.columnwise, identity[:, up], -identity[:, down]], format="csc"),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )
