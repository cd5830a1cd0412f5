"""What families register, and generic code asks for: methods, bounds, remarks, incumbents.

No module that reads a model, runs a solver or decides a verdict names a formulation: families fill
these tables when `tightmargin.solvers` or `tightmargin.cuts` is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct

from tightmargin.formulations.catalogue import (
    CATALOGUE,
    INTEGER_CLASSES,
    Entry,
    Origin,
    entry_named,
    origin_now,
    read_as,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.data.point_weights import is_weighted, refusal_of_weights
from tightmargin.formulations.data.training_data import has_sparse_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import did_you_mean, refuse_misspelt
from tightmargin.printing import Printed
from tightmargin.solvers.engines.running import Limits, clock, deriving_time, live_line
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.reader import StandardForm

Values: TypeAlias = Mapping[str, Array]
SavedLemma: TypeAlias = tuple[Lemma | None, Mapping[str, Any]]

AUTO, DIRECT, BRANCH_AND_BOUND, OWN = "auto", "direct", "branch-and-bound", "tightmargin"
WORKERS = "workers"  # the option that says how many processes share the work
SCHEDULER = "scheduler"  # and the address of the dask scheduler whose workers do
PROCESSES = (WORKERS, SCHEDULER)


def processes_of(limits: Limits) -> dict[str, Any]:
    """Who shares the work of a method that takes these options."""
    return {WORKERS: limits.options.get(WORKERS, 1), SCHEDULER: limits.options.get(SCHEDULER)}


@dataclass(frozen=True, eq=False, repr=False)
class Finding(Printed):
    """Where a method of ours ended; what of it stands is decided like a solver's claim.

    Attributes
    ----------
    values : mapping
        Of the variables that fix the point; the entry's own check fills in the others.
    status : Status
        What the method says.
    engine : str
        What did the work, for the certificate's facts and for messages.
    bound : Lemma or None
        Proven lower bound on the objective of the model.
    multipliers : mapping
        Of rows, by name; those of cones and bounds are what stationarity leaves.
    bound_values : mapping
        Point at which the multipliers prove `bound`, where it is another one than `values`.
    facts : mapping
        Added to the certificate's.
    no_point : str
        What to say where the point is none of the model as it is written.
    options : mapping
        The method's own settings, for the record.
    solver, version : str
        Whose software ended at the point, where it was not ours.
    """

    values: Values
    status: Status
    engine: str
    bound: Lemma | None = None
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    bound_values: Values = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    no_point: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    solver: str = OWN
    version: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Method(Printed):
    """A method of ours for some formulations as they are built.

    Attributes
    ----------
    name : str
        The word after method=.
    entries : tuple of str
    run : callable(origin, limits) -> Finding
        Its own options are in `limits.options`.
    title : str
        What it does, in a sentence for --help and for the documentation.
    options : tuple of str
        Names that it takes in options=.
    draws : bool
        Whether it draws numbers, with seed 0 where none is given.
    refuses : callable(origin) -> str
        Why it does not take a model; empty when it does.
    automatic : callable(origin) -> str
        Why method="auto" leaves a model to it, with what was measured; empty when it does not.
    weighted : bool
        Whether it takes weighted points; one that does not is never asked about them.
    keeps_sparse : bool
        Whether it reads sparse points as they are; any other gets a dense copy when it is named.
    """

    name: str
    entries: tuple[str, ...]
    run: Callable[[Origin, Limits], Finding]
    title: str
    options: tuple[str, ...] = ()
    draws: bool = False
    refuses: Callable[[Origin], str] = lambda origin: ""
    automatic: Callable[[Origin], str] = lambda origin: ""
    weighted: bool = False
    keeps_sparse: bool = False

    def refusal(self, origin: Origin) -> str:
        """Why it does not take a model, weighted points among the reasons; empty when it does."""
        if is_weighted(origin.data) and not self.weighted:
            return refusal_of_weights(self.name)
        return self.refuses(origin)


@dataclass(frozen=True, eq=False)
class ClosingBounds:
    """Bounds of a family that need no solver's word, asked for where a gap is left open.

    entries: whose problem it is, in these words or in those of an entry that restates one.
    search(origin, values) -> Lemma or None: the cheap one first; `values` are those of the point,
        if there is one.
    relaxation(origin, limits) -> (Lemma or None, facts): a dearer one; with its facts `again`
        proves it once more.
    again(origin, facts) -> Lemma or None.
    optimal: openings of the proofs that end at a point: such a bound is the optimum.
    point(origin) -> values or None: nearer to the optimum than solvers may end; the entry's check
        gives the other values.
    weighted: whether all of this is true of weighted points; otherwise it is not asked about them.
    """

    entries: tuple[str, ...]
    search: Callable[[Origin, Values | None], Lemma | None]
    relaxation: Callable[[Origin, Limits], SavedLemma] | None = None
    again: Callable[[Origin, Mapping[str, Any]], Lemma | None] | None = None
    optimal: tuple[str, ...] = ()
    point: Callable[[Origin], Values | None] | None = None
    early: bool = False  # whether `search` bounds the model itself, cheaper than multipliers do
    weighted: bool = False


@dataclass(frozen=True, eq=False)
class IncumbentHeuristic:
    """How a family finds a good point for "derived" hyperparameters, and starts a model from it.

    applies(entry) -> bool.
    find(entry, data, parameters) -> pair or None.
    start(model, data, incumbent).
    reads: hyperparameters that `find` looks at: where they agree, so do the points it finds.
    weighted: whether `find` takes weighted points.
    """

    applies: Callable[[Entry], bool]
    find: Callable[[Entry, Any, Mapping[str, Any]], tuple[Any, Any] | None]
    start: Callable[[pyo.ConcreteModel, Any, tuple[Any, Any]], None]
    reads: tuple[str, ...]
    weighted: bool = False


_METHODS: list[Method] = []
_BOUNDS: list[ClosingBounds] = []
_REMARKS: list[tuple[tuple[str, ...], Callable[[Origin], str]]] = []
_INCUMBENTS: list[IncumbentHeuristic] = []


def register_method(method: Method) -> None:
    """Offer a method; its name must be new to each of its entries.

    Raises
    ------
    ValueError
        The name "direct", or one that an entry has already.
    """
    taken = [name for name in method.entries if method.name in _names(name)]
    if method.name in (DIRECT, BRANCH_AND_BOUND) or taken:
        where = f"{taken[0]} has it already" if taken else "it takes any model"
        raise ValueError(f"method {method.name!r} cannot be registered: {where}")
    _METHODS.append(method)


def register_closing_bounds(bounds: ClosingBounds) -> None:
    """Offer bounds that close gaps."""
    _BOUNDS.append(bounds)


def register_remark(entries: Sequence[str], remark: Callable[[Origin], str]) -> None:
    """Say something about hyperparameters before a solve; a ValueError refuses them."""
    _REMARKS.append((tuple(entries), remark))


def register_incumbents(incumbents: IncumbentHeuristic) -> None:
    """Offer incumbents for what is derived from one."""
    _INCUMBENTS.append(incumbents)


def _names(entry: str) -> list[str]:
    return [method.name for method in _METHODS if entry in method.entries]


def methods() -> tuple[Method, ...]:
    """Every registered method."""
    return tuple(_METHODS)


def registering_modules() -> tuple[str, ...]:
    """Modules whose import registers the methods, those of a script left out."""
    found = dict.fromkeys(method.run.__module__ for method in _METHODS)
    return tuple(name for name in found if name != "__main__")


def method_names(entry: str) -> tuple[str, ...]:
    """Every word that method= takes for a formulation as it is built."""
    whole = CATALOGUE[entry].problem_class in INTEGER_CLASSES
    generic = (AUTO, DIRECT, BRANCH_AND_BOUND) if whole else (AUTO, DIRECT)
    return tuple(dict.fromkeys((*generic, *_names(entry))))


def method_named(word: str, entry: str) -> Method:
    """The method of a formulation.

    Raises ValueError: the formulation has no such method; those that it has are named.
    """
    for method in _METHODS:
        if method.name == word and entry in method.entries:
            return method
    able = method_names(entry)
    raise ValueError(
        f"{entry} has no method {word!r}{did_you_mean(word, able)}; it has {', '.join(able)}"
    )


def method_of_any(word: str, more: Iterable[str] = ()) -> Method:
    """The first method of a name, whatever it is for; `more` are names besides, for the error.

    Raises ValueError: no formulation has such a method; all that there are are named.
    """
    for method in _METHODS:
        if method.name == word:
            return method
    names = (AUTO, DIRECT, BRANCH_AND_BOUND, *(m.name for m in _METHODS), *more)
    known = tuple(dict.fromkeys(names))
    raise ValueError(
        f"there is no method {word!r}{did_you_mean(word, known)}; there are {', '.join(known)}"
    )


def refuse_method(word: str, entry: str, *, solver: bool = False) -> None:
    """Raise ValueError for a word that method= does not take; `solver`: one is named as well."""
    if word not in (AUTO, DIRECT):
        if word != BRANCH_AND_BOUND or word not in method_names(entry):
            method_named(word, entry)
        refuse_solver_beside(word, solver=solver)


def refuse_solver_beside(word: str, *, solver: bool) -> None:
    """Raise ValueError for a method of ours where a solver is named as well."""
    if solver and word not in (AUTO, DIRECT):
        raise ValueError(
            f"method {word} needs no solver: solver and second_solver belong to method={DIRECT}"
        )


def automatic_method(origin: Origin) -> tuple[Method, str] | None:
    """What method="auto" takes for a model as it was built, and why; None leaves it to a solver."""
    sparse = has_sparse_points(origin.data)
    for method in _METHODS:
        if origin.entry in method.entries and (method.keeps_sparse or not sparse):
            why = "" if method.refusal(origin) else method.automatic(origin)
            if why:
                return method, why
    return None


def closing_bound(origin: Origin | None, values: Values | None = None) -> Lemma | None:
    """Lower bound on the paper's problem by a search of its family; None without one."""
    found = bounds_of(origin)
    return None if found is None or origin is None else found.search(origin, values)


def relaxation_bound(origin: Origin | None, limits: Limits) -> SavedLemma:
    """The dearer bound of the family, and the facts that prove it again."""
    found = bounds_of(origin)
    search = None if found is None else found.relaxation
    return (None, {}) if search is None or origin is None else search(origin, limits)


def saved_bounds(origin: Origin | None, facts: Mapping[str, Any]) -> Lemma | None:
    """The dearer bound proven again from the facts of a saved result."""
    found = bounds_of(origin)
    again = None if found is None else found.again
    return None if again is None or origin is None else again(origin, facts)


def ends_at_a_point(proof: str) -> bool:
    """Whether the proof of a bound names a point that has this value, so that it is the optimum."""
    return any(proof.startswith(bounds.optimal) for bounds in _BOUNDS if bounds.optimal)


def bounds_of(origin: Origin | None) -> ClosingBounds | None:
    """What the family of a model has registered."""
    if origin is None:
        return None
    names = {origin.entry, CATALOGUE[origin.entry].restates}
    able = (bounds for bounds in _BOUNDS if not names.isdisjoint(bounds.entries))
    weighted = is_weighted(origin.data)
    return next((bounds for bounds in able if bounds.weighted or not weighted), None)


def remark_on(origin: Origin | None) -> str:
    """What is to be said about the hyperparameters of a model before it is solved.

    Raises ValueError: a family refuses them.
    """
    if origin is None:
        return ""
    said = [remark(origin) for entries, remark in _REMARKS if origin.entry in entries]
    return "; ".join(words for words in said if words)


def incumbents_of(entry: Entry, data: Any) -> IncumbentHeuristic | None:
    """How to find an incumbent for a formulation; None also where its points are weighted."""
    able = (found for found in _INCUMBENTS if found.weighted or not is_weighted(data))
    return next((found for found in able if found.applies(entry)), None)


# --- Words for hyperparameters that are computed before a model is built, such as "tightened" ----


@dataclass(frozen=True, eq=False)
class Word:
    """A word that stands for hyperparameters that are computed before a model is built.

    parameters: whose value it may be.
    derive(entry, data, hyperparameters) -> dict: the hyperparameters without the word.
    """

    word: str
    parameters: tuple[str, ...]
    derive: Callable[[Entry, Any, Mapping[str, Any]], dict[str, Any]]


_WORDS: list[Word] = []


def register_word(word: Word) -> None:
    """Offer a word for hyperparameters."""
    _WORDS.append(word)


def without_words(entry: Entry, data: Any, hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters with what every registered word stands for."""
    found = dict(hyperparameters)
    for word in _WORDS:
        if any(isinstance(found.get(p), str) and found[p] == word.word for p in word.parameters):
            found = word.derive(entry, data, found)
    return found


# --- Build a catalogue entry by name, with the solves some hyperparameters need beforehand -------


INCUMBENT_FOR = ("big_m", "slack_bounds")


@dataclass(frozen=True)
class _Found:
    """A heuristic's point, and whether no clock ended the search for it."""

    incumbent: Any
    whole: bool


_FOUND: WeakKeyDictionary[BuilderData, dict[tuple[Any, str], _Found]] = WeakKeyDictionary()


def build(name: str, data: BuilderData, **parameters: Any) -> pyo.ConcreteModel:
    """Build an entry; what is "derived" from an incumbent gets one by our own heuristic first.

    Such a point is found once for the same data and the hyperparameters that it depends on. The
    builder itself, as `tm.zero_one_big_m`, searches for none and derives larger numbers.

    Parameters
    ----------
    name : str
        Of the catalogue.
    data : TrainingData, GramData or MulticlassData
        What the entry takes.
    **parameters
        Hyperparameters of the entry.

    Raises
    ------
    ValueError
        An unknown entry, with the nearest name; a hyperparameter that is missing or unknown, which
        is a TypeError too, as of the builder.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.build("c_svc", data, C=1.0).name
    'c_svc'
    """
    entry = entry_named(name)
    allowed = entry.parameters
    refuse_misspelt(name, inspect.signature(entry.build), (), parameters)
    readable, given = isinstance(data, entry.takes), data
    if readable:
        data = read_as(name, data)
        parameters = without_words(entry, data, parameters)
    family = incumbents_of(entry, data) if readable and "incumbent" in allowed else None
    derives = family is not None and _derives(allowed, parameters)
    if family and derives and parameters.get("incumbent") is None:
        known = _FOUND.setdefault(given, {})
        parameters = parameters | {"incumbent": _incumbent(family, entry, data, parameters, known)}
    model = entry.build(data, **parameters)
    if family and parameters.get("incumbent") is not None:
        family.start(model, data, parameters["incumbent"])
    return model


def _incumbent(
    family: IncumbentHeuristic,
    entry: Entry,
    data: BuilderData,
    parameters: Mapping[str, Any],
    known: dict[tuple[Any, str], _Found],
) -> Any:
    """A point of the family's heuristic, found once for all models of the same data and words.

    `known` are those of the data. One that a time limit cut short stands for others that have a
    limit too.
    """
    declared = entry.parameters
    words = [parameters.get(w, declared[w].default) for w in family.reads if w in declared]
    key = family.find, repr([np.asarray(value).tolist() for value in words])
    began, allowed = clock(), deriving_time()
    if key in known and (known[key].whole or allowed is not None):
        return known[key].incumbent
    with live_line(f"a point that {entry.name} is derived from"):
        incumbent = family.find(entry, data, parameters)
    known[key] = _Found(incumbent, allowed is None or clock() - began < allowed)
    return incumbent


def _derives(allowed: Mapping[str, inspect.Parameter], parameters: Mapping[str, Any]) -> bool:
    """Whether the model goes by an incumbent: "derived" says so, or there is no other choice."""
    if "incumbent" in allowed and not any(word in allowed for word in INCUMBENT_FOR):
        return True
    given = (
        parameters.get(word, allowed[word].default) for word in INCUMBENT_FOR if word in allowed
    )
    return any(isinstance(value, str) and value == "derived" for value in given)


# --- Where a search starts from: values that are at hand, and the heuristic of the family --------


def first_point(model: pyo.ConcreteModel, form: StandardForm) -> Array:
    """Integers to try first, by column; nan where nothing is known.

    What the variables hold counts. Where some hold nothing, the heuristic of the family is asked
    for a point of the formulation as it was built; what an edit has added stays open.
    """
    known = np.where(form.integer, form.point(), np.nan)
    if np.isfinite(known[form.integer]).all():
        return known
    values = _by_the_family(model)
    for k, name in enumerate(form.columns.names()):
        if form.integer[k] and not np.isfinite(known[k]):
            known[k] = values.get(name, np.nan)
    return known


def _by_the_family(model: pyo.ConcreteModel) -> dict[str, float]:
    """Values of a new model of the same builder, by the names of its variables."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return {}
    now = origin_now(model)
    entry = CATALOGUE[now.entry]
    # A family's heuristic knows how our builders name what they need, and nobody else's.
    ours = str(entry.build.__module__).startswith("tightmargin.")
    family = incumbents_of(entry, now.data) if ours else None
    if family is None:
        return {}
    found = now.parameters.get("incumbent")
    if found is None:
        found = family.find(entry, now.data, now.parameters)
    if found is None:
        return {}
    fresh = entry.build(now.data, **now.parameters)
    family.start(fresh, now.data, found)
    everywhere = fresh.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct))
    elements = (variable for component in everywhere for variable in component.values())
    return {v.name: float(v.value) for v in elements if v.value is not None}
