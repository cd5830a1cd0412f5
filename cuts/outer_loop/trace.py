"""What an outer loop did, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Round:
    """The state after one cut.

    Attributes
    ----------
    round : int
        0 before the first cut.
    upper, lower : float
        Objective of the best point, and the proven bound so far.
    concavity, facial : int
        Cuts so far, of which `at_corners` at corners of P.
    length : float
        Norm of the vertex that was cut, over the longest weight known.
    depth : float
        Distance from the vertex to the cut, over the longest weight known.
    lp_solves : int
        Linear programs so far, those that look at faces and bounds included.
    seconds : float
    """

    round: int
    upper: float
    lower: float
    concavity: int
    facial: int
    at_corners: int
    length: float
    depth: float
    lp_solves: int
    seconds: float


@dataclass(eq=False)
class Trace:
    """Rounds in their order."""

    rounds: list[Round] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rounds)

    def __iter__(self) -> Iterator[Round]:
        return iter(self.rounds)

    def __getitem__(self, k: int) -> Round:
        return self.rounds[k]

    def add(self, entry: Round) -> None:
        """Append a round."""
        self.rounds.append(entry)

    def to_json(self) -> list[dict[str, Any]]:
        """One plain dictionary a round."""
        return [asdict(entry) for entry in self.rounds]
