"""Facial cuts (Majthay & Whinston 1974) in exact arithmetic: no corner of a polytope is lost.

A cut normal'x >= side removes no corner of P that the cuts so far, M, have kept, if there is a set
I of inequalities of P that pins no point, their rank being less than the dimension, and every other
inequality i has

    normal'x >= side   on   P, M and {inequality i is tight}.

For at a corner some inequality outside of I is tight. Where P is bounded and a concave function is
at least gamma at every corner that concavity cuts removed, nothing being left means gamma on all of
P: the corners are where it is least. See Majthay & Whinston, Quasi-concave minimization subject to
linear constraints (Discrete Mathematics 9, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cover.linear_limits import exact_least
from tightmargin.solvers.proofs.cover.sides import COLUMN, ROW, Side
from tightmargin.solvers.proofs.farkas import of_size_1, proven_infeasible
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class FacialCut:
    """normal'x >= side, and what proves that no corner is lost; any numbers.

    Attributes
    ----------
    tight : tuple of Side
        I of the module's docstring.
    others : tuple of (Side, array)
        Every other inequality of P, with multipliers over linear rows, cuts so far and the cutoff:
        of the bound, or a Farkas vector where nothing is tight there.
    """

    tight: tuple[Side, ...]
    normal: Array
    side: float
    others: tuple[tuple[Side, Array], ...]


def inequalities(program: StandardForm, rows: int, cutoff: bool) -> set[tuple[str, int, int]]:
    """Every finite side of a polytope: of its first rows, its columns, and its last row.

    Parameters
    ----------
    program : StandardForm
        Linear rows, cuts behind them, and the cutoff as the last row if there is one.
    rows : int
        How many rows are no cuts.
    """
    found = set()
    for kind, ends, sign in (
        (ROW, program.row_lower[:rows], 1), (ROW, program.row_upper[:rows], -1),
        (COLUMN, program.lower, 1), (COLUMN, program.upper, -1),
    ):  # fmt: skip
        found |= {(kind, k, sign) for k in np.flatnonzero(np.isfinite(ends)).tolist()}
    if cutoff:
        found.add((ROW, len(program.rows) - 1, -1))
    return found


def keeps_corners(
    program: StandardForm, cut: FacialCut, rows: int, cutoff: bool, place: dict[Side, int]
) -> bool:
    """Whether a facial cut removes no corner of P that is left.

    Parameters
    ----------
    program, rows, cutoff
        As of `inequalities`, with the cuts before this one.
    place : mapping
        Rows of the program by their sides, for those that are no rows of the model.
    """

    def known(side: Side) -> tuple[str, int, int] | None:
        if side.kind in (ROW, COLUMN):
            return side.kind, side.number, side.sign
        return (ROW, place[side], side.sign) if side in place else None

    missing = inequalities(program, rows, cutoff)
    tight = [known(side) for side in cut.tight]
    lines = [_line(program, each) for each in tight if each in missing]
    if len(lines) != len(tight) or _rank(lines) >= program.n:
        return False
    missing -= set(tight)
    goal = Quadratic(sp.csr_matrix((program.n, program.n)), cut.normal, 0.0)
    for side, multipliers in cut.others:
        other = known(side)
        if other in missing and other is not None and multipliers.shape == (len(program.rows),):
            held = _held(replace(program, objective=goal), other)
            least = exact_least(held, multipliers)
            if (least is not None and least >= Fraction(cut.side)) or (
                proven_infeasible(held, of_size_1(multipliers)) is not None
            ):
                missing.discard(other)
    return not missing


def _line(program: StandardForm, side: tuple[str, int, int] | None) -> list[Fraction]:
    assert side is not None
    kind, number, _ = side
    line = program.A[number].toarray().ravel() if kind == ROW else np.eye(1, program.n, number)[0]
    return [Fraction(a) for a in line.tolist()]


def _rank(lines: Sequence[list[Fraction]]) -> int:
    """Rank, by elimination."""
    left, rank = [list(line) for line in lines], 0
    width = len(left[0]) if left else 0
    for column in range(width):
        pivot = next((k for k in range(rank, len(left)) if left[k][column]), None)
        if pivot is None:
            continue
        left[rank], left[pivot] = left[pivot], left[rank]
        for k in range(rank + 1, len(left)):
            factor = left[k][column] / left[rank][column]
            if factor:
                left[k] = [a - factor * b for a, b in zip(left[k], left[rank], strict=True)]
        rank += 1
    return rank


def _held(program: StandardForm, side: tuple[str, int, int]) -> StandardForm:
    """The program with an inequality made an equation."""
    kind, number, sign = side
    names = ("row_lower", "row_upper") if kind == ROW else ("lower", "upper")
    low, high = (getattr(program, name).copy() for name in names)
    if sign == 1:
        high[number] = low[number]
    else:
        low[number] = high[number]
    return replace(program, **{names[0]: low, names[1]: high})
