"""Reproductions in tests tell no progress: how much of it there is depends on the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from tests.inside.experiments import reproduce


@pytest.fixture(scope="session", autouse=True)
def no_progress() -> Iterator[None]:
    """What a command says on standard error is then what it has to say."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reproduce, "EVERY", math.inf)
        yield
