"""How far the d.c. algorithm may be from the optimum, by what is proven of the exact model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.printing import Printed
from tightmargin.solvers.comparison.gap_table import order_tolerance
from tightmargin.solvers.multiclass.dca import TruncatedDca
from tightmargin.solvers.result import SolveResult

EXACT = "multiclass_truncated"


@dataclass(frozen=True, repr=False)
class CertifiedGap(Printed):
    """Upper bounds and lower bounds of one truncated machine.

    Attributes
    ----------
    upper : float
        Value of the d.c. algorithm, from the data.
    hinge_start : float
        Value of its run from the hinge machine alone.
    exact : float or None
        Value of the exact model's point.
    bound, bound_method : float or None, str
        Lower bound proven by our own computation, and how.
    claimed : float or None
        The solver's own bound.
    """

    upper: float
    hinge_start: float
    exact: float | None
    bound: float | None
    bound_method: str
    claimed: float | None
    _shown = ("upper", "bound", "gap", "bound_method", "exact", "hinge_start", "claimed")

    @property
    def gap(self) -> float | None:
        """(upper - bound) / upper, with the proven bound alone."""
        return None if self.bound is None or self.upper == 0 else 1 - self.bound / self.upper

    @property
    def excess(self) -> float | None:
        """(upper - exact) / exact: negative where the search found the better point."""
        return _relative(self.upper, self.exact)

    @property
    def hinge_excess(self) -> float | None:
        """(hinge_start - exact) / exact."""
        return _relative(self.hinge_start, self.exact)


def _relative(value: float, exact: float | None) -> float | None:
    return None if not exact else value / exact - 1


def certified_gap(found: TruncatedDca, exact: SolveResult) -> CertifiedGap:
    """Put a d.c. search beside the solved multiclass_truncated of the same machine.

    Parameters
    ----------
    found : TruncatedDca
        What the search found.
    exact : SolveResult
        Of multiclass_truncated, with a proven bound.

    Raises
    ------
    ValueError
        A result of another formulation, other data or other hyperparameters; a proven bound above
        the value of the search, which cannot be.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=12, d=2, classes=3, sigma=0.5, seed=0)
    >>> found = tm.search.truncated_dca(data, ridge=0.1, truncation=0.0)
    >>> model = tm.multiclass_truncated(data, ridge=0.1, truncation=0.0, big_m="derived")
    >>> 0 <= tm.search.certified_gap(found, tm.solve(model)).gap < 1
    True
    """
    if exact.formulation != EXACT:
        raise ValueError(f"exact must be a result of {EXACT}, got {exact.formulation!r}")
    if exact.data.get("sha256") != found.data.sha256:
        raise ValueError("exact is a result on other data than the search")
    _refuse_other_words(found, exact.parameters)
    bound = exact.bound
    if bound is not None and bound > found.objective + order_tolerance(found.objective, exact):
        raise ValueError(f"bound {bound:.9g} exceeds the value {found.objective:.9g} of a point")
    certificate = exact.certificate
    return CertifiedGap(
        found.objective, found.runs[0].objective, exact.objective, bound, certificate.bound_method,
        certificate.solver_bound,
    )  # fmt: skip


def _refuse_other_words(found: TruncatedDca, words: Mapping[str, Any]) -> None:
    for name in ("ridge", "truncation"):
        if not math.isclose(getattr(found, name), float(words[name]), rel_tol=1e-12):
            raise ValueError(f"exact has {name} {words[name]}, the search {getattr(found, name)}")
    if found.intercept != words["intercept"]:
        raise ValueError(
            f"exact has intercept {words['intercept']!r}, the search {found.intercept!r}"
        )
    theirs, ours = (
        np.ones(found.data.n_classes) if given is None else np.asarray(given, dtype=float)
        for given in (words["class_weight"], found.class_weight)
    )
    if not np.allclose(theirs, ours, rtol=1e-12, atol=0):
        raise ValueError(f"exact has class_weight {theirs}, the search {ours}")
