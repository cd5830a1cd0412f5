"""The extended robust SVM: least difference of two conditional values at risk of the margin error.

Takeda, Fujiwara & Kanamori, Extended robust support vector machine based on financial risk
minimization, Neural Computation 26, 2014. With f_i = -y_i (<w, x_i> + b), the mean of the errors
between the worst share mu, which is left out, and the worst share nu, is

    nu CVaR_{1 - nu}(f) - mu CVaR_{1 - mu}(f)  =  min over rho and q of
    -nu rho + (1/n) sum_i (rho + f_i)_+ - sum_i q_i f_i,     0 <= q_i <= 1 / n,  sum_i q_i = mu,

a difference of convex functions of (w, b). Where mu n is a whole number some best q is 1 / n on
mu n points, and those are given up. All of it is positively homogeneous in (w, b): while the least
value in the unit ball is negative, it is taken on the sphere of the paper. With a free intercept
the ball is that of w, and the risk falls without end along b where nu + mu > 2 min(n_+, n_-) / n.

The models are not in the catalogue: its words for hyperparameters, files and tables know no mu.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    signed_score,
    squared_norm,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, fraction, one_of

WHOLE = 1e-9  # of a point: what rounding makes of mu n
WIDER = 1e-12  # relative: more than rounding takes from a norm


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


def offset_limit(data: TrainingData, nu: float, mu: float) -> float:
    """A number that |b| of a best free intercept does not exceed.

    With b > 0 and ||w|| <= 1 the errors are at least b - R at the n_- negatives and -b - R at the
    others, R = max_i ||x_i||; so with k = mu n, m = nu n and o = min(n_- - k, m - k),

        n risk >= o (b - R) - (m - k - o) (b + R),

    which is positive, and w = 0 better, for b > R (m - k) / (2 o - (m - k)). The same of b < 0.

    Raises
    ------
    ValueError
        2 o <= m - k for one of the classes: the risk is not bounded along b, or it is 0 there.
    """
    count = given_up(data, nu, mu)
    window = Fraction(nu) * data.n - count
    positives = int(np.count_nonzero(data.y > 0))
    smaller = min(positives, data.n - positives)
    ones = min(Fraction(smaller - count), window)
    if not 2 * ones > window:
        raise ValueError(
            f"with a free intercept nu + mu must be below {2 * smaller}/{data.n}, twice the share "
            f"of the smaller class, got {nu:g} + {mu:g}: the risk has no end along b; take a "
            "smaller nu or mu, or intercept='penalised'"
        )
    return float(
        np.max(_norms(np.asarray(augmented(data, "none"))))
        * float(window / (2 * ones - window))
        * (1 + WIDER)
    )


def largest_scores(data: TrainingData, intercept: str, offset: float = 0.0) -> Array:
    """Numbers (n,) that no |score| exceeds, with w or (w, b) in the unit ball, |b| <= offset."""
    if intercept == "free":
        return (_norms(np.asarray(augmented(data, "none"))) + offset) * (1 + WIDER)
    return _norms(np.asarray(augmented(data, intercept)))


def _norms(points: Array) -> Array:
    """Euclidean norms of rows, no smaller than they are."""
    return np.sqrt(np.einsum("ij,ij->i", points, points)) * (1 + WIDER)


@reads_dense_points
def extended_robust_svc(
    data: TrainingData, *, nu: float, mu: float, intercept: str = "penalised"
) -> pyo.ConcreteModel:
    """Extended robust SVM in the unit ball, exact, with a binary for each point.

        min   -(nu - mu) rho + (1/n) sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i + M_i z_i >= 0,   xi_i >= 0
              outliers    sum_i z_i <= mu n,    z_i in {0, 1}
              norm        ||w||^2 + b^2 <= 1,   |rho| <= R

    No score exceeds M_i - R = ||x~_i||, and a best rho is a score, so that R = max_i ||x~_i||: a
    point that is given up asks for nothing. A free intercept counts in no norm, has the limits of
    `offset_limit`, and adds them to R and M. A mixed-integer second-order cone program, which
    method="branch-and-bound" proves; tm.search.robust_search needs no binaries, and goes further.

    Parameters
    ----------
    data : TrainingData
        Without weights.
    nu : float
        Share of the points up to which errors count, in (0, 1].
    mu : float
        Share of the worst points, which are left out: a whole number of points, below nu.
    intercept : "free", "penalised" or "none"

    Raises
    ------
    ValueError
        Bad shares, another intercept, weighted points; a risk without end along a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> model = tm.extended_robust_svc(data, nu=0.5, mu=0.25, intercept="none")
    >>> result = tm.solve(model, method="branch-and-bound")  # the last point is given up
    >>> round(result.objective, 6), result.values["z"].tolist()
    (-0.25, [0.0, 0.0, 0.0, 1.0])
    """
    one_of("intercept", intercept, INTERCEPTS)
    refuse_weights("extended_robust_svc", data)
    count = given_up(data, nu, mu)
    offset = offset_limit(data, nu, mu) if intercept == "free" else 0.0
    sizes = largest_scores(data, intercept, offset)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    if intercept == "free":
        m.b.setlb(-offset)
        m.b.setub(offset)
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


@reads_dense_points
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

    Raises
    ------
    ValueError
        Another intercept.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.rho = pyo.Var()
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi)], lower=0.0)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= 1)
    slope = (np.asarray(q, dtype=float) * data.y) @ np.asarray(augmented(data, "none"))
    linear = dot(slope, m.w)
    if intercept != "none":
        linear = linear + float(data.y @ q) * m.b
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
