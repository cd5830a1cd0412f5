"""Bounds on the matrix SVM by our own computation: a search over directions, or weak duality."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.multipliers import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.matrix.shapes import checked_rank, checked_shape
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import named_duals
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.matrix.branch_and_bound import (
    GAP,
    is_searchable,
    matrix_search,
    search_name,
)
from tightmargin.solvers.standard_form.standard_form import standard_form

EXACT = "matrix_svc_bilinear"
CELLS_COVER = {"the cells cover all directions, and no open one holds a better matrix": True}
# Of the search: a few seconds at most.
CELLS, SIDE, ENTRIES, POINTS = 500, 3, 40, 100
ORDER = 30  # of the projection SDP: beyond it takes more than a second or two
RELAXATION = "matrix_svc_projection"
RELAXATION_METHOD = "closed form at the multipliers of the projection SDP"


def matrix_bound(origin: Origin, values: Mapping[str, Array] | None = None) -> Lemma | None:
    """Lower bound on a model of matrix_svc_bilinear; None without one.

    Parameters
    ----------
    values : mapping, optional
        With "w" and, unless there is none, "b": where the search starts from.
    """
    data, words = origin.data, origin.parameters
    m, n = checked_shape(words["shape"], data.d)
    rank = checked_rank(words["rank"], m, n)
    if not SOLVERS["clarabel"].installed:
        return None
    small = min(m, n) <= SIDE and m * n <= ENTRIES and data.n <= POINTS
    if not (small and is_searchable((m, n), rank)):
        return _relaxed_bound(origin)
    known = None
    if values is not None and "w" in values:
        known = np.asarray(values["w"], dtype=float), float(values.get("b", 0.0))
    found = matrix_search(
        data,
        ridge=words["ridge"],
        shape=(m, n),
        rank=rank,
        intercept=words["intercept"],
        incumbent=known,
        gap=GAP,
        cell_limit=CELLS,
    )
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    done = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(found.bound, done + search_name(found.cells), CELLS_COVER)


def _relaxed_bound(origin: Origin) -> Lemma | None:
    """Closed form at the multipliers of the projection SDP, if it is small."""
    data, words = origin.data, origin.parameters
    if sum(checked_shape(words["shape"], data.d)) > ORDER or data.n > POINTS:
        return None
    given = {word: words[word] for word in ("ridge", "shape", "rank", "intercept")}
    form = standard_form(CATALOGUE[RELAXATION].build(data, **given))
    claim = clarabel.run(form, classify(form), Limits())
    if claim.duals is None:
        return None
    alpha = named_duals(form, claim.duals)["margin"]
    boxed = {"alpha is put into [0, 1] and balanced": bool(np.isfinite(alpha).all())}
    return Lemma(projection_value(origin, alpha), RELAXATION_METHOD, boxed)


def projection_value(origin: Origin, alpha: ArrayLike) -> float:
    """Lower bound on matrix_svc_bilinear and its projection SDP from multipliers alone.

        sum alpha - 1/(2 ridge) (sum of the squares of the `rank` largest singular values of A)

    with A = sum_i alpha_i y_i X_i, alpha put into [0, 1] and balanced for a free intercept; less
    (y'alpha)^2 / (2 ridge) for a penalised one. At the multipliers of `margin` of the SDP it is
    the optimum of the SDP.
    """
    data, words = origin.data, origin.parameters
    m, n = checked_shape(words["shape"], data.d)
    rank = checked_rank(words["rank"], m, n)
    a = np.asarray(alpha, dtype=float)
    if a.shape != (data.n,) or not np.isfinite(a).all():
        return -math.inf
    a = balanced_alpha(a, data.y, np.ones(data.n), words["intercept"])
    signed = a * data.y
    mass, unit = float(a.sum()), float(np.finfo(float).eps)
    A = np.reshape(signed @ data.X, (m, n))
    # Of the entries, each a sum of n products, and of the singular values, in the Frobenius norm.
    size = float(np.linalg.norm(a @ np.abs(data.X)))
    error = unit * ((data.n + 4) * size + 8 * (m + n) * float(np.linalg.norm(A)))
    sizes = np.linalg.svd(A, compute_uv=False)[:rank] + error
    squares = float(sizes @ sizes)
    if words["intercept"] == "penalised":
        squares += (abs(float(signed.sum())) + data.n * unit * mass) ** 2
    value = squares / (2 * words["ridge"])
    left = 0.0
    if words["intercept"] == "free":
        left = (abs(float(signed.sum())) + data.n * unit * mass) * _reach(origin)
    return mass - value - left - unit * (data.n + 16) * (mass + value)


def _reach(origin: Origin) -> float:
    """A bound on |b| of an optimum with a free intercept.

    w = 0 and b = 1 or -1 costs twice the smaller class, which bounds ridge / 2 ||w||^2, and some
    best b is a breakpoint y_i - <w, x_i> of the loss.
    """
    data = origin.data
    norm = math.sqrt(4 * min(data.n_pos, data.n_neg) / origin.parameters["ridge"])
    return (1 + norm * float(np.linalg.norm(data.X, axis=1).max())) * (1 + 1e-12)
