"""Machines that scikit-learn fitted, well or stopped halfway, and new points for ours, by name.

The proven gap must hold; columns in another order, renamed, missing or foreign are put in order or
refused. Truth is numpy: the hyperplane on the columns put in order by hand.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

import tightmargin as tm
from tests.inside.experiments import new_points
from tests.references.hinge_optimum import hinge_optimum
from tests.soundness.judge import Answer, Case, Said, Truth, found_out, optimum
from tightmargin.solvers import Verdict

STOPS = (1, 3, 20, 100_000)  # iterations
REFERENCE = 1e-6  # how far the witness, another solver's word, may be from the optimum


def fitted_case(rng: np.random.Generator, index: int) -> Case:
    """SVC, LinearSVC and SGDClassifier by turns, on points of any scale, weighted and sparse."""
    n, d = int(rng.integers(4, 24)), int(rng.integers(1, 5))
    scale = float(10.0 ** rng.integers(-3, 4))
    y = np.where(np.arange(n) < max(1, n // 3), 1.0, -1.0)
    X = scale * (rng.standard_normal((n, d)) + 0.7 * y[:, None] * (rng.random(d) < 0.7))
    if rng.random() < 0.3:  # repeated points, and one on the other side
        X[n // 2] = X[0]
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    sparse = bool(rng.random() < 0.3)
    C = float(10.0 ** rng.uniform(-2, 2)) / scale**2
    stop = int(rng.choice(STOPS))
    kind = ("svc", "linear_svc", "squared", "sgd")[index % 4]
    machine, words, ridge = _machine(kind, C, stop, n, bool(rng.random() < 0.5))
    costs = np.ones(n) if weights is None else weights
    price = 1.0 / n if kind == "sgd" else C
    # In units where points are near 1 and w costs 1: the witness has absolute tolerances.
    prices = price * costs / ridge * scale**2
    value = hinge_optimum(X / scale, y, prices, **words, column=1 / scale) * ridge / scale**2
    truth = optimum(value, error=REFERENCE * abs(value) + 1e-9 * price * n)
    label = f"{kind} n={n} d={d} scale={scale:g} C={C:.3g} stop={stop} sparse={sparse}"

    def ask() -> list[Answer]:
        points = sp.csr_matrix(X) if sparse else X
        machine.fit(points, y, sample_weight=weights)
        found = tm.certify_fitted(machine, points, y, sample_weight=weights)
        proven = found.verdict is Verdict.CERTIFIED
        said = Said(found.objective if proven else None, found.bound, found.objective, proven,
                    point=True, status=str(found.verdict))  # fmt: skip
        return [Answer(label, said, truth, _too_small(found, truth))]

    return Case(f"fitted {label}", ask)


def _machine(kind: str, C: float, stop: int, n: int, intercept: bool) -> tuple[Any, Any, float]:
    """An estimator, the words of its problem, and the price of its norm."""
    mode = {"intercept": "penalised" if intercept else "none"}
    own: dict[str, Any] = {"fit_intercept": intercept, "random_state": 0}
    match kind:
        case "svc":
            return SVC(kernel="linear", C=C, max_iter=stop, tol=1e-8), {"intercept": "free"}, 1.0
        case "sgd":
            alpha = 1 / (C * n)
            machine = SGDClassifier(alpha=alpha, max_iter=min(stop, 200), tol=None, **own)
            return machine, {"intercept": "free" if intercept else "none"}, alpha
    squared = kind == "squared"
    loss = "squared_hinge" if squared else "hinge"
    machine = LinearSVC(C=C, loss=loss, max_iter=stop, tol=1e-8, dual=True, **own)
    return machine, mode | {"squared": squared}, 1.0


def _too_small(found: tm.ProvenFit, truth: Truth) -> str:
    """What is wrong with a gap below that to the witness; empty where it is none."""
    size = max(abs(found.objective), 1e-300)
    true = (found.objective - float(truth.value) - truth.error) / size
    if found.gap >= true - 1e-9:
        return ""
    return f"a proven gap of {found.gap:.3g} where the optimum is {true:.3g} away"


CHANGES = ("permuted", "renamed", "missing", "foreign", "doubled", "unnamed")
WAYS = ("frame", "csv", "saved", "prepared")


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
        return [found_out(f"{change}, {way}", extra)]

    return Case(f"{change}, {way}, {normalise}, {d} features", ask)


def _changed(frame: pd.DataFrame, change: str, order: Any) -> tuple[pd.DataFrame, bool]:
    """New points with other columns, and whether they still are points of the same features."""
    first = frame.columns[0]
    changed = {
        "permuted": (frame.iloc[:, order], True),
        "renamed": (frame.rename(columns={first: f"{first}_"}), False),
        "missing": (frame.drop(columns=first), False),
        "foreign": (frame.assign(another=1.0).iloc[:, ::-1], False),
        "doubled": (frame.set_axis([*frame.columns[1:], frame.columns[1]], axis=1), False),
        "unnamed": (frame.set_axis(range(frame.shape[1]), axis=1), True),
    }
    return changed[change]


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
