"""Branch and cut: bounds at every interruption, proofs with roundings, steps that lose an optimum.

Its optima beside those found otherwise: tests/cuts/test_searches.py.
"""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import (
    BAND,
    Bound,
    BoxLP,
    Multipliers,
    Rows,
    active_points,
    by_multipliers,
    in_unit,
    largest_entry,
    on_sphere,
    polar_problem,
    proven_bound,
    sphere_cut,
)
from tests.inside.cuts import branch_and_cut as engine
from tests.inside.cuts import node_program as programs
from tests.inside.cuts import sphere_cuts as concavity
from tests.inside.formulations import (
    ReducedHulls,
    reduced_hulls,
    support,
    support_value,
)
from tests.inside.solvers import StopReason
from tests.references.reference_solutions import INTERCEPTS
from tests.support.covering import covering
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import InvalidCutError, branch_and_cut, hull_search, verify_cut


def unit_directions(seed: int, count: int, k: int) -> np.ndarray:
    w = np.random.default_rng(seed).standard_normal((count, k))
    return w / np.linalg.norm(w, axis=1, keepdims=True)


# --- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [StopReason.TIME_LIMIT, StopReason.INTERRUPTED])
def test_the_clock_and_ctrl_c_keep_point_and_bound(
    stop: StopReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a step that the number of nodes sets: the clock jumps there, or Ctrl-C is pressed."""
    data = cloud(7, 150, 5)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective
    process = engine.BoxSearch._process

    def pressed(self: Any, *arguments: Any) -> None:
        process(self, *arguments)
        if self.steps == 40:
            if stop is StopReason.INTERRUPTED:
                signal.raise_signal(signal.SIGINT)
                assert self.asked_to_stop.wait(60), "the main thread hears it, and asks"
            self.began -= 1e6

    monkeypatch.setattr(engine.BoxSearch, "_process", pressed)
    limit = 1e5 if stop is StopReason.TIME_LIMIT else None
    found = branch_and_cut(data, nu=nu, time_limit=limit)
    assert found.stop is stop, found.message
    assert found.steps == 40
    assert 0 < found.bound <= optimum <= found.objective * (1 + 1e-9)
    hulls = reduced_hulls(data, nu=nu)
    w = found.best.values["w"]
    assert found.objective == pytest.approx(support_value(hulls, w), rel=1e-12)
    at_once = branch_and_cut(data, nu=nu, time_limit=1e-9)
    assert -1e-9 < at_once.bound <= optimum <= at_once.objective * (1 + 1e-9)


@pytest.mark.parametrize("n", [40, 300])
def test_a_solver_that_lies_costs_bounds_and_never_truth(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multipliers that are noise, nan or huge: a bound that may be poor, and a true one."""
    data = cloud(3, n, 3)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective
    rng = np.random.default_rng(0)
    honest = programs._solution
    lies: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda x: x + rng.normal(0, 0.1, x.shape),
        lambda x: np.where(rng.random(x.shape) < 0.2, np.nan, x),
        lambda x: x * 1e12,
        lambda x: -x,
        np.zeros_like,
    ]
    for lie in lies:

        def lying(lp: Any, k: int, lie: Any = lie) -> Any:
            x, weight = honest(lp, k)
            return lie(x), weight

        monkeypatch.setattr(programs, "_solution", lying)
        found = branch_and_cut(data, nu=nu, node_limit=60, starts=3)
        assert found.bound <= optimum * (1 + 1e-12)
        assert found.objective >= optimum * (1 - 1e-9)
    monkeypatch.undo()
    assert branch_and_cut(data, nu=nu).proven


# --- boxes ---------------------------------------------------------------------------------------


def test_boxes_off_the_sphere_are_empty_and_tight_ones_shrink() -> None:
    assert on_sphere(np.array([0.8, 0.8]), np.array([1.0, 1.0])) is None
    assert on_sphere(np.array([-0.5, -0.5]), np.array([0.5, 0.5])) is None
    box = on_sphere(np.array([0.0, -0.6]), np.array([1.0, 0.6]))
    assert box is not None
    assert box[0] == pytest.approx([0.8, -0.6], abs=1e-11)
    single = on_sphere(np.array([-0.3]), np.array([1.0]))
    assert single is not None
    assert single[0] == pytest.approx([1.0], abs=1e-11)


# --- bounds of nodes -----------------------------------------------------------------------------


def some_hulls(seed: int, n: int, d: int) -> ReducedHulls:
    data = cloud(seed, n, d)
    return in_unit(polar_problem(data, nu=below_nu_bar(data, 0.5)).hulls)[0]


def node(seed: int, k: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centre = unit_directions(seed, 1, k)[0]
    box = on_sphere(centre - rng.uniform(0, width, k), centre + rng.uniform(0, width, k))
    assert box is not None
    return box


def test_the_bound_is_below_its_formula_in_fractions() -> None:
    """With h's own multipliers, which lie in U exactly as far as floats can say."""
    for seed in range(30):
        hulls = some_hulls(seed % 6, 40, 4)
        rng = np.random.default_rng(seed)
        box = node(seed, 4, 0.4)
        shares = support(hulls, unit_directions(seed, 1, 4)[0]).multipliers
        tau, sigma = float(rng.uniform(0, 0.3)), rng.uniform(0, 0.1, 2)
        rows = Rows(rng.normal(0, 1, (2, 4)), rng.normal(0, 1, 2))
        found = proven_bound(
            hulls, largest_entry(hulls), Multipliers(shares, tau, sigma), box, rows, 0.2
        )
        low, high = ([Fraction(x) for x in side.tolist()] for side in box)
        exact_tau, level = Fraction(tau), Fraction(0.2)
        total = exact_tau * (1 + sum(a * b for a, b in zip(low, high, strict=True)))
        weights = [Fraction(s) for s in sigma.tolist()]
        total -= level * sum(
            s * Fraction(b) for s, b in zip(weights, rows.sides.tolist(), strict=True)
        )
        for j in range(4):
            column = hulls.signed[:, j].tolist()
            r = -sum(
                Fraction(s) * Fraction(z) for s, z in zip(shares.tolist(), column, strict=True)
            )
            r -= exact_tau * (low[j] + high[j])
            r += sum(
                s * Fraction(a) for s, a in zip(weights, rows.normals[:, j].tolist(), strict=True)
            )
            total += min(r * low[j], r * high[j])
        assert Fraction(found.value) < total
        assert float(total) - found.value < 1e-11


@pytest.mark.parametrize(
    ("balance", "mode", "band"),
    covering(("uniform", "balanced", "given"), INTERCEPTS, (1, BAND)),
)
def test_few_points_in_doubt_give_the_bound_of_all_points(
    balance: str, mode: str, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A band of 1 is too small for most rays: then all points are asked."""
    monkeypatch.setattr(active_points, "BAND", band)
    data = cloud(1, 400, 3, share=0.4)
    weights: Any = balance
    if balance == "given":
        weights = np.random.default_rng(0).uniform(0.5, 2.0, data.n)
        weights /= weights.sum()
    nu = below_nu_bar(data, 0.5, class_balance=weights, intercept=mode)
    problem = polar_problem(data, nu=nu, class_balance=weights, intercept=mode)
    hulls, _ = in_unit(problem.hulls)
    program = BoxLP(hulls)
    part = whole = 0
    for seed in range(20):
        box = node(seed, hulls.k, 0.3)
        exact = program.solve(*box, 1.0)
        hint = unit_directions(seed, 1, hulls.k)[0]
        before = program.solves
        level = 1.05 * exact.bound.value
        found = program.solve(*box, level, hint)
        assert found.bound.value <= exact.bound.value + 1e-9
        short = exact.bound.value - found.bound.value
        assert short <= programs.NEARLY * (level - found.bound.value) + 1e-9
        part += program.solves - before
        whole += 1
        # A ray has its exact end either way.
        near, _ = program.shoot(hint, nearby=True)
        far, _ = program.shoot(hint)
        assert near.secant == pytest.approx(far.secant, rel=1e-9)
    assert band == 1 or part <= 3 * whole


def test_a_ray_that_ends_at_its_box_is_shot_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hulls = some_hulls(1, 400, 3)
    program = BoxLP(hulls)
    exact = [program.shoot(w)[0].secant for w in unit_directions(0, 30, 3)]
    monkeypatch.setattr(programs, "RAY_BOX", 0.6)
    near = [program.shoot(w, nearby=True)[0].secant for w in unit_directions(0, 30, 3)]
    assert near == pytest.approx(exact, rel=1e-9)


def test_tightening_moves_sides_as_far_as_the_bound_says() -> None:
    bound = Bound(1.0, np.array([2.0, -4.0, 0.0]))
    box = by_multipliers(bound, -np.ones(3), np.ones(3), 2.0)
    assert box is not None
    assert box[0] == pytest.approx([-1.0, 0.75, -1.0], abs=1e-11)
    assert box[1] == pytest.approx([-0.5, 1.0, 1.0], abs=1e-11)
    assert by_multipliers(bound, -np.ones(3), np.ones(3), 0.0) is None


# --- cuts ----------------------------------------------------------------------------------------


def corner_weights(hulls: ReducedHulls, count: int) -> list[np.ndarray]:
    program = BoxLP(hulls)
    return [program.local_search(w)[0] for w in unit_directions(0, count, hulls.k)]


def test_a_cut_is_proven_only_with_correct_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    hulls = some_hulls(3, 40, 3)
    weight = corner_weights(hulls, 1)[0]
    level = support_value(hulls, weight) * (1 - 1e-6)
    assert sphere_cut(hulls, weight, level) is not None
    # Steps of a tenth more leave the ball: the check sees it.
    steps = concavity.steps_to_norm
    monkeypatch.setattr(concavity, "steps_to_norm", lambda *given: 1.1 * steps(*given))
    assert sphere_cut(hulls, weight, level) is None
    monkeypatch.undo()
    # An inverse that is none has no error bound.
    inverse = np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda rows: inverse(rows) * 1.01)
    assert sphere_cut(hulls, weight, level) is None
    monkeypatch.undo()
    # A shallow one is not worth its row.
    with monkeypatch.context() as patch:
        patch.setattr(concavity, "LEAST_DEPTH", 1e9)
        assert sphere_cut(hulls, weight, level) is None
    # Nor is there a cone where no rows are independent.
    monkeypatch.setattr(concavity, "nnls", lambda rows, foot: (np.zeros(rows.shape[1]), 0.0))
    monkeypatch.setattr(concavity, "independent_rows", lambda rows, k: None)
    assert sphere_cut(hulls, weight, level) is None


def test_cuts_shrink_the_tree_and_follow_from_their_origin() -> None:
    data = cloud(3, 60, 3)
    nu = below_nu_bar(data, 0.5)
    without = branch_and_cut(data, nu=nu, cut_limit=0)
    found = branch_and_cut(data, nu=nu)
    assert found.steps < without.steps
    assert without.cuts == ()
    assert len(found.cuts) >= 1
    for cut in found.cuts:
        verify_cut(cut, found.problem)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["proven"]
    assert len(document["cuts"]) == len(found.cuts)


# --- known points --------------------------------------------------------------------------------


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A search that knows the optimum, and whose incumbent stays poor: it has to keep a box."""
    data = cloud(3, 60, 3)
    nu = below_nu_bar(data, 0.5)
    best = hull_search(data, nu=nu).best.weight
    monkeypatch.setattr(
        BoxLP, "local_search", lambda self, w: (w / np.linalg.norm(w), float("inf"))
    )
    monkeypatch.setattr(engine.BoxSearch, "_try", lambda self, weight: None)
    return partial(
        branch_and_cut, data, nu=nu, debug_solution=best, starts=1, start=[[1.0, 0.2, -0.3]]
    )


def empty_below_the_root() -> Any:
    """Shrinks the first box it meets as it should, and calls every other one empty."""
    calls = itertools.count()
    return lambda lower, upper: None if next(calls) else on_sphere(lower, upper)


solve_box = BoxLP.solve


def twice_the_bound(self: Any, *arguments: Any) -> Any:
    found = solve_box(self, *arguments)
    return type(found)(Bound(found.bound.value * 2, found.bound.slope), found.weight)


def through_the_weight(hulls: Any, weight: np.ndarray, level: float) -> Any:
    """A cut at a weight whose normal is the known optimum."""
    best = hull_search(cloud(3, 60, 3), nu=below_nu_bar(cloud(3, 60, 3), 0.5)).best.weight
    return replace(sphere_cut(hulls, best, 1e-3), normal=best)


@pytest.mark.parametrize(
    ("place", "name", "wrong", "words"),
    [
        (
            engine, "by_multipliers",
            lambda bound, lower, upper, goal: (lower + 0.2 * (upper - lower), upper),
            "tightening by multipliers drops a known point",
        ),
        (engine, "on_sphere", empty_below_the_root(), "the norm row drops a known point"),
        (
            engine, "root_box", lambda program, level: (np.zeros(3), np.ones(3) * 0.1),
            "the root's box drops a known point",
        ),
        (BoxLP, "solve", twice_the_bound, r"a node's bound .* drops a known point"),
        (engine, "sphere_cut", through_the_weight, r"the concavity cut at .* removes a known"),
    ],
)  # fmt: skip
def test_a_step_that_loses_a_known_point_is_named(
    place: Any, name: str, wrong: Any, words: str, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, wrong)
    with pytest.raises(InvalidCutError, match=words):
        known(node_limit=400)
