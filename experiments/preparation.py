"""From the data a user names to the data a builder reads, with a record that repeats the step.

The record is kept beside a saved result, so that the same numbers are applied to new points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.catalogue import CATALOGUE, Origin
from formulations.data import GramData, TrainingData
from formulations.kernels import KERNELS, cross_gram, gram_data
from formulations.preprocess import Normaliser, normalise
from solvers.result import SolveResult

Array = NDArray[np.float64]

PREPROCESSING = ("normalise", "kernel", "width", "degree", "coef0")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data before and after preprocessing.

    Attributes
    ----------
    raw : TrainingData
        As loaded.
    data : TrainingData or GramData
        As the builder reads it.
    record : mapping
        What was done: empty for nothing, a Normaliser as JSON for points, the kernel and its
        parameters for a kernel matrix.
    """

    raw: TrainingData
    data: TrainingData | GramData
    record: Mapping[str, Any]

    def scores(self, X: ArrayLike, w: Array, b: float) -> Array:
        """Decision values <w, f(x)> + b of new points.

        Parameters
        ----------
        X : array (m, d)
            Points before preprocessing; for a precomputed kernel its rows against the training
            points, (m, n).
        w, b : array (rank,), float
            The hyperplane in the coordinates of `data.factor`.

        Raises
        ------
        ValueError
            Points that preprocessing refuses.
        """
        if "kernel" not in self.record:
            mapped = Normaliser.from_json(self.record).apply(X) if self.record else X
            return np.asarray(mapped) @ w + b
        # F has orthogonal columns, so w = F'c with c = F w / ||column||^2, and <w, f(x)> = k(x) c.
        factor = self.data.factor
        coefficients = factor @ (w / (factor**2).sum(axis=0))
        return self._kernel_rows(X) @ coefficients + b

    def _kernel_rows(self, X: ArrayLike) -> Array:
        if self.record["kernel"] == "precomputed":
            return np.asarray(X, dtype=np.float64)
        return cross_gram(self.raw, X, **self.record)


def prepare(raw: TrainingData, options: Mapping[str, Any]) -> Prepared:
    """Normalise the points, or form a kernel matrix.

    Parameters
    ----------
    options : mapping
        Some of normalise, kernel, width, degree, coef0; kernel=precomputed reads the points as a
        kernel matrix.

    Raises
    ------
    ValueError
        An unknown word, a kernel parameter that is missing or does not belong, or data that
        cannot be normalised.
    """
    for word in ("width", "degree", "coef0"):
        if not isinstance(options.get(word, 0.0), int | float):
            raise ValueError(f"{word} must be a number, got {options[word]!r}")
    kernel, how = options.get("kernel", "linear"), options.get("normalise", "none")
    if kernel == "precomputed":
        _refuse_extra(options)
        if raw.n != raw.d:
            raise ValueError(
                f"kernel=precomputed reads the points as a kernel matrix, and {raw.n} rows of "
                f"{raw.d} numbers are none"
            )
        return Prepared(raw, GramData(raw.X, raw.y, spec=raw.spec), {"kernel": kernel})
    if kernel in KERNELS and kernel != "linear":
        record = {"kernel": kernel, "normalise": how} | {
            word: options[word] for word in ("width", "degree", "coef0") if word in options
        }
        return Prepared(raw, gram_data(raw, **record), record)
    if kernel != "linear":
        raise ValueError(
            f"kernel {kernel!r} is not known: choose one of {', '.join(KERNELS)}, precomputed"
        )
    unused = [word for word in ("width", "degree", "coef0") if word in options]
    if unused:
        raise ValueError(f"{unused[0]} belongs to a kernel: add kernel=rbf or kernel=poly")
    if how == "none":
        return Prepared(raw, raw, {})
    data, fitted = normalise(raw, how)
    return Prepared(raw, data, fitted.to_json())


def _refuse_extra(options: Mapping[str, Any]) -> None:
    extra = [word for word in options if word not in ("kernel", "normalise")]
    if options.get("normalise", "none") != "none":
        extra.append("normalise")
    if extra:
        raise ValueError(f"kernel=precomputed leaves nothing for {extra[0]} to do: leave it out")


def restore(raw: TrainingData, record: Mapping[str, Any]) -> Prepared:
    """Repeat a recorded preparation on the same training data, with the recorded numbers."""
    if "kernel" in record:
        return prepare(raw, record)
    if not record:
        return Prepared(raw, raw, {})
    points = Normaliser.from_json(record).apply(raw.X)
    return Prepared(raw, TrainingData(points, raw.y, spec=raw.spec), record)


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
