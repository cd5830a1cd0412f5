"""Quadratic functions of the columns of a model: negated, subtracted, moved to other columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.standard_form.polynomial import Key
from tightmargin.solvers.standard_form.quadratic import Quadratic

Lost = Mapping[Key, Fraction]


def column(n: int, j: int) -> Quadratic:
    """The function x_j."""
    a = np.zeros(n)
    a[j] = 1.0
    return linear(a)


def linear(a: Array) -> Quadratic:
    """The function a'x."""
    return Quadratic(sp.csr_matrix((len(a), len(a))), a, 0.0)


def minus(new: Quadratic, old: Quadratic) -> Quadratic | None:
    """The difference of two functions, None where a coefficient of it is no double."""
    found = Quadratic((new.Q - old.Q).tocsr(), new.a - old.a, new.constant - old.constant)
    for difference, after, before in _coefficients(found, new, old):
        if Fraction(difference) != Fraction(after) - Fraction(before):
            return None
    lost = [{**goal.lost, (): goal.lost.get((), 0) + goal.rest} for goal in (new, old)]
    return _with_lost(found, *lost)


def _with_lost(found: Quadratic, new: Lost, old: Lost) -> Quadratic | None:
    """A difference of doubles and that of what they lack; None where it is no double."""
    if new == old:
        return found
    Q, a, constant = found.Q.tolil(), found.a.copy(), found.constant
    for key in new.keys() | old.keys():
        more = new.get(key, Fraction(0)) - old.get(key, Fraction(0))
        number = constant if not key else float(a[key]) if len(key) == 1 else float(Q[key])
        share = 2 if len(key) == 2 and key[0] != key[1] else 1
        total = Fraction(number) + more / share
        if Fraction(float(total)) != total:
            return None
        if not key:
            constant = float(total)
        elif len(key) == 1:
            a[key] = float(total)
        else:
            Q[key] = Q[key[::-1]] = float(total)
    Q = Q.tocsr()
    Q.eliminate_zeros()
    return Quadratic(Q, a, constant)


def _coefficients(
    found: Quadratic, new: Quadratic, old: Quadratic
) -> Iterator[tuple[float, float, float]]:
    """Every coefficient of a difference that is not 0, and those that it comes from."""
    Q = found.Q.tocoo()
    for i, j, v in zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True):
        yield v, float(new.Q[i, j]), float(old.Q[i, j])
    for j in np.flatnonzero(found.a).tolist():
        yield float(found.a[j]), float(new.a[j]), float(old.a[j])
    yield found.constant, new.constant, old.constant


def negative(goal: Quadratic) -> Quadratic:
    """The function with the other sign."""
    return Quadratic(-goal.Q, -goal.a, -goal.constant)


def moved(goal: Quadratic, place: Index, n: int) -> Quadratic | None:
    """A function over other columns; None where one of its variables is not among them."""
    Q = goal.Q.tocoo()
    used = np.unique(np.concatenate([np.flatnonzero(goal.a), Q.row, Q.col]).astype(np.int64))
    if (place[used] < 0).any():
        return None
    a = np.zeros(n)
    columns = np.flatnonzero(goal.a)
    a[place[columns]] = goal.a[columns]
    there = sp.csr_matrix((Q.data, (place[Q.row], place[Q.col])), shape=(n, n))
    lost = {tuple(sorted(int(place[j]) for j in key)): v for key, v in goal.lost.items()}
    return replace(goal, Q=there, a=a, lost=lost)
