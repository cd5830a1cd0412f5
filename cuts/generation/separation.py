"""The cut that removes a vertex of what is left, as the strategy and the space of a run ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.concavity import concavity_cut
from tightmargin.cuts.generation.facial import facial_cut
from tightmargin.cuts.generation.lifted_concavity import LiftedRows, lifted_cut, tight_basis
from tightmargin.cuts.relaxation.faces import FaceProgram, extreme_face
from tightmargin.cuts.relaxation.lifted_points import lifted_point, used_rows, values_at
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import Found, LostNumbersError, Relaxation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import support_value


@dataclass(eq=False)
class VertexCuts:
    """What cuts are derived from.

    Attributes
    ----------
    problem : PolarProblem
    strategy, space : str
        See cuts/outer_loop/cutting_plane.py.
    least_depth : float
        Cuts with less are refused.
    relaxation : Relaxation
    pool : Pool
    faces : FaceProgram or None
        For strategy "literal".
    best : BestWeight
        Gamma is its; the corners of faces are recorded there.
    reach : float or None
        Longest weight of P, and in `reaches` the largest value of each variable: for coefficients
        that are too small to be kept.
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

    def cut_at(self, found: Found) -> tuple[Cut | None, str]:
        """A cut that removes a vertex, or why there is none."""
        cut = self._facial(found) if self.strategy == "literal" else None
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

    def _facial(self, found: Found) -> Cut | None:
        """Algorithm 10's steps 3 and 4; None where a concavity cut at the vertex is due."""
        assert self.faces is not None
        values = self.problem.split(found.weight)
        on_cut = any(
            abs(cut.violation(values)) <= 1e-8 * cut.size_at(values) for cut in self.pool.active
        )
        if not on_cut or support_value(self.problem.hulls, found.weight) < 1 - 1e-8:
            return None
        try:
            return self._facial_at(self.faces, found.weight)
        except LostNumbersError:
            return None  # a face whose programs are lost gets no facial cut

    def _facial_at(self, faces: FaceProgram, weight: Array) -> Cut | None:
        face = extreme_face(faces, weight)
        self.best.record(face.weight)
        if face.corner:
            cut = concavity_cut(self.problem, face.weight, self.best.gamma, (), self.reach)
            return cut if cut is not None and cut.origin.depth >= self.least_depth else None
        parents = tuple(cut.number for cut in self.pool.active)
        return facial_cut(faces, face, parents, self.best.gamma, self.reach)

    def vertex_of(self, cut: Cut, found: Found) -> dict[str, Array]:
        """Values at the point that a cut must remove."""
        if self.space == "lifted":
            return values_at(self.problem, found)
        return self.problem.point(cut.origin.vertex)


# --- the best weight of a run, and the length gamma up to which cuts may lose ---------------------


@dataclass(eq=False)
class BestWeight:
    """The best weight so far; whoever finds a better one records it.

    Attributes
    ----------
    problem : PolarProblem
    tolerance : float
        Relative: a solution better by less than that may be cut off.
    weight : array (k,)
        Of norm 1.
    value : float
        Its objective h.
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
