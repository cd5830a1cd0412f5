"""Points that are feasible in exact arithmetic, and points that are proven to be nearly so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_up, shortened_up
from tightmargin.solvers.proofs.excess import (
    Point,
    bound_excess,
    exact_dot,
    is_whole,
    linear_excess,
    point_of,
    quadratic_excess,
    semidefinite_excess,
)
from tightmargin.solvers.proofs.statement import SEAL, FeasiblePoint
from tightmargin.solvers.standard_form.exponential_terms import exponential_form
from tightmargin.solvers.standard_form.quadratic import lost_at
from tightmargin.solvers.standard_form.standard_form import StandardForm

# The objective is taken in rational numbers where it has few terms, or where rounding is more of it
# than this and they are no more than so many.
NEGLIGIBLE = 1e-12
FEW_TERMS, MANY_TERMS = 200, 100_000
NONE: Mapping[int, Fraction] = MappingProxyType({})


def proven_point(
    form: StandardForm, x: Array, exact: Mapping[int, Fraction] = NONE
) -> FeasiblePoint | None:
    """The statement that a point is feasible, without any tolerance; None where it is not.

    Parameters
    ----------
    x : array (n,)
        Coordinates, taken as the exact numbers that doubles are.
    exact : mapping
        Rational coordinates in the place of some of them, by column: solutions of equations are
        seldom doubles.

    Returns
    -------
    FeasiblePoint or None
        None also for models with rows beyond degree two, which nothing here evaluates.
    """
    at = None if form.nonlinear else point_of(x, exact)
    if at is None or not is_whole(form, at) or bound_excess(form, at).any():
        return None
    if linear_excess(form, at, stop=True).any() or quadratic_excess(form.quadratic, at).any():
        return None
    if any(semidefinite_excess(row, at, stop=True) > 0 for row in form.psd):
        return None
    return _statement(form, at, "every row holds in exact arithmetic")


def near_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """The statement by how much a point misses rows whose largest coefficient is scaled to 1.

    Returns
    -------
    FeasiblePoint or None
        With eps = 0 where it misses none. None where integer columns hold no whole numbers, where
        a row without any coefficient is missed, and for models with rows beyond degree two.
    """
    at = None if form.nonlinear else point_of(x, NONE)
    if at is None or not is_whole(form, at):
        return None
    eps, worst = 0.0, ""
    for excess, sizes, name in _violations(form, at):
        missed, shares = ~(excess <= 0), np.zeros(len(excess))
        with np.errstate(divide="ignore"):
            shares[missed] = np.nextafter(excess[missed] / sizes[missed], np.inf)
        k = int(np.argmax(shares)) if len(shares) else -1
        if k >= 0 and not shares[k] <= eps:
            eps, worst = float(shares[k]), name(k)
    if not math.isfinite(eps):
        return None
    words = "every row holds in exact arithmetic" if not eps else "every violation rounded up"
    return _statement(form, at, words, eps, worst)


def _statement(
    form: StandardForm, at: Point, words: str, eps: float = 0.0, worst: str = ""
) -> FeasiblePoint:
    varying, number = _objective_above(form, at)
    return FeasiblePoint(
        subject=form, words=words, seal=SEAL, varying=varying, x=at.x, eps=eps, worst=worst,
        rational=dict(at.exact), number=number,
    )  # fmt: skip


def constant_of(subject: Hashable) -> tuple[Fraction, Fraction]:
    """What proofs leave out of a model's objective, and its whole constant k.

    k is the constant of the polynomial part once fixed columns are put in: those that a user fixed
    are numbers to the reader already, those with equal limits are put in here. A problem that is a
    model and more has the model for its `form`; a subject without one has neither number.
    """
    form = subject if isinstance(subject, StandardForm) else getattr(subject, "form", None)
    if not isinstance(form, StandardForm):
        return Fraction(0), Fraction(0)
    read = exponential_form(form) if form.goal is not None else None
    form = form if read is None else read.form
    left_out = Fraction(form.objective.exact_constant)
    low = np.where(form.integer, np.ceil(form.lower), form.lower)
    high = np.where(form.integer, np.floor(form.upper), form.upper)
    fixed = (low == high) & np.isfinite(low)
    at = point_of(np.where(fixed, low, 0.0), NONE) if fixed.any() else None
    return left_out, left_out if at is None else left_out + _objective(form, at)


def _objective_above(form: StandardForm, at: Point) -> tuple[float, Fraction | None]:
    """The objective without its constant, rounded up, and its sum where that is exact."""
    goal, x = form.objective, at.x
    Q = goal.Q
    with np.errstate(over="ignore", invalid="ignore"):
        along = x * (Q @ x)
        lines = goal.a * x
        size_of_squares = np.abs(x) * (abs(Q) @ np.abs(x))
        longest = int(np.diff(Q.indptr).max(initial=0))
    used = np.flatnonzero(size_of_squares), np.flatnonzero(lines)
    parts = [*along[used[0]].tolist(), *lines[used[1]].tolist()]
    squares = float(size_of_squares.sum()) * OUTWARD
    size = float(np.abs(lines).sum()) * OUTWARD
    radius = growth(longest + 6) * squares + 4 * ROUNDOFF * size
    radius += (len(parts) + Q.nnz) * UNDERFLOW * (1 + float(np.abs(x).max(initial=0.0)))
    if parts and math.isfinite(radius) and not goal.lost:
        value = math.fsum(parts)
        terms = Q.nnz + len(used[1])
        sure = radius <= NEGLIGIBLE * abs(value)
        if terms > (FEW_TERMS if sure else MANY_TERMS):
            return math.nextafter(value + radius * OUTWARD, math.inf), None
    exact = shortened_up(_objective(form, at))
    return rounded_up(exact) + 0.0, exact  # and never -0.0


def _objective(form: StandardForm, at: Point) -> Fraction:
    goal = form.objective
    total = exact_dot(goal.a, np.arange(form.n), at)
    Q = goal.Q
    lines = np.flatnonzero((np.diff(Q.indptr) > 0) & (at.x != 0))
    for i in lines.tolist():
        span = slice(Q.indptr[i], Q.indptr[i + 1])
        total += at.fraction(i) * exact_dot(Q.data[span], Q.indices[span], at)
    return total + lost_at(goal.lost, at.fraction)


def _violations(
    form: StandardForm, at: Point
) -> Iterator[tuple[Array, Array, Callable[[int], str]]]:
    """Violations of each kind, the largest coefficients of their rows, and their names."""
    yield bound_excess(form, at), np.ones(form.n), lambda j: f"bound of {form.columns.name(j)}"
    yield linear_excess(form, at), form.largest, lambda i: f"row {form.rows.name(i)}"
    quadratic = [max(_largest(row.body.v), _largest(row.body.a)) for row in form.quadratic]
    missed = quadratic_excess(form.quadratic, at)
    yield missed, np.array(quadratic), lambda k: f"row {form.quadratic[k].data.name}"
    short = np.array([semidefinite_excess(row, at) for row in form.psd])
    semidefinite = np.array([_largest(row.F.data) for row in form.psd])
    yield short, semidefinite, lambda k: f"row {form.psd[k].data.name}"


def _largest(numbers: Array) -> float:
    return float(np.abs(numbers).max(initial=0.0))
