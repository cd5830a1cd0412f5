"""Clarabel and SCS as Pyomo solvers: SolverFactory("clarabel").solve(model), any convex model."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines import clarabel, scs
from tightmargin.solvers.engines.choice import choose
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import StandardForm, standard_form

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
    """LP, QP, SOCP and SDP models; semidefinite rows by modeling/cones.py."""

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
