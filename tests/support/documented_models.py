"""The model of the example in the docstring of each entry of the catalogue."""

from __future__ import annotations

import re

import pyomo.environ as pyo

import tightmargin as tm
from tests.inside.solvers import (
    StandardForm,
    is_disjunctive,
    standard_form,
    transformed,
    without_quotients,
)
from tightmargin.formulations import CATALOGUE


def example(name: str) -> pyo.ConcreteModel:
    """A new model of an entry, on the few points of its example."""
    text = str(CATALOGUE[name].build.__doc__)
    data = re.search(r">>> data = (.+)", text)
    call = re.search(r">>> (?:result = tm\.solve\((.+)\)|model = (tm\.\w+\(.+))\n", text)
    assert data is not None
    assert call is not None
    points = eval(data.group(1), {"tm": tm})
    model = eval(call.group(1) or call.group(2), {"tm": tm, "data": points})
    assert isinstance(model, pyo.ConcreteModel)
    return model


def form_of(name: str) -> StandardForm:
    """Its standard form, without disjunctions and quotients."""
    model = example(name)
    if is_disjunctive(model):
        model = transformed(model, model.origin.parameters["transformation"])
    return standard_form(without_quotients(model))
