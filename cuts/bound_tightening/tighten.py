"""Bounds on the violations of some 0-1 optimum, tightened by computation (OBBT).

Some optimum satisfies the closed-form statements of slack_bounds.py, so it lies in any convex
relaxation of them that also keeps the objective below a known one. Least and greatest values of
v_i = 1 - y_i (<w, x_i> + b) over that set are new statements about the same optimum, and make the
next set smaller. Two sets are offered (convex_sets.py): the big-M relaxation, a few
milliseconds a bound, and the strengthened SDP of conic_sdp_strengthened, which decides more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightmargin.cuts.bound_tightening.convex_sets import MODELS
from tightmargin.cuts.bound_tightening.result import Tightened, TighteningRound
from tightmargin.cuts.bound_tightening.rounds import Work
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.formulations.zero_one.big_m import BigM
from tightmargin.formulations.zero_one.loss import trivial_points, zero_one_objective
from tightmargin.formulations.zero_one.slack_bounds import (
    Hyperplane,
    SlackBounds,
    closed_slack_bounds,
)
from tightmargin.solvers.engines.running import telling
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent

__all__ = [
    "Tightened",
    "TighteningRound",
    "sdp_pays",
    "tighten",
    "tightened_big_m",
]

RELAXATIONS = ("both", *MODELS)
LEAST_SLACK = 1e-4
SMALLEST_M = 1e-6
PAYING_GAP = 0.4


@reads_dense_points
def tighten(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: Hyperplane | None = None,
    bounds: SlackBounds | None = None,
    rounds: int = 2,
    relaxation: str = "both",
    conflicts: bool = True,
    slack: float = LEAST_SLACK,
    time_limit: float | None = None,
    work_limit: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tightened:
    """Shrink the closed-form bounds on v_i, norm2 and b, and decide points.

    In one round, for every undecided point i, over the set of what is known (linear_minima.py):

        upper_i = max v_i with z_i = 1        kept when no point of the set has z_i = 1
        lower_i = min v_i with z_i = 0        violated when no point of the set has z_i = 0

    which is right because the optimum has v_i > 0 exactly where z_i = 1; then the ends of b, and
    the least sum of z, rounded up to `count`, which leaves norm2 <= cutoff - penalty count (where
    weights are no whole numbers, the least sum itself). The
    set is made anew a few times a round. Sets of points that the norm forbids to keep become
    conflicts (conflicts.py): disjoint ones at the start, and in each round those that cut off the
    z at which the objective is least; pairs as soon as the norm allows.

    With a free intercept the SDP bounds W_bb by the chord of b^2, which is worth little when
    |b| is large. The points are therefore moved by a vector c of the incumbent's hyperplane,
    x - c, which makes b small for hyperplanes near it and changes nothing else: b + <w, c>.

    Parameters
    ----------
    data, penalty, intercept
        As for zero_one_big_m.
    incumbent : (w, b), optional
        A known hyperplane; our heuristic looks for one otherwise.
    bounds : SlackBounds, optional
        Statements to start from; closed_slack_bounds otherwise.
    rounds : int
        Rounds of the SDP. Quick rounds are repeated while they gain 2 %, at most 40 times.
    relaxation : "qp", "sdp" or "both"
        "both": quick rounds first.
    conflicts : bool
        Whether conflicts are looked for; those of given `bounds` are used in any case.
    slack : float
        Relative room of the cutoff above the known objective, at least 1e-4.
    time_limit : float, optional
        Seconds. What was proven by then is returned; so it is on Ctrl-C.
    work_limit : int, optional
        Numbers in the relaxations of all minimisations, with the same result on any machine.
    progress : callable(str), optional
        Hears one line a round.

    Raises
    ------
    ValueError
        A slack below 1e-4 (a cutoff at the optimum leaves a set of one point, and rounding cuts
        that point off), bounds whose cutoff is below the known objective by that rule, a bad
        penalty, intercept, incumbent, relaxation, number of rounds or limit.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.tighten(data, penalty=1.0, intercept="penalised")
    >>> model = tm.conic_sdp_strengthened(data, penalty=1.0, slack_bounds=found.bounds)
    >>> tm.solve(model).bound >= tm.solve(tm.conic_sdp(data, penalty=1.0)).bound - 1e-6
    True
    """
    cost = positive("penalty", penalty)
    one_of("intercept", intercept, INTERCEPTS)
    one_of("relaxation", relaxation, RELAXATIONS)
    if not (isinstance(rounds, int) and rounds >= 0):
        raise ValueError(f"rounds must be a whole number not below 0, got {rounds!r}")
    if time_limit is not None:
        positive("time_limit", time_limit)
    if work_limit is not None and (type(work_limit) is not int or work_limit < 1):
        raise ValueError(f"work_limit must be a whole number of at least 1, got {work_limit!r}")
    if not (math.isfinite(slack) and slack >= LEAST_SLACK):
        raise ValueError(
            f"slack must be at least {LEAST_SLACK:g}, got {slack!r}: a cutoff at the optimum "
            "leaves a set without inside, and the rounding of a solver cuts the optimum off"
        )
    began = time.perf_counter()
    if incumbent is None:
        found = zero_one_incumbent(data, penalty=cost, intercept=intercept)
        incumbent = found.w, found.b
    w, b = finite_hyperplane("incumbent", incumbent, data.d)
    known = zero_one_objective(data, w, b, penalty=cost, intercept=intercept)
    trivial = trivial_points(data, penalty=cost, intercept=intercept)[0]
    if trivial.objective < known:
        w, b, known = trivial
    if bounds is None:
        bounds = closed_slack_bounds(
            data, penalty=cost, intercept=intercept, incumbent=(w, b), slack=slack
        )
    else:
        bounds = _with_room(bounds, min(known, bounds.cutoff), slack)
    with telling("tightening", progress) as say:
        work = Work(
            data, cost, intercept, (w, b), bounds, conflicts, began, time_limit, say,
            work_limit=work_limit,
        )  # fmt: skip
        return work.run(relaxation, rounds)


def _with_room(bounds: SlackBounds, known: float, slack: float) -> SlackBounds:
    """Given bounds with a cutoff that has the room asked for, and a norm that has it too."""
    cutoff = known * (1 + slack)
    room = max(0.0, cutoff - bounds.cutoff)
    return replace(bounds, cutoff=cutoff, norm2=bounds.norm2 + room)


def sdp_pays(found: Tightened) -> bool:
    """Whether SDP rounds after quick ones save a branch and bound more time than they take.

    Quick rounds, with the conflicts they find, paid on every instance tried and often decide all
    points; SDP rounds are for points left undecided with a gap that is still wide. Seconds on two
    busy cores, so that only ratios within a row count: SCIP alone with derived M (limit 25 s), and
    tightening + SCIP with what it found; the gap is that after the quick rounds.

        data, intercept, penalty                    SCIP   quick        and 2 SDP rounds   gap
        clustered n=60 d=3 sigma=0.5, penalised, 1  28.2   8.6 + 5.7    14.2 + 1.9         20 %
        clustered n=60 d=3 sigma=0.2, penalised, 1   3.8   3.8 + 0.1    nothing left        0 %
        none n=80 d=3 sigma=0.2, penalised, 1        7.9   3.2 + 0.1    nothing left        0 %
        spread n=60 d=3 sigma=0.5, penalised, 1      9.6   3.0 + 0.1    nothing left        0 %
        clustered n=100 d=3 sigma=0.5, penalised, 1   -    20.1 + 7.2   29.0 + 1.9         17 %
        Brooks n60d2ATj0, free, 2                   25.1   7.2 + 0.1    nothing left        0 %
        Brooks n60d5ATj1, free, 20                  28.1   20.1 + 6.1   39.9 + 0.2         25 %

    At 17 to 25 % SDP rounds are even or a loss; hence the limit of 40 %.
    """
    open_points = ~(found.bounds.kept | found.bounds.violated)
    return bool(open_points.any()) and found.gap >= PAYING_GAP


def tightened_big_m(bounds: SlackBounds) -> BigM:
    """M_i = upper_i for zero_one_big_m and its relaxations, with the reason.

    Points that are kept get the smallest M in use, since an M is positive.
    """
    values = np.maximum(bounds.upper, SMALLEST_M)
    values.setflags(write=False)
    return BigM(values, f"1 - u_i <= M_i at some optimum, {bounds.proof}", bounds.cutoff)
