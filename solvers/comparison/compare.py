"""Gap tables: one exact problem, its relaxations, every number with its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, entry_named
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.comparison.agreement import Agreement
from tightmargin.solvers.comparison.gap_table import Bound, Comparison
from tightmargin.solvers.comparison.relations import (
    exact_problem,
    refuse_other_data,
    refuse_other_price,
    refuse_unrelated,
)
from tightmargin.solvers.comparison.solver_runs import ALL, solver_runs
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.same_edit import Edit, Side, edited_copy, why_no_gap
from tightmargin.solvers.model_building import build
from tightmargin.solvers.proofs.gap import CLOSED
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import SolveResult, Status

Spec = Any  # a name, a (name, parameters) pair, or a Pyomo model


@overload
def compare(
    data: BuilderData | None,
    relaxations: Sequence[Spec],
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
    relaxations: Sequence[Spec],
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
    relaxations: Sequence[Spec],
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
    relaxations : sequence
        Names, (name, parameters) pairs, or models, edited ones included.
    exact : name, pair, model, or a result already at hand
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
        given, a copy): it adds rows, bounds or fixings in place. Models among the rows are taken
        as they are. A row has a gap only if what was added to it was added to the exact problem.
    limits
        time_limit, threads, seed, log as in solve().

    Returns
    -------
    Comparison, or Agreement when several solvers are asked

    Raises
    ------
    ValueError
        A relaxation that relaxes something else, in another normalisation, or on other data; an
        edit of a result, or one that returns something else than the model.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> words = {"penalty": 1.0, "big_m": "derived"}
    >>> table = tm.compare(data, ["zero_one_relaxed", "conic_sdp"], parameters=words)
    >>> [row.bound <= table.upper for row in table.rows]
    [True, True]
    """
    if solvers is not None:
        if include_uncertified:
            raise ValueError("include_uncertified is about gaps: leave it out, or name one solver")
        specs = [*relaxations, *([] if exact is None else [exact])]
        models = labelled_models(data, _to_solve(specs, solver), parameters, labels, edit)
        return Agreement(tuple(solver_runs(models, solvers, progress=progress, **limits)))
    if not isinstance(solver, str) or solver == ALL or "," in solver:
        raise ValueError(f"several solvers are asked with solvers={solver!r}, not solver=")
    exact = _exact_of(relaxations) if exact is None else exact
    common = dict(parameters or {})
    _refuse_settings(exact, common, edit)
    say = progress or (lambda text: None)

    def run(spec: Spec) -> tuple[pyo.ConcreteModel, SolveResult]:
        model = _model(spec, data, common, edit)
        say(f"solving {label_of(spec)}")
        return model, solve(model, solver, **limits)

    if isinstance(exact, SolveResult):
        theirs = Side(None, exact)
    else:
        if isinstance(exact, pyo.ConcreteModel) and edit is not None:
            exact = edited_copy(exact.clone(), edit, label_of(exact))
        theirs = Side(*run(exact))
    exact_result, exact_name = theirs.result, theirs.name
    rows = []
    for k, spec in enumerate(relaxations):
        if not isinstance(spec, pyo.ConcreteModel):
            refuse_unrelated(entry_named(_split(spec)[0]), exact_name)
        model, result = run(spec)
        refuse_other_data(exact_result, result)
        refuse_other_price(exact_result, result)
        apart = why_no_gap(Side(model, result), theirs)
        rows.append(_row((labels or {}).get(k, _label(spec, edit)), spec, result, apart))
    trusted = exact_result.status is not Status.INACCURATE or include_uncertified
    return Comparison(
        exact_result,
        _label(exact, edit) if not isinstance(exact, SolveResult) else exact_name,
        exact_result.objective if trusted else None,
        tuple(rows),
        exact_result.data,
        include_uncertified,
    )


def _exact_of(relaxations: Sequence[Spec]) -> str:
    """Name of the problem that the first row of the catalogue bounds."""
    for spec in relaxations:
        origin = getattr(spec, "origin", None)
        known = origin.entry if isinstance(origin, Origin) else None
        if not isinstance(spec, pyo.ConcreteModel):
            known = entry_named(_split(spec)[0]).name
        if known is not None:
            return exact_problem(known)
    raise ValueError("exact: no row is of the catalogue, so name the problem that they bound")


def _to_solve(specs: Sequence[Spec], solver: str) -> Sequence[Spec]:
    """What several solvers get; raises for a result at hand, and for one solver beside several."""
    if any(isinstance(spec, SolveResult) for spec in specs):
        raise ValueError("solvers: a result cannot be solved again; give its name or model")
    if solver != "auto":
        raise ValueError("give either solver, for a gap table, or solvers, to compare them")
    return specs


def labelled_models(
    data: BuilderData | None,
    specs: Sequence[Spec],
    parameters: Mapping[str, Any] | None = None,
    labels: Mapping[int, str] | None = None,
    edit: Edit | None = None,
) -> list[tuple[str, pyo.ConcreteModel]]:
    """Label and model of every row; what cannot be built is refused before anything is solved."""
    common, names = dict(parameters or {}), labels or {}
    _refuse_unknown(common)
    return [
        (names.get(k, _label(spec, edit)), _model(spec, data, common, edit))
        for k, spec in enumerate(specs)
    ]


def _refuse_settings(exact: Spec | SolveResult, common: Mapping[str, Any], edit: Any) -> None:
    if not isinstance(exact, SolveResult):  # one row after another: a word may belong to the next
        _refuse_unknown(common)
    elif edit is not None:
        raise ValueError("edit: a result cannot be edited; give the exact problem by name")


def _refuse_unknown(common: Mapping[str, Any]) -> None:
    """Raise ValueError for a common hyperparameter that no entry has: nobody would miss it."""
    known = {word: None for entry in CATALOGUE.values() for word in entry.parameters}
    for word in common:
        if word not in known:
            raise ValueError(
                f"parameters: no formulation has a hyperparameter {word!r}"
                f"{did_you_mean(word, known)}"
            )


def _split(spec: Spec) -> tuple[str, Mapping[str, Any]]:
    assert not isinstance(spec, pyo.ConcreteModel)
    return (spec, {}) if isinstance(spec, str) else spec


def _model(
    spec: Spec, data: BuilderData | None, common: Mapping[str, Any], edit: Edit | None
) -> pyo.ConcreteModel:
    """The model of a row: a given one as it is, one by name built and then edited."""
    if isinstance(spec, pyo.ConcreteModel):
        return spec
    model = _built(spec, data, common)
    return model if edit is None else edited_copy(model, edit, label_of(spec))


def _built(spec: Spec, data: BuilderData | None, common: Mapping[str, Any]) -> pyo.ConcreteModel:
    if data is None:
        raise ValueError("compare needs data for rows given by name")
    name, own = _split(spec)
    entry = entry_named(name)
    if not isinstance(data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(data, e.takes)]
        raise ValueError(
            f"{name} reads {' or '.join(kind.__name__ for kind in entry.takes)}, not "
            f"{type(data).__name__}: take one of {', '.join(able)}"
        )
    known = entry.parameters
    shared = {word: value for word, value in common.items() if word in known}
    return build(name, data, **(shared | dict(own)))


def label_of(spec: Spec) -> str:
    """Name of a row: the entry with its own parameters, or the model's name."""
    if isinstance(spec, pyo.ConcreteModel):
        return f"{spec.name} (model)"
    name, own = _split(spec)
    words = ", ".join(f"{word}={value}" for word, value in own.items())
    return f"{name}:{words}" if words else name


def _label(spec: Spec, edit: Edit | None) -> str:
    own = edit is not None and not isinstance(spec, pyo.ConcreteModel)
    return f"{label_of(spec)}, edited" if own else label_of(spec)


def _lacks_a_point(result: SolveResult) -> bool:
    """Whether the bound is proven and as good as the point, which misses a row by a little.

    A gap table is of bounds: nothing in it rests on the point of a relaxation.
    """
    gap = result.certificate.gap
    return result.bound is not None and gap is not None and gap <= CLOSED


def _row(label: str, spec: Spec, result: SolveResult, apart: str) -> Bound:
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
    elif isinstance(spec, pyo.ConcreteModel) and not isinstance(
        getattr(spec, "origin", None), Origin
    ):
        remark = "a foreign model: that it relaxes the exact one is the user's word"
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
    )
