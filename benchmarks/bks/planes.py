"""What a hyperplane is worth, in exact arithmetic: the upper end of every row."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.exact import rounded_up

NEAR = Fraction(1, 10**9)  # what a kept point may miss its margin by before (w, b) is stretched


def objective_of(data: TrainingData, w: Sequence[float], b: float, C: float) -> float:
    """1/2 ||w||^2 + C #violations of a multiple of (w, b), rounded up.

    Points with a margin of at least 1 - 1e-9 count as kept, and (w, b) is multiplied by 1 over the
    least of their margins. So the number is an objective that a hyperplane has in real arithmetic,
    and an upper bound on the optimum with no tolerance.

    Parameters
    ----------
    data : TrainingData
    w : sequence of float, length d
    b, C : float

    Raises
    ------
    ValueError
        w of another length.

    Examples
    --------
    >>> from benchmarks.bks.planes import objective_of
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[-2.0], [2.0], [3.0]], [-1, 1, -1])
    >>> objective_of(data, [0.5], 0.0, C=10), objective_of(data, [1.0], 0.0, C=10)
    (10.125, 10.125)
    """
    if len(w) != data.d:
        raise ValueError(f"w has {len(w)} numbers, and the points have {data.d} features")
    weights, offset = [Fraction(v) for v in w], Fraction(b)
    margins = [
        int(sign) * (sum((v * Fraction(x) for v, x in zip(weights, row, strict=True)), offset))
        for row, sign in zip(data.X.tolist(), data.y.tolist(), strict=True)
    ]
    kept = [margin for margin in margins if margin >= 1 - NEAR]
    scale = 1 / min(kept) if kept else Fraction(0)
    half_square = scale**2 * sum(v * v for v in weights) / 2
    return rounded_up(half_square + Fraction(C) * (data.n - len(kept)))
