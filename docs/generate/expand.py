"""Markers of the form <!-- generated: WORD ARGUMENT --> replaced by what is computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from docs.generate import api, commands, entries, fitted, graph, items, notebooks, tables

_MARKER = re.compile(r"<!-- generated: (?P<word>[\w-]+)(?: (?P<argument>\S+))? -->")

_PERCENT = re.compile(r"(?<=\d) %(?= \|)")  # in the cells of a table

GENERATORS: dict[str, Callable[..., str]] = {
    "formulations-of": entries.paper_section,
    "also-in": entries.elsewhere,
    "items": items.section,
    "reproductions": tables.reproductions,
    "formulations": tables.catalogue,
    "solvers": tables.solvers,
    "classes": tables.classes,
    "commands": commands.reference,
    "graph": graph.graph,
    "tasks": api.tasks,
    "task": api.task,
    "api": api.room,
    "notebooks": notebooks.listing,
    "fitted-example": fitted.example,
}


def expanded(text: str) -> str:
    """Text of a page with all its markers replaced.

    Raises
    ------
    ValueError
        A marker that nobody knows.
    """

    def one(found: re.Match[str]) -> str:
        word = found["word"]
        if word not in GENERATORS:
            raise ValueError(f"no generator for {found[0]}")
        argument = found["argument"]
        return GENERATORS[word](*([] if argument is None else [argument]))

    return _MARKER.sub(one, text)


def on_source_read(app: Any, name: str, source: list[str]) -> None:
    """Sphinx's hook; a number keeps its percent sign beside it."""
    source[0] = _PERCENT.sub("\u00a0%", expanded(source[0]))
