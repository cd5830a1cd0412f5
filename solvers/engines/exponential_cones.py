"""Clarabel's exponential cone for models with exp, log and entropy in convex places.

With K = {(u, v, t) : v > 0, v exp(u / v) <= t} and its closure, t is at least

    exp(p)                    (p, 1, t) in K
    -log(p)                   (-t, 1, p) in K
    p log(p)                  (-t, p, 1) in K
    log(sum_k c_k exp(p_k))   (p_k - t, 1, s_k) in K for all k, sum_k c_k s_k <= 1

for affine p. What comes back is a point; the kernel proves a bound from it (certificates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import refuse_huge_bounds
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Claim
from tightmargin.solvers.model.conic import Block, ConicForm, conic_form
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.exponential import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    ExponentialForm,
    Part,
    Term,
    exponential_form,
    rounded_shares,
)
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.scaling import ScaledConic, scaling

WORDS = "exp and log by Clarabel's exponential cone"
SMALL = 1e-8  # a share that is none, to rounding
LEAST = 1e-30  # in the place of 0 under a logarithm: p log(p) is 0 there, and 0 log(0) is no number
Slopes = tuple[int, Sequence[float]]  # number of a term, and its s in kernel/exponential.py
# An affine function: a number, and coefficients by column.
Affine = tuple[float, list[tuple[int, float]]]
ONE: Affine = (1.0, [])
DEFAULTS: Mapping[str, Any] = MappingProxyType({})


def why_not(form: StandardForm) -> str:
    """Why Clarabel's cones do not hold a model beyond degree two; empty where they do."""
    read = exponential_form(form)
    if read is None:
        return f"{form.nonlinear[0].name} is not quadratic"
    if form.integer.any():
        return "its exponential cone takes no integers beside it"
    if read.form.nonlinear:
        return f"{read.form.nonlinear[0].name} is not convex by the exponential cone"
    kind = classify(read.form)
    return "" if kind.convex else kind.reason


def run(form: StandardForm, limits: Limits, options: Mapping[str, Any] = DEFAULTS) -> Claim:
    """Solve a model for which `why_not` is empty; options of the limits override `options`."""
    refuse_huge_bounds("clarabel", form)
    read = exponential_form(form)
    assert read is not None
    scaled = _scaled(read)
    conic, size = _with_cones(scaled.conic, read), scaled.objective
    ours = replace(limits, options={**options, **limits.options})
    claim = clarabel.run_conic(conic, len(read.form.rows), ours)
    bound = None if claim.bound is None else claim.bound * size
    value = None if claim.objective is None else claim.objective * size
    message = f"{claim.message}, {WORDS}"
    claim = replace(claim, message=message, duals=None, farkas=None, bound=bound, objective=value)
    if claim.x is None:
        return claim
    x = scaled.point(claim.x[: read.form.n])
    inside = read.logarithms
    x[inside] = np.maximum(x[inside], LEAST)
    return replace(claim, x=x[read.columns])


def without_objective(form: StandardForm, limits: Limits) -> tuple[Array | None, list[Slopes]]:
    """A point over the columns of `exponential_form(form).form`, or slopes for a Farkas proof.

    The slopes are the duals of the exponential cones as affine minorants of the terms
    (kernel/exponential.py).
    """
    read = exponential_form(form)
    assert read is not None
    scaled = _scaled(read)
    conic = _with_cones(scaled.conic, read)
    free = replace(conic, P=0 * conic.P, q=0 * conic.q, offset=0.0)
    claim = clarabel.run_conic(free, len(read.form.rows), limits)
    if claim.farkas is not None:
        exps = [block for block in conic.blocks if block.kind == "exp"]
        return None, _slopes(read, [claim.farkas.cones[id(block.data)] for block in exps])
    return (None if claim.x is None else scaled.point(claim.x[: read.form.n])), []


def _slopes(read: ExponentialForm, z: list[Array]) -> list[Slopes]:
    """Slopes from multipliers (a, b, c) of the triples of `_cones`, the term's own scaled to 1."""
    slopes: list[Slopes] = []
    triples = iter(z)
    for number, term in enumerate(read.terms):
        a, b, c = np.transpose([next(triples) for _ in _cones(term, 0)[0]])
        if term.kind == EXP and c[0] > 0:
            slopes.append((number, [-a[0] / c[0]]))
        elif term.kind == LOG and a[0] < 0:
            slopes.append((number, [-c[0] / a[0]]))
        elif term.kind == ENTROPY and a[0] < 0:
            slopes.append((number, [b[0] / a[0]]))
        elif term.kind == SUM and a.sum() < 0:
            sizes = np.where(-a > SMALL * -a.sum(), -a, 0.0)
            slopes.append((number, rounded_shares(sizes).tolist()))
    return [(number, [float(each) for each in s]) for number, s in slopes]


def _scaled(read: ExponentialForm) -> ScaledConic:
    """The conic form without the terms, scaled but for the columns of terms: exponents are pure."""
    held = np.zeros(read.form.n, dtype=bool)
    held[[part.column for term in read.terms for part in term.parts if part.column >= 0]] = True
    held[[term.value for term in read.terms]] = True
    return scaling(read.form, held).conic(conic_form(read.form, classify(read.form)))


def _with_cones(conic: ConicForm, read: ExponentialForm) -> ConicForm:
    """The form with three rows for each cone, behind the rows and columns of shares s."""
    sums: list[Affine] = []
    triples: list[tuple[Affine, Affine, Affine]] = []
    n = read.form.n
    shares = 0
    for term in read.terms:
        more, count = _cones(term, n + shares)
        triples += more
        if count:
            mine = zip(term.parts, range(n + shares, n + shares + count), strict=True)
            sums.append((1.0, [(column, -part.c) for part, column in mine]))
        shares += count
    first, size = len(conic.b), n + shares
    affine = [*sums, *(part for triple in triples for part in triple)]
    rows = sp.coo_matrix(
        (
            [-v for _, terms in affine for _, v in terms],
            (
                [i for i, (_, terms) in enumerate(affine) for _ in terms],
                [j for _, terms in affine for j, _ in terms],
            ),
        ),
        shape=(len(affine), size),
    )
    nonneg = (Block("nonneg", first, len(sums)),) if sums else ()
    cones = (
        Block("exp", first + len(sums) + 3 * k, 3, data=triple) for k, triple in enumerate(triples)
    )
    wider = sp.csc_matrix((first, shares))
    return replace(
        conic,
        P=sp.block_diag([conic.P, sp.csc_matrix((shares, shares))], format="csc"),
        q=np.concatenate([conic.q, np.zeros(shares)]),
        A=sp.vstack([sp.hstack([conic.A, wider]), rows], format="csc"),
        b=np.concatenate([conic.b, [constant for constant, _ in affine]]),
        blocks=(*conic.blocks, *nonneg, *cones),
    )


def _cones(term: Term, first: int) -> tuple[list[tuple[Affine, Affine, Affine]], int]:
    """Triples of a term, and how many columns of shares they use from `first` on."""
    t: Affine = (0.0, [(term.value, 1.0)])
    below: Affine = (0.0, [(term.value, -1.0)])
    if term.kind == EXP:
        return [(_affine(term.parts[0]), ONE, t)], 0
    if term.kind == LOG:
        return [(below, ONE, _affine(term.parts[0]))], 0
    if term.kind == ENTROPY:
        return [(below, _affine(term.parts[0]), ONE)], 0
    lower = [(_affine(part)[0], [*_affine(part)[1], *below[1]]) for part in term.parts]
    share = [(0.0, [(first + k, 1.0)]) for k in range(len(term.parts))]
    return [(p, ONE, s) for p, s in zip(lower, share, strict=True)], len(term.parts)


def _affine(part: Part) -> Affine:
    return (0.0, [(part.column, part.sign)] if part.column >= 0 else [])
