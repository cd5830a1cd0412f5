"""What an outer loop of cutting planes found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tightmargin.cuts.generation.remaining_faces import FaceSeen
from tightmargin.cuts.search.result import OverDirections
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.result import search_page


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CuttingPlaneResult(OverDirections):
    """How an outer loop ended; see OverDirections.

    Its bound is proven by the finished loop, else by exact bounds on the box that holds what is
    left; `proof` is empty unless `proven`.

    Attributes
    ----------
    trace : tuple of Round
    strategy, space : str
        As they were asked for.
    nodes : int
        Of branch and cut, which goes on where rounding leaves the cuts no way; 0 without it.
    faces : tuple of FaceSeen
        Of P, as strategy "literal" identified them: rows that are tight, dimension, cut.
    no_face_left : Round or None
        The state at the stop of Algorithm 10 as printed, which strategy "literal" tests. What
        follows it proves that nothing at all is left.
    """

    strategy: str
    space: str
    nodes: int = 0
    faces: tuple[FaceSeen, ...] = ()
    no_face_left: Round | None = None

    def _page(self) -> Page:
        cuts = count_text(len(self.cuts), "cut")
        return search_page(
            f"CuttingPlaneResult, {self.strategy}: {self.problem._title()}",
            self.objective,
            self.bound,
            ended=f"{self.stop}: {self.message}",
            effort=f"{cuts}, {self.lp_solves} LPs, {self.seconds:.2g} s",
            parts=".best.values, .cuts, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """(objective - bound) / objective; 0 where both are 0."""
        return 0.0 if self.objective == 0 else (self.objective - self.bound) / self.objective

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary, cuts and trace included."""
        return super().to_json() | {
            "strategy": self.strategy,
            "space": self.space,
            "nodes": self.nodes,
            "faces": [{**asdict(face), "rows": list(face.rows)} for face in self.faces],
            "no_face_left": None if self.no_face_left is None else asdict(self.no_face_left),
        }


@dataclass(frozen=True, repr=False)
class Round(Printed):
    """The state after one cut.

    Attributes
    ----------
    round : int
        0 before the first cut.
    upper, lower : float
        Objective of the best point, and the proven bound so far.
    concavity, facial : int
        Cuts so far, of which `at_corners` at corners of P.
    length : float
        Norm of the vertex that was cut, over the longest weight known.
    depth : float
        Distance from the vertex to the cut, over the longest weight known.
    lp_solves : int
        Linear programs so far, those that look at faces and bounds included.
    seconds : float
    """

    round: int
    upper: float
    lower: float
    concavity: int
    facial: int
    at_corners: int
    length: float
    depth: float
    lp_solves: int
    seconds: float
