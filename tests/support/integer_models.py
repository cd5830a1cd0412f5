"""Small mixed-integer models whose optimum is known by enumeration in rational numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Enumerated:
    """min x'Qx / 2 + q'x over whole x in a box with A x <= b, and all its points.

    Attributes
    ----------
    points : list of tuples
        Every feasible point.
    optimum : Fraction or None
        None without a point.
    """

    Q: Array
    q: Array
    A: Array
    b: Array
    low: int
    high: int
    scale: float = 1.0

    def value(self, x: tuple[int, ...]) -> Fraction:
        """Exact objective."""
        total = sum((Fraction(a) * v for a, v in zip(self.q.tolist(), x, strict=True)), Fraction(0))
        for i, line in enumerate(self.Q.tolist()):
            for j, entry in enumerate(line):
                total += Fraction(entry) * x[i] * x[j] / 2
        return total

    @property
    def points(self) -> list[tuple[int, ...]]:
        """Every feasible point."""
        grid = product(range(self.low, self.high + 1), repeat=len(self.q))
        rows = [[Fraction(a) for a in line] for line in self.A.tolist()]
        sides = [Fraction(side) for side in self.b.tolist()]
        return [
            x
            for x in grid
            if all(
                sum((a * v for a, v in zip(row, x, strict=True)), Fraction(0)) <= side
                for row, side in zip(rows, sides, strict=True)
            )
        ]

    @property
    def optimum(self) -> Fraction | None:
        """Least objective."""
        return min((self.value(x) for x in self.points), default=None)

    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model."""
        model = pyo.ConcreteModel()
        at = range(len(self.q))
        model.x = pyo.Var(at, within=pyo.Integers, bounds=(self.low, self.high))
        bent = sum(
            0.5 * self.Q[i, j] * model.x[i] * model.x[j] for i in at for j in at if self.Q[i, j]
        )
        straight = sum(self.q[j] * model.x[j] for j in at if self.q[j])
        model.goal = pyo.Objective(expr=bent + straight + 0.0 * model.x[0])
        model.rows = pyo.Constraint(
            range(len(self.b)),
            rule=lambda m, i: sum(self.A[i, j] * m.x[j] for j in at) <= self.b[i],
        )
        return model


def enumerated(seed: int, *, quadratic: bool = True, scale: float = 1.0) -> Enumerated:
    """A random one: three or four columns, two to four rows of small whole numbers."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    half = rng.integers(-2, 3, size=(n, n)).astype(np.float64)
    Q = half.T @ half if quadratic else np.zeros((n, n))
    q = rng.integers(-6, 7, size=n).astype(np.float64)
    if not q.any():
        q[0] = 1.0
    A = rng.integers(-3, 4, size=(m, n)).astype(np.float64)
    A[~A.any(axis=1), 0] = 1.0
    b = rng.integers(-3, 7, size=m) + rng.choice([0.0, 0.5, 0.25], size=m)
    return Enumerated(scale * Q, scale * q, A, b, -2, 2)
