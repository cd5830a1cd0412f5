"""The training set of an estimator that is already fitted, held against what it remembers of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tightmargin.experiments.estimators.inputs import known_labels, refuse_strange
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.class_labels import paired


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Points, classes and weights of a fit.

    X (n, d).
    labels (n,): as given.
    at (n,): place of each label in `classes`.
    classes (K,).
    weights (n,): of samples, at least 0.
    """

    X: Any
    labels: NDArray[Any]
    at: Index
    classes: NDArray[Any]
    weights: Array | None

    @property
    def n(self) -> int:
        """Points."""
        return len(self.at)

    def prices(self, cost: float, of_class: Array) -> Array:
        """What each point costs (n,): cost times the weight of its class times its own."""
        with np.errstate(over="ignore", invalid="ignore"):
            found: Array = cost * of_class
            return found if self.weights is None else found * self.weights

    def name(self, k: int) -> str:
        """A class in words."""
        return str(self.classes[k])


def training_set(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> TrainingSet:
    """The checked training set.

    Raises ValueError: an estimator that is not fitted; points, labels or weights that are none, or
        that cannot be those of the fit.
    """
    from sklearn.utils.validation import check_array, check_is_fitted

    name = type(estimator).__name__
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    refuse_strange(X, y)
    X = paired(X, tuple(getattr(estimator, "feature_names_in_", ())))
    points = check_array(X, accept_sparse="csr", dtype=np.float64)
    if sp.issparse(points):
        points = sp.csr_matrix(points)
        points.sum_duplicates()
    if np.shape(y) != (points.shape[0],):
        raise ValueError(f"X has {points.shape[0]} points and y the shape {np.shape(y)}")
    labels = known_labels(y)
    known = getattr(estimator, "n_features_in_", points.shape[1])
    if known != points.shape[1]:
        raise ValueError(
            f"X has {points.shape[1]} features and {name} was fitted on {known}: give the X of "
            "its fit"
        )
    classes = np.asarray(getattr(estimator, "classes_", np.unique(labels)))
    held, place = np.unique(labels, return_inverse=True)
    strange = [label for label in held.tolist() if label not in classes.tolist()]
    if strange:
        raise ValueError(f"y holds {strange[0]!r}, and {name} knows {classes.tolist()}")
    missing = [label for label in classes.tolist() if label not in held.tolist()]
    if missing or len(classes) < 2:
        raise ValueError(
            f"y holds no {missing[0]!r}, which {name} was fitted on: give the y of its fit"
            if missing
            else f"{name} knows one class alone: there is no machine to certify"
        )
    known_as = {label: k for k, label in enumerate(classes.tolist())}
    at = np.array([known_as[label] for label in held.tolist()])[place]
    return TrainingSet(points, labels, at, classes, _weights(sample_weight, len(labels)))


def _weights(sample_weight: ArrayLike | None, n: int) -> Array | None:
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold numbers") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have the shape ({n},), got {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be finite and at least 0, got {weights[bad[0]]} in row {bad[0]}"
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 everywhere: there is no problem to certify")
    return weights
