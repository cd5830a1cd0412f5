"""HiGHS from 1.16 on prints who it is when the first one of a process is made; ours do not."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from tests.inside.solvers import quiet_highs


def test_a_banner_of_the_first_one_is_dropped(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def highs() -> object:
        if not made:
            os.write(1, b"Running HiGHS\n")
        made.append(1)
        return object()

    fake = ModuleType("highspy")
    vars(fake)["Highs"] = highs
    monkeypatch.setitem(sys.modules, "highspy", fake)
    quiet_highs._first.cache_clear()
    print("before")
    first, second = quiet_highs.quiet_highs(), quiet_highs.quiet_highs()
    print("after")
    quiet_highs._first.cache_clear()
    assert first is not second
    assert len(made) == 3
    assert capfd.readouterr().out == "before\nafter\n"
