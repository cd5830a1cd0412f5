"""Every model solved with every solver: what came back, or the short reason why nothing did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from tightmargin.printing import Printed
from tightmargin.solvers.backends.preference import CLOCKLESS
from tightmargin.solvers.backends.registry import SOLVERS, solver_named
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.disjunctive.transformation import (
    is_disjunctive,
    transformation_of,
    transformed,
)
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.model_identity import unedited_origin
from tightmargin.solvers.errors import (
    LicenceError,
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.methods import remark_on
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.restated import representable
from tightmargin.solvers.transformations.epigraphs import without_norms
from tightmargin.solvers.transformations.quotients import without_quotients

ALL = "all"

_PHRASES: tuple[tuple[type[Exception], str], ...] = (
    (LicenceError, "no licence"),
    (SizeLimitError, "above its size limit"),
    (ProblemClassError, "does not take the class"),
    (SolverNotInstalledError, "not installed"),
    (NumberError, "coefficients out of its range"),
)
_NEAR_THE_LIMIT = 0.9


@dataclass(frozen=True, repr=False)
class Model(Printed):
    """What is known of a model before it is solved.

    Attributes
    ----------
    sense : int
        1 to minimise, -1 to maximise.
    """

    label: str
    problem_class: str
    sense: int

    def _title(self) -> str:
        return f"{self.label} ({self.problem_class})"


@dataclass(frozen=True, eq=False, repr=False)
class SolverRun(Printed):
    """What one solver made of one model.

    Attributes
    ----------
    model : Model
        The same object for all answers to one model.
    result : SolveResult or None
        None when the solver refused the model, or failed with an error of its own.
    refusal : str
        A short phrase for why there is no result.
    sentence : str
        The whole of it, and what would work.
    failed : bool
        Whether it was an error and no refusal.
    """

    model: Model
    solver: str
    version: str
    result: SolveResult | None
    refusal: str = ""
    sentence: str = ""
    failed: bool = False

    _shown = ("model", "solver", "version", "objective", "status", "certificate")

    @property
    def objective(self) -> float | None:
        """Objective, recomputed; None without a feasible point."""
        return None if self.result is None else self.result.objective

    @property
    def status(self) -> str:
        """Status of the result, or "refused" or "error"."""
        if self.result is not None:
            return str(self.result.status)
        return "error" if self.failed else "refused"

    @property
    def certificate(self) -> str:
        """Verdict with its reason, or why there is no result."""
        if self.result is None:
            return self.refusal
        certificate = self.result.certificate
        verdict = certificate.verdict
        told = verdict in (Verdict.WITHIN_TOLERANCE, Verdict.NOT_CERTIFIED)
        why = certificate.reason if told else ""
        return f"{certificate.verdict}{why and f' ({why})'}"

    @property
    def tolerance(self) -> float:
        """How far the solver may be off, relative to max(1, |optimum|)."""
        return SOLVERS[self.solver].tolerance_for(self.model.problem_class)

    @property
    def stopped(self) -> bool:
        """Whether the clock or the user ended it, so that its value claims nothing."""
        result = self.result
        if result is None or result.status is Status.OPTIMAL:
            return False
        timed = result.time_limit is not None
        late = timed and result.seconds >= _NEAR_THE_LIMIT * float(result.time_limit or 0.0)
        return late or result.status is Status.INTERRUPTED


def solvers_named(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of solvers from "all", one name, or several (also with commas); all known, none twice.

    "all" are those that are installed.
    """
    if names == ALL:
        return tuple(name for name, info in SOLVERS.items() if info.installed)
    words = names.split(",") if isinstance(names, str) else list(names)
    found = [word.strip() if isinstance(word, str) else word for word in words]
    for word in found:
        if word in ("auto", ALL):
            raise ValueError(f"{word} is no solver beside others: name solvers, or all alone")
        solver_named(word)
        if found.count(word) > 1:
            raise ValueError(f"solver {word} is named twice")
    if not found:
        raise ValueError(f"name at least one solver: {', '.join(SOLVERS)}, or all")
    return tuple(found)


def solver_runs(
    models: Sequence[tuple[str, pyo.ConcreteModel]],
    solvers: str | Sequence[str] = ALL,
    *,
    progress: Any = None,
    **limits: Any,
) -> Iterator[SolverRun]:
    """Solve every (label, model) with every solver, one after the other; the models stay as given.

    With "all", solvers that cannot take the class of a model are left out; a solver that was named
    gets a row that says so. No refusal and no failure of one solver ends the others.
    """
    checked_limits(**limits)
    names, say = solvers_named(solvers), progress or (lambda text: None)
    known = [_examined(label, model) for label, model in models]
    for this, (label, model) in zip(known, models, strict=True):
        for name in _takers(this) if solvers == ALL else names:
            say(f"solving {label} with {name}")
            yield _solver_run(this, model, name, limits)


def _takers(known: Model) -> list[str]:
    """Installed solvers that take a class, whether they find a licence or not."""
    found = [n for n, info in SOLVERS.items() if known.problem_class in info.classes]
    installed = [name for name in found if SOLVERS[name].installed]
    if not installed:
        raise SolverNotInstalledError(
            f"{known.label}: no installed solver takes {known.problem_class} models; install "
            f"{' or '.join(SOLVERS[name].distribution for name in found)}"
        )
    return installed


def _examined(label: str, model: pyo.ConcreteModel) -> Model:
    """Class and sense of a model; raises here for what no solver could mend."""
    if is_disjunctive(model):
        model = transformed(model, transformation_of(model))
    model = without_norms(without_quotients(model))
    _, form = representable(model)
    origin = unedited_origin(model, form)
    remark_on(origin)
    return Model(label, str(classify(form).problem_class), form.sense)


def _solver_run(
    known: Model, model: pyo.ConcreteModel, name: str, limits: Mapping[str, Any]
) -> SolverRun:
    info = SOLVERS[name]

    def without(phrase: str, error: Exception, failed: bool = False) -> SolverRun:
        sentence = " ".join(str(error).split())
        return SolverRun(known, name, info.version, None, phrase, sentence, failed)

    if info.installed and info.broken:
        return without("cannot be imported", ImportError(info.broken), failed=True)
    unlicensed = info.unlicensed() if info.installed else ""
    if unlicensed and known.problem_class in info.classes:
        # Asked here, because solve() would also write the model to a file.
        return without("no licence", LicenceError(f"{name} finds no licence ({unlicensed})"))
    if limits.get("time_limit") is not None and name in CLOCKLESS:
        return without("takes no time limit", ValueError(f"no time limit can stop {name}"))
    try:
        # A copy: the point of one solver must not be the start of the next.
        result = solve(model.clone(), name, **limits)
    except RefusedError as refusal:
        return without(next(text for kind, text in _PHRASES if isinstance(refusal, kind)), refusal)
    except Exception as error:  # what one solver's interface raises is its row, and exit code 1
        return without(f"failed: {type(error).__name__}", error, failed=True)
    return SolverRun(known, name, result.version, result)
