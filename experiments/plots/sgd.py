"""Stochastic gradient descent against the proven optimum: how fast its averaged iterate comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.style import (
    BLUE,
    GREEN,
    NORMAL,
    SKY,
    SMALL,
    VERMILLION,
    folded,
    new_figure,
    tidy,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.svc.soft_margin import kernel_soft_margin_svc, soft_margin_svc
from tightmargin.solvers.hinge.sgd import Sgd, sgd, sgd_rate
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZE = (7.0, 5.0)  # inches
CLOSELY = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


@dataclass(frozen=True, eq=False)
class SgdStudy:
    """Runs with several seeds, and the optimum they are measured against.

    optimum: certified, of soft_margin_svc (of kernel_soft_margin_svc on a kernel matrix) without an
        intercept. Objectives are measured from its proven bound, so that no gap is too small.
    runs, tuple of Sgd.
    steps (k,): of the traces.
    gaps (runs, k): objective of the averaged iterate minus the proven bound.
    proven_gaps (runs, k): the same minus each run's own bound, which is all that a run knows.
    rates (k,): what theory promises for the mean of the gaps.
    """

    optimum: SolveResult
    runs: tuple[Sgd, ...]
    steps: Array
    gaps: Array
    proven_gaps: Array
    rates: Array


def sgd_study(
    data: TrainingData | GramData, *, ridge: float, steps: int, seeds: Sequence[int]
) -> SgdStudy:
    """Run stochastic gradient descent with each seed.

    Raises ValueError: bad ridge, steps or seeds, or an optimum that is not proven.
    """
    if not len(seeds):
        raise ValueError("seeds must hold at least one seed")
    if isinstance(data, GramData):
        model = kernel_soft_margin_svc(data, ridge=ridge, intercept="none")
    else:
        model = soft_margin_svc(data, ridge=ridge, intercept="none")
    optimum = solve(model, "clarabel", options=CLOSELY)
    if not optimum.certificate.verdict.closed or optimum.bound is None:
        raise ValueError(f"the optimum is not proven: {optimum.certificate.reason}")
    runs = tuple(sgd(data, ridge=ridge, steps=steps, seed=seed) for seed in seeds)
    marks = [[point.steps for point in run.trace] for run in runs]
    if any(mark != marks[0] for mark in marks):
        raise KeyboardInterrupt  # one of the runs was stopped
    return SgdStudy(
        optimum,
        runs,
        np.array(marks[0], dtype=float),
        np.array([[p.objective - optimum.bound for p in run.trace] for run in runs]),
        np.array([[p.objective - p.bound for p in run.trace] for run in runs]),
        np.array([sgd_rate(data, ridge=ridge, steps=mark) for mark in marks[0]]),
    )


def sgd_figure(study: SgdStudy, title: str = "") -> Figure:
    """The gap of every run and their mean over the steps, both logarithmic.

    The dashed line is the rate of theory for the mean; the dotted one is what a run can prove by
    itself. The title says how well the optimum is known.

    Parameters
    ----------
    study : SgdStudy
        Several runs of one problem, see `sgd_study`.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> from tightmargin.experiments.plots.sgd import sgd_study
    >>> study = sgd_study(data, ridge=0.1, steps=200, seeds=range(2))
    >>> figure = tm.plots.sgd_figure(study)
    """
    figure = new_figure(*SIZE)
    axes = figure.subplots()
    draw_sgd(axes, study.steps, study.gaps, study.proven_gaps, study.rates)
    assert study.optimum.absolute_gap is not None
    words = (
        f"optimum {study.optimum.objective:.6g}, proven to {abs(study.optimum.absolute_gap):.0e}"
    )
    said = folded(f"{title}\n{words}" if title else words, SIZE[0], NORMAL + 1)
    axes.set_title(said, loc="left", fontsize=NORMAL + 1, parse_math=False)
    axes.legend(frameon=False)
    return figure


def draw_sgd(axes: Any, steps: Array, gaps: Array, proven_gaps: Array, rates: Array) -> None:
    """Draw the gap of every run and their mean, the rate, and what the runs prove themselves.

    axes: drawn upon, both axes logarithmic.
    steps, rates (k,).
    gaps, proven_gaps (runs, k): to the proven optimum; to each run's own bound.
    """
    for k, gap in enumerate(gaps):
        axes.plot(steps, gap, color=SKY, lw=0.8, label=f"{len(gaps)} runs" if k == 0 else None)
    axes.plot(steps, gaps.mean(axis=0), color=BLUE, lw=2, label="their mean")
    axes.plot(steps, rates, color=VERMILLION, ls="--", label="rate proven for the mean")
    axes.plot(
        steps, proven_gaps.mean(axis=0), color=GREEN, ls=":", lw=1.8, label="gap a run proves, mean"
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("steps T")
    axes.set_ylabel("objective of the averaged iterate less the optimum")
    tidy(axes, SMALL + 1)


def save_sgd(study: SgdStudy, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    study : SgdStudy
        Several runs of one problem, see `sgd_study`.
    file : str or path
        Of the picture: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> from tightmargin.experiments.plots.sgd import sgd_study
    >>> study = sgd_study(data, ridge=0.1, steps=200, seeds=range(2))
    >>> tm.plots.save_sgd(study, "gaps.svg")
    """
    sgd_figure(study, title).savefig(file)
