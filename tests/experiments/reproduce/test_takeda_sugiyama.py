"""Takeda & Sugiyama 2008 run again: its definitions by hand, its statements by other software."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom
from sklearn.svm import SVC, NuSVC

from tests.inside.cuts import CuttingPlaneResult, Kind
from tests.inside.experiments import RegistryEffort as Effort
from tests.inside.experiments import (
    Report,
    RiskBound,
    clopper_pearson,
    faces_left,
    largest_constant,
    least_constant,
    machines,
    points,
    rebuilt,
    risk_bound,
    runs,
    theorems,
    without_capacity,
)
from tests.inside.experiments import takeda_sugiyama_figure1 as figure1
from tests.inside.experiments import takeda_sugiyama_figure2 as figure2
from tests.inside.experiments import takeda_sugiyama_figure3 as figure3
from tests.inside.formulations import loss_weights
from tests.inside.solvers import StopReason
from tests.references.polytope_corners import corners
from tightmargin.cuts import InvalidCutError
from tightmargin.formulations import TrainingData, c_svc_dual
from tightmargin.solvers import Status, Verdict, nu_range

Numbers = dict[str, Any]


def hold(report: Report) -> bool:
    """Whether there are claims, and all of them hold."""
    return bool(report.claims) and not report.complaints


# --- Figure 1 ------------------------------------------------------------------------------------

FOUR = np.array([-3.0, 2.0, 0.5, -1.0])


@pytest.mark.parametrize(("nu", "mean"), [
    (0.25, 2.0), (0.5, 1.25), (1.0, -0.375), (0.125, 2.0),
    (0.375, (2.0 + 0.5 / 2) / 1.5),  # half of the second worst point
])  # fmt: skip
def test_the_tail_mean_of_four_numbers_is_that_by_hand(nu: float, mean: float) -> None:
    assert figure1.tail_mean(FOUR, nu) == pytest.approx(mean, abs=1e-15)
    assert figure1.least_of_rockafellar(FOUR, nu) == pytest.approx(mean, abs=1e-12)


@pytest.fixture(scope="module")
def distribution() -> Report:
    return figure1.run(Effort(quick=True))


def test_figure_1_has_one_cvar_in_four_ways(distribution: Report) -> None:
    assert hold(distribution)
    (table,) = distribution.tables
    assert {row.verdict for row in table.rows} == {Verdict.CERTIFIED}


@pytest.mark.parametrize(("change", "complaint"), [
    ({"(12)": 0.4}, "the mean of the tail by sorting"), ({"(6)": 0.4}, "Theorem 1"),
    ({"(3)/nu": 0.4}, "Theorem 1"), ({"VaR": 2.0}, "(5)"), ({"rho": -0.6}, "-rho of the solved"),
    ({"side": 1}, "the CVaR is negative above nu_bar"),
])  # fmt: skip
def test_a_number_of_figure_1_that_is_off_is_named(change: Numbers, complaint: str) -> None:
    right = {
        "errors": FOUR.tolist(), "nu": 0.5, "side": -1, "rho": -0.5, "VaR": -1.0,
        "tail mean": 1.25, "(12)": 1.25, "(6)": 1.25, "(3)/nu": 1.25,
    }  # fmt: skip
    assert all(claim.holds for claim in figure1.claims([right]))
    (failed,) = [one for one in figure1.claims([right, right | change]) if not one.holds]
    assert failed.text.startswith(complaint)


# --- Figure 2 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def profile() -> Report:
    return figure2.run(Effort(quick=True))


def test_figure_2_falls_and_changes_its_sign_at_nu_bar(profile: Report) -> None:
    assert hold(profile)
    values, ends = profile.tables
    data = points("wdbc")
    (end,) = ends.rows
    # nu_bar by another linear program: the most mass that cancels, in the dual.
    cancelled = linprog(
        -np.ones(data.n),
        A_eq=np.vstack([data.X.T * data.y, data.y]),
        b_eq=np.zeros(data.d + 1),
        bounds=(0, 1 / data.n),
    )
    assert end.cells["nu_bar"].ours == pytest.approx(-cancelled.fun, abs=1e-9)
    assert end.cells["nu_max"].ours == 2 * min(data.n_pos, data.n_neg) / data.n
    nus = [float(row.key[1]) for row in values.rows]
    assert nus[0] == end.cells["nu_max"].ours
    assert nus[-1] == pytest.approx(1 / data.n)
    for row in values.rows:
        nu, cvar = float(row.key[1]), row.cells["CVaR"].ours
        assert (cvar < 0) is (nu > end.cells["nu_bar"].ours)
        assert row.cells["lower"].ours <= cvar + 1e-12


def tail_of(machine: NuSVC, data: TrainingData, nu: float) -> float:
    """Mean of the worst share nu of the distances to the wrong side of a machine of libsvm."""
    f = -data.y * machine.decision_function(data.X) / np.linalg.norm(machine.coef_)
    worst, whole = np.sort(f)[::-1], math.floor(nu * data.n)
    return float((worst[:whole].sum() + (nu * data.n - whole) * worst[whole]) / (nu * data.n))


def test_the_cvar_through_nu_svc_and_zeta_are_those_of_libsvm() -> None:
    data = points("wdbc")
    other = NuSVC(nu=0.4, kernel="linear", tol=1e-10).fit(data.X, data.y)
    found = figure2.through_nu_svc(data, 0.4)["nu-SVC"]
    assert found == pytest.approx(tail_of(other, data, 0.4), rel=1e-5)
    zeta = figure2.least_share(data, 10.0)["zeta"]
    svc = SVC(C=10.0, kernel="linear", tol=1e-6).fit(data.X, data.y)
    assert zeta == pytest.approx(np.abs(svc.dual_coef_).sum() / (10.0 * data.n), 1e-4)
    assert nu_range(data).nu_bar < zeta


def small_profile(**changed: Any) -> Numbers:
    """CVaR = 1, 1, 0.5, -0.5 at nu = 0.05, 0.1, 0.3, 0.8: Phi is concave and 0 at 0.5."""
    rows = [
        {"nu": nu, "side": side, "CVaR": cvar, "lower": cvar - 1e-9, "Phi": nu * cvar,
         "how": "ball" if side > 0 else "search", "verdict": "CERTIFIED",
         "nu-SVC": cvar, "nu-SVC verdict": "CERTIFIED"}
        for nu, side, cvar in ((0.8, 1, -0.5), (0.3, -1, 0.5), (0.1, -1, 1.0), (0.05, -1, 1.0))
    ]  # fmt: skip
    zeta = [{"C": C, "zeta": 0.5 + 1e-3 / C, "verdict": "CERTIFIED"} for C in (1.0, 10.0)]
    known = {"data": "wdbc", "rows": rows, "constant_until": 0.1, "nu_bar": 0.5,
             "nu_bar_bounds": [0.5, 0.5], "zeta": zeta}  # fmt: skip
    for place, values in changed.pop("at", {}).items():
        rows[place] |= values
    return known | changed


@pytest.mark.parametrize(("change", "complaint"), [
    ({"at": {1: {"lower": -0.6}}}, "Lemma 2"),
    ({"at": {3: {"CVaR": 1.1}}}, "up to nu = 2/m"),
    ({"at": {2: {"Phi": 0.01}}}, "Phi = nu CVaR"),
    ({"at": {0: {"side": -1}, 3: {"side": 1}}}, "the CVaR is negative above"),
    ({"nu_bar_bounds": [0.4, 0.5]}, "nu_bar is proven to"),
    ({"nu_bar_bounds": [None, 0.5]}, "nu_bar has no proven lower bound"),
    ({"nu_bar": 0.49}, "nu_min"),
    ({"zeta": [{"C": 1.0, "zeta": 0.6}, {"C": 10.0, "zeta": 0.4}]}, "nu_min"),
    ({"at": {0: {"nu-SVC": -0.6}}}, "Lemma 6"),
    ({"at": {0: {"how": "search"}}}, "Lemma 6"),
])  # fmt: skip
def test_a_number_of_figure_2_that_is_off_is_named(change: Numbers, complaint: str) -> None:
    assert all(claim.holds for claim in figure2.claims(small_profile()))
    failed = [one.text for one in figure2.claims(small_profile(**change)) if not one.holds]
    assert any(text.startswith(f"breast cancer: {complaint}") for text in failed)
    assert len(failed) <= 2  # a wrong side is seen by two statements


# --- Figure 3 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def literal() -> tuple[Numbers, CuttingPlaneResult]:
    one = figure3.cut_run("14", "literal")
    return one, rebuilt(figure3.points("14"), one["run"])


@pytest.fixture(scope="module")
def every_corner(literal: tuple[Numbers, CuttingPlaneResult]) -> np.ndarray:
    problem = literal[1].problem
    found = corners(problem.data, problem.nu, loss_weights(problem.data, "uniform"))
    return found[np.argsort(np.arctan2(found[:, 1], found[:, 0]))]


def test_the_drawn_run_has_every_kind_of_cut_and_ends_with_the_longest_corner(
    literal: tuple[Numbers, CuttingPlaneResult], every_corner: np.ndarray
) -> None:
    one, result = literal
    assert {cut.kind for cut in result.cuts} == {Kind.CONCAVITY, Kind.FACIAL}
    lengths = np.linalg.norm(every_corner, axis=1)
    assert one["corners"] == len(every_corner)
    assert one["longest"] == pytest.approx(lengths.max())
    assert 1 / result.best.objective == pytest.approx(lengths.max())
    assert result.proof.startswith("exact rational bound")
    assert figure3.kept(result) == one["run"], "it went through JSON"
    with pytest.raises(ValueError, match="made for other data"):
        rebuilt(figure3.points("60"), one["run"])


def test_faces_left_are_those_of_a_square(literal: tuple[Numbers, CuttingPlaneResult]) -> None:
    """The last side may be left in part."""
    one, result = literal
    assert one["left"][-1] == [0, 0]
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    for row, side, expected in (
        ([1, 0], 2.0, (4, 4)), ([1, 0], 0.5, (2, 3)), ([1, 1], 1.0, (3, 4)),
        ([1, 0], -1.0, (2, 1)), ([1, 0], -2.0, (0, 0)),
    ):  # fmt: skip
        cut = replace(result.cuts[0], coefficients={"w": np.array(row, dtype=float)}, rhs=side)
        assert faces_left(replace(result, cuts=(cut,)), square) == [expected]


def test_a_cut_that_does_not_follow_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def deeper(*arguments: Any, **options: Any) -> CuttingPlaneResult:
        found = cutting_plane(*arguments, **options)
        first, *others = found.cuts
        return replace(found, cuts=(replace(first, rhs=first.rhs - 0.1), *others))

    cutting_plane = figure3.cutting_plane
    monkeypatch.setattr(figure3, "cutting_plane", deeper)
    with pytest.raises(InvalidCutError, match="removes a point longer than gamma"):
        figure3.cut_run("14", "concavity")


def test_figure_3_shows_each_round_until_no_face_remains(
    literal: tuple[Numbers, CuttingPlaneResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure3, "QUICK", ("14",))
    report, result = figure3.run(Effort(quick=True)), literal[1]
    assert hold(report)
    rounds, runs = report.tables
    *cut_rows, end = rounds.rows
    assert cut_rows[5].words[0].endswith("facial")
    # In round 2 the local solution is on a side, and the cut is made at a corner of that side.
    found = [row.cells["1/|v|"].ours for row in cut_rows]
    removed = [1 / float(np.linalg.norm(cut.origin.vertex)) for cut in result.cuts]
    assert found.pop(1) < removed.pop(1)
    assert found == pytest.approx(removed, rel=1e-6)
    last = cut_rows[-1].cells
    assert (last["corners"].ours, last["sides"].ours) == (0, 0)
    for row in cut_rows:  # in the middle of a run nothing is certified
        best, bound = row.cells["best"].ours, row.cells["bound"].ours
        assert row.verdict is None
        assert row.relative_gap == pytest.approx(1 - bound / best)
    assert (end.verdict, end.cells["bound"].ours) == (Verdict.CERTIFIED, result.bound)
    for row in runs.rows:
        counted = sum(row.cells[name].ours for name in ("at corners", "other", "facial"))
        assert counted == (8 if row.key[1] == "literal" else 7)


def test_a_run_of_figure_3_that_is_off_is_named(
    literal: tuple[Numbers, CuttingPlaneResult],
) -> None:
    one, result = literal
    words = {"14": "points"}
    other = {**one, "strategy": "concavity"}, replace(result, lp_solves=result.lp_solves - 1)

    def failed(facts: Numbers, run: CuttingPlaneResult) -> list[str]:
        found = figure3.claims([(facts, run), other], words)
        return [claim.text for claim in found if not claim.holds]

    assert failed(one, result) == []
    (text,) = failed(one, replace(result, proof="a cold solve finds no point either"))
    assert "exact arithmetic in 1 of 2" in text
    (text,) = failed({**one, "left": [*one["left"][:-1], [0, 1]]}, result)
    assert "no corner and no side" in text
    (text,) = failed({**one, "left": [one["left"][0], *one["left"][:1], *one["left"][2:]]}, result)
    assert "removes at least one face of P: 9 of 10" in text
    (text,) = failed({**one, "longest": one["longest"] * 1.001}, result)
    assert text.startswith("step 7")
    (text,) = failed(one, replace(result, lp_solves=1))
    assert text.startswith("facial cuts do not pay")


# --- Theorems 3 to 5 -----------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "n"), [(0, 30), (7, 50), (50, 50)])
def test_limits_of_a_rate_are_where_its_tails_have_their_mass(wrong: int, n: int) -> None:
    low, high = clopper_pearson(wrong, n, 0.9)
    assert (wrong, low) == (0, 0) or binom.sf(wrong - 1, n, low) == pytest.approx(0.05)
    assert (wrong, high) == (n, 1) or binom.cdf(wrong, n, high) == pytest.approx(0.05)


def bound_of(c: float, nu: float = 0.3, flip: bool = False) -> RiskBound:
    """The bound for the sign of x = -1, 1, 300 times each, a fifth of the labels wrong."""
    x = np.tile([-1.0, 1.0], 300)
    y = np.where(np.arange(600) % 10 < 2, -x, x)
    return risk_bound(
        TrainingData(x[:, None], y), [-1.0 if flip else 1.0], 0.0, nu=nu, nu_bar=0.4, radius=1.0,
        c=c, delta=0.05,
    )  # fmt: skip


@pytest.mark.parametrize(("flip", "side"), [(False, "upper"), (True, "lower")])
def test_the_constants_are_where_the_bound_meets_its_limit(flip: bool, side: str) -> None:
    bound = bound_of(1.0, flip=flip)
    assert bound.side == side
    limit = 0.6 if side == "upper" else 0.1
    least, largest = least_constant(bound, limit, m=600), largest_constant(bound, m=600)
    assert bound_of(least, flip=flip).bound == pytest.approx(limit)
    assert bound_of(largest, flip=flip).bound == pytest.approx(1 if side == "upper" else 0)
    assert least < largest
    assert bound_of(1e-9, flip=flip).bound == pytest.approx(without_capacity(bound, m=600))
    nothing = 0.2 if side == "upper" else 0.4  # reached by nu alone
    assert least_constant(bound, nothing, m=600) == 0


@pytest.fixture(scope="module")
def report() -> Report:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(theorems, "QUICK", {"wdbc": 1, "coin": 1})
        return theorems.run(Effort(quick=True))


def test_bounds_hold_and_say_nothing_on_real_data(report: Report) -> None:
    assert hold(report)
    (table,) = report.tables
    rows = {(row.key[0], row.key[1]): row for row in table.rows}
    assert [row.key[2] for row in table.rows] == [3, 3, 3, 3, 4, 4, 5, 5, 3, 4, 4, 4, 5, 5, 5, 5]
    for (name, nu), row in rows.items():
        assert row.verdict is (None if name == "coin" else Verdict.CERTIFIED)
        m = 20_000 if name == "coin" else 379
        # G by its formula, from the printed levels, with R = c = 1 and delta = 1/20.
        alpha, sign = row.cells["VaR"].ours, -1 if row.key[2] == 5 else 1
        G = math.sqrt(2 / m * (16 / alpha**2 * math.log2(2 * m) - 1 + math.log(40)))
        assert row.cells["bound"].ours == pytest.approx(float(nu) + sign * G, rel=1e-12)
        assert sign * (row.cells["limit"].ours - row.cells["test error"].ours) > 0
    assert rows["coin", 0.3].cells["bound"].ours > 0


def small_bound(**changed: Any) -> Numbers:
    known = {
        "data": "wdbc", "theorem": 3, "side": "upper", "m": 100, "low": 0.1, "high": 0.3,
        "bound": 1.5, "vacuous": True, "by CVaR": 1.7, "c from": 0.0,
    }  # fmt: skip
    return known | changed


def small_bounds() -> list[Numbers]:
    coin = {"data": "coin", "vacuous": False}
    low = {"theorem": 5, "side": "lower", "bound": -0.1, "by CVaR": 0.1}
    return [
        small_bound(), small_bound(theorem=4, **{"by CVaR": None}), small_bound(**low),
        small_bound(**coin, bound=0.9), small_bound(**coin, theorem=4, bound=0.5),
        small_bound(**(coin | low | {"bound": 0.2, "by CVaR": 0.3})),
    ]  # fmt: skip


@pytest.mark.parametrize(("place", "change", "complaint"), [
    (0, {"high": 1.6}, "Theorem 3, c = 1"), (1, {"high": 1.6}, "Theorem 4, c = 1"),
    (2, {"low": -0.2}, "Theorem 5, c = 1"), (3, {"bound": 0.35}, "coin"),
    (4, {"vacuous": True}, "coin"), (5, {"bound": 0.45, "by CVaR": 0.5}, "coin"),
    (1, {"vacuous": False}, "on real data"), (0, {"by CVaR": 1.4}, "nu + G(VaR)"),
    (5, {"by CVaR": 0.1}, "nu + G(VaR)"),
])  # fmt: skip
def test_a_bound_on_the_wrong_side_is_named(place: int, change: Numbers, complaint: str) -> None:
    assert all(claim.holds for claim in theorems.claims(small_bounds()))
    changed = small_bounds()
    changed[place] |= change
    (failed,) = [one for one in theorems.claims(changed) if not one.holds]
    assert failed.text.startswith(complaint)


@pytest.mark.parametrize(("theorem", "side", "worst"), [(3, "upper", 0), (5, "lower", 1)])
def test_a_row_of_several_splits_has_the_worst_of_each(theorem: int, side: str, worst: int) -> None:
    known = {"nu": 0.3, "VaR": 1.0, "CVaR": 1.0, "test error": 0.2, "relative_gap": 1e-8,
             "verdict": "CERTIFIED"}  # fmt: skip
    group = [
        small_bound(**known, theorem=theorem, side=side, limit=limit, bound=bound,
                    **{"by CVaR": bound + 1, "c from": low, "c to": high})
        for limit, bound, low, high in ((0.2, 0.5, 0.1, 0.9), (0.1, 0.6, 0.3, 0.8))
    ]  # fmt: skip
    group[1] |= {"test error": 0.4, "relative_gap": 1e-7}
    (row,) = theorems._rows(group)
    found = {name: cell.ours for name, cell in row.cells.items()}
    assert found["test error"] == pytest.approx(0.3)
    assert (found["splits"], found["c from"], found["c to"]) == (2, 0.3, 0.8)
    assert all(found[name] == group[worst][name] for name in ("limit", "bound", "by CVaR"))
    assert (row.verdict, row.relative_gap) == (Verdict.CERTIFIED, 1e-7)
    group[0]["verdict"] = "NOT_CERTIFIED"
    assert theorems._rows(group)[0].verdict is Verdict.NOT_CERTIFIED


# --- Ctrl-C, and the command ---------------------------------------------------------------------


def test_a_run_that_ctrl_c_cut_short_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is kept, the second is to be run again, and nothing is judged."""
    monkeypatch.setattr(figure3, "QUICK", ("14",))
    finished = figure3.cutting_plane

    def second_is_interrupted(data: TrainingData, **options: Any) -> CuttingPlaneResult:
        found = finished(data, **options)
        if options["strategy"] == "literal":
            return found
        return replace(found, stop=StopReason.INTERRUPTED)

    monkeypatch.setattr(figure3, "cutting_plane", second_is_interrupted)
    report = figure3.run(Effort(quick=True))
    assert report.unfinished == "1 of 2 runs"
    assert [len(table.rows) for table in report.tables] == [9, 1]  # 8 cuts and the end
    assert (report.judged, report.complaints) == ((), [])


def test_a_path_or_a_model_that_ctrl_c_cut_short_is_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = points("wdbc")
    whole = machines.trained(data, [0.5])
    stopped = replace(whole.rows[0], stop=StopReason.INTERRUPTED)
    for short in (replace(whole, not_reached=(0.1,)), replace(whole, rows=(stopped,))):
        monkeypatch.setattr(machines, "extended_nu_path", lambda *_, short=short: short)
        with pytest.raises(KeyboardInterrupt):
            machines.trained(data, [0.5, 0.1])
    model = c_svc_dual(data, C=1.0)
    result, value = runs.optimum(model)
    assert value == result.objective
    stopped = replace(result, status=Status.INTERRUPTED)
    without = replace(result, status=Status.LIMIT_NO_SOLUTION, objective=None)
    for found, error in ((stopped, KeyboardInterrupt), (without, RuntimeError)):
        monkeypatch.setattr(runs, "solve", lambda *_, found=found, **__: found)
        with pytest.raises(error):
            runs.optimum(model)
