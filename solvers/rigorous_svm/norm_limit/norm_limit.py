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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import (
    FacePoint,
    Rows,
    centred_rows,
    multipliers_at_limit,
)
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import (
    DOUBLE,
    ExactHyperplane,
    Proofs,
    exact_hyperplane,
)
from tightmargin.solvers.rigorous_svm.norm_limit.search import Clock, Found, search
from tightmargin.solvers.rigorous_svm.point import (
    STRETCH,
)

AT = 1e-8  # relative: how near H counts as at the limit
EXACT = 1e-8  # relative: width between proven bounds that makes the value proven
STRETCHES = 3  # steps by which a hyperplane may become a rounding longer
FAR = 10.0  # times the limit: how far a least loss is looked for where no proof covers all w


@dataclass(frozen=True, eq=False, repr=False)
class NormLimit(Printed):
    """The largest norm bound that matters.

    Attributes
    ----------
    value : float
        H_lim as computed, of separable points rounded up to where a loss of 0 is proven; NaN where
        it was not found.
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
    _shown = ("value", "lower", "upper", "proven", "separable", "gamma_range", "proof")

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


@unweighted_unlike("rsvm")
@reads_dense_points
def norm_limit(data: TrainingData | GramData, *, time_limit: float | None = None) -> NormLimit:
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

    Remarks
    -----
    Both ends are proven in exact arithmetic: the lower one by multipliers, the upper one by a
    hyperplane whose loss is exactly what other multipliers prove to be the least. Data that are
    not separable have an upper end up to 149 features, or dimensions of the kernel; beyond that,
    and where features depend on one another to rounding only, it is said to be open.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> limit = tm.theory.norm_limit(data).value
    >>> least = tm.solve(tm.rsvm_relaxed(data)).objective
    >>> abs(tm.solve(tm.rsvm(data, norm_bound=1.01 * limit)).objective - least) < 1e-6
    True
    """
    clock = Clock(checked_limits(time_limit).time_limit)
    rows, proofs = centred_rows(data), Proofs(data)
    found = search(rows, proofs, clock, measured=isinstance(data, TrainingData))
    if found.point is None:
        return _not_found(rows, proofs, found)
    limit = _separable if found.separable else _with_loss
    return limit(rows, proofs, found, found.point)


def _separable(rows: Rows, proofs: Proofs, found: Found, point: FacePoint) -> NormLimit:
    """The hyperplane scaled until every margin is 1."""
    w, c = point.v / rows.scale, point.c
    plane = exact_hyperplane(w, c, rows.centre)
    margin = proofs.least_margin(plane)
    if margin <= 0:  # a point that did not settle: the first one has margins at least
        assert found.start is not None
        w, c = found.start.v / rows.scale, found.start.c
        plane = exact_hyperplane(w, c, rows.centre)
        margin = proofs.least_margin(plane)
    upper = rounded_up(Fraction(plane.norm_above) / margin)
    if not 1 <= margin <= 1 + EXACT:
        w, c = w / float(margin), c / float(margin)
    w, b = _stretched(proofs, w, c - float(w @ rows.centre))
    value = float(np.linalg.norm(w))
    if value < upper <= value * (1 + STRETCH):
        value = upper  # there a hyperplane is proven to lose nothing
    gamma, alpha = multipliers_at_limit(rows, found.alpha, point)
    limit = NormLimit(
        value=value,
        lower=min(value, proofs.norm_below(alpha, Fraction())),
        upper=max(upper, value),
        separable=True,
        least_loss=0.0,
        least_loss_bound=0.0,
        w=w,
        b=b,
        alpha=found.alpha,
        gamma_range=gamma,
        alpha_at_limit=alpha,
        proof="",
    )
    return _in_words(limit)


def _stretched(proofs: Proofs, w: Array, b: float) -> tuple[Array, float]:
    """(w, b) a rounding longer, so that as stored no margin is below 1, where that is enough."""
    longer, short = (w, b), 1 - proofs.least_margin(exact_hyperplane(w, b, 0 * w))
    for _ in range(STRETCHES):
        if short <= 0:
            return longer
        if short > STRETCH:
            break
        factor = 1 + 2 * float(short) + DOUBLE
        longer = longer[0] * factor, longer[1] * factor
        short = 1 - proofs.least_margin(exact_hyperplane(*longer, 0 * w))
    return w, b


def _with_loss(rows: Rows, proofs: Proofs, found: Found, point: FacePoint) -> NormLimit:
    """A least loss above 0, proven where a hyperplane has exactly what multipliers prove."""
    w, c = point.v / rows.scale, point.c
    plane = exact_hyperplane(w, c, rows.centre)
    least = proofs.least_loss(found.alpha)
    upper, loss = _judged(proofs, _candidates(rows, proofs, found, plane, least), least)
    gamma, alpha = multipliers_at_limit(rows, found.alpha, point)
    value = float(np.linalg.norm(w))
    limit = NormLimit(
        value=value,
        lower=min(value, proofs.norm_below(alpha, loss)),
        upper=max(upper, value),
        separable=False,
        least_loss=float(loss),
        least_loss_bound=0.0 if least is None else rounded_down(least),
        w=w,
        b=c - float(w @ rows.centre),
        alpha=found.alpha,
        gamma_range=gamma,
        alpha_at_limit=alpha,
        proof="",
    )
    return _in_words(limit, "" if least is not None else _within(rows, proofs, limit))


def _candidates(
    rows: Rows, proofs: Proofs, found: Found, plane: ExactHyperplane, least: Fraction | None
) -> Iterator[ExactHyperplane]:
    """Hyperplanes that may have exactly the least loss, the likeliest first."""
    assert found.point is not None
    active, touched = found.point.active, found.point.touched
    for members in (touched, active):
        if least is None or (members is active and (active == touched).all()):
            continue
        near = proofs.on_active_rows(plane, members)
        if near is not None:
            yield near
    yield plane
    if found.start is not None:
        yield exact_hyperplane(found.start.v / rows.scale, found.start.c, rows.centre)


def _judged(
    proofs: Proofs, candidates: Iterable[ExactHyperplane], least: Fraction | None
) -> tuple[float, Fraction]:
    """Norm of the first hyperplane whose loss is proven to be the least; the smallest loss."""
    losses = []
    for plane in candidates:
        losses.append(proofs.loss(plane))
        if losses[-1] == least:
            return plane.norm_above, losses[-1]
    return math.inf, min(losses)


def _within(rows: Rows, proofs: Proofs, limit: NormLimit) -> str:
    """What is proven of the least loss where no multipliers prove it at any norm."""
    far = FAR * max(limit.value, 1 / rows.scale)
    least = proofs.loss_within(limit.alpha, far)
    within = f"no hyperplane with ||w|| <= {far:.4g} has a loss below {least:.10g}"
    mass = float(limit.alpha.sum())
    if abs(mass - limit.least_loss) > EXACT * limit.least_loss:
        within += f", and the multipliers add up to {mass:.10g}, not to that loss"
    return within


def _not_found(rows: Rows, proofs: Proofs, found: Found) -> NormLimit:
    """What is known when the time was up before the least norm."""
    w, c = np.zeros(rows.points.shape[1]), 0.0
    if found.start is not None:
        w, c = found.start.v / rows.scale, found.start.c
    least = proofs.least_loss(found.alpha) if found.alpha.any() else None
    loss = Fraction()
    if not found.separable:
        loss = proofs.loss(exact_hyperplane(w, c, rows.centre))
    return NormLimit(
        value=math.nan,
        lower=0.0,
        upper=math.inf,
        separable=found.separable,
        least_loss=rounded_up(loss),
        least_loss_bound=0.0 if least is None else rounded_down(least),
        w=w,
        b=c - float(w @ rows.centre),
        alpha=found.alpha,
        gamma_range=math.nan,
        alpha_at_limit=found.alpha,
        proof="not found: the time limit was reached first",
    )


def _in_words(limit: NormLimit, within: str = "") -> NormLimit:
    """The limit with what its numbers are worth."""
    return replace(limit, proof=_proof(limit, within))


def _proof(limit: NormLimit, within: str) -> str:
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
