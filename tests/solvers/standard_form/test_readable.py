"""What is not read is refused with what to write instead; numbers that overflow are named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements

import tightmargin as tm
from tightmargin.solvers import NumberError, ProblemClassError, Verdict

DATA = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
Edit = Callable[[Any], None]


def edited(edit: Edit) -> pyo.ConcreteModel:
    model = tm.c_svc(DATA, C=1.0)
    edit(model)
    return model


def sos(m: Any) -> None:
    m.one = pyo.SOSConstraint(var=m.w, sos=1)


def complementary(m: Any) -> None:
    m.either = Complementarity(expr=complements(m.w[0] >= 0, m.xi[0] >= 0))


def loose(m: Any) -> None:
    m.alone = Disjunct()
    m.alone.row = pyo.Constraint(expr=m.w[0] <= 0)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (sos, "SOSConstraint cannot be read here; write a set .* with binaries"),
        (complementary, "Complementarity cannot be read here; write .* with a binary u"),
        (loose, "alone stands in no Disjunction"),
    ],
)
def test_what_is_not_read_says_what_to_write(edit: Edit, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tm.solve(edited(edit))


def test_a_disjunct_of_a_disjunction_is_read() -> None:
    def either(m: Any) -> None:
        m.w.setlb(-9)
        m.w.setub(9)
        m.low, m.high = Disjunct(), Disjunct()
        m.low.row = pyo.Constraint(expr=m.w[0] <= -1)
        m.high.row = pyo.Constraint(expr=m.w[0] >= 1)
        m.one = Disjunction(expr=[m.low, m.high])

    def halves() -> list[float]:
        found = []
        for low in (True, False):
            model = tm.c_svc(DATA, C=1.0)
            w = model.w[0]
            model.row = pyo.Constraint(expr=w <= -1 if low else w >= 1)
            found.append(tm.solve(model).objective or np.inf)
        return found

    assert tm.solve(edited(either)).objective == pytest.approx(min(halves()), rel=1e-6)


def product(m: Any) -> None:
    m.u = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=m.u * (m.w[0] - 1) <= 0)
    m.need = pyo.Constraint(expr=m.u + m.xi[0] >= 1)


def test_a_product_with_a_binary_says_which_rows_to_write() -> None:
    found = tm.solve(edited(product))
    words = "row row multiplies the binary u by w[0]: with a variable t in the place"
    assert words in found.message

    def as_it_says(m: Any) -> None:
        big = 20
        m.u, m.t = pyo.Var(within=pyo.Binary), pyo.Var()
        m.row = pyo.Constraint(expr=m.t - m.u <= 0)
        m.need = pyo.Constraint(expr=m.u + m.xi[0] >= 1)
        m.off = pyo.Constraint(expr=(-big * (1 - m.u) - m.t + m.w[0] <= 0))
        m.on = pyo.Constraint(expr=m.t - m.w[0] <= big * (1 - m.u))
        m.low = pyo.Constraint(expr=-big * m.u <= m.t)
        m.high = pyo.Constraint(expr=m.t <= big * m.u)

    written = tm.solve(edited(as_it_says))
    assert written.certificate.verdict is Verdict.CERTIFIED
    assert written.objective == pytest.approx(found.objective, rel=1e-5)
    assert "multiplies the binary" not in written.message


@pytest.mark.parametrize("solver", ["clarabel", "scip", "highs"])
def test_integers_beside_a_semidefinite_row_are_refused_by_name(solver: str) -> None:
    model = tm.conic_sdp(DATA, penalty=1.0)
    model.k = pyo.Var(within=pyo.Binary)
    model.row = pyo.Constraint(expr=model.k >= model.z[0])
    with pytest.raises(ProblemClassError, match=r"row outer beside the integer .* k"):
        tm.solve(model, solver)


@pytest.mark.parametrize("size", [1e151, 1e300])
@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (lambda m, big: m.add_component("r", pyo.Constraint(expr=big * m.w[0] <= 1)), "in row r"),
        (lambda m, big: m.add_component("r", pyo.Constraint(expr=big * m.w[0] ** 2 <= 1)), "row r"),
        (lambda m, big: m.objective.set_value(m.objective.expr + big * m.w[0]), "objective"),
        (lambda m, big: m.objective.set_value(m.objective.expr + big * m.w[0] ** 2), "objective"),
    ],
)
def test_numbers_that_overflow_are_named(
    size: float, edit: Callable[[Any, float], None], where: str
) -> None:
    with pytest.raises(NumberError, match=f"{where}.* overflow: scale the data"):
        tm.solve(edited(lambda m: edit(m, size)))


@pytest.mark.parametrize("entry", ["c_svc", "zero_one_big_m", "conic_sdp", "rsvm"])
def test_hyperparameters_and_data_that_overflow_are_one_sentence(entry: str) -> None:
    word = {"c_svc": "C", "rsvm": "norm_bound"}.get(entry, "penalty")
    more = {"big_m": 5.0} if entry == "zero_one_big_m" else {}
    with pytest.raises(ValueError, match=f"{word} must be at most 1e"):
        tm.build(entry, DATA, **{word: 1e300}, **more)
    huge = tm.TrainingData(DATA.X * 1e250, DATA.y)
    with pytest.raises((NumberError, ValueError), match="overflow"):
        tm.solve(tm.build(entry, huge, **{word: 1.0}, **more))


def constant_model(write: Callable[[Any], Any], fixed: float, where: str) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(-5, 5))
    m.x.fix(fixed)
    m.p = pyo.Param(initialize=fixed, mutable=True)
    if where == "row":
        m.row = pyo.Constraint(expr=write(m) + m.y <= 3)
        m.goal = pyo.Objective(expr=m.y**2)
    else:
        m.goal = pyo.Objective(expr=write(m) + m.y**2)
    return m


@pytest.mark.parametrize("where", ["row", "objective"])
@pytest.mark.parametrize(
    ("write", "fixed"),
    [
        (lambda m: pyo.log(m.x), -1.0),
        (lambda m: pyo.log(m.p) * m.y, -1.0),
        (lambda m: pyo.sqrt(m.x), -1.0),
        (lambda m: m.x**0.5, -1.0),
        (lambda m: m.p**0.5 * abs(m.y), -1.0),
        (lambda m: abs(pyo.log(m.x) + m.y), -1.0),
        (lambda m: pyo.sqrt(pyo.log(m.x) * m.y**2), -1.0),
        (lambda m: 1 / m.x, 0.0),
        (lambda m: pyo.exp(m.x), 1e3),
        (lambda m: pyo.exp(m.p) * abs(m.y), 1e3),
    ],
)
def test_numbers_that_do_not_exist_are_one_sentence(write: Any, fixed: float, where: str) -> None:
    """What Pyomo raises in its place is a word of Python's, or an empty one."""
    with pytest.raises(NumberError, match="no finite real number"):
        tm.solve(constant_model(write, fixed, where))


def test_a_number_that_does_exist_is_read() -> None:
    m = constant_model(lambda m: pyo.log(m.x) + pyo.sqrt(m.p) * abs(m.y), 4.0, "objective")
    assert tm.solve(m).objective == pytest.approx(math.log(4.0), rel=1e-7)
