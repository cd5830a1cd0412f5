"""Where a search starts from: values that are at hand, and the heuristic of the family."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.methods import incumbents_of
from tightmargin.solvers.standard_form.standard_form import StandardForm


def first_point(model: pyo.ConcreteModel, form: StandardForm) -> Array:
    """Integers to try first, by column; nan where nothing is known.

    What the variables hold counts. Where some hold nothing, the heuristic of the family is asked
    for a point of the formulation as it was built; what an edit has added stays open.
    """
    known = np.where(form.integer, form.point(), np.nan)
    if np.isfinite(known[form.integer]).all():
        return known
    values = _by_the_family(model)
    for k, name in enumerate(form.columns.names()):
        if form.integer[k] and not np.isfinite(known[k]):
            known[k] = values.get(name, np.nan)
    return known


def _by_the_family(model: pyo.ConcreteModel) -> dict[str, float]:
    """Values of a new model of the same builder, by the names of its variables."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return {}
    now = origin_now(model)
    entry = CATALOGUE[now.entry]
    # A family's heuristic knows how our builders name what they need, and nobody else's.
    ours = str(entry.build.__module__).startswith("tightmargin.")
    family = incumbents_of(entry, now.data) if ours else None
    if family is None:
        return {}
    found = now.parameters.get("incumbent")
    if found is None:
        found = family.find(entry, now.data, now.parameters)
    if found is None:
        return {}
    fresh = entry.build(now.data, **now.parameters)
    family.start(fresh, now.data, found)
    everywhere = fresh.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct))
    elements = (variable for component in everywhere for variable in component.values())
    return {v.name: float(v.value) for v in elements if v.value is not None}
