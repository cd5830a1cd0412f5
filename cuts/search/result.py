"""What a global search for the extended nu-SVC found: branch and cut, and the hull engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.result import search_page
from tightmargin.solvers.searches import CatalogueModel, Searched
from tightmargin.solvers.tables import Framed


@dataclass(frozen=True, repr=False)
class SearchState(Printed):
    """Where a search stood.

    Attributes
    ----------
    steps : int
        Nodes of branch and cut, rounds of the hull engine.
    open : int
        Nodes still open, facets of the inner hull.
    upper, lower : float
        Objective of the best point, and the proven bound.
    seconds : float
    """

    steps: int
    open: int
    upper: float
    lower: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OverDirections(Searched, Framed, Drawn):
    """What a global search for the extended nu-SVC has found, whatever ended it.

    Attributes
    ----------
    best : Incumbent
        w, b, rho, xi and the objective, by sorting.
    bound : float
        Proven: no w of norm 1 has an objective below it.
    trace : tuple
        Where it stood, at the end as well.
    stop : StopReason
        PROVEN when objective - bound is within the tolerances.
    message, proof : str
        The reason in words, and what proves the bound.
    cuts : tuple of Cut
        In their order; of branch and cut the global ones, without those at corners with more ties
        than general position has.
    tolerance : float
        Relative, up to which the best point is optimal when proven.
    lp_solves : int
        Linear programs.
    """

    best: Incumbent
    bound: float
    trace: tuple[Any, ...]
    stop: StopReason
    message: str
    proof: str
    cuts: tuple[Cut, ...]
    tolerance: float
    seed: int
    lp_solves: int
    seconds: float
    problem: PolarProblem

    @property
    def about(self) -> CatalogueModel:
        """The model of extended_nu_svc."""
        problem = self.problem
        words = {"nu": problem.nu, "intercept": problem.intercept}
        words |= {"class_balance": problem.class_balance}
        return CatalogueModel("extended_nu_svc", problem.data, words)

    @property
    def proven(self) -> bool:
        """Whether the proof of optimality is complete."""
        return self.stop is StopReason.PROVEN

    @property
    def objective(self) -> float:
        """Of the best point."""
        return self.best.objective

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
            "seed": self.seed,
            "lp_solves": self.lp_solves,
            "seconds": self.seconds,
            "trace": [asdict(state) for state in self.trace],
            "cuts": [cut.to_json() for cut in self.cuts],
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchResult(OverDirections):
    """How branch and cut or the hull engine ended; see OverDirections.

    Attributes
    ----------
    trace : tuple of SearchState
        At the start, whenever the number of steps has doubled or a better point was found, and at
        the end.
    engine : str
        "branch_and_cut" or "hull".
    steps, evaluations : int
        Nodes or rounds; evaluations of the objective by sorting.
    absolute : float
        Gap that counts as closed, as a share of the size of the data.
    """

    engine: str
    steps: int
    evaluations: int
    absolute: float

    def _page(self) -> Page:
        word = "node" if self.engine == "branch_and_cut" else "round"
        return search_page(
            f"SearchResult of {self.engine}: {self.problem._title()}",
            self.objective,
            self.bound,
            ended=f"{self.stop}: {self.message}",
            effort=f"{count_text(self.steps, word)}, {self.lp_solves} LPs, {self.seconds:.2g} s",
            parts=".best.values, .cuts, .trace, .to_frame()",
        )

    @property
    def absolute_gap(self) -> float:
        """Objective minus bound."""
        return self.best.objective - self.bound

    @property
    def relative_gap(self) -> float | None:
        """Absolute gap over the objective; None where that is 0 up to rounding."""
        objective = self.best.objective
        small = 1e-12 * float(np.abs(self.problem.hulls.signed).max())
        return None if objective <= small else self.absolute_gap / objective

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary, cuts and trace included."""
        return super().to_json() | {
            "engine": self.engine,
            "absolute": self.absolute,
            "steps": self.steps,
            "evaluations": self.evaluations,
        }


def closed_below(value: float, tolerance: float, absolute: float) -> float:
    """A lower bound at which a best value counts as proven; `absolute` in units of the value."""
    return value - max(tolerance * value, absolute)


@dataclass(frozen=True, eq=False, repr=False)
class Incumbent(Printed):
    """The best point found.

    Attributes
    ----------
    weight : array (k,)
        w of norm 1, or (w, b) with a penalised intercept.
    objective : float
        h(weight), the objective of extended_nu_svc, by sorting.
    values : mapping
        w, b, rho, xi by name, as extended_nu_svc has them.
    """

    weight: Array
    objective: float
    values: Mapping[str, Array]
    _shown = ("objective", "values")


class StopError(Exception):
    """Raised inside a search to end it, and caught where its result is put together."""

    def __init__(self, reason: StopReason, message: str, proof: str = "") -> None:
        super().__init__(message)
        self.reason, self.message, self.proof = reason, message, proof
