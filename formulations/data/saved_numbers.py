"""Numbers and arrays of a fitted thing as plain values, to be saved beside a result, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def plain_numbers(fitted: object, names: Sequence[str]) -> dict[str, Any]:
    """These attributes by name, arrays as lists."""
    numbers = {name: getattr(fitted, name) for name in names}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in numbers.items()
    }


def saved_numbers(what: str, saved: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """These entries of what `plain_numbers` wrote.

    Parameters
    ----------
    what : str
        What was saved, for the complaint.

    Raises
    ------
    ValueError
        Naming the missing keys.
    """
    missing = [name for name in names if name not in saved]
    if missing:
        raise ValueError(f"the saved {what} lacks {', '.join(missing)}")
    return {name: saved[name] for name in names}
