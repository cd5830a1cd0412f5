"""Class probabilities: along the feature or the score, and against how often label +1 occurs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.style import (
    BLUE,
    GREEN,
    GREY,
    LARGE,
    VERMILLION,
    folded,
    new_figure,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.probability.binary import ClassProbabilities, SignReading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (7.0, 7.0)  # inches
STEPS = 600  # places at which a curve over one feature is computed
BINS = 10  # of probabilities, equally wide
MIDDLE, BETWEEN = "estimate", "between the last + and the first -"

CURVE, POSITIVE, NEGATIVE, IDEAL = BLUE, VERMILLION, GREEN, GREY


def probability_figure(path: ClassProbabilities, title: str = "") -> Figure:
    """Two panels: the estimates, and their reliability on the training points.

    Above, p(x) with its interval: a curve where there is one feature only, else the training
    points over the decision value of the machine nearest to pi = 1/2. Below, for each tenth of p
    the share of label +1 among its training points, with one standard error and their number; on
    the diagonal the two agree.

    Parameters
    ----------
    path : ClassProbabilities
        What `tm.paths.class_probabilities` returned.
    title : str
        Above the picture.

    Raises
    ------
    ValueError
        The training data is not at hand.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.class_probabilities(data, ridge=0.1, grid=4)
    >>> len(tm.plots.probability_figure(path).axes)
    2
    """
    read, data = path.training_reading(), path.data
    assert data is not None
    figure = new_figure(*SIZE)
    upper, lower = figure.subplots(2, 1, height_ratios=(4, 3))
    if isinstance(data, TrainingData) and data.d == 1:
        _curve(upper, path, data)
    else:
        _points(upper, read, data)
    upper.set_ylabel("P(Y = 1 | x)")
    upper.set_ylim(-0.09, 1.09)
    upper.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    _reliability(lower, read.probabilities, data.y)
    for axes in (upper, lower):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    if title:
        upper.set_title(folded(title, SIZE[0], LARGE), pad=28, fontsize=LARGE, parse_math=False)
    return figure


def _curve(axes: Any, path: ClassProbabilities, data: TrainingData) -> None:
    """p(x) over the only feature; the training points stand above and below it."""
    x = data.X[:, 0]
    places = np.linspace(x.min(), x.max(), STEPS)
    read = path.reading(places[:, None])
    low, high = np.sort(read.intervals, axis=1).T
    axes.fill_between(places, low, high, step="mid", color=CURVE, alpha=0.2, lw=0, label=BETWEEN)
    axes.step(places, read.probabilities, where="mid", color=CURVE, lw=1.2, label=MIDDLE)
    for sign, colour, at in ((1, POSITIVE, 1.04), (-1, NEGATIVE, -0.04)):
        given = x[data.y == sign]
        axes.plot(
            given, np.full(len(given), at), "|", color=colour, ms=6, mew=0.5,
            label=f"label {sign:+d}",
        )  # fmt: skip
    axes.set_xlabel("feature")


def _points(axes: Any, read: SignReading, data: TrainingData | GramData) -> None:
    """The training points over the decision value nearest to pi = 1/2."""
    nearest = int(np.argmin(np.abs(read.pis - 0.5)))
    scores, (low, high) = read.values[:, nearest], np.sort(read.intervals, axis=1).T
    axes.vlines(scores, low, high, color=CURVE, alpha=0.2, lw=1, label=BETWEEN)
    for sign, colour, mark in ((1, POSITIVE, "o"), (-1, NEGATIVE, "x")):
        chosen = data.y == sign
        axes.plot(
            scores[chosen], read.probabilities[chosen], mark, color=colour, ms=3, mew=0.7,
            label=f"label {sign:+d}",
        )  # fmt: skip
    axes.set_xlabel(f"decision value of the machine at pi = {read.pis[nearest]:.4g}")


def _reliability(axes: Any, probabilities: Any, y: Any) -> None:
    edges = np.linspace(0, 1, BINS + 1)
    place = np.clip(np.digitize(probabilities, edges) - 1, 0, BINS - 1)
    axes.plot([0, 1], [0, 1], color=IDEAL, ls="--", lw=1)
    for tenth in np.unique(place).tolist():
        inside = place == tenth
        share, count = float((y[inside] > 0).mean()), int(inside.sum())
        spread = np.sqrt(share * (1 - share) / count)
        at = float(probabilities[inside].mean())
        axes.errorbar(at, share, yerr=spread, color=CURVE, fmt="o", ms=3, lw=1, capsize=2)
        axes.annotate(
            str(count), (at, share), textcoords="offset points", xytext=(7, -9), fontsize=8
        )
    axes.set_xlabel("estimate of P(Y = 1 | x), mean of each tenth")
    axes.set_ylabel("share of label +1 (± 1 s.e.)")
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.12, 1.12)


def save_probabilities(path: ClassProbabilities, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    path : ClassProbabilities
        What `tm.paths.class_probabilities` returned.
    file : str or path
        Of the picture: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.class_probabilities(data, ridge=0.1, grid=4)
    >>> tm.plots.save_probabilities(path, "probabilities.svg")
    """
    probability_figure(path, title).savefig(file)
