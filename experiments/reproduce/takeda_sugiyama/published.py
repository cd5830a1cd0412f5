"""What Takeda & Sugiyama 2008 print that can be held against a run: sentences, and one number."""

from __future__ import annotations

PAPER = "Takeda & Sugiyama 2008"

# Section 2.5.2: with 1/m_+ and 1/m_- on the slacks, "nu_max = 1 holds".
NU_MAX_BALANCED = "1"

NO_NUMBERS = (
    "the paper names no data set and prints no measured number: its figures are sketches, and what "
    "is checked here are its definitions and statements, on data of our choice"
)
