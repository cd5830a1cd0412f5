"""One replication of the paper's experiment: both losses over their grids, chosen and tested."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from tightmargin.experiments.data.outlier_generators import label_flip_hyperplane
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import METHODS, TEST_POINTS, Pair
from tightmargin.experiments.reproduce.cepeda_gomez_han.samples import (
    noisy_split,
    outlier_samples,
    sum_points_away,
)
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row
from tightmargin.experiments.validation.cross_validation import cross_validate
from tightmargin.experiments.validation.error_rates import Samples, synthetic_samples
from tightmargin.experiments.validation.result import CrossValidation
from tightmargin.solvers.kernel.verdict import weakest

APART = 1000  # seeds between two tries of a replication

TIE = "first"  # of equally good hyperparameters; the paper does not say

Found = dict[str, Any]


def both_losses(samples: Samples, count: int) -> Found:
    """Choose beta and kappa of their grids by the validation points, and test both machines.

    count: values of each grid; the paper takes 100.
    Returns: plain values. hinge and conic: test and chosen, the rate of errors on the test points
        (percent) and the hyperparameter, by tie rule; exact, the rate in closed form, where there
        is one, of the rule `TIE`; fits and certified, how many there are; verdict, the weakest, and
        gap, the largest of theirs; seconds for all of it. machine: where.
    """
    found: Found = {"machine": machine()}
    for method in METHODS:
        began = time.perf_counter()
        choice = cross_validate(method, samples, grid=count, tie=TIE)
        found[method] = _record(choice, time.perf_counter() - began)
    return found


def _record(found: CrossValidation, seconds: float) -> Found:
    fits = [fit for row in found.rows for fit in row.fits]
    test, chosen = {}, {}
    for rule, choice in found.choices.items():
        assert choice.test_mistakes is not None
        test[rule] = 100 * choice.test_mistakes / found.test_points
        chosen[rule] = float(choice.fit.hyperparameter)
    gaps = [float(fit.certificate.gap) for fit in fits if fit.certificate.gap is not None]
    exact = found.chosen.exact_error
    return {
        "test": test,
        "chosen": chosen,
        "exact": None if exact is None else 100 * exact,
        "fits": len(fits),
        "certified": sum(fit.certified for fit in fits),
        "verdict": str(weakest(fit.certificate.verdict for fit in fits)),
        "gap": max(gaps, default=None),
        "seconds": seconds,
    }


def outlier_run(
    kind: str, n: int, d: int, sigma: float, seed: int, count: int, percent: int
) -> Found:
    """One replication of Tables 1 and 2, see `samples.outlier_samples`.

    away: whether sum_i y_i x_i of the training points is on the wrong side.
    """
    samples = outlier_samples(kind, n, d, sigma, seed, percent=percent, test_points=TEST_POINTS)
    where: Found = {"kind": kind, "n": n, "d": d, "sigma": sigma, "seed": seed, "percent": percent}
    where["away"] = sum_points_away(samples.train, seed)
    return where | both_losses(samples, count)


def real_run(data: str, tau: float, seed: int, count: int) -> Found:
    """One replication of Table 3, see `samples.noisy_split`."""
    where: Found = {"data": data, "tau": tau, "seed": seed}
    return where | both_losses(noisy_split(data, tau, seed), count)


def flip_run(n: int, d: int, tau: float, replication: int, count: int) -> Found:
    """One replication of Table 4, see `flip_samples`."""
    samples, seed = flip_samples(n, d, tau, replication, test_points=TEST_POINTS)
    where: Found = {"n": n, "d": d, "tau": tau, "seed": seed}
    return where | both_losses(samples, count)


@cache
def machine() -> str:
    """Its model and the operating system."""
    return f"{_processor()}, {platform.system()}"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text(encoding="utf-8").splitlines():
            name, _, model = line.partition(":")
            if name.strip() == "model name":
                return model.strip()
    return platform.processor() or platform.machine()


def flip_samples(
    n: int, d: int, tau: float, replication: int, *, test_points: int
) -> tuple[Samples, int]:
    """Training, validation and clean test points of one replication, and their seed.

    tau: probability that a training or validation label is flipped.
    """
    seed = usable_seed(d, replication)
    spec = f"synthetic:flip,n={n},d={d},tau={tau},seed={seed}"
    return synthetic_samples(spec, test_points=test_points), seed


def usable_seed(d: int, replication: int) -> int:
    """First of replication, replication + 1000, ... whose hyperplane cuts the cube of the points.

    Beside it all test points have one label, which is no problem to train for.
    """
    return next(seed for seed in count(replication, APART) if cuts_the_cube(d, seed))


def cuts_the_cube(d: int, seed: int) -> bool:
    """Whether <w, x> + b has both signs on [-1, 1]^d: |b| < sum_j |w_j|."""
    w, b = label_flip_hyperplane(d=d, seed=seed)
    return abs(b) < float(np.abs(w).sum())


# --- means over replications, beside the print and with their proof -------------------------------


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of some numbers.

    deviation: with n - 1 below the line; 0 of one number.
    """

    mean: float
    deviation: float
    count: int


def spread(numbers: Iterable[float]) -> Spread:
    """Of at least one number."""
    listed = list(numbers)
    return Spread(mean(listed), stdev(listed) if len(listed) > 1 else 0.0, len(listed))


def rates(runs: Iterable[Found], method: str, rule: str = TIE) -> list[float]:
    """Percent of wrong test points of every run."""
    return [run[method]["test"][rule] for run in runs]


def seconds(runs: Iterable[Found], method: str) -> list[float]:
    """Of every run, for its whole grid."""
    return [run[method]["seconds"] for run in runs]


def columns(name: str, latex: str) -> tuple[Column, Column]:
    """A mean and its standard deviation."""
    return Column(name, latex, ".2f"), Column(f"{name} sd", "s.d.", ".2f")


def cells(
    name: str, found: Spread, printed: Pair = ("", ""), allowed: float | None = None
) -> dict[str, Cell]:
    """A mean, judged if there is an allowance, and its standard deviation, which never is.

    One number has no standard deviation.
    """
    mean_cell = {name: Cell(found.mean, printed[0], allowed)}
    if found.count == 1:
        return mean_cell
    return mean_cell | {f"{name} sd": Cell(found.deviation, printed[1], None)}


def row_of(
    key: tuple[str | float, ...], found: Mapping[str, Cell], runs: Sequence[Found], method: str
) -> Row:
    """The row of a method: CERTIFIED where every fit of every grid is."""
    mine = [run[method] for run in runs]
    proofs = [one["verdict"] for one in mine]
    return Row.of_runs(key, found, [one["gap"] for one in mine], proofs)


def where(runs: Iterable[Found], **values: object) -> list[Found]:
    """The runs that have these values."""
    return [run for run in runs if all(run[name] == value for name, value in values.items())]


def tie_note(runs: Sequence[Found], methods: Sequence[str], rules: Sequence[str]) -> str:
    """How little, or how much, the choice among equally good hyperparameters matters."""
    texts = [
        f"{method} " + " / ".join(f"{mean(rates(runs, method, rule)):.2f}" for rule in rules)
        for method in methods
    ]
    return (
        f"of equally good hyperparameters the {TIE} is taken, as the paper does not say which; "
        f"mean of all runs with the {' / '.join(rules)} one: {', '.join(texts)}"
    )


def machines(runs: Iterable[Found]) -> str:
    """Where the runs were made."""
    return "; ".join(sorted({run["machine"] for run in runs}))
