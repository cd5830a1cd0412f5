"""tm.diff says what an edit did; on small grids every point is tried, and nothing said is false."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Effect
from tests.inside.solvers import ModelDifferenceAnswer as Answer
from tests.references.reference_solutions import zero_one_optimum
from tests.support.covering import FULL
from tests.support.edited_models import DATA, build
from tightmargin.solvers import ModelDifference, SolveResult, Verdict

PRICE = {"penalty": 0.6, "big_m": "derived"}

# --- every point of a grid -----------------------------------------------------------------------

Row = tuple[tuple[int, ...], int]


def _grid_model(rows: dict[str, Row], tops: list[int]) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), within=pyo.NonNegativeIntegers, bounds=lambda m, j: (0, tops[j]))
    for name, (a, side) in rows.items():
        body = sum(c * m.x[j] for j, c in enumerate(a))
        m.add_component(name, pyo.Constraint(expr=body <= side))
    m.goal = pyo.Objective(expr=sum(m.x.values()))
    return m


def _points(rows: dict[str, Row], tops: list[int]) -> set[tuple[int, ...]]:
    return {
        x
        for x in itertools.product(*(range(top + 1) for top in tops))
        if all(np.dot(a, x) <= side for a, side in rows.values())
    }


def _draw_rows(rng: np.random.Generator, names: str) -> dict[str, Row]:
    drawn = [(tuple(rng.integers(-2, 3, size=3).tolist()), int(rng.integers(0, 5))) for _ in names]
    return {name: row for name, row in zip(names, drawn, strict=True) if any(row[0])}


def test_no_verdict_on_a_small_grid_is_false() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60 if FULL else 30):
        rng = np.random.default_rng(seed)
        old = _draw_rows(rng, "abc")
        new = dict(old)
        for name, row in _draw_rows(rng, "abd").items():
            if rng.random() < 0.5:
                new[name] = row
        if rng.random() < 0.4:
            new.pop("c", None)
        tops = [2, 2, 2]
        tops_after = [int(t) for t in rng.choice([2, 2, 2, 1, 0], size=3)]
        before, after = _points(old, tops), _points(new, tops_after)
        found = tm.diff(_grid_model(old, tops), _grid_model(new, tops_after))
        seen[found.effect] += 1
        _check_whole(found, before, after)
        for change in found.changes:
            seen[change.effect] += 1
            _check_change(change, old, new, before, after, tops_after)
    for effect in (Effect.REDUNDANT, Effect.RESTRICTION, Effect.RELAXATION, Effect.BOTH):
        assert seen[effect] > 3, seen


def _check_whole(found: ModelDifference, before: Any, after: Any) -> None:
    assert not found.restricts or after <= before
    assert not found.relaxes or before <= after
    undecided = any(change.effect is Effect.UNDECIDED for change in found.changes)
    if found.effect is Effect.RESTRICTION and not undecided:
        assert after < before
    if found.effect is Effect.BOTH:
        assert not after <= before
        assert not before <= after


def _check_change(
    change: Any, old: dict[str, Row], new: dict[str, Row], before: Any, after: Any, tops: list[int]
) -> None:
    if change.kind == "row":
        meets = [_meets(rows.get(change.name)) for rows in (new, old)]
    else:
        j = int(change.name[2])
        meets = [lambda x: x[j] <= tops[j], lambda x: True]
    for answer, over, meet in ((change.kept, before, meets[0]), (change.old, after, meets[1])):
        everywhere = all(meet(x) for x in over)
        if answer in (Answer.IMPLIED, Answer.UNASKED):
            assert everywhere, str(change)
        elif answer is Answer.REFUTED:
            assert not everywhere, str(change)


def _meets(row: Row | None) -> Any:
    return lambda x: row is None or np.dot(row[0], x) <= row[1]


# --- edits of the catalogue ----------------------------------------------------------------------


def added(rule: Any) -> Any:
    return lambda m: m.add_component("added", pyo.Constraint(rule=rule))


def edit_m(m: pyo.ConcreteModel) -> None:
    for i in m.big_m:
        m.big_m[i] = 500.0


def edit_objective(m: pyo.ConcreteModel) -> None:
    m.objective.set_value(m.objective.expr + 0.5 * m.z[0] + 0.1 * m.w[0] ** 2)


edit_row = added(lambda m: m.w[0] >= 3)
edit_implied = added(lambda m: sum(m.z.values()) <= 8)

# Edit, kind, effect, what it says, and whether bounds of the unedited problem are kept.
CHANGES: list[tuple[Any, str, Effect, str, bool]] = [
    (edit_row, "row", Effect.RESTRICTION, "w[0] >= 3", True),
    (lambda m: m.z[2].fix(1), "fixing", Effect.RESTRICTION, "z[2] = 1", True),
    (edit_implied, "row", Effect.REDUNDANT, "z[7] <= 8", True),
    (lambda m: m.margin[3].deactivate(), "row", Effect.RELAXATION, "z[3] >= 1", False),
    (lambda m: setattr(m.z[1], "domain", pyo.UnitInterval), "integrality", Effect.RELAXATION,
     "0 <= z[1] <= 1", False),
    (edit_m, "Param", Effect.RELAXATION, "500 z[0] >= 1", False),
    (lambda m: m.penalty.set_value(1.2), "Param", Effect.OTHER_OBJECTIVE, "penalty = 1.2", True),
    (lambda m: m.penalty.set_value(0.3), "Param", Effect.OTHER_OBJECTIVE, "penalty = 0.3", False),
    (edit_objective, "objective", Effect.OTHER_OBJECTIVE, "0.1 w[0]^2 + 0.5 z[0], at least 0",
     True),
    (added(lambda m: m.w[0] ** 2 + m.w[1] ** 2 <= 0.5), "row", Effect.RESTRICTION,
     "w[0]^2 + w[1]^2 <= 0.5", True),
    (lambda m: m.margin[1].set_value(m.w[0] + m.z[1] >= 0), "row", Effect.BOTH,
     "w[0] + z[1] >= 0", False),
]  # fmt: skip


@pytest.fixture(scope="module")
def unedited() -> SolveResult:
    result = tm.solve(build("zero_one_big_m", **PRICE))
    assert result.certificate.verdict is Verdict.CERTIFIED
    return result


@pytest.mark.parametrize(("edit", "kind", "effect", "mathematics", "kept"), CHANGES)
def test_each_kind_of_change(
    edit: Any, kind: str, effect: Effect, mathematics: str, kept: bool, unedited: SolveResult
) -> None:
    model = build("zero_one_big_m", **PRICE)
    edit(model)
    found = tm.diff(model)
    (change,) = found.changes
    assert (change.kind, change.effect) == (kind, effect)
    assert mathematics in str(found)
    assert len(repr(found)) <= 600
    assert len(repr(found).splitlines()) <= 12
    whole = Effect.SAME if effect is Effect.REDUNDANT else effect
    assert found.effect is whole
    backwards = tm.diff(model, build("zero_one_big_m", **PRICE))
    turned = {Effect.RESTRICTION: Effect.RELAXATION, Effect.RELAXATION: Effect.RESTRICTION}
    assert backwards.effect is turned.get(whole, whole)
    assert found.keeps_bounds is kept
    assert (found.bound_from(unedited) is not None) is kept


def test_two_models_are_compared_like_a_model_and_its_origin_and_not_changed() -> None:
    built, edited = (build("zero_one_big_m", **PRICE) for _ in range(2))
    edit_row(edited)
    edited.margin[3].deactivate()
    edited.z[2].fix(1)
    assert str(tm.diff(built, edited)) == str(tm.diff(edited))
    assert (edited.z[2].fixed, edited.z[2].value, edited.z[2].is_binary()) == (True, 1, True)
    edited.penalty = 2.0
    tm.diff(built, edited)
    assert (pyo.value(edited.penalty), pyo.value(built.penalty)) == (2.0, 0.6)
    assert not built.z[2].fixed
    assert tm.diff(built, build("zero_one_big_m", **PRICE)).effect is Effect.SAME
    assert tm.diff(built, built).changes == ()


def test_many_changes_stay_a_short_repr() -> None:
    model = build("zero_one_big_m", **PRICE)
    for i in range(8):
        model.z[i].setub(0 if i % 2 else 1)
        model.add_component(f"a_row_with_a_long_name_{i}", pyo.Constraint(expr=model.w[0] <= i))
    found = tm.diff(model)
    assert len(repr(found).splitlines()) <= 12
    assert len(repr(found)) <= 600
    assert "more" in repr(found)
    assert str(found).count("a_row_with_a_long_name") == 8


def test_new_variables_and_rows_of_theirs() -> None:
    model = build("c_svc", C=1.0)
    model.t = pyo.Var(bounds=(0, 1))
    model.tied = pyo.Constraint(expr=model.t >= model.w[0])
    found = tm.diff(model)
    assert found.effect is Effect.RESTRICTION, "of the points without t: it can only lose some"
    assert not found.relaxes
    assert "does not have" in str(found)


def test_what_diff_refuses() -> None:
    foreign = pyo.ConcreteModel()
    foreign.w = pyo.Var([0])
    with pytest.raises(ValueError, match="no model of the catalogue"):
        tm.diff(foreign)
    with pytest.raises(TypeError, match="takes a Pyomo ConcreteModel for `edited`, got int"):
        tm.diff(foreign, 3)
    model = build("c_svc", C=1.0)
    model.row = pyo.Constraint(expr=foreign.w[0] + model.w[0] >= 0.1)
    with pytest.raises(ValueError, match="variable of another model"):
        tm.diff(model)


def test_a_row_beyond_degree_two_and_a_spent_clock_leave_changes_undecided() -> None:
    model = build("c_svc", C=1.0)
    model.curl = pyo.Constraint(expr=model.w[0] ** 3 <= 1)
    (change,) = tm.diff(model).changes
    assert change.effect is Effect.UNDECIDED
    priced = build("deviance_svc", price=0.1)
    priced.price = 0.05
    assert not tm.diff(priced).keeps_bounds, "it stands beside a logarithm"
    late = build("zero_one_big_m", **PRICE)
    edit_row(late)
    (change,) = tm.diff(late, time_limit=1e-9).changes
    assert change.effect is Effect.UNDECIDED
    assert "time" in change.words


# --- what stays valid ----------------------------------------------------------------------------


def test_points_are_kept_by_what_relaxes(unedited: SolveResult) -> None:
    model = build("zero_one_big_m", **PRICE)
    edit_m(model)
    found = tm.diff(model)
    assert found.keeps_points
    assert found.value_from(unedited) == unedited.certificate.upper
    edit_row(model)
    assert tm.diff(model).value_from(unedited) is None


def test_an_edit_that_leaves_the_optimum_in_is_certified_by_the_unedited_search() -> None:
    """Behind a solver's point; a search that takes the edit along is asked before that one."""
    best = zero_one_optimum(DATA, "penalised", 0.6)
    for edit, whose in (
        (added(lambda m: m.w[0] + m.z[0] <= 50.0), "of the model as it is built"),
        (edit_implied, "of the edited problem"),
        (lambda m: m.w[0].setub(50.0), "of the edited problem"),
    ):
        model = build("zero_one_big_m", **PRICE)
        edit(model)
        result = tm.solve(model, prove=False)
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert whose in result.certificate.bound_method
        assert result.objective == pytest.approx(best, rel=1e-6)
