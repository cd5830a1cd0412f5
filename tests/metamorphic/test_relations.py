"""Every entry of the catalogue under every change of the data for which its optimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metamorphic.certified import RELATIVE, close, drawn, hyperplane, proven_gap, solved
from tests.metamorphic.changes import KINDS, Change, modes, size
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, MulticlassData
from tightmargin.solvers import SolveResult

SEEDS = st.integers(0, 2**32 - 1)
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
    """Of several classes: tests/formulations/multiclass/test_hinge.py. Their data are others."""
    labelled = {name for name, entry in CATALOGUE.items() if MulticlassData not in entry.takes}
    assert set(FAMILIES) == labelled


@pytest.mark.parametrize(("name", "kind"), some(KNOWN, 2))
@settings(max_examples=2 if FULL else 1)
@given(seed=SEEDS, data=st.data())
def test_the_optimum_follows_the_data(name: str, kind: str, seed: int, data: st.DataObject) -> None:
    """The optimum after a change is the factor times the one before, and so is the point."""
    mode = data.draw(st.sampled_from(modes(name, kind)))
    trial = drawn(name, seed, mode, size(name, kind))
    change = KINDS[kind].make(trial, np.random.default_rng([seed, 1]))
    before, after = solved(change.before), solved(change.after)
    assert before.objective is not None
    gaps = change.factor * proven_gap(before) + proven_gap(after)
    assert close(after.objective, change.factor * before.objective, gaps)
    if FAMILIES[name].weight:
        the_point_comes_back(change, before, after)


def the_point_comes_back(change: Change, before: SolveResult, after: SolveResult) -> None:
    """The point after is optimal before, by the paper's formula, and near the one found there."""
    family, trial = FAMILIES[change.before.name], change.before
    w, b = change.back(*hyperplane(change.after, after))
    assert before.objective is not None
    assert before.bound is not None
    assert after.bound is not None
    assert after.objective is not None
    if family.value is not None:
        value = family.value(trial.data, trial.parameters, trial.mode, w, b)
        gaps = proven_gap(before) + proven_gap(after) / change.factor
        assert close(value, before.objective, gaps)
    k = curvature(change, before.objective)
    if k > 0:
        here = max(before.objective - before.bound, 0.0)
        there = max(after.objective - after.bound, 0.0) / change.factor
        apart = np.sqrt(here / k) + np.sqrt(there / k)
        own, _ = hyperplane(trial, before)
        assert np.linalg.norm(w - own) <= apart + RELATIVE * np.linalg.norm(own)


def curvature(change: Change, optimum: float) -> float:
    named = FAMILIES[change.before.name].curvature
    if named == "half":
        return abs(optimum) / 2
    return float(change.before.parameters[named] if isinstance(named, str) else named)
