"""Saved results of every class are proven again where no solver is installed at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Case,
    Subject,
    certify,
    describe,
    named_ray,
    named_values,
    standard_form,
)
from tests.references import reference_solutions
from tests.support.command_line import ROOT, run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Claim, SolveResult, Status, Verdict

SOLVER_PACKAGES = ("highspy", "clarabel", "pyscipopt", "gurobipy", "mosek", "scs", "piqp", "osqp")
DATA = reference_solutions.points("overlapping", 5, n=12)
# Beyond the cones of the ramp loss and the branch and bound of few points.
WIDE = reference_solutions.points("separable", 5, n=32, d=7)

CERTIFY_ALL = """
import json, sys
blocked, files = json.loads(sys.argv[1])

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is blocked by the test", name=name)

sys.meta_path.insert(0, Refuse())
from typer.testing import CliRunner
from tightmargin.experiments.cli.app import app
found = {}
for file in files:
    done = CliRunner().invoke(app, ["certify", file, "--json"], catch_exceptions=False)
    found[file] = [done.exit_code, done.stdout, done.stderr]
loaded = sorted({name.partition(".")[0] for name in sys.modules} & set(blocked))
print(json.dumps([found, loaded]))
"""

# Class, entry, settings, solver, exit code of certify, what proves it.
SAVED = {
    "LP": ("extended_nu_svc_linearised", "nu=0.3 w_ref=mean_difference", "highs", 0, "exact"),
    "QP": ("c_svc", "C=0.7", "clarabel", 0, "weak duality"),
    "QP without duals": ("c_svc", "C=0.7", "scip", 0, "weak duality"),
    "SOCP": ("conic_fixed", "penalty=1.3 strengthening=scaled", "clarabel", 0, "weak duality"),
    "SOCP, by our own methods": ("rsvm", "norm_bound=0.7", "auto", 0, "weak duality"),
    # The low-rank optimum leaves a little less open than the multipliers of the file.
    "SDP": ("conic_sdp", "penalty=1.3", "clarabel", 0, "closed form of the strengthening dual"),
    "MIQP, cones": ("zero_one_big_m", "penalty=1.3 big_m=derived", "scip", 0, "cones of"),
    "MIQP, ramp": ("ramp_big_m", "C=0.7 big_m=derived", "scip", 0, "cones of directions"),
    "MIQP, a claim": (
        "ramp_big_m", "C=0.1 big_m=derived intercept=penalised", "scip", 0, "continuous relaxation",
    ),
    "infeasible": ("hard_margin_svc", "", "highs", 3, "exact rational Farkas bound"),
}  # fmt: skip


def unbounded_result() -> SolveResult:
    """A linearised nu-SVC above nu_bar, which solve() would refuse beforehand by its nu_bar."""
    model = tm.extended_nu_svc_linearised(DATA, nu=0.95, w_ref=[1.0, -1.0])
    form = standard_form(model)
    case = Case(model, Subject(form), model.origin)
    found = certify(case, Claim(Status.UNBOUNDED, message="unbounded"))
    assert found.certificate.verdict is Verdict.CERTIFIED, found.certificate.reason
    return SolveResult(
        status=found.status, objective=None, bound=None,
        values=named_values(model, form, found.x), duals={},
        ray=named_ray(model, form, found.ray), certificate=found.certificate, solver="highs",
        **describe(model),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One saved result of each kind beside its data."""
    path = tmp_path_factory.mktemp("saved")
    file = write_csv(path / "train.csv", DATA)
    wide = write_csv(path / "wide.csv", WIDE)
    for kind, (name, settings, solver, _, _) in SAVED.items():
        words = ["--set", *settings.split()] if settings else []
        out = path / f"{kind}.json"
        data = wide if kind == "MIQP, a claim" else file
        answer = run("solve", name, "--data", data, *words, "--solver", solver, "--out", out)
        assert answer.code in (0, 3), answer.stderr
    loaded = TrainingData(DATA.X, DATA.y, spec=str(file))
    result = unbounded_result()
    data = {"spec": str(file), "n": loaded.n, "d": loaded.d, "sha256": loaded.sha256}
    replace(result, data=data).save(path / "unbounded.json")
    return path


@pytest.fixture(scope="module")
def certified(folder: Path) -> dict[str, tuple[int, dict[str, Any], str]]:
    """What certify says of each file in a process that can import no solver."""
    files = sorted(str(path) for path in folder.glob("*.json"))
    done = subprocess.run(
        [sys.executable, "-c", CERTIFY_ALL, json.dumps([SOLVER_PACKAGES, files])],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, loaded = json.loads(done.stdout)
    assert loaded == [], "a solver was imported all the same"
    return {
        Path(file).stem: (code, json.loads(stdout), stderr)
        for file, (code, stdout, stderr) in found.items()
    }


@pytest.mark.parametrize("kind", SAVED)
def test_every_class_is_proven_again(kind: str, certified: dict[str, Any]) -> None:
    _, _, solver, expected, method = SAVED[kind]
    code, document, stderr = certified[kind]
    assert code == expected, stderr
    verdict = "SOLVER_BOUND" if kind == "MIQP, a claim" else "CERTIFIED"
    assert document["certificate"]["verdict"] == verdict
    assert method in document["certificate"]["bound_method"]
    if expected == 0:
        assert document["numbers"]["bound"]["confirmed"], "our own bound, from what is in the file"
        assert document["numbers"]["objective"]["confirmed"]
    if solver == "scip":
        assert any("the word of scip" in claim for claim in document["claims"])


def test_an_unbounded_result_is_proven_again_by_a_ray_that_is_one_by_hand(
    certified: dict[str, Any], folder: Path
) -> None:
    """Rows y_i (<w, x_i> + b) - rho + xi_i >= 0 along it, <w_ref, w> = 0 or more, cost falling."""
    code, document, stderr = certified["unbounded"]
    assert code == 3, stderr
    assert document["status"] == "unbounded"
    assert document["certificate"]["verdict"] == "CERTIFIED"
    assert "a ray that no row ever stops" in document["certificate"]["bound_method"]
    assert document["numbers"] == {}
    ray = SolveResult.load(folder / "unbounded.json").ray
    w, b, rho, xi = ray["w"], float(ray["b"]), float(ray["rho"]), ray["xi"]
    size = max(np.abs(w).max(), abs(b), abs(rho), xi.max())
    assert (DATA.y * (DATA.X @ w + b) - rho + xi >= -1e-9 * size).all()
    assert (xi >= 0).all()
    assert np.array([1.0, -1.0]) @ w >= -1e-9 * size
    assert -0.95 * rho + xi.mean() < -1e-6 * size


@pytest.mark.parametrize("group", ["ray", "values", "duals"])
def test_forged_rays_points_and_farkas_vectors_prove_nothing(
    group: str, folder: Path, tmp_path: Path
) -> None:
    kind = "infeasible" if group == "duals" else "unbounded"
    result = SolveResult.load(folder / f"{kind}.json")
    for factor in (-1.0, 0.0, np.nan) if group == "duals" else (-1.0,):
        forged = {name: factor * array for name, array in getattr(result, group).items()}
        if group == "values":
            forged = {name: array + 5.0 for name, array in forged.items()}
            forged["xi"] = -np.abs(forged["xi"])
        answer = run("certify", replace(result, **{group: forged}).save(tmp_path / "forged.json"))
        assert answer.code == 1
        assert "could not be proven again" in answer.stderr
    for saved in ("infeasible", "QP"):
        result = SolveResult.load(folder / f"{saved}.json")
        short = {name: array[:-1] for name, array in result.duals.items()}
        answer = run("certify", replace(result, duals=short).save(tmp_path / "short.json"))
        assert answer.code == 2
        assert "multipliers of margin do not fit" in answer.complaint
