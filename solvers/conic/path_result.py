"""What a conic path is made of: one row for each penalty or budget."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.printing import Drawn
from tightmargin.solvers.execution.path_result import PathResult, Proven
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound

PROOF = "closed form of the strengthening that the low-rank point implies"
LOW_RANK, HARD_MARGIN, INTERIOR = "low-rank", "hard margin", "interior point"


@dataclass(frozen=True, eq=False, repr=False)
class ConicRow(Proven):
    """The SDP at one penalty, or with one budget.

    Attributes
    ----------
    penalty : float
        Given; for a budget the penalty that spends it and proves the bound.
    budget : float
        Given, or sum z / n.
    spent : float
        sum z / n of the point.
    objective : float
        trace W + penalty sum z at the point; trace W alone with a budget.
    attained, below
        Proofs of the objective and of the bound; None where a bound contradicts the point.
    tolerance : float
        Share of the objective that a gap may be of, at most what gap.py allows.
    method : str
        "low-rank", "interior point", or "hard margin" where a large penalty keeps every point.
    stop : str
        What the interior-point solver said, if one was asked, and a contradiction if there is one.
    w : array (d,)
    b : float
        0 without an intercept.
    factor : array (1 + r, k)
        Rows w~ = (w, b) and R': W = factor' factor.
    z, strengthening : array (n,)
        Of the point, and gamma of the bound (NaN where it is not known).
    rank : int
        Of W - w~ w~': eigenvalues above 1e-6 of the trace of W.
    errors : int
        Training points on the wrong side or on the hyperplane.
    seconds : float
    lemma : Lemma or None
        What proves the bound.
    """

    penalty: float
    budget: float
    spent: float
    objective: float
    attained: FeasiblePoint
    below: LowerBound | None
    tolerance: float
    method: str
    stop: str
    w: Array
    b: float
    factor: Array
    z: Array
    strengthening: Array
    rank: int
    errors: int
    seconds: float
    lemma: Lemma | None

    @property
    def allowed(self) -> float:
        """The tolerance of the path."""
        return self.tolerance

    @property
    def W(self) -> Array:  # noqa: N802
        """The lifted matrix (k, k)."""
        return self.factor.T @ self.factor


@dataclass(frozen=True, eq=False, repr=False)
class ConicPath(PathResult[ConicRow], Drawn):
    """Rows by rising penalty, which is falling budget.

    Attributes
    ----------
    rows : tuple of ConicRow
    parameter : str
        "penalty" or "budget": what was given.
    data, intercept, tolerance
        Of the problem.
    not_reached : tuple of float
        Penalties or budgets that Ctrl-C came before; empty else.
    """

    rows: tuple[ConicRow, ...]
    parameter: str
    data: TrainingData | GramData
    intercept: str
    tolerance: float
    not_reached: tuple[float, ...]

    @property
    def fallbacks(self) -> int:
        """How many rows took an interior-point solver."""
        return sum(row.method == INTERIOR or bool(row.stop) for row in self.rows)
