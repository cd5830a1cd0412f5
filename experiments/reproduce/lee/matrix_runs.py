"""Machines for matrix predictors, as tasks: every bound and every point of one sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.experiments.reproduce.lee.statements.matrices import (
    matrix_findings,
    population_findings,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.convex_models import (
    matrix_svc_full,
    matrix_svc_nuclear,
    matrix_svc_projection,
)
from tightmargin.formulations.matrix.shapes import numerical_rank, singular_values
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.matrix.alternating import matrix_alternating
from tightmargin.solvers.matrix.branch_and_bound import GAP, matrix_search
from tightmargin.solvers.result import SolveResult

CHECKS, FIT = "checks", "fit"
RIDGE, TAU = 0.5, 1.0
STARTS = 10
NOISE = 0.5


def work(what: str, *words: Any) -> dict[str, Any]:
    """One task, by its first word."""
    if what == CHECKS:
        return {"task": [what], "findings": [*population_findings(), *matrix_findings()]}
    return {"task": [what, *words], **_fit(*words)}


def sample(rows: int, columns: int, n: int, seed: int) -> tuple[TrainingData, Array]:
    """Normal predictors labelled by the sign of <X, B> plus noise, B of rank 1 and norm 1."""
    rng = np.random.default_rng([rows, columns, n, seed])
    B = np.outer(rng.standard_normal(rows), rng.standard_normal(columns))
    B /= np.linalg.norm(B)
    X = rng.standard_normal((n, rows * columns))
    return TrainingData(X, np.sign(X @ B.ravel() + NOISE * rng.standard_normal(n))), B


def _fit(rows: int, columns: int, rank: int, n: int, seed: int) -> dict[str, Any]:
    data, truth = sample(rows, columns, n, seed)
    shape = (rows, columns)
    words: dict[str, Any] = {"ridge": RIDGE, "shape": shape}
    full = solve(matrix_svc_full(data, **words), "clarabel")
    bound = solve(matrix_svc_projection(data, **words, rank=rank), "clarabel")
    nuclear = solve(matrix_svc_nuclear(data, **words, tau=TAU), "clarabel")
    turns = matrix_alternating(data, **words, rank=rank, starts=STARTS, seed=seed)
    exact = matrix_search(data, **words, rank=rank, incumbent=(turns.w, turns.b))
    machines = {"full": full.values["w"], "nuclear": nuclear.values["w"], "exact": exact.w}
    return {
        "full": _facts(full), "projection": _facts(bound), "nuclear": _facts(nuclear),
        "alternating": turns.objective,
        "each": [found.objective for found in turns.solutions],
        "exact": exact.objective, "bound": exact.bound, "cells": exact.cells,
        "proven": bool(exact.bound >= exact.objective - 2 * GAP * max(1, exact.objective)),
        "ranks": {name: numerical_rank(singular_values(w, *shape)) for name, w in machines.items()},
        "angles": {name: _angle(w, truth.ravel()) for name, w in machines.items()},
        "machines": {"true": truth.tolist()}
        | {name: np.reshape(w, shape).tolist() for name, w in machines.items()},
    }  # fmt: skip


def _facts(found: SolveResult) -> dict[str, Any]:
    return {
        "value": found.objective, "bound": found.bound, "relative_gap": found.relative_gap,
        "verdict": str(found.certificate.verdict),
    }  # fmt: skip


def _angle(w: Array, truth: Array) -> float:
    """Degrees between two matrices, flattened."""
    cosine = float(w @ truth) / float(np.linalg.norm(w) * np.linalg.norm(truth))
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
