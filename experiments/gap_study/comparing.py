"""Gap tables: one exact problem, its relaxations, every number with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, TypeAlias, overload

import numpy as np
import pyomo.environ as pyo

from tightmargin.experiments.gap_study.edited_alike import (
    EditFunction,
    Side,
    edited_copy,
    why_no_gap,
)
from tightmargin.experiments.gap_study.gap_table import Bound, Comparison
from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin, entry_named
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.edit import unedited_origin
from tightmargin.solvers.edits.premises import stands_for_itself
from tightmargin.solvers.edits.rederive import is_derived, put_again
from tightmargin.solvers.engines.registry import CLOCKLESS, SOLVERS, solver_named
from tightmargin.solvers.engines.running import SHORTEST, Limits, checked_limits, clock, ends_within
from tightmargin.solvers.errors import (
    LicenceError,
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.findings import describe
from tightmargin.solvers.kernel.statement import CLOSED
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import refuse_other_objects
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.registry import AUTO, build, remark_on
from tightmargin.solvers.result import Certificate, SolveResult, was_interrupted
from tightmargin.solvers.solve import solve
from tightmargin.solvers.tables import Framed, latex_of, table_page

# --- Every model solved with every solver: what came back, or the short reason why nothing did ---


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
    model = without_norms(without_quotients(without_disjunctions(model)))
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


# --- One table for many solvers, and whether they agree on every model ---------------------------
# The reference of a model is the value with the smallest proven gap; where no value is proven, the
# best of those whose bound is a solver's claim. A solver agrees when its value is as near to the
# reference as its own tolerance, stated in solvers/engines/registry.py, and what the reference
# leaves open admit. One that was stopped by the clock may be worse than the reference, never
# better.


COLUMNS = (
    "entry", "class", "solver", "version", "status", "objective", "proven bound", "difference",
    "tolerance", "agrees", "seconds", "certificate",
)  # fmt: skip

_NO_OPTIMUM = {Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED}


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Framed):
    """Answers of several solvers to several models."""

    rows: tuple[SolverRun, ...]
    _columns = COLUMNS

    def reference(self, row: SolverRun) -> SolverRun | None:
        """The answer that a row is measured by; None when no value is proven or claimed."""
        known = [r for r in self._answered(row) if r.objective is not None]
        proven = [r for r in known if _verdict(r).closed]
        if proven:
            return min(proven, key=_open_gap)
        claimed = [r for r in known if _verdict(r) is Verdict.SOLVER_BOUND]
        return min(claimed, key=lambda r: r.model.sense * (r.objective or 0.0), default=None)

    def difference(self, row: SolverRun) -> float | None:
        """Objective minus that of the reference, relative to max(1, |reference|)."""
        reference = self.reference(row)
        if reference is None or reference.objective is None or row.objective is None:
            return None
        return (row.objective - reference.objective) / max(1.0, abs(reference.objective))

    def agrees(self, row: SolverRun) -> bool | None:
        """Whether a row is as near to the reference as it claims; None when nothing can be said.

        Nothing can be said of a refusal, of the only answer, of models without a reference, and of
        a point found before the clock ran out.
        """
        if row.failed:
            return False
        others = [r for r in self._answered(row) if r is not row]
        if row.result is None or not others:
            return None
        reference, difference = self.reference(row), self.difference(row)
        if reference is None:
            return self._same_verdict_without_optimum(row)
        if difference is None:
            return None if row.stopped else False
        allowed = row.tolerance + _left_open(reference)
        if row.stopped and row.model.sense * difference > allowed:
            return None
        return abs(difference) <= allowed

    def disagreements(self) -> list[str]:
        """A sentence for every row that does not agree."""
        return [self._disagreement(row) for row in self.rows if self.agrees(row) is False]

    def unproven(self) -> list[str]:
        """A sentence for every model of which no solver gave a value that stands."""
        return [
            f"{rows[0].model.label}: no solver gave a value that is proven or claimed optimal"
            for rows in self.models()
            if self.reference(rows[0]) is None and not self._without_optimum(rows[0])
        ]

    def models(self) -> list[list[SolverRun]]:
        """Rows of each model."""
        found: dict[int, list[SolverRun]] = {}
        for row in self.rows:
            found.setdefault(id(row.model), []).append(row)
        return list(found.values())

    def _page(self) -> Page:
        wrong = len(self.disagreements())
        told = count_text(wrong, "disagreement") if wrong else "no disagreement"
        title = f"Agreement: {count_text(len(self.models()), 'model')}, {told}"
        columns = ("entry", "solver", "status", "objective", "agrees", "seconds")
        return table_page(title, self._records(), columns, more=".rows, .to_frame(), .to_latex()")

    def _records(self) -> list[dict[str, Any]]:
        """One row for every model and solver, in the order of `COLUMNS`."""
        return [self.record(row) for row in self.rows]

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """LaTeX table (booktabs).

        Parameters
        ----------
        columns : sequence of str, optional
            Of `to_frame`, in the order wanted; all of them otherwise.

        Raises
        ------
        ValueError
            A column that is none.
        """
        frame = self.to_frame()
        formats = {"difference": "{:.1e}", "tolerance": "{:.0e}", "seconds": "{:.3f}"}
        for column, form in formats.items():
            frame[column] = ["" if x != x or x is None else form.format(x) for x in frame[column]]
        frame["certificate"] = [str(text).partition(" (")[0] for text in frame["certificate"]]
        return latex_of(frame, columns, "%.9g")

    def record(self, row: SolverRun) -> dict[str, Any]:
        """One row as plain values, by column."""
        result = row.result
        cells = (
            row.model.label,
            row.model.problem_class,
            row.solver,
            row.version,
            row.status,
            row.objective,
            None if result is None else result.bound,
            self.difference(row),
            row.tolerance,
            {True: "yes", False: "NO", None: "-"}[self.agrees(row)],
            None if result is None else result.seconds,
            row.certificate,
        )
        return dict(zip(COLUMNS, cells, strict=True))

    def _answered(self, row: SolverRun) -> list[SolverRun]:
        return [r for r in self.rows if r.model is row.model and r.result is not None]

    def _without_optimum(self, row: SolverRun) -> bool:
        """Whether every answer to the row's model is that it has no optimum."""
        said = {r.result.status for r in self._answered(row) if r.result is not None}
        return bool(said) and said <= _NO_OPTIMUM

    def _same_verdict_without_optimum(self, row: SolverRun) -> bool | None:
        """Whether all say the same of a model without optimum, "infeasible or unbounded" aside."""
        if not self._without_optimum(row):
            return None
        said = {r.result.status for r in self._answered(row) if r.result is not None}
        return len(said - {Status.INFEASIBLE_OR_UNBOUNDED}) <= 1

    def _disagreement(self, row: SolverRun) -> str:
        reference = self.reference(row)
        if row.failed:
            return f"{row.model.label}: {row.solver} {row.refusal}: {row.sentence}"
        if reference is None:
            return f"{row.model.label}: {row.solver} says {row.status}, and others do not"
        best = f"{reference.solver} has {reference.objective:.9g}"
        if row.objective is None:
            return (
                f"{row.model.label}: {row.solver} says {row.status} ({row.certificate}), and {best}"
            )
        return (
            f"{row.model.label}: {row.solver} ends at {row.objective:.9g} and {best}, which is "
            f"{abs(self.difference(row) or 0.0):.1e} away; its tolerance is {row.tolerance:.0e}"
        )


def _verdict(row: SolverRun) -> Verdict:
    assert row.result is not None
    return row.result.certificate.verdict


def _open_gap(row: SolverRun) -> float:
    """Proven gap, relative to max(1, |objective|)."""
    assert row.result is not None
    gap = row.result.certificate.gap
    return float("inf") if gap is None else abs(gap)


def _left_open(reference: SolverRun) -> float:
    """How far the reference itself may be off."""
    if _verdict(reference).closed:
        return _open_gap(reference)
    return reference.tolerance


# --- What a caller names as rows of a table, and the models that they stand for ------------------


# A builder of the catalogue, its name, a pair of either with hyperparameters, or a Pyomo model.
Spec: TypeAlias = Any
# What is meant by it: a name, a (name, hyperparameters) pair, or a model.
Row: TypeAlias = str | tuple[str, Mapping[str, Any]] | pyo.ConcreteModel


def rows_of(given: Any) -> tuple[list[Row], dict[int, str]]:
    """Rows in order, and labels of some by their number.

    Parameters
    ----------
    given : spec, sequence of specs, or mapping from labels to specs

    Raises
    ------
    TypeError
        Something that stands for no model.
    """
    if isinstance(given, Mapping):
        for label in given:
            if not isinstance(label, str):
                raise TypeError(f"relaxations: a label is a string, got {label!r}")
        return [row_of(spec) for spec in given.values()], dict(enumerate(given))
    alone = _is_pair(given) or isinstance(given, str | pyo.Block) or not isinstance(given, Iterable)
    return [row_of(spec) for spec in ([given] if alone else given)], {}


def row_of(spec: Spec, argument: str = "relaxations") -> Row:
    """What a spec means.

    Raises
    ------
    TypeError
        Something that stands for no model.
    ValueError
        A function that is no builder of the catalogue.
    """
    if isinstance(spec, str):
        return spec
    if isinstance(spec, pyo.Block):
        refuse_other_objects("compare", spec, argument)
        return spec
    if _is_pair(spec):
        name = row_of(spec[0], argument)
        assert isinstance(name, str)
        return name, spec[1]
    if callable(spec):
        return _name_of(spec)
    raise TypeError(
        f"{argument}: a builder, its name, a (name, hyperparameters) pair or a model stands for a "
        f"row, got {type(spec).__name__}"
    )


def _is_pair(spec: Any) -> bool:
    named = isinstance(spec, Sequence) and len(spec) == 2 and isinstance(spec[1], Mapping)
    return named and (isinstance(spec[0], str) or callable(spec[0]))


def _name_of(builder: Callable[..., Any]) -> str:
    for entry in CATALOGUE.values():
        if builder is entry.build:
            return entry.name
    word = getattr(builder, "__name__", type(builder).__name__)
    raise ValueError(
        f"{word} is no builder of the catalogue: register it with tm.formulation, or give the "
        f"model that it builds{did_you_mean(word, CATALOGUE)}"
    )


def entry_of(row: Row) -> str | None:
    """Name in the catalogue; None for a foreign model."""
    if isinstance(row, pyo.ConcreteModel):
        origin = getattr(row, "origin", None)
        return origin.entry if isinstance(origin, Origin) else None
    return entry_named(_split(row)[0]).name


def label_of(row: Row) -> str:
    """Name of a row: the entry with its own parameters, or the model's name."""
    if isinstance(row, pyo.ConcreteModel):
        return f"{row.name} (model)"
    name, own = _split(row)
    words = ", ".join(f"{word}={value}" for word, value in own.items())
    return f"{name}:{words}" if words else name


def edited_label(row: Row, edit: EditFunction | None) -> str:
    """Name of a row that is built here and edited, or of one as it is given."""
    own = edit is not None and not isinstance(row, pyo.ConcreteModel)
    return f"{label_of(row)}, edited" if own else label_of(row)


def model_of(
    row: Row, data: BuilderData | None, common: Mapping[str, Any], edit: EditFunction | None
) -> pyo.ConcreteModel:
    """The model of a row: a given one as it is, one by name built and then edited.

    Parameters
    ----------
    common : mapping
        Hyperparameters; the row takes those that its entry has.
    """
    if isinstance(row, pyo.ConcreteModel):
        return row
    model = _built(row, data, common)
    return model if edit is None else edited_copy(model, edit, label_of(row))


def _built(row: Row, data: BuilderData | None, common: Mapping[str, Any]) -> pyo.ConcreteModel:
    if data is None:
        raise ValueError("compare needs data for rows given by name")
    name, own = _split(row)
    entry = entry_named(name)
    if not isinstance(data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(data, e.takes)]
        instead = f": take one of {', '.join(able)}" if able else ""
        raise ValueError(
            f"{name} reads {' or '.join(kind.__name__ for kind in entry.takes)}, not "
            f"{type(data).__name__}{instead}"
        )
    known = entry.parameters
    shared = {word: value for word, value in common.items() if word in known}
    return build(name, data, **(shared | dict(own)))


def _split(row: Row) -> tuple[str, Mapping[str, Any]]:
    assert not isinstance(row, pyo.ConcreteModel)
    return (row, {}) if isinstance(row, str) else row


def refuse_unknown(common: Mapping[str, Any]) -> None:
    """Raise ValueError for a common hyperparameter that no entry has: nobody would miss it."""
    known = {word: None for entry in CATALOGUE.values() for word in entry.parameters}
    for word in common:
        if word not in known:
            raise ValueError(
                f"parameters: no formulation has a hyperparameter {word!r}"
                f"{did_you_mean(word, known)}"
            )


def labelled_models(
    data: BuilderData | None,
    rows: Iterable[Spec],
    parameters: Mapping[str, Any] | None = None,
    labels: Mapping[int, str] | None = None,
    edit: EditFunction | None = None,
    time_limit: float | None = None,
) -> list[tuple[str, pyo.ConcreteModel]]:
    """Label and model of every row; what cannot be built is refused before anything is solved.

    Parameters
    ----------
    time_limit : float, optional
        Of each model, with what it is derived from.
    """
    common, names = dict(parameters or {}), labels or {}
    refuse_unknown(common)
    found = []
    for k, row in enumerate([row_of(row) for row in rows]):
        with ends_within(time_limit):
            model = model_of(row, data, common, edit)
        found.append((names.get(k, edited_label(row, edit)), model))
    return found


# --- What a solve says of a row: its bound, what of it is proven, and what is claimed ------------


def row_without_result(
    label: str, model: pyo.ConcreteModel, status: Status, told: str, seconds: float = 0.0
) -> Bound:
    """A row that was not solved, or failed."""
    described = describe(model)
    result = SolveResult(
        status=status, objective=None, bound=None, values={}, duals={},
        certificate=Certificate(Verdict.NOT_CERTIFIED, told), solver="", version="",
        seconds=seconds, message=told, problem_class="", **described,
    )  # fmt: skip
    return Bound(
        label, described["formulation"], result.parameters, None, None, status, "", seconds,
        Verdict.NOT_CERTIFIED, told, result,
    )  # fmt: skip


def _lacks_a_point(result: SolveResult) -> bool:
    """Whether the bound is proven and as good as the point, which misses a row by a little.

    A gap table is of bounds: nothing in it rests on the point of a relaxation.
    """
    gap = result.certificate.gap
    return result.bound is not None and gap is not None and gap <= CLOSED


def row_of_result(label: str, row: Row, result: SolveResult, apart: str) -> Bound:
    """A row of the table; `apart` says why it is no bound on the exact problem."""
    certificate = result.certificate
    name = result.formulation
    dual = name in CATALOGUE and CATALOGUE[name].dual_of is not None
    value = result.objective
    if dual:
        # A feasible point of the dual is a proof by itself; its own lower bound is not needed.
        value = None if result.objective is None else -result.objective
        proven = value if certificate.verdict is Verdict.CERTIFIED else None
    else:
        proven = result.bound
    remark, claimed = certificate.reason, None
    if apart:
        proven, remark = None, f"no bound: {apart}"
    elif certificate.unproven:
        proven, remark = None, f"no bound: {certificate.unproven}"
    elif (certificate.verdict is Verdict.NOT_CERTIFIED and not _lacks_a_point(result)) or (
        dual and proven is None
    ):
        claimed = value if dual or result.bound is None else result.bound
        proven = None
        remark = f"{certificate.verdict}: {certificate.reason}"
    elif isinstance(row, pyo.ConcreteModel) and not isinstance(
        getattr(row, "origin", None), Origin
    ):
        remark = "a foreign model: that it relaxes the exact one is the user's word"
    claim = value if dual else certificate.solver_bound
    if apart or certificate.unproven:
        claim = None
    boundless = Status.UNBOUNDED if dual else Status.INFEASIBLE
    sure = certificate.verdict is Verdict.CERTIFIED and not (apart or certificate.unproven)
    return Bound(
        label=label,
        entry=name,
        parameters=result.parameters,
        value=value,
        bound=proven,
        status=result.status,
        solver=result.solver,
        seconds=result.seconds,
        verdict=certificate.verdict,
        remark=remark,
        result=result,
        claimed=claimed,
        claim=claim,
        is_empty=sure and result.status is boundless,
    )


# --- Which formulation bounds which other one, in the same objective and with the same prices ----


@dataclass(frozen=True, eq=False)
class Problem:
    """What a model or a result says of the problem that it is about.

    Attributes
    ----------
    formulation : str
        Name in the catalogue, or of a foreign model.
    data : mapping
        n, d and a digest.
    normalisation : mapping
        Of a saved result, whose data are those before it.
    """

    formulation: str
    parameters: Mapping[str, Any]
    data: Mapping[str, Any]
    normalisation: Mapping[str, Any] = field(default_factory=dict)

    def named(self, name: str) -> Problem:
        """The same with a name."""
        return replace(self, formulation=name)


def refuse_unrelated(entry: Entry, exact_name: str) -> None:
    """Raise ValueError unless a row bounds the exact problem in the same normalisation."""
    if exact_name not in CATALOGUE:
        return
    exact_names = _same_problem(exact_name)
    if not _bounded_by(entry) & exact_names:
        allowed = [e.name for e in CATALOGUE.values() if _bounded_by(e) & exact_names]
        raise ValueError(
            f"{entry.name} is not known to bound {exact_name} from below in the same objective; "
            f"these do: {', '.join(allowed)}"
        )


_LOOSER_FIRST = ("free", "penalised", "none")
PRICES = (
    "penalty", "C", "ridge", "nu", "beta", "class_balance", "class_weight", "scale", "truncation",
    "norm_bound", "rank", "shape",
)  # fmt: skip


def refuse_other_price(exact: Problem, row: Problem) -> None:
    """A row with another penalty, or a tighter treatment of b, bounds another problem."""
    if not (exact.formulation and row.formulation):
        return
    for word in PRICES:
        if word not in row.parameters or word not in exact.parameters:
            continue
        own, wanted = (_written(problem.parameters[word]) for problem in (row, exact))
        if not np.array_equal(own, wanted):
            raise ValueError(
                f"{row.formulation} has {word}={own} and {exact.formulation} {word}={wanted}: "
                "it would bound another problem"
            )
    own, wanted = row.parameters.get("intercept"), exact.parameters.get("intercept")
    if own and wanted and _LOOSER_FIRST.index(own) > _LOOSER_FIRST.index(wanted):
        raise ValueError(
            f"{row.formulation} has intercept={own} and {exact.formulation} intercept={wanted}: "
            f"only a looser one ({' before '.join(_LOOSER_FIRST)}) gives a bound"
        )


def _written(value: Any) -> Any:
    """A shape such as 3x3 as the numbers it stands for; anything else as it is."""
    parts = value.split("x") if isinstance(value, str) else []
    return tuple(map(int, parts)) if parts and all(p.isdigit() for p in parts) else value


def refuse_other_data(exact: Problem, row: Problem) -> None:
    """A row on other data bounds another problem, a truncated factor of a kernel included."""
    own, wanted = row.data.get("sha256"), exact.data.get("sha256")
    if own is None or wanted is None or own == wanted:
        return
    if exact.normalisation or row.normalisation:
        return  # a saved result states the data before its preparation
    raise ValueError(
        f"{row.formulation} has other data (n={row.data['n']}, d={row.data['d']}) than "
        f"{exact.formulation} (n={exact.data['n']}, d={exact.data['d']}): it would bound another "
        "problem. A factor of a kernel matrix with fewer columns than its rank, or a centred one, "
        "is other data too: its value can be above that of the kernel. Give all rows one GramData"
    )


def exact_problem(name: str) -> str:
    """The problem at the end of what an entry relaxes, is the dual of, or restates."""
    entry = CATALOGUE[name]
    above = entry.relaxes or entry.dual_of or entry.restates
    return name if above is None else exact_problem(above)


def _bounded_by(entry: Entry) -> set[str]:
    """Names an entry bounds from below: itself, what it relaxes, and through its primal."""
    found = _same_problem(entry.name)
    for name in (entry.relaxes, entry.dual_of):
        if name is not None:
            found |= _bounded_by(CATALOGUE[name])
    return found


def _same_problem(name: str) -> set[str]:
    """Entries that state the same problem in the same objective."""
    root = CATALOGUE[name].restates or name
    return {root, *(e.name for e in CATALOGUE.values() if e.restates == root)}


NOT_SOLVED = "not solved: interrupted"
_WORDS_OF_SOLVE = tuple(signature(solve).parameters)[2:]  # without model and solver


@overload
def compare(
    data: BuilderData | None,
    relaxations: Spec | Sequence[Spec] | Mapping[str, Spec],
    *,
    exact: Spec | SolveResult | None = None,
    parameters: Mapping[str, Any] | None = None,
    solver: str = "auto",
    solvers: None = None,
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    include_uncertified: bool = False,
    edit: EditFunction | None = None,
    **limits: Any,
) -> Comparison: ...
@overload
def compare(
    data: BuilderData | None,
    relaxations: Spec | Sequence[Spec] | Mapping[str, Spec],
    *,
    exact: Spec | None = None,
    parameters: Mapping[str, Any] | None = None,
    solvers: str | Sequence[str],
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    edit: EditFunction | None = None,
    **limits: Any,
) -> Agreement: ...
def compare(
    data: BuilderData | None,
    relaxations: Spec | Sequence[Spec] | Mapping[str, Spec],
    *,
    exact: Spec | SolveResult | None = None,
    parameters: Mapping[str, Any] | None = None,
    solver: str = "auto",
    solvers: str | Sequence[str] | None = None,
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    include_uncertified: bool = False,
    edit: EditFunction | None = None,
    **limits: Any,
) -> Comparison | Agreement:
    """Table the gaps of relaxations of an exact problem, or the answers of several solvers.

    Parameters
    ----------
    data : TrainingData, GramData or MulticlassData
        For rows given by name; may be None when every row is a model.
    relaxations : row, sequence of rows, or mapping from labels to rows
        A row is a builder of the catalogue, its name, a pair of either with hyperparameters of its
        own, or a model, edited or foreign ones included.
    exact : row, or a result already at hand
        What they relax, by default the problem at the end of what the first row relaxes. Unless a
        solver is named, every row goes to the method or solver that solve() takes by itself.
    parameters : mapping
        Hyperparameters common to all; a row takes those it knows, its own come first.
    solver : str
        For every row and the exact problem, as in solve().
    solvers : sequence of names, or "all", optional
        Solve every row, which then need not relax anything, with each of these and tell whether
        they agree. "all" are the installed ones that take the class of a row.
    labels : mapping, optional
        Row number to label.
    progress : callable(str), optional
        Told what is being solved.
    include_uncertified : bool
        Give gaps to rows that are NOT_CERTIFIED too, and to an exact value that is inaccurate.
    edit : callable(model), optional
        Edits every model that is built here, the exact one included (of an exact model that is
        given, a copy): it adds rows, bounds or fixings in place. A relaxation whose derived M does
        not hold for the edited problem gets one that does. Models among the rows are taken
        as they are. A row has a gap only if what was added to it was added to the exact problem.
    limits
        time_limit, threads, seed, log as in solve(). The time limit is that of each row and of the
        exact problem, with building its model and deriving its numbers; so are the table's seconds.
        A point that several rows are derived from is found once, for the first of them.

    Returns
    -------
    Comparison, or Agreement when several solvers are asked
        A row whose solve raises an error has status "error" and says why; Ctrl-C ends the table
        after the rows that are finished.

    Raises
    ------
    TypeError
        Rows, parameters, an edit or words that are none.
    ValueError
        Before anything is solved: hyperparameters that a formulation refuses; a relaxation that
        relaxes something else, in another normalisation, or on other data; an edit of a result, or
        one that returns something else than the model.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> words = {"penalty": 1.0, "big_m": "derived"}
    >>> table = tm.compare(data, ["zero_one_relaxed", "conic_sdp"], parameters=words)
    >>> [row.bound <= table.upper for row in table.rows]
    [True, True]
    """
    given, own_labels = rows_of(relaxations)
    names = {**own_labels, **(labels or {})}
    exact = exact if exact is None or isinstance(exact, SolveResult) else row_of(exact, "exact")
    common = _checked(parameters, edit, solver, limits)
    if solvers is not None:
        if include_uncertified:
            raise ValueError("include_uncertified is about gaps: leave it out, or name one solver")
        specs = [*given, *([] if exact is None else [exact])]
        to_solve, limit = _to_solve(specs, solver), limits.get("time_limit")
        models = labelled_models(data, to_solve, common, names, edit, limit)
        return Agreement(_finished(solver_runs(models, solvers, progress=progress, **limits)))
    exact = _exact_of(given) if exact is None else exact
    built = _built_rows(given, exact, data, common, edit, limits.get("time_limit"))
    say = progress or (lambda text: None)

    def run(row: Row, model: _Timed) -> SolveResult:
        say(f"solving {label_of(row)}")
        ours = edit is not None and not isinstance(row, pyo.ConcreteModel)
        with ends_within(model.left(limits.get("time_limit"))):
            return (_edited if ours else solve)(model.model, solver, **limits)

    if isinstance(exact, SolveResult):
        theirs, stopped, exact_seconds = Side(None, exact), False, exact.seconds
    else:
        assert built.exact is not None
        began = clock()
        theirs = Side(built.exact.model, run(exact, built.exact))
        exact_seconds = built.exact.seconds + clock() - began
        stopped = was_interrupted(theirs.result)
    rows: list[Bound] = []
    for k, row in enumerate(given):
        label = names.get(k, edited_label(row, edit))
        timed = built.rows.pop(0)
        model, began = timed.model, clock() - timed.seconds
        if stopped:
            rows.append(row_without_result(label, model, Status.INTERRUPTED, NOT_SOLVED))
            continue
        try:
            result = run(row, timed)
        except KeyboardInterrupt:
            stopped = True
            rows.append(row_without_result(label, model, Status.INTERRUPTED, NOT_SOLVED))
        except Exception as error:  # what one row raises is that row's: the others stay
            told = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
            rows.append(row_without_result(label, model, Status.ERROR, told, clock() - began))
        else:
            stopped = was_interrupted(result)
            apart = why_no_gap(Side(model, result), theirs)
            found = row_of_result(label, row, result, apart)
            rows.append(replace(found, seconds=clock() - began))
    exact_result = theirs.result
    trusted = exact_result.status is not Status.INACCURATE or include_uncertified
    return Comparison(
        exact_result,
        theirs.name if isinstance(exact, SolveResult) else edited_label(exact, edit),
        exact_result.objective if trusted else None,
        tuple(rows),
        exact_result.data,
        include_uncertified,
        exact_seconds,
    )


def _edited(model: pyo.ConcreteModel, solver: str, **limits: Any) -> SolveResult:
    """A model that was built and edited here; a relaxation may get the M of the edited problem."""
    result = solve(model, solver, **limits)
    if not (result.certificate.unproven and stands_for_itself(model) and is_derived(model)):
        return result
    failed = isinstance(put_again(model, Limits(limits.get("time_limit"))), str)
    return result if failed else solve(model, solver, **limits)


def _checked(parameters: Any, edit: Any, solver: Any, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The common hyperparameters; raises for words that no solve would take."""
    if not isinstance(parameters, Mapping | None):
        raise TypeError(f"parameters must map names to values, got {type(parameters).__name__}")
    if edit is not None and not callable(edit):
        raise TypeError(f"edit must be a function of a model, got {type(edit).__name__}")
    if not isinstance(solver, str) or solver == ALL or "," in solver:
        raise ValueError(f"several solvers are asked with solvers={solver!r}, not solver=")
    if solver != AUTO:
        solver_named(solver)
    for word in limits:
        if word not in _WORDS_OF_SOLVE:
            hint = did_you_mean(word, _WORDS_OF_SOLVE)
            raise TypeError(f"compare() has no argument {word!r}{hint}")
    checked = signature(checked_limits).parameters
    checked_limits(**{word: value for word, value in limits.items() if word in checked})
    return dict(parameters or {})


@dataclass(frozen=True, eq=False)
class _Timed:
    """A model, and the seconds that building it took."""

    model: pyo.ConcreteModel
    seconds: float

    def left(self, time_limit: float | None) -> float | None:
        """What building left of a time limit, a moment at least."""
        return None if time_limit is None else max(time_limit - self.seconds, SHORTEST)


@dataclass(frozen=True, eq=False)
class _Built:
    """Models of the rows and of the exact problem; None where its result is at hand."""

    rows: list[_Timed]
    exact: _Timed | None


def _built_rows(
    given: Sequence[Row],
    exact: Row | SolveResult,
    data: BuilderData | None,
    common: Mapping[str, Any],
    edit: EditFunction | None,
    time_limit: float | None,
) -> _Built:
    """Every model, with all refusals that need no solve."""
    own_model: _Timed | None = None
    if isinstance(exact, SolveResult):  # a word may belong to the next table with this result
        if edit is not None:
            raise ValueError("edit: a result cannot be edited; give the exact problem by name")
        problem = Problem(exact.formulation, exact.parameters, exact.data, exact.normalisation)
    else:
        refuse_unknown(common)
        own_model = _timed(exact, data, common, edit, time_limit)
        theirs = own_model.model
        if isinstance(exact, pyo.ConcreteModel) and edit is not None:
            theirs = edited_copy(exact.clone(), edit, label_of(exact))
            own_model = _Timed(theirs, own_model.seconds)
        problem = Problem(**describe(theirs))
        problem = problem if problem.formulation else problem.named(str(theirs.name))
    rows = []
    for row in given:
        if not isinstance(row, pyo.ConcreteModel):
            refuse_unrelated(entry_named(entry_of(row) or ""), problem.formulation)
        timed = _timed(row, data, common, edit, time_limit)
        model = timed.model
        own = Problem(**describe(model))
        refuse_other_data(problem, own)
        refuse_other_price(problem, own)
        if edit is None and not isinstance(row, pyo.ConcreteModel):
            remark_on(model.origin)  # a family may refuse what it can tell only with a solve
        rows.append(timed)
    return _Built(rows, own_model)


def _timed(
    row: Row,
    data: BuilderData | None,
    common: Mapping[str, Any],
    edit: EditFunction | None,
    time_limit: float | None,
) -> _Timed:
    began = clock()
    with ends_within(time_limit):
        model = model_of(row, data, common, edit)
    return _Timed(model, clock() - began)


def _exact_of(rows: Sequence[Row]) -> str:
    """Name of the problem that the first row of the catalogue bounds."""
    names = [name for name in map(entry_of, rows) if name is not None]
    if names:
        exact = exact_problem(names[0])
        if len(names) == len(rows) and set(names) == {exact}:
            raise ValueError(
                f"{exact} relaxes nothing in the catalogue, and would be compared with itself: "
                "name the problem that it bounds by exact=, or by relaxes= where it is registered"
            )
        return exact
    raise ValueError("exact: no row is of the catalogue, so name the problem that they bound")


def _to_solve(rows: Sequence[Any], solver: str) -> Sequence[Row]:
    """What several solvers get; raises for a result at hand, and for one solver beside several."""
    if any(isinstance(row, SolveResult) for row in rows):
        raise ValueError("solvers: a result cannot be solved again; give its name or model")
    if solver != AUTO:
        raise ValueError("give either solver, for a gap table, or solvers, to compare them")
    return rows


def _finished(runs: Iterator[SolverRun]) -> tuple[SolverRun, ...]:
    """Answers until Ctrl-C, if there is one."""
    found: list[SolverRun] = []
    try:
        for answer in runs:
            found.append(answer)
            if answer.result is not None and was_interrupted(answer.result):
                break
    except KeyboardInterrupt:
        if not found:
            raise
    return tuple(found)
