"""Conflicts of binaries: sets of which one is 1 wherever the objective is at most a cutoff.

With z_i = 0 for all i of S a model that is convex without integrality becomes a box of itself. If
the kernel proves that box to have no point of objective <= U, by the multipliers of its relaxation,

    sum_S z_i >= 1        at every point of the model of objective at most U.

Nothing but the model as it stands is asked, so that edits of it do no harm. For the 0-1 loss these
are sets of points that cannot all be kept; cuts/bound_tightening/conflicts.py finds those quicker,
from the data.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import InvalidCutError
from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.number_words import number_text
from tightmargin.printing import Page, Readable
from tightmargin.solvers.kernel.bound import (
    Rows,
    SparseMultipliers,
    minorant,
)
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.tree import (
    first_rows,
)
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.tree.node import NodeSolver

VIOLATED = 1e-4  # least violation of a row that is worth one
OUTWARD = 1e-9  # of the cutoff, by which a box must be dearer than it


def conflicts(model: pyo.ConcreteModel, z: Any, *, cutoff: float) -> Conflicts:
    """The separator of sets of binaries that cannot all be 0 below a cutoff, for `separate`.

    It finds most at points of relaxations: `fractional=True`.

    Parameters
    ----------
    model : ConcreteModel
        The one that is solved, a minimisation that is convex without integrality.
    z : Pyomo variable
        Of the model, binary.
    cutoff : float
        Objective of a known point, say; rows hold where the objective is no larger.

    Raises
    ------
    ValueError
        Another model, binaries of another one, or a cutoff that is not finite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=10, d=2, sigma=0.5, seed=1)
    >>> model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="penalised")
    >>> best = tm.solve(model).objective
    >>> cuts = tm.cuts.conflicts(model, model.z, cutoff=best)
    >>> tm.separate(model, cuts, fractional=True).certificate.verdict.value
    'CERTIFIED'
    """
    if not (isinstance(cutoff, float | int) and math.isfinite(cutoff)):
        raise ValueError(f"cutoff must be a finite number, got {cutoff!r}")
    if getattr(z, "ctype", None) is not pyo.Var or z.model() is not model:
        raise ValueError("z must be a variable of the model")
    other = next((v.name for v in z.values() if not v.is_binary()), None)
    if other is not None:
        raise ValueError(f"z must be binary, and {other} is not")
    form = standard_form(model)
    subject = Subject(form)
    rows = first_rows(subject, math.inf)
    if rows is None:
        raise ValueError(f"conflicts: {subject.classification.reason}")
    if form.sense < 0:
        raise ValueError("conflicts are for models that minimise")
    return Conflicts(z, float(cutoff), form, rows)


class Conflicts(Readable):
    """What `conflicts` makes: a function of a point, and what it proves."""

    name = "conflicts"
    problem = "the model as it stands"

    def __init__(self, z: Any, cutoff: float, form: StandardForm, rows: Rows) -> None:
        self._z, self._cutoff, self._form, self._rows = z, cutoff, form, rows

    def _page(self) -> Page:
        facts = [("variables", f"{len(self._z)} of {self._z.name}")]
        return Page(f"Separator {self.name} up to {number_text(self._cutoff)}", facts)

    @cached_property
    def _solver(self) -> NodeSolver:
        return NodeSolver(self._rows, np.ones(len(self._rows.conic.b), dtype=bool))

    @cached_property
    def _columns(self) -> Index:
        return self._form.columns.of(self._z)[0]

    def __call__(self, point: Any) -> list[ProvenRow]:
        """A conflict that a point misses, if one is found among its smallest z; else none."""
        z = np.asarray(point[self._z], dtype=np.float64)
        order = [int(i) for i in np.argsort(z, kind="stable") if self._columns[i] >= 0]
        found = self._shortest(order)
        if found is None:
            return []
        points, multipliers = self._least(found)
        if float(z[points].sum()) >= 1 - VIOLATED:
            return []
        given = list(self._z.values())
        relation = pyo.quicksum(given[i] for i in points) >= 1
        return [ProvenRow(relation, lambda: self._verify(points, multipliers), self._cutoff)]

    def _shortest(self, order: list[int]) -> list[int] | None:
        """Shortest beginning that cannot be 0, by bisection; None where all can."""
        if not order or self._proof(order) is None:
            return None
        low, high = 0, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._proof(order[:middle]) is None else (low, middle)
        return order[:high]

    def _least(self, points: list[int]) -> tuple[list[int], SparseMultipliers]:
        """The same without what is not needed, and the multipliers that prove it."""
        proof = self._proof(points)
        assert proof is not None
        for i in list(points):
            rest = [j for j in points if j != i]
            without = self._proof(rest) if rest else None
            if without is not None:
                points, proof = rest, without
        return sorted(points), proof

    def _proof(self, points: list[int]) -> SparseMultipliers | None:
        """Multipliers by which nothing with z = 0 at some places is as cheap as the cutoff."""
        low, high = self._box(points)
        if (low > high).any():
            return None
        found = self._solver.solve(low, high)
        if found is None or not self._closes(found.multipliers, low, high):
            return None
        return found.multipliers

    def _box(self, points: list[int]) -> tuple[Array, Array]:
        high = self._rows.high.copy()
        high[self._columns[points]] = 0.0
        return self._rows.low, high

    def _closes(self, multipliers: SparseMultipliers, low: Array, high: Array) -> bool:
        found = minorant(self._rows, multipliers, box=(low, high))
        if found is None:
            return False
        least = found.least(low, high)
        if multipliers.mu == 0:
            return least > 0
        room = OUTWARD * max(1.0, abs(self._cutoff), abs(self._form.objective.constant))
        limit = self._cutoff - self._form.objective.constant + room
        return multipliers.mu == 1 and least > limit

    def _verify(self, points: list[int], multipliers: SparseMultipliers) -> None:
        """Have the kernel replay the multipliers.

        Raises InvalidCutError: they do not prove the box to be dearer than the cutoff.
        """
        if not self._closes(multipliers, *self._box(points)):
            names = ", ".join(self._form.columns.name(int(self._columns[i])) for i in points)
            raise InvalidCutError(
                f"conflicts: the multipliers do not prove that {names} cannot all be 0 below "
                f"{self._cutoff!r}"
            )

    # --- what it proves of a point ----------------------------------------------------------------

    def refusal(self, form: StandardForm) -> str:
        """Why its rows need not hold: the model was changed since."""
        same = form.n == self._form.n and np.array_equal(form.integer, self._form.integer)
        if same:
            parts = ("lower", "upper", "row_lower", "row_upper")
            pairs = [(getattr(form, part), getattr(self._form, part)) for part in parts]
            pairs += [(form.objective.a, self._form.objective.a)]
            same = all(np.array_equal(own, other) for own, other in pairs)
        same = same and not (form.A != self._form.A).nnz
        same = same and not (form.objective.Q != self._form.objective.Q).nnz
        same = same and form.objective.constant == self._form.objective.constant
        if not same or form.quadratic or self._form.quadratic or form.psd:
            return "the model is not the one that conflicts were asked for, or it has curved rows"
        return ""

    def completed(self, form: StandardForm, x: Array) -> Array | None:
        """The point itself: a row that it misses is none of the model's."""
        return x
