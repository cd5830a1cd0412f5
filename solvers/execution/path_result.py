"""What paths over a hyperparameter have in common: proven rows, what Ctrl-C left out, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.proofs.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("objective", "bound", "gap", "verdict", "stop", "seconds")


class Row(Protocol):
    """What every row of a path says, beside its hyperparameter and the machine."""

    @property
    def objective(self) -> float:
        """At the point, recomputed."""

    @property
    def bound(self) -> float:
        """Proven; -inf where there is none."""

    @property
    def gap(self) -> float:
        """Objective - bound, at least 0."""

    @property
    def verdict(self) -> Verdict:
        """CERTIFIED where the bound closes the gap."""

    @property
    def stop(self) -> str:
        """What there is to say about the end."""

    @property
    def seconds(self) -> float:
        """Of wall clock."""


RowT = TypeVar("RowT", bound=Row)


class PathResult(Generic[RowT]):
    """Base of the results of paths, which are dataclasses with these fields among theirs.

    Attributes
    ----------
    parameter : str
        The hyperparameter that is followed, an attribute of every row.
    rows : tuple of rows
        At least one.
    not_reached : tuple of float
        Values of the hyperparameter that Ctrl-C came before; empty else.
    """

    parameter: str
    rows: tuple[RowT, ...]
    not_reached: tuple[float, ...]

    @property
    def certified(self) -> bool:
        """Whether every asked value is there and proven."""
        return not self.not_reached and all(row.verdict is Verdict.CERTIFIED for row in self.rows)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came, between two rows or in the search of one."""
        stopped = any(row.stop == StopReason.INTERRUPTED for row in self.rows)
        return bool(self.not_reached) or stopped

    def to_frame(self) -> pd.DataFrame:
        """Table with one line a row: the hyperparameter, WORDS, and the other numbers and words."""
        import pandas as pd

        return pd.DataFrame([self._line(row) for row in self.rows])

    def _line(self, row: RowT) -> dict[str, Any]:
        first = {name: getattr(row, name) for name in (self.parameter, *WORDS)}
        own = {name: part for name, part in vars(row).items() if np.isscalar(part) or part is None}
        return first | {"verdict": str(row.verdict)} | {k: own[k] for k in own if k not in first}


def row_numbers(row: Row) -> dict[str, Any]:
    """The fields of a row as they are written to files, with its verdict as a word and its gap."""
    return vars(row) | {"verdict": str(row.verdict), "gap": row.gap}
