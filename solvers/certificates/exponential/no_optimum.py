"""What may prove that a model with exp and log has no point, or no least value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import exponential_cones
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.exponential.tangents import around, outermost
from tightmargin.solvers.exact.unboundedness import unboundedness_proof
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.exponential.affine_minorants import Minorised, minorised
from tightmargin.solvers.proofs.exponential.points import completed
from tightmargin.solvers.proofs.exponential.rays import proven_exponential_ray
from tightmargin.solvers.proofs.statement import Unbounded
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.standard_form.columns import Rows
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    ExponentialForm,
    Term,
    exponential_form,
)
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Slopes beyond these are those at the ends to rounding, and HiGHS takes no such coefficients.
LEAST, MOST = 1e-8, 1e8
BESIDE = (2.0**-6, 2.0**-11, 2.0**-16)
Entry = tuple[int, float]


def empty_relaxations(case: Case) -> Iterator[tuple[Minorised, Case]]:
    """The model with affine functions near those of a Farkas vector: they may have no point.

    Nearer ones say more, and leave multipliers less room to be repaired.
    """
    read = _read(case)
    if read is None:
        return
    _, told = exponential_cones.without_objective(case.form, _limits(case))
    slopes = [
        (number, [v if abs(v) >= LEAST else 0.0 for v in s])
        for number, s in told
        if max(map(abs, s)) <= MOST
    ]
    for step in BESIDE:
        proof = minorised(case.form, [*outermost(read), *around(read, slopes, step)])
        if proof is None:
            return
        yield proof, Case(read.model, Subject(proof.form), None, case.limits)


def falling_ray(case: Case) -> Unbounded | None:
    """A point and a ray along which the objective falls for ever; None where none is found."""
    read = _read(case)
    if read is None or not SOLVERS["highs"].installed:
        return None
    x, _ = exponential_cones.without_objective(case.form, _limits(case))
    whole = None if x is None else completed(read, x)
    if whole is None:
        return None
    way = unboundedness_proof(_within_terms(read, whole.x), case.limits)
    if way is None:
        return None
    x, ray = way.x[read.columns], way.ray[read.columns]
    return proven_exponential_ray(case.form, x, ray)


def _read(case: Case) -> ExponentialForm | None:
    read = exponential_form(case.form) if case.form.nonlinear else None
    if read is None or read.form.nonlinear or not SOLVERS["clarabel"].installed:
        return None
    return read if Subject(read.form).classification.relaxes_to_convex else None


def _limits(case: Case) -> Limits:
    return Limits(time_limit=case.limits.time_limit, threads=case.limits.threads)


def _within_terms(read: ExponentialForm, at: Array) -> StandardForm:
    """The model with rows that keep each column above its term, as far as a point allows.

    Its rays are those of the model: exp(p) is at most what it is at the point where p is no larger,
    -log(p) where p is no smaller, and log(sum_k c_k exp(p_k)) is at most max p_k + log(sum_k c_k).
    """
    rows = [row for term in read.terms for row in _rows(term, at)]
    form, m = read.form, len(read.form.rows)
    entries = [(i, j, v) for i, (row, _, _) in enumerate(rows) for j, v in row]
    i, j, v = (np.array([entry[k] for entry in entries]) for k in range(3))
    more = sp.csr_matrix((v, (i.astype(int), j.astype(int))), shape=(len(rows), form.n))
    names = Labels(
        ("", form.rows, np.arange(m)),
        ("", Listed([f"inside {k}" for k in range(len(rows))]), np.arange(len(rows))),
    )
    return replace(
        form,
        matrix=sp.vstack([form.A, more], format="csr"),
        row_lower=np.concatenate([form.row_lower, [low for _, low, _ in rows]]),
        row_upper=np.concatenate([form.row_upper, [high for _, _, high in rows]]),
        rows=cast(Rows, names),
    )


def _rows(term: Term, at: Array) -> list[tuple[list[Entry], float, float]]:
    t, above = term.value, np.inf
    if term.kind == SUM:
        total = float(np.log(sum(part.c for part in term.parts))) + 1e-12
        own = [[(t, 1.0), (p.column, -p.sign)] for p in term.parts if p.column >= 0]
        constant = [[(t, 1.0)] for part in term.parts if part.column < 0]
        return [(row, total, above) for row in (*own, *constant)]
    found: list[tuple[list[Entry], float, float]] = [([(t, 1.0)], float(at[t]), above)]
    part = term.parts[0]
    if part.column >= 0:
        p = part.sign * float(at[part.column])
        low = p if term.kind in (LOG, ENTROPY) else -above
        found.append(([(part.column, part.sign)], low, p if term.kind in (EXP, ENTROPY) else above))
    return found
