"""What a path of the rigorous SVM is made of: one row for each norm bound H."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.common.intercept_recovery import hinge_intercept_interval
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.printing import Drawn, Printed
from tightmargin.solvers.execution.path_result import PathResult
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit
from tightmargin.solvers.rigorous_svm.point import RsvmPoint

METHODS = ("auto", "interior", "segments", "socp", "decomposition")
TRIVIAL, LIMIT = "trivial", "limit"  # methods that rows may name besides
AT_BOUND = 1e-9  # of the box [0, 1]: a multiplier this near its end counts as there


@dataclass(frozen=True, eq=False, repr=False)
class RsvmRow(Printed):
    """The rigorous SVM at one norm bound.

    Attributes
    ----------
    point : RsvmPoint
        Hyperplane, multipliers, value and proven bound.
    method : str
        What found it: "interior", "segments", "socp" or "decomposition"; "trivial" where equal
        multipliers in each class are optimal, "limit" where H is at or above the largest that
        matters.
    steps : int
        Fits, partitions or pairs the method went through.
    seconds : float
    stop : str
        What there is to say about the end: why gamma is 0, or the gap open; else an empty string.
    b_interval : (float, float)
        All intercepts of least loss for this w.
    errors : int
        Training points on the wrong side or on the hyperplane.
    """

    point: RsvmPoint
    method: str
    steps: int
    seconds: float
    stop: str
    b_interval: tuple[float, float]
    errors: int

    @property
    def norm_bound(self) -> float:
        """H."""
        return self.point.norm_bound

    @property
    def objective(self) -> float:
        """E at the point."""
        return self.point.objective

    @property
    def upper(self) -> float:
        """E rounded up."""
        return self.point.upper

    @property
    def bound(self) -> float:
        """Proven by the multipliers of the point."""
        return self.point.bound

    @property
    def gap(self) -> float:
        """Objective - bound, at least 0."""
        return self.point.gap

    @property
    def verdict(self) -> Verdict:
        """Of the point."""
        return self.point.verdict

    @property
    def zero(self) -> int:
        """How many multipliers are at most AT_BOUND."""
        return int((self.point.alpha <= AT_BOUND).sum())

    @property
    def at_cap(self) -> int:
        """How many multipliers are at least 1 - AT_BOUND."""
        return int((self.point.alpha >= 1 - AT_BOUND).sum())

    @property
    def free(self) -> int:
        """How many multipliers lie between."""
        return len(self.point.alpha) - self.zero - self.at_cap

    @property
    def support_vectors(self) -> int:
        """How many multipliers are above AT_BOUND."""
        return len(self.point.alpha) - self.zero


def rsvm_row(
    data: TrainingData | GramData,
    point: RsvmPoint,
    *,
    method: str,
    steps: int,
    seconds: float,
    stop: str = "",
) -> RsvmRow:
    """Row of a point, with what is counted from the data."""
    scores = data.factor @ point.w
    return RsvmRow(
        point=point,
        method=method,
        steps=steps,
        seconds=seconds,
        stop=stop,
        b_interval=hinge_intercept_interval(scores, data.y, np.ones(data.n)),
        errors=int((data.y * (scores + point.b) <= 0).sum()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class RsvmPath(PathResult[RsvmRow], Drawn):
    """Rows by rising H.

    Attributes
    ----------
    rows : tuple of RsvmRow
    method : str
        What was asked for, one of METHODS.
    data : TrainingData or GramData
    limit : NormLimit or None
        Of the data, where it was given or had to be computed.
    not_reached : tuple of float
        Norm bounds that Ctrl-C came before; empty else.
    """

    rows: tuple[RsvmRow, ...]
    method: str
    data: TrainingData | GramData
    limit: NormLimit | None
    not_reached: tuple[float, ...]

    parameter = "norm_bound"
