"""The doctor: what is installed, and which classes each solver proves right now.

Every class a solver claims is tried on a model of one to three variables whose optimum is known in
closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.modeling.semidefinite import psd
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
        What happened otherwise.
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
        Why its package cannot be imported although it is there; empty when it can.
    unlicensed : str
        Why it finds no licence here, so that nothing was tried; empty when it needs or has one.
    limits : str
        Largest models under the licence found here.
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


def _lp() -> tuple[pyo.ConcreteModel, float]:
    """min -x - 2y, x + y <= 4, 0 <= x <= 3, 0 <= y <= 2: -6 at (2, 2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, 2))
    m.sum = pyo.Constraint(expr=m.x + m.y <= 4)
    m.objective = pyo.Objective(expr=-m.x - 2 * m.y)
    return m, -6.0


def _qp() -> tuple[pyo.ConcreteModel, float]:
    """min x^2 + y^2, x + 2y = 5: the squared distance of the line from 0, 5 at (1, 2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.line = pyo.Constraint(expr=m.x + 2 * m.y == 5)
    m.objective = pyo.Objective(expr=m.x**2 + m.y**2)
    return m, 5.0


def _disc(square: float) -> pyo.ConcreteModel:
    """min -x - y on the disc x^2 + y^2 <= square."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-3, 3)), pyo.Var(bounds=(-3, 3))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= square)
    m.objective = pyo.Objective(expr=-m.x - m.y)
    return m


def _socp() -> tuple[pyo.ConcreteModel, float]:
    """min -x - y on the disc of radius sqrt(2): -2 at (1, 1)."""
    return _disc(2.0), -2.0


def _sdp() -> tuple[pyo.ConcreteModel, float]:
    """min x + y, [[x, 1], [1, y]] semidefinite: x y >= 1, so 2 at (1, 1)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    psd(m, "matrix", [[m.x], [1.0, m.y]])
    m.objective = pyo.Objective(expr=m.x + m.y)
    return m, 2.0


def _milp() -> tuple[pyo.ConcreteModel, float]:
    """A knapsack of size 4, things of value 5, 4, 3 and size 2, 3, 2: -8 with the outer two."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1, 2], within=pyo.Binary)
    m.size = pyo.Constraint(expr=2 * m.x[0] + 3 * m.x[1] + 2 * m.x[2] <= 4)
    m.objective = pyo.Objective(expr=-5 * m.x[0] - 4 * m.x[1] - 3 * m.x[2])
    return m, -8.0


def _miqp() -> tuple[pyo.ConcreteModel, float]:
    """min (x - 0.5)^2 + (y - 1.75)^2, x + y <= 2, whole numbers: 0.3125 at (0, 2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(bounds=(0, 3), within=pyo.Integers) for _ in range(2))
    m.sum = pyo.Constraint(expr=m.x + m.y <= 2)
    m.objective = pyo.Objective(expr=(m.x - 0.5) ** 2 + (m.y - 1.75) ** 2)
    return m, 0.3125


def _misocp() -> tuple[pyo.ConcreteModel, float]:
    """min -x - y on the disc of radius sqrt(3), x whole: -1 - sqrt(2) at (1, sqrt(2))."""
    m = _disc(3.0)
    m.x.domain = pyo.Integers
    return m, -1 - 2**0.5


def _lrcp() -> tuple[pyo.ConcreteModel, float]:
    """min x + 2y, x^2 + y^2 >= 1, 0 <= x, y <= 2: 1 at (1, 0)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.outside = pyo.Constraint(expr=m.x**2 + m.y**2 >= 1)
    m.objective = pyo.Objective(expr=m.x + 2 * m.y)
    return m, 1.0


def _exp() -> tuple[pyo.ConcreteModel, float]:
    """min exp(x) + exp(-x) - y, y <= 1: 1 at (0, 1)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(0, 1))
    m.objective = pyo.Objective(expr=pyo.exp(m.x) + pyo.exp(-m.x) - m.y)
    return m, 1.0


def _nonconvex() -> tuple[pyo.ConcreteModel, float]:
    """min x y, -1 <= x <= 1, -1 <= y <= 2: -2 at (-1, 2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(-1, 2))
    m.objective = pyo.Objective(expr=m.x * m.y)
    return m, -2.0


TRIALS: dict[ProblemClass, Callable[[], tuple[pyo.ConcreteModel, float]]] = {
    ProblemClass.LP: _lp,
    ProblemClass.QP: _qp,
    ProblemClass.SOCP: _socp,
    ProblemClass.SDP: _sdp,
    ProblemClass.EXP: _exp,
    ProblemClass.MILP: _milp,
    ProblemClass.MIQP: _miqp,
    ProblemClass.MISOCP: _misocp,
    ProblemClass.LRCP: _lrcp,
    ProblemClass.NONCONVEX: _nonconvex,
}


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
    unlicensed = info.unlicensed()
    classes = [c for c in TRIALS if not unlicensed and c in info.classes]
    return replace(
        report,
        version=info.version,
        unlicensed=unlicensed,
        trials=tuple(attempt(info.name, problem_class) for problem_class in classes),
        limits=_limits(info),
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
    found = "no point" if result.objective is None else f"{result.objective:.9g}"
    reason = f"{result.status} with {found} where {optimum:.9g} is optimal; {result.message}"
    return Trial(problem_class, False, result.seconds, reason)


def _limits(info: SolverInfo) -> str:
    """Size limits under the licence found here, in words."""
    if info.name != "gurobi":
        return "no size limit"
    if not gurobi_is_restricted():
        return "no size limit under the licence found"
    return (
        "at most 2000 variables and 2000 rows; 200 variables where anything is quadratic "
        "(restricted licence of the wheel)"
    )
