"""Faces of a polytope in explicit rows that the cuts leave, and the facial cuts that remove them.

A face is named by its tight inequalities. It is extreme when the cuts leave some of it and nothing
of any smaller face; the linear programs that find one from a point are those of Majthay & Whinston
(1974): the least slack of every other inequality on the face, which is 0 where a smaller one is
left. An extreme face is a corner, or it has none left: then

    l(x) = sum over its tight inequalities of (a'x - b) >= eps,

eps the least l where any other inequality is tight, removes it and no corner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.concave.cut_loop.explicit_rows import ExplicitRows
from tightmargin.cuts.problem import TIGHT
from tightmargin.cuts.proofs import CUT, FacialCut
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed

DEPENDENT = 1e-9  # relative: singular values below it are 0
LEAST_DEPTH = 1e-6  # of the sum of the rows' sizes: a facial cut that is shallower is none
ROOM = 1e-9  # relative: by so much the side stays below what was found


@dataclass(frozen=True, eq=False)
class PolytopeFace:
    """A face through a point.

    x (n,).
    tight: numbers of the inequalities that are tight there, cuts left out.
    dimension: 0 for a corner.
    """

    x: Array
    tight: Index
    dimension: int


@dataclass(frozen=True, repr=False)
class FaceMet(Printed):
    """A face that a literal run identified.

    cuts: how many there were before.
    dimension: 0 for a corner; that of the polytope for a point that only cuts make a vertex.
    rows: tight inequalities.
    cut: "concavity" or "facial".
    """

    cuts: int
    dimension: int
    rows: tuple[str, ...]
    cut: str


def face_at(rows: ExplicitRows, x: Array) -> PolytopeFace:
    """The smallest face of the polytope that holds a point."""
    own = own_sides(rows)
    size = np.abs(rows.rows[own]) @ np.abs(x) + np.abs(rows.sides[own])
    tight = own[np.abs(rows.rows[own] @ x - rows.sides[own]) <= TIGHT * size]
    return PolytopeFace(x, tight, rows.n - _rank(rows.rows[tight]))


def own_sides(rows: ExplicitRows) -> Index:
    """Numbers of the inequalities that are no cuts, and known."""
    own = [k for k, name in enumerate(rows.names) if name.kind != CUT]
    return np.array([k for k in own if np.isfinite(rows.sides[k])], dtype=np.int64)


def _rank(lines: Array) -> int:
    sizes = np.linalg.norm(lines, axis=1)
    lines = lines[sizes > 0] / sizes[sizes > 0, None]
    return int(np.linalg.matrix_rank(lines, tol=DEPENDENT)) if len(lines) else 0


def extreme_face(rows: ExplicitRows, x: Array) -> PolytopeFace:
    """A face, in the one through a point, of which nothing smaller is left."""
    face = face_at(rows, x)
    while face.dimension > 0:
        smaller = _smaller(rows, face)
        if smaller is None:
            return face
        face = smaller
    return face


def _smaller(rows: ExplicitRows, face: PolytopeFace) -> PolytopeFace | None:
    """A smaller face that is left, or None."""
    for k in np.setdiff1d(own_sides(rows), face.tight).tolist():
        found = rows.least(rows.rows[k], face.tight.tolist())
        if found.x is None:
            continue
        size = float(np.abs(rows.rows[k]) @ np.abs(found.x)) + abs(float(rows.sides[k]))
        if float(rows.rows[k] @ found.x) - float(rows.sides[k]) <= TIGHT * size:
            own = face_at(rows, found.x)
            tight = np.union1d(own.tight, face.tight)
            return PolytopeFace(found.x, tight, rows.n - _rank(rows.rows[tight]))
    return None


def a_face_is_left(rows: ExplicitRows) -> bool:
    """Whether the cuts leave any point of the boundary: the stop of Algorithm 10 is that not."""
    nothing = np.zeros(rows.n)
    return any(rows.least(nothing, [k]).x is not None for k in own_sides(rows).tolist())


def facial_cut(rows: ExplicitRows, face: PolytopeFace) -> FacialCut | None:
    """The cut that removes an extreme face of dimension 1 or more; None where it is shallow."""
    sizes = np.linalg.norm(rows.rows[face.tight], axis=1)
    lines, ends = rows.rows[face.tight], rows.sides[face.tight]
    normal = (lines / sizes[:, None]).sum(axis=0)
    offset = float((ends / sizes).sum())
    others, least = [], np.inf
    for k in np.setdiff1d(own_sides(rows), face.tight).tolist():
        found = rows.least(normal, [k])
        if found.multipliers is None:
            return None
        others.append((rows.names[k], found.multipliers))
        if found.x is not None:
            least = min(least, float(normal @ found.x))
    if not np.isfinite(least):
        # No corner is left at all, and whatever is left may go.
        found = rows.least(-normal, [])
        if found.x is None:
            return None
        least = float(normal @ found.x) + 1.0
    scale = float(np.abs(normal) @ np.abs(face.x)) + abs(offset) + 1e-300
    if least - offset <= LEAST_DEPTH * scale:
        return None
    side = least - ROOM * (scale + abs(least))
    return FacialCut(tuple(rows.names[k] for k in face.tight.tolist()), normal, side, tuple(others))
