"""The recipes of CONTRIBUTING.md: what each says is done once, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FORMULATION = '''
"""Least sum of hinge losses with every |w_j| <= 1, as a linear program."""
import pyomo.environ as pyo
import tightmargin as tm
from tightmargin.formulations import ProblemClass


@tm.formulation(ProblemClass.LP, "an example")
def boxed_svc(data, *, C):
    """Hinge losses in a box.

        min  C sum_i xi_i    s.t.  y_i (<w, x_i> + b) >= 1 - xi_i,  |w_j| <= 1
    """
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, data.n - 1), pyo.RangeSet(0, data.d - 1)
    m.w, m.b = pyo.Var(m.J, bounds=(-1, 1)), pyo.Var()
    m.xi = pyo.Var(m.I, domain=pyo.NonNegativeReals)
    m.margin = pyo.Constraint(m.I, rule=lambda m, i: data.y[i] * (
        sum(m.w[j] * data.X[i, j] for j in m.J) + m.b) >= 1 - m.xi[i])
    m.loss = pyo.Objective(expr=C * pyo.quicksum(m.xi.values()))
    return m
'''
USE_FORMULATION = """
import mine, tightmargin as tm
data = tm.TrainingData([[0.0], [4.0]], [-1, 1])
result = tm.solve(tm.build("boxed_svc", data, C=2.0))
assert result.certificate.verdict.value == "CERTIFIED", result
assert result.objective == 0.0 and result.formulation == "boxed_svc"
close = tm.TrainingData([[0.0], [1.0]], [-1, 1])  # |w| <= 1 leaves the margins 1/2 and 1/2
assert abs(tm.solve(mine.boxed_svc(close, C=2.0)).objective - 2.0) < 1e-9
"""

SOLVER = '''
"""scipy's linprog behind solver="linprog"."""
import numpy as np
from scipy.optimize import linprog
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, SolverInfo, Status, register_solver


def run(form, classification, limits):
    """Whatever it says: certify decides."""
    A, low, high = form.A.toarray(), form.row_lower, form.row_upper
    rows = np.vstack([A[np.isfinite(high)], -A[np.isfinite(low)]])
    sides = np.r_[high[np.isfinite(high)], -low[np.isfinite(low)]]
    found = linprog(form.objective.a, rows, sides, bounds=np.column_stack([form.lower, form.upper]))
    status = Status.OPTIMAL if found.status == 0 else Status.ERROR
    return Claim(status, found.x, message=found.message)


register_solver(
    SolverInfo("linprog", "scipy", "scipy", frozenset({ProblemClass.LP}), (0.0, np.inf),
               "BSD, free", 1e-6, "HiGHS behind it"), run)
'''
USE_SOLVER = """
import mine, tightmargin as tm
data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.3, seed=1)
model = tm.rsvm_relaxed(data)
ours, theirs = tm.solve(model), tm.solve(model, "linprog")
assert theirs.solver == "linprog"
assert theirs.certificate.verdict.value == "CERTIFIED", theirs.certificate.reason
assert abs(ours.objective - theirs.objective) <= 1e-7
try:
    tm.solve(tm.c_svc(data, C=1.0), "linprog")
except tm.errors.ProblemClassError as refusal:
    assert "linprog cannot take QP" in str(refusal)
else:
    raise AssertionError("a QP went to linprog")
"""

METHOD = '''
"""The mean of the two classes as a method for c_svc: a point without a proof."""
import numpy as np
from tightmargin.solvers import Finding, Method, Status, register_method


def run(origin, limits):
    """Half way between the means; the formulation's own check does the rest."""
    X, y = origin.data.X, origin.data.y
    apart, middle = X[y > 0].mean(0) - X[y < 0].mean(0), (X[y > 0].mean(0) + X[y < 0].mean(0)) / 2
    w = 2 * apart / (apart @ apart)
    b = -w @ middle
    xi = np.maximum(0, 1 - y * (X @ w + b))
    return Finding({"w": w, "b": np.asarray(b), "xi": xi}, Status.FEASIBLE, "means")


register_method(Method("means", ("c_svc",), run, "the machine between the means"))
'''
USE_METHOD = """
import mine, tightmargin as tm
data = tm.TrainingData([[0.0], [2.0]], [-1, 1])
found = tm.solve(tm.c_svc(data, C=10.0), method="means")
assert found.solver == "tightmargin" and found.certificate.facts["engine"] == "means"
assert found.certificate.verdict.value == "CERTIFIED"  # here the means are the support vectors
wide = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.3, seed=1)
open_ = tm.solve(tm.c_svc(wide, C=10.0), method="means")
best = tm.solve(tm.c_svc(wide, C=10.0))
assert open_.certificate.verdict.value == "NOT_CERTIFIED"
assert open_.bound <= best.objective + 1e-6 <= open_.objective
"""

CUT = '''
"""A cut that asks more than the concavity cut at the same vertex: it is deeper by a tenth."""
from dataclasses import replace
from tightmargin.cuts import concavity_cut


def greedy_cut(problem, weight, gamma):
    """Of the same origin, with a side that does not follow from it."""
    cut = concavity_cut(problem, weight, gamma)
    return replace(cut, rhs=cut.rhs - 0.1 * abs(cut.rhs))
'''
USE_CUT = """
import mine, numpy as np, tightmargin as tm
data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
nu = tm.theory.nu_range(data).nu_bar * 0.6
found = tm.cuts.cutting_plane(data, nu=nu)
good = next(cut for cut in found.cuts if cut.kind == "concavity" and not cut.origin.parents)
tm.cuts.verify_cut(good, found.problem, found.cuts)
bad = mine.greedy_cut(found.problem, good.origin.vertex, good.origin.gamma)
try:
    tm.cuts.verify_cut(bad, found.problem, found.cuts)
except tm.cuts.InvalidCutError:
    pass
else:
    raise AssertionError("a cut that does not follow was believed")
"""

RECIPES = {
    "formulation": (FORMULATION, USE_FORMULATION),
    "solver": (SOLVER, USE_SOLVER),
    "method": (METHOD, USE_METHOD),
    "cut": (CUT, USE_CUT),
}


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_works_in_a_folder_of_its_own(kind: str, tmp_path: Path) -> None:
    code, use = RECIPES[kind]
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    (tmp_path / "use.py").write_text(use, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "use.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_recipe_is_one_of_the_guide() -> None:
    guide = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for kind in RECIPES:
        assert f"### A {kind}\n" in guide
