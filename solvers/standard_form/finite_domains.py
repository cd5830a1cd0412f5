"""Variables whose domain has gaps become integer choices, on a copy of the model.

    x in {v_1, ..., v_k}             x = sum_k v_k z_k,  sum_k z_k = 1,  z binary
    x in {start, start + step, ...}  x = start + step k,  k integer

Solvers know intervals and integers only, and take Set([0, 2, 5]) for the interval from 0 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name

from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.domains import is_choice, is_integer

BLOCK = "choices"


def without_gaps(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model itself, or a copy in which no domain of a free variable has gaps.

    The copy has a block `choices`; domains that are no choice of numbers stay, and whoever reads
    the model refuses them by name.
    """
    if not any(True for _ in _with_gaps(model)):
        return model
    copy = model.clone()
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, BLOCK), block)
    block.choice, block.row = pyo.VarList(), pyo.ConstraintList()
    for variable in list(_with_gaps(copy)):
        start, stop, step = variable.domain.get_interval()
        if step and start is not None:
            _evenly_spaced(block, variable, start, stop, step)
        else:
            _chosen(block, variable)
    return copy


def _with_gaps(model: pyo.ConcreteModel) -> Iterator[Any]:
    known: dict[int, bool] = {}
    for component in model.component_objects(pyo.Var, descend_into=True):
        if component.is_reference():
            continue
        lazy = isinstance(component, ArrayVar)  # elements that nobody touched stay arrays
        elements = component.touched() if lazy else component
        for variable in list(elements.values()):
            domain = variable.domain
            if id(domain) not in known:
                known[id(domain)] = is_integer(domain) is None and is_choice(domain)
            if known[id(domain)] and not variable.fixed:
                yield variable


def _evenly_spaced(block: pyo.Block, variable: Any, start: float, stop: Any, step: float) -> None:
    low, high = variable.bounds
    number = block.choice.add()
    number.domain = pyo.Integers
    number.setlb(0)
    if stop is not None:
        number.setub(round((stop - start) / step))
    block.row.add(variable == start + step * number)
    variable.domain = pyo.Reals
    variable.setlb(low)
    variable.setub(high)


def _chosen(block: pyo.Block, variable: Any) -> None:
    low, high = variable.bounds
    values = sorted(float(value) for value in variable.domain)
    chosen = []
    for _ in values:
        binary = block.choice.add()
        binary.domain = pyo.Binary
        chosen.append(binary)
    block.row.add(sum(chosen) == 1)
    block.row.add(variable == sum(v * z for v, z in zip(values, chosen, strict=True)))
    variable.domain = pyo.Reals
    variable.setlb(low)
    variable.setub(high)
