"""Gurobi, and SCIP for models beyond degree two, through Pyomo's solver interfaces.

Both hear Ctrl-C themselves and return what they have; Gurobi says so in a line of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.backend import Claim, Limits, refuse_huge_bounds, reported
from solvers.classify import smallest_curvature
from solvers.conic_form import Multipliers
from solvers.interrupts import supervised
from solvers.options import refused_option, unknown_option
from solvers.result import Status
from solvers.standard_form import StandardForm

INTERFACES = {"scip": "scip_direct", "gurobi": "gurobi_persistent"}

# Where each solver hides what Pyomo's common settings lack.
_SEED = {"scip": "randomization/randomseedshift", "gurobi": "Seed"}
_DUALS = {"gurobi"}

# A log of SCIP fills the pipe Pyomo captures it with, and the solve never ends: no log here.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "scip": {"numerics/feastol": 1e-8, "display/verblevel": 0},
    "gurobi": {},
}


def run(name: str, model: pyo.ConcreteModel, form: StandardForm, limits: Limits) -> Claim:
    """Solve any model the interface can read; returns what the solver claims, loads nothing."""
    from pyomo.contrib.solver.common.factory import SolverFactory

    refuse_huge_bounds(name, form)
    solver = SolverFactory(INTERFACES[name])
    _refuse_unknown_options(name, limits.options)
    options = _DEFAULTS[name] | dict(limits.options)
    if limits.seed is not None:
        options.setdefault(_SEED[name], limits.seed)
    settings: dict[str, Any] = {
        "load_solutions": False,
        "raise_exception_on_nonoptimal_result": False,
        "tee": limits.log,
        "solver_options": options,
        "rel_gap": 0.0 if name == "scip" else 1e-9,
        "warmstart_discrete_vars": any(v.value is not None for v in form.columns),
    }
    if limits.time_limit is not None:
        settings["time_limit"] = float(limits.time_limit)
    if limits.threads is not None:
        settings["threads"] = int(limits.threads)
    finished = supervised(lambda: solver.solve(model, **settings), log=limits.log)
    return reported(_claim(name, finished.value, form), finished)


def _refuse_unknown_options(name: str, options: Mapping[str, Any]) -> None:
    if not options:
        return
    if name == "scip":
        import pyscipopt

        known = set(pyscipopt.Model().getParams())
    else:
        import gurobipy

        known = {word for word in dir(gurobipy.GRB.Param) if not word.startswith("_")}
    for word, value in options.items():
        if word not in known:
            raise unknown_option(name, word, known)
        if name == "gurobi":
            _refuse_bad_value(word, value, known)


def _refuse_bad_value(word: str, value: Any, known: set[str]) -> None:
    """Try the value on an environment that starts nothing."""
    import gurobipy

    with gurobipy.Env(empty=True) as env:
        try:
            env.setParam(word, value)
        except (TypeError, ValueError, gurobipy.GurobiError):
            raise refused_option("gurobi", word, value, known) from None


def _claim(name: str, results: Any, form: StandardForm) -> Claim:
    condition, solution = results.termination_condition.name, results.solution_status.name
    status = _status(condition, solution)
    version = _version(name, results)
    message = f"{condition}, {solution}"
    bound = results.objective_bound
    bound = None if bound is None or not math.isfinite(bound) else form.sense * float(bound)
    if solution not in ("optimal", "feasible"):
        return Claim(status, bound=bound, message=message, version=version)
    found = results.solution_loader.get_vars()
    # A column that no row mentions never reaches the solver; any value in its bounds will do.
    x = np.array([
        float(found[v]) if v in found else float(np.clip(0.0, low, high))
        for v, low, high in zip(form.columns, form.lower, form.upper, strict=True)
    ])  # fmt: skip
    return Claim(
        status, x=x, duals=_duals(name, results, form), bound=bound, message=message,
        version=version,
    )  # fmt: skip


def _version(name: str, results: Any) -> str:
    """Version of the solver itself; what Pyomo reports for SCIP is that of its Python interface."""
    interface = ".".join(map(str, results.solver_version or ()))
    if name != "scip":
        return interface
    import pyscipopt

    return f"{pyscipopt.Model().version():.1f} (pyscipopt {interface})"


def _status(condition: str, solution: str) -> Status:
    has_point = solution in ("optimal", "feasible")
    match condition:
        case "convergenceCriteriaSatisfied":
            return Status.OPTIMAL if solution == "optimal" else Status.FEASIBLE
        case "provenInfeasible":
            return Status.INFEASIBLE
        case "unbounded":
            return Status.UNBOUNDED
        case "infeasibleOrUnbounded":
            return Status.INFEASIBLE_OR_UNBOUNDED
        case "interrupted":
            return Status.INTERRUPTED
        case "maxTimeLimit" | "iterationLimit" | "objectiveLimit" | "minStepLength":
            return Status.FEASIBLE if has_point else Status.LIMIT_NO_SOLUTION
    return Status.FEASIBLE if has_point else Status.ERROR


def _duals(name: str, results: Any, form: StandardForm) -> Multipliers | None:
    if name not in _DUALS or form.integer.any() or form.quadratic or form.nonlinear:
        return None
    if smallest_curvature(form.objective.Q) < 0:
        return None
    rows: Mapping[Any, float] = results.solution_loader.get_duals()
    reduced: Mapping[Any, float] = results.solution_loader.get_reduced_costs()
    return Multipliers(
        form.sense * np.array([float(rows.get(row, 0.0)) for row in form.rows]),
        form.sense * np.array([float(reduced.get(v, 0.0)) for v in form.columns]),
        {},
    )
