"""How bound and incumbent of a search came together over time, in few rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

MOST_ROWS = 200

Row = tuple[float, float | None, float | None]  # seconds, bound, incumbent


class Progress:
    """Rows of (seconds, bound, incumbent), a new one where either improves.

    When there are more than MOST_ROWS, every second one goes: what is left still ends in the last.

    Attributes
    ----------
    nodes : int
        How many a tree has by now; whoever counts them writes it here.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._rows: list[Row] = []
        self.nodes = 0

    def add(self, bound: float | None, incumbent: float | None) -> None:
        """Note the present state; numbers that are not finite count as none."""
        now = (_known(bound), _known(incumbent))
        if self._rows and self._rows[-1][1:] == now:
            return
        self._rows.append((time.perf_counter() - self._began, *now))
        if len(self._rows) > MOST_ROWS:
            self._rows = self._rows[1::2]

    def state(self, sense: int) -> tuple[float | None, float | None, str]:
        """Bound and incumbent of the last row, in the sense of a model, and nodes."""
        return *self.last(sense), f"{self.nodes} nodes" if self.nodes else ""

    def last(self, sense: int = 1) -> tuple[float | None, float | None]:
        """Bound and incumbent of the last row, in the sense of a model."""
        if not self._rows:
            return None, None
        _, bound, incumbent = in_sense(self._rows[-1:], sense)[0]
        return bound, incumbent

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows so far."""
        return tuple(self._rows)


def times(factor: float, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows with bound and incumbent multiplied by a number."""
    return tuple(
        (
            seconds,
            None if bound is None else factor * bound,
            None if incumbent is None else factor * incumbent,
        )
        for seconds, bound, incumbent in rows
    )


def in_sense(rows: Sequence[Row], sense: int) -> list[list[float | None]]:
    """Rows in the model's own sense: a maximisation gets its sign back."""
    return [list(row) for row in times(sense, rows)]


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e20 else None
