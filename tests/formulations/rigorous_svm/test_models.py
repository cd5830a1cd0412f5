"""The rigorous SVM in every form: primal, both duals, without a norm bound, on kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.formulations import FREE, dual_classifier, gram_data
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import checked, hyperplane
from tests.support.covering import FULL
from tightmargin.solvers import SolveResult, Verdict

DUALS = [tm.rsvm_dual, tm.rsvm_dual_perspective]
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}

# E by hand, for |w| <= H and b = 0: 6 - 2 H or 4 - 2 H up to H = 1, then 4 or 2. In the first one
# every |w| in [1, 4] is optimal: the paper's largest valid H is 4, the one that matters 1. In the
# second one the paper's has no limit at all.
BY_HAND = {
    "flat to 4": ([1.0, -1.0, 0.25, -0.25, -0.25, 0.25], [1, -1, 1, -1, 1, -1], 4.0),
    "flat for ever": ([1.0, -1.0, 0.0, 0.0], [1, -1, 1, -1], 2.0),
}


def certified(model: Any, solver: str = "clarabel", **words: Any) -> SolveResult:
    # Above the largest norm that matters the loss may be 0.
    result = tm.solve(model, solver, absolute_gap=1e-8, **words)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def loss(data: Any, w: np.ndarray, b: float) -> float:
    return float(np.maximum(0.0, 1 - data.y * (data.factor @ w + b)).sum())


def by_hand(name: str) -> tuple[tm.TrainingData, float]:
    x, y, least = BY_HAND[name]
    return tm.TrainingData(np.array(x)[:, None], y), least


# --- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "H"), list(zip(BY_HAND, (1.5, 50.0), strict=True)))
def test_above_the_limit_gamma_is_zero_and_the_multipliers_hold_the_hyperplane(
    name: str, H: float
) -> None:
    """S = 0: the paper's w is 0 / 0, and at H = 3 some solution still has the norm H."""
    data, least = by_hand(name)
    primal = certified(tm.rsvm(data, norm_bound=H))
    assert primal.objective == pytest.approx(least, rel=1e-7)
    for build in DUALS:
        model = build(data, norm_bound=H)
        dual = certified(model, options=TIGHT)
        assert dual.objective == pytest.approx(-least, rel=1e-7)
        facts = dual.certificate.facts
        assert facts["degenerate"] == FREE
        assert facts["gamma"] == pytest.approx(0.0, abs=1e-6)
        w, b = hyperplane(model, dual)
        assert abs(w[0]) <= H
        assert loss(data, w, b) == pytest.approx(least, rel=1e-7)


# --- strong duality ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "mode"), [("separable", "free"), ("overlapping", "penalised"), ("unbalanced", "none")]
)
@pytest.mark.parametrize("H", [0.1, 0.8, 20.0])
def test_primal_and_both_duals_meet_at_every_norm(kind: str, mode: str, H: float) -> None:
    """20 is above the limit of all three: the two overlapping ones have S = 0 there."""
    data = points(kind, 6)
    expected = reference_solutions.least_loss(data, mode, H).value
    primal = certified(tm.rsvm(data, norm_bound=H, intercept=mode))
    assert primal.objective == pytest.approx(expected, abs=1e-6)
    for build in DUALS:
        model = build(data, norm_bound=H, intercept=mode)
        dual = certified(model)
        assert -dual.objective == pytest.approx(expected, abs=1e-6)
        assert -dual.objective <= primal.objective + 1e-9, "weak duality, whatever the solver did"
        w, b = hyperplane(model, dual)
        norm = np.sqrt(w @ w + (b * b if mode == "penalised" else 0.0))
        assert norm <= H * (1 + 1e-12)
        assert loss(data, w, b) == pytest.approx(expected, abs=1e-5)
        if mode == "none":
            assert b == 0.0


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("H", [0.7, 1.0])
def test_the_hyperplane_of_the_dual_is_that_of_the_primal_where_it_is_unique(
    mode: str, H: float
) -> None:
    """Theorem 2: an active norm makes w unique, and a multiplier inside its box b as well.

    E(w) - E* >= gamma / 2 ||w - w*||^2 in the ball, so the gaps say how far apart they may be.
    """
    data = points("overlapping", 2, n=30, d=4)
    expected = reference_solutions.least_loss(data, mode, H)
    primal = certified(tm.rsvm(data, norm_bound=H, intercept=mode), options=TIGHT)
    assert primal.certificate.facts["norm_active"] is True
    w_primal, b_primal = primal.values["w"], float(primal.values.get("b", 0.0))
    for build in DUALS:
        model = build(data, norm_bound=H, intercept=mode)
        dual = certified(model, options=TIGHT)
        alpha, gamma = dual.values["alpha"], float(dual.certificate.facts["gamma"])
        assert ((alpha > 1e-3) & (alpha < 1 - 1e-3)).any()
        w, b = hyperplane(model, dual)
        gaps = [primal.objective + dual.objective, loss(data, w, b) + dual.objective]
        assert max(gaps) <= 1e-7  # an exactly feasible point may cost 5e-8
        apart = sum(np.sqrt(2 * max(gap, 1e-13) / gamma) for gap in gaps)
        assert np.linalg.norm(w - w_primal) <= min(apart, 5e-6)
        assert b == pytest.approx(b_primal, abs=1e-5)
        np.testing.assert_allclose(w, expected.w, atol=1e-5)
        assert b == pytest.approx(expected.b, abs=1e-5)
        np.testing.assert_allclose(-dual.duals["weight"], expected.w, atol=1e-5)
        row = {"free": "balance", "penalised": "weight_b"}.get(mode)
        assert row is None or -dual.duals[row] == pytest.approx(expected.b, abs=1e-5)


# --- what a check proves -------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), H=st.floats(0.01, 30.0), mode=st.sampled_from(INTERCEPTS))
@settings(max_examples=20 if FULL else 8)
def test_any_alpha_gives_a_value_above_and_a_bound_below_the_optimum(
    seed: int, H: float, mode: str
) -> None:
    rng, data = np.random.default_rng(seed), points("overlapping", seed % 5, n=10)
    expected = -reference_solutions.least_loss(data, mode, H).value
    alpha = rng.uniform(-0.3, 1.3, data.n) if seed % 3 else np.zeros(data.n)
    for build in DUALS:
        found = checked(build(data, norm_bound=H, intercept=mode), alpha=alpha)
        assert 0 >= found.objective >= expected - 1e-7, "alpha = 0 is worth 0"
        assert found.bound is None or found.bound.value <= expected + 1e-7
        kept = found.repaired["alpha"]
        assert 0 <= kept.min() <= kept.max() <= 1
        assert mode != "free" or abs(data.y @ kept) <= 1e-12


def test_without_multipliers_and_with_s_zero_there_is_no_hyperplane() -> None:
    data, _ = by_hand("flat to 4")
    origin = tm.rsvm_dual(data, norm_bound=3.0).origin
    with pytest.raises(ValueError, match=r"names no hyperplane.*solve it with clarabel"):
        dual_classifier(origin, {"alpha": np.zeros(data.n)}, {})
    alpha = np.ones(data.n)
    w, b = dual_classifier(origin, {"alpha": alpha}, {})
    assert (w[0], b) == pytest.approx((3.0, 0.0)), "with S > 0 alpha names one"


# --- without the norm ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "mode"), [("separable", "free"), ("overlapping", "penalised"), ("unbalanced", "none")]
)
def test_the_relaxation_is_below_at_every_norm_and_equal_above_the_limit(
    kind: str, mode: str
) -> None:
    data = points(kind, 6)
    relaxed = tm.solve(tm.rsvm_relaxed(data, intercept=mode))
    assert relaxed.objective == pytest.approx(
        reference_solutions.least_loss(data, mode).value, abs=1e-7
    )
    limit = float(relaxed.certificate.facts["norm"])  # of one solution, at least the shortest
    if mode == "penalised":
        w, b = relaxed.values["w"], float(relaxed.values["b"])
        assert limit == pytest.approx(np.sqrt(w @ w + b * b))
    losses = [
        certified(tm.rsvm(data, norm_bound=H, intercept=mode))
        for H in (0.05, 0.5, 1.001 * limit + 1e-6, 5 * limit + 1)
    ]
    for found in losses:
        assert relaxed.bound <= found.objective + 1e-9
    assert [found.objective for found in losses] == sorted(
        (found.objective for found in losses), reverse=True
    ) or losses[-1].objective == pytest.approx(losses[-2].objective, abs=1e-6)
    for found in losses[2:]:
        assert found.objective == pytest.approx(relaxed.objective, abs=2e-6)
    if kind != "unbalanced":  # there w = 0 is optimal
        assert losses[0].objective > relaxed.objective + 0.1


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_linear_kernel_gives_the_program_on_points(mode: str) -> None:
    for data in (points("overlapping", 7), points("separable", 7, n=8, d=12)):
        plain = tm.solve(tm.rsvm_relaxed(data, intercept=mode))
        for given_as in (data, gram_data(data, kernel="linear")):
            model = tm.rsvm_kernel_relaxed(given_as, intercept=mode)
            kernel = tm.solve(model, absolute_gap=1e-9)  # separable points cost nothing
            assert kernel.objective == pytest.approx(plain.objective, abs=1e-7)
            assert kernel.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("H", [0.5, 2.0])
def test_the_dual_on_a_kernel_matrix_is_libsvms_machine_at_its_norm(H: float) -> None:
    """C = 1 / gamma = H / sqrt(S). Proposition 2 prints sqrt(S) / H for it: another machine."""
    data = points("overlapping", 3, n=40)
    gram = gram_data(data, kernel="rbf", width=0.5)
    model = tm.rsvm_dual(gram, norm_bound=H)
    result = certified(model, options=TIGHT)
    price = float(result.certificate.facts["capacity_price"])
    w, b = hyperplane(model, result)
    assert np.linalg.norm(w) == pytest.approx(H, rel=1e-9)
    norms = {}
    for name, C in (("Table 1", H / price), ("Proposition 2", price / H)):
        machine = SVC(C=C, kernel="precomputed", tol=1e-10).fit(gram.gram, gram.y)
        signed = np.zeros(data.n)
        signed[machine.support_] = machine.dual_coef_.ravel()
        norms[name] = np.sqrt(signed @ gram.gram @ signed)
        if name == "Table 1":
            np.testing.assert_allclose(gram.factor @ w, gram.gram @ signed, atol=1e-5)
            theirs = np.maximum(0.0, 1 - gram.y * machine.decision_function(gram.gram)).sum()
            assert -result.objective == pytest.approx(theirs, rel=1e-6)
            assert loss(gram, w, b) == pytest.approx(theirs, rel=1e-6)  # as CERTIFIED promises
            assert pytest.approx(result.certificate.facts["equivalence"]["C"], rel=1e-12) == C
    assert norms["Table 1"] == pytest.approx(H, rel=1e-5)
    assert abs(norms["Proposition 2"] / H - 1) > 0.5
