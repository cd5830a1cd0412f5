"""The largest norm bound of the rigorous SVM that matters.

    H_lim = min { ||w|| : (w, b) of least hinge sum E0 }

Below it ||w|| <= H is active at every optimum and gamma > 0; above it gamma = 0 and the linear
program (13) of Bi & Vapnik 2003 is all there is. It replaces the paper's Propositions 5 and 6: a
larger ||w|| with the least loss may exist (for separable data always), and says nothing. Separable
data have E0 = 0 and H_lim = 1 / Delta, the hard margin; all others have E0 >= 1, for a hyperplane
with positive margins could be scaled to loss 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows, centred_rows
from tightmargin.solvers.rigorous_svm.norm_limit.multiplier_range import steepest
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import FacePoint
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import Proofs
from tightmargin.solvers.rigorous_svm.norm_limit.search import Found, search
from tightmargin.solvers.rigorous_svm.norm_limit.starts import Clock
from tightmargin.solvers.rigorous_svm.point import NOTHING, RsvmPoint, rsvm_point

AT = 1e-8  # relative: how near H counts as at the limit
EXACT = 1e-8  # relative: width between proven bounds that makes the value proven
FAR = 10.0  # times the limit: how far a least loss is looked for where no proof covers all w


@dataclass(frozen=True, eq=False)
class NormLimit:
    """The largest norm bound that matters.

    Attributes
    ----------
    value : float
        H_lim as computed; NaN where it was not found.
    lower, upper : float
        Proven bounds on H_lim; 0 and infinity where there is no proof.
    separable : bool
        Whether some (w, b) has positive margins at all points: proven by one when True.
    least_loss : float
        E0, the least hinge sum over all (w, b), as computed at (w, b); 0 when separable.
    least_loss_bound : float
        Proven lower bound on E0; 0 where there is no better proof.
    w, b : array (d,), float
        Hyperplane of least loss with ||w|| = value.
    alpha : array (n,)
        Multipliers of (10): F'(y o alpha) = 0 and y'alpha = 0 to rounding, sum alpha = E0.
    gamma_range : float
        g: at H = H_lim all gamma in [0, g] are optimal, and the C-SVM has the solution (w, b) from
        C = 1 / g on. NaN where H_lim is 0 or was not found.
    alpha_at_limit : array (n,)
        Multipliers at H = H_lim with gamma = g; they prove `lower`.
    proof : str
        What is proven and what is computed only.
    """

    value: float
    lower: float
    upper: float
    separable: bool
    least_loss: float
    least_loss_bound: float
    w: Array
    b: float
    alpha: Array
    gamma_range: float
    alpha_at_limit: Array
    proof: str

    @property
    def proven(self) -> bool:
        """Whether both bounds are proven and within EXACT of one another."""
        return math.isfinite(self.upper) and self.upper - self.lower <= EXACT * self.upper

    def place(self, norm_bound: float) -> str:
        """Where a norm bound lies: "below", "at" or "above" the limit; "unknown" without one."""
        if math.isnan(self.value):
            return "unknown"
        if abs(norm_bound - self.value) <= AT * self.value:
            return "at"
        return "below" if norm_bound < self.value else "above"


def h_limit(data: TrainingData | GramData, *, time_limit: float | None = None) -> NormLimit:
    """Find the least norm over the optimal face of the linear program (13).

    Parameters
    ----------
    data : TrainingData or GramData
        A kernel matrix is taken by its factor.
    time_limit : float, optional
        Seconds. When they are up, what is known is returned, with `value` NaN.

    Returns
    -------
    NormLimit

    Raises
    ------
    ValueError
        time_limit is no positive number.
    RuntimeError
        The linear program did not end at an optimum; in the solver's words.
    """
    clock = Clock(checked_limits(time_limit).time_limit)
    rows = centred_rows(data)
    proofs = Proofs(data, rows)
    found = search(rows, proofs, clock)
    if found.point is None:
        return _not_found(rows, proofs, found)
    return _limit(rows, proofs, found, found.point)


def _limit(rows: Rows, proofs: Proofs, found: Found, point: FacePoint) -> NormLimit:
    w, c = rows.weights(point.v, point.c)
    least_loss, least_bound, upper, within = 0.0, 0.0, math.inf, ""
    if found.separable:
        w, c, upper = _with_margin_one(proofs, found, w, c)
    else:
        least_loss = proofs.loss_above(w, c)
        if found.start is not None:
            least_loss = min(
                least_loss, proofs.loss_above(*rows.weights(found.start.v, found.start.c))
            )
        proven = proofs.loss_below(found.alpha)
        if proven is None or proven <= 0:
            far = FAR * max(float(np.linalg.norm(w)), 1 / (rows.scale or 1.0))
            least = proofs.loss_within(found.alpha, far)
            within = f"no hyperplane with ||w|| <= {far:.4g} has a loss below {least:.10g}"
            mass = float(found.alpha.sum())
            if abs(mass - least_loss) > EXACT * least_loss:
                within += f", and the multipliers add up to {mass:.10g}, not to that loss"
        else:
            least_bound = proven
            above = proofs.norm_above(found.alpha, w, c, point.touched)
            upper = math.inf if above is None else above
    gamma, steep = steepest(rows, found.alpha, point)
    value = float(np.linalg.norm(w))
    weight, b = rows.hyperplane(w, c)
    limit = NormLimit(
        value=value,
        lower=float(min(value, proofs.norm_below(steep, least_loss))),
        upper=float(upper),
        separable=found.separable,
        least_loss=least_loss,
        least_loss_bound=float(least_bound),
        w=weight,
        b=b,
        alpha=found.alpha,
        gamma_range=gamma,
        alpha_at_limit=steep,
        proof="",
    )
    return replace(limit, proof=_proof(limit, within))


def _with_margin_one(
    proofs: Proofs, found: Found, w: Array, c: float
) -> tuple[Array, float, float]:
    """The hyperplane scaled until every margin is 1, and its norm from above."""
    margin = proofs.least_margin(w, c)
    if margin <= 0:  # a point that did not settle: the first one has margins at least
        assert found.start is not None
        w, c = proofs.rows.weights(found.start.v, found.start.c)
        margin = proofs.least_margin(w, c)
    norm = float(np.linalg.norm(w))
    unit = margin if margin > 1 + EXACT else min(margin, 1.0)  # not below 1 by rounding
    return w / unit, c / unit, norm / margin * (1 + 1e-14)


def _not_found(rows: Rows, proofs: Proofs, found: Found) -> NormLimit:
    """What is known when the time was up before the least norm."""
    w, c = np.zeros(rows.points.shape[1]), 0.0
    if found.start is not None:
        w, c = rows.weights(found.start.v, found.start.c)
    weight, b = rows.hyperplane(w, c)
    proven = None if found.separable else proofs.loss_below(found.alpha)
    return NormLimit(
        value=math.nan,
        lower=0.0,
        upper=math.inf,
        separable=found.separable,
        least_loss=0.0 if found.separable else proofs.loss_above(w, c),
        least_loss_bound=proven or 0.0,
        w=weight,
        b=b,
        alpha=found.alpha,
        gamma_range=math.nan,
        alpha_at_limit=found.alpha,
        proof="not found: the time limit was reached first",
    )


def _proof(limit: NormLimit, within: str) -> str:
    """What the numbers of a limit are worth, in words."""
    if limit.separable:
        loss = "separable: proven by a hyperplane with positive margins"
    elif limit.least_loss_bound > 0:
        gap = max(0.0, limit.least_loss - limit.least_loss_bound)
        loss = f"not separable: least loss {limit.least_loss:.10g} proven to {gap:.1e}"
    else:
        loss = f"least loss {limit.least_loss:.10g} NOT proven: {within}"
    lower = f"H_lim >= {limit.lower:.10g} proven by multipliers (weak duality)"
    if math.isfinite(limit.upper):
        return f"{loss}; {lower}; H_lim <= {limit.upper:.10g} proven by a hyperplane of least loss"
    return (
        f"{loss}; {lower}; NOT proven from above: {limit.value:.10g} is the norm of a hyperplane "
        "of least loss to rounding"
    )


def rsvm_at_limit(data: TrainingData | GramData, norm_bound: float, limit: NormLimit) -> RsvmPoint:
    """Solution of the rigorous SVM at or above the limit: that of the linear program, gamma = 0.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H, not below limit.value.
    limit : NormLimit
        Of the same data.

    Returns
    -------
    RsvmPoint
        With gamma = 0: what `limit.alpha` leaves of S is rounding, and its proven bound takes
        that into account. Where H is a little below the value, within what counts as at it, the
        multipliers of the limit's other end, gamma = g, may prove more and are kept then.

    Raises
    ------
    ValueError
        H is no positive number, or below the limit, or the limit was not found.
    """
    norm_bound = positive("norm_bound", norm_bound)
    place = limit.place(norm_bound)
    if place == "unknown":
        raise ValueError("limit holds no value: h_limit was stopped before it found one")
    if place == "below":
        raise ValueError(
            f"norm_bound = {norm_bound:g} is below the limit {limit.value:.10g}: gamma > 0 there"
        )
    hyperplane = limit.w, limit.b
    proofs = Proofs(data, centred_rows(data))

    def point(alpha: Array) -> RsvmPoint:
        """With the best of three proven bounds: that on E0 holds however large H is."""
        made = rsvm_point(data, norm_bound, alpha, hyperplane)
        closer = proofs.loss_within(made.alpha, norm_bound)
        bound = max(made.lower_bound, closer, limit.least_loss_bound)
        return replace(made, lower_bound=float(bound))

    found = point(limit.alpha)
    if norm_bound < limit.value:
        other = point(limit.alpha_at_limit)
        if other.gap < found.gap:
            return other
    reach = float(np.linalg.norm(data.factor, axis=1).max(initial=0.0))
    rounding = NOTHING * reach * data.n
    return replace(found, length=0.0) if found.length <= rounding else found
