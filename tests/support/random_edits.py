"""Random edits of models with w, b and z (or several classes), and what SCIP finds with M = 500."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tests.inside.experiments import outlier_data
from tests.references.multiclass import class_points
from tightmargin.formulations import CATALOGUE, MulticlassData, TrainingData
from tightmargin.solvers import SolveResult, solve

LARGE_M = 500.0
FAMILIES = {
    "zero_one_big_m": (
        "zero_one_relaxed", "zero_one_hinge", "conic_sdp", "conic_sdp_literal", "conic_fixed",
        "conic_sdp_strengthened", "conic_sdp_rank_one", "zero_one_bilinear",
    ),
    "ramp_big_m": ("ramp_relaxed",),
    "multiclass_truncated": ("multiclass_truncated_relaxed",),
}  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """A family with data and prices, and an edit of its models."""

    exact: str
    data: TrainingData | MulticlassData
    prices: dict[str, float]
    intercept: str
    words: tuple[str, ...]
    edit: Callable[[pyo.ConcreteModel], None]

    @property
    def entries(self) -> tuple[str, ...]:
        """The exact entry and those that bound it, for this intercept."""
        names = (self.exact, *FAMILIES[self.exact])
        fixed = "conic_fixed" if self.intercept == "free" else ""
        return tuple(name for name in names if name != fixed)

    def settings(self, entry: str) -> dict[str, Any]:
        """Hyperparameters of an entry, everything derived that can be."""
        extra = {"big_m": "derived", "strengthening": "scaled", "intercept_bound": "derived"}
        if self.intercept != "free":
            del extra["intercept_bound"]
        known = CATALOGUE[entry].parameters
        own = {word: value for word, value in extra.items() if word in known}
        return {**self.prices, **own, "intercept": self.intercept}

    def edited(self, entry: str, **other: Any) -> pyo.ConcreteModel:
        """A model after the edit."""
        model = CATALOGUE[entry].build(self.data, **(self.settings(entry) | other))
        self.edit(model)
        return model

    def witness(self) -> SolveResult:
        """SCIP on the edited exact problem with M = 500, closer than to its usual tolerance."""
        model = self.edited(self.exact, big_m=LARGE_M)
        return solve(model, "scip", time_limit=60, options={"numerics/feastol": 1e-9})


def _weights(m: pyo.ConcreteModel) -> list[Any]:
    return list((m.B if m.find_component("w") is None else m.w).values())


def _set_price(m: pyo.ConcreteModel, factor: float) -> None:
    for word in ("penalty", "C", "ridge"):
        price = m.find_component(word)
        if price is not None:
            price.set_value(factor * price.value)
            return


def _new_variable(m: pyo.ConcreteModel, c: float, k: int) -> None:
    m.t = pyo.Var(bounds=(0, k))
    m.counted = pyo.Constraint(expr=m.t + sum(m.z.values()) >= k + 1)
    m.tied = pyo.Constraint(expr=m.t <= _weights(m)[0] + c)


def _block(m: pyo.ConcreteModel, c: float) -> None:
    m.inner = pyo.Block()
    m.inner.row = pyo.Constraint(expr=_weights(m)[0] <= c)


def _row(m: pyo.ConcreteModel, name: str, expression: Any) -> None:
    m.add_component(name, pyo.Constraint(expr=expression))


def _of_two_classes(kind: str, n: int, seed: int) -> TrainingData:
    try:
        return outlier_data(kind, n=n, d=2, sigma=0.3, seed=seed)
    except ValueError:  # all points of one class
        return _of_two_classes(kind, n, seed + 1)


def draw(seed: int) -> Draw:
    """Every third seed has another treatment of the intercept, every fourth another family."""
    rng = np.random.default_rng(seed)
    intercept = ("penalised", "none", "free")[seed % 3]
    exact = ("zero_one_big_m", "zero_one_big_m", "ramp_big_m", "multiclass_truncated")[seed % 4]
    if exact == "multiclass_truncated":
        data: Any = class_points(int(rng.integers(30)), n=int(rng.integers(6, 9)))
        prices = {"ridge": float(rng.choice([0.02, 0.1])), "truncation": -0.5}
    else:
        kind = str(rng.choice(["clustered", "spread"]))
        data = _of_two_classes(kind, int(rng.integers(8, 13)), int(rng.integers(1000)))
        word = "C" if exact == "ramp_big_m" else "penalty"
        prices = {word: float(rng.choice([0.3, 1.0, 3.0]))}
    c = float(rng.normal() * rng.choice([0.3, 1.0, 3.0]))
    j, a = int(rng.integers(2)), rng.normal(size=20)
    first, second = (int(i) for i in rng.choice(data.n, 2, replace=False))
    k, factor = int(rng.integers(data.n // 2 + 1)), float(rng.choice([0.1, 0.5, 3.0, 10.0]))
    edits: dict[str, Callable[[Any], Any]] = {
        "w_j >= c": lambda m: _row(m, "e1", _weights(m)[j] >= c),
        "a'w <= c": lambda m: _row(m, "e2", sum(x * y for x, y in zip(a, _weights(m))) <= c),  # noqa: B905
        "w short": lambda m: _row(m, "e3", sum(x**2 for x in _weights(m)) <= abs(c) + 0.2),
        "w_j fixed": lambda m: _weights(m)[j].fix(c),
        "bound of w_j": lambda m: _weights(m)[j].setlb(c),
        "few z": lambda m: _row(m, "e4", sum(m.z.values()) <= k),
        "many z": lambda m: _row(m, "e5", sum(m.z.values()) >= k),
        "a pair": lambda m: _row(m, "e6", m.z[first] + m.z[second] >= 1),
        "z_i = 1": lambda m: m.z[first].fix(1),
        "z_i = 0": lambda m: m.z[first].fix(0),
        "z_i <= 0": lambda m: m.z[first].setub(0),
        "price": lambda m: _set_price(m, factor),
        "variable": lambda m: _new_variable(m, c, k),
        "z and w": lambda m: _row(m, "e7", m.z[first] - _weights(m)[0] >= c),
        "objective": lambda m: m.objective.set_value(m.objective.expr + c * m.z[first]),
        "block": lambda m: _block(m, c),
    }
    if intercept != "none":
        edits["b fixed"] = lambda m: next(iter(m.b.values())).fix(c)
        edits["b >= c"] = lambda m: _row(m, "e8", next(iter(m.b.values())) >= c)
    words = tuple(rng.choice(list(edits), size=int(rng.choice([1, 1, 1, 2])), replace=False))

    def edit(model: pyo.ConcreteModel) -> None:
        for word in words:
            # A penalty that is no Param (slack bounds are derived from it) has no price edit.
            edits[word](model)

    return Draw(exact, data, prices, intercept, words, edit)
