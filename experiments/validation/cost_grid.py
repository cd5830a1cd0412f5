"""The hinge machine c_svc at many costs C on one data set, each with a proven lower bound.

    F_C(w, b) = 1/2 norm + C sum_i max(0, 1 - y_i (<w, x_i> + b)),
    norm = ||w||^2 (+ b^2 when the intercept is penalised)

The machines differ in C alone and go through the interior point method of binary.py together,
in blocks. Whatever it ends with, the value of (w, b) is computed here by the formula of the entry
c_svc, and a machine counts as proven only where that value and the bound by weak duality meet.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck
from tightmargin.formulations.common.hyperplane import augmented, hinge_check
from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.common.rounding import (
    OUTWARD,
    excess,
    most_hinge,
    most_squares,
    score_errors,
    summed_up,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.hinge.batch import hinge_machines
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.result import Certificate
from tightmargin.solvers.searches import Proven

WORK = 2e7  # multiplications of one step of a block: a fraction of a second, and so is Ctrl-C
LARGEST = 1e8  # of one machine
MEMORY = 3e6  # numbers of the largest array that a block holds
EXTREME = 1e50  # of numbers other than 0, as of their inverses: squares must be doubles
NEAR = 0.3  # of the largest score: by how much scores may err, by what the gap alone tells
BOUND = "weak duality at repaired multipliers of an interior point method for many costs"


@dataclass(frozen=True, eq=False, repr=False)
class HingeMachine(Proven):
    """The hinge machine at one cost, or what was found of it.

    w, b (d,): b is 0 without an intercept.
    objective: F_C(w, b), recomputed from the data.
    attained, below: proofs of F_C(w, b) and of the bound, at least 0, which F_C is never below.
    radius: length of the longest point.
    facts: counts of points, as of the entry c_svc.
    seconds: its share of what its block took.
    """

    C: float
    w: Array
    b: float
    objective: float
    attained: FeasiblePoint
    below: LowerBound | None
    radius: float
    facts: dict[str, float]
    seconds: float

    @property
    def proven(self) -> bool:
        """Whether the gap is at most 1e-6 of the objective, see kernel/statement.py."""
        return self.verdict is Verdict.CERTIFIED

    @property
    def near(self) -> bool:
        """Whether the gap tells the hyperplane too, and not the objective alone.

        F_C is strongly convex in w, so the optimal w is at most sqrt(2 gap) away, which must not
        be large beside the scores, w itself or b. On points of length far below 1, or with a tiny
        C, 1/2 ||w||^2 is lost in the rounding of C n, and a gap of 1e-10 of that says nothing of w.
        The distance is mostly very much smaller than that: it falls with the gap, not its root.
        """
        size = max(self.radius * float(np.linalg.norm(self.w)), abs(self.b))
        return self.radius * math.sqrt(2 * self.gap) <= NEAR * size

    @property
    def certificate(self) -> Certificate:
        """The verdict, and where it is not CERTIFIED what is missing."""
        found = self.judgement
        return Certificate(
            found.verdict,
            reason=found.reason,
            level="paper",
            gap=found.gap,
            bound=self.bound,
            bound_method=BOUND,
            facts={"unit": found.unit, **self.facts},
        )


def block_size(data: TrainingData, costs: Array) -> int:
    """How many of these machines go together; 0 where the method is not made for them.

    A machine of k = d + 1 columns takes (n + k) k^2 multiplications a step, and (n + k) k numbers.
    Very large ones gain nothing. Columns and costs whose squares are no doubles cannot be scaled.
    """
    sizes = np.concatenate([np.abs(data.X).max(axis=0), costs])
    if not ((sizes == 0) | ((sizes > 1 / EXTREME) & (sizes < EXTREME))).all():
        return 0
    k = data.d + 1
    work, numbers = (data.n + k) * k**2, (data.n + k) * k
    if work > LARGEST:
        return 0
    return max(1, int(min(WORK / work, MEMORY / numbers)))


@unweighted
def hinge_block(
    data: TrainingData, costs: Array, intercept: str, time_limit: float | None = None
) -> list[HingeMachine]:
    """The machines at these costs, solved together.

    costs (B,): C > 0, as many as `block_size` allows.
    time_limit: seconds for each machine; the block has them together, and is left as it is then.
    Returns: in the order of costs. Whether one is the machine, its `proven` says.
    """
    start = time.perf_counter()
    rows = data.y[:, None] * augmented(data, intercept)
    price = np.ones(rows.shape[1])
    if intercept == "free":
        price[-1] = 0.0
    radius = math.sqrt(float((data.X**2).sum(axis=1).max()))
    deadline = None if time_limit is None else start + time_limit * len(costs)
    caps = np.repeat(costs[:, None], data.n, axis=1)
    found = hinge_machines(rows, price, caps, _reach(data, radius, costs), deadline)
    machines = []
    for C, v, lemma in zip(costs.tolist(), found.v, found.lemmas, strict=True):
        w, b = (v, 0.0) if intercept == "none" else (v[:-1].copy(), float(v[-1]))
        if intercept == "free":
            # The best intercept of this w; the middle, where an interval of them is as good.
            b = hinge_intercept(data.X @ w, data.y, np.full(data.n, C))
        check = _check(data, w, b, intercept, C)
        subject = "c_svc", data.sha256, intercept, C
        best = replace(lemma, value=max(0.0, lemma.value), words=BOUND)
        machines.append(
            HingeMachine(
                C,
                w,
                b,
                check.objective,
                _attained(subject, data, w, b, check.objective),
                by_lemma(subject, best),
                radius,
                dict(check.facts),
                0.0,
            )
        )
    seconds = (time.perf_counter() - start) / len(costs)
    return [replace(machine, seconds=seconds) for machine in machines]


def _attained(
    subject: tuple[str, str, str, float], data: TrainingData, w: Array, b: float, value: float
) -> FeasiblePoint:
    """F_C(w, b) rounded up, every rounding counted."""
    _, _, intercept, C = subject
    u, errors = data.y * (data.X @ w + b), score_errors(data.X, w, b)
    loss = summed_up(np.full(data.n, C), most_hinge(u, errors))
    norm = most_squares(np.append(w, b) if intercept == "penalised" else w)
    most = math.nextafter(norm / 2 + loss, math.inf)
    return point_by_formula(subject, value, excess(most, value), "slacks from their formula")


def _check(data: TrainingData, w: Array, b: float, intercept: str, C: float) -> PaperCheck:
    origin = Origin("c_svc", data, {"intercept": intercept})
    return hinge_check(origin, {"w": w, "b": np.array(b)}, 0.5, np.full(data.n, C))


def _reach(data: TrainingData, radius: float, costs: Array) -> float:
    """A bound on |b| of some optimum with a free intercept, for all of the costs.

    w = 0 and b = 1 or -1 has the value 2 C m, m points in the smaller class, so ||w||^2 <= 4 C m.
    Some best b is a breakpoint y_i - <w, x_i> of the loss, so |b| <= 1 + ||w|| max_i ||x_i||.
    """
    return OUTWARD + OUTWARD * radius * math.sqrt(
        4 * float(costs.max()) * min(data.n_pos, data.n_neg)
    )
