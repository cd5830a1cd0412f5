"""Options passed through to a solver: a misspelt name is an error, never ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tightmargin.formulations.parameters import did_you_mean


def unknown_option(solver: str, name: str, known: Iterable[str]) -> ValueError:
    """Error for an option the solver does not have, with the nearest names."""
    return ValueError(f"{solver} has no option {name!r}{did_you_mean(name, known, 3)}")


def refused_option(solver: str, name: str, value: Any, known: Iterable[str]) -> ValueError:
    """Error for an option that the solver did not accept: its name, or else its value."""
    names = list(known)
    if name not in names:
        return unknown_option(solver, name, names)
    return ValueError(f"{solver} cannot take {value!r} for its option {name}")


def set_highs_options(lp: Any, options: Mapping[str, Any]) -> None:
    """Set options of a HiGHS object, refusing names and values it does not take."""
    for name, value in options.items():
        try:
            taken = lp.setOptionValue(name, value).name == "kOk"
        except TypeError:
            taken = False
        if not taken:
            known = [word for word in dir(lp.getOptions()) if word[0] != "_"]
            raise refused_option("highs", name, value, known)


def apply_options(solver: str, settings: Any, options: Mapping[str, Any]) -> None:
    """Set attributes of a settings object, refusing names and values it does not take."""
    for name, value in options.items():
        known = [word for word in dir(settings) if word[0] != "_"]
        if not hasattr(settings, name):
            raise unknown_option(solver, name, known)
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError, OverflowError):
            raise refused_option(solver, name, value, known) from None
