"""Build a catalogue entry by name, with the solves some hyperparameters need beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import entry_named, read_as
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.methods import incumbents_of
from tightmargin.solvers.parameter_words import without_words

INCUMBENT_FOR = ("big_m", "slack_bounds")


def build(name: str, data: BuilderData, **parameters: Any) -> pyo.ConcreteModel:
    """Build an entry; what is "derived" from an incumbent gets one by our own heuristic first.

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
        Unknown entry or hyperparameter (with the nearest name), or a required one is missing.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.build("c_svc", data, C=1.0).name
    'c_svc'
    """
    entry = entry_named(name)
    allowed = entry.parameters
    for given in parameters:
        if given not in allowed:
            raise ValueError(
                f"{name} has no hyperparameter {given!r} (it has {', '.join(allowed)})"
                f"{did_you_mean(given, allowed)}"
            )
    missing = [
        word
        for word, declared in allowed.items()
        if declared.default is inspect.Parameter.empty and word not in parameters
    ]
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}: nothing is chosen for you")
    readable = isinstance(data, entry.takes)
    if readable:
        data = read_as(name, data)
        parameters = without_words(entry, data, parameters)
    family = incumbents_of(entry, data) if readable and "incumbent" in allowed else None
    derives = family is not None and _derives(allowed, parameters)
    if family and derives and parameters.get("incumbent") is None:
        parameters = parameters | {"incumbent": family.find(entry, data, parameters)}
    model = entry.build(data, **parameters)
    if family and parameters.get("incumbent") is not None:
        family.start(model, data, parameters["incumbent"])
    return model


def _derives(allowed: Mapping[str, inspect.Parameter], parameters: Mapping[str, Any]) -> bool:
    """Whether the model goes by an incumbent: "derived" says so, or there is no other choice."""
    if "incumbent" in allowed and not any(word in allowed for word in INCUMBENT_FOR):
        return True
    given = (
        parameters.get(word, allowed[word].default) for word in INCUMBENT_FOR if word in allowed
    )
    return any(isinstance(value, str) and value == "derived" for value in given)
