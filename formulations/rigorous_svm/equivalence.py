"""What a solution of the rigorous SVM is a solution of besides: C, nu, D, rho and the ridge.

Bi & Vapnik 2003, Table 1 and Propositions 2 to 4. With alpha in [0, 1]^n optimal for (12) at H and
S = ||F'(y o alpha)||^2 all of these have hyperplanes of one direction:

    c_svc              C = 1 / gamma = H / sqrt(S)       the same w
    nu_svc             nu = sum alpha / n                rho w,  rho = gamma / n
    reduced_hull_svc   D = 2 / sum alpha                 2 gamma w / sum alpha
    soft_margin_svc    ridge = 1 / (2 n C) = gamma / (2 n)   the same w

Proposition 2 prints C = sqrt(S) / H, which is gamma; Table 1 has it right.

The way back is in inverse_maps.py.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.common.intercept_recovery import hinge_intercept_interval
from tightmargin.formulations.common.multipliers import balanced_alpha
from tightmargin.formulations.common.nu_property import ON_CAP
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.nu.nu_svc import nu_max
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.rigorous_svm.checks import NO_NAME
from tightmargin.printing import Printed

OUTSIDE = 1e-6  # of the box: multipliers this far beyond it are those of another problem
FREE = (
    "gamma = 0: norm_bound is at or above the largest that matters, so that C is infinite and "
    "names no other machine; the shortest hyperplane of least loss is that of c_svc at every "
    "large C, a longer one that of none"
)
FLAT = (
    "nu, D and the direction of w are the same at every norm_bound from {:.6g} to {:.6g}: only C "
    "and the ridge tell them apart"
)
FLAT_WIDTH = 1e-6  # of the norm bound: a stretch that multipliers leave by rounding is none


@dataclass(frozen=True, repr=False)
class Equivalence(Printed):
    """Parameters of the other machines with the direction of w that the rigorous SVM has at H.

    Attributes
    ----------
    norm_bound : float
        H.
    gamma : float
        Multiplier of half the norm row ||w||^2 <= H^2, sqrt(S) / H; 0 where H is at or above the
        largest that matters. Where the w of c_svc stands still while C grows, all these C have one
        H, and gamma is that of the alpha given.
    C : float
        Of c_svc, 1 / gamma; infinite where gamma is 0.
    hull_bound : float
        D of reduced_hull_svc, 2 / sum alpha; infinite where alpha is 0.
    nu : float
        Of nu_svc, sum alpha / n.
    rho : float
        Level of nu_svc at that nu, gamma / n.
    ridge : float
        Of soft_margin_svc, ridge ||w||^2 + mean hinge: gamma / (2 n).
    half_ridge : float
        The same as (half_ridge / 2) ||w||^2 + mean hinge, as others write it: gamma / n.
    beta : float
        1 - nu, the share of the conditional value at risk that nu_svc minimises.
    price : float
        dE/dH = -gamma H = -sqrt(S), what a little more capacity changes the loss by.
    vc_dimension : float
        The estimate min(H^2, d) + 1, for points on the unit sphere; d is the rank of a kernel.
    radius : float
        R, the largest norm of a point.
    vc_dimension_in_ball : float
        R^2 H^2 + 1.
    nu_max : float
        2 min(n_pos, n_neg) / n, the largest nu there is.
    degenerate : bool
        Whether every point of the smaller class has alpha = 1. Then nu = nu_max at all smaller H.
    norm_bounds : (float, float) or None
        Between these H alpha does not change, and with it nu, D and the direction of w; None where
        gamma = 0. The paper takes nu and D to determine H, which is so where both ends are equal
        to rounding: a multiplier strictly inside its box in each class. Where `degenerate` the
        lower end is 0; such stretches occur at larger H too. Rough multipliers give H alone.
    b_interval : (float, float) or None
        All intercepts of least loss for this w; None where gamma = 0 and alpha names no w.
    """

    norm_bound: float
    gamma: float
    C: float
    hull_bound: float
    nu: float
    rho: float
    ridge: float
    half_ridge: float
    beta: float
    price: float
    vc_dimension: float
    radius: float
    vc_dimension_in_ball: float
    nu_max: float
    degenerate: bool
    norm_bounds: tuple[float, float] | None
    b_interval: tuple[float, float] | None
    _shown = ("norm_bound", "gamma", "C", "nu", "hull_bound", "ridge", "rho", "active")

    @property
    def active(self) -> bool:
        """Whether the norm row binds at every optimum: gamma > 0."""
        return self.gamma > 0

    @property
    def flat(self) -> bool:
        """Whether nu and D are those of a whole stretch of norm bounds, and C alone tells which."""
        if self.norm_bounds is None:
            return False
        low, high = self.norm_bounds
        return high - low > FLAT_WIDTH * self.norm_bound

    @property
    def notes(self) -> tuple[str, ...]:
        """What does not hold here, in sentences."""
        if self.norm_bounds is None:
            return (FREE,)
        return (FLAT.format(*self.norm_bounds),) if self.flat else ()

    def settings(self) -> dict[str, dict[str, float]]:
        """Hyperparameters by formulation; where gamma = 0 of rsvm alone."""
        found = {"rsvm": {"norm_bound": self.norm_bound}}
        if self.active:
            found |= {
                "c_svc": {"C": self.C},
                "nu_svc": {"nu": self.nu},
                "reduced_hull_svc": {"hull_bound": self.hull_bound},
                "soft_margin_svc": {"ridge": self.ridge},
            }
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain numbers; what is infinite is null, and the notes say why."""
        numbers = asdict(self) | {
            "active": self.active, "flat": self.flat, "notes": list(self.notes)
        }  # fmt: skip
        return {name: _finite(value) for name, value in numbers.items()}


@unweighted
def equivalence(data: TrainingData | GramData, norm_bound: float, alpha: ArrayLike) -> Equivalence:
    """Read the equivalent parameters from a solution.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H.
    alpha : array (n,)
        Optimal multipliers of the margin rows in [0, 1]. The intercept is free.

    Returns
    -------
    Equivalence

    Raises
    ------
    ValueError
        A bad norm_bound; multipliers of another shape, not finite, or outside [0, 1].

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.rsvm_dual(data, norm_bound=0.5))
    >>> same = tm.theory.equivalence(data, 0.5, found.values["alpha"])
    >>> w = tm.solve(tm.c_svc(data, C=same.C)).values["w"]
    >>> bool(abs((w**2).sum() - 0.25) < 1e-4)  # norm 0.5
    True
    """
    H = positive("norm_bound", norm_bound)
    alpha = within_box("alpha", data, alpha, 1.0)
    direction = data.factor.T @ (data.y * alpha)
    length, mass = float(np.linalg.norm(direction)), float(alpha.sum())
    radius = float(np.sqrt(squared_lengths(data.factor).max(initial=0.0)))
    if length <= NO_NAME * radius * data.n:
        length = 0.0
    gamma, nu = length / H, mass / data.n
    interval = stretch = None
    if length:
        scores = data.factor @ direction
        interval = hinge_intercept_interval(scores * (H / length), data.y, np.ones(data.n))
        stretch = _stretch(H, length, *levels(scores, data.y, alpha))
    smaller = data.y > 0 if data.n_pos <= data.n_neg else data.y < 0
    return Equivalence(
        norm_bound=H,
        gamma=gamma,
        C=H / length if length else math.inf,
        hull_bound=2 / mass if mass else math.inf,
        nu=nu,
        rho=gamma / data.n,
        ridge=gamma / (2 * data.n),
        half_ridge=gamma / data.n,
        beta=1 - nu,
        price=-length,
        vc_dimension=min(H**2, data.d) + 1,
        radius=radius,
        vc_dimension_in_ball=(radius * H) ** 2 + 1,
        nu_max=nu_max(data, "uniform"),
        degenerate=bool((alpha[smaller] >= 1 - ON_CAP).all()),
        norm_bounds=stretch,
        b_interval=interval,
    )


def levels(scores: Array, y: Array, alpha: Array) -> tuple[float, float]:
    """All rho at which multipliers in [0, 1] are optimal for the direction they make.

    With scores s_i = <v, x_i>, v = F'(y o alpha), the points at the cap have y_i (s_i + b) <= rho,
    those at 0 have >= and those between have both. In rho - b and rho + b the classes separate.

    Parameters
    ----------
    scores, y, alpha : array (n,)

    Returns
    -------
    float, float
        The lowest and the highest; infinite where every point of a class is at the cap.
    """
    low = high = 0.0
    for sign in (1.0, -1.0):
        own, multipliers = sign * scores[y == sign], alpha[y == sign]
        least = float(own[multipliers > ON_CAP].max(initial=-math.inf))
        most = float(own[multipliers < 1 - ON_CAP].min(initial=math.inf))
        if least > most:  # both are points on the margin, to rounding
            least = most = (least + most) / 2
        low, high = low + least / 2, high + most / 2
    return low, high


def _stretch(H: float, length: float, low: float, high: float) -> tuple[float, float]:
    """Norm bounds of the levels; H alone where rough multipliers leave it outside."""
    first, last = length / high, length / low if low > 0 else math.inf
    inside = first * (1 - FLAT_WIDTH) <= H <= last * (1 + FLAT_WIDTH)
    return (first, last) if inside else (H, H)


def within_box(name: str, data: TrainingData | GramData, alpha: ArrayLike, cap: float) -> Array:
    """Multipliers in the box with y'alpha = 0, after checking that they nearly were."""
    found = np.asarray(alpha, dtype=np.float64)
    if found.shape != (data.n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} must hold {data.n} finite numbers, one for each point")
    if found.min() < -OUTSIDE * cap or found.max() > cap * (1 + OUTSIDE):
        raise ValueError(
            f"{name} must lie in [0, {cap:g}], got {found.min():.6g} to {found.max():.6g}"
        )
    return balanced_alpha(found, data.y, np.full(data.n, cap), "free")


def _finite(value: Any) -> Any:
    """The value with null for what is infinite, and lists for pairs."""
    if isinstance(value, tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and math.isinf(value) else value
