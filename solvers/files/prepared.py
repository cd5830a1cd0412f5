"""A model as a file states it: without disjunctions, quotients, absolute values and norms."""

from __future__ import annotations

import pyomo.environ as pyo

from tightmargin.solvers.disjunctive.transformation import (
    is_disjunctive,
    transformation_of,
    transformed,
)
from tightmargin.solvers.transformations.epigraphs import without_norms
from tightmargin.solvers.transformations.quotients import without_quotients


def without_disjunctions(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model, or a copy after the transformation it was built for; big-M where there is none."""
    return transformed(model, transformation_of(model)) if is_disjunctive(model) else model


def prepared(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model, or a copy in which all that has an affine or quadratic form is in it."""
    return without_norms(without_quotients(without_disjunctions(model)))
