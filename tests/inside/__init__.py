"""What tests need from inside the rooms. Where a name stands is written here alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(table: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has the names of a table, loaded when asked for."""
    places = {}
    for module, names in table.items():
        for name in names.split():
            new, _, old = name.partition("=")
            places[new] = f"tightmargin.{module}", old or new

    def found(name: str) -> Any:
        if name not in places:
            raise AttributeError(name)
        module, old = places[name]
        owner = import_module(module)
        return getattr(owner, old) if hasattr(owner, old) else import_module(f"{module}.{old}")

    return found
