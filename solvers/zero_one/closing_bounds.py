"""Bounds that close a mixed-integer result by our own computation, where that is affordable."""

from __future__ import annotations

from collections.abc import Mapping

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.checks import best_exact_point
from tightmargin.solvers.execution.deadline import is_over, seconds_left
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.zero_one.cones.from_models import bound_by_cones
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search
from tightmargin.solvers.zero_one.edited import ONLY_ADDED
from tightmargin.solvers.zero_one.enumeration.enumeration import count_sets, zero_one_enumeration

SET_LIMIT = 2_000_000
ENUMERATION = "enumeration of"
SETS = {"every optimum is that of one of the active sets, and each was solved": True}
CONFLICT_GAP = 5e-7  # half of what a certificate allows; the other half is for rounding
STEP_LIMIT = 100_000  # a few seconds
POINT_LIMIT_OF_CONFLICTS, FEATURE_LIMIT_OF_CONFLICTS = 400, 40


def zero_one_bound(origin: Origin, values: Mapping[str, Array] | None = None) -> Lemma | None:
    """Lower bound on a 0-1 loss problem by a search of our own; None where it is too large.

    The 0-1 loss is enumerated up to 2,000,000 active sets; beyond, cones of directions are searched
    where the dimensions are few, or the conflict search works for as long as STEP_LIMIT allows. Its
    bound counts whether it finished or not.

    Parameters
    ----------
    values : mapping, optional
        With "w" and "b", a hyperplane to start from.
    """
    found = few_dimensional_bound(origin, values)
    return _bound_by_conflicts(origin, values) if found is None else found


def few_dimensional_bound(
    origin: Origin, values: Mapping[str, Array] | None = None
) -> Lemma | None:
    """By enumeration or by cones of directions, which take weighted points as well."""
    found = enumerated_bound(origin)
    if found is not None or is_over():
        return found
    return bound_by_cones(origin, _known(origin, values), seconds=seconds_left())


def enumerated_bound(origin: Origin, values: Mapping[str, Array] | None = None) -> Lemma | None:
    """By enumeration; `values` play no part in it."""
    if is_over():
        return None
    data, parameters = origin.data, origin.parameters
    sets = count_sets(data.n, data.d, parameters["intercept"], data.n_pos)
    if sets > SET_LIMIT:
        return None
    found = zero_one_enumeration(
        data.points,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        limit=SET_LIMIT,
    )
    return Lemma(found.bound, f"{ENUMERATION} {sets:,} active sets", SETS)


def _bound_by_conflicts(origin: Origin, values: Mapping[str, Array] | None) -> Lemma | None:
    return conflict_bound(origin, _known(origin, values))


def _known(origin: Origin, values: Mapping[str, Array] | None) -> tuple[Array, float] | None:
    """The hyperplane of a point."""
    if values is None or "w" not in values:
        return None
    _, w, b, _ = best_exact_point(origin, values)
    return w, b


def conflict_bound(
    origin: Origin, known: tuple[Array, float] | None, side: SideRows | None = None
) -> Lemma | None:
    """Bound of a short conflict search; None where the points are too many.

    Parameters
    ----------
    known : (w, b) or None
        A hyperplane to start from.
    side : SideRows, optional
        All that an edit adds to the problem.
    """
    data, parameters = origin.data.points, origin.parameters
    if is_over() or data.n > POINT_LIMIT_OF_CONFLICTS or data.d > FEATURE_LIMIT_OF_CONFLICTS:
        return None
    found = conflict_search(
        data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        incumbent=known,
        gap=CONFLICT_GAP,
        step_limit=STEP_LIMIT,
        time_limit=seconds_left(),
        side=side,
    )
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return conflict_lemma(found, side)


def conflict_lemma(found: ConflictSearch, side: SideRows | None = None) -> Lemma | None:
    """What the kernel proved, and beside what."""
    if found.lemma is None:
        return None
    more = {} if side is None else {ONLY_ADDED: isinstance(side, SideRows)}
    opening = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(found.lemma.value, opening + found.lemma.words, {**found.lemma.hypotheses, **more})
