"""A new HiGHS that prints nothing by itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from tightmargin.solvers.execution.output_capture import dropped


def quiet_highs() -> Any:
    """An empty HiGHS; versions from 1.16 on print who they are when the first one is made."""
    import highspy

    _first(highspy)
    return highspy.Highs()


@cache
def _first(highspy: Any) -> None:
    with dropped():
        highspy.Highs()
