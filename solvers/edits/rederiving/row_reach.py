"""How far the body of a row can fall at the points of an edited problem below a cutoff: its M.

For points with objective f <= V and z_i = 1, the least of body_i over the convex relaxation, by
weak duality; V is the objective of a feasible point, and f <= V is a row of the model that is
solved. It knows nothing of the catalogue, and holds for every edit.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.conic_form import conic_multipliers
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.multiplier_search import searched_bound
from tightmargin.solvers.certificates.no_optimum import without_point
from tightmargin.solvers.edits.rederiving.switched_rows import SwitchedRows
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.standard_form.standard_form import StandardForm

SHARE = 0.2  # of a time limit, for all rows
OUTWARD = 1e-9  # of an M: what the reader rounds where it moves fixed variables to a side
LEAST = 1e-3  # an M is positive, and one below this is no use to a solver


def completed(
    model: pyo.ConcreteModel, rows: SwitchedRows, known: Array, cutoff: float, limits: Limits
) -> Array:
    """M with the infinite ones derived here as far as that is possible.

    Parameters
    ----------
    known : array (n,)
        M that is valid at every point of objective at most the cutoff; infinite where unknown.
    cutoff : float
        Without the constant of the objective.
    """
    found = np.where(rows.row < 0, rows.big_m, known)
    found = np.where(rows.may_be_given_up, found, rows.big_m)
    began = time.perf_counter()
    share = np.inf if limits.time_limit is None else SHARE * limits.time_limit
    for i in np.flatnonzero(np.isinf(found)).tolist():
        if time.perf_counter() - began > share or not SOLVERS["clarabel"].installed:
            break
        least = _least_body(model, rows, found, i, cutoff)
        if least is None:
            break
        side = float(rows.sides()[i])
        room = abs(side) + abs(least)
        found[i] = max(side - least + OUTWARD * room, LEAST)
    return found


def _least_body(
    model: pyo.ConcreteModel, rows: SwitchedRows, big_m: Array, i: int, cutoff: float
) -> float | None:
    """A lower bound on the body of row i where it is switched off."""
    form = rows.with_m(big_m)
    body = np.asarray(form.A[[int(rows.row[i])]].todense()).ravel()
    lower = form.lower.copy()
    if rows.column[i] >= 0:
        body[rows.column[i]] = 0.0
        lower[rows.column[i]] = 1.0
    form = replace(form, lower=lower, integer=np.zeros(form.n, dtype=bool))
    subject = Subject(form)
    if form.nonlinear or not subject.classification.convex:
        return None
    reach = subject.reach(cutoff)
    if reach.empty:
        return float(rows.sides()[i])  # nobody gives it up below the cutoff
    goal = next(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    limited = replace(
        form,
        lower=reach.low,
        upper=reach.high,
        objective=Quadratic(sp.csr_matrix((form.n, form.n)), body, 0.0),
        quadratic=(*form.quadratic, *_below(form, cutoff, goal)),
        sense=1,
    )
    return _proven_least(model, limited, float(rows.sides()[i]))


def _below(form: StandardForm, cutoff: float, goal: Any) -> tuple[QuadraticRow, ...]:
    """The row f <= V; none where f is linear, whose limits the variables have already."""
    Q = form.objective.Q.tocoo()
    if not Q.nnz:
        return ()
    columns = np.unique(np.concatenate([Q.row, Q.col, np.flatnonzero(form.objective.a)]))
    at = np.full(form.n, -1, dtype=np.int64)
    at[columns] = np.arange(len(columns))
    local = LocalQuadratic(
        columns.astype(np.int64), at[Q.row], at[Q.col], Q.data, form.objective.a[columns], 0.0
    )
    return (QuadraticRow(local, -np.inf, cutoff, goal),)


def _proven_least(model: pyo.ConcreteModel, form: StandardForm, unused: float) -> float | None:
    """The least value by weak duality; `unused` where no point gives this one up."""
    subject = Subject(form)
    if not subject.classification.convex:
        return None
    claim = clarabel.run_conic(subject.conic, len(form.rows), Limits())
    if claim.status is Status.INFEASIBLE:
        found = without_point(Case(model, subject), claim)
        return unused if found.certificate.verdict is Verdict.CERTIFIED else None
    if claim.x is None or claim.duals is None:
        return None
    z = conic_multipliers(subject.conic, claim.duals)
    case = Case(model, subject)
    bound, _ = searched_bound(case, claim.x, z, form.objective.varying(claim.x))
    return None if bound is None else bound.varying
