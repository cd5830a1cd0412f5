"""A cut derived again from its origin and the data, with nothing of the loop that made it.

concavity, projected   tight rows at the vertex and their cone are found anew; with alpha read off
                       the stored row, <alpha, ray> theta >= 1 must hold on every ray
concavity, lifted      the named rows of Q must meet in the vertex, and the stored row must be a sum
                       of their slacks with factors of at least 1 / theta
facial                 the normal must be that of the face at the stored point, and no corner's
                       program may go below the stored depth (scipy's own linear programs)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from tightmargin.cuts.cut.cut import Cut, InvalidCutError, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.concavity import apex_at
from tightmargin.cuts.generation.cone import steps_to_norm
from tightmargin.cuts.generation.lifted_concavity import LiftedRows
from tightmargin.cuts.relaxation.faces import face_through
from tightmargin.formulations.data.arrays import Array

AGREES = 1e-7  # relative


def verify_cut(cut: Cut, problem: PolarProblem, earlier: Sequence[Cut] = ()) -> None:
    """Derive a cut again from its origin, with none of the loop's state and no live program.

    Parameters
    ----------
    cut : Cut
        What is to be derived again.
    problem : PolarProblem
        Data and parameters.
    earlier : sequence of Cut
        Holds the cuts that origin.parents names, whatever their place.

    Raises
    ------
    InvalidCutError
        The stored row does not follow; the sentence says what fails.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> for cut in found.cuts:
    ...     tm.cuts.verify_cut(cut, found.problem, found.cuts)
    """
    if cut.origin.problem != problem.fingerprint:
        raise InvalidCutError(f"{cut.name} was made for other data, nu, weights or intercept")
    known = {other.number: other for other in earlier}
    missing = [number for number in cut.origin.parents if number not in known]
    if missing:
        raise InvalidCutError(f"{cut.name} needs the cuts {missing}, which were not given")
    parents = [known[number] for number in cut.origin.parents]
    if any(parent.number >= cut.number for parent in parents if cut.number >= 0):
        raise InvalidCutError(f"{cut.name} names a later cut among those it was made from")
    if cut.kind is Kind.FACIAL:
        _facial(cut, problem, parents)
    elif cut.origin.space == "lifted":
        _lifted(cut, problem, parents)
    else:
        _projected(cut, problem, parents)


def _refuse(cut: Cut, words: str) -> InvalidCutError:
    return InvalidCutError(f"{cut.name} does not follow from its origin: {words}")


def _projected(cut: Cut, problem: PolarProblem, parents: Sequence[Cut]) -> None:
    origin = cut.origin
    if not set(cut.coefficients) <= set(problem.split(origin.vertex)):
        raise _refuse(cut, "it is about more than the weight")
    found = apex_at(problem, origin.vertex, parents)
    if found is None:
        raise _refuse(cut, "the vertex is none")
    if float(np.linalg.norm(found.vertex)) > origin.gamma:
        raise _refuse(cut, "the vertex is longer than gamma")
    # <row, w> <= rhs reads <alpha, w - v> >= 1 with alpha = -row / (<row, v> - rhs).
    row = problem.weight_part(cut.coefficients)
    excess = float(row @ found.vertex) - cut.rhs
    if excess <= 0:
        raise _refuse(cut, "it does not remove the vertex")
    theta = steps_to_norm(found.vertex, found.rays, origin.gamma)
    shares = (found.rays @ -row) * theta / excess
    if float(shares.min()) < 1 - AGREES:
        raise _refuse(cut, "it removes a point longer than gamma on a ray of its cone")


def _lifted(cut: Cut, problem: PolarProblem, parents: Sequence[Cut]) -> None:
    origin, k = cut.origin, problem.hulls.k
    # Any scale of the weight would do; this one makes the vertex of length 1.
    unit = 1.0 / max(float(np.linalg.norm(origin.vertex)), 1e-300)
    rows = LiftedRows(problem, unit, {parent.name: parent for parent in parents})
    names, every, sides = rows.every()
    place = {name: i for i, name in enumerate(names)}
    if not set(origin.rows) <= set(place) or len(set(origin.rows)) != rows.width:
        raise _refuse(cut, "its rows are not rows of the polytope, or not as many as variables")
    chosen = [place[name] for name in origin.rows]
    matrix, right = every[chosen], sides[chosen]
    inverse: Array = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    z: Array = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    if np.linalg.norm(z[:k] / unit - origin.vertex) > 1e-6 * np.linalg.norm(origin.vertex):
        raise _refuse(cut, "its rows meet elsewhere")
    if float(np.linalg.norm(origin.vertex)) > origin.gamma:
        raise _refuse(cut, "the vertex is longer than gamma")
    row = rows.row(cut)
    excess = float(row @ z) - cut.rhs
    if excess <= 0:
        raise _refuse(cut, "it does not remove the vertex")
    # The row is sum_j factor_j slack_j >= excess, and each factor_j theta_j must be excess.
    factors = row @ inverse
    theta = steps_to_norm(z[:k], -inverse[:k].T, origin.gamma * unit)
    size = float(np.abs(factors).max())
    if float((factors - excess / theta).min()) < -AGREES * size:
        raise _refuse(cut, "it removes a point longer than gamma on a ray of its cone")


def _facial(cut: Cut, problem: PolarProblem, parents: Sequence[Cut]) -> None:
    origin, hulls = cut.origin, problem.hulls
    face = face_through(problem, origin.vertex)
    row = problem.weight_part(cut.coefficients)
    scale = float(np.abs(face.normal).max())
    if np.abs(row * scale - face.normal).max() > AGREES * scale:
        raise _refuse(cut, "its row is not the normal of the face")
    highest = cut.rhs * scale  # <ubar, w> stays below that at every corner off the face
    lifted = LiftedRows(problem, 1.0, {parent.name: parent for parent in parents})
    _, rows, sides = lifted.every()
    n = len(hulls.caps)
    bounds = [(None, None)] * (lifted.width - n) + [(0, None)] * n
    cost = np.r_[-face.normal, np.zeros(lifted.width - hulls.k)]
    kept = np.r_[np.arange(n), np.arange(2 * n, len(rows))]  # slacks are bounds
    for mark, offset in ((1, 0), (-1, n)):
        for i in np.flatnonzero(face.labels == mark).tolist():
            held = rows[offset + i]
            answer = linprog(
                cost, A_ub=rows[kept], b_ub=sides[kept], A_eq=held[None, :], b_eq=[0.0],
                bounds=bounds, method="highs",
            )  # fmt: skip
            if answer.status not in (0, 2):
                raise _refuse(cut, f"a program for its depth ended with: {answer.message}")
            if answer.status == 0 and -answer.fun > highest + AGREES:
                raise _refuse(cut, "a corner that is left may lie below its depth")
