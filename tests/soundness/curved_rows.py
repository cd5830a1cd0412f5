"""Random models with one curved row beside SCIP: python -m tests.soundness.curved_rows.

Balls, ellipsoids, shells and their surfaces beside linear rows, with a linear or a concave
objective, in units from 2^-12 to 2^12. A proven bound may not exceed the value of a point that SCIP
finds, nor a proven value what is optimal there. Leaves with 1 where one does; says how many are
closed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tightmargin.solvers import Status

SECONDS = 8.0
ROOM = 1e-5  # relative
ALLOWED = 1e-7  # of the size of the curved row: where SCIP's point misses it by more, none is asked


def curved(seed: int) -> tuple[pyo.ConcreteModel, str, float]:
    """A model, the kind of its curved row, and the size of its sides."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    k = int(rng.integers(1, n + 1))
    unit = float(2.0 ** rng.integers(-12, 13)) if rng.random() < 0.4 else 1.0
    model = pyo.ConcreteModel()
    wide = None if rng.random() < 0.5 else 3 * unit
    model.x = pyo.Var(range(n), bounds=(None if wide is None else -wide, wide))
    rows, ends = rng.normal(size=(int(rng.integers(1, 5)), n)), rng.uniform(-0.2, 1, 5) * unit
    model.row = pyo.Constraint(
        range(len(rows)),
        rule=lambda m, i: sum(float(rows[i, j]) * m.x[j] for j in range(n)) <= float(ends[i]),
    )
    own = rng.permutation(n)[:k].tolist()
    G = rng.normal(size=(k, k))
    P = np.diag(rng.uniform(0.3, 2, k)) if rng.random() < 0.5 else G @ G.T + 0.1 * np.eye(k)
    body = sum(float(P[a, b]) * model.x[own[a]] * model.x[own[b]]
               for a in range(k) for b in range(k) if P[a, b])  # fmt: skip
    if rng.random() < 0.4:
        body += sum(0.3 * unit * float(a) * model.x[j] for j, a in enumerate(rng.normal(size=n)))
    kind = str(rng.choice(["surface", "outside", "shell", "inside"]))
    size = unit * unit
    sides = {"surface": (size, size), "outside": (size, None), "shell": (0.5 * size, size),
             "inside": (None, size)}[kind]  # fmt: skip
    model.curved = pyo.Constraint(expr=(sides[0], body, sides[1]))
    goal = sum(float(c) * model.x[j] for j, c in enumerate(rng.normal(size=n)))
    if kind == "inside" or rng.random() < 0.3:
        goal = goal - sum(0.7 / unit * model.x[j] ** 2 for j in own[:2])
    model.goal = pyo.Objective(expr=goal)
    return model, kind, size


def fault(seed: int) -> tuple[str, str]:
    """What is false about one model, and how it ended."""
    model, kind, size = curved(seed)
    try:
        mine = tm.solve(model, method="branch-and-cut", time_limit=SECONDS)
    except ValueError:
        return "", f"{kind}: refused"
    ended = f"{kind}: {mine.certificate.verdict}, {mine.status}"
    model, _, _ = curved(seed)
    other = tm.solve(model, "scip", time_limit=SECONDS, prove=False)
    if other.objective is None or missed(model) > ALLOWED * size:
        return "", ended
    room = ROOM * abs(other.objective)
    bound = mine.certificate.bound
    if bound is not None and bound > other.objective + room:
        return f"bound {bound:.12g} above SCIP's point {other.objective:.12g}", ended
    if not mine.certificate.verdict.closed:
        return "", ended
    if mine.objective is None:
        false = mine.status is Status.INFEASIBLE
        return (f"no point where SCIP has one of {other.objective:.12g}" if false else ""), ended
    if mine.objective > other.objective + room:
        return f"{mine.objective:.12g} is worse than SCIP's {other.objective:.12g}", ended
    return "", ended


def missed(model: pyo.ConcreteModel) -> float:
    """By how much the values of a model miss its rows."""
    largest = 0.0
    for row in model.component_data_objects(pyo.Constraint, active=True):
        value = pyo.value(row.body)
        for end, sign in ((row.lower, 1), (row.upper, -1)):
            if end is not None:
                largest = max(largest, sign * (pyo.value(end) - value))
    return largest


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.curved_rows")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(words)
    ends: Counter[str] = Counter()
    false = 0
    for seed in range(given.seed, given.seed + given.count):
        wrong, ended = fault(seed)
        ends[ended] += 1
        if wrong:
            false += 1
            sys.stdout.write(f"{seed}: {wrong}\n")
    sys.stdout.write("\n".join(f"{count:5d} {ended}" for ended, count in ends.most_common()) + "\n")
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
