"""The numbers that Bi & Vapnik 2003 print in section 6."""

from __future__ import annotations

from collections.abc import Mapping

from tightmargin.experiments.reproduce.framework.printed import printed

_PRINT = printed("bi_vapnik")

PAPER: str = _PRINT["paper"]
RATIO = "H^2/l"
TABLE2_SIZES = tuple(int(size) for size in _PRINT["table2"])
FIGURE1_SIZES: tuple[int, ...] = tuple(_PRINT["figure1"]["sizes"])
ADVISED: tuple[float, float] = tuple(_PRINT["figure1"]["advised"])
H_LIMIT_SQUARED = {int(size): text for size, text in _PRINT["figure1"]["limit_squared"].items()}

Half = Mapping[str, Mapping[str, str]]


def table2(size: int) -> Half:
    """Print of Table 2 by ratio and column, for l = 200 or 1000."""
    return _PRINT["table2"][str(size)]


def table3(data: str) -> Half:
    """Print of Table 3 by ratio and column, for adult or wdbc."""
    return _PRINT["table3"][data]
