"""A tree of boxes over directions that covers all points, each leaf closed by multipliers.

The root box is what rows imply of z = V'x (linear_limits.py), for a linear objective together with
a cutoff, above which nothing has to be covered; a branch splits a box into
z_j <= at and z_j >= at, so that the leaves cover it by the way they are made; and in every leaf
leaf_bounds.py says how low the objective can be, or that there is no point. The least of the leaves
is a lower bound for all feasible points, and where no leaf has a point the model has none.

Boxes of this kind are those of Falk & Soland, An algorithm for separable nonconvex programming
problems (Management Science 15, 1969); that the multipliers of a leaf bound every box, so that they
cut pieces off others too, is range reduction as of Ryoo & Sahinidis, A branch-and-reduce approach
to global optimization (Journal of Global Optimization 8, 1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.proofs.cover.exact_leaves import exact_leaf
from tightmargin.solvers.proofs.cover.leaf_bounds import BoxMultipliers, LeafBounds, leaf_bounds
from tightmargin.solvers.proofs.cover.linear_limits import Limit, proven_limits
from tightmargin.solvers.proofs.cover.squares import Directions, Squares, squares_of
from tightmargin.solvers.proofs.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.standard_form.standard_form import StandardForm

METHOD = "cover by boxes over concave directions, every leaf by weak duality"
TOGETHER = 4096  # leaves and multipliers that are evaluated at a time


@dataclass(frozen=True, eq=False, repr=False)
class BoxCover(Printed):
    """What the module's docstring describes; any numbers, which `cover_bound` checks.

    Attributes
    ----------
    directions : Directions
    limits : tuple of LinearLimit and SquareLimit
        From which the root box, and limits of columns, are proven.
    axis : array (N,) of int
        Direction that a node is split in; -1 for a leaf. The first node is the root.
    at : array (N,)
        Where it is split.
    below, above : arrays (N,) of int
        Children for z <= at and z >= at.
    choice : array (N,) of int
        Multipliers of a leaf; -1 for none, which leaves it open.
    multipliers : BoxMultipliers
    cutoff : float
        Of a linear objective without its constant: the boxes are for points of at most that, and
        all others are no better than it.
    """

    directions: Directions
    limits: tuple[Limit, ...]
    axis: Index
    at: Array
    below: Index
    above: Index
    choice: Index
    multipliers: BoxMultipliers
    cutoff: float = math.inf

    def _title(self) -> str:
        leaves = int((self.axis < 0).sum())
        return f"BoxCover: {count_text(leaves, 'leaf', 'leaves')}"


def cover_bound(form: StandardForm, cover: BoxCover) -> LowerBound | Infeasible | None:
    """What a cover proves of a model; None where it proves nothing.

    Linear rows and bounds, the sides of quadratic rows that the directions name and the objective
    are used;
    integrality and all other rows only take points away.
    """
    squares = squares_of(form, cover.directions)
    if squares is None or not cover.multipliers.fits(form, squares):
        return None
    cutoff = cover.cutoff
    is_linear = not (form.objective.Q.nnz or squares.weights[0].any())
    if not (
        isinstance(cutoff, float) and (cutoff == math.inf or (is_linear and -math.inf < cutoff))
    ):
        return None
    columns, root = proven_limits(form, squares, cover.limits, cutoff)
    if (columns[0] > columns[1]).any() or (root[0] > root[1]).any():
        return None  # a Farkas vector says so, with what a reader may have rounded taken off
    leaves = _leaves(cover, *root)
    if leaves is None:
        return None
    choice, low, high = leaves
    bounds = _in_parts(form, squares, cover.multipliers, columns)
    open_columns = not (np.isfinite(columns[0]).all() and np.isfinite(columns[1]).all())
    excess = squares.excess_within(np.maximum(np.abs(columns[0]), np.abs(columns[1])))
    value = math.inf
    for start in range(0, len(choice), TOGETHER):
        part = slice(start, start + TOGETHER)
        found = bounds.over(choice[part], low[part], high[part])
        for k in np.flatnonzero(found == -np.inf).tolist() if open_columns else ():
            box = low[part][k], high[part][k]
            found[k] = exact_leaf(
                form, squares, cover.multipliers, int(choice[part][k]), box, excess
            )
            if found[k] == -np.inf:
                return None
        value = min(value, float(found.min()))
    value = min(value, cutoff)
    words = f"{METHOD}, {count_text(len(choice), 'leaf', 'leaves')}{relaxed(form)}"
    if value == math.inf:
        return Infeasible(subject=form, words=words, seal=SEAL)
    if not math.isfinite(value):
        return None
    return LowerBound(subject=form, words=words, seal=SEAL, varying=value)


def _in_parts(
    form: StandardForm, squares: Squares, found: BoxMultipliers, columns: tuple[Array, Array]
) -> LeafBounds:
    """Constants of all multipliers, computed for a few thousand at a time."""
    parts = []
    for start in range(0, max(1, len(found.mu)), TOGETHER):
        part = slice(start, start + TOGETHER)
        few = BoxMultipliers(
            found.mu[part], found.rows[part], found.sides[part], found.slopes[part]
        )
        parts.append(leaf_bounds(form, squares, few, *columns))
    names = ("constant", "slopes", "weights", "mu", "noise")
    return LeafBounds(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def _leaves(cover: BoxCover, low: Array, high: Array) -> tuple[Index, Array, Array] | None:
    """Multipliers and boxes of all leaves; None where the nodes are no tree or a leaf is open."""
    count, r = len(cover.axis), len(low)
    arrays = (cover.at, cover.below, cover.above, cover.choice)
    if count == 0 or any(part.shape != (count,) for part in arrays):
        return None
    whole = (cover.axis, cover.below, cover.above, cover.choice)
    if not all(np.issubdtype(part.dtype, np.integer) for part in whole):
        return None
    if cover.at.dtype != np.float64:
        return None
    axis, below, above = cover.axis.tolist(), cover.below.tolist(), cover.above.tolist()
    at, choice = cover.at.tolist(), cover.choice.tolist()
    seen = [False] * count
    chosen, lows, highs = [], [], []
    stack = [(0, low, high)]
    while stack:
        number, low, high = stack.pop()
        if not 0 <= number < count or seen[number]:
            return None
        seen[number] = True
        j = axis[number]
        if j == -1:
            if not 0 <= choice[number] < len(cover.multipliers.mu):
                return None
            chosen.append(choice[number])
            lows.append(low)
            highs.append(high)
            continue
        if not 0 <= j < r or not math.isfinite(at[number]):
            return None
        left, right = high.copy(), low.copy()
        left[j], right[j] = min(left[j], at[number]), max(right[j], at[number])
        stack += [(below[number], low, left), (above[number], right, high)]
    return np.array(chosen), np.array(lows), np.array(highs)
