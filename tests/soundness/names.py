"""New points with columns in another order, renamed, missing or foreign.

Truth is numpy: the hyperplane of the result on the columns put in order by hand. A frame, csv or
libsvm file whose names do not fit has to be refused.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tightmargin as tm
from tests.inside.experiments import new_points
from tests.soundness.judge import Answer, Case, Kind, Said, Truth

CHANGES = ("permuted", "renamed", "missing", "foreign", "doubled", "unnamed")
WAYS = ("frame", "csv", "saved", "prepared")
NO_CLAIM = Said()


def names_case(rng: np.random.Generator, number: int) -> Case:
    d, n = int(rng.integers(2, 6)), int(rng.integers(6, 14))
    names = rng.choice(["age", "dose", "mass", "x1", "x 2", "Größe", "y1"], d, replace=False)
    names = [str(name) for name in names]
    y = np.where(np.arange(n) % 2, 1, -1)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d) + 0.5 * y[:, None]
    new = rng.normal(size=(3, d)) * np.abs(X).max(axis=0)
    normalise = str(rng.choice(["none", "zscore"]))
    change, way = CHANGES[number % len(CHANGES)], WAYS[number // len(CHANGES) % len(WAYS)]
    order = rng.permutation(d)
    if (order == np.arange(d)).all():
        order = order[::-1]

    def ask() -> list[Answer]:
        frame, fits = _changed(pd.DataFrame(new, columns=names), change, order)
        data = tm.TrainingData(pd.DataFrame(X, columns=names), y)
        machine: Any = tm.fit("c_svc", data, C=1.0, normalise=normalise)
        values = machine.result.values  # noqa: PD011, no data frame
        zscore = normalise == "zscore"
        mean, scale = (X.mean(axis=0), X.std(axis=0)) if zscore else (0.0, 1.0)
        right = (new - mean) / scale @ values["w"] + float(values["b"])
        extra = ""
        try:
            found = _said(machine, data, frame, way)
            if not fits:
                extra = f"columns {list(frame.columns)} were taken for {names}"
            elif not np.allclose(found, right, rtol=1e-6, atol=1e-6 * np.abs(right).max()):
                extra = f"values {found}, by hand {right}"
        except ValueError as error:
            extra = f"refused: {error}" if fits else ""
        return [Answer(f"{change}, {way}", NO_CLAIM, Truth(Kind.POINT), extra, counted=not extra)]

    return Case(f"{change}, {way}, {normalise}, {d} features", ask)


def _changed(frame: pd.DataFrame, change: str, order: Any) -> tuple[pd.DataFrame, bool]:
    """New points with other columns, and whether they still are points of the same features."""
    first = frame.columns[0]
    match change:
        case "permuted":
            return frame.iloc[:, order], True
        case "renamed":
            return frame.rename(columns={first: f"{first}_"}), False
        case "missing":
            return frame.drop(columns=first), False
        case "foreign":
            return frame.assign(another=1.0).iloc[:, ::-1], False
        case "doubled":
            return frame.set_axis([*frame.columns[1:], frame.columns[1]], axis=1), False
    return frame.set_axis(range(frame.shape[1]), axis=1), True


def _said(machine: Any, data: Any, frame: pd.DataFrame, way: str) -> Any:
    numbered = isinstance(frame.columns[0], int)
    if way == "frame" or numbered:
        return machine.decision_values(frame)
    with tempfile.TemporaryDirectory() as folder:
        if way == "prepared":
            how = {"normalise": "zscore"} if machine.result.normalisation else {}
            return tm.data.prepare(data, how).scores(frame, *machine.hyperplane)
        if way == "saved" and not machine.result.normalisation:
            kept = tm.read_fitted(machine.result.save(Path(folder) / "fit.json"))
            return kept.decision_values(frame)
        file = Path(folder) / "new.csv"
        frame.to_csv(file, index=False)
        points, _ = new_points(str(file), machine.data, None, None)
        return machine.decision_values(points)
