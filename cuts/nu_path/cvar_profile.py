"""The least CVaR as a function of nu, between proven bounds (Takeda & Sugiyama 2008, Figure 2).

Nothing is interpolated by eye: below runs the chord of proven bounds of Phi = nu CVaR, which is
concave, above the best of the weights that were found, evaluated at every nu by sorting.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.nu_path.result import ExtendedNuPath, chord
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import reduced_hulls, support_value
from tightmargin.printing import Drawn
from tightmargin.solvers.tables import Framed


@dataclass(frozen=True, eq=False, repr=False)
class CvarProfile(Framed, Drawn):
    """Bounds on the least CVaR, rising in nu.

    nu (m,).
    lower, upper (m,): lower <= CVaR(nu) <= upper, both proven.
    nu_bar, nu_max: where the CVaR is 0, and where it ends.
    constant_until: on (0, constant_until] the CVaR does not change.
    solved, solved_lower, solved_upper (r,): the nu of the path, with bounds there.
    """

    nu: Array
    lower: Array
    upper: Array
    nu_bar: float
    nu_max: float
    constant_until: float
    solved: Array
    solved_lower: Array
    solved_upper: Array

    _shown = ("nu_bar", "nu_max", "constant_until", "width", "solved", "nu")

    def _records(self) -> list[dict[str, Any]]:
        ends = zip(self.nu, self.lower, self.upper, strict=True)
        return [dict(zip(("nu", "lower", "upper"), map(float, end), strict=True)) for end in ends]

    @property
    def width(self) -> float:
        """The largest distance between the bounds."""
        return float((self.upper - self.lower).max())


def cvar_profile(path: ExtendedNuPath, nu: ArrayLike | int = 200) -> CvarProfile:
    """Bound the least CVaR from the rows of a path.

    Parameters
    ----------
    path : ExtendedNuPath
        Solved rows; each bounds the CVaR to its left and right.
    nu : int or array (m,)
        How many nu, evenly spread up to the largest of the path, together with those of the path
        and the three marks; or the numbers themselves, none above the largest of the path.

    Raises
    ------
    ValueError
        nu outside (0, largest of the path]: beyond it no chord bounds the CVaR.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.extended_nu_path(data, [0.05, 0.1, 0.2])
    >>> profile = tm.paths.cvar_profile(path, nu=5)
    >>> bool((profile.lower <= profile.upper).all())
    True
    """
    top = path.rows[0].nu
    if isinstance(nu, int):
        marks = [path.range.nu_bar, path.range.constant_until, *(row.nu for row in path.rows)]
        spread = top * np.arange(1, nu + 1) / nu
        at = np.unique([*spread, *(mark for mark in marks if 0 < mark <= top)])
    else:
        at = np.unique(np.asarray(nu, dtype=np.float64))
    if not (at.size and at[0] > 0 and at[-1] <= top):
        raise ValueError(f"nu must lie in (0, {top:g}], the largest nu of the path")
    solved = path.rows[::-1]
    return CvarProfile(
        at,
        np.array([chord(path.anchors, float(x)) / x for x in at]),
        np.array([_least(path, float(x)) / x for x in at]),
        path.range.nu_bar,
        path.range.nu_max,
        path.range.constant_until,
        np.array([row.nu for row in solved]),
        np.array([row.bound / row.nu for row in solved]),
        np.array([row.cvar for row in solved]),
    )


def widest_gap(path: ExtendedNuPath) -> float:
    """The nu between two neighbours of the path (or below all) where the bounds are farthest apart.

    Of the middles of its intervals; where a further solve tells most.

    Parameters
    ----------
    path : ExtendedNuPath
        Solved rows.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.extended_nu_path(data, [0.05, 0.1, 0.2])
    >>> 0 < tm.paths.widest_gap(path) < 0.2
    True
    """
    ends = [0.0, *(row.nu for row in path.rows[::-1])]
    middles = [(left + right) / 2 for left, right in itertools.pairwise(ends)]
    found = cvar_profile(path, middles)
    return float(found.nu[int((found.upper - found.lower).argmax())])


def _least(path: ExtendedNuPath, nu: float) -> float:
    """The least h at nu over the weights of the path."""
    hulls = reduced_hulls(
        path.data, nu=nu, class_balance=path.class_balance, intercept=path.intercept
    )
    return min(support_value(hulls, weight) for weight in path.weights)
