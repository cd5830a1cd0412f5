"""A feasible point of an edited problem, in exact arithmetic: its objective is what M starts from.

Where points are given up is found by a short run of a mixed-integer solver, or by giving up what a
hyperplane misses; what is left is convex, is solved, and its point is made exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.solvers.backends import scip
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.fixed_integers import fixed_case, solve_fixed
from tightmargin.solvers.edits.rederiving.switched_rows import SwitchedRows
from tightmargin.solvers.edits.starts import first_point
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.proofs.subject import Subject

SHARE = 0.2  # of a time limit, for SCIP
NODES = 500  # of SCIP, so that every machine gets the same point
LARGE = (20.0, 1e3, 1e5)  # times the M at hand, one after the other until there is a point
ROUNDS = 3


def best_point(
    model: pyo.ConcreteModel, rows: SwitchedRows, limits: Limits, enough: float
) -> FeasiblePoint | None:
    """The best exactly feasible point of the edited problem that is found within a moment.

    Parameters
    ----------
    enough : float
        Objective without its constant: a solver is not asked where a point as good is at hand.
    """
    best: FeasiblePoint | None = None
    for x, given_up in _candidates(model, rows, limits):
        for _ in range(ROUNDS):
            found = _with_indicators(model, rows, x, given_up, limits)
            if found is None or found.x is None:
                break
            if best is not None and found.varying >= best.varying:
                break
            best = found
            x, given_up = found.x, given_up & (rows.missed(found.x) | ~rows.may_be_kept)
        if best is not None and best.varying <= enough:
            return best
    return best


def _candidates(
    model: pyo.ConcreteModel, rows: SwitchedRows, limits: Limits
) -> Iterator[tuple[Array, Mask]]:
    """Points and what they give up: as the variables stand, by the family, all, and by SCIP."""
    start = rows.form.point()
    if np.isfinite(start).all():
        yield start, (rows.missed(start) | ~rows.may_be_kept) & rows.may_be_given_up
    others = rows.form.integer.copy()
    others[rows.column[rows.column >= 0]] = False
    if not others.any():
        first = first_point(model, rows.form)
        z = np.where(rows.column >= 0, np.append(first, 0)[rows.column], rows.held)
        if np.isfinite(z).all():
            yield np.zeros(rows.form.n), ((z > 0.5) | ~rows.may_be_kept) & rows.may_be_given_up
        yield np.zeros(rows.form.n), rows.may_be_given_up
    if not SOLVERS["scip"].installed or rows.form.psd:
        return
    seconds = None if limits.time_limit is None else SHARE * limits.time_limit
    asked = Limits(seconds, limits.threads, limits.seed, nodes=NODES)
    size = max(float(rows.big_m.max()), 1.0)
    for factor in LARGE:
        large = np.full(len(rows.big_m), factor * size)
        claim = scip.run(rows.binary(rows.with_m(large)), asked)
        if claim.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if claim.x is not None:
            z = np.where(rows.column >= 0, np.append(claim.x, 0)[rows.column], rows.held)
            yield claim.x, z > 0.5
            return


def _with_indicators(
    model: pyo.ConcreteModel, rows: SwitchedRows, x: Array, given_up: Mask, limits: Limits
) -> FeasiblePoint | None:
    """The best point that gives up these points and no others, made exact."""
    decided = rows.with_indicators(given_up)
    asked = Limits(limits.time_limit, limits.threads)
    case = Case(model, Subject(decided), None, asked)
    if decided.integer.any():
        case = fixed_case(case, x)
    claim = solve_fixed(case)
    if claim is None or claim.x is None or not np.isfinite(claim.x).all():
        return None
    form = replace(case.form, integer=np.zeros(case.form.n, dtype=bool))
    return exact_point(form, case.classification, claim.x, asked)
