"""What is known of matrix predictors of bounded rank: methods, closing bounds, incumbents.

The search over cones of directions takes ranks 1 and one below full. The alternating machines end
where they cannot improve; their bound is that of the projection SDP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin
from tightmargin.formulations.common.hyperplane import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.matrix.shapes import checked_rank, checked_shape, frame
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.matrix.alternating import matrix_alternating, matrix_incumbent
from tightmargin.solvers.matrix.search import (
    MatrixSearch,
    is_searchable,
    matrix_search,
    search_name,
)
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import named_duals
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.registry import (
    DIRECT,
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.searches import finding_of, register_finding
from tightmargin.solvers.solve import solve

# --- Bounds on the matrix SVM by our own computation: a search over directions, or weak duality --


EXACT = "matrix_svc_bilinear"
CELLS_COVER = {"the cells cover all directions, and no open one holds a better matrix": True}
# Of the search: a few seconds at most.
CELLS, SIDE, ENTRIES, POINTS = 500, 3, 40, 100
ORDER = 30  # of the projection SDP: beyond it takes more than a second or two
RELAXATION = "matrix_svc_projection"
RELAXATION_METHOD = "closed form at the multipliers of the projection SDP"


def matrix_bound(origin: Origin, values: Mapping[str, Array] | None = None) -> Lemma | None:
    """Lower bound on a model of matrix_svc_bilinear; None without one.

    values: with "w" and, unless there is none, "b": where the search starts from.
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
        gap=SEARCH_GAP,
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


MATRIX_SEARCH, ALTERNATING = "matrix-search", "alternating"
PROJECTION = "matrix_svc_projection"
STARTS = 10
WORDS = ("ridge", "shape", "rank", "intercept")


def _factors(origin: Origin, w: Array, b: float) -> dict[str, Array]:
    """Values of the bilinear model: W = U V' as well."""
    size = checked_shape(origin.parameters["shape"], origin.data.d)
    U, V = frame(w, *size, checked_rank(origin.parameters["rank"], *size))
    return {"w": w, "b": np.asarray(b), "U": U.ravel(), "V": V.ravel()}


def _by_search(origin: Origin, limits: Limits) -> Finding:
    """Branch and bound over one direction, from the model's incumbent on."""
    words = {word: origin.parameters[word] for word in (*WORDS, "incumbent")}
    return _finding(origin, matrix_search(origin.data, **words, time_limit=limits.time_limit))


def _finding(origin: Origin, found: MatrixSearch) -> Finding:
    return finding_of(
        found,
        _factors(origin, found.w, found.b),
        MATRIX_SEARCH,
        Lemma(found.bound, search_name(found.cells), CELLS_COVER),
        over="directions",
        effort=f"{found.cells:,} cells",
        cells=found.cells,
    )


register_finding(MatrixSearch, _finding)


def _by_alternating(origin: Origin, limits: Limits) -> Finding:
    """The optimum of any rank cut down to this one, then random factors; the SDP bounds them."""
    words = {word: origin.parameters[word] for word in WORDS}
    starts = limits.options.get("starts", STARTS)
    found = matrix_alternating(
        origin.data, **words, starts=starts, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    stopped = found.stop is StopReason.INTERRUPTED
    relaxed = None if stopped else _projection(origin, words, limits)
    return Finding(
        _factors(origin, found.w, found.b),
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        ALTERNATING,
        bound=_relaxed(relaxed),
        facts={
            "no_duals": "no multipliers: a heuristic has none of the model's rows",
            "starts": len(found.solutions),
            "start_values": [each.objective for each in found.solutions],
            "stop": found.stop,
        },
        message=f"{len(found.solutions)} of {starts} starts, the best ended at "
        f"{found.objective:.9g}",
    )


def _relaxed(result: SolveResult | None) -> Lemma | None:
    """The bound of the projection SDP, which every factored matrix is a point of."""
    if result is None or result.bound is None:
        return None
    words = f"{PROJECTION}: {result.certificate.bound_method}"
    return Lemma(result.bound, words, {"the bound of the SDP is proven": True})


def _projection(origin: Origin, words: Mapping[str, Any], limits: Limits) -> SolveResult:
    model = CATALOGUE[PROJECTION].build(origin.data, **words)
    return solve(model, method=DIRECT, time_limit=limits.time_limit, threads=limits.threads)


def _refuses(origin: Origin) -> str:
    size = checked_shape(origin.parameters["shape"], origin.data.d)
    rank = checked_rank(origin.parameters["rank"], *size)
    if is_searchable(size, rank):
        return ""
    return f"it takes rank 1 and rank {min(size) - 1} of {size[0]} x {size[1]}, not {rank}"


def _leaves_to_search(origin: Origin) -> str:
    m, n = checked_shape(origin.parameters["shape"], origin.data.d)
    if min(m, n) > SIDE or m * n > ENTRIES or origin.data.n > POINTS:
        return ""
    return f"up to {SIDE} rows or columns it proves in seconds what the bilinear model leaves open"


register_method(
    Method(
        MATRIX_SEARCH,
        (EXACT,),
        _by_search,
        "branch and bound over directions, which proves the optimum for ranks 1 and one below full",
        refuses=_refuses,
        automatic=_leaves_to_search,
    )
)
register_method(
    Method(
        ALTERNATING,
        (EXACT,),
        _by_alternating,
        "alternating machines, a good point with the bound of the projection SDP",
        options=("starts",),
        draws=True,
    )
)
register_closing_bounds(ClosingBounds((EXACT,), matrix_bound))


def _incumbent(entry: Entry, data: Any, parameters: Mapping[str, Any]) -> tuple[Array, float]:
    return matrix_incumbent(data.points, parameters)


def _start(model: pyo.ConcreteModel, data: Any, incumbent: tuple[Any, Any]) -> None:
    """Nothing: solvers take no start of a bilinear model."""


register_incumbents(
    IncumbentHeuristic(
        lambda entry: "rank" in entry.parameters,
        _incumbent,
        _start,
        ("ridge", "shape", "rank", "intercept"),
    )
)
