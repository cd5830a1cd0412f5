"""Points centred and scaled for the search of h_limit, and back.

Neither changes which hyperplane is best: a shift moves only b, a factor divides w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData


@dataclass(frozen=True, eq=False)
class Rows:
    """Points g_i = (f_i - centre) / scale with ||g_i|| <= 1.

    Attributes
    ----------
    points : array (n, d)
    y : array (n,)
    centre : array (d,)
    scale : float
        0 where all points lie in one place; the g_i are 0 then.
    measured : bool
        Whether the columns are features, each exact on its own scale. Those of the factor of a
        kernel matrix are exact on the scale of the longest row only.
    """

    points: Array
    y: Array
    centre: Array
    scale: float
    measured: bool

    def weights(self, v: Array, c: float) -> tuple[Array, float]:
        """(w, c) with <w, f_i - centre> + c = <v, g_i> + c."""
        return (v / self.scale if self.scale else np.zeros_like(v)), c

    def hyperplane(self, w: Array, c: float) -> tuple[Array, float]:
        """(w, b) with <w, f_i> + b = <w, f_i - centre> + c."""
        return w, c - float(w @ self.centre)


def centred_rows(data: TrainingData | GramData) -> Rows:
    """Rows of the factor around their mean, the longest of length 1."""
    factor = np.asarray(data.factor)
    centre = factor.mean(axis=0)
    points = factor - centre
    points[:, np.ptp(factor, axis=0) == 0] = 0.0  # the mean of equal numbers may be off by a bit
    scale = float(np.linalg.norm(points, axis=1).max()) if data.d else 0.0
    measured = isinstance(data, TrainingData)
    return Rows(points / scale if scale else points, data.y, centre, scale, measured)
