"""How many convex models of the catalogue end CERTIFIED, at ordinary scales and far from them.

Each entry at each scale: data are multiplied by a power of two and hyperparameters by what the
problem's homogeneity asks for, so that it is the same problem in other units. Models without an
optimum and numbers that are refused are counted aside. With a penalised intercept a problem is not
homogeneous: it is drawn at its own scale only.
"""

from __future__ import annotations

import argparse
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.soundness.catalogue import posed
from tests.soundness.questions import NO_WITNESS, TRIALS
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Verdict

SCALES = {"1": 0, "1e-3": -10, "1e3": 10, "1e-6": -20, "1e6": 20}
CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def model(name: str, rng: np.random.Generator, points: int, exponent: int) -> Any:
    """One model of an entry in other units; None where the draw does not exist at that scale."""
    trial = TRIALS[name]
    modes = [mode for mode in trial.modes if mode != "penalised" or not exponent]
    if not modes:
        return None
    n, d = int(rng.integers(6, points + 1)), 4 if "matrices" in trial.data else trial.features
    _, data, words, _ = posed(rng, trial, n, d, str(rng.choice(modes)), [exponent])
    if name == "reduced_hull_svc":
        # Weights up to the bound, a double, have to add up to 2 exactly, and to 1 a class.
        most = [Fraction(float(words["hull_bound"])) * each for each in (data.n_pos, data.n_neg)]
        if sum(most) < 2 or (words["intercept"] == "free" and min(most) < 1):
            return None
    return tm.build(name, data, **words)


def outcome(name: str, seed: int, points: int, exponent: int, index: int) -> str:
    """A verdict, or what took its place."""
    rng = np.random.default_rng([seed, index, *name.encode()])
    try:
        built = model(name, rng, points, exponent)
        if built is None:
            return "left out"
        result = tm.solve(built)
    except (ValueError, *NO_WITNESS):
        return "refused"
    verdict = str(result.certificate.verdict.value)
    without = result.status.value in ("infeasible", "unbounded")
    return f"{result.status.value}, {verdict}" if without else verdict


def share(found: Counter[str]) -> str:
    """Certified ones of those with a verdict."""
    return f"{found[Verdict.CERTIFIED.value]}/{sum(found[verdict.value] for verdict in Verdict)}"


def main() -> None:
    convex = [name for name in TRIALS if tm.catalogue[name].problem_class in CONVEX]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10, help="of each entry at each scale")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--entry", action="append", choices=convex)
    asked = parser.parse_args()
    whole: dict[str, Counter[str]] = {scale: Counter() for scale in SCALES}
    for name in asked.entry or convex:
        line = [f"{name:34}"]
        for scale, exponent in SCALES.items():
            each = (name, asked.seed, asked.points, exponent)
            found = Counter(outcome(*each, index) for index in range(asked.cases))
            whole[scale].update(found)
            line.append(f"{scale}: {share(found)}")
        print("  ".join(line), flush=True)
    for scale, total in whole.items():
        print(f"all at {scale}: {share(total)}  {dict(total)}")


if __name__ == "__main__":
    main()
