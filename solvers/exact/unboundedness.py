"""A proof of our own that a model is unbounded below: a point, and a ray that no row ever stops.

The ray is checked in exact rational arithmetic (solvers/proofs/rays.py), whatever found it, so
that a solver which calls a bounded model unbounded gets no proof. A ray alone proves nothing:
without a feasible point the model may be infeasible. The point is feasible exactly where a rounded
one is, and otherwise to the tolerance of every other certificate; the words say which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel, highs, scip
from tightmargin.solvers.backends.preference import ORDER
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact.ray_rounding import exact_candidates
from tightmargin.solvers.exact.ray_search import innermost, steepest
from tightmargin.solvers.exact.recession_cone import Recession, recession
from tightmargin.solvers.exact_points.equations import equations_of
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.feasible_point import near_point, proven_point
from tightmargin.solvers.proofs.rays import as_floats, proven_unbounded
from tightmargin.solvers.proofs.statement import FeasiblePoint, Unbounded
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

TOLERANCE = 1e-6  # of a first point that is not exact: its miss goes into the words
# An equation of whole numbers that has no solution keeps branch and bound busy for good.
NODES = 5_000  # of a search for some point where a model is not convex
NONZERO_LIMIT = 4_000_000
DENSE_LIMIT = 2000

# Rounding a point to these fractions of 1 often makes it exactly feasible.
_GRIDS = (1.0, 2.0**10, 2.0**30)
# Steps along the ray that may leave every row behind, in multiples of its largest entry.
_STEPS = (1.0, 2.0**7, 2.0**14)


def unboundedness_proof(form: StandardForm, limits: Limits) -> Unbounded | None:
    """Look for a ray and a point that prove a model unbounded below; None when nothing does.

    Parameters
    ----------
    form : StandardForm
        A minimisation, as every form is.
    limits : Limits
        Time, threads and seed of each of the searches.
    """
    if not _is_readable(form):
        return None
    classification = classify(form)
    cone = recession(form, classification)
    asked = Limits(time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed)
    flat = _flat_costs(form, classification)
    found = _directions(form, cone, flat, asked)
    if classification.relaxes_to_convex and not found:
        return None
    for point in _points(form, classification, asked):
        # Where the objective bends, the way down depends on where one stands.
        tried = found or _directions_at(form, cone, point, asked)
        for d in tried:
            proof = _proven(form, exact_candidates(form, cone, d), point)
            if proof is not None:
                return proof
    return None


def ray_proof(form: StandardForm, ray: Array, point: Array) -> Unbounded | None:
    """Prove it again from a ray and a point, such as those of a saved result, without any solver.

    A ray that 53 bits do not hold is first moved back onto the rows it touches.
    """
    if not _is_readable(form) or np.shape(ray) != (form.n,) or np.shape(point) != (form.n,):
        return None
    if not (np.isfinite(ray).all() and np.isfinite(point).all() and np.any(ray)):
        return None
    cone = recession(form, classify(form))
    return _proven(form, exact_candidates(form, cone, ray / cone.unit, grids=()), point)


def _is_readable(form: StandardForm) -> bool:
    entries = form.matrix.nnz + form.objective.Q.nnz
    return bool(form.n) and not form.nonlinear and entries <= NONZERO_LIMIT


def _proven(form: StandardForm, rays: Iterable[list[int]], point: Array) -> Unbounded | None:
    """The first ray with a point near the given one, or further along the ray, that proves it."""
    for ray in rays:
        if not any(ray):
            continue
        near: Unbounded | None = None
        for start, walked in _starts(form, point, as_floats(ray)):
            found = proven_point(form, start)
            if found is None and walked == 0.0:
                found = _on_equations(form, start)
            if found is None and walked == 0.0 and near is None:
                found = near_point(form, start)
            proof = None if found is None else proven_unbounded(form, found, ray)
            if proof is None:
                continue
            if proof.eps == 0.0:
                return proof
            if proof.eps <= TOLERANCE:
                near = proof
        if near is not None:
            return near
    return None


def _on_equations(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """The point with its equations solved in rational numbers, where that is feasible."""
    equations = equations_of(form, x)
    solved = None if equations is None else equations.solved(x)
    return None if solved is None else proven_point(form, *solved)


def _starts(form: StandardForm, point: Array, ray: Array) -> Iterator[tuple[Array, float]]:
    """The point within its bounds, as it is, rounded and further along the ray, with the step."""
    for step in (0.0, *_STEPS):
        moved = point + step * ray / np.abs(ray).max() if step else point
        inside = np.clip(moved, form.lower, form.upper)
        inside = np.where(form.integer, np.round(inside), inside)
        yield inside, step
        for grid in _GRIDS:
            yield np.clip(np.round(inside * grid) / grid, form.lower, form.upper), step


def _flat_costs(form: StandardForm, classification: Classification) -> list[Array]:
    """Costs of the directions along which the objective is straight."""
    if form.objective.Q.nnz and not classification.relaxes_to_convex:
        return []
    return [form.objective.a]


def _directions_at(
    form: StandardForm, cone: Recession, point: Array, limits: Limits
) -> list[Array]:
    """Down the gradient at a point, and along the most negative curvature."""
    Q = form.objective.Q
    costs = [2 * (Q @ point) + form.objective.a]
    if form.n <= DENSE_LIMIT:
        _, vectors = np.linalg.eigh(Q.toarray())
        costs += [vectors[:, 0], -vectors[:, 0]]
    return _directions(form, cone, costs, limits)


def _directions(
    form: StandardForm, cone: Recession, costs: list[Array], limits: Limits
) -> list[Array]:
    """For each cost a vertex of the directions, and one inside the cones where there are any."""
    found = []
    for cost in costs:
        found += [steepest(form, cone, cost, limits), innermost(cone, cost, limits)]
    return [d for d in found if d is not None]


def _points(form: StandardForm, classification: Classification, limits: Limits) -> Iterator[Array]:
    """The point of the bounds nearest to zero, then what solvers find without an objective."""
    yield np.clip(np.zeros(form.n), form.lower, form.upper)
    without = replace(
        form, objective=Quadratic(sp.csr_matrix((form.n, form.n)), np.zeros(form.n), 0.0)
    )
    for program in (without, replace(without, quadratic=()) if form.quadratic else None):
        # The second one: where a ray leads out of the reverse convex rows, any other point will do.
        if program is not None:
            claim = _found(program, limits)
            if claim is not None and claim.x is not None and np.isfinite(claim.x).all():
                yield claim.x


def _found(form: StandardForm, limits: Limits) -> Claim | None:
    """What the first installed solver for the class finds; None without one, or when it refuses."""
    kind = classify(form)
    if not kind.convex:
        limits = replace(limits, nodes=NODES)
    for name in ORDER[kind.problem_class]:
        if not SOLVERS[name].installed:
            continue
        try:
            match name:
                case "highs":
                    return highs.run(form, kind, limits)
                case "clarabel":
                    return clarabel.run(form, kind, limits)
                case "scip":
                    return scip.run(form, limits)
        except NumberError:
            continue  # it would lose some of the numbers; the next one may not
    return None
