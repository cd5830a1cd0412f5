"""Numbers of the rows of a live program, by name or Pyomo constraint."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.solvers.persistent.program import Program


class RowNumbers:
    """Rows of the model by the names of its constraints, and added ones by theirs."""

    def __init__(self, model: pyo.ConcreteModel, program: Program) -> None:
        self._model, self._program = model, program
        self._added: dict[str, int] = {}

    @cached_property
    def _read(self) -> dict[tuple[int, Any], int]:
        """Rows of the model as it was read, by component and index: no name is made."""
        places = self._program.base.rows.locations()
        return {(id(component), index): i for i, (component, index) in enumerate(places)}

    def take(self, row: Any, name: str | None) -> str:
        """Name for a row about to be added.

        Raises
        ------
        ValueError
            When there is such a row already.
        """
        constraint = not isinstance(row, dict) and hasattr(row, "parent_component")
        if name is None:
            name = str(row.name) if constraint else f"cut {len(self._added)}"
        elif self._model.find_component(name) is not None:
            raise ValueError(f"the model has a component {name}: give the cut another name")
        known = constraint and (id(row.parent_component()), row.index()) in self._read
        if name in self._added or known:
            raise ValueError(f"there is a row {name} already: give the cut another name")
        return name

    def add(self, name: str) -> int:
        """Remember the last row under its name."""
        self._added[name] = self._program.m - 1
        return self._program.m - 1

    def find(self, row: Any) -> int:
        """Number of a row.

        Raises
        ------
        ValueError
            When there is none.
        """
        count = self._program.m
        if isinstance(row, int | np.integer):
            if not 0 <= row < count:
                raise ValueError(f"there is no row {row}: the rows are 0 to {count - 1}")
            return int(row)
        name = row if isinstance(row, str) else str(row.name)
        found = self._added.get(name)
        if found is None:
            data = self._model.find_component(name) if isinstance(row, str) else row
            if data is not None and data.ctype is pyo.Constraint:
                found = self._read.get((id(data.parent_component()), data.index()))
        if found is None:
            raise ValueError(f"the live program has no row {name!r}")
        return found
