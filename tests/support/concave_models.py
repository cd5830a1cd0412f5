"""Models with concave objectives and reverse convex rows, from arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Polytope:
    """{A x <= b}, the box |x_j| <= `box` among the rows where a model has it as bounds."""

    A: Array
    b: Array
    box: float | None

    @property
    def rows(self) -> tuple[Array, Array]:
        """All rows, bounds among them."""
        if self.box is None:
            return self.A, self.b
        n = self.A.shape[1]
        return np.vstack([self.A, np.eye(n), -np.eye(n)]), np.r_[self.b, np.full(2 * n, self.box)]


def random_polytope(rng: np.random.Generator, n: int, m: int, box: float | None = 3.0) -> Polytope:
    """One around 0."""
    return Polytope(rng.normal(size=(m, n)), 0.5 + rng.random(m), box)


def semidefinite(rng: np.random.Generator, n: int, rank: int) -> Array:
    G = rng.normal(size=(n, rank))
    return G @ G.T


def linear_model(polytope: Polytope, *, name: str = "concave") -> pyo.ConcreteModel:
    """Variables and rows, without an objective."""
    A, b = polytope.A, polytope.b
    model = pyo.ConcreteModel(name=name)
    n, box = A.shape[1], polytope.box
    model.x = pyo.Var(range(n)) if box is None else pyo.Var(range(n), bounds=(-box, box))
    model.row = pyo.Constraint(
        range(len(A)), rule=lambda m, i: sum(float(A[i, j]) * m.x[j] for j in range(n)) <= b[i]
    )
    return model


def quadratic(model: pyo.ConcreteModel, Q: Array, c: Array) -> object:
    """x'Qx + c'x of a model's variables."""
    n, x = len(c), model.x
    squares = sum(float(Q[i, j]) * x[i] * x[j] for i in range(n) for j in range(n) if Q[i, j])
    return squares + sum(float(c[j]) * x[j] for j in range(n))


def concave_model(polytope: Polytope, Q: Array, c: Array) -> pyo.ConcreteModel:
    """min c'x - x'Qx."""
    model = linear_model(polytope)
    model.goal = pyo.Objective(expr=quadratic(model, -Q, c))
    return model


def lrcp_model(polytope: Polytope, c: Array, Q: Array, line: Array, side: float
               ) -> pyo.ConcreteModel:  # fmt: skip
    """min c'x with x'Qx + line'x >= side."""
    model = linear_model(polytope)
    model.reverse = pyo.Constraint(expr=quadratic(model, Q, line) >= side)
    model.goal = pyo.Objective(expr=sum(float(c[j]) * model.x[j] for j in range(len(c))))
    return model
