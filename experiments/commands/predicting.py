"""The predict command: labels and decision values of new points from a saved result."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from experiments.commands import options
from experiments.commands.checking import Saved, training_data
from experiments.commands.streams import complain, emit, working
from experiments.datasets import load
from experiments.preparation import origin_of
from experiments.readers import Table, from_table, read_table
from formulations.catalogue import CATALOGUE
from formulations.hyperplane import weight_and_intercept
from formulations.preprocess import Normaliser
from solvers.result import SolveResult

Array = NDArray[np.float64]


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
    """Labels and decision values of new points from a saved result; a value of 0 gets label -1."""
    with working(f"applying {file}"):
        result = SolveResult.load(file)
        X, y = new_points(data, label, positive)
        values = decision_values(result, X)
    # Of the points on the hyperplane the errors of a result count all, whatever their label.
    labels = np.where(values > 0, 1, -1)
    errors = None if y is None else int((labels != y).sum())
    if json:
        document = {
            "formulation": result.formulation,
            "data": {"spec": data, "n": len(X), "d": X.shape[1]},
            "labels": labels,
            "decision_values": values,
            "errors": errors,
        }
        emit("predict", document)
    else:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(["label", "decision_value"])
        table.writerows(zip(labels.tolist(), values.tolist(), strict=True))
        if errors is not None:
            complain(f"{errors} of {len(X)} points get another label than the file gives")
    return 0


def new_points(
    spec: str, label: str | None, positive: str | None
) -> tuple[Array, NDArray[np.float64] | None]:
    """Points and, when the file has them, labels; a plain csv file may have one class or none."""
    path = Path(spec).expanduser()
    if path.suffix.lower() != ".csv" or not path.is_file():
        found = load(spec, label=label, positive=positive)
        return found.X, found.y
    try:
        table = read_table(path)
        if label is not None or "y" in table.columns:
            return from_table(table, label or "y", positive)
        labelled = Table([*table.columns, "y"], [[*row, "1"] for row in table.rows], table.lines)
        return from_table(labelled, "y", None)[0], None
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error


def decision_values(result: SolveResult, X: Array) -> Array:
    """Values <w, f(x)> + b of new points, mapped like the training points.

    The training data is loaded again only where the classifier is written in terms of it.

    Raises
    ------
    ValueError
        A result without a point or without a formulation of the catalogue, points with another
        number of features, or training data that is no longer the same.
    """
    entry = CATALOGUE.get(result.formulation)
    if entry is None or entry.classifier is None:
        raise ValueError(f"the result names no formulation that classifies: {result.formulation!r}")
    if not result.values or result.ray:  # where a ray starts, nothing is optimal
        raise ValueError(f"the result holds no point: its status is {result.status}")
    record = result.normalisation
    if entry.classifier is weight_and_intercept and "kernel" not in record:
        w, b = weight_and_intercept(None, result.values, result.duals)
        _refuse_other_features(X, record["d"] if record else len(w))
        return (Normaliser.from_json(record).apply(X) if record else X) @ w + b
    prepared = training_data(result)
    if prepared.centring is None:  # which says itself what a new point is
        _refuse_other_features(X, prepared.raw.d)
    w, b = entry.classifier(origin_of(result, prepared), result.values, result.duals)
    return prepared.scores(X, w, b)


def _refuse_other_features(X: Array, d: int) -> None:
    if X.shape[1] != d:
        raise ValueError(f"the new points have {X.shape[1]} features, the training points {d}")
