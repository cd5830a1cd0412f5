"""What the kernel lets pass of a finished loop of cuts: the optimum, and nothing that is forged."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.cuts import (
    CutLoop,
    ExplicitRows,
    cut_at,
    local_vertex,
    read_concave,
)
from tests.inside.cuts import root_box_root_box as root_box
from tests.inside.solvers import (
    COLUMN,
    CUT,
    ConcavityCut,
    CutSequence,
    Directions,
    FacialCut,
    Side,
    SquareLimit,
    StandardForm,
    StopReason,
    cuts_bound,
    standard_form,
)
from tests.references.concave_truth import least_concave, least_lrcp, vertices
from tests.support.concave_models import concave_model, lrcp_model, random_polytope, semidefinite

CASES = [(1, False, False), (2, False, False), (3, True, False), (0, False, True)]


@functools.cache
def finished(seed: int, reverse: bool, literal: bool) -> tuple[StandardForm, CutSequence, float]:
    """A model, the proof of a finished loop, and the truth; a literal one with a facial cut."""
    for again in range(seed, seed + 20):
        rng = np.random.default_rng(again)
        polytope, c = random_polytope(rng, 3, 12 if literal else 9), rng.normal(size=3)
        Q, line = semidefinite(rng, 3, 3), rng.normal(size=3)
        if reverse:
            side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
            truth = least_lrcp(*polytope.rows, c, Q, line, side)
            form = standard_form(lrcp_model(polytope, c, Q, line, side))
        else:
            truth = least_concave(*polytope.rows, lambda x, c=c, Q=Q: float(c @ x - x @ Q @ x))
            form = standard_form(concave_model(polytope, Q, c))
        program = read_concave(form)
        loop = CutLoop(program, root_box(program), absolute_gap=0.0, seed=0, literal=literal)
        assert loop.run(time_limit=None, cut_limit=None) is StopReason.PROVEN
        proof = loop.proof()
        if proof is not None and (not literal or first_facial(proof) is not None):
            return form, proof, truth
    raise AssertionError("no run took a facial cut")


def first_facial(proof: CutSequence) -> int | None:
    return next((k for k, cut in enumerate(proof.cuts) if isinstance(cut, FacialCut)), None)


@pytest.mark.parametrize("case", CASES)
def test_a_finished_loop_is_a_proof_and_a_higher_level_is_none(
    case: tuple[int, bool, bool],
) -> None:
    form, sequence, truth = finished(*case)
    found = cuts_bound(form, sequence)
    assert found is not None
    assert truth - 1e-5 * abs(truth) <= found.varying <= truth + 1e-9 * abs(truth)
    for more in (1e-6, 1e-3, 1.0, 1e6):
        higher = replace(sequence, gamma=truth + more * abs(truth))
        assert cuts_bound(form, higher) is None
    y = sequence.multipliers
    for forged in (
        replace(sequence, multipliers=np.zeros_like(y)), replace(sequence, multipliers=-y),
        replace(sequence, multipliers=y[:-1]),
        replace(sequence, cuts=sequence.cuts[:-1], multipliers=y[:-1]),
    ):  # fmt: skip
        assert cuts_bound(form, forged) is None, "what is left has to be empty"


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


def test_forged_facial_cuts_prove_nothing() -> None:
    form, proof, truth = finished(*CASES[3])
    number = first_facial(proof)
    assert number is not None
    cut = proof.cuts[number]

    def with_cut(cut: FacialCut) -> CutSequence:
        return replace(proof, cuts=(*proof.cuts[:number], cut, *proof.cuts[number + 1 :]))

    size = float(np.abs(cut.normal).sum())
    for forged in (
        replace(cut, side=cut.side + 1e-3 * size),
        replace(cut, others=cut.others[1:]),
        replace(cut, normal=-cut.normal, side=-cut.side),
        replace(cut, tight=(*cut.tight, Side(CUT, 0, 1))),
        replace(cut, tight=(Side("row", 99, 1),)),
        replace(cut, tight=(*cut.tight, *(side for side, _ in cut.others)), others=()),
        replace(cut, others=tuple((side, np.zeros_like(y)) for side, y in cut.others)),
        replace(cut, side=float("nan")),
        replace(cut, others=tuple((side, y * np.nan) for side, y in cut.others)),
    ):
        assert cuts_bound(form, with_cut(forged)) is None
    rng = np.random.default_rng(5)
    for length in (1e-9, 1e-3, 1.0):
        for gain in (0.0, 1e-6, 1e-2):
            others = tuple((side, y + length * rng.normal(size=len(y))) for side, y in cut.others)
            forged = replace(cut, others=others, side=cut.side + gain)
            found = cuts_bound(form, with_cut(forged))
            assert found is None or found.varying <= truth + 1e-9 * abs(truth)
    # A polytope without ends has no facial cuts.
    none = np.full(len(form.rows), np.inf)
    endless = replace(form, row_lower=-none, row_upper=none)
    assert cuts_bound(endless, replace(proof, limits=())) is None


def test_a_convex_row_makes_no_polytope() -> None:
    """The least of -x is -2, at the end of the row; the cuts leave nothing of x >= 0."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x**2 <= 4)
    model.goal = pyo.Objective(expr=-model.x)
    one = np.ones(1)
    start = Side(COLUMN, 0, 1)
    concavity = ConcavityCut((start,), one, 0.5)
    facial = FacialCut((), -one, -0.25, ((start, one),))
    directions = Directions(one[None], np.array([[0.0], [-1.0]]), ((0, -1),))
    forged = CutSequence(
        directions, (SquareLimit(0),), 0, -0.5, (concavity, facial), np.ones(2)
    )  # fmt: skip
    assert cuts_bound(standard_form(model), forged) is None


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
