"""Names of the inequalities of a polytope, of cuts, and of a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

ROW, COLUMN, CUT, CUTOFF = "row", "column", "cut", "cutoff"


@dataclass(frozen=True)
class Side:
    """One inequality: the lower side (sign 1) or the upper one (-1) of a row or column, or a cut.

    Attributes
    ----------
    kind : str
        "row", "column", "cut", or "cutoff" for the objective at most gamma.
    number, sign : int
    """

    kind: str
    number: int
    sign: int
