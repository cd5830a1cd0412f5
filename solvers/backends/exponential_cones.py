"""Clarabel's exponential cone for models with exp, log and entropy in convex places.

What comes back is a claim: no bound of such a model is proven here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.repn import generate_standard_repn

from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.base import refuse_huge_bounds
from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.canonical_form.conic_form import Block, ConicForm, conic_form
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.standard_form import StandardForm, standard_form
from tightmargin.solvers.transformations.exponentials import (
    Rewritten,
    mentions_exponential,
    without_exponentials,
)

WORDS = "exp and log by Clarabel's exponential cone"
LEAST = 1e-30  # in the place of 0 under a logarithm: p log(p) is 0 there, and 0 log(0) is no number


@dataclass(frozen=True, eq=False)
class _Read:
    """The copy without exp and log, read."""

    rewritten: Rewritten
    form: StandardForm
    classification: Classification


def why_not(form: StandardForm) -> str:
    """Why Clarabel's cones do not hold a model beyond degree two; empty where they do."""
    if not mentions_exponential(form.nonlinear):
        return f"{form.nonlinear[0].name} is not quadratic"
    if form.integer.any():
        return "its exponential cone takes no integers beside it"
    found = _read(form)
    if found.form.nonlinear:
        name = found.form.nonlinear[0].name
        return f"{name} is not convex by the exponential cone"
    return "" if found.classification.convex else found.classification.reason


def _read(form: StandardForm) -> _Read:
    rewritten = without_exponentials(form.nonlinear[0].model(), form.nonlinear)
    plain = standard_form(rewritten.model)
    return _Read(rewritten, plain, classify(plain))


def run(form: StandardForm, limits: Limits) -> Claim:
    """Solve a model for which `why_not` has nothing to say."""
    refuse_huge_bounds("clarabel", form)
    read = _read(form)
    columns = {read.form.columns.name(k): k for k in range(read.form.n)}
    conic = _with_triples(conic_form(read.form, read.classification), read, columns)
    claim = clarabel.run_conic(conic, len(read.form.rows), limits)
    message = f"{claim.message}, {WORDS}" if claim.message else WORDS
    claim = replace(claim, message=message, duals=None, farkas=None)
    if claim.x is None:
        return claim
    at = [columns[form.columns.name(k)] for k in range(form.n)]
    x = claim.x.copy()
    for variable in read.rewritten.positive:
        if variable.name in columns:
            x[columns[variable.name]] = max(x[columns[variable.name]], LEAST)
    return replace(claim, x=x[at])


def _with_triples(conic: ConicForm, read: _Read, columns: dict[str, int]) -> ConicForm:
    """The form with a block of three rows for each triple."""
    entries: list[tuple[int, int, float]] = []
    sides: list[float] = []
    blocks: list[Block] = []
    first = len(conic.b)
    for triple in read.rewritten.triples:
        blocks.append(Block("exp", first + len(sides), 3))
        for part in triple:
            constant, terms = _affine(part)
            entries += [(len(sides), columns[name], -number) for name, number in terms]
            sides.append(constant)
    rows = sp.coo_matrix(
        ([v for *_, v in entries], ([i for i, *_ in entries], [j for _, j, _ in entries])),
        shape=(len(sides), conic.A.shape[1]),
    )
    return replace(
        conic,
        A=sp.vstack([conic.A, rows], format="csc"),
        b=np.concatenate([conic.b, sides]),
        blocks=(*conic.blocks, *blocks),
    )


def _affine(e: Any) -> tuple[float, list[tuple[str, float]]]:
    """Constant and (variable, coefficient) pairs."""
    repn = generate_standard_repn(e, quadratic=False)
    pairs = zip(repn.linear_vars, repn.linear_coefs, strict=True)
    return float(pyo.value(repn.constant)), [(v.name, float(pyo.value(c))) for v, c in pairs]
