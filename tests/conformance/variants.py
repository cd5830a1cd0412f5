"""Variants of a problem whose answer follows from the answer of the problem itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyomo.environ as pyo

from tests.conformance.problems import INFEASIBLE, UNBOUNDED, Problem
from tests.inside.formulations import psd_entries
from tightmargin.formulations import ProblemClass, psd

Model: TypeAlias = pyo.ConcreteModel

# Coefficients between 1e-8 and 1e8 in linear models, and the same where columns are squared.
ROWS, COLUMNS = (1e4, 1e-4, 1.0), (1e-4, 1.0, 1e4)
ROWS_OF_CONES, COLUMNS_OF_CONES = (1e2, 1e-2, 1.0), (1e-1, 1.0, 1e1)


def plain(model: Model) -> Model:
    """As it is."""
    return model


def degenerate(model: Model) -> Model:
    """Every bound once more as a row, and the sum of every two linear rows: all of them follow."""
    model.also = pyo.ConstraintList()
    linear = [row for row in rows(model) if is_linear(row)]
    for first, second in itertools.combinations(linear, 2):
        ends = [row.to_bounded_expression() for row in (first, second)]
        lows, highs = ([end[k] for end in ends] for k in (0, 2))
        low = None if None in lows else sum(lows)
        high = None if None in highs else sum(highs)
        if low is not None or high is not None:
            model.also.add((low, first.body + second.body, high))
    for variable in unfixed(model):
        for low, high in ((variable.lb, None), (None, variable.ub)):
            if low is not None or high is not None:
                model.also.add((low, variable, high))
    return model


def duplicated(model: Model) -> Model:
    """Every row a second time, linear ones at twice the size."""
    model.again = pyo.ConstraintList()
    for number, row in enumerate(list(rows(model))):
        low, body, high = row.to_bounded_expression()
        entries = psd_entries(body)
        if entries is not None:
            order = round((2 * len(entries)) ** 0.5 - 0.25)
            part = iter(entries)
            psd(
                model, f"again_{number}", [[next(part) for _ in range(i + 1)] for i in range(order)]
            )
            continue
        times = 2 if is_linear(row) else 1
        ends = [None if end is None else times * end for end in (low, high)]
        model.again.add((ends[0], times * body, ends[1]))
    return model


def scaled(model: Model) -> Model:
    """Rows and continuous columns in other units, by up to 1e4; the objective in its own."""
    conic = not all(is_linear(row) for row in rows(model)) or objective_degree(model) != 1
    row_units, column_units = (ROWS_OF_CONES, COLUMNS_OF_CONES) if conic else (ROWS, COLUMNS)
    model.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    continuous = [v for v in unfixed(model) if v.is_continuous()]
    for variable, unit in zip(continuous, itertools.cycle(column_units)):
        model.scaling_factor[variable] = unit
    plain_rows = [row for row in rows(model) if psd_entries(row.body) is None]
    for row, unit in zip(plain_rows, itertools.cycle(row_units)):
        model.scaling_factor[row] = unit
    return pyo.TransformationFactory("core.scale_model").create_using(model)


def unscaled(model: Model, original: Model) -> None:
    """Bring the point of a scaled model back."""
    pyo.TransformationFactory("core.scale_model").propagate_solution(model, original)


def infeasible(model: Model) -> Model:
    """x + y >= 1, x - y >= 1 and x <= 1/2 on two new variables: no two of them contradict."""
    model.extra = pyo.Var([0, 1])
    model.contradiction = pyo.ConstraintList()
    x, y = model.extra[0], model.extra[1]
    for row in (x + y >= 1, x - y >= 1, x <= 0.5):
        model.contradiction.add(row)
    return model


def unbounded(model: Model) -> Model:
    """Two new variables >= 0 with u - v <= 1 and price v / 2 - u: along (1, 1) without end."""
    model.extra = pyo.Var([0, 1], bounds=(0, None))
    u, v = model.extra[0], model.extra[1]
    model.edge = pyo.Constraint(expr=u - v <= 1)
    goals = list(model.component_data_objects(pyo.Objective, active=True))
    if not goals:
        model.price = pyo.Objective(expr=v / 2 - u)
        return model
    (goal,) = goals
    goal.expr += (v / 2 - u) if goal.sense == pyo.minimize else (u - v / 2)
    return model


VARIANTS: dict[str, Callable[[Model], Model]] = {
    "plain": plain,
    "degenerate": degenerate,
    "scaled": scaled,
    "duplicated": duplicated,
    "infeasible": infeasible,
    "unbounded": unbounded,
}


def answer(problem: Problem, variant: str) -> float | str:
    """What is known of a variant of a problem."""
    if variant == "infeasible" or problem.answer == INFEASIBLE:
        return INFEASIBLE
    return UNBOUNDED if variant == "unbounded" else problem.answer


def class_of(problem: Problem, variant: str) -> ProblemClass:
    """The class: new continuous variables and linear rows change none, two reverse rows do."""
    if problem.problem_class is ProblemClass.LRCP and variant == "duplicated":
        return ProblemClass.NONCONVEX
    return problem.problem_class


def rows(model: Model) -> Iterator[Any]:
    """Active constraints."""
    return model.component_data_objects(pyo.Constraint, active=True)


def is_linear(row: Any) -> bool:
    """Whether a constraint is affine."""
    return row.body.polynomial_degree() == 1


def objective_degree(model: Model) -> int:
    """Degree of the objective; 1 when there is none."""
    degrees = [
        goal.expr.polynomial_degree() if hasattr(goal.expr, "polynomial_degree") else 1
        for goal in model.component_data_objects(pyo.Objective, active=True)
    ]
    return max([1, *degrees])


def unfixed(model: Model) -> list[Any]:
    """Variables that are not fixed."""
    return [v for v in model.component_data_objects(pyo.Var) if not v.fixed]
