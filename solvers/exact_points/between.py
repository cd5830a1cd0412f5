"""Two points on the sides of a quadratic equation that no rational point near a given one meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.points.crossing import crossing_point, held_row
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.standard_form.standard_form import StandardForm

STEPS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)  # relative, outwards and inwards


def between(
    form: StandardForm, x: Array, near: Callable[[StandardForm, Array], FeasiblePoint | None]
) -> FeasiblePoint | None:
    """A point of a model with one quadratic equation, found between two others; None without one.

    Parameters
    ----------
    x : array (n,)
        Nearly feasible.
    near : callable
        An exactly feasible point of a model near a given one.
    """
    held = held_row(form)
    if held is None:
        return None
    rest = replace(form, quadratic=tuple(r for k, r in enumerate(form.quadratic) if k != held))
    body, moving = form.quadratic[held].body, ~form.integer
    slope = np.zeros(form.n)
    np.add.at(slope, body.index[body.i], 2 * body.v * x[body.index[body.j]])
    slope[body.index] += body.a
    slope = np.where(moving, slope, 0.0)
    size = float(np.abs(slope).max(initial=0.0))
    if size == 0:
        return None
    along = slope / size * float(np.abs(x[body.index]).max(initial=0.0))
    for step in STEPS:
        ends = [near(rest, x + sign * step * along) for sign in (-1.0, 1.0)]
        pairs = [(end.x, end.rational) for end in ends if end is not None and end.x is not None]
        if len(pairs) == 2:
            found = crossing_point(form, *pairs)
            if found is not None:
                return found
    return None
