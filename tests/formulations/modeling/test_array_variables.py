"""Variables kept as arrays are the variables of the model."""

from __future__ import annotations

import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.formulations import ArrayVar
from tests.inside.solvers import standard_form

N = 5
CAPS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, N - 1)
    m.C = pyo.Param(initialize=2.0, mutable=True)
    m.x = ArrayVar(m.I, lower=-1.0, upper=(CAPS, m.C))
    return m


def test_it_is_a_variable_in_every_way_of_asking() -> None:
    m = model()
    assert m.x.ctype is pyo.Var
    assert isinstance(m.x, pyo.Var)
    assert len(m.x) == N
    assert list(m.x) == list(m.x.keys()) == list(range(N))
    assert [v.name for v in m.x.values()] == [f"x[{i}]" for i in range(N)]
    assert [key for key, _ in m.x.items()] == list(range(N))
    assert m.x[3] is m.x[3]
    assert m.x[3].parent_component() is m.x
    assert m.find_component("x[2]") is m.x[2]
    assert N not in m.x
    with pytest.raises(KeyError):
        m.x[N]
    assert len(list(m.component_data_objects(pyo.Var))) == N


@pytest.mark.parametrize("touch", [False, True])
def test_the_tighter_of_bound_and_domain_counts(touch: bool) -> None:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 1)
    m.x = ArrayVar(m.I, lower=np.array([-2.0, 0.25]), upper=5.0, within=pyo.UnitInterval)
    if touch:
        assert [v.bounds for v in m.x.values()] == [(0.0, 1.0), (0.25, 1.0)]
    held = m.x.arrays()
    np.testing.assert_array_equal(held.lower, [0.0, 0.25])
    np.testing.assert_array_equal(held.upper, [1.0, 1.0])


def test_edits_of_elements_show_in_the_arrays() -> None:
    m = model()
    m.x[0].setlb(0.5)
    m.x[1].setub(None)
    m.x[2].fix(0.75)
    m.x[3].domain = pyo.NonNegativeIntegers
    m.x[4].value = 2.5
    held = m.x.arrays()
    np.testing.assert_array_equal(held.lower, [0.5, -1.0, -1.0, 0.0, -1.0])
    np.testing.assert_array_equal(held.upper, [2.0, np.inf, 6.0, 8.0, 10.0])
    np.testing.assert_array_equal(held.fixed, [False, False, True, False, False])
    np.testing.assert_array_equal(held.integer, [False, False, False, True, False])
    np.testing.assert_array_equal(held.values, [np.nan, np.nan, 0.75, np.nan, 2.5])
    form = standard_form(m)
    assert form.columns.names() == ["x[0]", "x[1]", "x[3]", "x[4]"]


@pytest.mark.parametrize("how", ["clone", "pickle"])
def test_copies_have_their_own_values_bounds_and_param(how: str) -> None:
    m = model()
    m.x.load(np.arange(5.0))
    m.x[2].setub(2.25)
    twin = m.clone() if how == "clone" else pickle.loads(pickle.dumps(m))
    twin.C = 10.0
    twin.x.load(np.zeros(N))
    twin.x[3].fix(1.0)
    assert [v.ub for v in twin.x.values()] == [10.0, 20.0, 2.25, 40.0, 50.0]
    assert [v.value for v in twin.x.values()] == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert [v.ub for v in m.x.values()] == [2.0, 4.0, 2.25, 8.0, 10.0]
    assert [v.value for v in m.x.values()] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert not m.x[3].fixed


def test_values_come_and_go_as_arrays() -> None:
    m = model()
    m.x[1].value = 9.0
    m.x.load(np.array([1.0, 2.0, np.nan, 4.0, 5.0]))
    assert m.x.get_values() == {0: 1.0, 1: 2.0, 2: None, 3: 4.0, 4: 5.0}
    assert [v.value for v in m.x.values()] == [1.0, 2.0, None, 4.0, 5.0]
    m.x[0].fix()
    assert m.x.extract_values(include_fixed_values=False) == {1: 2.0, 2: None, 3: 4.0, 4: 5.0}
    m.x.set_values({4: 0.5})
    assert m.x.arrays().values[4] == 0.5


def test_elements_cannot_be_deleted() -> None:
    m = model()
    with pytest.raises(TypeError, match=r"x\[1\] cannot be deleted: fix it"):
        del m.x[1]
    with pytest.raises(TypeError, match="x cannot be cleared"):
        m.x.clear()


def test_bounds_that_do_not_fit_are_refused() -> None:
    m = model()
    with pytest.raises(ValueError, match=r"expected a number or 5 numbers, got shape \(4,\)"):
        m.bad = ArrayVar(m.I, lower=np.zeros(4))
    m.worse = ArrayVar(m.I, upper=np.array([1.0, np.nan, 1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"upper bound of worse\[1\] is nan"):
        standard_form(m)
