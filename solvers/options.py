"""Options passed through to a solver: a misspelt name is an error, never ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


def unknown_option(solver: str, name: str, known: Iterable[str]) -> ValueError:
    """Error for an option the solver does not have, with the nearest names."""
    near = difflib.get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return ValueError(f"{solver} has no option {name!r}{hint}")


def apply_options(solver: str, settings: Any, options: Mapping[str, Any]) -> None:
    """Set attributes of a settings object, refusing names it does not have."""
    for name, value in options.items():
        if not hasattr(settings, name):
            raise unknown_option(solver, name, [s for s in dir(settings) if s[0] != "_"])
        setattr(settings, name, value)
