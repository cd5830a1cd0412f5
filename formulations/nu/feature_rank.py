"""Features that say the same twice: where the extended nu family has a meaningless optimum of 0.

If some w != 0 gives every point the same score (a constant column, a one-hot group, an exact copy,
as many features as points), a free intercept cancels it: no loss, no margin, objective 0, however
well another w would separate. Takeda & Sugiyama and Perez-Cruz et al. both assume it away. Such
features are refused by name, and `orthonormal_reduction` states the problem without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    reads_dense_points,
    with_points,
)
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.printing import Printed

# Relative to features of length 1: below it, a combination of features is taken for constant.
TOLERANCE = 1e-10
SAFE_EIGENVALUE = 1e-8  # of the Gram matrix of the features: far above its rounding
SAMPLE = 10  # points for each feature on which independence is looked for first


def dependent_features(
    data: TrainingData | GramData, intercept: str
) -> tuple[int, tuple[str, ...]]:
    """Rank of the features and a sentence for each one that the others determine.

    Centred features where there is an intercept, free or penalised; the features themselves
    without. The scale of a feature does not matter.
    """
    one_of("intercept", intercept, INTERCEPTS)
    known = _KNOWN.setdefault(data, {})
    centred = intercept != "none"
    if centred not in known:
        known[centred] = _dependent(data.points.X, centred)
    return known[centred]


# By data set: a builder runs again at every solve, to see whether its model was edited.
_KNOWN: WeakKeyDictionary[TrainingData | GramData, dict[bool, tuple[int, tuple[str, ...]]]] = (
    WeakKeyDictionary()
)


def _dependent(X: Array, centred: bool) -> tuple[int, tuple[str, ...]]:
    if _plainly_independent(X, centred):
        return X.shape[1], ()
    columns = X - X.mean(axis=0) if centred else X
    length = np.linalg.norm(columns, axis=0)
    rounding = 1e-13 * np.sqrt(len(X)) * np.abs(X).max(axis=0)
    alive = np.flatnonzero(length > rounding)
    word = "constant" if centred else "zero"
    lines = [f"feature {j} is {word}" for j in np.setdiff1d(np.arange(X.shape[1]), alive)]
    scaled = columns[:, alive] / length[alive]
    if len(alive) == 0 or np.linalg.eigvalsh(scaled.T @ scaled)[0] > SAFE_EIGENVALUE:
        return len(alive), tuple(lines)
    r, pivots = qr(scaled, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(r)) > TOLERANCE * abs(r[0, 0])).sum())
    shares = solve_triangular(r[:rank, :rank], r[:rank, rank:])
    kept = alive[pivots[:rank]]
    for j, share in zip(alive[pivots[rank:]], shares.T, strict=True):
        factors = share * length[j] / length[kept]
        terms = [
            f"{factor:.6g} * feature {k}"
            for k, factor, size in zip(kept, factors, np.abs(share), strict=True)
            if size > 1e-8
        ]
        lines.append(f"feature {j} = " + " + ".join(terms) + (" + a constant" if centred else ""))
    return rank, tuple(lines)


def _plainly_independent(X: Array, centred: bool) -> bool:
    """Whether products settle it: no column and no combination of them near a constant.

    Features that are independent on some of the points are so on all of them, which is most of the
    time where there are many points. They must not be so much larger on all points that what was
    clear on some is near rounding there: with it the answer is the one for all of them.
    """
    step = len(X) // (SAMPLE * X.shape[1])
    length = _plain_lengths(X[::step], centred) if step > 1 else None
    if length is not None and (length > 1e-6 * np.linalg.norm(X)).all():
        return True
    return _plain_lengths(X, centred) is not None


def _plain_lengths(X: Array, centred: bool) -> Array | None:
    """Lengths of the columns where one product X'X shows them independent; None where it does not.

    The product loses the digits that a column's mean has more than its deviations, hence the
    second condition; what it leaves open is looked at again with centred columns.
    """
    gram = X.T @ X
    size = np.diag(gram).copy()
    if centred:
        mean = X.mean(axis=0)
        gram -= len(X) * np.outer(mean, mean)
    length = np.diag(gram).copy()
    if not (length > 1e-4 * size).all() or not (length > 0).all():
        return None
    root = np.sqrt(length)
    least = np.linalg.eigvalsh(gram / np.outer(root, root))[0]
    return root if least > SAFE_EIGENVALUE * 1e4 else None


def refuse_dependent_features(data: TrainingData | GramData, intercept: str) -> None:
    """Raise ValueError, naming the features, where a w != 0 gives every point the same score."""
    rank, lines = dependent_features(data, intercept)
    if not lines:
        return
    if isinstance(data, GramData):
        raise ValueError(
            f"some w gives every point the same score in feature space, {data.d} components of the "
            "kernel matrix, and the optimum would be a meaningless 0: take GramData(H K H, y) with "
            "H = I - 1 / n, or kpca=full, which centre it and change nothing but b"
        )
    kind = "linearly" if intercept == "none" else "affinely"
    more = f" (and {len(lines) - 3} more)" if len(lines) > 3 else ""
    raise ValueError(
        f"the features are {kind} dependent, rank {rank} of {data.d}, and the optimum would be a "
        f"meaningless 0: {'; '.join(lines[:3])}{more}; drop what is named, or build on "
        "orthonormal_reduction(data).data"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Printed):
    """Points in orthonormal coordinates of their own span.

    data: the same points with r independent features, r the rank.
    basis (d, r): orthonormal columns: the reduced points are X @ basis.
    """

    data: TrainingData
    basis: Array

    def weight(self, w: ArrayLike) -> Array:
        """Return a weight (r,) in the original features (d,): the same scores, norm and b."""
        return self.basis @ np.asarray(w, dtype=np.float64)


@reads_dense_points
def orthonormal_reduction(data: TrainingData, *, intercept: str = "free") -> Reduction:
    """State the points in as many features as they have rank.

    With a free intercept the basis spans the differences of points; what a w has outside it adds
    the same to every score, which b does for nothing. Without one it spans the points. In both
    cases w = basis @ w_reduced keeps scores, intercept and norm, hence objective and optimum.

    Parameters
    ----------
    data : TrainingData
        Points and labels.
    intercept : "free" or "none"
        Which of the two spans is taken.

    Raises
    ------
    ValueError
        Points that all coincide, or a penalised intercept: there w outside the span shares the
        price of b, so append a column of ones and use intercept="none".

    Examples
    --------
    >>> import tightmargin as tm
    >>> flat = tm.TrainingData([[0, 0], [1, 1], [3, 3]], [-1, -1, 1])  # on a line
    >>> tm.theory.orthonormal_reduction(flat).data.d
    1
    """
    if intercept == "penalised":
        raise ValueError(
            "with intercept=penalised the reduced problem has another form: append a column of "
            "ones to the points and use intercept=none"
        )
    rank, _ = dependent_features(data, intercept)
    if rank == 0:
        raise ValueError("all points coincide: there is no feature to keep")
    centred = data.X if intercept == "none" else data.X - data.X.mean(axis=0)
    basis = np.ascontiguousarray(np.linalg.svd(centred, full_matrices=False)[2][:rank].T)
    basis.setflags(write=False)
    return Reduction(with_points(data, data.X @ basis), basis)
