"""Losses of a point over its margin u = y f(x): how they stand to the 0-1 loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.plots.style import BLACK, LARGE, LOOKS, axis_limits, explain, tidy
from tightmargin.formulations.conic.strengthening import conic_loss
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.multiclass.fisher_consistency import HINGE

Loss = Callable[[Array], ArrayLike]

STEPS = 801
OVER = (-3.0, 2.0)


def zero_one(penalty: float = 1.0) -> Loss:
    """Penalty for u < 1, and 0 from u = 1 on (Cepeda, Gomez & Han 2024, (3))."""
    return lambda u: np.where(np.asarray(u, dtype=float) < 1, penalty, 0.0)


def hinge(scale: float = 1.0) -> Loss:
    """scale max(0, 1 - u); penalty / M for a big-M model whose z has no upper limit."""
    return lambda u: scale * HINGE.value(u)


def truncated_hinge(s: float) -> Loss:
    """min(max(0, 1 - u), 1 - s): Lee 2020, sec. 4.1; s = -1 is Brooks' ramp loss."""
    return lambda u: HINGE.truncated(u, s)


def conic(gamma: float, penalty: float = 1.0) -> Loss:
    """Loss of Cepeda, Gomez & Han 2024, Proposition 1."""
    return lambda u: conic_loss(1 - np.asarray(u, dtype=float), gamma, penalty)


def draw_losses(
    axes: Any,
    losses: Mapping[str, Loss],
    *,
    over: tuple[float, float] = OVER,
    jumps: Mapping[str, float] | None = None,
    title: str = "",
) -> None:
    """Draw every loss over the margin u = y f(x), with marks on the lines for print in grey.

    Parameters
    ----------
    axes : matplotlib Axes
        Drawn upon.
    losses : mapping of name to callable
        (m,) -> (m,); this module has zero_one, hinge, truncated_hinge and conic.
    over : (float, float)
        Range of u.
    jumps : mapping of name to float, optional
        Where a loss jumps: drawn with a gap, a hollow end on the left and a filled one on the
        right, whose value is that of the loss there.
    title : str
        Above the axes.

    Raises
    ------
    ValueError
        No losses, more than there are looks, an empty range, a jump of a loss that is not there or
        outside the range, a loss that is not finite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> from tightmargin.experiments.plots.losses import hinge
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_losses(axes, {"hinge": hinge()})
    """
    jumps = dict(jumps or {})
    low, high = over
    if not 1 <= len(losses) <= len(LOOKS):
        raise ValueError(f"draw 1 to {len(LOOKS)} losses in one picture, got {len(losses)}")
    if not low < high:
        raise ValueError(f"over must be a range, got {over}")
    for name, jump in jumps.items():
        if name not in losses or not low < jump < high:
            raise ValueError(f"jumps names {name} at {jump}: no such loss, or outside {over}")
    heights = [0.0]
    for number, (name, loss) in enumerate(losses.items()):
        look, places = LOOKS[number], np.linspace(low, high, STEPS)
        values = np.asarray(loss(places), dtype=float)
        if values.shape != places.shape or not np.isfinite(values).all():
            raise ValueError(f"{name} must return {STEPS} finite numbers")
        heights += [float(values.min()), float(values.max())]
        style: dict[str, Any] = {"color": look.colour, "ls": look.line, "lw": 1.5}
        start, step = 25 + 17 * number, STEPS // 6
        if name in jumps:
            places, values = _with_gap(axes, loss, jumps[name], places, values, look.colour)
        axes.plot(
            places, values, marker=look.mark, ms=4, markevery=(start, step), label=name, **style
        )
    axes.axvline(1.0, color=BLACK, lw=0.6, ls=(0, (1, 2)), zorder=0)
    axes.axhline(0.0, color=BLACK, lw=0.6, zorder=0)
    axes.set_xlim(low, high)
    axes.set_ylim(axis_limits(heights))
    axes.set_xlabel("margin u = y f(x)")
    axes.set_ylabel("loss")
    tidy(axes)
    explain(axes)
    if title:
        axes.set_title(title, fontsize=LARGE, parse_math=False)


def _with_gap(
    axes: Any, loss: Loss, jump: float, places: Array, values: Array, colour: str
) -> tuple[Array, Array]:
    """Both sides of a jump with nan between them, and its ends drawn."""
    left, right = np.nextafter(jump, -np.inf), jump
    before, after = (float(np.asarray(loss(np.array([u])))[0]) for u in (left, right))
    axes.plot(left, before, "o", ms=5, mfc="white", mec=colour, zorder=4)
    axes.plot(right, after, "o", ms=5, color=colour, zorder=4)
    split = int(np.searchsorted(places, jump))
    return (
        np.concatenate([places[:split], [left, np.nan, right], places[split:]]),
        np.concatenate([values[:split], [before, np.nan, after], values[split:]]),
    )
