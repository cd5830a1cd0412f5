"""From a solver's point to one that is feasible in exact arithmetic, at next to no cost.

Candidates are tried from cheap to dear, and each is put to the kernel, which alone says whether it
is feasible; what is wrong here costs a verdict and never makes a false one. Every candidate has its
equations solved on columns with room and its missed rows made up by columns of their own:

    the point itself, and where one row holds a norm the point moved onto that sphere
    the point scaled up or down by little: margins that are missed, norms that are exceeded
    a step into the semidefinite rows, along a direction that least squares find
    a step towards a point strictly inside, the optimum of the model with tighter rows
    the same within the face that all points lie in, where rows imply equations
    between two points on the sides of the one quadratic equation that there is

and the shortest step that is feasible counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends.preference import needs_gigabytes
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.exact_points.between import between
from tightmargin.solvers.exact_points.equations import Equations, equations_of
from tightmargin.solvers.exact_points.into_matrices import into_matrices
from tightmargin.solvers.exact_points.one_sided_columns import with_rows_met
from tightmargin.solvers.exact_points.priced_columns import with_priced_lowered
from tightmargin.solvers.exact_points.rational_sphere import norm_held
from tightmargin.solvers.exact_points.squared_columns import with_squares_lowered
from tightmargin.solvers.exact_points.tightened import Tightened
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.exact_sums.quadratic_rows import hold_clearly, known_stack
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Of the objective: what a point may cost before another is tried, and before a model is solved.
CHEAP, CHEAP_ENOUGH = 1e-9, 5e-8
SCALINGS = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15)
STEPS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
HALVINGS = 4  # of the orders of magnitude between two steps
DEPTHS = (1e-4, 1e-6, 1e-8)
NEAR_BOUND = 1e-9
SHORT = 7  # digits behind the point
TINY = 1e-290  # of products of such numbers nothing is known
FACE_LIMIT = 5_000  # columns of a model for which the same is done up to a dozen times
SIZE_LIMIT = 20_000  # columns of a model that is solved again within a second or two


@dataclass
class Search:
    """The best point so far, and how candidates are put to the kernel."""

    model: StandardForm
    equations: Equations
    objective: float
    best: FeasiblePoint | None = None
    restricted: StandardForm | None = None

    @property
    def form(self) -> StandardForm:
        """The model, with what its rows imply as equations where that is known."""
        return self.model if self.restricted is None else self.restricted

    def tried(self, x: Array, *, clearly: bool = False) -> float:
        """Objective of a candidate with its equations solved and its rows met.

        Infinity where it is not feasible even so.
        """
        form = self.form
        x = np.where(form.integer, x, np.clip(x, form.lower, form.upper))
        lowered = with_priced_lowered(form, with_squares_lowered(form, x))
        solved = self.equations.solved(lowered)
        if solved is None:
            return math.inf
        met = with_rows_met(form, *solved, clearly=clearly)
        found = proven_point(self.model, met, solved[1])
        if found is None:
            return math.inf
        if self.best is None or found.end < self.best.end:
            self.best = found
        return found.varying

    def tried_with(self, x: Array, exact: Mapping[int, Fraction]) -> None:
        """Put a candidate with some rational coordinates to the kernel, its rows met."""
        x = x.copy()
        for column, number in exact.items():
            x[column] = float(number)
        found = proven_point(self.model, with_rows_met(self.form, x, exact, clearly=False), exact)
        if found is not None and (self.best is None or found.end < self.best.end):
            self.best = found

    def settled(self, share: float) -> bool:
        """Whether a point is known that costs a share of the objective at most, or time is over."""
        if is_over():
            return True
        if self.best is None:
            return False
        return self.best.varying - self.objective <= share * abs(self.objective)


def exact_point(
    form: StandardForm, classification: Classification, x: Array, limits: Limits
) -> FeasiblePoint | None:
    """An exactly feasible point near a given one, of nearly its objective; None if none is found.

    Parameters
    ----------
    x : array (n,)
        A solver's point: rows, bounds and integrality are met to its tolerances.
    limits : Limits
        Of the solves for a point inside.
    """
    if form.nonlinear or not np.isfinite(x).all():
        return None
    model, form = form, form.inner
    x = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
    x = np.where(np.abs(x) < TINY, 0.0, x)
    equations = equations_of(form, x)
    if equations is None:
        return None
    search = Search(model, equations, form.objective.varying(x))
    search.restricted = None if form is model else form
    _near_by(search, x)
    if not search.settled(CHEAP_ENOUGH):
        _inwards(search, classification, x, limits)
    return search.best or between(model, x, _close_point)


def _close_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """A point with the equations solved and the rows met, without a step."""
    equations = equations_of(form, x)
    if equations is None:
        return None
    search = Search(form, equations, form.objective.varying(x))
    search.tried(x)
    return search.best


def _near_by(search: Search, x: Array) -> None:
    """The point itself, then others that cost no solve, until one is cheap."""
    form = search.form
    _itself(search, x)
    if form.psd and search.settled(CHEAP_ENOUGH):
        return
    # The second is where a homogeneous model is at its best with an optimum of 0, the third where
    # the only points are short numbers: w = 0 and b = 1, and copies of them.
    for other in (_snapped(form, x), np.where(form.integer, x, 0.0), np.round(x, SHORT)):
        if not search.settled(CHEAP) and (other != x).any():
            search.tried(other)
    for sign in (1.0, -1.0):
        if not search.settled(CHEAP):
            _along(search, x, np.where(form.integer, 0.0, sign * x), SCALINGS)


def _itself(search: Search, x: Array) -> None:
    """The point, and nothing but its last digits moved."""
    form = search.form
    if not _misses_squares(form, x):
        search.tried(x, clearly=True)
    held = None if search.settled(CHEAP) else norm_held(form, x)
    if held is not None:
        search.tried_with(x, held)
    if form.quadratic and not search.settled(CHEAP):
        _onto_quadratics(search, x)
    if not search.settled(CHEAP):
        search.tried(x)
    if form.psd and not search.settled(CHEAP):
        _into_matrices(search, x)


def _into_matrices(search: Search, x: Array) -> None:
    """Steps into the semidefinite rows, the shortest that is long enough."""
    for direction, steps in into_matrices(search.form, x):
        for step in steps.tolist():
            if is_over() or search.tried(x + step * direction, clearly=True) < math.inf:
                break
        if search.settled(CHEAP_ENOUGH):
            return


def _misses_squares(form: StandardForm, x: Array) -> bool:
    """Whether rows of squares alone may be missed: no slack helps there, a small scaling does."""
    if not form.quadratic:
        return False
    missed = np.flatnonzero(~hold_clearly(known_stack(form.quadratic), x))
    return any(not form.quadratic[k].body.a.any() for k in missed.tolist())


def _onto_quadratics(search: Search, x: Array) -> None:
    """Scalings from the shortest on that meets all quadratic rows by itself."""
    form = search.form
    stack = known_stack(form.quadratic)
    for sign in (-1.0, 1.0):
        towards = np.where(form.integer, 0.0, sign * x)
        for k in reversed(range(len(SCALINGS))):
            if search.settled(CHEAP):
                return
            if hold_clearly(stack, x + SCALINGS[k] * towards).all():
                _along(search, x, towards, SCALINGS[k:])
                break


def _snapped(form: StandardForm, x: Array) -> Array:
    """Coordinates that are near a bound put there."""
    width = form.upper - form.lower
    size = np.where(np.isfinite(width), width, np.abs(x).max(initial=0.0))
    near = NEAR_BOUND * size
    low = np.where(x - form.lower <= near, form.lower, x)
    return np.where(form.upper - x <= near, form.upper, low)


def _along(search: Search, x: Array, towards: Array, steps: tuple[float, ...]) -> None:
    """The cheapest of some steps, given from long to short, and between the last two of them.

    A long step costs by itself, a short one may leave rows to columns that are dear.
    """
    least, longer = math.inf, math.inf
    for step in steps:
        # Beside such steps roundings are small, and rows that are met by more are quickly seen.
        objective = search.tried(x + step * towards, clearly=True)
        if objective == math.inf and longer < math.inf:
            _between(search, x, towards, step, longer)
        if objective == math.inf or objective > least or search.settled(CHEAP):
            return
        least, longer = objective, step


def _between(search: Search, x: Array, towards: Array, short: float, long: float) -> None:
    """Steps between one that is too short and one that is feasible, until it is cheap enough."""
    for _ in range(HALVINGS):
        if search.settled(CHEAP_ENOUGH):
            return
        step = math.sqrt(short * long)
        if search.tried(x + step * towards, clearly=True) == math.inf:
            short = step
        else:
            long = step


def _inwards(search: Search, classification: Classification, x: Array, limits: Limits) -> None:
    """Steps towards optima of tighter models, the tightest first."""
    small = search.form.n <= SIZE_LIMIT and SOLVERS["clarabel"].installed
    if not (small and classification.relaxes_to_convex) or needs_gigabytes(search.form):
        return
    tightened = Tightened(search.form, classification, x, search.equations.dependent, limits)
    _towards(search, tightened, x)
    if not search.settled(CHEAP_ENOUGH) and search.form.n <= FACE_LIMIT:
        _on_face(search, classification, x, tightened)


def _towards(search: Search, tightened: Tightened, x: Array) -> None:
    for depth in DEPTHS:
        inside = tightened.point(depth)
        if inside is None:
            continue
        _along(search, x, inside - x, STEPS)
        if search.settled(CHEAP_ENOUGH):
            return
        closer = tightened.point(0.0)
        if closer is not None:
            _along(search, closer, inside - closer, STEPS)
        if search.settled(CHEAP_ENOUGH):
            return


def _on_face(
    search: Search, classification: Classification, x: Array, tightened: Tightened
) -> None:
    """Where rows imply equations no point is inside all of them, but one may be inside the rest."""
    for face in tightened.faces():
        if face.is_whole:
            continue
        form = face.restricted(search.model.inner)
        at = np.clip(x, form.lower, form.upper)
        equations = equations_of(form, at)
        if equations is None or equations.solved(at) is None:
            continue
        search.restricted, search.equations = form, equations
        limits = tightened.limits
        within = Tightened(
            form, classification, at, equations.dependent, limits, face.flat.tolist()
        )
        search.tried(at)
        _towards(search, within, at)
        if search.settled(CHEAP_ENOUGH):
            return
