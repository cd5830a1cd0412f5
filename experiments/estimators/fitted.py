"""Fitted machines on new points, with the preprocessing of their training points."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.experiments.data.loading import Raw, about
from tightmargin.experiments.data.preparation import PREPROCESSING, prepare
from tightmargin.experiments.data.prepared import Prepared, origin_of
from tightmargin.formulations.catalogue import CATALOGUE, Classifier, Origin, entry_named
from tightmargin.formulations.common.hyperplane import weight_and_intercept
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.class_labels import SIGNS, paired
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.normalisation import Normaliser
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.data.sparse_points import Points, kept_points
from tightmargin.formulations.multiclass.hinge import classes_and_intercepts
from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.registry import build
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

# Written in the variables alone: without a kernel, new points need no training data.
IN_VARIABLES: tuple[Classifier, ...] = (weight_and_intercept, classes_and_intercepts)


@dataclass(frozen=True)
class Sizes:
    """What a classifier that is written in the variables reads of its data."""

    n_classes: int
    d: int


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Printed, Drawn):
    """A solved formulation as a classifier.

    result: with the record of what was done to the points, in `normalisation`.
    training() -> Prepared: finds the training data; it is called only where the classifier is
        written in terms of it.
    Raises ValueError: a result without a point or without a formulation that classifies.
    """

    result: SolveResult
    training: Callable[[], Prepared]

    def __post_init__(self) -> None:
        entry, result = CATALOGUE.get(self.result.formulation), self.result
        if entry is None or entry.classifier is None:
            raise ValueError(
                f"the result names no formulation that classifies: {result.formulation!r}"
            )
        if not result.values or result.ray:  # where a ray starts, nothing is optimal
            raise ValueError(f"the result holds no point: its status is {result.status}")
        if entry.classifier is classes_and_intercepts:
            K, values = len(self.classes), result.values
            if K < 2 or np.size(values["B"]) % K or np.size(values.get("b", range(K))) != K:
                raise ValueError(f"the result names {K} classes, which do not fit its B and b")
        elif len(self.classes) not in (0, 2):
            raise ValueError(f"the result names {len(self.classes)} classes of two")

    def _page(self) -> Page:
        page = self.result._page()
        facts = [*page.facts[:-1], ("next", ".predict(X), .decision_values(X), .result")]
        return Page(f"Fitted: {self.result._title()}", facts)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of the classes, the negative one first; empty for two classes -1 and +1."""
        return tuple(self.data.get("classes", ()))

    @property
    def data(self) -> Mapping[str, Any]:
        """What the record of the result says of the training data."""
        return self.result.data

    def decision_values(self, X: ArrayLike) -> Array:
        """Decision values of new points.

        X (m, d): before preprocessing; for a precomputed kernel, kernel values against the training
            points. Columns of a data frame are paired with the training features by name where both
            have names.
        Returns: <w, f(x)> + b, or with K classes <B_k, f(x)> + b_k for each of them.
        Raises ValueError: points with other features, or that preprocessing refuses; training data
            that is no longer the same.
        """
        record = self.result.normalisation
        X = paired_points(X, self.data, record)
        points = kept_points("X", X)
        w, b = self.hyperplane
        if self.in_variables:
            _refuse_other_features(points, record["d"] if record else w.shape[-1])
            return (Normaliser.from_json(record).apply(points) if record else points) @ w.T + b
        prepared = self._prepared
        if prepared.centring is None:  # which says itself what a new point is
            _refuse_other_features(points, prepared.raw.d)
        return prepared.scores(points, w.T, b)

    @cached_property
    def hyperplane(self) -> tuple[Array, Any]:
        """Weights (d,) and intercept in the coordinates that the model saw; (K, d) and (K,)."""
        result, entry = self.result, CATALOGUE[self.result.formulation]
        assert entry.classifier is not None
        if self.in_variables:
            origin = Origin(result.formulation, self._sizes, result.parameters)
        else:
            origin = origin_of(result, self._prepared)
        return entry.classifier(origin, result.values, result.duals)

    @property
    def in_variables(self) -> bool:
        """Whether the result alone says everything: new points need no training data."""
        entry = CATALOGUE[self.result.formulation]
        return entry.classifier in IN_VARIABLES and "kernel" not in self.result.normalisation

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        """Labels (m,) of new points: those of the data, the one of largest value among several.

        A decision value of 0 gives the negative one; of several classes with the same value the
        first is taken.
        """
        return labels_of(self.decision_values(X), self.classes)

    def probabilities(self, X: ArrayLike) -> Array:
        """Refused: one machine estimates no probability.

        Raises ValueError: always; it names what estimates them.
        """
        raise ValueError(
            f"{self.result.formulation} estimates no probabilities: take class_probabilities, or "
            "direct_probabilities for several classes"
        )

    @cached_property
    def _prepared(self) -> Prepared:
        return self.training()

    @property
    def _sizes(self) -> Sizes:
        K = len(self.classes) or 1
        return Sizes(K, np.size(self.result.values["B"]) // K if "B" in self.result.values else 0)


def labels_of(values: Array, classes: tuple[Any, ...]) -> NDArray[Any]:
    """Labels (m,) from decision values (m,) or (m, K), see `Fitted.labels`."""
    at = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    return np.array(classes or SIGNS)[at]


def paired_points(X: ArrayLike, data: Mapping[str, Any], record: Mapping[str, Any]) -> Any:
    """New points with their columns as the training data has them, by name where both have names.

    A kernel matrix that is centred has one column more, k(x, x).
    """
    centred = record.get("kernel") == "precomputed" and record.get("normalise") == "centred"
    return paired(X, data.get("feature_names", ()), extra=int(centred))


def _refuse_other_features(X: Points, d: int) -> None:
    if X.shape[1] != d:
        raise ValueError(f"the new points have {X.shape[1]} features, the training points {d}")


class Estimator(Protocol):
    """What estimates probabilities from the points as they are after preprocessing."""

    def probabilities(self, X: Any) -> Array:
        """Probabilities of new points."""

    def labels(self, X: Any) -> NDArray[Any]:
        """Labels of new points."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedProbabilities(Printed):
    """An estimator of probabilities, applied after the preprocessing of its training points.

    machine: fitted on prepared points.
    mapped(X) -> array: new points as `machine` reads them.
    classes: names of the classes; empty for two classes -1 and +1.
    data, record: what is kept of the training data, and of its preprocessing.
    """

    machine: Estimator
    mapped: Callable[[ArrayLike], Array]
    classes: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)

    def probabilities(self, X: ArrayLike) -> Array:
        """P(Y = 1 | x) (m,) of new points, or P(Y = k | x) (m, K).

        Columns of a data frame are paired with the training features by name.
        """
        return self.machine.probabilities(self.points(X))

    def points(self, X: ArrayLike) -> Array:
        """New points as `machine` reads them."""
        return self.mapped(paired_points(X, self.data, self.record))

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        """Labels (m,) of new points: -1 and +1, or names of classes."""
        found = self.machine.labels(self.points(X))
        return np.array(self.classes)[found] if self.classes else found


@overload
def fit(
    method: str, data: Raw, *, solver: str = ..., sample_weight: Any = ..., **words: Any
) -> Fitted: ...
@overload
def fit(
    method: Callable[..., Estimator], data: Raw, *, sample_weight: Any = ..., **words: Any
) -> FittedProbabilities: ...
def fit(
    method: str | Callable[..., Estimator],
    data: Raw,
    *,
    solver: str = "auto",
    sample_weight: ArrayLike | None = None,
    **words: Any,
) -> Fitted | FittedProbabilities:
    """Prepare points, solve, and keep the machine for new points.

    Parameters
    ----------
    method : str or callable
        A formulation of the catalogue that classifies; or what fits an estimator of probabilities
        to prepared data, as class_probabilities does.
    data : TrainingData or MulticlassData
        Before preprocessing.
    solver : str
        As for `solve`; of a formulation.
    sample_weight : array (n,), optional
        Of points that have no weights yet, as for `TrainingData`; preprocessing counts them too.
    words
        Preprocessing (normalise, kernel, width, degree, coef0, shift, kpca, kpca_tolerance), and
        hyperparameters. `class_weight` is one where the formulation has it; elsewhere it
        multiplies the weights of the points.

    Returns
    -------
    Fitted, or FittedProbabilities for a callable
        New points are prepared with what was fitted on the training points.

    Raises
    ------
    ValueError
        As `prepare` and `build`; a problem without a solution; weights of weighted points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[0.0], [1.0], [5.0]], [-1, 1, 1])
    >>> tm.fit("c_svc", data, C=1.0, sample_weight=[1, 2, 0]).result.data["total_weight"]
    3.0
    >>> tm.fit("hard_margin_svc", data, normalise="zscore").labels([[0.4], [0.6]]).tolist()
    [-1, 1]
    """
    own = {word: words.pop(word) for word in PREPROCESSING if word in words}
    class_weight = None if _takes_class_weight(method) else words.pop("class_weight", None)
    data = reweighted(data, sample_weight, class_weight)
    if not isinstance(method, str):
        prepared = prepare(data, own)
        classes = data.classes if isinstance(data, MulticlassData) else ()
        kept = about(prepared.raw), prepared.record
        return FittedProbabilities(method(prepared.data, **words), prepared.mapped, classes, *kept)
    prepared = prepare(data, own)
    return fitted(solve(build(method, prepared.data, **words), solver), prepared)


def _takes_class_weight(method: str | Callable[..., Estimator]) -> bool:
    """Whether class_weight is a hyperparameter of a formulation or of a function."""
    if isinstance(method, str):
        return "class_weight" in entry_named(method).parameters
    return "class_weight" in inspect.signature(method).parameters


def reweighted(data: Raw, sample_weight: ArrayLike | None, class_weight: ClassWeight) -> Raw:
    """The points with weights, or the data itself where there are none.

    Raises ValueError: points that are weighted already get weights of their own; bad weights.
    """
    if sample_weight is None:
        if class_weight is None:
            return data
        return replace(data, class_weight=class_weight)
    if data.weights is not None:
        raise ValueError("sample_weight: the points are weighted already; give the data without")
    return replace(data, sample_weight=sample_weight, class_weight=class_weight)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Kept:
    """Training data at hand, for `Fitted`; unlike a lambda it can be sent to other processes."""

    prepared: Prepared

    def __call__(self) -> Prepared:
        """Return it."""
        return self.prepared


def fitted(result: SolveResult, prepared: Prepared) -> Fitted:
    """Machine of a result on prepared data, with the record of what was done to the points.

    Raises ValueError: the result holds no point.
    """
    about_data, record = about(prepared.raw), dict(prepared.record)
    machine = Fitted(replace(result, data=about_data, normalisation=record), Kept(prepared))
    return replace(machine, training=_needless) if machine.in_variables else machine


def _needless() -> Prepared:
    """Training data that a machine in variables does not read, and so does not carry along."""
    raise RuntimeError("this machine is written in its variables alone: it keeps no training data")
