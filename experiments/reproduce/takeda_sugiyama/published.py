"""What Takeda & Sugiyama 2008 print that can be held against a run: sentences, and one number."""

from __future__ import annotations

from tightmargin.experiments.reproduce.framework.printed import printed

_PRINT = printed("takeda_sugiyama")

PAPER: str = _PRINT["paper"]
NU_MAX_BALANCED: str = _PRINT["nu_max_balanced"]

NO_NUMBERS = (
    "the paper names no data set and prints no measured number: its figures are sketches, and what "
    "is checked here are its definitions and statements, on data of our choice"
)
