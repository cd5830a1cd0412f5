"""Build a catalogue entry by name, with the solves some hyperparameters need beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Entry, entry_named, read_as
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import refuse_misspelt
from tightmargin.solvers.execution.deadline import clock, deriving_time
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.methods import IncumbentHeuristic, incumbents_of
from tightmargin.solvers.parameter_words import without_words

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
