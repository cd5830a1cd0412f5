"""Tangents of exp, log and entropy at a point and a little beside it, in floating point.

Nothing rests on these numbers: whatever slopes are given, the kernel says what may stand beside
them (solvers/proofs/exponential).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.exponential.affine_minorants import Slopes
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    ExponentialForm,
    Term,
    rounded_shares,
)

STEPS = (0.0, 2.0**-7, -(2.0**-7))  # of p, and of the size of p under a logarithm


def start_of(read: ExponentialForm, x: Array) -> Array:
    """The point of `read.form` at a point of the model, every term at its value, to rounding."""
    full = np.zeros(read.form.n)
    full[read.columns] = x
    return with_terms(read, full)


def with_terms(read: ExponentialForm, full: Array) -> Array:
    """The same of a point of `read.form` whose affine functions and terms may have other values."""
    full = full.copy()
    A = read.form.A
    for equation in read.equations:
        span = slice(A.indptr[equation.row], A.indptr[equation.row + 1])
        columns, numbers = A.indices[span], A.data[span]
        own = float(numbers[columns == equation.column][0])
        rest = float(read.form.row_lower[equation.row]) - float(numbers @ full[columns])
        full[equation.column] += rest / own
    for term in read.terms:
        full[term.value] = _value(term, full)
    return full


def _arguments(term: Term, x: Array) -> list[float]:
    return [part.sign * float(x[part.column]) if part.column >= 0 else 0.0 for part in term.parts]


def _value(term: Term, x: Array) -> float:
    p = _arguments(term, x)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if term.kind == EXP:
            return float(np.exp(p[0]))
        if term.kind == LOG:
            return float(-np.log(p[0]))
        if term.kind == ENTROPY:
            return float(p[0] * np.log(p[0])) if p[0] else 0.0
        top = max(p)
        shares = [part.c * math.exp(each - top) for part, each in zip(term.parts, p, strict=True)]
        return top + math.log(sum(shares))


def slopes_at(read: ExponentialForm, x: Array) -> list[Slopes]:
    """Slopes of the terms at a point and a little beside it."""
    return [slopes for number, term in enumerate(read.terms) for slopes in _of(number, term, x)]


def _of(number: int, term: Term, x: Array) -> Iterator[Slopes]:
    p = _arguments(term, x)
    if term.kind != SUM:
        for step in STEPS:
            yield number, [_slope(term.kind, p[0], step)]
        return
    yield number, _shares(term, p)
    for k in range(len(p) - 1):
        for step in STEPS[1:]:
            yield number, _shares(term, [*p[:k], p[k] + step, *p[k + 1 :]])


def outermost(read: ExponentialForm) -> list[Slopes]:
    """What is at both ends: exp(p) >= 0, a sum is at least each of its parts alone, and p >= 0.

    With them the limit of an objective is one of terms and of what they are of.
    """
    found: list[Slopes] = []
    for number, term in enumerate(read.terms):
        if term.kind == EXP:
            found.append((number, [0.0]))
        if term.kind == SUM:
            found += [(number, row) for row in np.eye(len(term.parts)).tolist()]
        if term.kind in (LOG, ENTROPY):
            found.append((number, []))
    return found


def around(read: ExponentialForm, slopes: Sequence[Slopes], step: float) -> list[Slopes]:
    """Slopes a little beside others: between those all slopes are to be had."""
    found: list[Slopes] = []
    for number, s in slopes:
        kind = read.terms[number].kind
        for way in (step, -step):
            if kind != SUM:
                size = max(abs(s[0]), 1.0) if kind == ENTROPY else s[0]
                found.append((number, [s[0] + way * size]))
                continue
            for k in range(len(s) - 1):
                other = np.array(s)
                other[k] = max(other[k] + way * max(other[k], step), 0.0)
                found.append((number, rounded_shares(other).tolist()))
    return found


def _slope(kind: str, p: float, step: float) -> float:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if kind == EXP:
            return float(np.exp(p + step))
        near = p * (1 + step)
        return float(1 / np.float64(near)) if kind == LOG else float(1 + np.log(near))


def _shares(term: Term, p: list[float]) -> list[float]:
    """c_k exp(p_k) over their sum, rounded so that they add up to 1 exactly."""
    top = max(p)
    sizes = np.array([part.c * math.exp(e - top) for part, e in zip(term.parts, p, strict=True)])
    return rounded_shares(sizes).tolist()
