"""The ten tasks of docs/first_hour.md: short, with few imports, and they print what is shown."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tightmargin as tm

PAGE = Path(__file__).parents[2] / "docs" / "first_hour.md"
# What another run or machine prints differently: seconds, versions, the course of a search.
PASSING = (
    (r"^  solver .*$", "  solver"),
    (r"\d+ leaves", "# leaves"),
    (r"\S+(?=  CERTIFIED$)", "#"),
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Task:
    """A section: its number (0 before the first), its code and what is printed below it."""

    number: int
    code: str
    shown: str


def tasks() -> list[Task]:
    parts = re.split(r"^## (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = [("0", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    found = []
    for number, text in sections:
        blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.S)
        assert len(blocks) == 1, f"section {number} has one block of code"
        found.append(Task(int(number), *blocks[0]))
    return found


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, str]]:
    """What all sections print, one after another in one name space, as a reader runs them."""
    known, space, found = dict(tm.catalogue), dict[str, Any](), dict[int, str]()
    monkeypatch.chdir(tmp_path)
    try:
        for task in tasks():
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(task.code, f"{PAGE.name}, section {task.number}", "exec"), space)
            found[task.number] = out.getvalue()
        yield found
    finally:  # a section that fails leaves no formulation of its own behind
        tm.catalogue.clear()
        tm.catalogue.update(known)


def alike(printed: str, shown: str) -> bool:
    """Whether two outputs have the same words and, up to a thousandth, the same numbers."""
    for pattern, word in PASSING:
        printed, shown = (
            re.sub(pattern, word, text, flags=re.MULTILINE) for text in (printed, shown)
        )
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-3) for a, b in pairs)


def test_it_prints_what_is_shown(printed: dict[int, str]) -> None:
    assert [task.number for task in tasks()] == list(range(11))
    for task in tasks()[1:]:
        said, shown = printed[task.number], task.shown
        assert shown, "its output is on the page"
        if shown.startswith("...\n"):  # the beginning is left out
            shown = shown.removeprefix("...\n")
            said = "\n".join(said.rstrip().splitlines()[-len(shown.splitlines()) :])
        assert alike(said, shown), f"section {task.number} prints\n{said}"
    assert alike("bound 1.0004 of two", "bound 1.0 of two")
    for other in ("bound 1.004 of two", "bound -1.0 of two", "bound 1.0 of three", "bound 1.0"):
        assert not alike(other, "bound 1.0 of two")
