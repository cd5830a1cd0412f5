"""Values that can be stored and come back as they were: JSON with NaN and Infinity."""

from __future__ import annotations

import json
import math
from typing import Any


def encoded(value: Any) -> str:
    """JSON text of a plain value, with NaN and Infinity for what JSON has no word for.

    Raises
    ------
    TypeError
        It is not made of dict, list, str, int, float, bool and None only, naming the place.
    """
    _refuse_unless_plain(value, "the result")
    return json.dumps(value)


def _refuse_unless_plain(value: Any, place: str) -> None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            _refuse_unless_plain(item, f"{place}[{number}]")
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{place} has the key {name!r}: keys must be words, to be stored")
            _refuse_unless_plain(item, f"{place}[{name!r}]")
        return
    raise TypeError(
        f"{place} is a {type(value).__module__}.{type(value).__qualname__}: to be stored it must "
        "be made of dict, list, str, int, float, bool and None"
    )


def task_text(task: tuple[Any, ...]) -> str:
    """JSON text of a task.

    Raises
    ------
    TypeError
        It is no tuple of words and numbers.
    """
    if not isinstance(task, tuple) or not all(map(_is_word, task)):
        raise TypeError(
            f"a task must be a tuple of words and numbers, so that it can be named, got {task!r}"
        )
    return json.dumps(task)


def _is_word(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_word, value))
    return (
        value is None
        or isinstance(value, (bool, int, str))
        or (isinstance(value, float) and not math.isnan(value))
    )
