"""One nu of Algorithm 11: the machine at a weight, with its bounds and what the papers report."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.nu_path.family import NuFamily, Subject, subject_of
from tightmargin.cuts.nu_path.multipliers import recover_multipliers
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    excess,
    growth,
    most_hinge,
    score_errors,
    summed_up,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.nu_svc import loss_weights
from tightmargin.formulations.nu.reduced_hull import (
    best_levels,
    reduced_hulls,
    support_value,
)
from tightmargin.solvers.exact import dot_integers, dyadic, rounded_up, scaled
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Judgement, Verdict, judged
from tightmargin.solvers.searches import CatalogueModel, Proven

FEASIBLE = "w scaled onto its sphere, rho and b from the sort, slacks from their formula"
ZERO = Fraction()
ROUGH = 1e-9  # of the objective: what rounding may leave before it is computed in fractions
EXACT_LIMIT = 100_000  # numbers of the data that are multiplied in integers
OPEN = Verdict.NOT_CERTIFIED


@dataclass(frozen=True, eq=False, repr=False)
class PathRow(Proven):
    """The extended nu-SVC at one nu.

    Attributes
    ----------
    nu : float
    objective, cvar : float
        Phi at the weight, by sorting, and Phi / nu.
    attained, below
        Proofs of the objective and of the bound.
    tolerance : float
        Share of the objective that a gap may be of, at most what kernel/statement.py allows.
    claimed_bound : float or None
        An engine's or solver's, where it proves none.
    claim_closes : bool
        Whether that lies beside the objective.
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
    about : CatalogueModel or None
        The model of the row.
    """

    nu: float
    objective: float
    cvar: float
    attained: FeasiblePoint
    below: LowerBound | None
    tolerance: float
    claimed_bound: float | None
    claim_closes: bool
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
    about: CatalogueModel | None = field(default=None, repr=False)

    @property
    def allowed(self) -> float:
        """The tolerance of the path."""
        return self.tolerance

    @property
    def verdict(self) -> Verdict:
        """That of the proofs; SOLVER_BOUND where an engine's or a solver's word closes the gap."""
        found = super().verdict
        return Verdict.SOLVER_BOUND if found is OPEN and self.claim_closes else found

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
    below: LowerBound | None,
    tolerance: float,
    claimed: float | None,
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
    dual, n = recover_multipliers(hulls, weight), data.total_weight
    slack = 1e-9 * max(1.0, float(np.abs(scores).max()))
    return PathRow(
        nu=nu,
        objective=value,
        cvar=value / nu,
        attained=attained_at(family.subject(nu), data, family.caps, weight, value, b, rho),
        below=below,
        tolerance=tolerance,
        claimed_bound=claimed,
        claim_closes=False,
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
        about=CatalogueModel(
            "extended_nu_svc",
            data,
            {"nu": nu, "class_balance": family.class_balance, "intercept": family.intercept},
        ),
    )


def attained_at(
    subject: Subject, data: TrainingData, caps: Array, weight: Array, value: float, b: float,
    rho: float,
) -> FeasiblePoint:  # fmt: skip
    """Phi at a weight of norm 1 to rounding, rounded up.

    -nu rho + sum c_i xi_i with any b and rho is as much as the best ones give, or more, and all of
    it scales with w. A free intercept belongs to the points about their mean: it has no digits of
    the mean then.
    """
    _, _, _, intercept, nu = subject
    given = augmented(data, "penalised" if intercept == "penalised" else "none")
    points, mean = given, np.zeros(given.shape[1])
    if intercept == "free":
        mean = given.mean(axis=0)
        points, b = given - mean, b + float(weight @ mean)
    else:
        b = 0.0
    scores = data.y * (points @ weight + b)
    losses = most_hinge(scores, score_errors(points, weight, b), rho)
    at_weight = summed_up(caps, losses) - nu * rho
    most = at_weight + 4 * ROUNDOFF * (abs(at_weight) + nu * abs(rho))
    if most - value > ROUGH * abs(value) and given.size <= EXACT_LIMIT:
        most = min(most, _exactly(data.y[:, None] * given, data.y, caps, nu, weight, mean, b, rho))
    # ||w|| is 1 to the rounding of a division and of a norm, and h(w / ||w||) = h(w) / ||w||.
    most += OUTWARD * growth(2 * len(weight) + 16) * abs(most)
    return point_by_formula(subject, value, excess(most, value), FEASIBLE)


def _exactly(
    signed: Array, y: Array, caps: Array, nu: float, weight: Array, mean: Array, b: float,
    rho: float,
) -> float:  # fmt: skip
    """-nu rho + sum c_i xi_i at (w, b - <w, mean>) in fractions, rounded up."""
    w = [Fraction(x) for x in weight.tolist()]
    level = Fraction(b) - sum(
        (a * Fraction(m) for a, m in zip(w, mean.tolist(), strict=True)), ZERO
    )
    exact, of_w = dyadic(signed.ravel()), dyadic(weight)
    k, total = len(weight), -Fraction(nu) * Fraction(rho)
    for i, (sign, cap) in enumerate(zip(y.tolist(), caps.tolist(), strict=True)):
        product = dot_integers(exact.integers[i * k : (i + 1) * k], of_w.integers)
        score = scaled(product, exact.exponent + of_w.exponent) + int(sign) * level
        total += Fraction(cap) * max(ZERO, Fraction(rho) - score)
    return rounded_up(total)


def bound_of(
    family: NuFamily, nu: float, lower: float, how: str, *, proven: bool = True
) -> LowerBound | None:
    """A lower bound on Phi as a proof; None of one that is not finite, or somebody's word."""
    hypotheses = {
        "nu lies in (0, nu_max], where the reduced hulls are not empty": nu > 0,
        "the bound is proven by the search, the slope or the chord that names it": proven,
    }
    return by_lemma(family.subject(nu), Lemma(lower, how, hypotheses))


def judgement_at(
    data: TrainingData,
    nu: float,
    class_balance: ArrayLike | str,
    intercept: str,
    weight: Array,
    lemma: Lemma,
) -> Judgement:
    """What a weight (k,) of any length but 0 and the bound of a search on Phi amount to."""
    caps, unit = loss_weights(data, class_balance), weight / np.linalg.norm(weight)
    hulls = reduced_hulls(data, nu=nu, class_balance=class_balance, intercept=intercept)
    subject = subject_of(data, caps, intercept, nu)
    b, rho, _ = best_levels(hulls, unit)
    value = support_value(hulls, unit)
    return judged(attained_at(subject, data, caps, unit, value, b, rho), by_lemma(subject, lemma))
