"""A solve leaves nothing behind: no file in the temporary folder, no line on standard error."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.inside.experiments import run_study
from tests.inside.solvers import SOLVERS
from tests.support.long_runs import ROOT, finish, start, wait_for
from tests.support.study_tasks import marked

# Every class a solver takes, a model that it must refuse, one without a point, one that is
# unbounded, one in numbers it can hardly hold, and one that its clock ends.
SOLVES = """
import sys
import tightmargin as tm
from tightmargin.solvers.errors import RefusedError
from tests.conformance.problems import PROBLEMS
from tests.support.long_runs import MODELS
from tests.references.reference_solutions import points

given, few = points("overlapping", 1, n=10), points("overlapping", 2, n=7)
large = tm.TrainingData(given.X * 1e3, given.y)

models = [
    lambda: tm.c_svc(given, C=0.7),
    lambda: tm.c_svc(large, C=1e6),
    lambda: tm.hard_margin_svc(given),
    lambda: tm.conic_sdp(given, penalty=1.3),
    lambda: tm.zero_one_big_m(few, penalty=1.3, big_m="derived"),
    lambda: tm.hard_margin_svc_dual(given),
    MODELS["milp"],
    MODELS["sdp"],
    # SCIP asks for a tolerance here that its simplex code, with a line about it, does not take.
    *(one.build for one in PROBLEMS if one.name in ("qp_unconstrained", "qp_semidefinite")),
]
for solver in sys.argv[1:]:
    print(solver, flush=True)
    for model in models:
        try:
            tm.solve(model(), solver, time_limit=None if solver == "piqp" else 0.3)
        except (RefusedError, ValueError):
            pass
words = {"penalty": 1.0, "big_m": "derived"}
tm.compare(few, ["zero_one_relaxed"], parameters=words)
"""


@pytest.mark.slow("every solver on every class, in a process whose streams are looked at")
def test_solves_leave_no_file_and_no_line(tmp_path: Path) -> None:
    here = [solver for solver, info in SOLVERS.items() if info.installed]
    ended = subprocess.run(
        [sys.executable, "-c", SOLVES, *here, "auto"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert ended.stdout.split() == [*here, "auto"]
    assert ended.stderr == ""
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from tests.inside.experiments import run_study
from tests.support.study_tasks import marked
folder, store = sys.argv[1:]
run_study(marked, [(folder, k, 0.25) for k in range(40)], name="marks", store=store, jobs=2,
          progress=lambda text: print(text, flush=True))
"""


@pytest.mark.slow("a study that is killed, and its workers that have to see it")
def test_a_study_leaves_no_file_and_a_killed_one_no_process_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, marks = tmp_path / "temporary", tmp_path / "marks"
    folder.mkdir()
    marks.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    process = start(str(marks), str(tmp_path / "s.sqlite"), script=KILLED)
    wait_for("^3 of 40 runs done", process.stdout)
    process.kill()
    finish(process)
    assert list(folder.iterdir()) == []
    time.sleep(1.5)  # its processes look twice a second whether it is there
    begun = len(list(marks.iterdir()))
    time.sleep(1.0)
    assert len(list(marks.iterdir())) == begun
    asked = [(str(marks), number, 0.0) for number in range(3)]
    assert run_study(marked, asked, name="n", jobs=2).complete()
    assert list(folder.iterdir()) == []
