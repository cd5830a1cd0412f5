"""A live program: the optimum of the edited model in both forms, every number read back."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.inside.formulations import AffineRows, ArrayVar, dot, total
from tests.inside.solvers import LpSolution, highs_handle, settled
from tests.references import reference_solutions
from tests.support.covering import FULL
from tightmargin.solvers import LiveLP, NumberError, Status, Verdict

INF = np.inf
FORMS = ("primal", "dual")


# --- an independent record of what the program should be -----------------------------------------


class Record:
    """The edited program as dense arrays, solved from scratch by scipy."""

    def __init__(self, rng: np.random.Generator, m: int, n: int) -> None:
        self.A = np.hstack([rng.integers(-3, 4, (m, n)).astype(float), np.eye(m)])
        self.sides = np.tile([1.0, INF], (m, 1))
        self.c = np.r_[rng.integers(-2, 3, n).astype(float), np.full(m, 2.0)]
        self.bounds = np.vstack([np.tile([-1.0, 1.0], (n, 1)), np.tile([0.0, INF], (m, 1))])

    def model(self, sense: int = 1) -> pyo.ConcreteModel:
        m, total_columns = self.A.shape
        n = total_columns - m
        model = pyo.ConcreteModel()
        model.I, model.J = pyo.RangeSet(0, m - 1), pyo.RangeSet(0, n - 1)
        model.x = pyo.Var(model.J, bounds=(-1, 1))
        model.s = ArrayVar(model.I, lower=0.0)
        model.row = AffineRows(
            model.I, [(self.A[:, :n].copy(), model.x), (1.0, model.s)], lower=1.0
        )
        goal = total(dot(sense * self.c[:n], model.x), dot(2.0 * sense, model.s))
        model.goal = pyo.Objective(expr=goal, sense=pyo.minimize if sense == 1 else pyo.maximize)
        return model

    def solved(self, c: np.ndarray | None = None) -> Any:
        # A tolerance of 1e-7 is too much for a row of coefficients of that size.
        size = np.abs(self.A).max(axis=1)
        size[size == 0] = 1.0
        A, (low, high) = self.A / size[:, None], self.sides.T / size
        equal = low == high
        under, over = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
        return linprog(
            self.c if c is None else c,
            A_ub=np.vstack([A[under], -A[over]]),
            b_ub=np.r_[high[under], -low[over]],
            A_eq=A[equal],
            b_eq=low[equal],
            bounds=self.bounds,
        )

    def check(self, live: LiveLP) -> None:
        found = live.resolve()
        known = self.solved()
        if known.status != 0:
            assert found.x is None
            feasible = self.solved(np.zeros_like(self.c)).status == 0
            word = Status.UNBOUNDED if feasible else Status.INFEASIBLE
            assert found.status in (word, Status.INFEASIBLE_OR_UNBOUNDED)
            return
        assert found.status is Status.OPTIMAL, found.message
        # A dual written wrongly has no point, and asking the primal would hide it.
        assert found.message.startswith("dual form") == (live.form_used == "dual")
        assert found.objective == pytest.approx(known.fun, abs=1e-6 * max(1, abs(known.fun)))
        x, y = found.x, found.row_duals
        assert x is not None
        assert y is not None
        r = self.c - self.A.T @ y
        for value, (low, high), price, size in zip(
            np.r_[self.A @ x, x],
            np.vstack([self.sides, self.bounds]),
            np.r_[y, r],
            np.r_[np.abs(self.A).max(axis=1), np.ones(len(x))],
            strict=True,
        ):
            tolerance = 1e-6 * max(1.0, size)
            assert low - tolerance <= value <= high + tolerance
            room = value - low if price > 0 else high - value
            worth = abs(price) * size
            assert worth <= 1e-6 or abs(price) * room <= 1e-5 * max(1.0, worth)


def random_edit(rng: np.random.Generator, live: LiveLP, record: Record, names: list[str]) -> None:
    """One edit of a random kind, made to both; `names` are those of the columns in order."""
    m, n = record.A.shape
    kind = rng.choice(["cut", "cut", "cut", "open", "sides", "column", "entry", "cost", "bounds"])
    i, j = int(rng.integers(m)), int(rng.integers(n))
    sides = [(-INF, 1.0), (0.0, INF), (0.5, 0.5), (-1.0, 2.0), (-INF, INF)][rng.integers(5)]
    match kind:
        case "cut":
            factor = float(rng.choice([1.0, 3e5, 7e-6]))
            which = rng.choice(n, size=min(n, 3), replace=False)
            if rng.random() < 0.7:  # most cuts leave the slacks alone
                which = np.array([k for k in range(n) if not names[k].startswith("s[")])
            row = np.zeros(n)
            row[which] = factor * rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0], size=len(which))
            scaled = (factor * sides[0], factor * sides[1])
            live.add_cut({names[k]: row[k] for k in which}, lower=scaled[0], upper=scaled[1])
            record.A, record.sides = np.vstack([record.A, row]), np.vstack([record.sides, scaled])
        case "open":
            live.remove_cut(i)
            record.sides[i] = (-INF, INF)
        case "sides":
            live.change_sides(i, *sides)
            record.sides[i] = sides
        case "column":
            name = f"z{n}"
            where = rng.choice(m, size=min(m, 2), replace=False)
            column = np.zeros(m)
            column[where] = rng.choice([-1.0, 1.0, 2.0], size=len(where))
            bounds = [(0.0, INF), (-1.0, 1.0), (0.0, 3.0), (2.0, 2.0)][rng.integers(4)]
            entries = {int(k): column[k] for k in where}
            live.add_column(name, entries, cost=1.0, lower=bounds[0], upper=bounds[1])
            record.A, record.c = np.hstack([record.A, column[:, None]]), np.append(record.c, 1.0)
            record.bounds = np.vstack([record.bounds, bounds])
            names.append(name)
        case "entry":
            number = float(rng.choice([0.0, -1.0, 1.5]))
            live.change_coefficient(i, names[j], number)
            record.A[i, j] = number
        case "cost":
            number = float(rng.integers(-2, 4))
            live.change_cost(names[j], number)
            record.c[j] = number
        case "bounds":
            options = [(-2.0, 2.0), (0.0, 1.0), (0.0, INF), (1.0, 1.0), (-INF, 0.0)]
            bounds = options[rng.integers(5)]
            live.change_bounds(names[j], *bounds)
            record.bounds[j] = bounds


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60 if FULL else 15)
@given(seed=st.integers(0, 10**6), edits=st.integers(1, 12))
def test_edits_in_any_order_lead_to_the_optimum_of_a_cold_solve(
    form: str, seed: int, edits: int
) -> None:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    record = Record(rng, m, n)
    live = LiveLP(record.model(), form=form)
    names = [f"x[{j}]" for j in range(n)] + [f"s[{i}]" for i in range(m)]
    record.check(live)
    for _ in range(edits):
        random_edit(rng, live, record, names)
        if rng.random() < 0.6:
            record.check(live)
    record.check(live)


def nu_lp(n: int, d: int = 4, seed: int = 0) -> pyo.ConcreteModel:
    """Takeda & Sugiyama's nu-LP with |w_j| <= 1 in place of the norm, and a list for cuts."""
    rng = np.random.default_rng([n, d, seed])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.7 * y[:, None]
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, d - 1)
    m.w = pyo.Var(m.J, bounds=(-1, 1))
    m.b, m.rho = pyo.Var(), pyo.Var()
    m.xi = ArrayVar(m.I, lower=0.0)
    terms = [(y[:, None] * X, m.w), (y, m.b), (-1.0, m.rho), (1.0, m.xi)]
    m.margin = AffineRows(m.I, terms, lower=0.0)
    m.objective = pyo.Objective(expr=total(-0.57 * m.rho, dot(1 / n, m.xi)))
    m.cuts = pyo.ConstraintList()
    return m


def cut_off(w: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """A hyperplane just inside the incumbent."""
    g = w / max(float(np.linalg.norm(w)), 1e-9) + 0.1 * np.cos(np.arange(len(w)) + k)
    g = g if g @ w > 0 else w
    return g, 0.98 * float(g @ w)


@pytest.mark.parametrize("form", FORMS)
def test_cuts_of_an_outer_loop_stay_in_the_model_and_bounds_are_of_its_rows(
    form: str,
) -> None:
    model = nu_lp(60)
    live = LiveLP(model, form=form)
    for k in range(8):
        found = live.resolve()
        assert live.proven_bound() == pytest.approx(found.objective, abs=1e-9)
        assert live.proven_bound() <= found.objective + 1e-12
        g, side = cut_off(found["w"], k)
        live.add_cut(model.cuts.add(sum(g[j] * model.w[j] for j in model.J) <= side))
    with pytest.raises(ValueError, match="changed since it was solved: call resolve"):
        live.proven_bound()
    found = live.resolve()
    certificate = live.certificate()
    assert certificate.verdict is Verdict.CERTIFIED
    assert "exact" in certificate.bound_method
    assert len(model.cuts) == 8
    optimum = reference_solutions.pyomo_optimum(model)
    assert found.objective == pytest.approx(optimum, abs=1e-8)
    live.load_values()
    assert pyo.value(model.objective) == pytest.approx(optimum, abs=1e-8)
    np.testing.assert_allclose([pyo.value(model.w[j]) for j in model.J], found["w"])
    for name in ("b", "rho"):
        assert found[name].shape == ()
    assert found["xi"].shape == (60,)
    assert all(pyo.value(cut.slack()) > -1e-7 for cut in model.cuts.values())


# --- senses, names, values -----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_maximisation_keeps_its_sign(form: str) -> None:
    """max 3 x with x <= 2 y, y <= 1: optimum 6, and 3, 6 per unit of the right-hand sides."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.link = pyo.Constraint(expr=m.x - 2 * m.y <= 0)
    m.o = pyo.Objective(expr=3 * m.x + 1, sense=pyo.maximize)
    live = LiveLP(m, form=form)
    assert live.resolve().status is Status.UNBOUNDED
    live.add_cut({"y": 10.0}, upper=10.0, name="top")
    found = live.resolve()
    assert found.objective == pytest.approx(7, abs=1e-9)
    np.testing.assert_allclose(found.row_duals, [3.0, 0.6], atol=1e-9)
    assert live.proven_bound() == pytest.approx(7, abs=1e-9)
    assert live.proven_bound() >= 7 - 1e-15
    assert live.certificate().verdict is Verdict.CERTIFIED
    assert live.certificate().bound == pytest.approx(7, abs=1e-9)
    live.change_sides("top", upper=20.0)
    assert live.resolve().objective == pytest.approx(13, abs=1e-9)
    live.change_cost("x", 1.0)
    assert live.resolve().objective == pytest.approx(5, abs=1e-9)
    live.add_column("z", {"link": -1.0}, cost=-0.5, upper=3.0)
    assert live.resolve()["z"] == pytest.approx(3, abs=1e-9)
    assert live.resolve().objective == pytest.approx(5 + 3 - 1.5, abs=1e-9)
    live.change_coefficient(m.link, m.y, -4.0)
    assert live.resolve().objective == pytest.approx(8 + 3 - 1.5 + 1, abs=1e-9)
    live.change_bounds("z", 0.0, 1.0)
    assert live.resolve().objective == pytest.approx(8 + 1 - 0.5 + 1, abs=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_fixed_variables_are_constants(form: str) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=(0, 10))
    m.x[1].fix(4.0)
    m.c = pyo.Constraint(expr=sum(m.x.values()) >= 6)
    m.o = pyo.Objective(expr=sum(m.x.values()))
    live = LiveLP(m, form=form)
    live.add_cut({"x": [1.0, 2.0, 0.0]}, lower=11.0)  # x0 >= 3
    found = live.resolve()
    assert found["x"].tolist() == pytest.approx([3.0, 4.0, 0.0])
    assert found.objective == pytest.approx(7.0)
    with pytest.raises(ValueError, match=r"x\[1\] is fixed"):
        live.change_cost("x[1]", 2.0)


# --- refusals ------------------------------------------------------------------------------------


CUT_REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "small": ({"w": [1, 0, 0, 1e-9]}, {}, NumberError, r"myname: .*1e-09 of w\[3\] .*drop it"),
    "small before scaling": ({"w": [1e6, 0, 0, 1e-4]}, {}, NumberError, r"of w\[3\]"),
    "nan": ({"w": [1, np.nan, 0, 0]}, {}, NumberError, r"myname: coefficient of w\[1\] is nan"),
    "nan side": ({"b": 1.0}, {"upper": np.nan}, NumberError, "upper side is nan"),
    "wrong infinity": ({"b": 1.0}, {"upper": -INF}, NumberError, "no point can satisfy"),
    "huge side": ({"b": 1e-9}, {"upper": 1e12}, NumberError, "read the upper side .*as infinite"),
    "huge ratio": ({"b": 1e-290}, {"lower": 1e290}, NumberError, "as infinite"),
    "tiny": ({"b": 1e-305}, {}, NumberError, "rescale the row"),
    "empty": ({"w": np.zeros(4)}, {}, NumberError, "no coefficient differs from zero"),
    "twice": ({"w": np.ones(4), "w[2]": 1.0}, {}, ValueError, r"w\[2\] is given twice"),
    "unknown": ({"u": 1.0}, {}, ValueError, "no variable 'u'; it has w, b, rho, xi"),
    "length": ({"w": np.ones(3)}, {}, ValueError, "w has 4 elements, got 3 numbers"),
}


EDIT_REFUSALS: dict[str, tuple[Callable[[LiveLP], Any], type[Exception], str]] = {
    "row number": (lambda p: p.remove_cut(99), ValueError, "no row 99: the rows are 0 to 29"),
    "row name": (lambda p: p.remove_cut("cut 0"), ValueError, "no row 'cut 0'"),
    "inverse side": (
        lambda p: p.change_sides(0, upper=-INF), NumberError, r"upper side of row margin\[0\]",
    ),
    "huge bound": (lambda p: p.change_bounds("b", 0, 1e20), NumberError, "upper bound of b"),
    "huge cost": (lambda p: p.change_cost("b", 1e21), NumberError, "cost of b"),
    "nan cost": (lambda p: p.change_cost("w", [0, 0, np.nan, 0]), NumberError, r"w\[2\] is nan"),
    "small entry": (lambda p: p.change_coefficient(0, "b", 1e-12), NumberError, "between 1e-9"),
    "vector entry": (lambda p: p.change_coefficient(0, "w", 1.0), ValueError, "4 elements"),
    "column name": (lambda p: p.add_column("w", {}), ValueError, "a variable w already"),
    "column entry": (lambda p: p.add_column("z", {0: 1e16}), NumberError, "column z"),
    "column twice": (lambda p: p.add_column("z", {0: 1, "margin[0]": 1}), ValueError, "twice"),
    "column cost": (lambda p: p.add_column("z", {}, cost=np.inf), NumberError, "cost of z is inf"),
    "cut name": (lambda p: p.add_cut({"b": 1}, upper=9, name="w"), ValueError, "a component w"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_bad_cuts_and_edits_are_refused_by_name_and_change_nothing(form: str) -> None:
    live = LiveLP(nu_lp(30), form=form)
    before = live.resolve()
    for cut, sides, error, words in CUT_REFUSALS.values():
        with pytest.raises(error, match=words):
            live.add_cut(cut, **({"upper": 1.0} | sides), name="myname")
    for edit, error, words in EDIT_REFUSALS.values():
        with pytest.raises(error, match=words):
            edit(live)
    after = live.resolve()
    assert (after.objective, after.iterations) == (before.objective, 0)
    assert live.add_cut({"w": np.ones(4)}, upper=1e3, name="myname") == 30


def test_constraints_that_are_no_cuts_are_refused() -> None:
    model = nu_lp(30)
    live = LiveLP(model, form="primal")
    curved = model.cuts.add(model.w[0] ** 2 <= 1)
    with pytest.raises(ValueError, match="is not linear"):
        live.add_cut(curved)
    model.late = pyo.Var()
    with pytest.raises(ValueError, match="was not in the model when"):
        live.add_cut(model.cuts.add(model.late + model.b <= 1))
    fine = model.cuts.add(model.b <= 5)
    with pytest.raises(ValueError, match="has its own sides"):
        live.add_cut(fine, upper=3.0)
    live.add_cut(fine)
    with pytest.raises(ValueError, match="already"):
        live.add_cut(fine)
    with pytest.raises(ValueError, match=r"margin\[0\] already"):
        live.add_cut(model.margin[0])


def test_numbers_the_dual_would_lose_keep_a_program_in_primal_form() -> None:
    """Otherwise the form is chosen by size."""
    assert LiveLP(nu_lp(50)).form_used == "primal"
    model = nu_lp(400)
    large = LiveLP(model)
    assert large.form_used == "dual"
    assert large.reason == "in dual form, which has 6 rows where the model has 400"
    model.cuts.add(1e10 * model.b <= 1e17)
    assert LiveLP(model).form_used == "primal"
    with pytest.raises(NumberError, match="use form='primal' or scale the data"):
        LiveLP(model, form="dual")


# --- a solver that lies --------------------------------------------------------------------------


class Forgetful(highspy.Highs):
    """HiGHS that loses a part of what it is told, without a word."""

    loses = ""

    def addRow(self, lower: float, upper: float, k: int, index: Any, numbers: Any) -> Any:  # noqa: N802
        if self.loses == "row":
            return highspy.HighsStatus.kOk
        if self.loses == "coefficient" and k > 1:
            k, index, numbers = k - 1, index[:-1], numbers[:-1]
        return super().addRow(lower, upper + 1e-9 * (self.loses == "side"), k, index, numbers)

    def addCol(  # noqa: N802
        self, cost: float, lower: float, upper: float, k: int, index: Any, numbers: Any
    ) -> Any:
        if self.loses == "row":
            return highspy.HighsStatus.kOk
        if self.loses == "coefficient" and k > 1:
            numbers = np.r_[numbers[:-1], numbers[-1] * (1 + 1e-15)]
        return super().addCol(cost + 1e-9 * (self.loses == "side"), lower, upper, k, index, numbers)

    def changeColCost(self, j: int, cost: float) -> Any:  # noqa: N802
        return super().changeColCost(j, cost + (self.loses == "change"))

    def changeRowBounds(self, i: int, lower: float, upper: float) -> Any:  # noqa: N802
        return super().changeRowBounds(i, lower + (self.loses == "change"), upper)

    def changeCoeff(self, i: int, j: int, number: float) -> Any:  # noqa: N802
        return super().changeCoeff(i, j, number + (self.loses == "change"))

    def passModel(self, *given: Any) -> Any:  # noqa: N802
        if self.loses == "model":
            numbers = given[13] * (1 + 1e-15 * (np.arange(len(given[13])) == 3))
            given = (*given[:13], numbers, given[14])
        return super().passModel(*given)


def cut(live: LiveLP) -> Any:
    return live.add_cut({"w": np.ones(4)}, upper=1.0)


LOSSES: list[tuple[str, Callable[[LiveLP], Any]]] = [
    ("coefficient", cut),
    ("side", cut),
    ("row", cut),
    ("change", lambda p: p.change_cost("b", 0.25)),
    ("change", lambda p: p.change_sides(0, lower=0.25)),
    ("change", lambda p: p.change_coefficient(0, "b", 0.25)),
    ("row", lambda p: p.add_column("z", {0: 1.0, 1: 2.0}, upper=3.0)),
]


@pytest.mark.parametrize("form", FORMS)
def test_what_the_solver_loses_is_noticed(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highspy, "Highs", Forgetful)
    for loses, edit in LOSSES:
        live = LiveLP(nu_lp(30), form=form)
        before = live.resolve()
        monkeypatch.setattr(Forgetful, "loses", loses)
        with pytest.raises(NumberError, match=r"highs (keeps|did not take)"):
            edit(live)
        monkeypatch.setattr(Forgetful, "loses", "")
        assert live.resolve().objective == pytest.approx(before.objective, abs=1e-9)
        edit(live)  # the truthful solver takes it
        assert live.resolve().status is Status.OPTIMAL
    monkeypatch.setattr(Forgetful, "loses", "model")
    with pytest.raises(NumberError, match="did not keep the coefficients of the model"):
        LiveLP(nu_lp(30), form=form).resolve()


@pytest.mark.parametrize("form", FORMS)
def test_what_was_not_solved_for_has_no_values(form: str) -> None:
    live = LiveLP(nu_lp(30), form=form)
    live.add_cut({"w": np.ones(4)}, upper=-5.0)
    found = live.resolve()
    assert (found.status, found.objective, found.x) == (Status.INFEASIBLE, None, None)
    with pytest.raises(ValueError, match="no value of w: the solve ended with infeasible"):
        found["w"]
    with pytest.raises(ValueError, match="the last resolve found no point"):
        live.load_values()
    live.remove_cut("cut 0")
    before = live.resolve()
    assert before.status is Status.OPTIMAL
    live.add_column("z", {0: 1.0}, cost=0.01, upper=1.0)
    with pytest.raises(ValueError, match="no value of z: it was added after this solve"):
        before["z"]
    assert live.resolve()["z"].shape == ()


# --- limits and interrupts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "feasible", "stationary", "meant"),
    [
        (Status.OPTIMAL, True, True, Status.OPTIMAL),
        (Status.OPTIMAL, True, False, Status.INACCURATE),
        (Status.OPTIMAL, False, True, Status.LIMIT_NO_SOLUTION),
        (Status.FEASIBLE, True, False, Status.FEASIBLE),
        (Status.FEASIBLE, False, True, Status.LIMIT_NO_SOLUTION),
        (Status.INACCURATE, False, False, Status.LIMIT_NO_SOLUTION),
        (Status.INTERRUPTED, False, False, Status.INTERRUPTED),
        (Status.INFEASIBLE, False, False, Status.INFEASIBLE),
        (Status.ERROR, True, True, Status.ERROR),
    ],
)
def test_a_point_needs_more_than_a_word(
    said: Status, feasible: bool, stationary: bool, meant: Status
) -> None:
    answer = settled(LpSolution(said, "words", 3), (np.ones(2), np.zeros(1)), feasible, stationary)
    assert answer.status is meant
    with_point = (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE)
    assert (answer.x is not None) == (meant in with_point)


def test_the_seconds_of_earlier_runs_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS compares its limit with the seconds of all runs of a handle together."""
    left, honest = [], highspy.Highs.setOptionValue

    def watched(self: Any, name: str, value: Any) -> Any:
        if name == "time_limit":
            left.append(value - self.getRunTime())
        return honest(self, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", watched)
    live = LiveLP(nu_lp(300), time_limit=60)
    for k in range(3):
        g, side = cut_off(live.resolve()["w"], k)
        live.add_cut({"w": g}, upper=side)
    assert left == pytest.approx([60.0] * 3, abs=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_warm_run_that_takes_long_goes_on_and_listens(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(highs_handle, "SPRINT", 1)
    live, cold = LiveLP(nu_lp(300), form=form), LiveLP(nu_lp(300), form=form)
    for k in range(3):
        g, side = cut_off(live.resolve()["w"], k)
        live.add_cut({"w": g}, upper=side)
        cold.add_cut({"w": g}, upper=side)
        found = live.resolve()
        assert found.status is Status.OPTIMAL
        assert live._inside is not None
        assert getattr(live._inside, "handle", live._inside)._listening
    assert found.objective == pytest.approx(cold.resolve().objective, abs=1e-9)


def test_ctrl_c_at_the_end_of_a_short_run_still_reaches_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The signal comes when HiGHS has answered: the optimum is kept, and so is the press."""
    live = LiveLP(nu_lp(300))
    expected = live.resolve().objective
    honest = highs_handle.Handle._run

    def pressed(self: Any, end: float) -> Any:
        said = honest(self, end)
        os.kill(os.getpid(), signal.SIGINT)
        return said

    with monkeypatch.context() as patch:
        patch.setattr(highs_handle.Handle, "_run", pressed)
        found = live.resolve()
    assert found.status is Status.INTERRUPTED
    assert found.objective == pytest.approx(expected, abs=1e-12)
    assert "interrupted" in found.message
    assert live.resolve().status is Status.OPTIMAL


@pytest.mark.parametrize("form", FORMS)
def test_ctrl_c_ends_a_run_and_the_next_one_goes_on(form: str) -> None:
    """The signal is sent by the first question HiGHS asks, so it comes in the middle."""
    live = LiveLP(nu_lp(300), form=form, options={"presolve": "off"})
    live.add_cut({"w": np.ones(4)}, upper=3.9)
    asked = threading.Event()

    def press(event: Any) -> None:
        if not asked.is_set():
            asked.set()
            os.kill(os.getpid(), signal.SIGINT)

    inside = live._started()
    getattr(inside, "handle", inside)._lp.cbSimplexInterrupt += press
    live._inside = inside
    handler = signal.getsignal(signal.SIGINT)
    stopped = live.resolve()
    assert asked.is_set()
    assert stopped.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is handler
    found = live.resolve()
    assert found.status is Status.OPTIMAL
    fresh = LiveLP(nu_lp(300), form=form)
    fresh.add_cut({"w": np.ones(4)}, upper=3.9)
    assert found.objective == pytest.approx(fresh.resolve().objective, abs=1e-9)
