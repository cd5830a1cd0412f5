"""A solve with its proof beside the bare solver, cvxpy with the same solver, and libsvm/liblinear.

python -m benchmarks.certificates [n] [repeats]

From X and y to the machine: the primal that a careful user writes, given to Clarabel (quadratic,
conic) or HiGHS (linear) by hand, by cvxpy, and by tm.solve with its certificate. What the
certificate takes of the solve is measured inside it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

import tightmargin as tm
from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.solvers.attempts import attempts
from tightmargin.solvers.result import SolveResult

BARE, CVXPY, LIBSVM, LIBLINEAR = "bare Clarabel", "cvxpy", "libsvm", "liblinear"
SHARE = "certificate"
COST, LEVEL, RADIUS = 1.0, 0.3, 1.0

NOTE = """CPU seconds from arrays to the machine. Bare Clarabel gets matrices by hand. libsvm and
liblinear (scikit-learn's SVC and LinearSVC at their own tolerances, without a proof) solve the same
c-SVC, liblinear with a penalised intercept and squared hinge losses."""
SHARE_NOTE = (
    """Of tm.solve's time, what certify took, proof of the bound and exact point included."""
)

Instance = tuple[np.ndarray, np.ndarray]


def instance(n: int, d: int) -> Instance:
    """Two overlapping clouds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def ours(build: Callable[[Any], Any], solver: str) -> Callable[..., SolveResult]:
    """The formulation by its builder, solved and certified."""

    def route(X: np.ndarray, y: np.ndarray) -> SolveResult:
        return tm.solve(build(tm.TrainingData(X, y)), solver)

    return route


def bare_qp(X: np.ndarray, y: np.ndarray) -> Any:
    """min 1/2 ||w||^2 + C sum xi, y_i (<w, x_i> + b) + xi_i >= 1, xi >= 0 by hand."""
    import clarabel

    n, d = X.shape
    P = sp.diags(np.r_[np.ones(d), np.zeros(n + 1)], format="csc")
    q = np.r_[np.zeros(d + 1), COST * np.ones(n)]
    margins = sp.hstack([-y[:, None] * np.column_stack([X, np.ones(n)]), -sp.identity(n)])
    signs = sp.hstack([sp.csc_matrix((n, d + 1)), -sp.identity(n)])
    A = sp.vstack([margins, signs], format="csc")
    b = np.r_[-np.ones(n), np.zeros(n)]
    return _run(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)])


def bare_socp(X: np.ndarray, y: np.ndarray) -> Any:
    """min sum xi, the same rows, ||w|| <= H by hand."""
    import clarabel

    n, d = X.shape
    P = sp.csc_matrix((n + d + 1, n + d + 1))
    q = np.r_[np.zeros(d + 1), np.ones(n)]
    margins = sp.hstack([-y[:, None] * np.column_stack([X, np.ones(n)]), -sp.identity(n)])
    signs = sp.hstack([sp.csc_matrix((n, d + 1)), -sp.identity(n)])
    ball = sp.vstack([sp.csc_matrix((1, n + d + 1)), -sp.eye(d, n + d + 1)])
    A = sp.vstack([margins, signs, ball], format="csc")
    b = np.r_[-np.ones(n), np.zeros(n), RADIUS, np.zeros(d)]
    return _run(P, q, A, b, [clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(d + 1)])


def _run(P: Any, q: Any, A: Any, b: Any, cones: list[Any]) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return clarabel.DefaultSolver(sp.triu(P, format="csc"), q, A, b, cones, settings).solve()


def cvxpy_qp(X: np.ndarray, y: np.ndarray) -> float:
    """The same model written in cvxpy."""
    import cvxpy as cp

    n, d = X.shape
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    rows = [cp.multiply(y, X @ w + b) + xi >= 1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + COST * cp.sum(xi)), rows)
    return float(problem.solve(solver="CLARABEL"))


def cvxpy_socp(X: np.ndarray, y: np.ndarray) -> float:
    """The same model written in cvxpy."""
    import cvxpy as cp

    n, d = X.shape
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    rows = [cp.multiply(y, X @ w + b) + xi >= 1, cp.norm(w, 2) <= RADIUS]
    return float(cp.Problem(cp.Minimize(cp.sum(xi)), rows).solve(solver="CLARABEL"))


def libsvm(X: np.ndarray, y: np.ndarray) -> Any:
    """scikit-learn's SVC."""
    from sklearn.svm import SVC

    return SVC(C=COST, kernel="linear", cache_size=500).fit(X, y)


def liblinear(X: np.ndarray, y: np.ndarray) -> Any:
    """scikit-learn's LinearSVC."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=COST, dual=False).fit(X, y)


def certificate_share(route: Callable[..., SolveResult], *arguments: Any) -> tuple[float, float]:
    """Clock seconds of a solve, and of certify inside it."""
    inside = 0.0
    certify = attempts.certify

    def timed(*words: Any) -> Any:
        nonlocal inside
        started = time.perf_counter()
        try:
            return certify(*words)
        finally:
            inside += time.perf_counter() - started

    started = time.perf_counter()
    with patch.object(attempts, "certify", timed):
        route(*arguments)
    return time.perf_counter() - started, inside


QP = ours(lambda data: tm.c_svc(data, C=COST), "clarabel")
SOCP = ours(lambda data: tm.rsvm(data, norm_bound=RADIUS), "clarabel")
LP = ours(lambda data: tm.rsvm_relaxed(data), "highs")
SDP = ours(lambda data: tm.conic_sdp(data, penalty=COST), "clarabel")

# n, d of each class; the conic one is a model of n k (k + 1) / 2 entries.
SHARES = {
    "LP": (LP, ((1_000, 30), (10_000, 30))),
    "QP": (QP, ((1_000, 30), (10_000, 30), (100_000, 10))),
    "SOCP": (SOCP, ((1_000, 30), (10_000, 30))),
    "SDP": (SDP, ((100, 10), (300, 10))),
}


def measure(n: int = 10_000, d: int = 30, repeats: int = 5) -> list[Table]:
    """Quadratic and conic primals beside the others."""
    tables = []
    classes = {
        "c-SVC": {OURS: QP, BARE: bare_qp, CVXPY: cvxpy_qp, LIBSVM: libsvm, LIBLINEAR: liblinear},
        "rigorous SVM": {OURS: SOCP, BARE: bare_socp, CVXPY: cvxpy_socp},
    }
    for title, routes in classes.items():
        runs = in_turns(routes, instance(n, d), instance(50, 3), repeats, {LIBSVM: 1})
        lines = tuple(
            Line(name, numbers, at_most={BARE: 1.3, CVXPY: 1.0}.get(name))
            for name, numbers in runs.items()
        )
        tables.append(Table(f"{title}, n = {n}, d = {d}, from arrays with proof", "s", lines, NOTE))
    return [*tables, *measure_shares(repeats)]


def measure_shares(repeats: int = 3) -> list[Table]:
    """What the certificate takes of a solve."""
    tables = []
    for kind, (route, sizes) in SHARES.items():
        for n, d in sizes:
            runs = in_turns(
                {kind: route}, instance(n, d), instance(50, 3), repeats, measured=certificate_share
            )[kind]
            whole, part = zip(*runs, strict=True)
            lines = (Line(SHARE, part), Line("solve with it", whole, at_most=0.1))
            tables.append(Table(f"{kind}, n = {n}, d = {d}, certificate", "s", lines, SHARE_NOTE))
    return tables


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    show(measure(*words[:1], repeats=words[1] if len(words) > 1 else 5))
