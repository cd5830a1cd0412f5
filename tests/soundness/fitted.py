"""Machines that scikit-learn fitted, well or stopped halfway: their proven gap must hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

import tightmargin as tm
from tests.references.hinge_optimum import hinge_optimum
from tests.soundness.judge import Answer, Case, Kind, Said, Truth
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
    optimum = hinge_optimum(X / scale, y, prices, **words, column=1 / scale) * ridge / scale**2
    truth = Truth(Kind.OPTIMUM, optimum, error=REFERENCE * abs(optimum) + 1e-9 * price * n)
    label = f"{kind} n={n} d={d} scale={scale:g} C={C:.3g} stop={stop} sparse={sparse}"

    def ask() -> list[Answer]:
        points = sp.csr_matrix(X) if sparse else X
        machine.fit(points, y, sample_weight=weights)
        found = tm.certify_fitted(machine, points, y, sample_weight=weights)
        said = Said(
            objective=found.objective if found.verdict is Verdict.CERTIFIED else None,
            bound=found.bound,
            upper=found.objective,
            proven=found.verdict is Verdict.CERTIFIED,
            point=True,
            status=str(found.verdict),
        )
        return [Answer(label, said, truth, _too_small(found, truth))]

    return Case(f"fitted {label}", ask)


def _machine(kind: str, C: float, stop: int, n: int, intercept: bool) -> tuple[Any, Any, float]:
    """An estimator, the words of its problem, and the price of its norm."""
    mode = {"intercept": "penalised" if intercept else "none"}
    match kind:
        case "svc":
            return SVC(kernel="linear", C=C, max_iter=stop, tol=1e-8), {"intercept": "free"}, 1.0
        case "sgd":
            alpha = 1 / (C * n)
            machine = SGDClassifier(
                alpha=alpha, max_iter=min(stop, 200), tol=None, fit_intercept=intercept,
                random_state=0,
            )  # fmt: skip
            return machine, {"intercept": "free" if intercept else "none"}, alpha
    squared = kind == "squared"
    loss = "squared_hinge" if squared else "hinge"
    machine = LinearSVC(
        C=C, loss=loss, max_iter=stop, tol=1e-8, fit_intercept=intercept, random_state=0, dual=True
    )
    return machine, mode | {"squared": squared}, 1.0


def _too_small(found: tm.ProvenFit, truth: Truth) -> str:
    """What is wrong with a gap below that to the witness; empty where it is none."""
    size = max(abs(found.objective), 1e-300)
    true = (found.objective - float(truth.value) - truth.error) / size
    if found.gap >= true - 1e-9:
        return ""
    return f"a proven gap of {found.gap:.3g} where the optimum is {true:.3g} away"
