"""Sparse points from arrays to HiGHS ready to run, and from arrays to a proof.

The points are 20,000 x 20,000 with 20 numbers a row in places drawn at random, 400,000 in all: a
matrix of 3.2 GB if it were dense, and factors of it would be.

python -m benchmarks.sparse_points [n] [numbers a row]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVC

import tightmargin as tm
from benchmarks.measuring import (
    in_fresh_process,
    in_turns,
    peak_growth,
    quiet,
    stop_before_run,
)
from benchmarks.report import OURS, Line, Table, show
from tightmargin.solvers.hinge.newton import proximal_newton
from tightmargin.solvers.kernel.verdict import Verdict

Labels = NDArray[np.float64]

C = 1.0
SCIPY = "scipy, the csr matrix of all rows"
HIGHSPY = "highspy, from that matrix"
BARE, LIBSVM = "the same Newton steps alone", "libsvm (scikit-learn), tolerance 1e-6"
MODULE = "benchmarks.sparse_points"
MEMORY = "rsvm_relaxed as it is built and handed over. X and y are there before."
PROOF = (
    "c_svc with C = 1, from X and y to the optimum in a proven interval of 1e-6; libsvm proves "
    "nothing."
)


def instance(n: int, stored: int) -> tuple[sp.csr_array, Labels]:
    """n points of n features, labelled by a hyperplane and noise."""
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.choice(n, stored, replace=False) for _ in range(n)])
    places, ends = places.astype(np.int32), np.arange(0, n * stored + 1, stored, dtype=np.int32)
    X = sp.csr_array((rng.normal(size=n * stored), places, ends), shape=(n, n))
    return X, np.where(X @ rng.normal(size=n) + rng.normal(size=n) > 0, 1.0, -1.0)


def by_tightmargin(X: sp.csr_array, y: Labels) -> Any:
    """Data and model, as far as the moment before HiGHS runs."""
    model = tm.rsvm_relaxed(tm.TrainingData(X, y))
    with stop_before_run() as ready:
        tm.solve(model, "highs")
    return model, ready


def by_scipy(X: sp.csr_array, y: Labels) -> sp.csr_array:
    """Rows y_i (<w, x_i> + b) + xi_i in the order w, b, xi."""
    parts = [sp.diags_array(y) @ X, y[:, None], sp.eye_array(X.shape[0])]
    return sp.hstack(parts, format="csr")


def by_highspy(X: sp.csr_array, y: Labels) -> Any:
    """The same rows as a model of HiGHS."""
    A = by_scipy(X, y)
    (n, columns), d = A.shape, X.shape[1]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, n
    lp.col_cost_ = np.r_[np.zeros(d + 1), np.ones(n)]
    lp.col_lower_ = np.r_[np.full(d + 1, -highspy.kHighsInf), np.zeros(n)]
    lp.col_upper_ = np.full(columns, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.ones(n), np.full(n, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    solver = highspy.Highs()
    solver.passModel(lp)
    return solver


READY = {OURS: by_tightmargin, SCIPY: by_scipy, HIGHSPY: by_highspy}


def growth(route: str, n: int, stored: int) -> float:
    """Megabytes of one route in this process, after a small instance."""
    with quiet():
        READY[route](*instance(40, 3))
        arguments = instance(n, stored)
        return peak_growth(lambda: READY[route](*arguments))


def proven(X: sp.csr_array, y: Labels) -> Any:
    """The optimum with its certificate."""
    result = tm.solve(tm.c_svc(tm.TrainingData(X, y), C=C), method="newton")
    if result.certificate.verdict is not Verdict.CERTIFIED:
        raise RuntimeError(f"not certified: {result.certificate.reason}")
    return result


PROOFS = {
    OURS: proven,
    BARE: lambda X, y: proximal_newton(X, y, np.full(len(y), C), "free"),
    LIBSVM: lambda X, y: SVC(kernel="linear", C=C, tol=1e-6, cache_size=1000).fit(X, y),
}


def measure(n: int = 20_000, stored: int = 20) -> list[Table]:
    """Memory of a process a route, and CPU seconds."""
    size = f"n = d = {n}, {stored} numbers a point"
    memory = {name: in_fresh_process(MODULE, name, n, stored) for name in READY}
    lines = tuple(
        Line(name, (found,), at_most=None if name == OURS else 2.0)
        for name, found in memory.items()
    )
    seconds = in_turns(PROOFS, instance(n, stored), instance(40, 3), 3, {LIBSVM: 1})
    proofs = (
        Line(OURS, seconds[OURS]),
        Line(BARE, seconds[BARE], at_most=1.3),
        Line(LIBSVM, seconds[LIBSVM], at_most=1.0),
    )
    return [
        Table(f"sparse points, {size}, peak memory to HiGHS ready to run", "MB", lines, MEMORY,
              better="smaller"),
        Table(f"sparse points, {size}, arrays to proof", "s", proofs, PROOF),
    ]  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in READY:
        sys.stdout.write(json.dumps(growth(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        show(measure(*(int(word) for word in sys.argv[1:])))
