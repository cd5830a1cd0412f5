"""Concavity cuts until nothing is left, and what the kernel lets pass of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.cuts import (
    CutLoop,
    ExplicitRows,
    cut_at,
    local_vertex,
    read_concave,
    step_of_function,
    step_of_parabola,
)
from tests.inside.cuts import root_box_root_box as root_box
from tests.inside.solvers import (
    CutSequence,
    LowerBound,
    Side,
    StandardForm,
    StopReason,
    cuts_bound,
    standard_form,
)
from tests.references.concave_truth import least_concave, least_lrcp, vertices
from tests.support.concave_models import (
    Polytope,
    concave_model,
    linear_model,
    lrcp_model,
    random_polytope,
    semidefinite,
)
from tightmargin.solvers import Verdict

Array = NDArray[np.float64]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("rank", ["one", "full"])
@pytest.mark.parametrize("seed", range(2))
def test_random_polytopes_against_all_vertices(n: int, rank: str, seed: int) -> None:
    rng = np.random.default_rng([7, n, seed])
    polytope = random_polytope(rng, n, 10)
    Q, c = semidefinite(rng, n, 1 if rank == "one" else n), rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    result = tm.cuts.minimise_concave(concave_model(polytope, Q, c), method="cutting-plane")
    assert result.certificate.verdict is Verdict.CERTIFIED, result.message
    assert result.objective == pytest.approx(truth, rel=2e-6)
    assert result.certificate.bound <= truth + 1e-9 * abs(truth)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_reverse_convex_rows_against_all_edges(n: int, seed: int) -> None:
    rng = np.random.default_rng([8, n, seed])
    polytope, c = random_polytope(rng, n, 8), rng.normal(size=n)
    Q, line = semidefinite(rng, n, n), rng.normal(size=n)
    side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
    truth = least_lrcp(*polytope.rows, c, Q, line, side)
    model = lrcp_model(polytope, c, Q, line, side)
    result = tm.cuts.solve_lrcp(model, method="cutting-plane")
    assert result.certificate.verdict is Verdict.CERTIFIED, result.message
    assert result.objective == pytest.approx(truth, rel=2e-6)
    assert result.certificate.bound <= truth + 1e-9 * abs(truth)


def finished(seed: int, *, reverse: bool = False) -> tuple[StandardForm, CutSequence, float]:
    """A model, the cuts of a finished loop, and the truth."""
    rng = np.random.default_rng(seed)
    polytope, c = random_polytope(rng, 3, 9), rng.normal(size=3)
    Q, line = semidefinite(rng, 3, 3), rng.normal(size=3)
    if reverse:
        side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
        truth = least_lrcp(*polytope.rows, c, Q, line, side)
        form = standard_form(lrcp_model(polytope, c, Q, line, side))
    else:
        truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
        form = standard_form(concave_model(polytope, Q, c))
    program = read_concave(form)
    root = root_box(program)
    loop = CutLoop(program, root, absolute_gap=0.0, seed=0)
    assert loop.run(time_limit=20.0, cut_limit=None) is StopReason.PROVEN
    multipliers = loop.rows.farkas()
    assert multipliers is not None
    sequence = CutSequence(
        program.directions, root.limits, loop.rows.part, loop.best.target,
        tuple(loop.cuts), multipliers,
    )  # fmt: skip
    return form, sequence, truth


CASES = [finished(1), finished(2), finished(3, reverse=True)]


@pytest.mark.parametrize("case", CASES)
def test_a_finished_loop_is_a_proof_and_a_higher_level_is_none(
    case: tuple[StandardForm, CutSequence, float],
) -> None:
    form, sequence, truth = case
    found = cuts_bound(form, sequence)
    assert isinstance(found, LowerBound)
    assert truth - 1e-6 * abs(truth) <= found.varying <= truth + 1e-9 * abs(truth)
    for more in (1e-6, 1e-3, 1.0, 1e6):
        higher = replace(sequence, gamma=truth + more * abs(truth))
        assert cuts_bound(form, higher) is None


@pytest.mark.parametrize("case", CASES)
def test_a_cut_that_is_deeper_or_of_other_rows_is_refused(
    case: tuple[StandardForm, CutSequence, float],
) -> None:
    form, sequence, truth = case
    rng = np.random.default_rng(5)
    refused = 0
    for k, cut in enumerate(sequence.cuts):
        for other in (
            replace(cut, side=cut.side + 1.0),
            replace(cut, normal=-cut.normal, side=-cut.side),
            replace(cut, normal=cut.normal + rng.normal(size=3)),
            replace(cut, basis=cut.basis[:2]),
            replace(cut, basis=(cut.basis[0], *cut.basis[:2])),
            replace(cut, basis=(Side("cut", k, 1), *cut.basis[1:])),
            replace(cut, basis=(Side("cutoff", 0, 1), *cut.basis[1:])),
            replace(cut, basis=tuple(replace(side, sign=-side.sign) for side in cut.basis)),
            replace(cut, basis=tuple(replace(side, number=99) for side in cut.basis)),
            replace(cut, side=np.nan), replace(cut, normal=cut.normal.astype(np.float32)),
        ):  # fmt: skip
            cuts = (*sequence.cuts[:k], other, *sequence.cuts[k + 1 :])
            found = cuts_bound(form, replace(sequence, cuts=cuts))
            refused += found is None
            assert found is None or found.varying <= truth + 1e-9 * abs(truth)
    assert refused >= 9 * len(sequence.cuts)


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_has_to_be_empty(case: tuple[StandardForm, CutSequence, float]) -> None:
    form, sequence, _ = case
    nothing = np.zeros_like(sequence.multipliers)
    assert cuts_bound(form, replace(sequence, multipliers=nothing)) is None
    assert cuts_bound(form, replace(sequence, multipliers=-sequence.multipliers)) is None
    assert cuts_bound(form, replace(sequence, multipliers=sequence.multipliers[:-1])) is None
    fewer = replace(sequence, cuts=sequence.cuts[:-1], multipliers=sequence.multipliers[:-1])
    assert cuts_bound(form, fewer) is None


def test_no_vertex_that_is_better_is_lost() -> None:
    """Each cut of a run keeps every vertex below its level."""
    rng = np.random.default_rng(11)
    polytope, Q = random_polytope(rng, 3, 12), semidefinite(rng, 3, 3)
    program = read_concave(standard_form(concave_model(polytope, Q, np.zeros(3))))
    corners = list(vertices(*polytope.rows))
    values = np.array([program.value(x) for x in corners])
    level = float(np.median(values))
    rows = ExplicitRows(program)
    made = 0
    for _ in range(40):
        x = local_vertex(rows, rng.normal(size=3), steps=0)
        cone = None if x is None else rows.cone_at(x)
        cut = None if cone is None else cut_at(rows, cone, level)
        if cut is None:
            continue
        made += 1
        kept = [float(cut[0] @ x) >= cut[1] - 1e-9 for x in corners]
        assert all(keeps for keeps, value in zip(kept, values, strict=True) if value < level)
        rows.add_cut(*cut)
    assert made > 3


def test_steps_end_where_the_function_is_at_the_level() -> None:
    for height, slope, bend in (
        (1.0, 2.0, 3.0),
        (1.0, -2.0, 3.0),
        (1e-9, -5.0, 1.0),
        (2.0, -1.0, 0),
    ):
        t = step_of_parabola(height, slope, bend)
        assert height + slope * t - bend * t * t == pytest.approx(0, abs=1e-12)
    assert step_of_parabola(1.0, 1.0, 0.0) == np.inf
    found = step_of_function(lambda x: 4 - float(x @ x), np.zeros(2), np.array([1.0, 0.0]), 0.0)
    assert found == pytest.approx(2.0)


def test_what_cuts_are_not_for_is_said() -> None:
    model = linear_model(Polytope(np.ones((1, 11)), np.ones(1), 1.0))
    model.goal = pyo.Objective(expr=-sum(model.x[j] ** 2 for j in range(11)))
    with pytest.raises(ValueError, match="11 variables"):
        tm.cuts.minimise_concave(model, method="cutting-plane")
    model = linear_model(Polytope(np.ones((1, 2)), np.ones(1), 1.0))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2))
    few = tm.cuts.minimise_concave(model, method="cutting-plane", options={"cut_limit": 1})
    assert few.certificate.upper == -1.0
    with pytest.raises(ValueError, match="cut_limit"):
        tm.cuts.minimise_concave(model, method="cutting-plane", options={"cut_limit": -1})


def test_rows_without_coefficients_are_no_part_of_a_cone() -> None:
    """A fixed variable leaves one, and so does an objective that is 0."""
    model = pyo.ConcreteModel()
    model.x, model.z = pyo.Var(range(2), bounds=(0, 2)), pyo.Var()
    model.z.fix(1.0)
    model.row = pyo.Constraint(expr=model.z <= 1)
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) - model.x[1] ** 2)
    result = tm.solve(model, method="cutting-plane")
    assert (result.objective, result.certificate.verdict) == (-8, Verdict.CERTIFIED)
    model.goal.deactivate()
    model.far = pyo.Constraint(expr=model.x[0] ** 2 + model.x[0] >= 3)
    model.nothing = pyo.Objective(expr=0 * model.x[0])
    assert tm.solve(model, method="cutting-plane").objective == 0


@pytest.mark.parametrize("method", ["branch-and-cut", "cutting-plane", "inner-hull"])
def test_a_row_of_large_numbers_takes_no_bound_away(method: str) -> None:
    """max x^2 + x + 2 y over x in [0, 3], y in [-2, 0], in units of 1e8: 12 at (3, 0)."""
    unit = 1e8
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-3 * unit, 3 * unit)), pyo.Var(bounds=(-2 * unit, 0))
    model.row = pyo.Constraint(expr=-1527505.592450371 * model.x <= 0)
    goal = model.x**2 + unit * (model.x + 2 * model.y)
    model.goal = pyo.Objective(expr=goal, sense=pyo.maximize)
    result = tm.solve(model, method=method)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.message
    assert result.objective == pytest.approx(12 * unit**2, rel=2e-6)
