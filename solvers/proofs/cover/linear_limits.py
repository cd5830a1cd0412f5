"""Limits of columns and directions that linear rows and bounds imply, in exact arithmetic.

Floating-point multipliers leave something of stationarity on every column, which a free column may
not have. Columns with one limit that are left with next to nothing are therefore taken as free too,
which loses that limit and is never wrong, and exact_lp.py makes what is left of free columns 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.exact_lp import exact_lp_value
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

NEARLY_NOTHING = 1e-9  # of the terms that make up a reduced cost


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """That sign times a column, or a direction, is at least what the multipliers prove.

    Attributes
    ----------
    of_direction : bool
        Whether `number` is one of directions, and not of columns.
    number, sign : int
        The sign is 1 or -1.
    rows, y : arrays (p,)
        Which linear rows have a multiplier, and how much.
    """

    of_direction: bool
    number: int
    sign: int
    rows: NDArray[np.int64]
    y: Array


def proven_limits(
    form: StandardForm, vectors: Array, claimed: tuple[LinearLimit, ...]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Limits of the columns (n,), and of the directions (r,), as far as they are proven."""
    n, r = vectors.shape
    columns = form.lower.copy(), form.upper.copy()
    directions = np.full(r, -np.inf), np.full(r, np.inf)
    for limit in claimed:
        size = r if limit.of_direction else n
        number, sign = limit.number, limit.sign
        if not (type(number) is type(sign) is int and 0 <= number < size and sign in (-1, 1)):
            continue
        along = vectors[:, number] if limit.of_direction else np.eye(1, n, number).ravel()
        least = linear_least(form, sign * along, limit)
        ends = directions if limit.of_direction else columns
        if sign == 1:
            ends[0][number] = max(ends[0][number], least)
        else:
            ends[1][number] = min(ends[1][number], -least)
    return columns, directions


def linear_least(form: StandardForm, along: Array, limit: LinearLimit) -> float:
    """The least that along'x can be, rounded down; -inf where the multipliers prove nothing."""
    m, n = len(form.rows), form.n
    y = np.zeros(m)
    whole = np.issubdtype(limit.rows.dtype, np.integer) and limit.rows.shape == limit.y.shape
    if not whole or not np.isfinite(limit.y).all():
        return -math.inf
    if len(limit.rows) and not 0 <= limit.rows.min() <= limit.rows.max() < m:
        return -math.inf
    y[limit.rows] = limit.y
    program = replace(
        form, objective=Quadratic(sp.csr_matrix((n, n)), along, 0.0), sense=1,
        integer=np.zeros(n, dtype=bool), quadratic=(), psd=(), nonlinear=(),
    )  # fmt: skip
    found = exact_least(program, y)
    return -math.inf if found is None else rounded_down(found)


def exact_least(program: StandardForm, y: Array) -> Fraction | None:
    """The least value of a linear program that multipliers prove; None where they prove nothing."""
    cost, A = program.objective.a, program.A
    nothing = np.abs(cost - A.T @ y) <= NEARLY_NOTHING * (np.abs(cost) + abs(A).T @ np.abs(y))
    one_sided = nothing & (np.isfinite(program.lower) != np.isfinite(program.upper))
    looser = replace(
        program,
        lower=np.where(one_sided, -np.inf, program.lower),
        upper=np.where(one_sided, np.inf, program.upper),
    )
    for tried in (looser, program) if one_sided.any() else (program,):
        found = exact_lp_value(tried, y)
        if found is not None:
            return found
    return None
