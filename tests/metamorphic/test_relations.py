"""Every entry of the catalogue under every change of the data for which its optimum is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.metamorphic.certified import close, proven_gap, solved, solved_first
from tests.metamorphic.changes import KINDS, drawn, modes, size
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, MulticlassData

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
def test_the_optimum_follows_the_data(name: str, kind: str) -> None:
    """The optimum after a change is the factor times the one before."""
    able, turn = modes(name, kind), list(FAMILIES).index(name)
    for mode in able if FULL else [able[turn % len(able)]]:
        few = size(name, kind)
        change = KINDS[kind].make(drawn(name, mode, few), np.random.default_rng(turn))
        itself = few is None and kind != "a column twice"
        before = solved_first(name, mode) if itself else solved(change.before)
        after = solved(change.after)
        assert before.objective is not None
        gaps = change.factor * proven_gap(before) + proven_gap(after)
        assert close(after.objective, change.factor * before.objective, gaps)
