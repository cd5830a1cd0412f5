"""Random edits that the conflict search takes: what is done to a model, and the same as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tests.references.brute_force import zero_one_beside
from tightmargin.formulations import CATALOGUE, TrainingData

Array = NDArray[np.float64]
KINDS = ("row", "range", "equation", "bound", "fixed", "decided", "count", "redundant", "of b")


@dataclass
class SideEdit:
    """Rows G (w, b) <= h, decided points and counts, and how a model gets them."""

    data: TrainingData
    penalty: float
    intercept: str
    kinds: tuple[str, ...]
    rows: list[tuple[Array, float, float, str]] = field(default_factory=list)
    decided: dict[int, int] = field(default_factory=dict)
    counts: list[tuple[list[int], int]] = field(default_factory=list)

    @property
    def sides(self) -> tuple[Array, Array, Array]:
        """Rows over (w, b), or over w, with their two ends."""
        k = self.data.d + (self.intercept != "none")
        G = np.array([row[:k] for row, *_ in self.rows]).reshape(-1, k)
        low, high = (np.array([float(row[j]) for row in self.rows]) for j in (1, 2))
        return G, low, high

    def allows(self, z: Array) -> bool:
        """Whether decided points and counts leave a choice of z."""
        right = all(z[i] == value for i, value in self.decided.items())
        return right and all(z[points].sum() <= most for points, most in self.counts)

    def optimum(self, *, without: int | None = None) -> float:
        """By brute force; `without` leaves one of the two-sided rows out."""
        kept = [row for k, row in enumerate(self.rows) if k != without]
        other = SideEdit(
            self.data, self.penalty, self.intercept, self.kinds, kept, self.decided, self.counts
        )
        sides = other.sides
        return zero_one_beside(self.data, self.penalty, self.intercept, sides, other.allows)

    def model(self, entry: str = "zero_one_big_m", **words: Any) -> pyo.ConcreteModel:
        """A model of the catalogue after the edit."""
        words = {"intercept": self.intercept, "penalty": self.penalty, **words}
        if entry == "zero_one_big_m":
            words = {"big_m": "derived", **words}
        m = CATALOGUE[entry].build(self.data, **words)
        for k, (row, low, high, kind) in enumerate(self.rows):
            self._write(m, f"side{k}", row, low, high, kind)
        for i, value in self.decided.items():
            m.z[i].fix(value)
        for k, (points, most) in enumerate(self.counts):
            m.add_component(
                f"count{k}", pyo.Constraint(expr=2 * sum(m.z[i] for i in points) <= 2 * most + 1)
            )
        return m

    def _write(
        self, m: pyo.ConcreteModel, name: str, row: Array, low: float, high: float, kind: str
    ) -> None:
        variables = [*m.w.values(), *([m.b] if self.intercept != "none" else [])]
        if kind in ("bound", "fixed"):
            (j,) = np.flatnonzero(row).tolist()
            if kind == "fixed":
                variables[j].fix(high)
            elif high < np.inf:
                variables[j].setub(high)
            else:
                variables[j].setlb(low)
            return
        body = sum(float(a) * v for a, v in zip(row, variables, strict=False) if a)
        if low == high:
            row_of = body == high
        elif low == -np.inf:
            row_of = body <= high
        elif high == np.inf:
            row_of = body >= low
        else:
            row_of = pyo.inequality(low, body, high)
        m.add_component(name, pyo.Constraint(expr=row_of))


def side_edit(seed: int) -> SideEdit:
    """Every third seed has another treatment of the intercept; one to three statements."""
    rng = np.random.default_rng(seed)
    intercept = ("penalised", "free", "none")[seed % 3]
    n, d = int(rng.integers(6, 8)), int(rng.integers(1, 4))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.5 * y[:, None]
    if seed % 4 == 0:
        X = np.round(2 * X) / 2  # ties
    if seed % 5 == 0:
        X = X + 3.0 * rng.normal(size=d)
    penalty = float(rng.choice([0.4, 1.0, 3.0]))
    kinds = tuple(rng.choice(KINDS, size=int(rng.integers(1, 4)), replace=False).tolist())
    edit = SideEdit(TrainingData(X, y), penalty, intercept, kinds)
    for kind in kinds:
        if kind in ("decided", "count"):
            _add_to_z(edit, kind, rng)
        else:
            _add_row(edit, kind, rng)
    if not (edit.rows or edit.decided or edit.counts):
        _add_row(edit, "row", rng)
    return edit


def _add_to_z(edit: SideEdit, kind: str, rng: np.random.Generator) -> None:
    n = edit.data.n
    if kind == "decided":
        edit.decided[int(rng.integers(n))] = int(rng.integers(2))
        return
    points = list(range(n)) if rng.random() < 0.6 else [0, 2, 3]
    edit.counts.append((points, int(rng.integers(3))))


def _add_row(edit: SideEdit, kind: str, rng: np.random.Generator) -> None:
    d = edit.data.d
    free = edit.intercept != "none"
    row, single, held = np.zeros(d + 1), np.zeros(d + 1), np.zeros(d + 1)
    # In 64ths, so that an equation stays one in doubles where a variable in it is fixed.
    row[:d] = np.round(64 * rng.normal(size=d)) / 64
    row[d] = np.round(64 * rng.normal()) / 64 * free * rng.choice([0.0, 1.0])
    single[int(rng.integers(d))] = 1.0
    held[0] = 1.0
    c = round(64 * float(rng.normal() * rng.choice([0.0, 0.3, 1.0, 3.0]))) / 64
    if kind == "row":
        edit.rows.append((row, -np.inf, c, "row"))
    elif kind == "range":
        edit.rows.append((row, c - 0.3, c + 0.1, "row"))
    elif kind == "equation":
        edit.rows.append((row, c, c, "row"))
    elif kind == "bound":
        low, high = ((c, np.inf), (-np.inf, c))[int(rng.integers(2))]
        single[:1] = 0.0  # a fixed variable has no bounds
        if single.any():
            edit.rows.append((single, low, high, "bound"))
    elif kind == "fixed":
        edit.rows.append((held, c, c, "fixed"))
    elif kind == "redundant":
        edit.rows.append((row, -1e3, np.inf, "row"))
    elif kind == "of b" and free:
        single[:] = 0.0
        single[d] = 1.0
        edit.rows.append((single, c, np.inf, "row"))
