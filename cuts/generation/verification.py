"""A cut derived again from the rows that it carries, and these rows from the data.

concavity, projected   the rows are tight at the vertex; with alpha read off the stored row,
                       <alpha, ray> theta >= 1 must hold on every ray of their cone
concavity, lifted      the rows must meet in the vertex, and the stored row must be a sum of their
                       slacks with factors of at least 1 / theta
facial                 the normal must be that of the face at the stored point, and no corner's
                       program may go below the stored depth (scipy's own linear programs)

A row of a cone belongs to a problem if it is that of an earlier cut, or <u, w> <= 1 for a point u
of U, which a linear program finds shares for; lifted, if it is the row of Q or of the cut it names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from tightmargin.cuts.cut.cut import Cut, InvalidCutError, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.cone import extreme_rays, steps_to_norm
from tightmargin.cuts.generation.lifted_concavity import LiftedRows
from tightmargin.cuts.relaxation.faces import face_through
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import ReducedHulls

TIGHT = 1e-6  # relative: a vertex is that near to its rows
BEYOND = 1e-12  # relative: and that little short of them
SAME = 1e-9  # relative, of a row that is found again
AGREES = 1e-7  # relative


def verify_cut(cut: Cut, problem: PolarProblem | None = None, earlier: Sequence[Cut] = ()) -> None:
    """Derive a cut again from the rows it carries, with none of the loop's state.

    Parameters
    ----------
    cut : Cut
        What is to be derived again.
    problem : PolarProblem, optional
        Data and parameters, to which the rows have to belong. Without it a cut is valid wherever
        its rows are; of a facial cut, whose depth is a matter of all points, nothing can be said.
    earlier : sequence of Cut
        Holds the cuts that origin.parents names, whatever their place; read with a problem.

    Raises
    ------
    InvalidCutError
        The stored row does not follow, or its rows are none of the problem; the sentence says what
        fails.
    ValueError
        A facial cut without a problem.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> for cut in found.cuts:
    ...     tm.cuts.verify_cut(cut)
    ...     tm.cuts.verify_cut(cut, found.problem, found.cuts)
    """
    if problem is None:
        if cut.kind is Kind.FACIAL:
            raise ValueError(
                f"{cut.name} is facial, and its depth a matter of all points: give problem"
            )
    else:
        _belongs(cut, problem, _parents(cut, problem, earlier))
    if cut.kind is Kind.CONCAVITY:
        (_lifted if cut.origin.space == "lifted" else _projected)(cut)


def _parents(cut: Cut, problem: PolarProblem, earlier: Sequence[Cut]) -> list[Cut]:
    if cut.origin.problem != problem.fingerprint:
        raise InvalidCutError(f"{cut.name} was made for other data, nu, weights or intercept")
    known = {other.number: other for other in earlier}
    missing = [number for number in cut.origin.parents if number not in known]
    if missing:
        raise InvalidCutError(f"{cut.name} needs the cuts {missing}, which were not given")
    parents = [known[number] for number in cut.origin.parents]
    if any(parent.number >= cut.number for parent in parents if cut.number >= 0):
        raise InvalidCutError(f"{cut.name} names a later cut among those it was made from")
    return parents


def _refuse(cut: Cut, words: str) -> InvalidCutError:
    return InvalidCutError(f"{cut.name} does not follow from its origin: {words}")


# --- from its rows -------------------------------------------------------------------------------


def _row(cut: Cut) -> Array:
    """The cut over the variables of its cone, in their order; b of centred points."""
    origin, parts = cut.origin, dict(cut.coefficients)
    if len(origin.shift):
        parts["w"] = parts["w"] - float(parts["b"]) * origin.shift
    known = [np.ravel(parts.pop(name)) for name in ("w", "b", "rho", "xi") if name in parts]
    row = np.concatenate(known)
    if parts or len(row) != origin.cone.shape[1] or len(origin.cone) == 0:
        raise _refuse(cut, "it is about other variables than its rows, or carries none")
    return row


def _projected(cut: Cut) -> None:
    """The vertex on or beyond each row: its cone holds whatever the rows do."""
    origin, row = cut.origin, _row(cut)
    vertex, length = origin.vertex, np.linalg.norm(origin.cone, axis=1)
    if not (length > 0).all():
        raise _refuse(cut, "a row of its cone is 0")
    rows, sides = origin.cone / length[:, None], origin.sides / length
    off, size = rows @ vertex - sides, float(np.linalg.norm(vertex))
    if off.min() < -BEYOND * size or off.max() > TIGHT * size:
        raise _refuse(cut, "its rows are not tight at the vertex")
    rays = extreme_rays(rows)
    if rays is None or len(rays) == 0:
        raise _refuse(cut, "its rows make no cone")
    if size > origin.gamma:
        raise _refuse(cut, "the vertex is longer than gamma")
    # <row, w> <= rhs reads <alpha, w - v> >= 1 with alpha = -row / (<row, v> - rhs).
    excess = float(row @ vertex) - cut.rhs
    if excess <= 0:
        raise _refuse(cut, "it does not remove the vertex")
    theta = steps_to_norm(vertex, rays, origin.gamma)
    if float(((rays @ -row) * theta / excess).min()) < 1 - AGREES:
        raise _refuse(cut, "it removes a point longer than gamma on a ray of its cone")


def _lifted(cut: Cut) -> None:
    origin, row, k = cut.origin, _row(cut), len(cut.origin.vertex)
    size = float(np.linalg.norm(origin.vertex))
    if origin.cone.shape[0] != origin.cone.shape[1]:
        raise _refuse(cut, "its rows are not as many as variables")
    if size > origin.gamma:
        raise _refuse(cut, "the vertex is longer than gamma")
    # Any scale of the weight would do; this one makes the vertex of length 1.
    unit = np.ones(len(row))
    unit[:k] = max(size, 1e-300)
    matrix, row = origin.cone * unit, row * unit
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise _refuse(cut, "its rows meet in no point, or in many")
    inverse: Array = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    z: Array = np.asarray(np.linalg.solve(matrix, origin.sides), dtype=np.float64)
    if np.linalg.norm(z[:k] * unit[:k] - origin.vertex) > TIGHT * size:
        raise _refuse(cut, "its rows meet elsewhere")
    excess = float(row @ z) - cut.rhs
    if excess <= 0:
        raise _refuse(cut, "it does not remove the vertex")
    # The row is sum_j factor_j slack_j >= excess, and each factor_j theta_j must be excess.
    factors = row @ inverse
    theta = steps_to_norm(z[:k], -inverse[:k].T, origin.gamma / unit[0])
    if float((factors - excess / theta).min()) < -AGREES * float(np.abs(factors).max()):
        raise _refuse(cut, "it removes a point longer than gamma on a ray of its cone")


# --- its rows from the data ----------------------------------------------------------------------


def _belongs(cut: Cut, problem: PolarProblem, parents: Sequence[Cut]) -> None:
    if cut.kind is Kind.FACIAL:
        _facial(cut, problem, parents)
    elif cut.origin.space == "lifted":
        _rows_of_lift(cut, problem, parents)
    else:
        for row, side in zip(cut.origin.cone, cut.origin.sides.tolist(), strict=True):
            of_parent = any(_is_row_of(parent, problem, row, side) for parent in parents)
            if not (of_parent or (side > 0 and _in_hulls(problem.hulls, row / side))):
                raise _refuse(cut, "a row of its cone is neither one of P nor that of a parent")


def _is_row_of(parent: Cut, problem: PolarProblem, row: Array, side: float) -> bool:
    own = np.append(problem.weight_part(parent.coefficients), parent.rhs)
    given = np.append(row, side)
    own, given = (part / np.linalg.norm(part[:-1]) for part in (own, given))
    return bool(np.abs(own - given).max() <= SAME * np.abs(own).max())


def _in_hulls(hulls: ReducedHulls, u: Array) -> bool:
    """Whether a point (k,) is one of U: the largest entry it can be missed by, in a program."""
    n, k = hulls.signed.shape
    size = float(np.abs(hulls.signed).max())
    scaled = hulls.signed.T / size
    ones = np.ones((k, 1))
    within = np.vstack([np.hstack([-scaled, -ones]), np.hstack([scaled, -ones])])
    masses = np.zeros((len(hulls.groups), n + 1))
    for mass, group in zip(masses, hulls.groups, strict=True):
        mass[group.members] = 1.0
    answer = linprog(
        np.eye(n + 1)[n], A_ub=within, b_ub=np.r_[u, -u] / size, A_eq=masses,
        b_eq=[min(group.mass, float(group.caps.sum())) for group in hulls.groups],
        bounds=[*((0.0, cap) for cap in hulls.caps.tolist()), (0.0, None)], method="highs",
    )  # fmt: skip
    return answer.status == 0 and bool(answer.fun <= SAME * hulls.nu)


def _rows_of_lift(cut: Cut, problem: PolarProblem, parents: Sequence[Cut]) -> None:
    origin = cut.origin
    rows = LiftedRows(problem, 1.0, {parent.name: parent for parent in parents})
    names, every, sides = rows.every()
    place = {name: i for i, name in enumerate(names)}
    if not set(origin.rows) <= set(place) or len(set(origin.rows)) != len(origin.cone):
        raise _refuse(cut, "its rows are not rows of the polytope, or not as many as they say")
    shift = problem.shift if problem.hulls.free else np.zeros(0)
    chosen = [place[name] for name in origin.rows]
    own = np.column_stack([every[chosen], sides[chosen]])
    if origin.cone.shape[1] != rows.width or not np.array_equal(origin.shift, shift):
        raise _refuse(cut, "its rows are about other variables")
    off = np.abs(own - np.column_stack([origin.cone, origin.sides])).max(axis=1)
    if (off > SAME * np.abs(own).max(axis=1)).any():
        raise _refuse(cut, "a row of its cone is not the one that it names")


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
