"""Every search below nu_bar beside optima found otherwise; their bounds, proofs and every stop.

tests/soundness/searches.py asks 300 instances."""

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
from scipy.spatial import ConvexHull, QhullError

from tests.inside import cuts as inner
from tests.inside import formulations as forms
from tests.inside.solvers import StopReason
from tests.references.extended_nu import (
    assert_values_are_the_objective,
    nearest_facet,
)
from tests.references.polytope_corners import gauss
from tests.references.reference_solutions import INTERCEPTS, points
from tests.soundness.searches import WAYS, Instance, faults, instance
from tests.support.covering import FULL, covering
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import InvalidCutError, branch_and_cut, hull_search, verify_cut
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

TOLERANCE = 1e-6  # the default of each search
FAST = {"branch_and_cut": branch_and_cut, "hull_search": hull_search}


def hold(found: Any, optimum: float) -> None:
    """Proven beside an optimum known otherwise; both ends only ever improve, around it."""
    assert found.proven, found.message
    assert found.stop is StopReason.PROVEN
    best = found.best.objective
    boxes = getattr(found, "engine", "") == "branch_and_cut"
    assert best == pytest.approx(optimum, rel=TOLERANCE if boxes else 1e-8)
    assert best >= optimum * (1 - 1e-9)
    assert found.bound <= optimum * (1 + 1e-9)
    assert best - found.bound <= 1.001 * TOLERANCE * best
    lower, upper = ([getattr(state, end) for state in found.trace] for end in ("lower", "upper"))
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[-1] == found.bound
    assert upper[-1] == pytest.approx(best, rel=1e-8)
    count = "lp_solves" if isinstance(found, inner.CuttingPlaneResult) else "steps"
    counts = [getattr(state, count) for state in found.trace]
    assert counts == sorted(counts)
    assert counts[-1] == getattr(found, count)
    if count == "steps":
        return
    assert "exact rational bound" in found.proof
    # No cut gives away more than the tolerance says.
    given_away = max((cut.origin.gamma for cut in found.cuts), default=0.0) * best
    assert given_away <= (1 + found.tolerance) * (1 + 1e-12)


def weights_of(data: TrainingData, balance: str) -> Any:
    if balance != "given":
        return balance
    weights = np.random.default_rng(0).uniform(0.2, 1.0, data.n)
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("way", "d", "mode", "balance", "kind"),
    covering(
        WAYS, (1, 2, 3), INTERCEPTS, ("uniform", "balanced", "given"),
        ("overlapping", "unbalanced"),
        allowed=lambda way, d, mode, *_: way in FAST or d + (mode == "penalised") < 4,
    ),
)  # fmt: skip
def test_it_is_the_nearest_of_all_facets(
    way: str, d: int, mode: str, balance: str, kind: str
) -> None:
    data = points(kind, 5, n=9, d=d)
    weights = weights_of(data, balance)
    caps = forms.loss_weights(data, weights)
    nu = below_nu_bar(data, 0.6, class_balance=weights, intercept=mode)
    found = WAYS[way](data, nu=nu, class_balance=weights, intercept=mode)
    hold(found, nearest_facet(data, mode, nu, caps))
    assert_values_are_the_objective(found, data, mode, nu, caps)
    assert ("b" in found.best.values) == (mode != "none")
    # The point meets the rows, and its loss is the objective.
    w, b, rho, xi = (found.best.values.get(name, 0.0) for name in ("w", "b", "rho", "xi"))
    assert (data.y * (data.X @ w + b) - rho + xi >= -1e-12).all()
    assert -nu * rho + caps @ xi == pytest.approx(found.best.objective, abs=1e-12)
    for cut in found.cuts if isinstance(found, inner.CuttingPlaneResult) else ():
        verify_cut(cut, found.problem, found.cuts)


# Each of the first ended "numerical" once: next to nu_bar, with equal points, at nu_max.
LOST = (0, 13, 16, 20, 33, 36, 44, 60, 85)
OTHERS = (1, 5, 6, 18, 25, 34)


def drawn(number: int) -> Instance:
    return instance(np.random.default_rng((1, number)), number)


@pytest.mark.parametrize("number", LOST + (OTHERS if FULL else ()))
def test_every_search_proves_the_same_optimum(number: int) -> None:
    wrong, ends = faults(drawn(number))
    assert wrong == []
    assert all(end.endswith("proven") for end in ends), ends


@pytest.mark.parametrize(
    ("way", "factor"),
    [
        *itertools.product(FAST, (1e-8, 0.3, 1e7)),
        *zip(("projected", "lifted", "literal"), (1e-8, 1e-3, 1e8), strict=True),
    ],
)
def test_scaled_points_scale_both_ends(way: str, factor: float) -> None:
    data = cloud(1, 30, 3) if way in FAST else gauss(7, 24, 2)
    nu = below_nu_bar(data, 0.5)
    scaled = WAYS[way](TrainingData(factor * data.X, data.y), nu=nu)
    hold(scaled, factor * hull_search(data, nu=nu).objective)


@pytest.mark.parametrize("way", WAYS)
def test_an_optimum_of_0_below_nu_bar_is_proven(way: str) -> None:
    """Equal points of both labels on a line between the classes: 0 is on the boundary of U."""
    X = [[0, 0], [0, 1], [0, 2], [1, 0], [0, 0], [0, 1], [0, 2], [-1, 1]]
    data = TrainingData(np.array(X, dtype=float), [1, 1, 1, 1, -1, -1, -1, -1])
    found = WAYS[way](data, nu=below_nu_bar(data, 0.5))
    assert found.proven
    assert abs(found.best.objective) <= 1e-12
    assert abs(found.bound) <= 1e-10
    assert np.abs(found.best.values["w"]) == pytest.approx([1.0, 0.0], abs=1e-6)


BY_TURNS = np.resize([1.0, -1.0], 12)


@pytest.mark.parametrize("excess", [0.0, 4e-13, 9e-13])
@pytest.mark.parametrize("way", FAST)
def test_a_mass_that_is_nearly_a_multiple_of_the_caps_is_given_whole(
    way: str, excess: float
) -> None:
    """Beside h in fractions, on a line and in the plane: the sort leaves 1e-12 of a mass out."""
    for seed, d in itertools.product(range(6), (1, 2)):
        rng = np.random.default_rng(seed)
        data = TrainingData(rng.normal(size=(12, d)) + BY_TURNS[:, None], BY_TURNS)
        shares = [nu for nu in (2 / 12, 4 / 12, 6 / 12, 8 / 12) if nu_range(data).side(nu) < 0]
        if shares:
            assert bound_in_fractions(way, data, shares[-1] * (1 + excess)) > 0


@pytest.mark.parametrize("way", FAST)
def test_a_coordinate_next_to_the_mean_counts(way: str) -> None:
    """Far from 0, where what is left of it is as small as a rounding of the points."""
    looked_at = 0
    for seed, d in itertools.product(range(6), (1, 2)):
        X = 1e6 + np.random.default_rng(seed).normal(size=(12, d)) + 0.3 * BY_TURNS[:, None]
        for i in (0, 1):  # both take part at every direction
            X[i] = np.delete(X, i, axis=0).mean(axis=0) + (-1) ** i * 4e-9
        data = TrainingData(X, BY_TURNS)
        nu = below_nu_bar(data, 0.9)
        if nu > 0:  # not separable
            looked_at += bound_in_fractions(way, data, nu) > 0
    assert looked_at > 6


def bound_in_fractions(way: str, data: TrainingData, nu: float) -> float:
    """The bound of a search, which h at its own weight, in fractions, is not below."""
    found = FAST[way](data, nu=nu, absolute=0.0, tolerance=1e-9)
    w, total = fractions(found.best.weight), Fraction(0)
    cap = Fraction(float(forms.loss_weights(data, "uniform")[0]))
    for sign in (1, -1):  # each class gives nu / 2 of its lowest scores
        left = Fraction(nu) / 2
        for score in sorted(sign * (fractions(data.X[data.y == sign]) @ w)):
            share = min(left, cap)
            total, left = total - share * score, left - share
    assert (w @ w) * Fraction(found.bound) ** 2 <= total**2
    return float(found.bound)


fractions = np.vectorize(Fraction, otypes=[object])


def test_nearly_flat_facets_of_rounded_points_are_proven() -> None:
    """Qhull stops at these unless wide merges are allowed, and then has to be checked."""
    for seed, n in [(20, 12), (35, 12), (72, 14)]:
        data = cloud(seed, n, 4, distance=2.0, rounded=True)
        assert data is not None
        found = hull_search(data, nu=below_nu_bar(data, 0.5))
        assert found.proven, found.message
        other = branch_and_cut(data, nu=below_nu_bar(data, 0.5))
        # One of the optima is 0, a sum of terms that cancel: n roundings of the largest of them.
        rounding = n * np.finfo(float).eps * np.abs(data.X).max()
        assert other.bound <= found.objective + rounding
        assert found.objective <= other.objective * (1 + 1e-9) + rounding


def test_a_failure_of_qhull_is_named_and_boxes_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cloud(7, 60, 4)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective

    class Failing(ConvexHull):
        def add_points(self, new: Any) -> None:
            if len(self.points) > 40:
                raise QhullError("QH6271 topology error\nand more")
            super().add_points(new)

    monkeypatch.setattr(inner.hull_search, "ConvexHull", Failing)
    found = hull_search(data, nu=nu)
    assert found.proven
    assert found.engine == "branch_and_cut"
    assert found.message.startswith("Qhull gave up: QH6271 topology error; branch and cut went on")
    assert found.bound <= optimum
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    # Without the solver of branch and cut a bound is left that the failure did not touch.
    monkeypatch.setattr(inner.hull_search, "has_highspy", lambda: False)
    alone = hull_search(data, nu=nu)
    assert alone.stop is StopReason.NUMERICAL
    assert alone.message == "Qhull gave up: QH6271 topology error"
    assert alone.bound <= optimum <= alone.objective


def test_facets_that_do_not_close_up_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cloud(1, 30, 3)
    nu = below_nu_bar(data, 0.5)

    take = inner.hull_search.HullSearch._take

    def torn(self: Any, hull: Any) -> None:
        take(self, hull)
        found = self.surface
        self.surface = inner.Surface(
            found.points, found.simplices[1:], found.normals[1:], found.offsets[1:]
        )

    monkeypatch.setattr(inner.hull_search.HullSearch, "_take", torn)
    monkeypatch.setattr(inner.hull_search, "has_highspy", lambda: False)
    found = hull_search(data, nu=nu)
    assert found.stop is StopReason.NUMERICAL
    assert -1e-12 <= found.bound <= 0.0
    assert "could not be shown to enclose 0" in found.message


CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))


def test_the_cube_holds_the_unit_ball_and_pieces_of_it_nothing() -> None:
    """Nobody's normals are needed, and wrong ones do no harm."""
    hull = ConvexHull(CUBE)
    simplices, normals = hull.simplices.astype(np.int64), hull.equations[:, :-1]
    towards_corners, missing = CUBE[simplices[:, 0]], np.full_like(normals, np.nan)
    for other in (normals, np.roll(normals, 1, axis=1), towards_corners, missing):
        radius = inner.enclosed_radius(CUBE, simplices, other)
        assert radius == pytest.approx(1.0, abs=1e-12)
        assert radius <= 1.0
    assert inner.enclosed_radius(CUBE + np.array([2.0, 0.0, 0.0]), simplices, normals) is None
    for k in range(len(simplices)):
        kept = np.delete(simplices, k, axis=0)
        assert inner.enclosed_radius(CUBE, kept, np.delete(normals, k, axis=0)) is None
    twice = np.vstack([simplices, simplices])
    assert inner.enclosed_radius(CUBE, twice, np.vstack([normals, normals])) is None
    ends, simplices = np.array([[-2.0], [3.0]]), np.array([[0], [1]])
    normals = np.array([[-1.0], [1.0]])
    assert inner.enclosed_radius(ends, simplices, normals) == pytest.approx(2.0, abs=1e-12)
    assert inner.enclosed_radius(ends + 4, simplices, normals) is None


def unit_directions(seed: int, count: int, k: int) -> np.ndarray:
    w = np.random.default_rng(seed).standard_normal((count, k))
    return w / np.linalg.norm(w, axis=1, keepdims=True)


@pytest.mark.parametrize("stop", [StopReason.TIME_LIMIT, StopReason.INTERRUPTED])
@pytest.mark.parametrize(
    ("search", "inside", "name", "points", "step"),
    [(hull_search, inner.hull_search.HullSearch, "_outside", (7, 60, 4), 4),
     (branch_and_cut, inner.branch_and_cut.BoxSearch, "_process", (7, 150, 5), 40)],
)  # fmt: skip
def test_the_clock_and_ctrl_c_keep_point_and_bound(
    search: Any, inside: Any, name: str, points: Any, step: int, stop: StopReason,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """At a step of the search: the clock jumps there, or Ctrl-C is pressed."""
    data = cloud(*points)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective
    do = getattr(inside, name)

    def pressed(self: Any, *arguments: Any) -> Any:
        if self.steps == step and stop is StopReason.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
            assert self.asked_to_stop.wait(60), "the main thread hears it, and asks"
        self.began -= 1e6 * (self.steps == step)
        return do(self, *arguments)

    monkeypatch.setattr(inside, name, pressed)
    found = search(data, nu=nu, time_limit=1e5 if stop is StopReason.TIME_LIMIT else None)
    assert found.stop is stop, found.message
    assert found.steps in (step, step + 1)
    assert 0 < found.bound <= optimum <= found.objective * (1 + 1e-9)
    w = found.best.values["w"]
    at = forms.support_value(forms.reduced_hulls(data, nu=nu), w)
    assert found.objective == pytest.approx(at, rel=1e-12)
    at_once = search(data, nu=nu, time_limit=1e-9)
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
    honest = inner.node_program._solution
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

        monkeypatch.setattr(inner.node_program, "_solution", lying)
        found = branch_and_cut(data, nu=nu, node_limit=60, starts=3)
        assert found.bound <= optimum * (1 + 1e-12)
        assert found.objective >= optimum * (1 - 1e-9)
    monkeypatch.undo()
    assert branch_and_cut(data, nu=nu).proven


def some_hulls(seed: int, n: int, d: int) -> forms.ReducedHulls:
    data = cloud(seed, n, d)
    return inner.in_unit(inner.polar_problem(data, nu=below_nu_bar(data, 0.5)).hulls)[0]


def node(seed: int, k: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centre = unit_directions(seed, 1, k)[0]
    box = inner.on_sphere(centre - rng.uniform(0, width, k), centre + rng.uniform(0, width, k))
    assert box is not None
    return box


def test_the_bound_is_below_its_formula_in_fractions() -> None:
    """With h's own multipliers, which lie in U exactly as far as floats can say."""
    for seed in range(30):
        hulls = some_hulls(seed % 6, 40, 4)
        rng = np.random.default_rng(seed)
        box = node(seed, 4, 0.4)
        shares = forms.support(hulls, unit_directions(seed, 1, 4)[0]).multipliers
        tau, sigma = float(rng.uniform(0, 0.3)), rng.uniform(0, 0.1, 2)
        rows = inner.Rows(rng.normal(0, 1, (2, 4)), rng.normal(0, 1, 2))
        found = inner.proven_bound(
            hulls, inner.largest_entry(hulls), inner.Multipliers(shares, tau, sigma), box, rows, 0.2
        )
        low, high = map(fractions, box)
        r = fractions(sigma) @ fractions(rows.normals) - fractions(shares) @ fractions(hulls.signed)
        r = r - Fraction(tau) * (low + high)
        total = Fraction(tau) * (1 + low @ high) + np.minimum(r * low, r * high).sum()
        total -= Fraction(0.2) * (fractions(sigma) @ fractions(rows.sides))
        assert Fraction(found.value) < total
        assert float(total) - found.value < 1e-11


@pytest.mark.parametrize(
    ("balance", "mode", "band"),
    covering(("uniform", "balanced", "given"), INTERCEPTS, (1, inner.BAND)),
)
def test_few_points_in_doubt_give_the_bound_of_all_points(
    balance: str, mode: str, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A band of 1 is too small for most rays: then all points are asked."""
    monkeypatch.setattr(inner.active_points, "BAND", band)
    data = cloud(1, 400, 3, share=0.4)
    weights = weights_of(data, balance)
    nu = below_nu_bar(data, 0.5, class_balance=weights, intercept=mode)
    problem = inner.polar_problem(data, nu=nu, class_balance=weights, intercept=mode)
    hulls, _ = inner.in_unit(problem.hulls)
    program = inner.BoxLP(hulls)
    part = 0
    for seed in range(20):
        box = node(seed, hulls.k, 0.3)
        exact = program.solve(*box, 1.0)
        hint = unit_directions(seed, 1, hulls.k)[0]
        before = program.solves
        level = 1.05 * exact.bound.value
        found = program.solve(*box, level, hint)
        assert found.bound.value <= exact.bound.value + 1e-9
        short = exact.bound.value - found.bound.value
        assert short <= inner.node_program.NEARLY * (level - found.bound.value) + 1e-9
        part += program.solves - before
        # A ray has its exact end either way.
        near, _ = program.shoot(hint, nearby=True)
        far, _ = program.shoot(hint)
        assert near.secant == pytest.approx(far.secant, rel=1e-9)
    assert band == 1 or part <= 60


def test_a_cut_is_proven_only_with_correct_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    hulls = some_hulls(3, 40, 3)
    weight, _ = inner.BoxLP(hulls).local_search(unit_directions(0, 1, hulls.k)[0])
    level = forms.support_value(hulls, weight) * (1 - 1e-6)
    assert inner.sphere_cut(hulls, weight, level) is not None
    own, steps, inverse = inner.sphere_cuts, inner.sphere_cuts.steps_to_norm, np.linalg.inv
    wrong: tuple[list[tuple[Any, str, Any]], ...] = (
        [(own, "steps_to_norm", lambda *given: 1.1 * steps(*given))],  # they leave the ball
        [(np.linalg, "inv", lambda rows: inverse(rows) * 1.01)],  # no inverse has no error bound
        [(own, "LEAST_DEPTH", 1e9)],  # a shallow cut is not worth its row
        # No rows are independent: there is no cone.
        [(own, "nnls", lambda rows, foot: (np.zeros(rows.shape[1]), 0.0)),
         (own, "independent_rows", lambda rows, k: None)],
    )  # fmt: skip
    for changes in wrong:
        with monkeypatch.context() as patch:
            for change in changes:
                patch.setattr(*change)
            assert inner.sphere_cut(hulls, weight, level) is None


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
    assert (document["proven"], len(document["cuts"])) == (True, len(found.cuts))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A search that knows the optimum, and whose incumbent stays poor: it has to keep a box."""
    data = cloud(3, 60, 3)
    nu = below_nu_bar(data, 0.5)
    best = hull_search(data, nu=nu).best.weight
    monkeypatch.setattr(
        inner.BoxLP, "local_search", lambda self, w: (w / np.linalg.norm(w), float("inf"))
    )
    monkeypatch.setattr(inner.branch_and_cut.BoxSearch, "_try", lambda self, weight: None)
    return partial(
        branch_and_cut, data, nu=nu, debug_solution=best, starts=1, start=[[1.0, 0.2, -0.3]]
    )


def empty_below_the_root() -> Any:
    """Shrinks the first box it meets as it should, and calls every other one empty."""
    calls = itertools.count()
    return lambda lower, upper: None if next(calls) else inner.on_sphere(lower, upper)


solve_box, BOXES = inner.BoxLP.solve, inner.branch_and_cut


def twice_the_bound(self: Any, *arguments: Any) -> Any:
    found = solve_box(self, *arguments)
    return type(found)(inner.Bound(found.bound.value * 2, found.bound.slope), found.weight)


def through_the_weight(hulls: Any, weight: np.ndarray, level: float) -> Any:
    """A cut at a weight whose normal is the known optimum."""
    best = hull_search(cloud(3, 60, 3), nu=below_nu_bar(cloud(3, 60, 3), 0.5)).best.weight
    return replace(inner.sphere_cut(hulls, best, 1e-3), normal=best)


@pytest.mark.parametrize(
    ("place", "name", "wrong", "words"),
    [
        (BOXES, "by_multipliers", lambda bound, low, up, goal: (low + 0.2 * (up - low), up),
         "tightening by multipliers drops a known point"),
        (BOXES, "on_sphere", empty_below_the_root(), "the norm row drops a known point"),
        (BOXES, "root_box", lambda program, level: (np.zeros(3), np.ones(3) * 0.1),
         "the root's box drops a known point"),
        (inner.BoxLP, "solve", twice_the_bound, r"a node's bound .* drops a known point"),
        (BOXES, "sphere_cut", through_the_weight, r"the concavity cut at .* removes a known"),
    ],
)  # fmt: skip
def test_a_step_that_loses_a_known_point_is_named(
    place: Any, name: str, wrong: Any, words: str, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, wrong)
    with pytest.raises(InvalidCutError, match=words):
        known(node_limit=400)
