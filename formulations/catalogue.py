"""What is known about each builder: its class, its source, what it relaxes, how to re-check it."""

from __future__ import annotations

import dataclasses
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

from tightmargin.formulations.data.point_weights import is_weighted, refusal_of_weights
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import LARGEST, did_you_mean, one_of, refuse_misspelt
from tightmargin.gone import gone_text
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page, Printed, Readable, frame_of, value_text

if TYPE_CHECKING:
    import pandas as pd


# --- Classes of models: what a solver has to take ------------------------------------------------


class ProblemClass(StrEnum):
    """The class a solver must be able to take."""

    LP = "LP"
    QP = "QP"
    SOCP = "SOCP"
    SDP = "SDP"
    EXP = "EXP"
    MILP = "MILP"
    MIQP = "MIQP"
    MISOCP = "MISOCP"
    LRCP = "LRCP"
    NONCONVEX = "NONCONVEX"


INTEGER_CLASSES = (ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP)


# --- What a formulation's own formula says of a point --------------------------------------------

Values = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class PaperCheck(Printed):
    """A point re-evaluated from the data by the formulation's own formula.

    Attributes
    ----------
    objective : float
        The paper's objective at `repaired` (or at the given point when nothing was repaired).
    violation : float
        What remains infeasible after the repair, relative; 0 when the point is exactly feasible.
    unsaved : float
        Relative violation of rows through variables that no file holds. A saved result is held to
        it; of a model that is solved the rows themselves are checked.
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
    unsaved: float = 0.0
    repaired: Values = field(default_factory=dict)
    bound: Lemma | None = None
    error: float | None = None
    known: Iterable[Mapping[str, Sequence[Fraction]]] = ()
    unproven: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


# --- What is known about each builder: its class, its source, what it relaxes, how to re-check it

P = ParamSpec("P")
# (w, b) of a hyperplane, or B (K, d) and b (K,) of several classes.
Classifier = Callable[["Origin", Values, Values], tuple[NDArray[np.float64], Any]]


OTHERS = "a formulation that tm.catalogue.to_frame() calls weighted"


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
    weighted : bool
        Whether it takes weighted points: they are as good as repeated ones.
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
    weighted: bool = False
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

    Attributes
    ----------
    entry : str
        Name in the catalogue.
    data : TrainingData, GramData or MulticlassData
        Whichever the entry takes.
    parameters : mapping
        What the builder was given.
    base : Origin or None
        Of the catalogue model that the builder took and changed. What that model rests on, such as
        a derived M, does not stand in the rows, so that it is solved as an edit. None for a
        builder that says more of its models itself: by a check, or by whose relaxation, dual or
        restatement they are. An M that is proven anew for a relaxation is not one for that problem.
    """

    entry: str
    data: Any
    parameters: Mapping[str, Any]
    base: Origin | None = None

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

    def __missing__(self, name: str) -> Entry:
        """A KeyError with the nearest names."""
        raise KeyError(_unknown(name, did_you_mean(name, self, 3)))

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
                "weighted": entry.weighted,
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
    return dataclasses.replace(origin, parameters=present)


def formulation(
    problem_class: ProblemClass | str,
    source: str,
    *,
    paper_class: str | None = None,
    relaxes: str | None = None,
    dual_of: str | None = None,
    restates: str | None = None,
    takes: tuple[type, ...] = (TrainingData,),
    check: Callable[[Origin, Values], PaperCheck] | None = None,
    classifier: Classifier | None = None,
    weighted: bool = False,
    keeps_sparse: bool = False,
    replace: bool = False,
) -> Callable[[Callable[P, pyo.ConcreteModel]], Callable[P, pyo.ConcreteModel]]:
    """Register a builder under its function name; models it returns carry `origin`.

    A builder that is not `weighted` never sees weighted points: they are refused before it runs.
    A cell or a module that runs again registers its builders again.

    Parameters
    ----------
    problem_class : ProblemClass or its word
        What the built model is, such as "QP" or "MIQP".
    source : str
        Where the formulation is stated.
    paper_class : str, optional
        The source's own word for the class.
    relaxes, dual_of, restates : str, optional
        Name of the entry that this one bounds from below, is the dual of, or states again.
    takes : tuple of type
        Kinds of data that the builder accepts.
    check : callable(origin, values) -> PaperCheck, optional
        Recomputes the objective from the data; without it a certificate speaks of the rows alone.
    classifier : callable(origin, values, duals) -> (w, b), optional
        The hyperplane among the values, see `Entry`.
    weighted : bool
        Whether the builder takes weighted points.
    keeps_sparse : bool
        That nothing of the entry reads points by other means than those of
        `formulations/data/sparse_points.py` and products with vectors.
    replace : bool
        Take the name from a builder of yours that another module registered. Formulations of
        tightmargin keep theirs: methods and proofs know their problems by name.

    Raises
    ------
    ValueError
        An unknown problem class; a name that is taken; `relaxes`, `dual_of` or `restates` naming
        no formulation.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> from tightmargin.formulations import ProblemClass
    >>> @tm.formulation(ProblemClass.LP, source="mine")
    ... def shortest(data, *, least: float):
    ...     m = pyo.ConcreteModel()
    ...     m.x = pyo.Var(bounds=(least, None))
    ...     m.objective = pyo.Objective(expr=m.x)
    ...     return m
    >>> data = tm.TrainingData([[0.0], [1.0]], [-1, 1])
    >>> tm.solve(shortest(data, least=2.0)).objective
    2.0
    """
    speaks_for_itself = any((check, relaxes, dual_of, restates))
    known_class = ProblemClass(one_of("problem_class", problem_class, tuple(ProblemClass)))

    def register(build: Callable[P, pyo.ConcreteModel]) -> Callable[P, pyo.ConcreteModel]:
        name = build.__name__
        _refuse_taken(build, replace)
        if not str(build.__module__).startswith("tightmargin."):  # ours may name later ones
            for word, other in (("relaxes", relaxes), ("dual_of", dual_of), ("restates", restates)):
                if other is not None and other not in CATALOGUE:
                    hint = did_you_mean(other, CATALOGUE)
                    raise ValueError(f"{word} of {name}: no formulation is called {other!r}{hint}")
        signature = inspect.signature(build)

        @functools.wraps(build)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> pyo.ConcreteModel:
            refuse_misspelt(name, signature, args, kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments: list[tuple[str, Any]] = list(bound.arguments.items())
            data, hyperparameters = arguments[0][1], arguments[1:]
            if not isinstance(data, takes):
                kinds = " or ".join(kind.__name__ for kind in takes)
                raise TypeError(f"{name} takes {kinds}, got {type(data).__name__}")
            if not weighted and is_weighted(data):
                raise ValueError(f"{refusal_of_weights(name)}, or take {OTHERS}")
            data = read_as(name, data)
            _refuse_overflow(data)
            bound.arguments[arguments[0][0]] = data
            model = build(*bound.args, **bound.kwargs)
            if not isinstance(model, pyo.Block):
                raise TypeError(
                    f"the builder {name} returned {type(model).__name__}: it must return its "
                    "ConcreteModel, as by `return m` in its last line"
                )
            base = None if speaks_for_itself else getattr(model, "origin", None)
            model.name = name
            model.origin = Origin(name, data, dict(hyperparameters), base)
            return model

        CATALOGUE[name] = Entry(
            name, wrapped, known_class, source, paper_class or known_class.value, relaxes,
            dual_of, restates, takes, check, classifier, weighted, keeps_sparse,
        )  # fmt: skip
        return wrapped

    return register


def _refuse_overflow(data: Any) -> None:
    """Raise ValueError for dense points whose products are beyond doubles."""
    X = getattr(data, "X", None)
    if isinstance(X, np.ndarray) and X.size and max(X.max(), -X.min()) > LARGEST:
        raise ValueError(
            f"products of features as large as {max(X.max(), -X.min()):.3g} overflow: scale the "
            "data (normalise=zscore), or take other units"
        )


def _refuse_taken(build: Callable[..., Any], told: bool) -> None:
    """Raise ValueError where a builder's name is that of another module's, see `formulation`."""
    name, own = build.__name__, build.__module__
    place = own if name not in CATALOGUE else CATALOGUE[name].build.__module__
    if place == own:
        return
    if place.startswith("tightmargin."):
        raise ValueError(
            f"{name} is a formulation of tightmargin, whose methods and proofs know its problem by "
            "this name: give yours another one"
        )
    if not told:
        raise ValueError(
            f"{name} is registered by {place} already: give this one of {own} another name, or say "
            "replace=True"
        )


def entry_named(name: str) -> Entry:
    """Catalogue entry, or a ValueError with the nearest names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    raise ValueError(_unknown(name, did_you_mean(name, CATALOGUE, 3) or "; see tightmargin list"))


def _unknown(name: str, hint: str) -> str:
    return gone_text(name) or f"no formulation is called {name!r}{hint}"
