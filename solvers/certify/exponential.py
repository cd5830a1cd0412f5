"""Bounds and points of models with exp, log and entropy in convex places.

A term is a column t above a few affine functions, which are tangents at the point found and a
little on each side of it: between those all slopes are to be had, so that multipliers can be made
to leave nothing on free variables. The model with them in the place of the terms is an ordinary
convex one, whose bound is proven as that of any, and the kernel says that it is one of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.multipliers import ABOVE, Bound, larger, model_bound, of_clarabel
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.certify.rays import unboundedness_proof
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, is_over
from tightmargin.solvers.kernel.bound import proven_bound
from tightmargin.solvers.kernel.exponential import (
    Minorised,
    Slopes,
    completed,
    minorised,
    of_the_model,
    proven_exponential_point,
    proven_exponential_ray,
)
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound, Unbounded
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.columns import Labels, Listed, Rows
from tightmargin.solvers.model.conic import Multipliers, conic_multipliers
from tightmargin.solvers.model.exponential import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    ExponentialForm,
    Term,
    exponential_form,
    rounded_shares,
)
from tightmargin.solvers.model.reader import StandardForm

# --- Tangents of exp, log and entropy at a point and a little beside it, in floating point -------
# Nothing rests on these numbers: whatever slopes are given, the kernel says what may stand beside
# them (kernel/exponential.py).


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


ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A model with affine functions in the place of its terms, solved.

    case: of that model.
    """

    proof: Minorised
    case: Case
    x: Array
    duals: Multipliers


def relaxations(case: Case, x: Array) -> Iterator[Relaxation]:
    """Tangents near a point, then those at the optimum that they lead to besides, and so on."""
    read = exponential_form(case.form)
    assert read is not None
    at = start_of(read, x)
    slopes = outermost(read)
    for _ in range(ROUNDS):
        slopes += slopes_at(read, at)
        proof = minorised(case.form, slopes)
        if proof is None:
            return
        inner = Case(read.model, Subject(proof.form), None, case.limits)
        other = of_clarabel(inner, closer=True)
        if isinstance(other, str):
            return
        yield Relaxation(proof, inner, *other)
        if is_over():
            return
        at = with_terms(read, other[0])


def exponential_bound(case: Case, x: Array) -> Bound:
    """The best bound from tangents near a point, and from those at the optima that they lead to."""
    read = exponential_form(case.form)
    if read is None or read.form.nonlinear or not Subject(read.form).classification.convex:
        return Bound(reason=f"no convex relaxation: {case.classification.reason}")
    best = Bound(reason="no bound is proven")
    known = read.form.objective.varying(start_of(read, x))
    for relaxation in relaxations(case, x):
        best = best.better(_bound_of(case, relaxation, known))
        if case.closes(known + case.constant, best.proof):
            break
    return best


def exponential_point(case: Case, x: Array) -> FeasiblePoint | None:
    """A feasible point near one that is nearly so, and what it costs."""
    read = exponential_form(case.form)
    if read is None or read.form.nonlinear or not np.isfinite(x).all():
        return None
    at = start_of(read, x)
    found = proven_exponential_point(case.form, at)
    if found is not None and found.exact:
        return found
    proof = minorised(case.form, slopes_at(read, at))
    if proof is None:
        return found
    subject = Subject(proof.form)
    if subject.classification.convex:
        near = exact_point(proof.form, subject.classification, at, case.limits)
        if near is not None and near.x is not None:
            repaired = proven_exponential_point(case.form, near.x, near.rational)
            if repaired is not None and repaired.exact:
                return repaired
    return found


def _bound_of(case: Case, relaxation: Relaxation, known: float) -> LowerBound | None:
    """The bound of the model with affine functions, as one of the model."""
    proof, inner, x, duals = relaxation.proof, relaxation.case, relaxation.x, relaxation.duals
    # Values of terms are free, and there are as many as points: limits are cheaper than exactness.
    z = conic_multipliers(inner.conic, duals)
    found = proven_bound(inner.subject, x, z, known + abs(known) * ABOVE)
    if found is None or not case.closes(known + case.constant, of_the_model(proof, found)):
        found = larger(found, model_bound(inner, Claim(Status.OPTIMAL, x=x, duals=duals)).proof)
    return None if found is None else of_the_model(proof, found)


# --- What may prove that a model with exp and log has no point, or no least value ----------------


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
    _, told = clarabel.without_objective(case.form, _limits(case))
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
    x, _ = clarabel.without_objective(case.form, _limits(case))
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
