"""The 0-1 problem of which a cover speaks.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

over the hyperplanes that meet side rows. A point pays where its margin is below 1; what is said of
its z is that it is kept, that it is paid for whatever happens, or that at most so many of some
points pay. So keeping one more point never hurts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from tightmargin.formulations.data.arrays import Index
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import EPS, SignedPoints, signed_points

ROUNDED = 8 * EPS  # of the sums of a node; norms are rounded down already


@dataclass(frozen=True, eq=False)
class PackingProblem:
    """Points, price and side rows.

    Attributes
    ----------
    data : TrainingData
    penalty : float
        What a point costs that is given up; above 0.
    intercept : str
        "penalised", "free" or "none".
    side : SideRows

    Raises
    ------
    ValueError
        Weighted points, or a price that is no positive number: they are counted one by one.
    """

    data: TrainingData
    penalty: float
    intercept: str
    side: SideRows

    def __post_init__(self) -> None:
        """Refuse what a packing does not bound."""
        if is_weighted(self.data) or not 0 < self.penalty < np.inf:
            raise ValueError("packings bound points of one positive price, each counted once")

    @cached_property
    def name(self) -> str:
        """The same for equal problems alone."""
        side = self.side
        found = sha256(repr((self.penalty, self.intercept, self.data.X.shape)).encode())
        for numbers in (
            self.data.X, self.data.y, side.weights, side.of_b, side.most, side.kept, side.paid,
            side.moved,
        ):  # fmt: skip
            found.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
        for points, most in side.counts:
            found.update(np.packbits(points).tobytes() + str(most).encode())
        return found.hexdigest()

    @property
    def rounded(self) -> float:
        """Share of a bound that rounding may have added to it.

        A model adds up what points that are paid for cost, one by one.
        """
        return ROUNDED + EPS * int(self.side.paid.sum())

    def coordinates(self, shift: float = 0.0) -> SignedPoints:
        """Rows of all points and side rows; a free intercept is searched near a shift."""
        return signed_points(self.data, intercept=self.intercept, side=self.side, shift=shift)

    def part(self, own: Index, many: int) -> PackingProblem:
        """Some of the points at so many times their price: all rows of w and b, and no counts."""
        side = self.side
        beside = replace(
            side, kept=side.kept[own], paid=side.paid[own], moved=side.moved[own], counts=(),
            constant=0.0,
        )  # fmt: skip
        some = TrainingData(self.data.X[own], self.data.y[own])
        return PackingProblem(some, many * self.penalty, self.intercept, beside)
