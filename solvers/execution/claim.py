"""What a solver or a search says, to be checked by certify."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.printing import Printed
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.execution.trace import Row

if TYPE_CHECKING:
    from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INACCURATE = "inaccurate"
    LIMIT_NO_SOLUTION = "limit_no_solution"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True, eq=False, repr=False)
class Claim(Printed):
    """What a solver says.

    Attributes
    ----------
    status : Status
    x : array or None
        Point in the order of the standard form's columns.
    duals : Multipliers or None
    bound : float or None
        The solver's own bound on the minimisation, its word only.
    message : str
        The solver's own words for its status.
    log : str
        What it printed, when that was asked for.
    objective : float or None
        What it says the objective of the minimisation is at its point; None when it does not say.
    contradictions : tuple of str
        What of all this disagrees with the rest, see certificates/claim_consistency.py.
    trace : tuple of (seconds, bound, incumbent)
        How the search went, of the minimisation; see execution/trace.py.
    lemma : Lemma or None
        A bound on the minimisation that a search of ours proved, and does not merely claim.
    searched : bool
        Whether it comes from a method of ours that knows the problem, and not from a solver.
    proof : LowerBound or None
        What the kernel proved already of the model.
    point : FeasiblePoint or None
        One that the kernel proved to be feasible already.
    farkas : Multipliers or None
        Of rows and cones, by which it says that there is no feasible point.
    """

    status: Status
    x: Array | None = None
    duals: Multipliers | None = None
    bound: float | None = None
    message: str = ""
    log: str = ""
    version: str = ""
    objective: float | None = None
    contradictions: tuple[str, ...] = ()
    trace: tuple[Row, ...] = ()
    lemma: Lemma | None = None
    searched: bool = False
    proof: LowerBound | None = None
    point: FeasiblePoint | None = None
    farkas: Multipliers | None = None
