"""The extended robust SVM: least difference of two conditional values at risk of the margin error.

Takeda, Fujiwara & Kanamori, Extended robust support vector machine based on financial risk
minimization, Neural Computation 26, 2014. With f_i = -y_i (<w, x_i> + b), the mean of the errors
between the worst share mu, which is left out, and the worst share nu, is

    nu CVaR_{1 - nu}(f) - mu CVaR_{1 - mu}(f)  =  min over rho and q of
    -nu rho + (1/n) sum_i (rho + f_i)_+ - sum_i q_i f_i,     0 <= q_i <= 1 / n,  sum_i q_i = mu,

a difference of convex functions of (w, b). Where mu n is a whole number some best q is 1 / n on
mu n points, and those are given up. All of it is positively homogeneous in (w, b): while the least
value in the unit ball is negative, it is taken on the sphere of the paper.

The models are not in the catalogue: its words for hyperparameters, files and tables know no mu.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    signed_score,
    squared_norm,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import fraction, one_of

PRICED = ("penalised", "none")
WHOLE = 1e-9  # of a point: what rounding makes of mu n


def given_up(data: TrainingData, nu: float, mu: float) -> int:
    """The number mu n of points that are given up.

    Raises
    ------
    ValueError
        nu outside (0, 1], mu not below nu, or mu n no whole number.
    TypeError
        Other data, whose labels are no signs.
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"data must be TrainingData, got {type(data).__name__}")
    fraction("nu", nu)
    if mu != 0:
        fraction("mu", mu)
    if not mu < nu:
        raise ValueError(f"mu must be below nu = {nu:g}, got {mu!r}")
    count = round(mu * data.n)
    if abs(count - mu * data.n) > WHOLE * data.n:
        raise ValueError(f"mu must be a whole number of points over {data.n}, got {mu!r}")
    return count


def largest_scores(data: TrainingData, intercept: str) -> Array:
    """Norms of the points with their constant entry (n,): no score is larger in the unit ball."""
    points = np.asarray(augmented(data, intercept))
    return np.sqrt(np.einsum("ij,ij->i", points, points)) * (1 + 1e-12)


def extended_robust_svc(
    data: TrainingData, *, nu: float, mu: float, intercept: str = "penalised"
) -> pyo.ConcreteModel:
    """Extended robust SVM in the unit ball, exact, with a binary for each point.

        min   -(nu - mu) rho + (1/n) sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i + M_i z_i >= 0,   xi_i >= 0
              outliers    sum_i z_i <= mu n,    z_i in {0, 1}
              norm        ||w||^2 + b^2 <= 1,   |rho| <= R

    No score exceeds M_i - R = ||x~_i||, and a best rho is a score, so that R = max_i ||x~_i||: a
    point that is given up asks for nothing. A mixed-integer second-order cone program, which
    method="branch-and-bound" proves.

    Parameters
    ----------
    data : TrainingData
        Without weights.
    nu : float
        Share of the points up to which errors count, in (0, 1].
    mu : float
        Share of the worst points, which are left out: a whole number of points, below nu.
    intercept : "penalised" or "none"
        A free intercept has no bound that would follow from the data.

    Raises
    ------
    ValueError
        Bad shares, another intercept, weighted points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> model = tm.extended_robust_svc(data, nu=0.5, mu=0.25, intercept="none")
    >>> result = tm.solve(model, method="branch-and-bound")  # the last point is given up
    >>> round(result.objective, 6), result.values["z"].tolist()
    (-0.25, [0.0, 0.0, 0.0, 1.0])
    """
    one_of("intercept", intercept, PRICED)
    refuse_weights("extended_robust_svc", data)
    count = given_up(data, nu, mu)
    sizes = largest_scores(data, intercept)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    top = float(sizes.max())
    m.rho = pyo.Var(bounds=(-top, top))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    terms = [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi), (sizes + top, m.z)]
    m.margin = AffineRows(m.I, terms, lower=0.0)
    m.outliers = pyo.Constraint(expr=dot(1.0, m.z) <= count)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= 1)
    loss = dot(1 / data.n, m.xi)
    m.objective = pyo.Objective(expr=total(-(nu - count / data.n) * m.rho, loss))
    return m


def extended_robust_step(
    data: TrainingData, q: Array, *, nu: float, intercept: str = "penalised"
) -> pyo.ConcreteModel:
    """The convex problem of a step of the d.c. algorithm: -mu CVaR is linearised at q.

        min   -nu rho + (1/n) sum_i xi_i + sum_i q_i y_i (<w, x_i> + b)
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        ||w||^2 + b^2 <= 1

    Parameters
    ----------
    q : array (n,)
        1 / n on the points that are given up at present, 0 elsewhere.
    """
    one_of("intercept", intercept, PRICED)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.rho = pyo.Var()
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi)], lower=0.0)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= 1)
    slope = np.asarray(q, dtype=float) * data.y @ np.asarray(augmented(data, intercept))
    linear = dot(slope[: data.d], m.w)
    if intercept == "penalised":
        linear = linear + float(slope[data.d]) * m.b
    m.objective = pyo.Objective(expr=total(-nu * m.rho, dot(1 / data.n, m.xi), linear))
    return m


def robust_risk(
    data: TrainingData, w: Array, b: float, *, nu: float, mu: float
) -> tuple[float, Array]:
    """nu CVaR_{1 - nu} - mu CVaR_{1 - mu} of the margin errors, and the q that gives points up.

    Returns
    -------
    (float, array (n,))
        The sum of the errors between the worst mu n and the worst nu n, over n, the last one in
        part; and 1 / n on the worst mu n points.
    """
    count = given_up(data, nu, mu)
    errors = -data.y * (np.asarray(data.factor @ w) + b)
    order = np.argsort(-errors, kind="stable")
    q = np.zeros(data.n)
    q[order[:count]] = 1 / data.n
    shares = np.clip(nu * data.n - np.arange(data.n), 0.0, 1.0) / data.n
    shares[:count] = 0.0
    return float(shares @ errors[order]), q
