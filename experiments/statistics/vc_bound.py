"""The bound on the risk that structural risk minimisation minimises, in three forms.

With probability 1 - eta over n points, for all functions of a set of VC dimension h and a loss of
at most 1 (Vapnik, Statistical Learning Theory, 1998),

    R <= Remp + e/2 (1 + sqrt(1 + 4 Remp / e)),    e = 4 [h (ln(2n/h) + 1) - ln(eta/4)] / n

Bi & Vapnik 2003 print as (1), with q = h E / n and E = 1 - ln(eta/(2n)) - ln(eta/4) / h,

    R <= Remp + q (1 + sqrt(1 + 4 Remp / q)).

There eta/(2n) is a misprint of h/(2n), which makes q = e/4. With that put right the constants are
still other ones: Vapnik's bound is Remp + 2q (1 + sqrt(1 + Remp / q)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tightmargin.formulations.parameters import one_of, positive
from tightmargin.printing import Printed

VAPNIK, PRINTED, PRINTED_H_FIXED = "vapnik", "printed", "printed_h_fixed"
FORMS = (VAPNIK, PRINTED, PRINTED_H_FIXED)


@dataclass(frozen=True, repr=False)
class VcBound(Printed):
    """A bound on the risk and its terms.

    Attributes
    ----------
    form : str
        One of FORMS.
    risk : float
        Remp.
    h : float
        VC dimension, or an estimate of it.
    n : int
    eta : float
        The bound fails with this probability at most.
    capacity : float
        e for "vapnik", q for the others: what grows with h / n.
    bound : float
        Not clipped: a risk is at most 1 whatever it says.
    """

    form: str
    risk: float
    h: float
    n: int
    eta: float
    capacity: float
    bound: float

    @property
    def confidence(self) -> float:
        """bound - risk, the term that capacity costs."""
        return self.bound - self.risk

    @property
    def vacuous(self) -> bool:
        """Whether the bound is 1 or more, and says nothing."""
        return self.bound >= 1

    @property
    def note(self) -> str:
        """What to read beside the number; empty where it says something."""
        return "vacuous: a risk is at most 1" if self.vacuous else ""


def vc_bound(risk: float, h: float, n: int, eta: float = 0.05, form: str = VAPNIK) -> VcBound:
    """Bound the risk of a classifier by its training risk and the capacity of its set.

    Above h = 2n the logarithm in h falls again, while the number of labellings of 2n points, which
    it stands for, cannot: the forms that have it take h = 2n from there on.

    Parameters
    ----------
    risk : float
        Remp, at least 0: the share of training points in error, which the theory is about, or the
        mean hinge loss, which the rigorous SVM minimises and which is at least as large.
    h : float
        VC dimension, at least 1.
    n : int
        Number of training points.
    eta : float
        In (0, 1).
    form : str
        "vapnik", "printed" (equation (1) as the paper has it) or "printed_h_fixed" (with h/(2n)
        for eta/(2n)).

    Raises
    ------
    ValueError
        Naming the argument that is out of range.

    Examples
    --------
    >>> import tightmargin as tm
    >>> few, many = tm.theory.vc_bound(0.1, 3.0, 100), tm.theory.vc_bound(0.1, 3.0, 10000)
    >>> 0.1 < many.bound < few.bound
    True
    """
    one_of("form", form, FORMS)
    if not (isinstance(risk, int | float) and 0 <= risk < math.inf):
        raise ValueError(f"risk must be a finite number of at least 0, got {risk!r}")
    if positive("h", h) < 1:
        raise ValueError(f"h must be at least 1, got {h!r}")
    if positive("n", n) != int(n):
        raise ValueError(f"n must be a whole number, got {n!r}")
    if not positive("eta", eta) < 1:
        raise ValueError(f"eta must lie strictly between 0 and 1, got {eta!r}")
    labellings = _labellings(float(h), n, eta, form)
    q = (labellings - math.log(eta / 4)) / n
    capacity = 4 * q if form == VAPNIK else q
    factor = capacity / 2 if form == VAPNIK else capacity
    bound = risk + factor * (1 + math.sqrt(1 + 4 * risk / capacity))
    return VcBound(form, float(risk), float(h), int(n), eta, capacity, bound)


def _labellings(h: float, n: int, eta: float, form: str) -> float:
    """h (1 + ln(2n/h)), the logarithm of how many labellings there are at most."""
    if form == PRINTED:
        return h * (1 - math.log(eta / (2 * n)))
    h = min(h, 2.0 * n)
    return h * (1 + math.log(2 * n / h))
