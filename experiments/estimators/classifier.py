"""Every formulation that classifies as one scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from tightmargin.experiments.data.loading import takes_classes
from tightmargin.experiments.data.preparation import PREPROCESSING
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.estimators.certification import (
    UncertifiedError,
    UncertifiedWarning,
    checked_uncertified,
    interrupted,
    judge,
    judge_grid,
)
from tightmargin.experiments.estimators.distinct_points import all_points, distinct_points
from tightmargin.experiments.estimators.fitted import (
    FittedProbabilities,
)
from tightmargin.experiments.estimators.fitting import (
    HYPERPARAMETERS,
    apart,
    as_data,
    classifying,
    machine_of,
    refuse_grid,
    refuse_preprocessing,
    refuse_words,
    with_weights_in_order,
)
from tightmargin.experiments.estimators.inputs import (
    checked,
    known_labels,
    plain,
    refuse_strange,
)
from tightmargin.experiments.estimators.parts import PARTS, among_all, parts_of
from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import above_zero, checked_sample_weight
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.probability.binary import class_probabilities

__all__ = ["FormulationClassifier", "UncertifiedError", "UncertifiedWarning"]


WEIGHTED = "weighted_svc"  # the machines that probabilities are read from


def _reads_probabilities(estimator: Any) -> bool:
    if estimator.formulation == WEIGHTED and estimator.probability_grid is not None:
        return True
    raise AttributeError(
        f"formulation={estimator.formulation} estimates no probabilities: take "
        f"formulation={WEIGHTED} with ridge, pi and probability_grid"
    )


class FormulationClassifier(ClassifierMixin, BaseEstimator):
    """A formulation of the catalogue, solved and certified, as a scikit-learn classifier.

    Labels may be anything; of two, the larger is +1. What a formulation needs must be given, what
    it does not take is refused, both in `fit` and before any solver starts. None is "not given".

    Parameters
    ----------
    formulation : str
        A name of the catalogue: `tightmargin list` shows them all, `tightmargin show NAME` one
        with its mathematics and hyperparameters.
    solver : str
        As for `tm.solve`.
    method : str
        As for `tm.solve`.
    time_limit, threads, seed : number, optional
        As for `tm.solve`; building the model and deriving its numbers count towards the limit.
    uncertified : "warn", "raise" or "ignore"
        What `fit` does about a machine that our own code has not proven optimal, also where a
        solver says that it is: `UncertifiedWarning`, `UncertifiedError`, nothing. "raise" only
        warns of one that is WITHIN_TOLERANCE: its bound is proven, and its point misses rows by at
        most 1e-9.
    probability_grid : int or sequence of float, optional
        For weighted_svc: `fit` also solves a grid of pi, as `tm.paths.class_probabilities`, and
        `predict_proba` reads it. `predict` stays with the sign of the machine of `pi`.
    normalise, kernel, width, degree, coef0, shift, kpca, kpca_tolerance : optional
        Preprocessing, fitted on the training points, with the words of the command line; rbf is
        exp(-width ||x - x'||^2). kernel="precomputed" reads kernel values, as SVC does.
    class_weight : sequence, mapping or "balanced", optional
        In the order of `classes_`, by label, or n / (K n_class), with sums of `sample_weight` for
        counts. Where it is no hyperparameter of the formulation it multiplies `sample_weight`.
    C, bend, beta, big_m, both_sides, budget, class_balance, conflicts : optional
        Hyperparameters, each as the builder of the formulation takes it: `help(tm.c_svc)`.
    exponent, groups, hull_bound, incumbent, intercept, intercept_bound, loss, mu, norm : optional
    norm_bound, nu, partners, penalty, pi, price, products, rank, regulariser, ridge : optional
    scale, shape, sides, slack_bounds, strengthening, tau, transformation : optional
    truncation, w_ref : optional
        Likewise.

    Attributes
    ----------
    result_ : SolveResult
        Objective, proven bound, values, multipliers and the record of the solve.
    certificate_ : Certificate
        What our own code proved about this fit.
    classes_ : array (K,)
        Labels, sorted.
    n_features_in_, feature_names_in_ : int, array
        As everywhere in scikit-learn; the names only where X has some.
    coef_, intercept_ : array (1, d) or (K, d), array (1,) or (K,)
        Without a kernel: the hyperplane in the coordinates after `normalise`.
    points_ : array (m,)
        Indices of the training points that the model reads, in the order of its rows: what
        `result_` says of points it says of X[points_]. All in their order where no weights are
        given and no two points are equal.
    dual_coef_ : array (1, n)
        f(x) = sum_i c_i k(x_i, x) + b, of kernel machines and of duals, for all training points.
    support_ : array
        Indices of the training points whose |c_i| is above 1e-5 of the largest.
    probabilities_ : ClassProbabilities
        With `probability_grid`: the machines, each with its proof.

    Raises
    ------
    ValueError
        In `fit`: a missing, foreign or impossible hyperparameter, by name; more classes than the
        formulation takes; a problem that is infeasible or unbounded, with the reason.
    UncertifiedError
        In `fit`, with uncertified="raise".
    KeyboardInterrupt
        Ctrl-C during `fit`; what was found by then is kept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import tightmargin as tm
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = tm.FormulationClassifier("multiclass_hinge", ridge=0.01, normalise="zscore")
    >>> round(machine.fit(X, y).score(X, y), 2)
    0.98
    >>> machine.certificate_.verdict.value
    'CERTIFIED'
    """

    def __init__(
        self,
        formulation: str = "c_svc",
        *,
        solver: str = "auto",
        method: str = "auto",
        time_limit: float | None = None,
        threads: int | None = None,
        seed: int | None = None,
        uncertified: str = "warn",
        probability_grid: Any = None,
        normalise: str | None = None,
        kernel: str | None = None,
        shift: float | str | None = None,
        width: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        kpca: Any = None,
        kpca_tolerance: float | None = None,
        C: float | None = None,
        bend: float | None = None,
        beta: float | None = None,
        big_m: Any = None,
        both_sides: bool | None = None,
        budget: float | None = None,
        class_balance: Any = None,
        class_weight: Any = None,
        conflicts: str | None = None,
        exponent: float | str | None = None,
        groups: Any = None,
        hull_bound: float | None = None,
        incumbent: Any = None,
        intercept: str | None = None,
        intercept_bound: Any = None,
        loss: str | None = None,
        mu: float | str | None = None,
        norm: str | None = None,
        norm_bound: float | None = None,
        nu: float | None = None,
        partners: str | None = None,
        penalty: float | None = None,
        pi: float | None = None,
        price: float | None = None,
        products: str | None = None,
        rank: int | None = None,
        regulariser: str | None = None,
        ridge: float | None = None,
        scale: str | None = None,
        shape: Any = None,
        sides: str | None = None,
        slack_bounds: Any = None,
        strengthening: Any = None,
        tau: float | None = None,
        transformation: str | None = None,
        truncation: float | None = None,
        w_ref: Any = None,
    ) -> None:
        for word, value in list(locals().items()):
            if word != "self":
                setattr(self, word, value)

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FormulationClassifier:
        """Solve the formulation on points X (n, d) with labels y (n,).

        Parameters
        ----------
        sample_weight : array (n,), optional
            Numbers s_i of at least 0: the fit is that of point i repeated s_i times, and of weight
            0 left out. Equal points of one label are one point of the model, with their weights
            added up: see `points_`.

        Returns
        -------
        FormulationClassifier
            Itself; the class says what is raised.
        """
        entry = classifying(self.formulation)
        given, preprocessing = self._given(HYPERPARAMETERS), self._given(PREPROCESSING)
        given, of_data = apart(entry, given)
        refuse_words(entry, given)
        refuse_preprocessing(entry, preprocessing)
        checked_uncertified(self.uncertified)
        self._refuse_grid(entry.name)
        refuse_strange(X, y)
        points, found = checked(partial(validate_data, self), X, y=y)
        labels, weights = known_labels(found), checked_sample_weight(sample_weight, len(found))
        n, kept = len(labels), above_zero(weights, len(labels))[0]
        if len(kept) < n and self.kernel == "precomputed":
            raise ValueError(
                "sample_weight: with kernel=precomputed leave points of weight 0 out of X and y, "
                "its columns too"
            )
        by_point = any(np.size(value) == n > 1 for value in given.values())
        unweighted = not entry.weighted or "kpca" in preprocessing or self.probability_grid
        if unweighted or self.kernel == "precomputed" or by_point:
            distinct = all_points(weights, n)
        else:
            distinct = distinct_points(points, labels, weights)
        rows = distinct.rows
        raw = as_data(entry, points[rows], labels[rows], distinct.weights, of_data)
        given = with_weights_in_order(given, raw)
        limits = {word: plain(getattr(self, word)) for word in ("time_limit", "threads", "seed")}
        machine, prepared = machine_of(
            entry,
            raw,
            given,
            preprocessing,
            solver=self.solver,
            method=self.method,
            **limits,
        )
        stopped = interrupted(machine.result)
        if not stopped:
            judge(machine.result, self.uncertified)
        for name in (*PARTS, "probabilities_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.classes_, self._machine = np.unique(labels[kept]), machine
        self.points_ = rows
        self.result_, self.certificate_ = machine.result, machine.result.certificate
        for name, value in among_all(parts_of(machine, prepared), distinct).items():
            setattr(self, name, value)
        if stopped:
            raise KeyboardInterrupt
        if self.probability_grid is not None:
            self._fit_probabilities(prepared, given)
            if self.probabilities_.not_reached:
                raise KeyboardInterrupt
            judge_grid(self.probabilities_, self.uncertified)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Values (m,) of new points, positive for `classes_[1]`; of more classes (m, K)."""
        check_is_fitted(self)
        values = self._machine.decision_values(self._new(X))
        if values.ndim == 2 and values.shape[1] == 2:
            return values[:, 1] - values[:, 0]
        return values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels (m,) of new points; a decision value of 0 gives the first of two classes."""
        values = self.decision_function(X)
        at = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)
        return self.classes_[at]

    @available_if(_reads_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Estimates (m, 2) of the probability of each class, from the signs of all machines."""
        check_is_fitted(self, "probabilities_")
        found = self._read.probabilities(self._new(X))
        return np.column_stack([1 - found, found])

    def __sklearn_tags__(self) -> Any:
        """Say which data the formulation reads: two classes or several, and kernel values."""
        tags = super().__sklearn_tags__()
        entry = CATALOGUE.get(self.formulation) if isinstance(self.formulation, str) else None
        tags.classifier_tags.multi_class = entry is not None and takes_classes(entry)
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _refuse_grid(self, name: str) -> None:
        if self.probability_grid is None:
            return
        if name != WEIGHTED:
            raise ValueError(f"probability_grid belongs to formulation={WEIGHTED}: leave it out")
        refuse_grid(self.probability_grid)

    def _given(self, words: Iterable[str]) -> dict[str, Any]:
        """Parameters that were given, by name."""
        found = {word: plain(getattr(self, word)) for word in words}
        return {word: value for word, value in found.items() if value is not None}

    def _new(self, X: ArrayLike) -> Any:
        refuse_strange(X)
        return checked(partial(validate_data, self), X, reset=False)

    def _fit_probabilities(self, prepared: Prepared, given: dict[str, Any]) -> None:
        data = prepared.data
        assert isinstance(data, TrainingData)  # which weighted_svc reads
        words = {word: given[word] for word in ("ridge", "intercept") if word in given}
        machines = class_probabilities(
            data, grid=self.probability_grid, time_limit=plain(self.time_limit), **words
        )
        self.probabilities_ = machines
        self._read = FittedProbabilities(machines, prepared.mapped)
