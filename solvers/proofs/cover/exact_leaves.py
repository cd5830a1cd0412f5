"""A bound on one box in rational arithmetic, for columns that have no limit on some side.

What floating-point multipliers leave of stationarity on such a column costs everything, however
little it is. The linear program of the box, with every square replaced by its secant rounded
outwards, therefore goes to exact_lp.py, which makes what is left of these columns exactly 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.cover.leaf_bounds import READ, BoxMultipliers
from tightmargin.solvers.proofs.cover.linear_limits import exact_least
from tightmargin.solvers.proofs.cover.squares import Squares
from tightmargin.solvers.standard_form.columns import Columns, Rows
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


def exact_leaf(
    form: StandardForm,
    squares: Squares,
    found: BoxMultipliers,
    choice: int,
    box: tuple[Array, Array],
    excess: Array,
) -> float:
    """Lower bound on f in a box, infinity where it has no point, -inf without any.

    Parameters
    ----------
    found, choice : BoxMultipliers, int
        The multipliers that are tried.
    box : pair of arrays (r,)
        Finite.
    excess : array (1 + K,)
        Bounds on what the squares leave of the objective and of each row.
    """
    mu = float(found.mu[choice])
    ends = np.concatenate(box)
    if mu not in (0.0, 1.0) or not (np.isfinite(ends).all() and np.isfinite(excess).all()):
        return -math.inf
    program, constant = _secants(form, squares, mu, box, excess)
    y = np.concatenate(
        [found.rows[choice].toarray().ravel(), found.slopes[choice], found.reverse[choice]]
    )
    if not np.isfinite(y).all():
        return -math.inf
    least = exact_least(program, y)
    if least is None:
        return -math.inf
    if mu == 0:
        sides = np.concatenate([program.row_lower, program.row_upper])
        size = float(np.abs(sides[np.isfinite(sides)]).max(initial=0.0))
        noise = READ * size * float(np.abs(y).sum())
        return math.inf if least > noise else -math.inf
    return rounded_down(least + constant)


def _secants(
    form: StandardForm, squares: Squares, mu: float, box: tuple[Array, Array], excess: Array
) -> tuple[StandardForm, Fraction]:
    """The linear program of a box over x and z = V'x, and the constant of its objective."""
    n, r = squares.vectors.shape
    lines, sides, constant = [], [], Fraction(0)
    for k, weights in enumerate(squares.weights):
        slopes = weights * (box[0] + box[1])
        # c z - p z^2 is concave, so that in the box it is nowhere below its ends.
        least = sum((_least_end(*each) for each in zip(slopes, weights, *box, strict=True)),
                    Fraction(0))  # fmt: skip
        if k == 0:
            cost = np.concatenate([mu * squares.linear[0], -mu * slopes])
            constant = Fraction(mu) * (least - Fraction(float(excess[0])))
            continue
        lines.append(np.concatenate([squares.linear[k], slopes]))
        given = sum((Fraction(c) for c in squares.constants[k - 1]), Fraction(0))
        sides.append(rounded_down(least - given - Fraction(float(excess[k]))))
    rows = sp.hstack([form.A, sp.csr_matrix((len(form.rows), r))])
    links = sp.hstack([sp.csr_matrix(squares.vectors.T), -sp.identity(r)])
    reverse = sp.csr_matrix(np.array(lines).reshape(-1, n + r))
    endless = np.full(len(sides), np.inf)
    z, more = np.arange(r), np.arange(r + len(sides))
    directions = Listed([f"direction {j}" for j in z])
    others = Listed([f"row {j} of the box" for j in more])
    column_names = Labels(("", form.columns, np.arange(n)), ("", directions, z))
    row_names = Labels(("", form.rows, np.arange(len(form.rows))), ("", others, more))
    program = replace(
        form,
        columns=cast(Columns, column_names),
        lower=np.concatenate([form.lower, box[0]]),
        upper=np.concatenate([form.upper, box[1]]),
        integer=np.zeros(n + r, dtype=bool),
        objective=Quadratic(sp.csr_matrix((n + r, n + r)), cost, 0.0),
        sense=1,
        matrix=sp.vstack([rows, links, reverse], format="csr"),
        row_lower=np.concatenate([form.row_lower, np.zeros(r), sides]),
        row_upper=np.concatenate([form.row_upper, np.zeros(r), endless]),
        rows=cast(Rows, row_names),
        quadratic=(), psd=(), nonlinear=(),
    )  # fmt: skip
    return program, constant


def _least_end(c: float, p: float, low: float, high: float) -> Fraction:
    ends = (Fraction(float(low)), Fraction(float(high)))
    return min(Fraction(float(c)) * z - Fraction(float(p)) * z * z for z in ends)
