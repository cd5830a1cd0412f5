"""What a cover by boxes of directions proves: every cell is bounded anew, from its box alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.cones.cell_bounds import cell_bounds
from tightmargin.solvers.proofs.cones.conflict import Caps, Conflict, proven
from tightmargin.solvers.proofs.cones.halved_boxes import Bits, leaves
from tightmargin.solvers.proofs.cones.problem import LARGEST, ConeProblem

TOGETHER = 200_000  # products of points and cells at a time
WORDS = "cones of directions"
COVERED = "the halved boxes are all faces of the cube, and every cell was bounded anew"


@dataclass(frozen=True, eq=False, repr=False)
class ConeCover(Printed):
    """Faces of the cube, halved as bits say (halved_boxes.py); any bits, which are checked.

    Attributes
    ----------
    bits : array of bool
    known : tuple of Conflict or Caps
        For cells that boxes do not close.
    """

    bits: Bits
    known: tuple[Conflict | Caps, ...] = ()

    @property
    def cells(self) -> int:
        """Leaves."""
        return int((~self.bits).sum())

    def _title(self) -> str:
        return f"ConeCover: {count_text(self.cells, 'cell')}"


def cover_value(problem: ConeProblem, cover: ConeCover, ceiling: float = LARGEST) -> float:
    """A number that no objective is below, v = 0 included; infinite where there is no point.

    Parameters
    ----------
    ceiling : float
        Above it nothing is asked: the value is at most that.

    Raises
    ------
    ValueError
        The bits are no cover, or what is said to be known is none.
    """
    known = proven(problem, cover.known)
    value = min(problem.at_zero, ceiling) if np.isfinite(problem.at_zero) else np.inf
    for centre, half in leaves(problem.k, cover.bits):
        together = max(1, TOGETHER // max(1, len(problem.prices)))
        for start in range(0, len(centre), together):
            part = slice(start, start + together)
            found = cell_bounds(problem, centre[part], half[part], ceiling, known)
            value = min(value, float(found.min()))
    return value


def cover_lemma(problem: ConeProblem, cover: ConeCover, ceiling: float) -> Lemma | None:
    """The bound of a cover as a lemma, the problem's constant included; None where it has none."""
    try:
        value = cover_value(problem, cover, ceiling)
    except ValueError:
        return None
    words = f"{WORDS} in {count_text(cover.cells, 'cell')}"
    if not np.isfinite(value):
        return None
    total = rounded_down(Fraction(value) + Fraction(problem.constant))
    return Lemma(total, words, {COVERED: True})
