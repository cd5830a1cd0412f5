"""Row 13: a solver that is not installed is named with the command that mends it, and who can.

Each process here finds no package of the solvers it blocks; tests/project/test_refusals.py blocks
one solver after the other, tests/project/test_structure.py imports everything with none.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

from tests.inside.solvers import SOLVERS
from tests.support.command_line import ROOT

BLOCKED = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nothing())
import importlib.util
found = importlib.util.find_spec
def blind(name, *rest):
    return None if name in {packages!r} else found(name, *rest)
importlib.util.find_spec = blind
"""
SOLVE = """
import json
import numpy as np
import tightmargin as tm
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [0.5, 0.5], [2.5, 0.0]])
data = tm.TrainingData(X, [-1, -1, 1, 1, 1, -1])
models = {
    "LP": tm.extended_nu_svc_linearised(data, nu=0.2, w_ref="mean_difference"),
    "QP": tm.c_svc(data, C=1.0),
    "SOCP": tm.max_margin_svc(data),
    "SDP": tm.conic_sdp(data, penalty=1.0),
    "MIQP": tm.zero_one_big_m(data, penalty=1.0, big_m=100.0),
}
said = {}
for kind, model in models.items():
    for solver in SOLVERS_ASKED:
        try:
            result = tm.solve(model, solver)
            said[f"{kind} {solver}"] = [result.solver, str(result.certificate.verdict)]
        except Exception as refusal:
            said[f"{kind} {solver}"] = [type(refusal).__name__, str(refusal)]
print(json.dumps(said))
"""


def answers(blocked: set[str], asked: list[str]) -> dict[str, list[str]]:
    """What every class and solver gives in a process without some packages."""
    packages = {SOLVERS[name].package for name in blocked}
    script = BLOCKED.format(packages=packages) + SOLVE.replace("SOLVERS_ASKED", repr(asked))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


CLASSES = ("LP", "QP", "SOCP", "SDP", "MIQP")


def test_row_13_without_solvers_each_refusal_says_what_to_install() -> None:
    said = answers(set(SOLVERS), ["auto", *SOLVERS])
    for kind, solver in itertools.product(CLASSES, SOLVERS):
        if kind not in SOLVERS[solver].classes:
            continue
        error, sentence = said[f"{kind} {solver}"]
        assert error == "SolverNotInstalledError"
        command = f"{solver} is not installed (pip install {SOLVERS[solver].distribution})"
        assert sentence.startswith(command)
        assert sentence.endswith(f"installed solvers for {kind}: none")
    for kind in CLASSES:
        error, sentence = said[f"{kind} auto"]
        assert error == "SolverNotInstalledError"
        assert f"no installed solver takes {kind} models" in sentence
        free = {s.distribution for s in SOLVERS.values() if s.free and kind in s.classes}
        assert set(sentence.partition("install ")[2].split(" or ")) == free
