"""The recipes of CONTRIBUTING.md: what each says is done once, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

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

RECIPES = {
    "solver": (SOLVER, USE_SOLVER),
    "method": (METHOD, USE_METHOD),
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
