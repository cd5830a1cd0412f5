"""The whole ladder of bounds on the 0-1 optimum, weakest first as far as theory orders it.

The lower rungs are the relaxations of Cepeda, Gomez & Han (2024). The upper ones add to their SDP
what is known of some optimum: bounds on its violations and its norm, conflicts, products of these,
and bounds tightened by computation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tightmargin.cuts.bound_tightening.conflicts import with_conflicts
from tightmargin.cuts.bound_tightening.tighten import LEAST_SLACK, tighten
from tightmargin.experiments.gap_study.rungs import Hyperplane, Known, Problem, Rung, Step
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.zero_one.slack_bounds import closed_slack_bounds
from tightmargin.solvers.engines.running import STAGE, StopReason
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent

PARTNERS = 4  # of each point: all pairs say little more, and their number is a square


def _find_incumbent(problem: Problem) -> Hyperplane:
    found = zero_one_incumbent(problem.data, penalty=problem.penalty, intercept=problem.intercept)
    return found.w, found.b


def _bound(problem: Problem, incumbent: Hyperplane) -> Known:
    return incumbent, closed_slack_bounds(
        problem.data,
        penalty=problem.penalty,
        intercept=problem.intercept,
        incumbent=incumbent,
        slack=LEAST_SLACK,
    )


def _find_conflicts(problem: Problem, known: Known) -> Known:
    incumbent, bounds = known
    words: dict[str, Any] = {"penalty": problem.penalty, "intercept": problem.intercept}
    return incumbent, with_conflicts(bounds, problem.data, **words)


def _tighten(problem: Problem, incumbent: Hyperplane) -> Known:
    seconds = problem.effort.tighten_time
    found = tighten(
        problem.data,
        penalty=problem.penalty,
        intercept=problem.intercept,
        incumbent=incumbent,
        time_limit=seconds,
        work_limit=STAGE if seconds is None else None,
        progress=lambda line: problem.progress(f"{TIGHTEN.name}: {line}"),
    )
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return incumbent, found.bounds


# All start from one known objective with the same room above it, so that the bounds of one rung
# contain those of the next. Without room the optimum would be the only point left at the top, and
# solvers do not like sets without an inside.
INCUMBENT = Step("a good hyperplane", _find_incumbent)
BOUNDS = Step("bounds in closed form", _bound, (INCUMBENT,))
CONFLICTS = Step("larger conflicts", _find_conflicts, (BOUNDS,))
TIGHTEN = Step("bound tightening", _tighten, (INCUMBENT,))


def _no_points(data: TrainingData | GramData) -> str:
    return "" if isinstance(data, TrainingData) else "left out, it reads points, no kernel matrix"


def _strengthened(label: str, need: Step, **parameters: str) -> Rung:
    return Rung("conic_sdp_strengthened", parameters, label, need, _no_points)


def _choices(label: str, **parameters: str) -> Rung:
    return Rung("zero_one_disjunctive_relaxed", parameters, label, reason_to_skip=_no_points)


LADDER = (
    Rung("zero_one_relaxed", {"big_m": 1000}, "big-M, M = 1000"),
    Rung("zero_one_relaxed", {"big_m": "derived"}, "big-M, derived M"),
    Rung("conic_fixed", {"strengthening": "equal"}, "conic, gamma equal"),
    Rung("conic_fixed", {"strengthening": "inverse_norm"}, "conic, gamma by norm"),
    Rung("conic_fixed", {"strengthening": "scaled"}, "conic, gamma scaled"),
    _choices("choices, linear hull", norm="objective"),
    _choices("choices, exact hull"),
    Rung("conic_sdp", {}, "SDP"),
    Rung("conic_sdp_rank_one", {"partners": PARTNERS}, "SDP, rank-one rows"),
    _strengthened("SDP, secant and norm", BOUNDS),
    _strengthened("+ pair conflicts", BOUNDS, conflicts="pairs"),
    _strengthened("+ larger conflicts", CONFLICTS, conflicts="pairs"),
    _strengthened("+ linear RLT", CONFLICTS, conflicts="pairs", products="linear"),
    Rung("zero_one_relaxed", {"big_m": "derived"}, "big-M, tightened M", TIGHTEN, _no_points),
    _strengthened("SDP, tightened bounds", TIGHTEN, conflicts="pairs"),
)


RAMP_L1 = Rung("ramp_l1_big_m", {"big_m": "derived"}, "ramp optimum, l1 norm")
RAMP_L1_LADDER = (
    Rung("ramp_l1_relaxed", {"big_m": 1000}, "big-M, M = 1000"),
    Rung("ramp_l1_relaxed", {"big_m": "derived"}, "big-M, derived M"),
)


def whole_ladder(settings: Mapping[str, Any], exact: str = "zero_one_big_m") -> tuple[Rung, ...]:
    """The rungs below an exact problem for hyperparameters common to all rows.

    Without a price on b the conic relaxations with a fixed strengthening prove nothing and are
    left out with a sentence, and conic_sdp needs a bound on b. The ramp loss with the l1 norm has a
    ladder of its own.
    """
    if exact == RAMP_L1.formulation:
        return RAMP_L1_LADDER
    if settings.get("intercept") != "free":
        return LADDER
    return tuple(map(_for_free_intercept, LADDER))


def _for_free_intercept(rung: Rung) -> Rung:
    if rung.formulation == "conic_fixed":
        return replace(rung, reason_to_skip=_worthless)
    if rung.formulation in ("conic_sdp", "conic_sdp_rank_one"):
        return replace(rung, parameters={"intercept_bound": "derived", **rung.parameters})
    return rung


def _worthless(data: TrainingData | GramData) -> str:
    return "left out, a fixed strengthening proves nothing without a price on b"
