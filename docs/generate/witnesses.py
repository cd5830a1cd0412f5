"""Which tests speak of an entry, read from their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_WORD = re.compile(r"\w+")
TABLE = "tests/cases.py"


@dataclass(frozen=True)
class Test:
    """A test function or, in the table of cases, the line of an entry."""

    file: str
    name: str
    line: int


def _functions(file: str, lines: list[str]) -> Iterator[tuple[Test, set[str]]]:
    """Test functions of a file with the words of their source, decorators included."""
    test: Test | None = None
    words: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if line[:1] not in ("", " ", ")", "#") and test is not None:  # the function has ended
            yield test, words
            test, words = None, set()
        if line.startswith("def test_"):
            test = Test(file, line[4 : line.index("(")], number)
        elif line[:1] not in ("", " ", ")", "#", "@"):
            words = set()
        words |= set(_WORD.findall(line))
    if test is not None:
        yield test, words


@cache
def _mentions() -> dict[str, list[Test]]:
    """Test functions by the words in their source."""
    found: dict[str, list[Test]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        for test, words in _functions(file, path.read_text(encoding="utf-8").splitlines()):
            for word in words:
                found.setdefault(word, []).append(test)
    return found


def tests_naming(entry: str) -> list[Test]:
    """Test functions in whose source the entry is named."""
    return _mentions().get(entry, [])


@cache
def _cases() -> dict[str, int]:
    tree = ast.parse((ROOT / TABLE).read_text(encoding="utf-8"))
    return {
        str(node.args[0].value): node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "Case" and isinstance(node.args[0], ast.Constant)
    }


def case_line(entry: str) -> int:
    """Line on which the independent optimum of an entry stands.

    Raises
    ------
    KeyError
        There is none.
    """
    return _cases()[entry]
