"""Gurobi with a callback: rows are its lazy constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends.choice import choose
from tightmargin.solvers.backends.pyomo_interface import refuse_unknown_options
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.execution.interrupts import supervised
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.result import Status
from tightmargin.solvers.standard_form.standard_form import StandardForm

NARROW = 1e-9


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise where gurobipy is missing, and for a model that its callbacks are not for."""
    kind = classify(asking.base).problem_class
    choose("gurobi", kind, asking.base, timed=limits.time_limit is not None)
    if not asking.base.integer.any():
        raise ProblemClassError(
            "engine gurobi adds rows to models with integer variables only, and this one has "
            "none: take engine=live or highs"
        )
    refuse_unknown_options("gurobi", limits.options)


def run(asking: Asking, limits: Limits, fractional: bool) -> Ended:
    """One search; every incumbent is asked about, and relaxations where that is wanted."""
    import gurobipy

    settings = {
        "OutputFlag": int(limits.log), "LogToConsole": int(limits.log), "LazyConstraints": 1,
        "FeasibilityTol": NARROW, "IntFeasTol": NARROW, "MIPGap": NARROW,
        "TimeLimit": limits.time_limit, "Threads": limits.threads, "Seed": limits.seed,
    }  # fmt: skip
    given = {k: v for k, v in settings.items() if v is not None} | dict(limits.options)
    with gurobipy.Env(params=given) as env, gurobipy.Model(env=env) as model:
        x = _filled(model, asking.base, gurobipy.GRB)
        ask = _callback(asking, x.tolist(), fractional, gurobipy.GRB)
        finished = supervised(
            lambda: model.optimize(ask), model.terminate, log=limits.log, name="gurobi"
        )
        return _told(model, x, asking, finished.interrupted, finished.log, gurobipy)


def _filled(model: Any, form: StandardForm, grb: Any) -> Any:
    """Columns, rows and the objective of the minimisation."""
    kinds = np.where(form.integer, grb.INTEGER, grb.CONTINUOUS)
    x = model.addMVar(form.n, lb=form.lower, ub=form.upper, vtype=kinds.tolist())
    low, high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    same = low & high & (form.row_lower == form.row_upper)
    for which, sense, sides in (
        (same, "=", form.row_lower), (low & ~same, ">", form.row_lower),
        (high & ~same, "<", form.row_upper),
    ):  # fmt: skip
        if which.any():
            model.addMConstr(form.A[which], x, sense, sides[which])
    columns = x.tolist()
    for row in form.quadratic:
        body, own = row.body, [columns[j] for j in row.body.index.tolist()]
        entries = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
        terms = sum(v * own[i] * own[j] for i, j, v in entries)
        terms += sum(a * column for a, column in zip(body.a.tolist(), own, strict=True))
        if math.isfinite(row.lower):
            model.addConstr(terms + body.constant >= row.lower)
        if math.isfinite(row.upper):
            model.addConstr(terms + body.constant <= row.upper)
    goal = form.objective
    Q = goal.Q if goal.Q.nnz else None
    model.setMObjective(Q, goal.a, goal.constant, x, x, x, grb.MINIMIZE)
    return x


def _callback(
    asking: Asking, columns: list[Any], fractional: bool, grb: Any
) -> Callable[[Any, int], None]:
    code = grb.Callback

    def ask(model: Any, where: int) -> None:
        try:
            if where == code.MIPSOL:
                add(model, model.cbGetSolution(columns), code.MIPSOL_OBJBND, code.MIPSOL_NODCNT)
            elif where == code.MIPNODE and fractional and is_solved(model):
                add(model, model.cbGetNodeRel(columns), code.MIPNODE_OBJBND, code.MIPNODE_NODCNT)
        except HaltError:
            model.terminate()

    def is_solved(model: Any) -> bool:
        return bool(model.cbGet(code.MIPNODE_STATUS) == grb.OPTIMAL)

    def add(model: Any, values: list[float], bound: int, node: int) -> None:
        point: Array = np.array(values)
        for row in asking.at(point, model.cbGet(bound), int(model.cbGet(node))):
            pairs = zip(row.index.tolist(), row.numbers.tolist(), strict=True)
            terms = sum(number * columns[j] for j, number in pairs)
            if math.isfinite(row.lower):
                model.cbLazy(terms >= row.lower)
            if math.isfinite(row.upper):
                model.cbLazy(terms <= row.upper)

    return ask


def _told(model: Any, x: Any, asking: Asking, interrupted: bool, log: str, gurobipy: Any) -> Ended:
    """What came of it; a point that was found while asking failed is none."""
    grb = gurobipy.GRB
    words = {
        grb.OPTIMAL: (StopReason.PROVEN, Status.OPTIMAL),
        grb.INFEASIBLE: (StopReason.PROVEN, Status.INFEASIBLE),
        grb.INF_OR_UNBD: (StopReason.NUMERICAL, Status.INFEASIBLE_OR_UNBOUNDED),
        grb.UNBOUNDED: (StopReason.NUMERICAL, Status.UNBOUNDED),
        grb.TIME_LIMIT: (StopReason.TIME_LIMIT, Status.FEASIBLE),
        grb.NODE_LIMIT: (StopReason.NODE_LIMIT, Status.FEASIBLE),
        grb.INTERRUPTED: (StopReason.INTERRUPTED, Status.INTERRUPTED),
    }
    stop, status = words.get(model.Status, (StopReason.NUMERICAL, Status.FEASIBLE))
    if asking.error is not None or asking.is_full:
        stop, status = StopReason.ROUND_LIMIT, Status.FEASIBLE
    elif interrupted and stop is not StopReason.PROVEN:
        stop, status = StopReason.INTERRUPTED, Status.INTERRUPTED
    point = np.array(x.X) if model.SolCount else None
    bound = float(model.ObjBound) if stop is not StopReason.NUMERICAL else math.nan
    version = ".".join(map(str, gurobipy.gurobi.version()))
    return Ended(
        stop, status, f"Gurobi ended with status {model.Status}", point,
        bound if math.isfinite(bound) and abs(bound) < grb.INFINITY else None, version=version,
        nodes=int(model.NodeCount), log=log,
    )  # fmt: skip
