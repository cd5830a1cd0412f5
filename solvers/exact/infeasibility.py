"""A proof of our own that a model has no feasible point, from its linear rows and bounds alone.

With slacks s, t >= 0 every model has a point of

    row_lower <= A x + s - t <= row_upper,   lower <= x <= upper,

and the least of sum (s + t) is 0 when the rows can hold. So a positive lower bound on it, in exact
rational arithmetic, proves that they cannot; its multipliers are a Farkas vector. A violation no
larger than what rounding may have put into the sides proves nothing. Integrality,
quadratic and semidefinite rows only take points away, so that the proof holds with them too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import highs
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.dualization.dual_form import dual_form
from tightmargin.solvers.dualization.when import HIGHS_OPTIONS, worthwhile
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact.lp_bound import exact_lp_bound
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.names import Labels
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

FARKAS = "exact rational Farkas bound: rows and bounds are violated by {:.3g} or more at any point"
CROSSED = "the bounds of {} cross"
# Of the largest side: a fixed variable was moved to the sides in double precision.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Infeasible:
    """A proof that a model has no point, which needs no solver to be checked again.

    Attributes
    ----------
    words : str
        What proves it.
    multipliers : array (m,)
        Farkas vector over the linear rows, positive at a lower side and negative at an upper one;
        zeros where bounds that cross are the proof.
    """

    words: str
    multipliers: Array


def infeasibility_proof(form: StandardForm, limits: Limits) -> str:
    """What proves that a model has no point; an empty string when nothing does."""
    found = find_infeasibility(form, limits)
    return "" if found is None else found.words


def find_infeasibility(form: StandardForm, limits: Limits) -> Infeasible | None:
    """Look for a proof that a model has no point; None when there is none or none is found."""
    zero = np.zeros(len(form.rows))
    crossed = checked_infeasibility(form, zero)
    if crossed is not None or not len(form.rows) or not SOLVERS["highs"].installed:
        return crossed
    elastic = elastic_form(form)
    asked = Limits(time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed)
    dual = dual_form(elastic) if worthwhile(elastic) else None
    try:
        if dual is None:
            claim = highs.run(elastic, classify(elastic), asked)
        else:
            asked = replace(asked, options=HIGHS_OPTIONS)
            claim = dual.recovered(highs.run(dual.form, classify(elastic), asked))
    except NumberError:
        return None  # numbers HiGHS would lose: no proof, and the certificate says so
    if claim.duals is None:
        return None
    # A little less of a Farkas vector is one too, and leaves every multiplier room to be repaired.
    return checked_infeasibility(form, 0.999 * claim.duals.rows)


def checked_infeasibility(form: StandardForm, multipliers: Array) -> Infeasible | None:
    """Check a Farkas vector in rational arithmetic, without any solver; None when it is none."""
    size = np.maximum(1.0, np.minimum(np.abs(form.lower), np.abs(form.upper)))
    crossed = np.flatnonzero(form.lower > form.upper + ROUNDING * size)
    if crossed.size:
        words = CROSSED.format(form.columns.name(int(crossed[0])))
        return Infeasible(words, np.zeros(len(form.rows)))
    if not np.isfinite(multipliers).all() or not multipliers.any():
        return None
    bound = exact_lp_bound(elastic_form(form), multipliers)
    if bound is None or bound <= ROUNDING * _largest_side(form):
        return None
    return Infeasible(FARKAS.format(bound), multipliers)


def _largest_side(form: StandardForm) -> float:
    sides = np.abs(np.concatenate([form.row_lower, form.row_upper]))
    return float(sides[np.isfinite(sides)].max(initial=1.0))


def elastic_form(form: StandardForm) -> StandardForm:
    """The linear program that looks for the least violation of the rows."""
    m, n = len(form.rows), form.n
    up = np.flatnonzero(np.isfinite(form.row_lower))
    down = np.flatnonzero(np.isfinite(form.row_upper))
    size = len(up) + len(down)
    identity = sp.identity(m, format="csc")
    names = Labels(
        ("", form.columns, np.arange(n)), ("shortfall of ", form.rows, up),
        ("excess of ", form.rows, down),
    )  # fmt: skip
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([form.lower, np.zeros(size)]),
        upper=np.concatenate([form.upper, np.full(size, np.inf)]),
        integer=np.zeros(n + size, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + size, n + size)), np.concatenate([np.zeros(n), np.ones(size)]), 0.0
        ),
        sense=1,
        matrix=sp.hstack([form.columnwise, identity[:, up], -identity[:, down]], format="csc"),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )
