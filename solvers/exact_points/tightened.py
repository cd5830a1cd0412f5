"""Points strictly inside a convex model and near its optimum: its rows tightened and solved again.

Of all points inside by a depth e the optimum of the tightened model costs least, e times the sum of
the multipliers, so that the way towards it is the cheapest one into the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import Block, ConicForm, conic_form
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.standard_form import StandardForm
from tightmargin.solvers.transformations.scaling import scaling

Flags = NDArray[np.bool_]

# Short of these Clarabel returns the best point that it has.
CLOSEST = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
NO_ROOM = (1e-7, 1e-9)  # in numbers near 1, of a row that always holds as an equation
ENOUGH_ROOM = 1e-2


@dataclass(frozen=True, eq=False)
class Face:
    """Rows and bounds that every point meets as equations, as far as a solver can tell.

    Attributes
    ----------
    low, high : arrays
        Rows that are always at their lower, and at their upper side.
    low_bound, high_bound : arrays
        Columns that are always at theirs.
    flat : array of bool
        For each cone, in order, whether it has no inside.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_bound: NDArray[np.int64]
    high_bound: NDArray[np.int64]
    flat: Flags

    @property
    def is_whole(self) -> bool:
        """Whether there are none of them."""
        return not any(map(len, (self.low, self.high, self.low_bound, self.high_bound)))

    def restricted(self, form: StandardForm) -> StandardForm:
        """The model with these as equations, of which every point is one of the model."""
        row_lower, row_upper = form.row_lower.copy(), form.row_upper.copy()
        lower, upper = form.lower.copy(), form.upper.copy()
        row_upper[self.low] = row_lower[self.low]
        row_lower[self.high] = row_upper[self.high]
        upper[self.low_bound] = lower[self.low_bound]
        lower[self.high_bound] = upper[self.high_bound]
        return replace(form, row_lower=row_lower, row_upper=row_upper, lower=lower, upper=upper)


class Tightened:
    """A convex model in numbers near 1, its fixed columns put in, to be solved with tighter rows.

    Parameters
    ----------
    form : StandardForm
        Its integer columns are held at `x`.
    dependent : array
        Columns that equations are solved for: bounds of no others are tightened.
    flat : sequence of bool
        Cones, in order, that have no inside and are not tightened.
    """

    def __init__(
        self,
        form: StandardForm,
        classification: Classification,
        x: Array,
        dependent: NDArray[np.int64],
        limits: Limits,
        flat: Sequence[bool] = (),
    ) -> None:
        held = replace(
            form,
            lower=np.where(form.integer, x, form.lower),
            upper=np.where(form.integer, x, form.upper),
        )
        self.limits = limits
        self.scaled = scaling(held).conic(conic_form(held, classification))
        self.fixed = held.lower == held.upper
        self.at = self.scaled.scaled_point(np.where(self.fixed, held.lower, 0.0))
        self.conic, kept = _without_columns(self.scaled.conic, self.fixed, self.at)
        self.depths = _depths(self.conic, np.isin(kept, dependent), flat)
        self.kept = kept
        self.n_rows = form.A.shape[0]

    def point(self, depth: float) -> Array | None:
        """Optimum of the model whose rows are all tighter by `depth`; None without one."""
        conic = replace(self.conic, b=self.conic.b - depth * self.depths)
        claim = clarabel.run_conic(conic, self.n_rows, self._limits())
        return None if claim.x is None else self._point(claim.x)

    def _point(self, x: Array) -> Array:
        at = self.at.copy()
        at[~self.fixed] = x
        return self.scaled.point(at)

    def faces(self) -> list[Face]:
        """Where all points lie, by how little room counts as none; the largest face last.

        Each row and cone gets a room of its own, up to ENOUGH_ROOM, and their sum is made largest:
        in a convex set all that can have room have it together.
        """
        conic, k = self.conic, 0
        rows, rooms = [], []
        for block in conic.blocks:
            within = np.arange(block.start, block.start + block.size)
            if block.kind == "nonneg":
                rows.append(within)
                rooms.append(k + np.arange(block.size))
                k += block.size
            elif block.kind in ("soc", "psd"):
                rows.append(within[_head(block)])
                rooms.append(np.full(len(rows[-1]), k))
                k += 1
        if not rows:
            return []  # equations alone: there is no row to be inside of
        row, room = np.concatenate(rows), np.concatenate(rooms)
        n = conic.A.shape[1]
        own = sp.csc_matrix((np.ones(len(row)), (row, room)), shape=(len(conic.b), k))
        nonneg = sum(block.size for block in conic.blocks if block.kind in ("zero", "nonneg"))
        body = sp.hstack([conic.A, own]).tocsr()
        limit = sp.hstack([sp.csr_matrix((k, n)), sp.identity(k)])
        blocks = _lengthened(conic.blocks, 2 * k)
        names = np.arange(n, n + k)
        wider = replace(
            conic,
            P=sp.csc_matrix((n + k, n + k)),
            q=np.r_[np.zeros(n), -np.ones(k)],
            A=sp.vstack([body[:nonneg], limit, -limit, body[nonneg:]]).tocsc(),
            b=np.r_[conic.b[:nonneg], np.full(k, ENOUGH_ROOM), np.zeros(k), conic.b[nonneg:]],
            blocks=blocks,
            high_bound=np.r_[conic.high_bound, names, names],
        )
        claim = clarabel.run_conic(wider, self.n_rows, self._limits())
        if claim.x is None:
            return []
        sizes = [len(conic.low), len(conic.high), len(conic.low_bound), len(conic.high_bound)]
        parts = np.split(claim.x[n:], np.cumsum(sizes))
        return [self._face(*(part < least for part in parts)) for least in NO_ROOM]

    def _face(
        self, low: Flags, high: Flags, low_bound: Flags, high_bound: Flags, flat: Flags
    ) -> Face:
        conic = self.conic
        return Face(
            conic.low[low],
            conic.high[high],
            self.kept[conic.low_bound[low_bound]],
            self.kept[conic.high_bound[high_bound]],
            flat,
        )

    def _limits(self) -> Limits:
        return replace(self.limits, seed=None, options=CLOSEST)


def _without_columns(
    conic: ConicForm, fixed: Flags, at: Array
) -> tuple[ConicForm, NDArray[np.int64]]:
    """The form over the columns that are not fixed, which are returned too.

    Rows of numbers alone are left out: a point meets them or does not.
    """
    kept = np.flatnonzero(~fixed)
    position = np.cumsum(~fixed) - 1
    names = ("equal", "low", "high", "low_bound", "high_bound")
    parts = [getattr(conic, name) for name in names]
    linear = sum(map(len, parts))
    used = np.diff(conic.A[:, kept].tocsr().indptr) > 0
    used[linear:] = True
    flags = np.split(used[:linear], np.cumsum([len(part) for part in parts])[:-1])
    rows = [part[flag] for part, flag in zip(parts, flags, strict=True)]
    rows[3:] = [position[part] for part in rows[3:]]
    blocks: list[Block] = []
    start = 0
    sizes = {"zero": len(rows[0]), "nonneg": sum(map(len, rows[1:]))}
    for block in conic.blocks:
        size = sizes.get(block.kind, block.size)
        if size:
            blocks.append(Block(block.kind, start, size, block.data))
            start += size
    shorter = replace(
        conic,
        P=conic.P[kept][:, kept].tocsc(),
        q=conic.q[kept] + (conic.P @ at)[kept],
        A=conic.A[:, kept].tocsr()[used].tocsc(),
        b=(conic.b - conic.A @ at)[used],
        blocks=tuple(blocks),
        **dict(zip(names, rows, strict=True)),
    )
    return shorter, kept


def _depths(conic: ConicForm, dependent: Flags, flat: Sequence[bool]) -> Array:
    """1 in rows that are tightened, on the diagonal of a matrix and in the first row of a cone."""
    depths = np.zeros(len(conic.b))
    cones = [block for block in conic.blocks if block.kind in ("soc", "psd")]
    for block, without in zip(cones, [*flat] or [False] * len(cones), strict=True):
        if not without:
            depths[block.rows][_head(block)] = 1.0
    for block in conic.blocks_of("nonneg"):
        bounds = np.concatenate([conic.low_bound, conic.high_bound])
        free = np.ones(block.size - len(bounds))
        depths[block.rows] = np.r_[free, dependent[bounds].astype(float)]
    return depths


def _head(block: Block) -> NDArray[np.int64]:
    """Rows of a cone that lead into it: the first, or the diagonal of a matrix."""
    if block.kind == "soc":
        return np.zeros(1, dtype=np.int64)
    i, j = np.tril_indices(round((2 * block.size) ** 0.5 - 0.25))
    return np.flatnonzero(i == j)


def _lengthened(blocks: Sequence[Block], more: int) -> tuple[Block, ...]:
    """The blocks with so many rows more at the end of the nonneg ones."""
    sizes = {block.kind: block.size for block in blocks if block.kind in ("zero", "nonneg")}
    zero, nonneg = sizes.get("zero", 0), sizes.get("nonneg", 0) + more
    found = [Block("zero", 0, zero)] if zero else []
    found.append(Block("nonneg", zero, nonneg))
    cones = [block for block in blocks if block.kind in ("soc", "psd")]
    return (*found, *(replace(block, start=block.start + more) for block in cones))
