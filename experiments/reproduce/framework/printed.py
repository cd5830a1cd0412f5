"""What a paper prints, as it prints it: published.toml in the paper's folder.

Numbers that ours are laid beside are words there, since their trailing zeros say how far they go.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).parents[1]
FILE = "published.toml"


def printed(paper: str) -> dict[str, Any]:
    """Everything in the file of a paper, by the name of its folder."""
    return tomllib.loads((PAPERS / paper / FILE).read_text(encoding="utf-8"))


def printed_files() -> list[Path]:
    """The files of all papers: the print decides which cases some of the tasks solve."""
    return sorted(PAPERS.glob(f"*/{FILE}"))
