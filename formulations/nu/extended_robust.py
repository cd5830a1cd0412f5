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
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    complete_plane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended_checks import NO_DIRECTION
from tightmargin.formulations.parameters import INTERCEPTS, fraction, one_of

WHOLE = 1e-9  # of a point: what rounding makes of mu n
WIDER = 1e-12  # relative: more than rounding takes from a norm

Share = float | str | Fraction


def given_up(data: TrainingData | GramData, nu: float, mu: Share) -> int:
    """The number mu n of points that are given up.

    Raises ValueError: nu outside (0, 1], mu not below nu, or mu n no whole number.
    Raises TypeError: other data, whose labels are no signs.
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"data must be TrainingData, got {type(data).__name__}")
    nu = fraction("nu", nu)
    share = _share(mu)
    if not share < nu:
        raise ValueError(f"mu must be below nu = {nu:g}, got {mu!r}")
    count = round(share * data.n)
    if abs(count - share * data.n) > WHOLE * data.n:
        raise ValueError(
            f"mu must be a whole number of points over {data.n}, got {mu!r}, which is "
            f'{float(share) * data.n:.6g} points: write mu="{count}/{data.n}"'
        )
    return count


def _share(mu: Share) -> Fraction:
    """mu as a number in [0, 1]."""
    if isinstance(mu, str):
        try:
            return _share(Fraction(mu))
        except (ValueError, ZeroDivisionError):
            wanted = 'mu must be a number or a fraction such as "4/345"'
            raise ValueError(f"{wanted}, got {mu!r}") from None
    if isinstance(mu, Fraction) and 0 <= mu <= 1:
        return mu
    if isinstance(mu, Real) and not isinstance(mu, bool) and mu == 0:
        return Fraction(0)
    return Fraction(fraction("mu", float(mu) if isinstance(mu, Fraction) else mu))


def window(data: TrainingData | GramData, nu: float, mu: Share) -> Fraction:
    """(nu - mu) n: how many of the errors count, the last one in part."""
    return Fraction(min(nu, 1.0)) * data.n - given_up(data, nu, mu)


def level_price(data: TrainingData | GramData, nu: float, mu: Share) -> float:
    """nu - mu, not above (nu - mu) n times the double nearest to 1/n, the price of a slack.

    So the prices are those of at most (nu - mu) n errors, to the last bit, and the optimum is not
    below the least risk times n and the price of a slack.
    """
    exact = window(data, nu, mu) * Fraction(1 / data.n)
    price = float(exact)
    return price if Fraction(price) <= exact else math.nextafter(price, -math.inf)


def offset_limit(data: TrainingData | GramData, nu: float, mu: Share) -> float:
    """A number that |b| of a best free intercept does not exceed.

    With b > 0 and ||w|| <= 1 the errors are at least b - R at the n_- negatives and -b - R at the
    others, R = max_i ||x_i||; so with k = mu n, m = nu n and o = min(n_- - k, m - k),

        n risk >= o (b - R) - (m - k - o) (b + R),

    which is positive, and w = 0 better, for b > R (m - k) / (2 o - (m - k)). The same of b < 0.

    Raises ValueError: 2 o <= m - k for one of the classes: the risk is not bounded along b, or it
        is 0 there.
    """
    count = given_up(data, nu, mu)
    share, wide = float(_share(mu)), window(data, nu, mu)
    positives = int(np.count_nonzero(data.y > 0))
    smaller = min(positives, data.n - positives)
    ones = min(Fraction(smaller - count), wide)
    if not 2 * ones > wide:
        raise ValueError(
            f"with a free intercept nu + mu must be below {2 * smaller}/{data.n}, twice the share "
            f"of the smaller class, got {nu:g} + {share:g}: the risk has no end along b; take a "
            "smaller nu or mu, or intercept='penalised'"
        )
    return float(
        np.max(_norms(np.asarray(augmented(data, "none"))))
        * float(wide / (2 * ones - wide))
        * (1 + WIDER)
    )


def largest_scores(data: TrainingData | GramData, intercept: str, offset: float = 0.0) -> Array:
    """Numbers (n,) that no |score| exceeds, with w or (w, b) in the unit ball, |b| <= offset."""
    if intercept == "free":
        return (_norms(np.asarray(augmented(data, "none"))) + offset) * (1 + WIDER)
    return _norms(np.asarray(augmented(data, intercept)))


def _norms(points: Array) -> Array:
    """Euclidean norms of rows, no smaller than they are, in whatever unit."""
    exponents = np.frexp(np.abs(points).max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(points, -exponents[:, None])
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return np.ldexp(lengths * (1 + WIDER), exponents)


def _check(origin: Origin, values: Values) -> PaperCheck:
    """w drawn into the ball, and the levels and outliers that are best for it."""
    data, p = origin.data, origin.parameters
    nu, mu, intercept = p["nu"], p["mu"], p["intercept"]
    _, w, b = signed_scores(data, values)
    size = max(1.0, math.sqrt(norm_of(w, b, intercept)))
    w, b = w / size, b / size
    if intercept == "free":
        offset = offset_limit(data, nu, mu)
        b = min(max(b, -offset), offset)
    risk, q = robust_risk(data, w, b, nu=nu, mu=mu)
    u, kept = data.y * (data.factor @ w + b), q == 0
    rho = float(np.sort(u[kept])[math.ceil(window(data, nu, mu)) - 1])
    repaired = complete_plane(origin, w, b) | {
        "rho": np.array(rho),
        "xi": np.where(kept, np.maximum(0.0, rho - u), 0.0),
        "z": np.where(kept, 0.0, 1.0),
    }
    facts: dict[str, Any] = {"outliers": int(np.count_nonzero(q)), "errors": int((u <= 0).sum())}
    if np.linalg.norm(w) <= NO_DIRECTION:
        facts["degenerate"] = "w = 0 up to rounding: no machine of norm 1 is known to gain by it"
    return PaperCheck(risk, repaired=repaired, facts=facts)


@two_class_formulation(
    ProblemClass.MISOCP,
    "Takeda, Fujiwara & Kanamori 2014",
    paper_class="difference of convex functions on the sphere",
    check=_check,
    weighted=False,
)
def extended_robust_svc(
    data: TrainingData | GramData, *, nu: float, mu: Share, intercept: str = "penalised"
) -> pyo.ConcreteModel:
    """Extended robust SVM: the extended nu-SVC without its worst points, in the unit ball.

        min   -(nu - mu) rho + (1/n) sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i + M_i z_i >= 0,   xi_i >= 0
              outliers    sum_i z_i <= mu n,    z_i in {0, 1}
              norm        ||w||^2 <= 1,   |rho| <= R

    Exact, with a binary for each point. No score exceeds M_i - R = ||x_i||, and a best rho is a
    score, so that R = max_i ||x_i||: a point that is given up asks for nothing. A penalised b is
    one more entry of w, and of x_i a 1. A free intercept counts in no norm, has the limits of
    `offset_limit`, and adds them to R and M. Where w = 0 is best the optimum is 0; where it is
    negative it lies on the sphere of the paper.

    Parameters
    ----------
    nu : float
        Share of the points up to which errors count, in (0, 1].
    mu : float or str
        Share of the worst points, which are left out: 0 or a whole number of points, below nu; as
        text a fraction such as "4/345".

    Raises
    ------
    ValueError
        Bad shares, another intercept; a risk without end along a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> model = tm.extended_robust_svc(data, nu=0.5, mu=0.25, intercept="none")
    >>> result = tm.solve(model)  # the last point is given up
    >>> round(result.objective, 6), result.values["z"].tolist()
    (-0.25, [0.0, 0.0, 0.0, 1.0])
    """
    one_of("intercept", intercept, INTERCEPTS)
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
    m.objective = pyo.Objective(expr=total(-level_price(data, nu, mu) * m.rho, loss))
    return m


@reads_dense_points
def extended_robust_step(
    data: TrainingData | GramData, q: Array, *, nu: float, intercept: str = "penalised"
) -> pyo.ConcreteModel:
    """The convex problem of a step of the d.c. algorithm: -mu CVaR is linearised at q.

        min   -nu rho + (1/n) sum_i xi_i + sum_i q_i y_i (<w, x_i> + b)
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        ||w||^2 + b^2 <= 1

    q (n,): 1 / n on the points that are given up at present, 0 elsewhere.
    Raises ValueError: another intercept.
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
    data: TrainingData | GramData, w: Array, b: float, *, nu: float, mu: Share
) -> tuple[float, Array]:
    """nu CVaR_{1 - nu} - mu CVaR_{1 - mu} of the margin errors, and the q that gives points up.

    Returns: the sum of the errors between the worst mu n and the worst nu n, over n, the last one
        in part; and 1 / n on the worst mu n points.
    """
    count = given_up(data, nu, mu)
    errors = -data.y * (np.asarray(data.factor @ w) + b)
    order = np.argsort(-errors, kind="stable")
    q = np.zeros(data.n)
    q[order[:count]] = 1 / data.n
    shares = np.clip(nu * data.n - np.arange(data.n), 0.0, 1.0) / data.n
    shares[:count] = 0.0
    return float(shares @ errors[order]), q
