"""One nu of Algorithm 11: the machine at a weight, with its bounds and what the papers report."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.nu_path.family import NuFamily
from tightmargin.cuts.nu_path.multipliers import recover_multipliers
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import best_levels, support_value
from tightmargin.solvers.proofs.verdict import Verdict


@dataclass(frozen=True, eq=False)
class PathRow:
    """The extended nu-SVC at one nu.

    Attributes
    ----------
    nu : float
    objective, cvar : float
        Phi at the weight, by sorting, and Phi / nu.
    bound : float
        Proven.
    claimed_bound : float or None
        An engine's or solver's, where it proves none.
    verdict : Verdict
    how : str
        "ball" above nu_bar, "boundary" at it, "search", or "chord" where no search was needed.
    stop : str
        The engine's word, or the solver's status.
    side : int
        1 above nu_bar (convex), 0 at it, -1 below.
    constant : bool
        Whether nu lies in the zone where the CVaR is constant.
    w : array (d,)
        Of norm 1 (with b, where b is penalised).
    b, rho : float
    norm_multiplier : float
        lambda of Perez-Cruz et al.: minus half the objective in their scale.
    alpha : array (n,)
        Multipliers of the margin rows in their scale, in [0, n c_i] and with sum n nu.
    stationarity : float
        Residual of lambda w = sum_i alpha_i y_i x_i, see recover_multipliers.
    support_share, margin_error_share : float
        Number of points with alpha > 0 over n; mass of the points beyond rho.
    errors : int
        Training points on the wrong side or on the hyperplane.
    seconds : float
    """

    nu: float
    objective: float
    cvar: float
    bound: float
    claimed_bound: float | None
    verdict: Verdict
    how: str
    stop: str
    side: int
    constant: bool
    w: Array
    b: float
    rho: float
    norm_multiplier: float
    alpha: Array
    stationarity: float
    support_share: float
    margin_error_share: float
    errors: int
    seconds: float

    @property
    def gap(self) -> float:
        """objective - bound, at least 0."""
        return max(0.0, self.objective - self.bound)

    @property
    def anchor(self) -> tuple[float, float]:
        """(nu, bound), what chords join."""
        return self.nu, self.bound

    def unit_weight(self, intercept: str) -> Array:
        """The weight (k,) of norm 1: w, or (w, b) with a penalised intercept."""
        return np.append(self.w, self.b) if intercept == "penalised" else self.w


def path_row(
    family: NuFamily,
    nu: float,
    weight: Array,
    *,
    lower: float,
    claimed: float | None,
    verdict: Verdict,
    how: str,
    stop: str,
    seconds: float = 0.0,
) -> PathRow:
    """The row of a weight (k,) of norm 1 at nu, with the bounds that are known there."""
    data = family.data
    hulls = family.hulls(nu)
    value = support_value(hulls, weight)
    b, rho, xi = best_levels(hulls, weight)
    w = weight[: data.d]
    if family.intercept == "penalised":
        b = float(weight[-1])
    scores = data.y * (data.X @ w + b)
    dual, n = recover_multipliers(hulls, weight), data.n
    slack = 1e-9 * max(1.0, float(np.abs(scores).max()))
    return PathRow(
        nu=nu,
        objective=value,
        cvar=value / nu,
        bound=lower,
        claimed_bound=claimed,
        verdict=verdict,
        how=how,
        stop=stop,
        side=family.range.side(nu),
        constant=nu <= family.range.constant_until * (1 + 1e-12),
        w=w,
        b=b,
        rho=rho,
        norm_multiplier=-n * value / math.sqrt(2),
        alpha=n * dual.multipliers,
        stationarity=dual.residual,
        support_share=float(dual.support.mean()),
        margin_error_share=float(family.caps[xi > slack].sum()),
        errors=int((scores <= 0).sum()),
        seconds=seconds,
    )
