"""The doctor: what is installed, and which classes each solver proves right now.

Every class a solver claims is tried on a model of one to three variables whose optimum is known in
closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.modeling.cones import psd
from tightmargin.solvers.engines.registry import SOLVERS, SolverInfo, gurobi_is_restricted
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.solve import solve

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Trial:
    """A class, tried on its tiny model.

    Attributes
    ----------
    proven : bool
        The solver called the known optimum optimal.
    reason : str
        Of a failure.
    """

    problem_class: ProblemClass
    proven: bool
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class SolverReport:
    """Everything the doctor says about one solver.

    Attributes
    ----------
    broken : str
        Why an installed package cannot be imported, or an empty string.
    unlicensed : str
        Why it finds no licence, so that nothing was tried, or an empty string.
    limits : str
        Largest models under the licence here.
    """

    name: str
    installed: bool
    version: str
    licence: str
    broken: str
    unlicensed: str
    trials: tuple[Trial, ...]
    limits: str
    install: str

    @property
    def healthy(self) -> bool:
        """Not installed, without licence, or proving every class it claims."""
        return not self.broken and all(trial.proven for trial in self.trials)


Build = Callable[[], tuple[pyo.ConcreteModel, float]]
Rule = Callable[[Any, Any], Any]
BOX = (-3, 3)


def _of(
    optimum: float, objective: Rule, row: Rule | None = None, x: Any = (None, None),
    y: Any = (None, None), domain: Any = pyo.Reals, domain_of_y: Any = None,
) -> Build:  # fmt: skip
    """A model of two variables with at most one row, and its optimum."""

    def build() -> tuple[pyo.ConcreteModel, float]:
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(bounds=x, within=domain), pyo.Var(bounds=y, within=domain_of_y or domain)
        if row is not None:
            m.row = pyo.Constraint(expr=row(m.x, m.y))
        m.objective = pyo.Objective(expr=objective(m.x, m.y))
        return m, optimum

    return build


def _sdp() -> tuple[pyo.ConcreteModel, float]:
    """[[x, 1], [1, y]] is semidefinite: x y >= 1, so 2 at (1, 1)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    psd(m, "matrix", [[m.x], [1.0, m.y]])
    m.objective = pyo.Objective(expr=m.x + m.y)
    return m, 2.0


TRIALS: dict[ProblemClass, Build] = {
    # at (2, 2)
    ProblemClass.LP: _of(-6.0, lambda x, y: -x - 2 * y, lambda x, y: x + y <= 4, (0, 3), (0, 2)),
    # the squared distance of a line from 0, at (1, 2)
    ProblemClass.QP: _of(5.0, lambda x, y: x**2 + y**2, lambda x, y: x + 2 * y == 5),
    # a disc, at (1, 1)
    ProblemClass.SOCP: _of(-2.0, lambda x, y: -x - y, lambda x, y: x**2 + y**2 <= 2, BOX, BOX),
    ProblemClass.SDP: _sdp,
    # at (0, 1)
    ProblemClass.EXP: _of(
        1.0, lambda x, y: pyo.exp(x) + pyo.exp(-x) - y, None, (-1, 1), (0, 1)
    ),
    # a knapsack that takes the smaller of two things
    ProblemClass.MILP: _of(
        -5.0, lambda x, y: -5 * x - 4 * y, lambda x, y: 2 * x + 3 * y <= 4, domain=pyo.Binary
    ),
    # at (0, 2)
    ProblemClass.MIQP: _of(
        0.3125, lambda x, y: (x - 0.5) ** 2 + (y - 1.75) ** 2, lambda x, y: x + y <= 2,
        (0, 3), (0, 3), pyo.Integers,
    ),
    # at (1, sqrt(2))
    ProblemClass.MISOCP: _of(
        -1 - 2**0.5, lambda x, y: -x - y, lambda x, y: x**2 + y**2 <= 3, BOX, BOX,
        pyo.Integers, pyo.Reals,
    ),
    # outside of a disc, at (1, 0)
    ProblemClass.LRCP: _of(
        1.0, lambda x, y: x + 2 * y, lambda x, y: x**2 + y**2 >= 1, (0, 2), (0, 2)
    ),
    # at (-1, 2)
    ProblemClass.NONCONVEX: _of(-2.0, lambda x, y: x * y, None, (-1, 1), (-1, 2)),
}  # fmt: skip


def examine(names: Iterable[str] = tuple(SOLVERS)) -> list[SolverReport]:
    """Examine solvers by name; those without package or licence are reported, not tried."""
    return [_report(SOLVERS[name]) for name in names]


def _report(info: SolverInfo) -> SolverReport:
    install = f"pip install {info.distribution}"
    broken = info.broken if info.installed else ""
    report = SolverReport(info.name, info.installed, "", info.licence, broken, "", (), "", install)
    if broken:
        install = f"pip install --force-reinstall {info.distribution}"
        return replace(report, install=install)
    if not info.installed:
        return report
    limits = "no size limit"
    if info.name == "gurobi":
        limits += " under the licence found"
        if gurobi_is_restricted():
            limits = (
                "at most 2000 variables and 2000 rows; 200 variables where anything is quadratic "
                "(restricted licence of the wheel)"
            )
    unlicensed = info.unlicensed()
    classes = [c for c in TRIALS if not unlicensed and c in info.classes]
    return replace(
        report,
        version=info.version,
        unlicensed=unlicensed,
        trials=tuple(attempt(info.name, problem_class) for problem_class in classes),
        limits=limits,
    )


def attempt(name: str, problem_class: ProblemClass) -> Trial:
    """Solve the tiny model of a class with one solver and compare with the closed form."""
    model, optimum = TRIALS[problem_class]()
    try:
        result = solve(model, name)
    except Exception as error:  # whatever a broken installation raises is the diagnosis
        return Trial(problem_class, False, reason=f"{type(error).__name__}: {error}")
    if result.problem_class != problem_class:
        return Trial(problem_class, False, reason=f"classified as {result.problem_class}")
    right = result.objective is not None and abs(result.objective - optimum) <= TOLERANCE
    if right and result.status is Status.OPTIMAL:
        return Trial(problem_class, True, result.seconds)
    value = "no point" if result.objective is None else f"{result.objective:.9g}"
    reason = f"{result.status} with {value} where {optimum:.9g} is optimal; {result.message}"
    return Trial(problem_class, False, result.seconds, reason)
