"""Least values of concave functions and behind reverse convex rows, against all vertices and edges.

By each method; problems of the literature too; and what of a finished loop of cuts is a proof."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.spatial import QhullError

import tightmargin as tm
from tests.inside import cuts as inner
from tests.inside import solvers as kernel
from tests.references.concave_truth import least_concave, least_lrcp, vertices
from tests.support import concave_models as models
from tests.support.covering import covering
from tightmargin.solvers import SolveResult, Status, Verdict

WAYS: dict[str, dict[str, Any]] = {
    "branch-and-cut": {"method": "branch-and-cut"},
    "cutting-plane": {"method": "cutting-plane"},
    "literal": {"method": "cutting-plane", "options": {"strategy": "literal"}},
    "inner-hull": {"method": "inner-hull"},
}


def check(result: SolveResult, truth: float, sense: int = 1) -> None:
    """Proven, and right: the interval holds the truth, which is known to rounding."""
    certificate = result.certificate
    assert certificate.verdict is Verdict.CERTIFIED, certificate.reason
    unit = max(abs(truth), 1e-9)
    assert sense * certificate.bound <= sense * truth + 1e-9 * unit
    assert sense * certificate.upper >= sense * truth - 1e-9 * unit
    assert result.objective == pytest.approx(truth, rel=2e-6)


@pytest.mark.parametrize(
    ("way", "n", "rank", "seed"), covering(WAYS, (1, 2, 3, 4), ("one", "full"), range(2))
)
def test_random_polytopes_against_all_vertices(way: str, n: int, rank: str, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    polytope = models.random_polytope(rng, n, 10)
    Q, c = models.semidefinite(rng, n, 1 if rank == "one" else n), rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    model = models.concave_model(polytope, Q, c)
    result = tm.cuts.minimise_concave(model, **WAYS[way])
    check(result, truth)
    if way == "inner-hull":
        hull = inner.enumerate_image(inner.read_concave(kernel.standard_form(model)), math.inf)
        assert hull.stop is kernel.StopReason.FINISHED
        assert float(c @ hull.x - hull.x @ Q @ hull.x) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(
    ("way", "n", "kind", "seed"),
    covering(
        ("branch-and-cut", "cutting-plane", "literal"), (1, 2, 3, 4), ("ball", "other"), range(2),
        allowed=lambda way, n, *_: way == "branch-and-cut" or n < 4,
    ),
)  # fmt: skip
def test_reverse_convex_rows_against_all_edges(way: str, n: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    polytope, c = models.random_polytope(rng, n, 8), rng.normal(size=n)
    Q = np.eye(n) if kind == "ball" else models.semidefinite(rng, n, max(1, n - 1))
    line = np.zeros(n) if kind == "ball" else rng.normal(size=n)
    side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
    truth = least_lrcp(*polytope.rows, c, Q, line, side)
    result = tm.cuts.solve_lrcp(models.lrcp_model(polytope, c, Q, line, side), **WAYS[way])
    check(result, truth)
    x = result.values["x"]
    assert x @ Q @ x + line @ x >= side * (1 - 1e-12)


Problem = tuple[pyo.ConcreteModel, float]


def of_squares(weights: Any, **bounds: Any) -> pyo.ConcreteModel:
    """Min -sum weights x^2."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(weights)), **bounds)
    model.goal = pyo.Objective(expr=-sum(w * model.x[j] ** 2 for j, w in enumerate(weights)))
    return model


def flat_slice() -> Problem:
    model = of_squares([1.0, 2.0, 3.0, 4.0], bounds=(0, 1))
    model.sum = pyo.Constraint(expr=sum(model.x.values()) == 2)
    return model, -7.0


def epigraph(falls: bool = False) -> Problem:
    """min 0.7 t - x^2 with t >= 3 x and t >= -x/3 - 0.1, and a free y that nothing bounds.

    For each x the least t is on a row; -x^2 bends down, so that x is at an end or a kink.
    """
    model = pyo.ConcreteModel()
    model.x, model.t, model.y = pyo.Var(bounds=(-1, 2)), pyo.Var(), pyo.Var()
    model.steep = pyo.Constraint(expr=model.t >= 3 * model.x)
    model.flat = pyo.Constraint(expr=model.t >= -model.x / 3 - 0.1)
    model.free = pyo.Constraint(expr=model.y + model.x >= model.t / 7)
    model.goal = pyo.Objective(expr=(-0.7 if falls else 0.7) * model.t - model.x**2)
    kink = -0.1 / (3 + 1 / 3)
    return model, min(0.7 * max(3 * x, -x / 3 - 0.1) - x * x for x in (-1.0, kink, 2.0))


def no_coefficients() -> Problem:
    """A row of a fixed variable is no part of a cone."""
    model = of_squares([1.0, 1.0], bounds=(0, 2))
    model.z = pyo.Var(initialize=1.0)
    model.z.fix()
    model.row = pyo.Constraint(expr=model.z <= 1)
    return model, -8.0


def units_of_columns() -> Problem:
    """The corners of a box, some of which are nearer to one another than 1e-7."""
    rng = np.random.default_rng(3)
    units = 2.0 ** np.array([-21.0, 29.0])
    Q, c = models.semidefinite(rng, 2, 2), rng.normal(size=2)
    corners = (np.array(x) for x in itertools.product((-2.0, 3.0), repeat=2))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=lambda _, j: (-2.0 / units[j], 3.0 / units[j]))
    x = np.array([float(units[j]) * model.x[j] for j in range(2)])
    model.goal = pyo.Objective(expr=c @ x - x @ Q @ x)
    return model, min(float(c @ x - x @ Q @ x) for x in corners)


def large_numbers() -> Problem:
    """max x^2 + x + 2 y over x in [0, 3], y in [-2, 0], in units of 1e8: 12 at (3, 0)."""
    unit = 1e8
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-3 * unit, 3 * unit)), pyo.Var(bounds=(-2 * unit, 0))
    model.row = pyo.Constraint(expr=-1527505.592450371 * model.x <= 0)
    goal = model.x**2 + unit * (model.x + 2 * model.y)
    model.goal = pyo.Objective(expr=goal, sense=pyo.maximize)
    return model, 12 * unit**2


def qhull_fails() -> Problem:
    """Points that end the process where they are added to a hull that is there."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(30, 5))
    A /= np.linalg.norm(A, axis=1)[:, None]
    polytope = models.Polytope(A, 1 + rng.random(30), 3.0)
    Q, c = models.semidefinite(rng, 5, 5), rng.normal(size=5)
    other = tm.cuts.minimise_concave(models.concave_model(polytope, Q, c), method="branch-and-cut")
    assert other.objective is not None
    return models.concave_model(polytope, Q, c), other.objective


BOXES, CUTS, HULL = "branch-and-cut", "cutting-plane", "inner-hull"
MODELS: list[tuple[Callable[[], Problem], tuple[str, ...]]] = [
    (flat_slice, (BOXES, HULL)), (epigraph, (BOXES,)), (no_coefficients, (CUTS,)),
    (units_of_columns, (BOXES, CUTS, HULL)), (large_numbers, (BOXES, CUTS, HULL)),
    (qhull_fails, (HULL,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "method"), [(problem, method) for problem, own in MODELS for method in own]
)
def test_it_has_its_optimum(problem: Callable[[], Problem], method: str) -> None:
    model, truth = problem()
    result = tm.cuts.minimise_concave(model, method=method)
    check(result, truth, int(model.goal.sense))


def test_a_hull_that_cannot_be_made_is_left_to_the_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(points: Any) -> Any:
        raise QhullError("QH6154 initial simplex is flat")

    model, truth = flat_slice()
    for name, broken in (("ConvexHull", fails), ("_Image.first_points", lambda self: None)):
        monkeypatch.setattr(f"{inner.enumerate_image.__module__}.{name}", broken)
        hull = inner.enumerate_image(inner.read_concave(kernel.standard_form(model)), math.inf)
        assert hull.stop is kernel.StopReason.NUMERICAL
        check(tm.cuts.minimise_concave(model, method=HULL), truth)


def test_units_do_not_matter() -> None:
    """In the objective of a reverse convex program, by powers of two."""
    powers = itertools.product((-70, -12, 15, 117), (1, 5))
    for power, seed in powers:
        # Seed 1 ends at a vertex of rows, and seed 5 takes a cut.
        rng = np.random.default_rng(seed)
        polytope, c = models.random_polytope(rng, 2, 5), rng.normal(size=2)
        side = 0.4 * max(float(x @ x) for x in vertices(*polytope.rows))
        truth = least_lrcp(*polytope.rows, c, np.eye(2), np.zeros(2), side)
        model = models.lrcp_model(polytope, 2.0**power * c, np.eye(2), np.zeros(2), side)
        for way in (CUTS, "literal"):
            result = tm.solve(model, **WAYS[way])
            assert result.certificate.verdict is Verdict.CERTIFIED
            assert result.objective == pytest.approx(2.0**power * truth, rel=2e-6, abs=0.0)


def test_no_point_and_no_least_value_are_proven() -> None:
    none = models.Polytope(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -2.0]), None)
    result = tm.cuts.minimise_concave(models.concave_model(none, np.eye(2), np.zeros(2)))
    assert (result.status, result.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    wedge = models.Polytope(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, -3.0]]), np.zeros(3), None)
    model = models.concave_model(wedge, np.diag([0.0, 1.0]), np.array([5.0, 9.0]))
    result = tm.cuts.minimise_concave(model)
    assert (result.status, result.certificate.verdict) == (Status.UNBOUNDED, Verdict.CERTIFIED)
    result = tm.cuts.minimise_concave(epigraph(falls=True)[0])
    assert (result.status, result.certificate.bound) == (Status.UNBOUNDED, None)
    rng = np.random.default_rng(1)
    polytope = models.random_polytope(rng, 3, 8)
    most = max(float(x @ x) for x in vertices(*polytope.rows))
    for share, status in ((1.001, Status.INFEASIBLE), (0.999, Status.OPTIMAL)):
        model = models.lrcp_model(polytope, np.ones(3), np.eye(3), np.zeros(3), share * most)
        result = tm.cuts.solve_lrcp(model)
        assert (result.status, result.certificate.verdict) == (status, Verdict.CERTIFIED)


def outside(row: Callable[[Any], Any], goal: Callable[[Any], Any], **bounds: Any) -> Any:
    """min goal of x with a reverse convex row."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), **bounds)
    model.far = pyo.Constraint(expr=row(model.x))
    model.goal = pyo.Objective(expr=goal(model.x))
    return model


def test_reverse_convex_rows_by_hand() -> None:
    # The root of 2 is no rational number: there is an interval around it.
    root = outside(lambda x: x[0] ** 2 >= 2, lambda x: x[0] + 0 * x[1], bounds=(0, 5))
    certificate = tm.cuts.solve_lrcp(root).certificate
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.bound < math.sqrt(2) < certificate.upper
    assert certificate.upper - certificate.bound < 2e-6
    turned = outside(
        lambda x: 3 - x[0] ** 2 - x[1] ** 2 <= 2, lambda x: x[0] + 2 * x[1], bounds=(-1, 2)
    )
    check(tm.cuts.solve_lrcp(turned), -3.0)
    # An objective of 0 is a row without coefficients where cuts are made.
    zero = outside(lambda x: x[0] ** 2 + x[0] >= 3, lambda x: 0 * x[0], bounds=(0, 2))
    assert tm.solve(zero, method=CUTS).objective == 0
    # Outside of the unit circle with x and y at least 0 the least of x + y is 1.
    circle = outside(lambda x: x[0] ** 2 + x[1] ** 2 >= 1, lambda x: x[0] + x[1], bounds=(0, None))
    for method in (BOXES, CUTS):
        result = tm.cuts.solve_lrcp(circle, method=method)
        assert str(result.status) not in ("infeasible", "unbounded", "infeasible_or_unbounded")
        assert result.certificate.bound is None or result.certificate.bound <= 1


def test_the_first_node_of_a_sphere_has_its_best_point_whatever_the_units_of_its_row() -> None:
    """The least sum of 20 numbers with the norm 1 is -sqrt(20)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(20), bounds=(-1, 1))
    squares = sum(x**2 for x in model.x.values())
    model.norm = pyo.Constraint(expr=squares / 512 == 1 / 512)
    model.goal = pyo.Objective(expr=sum(model.x.values()))
    found = tm.solve(model, method=BOXES, options={"node_limit": 1})
    assert found.objective == pytest.approx(-math.sqrt(20), rel=1e-9)


@pytest.mark.parametrize("n", [1, 3])
def test_a_function_of_python_gets_a_claim_that_names_its_assumption(n: int) -> None:
    polytope = models.random_polytope(np.random.default_rng(n), n, 9)
    weights = np.arange(n, 0, -1.0)  # of the variables in an order of their own
    of = lambda x: -float(weights @ np.exp(x))  # noqa: E731
    truth = least_concave(*polytope.rows, lambda x: of(x[::-1]))
    model = models.linear_model(polytope)
    claim = tm.cuts.minimise_concave(
        model, of, lambda x: -weights * np.exp(x), variables=[*model.x.values()][::-1]
    )
    assert isinstance(claim, inner.ConcaveClaim)
    assert claim.objective == pytest.approx(truth, rel=1e-6)
    assert of([v.value for v in model.x.values()][::-1]) == pytest.approx(truth, rel=1e-6)
    assert claim.bound is not None
    assert claim.bound <= truth + 1e-9 * abs(truth)
    assert "beyond the polytope too (unproven)" in claim.assumption
    assert claim.stop is kernel.StopReason.FINISHED


CASES = [(1, False, False), (2, False, False), (3, True, False), (0, False, True)]


@functools.cache
def finished(
    seed: int, reverse: bool, literal: bool
) -> tuple[kernel.StandardForm, kernel.CutSequence, float]:
    """A model, the proof of a finished loop, and the truth; a literal one with a facial cut."""
    for again in range(seed, seed + 20):
        rng = np.random.default_rng(again)
        polytope, c = models.random_polytope(rng, 3, 12 if literal else 9), rng.normal(size=3)
        Q, line = models.semidefinite(rng, 3, 3), rng.normal(size=3)
        if reverse:
            side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
            truth = least_lrcp(*polytope.rows, c, Q, line, side)
            form = kernel.standard_form(models.lrcp_model(polytope, c, Q, line, side))
        else:
            truth = least_concave(*polytope.rows, lambda x, c=c, Q=Q: float(c @ x - x @ Q @ x))
            form = kernel.standard_form(models.concave_model(polytope, Q, c))
        program = inner.read_concave(form)
        loop = inner.CutLoop(
            program, inner.root_box_root_box(program), absolute_gap=0.0, seed=0, literal=literal
        )
        assert loop.run(time_limit=None, cut_limit=None) is kernel.StopReason.PROVEN
        proof = loop.proof()
        if proof is not None and (not literal or first_facial(proof) is not None):
            return form, proof, truth
    raise AssertionError("no run took a facial cut")


def first_facial(proof: kernel.CutSequence) -> int | None:
    return next((k for k, cut in enumerate(proof.cuts) if isinstance(cut, kernel.FacialCut)), None)


@pytest.mark.parametrize("case", CASES)
def test_a_finished_loop_is_a_proof_and_a_higher_level_is_none(
    case: tuple[int, bool, bool],
) -> None:
    form, sequence, truth = finished(*case)
    found = kernel.cuts_bound(form, sequence)
    assert truth - 1e-5 * abs(truth) <= found.varying <= truth + 1e-9 * abs(truth)
    for more in (1e-6, 1e-3, 1.0, 1e6):
        higher = replace(sequence, gamma=truth + more * abs(truth))
        assert kernel.cuts_bound(form, higher) is None
    y = sequence.multipliers
    for forged in (
        replace(sequence, multipliers=np.zeros_like(y)), replace(sequence, multipliers=-y),
        replace(sequence, multipliers=y[:-1]), replace(sequence, multipliers=y[:, None]),
        replace(sequence, cuts=sequence.cuts[:-1], multipliers=y[:-1]),
    ):  # fmt: skip
        assert kernel.cuts_bound(form, forged) is None, "what is left has to be empty"


@pytest.mark.parametrize("case", CASES[:3])
def test_a_cut_that_is_deeper_or_of_other_rows_is_refused(case: tuple[int, bool, bool]) -> None:
    form, sequence, truth = finished(*case)
    rng = np.random.default_rng(5)
    refused = 0
    for k, cut in enumerate(sequence.cuts):
        for other in (
            replace(cut, side=cut.side + 1.0),
            replace(cut, normal=-cut.normal, side=-cut.side),
            replace(cut, normal=cut.normal + rng.normal(size=3)),
            replace(cut, basis=cut.basis[:2]),
            replace(cut, basis=(cut.basis[0], *cut.basis[:2])),
            replace(cut, basis=(kernel.Side("cut", k, 1), *cut.basis[1:])),
            replace(cut, basis=(kernel.Side("cutoff", 0, 1), *cut.basis[1:])),
            replace(cut, basis=tuple(replace(side, sign=-side.sign) for side in cut.basis)),
            replace(cut, basis=tuple(replace(side, number=99) for side in cut.basis)),
            replace(cut, side=np.nan), replace(cut, normal=cut.normal.astype(np.float32)),
        ):  # fmt: skip
            cuts = (*sequence.cuts[:k], other, *sequence.cuts[k + 1 :])
            found = kernel.cuts_bound(form, replace(sequence, cuts=cuts))
            refused += found is None
            assert found is None or found.varying <= truth + 1e-9 * abs(truth)
    assert refused >= 9 * len(sequence.cuts)


def test_forged_facial_cuts_prove_nothing() -> None:
    form, proof, truth = finished(*CASES[3])
    number = first_facial(proof)
    assert number is not None
    cut = proof.cuts[number]

    def with_cut(cut: kernel.FacialCut) -> kernel.CutSequence:
        return replace(proof, cuts=(*proof.cuts[:number], cut, *proof.cuts[number + 1 :]))

    size = float(np.abs(cut.normal).sum())
    for forged in (
        replace(cut, side=cut.side + 1e-3 * size),
        replace(cut, others=cut.others[1:]),
        replace(cut, normal=-cut.normal, side=-cut.side),
        replace(cut, tight=(*cut.tight, kernel.Side(kernel.CUT, 0, 1))),
        replace(cut, tight=(kernel.Side("row", 99, 1),)),
        replace(cut, tight=(*cut.tight, *(side for side, _ in cut.others)), others=()),
        replace(cut, others=tuple((side, np.zeros_like(y)) for side, y in cut.others)),
        replace(cut, side=float("nan")),
        replace(cut, others=tuple((side, y * np.nan) for side, y in cut.others)),
    ):
        assert kernel.cuts_bound(form, with_cut(forged)) is None
    rng = np.random.default_rng(5)
    for length in (1e-9, 1e-3, 1.0):
        for gain in (0.0, 1e-6, 1e-2):
            others = tuple((side, y + length * rng.normal(size=len(y))) for side, y in cut.others)
            forged = replace(cut, others=others, side=cut.side + gain)
            found = kernel.cuts_bound(form, with_cut(forged))
            assert found is None or found.varying <= truth + 1e-9 * abs(truth)
    # A polytope without ends has no facial cuts.
    none = np.full(len(form.rows), np.inf)
    endless = replace(form, row_lower=-none, row_upper=none)
    assert kernel.cuts_bound(endless, replace(proof, limits=())) is None


def test_a_convex_row_makes_no_polytope() -> None:
    """The least of -x is -2, at the end of the row; the cuts leave nothing of x >= 0."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x**2 <= 4)
    model.goal = pyo.Objective(expr=-model.x)
    one = np.ones(1)
    start = kernel.Side(kernel.COLUMN, 0, 1)
    concavity = kernel.ConcavityCut((start,), one, 0.5)
    facial = kernel.FacialCut((), -one, -0.25, ((start, one),))
    directions = kernel.Directions(one[None], np.array([[0.0], [-1.0]]), ((0, -1),))
    forged = kernel.CutSequence(
        directions, (kernel.SquareLimit(0),), 0, -0.5, (concavity, facial), np.ones(2)
    )  # fmt: skip
    assert kernel.cuts_bound(kernel.standard_form(model), forged) is None


def test_no_vertex_that_is_better_is_lost() -> None:
    """Each cut of a run keeps every vertex below its level."""
    rng = np.random.default_rng(11)
    polytope, Q = models.random_polytope(rng, 3, 12), models.semidefinite(rng, 3, 3)
    model = models.concave_model(polytope, Q, np.zeros(3))
    program = inner.read_concave(kernel.standard_form(model))
    corners = list(vertices(*polytope.rows))
    values = np.array([program.value(x) for x in corners])
    level = float(np.median(values))
    rows = inner.ExplicitRows(program)
    made = 0
    for _ in range(40):
        x = inner.local_vertex(rows, rng.normal(size=3), steps=0)
        cone = None if x is None else rows.cone_at(x)
        cut = None if cone is None else inner.cut_at(rows, cone, level)
        if cut is None:
            continue
        made += 1
        kept = [float(cut[0] @ x) >= cut[1] - 1e-9 for x in corners]
        assert all(keeps for keeps, value in zip(kept, values, strict=True) if value < level)
        rows.add_cut(*cut)
    assert made > 3
