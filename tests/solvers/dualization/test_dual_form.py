"""The explicit dual: the optimum of the model, its point and its multipliers, and few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.solvers import (
    HIGHS_OPTIONS,
    Classification,
    Label,
    Limits,
    Quadratic,
    StandardForm,
    clarabel,
    dual_form,
    dual_size,
    highs,
    standard_form,
    worthwhile,
)
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, Status

INF = np.inf
LP, QP = Classification(ProblemClass.LP, ()), Classification(ProblemClass.QP, ())


class Numbered(list[Label]):
    """Columns or rows called x0, x1, ..."""

    def __init__(self, letter: str, count: int) -> None:
        super().__init__(Label(f"{letter}{k}") for k in range(count))

    def name(self, k: int) -> str:
        return self[k].name

    def names(self) -> list[str]:
        return [label.name for label in self]


class Program(NamedTuple):
    """min 1/2 x'Px + c'x + k with sides and bounds, dense."""

    P: np.ndarray
    c: np.ndarray
    k: float
    A: np.ndarray
    sides: np.ndarray
    bounds: np.ndarray

    def form(self) -> StandardForm:
        m, n = self.A.shape
        return StandardForm(
            columns=Numbered("x", n),  # type: ignore[arg-type]
            lower=self.bounds[:, 0],
            upper=self.bounds[:, 1],
            integer=np.zeros(n, dtype=bool),
            objective=Quadratic(sp.csr_matrix(self.P / 2), self.c, self.k),
            sense=1,
            matrix=sp.csc_matrix(self.A),
            row_lower=self.sides[:, 0],
            row_upper=self.sides[:, 1],
            rows=Numbered("r", m),  # type: ignore[arg-type]
            quadratic=(),
            psd=(),
            nonlinear=(),
        )

    def linprog(self, c: np.ndarray) -> Any:
        """The same linear program written for scipy."""
        low, high = self.sides.T
        under, over = np.isfinite(high), np.isfinite(low)
        rows, sides = np.vstack([self.A[under], -self.A[over]]), np.r_[high[under], -low[over]]
        return linprog(c, A_ub=rows, b_ub=sides, bounds=self.bounds)


_small = st.integers(-3, 3).map(float)
_interval = st.one_of(
    st.sampled_from([(-INF, INF), (0.0, INF), (-INF, 0.0), (0.0, 2.0)]),
    _small.flatmap(lambda v: st.sampled_from([(v, INF), (-INF, v), (v, v + 2), (v, v)])),
)


@st.composite
def programs(draw: st.DrawFn, quadratic: bool = False) -> Program:
    """Small integer data, so that degenerate, infeasible and unbounded ones are common.

    The last columns stand in one row each, as the slacks of margin rows do.
    """
    m, n, extra = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(0, 6))
    numbers = st.lists(_small, min_size=n, max_size=n)
    A = np.array(draw(st.lists(numbers, min_size=m, max_size=m)))
    slack = np.zeros((m, extra))
    for j in range(extra):
        slack[draw(st.integers(0, m - 1)), j] = draw(st.sampled_from([-2.0, -1.0, 1.0, 2.0]))
    rays = st.sampled_from([(0.0, INF), (0.0, INF), (-INF, 0.0), (-INF, INF), (0.0, 1.0)])
    bounds = draw(st.lists(_interval, min_size=n, max_size=n))
    bounds += draw(st.lists(rays, min_size=extra, max_size=extra))
    sides = draw(st.lists(_interval, min_size=m, max_size=m))
    total = n + extra
    P = np.zeros((total, total))
    if quadratic:
        rank = draw(st.integers(1, n))
        root = np.array(draw(st.lists(numbers, min_size=rank, max_size=rank)))
        P[:n, :n] = root.T @ root
    c = np.array(draw(st.lists(_small, min_size=total, max_size=total)))
    return Program(P, c, draw(_small), np.hstack([A, slack]), np.array(sides), np.array(bounds))


def through_the_dual(
    form: StandardForm, kind: Classification, run: Callable[..., Claim] = highs.run
) -> Claim:
    dual = dual_form(form)
    assert dual.form.columnwise.shape == dual_size(form)
    options = HIGHS_OPTIONS if run is highs.run else {}
    return dual.recovered(run(dual.form, kind, Limits(options=options)))


def assert_optimal(p: Program, claim: Claim, tolerance: float) -> None:
    """Feasible, stationary, complementary, multipliers on the right side: that is the optimum."""
    x, duals = claim.x, claim.duals
    np.testing.assert_allclose(
        p.P @ x + p.c - p.A.T @ duals.rows, duals.bounds, atol=tolerance, rtol=0
    )
    for value, (low, high), y in zip(
        np.r_[p.A @ x, x], np.vstack([p.sides, p.bounds]), np.r_[duals.rows, duals.bounds],
        strict=True,
    ):  # fmt: skip
        assert low - tolerance <= value <= high + tolerance
        room = value - low if y > 0 else high - value
        assert abs(y) <= tolerance or abs(y) * room <= tolerance


@settings(max_examples=100 if FULL else 40)
@given(programs())
def test_linear_programs_have_the_optimum_of_scipy(p: Program) -> None:
    assume(dual_size(p.form())[1] > 0)  # HiGHS says "empty" without columns, rows or not
    claim = through_the_dual(p.form(), LP)
    known = p.linprog(p.c)
    if known.status == 0:
        assert claim.status is Status.OPTIMAL
        assert claim.bound == pytest.approx(known.fun + p.k, abs=1e-6)
        assert_optimal(p, claim, 1e-6)
        return
    assert claim.x is None
    if p.linprog(np.zeros_like(p.c)).status == 0:
        assert claim.status is Status.INFEASIBLE_OR_UNBOUNDED  # unbounded
    else:
        assert claim.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)


@settings(max_examples=40 if FULL else 12)
@given(programs(quadratic=True))
def test_quadratic_programs_have_the_optimum_of_the_primal(p: Program) -> None:
    form = p.form()
    kind = QP if p.P.any() else LP
    primal = clarabel.run(form, kind, Limits())
    assume(primal.status is Status.OPTIMAL)
    assert primal.x is not None
    claim = through_the_dual(form, kind, clarabel.run)
    assert claim.x is not None, claim.message
    scale = max(1.0, abs(form.objective.at(primal.x)))
    assert form.objective.at(claim.x) == pytest.approx(
        form.objective.at(primal.x), abs=1e-5 * scale
    )
    assert claim.bound == pytest.approx(form.objective.at(primal.x), abs=1e-5 * scale)
    assert_optimal(p, claim, 1e-4 * scale)


def test_both_limits_of_a_row_are_kept() -> None:
    """min 3 p + q with p, q >= 0 and w + p - q = 5 is 3 (5 - w) or w - 5: both prices bound y."""
    for w, expected in ((1.0, 12.0), (9.0, 4.0)):
        p = Program(
            np.zeros((3, 3)), np.array([0.0, 3.0, 1.0]), 0.0, np.array([[1.0, 1.0, -1.0]]),
            np.array([[5.0, 5.0]]), np.array([[w, w], [0.0, INF], [0.0, INF]]),
        )  # fmt: skip
        claim = through_the_dual(p.form(), LP)
        assert dual_size(p.form()) == (1, 2)
        assert claim.bound == pytest.approx(expected, abs=1e-9)
        assert_optimal(p, claim, 1e-9)


def test_statuses_are_those_of_the_model() -> None:
    dual = dual_form(margin_program(6, 2))
    for said, meant in (
        (Status.UNBOUNDED, Status.INFEASIBLE),
        (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED),
        (Status.LIMIT_NO_SOLUTION, Status.LIMIT_NO_SOLUTION),
        (Status.ERROR, Status.ERROR),
    ):
        claim = dual.recovered(Claim(said, message="words", version="1"))
        assert (claim.status, claim.x, claim.bound) == (meant, None, None)
        assert claim.message == "dual form: words"
    for point in (Status.FEASIBLE, Status.INTERRUPTED):  # of the dual alone
        claim = dual.recovered(Claim(point, x=np.zeros(dual.form.n)))
        stopped = point if point is Status.INTERRUPTED else Status.LIMIT_NO_SOLUTION
        assert (claim.x, claim.status, claim.bound) == (None, stopped, 0.0)


def test_models_with_cones_or_integers_have_no_such_dual() -> None:
    data = points("separable", 1, n=12, d=3)
    for model in (tm.max_margin_svc(data), tm.zero_one_big_m(data, penalty=1.0, big_m=20.0)):
        form = standard_form(model)
        assert dual_form(form) is None
        assert dual_size(form) is None
        assert worthwhile(form) == ""


def margin_program(n: int, d: int, low: float = 1.0, hessian: float = 0.0) -> StandardForm:
    """Rows <x_i, w> + s_i >= low with slacks s_i >= 0 of price 1."""
    A = np.hstack([np.random.default_rng(0).standard_normal((n, d)), np.eye(n)])
    P = np.diag(np.r_[np.full(d, hessian), np.zeros(n)])
    bounds = np.vstack([np.tile([-INF, INF], (d, 1)), np.tile([0.0, INF], (n, 1))])
    c = np.r_[np.zeros(d), np.ones(n)]
    return Program(P, c, 0.0, A, np.tile([low, INF], (n, 1)), bounds).form()


def test_the_dual_is_preferred_by_size() -> None:
    reason = worthwhile(margin_program(400, 5))
    assert reason == "in dual form, which has 5 rows where the model has 400"
    assert worthwhile(margin_program(1100, 5, hessian=1.0)) != ""
    for small in (margin_program(100, 5), margin_program(400, 200),
                  margin_program(400, 5, hessian=1.0)):  # fmt: skip
        assert worthwhile(small) == ""
    # Numbers that would lose their meaning: a side becomes a cost, a coefficient is dropped.
    for lost in (margin_program(400, 5, low=1e16), margin_program(1100, 5, hessian=1e-10)):
        assert worthwhile(lost) == ""
