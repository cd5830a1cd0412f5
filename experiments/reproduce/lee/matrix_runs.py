"""Machines for matrix predictors, as tasks: every bound and every point of one sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tightmargin.experiments.reproduce.lee.statements.soft_margin import overlapping
from tightmargin.experiments.reproduce.lee.statements.statements import (
    SAME,
    Finding,
    finding,
    optimum,
    same,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.matrix_svc import (
    matrix_svc_full,
    matrix_svc_nuclear,
    matrix_svc_projection,
)
from tightmargin.formulations.matrix.shapes import numerical_rank, singular_values
from tightmargin.formulations.svc.soft_margin import soft_margin_svc
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.matrix.alternating import matrix_alternating
from tightmargin.solvers.matrix.search import matrix_search
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

CHECKS, FIT = "checks", "fit"
RIDGE, TAU = 0.5, 1.0
STARTS = 10
NOISE = 0.5
SPACING = 1e-3
SCORES: Array = np.linspace(-5, 5, 10001)
CHANCES: Array = np.array([0.02, 0.1, 0.25, 0.4, 0.45, 0.55, 0.6, 0.75, 0.9, 0.98])


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
        "proven": bool(exact.bound >= exact.objective - 2 * SEARCH_GAP * max(1, exact.objective)),
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


# --- section 5 of the review put to the test ------------------------------------------------------


def population_findings() -> list[Finding]:
    """Table 1: the score of least expected loss among many, beside the printed function of p."""
    losses: dict[str, tuple[Callable[[Array], Any], Array]] = {
        "deviance": (lambda u: np.logaddexp(0, -u), np.log(CHANCES / (1 - CHANCES))),
        "hinge": (lambda u: np.maximum(0.0, 1 - u), np.sign(CHANCES - 0.5)),
        "squared": (lambda u: (1 - u) ** 2, 2 * CHANCES - 1),
    }
    found = []
    for name, (loss, stated) in losses.items():
        risks = CHANCES[:, None] * loss(SCORES) + (1 - CHANCES[:, None]) * loss(-SCORES)
        away = float(np.abs(SCORES[risks.argmin(axis=1)] - stated).max())
        found.append(finding(name, stated=0, ours=away, holds=away <= SPACING))
    return found


def matrix_findings() -> list[Finding]:
    """The scale of the loss, the number of parameters, the rule for the rank."""
    data = overlapping(3, n=24, d=4)
    total, stated = optimum(matrix_svc_full(data, ridge=0.5, shape=(2, 2)))
    # n times (5) with lambda = ridge / (2 n) is the same objective.
    mean, of_one = optimum(soft_margin_svc(data, ridge=0.5 / (2 * data.n)))
    again = data.n * of_one
    return [
        finding("sum", stated=stated, ours=again, holds=same(stated, again),
                results=(total, mean)),
        finding("parameters", stated=9, ours=parameters(3, 3, 1), holds=parameters(3, 3, 1) < 9),
        *_rule(),
    ]  # fmt: skip


def parameters(rows: int, columns: int, rank: int) -> int:
    """Dimension of the matrices of that rank: r (m + n - r)."""
    return rank * (rows + columns - rank)


def _rule() -> list[Finding]:
    """Predictors of rank 1 whose best B has rank 2: r = max rank(X_i) = 1 costs something.

    B = sum alpha_i y_i X_i, and a sum of matrices of rank 1 has any rank. Where one predictor has
    full rank, the rule allows every B: it bars no rank at all, min(m, n) being the largest.
    """
    one, other = np.zeros((2, 2)), np.zeros((2, 2))
    one[0, 0] = other[1, 1] = 1.0
    predictors = np.array([one, -one, other, -other])
    data = TrainingData(predictors.reshape(4, 4), np.array([1.0, -1.0, 1.0, -1.0]))
    words: dict[str, Any] = {"ridge": 0.5, "shape": (2, 2)}
    free, value = optimum(matrix_svc_full(data, **words))
    bound = matrix_search(data, **words, rank=int(np.linalg.matrix_rank(predictors).max()))
    apart = bound.bound > value * (1 + SAME)
    closed = bound.bound >= bound.objective - 2 * SEARCH_GAP * max(1.0, bound.objective)
    full = np.random.default_rng(0).standard_normal((5, 3, 3))
    largest = int(np.linalg.matrix_rank(full).max())
    return [
        finding("rule", stated=value, ours=bound.objective, holds=not apart,
                counterexample=apart and closed, results=(free,)),
        finding("vacuous", stated=3, ours=3 if largest < 3 else 0, holds=largest < 3,
                counterexample=largest == 3),
    ]  # fmt: skip
