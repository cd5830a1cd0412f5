"""Which relaxation of the 0-1 loss is weaker than which, and bounds that contradict it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.gap_study.gap_table import Bound, order_tolerance
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, stated_bounds

STRENGTHENED = "conic_sdp_strengthened"
SDPS = ("conic_sdp", "conic_sdp_literal", "conic_sdp_dual", "conic_sdp_eliminated")
RANK_ONE, CHOICES = "conic_sdp_rank_one", "zero_one_disjunctive_relaxed"
BIG_M = ("zero_one_relaxed", "zero_one_hinge")
ROOM = 1e-6  # the strengthened models make no side of a point narrower


def order_violations(rows: Sequence[Bound], data: TrainingData | None = None) -> list[str]:
    """Pairs of rows in an impossible order: a certified bound above a stronger relaxation.

    The value of the stronger row is the objective of one of its feasible points, which no valid
    bound on a weaker row can exceed.

    data: what all rows read; without it rows that go by slack bounds are not compared.
    """
    stated = {id(row): _stated(row, data) for row in rows}
    return [
        f"{weak.label}: bound {weak.bound:.9g} exceeds {strong.value:.9g}, the value of the "
        f"stronger {strong.label}"
        for weak, strong in permutations(rows, 2)
        if weak.bound is not None
        and strong.value is not None
        and is_weaker(weak, strong, lambda row: stated[id(row)])
        and weak.bound > strong.value + order_tolerance(strong.value, strong.result)
    ]


def is_weaker(
    weak: Bound, strong: Bound, stated: Callable[[Bound], SlackBounds | None] = lambda row: None
) -> bool:
    """Whether theory puts the first relaxation below the second, on the same data.

    A larger M weakens; the hinge loss drops z <= 1 from the big-M relaxation; a fixed
    strengthening is one of those the SDP chooses from; the SDP of rank-one rows has those of the
    SDP, and fewer groups weaken it; the strengthened SDP has the rows of the
    SDP and, where its bounds are at most M, those of the big-M relaxation; wider bounds, fewer
    conflicts and no products weaken it. Rank-one rows are neither weaker nor stronger than what is
    known of an optimum. Of the hulls of choices that with the norm inside is the stronger one.

    stated(row) -> SlackBounds or None: the bounds that a strengthened row goes by; None when they
        are not known.
    """
    if any(row.result.certificate.level != "paper" for row in (weak, strong)):
        return False
    same = ("penalty", "intercept")
    if any(weak.parameters.get(word) != strong.parameters.get(word) for word in same):
        return False
    if weak.entry in BIG_M:
        return _big_m_is_weaker(weak, strong, stated(weak), stated(strong))
    if CHOICES in (weak.entry, strong.entry):
        return _choices_are_weaker(weak, strong)
    if strong.entry in SDPS:
        return weak.entry == "conic_fixed"
    if strong.entry == RANK_ONE:
        return _rank_one_is_stronger(weak, strong)
    return strong.entry == STRENGTHENED and _known_is_stronger(weak, strong, stated)


def _known_is_stronger(
    weak: Bound, strong: Bound, stated: Callable[[Bound], SlackBounds | None]
) -> bool:
    """Whether what is known of an optimum, with the rows of the SDP, contains a conic row."""
    if weak.entry == "conic_fixed":
        return True
    bounds = stated(strong)
    if weak.entry in SDPS:
        return _holds_intercept(weak, bounds)
    if weak.entry != STRENGTHENED or bounds is None or weak is strong:
        return False
    own = stated(weak)
    products = weak.parameters["products"] in ("none", strong.parameters["products"])
    return own is not None and products and _contains(own, bounds)


def _choices_are_weaker(weak: Bound, strong: Bound) -> bool:
    """Whether both are hulls of choices with one box, and the norm stands inside of the second."""
    if weak.entry != strong.entry or weak.parameters.get("norm") != "objective":
        return False
    known = "incumbent" in weak.parameters and weak.parameters["incumbent"] is None
    return known and strong.parameters.get("incumbent") is None and weak is not strong


def _rank_one_is_stronger(weak: Bound, strong: Bound) -> bool:
    """Whether rank-one rows contain those of an SDP, or of fewer groups."""
    if weak.entry == "conic_fixed":
        return True
    if weak is strong or weak.entry not in (*SDPS, RANK_ONE):
        return False
    mine, theirs = weak.parameters, strong.parameters
    wide, narrow = mine.get("intercept_bound"), theirs.get("intercept_bound")
    if isinstance(wide, int | float) and isinstance(narrow, int | float):
        if wide < narrow:
            return False
    elif wide != narrow:
        return False
    if weak.entry != RANK_ONE:
        return True
    pairs = mine.get("partners") == theirs.get("partners")
    pairs = pairs or mine.get("partners") == "none" or theirs.get("partners") == "all"
    sides = mine.get("sides") in ("violated", theirs.get("sides"))
    return pairs and sides and _sets(weak) <= _sets(strong)


def _sets(row: Bound) -> set[frozenset[int]]:
    return {frozenset(group) for group in row.parameters.get("groups", ())}


def _big_m_is_weaker(
    weak: Bound, strong: Bound, own: SlackBounds | None, bounds: SlackBounds | None
) -> bool:
    """M at least the other M, or the bounds of v_i; what else the weak row knows, contained."""
    if _knows_more(weak) and (own is None or bounds is None or not _contains(own, bounds)):
        return False
    large = _m_of(weak)
    if strong.entry in BIG_M:
        if (weak.entry, strong.entry) == ("zero_one_relaxed", "zero_one_hinge"):
            return False
        return bool(np.all(large >= _m_of(strong)))
    if strong.entry != STRENGTHENED or bounds is None:
        return False
    needed = np.where(bounds.kept, 0.0, np.maximum(bounds.upper, ROOM))
    return bool(np.all(large >= needed))


def _knows_more(row: Bound) -> bool:
    """Whether a big-M row has rows from slack bounds besides its M."""
    return row.parameters.get("slack_bounds") is not None


def _m_of(row: Bound) -> NDArray[np.float64]:
    given = row.parameters["big_m"]
    return np.asarray(getattr(given, "values", given), dtype=float)


def _holds_intercept(weak: Bound, bounds: SlackBounds | None) -> bool:
    """Whether W_bb <= B^2 of an SDP follows from the ends of b in the bounds."""
    if weak.parameters.get("intercept") != "free":
        return True
    limit = weak.parameters.get("intercept_bound")
    if bounds is None or not isinstance(limit, int | float):
        return False
    return max(map(abs, bounds.intercept)) <= limit


def _contains(wide: SlackBounds, narrow: SlackBounds) -> bool:
    """Whether what satisfies the second bounds satisfies the first ones."""
    return bool(
        (wide.lower <= narrow.lower).all()
        and (wide.upper >= narrow.upper).all()
        and wide.norm2 >= narrow.norm2
        and wide.intercept[0] <= narrow.intercept[0]
        and wide.intercept[1] >= narrow.intercept[1]
        and all(_implied(points, narrow) for points in wide.conflicts)
    )


def _implied(points: Sequence[int], bounds: SlackBounds) -> bool:
    """Whether a conflict follows from the bounds: a violated point, or a conflict inside it."""
    return bool(bounds.violated[list(points)].any()) or any(
        set(inside) <= set(points) for inside in bounds.conflicts
    )


def _stated(row: Bound, data: TrainingData | None) -> SlackBounds | None:
    """The bounds a row goes by, from its parameters; None when it goes by none."""
    words = row.parameters
    if data is None or words.get("slack_bounds") is None:
        return None
    return stated_bounds(
        data, words["slack_bounds"], words["incumbent"], words.get("conflicts", "none"),
        words["penalty"], words["intercept"],
    )  # fmt: skip
