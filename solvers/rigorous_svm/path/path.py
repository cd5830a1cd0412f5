"""The rigorous SVM at one norm bound H, or at many: whatever is fastest, every value proven.

Bi & Vapnik 2003, (3)-(5) and (12). E falls and is convex in H, with the slope -sqrt(S) = -gamma H;
C = 1 / gamma rises with H, and so the partition of the multipliers at one H is a good guess at the
next. From the largest H that matters on (rigorous_svm/norm_limit/norm_limit.py) gamma is 0 and E
does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.solvers.execution.live_line import telling
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit
from tightmargin.solvers.rigorous_svm.path.path_result import METHODS, RsvmPath, RsvmRow
from tightmargin.solvers.rigorous_svm.path.path_rows import RsvmRows

__all__ = ["METHODS", "RsvmPath", "RsvmRow", "rsvm_path", "solve_rsvm"]


@unweighted_unlike("rsvm")
@reads_dense_points
def solve_rsvm(
    data: TrainingData | GramData,
    *,
    norm_bound: float,
    method: str = "auto",
    start: ArrayLike | None = None,
    time_limit: float | None = None,
) -> RsvmRow:
    """Solve the rigorous SVM with a free intercept.

        min  sum_i [1 - y_i (<w, x_i> + b)]_+   s.t.  ||w|| <= H                      (3)-(5)

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H > 0.
    method : str
        "interior" (few features), "segments" (kernels and many features), "socp" (12 as a model,
        by Clarabel) or "decomposition" ((19)-(21)); "auto" takes one of the first two by size.
        Where a method leaves the gap open another one helps out, and the row names it.
    start : array (n,), optional
        Multipliers in [0, 1] of a similar problem, for segments and decomposition.
    time_limit : float, optional
        Seconds; the best point so far is returned, as after Ctrl-C, and its gap says how good it
        is.

    Returns
    -------
    RsvmRow
        CERTIFIED where our own bound is within 1e-8 of the value.

    Raises
    ------
    ValueError
        An argument out of range, by its name.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> row = tm.search.solve_rsvm(data, norm_bound=0.5)
    >>> row.verdict.value, abs(row.point.norm_bound - 0.5) < 1e-9
    ('CERTIFIED', True)
    """
    rows = RsvmRows(data, one_of("method", method, METHODS), _seconds(time_limit))
    begin = None if start is None else _multipliers(start, data.n)
    return rows.row(positive("norm_bound", norm_bound), begin, keep=True)


@unweighted_unlike("rsvm")
@reads_dense_points
def rsvm_path(
    data: TrainingData | GramData,
    norm_bounds: Iterable[float],
    *,
    method: str = "auto",
    limit: NormLimit | None = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> RsvmPath:
    """Solve the rigorous SVM for many norm bounds, each from the one before.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bounds : iterable of float
        H > 0; sorted here, one row for each number.
    method : str
        As in solve_rsvm.
    limit : NormLimit, optional
        Of the data, if it is known; found here only where some H may be at or above it.
    time_limit : float, optional
        Seconds for each row.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Returns
    -------
    RsvmPath
        After Ctrl-C the rows found so far; before the first one KeyboardInterrupt goes on.

    Raises
    ------
    ValueError
        An empty list, a norm bound that is not positive, another argument out of range.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.rsvm_path(data, [0.25, 0.5])
    >>> path.rows[1].point.objective <= path.rows[0].point.objective
    True
    """
    rows = RsvmRows(data, one_of("method", method, METHODS), _seconds(time_limit), limit)
    waiting = sorted({positive("norm_bound", number) for number in norm_bounds})
    if not waiting:
        raise ValueError("norm_bounds is empty: name one")
    found: list[RsvmRow] = []
    total = len(waiting)
    start: NDArray[np.float64] | None = None
    with telling("path of the rigorous SVM", progress) as say:
        while waiting:
            say(f"norm_bound {waiting[0]:.4g}, {len(waiting)} of {total} to go")
            try:
                found.append(rows.row(waiting[0], start))
            except KeyboardInterrupt:
                if not found:
                    raise
                break
            waiting.pop(0)
            start = found[-1].point.alpha
    return RsvmPath(tuple(found), method, data, rows.limit, tuple(waiting))


def _seconds(time_limit: float | None) -> float | None:
    return None if time_limit is None else positive("time_limit", time_limit)


def _multipliers(start: ArrayLike, n: int) -> NDArray[np.float64]:
    """Checked multipliers of a similar problem."""
    try:
        alpha = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"start must be {n} numbers in [0, 1]") from None
    if alpha.shape != (n,):
        raise ValueError(f"start must have shape ({n},), got {alpha.shape}")
    bad = np.flatnonzero(~((alpha >= 0) & (alpha <= 1)))
    if bad.size:
        raise ValueError(f"start must lie in [0, 1], got {alpha[bad[0]]} at position {bad[0]}")
    return alpha
