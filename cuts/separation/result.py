"""What came of a run with separators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.cuts.separation.asking import SeparationStep
from tightmargin.cuts.separation.found_rows import FoundRow
from tightmargin.number_words import count_text, number_text, short, with_bound
from tightmargin.printing import Page
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.result import Certificate
from tightmargin.solvers.tables import Framed


@dataclass(frozen=True, eq=False, repr=False)
class SeparationResult(Framed):
    """The best point that the separators accept, the rows they found, and what is proven.

    Attributes
    ----------
    status : Status
        OPTIMAL where the engine has nothing left to do; INFEASIBLE where the rows leave no point.
    stop : StopReason
    objective : float or None
        At `values`, recomputed; None unless the separators accepted a point.
    bound : float or None
        A lower bound (upper, when maximising) of the model with the rows that were found, proven
        here. It holds for the whole problem: more rows could only raise it.
    values : mapping
        Arrays by variable name.
    certificate : Certificate
        Its verdict is on the whole problem. CERTIFIED needs separators of the library that prove
        their rows and the point; a function of one's own is a claim, which `reason` names.
    rows : tuple of FoundRow
        In the order in which they were found.
    trace : tuple of SeparationStep
        What each row did.
    engine, version : str
    asked : int
        How often a separator was called.
    nodes : int or None
    seconds : float
    message : str
    log : str
    model_name : str

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(bounds=(0, 4))
    >>> model.objective = pyo.Objective(expr=-model.x)
    >>> found = tm.separate(model, lambda point: [model.x <= 3] if point["x"] > 3 else [])
    >>> found.objective, found.bound, len(found.rows), found.certificate.verdict.value
    (-3.0, -3.0, 1, 'NOT_CERTIFIED')
    """

    status: Status
    stop: StopReason
    objective: float | None
    bound: float | None
    values: Mapping[str, NDArray[Any]]
    certificate: Certificate
    rows: tuple[FoundRow, ...]
    trace: tuple[SeparationStep, ...]
    engine: str
    version: str
    asked: int
    nodes: int | None
    seconds: float
    message: str
    log: str = ""
    model_name: str = field(default="")

    def _page(self) -> Page:
        rows = count_text(len(self.rows), "row")
        nodes = "" if self.nodes is None else f"{count_text(self.nodes, 'node')}, "
        found = f"none accepted, proven bound {number_text(self.bound)}" if self.bound else "none"
        if self.objective is not None:
            found = with_bound(self.objective, self.bound)
        facts = [
            ("objective", found),
            ("verdict", short(f"{self.verdict}: {self.certificate.reason}".removesuffix(": "), 70)),
            ("ended", short(f"{self.stop}: {self.message}".replace("_", " "), 70)),
            ("took", f"{rows}, {nodes}asked {self.asked} times, {self.seconds:.2g} s"),
            ("next", ".values, .rows, .trace, .to_frame(), .add_to(model)"),
        ]
        return Page(short(f"SeparationResult, {self.engine}: {self.model_name}", 70), facts)

    @property
    def verdict(self) -> Verdict:
        """That of the certificate."""
        return self.certificate.verdict

    def add_to(self, model: pyo.ConcreteModel, name: str = "found_rows") -> pyo.ConstraintList:
        """Add the rows to the model they were found for, as ordinary constraints.

        Parameters
        ----------
        model : ConcreteModel
            The one that was given to `separate`.
        name : str
            Of the component.

        Raises
        ------
        ValueError
            Another model, or one that has a component of this name.
        """
        for row in self.rows:
            if row.model is not model:
                raise ValueError(
                    f"row {row.name} was found for the model {row.model.name}, and is none of "
                    f"another one ({model.name})"
                )
        if model.find_component(name) is not None:
            raise ValueError(f"the model has a component {name}: give the rows another name")
        found = pyo.ConstraintList()
        model.add_component(name, found)
        for row in self.rows:
            found.add(row.relation)
        return found
