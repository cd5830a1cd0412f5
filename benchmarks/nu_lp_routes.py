"""Routes from arrays to a linear program that HiGHS is about to solve.

    min   -nu rho + (1/n) sum_i xi_i
    s.t.  y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0,   <w_ref, w> = 1

Every route gets X (n, d), y (n,) and w_ref (d,) and is written as a careful user of its package
would write it. All but cvxpy's return the HiGHS object; tests solve them and compare the optima.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from benchmarks.measuring import stop_before_run
from benchmarks.report import OURS
from tightmargin.formulations import CATALOGUE
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.engines import highs
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import standard_form

Array = NDArray[np.float64]
NU = 0.6
INFINITY = float("inf")
BUILDER = CATALOGUE["extended_nu_svc_linearised"].build


def instance(n: int, d: int) -> tuple[Array, Array, Array]:
    """Two overlapping normal classes, and the unit vector between their means."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.3 * y[:, None]
    w_ref = X.T @ y
    return X, y, w_ref / np.linalg.norm(w_ref)


def tightmargin(X: Array, y: Array, w_ref: Array) -> Any:
    """Data, model, arrays, hand-over: solve() without its checks."""
    model = BUILDER(TrainingData(X, y), nu=NU, w_ref=w_ref)
    form = standard_form(model)
    with stop_before_run() as found:
        highs.run(form, classify(form), Limits())
    return found[0]


def by_rows(X: Array, y: Array, w_ref: Array) -> Any:
    """Numpy arrays to passModel, the matrix row by row: HiGHS takes it faster, and turns it."""
    n, d = X.shape
    width, size = d + 3, n * (d + 3) + d
    numbers, columns = np.empty(size), np.empty(size, np.int32)
    rows = numbers[: n * width].reshape(n, width)
    np.multiply(y[:, None], X, out=rows[:, :d])
    rows[:, d], rows[:, d + 1], rows[:, d + 2] = y, -1.0, 1.0
    places = columns[: n * width].reshape(n, width)
    places[:] = np.arange(width, dtype=np.int32)
    places[:, d + 2] += np.arange(n, dtype=np.int32)
    numbers[n * width :], columns[n * width :] = w_ref, np.arange(d)
    starts = np.append(np.arange(n + 1) * width, size).astype(np.int32)
    return _passed(n, d, 2, starts, columns, numbers)


def by_columns(X: Array, y: Array, w_ref: Array) -> Any:
    """Numpy arrays to passModel, the matrix column by column: HiGHS keeps it so, in less memory."""
    n, d = X.shape
    dense, size = d * (n + 1), d * (n + 1) + 3 * n
    numbers, rows = np.empty(size), np.empty(size, np.int32)
    features = numbers[:dense].reshape(d, n + 1)
    np.multiply(X.T, y, out=features[:, :n])
    features[:, n] = w_ref
    rows[:dense].reshape(d, n + 1)[:] = np.arange(n + 1, dtype=np.int32)
    others = numbers[dense:].reshape(3, n)
    others[0], others[1], others[2] = y, -1.0, 1.0
    rows[dense:].reshape(3, n)[:] = np.arange(n, dtype=np.int32)
    starts = np.concatenate([np.arange(d) * (n + 1), [dense, dense + n],
                             dense + 2 * n + np.arange(n + 1)]).astype(np.int32)  # fmt: skip
    return _passed(n, d, 1, starts, rows, numbers)


def _passed(n: int, d: int, layout: int, starts: Any, places: Any, numbers: Array) -> Any:
    import highspy

    width = d + 2 + n
    cost = np.concatenate([np.zeros(d + 1), [-NU], np.full(n, 1 / n)])
    lower, upper = np.full(width, -INFINITY), np.full(width, INFINITY)
    lower[d + 2 :] = 0.0
    low, high = np.zeros(n + 1), np.full(n + 1, INFINITY)
    low[n] = high[n] = 1.0
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    outcome = h.passModel(
        width, n + 1, len(numbers), layout, 1, 0.0, cost, lower, upper, low, high, starts, places,
        numbers, np.zeros(width, np.int32),
    )  # fmt: skip
    if outcome != highspy.HighsStatus.kOk:
        raise RuntimeError(f"highspy refused the arrays: {outcome}")
    return h


def cvxpy(X: Array, y: Array, w_ref: Array) -> tuple[Any, Any]:
    """Matrix products; cvxpy's data for HiGHS, which are not yet handed over."""
    import cvxpy as cp

    n, d = X.shape
    w, b, rho, xi = cp.Variable(d), cp.Variable(), cp.Variable(), cp.Variable(n, nonneg=True)
    rows = [(y[:, None] * X) @ w + y * b - rho + xi >= 0, w_ref @ w == 1]
    problem = cp.Problem(cp.Minimize(-NU * rho + cp.sum(xi) / n), rows)
    return problem, problem.get_problem_data(cp.HIGHS)


def linopy(X: Array, y: Array, w_ref: Array) -> Any:
    """Labelled arrays, handed over without names (faster)."""
    import linopy as lp
    import pandas as pd
    from xarray import DataArray

    points, features = pd.RangeIndex(X.shape[0], name="i"), pd.RangeIndex(X.shape[1], name="j")
    m = lp.Model()
    w, b = m.add_variables(coords=[features], name="w"), m.add_variables(name="b")
    rho = m.add_variables(name="rho")
    xi = m.add_variables(lower=0, coords=[points], name="xi")
    score = (DataArray(y[:, None] * X, coords=[points, features]) * w).sum("j")
    margin = score + DataArray(y, coords=[points]) * b - rho + xi
    m.add_constraints(margin >= 0, name="margin")
    m.add_constraints((DataArray(w_ref, coords=[features]) * w).sum() == 1, name="norm")
    m.add_objective(-NU * rho + (1 / X.shape[0]) * xi.sum())
    return m.to_highspy(set_names=False)


def pyomo_fast(X: Array, y: Array, w_ref: Array) -> Any:
    """Stock Pyomo at its fastest: LinearExpression on lists, its compiler, passModel."""
    n, d = X.shape
    m = _pyomo_variables(n, d)
    w, xi = list(m.w.values()), list(m.xi.values())
    scaled, labels = (y[:, None] * X).tolist(), y.tolist()

    def row(_: Any, i: int) -> Any:
        body = LinearExpression(
            linear_coefs=[*scaled[i], labels[i], -1.0, 1.0], linear_vars=[*w, m.b, m.rho, xi[i]]
        )
        return (0.0, body, None)

    m.margin = pyo.Constraint(m.I, rule=row)
    norm = LinearExpression(linear_coefs=w_ref.tolist(), linear_vars=w)
    m.norm = pyo.Constraint(expr=norm == 1)
    cost = LinearExpression(linear_coefs=[-NU, *[1 / n] * n], linear_vars=[m.rho, *xi])
    m.objective = pyo.Objective(expr=cost)
    return _compiled(m)


def _compiled(m: pyo.ConcreteModel) -> Any:
    import highspy

    form = LinearStandardFormCompiler().write(m, mixed_form=True)
    kinds = np.array([kind for _, kind in form.rows])
    bounds = [v.bounds for v in form.columns]
    lower = np.array([-INFINITY if low is None else low for low, _ in bounds])
    upper = np.array([INFINITY if high is None else high for _, high in bounds])
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.passModel(
        len(bounds), len(kinds), form.A.nnz, 1, 1, float(form.c_offset[0]),
        form.c.toarray()[0], lower, upper,
        np.where(kinds == 1, -INFINITY, form.rhs), np.where(kinds == -1, INFINITY, form.rhs),
        form.A.indptr.astype(np.int32), form.A.indices.astype(np.int32), form.A.data,
        np.zeros(len(bounds), np.int32),
    )  # fmt: skip
    return h


def pyomo_plain(X: Array, y: Array, w_ref: Array) -> Any:
    """Rows as every tutorial writes them, solved by SolverFactory("highs") up to HiGHS' start."""
    n, d = X.shape
    m = _pyomo_variables(n, d)

    def row(m: Any, i: int) -> Any:
        score = sum(X[i, j] * m.w[j] for j in m.J) + m.b
        return y[i] * score - m.rho + m.xi[i] >= 0

    m.margin = pyo.Constraint(m.I, rule=row)
    m.norm = pyo.Constraint(expr=sum(w_ref[j] * m.w[j] for j in m.J) == 1)
    m.objective = pyo.Objective(expr=-NU * m.rho + sum(m.xi[i] for i in m.I) / n)
    with stop_before_run() as found:
        pyo.SolverFactory("highs").solve(m)
    return found[0]


def _pyomo_variables(n: int, d: int) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, d - 1)
    m.w, m.b, m.rho = pyo.Var(m.J), pyo.Var(), pyo.Var()
    m.xi = pyo.Var(m.I, within=pyo.NonNegativeReals)
    return m


ROUTES = {
    OURS: tightmargin,
    "highspy, arrays by hand, by rows": by_rows,
    "highspy, arrays by hand, by columns": by_columns,
    "cvxpy": cvxpy,
    "linopy": linopy,
    "Pyomo LinearExpression, its compiler, highspy": pyomo_fast,
    'Pyomo expressions, SolverFactory("highs")': pyomo_plain,
}
DIRECT = tuple(list(ROUTES)[1:3])
CVXPY, LINOPY, PYOMO_FAST, PYOMO_PLAIN = list(ROUTES)[3:]
