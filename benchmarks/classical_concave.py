"""Concave test problems of the literature, with the optima that it states.

2.1, 2.2, 2.3 and 2.6 of Floudas & Pardalos, A collection of test problems for constrained global
optimization algorithms (Lecture Notes in Computer Science 455, 1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Classical:
    """min  linear'x - sum_j squares_j x_j^2  over  rows x <= sides,  0 <= x <= upper.

    Attributes
    ----------
    number : str
        In the collection.
    optimum : float
        As stated there.
    """

    number: str
    optimum: float
    linear: Array
    squares: Array
    rows: Array
    sides: Array
    upper: Array

    def model(self) -> pyo.ConcreteModel:
        """The problem in Pyomo."""
        n = len(self.linear)
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(n), bounds=lambda m, j: (0, _end(self.upper[j])))
        model.row = pyo.Constraint(range(len(self.sides)), rule=self._row)
        bent = np.flatnonzero(self.squares).tolist()
        model.goal = pyo.Objective(
            expr=sum(float(c) * model.x[j] for j, c in enumerate(self.linear) if c)
            - sum(float(self.squares[j]) * model.x[j] ** 2 for j in bent)
        )
        return model

    def _row(self, model: pyo.ConcreteModel, i: int) -> object:
        line = enumerate(self.rows[i].tolist())
        return sum(a * model.x[j] for j, a in line if a) <= float(self.sides[i])


def _end(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _lines(n: int, rows: Sequence[Mapping[int, float]]) -> Array:
    found = np.zeros((len(rows), n))
    for i, line in enumerate(rows):
        found[i, list(line)] = list(line.values())
    return found


PROBLEMS = (
    Classical(
        "2.1", -17.0, np.array([42.0, 44.0, 45.0, 47.0, 47.5]), np.full(5, 50.0),
        np.array([[20.0, 12.0, 11.0, 7.0, 4.0]]), np.array([40.0]), np.ones(5),
    ),
    Classical(
        "2.2", -213.0, np.array([-10.5, -7.5, -3.5, -2.5, -1.5, -10.0]),
        np.array([0.5] * 5 + [0.0]),
        np.array([[6.0, 3, 3, 2, 1, 0], [10.0, 0, 10, 0, 0, 1]]), np.array([6.5, 20.0]),
        np.array([1.0] * 5 + [np.inf]),
    ),
    Classical(
        "2.3", -15.0, np.array([5.0] * 4 + [-1.0] * 9), np.array([5.0] * 4 + [0.0] * 9),
        _lines(13, [
            {0: 2, 1: 2, 9: 1, 10: 1}, {0: 2, 2: 2, 9: 1, 11: 1}, {1: 2, 2: 2, 10: 1, 11: 1},
            {0: -8, 9: 1}, {1: -8, 10: 1}, {2: -8, 11: 1}, {3: -2, 4: -1, 9: 1},
            {5: -2, 6: -1, 10: 1}, {7: -2, 8: -1, 11: 1},
        ]),
        np.array([10.0] * 3 + [0.0] * 6), np.array([1.0] * 9 + [100.0] * 3 + [1.0]),
    ),
    Classical(
        "2.6", -39.0, np.array([48.0, 42, 48, 45, 44, 41, 47, 42, 45, 46]), np.full(10, 50.0),
        np.array([
            [-2.0, -6, -1, 0, -3, -3, -2, -6, -2, -2], [6, -5, 8, -3, 0, 1, 3, 8, 9, -3],
            [-5, 6, 5, 3, 8, -8, 9, 2, 0, -9], [9, 5, 0, -9, 1, -8, 3, -9, -9, -3],
            [-8, 7, -4, -5, -9, 1, -7, -1, 3, -2],
        ]),
        np.array([-4.0, 22, -6, -23, -12]), np.ones(10),
    ),
)  # fmt: skip
