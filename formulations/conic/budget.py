"""Budgets on violations, the kappa of Cepeda, Gomez & Han 2024, appendix C."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import fraction

LARGEST = 0.5


def budget_grid(count: int = 100) -> Array:
    """Budgets that are tried in cross-validation: count equal steps that end at 0.5.

    The paper takes [0, 0.5]. Here 0 is left out: it is the hard-margin problem, infeasible where
    the classes overlap, and the optimum grows like 1 / budget on the way there.

    Returns: 0.5 k / count for k = 1, ..., count.
    Raises ValueError: count is no whole number of at least 1.
    """
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"count must be a whole number of at least 1, got {count!r}")
    return LARGEST * np.arange(1, count + 1) / int(count)


def budget_share(budget: float) -> float:
    """Return a budget in (0, 1] as a float.

    Raises ValueError: anything else; for 0 with the name of the problem that it is.
    """
    if not isinstance(budget, str | bytes | bool) and np.isscalar(budget) and budget == 0:
        raise ValueError(
            "budget must lie in (0, 1], got 0: no violation at all is the hard-margin problem, "
            "infeasible where the classes overlap; take hard_margin_svc, or a small budget"
        )
    return fraction("budget", budget)
