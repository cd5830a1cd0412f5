"""Sets of points that a hyperplane can leave beyond a level: those the ramp loss may cap.

    S(w, b) = {i : u_i < -1},      u_i = y_i (<w, x_i> + b)

Every S(w, b) is among the sets returned here, except those above a stated weight. Let v = (w, b)
and take the polyhedron {u_i <= -1 on S, u_i >= -1 elsewhere} it lies in. The rows (x_i, 1) span
all k dimensions (a feature that the others determine changes no S and is left out), so the
polyhedron contains no line and has a vertex, at which k rows A with
independent (x_i, 1) have u_i = -1. There every i with u_i < -1 is in S and every i with u_i > -1 is
not: S is {i : u_i < -1 at the vertex of A} together with some of the points that have u_i = -1 at
it. So all A, each with all subsets of the points on its hyperplane, give every S: about n^k sets.

One vertex is special. Where there is an intercept, k points of one class determine w = 0, b = -y,
and all points of that class have u_i = -1 there. Around it u_i + 1 is linear in the direction, so
the same argument goes one dimension lower: the cone of directions in which S goes down and the
rest of the class up has an extreme ray, on which k - 1 independent points keep u_i = -1.

Rounding. A vertex is computed with an error bound from its singular values; points within it of
u_i = -1 are tried on both sides, which only adds sets. Where the equations are nearly dependent the
vertex is computed again in rational numbers, or found to be none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.solvers.zero_one.enumeration.active_sets import Points

RATIONAL_LIMIT = 2_000  # vertices that are computed in rational numbers
MOST_ON_A_VERTEX = 12  # points on one hyperplane; 2^12 sets
SAFE_CONDITION = 1e9
AT_ONCE = 4_000  # vertices of a batch


def capped_sets(data: TrainingData, points: Points, rows: Array, most: float) -> Mask | None:
    """Every set {i : u_i < -1} of weight below `most`, and more; (B, m) over distinct points.

    Parameters
    ----------
    points : Points
        The distinct points of the data.
    rows : array (m, k)
        Their coordinates in which u_i = y_i <row_i, v>, the constant last where there is one.
    most : float
        Sets at or above this weight are not needed.

    Returns
    -------
    array of bool or None
        None when too many points lie on common hyperplanes, or all of them in one place.
    """
    search = _Sets(data, points, rows, most)
    search.drop_dependent_columns()
    if search.rows.shape[1] < (1 if points.intercept == "none" else 2):
        return None
    families: list[NDArray[np.uint8]] = [np.zeros((0, (len(rows) + 7) // 8), dtype=np.uint8)]
    for members, find in search.batches():
        found = find(members)
        if found is None:
            return None
        families.append(np.unique(np.packbits(found, axis=1), axis=0))
    if not search.spans:
        return None
    unique = np.unique(np.concatenate(families), axis=0)
    return np.unpackbits(unique, axis=1, count=len(rows)).astype(bool)


@dataclass(eq=False)
class _Sets:
    data: TrainingData
    points: Points
    rows: Array
    most: float
    rationals: int = 0
    spans: bool = False

    def drop_dependent_columns(self) -> None:
        """Keep columns that span the others' values at the points, in exact arithmetic."""
        columns = [list(column) for column in zip(*self.exact, strict=True)]
        order = [len(columns) - 1, *range(len(columns) - 1)]  # a constant stays
        kept: list[int] = []
        basis: list[tuple[int, list[Fraction]]] = []
        for j in order:
            rest = columns[j]
            for pivot, other in basis:
                factor = rest[pivot] / other[pivot]
                rest = [a - factor * c for a, c in zip(rest, other, strict=True)]
            first = next((i for i, value in enumerate(rest) if value), None)
            if first is not None:
                basis.append((first, rest))
                kept.append(j)
        chosen = sorted(kept)
        self.rows = self.rows[:, chosen]
        self.exact = [[row[j] for j in chosen] for row in self.exact]

    @cached_property
    def G(self) -> Array:  # noqa: N802  (the letter of the module's neighbours)
        """Rows times labels: u = G v."""
        return self.points.y[:, None] * self.rows

    def batches(self) -> Iterator[tuple[Index, Callable[[Index], Mask | None]]]:
        """Subsets of points, with what makes sets of them: vertices, and rays of one class."""
        m, k, n_pos = *self.rows.shape, self.points.n_pos
        intercept = self.points.intercept != "none"
        for members in _subsets(range(m), k):
            if intercept:  # sorted, positive points first: both classes, or the special vertex
                members = members[(members[:, 0] < n_pos) & (members[:, -1] >= n_pos)]
            if len(members):
                yield members, self._at_vertices
        if intercept:
            for one in (range(n_pos), range(n_pos, m)):
                for members in _subsets(one, k - 1):
                    yield members, self._on_rays

    def _on_rays(self, members: Index) -> Mask | None:
        """Sets around the vertex w = 0 of a class, along the rays of k - 1 of its points."""
        own = self.points.y == self.points.y[members[0, 0]]
        k = self.rows.shape[1]
        _, sigma, V = np.linalg.svd(self.rows[members])
        good = sigma[:, -1] * SAFE_CONDITION > sigma[:, 0]
        ray = V[good, -1]
        size = float(np.linalg.norm(self.rows, axis=1).max())
        error = 64 * k * EPS * size * (1 + sigma[good, 0] / sigma[good, -1])
        found: list[Mask | None] = []
        for sign in (1.0, -1.0):
            u = sign * ray @ self.G.T
            on = (np.abs(u) <= error[:, None]) & own
            on[np.arange(len(ray))[:, None], members[good]] = True
            below = (u < 0) & own & ~on
            found += self._with_subsets(below, on, members[good])
        for some in members[~good]:
            exact = self._rational_ray(some, own)
            if exact is None:
                return None
            found += [_subsets_of(below, on) for below, on in exact]
        return self._affordable(found)

    def _affordable(self, found: Sequence[Mask | None]) -> Mask | None:
        """All sets of a weight below `most`; None when one is missing."""
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return None
        sets = np.concatenate(parts)
        return sets[sets @ self.points.weight < self.most]

    def _at_vertices(self, members: Index) -> Mask | None:
        """Candidates for S* at the vertices of some subsets; None when they are too many."""
        y, k = self.points.y, self.rows.shape[1]
        M = self.rows[members]
        U, sigma, V = np.linalg.svd(M)
        good = sigma[:, -1] * SAFE_CONDITION > sigma[:, 0]
        self.spans |= bool(good.any())
        doubtful = members[~good]
        members, M, U, sigma, V = members[good], M[good], U[good], sigma[good], V[good]
        right = -y[members]
        inner = np.einsum("pji,pj->pi", U, right) / sigma
        v = np.einsum("pij,pi->pj", V, inner)
        length = np.linalg.norm(v, axis=1)
        residual = np.linalg.norm(np.einsum("pij,pj->pi", M, v) - right, axis=1)
        rounding = 32 * k * EPS * (sigma[:, 0] * length + 1)
        moved = 2 * (residual + rounding) / sigma[:, -1]
        size = float(np.linalg.norm(self.rows, axis=1).max())
        error = size * moved + 32 * k * EPS * (size * length + 1)
        u = v @ self.G.T
        on = np.abs(u + 1) <= error[:, None]
        on[np.arange(len(members))[:, None], members] = True
        below = (u < -1) & ~on
        found: list[Mask | None] = [*self._with_subsets(below, on, members)]
        for some in doubtful:
            self.rationals += 1
            if self.rationals > RATIONAL_LIMIT:
                return None
            exact = self._rational(some)
            if exact is None:
                continue
            self.spans = True
            found.append(_subsets_of(*exact))
        return self._affordable(found)

    def _with_subsets(self, below: Mask, on: Mask, members: Index) -> Iterator[Mask | None]:
        """Every vertex with every subset of the points on its hyperplane."""
        cheap = below @ self.points.weight < self.most
        below, on, members = below[cheap], on[cheap], members[cheap]
        plain = on.sum(axis=1) == members.shape[1]
        each = np.arange(int(plain.sum()))[:, None]
        yield np.zeros((0, below.shape[1]), dtype=bool)
        for size in range(members.shape[1] + 1):
            for chosen in combinations(range(members.shape[1]), size):
                part = below[plain].copy()
                part[each, members[plain][:, list(chosen)]] = True
                yield part
        for k in np.flatnonzero(~plain):
            yield _subsets_of(below[k], np.flatnonzero(on[k]))

    @cached_property
    def exact(self) -> list[list[Fraction]]:
        """Rows of the points as they are in the data, without rounding."""
        last = [Fraction(1)] if self.points.intercept != "none" else []
        rows = self.data.X[self.points.original].tolist()
        return [[*map(Fraction, row), *last] for row in rows]

    def _margins(self, v: list[Fraction]) -> list[Fraction]:
        return [
            int(label) * sum((x * t for x, t in zip(row, v, strict=True)), Fraction(0))
            for label, row in zip(self.points.y, self.exact, strict=True)
        ]

    def _rational(self, members: Index) -> tuple[Mask, Index] | None:
        """Points below -1 and on it at the exact vertex of some points; None when there is none."""
        v = _solve([self.exact[i] for i in members], [-int(self.points.y[i]) for i in members])
        if v is None:
            return None
        u = self._margins(v)
        return np.array([t < -1 for t in u]), np.flatnonzero([t == -1 for t in u])

    def _rational_ray(self, members: Index, own: Mask) -> list[tuple[Mask, Index]] | None:
        """The same on both rays of some points: none when they are dependent; None: too many."""
        self.rationals += 1
        if self.rationals > RATIONAL_LIMIT:
            return None
        for j in range(self.rows.shape[1]):  # the entry that is not 0 is set to 1
            system = [[x for i, x in enumerate(self.exact[p]) if i != j] for p in members]
            rest = _solve(system, [-self.exact[p][j] for p in members])
            if rest is not None:
                u = self._margins([*rest[:j], Fraction(1), *rest[j:]])
                on = np.flatnonzero([t == 0 and mine for t, mine in zip(u, own, strict=True)])
                down, up = np.array([t < 0 for t in u]), np.array([t > 0 for t in u])
                return [(down & own, on), (up & own, on)]
        return []


def _subsets(points: range, size: int) -> Iterator[Index]:
    """Subsets of points, ascending, many at a time."""
    subsets = combinations(points, size)
    while batch := list(islice(subsets, AT_ONCE)):
        yield np.array(batch, dtype=np.intp).reshape(len(batch), size)


def _subsets_of(below: Mask, on: Index) -> Mask | None:
    """`below` with every subset of the points `on`; None when there are too many."""
    if len(on) > MOST_ON_A_VERTEX:
        return None
    sets = np.repeat(below[None, :], 2 ** len(on), axis=0)
    bits = (np.arange(2 ** len(on))[:, None] >> np.arange(len(on))) & 1
    sets[:, on] = bits.astype(bool)
    return sets


def _solve(rows: list[list[Fraction]], right: list[Any]) -> list[Fraction] | None:
    """Gauss's elimination in rational numbers; None for dependent rows."""
    table = [[*row, Fraction(side)] for row, side in zip(rows, right, strict=True)]
    size = len(table)
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        head = table[k][k]
        table[k] = [x / head for x in table[k]]
        for i in range(size):
            factor = table[i][k]
            if i != k and factor:
                table[i] = [a - factor * c for a, c in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]
