"""Which solver gets a model: the one that is named, checked, or the one that is preferred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.solvers.engines.exponential_cones import why_not
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
    return list(_capable(problem_class))


def _capable(problem_class: ProblemClass) -> Iterator[str]:
    """One at a time: asking the last ones for their licence takes a while."""
    for name in ORDER[problem_class]:
        info = SOLVERS[name]
        if info.installed and not info.broken and not info.unlicensed():
            yield name


@dataclass(frozen=True)
class ChosenSolver:
    """The solver that gets a model, and why.

    Attributes
    ----------
    why : str
        What speaks for it; empty when the user named it.
    how : str
        What else the user should know of the way it is used, such as "in dual form".
    """

    info: SolverInfo
    why: str = ""
    how: str = ""

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

    Parameters
    ----------
    timed : bool
        Whether there is a time limit: "auto" then takes a solver that it can stop.
    last : str, optional
        A solver that "auto" takes where no other can: that of the second opinion.
    failed : mapping
        Solvers that "auto" took already, and how they ended.

    Raises
    ------
    ValueError
        Unknown name.
    SolverNotInstalledError, ProblemClassError, SizeLimitError, NumberError
        Each naming what would work.
    """
    info = None if solver == "auto" else solver_named(solver)
    _refuse_mixed_semidefinite(problem_class, form)
    if info is None:
        return _choose_automatically(problem_class, form, timed, last, failed)
    objection_to_class = _not_of_its_classes(info, problem_class, form)
    if objection_to_class is not None:
        raise objection_to_class
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


def _refuse_mixed_semidefinite(problem_class: ProblemClass, form: StandardForm) -> None:
    """Raise for a semidefinite row beside what only solvers without such rows can take."""
    if not form.psd or problem_class is ProblemClass.SDP:
        return
    row = form.psd[0].data.name
    if form.integer.any():
        k = int(np.flatnonzero(form.integer)[0])
        beside = (
            f'the integer variable {form.columns.name(k)}: take method="branch-and-bound", relax '
            "its domain to an interval"
        )
    else:
        beside = "something that is not convex: replace or relax that"
    raise ProblemClassError(
        f"no solver here takes the semidefinite row {row} beside {beside}, or write the row with "
        "second-order cones"
    )


def _not_of_its_classes(
    info: SolverInfo, problem_class: ProblemClass, form: StandardForm
) -> ProblemClassError | None:
    known = problem_class in info.classes
    curved = known and form.nonlinear and info.name == _QUADRATIC
    if known and not curved:
        return None
    why = ""
    if curved:
        part = form.nonlinear[0]
        why = f"{part.name or part.ctype.__name__} is beyond degree two"
    elif info.name == "clarabel" and form.nonlinear:
        why = why_not(form)
    elif problem_class in info.by_name:
        why = takes(form)
        if not why:
            return None
    said = f"{info.name} cannot take {problem_class} models"
    if why:
        said = f"{info.name} cannot take this {problem_class} model: {why}"
    able = (name for name in capable(problem_class) if not (form.nonlinear and name == _QUADRATIC))
    others = ", ".join(able) or "none"
    return ProblemClassError(f"{said}; installed solvers that can: {others}")


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
    passed: list[str] = []
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
    names = [SOLVERS[name].distribution for name in ORDER[problem_class] if SOLVERS[name].free]
    named = capable(problem_class)
    raise SolverNotInstalledError(
        f"no installed solver takes {problem_class} models{' of its own accord' if named else ''}; "
        f"install {_either(names)}{f', or name {_either(named)}' if named else ''}"
    )


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


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


def takes(form: StandardForm) -> str:
    """Why a mixed-integer quadratic model cannot be solved this way; empty when it can."""
    Q = form.objective.Q
    if Q.nnz != np.count_nonzero(Q.diagonal()):
        return "its objective has products of variables, and tangents are for squares alone"
    return ""
