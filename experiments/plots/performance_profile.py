"""Performance profiles: on what share of the problems a solver is within a factor of the best.

Dolan & More 2002, Benchmarking optimization software with performance profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.gap_study.comparing import Agreement
from tightmargin.experiments.plots.style import (
    LARGE,
    LOOKS,
    explain,
    folded,
    new_figure,
    plain_logarithm,
    tidy,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status

WIDTH = 5.0  # inches
ROOM = 1.15  # times the largest ratio: where the axis ends
LEAST = 2.0  # factor that the axis shows at least
EDGE = 0.02  # of the length of the axis: how far it reaches to the left of 1
MARKED = 8  # marks on a line, about


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Printed):
    """The step function rho_s(tau) of one solver.

    Attributes
    ----------
    ratios : array (k,)
        Of the problems it solved, its cost over the least cost of any solver, rising.
    shares : array (k,)
        Share of all problems whose ratio is at most that.
    problems : int
        All of them; those that nobody solved count.

    Examples
    --------
    >>> import tightmargin as tm
    >>> costs = {"one": [1.0, 2.0, None], "other": [2.0, 1.0, 3.0]}  # None: not solved
    >>> tm.plots.performance_profile(costs)["one"].shares.round(2).tolist()
    [0.33, 0.67]
    """

    ratios: Array
    shares: Array
    problems: int

    def at(self, tau: float) -> float:
        """rho_s(tau): share of the problems solved within tau times the least cost."""
        return float(np.sum(self.ratios <= tau)) / self.problems


def performance_profile(
    costs: Mapping[str, Sequence[float | None] | ArrayLike],
) -> dict[str, Profile]:
    r"""Profile of every solver, or of every formulation.

    With t_ps the cost of solver s on problem p,

        r_ps = t_ps / min over s of t_ps,    rho_s(tau) = |{p : r_ps <= tau}| / |P|.

    A problem that a solver did not solve has r_ps = inf, and one that no solver solved is in |P|.

    Parameters
    ----------
    costs : mapping of name to a sequence (p,)
        Seconds, nodes or the like, the same problems in the same order; None, nan or inf where
        the problem was not solved (within its limit).

    Raises
    ------
    ValueError
        No solver, no problem, sequences of several lengths, a cost of 0 or below: nothing can be
        relative to it.

    Examples
    --------
    >>> import tightmargin as tm
    >>> costs = {"one": [1.0, 2.0, None], "other": [2.0, 1.0, 3.0]}  # None: not solved
    >>> tm.plots.performance_profile(costs)["one"].ratios.tolist()
    [1.0, 2.0]
    """
    if not costs:
        raise ValueError("costs must name at least one solver")
    table = {name: _costs(name, given) for name, given in costs.items()}
    sizes = {len(row) for row in table.values()}
    if sizes == {0} or len(sizes) > 1:
        raise ValueError(f"costs must hold as many problems for each solver, got {sorted(sizes)}")
    least = np.min(list(table.values()), axis=0)
    solved = np.isfinite(least)
    found = {}
    for name, row in table.items():
        ratios = np.sort(row[solved] / least[solved])
        ratios = ratios[np.isfinite(ratios)]
        shares = np.searchsorted(ratios, ratios, side="right") / len(row)
        found[name] = Profile(ratios, shares, len(row))
    return found


def times_of(agreement: Agreement) -> dict[str, list[float | None]]:
    """Seconds of each solver of a comparison on each of its models, for performance_profile.

    None where it refused the model or failed, was stopped, was not certified or claims no optimum,
    or disagrees with the best proven value.
    """
    rows = agreement.rows
    models = [found[0].model for found in agreement.models()]
    solved = {
        (row.solver, id(row.model)): row.result.seconds
        for row in rows
        if row.result is not None
        and row.result.status is Status.OPTIMAL
        and row.result.certificate.verdict is not Verdict.NOT_CERTIFIED
        and agreement.agrees(row) is not False
    }
    return {
        name: [solved.get((name, id(model))) for model in models]
        for name in dict.fromkeys(row.solver for row in rows)
    }


def save_solver_profile(agreement: Agreement, path: str | Path, title: str = "") -> None:
    """Write the profile of the solvers of a comparison; the suffix says how.

    Parameters
    ----------
    agreement : Agreement
        What `tm.compare` of several solvers returned.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Raises
    ------
    ValueError
        No model was solved.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> both = ["clarabel", "highs"]
    >>> agreement = tm.compare(data, ["c_svc"], parameters={"C": 1.0}, solvers=both)
    >>> tm.plots.save_solver_profile(agreement, "profile.svg")
    """
    costs = times_of(agreement)
    if not any(cost is not None for row in costs.values() for cost in row):
        raise ValueError("no solver has solved a model: there is no profile to draw")
    figure = new_figure(WIDTH, 3.4)
    draw_profile(figure.subplots(), performance_profile(costs), title=folded(title, WIDTH, LARGE))
    figure.savefig(path)


def draw_profile(
    axes: Any, profiles: Mapping[str, Profile], *, cost: str = "time", title: str = ""
) -> None:
    """Draw the step functions over a logarithmic factor tau, from 1 to beyond the largest ratio.

    The height at 1 is the share on which a solver is the fastest, the height on the right the
    share it solved at all.

    Parameters
    ----------
    axes : matplotlib Axes
        Drawn upon.
    profiles : mapping of name to Profile
        What `performance_profile` returned.
    cost : str
        What is counted, for the axis.
    title : str
        Above the axes.

    Raises
    ------
    ValueError
        No profiles, or more than there are looks.

    Examples
    --------
    >>> import tightmargin as tm
    >>> costs = {"one": [1.0, 2.0, None], "other": [2.0, 1.0, 3.0]}  # None: not solved
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_profile(axes, tm.plots.performance_profile(costs))
    """
    if not 1 <= len(profiles) <= len(LOOKS):
        raise ValueError(f"draw 1 to {len(LOOKS)} profiles in one picture, got {len(profiles)}")
    largest = max((p.ratios[-1] for p in profiles.values() if len(p.ratios)), default=1.0)
    end = ROOM * max(LEAST, float(largest))
    for look, (name, profile) in zip(LOOKS, profiles.items(), strict=False):
        at_one = profile.at(1.0)
        beyond = profile.ratios > 1
        last = float(profile.shares[-1]) if len(profile.shares) else 0.0
        taus = np.concatenate([[1.0], profile.ratios[beyond], [end]])
        shares = np.concatenate([[at_one], profile.shares[beyond], [last]])
        axes.plot(
            taus, shares, drawstyle="steps-post", color=look.colour, ls=look.line, lw=1.5,
            marker=look.mark, ms=4, label=name,
            markevery=range(0, len(taus) - 1, max(1, len(taus) // MARKED)),
        )  # fmt: skip
    axes.set_xlim(end**-EDGE, end)
    plain_logarithm(axes.xaxis)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(f"factor tau of the least {cost}")
    axes.set_ylabel("share of the problems solved")
    tidy(axes)
    explain(axes, loc="lower right")
    if title:
        axes.set_title(title, fontsize=LARGE, parse_math=False)


def _costs(name: str, given: Any) -> Array:
    row = np.array([np.inf if cost is None else float(cost) for cost in given], dtype=float)
    row[np.isnan(row)] = np.inf
    if (row <= 0).any():
        raise ValueError(f"costs of {name} must be above 0")
    return row
