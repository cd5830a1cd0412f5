"""From the data a user names to the data a builder reads, with a record that repeats the step.

The record is kept beside a saved result, so that the same numbers are applied to new points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.experiments.data.prepared import Prepared, Raw
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.kernel_pca import TOLERANCE, KernelPca, fit_kernel_pca
from tightmargin.formulations.data.kernels import KERNELS, GramNormaliser, centred_gram, gram_data
from tightmargin.formulations.data.multiclass_data import BuilderData, MulticlassData
from tightmargin.formulations.data.normalisation import (
    NORMALISERS,
    fit_normaliser,
    known_word,
    normalise,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData, with_gram

KERNEL_WORDS = ("width", "degree", "coef0")
KPCA_WORDS = ("kpca", "kpca_tolerance")
PREPROCESSING = ("normalise", "kernel", "shift", *KERNEL_WORDS, *KPCA_WORDS)
# Of the largest number of an entry: what another processor's sums, or its eigenvectors, differ by.
FITTED_AGAIN, TURNED_AGAIN = 1e-9, 1e-6


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
    """Repeat a recorded preparation on the same training data: every number is fitted again.

    Of the record only the words are taken, such as zscore or rbf. Its numbers must be the fitted
    ones up to rounding; of equal eigenvalues, whose directions are arbitrary, it names the turn.

    Raises ValueError: the record is not that of these data, and which of its entries is not.
    """
    prepared = prepare(raw, words_of(record))
    fitted = prepared.components
    if fitted is not None and isinstance(record.get("components"), Mapping):
        prepared = _turned(raw, prepared, fitted.turned(record["components"].get("basis")))
    found = {"largest": None} | dict(prepared.record)
    for name in sorted({*record, *found}):
        _refuse_other_record(name, record.get(name), found.get(name), name in found)
    return prepared


def words_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What `prepare` was asked for, from what it recorded."""
    if "kind" in record and "kernel" not in record:
        return {"normalise": record["kind"]}
    return {name: value for name, value in record.items() if name in PREPROCESSING}


def _turned(raw: Raw, prepared: Prepared, found: KernelPca) -> Prepared:
    """The same components in the directions of a record."""
    data = found.data if isinstance(raw, TrainingData) else with_points(raw, found.data)
    record = dict(prepared.record) | {"components": found.to_json()}
    return replace(prepared, data=data, record=record, components=found)


def _refuse_other_record(name: str, saved: Any, fitted: Any, known: bool) -> None:
    """Raise ValueError where an entry is not what the data make it."""
    if isinstance(saved, Mapping) and isinstance(fitted, Mapping):
        for part in sorted({*saved, *fitted}):
            _refuse_other_record(part, saved.get(part), fitted.get(part), part in fitted)
        return
    if name == "largest" and saved is None:  # files of an earlier version lack it
        return
    within = TURNED_AGAIN if name == "basis" else FITTED_AGAIN
    if not known or not _same_up_to_rounding(saved, fitted, within):
        raise ValueError(
            f"the recorded preparation is not that of these data: its entry {name!r} is not what "
            "is fitted again"
        )


def _same_up_to_rounding(saved: Any, fitted: Any, within: float) -> bool:
    """Numbers relative to the largest of their list, everything else exactly."""
    one, other = _numbers(saved), _numbers(fitted)
    if one is None or other is None:
        return type(saved) is type(fitted) and bool(saved == fitted)
    if one.shape != other.shape:
        return False
    size = float(np.abs(other).max(initial=0.0))
    return bool(np.abs(one - other).max(initial=0.0) <= within * size)


def _numbers(value: Any) -> Array | None:
    """A number or nested lists of them; None for anything else."""
    try:
        found = np.asarray(value)
    except ValueError:  # lists of different lengths
        return None
    return found.astype(float) if found.dtype.kind in "iuf" else None


# --- points of several classes for what reads two -------------------------------------------------


def in_two(raw: MulticlassData) -> TrainingData:
    """The points with the first class against the rest."""
    return TrainingData(
        raw.X, np.where(raw.y == 0, 1.0, -1.0), raw.spec, sample_weight=raw.sample_weight
    )


def with_points(raw: MulticlassData, data: BuilderData) -> MulticlassData:
    """The classes with the coordinates of other data of the same points."""
    return replace(raw, X=data.factor, feature_names=())
