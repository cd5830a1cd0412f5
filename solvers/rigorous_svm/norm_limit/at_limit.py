"""The rigorous SVM at and above the largest norm bound that matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import positive
from tightmargin.solvers.proofs.lemma import by_lemma, point_by_formula
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import Proofs
from tightmargin.solvers.rigorous_svm.point import NOTHING, RsvmPoint, rsvm_point

AT_ANY_NORM = (
    "least loss at any norm by multipliers of the linear program (10), or weak duality of the "
    "rigorous SVM, recomputed from the data"
)
EXACTLY = {"multipliers in [0, 1] with y'alpha = 0, exactly: by their construction": True}


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
        raise ValueError("limit holds no value: norm_limit was stopped before it found one")
    if place == "below":
        raise ValueError(
            f"norm_bound = {norm_bound:g} is below the limit {limit.value:.10g}: gamma > 0 there"
        )
    hyperplane = limit.w, limit.b
    proofs = Proofs(data)

    def point(alpha: Array) -> RsvmPoint:
        """With the best of three proven bounds: that on E0 holds however large H is."""
        made = rsvm_point(data, norm_bound, alpha, hyperplane)
        closer = proofs.loss_within(made.alpha, norm_bound)
        lemma = Lemma(max(closer, limit.least_loss_bound), AT_ANY_NORM, EXACTLY)
        below = by_lemma(made.attained.subject, lemma)
        assert below is not None
        if limit.separable and norm_bound >= limit.upper:
            # Its numbers are fractions; w and b are its nearest doubles.
            words = "a hyperplane of loss 0, exactly, of a norm of at most H"
            made = replace(made, attained=point_by_formula(made.attained.subject, 0.0, 0.0, words))
        return replace(made, below=below) if below.varying > made.bound else made

    found = point(limit.alpha)
    if norm_bound < limit.value:
        other = point(limit.alpha_at_limit)
        if other.gap < found.gap:
            return other
    reach = float(np.linalg.norm(data.factor, axis=1).max(initial=0.0))
    rounding = NOTHING * reach * data.n
    return replace(found, length=0.0) if found.length <= rounding else found
