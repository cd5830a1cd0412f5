"""Gurobi, and SCIP for models beyond degree two, through Pyomo's solver interfaces.

Both hear Ctrl-C themselves and return what they have; Gurobi says so in a line of its own.
"""

from __future__ import annotations

import datetime
import math
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.collections import ComponentMap, ComponentSet
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import identify_variables, replace_expressions

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines import clarabel, scs
from tightmargin.solvers.engines.registry import (
    SOLVERS,
    choose,
    own_names,
    refuse_huge_bounds,
    refused_option,
    unknown_option,
)
from tightmargin.solvers.engines.running import Limits, reported, supervised, within_deadline
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import classify, curvature
from tightmargin.solvers.model.expressions import nodes_of
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.model.rewrites import gurobi_with_indicators, is_held, is_implied

INTERFACES = {"scip": "scip_direct", "gurobi": "gurobi_persistent"}

# Where each solver hides what Pyomo's common settings lack.
_SEED = {"scip": "randomization/randomseedshift", "gurobi": "Seed"}
_NODES = {"scip": "limits/totalnodes", "gurobi": "NodeLimit"}
_DUALS = {"gurobi"}
# Interfaces that cannot walk all that the reader takes: they get plain sums.
_AS_READ = {"scip", "gurobi"}

_DEFAULTS: dict[str, dict[str, Any]] = {
    "scip": {"numerics/feastol": 1e-8, "display/verblevel": 0},
    "gurobi": {},
}


def run(name: str, model: pyo.ConcreteModel, form: StandardForm, limits: Limits) -> Claim:
    """Solve any model the interface can read; returns what the solver claims, loads nothing."""
    from pyomo.contrib.solver.common.factory import SolverFactory

    refuse_huge_bounds(name, form)
    impossible = form.impossible_row()
    if impossible:
        return Claim(Status.INFEASIBLE, message=impossible)
    implied = name == "gurobi" and any(is_implied(row) for row in form.quadratic)
    solver = gurobi_with_indicators() if implied else SolverFactory(INTERFACES[name])
    if name == "scip":
        _release(solver)
    refuse_unknown_options(name, limits.options)
    limits = within_deadline(limits)
    options = _DEFAULTS[name] | own_names(limits, seed=_SEED[name], nodes=_NODES.get(name, "nodes"))
    options |= limits.options
    settings: dict[str, Any] = {
        "load_solutions": False,
        "raise_exception_on_nonoptimal_result": False,
        "tee": limits.log,
        "solver_options": options,
        "rel_gap": 0.0 if name == "scip" else 1e-9,
        "warmstart_discrete_vars": any(v.value is not None for v in form.columns),
    }
    settings |= own_names(limits, time_limit="time_limit", threads="threads")

    as_read = name in _AS_READ and not implied
    handed, rows = _as_read(form) if as_read else (model, list(form.rows) if name in _DUALS else [])

    def work() -> Claim:
        try:
            return _claim(name, solver.solve(handed, **settings), form, rows)
        except MemoryError:
            raise
        except Exception as error:  # whatever a foreign interface raises is what came of the solve
            message = f"{name} raised {type(error).__name__}: {error}"
            return Claim(Status.ERROR, message=message, log=traceback.format_exc())

    finished = supervised(work, log=limits.log, name=name)
    claim = reported(finished.value, finished)
    return replace(claim, log=claim.log + finished.value.log)


class _Released:
    """A model of SCIP whose solve lets other threads of Python run."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        """Solve without the lock of the interpreter."""
        self._model.optimizeNogil()


def _release(solver: Any) -> None:
    """Have Pyomo's SCIP release the interpreter: its thread must empty the pipe of messages."""
    create = solver._create_solver_model

    def released(*arguments: Any) -> Any:
        model, *others = create(*arguments)
        return _Released(model), *others

    solver._create_solver_model = released


def _as_read(form: StandardForm) -> tuple[pyo.ConcreteModel, list[Any]]:
    """A model of plain sums over the same variables, and its linear rows; None for an empty one."""
    m, x, A = pyo.ConcreteModel(), list(form.columns), form.A
    m.rows = pyo.ConstraintList()
    rows: list[Any] = [None] * len(form.rows)
    for k, (low, high) in enumerate(zip(form.row_lower, form.row_upper, strict=True)):
        span = slice(A.indptr[k], A.indptr[k + 1])
        if span.stop > span.start:
            rows[k] = _add(m.rows, low, _linear(x, A.indices[span], A.data[span]), high)
    for row in form.quadratic:
        part = row.body
        product = _curved(x, part.index, part.i, part.j, part.v, part.a)
        _add(m.rows, row.lower - part.constant, product, row.upper - part.constant)
    for row in form.nonlinear:
        if row.ctype is pyo.Constraint:
            _add(m.rows, row.lb, _written_out(row.body), row.ub)
    goal = form.objective
    Q = goal.Q.tocoo()
    expression = (
        _written_out(form.goal.expr)
        if form.goal is not None
        else form.sense
        * (_curved(x, np.arange(form.n), Q.row, Q.col, Q.data, goal.a) + goal.constant)
    )
    m.goal = pyo.Objective(expr=expression, sense=pyo.minimize if form.sense == 1 else pyo.maximize)
    return m, rows


def _linear(x: list[Any], index: NDArray[np.int64], a: Array) -> Any:
    return LinearExpression(
        constant=0.0, linear_coefs=a.tolist(), linear_vars=[x[k] for k in index.tolist()]
    )


def _curved(x: list[Any], index: NDArray[np.int64], i: Any, j: Any, v: Any, a: Array) -> Any:
    """A sum of v_k x_i x_j over all k, and a linear part."""
    terms = zip(index[i].tolist(), index[j].tolist(), v.tolist(), strict=True)
    used = np.flatnonzero(a)
    return sum((c * x[s] * x[t] for s, t, c in terms), _linear(x, index[used], a[used]))


def _add(rows: Any, low: float | None, body: Any, high: float | None) -> Any:
    """A row between two sides; two rows where they cross, which Pyomo does not write as one."""
    first, last = (None if end is None or np.isinf(end) else float(end) for end in (low, high))
    if first is None or last is None:
        return None if first is last else rows.add((first, body, last))
    if first > last:
        rows.add(body >= first)
        return rows.add(body <= last)
    return rows.add(body == first if first == last else (first, body, last))


def _written_out(expression: Any) -> Any:
    """An expression without names, its parts that are numbers at present as numbers."""
    numbers = {id(part): pyo.value(part) for part in nodes_of(expression) if is_held(part)}
    return replace_expressions(expression, numbers)


def refuse_unknown_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option of SCIP or Gurobi that is none, or a value it cannot have."""
    if not options:
        return
    if name == "scip":
        import pyscipopt

        known = set(pyscipopt.Model().getParams())
    else:
        import gurobipy

        known = {option for option in dir(gurobipy.GRB.Param) if not option.startswith("_")}
    for option in options:
        if option not in known:
            raise unknown_option(name, option, known)
    if name != "gurobi":
        return
    with gurobipy.Env(empty=True) as env:  # one that starts nothing
        for option, value in options.items():
            try:
                env.setParam(option, value)
            except (TypeError, ValueError, gurobipy.GurobiError):
                raise refused_option(name, option, value, known) from None


def _claim(name: str, results: Any, form: StandardForm, rows: list[Any]) -> Claim:
    condition, solution = results.termination_condition.name, results.solution_status.name
    status = _status(condition, solution)
    version = _version(name, results)
    message = f"{condition}, {solution}"
    bound = results.objective_bound
    bound = None if bound is None else form.sense * float(bound)
    if solution not in ("optimal", "feasible") or status is Status.UNBOUNDED:
        # The point from which Gurobi saw the objective fall is no answer, and its bound none.
        bound = None if status is Status.UNBOUNDED else bound
        return Claim(status, bound=bound, message=message, version=version)
    values = results.solution_loader.get_vars()
    has_value = np.array([v in values for v in form.columns], dtype=bool)
    # A column that no row mentions never reaches the solver; any value in its bounds will do.
    missing = np.flatnonzero(~has_value & _occurs(form))
    if missing.size:
        more = f" and {missing.size - 1} others" if missing.size > 1 else ""
        name_of_first = form.columns.name(int(missing[0]))
        message += f"; the solver returned no value for {name_of_first}{more}"
        return Claim(Status.ERROR, bound=bound, message=message, version=version)
    x = np.clip(0.0, form.lower, form.upper)
    x[has_value] = [float(values[v]) for v in form.columns if v in values]
    objective = results.incumbent_objective
    return Claim(
        status, x=x, duals=_duals(name, results, form, rows), bound=bound, message=message,
        version=version, objective=None if objective is None else form.sense * float(objective),
    )  # fmt: skip


def _occurs(form: StandardForm) -> NDArray[np.bool_]:
    """Columns that the objective or a row mentions."""
    bodies = (row.body if row.ctype is pyo.Constraint else row.expr for row in form.nonlinear)
    used = ComponentSet(v for body in bodies for v in identify_variables(body))
    mentioned = (form.objective.a != 0) | (np.diff(form.columnwise.indptr) > 0)
    mentioned[form.objective.Q.nonzero()[0]] = True
    for row in form.quadratic:
        mentioned[row.body.index] = True
    for matrix in form.psd:
        mentioned[matrix.F.nonzero()[1]] = True
    if used:
        mentioned |= np.array([v in used for v in form.columns], dtype=bool)
    return mentioned


def _version(name: str, results: Any) -> str:
    """Version of the solver itself; what Pyomo reports for SCIP is that of its Python interface."""
    interface = ".".join(map(str, results.solver_version or ()))
    if name != "scip":
        return interface
    import pyscipopt

    return f"{pyscipopt.Model().version():.1f} (pyscipopt {interface})"


_STATUS = {
    "provenInfeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "infeasibleOrUnbounded": Status.INFEASIBLE_OR_UNBOUNDED,
    "interrupted": Status.INTERRUPTED,
}
_LIMITS = ("maxTimeLimit", "iterationLimit", "objectiveLimit", "minStepLength")


def _status(condition: str, solution: str) -> Status:
    if condition in _STATUS:
        return _STATUS[condition]
    if condition == "convergenceCriteriaSatisfied":
        return Status.OPTIMAL if solution == "optimal" else Status.FEASIBLE
    if solution in ("optimal", "feasible"):
        return Status.FEASIBLE
    return Status.LIMIT_NO_SOLUTION if condition in _LIMITS else Status.ERROR


def _duals(name: str, results: Any, form: StandardForm, rows: list[Any]) -> Multipliers | None:
    curved = form.quadratic or form.psd or form.nonlinear
    if name not in _DUALS or form.integer.any() or curved:
        return None
    if not curvature(form.objective.Q).convex:
        return None
    duals: Mapping[Any, float] = results.solution_loader.get_duals()
    reduced: Mapping[Any, float] = results.solution_loader.get_reduced_costs()
    return Multipliers(
        form.sense * np.array([float(duals.get(row, 0.0)) for row in rows]),
        form.sense * np.array([float(reduced.get(v, 0.0)) for v in form.columns]),
        {},
    )


# --- Clarabel and SCS as Pyomo solvers: SolverFactory("clarabel").solve(model), any convex model --


_CONDITIONS = {
    Status.OPTIMAL: TerminationCondition.convergenceCriteriaSatisfied,
    Status.INFEASIBLE: TerminationCondition.provenInfeasible,
    Status.UNBOUNDED: TerminationCondition.unbounded,
    Status.INFEASIBLE_OR_UNBOUNDED: TerminationCondition.infeasibleOrUnbounded,
    Status.LIMIT_NO_SOLUTION: TerminationCondition.maxTimeLimit,
    Status.INTERRUPTED: TerminationCondition.interrupted,
}


class ConicSolutionLoader(SolutionLoader):
    """Values and multipliers of a solved model, on demand."""

    def __init__(self, model: pyo.ConcreteModel, form: StandardForm, claim: Claim) -> None:
        self._pyomo_model = model
        self._form, self._claim = form, claim

    def get_number_of_solutions(self) -> int:
        """One when there is a point."""
        return int(self._claim.x is not None)

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Values by variable."""
        return _selected(self._form.columns, self._claim.x, vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Multipliers of the linear rows, d objective / d right-hand side."""
        duals = self._claim.duals
        numbers = None if duals is None else self._form.sense * duals.rows
        return _selected(self._form.rows, numbers, cons_to_load)

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Multipliers of the variables' bounds."""
        duals = self._claim.duals
        numbers = None if duals is None else self._form.sense * duals.bounds
        return _selected(self._form.columns, numbers, vars_to_load)


def _selected(
    items: Sequence[Any], numbers: Array | None, wanted: Sequence[Any] | None
) -> Mapping[Any, float]:
    if numbers is None:
        raise NoFeasibleSolutionError
    values = ComponentMap(zip(items, numbers.tolist(), strict=True))
    return values if wanted is None else ComponentMap((item, values[item]) for item in wanted)


class ConicSolver(SolverBase):
    """LP, QP, SOCP and SDP models; semidefinite rows by modeling/semidefinite.py."""

    CONFIG = SolverConfig()
    solver: str
    engine: Any

    def available(self, verification: bool = False) -> Availability:
        """Whether the package is installed; it needs no licence."""
        installed = SOLVERS[self.solver].installed
        return Availability.FullLicense if installed else Availability.NotFound

    def version(self) -> tuple[int, ...]:
        """Version of the package."""
        return tuple(int(part) for part in SOLVERS[self.solver].version.split("."))

    def solve(self, model: pyo.ConcreteModel, **settings: Any) -> Results:
        """Solve, and load the point unless told otherwise."""
        config = self.config(value=settings, preserve_implicit=True)
        started, clock = datetime.datetime.now(datetime.UTC), time.perf_counter()
        form = standard_form(model)
        classification = classify(form)
        choose(self.solver, classification.problem_class, form)
        limits = Limits(
            config.time_limit, config.threads, None, bool(config.tee), dict(config.solver_options)
        )
        claim = self.engine.run(form, classification, limits)
        results = Results()
        results.solver_name, results.solver_version = self.solver, self.version()
        results.solver_config = config
        results.termination_condition = _CONDITIONS.get(claim.status, TerminationCondition.unknown)
        optimal = claim.status is Status.OPTIMAL
        results.solution_status = (
            SolutionStatus.noSolution
            if claim.x is None
            else SolutionStatus.optimal
            if optimal
            else SolutionStatus.unknown
        )
        results.solution_loader = ConicSolutionLoader(model, form, claim)
        results.incumbent_objective = None if claim.x is None else form.sense * form.value(claim.x)
        bound = -math.inf if claim.bound is None else claim.bound
        results.objective_bound = form.sense * bound
        results.solver_log = claim.log or claim.message
        results.timing_info.start_timestamp = started
        results.timing_info.wall_time = time.perf_counter() - clock
        if config.raise_exception_on_nonoptimal_result and not optimal:
            raise NoOptimalSolutionError(f"{self.solver}: {claim.message}")
        if config.load_solutions:
            if claim.x is None:
                raise NoFeasibleSolutionError(f"{self.solver}: {claim.message}")
            results.solution_loader.load_vars()
        return results


class ClarabelSolver(ConicSolver):
    """Interior point."""

    solver, engine = "clarabel", clarabel


class ScsSolver(ConicSolver):
    """Operator splitting."""

    solver, engine = "scs", scs


def register() -> None:
    """Register with Pyomo's new and legacy factories, once."""
    for kind in (ClarabelSolver, ScsSolver):
        if kind.solver not in pyo.SolverFactory._cls:
            doc = f"{kind.solver}, for LP, QP, SOCP and SDP"
            SolverFactory.register(name=kind.solver, doc=doc)(kind)
