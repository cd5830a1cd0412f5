"""Routes through a cut loop: a linear program, solved again after every added row.

    min   -nu rho + (1/n) sum_i xi_i
    s.t.  y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0,   -1 <= w_j <= 1
          <g_k, w> <= s_k                                            one more each round

The cuts are drawn beforehand, each one removing the solution before it, so that all routes solve
the same programs. A route is `start(X, y)`: it builds and solves the first program and returns
`step(g, s)`, which adds a cut, solves and reads w; both yield the optimum (or a pair with w).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from benchmarks.report import OURS
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.solvers.live_lp import LiveLP

Array = NDArray[np.float64]
Cut = tuple[Array, float]
Solved = tuple[float, Array]
Step = Callable[[Array, float], Solved]
Start = Callable[[Array, Array], tuple[Solved, Step]]

NU = 0.6
INFINITY = float("inf")


def instance(n: int, d: int, rounds: int) -> tuple[Array, Array, list[Cut]]:
    """Points, labels, and one cut a round: nearly along w, half a percent before it."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.3 * y[:, None]
    (_, w), step = by_hand(X, y)
    cuts = []
    for _ in range(rounds):
        g = w / np.linalg.norm(w) + 0.3 * rng.standard_normal(d) / np.sqrt(d)
        if g @ w <= 0:
            g = w
        g = g / np.linalg.norm(g)
        cuts.append((g, float(0.995 * (g @ w))))
        _, w = step(*cuts[-1])
    return X, y, cuts


def live(X: Array, y: Array, form: str = "auto") -> tuple[Solved, Step]:
    """tightmargin's live program; "auto" decides for its primal or its dual form."""
    program = LiveLP(_live_model(X, y), form=form)

    def solved() -> Solved:
        found = program.resolve()
        return found.objective, found["w"]

    def step(g: Array, side: float) -> Solved:
        program.add_cut({"w": g}, upper=side)
        return solved()

    return solved(), step


def form_used(X: Array, y: Array) -> str:
    """Form that "auto" decides for."""
    return LiveLP(_live_model(X, y)).form_used


def _live_model(X: Array, y: Array) -> pyo.ConcreteModel:
    n, d = X.shape
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, d - 1)
    m.w, m.b, m.rho = pyo.Var(m.J, bounds=(-1, 1)), pyo.Var(), pyo.Var()
    m.xi = pyo.Var(m.I, within=pyo.NonNegativeReals)
    terms = [(y[:, None] * X, m.w), (y, m.b), (-1.0, m.rho), (1.0, m.xi)]
    m.margin = AffineRows(m.I, terms, lower=0.0)
    m.objective = pyo.Objective(expr=total(-NU * m.rho, dot(1 / n, m.xi)))
    return m


def by_hand(X: Array, y: Array) -> tuple[Solved, Step]:
    """Numpy arrays, highspy's passModel and addRow, warm dual simplex."""
    import highspy

    n, d = X.shape
    width = d + 2 + n
    numbers = np.hstack([y[:, None] * X, y[:, None], np.full((n, 1), -1.0), np.ones((n, 1))])
    places = np.tile(np.arange(d + 3, dtype=np.int32), (n, 1))
    places[:, d + 2] += np.arange(n, dtype=np.int32)
    lower, upper = np.full(width, -INFINITY), np.full(width, INFINITY)
    lower[:d], upper[:d], lower[d + 2 :] = -1.0, 1.0, 0.0
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.passModel(
        width, n, numbers.size, 2, 1, 0.0,
        np.concatenate([np.zeros(d + 1), [-NU], np.full(n, 1 / n)]), lower, upper,
        np.zeros(n), np.full(n, INFINITY), (np.arange(n + 1) * (d + 3)).astype(np.int32),
        places.ravel(), numbers.ravel(), np.zeros(width, np.int32),
    )  # fmt: skip
    features = np.arange(d, dtype=np.int32)

    def solved() -> Solved:
        h.run()
        w = np.array(h.getSolution().col_value[:d])
        return h.getInfo().objective_function_value, w

    def step(g: Array, side: float) -> Solved:
        h.addRow(-INFINITY, side, d, features, g)
        return solved()

    return solved(), step


def _model(X: Array, y: Array) -> pyo.ConcreteModel:
    """Stock Pyomo, rows as linear expressions, with an empty list of cuts."""
    n, d = X.shape
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, d - 1)
    m.w, m.b, m.rho = pyo.Var(m.J, bounds=(-1, 1)), pyo.Var(), pyo.Var()
    m.xi = pyo.Var(m.I, within=pyo.NonNegativeReals)
    w, xi = list(m.w.values()), list(m.xi.values())
    scaled, labels = (y[:, None] * X).tolist(), y.tolist()

    def row(_: Any, i: int) -> Any:
        body = LinearExpression(
            linear_coefs=[*scaled[i], labels[i], -1.0, 1.0], linear_vars=[*w, m.b, m.rho, xi[i]]
        )
        return (0.0, body, None)

    m.margin = pyo.Constraint(m.I, rule=row)
    cost = LinearExpression(linear_coefs=[-NU, *[1 / n] * n], linear_vars=[m.rho, *xi])
    m.objective = pyo.Objective(expr=cost)
    m.cuts = pyo.ConstraintList()
    return m


def _add(m: pyo.ConcreteModel, g: Array, side: float) -> Any:
    body = LinearExpression(linear_coefs=g.tolist(), linear_vars=list(m.w.values()))
    return m.cuts.add((None, body, side))


def _present(m: pyo.ConcreteModel) -> Solved:
    return pyo.value(m.objective), np.array([v.value for v in m.w.values()])


def appsi(X: Array, y: Array) -> tuple[Solved, Step]:
    """Stock persistent interface of pyomo.contrib.appsi, told of changes, reading only w."""
    from pyomo.contrib.appsi.solvers import Highs

    m = _model(X, y)
    solver = Highs()
    for name in _switches(solver.update_config):
        setattr(solver.update_config, name, False)
    solver.config.load_solution = solver.config.warmstart = False
    w = list(m.w.values())

    def solved() -> Solved:
        found = solver.solve(m)
        primal = solver.get_primals(w)
        return found.best_feasible_objective, np.array([primal[v] for v in w])

    def step(g: Array, side: float) -> Solved:
        solver.add_constraints([_add(m, g, side)])
        return solved()

    return solved(), step


def contrib(X: Array, y: Array) -> tuple[Solved, Step]:
    """Stock persistent interface of pyomo.contrib.solver, told of changes, reading only w."""
    from pyomo.contrib.solver.common.config import AutoUpdateConfig
    from pyomo.contrib.solver.solvers.highs import Highs

    m = _model(X, y)
    solver = Highs()
    for name in _switches(AutoUpdateConfig()):
        setattr(solver.config.auto_updates, name, False)
    solver.config.load_solutions = False
    w = list(m.w.values())

    def solved() -> Solved:
        found = solver.solve(m)
        primal = found.solution_loader.get_vars(w)
        return found.incumbent_objective, np.array([primal[v] for v in w])

    def step(g: Array, side: float) -> Solved:
        solver.add_constraints([_add(m, g, side)])
        return solved()

    return solved(), step


def _switches(config: Any) -> list[str]:
    """Names of what an interface would look for before every solve."""
    return [name for name in config if name.startswith(("check_for_", "update_"))]


def rebuild(X: Array, y: Array) -> tuple[Solved, Step]:
    """Pyomo model built anew each round, solved by SolverFactory("highs")."""
    cuts: list[Cut] = []

    def solved() -> Solved:
        m = _model(X, y)
        for g, side in cuts:
            _add(m, g, side)
        pyo.SolverFactory("highs").solve(m)
        return _present(m)

    def step(g: Array, side: float) -> Solved:
        cuts.append((g, side))
        return solved()

    return solved(), step


BY_HAND, APPSI, CONTRIB, REBUILD = (
    "highspy by hand, addRow",
    "Pyomo appsi, persistent",
    "Pyomo contrib.solver, persistent",
    'Pyomo model rebuilt, SolverFactory("highs")',
)
ROUTES: dict[str, Start] = {
    OURS: live,
    BY_HAND: by_hand,
    APPSI: appsi,
    CONTRIB: contrib,
    REBUILD: rebuild,
}
