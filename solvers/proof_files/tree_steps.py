"""What a tree's proof derives at its root, as steps of a proof file.

The kernel's rounds are taken one after the other: whatever a step may rest on there it may rest on
here. Values are not those of the kernel but what the same multipliers prove in exact arithmetic. A
row that cannot be written is replaced by the one that it was to replace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.proof_files.certificate import Numbers, numbers_of
from tightmargin.solvers.proof_files.checker import Certificate, Tree, Vector
from tightmargin.solvers.proof_files.model_document import text, vector
from tightmargin.solvers.proof_files.row_points import RowPoints
from tightmargin.solvers.proof_files.row_readings import RowReading
from tightmargin.solvers.proof_files.stationarity import evaluated, stationary
from tightmargin.solvers.proofs.dual_cone import in_dual_cone
from tightmargin.solvers.proofs.tree.derived import DerivedLimit, DerivedRow, Step, SwitchedRow
from tightmargin.solvers.proofs.tree.minorant import SparseMultipliers
from tightmargin.solvers.standard_form.standard_form import StandardForm

Document = dict[str, Any]


@dataclass(frozen=True, eq=False)
class FileRow:
    """A row a'x <= side of the kernel, and the row of the file that says it.

    Attributes
    ----------
    number : int
    sign : int
        Of its multipliers: 1 where the file has it by its lower side, -1 by its upper side.
    """

    number: int
    sign: int
    side: Fraction
    a: Vector


@dataclass
class Root:
    """The model of a file with what its steps have derived so far.

    Attributes
    ----------
    form, conic
        The model; the conic form without rows for bounds of single columns, as the kernel has it.
    known : Tree
        The checker's own, which takes every step that is written.
    steps : list of documents
    rows : list of FileRow or None
        For each row that the kernel derived; None where nothing could be written.
    """

    form: StandardForm
    conic: ConicForm
    readings: Sequence[RowReading]
    known: Tree
    steps: list[Document]
    points: RowPoints
    rows: list[FileRow | None] = field(default_factory=list)
    _longer: StandardForm | None = None

    def add(self, step: Step) -> None:
        """Write one step of the kernel, as far as it can be proven in exact arithmetic."""
        match step:
            case DerivedLimit():
                self._add_limit(step)
            case DerivedRow():
                self._add_row(step)
            case SwitchedRow():
                self._add_switch(step)

    def certificate(self, multipliers: SparseMultipliers) -> Document | None:
        """The certificate of a leaf; None where the multipliers are none."""
        return self._entry(multipliers, {})

    def _add_limit(self, step: DerivedLimit) -> None:
        j, sign = step.column, Fraction(step.sign)
        entry = self._entry(step.multipliers, {j: sign})
        if entry is None:
            return
        proven = Certificate(self.known, entry, "step").limit(j, sign)
        if proven is None:
            return
        value = rounded_down(proven) if sign > 0 else rounded_up(proven)
        now = self.known.low[j] if sign > 0 else self.known.high[j]
        if math.isfinite(value) and (now is None or sign * (Fraction(value) - now) > 0):
            made = {"certificate": entry, "columns": [[j, text(sign), text(value)]]}
            self.known.step(made, "step")
            self.steps.append(made)

    def _add_row(self, step: DerivedRow) -> None:
        a = {j: Fraction(value) for j, value in enumerate(step.a.tolist()) if value}
        entry = self._entry(step.multipliers, _negative(a))
        top = None if entry is None else self._most(entry, a)
        if entry is None or top is None:
            self.rows.append(None)
        else:
            self._join(a, Fraction(rounded_up(top)), {"certificates": [entry]})

    def _add_switch(self, step: SwitchedRow) -> None:
        """The row with the least coefficient of its binary column that is proven."""
        j, at, other, old = step.column, step.at, 1 - step.at, self._old(step.old)
        if old is None:
            self.rows.append(None)
            return
        bare = {i: value for i, value in old.a.items() if i != j}
        left = old.side - old.a.get(j, Fraction(0)) * other
        self.known.box = {j: (Fraction(at), Fraction(at))}
        entry = self._entry(step.multipliers, _negative(bare))
        top = None if entry is None else self._most(entry, bare)
        self.known.box = {}
        if entry is None or top is None:
            self.rows.append(old)
            return
        side = Fraction(rounded_up(left if at else top))
        own = Fraction(rounded_down(side - (top if at else left)))
        by_old: Document = {"rows": [[old.number, text(old.sign)]]}
        entries = [by_old, entry] if at else [entry, by_old]
        self._join(bare | {j: own}, side, {"column": j, "certificates": entries})

    def _old(self, row: int) -> FileRow | None:
        """What the file has of a row of the kernel."""
        conic, height = self.conic, len(self.conic.b)
        if row >= height:
            return self.rows[row - height]
        line = conic.A[row].tocoo()
        a = {int(i): Fraction(float(v)) for i, v in zip(line.col, line.data, strict=True) if v}
        number = int(np.concatenate([conic.equal, conic.low, conic.high])[row])
        sign = 1 if row < len(conic.equal) + len(conic.low) else -1
        return FileRow(number, sign, Fraction(float(conic.b[row])), a)

    def _most(self, entry: Document, a: Vector) -> Fraction | None:
        """The most that a'x can be at points below the cutoff."""
        used = Certificate(self.known, entry, "step")
        used.add(_negative(a).items(), 1)
        total, _, endless = used.value
        if endless or (used.mu and self.known.cutoff is None):
            return None
        return used.mu * (self.known.cutoff or 0) - total

    def _join(self, a: Vector, side: Fraction, proof: Document) -> None:
        number = len(self.known.model.rows)
        self.known.append(a, side)
        self.steps.append({"row": {"upper": text(side), "linear": vector(a)}, **proof})
        self.rows.append(FileRow(number, -1, side, a))
        self._longer = None

    def _entry(self, multipliers: SparseMultipliers, goal: Vector) -> Document | None:
        """A certificate with multipliers of the kernel, moved where columns without limits ask."""
        numbers = self._numbers(multipliers)
        if numbers is None:
            return None
        if None in self.known.low or None in self.known.high:
            *_, endless = evaluated(self.readings, self.known, numbers, goal)
            if endless:
                found = stationary(self._form(), self.readings, self.known, numbers, goal)
                numbers = numbers if found is None else found[1]
        return numbers.document(self.readings)

    def _numbers(self, multipliers: SparseMultipliers) -> Numbers | None:
        height = len(self.conic.b)
        z, x = np.zeros(height + len(self.rows)), np.zeros(self.form.n)
        z[multipliers.rows] = multipliers.z
        inside = in_dual_cone(self.conic, z[:height])
        if inside is None:
            return None
        mu = multipliers.mu
        if mu:
            x[multipliers.columns] = multipliers.x
        found = numbers_of(self.form, self.conic, self.readings, self.known, x, inside, mu)
        rows = dict(found.rows)
        for row, value in zip(self.rows, z[height:].tolist(), strict=True):
            if row is not None and value > 0:
                rows[row.number] = rows.get(row.number, 0.0) + row.sign * value
        points = self.points.of(inside, found.quadratic)
        return replace(found, rows=rows, points=points)

    def _form(self) -> StandardForm:
        """The form with the derived rows behind its own, for the repair of multipliers."""
        form = self.form
        lines, sides = self.known.model.rows, self.known.model.sides
        if self._longer is None:
            first = len(form.row_lower)
            added = sp.lil_matrix((len(lines) - first, form.n))
            for k, line in enumerate(lines[first:]):
                for j, value in line.items():
                    added[k, j] = float(Fraction(value, self.known.model.unit))
            upper = [float(side or 0) for _, side in sides[first:]]
            self._longer = replace(
                form,
                matrix=sp.vstack([form.A, added.tocsr()], format="csr"),
                row_lower=np.concatenate([form.row_lower, np.full(len(upper), -np.inf)]),
                row_upper=np.concatenate([form.row_upper, upper]),
            )
        return self._longer


def _negative(a: Vector) -> Vector:
    return {j: -value for j, value in a.items()}
