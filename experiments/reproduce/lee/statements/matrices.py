"""Section 5 of the review put to the test: Table 1, and what it says of the rank."""

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
from tightmargin.formulations.matrix.convex_models import matrix_svc_full
from tightmargin.formulations.svc.soft_margin import soft_margin_svc
from tightmargin.solvers.matrix.branch_and_bound import GAP, matrix_search

SPACING = 1e-3
SCORES: Array = np.linspace(-5, 5, 10001)
CHANCES: Array = np.array([0.02, 0.1, 0.25, 0.4, 0.45, 0.55, 0.6, 0.75, 0.9, 0.98])


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
    closed = bound.bound >= bound.objective - 2 * GAP * max(1.0, bound.objective)
    full = np.random.default_rng(0).standard_normal((5, 3, 3))
    largest = int(np.linalg.matrix_rank(full).max())
    return [
        finding("rule", stated=value, ours=bound.objective, holds=not apart,
                counterexample=apart and closed, results=(free,)),
        finding("vacuous", stated=3, ours=3 if largest < 3 else 0, holds=largest < 3,
                counterexample=largest == 3),
    ]  # fmt: skip
