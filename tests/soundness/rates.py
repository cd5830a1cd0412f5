"""How many convex models of the catalogue end CERTIFIED, at ordinary scales and far from them.

python -m tests.soundness.rates --cases 20 --seed 1 --points 40

Each entry at each scale: data are multiplied by a power of two and hyperparameters by what the
problem's homogeneity asks for, so that it is the same problem in other units. Solved by "auto".
Models without an optimum and numbers that are refused are counted aside. With a penalised intercept
a problem is not homogeneous: it is drawn at its own scale only.
"""

from __future__ import annotations

import argparse
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.soundness import questions as q
from tests.soundness.catalogue import TRIALS
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Verdict

SCALES = {"1": 0, "1e-3": -10, "1e3": 10, "1e-6": -20, "1e6": 20}
CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def convex_entries() -> list[str]:
    return [name for name in TRIALS if tm.catalogue[name].problem_class in CONVEX]


def model(name: str, rng: np.random.Generator, points: int, exponent: int) -> Any:
    """One model of an entry in other units; None where the draw does not exist at that scale."""
    trial = TRIALS[name]
    modes = [mode for mode in trial.modes if mode != "penalised" or not exponent]
    if not modes:
        return None
    mode = str(rng.choice(modes))
    n, d = int(rng.integers(6, points + 1)), 4 if trial.data == "matrices" else trial.features
    X, y = q.points(rng, n, d)
    if trial.data == "separable":
        X, y = q.separated(rng, X)
    s = 2.0**exponent
    if trial.data == "classes":
        labels = rng.permutation(np.arange(n) % 3)
        unit, scaled = tm.MulticlassData(X, labels), tm.MulticlassData(X * s, labels)
    else:
        unit, scaled = tm.TrainingData(X, y), tm.TrainingData(X * s, y)
    asked = trial.draw(rng, unit, mode)
    parameters = {
        word: value * s ** asked.powers[word] if word in asked.powers else value
        for word, value in asked.parameters.items()
    }
    if name == "reduced_hull_svc" and not _holds_weights(scaled, mode, parameters["hull_bound"]):
        return None
    return tm.build(name, scaled, intercept=mode, **parameters)


def _holds_weights(data: tm.TrainingData, mode: str, bound: float) -> bool:
    """Whether weights up to the bound, a double, add up to 2 exactly, and to 1 a class."""
    most = [Fraction(float(bound)) * count for count in (data.n_pos, data.n_neg)]
    return sum(most) >= 2 and (mode != "free" or min(most) >= 1)


def outcome(name: str, seed: int, index: int, points: int, exponent: int) -> tuple[str, str]:
    """A verdict, or what took its place; and the reason."""
    rng = np.random.default_rng([seed, index, *name.encode()])
    try:
        built = model(name, rng, points, exponent)
        if built is None:
            return "left out", ""
        result = tm.solve(built)
    except (ValueError, *q.NO_WITNESS) as refusal:
        return "refused", str(refusal)
    verdict = result.certificate.verdict
    if result.status.value in ("infeasible", "unbounded"):
        return f"{result.status.value}, {verdict.value}", result.certificate.reason
    return verdict.value, result.certificate.reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10, help="of each entry at each scale")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--entry", action="append", choices=convex_entries())
    parser.add_argument("--scale", action="append", choices=SCALES)
    parser.add_argument("--verbose", action="store_true", help="a line for what is not certified")
    asked = parser.parse_args()
    certified = Verdict.CERTIFIED.value
    whole: dict[str, Counter[str]] = {scale: Counter() for scale in asked.scale or SCALES}
    for name in asked.entry or convex_entries():
        line = [f"{name:34}"]
        for scale, total in whole.items():
            found: Counter[str] = Counter()
            for index in range(asked.cases):
                verdict, reason = outcome(name, asked.seed, index, asked.points, SCALES[scale])
                found[verdict] += 1
                if asked.verbose and verdict in set(Verdict) - {Verdict.CERTIFIED}:
                    print(f"  {name} {scale} case {index}: {verdict}: {reason}")
            total.update(found)
            line.append(f"{scale}: {share(found, certified)}")
        print("  ".join(line), flush=True)
    for scale, total in whole.items():
        print(f"all at {scale}: {share(total, certified)}  {dict(total)}")


def share(found: Counter[str], certified: str) -> str:
    """Certified ones of those with a verdict."""
    judged = sum(found[verdict.value] for verdict in Verdict)
    return f"{found[certified]}/{judged}"


if __name__ == "__main__":
    main()
