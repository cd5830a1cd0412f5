"""Samples of Appendix B: separable points with flipped labels."""

from __future__ import annotations

from itertools import count

import numpy as np

from tightmargin.experiments.data.outlier_generators import label_flip_hyperplane
from tightmargin.experiments.validation.error_rates import Samples, synthetic_samples

APART = 1000  # seeds between two tries of a replication


def flip_samples(
    n: int, d: int, tau: float, replication: int, *, test_points: int
) -> tuple[Samples, int]:
    """Training, validation and clean test points of one replication, and their seed.

    Parameters
    ----------
    n, d : int
    tau : float
        Probability that a training or validation label is flipped.
    replication : int
    test_points : int
    """
    seed = usable_seed(d, replication)
    spec = f"synthetic:flip,n={n},d={d},tau={tau},seed={seed}"
    return synthetic_samples(spec, test_points=test_points), seed


def usable_seed(d: int, replication: int) -> int:
    """First of replication, replication + 1000, ... whose hyperplane cuts the cube of the points.

    Beside it all test points have one label, which is no problem to train for.
    """
    return next(seed for seed in count(replication, APART) if cuts_the_cube(d, seed))


def cuts_the_cube(d: int, seed: int) -> bool:
    """Whether <w, x> + b has both signs on [-1, 1]^d: |b| < sum_j |w_j|."""
    w, b = label_flip_hyperplane(d=d, seed=seed)
    return abs(b) < float(np.abs(w).sum())
