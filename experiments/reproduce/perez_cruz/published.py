"""The numbers that Perez-Cruz et al. 2003 print."""

from __future__ import annotations

from collections.abc import Mapping

from tightmargin.experiments.reproduce.framework.printed import printed

_PRINT = printed("perez_cruz")

PAPER: str = _PRINT["paper"]
SHARES = ("errors", "SVs")
MARGIN = "rho/||w||"

FIGURE2_POINTS: int = _PRINT["figure2"]["points"]
FIGURE2_ERRORS: str = _PRINT["figure2"]["errors"]
FIGURE2_SVS: str = _PRINT["figure2"]["SVs"]
FIGURE4_NU: float = _PRINT["figure4"]["nu"]
BAYES: str = _PRINT["figure4"]["bayes"]
FIGURE4_ERRORS: Mapping[str, str] = _PRINT["figure4"]["errors"]
FIGURE5: Mapping[str, str] = _PRINT["figure5"]

Printed = Mapping[str, Mapping[str, str]]


def table1() -> Printed:
    """Print of Table 1 by nu and column."""
    return _PRINT["table1"]


def figure3() -> Printed:
    """Print of the caption of Figure 3 by nu and column."""
    return _PRINT["figure3"]


def table3() -> Printed:
    """Print of Table 3 by nu and column."""
    return _PRINT["table3"]
