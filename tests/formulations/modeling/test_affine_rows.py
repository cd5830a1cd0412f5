"""Rows, variables and cones kept as arrays are those of the model, whoever edits or reads it.

The same model is written twice, once with AffineRows and once with an ordinary Constraint and a
Python rule; whatever is done to both, they stay the same model.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from tests.inside.formulations import (
    AffineRows,
    ArrayVar,
    RotatedCones,
    complement,
    dot,
    equal_rows,
    squares,
    total,
)
from tests.inside.solvers import StandardForm, representable, standard_form
from tests.support.covering import FULL
from tightmargin.solvers import solve

N, K = 6, 3
RNG = np.random.default_rng(3)
MATRIX = RNG.standard_normal((N, K))
MATRIX[1, 2] = MATRIX[4, 0] = 0.0
SIGN = np.where(np.arange(N) % 2, 1.0, -1.0)
SIGNED = SIGN[:, None] * MATRIX
LOW = RNG.uniform(-2.0, -1.0, N)
SHARE = RNG.uniform(0.8, 1.0, N)
PRICE = RNG.uniform(0.1, 2.0, N)


def skeleton(arrays: bool = False) -> pyo.ConcreteModel:
    """Variables, Params and an objective that pulls against the rows."""
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, N - 1)
    m.level = pyo.Param(initialize=0.5, mutable=True)
    m.roof = pyo.Param(initialize=5.0, mutable=True)
    m.w = pyo.Var(range(K), bounds=(-3, 3))
    m.b = pyo.Var(bounds=(-2, 2))
    if arrays:
        m.xi = ArrayVar(m.I, lower=0.0, upper=(SHARE, m.roof))
        m.z = ArrayVar(m.I, within=pyo.Binary)
        loss, switched = dot(1.0, m.xi), dot(PRICE, m.z)
    else:
        m.xi = pyo.Var(m.I, bounds={i: (0, m.roof * SHARE[i].item()) for i in range(N)})
        m.z = pyo.Var(m.I, within=pyo.Binary)
        loss, switched = sum(m.xi.values()), sum(PRICE[i].item() * m.z[i] for i in range(N))
    m.big = pyo.Param(m.I, initialize={i: 1.0 + i for i in range(N)}, mutable=True)
    tilt = 0.3 * m.w[0] - 0.2 * m.w[1] + 0.1 * m.w[2] + 0.05 * m.b
    m.objective = pyo.Objective(expr=total(loss, m.level * switched, tilt))
    return m


def with_arrays() -> pyo.ConcreteModel:
    m = skeleton(arrays=True)
    m.row = AffineRows(
        m.I, [((SIGN, SIGNED), m.w), (SIGN, m.b), (m.big, m.xi), (0.7, m.z)], lower=1.0, upper=9.0
    )
    m.tie = equal_rows(m.I, [(sp.csr_matrix(MATRIX), m.w), (m.level, m.b), (-1.0, m.xi)], LOW)
    m.tie.deactivate()
    m.cap = AffineRows(m.I, [(1.0, m.xi), (-0.5, m.b)], upper=m.level)
    m.cap.deactivate()
    return m


def with_rules() -> pyo.ConcreteModel:
    m = skeleton()

    def score(m: pyo.ConcreteModel, i: int) -> Any:
        return sum(MATRIX[i, j].item() * m.w[j] for j in range(K))

    m.row = pyo.Constraint(
        m.I,
        rule=lambda m, i: (
            1.0,
            score(m, i) + SIGN[i].item() * m.b + m.big[i] * m.xi[i] + 0.7 * m.z[i],
            9.0,
        ),
    )
    m.tie = pyo.Constraint(
        m.I, rule=lambda m, i: score(m, i) + m.level * m.b - m.xi[i] == LOW[i].item()
    )
    m.tie.deactivate()
    m.cap = pyo.Constraint(m.I, rule=lambda m, i: m.xi[i] - 0.5 * m.b <= m.level)
    m.cap.deactivate()
    return m


Step = Callable[[pyo.ConcreteModel], Any]
STEPS: dict[str, Step] = {
    "nothing": lambda m: None,
    "look": lambda m: [str(row.expr) for row in m.row.values()],
    "deactivate 1": lambda m: m.row[1].deactivate(),
    "activate 1": lambda m: m.row[1].activate() if 1 in m.row else None,
    "delete 2": lambda m: m.row.__delitem__(2) if 2 in m.row else None,
    "replace 4": lambda m: m.row[4].set_value(m.w[0] + 2 * m.xi[4] >= 1.5),
    "put 2 back": lambda m: m.row.add(2, m.w[1] + m.xi[2] >= 0.25) if 2 not in m.row else None,
    "deactivate all": lambda m: m.row.deactivate(),
    "activate all": lambda m: m.row.activate(),
    "ties on": lambda m: m.tie.activate(),
    "one tie on": lambda m: m.tie[0].activate(),
    "caps on": lambda m: m.cap.activate(),
    "raise big": lambda m: m.big[5].set_value(0.25),
    "raise level": lambda m: setattr(m, "level", 0.9),
    "fix w": lambda m: m.w[0].fix(0.3),
    "unfix w": lambda m: m.w[0].unfix(),
    "fix xi": lambda m: m.xi[5].fix(0.75),
    "fix b": lambda m: m.b.fix(-0.4),
    "relax": lambda m: pyo.TransformationFactory("core.relax_integer_vars").apply_to(m),
    "look at xi": lambda m: [v.name for v in m.xi.values()],
    "bound xi": lambda m: m.xi[3].setub(0.1),
    "raise the roof": lambda m: m.roof.set_value(7.5),
    "fix all z": lambda m: m.z.fix(1),
    "unfix z": lambda m: m.z[4].unfix(),
    "z real": lambda m: setattr(m.z[2], "domain", pyo.UnitInterval),
    "value": lambda m: m.xi[1].set_value(0.25),
    "slice": lambda m: [row.deactivate() for row in list(m.row[:])[:2]],
}


def arrays(form: StandardForm) -> dict[str, np.ndarray]:
    """Rows by name and columns by name, so that the order of neither counts."""
    by_row = np.argsort([row.name for row in form.rows])
    by_column = np.argsort([v.name for v in form.columns])
    A = form.A.toarray()[by_row][:, by_column]
    return {
        "rows": np.array(sorted(row.name for row in form.rows)),
        "columns": np.array(sorted(v.name for v in form.columns)),
        "A": A,
        "lower": form.row_lower[by_row],
        "upper": form.row_upper[by_row],
        "bounds": np.column_stack([form.lower, form.upper])[by_column],
        "integer": form.integer[by_column],
        "cost": form.objective.a[by_column],
    }


def assert_same_model(ours: pyo.ConcreteModel, plain: pyo.ConcreteModel) -> None:
    """Through our reader, row objects one by one, and Pyomo's own compiler of linear models."""
    mine, theirs = (arrays(representable(m)[1]) for m in (ours, plain))
    assert set(mine["rows"]) == set(theirs["rows"])
    assert list(mine["columns"]) == list(theirs["columns"])
    for name in ("A", "lower", "upper", "bounds", "integer", "cost"):
        np.testing.assert_allclose(mine[name], theirs[name], atol=1e-14, err_msg=name)
    assert described(ours) == described(plain)
    compiled = [LinearStandardFormCompiler().write(m, mixed_form=True) for m in (ours, plain)]
    sizes = [np.sort(np.asarray(abs(form.A).sum(axis=1)).ravel()) for form in compiled]
    np.testing.assert_allclose(sizes[0], sizes[1], atol=1e-12)


def described(m: pyo.ConcreteModel) -> dict[str, Any]:
    """Sides, and coefficients rounded to ten digits, of every active row as Pyomo shows it."""
    found = {}
    for row in m.component_data_objects(pyo.Constraint, active=True):
        low, body, high = row.to_bounded_expression(evaluate_bounds=True)
        repn = generate_standard_repn(body)
        pairs = zip(repn.linear_coefs, repn.linear_vars, strict=True)
        coefficients = {v.name: round(pyo.value(a), 10) for a, v in pairs if pyo.value(a)}
        shift = pyo.value(repn.constant)
        sides = [None if s is None else round(s - shift, 10) for s in (low, high)]
        found[row.name] = (sides, coefficients)
    return found


def linear_optimum(m: pyo.ConcreteModel) -> float | None:
    """Optimum through Pyomo's own HiGHS interface; None when there is none."""
    twin = m.clone()
    found = pyo.SolverFactory("highs").solve(twin, load_solutions=False)
    if found.solver.termination_condition != pyo.TerminationCondition.optimal:
        return None
    twin.solutions.load_from(found)
    (objective,) = twin.component_data_objects(pyo.Objective, active=True)
    return float(pyo.value(objective))


@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=7), copied=st.integers(0, 7))
@settings(max_examples=120 if FULL else 15)
def test_any_sequence_of_edits_leaves_the_same_model(steps: list[str], copied: int) -> None:
    ours, plain = with_arrays(), with_rules()
    for k, name in enumerate(steps):
        if k == copied:
            ours = ours.clone() if copied % 2 else pickle.loads(pickle.dumps(ours))
        for model in (ours, plain):
            STEPS[name](model)
    assert_same_model(ours, plain)
    expected = linear_optimum(plain)
    known = None if expected is None else pytest.approx(expected, abs=1e-8)
    assert solve(ours, "highs").objective == known
    assert linear_optimum(ours) == known


@pytest.mark.parametrize("name", STEPS)
def test_every_edit_is_seen_by_the_next_solve(name: str) -> None:
    """A result computed before the edit must not linger anywhere."""
    ours, plain = with_arrays(), with_rules()
    solve(ours)
    for model in (ours, plain):
        STEPS[name](model)
    assert_same_model(ours, plain)
    expected = linear_optimum(plain)
    assert solve(ours).objective == (
        None if expected is None else pytest.approx(expected, abs=1e-8)
    )


# --- the container a Pyomo user expects ----------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("row", pyo.Constraint), ("xi", pyo.Var)])
def test_it_is_a_component_in_every_way_of_asking(name: str, kind: type) -> None:
    m = with_arrays()
    held = m.component(name)
    assert held.ctype is kind
    assert isinstance(held, kind)
    assert len(held) == N
    assert list(held) == list(held.keys()) == list(range(N))
    assert [key for key, _ in held.items()] == list(range(N))
    assert all(part.parent_component() is held for part in held.values())
    assert [part.index() for part in held.values()] == list(range(N))
    assert [part.name for part in held.values()] == [f"{name}[{i}]" for i in range(N)]
    assert 2 in held
    assert N not in held
    assert m.find_component(f"{name}[3]") is held[3]
    assert held[3] is held[3]
    with pytest.raises(KeyError):
        held[N]
    with pytest.raises(KeyError):
        del m.row["absent"]
    with pytest.raises(TypeError, match=r"xi\[1\] cannot be deleted: fix it"):
        del m.xi[1]
    with pytest.raises(TypeError, match="xi cannot be cleared"):
        m.xi.clear()


def test_values_come_and_go_as_arrays() -> None:
    m = skeleton(arrays=True)
    m.xi[1].value = 9.0
    m.xi.load(np.array([1.0, 2.0, np.nan, 4.0, 5.0, 6.0]))
    assert m.xi.get_values() == {0: 1.0, 1: 2.0, 2: None, 3: 4.0, 4: 5.0, 5: 6.0}
    assert [v.value for v in m.xi.values()] == [1.0, 2.0, None, 4.0, 5.0, 6.0]
    m.xi[0].fix()
    others = {1: 2.0, 2: None, 3: 4.0, 4: 5.0, 5: 6.0}
    assert m.xi.extract_values(include_fixed_values=False) == others
    m.xi.set_values({4: 0.5})
    assert m.xi.arrays().values[4] == 0.5


def test_bounds_that_do_not_fit_are_refused() -> None:
    m = skeleton()
    with pytest.raises(ValueError, match=r"expected a number or 6 numbers, got shape \(4,\)"):
        m.bad = ArrayVar(m.I, lower=np.zeros(4))
    m.worse = ArrayVar(m.I, upper=np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"upper bound of worse\[1\] is nan"):
        standard_form(m)


def test_shapes_that_do_not_fit_are_refused() -> None:
    m = skeleton()
    for terms, sentence in (
        ([(MATRIX[:4], m.w)], r"coefficients \(4, 3\) do not fit 6 rows and 3 variables"),
        ([(MATRIX[:, :2], m.w)], r"coefficients \(6, 2\) do not fit 6 rows and 3 variables"),
        ([(sp.csr_matrix(MATRIX[:4]), m.w)], r"\(4, 3\) do not fit 6 rows and 3 variables"),
        ([(1.0, m.w)], "3 variables for 6 rows"),
        ([(SIGN[:5], m.xi)], r"expected a number or 6 numbers, got shape \(5,\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            AffineRows(m.I, terms, lower=0.0)
    with pytest.raises(ValueError, match=r"expected a number or 6 numbers, got shape \(2,\)"):
        AffineRows(m.I, [(1.0, m.xi)], lower=np.zeros(2))
    m.few = pyo.Param(range(2), initialize=1.0, mutable=True)
    with pytest.raises(ValueError, match="2 values of few for 6 rows"):
        AffineRows(m.I, [(m.few, m.xi)], lower=0.0)


def test_repeated_variables_add_up() -> None:
    m = skeleton()
    m.row = AffineRows(m.I, [(MATRIX, m.w), (1.0, m.xi), (2.0, m.xi), (-MATRIX, m.w)], lower=6.0)
    form = standard_form(m)
    np.testing.assert_allclose(form.A.toarray()[:, : K + 1], 0.0, atol=1e-15)
    np.testing.assert_allclose(form.A.toarray()[:, K + 1 : K + 1 + N], 3 * np.eye(N))
    assert solve(m).values["xi"] == pytest.approx(np.full(N, 2.0), abs=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_in_the_arrays_are_refused_by_name(bad: float) -> None:
    spoiled = MATRIX.copy()
    spoiled[3, 1] = bad
    m = skeleton()
    m.row = AffineRows(m.I, [(spoiled, m.w), (1.0, m.xi)], lower=0.0)
    with pytest.raises(ValueError, match=rf"row row\[3\]: coefficient of w\[1\] is {bad}"):
        solve(m)
    m.row[3].deactivate()
    assert solve(m).objective is not None
    m = skeleton()
    m.row = AffineRows(m.I, [(1.0, m.xi)], lower=np.where(np.arange(N) == 2, bad, 0.0))
    with pytest.raises(ValueError, match=r"row row\[2\]"):
        solve(m)


def test_dot_and_squares() -> None:
    m = skeleton()
    for i in m.I:
        m.xi[i].value = float(i)
    m.b.value = -3.0
    sums = (dot(2.0, m.xi), dot(np.arange(6.0), m.xi), squares(m.xi), dot(2.0, m.b))
    assert [pyo.value(each) for each in sums] == pytest.approx([30.0, 55.0, 55.0, -6.0])
    with pytest.raises(ValueError, match="expected a number or 6 numbers"):
        dot(np.zeros(5), m.xi)


# --- rotated cones -------------------------------------------------------------------------------

FEW = [0, 2, 3]
NEED = np.array([0.3, 0.5, 0.8, 1.1, 0.2, 0.1])


def cones(arrays: bool) -> pyo.ConcreteModel:
    """min sum s + 2 r - 0.4 z  with p >= need, p^2 <= s z, p^2 <= r (1 - z) for a few of them."""
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, N - 1)
    m.A = pyo.Set(initialize=FEW)
    m.p = ArrayVar(m.I, lower=NEED)
    m.s, m.r = ArrayVar(m.I, lower=0.0), ArrayVar(m.A, lower=0.0)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    if arrays:
        m.inside = RotatedCones(m.I, m.p, m.s, m.z)
        m.outside = RotatedCones(m.A, m.p, m.r, complement(m.z))
    else:
        m.inside = pyo.Constraint(m.I, rule=lambda m, i: m.p[i] ** 2 <= m.s[i] * m.z[i])
        m.outside = pyo.Constraint(m.A, rule=lambda m, i: m.p[i] ** 2 <= m.r[i] * (1 - m.z[i]))
    m.objective = pyo.Objective(expr=total(dot(1.0, m.s), dot(2.0, m.r), dot(-0.4, m.z)))
    return m


EDITS: dict[str, Step] = {
    "nothing": lambda m: None,
    "look": lambda m: [str(row.expr) for row in m.inside.values()],
    "deactivate": lambda m: m.inside[2].deactivate(),
    "deactivate all": lambda m: m.outside.deactivate(),
    "delete": lambda m: m.outside.__delitem__(3),
    "replace": lambda m: m.inside[1].set_value(2 * m.p[1] ** 2 <= m.s[1] * m.z[1]),
    "fix z": lambda m: m.z[2].fix(0.4),
    "fix p": lambda m: m.p[0].fix(0.9),
    "fix s": lambda m: m.s[3].fix(2.5),
}


@pytest.mark.parametrize("step", EDITS)
def test_every_edit_leaves_the_same_cones_and_the_same_optimum(step: str) -> None:
    ours, plain = cones(arrays=True), cones(arrays=False)
    if step == "look":
        ours = ours.clone()
    if step == "replace":
        ours = pickle.loads(pickle.dumps(ours))
    for m in (ours, plain):
        EDITS[step](m)
    names = [{row.data.name for row in standard_form(m).quadratic} for m in (ours, plain)]
    assert names[0] == names[1]
    one, other = solve(ours, "clarabel"), solve(plain, "clarabel")
    assert one.objective == pytest.approx(other.objective, abs=1e-7)
    assert one.certificate.verdict == other.certificate.verdict == "CERTIFIED"
    for name in ("inside", "outside"):
        if step in ("nothing", "look"):
            np.testing.assert_allclose(one.duals[name], other.duals[name], atol=1e-5)
