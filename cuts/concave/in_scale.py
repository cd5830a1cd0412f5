"""Searches in scaled numbers, and their proofs as proofs about the original model.

With  x = C x',  rows times R, quadratic rows times q and the objective divided by F, all powers of
two, every number of a proof is multiplied by one, and nothing is rounded: the directions z = V'x
keep their values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.cuts.proofs import (
    BoxCover,
    BoxMultipliers,
    ConcavityCut,
    CutSequence,
    Directions,
    FacialCut,
    Limit,
    SquareLimit,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.scaling import Scaling, scaling

COLUMNS = 64.0  # ratio of the largest to the smallest factor from which on a model is scaled
SIZE = 1024.0  # of the factor of the objective or a row, or of one over it


def worthwhile_scaling(form: StandardForm) -> Scaling | None:
    """Factors of a model whose numbers are far from 1 or from one another; None for others.

    The tolerances of linear programs are absolute, and the directions of a matrix that is not
    diagonal depend on the units of columns, which are left alone where they do no harm.
    """
    found = scaling(form)
    apart = float(found.columns.max(initial=1.0) / found.columns.min(initial=1.0))
    factors = np.concatenate([[found.objective], found.rows, found.quadratic])
    size = float(np.maximum(factors, 1 / factors).max())
    return found if apart >= COLUMNS or size >= SIZE else None


def unscaled_cover(cover: BoxCover, scale: Scaling) -> BoxCover:
    """A cover by boxes of the original model."""
    given, size = cover.multipliers, scale.objective
    multipliers = BoxMultipliers(
        given.mu,
        sp.csr_matrix(given.rows @ sp.diags(size * scale.rows)),
        given.sides * (size * _of_sides(cover.directions, scale)),
        given.slopes * size,
    )
    return replace(
        cover,
        directions=_directions(cover.directions, scale),
        limits=tuple(_limit(limit, scale) for limit in cover.limits),
        multipliers=multipliers,
        cutoff=size * cover.cutoff,
    )


def unscaled_cuts(sequence: CutSequence, scale: Scaling) -> CutSequence:
    """Concavity cuts of the original model."""
    # Of a quadratic row nothing but its sign counts, and the cutoff is that of the objective.
    return replace(
        sequence,
        directions=_directions(sequence.directions, scale),
        limits=tuple(_limit(limit, scale) for limit in sequence.limits),
        gamma=float(sequence.gamma * scale.objective),
        cuts=tuple(_cut(cut, scale, sequence.part) for cut in sequence.cuts),
        multipliers=_multipliers(sequence.multipliers, scale, sequence.part),
    )


def _cut(cut: ConcavityCut | FacialCut, scale: Scaling, part: int) -> ConcavityCut | FacialCut:
    normal = cut.normal / scale.columns
    if isinstance(cut, ConcavityCut):
        return replace(cut, normal=normal)
    others = tuple((side, _multipliers(y, scale, part)) for side, y in cut.others)
    return replace(cut, normal=normal, others=others)


def _multipliers(given: Array, scale: Scaling, part: int) -> Array:
    """Of rows, cuts and the cutoff, if there is one; what they bound is left as it is."""
    rows, more = np.split(given, [len(scale.rows)])
    if part:  # the last one is of the cutoff on the objective
        more = np.append(more[:-1], more[-1] / scale.objective)
    return np.concatenate([rows * scale.rows, more])


def _directions(given: Directions, scale: Scaling) -> Directions:
    weights = given.weights.copy()
    weights[0] *= scale.objective
    weights[1:] /= _of_sides(given, scale)[:, None]
    return replace(given, vectors=given.vectors / scale.columns[:, None], weights=weights)


def _of_sides(given: Directions, scale: Scaling) -> Array:
    return np.asarray(scale.quadratic[[number for number, _ in given.rows]])


def _limit(limit: Limit, scale: Scaling) -> Limit:
    if isinstance(limit, SquareLimit):
        return limit
    unit = 1.0 if limit.of_direction else float(scale.columns[limit.number])
    price = float(limit.price * unit / scale.objective)
    return replace(limit, y=limit.y * scale.rows[limit.rows] * unit, price=price)
