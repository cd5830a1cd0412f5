"""Expressions are read as Pyomo's own reader reads them, and sparse rows as dense ones."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.gdp import Disjunct, Disjunction
from pyomo.repn import generate_standard_repn

import tightmargin as tm
from tests.inside.formulations import ArrayVar, dot, squares, total
from tests.inside.solvers import Columns, Polynomial, sparse_assembly, standard_form
from tests.inside.solvers import expressions_read as read
from tests.support.covering import FULL

NUMBERS = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 3.0])


def model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 3)
    m.x = ArrayVar(m.I, lower=0.0)
    m.y = pyo.Var(range(2))
    m.s = pyo.Var()
    m.p = pyo.Param(initialize=1.5, mutable=True)
    m.q = pyo.Param(m.I, initialize={i: i - 1.0 for i in range(4)}, mutable=True)
    m.half = pyo.Expression(expr=0.5 * m.s - m.p)
    m.x[2].fix(0.75)
    m.y[1].fix(-2.0)
    return m


M = model()
LEAVES = st.one_of(
    NUMBERS,
    st.sampled_from([M.p, M.q[0], M.q[3], M.half, M.s, M.y[0], M.y[1], M.x[0], M.x[2], M.x[3]]),
    NUMBERS.map(lambda a: dot(a, M.x)),
    st.just(M.q).map(lambda q: dot(q, M.x)),
    st.lists(NUMBERS, min_size=4, max_size=4).map(lambda c: dot(np.array(c), M.x)),
)
LINEAR = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, inner).map(lambda pair: total(*pair)),
        st.tuples(NUMBERS, inner).map(lambda pair: pair[0] * pair[1]),
        inner.map(lambda e: M.p * e),
        inner.map(lambda e: e / M.p),
        inner.map(lambda e: -e),
    ),
    max_leaves=6,
)
QUADRATIC = st.one_of(
    LINEAR,
    st.tuples(LINEAR, LINEAR).map(lambda pair: pair[0] * pair[1]),
    LINEAR.map(lambda e: e**2),
    st.tuples(LINEAR, LINEAR, LINEAR).map(lambda t: t[0] * t[1] - M.p * t[2] ** 2 + squares(M.y)),
)


def ours(expression: Any) -> tuple[float, dict[str, float], dict[tuple[str, ...], float]]:
    columns = Columns(M)
    found = read(expression, columns, "here")
    assert isinstance(found, Polynomial)
    linear: dict[str, float] = {}
    for k, a in zip(*(part.tolist() for part in found.linear()), strict=True):
        linear[columns.name(k)] = linear.get(columns.name(k), 0.0) + a
    pairs = {tuple(sorted((columns.name(i), columns.name(j)))): a for i, j, a in found.products}
    return found.constant, _nonzero(linear), _nonzero(pairs)


def pyomos(expression: Any) -> tuple[float, dict[str, float], dict[tuple[str, ...], float]]:
    repn = generate_standard_repn(expression, quadratic=True)
    assert repn.nonlinear_expr is None
    names = [v.name for v in repn.linear_vars]
    linear = dict(zip(names, map(float, map(pyo.value, repn.linear_coefs)), strict=True))
    pairs = {
        tuple(sorted((x.name, y.name))): float(a)
        for (x, y), a in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)
    }
    return float(pyo.value(repn.constant)), _nonzero(linear), _nonzero(pairs)


def _nonzero(terms: dict[Any, float]) -> dict[Any, float]:
    return {name: a for name, a in terms.items() if abs(a) > 1e-12}


@given(expression=QUADRATIC)
@settings(max_examples=300 if FULL else 100)
def test_any_quadratic_is_read_as_pyomo_reads_it(expression: Any) -> None:
    constant, linear, pairs = pyomos(expression)
    found = ours(expression)
    assert found[0] == pytest.approx(constant, abs=1e-9)
    assert found[1] == pytest.approx(linear, abs=1e-9)
    assert found[2] == pytest.approx(pairs, abs=1e-9)


def test_what_is_not_quadratic_is_none() -> None:
    s, x, y = M.s, M.x[0], M.y[0]
    for written in (s**3, s * x * y, pyo.exp(s), 1 / s, s**0.5, (s * x) ** 2, s**y):
        assert read(written, Columns(M), "here") is None, str(written)


def test_products_of_fixed_factors_and_those_that_cancel() -> None:
    """x[2] = 0.75 and y[1] = -2 are numbers: s x0 x2 y1 = -1.5 s x0."""
    _, linear, pairs = ours(M.s * M.x[0] * M.x[2] * M.y[1])
    assert not linear
    assert pairs == pytest.approx({("s", "x[0]"): -1.5})
    found = read(M.s * M.x[0] - M.x[0] * M.s + 2 * M.s, Columns(M), "here")
    assert found.products == []


def test_a_foreign_variable_gets_the_next_column() -> None:
    m, other = model(), pyo.ConcreteModel()
    other.z = pyo.Var(bounds=(0, 2))
    columns = Columns(m)
    n = len(columns)
    found = read(2 * other.z + m.s, columns, "here")
    assert sorted(found.index) == [columns.column(m.s), n]
    assert columns[n] is other.z
    assert columns.name(n) == "z"
    columns.seal()
    other.late = pyo.Var()
    assert columns.column(other.late) == -1


FAR = [1e16, -1e16, 1.0, -1.0, 3.0, 0.1, 1e-3, 2.0**60, -(2.0**60), 7e15]


@pytest.mark.parametrize("seed", range(20 if FULL else 5))
def test_repeated_terms_add_up_exactly(seed: int) -> None:
    """Every coefficient is the double nearest to the exact sum of its parts, in any order."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    terms = np.random.default_rng(seed).choice(FAR, size=(12, 5)).tolist()
    body: list[Any] = [0.0, 0.0]
    for *row, a in terms:
        for part, factor in zip([m.x[0], m.x[1], m.x[2], 1.0], row, strict=True):
            body[0] = body[0] + factor * part
        body[1] = body[1] + a * (m.x[0] * m.x[1])
    line, curved = (read(part, Columns(m), "row") for part in body)
    *linear, product = (float(sum(map(Fraction, column))) for column in zip(*terms, strict=True))
    assert [*line.linear()[1].tolist(), line.constant] == linear
    assert [a for *_, a in curved.products] == ([product] if product else [])


def test_powers_and_factors_of_fixed_variables() -> None:
    m = pyo.ConcreteModel()
    m.x, m.f, m.zero = pyo.Var(), pyo.Var(), pyo.Var()
    m.f.fix(3.0)
    m.zero.fix(0.0)
    body = m.f * (m.x * m.x) + m.x**m.f * m.zero + m.x ** (m.f - 2) + m.x ** (m.f - 3) + m.f**m.f
    found = read(body / (m.f - 1), Columns(m), "row")
    assert [a for *_, a in found.products] == [1.5]
    assert found.linear()[1].tolist() == [0.5]
    assert found.constant == 14.0


# --- parts of models -----------------------------------------------------------------------------


def test_a_disjunct_of_a_disjunction_is_read() -> None:
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    halves = []
    for low in (True, False):
        m = tm.c_svc(data, C=1.0)
        m.row = pyo.Constraint(expr=m.w[0] <= -1 if low else m.w[0] >= 1)
        halves.append(tm.solve(m).objective)
    m = tm.c_svc(data, C=1.0)
    m.w.setlb(-9)
    m.w.setub(9)
    m.low, m.high = Disjunct(), Disjunct()
    m.low.row = pyo.Constraint(expr=m.w[0] <= -1)
    m.high.row = pyo.Constraint(expr=m.w[0] >= 1)
    m.one = Disjunction(expr=[m.low, m.high])
    assert tm.solve(m).objective == pytest.approx(min(halves), rel=1e-6)


def test_a_number_that_does_exist_is_read() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(-5, 5))
    m.x.fix(4.0)
    m.p = pyo.Param(initialize=4.0, mutable=True)
    m.goal = pyo.Objective(expr=pyo.log(m.x) + pyo.sqrt(m.p) * abs(m.y) + m.y**2)
    assert tm.solve(m).objective == pytest.approx(math.log(4.0), rel=1e-7)


EDITS: list[Any] = [
    lambda m: m.w[0].fix(2.0),
    lambda m: m.margin[1].deactivate(),
    lambda m: m.margin[0].set_value(m.margin[0].body >= 0.5),
]
FEW = [([], 3), (EDITS[:1], 1), (EDITS[1:2], 3), (EDITS[2:], 1000), (EDITS, 1), (EDITS, 3)]


@pytest.mark.parametrize(("edits", "at_once"), FEW)
def test_sparse_rows_are_those_of_dense_points(
    edits: list[Any], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written a few rows at a time."""
    monkeypatch.setattr(sparse_assembly, "AT_ONCE", at_once)
    for seed in range(6 if FULL else 2):
        rng = np.random.default_rng(seed)
        X = sp.random_array((7, 3), density=0.4, rng=rng, format="csr")
        forms = []
        for points in (X, X.toarray()):
            m = tm.c_svc(tm.TrainingData(points, [-1, 1, -1, 1, -1, 1, -1]), C=1.0)
            for edit in edits:
                edit(m)
            forms.append(standard_form(m))
        kept, dense = forms
        assert np.array_equal(kept.A.toarray(), dense.A.toarray())
        assert np.array_equal(kept.A.indptr, dense.A.indptr), "no cell is stored twice or as 0"
        assert np.array_equal(kept.A.indices, dense.A.indices), "columns ascend"
        assert np.array_equal(kept.row_lower, dense.row_lower)
