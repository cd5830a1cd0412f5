"""Readers and writers against programs and readers that share no code with them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.solvers import classify, standard_form
from tests.references import reference_solutions
from tests.support import cbf_reader
from tightmargin.formulations import ProblemClass

DATA = reference_solutions.points("overlapping", 4, n=9)

LP = r"""\ every kind of line
Maximize
 gain: 2 x(1) - .5 y + 1e-11 z + [ - 2 x(1)^2 + 3 x(1) * y ] / 2 - 7
Subject To
 first: x(1) + 2 y - 3 z >= -4
 second: - 1 <= x(1) - y <= 2
 third: [ x(1)^2 + y ^ 2 ] + z =< 10
 4 >= y + z
 even: y - z = 0.25
Bounds
 x(1) free
 -3 <= y <= 4
 z <= 1e30
 k >= -2
General
 k
Binary
 u
Semi
End
"""

MPS = """* the same without the quadratic row
NAME small
OBJSENSE
    MAX
ROWS
 N gain
 G first
 G second
 E even
 N idle
COLUMNS
 x(1) gain 2 first 1
 x(1) second 1
 y gain -0.5 first 2
 y second -1 even 1
 z gain 1e-11 first -3
 z even -1
 M1 'MARKER' 'INTORG'
 k first 0
 u first 0
 M2 'MARKER' 'INTEND'
RHS
 R gain 7 first -4
 R second -1 even 0.25
RANGES
 R second 3
BOUNDS
 FR B x(1)
 LO B y -3
 UP B y 4
 LO B k -2
 BV B u
QUADOBJ
 x(1) x(1) -2
 x(1) y 1.5
ENDATA
"""


ONE = (
    "NAME one\nROWS\n N cost\n {row} r\nCOLUMNS\n x cost 1 r 1\nRHS\n R r {side}\nRANGES\n{range}\n"
    "BOUNDS\n {bound}\nENDATA\n"
)


def by_hand(*, quadratic: bool) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1])
    m.y = pyo.Var(bounds=(-3, 4))
    m.z = pyo.Var(bounds=(0, None))
    x, y, z = m.x[1], m.y, m.z
    m.a = pyo.Constraint(expr=x + 2 * y - 3 * z >= -4)
    m.b = pyo.Constraint(expr=pyo.inequality(-1, x - y, 2))
    m.e = pyo.Constraint(expr=y - z == 0.25)
    if quadratic:
        m.c = pyo.Constraint(expr=x**2 + y**2 + z <= 10)
        m.d = pyo.Constraint(expr=y + z <= 4)
    gain = 2 * x - 0.5 * y + 1e-11 * z - x**2 + 1.5 * x * y - 7
    m.goal = pyo.Objective(expr=gain, sense=pyo.maximize)
    return m


@pytest.mark.parametrize(("suffix", "text"), [(".lp", LP), (".mps", MPS)])
def test_every_kind_of_line_is_read(suffix: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / f"model{suffix}"
    file.write_text(text)
    model = tm.read_model(file)
    assert tm.same_model(model, by_hand(quadratic=suffix == ".lp"), tolerance=0.0)
    assert model.k.is_integer()
    assert (model.k.lb, model.k.ub) == (-2, None)
    assert model.u.is_binary()


CBF = """VER
1
OBJSENSE
MIN
PSDVAR
1
2
VAR
3 2
F 1
L+ 2
PSDCON
1
2
CON
6 4
L= 1
L- 1
Q 3
L+ 1
OBJFCOORD
2
0 0 0 2.0
0 1 0 0.5
OBJACOORD
3
0 1.0
1 1.0
2 0.5
OBJBCOORD
-3.0
FCOORD
2
0 0 0 0 1.0
5 0 1 0 0.5
ACOORD
5
0 1 1.0
1 2 1.0
2 0 1.0
3 1 1.0
4 2 1.0
BCOORD
3
0 -1.5
1 -8.0
5 0.25
HCOORD
3
0 0 0 0 1.0
0 1 1 1 1.0
0 2 1 0 0.25
DCOORD
2
0 1 0 -0.5
0 1 1 0.75
"""


def test_a_cbf_file_of_another_program(tmp_path: Path) -> None:
    """With a matrix variable; an independent reader and Clarabel have the optimum."""
    file = tmp_path / "model.cbf"
    file.write_text(CBF)
    found = tm.solve(tm.read_model(file), "clarabel")
    assert found.objective == pytest.approx(cbf_reader.parse(CBF).solved().objective, abs=1e-7)


def sdpa_optimum(text: str) -> float:
    """An SDPA file solved by Clarabel: min c'x, sum x_k F_k - F_0 semidefinite."""
    lines = [line for line in text.splitlines() if line[0] not in '*"']
    n, sizes = int(lines[0]), [int(word) for word in lines[2].split()]
    starts = np.cumsum([0, *map(abs, sizes)])
    F = np.zeros((n + 1, starts[-1], starts[-1]))
    for line in lines[4:]:
        k, block, i, j, number = line.split()
        row, column = (starts[int(block) - 1] + int(end) - 1 for end in (i, j))
        F[int(k), row, column] = F[int(k), column, row] = float(number)
    row, column = np.tril_indices(starts[-1])
    scale = np.where(row == column, 1.0, np.sqrt(2.0))
    entries = F[:, row, column] * scale
    cone = cbf_reader.Cone("PSD", sp.csr_matrix(entries[1:].T), -entries[0])
    cost = np.array([float(word) for word in lines[3].split()])
    return cbf_reader.Program(False, cost, 0.0, [cone], []).solved().objective


def test_constants_maxima_and_cones_in_sdpa_files(tmp_path: Path) -> None:
    """max 3.5 - ||(x, y) - (3, 4)|| over x <= 0, which is 0.5 at (0, 4)."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(bounds=(None, 0)), pyo.Var(), pyo.Var(bounds=(0, None))
    m.p, m.q = pyo.Var(), pyo.Var()
    m.first, m.second = pyo.Constraint(expr=m.p == m.x - 3), pyo.Constraint(expr=m.q == m.y - 4)
    m.cone = pyo.Constraint(expr=m.p**2 + m.q**2 <= m.t**2)
    m.goal = pyo.Objective(expr=3.5 - m.t, sense=pyo.maximize)
    file = tm.export(m, tmp_path / "m.dat-s")
    assert sdpa_optimum(file.read_text()) == pytest.approx(-0.5, abs=1e-6)
    again = tm.read_model(file)
    assert tm.same_model(m, again)
    assert tm.solve(again).objective == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_cone_of_affine_functions_stays_one(sign: int, tmp_path: Path) -> None:
    """min x + y over x + y + 1 >= ||(x - y, 1 - x)||: the file alone says that this is convex."""
    block = f"1 1 1 1 1\n2 1 1 1 1\n0 1 1 1 -1\n1 1 1 2 {sign}\n2 1 1 2 {-sign}\n"
    block += "".join(f"1 1 {k} {k} 1\n2 1 {k} {k} 1\n0 1 {k} {k} -1\n" for k in (2, 3))
    file = tmp_path / "cone.dat-s"
    file.write_text(f"2\n1\n3\n1.0 1.0\n{block}0 1 1 3 -1\n1 1 1 3 -1\n")
    model = tm.read_model(file)
    assert classify(standard_form(model)).problem_class is ProblemClass.SOCP
    found = tm.solve(model, "clarabel")
    assert found.objective == pytest.approx(sdpa_optimum(file.read_text()), abs=1e-6)


def task_by_hand(path: Path) -> None:
    """min x + <C, X>, x^2 + X_10 <= 2, X_00 + X_11 = 1, X semidefinite, and (x + 1, 2) in Q."""
    import mosek

    with mosek.Env() as env, env.Task() as task:
        task.appendvars(1)
        task.putvarname(0, "x")
        task.putvarbound(0, mosek.boundkey.fr, 0.0, 0.0)
        task.putcj(0, 1.0)
        task.appendbarvars([2])
        task.appendcons(2)
        task.putqconk(0, [0], [0], [2.0])
        low = task.appendsparsesymmat(2, [1], [0], [0.5])
        trace = task.appendsparsesymmat(2, [0, 1], [0, 1], [1.0, 1.0])
        price = task.appendsparsesymmat(2, [0, 1], [0, 0], [3.0, -1.0])
        task.putbarcj(0, [price], [1.0])
        task.putbaraij(0, 0, [low], [1.0])
        task.putbaraij(1, 0, [trace], [1.0])
        task.putconbound(0, mosek.boundkey.up, 0.0, 2.0)
        task.putconbound(1, mosek.boundkey.fx, 1.0, 1.0)
        task.appendafes(2)
        task.putafefrow(0, [0], [1.0])
        task.putafeg(0, 3.0)
        task.putafeg(1, 2.0)
        task.appendacc(task.appendquadraticconedomain(2), [0, 1], [2.0, 0.0])
        task.writedata(str(path))


@pytest.mark.parametrize("suffix", [".task", ".jtask"])
def test_a_task_of_another_program(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"model{suffix}"
    task_by_hand(file)
    m = pyo.ConcreteModel()
    m.x, m.X0 = pyo.Var(), pyo.Var([(0, 0), (1, 0), (1, 1)])
    X = m.X0
    tm.psd(m, "matrix", [[X[0, 0]], [X[1, 0], X[1, 1]]])
    m.first = pyo.Constraint(expr=m.x**2 + X[1, 0] <= 2)
    m.trace = pyo.Constraint(expr=X[0, 0] + X[1, 1] == 1)
    m.cone = pyo.Constraint(expr=m.x + 1 >= 2)
    m.goal = pyo.Objective(expr=m.x + 3 * X[0, 0] - 2 * X[1, 0])
    found = tm.same_model(tm.read_model(file), m)
    assert found, found


def test_cones_of_one_entry_and_sides_with_nothing_between(tmp_path: Path) -> None:
    cbf = tmp_path / "one.cbf"
    cbf.write_text(
        "VER\n1\nOBJSENSE\nMIN\nVAR\n2 1\nF 2\nCON\n1 1\nQ 1\n"
        "OBJACOORD\n1\n0 1.0\nACOORD\n2\n0 0 1.0\n0 1 1.0\nBCOORD\n1\n0 -1.0\n"
    )
    m = pyo.ConcreteModel()
    m.column = pyo.Var([0, 1])
    m.row = pyo.Constraint(expr=m.column[0] + m.column[1] >= 1)
    m.goal = pyo.Objective(expr=m.column[0])
    assert tm.same_model(tm.read_model(cbf), m)
    lp = tmp_path / "empty.lp"
    lp.write_text("min x\nst\n c: 2 <= x + y <= 1\nend")
    result = tm.solve(tm.read_model(lp))
    assert (result.status, result.certificate.verdict.value) == ("infeasible", "CERTIFIED")


@pytest.mark.parametrize(("first", "verdict"), [(0, "optimal"), (-1, "infeasible")])
def test_a_cone_whose_first_entry_is_a_number(first: int, verdict: str, tmp_path: Path) -> None:
    """2 f (x + 2) >= x^2 with f = 0 leaves x = 0, with f = -1 nothing."""
    file = tmp_path / "cone.cbf"
    file.write_text(
        "VER\n1\nOBJSENSE\nMIN\nVAR\n1 1\nF 1\nCON\n3 1\nQR 3\nOBJACOORD\n1\n0 1.0\n"
        f"ACOORD\n2\n1 0 1.0\n2 0 1.0\nBCOORD\n2\n0 {first}\n1 2\n"
    )
    found = tm.solve(tm.read_model(file))
    assert found.status.value == verdict
    assert first or found.objective == pytest.approx(0.0, abs=1e-4)


def test_rows_of_one_variable_stay_rows_where_bounds_have_their_place(tmp_path: Path) -> None:
    """And the side of 3 x >= 1 is no bound in doubles."""
    file = tmp_path / "model.lp"
    file.write_text("min x\nst\n c: 3 x >= 1\n never: 0 x >= 1\nend\n")
    model = tm.read_model(file)
    assert pyo.value(model.c.lower) == 1
    assert model.x.lb == 0
    assert tm.solve(model).status.value == "infeasible"


@pytest.mark.parametrize(
    ("suffix", "text", "rows", "bounds"),
    [  # sums are those of the decimal numbers; sides of 1e30 are none; binaries keep their bounds
        (".lp", "min x\nst\n c: x + .1 >= .3\nend", [(0.2, None)], (0, None)),
        (".lp", "min x\nst\n c: .1 + .2 <= x + x + .1 <= 1e30\nend", [(0.2, None)], (0, None)),
        (".lp", "min x\nst\n c: x + 1e17 <= 100000000000000007\nend", [(None, 7)], (0, None)),
        (".lp", "min x\nst\n c: x <= 1e25\n d: x >= -2e30\nend", [(None, 1e25)], (0, None)),
        (".lp", "min x\nst\n c: x >= 0\nbounds\n x = 1\nbinary\n x\nend", [(0, None)], (1, 1)),
        (".lp", "min x\nst\n c: x >= 0\nbounds\n -2 <= x <= 9\nbinary\n x\nend",
         [(0, None)], (0, 1)),
        (".mps", ONE.format(row="L", side=".3", range=" S r .1", bound="FR B x 7"), [(0.2, 0.3)],
         (None, None)),
        (".mps", ONE.format(row="E", side=".3", range=" S r -.1", bound="MI B x 7"), [(0.2, 0.3)],
         (None, None)),
        (".mps", ONE.format(row="G", side="1", range=" S r 1e30", bound="BV B x 7"), [(1, None)],
         (0, 1)),
        (".mps", ONE.format(row="E", side="1", range=" S r -1e30", bound="PL x"), [(None, 1)],
         (0, None)),
        (".mps", ONE.format(row="L", side="1e30", range="", bound="UP B x 1e20"), [], (0, None)),
    ],
)  # fmt: skip
def test_sides_and_bounds_are_those_of_the_decimal_numbers(
    suffix: str,
    text: str,
    rows: list[tuple[float | None, float | None]],
    bounds: tuple[float | None, float | None],
    tmp_path: Path,
) -> None:
    file = tmp_path / f"model{suffix}"
    file.write_text(text)
    model = tm.read_model(file)
    found = model.component_data_objects(pyo.Constraint, active=True)
    read = [
        (pyo.value(row.lower), pyo.value(row.upper)) for row in found if not row.body.is_fixed()
    ]
    assert read == rows
    assert (model.x.lb, model.x.ub) == bounds


def test_a_binary_that_is_fixed_comes_back(tmp_path: Path) -> None:
    """The optimum is 3 p, with q fixed at 0; with both in 0 to 1 it would be -2."""
    m = pyo.ConcreteModel()
    m.p, m.q = pyo.Var(within=pyo.Binary, bounds=(1, 1)), pyo.Var(within=pyo.Binary, bounds=(0, 0))
    m.r = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=m.p + m.q + m.r <= 2)
    m.objective = pyo.Objective(expr=3 * m.p - 2 * m.q + m.r)
    for suffix in (".lp", ".mps"):
        back = tm.read_model(tm.export(m, tmp_path / f"model{suffix}"))
        assert tm.same_model(m, back)
        assert tm.solve(back).objective == pytest.approx(3.0)


def test_the_sides_of_a_row_come_back_where_their_difference_is_rounded(tmp_path: Path) -> None:
    """As a range the upper side would be another double, in doubles or in decimal numbers."""
    rng = np.random.default_rng(5)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(200))
    ends = np.sort(rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-6, 7, size=(200, 2)), axis=1)
    m.row = pyo.Constraint(range(200), rule=lambda m, k: (ends[k, 0], m.x[k], ends[k, 1]))
    m.objective = pyo.Objective(expr=m.x[0])
    found = tm.same_model(m, tm.read_model(tm.export(m, tmp_path / "m.mps")), tolerance=0.0)
    assert found, found


def test_without_mosek(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text files need nobody; others say whom they need."""
    file = tm.export(tm.c_svc(DATA, C=0.7), tmp_path / "model.task")
    text = tm.export(tm.c_svc(DATA, C=0.7), tmp_path / "model.cbf")
    monkeypatch.setitem(sys.modules, "mosek", None)
    assert tm.same_model(tm.c_svc(DATA, C=0.7), tm.read_model(text))
    with pytest.raises(tm.errors.SolverNotInstalledError, match="pip install mosek"):
        tm.read_model(file)
