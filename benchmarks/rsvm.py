"""The rigorous SVM for twelve norm bounds: one path against a cold start for each.

Every value of every route but one is proven to 1e-8 of the loss; libsvm proves nothing, and has to
reach the same loss to 1e-4.

python -m benchmarks.rsvm [n] [count]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.experiments.data.outlier_generators import label_flip_data, outlier_data
from tightmargin.formulations.data.kernels import gram_data
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.rigorous_svm.equivalence import hinge_sum
from tightmargin.formulations.rigorous_svm.rsvm import rsvm_dual
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.rigorous_svm.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.norm_limit import norm_limit
from tightmargin.solvers.rigorous_svm.path import rsvm_path, solve_rsvm
from tightmargin.solvers.solve import solve

Array = NDArray[np.float64]
Data = TrainingData | GramData
Seconds = Callable[[Data, Sequence[float]], float]

SEGMENTS = "segment Newton, cold"
DECOMPOSITION = "decomposition with two variables, cold"
LIBSVM = "libsvm, bisection on C until the norm is H to 1e-7"
SOCP = "solve() of the dual SOCP by Clarabel, one value times {count}"
ONE_BY_ONE = "solve() of the dual SOCPs by Clarabel"
WIDTH, FLIPPED, FEATURES = 0.5, 0.1, 8
LARGEST_SHARE = 0.8  # of the norm bound from which on nothing changes
SAME = 1e-6  # relative: what Clarabel leaves of the loss
SAME_BY_LIBSVM = 1e-4  # as much as a bisection leaves: at a large C libsvm ends at its limit
TO_H = 1e-7
REPEATS = 7
TRIES = 200  # fits of a bisection at most
NOTE = """CPU seconds on one thread, the kernel matrix and its factor given. H is evenly spaced
up to {share:g} of {limit:.4g}, from which on the loss does not change; at the last H {free}
multipliers are free. Every loss but libsvm's is proven to 1e-8; libsvm's agrees to 1e-4."""


def by_path(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of one path."""
    began = time.process_time()
    path = rsvm_path(data, bounds)
    seconds = time.process_time() - began
    refuse_unproven([row.verdict for row in path.rows])
    return seconds


def by_segments(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of segment Newton for every H from nothing."""
    began = time.process_time()
    rows = [solve_rsvm(data, norm_bound=bound, method="segments") for bound in bounds]
    seconds = time.process_time() - began
    refuse_unproven([row.verdict for row in rows])
    return seconds


def by_decomposition(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of steps of two variables for every H."""
    began = time.process_time()
    found = [decomposition(data, norm_bound=bound) for bound in bounds]
    seconds = time.process_time() - began
    refuse_unproven([run.point.verdict for run in found])
    return seconds


def by_libsvm(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of a bisection on C for every H."""
    began = time.process_time()
    losses = [bisection(data, bound) for bound in bounds]
    seconds = time.process_time() - began
    refuse_difference(data, bounds, losses, SAME_BY_LIBSVM)
    return seconds


def bisection(data: Data, norm_bound: float) -> float:
    """Loss of the C-SVM whose ||w|| is H, by geometric bisection on C."""
    from sklearn.svm import SVC

    gram = data.gram if isinstance(data, GramData) else data.X @ data.X.T
    below, above, C = 0.0, math.inf, 1.0
    for _ in range(TRIES):
        machine = SVC(C=C, kernel="precomputed", tol=1e-7, cache_size=500, max_iter=1_000_000)
        machine.fit(gram, data.y)
        w = data.factor[machine.support_].T @ machine.dual_coef_[0]
        norm = float(np.linalg.norm(w))
        if abs(norm - norm_bound) <= TO_H * norm_bound:
            return hinge_sum(data, w, float(machine.intercept_[0]))
        below, above = (C, above) if norm < norm_bound else (below, C)
        C = C * 8 if above == math.inf else C / 8 if below == 0 else math.sqrt(below * above)
    raise RuntimeError(f"the bisection did not reach ||w|| = {norm_bound:g}")


def one_socp(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of the model for the middle H, multiplied to all."""
    return socps(data, bounds[len(bounds) // 2 : len(bounds) // 2 + 1]) * len(bounds)


def socps(data: Data, bounds: Sequence[float]) -> float:
    """CPU seconds of model, Clarabel and certificate for every H."""
    began = time.process_time()
    losses = [
        solve(rsvm_dual(data, norm_bound=bound), "clarabel", threads=1).objective
        for bound in bounds
    ]
    seconds = time.process_time() - began
    refuse_difference(data, bounds, [math.nan if loss is None else -loss for loss in losses])
    return seconds


def refuse_unproven(verdicts: Sequence[Verdict]) -> None:
    """Raise RuntimeError unless every value is proven."""
    if any(verdict is not Verdict.CERTIFIED for verdict in verdicts):
        raise RuntimeError("a route has values that are not certified")


def refuse_difference(
    data: Data, bounds: Sequence[float], losses: Sequence[float], same: float = SAME
) -> None:
    """Raise RuntimeError where a loss is not the proven one."""
    for row, loss in zip(rsvm_path(data, bounds).rows, losses, strict=True):
        if not abs(loss - row.point.objective) <= same * row.point.objective:  # NaN is a difference
            raise RuntimeError(
                f"at norm_bound {row.norm_bound:g} the path has {row.point.objective}, "
                f"a route {loss}"
            )


def kernel_problem(n: int) -> GramData:
    """RBF kernel matrix of points beside a hyperplane, a tenth of the labels flipped."""
    points = label_flip_data(n=n, d=FEATURES, tau=FLIPPED, seed=3)
    return gram_data(points, kernel="rbf", width=WIDTH)


def linear_problem(n: int, d: int) -> TrainingData:
    """Two Gaussian classes with outliers."""
    return outlier_data("spread", n=n, d=d, sigma=0.5, seed=7)


def spread(data: Data, count: int) -> list[float]:
    """Norm bounds, evenly up to LARGEST_SHARE of the largest that matters."""
    top = LARGEST_SHARE * norm_limit(data).value
    return [top * (k + 1) / count for k in range(count)]


def measure_kernel(n: int = 1000, count: int = 12) -> Table:
    """The table on an RBF kernel, where targets are set."""
    data, small = kernel_problem(n), kernel_problem(30)
    bounds = spread(data, count)
    socp = SOCP.format(count=count)
    asked = {name: 2.0 for name in (SEGMENTS, DECOMPOSITION, LIBSVM)} | {socp: 20.0}
    routes: dict[str, Seconds] = {
        OURS: by_path,
        SEGMENTS: by_segments,
        DECOMPOSITION: by_decomposition,
        LIBSVM: by_libsvm,
        socp: one_socp,
    }
    few = {DECOMPOSITION: 1, LIBSVM: 1, socp: 1}
    lines = _lines(routes, data, bounds, small, few, asked)
    last = rsvm_path(data, bounds[-1:]).rows[0]
    note = NOTE.format(share=LARGEST_SHARE, limit=bounds[-1] / LARGEST_SHARE, free=last.free)
    return Table(f"rigorous SVM, RBF kernel, n = {n}, {count} values of H", "s", lines, note)


def measure_linear(n: int = 1000, d: int = 20, count: int = 12) -> Table:
    """The table on few features, where nothing was asked."""
    data, small = linear_problem(n, d), linear_problem(60, 2)
    bounds = spread(data, count)
    routes: dict[str, Seconds] = {
        OURS: by_path,
        DECOMPOSITION: by_decomposition,
        ONE_BY_ONE: socps,
    }
    lines = _lines(routes, data, bounds, small, {DECOMPOSITION: 1}, {})
    return Table(f"rigorous SVM, n = {n}, d = {d}, {count} values of H", "s", lines)


def _lines(
    routes: dict[str, Seconds],
    data: Data,
    bounds: Sequence[float],
    small: Data,
    few: dict[str, int],
    asked: dict[str, float],
) -> tuple[Line, ...]:
    seconds = in_turns(
        routes,
        (data, bounds),
        (small, spread(small, 2)),
        REPEATS,
        at_most=few,
        measured=lambda route, *given: route(*given),
    )
    return tuple(Line(name, runs, at_least=asked.get(name)) for name, runs in seconds.items())


def measure(n: int = 1000, count: int = 12, d: int = 20) -> list[Table]:
    """CPU seconds of every route, on a kernel and on few features."""
    return [measure_kernel(n, count), measure_linear(n, d, count)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
