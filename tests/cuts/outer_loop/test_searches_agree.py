"""Every search proves, and all say the same; tests/soundness/cut_searches.py asks 300 of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.inside.solvers import StopReason
from tests.soundness import cut_searches
from tests.soundness.cut_searches import Instance, faults, instance
from tightmargin.cuts import branch_and_cut, cutting_plane

# Each of the first ended "numerical" once: next to nu_bar, with equal points, at nu_max.
LOST = (0, 13, 16, 20, 33, 36, 44, 60, 85)
OTHERS = (1, 5, 6, 18, 25, 34)


def drawn(number: int) -> Instance:
    found = instance(1, number)
    assert found is not None
    return found


@pytest.mark.parametrize("number", LOST + OTHERS)
def test_every_search_proves_the_same_optimum(number: int) -> None:
    own = drawn(number)
    wrong, ends = faults(own)
    assert wrong == []
    assert all(end.endswith("proven") for end in ends), ends


def test_the_lift_is_left_where_a_class_gives_all_its_weight() -> None:
    """At nu_max the level of that class may rise at no cost: Q has no end there, and P has."""
    own = drawn(36)
    words = {"nu": own.nu, "intercept": own.intercept}
    found = cutting_plane(own.data, space="lifted", **words)
    assert found.space == "projected"
    assert found.best.objective == pytest.approx(branch_and_cut(own.data, **words).objective)


def test_a_search_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself: a value that is no optimum, a bound above it, an end for no reason."""
    own = drawn(1)
    found = branch_and_cut(own.data, nu=own.nu, intercept=own.intercept)
    worse = replace(found, best=replace(found.best, objective=found.objective * 1.001))
    above = replace(found, bound=found.objective * 1.001)
    lost = replace(found, stop=StopReason.NUMERICAL)
    for lie, words in ((worse, "proven values differ"), (above, "has the bound"), (lost, "ended")):
        monkeypatch.setattr(cut_searches, "WAYS", {"liar": lambda *_, lie=lie, **__: lie})
        (wrong,) = faults(own)[0]
        assert words in wrong
