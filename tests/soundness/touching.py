"""Cones that touch, overlap by a little, or miss each other by a little, in whole numbers.

Whether they have a common point is a comparison of whole numbers; the objective is 0, so that the
optimum is 0 where there is one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from tests.soundness.asking import solving, some_solver
from tests.soundness.judge import Case, infeasible, optimum
from tightmargin.formulations import psd

UNITS = (0, 0, 0, 4, -4, 12, -12)
NEAR = (0, 0, 1, -1, 2, -2, 5, -5, 40, -40)


def touching_case(rng: np.random.Generator, index: int) -> Case:
    """Two balls, a ball and a half-space, or a correlation."""
    make = (_balls, _half_space, _correlation)[index % 3]
    size = int(10 ** rng.uniform(0.5, 5))
    return make(rng, size, 2.0 ** int(rng.choice(UNITS)))


def _balls(rng: np.random.Generator, size: int, unit: float) -> Case:
    """Empty if and only if |c|^2 > (r + s)^2; the second centre is rounded to whole numbers."""
    k = int(rng.integers(1, 4))
    r, s = int(rng.integers(1, size + 1)), int(rng.integers(1, size + 1))
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
    m = pyo.ConcreteModel()
    m.X = pyo.Var([(0, 0), (1, 0), (1, 1)])
    m.objective = pyo.Objective(expr=0.0 * m.X[0, 0])
    psd(m, "cone", [[m.X[0, 0]], [m.X[1, 0], m.X[1, 1]]])
    m.first = pyo.Constraint(expr=m.X[0, 0] <= unit * p)
    m.second = pyo.Constraint(expr=m.X[1, 1] <= unit * q)
    m.off = pyo.Constraint(expr=m.X[1, 0] >= unit * s)
    words = f"a matrix of diagonal {p}, {q} and {s} beside it, unit {unit:g}"
    return _asked(rng, words, m, "SDP", empty=empty)


def _asked(
    rng: np.random.Generator, words: str, model: pyo.ConcreteModel, kind: str, *, empty: bool
) -> Case:
    truth = infeasible() if empty else optimum(Fraction(0), size=1)
    return solving(f"{'apart' if empty else 'common'}: {words}", model, truth,
                   some_solver(rng, kind))  # fmt: skip
