"""What a caller names as rows of a table, and the models that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, entry_named
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.edits.same_edit import Edit, edited_copy
from tightmargin.solvers.execution.deadline import ends_within
from tightmargin.solvers.model_building import build
from tightmargin.solvers.standard_form.readable import refuse_other_objects

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


def edited_label(row: Row, edit: Edit | None) -> str:
    """Name of a row that is built here and edited, or of one as it is given."""
    own = edit is not None and not isinstance(row, pyo.ConcreteModel)
    return f"{label_of(row)}, edited" if own else label_of(row)


def model_of(
    row: Row, data: BuilderData | None, common: Mapping[str, Any], edit: Edit | None
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
    edit: Edit | None = None,
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
