"""Foreign continuous models whose optimum is known in closed form, in whole or rational numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tests.conformance.problems import FREE, model
from tests.soundness.asking import solving, some_solver
from tests.soundness.judge import Case, Truth, infeasible, optimum, unbounded

# Integer vectors with an integer norm.
PYTHAGOREAN = ((3, 4), (5, 12), (8, 15), (1, 2, 2), (2, 3, 6), (1, 4, 8), (2, 4, 4), (1, 1, 1, 1))


def _power(rng: np.random.Generator, *exponents: int) -> Fraction:
    return Fraction(2) ** int(rng.choice(exponents))


def ball_case(rng: np.random.Generator, index: int) -> Case:
    """min c'x with ||x - a|| <= r: c'a - r ||c||, as a quadratic row or as a cone."""
    c = np.array(PYTHAGOREAN[int(rng.integers(len(PYTHAGOREAN)))]) * rng.choice([-1, 1])
    a, r = rng.integers(-5, 6, size=len(c)), int(rng.integers(1, 9))
    unit, height = _power(rng, 0, 0, 0, 10, -10, 20, -20), _power(rng, 0, 0, 0, 10, -10)
    sense, constant = int(rng.choice([1, -1])), float(rng.choice([0, 0, 1e3, -1e9]))
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(len(c)))  # x' of x = unit x'
    x = [float(unit) * v for v in m.x.values()]
    if index % 2:
        m.row = pyo.Constraint(
            expr=sum((v - int(p)) ** 2 for v, p in zip(x, a, strict=True)) <= r**2
        )
    else:
        m.t, m.y = pyo.Var(bounds=(0, r)), pyo.Var(range(len(c)))
        m.centre = pyo.Constraint(
            range(len(c)), rule=lambda m, j: m.y[j] == float(unit) * m.x[j] - int(a[j])
        )
        m.row = pyo.Constraint(expr=sum(v**2 for v in m.y.values()) <= m.t**2)
    cost = sum(int(p) * v for p, v in zip(c, x, strict=True))
    factor = sense * height
    m.objective = pyo.Objective(expr=float(factor) * cost + constant, sense=sense)
    value = int(c @ a) - r * math.isqrt(int(c @ c))
    truth = optimum(
        factor * value + Fraction(constant),
        size=height * (int(np.abs(c @ a)) + r * math.isqrt(int(c @ c))),
        sense=sense,
    )
    words = f"ball {'row' if index % 2 else 'cone'} unit {float(unit):g} cost {float(factor):g}"
    return solving(words + f" + {constant:g}", m, truth, some_solver(rng, "SOCP"))


def thin_case(rng: np.random.Generator, index: int) -> Case:
    """Cones without an inner point, and an infimum that no point has."""
    k, far = int(rng.integers(1, 6)), float(rng.choice([1.0, 100.0, 1e6, 2.0**20]))
    beside = lambda m: m.y >= m.x + k  # noqa: E731
    truth, words, parts = (
        # x^2 + y^2 <= t^2 and t <= y leave x = 0.
        (optimum(k), "x^2 + y^2 <= t^2, t <= y", {
            "row": lambda m: m.x**2 + m.y**2 <= m.t**2, "below": lambda m: m.t <= m.y,
            "some": lambda m: m.y >= k, "goal": lambda m: m.x + m.y}),
        # A factor that is 0.
        (optimum(k), "x^2 <= 0 t", {
            "s": (0, 0), "row": lambda m: m.x**2 <= m.s * m.t, "some": beside,
            "goal": lambda m: m.y}),
        # With s alone in the objective 0 is never reached.
        (optimum(0, size=k, attained=False), "s t >= k^2, min s", {
            "s": (0, None), "row": lambda m: m.s * m.t >= k**2, "goal": lambda m: m.s}),
        (optimum(k, size=1), f"v^2 + w^2 <= u^2 near {far:g}", {
            "u": (far, far + 1), "v": (far, far + 1), "w": (-1, 1), "below": lambda m: m.u <= m.v,
            "row": lambda m: m.v**2 + m.w**2 <= m.u**2, "goal": lambda m: m.w + k}),
        # A matrix with a zero on its diagonal.
        (optimum(k), "[[t, x], [x, 0]] semidefinite", {
            "matrix": lambda m: [[m.t], [m.x, 0.0]], "some": beside, "goal": lambda m: m.y + m.t}),
    )[index % 5]  # fmt: skip
    m = model(x=(-100, 100), y=FREE, t=(0, None), **parts)()
    return solving(f"thin: {words}, k = {k}", m, truth, some_solver(rng, "SOCP"))


def matrix_case(rng: np.random.Generator, index: int) -> Case:
    """Largest l with A - l I semidefinite, or least with l I - A, for known eigenvalues of A."""
    rotation = np.array([[3, 4], [-4, 3]]) if index % 2 else np.array([[5, 12], [-12, 5]])
    size = int(rotation[0] @ rotation[0])
    own = rng.integers(-6, 7, size=2)
    A = rotation.T @ np.diag(own) @ rotation  # size times a matrix with the eigenvalues `own`
    unit, sense = _power(rng, 0, 0, 0, 10, -10, 20), int(rng.choice([1, -1]))
    f = -sense * float(unit)
    m = model(
        l=FREE,
        matrix=lambda m: [
            [f * A[0, 0] + sense * m.l], [f * A[1, 0], f * A[1, 1] + sense * m.l]
        ],
        **{"goal" if sense > 0 else "gain": lambda m: m.l},
    )()  # fmt: skip
    end = int(own.max() if sense > 0 else own.min())
    truth = optimum(unit * size * end, size=unit * size, sense=sense)
    return solving(f"eigenvalue of {A.tolist()} * {f:g}", m, truth, some_solver(rng, "SDP"))


def nearly_convex_case(rng: np.random.Generator, index: int) -> Case:
    """A large square that hides a small negative one; the optimum is at an end of w."""
    a = float(rng.choice([1.0, 1e2, 1e4, 1e6]))
    e = float(rng.choice([1e-4, 1e-6, 1e-8, 1e-9, 1e-12]))
    W, sign = float(rng.choice([1.0, 1e3, 1e6])), 1 if index % 3 == 0 else -1
    body = lambda m: a * (m.u + m.v) ** 2 + (m.u - 1) ** 2 + sign * e * m.w**2  # noqa: E731
    goal = {"goal": body}
    if index % 3 == 2:
        goal = {"t": FREE, "row": lambda m: m.t >= body(m), "goal": lambda m: m.t}
    m = model(u=(-9, 9), v=(-9, 9), w=(-W, W), **goal)()
    value = Fraction(0) if sign == 1 else -Fraction(e) * Fraction(W) ** 2
    words = f"{a:g} (u+v)^2 + (u-1)^2 {'+' if sign > 0 else '-'} {e:g} w^2, |w| <= {W:g}"
    return solving(words, m, optimum(value, size=1))


def bilinear_case(rng: np.random.Generator, index: int) -> Case:
    """Bilinear over a box: least at a corner."""
    n = int(rng.integers(2, 4))
    low = rng.integers(-4, 3, size=n)
    high = low + rng.integers(1, 5, size=n)
    Q, q = np.triu(rng.integers(-4, 5, size=(n, n)), 1), rng.integers(-4, 5, size=n)
    sense = int(rng.choice([1, -1]))
    corners = itertools.product(*zip(low.tolist(), high.tolist(), strict=True))
    least = min(int(np.array(x) @ Q @ np.array(x) + q @ np.array(x)) for x in corners)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=lambda m, j: (int(low[j]), int(high[j])))
    f = sum(int(Q[i, j]) * m.x[i] * m.x[j] for i in range(n) for j in range(i + 1, n))
    f += sum(int(q[j]) * m.x[j] for j in range(n))
    m.objective = pyo.Objective(expr=sense * f, sense=sense)
    truth = optimum(sense * least, size=50, sense=sense)
    return solving(f"bilinear in {n} variables", m, truth, some_solver(rng, "NONCONVEX"))


CURVES: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("x^3", lambda f, x: x**3), ("exp x", lambda f, x: f.exp(x)),
    ("x^4 - x^2", lambda f, x: x**4 - x**2), ("|x|", lambda f, x: abs(x)),
    ("sin x", lambda f, x: f.sin(x)), ("1 / (x + 9)", lambda f, x: 1 / (x + 9)),
    ("sqrt(x + 9)", lambda f, x: f.sqrt(x + 9)), ("log(x + 9)", lambda f, x: f.log(x + 9)),
    ("x^2 x", lambda f, x: x**2 * x), ("(x^2)^2", lambda f, x: (x**2) ** 2),
)  # fmt: skip


def curve_case(rng: np.random.Generator, index: int) -> Case:
    """One variable, beyond degree two: objective, or row of an epigraph."""
    name, curve = CURVES[index % len(CURVES)]
    low = int(rng.integers(-6, 5))
    high = low + int(rng.integers(1, 5))
    place, parts = "objective", {"goal": lambda m: curve(pyo, m.x)}
    if rng.random() < 0.4:
        place, parts = "row", {"t": (-1e4, 1e4), "row": lambda m: m.t >= curve(pyo, m.x),
                               "goal": lambda m: m.t}  # fmt: skip
    inner = [0.0, math.sqrt(0.5), -math.sqrt(0.5), -math.pi / 2, 1.5 * math.pi]
    least = min(curve(math, x) for x in (float(low), float(high), *inner) if low <= x <= high)
    truth = optimum(least, error=1e-12 * max(1.0, abs(least)), size=1)
    words = f"{name} in the {place} over [{low}, {high}]"
    return solving(words, model(x=(low, high), **parts)(), truth)


def chain_case(rng: np.random.Generator, index: int) -> Case:
    """Rows that multiply a variable along, so that small multipliers belong to large numbers."""
    K, f = int(rng.integers(2, 10)), int(rng.choice([2, 10, 100]))
    top, cost = int(rng.integers(1, 5)), _power(rng, 0, 0, -10, 10)
    m = pyo.ConcreteModel()
    m.x, m.c, m.d = pyo.Var(), pyo.Var(range(K + 1)), pyo.Var(range(K))
    m.along = pyo.Constraint(range(K), rule=lambda m, k: f * m.c[k] == m.c[k + 1])
    m.link = pyo.Constraint(expr=m.c[K] + m.d[0] >= 0)
    m.down = pyo.Constraint(range(K - 1), rule=lambda m, k: m.d[k] <= f * m.d[k + 1])
    square = (m.x - 1) ** 2 if index % 2 else 0
    truth: Truth
    if index % 4 == 3:
        truth = unbounded()
    else:
        m.top = pyo.Constraint(expr=m.d[K - 1] <= f * top)
        truth = optimum(-cost * top, size=cost)  # d_0 <= f^K top, c_0 >= -top
    m.objective = pyo.Objective(expr=square + float(cost) * m.c[0])
    words = f"chain of {K} rows with {f}, top {top if index % 4 != 3 else None}"
    return solving(words, m, truth, some_solver(rng, "QP" if index % 2 else "LP"))


def slope_case(rng: np.random.Generator, index: int) -> Case:
    """A square far from 0 beside a small slope, with an end or without."""
    far, e = float(rng.choice([1.0, 1e3, 1e6, 1e9])), float(rng.choice([1e-3, 1e-7, 1e-9, 1e-12]))
    end = float(rng.choice([1.0, 1e3, 1e6, 1e9]))
    low = None if index % 2 else -end
    m = model(x=FREE, y=(low, None), goal=lambda m: (m.x - far) ** 2 + e * m.y)()
    truth = unbounded() if index % 2 else optimum(-Fraction(e) * Fraction(end), size=e * end)
    words = f"(x - {far:g})^2 + {e:g} y, y >= {low}"
    return solving(words, m, truth, some_solver(rng, "QP"))


def empty_case(rng: np.random.Generator, index: int) -> Case:
    """No objective worth the name, variables that are fixed, and rows without variables."""
    k, low = float(rng.choice([0.0, 5.0, -1e9])), int(rng.integers(0, 8))
    m = model(x=(0, 4), y=(-1, 1), row=lambda m: m.x + m.y >= low,
              goal=lambda m: k if index % 2 else 0 * m.x + k)()  # fmt: skip
    if index % 3 == 0:
        m.y.fix(1.0)
    truth = optimum(Fraction(k), size=1) if low <= 5 else infeasible()
    words = f"constant objective {k:g}, x + y >= {low}, y {'fixed' if index % 3 == 0 else 'free'}"
    return solving(words, m, truth, some_solver(rng, "LP"))


UNITS = (0, 0, 0, 4, -4, 12, -12)
NEAR = (0, 0, 1, -1, 2, -2, 5, -5, 40, -40)


def touching_case(rng: np.random.Generator, index: int) -> Case:
    """Two balls, a ball and a half-space, or a correlation."""
    make = (_balls, _half_space, _correlation)[index % 3]
    size = int(10 ** rng.uniform(0.5, 5))
    return make(rng, size, 2.0 ** int(rng.choice(UNITS)))


def _balls(rng: np.random.Generator, size: int, unit: float) -> Case:
    """Empty if and only if |c|^2 > (r + s)^2; the second centre is rounded to whole numbers."""
    k, r, s = int(rng.integers(1, 4)), *rng.integers(1, size + 1, 2).tolist()
    towards = rng.normal(size=k)
    c = np.rint((r + s) * towards / np.linalg.norm(towards)).astype(int)
    c[0] += int(rng.choice(NEAR))
    at = rng.integers(-size, size + 1, size=k)
    empty = sum(int(v) ** 2 for v in c) > (r + s) ** 2
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(k))
    m.objective = pyo.Objective(expr=0.0 * m.x[0])
    for name, centre, radius in (("first", at, r), ("second", at + c, s)):
        body = sum((m.x[j] - unit * int(centre[j])) ** 2 for j in range(k))
        m.add_component(name, pyo.Constraint(expr=body <= (unit * radius) ** 2))
    words = f"balls at {at.tolist()} + {c.tolist()} of radius {r} and {s}, unit {unit:g}"
    return _asked(rng, words, m, "SOCP", empty=empty)


def _half_space(rng: np.random.Generator, size: int, unit: float) -> Case:
    """|x| <= r and a'x >= t: empty if and only if t > 0 and t^2 > |a|^2 r^2."""
    k, r = int(rng.integers(1, 4)), int(rng.integers(1, size + 1))
    a = rng.integers(-9, 10, size=k)
    a[0] = a[0] or 1
    norm2 = sum(int(v) ** 2 for v in a)
    t = int(np.floor(np.sqrt(norm2) * r)) + int(rng.choice(NEAR))
    empty = t > 0 and t * t > norm2 * r * r
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(k))
    m.objective = pyo.Objective(expr=0.0 * m.x[0])
    m.ball = pyo.Constraint(expr=sum(m.x[j] ** 2 for j in range(k)) <= (unit * r) ** 2)
    m.half = pyo.Constraint(expr=sum(int(a[j]) * m.x[j] for j in range(k)) >= unit * t)
    words = f"|x| <= {r} and {a.tolist()} x >= {t}, unit {unit:g}"
    return _asked(rng, words, m, "SOCP", empty=empty)


def _correlation(rng: np.random.Generator, size: int, unit: float) -> Case:
    """X_00 <= p, X_11 <= q, X_10 >= s, X semidefinite: empty if and only if s > 0, s^2 > p q."""
    p, q = int(rng.integers(1, size + 1)), int(rng.integers(1, size + 1))
    s = int(np.floor(np.sqrt(p * q))) + int(rng.choice(NEAR))
    empty = s > 0 and s * s > p * q
    m = model(
        a=FREE, b=FREE, c=FREE, cone=lambda m: [[m.a], [m.b, m.c]], first=lambda m: m.a <= unit * p,
        second=lambda m: m.c <= unit * q, off=lambda m: m.b >= unit * s, goal=lambda m: 0.0 * m.a,
    )()  # fmt: skip
    words = f"a matrix of diagonal {p}, {q} and {s} beside it, unit {unit:g}"
    return _asked(rng, words, m, "SDP", empty=empty)


def _asked(
    rng: np.random.Generator, words: str, m: pyo.ConcreteModel, kind: str, *, empty: bool
) -> Case:
    truth = infeasible() if empty else optimum(Fraction(0), size=1)
    return solving(f"{'apart' if empty else 'common'}: {words}", m, truth, some_solver(rng, kind))
