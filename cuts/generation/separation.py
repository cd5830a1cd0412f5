"""The cut that removes a vertex of what is left, as the strategy and the space of a run ask for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.concavity import concavity_cut
from tightmargin.cuts.generation.facial import facial_cut
from tightmargin.cuts.generation.lifted_concavity import LiftedRows, lifted_cut, tight_basis
from tightmargin.cuts.generation.remaining_faces import (
    FaceSeen,
    UndecidedError,
    tight_on,
    weight_on_a_face,
)
from tightmargin.cuts.relaxation.faces import Face, FaceProgram, extreme_face, face_through
from tightmargin.cuts.relaxation.lifted_points import lifted_point, used_rows, values_at
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import Found, LostNumbersError, Relaxation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import support_value

ON_BOUNDARY = 1e-8  # relative
NO_CUT = "none of enough depth: a concavity cut at the vertex"


@dataclass(eq=False)
class VertexCuts:
    """What cuts are derived from.

    strategy, space: see cuts/outer_loop/cutting_plane.py.
    least_depth: cuts with less are refused.
    faces: for strategy "literal".
    best: gamma is its; the corners of faces are recorded there.
    reach: longest weight of P, and in `reaches` the largest value of each variable: for
        coefficients that are too small to be kept.
    left (k,): a weight on a face of P that was left when it was found.
    seen: what strategy "literal" met.
    no_face_left: whether it has stopped, in its own words; what is left is cut off by concavity
        cuts.
    """

    problem: PolarProblem
    strategy: str
    space: str
    least_depth: float
    relaxation: Relaxation
    pool: Pool
    faces: FaceProgram | None
    best: BestWeight
    reach: float | None
    reaches: dict[str, Array] | None = None
    left: Array | None = None
    seen: list[FaceSeen] = field(default_factory=list)
    no_face_left: bool = False

    def cut_at(self, found: Found, round_: int) -> tuple[Cut | None, str]:
        """A cut that removes a vertex or a face, or why there is none."""
        literal = self.strategy == "literal" and not self.no_face_left
        cut = self._facial(found, round_) if literal else None
        if cut is None:
            cut = self._concavity(found)
        if cut is None:
            return None, "no cone could be made out at a vertex within the tolerances"
        # Where P is a needle, distances in units of its length say little, and rows of its width.
        vertex = self.vertex_of(cut, found)
        depth = max(cut.origin.depth, cut.violation(vertex) / cut.size_at(vertex))
        if depth < self.least_depth:
            return None, (
                f"shallow: a cut of depth {depth:.3g} where {self.least_depth:.3g} is asked for, "
                "at each of the last vertices: no progress"
            )
        return cut, ""

    def _concavity(self, found: Found) -> Cut | None:
        if self.space == "projected":
            return concavity_cut(
                self.problem, found.weight, self.best.gamma, self.pool.active, self.reach
            )
        rows = LiftedRows(
            self.problem, self.relaxation.unit, {cut.name: cut for cut in self.pool.active}
        )
        z = lifted_point(self.problem, found)
        basis = tight_basis(rows, z, used_rows(self.relaxation, found, self.pool.active))
        return None if basis is None else lifted_cut(rows, basis, self.best.gamma, self.reaches)

    def _facial(self, found: Found, round_: int) -> Cut | None:
        """Algorithm 10's steps 3 and 4; None where a concavity cut at the vertex is due."""
        assert self.faces is not None
        if support_value(self.problem.hulls, found.weight) < 1 - ON_BOUNDARY:
            self._inside(found.weight, round_)
            return None
        if not self._on_a_cut(found.weight):
            self._see(face_through(self.problem, found.weight), round_, str(Kind.CONCAVITY))
            return None
        try:
            return self._facial_at(self.faces, found.weight, round_)
        except LostNumbersError:
            return None  # a face whose programs are lost gets no facial cut

    def _on_a_cut(self, weight: Array) -> bool:
        values = self.problem.split(weight)
        return any(
            abs(cut.violation(values)) <= ON_BOUNDARY * cut.size_at(values)
            for cut in self.pool.active
        )

    def _inside(self, weight: Array, round_: int) -> None:
        """A vertex that cuts alone make: is there still a face of P? The algorithm ends if not."""
        left = self.left
        if left is None or any(
            cut.violation(values) > 0
            for values in [self.problem.split(left)]
            for cut in self.pool.active
        ):
            try:
                self.left = left = weight_on_a_face(
                    self.problem, self.pool.active, weight, self.best.gamma
                )
            except UndecidedError:
                return
        self.no_face_left = left is None
        self.seen.append(FaceSeen(round_, self.problem.hulls.k, (), str(Kind.CONCAVITY)))

    def _facial_at(self, faces: FaceProgram, weight: Array, round_: int) -> Cut | None:
        face = extreme_face(faces, weight)
        self.best.record(face.weight)
        if face.corner:
            cut = concavity_cut(self.problem, face.weight, self.best.gamma, (), self.reach)
            if cut is not None and cut.origin.depth < self.least_depth:
                cut = None
        else:
            parents = tuple(cut.number for cut in self.pool.active)
            cut = facial_cut(faces, face, parents, self.best.gamma, self.reach)
        self._see(face, round_, NO_CUT if cut is None else str(cut.kind))
        return cut

    def _see(self, face: Face, round_: int, cut: str) -> None:
        self.seen.append(FaceSeen(round_, face.dimension, tight_on(face), cut))

    def vertex_of(self, cut: Cut, found: Found) -> dict[str, Array]:
        """Values at the point that a cut must remove."""
        if self.space == "lifted":
            return values_at(self.problem, found)
        return self.problem.point(cut.origin.vertex)


# --- the best weight of a run, and the length gamma up to which cuts may lose ---------------------


@dataclass(eq=False)
class BestWeight:
    """The best weight so far; whoever finds a better one records it.

    tolerance: relative: a solution better by less than that may be cut off.
    weight (k,): of norm 1.
    value: its objective h.
    """

    problem: PolarProblem
    tolerance: float
    weight: Array
    value: float

    @property
    def gamma(self) -> float:
        """Norm up to which weights may be lost."""
        return (1 + self.tolerance) / self.value

    def record(self, weight: Array) -> None:
        """Keep a weight (k,) of any length if its direction is better."""
        length = float(np.linalg.norm(weight))
        if length > 0:
            value = self.problem.value(weight)
            if value < self.value:
                self.weight, self.value = weight / length, value
