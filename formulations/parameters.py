"""Checks of hyperparameters: one clear sentence each, before anything is built."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

LARGEST = 1e150
INTERCEPTS = ("penalised", "free", "none")


def nearest(word: object, known: Iterable[str], n: int = 1) -> list[str]:
    """Up to n of the known words that someone who wrote `word` may have meant, nearest first.

    Capitals do not count: c is near C, and HiGHS is near highs.
    """
    if not isinstance(word, str):
        return []
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.lower(), name)
    return [names[match] for match in get_close_matches(word.lower(), names, n=n)]


def did_you_mean(word: object, known: Iterable[str], n: int = 1) -> str:
    """The end of a refusal, "; did you mean a or b?"; an empty string when nothing is near."""
    near = nearest(word, known, n)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def positive(name: str, value: float) -> float:
    """Return a positive finite number as a float, or raise ValueError naming the argument."""
    if isinstance(value, str | bytes | bool | np.bool_ | complex) or not np.isscalar(value):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    if number > LARGEST:
        raise ValueError(
            f"{name} must be at most {LARGEST:g}, whose square is a number, got {value!r}"
        )
    return number


def fraction(name: str, value: float, *, upper: float = 1.0, why: str = "") -> float:
    """Return a number in (0, upper], or raise ValueError naming the argument and the reason."""
    number = positive(name, value)
    if number > upper * (1 + 1e-12):
        raise ValueError(f"{name} must lie in (0, {upper:g}], got {value!r}{why and ': ' + why}")
    return min(number, upper)


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """Return a word from a list, or raise ValueError listing the words."""
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}{hint}")
    return value


def flag(name: str, value: bool) -> bool:
    """Return True or False; anything else, which Python would take for one of them, is refused."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def finite_hyperplane(name: str, value: Any, d: int) -> tuple[NDArray[np.float64], float]:
    """Numbers (w, b) of a known hyperplane, w of shape (d,), all of them finite."""
    try:
        w, b = value
        weights, offset = np.asarray(w, dtype=np.float64), float(b)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be (w, b), got {value!r}") from None
    if weights.shape != (d,):
        raise ValueError(f"{name} must be (w, b) with w of shape ({d},), got {weights.shape}")
    if not (np.isfinite(weights).all() and math.isfinite(offset)):
        raise ValueError(f"{name}: w and b must be finite, got {value!r}")
    return weights, offset


def per_point(name: str, value: ArrayLike, n: int) -> NDArray[np.float64]:
    """A positive finite number for each of n points; a single number is repeated."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or {n} numbers, got {value!r}") from None
    if numbers.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or an array ({n},), got shape {numbers.shape}")
    bad = np.flatnonzero(~(np.isfinite(np.atleast_1d(numbers)) & (np.atleast_1d(numbers) > 0)))
    if bad.size:
        raise ValueError(
            f"{name} must be positive and finite, got {np.atleast_1d(numbers)[bad[0]]} "
            f"at position {bad[0]}"
        )
    return np.broadcast_to(numbers, (n,)).copy()


def add_parameter(model: pyo.ConcreteModel, name: str, value: float) -> pyo.Param:
    """Attach a mutable positive Param, so that a sweep changes it in place and re-solves."""
    setattr(model, name, pyo.Param(initialize=value, mutable=True, within=pyo.PositiveReals))
    return getattr(model, name)


class HyperparameterError(TypeError, ValueError):
    """A hyperparameter that is missing, or that a formulation has not.

    A builder is a function, which raises TypeError for such a call; to `build` it is a value.
    """


def refuse_misspelt(
    name: str, signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]
) -> None:
    """Raise HyperparameterError for a call that does not fit, with the nearest keyword."""
    data, *words = signature.parameters
    for word in named:
        if word not in signature.parameters:
            raise HyperparameterError(
                f"{name} has no hyperparameter {word!r} (it has {', '.join(words)})"
                f"{did_you_mean(word, words)}"
            )
    if len(given) > 1:
        raise TypeError(f"{name} takes {data} alone by position: write {words[0]}=..., and so on")
    missing = [
        word
        for word in words
        if signature.parameters[word].default is inspect.Parameter.empty and word not in named
    ]
    if missing:
        raise HyperparameterError(f"{name} needs {', '.join(missing)}: nothing is chosen for you")


def checked_shift(shift: float | str, smallest: float, noise: float) -> float:
    """Number to add to the diagonal; that of "smallest" is 0 where rounding is all there is."""
    if isinstance(shift, str):
        if shift != "smallest":
            raise ValueError(f"shift must be a number or smallest, got {shift!r}")
        return -smallest if smallest < -100 * noise else 0.0
    if isinstance(shift, bool | np.bool_) or not isinstance(shift, Real):
        raise ValueError(f"shift must be a number or smallest, got {shift!r}")
    number = float(shift)
    if not 0 <= number < np.inf:
        raise ValueError(f"shift must be a finite number of at least 0, got {shift!r}")
    return number
