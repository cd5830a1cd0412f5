"""From the data a user names to the data a builder reads, with a record that repeats the step.

The record is kept beside a saved result, so that the same numbers are applied to new points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.experiments.data.prepared import Prepared, Raw
from tightmargin.formulations.data.kernel_centring import GramNormaliser, centred_gram
from tightmargin.formulations.data.kernel_pca import TOLERANCE, KernelPca, fit_kernel_pca
from tightmargin.formulations.data.kernels import KERNELS, gram_data
from tightmargin.formulations.data.multiclass_data import BuilderData, MulticlassData
from tightmargin.formulations.data.normalisation import (
    NORMALISERS,
    Normaliser,
    fit_normaliser,
    known_word,
    normalise,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData, with_gram

KERNEL_WORDS = ("width", "degree", "coef0")
KPCA_WORDS = ("kpca", "kpca_tolerance")
PREPROCESSING = ("normalise", "kernel", "shift", *KERNEL_WORDS, *KPCA_WORDS)


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

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> prepared = tm.data.prepare(data, {"normalise": "zscore"})
    >>> bool(abs(prepared.data.X.mean()) < 1e-12)
    True
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
    fitted = fit_normaliser(how, raw.X, raw.weights)
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
            f"{raw.d} numbers are none; points of weight 0 are left out of the rows alone"
        )
    shift = options.get("shift", 0.0)
    record = {"kernel": "precomputed"} | ({"shift": shift} if "shift" in options else {})
    data = with_gram(raw, raw.X, shift)
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


# --- points of several classes for what reads two -------------------------------------------------


def in_two(raw: MulticlassData) -> TrainingData:
    """The points with the first class against the rest."""
    return TrainingData(
        raw.X, np.where(raw.y == 0, 1.0, -1.0), raw.spec, sample_weight=raw.sample_weight
    )


def with_points(raw: MulticlassData, data: BuilderData) -> MulticlassData:
    """The classes with the coordinates of other data of the same points."""
    return replace(raw, X=data.factor, feature_names=())
