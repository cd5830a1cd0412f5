"""The private parts of Pyomo that rows and variables kept as arrays rely on, by name.

A Pyomo release that renames or repurposes one of them fails here, with its name, before it fails
anywhere else. What the hooks are for is tested in test_affine_rows.py and its neighbours.
"""

from __future__ import annotations

import inspect

import pyomo.environ as pyo
import pytest
from pyomo.core.base.component_namer import index_repr
from pyomo.core.base.constraint import ConstraintData, IndexedConstraint
from pyomo.core.base.indexed_component import IndexedComponent
from pyomo.core.base.var import IndexedVar
from pyomo.core.expr.numeric_expr import ExternalFunctionExpression


@pytest.mark.parametrize(
    ("owner", "name", "parameters"),
    [
        (IndexedComponent, "_getitem_when_not_present", ["self", "index"]),
        (IndexedComponent, "_setitem_when_not_present", ["self", "index", "value"]),
        (IndexedVar, "_getitem_when_not_present", ["self", "index"]),
        (IndexedConstraint, "construct", ["self", "data"]),
        (IndexedComponent, "keys", ["self", "sort", "ordered"]),
        (IndexedComponent, "is_reference", ["self"]),
        (ConstraintData, "to_bounded_expression", ["self", "evaluate_bounds"]),
    ],
)
def test_methods_we_override_or_call(owner: type, name: str, parameters: list[str]) -> None:
    signature = inspect.signature(getattr(owner, name))
    assert list(signature.parameters) == parameters


def test_a_component_keeps_its_elements_in_data_and_a_row_its_relation_in_expr() -> None:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 2)
    m.x = pyo.Var(m.I, dense=False)
    assert m.x._data == {}
    assert m.x._index_set is m.I
    assert m.x[1] is m.x._data[1], "a missing element is asked for through the hook, then kept"
    assert m.x[1]._index == 1
    assert m.x._rule_domain(m, None, m.x).get_interval() == (None, None, 0)
    m.named = pyo.Var([(0, "a b"), (1, "c")])
    assert m.named._anonymous_sets
    assert [f"named{index_repr(key)}" for key in m.named] == [v.name for v in m.named.values()]
    m.row = pyo.Constraint([0], rule=lambda m, _: m.x[0] >= 1)
    row, relation = m.row[0], m.row[0]._expr
    row.deactivate()
    assert not row._active
    assert row._expr is relation
    row.set_value(m.x[0] >= 2)
    assert row._expr is not relation
    assert row._component() is m.row
    m.f = pyo.ExternalFunction(float)
    e = m.f(m.x[0])
    assert isinstance(e, ExternalFunctionExpression)
    assert e._fcn._fcn is float
