"""What concavity cuts remove of a polygon: a model of two variables with a concave objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.concave.cut_loop.cutting_plane import CutLoop
from tightmargin.cuts.concave.cut_loop.explicit_rows import ExplicitRows
from tightmargin.cuts.concave.reading import ConcaveProgram, read_concave
from tightmargin.cuts.concave.root_box import root_box
from tightmargin.cuts.proofs import CUT, ConcavityCut, cuts_bound
from tightmargin.experiments.plots.plane_polygons import clipped
from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.model.reader import refuse_other_objects, standard_form

SAME = 1e-9  # of the width of the polygon: corners nearer to one another are one
ON_SIDE = 1e-7  # relative: a point so near to a row lies on it


@dataclass(frozen=True, eq=False, repr=False)
class PolygonCut(Printed):
    """A concavity cut, and where it comes from.

    Attributes
    ----------
    normal : array (2,)
    side : float
        The cut keeps normal'x >= side.
    vertex : array (2,)
        Of what was left, which it removes.
    ends : array (2, 2)
        Where it meets the two edges from there; the objective is not below the level there.
    at_corner : bool
        Whether the vertex is one of the polygon, and not one that cuts have made.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> cut = tm.plots.polygon_cuts(model).cuts[0]
    >>> bool(cut.normal @ cut.vertex < cut.side)
    True
    """

    normal: Array
    side: float
    vertex: Array
    ends: Array
    at_corner: bool


@dataclass(frozen=True, eq=False, repr=False)
class PolygonCuts(Printed):
    """Concavity cuts over a polygon, in their order.

    Attributes
    ----------
    names : tuple of str
        Of the two variables.
    rows, sides : arrays (k, 2), (k,)
        The polygon {x : rows x >= sides}.
    cuts : tuple of PolygonCut
    rests : tuple of arrays (m, 2)
        Corners of what is left, counterclockwise: of the polygon, after one cut, after two, and so
        on; no corners where nothing is left.
    best : array (2,)
        The best point.
    level : float
        What the last cut keeps the objective above: the objective of the best point, less the
        tolerance.
    proven : bool
        Whether the kernel has checked every cut, and that nothing is left.
    square, line, constant : array (2, 2), array (2,), float
        The objective x'(square)x + line'x + constant.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> run = tm.plots.polygon_cuts(model)
    >>> run.proven, len(run.rests[0]), len(run.rests[-1])
    (True, 4, 0)
    """

    names: tuple[str, str]
    rows: Array
    sides: Array
    cuts: tuple[PolygonCut, ...]
    rests: tuple[Array, ...]
    best: Array
    level: float
    proven: bool
    square: Array
    line: Array
    constant: float

    def values(self, points: Array) -> Array:
        """The objective (m,) at points (m, 2)."""
        squares = ((points @ self.square) * points).sum(axis=1)
        return np.asarray(squares + points @ self.line + self.constant)

    def segments(self, after: int) -> Array:
        """Ends (s, 2, 2) of what so many cuts leave of the sides of the polygon."""
        rest = self.rests[after]
        if len(rest) == 0:
            return np.zeros((0, 2, 2))
        size = np.abs(rest) @ np.abs(self.rows).T + np.abs(self.sides)
        on = np.abs(rest @ self.rows.T - self.sides) <= ON_SIDE * size
        whole = (on & np.roll(on, -1, axis=0)).any(axis=1)
        return np.stack([rest, np.roll(rest, -1, axis=0)], axis=1)[whole]


def polygon_cuts(model: pyo.ConcreteModel, *, cut_limit: int = 50, seed: int = 0) -> PolygonCuts:
    """Run concavity cuts over a model of two variables, and keep what each of them removes.

    The cuts are those of ``minimise_concave(model, method="cutting-plane")``.

    Parameters
    ----------
    model : ConcreteModel
        Two variables, linear rows, a concave quadratic objective.
    cut_limit : int
        Cuts at most.
    seed : int
        Of the directions in which vertices are looked for.

    Returns
    -------
    PolygonCuts

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        Other rows or objectives, more variables or fewer, a polygon without an inside or without
        an end.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> tm.plots.polygon_cuts(model).best.tolist()
    [2.0, 2.0]
    """
    if type(cut_limit) is not int or cut_limit < 1:
        raise ValueError(f"cut_limit must be a whole number of at least 1, got {cut_limit!r}")
    refuse_other_objects("polygon_cuts", model)
    program = read_concave(standard_form(model))
    form = program.form
    if form.n != 2:
        raise ValueError(f"the model has {form.n} variables: only those of two can be drawn")
    if len(program.constants):
        raise ValueError(
            f"row {form.quadratic[0].data.name} is quadratic: a polygon has linear ones"
        )
    corners = _corners(program)
    loop = CutLoop(program, root_box(program), absolute_gap=0.0, seed=seed)
    loop.run(time_limit=None, cut_limit=cut_limit)
    rests = [corners]
    for cut in loop.cuts:
        rests.append(_distinct(clipped(rests[-1], -cut.normal, -cut.side)))
    known = np.isfinite(loop.rows.sides) & np.array([name.kind != CUT for name in loop.rows.names])
    constant, proof = form.objective.constant, loop.proof()
    proven = proof is not None and cuts_bound(form, proof) is not None
    return PolygonCuts(
        (form.columns.name(0), form.columns.name(1)), loop.rows.rows[known], loop.rows.sides[known],
        tuple(_drawn(loop, cut) for cut in loop.cuts if isinstance(cut, ConcavityCut)),
        tuple(rests), np.asarray(loop.best.x),
        loop.best.target + constant, proven,
        form.objective.Q.toarray(), form.objective.a, constant,
    )  # fmt: skip


def _corners(program: ConcaveProgram) -> Array:
    """Corners of the polygon, counterclockwise."""
    rows = ExplicitRows(program)
    ends = [rows.vertex(sign * axis) for sign in (1.0, -1.0) for axis in np.eye(2)]
    if any(end is None for end in ends):
        raise ValueError("the polygon is empty, or has no end: it cannot be drawn")
    (left, _), (_, low), (right, _), (_, high) = [np.asarray(end) for end in ends]
    polygon = np.array([[left, low], [right, low], [right, high], [left, high]])
    known = np.isfinite(rows.sides)
    for row, side in zip(rows.rows[known], rows.sides[known], strict=True):
        polygon = clipped(polygon, -row, -side)
    if len(polygon) == 0:
        raise ValueError("the polygon has no inside: it cannot be drawn")
    return _distinct(polygon)


def _distinct(polygon: Array) -> Array:
    """A polygon without corners that are the same to rounding."""
    if len(polygon) == 0:
        return polygon
    step = np.abs(polygon - np.roll(polygon, 1, axis=0)).max(axis=1)
    return polygon[step > SAME * float(np.ptp(polygon, axis=0).max())]


def _drawn(loop: CutLoop, cut: ConcavityCut) -> PolygonCut:
    """A cut with its vertex, and where it meets the edges from there."""
    places = [loop.rows.names.index(name) for name in cut.basis]
    basis = loop.rows.rows[places]
    vertex = np.linalg.solve(basis, loop.rows.sides[places])
    rays = np.linalg.inv(basis).T
    steps = (cut.side - cut.normal @ vertex) / (rays @ cut.normal)
    ends = vertex + rays * steps[:, None]
    of_cuts = any(name.kind == CUT for name in cut.basis)
    return PolygonCut(cut.normal, cut.side, vertex, ends, not of_cuts)
