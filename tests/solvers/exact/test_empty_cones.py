"""That rows and cones leave no point is proven, and never where they leave one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import Subject, proven_empty, standard_form
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL, covering
from tightmargin.formulations import psd
from tightmargin.solvers import Status, Verdict

DATA = outlier_data("clustered", n=12, d=3, sigma=0.4, seed=1)
Model = pyo.ConcreteModel


def balls(apart: float, *, k: int = 3, scale: float = 1.0, seed: int = 0) -> Model:
    """Two balls of radius `scale` whose centres are 2 + apart times that from each other."""
    rng = np.random.default_rng(seed)
    towards = rng.normal(size=k)
    towards *= (2 + apart) * scale / np.linalg.norm(towards)
    centre = rng.normal(size=k) * scale
    m = Model()
    m.x = pyo.Var(range(k))
    m.goal = pyo.Objective(expr=sum(m.x[j] for j in range(k)))
    for name, at in (("first", centre), ("second", centre + towards)):
        body = sum((m.x[j] - at[j]) ** 2 for j in range(k))
        m.add_component(name, pyo.Constraint(expr=body <= scale**2))
    return m


def cut_ball(apart: float, *, k: int = 3, scale: float = 1.0, seed: int = 0) -> Model:
    """A ball of radius `scale` and a half-space that starts `apart` of it away."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=k)
    m = Model()
    m.x = pyo.Var(range(k))
    m.goal = pyo.Objective(expr=m.x[0])
    m.ball = pyo.Constraint(expr=sum(m.x[j] ** 2 for j in range(k)) <= scale**2)
    side = (1 + apart) * scale * float(np.linalg.norm(a))
    m.half = pyo.Constraint(expr=sum(a[j] * m.x[j] for j in range(k)) >= side)
    return m


def matrix(apart: float, *, k: int = 3, scale: float = 1.0, seed: int = 0) -> Model:
    """A correlation of 1 + apart."""
    m = Model()
    m.X = pyo.Var([(i, j) for i in range(2) for j in range(i + 1)])
    m.goal = pyo.Objective(expr=m.X[0, 0] + k * m.X[1, 1])
    m.low = pyo.Constraint(expr=m.X[1, 0] >= (1 + apart) * scale)
    m.cap = pyo.Constraint([0, 1], rule=lambda m, i: m.X[i, i] <= scale)
    psd(m, "cone", [[m.X[0, 0]], [m.X[1, 0], m.X[1, 1]]])
    return m


BUILDERS = {"balls": balls, "cut ball": cut_ball, "matrix": matrix}
SCALES = (2.0**-12, 1.0, 2.0**12)
CASES = [*zip(BUILDERS, SCALES, strict=True)]


@pytest.mark.parametrize(("name", "scale"), covering(BUILDERS, SCALES) if FULL else CASES)
def test_what_is_apart_is_proven_and_what_touches_is_not(name: str, scale: float) -> None:
    build = BUILDERS[name]
    for seed, apart in enumerate((1.0, 1e-1, 1e-2, 1e-3) if FULL else (1.0, 1e-3)):
        result = tm.solve(build(apart, scale=scale, seed=seed))
        assert result.status is Status.INFEASIBLE, (apart, result)
        assert result.certificate.verdict is Verdict.CERTIFIED, (apart, result.certificate)
    for seed, apart in enumerate((0.0, -1e-9, -1e-7, -1e-3, -0.1) if FULL else (0.0, -1e-7)):
        result = tm.solve(build(apart - 1e-12, scale=scale, seed=seed))
        empty = result.status is Status.INFEASIBLE
        assert not (empty and result.certificate.verdict is Verdict.CERTIFIED), (apart, result)


def test_no_multipliers_prove_that_of_a_model_with_a_point() -> None:
    rng = np.random.default_rng(5)
    models = [build(-0.05, k=k, seed=k) for build in BUILDERS.values() for k in (2, 4)]
    models += [tm.rsvm(DATA, norm_bound=0.05), tm.conic_sdp_budget(DATA, budget=0.1)]
    for model in models:
        subject = Subject(standard_form(model))
        size = len(subject.conic.b)
        for _ in range(200 if FULL else 25):
            z = rng.normal(size=size) * 10.0 ** rng.integers(-8, 9, size=size)
            z *= rng.random(size) < rng.random()
            assert proven_empty(subject, z) is None
        for z in (np.zeros(size), np.full(size, np.nan), np.full(size, np.inf), np.ones(size + 1)):
            assert proven_empty(subject, z) is None


@pytest.mark.parametrize("name", BUILDERS)
def test_a_file_proves_it_too(name: str, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    result = tm.solve(BUILDERS[name](1e-3), proof=file)
    assert f"the proof is in {file}" in result.message
    document = json.loads(file.read_text())
    proof = accepted(document)
    assert proof.kind == "infeasible"
    for row in document["model"]["quadratic"]:  # with a larger radius there are points
        row["upper"] = (4 * float.fromhex(row["upper"])).hex()
    for part in document["model"]["rows"]:
        if part["upper"] is not None:
            part["upper"] = (4 * float.fromhex(part["upper"])).hex()
    refused(document, ".")
