"""What counts as a false claim, decided without any of the product's arithmetic.

A claim is compared with a truth that comes from elsewhere. A refusal and NOT_CERTIFIED are open:
honest, never false, but counted.

False is

- a bound beyond the true optimum, whatever the verdict (`bound` is proven, so says its docstring);
- CERTIFIED with an objective that is not the optimum, or with no objective although a point exists;
- a point that is called proven (CERTIFIED or SOLVER_BOUND) although there is none;
- a finite bound on an unbounded model;
- the upper end of a proven interval below the optimum, or of a model without a point;
- nan or inf in any number;
- an objective that is not the model's objective at `values`.

How far a number may be off, with k the additive constant of the objective (what fixed variables
contribute included), u the rounding of the numbers as doubles, and e what the truth itself is
uncertain by (0 where it is rational):

- a bound, and the upper end of a proven interval: e + u, since they are theorems;
- a proven objective: 1e-5 min(|truth|, |truth - k|) + e + u, since that is the unit in which a gap
  is closed.

Where that is 0 one billionth of the case's `size` takes its place: the natural size of the
objective, its value at a point that anybody can name. A relative gap has no meaning there, and an
interior-point solver ends at 1e-10 of its data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tightmargin.solvers import RefusedError

RTOL = Fraction(1, 10**5)
AT_ZERO = Fraction(1, 10**9)
REFUSALS = (ValueError, TypeError, RefusedError)

Number = float | Fraction


class Kind(StrEnum):
    """What is known about a problem."""

    OPTIMUM = "optimum"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    POINT = "point"  # a feasible point is known, and its value


@dataclass(frozen=True)
class Truth:
    """What is known about a problem, and from where."""

    kind: Kind
    value: Number = 0  # the optimum, or of POINT a value that is reached
    error: float = 0.0  # how far `value` may be from the truth; 0 where it is rational
    constant: Number = 0  # of the objective: no gap is relative to it
    size: Number = 1  # natural size of the objective where the optimum is 0
    sense: int = 1  # -1 of a maximisation
    # Of the paper's problem, not of the model as written: a result that says in `unproven` why the
    # two differ claims nothing about it.
    paper: bool = False
    attained: bool = True  # whether the optimum is the value of a point

    def slack(self, number: float, *, bound: bool) -> Fraction:
        """How far a claimed number may be off."""
        value, constant = Fraction(self.value), Fraction(self.constant)
        rounding = 4 * max(math.ulp(abs(float(n))) for n in (value, number))
        if bound:
            return Fraction(self.error) + Fraction(rounding)
        own = min(abs(value), abs(value - constant))
        at_zero = AT_ZERO * Fraction(self.size) if own == 0 else 0
        return RTOL * own + at_zero + Fraction(self.error) + Fraction(rounding)


@dataclass(frozen=True)
class Said:
    """What the product says of a problem, whichever function says it."""

    objective: float | None = None
    bound: float | None = None
    upper: float | None = None  # objective of a point that it proved to be feasible exactly
    proven: bool = False  # CERTIFIED, or what a search calls proven
    point: bool = False  # it states a point that it re-proved to be feasible
    status: str = ""
    unproven: str = ""
    evaluated: Fraction | None = None  # the objective at its values, exactly, if anybody did
    terms: Fraction = Fraction(0)  # sum of the sizes of the terms of `evaluated`
    numbers: Mapping[str, Any] = field(default_factory=dict)  # every other number it states


@dataclass(frozen=True)
class Answer:
    """One thing said, beside what is true."""

    label: str
    said: Said
    truth: Truth
    extra: str = ""  # a contradiction that the case itself found
    counted: bool | None = None  # whether it counts as certified, if more than `said.proven`

    @property
    def certified(self) -> bool:
        return self.said.proven if self.counted is None else self.counted


@dataclass(frozen=True)
class Case:
    """A question to the product; `ask` may refuse by ValueError or TypeError."""

    name: str
    ask: Callable[[], list[Answer]]


def wrong(said: Said, truth: Truth) -> list[str]:
    """Every contradiction between what is said and what is true, in words."""
    odd = _no_numbers(said)
    if odd:
        return [f"nan or inf in {', '.join(odd)}"]
    found = _evaluation(said, truth)
    if truth.paper and said.unproven:
        return found
    match truth.kind:
        case Kind.INFEASIBLE:
            found += _of_no_point(said)
        case Kind.UNBOUNDED:
            found += _of_no_optimum(said)
        case _:
            found += _of_optimum(said, truth)
    return found


def _of_no_point(said: Said) -> list[str]:
    found = []
    if said.objective is not None and (said.proven or said.point):
        found.append(f"a proven point (objective {said.objective:.9g}) of an infeasible model")
    if said.upper is not None:
        found.append(f"a point proven to be exact (at {said.upper:.9g}) of an infeasible model")
    if said.proven and said.status == "unbounded":
        found.append("an infeasible model proven unbounded")
    return found


def _of_no_optimum(said: Said) -> list[str]:
    found = []
    if said.bound is not None:
        found.append(f"a proven bound {said.bound:.9g} on an unbounded model")
    if said.proven and said.objective is not None and said.status != "unbounded":
        found.append(f"an unbounded model proven to have the optimum {said.objective:.9g}")
    if said.proven and said.status == "infeasible":
        found.append("an unbounded model proven infeasible")
    return found


def _of_optimum(said: Said, truth: Truth) -> list[str]:
    found = []
    value, sense = Fraction(truth.value), truth.sense
    told = f"{float(truth.value):.9g}"
    if said.bound is not None:
        beyond = sense * (Fraction(said.bound) - value)
        if beyond > truth.slack(said.bound, bound=True):
            found.append(f"bound {said.bound:.9g} beyond the value {told}")
    if said.upper is not None and truth.kind is Kind.OPTIMUM:
        short = sense * (value - Fraction(said.upper))
        if short > truth.slack(said.upper, bound=True):
            found.append(f"a point proven at {said.upper:.9g} is better than the optimum {told}")
    if not said.proven:
        return found
    if said.status == "unbounded" and truth.kind == Kind.POINT:
        return found  # a value that is reached is no least one
    if said.objective is None or said.status in ("infeasible", "unbounded"):
        return [*found, f"proven {said.status or 'without a point'}, the value {told} is reached"]
    off = sense * (Fraction(said.objective) - value)
    slack = truth.slack(said.objective, bound=False)
    if off > slack or (truth.kind is Kind.OPTIMUM and -off > slack):
        found.append(f"proven {said.objective:.9g}, the truth is {told}")
    if not truth.attained and off <= 0 and said.point:
        found.append(f"proven point at {said.objective:.9g}, where there is only an infimum")
    return found


def _evaluation(said: Said, truth: Truth) -> list[str]:
    """The objective at the values, up to the rounding of doubles in the sum of its terms."""
    if said.evaluated is None or said.objective is None:
        return []
    slack = RTOL * abs(said.evaluated) + (said.terms + Fraction(truth.size)) / 10**12
    if abs(Fraction(said.objective) - said.evaluated) <= slack:
        return []
    return [f"objective {said.objective:.9g}, evaluated at its values {float(said.evaluated):.9g}"]


def _no_numbers(said: Said) -> list[str]:
    stated = {"objective": said.objective, "bound": said.bound, **said.numbers}
    return [name for name, value in stated.items() if not _finite(value)]


def _finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_finite(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(_finite(part) for part in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    return True


# Of a problem whose optimum is known, without a feasible point, and whose objective has no end.
optimum, infeasible, unbounded = (
    partial(Truth, kind) for kind in (Kind.OPTIMUM, Kind.INFEASIBLE, Kind.UNBOUNDED)
)


def found_out(label: str, extra: str, *, certified: bool | None = True) -> Answer:
    """An answer of which the case itself knows whether it is wrong."""
    return Answer(label, Said(), Truth(Kind.POINT), extra, counted=certified)
