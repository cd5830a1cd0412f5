"""nu-SVC, primal and dual: its weights, its range of nu, and b and rho from multipliers.

Intercept b and margin level rho of the nu-SVC from multipliers, in the two ways there are.

Perez-Cruz et al. 2003, (21)-(22), average: where 0 < alpha_i < c_i the margin row is an equation
without slack, y_i (<w, x_i> + b) = rho, for as many points of one class as of the other. Sorting
asks instead for the best (b, rho) of the w that the multipliers expand to, whatever they are
(`nu_margin`): the smallest scores of each class that hold the mass nu / 2 end at
rho - b and rho + b.

At a solution with such points in both classes the two are equal. They differ

    without such points in a class   all its multipliers are 0 or c_i, a whole interval is best,
                                     and the paper takes its lower end, sorting the middle
    off a solution                   the scores of the points are not equal: the average is a
                                     guess, and what sorting returns is still best for its w
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    add_hyperplane,
    complete_dual,
    complete_plane,
    dual_norm,
    errors_of,
    in_masses,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
    with_intercept,
)
from tightmargin.formulations.common.margin_levels import (
    NOT_ASKED,
    flat_piece,
    margin_facts,
    multiplier_facts,
    nu_margin,
)
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import (
    INTERCEPTS,
    add_parameter,
    fraction,
    one_of,
    per_point,
)
from tightmargin.printing import Printed

# --- Weights of losses by class balance, and the range of nu that they leave ---------------------

CLASS_BALANCES = ("uniform", "balanced")


def loss_weights(data: TrainingData | GramData, class_balance: ArrayLike | str) -> Array:
    """Weights c_i (n,), sum 1.

    class_balance (n,): 1 / n, or the share of all weights where the points are weighted; or 1 / (2
        n_class), so that both classes weigh the same, likewise shared out; or positive weights with
        sum 1 of the user's own, which leave nothing to say for weights of the data. Takeda &
        Sugiyama print 1 / n_class for the second; then nu_max would be 2, not 1.
    Raises ValueError: an unknown word, or weights that are not positive or do not sum to 1, or
        beside weights of the data.
    """
    if not isinstance(class_balance, str):
        return _given_weights(data, class_balance)
    one_of("class_balance", class_balance, CLASS_BALANCES)
    if class_balance == "uniform":
        return data.multiplicity / data.total_weight
    negative, positive = data.masses
    return data.multiplicity * np.where(data.y > 0, 0.5 / positive, 0.5 / negative)


def slack_prices(data: TrainingData | GramData, class_balance: ArrayLike | str) -> Array:
    """The weights c_i of slacks that may all be positive: rounded up where need be.

    1 / n is no double as a rule, and where n of them are below 1, nu = nu_max = 1 is beyond them:
    rho and all slacks would rise for ever. The user's own weights stay as they are.
    """
    found = loss_weights(data, class_balance)
    if not isinstance(class_balance, str):
        return found
    least = nu_max(data, class_balance) / 2
    everybody = np.ones(data.n, dtype=bool)
    for group, share in ((data.y > 0, least), (data.y < 0, least), (everybody, 1.0)):
        while math.fsum(found[group]) <= share and _exact_sum(found[group]) < share:
            found[group] = np.nextafter(found[group], np.inf)
    return found


def _exact_sum(numbers: Array) -> Fraction:
    values, counts = np.unique(numbers, return_counts=True)
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return sum((Fraction(value) * count for value, count in pairs), Fraction(0))


def _given_weights(data: TrainingData | GramData, given: ArrayLike) -> Array:
    if np.ndim(given) != 1:
        raise ValueError(
            f"class_balance must be {', '.join(CLASS_BALANCES)} or {data.n} weights; got {given!r}"
        )
    if data.weights is not None:
        raise ValueError(
            "class_balance: the points are weighted already; put both into one: class_balance = "
            "c * data.weights, divided by its sum, on data without weights"
        )
    weights = per_point("class_balance", given, data.n)
    total = float(weights.sum())
    if abs(total - 1) > 1e-9:
        raise ValueError(
            f"class_balance: the weights sum to {total:.9g}, not 1; divide them by their sum"
        )
    return weights


def nu_max(
    data: TrainingData | GramData, class_balance: ArrayLike | str, intercept: str = "free"
) -> float:
    """Largest nu with a solution: twice the smaller class weight when the intercept is free."""
    if intercept != "free":
        return 1.0
    if isinstance(class_balance, str) and class_balance == "uniform":
        return 2 * min(data.masses) / data.total_weight
    weights = loss_weights(data, class_balance)
    return 2 * min(float(weights[data.y > 0].sum()), float(weights[data.y < 0].sum()))


def checked_nu(
    data: TrainingData | GramData, nu: float, class_balance: ArrayLike | str, intercept: str
) -> float:
    """Return nu when it lies in (0, nu_max], or raise ValueError with the reason."""
    largest = "2 min(n_pos, n_neg) / n"
    own = not isinstance(class_balance, str) or class_balance != "uniform"
    if own or data.weights is not None:
        largest = "twice the smaller class weight"
    if intercept != "free":
        largest = "1, the sum of the weights"
    why = (
        f"nu_max = {largest} with {data.n_pos} positive and {data.n_neg} negative "
        "points; above it the primal is unbounded and the dual infeasible"
    )
    return fraction("nu", nu, upper=nu_max(data, class_balance, intercept), why=why)


# --- nu-SVC, primal and dual, in the range of nu where it is convex and not trivial --------------

NO_DIRECTION = 1e-4


def _check_primal(origin: Origin, values: Values) -> PaperCheck:
    """Slacks found anew for (w, b, rho); w = 0 in its place where that is better."""
    u, w, b = signed_scores(origin.data, values)
    nu, intercept = origin.parameters["nu"], origin.parameters["intercept"]
    weights = slack_prices(origin.data, origin.parameters["class_balance"])
    rho = max(0.0, float(values["rho"]))
    xi = np.maximum(0.0, rho - u)
    objective = norm_of(w, b, intercept) / 2 - nu * rho + float(weights @ xi)
    if objective >= 0 and _is_nothing(origin, norm_of(w, b, intercept)):
        repaired = complete_plane(origin, 0 * w, 0.0) | {"rho": np.array(0.0), "xi": 0 * xi}
        facts = {"degenerate": "w = 0: nu is at or below nu_min", "nu_property": NOT_ASKED}
        return PaperCheck(0.0, repaired=repaired, facts=facts)
    facts = margin_facts(u, rho, weights, nu, free=False)
    return PaperCheck(objective, repaired={"rho": np.array(rho), "xi": xi}, facts=facts)


def _is_nothing(origin: Origin, norm: float) -> bool:
    """Whether w is as near to 0 as solvers leave it; w = sum a_i y_i x_i with sum a_i = nu."""
    lengths = squared_lengths(origin.data.factor) + (origin.parameters["intercept"] != "none")
    largest = origin.parameters["nu"] * float(np.sqrt(lengths.max()))
    return norm <= (NO_DIRECTION * largest) ** 2


@two_class_formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, sec. 2.4; Perez-Cruz et al. 2003, (4)-(6), (25)",
    check=_check_primal,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def nu_svc(
    data: TrainingData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """nu-SVC: nu bounds the share of margin errors from above, of support vectors from below.

        min   1/2 ||w||^2 - nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0,  rho >= 0

    c_i = 1 / n, or 1 / (2 n_class) with class_balance="balanced" (Perez-Cruz (25)), or given
    numbers with sum 1; of weighted points c_i is in proportion to their weights. As doubles the c_i
    are rounded up where their sums would not reach nu_max. At or below nu_min the only solution is
    w = 0. Names here -> in the papers: n -> m.

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.rho = pyo.Var(within=pyo.NonNegativeReals)
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi)], lower=0.0)
    loss = dot(slack_prices(data, class_balance), m.xi)
    m.objective = pyo.Objective(expr=0.5 * squared_norm(m, intercept) - m.nu * m.rho + loss)
    return m


def _check_dual(origin: Origin, values: Values) -> PaperCheck:
    """Project alpha on the box, balance the classes, then fix the total by scaling or filling."""
    nu = origin.parameters["nu"]
    caps = slack_prices(origin.data, origin.parameters["class_balance"])
    alpha = in_masses(values["alpha"], origin.data.y, caps, nu, origin.parameters["intercept"])
    repaired, norm = complete_dual(origin, alpha)
    errors = errors_of(origin.data, *_dual_classifier(origin, repaired, {}))
    facts = {"errors": errors} | multiplier_facts(alpha, caps, nu)
    return PaperCheck(norm / 2, repaired=repaired, facts=facts)


def _dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    w, b, _norm = dual_norm(origin, values["alpha"])
    y, nu = origin.data.y, origin.parameters["nu"]
    weights = slack_prices(origin.data, origin.parameters["class_balance"])
    return with_intercept(origin, w, b, lambda scores: nu_margin(scores, y, weights, nu)[0])


@two_class_formulation(
    ProblemClass.QP,
    "Perez-Cruz et al. 2003, (16)-(19)",
    dual_of="nu_svc",
    check=_check_dual,
    classifier=_dual_classifier,
    keeps_sparse=True,
)
def nu_svc_dual(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of nu_svc, on points or on a kernel matrix.

        min   1/2 ||v||^2
        s.t.  weight[j]   v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= c_i
              balance     sum_i y_i alpha_i = 0
              total       sum_i alpha_i = nu

    f_i are the rows of a factor of the kernel matrix (the points for the linear kernel).

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=slack_prices(data, class_balance))
    norm = add_dual_weight(m, data, intercept)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == m.nu)
    m.objective = pyo.Objective(expr=0.5 * norm)
    return m


# --- Intercept b and margin level rho of the nu-SVC from multipliers, in the two ways there are

AT_AN_END = 1e-6  # of c_i: a multiplier nearer to 0 or c_i is there


@dataclass(frozen=True, eq=False, repr=False)
class NuLevels(Printed):
    """b and rho of multipliers; see `nu_levels`.

    averaged_b, averaged_rho: (21)-(22) of Perez-Cruz et al.
    sorted_b, sorted_rho: best for w, the middle where an interval is.
    averaged_of: points of each class in the average, s in the paper; 0 where a class has no
        multiplier strictly inside its box and one point stands for it.
    spread: largest distance of a score in the average from the mean of its class: 0 at a solution.
    b_interval, rho_interval (float, float): all b, and all rho, that are part of a best pair.
    """

    averaged_b: float
    averaged_rho: float
    sorted_b: float
    sorted_rho: float
    averaged_of: int
    spread: float
    b_interval: tuple[float, float]
    rho_interval: tuple[float, float]


def nu_levels(
    data: TrainingData | GramData, alpha: ArrayLike, *, class_balance: ArrayLike | str = "uniform"
) -> NuLevels:
    """B and rho that belong to multipliers of nu_svc_dual, averaged and sorted.

    Parameters
    ----------
    data : TrainingData or GramData
    alpha : array (n,)
        At least 0 and at most c_i, for a free intercept: both classes have the sum nu / 2.
    class_balance : "uniform", "balanced" or array (n,)
        As the model has it, which makes c_i.

    Raises
    ------
    ValueError
        Multipliers of another length, outside of their box by more than 1e-6 of it, or with other
        sums in the two classes.
    TypeError
        Other data, such as a pair (X, y).

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.3))
    >>> levels = tm.theory.nu_levels(data, found.values["alpha"])
    >>> abs(levels.averaged_b - levels.sorted_b) < 1e-5
    True
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"data must be TrainingData or GramData, got {type(data).__name__}")
    caps = loss_weights(data, class_balance)
    alpha = _checked(data, alpha, caps)
    nu = float(alpha.sum())
    scores = data.factor @ (data.factor.T @ (data.y * alpha))
    positive, negative = data.y > 0, data.y < 0
    b, rho = nu_margin(scores, data.y, caps, nu)
    above = flat_piece(scores[positive], caps[positive], nu / 2)  # rho - b
    below = flat_piece(-scores[negative], caps[negative], nu / 2)  # rho + b
    chosen, count = _averaged(scores, data.y, alpha, caps)
    means = [float(scores[each].mean()) for each in chosen]
    return NuLevels(
        averaged_b=-sum(means) / 2,
        averaged_rho=(means[0] - means[1]) / 2,
        sorted_b=b,
        sorted_rho=rho,
        averaged_of=count,
        spread=max(
            float(np.abs(scores[each] - mean).max())
            for each, mean in zip(chosen, means, strict=True)
        ),
        b_interval=((below[0] - above[1]) / 2, (below[1] - above[0]) / 2),
        rho_interval=((below[0] + above[0]) / 2, (below[1] + above[1]) / 2),
    )


def _checked(data: TrainingData | GramData, alpha: ArrayLike, caps: Array) -> Array:
    found = np.asarray(alpha, dtype=np.float64)
    if found.shape != (data.n,) or not np.isfinite(found).all():
        raise ValueError(f"alpha must be {data.n} finite numbers, got {found.shape} of them")
    outside = np.maximum(-found, found - caps) > AT_AN_END * caps
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise ValueError(f"alpha[{i}] = {found[i]:.6g} is outside of [0, {caps[i]:.6g}]")
    sums = [float(found[data.y == sign].sum()) for sign in (1.0, -1.0)]
    if min(sums) <= 0 or abs(sums[0] - sums[1]) > 1e-6 * max(sums):
        raise ValueError(
            f"alpha sums to {sums[0]:.6g} in the positive class and {sums[1]:.6g} in the negative "
            "one: they must be equal and positive"
        )
    return found


def _averaged(
    scores: Array, y: Array, alpha: Array, caps: Array
) -> tuple[tuple[Index, Index], int]:
    """Points of the average in either class, and how many they are (0: one that stands in)."""
    inside = np.minimum(alpha, caps - alpha) / caps
    strict = [np.flatnonzero((y == sign) & (inside > AT_AN_END)) for sign in (1.0, -1.0)]
    count = min(len(each) for each in strict)
    if count:
        # Those deepest inside of their boxes: their rows are equations most surely.
        best = [each[np.argsort(-inside[each], kind="stable")[:count]] for each in strict]
        return (best[0], best[1]), count
    found = []
    for sign, each in zip((1.0, -1.0), strict, strict=True):
        held = each if len(each) else np.flatnonzero((y == sign) & (alpha > AT_AN_END * caps))
        found.append(held[[int(np.argmax(sign * scores[held]))]])
    return (found[0], found[1]), 0
