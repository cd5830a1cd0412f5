"""Concavity cuts over (w, b, rho, xi): deeper a piece, and every cone is simplicial.

Q has 2 n + 1 rows,

    margin i   y_i (<w, x_i> + b) - rho + xi_i >= 0,    xi i   xi_i >= 0,
    level      -nu rho + sum c_i xi_i <= 1,

and the cuts; as many independent rows as there are variables, tight at a vertex, make a cone of
exactly so many rays. With t_j the slack of row j and theta_j the step at which the weight part of
ray j makes a weight of norm gamma, the cut is sum t_j / theta_j >= 1; rays that leave the weight
alone drop out. The proof is that of cuts/generation/concavity.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.cut.scaling import scaled_cut
from tightmargin.cuts.generation.concavity import BACK_OFF, CONDITION_LIMIT
from tightmargin.cuts.generation.cone import independent_rows, steps_to_norm
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.errors import NumberError

TIGHT = 1e-8  # relative to the largest terms of a row
LATER = 1e-3  # rows without a multiplier are taken only where the others do not suffice
NO_WEIGHT = 1e-13  # relative length of a ray's weight part that is rounding


@dataclass(frozen=True, eq=False)
class LiftedRows:
    """Rows a z <= side of Q and its cuts, z = (weight, b, rho, xi), by name.

    The weight is scaled by `unit` and points are centred, as in cuts/relaxation/relaxation.py;
    without a free intercept z has no b.
    """

    problem: PolarProblem
    unit: float
    cuts: Mapping[str, Cut]

    @property
    def width(self) -> int:
        """Number of variables."""
        hulls = self.problem.hulls
        return hulls.k + hulls.free + 1 + len(hulls.caps)

    def every(self) -> tuple[list[str], Array, Array]:
        """Names, rows (m, width) and sides (m,)."""
        hulls = self.problem.hulls
        n, eye = len(hulls.caps), np.eye(len(hulls.caps))
        free = [-hulls.y[:, None]] if hulls.free else []
        margins = np.hstack([-hulls.signed / self.unit, *free, np.ones((n, 1)), -eye])
        slacks = np.hstack([np.zeros((n, self.width - n)), -eye])
        level = np.r_[np.zeros(self.width - n - 1), -hulls.nu, hulls.caps]
        names = [f"margin {i}" for i in range(n)] + [f"xi {i}" for i in range(n)]
        rows = np.vstack([margins, slacks, level, *map(self.row, self.cuts.values())])
        sides = np.r_[np.zeros(2 * n), 1.0, [cut.rhs for cut in self.cuts.values()]]
        return [*names, "level", *self.cuts], rows, sides

    def row(self, cut: Cut) -> Array:
        """A cut as a row over z."""
        problem, parts = self.problem, dict(cut.coefficients)
        w = problem.weight_part(parts)
        b = float(parts.get("b", 0.0)) if problem.hulls.free else 0.0
        if problem.hulls.free:
            w = w - b * problem.shift
        free = [b] if problem.hulls.free else []
        xi = parts.get("xi", np.zeros(len(problem.hulls.caps)))
        return np.r_[w / self.unit, free, float(parts.get("rho", 0.0)), xi]

    def in_weight(self, rows: Array) -> Array:
        """Rows (m, width) over z for a weight that is not scaled."""
        k = self.problem.hulls.k
        return np.hstack([rows[:, :k] * self.unit, rows[:, k:]])

    def by_name(self, row: Array) -> dict[str, Array]:
        """A row over z as coefficients of the variables of the data's own models."""
        problem, k = self.problem, self.problem.hulls.k
        w, rest = row[:k] * self.unit, row[k:]
        named: dict[str, Array] = {}
        if problem.hulls.free:
            w = w + rest[0] * problem.shift
            named, rest = {"b": np.array(rest[0])}, rest[1:]
        return problem.split(w) | named | {"rho": np.array(rest[0]), "xi": rest[1:]}


def tight_basis(
    rows: LiftedRows, z: Array, used: Collection[str] = ()
) -> tuple[list[str], Array, Array] | None:
    """Names, rows and sides of as many independent tight rows as there are variables.

    Those that are used, having a multiplier, come first: at a vertex that is longest along itself
    the norm falls along each of their rays.
    """
    names, every, sides = rows.every()
    size = np.abs(every) @ np.abs(z) + np.abs(sides)
    tight = np.flatnonzero(np.abs(every @ z - sides) <= TIGHT * np.maximum(size, 1.0))
    unit = every[tight] / np.linalg.norm(every[tight], axis=1, keepdims=True)
    preferred = np.ones(len(tight))
    if used:
        preferred[[names[i] not in used for i in tight]] = LATER
    basis = independent_rows(unit * preferred[:, None], rows.width)
    if basis is None:
        return None
    chosen = tight[np.sort(basis)]
    return [names[i] for i in chosen], every[chosen], sides[chosen]


def lifted_cut(
    rows: LiftedRows,
    basis: tuple[Sequence[str], Array, Array],
    gamma: float,
    reach: Mapping[str, Array] | None = None,
) -> Cut | None:
    """The concavity cut of the vertex where the rows of a basis meet.

    Parameters
    ----------
    rows : LiftedRows
        The rows of Q and of the cuts so far.
    basis : (names, rows, sides)
        As many tight rows as there are variables; `tight_basis` finds them at a point.
    gamma : float
        Weights longer than that are kept.
    reach : mapping, optional
        Largest |value| of each variable over Q.

    Returns
    -------
    Cut or None
        None where the vertex is longer than gamma or the basis is too near to singular.

    Examples
    --------
    >>> import numpy as np
    >>> import tightmargin as tm
    >>> from tightmargin.cuts.cut.polar_problem import polar_problem
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> problem = polar_problem(data, nu=0.1)
    >>> from tightmargin.cuts.generation.lifted_concavity import LiftedRows, tight_basis
    >>> w = tm.search.cutting_plane(data, nu=0.1).cuts[0].origin.vertex
    >>> point = problem.point(w)
    >>> z = np.r_[w, point["b"] + w @ problem.shift, point["rho"], point["xi"]]
    >>> rows = LiftedRows(problem, 1.0, {})
    >>> basis, reach = tight_basis(rows, z), {name: np.array(1e3) for name in point}
    >>> cut = tm.cuts.lifted_cut(rows, basis, 1.01 * np.linalg.norm(w), reach)
    >>> bool(cut.violation(point) > 0)
    True
    """
    names, chosen, sides = basis
    problem, unit, k = rows.problem, rows.unit, rows.problem.hulls.k
    length = np.linalg.norm(chosen, axis=1)
    chosen, sides = chosen / length[:, None], sides / length
    if np.linalg.cond(chosen) > CONDITION_LIMIT:
        return None
    z = np.linalg.solve(chosen, sides)
    rays = -np.linalg.inv(chosen)[:k].T
    vertex, limit = z[:k], gamma * unit
    if not float(vertex @ vertex) < limit**2:
        return None
    rays[np.linalg.norm(rays, axis=1) <= NO_WEIGHT * float(np.abs(rays).max())] = 0.0
    theta = steps_to_norm(vertex, rays, limit)
    inverse = 1.0 / theta
    row, side = inverse @ chosen, float(inverse @ sides) - 1.0
    at_weight = row[:k]
    depth = 1.0 / (float(np.linalg.norm(at_weight)) * limit)
    side += BACK_OFF * (float(np.abs(row) @ np.abs(z)) + float(np.linalg.norm(at_weight)) * limit)
    parents = [cut.number for name, cut in rows.cuts.items() if name in names]
    origin = CutOrigin(
        problem.fingerprint, "lifted", vertex / unit, rays / unit, theta, gamma,
        depth=depth, rows=tuple(names), parents=tuple(parents), cone=rows.in_weight(basis[1]),
        sides=basis[2], shift=problem.shift if problem.hulls.free else np.zeros(0),
    )  # fmt: skip
    try:
        return scaled_cut(Kind.CONCAVITY, rows.by_name(row), side, origin, reach)
    except NumberError:
        return None
