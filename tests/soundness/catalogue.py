"""Cases of the catalogue: an entry, data, a scale, a solver; and the cases of its estimators."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, said_by, solving, some_solver
from tests.soundness.judge import Answer, Case, Kind, Truth
from tests.soundness.questions import GROUPS, TRIALS, Trial

# Powers of two by which data are multiplied; with a penalised intercept the problem is not
# homogeneous, and its data are drawn at the scale.
EXPONENTS = (0, 0, 0, 0, -3, 3, -10, 10, 20, -20, 26, -26)

Drawn = tuple[Any, dict[str, Any], Truth, str]


def posed(
    rng: np.random.Generator, trial: Trial, n: int, d: int, mode: str, exponents: Sequence[int]
) -> tuple[q.Question, Any, dict[str, Any], int]:
    """A question, the data times a power of two, hyperparameters to match, and the exponent."""
    X, y = q.points(rng, n, d)
    if trial.data == "separable":
        X, y = q.separated(rng, X)
    exponent = int(rng.choice(exponents))
    if mode == "penalised":
        X, exponent = X * 2.0 ** np.clip(exponent, -2, 2), 0
    s = 2.0**exponent
    kind: Any = tm.TrainingData
    if "class" in trial.data:
        kind, y = tm.MulticlassData, rng.permutation(np.arange(n) % 3)
    asked = trial.draw(rng, kind(X, y), mode)
    parameters = {
        name: value * s ** asked.powers[name] if name in asked.powers else value
        for name, value in asked.parameters.items()
    }
    return asked, kind(X * s, y), {"intercept": mode, **parameters}, exponent


def draw(rng: np.random.Generator, trial: Trial, kernel: bool) -> Drawn:
    """Data, hyperparameters, optimum, and words for all three; with a kernel the Gram matrix."""
    mode = str(rng.choice(trial.modes))
    n = int(rng.integers(4 if "class" in trial.data else 2, trial.most + 1))
    d = 4 if "matrices" in trial.data else int(rng.integers(1, trial.features + 1))
    asked, data, parameters, exponent = posed(rng, trial, n, d, mode, EXPONENTS)
    factor = Fraction(2) ** (exponent * asked.power)
    value = asked.value()
    truth = Truth(
        Kind.POINT if asked.upper else Kind.OPTIMUM,
        trial.sign * Fraction(value) * factor,
        error=asked.error * max(1.0, abs(float(value))) * float(factor),
        size=n * factor,
        paper=trial.paper and isinstance(parameters.get("big_m", ""), str),
    )
    words = f"n={n} d={d} {mode} X*2^{exponent} {_short(asked.parameters)}"
    # Of the same points: its entries are exact, and its rank is that of X. The coordinates are
    # others, so that a direction says something else, and so does a sphere in fewer of them.
    if kernel and "w_ref" not in parameters and np.linalg.matrix_rank(data.X) == d:
        data, words = tm.GramData(data.X @ data.X.T, data.y), f"Gram {words}"
    return data, parameters, truth, words


def _short(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={np.ravel(value)[0]}" for name, value in parameters.items())


def drawn(rng: np.random.Generator, trial: Trial, kernel: bool = False) -> Drawn:
    """The first draw that its witness knows an optimum of."""
    return q.again(lambda: draw(rng, trial, kernel))


def entry_case(group: str, rng: np.random.Generator, index: int) -> Case:
    """One entry of a group by turns, as the catalogue builds it."""
    name = list(GROUPS[group])[index % len(GROUPS[group])]
    kernel = tm.GramData in tm.catalogue[name].takes and rng.random() < 0.35
    data, parameters, truth, words = drawn(rng, TRIALS[name], kernel)
    solver = some_solver(rng, tm.catalogue[name].problem_class)
    label = f"{name} {words}"
    # Building may refuse as well: a refusal belongs to the answer.
    return Case(
        f"{label} by {solver}",
        lambda: solving(label, tm.build(name, data, **parameters), truth, solver).ask(),
    )


# Entries that give a classifier and need nothing that an estimator does not take.
ESTIMATED = ("c_svc", "soft_margin_svc", "weighted_svc", "nu_svc", "hard_margin_svc",
             "zero_one_big_m", "rsvm", "extended_nu_svc", "ramp_big_m", "conic_sdp")  # fmt: skip


def estimator_case(rng: np.random.Generator, index: int) -> Case:
    """FormulationClassifier(uncertified="raise"): what it fits, it calls certified."""
    name = ESTIMATED[index % len(ESTIMATED)]
    data, parameters, truth, words = drawn(rng, TRIALS[name])
    label = f"estimator {name} {words}"

    def ask() -> list[Answer]:
        own = parameters | {"uncertified": "raise", "time_limit": SECONDS}
        machine = tm.FormulationClassifier(name, **own)
        try:
            machine.fit(data.X, data.y)
        except tm.UncertifiedError as refusal:
            raise ValueError(str(refusal)) from None
        closed = machine.result_.certificate.verdict.closed  # WITHIN_TOLERANCE warns
        quiet = "" if closed else "fitted without a proof and did not raise"
        return [Answer(label, said_by(machine.result_), truth, quiet)]

    return Case(label, ask)
