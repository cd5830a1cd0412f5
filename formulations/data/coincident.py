"""Points of both labels in one place: no classifier is right about all of them."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from tightmargin.formulations.data.training_data import GramData, TrainingData


@lru_cache(maxsize=4)
def least_errors(data: TrainingData | GramData) -> int:
    """Least number of points that any function of the point gets wrong.

    Points that are equal get one score. Where p of them are positive and q negative, min(p, q)
    are on the wrong side of it, and below margin 1 for every hyperplane: the sum over all places
    is a lower bound on errors and on 0-1 violations. Points of a kernel matrix are equal when
    their rows are: then K_ii = K_ij = K_jj, and their distance in feature space is 0.

    Returns
    -------
    int
        0 when no place holds points of both labels.
    """
    points = data.gram if isinstance(data, GramData) else data.X
    points = points + 0.0  # -0.0 and 0.0 are one place
    positive, negative = (
        Counter(row.tobytes() for row in points[data.y == label]) for label in (1.0, -1.0)
    )
    return sum(min(positive[place], negative[place]) for place in positive.keys() & negative.keys())
