"""What SCIP finds of a model, from the LP file that Pyomo writes of it; and cases beside it.

HiGHS is no witness of these: of 40 quadratic programs its 1.15 calls one unbounded, and ends
another one 6 % above the optimum.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pyscipopt

import tightmargin as tm
from tests.soundness.asking import solving
from tests.soundness.exact import constant_of
from tests.soundness.judge import Case, Kind, Truth, infeasible, optimum, unbounded
from tests.soundness.questions import NoWitnessError, again
from tests.soundness.searches import Instance, some_instance

STUCK = 120.0  # seconds; a run takes a few at most
ERROR = 2e-5  # of SCIP at its tolerances, relative to max(1, |value|)


def scip_run(model: pyo.ConcreteModel, nodes: int = 1000) -> Any:
    """SCIP after its run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        path.write_text(path.read_text().replace(" ^ 2", "^2"))  # as SCIP reads squares
        scip = pyscipopt.Model()
        scip.hideOutput()
        scip.readProblem(str(path))
    scip.setParam("limits/nodes", nodes)  # no clock: a case is the same on a busy machine
    scip.setParam("limits/time", STUCK)  # but for one: a node of 0.1 seconds may never end
    scip.setParam("numerics/feastol", 1e-8)
    try:
        scip.optimize()
    except Exception as trouble:  # of its linear programs, at this tolerance
        raise NoWitnessError(f"{trouble}") from None
    return scip


def scip_optimum(model: pyo.ConcreteModel) -> float:
    """Optimum of a model; inf without a point, -inf without a least value."""
    scip = scip_run(model)
    status = scip.getStatus()
    if status == "optimal":
        return float(scip.getObjVal())
    if status in ("infeasible", "unbounded"):
        return math.inf if status == "infeasible" else -math.inf
    raise NoWitnessError(status)


def truth_of(value: float, model: pyo.ConcreteModel, *, paper: bool = False) -> Truth:
    if value == math.inf:
        return infeasible(paper=paper)
    if value == -math.inf:
        return unbounded(paper=paper)
    scale = max(1.0, abs(value))
    return optimum(value, error=ERROR * scale, constant=constant_of(model), size=scale, paper=paper)


def _beside(name: str, model: pyo.ConcreteModel, witness: pyo.ConcreteModel, unit: float) -> Case:
    """A branch and cut of ours beside a point of SCIP's, and its optimum where it proves one.

    The witness is the model in other units: the objective of the model is `unit` times that of it.
    """
    scip = scip_run(witness)
    value = float(scip.getObjVal()) if scip.getNSols() else math.inf
    if not abs(value) < 1e15:  # SCIP's points at infinity have 1e20
        raise NoWitnessError(scip.getStatus())
    kind = Kind.OPTIMUM if scip.getStatus() == "optimal" else Kind.POINT
    size = unit * max(1.0, abs(value))
    truth = Truth(kind, unit * value, error=ERROR * size, size=size)
    return solving(name, model, truth, method="branch-and-cut")


def curved_case(rng: np.random.Generator, index: int) -> Case:
    """Balls, ellipsoids, shells and their surfaces beside linear rows, in units of 2^-12 to 2^12.

    The objective is linear or concave. SCIP, whose tolerances are absolute, is asked in units of 1;
    drawn again where it finds no point.
    """
    kind = ("surface", "outside", "shell", "inside")[index % 4]

    def draw() -> Case:
        unit = float(2.0 ** rng.integers(-12, 13)) if rng.random() < 0.4 else 1.0
        seed = int(rng.integers(2**32))
        model, witness = (_curved(np.random.default_rng(seed), kind, u) for u in (unit, 1.0))
        return _beside(f"curved {kind} unit {unit:g}", model, witness, unit)

    return again(draw)


def _curved(rng: np.random.Generator, kind: str, unit: float) -> pyo.ConcreteModel:
    n = int(rng.integers(2, 5))
    k = int(rng.integers(1, n + 1))
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(None, None) if rng.random() < 0.5 else (-3 * unit, 3 * unit))
    rows, ends = rng.normal(size=(int(rng.integers(1, 5)), n)), rng.uniform(-0.2, 1, 5) * unit
    body = lambda m, i: sum(float(a) * m.x[j] for j, a in enumerate(rows[i]))  # noqa: E731
    m.row = pyo.Constraint(range(len(rows)), rule=lambda m, i: body(m, i) <= float(ends[i]))
    own = rng.permutation(n)[:k].tolist()
    G = rng.normal(size=(k, k))
    P = np.diag(rng.uniform(0.3, 2, k)) if rng.random() < 0.5 else G @ G.T + 0.1 * np.eye(k)
    curve = sum(float(P[a, b]) * m.x[own[a]] * m.x[own[b]] for a, b in np.argwhere(P))
    if rng.random() < 0.4:
        curve += sum(0.3 * unit * float(a) * m.x[j] for j, a in enumerate(rng.normal(size=n)))
    size = unit * unit
    sides = {"surface": (size, size), "outside": (size, None), "shell": (0.5 * size, size),
             "inside": (None, size)}[kind]  # fmt: skip
    m.curved = pyo.Constraint(expr=(sides[0], curve, sides[1]))
    goal = sum(float(c) * m.x[j] for j, c in enumerate(rng.normal(size=n)))
    if kind == "inside" or rng.random() < 0.3:
        goal = goal - sum(0.7 / unit * m.x[j] ** 2 for j in own[:2])
    m.goal = pyo.Objective(expr=goal)
    return m


def sphere_case(rng: np.random.Generator, index: int) -> Case:
    """Rows of w, b, rho and xi and fixings in an extended nu-SVC; again where SCIP has no point."""

    def draw() -> Case:
        own = some_instance(rng, index)
        model, words = _edited_sphere(rng, own)
        return _beside(f"{own.label}, {words}", model, model, 1.0)

    return again(draw)


def _edited_sphere(rng: np.random.Generator, own: Instance) -> tuple[pyo.ConcreteModel, str]:
    """The model with one to three statements more, and what they are about."""
    m = tm.extended_nu_svc(own.data, nu=own.nu, intercept=own.intercept)
    size, words = float(np.abs(own.data.X).max()), []
    some = lambda: float(rng.uniform(-1, 1)) / size  # noqa: E731
    for number in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(["w", "b", "rho", "xi", "mixed", "fix"]))
        if (kind == "fix" and (own.data.d == 1 or number)) or (
            kind == "b" and own.intercept == "none"
        ):
            kind = "w"
        words.append(kind)
        if kind == "fix":
            m.w[0].fix(float(rng.uniform(-0.9, 0.9)))
            continue
        body = sum(float(a) * m.w[j] for j, a in enumerate(rng.uniform(-1, 1, own.data.d)))
        if kind in ("b", "mixed") and own.intercept != "none":
            body += some() * m.b
        if kind in ("rho", "mixed"):
            body += some() * m.rho
        if kind in ("xi", "mixed"):
            body += sum(some() * m.xi[i] for i in rng.integers(0, own.data.n, 3).tolist())
        side = float(rng.uniform(-0.5, 0.7))
        m.add_component(f"more_{number}", pyo.Constraint(expr=body <= side))
    return m, " and ".join(words)
