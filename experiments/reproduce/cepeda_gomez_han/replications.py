"""One replication of the paper's experiment: both losses over their grids, chosen and tested."""

from __future__ import annotations

import time
from typing import Any

from tightmargin.experiments.reproduce.cepeda_gomez_han.machine import machine
from tightmargin.experiments.reproduce.cepeda_gomez_han.outliers import (
    outlier_samples,
    sum_points_away,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import METHODS, TEST_POINTS
from tightmargin.experiments.reproduce.cepeda_gomez_han.real_data import noisy_split
from tightmargin.experiments.reproduce.cepeda_gomez_han.separable import flip_samples
from tightmargin.experiments.validation.cross_validation import cross_validate
from tightmargin.experiments.validation.error_rates import Samples
from tightmargin.experiments.validation.result import CrossValidation

TIE = "first"  # of equally good hyperparameters; the paper does not say

Found = dict[str, Any]


def both_losses(samples: Samples, count: int) -> Found:
    """Choose beta and kappa of their grids by the validation points, and test both machines.

    Parameters
    ----------
    samples : Samples
    count : int
        Values of each grid; the paper takes 100.

    Returns
    -------
    dict
        Plain values. hinge and conic: test and chosen, the rate of errors on the test points
        (percent) and the hyperparameter, by tie rule; exact, the rate in closed form, where there
        is one, of the rule `TIE`; fits and certified, how many there are; gap, the largest of
        theirs; seconds for all of it. machine: where.
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
        "gap": max(gaps, default=None),
        "seconds": seconds,
    }


def outlier_run(
    kind: str, n: int, d: int, sigma: float, seed: int, count: int, percent: int
) -> Found:
    """One replication of Tables 1 and 2, see `outliers.outlier_samples`.

    away: whether sum_i y_i x_i of the training points is on the wrong side.
    """
    samples = outlier_samples(kind, n, d, sigma, seed, percent=percent, test_points=TEST_POINTS)
    where: Found = {"kind": kind, "n": n, "d": d, "sigma": sigma, "seed": seed, "percent": percent}
    where["away"] = sum_points_away(samples.train, seed)
    return where | both_losses(samples, count)


def real_run(data: str, tau: float, seed: int, count: int) -> Found:
    """One replication of Table 3, see `real_data.noisy_split`."""
    where: Found = {"data": data, "tau": tau, "seed": seed}
    return where | both_losses(noisy_split(data, tau, seed), count)


def flip_run(n: int, d: int, tau: float, replication: int, count: int) -> Found:
    """One replication of Table 4, see `separable.flip_samples`."""
    samples, seed = flip_samples(n, d, tau, replication, test_points=TEST_POINTS)
    where: Found = {"n": n, "d": d, "tau": tau, "seed": seed}
    return where | both_losses(samples, count)
