"""Algorithm 10 over any polytope: facial cuts that lose no corner, and forged ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.cuts import CutLoop, read_concave
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
from tests.support.concave_models import (
    concave_model,
    lrcp_model,
    random_polytope,
    semidefinite,
)
from tightmargin.solvers import Verdict

Array = NDArray[np.float64]
LITERAL = {"strategy": "literal"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_literal_runs_end_at_the_least_corner(n: int, seed: int) -> None:
    rng = np.random.default_rng((seed, n))
    polytope, Q = random_polytope(rng, n, 4 + 2 * n), semidefinite(rng, n, n)
    c = rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    model = concave_model(polytope, Q, c)
    result = tm.solve(model, method="cutting-plane", options=LITERAL)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(truth, rel=2e-6)
    facts = result.certificate.facts
    assert 0 <= facts["cuts_until_no_face"] <= facts["cuts"]
    assert len(facts["faces"]) >= 1


def test_an_lrcp_has_its_cutoff_among_the_rows() -> None:
    met = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        polytope, c = random_polytope(rng, 3, 8), rng.normal(size=3)
        Q, line = semidefinite(rng, 3, 3), rng.normal(size=3)
        side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
        truth = least_lrcp(*polytope.rows, c, Q, line, side)
        model = lrcp_model(polytope, c, Q, line, side)
        result = tm.solve(model, method="cutting-plane", options=LITERAL)
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.objective == pytest.approx(truth, rel=2e-6)
        met |= {name for face in result.certificate.facts["faces"] for name in face["rows"]}
    assert "cutoff" in met


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(11)
    polytope, Q = random_polytope(rng, 3, 10), semidefinite(rng, 3, 3)
    c = rng.normal(size=3)
    model, far = concave_model(polytope, Q, c), pyo.ConcreteModel()
    plain = tm.solve(model, method="cutting-plane", options=LITERAL)
    A, b = polytope.rows
    far.x = pyo.Var(range(3))
    far.row = pyo.Constraint(
        range(len(b)),
        rule=lambda m, i: sum(float(A[i, j]) * m.x[j] for j in range(3)) <= 1e6 * float(b[i]),
    )
    goal = sum(1e6 * float(c[j]) * far.x[j] for j in range(3))
    far.goal = pyo.Objective(
        expr=goal - sum(float(Q[i, j]) * far.x[i] * far.x[j] for i in range(3) for j in range(3))
    )
    result = tm.solve(far, method="cutting-plane", options=LITERAL)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(1e12 * plain.objective, rel=2e-6)


def test_another_strategy_is_refused() -> None:
    rng = np.random.default_rng(1)
    model = concave_model(random_polytope(rng, 2, 5), np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="strategy must be one of concavity, literal"):
        tm.solve(model, method="cutting-plane", options={"strategy": "facial"})


# --- what the kernel lets pass --------------------------------------------------------------------


def finished() -> tuple[StandardForm, CutSequence, int, float]:
    """A literal run in three dimensions, its first facial cut, and the optimum."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        polytope, Q = random_polytope(rng, 3, 12), semidefinite(rng, 3, 3)
        form = standard_form(concave_model(polytope, Q, np.zeros(3)))
        program = read_concave(form)
        loop = CutLoop(program, root_box(program), absolute_gap=0.0, seed=0, literal=True)
        stop = loop.run(time_limit=None, cut_limit=None)
        assert stop is StopReason.PROVEN
        facial = [k for k, cut in enumerate(loop.cuts) if isinstance(cut, FacialCut)]
        proof = loop.proof()
        if facial and proof is not None:
            truth = least_concave(*polytope.rows, lambda x, Q=Q: float(-x @ Q @ x))
            return form, proof, facial[0], truth
    raise AssertionError("no run took a facial cut")


FORM, PROOF, NUMBER, TRUTH = finished()


def with_cut(cut: FacialCut) -> CutSequence:
    cuts = (*PROOF.cuts[:NUMBER], cut, *PROOF.cuts[NUMBER + 1 :])
    return replace(PROOF, cuts=cuts)


def test_a_literal_run_is_proven_and_true() -> None:
    found = cuts_bound(FORM, PROOF)
    assert found is not None
    assert TRUTH * (1 + 1e-5) <= found.varying <= TRUTH * (1 - 1e-9)


def test_forged_facial_cuts_prove_nothing() -> None:
    cut = PROOF.cuts[NUMBER]
    assert isinstance(cut, FacialCut)
    size = float(np.abs(cut.normal).sum())
    deeper = replace(cut, side=cut.side + 1e-3 * size)
    no_others = replace(cut, others=cut.others[1:])
    turned = replace(cut, normal=-cut.normal, side=-cut.side)
    of_a_cut = replace(cut, tight=(*cut.tight, Side(CUT, 0, 1)))
    nowhere = replace(cut, tight=(Side("row", 99, 1),))
    all_tight = replace(cut, tight=(*cut.tight, *(side for side, _ in cut.others)), others=())
    nothing = [(side, np.zeros_like(y)) for side, y in cut.others]
    for forged in (
        deeper, no_others, turned, of_a_cut, nowhere, all_tight,
        replace(cut, others=tuple(nothing)), replace(cut, side=float("nan")),
        replace(cut, others=tuple((side, y * np.nan) for side, y in cut.others)),
    ):  # fmt: skip
        assert cuts_bound(FORM, with_cut(forged)) is None


def test_random_multipliers_prove_no_false_bound() -> None:
    cut = PROOF.cuts[NUMBER]
    assert isinstance(cut, FacialCut)
    rng = np.random.default_rng(5)
    for size in (1e-9, 1e-3, 1.0):
        for gain in (0.0, 1e-6, 1e-2):
            others = tuple((side, y + size * rng.normal(size=len(y))) for side, y in cut.others)
            forged = replace(cut, others=others, side=cut.side + gain)
            found = cuts_bound(FORM, with_cut(forged))
            assert found is None or found.varying <= TRUTH * (1 - 1e-9)


def test_a_polytope_without_ends_has_no_facial_cuts() -> None:
    open_form = replace(
        FORM, row_lower=np.full(len(FORM.rows), -np.inf), row_upper=np.full(len(FORM.rows), np.inf)
    )
    assert cuts_bound(open_form, replace(PROOF, limits=())) is None


def test_a_convex_row_makes_no_polytope() -> None:
    # The least of -x is -2, at the end of the row; the cuts leave nothing of x >= 0.
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


@pytest.mark.parametrize("options", [None, LITERAL])
@pytest.mark.parametrize("power", [-70, -12, 15, 117])
def test_units_of_the_objective_of_an_lrcp_do_not_matter(
    power: int, options: dict[str, str] | None
) -> None:
    for seed in (1, 5):  # a vertex of rows, and one that takes a cut
        rng = np.random.default_rng(seed)
        polytope, c = random_polytope(rng, 2, 5), rng.normal(size=2)
        side = 0.4 * max(float(x @ x) for x in vertices(*polytope.rows))
        truth = least_lrcp(*polytope.rows, c, np.eye(2), np.zeros(2), side)
        model = lrcp_model(polytope, 2.0**power * c, np.eye(2), np.zeros(2), side)
        result = tm.solve(model, method="cutting-plane", options=options)
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.objective == pytest.approx(2.0**power * truth, rel=2e-6, abs=0.0)
