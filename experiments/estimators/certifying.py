"""How far any fitted hinge machine is from optimal: its objective, a dual bound, both proven."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.estimators.proven_fit import FittedPart, ProvenFit
from tightmargin.experiments.estimators.scikit_problems import (
    LOSSES,
    FittedProblem,
    libsvm,
    linear_svc,
    priced_machines,
    sgd,
)
from tightmargin.experiments.estimators.training_set import TrainingSet, training_set
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.solvers.hinge.ends import ends_of_expansion, ends_of_hyperplane


def certify_fitted(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    loss: str | None = None,
    C: float | None = None,
    intercept: str | None = None,
) -> ProvenFit:
    """How far a fitted SVM is from the optimum of its own problem, proven.

    The objective is computed again at the fitted machine and rounded up. A point of the dual is
    built from its multipliers or its margins, so that weak duality bounds what any machine costs;
    every rounding is counted, and the balance of the multipliers is met in whole numbers. What an
    estimator says of itself is not believed: other coefficients give other numbers, and true ones.

    Parameters
    ----------
    estimator : SVC, NuSVC, LinearSVC, SGDClassifier, or anything with coef_ and intercept_
        Fitted. For others than these four state `loss`, `C` and `intercept`.
    X, y, sample_weight : arrays (n, d), (n,), (n,)
        What it was fitted on; X dense or sparse, or the kernel matrix.
    loss : "hinge" or "squared_hinge"
        Of 1/2 ||w||^2 + C sum_i loss_i.
    C : float
    intercept : "free", "penalised" (with 1/2 b^2) or "none"

    Returns
    -------
    ProvenFit
        Its `sentence` says it in a line, `gap` in a number, `parts` for each binary problem.

    Raises
    ------
    ValueError
        An estimator that is not fitted (scikit-learn's NotFittedError is one); another loss or
        penalty, a kernel that is no inner product, or an X or y that cannot be those of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> import tightmargin as tm
    >>> X, y = load_iris(return_X_y=True)
    >>> fit = tm.certify_fitted(SVC(tol=1e-9).fit(X, y), X, y)
    >>> fit.sentence
    'SVC: optimal, proven to 0.0001 % of the objective'
    """
    start = time.perf_counter()
    data = training_set(estimator, X, y, sample_weight)
    words = {"loss": loss, "C": C, "intercept": intercept}
    parts = tuple(_part(found) for found in _problems(estimator, data, words))
    seconds = time.perf_counter() - start
    return ProvenFit(type(estimator).__name__, parts, _stopped_early(estimator), seconds)


def _problems(estimator: Any, data: TrainingSet, words: dict[str, Any]) -> Iterator[FittedProblem]:
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import SVC, LinearSVC, NuSVC

    name = type(estimator).__name__
    given = [word for word, value in words.items() if value is not None]
    for kind, reader in (
        (SVC, partial(libsvm, of_nu=False)),
        (NuSVC, partial(libsvm, of_nu=True)),
        (LinearSVC, linear_svc),
        (SGDClassifier, sgd),
    ):
        if isinstance(estimator, kind):
            if given:
                raise ValueError(f"{name} says itself what it minimises: leave {given[0]} out")
            return reader(estimator, data)
    if not (hasattr(estimator, "coef_") and hasattr(estimator, "intercept_")):
        raise ValueError(
            f"{name} has no coef_ and intercept_: of a Pipeline give the last step and the points "
            "that reach it, of a search its best_estimator_"
        )
    missing = [word for word, value in words.items() if value is None]
    if missing:
        raise ValueError(
            f"{name}: state {', '.join(missing)}, of 1/2 ||w||^2 + C sum of losses; its own "
            "objective is not known"
        )
    loss, intercept = one_of("loss", words["loss"], LOSSES), words["intercept"]
    one_of("intercept", intercept, INTERCEPTS)
    C, even = positive("C", words["C"]), np.ones(len(data.classes))
    return priced_machines(data, estimator, even, C, loss, intercept, 1.0)


def _part(found: FittedProblem) -> FittedPart:
    if found.w is None:
        assert found.beta is not None
        attained, below = ends_of_expansion(found.problem, found.beta, found.b)
    else:
        alpha = None if found.beta is None else found.problem.y * found.beta
        attained, below = ends_of_hyperplane(found.problem, found.w, found.b, alpha)
    return FittedPart(found.negative, found.positive, found.statement, attained, below)


def _stopped_early(estimator: Any) -> bool:
    """Whether the estimator reached its limit of iterations."""
    limit, taken = getattr(estimator, "max_iter", None), getattr(estimator, "n_iter_", None)
    if not isinstance(limit, int) or limit <= 0 or taken is None:
        return False
    return bool(np.max(taken) >= limit)
