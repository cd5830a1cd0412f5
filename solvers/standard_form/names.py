"""Names of columns and rows that are no Pyomo objects, where a sentence needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Index


@dataclass(frozen=True)
class Label:
    """Something that has a name and nothing else."""

    name: str


@dataclass(frozen=True)
class Listed:
    """Names in a list."""

    words: list[str]

    def name(self, k: int) -> str:
        """Name at a position."""
        return self.words[k]


class Labels(Sequence[Label]):
    """Names made from others when asked for.

    Parameters
    ----------
    parts : sequence of (words, names, positions)
        Label k of a part reads `words` and the name that `names` has at positions[k].
    """

    def __init__(self, *parts: tuple[str, Any, Index]) -> None:
        self.parts = parts
        self._ends = np.cumsum([len(positions) for *_, positions in parts])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, k: Any) -> Any:
        return Label(self.name(range(len(self))[k]))

    def name(self, k: int) -> str:
        """Name at a position."""
        part = int(np.searchsorted(self._ends, k, side="right"))
        words, names, positions = self.parts[part]
        start = int(self._ends[part - 1]) if part else 0
        return words + str(names.name(int(positions[k - start])))

    def names(self) -> list[str]:
        """All of them."""
        return [self.name(k) for k in range(len(self))]
