"""Which solver gets a model: the one that is named, checked, or the one that is preferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.solvers.engines.clarabel import why_not
from tightmargin.solvers.engines.registry import (
    CLOCKLESS,
    ORDER,
    SOLVERS,
    SolverInfo,
    order,
    reason,
    solver_named,
)
from tightmargin.solvers.errors import (
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import coefficient_outside

_QUADRATIC = "gurobi"  # its interface takes what is not convex up to degree two


def capable(problem_class: ProblemClass) -> list[str]:
    """Installed solvers for a class that find their licence, preferred first."""
    infos = (SOLVERS[name] for name in ORDER[problem_class])
    return [i.name for i in infos if i.installed and not i.broken and not i.unlicensed()]


@dataclass(frozen=True)
class ChosenSolver:
    """The solver that gets a model, and why."""

    info: SolverInfo
    why: str = ""  # empty when the user named it
    how: str = ""  # such as "in dual form"

    @property
    def reason(self) -> str:
        """One sentence for the result; empty when the user named the solver."""
        way = f" {self.how}" if self.how else ""
        return f"auto took {self.info.name}{way}: {self.why}" if self.why else ""


def choose(
    solver: str,
    problem_class: ProblemClass,
    form: StandardForm,
    *,
    timed: bool = False,
    last: str | None = None,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> ChosenSolver:
    """Resolve "auto" or check a named solver against the model, before anything is started.

    With a time limit (`timed`) "auto" takes a solver that it can stop; `last`, the solver of the
    second opinion, where no other can; and none that has `failed`, which says how each ended.

    Raises ValueError: unknown name.
    Raises SolverNotInstalledError, ProblemClassError, SizeLimitError, NumberError: each naming what
        would work.
    """
    info = None if solver == "auto" else solver_named(solver)

    # A semidefinite row beside integers or something that is not convex is for no solver.
    if form.psd and problem_class is not ProblemClass.SDP:
        beside = "something that is not convex: replace or relax that"
        if form.integer.any():
            name = form.columns.name(int(np.flatnonzero(form.integer)[0]))
            beside = (
                f'the integer variable {name}: take method="branch-and-bound", relax its domain to '
                "an interval"
            )
        raise ProblemClassError(
            f"no solver here takes the semidefinite row {form.psd[0].data.name} beside {beside}, "
            "or write the row with second-order cones"
        )
    if info is None:
        return _choose_automatically(problem_class, form, timed, last, failed)

    # The class, and for some solvers the model.
    known, why = problem_class in info.classes, ""
    beyond = known and form.nonlinear and info.name == _QUADRATIC
    if beyond:
        part = form.nonlinear[0]
        why = f"{part.name or part.ctype.__name__} is beyond degree two"
    elif not known and info.name == "clarabel" and form.nonlinear:
        why = why_not(form)
    elif not known and problem_class in info.by_name:
        Q = form.objective.Q
        known = Q.nnz == np.count_nonzero(Q.diagonal())
        why = "its objective has products of variables, and tangents are for squares alone"
    if beyond or not known:
        able = [n for n in capable(problem_class) if not (form.nonlinear and n == _QUADRATIC)]
        model = f"this {problem_class} model: {why}" if why else f"{problem_class} models"
        raise ProblemClassError(
            f"{info.name} cannot take {model}; installed solvers that can: "
            f"{', '.join(able) or 'none'}"
        )

    # What is installed, and the numbers.
    absent = _absence(info)
    if absent:
        raise SolverNotInstalledError(
            f"{absent}; installed solvers for {problem_class}: "
            f"{', '.join(capable(problem_class)) or 'none'}"
        )
    objection = _objection(info, problem_class, form)
    if objection is not None:
        raise objection
    return ChosenSolver(info)


def _absence(info: SolverInfo) -> str:
    """Why a solver cannot be called at all, with the command that mends it; empty if it can."""
    if not info.installed:
        return f"{info.name} is not installed (pip install {info.distribution})"
    if info.broken:
        mend = f"pip install --force-reinstall {info.distribution}"
        return f"{info.name} is installed and cannot be imported, {info.broken} ({mend})"
    return ""


def _choose_automatically(
    problem_class: ProblemClass,
    form: StandardForm,
    timed: bool,
    last: str | None,
    failed: Mapping[str, str],
) -> ChosenSolver:
    """The first free solver that is there and does not object; why the ones before it are not."""
    passed: list[str] = []  # solvers that are not taken, and why
    objections: list[RefusedError] = []
    for name in sorted(order(problem_class, form), key=lambda word: word == last):
        info = SOLVERS[name]
        if not info.free:
            continue
        if name in failed:
            passed.append(f"{name} {failed[name]}")
            continue
        if timed and name in CLOCKLESS:
            passed.append(f"no time limit can stop {name}")
            continue
        absent = _absence(info)
        objection = None if absent else _objection(info, problem_class, form)
        if not absent and objection is None:
            return ChosenSolver(info, "; ".join([reason(name, problem_class, form), *passed]))
        if objection is not None:
            objections.append(objection)
        passed.append((absent or str(objection)).partition(";")[0])
    if objections:
        raise objections[0]
    free = [SOLVERS[name].distribution for name in ORDER[problem_class] if SOLVERS[name].free]
    named = " or ".join(capable(problem_class))
    raise SolverNotInstalledError(
        f"no installed solver takes {problem_class} models{' of its own accord' if named else ''}; "
        f"install {' or '.join(free)}{f', or name {named}' if named else ''}"
    )


def _objection(
    info: SolverInfo, problem_class: ProblemClass, form: StandardForm
) -> RefusedError | None:
    limit = info.limits(form)
    if limit:
        others = [n for n in capable(problem_class) if not SOLVERS[n].limits(form)]
        return SizeLimitError(
            f"{info.name}: the model has {limit}; try {', '.join(others) or 'a smaller model'}"
        )
    low, high = info.coefficients
    entry = coefficient_outside(form, low, high)
    if entry:
        return NumberError(
            f"{info.name} would silently drop or reject {entry}; it keeps magnitudes between "
            f"{low:g} and {high:g}: scale the data (normalise=zscore), or use clarabel for "
            "continuous convex models"
        )
    return None
