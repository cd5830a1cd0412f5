"""The strengthened SDP: rows at true points, values rebuilt, doubts, lifted points."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray

from tests.inside.formulations import (
    RationalPoint,
    closed_slack_bounds,
    margins,
    scale_onto_margin,
    stated_bounds,
    strengthened_model,
    strengthened_points,
    trivial_points,
    zero_one_objective,
)
from tests.inside.solvers import (
    FeasiblePoint,
    StandardForm,
    point_with,
    primal_residual,
    proven_point,
    standard_form,
)
from tests.references.active_sets import zero_one_by_sets
from tests.references.reference_solutions import INTERCEPTS, points
from tests.references.strengthened_sdp import closed_limits, strengthened
from tightmargin.cuts import with_conflicts
from tightmargin.formulations import TrainingData, conic_sdp_strengthened
from tightmargin.solvers import SolveResult, Verdict, solve

PENALTY = 1.3
Array = NDArray[np.float64]
Point = tuple[Array, float]


def solved(model: pyo.ConcreteModel, *, closed: bool = False) -> SolveResult:
    """Certified; or with a proven bound, and a point at least nearly exact.

    Rows that always hold as equations leave no room, and doubles may miss them by their rounding.
    """
    result = solve(model)
    certificate = result.certificate
    assert certificate.verdict is Verdict.CERTIFIED or (closed and certificate.gap <= 2e-6)
    assert certificate.level == "paper"
    return result


def optimum(data: TrainingData, mode: str) -> tuple[Point, float]:
    found = zero_one_by_sets(data, penalty=PENALTY, intercept=mode)
    assert found.w is not None
    assert found.b is not None
    return (found.w, found.b), float(found.objective)


# --- rows ----------------------------------------------------------------------------------------


def definitions(m: pyo.ConcreteModel, data: TrainingData, w: Array, b: float) -> dict[str, Array]:
    """Every variable as its definition says, from the hyperplane alone."""
    v = 1 - margins(data, w, b)
    z, p, q = (v > 0).astype(float), np.maximum(v, 0.0), np.maximum(-v, 0.0)
    weight = np.append(w, b) if m.find_component("b") is not None else w
    for i in range(data.n):
        assert not m.z[i].fixed or m.z[i].value == z[i], f"point {i} is decided the wrong way"
    at = np.asarray(list(m.O), dtype=int)
    found = {"w": w, "b": np.array(b), "W": np.outer(weight, weight), "z": z}
    found |= {"p": p[at], "q": q[at], "s": p[at] ** 2, "r": q[at] ** 2}
    if m.find_component("Y") is not None:
        Y = np.outer(z[at], weight)
        norm2 = float(np.diag(found["W"])[: len(weight) - m.unpriced].sum())
        found |= {"Y": Y.ravel(), "Y_rest": (weight - Y).ravel()}
        found |= {"t": z[at] * norm2, "k": (1 - z[at]) * norm2}
        found["Z"] = np.array([z[i] * z[j] for i, j in m.H])
        found["P"] = np.array([z[i] * p[j] for i, j in m.IJ])
    return found


def worst_row(
    m: pyo.ConcreteModel, form: StandardForm, data: TrainingData, w: Array, b: float
) -> tuple[float, str]:
    """Largest violation of a row or of a bound, relative to the size of its terms."""
    x = point_with(m, form, np.full(form.n, np.nan), definitions(m, data, w, b))
    assert np.isfinite(x).all()
    return primal_residual(form, x)


def good_points(data: TrainingData, mode: str, cutoff: float, seed: int) -> list[Point]:
    """The optimum, points with w = 0 and stretched random ones, all no worse than the cutoff.

    With a free intercept statements are made of points that keep both classes, and of w = 0 with
    b = +-1.
    """
    rng = np.random.default_rng(seed)
    (w, b), _ = optimum(data, mode)
    found = [(t.w, t.b) for t in trivial_points(data, penalty=PENALTY, intercept=mode)]
    if w.any():
        found.append((w, b))
    for _ in range(200):
        near = w + 0.2 * rng.standard_normal(data.d) * np.linalg.norm(w)
        offset = 0.0 if mode == "none" else b + 0.2 * rng.standard_normal()
        wanted = margins(data, near, offset) > rng.uniform(0.1, 1)
        stretched = scale_onto_margin(data, near, offset, wanted)
        found += [] if stretched is None else [stretched]
    return [
        (w, b)
        for w, b in found
        if zero_one_objective(data, w, b, penalty=PENALTY, intercept=mode) <= cutoff
        and (mode != "free" or not w.any() or np.ptp(data.y[margins(data, w, b) >= 1]) == 2)
        and (mode != "free" or w.any() or abs(b) == 1)
    ]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("overlapping", "free"), ("separable", "penalised"), ("unbalanced", "none")],
)
def test_every_row_holds_at_every_point_as_good_as_the_cutoff(kind: str, mode: str) -> None:
    """Separable points have optima without violations: nothing may be taken off the norm there."""
    data = points(kind, 1, n=12)
    point, _ = optimum(data, mode)
    for slack in (0.0, 1.0):
        bounds = closed_slack_bounds(
            data, penalty=PENALTY, intercept=mode, incumbent=point, slack=slack
        )
        bounds = with_conflicts(bounds, data, penalty=PENALTY, intercept=mode)
        m = strengthened_model(
            data, bounds, penalty=PENALTY, intercept=mode, products="cutoff", below_cutoff=True
        )
        m.unpriced, form = int(mode == "free"), standard_form(m)
        good = good_points(data, mode, bounds.cutoff, 0)
        assert len(good) > (5 if slack and kind == "overlapping" else 0)
        for w, b in good:
            assert bounds.admits(data, w, b, mode)
            missed, name = worst_row(m, form, data, w, b)
            assert missed <= 1e-9, f"{name} cuts off {w}, {b}"


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "pairs", "products"),
    [
        ("free", False, "none"), ("penalised", True, "cutoff"), ("none", True, "norm"),
    ],
)  # fmt: skip
def test_value_is_that_of_a_rebuild_row_by_row(mode: str, pairs: bool, products: str) -> None:
    data = points("overlapping", 2, n=7)
    point, best = optimum(data, mode)
    limits = closed_limits(data, mode, PENALTY, best, pairs)
    assert bool(limits.conflicts) is pairs
    expected = strengthened(data, mode, PENALTY, limits, products)
    model = conic_sdp_strengthened(
        data, penalty=PENALTY, intercept=mode, incumbent=point,
        conflicts="pairs" if pairs else "none", products=products,
    )  # fmt: skip
    # There the optimum is below the cutoff, with rows that always hold as equations.
    found = solved(model, closed=(mode, products) == ("penalised", "cutoff"))
    assert found.objective == pytest.approx(expected, rel=1e-6)
    assert found.certificate.unproven == ""


def test_a_relaxation_that_reaches_the_cutoff_says_that_it_is_optimal() -> None:
    data = points("overlapping", 1, n=10)
    point, best = optimum(data, "none")
    words: dict[str, Any] = {"penalty": PENALTY, "intercept": "none", "incumbent": point}
    result = solved(conic_sdp_strengthened(data, conflicts="pairs", products="linear", **words))
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert "it is optimal" in result.certificate.facts["at_cutoff"]
    far = solved(conic_sdp_strengthened(data, **words))
    assert far.objective < best * (1 - 1e-3)
    assert "at_cutoff" not in far.certificate.facts


# --- doubts --------------------------------------------------------------------------------------


def unproven(data: TrainingData, **given: Any) -> str:
    return solve(conic_sdp_strengthened(data, penalty=PENALTY, **given)).certificate.unproven


def test_bounds_of_ours_are_believed_and_what_is_wrong_with_others_is_said() -> None:
    data = points("overlapping", 2, n=10)
    point, _ = optimum(data, "penalised")
    words: dict[str, Any] = {"penalty": PENALTY, "intercept": "penalised"}
    closed = closed_slack_bounds(data, incumbent=point, **words)
    conflicts = with_conflicts(closed, data, **words)
    assert conflicts.conflicts
    v = 1 - margins(data, *point)
    cut, spared = (closed.upper.copy() for _ in range(2))
    cut[v.argmax()], spared[v.argmax()] = v.max() - 0.05, v.max() + 0.05
    tighter = replace(closed, upper=closed.upper - 1e-3)
    carry = "the slack bounds are tighter than their closed form and carry no proof"
    told: list[tuple[Any, str]] = [
        ("derived", ""),
        (closed, ""),
        (replace(closed, upper=closed.upper + 1, proof=""), ""),
        (conflicts, ""),
        (replace(closed, upper=spared), ""),
        (replace(closed, upper=cut), "leave out a known point of objective"),
        (replace(tighter, proof=""), carry),
        (asdict(tighter), carry),
        (replace(closed, cutoff=closed.cutoff - 0.2), "no known point reaches the cutoff"),
        (replace(closed, lower=np.full(10, 0.5)), "no point as good as the cutoff"),
    ]
    for bounds, said in told:
        reason = unproven(data, incumbent=point, slack_bounds=bounds)
        assert said in reason
        assert bool(said) == bool(reason)
    true = next(points for points in conflicts.conflicts if len(points) > 1)
    assert unproven(data, incumbent=point, conflicts=(true,)) == ""
    false = tuple(int(i) for i in np.flatnonzero(margins(data, *point) >= 1)[:2])
    reason = unproven(data, incumbent=point, conflicts=(false,))
    assert reason == f"nothing proves that one of the points {false} is violated"


# --- the lift of a known hyperplane ---------------------------------------------------------------


def proven(model: pyo.ConcreteModel, point: RationalPoint) -> FeasiblePoint | None:
    """What the kernel says of a point of which every coordinate must be given."""
    form = standard_form(model)
    exact: dict[int, Fraction] = {}
    for name, numbers in point.items():
        component = model.find_component(name)
        if component is not None:
            columns, _ = form.columns.of(component)
            pairs = zip(columns.tolist(), numbers, strict=True)
            exact |= {column: number for column, number in pairs if column >= 0}
    assert sorted(exact) == list(range(form.n))
    return proven_point(form, np.full(form.n, 1e9), exact)


@pytest.mark.parametrize(
    ("seed", "kind", "mode"),
    [(1, "overlapping", "free"), (2, "overlapping", "penalised"), (1, "separable", "none")],
)
def test_the_lift_of_an_optimum_is_a_point_of_its_objective(
    seed: int, kind: str, mode: str
) -> None:
    """Cutoff and norm have room for a rounding, and no row may be missed by one."""
    data = points(kind, seed, n=8)
    (w, b), value = optimum(data, mode)
    words: dict[str, Any] = {"penalty": PENALTY, "intercept": mode, "incumbent": (w, b)}
    bounds = stated_bounds(data, "derived", (w, b), "pairs", PENALTY, mode)
    for products in ("none", "linear", "cutoff"):
        model = conic_sdp_strengthened(data, **words, conflicts="pairs", products=products)
        candidates = strengthened_points(data, bounds, mode, w, b)
        found = next(filter(None, (proven(model, point) for point in candidates)), None)
        assert found is not None
        assert found.exact
        constant = standard_form(model).objective.constant
        assert found.value(constant) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_a_hyperplane_that_the_bounds_exclude_has_no_lift(mode: str) -> None:
    data = points("overlapping", 1, n=8)
    (w, b), _ = optimum(data, mode)
    bounds = stated_bounds(data, "derived", (w, b), "none", PENALTY, mode)
    far = 2 * np.sqrt(bounds.norm2) / np.linalg.norm(w)
    model = conic_sdp_strengthened(data, penalty=PENALTY, intercept=mode, incumbent=(w, b))
    candidates = list(strengthened_points(data, bounds, mode, far * w, far * b))
    assert candidates
    assert all(proven(model, point) is None for point in candidates)
