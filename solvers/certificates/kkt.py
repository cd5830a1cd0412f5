"""The conditions of Karush, Kuhn and Tucker at a point and multipliers, each as one number.

    stationarity      P x + q + A'z = 0, column by column, relative to the terms of the column
    dual cone         z >= 0 at inequalities, in the dual cone at cones, relative to the largest
    complementarity   s'z = 0 for the slacks s = b - A x, relative to the objective's scale
    curvature         P, and the Hessian of every quadratic row, positive semidefinite

They describe what the solver returned. The verdict does not rest on them: it rests on feasibility
and on the bound that repaired multipliers prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import (
    ConicForm,
    Multipliers,
    conic_multipliers,
)
from tightmargin.solvers.standard_form.standard_form import LocalQuadratic, StandardForm

# Of the largest terms of a column: where nothing acts on a column, its residual is no news.
IDLE = 1e-3
# Eigenvalues of a matrix of this order take some 0.1 s; beyond it a Cholesky factor would do, and
# classify has decided convexity already.
EIGENVALUE_LIMIT = 600


def conditions(
    form: StandardForm, conic: ConicForm, duals: Multipliers, x: Array, scale: float
) -> dict[str, float]:
    """Residuals of the conditions, under the names of `solvers/fact_names.py`.

    What overflows, at a point of 1e170 that a solver ran off to, is no number and is left out.

    Parameters
    ----------
    form, conic
        The model, and its conic form (of its continuous relaxation where it is integer).
    duals : Multipliers
        As the solver gave them.
    x : array (n,)
        The point they belong to.
    scale : float
        What complementarity is relative to, if it is not 0.
    """
    z = conic_multipliers(conic, duals)
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            "stationarity": stationarity(conic, x, z),
            "dual_cone_violation": dual_cone_violation(form, duals),
            "complementarity": abs(float((conic.b - conic.A @ x) @ z)) / (scale or 1.0),
        } | dict(_dual_eigenvalues(form, duals))
    return {name: value for name, value in found.items() if np.isfinite(value)}


def stationarity(conic: ConicForm, x: Array, z: Array) -> float:
    """Largest entry of P x + q + A'z, relative to the terms that make up its column."""
    left = np.abs(conic.P @ x + conic.q + conic.A.T @ z)
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + conic.sizes.T @ np.abs(z)
    floor = max(IDLE * float(size.max(initial=0.0)), 1e-300)
    return float((left / np.maximum(size, floor)).max(initial=0.0))


def dual_cone_violation(form: StandardForm, duals: Multipliers) -> float:
    """How far multipliers are outside their cones, relative to the largest of them.

    Linear rows count by what they add to a column, so that a row in other units counts the same.
    """
    parts = [
        *_outside(duals.rows * form.largest, form.row_lower, form.row_upper),
        *_outside(duals.bounds, form.lower, form.upper),
        *_outside_cones(form, duals),
    ]
    size = max((float(s) for _, s in parts), default=0.0)
    size = max(size, float(np.abs(form.objective.a).max(initial=0.0)), 1e-300)
    return max((float(v) for v, _ in parts), default=0.0) / size


def _outside(y: Array, lower: Array, upper: Array) -> Iterator[tuple[float, float]]:
    """Wrong-signed part of multipliers of two-sided rows, and their size."""
    wrong = np.where(np.isfinite(upper), 0.0, np.maximum(-y, 0.0))
    wrong = np.maximum(wrong, np.where(np.isfinite(lower), 0.0, np.maximum(y, 0.0)))
    yield float(wrong.max(initial=0.0)), float(np.abs(y).max(initial=0.0))


def _outside_cones(form: StandardForm, duals: Multipliers) -> Iterator[tuple[float, float]]:
    for row in form.quadratic:
        z = duals.cones.get(id(row.data))
        if z is not None:
            yield max(0.0, float(np.linalg.norm(z[1:]) - z[0])), float(np.linalg.norm(z))
    for psd in form.psd:
        Z = duals.cones.get(id(psd.data))
        if Z is not None:
            yield max(0.0, -_smallest_eigenvalue(Z)), float(np.linalg.norm(Z))


def _dual_eigenvalues(form: StandardForm, duals: Multipliers) -> Iterator[tuple[str, float]]:
    found = [duals.cones[id(row.data)] for row in form.psd if id(row.data) in duals.cones]
    if found:
        yield "dual_matrix_eigenvalue", min(map(_smallest_eigenvalue, found))


def matrix_facts(form: StandardForm, x: Array) -> dict[str, float]:
    """Smallest eigenvalue over the semidefinite rows at a point; empty without such rows."""
    found = [_smallest_eigenvalue(symmetric(row.F @ x + row.g)) for row in form.psd]
    return {"matrix_eigenvalue": min(found)} if found else {}


def curvature_facts(form: StandardForm, classification: Classification) -> dict[str, Any]:
    """Smallest eigenvalues of the Hessians; rows read as cones have none that counts."""
    found: dict[str, Any] = {}
    if form.objective.Q.nnz:
        smallest = _curvature(form.P)
        if smallest is not None:
            found["objective_curvature"] = smallest
    if form.quadratic:
        curvatures = list(_row_curvatures(form))
        found["row_curvature"] = min((c for c in curvatures if c >= 0), default=None)
        readings = zip(curvatures, classification.readings, strict=True)
        found["cone_rows"] = sum(c < 0 and r.cone is not None for c, r in readings)
    return found


def _curvature(P: sp.spmatrix) -> float | None:
    """Smallest eigenvalue of a Hessian over the columns that occur; None when that is too large."""
    diagonal = P.diagonal()
    if np.count_nonzero(P.data) == np.count_nonzero(diagonal):
        return float(diagonal[diagonal != 0].min(initial=np.inf))
    support = np.unique(P.nonzero()[0])
    if len(support) > EIGENVALUE_LIMIT:
        return None
    return _smallest_eigenvalue(P.tocsr()[support][:, support].toarray())


def _row_curvatures(form: StandardForm) -> Iterator[float]:
    """Of every quadratic row; a thousand rows of one family are computed once."""
    known: dict[tuple[object, ...], float] = {}
    for row in form.quadratic:
        sign = 1.0 if np.isfinite(row.upper) else -1.0
        key = (sign, *(part.tobytes() for part in (row.body.i, row.body.j, row.body.v)))
        if key not in known:
            known[key] = _row_curvature(row.body.shifted(sign, 0.0))
        yield known[key]


def _row_curvature(body: LocalQuadratic) -> float:
    """Smallest eigenvalue of a row's Hessian over the columns that occur in it quadratically."""
    k = len(body.index)
    hessian = sp.coo_matrix((2 * body.v, (body.i, body.j)), shape=(k, k)).toarray()
    support = np.unique(body.i)
    values = np.linalg.eigvalsh(hessian[np.ix_(support, support)])
    noise = 1e-11 * float(np.abs(values).max())
    return 0.0 if abs(values[0]) <= noise else float(values[0])


def _smallest_eigenvalue(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])
