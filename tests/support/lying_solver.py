"""A solver that knows the optimum and does not tell it, for tests only.

Registered with Pyomo as SolverFactory("liar"), and reached by solve(model, solver="liar") once
`install` has put it beside the real ones, which production code never does.
"""

from __future__ import annotations

import datetime
import functools
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import BranchAndBoundConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    Limits,
    StandardForm,
    clarabel,
    classify,
    highs,
    point_with,
    pyomo_interface,
    scip,
    standard_form,
)
from tests.support import long_runs
from tightmargin.solvers import SolverInfo

Array = NDArray[np.float64]


def _data() -> tm.TrainingData:
    """Eight points in the plane, one of each class deep inside the other."""
    rng = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 4)
    X = rng.standard_normal((8, 2)) + np.outer(0.8 * y, [0.6, 0.8])
    X[0] -= [1.5, 2.0]
    X[-1] += [1.5, 2.0]
    return tm.TrainingData(X, y)


DATA = _data()


# --- models, each with a feasible point that is not the best one ----------------------------------


@dataclass(frozen=True)
class Subject:
    """A model to lie about.

    Attributes
    ----------
    worse : callable() -> dict
        Values by name of a feasible point that is not optimal; what is left out is 0.
    proven : bool
        Whether our own computation closes the gap at the true optimum.
    """

    build: Callable[[], pyo.ConcreteModel]
    worse: Callable[[], dict[str, Any]]
    proven: bool = True


def _loss(w: Sequence[float]) -> Array:
    return np.maximum(0.0, -DATA.y * (DATA.X @ np.array(w)))


SUBJECTS = {
    "LP": Subject(
        lambda: tm.extended_nu_svc_linearised(DATA, nu=0.4, w_ref=[1.0, 0.0]),
        lambda: {"w": [1.0, 0.0], "xi": _loss([1.0, 0.0])},
    ),
    "QP": Subject(lambda: tm.c_svc(DATA, C=1.0), lambda: {"xi": np.ones(8)}),
    "SOCP": Subject(lambda: tm.extended_nu_svc_ball(DATA, nu=0.9), dict),
    "SDP": Subject(
        lambda: tm.conic_sdp(DATA, penalty=1.0),
        lambda: {"p": np.ones(8), "T": np.ones(8), "z": np.ones(8)},
    ),
    "MILP": Subject(
        lambda: long_runs.milp(n=12, d=2), lambda: {"z": np.ones(12)}, proven=False
    ),
    "MIQP": Subject(
        lambda: tm.zero_one_big_m(DATA, penalty=1.0, big_m="derived"), lambda: {"z": np.ones(8)}
    ),
    "NONCONVEX": Subject(
        lambda: tm.extended_nu_svc(DATA, nu=0.3),
        lambda: {"w": [1.0, 0.0], "xi": _loss([1.0, 0.0])},
        proven=False,
    ),
}  # fmt: skip


# --- the truth, and what becomes of it ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Story:
    """What the liar will say, of the minimisation, in the order of the model's columns and rows.

    Attributes
    ----------
    x : array, mapping or exception
        A mapping of variables is told as it is; an exception is raised by whoever asks.
    """

    condition: str
    solution: str
    x: Any
    objective: float
    bound: float
    rows: Array | None = None
    reduced: Array | None = None


@dataclass(frozen=True, eq=False)
class Told:
    """The model, a worse point of it, and the story so far."""

    form: StandardForm
    worse: Array
    story: Story

    def value(self, x: Array) -> float:
        return self.form.objective.at(x)


def truth(form: StandardForm, *, duals: bool) -> Story:
    """The optimum, with multipliers of linear and quadratic programs."""
    classification = classify(form)
    match str(classification.problem_class):
        case "LP" | "MILP":
            claim = highs.run(form, classification, Limits())
        case "QP" | "SOCP" | "SDP":
            claim = clarabel.run(form, classification, Limits())
        case _:
            claim = scip.run(form, Limits())
    assert claim.x is not None
    value = form.objective.at(claim.x)
    told = claim.duals if duals else None
    return Story(
        "convergenceCriteriaSatisfied", "optimal", claim.x, value, value,
        None if told is None else told.rows, None if told is None else told.bounds,
    )  # fmt: skip


class Lie(Protocol):
    def __call__(self, told: Told) -> Story: ...


LIES: dict[str, Lie] = {}


def lie(call: Lie) -> Lie:
    LIES[call.__name__] = call  # type: ignore[attr-defined]
    return call


@lie
def nothing_but_the_truth(told: Told) -> Story:
    return told.story


@lie
def wrong_objective(told: Told) -> Story:
    return replace(told.story, objective=told.story.objective - 1.0)


@lie
def objective_is_nan(told: Told) -> Story:
    return replace(told.story, objective=np.nan)


@lie
def objective_is_infinite(told: Told) -> Story:
    return replace(told.story, objective=-np.inf)


@lie
def worse_point(told: Told) -> Story:
    """Consistent in itself: the bound is said to be the value of the worse point."""
    value = told.value(told.worse)
    return replace(told.story, x=told.worse, objective=value, bound=value)


@lie
def worse_point_for_the_optimum(told: Told) -> Story:
    return replace(told.story, x=told.worse)


@lie
def infeasible_point(told: Told) -> Story:
    """Half the optimum and below: variables that are 0 in it become negative."""
    x = 0.5 * told.story.x - 0.25
    return replace(told.story, x=x, objective=told.value(x))


@lie
def point_with_nan(told: Told) -> Story:
    return replace(told.story, x=np.r_[np.nan, told.story.x[1:]])


@lie
def point_with_infinity(told: Told) -> Story:
    return replace(told.story, x=np.r_[told.story.x[:-1], np.inf])


@lie
def point_of_a_shorter_model(told: Told) -> Story:
    kept = list(told.form.columns)[:-3]
    return replace(told.story, x=ComponentMap(zip(kept, told.story.x.tolist(), strict=False)))


@lie
def point_of_another_model(told: Told) -> Story:
    """A twin of the model, whose variables have the same names."""
    stranger = pyo.ConcreteModel()
    stranger.v = pyo.Var(range(told.form.n))
    return replace(
        told.story, x=ComponentMap(zip(stranger.v.values(), told.story.x.tolist(), strict=True))
    )


@lie
def empty_answer(told: Told) -> Story:
    return replace(told.story, x=ComponentMap())


@lie
def values_that_are_no_numbers(told: Told) -> Story:
    return replace(told.story, x=ComponentMap((v, None) for v in told.form.columns))


@lie
def optimal_without_a_point(told: Told) -> Story:
    return replace(told.story, solution="noSolution", x=RuntimeError("no point"))


@lie
def point_that_cannot_be_asked_for(told: Told) -> Story:
    return replace(told.story, x=RuntimeError("the licence server has gone"))


@lie
def dual_signs(told: Told) -> Story:
    return _duals(told, lambda numbers: -numbers)


@lie
def dual_scale(told: Told) -> Story:
    return _duals(told, lambda numbers: 3.0 * numbers)


@lie
def dual_noise(told: Told) -> Story:
    rng = np.random.default_rng(0)
    return _duals(told, lambda numbers: rng.standard_normal(len(numbers)))


@lie
def duals_are_nan(told: Told) -> Story:
    return _duals(told, lambda numbers: np.r_[np.nan, numbers[1:]])


@lie
def duals_are_infinite(told: Told) -> Story:
    return _duals(told, lambda numbers: np.r_[np.inf, numbers[1:]])


def _duals(told: Told, change: Callable[[Array], Array]) -> Story:
    rows, reduced = told.story.rows, told.story.reduced
    assert rows is not None
    assert reduced is not None
    return replace(told.story, rows=change(rows), reduced=change(reduced))


@lie
def bound_is_nan(told: Told) -> Story:
    return replace(told.story, bound=np.nan)


@lie
def bound_is_infinite(told: Told) -> Story:
    return replace(told.story, bound=np.inf)


@lie
def bound_above_the_point(told: Told) -> Story:
    return replace(told.story, bound=told.story.objective + 0.5)


@lie
def optimal_after_a_time_limit(told: Told) -> Story:
    """The last incumbent and an honest bound, and "optimal" all the same."""
    value = told.value(told.worse)
    return replace(told.story, x=told.worse, objective=value, bound=told.story.objective - 1.0)


@lie
def bound_between_optimum_and_point(told: Told) -> Story:
    """A time limit, a good incumbent, and a bound that is better than the optimum."""
    value, best = told.value(told.worse), told.story.objective
    return replace(
        told.story, condition="maxTimeLimit", solution="feasible", x=told.worse, objective=value,
        bound=0.5 * (value + best),
    )  # fmt: skip


@lie
def infeasible(told: Told) -> Story:
    return _no_optimum(told, "provenInfeasible", "infeasible")


@lie
def unbounded(told: Told) -> Story:
    return _no_optimum(told, "unbounded", "noSolution")


@lie
def infeasible_or_unbounded(told: Told) -> Story:
    return _no_optimum(told, "infeasibleOrUnbounded", "noSolution")


def _no_optimum(told: Told, condition: str, solution: str) -> Story:
    no_point = RuntimeError("there is no point")
    return replace(
        told.story, condition=condition, solution=solution, x=no_point, objective=np.nan,
        bound=-np.inf,
    )  # fmt: skip


class VendorError(Exception):
    """What a library raises that nobody here knows."""


@lie
def foreign_exception(told: Told) -> Story:
    raise VendorError("rescode 1001: internal error")


# Only for a process of its own.


@lie
def hangs(told: Told) -> Story:
    while True:
        time.sleep(60)


@lie
def leaves(told: Told) -> Story:
    os._exit(3)


@lie
def crashes(told: Told) -> Story:
    """A write to address 0, as a solver does it, without a core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("still here")


@lie
def eats_memory(told: Told) -> Story:
    kept = [np.ones(2 * 10**6) for _ in range(10**4)]
    raise AssertionError(f"{len(kept)} arrays of 16 MB fit")


FATAL = ("hangs", "leaves", "crashes", "eats_memory")


# --- the solver -----------------------------------------------------------------------------------


@dataclass
class Present:
    """Which lie is told, and where the process that tells it leaves its number."""

    lie: str = "nothing_but_the_truth"
    worse: Mapping[str, Any] = field(default_factory=dict)
    duals: bool = True
    mark: Path | None = None


NOW = Present()


class LiarLoader(SolutionLoader):
    def __init__(self, model: pyo.ConcreteModel, form: StandardForm, story: Story) -> None:
        self._pyomo_model = model
        self.form, self.story = form, story

    def get_number_of_solutions(self) -> int:
        return 1

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        if isinstance(self.story.x, Exception):
            raise self.story.x
        if isinstance(self.story.x, ComponentMap):
            return self.story.x
        return ComponentMap(zip(self.form.columns, self.story.x.tolist(), strict=True))

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        assert self.story.rows is not None
        numbers = self.form.sense * self.story.rows
        return dict(zip(self.form.rows, numbers.tolist(), strict=True))

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        assert self.story.reduced is not None
        numbers = self.form.sense * self.story.reduced
        return ComponentMap(zip(self.form.columns, numbers.tolist(), strict=True))


class Liar(SolverBase):
    """Knows better."""

    CONFIG = BranchAndBoundConfig(implicit=True)

    def available(self, verification: bool = False) -> Availability:
        return Availability.FullLicense

    def version(self) -> tuple[int, ...]:
        return (6, 6, 6)

    def solve(self, model: pyo.ConcreteModel, **settings: Any) -> Results:
        config = self.config(value=settings, preserve_implicit=True)
        if NOW.mark is not None:
            NOW.mark.write_text(str(os.getpid()), encoding="utf-8")
        form = standard_form(model)
        worse = {name: np.asarray(numbers) for name, numbers in NOW.worse.items()}
        told = Told(
            form, point_with(model, form, np.zeros(form.n), worse), truth(form, duals=NOW.duals)
        )
        story = LIES[NOW.lie](told)
        results = Results()
        results.solver_name, results.solver_version = "liar", self.version()
        results.solver_config = config
        results.termination_condition = TerminationCondition[story.condition]
        results.solution_status = SolutionStatus[story.solution]
        results.incumbent_objective = form.sense * story.objective
        results.objective_bound = form.sense * story.bound
        results.solution_loader = LiarLoader(model, form, story)
        results.timing_info.start_timestamp = datetime.datetime.now(datetime.UTC)
        results.timing_info.wall_time = 0.0
        if config.load_solutions:
            results.solution_loader.load_vars()
        return results


INFO = SolverInfo(
    "liar", "tests.support.lying_solver", "pyomo", SOLVERS["scip"].classes |
    SOLVERS["clarabel"].classes, (0.0, np.inf), "free", 1e-6, "it knows the optimum",
)  # fmt: skip


def register() -> None:
    """With Pyomo, once."""
    if "liar" not in pyo.SolverFactory._cls:
        SolverFactory.register(name="liar", doc="tells one lie after the other")(Liar)


def install(name: str, subject: str = "", mark: Path | None = None) -> None:
    """Put the liar beside the solvers of this process, for good: a child process is meant."""
    register()
    SOLVERS["liar"] = INFO
    pyomo_interface.INTERFACES["liar"] = "liar"
    pyomo_interface._DEFAULTS["liar"] = {}
    pyomo_interface._SEED["liar"] = "seed"
    pyomo_interface._DUALS.add("liar")
    tell(name, subject, mark)


def tell(name: str, subject: str = "", mark: Path | None = None) -> None:
    """Choose the lie, and the model whose worse point it may need."""
    NOW.lie, NOW.mark = name, mark
    NOW.worse = SUBJECTS[subject].worse() if subject else {}


def telling(name: str, subject: str = "", mark: Path | None = None) -> Callable[[], None]:
    """What a child process calls to have the liar."""
    return functools.partial(install, name, subject, mark)
