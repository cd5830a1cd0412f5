"""SCIP: mixed-integer and non-convex quadratic models, handed over row by row.

Not through Pyomo's interface: that holds the interpreter, and captures the log through a pipe which
nobody empties meanwhile, so that a long log stops the solve for good. Models beyond degree two,
which only that interface reads, still go there, without a log.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.solvers.engines.registry import (
    SOLVERS,
    own_names,
    refuse_huge_bounds,
    refused_option,
    unknown_option,
)
from tightmargin.solvers.engines.running import (
    Finished,
    Limits,
    State,
    reported,
    supervised,
    within_deadline,
    without_lines,
)
from tightmargin.solvers.model.claim import Claim, Progress, Status
from tightmargin.solvers.model.polynomial import LocalQuadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.rewrites import implication, is_implied

# At SCIP's default of 1e-6 kept points fall short of their margin and incumbents beat the optimum.
FEASIBILITY = 1e-8
# Where an LP is hard SCIP asks its simplex code for a thousandth of that. This one has no such
# tolerance, and writes to standard error past every switch of the log.
TIGHTENED = "Cannot set feasibility tolerance to small value"
# Numerical trouble ends in an exception, whose message is kept.
TROUBLE = r"\[\w+\.c+p*:\d+\] ERROR: "
NOISE = f"{TIGHTENED}|{TROUBLE}"

_STATUS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
    "userinterrupt": Status.INTERRUPTED,
    "terminate": Status.INTERRUPTED,
}


def run(
    form: StandardForm, limits: Limits, prepare: Callable[[Any, list[Any]], None] | None = None
) -> Claim:
    """Solve a model with rows of degree at most two, after `prepare(SCIP's model, variables)`."""
    import pyscipopt

    refuse_huge_bounds("scip", form)
    impossible = form.impossible_row()
    if impossible:
        return Claim(Status.INFEASIBLE, message=impossible)
    model = pyscipopt.Model()
    if not limits.log:
        model.hideOutput()
    _set_parameters(model, form, within_deadline(limits))
    x = [
        model.addVar(
            lb=low if math.isfinite(low) else None,
            ub=high if math.isfinite(high) else None,
            vtype="I" if integer else "C",
        )
        for low, high, integer in zip(
            form.lower.tolist(), form.upper.tolist(), form.integer.tolist(), strict=True
        )
    ]
    _add_rows(model, form, x, pyscipopt.quicksum)
    _set_objective(model, form, x, pyscipopt.quicksum)
    _set_start(model, form, x)
    progress = _watched(model)
    if prepare is not None:
        prepare(model, x)

    def state() -> State:
        progress.nodes = model.getNNodes()  # a counter; no event tells of every node
        return progress.state(form.sense)

    finished, broken = _supervised(model, limits, state)
    if broken and not finished.interrupted:
        return Claim(Status.ERROR, message=broken, version=_version(model))
    claim = replace(_claim(model, form, x), trace=progress.rows)
    return reported(replace(claim, message=broken) if broken else claim, finished)


def _supervised(
    model: Any, limits: Limits, state: Callable[[], State]
) -> tuple[Finished[Any], str]:
    """A run that Ctrl-C ends, and how SCIP broke down; where it was asked to end, that is an end.

    Between two of its stages SCIP does not listen, and is asked again.
    """
    asked = list[bool]()

    def stop() -> None:
        asked.append(True)
        try:
            model.interruptSolve()
        except Exception as error:
            if not is_breakdown(error):
                raise

    solve = model.optimizeNogil
    try:
        with without_lines(NOISE):
            return supervised(solve, stop, log=limits.log, name="scip", state=state), ""
    except Exception as error:
        if not is_breakdown(error):
            raise
        return Finished(None, interrupted=bool(asked)), f"broke down: {error}"


def is_breakdown(error: Exception) -> bool:
    """Whether SCIP itself gave up, say with numerical trouble: pyscipopt has no class for that."""
    return type(error) is Exception and str(error).startswith("SCIP: ")


def _watched(model: Any) -> Progress:
    """What SCIP's bound and incumbent go through, written down by an event handler."""
    import pyscipopt

    events = (
        pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND,
        pyscipopt.SCIP_EVENTTYPE.DUALBOUNDIMPROVED,
    )
    progress = Progress()

    class Watch(pyscipopt.Eventhdlr):
        """Listens from the start of the search to its end."""

        def eventinit(self) -> None:
            for event in events:
                self.model.catchEvent(event, self)

        def eventexit(self) -> None:
            for event in events:
                self.model.dropEvent(event, self)

        def eventexec(self, event: Any) -> None:
            progress.add(self.model.getDualbound(), self.model.getPrimalbound())

    model.includeEventhdlr(Watch(), "progress", "bound and incumbent over time")
    return progress


def _set_parameters(model: Any, form: StandardForm, limits: Limits) -> None:
    model.setParam("numerics/feastol", FEASIBILITY)
    entries = np.diff(form.A.indptr)
    integers = (form.A != 0).astype(np.int64) @ form.integer.astype(np.int64)
    big_m = (integers == 1) & (entries > 1)
    if form.objective.Q.nnz and len(entries) and np.mean(big_m) > 0.5:
        # No cuts below the root where most rows are big-M rows of a quadratic program: on five
        # n=60, d=2 sets of data/hard_margin_loss 1.1 to 3 times less CPU time in spite of twice
        # the nodes; n=60, d=5: the same bound after a minute. None at the root costs bound.
        model.setParam("separating/maxrounds", 0)
    model.setParam("misc/catchctrlc", False)  # heard in supervised()
    settings = own_names(
        limits, time_limit="limits/time", nodes="limits/totalnodes", threads="lp/threads",
        seed="randomization/randomseedshift",
    )  # fmt: skip
    for name, value in settings.items():
        model.setParam(name, value)
    known = model.getParams()
    for name, value in limits.options.items():
        if name not in known:
            raise unknown_option("scip", name, known)
        try:
            model.setParam(name, value)
        except (TypeError, ValueError, LookupError, OverflowError):
            raise refused_option("scip", name, value, known) from None


def _add_rows(model: Any, form: StandardForm, x: list[Any], quicksum: Any) -> None:
    A = form.A
    sides = zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True)
    for k, (low, high) in enumerate(sides):
        span = slice(A.indptr[k], A.indptr[k + 1])
        numbers, columns = A.data[span].tolist(), A.indices[span].tolist()
        if numbers:
            terms = quicksum(a * x[j] for a, j in zip(numbers, columns, strict=True))
            _add_row(model, terms, low, high)
    for row in form.quadratic:
        if is_implied(row):
            rule = implication(form, row)
            terms = quicksum(a * x[j] for a, j in zip(rule.a, rule.columns, strict=True))
            model.addConsIndicator(terms <= rule.side, x[rule.binary])
        else:
            _add_row(model, _quadratic(row.body, x, quicksum), row.lower, row.upper)


def _add_row(model: Any, terms: Any, low: float, high: float) -> None:
    if low == high:
        model.addCons(terms == low)
        return
    if math.isfinite(low):
        model.addCons(terms >= low)
    if math.isfinite(high):
        model.addCons(terms <= high)


def _quadratic(body: LocalQuadratic, x: list[Any], quicksum: Any) -> Any:
    columns = [x[k] for k in body.index.tolist()]
    squares = quicksum(
        v * columns[i] * columns[j]
        for i, j, v in zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    )
    linear = quicksum(a * column for a, column in zip(body.a.tolist(), columns, strict=True) if a)
    return squares + linear + body.constant


def _set_objective(model: Any, form: StandardForm, x: list[Any], quicksum: Any) -> None:
    """SCIP minimises linear objectives: a quadratic one becomes a variable above it.

    So does a linear cost of x that squares alone bound: of x^2 - 3x SCIP would branch for good.
    """
    a = form.objective.a
    endless = np.where(a > 0, ~np.isfinite(form.lower), ~np.isfinite(form.upper)) & (a != 0)
    squared = np.zeros(form.n, dtype=bool)
    squared[form.objective.Q.nonzero()[0]] = True
    moved = endless & squared
    linear = quicksum(a[j] * x[j] for j in np.flatnonzero((a != 0) & ~moved).tolist())
    if form.objective.Q.nnz:
        Q = form.objective.Q.tocoo()
        level = model.addVar(lb=None, ub=None)
        entries = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
        bent = quicksum(v * x[i] * x[j] for i, j, v in entries)
        bent += quicksum(a[j] * x[j] for j in np.flatnonzero(moved).tolist())
        model.addCons(bent <= level)
        linear = linear + level
    model.setObjective(linear + form.objective.constant, "minimize")


def _set_start(model: Any, form: StandardForm, x: list[Any]) -> None:
    """Offer present values of the integer variables as a partial solution."""
    point = form.point()
    known = np.flatnonzero(form.integer & np.isfinite(point))
    if not known.size:
        return
    start = model.createPartialSol()
    for k in known:
        model.setSolVal(start, x[k], float(point[k]))
    model.addSol(start)


def _version(model: Any) -> str:
    return f"{model.version():.1f} (pyscipopt {SOLVERS['scip'].version})"


def _claim(model: Any, form: StandardForm, x: list[Any]) -> Claim:
    message, has_point = model.getStatus(), model.getNSols() > 0
    default = Status.FEASIBLE if has_point else Status.LIMIT_NO_SOLUTION
    status = _STATUS.get(message, default)
    if status is Status.INTERRUPTED:
        message = f"interrupted ({message})"
    version = _version(model)
    bound = float(model.getDualbound())
    claimed = None if abs(bound) >= model.infinity() else bound
    if not has_point or status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Claim(status, bound=claimed, message=message, version=version)
    best = model.getBestSol()
    point = np.array([model.getSolVal(best, v) for v in x])
    value = form.objective.at(point)
    level = float(model.getSolObjVal(best))
    # The variable above a quadratic objective may exceed it.
    objective = value if form.objective.Q.nnz and level > value else level
    return Claim(
        status, x=point, bound=claimed, message=message, version=version, objective=objective
    )
