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
from typing import Any

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
from tests.inside import solvers as inner
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

    form: inner.StandardForm
    worse: Array
    story: Story

    def value(self, x: Array) -> float:
        return self.form.objective.at(x)


def truth(form: inner.StandardForm, *, duals: bool) -> Story:
    """The optimum, with multipliers of linear and quadratic programs."""
    classification = inner.classify(form)
    match str(classification.problem_class):
        case "LP" | "MILP":
            claim = inner.highs.run(form, classification, inner.Limits())
        case "QP" | "SOCP" | "SDP":
            claim = inner.clarabel.run(form, classification, inner.Limits())
        case _:
            claim = inner.scip.run(form, inner.Limits())
    assert claim.x is not None
    value = form.objective.at(claim.x)
    told = claim.duals if duals else None
    return Story(
        "convergenceCriteriaSatisfied", "optimal", claim.x, value, value,
        None if told is None else told.rows, None if told is None else told.bounds,
    )  # fmt: skip


Lie = Callable[[Told], Story]


def but(**changed: Any) -> Lie:
    """The truth with some of it changed, to values or to functions of what is told."""
    return lambda told: replace(
        told.story,
        **{word: value(told) if callable(value) else value for word, value in changed.items()},
    )


def but_duals(change: Callable[[Array], Array]) -> Lie:
    return but(
        rows=lambda told: change(told.story.rows), reduced=lambda told: change(told.story.reduced)
    )


def no_optimum(condition: str, solution: str) -> Lie:
    return but(condition=condition, solution=solution, x=RuntimeError("there is no point"),
               objective=np.nan, bound=-np.inf)  # fmt: skip


def worse_value(told: Told) -> float:
    return told.value(told.worse)


def infeasible_point(told: Told) -> Array:
    """Half the optimum and below: variables that are 0 in it become negative."""
    return 0.5 * told.story.x - 0.25


def point_of_a_shorter_model(told: Told) -> Any:
    kept = list(told.form.columns)[:-3]
    return ComponentMap(zip(kept, told.story.x.tolist(), strict=False))


def point_of_another_model(told: Told) -> Any:
    """A twin of the model, whose variables have the same names."""
    stranger = pyo.ConcreteModel()
    stranger.v = pyo.Var(range(told.form.n))
    return ComponentMap(zip(stranger.v.values(), told.story.x.tolist(), strict=True))


class VendorError(Exception):
    """What a library raises that nobody here knows."""


def foreign_exception(told: Told) -> Story:
    raise VendorError("rescode 1001: internal error")


# Only for a process of its own.


def hangs(told: Told) -> Story:
    while True:
        time.sleep(60)


def leaves(told: Told) -> Story:
    os._exit(3)


def crashes(told: Told) -> Story:
    """A write to address 0, as a solver does it, without a core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("still here")


def eats_memory(told: Told) -> Story:
    kept = [np.ones(2 * 10**6) for _ in range(10**4)]
    raise AssertionError(f"{len(kept)} arrays of 16 MB fit")


FATAL = ("hangs", "leaves", "crashes", "eats_memory")
LIES: dict[str, Lie] = {
    "nothing_but_the_truth": but(),
    "wrong_objective": but(objective=lambda told: told.story.objective - 1.0),
    "objective_is_nan": but(objective=np.nan),
    "objective_is_infinite": but(objective=-np.inf),
    # Consistent in itself: the bound is said to be the value of the worse point.
    "worse_point": but(x=lambda told: told.worse, objective=worse_value, bound=worse_value),
    "worse_point_for_the_optimum": but(x=lambda told: told.worse),
    "infeasible_point": but(
        x=infeasible_point, objective=lambda told: told.value(infeasible_point(told))
    ),
    "point_with_nan": but(x=lambda told: np.r_[np.nan, told.story.x[1:]]),
    "point_with_infinity": but(x=lambda told: np.r_[told.story.x[:-1], np.inf]),
    "point_of_a_shorter_model": but(x=point_of_a_shorter_model),
    "point_of_another_model": but(x=point_of_another_model),
    "empty_answer": but(x=ComponentMap()),
    "values_that_are_no_numbers": but(
        x=lambda told: ComponentMap((v, None) for v in told.form.columns)
    ),
    "optimal_without_a_point": but(solution="noSolution", x=RuntimeError("no point")),
    "point_that_cannot_be_asked_for": but(x=RuntimeError("the licence server has gone")),
    "dual_signs": but_duals(lambda numbers: -numbers),
    "dual_scale": but_duals(lambda numbers: 3.0 * numbers),
    "dual_noise": but_duals(lambda n: np.random.default_rng(0).standard_normal(len(n))),
    "duals_are_nan": but_duals(lambda numbers: np.r_[np.nan, numbers[1:]]),
    "duals_are_infinite": but_duals(lambda numbers: np.r_[np.inf, numbers[1:]]),
    "bound_is_nan": but(bound=np.nan),
    "bound_is_infinite": but(bound=np.inf),
    "bound_above_the_point": but(bound=lambda told: told.story.objective + 0.5),
    # The last incumbent and an honest bound, and "optimal" all the same.
    "optimal_after_a_time_limit": but(
        x=lambda told: told.worse, objective=worse_value,
        bound=lambda told: told.story.objective - 1.0,
    ),
    # A time limit, a good incumbent, and a bound that is better than the optimum.
    "bound_between_optimum_and_point": but(
        condition="maxTimeLimit", solution="feasible", x=lambda told: told.worse,
        objective=worse_value,
        bound=lambda told: 0.5 * (worse_value(told) + told.story.objective),
    ),
    "infeasible": no_optimum("provenInfeasible", "infeasible"),
    "unbounded": no_optimum("unbounded", "noSolution"),
    "infeasible_or_unbounded": no_optimum("infeasibleOrUnbounded", "noSolution"),
} | {
    call.__name__: call for call in (foreign_exception, hangs, leaves, crashes, eats_memory)
}  # fmt: skip


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
    def __init__(self, model: pyo.ConcreteModel, form: inner.StandardForm, story: Story) -> None:
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
        form = inner.standard_form(model)
        worse = {name: np.asarray(numbers) for name, numbers in NOW.worse.items()}
        told = Told(
            form,
            inner.point_with(model, form, np.zeros(form.n), worse),
            truth(form, duals=NOW.duals),
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
    "liar", "tests.support.lying_solver", "pyomo", inner.SOLVERS["scip"].classes |
    inner.SOLVERS["clarabel"].classes, (0.0, np.inf), "free", 1e-6, "it knows the optimum",
)  # fmt: skip


def register() -> None:
    """With Pyomo, once."""
    if "liar" not in pyo.SolverFactory._cls:
        SolverFactory.register(name="liar", doc="tells one lie after the other")(Liar)


def install(name: str, subject: str = "", mark: Path | None = None) -> None:
    """Put the liar beside the solvers of this process, for good: a child process is meant."""
    register()
    inner.SOLVERS["liar"] = INFO
    inner.pyomo_interface.INTERFACES["liar"] = "liar"
    inner.pyomo_interface._DEFAULTS["liar"] = {}
    inner.pyomo_interface._SEED["liar"] = "seed"
    inner.pyomo_interface._DUALS.add("liar")
    tell(name, subject, mark)


def tell(name: str, subject: str = "", mark: Path | None = None) -> None:
    """Choose the lie, and the model whose worse point it may need."""
    NOW.lie, NOW.mark = name, mark
    NOW.worse = SUBJECTS[subject].worse() if subject else {}


def telling(name: str, subject: str = "", mark: Path | None = None) -> Callable[[], None]:
    """What a child process calls to have the liar."""
    return functools.partial(install, name, subject, mark)
