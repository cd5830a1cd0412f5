"""Clarabel and SCS as Pyomo solvers: SolverFactory("clarabel").solve(model), any convex model."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError

from tightmargin.solvers.engines import clarabel, exponential_cones, scs
from tightmargin.solvers.engines.choice import choose
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import StandardForm, standard_form

_BACK_ENDS = {"clarabel": clarabel.run, "scs": scs.run}

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
        if self._claim.x is None:
            raise NoFeasibleSolutionError
        pairs = zip(self._form.columns, self._claim.x.tolist(), strict=True)
        return _selected(ComponentMap(pairs), vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Multipliers of the linear rows, d objective / d right-hand side."""
        if self._claim.duals is None:
            raise NoFeasibleSolutionError
        numbers = (self._form.sense * self._claim.duals.rows).tolist()
        return _selected(dict(zip(self._form.rows, numbers, strict=True)), cons_to_load)

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Multipliers of the variables' bounds."""
        if self._claim.duals is None:
            raise NoFeasibleSolutionError
        numbers = (self._form.sense * self._claim.duals.bounds).tolist()
        pairs = zip(self._form.columns, numbers, strict=True)
        return _selected(ComponentMap(pairs), vars_to_load)


def _selected(found: Mapping[Any, float], wanted: Sequence[Any] | None) -> Mapping[Any, float]:
    return found if wanted is None else ComponentMap((item, found[item]) for item in wanted)


class ConicSolver(SolverBase):
    """LP, QP, SOCP and SDP models; semidefinite rows by modeling/semidefinite.py."""

    CONFIG = SolverConfig()
    solver: ClassVar[str]

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
        started = datetime.datetime.now(datetime.UTC)
        form = standard_form(model)
        classification = classify(form)
        choose(self.solver, classification.problem_class, form)
        limits = Limits(
            config.time_limit, config.threads, None, bool(config.tee), dict(config.solver_options)
        )
        if form.nonlinear:  # Clarabel's alone, as it was chosen
            claim = exponential_cones.run(form, limits)
        else:
            claim = _BACK_ENDS[self.solver](form, classification, limits)
        results = Results()
        results.solver_name, results.solver_version = self.solver, self.version()
        results.solver_config = config
        results.termination_condition = _CONDITIONS.get(claim.status, TerminationCondition.unknown)
        results.solution_status = _solution_status(claim)
        results.solution_loader = ConicSolutionLoader(model, form, claim)
        results.incumbent_objective = None if claim.x is None else form.sense * form.value(claim.x)
        bound = -math.inf if claim.bound is None else claim.bound
        results.objective_bound = form.sense * bound
        results.solver_log = claim.log or claim.message
        results.timing_info.start_timestamp = started
        results.timing_info.wall_time = (
            datetime.datetime.now(datetime.UTC) - started
        ).total_seconds()
        if config.raise_exception_on_nonoptimal_result and claim.status is not Status.OPTIMAL:
            raise NoOptimalSolutionError(f"{self.solver}: {claim.message}")
        if config.load_solutions:
            if claim.x is None:
                raise NoFeasibleSolutionError(f"{self.solver}: {claim.message}")
            results.solution_loader.load_vars()
        return results


def _solution_status(claim: Claim) -> SolutionStatus:
    if claim.x is None:
        return SolutionStatus.noSolution
    return SolutionStatus.optimal if claim.status is Status.OPTIMAL else SolutionStatus.unknown


class ClarabelSolver(ConicSolver):
    """Interior point."""

    solver = "clarabel"


class ScsSolver(ConicSolver):
    """Operator splitting."""

    solver = "scs"


def register() -> None:
    """Register with Pyomo's new and legacy factories, once."""
    for kind in (ClarabelSolver, ScsSolver):
        if kind.solver not in pyo.SolverFactory._cls:
            doc = f"{kind.solver}, for LP, QP, SOCP and SDP"
            SolverFactory.register(name=kind.solver, doc=doc)(kind)
