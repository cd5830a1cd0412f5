"""Hinge and truncated hinge machines of three classes, as tasks: local, and proven global."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tightmargin.experiments.data.gaussian_classes import gaussian_class_data
from tightmargin.experiments.reproduce.lee.statements.soft_margin import overlapping
from tightmargin.experiments.reproduce.lee.statements.statements import (
    Finding,
    finding,
    optimum,
    same,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.multiclass.fisher_consistency import (
    HINGE,
    LOSSES,
    confused_weights,
    population_risk,
)
from tightmargin.formulations.multiclass.hinge import multiclass_hinge, smallest_leads
from tightmargin.formulations.multiclass.truncated_hinge import truncated_objective
from tightmargin.formulations.svc.soft_margin import soft_margin_svc
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.search import truncated_search
from tightmargin.solvers.solve import solve

CHECKS, FIT = "checks", "fit"
CLASSES, TRUNCATION, RIDGE = 3, -0.5, 0.02
FAR = 4.0  # how many times further out a stray point is
STARTS = 16
NEW = 4000
VALUES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 60.0)  # of scores, the least being 0
LEAD = 1e-5  # by which one class is more likely than 1/K
CLOSE = 1e-3  # of a truncation: LEAD moves the border by about 10 LEAD


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
        "proven": bool(exact.bound >= exact.objective * (1 - 2 * SEARCH_GAP)),
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


# --- section 3.2 of the review put to the test ----------------------------------------------------


def score_table(K: int) -> Array:
    """Scores (m, K) with entries from VALUES and the least 0."""
    table = np.array(list(product(VALUES, repeat=K)))
    found: Array = table[table.min(axis=1) == 0]
    return found


def finds(loss: str, s: float, table: Array) -> bool:
    """Whether of all scores those of least risk have the first class on top, and alone.

    The first class is more likely than the others by the least bit, which is the hardest case.
    """
    K = table.shape[1]
    weights = np.full(K, (1 - 1 / K - LEAD) / (K - 1))
    weights[0] = 1 / K + LEAD
    risk = population_risk(loss, s, weights, table)
    right = table[:, 0] > table[:, 1:].max(axis=1)
    return bool(risk[right].min() < risk[~right].min())


def least_truncation(loss: str, K: int) -> float:
    """The least s at which it is found, by halving an interval; no formula is asked."""
    table = score_table(K)
    low, high = -3.0, 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if finds(loss, middle, table) else (middle, high)
    return high


def consistency_findings() -> list[Finding]:
    """Theorem 3.1 and its examples."""
    found = []
    for K in (3, 4, 5):
        stated = {"hinge": -1 / (K - 1), "logistic": -np.log(2 ** (K / (K - 1)) - 1)}
        for loss, s in stated.items():
            ours = least_truncation(loss, K)
            found.append(finding(f"{loss} {K}", stated=s, ours=ours, holds=abs(ours - s) < CLOSE))
    u, step = np.array([0.0]), 1e-7
    right, left = ((HINGE.value(u + h) - HINGE.value(u)) / h for h in (step, -step))
    jump, slope = float((right - left)[0]), float(right[0])
    printed = float((np.log1p(np.exp(step)) - np.log1p(np.exp(-step))) / (2 * step))
    meant = float((np.log1p(np.exp(-step)) - np.log1p(np.exp(step))) / (2 * step))
    return [
        *found,
        finding("hypothesis", stated=-1, ours=round(jump, 6), holds=jump < -step,
                corrected=round(slope, 6), corrected_holds=slope < 0),
        finding("logistic loss", stated=-0.5, ours=printed, holds=printed <= 0, corrected=meant,
                corrected_holds=meant <= 0),
        _necessary(), _at_zero(), _pieces(),
    ]  # fmt: skip


def _necessary(K: int = 3, s: float = -0.8) -> Finding:
    """Beyond the range some class is the most likely, and scores of 0 have the least risk."""
    weights = confused_weights("hinge", s, K)
    risk = population_risk("hinge", s, weights, score_table(K))
    nothing = float(population_risk("hinge", s, weights, np.zeros(K)))
    return finding(
        "necessary",
        stated=nothing,
        ours=float(risk.min()),
        holds=bool(weights[0] > weights[1:].max() and risk.min() >= nothing - 1e-12),
    )


def _at_zero(K: int = 3) -> Finding:
    """Losses for which s = 0 does not find the class."""
    wrong = sum(not finds(loss, 0.0, score_table(K)) for loss in LOSSES)
    return finding("zero", stated=0, ours=wrong, holds=wrong == 0)


def _pieces(s: float = -0.5) -> Finding:
    u = np.linspace(-4, 3, 701)
    parts = np.maximum(0, 1 - u) - np.maximum(0, s - u)
    away = float(np.abs(HINGE.truncated(u, s) - parts).max())
    return finding("pieces", stated=0, ours=away, holds=away < 1e-12)


def two_class_findings() -> list[Finding]:
    """sum of ||f_k||^2 is half of ||w||^2 for f_1 = -f_2 = w / 2."""
    data, ridge = overlapping(2), 0.04
    several = MulticlassData(data.X, (data.y > 0).astype(int))
    one, ours = optimum(multiclass_hinge(several, ridge=ridge))
    other, stated = optimum(soft_margin_svc(data, ridge=ridge / 2))
    holds = same(ours, stated)
    return [finding("two", stated=stated, ours=ours, holds=holds, results=(one, other))]
