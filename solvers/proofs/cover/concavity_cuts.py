"""Concavity cuts (Tuy) that leave nothing of a polytope, each checked in rational arithmetic.

Let a_j'x >= b_j, j = 1..n, be independent rows of the polytope or cuts before. With v where all are
tight and d_j where a_j'd_j = 1 and the others stay tight, v + cone(d_1..d_n) holds everything that
is left. A cut  normal'x >= side  with  normal'v < side  and  normal'd_j > 0  removes from the cone
no more than the simplex of v and the points where the rays meet it; where a concave function is at
least gamma at these n + 1 points, it is so on all that is removed. Once a Farkas vector proves that
nothing is left, it is at least gamma on the whole polytope.

    objective    f >= gamma on the polytope: gamma is a lower bound
    row h >= 0   h < 0 on the part of the polytope where the linear objective is at most gamma:
                 then gamma is a lower bound too

The function is the squares of squares.py, which is concave as it is written whatever the numbers;
what the model has besides is bounded over the limits of the columns and taken off.

Facial cuts among them remove no corner of the polytope (facial_cuts.py), and the function is least
at a corner: at one that a concavity cut removed, since none is left.

After Tuy, Concave programming under linear constraints (Soviet Mathematics 5, 1964).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.solvers.exact_arithmetic import dyadic, rounded_down, scaled, solve_exactly
from tightmargin.solvers.proofs.cover.facial_cuts import FacialCut, keeps_corners
from tightmargin.solvers.proofs.cover.linear_limits import (
    Limit,
    LinearLimit,
    linear,
    proven_limits,
)
from tightmargin.solvers.proofs.cover.more_rows import with_rows
from tightmargin.solvers.proofs.cover.sides import COLUMN, CUT, CUTOFF, ROW, Side
from tightmargin.solvers.proofs.cover.squares import Directions, Squares, squares_of
from tightmargin.solvers.proofs.farkas import of_size_1, proven_infeasible
from tightmargin.solvers.proofs.statement import SEAL, LowerBound, relaxed
from tightmargin.solvers.standard_form.standard_form import StandardForm

METHOD = "concavity cuts that leave nothing, each checked in rational arithmetic"
LARGEST = 40  # columns up to which cuts are checked


@dataclass(frozen=True, eq=False)
class ConcavityCut:
    """normal'x >= side, at the vertex where the inequalities of `basis` are tight."""

    basis: tuple[Side, ...]
    normal: Array
    side: float


@dataclass(frozen=True, eq=False)
class CutSequence:
    """Cuts in their order, and what proves that they leave nothing; any numbers.

    Attributes
    ----------
    directions : Directions
    limits : tuple of LinearLimit and SquareLimit
        From which limits of columns are proven, where squares leave something of the model.
    part : int
        0 for the objective, 1 for the first reverse convex row of the directions, and so on.
    gamma : float
    cuts : tuple of ConcavityCut and FacialCut
    multipliers : array
        A Farkas vector over linear rows, cuts and the cutoff, in this order, as they are written.
    """

    directions: Directions
    limits: tuple[Limit, ...]
    part: int
    gamma: float
    cuts: tuple[ConcavityCut | FacialCut, ...]
    multipliers: Array


def cuts_bound(form: StandardForm, sequence: CutSequence) -> LowerBound | None:
    """The lower bound that cuts prove; None where one of them may remove something better."""
    squares = squares_of(form, sequence.directions)
    part, gamma = sequence.part, sequence.gamma
    if squares is None or form.n > LARGEST or not 0 <= part <= len(squares.constants):
        return None
    if not (isinstance(gamma, float) and math.isfinite(gamma)):
        return None
    # Not concave; and no linear row that could be a cutoff.
    curved = part > 0 and (form.objective.Q.nnz or squares.weights[0].any())
    if (squares.weights[part] < 0).any() or curved:
        return None
    if not all(_is_plain(cut, form.n) for cut in sequence.cuts):
        return None
    columns, _ = proven_limits(form, squares, sequence.limits)
    size = np.maximum(np.abs(columns[0]), np.abs(columns[1]))
    excess = float(squares.excess_within(size)[part])
    if not math.isfinite(excess):
        return None
    # Of a row the squares have to be below 0 by more than what they leave; of the objective what
    # they leave is taken off the bound.
    function = _Function(squares, part)
    level = Fraction(gamma) if part == 0 else Fraction(excess)
    if any(isinstance(cut, FacialCut) for cut in sequence.cuts) and not _is_bounded(
        form, squares, sequence.limits
    ):
        return None
    numbers = range(len(sequence.cuts))
    if not all(_may_be_made(form, sequence, k, function, level) for k in numbers):
        return None
    if not _leave_nothing(form, sequence):
        return None
    value = Fraction(gamma) - (Fraction(excess) if part == 0 else 0)
    words = f"{METHOD}, {count_text(len(sequence.cuts), 'cut')}{relaxed(form)}"
    return LowerBound(subject=form, words=words, seal=SEAL, varying=rounded_down(value))


def _is_bounded(form: StandardForm, squares: Squares, limits: tuple[Limit, ...]) -> bool:
    """Whether linear rows alone limit all columns.

    A polytope without ends need not have its least value at a corner, and a convex row that limits
    the columns makes no polytope of it: its points are no mixtures of corners.
    """
    of_rows = tuple(limit for limit in limits if isinstance(limit, LinearLimit))
    columns, _ = proven_limits(form, squares, of_rows)
    return bool(np.isfinite(np.concatenate(columns)).all())


class _Function:
    """The concave function in rational numbers: f of the objective, or -h of a row."""

    def __init__(self, squares: Squares, part: int) -> None:
        sign = 1 if part == 0 else -1
        self.strict = part > 0
        self.line = [sign * Fraction(a) for a in squares.linear[part].tolist()]
        self.constant = Fraction(0)
        if part:
            self.constant = -sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(0))
        used = np.flatnonzero(squares.weights[part])
        self.weights = [Fraction(p) for p in squares.weights[part][used].tolist()]
        self.vectors = [
            [Fraction(v) for v in column] for column in squares.vectors.T[used].tolist()
        ]

    def reaches(self, x: Sequence[Fraction], level: Fraction) -> bool:
        """Whether the function is at least, or for a row above, a level."""
        value = self.constant + _dot(self.line, x)
        for weight, vector in zip(self.weights, self.vectors, strict=True):
            value -= weight * _dot(vector, x) ** 2
        return value > level if self.strict else value >= level


def _dot(a: Sequence[Fraction], x: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, x, strict=True) if p and q), Fraction(0))


def _is_plain(cut: ConcavityCut | FacialCut, n: int) -> bool:
    known = cut.normal.shape == (n,) and cut.normal.dtype == np.float64
    return known and bool(np.isfinite(cut.normal).all()) and isinstance(cut.side, float) and (
        math.isfinite(cut.side)
    )  # fmt: skip


def _inequality(
    form: StandardForm, sequence: CutSequence, before: int, side: Side
) -> tuple[Array, float] | None:
    """a and b of a'x >= b, if it is one that holds before a cut."""
    k, sign, n = side.number, side.sign, form.n
    if type(k) is not int or k < 0 or sign not in (-1, 1):
        return None
    if side.kind == ROW and k < len(form.rows):
        end = form.row_lower[k] if sign == 1 else form.row_upper[k]
        line = form.A[k].toarray().ravel()
    elif side.kind == COLUMN and k < n:
        end = form.lower[k] if sign == 1 else form.upper[k]
        line = np.eye(1, n, k).ravel()
    elif side.kind == CUT and k < before and sign == 1:
        end, line = sequence.cuts[k].side, sequence.cuts[k].normal
    elif side.kind == CUTOFF and sequence.part and sign == -1:
        end, line = sequence.gamma, form.objective.a
    else:
        return None
    return (sign * line, sign * float(end)) if math.isfinite(end) else None


def _removes_nothing_better(
    form: StandardForm, sequence: CutSequence, number: int, cut: ConcavityCut,
    function: _Function, level: Fraction,
) -> bool:  # fmt: skip
    n = form.n
    found = [_inequality(form, sequence, number, side) for side in cut.basis]
    rows = [each for each in found if each is not None]
    if len(rows) != n or len(found) != n:
        return False
    # Row j in whole numbers is a_j times 2^-e_j; the rays are scaled by as much, which keeps them.
    matrix, units = [], []
    for line, _ in rows:
        exact = dyadic(line)
        matrix.append(exact.integers)
        units.append(scaled(1, -exact.exponent))
    right = [Fraction(b) * unit for (_, b), unit in zip(rows, units, strict=True)]
    vertex = solve_exactly(matrix, right)
    normal, side = [Fraction(a) for a in cut.normal.tolist()], Fraction(cut.side)
    if vertex is None:
        return False
    missing = side - _dot(normal, vertex)
    if missing <= 0 or not function.reaches(vertex, level):
        return False
    for j in range(n):
        ray = solve_exactly(matrix, [Fraction(int(i == j)) for i in range(n)])
        along = Fraction(0) if ray is None else _dot(normal, ray)
        if ray is None or along <= 0:
            return False
        end = [v + missing / along * d for v, d in zip(vertex, ray, strict=True)]
        if not function.reaches(end, level):
            return False
    return True


def _may_be_made(
    form: StandardForm, sequence: CutSequence, number: int, function: _Function, level: Fraction
) -> bool:
    cut = sequence.cuts[number]
    if isinstance(cut, FacialCut):
        return _keeps_corners(form, sequence, number, cut)
    return _removes_nothing_better(form, sequence, number, cut, function, level)


def _keeps_corners(form: StandardForm, sequence: CutSequence, number: int, cut: FacialCut) -> bool:
    """Whether a facial cut removes no corner that the cuts before it have kept."""
    program, m, cutoff = _with_cuts(form, sequence, number), len(form.rows), sequence.part > 0
    program = linear(program)
    others = tuple((side, _of_unit(form, sequence, y)) for side, y in cut.others)
    place = {Side(CUT, k, 1): m + k for k in range(number)}
    if cutoff:
        place[Side(CUTOFF, 0, -1)] = m + number
    return keeps_corners(program, replace(cut, others=others), m, cutoff, place)


def _leave_nothing(form: StandardForm, sequence: CutSequence) -> bool:
    rest, unit = _with_cuts(form, sequence, len(sequence.cuts)), _unit(form)
    known = sequence.multipliers.shape == (len(rest.rows),)
    if not known or (sequence.part and unit * sequence.gamma / unit != sequence.gamma):
        return False
    found = of_size_1(_of_unit(form, sequence, sequence.multipliers))
    return proven_infeasible(rest, found) is not None


def _with_cuts(form: StandardForm, sequence: CutSequence, count: int) -> StandardForm:
    """The linear rows of a model with the first cuts, and with the cutoff where there is one."""
    lines = [cut.normal for cut in sequence.cuts[:count]]
    low = [cut.side for cut in sequence.cuts[:count]]
    high = [math.inf] * len(lines)
    if sequence.part:
        unit = _unit(form)
        lines.append(unit * form.objective.a)
        low.append(-math.inf)
        high.append(unit * sequence.gamma)
    rows = with_rows(form, np.array(lines).reshape(-1, form.n), low, high, CUT)
    return replace(rows, quadratic=())


def _unit(form: StandardForm) -> float:
    """The power of 2 that makes the largest cost about 1.

    What a row has to be missed by to count is absolute, and a cutoff is in the objective's units.
    """
    return math.ldexp(1.0, -math.frexp(float(np.abs(form.objective.a).max(initial=0.0)))[1])


def _of_unit(form: StandardForm, sequence: CutSequence, y: Array) -> Array:
    """Multipliers of which the last is one of the cutoff, of the cutoff in that unit."""
    return np.append(y[:-1], y[-1:] / _unit(form)) if sequence.part else y
