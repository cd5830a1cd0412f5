"""Optima that are small beside a constant: the unit of their gap, and exact ends."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    Case,
    Subject,
    by_lemma,
    exact_qp_bound,
    judged,
    proven_point,
    standard_form,
)
from tests.soundness.exact import fractions, solution
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL, covering
from tightmargin.solvers import Verdict

CLOSED = Fraction(1, 10**6)


def ends(result: Any) -> tuple[Fraction, Fraction]:
    """The exact upper and lower end of a minimisation."""
    certificate, facts = result.certificate, result.certificate.facts
    upper = Fraction(facts.get("exact_upper", certificate.upper))
    return upper, Fraction(facts.get("exact_bound", certificate.bound))


def fit(y: list[float], constant: float = 0.0) -> pyo.ConcreteModel:
    """sum_i (a + b i - y_i)^2 + constant."""
    m = pyo.ConcreteModel()
    m.a, m.b = pyo.Var(), pyo.Var()
    squares = sum((m.a + m.b * i - v) ** 2 for i, v in enumerate(y))
    m.goal = pyo.Objective(expr=squares + constant)
    return m


def least(y: list[float], constant: float = 0.0) -> Fraction:
    """Its optimum, by rational normal equations."""
    v, n = fractions(y), len(y)
    s, ss = Fraction(n * (n - 1), 2), Fraction(n * (n - 1) * (2 * n - 1), 6)
    right = [sum(v), sum(i * p for i, p in enumerate(v))]
    found = solution([[Fraction(n), s], [s, ss]], right)
    a, b = found
    return sum((a + b * i - p) ** 2 for i, p in enumerate(v)) + Fraction(constant)


LEVELS = [
    (1.0, 0.1, 0.0), (1e3, 0.01, 1e13), (1013.25, 0.01, -1e6), (1e6, 0.5, 0.0), (1e8, 0.5, 1e13),
]  # fmt: skip
TAKERS = [name for name, info in SOLVERS.items() if info.installed and "QP" in info.classes]
EVERYONE = ["auto", *(name for name in TAKERS if name != "mosek")]
EACH_ONCE = [(solver, LEVELS[k % 5]) for k, solver in enumerate(EVERYONE)]


@pytest.mark.parametrize(
    ("solver", "numbers"), covering(EVERYONE, LEVELS) if FULL else [*EACH_ONCE, ("auto", LEVELS[4])]
)
def test_fits_far_from_0_are_certified_around_their_optimum(
    solver: str, numbers: tuple[float, float, float]
) -> None:
    level, noise, constant = numbers
    rng = np.random.default_rng([int(level), 1])
    y = np.round(level + 0.3 * np.arange(20) + noise * rng.normal(size=20), 3).tolist()
    result = tm.solve(fit(y, constant), solver)
    alpha, beta = ends(result)
    truth = least(y, constant)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate.reason
    assert beta <= truth <= alpha
    assert alpha - beta <= CLOSED * (alpha - Fraction(constant))
    assert result.objective == result.certificate.upper >= truth
    assert result.bound <= truth
    assert result.absolute_gap == pytest.approx(float(alpha - beta), rel=1e-12)


def test_a_fit_of_0_is_0_at_both_ends() -> None:
    """Also where its point is no double, and where its squares are written out."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.goal = pyo.Objective(expr=(3 * m.x - 1) ** 2 + (m.x - m.y) ** 2)
    assert ends(tm.solve(m)) == (0, 0)
    m.goal.set_value(m.x**2 - 2e6 * m.x + 1e12)
    assert ends(tm.solve(m, "scs")) == (0, 0)
    m.goal.set_value(-((m.x - 3) ** 2) - 2 * (m.x - m.y) ** 2)
    m.goal.sense = pyo.maximize
    found = tm.solve(m)
    assert (found.certificate.verdict, found.interval) == (Verdict.CERTIFIED, (0.0, 0.0))


def fixed_columns(product: int = 2) -> pyo.ConcreteModel:
    """x^2 + 2 x y + y + z + 5 with x = 3 and y = 2 by bounds: the constant is 9 + 12 + 2 + 5."""
    m = pyo.ConcreteModel()
    m.x, m.z = pyo.Var(bounds=(3, 3)), pyo.Var(bounds=(-1, None))
    m.y = pyo.Var(bounds=(1.5, 2.5), within=pyo.Integers)
    m.w = pyo.Var(initialize=4.0)
    m.w.fix()
    m.goal = pyo.Objective(expr=m.x**2 + product * m.x * m.y + m.y + m.z + m.w + 1)
    return m


def test_checkers_have_the_same_constant(tmp_path: Path) -> None:
    """The optimum is 15, and 16 is the constant: the unit is 1."""
    file = tmp_path / "proof.json"
    result = tm.solve(fixed_columns(product=0), proof=file)
    assert file.exists(), result.message
    assert (result.objective, result.unit) == pytest.approx((15.0, 1.0), rel=1e-9)
    document = json.loads(file.read_text())
    document["claim"]["lower"] = str(Fraction(10) - Fraction(9, 10**7))
    proof = accepted(document)
    assert proof.model.whole_constant == 16
    assert proof.closed()
    document["claim"]["lower"] = str(Fraction(10) - Fraction(11, 10**7))
    refused(document, "the gap is not closed")


def test_verdicts_compare_ends_that_no_double_holds() -> None:
    """Beside 2^60 a double loses 256, and the gap of 1 between the ends."""
    big = 2.0**60
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(1, 2))
    m.goal = pyo.Objective(expr=m.x + big)
    form = standard_form(m)
    point = proven_point(form, np.array([2.0]))
    lower = exact_qp_bound(Subject(form), {}, {})
    assert lower is not None
    found = judged(point, lower)
    assert (found.verdict, found.unit, found.gap) == (Verdict.NOT_CERTIFIED, 2.0, 0.5)
    assert by_lemma("problem", None) is None
    best = proven_point(form, np.array([1.0]))
    assert judged(best, lower).verdict is Verdict.CERTIFIED
    # What somebody else adds to the constant makes the unit smaller, and never larger.
    assert judged(point, lower, expanded=Fraction(2)).unit == 1.0
    assert judged(point, lower, expanded=Fraction(10**20)).unit == 2.0
    # No search stops at a gap that the verdict will not take.
    m.goal.expr, m.x.bounds = m.x, (big, big + 256)
    subject = Subject(standard_form(m))
    lower = exact_qp_bound(subject, {}, {})
    for hidden, closed in ((Fraction(0), True), (Fraction(big), False)):
        assert Case(m, subject, expanded=hidden).closes(big + 256, lower) is closed


@pytest.mark.parametrize("seed", range(8 if FULL else 3))
def test_no_numbers_prove_more_than_the_optimum(seed: int) -> None:
    """Of x'Qx + a'x with A x >= b: whatever point and multipliers the kernel is told."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-4, 4))
    L, a = rng.integers(-3, 4, (2, 2)), rng.integers(-5, 6, 2)
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] >= 1)
    goal = sum((sum(int(L[i, j]) * m.x[j] for j in range(2))) ** 2 for i in range(2))
    m.goal = pyo.Objective(expr=goal + sum(int(a[j]) * m.x[j] for j in range(2)))
    optimum = Fraction(tm.solve(m).certificate.upper)
    subject = Subject(standard_form(m))
    proven = 0
    for _ in range(40):
        x = {j: Fraction(int(v), 7) for j, v in enumerate(rng.integers(-30, 31, 2))}
        y = {0: Fraction(int(rng.integers(-20, 21)), 3)}
        found = exact_qp_bound(subject, x, y)
        assert found is None or found.end <= optimum
        assert (found is None) == (y[0] < 0), "the row has no upper side"
        proven += found is not None
    assert proven > 5
