"""Searches as results, and edited members: beside every direction and SCIP, and a lying search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import cuts_methods as searched_module
from tests.inside.cuts import saved_bounds as again_module
from tests.inside.cuts import search_again
from tests.inside.formulations import origin_now
from tests.inside.solvers import FACTS, StopReason
from tests.references import reference_solutions
from tests.references.polytope_corners import gauss
from tests.support.command_line import run, write_csv
from tests.support.covering import in_turn
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import Status, Verdict, solve

DATA = reference_solutions.points("overlapping", 3, n=10)
NU, N = 0.25, 10  # nu_bar is 0.464
PROVING = ("auto", "branch-and-cut", "cutting-plane", "hull")
FIVE: TrainingData = cloud(4, 30, 5)  # beyond the dimensions of the hull engine


@cache
def circle(intercept: str = "free") -> float:
    return reference_solutions.nu_risk_on_circle(DATA, intercept, NU, np.full(N, 1 / N)).value


# What the optimum r of (3) becomes: 2 is the norm and N the factor of Perez-Cruz et al.
OWN, SCALED = {"nu": NU}, {"nu": NU, "scale": "perez_cruz"}
FORMS: dict[str, tuple[str, dict[str, Any], Callable[[float], float]]] = {
    "sphere": ("extended_nu_svc", OWN, lambda r: r),
    "sphere, n": ("extended_nu_svc", SCALED, lambda r: N * math.sqrt(2) * r),
    "reverse": ("extended_nu_svc_reverse", OWN, lambda r: r),
    "reverse, n": ("extended_nu_svc_reverse", SCALED, lambda r: N * math.sqrt(2) * r),
    "polar": ("extended_nu_svc_polar", OWN, lambda r: -(r**-2)),
    "polar, n": ("extended_nu_svc_polar", SCALED, lambda r: -((N * r) ** -2)),
    "cvar": ("min_cvar", {"beta": 1 - NU}, lambda r: r / NU),
}


def rows_hold(model: pyo.ConcreteModel) -> bool:
    """Whether the values in a model meet every row, as Pyomo itself computes it."""
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return all(min(row.lslack(), row.uslack()) >= -1e-9 for row in rows)


@pytest.mark.parametrize(("kind", "method"), in_turn(FORMS, PROVING))
def test_every_search_proves_every_form(kind: str, method: str) -> None:
    name, settings, of = FORMS[kind]
    model = CATALOGUE[name].build(DATA, **settings)
    result = solve(model, method=method)
    expected = of(circle())
    assert result.objective == pytest.approx(expected, rel=1e-9)
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.CERTIFIED)
    assert result.bound is not None
    assert expected - 1.1e-6 * abs(expected) <= result.bound <= expected + 1e-12
    assert pyo.value(model.objective) == pytest.approx(expected, rel=1e-9)
    assert rows_hold(model)
    assert set(result.values) == {v.name for v in model.component_objects(pyo.Var)}
    assert set(result.certificate.facts) <= set(FACTS)
    result = solve(tm.extended_nu_svc(DATA, nu=NU, intercept="none"), method=method)
    assert result.objective == pytest.approx(circle("none"), rel=1e-9)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "b" not in result.values


@pytest.mark.parametrize("share", [1.0, 1 + 5e-9, 1 + 5e-8])
def test_at_nu_bar_the_optimum_is_0(share: float) -> None:
    model = tm.extended_nu_svc(DATA, nu=tm.theory.nu_range(DATA).nu_bar * share)
    plain = solve(model)
    assert plain.objective - 1e-10 <= plain.bound <= 1e-15
    result = solve(model, absolute_gap=1e-10)
    assert result.objective == pytest.approx(0.0, abs=1e-7)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.facts["absolute_gap"] == 1e-10
    assert np.linalg.norm(result.values["w"]) == pytest.approx(1.0)
    assert rows_hold(model)


def saying(**changes: Any) -> Callable[..., Any]:
    """A hull search whose result is changed; a number is that share of the objective."""

    def search(*args: Any, **options: Any) -> Any:
        found = tm.search.hull_search(*args, **options)
        shares = {word: found.objective * value for word, value in changes.items()
                  if isinstance(value, float)}  # fmt: skip
        return replace(found, **changes | shares)

    return search


@pytest.mark.parametrize("kind", sorted(FORMS))
def test_a_search_is_not_believed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose bound is above a point is named; one that says proven with a gap, not certified."""
    name, settings, _ = FORMS[kind]
    for lie, status, reason in (
        (saying(bound=1.001), Status.INACCURATE, "contradicts the bound"),
        (saying(bound=0.999, stop=StopReason.PROVEN), Status.FEASIBLE, "the proven gap is"),
    ):
        monkeypatch.setattr(searched_module, "hull_search", lie)
        result = solve(CATALOGUE[name].build(DATA, **settings), method="hull")
        assert (result.status, result.certificate.verdict) == (status, Verdict.NOT_CERTIFIED)
        assert reason in result.certificate.reason


def test_what_belongs_to_a_solver_asks_for_one() -> None:
    model = tm.extended_nu_svc(DATA, nu=NU)
    assert solve(model, options={"limits/nodes": 10_000}).solver == "scip"
    assert solve(model, warm_start={"w": [1.0, 0.0]}).solver == "scip"
    assert solve(tm.extended_nu_svc_ball(DATA, nu=0.6)).solver == "clarabel"


@pytest.mark.parametrize(
    ("method", "code", "solver"),
    [("auto", 0, "tightmargin"), ("local", 1, "tightmargin"), ("direct", 0, "scip")],
)
def test_solve_takes_the_method(method: str, code: int, solver: str, file: Path) -> None:
    words = ["--set", f"nu={NU}", "--method", method, "--seed", "2", "--json"]
    answer = run("solve", "extended_nu_svc", "--data", file, *words)
    assert answer.code == code
    assert answer.json["objective"] == pytest.approx(circle(), rel=2e-6)
    own = answer.json["solver"]
    assert (own["name"], own["seed"]) == (solver, 2)


def test_an_interrupted_search_leaves_with_130_and_its_point(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = saying(stop=StopReason.INTERRUPTED, bound=0.5)
    monkeypatch.setattr(searched_module, "hull_search", stopped)
    answer = run("solve", "extended_nu_svc", "--data", file, "--set", f"nu={NU}", "--json")
    assert answer.code == 130
    assert answer.json["status"] == "interrupted"
    assert answer.json["objective"] == pytest.approx(circle())
    assert answer.json["bound"] == pytest.approx(circle() / 2)
    assert "interrupted; kept objective" in answer.stderr
    monkeypatch.setattr(again_module, "hull_search", stopped)
    model = tm.extended_nu_svc(DATA, nu=NU)
    with pytest.raises(KeyboardInterrupt):  # while a bound is proven again it is no verdict
        search_again(origin_now(model), solve(model).values)


def saved(folder: Path, data: TrainingData, name: str, *words: str) -> Path:
    train, out = write_csv(folder / "train.csv", data), folder / "fit.json"
    answer = run("solve", name, "--data", train, *words, "--out", out)
    assert answer.code == 0, answer.stderr
    return out


def test_without_a_solver_the_plane_is_proven_again_and_beyond_it_is_said_what_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plane").mkdir()
    words = ("--set", f"nu={NU}", "scale=perez_cruz", "--method", "branch-and-cut")
    plane = saved(tmp_path / "plane", DATA, "extended_nu_svc", *words)
    nu = below_nu_bar(FIVE, 0.7)
    beyond = saved(tmp_path, FIVE, "extended_nu_svc", "--set", f"nu={nu!r}")
    again = run("certify", beyond, "--json")
    assert again.code == 0
    assert "branch and cut" in again.json["certificate"]["bound_method"]
    monkeypatch.setattr(again_module, "has_highspy", lambda: False)
    found = run("certify", plane, "--json")
    assert (found.code, found.json["certificate"]["verdict"]) == (0, "CERTIFIED")
    bound, expected = found.json["numbers"]["bound"], FORMS["sphere, n"][2](circle())
    assert bound["confirmed"]
    assert bound["recomputed"] == pytest.approx(expected, rel=1e-9)
    found = run("certify", beyond, "--json")
    assert (found.code, found.json["numbers"]["bound"]["confirmed"]) == (1, False)
    assert "needs highspy" in found.json["claims"][0]
    for kind in ("polar, n", "reverse", "cvar"):
        name, settings, _ = FORMS[kind]
        own = ["--set", *(f"{key}={value}" for key, value in settings.items())]
        assert run("certify", saved(tmp_path, DATA, name, *own)).code == 0


@pytest.mark.parametrize("share", [1.0, 1 + 5e-9, 1.3])
def test_results_at_nu_bar_and_above_are_proven_again(share: float, tmp_path: Path) -> None:
    nu = tm.theory.nu_range(DATA).nu_bar * share
    words = ["--set", f"nu={nu!r}", "--absolute-gap", "1e-10"]
    file = saved(tmp_path, DATA, "extended_nu_svc", *words)
    answer = run("certify", file, "--absolute-gap", "1e-10", "--json")
    assert answer.json["numbers"]["bound"]["confirmed"]
    # At nu_bar the optimum is 0, and the gap is closed by what the caller allows alone.
    assert answer.code == (0 if share > 1.1 else 5)
    assert run("certify", file).code == (0 if share > 1.1 else 1)


Edit = Callable[[pyo.ConcreteModel], None]
POINTS = gauss(3, 20, 2)


def of_row(build: Callable[[pyo.ConcreteModel], Any]) -> Edit:
    return lambda model: model.add_component("more", pyo.Constraint(expr=build(model)))


W_OFF, TWO_ROWS, RHO_AND_XI = (
    of_row(lambda m: m.w[0] <= -0.25), of_row(lambda m: (0.1, m.w[0] - m.w[1], 0.4)),
    of_row(lambda m: 2 * m.rho + m.xi[1] - m.xi[2] + m.w[1] <= 0.3),
)  # fmt: skip
EDITS: tuple[Edit, ...] = (
    W_OFF, of_row(lambda m: m.w[0] + 2 * m.w[1] <= -1.3), TWO_ROWS,
    of_row(lambda m: m.rho <= -0.05), of_row(lambda m: sum(m.xi[i] for i in m.xi) <= 5.0),
    RHO_AND_XI, lambda m: m.rho.fix(0.1),
)  # fmt: skip
OF_B: tuple[Edit, ...] = (
    of_row(lambda m: m.b + 0.5 * m.w[1] >= 0.1), lambda m: m.b.fix(0.25),
    of_row(lambda m: m.b - m.rho + m.xi[0] <= -0.2),
)  # fmt: skip
MODES = ("free", "penalised", "none")
# On both sides of nu_bar. A high rho asks for slacks of all points: each share is then its cap, and
# none has room. A row may be curved itself.
MEMBERS: list[tuple[Edit, str, str, float]] = [
    (RHO_AND_XI, "penalised", "extended_nu_svc", 1.2),
    (of_row(lambda m: m.rho >= 30.0), "none", "extended_nu_svc", 0.5),
    (of_row(lambda m: m.w[0] ** 2 + 2 * m.rho**2 <= 0.2), "free", "extended_nu_svc", 0.5),
    (TWO_ROWS, "penalised", "extended_nu_svc_reverse", 0.5),
    (W_OFF, "none", "extended_nu_svc_polar", 0.5),
    (of_row(lambda m: m.value_at_risk + m.xi[1] - m.w[1] >= 0.3), "free", "min_cvar", 1.2),
]
CASES = in_turn(EDITS, MODES) + in_turn(OF_B, MODES[:2])


@pytest.mark.parametrize(
    ("edit", "mode", "member", "share"),
    [(edit, mode, "extended_nu_svc", 0.5) for edit, mode in CASES] + MEMBERS,
)
def test_an_edited_member_has_the_optimum_of_scip(
    edit: Edit, mode: str, member: str, share: float
) -> None:
    nu = below_nu_bar(POINTS, share, intercept=mode)
    word = {"beta": 1 - nu} if member == "min_cvar" else {"nu": nu}
    model = getattr(tm, member)(POINTS, intercept=mode, **word)
    edit(model)
    own = tm.solve(model)
    assert own.certificate.facts["engine"] == "branch-and-cut"
    assert own.certificate.verdict.closed
    inside = mode == "free" and edit in EDITS[:-1]  # a point inside the rows
    if inside or (edit, mode, member, share) in MEMBERS:
        assert own.certificate.verdict is Verdict.CERTIFIED
        assert own.certificate.primal_residual == 0.0
    best = tm.solve(model, "scip", time_limit=20.0, prove=False).objective
    assert own.certificate.bound <= best + 1e-6 * abs(best) + 1e-8
    assert own.objective == pytest.approx(best, rel=5e-6, abs=1e-8)


def test_rows_that_leave_nothing_are_not_proven_to_have_an_optimum() -> None:
    model = tm.extended_nu_svc(POINTS, nu=below_nu_bar(POINTS, 0.5))
    model.more = pyo.Constraint(expr=model.w[0] >= 1.5)
    result = tm.solve(model, method="branch-and-cut")
    assert result.objective is None
    assert result.status.value in ("infeasible", "infeasible_or_unbounded")
