"""Runs of stochastic gradient descent as tasks, and the algorithms letter by letter as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.data.specs import load
from tightmargin.experiments.reproduce.lee.statements.linear import (
    hard_margin_findings,
    margin_bound_findings,
)
from tightmargin.experiments.reproduce.lee.statements.soft_margin import (
    generalisation_findings,
    kernel_findings,
    overlapping,
    soft_margin_findings,
)
from tightmargin.experiments.reproduce.lee.statements.statements import Finding, finding, optimum
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.kernels import gram_data
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.svc.soft_margin import kernel_soft_margin_svc, soft_margin_svc
from tightmargin.solvers.hinge.sgd import sgd, sgd_rate
from tightmargin.solvers.result import SolveResult

Draws = NDArray[np.int64]

NORMAL, CANCER, KERNEL = "two normal classes", "breast cancer", "breast cancer, rbf"
DATA = (NORMAL, CANCER, KERNEL)
RIDGES = {NORMAL: 0.025, CANCER: 0.01, KERNEL: 0.01}
OPTIMUM, WALK, HARD, SOFT, PRINTED = "optimum", "walk", "hard margin", "soft margin", "as printed"
STEPS = 20_000  # of the algorithms as printed
NEAR = 0.05  # relative to the optimum: a walk that ends within this has arrived


@dataclass(frozen=True, eq=False)
class Walks:
    """All runs of one rule on one data set.

    optimum: its objective and bound, how it is proven, and what the data are.
    steps, rates (k,).
    gaps, proven_gaps (runs, k).
    """

    data: str
    rule: str
    optimum: Mapping[str, Any]
    steps: Array
    rates: Array
    gaps: Array
    proven_gaps: Array


def work(what: str, *words: Any) -> dict[str, Any]:
    """One task, by its first word."""
    if what == OPTIMUM:
        return {"task": [what, *words], **_optimum(*words)}
    if what == WALK:
        return {"task": [what, *words], **_walk(*words)}
    checks = {HARD: _hard, SOFT: _soft, PRINTED: printed_findings}
    return {"task": [what], "findings": checks[what]()}


def _hard() -> list[Finding]:
    return [*hard_margin_findings(), *margin_bound_findings()]


def _soft() -> list[Finding]:
    return [*soft_margin_findings(), *generalisation_findings(), *kernel_findings()]


def sample(name: str) -> TrainingData | GramData:
    """Training data of a walk."""
    if name == NORMAL:
        return overlapping(0, n=200, d=5)
    raw = load("sklearn:breast_cancer,n=200,stratify,seed=0")
    assert isinstance(raw, TrainingData)
    data, _ = normalise(raw, "zscore")
    return data if name == CANCER else gram_data(data, kernel="rbf", width=0.02)


def proven_optimum(data: TrainingData | GramData, ridge: float) -> SolveResult:
    """(5) without an intercept, which Algorithms 3 and 4 are about."""
    if isinstance(data, GramData):
        model = kernel_soft_margin_svc(data, ridge=ridge, intercept="none")
    else:
        model = soft_margin_svc(data, ridge=ridge, intercept="none")
    return optimum(model)[0]


def _optimum(name: str) -> dict[str, Any]:
    data = sample(name)
    found = proven_optimum(data, RIDGES[name])
    assert found.bound is not None
    square = np.einsum("ij,ij->i", data.factor, data.factor)
    return {
        "objective": found.objective, "bound": found.bound, "relative_gap": found.relative_gap,
        "verdict": str(found.certificate.verdict), "n": data.n, "d": data.d,
        "radius": float(np.sqrt(square.max())),
    }  # fmt: skip


def _walk(name: str, rule: str, steps: int, seed: int) -> dict[str, Any]:
    data, ridge = sample(name), RIDGES[name]
    run = sgd(data, ridge=ridge, steps=steps, seed=seed, rule=rule)
    marks = [point.steps for point in run.trace]
    return {
        "steps": marks,
        "objective": [point.objective for point in run.trace],
        "bound": [point.bound for point in run.trace],
        "rate": [sgd_rate(data, ridge=ridge, steps=mark, rule=rule) for mark in marks],
    }


def printed_findings() -> list[Finding]:
    """The test without y, the step in every component, and what the two rules differ by.

    A walk has arrived where its averaged iterate costs at most 5 % more than the proven optimum.
    """
    data = overlapping(0, n=200, d=5)
    strength = 2 * RIDGES[NORMAL]
    best = proven_optimum(data, RIDGES[NORMAL])
    assert best.bound is not None
    draws = np.random.default_rng(0).integers(data.n, size=STEPS)
    signless, meant = (_points(data, strength, draws, signed=signed) for signed in (False, True))
    every, one = (_kernel(data, strength, draws, every=every) for every in (True, False))
    first, second = two_rules(data)
    limit = best.bound * (1 + NEAR)
    return [
        finding("test", stated=best.bound, ours=signless, holds=signless <= limit,
                corrected=meant, corrected_holds=meant <= limit, results=(best,)),
        finding("kernel step", stated=best.bound, ours=every, holds=every <= limit,
                corrected=one, corrected_holds=one <= limit, results=(best,)),
        finding("rule", stated=first, ours=second, holds=abs(first - second) < 1e-12 * first,
                corrected=first / 2, corrected_holds=abs(first / 2 - second) < 1e-12 * first),
    ]  # fmt: skip


def _points(data: TrainingData, strength: float, draws: Draws, *, signed: bool) -> float:
    """Objective of the averaged iterate of Algorithm 3; its test with y, or as in the text."""
    theta, total = np.zeros(data.d), np.zeros(data.d)
    for t, i in enumerate(draws.tolist(), start=1):
        w = theta / (strength * t)
        total += w
        score = float(w @ data.X[i])
        if (data.y[i] * score if signed else score) < 1:
            theta = theta + data.y[i] * data.X[i]
    return _objective(data, strength, total / len(draws))


def _kernel(data: TrainingData, strength: float, draws: Draws, *, every: bool) -> float:
    """The same for Algorithm 4 on the linear kernel; beta moves in one component, or in every."""
    gram = data.X @ data.X.T
    beta, total = np.zeros(data.n), np.zeros(data.n)
    for t, i in enumerate(draws.tolist(), start=1):
        alpha = beta / (strength * t)
        total += alpha
        if data.y[i] * float(alpha @ gram[i]) < 1:
            beta[slice(None) if every else i] += data.y[i]
    return _objective(data, strength, data.X.T @ (total / len(draws)))


def _objective(data: TrainingData, strength: float, w: Array) -> float:
    losses = np.maximum(0.0, 1 - data.y * (data.X @ w))
    return strength / 2 * float(w @ w) + float(losses.mean())


def two_rules(data: TrainingData) -> tuple[float, float]:
    """||w^(2)|| by the update of the text and by Algorithm 3, each run for two steps.

    w^(1) = 0, so that w^(2) is twice the averaged iterate.
    """
    text, algorithm = (
        2 * float(np.linalg.norm(sgd(data, ridge=RIDGES[NORMAL], steps=2, seed=0, rule=rule).w))
        for rule in ("update", "printed")
    )
    return text, algorithm


def ridge_text(one: Walks) -> str:
    """What a panel says of its data."""
    words = one.optimum
    return f"{one.data}, n = {words['n']}\nlambda = {RIDGES[one.data]:g}, R = {words['radius']:.1f}"
