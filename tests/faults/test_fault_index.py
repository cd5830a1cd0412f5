"""The thirty rows of the fault table: each has a test whose name holds its number."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROWS = range(1, 31)


@cache
def rows_of(folder: Path = TESTS) -> dict[int, list[str]]:
    """Names of the test functions that hold the number of a row, by that number."""
    found: dict[int, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            row = re.match(r"test_(?:row|fault)_(\d\d)_", node.name)
            if row is not None:
                found.setdefault(int(row[1]), []).append(f"{path.name}::{node.name}")
    return found


@pytest.mark.parametrize("row", ROWS)
def test_every_row_of_the_fault_table_has_a_test(row: int) -> None:
    assert rows_of().get(row), f"no test is called test_row_{row:02d}_..."


def test_files_hold_the_row_of_their_name() -> None:
    assert set(rows_of()) <= set(ROWS)
    for path in Path(__file__).parent.glob("test_fault_[0-9][0-9]_*.py"):
        row = int(path.name[11:13])
        names = rows_of(path.parent).get(row, [])
        assert any(name.startswith(path.name) for name in names), path.name
