"""Work that a stage of a search may take: counted, so that no clock decides when it ends.

A relaxation counts the numbers that its solver reads in every step, and a little for the call. A
million of them take about two seconds, with what is proven between the relaxations.
"""

from __future__ import annotations

from dataclasses import dataclass

CALL = 100  # numbers that a call is worth, however small the relaxation
STAGE = 3_000_000  # numbers for a stage of bound tightening: a minute of larger relaxations
MEMORY = 2**29  # numbers that a search keeps at most: 4 GB

NODE = 200  # numbers that a node takes in memory beside its arrays


@dataclass
class WorkCount:
    """The work that is done so far."""

    done: int = 0

    def add(self, size: int) -> None:
        """Count a relaxation of so many numbers."""
        self.done += CALL + size
