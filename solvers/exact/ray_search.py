"""Candidates for a ray of a model, in floating point: by a linear program, or inside the cones.

`steepest` replaces the cones of a recession cone by polyhedra inside them (a sum of absolute values
instead of a norm, diagonally dominant matrices), so that a vertex of a linear program is a
candidate; where that finds nothing, `innermost` looks for a direction in the interior of the cones,
which rounding does not drive out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.semidefinite import lower_pairs, order
from tightmargin.solvers.backends import clarabel, highs
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.conic_form import Block, ConicForm, pack, triangle_scale
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact.recession_cone import ZERO, Recession, powers, sizes
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


def _polyhedra(cone: Recession) -> list[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Inside the cones: the first row is at least the sum of absolute values of the others."""
    found = []
    for kind, A in cone.cones:
        if kind == "soc":
            found.append((A[:1], A[1:]))
            continue
        k = order(A.shape[0])
        at = {pair: entry for entry, pair in enumerate(lower_pairs(k))}
        for i in range(k):
            others = [at[max(i, j), min(i, j)] for j in range(k) if j != i]
            found.append((A[[at[i, i]]], A[others]))
    return found


def steepest(form: StandardForm, cone: Recession, cost: Array, limits: Limits) -> Array | None:
    """d within the unit box along which `cost` falls most, in floating point; None if it cannot.

    Parameters
    ----------
    cost : array (n,)
        Over the columns of the model, not over d.
    """
    program = _program(form, cone, cone.unit * cost)
    asked = Limits(
        time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed,
        options={"presolve": "off"},
    )  # fmt: skip
    try:
        claim = highs.run(program, classify(program), asked)
    except NumberError:
        return None  # numbers HiGHS would lose: there is no ray then, and nothing is claimed
    if claim.x is None:
        return None
    d = np.where(np.abs(claim.x[: form.n]) <= ZERO, 0.0, claim.x[: form.n])
    return d if float(program.objective.a[: form.n] @ d) < -ZERO else None


def _program(form: StandardForm, cone: Recession, cost: Array) -> StandardForm:
    """The linear program: d in the unit box, and one absolute value for every part of a cone."""
    n, m = form.n, cone.R.shape[0]
    polyhedra = _polyhedra(cone)
    heights = [rest.shape[0] for _, rest in polyhedra]
    total = sum(heights)
    rows = sp.diags(powers(sizes(cone.R, 1))) @ cone.R
    blocks = [sp.hstack([rows, sp.csr_matrix((m, total))])]
    starts = np.cumsum([0, *heights])
    for k, (top, rest) in enumerate(polyhedra):
        height = rest.shape[0]
        here = sp.csr_matrix(
            (np.ones(height), (np.arange(height), starts[k] + np.arange(height))),
            shape=(height, total),
        )
        total_of = sp.csr_matrix(np.ones((1, height))) @ here
        blocks += [
            sp.hstack([top, -total_of]),
            sp.hstack([rest, here]),
            sp.hstack([-rest, here]),
        ]
    matrix = sp.vstack(blocks, format="csr")
    extra = matrix.shape[0] - m
    a = np.concatenate([cost / max(float(np.abs(cost).max(initial=0.0)), 1e-300), np.zeros(total)])
    sums = Listed([str(k) for k in range(total)])
    names = Labels(("direction of ", form.columns, np.arange(n)), ("size ", sums, np.arange(total)))
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([np.maximum(cone.lower, -1.0), np.zeros(total)]),
        upper=np.concatenate([np.minimum(cone.upper, 1.0), np.full(total, 1e6)]),
        integer=np.zeros(n + total, dtype=bool),
        objective=Quadratic(sp.csr_matrix((n + total, n + total)), a, 0.0),
        sense=1,
        matrix=matrix,
        row_lower=np.concatenate([cone.low, np.zeros(extra)]),
        row_upper=np.concatenate([cone.high, np.full(extra, math.inf)]),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )


def innermost(cone: Recession, cost: Array, limits: Limits) -> Array | None:
    """d within the unit box along which `cost` falls, as far inside the cones as it can be.

    With e the unit of its cone (1 in front, the identity matrix), the largest t for which every
    A_k d - t e stays in its cone and cost'd + t <= 0. None when that is 0, or there is no cone.
    """
    if not cone.cones:
        return None
    n = cone.R.shape[1]
    rows = sp.diags(powers(sizes(cone.R, 1))) @ cone.R
    low, high, identity = cone.low == 0, cone.high == 0, sp.identity(n, format="csr")
    fall = cone.unit * cost
    fall = fall / max(float(np.abs(fall).max()), 1e-300)
    halfspaces = [-rows[low & ~high], rows[high & ~low], -identity, identity, sp.csr_matrix(fall)]
    box = np.concatenate([1.0 - (cone.lower == 0), 1.0 - (cone.upper == 0)])
    # Of every block: its kind, the rows, and the right-hand side; then how fast t moves inwards.
    parts = [("zero", rows[low & high]), ("nonneg", sp.vstack(halfspaces))]
    right = [np.zeros(parts[0][1].shape[0]), np.zeros(parts[1][1].shape[0])]
    right[1][-1 - 2 * n : -1] = box
    inward = [np.zeros(len(right[0])), np.zeros(len(right[1]))]
    inward[1][-1] = 1.0
    for kind, A in cone.cones:
        size = A.shape[0]
        scale = triangle_scale(order(size)) if kind == "psd" else np.ones(size)
        parts.append((kind, sp.diags(-scale) @ A))
        right.append(np.zeros(size))
        inward.append(pack(np.eye(order(size))) if kind == "psd" else np.eye(size)[0])
    starts = np.cumsum([0, *(len(side) for side in right)]).tolist()
    blocks = [
        Block(kind, start, A.shape[0])
        for (kind, A), start in zip(parts, starts[:-1], strict=True)
        if A.shape[0]
    ]
    everything = sp.vstack([A for _, A in parts])
    none = np.zeros(0, dtype=np.int64)
    conic = ConicForm(
        P=sp.csc_matrix((n + 1, n + 1)),
        q=np.r_[np.zeros(n), -1.0],
        offset=0.0,
        A=sp.hstack([everything, sp.csr_matrix(np.concatenate(inward)[:, None])], format="csc"),
        b=np.concatenate(right),
        blocks=tuple(blocks),
        equal=none, low=none, high=none, low_bound=none, high_bound=none,
    )  # fmt: skip
    claim = clarabel.run_conic(conic, 0, limits)
    if claim.x is None or claim.x[n] <= ZERO:
        return None
    return np.where(np.abs(claim.x[:n]) <= ZERO, 0.0, claim.x[:n])
