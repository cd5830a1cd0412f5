"""Edits of 0-1 loss models: what they do to the Pyomo model, and the same in cvxpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo

Rows = Callable[[Any, Any], list[Any]]


@dataclass(frozen=True)
class Edit:
    """One edit of a 0-1 loss model.

    Attributes
    ----------
    model : callable(model)
        Changes the Pyomo model.
    cases : sequence of callable(w, b) -> list
        The same as rows of cvxpy; of several cases the best one counts.
    admits : callable(z) -> bool
        Whether a choice of z is one of the edited problem.
    prices : array (n,), optional
        Of z where the objective is another one.
    extra : callable(w, b) -> expression
        Added to the objective.
    freed : tuple of int
        Points whose margin row is deleted.
    """

    words: str
    model: Callable[[Any], None]
    cases: Sequence[Rows] = (lambda w, b: [],)
    admits: Callable[[np.ndarray], bool] = lambda z: True
    prices: np.ndarray | None = None
    extra: Callable[[Any, Any], Any] = lambda w, b: 0.0
    freed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """What an edit is about: a point, a feature, a number."""

    n: int
    d: int
    mode: str
    penalty: float
    point: int
    feature: int
    number: float


def _row(build: Callable[[Any], Any]) -> Callable[[Any], None]:
    def add(m: Any) -> None:
        m.edit = pyo.Constraint(expr=build(m))

    return add


def weight_at_least(rng: np.random.Generator, at: Place) -> Edit:
    j, c = at.feature, at.number
    return Edit(f"w[{j}] >= {c}", _row(lambda m: m.w[j] >= c), [lambda w, b: [w[j] >= c]])


def weight_fixed(rng: np.random.Generator, at: Place) -> Edit:
    j, c = at.feature, at.number
    return Edit(f"w[{j}] = {c}", lambda m: m.w[j].fix(c), [lambda w, b: [w[j] == c]])


def few_violations(rng: np.random.Generator, at: Place) -> Edit:
    top = int(rng.integers(0, at.n))
    build = _row(lambda m: sum(m.z.values()) <= top)
    return Edit(f"at most {top} violations", build, admits=lambda z: bool(z.sum() <= top))


def many_violations(rng: np.random.Generator, at: Place) -> Edit:
    least = int(rng.integers(1, at.n + 1))
    build = _row(lambda m: sum(m.z.values()) >= least)
    return Edit(f"at least {least} violations", build, admits=lambda z: bool(z.sum() >= least))


def point_decided(rng: np.random.Generator, at: Place) -> Edit:
    """By fixing z, or by its bounds."""
    i, side = at.point, int(rng.integers(2))

    def bounds(m: Any) -> None:
        m.z[i].setlb(side)
        m.z[i].setub(side)

    model = bounds if rng.random() < 0.5 else lambda m: m.z[i].fix(side)
    return Edit(f"z[{i}] = {side}", model, admits=lambda z: bool(z[i] == side))


def row_deleted(rng: np.random.Generator, at: Place) -> Edit:
    i = at.point
    return Edit(f"margin[{i}] deleted", lambda m: m.margin[i].deactivate(), freed=(i,))


def other_prices(rng: np.random.Generator, at: Place) -> Edit:
    prices = at.penalty * rng.choice([0.125, 0.5, 1.0, 4.0], size=at.n)

    def model(m: Any) -> None:
        norm = sum(v**2 for v in m.w.values()) + (m.b**2 if at.mode == "penalised" else 0)
        m.del_component(m.objective)
        paid = sum(float(prices[k]) * m.z[k] for k in range(at.n))
        m.objective = pyo.Objective(expr=norm + paid)

    return Edit(f"prices {prices.tolist()}", model, prices=prices)


def pulled(rng: np.random.Generator, at: Place) -> Edit:
    j, target = at.feature, 2.0 * at.number

    def model(m: Any) -> None:
        m.objective.set_value(m.objective.expr + (m.w[j] - target) ** 2)

    return Edit(f"+ (w[{j}] - {target})^2", model, extra=lambda w, b: cp.square(w[j] - target))


def tilted(rng: np.random.Generator, at: Place) -> Edit:
    j, c = at.feature, at.number

    def model(m: Any) -> None:
        m.objective.set_value(m.objective.expr + c * m.w[j])

    return Edit(f"+ {c} w[{j}]", model, extra=lambda w, b: c * w[j])


def intercept_tied(rng: np.random.Generator, at: Place) -> Edit:
    if at.mode == "none":
        return weight_at_least(rng, at)
    j, c = at.feature, at.number
    build = _row(lambda m: m.b + m.w[j] == c)
    return Edit(f"b + w[{j}] = {c}", build, [lambda w, b: [b + w[j] == c]])


def few_features(rng: np.random.Generator, at: Place) -> Edit:
    """At most one weight that is not 0, with a binary for each."""
    limit = 8.0

    def model(m: Any) -> None:
        m.used = pyo.Var(range(at.d), within=pyo.Binary)
        m.up = pyo.Constraint(range(at.d), rule=lambda m, j: m.w[j] <= limit * m.used[j])
        m.down = pyo.Constraint(range(at.d), rule=lambda m, j: m.w[j] >= -limit * m.used[j])
        m.budget = pyo.Constraint(expr=sum(m.used.values()) <= 1)

    def only(j: int) -> Rows:
        others = [k for k in range(at.d) if k != j]
        return lambda w, b: [cp.abs(w[j]) <= limit, *(w[k] == 0 for k in others)]

    return Edit("one feature", model, [only(j) for j in range(at.d)])


def weight_integer(rng: np.random.Generator, at: Place) -> Edit:
    """A weight that is a whole number from -2 to 2."""
    j = at.feature

    def model(m: Any) -> None:
        m.whole = pyo.Var(within=pyo.Integers, bounds=(-2, 2))
        m.edit = pyo.Constraint(expr=m.w[j] == m.whole)

    def equal(k: int) -> Rows:
        return lambda w, b: [w[j] == k]

    return Edit(f"w[{j}] integer", model, [equal(k) for k in range(-2, 3)])


EDITS = (
    weight_at_least, weight_fixed, few_violations, point_decided, row_deleted, other_prices,
    pulled, tilted, intercept_tied, many_violations, few_features, weight_integer,
)  # fmt: skip


def some_edit(rng: np.random.Generator, data: Any, mode: str, kind: int, penalty: float) -> Edit:
    """An edit of a kind, at a random place."""
    number = float(rng.choice([-3.0, -1.0, 0.25, 1.0, 3.0]))
    point, feature = int(rng.integers(data.n)), int(rng.integers(data.d))
    at = Place(data.n, data.d, mode, penalty, point, feature, number)
    return EDITS[kind % len(EDITS)](rng, at)


def edited_optimum(data: Any, mode: str, penalty: float, edit: Edit) -> float:
    """By every z in {0, 1}^n: points with z_i = 0 reach their margin, the others are free."""
    w, b = cp.Variable(data.d), cp.Variable() if mode != "none" else 0.0
    u = cp.multiply(data.y, data.X @ w + b)
    norm = cp.sum_squares(w) + (cp.square(b) if mode == "penalised" else 0.0)
    prices = np.full(data.n, penalty) if edit.prices is None else edit.prices
    kept = cp.Parameter(data.n, nonneg=True)
    least = cp.Minimize(norm + edit.extra(w, b))
    programs = [
        cp.Problem(least, [cp.multiply(kept, u - 1) >= 0, *rows(w, b)]) for rows in edit.cases
    ]
    best = np.inf
    for choice in itertools.product((0.0, 1.0), repeat=data.n):
        z = np.array(choice)
        if not edit.admits(z):
            continue
        kept.value = np.where(np.isin(np.arange(data.n), edit.freed), 0.0, 1 - z)
        for problem in programs:
            problem.solve(solver=cp.CLARABEL)
            if problem.status in ("infeasible", "infeasible_inaccurate"):
                continue
            assert problem.status == cp.OPTIMAL, problem.status
            best = min(best, float(problem.value) + float(prices @ z))
    return best
