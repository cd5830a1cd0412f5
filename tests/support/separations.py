"""Models whose rows are found while they are solved, for tests of separators and engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.inside.solvers import SOLVERS

Separator = Callable[[Any], list[Any]]
MIXED = [
    name
    for name in ("branch-and-bound", "scip", "gurobi", "highs")
    if name not in SOLVERS or SOLVERS[name].installed
]


def master(n: int, prices: Any = 1.0, *, binary: bool = True) -> pyo.ConcreteModel:
    """Min norm2 + prices z, of which rows say what keeping the points with z = 0 costs."""
    model = pyo.ConcreteModel(name="master")
    model.z = pyo.Var(range(n), domain=pyo.Binary) if binary else pyo.Var(range(n), bounds=(0, 1))
    model.norm2 = pyo.Var(bounds=(0, None))
    each = zip(np.broadcast_to(prices, n).tolist(), model.z.values(), strict=True)
    model.objective = pyo.Objective(expr=model.norm2 + sum(price * z for price, z in each))
    return model


def cover() -> tuple[pyo.ConcreteModel, Separator]:
    """Three binaries of which two must be 1, in any order; the optimum is 3."""
    model = pyo.ConcreteModel(name="cover")
    model.z = pyo.Var(range(3), domain=pyo.Binary)
    model.objective = pyo.Objective(expr=sum((i + 1) * model.z[i] for i in range(3)))

    def two(point: Any) -> list[Any]:
        z = point["z"]
        pairs = ((0, 1), (1, 2), (0, 2))
        return [model.z[i] + model.z[j] >= 1 for i, j in pairs if z[i] + z[j] < 0.5]

    return model, two


def disc(goal: Callable[[Any, Any], Any], sense: Any = pyo.minimize
         ) -> tuple[pyo.ConcreteModel, Separator]:  # fmt: skip
    """A goal over the unit disc by its tangents, which start with a box of side 4."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-2, 2)), pyo.Var(bounds=(-2, 2))
    model.objective = pyo.Objective(expr=goal(model.x, model.y), sense=sense)

    def tangents(point: Any) -> list[Any]:
        x, y = float(point[model.x]), float(point["y"])
        length = math.hypot(x, y)
        return [x / length * model.x + y / length * model.y <= 1] if length > 1 else []

    return model, tangents


def benders(data: tm.TrainingData, price: float, intercept: str = "penalised"
            ) -> tuple[pyo.ConcreteModel, Any]:  # fmt: skip
    """A master with the library's own cuts."""
    model = master(data.n, price)
    cuts = tm.cuts.combinatorial_benders(data, model.z, model.norm2, intercept=intercept)
    return model, cuts
