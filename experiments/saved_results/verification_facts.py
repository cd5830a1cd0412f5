"""What a saved result says beside its numbers, compared with what is computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tightmargin.solvers.kernel.verdict import Judgement
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.result import SolveResult

# Counts are equal; numbers may differ by what arithmetic on another machine does, and by what a
# fact of a point lost that was repaired before it was saved.
RELATIVE = 1e-6
SPREAD = 1e-6  # of the largest number of a variable: what a point may be off its rows by
ROUNDED = 1e-12
NOUGHT = 1e-12  # rounding beside numbers near 1
# How it was solved, which no data say.
_SOLVED = {
    "solver": "solver", "version": "its version", "options": "its options", "seed": "seed",
    "threads": "threads", "time_limit": "time limit", "seconds": "seconds", "message": "message",
    "versions": "versions",
}  # fmt: skip


def contradicted_fact(saved: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """The first saved fact that is another one when computed again, in words; empty if none is.

    saved: facts of the file.
    again: facts computed from the point and the data.
    """
    for name, value in plain(dict(again)).items():
        if name in saved and not same_fact(saved[name], value):
            return f"the saved {_words(name)} {_short(saved[name])} is {_short(value)} " + (
                "when computed again"
            )
    return ""


def unchecked_parts(
    result: SolveResult,
    again: Mapping[str, Any],
    judgement: Judgement,
    bound_method: str,
    unproven: str = "",
) -> tuple[str, ...]:
    """What the file says and nothing here computes: its own word and no more.

    Multipliers are tried for what they prove, which a repair may make of wrong ones too.
    """
    saved, names = result.certificate, ["dual_residual", "complementarity"]
    names += ["primal_residual"] if result.objective is None else []
    parts = [_words(name) for name in names if getattr(saved, name) is not None]
    told = {"reason": judgement.reason, "bound_method": bound_method, "unproven": unproven}
    parts += [
        _words(name) for name, words in told.items() if getattr(saved, name) not in ("", words)
    ]
    parts += [f"multipliers of {name}" for name in result.duals]
    parts += [_words(name) for name in saved.facts if name not in again and name != "unit"]
    if not saved.verdict.closed:
        parts.append("status")
    if result.ray and result.status is not Status.UNBOUNDED:
        parts.append("ray")
    data = (name for name in result.data if name not in ("n", "d", "sha256", "total_weight"))
    parts += [f"{_words(name)} of its data" for name in data]
    known = {name for name, words in _SOLVED.items() if getattr(result, name) not in (None, "", {})}
    return (*parts, *(words for name, words in _SOLVED.items() if name in known))


def contradicted_variable(result: SolveResult, again: Mapping[str, Any]) -> str:
    """The first saved variable that is not what the others make it, in words; empty if none is.

    again: variables computed from the hyperplane, or from whatever names it.
    """
    # What cancels to nothing keeps a last bit of what it is made of, on another processor another:
    # of other variables, or of the 1 that margins are measured from.
    largest = max((float(np.abs(array).max(initial=1.0)) for array in again.values()), default=1.0)
    for name, array in again.items():
        if name not in result.values:
            continue
        saved, computed = np.asarray(result.values[name]), np.asarray(array, dtype=float)
        if saved.shape != computed.shape:
            continue  # one of them square, the other a triangle
        size = max(float(np.abs(computed).max(initial=0.0)), NOUGHT)
        apart = float(np.abs(saved - computed).max(initial=0.0))
        if not apart <= max(SPREAD * size, ROUNDED * largest):
            return f"the saved {name} is {apart:.2e} away from what is computed again"
    return ""


def same_fact(one: Any, other: Any) -> bool:
    """Whether two facts agree: numbers relative to their size, all else exactly."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        if isinstance(one, int) and isinstance(other, int):
            return one == other
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=NOUGHT)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and _same_numbers(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_fact(one[k], other[k]) for k in one)
    return bool(one == other)


def _same_numbers(one: list[Any], other: list[Any]) -> bool:
    """Lists entry by entry, numbers relative to the largest of the list."""
    if not all(isinstance(x, int | float) for x in (*one, *other)):
        return all(same_fact(a, b) for a, b in zip(one, other, strict=True))
    size = max((abs(x) for x in (*one, *other)), default=0.0)
    return all(abs(a - b) <= max(RELATIVE * size, NOUGHT) for a, b in zip(one, other, strict=True))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(value: Any) -> str:
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
