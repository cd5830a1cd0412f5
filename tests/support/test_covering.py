"""Every pair that may meet meets, in fewer rows than the product has."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.support import covering as module
from tests.support.covering import covering

AXES = ("abcdef", range(4), (True, False), (None, 1.5, 2.5))


def not_barred(letter: str, number: int, *_: object) -> bool:
    return (letter, number) != ("b", 2)


@pytest.mark.parametrize("strength", [2, 3])
def test_all_that_may_meet_meets(strength: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", False)
    everything = [row for row in product(*AXES) if not_barred(*row)]
    rows = covering(*AXES, strength=strength, allowed=not_barred)
    assert set(rows) <= set(everything)
    assert len(set(rows)) == len(rows) < len(everything) / (5 if strength == 2 else 1.5)
    for at in combinations(range(len(AXES)), strength):
        meet = {tuple(row[k] for k in at) for row in everything}
        assert {tuple(row[k] for k in at) for row in rows} == meet
