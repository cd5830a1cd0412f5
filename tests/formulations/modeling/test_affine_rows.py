"""Rows kept as arrays are the rows of the model: for everybody who looks, edits, writes or solves.

The same model is written twice, once with AffineRows and once with an ordinary Constraint and a
Python rule; whatever is done to both, they stay the same model.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.gdp import Disjunct, Disjunction
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from tests.inside.formulations import AffineRows, ArrayVar, dot, equal_rows, squares
from tests.inside.formulations import affine_rows_total as total
from tests.inside.solvers import StandardForm, representable, standard_form
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import c_svc
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
        m.I,
        [((SIGN, SIGNED), m.w), (SIGN, m.b), (m.big, m.xi), (0.7, m.z)],
        lower=1.0,
        upper=9.0,
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
    "count": lambda m: len(m.row),
    "deactivate 1": lambda m: m.row[1].deactivate(),
    "deactivate 3": lambda m: m.row[3].deactivate(),
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
@settings(max_examples=120 if FULL else 25)
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


def test_it_is_a_constraint_in_every_way_of_asking() -> None:
    m = with_arrays()
    assert m.row.ctype is pyo.Constraint
    assert isinstance(m.row, pyo.Constraint)
    assert len(m.row) == N
    assert list(m.row) == list(m.row.keys()) == list(range(N))
    assert [key for key, _ in m.row.items()] == list(range(N))
    assert all(row.parent_component() is m.row for row in m.row.values())
    assert [row.index() for row in m.row.values()] == list(range(N))
    assert m.row[2].name == "row[2]"
    assert 2 in m.row
    assert N not in m.row
    assert m.find_component("row[3]") is m.row[3]
    assert m.row[3] is m.row[3]
    with pytest.raises(KeyError):
        m.row[N]
    with pytest.raises(KeyError):
        del m.row["absent"]


def test_rows_carry_values_slacks_and_sides() -> None:
    m = with_arrays()
    for j, value in enumerate((0.5, -1.0, 0.25)):
        m.w[j].value = value
    m.b.value = 0.75
    for i in m.I:
        m.xi[i].value = 0.1 * i
        m.z[i].value = i % 2
        score = MATRIX[i] @ [0.5, -1.0, 0.25] + SIGN[i] * 0.75
        body = score + (1 + i) * 0.1 * i + 0.7 * (i % 2)
        assert pyo.value(m.row[i].body) == pytest.approx(body)
        assert (m.row[i].lower, m.row[i].upper) == (1.0, 9.0)
        assert m.row[i].slack() == pytest.approx(min(body - 1, 9 - body))
        assert m.tie[i].equality
        assert m.tie[i].lower == m.tie[i].upper == LOW[i]
        assert m.cap[i].lower is None
        assert pyo.value(m.cap[i].upper) == 0.5


def test_rows_of_words_and_of_pairs() -> None:
    """Row k belongs to the k-th element, whatever the elements are."""
    m = pyo.ConcreteModel()
    m.names = pyo.Set(initialize=["left", "right"], ordered=True)
    m.pairs = pyo.Set(initialize=[(1, "a"), (2, "b")], dimen=2)
    m.x, m.y = pyo.Var(m.names, bounds=(0, 9)), pyo.Var(m.pairs, bounds=(0, 9))
    m.size = pyo.Param(m.names, initialize={"left": 2.0, "right": 4.0}, mutable=True)
    m.by_name = AffineRows(m.names, [(m.size, m.x)], lower=np.array([3.0, 8.0]))
    m.by_pair = AffineRows(m.pairs, [(np.array([5.0, 10.0]), m.y)], lower=1.0)
    m.goal = pyo.Objective(expr=sum(m.x.values()) + sum(m.y.values()))
    result = solve(m)
    np.testing.assert_allclose(result.values["x"], [1.5, 2.0], atol=1e-7)
    np.testing.assert_allclose(result.values["y"], [0.2, 0.1], atol=1e-7)
    m.size["right"] = 16.0
    assert pyo.value(m.by_name["right"].body) == pytest.approx(16 * m.x["right"].value)
    np.testing.assert_allclose(solve(m).values["x"], [1.5, 0.5], atol=1e-7)


def test_the_arrays_given_may_change_afterwards() -> None:
    """Rows hold a copy: filling a work array anew must not rewrite the model."""
    m = skeleton()
    work = MATRIX.copy()
    m.row = AffineRows(m.I, [(work, m.w)], lower=-1.0)
    before = standard_form(m).A.toarray()
    work[:] = 0.0
    np.testing.assert_array_equal(standard_form(m).A.toarray(), before)
    np.testing.assert_array_equal(before[:, :K], MATRIX)


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


# --- everybody else ------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["look", "delete 2", "fix w"])
def test_nl_files_hold_the_same_model(step: str, tmp_path: Path) -> None:
    """Segments of the file, comments left out: the same numbers in the same places."""
    texts = []
    for k, m in enumerate((with_arrays(), with_rules())):
        STEPS[step](m)
        path = tmp_path / f"{k}.nl"
        m.write(str(path))
        texts.append([number_or_word(t) for t in path.read_text(encoding="utf-8").split()])
    assert texts[0] == texts[1]


def number_or_word(text: str) -> float | str:
    """A zero may be written 0 or 0.0."""
    try:
        return float(text)
    except ValueError:
        return text


@pytest.mark.parametrize("transformation", ["gdp.bigm", "gdp.hull"])
def test_disjuncts_may_hold_array_rows(transformation: str) -> None:
    """Either all of x_i + 2 w >= 3, or all of x_i >= 4; solved through Pyomo's own interfaces."""
    found = []
    for arrays in (True, False):
        m = pyo.ConcreteModel()
        m.I = pyo.RangeSet(0, 2)
        m.w = pyo.Var(bounds=(0, 1))
        m.left, m.right = Disjunct(), Disjunct()
        if arrays:
            m.x = ArrayVar(m.I, lower=0.0, upper=np.array([9.0, 8.0, 7.0]))
            m.left.row = AffineRows(m.I, [(1.0, m.x), (2.0, m.w)], lower=3.0)
            m.right.row = AffineRows(m.I, [(1.0, m.x)], lower=4.0)
            loss = dot([1.0, 2.0, 3.0], m.x)
        else:
            m.x = pyo.Var(m.I, bounds={0: (0, 9), 1: (0, 8), 2: (0, 7)})
            m.left.row = pyo.Constraint(
                m.I, rule=lambda b, i: b.model().x[i] + 2 * b.model().w >= 3
            )
            m.right.row = pyo.Constraint(m.I, rule=lambda b, i: b.model().x[i] >= 4)
            loss = m.x[0] + 2 * m.x[1] + 3 * m.x[2]
        m.either = Disjunction(expr=[m.left, m.right])
        m.goal = pyo.Objective(expr=loss + 20 * m.w)
        pyo.TransformationFactory(transformation).apply_to(m)
        pyo.SolverFactory("highs").solve(m)
        found.append(float(pyo.value(m.goal)))
        assert solve(m).objective == pytest.approx(found[-1], abs=1e-7)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    assert found[0] == pytest.approx(18.0)  # x = 3, w = 0


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("highs", "deactivate 3"), ("appsi_highs", "replace 4"), ("scip_direct", "delete 2"),
        ("gurobi_direct", "fix xi"), ("appsi_highs", "bound xi"), ("gurobi_direct", "relax"),
    ],
)  # fmt: skip
def test_stock_solvers_see_the_same_rows(name: str, step: str) -> None:
    found = []
    for m in (with_arrays(), with_rules()):
        STEPS[step](m)
        pyo.SolverFactory(name).solve(m)
        found.append(float(pyo.value(m.objective)))
    assert found[0] == pytest.approx(found[1], abs=1e-7)
    m = with_arrays()
    STEPS[step](m)
    assert solve(m).objective == pytest.approx(found[1], abs=1e-6)


def test_duals_of_array_rows_arrive_by_name() -> None:
    """d objective / d side: by differences of two solves."""
    m = with_arrays()
    m.z.fix(0)
    base = solve(m, "highs")
    step = 1e-5
    for i in range(N):
        moved = with_arrays()
        moved.z.fix(0)
        low = moved.row[i]
        low.set_value((1.0 + step, low.body, 9.0))
        slope = (solve(moved, "highs").objective - base.objective) / step
        assert base.duals["row"][i] == pytest.approx(slope, abs=1e-4)


def test_rows_inside_a_block_are_found() -> None:
    m = pyo.ConcreteModel()
    m.inner = pyo.Block()
    m.inner.I = pyo.RangeSet(0, 2)
    m.inner.x = pyo.Var(m.inner.I, bounds=(0, 10))
    m.inner.row = AffineRows(m.inner.I, [(np.diag([1.0, 2.0, 4.0]), m.inner.x)], lower=4.0)
    m.goal = pyo.Objective(expr=sum(m.inner.x.values()))
    assert solve(m).objective == pytest.approx(4 + 2 + 1, abs=1e-7)
    m.inner.deactivate()
    assert solve(m).objective == pytest.approx(0.0, abs=1e-7)
    m.inner.activate()
    assert solve(m).objective == pytest.approx(7.0, abs=1e-7)


def test_building_touches_no_row() -> None:
    """The point of it all: neither the builder nor solve() makes a Pyomo row."""
    model = c_svc(points("overlapping", 0), C=1.0)
    solve(model)
    assert model.margin.touched() == []
    assert len(model.margin._data) == len(model.xi.touched()) == 0
    assert list(model.margin.untouched()) == list(range(14))


# --- the small expressions -----------------------------------------------------------------------


def test_dot_and_squares() -> None:
    m = skeleton()
    for i in m.I:
        m.xi[i].value = float(i)
    assert pyo.value(dot(2.0, m.xi)) == pytest.approx(30.0)
    assert pyo.value(dot(np.arange(6.0), m.xi)) == pytest.approx(55.0)
    assert pyo.value(squares(m.xi)) == pytest.approx(55.0)
    m.b.value = -3.0
    assert pyo.value(dot(2.0, m.b)) == pytest.approx(-6.0)
    with pytest.raises(ValueError, match="expected a number or 6 numbers"):
        dot(np.zeros(5), m.xi)
