"""The lower end of a proof file: the certificate of a bound, with all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.certificates.dual_repair import repaired
from tightmargin.solvers.proof_files.certificate import Numbers, numbers_of
from tightmargin.solvers.proof_files.checker import Derivation, Model, ProofError, Tree
from tightmargin.solvers.proof_files.curvature_proof import curvature_of
from tightmargin.solvers.proof_files.limit_steps import derive_limits
from tightmargin.solvers.proof_files.model_document import vector
from tightmargin.solvers.proof_files.row_readings import RowReading, read_for_proof
from tightmargin.solvers.proof_files.stationarity import evaluated, stationary
from tightmargin.solvers.standard_form.standard_form import StandardForm

SHRUNK = 1e-8
TIGHT = 1e-8  # of a gap that may be 1e-6


@dataclass(frozen=True, eq=False)
class LowerEnd:
    """What the file says of the lower end, and the value that it proves."""

    value: Fraction
    parts: dict[str, Any]


class Search:
    """The certificates that can be made of multipliers, and the best of them."""

    def __init__(
        self,
        form: StandardForm,
        model: Model,
        cutoff: Fraction | None,
        readings: list[RowReading],
        curvature: list[dict[str, Any]],
    ) -> None:
        self.form, self.model, self.cutoff = form, model, cutoff
        self.readings, self.curvature = readings, curvature
        self.cones: list[dict[str, Any]] = []
        self.plain = self.derivation()
        self.derived: dict[tuple[int, ...], tuple[Derivation, list[dict[str, Any]]]] = {}
        self.best: LowerEnd | None = None

    @classmethod
    def of_rows(cls, form: StandardForm, model: Model) -> Search:
        """Of what linear rows and limits alone prove, whatever else there is."""
        return cls(form, model, None, [], [])

    @classmethod
    def of_objective(
        cls,
        form: StandardForm,
        classification: Classification,
        model: Model,
        cutoff: Fraction | None,
    ) -> Search:
        """Of bounds on a convex objective.

        Raises
        ------
        ProofError
            Curvature or a cone that is not proven.
        """
        bounds = form.lower, form.upper
        cones = [reading.cone for reading in classification.readings]
        readings = [
            read_for_proof(k, row, cone, bounds)
            for k, (row, cone) in enumerate(zip(form.quadratic, cones, strict=True))
            if cone is not None
        ]
        found = curvature_of(form.objective.Q)
        if found is None:
            raise ProofError("the objective is not proven to be convex")
        least, squares = found
        goal = {"of": "objective", "least": vector(enumerate(least.tolist())), "squares": squares}
        rows = [reading.curvature for reading in readings if reading.curvature is not None]
        return cls(form, model, cutoff, readings, [goal, *rows])

    def derivation(self) -> Tree:
        """The model with curvature and cones proven."""
        derivation = Tree(self.model, self.cutoff)
        for part in self.curvature:
            derivation.curve(part, "curvature")
        if not self.cones:
            for reading in self.readings:
                if reading.factors is not None:
                    self.cones.append(_proven_cone(derivation, reading.document()))
        for k, part in enumerate(self.cones):
            derivation.cone(part, f"cone {k}")
        return derivation

    def from_multipliers(self, conic: ConicForm, x: Array, z: Array) -> None:
        """Try the multipliers as they are, repaired, and a little smaller, until one is tight."""
        for point, multipliers in _candidates(conic, x, z):
            if not (np.isfinite(point).all() and np.isfinite(multipliers).all()):
                continue
            numbers = numbers_of(self.form, conic, self.readings, self.plain, point, multipliers)
            self.offer(numbers)
            if self.is_tight():
                return

    def is_tight(self) -> bool:
        """Whether nothing is to be gained."""
        if self.best is None or self.cutoff is None:
            return False
        unit = self.model.measure(self.best.value, self.cutoff)
        return self.cutoff - self.best.value <= Fraction(TIGHT) * unit

    def offer(self, numbers: Numbers) -> None:
        """Keep what a certificate proves, without steps and with the limits that it asks for."""
        found = stationary(self.form, self.readings, self.plain, numbers)
        if found is not None:
            self._keep(found, [])
        if self.is_tight():
            return
        *_, endless = evaluated(self.readings, self.plain, numbers)
        if not endless:
            return
        derivation, steps = self._with_limits(tuple(endless))
        if steps:
            found = stationary(self.form, self.readings, derivation, numbers)
            if found is not None:
                self._keep(found, steps)

    def _with_limits(self, columns: tuple[int, ...]) -> tuple[Derivation, list[dict[str, Any]]]:
        """The model with limits of some columns, as far as they can be had, and their steps."""
        if columns not in self.derived:
            derivation = self.derivation()
            wanted = {(j, lower) for j in columns for lower in (True, False)}
            steps = derive_limits(self.form, self.readings, derivation, wanted)
            self.derived[columns] = derivation, steps
        return self.derived[columns]

    def _keep(self, found: tuple[Fraction, Numbers], steps: list[dict[str, Any]]) -> None:
        value, numbers = found
        if self.best is None or value > self.best.value:
            parts = {
                "curvature": self.curvature,
                "cones": self.cones,
                "steps": steps,
                "bound": numbers.document(self.readings),
            }
            self.best = LowerEnd(value, {name: part for name, part in parts.items() if part})


def _proven_cone(derivation: Derivation, part: dict[str, Any]) -> dict[str, Any]:
    """The cone, lifted by what rounding may have taken from its row where it is none as it is."""
    body = derivation.model.quadratic[part["row"]][0]
    numbers = [abs(v) for v in (body.constant, *body.linear, *body.products)]
    size = float(Fraction(max(numbers), body.unit))
    n, touched = derivation.model.n, sorted({j for pair in body.pairs for j in pair})
    noise = 64 * (len(touched) + 4) * UNIT * size
    for lift in ({}, {n: noise}, dict.fromkeys([*touched, n], noise)):
        lifted = part | ({"lift": vector(lift)} if lift else {})
        try:
            derivation.cone(lifted, "cone")
        except ProofError as error:
            refused = error
        else:
            return lifted
    raise refused


def _candidates(conic: ConicForm, x: Array, z: Array) -> Iterator[tuple[Array, Array]]:
    yield x, z
    better = repaired(conic, x, z)
    yield better.x, better.z
    yield (1 - SHRUNK) * better.x, (1 - SHRUNK) * better.z
    yield x, np.zeros_like(z)
