"""Rays of models with exp and log, along which each column rises as fast as its term does at last.

The set of points above a convex term is closed, and from any of its points the same rays stay in
it: those along which the term's value rises at last by no more than its column,

    exp(p)      0 where p does not rise     log(sum_k c_k exp(p_k))     the largest rise of a p_k
    -log(p)     0 where p does not fall     p log(p)                    0 where p stays

and by more than any line elsewhere (Rockafellar, Convex Analysis, 1970, section 8). What is left is
a ray of a model without terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.exponential.points import completed
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.rays import as_floats, proven_unbounded
from tightmargin.solvers.proofs.statement import SEAL, Unbounded
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    ExponentialForm,
    Term,
    exponential_form,
)
from tightmargin.solvers.standard_form.standard_form import StandardForm


def proven_exponential_ray(form: StandardForm, x: Array, ray: Array) -> Unbounded | None:
    """A model whose objective falls along a ray from a point; None where these prove it not.

    Parameters
    ----------
    form : StandardForm
        Of the model as it stands.
    x, ray : arrays (n,)
        A point and a direction in its columns, taken as the exact numbers that they are.
    """
    read = exponential_form(form)
    if read is None or read.form.nonlinear or not (np.isfinite(x).all() and np.isfinite(ray).all()):
        return None
    full = np.zeros(read.form.n)
    full[read.columns] = x
    whole, d = completed(read, full), completed_ray(read, ray)
    if whole is None or d is None:
        return None
    point = proven_point(read.form, whole.x, whole.exact)
    unit = lcm(*(value.denominator for value in d))
    numbers = [int(value * unit) for value in d]
    found = None if point is None else proven_unbounded(read.form, point, numbers)
    if found is None:
        return None
    words = f"{found.words}, exp and log enclosed in rational numbers"
    along = as_floats([numbers[k] for k in read.columns.tolist()])
    return Unbounded(subject=form, words=words, seal=SEAL, x=found.x[read.columns], ray=along)


def completed_ray(read: ExponentialForm, ray: Array) -> list[Fraction] | None:
    """A direction of `read.form`, each term's column rising as it must; None where a term ends it.

    Parameters
    ----------
    ray : array (n,)
        In the columns of the model.
    """
    d = dict(zip(read.columns.tolist(), map(Fraction, ray.tolist()), strict=True))
    for equation in read.equations:
        span = slice(*read.form.A.indptr[equation.row : equation.row + 2].tolist())
        columns, numbers = read.form.A.indices[span].tolist(), read.form.A.data[span].tolist()
        entries = {j: Fraction(a) for j, a in zip(columns, numbers, strict=True)}
        own = entries.pop(equation.column)
        rest = sum((a * d[j] for j, a in entries.items()), Fraction(0))
        d[equation.column] = -rest / own
    for term in read.terms:
        rise = _rise(term, d)
        if rise is None:
            return None
        d[term.value] = rise
    return [d[j] for j in range(read.form.n)]


def _rise(term: Term, d: Mapping[int, Fraction]) -> Fraction | None:
    p = [Fraction(part.sign) * d.get(part.column, Fraction(0)) for part in term.parts]
    stays = {EXP: p[0] <= 0, LOG: p[0] >= 0, ENTROPY: p[0] == 0}.get(term.kind)
    if stays is None:
        return max(p)
    return Fraction(0) if stays else None
