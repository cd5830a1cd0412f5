"""Probability of error under the distribution of section 6: of the Bayes rule and of machines.

Class +1, half of all points, has the density (N(x; m1, I) + N(x; m2, I)) / 2, class -1 N(x; 0, I).
With m1 = (2, 0) and m2 = (0, 2) the ratio of the two is (exp(2 x1 - 2) + exp(2 x2 - 2)) / 2, so
that the Bayes rule says +1 where x2 > g(x1), g(t) = 1 + log(2 - exp(2 t - 2)) / 2, and everywhere
for t beyond 1 + log(2) / 2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from tightmargin.experiments.data.gaussian_classes import CLUSTER_MEANS
from tightmargin.formulations.data.arrays import Array

LOW, HIGH = -6.0, 8.0  # six standard deviations beyond every mean: 1e-9 lies outside
CELLS = 280  # along either axis: an error is known to 1e-4
END = 1 + math.log(2) / 2


def bayes_score(X: Array) -> Array:
    """Logarithm of the ratio of the densities (m,): above 0 the Bayes rule says +1."""
    return np.logaddexp(2 * X[:, 0] - 2, 2 * X[:, 1] - 2) - math.log(2)


def bayes_error() -> float:
    """Probability of error of the Bayes rule, by one integral."""

    def beyond(mean: tuple[float, float]) -> float:
        """Probability that the rule says +1 at x from N(mean, I)."""

        def inside(t: float) -> float:
            edge = 1 + math.log(2 - math.exp(2 * t - 2)) / 2
            return _density(t - mean[0]) * float(ndtr(mean[1] - edge))

        whole, _ = quad(inside, LOW, END, epsabs=1e-12, limit=400)
        return float(whole) + float(ndtr(mean[0] - END))

    missed = 1 - sum(beyond(mean) for mean in CLUSTER_MEANS) / 2
    return (beyond((0.0, 0.0)) + missed) / 2


def _density(t: float) -> float:
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


def grid() -> Array:
    """Centres (CELLS^2, 2) of the cells over which machines are judged."""
    step = (HIGH - LOW) / CELLS
    line = LOW + step * (np.arange(CELLS) + 0.5)
    return np.column_stack([part.ravel() for part in np.meshgrid(line, line)])


def error_of(scores: Array) -> float:
    """Probability of error of a machine with these scores at the points of `grid`.

    A cell that the boundary crosses counts for both classes, by the share of it on either side of
    the line that the score and its slope at the centre give; every cell has its exact probability.
    """
    values = scores.reshape(CELLS, CELLS)
    along_second, along_first = np.gradient(values)  # by one cell
    width = np.abs(along_first) + np.abs(along_second)
    half_way = np.divide(values, width, out=np.copysign(1.0, values), where=width > 0)
    says_plus = np.clip(0.5 + half_way, 0.0, 1.0)
    plus = np.mean([_cells(mean) for mean in CLUSTER_MEANS], axis=0)
    minus = _cells((0.0, 0.0))
    return float((plus * (1 - says_plus) + minus * says_plus).sum() / 2)


def _cells(mean: tuple[float, float]) -> Array:
    """Probability of every cell under N(mean, I), (CELLS, CELLS), rows along the second axis."""
    edges = np.linspace(LOW, HIGH, CELLS + 1)
    first, second = (np.diff(ndtr(edges - part)) for part in mean)
    return np.outer(second, first)
