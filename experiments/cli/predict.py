"""The predict command: labels, decision values and probabilities of new points."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.certify import Saved
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.data.labels import Labelling, named, signed
from tightmargin.experiments.data.specs import load, read_points
from tightmargin.experiments.data.tables import Table, from_table, read_table
from tightmargin.experiments.estimators.fitted import Fitted, FittedProbabilities, labels_of
from tightmargin.experiments.saved_results.machines import read_fitted
from tightmargin.experiments.saved_results.training_data import training_data
from tightmargin.formulations.data.arrays import Array, real_array, refuse_non_finite
from tightmargin.solvers.probability.binary_result import ENTRY, ClassProbabilities
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
        X, y = new_points(data, label, positive, several=bool(machine.classes))
        told = _told(machine, X)
    # Of the points on the hyperplane the errors of a result count all, whatever their label.
    found = told.columns["label"].astype(str) if machine.classes else told.columns["label"]
    errors = None if y is None else int((found != y).sum())
    if json:
        about = {"spec": data, "n": len(X), "d": X.shape[1]}
        emit("predict", {**told.document, "data": about, "errors": errors})
    else:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(told.columns)
        table.writerows(zip(*(c.tolist() for c in told.columns.values()), strict=True))
        if errors is not None:
            complain(f"{errors} of {len(X)} points get another label than the file gives")
    return 0


@dataclass(frozen=True, eq=False)
class Told:
    """What is said of new points: columns of a table, the first "label", and a document."""

    columns: Columns
    document: dict[str, Any]


def _told(machine: Fitted | FittedProbabilities, X: Array) -> Told:
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
        return Told({"label": labels, "decision_value": values}, document)
    columns = {"label": labels} | {
        f"decision_value_{name}": values[:, k] for k, name in enumerate(machine.classes)
    }
    return Told(columns, document | {"classes": list(machine.classes)})


def _probabilities(machine: FittedProbabilities, X: Array) -> Told:
    estimator = machine.machine
    assert isinstance(estimator, ClassProbabilities)  # what a file holds
    reading = estimator.reading(machine.mapped(X))
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
    return Told(columns, document)


def decision_values(result: SolveResult, X: Array) -> Array:
    """Values <w, f(x)> + b of new points from a result, by estimators/fitted.py."""
    return Fitted(result, partial(training_data, result)).decision_values(X)


def new_points(
    spec: str, label: str | None, positive: str | None, *, several: bool = False
) -> tuple[Array, NDArray[Any] | None]:
    """Points and, when the file has them, labels.

    Parameters
    ----------
    several : bool
        Labels are names of classes, whatever they are; else -1 and +1.

    Returns
    -------
    array (m, d), array (m,) or None

    Raises
    ------
    ValueError
        Beginning with the spec; see tightmargin.experiments.data.specs.load.
    """
    labelling: Labelling = named if several else signed
    path = Path(spec).expanduser()
    try:
        if path.suffix.lower() == ".csv" and path.is_file():
            return _table(read_table(path), label, positive, labelling)
        if several:
            X, names, *_ = read_points(spec, labelling, label, positive)
            points = real_array("X", X)
            refuse_non_finite("X", points)
            return points, names
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error
    found = load(spec, label=label, positive=positive)
    return found.X, found.y


def _table(
    table: Table, label: str | None, positive: str | None, labelling: Labelling
) -> tuple[Array, NDArray[Any] | None]:
    if label is not None or "y" in table.columns:
        X, y, *_ = from_table(table, label or "y", positive, labelling=labelling)
        return X, y
    labelled = Table([*table.columns, "y"], [[*row, "1"] for row in table.rows], table.lines)
    return from_table(labelled, "y", None).X, None
