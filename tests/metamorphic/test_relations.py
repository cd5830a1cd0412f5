"""Every entry of the catalogue under every change of its problem for which the optimum is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import CASES
from tests.inside.formulations import rests_on_something
from tests.metamorphic.changes import (
    KINDS,
    RELATIVE,
    Trial,
    close,
    drawn,
    modes,
    proven_gap,
    size,
    solved,
    solved_first,
    translated,
)
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE, MulticlassData, Origin, ProblemClass
from tightmargin.solvers import Status, Verdict, solve

RELATED = [(name, kind) for name in FAMILIES for kind in KINDS if modes(name, kind)]
KNOWN = [(n, k) for n, k in RELATED if FAMILIES[n].dependent or not KINDS[k].dependent]


def some(pairs: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Of every entry some kinds of change in turn; all of them in the long run."""
    if FULL:
        return pairs
    chosen = []
    for turn, name in enumerate(dict(pairs)):
        kinds = [kind for entry, kind in pairs if entry == name]
        chosen += [(name, kinds[(most * turn + k) % len(kinds)]) for k in range(most)]
    return chosen


def test_every_entry_of_the_catalogue_has_its_relations_stated() -> None:
    """Of several classes: tests/formulations/multiclass/test_big_m.py. Their data are others."""
    labelled = {name for name, entry in CATALOGUE.items() if MulticlassData not in entry.takes}
    assert set(FAMILIES) == labelled


@pytest.mark.parametrize(("name", "kind"), some(KNOWN, 2))
def test_the_optimum_follows_the_data(name: str, kind: str) -> None:
    """The optimum after a change is the factor times the one before."""
    able, turn = modes(name, kind), list(FAMILIES).index(name)
    for mode in able if FULL else [able[turn % len(able)]]:
        few = size(name, kind)
        change = KINDS[kind].make(drawn(name, mode, few), np.random.default_rng(turn))
        itself = few is None and kind != "a column twice"
        before = solved_first(name, mode) if itself else solved(change.before)
        after = solved(change.after)
        gaps = change.factor * proven_gap(before) + proven_gap(after)
        assert close(after.objective, change.factor * before.objective, gaps)


# --- an objective times a positive number, or a constant more ------------------------------------

CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
CLAIMED = 1e-5  # how near a solver ends where nothing is proven


# 3.7 times the prices of the last one are no doubles, and free columns stand beside what is lost.
TIMES = [*in_turn(list(FAMILIES)[:: 1 if FULL else 2], [1e-6, 0.02, 3.7, 1e6])]


@pytest.mark.parametrize(("name", "factor"), [*TIMES, ("matrix_svc_nuclear", 3.7)])
def test_an_objective_times_a_number_has_the_optimum_times_that_number(
    name: str, factor: float
) -> None:
    trial = drawn(name, CASES[name].intercepts[-1])
    before = solved_first(name, trial.mode)
    model = CATALOGUE[name].build(trial.data, **trial.parameters, intercept=trial.mode)
    model.objective.set_value(factor * model.objective.expr)
    after = solve(model)
    assert after.certificate.level == "model", "the formula of the paper is not this objective"
    if after.certificate.unproven:
        # M and limits were derived from prices that are others now.
        words = trial.parameters | {"intercept": trial.mode}
        assert rests_on_something(Origin(name, trial.data, words))
    elif CATALOGUE[name].problem_class in CONVEX:
        assert after.certificate.verdict is Verdict.CERTIFIED, after.certificate
    else:
        assert after.certificate.verdict is not Verdict.NOT_CERTIFIED, after.certificate
    gaps = factor * proven_gap(before) + proven_gap(after)
    if after.bound is None:
        gaps += CLAIMED * abs(after.objective)
    assert close(after.objective, factor * before.objective, gaps)


@pytest.mark.parametrize(
    ("name", "constant"),
    in_turn([n for n in FAMILIES if CATALOGUE[n].problem_class in CONVEX][::3], [-1e6, 1e3]),
)
def test_a_constant_in_the_objective_is_in_the_optimum(name: str, constant: float) -> None:
    trial = drawn(name, CASES[name].intercepts[-1])
    before = solved_first(name, trial.mode).objective
    model = CATALOGUE[name].build(trial.data, **trial.parameters, intercept=trial.mode)
    model.objective.set_value(model.objective.expr + constant)
    after = solve(model)
    room = 1e-5 * abs(before) + 1e-15 * abs(constant)
    assert after.bound is None or after.bound - constant <= before + room
    if after.certificate.verdict is Verdict.CERTIFIED:
        assert abs(after.objective - constant - before) <= room


# --- an intercept that is priced or absent -------------------------------------------------------

# A free intercept follows the origin for nothing. A price on b only adds to the objective, and
# b = 0 is one of the choices of b: optimum(free) <= optimum(penalised) <= optimum(none), wherever
# the origin lies. Where b is on the sphere with w no order is known.
ORDERED = [name for name, family in FAMILIES.items() if family.least == "hyperplane"]

NEAR_ZERO = 1e-9


def in_mode(trial: Trial, mode: str) -> Trial:
    p = dict(trial.parameters)
    if "intercept_bound" in p:
        p["intercept_bound"] = None
    if "w_ref" in p and mode == "penalised":
        p["w_ref"] = np.append(p["w_ref"], 0.0)
    return Trial(trial.name, trial.data, p, mode)


def least(trial: Trial) -> float:
    """Optimum of the minimisation behind an entry; infinite when it is proven infeasible.

    Then its dual is proven unbounded.
    """
    build, dual = CATALOGUE[trial.name].build, FAMILIES[trial.name].dual
    # Optima may be 0; what is allowed beside that is asked of the certificate.
    model = build(trial.data, **trial.parameters, intercept=trial.mode)
    result = solve(model, absolute_gap=NEAR_ZERO)
    if result.status is (Status.UNBOUNDED if dual else Status.INFEASIBLE):
        assert result.certificate.verdict is Verdict.CERTIFIED
        return np.inf
    assert result.certificate.verdict is not Verdict.NOT_CERTIFIED, result.certificate
    assert result.objective is not None
    return -result.objective if dual else result.objective


@pytest.mark.parametrize("name", ORDERED[:: 1 if FULL else 3])
def test_a_price_on_the_intercept_and_its_absence_only_cost(name: str) -> None:
    there = translated(drawn(name, "free"), np.random.default_rng(1)).after
    free, penalised, none = (least(in_mode(there, mode)) for mode in ("free", "penalised", "none"))
    for small, large in ((free, penalised), (penalised, none)):
        size = max(abs(small), abs(large))
        assert large == np.inf or small <= large + RELATIVE * size + NEAR_ZERO
