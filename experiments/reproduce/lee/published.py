"""What Lee 2020, Support Vector Machine review, states and prints, and what becomes of it."""

from __future__ import annotations

from tightmargin.experiments.reproduce.framework.printed import printed
from tightmargin.experiments.reproduce.lee.statements.statements import Statement

_PRINT = printed("lee")

PAPER: str = _PRINT["paper"]


def _statements(report: str) -> tuple[Statement, ...]:
    """Those of a report, in the order of the review."""
    return tuple(
        Statement(one.get("key", ""), one["place"], one["text"], one["verdict"], about)
        for about, part in _PRINT[report].items()
        for one in part
    )


LINEAR = _statements("sgd")
BINARY = _statements("probabilities")
CLASSES = _statements("multiclass")
MATRIX = _statements("matrix")
