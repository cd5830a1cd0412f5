"""Concavity cuts in an outer loop until nothing is left: for few variables, and then exact.

At a vertex of what is left that no linear step improves, a concavity cut removes a simplex in which
the function is nowhere below the level; the loop ends when linear programming finds no point any
more. Each cut, and the emptiness at the end, is checked in rational arithmetic by the kernel
(cuts/proofs.py). The number of cuts is exponential in the dimension.

Strategy "literal" is Algorithm 10 of Takeda & Sugiyama for any polytope: from each vertex an
extreme face is sought, and a proper one gets a facial cut. It stops, in its own words, when no face
is left; the loop goes on until nothing is, which is what the kernel proves.
"""

from __future__ import annotations

import math
import time

import numpy as np

from tightmargin.cuts.concave.cut_loop.explicit_rows import ExplicitRows
from tightmargin.cuts.concave.cut_loop.faces import (
    FaceMet,
    PolytopeFace,
    a_face_is_left,
    extreme_face,
    face_at,
    facial_cut,
)
from tightmargin.cuts.concave.points.incumbent import Incumbent
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.cuts.problem import cut_at, local_vertex
from tightmargin.cuts.proofs import COLUMN, ROW, ConcavityCut, CutSequence, FacialCut
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import CtrlC, StopReason

MOST_CUTS = 1500
ROOM = 1e-9  # of the terms of a reverse convex row: by so much it stays below 0 at the cuts
CONCAVITY, FACIAL = "concavity", "facial"
TRIES = 20  # directions in which a vertex is looked for that takes a cut


class CutLoop:
    """One run; `run` does all of it.

    best: the best point, and what the bound has to reach.
    faces: what strategy "literal" met.
    cuts_until_no_face: how many cuts there were when no face was left.
    """

    def __init__(
        self, program: ConcaveProgram, root: RootBox, *, absolute_gap: float, seed: int,
        literal: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.root = program, root
        self.best = Incumbent(program, root, absolute_gap=absolute_gap, seed=seed)
        self.rows = ExplicitRows(program)
        self.cuts: list[ConcavityCut | FacialCut] = []
        self.literal, self.faces = literal, list[FaceMet]()
        self.cuts_until_no_face: int | None = None
        self.random = np.random.default_rng(seed)

    def run(self, *, time_limit: float | None, cut_limit: int | None) -> StopReason:
        """Cut until nothing is left, or a limit."""
        end = math.inf if time_limit is None else time.perf_counter() + time_limit
        most = MOST_CUTS if cut_limit is None else cut_limit
        ctrl_c = CtrlC()
        with ctrl_c.listening():
            self.best.seek(end)
            if not self.best.is_known:
                return StopReason.STALLED  # a level needs a point
            while True:
                if ctrl_c.asked:
                    return StopReason.INTERRUPTED
                if time.perf_counter() > end:
                    return StopReason.TIME_LIMIT
                if len(self.cuts) >= most:
                    return StopReason.ROUND_LIMIT
                found = self._round()
                if found is not None:
                    return found

    def proof(self) -> CutSequence | None:
        """The cuts and what proves them to leave nothing, once they do."""
        multipliers = self.rows.farkas()
        if multipliers is None:
            return None
        return CutSequence(
            self.program.directions, self.root.limits, self.rows.part, self.best.target,
            tuple(self.cuts), multipliers,
        )  # fmt: skip

    def _round(self) -> StopReason | None:
        """One cut; or why there is none."""
        if self.rows.part:
            self.rows.set_cutoff(self.best.target)
        for _ in range(TRIES):
            x = local_vertex(self.rows, self.random.normal(size=self.rows.n))
            if x is None:
                if self.cuts_until_no_face is None:
                    self.cuts_until_no_face = len(self.cuts)
                return StopReason.PROVEN
            before = self.best.value
            self.best.look_from(x)
            if self.best.value < before and self.rows.part:
                return None
            if self._facial(x) or self._cut(x):
                return None
        return StopReason.STALLED

    def _facial(self, x: Array) -> bool:
        """Steps 3 and 4 of Algorithm 10; whether they added a cut."""
        if not self.literal or self.cuts_until_no_face is not None:
            return False
        face = face_at(self.rows, x)
        if not len(face.tight):
            if not a_face_is_left(self.rows):
                self.cuts_until_no_face = len(self.cuts)
            self._met(face, CONCAVITY)
            return False
        if face.dimension:
            face = extreme_face(self.rows, x)
        if not face.dimension:
            self._met(face, CONCAVITY)
            self.best.look_from(face.x)
            return self._cut(face.x)
        cut = facial_cut(self.rows, face)
        self._met(face, CONCAVITY if cut is None else FACIAL)
        if cut is None:
            return False
        self.cuts.append(cut)
        self.rows.add_cut(cut.normal, cut.side)
        return True

    def _met(self, face: PolytopeFace, cut: str) -> None:
        names = tuple(self._name(k) for k in face.tight.tolist())
        self.faces.append(FaceMet(len(self.cuts), face.dimension, names, cut))

    def _name(self, k: int) -> str:
        """An inequality as its row or column is called."""
        side, form = self.rows.names[k], self.program.form
        if side.kind == COLUMN:
            return str(form.columns.name(side.number))
        return str(form.rows.name(side.number)) if side.kind == ROW else "cutoff"

    def _cut(self, x: Array) -> bool:
        """Add the cut at a vertex, unless it would not cut the vertex off."""
        cone = self.rows.cone_at(x)
        if cone is None:
            return False
        level = self.best.target
        if self.rows.part:
            level = ROOM * float(self.program.size_of_sides(x)[0])
        found = cut_at(self.rows, cone, level)
        if found is None or not float(found[0] @ cone.vertex) < found[1]:
            return False
        basis = tuple(self.rows.names[k] for k in cone.basis.tolist())
        self.cuts.append(ConcavityCut(basis, *found))
        self.rows.add_cut(*found)
        return True
