"""How far scikit-learn's default fits are from their optima, proven; writes FITTED_ESTIMATORS.md.

python -m benchmarks.fitted_estimators

Each estimator is fitted with its defaults (random_state=0), on the points as they come and on
standardised ones. What it did not reach is a property of the fit: the optimum of its own problem,
for its own C and alpha, lies at most so far below it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import tightmargin as tm
from benchmarks.measuring import ROOT
from benchmarks.report import machine
from tightmargin.experiments.estimators.proven_fit import percent

Points = tuple[np.ndarray, np.ndarray]
ESTIMATORS: tuple[Callable[[], Any], ...] = (
    lambda: SVC(random_state=0),
    lambda: SVC(kernel="linear", random_state=0),
    lambda: LinearSVC(random_state=0),
    lambda: LinearSVC(loss="hinge", random_state=0),
    lambda: SGDClassifier(random_state=0),
)
NAMES = ("SVC", "SVC, linear", "LinearSVC", "LinearSVC, hinge", "SGDClassifier")


def pair(load: Callable[..., Any], first: int, second: int) -> Points:
    """Two classes of a data set of scikit-learn."""
    X, y = load(return_X_y=True)
    chosen = (y == first) | (y == second)
    return X[chosen], y[chosen]


def loaded(spec: str) -> Points:
    """A public data set."""
    data = tm.load(spec)
    return data.X, data.y


DATA: dict[str, Callable[[], Points]] = {
    "iris, versicolor and virginica": lambda: pair(datasets.load_iris, 1, 2),
    "wine, 0 and 1": lambda: pair(datasets.load_wine, 0, 1),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits, 1 and 7": lambda: pair(datasets.load_digits, 1, 7),
    "digits, 3 and 8": lambda: pair(datasets.load_digits, 3, 8),
    "make_classification": lambda: datasets.make_classification(2000, 20, random_state=0),
    "make_moons, noise 0.3": lambda: datasets.make_moons(1000, noise=0.3, random_state=0),
    "ionosphere": lambda: loaded("uci:ionosphere"),
    "sonar": lambda: loaded("uci:sonar"),
    "German credit": lambda: loaded("uci:german_credit"),
}


@dataclass(frozen=True)
class Line:
    """A data set with what is proven of each estimator on it.

    Attributes
    ----------
    name : str
    n, d : int
    fits : tuple of ProvenFit
        In the order of ESTIMATORS.
    """

    name: str
    n: int
    d: int
    fits: tuple[tm.ProvenFit, ...]

    def cells(self) -> list[str]:
        """Of the table."""
        return [self.name, str(self.n), str(self.d), *map(said, self.fits)]


def said(fit: tm.ProvenFit) -> str:
    """The gap, or how many times the optimum; a star where it reached its limit of iterations."""
    times = fit.times_the_optimum.removesuffix(" the optimum")
    return (times or percent(fit.gap)) + (" *" if fit.stopped_early else "")


def line(name: str, X: np.ndarray, y: np.ndarray) -> Line:
    """All estimators on one data set."""
    fits = []
    for make in ESTIMATORS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator = make().fit(X, y)
        fits.append(tm.certify_fitted(estimator, X, y))
    return Line(name, len(X), X.shape[1], tuple(fits))


def table(lines: Iterable[Line]) -> str:
    """In Markdown."""
    head = ["data", "n", "d", *NAMES]
    rows = [head, ["---"] * len(head), *(each.cells() for each in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def text(raw: list[Line], standardised: list[Line]) -> str:
    """FITTED_ESTIMATORS.md."""
    fits = [fit for each in (*raw, *standardised) for fit in each.fits]
    slowest = max(fit.seconds for fit in fits)
    quiet = [fit for fit in fits if not fit.stopped_early and fit.gap > 0.1]
    return "\n\n".join([
        "# How far default fits are from optimal",
        "Written by `python -m benchmarks.fitted_estimators`. Every number is proven by "
        "`tm.certify_fitted`: the optimum of\nthe estimator's own problem is at most this share "
        "of its objective below it; or, where that is more than half,\nthe objective is at most so "
        "many times the optimum. Defaults of scikit-learn, random_state 0; a star marks a fit that"
        "\nreached its limit of iterations and says so in a warning. "
        f"{len(quiet)} of {len(fits)} fits may be more than 10 % away\nwithout a warning. The "
        f"slowest proof took {slowest:.2f} s.",
        "## Points as they come",
        table(raw),
        "## Standardised points",
        table(standardised),
        machine(),
    ]) + "\n"  # fmt: skip


def main() -> None:
    """Fit, certify and write the file."""
    raw, standardised = [], []
    for name, load in DATA.items():
        X, y = load()
        raw.append(line(name, X, y))
        standardised.append(line(name, StandardScaler().fit_transform(X), y))
        sys.stderr.write(f"{' | '.join(raw[-1].cells())}\n")
    written = text(raw, standardised)
    (ROOT / "benchmarks" / "FITTED_ESTIMATORS.md").write_text(written, encoding="utf-8")
    sys.stdout.write(written)


if __name__ == "__main__":
    main()
