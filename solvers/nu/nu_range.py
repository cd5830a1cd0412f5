"""Ranges of hyperparameters that take a solve to know, reported before the main solve.

The range of the rigorous SVM's norm bound, (0, H_lim], is rigorous_svm/norm_limit.py's:
to find H_lim takes about as long as to solve the model, and solutions above it are right, so
nothing asks for it beforehand. What a solution says about itself is enough: gamma = 0 in the facts
of the duals, no norm_active in those of the primal.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse.linalg import LinearOperator, lsqr

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.common.hyperplane import add_hyperplane, augmented, signed_score
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import (
    Points,
    is_sparse,
    largest_in_columns,
    scaled_columns,
    scaled_rows,
    squared_lengths,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.nu_svc import loss_weights, nu_max
from tightmargin.formulations.nu.polytope import proven_slope
from tightmargin.formulations.nu.reduced_hull import reduced_hulls
from tightmargin.printing import Printed
from tightmargin.solvers.engines import highs
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel.exact_bounds import exact_lp_bound
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.model.residuals import TINY
from tightmargin.solvers.registry import register_remark

# --- A hyperplane of small mean hinge loss within milliseconds: nu_min is not above its loss -----
# max(0, u) = (u + |u|) / 2 is below (u + delta)^2 / (4 delta) with equality at |u| = delta, so
# that weighted least squares, again and again, lower the loss (Hunter & Lange, A tutorial on MM
# algorithms, The American Statistician 58, 2004).


ROUNDS = 20
WIDEST = 300  # columns: the equations of more take longer than they save
NEAREST = 1e-3  # least delta
STEPS = 50  # of conjugate directions, where the points are sparse
RIDGE = 1e-9  # of the trace


def small_loss(
    data: TrainingData | GramData, weights: Array, intercept: str, enough: float
) -> float:
    """Weighted mean hinge loss of some hyperplane; the first that is below `enough`."""
    points = scaled_rows(data.y, augmented(data, intercept))
    found, delta = float(weights.sum()), np.ones(data.n)
    sparse = is_sparse(points)
    if not sparse and points.shape[1] > WIDEST:
        return found
    units = np.maximum(largest_in_columns(points), 1e-300)  # any unit will do
    points = scaled_columns(points, 1 / units)
    least_squares = _by_steps if sparse else _by_equations
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(ROUNDS):
            try:
                w = least_squares(points, weights / delta, 1 + delta)
            except LinAlgError:
                return found
            short = 1 - points @ w
            loss = float(weights @ np.maximum(short, 0.0))
            if not loss < found:
                return found
            found = loss
            if found < enough:
                return found
            delta = np.maximum(np.abs(short), NEAREST)
    return found


def _by_equations(points: Array, weights: Array, sides: Array) -> Array:
    """The w of least sum of c_i (<w, x_i> - s_i)^2."""
    scaled = points.T * weights
    matrix = scaled @ points
    matrix += RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(matrix, scaled @ sides), dtype=np.float64)


def _by_steps(points: Points, weights: Array, sides: Array) -> Array:
    """The same from products alone; wherever the steps end, w is some hyperplane."""
    roots = np.sqrt(weights)
    damping = RIDGE * float(weights @ squared_lengths(points)) / points.shape[1]
    rows = LinearOperator(
        points.shape,
        matvec=lambda w: roots * (points @ w),
        rmatvec=lambda u: points.T @ (roots * u),
        dtype=np.float64,
    )
    found: Array = lsqr(rows, roots * sides, damp=math.sqrt(damping), iter_lim=STEPS)[0]
    return found


# --- Columns of a linear program on one scale, and what HiGHS would drop of them left out --------
# A neighbour of the program is good enough to find a point and multipliers, as long as both are
# then judged by the program itself.


ORDINARY = 2.0**-20, 2.0**20  # largest entries of columns that are left as they are


def powers_of_two(largest: Array) -> Array:
    """Numbers 2^k that bring these into [1/2, 1); 1 for 0."""
    power = np.where(largest > 0, -np.frexp(largest)[1], 0)
    return np.ldexp(1.0, np.clip(power, -1000, 1000))


def even_columns(form: StandardForm) -> tuple[StandardForm, Array]:
    """The same linear program with the free columns that cost nothing on one scale.

    With x_j = s_j x'_j, s_j a power of two, the rows A x become (A S) x' in exact arithmetic, so
    that both programs have the same activities of the rows, the same multipliers and optimum.

    Returns: the program in x'; the given one where no coefficient is tiny and all those columns
        have an ordinary scale, or where a product A_ij s_j is not exact.
    Returns: s.
    """
    A = form.columnwise
    size, owner = np.abs(A.data), np.repeat(np.arange(form.n), np.diff(A.indptr))
    largest = np.zeros(form.n)
    np.maximum.at(largest, owner, size)
    free = ~np.isfinite(form.lower) & ~np.isfinite(form.upper) & (form.objective.a == 0)
    low, high = ORDINARY
    odd = free & (largest > 0) & ((largest < low) | (largest > high))
    scale = powers_of_two(np.where(free, largest, 0.0))
    scaled = A.copy()
    scaled.data = A.data * scale[owner]
    exact = np.array_equal(scaled.data / scale[owner], A.data)
    if not exact or not (odd.any() or (size <= TINY).any()):
        return form, np.ones(form.n)
    return replace(form, matrix=scaled), scale


def without_tiny(form: StandardForm) -> StandardForm:
    """A neighbour of the program: coefficients that HiGHS would drop are 0."""
    A = form.columnwise
    tiny = np.abs(A.data) <= TINY
    if not tiny.any():
        return form
    kept = A.copy()
    kept.data[tiny] = 0.0
    kept.eliminate_zeros()
    return replace(form, matrix=kept)


CLEARLY = 1e-6  # relative: more than rounding makes of a mean loss
AT = 1e-8  # relative: the linear program behind nu_bar knows it no better


@dataclass(frozen=True, repr=False)
class NuRange(Printed):
    """Where nu-SVC and the extended nu-SVC change their nature.

    nu_min: up to it w = 0 solves nu-SVC; also nu_bar, above which the extended nu-SVC is convex and
        its optimum negative: both are the least weighted mean hinge loss.
    nu_max: above it there is no solution.
    constant_until: on (0, constant_until] the optimal CVaR does not change: the tail is one point a
        class.
    positive_at_end: whether the optimum of the extended nu-SVC is still positive at nu_max =
        nu_bar: it is never 0 then, because no line has a smaller mean hinge loss than a constant
        classifier.
    """

    nu_min: float
    nu_max: float
    constant_until: float = 0.0
    positive_at_end: bool = False

    @property
    def nu_bar(self) -> float:
        """Where the optimum of the extended nu-SVC is 0, or nu_max if it is positive there."""
        return self.nu_min

    def side(self, nu: float) -> int:
        """-1 where the optimum is positive (not convex), 0 where it is 0, 1 above (convex)."""
        if self._at_bar(nu):
            return -1 if self.positive_at_end else 0
        return 1 if nu > self.nu_bar else -1

    def _at_bar(self, nu: float) -> bool:
        return abs(nu - self.nu_bar) <= AT * self.nu_bar

    def place(self, nu: float) -> str:
        """Say where nu lies when it is outside; an empty string inside.

        Raises ValueError: above nu_max, where there is no solution.
        """
        ends = f"nu_min = {self.nu_min:.6g}, nu_max = {self.nu_max:.6g}"
        if nu > self.nu_max * (1 + 1e-12):
            raise ValueError(
                f"nu = {nu:g} is above the range ({ends}): the primal is unbounded and the dual "
                "infeasible"
            )
        if nu <= self.nu_min * (1 + 1e-9):
            return (
                f"nu = {nu:g} is at or below the range ({ends}): the only solution is w = 0; "
                "smaller nu need the extended nu-SVC"
            )
        return ""

    def place_extended(self, entry: str, nu: float) -> str:
        """Say which branch of the extended nu-SVC applies to a catalogue entry.

        Raises ValueError: the entry states nothing on this side of nu_bar: extended_nu_svc_reverse
            and the linear programs above it, extended_nu_svc_polar at it or above.
        """
        side = self.side(nu)
        ends = f"nu_bar = {self.nu_bar:.6g}, nu_max = {self.nu_max:.6g}"
        name = "nu = 1 - beta" if entry == CVAR else "nu"
        place = "at" if self._at_bar(nu) else ("below", "at", "above")[side + 1]
        where = f"{name} = {nu:g} is {place} nu_bar ({ends})"
        first, why = _REFUSED.get(entry, (2, ""))
        if side >= first:
            separable = " (the classes are separable)" if self.nu_bar == 0 else ""
            raise ValueError(
                f"{where}{separable}, and {entry} is {why} there: take extended_nu_svc_ball, "
                "which is convex and has the optimum of extended_nu_svc"
            )
        if entry == DUAL:
            if side > 0:
                return f"{where}: minus the optimum is that of extended_nu_svc"
            return f"{where}: the optimum is 0 at v = 0, and says nothing of extended_nu_svc"
        if side == 0:
            return f"{where}: the optimum is 0"
        if side > 0:
            same = f"{nu:g} times this" if entry == CVAR else "the same"
            other = "" if entry == BALL else f"; extended_nu_svc_ball has {same} optimum"
            return f"{where}: the problem is convex and its optimum negative{other}"
        if entry == BALL:
            return (
                f"{where}: the ball has the optimum 0 at w = 0; extended_nu_svc has a positive one"
            )
        constant = ""
        if nu <= self.constant_until * (1 + 1e-12):
            constant = f"; the CVaR is the same for all nu up to {self.constant_until:.6g}"
        return f"{where}: the problem is not convex and its optimum positive{constant}"


BALL, POLAR = "extended_nu_svc_ball", "extended_nu_svc_polar"
DUAL = "extended_nu_svc_dual"
REVERSE, CVAR = "extended_nu_svc_reverse", "min_cvar"
LINEAR = ("extended_nu_svc_linearised", "extended_nu_svc_linearised_dual")
EXTENDED = ("extended_nu_svc", BALL, DUAL, POLAR, REVERSE, *LINEAR, CVAR)
_NO_SEARCH = "unbounded for most w_ref, the search it belongs to failing,"
# First side of nu_bar that is refused, and why.
_REFUSED = {
    POLAR: (0, "unbounded"),
    REVERSE: (1, "unbounded"),
    LINEAR[0]: (1, _NO_SEARCH),
    LINEAR[1]: (1, _NO_SEARCH.replace("unbounded", "infeasible")),
}

# nu_bar by data, weights and intercept: a sweep over nu asks for it at every solve.
_KNOWN: dict[tuple[str, str, str], float] = {}


def nu_range(
    data: TrainingData | GramData,
    *,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> NuRange:
    """Both ends of the range of nu, and the zone where the CVaR is constant.

    nu_min = max{ sum l_i : 0 <= l_i <= c_i, sum l_i y_i x_i = 0, sum l_i y_i = 0 }, which is the
    least weighted mean hinge loss over all (w, b); the last equation belongs to an intercept.
    nu_max and the constant zone (0, 2 min c_i], or (0, min c_i] without a free intercept, are
    closed form.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels.
    class_balance : "uniform", "balanced" or array (n,)
        Weights c_i of the losses.
    intercept : "free", "penalised" or "none"
        As for nu_svc.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.theory.nu_range(data)
    >>> 0 < found.nu_min < found.nu_max <= 1
    True
    """
    weights = loss_weights(data, class_balance)
    key = (data.sha256, hashlib.sha256(weights.tobytes()).hexdigest(), intercept)
    if key not in _KNOWN:
        _KNOWN[key] = _nu_bar(data, weights, intercept)
    highest = nu_max(data, class_balance, intercept)
    constant = min(highest, float(weights.min()) * (2 if intercept == "free" else 1))
    positive = _KNOWN[key] >= highest * (1 - AT) and _is_inside(
        data, highest, class_balance, intercept
    )
    return NuRange(_KNOWN[key], highest, constant, positive)


def _is_inside(
    data: TrainingData | GramData, nu: float, class_balance: ArrayLike | str, intercept: str
) -> bool:
    """Whether 0 is inside the reduced-hull difference: then the extended optimum is positive."""
    if isinstance(data, GramData) or not data.fits_dense:
        return False  # the extended family reads dense points
    data = data.dense_for("nu_range")
    hulls = reduced_hulls(data, nu=nu, class_balance=class_balance, intercept=intercept)
    slope = proven_slope(hulls, np.ones(hulls.k))
    return slope is not None and slope > 0


def _nu_bar(data: TrainingData | GramData, weights: ArrayLike, intercept: str) -> float:
    equations = scaled_rows(data.y, augmented(data, intercept))
    largest = largest_in_columns(equations)
    if (largest[largest > 0] < ORDINARY[0]).any() or (largest > ORDINARY[1]).any():
        # 0 on the right: the same equations
        equations = scaled_columns(equations, powers_of_two(largest))
    caps = np.asarray(weights, dtype=np.float64)
    answer = _most(np.ones(data.n), equations, caps)
    if answer.status != 0:  # 0 is feasible: the caps are too far apart, and are units from now on
        scaled = scaled_rows(caps, equations)
        largest = largest_in_columns(scaled)
        answer = _most(caps, scaled_columns(scaled, powers_of_two(largest)), np.ones(data.n))
    if answer.status != 0:
        raise RuntimeError(f"the linear program for nu_min ended with: {answer.message}")
    return max(0.0, -float(answer.fun))


def _most(prices: Array, equations: Array, caps: Array) -> Any:
    """Largest sum of prices_i l_i over 0 <= l_i <= caps_i with sum_i l_i equations_i = 0."""
    return linprog(
        -prices,
        A_eq=sp.csr_matrix(equations.T),
        b_eq=np.zeros(equations.shape[1]),
        bounds=np.column_stack([np.zeros(len(caps)), caps]),
        method="highs",
    )


def nu_bar_bounds(
    data: TrainingData | GramData,
    *,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> tuple[float, float]:
    """Proven bounds on nu_bar: (lower, upper).

    The upper one is the mean hinge loss of a hyperplane, the lower one an exact rational bound
    from multipliers of the linear program that finds it; where they cannot be repaired it is 0,
    as every such loss is at least that. Both hold for any hyperplane and any multipliers, so that
    coefficients HiGHS would drop are left out of what it solves, and counted in both bounds.
    """
    weights = loss_weights(data, class_balance)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.xi = ArrayVar(m.I, lower=0.0)
    m.hinge = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=dot(weights, m.xi))
    form = standard_form(m)
    even, scale = even_columns(form)
    claim = highs.run(without_tiny(even), classify(form), Limits())
    if claim.x is None or claim.duals is None:
        raise RuntimeError(f"the linear program for nu_bar ended with: {claim.message}")
    found = named_values(m, form, scale * claim.x)
    scores = data.factor @ found["w"] + float(found.get("b", 0.0))
    upper = float(weights @ np.maximum(0.0, 1 - data.y * scores))
    proven = exact_lp_bound(Subject(even), claim.duals.rows)
    return 0.0 if proven is None else max(0.0, proven.varying), upper


def is_clearly_inside(
    data: TrainingData | GramData, nu: float, class_balance: ArrayLike | str, intercept: str
) -> bool:
    """Whether a hyperplane that is quickly found shows that nu is above nu_min."""
    if nu > nu_max(data, class_balance, intercept):
        return False
    enough = nu * (1 - CLEARLY)
    weights = loss_weights(data, class_balance)
    return small_loss(data, weights, intercept, enough) < enough


def remark(origin: Origin) -> str:
    """What solve() should say about the hyperparameters of a model before solving it.

    Raises ValueError: an entry of the extended nu family on the side of nu_bar where it states
        nothing.
    """
    parameters = origin.parameters
    words = {word: parameters[word] for word in ("class_balance", "intercept")}
    if origin.entry not in EXTENDED and is_clearly_inside(origin.data, parameters["nu"], **words):
        return ""
    found = nu_range(origin.data, **words)
    if origin.entry in EXTENDED:
        nu = parameters["nu"] if "nu" in parameters else 1 - parameters["beta"]
        return found.place_extended(origin.entry, nu)
    return found.place(parameters["nu"])


# --- What is known of nu before a model is solved ------------------------------------------------


register_remark(("nu_svc", "nu_svc_dual", *EXTENDED), remark)
