"""Gurobi with a callback: rows are its lazy constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.cuts.separation.found_rows import FoundRow
from tightmargin.cuts.separation.incumbent import Accepted
from tightmargin.solvers.engines.pyomo_interface import refuse_unknown_options
from tightmargin.solvers.engines.registry import choose
from tightmargin.solvers.engines.running import Limits, StopReason, supervised
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import StandardForm

NARROW = 1e-9


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise where gurobipy is missing, and for a model that its callbacks are not for."""
    kind = classify(asking.base).problem_class
    choose("gurobi", kind, asking.base, timed=limits.time_limit is not None)
    if not asking.base.integer.any():
        raise ProblemClassError(
            "engine gurobi adds rows to models with integer variables only, and this one has "
            "none: take engine=live, highs or scip"
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
        best = Accepted(asking, limits)
        callback = _Callback(asking, best, x.tolist(), fractional, gurobipy.GRB)
        finished = supervised(
            lambda: model.optimize(callback.ask), model.terminate, log=limits.log, name="gurobi"
        )
        return _told(model, best, asking, finished.interrupted, finished.log, gurobipy)


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


class _Callback:
    """Asks at incumbents, of which a refused one is mended with its integers fixed."""

    def __init__(
        self, asking: Asking, best: Accepted, columns: list[Any], fractional: bool, grb: Any
    ) -> None:
        self.asking, self.best, self.columns = asking, best, columns
        self.fractional, self.grb = fractional, grb

    def ask(self, model: Any, where: int) -> None:
        """What Gurobi calls."""
        code = self.grb.Callback
        try:
            if where == code.MIPSOL:
                self._at_incumbent(model)
            elif where == code.MIPNODE and self.fractional:
                self._at_relaxation(model)
        except HaltError:
            model.terminate()

    def _at_incumbent(self, model: Any) -> None:
        code, asking = self.grb.Callback, self.asking
        point = np.array(model.cbGetSolution(self.columns))
        bound, node = model.cbGet(code.MIPSOL_OBJBND), int(model.cbGet(code.MIPSOL_NODCNT))
        rows = asking.at(point, bound, node, again=True)
        known = len(asking.rows)
        if rows:
            self.best.offer(point, bound, node)
        else:
            self.best.keep(point)
        self._add(model, [*rows, *asking.rows[known:]])

    def _at_relaxation(self, model: Any) -> None:
        code = self.grb.Callback
        if model.cbGet(code.MIPNODE_STATUS) != self.grb.OPTIMAL:
            return
        point = np.array(model.cbGetNodeRel(self.columns))
        bound, node = model.cbGet(code.MIPNODE_OBJBND), int(model.cbGet(code.MIPNODE_NODCNT))
        self._add(model, self.asking.at(point, bound, node, again=True))

    def _add(self, model: Any, rows: list[FoundRow]) -> None:
        for row in rows:
            pairs = zip(row.index.tolist(), row.numbers.tolist(), strict=True)
            terms = sum(number * self.columns[j] for j, number in pairs)
            if math.isfinite(row.lower):
                model.cbLazy(terms >= row.lower)
            if math.isfinite(row.upper):
                model.cbLazy(terms <= row.upper)


def _told(
    model: Any, best: Accepted, asking: Asking, interrupted: bool, log: str, gurobipy: Any
) -> Ended:
    """What came of it; Gurobi may drop a point when it is stopped in the call that accepts it."""
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
    if asking.stop is not None:
        stop, status = asking.stop, Status.FEASIBLE
    elif interrupted and stop is not StopReason.PROVEN:
        stop, status = StopReason.INTERRUPTED, Status.INTERRUPTED
    bound = float(model.ObjBound) if stop is not StopReason.NUMERICAL else math.nan
    version = ".".join(map(str, gurobipy.gurobi.version()))
    return Ended(
        stop, status, f"Gurobi ended with status {model.Status}", best.x,
        bound if math.isfinite(bound) and abs(bound) < grb.INFINITY else None, version=version,
        nodes=int(model.NodeCount), log=log,
    )  # fmt: skip
