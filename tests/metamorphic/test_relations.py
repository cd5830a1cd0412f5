"""Every entry of the catalogue under every change of the data for which its optimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metamorphic.certified import close, drawn, proven_gap, solved
from tests.metamorphic.changes import KINDS, modes, size
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, MulticlassData

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
    """The optimum after a change is the factor times the one before."""
    mode = data.draw(st.sampled_from(modes(name, kind)))
    trial = drawn(name, seed, mode, size(name, kind))
    change = KINDS[kind].make(trial, np.random.default_rng([seed, 1]))
    before, after = solved(change.before), solved(change.after)
    assert before.objective is not None
    gaps = change.factor * proven_gap(before) + proven_gap(after)
    assert close(after.objective, change.factor * before.objective, gaps)
