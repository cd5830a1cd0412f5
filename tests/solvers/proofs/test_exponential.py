"""exp and log in the kernel, against decimal arithmetic of 60 digits and against closed forms."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    Part,
    StandardForm,
    Subject,
    Term,
    checker,
    constant_below,
    exp_between,
    exponential_form,
    log_between,
    minorised,
    of_the_model,
    proven_bound,
    proven_exponential_point,
    proven_exponential_ray,
    standard_form,
    value_above,
)
from tests.support.covering import FULL

DIGITS = 60
SLACK = Decimal(10) ** -58  # of decimal arithmetic itself


def decimal(number: Fraction | float) -> Decimal:
    exact = Fraction(number)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def numbers(seed: int, count: int = 120) -> list[float]:
    """Of all sizes and signs, with those at which series begin and end."""
    rng = random.Random(seed)
    wild = [rng.choice((-1, 1)) * 10 ** rng.uniform(-25, 2.8) for _ in range(count)]
    return [*wild, 0.0, 1.0, -1.0, 708.9, -744.0, math.log(2), -math.log(2), 5 * math.log(2)]


@pytest.mark.parametrize(
    ("exp", "log", "digits"),
    [(exp_between, log_between, 120), (checker.exp_ends, checker.log_ends, 200)],
    ids=["kernel", "checker"],
)
def test_exp_and_log_lie_between_their_ends(exp: Any, log: Any, digits: int) -> None:
    near_one = [math.nextafter(1, 0), math.nextafter(1, 2), 2.0, 0.5, 5e-324, 1.7e308]
    with localcontext() as context:
        context.prec = 2 * DIGITS
        for x in numbers(1):
            low, high = exp(Fraction(x))
            truth = Decimal(x).exp()
            assert decimal(low) <= truth * (1 + SLACK)
            assert truth <= decimal(high) * (1 + SLACK)
            assert high - low <= high * Fraction(1, 2**digits)
        for y in [abs(x) for x in numbers(2) if x] + near_one:
            low, high = log(Fraction(y))
            truth = Decimal(y).ln()
            assert decimal(low) - SLACK <= truth <= decimal(high) + SLACK
            assert high - low <= Fraction(1, 2 ** (digits + 20))
    assert exp(Fraction(0)) == (1, 1)
    assert log(Fraction(1)) == (0, 0)
    low, high = exp(Fraction(-(10**9)))
    assert 0 <= low <= high < Fraction(1, 10**320)


def test_beyond_the_doubles_exp_has_one_end() -> None:
    low, high = exp_between(Fraction(10**9))
    assert high is None
    assert low > 10**307
    for bad in (lambda: checker.log_ends(Fraction(0)), lambda: checker.exp_ends(Fraction(10**6))):
        with pytest.raises(checker.ProofError):
            bad()


def phi(term: Term, p: list[float]) -> Decimal:
    x = Decimal(p[0])
    if term.kind == SUM:
        parts = zip(term.parts, p, strict=True)
        return sum(Decimal(part.c) * Decimal(each).exp() for part, each in parts).ln()
    return {EXP: x.exp, LOG: lambda: -x.ln(), ENTROPY: lambda: x * x.ln()}[term.kind]()


def of_kind(kind: str, c: tuple[float, ...] = (1.0,)) -> Term:
    return Term(kind, 9, tuple(Part(each, k, 1.0) for k, each in enumerate(c)))


def shares(rng: np.random.Generator, count: int) -> list[float]:
    """Whole parts of 1024: they add up to 1 exactly."""
    cuts = np.sort(rng.integers(0, 1025, count - 1))
    return (np.diff([0, *cuts, 1024]) / 1024).tolist()


TERMS = [of_kind(EXP), of_kind(LOG), of_kind(ENTROPY), of_kind(SUM, (1.0, 0.3, 7.0))]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.kind)
def test_no_term_is_below_its_affine_functions_nor_above_its_value(term: Term) -> None:
    """Slopes of all sizes; at the point where they touch, the two are the same to rounding."""
    rng = np.random.default_rng(3)
    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(300 if FULL else 60):
            wild = float(rng.choice((1e-9, 0.3, 2.0, 40.0)) * rng.uniform(0.5, 2))
            s = [wild * float(rng.choice((-1, 1))) if term.kind == ENTROPY else wild]
            touching = [{LOG: 1 / wild, ENTROPY: math.exp(s[0] - 1)}.get(term.kind, math.log(wild))]
            if term.kind == SUM:
                s, c = shares(rng, 3), [part.c for part in term.parts]
                touching = [math.log(max(e, 1e-9) / each) for e, each in zip(s, c, strict=True)]
            constant = constant_below(term, s)
            sign = -1 if term.kind == LOG else 1
            for p in (touching, [abs(float(rng.normal())) + 1e-3 for _ in term.parts]):
                pairs = zip(s, p, strict=True)
                line = sign * sum(Decimal(a) * Decimal(b) for a, b in pairs) + Decimal(constant)
                value = phi(term, p)
                assert line <= value + abs(value) * SLACK + SLACK
                if p is touching and min(s) != 0:
                    assert float(value - line) <= 1e-13 * max(1, abs(float(value)), abs(constant))
                above = value_above(term, np.array([*p, *[0.0] * 9]), {})
                assert Decimal(above) >= value - abs(value) * SLACK - SLACK
                assert above == pytest.approx(float(value), rel=1e-13, abs=1e-30)


@pytest.mark.parametrize(
    ("term", "s"),
    [
        (of_kind(EXP), [-1.0]), (of_kind(EXP), [math.nan]), (of_kind(EXP), []),
        (of_kind(LOG), [0.0]), (of_kind(LOG), [-2.0]), (of_kind(ENTROPY), [math.inf]),
        (of_kind(ENTROPY), [1e4]), (of_kind(SUM, (1.0, 1.0)), [0.5, 0.5 - 2**-53]),
        (of_kind(SUM, (1.0, 1.0)), [1.5, -0.5]),
    ],
)  # fmt: skip
def test_what_is_no_multiplier_has_no_constant(term: Term, s: list[float]) -> None:
    assert constant_below(term, s) is None


def model() -> StandardForm:
    """log(exp(x) + exp(-x)) + exp(2x + y) - log(y) + 5: one column twice in a sum."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-2, 2)), pyo.Var(bounds=(0.1, 3))
    e = pyo.exp
    m.goal = pyo.Objective(expr=pyo.log(e(m.x) + e(-m.x)) + e(2 * m.x + m.y) - pyo.log(m.y) + 5)
    return standard_form(m)


def value(x: float, y: float) -> float:
    return math.log(math.exp(x) + math.exp(-x)) + math.exp(2 * x + y) - math.log(y)


def test_lying_slopes_and_multipliers_prove_nothing_false() -> None:
    """Whatever is given, no bound exceeds any value, and no point is cheaper than it is."""
    form = model()
    read = exponential_form(form)
    rng = np.random.default_rng(5)
    grid = [value(x, y) for x in np.linspace(-2, 2, 81) for y in np.linspace(0.1, 3, 81)]
    best = -math.inf
    for _ in range(150 if FULL else 40):
        slopes: list[Any] = []
        for number, term in enumerate(read.terms):
            for _ in range(3):
                wild = rng.exponential(1.0, len(term.parts)) * 10.0 ** rng.integers(-3, 2)
                some = shares(rng, 2) if term.kind == SUM and rng.random() < 0.8 else wild.tolist()
                slopes.append((number, some))
        proof = minorised(form, slopes)
        subject = Subject(proof.form)
        z = np.abs(rng.normal(size=len(subject.conic.b))) * 10.0 ** rng.integers(-3, 2)
        bound = proven_bound(subject, rng.normal(size=proof.form.n), z, None)
        if bound is not None:
            found = of_the_model(proof, bound)
            assert found.subject is form
            best = max(best, found.varying)
            assert found.varying <= min(grid)
        x, y = rng.uniform(-2, 2), rng.uniform(0.1, 3)
        full = rng.normal(size=read.form.n)
        full[read.columns] = x, y
        point = proven_exponential_point(form, full)
        assert point.exact
        assert point.varying >= value(x, y) - 1e-12
        told = repr(point).partition("at most ")[2].partition(",")[0]
        assert Fraction(told) >= Fraction(point.varying)
        assert point.varying == pytest.approx(value(x, y), rel=1e-12)
    assert best > -math.inf
    full[read.columns] = 0.0, -0.5  # outside the domain of the logarithm
    assert proven_exponential_point(form, full) is None


@pytest.mark.parametrize("goal", [lambda x: x**2, lambda x: pyo.exp(x) + pyo.sin(x)])
def test_what_is_no_model_of_exp_and_log_alone_has_no_affine_functions(goal: Any) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.goal = pyo.Objective(expr=goal(m.x))
    assert minorised(standard_form(m), []) is None


def test_lying_rays_prove_nothing_false() -> None:
    """Along whatever is proven the row holds and the objective falls, as far as doubles go."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var()
    row = pyo.log(pyo.exp(m.x) + 2 * pyo.exp(m.y)) - pyo.log(m.z + 3) + m.x / 2
    m.row = pyo.Constraint(expr=row <= 4)
    m.goal = pyo.Objective(expr=pyo.exp(m.y - m.z) + m.x + m.z / 4)
    form = standard_form(m)
    rng = np.random.default_rng(8)
    proven = 0
    for _ in range(400 if FULL else 120):
        x, ray = rng.normal(size=3), rng.integers(-3, 4, size=3).astype(float)
        found = proven_exponential_ray(form, x, ray)
        if found is None:
            continue
        proven += 1
        last = math.inf
        for step in (0.0, 1.0, 7.0, 40.0, 100.0):
            for variable, value in zip((m.x, m.y, m.z), x + step * ray, strict=True):
                variable.set_value(float(value))
            assert pyo.value(m.row.body) <= 4 + 1e-12
            assert pyo.value(m.goal) <= last + 1e-12
            last = pyo.value(m.goal)
    assert 2 < proven < 300
