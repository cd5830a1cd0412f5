"""What is no model, no file, no setting, or beyond a solver or a format is refused by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tests.solvers.files.test_formats import CBF, LP, MPS
from tests.solvers.files.test_same_model import small
from tests.support.covering import FULL, covering
from tightmargin.solvers import (
    LiveLP,
    NumberError,
    ProblemClassError,
    solve_isolated,
)

DATA = tm.TrainingData([[0.0], [1.0], [0.5], [0.7]], [-1, 1, 1, -1])
FEW = points("overlapping", 2, n=7)
CLASSES, MATRICES = class_points(1), matrix_points(2, n=10, shape=(2, 2))


def c_svc() -> Any:
    return tm.c_svc(DATA, C=1.0)


def of(**edits: Any) -> pyo.ConcreteModel:
    """A linear model of two variables in the unit square, whose cost or row is another one."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=edits.get("row", lambda m: m.x + m.y >= 1)(m))
    m.goal = pyo.Objective(expr=edits.get("goal", lambda m: m.x + 2 * m.y)(m))
    m.bent = pyo.Constraint(expr=edits.get("bent", lambda m: m.x + m.y**2 <= 3)(m))
    return m


# --- files that are read -------------------------------------------------------------------------

SDPA = "1\n1\n{}\n1.0\n{}"
UNREADABLE = [
    (".gms", "", "must end in .lp, .mps"),
    (".lp", "x + y >= 1", "begins with minimize"),
    (".lp", "min x\nst\n x >= \nend", "'its end' where a number belongs"),
    (".lp", "min x\nsos\n s1: x:1", "section 'sos'"),
    (".lp", "min x\nst\n c: x + [ x^3 ] >= 1\nend", "'3' where '2' belongs"),
    (".lp", "min x\nst\n c: x >= 1\nbounds\n x <= -1\nend", "no lower bound"),
    (".lp", "min x\nst\n i: z = 1 -> x <= 5\nbinary\n z\nend", "'-' behind the side"),
    (".lp", "min x\nst\n c: x + y - >= 5\nend", "'>=' where a term belongs"),
    (".lp", "min 2 x y\nst\n c: x >= 1\nend", "'y' where a sign belongs"),
    (".lp", "min x\nst\n c: x + y >= 1\nbounds\n x >= 1e25\nend", "column x .* between inf"),
    (".lp", "min x\nst\n c: x + y >= 1e30\nend", "row c .* between inf"),
    (".lp", LP + "binary\n y\n", "'binary' after its end"),
    (".lp", "max x\nmin y\nend", "a second minimise"),
    (".lp", "min x\nst\n c: x >= 1\ngenerals\n x >= 3\nend", "'>=' where the name"),
    (".lp", "min x\nst\n c: x >= 1\nbinary\n x\nbounds\n x <= 5\nend", "state bounds before"),
    (".lp", "min x\nst\n c: inf x >= 1\nend", "'inf', a number"),
    (".lp", "min x\nst\n 4 >= x\n - y >= 2\nend", "may be two rows"),
    (".lp", "min [ x^2 y^2 ] / 2\nend", "'y' where a sign belongs"),
    (".lp", "min x\nst\n c: x >= 1 000\nend", "'000' behind the side"),
    (".mps", MPS.replace("ENDATA\n", ""), "no ENDATA"),
    (".mps", MPS.replace("R gain 7", "gain 7"), "two sets of RHS, one without a name and R"),
    (".mps", MPS.replace("x(1) y 1.5", "x(1) y 1.5\n y x(1) 1.5"), "y, x\\(1\\) twice"),
    (".mps", MPS.replace("QUADOBJ", "QMATRIX"), "both triangles are stated alike"),
    (".mps", MPS.replace("QUADOBJ", "QCMATRIX idle"), "idle, which is no row with a side"),
    (".mps", MPS.replace("x(1) second 1", "k gain 1"), "k of the MPS file is inside of INTORG"),
    (".mps", MPS.replace("gain 7", "gain 1e-400"), "1e-400, which is 0 in doubles"),
    (".mps", MPS.replace("x(1) gain 2", "x(1) gain nan"), "objective has nan"),
    (".mps", MPS.replace("BV B u", "SC B u 3"), "'SC'"),
    (".mps", MPS.replace(" y gain", " y loss"), "no row 'loss'"),
    (".mps", MPS.replace(" LO B k -2\n", ""), "k is an integer without bounds"),
    (".mps", MPS.replace("BOUNDS", "INDICATORS"), "'INDICATORS'"),
    (".cbf", CBF.replace("Q 3", "EXP 3"), "cone EXP"),
    (".cbf", CBF.replace("OBJACOORD\n3", "OBJACOORD\n4"), "3 lines and says 4"),
    (".cbf", CBF.replace("PSDCON", "POWCONES"), "POWCONES"),
    (".cbf", CBF.replace("Q 3", "Q 2"), "not the size"),
    (".cbf", CBF.replace("5 0 1 0 0.5", "6 0 1 0 0.5"), "outside of its own sizes"),
    (".cbf", CBF.replace("5 0 1 0 0.5", "-1 0 1 0 0.5"), "the negative place -1"),
    (".cbf", CBF.replace("0 1 0 0.5\nOBJA", "0 2 0 0.5\nOBJA"), "the place 2 outside"),
    (".cbf", CBF.replace("2 0.5\nOBJB", "3 0.5\nOBJB"), "the place 3 outside"),
    (".cbf", CBF.replace("1 1.0\n2 0.5", "0 1.0\n2 0.5"), "entry 0 twice"),
    (".cbf", CBF.replace("1 2 1.0\n2 0", "0 1 1.0\n2 0"), "entry 0 1 twice"),
    (".cbf", CBF.replace("0 1 1 0.75", "0 0 1 0.75"), "entry 0 1 0 twice"),
    (".cbf", CBF.replace("PSDCON", "POW3"), "section POW3"),
    (".cbf", CBF.replace("MIN", "MINIMIZE"), "OBJSENSE of the CBF file is one word"),
    (".cbf", CBF.replace("VER\n1", "VER\n5"), "VER of the CBF file is one word"),
    (".cbf", CBF.replace("-3.0", "-3_0"), "'-3_0' where a number"),
    (".cbf", CBF.replace("L+ 1", "L+ 1 1"), "the line 'L\\+ 1 1'"),
    (".cbf", CBF + "OBJBCOORD\n2.0\n", "OBJBCOORD twice"),
    (".dat-s", SDPA.format("-2", "1 1 1 2 1.0\n"), "outside its sizes"),
    (".dat-s", SDPA.format("2", "1 1 1 2 1.0\n1 1 2 1 1.0\n"), "1 1 2 1 twice"),
    (".dat-s", SDPA.format("2", "1 1 1 2.0 1.0\n"), "'2.0' where an integer"),
    (".dat-s", SDPA.format("2.5", ""), "lines of four integers"),
    (".dat-s", SDPA.format("2", "1 1 1 3 1.0\n"), "outside its sizes"),
    (".dat-s", "1\n1\n2\n", "lines of four integers"),
    (".task", "no task", "mosek does not read"),
]


@pytest.mark.parametrize(("suffix", "text", "words"), UNREADABLE)
def test_a_file_that_is_not_understood(suffix: str, text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / f"model{suffix}"
    file.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        tm.read_model(file)
    assert "\n" not in str(caught.value)


# --- files that are not written ------------------------------------------------------------------


def section_name() -> Any:
    """A line of such a name alone begins a section, and the column would be no integer."""
    m = of()
    m.st = pyo.Var(within=pyo.Binary)
    m.goal.expr += m.st
    return m


def one_name() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(["a b", "a_b"], bounds=(0, 1))
    m.goal = pyo.Objective(expr=m.x["a b"] - 2 * m.x["a_b"])
    return m


def cancelling(m: Any) -> Any:
    """1e16 x + x - 1e16 x, which is x."""
    return 1e16 * m.x + m.x - 1e16 * m.x


def far_bound() -> Any:
    m = of()
    m.x.setub(1e20)
    return m


def one_row(coefficient: float, side: float, bound: float = 1.0, cost: float = 1.0) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(0, bound))
    m.row = pyo.Constraint(expr=coefficient * (m.x[0] + m.x[1]) <= side)
    m.o = pyo.Objective(expr=-cost * (m.x[0] + m.x[1]))
    return m


def lost_block() -> Any:
    m = one_row(1.0, 1.5)
    tm.psd(m, "block", [[m.x[0] + 1], [1e-13 * m.x[1], m.x[1] + 1]])
    return m


def matrix_of_integers() -> Any:
    m = tm.conic_sdp(FEW, penalty=1.3)
    m.z.domain = pyo.Binary
    return m


def fixed() -> Any:
    m = one_row(1.0, 1.0)
    for v in m.component_data_objects(pyo.Var):
        v.fix(0.0)
    return m


def conic_sdp() -> Any:
    return tm.conic_sdp(FEW, penalty=1.3)


CANCEL = "{} has terms that cancel, .* or write mps"
UNWRITTEN: list[tuple[Callable[[], Any], str, type[Exception], str]] = [
    (conic_sdp, "model.lp", ValueError, "ptf, task, cbf"),
    (lambda: tm.conic_sdp_dual(FEW, penalty=1.3), "model.mps", ValueError, "ptf, task, cbf"),
    (conic_sdp, "model.nl", ValueError, "ptf, task, cbf"),
    (c_svc, "model.gms", ValueError, "must end in .lp, .mps, .nl"),
    (section_name, "model.lp", ValueError, "st is an integer whose name begins a section"),
    (one_name, "model.lp", ValueError, "have one name in a lp file: rename one, or write mps"),
    (far_bound, "model.lp", ValueError, "has the bound 1e.*take for none"),
    (far_bound, "model.mps", ValueError, "has the bound 1e.*take for none"),
    (lambda: of(row=lambda m: 2 * m.x >= -1e25), "model.lp", ValueError, "the side -1e.*for none"),
    (lambda: of(row=lambda m: 2 * m.x >= -1e25), "model.mps", ValueError, "the side -1e.*for none"),
    (lambda: of(row=lambda m: cancelling(m) + m.y >= 1), "model.lp", ValueError,
     CANCEL.format("row")),
    (lambda: of(bent=lambda m: cancelling(m) + m.y**2 <= 3), "model.lp", ValueError,
     CANCEL.format("bent")),
    (lambda: of(goal=lambda m: cancelling(m) + 2 * m.y), "model.lp", ValueError,
     CANCEL.format("goal")),
    # by MOSEK
    (lambda: one_row(1e-12, 1e-12), "model.cbf", NumberError, "drop or reject .*1e-12 of x.0. in"),
    (lambda: one_row(1e14, 1e17), "model.cbf", NumberError, "take 1e.17, the upper side of row"),
    (lambda: one_row(1.0, 1.0, 2e16), "model.cbf", NumberError, "take 2e.16, the upper bound of x"),
    (lambda: one_row(1.0, 1.5, 1.0, 1e18), "model.cbf", NumberError,
     r"mosek refuses the model: .*1.0e\+18.*'x\[0\]'"),
    (lost_block, "model.cbf", NumberError, r"took 2 of 2 .* and 2 of 3 of the cones"),
    (lambda: tm.zero_one_bilinear(FEW, penalty=1.3), "model.ptf", ProblemClassError,
     "mosek cannot take NONCONVEX models.*scip"),
    (matrix_of_integers, "model.ptf", ProblemClassError, r"row outer beside .* variable z\[0\]"),
    (fixed, "model.ptf", ProblemClassError, "mosek needs a variable that is not fixed"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "name", "error", "words"), UNWRITTEN)
def test_a_model_that_a_format_does_not_hold(
    build: Callable[[], Any], name: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    if name.endswith((".cbf", ".ptf")):
        pytest.importorskip("mosek")
    with pytest.raises(error, match=words):
        tm.export(build(), tmp_path / name)
    assert not list(tmp_path.iterdir())
    if build in (section_name, one_name):  # another format holds it
        assert tm.same_model(build(), tm.read_model(tm.export(build(), tmp_path / "model.mps")))


# --- what is no model ----------------------------------------------------------------------------


def abstract() -> pyo.AbstractModel:
    """Without a common point, were it constructed."""
    model = pyo.AbstractModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(rule=lambda m: m.x >= 2)
    return model


OTHERS = {"str": "c_svc", "TrainingData": DATA, "an abstract model": abstract(), "int": 3}
VERBS: dict[str, Callable[[Any], Any]] = {
    "solve": tm.solve,
    "explain_infeasible": tm.explain_infeasible,
    "show": tm.show,
    "rederive": tm.rederive,
    "export": lambda model: tm.export(model, "model.lp"),
    "diff": tm.diff,
}


@pytest.mark.parametrize(
    ("verb", "what"),
    [(v, w) for k, v in enumerate(VERBS) for j, w in enumerate(OTHERS) if FULL or (j + k) % 4 < 2],
)
def test_what_is_no_model_is_refused_by_every_verb(verb: str, what: str) -> None:
    with pytest.raises(TypeError, match=rf"^{verb}\(\) takes a Pyomo ConcreteModel.*got {what}$"):
        VERBS[verb](OTHERS[what])


# --- calls ---------------------------------------------------------------------------------------


def started(start: Any) -> None:
    """A bad start leaves the model alone."""
    model = c_svc()
    try:
        tm.solve(model, warm_start=start)
    finally:
        assert all(v.value is None for v in model.component_data_objects(pyo.Var))


def curve() -> Any:
    other = small()
    other.curve = pyo.Constraint(expr=pyo.exp(other.t) <= 2)
    return other


def locked() -> Any:
    """A rule that holds what does not travel."""
    model, lock = c_svc(), threading.Lock()
    model.more = pyo.Constraint(rule=lambda m: m.b >= float(lock.locked()))
    return model


def truncated() -> Any:
    return tm.build("multiclass_truncated", CLASSES, ridge=0.05, truncation=-0.5, big_m="derived")


def edited_truncated() -> Any:
    model = truncated()
    model.more = pyo.Constraint(expr=model.b[0] <= 0)
    return model


def bilinear() -> Any:
    return tm.matrix_svc_bilinear(MATRICES, ridge=0.5, shape="2x2", rank=1)


def alternating(**words: Any) -> Any:
    return tm.solve(bilinear(), method="alternating", **words)


def compared(row: str, exact: str, words: dict[str, Any], own: dict[str, Any]) -> Any:
    return tm.compare(MATRICES, [(row, words | own)], exact=exact, parameters=words)  # type: ignore[arg-type]


def wrong_nu() -> Any:
    model = tm.nu_svc(tm.TrainingData([[0.0], [1.0], [2.0], [3.0]], [-1, 1, 1, 1]), nu=0.5)
    model.nu = 0.75
    return model


def far_numbers(where: str) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1e25 if where == "variable" else None))
    m.y = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x + m.y <= (1e25 if where == "row" else 3.0))
    m.objective = pyo.Objective(expr=m.y**2 - m.x)
    return m


def tiny_data() -> Any:
    return tm.c_svc(tm.TrainingData([[1e-10], [-2e-10], [3e-10]], [1, -1, 1]), C=1.0)


def tiny_coefficients() -> Any:
    m = of()
    m.bent.deactivate()
    m.small = pyo.Constraint(expr=m.x + 1e-12 * m.y <= 1)
    return m


def products() -> Any:
    m = of(goal=lambda m: m.x**2 + m.x * m.y + m.y**2)
    m.bent.deactivate()
    m.k = pyo.Var(within=pyo.Integers, bounds=(0, 3))
    m.more = pyo.Constraint(expr=m.k >= m.x)
    return m


def linear() -> Any:
    return tm.extended_nu_svc_linearised(FEW, nu=0.1, w_ref="mean_difference")


def exponential(row: Any = None, cost: Any = None, **more: Any) -> Any:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(**more), pyo.Var()
    if row is not None:
        m.row = pyo.Constraint(expr=row(m))
    m.cost = pyo.Objective(expr=(cost or (lambda m: m.x**2 + m.y))(m))
    return m


def integers_beside_exp() -> Any:
    m = exponential(cost=lambda m: pyo.exp(m.x))
    m.k = pyo.Var(within=pyo.Integers, bounds=(1, 5))
    m.more = pyo.Constraint(expr=m.x >= 0.5 * m.k)
    return m


CONE = "{} is not convex by the exponential cone; installed solvers that can: scip"
MATRIX_WORDS = {"ridge": 0.5, "shape": "2x2", "rank": 1}
ANOTHER = "it would bound another problem"
CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tm.read_model("absent.lp"), FileNotFoundError, "there is no file"),
    (lambda: tm.diff(c_svc(), "c_svc"), TypeError, "for `edited`, got str"),  # type: ignore[arg-type]
    (lambda: tm.explain_infeasible(c_svc()), ValueError, "has a feasible point"),
    # show, same_model
    (lambda: tm.show(None), TypeError, "takes a Pyomo ConcreteModel for `model`"),
    (lambda: tm.show(c_svc(), rows=-1), ValueError, "rows must be a whole number"),
    (lambda: tm.show(c_svc(), rows=1.5), ValueError, "rows must be a whole number"),  # type: ignore[arg-type]
    (lambda: tm.show(c_svc(), rows=True), ValueError, "rows must be a whole number"),
    (lambda: tm.same_model(small(), 3), TypeError, "`second`, got int"),
    (lambda: tm.same_model(None, small()), TypeError, "`first`, got NoneType"),
    (lambda: tm.same_model(small(), small(), tolerance=-1), ValueError, "a number from 0 to 1"),
    (lambda: tm.same_model(small(), curve()), ValueError, "curve of .* neither affine nor quad"),
    # solvers, limits, starts
    (lambda: tm.solve(conic_sdp(), "highs"), ProblemClassError, "highs cannot take SDP .*clarabel"),
    (lambda: tm.solve(truncated(), "clarabel"), ProblemClassError, "cannot take MIQP .*scip"),
    (lambda: tm.solve(c_svc(), time_limit=0), ValueError, "time_limit must be positive"),
    (lambda: tm.solve(tiny_data(), "highs"), NumberError,
     r"highs would silently drop .* w\[0\] in row margin\[0\]"),
    (lambda: tm.nu_svc(wrong_nu().origin.data, nu=0.6), ValueError, r"\(0, 0.5\].*unbounded"),
    (lambda: tm.solve(wrong_nu()), ValueError, r"nu must lie in \(0, 0.5\]"),
    (lambda: started([1.0]), TypeError, "a result of solve.* or arrays .*, got list"),
    (lambda: started("w"), TypeError, "got str"),
    (lambda: started({"w": [np.nan]}), ValueError, r"w\[0\] must be a finite number"),
    (lambda: started({"b": 1.0, "w": [np.inf]}), ValueError, r"w\[0\] must be a finite number"),
    (lambda: started({"b": None}), ValueError, "b must be a finite number"),
    (lambda: started({"xi": [0.0, 1.0, np.nan, 1.0]}), ValueError, r"xi\[2\] must be"),
    (lambda: started({"w": "abc"}), ValueError, "w must be an array of numbers, got str"),
    (lambda: started({"w": {0: 1.0}}), ValueError, "w must be an array of numbers, got dict"),
    (lambda: started({1: [2.0]}), ValueError, "the model has no variable 1"),
    (lambda: started({"v": 1.0}), ValueError, "no variable 'v'"),
    (lambda: tm.solve(tm.c_svc_dual(DATA, C=1.0), warm_start={"alpah": 1.0}), ValueError,
     "no variable 'alpah'; did you mean alpha"),
    (lambda: started({"b": 1.0, "w": [1.0, 2.0]}), ValueError, "w has 1 elements, got 2"),
    # numbers that a solver would take for infinite
    *((lambda s=solver, w=where: tm.solve(far_numbers(w), s), NumberError,
       "upper bound 1e.25 of x" if where == "variable" else "upper side 1e.25 of row")
      for solver, where in covering(
          ("highs", "clarabel", "scip", "scs", "gurobi", "piqp"), ("variable", "row"))
      if SOLVERS[solver].installed),
    (lambda: tm.solve(products(), "highs"), ProblemClassError,
     "highs cannot take this MIQP model: its objective has products .*scip"),
    # the exponential cone
    (lambda: tm.solve(exponential(lambda m: pyo.exp(m.x) >= 2), "clarabel"), ProblemClassError,
     CONE.format("row")),
    (lambda: tm.solve(exponential(cost=lambda m: pyo.exp(pyo.exp(m.x)) - m.x), "clarabel"),
     ProblemClassError, CONE.format("cost")),
    (lambda: tm.solve(exponential(lambda m: pyo.exp(m.x) == m.y), "clarabel"), ProblemClassError,
     CONE.format("row")),
    (lambda: tm.solve(exponential(cost=lambda m: pyo.sin(m.x), bounds=(0, 1)), "clarabel"),
     ProblemClassError, "cost is not quadratic; installed solvers that can: scip"),
    *((lambda s=solver: tm.solve(exponential(cost=lambda m: pyo.exp(m.x)), s), ProblemClassError,
       f"{solver} cannot take .*: clarabel, scip")
      for solver in ("highs", "scs", "piqp") if SOLVERS[solver].installed),
    (lambda: tm.solve(integers_beside_exp(), "clarabel"), ProblemClassError,
     "no integers beside it; installed .*: scip"),
    # live linear programs
    (lambda: LiveLP(c_svc()), ProblemClassError, "must be an LP and this model is of class QP"),
    (lambda: LiveLP(linear(), form="both"), ValueError, "one of auto, primal, dual, got 'both'"),  # type: ignore[arg-type]
    (lambda: LiveLP(linear(), options={"presolv": "off"}).resolve(), ValueError,
     "no option 'presolv'; did you mean presolve"),
    (lambda: LiveLP(linear(), options={"time_limit": "fast"}).resolve(), ValueError,
     "highs cannot take 'fast' for its option time_limit"),
    (lambda: LiveLP(linear()).resolve(time_limit=0), ValueError, "time_limit must be positive"),
    (lambda: LiveLP(tiny_coefficients()), NumberError, "1e-12 of y in row small"),
    # in another process, before one is started
    *((lambda w=word, v=value: solve_isolated(c_svc(), **{w: v}), ValueError,
       f"{word} must be a positive number")
      for word, value in covering(
          ("grace", "deadline", "memory_limit"), (0, -1.0, np.nan, np.inf, True, "1"))),
    *((lambda v=value: solve_isolated(c_svc(), time_limit=v), ValueError, "time_limit must be pos")
      for value in (0, -5.0, np.nan, "1")),
    (lambda: solve_isolated(c_svc(), treads=2), TypeError, "unexpected keyword argument 'treads'"),
    (lambda: solve_isolated(locked(), "highs"), ValueError,
     r"does not travel to another process: .*_thread\.lock"),
    # methods
    (lambda: tm.solve(edited_truncated(), method="dca"), ValueError,
     "dca takes a model of multiclass_truncated as it was"),
    (lambda: tm.solve(tm.multiclass_hinge(CLASSES, ridge=0.05), method="dca"), ValueError,
     "multiclass_hinge has no method 'dca'"),
    (lambda: tm.solve(c_svc(), method="alternating"), ValueError, "c_svc has no method 'altern"),
    (lambda: tm.solve(truncated(), method="dca", options={"starts": 0}), ValueError, "starts"),
    (lambda: tm.solve(truncated(), method="dca", seed=-1), ValueError, "seed"),
    (lambda: tm.solve(truncated(), method="dca", time_limit=0.0), ValueError, "time_limit"),
    (lambda: alternating(options={"starts": 0}), ValueError, "starts"),
    (lambda: alternating(seed=-1), ValueError, "seed"),
    (lambda: alternating(time_limit=0.0), ValueError, "time_limit"),
    # rows that would bound another problem than the exact one
    *((lambda o=own: compared("matrix_svc_projection", "matrix_svc_bilinear", MATRIX_WORDS, o),
       ValueError, ANOTHER) for own in ({"rank": 2}, {"shape": "1x4"}, {"ridge": 0.4})),
    (lambda: compared("rsvm_dual", "rsvm", {"norm_bound": 1.0}, {"norm_bound": 0.2}), ValueError,
     r"rsvm_dual has norm_bound=0\.2 and rsvm"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_a_call_is_refused(
    call: Callable[[], Any], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: Any, **more: Any) -> Any:
        raise AssertionError("a process was started")

    monkeypatch.setattr("tightmargin.solvers.isolated.parent.subprocess.Popen", never)
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


# --- parts of a model without a value, and solvers that are not there ----------------------------


@pytest.mark.parametrize("place", ["objective", "term", "side", "product", "power"])
def test_a_param_without_a_value_is_named(place: str) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.p = pyo.Param(mutable=True)
    m.goal = pyo.Objective(expr=m.p * m.x if place == "objective" else m.x)
    m.row = pyo.Constraint(expr={
        "objective": m.x >= 0,
        "term": m.x + m.p >= 1,
        "side": m.x >= m.p,
        "product": m.p * m.x**2 <= 1,
        "power": m.x**m.p <= 1,
    }[place])  # fmt: skip
    with pytest.raises(NumberError, match=r"^Param p has no value: set it before solving$"):
        tm.solve(m)
    m.p = 0.5
    if place != "power":
        assert tm.solve(m).objective is not None
