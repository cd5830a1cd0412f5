"""Every problem with a known answer, in every variant, through every installed solver.

In the manner of MathOptInterface's tests: one list of problems (problems.py), variants whose answer
follows (variants.py), and for every solver what is asked of it and what it is excused from, with
the reason (exclusions.py). A fault found through one solver becomes a test of all.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.conformance.exclusions import ASKED, EXCLUDED, UNSTEADY
from tests.conformance.exponential_problems import INFEASIBLE as NO_POINT
from tests.conformance.exponential_problems import OPTIMA
from tests.conformance.exponential_problems import UNBOUNDED as ENDS_NOWHERE
from tests.conformance.problems import INFEASIBLE, PROBLEMS, UNBOUNDED, Problem
from tests.conformance.variants import VARIANTS, answer, class_of, rows, unscaled
from tests.inside.solvers import SOLVERS, Limits, standard_form, unboundedness_proof
from tests.support.covering import FULL, covering
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import SolveResult, Status, Verdict, solve

BY_NAME = {problem.name: problem for problem in PROBLEMS}
# Seconds. A case takes a few hundredths; one that is excused gets less time to prove that it fails.
LIMIT, SHORT_LIMIT = 60.0, 2.0
VIOLATION = 2e-5
Case = tuple[str, str, str]


def cases() -> list[Case]:
    return [
        (solver, problem.name, variant)
        for solver, info in SOLVERS.items()
        for problem in PROBLEMS
        for variant in VARIANTS
        if class_of(problem, variant) in info.classes
    ]


def tried() -> list[Case]:
    """Of every solver that is here: every problem it takes, and every variant of every class."""
    here = [name for name, info in SOLVERS.items() if info.installed and not info.unlicensed()]
    able = {case for case in cases() if case[0] in here}
    if FULL:
        return sorted(able)
    words, chosen = list(VARIANTS), set()
    for turn, solver in enumerate(here):
        for kind in ProblemClass:
            names = [problem.name for problem in PROBLEMS if problem.problem_class is kind]
            chosen |= {
                (solver, names[k % len(names)], words[(k + turn) % len(words)])
                for k in range(max(len(names), len(words)) if names else 0)
            }
    return sorted(chosen & able)


@pytest.mark.parametrize(("solver", "name", "variant"), tried())
def test_the_known_answer_is_found(solver: str, name: str, variant: str) -> None:
    problem = BY_NAME[name]
    original = problem.build()
    model = VARIANTS[variant](original)
    case = (solver, name, variant)
    reason = EXCLUDED.get(case) or UNSTEADY.get(case)
    limit = LIMIT if reason is None else SHORT_LIMIT
    result = solve(model, solver, time_limit=limit if ASKED[solver].timed else None)
    if variant == "scaled" and result.objective is not None:
        unscaled(model, original)
    judged = original if variant == "scaled" else model
    assert_sound(problem, variant, result)
    if reason is None:
        assert_conforms(problem, variant, result, judged)
        return
    try:
        assert_conforms(problem, variant, result, judged)
    except AssertionError:
        pytest.xfail(reason)
    if case in EXCLUDED:
        pytest.fail(f"no longer needed: {solver} {name} {variant} ({reason})")


# --- what no exclusion excuses -------------------------------------------------------------------


def assert_sound(problem: Problem, variant: str, result: SolveResult) -> None:
    """No certificate of a wrong answer, and no bound beyond the optimum."""
    known, certified = answer(problem, variant), result.certificate.verdict is Verdict.CERTIFIED
    if isinstance(known, str):
        assert result.status is not Status.OPTIMAL
        assert not certified or result.status == known
        assert not (certified and result.objective is not None)
        assert known != UNBOUNDED or result.bound is None
        return
    size, sense = max(1.0, abs(known)), sense_of(problem)
    assert result.status not in (Status.INFEASIBLE, Status.UNBOUNDED)
    if certified:
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(known, abs=2e-6 * size)
    if result.bound is not None:
        assert sense * result.bound <= sense * known + 1e-6 * size
    if result.objective is not None:
        assert sense * result.objective >= sense * known - 1e-4 * size


def sense_of(problem: Problem) -> int:
    """1 to minimise, -1 to maximise."""
    goals = list(problem.build().component_data_objects(pyo.Objective, active=True))
    return -1 if goals and goals[0].sense == pyo.maximize else 1


# --- what a solver is asked for ------------------------------------------------------------------


def assert_conforms(
    problem: Problem, variant: str, result: SolveResult, model: pyo.ConcreteModel
) -> None:
    """The answer is the known one, to the tolerance of the solver, and proven where it can be."""
    known, kind, asked = answer(problem, variant), class_of(problem, variant), ASKED[result.solver]
    assert result.problem_class == kind
    verdict = result.certificate.verdict
    if known == UNBOUNDED:
        assert result.status is Status.UNBOUNDED
        assert verdict is Verdict.CERTIFIED
        assert result.ray
        return
    if known == INFEASIBLE:
        assert result.objective is None
        if variant == "infeasible":  # by linear rows, so that a Farkas vector exists
            assert (result.status, verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
        assert result.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
        return
    assert isinstance(known, float)
    on_cones = kind in (ProblemClass.SOCP, ProblemClass.MISOCP)
    tolerance = asked.on_cones if on_cones else asked.tolerance
    assert result.objective == pytest.approx(known, abs=tolerance * max(1.0, abs(known)))
    assert violation(model) <= VIOLATION
    if kind in asked.certified:
        assert verdict is Verdict.CERTIFIED, result.certificate.reason
    if kind in asked.certified or kind not in CONVEX:
        assert result.status is Status.OPTIMAL, result.certificate.reason
        assert verdict is not Verdict.NOT_CERTIFIED, result.certificate.reason
    assert result.time_limit is None or result.seconds < result.time_limit
    if kind in asked.duals and any(rows(model)):
        assert_duals(problem, variant, result, model)
    elif not asked.duals:
        assert not result.duals


CONVEX = frozenset({ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP})


def violation(model: pyo.ConcreteModel) -> float:
    """The largest violation of a row, bound or integrality, by Pyomo's own arithmetic."""
    found = [0.0]
    for row in rows(model):
        low, body, high = row.to_bounded_expression(evaluate_bounds=True)
        value = pyo.value(body)
        found += [] if low is None else [(low - value) / max(1.0, abs(low))]
        found += [] if high is None else [(value - high) / max(1.0, abs(high))]
    for v in model.component_data_objects(pyo.Var):
        if v.value is None:
            continue
        found += [] if v.lb is None else [v.lb - v.value]
        found += [] if v.ub is None else [v.value - v.ub]
        found += [] if v.is_continuous() else [abs(v.value - round(v.value))]
    return max(found)


def assert_duals(
    problem: Problem, variant: str, result: SolveResult, model: pyo.ConcreteModel
) -> None:
    """d optimum / d right-hand side: of one sign where a row has one side; known where unique."""
    if variant == "scaled":
        return
    sense, small = sense_of(problem), 1e-4 * max(1.0, abs(float(problem.answer)))
    for row, dual in linear_duals(result, model):
        low, _, high = row.to_bounded_expression()
        if high is None:
            assert sense * dual >= -small, row.name
        elif low is None:
            assert sense * dual <= small, row.name
    if variant == "plain":
        for name, expected in problem.duals.items():
            assert float(result.duals[name]) == pytest.approx(expected, abs=small), name


def linear_duals(result: SolveResult, model: pyo.ConcreteModel) -> Iterator[tuple[Any, float]]:
    """Linear rows with their multipliers; every one of them has one."""
    for row in rows(model):
        if row.body.polynomial_degree() not in (0, 1):
            continue
        component = row.parent_component()
        numbers = result.duals[component.name]
        if not component.is_indexed():
            yield row, float(numbers)
            continue
        yield row, float(numbers[list(component).index(row.index())])


# --- models with exp and log: closed forms --------------------------------------------------------

TAKE_EXP = [
    name for name in ASKED
    if ProblemClass.EXP in SOLVERS[name].classes and SOLVERS[name].installed
]  # fmt: skip
# SCIP 10.0 does not come back from it, whatever its time limit.
ENDLESS = {("scip", "log")}


@pytest.mark.parametrize(("solver", "name", "factor"), covering(TAKE_EXP, OPTIMA, [1.0, 3.0]))
def test_an_optimum_is_found_and_lies_in_the_proven_interval(
    solver: str, name: str, factor: float
) -> None:
    build, minimum = OPTIMA[name]
    model = build()
    (goal,) = model.component_data_objects(pyo.Objective, active=True)
    sense = 1 if goal.sense == pyo.minimize else -1
    goal.expr = factor * goal.expr + (factor - 1)
    optimum = factor * sense * minimum + (factor - 1)
    found = solve(model, solver, time_limit=20)
    assert found.problem_class == "EXP"
    assert found.objective == pytest.approx(optimum, rel=1e-4, abs=1e-4)
    rounding = 1e-14
    if found.bound is not None:
        assert sense * found.bound <= sense * optimum + rounding
    if found.certificate.upper is not None:
        assert sense * found.certificate.upper >= sense * optimum - rounding
    if solver == "clarabel":
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.objective == pytest.approx(optimum, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("solver", TAKE_EXP)
def test_nothing_is_found_where_there_is_no_point_and_no_least_value(solver: str) -> None:
    for name, build in NO_POINT.items():
        found = solve(build(), solver, time_limit=20)
        assert found.objective is None, name
        assert found.status is Status.INFEASIBLE, name
        assert found.certificate.verdict is Verdict.CERTIFIED, name
    for name, build in ENDS_NOWHERE.items():
        if (solver, name) in ENDLESS:
            continue
        found = solve(build(), solver, time_limit=20)
        certified = found.certificate.verdict is Verdict.CERTIFIED
        assert found.bound is None, name
        assert certified or solver != "clarabel", name
        assert not certified or found.status is Status.UNBOUNDED, name


# --- the suite itself ----------------------------------------------------------------------------


def test_what_is_asked_is_no_less_than_the_registry_promises() -> None:
    assert set(SOLVERS) == set(ASKED), "say in exclusions.py what is asked of a new solver"
    assert set(EXCLUDED | UNSTEADY) <= set(cases())
    for solver, asked in ASKED.items():
        info = SOLVERS[solver]
        assert asked.tolerance <= info.tolerance
        assert asked.on_cones <= info.tolerance_for(ProblemClass.SOCP)
        assert asked.duals <= info.classes or solver in ("highs", "piqp")


def test_a_model_with_an_optimum_has_no_proof_that_it_is_unbounded() -> None:
    for problem in PROBLEMS:
        if problem.solvable and problem.answer != INFEASIBLE:
            form = standard_form(problem.build())
            assert unboundedness_proof(form, Limits()) is None, problem.name


# --- a check that cannot fail is none ------------------------------------------------------------


@functools.cache
def an_honest_result() -> tuple[Problem, SolveResult, pyo.ConcreteModel]:
    problem = BY_NAME["lp_maximised"]
    model = problem.build()
    return problem, solve(model, "highs"), model


def lying(**changes: Any) -> SolveResult:
    result = an_honest_result()[1]
    certificate = replace(result.certificate, **changes.pop("certificate", {}))
    return replace(result, **changes, certificate=certificate)


UNSOUND: list[dict[str, Any]] = [
    {"objective": 11.1},
    {"objective": 12.0, "certificate": {"verdict": Verdict.SOLVER_BOUND}},
    {"bound": 10.9},
    {"status": Status.INFEASIBLE},
    {"status": Status.UNBOUNDED},
    {"status": Status.FEASIBLE},
]
NONE = {"infeasible": Status.INFEASIBLE, "unbounded": Status.UNBOUNDED}


def test_a_wrong_certificate_or_bound_is_seen() -> None:
    problem, honest, _ = an_honest_result()
    assert_sound(problem, "plain", honest)
    for lie in UNSOUND:
        with pytest.raises(AssertionError):
            assert_sound(problem, "plain", lying(**lie))
    for variant, known in NONE.items():
        assert_sound(problem, variant, lying(status=known, objective=None, bound=None))
        other = next(status for status in NONE.values() if status is not known)
        for wrong in (honest, lying(status=other, objective=None, bound=None)):
            with pytest.raises(AssertionError):
                assert_sound(problem, variant, wrong)
