"""Objects with a table: the base of what prints and becomes a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tightmargin.formulations.parameters import one_of
from tightmargin.printing import Page, Printed, field_names, frame_of, value_text

if TYPE_CHECKING:
    import pandas as pd

ROUGH = ("gap", "seconds")  # columns of which two digits say all


class Framed(Printed):
    """Base of what holds a row for each step, start or value.

    Attributes
    ----------
    _table : str
        The field with the rows.
    _columns : tuple of str or None
        Of the table, where they are the same without rows.
    """

    __slots__ = ()
    _table: ClassVar[str] = "trace"
    _columns: ClassVar[tuple[str, ...] | None] = None

    def _records(self) -> list[dict[str, Any]]:
        return [record_of(row) for row in getattr(self, self._table)]

    def to_frame(self) -> pd.DataFrame:
        """Its rows as a table of pandas; arrays are left out."""
        return frame_of(self._records(), self._columns)


def latex_of(
    frame: pd.DataFrame,
    columns: Sequence[str] | None,
    numbers: str,
    names: Mapping[str, str] | None = None,
) -> str:
    """A table as LaTeX (booktabs): some of its columns, its numbers in one format, new names."""
    chosen = list(frame.columns if columns is None else columns)
    for column in chosen:
        one_of("columns", column, tuple(frame.columns))
    shown = frame[chosen].rename(columns=dict(names or {}))
    return shown.to_latex(index=False, escape=True, float_format=numbers, na_rep="")


def record_of(row: Any) -> dict[str, Any]:
    """The fields of a row that fit in a cell."""
    if not is_dataclass(row):
        return {"objective": row}
    parts = {name: getattr(row, name) for name in field_names(row)}
    return {name: part for name, part in parts.items() if fits_in_a_cell(part)}


def fits_in_a_cell(part: Any) -> bool:
    """Whether it is one number or word."""
    return np.isscalar(part) or part is None


def table_page(
    title: str, records: Sequence[Mapping[str, Any]], columns: Sequence[str], more: str = ""
) -> Page:
    """Some columns of a table, as they are printed."""
    rows = [[_cell(name, record[name]) for name in columns] for record in records]
    return Page(title, columns=columns, rows=rows, more=more)


def _cell(name: str, value: Any) -> str:
    if name in ROUGH and isinstance(value, float):
        return f"{value:.2g}"
    return value_text(value) or "-"
