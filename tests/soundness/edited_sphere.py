"""Edited extended nu-SVCs beside SCIP: python -m tests.soundness.edited_sphere.

Rows of w, b, rho and xi and fixings at random, on the instances of cut_searches.py. A proven bound
may not exceed the value of any point that SCIP finds, nor a proven value what is optimal there.
Leaves with 1 where one does; says how many are closed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.soundness.cut_searches import Instance, instances

SECONDS = 10.0
ROOM = 2e-6  # relative: what the two may leave open
PRICE = 10.0  # of what a point of SCIP's misses its rows by, in the size of the data


def edited(own: Instance, seed: int) -> tuple[pyo.ConcreteModel, str]:
    """The model with one to three statements more, and what they are about."""
    rng = np.random.default_rng((seed, own.data.n, own.data.d))
    m = tm.extended_nu_svc(own.data, nu=own.nu, intercept=own.intercept)
    size, words = float(np.abs(own.data.X).max()), []
    for number in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(["w", "b", "rho", "xi", "mixed", "fix"]))
        if kind == "fix" and (own.data.d == 1 or number):
            kind = "w"
        if kind == "b" and own.intercept == "none":
            kind = "w"
        words.append(kind)
        if kind == "fix":
            m.w[0].fix(float(rng.uniform(-0.9, 0.9)))
            continue
        body = sum(float(a) * m.w[j] for j, a in enumerate(rng.uniform(-1, 1, own.data.d)))
        if kind in ("b", "mixed") and own.intercept != "none":
            body += float(rng.uniform(-1, 1)) / size * m.b
        if kind in ("rho", "mixed"):
            body += float(rng.uniform(-1, 1)) / size * m.rho
        if kind in ("xi", "mixed"):
            chosen = rng.integers(0, own.data.n, 3).tolist()
            body += sum(float(rng.uniform(-1, 1)) / size * m.xi[i] for i in chosen)
        side = float(rng.uniform(-0.5, 0.7))
        m.add_component(f"more_{number}", pyo.Constraint(expr=body <= side))
    return m, " and ".join(words)


def fault(own: Instance, seed: int) -> tuple[str, str]:
    """What is false about one edit, and how it ended."""
    model, words = edited(own, seed)
    try:
        mine = tm.solve(model, method="branch-and-cut", time_limit=SECONDS)
    except ValueError as refusal:
        return "", f"refused: {str(refusal)[-60:]}"
    other = tm.solve(edited(own, seed)[0], "scip", time_limit=SECONDS, prove=False)
    ended = str(mine.certificate.verdict)
    if other.objective is None:
        false = mine.objective is not None and str(other.status) == "infeasible"
        return ("a point where SCIP has none" if false else ""), f"{ended}, SCIP {other.status}"
    size = 1 + float(np.abs(own.data.X).max())
    room = ROOM * abs(other.objective) + PRICE * other.certificate.primal_residual * size
    bound = mine.certificate.bound
    if bound is not None and bound > other.objective + room:
        return f"{words}: bound {bound:.12g} above SCIP's point {other.objective:.12g}", ended
    closed = mine.certificate.verdict.closed
    if closed and mine.objective > other.objective + room:
        return f"{words}: {mine.objective:.12g} is worse than SCIP's {other.objective:.12g}", ended
    claimed = other.certificate.solver_bound
    if mine.objective is not None and claimed is not None and mine.objective < claimed - room:
        return f"{words}: {mine.objective:.12g} is below SCIP's bound {claimed:.12g}", ended
    return "", ended


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.edited_sphere")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    count, total = 0, Counter[str]()
    for number, own in enumerate(instances(asked.seed, asked.cases)):
        false, ended = fault(own, asked.seed + number)
        total[ended] += 1
        if false:
            count += 1
            print(f"{own.label}, edit {asked.seed + number}: {false}", flush=True)
    for name, times in sorted(total.items()):
        print(f"{times:6d}  {name}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
