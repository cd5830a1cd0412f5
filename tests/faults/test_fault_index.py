"""The thirty rows of the fault table: each has a test whose name holds its number."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
NAME = re.compile(r"^ *def test_(?:row|fault)_(\d\d)_", re.MULTILINE)


def test_every_row_of_the_fault_table_has_a_test() -> None:
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    assert {int(row) for text in texts for row in NAME.findall(text)} == set(range(1, 31))
