"""A solver that lies in every way we could think of: solve() catches and names each lie."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    Case,
    Limits,
    Multipliers,
    certify,
    clarabel,
    classify,
    highs,
    pyomo_interface,
    scip,
    standard_form,
    unedited_origin,
    with_contradictions,
)
from tests.inside.solvers import Subject as KernelSubject
from tests.references import reference_solutions
from tests.support import long_runs, lying_solver
from tests.support.covering import FULL, covering
from tests.support.lying_solver import DATA, FATAL, LIES, SUBJECTS
from tightmargin.solvers import Claim, SolveResult, Status, Verdict

CONVEX = ("LP", "QP", "SOCP", "SDP")
UNIFORM = np.full(DATA.n, 1 / DATA.n)
# SCIP meets the norm row to 1e-6.
CLOSE = 2e-6


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """The liar beside the solvers, for one test: tell(lie, subject)."""
    lying_solver.register()
    monkeypatch.setitem(SOLVERS, "liar", lying_solver.INFO)
    monkeypatch.setitem(pyomo_interface.INTERFACES, "liar", "liar")
    monkeypatch.setitem(pyomo_interface._DEFAULTS, "liar", {})
    monkeypatch.setitem(pyomo_interface._SEED, "liar", "seed")
    monkeypatch.setattr(pyomo_interface, "_DUALS", {*pyomo_interface._DUALS, "liar"})
    yield lying_solver.tell
    lying_solver.tell("nothing_but_the_truth")


@functools.cache
def optimum(subject: str) -> float:
    """Found without any of our solvers, readers or multipliers."""
    match subject:
        case "LP":
            return reference_solutions.nu_risk_linearised(
                DATA, "free", 0.4, UNIFORM, np.array([1.0, 0.0])
            ).value  # fmt: skip
        case "QP":
            return reference_solutions.hinge(DATA, "free", 0.5, 1.0).value
        case "SOCP":
            return reference_solutions.nu_risk_in_ball(DATA, "free", 0.9, UNIFORM)
        case "SDP":
            return reference_solutions.theorem_2(DATA, "penalised", penalty=1.0).value
        case "MILP":
            return fewest_left_out()
        case "MIQP":
            return reference_solutions.zero_one_optimum(DATA, "penalised", 1.0)
    return reference_solutions.nu_risk_on_circle(DATA, "free", 0.3, UNIFORM).value


def fewest_left_out() -> float:
    """Of the points of long_runs.milp, by trying every set of points that is left out."""
    data = long_runs.data(12, 2)
    rows = data.y[:, None] * np.column_stack([data.X, np.ones(12)])
    for count in range(12):
        for out in itertools.combinations(range(12), count):
            kept = np.delete(rows, out, axis=0)
            box = [(-1, 1), (-1, 1), (-10, 10)]
            found = linprog(np.zeros(3), A_ub=-kept, b_ub=np.full(len(kept), -0.01), bounds=box)
            if found.status == 0:
                return float(count)
    return 12.0


CERTIFIED, NOT, CLAIM = Verdict.CERTIFIED, Verdict.NOT_CERTIFIED, Verdict.SOLVER_BOUND
GAP = "the proven gap is"
MORE = "the solver contradicts itself"
# Verdict, and words of the reason; of the message where our own proof stands beside the lie.
Caught = tuple[Verdict, str]
POINT_IS_RIGHT = {
    "wrong_objective": "returned objective",
    "objective_is_nan": "returned objective nan",
    "objective_is_infinite": "returned objective -inf",
    "bound_is_nan": "returned the bound nan",
    "bound_is_infinite": "returned the bound inf",
    "bound_above_the_point": "returned the bound",
}
ERRORS = {  # the same of every model, and the status is an error
    "point_with_nan": r"returned nan for w\[0\]$",
    "point_with_infinity": "returned inf for",
    "point_of_a_shorter_model": "returned no value for .* and 2 others$",
    "point_of_another_model": "returned no value for",
    "empty_answer": "returned no value for",
    "values_that_are_no_numbers": "liar raised TypeError",
    "optimal_without_a_point": "returned status feasible without a point$",
    "point_that_cannot_be_asked_for": "liar raised RuntimeError: the licence server",
    "infeasible": "there is a point that is feasible to",
    "unbounded": "nothing is below",
    "infeasible_or_unbounded": "there is a point .* and nothing is below",
    "foreign_exception": "liar raised VendorError: rescode 1001",
}
# The rest depends on who proves what: (convex, MILP, MIQP, NONCONVEX).
BY_CLASS: dict[str, tuple[Caught, ...]] = {
    "worse_point": (
        (NOT, GAP),
        (CLAIM, ""),  # consistent, and nothing of ours reaches that far
        (NOT, "exceeds the optimum .* by cones"),
        (NOT, "the solver's bound .* exceeds a feasible value"),
    ),
    "worse_point_for_the_optimum": ((NOT, GAP), *3 * ((NOT, f"{MORE}: objective"),)),
    "optimal_after_a_time_limit": ((NOT, GAP), *3 * ((NOT, "says optimal with bound .* below"),)),
}
BY_CLASS["bound_between_optimum_and_point"] = BY_CLASS["worse_point"]
# The solver's multipliers are used for linear and quadratic programs.
WRONG_DUALS = {
    "dual_signs": f"{GAP}|stationarity of",
    "dual_scale": GAP,
    "dual_noise": f"{GAP}|stationarity of",
    "duals_are_nan": "multipliers hold nan or infinity",
    "duals_are_infinite": "multipliers hold nan or infinity",
}


def expected(subject: str, lie: str) -> Caught | None:
    """What becomes of a lie about a model; None where it cannot be told."""
    proven = SUBJECTS[subject].proven
    if lie == "nothing_but_the_truth":
        return (CERTIFIED if proven else CLAIM), ""
    if lie in POINT_IS_RIGHT:
        return (CERTIFIED, POINT_IS_RIGHT[lie]) if proven else (NOT, MORE)
    if lie in WRONG_DUALS:
        return (NOT, WRONG_DUALS[lie]) if subject in ("LP", "QP") else None
    if lie in ERRORS:
        if subject == "NONCONVEX" and "unbounded" in lie:
            return NOT, "the solver's word: "  # no bound of ours reaches a model like this
        return NOT, ERRORS[lie]
    of_class = ("MILP", "MIQP", "NONCONVEX")
    return BY_CLASS[lie][0 if subject in CONVEX else 1 + of_class.index(subject)]


def subjects_of(lie: str) -> list[str]:
    """Every class that a lie is judged differently in, or two in turn."""
    told = [subject for subject in SUBJECTS if expected(subject, lie) is not None]
    turn = list(LIES).index(lie)
    if FULL or lie in WRONG_DUALS:
        return told
    if lie in BY_CLASS:
        return [CONVEX[turn % 4], "MILP", "MIQP", "NONCONVEX"]
    return [told[turn % len(told)], told[(turn + 3) % len(told)]]


HEARD = [lie for lie in LIES if lie not in FATAL and lie != "infeasible_point"]
CASES = [(subject, lie) for lie in HEARD for subject in subjects_of(lie)]
assert {subject for subject, _ in CASES} == set(SUBJECTS)


def check_what_no_lie_may_change(
    model: pyo.ConcreteModel, subject: str, result: SolveResult
) -> None:
    """Objective of the point that is returned, proven bound below the optimum, verdict earned."""
    best = optimum(subject)
    size = max(1.0, abs(best))
    if result.objective is not None:
        assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-5, abs=1e-6)
        assert result.objective >= best - CLOSE * size
    if result.bound is not None:
        assert result.bound <= best + 1e-7 * size
    if result.certificate.verdict is CERTIFIED:
        assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert result.status is Status.OPTIMAL
    if result.certificate.verdict is NOT:
        assert result.status is not Status.OPTIMAL
        assert result.certificate.reason


@pytest.mark.parametrize(("subject", "lie"), CASES, ids=lambda word: word)
def test_every_lie_is_caught_and_named(tell: Callable[..., None], subject: str, lie: str) -> None:
    tell(lie, subject)
    model = SUBJECTS[subject].build()
    result = tm.solve(model, "liar")
    verdict, words = expected(subject, lie) or (None, "")
    certificate = result.certificate
    assert certificate.verdict is verdict, certificate.reason
    heard = result.message if verdict is CERTIFIED else certificate.reason
    assert re.search(words, heard), heard
    if lie in ERRORS and "word" not in words:
        assert result.status is Status.ERROR
    if lie == "foreign_exception":  # its traceback is kept
        assert "in foreign_exception" in result.log
        assert "VendorError: rescode 1001" in result.log
    check_what_no_lie_may_change(model, subject, result)


REPAIRED = [(subject, k % 3 > 0) for k, subject in enumerate(SUBJECTS)]


@pytest.mark.parametrize(
    ("subject", "edited"), covering(SUBJECTS, [False, True]) if FULL else REPAIRED
)
def test_an_infeasible_point_is_repaired_by_the_formulation_or_refused(
    tell: Callable[..., None], subject: str, edited: bool
) -> None:
    """The paper's formula needs (w, b) only; an edited model has no formula."""
    tell("infeasible_point", subject)
    model = SUBJECTS[subject].build()
    if edited:
        model.more = pyo.Constraint(expr=model.w[0] <= 1e6)
    result = tm.solve(model, "liar")
    check_what_no_lie_may_change(model, subject, result)
    if not edited:
        return
    assert result.certificate.verdict is NOT
    assert result.objective is None
    reason = result.certificate.reason
    assert re.search(r"^infeasible by \S+ of the row's size|with its integers fixed", reason)


def test_the_lies_of_a_maximiser_are_told_in_its_own_sense(tell: Callable[..., None]) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 3))
    m.half = pyo.Constraint(expr=2 * m.x <= 4)
    m.objective = pyo.Objective(expr=5 * m.x, sense=pyo.maximize)
    tell("wrong_objective")
    result = tm.solve(m, "liar")
    assert result.certificate.verdict is CERTIFIED
    assert result.objective == pytest.approx(10)
    assert "returned objective 11 for a point where it is 10" in result.message
    tell("unbounded")
    assert "nothing is above 10" in tm.solve(m, "liar").certificate.reason
    tell("bound_above_the_point")
    told = tm.solve(m, "liar").message
    assert "returned the bound 9.5 for a point whose objective is 10" in told


# --- lies about the multipliers of cones, which Pyomo's interface does not carry ------------------


def noise(numbers: Any) -> Any:
    drawn = np.random.default_rng(0).standard_normal(np.shape(numbers))
    return drawn + drawn.T if np.ndim(numbers) == 2 else drawn


def _changed(duals: Multipliers, change: Callable[[Any], Any]) -> Multipliers:
    cones = {key: change(np.asarray(numbers)) for key, numbers in duals.cones.items()}
    return Multipliers(change(duals.rows), change(duals.bounds), cones)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "negated": lambda numbers: -numbers, "tripled": lambda numbers: 3.0 * numbers, "noise": noise,
}  # fmt: skip
CHANGED = [*zip(CONVEX, ["negated", "tripled", "noise", "negated"], strict=True), ("SDP", "noise")]


@pytest.mark.parametrize(
    ("subject", "change"), covering(CONVEX, CHANGES) if FULL else [*CHANGED, ("SOCP", "tripled")]
)
def test_wrong_multipliers_of_cones_prove_nothing_false(
    monkeypatch: pytest.MonkeyPatch, subject: str, change: str
) -> None:
    def lying(run: Callable[..., Claim]) -> Callable[..., Claim]:
        def told(*arguments: Any) -> Claim:
            claim = run(*arguments)
            return replace(claim, duals=_changed(claim.duals, CHANGES[change]))

        return told

    for name in ("run", "run_scaled"):
        monkeypatch.setattr(clarabel, name, lying(getattr(clarabel, name)))
    model = SUBJECTS[subject].build()
    result = tm.solve(model, "clarabel")
    check_what_no_lie_may_change(model, subject, result)
    assert result.objective == pytest.approx(optimum(subject), abs=1e-6), "the point is right"
    residual = result.certificate.dual_residual
    if result.certificate.verdict is NOT:
        assert re.search(r"the proven gap is|stationarity of", result.certificate.reason)
    else:  # they could be repaired, or the paper's formula needs none: what was wrong is a number
        assert residual > 1e-3


# --- any mixture of truth and lies ----------------------------------------------------------------


@functools.cache
def known(subject: str) -> tuple[Case, Claim]:
    """A model with all that its certificate needs, and what a true solver says of it."""
    model = SUBJECTS[subject].build()
    form = standard_form(model)
    classification = classify(form)
    solver = {"LP": highs, "MILP": highs}.get(subject, clarabel)
    if subject in ("MIQP", "NONCONVEX"):
        claim = scip.run(form, Limits())
    else:
        claim = solver.run(form, classification, Limits())
    return Case(model, KernelSubject(form), unedited_origin(model, form)), claim


NOISE = st.sampled_from([0.0, 1e-12, 1e-7, 1e-4, 0.1, 10.0])
NUMBER = st.one_of(
    st.sampled_from([-np.inf, np.inf, np.nan, 0.0, 1e300]), st.floats(-100, 100), st.none()
)


@settings(max_examples=60 if FULL else 25)
@given(
    subject=st.sampled_from(list(SUBJECTS)),
    status=st.sampled_from([Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE]),
    off=st.tuples(NOISE, NOISE),
    seed=st.integers(0, 2**16),
    bound=NUMBER,
    reported=NUMBER,
)
def test_no_mixture_of_truth_and_lies_certifies_what_is_wrong(
    subject: str, status: Status, off: tuple[float, float], seed: int, bound: float | None,
    reported: float | None,
) -> None:  # fmt: skip
    case, honest = known(subject)
    rng = np.random.default_rng(seed)
    x = honest.x + off[0] * rng.standard_normal(case.form.n)
    duals = honest.duals
    if duals is not None:
        duals = _changed(duals, lambda n: n + off[1] * rng.standard_normal(np.shape(n)))
    claim = Claim(status, x, duals, bound=bound, objective=reported)
    found = certify(case, with_contradictions(case.form, claim))
    best, certificate = optimum(subject), found.certificate
    size = max(1.0, abs(best))
    if certificate.bound is not None:
        assert certificate.bound <= best + 1e-7 * size
    if found.objective is not None:
        assert found.objective >= best - CLOSE * size
    if certificate.verdict is CERTIFIED:
        assert found.objective <= best + 2e-6 * size
    if certificate.verdict is CLAIM:
        claimed = certificate.solver_bound
        assert claimed is not None or found.status is not Status.OPTIMAL
        assert claimed is None or claimed <= found.objective + 1e-4 * size


SHORT = Multipliers(np.zeros(2), np.zeros(11), {})


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (Claim(Status.OPTIMAL, x=np.zeros(3)), "a point of 3 numbers for a model of 11 variables"),
        (Claim(Status.INACCURATE), "status inaccurate without a point"),
        (Claim(Status.OPTIMAL, np.zeros(11), SHORT), "2 multipliers for a model of 8 linear rows"),
    ],
)
def test_what_does_not_fit_the_model_is_dropped_and_said(claim: Claim, said: str) -> None:
    kept = with_contradictions(standard_form(SUBJECTS["QP"].build()), claim)
    assert said in kept.contradictions
    assert said in kept.message
    assert kept.duals is None
    assert (kept.x is None) == ("point" in said)
    assert (kept.status is Status.ERROR) == (kept.x is None)
