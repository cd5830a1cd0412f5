"""Proven limits of the variables at every point that matters, from rows, cones and the objective.

A lower bound on f need not hold above a value U that is known, because min(beta, U) is what is
kept; so only the points with f <= U matter. Their limits follow from the bounds of the variables,
from an objective whose terms are bounded below, from linear rows, and from the minors of the cones:
|M_ij| <= sqrt(M_ii M_jj), and no entry of a second-order cone exceeds the first. Every step goes
outwards by more than what it may have rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.proofs.interval_steps import LEAST, OUTWARD, Limits, by_rows, by_terms
from tightmargin.solvers.standard_form.standard_form import StandardForm

ROUNDS = 6
NARROWER = 0.5  # of a width: narrowing that costs a round
FEW = 100  # quadratic rows that are looked at one by one


@dataclass(frozen=True, eq=False)
class Reach:
    """Limits of the variables at every feasible point of objective at most `cutoff`.

    Attributes
    ----------
    low, high : arrays (n,)
        Infinite where none is known. Limits that cross say that there is no such point.
    cutoff : float
        Without the constant of the objective.
    """

    low: Array
    high: Array
    cutoff: float

    @property
    def empty(self) -> bool:
        """Whether no feasible point has an objective of at most the cutoff."""
        return bool((self.low > self.high).any())

    def size(self) -> Array:
        """X (n,) with |x_j| <= X_j."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def limits_of_variables(form: StandardForm, classification: Classification, cutoff: float) -> Reach:
    """Limits at every feasible x of objective at most `cutoff`, the constant left out.

    Parameters
    ----------
    form, classification
        A model that is convex once integrality is dropped.
    cutoff : float
        Infinite for all feasible x.
    """
    limits = Limits(form.lower.copy(), form.upper.copy())
    if not _is_ordinary(form, cutoff):
        return Reach(limits.low, limits.high, cutoff)
    cones = _cones(classification, form.n)
    for _ in range(ROUNDS):
        before = limits.low.copy(), limits.high.copy()
        _by_matrices(form, limits)
        if cutoff < np.inf:
            _by_objective(form, classification, limits, cutoff)
        _by_squares(form, limits)
        if cones is not None:  # before the rows, which are dearer and need limits to start from
            _by_cones(cones, limits)
        by_rows(form.A, form.row_lower, form.row_upper, limits)
        if not _narrowed(*before, limits):
            break
    return Reach(limits.low, limits.high, cutoff)


def limits_of_cones(form: StandardForm, classification: Classification) -> Reach:
    """Limits at every feasible x: bounds, and those that second-order cones imply by themselves."""
    limits = Limits(form.lower.copy(), form.upper.copy())
    if form.quadratic and _is_ordinary(form, 0.0):
        _by_squares(form, limits)
        cones = _cones(classification, form.n)
        if cones is not None:
            _by_cones(cones, limits)
    return Reach(limits.low, limits.high, np.inf)


def _narrowed(low: Array, high: Array, limits: Limits) -> bool:
    """Whether a round found a limit where there was none, or one that is worth another round."""
    found = np.isinf(low) & np.isfinite(limits.low) | np.isinf(high) & np.isfinite(limits.high)
    if found.any():
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((limits.high - limits.low < NARROWER * (high - low)).any())


def _is_ordinary(form: StandardForm, cutoff: float) -> bool:
    """Whether no product of three numbers of a model can under- or overflow unnoticed."""
    numbers = [
        form.matrix.data, form.row_lower, form.row_upper, form.lower, form.upper,
        form.objective.Q.data, form.objective.a, np.array([cutoff]),
        *(part for row in form.psd for part in (row.F.data, row.g)),
    ]  # fmt: skip
    for row in form.quadratic:
        ends = np.array([row.lower, row.upper, row.body.constant])
        numbers += [row.body.v, row.body.a, ends]
    sizes = np.abs(np.concatenate(numbers))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return bool(((sizes >= LEAST) & (sizes <= 1 / LEAST)).all())


def _by_objective(
    form: StandardForm, classification: Classification, limits: Limits, cutoff: float
) -> None:
    """What the cutoff leaves of the objective."""
    curved = classification.curvature
    assert curved is not None
    by_terms(np.arange(form.n), curved, form.objective.a, cutoff, limits)


def _by_squares(form: StandardForm, limits: Limits) -> None:
    """Rows of squares and linear terms, where there are few of them."""
    if len(form.quadratic) > FEW:
        return
    for row in form.quadratic:
        body = row.body
        if (body.i != body.j).any():
            continue
        squares = np.zeros(len(body.index))
        squares[body.i] = body.v
        for sign, end in ((1.0, row.upper), (-1.0, -row.lower)):
            if np.isfinite(end) and (sign * squares >= 0).all():
                # One difference of two numbers of the model: nothing is lost beside the padding.
                side = end - sign * body.constant
                side += 4 * UNIT * (abs(end) + abs(body.constant))
                by_terms(body.index, sign * squares, sign * body.a, side, limits)


def _by_matrices(form: StandardForm, limits: Limits) -> None:
    """Diagonal entries are at least 0, and M_ij^2 <= M_ii M_jj."""
    for psd in form.psd:
        i, j = np.tril_indices(psd.order)
        F, diagonal = psd.F.tocsr(), np.flatnonzero(i == j)
        by_rows(F[diagonal], -psd.g[diagonal], np.full(len(diagonal), np.inf), limits)
        most = limits.rows(F)[1]
        top = np.maximum(most + psd.g + 4 * UNIT * np.abs(psd.g), 0.0)[diagonal]
        with np.errstate(invalid="ignore"):
            size = np.sqrt(top[i] * top[j]) * (1 + OUTWARD)
        size = np.where(np.isnan(size), np.inf, size)
        slack = 4 * UNIT * np.abs(psd.g)
        by_rows(F, -size - psd.g - slack, size - psd.g + slack, limits)


@dataclass(frozen=True, eq=False)
class _Cones:
    """All second-order cones whose entries are right to a few last places, one below the other.

    Attributes
    ----------
    product, ends : csr_matrix (2 p, n), array
        f and g of the cones that are h^2 <= 4 f g, in turn.
    top, sides : csr_matrix (q, n), array
        First rows of the others.
    rest, offsets : csr_matrix, array
        h of the former, then what is below the first row of the latter.
    owner : array
        Number of the cone that each of these rows belongs to, products first.
    """

    product: sp.csr_matrix
    ends: Array
    top: sp.csr_matrix
    sides: Array
    rest: sp.csr_matrix
    offsets: Array
    owner: NDArray[np.int64]


def _cones(classification: Classification, n: int) -> _Cones | None:
    """The cones of a model; None without any."""
    found = [r.cone for r in classification.readings if r.cone is not None]
    cones = [cone for cone in found if cone.excess is None]
    if not cones:
        return None
    products = [cone for cone in cones if cone.factors is not None]
    others = [cone for cone in cones if cone.factors is None]
    pairs = [(cone.factors, cone.index) for cone in products if cone.factors is not None]
    parts = [(cone.A[2:], cone.b[2:], cone.index) for cone in products]
    parts += [(cone.A[1:], cone.b[1:], cone.index) for cone in others]
    return _Cones(
        _spread([(F, index) for (F, _), index in pairs], n),
        np.concatenate([np.zeros(0), *(ends for (_, ends), _ in pairs)]),
        _spread([(cone.A[:1], cone.index) for cone in others], n),
        np.array([cone.b[0] for cone in others], dtype=np.float64),
        _spread([(A, index) for A, _, index in parts], n),
        np.concatenate([np.zeros(0), *(b for _, b, _ in parts)]),
        np.repeat(np.arange(len(parts)), [len(b) for _, b, _ in parts]),
    )


def _spread(blocks: list[tuple[Array, NDArray[np.int64]]], n: int) -> sp.csr_matrix:
    """Small matrices over few columns, one below the other, over all columns."""
    height, rows, columns, numbers = 0, [], [], []
    places: dict[int, tuple[Any, ...]] = {}
    for A, index in blocks:
        if id(A) not in places:  # cones of one family share theirs
            i, j = A.nonzero()
            places[id(A)] = i, j, A[i, j]
        i, j, a = places[id(A)]
        rows.append(height + i)
        columns.append(index[j])
        numbers.append(a)
        height += len(A)
    empty = np.zeros(0, dtype=np.int64)
    where = np.concatenate([empty, *rows]), np.concatenate([empty, *columns])
    return sp.csr_matrix((np.concatenate([np.zeros(0), *numbers]), where), shape=(height, n))


def _by_cones(cones: _Cones, limits: Limits) -> None:
    """No entry exceeds the first, and h^2 <= 4 f g; entries are right to a few last places."""
    low = -cones.ends - OUTWARD * np.abs(cones.ends)
    by_rows(cones.product, low, np.full(len(low), np.inf), limits)
    factors = np.maximum(_most(limits, cones.product, cones.ends), 0.0)
    f, g = np.sqrt(factors[0::2]), np.sqrt(factors[1::2])
    with np.errstate(invalid="ignore"):
        products = np.where((f == 0) | (g == 0), 0.0, 2 * f * g)
    tops = np.maximum(_most(limits, cones.top, cones.sides), 0.0)
    size = np.concatenate([products, tops])[cones.owner]
    room = size * (1 + OUTWARD) + OUTWARD * np.abs(cones.offsets)
    by_rows(cones.rest, -room - cones.offsets, room - cones.offsets, limits)


def _most(limits: Limits, A: sp.csr_matrix, b: Array) -> Array:
    """The most that A x + b can be, outwards."""
    return limits.rows(A)[1] + b + OUTWARD * np.abs(b)


def excess_of(cone: Cone, reach: Reach) -> float:
    """What raising the first entry of a cone must make up for at the points that matter."""
    found = cone.excess
    if found is None:
        return 0.0
    size = reach.size()[cone.index]
    with np.errstate(invalid="ignore", over="ignore"):
        total = found.constant
        if found.squares:
            total += found.squares * float(size @ size)
        if found.linear:
            total += found.linear * float(size.sum())
        if (found.squares or found.linear) and size.any():
            # Squares and products that underflow lose so much each.
            total += (len(size) + 2) * (found.squares + found.linear + 2) * 2.0**-1073
    total *= 1 + OUTWARD
    if total == 0.0:
        return 0.0
    steps = [np.sqrt(total)] if cone.slope == 0 else [np.sqrt(total), total / cone.slope]
    return float(min(steps)) * (1 + OUTWARD)
