"""Cuts in numbers that every solver keeps: a largest coefficient of 1, none that is too small."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.errors import NumberError

SMALLEST, LARGEST = 1e-9, 1e15


def scaled_cut(
    kind: Kind,
    coefficients: Mapping[str, Array],
    rhs: float,
    origin: CutOrigin,
    reach: Mapping[str, Array] | None = None,
) -> Cut:
    """A cut scaled to a largest coefficient of 1.

    Parameters
    ----------
    reach : mapping, optional
        Largest |value| of each variable in the polytope: a coefficient that no solver would keep is
        then left out, and the right-hand side raised by the most it could contribute.

    Raises
    ------
    NumberError
        A number that is not finite or outside [1e-9, 1e15] after scaling.
    """
    largest = max(float(np.abs(part).max(initial=0.0)) for part in coefficients.values())
    if not (math.isfinite(largest) and largest > 0 and math.isfinite(rhs)):
        raise NumberError(f"a {kind} cut has the largest coefficient {largest} and the side {rhs}")
    parts, side = {}, rhs / largest
    for name, part in coefficients.items():
        numbers = np.array(part / largest)
        small = (np.abs(numbers) <= 2 * SMALLEST) & (numbers != 0)
        if small.any() and reach is not None:
            most = np.abs(numbers) * reach[name]
            side += float(most[small].sum())
            numbers[small] = 0.0
        parts[name] = numbers
    every = np.abs(np.concatenate([np.ravel(part) for part in parts.values()]))
    if (every[every != 0] < SMALLEST).any() or abs(side) > LARGEST:
        raise NumberError(
            f"a {kind} cut has numbers outside [{SMALLEST:g}, {LARGEST:g}] after scaling: "
            f"least coefficient {every[every != 0].min():.3g}, right-hand side {side:.3g}"
        )
    return Cut(kind, parts, side, origin)
