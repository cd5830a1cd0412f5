"""Data before and after preprocessing, with a record that applies the same numbers to new points.

The record is kept beside a saved result: a model built on these data is scored through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.data.arrays import Array, finite_points, real_array
from tightmargin.formulations.data.class_labels import paired
from tightmargin.formulations.data.kernel_pca import KernelPca
from tightmargin.formulations.data.kernels import GramNormaliser, cross_gram
from tightmargin.formulations.data.multiclass_data import BuilderData, MulticlassData
from tightmargin.formulations.data.normalisation import Normaliser
from tightmargin.formulations.data.sparse_points import Points, kept_points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.gone import gone_text
from tightmargin.printing import Printed
from tightmargin.solvers.result import SolveResult

Raw = TrainingData | MulticlassData


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Printed):
    """Data before and after preprocessing.

    raw: as loaded.
    data: as the builder reads it.
    record: what was done: empty for nothing, a Normaliser as JSON for points, the kernel and its
        parameters for a kernel matrix, and with them the fitted KernelPca as JSON for its
        components.
    components: where the points of `data` are kernel principal components.
    centring: where a precomputed kernel is centred: a new point is then its kernel values against
        the training points and, as one number more, k(x, x).
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

        X (m, d): points before preprocessing; for a precomputed kernel its rows against the
            training points, (m, n), and where that is centred one column more, k(x, x).
        w, b (rank,): the hyperplane in the coordinates of `data.factor`; for K classes a column of
            w and an entry of b each.
        Raises ValueError: points that preprocessing refuses.
        """
        if self.components is not None or "kernel" not in self.record:
            return self.mapped(X) @ w + b
        # F has orthogonal columns, so w = F'c with c = F w / ||column||^2, and <w, f(x)> = k(x) c.
        factor = self.data.factor
        coefficients = factor @ (w / (factor**2).sum(axis=0))
        return self._kernel_rows(self._paired(X)) @ coefficients + b

    def mapped(self, X: ArrayLike) -> Points:
        """New points as the builder would read them; for a kernel matrix, its rows (m, n).

        Raises ValueError: points that preprocessing refuses.
        """
        X = self._paired(X)
        if self.components is not None:
            X = real_array("X", X)
            points = X if self.centring is None else self._kernel_rows(X)
            return self.components.apply(points)
        if "kernel" in self.record:
            return self._kernel_rows(X)
        mapped = Normaliser.from_json(self.record).apply(X) if self.record else X
        return kept_points("X", mapped)

    def _paired(self, X: ArrayLike) -> Any:
        extra = 0 if self.centring is None else 1  # k(x, x)
        return paired(X, getattr(self.raw, "feature_names", ()), extra=extra)

    def _kernel_rows(self, X: ArrayLike) -> Array:
        X = real_array("X", X)
        if self.record["kernel"] == "precomputed":
            return X if self.centring is None else self._centred(X)
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


def origin_of(result: SolveResult, prepared: Prepared) -> Origin:
    """Origin of a saved result: its entry and hyperparameters on the training data.

    Raises ValueError: the result names no formulation of the catalogue, or belongs to an edited
        model.
    """
    if result.formulation not in CATALOGUE:
        raise ValueError(
            gone_text(result.formulation)
            or f"the result names no formulation of the catalogue but {result.formulation!r}: its "
            "model cannot be built again"
        )
    parameters = {
        word: np.asarray(value, dtype=float) if _is_numeric_list(value) else value
        for word, value in result.parameters.items()
    }
    return Origin(result.formulation, prepared.data, parameters)


def _is_numeric_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, int | float) for x in value)
