"""Rows 5 to 11 and 22 to 24: shapes, ranges, bounds, kernels and cuts do what they should.

tests/metamorphic adds columns to the data of every entry, tests/formulations/nu/test_extended.py
proves the ends of nu, tests/solvers/comparison has other data, and incumbents that lie.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import modes, valid
from tests.faults.test_data_rows import as_taken
from tests.inside import cuts as inner
from tests.inside.formulations import loss_weights, slack_prices
from tests.inside.solvers import SOLVERS, rsvm_at_limit
from tests.references.brute_force import big_m_optimum, ramp_optimum, zero_one_optima
from tests.references.polytope_corners import corners, gauss
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL, in_turn
from tightmargin import solvers as room
from tightmargin.cuts import InvalidCutError, cutting_plane
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import build

# --- row 5: dependent features --------------------------------------------------------------------

PLAIN = points("overlapping", 4, n=5)
DEPENDENT = tm.TrainingData(np.column_stack([PLAIN.X, PLAIN.X.sum(axis=1)]), PLAIN.y)
# The ball of the robust one makes such a w worth what w = 0 is; the dual has no w but its points.
EXEMPT = ("extended_robust_svc", "extended_nu_svc_dual")
EXTENDED = [n for n in CATALOGUE if ("extended" in n or n == "min_cvar") and n not in EXEMPT]


@pytest.mark.parametrize("name", EXTENDED)
def test_row_05_the_extended_family_refuses_by_name(name: str) -> None:
    """Its w has norm 1: along a direction that no point shows, that is for nothing."""
    with pytest.raises(ValueError, match=r"[Ff]eature.*orthonormal_reduction"):
        build(name, as_taken(name, DEPENDENT), **valid(name, "free"))


# --- row 6: few points, or more features than points ----------------------------------------------

# Where its optimum is the problem's its rows have no width: a lift in doubles misses by 1e-14.
ROUNDED_OFF = "conic_sdp_strengthened"
CLAIMED = ("NONCONVEX", "LRCP", "MIQP", "MILP")


def random_points(n: int, d: int) -> tm.TrainingData:
    """Alternating labels: every second point is negative."""
    X = np.random.default_rng([n, d]).standard_normal((n, d))
    return tm.TrainingData(X, np.where(np.arange(n) % 2 == 0, 1, -1))


SHAPES: dict[str, tm.TrainingData] = {
    "2 x 1": random_points(2, 1),
    "2 x 3": random_points(2, 3),
    "3 x 5": random_points(3, 5),
    "2 x 2 in one place": tm.TrainingData(np.ones((2, 2)), [1, -1]),
    "4 x 1 all zero": tm.TrainingData(np.zeros((4, 1)), [1, -1, 1, -1]),
    "4 x 8": random_points(4, 8),
}


def settings_of(name: str, intercept: str) -> dict[str, Any]:
    chosen = valid(name, intercept)
    return chosen | ({"big_m": "derived"} if "big_m" in chosen else {})


@pytest.mark.parametrize("turn", range(5))
def test_row_06_every_formulation_is_solved_or_refused_with_a_reason(turn: int) -> None:
    """Shapes and modes of the intercept in turn."""
    data, solved = list(SHAPES.values())[turn], 0
    for k, name in enumerate(sorted(CATALOGUE)):
        if not FULL and (k + turn) % 5:
            continue
        intercept = modes(name)[(k + turn + turn // 3) % len(modes(name))]
        try:
            model = build(name, as_taken(name, data), **settings_of(name, intercept))
            result = tm.solve(model, absolute_gap=1e-8)  # some optima are 0
        except ValueError as refusal:
            sentence = str(refusal)
            assert len(sentence.split()) > 5, (name, sentence)
            assert "\n" not in sentence
            continue
        solved += 1
        if name == ROUNDED_OFF:
            assert result.certificate.verdict.closed
        else:
            assert_settled(result, name)
    assert solved >= len(CATALOGUE) // (2 if FULL else 10)


def test_row_06_points_that_are_all_zero_without_an_intercept_are_settled() -> None:
    """No point has a strengthening."""
    model = build("conic_fixed", SHAPES["4 x 1 all zero"], **settings_of("conic_fixed", "none"))
    assert_settled(tm.solve(model, absolute_gap=1e-8), "conic_fixed")


def assert_settled(result: room.SolveResult, name: str) -> None:
    """Certified, or the solver's bound where the class leaves no more, or no point with a why."""
    verdict = result.certificate.verdict
    if verdict is room.Verdict.CERTIFIED:
        unbounded = {room.Status.UNBOUNDED} if name == "hard_margin_svc_dual" else set()
        assert result.status in {room.Status.OPTIMAL, room.Status.INFEASIBLE} | unbounded, name
    elif verdict is room.Verdict.SOLVER_BOUND:
        assert result.problem_class in CLAIMED, name
    else:
        # A cone alone can make a model infeasible; of that there is no proof in fractions.
        assert (name, result.status) == ("conic_sdp_budget", room.Status.INFEASIBLE)
        assert result.certificate.reason


# --- row 7: the range of nu -----------------------------------------------------------------------

UNBALANCED = points("unbalanced", 0, n=12)  # 4 positive, 8 negative
LARGEST = 2 * 4 / 12
BY_NU: list[Callable[..., pyo.ConcreteModel]] = [
    tm.nu_svc, tm.nu_svc_dual, tm.extended_nu_svc, tm.extended_nu_svc_ball,
    tm.extended_nu_svc_reverse, tm.extended_nu_svc_polar,
]  # fmt: skip


@pytest.mark.parametrize("build", BY_NU)
def test_row_07_outside_its_range_the_sentence_says_where_nu_is_and_why(
    build: Callable[..., pyo.ConcreteModel],
) -> None:
    above = LARGEST * 1.001
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0.666667\]") as refusal:
        build(UNBALANCED, nu=above)
    for words in ("nu_max = 2 min(n_pos, n_neg) / n", "4 positive and 8 negative", "infeasible"):
        assert words in str(refusal.value)
    with pytest.raises(ValueError, match="nu must be a positive finite number"):
        build(UNBALANCED, nu=0.0)
    set_later = build(UNBALANCED, nu=0.3)
    set_later.nu.set_value(above)
    with pytest.raises(ValueError, match="nu_max"):
        tm.solve(set_later)
    if build in (tm.extended_nu_svc_reverse, tm.extended_nu_svc_polar):  # unbounded above nu_bar
        set_later.nu.set_value(tm.theory.nu_range(UNBALANCED).nu_bar * 1.05)
        words = r"is above nu_bar \(nu_bar = .*nu_max = .*take extended_nu_svc_ball"
        with pytest.raises(ValueError, match=words):
            tm.solve(set_later)


@pytest.mark.parametrize("beta", [0.3, 1.0, True])
def test_row_07_beta_has_the_same_range_turned_round(beta: Any) -> None:
    with pytest.raises(ValueError, match=r"beta must be a number in \[1 - nu_max, 1\) = \[0.3333"):
        tm.min_cvar(UNBALANCED, beta=beta)


@pytest.mark.parametrize(
    ("counts", "class_balance"),
    [((7, 42), "balanced"), ((3, 95), "uniform")],
)
def test_row_07_prices_of_slacks_reach_nu_max(counts: tuple[int, int], class_balance: str) -> None:
    """In rational numbers, and no further above what they stand for than by a rounding."""
    n = sum(counts)
    data = tm.TrainingData(np.arange(n)[:, None], np.repeat([1, -1], counts))
    prices, weights = slack_prices(data, class_balance), loss_weights(data, class_balance)
    assert sum(map(Fraction, prices)) >= 1
    for label in (1, -1):
        share = sum(map(Fraction, prices[data.y == label]))
        assert 2 * share >= Fraction(tm.theory.nu_range(data, class_balance=class_balance).nu_max)
    assert prices == pytest.approx(weights, rel=5e-16)


# --- row 8: active bounds -------------------------------------------------------------------------

OVERLAPPING = points("overlapping", 0, n=8)


@pytest.mark.parametrize(
    ("build", "price"), [(tm.conic_sdp, {"penalty": 1.0}), (tm.conic_sdp_budget, {"budget": 0.05})]
)
def test_row_08_an_active_intercept_bound_is_flagged(build: Any, price: dict[str, float]) -> None:
    """W_bb costs nothing, so it goes as far as it may, and the value is that of the bound."""
    model = build(OVERLAPPING, **price, intercept="free", intercept_bound=2.0)
    result = tm.solve(model)
    assert result.certificate.facts["active_bounds"] == ["intercept_bound"]
    assert "intercept_bound: a bound is active" in result.message
    model.intercept_bound.set_value(3.0)
    assert abs(tm.solve(model).objective) < abs(result.objective) - 1e-3, "it depends on it"
    unfelt = tm.solve(build(OVERLAPPING, **price, intercept="penalised"))
    assert "active_bounds" not in unfelt.certificate.facts
    assert "a bound is active" not in unfelt.message


def test_row_08_bounds_that_the_builder_proves_are_not_flagged() -> None:
    """Keeping both points costs w = 1, which is the bound sqrt(2 penalty) of giving up on both."""
    model = tm.zero_one_bilinear(
        tm.TrainingData([[1.0], [-1.0]], [1, -1]), penalty=0.5, intercept="none"
    )
    for z in model.z.values():
        z.fix(0)
    result = tm.solve(model)
    assert result.values["w"][0] == pytest.approx(1.0, abs=1e-6)
    assert model.w[0].ub == pytest.approx(1.0)
    assert "active_bounds" not in result.certificate.facts
    model.w[0].setub(1.0)
    assert tm.solve(model).certificate.facts["active_bounds"] == ["w[0]"], "one of the user's is"


def test_row_08_a_norm_bound_below_the_limit_is_active_and_has_a_price() -> None:
    limit = room.norm_limit(OVERLAPPING)
    H = 0.9 * limit.value
    primal = tm.solve(tm.rsvm(OVERLAPPING, norm_bound=H))
    dual = tm.solve(tm.rsvm_dual(OVERLAPPING, norm_bound=H))
    assert primal.certificate.facts["norm_active"] is True
    assert "degenerate" not in dual.certificate.facts
    price = dual.certificate.facts["capacity_price"]
    assert price >= limit.gamma_range * limit.value * (1 - 1e-5), "E is convex in H"
    more = tm.solve(tm.rsvm(OVERLAPPING, norm_bound=1.0001 * H)).objective
    assert primal.objective - more == pytest.approx(1e-4 * H * price, rel=0.05)
    with pytest.raises(ValueError, match="below the limit"):
        rsvm_at_limit(OVERLAPPING, H, limit)


# --- row 9: an M that is too small ----------------------------------------------------------------

KEPT = json.loads((Path(__file__).parent / "instances" / "small_big_m.json").read_text())
DATA = tm.TrainingData(KEPT["X"], KEPT["y"])
C, PENALTY, MODE = KEPT["C"], KEPT["penalty"], KEPT["intercept"]
TOLERANCES = {"scip": 1e-6, "gurobi": 1e-5}
HERE = [name for name in TOLERANCES if SOLVERS[name].installed]
Z = {"penalty": PENALTY, "intercept": MODE}
RAMP = {"C": C, "intercept": MODE}


@functools.cache
def truth(model: str, size: float | None = None) -> float:
    """By every choice of the binaries, with M or without."""
    each = None if size is None else np.full(DATA.n, size)
    if model == "ramp":
        return ramp_optimum(DATA, C, MODE, each)
    if each is None:
        return zero_one_optima(DATA, [PENALTY], MODE)[0]
    return big_m_optimum(DATA, PENALTY, MODE, each)


@pytest.mark.parametrize(
    ("model", "size", "solver"), [("zero_one", 1.0, HERE[-1]), ("ramp", 1.5, HERE[0])]
)
def test_row_09_the_result_is_an_upper_bound_only(model: str, size: float, solver: str) -> None:
    """And a row that M itself holds back is counted."""
    build, words = (tm.ramp_big_m, RAMP) if model == "ramp" else (tm.zero_one_big_m, Z)
    result = tm.solve(build(DATA, **words, big_m=size), solver)
    wrong = truth(model, size)
    assert wrong > truth(model) + 1
    assert result.certificate.solver_bound == pytest.approx(wrong, rel=1e-4), "the solver says so"
    assert result.status is room.Status.FEASIBLE
    assert result.bound is None
    assert result.absolute_gap is None
    assert result.certificate.verdict is room.Verdict.NOT_CERTIFIED
    assert result.certificate.reason.startswith("upper bound only: M[")
    assert "below the proven value" in result.certificate.unproven
    assert result.objective >= truth(model) - 1e-7, "recomputed from (w, b), so never below"
    assert result.certificate.facts["binding_big_m"] >= 1
    assert "a larger M may be better" in result.message
    enough = tm.solve(build(DATA, **words, big_m="derived"))
    assert "binding_big_m" not in enough.certificate.facts


# --- row 10: an M so large that a z within the tolerance of 0 buys margin -------------------------


@pytest.mark.parametrize(("size", "solver"), [(1e6, HERE[0]), (1e3, HERE[-1])])
def test_row_10_the_objective_is_that_of_the_hyperplane(size: float, solver: str) -> None:
    """Violations counted anew: the value is attained, and never below the true optimum."""
    result = tm.solve(tm.zero_one_big_m(DATA, **Z, big_m=size), solver)
    w, b = result.values["w"], float(result.values["b"])
    wrong = int((DATA.y * (DATA.X @ w + b) < 1).sum())
    assert result.objective == pytest.approx(w @ w + b * b + PENALTY * wrong, rel=1e-12)
    assert result.objective >= truth("zero_one") * (1 - 1e-9)
    np.testing.assert_array_equal(result.values["z"].sum(), wrong)
    if result.certificate.verdict is room.Verdict.CERTIFIED:
        assert result.objective == pytest.approx(truth("zero_one"), rel=1e-6)
    assert result.certificate.facts["big_m_slack"] == pytest.approx(size * TOLERANCES[solver])


@pytest.mark.usefixtures("no_search_of_ours")
@pytest.mark.parametrize(("size", "solver"), [(10.0, HERE[0]), (1e4, HERE[-1])])
def test_row_10_with_the_binaries_fixed_the_rest_is_solved_again(size: float, solver: str) -> None:
    """A convex program, certified: its optimum is what the result reports."""
    result = tm.solve(tm.ramp_big_m(DATA, **RAMP, big_m=size), solver)
    facts = result.certificate.facts
    assert facts["fixed_verdict"] == "CERTIFIED"
    assert facts["fixed_objective"] == pytest.approx(result.objective, rel=1e-6)
    again = tm.ramp_big_m(DATA, **RAMP, big_m=size)
    for z, number in zip(again.z.values(), result.values["z"].tolist(), strict=True):
        z.fix(round(number))
    assert tm.solve(again, "clarabel").objective == pytest.approx(result.objective, rel=1e-6)


# --- row 11: kernels ------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.where(np.arange(8) < 4, 1, -1)
SIGMOID = np.tanh(0.5 * X @ X.T - 1.0)
SMALLEST = float(np.linalg.eigvalsh(SIGMOID)[0])
ON_KERNELS: dict[str, dict[str, Any]] = {
    "c_svc_dual": {"C": 1.0}, "extended_nu_svc": {"nu": 0.5}, "zero_one_kernel": {"penalty": 1.0},
    "kernel_soft_margin_svc": {"ridge": 0.1}, "rsvm_kernel_relaxed": {},
    "reduced_hull_svc": {"hull_bound": 0.4}, "conic_sdp": {"penalty": 1.0},
    "deviance_svc": {"price": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("matrix", [SIGMOID, -1e-9 * np.eye(8)])
def test_row_11_a_matrix_that_is_no_kernel_is_refused_with_its_eigenvalue(matrix: Any) -> None:
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    sentence = f"gram is not positive semidefinite: smallest eigenvalue {smallest:.6g};"
    with pytest.raises(ValueError, match=sentence.replace("+", r"\+")) as refusal:
        tm.GramData(matrix, Y)
    assert "shift=smallest" in str(refusal.value)
    assert f"adds {-smallest:.6g} to the diagonal" in str(refusal.value)


@pytest.mark.parametrize("name", ON_KERNELS)
def test_row_11_a_shift_is_explicit_and_reported(name: str) -> None:
    data = tm.GramData(SIGMOID, Y, shift="smallest")
    assert data.shift == pytest.approx(-SMALLEST, rel=1e-12)
    assert data.smallest_eigenvalue == pytest.approx(SMALLEST, rel=1e-12)
    np.testing.assert_allclose(data.gram, SIGMOID - SMALLEST * np.eye(8), atol=1e-12)
    # The loss of the rigorous SVM is 0 here.
    result = tm.solve(CATALOGUE[name].build(data, **ON_KERNELS[name]), absolute_gap=1e-10)
    assert result.certificate.verdict is room.Verdict.CERTIFIED
    assert result.certificate.facts["kernel_shift"] == pytest.approx(-SMALLEST)
    assert f"smallest eigenvalue was {SMALLEST:.6g}" in result.message


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (0.5 * -SMALLEST, "is too small"),
        (-1.0, "at least 0"),
        (np.nan, "finite"),
        (True, "a number or smallest"),
        ("least", "a number or smallest"),
    ],
)
def test_row_11_a_shift_that_does_not_help_is_refused(shift: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tm.GramData(SIGMOID, Y, shift=shift)


def test_row_11_a_kernel_gets_no_shift_it_does_not_need() -> None:
    """And -I + I = 0 puts all points in one place, which the result says."""
    data = tm.GramData(X @ X.T, Y, shift="smallest")
    assert data.shift == 0.0
    assert "kernel_shift" not in tm.solve(tm.c_svc_dual(data, C=1.0)).certificate.facts
    result = tm.solve(tm.c_svc_dual(tm.GramData(-np.eye(8), Y, shift="smallest"), C=1.0))
    assert result.certificate.facts["least_errors"] == 4
    assert result.certificate.facts["kernel_shift"] == pytest.approx(1.0)


def test_row_11_the_command_line_refuses_shifts_and_certifies_again(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "k.csv", tm.TrainingData(SIGMOID, Y))
    words = ("c_svc_dual", "--data", file, "--set", "C=1")
    refused = run("solve", *words, "kernel=precomputed")
    assert refused.code == 2
    assert f"smallest eigenvalue {SMALLEST:.6g}" in refused.complaint
    out = tmp_path / "fit.json"
    solved = run("solve", *words, "kernel=precomputed", "shift=smallest", "--out", out)
    assert solved.code == 0
    assert "kernel shift" in solved.stdout
    assert room.SolveResult.load(out).normalisation == {
        "kernel": "precomputed",
        "shift": "smallest",
    }
    assert run("certify", out).code == 0
    misplaced = run("solve", *words, "kernel=rbf", "width=1", "shift=smallest")
    assert misplaced.code == 2
    assert "shift belongs to kernel=precomputed" in misplaced.complaint


# --- row 22: cuts of any scale --------------------------------------------------------------------


def box() -> pyo.ConcreteModel:
    """min -x_0 - x_1 over [0, 10]^2 and x_0 + 2 x_1 <= 24: -17 at (10, 7)."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 24)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


@pytest.mark.parametrize(
    ("scale", "form"), in_turn((1e-14, 1e-10, 1e-8, 1.0, 1e6, 1e14, 2e15, 1e18), ("primal", "dual"))
)
def test_row_22_the_same_cut_has_the_same_effect_at_every_scale(scale: float, form: str) -> None:
    """HiGHS drops 1e-10 in silence and never adds 2e15: numbers are divided by the largest."""
    live = room.LiveLP(box(), form=form)
    assert live.resolve().objective == pytest.approx(-17.0)
    number = live.add_cut({"x": np.full(2, scale)}, upper=1.5 * scale)
    found = live.resolve()
    assert found.objective == pytest.approx(-1.5, rel=1e-9)
    assert found.status is room.Status.OPTIMAL
    assert live.proven_bound() == pytest.approx(-1.5, rel=1e-9)
    live.remove_cut(number)
    assert live.resolve().objective == pytest.approx(-17.0)


@pytest.mark.parametrize(("form", "ratio"), [("primal", 1e-9), ("dual", 1e-16)])
def test_row_22_a_coefficient_that_vanishes_beside_another_is_refused(
    form: str, ratio: float
) -> None:
    """x_0 <= 1e-3 / ratio would hold nothing back once the coefficient is dropped."""
    live = room.LiveLP(box(), form=form)
    before = live.resolve()
    with pytest.raises(room.NumberError, match=r"x\[1\]"):
        live.add_cut({"x": np.array([1.0, ratio])}, upper=5.0)
    after = live.resolve()
    assert after.objective == before.objective
    assert after.iterations == 0, "the program was left alone"


# --- row 23: a cut that removes what it must keep -------------------------------------------------

FAR = 4
FAMILIES: dict[str, dict[str, str]] = {
    "concavity": {},
    "lifted": {"space": "lifted"},
    "facial": {"strategy": "literal"},
}
PLANE = gauss(7, 24, 2)
HALF = 0.5 * room.nu_range(PLANE).nu_bar
SPACE = gauss(26, 12, 3)


def spoil(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rays that go too far, or a depth that is not the least."""
    if family == "facial":
        depth = inner.facial.facial_depth
        monkeypatch.setattr(inner.facial, "facial_depth", lambda *words: 30 * depth(*words))
        return
    module: Any = {"concavity": inner.concavity, "lifted": inner.lifted_concavity}[family]
    steps = module.steps_to_norm
    monkeypatch.setattr(module, "steps_to_norm", lambda *words: FAR * steps(*words))


@pytest.mark.parametrize("family", FAMILIES)
def test_row_23_an_invalid_cut_is_caught_by_a_known_point_and_named(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, share = (SPACE, 0.4) if family == "facial" else (PLANE, 0.3)
    nu = share * room.nu_range(data).nu_bar
    known = corners(data, nu, np.full(data.n, 1 / data.n))
    words: dict[str, Any] = {"nu": nu, "starts": 1, "debug_solution": known} | FAMILIES[family]
    honest = cutting_plane(data, **words)
    assert honest.proven
    spoil(family, monkeypatch)
    name = "facial_cut" if family == "facial" else "concavity_cut"
    with pytest.raises(InvalidCutError, match=rf"{name}_\d+ .*removes a known point: w = \["):
        cutting_plane(data, **words)


def test_row_23_a_cut_that_leaves_its_own_vertex_is_not_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = inner.separation.concavity_cut

    def shallow(*words: Any) -> Any:
        cut = make(*words)
        if cut is None:
            return None
        return replace(cut, rhs=cut.rhs + cut.violation({"w": cut.origin.vertex}))

    monkeypatch.setattr(inner.separation, "concavity_cut", shallow)
    found = cutting_plane(PLANE, nu=HALF)
    assert "does not remove its own vertex: no progress; branch and cut" in found.message
    assert found.cuts == ()
    assert found.nodes > 0
    assert found.proven


# --- row 24: a loop without progress says why and proves no more than it has ----------------------


def assert_stalled(found: inner.CuttingPlaneResult, words: str) -> None:
    """The loop says why it stalls, and boxes prove what it leaves; cuts have no part in that."""
    at = corners(PLANE, HALF, np.full(PLANE.n, 1 / PLANE.n))
    expected = 1 / float(np.linalg.norm(at, axis=1).max())
    assert words in found.message
    assert "no progress; branch and cut went on" in found.message
    assert found.nodes > 0
    assert found.proven
    assert "branch and cut over boxes" in found.proof
    assert 0 < found.bound <= expected * (1 + 1e-9)
    assert found.best.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("way", ["concavity", "lifted", "facial"])
def test_row_24_cuts_too_shallow_to_count_end_the_loop(way: str) -> None:
    found = cutting_plane(PLANE, nu=HALF, least_depth=0.9, **FAMILIES[way])
    assert_stalled(found, "a cut of depth")


def test_row_24_a_cut_that_repeats_another_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relaxation loses every cut, and its vertex comes back."""
    monkeypatch.setattr(inner.Relaxation, "add", lambda *_: None)
    found = cutting_plane(PLANE, nu=HALF)
    assert_stalled(found, "says what an earlier cut says")
    assert len(found.cuts) < 20
