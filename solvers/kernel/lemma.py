"""Closed forms and searches of the families, as bounds whose hypotheses were stated and checked."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.exact import rounded_down, rounded_up, shortened_down
from tightmargin.solvers.kernel.statement import SEAL, FeasiblePoint, LowerBound


def by_lemma(subject: Hashable, lemma: Lemma | None, constant: float = 0.0) -> LowerBound | None:
    """The bound of a lemma; None without one, or where a hypothesis does not hold.

    subject: the model, as it was built from the catalogue, or what names the problem.
    constant: of the objective, which the lemma's value contains.
    Raises ValueError: it states no hypothesis: then nobody can have checked one.
    """
    if lemma is None:
        return None
    if not lemma.hypotheses:
        raise ValueError(f"the lemma {lemma.words!r} states no hypotheses")
    if not all(lemma.hypotheses.values()) or not math.isfinite(lemma.value):
        return None
    end = shortened_down(Fraction(lemma.value) - Fraction(constant))
    varying = rounded_down(end)
    return LowerBound(subject=subject, words=lemma.words, seal=SEAL, varying=varying, number=end)


def point_by_formula(
    subject: Hashable,
    value: float,
    error: float,
    words: str,
    x: Array | None = None,
    *,
    eps: float = 0.0,
    worst: str = "",
) -> FeasiblePoint:
    """A point whose slacks a formula gives, so that there is nothing for it to be off by.

    value, error: its objective as computed, and a proven bound on how far that may be off.
    words: why it is feasible.
    x: its coordinates to the nearest doubles.
    eps, worst: above 0 it is not: it misses the row `worst` by at most so much, and no other.
    Raises ValueError: the error or eps is negative or no number, or a row is missed that has no
        name.
    """
    if not (error >= 0 and eps >= 0):
        raise ValueError(f"{words}: an error of {error}, or of {eps}, bounds nothing")
    if (eps > 0) != bool(worst):
        raise ValueError(f"{words}: a row is missed where it has a name, and {worst!r} by {eps}")
    varying = value
    if math.isfinite(value) and math.isfinite(error):
        varying = rounded_up(Fraction(value) + Fraction(error))
    elif math.isfinite(value):
        varying = math.inf
    return FeasiblePoint(
        subject=subject, words=words, seal=SEAL, varying=varying, x=x, eps=eps, worst=worst
    )
