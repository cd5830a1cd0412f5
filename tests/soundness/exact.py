"""Optima in rational numbers, and a model's objective at a point in rational numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

Row = Sequence[Fraction]


def fractions(numbers: Iterable[Any]) -> list[Fraction]:
    """Doubles and integers as the rational numbers that they are."""
    return [Fraction(n) if isinstance(n, int | Fraction) else Fraction(float(n)) for n in numbers]


def dot(a: Iterable[Fraction], b: Iterable[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def solution(A: Sequence[Row], b: Row) -> list[Fraction] | None:
    """The x of a square system A x = b; None where A is singular."""
    n = len(A)
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [p - factor * q for p, q in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]


def least_linear(cost: Row, A: Sequence[Row], b: Row) -> Fraction | None:
    """min cost'x with A x >= b by all vertices; None when there is none.

    The polyhedron must be bounded, as a box makes it: the least value is then one of a vertex.
    """
    n, best = len(cost), None
    for chosen in itertools.combinations(range(len(A)), n):
        x = solution([A[i] for i in chosen], [b[i] for i in chosen])
        if x is None or any(dot(row, x) < right for row, right in zip(A, b, strict=True)):
            continue
        value = dot(cost, x)
        best = value if best is None else min(best, value)
    return best


def zero_one(X: np.ndarray, y: np.ndarray, intercept: str, penalty: float) -> Fraction:
    """Optimum of norm(w, b) + penalty * number of points with y (<w, x> + b) < 1, exactly.

    With the kept points of an optimum fixed, (w, b) is the point of least norm with u_i >= 1 for
    them, unique in w, and by its multipliers the point of least norm on u_i = 1 for at most as
    many of them as there are unknowns, with independent rows. So the least value over the points
    that belong to such sets is the optimum. w = 0 with b = 1 and b = -1 stands for the sets of
    one class only, and w = b = 0 for none.
    """
    points = [fractions(row) for row in X]
    labels, price = fractions(y), Fraction(penalty)
    columns = points if intercept == "none" else [[*x, Fraction(1)] for x in points]
    rows = [[s * v for v in x] for s, x in zip(labels, columns, strict=True)]
    k = len(rows[0])
    free = intercept == "free"
    priced = [Fraction(1)] * (k - 1) + [Fraction(0 if free else 1)]

    def value(v: Row) -> Fraction:
        missed = sum(dot(row, v) < 1 for row in rows)
        return dot(priced, [entry * entry for entry in v]) + price * missed

    nothing = [Fraction(0)] * k
    best = value(nothing)
    if free:
        for b in (1, -1):
            best = min(best, value([*nothing[:-1], Fraction(b)]))
    for size in range(1, k + 1):
        for chosen in itertools.combinations(rows, size):
            system = [
                [priced[i] if i == j else Fraction(0) for j in range(k)] + [-a[i] for a in chosen]
                for i in range(k)
            ]
            system += [[*a, *([Fraction(0)] * size)] for a in chosen]
            found = solution(system, [*nothing, *([Fraction(1)] * size)])
            if found is not None:
                best = min(best, value(found[:k]))
    return best


def constant_of(model: pyo.ConcreteModel) -> Fraction:
    """Additive constant of a model's objective, fixed variables included."""
    (objective,) = model.component_data_objects(pyo.Objective, active=True, descend_into=True)
    repn = generate_standard_repn(objective.expr, quadratic=True, compute_values=True)
    return Fraction(0) if repn.nonlinear_expr is not None else Fraction(float(repn.constant))


def objective_at(
    model: pyo.ConcreteModel, values: Mapping[str, Any]
) -> tuple[Fraction, Fraction] | None:
    """A model's objective at values by name, and the sum of its terms' sizes, exactly.

    Beyond degree two it is evaluated by Pyomo, in doubles, at the values that the model holds.
    None where a variable has no value.
    """
    (objective,) = model.component_data_objects(pyo.Objective, active=True, descend_into=True)
    repn = generate_standard_repn(objective.expr, quadratic=True, compute_values=True)
    if repn.nonlinear_expr is not None:
        number = pyo.value(objective.expr, exception=False)
        known = number is not None and np.isfinite(number)
        return (Fraction(float(number)), Fraction(1)) if known else None
    at = _values(model, values)
    terms = [Fraction(float(repn.constant))]
    try:
        for a, v in zip(repn.linear_coefs, repn.linear_vars, strict=True):
            terms.append(Fraction(float(a)) * at[id(v)])
        for a, (u, v) in zip(repn.quadratic_coefs, repn.quadratic_vars, strict=True):
            terms.append(Fraction(float(a)) * at[id(u)] * at[id(v)])
    except KeyError:
        return None
    return sum(terms, Fraction(0)), sum((abs(t) for t in terms), Fraction(0))


def _values(model: pyo.ConcreteModel, values: Mapping[str, Any]) -> dict[int, Fraction]:
    """Rational values by the identity of each variable; lifted matrices are left out."""
    at = {}
    for component in model.component_objects(pyo.Var, descend_into=True):
        array = values.get(component.name)
        members = list(component.values())
        if array is None or np.size(array) != len(members):
            continue
        for member, number in zip(members, np.ravel(array), strict=True):
            if np.isfinite(number):
                at[id(member)] = Fraction(float(number))
    return at
