"""What an outer loop of cutting planes found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.remaining_faces import FaceSeen
from tightmargin.cuts.search.result import Incumbent, model_of
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.result import search_page
from tightmargin.solvers.searches import Searched, Stated
from tightmargin.solvers.tables import Framed


@dataclass(frozen=True, eq=False, repr=False)
class CuttingPlaneResult(Searched, Framed, Drawn):
    """How an outer loop ended.

    Attributes
    ----------
    best : Incumbent
    bound : float
        Proven: by the finished loop, else by exact bounds on the box that holds what is left.
    trace : tuple of Round
    stop : StopReason
    message : str
        The reason in words.
    proof : str
        What proves that nothing is left; empty unless `proven`.
    cuts : tuple of Cut
        All cuts, in their order.
    tolerance : float
        Relative, up to which the best point is optimal when proven.
    nodes : int
        Of branch and cut, which goes on where rounding leaves the cuts no way; 0 without it.
    faces : tuple of FaceSeen
        Of P, as strategy "literal" identified them: rows that are tight, dimension, cut.
    no_face_left : Round or None
        The state at the stop of Algorithm 10 as printed, which strategy "literal" tests. What
        follows it proves that nothing at all is left.
    """

    best: Incumbent
    bound: float
    trace: tuple[Round, ...]
    stop: StopReason
    message: str
    proof: str
    cuts: tuple[Cut, ...]
    tolerance: float
    strategy: str
    space: str
    seed: int
    lp_solves: int
    seconds: float
    problem: PolarProblem
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
    def stated(self) -> Stated:
        """The model of extended_nu_svc."""
        return model_of(self.problem)

    @property
    def proven(self) -> bool:
        """Whether the proof of optimality is complete."""
        return self.stop is StopReason.PROVEN

    @property
    def objective(self) -> float:
        """Of the best point."""
        return self.best.objective

    @property
    def gap(self) -> float:
        """(objective - bound) / objective; 0 where both are 0."""
        return 0.0 if self.objective == 0 else (self.objective - self.bound) / self.objective

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary, cuts and trace included."""
        return {
            "objective": self.best.objective,
            "values": {name: np.asarray(part).tolist() for name, part in self.best.values.items()},
            "bound": self.bound,
            "stop": str(self.stop),
            "message": self.message,
            "proven": self.proven,
            "proof": self.proof,
            "tolerance": self.tolerance,
            "strategy": self.strategy,
            "space": self.space,
            "seed": self.seed,
            "lp_solves": self.lp_solves,
            "nodes": self.nodes,
            "faces": [{**asdict(face), "rows": list(face.rows)} for face in self.faces],
            "no_face_left": None if self.no_face_left is None else asdict(self.no_face_left),
            "seconds": self.seconds,
            "trace": [asdict(state) for state in self.trace],
            "cuts": [cut.to_json() for cut in self.cuts],
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
