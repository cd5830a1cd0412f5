"""The problems whose two ends are proven: hinge, squared hinge and nu machines with prices.

    hinge           scale min [ lam/2 norm + sum_i s_i max(0, 1 - y_i f(x_i)) ]
    squared hinge   scale min [ lam/2 norm + sum_i s_i max(0, 1 - y_i f(x_i))^2 ]
    nu              scale min [ 1/2 norm - N rho + sum_i s_i max(0, rho - y_i f(x_i)) ],  rho >= 0

with f(x) = <w, phi(x)> + b and norm = ||w||^2, plus (b / column)^2 where the intercept is penalised
as the weight of a constant column. Their duals, for multipliers 0 <= a_i <= s_i (no upper limit in
the second) and v = sum_i a_i y_i phi(x_i) with the constant column in it, are

    hinge           scale [ sum_i a_i - ||v||^2 / (2 lam) ]
    squared hinge   scale [ sum_i a_i - ||v||^2 / (2 lam) - sum_i a_i^2 / (4 s_i) ]
    nu              scale [ - ||v||^2 / 2 ]   with sum_i a_i >= N

and sum_i y_i a_i = 0 where the intercept is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.hinge_duality.kernel_values import KernelValues
from tightmargin.solvers.hinge_duality.point_rows import PointRows

HINGE, SQUARED, NU = "hinge", "squared_hinge", "nu"


@dataclass(frozen=True, eq=False)
class PricedProblem:
    """One of the problems above, its doubles taken as the exact numbers that they are.

    Attributes
    ----------
    points : PointRows or KernelValues
        Where the points are; proofs speak of these and no others.
    y : array (n,)
        Labels, -1 or +1.
    prices : array (n,)
        s_i >= 0, finite.
    loss : str
        "hinge", "squared_hinge" or "nu".
    intercept : "free", "penalised" or "none"
    ridge, scale : Fraction
        lam and scale, above 0.
    column : float
        Entry of the constant column of a penalised intercept.
    total : Fraction
        N, of nu alone.

    Raises
    ------
    ValueError
        A price that is no number of at least 0, as of costs times weights beyond doubles.
    """

    points: PointRows | KernelValues
    y: Array
    prices: Array
    loss: str
    intercept: str
    ridge: Fraction = Fraction(1)
    scale: Fraction = Fraction(1)
    column: float = 1.0
    total: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse what would make the problem another one."""
        bad = np.flatnonzero(~(np.isfinite(self.prices) & (self.prices >= 0)))
        if bad.size:
            raise ValueError(
                f"point {bad[0]} costs {self.prices[bad[0]]}: its cost times its weights must be "
                "finite and at least 0"
            )

    @property
    def caps(self) -> Array:
        """Upper limits (n,) of the multipliers; infinite ones of the squared hinge."""
        if self.loss == SQUARED:
            return np.where(self.prices > 0, np.inf, 0.0)
        return self.prices
