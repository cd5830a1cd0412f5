"""A semidefinite program with one rotated cone a point, from arrays to conic data.

    min   <I, W> + penalty sum_i z_i
    s.t.  p_i + u_i >= 1,   p_i^2 <= T_i z_i,   p_i, z_i >= 0,   [[W, w~], [w~', 1]] semidefinite

with u_i = y_i <w~, x~_i> and T_i = <x~_i x~_i', W> - 2 u_i + 1; see formulations/conic/sdp.py.
All three routes write a row <x~_i x~_i', W> on the lower triangle of W, in whole arrays.

python -m benchmarks.conic_translation [n] [d] [repeats]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.experiments.data.outlier_generators import outlier_data
from tightmargin.formulations.conic.sdp import conic_sdp
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.model.conic import ConicForm, conic_form
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import standard_form

Array = NDArray[np.float64]
PENALTY = 1.0
NOTE = """Measured while other work kept both cores busy: the code before, at 3.95 x against Fusion
when it was measured last, was at 3.16 to 3.36 x in turns with this code at 3.82 to 3.93.
What is left is memory fresh from the system: without page faults (an allocator that gives nothing
back) the step from rows to cones, a third of the seconds, takes 9.4 in the place of 14.8 ms."""


def tightmargin(X: Array, y: Array, penalty: float = PENALTY) -> ConicForm:
    """Data, Pyomo model, arrays, cones."""
    form = standard_form(conic_sdp(TrainingData(X, y), penalty=penalty))
    return conic_form(form, classify(form))


def cvxpy(X: Array, y: Array, penalty: float = PENALTY) -> tuple[Any, Any]:
    """One PSD variable and matrix products, to the data for Clarabel."""
    import cvxpy as cp

    n, points, outer, (i, j) = _arrays(X)
    k = points.shape[1]
    Z = cp.Variable((k + 1, k + 1), PSD=True)
    z, p = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    u = (y[:, None] * points) @ Z[:k, k]
    T = outer @ Z[i, j] - 2 * u + 1
    rows = [Z[k, k] == 1, p >= 1 - u, cp.SOC(T + z, cp.vstack([2 * p, T - z]), axis=0)]
    problem = cp.Problem(cp.Minimize(cp.trace(Z[:k, :k]) + penalty * cp.sum(z)), rows)
    return problem, problem.get_problem_data(cp.CLARABEL)


def fusion(X: Array, y: Array) -> int:
    """Model of MOSEK Fusion, written to a task file; its size in bytes."""
    with tempfile.TemporaryDirectory() as folder, fusion_model(X, y) as model:
        path = Path(folder) / "model.task"
        model.writeTask(str(path))
        return path.stat().st_size


@contextmanager
def fusion_model(X: Array, y: Array) -> Iterator[Any]:
    """Fusion model by hand: one PSD variable, one call for each kind of row."""
    from mosek.fusion import Domain, Expr, Matrix, Model, ObjectiveSense

    n, points, outer, (i, j) = _arrays(X)
    k = points.shape[1]
    with Model() as model:
        Z = model.variable("Z", Domain.inPSDCone(k + 1))
        p = model.variable("p", n, Domain.greaterThan(0.0))
        z = model.variable("z", n, Domain.greaterThan(0.0))
        w = Z.slice([0, k], [k, k + 1]).reshape(k)
        u = Expr.mul(Matrix.dense(y[:, None] * points), w)
        quadratic = Expr.mul(Matrix.dense(outer), Z.pick(i.tolist(), j.tolist()))
        T = Expr.add(Expr.sub(quadratic, Expr.mul(2.0, u)), 1.0)
        model.constraint("corner", Z.index(k, k), Domain.equalsTo(1.0))
        model.constraint("hinge", Expr.add(p, u), Domain.greaterThan(1.0))
        cones = Expr.hstack(Expr.mul(0.5, T), z, p)
        model.constraint("inside", cones, Domain.inRotatedQCone())
        trace = Expr.sum(Z.slice([0, 0], [k, k]).diag())
        cost = Expr.add(trace, Expr.mul(PENALTY, Expr.sum(z)))
        model.objective(ObjectiveSense.Minimize, cost)
        yield model


def _arrays(X: Array) -> tuple[int, Array, Array, tuple[Any, Any]]:
    """Points with a constant column, and the coefficients of the lower triangle of W."""
    n, d = X.shape
    points = np.hstack([X, np.ones((n, 1))])
    i, j = np.tril_indices(d + 1)
    outer = points[:, i]
    outer *= points[:, j]
    outer *= np.where(i == j, 1.0, 2.0)
    return n, points, outer, (i, j)


ROUTES = {OURS: tightmargin, "cvxpy": cvxpy, "MOSEK Fusion, model and task file": fusion}


def instance(n: int, d: int) -> tuple[Array, Array]:
    """Points with clustered outliers."""
    data = outlier_data("clustered", n=n, d=d, sigma=0.5, seed=7)
    return data.X, data.y


def measure(n: int = 1000, d: int = 30, repeats: int = 7) -> list[Table]:
    """CPU seconds of every route."""
    seconds = in_turns(ROUTES, instance(n, d), instance(20, 2), repeats)
    lines = tuple(
        Line(name, runs, at_least=None if name == OURS else 4.0) for name, runs in seconds.items()
    )
    return [Table(f"conic_sdp, n = {n}, d = {d}, arrays to conic data", "s", lines, NOTE)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
