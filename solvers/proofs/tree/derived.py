"""Limits and rows that every point of objective at most U meets, each proven by the ones before.

A step is a use of the inequality of minorant.py with a direction g:

    limit     g = +-e_j: a limit of one column, rounded to a whole number where it is integer
    row       g = -a: a row a'x <= b
    switch    a row a'x + c s <= b with a binary s, proven end by end: at one value of s by a row
              that is there already, at the other by the inequality in that half of the box. So the
              large M of a row that s switches off becomes as small as the cutoff allows

The steps of one round rest on what was there before the round, so that their order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import Block, ConicForm, without_own_bounds
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.tree.minorant import SparseMultipliers, minorant
from tightmargin.solvers.proofs.tree.rows import Rows


@dataclass(frozen=True, eq=False)
class DerivedLimit:
    """x_j >= value for sign = 1, x_j <= value for sign = -1."""

    column: int
    sign: int
    value: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class DerivedRow:
    """a'x <= side."""

    a: Array
    side: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class SwitchedRow:
    """a'x <= side, of which row `old` is the same but for the coefficient of a binary column.

    Attributes
    ----------
    at : int
        0 or 1: the value of the binary for which the multipliers prove it; for the other one the
        old row does.
    """

    a: Array
    side: float
    old: int
    column: int
    at: int
    multipliers: SparseMultipliers


Step = DerivedLimit | DerivedRow | SwitchedRow


def first_rows(subject: Subject, cutoff: float) -> Rows | None:
    """Rows of a model whose relaxation is convex, and limits at points of objective <= `cutoff`.

    None for any other model.
    """
    kind, form = subject.classification, subject.form
    if not kind.relaxes_to_convex or kind.curvature is None:
        return None
    conic, _ = without_own_bounds(subject.conic, np.zeros(len(subject.conic.b)))
    reach = subject.reach(cutoff)
    low = np.where(form.integer, np.ceil(reach.low), reach.low)
    high = np.where(form.integer, np.floor(reach.high), reach.high)
    return Rows(conic, low, high, kind.curvature, kind.readings, form.integer)


def binary(subject: Subject, rows: Rows) -> NDArray[np.bool_]:
    """Which columns are 0 or 1 at every point that matters."""
    return subject.form.integer & (rows.low >= 0) & (rows.high <= 1)


def holds(subject: Subject, rows: Rows, step: Step, cutoff: float) -> bool:
    """Whether a step is proven for every point of objective at most `cutoff`."""
    if not (isinstance(cutoff, float) and _is_plain(step, len(rows.low))):
        return False
    match step:
        case DerivedLimit():
            return _limit_holds(subject, rows, step, cutoff)
        case DerivedRow():
            top = most(rows, step.a, step.multipliers, cutoff, rows.low, rows.high)
            return math.isfinite(step.side) and top <= step.side
        case SwitchedRow():
            return _switch_holds(subject, rows, step, cutoff)


def _is_plain(step: Step, n: int) -> bool:
    """Whether the numbers of a step are doubles and its places whole numbers.

    Arithmetic with narrower numbers rounds to those, and with whole ones may wrap around.
    """
    match step:
        case DerivedLimit(column=column, sign=sign, value=value):
            return type(column) is type(sign) is int and isinstance(value, float)
        case SwitchedRow(old=old, column=column, at=at):
            if not type(old) is type(column) is type(at) is int:
                return False
    known = step.a.shape == (n,) and step.a.dtype == np.float64 and np.isfinite(step.a).all()
    return bool(known) and isinstance(step.side, float)


def _limit_holds(subject: Subject, rows: Rows, step: DerivedLimit, cutoff: float) -> bool:
    if step.sign not in (-1, 1) or not 0 <= step.column < len(rows.low):
        return False
    along = np.zeros(len(rows.low))
    along[step.column] = -step.sign
    # sign x_j is at least this, and a whole number is at least the next one.
    least = -most(rows, along, step.multipliers, cutoff, rows.low, rows.high)
    if subject.form.integer[step.column] and math.isfinite(least):
        least = float(math.ceil(least))
    return step.sign * step.value <= least


def _switch_holds(subject: Subject, rows: Rows, step: SwitchedRow, cutoff: float) -> bool:
    j, conic = step.column, rows.conic
    if not (0 <= j < len(rows.low) and binary(subject, rows)[j] and step.at in (0, 1)):
        return False
    if not (0 <= step.old < len(conic.b) and _is_inequality(conic, step.old)):
        return False
    if step.a.shape != rows.low.shape or not np.isfinite(step.a).all():
        return False
    old = rows.lines[step.old].toarray().ravel()
    other = 1 - step.at
    same = old == step.a
    same[j] = True
    if not same.all() or not math.isfinite(step.side):
        return False
    left = Fraction(float(conic.b[step.old])) - Fraction(float(old[j])) * other
    if Fraction(step.side) - Fraction(float(step.a[j])) * other < left:
        return False
    low, high = rows.low.copy(), rows.high.copy()
    low[j] = high[j] = step.at
    bare = step.a.copy()
    bare[j] = 0.0
    top = most(rows, bare, step.multipliers, cutoff, low, high)
    room = Fraction(step.side) - Fraction(float(step.a[j])) * step.at
    return math.isfinite(top) and Fraction(top) <= room


def _is_inequality(conic: ConicForm, row: int) -> bool:
    return any(b.kind == "nonneg" and b.start <= row < b.start + b.size for b in conic.blocks)


def most(
    rows: Rows, a: Array, multipliers: SparseMultipliers, cutoff: float, low: Array, high: Array
) -> float:
    """The most that a'x can be in a box at points of objective at most `cutoff`, rounded up.

    Infinity where the multipliers prove nothing.
    """
    if a.shape != rows.low.shape or not np.isfinite(a).all():
        return math.inf
    found = minorant(rows, multipliers, -a)
    mu = multipliers.mu
    if found is None or not (math.isfinite(cutoff) or mu == 0):
        return math.inf
    least = found.least(low, high)
    if not math.isfinite(least):
        return math.inf
    price = mu * cutoff if mu else 0.0
    total = price - least
    slack = 4 * UNIT * (abs(price) + abs(least)) + 2.0**-1070
    return math.nextafter(total + slack, math.inf) if mu else -least


def joined(rows: Rows, steps: Sequence[Step]) -> Rows:
    """The rows and limits with those of steps that hold."""
    low, high = rows.low.copy(), rows.high.copy()
    lines: list[Array] = []
    sides: list[float] = []
    for step in steps:
        match step:
            case DerivedLimit(column=j, sign=1, value=value):
                low[j] = max(low[j], value)
            case DerivedLimit(column=j, value=value):
                high[j] = min(high[j], value)
            case DerivedRow() | SwitchedRow():
                lines.append(step.a)
                sides.append(step.side)
    return replace(rows, conic=_longer(rows.conic, lines, sides), low=low, high=high)


def _longer(conic: ConicForm, lines: Sequence[Array], sides: Sequence[float]) -> ConicForm:
    if not lines:
        return conic
    block = Block("nonneg", len(conic.b), len(lines))
    added = sp.csc_matrix(np.array(lines))
    return replace(
        conic,
        A=sp.vstack([conic.A, added], format="csc"),
        b=np.concatenate([conic.b, sides]),
        blocks=(*conic.blocks, block),
    )
