"""Edits of mixed-integer models: proven by branch and bound, and SCIP's and Gurobi's claims.

python -m benchmarks.edited_models [seconds [words of a name]]

Each of 60 models is a formulation with what a researcher adds: rows on the hyperplane, fixings, at
most two features, fairness between groups, an l1 term, prices, budgets. All get the same written
model, M included, and so many seconds (60) each; ours is what tm.solve(model) does.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tightmargin.experiments.data.outlier_generators import outlier_data
from tightmargin.experiments.data.specs import load, load_classes
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.errors import LicenceError

SECONDS = 60.0
M = 60.0
FILE = Path(__file__).with_name("EDITED_MODELS.md")
HEAD = (
    "# Edited models",
    "",
    "Formulations with what a researcher adds to them (benchmarks/edited_models.py),",
    "proven by tm.solve(model), and what SCIP and Gurobi claim of the same model.",
    "",
)
COLUMNS = (
    "| model | certificate | objective | proven bound | s | SCIP | its claim | s | Gurobi "
    "| its claim | s |",
    "|---" * 11 + "|",
)
OURS, CLAIMS = "auto", ("scip", "gurobi")

Model = pyo.ConcreteModel
Edit = Callable[[Model], None]


def two_features(model: Model, limit: float = 20.0) -> None:
    """At most two weights other than 0."""
    at = list(model.w)
    model.used = pyo.Var(at, within=pyo.Binary)
    model.above = pyo.Constraint(at, rule=lambda m, j: m.w[j] <= limit * m.used[j])
    model.below = pyo.Constraint(at, rule=lambda m, j: m.w[j] >= -limit * m.used[j])
    model.few = pyo.Constraint(expr=sum(model.used[j] for j in at) <= 2)


def capped(model: Model) -> None:
    """w_0 <= 0.5."""
    model.cap = pyo.Constraint(expr=model.w[0] <= 0.5)


def raised(model: Model) -> None:
    """w_0 >= 0.8."""
    model.floor = pyo.Constraint(expr=model.w[0] >= 0.8)


def two_fixed(model: Model) -> None:
    """The first point is kept, the second given up."""
    model.z[0].fix(0)
    model.z[1].fix(1)


def intercept_fixed(model: Model) -> None:
    """b = 0.2."""
    model.b.fix(0.2)


def fair(model: Model) -> None:
    """Errors on both halves of the points differ by at most one in a tenth of them."""
    at = list(model.z)
    half = len(at) // 2
    apart = sum(model.z[i] for i in at[:half]) - sum(model.z[i] for i in at[half:])
    model.fair = pyo.Constraint(expr=(-len(at) // 10, apart, len(at) // 10))


def sparing(model: Model) -> None:
    """An l1 term of weight 0.5."""
    at = list(model.w)
    model.size = pyo.Var(at, within=pyo.NonNegativeReals)
    model.up = pyo.Constraint(at, rule=lambda m, j: m.size[j] >= m.w[j])
    model.down = pyo.Constraint(at, rule=lambda m, j: m.size[j] >= -m.w[j])
    model.objective.expr += 0.5 * sum(model.size[j] for j in at)


def priced(model: Model) -> None:
    """Every third error costs twice as much."""
    model.objective.expr += sum(model.z[i] for i in list(model.z)[::3])


def few_errors(model: Model) -> None:
    """At most a quarter of the points is given up."""
    model.budget = pyo.Constraint(expr=sum(model.z[i] for i in model.z) <= len(model.z) // 4)


def ordered(model: Model) -> None:
    """w_0 >= w_1."""
    model.ordered = pyo.Constraint(expr=model.w[0] >= model.w[1])


ON_ZERO_ONE: tuple[Edit, ...] = (
    capped, raised, two_fixed, intercept_fixed, fair, sparing, priced, few_errors, ordered,
    two_features,
)  # fmt: skip


def data_sets() -> Iterator[tuple[str, Any]]:
    """What the binary formulations are edited on."""
    yield "clustered 20 x 2", outlier_data("clustered", n=20, d=2, sigma=0.4, seed=1)
    yield "clustered 40 x 3", outlier_data("clustered", n=40, d=3, sigma=0.4, seed=2)
    yield "spread 60 x 2", outlier_data("spread", n=60, d=2, sigma=0.4, seed=3)
    points = load("sklearn:breast_cancer,n=40,features=0+1+20+21,stratify,seed=0")
    scale = np.abs(points.X).max(axis=0)
    yield "breast cancer 40 x 4", tm.TrainingData(4 * points.X / scale - 2, points.y)


def models() -> Iterator[tuple[str, Model]]:
    """All of them, by name."""
    sets = dict(data_sets())
    for name, data in sets.items():
        for edit in ON_ZERO_ONE[: 10 if "clustered" in name else 7]:
            model = tm.zero_one_big_m(data, penalty=1.0, big_m=M)
            edit(model)
            yield f"zero_one_big_m, {name}: {edit.__doc__}", model
    for name in ("clustered 20 x 2", "clustered 40 x 3", "spread 60 x 2"):
        for edit in (capped, fair, few_errors, two_features):
            model = tm.ramp_big_m(sets[name], C=1.0, big_m=M)
            edit(model)
            yield f"ramp_big_m, {name}: {edit.__doc__}", model
    for way in ("bigm", "hull"):
        model = tm.zero_one_disjunctive(sets["clustered 20 x 2"], penalty=1.0, transformation=way)
        capped(model)
        yield f"zero_one_disjunctive ({way}), clustered 20 x 2: {capped.__doc__}", model
    wide = outlier_data("clustered", n=60, d=6, sigma=0.4, seed=5)
    for name, data in (*sets.items(), ("clustered 60 x 6", wide)):
        if data.d > 2:
            model = tm.c_svc(data, C=1.0)
            two_features(model)
            yield f"c_svc, {name}: {two_features.__doc__}", model
            model = tm.rsvm(data, norm_bound=0.05)
            two_features(model)
            yield f"rsvm, {name}: {two_features.__doc__}", model
    for n in (18, 24):
        classes = load_classes(f"sklearn:iris,n={n},stratify,seed=0")
        model = tm.multiclass_truncated(classes, ridge=0.1, truncation=-0.5, big_m=30.0)
        first = next(iter(model.B))
        model.cap = pyo.Constraint(expr=model.B[first] <= 0.3)
        yield f"multiclass_truncated, iris {n}: a weight at most 0.3", model
    flowers = load("sklearn:iris,positive=1,n=40,stratify,seed=0")
    for edit in (capped, fair, two_features):
        model = tm.zero_one_big_m(flowers, penalty=1.0, big_m=M)
        edit(model)
        yield f"zero_one_big_m, iris 40 x 4: {edit.__doc__}", model
    model = tm.zero_one_big_m(wide, penalty=1.0, big_m=M)
    capped(model)
    yield f"zero_one_big_m, clustered 60 x 6: {capped.__doc__}", model


def measured(model: Model, seconds: float) -> dict[str, Any]:
    """What auto does, and the solvers' claims, each on a copy without values to start from."""
    found: dict[str, Any] = {}
    copy = model.clone()
    began = time.perf_counter()
    found[OURS] = tm.solve(copy, time_limit=seconds, threads=1)
    found[OURS, "seconds"] = time.perf_counter() - began
    for solver in CLAIMS:
        if not SOLVERS[solver].installed:
            continue
        copy = model.clone()
        began = time.perf_counter()
        try:
            found[solver] = tm.solve(copy, solver, time_limit=seconds, threads=1, prove=False)
        except LicenceError:
            continue
        found[solver, "seconds"] = time.perf_counter() - began
    return found


def number(value: float | None) -> str:
    """A number in a table."""
    return "-" if value is None else f"{value:.6g}"


def main(arguments: list[str]) -> None:
    """Print one line a model, and what they come to; all of them together go into a file."""
    seconds = float(arguments[0]) if arguments else SECONDS
    words = arguments[1:]
    certified: list[bool] = []
    ratios: list[float] = []
    lines = []
    for name, model in models():
        if not all(word in name for word in words):
            continue
        found = measured(model, seconds)
        certified.append(found[OURS].certificate.verdict == "CERTIFIED")
        if "scip" in found:
            ratios.append(found[OURS, "seconds"] / found["scip", "seconds"])
        cells = [f"{found[OURS].certificate.verdict}", *cell(found, OURS)]
        for solver in CLAIMS:
            cells += cell(found, solver) if solver in found else ["-", "-", "-"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    said = f"{sum(certified)} of {len(certified)} are CERTIFIED within {seconds:g} s"
    if ratios:
        said += f", in the median in {statistics.median(ratios):.2f} times SCIP's time"
    print(said)
    if not words:
        FILE.write_text("\n".join([*HEAD, said + ".", "", *COLUMNS, *lines, ""]), encoding="utf-8")


def cell(found: dict[Any, Any], who: str) -> list[str]:
    """Objective, bound and seconds; the bound of a solver is its claim."""
    result = found[who]
    bound = result.bound if who == OURS else result.certificate.solver_bound
    return [number(result.objective), number(bound), f"{found[who, 'seconds']:.1f}"]


if __name__ == "__main__":
    main(sys.argv[1:])
