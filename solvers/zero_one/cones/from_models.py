"""Models of the 0-1 and the ramp loss as the search over cones of directions takes them."""

from __future__ import annotations

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.certificates.case import GAP_TOLERANCE
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.proofs.cones.problem import ConeProblem, fits_a_cube
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.zero_one.cones.result import ConeSearch
from tightmargin.solvers.zero_one.cones.search import (
    cone_search,
    ramp_cone_search,
    ramp_cones,
    zero_one_cones,
)
from tightmargin.solvers.zero_one.edited import ONLY_ADDED

MANY_DIMENSIONS, POINTS_PER_DIMENSION = 6, 10
RAMP = "ramp_big_m"
# Points up to which a minute sufficed, by dimensions (two cores of 2026, one of them used).
POINTS = {1: 20_000, 2: 5_000, 3: 2_000, 4: 1_000, 5: 600, 6: 200, 7: 60}
RAMP_POINTS = {1: 1_000, 2: 500, 3: 200, 4: 60}
GAP = GAP_TOLERANCE / 2  # the other half is for rounding
SHORT = 20_000_000  # products of points and cells: a few seconds


def dimensions(origin: Origin, side: SideRows | None = None) -> int:
    """Of the cube: an intercept with a price, or one that side rows speak of, is a feature more."""
    intercept = origin.parameters["intercept"]
    beside = side is not None and (
        bool((side.of_b != 0).any()) or any(not count.points.all() for count in side.counts)
    )
    lifted = intercept == "free" and (origin.entry == RAMP or beside)
    return int(origin.data.d) + int(intercept == "penalised" or lifted)


def suits(origin: Origin, side: SideRows | None = None) -> bool:
    """Whether cones were measured to prove such a problem within a minute.

    Few points in many dimensions are left to the conflict search: there every direction is much
    like its neighbours, and cones cover the whole cube. On 150 problems in 4 to 7 dimensions cones
    took at most 0.4 s in 4 and 5 (two of them 2 and 3 s), conflicts 0.1 to 2 s. In 6 conflicts were
    quicker up to 40 points (0.5 s against 5), neither at 60, and cones at 100 (7 s against more
    than 12). In 7 dimensions conflicts were quicker at 24, 40 and 60 points. Weighted points have
    no other search.
    """
    width, n = dimensions(origin, side), int(origin.data.n)
    most = (RAMP_POINTS if origin.entry == RAMP else POINTS).get(width, 0)
    few = width >= MANY_DIMENSIONS and n < POINTS_PER_DIMENSION * width
    left = few and origin.entry != RAMP and not is_weighted(origin.data)
    if not origin.data.d or n > most or left:
        return False
    return fits_a_cube(origin.data.points.X, origin.parameters["intercept"])


def by_cones(
    origin: Origin,
    seconds: float | None,
    side: SideRows | None = None,
    *,
    cell_limit: int | None = None,
    incumbent: tuple[Array, float] | None = None,
) -> ConeSearch:
    """The search that a model asks for."""
    data, parameters = origin.data.points, origin.parameters
    known = parameters.get("incumbent") if incumbent is None else incumbent
    if origin.entry == RAMP:
        return ramp_cone_search(
            data, C=parameters["C"], intercept=parameters["intercept"], incumbent=known, gap=GAP,
            time_limit=seconds, cell_limit=cell_limit, side=side,
        )  # fmt: skip
    return cone_search(
        data, penalty=parameters["penalty"], intercept=parameters["intercept"], incumbent=known,
        gap=GAP, time_limit=seconds, cell_limit=cell_limit, side=side,
    )  # fmt: skip


def cones_of(origin: Origin, side: SideRows | None = None) -> ConeProblem:
    """The problem that the search of a model covers."""
    data, parameters = origin.data.points, origin.parameters
    if origin.entry == RAMP:
        return ramp_cones(data, parameters["C"], parameters["intercept"], side)
    return zero_one_cones(data, parameters["penalty"], parameters["intercept"], side)


def lemma_of(found: ConeSearch, side: SideRows | None = None) -> Lemma | None:
    """What the kernel proved, and beside what."""
    lemma = found.lemma
    if lemma is None:
        return None
    more = {} if side is None else {ONLY_ADDED: isinstance(side, SideRows)}
    opening = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(lemma.value, opening + lemma.words, {**lemma.hypotheses, **more})


def bound_by_cones(
    origin: Origin,
    known: tuple[Array, float] | None,
    side: SideRows | None = None,
    seconds: float | None = None,
) -> Lemma | None:
    """Bound of a search of a few seconds; None where it was measured to take longer."""
    if not suits(origin, side):
        return None
    cells = SHORT // int(origin.data.n)
    found = by_cones(origin, seconds, side, cell_limit=cells, incumbent=known)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return lemma_of(found, side)
