"""Hinge and truncated hinge machines of three classes, as tasks: local, and proven global."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.experiments.data.gaussian_classes import gaussian_class_data
from tightmargin.experiments.reproduce.lee.statements.consistency import (
    consistency_findings,
    two_class_findings,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.multiclass.hinge import multiclass_hinge, smallest_leads
from tightmargin.formulations.multiclass.truncated_hinge import truncated_objective
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.multiclass.branch_and_bound import GAP, truncated_search
from tightmargin.solvers.multiclass.dca import truncated_dca

CHECKS, FIT = "checks", "fit"
CLASSES, TRUNCATION, RIDGE = 3, -0.5, 0.02
FAR = 4.0  # how many times further out a stray point is
STARTS = 16
NEW = 4000


def work(what: str, *words: Any) -> dict[str, Any]:
    """One task, by its first word."""
    if what == CHECKS:
        return {"task": [what], "findings": [*consistency_findings(), *two_class_findings()]}
    return {"task": [what, *words], **_fit(*words)}


def sample(n: int, strays: int, seed: int, sigma: float = 0.5) -> MulticlassData:
    """Gaussian classes; of the first points some lie further out, on the side of another class."""
    data = gaussian_class_data(n=n, d=2, classes=CLASSES, sigma=sigma, seed=seed)
    X, y = np.array(data.X), np.array(data.y)
    angles = 2 * np.pi * ((y[:strays] + 1) % CLASSES) / CLASSES
    X[:strays] = FAR * np.column_stack([np.cos(angles), np.sin(angles)])
    return MulticlassData(X, y)


def _fit(n: int, strays: int, seed: int) -> dict[str, Any]:
    data = sample(n, strays, seed)
    hinge = solve(multiclass_hinge(data, ridge=RIDGE), "clarabel")
    words: dict[str, Any] = {"ridge": RIDGE, "truncation": TRUNCATION}
    local = truncated_dca(data, **words, starts=1)
    several = truncated_dca(data, **words, starts=STARTS, seed=seed)
    exact = truncated_search(data, **words, incumbent=(several.B, several.b))
    B, b = np.reshape(hinge.values["B"], (CLASSES, 2)), hinge.values["b"]
    fresh = gaussian_class_data(n=NEW, d=2, classes=CLASSES, sigma=0.5, seed=seed, sample=1)
    return {
        "hinge": hinge.objective, "hinge_gap": hinge.relative_gap,
        "hinge_verdict": str(hinge.certificate.verdict),
        "hinge_truncated": truncated_objective(data, B, b, **words),
        "local": local.objective, "several": several.objective,
        "exact": exact.objective, "bound": exact.bound, "nodes": exact.nodes,
        "stop": str(exact.stop),
        "proven": bool(exact.bound >= exact.objective * (1 - 2 * GAP)),
        "errors": [_errors(fresh, B, b), _errors(fresh, exact.B, exact.b),
                   _errors(fresh, *ideal_scores())],
        "given_up": [bool(u < TRUNCATION) for u in smallest_leads(data, exact.B, exact.b)],
        "machines": [[B.tolist(), np.asarray(b).tolist()],
                     [exact.B.tolist(), exact.b.tolist()]],
    }  # fmt: skip


def ideal_scores() -> tuple[Array, Array]:
    """The classifier of least error: the nearest mean, means at equal angles on the circle."""
    angles = 2 * np.pi * np.arange(CLASSES) / CLASSES
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(CLASSES)


def _errors(data: MulticlassData, B: Array, b: Array) -> float:
    """Percent of wrong labels."""
    labels = (data.X @ np.asarray(B).T + np.asarray(b)).argmax(axis=1)
    return float(100 * (labels != data.y).mean())
