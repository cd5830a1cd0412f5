"""The predict command: labels, decision values and probabilities of new points."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import ArrayLike, NDArray

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.certify import Saved
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.data.labels import as_written, named, same_label, signed
from tightmargin.experiments.data.sources import recorded_option
from tightmargin.experiments.data.specs import read_points
from tightmargin.experiments.estimators.fitted import Fitted, FittedProbabilities, labels_of
from tightmargin.experiments.saved_results.machines import read_fitted
from tightmargin.experiments.saved_results.training_data import training_data
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.class_labels import SIGNS, features_text
from tightmargin.solvers.probability.binary import ENTRY, ClassProbabilities
from tightmargin.solvers.result import SolveResult

Columns = dict[str, NDArray[Any]]


def predict_command(
    file: Saved,
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="SPEC", help="New points; a csv file of them may lack the labels."
        ),
    ],
    label: options.Label = None,
    positive: options.Positive = None,
    json: options.Json = False,
) -> int:
    """Labels and decision values of new points from a saved result; a value of 0 gets label -1.

    A result of several classes gives the name of the class of largest value, the first of equal
    ones, and the value of each. A file that `path weighted_svc --out` wrote gives the probability
    of +1 and the interval that the signs of its machines leave.
    """
    with working(f"applying {file}"):
        machine = read_fitted(file)
        X, y = new_points(data, machine.data, label, positive)
        predicted = _predicted(machine, X)
    # Of the points on the hyperplane the errors of a result count all, whatever their label.
    errors, remark = compared(predicted.columns["label"], y, machine.classes)
    if remark:
        complain(remark)
    if json:
        about = {"spec": data, "n": X.shape[0], "d": X.shape[1]}
        emit("predict", {**predicted.document, "data": about, "errors": errors})
    else:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(predicted.columns)
        table.writerows(zip(*(c.tolist() for c in predicted.columns.values()), strict=True))
        if errors is not None:
            complain(f"{errors} of {X.shape[0]} points get another label than the file gives")
    return 0


@dataclass(frozen=True, eq=False)
class Predicted:
    """Columns of a table for new points, the first one "label", and a document."""

    columns: Columns
    document: dict[str, Any]


def _predicted(machine: Fitted | FittedProbabilities, X: ArrayLike) -> Predicted:
    if isinstance(machine, FittedProbabilities):
        return _probabilities(machine, X)
    values = machine.decision_values(X)
    labels = labels_of(values, machine.classes)
    document = {
        "formulation": machine.result.formulation,
        "labels": labels,
        "decision_values": values,
    }
    if values.ndim == 1:
        return Predicted({"label": labels, "decision_value": values}, document)
    columns = {"label": labels} | {
        f"decision_value_{name}": values[:, k] for k, name in enumerate(machine.classes)
    }
    return Predicted(columns, document | {"classes": list(machine.classes)})


def _probabilities(machine: FittedProbabilities, X: ArrayLike) -> Predicted:
    estimator = machine.machine
    assert isinstance(estimator, ClassProbabilities)  # what a file holds
    reading = estimator.reading(machine.points(X))
    low, high = np.sort(reading.intervals, axis=1).T
    columns: Columns = {
        "label": reading.labels,
        "probability": reading.probabilities,
        "low": low,
        "high": high,
    }
    document = {
        "formulation": ENTRY,
        "labels": reading.labels,
        "probabilities": reading.probabilities,
        "intervals": np.column_stack([low, high]),
        "monotone": reading.monotone,
    }
    return Predicted(columns, document)


def decision_values(result: SolveResult, X: Array) -> Array:
    """Values <w, f(x)> + b of new points from a result, by estimators/fitted.py."""
    return Fitted(result, partial(training_data, result)).decision_values(X)


def new_points(
    spec: str, trained: Mapping[str, Any], label: str | None, positive: str | None
) -> tuple[Any, NDArray[np.str_]]:
    """New points and their labels as text.

    trained: what the result's record says of its training data. Its column of labels and its
        positive label are those of the new points too, unless they are given.
    Returns: a data frame where the source names its columns; labels are "" where it has none.
    Raises ValueError: beginning with the spec; see tightmargin.experiments.data.specs.load.
    """
    several, one = bool(trained.get("classes")), recorded_option(trained, "positive")

    def labelling(cells: Sequence[str], given: str | None, where: str) -> NDArray[Any]:
        if given is not None:
            return (named if several else signed)(cells, given, where)
        if several or one is None:
            return as_written(cells)
        return as_written(["1" if same_label(cell, one) else "-1" for cell in cells])

    known_source = spec.partition(":")[0] in ("sklearn", "uci")  # which have a class that is +1
    plus = positive if recorded_option({"spec": spec}, "positive") else positive or one
    try:
        if known_source and not several:
            found = read_points(spec, signed, label, plus, trained)
        else:
            found = read_points(spec, labelling, label, positive, trained)
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error
    X, labels = found.X, found.labels
    if labels.dtype.kind == "f":
        labels = labels.astype(int)
    from pandas import DataFrame

    return DataFrame(X, columns=found.names) if found.names else X, labels.astype(str)


def compared(
    predicted: NDArray[Any], labels: NDArray[np.str_], classes: Sequence[Any]
) -> tuple[int | None, str]:
    """How many predicted labels differ from those of the source; None and why, if it has others.

    Among several classes, a class that the training data lacks is an error; "0" alone, which files
    of unknown classes hold, is no class.
    """
    known = {str(name) for name in classes or SIGNS}
    given = set(labels.tolist())
    if given == {""}:
        return None, ""
    if given <= known or (len(known) > 2 and given != {"0"}):
        return int((predicted.astype(str) != labels).sum()), ""
    shown = features_text(sorted(given))
    remark = f"the labels {shown} are not compared: those of the training data are "
    remark += features_text(sorted(known))
    return None, remark if classes else f"{remark}; say which one is +1 with --positive"
