"""A solve with its proof beside the bare solver, cvxpy with the same solver, and libsvm/liblinear.

python -m benchmarks.certificates [repeats]

From X and y to the machine: the primal that a careful user writes, given to Clarabel (quadratic,
conic, semidefinite) or HiGHS (linear) by hand, by cvxpy, and by tm.solve with its certificate. What
the certificate takes beside the solver is measured inside it: all that tm.solve does between two
runs of the solver and after the last one.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

import tightmargin as tm
from benchmarks import conic_translation
from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.solvers import attempts
from tightmargin.solvers.engines import clarabel as backend
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel.verdict import Verdict

BARE, CVXPY, LIBSVM, LIBLINEAR = "bare solver", "cvxpy", "libsvm", "liblinear"
COST, RADIUS = 1.0, 1.0
LARGE = 10_000  # points from which on a bare solver is a fair comparison

NOTE = """CPU seconds from arrays to the machine, the proof included. The bare solver is Clarabel
(the LP: HiGHS) with matrices by hand, for the semidefinite program with the cones that
tightmargin hands over. libsvm and liblinear (scikit-learn's SVC and LinearSVC at their own
tolerances, without a proof) solve the same c-SVC, liblinear with a penalised intercept and
squared hinge losses."""
SHARE_NOTE = """CPU seconds of everything that tm.solve does between runs of the solver and after
the last, over those of the solver inside it; the median over all of these models counts:"""

Array = np.ndarray
Route = Callable[[Array, Array], Any]


def instance(n: int, d: int) -> tuple[Array, Array]:
    """Two overlapping clouds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def ours(build: Callable[[Any], Any], solver: str) -> Route:
    """The formulation by its builder, solved and certified."""

    def route(X: Array, y: Array) -> Any:
        result = tm.solve(build(tm.TrainingData(X, y)), solver)
        if result.certificate.verdict is not Verdict.CERTIFIED:
            raise RuntimeError(f"not certified: {result.certificate.reason}")
        return result

    return route


def bare_lp(X: Array, y: Array) -> Any:
    """min sum xi, y_i (<w, x_i> + b) + xi_i >= 1, xi >= 0 by hand."""
    import highspy

    n, d = X.shape
    A = sp.hstack([y[:, None] * np.column_stack([X, np.ones(n)]), sp.identity(n)], format="csc")
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    endless = np.full(n, np.inf)
    h.passModel(
        n + d + 1, n, A.nnz, 1, 1, 0.0, np.r_[np.zeros(d + 1), np.ones(n)],
        np.r_[np.full(d + 1, -np.inf), np.zeros(n)], np.full(n + d + 1, np.inf), np.ones(n),
        endless, A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data,
        np.zeros(n + d + 1, dtype=np.int32),
    )  # fmt: skip
    h.run()
    return h.getSolution()


def bare_qp(X: Array, y: Array) -> Any:
    """min 1/2 ||w||^2 + C sum xi and the same rows by hand."""
    import clarabel

    n, d = X.shape
    P = sp.diags(np.r_[np.ones(d), np.zeros(n + 1)], format="csc")
    A, b = _rows(X, y)
    q = np.r_[np.zeros(d + 1), COST * np.ones(n)]
    return _run(P, q, A.tocsc(), b, [clarabel.NonnegativeConeT(2 * n)])


def bare_socp(X: Array, y: Array) -> Any:
    """min sum xi, the same rows, ||w|| <= H by hand."""
    import clarabel

    n, d = X.shape
    rows, b = _rows(X, y)
    ball = sp.vstack([sp.csc_matrix((1, n + d + 1)), -sp.eye(d, n + d + 1)])
    A = sp.vstack([rows, ball], format="csc")
    cones = [clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(d + 1)]
    q = np.r_[np.zeros(d + 1), np.ones(n)]
    P = sp.csc_matrix((n + d + 1, n + d + 1))
    return _run(P, q, A, np.r_[b, RADIUS, np.zeros(d)], cones)


def bare_sdp(X: Array, y: Array) -> Any:
    """Cones of the relaxation, and Clarabel."""
    conic = conic_translation.tightmargin(X, y, COST)
    claim = backend.run_conic(conic, len(conic.equal) + len(conic.low), Limits(threads=1))
    return claim.x


def _rows(X: Array, y: Array) -> tuple[Any, Array]:
    """Margins and signs of the slacks, as A x <= b."""
    n, d = X.shape
    margins = sp.hstack([-y[:, None] * np.column_stack([X, np.ones(n)]), -sp.identity(n)])
    signs = sp.hstack([sp.csc_matrix((n, d + 1)), -sp.identity(n)])
    return sp.vstack([margins, signs]), np.r_[-np.ones(n), np.zeros(n)]


def _run(P: Any, q: Array, A: Any, b: Array, cones: list[Any]) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return clarabel.DefaultSolver(sp.triu(P, format="csc"), q, A, b, cones, settings).solve()


def in_cvxpy(kind: str) -> Route:
    """The same model written in cvxpy."""

    def route(X: Array, y: Array) -> float:
        import cvxpy as cp

        n, d = X.shape
        w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
        rows, goal = [cp.multiply(y, X @ w + b) + xi >= 1], cp.sum(xi)
        if kind == "QP":
            goal = cp.sum_squares(w) / 2 + COST * goal
        if kind == "SOCP":
            rows.append(cp.norm(w, 2) <= RADIUS)
        solver = cp.HIGHS if kind == "LP" else cp.CLARABEL
        return float(cp.Problem(cp.Minimize(goal), rows).solve(solver=solver))

    return route


def cvxpy_sdp(X: Array, y: Array) -> float:
    """The same relaxation written in cvxpy."""
    problem, _ = conic_translation.cvxpy(X, y, COST)
    return float(problem.solve(solver="CLARABEL"))


def libsvm(X: Array, y: Array) -> Any:
    """scikit-learn's SVC."""
    from sklearn.svm import SVC

    return SVC(C=COST, kernel="linear", cache_size=500).fit(X, y)


def liblinear(X: Array, y: Array) -> Any:
    """scikit-learn's LinearSVC."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=COST, dual=False).fit(X, y)


@dataclass(frozen=True)
class Class:
    """A class of models: our route, by the solver's name, others, and sizes (n, d, runs)."""

    name: str
    build: Callable[[Any], Any]
    solver: str
    others: dict[str, Route]
    sizes: tuple[tuple[int, int, int], ...]


CLASSES = (
    Class(
        "LP", lambda data: tm.rsvm_relaxed(data), "highs",
        {BARE: bare_lp, CVXPY: in_cvxpy("LP")}, ((1_000, 30, 5), (10_000, 10, 2)),
    ),
    Class(
        "LP, solver and form chosen", lambda data: tm.rsvm_relaxed(data), "auto",
        {}, ((1_000, 30, 5), (10_000, 30, 3), (100_000, 10, 1)),
    ),
    Class(
        "QP", lambda data: tm.c_svc(data, C=COST), "clarabel",
        {BARE: bare_qp, CVXPY: in_cvxpy("QP"), LIBLINEAR: liblinear, LIBSVM: libsvm},
        ((1_000, 30, 5), (10_000, 30, 3)),
    ),
    Class(
        "QP of many points", lambda data: tm.c_svc(data, C=COST), "clarabel",
        {BARE: bare_qp, CVXPY: in_cvxpy("QP"), LIBLINEAR: liblinear}, ((100_000, 10, 1),),
    ),
    Class(
        "QP, solver and form chosen", lambda data: tm.c_svc(data, C=COST), "auto",
        {}, ((1_000, 30, 5), (10_000, 30, 3), (100_000, 10, 1)),
    ),
    Class(
        "SOCP", lambda data: tm.rsvm(data, norm_bound=RADIUS), "clarabel",
        {BARE: bare_socp, CVXPY: in_cvxpy("SOCP")},
        ((1_000, 30, 5), (10_000, 30, 3), (100_000, 10, 1)),
    ),
    Class(
        "SDP", lambda data: tm.conic_sdp(data, penalty=COST), "clarabel",
        {BARE: bare_sdp, CVXPY: cvxpy_sdp}, ((200, 10, 5), (300, 10, 5)),
    ),
)  # fmt: skip


def measured(route: Route, X: Array, y: Array) -> tuple[float, float, float]:
    """CPU seconds of a route, of the solver within tm.solve, and of what comes after it."""
    running, first = 0.0, None
    listed = attempts._attempts

    def timed(attempt: Any) -> Any:
        def run(limits: Limits) -> Any:
            nonlocal running, first
            began = time.process_time()
            first = began if first is None else first
            try:
                return attempt.run(limits)
            finally:
                running += time.process_time() - began

        return replace(attempt, run=run)

    with patch.object(attempts, "_attempts", lambda *a, **k: [timed(t) for t in listed(*a, **k)]):
        began = time.process_time()
        route(X, y)
        ended = time.process_time()
    return ended - began, running, 0.0 if first is None else ended - first - running


def measure(runs: int | None = None, classes: tuple[Class, ...] = CLASSES) -> list[Table]:
    """All classes, and the share of the certificates over all of them."""
    tables: list[Table] = []
    shares: dict[str, float] = {}
    for kind in classes:
        for n, d, repeats in kind.sizes:
            routes = {OURS: ours(kind.build, kind.solver), **kind.others}
            found = in_turns(
                routes, instance(n, d), instance(50, 3), runs or repeats, {LIBSVM: 1}, measured
            )
            where = f"{kind.name}, n = {n}, d = {d}"
            shares[where] = statistics.median(after / run for _, run, after in found[OURS])
            if kind.others:
                asked = {BARE: 1.3 if n >= LARGE else None, CVXPY: 1.0}
                lines = (
                    Line(name, tuple(whole for whole, *_ in numbers), at_most=asked.get(name))
                    for name, numbers in found.items()
                )
                note = "" if tables else NOTE
                tables.append(Table(f"{where}, arrays to proof", "s", tuple(lines), note))
    return [*tables, _shares(shares)]


def _shares(shares: dict[str, float]) -> Table:
    """Table of the certificates; the note has every model."""
    each = "; ".join(f"{where}: {share:.2g}" for where, share in shares.items())
    lines = (Line(OURS, tuple(shares.values())), Line("the solver", (1.0,), at_most=0.1))
    title = "certificate over solver, median over LP, QP, SOCP, SDP"
    return Table(title, "", lines, f"{SHARE_NOTE}\n{each}.")


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
