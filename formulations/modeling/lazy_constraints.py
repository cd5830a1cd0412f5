"""Constraints that are made when somebody touches them: what all rows kept as arrays share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.component_namer import index_repr
from pyomo.core.base.constraint import Constraint, ConstraintData, IndexedConstraint

from tightmargin.formulations.data.arrays import Index
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Readable


class LazyRows(IndexedConstraint, Readable):
    """Indexed constraint whose row i is written by `_written` on first touch.

    Length, membership and iteration follow the index set, so that every other part of Pyomo sees
    all rows; solve() asks for the numbers of the `untouched` ones and reads their arrays instead.
    """

    def __init__(self, index: pyo.Set) -> None:
        self._gone: set[Any] = set()
        self._pristine: dict[Any, Any] = {}
        self._position: dict[Any, int] | None = None
        super().__init__(index, ctype=Constraint)

    @abstractmethod
    def _written(self, k: int) -> Any:
        """Relation of row number k, as a Pyomo expression."""

    @abstractmethod
    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics, as the arrays have it."""

    def _title(self) -> str:
        return f"{self.name}: {count_text(len(self), 'row')}"

    def _page(self) -> Page:
        first = next(iter(self.keys()), None)
        if first is None:
            return Page(self._title())
        name = f"{self.name}{index_repr(first)}"
        facts = [
            (name, self.text_of(first) or str(self._data[first].expr)),
            ("edit", f"like any Pyomo constraint: {name}.deactivate(), del {name}"),
        ]
        return Page(self._title(), facts)

    def text_of(self, index: Any) -> str:
        """The row of an index as mathematics; empty where it is no longer what the arrays say."""
        row = self._data.get(index)
        if row is not None and row._expr is not self._pristine.get(index):
            return ""
        return self.row_text(self.row_number(index))

    def construct(self, data: Any = None) -> None:
        """Nothing to build: rows are made when touched."""
        if self.is_constructed():
            return
        self._constructed = True
        for anonymous in self._anonymous_sets or ():
            anonymous.construct()

    def __len__(self) -> int:
        return len(self._index_set) - len(self._gone)

    def __contains__(self, index: Any) -> bool:
        return index in self._index_set and index not in self._gone

    def keys(self, sort: Any = False, ordered: Any = None) -> Iterator[Any]:
        """Elements of the index set whose rows were not deleted, in the order of the set."""
        return (index for index in self._index_set if index not in self._gone)

    def __delitem__(self, index: Any) -> None:
        if index not in self:
            raise KeyError(index)
        row = self._data.pop(index, None)
        if row is not None:
            row._component = None
        self._gone.add(index)

    def clear(self) -> None:
        """Delete every row."""
        for index in list(self.keys()):
            del self[index]

    def _setitem_when_not_present(self, index: Any, value: Any = None) -> Any:
        self._gone.discard(index)
        return super()._setitem_when_not_present(index, value)

    def _getitem_when_not_present(self, index: Any) -> ConstraintData:
        if index in self._gone:
            raise KeyError(index)
        row = self._data[index] = ConstraintData(component=self)
        row._index = index
        row._expr = self._pristine[index] = self._written(self.row_number(index))
        return row

    def row_number(self, index: Any) -> int:
        """Number of the row of an index element."""
        if self._position is None:
            self._position = {element: k for k, element in enumerate(self._index_set)}
        return self._position[index]

    def row_key(self, k: int) -> Any:
        """Index element of row number k."""
        return self._index_set.at(int(k) + 1)

    def row_keys(self, rows: Index) -> list[Any]:
        """Index elements of some row numbers."""
        elements = list(self._index_set)
        return elements if len(rows) == len(elements) else [elements[k] for k in rows]

    def touched(self) -> list[ConstraintData]:
        """Rows that somebody made active again, deactivated, replaced: to be read one by one."""
        return [
            row
            for index, row in self._data.items()
            if not row._active or row._expr is not self._pristine.get(index)
        ]

    def untouched(self) -> Index:
        """Numbers of the rows that are still what the arrays say."""
        n = len(self._index_set)
        changed = [self.row_number(row._index) for row in self.touched()]
        changed += [self.row_number(index) for index in self._gone]
        return np.setdiff1d(np.arange(n), changed) if changed else np.arange(n)
