"""What a family proves by a formula or a search of its own: a lemma, with hypotheses it checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tightmargin.printing import Printed


@dataclass(frozen=True, repr=False)
class Lemma(Printed):
    """A lower bound on the optimum of a model, and what it rests on.

    value: rounded down, the constant of the objective included.
    words: the lemma's name, for people.
    hypotheses: every condition under which it is true, in words, and whether it was found to hold
        for the numbers at hand. A lemma with one that does not hold proves nothing; nor does one
        that states none.
    """

    value: float
    words: str
    hypotheses: Mapping[str, bool]
