"""Combinatorial Benders cuts of the 0-1 loss, each proven in exact arithmetic.

The problem over z in {0, 1}^n and t, with rows and an objective of anybody's:

    there is a hyperplane (w, b) with norm2 <= t and u_i >= 1 wherever z_i = 0,

u_i = y_i (<w, x_i> + b) and norm2 the squared norm of w, or of (w, b) where b is penalised. Let
rho(S) be the least norm2 of a hyperplane that keeps all of S. Then

    t >= rho(S) (1 - sum_S z_i),        sum_S z_i >= 1  where nothing keeps S,

hold at every point of it: a point that violates one of S makes the right side 0 or less (Codato &
Fischetti, Operations Research 54, 2006; with a price on the norm as in Santana et al., Journal of
Global Optimization 2025). S is what supports the machine of the points that are kept, so that a
few points say as much as all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import InvalidCutError
from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.zero_one.conflicts import hard_margin_weights, proven_norm
from tightmargin.printing import Page, Readable
from tightmargin.solvers.exact import rounded_up, solve_exactly
from tightmargin.solvers.model.reader import StandardForm

PLENTY = 1e8  # of a squared norm times that of the longest point


@unweighted
def combinatorial_benders(
    data: TrainingData, z: Any, norm2: Any, *, intercept: str
) -> CombinatorialBenders:
    """The separator of a master problem over z and the norm, for `separate`.

    Parameters
    ----------
    data : TrainingData
        n points; without weights.
    z : Pyomo variable
        n elements, binary: 1 where a point need not be kept.
    norm2 : Pyomo variable
        What the squared norm is held below.
    intercept : "free", "penalised" or "none"
        As in zero_one_big_m.

    Raises
    ------
    ValueError
        z has other than n elements, or no binary ones; weights; an unknown intercept.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=10, d=2, sigma=0.5, seed=1)
    >>> master = pyo.ConcreteModel()
    >>> master.z = pyo.Var(range(data.n), domain=pyo.Binary)
    >>> master.norm2 = pyo.Var(bounds=(0, None))
    >>> master.objective = pyo.Objective(expr=master.norm2 + sum(master.z.values()))
    >>> cuts = tm.cuts.combinatorial_benders(data, master.z, master.norm2, intercept="free")
    >>> tm.separate(master, cuts).certificate.verdict.value
    'CERTIFIED'
    """
    one_of("intercept", intercept, INTERCEPTS)
    if getattr(z, "ctype", None) is not pyo.Var or len(z) != data.n:
        raise ValueError(f"z must be a variable with {data.n} elements, one for each point")
    other = next((v.name for v in z.values() if not v.is_binary()), None)
    if other is not None:
        raise ValueError(f"z must be binary, and {other} is not")
    if getattr(norm2, "ctype", None) is not pyo.Var or norm2.is_indexed():
        raise ValueError("norm2 must be a single variable, which the squared norm is held below")
    return CombinatorialBenders(data, z, norm2, intercept)


@dataclass(frozen=True, eq=False)
class _Cost:
    """Some points, multipliers of their machine, and the norm that these prove."""

    points: Index
    alpha: Array
    rho: float


class CombinatorialBenders(Readable):
    """What `combinatorial_benders` makes: a function of a point, and what it proves."""

    name = "combinatorial_benders"
    problem = "the 0-1 loss: a hyperplane of squared norm <= t keeps every point with z = 0"

    def __init__(self, data: TrainingData, z: Any, norm2: Any, intercept: str) -> None:
        self._data, self._z, self._norm2, self._intercept = data, z, norm2, intercept

    def _page(self) -> Page:
        facts = [("points", str(self._data.n)), ("intercept", self._intercept)]
        return Page(f"Separator {self.name}", facts)

    def __call__(self, point: Any) -> list[ProvenRow]:
        """The row of the points that are kept at a point, if it misses that; else none."""
        z, level = np.asarray(point[self._z]), float(point[self._norm2])
        cost = self._cost(np.flatnonzero(z < 0.5))
        if cost is None:
            return []
        given = np.array(list(self._z.values()), dtype=object)[cost.points]
        missing, share = pyo.quicksum(given.tolist()), 1 - float(z[cost.points].sum())
        if cost.rho == math.inf:
            return [ProvenRow(missing >= 1, lambda: self._verify(cost))]
        # Large numbers are left to where nothing less would do.
        least = min(cost.rho, self._plenty)
        stated = replace(cost, rho=least if level < least * share else cost.rho)
        if level >= stated.rho * share:
            return []
        relation = self._norm2 >= stated.rho * (1 - missing)
        return [ProvenRow(relation, lambda: self._verify(stated))]

    @property
    def _plenty(self) -> float:
        """A norm beyond which numbers in rows only get large."""
        return PLENTY / float((self._data.X**2).sum(axis=1).max(initial=1e-300))

    def _cost(self, kept: Index) -> _Cost | None:
        """What keeping some points costs at least; None where that may be nothing."""
        if not len(kept):
            return None
        alpha = hard_margin_weights(self._data, kept.tolist(), self._intercept)
        points, alpha = kept[alpha > 0], alpha[alpha > 0]
        rho = proven_norm(self._data, points.tolist(), alpha, self._intercept)
        if not rho > 0:
            return None
        if rho > self._plenty and self._never_kept(points):
            rho = math.inf
        return _Cost(points, alpha, rho)

    def _never_kept(self, points: Index) -> bool:
        """Whether alpha > 0 with sum alpha_i y_i (x_i, 1) = 0 are found in rational numbers."""
        mode = "none" if self._intercept == "none" else "penalised"
        signed = self._data.y[points, None] * augmented(self._data, mode)[points]
        if len(points) < 2 or len(points) - 1 > signed.shape[1]:
            return False
        system, right = [], []
        for entries in signed.T.tolist():
            numbers = [Fraction(number) for number in entries]
            common = math.lcm(*(number.denominator for number in numbers))
            whole = [int(number * common) for number in numbers]
            system.append(whole[:-1])
            right.append(Fraction(-whole[-1]))
        alpha = solve_exactly(system, right)
        return alpha is not None and min(alpha) > 0

    def _verify(self, cost: _Cost) -> None:
        """Prove what keeping the points costs again, from the multipliers.

        Raises InvalidCutError: it is less than what the row says.
        """
        proven = proven_norm(self._data, cost.points.tolist(), cost.alpha, self._intercept)
        if proven < cost.rho and self._never_kept(cost.points):
            proven = math.inf
        if not proven >= cost.rho:
            raise InvalidCutError(
                f"{self.name}: keeping the points {cost.points.tolist()} is proven to cost "
                f"{proven!r}, and the row says {cost.rho!r}"
            )

    # --- what it proves of a point ----------------------------------------------------------------

    def refusal(self, form: StandardForm) -> str:
        """Why its rows need not hold: z that is not binary in the model as it was read."""
        at, _ = form.columns.of(self._z)
        free = at[at >= 0]
        binary = form.integer[free] & (form.lower[free] >= 0) & (form.upper[free] <= 1)
        return "" if binary.all() else "z is not binary in the model"

    def completed(self, form: StandardForm, x: Array) -> Array | None:
        """The point with t lowered to the norm of a hyperplane that keeps what z says.

        Kept points are kept, and the norm is at most t, in rational numbers.
        """
        at, held = form.columns.of(self._z)
        z = np.where(at >= 0, x[at], held)
        if (np.abs(z - np.round(z)) > 0).any():
            return None
        norm2 = self._norm_of_hyperplane(np.flatnonzero(z == 0))
        (place,), (given,) = form.columns.of(self._norm2)
        if norm2 is None:
            return None
        if place < 0:
            return x if Fraction(float(given)) >= norm2 else None
        point = x.copy()
        point[place] = max(rounded_up(norm2), float(form.lower[place]))
        return point

    def _norm_of_hyperplane(self, kept: Index) -> Fraction | None:
        """Squared norm of a hyperplane that keeps some points exactly; None without one."""
        data = self._data
        labels = data.y[kept]
        if not len(kept) or (self._intercept == "free" and len(np.unique(labels)) == 1):
            return Fraction(0)
        alpha = hard_margin_weights(data, kept.tolist(), self._intercept)
        mode = "penalised" if self._intercept == "penalised" else "none"
        points = augmented(data, mode)[kept]
        if self._intercept == "free":
            first = labels > 0
            if not (alpha[first].any() and alpha[~first].any()):
                return None
            alpha = np.where(first, alpha / alpha[first].sum(), alpha / alpha[~first].sum())
        direction = (alpha * labels) @ points
        rows = [[Fraction(number) for number in row] for row in points.tolist()]
        w = [Fraction(number) for number in direction.tolist()]
        scores = [sum(map(Fraction.__mul__, row, w), Fraction(0)) for row in rows]
        if self._intercept == "free":
            above = min(s for s, y in zip(scores, labels, strict=True) if y > 0)
            below = max(s for s, y in zip(scores, labels, strict=True) if y < 0)
            margin = (above - below) / 2
        else:
            margin = min(s * int(y) for s, y in zip(scores, labels, strict=True))
        if margin <= 0:
            return None
        return sum((part * part for part in w), Fraction(0)) / (margin * margin)
