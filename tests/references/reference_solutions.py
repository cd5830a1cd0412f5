"""Answers that owe nothing to our code, for tests only.

Every problem is written once more, straight from its paper, in another modelling layer (cvxpy),
or found by brute force over the points that are kept. Nothing here uses our readers, solvers or
multipliers. Shared are the data class and, for models that are edited, the mark by which a
semidefinite row is known; `pyomo_optimum` reads everything else as any Pyomo user would.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    ProductExpression,
    SumExpression,
    UnaryFunctionExpression,
)
from pyomo.repn import generate_standard_repn
from scipy.linalg import null_space
from scipy.optimize import linprog, nnls

from tests.inside.formulations import psd_entries
from tests.references.reduced_hulls import level_and_slope
from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]

INTERCEPTS = ("free", "penalised", "none")
TOLERANCES = (1e-10, 1e-9, 1e-8, 1e-7)
NEXT_TO_NOTHING = 1e-9  # the price of what has none
STEPS = (0.99, 0.9)  # Clarabel's own, and shorter ones for where it stalls on some processors


class Witness(NamedTuple):
    """An optimum with its hyperplane, and whatever else a test wants to look at."""

    value: float
    w: Array
    b: float
    extra: dict[str, Any]


# --- data ----------------------------------------------------------------------------------------


def points(kind: str, seed: int, n: int = 14, d: int = 2) -> TrainingData:
    """Random points of a known kind: separable, overlapping or unbalanced (four positive ones).

    Separable points keep a distance of at least 0.1 from a hyperplane through the origin;
    the other kinds hold a point of each class deep inside the other one.
    """
    if kind != "separable" and d > n - 2:  # independent points are separable, however they lie
        raise ValueError(f"{n} points of {d} features are separable: d must be below n - 1")
    rng = np.random.default_rng([seed, n, d])
    y = np.where(np.arange(n) < (4 if kind == "unbalanced" else n // 2), 1.0, -1.0)
    while True:
        X = rng.standard_normal((n, d))
        direction = rng.standard_normal(d)
        direction /= np.linalg.norm(direction)
        if kind == "separable":
            side = X @ direction
            return TrainingData(X + np.outer(y * (0.3 + np.abs(side)) - side + 0.2, direction), y)
        X += np.outer(0.8 * y, direction)
        X[0] -= 2.5 * direction
        X[-1] += 2.5 * direction
        data = TrainingData(X, y)
        if not is_separable(data, "free"):
            return data


def is_separable(data: TrainingData, intercept: str) -> bool:
    """Whether some (w, b) reaches y_i (<w, x_i> + b) >= 1 at every point, by linear programming."""
    rows = _signed(data, intercept)
    found = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(data.n), bounds=(None, None))
    return found.status == 0


def _signed(data: TrainingData, intercept: str) -> Array:
    """Rows y_i (x_i, 1), or y_i x_i without an intercept."""
    columns = data.X if intercept == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    return data.y[:, None] * columns


# --- margin, hinge and nu machines ---------------------------------------------------------------


class _Hyperplane:
    """w, b and the norm of a mode of the intercept, as cvxpy expressions."""

    def __init__(self, data: TrainingData, intercept: str) -> None:
        self.w = cp.Variable(data.d)
        self.b = 0.0 if intercept == "none" else cp.Variable()
        price = cp.square(self.b) if intercept == "penalised" else 0.0
        self.norm = cp.sum_squares(self.w) + price
        self.u = cp.multiply(data.y, data.X @ self.w + self.b)

    def witness(self, value: float, **extra: Any) -> Witness:
        b = 0.0 if isinstance(self.b, float) else float(self.b.value)
        return Witness(float(value), np.asarray(self.w.value), b, extra)


def _minimum(objective: Any, constraints: Any = ()) -> float:
    return _solved(cp.Problem(cp.Minimize(objective), list(constraints)))


def _solved(problem: cp.Problem) -> float:
    """Optimum at the tightest tolerance that is reached in full; "almost" is no witness."""
    for step, tolerance in itertools.product(STEPS, TOLERANCES):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(
                solver=cp.CLARABEL, max_step_fraction=step,
                tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance,
            )  # fmt: skip
        if problem.status == cp.OPTIMAL:
            return float(problem.value)
    raise AssertionError(f"the witness ended with {problem.status}")


def hard_margin(data: TrainingData, intercept: str) -> Witness:
    """Takeda & Sugiyama (2): 1/2 norm with every point at margin 1."""
    h = _Hyperplane(data, intercept)
    return h.witness(_minimum(h.norm / 2, [h.u >= 1]))


def max_margin(data: TrainingData, intercept: str) -> Witness:
    """Lee (1): the largest margin in the unit ball; the value is minus that margin."""
    h, rho = _Hyperplane(data, intercept), cp.Variable()
    return h.witness(_minimum(-rho, [h.u >= rho, h.norm <= 1]), rho=rho)


def hinge(data: TrainingData, intercept: str, norm_cost: float, costs: Array | float) -> Witness:
    """norm_cost * norm + sum_i costs_i [1 - u_i]_+, the shape of every hinge-loss machine."""
    h = _Hyperplane(data, intercept)
    loss = cp.sum(cp.multiply(np.broadcast_to(costs, (data.n,)), cp.pos(1 - h.u)))
    return h.witness(_minimum(norm_cost * h.norm + loss))


def nu_machine(data: TrainingData, intercept: str, nu: float, costs: Array) -> Witness:
    """Perez-Cruz et al. (4)-(6): 1/2 norm - nu rho + sum costs_i [rho - u_i]_+, rho >= 0."""
    h, rho = _Hyperplane(data, intercept), cp.Variable(nonneg=True)
    loss = cp.sum(cp.multiply(costs, cp.pos(rho - h.u)))
    value = _minimum(h.norm / 2 - nu * rho + loss)
    return h.witness(value, rho=float(rho.value))


def _signed_gram(gram: Array, y: Array, intercept: str) -> Array:
    return np.outer(y, y) * (gram + (1.0 if intercept == "penalised" else 0.0))


def c_dual(gram: Array, y: Array, caps: Array, intercept: str) -> float:
    """Bi & Vapnik (15): the largest e'a - 1/2 a'Qa in the box, y'a = 0 for a free intercept."""
    a, q = cp.Variable(len(y)), _signed_gram(gram, y, intercept)
    rows = [a >= 0, a <= caps, *([y @ a == 0] if intercept == "free" else [])]
    return -_minimum(cp.quad_form(a, cp.psd_wrap(q)) / 2 - cp.sum(a), rows)


def kernel_hinge(gram: Array, y: Array, ridge: float, loss_cost: float, intercept: str) -> float:
    """Lee (8) with a general cost of the loss: ridge a'Ga + loss_cost sum [1 - y_i f_i]_+."""
    a = cp.Variable(len(y))
    b = 0.0 if intercept == "none" else cp.Variable()
    price = cp.square(b) if intercept == "penalised" else 0.0
    norm = cp.quad_form(a, cp.psd_wrap(gram)) + price
    return _minimum(ridge * norm + loss_cost * cp.sum(cp.pos(1 - cp.multiply(y, gram @ a + b))))


def nu_is_solvable(data: TrainingData, intercept: str, nu: float, costs: Array) -> bool:
    """Whether the dual of nu-SVC has a feasible point."""
    a = cp.Variable(data.n)
    rows = [a >= 0, a <= costs, cp.sum(a) == nu]
    rows += [data.y @ a == 0] if intercept == "free" else []
    problem = cp.Problem(cp.Minimize(0), rows)
    problem.solve(solver=cp.HIGHS)
    return problem.status == cp.OPTIMAL


# --- rigorous machines ---------------------------------------------------------------------------


def least_loss(data: TrainingData, intercept: str, norm_bound: float = np.inf) -> Witness:
    """Bi & Vapnik (3)-(5): the least sum of [1 - u_i]_+ at a norm of at most H; (13) without it."""
    h = _Hyperplane(data, intercept)
    rows = [h.norm <= norm_bound**2] if np.isfinite(norm_bound) else []
    return h.witness(_minimum(cp.sum(cp.pos(1 - h.u)), rows))


def capacity_dual(gram: Array, y: Array, norm_bound: float, intercept: str) -> float:
    """Bi & Vapnik (12): the largest e'a - H sqrt(a'Qa) in the unit box."""
    a, (values, vectors) = cp.Variable(len(y)), np.linalg.eigh(_signed_gram(gram, y, intercept))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    rows = [a >= 0, a <= 1, *([y @ a == 0] if intercept == "free" else [])]
    return -_minimum(norm_bound * cp.norm(root @ a) - cp.sum(a), rows)


def hull_distance(gram: Array, y: Array, cap: float, intercept: str) -> float:
    """Bi & Vapnik (16): the least 1/2 a'Qa with class sums 1 (or sum 2), 0 <= a <= D."""
    a, q = cp.Variable(len(y)), _signed_gram(gram, y, intercept)
    sums = [cp.sum(a) == 2]
    if intercept == "free":
        sums = [cp.sum(a[y > 0]) == 1, cp.sum(a[y < 0]) == 1]
    return _minimum(cp.quad_form(a, cp.psd_wrap(q)) / 2, [a >= 0, a <= cap, *sums])


# --- extended nu machines ------------------------------------------------------------------------


def nu_risk_in_ball(data: TrainingData, intercept: str, nu: float, costs: Array) -> float:
    """Takeda & Sugiyama (8): the least -nu rho + sum costs_i [rho - u_i]_+ in the unit ball."""
    h, rho = _Hyperplane(data, intercept), cp.Variable()
    loss = cp.sum(cp.multiply(costs, cp.pos(rho - h.u)))
    return _minimum(-nu * rho + loss, [h.norm <= 1])


def nu_risk_linearised(
    data: TrainingData, intercept: str, nu: float, costs: Array, w_ref: Array
) -> Witness:
    """Takeda & Sugiyama (9): the same with <w_ref, w> = 1; b has an entry of w_ref if penalised."""
    h, rho = _Hyperplane(data, intercept), cp.Variable()
    share = w_ref[: data.d] @ h.w + (w_ref[-1] * h.b if intercept == "penalised" else 0.0)
    loss = cp.sum(cp.multiply(costs, cp.pos(rho - h.u)))
    return h.witness(_minimum(-nu * rho + loss, [share == 1]))


def nu_risk_on_circle(data: TrainingData, intercept: str, nu: float, costs: Array) -> Witness:
    """Takeda & Sugiyama (3) for two features and an unpriced intercept, by every direction.

    The optimum over (b, rho) is linear in w on every arc between directions where two points
    change their order, so over the circle it is least at an end of an arc or where w is minus
    its gradient there.
    """
    assert data.d == 2
    assert intercept != "penalised"

    def at(angle: float) -> tuple[float, Array]:
        return level_and_slope(data, intercept, nu, costs, np.array([np.cos(angle), np.sin(angle)]))

    z = data.y[:, None] * data.X
    steps = [
        z[i] - z[k]
        for i, k in itertools.combinations(range(data.n), 2)
        if intercept == "none" or data.y[i] == data.y[k]
    ]
    ties = [np.arctan2(s[1], s[0]) + turn for s in steps for turn in (-np.pi / 2, np.pi / 2)]
    ends = np.unique(np.mod(ties, 2 * np.pi))
    middles = (ends + np.r_[ends[1:], ends[0] + 2 * np.pi]) / 2
    gradients = [at(angle)[1] for angle in middles]
    inner = [np.arctan2(-u[1], -u[0]) for u in gradients if np.linalg.norm(u) > 0]
    values = {angle: at(angle)[0] for angle in [*ends, *inner]}
    best = min(values, key=lambda angle: values[angle])
    return Witness(values[best], np.array([np.cos(best), np.sin(best)]), 0.0, {})


# --- 0-1 and ramp loss ---------------------------------------------------------------------------


def relaxation(
    data: TrainingData, intercept: str, penalty: float, big_m: Array, cap: float = 1.0
) -> Witness:
    """Cepeda et al. (4): u_i >= 1 - M_i z_i with 0 <= z_i <= cap."""
    h, z = _Hyperplane(data, intercept), cp.Variable(data.n, nonneg=True)
    rows = [h.u >= 1 - cp.multiply(big_m, z)]
    rows += [z <= cap] if np.isfinite(cap) else []
    return h.witness(_minimum(h.norm + penalty * cp.sum(z), rows))


def least_norm(rows: Array, free_column: bool) -> float:
    """The least norm of v with rows @ v >= 1 (its last entry unpriced if free_column), or inf."""
    price = np.ones(rows.shape[1])
    price[-1] = 0.0 if free_column else 1.0
    return least_beside(price, rows, np.ones(len(rows)))


def least_beside(
    price: Array, rows: Array, right: Array, G: Array | None = None, equal: Array | None = None
) -> float:
    """Least sum price v^2 with rows @ v >= right and G v = equal; inf if there is no such v.

    Least distance programming by non-negative least squares (Lawson & Hanson 1974, chapter 23): it
    ends in finitely many steps where an interior-point method has no interior.
    """
    if G is None or equal is None:
        G, equal = np.zeros((0, len(price))), np.zeros(0)
    one = np.linalg.lstsq(G, equal, rcond=None)[0]
    if len(equal) and abs(G @ one - equal).max() > 1e-9:
        return np.inf
    along = null_space(G) if len(equal) else np.eye(len(price))
    if not along.shape[1]:
        return float(price @ one**2) if (rows @ one >= right - 1e-9).all() else np.inf
    size = np.sqrt(np.maximum(price, NEXT_TO_NOTHING))
    Q, R = np.linalg.qr(size[:, None] * along)
    # With x = R t + shift and v = one + along t the objective is ||x||^2 and a constant.
    shift = Q.T @ (size * one)
    turned = rows @ along @ np.linalg.inv(R)
    least_x = right - rows @ one + turned @ shift
    system, target = np.vstack([turned.T, least_x]), np.r_[np.zeros(len(R)), 1.0]
    if not len(least_x):
        return float(price @ (one - along @ np.linalg.solve(R, shift)) ** 2)
    multipliers, residual = nnls(system, target)
    rest = system @ multipliers - target
    if residual < 1e-7:
        return np.inf
    v = one + along @ np.linalg.solve(R, -rest[:-1] / rest[-1] - shift)
    return float(price @ v**2)


def zero_one_optimum(
    data: TrainingData,
    intercept: str,
    penalty: float,
    most: int | None = None,
    keep: tuple[int, ...] = (),
) -> float:
    """Cepeda et al. (3) by trying every set of kept points: 2^n least-norm problems.

    At most `most` points are dropped, and those in `keep` never; inf when that cannot be.
    """
    rows = _signed(data, intercept)
    best = np.inf
    for dropped in range((data.n if most is None else most) + 1):
        if penalty * dropped >= best:
            break
        for kept in itertools.combinations(range(data.n), data.n - dropped):
            if set(keep) <= set(kept):
                norm = least_norm(rows[list(kept)], intercept == "free")
                best = min(best, norm + penalty * dropped)
    return best


def ramp_optimum(data: TrainingData, intercept: str, C: float) -> float:
    """Brooks: 1/2 norm + C sum min(2, [1 - u_i]_+) by trying every set of points charged 2 C."""
    h, charged = _Hyperplane(data, intercept), cp.Parameter(data.n, nonneg=True)
    problem = cp.Problem(
        cp.Minimize(h.norm / 2 + C * cp.sum(cp.multiply(charged, cp.pos(1 - h.u))))
    )
    best = np.inf
    for kept in itertools.product((0.0, 1.0), repeat=data.n):
        charged.value = np.array(kept)
        best = min(best, _solved(problem) + 2 * C * kept.count(0.0))
    return best


def ramp_relaxation(data: TrainingData, intercept: str, C: float, big_m: Array | float) -> float:
    """Brooks with 0 <= z <= 1: 1/2 norm + C sum (xi + 2 z), u + xi + M z >= 1, 0 <= xi <= 2."""
    h, xi, z = _Hyperplane(data, intercept), cp.Variable(data.n), cp.Variable(data.n)
    rows = [h.u + xi + cp.multiply(np.broadcast_to(big_m, data.n), z) >= 1]
    rows += [xi >= 0, xi <= 2, z >= 0, z <= 1]
    return _minimum(h.norm / 2 + C * cp.sum(xi + 2 * z), rows)


# --- conic relaxations ---------------------------------------------------------------------------


def fixed_strengthening(
    data: TrainingData, intercept: str, penalty: float, gamma: Array, printed: bool = False
) -> float:
    """Cepeda et al. (14); printed=True keeps the misprint (1 - u_i - 1)_- of its last numerator."""
    columns = _signed(data, intercept)
    v, z = cp.Variable(columns.shape[1]), cp.Variable(data.n)
    u = columns @ v
    hessian = np.eye(columns.shape[1]) - columns.T @ (gamma[:, None] * columns)
    total = cp.quad_form(v, cp.psd_wrap(hessian)) + 2 * gamma @ u - gamma.sum()
    total += penalty * cp.sum(z)
    for i in np.flatnonzero(gamma):
        below = 1 - u[i]
        above = -u[i] if printed else below
        total += gamma[i] * cp.quad_over_lin(cp.pos(below), z[i])
        total += gamma[i] * cp.quad_over_lin(cp.neg(above), 1 - z[i])
    return _minimum(total, [z >= 0, z <= 1])


def _cells(columns: Array, W: Any, u: Any, z: Any) -> list[Any]:
    """The row of each point: its squared slack in the lifted matrix W against z."""
    rows = [z >= 0, z <= 1]
    for i, column in enumerate(columns):
        cell = cp.sum(cp.multiply(np.outer(column, column), W)) - 2 * u[i] + 1
        paid = cp.quad_over_lin(cp.pos(1 - u[i]), z[i])
        rows.append(cell >= paid + cp.quad_over_lin(cp.neg(1 - u[i]), 1 - z[i]))
    return rows


def theorem_2(
    data: TrainingData,
    intercept: str,
    penalty: float | None = None,
    budget: float | None = None,
    bound_on_b: float | None = None,
) -> Witness:
    """Cepeda et al. (21) as printed, with a price or (appendix C) a budget on the violations.

    A free intercept is the repair of the design notes: its lifted entry is unpriced and at most
    bound_on_b squared.

    Points of size 100 make an objective of 1e-4 times the entries of W, which Clarabel then knows
    to 1e-6 at best. W and v are therefore counted in the units of the columns, powers of two, and
    a small objective, whose gap is compared with 1, is multiplied up to about 1.
    """
    columns = _signed(data, intercept)
    k = columns.shape[1]
    largest = np.abs(columns).max(axis=0)
    unit = np.where(largest > 0, np.exp2(np.round(np.log2(np.where(largest > 0, largest, 1)))), 1)
    columns = columns / unit
    lifted = cp.Variable((k + 1, k + 1), PSD=True)
    W, v, z = lifted[:k, :k], lifted[:k, k], cp.Variable(data.n)
    u = columns @ v
    rows = [lifted[k, k] == 1, *_cells(columns, W, u, z)]
    price = 1 / unit**2
    if intercept == "free":
        assert bound_on_b is not None
        price[-1] = 0.0
        rows.append(W[k - 1, k - 1] <= bound_on_b**2)  # the column of ones has the unit 1
    if budget is not None:
        rows.append(cp.sum(z) <= budget * data.n)
    goal = price @ cp.diag(W) + (0.0 if penalty is None else penalty * cp.sum(z))
    value = _minimum(goal, rows)
    if 1e-3 < value < 0.1:
        value *= _minimum(goal / value, rows)
    weight = np.asarray(v.value) / unit
    w, b = (weight, 0.0) if intercept == "none" else (weight[:-1], float(weight[-1]))
    lifted_weight = np.asarray(W.value) / np.outer(unit, unit)
    return Witness(value, w, b, {"z": np.asarray(z.value), "W": lifted_weight})


def kernel_theorem_2(signed_gram: Array, penalty: float) -> float:
    """Cepeda et al., last problem of appendix A: an n x n matrix variable, no factor.

    signed_gram holds y_i y_j k(x_i, x_j), plus y_i y_j where the intercept is penalised.
    """
    n = len(signed_gram)
    lifted = cp.Variable((n + 1, n + 1), PSD=True)
    A, alpha, z = lifted[:n, :n], lifted[:n, n], cp.Variable(n)
    u = signed_gram @ alpha
    rows = [lifted[n, n] == 1, *_cells(signed_gram, A, u, z)]
    return _minimum(cp.sum(cp.multiply(signed_gram, A)) + penalty * cp.sum(z), rows)


# --- any convex Pyomo model ----------------------------------------------------------------------


def pyomo_optimum(model: pyo.ConcreteModel) -> float:
    """Optimum of a convex Pyomo model, read row by row through Pyomo's own visitor into cvxpy.

    Rows must be linear, convex quadratic, rotated cones (squares <= one product of two variables)
    or semidefinite rows of tightmargin.formulations.modeling.cones.
    """
    reader = _PyomoReader()
    constraints: list[Any] = []
    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        low, body, high = row.to_bounded_expression(evaluate_bounds=True)
        entries = psd_entries(body)
        if entries is not None:
            constraints.append(reader.matrix(entries) >> 0)
            continue
        constraints += reader.row(body, low, high)
    (objective,) = model.component_data_objects(pyo.Objective, active=True, descend_into=True)
    sign = 1 if objective.sense == pyo.minimize else -1
    goal = reader.quadratic(sign * objective.expr)
    return sign * _minimum(goal, constraints + reader.bounds())


class _PyomoReader:
    """Pyomo variables as cvxpy variables, and expressions of degree two in them."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Any, cp.Variable]] = {}

    def variable(self, pyomo_variable: Any) -> cp.Variable:
        return self.found.setdefault(id(pyomo_variable), (pyomo_variable, cp.Variable()))[1]

    def bounds(self) -> list[Any]:
        rows = []
        for theirs, ours in self.found.values():
            low, high = theirs.bounds
            rows += [] if low is None else [ours >= low]
            rows += [] if high is None else [ours <= high]
        return rows

    def affine(self, expression: Any) -> Any:
        repn = generate_standard_repn(expression, quadratic=True)
        assert repn.nonlinear_expr is None
        assert not repn.quadratic_vars
        return self._affine(repn)

    def _affine(self, repn: Any) -> Any:
        pairs = zip(repn.linear_coefs, repn.linear_vars, strict=True)
        return pyo.value(repn.constant) + sum(pyo.value(a) * self.variable(x) for a, x in pairs)

    def _matrix(self, repn: Any) -> tuple[list[cp.Variable], Array]:
        """Variables of the quadratic part and its symmetric matrix."""
        members = list({id(v): v for pair in repn.quadratic_vars for v in pair}.values())
        place = {id(v): k for k, v in enumerate(members)}
        Q = np.zeros((len(members), len(members)))
        for (x, y), a in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True):
            Q[place[id(x)], place[id(y)]] += pyo.value(a) / 2
            Q[place[id(y)], place[id(x)]] += pyo.value(a) / 2
        return [self.variable(v) for v in members], Q

    def quadratic(self, expression: Any) -> Any:
        repn = generate_standard_repn(expression, quadratic=True)
        if repn.nonlinear_expr is not None:
            rest, repn.nonlinear_expr = repn.nonlinear_expr, None
            return self.quotients(rest, 1.0) + self.quadratic(repn.to_expression(sort=False))
        if not repn.quadratic_vars:
            return self._affine(repn)
        members, Q = self._matrix(repn)
        return cp.quad_form(cp.hstack(members), cp.psd_wrap(Q)) + self._affine(repn)

    def quotients(self, e: Any, factor: float) -> Any:
        """Sums of multiples of squares over affine functions, and of log(1 + exp(affine))."""
        if isinstance(e, SumExpression):
            return sum(self.quotients(part, factor) for part in e.args)
        if isinstance(e, UnaryFunctionExpression):
            (one, inner), outer = e.args[0].args, e.getname()
            assert (outer, pyo.value(one), inner.getname()) == ("log", 1, "exp")
            return factor * cp.logistic(self.affine(inner.args[0]))
        a, b = e.args
        if isinstance(e, ProductExpression):
            return self.quotients(b, factor * float(pyo.value(a)))
        assert isinstance(e, DivisionExpression)
        (base, two) = a.args
        assert pyo.value(two) == 2
        return factor * cp.quad_over_lin(self.affine(base), self.affine(b))

    def row(self, body: Any, low: Any, high: Any) -> list[Any]:
        repn = generate_standard_repn(body, quadratic=True)
        assert repn.nonlinear_expr is None
        if not repn.quadratic_vars:
            inside = self._affine(repn)
            rows = [] if low is None else [inside >= low]
            return rows if high is None else [*rows, inside <= high]
        assert low is None, "quadratic rows are read as upper bounds"
        members, Q = self._matrix(repn)
        crossed = np.argwhere(np.triu(Q, 1))
        if np.linalg.eigvalsh(Q)[0] >= -1e-12 * np.abs(Q).max():
            return [cp.quad_form(cp.hstack(members), cp.psd_wrap(Q)) + self._affine(repn) <= high]
        if not len(crossed):
            return [self._norm(members, np.diag(Q), repn, high)]
        ((i, j),) = crossed.tolist()
        squares = [np.sqrt(Q[k, k]) * members[k] for k in range(len(members)) if Q[k, k] > 0]
        # k s t + a s + b t + c = k (s + b / k)(t + a / k) when c = a b / k.
        k, linear = 2 * Q[i, j], self._coefficients(repn)
        a, b = linear.pop(members[i].id, 0.0), linear.pop(members[j].id, 0.0)
        assert not linear
        assert pyo.value(repn.constant) - high == a * b / k
        first, second = members[i] + b / k, members[j] + a / k
        if k > 0:  # of two factors with a negative product, the shifted one is the negative one
            first, second = (-first, second) if b < 0 else (first, -second)
        top = np.sqrt(abs(k)) * (first + second)
        side = np.sqrt(abs(k)) * (first - second)
        return [cp.SOC(top, cp.hstack([side, *(2 * v for v in squares)]))]

    def _norm(self, members: list[Any], squares: Array, repn: Any, high: Any) -> Any:
        """||v||^2 <= t^2 where t has a bound t >= 0 of its own."""
        ((k,),) = np.argwhere(squares < 0).tolist()
        assert not self._coefficients(repn)
        assert pyo.value(repn.constant) == high
        inside = [np.sqrt(q) * v for q, v in zip(squares, members, strict=True) if q > 0]
        return cp.SOC(np.sqrt(-squares[k]) * members[k], cp.hstack(inside))

    def _coefficients(self, repn: Any) -> dict[int, float]:
        """Linear coefficients by the id of our variable."""
        pairs = zip(repn.linear_coefs, repn.linear_vars, strict=True)
        return {self.variable(v).id: float(pyo.value(a)) for a, v in pairs}

    def matrix(self, entries: list[Any]) -> Any:
        order = int((np.sqrt(8 * len(entries) + 1) - 1) / 2)
        cells = [[None] * order for _ in range(order)]
        position = iter(entries)
        for i in range(order):
            for j in range(i + 1):
                cells[i][j] = cells[j][i] = self.affine(next(position))
        return cp.bmat(cells)
