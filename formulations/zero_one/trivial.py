"""Hyperplanes that look at no point: how a result says that its optimum is one of them.

The 0-1 loss problem has w = 0 among its optima when nothing else pays: with b = 0 everybody is
violated (value penalty * n), with b = +-1 one class is kept (value 1 + penalty * n_other when b is
penalised, the paper's w~ = +-e_1). Relaxations have them too, with b anywhere between.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.training_data import GramData, TrainingData

Array = NDArray[np.float64]

CONSTANT = 1e-4  # of the margin 1: smaller scores are those of w = 0 as solvers find it


def degenerate(data: TrainingData | GramData, w: Array, b: float, intercept: str) -> str:
    """Why a hyperplane says nothing about the points, in a sentence; empty when it does.

    Scores that do not differ over the points count as w = 0: features may be constant.
    """
    scores = data.factor @ w if w.size else np.zeros(data.n)
    if float(np.ptp(scores)) > CONSTANT:
        return ""
    level = float(scores.mean()) + b
    if abs(level) <= CONSTANT:
        return "w = 0: every score is 0, which is no side (predict says -1)"
    side = int(np.sign(level))
    own, other = (data.n_pos, data.n_neg)[::side]
    size = "the majority" if own > other else "the minority" if own < other else "half of them"
    text = f"w = 0: every point is assigned to class {side:+d}, {size}"
    if intercept == "penalised" and abs(abs(level) - 1) <= CONSTANT:
        text += f" (w~ = {'+' if side > 0 else '-'}e_1, the constant column alone)"
    return text
