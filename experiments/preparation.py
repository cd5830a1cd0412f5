"""From the data a user names to the data a builder reads, with a record that repeats the step.

The record is kept beside a saved result, so that the same numbers are applied to new points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.class_points import in_two, with_points
from formulations.catalogue import CATALOGUE, Origin
from formulations.data import GramData, TrainingData
from formulations.gram_normaliser import GramNormaliser, centred_gram
from formulations.kernel_pca import TOLERANCE, KernelPca, fit_kernel_pca
from formulations.kernels import KERNELS, cross_gram, gram_data
from formulations.multiclass_data import BuilderData, MulticlassData
from formulations.preprocess import (
    NORMALISERS,
    Normaliser,
    finite_points,
    fit_normaliser,
    known_word,
    normalise,
)
from solvers.result import SolveResult

Array = NDArray[np.float64]
Raw = TrainingData | MulticlassData

KERNEL_WORDS = ("width", "degree", "coef0")
KPCA_WORDS = ("kpca", "kpca_tolerance")
PREPROCESSING = ("normalise", "kernel", "shift", *KERNEL_WORDS, *KPCA_WORDS)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data before and after preprocessing.

    Attributes
    ----------
    raw : TrainingData or MulticlassData
        As loaded.
    data : TrainingData, GramData or MulticlassData
        As the builder reads it.
    record : mapping
        What was done: empty for nothing, a Normaliser as JSON for points, the kernel and its
        parameters for a kernel matrix, and with them the fitted KernelPca as JSON for its
        components.
    components : KernelPca or None
        Where the points of `data` are kernel principal components.
    centring : GramNormaliser or None
        Where a precomputed kernel is centred: a new point is then its kernel values against the
        training points and, as one number more, k(x, x).
    """

    raw: Raw
    data: BuilderData
    record: Mapping[str, Any]
    components: KernelPca | None = None
    centring: GramNormaliser | None = None

    @property
    def remark(self) -> str:
        """What the preparation did to the data that its numbers do not show, for the message."""
        texts = []
        if self.centring is not None and self.centring.shift:
            texts.append(f"{self.centring.shift:.6g} was added to the diagonal before centring")
        if self.components is not None:
            texts.append(self.components.summary)
        return "; ".join(texts)

    def scores(self, X: ArrayLike, w: Array, b: float | Array) -> Array:
        """Decision values <w, f(x)> + b of new points, (m,), or (m, K) for w (rank, K).

        Parameters
        ----------
        X : array (m, d)
            Points before preprocessing; for a precomputed kernel its rows against the training
            points, (m, n), and where that is centred one column more, k(x, x).
        w, b : array (rank,), float
            The hyperplane in the coordinates of `data.factor`; for K classes a column of w and an
            entry of b each.

        Raises
        ------
        ValueError
            Points that preprocessing refuses.
        """
        if self.components is not None or "kernel" not in self.record:
            return self.mapped(X) @ w + b
        # F has orthogonal columns, so w = F'c with c = F w / ||column||^2, and <w, f(x)> = k(x) c.
        factor = self.data.factor
        coefficients = factor @ (w / (factor**2).sum(axis=0))
        return self._kernel_rows(X) @ coefficients + b

    def mapped(self, X: ArrayLike) -> Array:
        """New points as the builder would read them; for a kernel matrix, its rows (m, n).

        Raises
        ------
        ValueError
            Points that preprocessing refuses.
        """
        if self.components is not None:
            points = X if self.centring is None else self._kernel_rows(X)
            return self.components.apply(points)
        if "kernel" in self.record:
            return self._kernel_rows(X)
        mapped = Normaliser.from_json(self.record).apply(X) if self.record else X
        return np.asarray(mapped, dtype=np.float64)

    def _kernel_rows(self, X: ArrayLike) -> Array:
        if self.record["kernel"] == "precomputed":
            return np.asarray(X, dtype=np.float64) if self.centring is None else self._centred(X)
        assert isinstance(self.raw, TrainingData)  # a kernel matrix is a matter of two classes
        return cross_gram(self.raw, X, **self.record)

    def _centred(self, X: ArrayLike) -> Array:
        assert self.centring is not None
        points, n = finite_points("X", X), self.centring.n
        if points.shape[1] != n + 1:
            raise ValueError(
                f"with kernel=precomputed normalise=centred a new point x is its {n} kernel values "
                f"against the training points and then k(x, x): {n + 1} numbers, got "
                f"{points.shape[1]}"
            )
        return self.centring.apply_cross(points[:, :n], points[:, n])


def prepare(raw: Raw, options: Mapping[str, Any]) -> Prepared:
    """Normalise the points, form a kernel matrix, or take its principal components.

    Parameters
    ----------
    raw : TrainingData or MulticlassData
        The formulations of several classes read points: of a kernel they take its components.
    options : mapping
        Some of normalise, kernel, width, degree, coef0, kpca and kpca_tolerance;
        kernel=precomputed reads the points as a kernel matrix, shift is what `GramData` takes, and
        of the normalisers only centred has something to act on, after the shift.
        kpca is what `fit_kernel_pca` calls keep: full, a number of components or a share of the
        variance.

    Raises
    ------
    ValueError
        An unknown word, a kernel parameter that is missing or does not belong, or data that
        cannot be normalised.
    """
    if isinstance(raw, MulticlassData):
        return _prepared_classes(raw, options)
    _refuse_misplaced(options)
    kernel, how = options.get("kernel", "linear"), options.get("normalise", "none")
    if "kpca" in options:
        return _in_components(raw, options)
    if kernel == "precomputed":
        return _precomputed(raw, options)
    if kernel in KERNELS and kernel != "linear":
        record = {"kernel": kernel, "normalise": how} | {
            word: options[word] for word in KERNEL_WORDS if word in options
        }
        return Prepared(raw, gram_data(raw, **record), record)
    if kernel != "linear":
        raise ValueError(
            f"kernel {kernel!r} is not known: choose one of {', '.join(KERNELS)}, precomputed"
        )
    _refuse_without_kernel(options)
    if how == "none":
        return Prepared(raw, raw, {})
    data, fitted = normalise(raw, how)
    return Prepared(raw, data, fitted.to_json())


def _prepared_classes(raw: MulticlassData, options: Mapping[str, Any]) -> Prepared:
    if "kpca" in options:
        found = prepare(in_two(raw), options)
        return replace(found, raw=raw, data=with_points(raw, found.data))
    if options.get("kernel", "linear") != "linear":
        raise ValueError(
            f"kernel={options['kernel']}: formulations of several classes read points, not a kernel"
            " matrix; add kpca=full, which gives the points their coordinates in feature space"
        )
    _refuse_misplaced(options)
    _refuse_without_kernel(options)
    how = options.get("normalise", "none")
    if how == "none":
        return Prepared(raw, raw, {})
    fitted = fit_normaliser(how, raw.X)
    return Prepared(raw, replace(raw, X=fitted.apply(raw.X)), fitted.to_json())


def _refuse_without_kernel(options: Mapping[str, Any]) -> None:
    unused = [word for word in KERNEL_WORDS if word in options]
    if unused:
        raise ValueError(f"{unused[0]} belongs to a kernel: add kernel=rbf or kernel=poly")


def _refuse_misplaced(options: Mapping[str, Any]) -> None:
    """Raise ValueError for words that are no numbers, or that belong to a word not given."""
    for word in KERNEL_WORDS:
        if not isinstance(options.get(word, 0.0), int | float):
            raise ValueError(f"{word} must be a number, got {options[word]!r}")
    if "shift" in options and options.get("kernel") != "precomputed":
        raise ValueError("shift belongs to kernel=precomputed: the other kernels are semidefinite")
    if "kpca_tolerance" in options and "kpca" not in options:
        raise ValueError("kpca_tolerance belongs to kpca: add kpca=full, a number or a share")


def _precomputed(raw: TrainingData, options: Mapping[str, Any]) -> Prepared:
    _refuse_extra(options)
    if raw.n != raw.d:
        raise ValueError(
            f"kernel=precomputed reads the points as a kernel matrix, and {raw.n} rows of "
            f"{raw.d} numbers are none"
        )
    shift = options.get("shift", 0.0)
    record = {"kernel": "precomputed"} | ({"shift": shift} if "shift" in options else {})
    data = GramData(raw.X, raw.y, spec=raw.spec, shift=shift)
    if options.get("normalise", "none") == "none":
        return Prepared(raw, data, record)
    centred, fitted = centred_gram(data)
    return Prepared(raw, centred, record | {"normalise": "centred"}, centring=fitted)


def _in_components(raw: TrainingData, options: Mapping[str, Any]) -> Prepared:
    """Points in the components of their kernel, linear where none is named."""
    how = {word: value for word, value in options.items() if word not in KPCA_WORDS}
    points, centring = _kernel_points(raw, how)
    kernel = {} if isinstance(points, GramData) else {"kernel": "linear"} | how
    tolerance = options.get("kpca_tolerance", TOLERANCE)
    found = fit_kernel_pca(points, keep=options["kpca"], tolerance=tolerance, **kernel)
    record = {"kernel": "linear"} | dict(options) | {"components": found.to_json()}
    return Prepared(raw, found.data, record, found, centring)


def _kernel_points(
    raw: TrainingData, how: Mapping[str, Any]
) -> tuple[TrainingData | GramData, GramNormaliser | None]:
    """What a kernel PCA is fitted on: a kernel matrix where the points are one."""
    if how.get("kernel") != "precomputed":
        return raw, None
    prepared = prepare(raw, how)
    assert isinstance(prepared.data, GramData)
    return prepared.data, prepared.centring


def _refuse_extra(options: Mapping[str, Any]) -> None:
    extra = [word for word in options if word not in ("kernel", "normalise", "shift")]
    if extra:
        raise ValueError(f"kernel=precomputed leaves nothing for {extra[0]} to do: leave it out")
    how = known_word(options.get("normalise", "none"), "normalise", NORMALISERS)
    if how not in ("none", "centred"):
        raise ValueError(
            f"kernel=precomputed leaves nothing for normalise to do by {how}, which acts on points:"
            " write centred, which acts on kernel values, or leave it out"
        )


def restore(raw: Raw, record: Mapping[str, Any]) -> Prepared:
    """Repeat a recorded preparation on the same training data, with the recorded numbers."""
    if "components" in record:
        if isinstance(raw, TrainingData):
            return _components_again(raw, record)
        found = _components_again(in_two(raw), record)
        return replace(found, raw=raw, data=with_points(raw, found.data))
    if "kernel" in record:
        return prepare(raw, record)
    if not record:
        return Prepared(raw, raw, {})
    return Prepared(raw, replace(raw, X=Normaliser.from_json(record).apply(raw.X)), record)


def _components_again(raw: TrainingData, record: Mapping[str, Any]) -> Prepared:
    kept = ("normalise", "shift", *KERNEL_WORDS)
    how = {word: value for word, value in record.items() if word in kept}
    how["kernel"] = record["kernel"]
    points, centring = _kernel_points(raw, how)
    found = KernelPca.from_json(
        points, {} if isinstance(points, GramData) else how, record["components"]
    )
    return Prepared(raw, found.data, record, found, centring)


def origin_of(result: SolveResult, prepared: Prepared) -> Origin:
    """Origin of a saved result: its entry and hyperparameters on the training data.

    Raises
    ------
    ValueError
        The result names no formulation of the catalogue, or belongs to an edited model.
    """
    if result.formulation not in CATALOGUE:
        raise ValueError(
            f"the result names no formulation of the catalogue but {result.formulation!r}: its "
            "model cannot be built again"
        )
    parameters = {
        word: np.asarray(value, dtype=float) if _is_numeric_list(value) else value
        for word, value in result.parameters.items()
    }
    return Origin(result.formulation, prepared.data, parameters)


def _is_numeric_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, int | float) for x in value)
