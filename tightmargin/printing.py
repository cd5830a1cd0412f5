"""How objects print: a few lines in a console, and the same as a small table in a notebook.

A class says once what is worth reading, as a `Page`, and `Printed` makes both of it, neither longer
than a screen can hold. What a class does not say is read off its fields; arrays and long lists are
counted instead of printed. Everything there is comes from `to_dict`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tightmargin.number_words import CELL, count_text, number_text, short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINES, CHARACTERS = 12, 600  # of what prints without being asked for more
WIDTH = 84  # characters of a line
FACTS = 5  # that get a line each in a console; more of them share lines
NUMBERS = 6  # of an array that is written out
_TABLE = '<table style="color: inherit">'  # of a dark page, which old browsers' tables leave


@dataclass(frozen=True)
class Page:
    """What there is to read about an object.

    title: one line.
    facts (word, value).
    columns, rows: a table; cells as they are printed.
    more: where there is more to look at.
    marked: the rows as HTML, where that shows more than their text.
    cell: characters of a cell.
    """

    title: str
    facts: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    more: str = ""
    marked: Sequence[Sequence[str]] = ()
    cell: int = CELL


class Readable:
    """Base of everything that prints as a page.

    _shown: fields and properties that its page shows; empty for all fields.
    """

    __slots__ = ()
    _shown: ClassVar[tuple[str, ...]] = ()

    def _title(self) -> str:
        return type(self).__name__

    def _page(self) -> Page:
        """What to read about it."""
        names = self._shown or field_names(self)
        told = [(name, value_text(getattr(self, name))) for name in names]
        return Page(self._title(), [(word, text) for word, text in told if text])

    def __repr__(self) -> str:
        return text_of(self._page())

    def __str__(self) -> str:
        """The same with all rows of its table."""
        return text_of(self._page(), whole=True)

    def _repr_html_(self) -> str:
        return html_of(self._page())


class Printed(Readable):
    """Base of the results that a user gets returned, which are dataclasses."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, those of its parts as dictionaries of their own."""
        return {name: plain_part(getattr(self, name)) for name in field_names(self)}


class Drawn:
    """Base of what a picture tells more about than words do."""

    __slots__ = ()

    def plot(self, **words: Any) -> Figure:
        """A figure of it: `tightmargin.plots.picture` says of what, and which words it takes."""
        # Drawing stands above all that is drawn, and is not loaded before it is asked for.
        found: Figure = import_module("tightmargin.plots").picture(self, **words)
        return found


def frame_of(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Records as a table of pandas, which is loaded when one is asked for."""
    table: pd.DataFrame = import_module("pandas").DataFrame.from_records(
        list(records), columns=columns
    )
    return table


def field_names(thing: Any) -> list[str]:
    """Names of the public fields of a dataclass that are shown; of another object none."""
    if not is_dataclass(thing):
        return []
    return [f.name for f in fields(thing) if f.repr and f.name[0] != "_"]


def plain_part(part: Any) -> Any:
    """A field with dictionaries and lists in the place of dataclasses and tuples."""
    if is_dataclass(part) and not isinstance(part, type):
        return {name: plain_part(getattr(part, name)) for name in field_names(part)}
    if isinstance(part, Mapping):
        return {key: plain_part(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [plain_part(each) for each in part]
    return part


# --- words for values -----------------------------------------------------------------------------


def value_text(value: Any) -> str:
    """A value in a few words; nothing for what is missing or empty."""
    if value is None:
        return ""
    if isinstance(value, Enum | str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return number_text(value)
    if isinstance(value, Readable):
        return value._title()
    if isinstance(value, Mapping):
        words = all(isinstance(key, str) for key in value)
        return _listed(list(value)) if words else count_text(len(value), "entry", "entries")
    if hasattr(value, "shape"):
        return _array_text(value)
    if isinstance(value, list | tuple | set | frozenset):
        return _items_text(list(value))
    return "a function" if callable(value) else type(value).__name__


def _array_text(value: Any) -> str:
    shape = tuple(value.shape)
    if not shape:
        return value_text(value.item())
    if isinstance(value, np.ndarray) and len(shape) == 1 and shape[0] <= NUMBERS:
        return f"({', '.join(value_text(x) for x in value.tolist())})"
    return f"{' x '.join(str(k) for k in shape)} numbers"


def _items_text(items: list[Any]) -> str:
    if not items:
        return ""
    if all(isinstance(item, str) for item in items):
        return _listed(items)
    if all(item is None or isinstance(item, int | float) for item in items):
        if len(items) > NUMBERS:
            return f"{len(items)} numbers"
        return f"({', '.join(value_text(item) or 'none' for item in items)})"
    if len(items) == 1:
        return value_text(items[0])
    kinds = {type(item).__name__ for item in items}
    return f"{len(items)} {kinds.pop().removesuffix('s') + 's' if len(kinds) == 1 else 'entries'}"


def _listed(words: list[str]) -> str:
    left = len(words) - NUMBERS
    return ", ".join(words[:NUMBERS]) + (f" and {left} more" if left > 0 else "")


# --- text and HTML --------------------------------------------------------------------------------


def text_of(page: Page, *, whole: bool = False) -> str:
    """Lines for a console; `whole` for all rows of the table."""
    if whole:
        return "\n".join(_lines(page, page.rows, 0))
    return "\n".join(short_line(line) for line in _limited(page, _rows_shown(page)))


def short_line(line: str) -> str:
    """A line that keeps its indentation, cut where it is too long."""
    return line if len(line) <= WIDTH else line[: WIDTH - 3].rstrip() + "..."


def html_of(page: Page) -> str:
    """A small table, in the colours of whatever shows it."""
    shown = _rows_shown(page)
    parts = [f"<div><strong>{html.escape(short(page.title, WIDTH))}</strong>"]
    facts = [f"{_cell('th', word)}{_cell('td', short(text, WIDTH))}" for word, text in _facts(page)]
    parts += _table(facts)
    if shown:
        right = _numeric(page.rows[:shown], len(page.rows[0]))
        rows = [_row("th", page.columns, right)] if page.columns else []
        if page.marked:
            rows += ["".join(map(_tagged, row)) for row in page.marked[:shown]]
        else:
            rows += [_row("td", row, right) for row in _cut(page, shown)]
        parts += _table(rows)
    parts += [
        f"<div>{html.escape(short(line, WIDTH))}</div>"
        for line in _last(page, len(page.rows) - shown)
    ]
    return "".join([*parts, "</div>"])


def _table(rows: list[str]) -> list[str]:
    return [_TABLE, *(f"<tr>{row}</tr>" for row in rows), "</table>"] if rows else []


def _row(tag: str, cells: Sequence[str], right: Sequence[bool]) -> str:
    return "".join(_cell(tag, cell, end) for cell, end in zip(cells, right, strict=True))


def _cell(tag: str, text: str, right: bool = False) -> str:
    return _tagged(html.escape(text), tag, "right" if right else "left")


def _tagged(inside: str, tag: str = "td", side: str = "left") -> str:
    return f'<{tag} style="text-align: {side}">{inside}</{tag}>'


def _facts(page: Page) -> list[tuple[str, str]]:
    """Facts that a table may hold: not more lines, and not more letters, than a text has."""
    found: list[tuple[str, str]] = []
    room = CHARACTERS - len(short(page.title, WIDTH)) - WIDTH
    for word, text in page.facts[: LINES - 2]:
        room -= len(word) + len(short(text, WIDTH))
        if room < 0:
            break
        found.append((word, text))
    return found


def _limited(page: Page, rows: int) -> list[str]:
    return _lines(page, _cut(page, rows), len(page.rows) - rows)


def _lines(page: Page, rows: Sequence[Sequence[str]], left: int) -> list[str]:
    facts = page.facts
    lines = [page.title]
    if len(facts) > FACTS:
        lines += _shared_lines([f"{word} {text}" for word, text in facts])
    else:
        width = max((len(word) for word, _ in facts), default=0)
        lines += [f"  {word:<{width}}  {' '.join(text.split())}" for word, text in facts]
    if rows:
        lines += _aligned([page.columns] if page.columns else [], rows)
    return [*lines, *_last(page, left)]


def _shared_lines(facts: list[str]) -> list[str]:
    """Several facts to a line, and how many found no room."""
    lines = ["  "]
    for k, fact in enumerate(facts):
        text = short(fact, WIDTH - 4)
        if len(lines[-1]) + len(text) + 1 > WIDTH:
            if len(lines) == FACTS - 1:
                return [*lines, f"  ... {len(facts) - k} more: .to_dict()"]
            lines.append("  ")
        lines[-1] += text + ("; " if k < len(facts) - 1 else "")
    return [line.rstrip() for line in lines]


def _last(page: Page, left: int) -> list[str]:
    told = [f"... {count_text(left, 'more row')}: print() shows all"] if left else []
    return told + ([f"  next: {page.more}"] if page.more else [])


def _rows_shown(page: Page) -> int:
    """As many rows as there is room for."""
    for rows in range(min(len(page.rows), LINES), 0, -1):
        lines = [short_line(line) for line in _limited(page, rows)]
        if len(lines) <= LINES and sum(len(line) + 1 for line in lines) <= CHARACTERS:
            return rows
    return 0


def _cut(page: Page, rows: int) -> list[list[str]]:
    return [[short(cell, page.cell) for cell in row] for row in page.rows[:rows]]


def _aligned(heads: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> list[str]:
    right = _numeric(body, len(body[0]))
    rows = [*heads, *body]
    widths = [
        max((len(row[j]) for row in rows if right[j] or any(row[j + 1 :])), default=0)
        for j in range(len(rows[0]))
    ]  # the last cell of a row may run over
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def _numeric(rows: Sequence[Sequence[str]], columns: int) -> list[bool]:
    """Which columns hold numbers alone."""
    return [all(_is_number(row[j]) for row in rows) for j in range(columns)]


def _is_number(cell: str) -> bool:
    if cell in ("", "-"):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True
