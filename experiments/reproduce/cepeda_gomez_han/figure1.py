"""Figure 1: losses of the literature and the conic loss, its formula against its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.plots.losses import conic, draw_losses, hinge, zero_one
from tightmargin.experiments.plots.style import SMALL, new_figure
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import PAPER
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.formulations.conic.strengthening import conic_loss, hull_loss, least_indicator
from tightmargin.formulations.data.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "cepeda-gomez-han-figure1"
GAMMAS = (0.25, 1.0, 4.0)
PENALTIES = (1.0, 2.0)
OVER = (-3.0, 2.0)
MARGINS = np.linspace(*OVER, 501)
SHARES = np.linspace(0.0, 1.0, 2001)  # values of z
ROUNDING = 1e-12
KEYS = (Column("gamma", r"$\gamma$"), Column("lambda", r"$\lambda$"))
COLUMNS = (
    Column("above", "above", ".1e"), Column("attained", "attained", ".1e"),
    Column("proof", "as in the proof", ".3g"),
)  # fmt: skip
NOTES = (
    f"over {len(MARGINS)} margins u from {OVER[0]:g} to {OVER[1]:g}: 'above' is the least of "
    f"(lambda z + the terms of (9), (10)) minus Proposition 1 over {len(SHARES)} values of z; "
    "'attained' is how far that difference is from 0 at the printed z*",
    "'proof' is how far the value in the proof of Proposition 1, 2 sqrt(lambda gamma) (1 - u) - "
    "(1 - u)^2, is from the statement: the proof left out a gamma, the statement is right",
    "the paper draws the losses of the literature without formulas. Drawn here, each from 0 to 1: "
    "normalised sigmoid (1 - tanh u) / 2, psi-learning 1 - u cut off at 0 and 1, ramp (1 - u) / 2 "
    "cut off at 0 and 1. The values of gamma of its lower row are not in its text",
)


def sigmoid(u: ArrayLike) -> Array:
    """(1 - tanh u) / 2, Mason et al. 1999 divided by 2."""
    return (1 - np.tanh(np.asarray(u, dtype=float))) / 2


def psi(u: ArrayLike) -> Array:
    """1 for u <= 0, then 1 - u, and 0 from u = 1 on: Shen et al. 2003 divided by 2."""
    return np.clip(1 - np.asarray(u, dtype=float), 0.0, 1.0)


def ramp(u: ArrayLike) -> Array:
    """1 for u <= -1, then (1 - u) / 2, and 0 from u = 1 on: Brooks' divided by 2."""
    return np.clip((1 - np.asarray(u, dtype=float)) / 2, 0.0, 1.0)


@reproduction(
    NAME,
    "losses; the conic loss by its formula and by its definition",
    source=f"{PAPER}, Figure 1 and Proposition 1",
    quick="the same, which takes a second",
)
def run(effort: Effort) -> Report:
    """Proposition 1 on a grid, and what section 3.2 says of the picture."""
    effort.progress("losses on a grid")
    rows = tuple(_row(gamma, penalty) for gamma in GAMMAS for penalty in PENALTIES)
    table = Table(NAME, "Proposition 1 against the problem that it solves", KEYS, COLUMNS, rows)
    title = f"{PAPER}, Figure 1"
    claims = (_formula(rows), *_nearer())
    return Report(NAME, title, (table,), claims, NOTES, figure=losses_figure())


def _row(gamma: float, penalty: float) -> Row:
    v = 1 - MARGINS
    formula = conic_loss(v, gamma, penalty)
    tried = penalty * SHARES + hull_loss(v[:, None], SHARES, gamma)
    z = least_indicator(v, gamma, penalty)
    attained = penalty * z + hull_loss(v, z, gamma)
    rising = (v > 0) & (v <= np.sqrt(penalty / gamma))
    proof = 2 * np.sqrt(penalty * gamma) * v[rising] - v[rising] ** 2
    cells = {
        "above": Cell(float((tried - formula[:, None]).min())),
        "attained": Cell(float(np.abs(attained - formula).max())),
        "proof": Cell(float(np.abs(proof - formula[rising]).max())),
    }
    return Row((gamma, penalty), cells)


def _formula(rows: tuple[Row, ...]) -> PaperClaim:
    below = -min(0.0, *(row.cells["above"].ours for row in rows))
    apart = max(row.cells["attained"].ours for row in rows)
    return PaperClaim(
        f"Proposition 1 is the least value over z: no z of the grid goes below it by more than "
        f"{below:.1e}, and the printed z* attains it to {apart:.1e}",
        below <= ROUNDING and apart <= ROUNDING,
    )


def _nearer() -> tuple[PaperClaim, PaperClaim]:
    """Better approximations for gamma = lambda = 1 (section 3.2), of the loss 1 for u < 1."""
    exact = (MARGINS < 1).astype(float)
    ours = conic_loss(1 - MARGINS, 1.0, 1.0)
    behind = max(
        float((np.abs(ours - exact) - np.abs(other(MARGINS) - exact)).max())
        for other in (psi, ramp)
    )
    apart, smooth = (float(np.abs(one - exact).mean()) for one in (ours, sigmoid(MARGINS)))
    further = MARGINS[np.abs(ours - exact) > np.abs(sigmoid(MARGINS) - exact) + ROUNDING]
    return (
        PaperClaim(
            "for gamma = lambda = 1 the conic loss is nowhere further from the 0-1 loss (1 for u < "
            "1) than the ramp and psi losses",
            behind <= ROUNDING,
        ),
        PaperClaim(
            f"the mean distance to the 0-1 loss over {OVER[0]:g} <= u <= {OVER[1]:g} is "
            f"{apart:.3f} for the conic loss and {smooth:.3f} for the normalised sigmoid; only for "
            f"u from {further.min():.2f} to {further.max():.2f} is the sigmoid nearer",
            apart < smooth,
        ),
    )


def losses_figure() -> Figure:
    """The literature on the left, the conic loss for several gamma on the right."""
    figure = new_figure(height=3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    exact = {"0-1 loss": zero_one()}
    literature = {"hinge": hinge(), "normalised sigmoid": sigmoid, "psi-learning": psi}
    draw_losses(
        left, {**exact, **literature, "ramp": ramp}, over=OVER, jumps={"0-1 loss": 1.0},
        title="of the literature",
    )  # fmt: skip
    conics = {f"conic, gamma = {gamma:g}": conic(gamma) for gamma in GAMMAS}
    draw_losses(
        right, {**exact, **conics}, over=OVER, jumps={"0-1 loss": 1.0}, title="conic, lambda = 1"
    )
    left.set_ylim(-0.1, 2.0)
    # Above the line of 0, below that of the 0-1 loss.
    left.legend(loc="lower left", bbox_to_anchor=(0.0, 0.07), frameon=False, fontsize=SMALL)
    return figure
