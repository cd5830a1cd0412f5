"""Which software the numbers of a result went through, for its record."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

VERSION = "0.1.0"
PACKAGES = ("pyomo", "numpy", "scipy")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    own = (("tightmargin", VERSION), ("python", platform.python_version()))
    return (*own, *((name, version(name)) for name in PACKAGES))


def versions() -> dict[str, str]:
    """Versions of tightmargin, Python and the packages between the data and the solver."""
    return dict(_versions())
