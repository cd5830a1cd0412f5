"""Gap tables: one exact problem, its relaxations, every number with its certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, overload

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import entry_named
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.backends.registry import solver_named
from tightmargin.solvers.comparison.agreement import Agreement
from tightmargin.solvers.comparison.bounds import row_of_result, row_without_result
from tightmargin.solvers.comparison.gap_table import Bound, Comparison
from tightmargin.solvers.comparison.relations import (
    Problem,
    exact_problem,
    refuse_other_data,
    refuse_other_price,
    refuse_unrelated,
)
from tightmargin.solvers.comparison.rows import (
    Row,
    Spec,
    edited_label,
    entry_of,
    label_of,
    labelled_models,
    model_of,
    refuse_unknown,
    row_of,
    rows_of,
)
from tightmargin.solvers.comparison.solver_runs import ALL, SolverRun, solver_runs
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.derived import stands_for_itself
from tightmargin.solvers.edits.rederiving.rederived import is_derived, put_again
from tightmargin.solvers.edits.same_edit import Edit, Side, edited_copy, why_no_gap
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.deadline import clock, ends_within
from tightmargin.solvers.execution.limits import SHORTEST, Limits, checked_limits
from tightmargin.solvers.methods import AUTO, remark_on
from tightmargin.solvers.records import describe
from tightmargin.solvers.result import SolveResult, was_interrupted

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
    edit: Edit | None = None,
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
    edit: Edit | None = None,
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
    edit: Edit | None = None,
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
    built = _built(given, exact, data, common, edit, limits.get("time_limit"))
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


def _built(
    given: Sequence[Row],
    exact: Row | SolveResult,
    data: BuilderData | None,
    common: Mapping[str, Any],
    edit: Edit | None,
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
    edit: Edit | None,
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
