"""The same verdict, route and tree on an idle machine and on a busy one.

python -m benchmarks.busy [processes]

Every model is solved alone, and again beside six processes that do nothing but compute. None has a
time limit. What is compared is everything that a result says but its seconds.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyomo.environ as pyo

import tightmargin as tm
from benchmarks.edited_models import capped, fair, two_features, two_fixed

PROCESSES = 6
FILE = Path(__file__).with_name("BUSY.md")
ENDLESS = "while True: sum(k * k for k in range(10_000))"
SECONDS = re.compile(r"\d[\d.,]* s\b")
HEAD = """# No clock decides

Models without a time limit, solved alone and beside {processes} processes that only compute
(benchmarks/busy.py). Verdict, route, objective, bound and tree are compared, digit by digit.
Seconds are those of a clock on the wall: whatever else the machine had to do is in them, in both
columns.

"""
COLUMNS = (
    "| model | verdict | solver | nodes | optimum proven in | s alone | s busy | the same |",
    "|---|---|---|---|---|---|---|---|",
)


def at_most_two() -> pyo.ConcreteModel:
    """The first task of docs/first_hour.md."""
    data = tm.data.outlier_data("clustered", n=30, d=4, sigma=0.3, seed=1)
    model = tm.c_svc(data, C=1.0)
    two_features(model, 10.0)
    return model


def _edited(edit: Callable[[pyo.ConcreteModel], None]) -> pyo.ConcreteModel:
    data = tm.data.outlier_data("clustered", n=40, d=3, sigma=0.4, seed=2)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m=60.0)
    edit(model)
    return model


def _foreign() -> pyo.ConcreteModel:
    model = at_most_two()
    del model.origin
    return model


def _derived() -> pyo.ConcreteModel:
    data = tm.data.outlier_data("clustered", n=24, d=2, sigma=0.5, seed=1)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    model.objective.expr += sum(model.z[i] for i in list(model.z)[::3])
    return model


def _concave() -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(20), bounds=(0, 1))
    columns = list(model.x.values())
    model.rows = pyo.ConstraintList()
    for i in range(12):
        model.rows.add(sum(((7 * i + 3 * j) % 11 - 5) * x for j, x in enumerate(columns)) <= 8)
    sums = [sum(((5 * k + 2 * j) % 7 - 3) * x for j, x in enumerate(columns)) for k in range(5)]
    model.goal = pyo.Objective(expr=columns[0] - sum(s**2 for s in sums))
    return model


MODELS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "at most two of 4 features, 30 points (docs/first_hour.md)": at_most_two,
    "the same, as somebody else's model": _foreign,
    "0-1 loss, 40 points, w_0 <= 0.5": lambda: _edited(capped),
    "0-1 loss, 40 points, one kept and one given up": lambda: _edited(two_fixed),
    "0-1 loss, 40 points, errors alike in both halves": lambda: _edited(fair),
    "0-1 loss, 24 points, other prices, M derived again": _derived,
    "concave, 20 columns, 5 directions": _concave,
}


@dataclass(frozen=True)
class Told:
    """What a result says, without its seconds."""

    verdict: str
    solver: str
    nodes: int | None
    objective: float | None
    bound: float | None
    words: str
    facts: str


def told(result: tm.SolveResult) -> Told:
    """What is compared."""
    certificate = result.certificate
    facts = {name: fact for name, fact in certificate.facts.items() if name != "trace"}
    parts = [part for part in result.message.split("; ") if " s in all" not in part]
    return Told(
        certificate.verdict.value, result.solver, certificate.facts.get("nodes"),
        result.objective, result.bound, SECONDS.sub("", "; ".join(parts)),
        repr(sorted(facts.items())),
    )  # fmt: skip


def solved(build: Callable[[], pyo.ConcreteModel]) -> tuple[Told, float]:
    """What becomes of a model, and the seconds that it took."""
    model = build()
    began = time.perf_counter()
    result = tm.solve(model, live=False)
    return told(result), time.perf_counter() - began


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute, while the block runs."""
    started = [subprocess.Popen([sys.executable, "-c", ENDLESS]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def lines(processes: int) -> Iterator[str]:
    """Rows of the table."""
    alone = {name: solved(build) for name, build in MODELS.items()}
    with busy(processes):
        for name, build in MODELS.items():
            first, seconds = alone[name]
            second, longer = solved(build)
            interval = f"[{first.bound:.9g}, {first.objective:.9g}]"
            same = "yes" if first == second else f"NO: {second}"
            nodes = "-" if first.nodes is None else f"{first.nodes:,}"
            yield (
                f"| {name} | {first.verdict} | {first.solver} | {nodes} | {interval} "
                f"| {seconds:.1f} | {longer:.1f} | {same} |"
            )


def main(arguments: Sequence[str]) -> int:
    """Write the page; 1 where a load changed something."""
    processes = int(arguments[0]) if arguments else PROCESSES
    rows = []
    for line in lines(processes):
        print(line, flush=True)
        rows.append(line)
    page = HEAD.format(processes=processes) + "\n".join([*COLUMNS, *rows]) + "\n"
    FILE.write_text(page, encoding="utf-8")
    return int(any("| NO" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
