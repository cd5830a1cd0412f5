"""Any Pyomo model by its components: the first row of each family, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.lazy_constraints import LazyRows
from tightmargin.formulations.modeling.mathematics import between_text
from tightmargin.number_words import count_text
from tightmargin.printing import NUMBERS, value_text
from tightmargin.solvers.showing.expressions import expression_node, relation_node
from tightmargin.solvers.showing.statements import Statement, in_words, of_nodes, of_text
from tightmargin.solvers.standard_form.columns import row_name


def component_statements(model: pyo.ConcreteModel, rows: int = 0) -> Iterator[Statement]:
    """Objective, families of rows by one row at least, variables and Params."""
    for goal in model.component_data_objects(pyo.Objective, active=True, descend_into=True):
        yield of_nodes("min" if goal.is_minimizing() else "max", expression_node(goal.expr))
    for family in families(model):
        yield from first_rows(family, max(rows, 1))
    for family in model.component_objects(Disjunction, active=True, descend_into=True):
        yield in_words(str(family.name), count_text(len(family), "disjunction"))
    for variable in model.component_objects(pyo.Var, descend_into=True):
        if len(variable):
            yield _variable(variable)
    params = [
        f"{param.name} = {value_text(pyo.value(param, exception=False)) or 'no value'}"
        if not param.is_indexed()
        else f"{param.name} with {count_text(len(param), 'value')}"
        for param in model.component_objects(pyo.Param, descend_into=True)
    ]
    if params:
        left = len(params) - NUMBERS
        yield in_words("data", "; ".join(params[:NUMBERS]) + (f"; {left} more" if left > 0 else ""))


def families(model: pyo.ConcreteModel) -> list[Any]:
    """Constraints of a model with at least one active row."""
    return [
        family
        for family in model.component_objects(pyo.Constraint, active=True, descend_into=True)
        if len(family)
    ]


def first_rows(family: Any, count: int) -> Iterator[Statement]:
    """The first rows of a family with their numbers, the last of them with how many are left."""
    left = len(family) - count
    kept = [key for key, _ in zip(family.keys(), range(count), strict=False)]
    for k, key in enumerate(kept):
        more = f"and {left} more" if left > 0 and k == len(kept) - 1 else ""
        yield _row(family, key, more)


def _row(family: Any, key: Any, more: str) -> Statement:
    name = row_name(family, key)
    if isinstance(family, LazyRows):
        text = family.text_of(key)
        if text:
            return of_text(name, text, more)
    return of_nodes(name, relation_node(family[key]), where=more)


def _variable(variable: Any) -> Statement:
    count, first = len(variable), next(iter(variable.keys()))
    name = row_name(variable, first)
    low, high, domain = _bounds(variable, first)
    text = f"{between_text(low, name, high)}, in {domain}"
    return in_words(str(variable.name), text, f"and {count - 1} more" if count > 1 else "")


def _bounds(variable: Any, first: Any) -> tuple[float, float, str]:
    if isinstance(variable, ArrayVar):
        return variable.limits_of(first)
    element = variable[first]
    low, high = (element.value, element.value) if element.fixed else element.bounds
    return -np.inf if low is None else low, np.inf if high is None else high, str(element.domain)
