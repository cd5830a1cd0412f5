"""The SDP relaxation of the 0-1 loss by its low-rank form, which needs no interior-point solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.closed_form_bound import CLOSED_FORM, strengthening_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_value
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.multipliers import larger, searched_bound
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.conic.path import conic_path
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.live_line import live_line
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, is_over, seconds_left
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import LowerBound
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import conic_multipliers
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import multipliers_by_name, named_values, point_with
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.proof_files.write import NotProvenError, optimum_document
from tightmargin.solvers.registry import (
    ClosingBounds,
    Finding,
    Method,
    Values,
    register_closing_bounds,
    register_method,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.result_proof import register_document

# --- The SDP relaxation of the 0-1 loss and its dual, both to many digits, by a barrier of our own
# In alpha, with gamma_i = alpha_i^2 / penalty_i, the penalty times the weight of the point, the
# dual is the largest value of a concave function
#     g = min over w~ of  w~'D w~ + sum_i 2 alpha_i v_i - gamma_i v_i^2  - B^2 beta
# of n or n + 1 numbers (D = diag(1, ..., 1, beta), see closed_form_bound.py). Newton's method
# follows the largest tau g + log det Q + sum log alpha_i + log beta, Q = D - sum gamma_i x~_i
# x~_i', as tau grows, from where the tangent of the path in 1 / tau leads; that takes half the
# steps of a start at the last point. At each of them W = w~ w~' + Q^-1 / tau is strictly inside
# the primal, and the two values are (k + n + 1) / tau apart. A conic solver ends with five digits
# where the bound on the intercept is far from the weights; here the intercept is counted in that
# bound.


FASTER = 4.0  # growth of tau
CLOSE = 2e-8  # gap at which the path ends, of the value
STEPS, ROUNDS = 60, 60
STILL, NEAR = 1e-10, 1e-2  # Newton decrements, squared
ROUGH = 1.0  # the same before the last points: nothing is read off there
ROUNDING = 1e-12
REFINEMENTS, LAST = 4, 3
ARMIJO, SHORTEST = 1e-4, 1e-12
INSIDE = 0.9  # of the way to where a number is 0


@dataclass(frozen=True, eq=False)
class CentralPoint:
    """A pair of points, one of each problem.

    Attributes
    ----------
    alpha, gamma : arrays (n,)
    weight : array (k,)
        w~.
    W : array (k, k)
    price : float
        beta of a bound on a free intercept; 0 without one.
    """

    alpha: Array
    gamma: Array
    weight: Array
    W: Array
    price: float = 0.0


@dataclass(frozen=True, eq=False)
class _State:
    """The barrier at a point, with what its derivatives are made of."""

    theta: Array
    value: float  # of g
    barrier: float
    inverse: Array  # of Q
    weight: Array
    v: Array


@dataclass(frozen=True, eq=False)
class _Newton:
    """A Hessian, factored once its diagonal is 1: that differs by many powers of ten."""

    factor: tuple[Array, bool]
    scale: Array

    def solved(self, right: Array) -> Array:
        """The Hessian's inverse times a vector."""
        return np.asarray(self.scale * cho_solve(self.factor, right * self.scale))


def central_point(
    points: Array, y: Array, penalty: ArrayLike, bound_on_b: float | None = None
) -> CentralPoint | None:
    """Nearly optimal points of both problems; None where the numbers do not allow for one.

    Parameters
    ----------
    points : array (n, k)
        With their constant entry last, if there is one.
    penalty : number or array (n,)
        That of each point.
    bound_on_b : float, optional
        B when the intercept is free.
    """
    n, k = points.shape
    size = float(np.linalg.norm(points if bound_on_b is None else points[:, :-1], axis=1).max())
    if not (size > 0 and n and (bound_on_b is None or bound_on_b > 0)):
        return None
    units = np.full(k, 1 / size)
    if bound_on_b is not None:
        units[-1] = bound_on_b
    signed = y[:, None] * points * units
    prices = np.broadcast_to(np.asarray(penalty, dtype=float), n)
    cost = prices * size**2
    path = _Path(signed, cost, free=bound_on_b is not None)
    with np.errstate(all="ignore"):
        ends = path.followed()
        lifts = [each for state, tau in ends for each in path.lifts(state, tau)]
    if not lifts:
        return None
    # Rounding decides between them: what Q is at these numbers, and what it is in more digits.
    weight, W = min(lifts, key=path.objective)
    alpha = ends[-1][0].theta[:n] / size**2
    price = float(ends[-1][0].theta[-1] / (size * units[-1]) ** 2) if path.free else 0.0
    W = units[:, None] * W * units
    return CentralPoint(alpha, alpha**2 / prices, units * weight, W, price)


class _Path:
    """The barrier of one problem in numbers near 1; its theta is alpha, and beta at the end."""

    def __init__(self, signed: Array, cost: Array, *, free: bool) -> None:
        self.signed, self.cost, self.free = signed, cost, free
        self.n, self.k = signed.shape
        last = np.zeros((1, self.k))
        last[0, -1] = 1.0
        self.rows = np.vstack([signed, last]) if free else signed

    def followed(self) -> list[tuple[_State, float]]:
        """The last points of the path with their tau; none where it has no start."""
        largest = max(1.0, float((self.signed**2).sum(axis=1).max()))
        start = np.minimum(self.cost, np.sqrt(self.cost / (4 * self.n * largest)))
        theta = np.append(start, 1.0 + largest) if self.free else start
        tau = self.n / float(self.cost.sum())  # no value is above the sum of the costs
        state = self.at(theta, tau)
        found: list[tuple[_State, float]] = []
        if state is None:
            return found
        with live_line("central path") as line:
            for _ in range(ROUNDS):
                last = self.gap(tau, state) <= CLOSE * FASTER**LAST
                centred = self.centred(state, tau, STILL if last else ROUGH)
                if centred is None:
                    break
                state, newton = centred
                found.append((state, tau))
                if self.gap(tau, state) <= CLOSE:
                    break
                tau *= FASTER
                state = self.predicted(state, newton, tau)
                if line.is_due:
                    line.show(more=f"{len(found)} centres")
        return found[-LAST:]

    def gap(self, tau: float, state: _State) -> float:
        """Between the two values of a point of the path, of one of them."""
        return (len(self.rows) + self.k) / (tau * abs(state.value)) if state.value else np.inf

    def at(self, theta: Array, tau: float) -> _State | None:
        """The barrier; None outside its domain."""
        if not (theta > 0).all():
            return None
        alpha = theta[: self.n]
        gamma = alpha**2 / self.cost
        Q = -(self.signed.T @ (gamma[:, None] * self.signed))
        Q[np.diag_indices(self.k)] += self.diagonal(theta)
        try:
            L = np.linalg.cholesky(Q)
        except LinAlgError:
            return None
        inverse = np.linalg.inv(L)
        inverse = inverse.T @ inverse
        c = self.signed.T @ (alpha - gamma)
        weight = inverse @ c
        held = alpha - gamma * (1 - self.signed @ weight)
        weight = weight - inverse @ (self.diagonal(theta) * weight - self.signed.T @ held)
        v = 1 - self.signed @ weight
        value = float((2 * alpha - gamma).sum() - c @ weight) - (theta[-1] if self.free else 0.0)
        barrier = -2 * float(np.log(np.diag(L)).sum()) - float(np.log(theta).sum())
        return _State(theta, value, barrier - tau * value, inverse, weight, v)

    def lifts(self, state: _State, tau: float) -> list[tuple[Array, Array]]:
        """w~ and W of a point of the path, as computed and with a few digits more."""
        found = []
        for weight, inverse in ((state.weight, state.inverse), self.refined(state)):
            W = np.outer(weight, weight) + inverse / tau
            ratio = np.ones(self.k)
            if self.free:
                # Onto the bound: beyond it by a rounding it would be no point.
                ratio[-1] = np.sqrt((1 - ROUNDING) / W[-1, -1])
            found.append((ratio * weight, ratio[:, None] * W * ratio))
        return [lift for lift in found if np.isfinite(lift[1]).all()]

    def objective(self, lift: tuple[Array, Array]) -> float:
        """Of the primal."""
        weight, W = lift
        v = 1 - self.signed @ weight
        T = np.einsum("ij,jk,ik->i", self.signed, W, self.signed) + 2 * v - 1
        counted = np.diag(W)[: self.k - self.free].sum()
        inside = v > 0
        if not (T[inside] > 0).all():
            return np.inf
        return float(counted + (self.cost[inside] * v[inside] ** 2 / T[inside]).sum())

    def refined(self, state: _State) -> tuple[Array, Array]:
        """Weight and inverse of Q, which is nearly singular at the end."""
        wide = np.longdouble
        signed, alpha = self.signed.astype(wide), state.theta[: self.n].astype(wide)
        gamma = alpha**2 / self.cost.astype(wide)
        Q = np.diag(self.diagonal(state.theta)) - signed.T @ (gamma[:, None] * signed)
        inverse = state.inverse.astype(wide)
        for _ in range(REFINEMENTS):
            inverse = inverse @ (2 * np.eye(self.k) - Q @ inverse)
        weight = inverse @ (signed.T @ (alpha - gamma))
        return weight.astype(np.float64), (inverse + inverse.T).astype(np.float64) / 2

    def diagonal(self, theta: Array) -> Array:
        """D: the price of a free intercept last."""
        D = np.ones(self.k)
        if self.free:
            D[-1] = theta[-1]
        return D

    def predicted(self, state: _State, newton: _Newton, tau: float) -> _State:
        """Where the tangent of the path leads from a point of it to a larger tau, if inside.

        In 1 / tau: what is 0 at the end falls like that.
        """
        last = tau / FASTER
        step = newton.solved(last * self.slope(state)) * (1 - last / tau)
        falls = step < 0
        length = min(1.0, INSIDE * float((-state.theta[falls] / step[falls]).min(initial=np.inf)))
        return self.at(state.theta + length * step, tau) or state

    def centred(self, state: _State, tau: float, still: float) -> tuple[_State, _Newton] | None:
        """Newton's method for one tau, and its last equations; None where it gets nowhere."""
        found, last = self.at(state.theta, tau), np.inf
        for _ in range(STEPS):
            if found is None:
                return None
            gradient, hessian = self.derivatives(found, tau)
            scale = 1 / np.sqrt(np.diag(hessian))
            try:
                factor = cho_factor(hessian * scale[:, None] * scale)
            except (LinAlgError, ValueError):
                return None
            newton = _Newton(factor, scale)
            step = -newton.solved(gradient)
            decrement = -float(gradient @ step)
            if decrement <= still or (decrement <= NEAR and decrement > last / 2):
                return found, newton
            last = decrement
            length = 1.0
            while length > SHORTEST:
                tried = self.at(found.theta + length * step, tau)
                # Where Newton's method converges by itself, a barrier of 1e9 is too coarse a judge.
                wanted = found.barrier - ARMIJO * length * decrement
                if tried is not None and (decrement <= NEAR or tried.barrier <= wanted):
                    break
                length /= 2
            else:
                return None
            found = tried
        return None if found is None else (found, newton)

    def slope(self, state: _State) -> Array:
        """Gradient of g."""
        v = state.v
        of_g = 2 * v - 2 * state.theta[: self.n] / self.cost * v**2
        return np.append(of_g, state.weight[-1] ** 2 - 1) if self.free else of_g

    def derivatives(self, state: _State, tau: float) -> tuple[Array, Array]:
        """Gradient and Hessian of the barrier."""
        n, theta, v = self.n, state.theta, state.v
        alpha = theta[:n]
        first, second = 2 * alpha / self.cost, 2 / self.cost  # of gamma in alpha
        products = self.rows @ state.inverse @ self.rows.T
        h = np.diag(products)[:n]
        of_Q = -first
        mixed = -(2 - 2 * first * v)
        bend = second * (tau * v**2 + h)
        if self.free:
            of_Q = np.append(of_Q, 1.0)
            mixed = np.append(mixed, 2 * state.weight[-1])
            bend = np.append(bend, 0.0)
        gradient = -tau * self.slope(state) - of_Q * np.diag(products) - 1 / theta
        hessian = np.outer(tau / 2 * mixed, mixed)
        hessian += products * np.outer(of_Q, of_Q)
        hessian *= products
        hessian[np.diag_indices(len(theta))] += bend + 1 / theta**2
        return gradient, hessian


# --- Bounds and points of the SDP relaxation and of its dual, asked for where a gap is left open


PRIMAL, DUAL = "conic_sdp", "conic_sdp_dual"
CLOSED_ENTRIES = (PRIMAL, "conic_sdp_literal", "conic_sdp_eliminated", DUAL)
POINT_LIMIT = 400  # a second; the path solves systems of this order a hundred times
STRENGTHENED = "conic_sdp_strengthened"
# Where a cutoff leaves hardly any inside, an interior-point method that goes less far towards the
# boundary at every step ends with a digit more.
SHORTER_STEPS = (0.9, 0.7)
CLOSEST = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
COLUMN_LIMIT = 5_000
BY_A_POINT = "weak duality with a feasible point of conic_sdp"


def has_central_path(origin: Origin) -> bool:
    """Whether a model is one of the pair, of a size that takes no longer than a second."""
    return origin.entry in CLOSED_ENTRIES and origin.data.n <= POINT_LIMIT


def sdp_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Lower bound from the other problem of the pair, at the end of the central path."""
    found = end_of_path(origin)
    if found is None:
        return None
    return _by_primal(origin, found) if origin.entry == DUAL else _by_dual(origin, found)


def sdp_point(origin: Origin) -> Values | None:
    """Values of a model at the end of the central path; its check gives the others."""
    found = end_of_path(origin)
    if found is None:
        return None
    if origin.entry == DUAL:
        # The check takes the rest from these two.
        others = {"tau": np.zeros(()), "beta": np.zeros(())}
        return {"alpha": found.alpha, "gamma": found.gamma, **others}
    return _primal_values(origin, found)


def end_of_path(origin: Origin) -> CentralPoint | None:
    """Nearly optimal points of a model of the pair and of its dual."""
    p = origin.parameters
    points = augmented(origin.data, p["intercept"])
    prices = origin.data.prices(p["penalty"])
    return central_point(points, origin.data.y, prices, _limit(origin))


def _limit(origin: Origin) -> float | None:
    p = origin.parameters
    return intercept_bound_value(origin.data, p["penalty"], p["intercept"], p["intercept_bound"])


def _primal_values(origin: Origin, found: CentralPoint) -> Values:
    d = origin.data.d
    values = {"w": found.weight[:d], "W": found.W}
    return values | ({"b": found.weight[d]} if len(found.weight) > d else {})


def _by_dual(origin: Origin, found: CentralPoint) -> Lemma | None:
    p = origin.parameters
    prices = origin.data.prices(p["penalty"])
    proof = strengthening_bound(
        augmented(origin.data, p["intercept"]),
        origin.data.y,
        found.gamma,
        found.alpha,
        penalty=prices,
        bound_on_b=_limit(origin),
    )
    if proof is None:
        return None
    return Lemma(proof.value, CLOSED_FORM, proof.hypotheses(prices))


def _by_primal(origin: Origin, found: CentralPoint) -> Lemma | None:
    """Minus the objective of an exactly feasible point of conic_sdp with the same numbers.

    Both models are made of the same doubles x~_i x~_i' and B^2, so that it holds in exact
    arithmetic: gamma T + penalty z >= 2 alpha p for every point, and the rest is sdp_dual.py.
    """
    entry = CATALOGUE[PRIMAL]
    model = entry.build(origin.data, **origin.parameters)
    form = standard_form(model)
    x = point_with(model, form, np.zeros(form.n), _primal_values(origin, found))
    assert entry.check is not None
    repaired = entry.check(model.origin, named_values(model, form, x)).repaired
    x = point_with(model, form, x, repaired)
    point = exact_point(form, classify(form), x, Limits())
    if point is None:
        return None
    hypotheses = {
        "the point meets every row of conic_sdp in exact arithmetic": point.exact,
        "its data, penalty and bound on the intercept are those of the dual": (
            model.origin.data is origin.data
            and all(origin.parameters.get(k) == v for k, v in model.origin.parameters.items())
        ),
    }
    return Lemma(-point.value(form.objective.exact_constant), BY_A_POINT, hypotheses)


def strengthened_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Lower bound on the strengthened SDP from multipliers that are reached in shorter steps."""
    model = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    form = standard_form(model)
    if form.n > COLUMN_LIMIT or not SOLVERS["clarabel"].installed:
        return None
    case = Case(model, Subject(form), origin)
    best: LowerBound | None = None
    for share in SHORTER_STEPS:
        if is_over():
            break
        options = {**CLOSEST, "max_step_fraction": share}
        limits = Limits(time_limit=seconds_left(), options=options)
        claim = clarabel.run_scaled(form, case.classification, limits, case.factors)
        if claim.x is None or claim.duals is None or not np.isfinite(claim.x).all():
            continue
        z = conic_multipliers(case.conic, claim.duals)
        if np.isfinite(z).all():
            found, _ = searched_bound(case, claim.x, z, form.objective.varying(claim.x))
            best = larger(best, found)
    if best is None:
        return None
    return Lemma(best.value(case.constant), best.words, {"it is one of the same model": True})


# --- The proof of the SDP relaxation as a file, from the multipliers at the end of the central
#     path
# Where a conic solver's multipliers leave a gap, as at several hundred points, those that belong
# to alpha and gamma of the dual prove the bound (sdp_dual.py, with Q and c as above):
#     lifted  gamma_i                    inside  ((penalty + gamma_i) / 2, (penalty - gamma_i) / 2,
#     hinge   2 alpha_i                           -alpha_i), p_i^2 <= T_i z_i as a cone,
#                                               with the penalty of the point's weight
#     outer   [[Q, -c], [-c', c'Q^-1 c]]         and the row of a bound on the intercept -beta


WRITTEN_ENTRIES = ("conic_sdp", "conic_sdp_eliminated")
# The semidefinite multiplier is brought inside its cone by this share of its corner.
INSIDE_WRITTEN = 1e-10


def sdp_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The document of a result of conic_sdp or conic_sdp_eliminated as they are built.

    Raises
    ------
    NotProvenError
        The model has too many points for the central path, or the path has no end there.
    """
    origin = case.origin
    assert origin is not None
    if origin.data.n > POINT_LIMIT:
        raise NotProvenError(f"the gap is not closed, and {POINT_LIMIT} points are the most here")
    found = end_of_path(origin)
    if found is None:
        raise NotProvenError("the gap is not closed, and the central path has no end")
    duals = multipliers_by_name(_duals(origin, found), case.form, case.classification)
    x = point_with(case.model, case.form, np.zeros(case.form.n), result.values)
    gap = case.limits.absolute_gap
    return optimum_document(case.form, case.classification, x, duals, absolute_gap=gap)


def _duals(origin: Origin, found: CentralPoint) -> dict[str, Array]:
    p = origin.parameters
    prices, alpha, gamma = origin.data.prices(p["penalty"]), found.alpha, found.gamma
    points = augmented(origin.data, p["intercept"])
    free = p["intercept"] == "free"
    D = np.ones(points.shape[1])
    if free:
        D[-1] = found.price
    Q = np.diag(D) - points.T @ (gamma[:, None] * points)
    c = points.T @ ((alpha - gamma) * origin.data.y)
    corner = float(c @ np.linalg.solve(Q, c)) * (1 + INSIDE_WRITTEN)
    outer = np.block([[Q, -c[:, None]], [-c[None, :], np.array([[corner]])]])
    quotients = origin.entry == "conic_sdp_eliminated"
    half = (prices - gamma) / 2
    cone = np.column_stack([(prices + gamma) / 2, -half if quotients else half, -alpha])
    duals = {"lifted": gamma, "hinge": 2 * alpha, "outer": outer}
    duals["quotients.cone" if quotients else "inside"] = cone
    return duals | ({"intercept_row": np.array(-found.price)} if free else {})


ENTRY = "conic_sdp"
LOW_RANK = "low-rank"
# Points times entries of W: from here on an interior-point solver takes a second and more, and the
# low-rank form 3 to 20 times less.
LARGE = 20_000


def _by_low_rank(origin: Origin, limits: Limits) -> Finding:
    words = origin.parameters
    path = conic_path(
        origin.data,
        penalties=[words["penalty"]],
        intercept=words["intercept"],
        time_limit=limits.time_limit,
    )
    (row,) = path.rows
    certified = row.verdict is Verdict.CERTIFIED
    return Finding(
        {"w": row.w, "b": np.asarray(row.b), "W": row.W},
        Status.OPTIMAL if certified else Status.FEASIBLE,
        row.method,
        bound=row.lemma,
        facts={
            "no_duals": "no multipliers: the low-rank form has none of the model's rows",
            "strengthening": row.strengthening,
        },
        message=row.stop,
    )


def _refuses(origin: Origin) -> str:
    if origin.parameters["intercept"] == "free":
        return "it takes the intercept penalised or none"
    if origin.parameters.get("intercept_bound") is not None:
        return "it takes no bound on the intercept"
    return ""


def _chosen(origin: Origin) -> str:
    k = origin.data.d + (origin.parameters["intercept"] == "penalised")
    if origin.data.n * k * (k + 1) // 2 < LARGE:
        return ""
    return "at this size the low-rank form is 3 to 20 times faster than an interior-point solver"


register_method(
    Method(
        LOW_RANK,
        (ENTRY,),
        _by_low_rank,
        "the low-rank form of the SDP, bounded by the closed form of its strengthening",
        refuses=_refuses,
        automatic=_chosen,
    )
)
register_document(WRITTEN_ENTRIES, sdp_document)
register_closing_bounds(
    ClosingBounds(has_central_path, sdp_bound, point=sdp_point, early=True, weighted=True)
)
register_closing_bounds(
    ClosingBounds(lambda origin: origin.entry == STRENGTHENED, strengthened_bound, weighted=True)
)
