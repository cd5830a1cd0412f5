"""What is known about each builder: its class, its source, what it relaxes, how to re-check it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page, Printed, Readable, frame_of, value_text

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
Values = Mapping[str, NDArray[np.float64]]
# (w, b) of a hyperplane, or B (K, d) and b (K,) of several classes.
Classifier = Callable[["Origin", Values, Values], tuple[NDArray[np.float64], Any]]


class ProblemClass(StrEnum):
    """The class a solver must be able to take."""

    LP = "LP"
    QP = "QP"
    SOCP = "SOCP"
    SDP = "SDP"
    MILP = "MILP"
    MIQP = "MIQP"
    MISOCP = "MISOCP"
    LRCP = "LRCP"
    NONCONVEX = "NONCONVEX"


INTEGER_CLASSES = (ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP)


@dataclass(frozen=True, repr=False)
class PaperCheck(Printed):
    """A point re-evaluated from the data by the formulation's own formula.

    Attributes
    ----------
    objective : float
        The paper's objective at `repaired` (or at the given point when nothing was repaired).
    violation : float
        What remains infeasible after the repair, relative; 0 when the point is exactly feasible.
    repaired : mapping
        Values that replace the solver's, for example w scaled until kept points reach margin 1.
    bound : Lemma or None
        A lower bound on the optimum, proven in closed form from the point (never a solver's word).
    error : float or None
        Where the repaired point has no doubles for coordinates, as w on a sphere: a proven bound
        on how far its exact objective may lie from `objective`. The rows are then met by the
        formula, and `repaired` is the nearest that doubles say. None where rows can be checked.
    known : iterable of mappings
        Points of the model that the formulation knows without a solver, by variable name and in
        rational numbers; each is made when it is asked for, and the kernel says what it is.
    unproven : str
        Why the model is no exact statement of the paper's problem (say, a big-M without proof);
        empty when it is one.
    facts : mapping
        What a reader of the result wants to know: error counts, degenerate optimum, ...
    """

    objective: float
    violation: float = 0.0
    repaired: Values = field(default_factory=dict)
    bound: Lemma | None = None
    error: float | None = None
    known: Iterable[Mapping[str, Sequence[Fraction]]] = ()
    unproven: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Entry(Printed):
    """One row of the catalogue.

    Attributes
    ----------
    problem_class : ProblemClass
        Class of the built model, after a disjunctive model has been transformed.
    paper_class : str
        The paper's own word for it.
    relaxes : str or None
        Name of the entry this one bounds from below, in the same objective normalisation.
    restates : str or None
        Name of the entry that states the same problem in the same normalisation.
    dual_of : str or None
        Name of the entry whose dual this is; the model minimises minus the dual objective.
    takes : tuple of type
        Kinds of data the builder accepts.
    keeps_sparse : bool
        Whether the builder, `check` and `classifier` read sparse points as they are. Every other
        entry gets a dense copy of up to 2 GiB.
    check : callable(origin, values) or None
        Recomputes the paper's objective from the data.
    classifier : callable(origin, values, duals) -> (w, b) or None
        The separating hyperplane in the coordinates of `data.factor`; of several classes the rows
        B (K, d) and b (K,), with the label argmax_k <B_k, x> + b_k.
    """

    name: str
    build: Callable[..., pyo.ConcreteModel]
    problem_class: ProblemClass
    source: str
    paper_class: str
    relaxes: str | None = None
    dual_of: str | None = None
    restates: str | None = None
    takes: tuple[type, ...] = (TrainingData,)
    check: Callable[[Origin, Values], PaperCheck] | None = None
    classifier: Classifier | None = None
    keeps_sparse: bool = False

    def _page(self) -> Page:
        related = (
            ("relaxes", self.relaxes),
            ("dual of", self.dual_of),
            ("restates", self.restates),
        )
        facts = [
            ("problem", self.title),
            ("class", f"{self.problem_class} (in the paper: {self.paper_class})"),
            ("source", self.source),
            ("needs", ", ".join(self.parameters)),
            ("related", ", ".join(f"{word} {name}" for word, name in related if name)),
        ]
        return Page(f"Entry: {self.name}", [(word, text) for word, text in facts if text])

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Hyperparameters of the builder: everything after the data."""
        return MappingProxyType(dict(list(inspect.signature(self.build).parameters.items())[1:]))

    @property
    def title(self) -> str:
        """First line of the builder's docstring."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]


@dataclass(frozen=True, eq=False, repr=False)
class Origin(Printed):
    """Where a model came from: shared by clones, so that a result can be traced to its data.

    Its data are as the entry reads them: see `read_as`.
    """

    entry: str
    data: Any  # TrainingData, GramData or MulticlassData, whichever the entry takes
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", read_as(self.entry, self.data))

    def _page(self) -> Page:
        facts = [("data", value_text(self.data))]
        facts += [(word, value_text(value)) for word, value in self.parameters.items()]
        return Page(f"Origin: {self.entry}", [(word, text) for word, text in facts if text])

    def __deepcopy__(self, memo: object) -> Origin:
        """Clones of a model share the data."""
        return self


class Catalogue(dict[str, Entry], Readable, Drawn):
    """Entries by name; `plot` draws what relaxes, restates or dualises what."""

    def _page(self) -> Page:
        rows = [(entry.name, str(entry.problem_class), entry.title) for entry in self.values()]
        title = f"Catalogue: {count_text(len(self), 'formulation')}"
        more = "catalogue[name], .to_frame(), .plot()"
        return Page(title, columns=("name", "class", "problem"), rows=rows, more=more)

    def to_frame(self) -> pd.DataFrame:
        """A row for each formulation, by name."""
        rows = [
            {
                "name": entry.name,
                "problem": entry.title,
                "class": str(entry.problem_class),
                "relaxes": entry.relaxes or "",
                "restates": entry.restates or "",
                "dual_of": entry.dual_of or "",
                "hyperparameters": ", ".join(entry.parameters),
                "takes": ", ".join(kind.__name__ for kind in entry.takes),
                "keeps_sparse": entry.keeps_sparse,
                "source": entry.source,
            }
            for entry in self.values()
        ]
        return frame_of(rows).set_index("name")

    __repr__ = Readable.__repr__  # a dictionary has its own


CATALOGUE = Catalogue()


def read_as(entry: str, data: Any) -> Any:
    """Data as an entry reads them: sparse points only where it says that it keeps them so.

    Raises
    ------
    ValueError
        The dense points would need more than 2 GiB; the sentence names the entries that keep
        sparse points.
    """
    known = CATALOGUE.get(entry)
    if (known is not None and known.keeps_sparse) or not isinstance(data, TrainingData):
        return data
    others = ", ".join(sorted(name for name, other in CATALOGUE.items() if other.keeps_sparse))
    instead = f"select columns or rows, or take one that keeps sparse points: {others}"
    return data.dense_for(entry, instead)


def origin_now(model: pyo.ConcreteModel) -> Origin:
    """Origin with the present values of hyperparameters that are mutable Params of the model."""
    origin: Origin = model.origin
    present = dict(origin.parameters)
    for name in present:
        component = model.find_component(name)
        if isinstance(component, pyo.Param):
            numbers = [pyo.value(entry) for entry in component.values()]
            present[name] = np.array(numbers) if component.is_indexed() else numbers[0]
    return Origin(origin.entry, origin.data, present)


def _refuse_misspelt(
    name: str, signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]
) -> None:
    """Raise TypeError for a call that does not fit, with the nearest keyword."""
    data, *words = signature.parameters
    for word in named:
        if word not in signature.parameters:
            raise TypeError(
                f"{name} has no hyperparameter {word!r} (it has {', '.join(words)})"
                f"{did_you_mean(word, words)}"
            )
    if len(given) > 1:
        raise TypeError(f"{name} takes {data} alone by position: write {words[0]}=..., and so on")
    missing = [
        word
        for word in words
        if signature.parameters[word].default is inspect.Parameter.empty and word not in named
    ]
    if missing:
        raise TypeError(f"{name} needs {', '.join(missing)}: nothing is chosen for you")


def formulation(
    problem_class: ProblemClass,
    source: str,
    *,
    paper_class: str | None = None,
    relaxes: str | None = None,
    dual_of: str | None = None,
    restates: str | None = None,
    takes: tuple[type, ...] = (TrainingData,),
    check: Callable[[Origin, Values], PaperCheck] | None = None,
    classifier: Classifier | None = None,
    keeps_sparse: bool = False,
) -> Callable[[Callable[P, pyo.ConcreteModel]], Callable[P, pyo.ConcreteModel]]:
    """Register a builder under its function name; models it returns carry `origin`.

    See `Entry` for the words. `keeps_sparse` promises that nothing of the entry reads points by
    other means than those of `formulations/data/sparse_points.py` and products with vectors.
    """

    def register(build: Callable[P, pyo.ConcreteModel]) -> Callable[P, pyo.ConcreteModel]:
        name = build.__name__
        signature = inspect.signature(build)

        @functools.wraps(build)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> pyo.ConcreteModel:
            _refuse_misspelt(name, signature, args, kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments: list[tuple[str, Any]] = list(bound.arguments.items())
            data, hyperparameters = arguments[0][1], arguments[1:]
            if not isinstance(data, takes):
                kinds = " or ".join(kind.__name__ for kind in takes)
                raise TypeError(f"{name} takes {kinds}, got {type(data).__name__}")
            data = read_as(name, data)
            bound.arguments[arguments[0][0]] = data
            model = build(*bound.args, **bound.kwargs)
            model.name = name
            model.origin = Origin(name, data, dict(hyperparameters))
            return model

        CATALOGUE[name] = Entry(
            name, wrapped, problem_class, source, paper_class or problem_class.value, relaxes,
            dual_of, restates, takes, check, classifier, keeps_sparse,
        )  # fmt: skip
        return wrapped

    return register


def entry_named(name: str) -> Entry:
    """Catalogue entry, or a ValueError with the nearest names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    hint = did_you_mean(name, CATALOGUE, 3) or "; see tightmargin list"
    raise ValueError(f"no formulation is called {name!r}{hint}")
